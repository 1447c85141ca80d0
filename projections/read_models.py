"""What a read model is: a table, how events change it, and the queries over it, side by side in one file each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import ClassVar, LiteralString, Protocol

import psycopg
from psycopg import sql

from projections.log import Entry


class ReadModel(Protocol):
    """A read model. Its SQL names tables without a schema, so that a rebuild can fill another set of them."""

    name: ClassVar[str]
    version: ClassVar[int]
    """Raised when tables or their meaning change: the server then rebuilds the model when it starts."""

    tables: ClassVar[tuple[str, ...]]
    ddl: ClassVar[str]
    """Creates the tables and their indexes, in the first schema of the search path."""

    async def apply(self, connection: psycopg.AsyncConnection, entries: Sequence[Entry]) -> None:
        """Change the tables as these events say, in the caller's transaction. Raises whatever goes wrong."""
        ...


@asynccontextmanager
async def snapshot(connection: psycopg.AsyncConnection, model: type[ReadModel]) -> AsyncGenerator[int]:
    """Read the tables of a model as they stand at one position, which is given."""
    async with connection.transaction():
        # Locked before anything is looked at: a rebuild that swaps the tables is over by then, or has to wait.
        await connection.execute(
            sql.SQL("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; {}").format(
                lock(model, "ACCESS SHARE")
            ),
            prepare=False,
        )
        cursor = await connection.execute("SELECT position FROM read_models WHERE name = %s", (model.name,))
        row = await cursor.fetchone()
        assert row is not None
        yield row[0]


def lock(model: ReadModel | type[ReadModel], mode: LiteralString) -> sql.Composed:
    """The statement that locks all tables of a model; always in this order, so that nobody waits for each other."""
    tables = sql.SQL(", ").join(sql.Identifier("public", table) for table in model.tables)
    return sql.SQL("LOCK TABLE {} IN {} MODE").format(tables, sql.SQL(mode))


async def ensure_read_models(connection: psycopg.AsyncConnection, models: Sequence[ReadModel]) -> list[str]:
    """Create the tables of models that are new here, and of those whose version is another; their names.

    The caller's transaction must hold a lock that keeps other replicas from doing the same.
    """
    made: list[str] = []
    for model in models:
        cursor = await connection.execute("SELECT version FROM read_models WHERE name = %s", (model.name,))
        row = await cursor.fetchone()
        if row is not None and row[0] == model.version:
            continue
        for table in model.tables:
            await connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(table)))
        await connection.execute(model.ddl.encode())
        await connection.execute(
            "INSERT INTO read_models (name, version, position) VALUES (%s, %s, 0)"
            " ON CONFLICT (name) DO UPDATE SET version = excluded.version, position = 0",
            (model.name, model.version),
        )
        await connection.execute("DELETE FROM parked_aggregates WHERE read_model = %s", (model.name,))
        made.append(model.name)
    return made
