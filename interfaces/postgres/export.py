"""The audit trail as a stream, with what is needed to verify the hash chain without the database."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator
from typing import Literal

import psycopg
from psycopg import sql

from projections.audit import Audit, AuditFilters, conditions
from projections.read_models import lock

_ROWS = 2000
_BYTES = 1024 * 1024
"""A chunk holds at most so many rows, and no more of stored events than this, or one event."""

_AT_ONCE = 4
"""Exports that run at the same time; further ones wait."""

COLUMNS = (
    "position", "at", "type", "of", "actor", "request_id", "agent", "facts", "content",
    "originator_id", "originator_version", "topic", "state", "hash",
)  # fmt: skip

_FROM = """
    FROM audit a
    JOIN handraise_events e ON e.notification_id = a.position
    JOIN event_chain c ON c.position = a.position
    LEFT JOIN users u ON u.id = CASE WHEN a.actor LIKE 'user:%%' THEN substr(a.actor, 6)::uuid END
    LEFT JOIN agents g ON g.id = CASE WHEN a.actor LIKE 'agent:%%' THEN substr(a.actor, 7)::uuid END
    LEFT JOIN agents o ON o.id = a.agent_id
"""
_AT = """to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""
_ACTOR = "coalesce(u.readable_id, g.readable_id, a.actor)"
_REQUEST = "CASE WHEN a.kind = 'Request' THEN a.aggregate_id END"
_STATE = "translate(encode(e.state, 'base64'), E'\\n', '')"

# Types, ids and topics are our own plain words, facts and content are JSON already: nothing here needs escaping.
_LINE = (
    'SELECT concat(\'{"position":\', a.position, \',"at":"\', ' + _AT + ', \'","type":"\', a.type, \'","of":"\','
    ' a.kind, \'","actor":"\', ' + _ACTOR + ", '\",\"request_id\":', coalesce('\"' || " + _REQUEST + " || '\"',"
    " 'null'), ',\"agent\":', coalesce('\"' || o.readable_id || '\"', 'null'), ',\"facts\":', a.facts,"
    " ',\"content\":', coalesce(a.content::text, 'null'), ',\"originator_id\":\"', e.originator_id,"
    ' \'","originator_version":\', e.originator_version, \',"topic":"\', e.topic, \'","state":"\', ' + _STATE + ","
    " '\",\"hash\":\"', encode(c.hash, 'hex'), '\"}')"
)
_ROW = (
    "SELECT a.position, " + _AT + ", a.type, a.kind, " + _ACTOR + ", " + _REQUEST + ", o.readable_id, a.facts::text,"
    " a.content::text, e.originator_id, e.originator_version, e.topic, " + _STATE + ", encode(c.hash, 'hex')"
)


class AuditExport:
    """Streams the trail on a connection of its own, oldest first, one snapshot, a few thousand rows in memory."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, filters: AuditFilters, format: Literal["jsonl", "csv"]) -> AsyncIterator[bytes]:
        where, values = conditions(filters)
        rest = sql.SQL(_FROM) + where + sql.SQL(" ORDER BY a.position")
        async with (
            self._places,
            await psycopg.AsyncConnection.connect(self._conninfo, application_name="handraise export") as connection,
            connection.cursor("sizes") as sizes,
            connection.cursor("export") as cursor,
        ):
            await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            await connection.execute(lock(Audit(), "ACCESS SHARE"))  # before the snapshot: no rebuild swaps it away
            await sizes.execute(sql.SQL("SELECT octet_length(e.state)") + rest, values)
            await cursor.execute(sql.SQL(_LINE if format == "jsonl" else _ROW) + rest, values)
            if format == "csv":
                yield _csv([COLUMNS])
            async for count in _chunks(sizes):
                rows = await cursor.fetchmany(count)
                yield _csv(rows) if format == "csv" else "".join(f"{row[0]}\n" for row in rows).encode()


async def _chunks(sizes: psycopg.AsyncServerCursor) -> AsyncIterator[int]:
    """How many of the next rows to read at once, again and again: a few thousand small ones, a few large ones."""
    count = total = 0
    while rows := await sizes.fetchmany(_ROWS):
        for (size,) in rows:
            if count == _ROWS or (count and total + size > _BYTES):
                yield count
                count = total = 0
            count, total = count + 1, total + size
    if count:
        yield count


def _csv(rows: list[tuple[object, ...]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode()
