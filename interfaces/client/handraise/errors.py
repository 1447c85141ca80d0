"""What can go wrong between an agent and a person, as one family of exceptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class HandraiseError(Exception):
    """Something was refused, or did not come about. `str(error)` says what, and what to do next.

    For a refusal by the server the members are those of the problem document (RFC 9457): `status` is the HTTP status,
    None where there was no response; `errors` names each field that failed (`path`, `message`); `request` is the
    present state of a request that was already closed (`status`, `by`, `at`).
    """

    def __init__(
        self,
        detail: str,
        *,
        status: int | None = None,
        title: str = "",
        errors: Sequence[Mapping[str, str]] = (),
        request: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.title = title
        self.errors = errors
        self.request = request


class Unreachable(HandraiseError):
    """The server could not be reached, or did not answer, for as long as it was worth trying."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"cannot reach {url}: {why}", title="Unreachable")
        self.url = url


class WithoutAnswer(HandraiseError):
    """There is a request, and no answer that could be used. `request_id` and `unique_id` say which request."""

    def __init__(self, detail: str, *, request_id: str, unique_id: str, **problem: Any) -> None:
        super().__init__(detail, title=type(self).__name__, **problem)
        self.request_id = request_id
        self.unique_id = unique_id


class StillOpen(WithoutAnswer):
    """Nobody has answered so far; the request stays open. Ask the same under `unique_id` to go on waiting."""


class Expired(WithoutAnswer):
    """Nobody answered before the request expired. Ask anew under another `unique_id`."""


class Cancelled(WithoutAnswer):
    """The request was withdrawn: `by` whom, and the `reason` if there is one."""

    def __init__(self, detail: str, *, by: str, reason: str | None, request_id: str, unique_id: str) -> None:
        super().__init__(detail, request_id=request_id, unique_id=unique_id)
        self.by = by
        self.reason = reason


class Erased(WithoutAnswer):
    """There was an answer, and its content was erased. Ask anew under another `unique_id`."""


class InvalidAnswer(WithoutAnswer):
    """The answer fits the form, and not the types it is for; `errors` names the fields, without their values."""


class Rejected(WithoutAnswer):
    """A person refused the call: `by` whom, and the `reason` if one was given. The function did not run."""

    def __init__(self, detail: str, *, by: str, reason: str | None, request_id: str, unique_id: str) -> None:
        super().__init__(detail, request_id=request_id, unique_id=unique_id)
        self.by = by
        self.reason = reason


class AlreadyRun(WithoutAnswer):
    """The approved call ran before, to its end, and its result cannot be given again. It did not run now.

    `raised` is the name of the exception it ended with, None where it returned.
    """

    def __init__(self, detail: str, *, raised: str | None, request_id: str, unique_id: str) -> None:
        super().__init__(detail, request_id=request_id, unique_id=unique_id)
        self.raised = raised


class MayHaveRun(WithoutAnswer):
    """The approved call was begun and its process ended before the call did: nobody here knows how far it came.

    It did not run now. Find out what it did; then ask anew under another `unique_id`, or, if it did nothing, have
    `Journal.forget(request_id)` let it run on the approval that it has.
    """
