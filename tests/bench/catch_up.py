"""Catching up from the first event: all our read models together, against the library's runner with one upsert."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import psycopg
from eventsourcing.persistence import Tracking
from eventsourcing.postgres import PostgresDatastore, PostgresTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner
from psycopg.sql import SQL

from interfaces.app import READ_MODELS
from interfaces.postgres.log import PostgresLog
from interfaces.postgres.migrate import prepare_read_models
from interfaces.postgres.pool import new_pool
from interfaces.postgres.sealing import MasterKey, new_data_key
from projections.projector import Projector
from tests.bench.cycles import LibraryApplication, library_environment, new_request, our_store, respond
from tests.bench.database import Databases
from tests.bench.report import Figure
from tests.bench.rounds import by_turns
from tests.bench.sizes import Sizes

TARGET = 10.0


class Rows(PostgresTrackingRecorder):
    """The library's way to a read model: a table, changed with the position in one transaction."""

    def __init__(self, datastore: PostgresDatastore, **kwargs: Any) -> None:
        super().__init__(datastore, **kwargs)
        self.sql_create_statements.append(SQL("CREATE TABLE IF NOT EXISTS rows (id uuid PRIMARY KEY, event text)"))

    def upsert(self, id: Any, event: str, tracking: Tracking) -> None:
        """One row and the position."""
        with self.datastore.get_connection() as connection, connection.transaction(), connection.cursor() as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute(
                "INSERT INTO rows VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET event = excluded.event",
                (id, event),
                prepare=True,
            )


class Upserting(Projection[Rows]):
    """One upsert an event."""

    name = "upserting"

    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        """Write the newest event's name."""
        self.view.upsert(domain_event.originator_id, type(domain_event).__name__, tracking)


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """Events a second, each with a log of small approvals, answered."""
    theirs_at, ours_at = await databases.new(), await databases.new()
    master_key = MasterKey(new_data_key())
    await asyncio.to_thread(_fill_theirs, theirs_at, sizes.caught_up // 10)
    await _fill_ours(ours_at, sizes.caught_up, master_key)

    async def ours() -> float:
        return await _ours(ours_at, master_key)

    async def theirs() -> float:
        return await asyncio.to_thread(_theirs, theirs_at, sizes.caught_up // 10)

    figure, floor = await by_turns(ours, theirs, sizes.rounds)
    what = "catching up: all our read models, against the library's ProjectionRunner with one upsert"
    return [Figure("catch_up", what, "events/s", figure, floor, TARGET, "at least")]


async def _fill_ours(conninfo: str, events: int, master_key: MasterKey) -> None:
    async with our_store(conninfo, master_key) as store:

        async def cycle() -> None:
            request = new_request()
            await store.save(request)
            respond(request)
            await store.save(request)

        for _ in range(0, events // 2, 250):
            await asyncio.gather(*(cycle() for _ in range(250)))


async def _ours(conninfo: str, master_key: MasterKey) -> float:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute("UPDATE read_models SET version = -1")  # made anew, empty
        await prepare_read_models(connection, READ_MODELS)
        cursor = await connection.execute("SELECT max(position) FROM event_chain")
        row = await cursor.fetchone()
        assert row is not None
    pool = new_pool(conninfo, 2)
    await pool.open(wait=True)
    try:
        projector = Projector(pool, PostgresLog(master_key), READ_MODELS, lambda what, details: None)
        started = time.perf_counter()
        while await projector.project_once():
            pass
        seconds = time.perf_counter() - started
    finally:
        await pool.close()
    assert set(projector.positions.values()) == {row[0]}
    return row[0] / seconds


def _fill_theirs(conninfo: str, events: int) -> None:
    with LibraryApplication(env=library_environment(conninfo, 2)) as application:
        for _ in range(events // 2):
            request = new_request()
            application.save(request)
            respond(request)
            application.save(request)


def _theirs(conninfo: str, events: int) -> float:
    events = events // 2 * 2
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS rows, upserting_tracking")
    started = time.perf_counter()
    with ProjectionRunner(
        application_class=LibraryApplication,
        projection_class=Upserting,
        view_class=Rows,
        env=library_environment(conninfo, 4),
    ) as runner:
        runner.wait(events, timeout=300)
    return events / (time.perf_counter() - started)
