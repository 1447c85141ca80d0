"""The client of a Handraise server."""
