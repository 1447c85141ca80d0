"""The database's time, known here without asking each time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import LiteralString

DATABASE_TIME: LiteralString = "clock_timestamp()"
"""The SQL expression for the present instant, used wherever a deadline is checked."""


class DatabaseClock:
    """Follows the database's clock: every write and every look at the tail brings a fresh reading.

    Between readings it goes on with a local clock that counts while the machine sleeps. A reading is already a
    round trip old when it arrives, so this clock runs a little behind and never calls a deadline early.
    """

    def __init__(self, sql: LiteralString = DATABASE_TIME) -> None:
        self._sql: LiteralString = sql
        self._read_at = 0.0
        self._reading = datetime.now(UTC)
        self._read_at = _elapsed()

    @property
    def sql(self) -> LiteralString:
        """The SQL expression for the present instant."""
        return self._sql

    def now(self) -> datetime:
        return self._reading + timedelta(seconds=_elapsed() - self._read_at)

    def set(self, reading: datetime) -> None:
        """Take over a reading of the database's clock that has just arrived."""
        self._reading = reading.astimezone(UTC)
        self._read_at = _elapsed()


def _elapsed() -> float:
    boottime = getattr(time, "CLOCK_BOOTTIME", None)  # Linux: goes on during suspend
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)
