"""A company made up to be looked at: its agents ask its people, and the newcomer, through the SDK."""
