"""The same client for asyncio, made for thousands of waits at once."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from handraise import flows
from handraise.asides import FRESH_SECONDS
from handraise.connection import Connection
from handraise.steps import Aside, Flow, Send, Step, run_async, signature_of

P = ParamSpec("P")
T = TypeVar("T")

_KEPT = 50
"""Connections kept open for the next requests."""
_AT_ONCE = 50
"""Requests on their way that do not wait for a person; more than that only queue up in the server."""
_ASIDES_AT_ONCE = 10
_ASIDE_SECONDS = 30.0
"""How long what is done on the side may take with its turn: thousands of answers may come together."""


def asynchronous(
    flow: Callable[Concatenate[Connection, P], Flow[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """The method that runs this flow without blocking the event loop."""

    @functools.wraps(flow)
    async def method(self: AsyncClient, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(flow(self, *args, **kwargs))

    method.__signature__ = signature_of(flow)  # type: ignore[attr-defined]
    return method


class AsyncClient(Connection):
    """The calls of `Client`, to be awaited. Any number of them may be going on at once, in one event loop.

    Each wait holds one connection, and with it one file that the process may open (`ulimit -n`). A call that is
    cancelled leaves its request open. Close the client with `aclose`, or use it in an `async with`.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        patience_seconds: float = 30.0,
        connect_patience_seconds: float | None = None,
        via: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """As `Client` does."""
        super().__init__(
            url,
            key,
            patience_seconds=patience_seconds,
            connect_patience_seconds=connect_patience_seconds,
            via=via,
            is_replaced=transport is not None,
        )
        self._transport = transport if self._stand_in is None else self._stand_in.transport
        self._settings = self._http_settings()
        if self._settings["verify"]:  # reading all certificates once is enough
            self._settings["verify"] = httpx.create_ssl_context(trust_env=self._settings["trust_env"])
        # One connection each: a pool of httpx goes through all of its connections again and again.
        self._idle: list[httpx.AsyncClient] = []
        self._is_closed = False
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self._asides: set[asyncio.Task[None]] = set()
        self._asides_at_once = asyncio.Semaphore(_ASIDES_AT_ONCE)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, once acknowledgements on their way have arrived, or 2 s later."""
        if self._asides:
            _, late = await asyncio.wait(self._asides, timeout=FRESH_SECONDS)
            for aside in late:
                aside.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self._is_closed = True
        while self._idle:
            await self._idle.pop().aclose()

    async def _run(self, flow: Flow[T]) -> T:
        return await run_async(flow, self._perform)

    async def _perform(self, step: Step) -> httpx.Response | None:
        if isinstance(step, Aside):
            await self._do_aside(step.flow)
            return None
        if not isinstance(step, Send):
            await asyncio.sleep(step.seconds)
            return None
        if step.waits:
            return await self._send(step)
        async with self._at_once:
            return await self._send(step)

    async def _do_aside(self, flow: Flow[None]) -> None:
        if self._stand_in is not None:  # a test may look at once
            await self._run(flow)
            return
        task = asyncio.create_task(self._aside(flow), name="handraise aside")
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    async def _aside(self, flow: Flow[None]) -> None:
        with contextlib.suppress(Exception):  # nobody waits, so there is nobody to tell
            async with asyncio.timeout(_ASIDE_SECONDS), self._asides_at_once:
                await self._run(flow)

    async def _send(self, step: Send) -> httpx.Response:
        http = self._idle.pop() if self._idle else httpx.AsyncClient(transport=self._transport, **self._settings)
        try:
            return await http.request(**step.as_arguments)
        finally:
            if self._is_closed or (len(self._idle) >= _KEPT and self._transport is None):
                await http.aclose()
            else:
                self._idle.append(http)

    # -- asking and waiting for the answer

    ask = asynchronous(flows.ask)
    review = asynchronous(flows.review)
    confirm = asynchronous(flows.confirm)
    choose = asynchronous(flows.choose)
    form = asynchronous(flows.form)
    secret = asynchronous(flows.secret)

    # -- requests

    create = asynchronous(flows.create)
    get = asynchronous(flows.get)
    wait = asynchronous(flows.wait)
    cancel = asynchronous(flows.cancel)
    collect = asynchronous(flows.collect)
    acknowledge = asynchronous(flows.acknowledge)
    acknowledge_soon = asynchronous(flows.acknowledge_soon)
    respond = asynchronous(flows.respond)
    submit = asynchronous(flows.submit)
    erase = asynchronous(flows.erase)
    history = asynchronous(flows.history)
    inbox = asynchronous(flows.inbox)

    # -- the directory, for administrators

    users = asynchronous(flows.users)
    agents = asynchronous(flows.agents)
    keys = asynchronous(flows.keys)
    add_user = asynchronous(flows.add_user)
    add_agent = asynchronous(flows.add_agent)
    create_key = asynchronous(flows.create_key)
    erase_user = asynchronous(flows.erase_user)
    rotate_key = asynchronous(flows.rotate_key)
    make_link = asynchronous(flows.make_link)
    revoke_key = asynchronous(flows.revoke_key)
    export_directory = asynchronous(flows.export_directory)
    import_directory = asynchronous(flows.import_directory)
