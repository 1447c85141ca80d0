"""The event store of the use cases: loads aggregates many at a time, saves them through the writer."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

import psycopg
from eventsourcing.persistence import StoredEvent

from application.ports import Aggregate, E, Make
from domain.access_keys import AccessKey
from domain.answers import Answer
from domain.directory import DirectoryEntry
from domain.recorded import RecordedEvent
from domain.request import Request, rebuild
from domain.routing import Facts, Subject
from domain.sessions import EmbedToken, Session, SignInLink
from domain.slack import CONFIGURATION_ID, SlackConfiguration
from domain.webhooks import Webhook
from interfaces.postgres.coalescing import Coalescer
from interfaces.postgres.inline import (
    ADD_DATA_KEY,
    ADD_SEALED_ANSWER,
    ADD_WEBHOOK_SECRET,
    FORGET_SLACK_TOKEN,
    SET_PASSWORD,
    SET_SLACK_TOKEN,
    SLACK_TOKEN_IDS,
    Change,
    changes,
)
from interfaces.postgres.installation import learn
from interfaces.postgres.pool import Pool, reading
from interfaces.postgres.routing import RoutingFacts
from interfaces.postgres.sealing import (
    MasterKey,
    SealingMapper,
    Unwrapped,
    WrongMasterKey,
    new_data_key,
    open_bytes,
    seal_bytes,
)
from interfaces.postgres.writer import Events, NothingToWrite, Routed, Writer

_REMEMBERED_KEYS = 20_000


@dataclass(frozen=True, slots=True)
class _Row:
    position: int
    stored: StoredEvent
    wrapped_key: bytes | None


A = TypeVar("A", bound=Aggregate)


class PostgresEventStore:
    """Implements `application.ports.EventStore`."""

    def __init__(self, pool: Pool, writer: Writer, master_key: MasterKey) -> None:
        self._pool = pool
        self._writer = writer
        self._master_key = master_key
        self._mapper = SealingMapper()
        self._streams: Coalescer[UUID, list[_Row]] = Coalescer(self._fetch_streams)
        # Keys of aggregates loaded for a change; needed again to seal the events of that change.
        self._data_keys: OrderedDict[UUID, bytes | None] = OrderedDict()

    # -- loading

    async def request(self, id: UUID) -> Request | None:
        rows = await self._rows(id)
        aggregate = rebuild(event for _, event in await self._open(rows))
        if not isinstance(aggregate, Request):
            return None
        aggregate.position = rows[-1].position
        return aggregate

    async def history(self, id: UUID) -> list[tuple[int, RecordedEvent]]:
        return await self._open(await self._rows(id))

    async def access_key(self, id: UUID) -> AccessKey | None:
        return await self._aggregate(AccessKey, id)

    async def session(self, id: UUID) -> Session | None:
        return await self._aggregate(Session, id)

    async def sign_in_link(self, id: UUID) -> SignInLink | None:
        return await self._aggregate(SignInLink, id)

    async def embed_token(self, id: UUID) -> EmbedToken | None:
        return await self._aggregate(EmbedToken, id)

    async def slack_configuration(self) -> SlackConfiguration | None:
        return await self._aggregate(SlackConfiguration, CONFIGURATION_ID)

    async def webhook(self, id: UUID) -> Webhook | None:
        return await self._aggregate(Webhook, id)

    async def entry(self, kind: type[E], id: UUID) -> E | None:
        return await self._aggregate(kind, id)

    async def _aggregate(self, kind: type[A], id: UUID) -> A | None:
        aggregate = rebuild(event for _, event in await self._open(await self._rows(id)))
        return aggregate if isinstance(aggregate, kind) else None

    async def head(self) -> int:
        async def read(connection: psycopg.AsyncConnection) -> int:
            cursor = await connection.execute("SELECT max(position) FROM event_chain")
            row = await cursor.fetchone()
            assert row is not None
            return row[0]

        return await reading(self._pool, read)

    async def sealed_answer(self, id: UUID) -> Answer | None:
        async def read(connection: psycopg.AsyncConnection) -> Any:
            cursor = await connection.execute(
                "SELECT wrapped_key, ciphertext FROM sealed_answers WHERE request_id = %s", (id,), binary=True
            )
            return await cursor.fetchone()

        row = await reading(self._pool, read)
        if row is None:
            return None
        key = await self._unwrap(row[0], id)
        return Answer(**json.loads(open_bytes(key, row[1], id.bytes)))

    async def _rows(self, id: UUID) -> list[_Row]:
        return await self._streams.get(id) or []

    async def _fetch_streams(self, ids: Sequence[UUID]) -> Mapping[UUID, list[_Row]]:
        async def read(connection: psycopg.AsyncConnection) -> list[Any]:
            cursor = await connection.execute(
                "SELECT e.originator_id, e.originator_version, e.topic, e.state, e.notification_id, k.wrapped"
                " FROM handraise_events e LEFT JOIN data_keys k ON k.aggregate_id = e.originator_id"
                " WHERE e.originator_id = ANY(%s) ORDER BY e.originator_id, e.originator_version",
                (list(ids),),
                binary=True,
                prepare=True,
            )
            return await cursor.fetchall()

        streams: dict[UUID, list[_Row]] = {}
        for id, version, topic, state, position, wrapped in await reading(self._pool, read):
            row = _Row(position, StoredEvent(id, version, topic, state), wrapped)
            streams.setdefault(id, []).append(row)
        return streams

    async def _unwrap(self, wrapped: bytes, id: UUID) -> bytes:
        try:
            return self._master_key.unwrap(wrapped, id.bytes)
        except WrongMasterKey:  # unless it is being rotated, and this server has yet to learn the new one
            await reading(self._pool, lambda connection: learn(connection, self._master_key))
            return self._master_key.unwrap(wrapped, id.bytes)

    async def _open(self, rows: Sequence[_Row]) -> list[tuple[int, RecordedEvent]]:
        if not rows:
            return []
        id = rows[0].stored.originator_id
        assert isinstance(id, UUID)
        wrapped = rows[0].wrapped_key
        key = None if wrapped is None else await self._unwrap(wrapped, id)
        self._remember(id, key)
        return [(row.position, self._mapper.open(row.stored, key)) for row in rows]

    # -- saving

    async def save(
        self,
        *aggregates: Aggregate,
        before: datetime | None = None,
        sealed_answer: Answer | None = None,
        committed: Callable[[], None] | None = None,
        check: Callable[[], Awaitable[None]] | None = None,
        password_hash: str | None = None,
        slack_tokens: Mapping[str, str | None] | None = None,
        webhook_secret: str | None = None,
    ) -> int:
        keys: dict[UUID, bytes | None] = {}
        new_keys: dict[UUID, bytes] = {}
        for aggregate in aggregates:
            for event in aggregate.pending_events:
                assert isinstance(event, RecordedEvent)
                if event.CONTENT:
                    keys[aggregate.id] = await self._key_for(event, new_keys)
        stored: list[StoredEvent] = []
        rows: list[Change] = []
        for aggregate in aggregates:
            events, of_aggregate = self._sealed(aggregate, keys.get(aggregate.id))
            stored += events
            rows += of_aggregate
        if not stored:
            return max((a.position for a in aggregates if isinstance(a, Request)), default=0)
        if sealed_answer is not None:
            rows.append(self._seal_answer(aggregates[0].id, sealed_answer))
        if password_hash is not None:
            rows.append((SET_PASSWORD, (aggregates[0].id, password_hash)))
        rows += [self._keep_token(SLACK_TOKEN_IDS[name], token) for name, token in (slack_tokens or {}).items()]
        if webhook_secret is not None:
            rows.append(self._add_webhook_secret(aggregates[0], webhook_secret))
        rows += [self._add_key(id, key) for id, key in new_keys.items()]

        def written(position: int) -> None:
            for id, key in new_keys.items():  # only now: a refused creation must not displace the key that is in use
                self._remember(id, key)
            for aggregate in aggregates:
                if isinstance(aggregate, Request):
                    aggregate.position = position
            if committed is not None:
                committed()

        alone = any(isinstance(aggregate, (DirectoryEntry, AccessKey)) for aggregate in aggregates)
        return await self._writer.append(stored, rows, before, written, check=check, alone=alone)

    async def save_routed(
        self, id: UUID, version: int, subject: Subject, make: Make, *, also: Sequence[UUID] = (), size: int = 0
    ) -> Request:
        key = new_data_key() if version == 0 else await self._known_key(id)
        made: Request | None = None

        def build(facts: Facts, now: datetime) -> Events:
            nonlocal made
            made = make(facts, now)
            events, rows = self._sealed(made, key)
            if version == 0:
                assert key is not None
                rows.append(self._add_key(id, key))
            return events, rows

        def written(position: int) -> None:
            assert made is not None
            self._remember(id, key)
            made.position = position

        with suppress(NothingToWrite):
            await self._writer.append_routed(Routed(id, version, subject, also, build, size), written)
        assert made is not None
        return made

    async def facts(self, subject: Subject) -> tuple[Facts, datetime]:
        async def read(connection: psycopg.AsyncConnection) -> tuple[Facts, datetime]:
            async with connection.transaction():
                await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                cursor = await connection.execute(f"SELECT {self._writer.time}")
                row = await cursor.fetchone()
                assert row is not None
                return await RoutingFacts().load(connection, [subject], (), 0), row[0]

        return await reading(self._pool, read)

    def _sealed(self, aggregate: Aggregate, key: bytes | None) -> tuple[list[StoredEvent], list[Change]]:
        """The pending events as they are stored, and the inline rows that they mean."""
        events = [cast("RecordedEvent", event) for event in aggregate.collect_events()]
        stored = [self._mapper.seal(event, key if event.CONTENT else None) for event in events]
        return stored, list(changes(events, aggregate))

    def _add_key(self, id: UUID, key: bytes) -> Change:
        return ADD_DATA_KEY, (id, Unwrapped(self._master_key, key, id.bytes))

    async def _key_for(self, event: RecordedEvent, new_keys: dict[UUID, bytes]) -> bytes | None:
        """The data key to seal this event's content with; a new one for a first event."""
        id = event.originator_id
        if event.originator_version == 1:
            new_keys[id] = new_data_key()
        if id in new_keys:
            return new_keys[id]
        return await self._known_key(id)

    async def _known_key(self, id: UUID) -> bytes | None:
        if id not in self._data_keys:  # loaded so long ago that it was forgotten
            await self._open(await self._rows(id))
        return self._data_keys.get(id)

    def _remember(self, id: UUID, key: bytes | None) -> None:
        self._data_keys[id] = key
        self._data_keys.move_to_end(id)
        if len(self._data_keys) > _REMEMBERED_KEYS:
            self._data_keys.popitem(last=False)

    def _keep_token(self, id: UUID, token: str | None) -> Change:
        if token is None:
            return FORGET_SLACK_TOKEN, (id,)
        return SET_SLACK_TOKEN, (id, Unwrapped(self._master_key, token.encode(), id.bytes))

    def _add_webhook_secret(self, webhook: Aggregate, secret: str) -> Change:
        assert isinstance(webhook, Webhook)
        id = uuid4()
        wrapped = Unwrapped(self._master_key, secret.encode(), id.bytes)
        return ADD_WEBHOOK_SECRET, (id, webhook.agent_id, webhook.modified_on, wrapped)

    def _seal_answer(self, id: UUID, answer: Answer) -> Change:
        key = new_data_key()
        plain = json.dumps(
            {"outcome": answer.outcome, "text": answer.text, "data": answer.data}, ensure_ascii=False
        ).encode()
        return ADD_SEALED_ANSWER, (id, Unwrapped(self._master_key, key, id.bytes), seal_bytes(key, plain, id.bytes))
