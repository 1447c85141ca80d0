"""Deadlines are carried out when they come: once, by whichever replica, also what came due while none ran."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString, cast
from uuid import UUID, uuid4

import psycopg
import pytest
from eventsourcing.persistence import MapperDeserialisationError

from application.bulk import all_of
from application.deadlines import Deadlines
from application.departures import Departures
from application.notices import Notices
from application.ports import Directory, DueStep, EventStore, Schemas, VersionConflict
from application.requests import Ask, Limits, Requests
from domain.callers import AgentCaller
from domain.directory import directory_id
from domain.errors import Unavailable
from domain.request import Request
from interfaces.open_requests import OpenRequestsOf
from interfaces.postgres.clock import DATABASE_TIME, DatabaseClock
from interfaces.postgres.writer import Recorded
from interfaces.scheduler import Scheduler
from tests.support.read_models import silent
from tests.support.service import Service, service

PATIENCE = 30.0
AGENT = AgentCaller(directory_id("agent", "default"), key_id=UUID(int=1))
AN_HOUR_AGO: LiteralString = "clock_timestamp() - interval '1 hour'"
"""A database clock by which what is asked now was asked an hour ago."""


async def until(done: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if await done():
                return
            await asyncio.sleep(0.02)


async def query(conninfo: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        cursor = await connection.execute(sql.encode(), values or None)
        return await cursor.fetchall() if cursor.description else []


@asynccontextmanager
async def replicas(database: str, tmp_path: Path, *, an_hour_ago: bool = False) -> AsyncIterator[list[Service]]:
    """Two servers on one database, or a single one that lives an hour ago."""
    sql = AN_HOUR_AGO if an_hour_ago else DATABASE_TIME
    async with service(database, tmp_path / "data", clock=DatabaseClock(sql)) as first:
        if an_hour_ago:
            yield [first]
            return
        async with service(database, tmp_path / "data") as second:
            yield [first, second]


async def expirations(database: str) -> list[tuple[UUID, int]]:
    """(request, version) of every expiration."""
    return await query(
        database,
        "SELECT originator_id, originator_version FROM handraise_events WHERE topic = %s",
        Request.Expired.TOPIC,
    )


async def due_steps(database: str) -> int:
    return (await query(database, "SELECT count(*) FROM due_steps"))[0][0]


async def test_a_request_expires_at_its_time(handraise: Service, database: str) -> None:
    """Not before, and soon after; whoever waits is told, and what is left of it is the fact."""
    created, _ = await handraise.app.requests.ask(Ask("May I?", expires_in=timedelta(seconds=0.3)), AGENT)
    request = await handraise.app.requests.wait(created.id, AGENT, PATIENCE)
    assert request.asked.expires_at is not None
    assert isinstance(request.closing, Request.Expired)
    late = request.closing.timestamp - request.asked.expires_at
    assert timedelta(0) <= late < timedelta(seconds=PATIENCE)
    assert (request.closing.actor, request.answer, request.version) == ("system", None, 2)
    assert await due_steps(database) == 0


async def test_a_nearer_deadline_wakes_the_scheduler(handraise: Service, database: str) -> None:
    """It sleeps towards the one in a day; the one in a moment, asked later, comes first."""
    far, _ = await handraise.app.requests.ask(Ask("May I?", expires_in=timedelta(days=1)), AGENT)
    near, _ = await handraise.app.requests.ask(Ask("May I?", expires_in=timedelta(seconds=0.3)), AGENT)
    assert not (await handraise.app.requests.wait(near.id, AGENT, PATIENCE)).is_open
    assert await expirations(database) == [(near.id, 2)]
    assert (await handraise.app.requests.get(far.id, AGENT)).is_open


async def test_what_came_due_while_no_server_ran_expires_once(database: str, tmp_path: Path) -> None:
    """Two servers start on what one left behind an hour ago: what was answered in time stays answered."""
    async with replicas(database, tmp_path, an_hour_ago=True) as (past,):
        overdue = [await past.ask(expires_in_seconds=300 + number) for number in range(5)]
        answered = await past.ask(expires_in_seconds=300)
        await past.admin.post(f"/api/requests/{answered['id']}/respond", json={"text": "yes"})
        still_open = await past.ask(expires_in_seconds=2 * 3600)
        assert await expirations(database) == []
    async with replicas(database, tmp_path) as both:
        ids = [UUID(request["id"]) for request in overdue]
        waits = [both[number % 2].app.requests.wait(id, AGENT, PATIENCE) for number, id in enumerate(ids)]
        for request in await asyncio.gather(*waits):
            assert isinstance(request.closing, Request.Expired)
        for one in both:
            statuses = {
                (await one.agent.get(f"/api/requests/{request['id']}")).json()["status"]
                for request in (answered, still_open)
            }
            assert statuses == {"Responded", "Requested"}
        assert sorted(await expirations(database)) == sorted((id, 2) for id in ids)
        assert await due_steps(database) == 1


async def test_a_thousand_due_at_once_expire_exactly_once_each(database: str, tmp_path: Path) -> None:
    """With two servers at work on them."""
    async with replicas(database, tmp_path, an_hour_ago=True) as (past,):
        ask = past.app.requests.ask
        asked = await asyncio.gather(*(ask(Ask("May I?", expires_in=timedelta(minutes=5)), AGENT) for _ in range(1000)))
    async with replicas(database, tmp_path) as both:

        async def all_gone() -> bool:
            return await due_steps(database) == 0

        await until(all_gone)
        assert sorted(await expirations(database)) == sorted((request.id, 2) for request, _ in asked)

        async def both_have_seen_it() -> bool:
            return {one.app.tail.position for one in both} == {await both[0].app.store.head()}

        await until(both_have_seen_it)


async def test_one_request_that_cannot_be_read_keeps_no_other_from_its_time(database: str, tmp_path: Path) -> None:
    """Its state is damaged: the others expire, and a sealed answer due in the same moment is shredded."""
    async with replicas(database, tmp_path, an_hour_ago=True) as (past,):
        requests = [await past.ask(expires_in_seconds=300 + number) for number in range(4)]
        sealed = await past.ask(secret=True)
        await past.admin.post(f"/api/requests/{sealed['id']}/respond", json={"text": "012345"})
        await query(database, "UPDATE due_steps SET due_at = due_at - interval '23.5 hours' WHERE step = 'shred'")
        damaged, *others = [UUID(request["id"]) for request in requests]
        await query(database, "UPDATE handraise_events SET state = 'damaged' WHERE originator_id = %s", damaged)
    async with replicas(database, tmp_path):

        async def only_one_left() -> bool:
            return await query(database, "SELECT request_id, step FROM due_steps") == [(damaged, "expire")]

        await until(only_one_left)
        assert sorted(await expirations(database)) == sorted((id, 2) for id in others)
        assert await query(database, "SELECT count(*) FROM sealed_answers") == [(0,)]


async def test_a_sealed_answer_that_nobody_collects_is_shredded(database: str, tmp_path: Path) -> None:
    """Its time is over: the agent is told that it is gone."""
    async with service(database, tmp_path / "data", clock=DatabaseClock(AN_HOUR_AGO), sealed_answer_seconds=60) as past:
        request = await past.ask(secret=True)
        await past.admin.post(f"/api/requests/{request['id']}/respond", json={"text": "012345"})
        assert await query(database, "SELECT count(*) FROM sealed_answers") == [(1,)]
    async with replicas(database, tmp_path) as (one, _):

        async def shredded() -> bool:
            return await query(database, "SELECT count(*) FROM sealed_answers") == [(0,)]

        await until(shredded)
        answer = await one.agent.post(f"/api/requests/{request['id']}/collect", json={"receipt": "my receipt"})
        assert answer.status_code == 410
        assert await due_steps(database) == 0


async def test_an_agent_that_comes_back_after_the_deadline_gets_what_became_of_its_request(
    handraise: Service,
) -> None:
    """The same content with the same deadline, now past, is the same request; other content is a conflict."""
    deadline = datetime.now(UTC) + timedelta(seconds=0.5)
    ask = Ask("May I?", unique_id="deploy", expires_at=deadline)
    created, new = await handraise.app.requests.ask(ask, AGENT)
    assert new
    assert not (await handraise.app.requests.wait(created.id, AGENT, PATIENCE)).is_open
    body = {"message": "May I?", "unique_id": "deploy", "expires_at": deadline.isoformat()}
    again = await handraise.agent.post("/api/requests", json=body)
    assert (again.status_code, again.json()["id"], again.json()["status"]) == (200, str(created.id), "Expired")
    other = await handraise.agent.post("/api/requests", json=body | {"message": "Or this?"})
    assert (other.status_code, "feedback request already exists" in other.json()["detail"]) == (409, True)
    fresh = await handraise.agent.post("/api/requests", json=body | {"unique_id": "fresh"})
    assert [error["path"] for error in fresh.json()["errors"]] == ["expires_at"]
    assert fresh.status_code == 422


class Meddling:
    """The real store, and somebody who is faster than the first save."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self.refusals = 0

    async def request(self, id: UUID) -> Request | None:
        return await self._store.request(id)

    async def save(self, request: Request) -> int:
        if self.refusals == 0:
            other = await self._store.request(request.id)
            assert other is not None
            other.trigger_event(
                Request.AnswerRefused,
                timestamp=other.asked.timestamp,
                actor="system",
                via="web",
                why="not eligible",
                stranger=None,
            )
            await self._store.save(other)
        try:
            return await self._store.save(request)
        except VersionConflict:
            self.refusals += 1
            raise


