"""Bodies as JSON means them: exact integers, finite numbers, bounded depth, bounded size, refused clearly."""

from __future__ import annotations

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interfaces.http.problems import problem
from interfaces.strict_json import decode_json


class JsonRequest(Request):
    """A request whose `json()` is strict and whose failures are 400, never 500."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            if self.headers.get("content-encoding", "identity").lower() != "identity":
                raise _malformed("compressed bodies are not read: send it without Content-Encoding")
            self._json = parse_json(await self.body())
        return self._json


class Json(JSONResponse):
    """Compact JSON in UTF-8."""

    def render(self, content: Any) -> bytes:
        return _ENCODER.encode(content).encode("utf-8", "replace")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def parse_json(body: bytes) -> Any:
    """Raises `HTTPException` 400 that says where the JSON ends making sense, without quoting it."""
    try:
        return decode_json(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _malformed(f"the body is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise _malformed(f"the body is not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise _malformed("the body is nested too deeply") from None
    except ValueError as error:
        raise _malformed(f"the body is not acceptable JSON: {error}") from None


def _malformed(detail: str) -> HTTPException:
    return HTTPException(400, detail)


class BodyLimit:
    """Reads the body before the application does, up to a limit; 413 beyond it."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value[:20]) > self._max_bytes:
                await self._refuse(scope, receive, send)
                return
        seen = 0

        async def bounded() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._max_bytes:
                raise _TooLarge
            return message

        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, bounded, watched)
        except _TooLarge:
            if started:
                raise
            await self._refuse(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = problem(413, "Too large", f"the body has more than {self._max_bytes} bytes")
        response.headers["Connection"] = "close"
        await response(scope, receive, send)


class _TooLarge(BaseException):
    """Not an `Exception`: nothing in between may take it for a parsing error."""
