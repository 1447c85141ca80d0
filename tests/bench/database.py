"""The Postgres that the benches run on: an embedded one as users have it, its writes safe on the disk."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from interfaces.postgres.embedded import EmbeddedPostgres


class Databases:
    """Hands out empty databases of one server, and folders beside them."""

    def __init__(self, conninfo: str, folder: Path) -> None:
        self._conninfo = conninfo
        self._folder = folder
        self._numbers = count(1)

    async def new(self) -> str:
        """A new, empty database: its conninfo."""
        name = f"bench_{next(self._numbers)}"
        async with await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True) as connection:
            await connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return make_conninfo(self._conninfo, dbname=name)

    def new_folder(self) -> Path:
        """A new folder, removed at the end."""
        return Path(tempfile.mkdtemp(dir=self._folder))


@asynccontextmanager
async def databases() -> AsyncIterator[Databases]:
    """A server with the default settings in a temporary folder. Raises `RuntimeError` if it does not fsync."""
    with tempfile.TemporaryDirectory(prefix="handraise-bench-") as folder:
        async with EmbeddedPostgres(Path(folder) / "server") as server:
            await _check_durable(server.conninfo)
            yield Databases(server.conninfo, Path(folder))


async def _check_durable(conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            cursor = await connection.execute("SELECT current_setting(%s)", (name,))
            if await cursor.fetchone() != ("on",):
                raise RuntimeError(f"{name} is off on the benches' Postgres: figures would mean nothing")
