"""The projector: each event once, in batches, at once; what it cannot digest keeps no other waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any, ClassVar
from uuid import UUID, uuid4

import psycopg
import pytest
from eventsourcing.utils import clear_topic_cache, register_topic

from domain.callers import SYSTEM
from domain.recorded import RecordedCreation
from domain.request import Request
from interfaces.app import READ_MODELS
from interfaces.postgres.chain import link, read_head
from interfaces.postgres.sealing import SealingMapper
from interfaces.postgres.writer import CHANNEL
from projections.log import Entry, UnknownEvent
from projections.poison import Parked, all_parked, retry_parked
from projections.projector import Projector
from tests.support.read_models import (
    PATIENCE,
    Tally,
    WatchedLog,
    dump,
    log_of,
    prepared,
    rebuild_all,
    rows,
    settled,
    silent,
    started,
    until,
)
from tests.support.service import Service, service

TALLY = "SELECT position, type FROM tally ORDER BY number"


@pytest.fixture
async def other(handraise: Service, database: str) -> AsyncIterator[Service]:
    """A second replica on the same database."""
    async with service(database, handraise.settings.data_dir) as replica:
        yield replica


async def drained(projector: Projector, limit: int = 500) -> int:
    """Project until there is nothing left; how many batches it took."""
    batches = 0
    while await projector.project_once(limit):
        batches += 1
    return batches


async def answered(handraise: Service, **body: Any) -> dict[str, Any]:
    """A request that was answered."""
    asked = await handraise.ask(**body)
    response = await handraise.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})
    assert response.status_code == 200, response.text
    return response.json()


def of(id: str) -> Any:
    """Whether an entry is of this aggregate."""
    return lambda entry: entry.aggregate_id == UUID(id)


# -- exactly once


async def test_two_projectors_project_each_event_once(handraise: Service, database: str) -> None:
    """Whoever holds the lock works; however often both try, each event is applied once and in order."""
    async with prepared(database, Tally()) as pool:
        both = [Projector(pool, log_of(handraise), [Tally()], silent) for _ in range(2)]

        async def write() -> None:
            for number in range(15):
                await answered(handraise, unique_id=f"r-{number}")

        async def project(projector: Projector, writing: asyncio.Task[None]) -> None:
            while not writing.done():
                await projector.project_once(limit=3)
            await drained(projector, limit=3)

        writing = asyncio.create_task(write())
        await asyncio.gather(writing, *(project(projector, writing) for projector in both))
        await drained(both[0])
        head = await handraise.app.store.head()
        assert [position for position, _ in await rows(database, TALLY)] == list(range(1, head + 1))
        assert await rows(database, "SELECT * FROM parked_aggregates") == []


async def test_two_replicas_count_each_request_once(handraise: Service, other: Service, database: str) -> None:
    """With two services at work on one database, no row is there twice and no count is off by one."""
    await asyncio.gather(
        *(
            answered(replica, unique_id=f"r-{number}")
            for number in range(20)
            for replica in [(handraise, other)[number % 2]]
        )
    )
    await asyncio.gather(
        *(
            replica.ask(unique_id=f"open-{number}")
            for number in range(5)
            for replica in [(handraise, other)[number % 2]]
        )
    )
    head = await settled(handraise, other)
    assert await rows(database, "SELECT count(*), max(position) FROM audit") == [(head, head)]
    assert await rows(database, "SELECT status, count(*) FROM request_list GROUP BY status ORDER BY status") == [
        ("Requested", 5),
        ("Responded", 20),
    ]
    assert await rows(
        database, "SELECT status, sum(count)::int FROM dashboard_counts GROUP BY status ORDER BY status"
    ) == [
        ("Requested", 5),
        ("Responded", 20),
    ]
    assert await rows(database, "SELECT sum(count)::int FROM dashboard_answered") == [(20,)]


# -- batches, and when


async def test_events_are_projected_in_batches(handraise: Service, database: str) -> None:
    """A projector that starts late takes many events at once, and moves its position with each batch."""
    for _ in range(5):
        await handraise.ask()
    head = await handraise.app.store.head()
    tally = Tally()
    async with prepared(database, tally) as pool:
        projector = Projector(pool, log_of(handraise), [tally], silent)
        assert await projector.project_once(limit=4)
        assert projector.positions == {"tally": 4}
        assert await rows(database, "SELECT position FROM read_models WHERE name = 'tally'") == [(4,)]
        assert await drained(projector, limit=4) == -(-(head - 4) // 4)
        assert not await projector.project_once()
        assert (projector.positions, sum(tally.batches), max(tally.batches)) == ({"tally": head}, head, 4)


async def test_it_works_with_the_last_connection_there_is(handraise: Service, database: str) -> None:
    """Reading ahead is for when connections are to spare: without one, batches follow each other all the same."""
    for _ in range(5):
        await handraise.ask()
    head = await handraise.app.store.head()
    async with prepared(database, Tally(), size=2) as pool, pool.connection():
        async with asyncio.timeout(4):  # sooner than the pool gives up
            await drained(Projector(pool, log_of(handraise), [Tally()], silent), limit=3)
    assert [position for position, _ in await rows(database, TALLY)] == list(range(1, head + 1))


async def test_it_sleeps_until_the_tail_wakes_it(handraise: Service, database: str) -> None:
    """Word of a new event is what starts work: at once, and nothing is read while nothing happens."""
    log = WatchedLog(log_of(handraise))
    async with prepared(database, Tally()) as pool:
        projector = Projector(pool, log, [Tally()], silent)
        handraise.app.tail.subscribe(lambda recorded: projector.follow_to(recorded[-1].position))
        async with started(projector):
            for _ in range(3):
                asked = await handraise.ask()
                assert await projector.reached("tally", asked["position"], 5)  # far sooner than it would look unasked
            assert not await projector.reached("tally", asked["position"] + 1, 0.2)  # long enough to read if it polled
            idle = log.reads
            assert not await projector.reached("tally", asked["position"] + 1, 0.5)
            assert log.reads == idle
            assert projector.behind == 0


async def test_it_looks_again_after_a_long_silence(handraise: Service, database: str) -> None:
    """What a crash of the database took back, rows and position, is projected again without a new event."""
    await handraise.ask()
    head = await handraise.app.store.head()
    async with (
        prepared(database, Tally()) as pool,
        started(Projector(pool, log_of(handraise), [Tally()], silent, look_again_seconds=0.05)) as projector,
    ):
        projector.follow_to(head)
        assert await projector.reached("tally", head, PATIENCE)
        await rows(database, "BEGIN; TRUNCATE tally; UPDATE read_models SET position = 0 WHERE name = 'tally'; COMMIT")

        async def is_back() -> bool:
            return len(await rows(database, TALLY)) == head

        await until(is_back)


class Late(Tally):
    """A second read model."""

    name: ClassVar[str] = "late"
    tables: ClassVar[tuple[str, ...]] = ("late",)
    ddl: ClassVar[str] = "CREATE TABLE late (position bigint PRIMARY KEY)"

    async def apply(self, connection: psycopg.AsyncConnection, entries: Sequence[Entry]) -> None:
        for entry in entries:
            await connection.execute("INSERT INTO late VALUES (%s)", (entry.position,))


async def test_a_read_model_that_begins_anew_holds_no_other_up(handraise: Service, database: str) -> None:
    """While one catches up from the first event on, the others get what is new as ever."""
    for _ in range(4):
        await handraise.ask()
    async with prepared(database, Tally()) as pool:
        await drained(Projector(pool, log_of(handraise), [Tally()], silent))
        async with prepared(database, Late()):
            projector = Projector(pool, log_of(handraise), [Tally(), Late()], silent)
            asked = await handraise.ask()
            await projector.project_once(limit=2)
            assert projector.positions == {"tally": asked["position"], "late": 2}
            await drained(projector, limit=2)
            everything = [(position,) for position in range(1, asked["position"] + 1)]
            assert await rows(database, "SELECT position FROM late ORDER BY 1") == everything
            assert await rows(database, "SELECT position FROM tally ORDER BY 1") == everything


# -- waiting for a position


async def test_reached_waits_and_gives_up(handraise: Service, database: str) -> None:
    """It returns as soon as the read model is there, and says so when the time is up first."""
    async with prepared(database, Tally()) as pool:
        projector = Projector(pool, log_of(handraise), [Tally()], silent)
        head = await handraise.app.store.head()
        assert not await projector.reached("tally", head, 0.05)
        waiting = [asyncio.create_task(projector.reached("tally", head, PATIENCE)) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        await drained(projector)
        assert await asyncio.gather(*waiting) == [True, True, True]
        assert await projector.reached("tally", head, 0)


async def test_the_progress_of_another_replica_is_seen(handraise: Service, database: str) -> None:
    """While somebody else holds the locks and does the work, this one knows how far it has come."""
    asked = await handraise.ask()
    async with prepared(database, Tally()) as pool, pool.connection() as elsewhere:
        async with elsewhere.transaction():
            await elsewhere.execute("SELECT FROM read_models WHERE name = 'tally' FOR UPDATE")
            projector = Projector(pool, log_of(handraise), [Tally()], silent)
            async with started(projector):
                projector.follow_to(asked["position"])
                waiting = asyncio.create_task(projector.reached("tally", asked["position"], PATIENCE))
                assert not await projector.reached("tally", 1, 0.1)
                assert projector.behind == asked["position"]
                async with prepared(database) as another:
                    busy = Projector(another, log_of(handraise), [Tally()], silent)
                    assert not await busy.project_once()
                await elsewhere.execute(
                    "UPDATE read_models SET position = %s WHERE name = 'tally'", (asked["position"],)
                )
                await elsewhere.execute("COMMIT")
                assert await waiting
                assert projector.behind == 0
                await elsewhere.execute("BEGIN")
        assert await rows(database, TALLY) == []


# -- poison


async def test_poison_parks_its_aggregate_and_nothing_else(handraise: Service, database: str) -> None:
    """The aggregate stops where it was, with all its later events; others go on; it is reported without content."""
    before = await handraise.app.store.head()
    bad, good = await handraise.ask(unique_id="bad"), await handraise.ask(unique_id="good")
    for asked in (bad, good):
        await handraise.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})
    tally, told = Tally(), []
    tally.poison = lambda entry: entry.aggregate_id == UUID(bad["id"]) and isinstance(entry.event, Request.Responded)
    async with prepared(database, tally) as pool:
        projector = Projector(pool, log_of(handraise), [tally], lambda *report: told.append(report))
        await drained(projector)
        await handraise.admin.post(f"/api/requests/{bad['id']}/erase")
        await handraise.admin.post(f"/api/requests/{good['id']}/erase")
        await drained(projector)
        assert [row for row in await rows(database, TALLY) if row[0] > before] == [
            (before + 1, "Requested"),
            (before + 2, "Requested"),
            (before + 4, "Responded"),
            (before + 6, "ContentErased"),
        ]
        parked = Parked(
            "tally", UUID(bad["id"]), before + 3, f"ValueError: cannot digest {before + 3}: the message was secret"
        )
        async with pool.connection() as connection:
            assert await all_parked(connection) == [parked]
        details = {"read_model": "tally", "aggregate_id": bad["id"], "position": before + 3, "error": "ValueError"}
        assert told == [("aggregate parked", details)]
        assert projector.positions == {"tally": before + 6}


async def test_a_retry_applies_what_waited_in_order(handraise: Service, database: str) -> None:
    """While the cause is there it stays parked; afterwards its events follow one by one, and new ones as ever."""
    before = await handraise.app.store.head()
    bad = await answered(handraise)
    tally = Tally()
    tally.poison = of(bad["id"])
    async with prepared(database, tally) as pool:
        log = log_of(handraise)
        projector = Projector(pool, log, [tally], silent)
        await drained(projector)
        await handraise.admin.post(f"/api/requests/{bad['id']}/erase")
        good = await handraise.ask()
        await drained(projector)
        async with pool.connection() as connection:
            error = f"ValueError: cannot digest {before + 1}: the message was secret"
            left = [Parked("tally", UUID(bad["id"]), before + 1, error)]
            assert await retry_parked(connection, log, [tally]) == (0, left)
            assert await all_parked(connection) == left
            assert (await rows(database, TALLY))[before:] == [(good["position"], "Requested")]
            tally.poison = lambda entry: False
            assert await retry_parked(connection, log, [tally]) == (1, [])
            assert await all_parked(connection) == []
            assert await retry_parked(connection, log, [tally]) == (0, [])
        again = await handraise.admin.post(f"/api/requests/{good['id']}/cancel")
        await drained(projector)
        assert (await rows(database, TALLY))[before:] == [
            (good["position"], "Requested"),
            (before + 1, "Requested"),
            (before + 2, "Responded"),
            (before + 3, "ContentErased"),
            (again.json()["position"], "Cancelled"),
        ]


async def test_a_retry_that_fails_half_way_changes_nothing(handraise: Service, database: str) -> None:
    """Of an aggregate's waiting events all are applied, or none."""
    before = await handraise.app.store.head()
    bad = await answered(handraise)
    tally = Tally()
    tally.poison = of(bad["id"])
    async with prepared(database, tally) as pool:
        log = log_of(handraise)
        await drained(Projector(pool, log, [tally], silent))
        tally.poison = lambda entry: isinstance(entry.event, Request.Responded)
        async with pool.connection() as connection:
            error = f"ValueError: cannot digest {before + 2}: the message was secret"
            left = [Parked("tally", UUID(bad["id"]), before + 1, error)]
            assert await retry_parked(connection, log, [tally]) == (0, left)
        assert len(await rows(database, TALLY)) == before


