"""What a read model is: a table, how events change it, and the queries over it, side by side in one file each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

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
