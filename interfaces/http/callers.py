"""Who is calling: found from the credential before anything of the request is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response

from domain.callers import Caller, Via
from interfaces.http.json_bodies import JsonRequest

Authenticate = Callable[[str], Awaitable[Caller | None]]

VIA_HEADER = "handraise-via"


def authenticated_route(authenticate: Authenticate) -> type[APIRoute]:
    """A route class whose handlers run only for a known caller, and before whose body nothing is read."""

    class AuthenticatedRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Any]:
            handle = super().get_route_handler()

            async def handler(request: Request) -> Response:
                request.state.caller = await authenticate(_bearer(request))
                if request.state.caller is None:
                    raise _unauthorized("this key is unknown, expired or revoked")
                return await handle(JsonRequest(request.scope, request.receive))

            return handler

    return AuthenticatedRoute


def authenticate_again(authenticate: Authenticate, request: Request) -> Callable[[], Awaitable[Caller | None]]:
    """Asks who this request's credential speaks for by now, for what outlives the request's beginning."""
    key = _bearer(request)

    async def again() -> Caller | None:
        return await authenticate(key)

    return again


async def caller(request: Request) -> Caller:
    """The caller, for a handler's signature."""
    return request.state.caller


async def via(request: Request) -> Via:
    """The channel, as far as a caller may say: the command line names itself, the rest is the API."""
    return Via.CLI if request.headers.get(VIA_HEADER) == Via.CLI else Via.API


def _bearer(request: Request) -> str:
    header = request.headers.get("authorization")
    if header is None:
        raise _unauthorized("send a key: Authorization: Bearer hr_…")
    scheme, _, key = header.partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise _unauthorized("the Authorization header must be: Bearer hr_…")
    return key.strip()


def _unauthorized(detail: str) -> HTTPException:
    return HTTPException(401, detail, {"WWW-Authenticate": 'Bearer realm="handraise"'})
