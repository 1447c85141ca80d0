"""Refusals: what was asked is not allowed, and nothing of it was done.

Each refusal is named for what was refused, carries the values, and says what to do next. No status codes here:
`interfaces.http.problems` maps refusals to HTTP, the command line maps them to exit codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar
from uuid import UUID


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field. `path` is a JSON Pointer-like path ("data/budget"), "" for the whole."""

    path: str
    message: str


class Refusal(Exception):
    """The command was refused. `str(refusal)` is a sentence for the caller; it never holds a secret."""

    title: ClassVar[str] = "Refused"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class Invalid(Refusal):
    """The input is well-formed but not acceptable; `errors` names every failing field."""

    title = "Invalid input"

    def __init__(self, errors: list[FieldError], detail: str | None = None) -> None:
        if detail is None:
            first = errors[0]
            where = f"{first.path}: " if first.path else ""
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            detail = f"{where}{first.message}{more}"
        super().__init__(detail)
        self.errors = errors


class Malformed(Refusal):
    """The input makes no sense at all: a position that the log has not reached, a cursor of another list."""

    title = "Bad request"


class NotSignedIn(Refusal):
    """It is not known who is calling."""

    title = "Not signed in"


class TooManyAttempts(Refusal):
    """Too much was tried in too short a time; try again in `retry_after_seconds`."""

    title = "Too many attempts"

    def __init__(self, detail: str, *, retry_after_seconds: int) -> None:
        super().__init__(detail)
        self.retry_after_seconds = retry_after_seconds


class NotFound(Refusal):
    """There is no such thing, or it is not the caller's to know of."""

    title = "Not found"


class NotAllowed(Refusal):
    """The caller is known, and may not do this."""

    title = "Not allowed"


class NotEligible(NotAllowed):
    """The caller may not answer this request."""

    title = "Not eligible to answer"


class Conflict(Refusal):
    """The command does not fit the present state."""

    title = "Conflict"


class AlreadyExists(Conflict):
    """The id is taken by something else."""

    title = "Already exists"


class AmbiguousId(Conflict):
    """The readable id names more than one request; say which one."""

    title = "Ambiguous id"


class AlreadyClosed(Conflict):
    """The request has reached its one final status; the refusal names who closed it and when."""

    title = "Already closed"

    def __init__(self, detail: str, *, status: str, by: str, at: datetime) -> None:
        """`by` is the actor of the closing event; readable ids are found at the edge."""
        super().__init__(detail)
        self.status = status
        self.by = by
        self.at = at


class AlreadyClaimed(Conflict):
    """Somebody else took the request from the shared inbox; the refusal names them."""

    title = "Already claimed"

    def __init__(self, detail: str, *, by: UUID) -> None:
        """`by` is the person; readable ids are found at the edge."""
        super().__init__(detail)
        self.by = by


class NotAnswered(Conflict):
    """There is nothing to collect yet."""

    title = "Not answered"


class Gone(Refusal):
    """It existed and is no longer there (collected with another receipt, erased)."""

    title = "Gone"


class TooLarge(Refusal):
    """The input is larger than a configured limit."""

    title = "Too large"


class Unavailable(Refusal):
    """The service cannot do this now and did not do it; try again in `retry_after_seconds`."""

    title = "Unavailable"

    def __init__(self, detail: str, *, retry_after_seconds: int = 1) -> None:
        super().__init__(detail)
        self.retry_after_seconds = retry_after_seconds
