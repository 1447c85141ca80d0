"""The only thing that appends to the log: one writer a replica, many commands a transaction (group commit).

A queue is drained into one transaction that takes the append lock, looks at the head, the time and the present
versions, refuses the groups that do not fit one by one, and inserts the rest with their links of the chain and
their inline rows. One NOTIFY serialises commits across the database anyway, so batching is what makes it fast.
Positions have no gaps and stand in commit order, because they are given while the lock is held.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import LiteralString
from uuid import UUID

import psycopg
import structlog
from eventsourcing.persistence import StoredEvent
from psycopg import errors

from application.ports import DeadlinePassed, VersionConflict
from domain.errors import AlreadyExists, Refusal, Unavailable
from domain.routing import Facts, Subject
from interfaces.postgres.chain import link
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.inline import CHANNEL, REPORT_CLOSED, Bulk, Change
from interfaces.postgres.installation import KEY_ID, id_bytes, learn
from interfaces.postgres.pool import indexed, lasting
from interfaces.postgres.routing import RoutingFacts
from interfaces.postgres.sealing import MasterKey, MissedRotation, Unwrapped

APPEND_LOCK = 0x68616E6472_02

_BATCH_GROUPS = 256
_TOLD_AT_ONCE = 16
_BATCH_BYTES = 8 * 1024 * 1024
_RECONNECT_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event that is in the log, without what it says."""

    position: int
    originator_id: UUID
    version: int
    topic: str


Events = tuple[Sequence[StoredEvent], Sequence[Change]]
"""Events and the inline rows that belong to them."""

Check = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Routed:
    """Events that are only made once the facts are known: a decision. `build` may refuse, and may be called again."""

    id: UUID
    version: int
    """How many events the aggregate has."""

    subject: Subject
    also: Sequence[UUID]
    """People and lists that are looked up besides those that the subject leads to."""

    build: Callable[[Facts, datetime], Events]
    size: int


@dataclass(slots=True)
class Group:
    """Events that are written together or not at all, with the inline rows that belong to them."""

    events: Sequence[StoredEvent]
    changes: Sequence[Change]
    before: datetime | None
    result: asyncio.Future[int]
    on_written: Callable[[int], None] | None = None
    routed: Routed | None = None
    check: Check | None = None
    alone: bool = False
    """In a transaction of its own: it changes what decisions are taken from."""

    positions: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(len(event.state) for event in self.events) + (self.routed.size if self.routed else 0)

    @property
    def ids(self) -> set[UUID]:
        """The aggregates that it changes."""
        return {self.routed.id} if self.routed else {_uuid(event) for event in self.events}

    def settle(self, outcome: int | Exception) -> None:
        """Tell the command; one whose caller went away is told in vain, and that is fine."""
        if self.result.done():
            return
        if isinstance(outcome, int):
            self.result.set_result(outcome)
        else:
            self.result.set_exception(outcome)


class NothingToWrite(Exception):
    """A decision was taken that changes nothing."""


