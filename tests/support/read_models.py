"""Read models looked at from outside: all their rows, how far they are, made anew, and one made for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, ClassVar, LiteralString
from uuid import UUID

import httpx
import psycopg
from psycopg import sql

from domain.answers import Question
from domain.assignment import fall_back
from domain.callers import AgentCaller, PersonCaller
from domain.request import Request
from interfaces.app import READ_MODELS
from interfaces.credentials import master_key
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.log import PostgresLog
from interfaces.postgres.migrate import prepare_read_models
from interfaces.postgres.pool import new_pool
from interfaces.postgres.sealing import MasterKey
from projections.log import Entry, Log, Unreadable
from projections.projector import Pool, Projector
from projections.read_models import ReadModel
from projections.rebuild import rebuild
from tests.support.service import Service

PATIENCE = 20.0
"""Seconds after which something that should have happened counts as broken; never a time that a test takes."""


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Returns once the condition holds. Raises `TimeoutError` when it never does."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():
            await asyncio.sleep(0.005)


async def settled(*services: Service) -> int:
    """Returns the head of the log once every read model of these services is there."""
    head = await services[0].app.store.head()
    for service in services:
        for model in READ_MODELS:
            assert await service.app.projector.reached(model.name, head, PATIENCE), model.name
    return head


def log_of(service: Service) -> PostgresLog:
    """The log, as this service reads it."""
    return PostgresLog(MasterKey(master_key(service.settings)))


async def dump(conninfo: str, models: Sequence[ReadModel] = READ_MODELS) -> dict[str, list[str]]:
    """All rows of all tables of these models, as text, sorted."""
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        return {
            table: [
                row[0]
                for row in await (
                    await connection.execute(
                        sql.SQL("SELECT t::text FROM {} AS t ORDER BY 1").format(sql.Identifier(table))
                    )
                ).fetchall()
            ]
            for model in models
            for table in model.tables
        }


async def rows(conninfo: str, query: str, *values: object) -> list[tuple]:
    """The rows of a query."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        cursor = await connection.execute(query.encode(), values or None)
        return await cursor.fetchall() if cursor.description else []


async def rebuild_all(conninfo: str, log: Log, models: Sequence[ReadModel] = READ_MODELS, batch: int = 1000) -> int:
    """Make the read models anew, one after the other; how many events the last one took."""
    count = 0
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        for model in models:
            count = await rebuild(connection, log, model, silent, silent, batch=batch)
    return count


def silent(*_: object) -> None:
    """Reports nothing."""


class Tally:
    """A read model that notes every event, once; it cannot digest what `poison` says."""

    name: ClassVar[str] = "tally"
    version: ClassVar[int] = 1
    tables: ClassVar[tuple[str, ...]] = ("tally",)
    ddl: ClassVar[str] = (
        "CREATE TABLE tally (number bigserial, position bigint PRIMARY KEY,"
        " aggregate_id uuid NOT NULL, type text NOT NULL)"
    )

    def __init__(self) -> None:
        self.poison: Callable[[Entry], bool] = lambda entry: False
        self.batches: list[int] = []

    async def apply(self, connection: psycopg.AsyncConnection, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if self.poison(entry):
                raise ValueError(f"cannot digest {entry.position}: the message was secret")
        self.batches.append(len(entries))
        for entry in entries:
            await connection.execute(
                "INSERT INTO tally (position, aggregate_id, type) VALUES (%s, %s, %s)",
                (entry.position, entry.aggregate_id, type(entry.event).__name__),
            )


@asynccontextmanager
async def prepared(conninfo: str, *models: ReadModel, size: int = 4) -> AsyncIterator[Pool]:
    """A pool on a database that has the tables of these models."""
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        await prepare_read_models(connection, models)
    pool = new_pool(conninfo, size)
    await pool.open(wait=True)
    try:
        yield pool
    finally:
        await pool.close()


@asynccontextmanager
async def started(projector: Projector) -> AsyncIterator[Projector]:
    """A projector at work."""
    await projector.start()
    try:
        yield projector
    finally:
        await projector.stop()


class WatchedLog:
    """A log that can be told to say what is read, to wait, or to fail."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.reads = 0
        self.before: Callable[[int], Awaitable[None]] | None = None
        """Called with the number of each read, counted from 1, before it."""

    async def entries(self, connection: psycopg.AsyncConnection, after: int, limit: int) -> list[Entry | Unreadable]:
        self.reads += 1
        if self.before is not None:
            await self.before(self.reads)
        return await self._log.entries(connection, after, limit)

    async def entries_of(
        self, connection: psycopg.AsyncConnection, aggregate_id: UUID, first: int, last: int
    ) -> list[Entry | Unreadable]:
        return await self._log.entries_of(connection, aggregate_id, first, last)


# -- histories


class StoppedClock(DatabaseClock):
    """A clock that stands still at `at`, here and in the database, until it is moved."""

    def __init__(self, at: datetime) -> None:
        super().__init__()
        self.at = at

    @property
    def sql(self) -> LiteralString:
        return f"'{self.at.isoformat()}'::timestamptz"  # pyright: ignore[reportReturnType]

    def now(self) -> datetime:
        return self.at


async def callers_of(handraise: Service) -> tuple[AgentCaller, PersonCaller]:
    """The default agent and the administrator, as the domain knows them."""
    agent, admin = await asyncio.gather(
        *(
            handraise.app.keys.authenticate(client.headers["Authorization"].removeprefix("Bearer "))
            for client in (handraise.agent, handraise.admin)
        )
    )
    assert isinstance(agent, AgentCaller)
    assert isinstance(admin, PersonCaller)
    return agent, admin


def a_request(by: AgentCaller, now: datetime, unique_id: str, message: str = "May I?", **more: Any) -> Request:
    """A request that is not saved yet; `handraise.app.store.save` takes many at once."""
    return Request.ask(
        by=by,
        now=now,
        unique_id=unique_id,
        question=Question("clarification"),
        sealed=False,
        message=message,
        decision=fall_back(None),
        priority=50,
        **more,
    )


async def walk(
    client: httpx.AsyncClient,
    path: str,
    limit: int,
    between: Callable[[], Awaitable[object]] | None = None,
    **query: Any,
) -> list[dict[str, Any]]:
    """All items of a list, page by page along the cursors. `between` is done after every page."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        given = query | {"limit": limit} | ({} if cursor is None else {"cursor": cursor})
        response = await client.get(path, params=given)
        assert response.status_code == 200, response.text
        page = response.json()
        assert 0 < len(page["items"]) <= limit or cursor is None
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items
        if between is not None:
            await between()
