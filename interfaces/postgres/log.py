"""The log as read models read it: decrypted, in order, with what cannot be read named instead of raised."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
from eventsourcing.persistence import StoredEvent
from eventsourcing.utils import TopicError

from interfaces.postgres.installation import learn
from interfaces.postgres.sealing import MasterKey, MissedRotation, NewerVersion, SealingMapper, WrongMasterKey
from projections.log import Entry, UnknownEvent, Unreadable


class PostgresLog:
    """Implements `projections.log.Log`."""

    def __init__(self, master_key: MasterKey) -> None:
        self._master_key = master_key
        self._mapper = SealingMapper()

    async def entries(self, connection: psycopg.AsyncConnection, after: int, limit: int) -> list[Entry | Unreadable]:
        cursor = await connection.execute(
            "SELECT e.notification_id, e.originator_id, e.originator_version, e.topic, e.state, k.wrapped"
            " FROM public.handraise_events e LEFT JOIN public.data_keys k ON k.aggregate_id = e.originator_id"
            " WHERE e.notification_id > %s ORDER BY e.notification_id LIMIT %s",
            (after, limit),
            binary=True,
        )
        return await self._read(connection, await cursor.fetchall(), whole=False)

    async def entries_of(
        self, connection: psycopg.AsyncConnection, aggregate_id: UUID, first: int, last: int
    ) -> list[Entry | Unreadable]:
        cursor = await connection.execute(
            "SELECT e.notification_id, e.originator_id, e.originator_version, e.topic, e.state, k.wrapped"
            " FROM public.handraise_events e LEFT JOIN public.data_keys k ON k.aggregate_id = e.originator_id"
            " WHERE e.originator_id = %s AND e.notification_id BETWEEN %s AND %s ORDER BY e.notification_id",
            (aggregate_id, first, last),
            binary=True,
        )
        return await self._read(connection, await cursor.fetchall(), whole=True)

    async def _read(
        self, connection: psycopg.AsyncConnection, rows: list[Any], *, whole: bool
    ) -> list[Entry | Unreadable]:
        """Unless they are wanted whole, those before one that is not known are given first, and it is met next."""
        entries: list[Entry | Unreadable] = []
        keys: dict[UUID, bytes | None] = {}
        for position, id, version, topic, state, wrapped in rows:
            try:
                if id not in keys:
                    keys[id] = None if wrapped is None else await self._unwrap(connection, wrapped, id)
                event = self._mapper.open(StoredEvent(id, version, topic, state), keys[id])
            except (TopicError, NewerVersion) as error:
                if entries and not whole:
                    return entries
                raise UnknownEvent(
                    f"the event at position {position} ({topic}) is not known to this server: "
                    "a newer one wrote it, upgrade this one"
                ) from error
            except (MissedRotation, psycopg.Error):  # nothing is wrong with the event
                raise
            except Exception as error:  # its state, its key, or what upcasting makes of it: none may stop all others
                entries.append(Unreadable(position, id, f"{type(error).__name__}: {error}"))
            else:
                entries.append(Entry(position, event))
        return entries

    async def _unwrap(self, connection: psycopg.AsyncConnection, wrapped: bytes, id: UUID) -> bytes:
        try:
            return self._master_key.unwrap(wrapped, id.bytes)
        except WrongMasterKey:  # unless it is being rotated, and this server has yet to learn the new one
            await learn(connection, self._master_key)
            return self._master_key.unwrap(wrapped, id.bytes)