class Writer:
    """Appends groups of events. `connected` is False while it cannot."""

    def __init__(
        self,
        conninfo: str,
        clock: DatabaseClock,
        *,
        on_committed: Callable[[Sequence[Recorded]], None],
        queue_size: int = 10_000,
        routing: RoutingFacts | None = None,
        master_key: MasterKey | None = None,
    ) -> None:
        """`master_key` is kept at the one that the database says everything is to be wrapped under."""
        self._conninfo = conninfo
        self._master_key = master_key
        self._clock = clock
        self._on_committed = on_committed
        self._queue: deque[Group] = deque()
        self._queue_size = queue_size
        self._routing = routing or RoutingFacts()
        self._filled = asyncio.Event()
        self._connection: psycopg.AsyncConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._committing = False
        self._stopping = False
        self.batches = 0
        self.events = 0

    @property
    def connected(self) -> bool:
        return self._connection is not None and self._task is not None and not self._task.done()

    @property
    def time(self) -> LiteralString:
        """The SQL expression for the present instant."""
        return self._clock.sql

    @property
    def queued(self) -> int:
        return len(self._queue)

    async def start(self) -> None:
        """Connect and begin to write. Raises psycopg's `OperationalError`."""
        self._connection = await self._connect()
        self._task = asyncio.create_task(self._run(), name="writer")

    async def stop(self) -> None:
        """Write what is queued, then end."""
        self._stopping = True
        self._filled.set()
        if self._task is not None:
            await self._task
        if self._connection is not None:
            await self._connection.close()
        self._fail_queue("the server is stopping")

    async def append(
        self,
        events: Sequence[StoredEvent],
        changes: Sequence[Change],
        before: datetime | None = None,
        on_written: Callable[[int], None] | None = None,
        *,
        check: Check | None = None,
        alone: bool = False,
    ) -> int:
        """Append one group and return the position of its last event.

        It is written even when the caller goes away meanwhile. `on_written` gets the position once the group is
        written, before anybody else learns of it; it must be quick and not raise. `check` runs with the append lock
        held and refuses by raising; it and `alone` make a batch of this group. Raises `VersionConflict`,
        `DeadlinePassed`, `AlreadyExists` for a unique inline row, `Unavailable` when nothing was written, or what
        `check` raises.
        """
        group = Group(
            events, changes, before, self._future(), on_written, check=check, alone=alone or check is not None
        )
        return await self._enqueue(group)

    async def append_routed(self, routed: Routed, on_written: Callable[[int], None]) -> int:
        """Append what `routed` builds once the lock is held. Raises as `append`, and what its `build` refuses."""
        return await self._enqueue(Group((), (), None, self._future(), on_written, routed))

    def _future(self) -> asyncio.Future[int]:
        return asyncio.get_running_loop().create_future()

    async def _enqueue(self, group: Group) -> int:
        if self._stopping or not self.connected:
            raise Unavailable("the database cannot be reached just now; nothing was written")
        if len(self._queue) >= self._queue_size:
            raise Unavailable(f"{self._queue_size} writes are waiting already; nothing was written")
        self._queue.append(group)
        self._filled.set()
        return await group.result

    # -- the loop

    async def _run(self) -> None:
        while True:
            if not self._queue:
                if self._stopping:
                    return
                await self._idle()
                continue
            groups = self._next_batch()
            try:
                await self._write(groups)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # anything else must not end the only writer
                log.exception("write failed", groups=len(groups))
                for group in groups:
                    group.settle(Unavailable(f"the write failed ({type(error).__name__}); nothing was written"))

    async def _idle(self) -> None:
        """Wait for something to write. A connection that stirs unasked has most likely ended: look at once."""
        connection = self._connection
        if connection is None or connection.closed:
            await self._recover([])
            return
        loop, socket = asyncio.get_running_loop(), connection.fileno()
        self._filled.clear()
        loop.add_reader(socket, self._filled.set)
        try:
            await self._filled.wait()
        finally:
            loop.remove_reader(socket)
        if self._queue or self._stopping:
            return
        try:
            await connection.execute("SELECT 1", prepare=False)
        except errors.Error:
            await self._recover([])

    def _next_batch(self) -> list[Group]:
        """The next groups that can be written together: each aggregate in one of them only."""
        groups = [self._queue.popleft()]
        size, ids = groups[0].size, groups[0].ids
        while self._queue and len(groups) < _BATCH_GROUPS and not groups[0].alone:
            following = self._queue[0]
            size += following.size
            if size > _BATCH_BYTES or following.alone or not ids.isdisjoint(following.ids):
                break
            ids |= following.ids
            groups.append(self._queue.popleft())
        return groups

    async def _write(self, groups: list[Group]) -> None:
        try:
            written = await self._transact(groups)
        except Exception as error:  # from the database, or from making what is sent to it
            if not await self._rolled_back(error):
                await self._recover(groups)
                return
            if len(groups) > 1:  # one group spoils the batch: find out which, the others are written
                for group in groups:
                    await self._write([group])
                return
            groups[0].settle(_refusal(error))
            return
        if written:
            self._announce(written)

    async def _rolled_back(self, error: Exception) -> bool:
        """Whether the connection is still there and nothing is left of the failed transaction, above all its lock."""
        connection = self._connection
        if connection is None or _is_lost(error, connection):
            return False
        try:
            # Not by execute: only this forgets the statements whose preparation the failed pipeline skipped.
            await connection.rollback()
        except errors.Error:
            return False
        return True

    async def _transact(self, groups: list[Group]) -> list[Group]:
        """Those of the groups that were written; the others are told why not."""
        connection = self._connection
        assert connection is not None
        self._committing = False
        ids = list({id for group in groups for id in group.ids})
        routed = [group.routed for group in groups if group.routed is not None]
        async with connection.pipeline():
            await connection.execute("BEGIN")
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (APPEND_LOCK,))
            head = await connection.execute(
                f"SELECT head.position, head.hash, {self._clock.sql}, present.ids, present.versions,"  # noqa: S608
                f" (SELECT version FROM directory_version), {KEY_ID}, EXISTS (SELECT FROM webhooks WHERE enabled)"
                " FROM (SELECT position, hash FROM event_chain ORDER BY position DESC LIMIT 1) AS head,"
                " (SELECT array_agg(originator_id) AS ids, array_agg(version) AS versions FROM"
                "  (SELECT originator_id, max(originator_version) AS version FROM handraise_events"
                "   WHERE originator_id = ANY(%b::uuid[]) GROUP BY originator_id) AS each) AS present",
                (ids,),
                binary=True,
            )
            row = await head.fetchone()
            assert row is not None
            position, hash_, now, present, present_at, directory, key_id, webhooks = row
            versions: dict[UUID, int] = dict(zip(present or (), present_at or (), strict=True))
            self._clock.set(now)
            key = self._master_key
            if key is not None and key_id is not None and key_id != id_bytes(key.id):
                await learn(connection, key)
            facts = None
            if routed:
                also = {id for each in routed for id in each.also}
                facts = await self._routing.load(connection, [each.subject for each in routed], also, directory)

            batch = _Batch(position, hash_)
            fitting: list[Group] = []
            refused: list[tuple[Group, Exception]] = []
            for group in groups:
                try:
                    _check(group, versions, now, facts)
                    if group.check is not None:
                        await group.check()
                except (Refusal, VersionConflict, DeadlinePassed, NothingToWrite) as refusal:
                    refused.append((group, refusal))
                    continue
                fitting.append(group)
                batch.add(group)
                if facts is not None:
                    self._routing.note(group.changes)
            if not fitting:
                await connection.execute("COMMIT")  # of nothing: a rollback would make psycopg prepare everything anew
                _settle(refused)
                return []
            await connection.execute(
                "WITH events AS (INSERT INTO handraise_events"
                "  (originator_id, originator_version, topic, state, notification_id)"
                "  SELECT * FROM unnest(%b::uuid[], %b::bigint[], %b::text[], %b::bytea[], %b::bigint[])),"
                " links AS (INSERT INTO event_chain (position, hash) SELECT * FROM unnest(%b::bigint[], %b::bytea[]))"
                " SELECT pg_notify(%s, %s)",
                (*batch.events, batch.positions, batch.hashes, CHANNEL, str(batch.positions[-1])),
            )
            # Webhooks change under the lock, too: where there are none, that they get reports need not even be tried.
            for bulk, columns in _by_statement(fitting, without=() if webhooks else (REPORT_CLOSED,)):
                await connection.execute(bulk.sql.encode(), columns)
            self._committing = True
            await connection.execute("COMMIT")
        self._committing = False
        _settle(refused)
        return fitting

    def _announce(self, groups: Sequence[Group]) -> None:
        recorded = [
            Recorded(position, _uuid(event), event.originator_version, event.topic)
            for group in groups
            for position, event in zip(group.positions, group.events, strict=True)
        ]
        self.batches += 1
        self.events += len(recorded)
        for group in groups:
            if group.on_written is not None:
                group.on_written(group.positions[-1])
        self._on_committed(recorded)
        self._tell(groups)

    def _tell(self, groups: Sequence[Group]) -> None:
        """Some callers at a time: the next batch is on its way to the disk while the others go on."""
        for group in groups[:_TOLD_AT_ONCE]:
            group.settle(group.positions[-1])
        if later := groups[_TOLD_AT_ONCE:]:
            asyncio.get_running_loop().call_soon(self._tell, later)

    # -- a lost connection

    async def _recover(self, groups: list[Group]) -> None:
        """Connect again; what was sent with a COMMIT whose answer got lost is looked up, never guessed."""
        in_doubt = groups if self._committing else []
        if not in_doubt:
            for group in groups:
                group.settle(Unavailable("the database went away; nothing was written"))
        self._committing = False
        lost, self._connection = self._connection, None
        if lost is not None:
            with contextlib.suppress(Exception):
                await lost.close()
        self._fail_queue("the database went away")
        log.warning("database connection lost", in_doubt=len(in_doubt))
        attempt = 0
        while True:
            connection = None
            try:
                connection = await self._connect()
                written = await self._written(connection, in_doubt)
                break
            except errors.Error:
                if connection is not None:
                    await connection.close()
                if self._stopping:
                    for group in in_doubt:
                        group.settle(_unknown())
                    return
                await asyncio.sleep(_RECONNECT_SECONDS[min(attempt, len(_RECONNECT_SECONDS) - 1)])
                attempt += 1
        self._connection = connection
        log.info("database connection back", attempts=attempt + 1, found_written=len(written))
        for group in in_doubt:
            if group not in written and not group.result.done():
                group.settle(Unavailable("the database went away; nothing was written"))
        if written:
            self._announce(written)

    async def _written(self, connection: psycopg.AsyncConnection, groups: list[Group]) -> list[Group]:
        """Those of the groups that were committed. Waits for the lock: the old session may still be committing.

        A stored state is never the same twice (its nonce is random, or its time), so an equal one is our own.
        """
        written: list[Group] = []
        if not groups:
            return written
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (APPEND_LOCK,))
            for group in groups:
                if not group.events:  # refused before its events were made
                    continue
                first = group.events[0]
                cursor = await connection.execute(
                    "SELECT notification_id FROM handraise_events"
                    " WHERE originator_id = %s AND originator_version = %s AND state = %b",
                    (first.originator_id, first.originator_version, first.state),
                )
                row = await cursor.fetchone()
                if row is not None:
                    group.positions = list(range(row[0], row[0] + len(group.events)))
                    written.append(group)
        return sorted(written, key=lambda group: group.positions[0])

    async def _connect(self) -> psycopg.AsyncConnection:
        started = time.monotonic()
        connection = await psycopg.AsyncConnection.connect(
            lasting(indexed(self._conninfo)), autocommit=True, prepare_threshold=1, application_name="handraise writer"
        )
        log.debug("writer connected", seconds=round(time.monotonic() - started, 3))
        return connection

    def _fail_queue(self, why: str) -> None:
        while self._queue:
            self._queue.popleft().settle(Unavailable(f"{why}; nothing was written"))


