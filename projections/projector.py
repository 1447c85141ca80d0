"""Keeps the read models up to date: in batches, exactly once with any number of replicas.

Whoever gets the row locks of the models' positions works; the others pass by. Rows and position move in one
transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from projections.log import Entry, Log, UnknownEvent, Unreadable
from projections.poison import Report, digest, digest_together
from projections.read_models import ReadModel

BATCH = 1000

_BEHIND_ANOTHER_SECONDS = 0.03
"""How soon to look again while another replica does the work."""

LOOK_AGAIN_SECONDS = 15.0
"""How long silence is trusted: a crash of the database may have taken back what was projected last."""

_SPARE_CONNECTION_SECONDS = 0.05

_GATHER_SECONDS = 0.005
"""How long to let events gather, unless somebody waits for them: whoever answers and whoever waits come first."""

_RETRY_SECONDS = (0.2, 1.0, 5.0)

Pool = AsyncConnectionPool[psycopg.AsyncConnection]


class Projector:
    """Follows the log for these read models. `positions` is how far each of them is, as last known here."""

    def __init__(
        self,
        pool: Pool,
        log: Log,
        models: Sequence[ReadModel],
        report: Report,
        *,
        look_again_seconds: float = LOOK_AGAIN_SECONDS,
        works: bool = True,
    ) -> None:
        """`works` is whether it projects; otherwise it looks how far others are, who do."""
        self._pool = pool
        self._log = log
        self._models = {model.name: model for model in models}
        self._report = report
        self._look_again = look_again_seconds
        self._works = works
        self._told = asyncio.Event()
        self._hurried = asyncio.Event()
        self._moved = asyncio.Condition()
        self._target = 0
        self._task: asyncio.Task[None] | None = None
        self._poisoned = False
        self._ahead: tuple[int, list[Entry | Unreadable]] = 0, []
        """Events read ahead, and after which position; at most one batch."""
        self.positions: dict[str, int] = dict.fromkeys(self._models, 0)
        self.failure: str | None = None
        """Why nothing is projected just now; None while all is well."""

        self.parked = 0
        """Aggregates that a read model could not follow, as last looked at: at the start, after poison, in silence."""

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="projector")

    async def stop(self) -> None:
        if self._task is not None:
            while not self._task.done():
                self._task.cancel()
                # Again if need be: while a connection is waited for, Python 3.11 may swallow a cancellation.
                await asyncio.wait({self._task}, timeout=0.5)
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
        if self.positions[name] >= position:
            return True
        self._hurried.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._moved:
                await self._moved.wait_for(lambda: self.positions[name] >= position)
        return self.positions[name] >= position

    async def _run(self) -> None:
        failures, count_parked = 0, True
        while True:
            self._told.clear()
            try:
                worked = await self.project_once()
                self.failure, failures = None, 0
                if count_parked or self._poisoned:
                    await self._count_parked()
                    count_parked = False
            except Exception as error:  # whatever it is, it is reported, and the projector tries again
                unknown = isinstance(error, UnknownEvent)
                self.failure = str(error) if unknown else type(error).__name__
                self._report("projector failed", {"error": self.failure})
                if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
                    await self._replace_lost_connections()
                await asyncio.sleep(_RETRY_SECONDS[-1 if unknown else min(failures, len(_RETRY_SECONDS) - 1)])
                failures += 1
                continue
            if worked and self.behind:
                continue
            # While behind, another replica holds the locks: look again soon whether it still does.
            behind = self.behind > 0
            try:
                async with asyncio.timeout(_BEHIND_ANOTHER_SECONDS if behind else self._look_again):
                    await self._told.wait()
            except TimeoutError:
                count_parked = not behind
            else:
                await self._gather()

    async def _gather(self) -> None:
        self._hurried.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GATHER_SECONDS):
                await self._hurried.wait()

    async def _count_parked(self) -> None:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT count(*) FROM parked_aggregates WHERE read_model = ANY(%s)", (list(self._models),)
            )
            row = await cursor.fetchone()
        assert row is not None
        self.parked, self._poisoned = row[0], False

    async def _replace_lost_connections(self) -> None:
        """All at once: found one by one, each would cost another failure and a longer pause."""
        with contextlib.suppress(psycopg.Error, PoolTimeout, PoolClosed):
            await self._pool.check()

    async def project_once(self, limit: int = BATCH) -> bool:
        """Project one batch; False when there was nothing to do or others are doing it."""
        async with self._pool.connection() as connection:
            if self._works:
                positions, worked = await self._project(connection, limit)
            else:
                positions, worked = await self._read_positions(connection), False
        async with self._moved:
            self.positions.update(positions)
            self._moved.notify_all()
        return worked

    async def _project(self, connection: psycopg.AsyncConnection, limit: int) -> tuple[dict[str, int], bool]:
        # In a pipeline, so that what need not be waited for is not: this runs beside those who ask and answer.
        async with connection.pipeline(), connection.transaction():
            # What a crash of the database loses here is projected again.
            await connection.execute("SET LOCAL synchronous_commit = off")
            cursor = await connection.execute(
                "SELECT name, version, position FROM read_models WHERE name = ANY(%s) FOR UPDATE SKIP LOCKED",
                (list(self._models),),
            )
            mine = self._positions(await cursor.fetchall())
            if not mine:
                return await self._read_positions(connection), False
            reached: dict[str, int] = {}
            # Mostly all are at one position. One that was made anew catches up, and holds none of the others up.
            for position in sorted(set(mine.values()), reverse=True):
                names = [name for name in mine if mine[name] == position]
                parked = await connection.execute(
                    "SELECT EXISTS (SELECT FROM parked_aggregates WHERE read_model = ANY(%s))", (names,)
                )
                entries = await self._next(connection, position, limit)
                if not entries:
                    continue
                await self._digest(connection, names, entries, limit, some_parked=await parked.fetchone() == (True,))
                reached |= dict.fromkeys(names, entries[-1].position)
                await connection.execute(
                    "UPDATE read_models SET position = %s WHERE name = ANY(%s)", (entries[-1].position, names)
                )
        return mine | reached, bool(reached)

    async def _digest(
        self,
        connection: psycopg.AsyncConnection,
        names: Sequence[str],
        entries: Sequence[Entry | Unreadable],
        limit: int,
        *,
        some_parked: bool,
    ) -> None:
        models = [self._models[name] for name in names]
        if not some_parked:
            if await digest_together(connection, models, entries, lambda: self._read_ahead(entries, limit)):
                return
            self._poisoned = True
        for model in models:
            await digest(connection, model, entries, self._report)

    async def _next(self, connection: psycopg.AsyncConnection, position: int, limit: int) -> list[Entry | Unreadable]:
        """The events after this position, read ahead or now."""
        (after, entries), self._ahead = self._ahead, (0, [])
        return entries if entries and after == position else await self._log.entries(connection, position, limit)

    async def _read_ahead(self, entries: Sequence[Entry | Unreadable], limit: int) -> None:
        """While catching up, read the next batch on another connection, while the database works on this one."""
        if len(entries) < limit:
            return
        after = entries[-1].position
        # An unknown event is met again, and reported, when it is its turn; scarce connections are for others.
        with contextlib.suppress(UnknownEvent, PoolTimeout):
            async with self._pool.connection(timeout=_SPARE_CONNECTION_SECONDS) as connection:
                self._ahead = after, await self._log.entries(connection, after, limit)

    async def _read_positions(self, connection: psycopg.AsyncConnection) -> dict[str, int]:
        cursor = await connection.execute(
            "SELECT name, version, position FROM read_models WHERE name = ANY(%s)", (list(self._models),)
        )
        return self._positions(await cursor.fetchall())

    def _positions(self, rows: list[tuple[str, int, int]]) -> dict[str, int]:
        for name, version, _ in rows:
            if version != self._models[name].version:
                raise UnknownEvent(
                    f"the tables of {name} are of version {version}, this server knows {self._models[name].version}: "
                    "another server made them anew, upgrade this one"
                )
        return {name: position for name, _, position in rows}
