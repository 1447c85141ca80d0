"""What is still being answered when a stop has taken as long as it may: it is refused, not broken off."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interfaces.http.problems import problem


class CutOff:
    """Answers 503 where the server gives up on a call: whatever that was about may have been done, or not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except asyncio.CancelledError:
            if started or scope["type"] != "http":
                raise
            detail = "this server stops, and cannot say whether it was done: make the same call again"
            await problem(503, "Unavailable", detail, headers={"Retry-After": "1"})(scope, receive, send)