class Slow:
    """The real store, which takes its time to save and cannot read one of the requests."""

    def __init__(self, store: EventStore, unreadable: UUID) -> None:
        self._store = store
        self._unreadable = unreadable
        self.saved: list[UUID] = []

    async def request(self, id: UUID) -> Request | None:
        if id == self._unreadable:
            raise MapperDeserialisationError("cannot read")
        return await self._store.request(id)

    async def save(self, request: Request) -> int:
        await asyncio.sleep(0.05)
        position = await self._store.save(request)
        self.saved.append(request.id)
        return position


def requests_on(store: Meddling | Slow, handraise: Service) -> Requests:
    return Requests(
        cast(EventStore, store),
        cast(Directory, None),
        cast(Schemas, None),
        handraise.app.waits,
        DatabaseClock(),
        limits=Limits(),
        keep_sealed_for=timedelta(hours=1),
        channels=dict,
    )


async def test_losing_a_race_to_something_that_closes_nothing_is_no_reprieve(handraise: Service) -> None:
    """Somebody was refused an answer in the same moment: the request expires all the same, and now."""
    asked = await handraise.ask(expires_in_seconds=3600)
    store = Meddling(handraise.app.store)
    due = datetime.now(UTC) + timedelta(hours=2)
    await requests_on(store, handraise).expire(UUID(asked["id"]), due)
    history = await handraise.app.store.history(UUID(asked["id"]))
    assert [type(event).__name__ for _, event in history] == ["Requested", "AnswerRefused", "Expired"]
    assert store.refusals == 1


