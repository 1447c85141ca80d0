"""The log, as read models read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

import psycopg

from domain.recorded import RecordedEvent


class UnknownEvent(Exception):
    """The log holds an event of a kind or version that this server does not know: a newer one wrote it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An event with its place in the log."""

    position: int
    event: RecordedEvent

    @property
    def aggregate_id(self) -> UUID:
        return self.event.originator_id


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An event that could not be read, and why."""

    position: int
    aggregate_id: UUID
    error: str


class Log(Protocol):
    """Reads events in order. Raises `UnknownEvent` at one that only a newer server can read."""

    async def entries(self, connection: psycopg.AsyncConnection, after: int, limit: int) -> list[Entry | Unreadable]:
        """The next events after a position, in order."""
        ...

    async def entries_of(
        self, connection: psycopg.AsyncConnection, aggregate_id: UUID, first: int, last: int
    ) -> list[Entry | Unreadable]:
        """The events of one aggregate between two positions, both included, in order."""
        ...


async def head(connection: psycopg.AsyncConnection) -> int:
    """The position of the newest event, 0 for an empty log."""
    cursor = await connection.execute("SELECT max(position) FROM event_chain")
    row = await cursor.fetchone()
    assert row is not None
    return row[0]