class TooMuch(Tally):
    """A read model whose statement is more than the database can do, for what is poison."""

    async def apply(self, connection: psycopg.AsyncConnection, entries: Sequence[Entry]) -> None:
        if any(self.poison(entry) for entry in entries):
            await connection.execute(
                "SELECT to_tsvector(string_agg(n::text, ' ')) FROM generate_series(1000000, 1300000) AS n"
            )
        poison, self.poison = self.poison, lambda entry: False
        try:
            await super().apply(connection, entries)
        finally:
            self.poison = poison


async def test_too_much_of_something_is_the_events_fault(handraise: Service, database: str) -> None:
    """A limit of the database that an event exceeds parks its aggregate: trying again would never end."""
    bad = await handraise.ask()
    model = TooMuch()
    model.poison = of(bad["id"])
    async with prepared(database, model) as pool:
        await drained(Projector(pool, log_of(handraise), [model], silent))
        async with pool.connection() as connection:
            (parked,) = await all_parked(connection)
    assert (parked.aggregate_id, parked.error.partition(":")[0]) == (UUID(bad["id"]), "ProgramLimitExceeded")
    assert len(await rows(database, TALLY)) == bad["position"] - 1


# -- what cannot be read


DAMAGE = {
    "content": (
        "UPDATE handraise_events SET state = set_byte(state, length(state) - 1, get_byte(state, length(state) - 1) # 1)"
        " WHERE originator_id = %s AND topic = 'handraise.Request.Requested'",
        "InvalidTag",
    ),
    "facts": (
        "UPDATE handraise_events SET state = '\\x7b'::bytea WHERE originator_id = %s"
        " AND topic = 'handraise.Request.Requested'",
        "JSONDecodeError",
    ),
    "key": (
        "UPDATE data_keys SET wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1) WHERE aggregate_id = %s",
        "WrongMasterKey",
    ),
    "no key": ("UPDATE data_keys SET wrapped = '\\x' WHERE aggregate_id = %s", ""),
}


