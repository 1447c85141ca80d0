"""Webhooks: signed and sent."""
