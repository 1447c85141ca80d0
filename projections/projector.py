"""Keeps the read models up to date: in batches, exactly once with any number of replicas.

Whoever gets the row locks of the models' positions works; the others pass by. Rows and position move in one
transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import psycopg
from psycopg_pool import AsyncConnectionPool

from projections.log import Log, UnknownEvent
from projections.poison import Report, digest
from projections.read_models import ReadModel

BATCH = 500

_BEHIND_ANOTHER_SECONDS = 0.03
"""How soon to look again while another replica does the work."""

_RETRY_SECONDS = (0.2, 1.0, 5.0)

Pool = AsyncConnectionPool[psycopg.AsyncConnection]


class Projector:
    """Follows the log for these read models. `positions` is how far each of them is, as last known here."""

    def __init__(self, pool: Pool, log: Log, models: Sequence[ReadModel], report: Report) -> None:
        self._pool = pool
        self._log = log
        self._models = {model.name: model for model in models}
        self._report = report
        self._told = asyncio.Event()
        self._moved = asyncio.Condition()
        self._target = 0
        self._task: asyncio.Task[None] | None = None
        self.positions: dict[str, int] = dict.fromkeys(self._models, 0)
        self.failure: str | None = None
        """Why nothing is projected just now; None while all is well."""

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="projector")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def follow_to(self, position: int) -> None:
        """The log has events up to here."""
        self._target = max(self._target, position)
        self._told.set()

    @property
    def behind(self) -> int:
        """How many positions the slowest read model is behind what is known of the log."""
        return max(0, self._target - min(self.positions.values(), default=self._target))

    async def reached(self, name: str, position: int, seconds: float) -> bool:
        """Wait until this read model is at `position`; False when the time is up first."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._moved:
                await self._moved.wait_for(lambda: self.positions[name] >= position)
        return self.positions[name] >= position

    async def _run(self) -> None:
        failures = 0
        while True:
            self._told.clear()
            try:
                worked = await self.project_once()
            except Exception as error:  # whatever it is, it is reported, and the projector tries again
                unknown = isinstance(error, UnknownEvent)
                self.failure = str(error) if unknown else type(error).__name__
                self._report("projector failed", {"error": self.failure})
                await asyncio.sleep(_RETRY_SECONDS[-1 if unknown else min(failures, len(_RETRY_SECONDS) - 1)])
                failures += 1
                continue
            self.failure, failures = None, 0
            if worked:
                continue
            # While behind, another replica holds the locks: look again soon whether it still does.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), _BEHIND_ANOTHER_SECONDS if self.behind else None)

    async def project_once(self, limit: int = BATCH) -> bool:
        """Project one batch; False when there was nothing to do or others are doing it."""
        async with self._pool.connection() as connection:
            positions, worked = await self._project(connection, limit)
        async with self._moved:
            self.positions.update(positions)
            self._moved.notify_all()
        return worked

    async def _project(self, connection: psycopg.AsyncConnection, limit: int) -> tuple[dict[str, int], bool]:
        async with connection.transaction():
            # What a crash of the database loses here is projected again.
            await connection.execute("SET LOCAL synchronous_commit = off")
            cursor = await connection.execute(
                "SELECT name, position FROM read_models WHERE name = ANY(%s) FOR UPDATE SKIP LOCKED",
                (list(self._models),),
            )
            mine: dict[str, int] = dict(await cursor.fetchall())
            if not mine:
                return await self._read_positions(connection), False
            entries = await self._log.entries(connection, min(mine.values()), limit)
            if not entries:
                return mine, False
            last = entries[-1].position
            for name, position in mine.items():
                fresh = [entry for entry in entries if entry.position > position]
                await digest(connection, self._models[name], fresh, self._report)
            await connection.execute(
                "UPDATE read_models SET position = %s WHERE name = ANY(%s) AND position < %s",
                (last, list(mine), last),
            )
        return {name: max(position, last) for name, position in mine.items()}, True

    async def _read_positions(self, connection: psycopg.AsyncConnection) -> dict[str, int]:
        cursor = await connection.execute(
            "SELECT name, position FROM read_models WHERE name = ANY(%s)", (list(self._models),)
        )
        return dict(await cursor.fetchall())