async def test_expiring_many_is_over_when_all_are_done(handraise: Service) -> None:
    """Also where the first of them fails: that is said only once the others have expired."""
    damaged, *others = [UUID((await handraise.ask(expires_in_seconds=3600))["id"]) for _ in range(10)]
    store = Slow(handraise.app.store, damaged)
    due = datetime.now(UTC) + timedelta(hours=2)
    with pytest.raises(MapperDeserialisationError):
        await all_of(requests_on(store, handraise).expire(id, due) for id in [damaged, *others])
    assert sorted(store.saved) == sorted(others)


# -- the scheduler itself


class Steps:
    """Due steps of which nothing is ever due, and a next time that the test decides; or a failure."""

    def __init__(self) -> None:
        self.looks = 0
        self.next: timedelta | None = None
        self.failure: Exception | None = None

    async def lease(self, limit: int) -> tuple[datetime, Sequence[DueStep]]:
        self.looks += 1
        if self.failure is not None:
            raise self.failure
        return datetime.now(UTC), []

    async def next_due(self) -> tuple[datetime, datetime | None]:
        now = datetime.now(UTC)
        return now, None if self.next is None else now + self.next

    async def shred(self, ids: Sequence[UUID]) -> None:
        raise AssertionError("nothing is due")

    async def holds(self, step: DueStep) -> bool:
        raise AssertionError("nothing is due")

    async def done(self, step: DueStep) -> None:
        raise AssertionError("nothing is due")

    async def postpone(self, step: DueStep, until: datetime) -> None:
        raise AssertionError("nothing is due")

    async def looked(self, times: int) -> None:
        """Returns once it was asked so many times."""

        async def so_often() -> bool:
            return self.looks >= times

        await until(so_often)


