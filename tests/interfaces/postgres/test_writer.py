"""Group commit, lost connections, and two replicas at once: nothing acknowledged is lost, nothing is written twice."""

from __future__ import annotations

import asyncio
import os
import random
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest
from eventsourcing.persistence import StoredEvent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from application.ports import DeadlinePassed, VersionConflict
from domain.access_keys import AccessKey
from domain.answers import Question
from domain.assignment import fall_back
from domain.callers import AgentCaller, PersonCaller, Role
from domain.errors import AlreadyExists, Unavailable
from domain.request import Request, request_id
from interfaces.postgres.chain import read_head, verify
from interfaces.postgres.clock import DATABASE_TIME, DatabaseClock
from interfaces.postgres.inline import ADD_REQUEST_NAME, Change
from interfaces.postgres.pool import new_pool
from interfaces.postgres.sealing import MasterKey
from interfaces.postgres.store import PostgresEventStore
from interfaces.postgres.tail import Tail
from interfaces.postgres.writer import APPEND_LOCK, CHANNEL, Recorded, Writer
from tests.support.postgres import TestServer

PATIENCE = 20.0
"""Seconds after which something that should happen at once is taken for lost, on a machine that is busy."""

MASTER_KEY = MasterKey(bytes(32))
AGENT = AgentCaller(UUID(int=1), key_id=UUID(int=101))
ADMIN = PersonCaller(UUID(int=2), Role.ADMINISTRATOR)


@dataclass
class Replica:
    """What one server has: a writer, a store, a tail that the writer hands its own commits to, and what it saw."""

    conninfo: str
    writer: Writer
    store: PostgresEventStore
    tail: Tail
    committed: list[Recorded] = field(default_factory=list)
    """What the writer announced, in the order it did."""
    seen: list[Recorded] = field(default_factory=list)
    """What the tail handed over, in the order it did."""

    async def append(self, *events: StoredEvent, changes: Sequence[Change] = (), before: datetime | None = None) -> int:
        return await self.writer.append(events, changes, before)

    async def appended(self, *groups: Sequence[StoredEvent]) -> list[Any]:
        """Append all these groups at once, which makes them one batch; what came of each."""
        return await asyncio.gather(*(self.append(*group) for group in groups), return_exceptions=True)


@asynccontextmanager
async def replica(
    conninfo: str, *, time: LiteralString = DATABASE_TIME, queue_size: int = 10_000
) -> AsyncIterator[Replica]:
    async with AsyncExitStack() as stack:
        clock = DatabaseClock(time)
        pool = new_pool(conninfo, 4)
        await pool.open(wait=True, timeout=30)
        stack.push_async_callback(pool.close)
        tail = Tail(conninfo, pool, clock, look_again_seconds=60)
        committed: list[Recorded] = []

        def announce(recorded: Sequence[Recorded]) -> None:
            committed.extend(recorded)
            tail.committed(recorded)

        writer = Writer(conninfo, clock, on_committed=announce, queue_size=queue_size)
        made = Replica(conninfo, writer, PostgresEventStore(pool, writer, MASTER_KEY), tail, committed)
        tail.subscribe(made.seen.extend)
        for part in (tail, writer):
            await part.start()
            stack.push_async_callback(part.stop)
        yield made


@pytest.fixture
async def one(database: str) -> AsyncIterator[Replica]:
    async with replica(database) as made:
        yield made


def event(id: UUID | None = None, version: int = 1, topic: str = "handraise.tests.Happened") -> StoredEvent:
    """An event with a state that no other has."""
    return StoredEvent(id or uuid4(), version, topic, os.urandom(16))


async def query(conninfo: str, statement: Any, *values: Any) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        return await (await connection.execute(statement, values or None)).fetchall()


async def log(conninfo: str) -> list[tuple[int, UUID, int, bytes]]:
    """(position, id, version, state) of all events, in order."""
    return await query(
        conninfo,
        "SELECT notification_id, originator_id, originator_version, state FROM handraise_events ORDER BY 1",
    )


async def check_log(conninfo: str) -> int:
    """The log has no gap and its chain holds; the number of its events."""
    positions = [row[0] for row in await log(conninfo)]
    assert positions == list(range(1, len(positions) + 1))
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        verdict = await verify(connection)
        assert (verdict.fault, verdict.events) == (None, len(positions))
        assert await read_head(connection) == verdict.head
    return len(positions)


