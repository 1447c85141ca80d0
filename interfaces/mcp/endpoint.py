"""`/mcp`: streamable HTTP, stateless, so that any replica can take any call."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from application.requests import Requests
from domain.callers import AgentCaller, Caller
from domain.errors import NotAllowed, Unavailable
from interfaces.mcp.acknowledgements import Acknowledgements
from interfaces.mcp.in_process import InProcess, Render
from interfaces.mcp.tools import Tools

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from interfaces.mcp.results import HandedOver

PATH = "/mcp"

_CALL = "handraise.mcp.call"

Again = Callable[[], Awaitable[Caller | None]]
"""Asks who a credential speaks for by now."""


class McpEndpoint:
    """The endpoint and what runs behind it, which is loaded and started by the first call."""

    def __init__(self, requests: Requests, *, progress_seconds: float, max_body_bytes: int, version: str) -> None:
        self._requests = requests
        self._progress_seconds = progress_seconds
        self._max_body_bytes = max_body_bytes
        self._version = version
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._running: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()
        self._acknowledgements = Acknowledgements()
        self._calls = _Calls()

    def routes(
        self, route_class: type[APIRoute], reauthenticate: Callable[[Request], Again], render: Render
    ) -> APIRouter:
        """The route. `route_class` puts the caller into `request.state.caller`; `reauthenticate` asks again later."""
        router = APIRouter(route_class=route_class)

        # Neither GET nor DELETE: there are no sessions, and nothing is said outside of calls.
        @router.post(PATH, include_in_schema=False)
        async def mcp(request: Request) -> Response:
            caller: Caller = request.state.caller
            if not isinstance(caller, AgentCaller):
                raise NotAllowed("only an agent's key may call tools; make one with: handraise key create --agent ID")
            _, _, key = request.headers["authorization"].partition(" ")
            backend = InProcess(self._requests, render, caller, reauthenticate(request), key.strip())
            return _Exchange(
                await self._started(),
                Tools(backend, progress_seconds=self._progress_seconds),
                self._acknowledgements,
                lambda message: self._calls.following(message, caller.key_id, backend),
            )

        return router

    async def stop(self) -> None:
        """End what is left of calls. Raises nothing."""
        self._stopped.set()
        await self._acknowledgements.stop()
        if self._running is not None:
            with contextlib.suppress(Exception):
                await self._running

    async def _started(self) -> StreamableHTTPSessionManager:
        if self._stopped.is_set():
            raise Unavailable("this server stops; call again")
        if self._manager is None:
            self._manager = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._manager))
        return await asyncio.shield(self._manager)

    async def _run(self, started: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        try:
            # In a thread: it takes about a second, for which nobody else should have to wait.
            manager = await asyncio.to_thread(_new_manager, self._version, self._max_body_bytes)
        except Exception as error:
            self._manager = None
            started.set_exception(error)
            return
        async with manager.run():
            started.set_result(manager)
            await self._stopped.wait()


def _new_manager(version: str, max_body_bytes: int) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    from interfaces.mcp.protocol import new_server

    def for_call(request: Request) -> tuple[Tools, Callable[[HandedOver], None]]:
        exchange: _Exchange = request.scope[_CALL]
        return exchange.tools, exchange.handed_over.append

    return StreamableHTTPSessionManager(
        new_server(for_call, version=version),
        stateless=True,
        # The names that we answer to are looked at for every path, before this.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=max_body_bytes,
    )


class _Calls:
    """The calls under way of clients that say by another request that they gave up, as those of the older protocol do.

    They name the call by a number of their own, and several clients may use one key: where more than one call could be
    meant, none is. Whoever is let go by mistake gets `open` and calls again.
    """

    def __init__(self) -> None:
        self._under_way: dict[tuple[UUID, str], list[InProcess]] = {}

    @contextlib.contextmanager
    def following(self, message: dict[str, Any], key_id: UUID, backend: InProcess) -> Generator[None]:
        """While this message of a client is answered."""
        match message:
            case {"method": "notifications/cancelled", "params": {"requestId": str() | int() as id}}:
                under_way = self._under_way.get((key_id, repr(id)), [])
                if len(under_way) == 1:
                    under_way[0].let_go()
                yield
            case {"method": "tools/call", "id": str() | int() as id}:
                calls = self._under_way.setdefault((key_id, repr(id)), [])
                calls.append(backend)
                try:
                    yield
                finally:
                    calls.remove(backend)
                    if not calls:
                        del self._under_way[key_id, repr(id)]
            case _:
                yield


class _Exchange(Response):
    """One HTTP request, answered by the SDK. What is to be done after it is done if the caller has the whole answer."""

    def __init__(
        self,
        manager: StreamableHTTPSessionManager,
        tools: Tools,
        acknowledgements: Acknowledgements,
        following: Callable[[dict[str, Any]], AbstractContextManager[None]],
    ) -> None:
        super().__init__()
        self.tools = tools
        self.handed_over: list[HandedOver] = []
        self._manager = manager
        self._acknowledgements = acknowledgements
        self._following = following

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[_CALL] = self
        gone = sent = False
        request = Request(scope, receive)
        try:
            body = await request.body()
        except ClientDisconnect:  # the SDK would take that for a failure of the server
            return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def watched_receive() -> Message:
            nonlocal gone
            message = messages.pop() if messages else await receive()
            if message["type"] == "http.disconnect" and not sent:
                gone = True
            return message

        async def watched_send(message: Message) -> None:
            nonlocal sent
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                sent = True

        with self._following(_older_message(request, body)):
            await self._manager.handle_request(scope, watched_receive, watched_send)
        if sent and not gone:
            for handed_over in self.handed_over:
                self._acknowledgements.add(handed_over)


def _older_message(request: Request, body: bytes) -> dict[str, Any]:
    """What a client of the older protocol says; nothing for one of the newest, which gives up by going away."""
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    if request.headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS:
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
