"""Due times, kept in step with the log, leased to one replica at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from application.deadlines import SHRED
from application.ports import DueStep
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.pool import Pool, reached

LEASE_SECONDS = 30

STEPS_DUE = "steps due"
"""The payload of a NOTIFY that says that something is due that the log does not tell of."""

# A step that was given another time meanwhile has no lease any more, or another one, and stays.
DONE = "DELETE FROM due_steps WHERE request_id = %s AND step = %s AND leased_until = %s"
POSTPONE = (
    "UPDATE due_steps SET due_at = %s, leased_until = NULL WHERE request_id = %s AND step = %s AND leased_until = %s"
)


class PostgresDueSteps:
    """The `due_steps` table. The database's clock decides what is due."""

    def __init__(self, pool: Pool, clock: DatabaseClock) -> None:
        self._pool = pool
        self._clock = clock

    async def lease(self, limit: int) -> tuple[datetime, Sequence[DueStep]]:
        async with reached(self._pool) as connection:
            cursor = await connection.execute(
                f"WITH time AS MATERIALIZED (SELECT {self._clock.sql} AS now),"  # noqa: S608  our own expression
                " due AS (SELECT request_id, step FROM due_steps, time WHERE due_at <= time.now"
                "  AND (leased_until IS NULL OR leased_until <= time.now)"
                "  ORDER BY due_at LIMIT %s FOR UPDATE OF due_steps SKIP LOCKED),"
                " leased AS (UPDATE due_steps SET leased_until = time.now + make_interval(secs => %s)"
                "  FROM due, time WHERE due_steps.request_id = due.request_id AND due_steps.step = due.step"
                "  RETURNING due_steps.request_id, due_steps.step, due_steps.due_at, due_steps.leased_until)"
                " SELECT time.now, leased.* FROM time LEFT JOIN leased ON true ORDER BY leased.due_at",
                (limit, LEASE_SECONDS),
            )
            rows = await cursor.fetchall()
        self._clock.set(rows[0][0])
        return rows[0][0], [DueStep(*row[1:]) for row in rows if row[1] is not None]

    async def next_due(self) -> tuple[datetime, datetime | None]:
        async with reached(self._pool) as connection:
            cursor = await connection.execute(
                f"SELECT {self._clock.sql}, least("  # noqa: S608  our own expression
                "(SELECT min(due_at) FROM due_steps WHERE leased_until IS NULL),"
                " (SELECT min(leased_until) FROM due_steps WHERE leased_until IS NOT NULL))"
            )
            row = await cursor.fetchone()
        assert row is not None
        return row[0], row[1]

    async def holds(self, step: DueStep) -> bool:
        async with reached(self._pool) as connection:
            cursor = await connection.execute(
                "SELECT 1 FROM due_steps WHERE request_id = %s AND step = %s AND leased_until = %s",
                (step.request_id, step.step, step.leased_until),
            )
            return await cursor.fetchone() is not None

    async def done(self, step: DueStep) -> None:
        async with reached(self._pool) as connection:
            await connection.execute(DONE, (step.request_id, step.step, step.leased_until))

    async def postpone(self, step: DueStep, until: datetime) -> None:
        async with reached(self._pool) as connection:
            await connection.execute(POSTPONE, (until, step.request_id, step.step, step.leased_until))

    async def shred(self, ids: Sequence[UUID]) -> None:
        async with reached(self._pool) as connection:
            # Not where somebody has collected meanwhile: that gave the step a new time and no lease.
            await connection.execute(
                "WITH done AS (DELETE FROM due_steps WHERE request_id = ANY(%s) AND step = %s"
                "  AND leased_until IS NOT NULL RETURNING request_id)"
                " DELETE FROM sealed_answers USING done WHERE sealed_answers.request_id = done.request_id",
                (list(ids), SHRED),
            )
