"""The client of a Handraise server."""

from handraise.client import Client
from handraise.errors import HandraiseError, Unreachable
from handraise.types import Cancelled, Collected, Created, CreatedKey, Outcome, Request, Response

__all__ = [
    "Cancelled",
    "Client",
    "Collected",
    "Created",
    "CreatedKey",
    "HandraiseError",
    "Outcome",
    "Request",
    "Response",
    "Unreachable",
]
