"""What time brings about: steps are carried out when they come, by whichever replica leases them first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from application.bulk import all_of
from application.departures import Departures
from application.notices import Notices
from application.ports import DueStep, DueSteps
from application.requests import Requests
from domain.timetable import ESCALATE, EXPIRE, NOTIFY

SHRED = "shred"
DEPART = "depart"

_BATCH = 500
_SENT_AT_ONCE = 32

Report = Callable[[str, Exception], None]


class Deadlines:
    """Carries out due steps. Called by the scheduler, which sleeps in between."""

    def __init__(
        self, due: DueSteps, requests: Requests, departures: Departures, notices: Notices, report: Report
    ) -> None:
        self._due = due
        self._requests = requests
        self._departures = departures
        self._notices = notices
        self._report = report
        self._sending: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(_SENT_AT_ONCE)

    async def carry_out(self) -> timedelta | None:
        """Do all that is due; returns how long until the next step is, None when none is planned.

        Calls to the outside go on by themselves: a slow channel holds up no deadline.
        """
        while True:
            now, steps = await self._due.lease(_BATCH)
            if not steps:
                break
            if shred := [step.request_id for step in steps if step.step == SHRED]:
                await self._due.shred(shred)
            # What expires first: of a request that is overdue for more, nothing else happens.
            await all_of(self._requests.expire(id, now) for id in _of(steps, EXPIRE))
            await all_of(self._escalate(id) for id in _of(steps, ESCALATE))
            for id in _of(steps, DEPART):
                if await self._departures.move_on(id):
                    await self._due.done(id, DEPART)
            for step in steps:
                if step.step.startswith(f"{NOTIFY}:"):
                    task = asyncio.create_task(self._send(step, now), name="notice")
                    self._sending.add(task)
                    task.add_done_callback(self._sending.discard)
        now, next_due = await self._due.next_due()
        return None if next_due is None else max(next_due - now, timedelta(0))

    async def sent(self) -> None:
        """Returns once every call that has begun is over."""
        while self._sending:
            await asyncio.wait(self._sending)

    async def stop(self) -> None:
        """Give up what is being sent; it is sent again, with the same key, once its lease is over."""
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    async def _escalate(self, id: UUID) -> None:
        if not await self._requests.escalate(id):
            await self._due.done(id, ESCALATE)

    async def _send(self, step: DueStep, now: datetime) -> None:
        async with self._places:
            try:
                await self._notices.give(step.request_id, step.step, now)
            except Exception as error:  # the lease ends, and it is tried again
                self._report("notice not given", error)


def _of(steps: Sequence[DueStep], kind: str) -> list[UUID]:
    return [step.request_id for step in steps if step.step == kind]
