"""Sleeps until something is due and has it carried out; woken early when the log says that times have changed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import structlog

from application.deadlines import Deadlines
from application.tasks import end
from domain.errors import Unavailable
from domain.request import Request
from domain.users import User
from interfaces.postgres.writer import Recorded

_LONGEST_SLEEP = 60.0
"""Seconds; also how late a sealed answer that nobody collects may be shredded, or content erased."""

_SHORTEST_SLEEP = 0.1
"""Seconds between two looks at the due times, so that a flood of new requests does not become a flood of queries."""

_PLANS = {
    Request.Requested.TOPIC,
    Request.Reassigned.TOPIC,
    Request.Notified.TOPIC,
    Request.Snoozed.TOPIC,
    Request.Collected.TOPIC,
    User.Changed.TOPIC,
    User.Removed.TOPIC,
}
_ENDS = {Request.Responded.TOPIC, Request.Cancelled.TOPIC, Request.Expired.TOPIC, Request.ContentErased.TOPIC}

log = structlog.get_logger(__name__)


class Scheduler:
    """One task that carries out what is due. Every replica runs one; leases keep them apart."""

    def __init__(self, deadlines: Deadlines, *, shown: Callable[[], bool]) -> None:
        """`shown` is whether what has ended must be told at once: to a channel that shows it, or to a webhook."""
        self.deadlines = deadlines
        self._shown = shown
        self._woken = asyncio.Event()
        deadlines.wake = self._woken.set
        self._task: asyncio.Task[None] | None = None

    def notice(self, recorded: Sequence[Recorded]) -> None:
        """Subscribe this to the tail: new requests bring new times, and so do people who leave."""
        topics = {event.topic for event in recorded}
        if not topics.isdisjoint(_PLANS) or (not topics.isdisjoint(_ENDS) and self._shown()):
            self._woken.set()

    def wake(self) -> None:
        """Something is due that the log does not tell of."""
        self._woken.set()

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="scheduler")

    async def stop(self) -> None:
        if self._task is not None:
            await end(self._task)
        await self.deadlines.stop()

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                delay = await self.deadlines.carry_out()
                seconds = _LONGEST_SLEEP if delay is None else min(delay.total_seconds(), _LONGEST_SLEEP)
            except Unavailable:
                seconds = 1.0
            except Exception:
                log.exception("due steps failed")
                seconds = 5.0
            await asyncio.sleep(_SHORTEST_SLEEP)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(seconds - _SHORTEST_SLEEP, 0)):
                    await self._woken.wait()
