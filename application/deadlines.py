"""What time brings about: steps are carried out when they come, by whichever replica leases them first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from application.bulk import all_of
from application.departures import Departures
from application.notices import Notices
from application.ports import DueStep, DueSteps
from application.requests import Requests
from application.tasks import end
from application.webhooks import REPORT
from domain.timetable import ERASE, ESCALATE, EXPIRE, NOTIFY, UPDATE

SHRED = "shred"
DEPART = "depart"

_BATCH = 500
_SENT_AT_ONCE = 32
_BEGUN_WITHIN_SECONDS = 8.0
"""A notice that has waited longer for its turn is left to its next lease: a call must end within this one."""

Report = Callable[[str, Exception], None]


class Deadlines:
    """Carries out due steps. Called by the scheduler, which sleeps in between."""

    def __init__(
        self,
        due: DueSteps,
        requests: Requests,
        departures: Departures,
        notices: Notices,
        report: Report,
        report_closed: Callable[[DueStep, datetime], Awaitable[bool]],
    ) -> None:
        """`report_closed` reports a closed request to its agent's webhook; False where that was put off."""
        self._due = due
        self._requests = requests
        self._departures = departures
        self._notices = notices
        self._report_closed = report_closed
        self._report = report
        self.wake: Callable[[], None] = lambda: None
        """Called when something was put off that had seemed to be under way: `carry_out` did not know of it."""

        self._sending: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(_SENT_AT_ONCE)

    async def carry_out(self) -> timedelta | None:
        """Do all that is due; returns how long until the next step is, None when none is planned.

        Calls to the outside go on by themselves: a slow channel holds up no deadline. What fails keeps nothing else
        from its time; the first failure is raised at the end.
        """
        failures: list[Exception] = []
        held: dict[tuple[UUID, str], tuple[DueStep, datetime]] = {}
        while True:
            now, steps = await self._due.lease(_BATCH)
            if not steps:
                break
            # What expires first: of a request that is overdue for more, nothing else happens.
            for kind, carry_out in (
                (SHRED, self._shred),
                (EXPIRE, partial(self._expire, now=now)),
                (ESCALATE, self._escalate),
                (DEPART, self._depart),
                (ERASE, partial(self._erase, now=now)),
            ):
                try:
                    if due := [step for step in steps if step.step == kind]:
                        await carry_out(due)
                except Exception as failure:  # such a step is tried again, once its lease is over
                    failures.append(failure)
            moving = {step.request_id for step in steps if step.step == ESCALATE}
            for step in steps:
                if step.step.startswith(f"{REPORT}:"):
                    self._go_on_by_itself(self._report_to_webhook(step, now))
                if step.step.startswith(f"{UPDATE}:"):
                    self._begin(step, now)
                if not step.step.startswith(f"{NOTIFY}:"):
                    continue
                held.pop((step.request_id, step.step), None)
                if step.request_id in moving:  # after downtime the ladder may go on: nobody is told too soon
                    held[step.request_id, step.step] = step, now
                else:
                    self._begin(step, now)
        for step, now in held.values():
            self._begin(step, now)
        if failures:
            raise failures[0]
        now, next_due = await self._due.next_due()
        return None if next_due is None else max(next_due - now, timedelta(0))

    async def sent(self) -> None:
        """Returns once every call that has begun is over."""
        while self._sending:
            await asyncio.wait(self._sending)

    async def stop(self) -> None:
        """Give up what is being sent; it is sent again, with the same key, once its lease is over."""
        await end(*self._sending)

    async def _shred(self, steps: Sequence[DueStep]) -> None:
        await self._due.shred([step.request_id for step in steps])

    async def _expire(self, steps: Sequence[DueStep], now: datetime) -> None:
        await all_of(self._requests.expire(step.request_id, now) for step in steps)

    async def _escalate(self, steps: Sequence[DueStep]) -> None:
        async def escalate(step: DueStep) -> None:
            if not await self._requests.escalate(step.request_id):
                await self._due.done(step)

        await all_of(escalate(step) for step in steps)

    async def _erase(self, steps: Sequence[DueStep], now: datetime) -> None:
        async def erase(step: DueStep) -> None:
            if not await self._requests.erase_as_planned(step.request_id, now):
                await self._due.done(step)

        await all_of(erase(step) for step in steps)

    async def _depart(self, steps: Sequence[DueStep]) -> None:
        for step in steps:
            if await self._departures.move_on(step.request_id):
                await self._due.done(step)

    def _begin(self, step: DueStep, now: datetime) -> None:
        self._go_on_by_itself(self._send(step, now))

    def _go_on_by_itself(self, call: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(call, name="call")
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _report_to_webhook(self, step: DueStep, now: datetime) -> None:
        try:
            if not await self._report_closed(step, now):
                self.wake()
        except Exception as error:  # the lease ends, and it is tried again
            self._report("closed request not reported", error)

    async def _send(self, step: DueStep, now: datetime) -> None:
        try:
            async with asyncio.timeout(_BEGUN_WITHIN_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            return
        try:
            if not step.step.startswith(f"{UPDATE}:"):
                await self._notices.give(step, now)
            elif not await self._notices.update(step, now):
                self.wake()
        except Exception as error:  # the lease ends, and it is tried again
            self._report("notice not given", error)
        finally:
            self._places.release()