class _Batch:
    """The columns of what is about to be inserted, linked to the chain."""

    def __init__(self, position: int, hash_: bytes) -> None:
        self._position = position
        self._hash = hash_
        self.ids: list[UUID] = []
        self.versions: list[int] = []
        self.topics: list[str] = []
        self.states: list[bytes] = []
        self.positions: list[int] = []
        self.hashes: list[bytes] = []

    @property
    def events(self) -> tuple[list[UUID], list[int], list[str], list[bytes], list[int]]:
        """The columns of `handraise_events`."""
        return self.ids, self.versions, self.topics, self.states, self.positions

    def add(self, group: Group) -> None:
        group.positions = []
        for event in group.events:
            self._position += 1
            id_ = _uuid(event)
            self._hash = link(self._hash, self._position, id_, event.originator_version, event.topic, event.state)
            self.ids.append(id_)
            self.versions.append(event.originator_version)
            self.topics.append(event.topic)
            self.states.append(event.state)
            self.positions.append(self._position)
            self.hashes.append(self._hash)
            group.positions.append(self._position)


def _check(group: Group, versions: dict[UUID, int], now: datetime, facts: Facts | None) -> None:
    """Whether this group fits what is there, its events made if they are not yet; then they count as there.

    Raises why not.
    """
    if group.before is not None and now >= group.before:
        raise DeadlinePassed(now)
    if group.routed is not None:
        assert facts is not None
        _expect(group.routed.id, versions, group.routed.version)
        group.events, group.changes = group.routed.build(facts, now)
        if not group.events:
            raise NothingToWrite
    fresh: dict[UUID, int] = {}
    for event in group.events:
        id_ = _uuid(event)
        _expect(id_, versions | fresh if fresh else versions, event.originator_version - 1)
        fresh[id_] = event.originator_version
    versions.update(fresh)


