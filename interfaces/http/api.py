"""The HTTP application: routes, problems, limits and measurements put together."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from application.directory import DirectoryService
from application.keys import Keys
from application.ports import Clock, Directory, EventStore
from application.requests import Requests
from application.sign_in import SignIn
from application.slack import SlackAdministration
from application.subscriptions import Browsers
from application.webhooks import WebhookAdministration
from domain.callers import Caller
from domain.errors import AlreadyClaimed, AlreadyClosed
from domain.request import Request as AskedRequest
from interfaces.http import docs_page, problems
from interfaces.http.audit import Export, SignedHead, Verify, audit_routes
from interfaces.http.callers import CSRF_HEADER, SESSION_COOKIE, Credential, authenticate_again, authenticated_route
from interfaces.http.dashboard import dashboard_routes
from interfaces.http.directory import directory_routes
from interfaces.http.hardening import AllowedHosts, RateLimit, SecurityHeaders
from interfaces.http.json_bodies import BodyLimit
from interfaces.http.keys import key_routes
from interfaces.http.lists import list_routes
from interfaces.http.models import Problem
from interfaces.http.moving import moving_routes
from interfaces.http.operations import Readiness, operation_routes
from interfaces.http.push import push_routes
from interfaces.http.reading import Reads
from interfaces.http.representations import Representations
from interfaces.http.requests import request_routes
from interfaces.http.session import IdentityProvider, session_routes
from interfaces.http.slack import slack_routes
from interfaces.http.stopping import CutOff
from interfaces.http.tools import Functions, tool_routes
from interfaces.http.webhooks import webhook_routes


@dataclass(frozen=True, slots=True)
class Hardening:
    """What is turned away: calls under other names, too many of one caller, and pages of other sites."""

    hosts: frozenset[str] | None
    calls_per_minute: int | None
    cors_origins: tuple[str, ...]


Observe = Callable[[str, int, float], None]
"""(route, status, seconds) of a finished HTTP request."""


Stream = Callable[[type[APIRoute], Callable[[Request], Callable[[], Awaitable[Caller | None]]]], APIRouter]
"""Makes the routes of the live stream from a route class that authenticates, and a way to do so again later."""

_MCP_HEADERS = ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name")
"""What MCP clients in browsers send; there are no sessions to name."""

Mcp = Callable[
    [
        type[APIRoute],
        Callable[[Request], Callable[[], Awaitable[Caller | None]]],
        Callable[[AskedRequest], Awaitable[dict[str, Any]]],
    ],
    APIRouter,
]
"""Makes the routes of the MCP server from the same, and a way to show a request."""


def build_api(
    *,
    requests: Requests,
    directory_service: DirectoryService,
    keys: Keys,
    key_used: Callable[[UUID], None],
    sign_in: SignIn,
    provider: IdentityProvider | None,
    browsers: Browsers,
    push_key: str,
    slack: SlackAdministration,
    webhooks: WebhookAdministration,
    url: str,
    directory: Directory,
    store: EventStore,
    reads: Reads,
    clock: Clock,
    export: Export,
    head: SignedHead,
    verify: Verify,
    stream: Stream,
    mcp: Mcp,
    functions: Functions,
    pages: APIRouter,
    hardening: Hardening,
    acknowledge_grace: timedelta,
    ready: Readiness,
    metrics: Callable[[], Awaitable[bytes]],
    observe: Observe,
    max_body_bytes: int,
    version: str,
) -> FastAPI:
    """The whole API as one ASGI application. Opens nothing."""
    app = FastAPI(
        title="Handraise",
        version=version,
        summary="Agents ask, the right person answers, the agent resumes.",
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    represent = Representations(directory)

    def include(router: APIRouter) -> None:
        # As they are, for they lack nothing: `include_router` makes each a second time, when the first call comes.
        app.router.routes.extend(router.routes)

    async def authenticate(credential: Credential) -> Caller | None:
        if credential.of_session:
            return await sign_in.authenticate(credential.secret, embedded=credential.embedded)
        caller = await keys.authenticate(credential.secret)
        if caller is not None and caller.key_id is not None:
            key_used(caller.key_id)
        return caller

    include(moving_routes(requests, represent, authenticate, reads, directory))
    include(request_routes(requests, represent, authenticate, reads))
    include(directory_routes(directory_service, sign_in, store, represent, authenticate, reads))
    include(key_routes(keys, store, represent, authenticate, reads))
    include(list_routes(reads, directory, represent, authenticate, clock))
    include(dashboard_routes(reads, represent, authenticate, clock, acknowledge_grace))
    include(
        audit_routes(
            reads=reads,
            directory=directory,
            represent=represent,
            authenticate=authenticate,
            export=export,
            head=head,
            verify=verify,
        )
    )

    def again(request: Request) -> Callable[[], Awaitable[Caller | None]]:
        return authenticate_again(authenticate, request)

    include(stream(authenticated_route(authenticate), again))
    include(mcp(authenticated_route(authenticate), again, represent.request))
    include(tool_routes(functions, represent.request, authenticate))
    include(session_routes(sign_in, authenticate, provider, url, represent.names))
    include(push_routes(browsers, push_key, store.head, authenticate))
    include(slack_routes(slack, authenticate, reads))
    include(webhook_routes(webhooks, store, authenticate, reads))
    include(operation_routes(ready, metrics))
    include(pages)
    docs_page.install(app)

    async def describe_closed(request: Request, refusal: AlreadyClosed) -> dict[str, Any]:
        return await represent.closed(refusal.status, refusal.by, refusal.at)

    async def describe_claimed(refusal: AlreadyClaimed) -> dict[str, Any]:
        return await represent.claimed(refusal.by)

    problems.install(app, describe_closed, describe_claimed)
    app.add_middleware(BodyLimit, max_bytes=max_body_bytes)
    if hardening.calls_per_minute is not None:
        app.add_middleware(RateLimit, per_minute=hardening.calls_per_minute)
    if hardening.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(hardening.cors_origins),
            allow_methods=["GET", "POST", "PATCH", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Last-Event-ID", *_MCP_HEADERS],
        )
    app.add_middleware(AllowedHosts, hosts=hardening.hosts)
    app.add_middleware(Observed, observe=observe)
    stack = app.build_middleware_stack
    # Around the whole of it: what Starlette answers to a failure of ours passes none of the above.
    app.build_middleware_stack = lambda: SecurityHeaders(CutOff(stack()), https=url.startswith("https:"))
    app.openapi = lambda: _openapi(app)
    return app


def build_operations_api(
    ready: Readiness, metrics: Callable[[], Awaitable[bytes]], observe: Observe, hosts: frozenset[str] | None
) -> FastAPI:
    """Only what tells how a server is, for one that answers no calls. Opens nothing."""
    app = FastAPI(redirect_slashes=False, openapi_url=None)
    app.include_router(operation_routes(ready, metrics))

    @app.exception_handler(404)
    async def elsewhere(request: Request, error: Exception) -> Response:
        detail = "this server is a worker: it answers /healthz, /readyz and /metrics; ask one with the role web or all"
        return problems.problem(404, "Not found", detail)

    app.add_middleware(AllowedHosts, hosts=hosts)
    app.add_middleware(Observed, observe=observe)
    return app


class Observed:
    """Measures every HTTP request by its route."""

    def __init__(self, app: ASGIApp, observe: Observe) -> None:
        self._app = app
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = scope.get("route")
            self._observe(getattr(route, "path", "none"), status, time.perf_counter() - started)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The generated document, with the credential that every call below /api needs."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            routes=app.routes,
            tags=app.openapi_tags,
        )
        schema.setdefault("components", {})["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer", "description": "A key of an agent or a person."},
            "session": {
                "type": "apiKey",
                "in": "cookie",
                "name": SESSION_COOKIE,
                "description": f"A person's session. What changes something also needs the header {CSRF_HEADER}.",
            },
        }
        schema["components"].setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        for path, operations in schema["paths"].items():
            for operation in operations.values():
                if path.startswith("/api"):
                    operation.setdefault("security", [{"key": []}, {"session": []}])
                # FastAPI's own shape of a validation error is never sent: problems are.
                if "HTTPValidationError" in str(operation["responses"].get("422", "")):
                    del operation["responses"]["422"]
        for name in ("HTTPValidationError", "ValidationError"):
            schema["components"].get("schemas", {}).pop(name, None)
        app.openapi_schema = schema
    return app.openapi_schema
