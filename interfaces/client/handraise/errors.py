"""What can go wrong between an agent and the server, as one class of exceptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class HandraiseError(Exception):
    """The server refused. `str(error)` is its sentence: what was refused, and what to do next.

    The members are those of the problem document (RFC 9457): `status` is the HTTP status, None where there was no
    response; `errors` names each field that failed (`path`, `message`); `request` is the present state of a request
    that was already closed (`status`, `by`, `at`).
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
