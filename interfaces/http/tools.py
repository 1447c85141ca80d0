"""The tools of MCP for any API that has models call functions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, Protocol

from fastapi import APIRouter, Body, Path, Query, Request
from starlette.background import BackgroundTask

from domain.callers import AgentCaller, Caller
from domain.errors import NotAllowed
from domain.request import Request as AskedRequest
from interfaces.http.callers import Authenticate, authenticate_again, authenticated_route
from interfaces.http.json_bodies import Json
from interfaces.http.long_poll import LongPoll
from interfaces.http.models import ToolDefinitions, ToolResult
from interfaces.http.requests import By, refusals

Format = Literal["openai", "openai-responses", "anthropic", "plain"]


class Functions(Protocol):
    """What there is to call."""

    def definitions(self, format: str) -> list[dict[str, Any]]:
        """All of it, in this format."""
        ...

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        caller: AgentCaller,
        key: str,
        again: Callable[[], Awaitable[Caller | None]],
        render: Callable[[AskedRequest], Awaitable[dict[str, Any]]],
        gone: asyncio.Future[None],
    ) -> tuple[dict[str, Any], Callable[[], Awaitable[None]]]:
        """The result of a call, and what to do once the caller has it. Raises `Refusal`s."""
        ...


def tool_routes(
    functions: Functions,
    render: Callable[[AskedRequest], Awaitable[dict[str, Any]]],
    authenticate: Authenticate,
) -> APIRouter:
    """Everything below `/api/tools`."""
    router = APIRouter(prefix="/api", tags=["tools"], route_class=authenticated_route(authenticate))

    @router.get(
        "/tools",
        response_model=ToolDefinitions,
        summary="The tools, as definitions of functions",
        description="In the format of one API or another: `openai` (Chat Completions, which most others read too), "
        "`openai-responses`, `anthropic`, or `plain`, with the schema of results.",
        responses=refusals(403, 422),
    )
    async def definitions(by: By, format: Annotated[Format, Query()] = "openai") -> Json:
        _agent(by)
        return Json({"tools": functions.definitions(format)})

    @router.post(
        "/tools/{name}",
        response_model=ToolResult,
        summary="Call a tool",
        description="The body is the arguments that the model gave. `human_feedback` answers once a person has, or "
        "after `timeout_seconds` (300, at least 30) with the outcome `open`; a caller that goes away leaves the "
        "request open, and the same call again goes on waiting.",
        responses=refusals(403, 404, 409, 410, 413, 422),
    )
    async def call(
        name: Annotated[str, Path(max_length=100)], arguments: Annotated[dict[str, Any], Body()], by: By, http: Request
    ) -> LongPoll:
        caller = _agent(by)
        _, _, key = http.headers["authorization"].partition(" ")

        async def wait_for(gone: asyncio.Future[None]) -> Json:
            result, handed_over = await functions.call(
                name,
                arguments,
                caller=caller,
                key=key.strip(),
                again=authenticate_again(authenticate, http),
                render=render,
                gone=gone,
            )
            return Json(result, background=None if gone.done() else BackgroundTask(handed_over))

        return LongPoll(wait_for)

    return router


def _agent(by: Caller) -> AgentCaller:
    if not isinstance(by, AgentCaller):
        raise NotAllowed("only an agent's key may call tools; make one with: handraise key create --agent ID")
    return by
