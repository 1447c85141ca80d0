"""What time brings about: deadlines are carried out when they come, by whichever replica leases them first."""

from __future__ import annotations

from datetime import timedelta

from application.departures import Departures
from application.ports import DueSteps
from application.requests import Requests

EXPIRE = "expire"
SHRED = "shred"
DEPART = "depart"

_BATCH = 500


class Deadlines:
    """Carries out due steps. Called by the scheduler, which sleeps in between."""

    def __init__(self, due: DueSteps, requests: Requests, departures: Departures) -> None:
        self._due = due
        self._requests = requests
        self._departures = departures

    async def carry_out(self) -> timedelta | None:
        """Do all that is due; returns how long until the next step is, None when none is planned."""
        while True:
            now, steps = await self._due.lease(_BATCH)
            if not steps:
                break
            if shred := [step.request_id for step in steps if step.step == SHRED]:
                await self._due.shred(shred)
            await self._requests.expire_all([step.request_id for step in steps if step.step == EXPIRE], now)
            for step in steps:
                if step.step == DEPART and await self._departures.move_on(step.request_id):
                    await self._due.done(step.request_id, DEPART)
        now, next_due = await self._due.next_due()
        return None if next_due is None else max(next_due - now, timedelta(0))
