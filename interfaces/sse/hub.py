"""Hands each frame to the live streams of this replica that may have it, in order, with bounded memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Protocol
from uuid import UUID

import structlog

from application.ports import Directory
from application.tasks import end
from domain.callers import Caller
from domain.recorded import RecordedEvent
from interfaces.sse.frames import Frame, frames_of, resync

QUEUED_FRAMES = 512
"""Frames that may wait for one slow client before it is told to read afresh."""

_BATCH = 500
_RETRY_SECONDS = 0.5

log = structlog.get_logger(__name__)

Authenticate = Callable[[], Awaitable[Caller | None]]


class Facts(Protocol):
    """The newest events as facts: see `interfaces.postgres.facts`."""

    async def of_requests(
        self, after: int, limit: int, upto: int | None = None
    ) -> tuple[Mapping[UUID, Sequence[tuple[int, RecordedEvent]]], int]:
        """All events so far of the requests that the next events concern, and the last position read."""
        ...


class Subscription:
    """One live stream: what waits to be sent on it, and for whom."""

    def __init__(self, caller: Caller, authenticate: Authenticate, position: int) -> None:
        self.caller = caller
        self.authenticate = authenticate
        self.position = position
        self.closed = False
        self.restarted = False
        """Whether what waits begins with the news that the client must read afresh."""

        self._frames: deque[bytes] = deque()
        self._filled = asyncio.Event()

    def push(self, frame: Frame) -> None:
        """Queue a frame; a client that is too slow loses its queue and is told so."""
        if self.closed:
            return
        if len(self._frames) >= QUEUED_FRAMES:
            self.restart(frame.position)
            return
        self.position = frame.position
        self._frames.append(frame.text)
        self._filled.set()

    def restart(self, head: int) -> None:
        """Forget what waits; the client shall read afresh and go on from here."""
        self._frames.clear()
        self._frames.append(resync(head))
        self.position = head
        self.restarted = True
        self._filled.set()

    def close(self, *, at_once: bool = False) -> None:
        """End the stream after what is queued; `at_once` without it, for a caller who may have none of it now."""
        if at_once:
            self._frames.clear()
        self.closed = True
        self._filled.set()

    async def wait(self, seconds: float) -> None:
        """Until there is something to take, or the time is up (`TimeoutError`)."""
        async with asyncio.timeout(seconds):
            await self._filled.wait()

    def take(self) -> bytes:
        """All that waits."""
        self._filled.clear()
        if self.closed:
            self._filled.set()
        text = b"".join(self._frames)
        self._frames.clear()
        self.restarted = False
        return text


class Hub:
    """Reads each batch of new events once and offers its frames to every stream."""

    def __init__(self, facts: Facts, directory: Directory) -> None:
        self._facts = facts
        self._directory = directory
        self._subscriptions: set[Subscription] = set()
        self._told = asyncio.Event()
        self._target = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._recheck = asyncio.Event()
        self._stopping = False
        self.position = 0

    def __len__(self) -> int:
        return len(self._subscriptions)

    async def start(self, position: int) -> None:
        """Begin after this position."""
        self.position = self._target = position
        self._tasks = [
            asyncio.create_task(self._pump(), name="stream hub"),
            asyncio.create_task(self._check_callers(), name="stream callers"),
        ]

    async def stop(self) -> None:
        self.close_all()
        await end(*self._tasks)

    def close_all(self) -> None:
        """End every stream: the server stops."""
        self._stopping = True
        for subscription in self._subscriptions:
            subscription.close()

    def follow_to(self, position: int) -> None:
        """The log has events up to here."""
        self._target = max(self._target, position)
        if self._subscriptions:
            self._told.set()
        else:
            self.position = self._target  # nobody listens: nothing to read

    def directory_changed(self) -> None:
        """A key, a person or an agent changed: streams may have to end or to read afresh."""
        self._recheck.set()

    def subscribe(self, caller: Caller, authenticate: Authenticate, after: int = 0) -> Subscription:
        """A live stream of everything after `after`, or after this hub's position if that is further."""
        subscription = Subscription(caller, authenticate, max(after, self.position))
        if self._stopping:
            subscription.close()
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)

    async def replay(self, subscription: Subscription, after: int, upto: int) -> AsyncIterator[bytes]:
        """The caller's frames after one position up to another, a batch at a time.

        Ends early once the stream is closed or the client must read afresh: the rest is not for it then.
        """
        while after < upto:
            requests, last = await self._facts.of_requests(after, _BATCH, upto)
            frames = await frames_of(requests, after, self._directory)
            if subscription.closed or subscription.restarted:
                return
            if text := b"".join(frame.text for frame in frames if frame.is_for(subscription.caller)):
                yield text
            if last == after:
                return
            after = last

    async def _pump(self) -> None:
        while True:
            self._told.clear()
            while self.position < self._target:
                try:
                    requests, last = await self._facts.of_requests(self.position, _BATCH)
                    frames = await frames_of(requests, self.position, self._directory)
                except Exception as error:  # a lost database, say: read again when it is back
                    log.warning("stream could not read", error=type(error).__name__)
                    await asyncio.sleep(_RETRY_SECONDS)
                    continue
                if last == self.position:
                    break
                self.position = max(self.position, last)
                for frame in frames:
                    for subscription in self._subscriptions:
                        if frame.position > subscription.position and frame.is_for(subscription.caller):
                            subscription.push(frame)
            await self._told.wait()

    async def _check_callers(self) -> None:
        while True:
            await self._recheck.wait()
            self._recheck.clear()
            try:
                await asyncio.gather(*(self.check(subscription) for subscription in list(self._subscriptions)))
            except Exception as error:
                log.warning("stream callers not checked", error=type(error).__name__)
                await asyncio.sleep(_RETRY_SECONDS)
                self._recheck.set()

    async def check(self, subscription: Subscription) -> None:
        """Ask again who the caller is: end the stream of one who is nobody now, restart one who changed."""
        caller = await subscription.authenticate()
        if caller is None:
            subscription.close(at_once=True)
        elif caller != subscription.caller:
            subscription.caller = caller
            subscription.restart(max(self.position, subscription.position))
