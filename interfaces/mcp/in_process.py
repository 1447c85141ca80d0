"""The requests of one agent, in this process."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from application.requests import Ask, Requests
from domain.callers import AgentCaller, Caller
from domain.errors import NotSignedIn
from domain.request import Request
from interfaces.mcp.results import View

T = TypeVar("T")

Render = Callable[[Request], Awaitable[View]]
"""A request as the wire contract shows it."""


class InProcess:
    """The backend of the tools for the caller of one HTTP request."""

    def __init__(
        self,
        requests: Requests,
        render: Render,
        caller: AgentCaller,
        reauthenticate: Callable[[], Awaitable[Caller | None]],
        key: str,
    ) -> None:
        self._requests = requests
        self._render = render
        self._caller = caller
        self._reauthenticate = reauthenticate
        self._key = key
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def let_go(self) -> None:
        """The caller does not wait any more: have its wait end with the request as it stands."""
        if not self._gone.done():
            self._gone.set_result(None)

    async def create(self, body: dict[str, Any]) -> View:
        """Ask. Raises as `Requests.ask` does."""
        request, _ = await _to_its_end(self._requests.ask(_asked(body), self._caller))
        return await self._render(request)

    async def get(self, id: str) -> View:
        """The request."""
        return await self._render(await self._requests.get(await self._find(id), self._caller))

    async def wait(self, id: str, seconds: float) -> View:
        """The request once it is closed, unless the key has stopped working meanwhile."""
        request = await self._requests.wait(UUID(id), self._caller, seconds, self._gone)
        # Who waited for hours must not get by a revoked key what it would not get now.
        if await self._reauthenticate() is None:
            raise NotSignedIn("this key is expired or revoked by now; the request stays as it is")
        return await self._render(request)

    async def cancel(self, id: str, reason: str | None) -> View:
        """Withdraw the request."""
        found = await self._find(id)
        return await self._render(await _to_its_end(self._requests.cancel(found, self._caller, reason)))

    def receipt(self, id: str) -> str:
        """A receipt that only who has the key can make."""
        return receipt(self._key, id)

    async def collect(self, id: str, receipt: str) -> Mapping[str, Any]:
        """The sealed answer."""
        _, answer = await _to_its_end(self._requests.collect(UUID(id), receipt, self._caller))
        return {"outcome": answer.outcome, "text": answer.text, "data": answer.data}

    async def acknowledge(self, id: str, receipt: str | None) -> None:
        """Say that the answer was handed over; have a sealed one destroyed."""
        await self._requests.acknowledge(UUID(id), receipt, self._caller)

    async def _find(self, id: str) -> UUID:
        return await self._requests.find(id, self._caller)


def receipt(key: str, id: str) -> str:
    """The same for every transport: a call that is repeated over another one gets the same answer."""
    return hmac.digest(key.encode(), f"collect {id}".encode(), hashlib.sha256).hex()


async def _to_its_end(write: Coroutine[Any, Any, T]) -> T:
    """What is begun is written even if the caller goes away: a repeat then finds it."""
    task = asyncio.ensure_future(write)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be left to be told
    return await asyncio.shield(task)


def _asked(body: Mapping[str, Any]) -> Ask:
    given = dict(body)
    seconds = given.pop("expires_in_seconds", None)
    return Ask(**given, expires_in=None if seconds is None else timedelta(seconds=seconds))
