"""What time brings about: deadlines are carried out when they come, by whichever replica leases them first."""

from __future__ import annotations

from datetime import timedelta

from application.ports import DueSteps
from application.requests import Requests

EXPIRE = "expire"
SHRED = "shred"

_BATCH = 500


class Deadlines:
    """Carries out due steps. Called by the scheduler, which sleeps in between."""

    def __init__(self, due: DueSteps, requests: Requests) -> None:
        self._due = due
        self._requests = requests

    async def carry_out(self) -> timedelta | None:
        """Do all that is due; returns how long until the next step is, None when none is planned."""
        while True:
            now, steps = await self._due.lease(_BATCH)
            if not steps:
                break
            if shred := [step.request_id for step in steps if step.step == SHRED]:
                await self._due.shred(shred)
            await self._requests.expire_all([step.request_id for step in steps if step.step == EXPIRE], now)
        now, next_due = await self._due.next_due()
        return None if next_due is None else max(next_due - now, timedelta(0))
