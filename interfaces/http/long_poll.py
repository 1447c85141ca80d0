"""A response that is found while responding: what it took to call the handler is let go, and so is a lost caller."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

Find = Callable[[asyncio.Future[None]], Awaitable[Response]]
"""Finds the response; the future is done when the caller has gone away."""


class LongPoll(Response):
    """Holds nothing of the handler while it waits, so that ten thousand waits are cheap."""

    def __init__(self, find: Find) -> None:
        super().__init__()
        self._find = find

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            response = await self._find(gone)
        finally:
            gone.cancel()
        await response(scope, receive, send)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