def _expect(id: UUID, versions: Mapping[UUID, int], version: int) -> None:
    present = versions.get(id, 0)
    if present != version:
        raise VersionConflict(f"{id} is at version {present}, not {version}")


def _settle(refused: Sequence[tuple[Group, Exception]]) -> None:
    """Tell the refused, once what they lost against is committed: whoever loads again then sees the winner."""
    for group, refusal in refused:
        group.settle(refusal)


def _by_statement(groups: Sequence[Group], without: Collection[Bulk] = ()) -> list[tuple[Bulk, list[list[object]]]]:
    """One statement for all rows of a kind, the kinds in their order: no aggregate is in two groups of a batch."""
    rows: dict[Bulk, list[tuple[object, ...]]] = {}
    for group in groups:
        for bulk, row in group.changes:
            rows.setdefault(bulk, []).append(row)
    for bulk in without:
        rows.pop(bulk, None)
    return [(bulk, _columns(bulk, rows[bulk])) for bulk in sorted(rows, key=lambda bulk: bulk.order)]


def _columns(bulk: Bulk, rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    columns = [list(column) for column in zip(*rows, strict=True)]
    if (place := bulk.wrapped) is not None:
        columns[place] = [value.wrap() if isinstance(value, Unwrapped) else value for value in columns[place]]
    return columns


def _uuid(event: StoredEvent) -> UUID:
    assert isinstance(event.originator_id, UUID)
    return event.originator_id


def _is_lost(error: Exception, connection: psycopg.AsyncConnection) -> bool:
    return connection.closed or isinstance(error, (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow))


def _refusal(error: Exception) -> Exception:
    if isinstance(error, errors.UniqueViolation):
        constraint = error.diag.constraint_name or ""
        if constraint == "handraise_events_pkey":
            return VersionConflict(str(error))
        return AlreadyExists(f"it exists already ({constraint})")
    if isinstance(error, MissedRotation):
        return Unavailable(f"{error}; nothing was written")
    log.error("write refused", error=type(error).__name__, sqlstate=getattr(error, "sqlstate", None))
    return Unavailable(f"the write failed ({type(error).__name__}); nothing was written")


def _unknown() -> Unavailable:
    return Unavailable(
        "the server stopped before the database said whether this was written: send the same again, "
        "a repeat does no harm"
    )
