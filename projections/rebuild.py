"""Rebuilding a read model from the first event on, while the old tables go on serving."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

import psycopg
from psycopg import errors, sql

from projections.log import Log, head
from projections.poison import Report, digest
from projections.read_models import ReadModel, lock


class Rebuilding(Exception):
    """Somebody is rebuilding this read model already."""


_READERS_WAIT_SECONDS = 1
_PAUSE_SECONDS = 1.0
"""How long the swap may keep new readers waiting for old ones, and how soon it is tried again."""

Progress = Callable[[int, int], None]
"""(position reached, position to reach)."""


async def rebuild(
    connection: psycopg.AsyncConnection,
    log: Log,
    model: ReadModel,
    progress: Progress,
    report: Report,
    *,
    batch: int = 1000,
) -> int:
    """Fill a second set of tables, then swap them in one transaction; returns how many events were read.

    `connection` is in autocommit mode and this call's alone. What cannot be digested is parked as ever, and what was
    parked is tried again. Raises `Rebuilding` or `UnknownEvent`; the tables that serve are then as they were.
    """
    async with _shadow(connection, model) as schema:
        position, count, goal = 0, 0, await head(connection)

        async def step() -> bool:
            """Whether there may be more; while others write all the time, there always is a little."""
            nonlocal position, count, goal
            await _into(connection, schema)
            entries = await log.entries(connection, position, batch)
            await digest(connection, model, entries, report, parked_as=_shadow_name(model))
            if entries:
                position = entries[-1].position
                count += len(entries)
                goal = max(goal, position)
                progress(position, goal)
            return len(entries) == batch

        while True:
            more = True
            while more:
                async with connection.transaction():
                    more = await step()
            before = position, count
            try:
                async with connection.transaction():
                    # The projector of this model waits from here on, so that the two sets meet at one position.
                    await connection.execute("SELECT FROM public.read_models WHERE name = %s FOR UPDATE", (model.name,))
                    while await step():
                        pass
                    await _swap(connection, model, schema, position)
            except errors.LockNotAvailable:
                position, count = before
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return count


async def _swap(connection: psycopg.AsyncConnection, model: ReadModel, schema: str, position: int) -> None:
    """Raises `LockNotAvailable` while a long read is under way: whoever wants to read now must not wait for that."""
    await connection.execute(f"SET LOCAL lock_timeout = '{_READERS_WAIT_SECONDS}s'".encode())
    await connection.execute(lock(model, "ACCESS EXCLUSIVE"))
    for table in model.tables:
        name = sql.Identifier(table)
        await connection.execute(sql.SQL("DROP TABLE public.{}").format(name))
        await connection.execute(sql.SQL("ALTER TABLE {}.{} SET SCHEMA public").format(sql.Identifier(schema), name))
    await connection.execute(
        "UPDATE public.read_models SET position = %s, version = %s WHERE name = %s",
        (position, model.version, model.name),
    )
    await connection.execute("DELETE FROM public.parked_aggregates WHERE read_model = %s", (model.name,))
    await connection.execute(
        "UPDATE public.parked_aggregates SET read_model = %s WHERE read_model = %s",
        (model.name, _shadow_name(model)),
    )


@contextlib.asynccontextmanager
async def _shadow(connection: psycopg.AsyncConnection, model: ReadModel) -> AsyncGenerator[str]:
    """A schema with the model's empty tables; gone afterwards, whatever happened."""
    lock = (f"rebuild {model.name}",)
    cursor = await connection.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", lock)
    row = await cursor.fetchone()
    if row is None or not row[0]:
        raise Rebuilding(f"{model.name} is being rebuilt already; wait for that to end")
    schema = f"rebuild_{model.name}"
    try:
        await _clear(connection, model, schema)
        await connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        async with connection.transaction():
            await _into(connection, schema)
            await connection.execute(model.ddl.encode())
        yield schema
    finally:
        if not connection.closed:
            await _clear(connection, model, schema)
            await connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", lock)


async def _clear(connection: psycopg.AsyncConnection, model: ReadModel, schema: str) -> None:
    await connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))
    await connection.execute("DELETE FROM parked_aggregates WHERE read_model = %s", (_shadow_name(model),))


def _shadow_name(model: ReadModel) -> str:
    return f"{model.name} (rebuild)"


async def _into(connection: psycopg.AsyncConnection, schema: str) -> None:
    await connection.execute(sql.SQL("SET LOCAL search_path = {}, public").format(sql.Identifier(schema)))
