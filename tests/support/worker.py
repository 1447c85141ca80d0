"""A process that works off what is due: `python -m tests.support.worker CALLS`, set up by `HANDRAISE_*`.

The time is the table `worker_clock`'s, which the test moves. The one channel appends each call to the file CALLS.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import psycopg

from application.notices import Message
from interfaces.app import running
from interfaces.postgres.clock import DatabaseClock
from interfaces.settings import Settings
from tests.support.processes import ROOT, clean_environment

CHANNEL = "file"
NEVER = timedelta(days=365)
_CALL_SECONDS = 0.01


class FileChannel:
    """Implements `application.notices.Channel`: a call takes a moment, then there is a line `key pid` of it."""

    name = CHANNEL
    delay: timedelta | None = NEVER

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def deliver(self, message: Message) -> dict[str, str] | None:
        await asyncio.sleep(_CALL_SECONDS)
        os.write(self._file, f"{message.key} {os.getpid()}\n".encode())
        return {"pid": str(os.getpid())}


def worker_clock() -> DatabaseClock:
    """The clock of the workers and of whoever works beside them."""
    return DatabaseClock("(SELECT at FROM worker_clock)")


async def set_worker_clock(database: str, at: datetime) -> None:
    """Have it be so late on this database."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS worker_clock (at timestamptz NOT NULL)")
        await connection.execute("WITH gone AS (DELETE FROM worker_clock) INSERT INTO worker_clock VALUES (%s)", (at,))


def start_worker(database: str, data_dir: Path, calls: Path) -> subprocess.Popen[bytes]:
    """Start one; it says `ready` on its standard output when it is, and ends upon SIGTERM."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.worker", str(calls)],
        cwd=ROOT,
        env=clean_environment() | {"HANDRAISE_DATABASE_URL": database, "HANDRAISE_DATA_DIR": str(data_dir)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


async def _work(calls: Path) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with running(Settings(), clock=worker_clock(), channels=[FileChannel(calls)]):
        print("ready", flush=True)
        await ended.wait()


if __name__ == "__main__":
    asyncio.run(_work(Path(sys.argv[1])))
