"""Refusals as HTTP: the one map from refusals to status codes, and `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from domain import errors
from domain.callers import SYSTEM

log = structlog.get_logger(__name__)

STATUS: dict[type[errors.Refusal], int] = {
    errors.Malformed: 400,
    errors.Invalid: 422,
    errors.NotSignedIn: 401,
    errors.TooManyAttempts: 429,
    errors.NotFound: 404,
    errors.NotAllowed: 403,
    errors.Conflict: 409,
    errors.Gone: 410,
    errors.TooLarge: 413,
    errors.Unavailable: 503,
}

Describe = Callable[[errors.AlreadyClosed], Awaitable[str]]


def problem(
    status: int,
    title: str,
    detail: str,
    *,
    headers: dict[str, str] | None = None,
    **extra: Any,
) -> Response:
    """A problem document. `extra` members are added as they are."""
    slug = title.lower().replace(" ", "-")
    body = {
        "type": f"urn:handraise:problem:{slug}",
        "title": title,
        "status": status,
        "detail": detail,
    } | extra
    return Response(
        json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"),
        status_code=status,
        headers=headers,
        media_type="application/problem+json",
    )


def status_of(refusal: errors.Refusal) -> int:
    """The status code of a refusal: its own class's, or that of the nearest class it descends from."""
    return next(STATUS[cls] for cls in type(refusal).__mro__ if cls in STATUS)


def install(
    app: FastAPI,
    describe_closed: Callable[[Request, errors.AlreadyClosed], Awaitable[Any]],
    describe_claimed: Callable[[errors.AlreadyClaimed], Awaitable[Any]],
) -> None:
    """Have every refusal and error of this application answered as a problem.

    `describe_closed` finds the present state of a request that was already closed, for the `request` member;
    `describe_claimed` that of one that somebody else has claimed.
    """

    async def on_refusal(request: Request, refusal: Exception) -> Response:
        assert isinstance(refusal, errors.Refusal)
        extra: dict[str, Any] = {}
        headers: dict[str, str] = {}
        detail = refusal.detail
        if isinstance(refusal, errors.Invalid):
            extra["errors"] = [{"path": error.path, "message": error.message} for error in refusal.errors]
        if isinstance(refusal, (errors.Unavailable, errors.TooManyAttempts)):
            headers["Retry-After"] = str(refusal.retry_after_seconds)
        if isinstance(refusal, errors.AlreadyClosed):
            described = await describe_closed(request, refusal)
            extra["request"] = described
            if described["by"] != SYSTEM:
                detail += f" by {described['by']}"
        if isinstance(refusal, errors.AlreadyClaimed):
            extra["request"] = await describe_claimed(refusal)
            detail += f": {extra['request']['assigned_to']}"
        return problem(status_of(refusal), refusal.title, detail, headers=headers, **extra)

    async def on_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        # Only where and what: the value itself may be a secret.
        found = [
            {"path": _path(_said(item)), "message": str(item["msg"]).removeprefix("Value error, ")}
            for item in error.errors()
        ]
        first = found[0]
        if first["path"] == "":
            first["message"] = _about_the_whole(request)
        where = f"{first['path']}: " if first["path"] else ""
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return problem(422, errors.Invalid.title, f"{where}{first['message']}{more}", errors=found)

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        title = HTTPStatus(error.status_code).phrase.capitalize()
        headers = dict(error.headers or {})
        return problem(error.status_code, title, str(error.detail), headers=headers)

    async def on_error(request: Request, error: Exception) -> Response:
        log.error("request failed", error=type(error).__name__, exc_info=error)
        return problem(500, "Internal error", "the server failed; the log has the cause")

    app.add_exception_handler(errors.Refusal, on_refusal)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(Exception, on_error)


_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z_-]{0,39}[0-9]{0,2}", re.ASCII)


def _said(item: dict[str, Any]) -> tuple[int | str, ...]:
    """Where the error is. A name that we do not know is said only where it looks like one: it may be a code."""
    location: tuple[int | str, ...] = item["loc"]
    known = item["type"] != "extra_forbidden" or _FIELD_NAME.fullmatch(str(location[-1]))
    return location if known else location[:-1]


def _about_the_whole(request: Request) -> str:
    if not _is_json(request) or request.headers.get("content-length") == "0":
        return "send a body in JSON, with Content-Type: application/json"
    return "the body must be a JSON object with valid names"


def _is_json(request: Request) -> bool:
    essence = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return essence == "application/json" or (essence.startswith("application/") and essence.endswith("+json"))


def _path(location: tuple[int | str, ...]) -> str:
    parts = location[1:] if location and location[0] in ("body", "query", "path", "header") else location
    return "/".join(str(part) for part in parts)