@pytest.mark.parametrize("damage", DAMAGE)
async def test_an_event_that_cannot_be_read_parks_its_aggregate(handraise: Service, database: str, damage: str) -> None:
    """Whatever is damaged, its state or its key: only this aggregate stops, until a retry after the repair."""
    bad, good = await answered(handraise, unique_id="bad"), await answered(handraise, unique_id="good")
    head = await settled(handraise)
    live = await dump(database)
    await rows(
        database,
        "CREATE TABLE kept_events AS SELECT * FROM handraise_events; CREATE TABLE kept_keys AS SELECT * FROM data_keys",
    )
    statement, error = DAMAGE[damage]
    await rows(database, statement, bad["id"])
    await rebuild_all(database, log_of(handraise))
    parked = await rows(database, "SELECT read_model, aggregate_id::text, position, error FROM parked_aggregates")
    assert [(name, id, position) for name, id, position, _ in sorted(parked)] == [
        (model, bad["id"], bad["position"] - 1) for model in ("audit", "dashboard", "request_list")
    ]
    assert all(error in row[3] for row in parked)
    assert await rows(database, "SELECT unique_id, status FROM request_list") == [("good", "Responded")]
    assert (await handraise.admin.get(f"/api/requests/{good['id']}")).status_code == 200

    await rows(
        database,
        "UPDATE handraise_events e SET state = k.state FROM kept_events k WHERE k.notification_id = e.notification_id",
    )
    await rows(
        database, "UPDATE data_keys d SET wrapped = k.wrapped FROM kept_keys k WHERE k.aggregate_id = d.aggregate_id"
    )
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        assert await retry_parked(connection, log_of(handraise), READ_MODELS) == (3, [])
    assert await dump(database) == live
    assert await rows(database, "SELECT DISTINCT position FROM read_models") == [(head,)]