async def until(done: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    """Returns once `done` says so; fails when it does not within `PATIENCE`."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = done()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(0.01)


@asynccontextmanager
async def append_lock_held(conninfo: str) -> AsyncIterator[None]:
    """As long as this lasts, no writer gets further than waiting for its turn."""
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (APPEND_LOCK,))
        yield


async def waiting_writers(conninfo: str) -> int:
    found = await query(
        conninfo,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'handraise writer' AND wait_event = 'advisory'",
    )
    return found[0][0]


async def blocked(conninfo: str) -> None:
    async def waiting() -> bool:
        return await waiting_writers(conninfo) > 0

    await until(waiting)


async def end_sessions(conninfo: str, application: str, *, limit: int = 100) -> int:
    """Terminate the backends of these sessions, oldest first; how many there were."""
    return len(
        await query(
            make_conninfo(conninfo, dbname="handraise"),
            "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity"
            " WHERE datname = %s AND application_name LIKE %s ORDER BY backend_start LIMIT %s)",
            conninfo_to_dict(conninfo)["dbname"],
            application,
            limit,
        )
    )


@asynccontextmanager
async def no_new_connections(conninfo: str) -> AsyncIterator[None]:
    """As long as this lasts, the database takes no new connection; those there are go on."""
    name = sql.Identifier(str(conninfo_to_dict(conninfo)["dbname"]))
    admin = make_conninfo(conninfo, dbname="handraise")
    async with await psycopg.AsyncConnection.connect(admin, autocommit=True) as connection:
        await connection.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        try:
            yield
        finally:
            await connection.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))


# -- group commit


async def test_positions_have_no_gaps_and_stand_in_commit_order(one: Replica) -> None:
    """Many groups at once: few transactions, each group whole and in its order, announced as it was written."""
    groups = [[event(id := uuid4(), 1), *(event(id, v) for v in range(2, 2 + n % 3))] for n in range(100)]
    positions = await one.appended(*groups)
    rows = await log(one.conninfo)
    assert await check_log(one.conninfo) == sum(len(group) for group in groups)
    states = {row[3]: row[0] for row in rows}
    for group, last in zip(groups, positions, strict=True):
        assert [states[event.state] for event in group] == list(range(last - len(group) + 1, last + 1))
    assert positions == sorted(positions)
    assert [(r.position, r.originator_id, r.version) for r in one.committed] == [row[:3] for row in rows]
    assert (one.writer.batches, one.writer.events) == (1, len(rows))


async def test_a_conflicting_group_is_refused_and_the_others_of_its_batch_are_written(one: Replica) -> None:
    """Of two that want the same version the first wins, and one that builds on the first fits."""
    taken, fresh = uuid4(), uuid4()
    assert await one.append(event(taken)) == 1
    results = await one.appended(
        [event(fresh, 1)], [event(taken, 1)], [event(fresh, 1)], [event(fresh, 2)], [event(taken, 3)], [event(taken, 2)]
    )
    refusals = [results[index] for index in (1, 2, 4)]
    assert [type(refusal) for refusal in refusals] == [VersionConflict] * 3
    assert [results[index] for index in (0, 3, 5)] == [2, 3, 4]
    assert one.writer.batches == 4  # each aggregate is in one group of a batch only
    assert [row[1:3] for row in await log(one.conninfo)] == [(taken, 1), (fresh, 1), (fresh, 2), (taken, 2)]
    await check_log(one.conninfo)


async def test_a_batch_of_conflicts_alone_writes_nothing(one: Replica) -> None:
    """And the next one is written as if nothing had been."""
    results = await one.appended([event(version=2)], [event(version=5)])
    assert [type(result) for result in results] == [VersionConflict, VersionConflict]
    assert await one.append(event()) == 1
    assert await check_log(one.conninfo) == 1


async def test_a_group_of_several_aggregates_is_written_whole_or_not_at_all(one: Replica) -> None:
    """One conflict among its events, and neither the other events nor the inline rows are there."""
    taken, other = uuid4(), uuid4()
    await one.append(event(taken))
    row = (ADD_REQUEST_NAME, ("deploy", AGENT.id, other))
    with pytest.raises(VersionConflict):
        await one.append(event(other), event(taken, 1), changes=[row])
    assert await query(one.conninfo, "SELECT * FROM request_names") == []
    assert await one.append(event(other), event(taken, 2), changes=[row]) == 3
    assert [r[1:3] for r in await log(one.conninfo)] == [(taken, 1), (other, 1), (taken, 2)]
    assert await query(one.conninfo, "SELECT * FROM request_names") == [("deploy", AGENT.id, other)]


def access_key(name: str, sha256: str) -> AccessKey:
    return AccessKey.create(
        readable_id=name, name=name, sha256=sha256, agent_id=AGENT.id, user_id=None, run_user=None, expires_at=None,
        actor="system", now=datetime.now(UTC),
    )  # fmt: skip


async def test_a_group_whose_inline_row_is_refused_fails_alone(one: Replica) -> None:
    """A key's hash that is there already: that key is not made, the others of the batch are."""
    await one.store.save(access_key("first", "a" * 64))
    results = await asyncio.gather(
        one.store.save(access_key("second", "b" * 64)),
        one.store.save(access_key("again", "a" * 64)),
        one.store.save(access_key("third", "c" * 64)),
        one.store.save(access_key("as-third", "c" * 64)),
        one.append(event()),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [int, AlreadyExists, int, AlreadyExists, int]
    names = await query(one.conninfo, "SELECT readable_id FROM access_keys ORDER BY 1")
    assert names == [("first",), ("second",), ("third",)]
    assert await check_log(one.conninfo) == 4


async def test_one_failure_after_another_touches_nobody_else(one: Replica) -> None:
    """Wherever in their transactions they fail, and whatever the connection had prepared by then."""
    await one.store.save(access_key("first", "a" * 64))
    taken = uuid4()
    await one.append(event(taken), changes=[(ADD_REQUEST_NAME, ("taken", AGENT.id, taken))])
    for number in range(6):
        again = [(ADD_REQUEST_NAME, ("taken", AGENT.id, taken))]
        results = await asyncio.gather(
            one.append(event()),
            one.append(event(), changes=again),
            one.store.save(access_key(f"key-{number}", f"{number}" * 64)),
            one.store.save(access_key(f"again-{number}", "a" * 64)),
            one.append(event(taken, 1)),
            one.append(event()),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [int, AlreadyExists, int, AlreadyExists, VersionConflict, int]
    assert await check_log(one.conninfo) == 2 + 6 * 3


@pytest.mark.parametrize("unsendable", ["half \ud800 of a pair", "n\0l"])
async def test_what_cannot_even_be_sent_fails_alone_and_holds_nobody_up(one: Replica, unsendable: str) -> None:
    """Text that Postgres cannot hold: its group is refused, its batch written, and other replicas can write."""
    async with replica(one.conninfo) as other:
        results = await asyncio.gather(
            one.append(event()),
            one.append(event(), changes=[(ADD_REQUEST_NAME, (unsendable, AGENT.id, uuid4()))]),
            one.append(event()),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [int, Unavailable, int]
        async with asyncio.timeout(PATIENCE):
            assert await other.append(event()) == 3
            assert await one.append(event()) == 4
    assert await check_log(one.conninfo) == 4


async def test_the_order_of_an_aggregates_changes_outlives_the_batch(one: Replica) -> None:
    """Statements are shared by a batch, and yet a sealed answer's shredding is planned, not removed again."""
    now = datetime.now(UTC)

    def ask(name: str, *, sealed: bool) -> Request:
        return Request.ask(
            by=AGENT, now=now, unique_id=name, question=Question("clarification", secret=sealed), sealed=sealed,
            message="May I?", decision=fall_back(None), priority=50, expires_at=now + timedelta(hours=1),
        )  # fmt: skip

    secret, fresh = ask("secret", sealed=True), ask("fresh", sealed=False)
    await one.store.save(secret)
    secret.trigger_event(
        Request.Responded, timestamp=now, actor=ADMIN.actor, via="web", outcome="answered", sealed=True,
        sealed_until=now + timedelta(days=1), text=None, data=None,
    )  # fmt: skip
    before = one.writer.batches
    await asyncio.gather(one.store.save(fresh), one.store.save(secret))
    assert one.writer.batches == before + 1
    assert sorted(await query(one.conninfo, "SELECT request_id, step, due_at FROM due_steps")) == sorted(
        [(fresh.id, "expire", now + timedelta(hours=1)), (secret.id, "shred", now + timedelta(days=1))]
    )


async def test_large_groups_are_spread_over_batches(one: Replica) -> None:
    """A batch is bounded in bytes and in groups; everything is written all the same."""
    big = [StoredEvent(uuid4(), 1, "handraise.tests.Happened", os.urandom(3 * 1024 * 1024)) for _ in range(4)]
    results = await one.appended(*([event] for event in big), *([event()] for _ in range(600)))
    assert results == list(range(1, 605))
    assert one.writer.batches >= 4
    assert await check_log(one.conninfo) == 604


# -- deadlines, the queue, callers


@pytest.mark.parametrize(("ahead", "passed"), [("+", True), ("-", False)])
async def test_a_deadline_is_judged_by_the_databases_clock(database: str, ahead: LiteralString, passed: bool) -> None:
    """Half an hour to go by the clock here means nothing to a database that is an hour ahead, or behind."""
    now = datetime.now(UTC)
    before = now + timedelta(minutes=30) if passed else now - timedelta(minutes=30)
    async with replica(database, time=f"clock_timestamp() {ahead} interval '1 hour'") as one:
        results = await asyncio.gather(one.append(event(), before=before), one.append(event()), return_exceptions=True)
        if passed:
            refusal = results[0]
            assert isinstance(refusal, DeadlinePassed)
            assert refusal.now - now > timedelta(minutes=59)
            assert results[1:] == [1]
        else:
            assert results == [1, 2]
    assert await check_log(database) == (1 if passed else 2)


async def test_a_deadline_counts_from_the_moment_of_writing(one: Replica) -> None:
    """One that passes while the write waits for its turn is refused, though it came in time."""
    async with append_lock_held(one.conninfo):
        before = datetime.now(UTC) + timedelta(seconds=0.2)
        writing = asyncio.create_task(one.append(event(), before=before))
        await blocked(one.conninfo)

        async def passed() -> bool:
            return (await query(one.conninfo, "SELECT clock_timestamp() > %s", before))[0][0]

        await until(passed)
    with pytest.raises(DeadlinePassed):
        await writing
    assert await log(one.conninfo) == []


async def test_a_full_queue_refuses_at_once_and_keeps_what_it_has(database: str) -> None:
    """Beyond its bound a write is refused, to be tried again; all that were taken are written."""
    async with replica(database, queue_size=5) as one:
        async with append_lock_held(database):
            first = asyncio.create_task(one.append(event()))
            await blocked(database)
            queued = [asyncio.create_task(one.append(event())) for _ in range(5)]
            await until(lambda: one.writer.queued == 5)
            with pytest.raises(Unavailable, match="5 writes are waiting already; nothing was written") as refusal:
                await one.append(event())
            assert refusal.value.retry_after_seconds == 1
        assert await asyncio.gather(first, *queued) == [1, 2, 3, 4, 5, 6]
        assert await one.append(event()) == 7
    assert await check_log(database) == 7


async def test_a_write_goes_on_when_its_caller_goes_away(one: Replica) -> None:
    """Cancelled while it waits in a batch, or in the queue: it is written, and announced."""
    events = [event(), event()]
    async with append_lock_held(one.conninfo):
        writing = asyncio.create_task(one.append(events[0]))
        await blocked(one.conninfo)
        queued = asyncio.create_task(one.append(events[1]))
        await until(lambda: one.writer.queued == 1)
        for task in (writing, queued):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    await until(lambda: len(one.committed) == 2)
    assert [row[3] for row in await log(one.conninfo)] == [event.state for event in events]


async def test_stopping_writes_what_is_queued_and_refuses_what_comes_later(database: str) -> None:
    """A graceful end loses nothing that was taken."""
    async with replica(database) as one:
        writing = [asyncio.create_task(one.append(event())) for _ in range(300)]
        await asyncio.sleep(0)
        await one.writer.stop()
        assert await asyncio.gather(*writing) == list(range(1, 301))
        with pytest.raises(Unavailable):
            await one.append(event())
        assert one.writer.connected is False
    assert await check_log(database) == 300


async def test_a_second_commit_in_between_is_seen(one: Replica) -> None:
    """Two writers on one log take turns: what one wrote, the other builds on."""
    async with replica(one.conninfo) as other:
        id = uuid4()
        assert await one.append(event(id, 1)) == 1
        assert await other.append(event(id, 2)) == 2
        with pytest.raises(VersionConflict):
            await one.append(event(id, 2))
        assert await one.append(event(id, 3)) == 3
    await check_log(one.conninfo)


# -- content and keys


def note(request: Request, text: str, to: UUID | None = None) -> Request:
    """Reassign the request to somebody new, with a note."""
    request.reassign(to=to or uuid4(), by=ADMIN, now=datetime.now(UTC), note=text)
    return request


def asked(name: str, message: str = "May I?") -> Request:
    return Request.ask(
        by=AGENT, now=datetime.now(UTC), unique_id=name, question=Question("clarification"), sealed=False,
        message=message, decision=fall_back(None), priority=50,
    )  # fmt: skip


async def notes(store: PostgresEventStore, id: UUID) -> list[str | None]:
    return [event.note for _, event in await store.history(id) if isinstance(event, Request.Reassigned)]


async def test_a_refused_creation_does_not_displace_the_key_in_use(one: Replica) -> None:
    """A repeat of a create between somebody's loading and saving leaves the content readable."""
    await one.store.save(asked("deploy"))
    loaded = await one.store.request(request_id(AGENT.id, "deploy"))
    assert loaded is not None
    with pytest.raises(VersionConflict):
        await one.store.save(asked("deploy"))
    await one.store.save(note(loaded, "for you"))
    assert await notes(one.store, loaded.id) == ["for you"]


async def test_whoever_loses_a_race_sees_the_winner(one: Replica) -> None:
    """A conflict is told once what it conflicts with is committed, so loading again is never too early."""
    id = request_id(AGENT.id, "deploy")

    async def create(number: int) -> str | None:
        with suppress(VersionConflict):
            await one.store.save(asked("deploy", f"message {number}"))
        found = await one.store.request(id)
        return None if found is None else found.asked.message

    assert set(await asyncio.gather(*(create(number) for number in range(50)))) == {"message 0"}


async def test_a_store_that_does_not_remember_the_key_finds_it(one: Replica) -> None:
    """Loaded long ago, or by another store: the key is looked up, not missed."""
    async with replica(one.conninfo) as other:
        await one.store.save(asked("deploy"))
        loaded = await one.store.request(request_id(AGENT.id, "deploy"))
        assert loaded is not None
        await other.store.save(note(loaded, "for you"))
        assert await notes(one.store, loaded.id) == ["for you"]


async def test_saving_nothing_is_no_write(one: Replica) -> None:
    """The position of what is there comes back."""
    position = await one.store.save(asked("deploy"))
    loaded = await one.store.request(request_id(AGENT.id, "deploy"))
    assert loaded is not None
    assert await one.store.save(loaded) == position
    assert await check_log(one.conninfo) == 1


# -- lost connections


async def test_a_connection_lost_before_the_commit_wrote_nothing(one: Replica) -> None:
    """Those who waited are told so, and the writer comes back by itself."""
    async with append_lock_held(one.conninfo):
        writing = asyncio.create_task(one.append(event()))
        await blocked(one.conninfo)
        queued = asyncio.create_task(one.append(event()))
        await until(lambda: one.writer.queued == 1)
        assert await end_sessions(one.conninfo, "handraise writer") == 1
        for task in (writing, queued):
            with pytest.raises(Unavailable, match="nothing was written"):
                await task
    await until(lambda: one.writer.connected)
    assert await one.append(event()) == 1
    assert await check_log(one.conninfo) == 1


async def test_an_idle_writer_notices_at_once_and_the_next_write_succeeds(one: Replica) -> None:
    """Nobody has to fail for it: the connection is renewed before anything is to be written."""
    backend = "SELECT pid FROM pg_stat_activity WHERE application_name = 'handraise writer' AND datname = %s"
    name = conninfo_to_dict(one.conninfo)["dbname"]
    for position in (1, 2, 3):
        old = await query(one.conninfo, backend, name)
        assert await end_sessions(one.conninfo, "handraise writer") == 1

        async def renewed(old: Any = old) -> bool:
            return one.writer.connected and await query(one.conninfo, backend, name) not in ([], old)

        await until(renewed)
        assert await one.append(event()) == position


async def test_while_the_database_is_away_writes_are_refused_and_the_writer_says_so(
    postgres: TestServer, template: str
) -> None:
    """`connected` is False as long as nothing can be written, and True again by itself."""
    conninfo = await postgres.create_database(template)
    async with replica(conninfo) as one:
        assert await one.append(event()) == 1
        async with no_new_connections(conninfo):
            await end_sessions(conninfo, "%")
            await until(lambda: not one.writer.connected and not one.tail.listening)
            with pytest.raises(Unavailable, match="nothing was written"):
                await one.append(event())
        await until(lambda: one.writer.connected and one.tail.listening)
        assert await one.append(event()) == 2
        await until(lambda: [recorded.position for recorded in one.seen] == [1, 2])
    await postgres.drop_database(conninfo)


async def test_sessions_ended_at_any_moment_lose_and_double_nothing(one: Replica) -> None:
    """Writers under load whose backend keeps being terminated: acknowledged is written once, refused is not."""
    acknowledged: dict[bytes, int] = {}
    refused: list[bytes] = []
    stop = False

    async def load() -> None:
        while not stop:
            made = event()
            try:
                acknowledged[made.state] = await one.append(made)
            except Unavailable:
                refused.append(made.state)
                await asyncio.sleep(0.01)

    writing = [asyncio.create_task(load()) for _ in range(16)]
    dice = random.Random(1)
    for _ in range(12):
        goal = len(acknowledged) + dice.randrange(1, 60)
        await until(lambda goal=goal: len(acknowledged) >= goal)
        await end_sessions(one.conninfo, "handraise writer")
    stop = True
    await asyncio.gather(*writing)
    assert {state: position for position, _, _, state in await log(one.conninfo)} == acknowledged
    assert not set(refused) & set(acknowledged)
    assert [recorded.position for recorded in one.committed] == sorted(acknowledged.values())
    await until(lambda: [recorded.position for recorded in one.seen] == sorted(acknowledged.values()))
    await check_log(one.conninfo)


class Cut(Enum):
    """Where the proxy cuts the connection."""

    BEFORE_COMMIT = auto()
    """What holds the COMMIT is never passed on."""
    AFTER_COMMIT = auto()
    """It is passed on and the line is cut in the same moment: who knows whether it got through."""
    BEFORE_ANSWER = auto()
    """The server has committed; its answer is never passed on."""


class Proxy:
    """Stands between a writer and Postgres, understands both, and cuts the line around the next COMMIT when armed."""

    def __init__(self, conninfo: str) -> None:
        parts = conninfo_to_dict(conninfo)
        self._socket = f"{parts['host']}/.s.PGSQL.{parts['port']}"
        self._server: asyncio.Server | None = None
        self._conninfo = conninfo
        self.armed: Cut | None = None
        self.cuts = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """The conninfo that leads through this proxy."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            yield make_conninfo(self._conninfo, host="127.0.0.1", port=port, sslmode="disable", gssencmode="disable")
        finally:
            server.close()

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_unix_connection(self._socket)
        ways = [
            asyncio.create_task(self._pass(client, to_server, Commits())),
            asyncio.create_task(self._pass(server, to_client, Committed())),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for writer in (to_client, to_server):
            writer.transport.abort()

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, watch: Commits | Committed
    ) -> None:
        """Pass bytes on until one side ends, or the line is to be cut."""
        while chunk := await source.read(65536):
            found = watch.in_chunk(chunk)
            if found and isinstance(watch, Commits) and self.armed is Cut.BEFORE_COMMIT:
                return self._cut()
            if found and isinstance(watch, Committed) and self.armed is Cut.BEFORE_ANSWER:
                return self._cut()
            target.write(chunk)
            if found and isinstance(watch, Commits) and self.armed is Cut.AFTER_COMMIT:
                return self._cut()
            await target.drain()
        return None

    def _cut(self) -> None:
        self.armed = None
        self.cuts += 1


class Commits:
    """Finds COMMIT among what a client sends, spelled out or prepared."""

    def __init__(self) -> None:
        self._buffer = b""
        self._started = False
        self._prepared: set[bytes] = set()

    def in_chunk(self, chunk: bytes) -> bool:
        self._buffer += chunk
        found = False
        while (message := self._next()) is not None:
            kind, body = message
            if kind == b"P":
                name, text, _ = body.split(b"\0", 2)
                if text == b"COMMIT":
                    self._prepared.add(name)
            elif kind == b"B":
                found = found or body.split(b"\0", 2)[1] in self._prepared
            elif kind == b"Q":
                found = found or body == b"COMMIT\0"
        return found

    def _next(self) -> tuple[bytes, bytes] | None:
        head = 1 if self._started else 0  # the very first message has no type
        if len(self._buffer) < head + 4:
            return None
        length = head + struct.unpack(">I", self._buffer[head : head + 4])[0]
        if len(self._buffer) < length:
            return None
        kind, body = self._buffer[:head], self._buffer[head + 4 : length]
        self._buffer, self._started = self._buffer[length:], True
        return kind, body


class Committed:
    """Finds the answer to a COMMIT among what the server sends."""

    _TAG = b"C\0\0\0\x0bCOMMIT\0"

    def __init__(self) -> None:
        self._kept = b""

    def in_chunk(self, chunk: bytes) -> bool:
        self._kept = self._kept[-len(self._TAG) + 1 :] + chunk
        return self._TAG in self._kept


@pytest.mark.parametrize("cut", Cut)
async def test_a_line_cut_around_the_commit_is_cleared_up(database: str, cut: Cut) -> None:
    """What was written is acknowledged with its real position, what was not is refused; none is written twice."""
    proxy = Proxy(database)
    acknowledged: dict[bytes, int] = {}
    refused: list[bytes] = []
    async with proxy.running() as through, replica(database) as direct, replica(through) as one:
        for number in range(8):
            await until(lambda: one.writer.connected)
            proxy.armed = cut
            id = uuid4()
            groups = [[event()], [event(id, 1), event(id, 2)], [event(version=7)], [event()]]
            writing = asyncio.create_task(one.appended(*groups))
            made = event()
            acknowledged[made.state] = await direct.append(made)  # another replica goes on writing meanwhile
            results = await writing
            assert proxy.cuts == number + 1
            for group, result in zip(groups, results, strict=True):
                if isinstance(result, int):
                    for back, made in enumerate(reversed(group)):
                        acknowledged[made.state] = result - back
                else:
                    assert isinstance(result, (Unavailable, VersionConflict))
                    refused += [made.state for made in group]
        await until(lambda: one.writer.connected)
        last = event()
        acknowledged[last.state] = await one.append(last)
        assert acknowledged[last.state] == len(acknowledged)
        assert {state: position for position, _, _, state in await log(database)} == acknowledged
        assert not set(refused) & set(acknowledged)
        assert len(refused) >= 8  # the conflicting ones, whatever else
        if cut is Cut.BEFORE_COMMIT:
            assert len(acknowledged) == 8 + 1
        if cut is Cut.BEFORE_ANSWER:
            assert len(acknowledged) == 8 * 5 + 1
        for tail in (one.seen, direct.seen):
            await until(lambda tail=tail: len(tail) == len(acknowledged))
            assert [recorded.position for recorded in tail] == list(range(1, len(acknowledged) + 1))
    await check_log(database)


async def test_a_server_that_stops_while_in_doubt_says_that_it_does_not_know(database: str) -> None:
    """Neither "written" nor "not written" would be honest."""
    proxy = Proxy(database)
    async with AsyncExitStack() as stack:
        through = await stack.enter_async_context(proxy.running())
        one = await stack.enter_async_context(replica(through))
        proxy.armed = Cut.BEFORE_ANSWER
        async with append_lock_held(database):
            writing = asyncio.create_task(one.append(event()))
            await blocked(database)
            await stack.enter_async_context(no_new_connections(database))
        await until(lambda: proxy.cuts == 1 and not one.writer.connected)
        stopping = asyncio.create_task(one.writer.stop())
        with pytest.raises(Unavailable, match="before the database said whether this was written"):
            await writing
        await stopping
    assert await check_log(database) == 1


# -- the tail


async def test_a_notification_that_is_none_of_ours_does_no_harm(one: Replica) -> None:
    """Anybody may NOTIFY; the tail goes on listening."""
    for payload in ("", "nonsense", "-1", "²", "9" * 30):
        await query(one.conninfo, "SELECT pg_notify(%s, %s)", CHANNEL, payload)
    async with replica(one.conninfo) as other:
        await other.append(event())
    await until(lambda: [recorded.position for recorded in one.seen] == [1])
    assert one.tail.listening


async def test_what_comes_while_the_tail_cannot_listen_is_read_when_it_can(one: Replica) -> None:
    """Nothing else has to happen: once it listens again it looks by itself."""
    async with replica(one.conninfo) as other:
        assert await other.append(event()) == 1
        await until(lambda: len(one.seen) == 1)
        async with no_new_connections(one.conninfo):
            await end_sessions(one.conninfo, "handraise tail", limit=1)
            await until(lambda: not one.tail.listening)
            assert await other.append(event()) == 2
        await until(lambda: [recorded.position for recorded in one.seen] == [1, 2])
        await until(lambda: one.tail.listening)


async def test_a_tail_starts_at_the_head(one: Replica) -> None:
    """It hands over what comes after its start, many batches of it, and nothing older."""
    await one.appended(*([event()] for _ in range(10)))
    async with replica(one.conninfo) as late:
        await one.appended(*([event()] for _ in range(2500)))
        await until(lambda: len(late.seen) == 2500)
        assert [recorded.position for recorded in late.seen] == list(range(11, 2511))
        assert [recorded.position for recorded in one.seen] == list(range(1, 2511))


# -- two replicas, any interleaving

STEPS = st.lists(
    st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from("abc")), min_size=1, max_size=8),
    min_size=3,
    max_size=6,
)
"""Rounds of (replica, request) that are all begun at the same moment."""


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(rounds=STEPS, late_from=st.integers(0, 2), cut_in=st.integers(0, 2))
def test_two_replicas_lose_no_update_and_every_tail_sees_everything_once(
    postgres: TestServer, template: str, rounds: list[list[tuple[int, str]]], late_from: int, cut_in: int
) -> None:
    """Whatever both write at the same time: positions without gap, and each change built on the one before it."""
    asyncio.run(_two_replicas(postgres, template, rounds, late_from, cut_in))


async def _two_replicas(
    postgres: TestServer, template: str, rounds: list[list[tuple[int, str]]], late_from: int, cut_in: int
) -> None:
    conninfo = await postgres.create_database(template)
    acknowledged: dict[str, int] = {}
    late: list[Recorded] = []
    late_start = 0

    async def write(store: PostgresEventStore, name: str, text: str) -> None:
        """Create the request, or move it on when it is there; again from the start after losing a race."""
        while True:
            request = await store.request(request_id(AGENT.id, name))
            request = asked(name, text) if request is None else note(request, text)
            try:
                acknowledged[text] = await store.save(request)
                return
            except VersionConflict:
                continue

    async with replica(conninfo) as first, replica(conninfo) as second, AsyncExitStack() as stack:
        both = (first, second)
        for number, steps in enumerate(rounds):
            if number == late_from:
                third = await stack.enter_async_context(replica(conninfo))
                late, late_start = third.seen, third.tail.position
            work = [
                asyncio.create_task(write(both[which].store, name, f"{number}.{index}"))
                for index, (which, name) in enumerate(steps)
            ]
            if number == cut_in:
                await end_sessions(conninfo, "handraise tail", limit=1)  # the oldest: the first replica's
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*work)

        total = sum(len(steps) for steps in rounds)
        assert await check_log(conninfo) == total
        assert sorted(acknowledged.values()) == list(range(1, total + 1))
        for name in {name for steps in rounds for _, name in steps}:
            await _check_history(first.store, request_id(AGENT.id, name), acknowledged)
        ids = [row[:3] for row in await log(conninfo)]
        for seen, start in ((first.seen, 0), (second.seen, 0), (late, late_start)):
            await until(lambda seen=seen, start=start: len(seen) >= total - start)
            assert [(r.position, r.originator_id, r.version) for r in seen] == ids[start:]
        await until(lambda: first.tail.listening and second.tail.listening)  # the one that was cut off is back
    await postgres.drop_database(conninfo)


async def _check_history(store: PostgresEventStore, id: UUID, acknowledged: dict[str, int]) -> None:
    """Each change is there with its content, at the position acknowledged, and starts where the one before ended."""
    holder = None
    for position, recorded in await store.history(id):
        if isinstance(recorded, Request.Requested):
            text = recorded.message
        else:
            assert isinstance(recorded, Request.Reassigned)
            assert recorded.from_user == holder
            text, holder = recorded.note, recorded.to_user
        assert text is not None
        assert acknowledged[text] == position
