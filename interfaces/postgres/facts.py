"""The facts of the newest events, without what anybody wrote: for the live stream."""

from __future__ import annotations

from uuid import UUID

import psycopg
from eventsourcing.persistence import MapperDeserialisationError, StoredEvent
from eventsourcing.utils import TopicError

from domain.recorded import RecordedEvent
from interfaces.postgres.pool import Pool, reading
from interfaces.postgres.sealing import SealingMapper

_FACTS_BYTES = 65_536
"""Facts are shorter than this but for decisions with very many candidates, whose state is then read whole."""


class PostgresFacts:
    """Reads events as facts. What only a newer server knows is left out, with its request's later events."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._mapper = SealingMapper()

    async def of_requests(
        self, after: int, limit: int, upto: int | None = None
    ) -> tuple[dict[UUID, list[tuple[int, RecordedEvent]]], int]:
        """All events so far of the requests that the next `limit` events of the log concern, by request.

        Also returns the position of the last of those next events; `after` itself when there are none.
        """

        async def read(connection: psycopg.AsyncConnection) -> list[tuple[int, UUID, int, str, bytes, bool, int]]:
            cursor = await connection.execute(
                "WITH fresh AS MATERIALIZED (SELECT notification_id, originator_id FROM handraise_events"
                "  WHERE notification_id > %(after)s AND (%(upto)s::bigint IS NULL OR notification_id <= %(upto)s)"
                "  ORDER BY notification_id LIMIT %(limit)s),"
                " last AS (SELECT max(notification_id) AS position FROM fresh)"
                " SELECT e.notification_id, e.originator_id, e.originator_version, e.topic,"
                " substring(e.state FROM 1 FOR %(facts)s), octet_length(e.state) > %(facts)s, last.position"
                " FROM last LEFT JOIN handraise_events e"
                "  ON e.originator_id IN (SELECT originator_id FROM fresh) AND e.notification_id <= last.position"
                "  AND e.topic LIKE 'handraise.Request.%%'"
                " WHERE last.position IS NOT NULL ORDER BY e.originator_id, e.originator_version",
                {"after": after, "upto": upto, "limit": limit, "facts": _FACTS_BYTES},
                binary=True,
            )
            return await cursor.fetchall()

        rows = await reading(self._pool, read)
        requests: dict[UUID, list[tuple[int, RecordedEvent]]] = {}
        unknown: set[UUID] = set()
        for position, id, version, topic, state, cut, _ in rows:
            if id is None or id in unknown:
                continue
            if cut and b"\n" not in state:
                state = await self._whole(id, version)
            try:
                event = self._mapper.open(StoredEvent(id, version, topic, state.partition(b"\n")[0]), None)
            except (TopicError, MapperDeserialisationError):
                unknown.add(id)
                continue
            requests.setdefault(id, []).append((position, event))
        return requests, rows[0][6] if rows else after

    async def _whole(self, id: UUID, version: int) -> bytes:
        async def read(connection: psycopg.AsyncConnection) -> bytes:
            cursor = await connection.execute(
                "SELECT state FROM handraise_events WHERE originator_id = %s AND originator_version = %s",
                (id, version),
                binary=True,
            )
            row = await cursor.fetchone()
            return b"" if row is None else row[0]

        return await reading(self._pool, read)