# -- what only a newer server knows


class Foretold(RecordedCreation):
    """An event of a server to come."""

    omen: str

    def mutate(self, aggregate: Any) -> Any:
        return aggregate


async def append(database: str, topic: str, **facts: Any) -> int:
    """Append an event the way a newer server would; its position."""
    async with await psycopg.AsyncConnection.connect(database) as connection:
        head = await read_head(connection)
        id, position = uuid4(), head.position + 1
        state = SealingMapper().transcoder.encode({"actor": SYSTEM, "omen": "rain"} | facts)
        await connection.execute(
            "INSERT INTO handraise_events VALUES (%s, 1, %s, %s, %s)", (id, topic, state, position)
        )
        await connection.execute(
            "INSERT INTO event_chain VALUES (%s, %s)", (position, link(head.hash, position, id, 1, topic, state))
        )
        await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, str(position)))
        return position


@pytest.fixture
def topics() -> Any:
    """Topics may be registered; they are forgotten afterwards."""
    from eventsourcing import utils

    kept = dict(utils._topic_cache), dict(utils._type_cache)
    yield register_topic
    clear_topic_cache()
    utils._topic_cache.update(kept[0])
    utils._type_cache.update(kept[1])


async def test_an_unknown_event_stops_the_projector_until_it_is_known(
    handraise: Service, database: str, topics: Any
) -> None:
    """Not ready, nothing skipped, the rest goes on working; with the class there it goes on by itself."""
    await handraise.ask(unique_id="before")
    head = await settled(handraise)
    live = await dump(database)
    projector = handraise.app.projector
    unknown = await append(database, "handraise.Foretold.Seen", timestamp=datetime.now(UTC))

    async def has_failed() -> bool:
        return projector.failure is not None

    await until(has_failed)
    assert projector.failure == (
        f"the event at position {unknown} (handraise.Foretold.Seen) is not known to this server: "
        "a newer one wrote it, upgrade this one"
    )
    later = await handraise.ask(unique_id="later")
    ready = await handraise.nobody.get("/readyz")
    assert (ready.status_code, ready.json()["checks"]) == (503, {"writer": True, "tail": True, "projector": False})
    assert (await handraise.agent.get("/api/requests/later")).status_code == 200
    assert not await projector.reached("audit", unknown, 0.2)
    assert await dump(database) == live
    assert await rows(database, "SELECT DISTINCT position FROM read_models") == [(head,)]
    assert await rows(database, "SELECT * FROM parked_aggregates") == []
    assert projector.behind == 2

    topics("handraise.Foretold.Seen", Foretold)
    await settled(handraise)
    assert await rows(database, "SELECT position, type FROM audit WHERE position > %s ORDER BY position", head) == [
        (unknown, "Foretold"),
        (later["position"], "Requested"),
    ]

    async def is_ready() -> bool:
        return (await handraise.nobody.get("/readyz")).status_code == 200

    await until(is_ready)


