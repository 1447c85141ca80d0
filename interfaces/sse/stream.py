"""`GET /api/stream`: server-sent events, resumed without gap or repeat."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Header, Query, Request
from fastapi.routing import APIRoute
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from application.ports import Clock
from domain.callers import Caller
from domain.errors import Unavailable
from interfaces.sse.frames import resync
from interfaces.sse.hub import Authenticate, Hub

REPLAYED_POSITIONS = 10_000
"""A client that is further behind reads afresh instead."""

_DIGITS = 19
"""As many as the largest position can have."""

_HEARTBEAT = b": still here\n\n"

log = structlog.get_logger(__name__)

Head = Callable[[], Awaitable[int]]


def stream_routes(
    *,
    hub: Hub,
    clock: Clock,
    head: Head,
    route_class: type[APIRoute],
    reauthenticate: Callable[[Request], Authenticate],
    heartbeat_seconds: float,
    refusals: dict[int | str, dict[str, Any]],
) -> APIRouter:
    """The stream. `route_class` puts the caller into `request.state.caller`; `reauthenticate` asks again later."""
    router = APIRouter(prefix="/api", tags=["stream"], route_class=route_class)

    @router.get(
        "/stream",
        summary="What happens to the requests that the caller may see, as it happens",
        response_class=StreamingResponse,
        responses=refusals | {200: {"content": {"text/event-stream": {}}, "description": "The stream"}},
    )
    async def stream(
        request: Request,
        after: Annotated[str | None, Query(description="Go on after this position.")] = None,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> StreamingResponse:
        caller: Caller = request.state.caller
        newest = await head()
        resume = last_event_id if last_event_id is not None else after
        return _EventStream(
            _events(hub, caller, reauthenticate(request), clock, resume, newest, heartbeat_seconds),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    return router


class _EventStream(StreamingResponse):
    """Ends its events with itself: a client that leaves while it is being sent something frees its subscription."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            assert isinstance(self.body_iterator, AsyncGenerator)
            await self.body_iterator.aclose()


async def _events(
    hub: Hub,
    caller: Caller,
    authenticate: Authenticate,
    clock: Clock,
    resume: str | None,
    newest: int,
    heartbeat: float,
) -> AsyncGenerator[bytes, None]:
    position = None if resume is None else _position(resume, newest)
    afresh = resume is not None and position is None
    # Nothing is awaited between the look at the hub's position and being subscribed: no event can fall between.
    live = hub.position
    subscription = hub.subscribe(caller, authenticate, newest if afresh else position or 0)
    try:
        yield _HEARTBEAT  # headers and first bytes at once, through any proxy
        try:
            # What changed since the caller was authenticated, before it was subscribed, nobody else would notice.
            await hub.check(subscription)
            if afresh:
                yield resync(max(newest, live))
            elif position is not None:
                async for text in hub.replay(subscription, position, live):
                    if _has_ended(subscription.caller, clock):
                        return
                    yield text
        except Unavailable as error:  # the client comes back and goes on where it was
            log.warning("stream could not begin", error=str(error))
            return
        while True:
            try:
                await subscription.wait(_seconds(subscription.caller, clock, heartbeat))
                text = subscription.take()
            except TimeoutError:
                text = _HEARTBEAT
            if _has_ended(subscription.caller, clock):
                return
            if text:
                yield text
            if subscription.closed:
                return
    finally:
        hub.unsubscribe(subscription)


def _position(resume: str, newest: int) -> int | None:
    """The position to go on from; None for one that is none, lies beyond the head, or too far behind."""
    if not (resume.isascii() and resume.isdigit() and len(resume) <= _DIGITS):
        return None
    position = int(resume)
    return position if newest - REPLAYED_POSITIONS <= position <= newest else None


def _seconds(caller: Caller, clock: Clock, heartbeat: float) -> float:
    """Until the next sign of life, or until the credential ends if that is sooner."""
    if caller.until is None:
        return heartbeat
    return max(0.0, min(heartbeat, (caller.until - clock.now()).total_seconds()))


def _has_ended(caller: Caller, clock: Clock) -> bool:
    return caller.until is not None and clock.now() >= caller.until
