"""Who is calling: found from the credential before anything of the request is read."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response

from domain.callers import Caller, PersonCaller, Via
from interfaces.http.json_bodies import JsonRequest

VIA_HEADER = "handraise-via"
CSRF_HEADER = "x-csrf-token"
SESSION_COOKIE = "handraise_session"
EMBED_COOKIE = "handraise_embed"
EMBED_HEADER = "x-handraise-embed"
EMBED_PARAMETER = "embed"
"""Instead of the header for the live stream: what reads it in a browser cannot send headers."""

_STREAM = "/api/stream"
_SAFE = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Credential:
    """What a caller showed: a key, or the token of a session."""

    secret: str
    of_session: bool
    embedded: bool = False
    """Whether the session is shown as one of an embedded page."""


EMBEDDED_OPERATIONS = frozenset({
    "GET /api/session",
    "DELETE /api/session",
    "GET /api/me",
    "GET /api/users",
    "GET /api/inbox",
    "GET /api/inbox/counts",
    "GET /api/stream",
    "GET /api/requests",
    "GET /api/requests/{id}",
    "GET /api/requests/{id}/wait",
    "GET /api/requests/{id}/history",
    "POST /api/requests/{id}/respond",
    "POST /api/requests/{id}/claim",
    "POST /api/requests/{id}/release",
    "POST /api/requests/{id}/delegate",
    "POST /api/requests/{id}/snooze",
    "DELETE /api/requests/{id}/snooze",
    "POST /api/requests/{id}/cancel",
})  # fmt: skip
"""All that a session of an embedded page may do: what is new is refused until it is put here.

Paths as their own router has them: one that gets its prefix from a router around it is refused too.
"""

Authenticate = Callable[[Credential], Awaitable[Caller | None]]


def authenticated_route(authenticate: Authenticate) -> type[APIRoute]:
    """A route class whose handlers run only for a known caller, and before whose body nothing is read."""

    class AuthenticatedRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Any]:
            handle = super().get_route_handler()

            async def handler(request: Request) -> Response:
                credential = _credential(request)
                request.state.caller = await authenticate(credential)
                if request.state.caller is None:
                    raise _unauthorized(
                        "this session is over: sign in again"
                        if credential.of_session
                        else "this key is unknown, expired or revoked"
                    )
                if credential.of_session:
                    _check_not_forged(request, credential.secret)
                if credential.embedded and f"{request.method} {self.path}" not in EMBEDDED_OPERATIONS:
                    raise HTTPException(403, "an embedded page may read and answer requests, and nothing else")
                return await handle(JsonRequest(request.scope, request.receive))

            return handler

    return AuthenticatedRoute


def public_route() -> type[APIRoute]:
    """A route class for what needs no caller; bodies are read as strictly as elsewhere."""

    class PublicRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Any]:
            handle = super().get_route_handler()

            async def handler(request: Request) -> Response:
                if request.method not in _SAFE:
                    _check_same_site(request)
                return await handle(JsonRequest(request.scope, request.receive))

            return handler

    return PublicRoute


def authenticate_again(authenticate: Authenticate, request: Request) -> Callable[[], Awaitable[Caller | None]]:
    """Asks who this request's credential speaks for by now, for what outlives the request's beginning."""
    credential = _credential(request)

    async def again() -> Caller | None:
        return await authenticate(credential)

    return again


async def caller(request: Request) -> Caller:
    """The caller, for a handler's signature."""
    return request.state.caller


async def via(request: Request) -> Via:
    """The channel, as far as a caller may say: a session is the web, the command line names itself."""
    caller: Caller = request.state.caller
    if isinstance(caller, PersonCaller) and caller.session_id is not None:
        return Via.WEB
    return Via.CLI if request.headers.get(VIA_HEADER) == Via.CLI else Via.API


def session_token(request: Request) -> str | None:
    """The token of the session that this request is made in, if it is in one.

    A browser may have two: its person's own, and one for pages inside another application's. The latter counts for
    requests that say that they come from such a page, and only for those; the former for all others.
    """
    return request.cookies.get(EMBED_COOKIE if is_embedded(request) else SESSION_COOKIE)


def is_embedded(request: Request) -> bool:
    """Whether this request says that it comes from an embedded page."""
    if request.headers.get(EMBED_HEADER) == "1":
        return True
    return request.url.path == _STREAM and request.query_params.get(EMBED_PARAMETER) == "1"


def csrf_token(session_token: str) -> str:
    """What a page must send with every call that changes something; only a page of ours can know it."""
    digest = hmac.digest(session_token.encode("utf-8", "replace"), b"csrf", hashlib.sha256)
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _credential(request: Request) -> Credential:
    """A key in the header counts before a session in a cookie: it was put there on purpose."""
    header = request.headers.get("authorization")
    if header is None:
        if token := session_token(request):
            return Credential(token, of_session=True, embedded=is_embedded(request))
        raise _unauthorized("sign in, or send a key: Authorization: Bearer hr_…")
    scheme, _, key = header.partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise _unauthorized("the Authorization header must be: Bearer hr_…")
    return Credential(key.strip(), of_session=False)


def _check_not_forged(request: Request, token: str) -> None:
    """Another site can make a browser send our cookie, but neither know the token nor set the header."""
    if request.method in _SAFE:
        return
    _check_same_site(request)
    given = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(given.encode("utf-8", "replace"), csrf_token(token).encode()):
        raise HTTPException(403, f"send the session's csrf_token in the header {CSRF_HEADER}")


def _check_same_site(request: Request) -> None:
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise HTTPException(403, "this call came from a page of another site")


def _unauthorized(detail: str) -> HTTPException:
    return HTTPException(401, detail, {"WWW-Authenticate": 'Bearer realm="handraise"'})
