"""The HTTP application: routes, problems, limits and measurements put together."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from application.directory import DirectoryService
from application.ports import Directory, EventStore
from application.requests import Requests
from domain.errors import AlreadyClosed
from interfaces.http import problems
from interfaces.http.directory import directory_routes
from interfaces.http.json_bodies import BodyLimit
from interfaces.http.models import Problem
from interfaces.http.operations import Readiness, operation_routes
from interfaces.http.representations import Representations
from interfaces.http.requests import request_routes

Observe = Callable[[str, int, float], None]
"""(route, status, seconds) of a finished HTTP request."""


def build_api(
    *,
    requests: Requests,
    directory_service: DirectoryService,
    directory: Directory,
    store: EventStore,
    ready: Readiness,
    metrics: Callable[[], bytes],
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
    )
    represent = Representations(directory)
    authenticate = directory_service.authenticate
    app.include_router(request_routes(requests, represent, authenticate))
    app.include_router(directory_routes(directory_service, store, represent, authenticate))
    app.include_router(operation_routes(ready, metrics))

    async def describe_closed(request: Request, refusal: AlreadyClosed) -> dict[str, Any]:
        return await represent.closed(refusal.status, refusal.by, refusal.at)

    problems.install(app, describe_closed)
    app.add_middleware(BodyLimit, max_bytes=max_body_bytes)
    app.add_middleware(Observed, observe=observe)
    app.openapi = lambda: _openapi(app)
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
            "key": {"type": "http", "scheme": "bearer", "description": "A key of an agent or a person."}
        }
        schema["components"].setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        for path, operations in schema["paths"].items():
            for operation in operations.values():
                if path.startswith("/api"):
                    operation["security"] = [{"key": []}]
                # FastAPI's own shape of a validation error is never sent: problems are.
                if "HTTPValidationError" in str(operation["responses"].get("422", "")):
                    del operation["responses"]["422"]
        for name in ("HTTPValidationError", "ValidationError"):
            schema["components"].get("schemas", {}).pop(name, None)
        app.openapi_schema = schema
    return app.openapi_schema
