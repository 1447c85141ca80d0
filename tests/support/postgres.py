"""One real Postgres for a whole test session, and databases in it for the tests."""

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import Coroutine
from itertools import count
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from interfaces.postgres.embedded import EmbeddedPostgres

# No test survives a power cut, so none needs to wait for the disk.
FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "authentication_timeout": "5s",
    "max_wal_size": "256MB",
}

_MEMORY, _ROOM = Path("/dev/shm"), 6 << 30


class TestServer:
    """An embedded Postgres in a temporary folder, run by an event loop in a thread of its own.

    Start and stop it from synchronous code (`with TestServer() as server`), as a session's fixture does. The
    coroutine methods work in any event loop; synchronous tests say `server.run(server.create_database())`.
    """

    __test__ = False

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="test postgres", daemon=True)
        self._numbers = count(1)
        self._data_dir: Path | None = None
        self._server: EmbeddedPostgres | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Make and start the server. Raises EmbeddedPostgresError."""
        self._thread.start()
        self._data_dir = Path(tempfile.mkdtemp(prefix="handraise-tests-", dir=_in_memory()))
        self._server = EmbeddedPostgres(self._data_dir, settings={**FAST, "max_connections": "200"})
        try:
            self.run(self._server.start())
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        if self._server is not None:
            self.run(self._server.stop())
        if self._data_dir is not None:
            shutil.rmtree(self._data_dir, ignore_errors=True)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of a coroutine, run in the server's own event loop. Not for use in that loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @property
    def conninfo(self) -> str:
        """A superuser's connection string to the database `handraise`, which no test should fill."""
        if self._server is None:
            raise RuntimeError("The test server is not started: call start(), or use it in a with statement.")
        return self._server.conninfo

    async def create_database(self, template: str | None = None) -> str:
        """A new database, empty or a copy of `template`, a name or conninfo nobody is connected to.

        Returns its conninfo.
        """
        name = f"test_{next(self._numbers)}"
        source = _name(template) if template else "template0"
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY wal_log")  # no checkpoint, unlike file_copy
        await self._execute(statement.format(sql.Identifier(name), sql.Identifier(source)))
        return make_conninfo(self.conninfo, dbname=name)

    async def drop_database(self, database: str) -> None:
        """Drop a database, given by name or conninfo, with the connections it still has."""
        statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        await self._execute(statement.format(sql.Identifier(_name(database))))

    async def _execute(self, statement: sql.Composed) -> None:
        async with await psycopg.AsyncConnection.connect(self.conninfo, autocommit=True) as connection:
            await connection.execute(statement)


def _in_memory() -> str | None:
    """Where files cost no disk, if there is room: each test makes some hundreds and removes them."""
    try:
        return str(_MEMORY) if shutil.disk_usage(_MEMORY).free > _ROOM and os.access(_MEMORY, os.W_OK) else None
    except OSError:
        return None


def _name(database: str) -> str:
    return str(conninfo_to_dict(database)["dbname"]) if "=" in database else database