async def test_a_newer_version_of_an_event_stops_the_projector(
    handraise: Service, database: str, topics: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class that has moved on elsewhere is as good as unknown; nothing is skipped until this server knows it too."""
    topics("handraise.Foretold.Seen", Foretold)
    old = await append(database, "handraise.Foretold.Seen", timestamp=datetime.now(UTC))
    new = await append(database, "handraise.Foretold.Seen", timestamp=datetime.now(UTC), class_version=2)
    async with prepared(database, Tally()) as pool:
        projector = Projector(pool, log_of(handraise), [Tally()], silent)
        assert await projector.project_once()  # what stands before it
        for _ in range(2):
            with pytest.raises(UnknownEvent, match=f"position {new} "):
                await projector.project_once()
        assert projector.positions == {"tally": old}
        monkeypatch.setattr(Foretold, "class_version", 2, raising=False)
        monkeypatch.setattr(Foretold, "upcast_v1_v2", staticmethod(lambda state: None), raising=False)
        await drained(projector)
        assert (await rows(database, TALLY))[-2:] == [(old, "Foretold"), (new, "Foretold")]
        assert await rows(database, "SELECT * FROM parked_aggregates") == []


async def test_tables_of_another_version_are_left_alone(handraise: Service, database: str) -> None:
    """A server that another has overtaken does not write into tables that mean something else by now."""
    async with prepared(database, Tally()) as pool:
        projector = Projector(pool, log_of(handraise), [Tally()], silent)
        await rows(database, "UPDATE read_models SET version = 2 WHERE name = 'tally'")
        with pytest.raises(UnknownEvent, match="the tables of tally are of version 2, this server knows 1"):
            await projector.project_once()
        assert await rows(database, TALLY) == []


# -- a lost database


class Slow(Tally):
    """A read model that can be held in the middle of its work."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.go_on = asyncio.Event(), asyncio.Event()

    async def apply(self, connection: psycopg.AsyncConnection, entries: Sequence[Entry]) -> None:
        await super().apply(connection, entries)
        self.began.set()
        await self.go_on.wait()


async def test_a_connection_lost_in_the_middle_loses_nothing(handraise: Service, database: str) -> None:
    """It is no event's fault: nothing is parked, and with the database back all goes on, each event once.

    However many connections died, one pause is enough: they are replaced together.
    """
    asked = await handraise.ask()
    model = Slow()
    told: list[str] = []
    async with prepared(database, model, size=8) as pool:
        async with AsyncExitStack() as stack:
            for _ in range(8):  # all there are
                await stack.enter_async_context(pool.connection())
        projector = Projector(pool, log_of(handraise), [model], lambda what, details: told.append(what))
        async with started(projector):
            projector.follow_to(asked["position"])
            await asyncio.wait_for(model.began.wait(), PATIENCE)
            await rows(
                database,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'handraise' AND datname = current_database()",
            )
            model.go_on.set()
            assert await projector.reached("tally", asked["position"], PATIENCE)
        assert told == ["projector failed"]
        assert projector.failure is None
    assert [position for position, _ in await rows(database, TALLY)] == list(range(1, asked["position"] + 1))
    assert await rows(database, "SELECT * FROM parked_aggregates") == []


async def test_trouble_of_the_database_is_not_poison(handraise: Service, database: str) -> None:
    """A deadlock, a full disk or a lost server is tried again; the projector says meanwhile that it has failed."""
    asked = await handraise.ask()
    model = Tally()
    troubles = [psycopg.errors.DeadlockDetected("deadlock"), psycopg.errors.DiskFull("no space")]
    failures: list[str | None] = []

    def poison(entry: Entry) -> bool:
        if troubles:
            raise troubles.pop()
        return False

    model.poison = poison
    async with prepared(database, model) as pool:
        projector = Projector(pool, log_of(handraise), [model], lambda *_: failures.append(projector.failure))
        async with started(projector):
            projector.follow_to(asked["position"])
            assert await projector.reached("tally", asked["position"], PATIENCE)
    assert failures == ["DiskFull", "DeadlockDetected"]
    assert projector.failure is None
    assert len(await rows(database, TALLY)) == asked["position"]