async def nothing_to_report(step: DueStep, now: datetime) -> bool:
    raise AssertionError("nothing is due")


def deadlines(steps: Steps, handraise: Service) -> Deadlines:
    departures = Departures(handraise.app.store, handraise.app.requests, OpenRequestsOf(handraise.app.reads))
    store, clock = handraise.app.store, DatabaseClock()
    notices = Notices(store, cast(Directory, None), steps, clock, (), silent)
    return Deadlines(steps, handraise.app.requests, departures, notices, silent, nothing_to_report)


@asynccontextmanager
async def scheduler(steps: Steps, handraise: Service) -> AsyncIterator[Scheduler]:
    made = Scheduler(deadlines(steps, handraise), shown=lambda: False)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


def recorded(topic: str) -> list[Recorded]:
    return [Recorded(1, uuid4(), 1, topic)]


async def test_it_sleeps_until_the_next_time_or_word_of_a_new_one(handraise: Service) -> None:
    """No polling: with nothing near it looks once, and again when something is asked or collected."""
    steps = Steps()
    async with scheduler(steps, handraise) as made:
        await steps.looked(1)
        await asyncio.sleep(0.3)
        assert steps.looks == 1
        for count, event in enumerate((Request.Requested, Request.Collected), start=2):
            made.notice(recorded(event.TOPIC))
            await steps.looked(count)
        made.notice(recorded(Request.Responded.TOPIC))
        await asyncio.sleep(0.3)
        assert steps.looks == 3
        steps.next = timedelta(seconds=0.2)
        made.notice(recorded(Request.Requested.TOPIC))
        await steps.looked(5)


@pytest.mark.parametrize("failure", [Unavailable("away"), RuntimeError("broken")])
async def test_it_outlives_failures(handraise: Service, failure: Exception) -> None:
    """The database away, or an error that nobody foresaw: it looks again, and again when woken."""
    steps = Steps()
    steps.failure = failure
    async with scheduler(steps, handraise) as made:
        await steps.looked(1)
        made.notice(recorded(Request.Requested.TOPIC))
        await steps.looked(2)
        steps.failure = None
        made.notice(recorded(Request.Requested.TOPIC))
        await steps.looked(3)


async def test_it_stops_at_once(handraise: Service) -> None:
    """In the middle of a long sleep."""
    steps = Steps()
    async with asyncio.timeout(PATIENCE):
        async with scheduler(steps, handraise):
            await steps.looked(1)
        await Scheduler(deadlines(steps, handraise), shown=lambda: False).stop()
    assert steps.looks == 1
