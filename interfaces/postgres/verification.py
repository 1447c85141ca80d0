"""The hash chain verified bit by bit, each replica for itself: what was verified once is not walked again."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg

from application.ports import Clock
from application.tasks import end
from domain.request import instant
from interfaces.postgres.chain import START, Head, Verdict, read_head, verify
from interfaces.postgres.pool import Pool, reading

AT_ONCE = 20_000
"""Events that one call looks at, at most."""

_BATCH = 200
"""Events that are held at once; each may be as large as the largest body."""


class Verification:
    """Goes on from the last place that was found whole; who calls at the same time shares the run."""

    def __init__(self, pool: Pool, clock: Clock, *, at_once: int = AT_ONCE) -> None:
        self._pool = pool
        self._clock = clock
        self._at_once = at_once
        self._whole = START
        """Up to here every link held when it was looked at."""
        self._run: asyncio.Task[dict[str, Any]] | None = None

    async def __call__(self, afresh: bool) -> dict[str, Any]:
        """Look at the next events, `afresh` from the first one on. Raises `Unavailable`."""
        if afresh:
            if self._run is not None:
                await asyncio.wait([self._run])
            self._whole = START
        if self._run is None:
            self._run = asyncio.create_task(self._go_on(), name="verification")
            self._run.add_done_callback(self._ended)
        return await asyncio.shield(self._run)

    async def stop(self) -> None:
        """End the run that is under way, if one is."""
        if self._run is not None:
            await end(self._run)

    def _ended(self, run: asyncio.Task[dict[str, Any]]) -> None:
        self._run = None
        if not run.cancelled():
            run.exception()  # callers that went away must not leave a warning behind

    async def _go_on(self) -> dict[str, Any]:
        verdict, newest = await reading(self._pool, self._look)
        self._whole = verdict.head
        return {
            "verified_to": verdict.head.position,
            "head_position": newest.position,
            "intact": verdict.fault is None,
            "problem": verdict.fault,
            "at": instant(self._clock.now()),
        }

    async def _look(self, connection: psycopg.AsyncConnection) -> tuple[Verdict, Head]:
        verdict = await verify(connection, after=self._whole, limit=self._at_once, batch=_BATCH)
        return verdict, await read_head(connection)
