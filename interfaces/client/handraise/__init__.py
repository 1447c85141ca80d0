"""Ask a person from an agent, and go on with the answer: the client of a Handraise server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handraise.answers import Answer, Choice, Confirmation, Review
from handraise.client import Client
from handraise.errors import (
    AlreadyRun,
    Cancelled,
    Erased,
    Expired,
    HandraiseError,
    InvalidAnswer,
    MayHaveRun,
    Rejected,
    StillOpen,
    Unreachable,
    WithoutAnswer,
)
from handraise.runs import run
from handraise.types import (
    AskOptions,
    CallOptions,
    Cancellation,
    Collected,
    Created,
    CreatedKey,
    Outcome,
    Request,
    Response,
)

if TYPE_CHECKING:
    from handraise.approvals import requires_approval
    from handraise.async_client import AsyncClient
    from handraise.journal import Journal

__all__ = [
    "AlreadyRun",
    "Answer",
    "AskOptions",
    "AsyncClient",
    "CallOptions",
    "Cancellation",
    "Cancelled",
    "Choice",
    "Client",
    "Collected",
    "Confirmation",
    "Created",
    "CreatedKey",
    "Erased",
    "Expired",
    "HandraiseError",
    "InvalidAnswer",
    "Journal",
    "MayHaveRun",
    "Outcome",
    "Rejected",
    "Request",
    "Response",
    "Review",
    "StillOpen",
    "Unreachable",
    "WithoutAnswer",
    "requires_approval",
    "run",
]


def __getattr__(name: str) -> Any:
    """What loads asyncio, sqlite3 or pydantic is loaded once it is used: commands start faster without."""
    if name == "AsyncClient":
        from handraise.async_client import AsyncClient

        return AsyncClient
    if name == "Journal":
        from handraise.journal import Journal

        return Journal
    if name == "requires_approval":
        from handraise.approvals import requires_approval

        return requires_approval
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
