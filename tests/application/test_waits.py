"""Waiting: register first, then look, then wait; whoever waits is woken once it may have closed, or at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from application.ports import Directory, EventStore, Schemas
from application.requests import Limits, Requests
from application.waits import Waits
from domain.answers import Question
from domain.assignment import fall_back
from domain.callers import AgentCaller, PersonCaller, Role
from domain.errors import NotAllowed, NotFound
from domain.request import Request, Status, request_id

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
AGENT = AgentCaller(UUID(int=1), key_id=UUID(int=101))
OTHER_AGENT = AgentCaller(UUID(int=2), key_id=UUID(int=102))
STRANGER = PersonCaller(UUID(int=12), Role.MEMBER)
LONG = 60.0
"""Seconds that no test waits: whoever is not woken runs into `PATIENCE`."""
PATIENCE = 10.0

# -- the register


async def test_everybody_who_waits_for_a_request_is_woken_and_nobody_else() -> None:
    """Two wait for one request, a third for another."""
    waits, closing, other = Waits(), uuid4(), uuid4()
    with waits.register(closing) as first, waits.register(closing) as second, waits.register(other) as third:
        assert len(waits) == 3
        waits.closed(closing)
        assert (first.done(), second.done(), third.done()) == (True, True, False)
        waits.closed(closing)  # a second time does no harm
    assert len(waits) == 0


async def test_nothing_is_left_of_a_wait_that_ended() -> None:
    """However it ended: by itself, by an exception, cancelled."""
    waits, id = Waits(), uuid4()
    with waits.register(id):
        pass
    with pytest.raises(ValueError, match="gone wrong"), waits.register(id):
        raise ValueError("gone wrong")
    with waits.register(id) as future:
        future.cancel()
        waits.closed(id)
    assert len(waits) == 0
    waits.closed(id)
    waits.closed(uuid4())


async def test_stop_wakes_everybody_and_whoever_comes_later() -> None:
    """A server that stops lets nobody wait for it."""
    waits = Waits()
    futures = []
    ids = [uuid4() for _ in range(100)]
    for id in ids:
        with waits.register(id) as future:
            futures.append((future, future.done()))
    assert {done for _, done in futures} == {False}
    with waits.register(ids[0]) as before, waits.register(ids[1]) as other:
        waits.stop()
        with waits.register(ids[0]) as after:
            assert (before.done(), other.done(), after.done()) == (True, True, True)


# -- the use case


class Clock:
    """Time as it is told."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> datetime:
        return self.time


class Log:
    """An event store of requests in memory. `on_look` runs in the middle of a look at one."""

    def __init__(self) -> None:
        self.requests: dict[UUID, Request] = {}
        self.looks = 0
        self.on_look: Callable[[], Awaitable[None]] | None = None

    async def request(self, id: UUID) -> Request | None:
        self.looks += 1
        found = self.requests.get(id)
        if self.on_look is not None:
            await self.on_look()
        return found


class Nobody:
    """A directory and a schema checker that nothing here asks."""


class World:
    """The use cases of requests on fakes, and one open request."""

    def __init__(self) -> None:
        self.log, self.waits, self.clock = Log(), Waits(), Clock()
        self.requests = Requests(
            cast(EventStore, self.log),
            cast(Directory, Nobody()),
            cast(Schemas, Nobody()),
            self.waits,
            self.clock,
            limits=Limits(),
            keep_sealed_for=timedelta(hours=1),
            channels=dict,
        )
        self.id = self.asked("deploy")

    def asked(self, unique_id: str) -> UUID:
        id = request_id(AGENT.id, unique_id)
        self.log.requests[id] = self.made(unique_id)
        return id

    def made(self, unique_id: str) -> Request:
        return Request.ask(
            by=AGENT,
            now=NOW,
            unique_id=unique_id,
            question=Question("clarification"),
            sealed=False,
            message="May I?",
            decision=fall_back(None),
            priority=50,
        )

    def cancel(self, unique_id: str = "deploy") -> None:
        """Another replica's doing: the log changes, nobody here was told yet."""
        request = self.made(unique_id)
        request.cancel(by=AGENT, now=NOW)
        self.log.requests[request.id] = request

    def wait(self, seconds: float = LONG, id: UUID | None = None) -> asyncio.Task[Request]:
        return asyncio.create_task(self.requests.wait(id or self.id, AGENT, seconds))

    async def waiting(self, count: int) -> None:
        """Returns once so many wait and have looked."""
        async with asyncio.timeout(PATIENCE):
            while True:
                await asyncio.sleep(0)
                if len(self.waits) >= count and self.log.looks >= count:
                    break
        for _ in range(5):
            await asyncio.sleep(0)


async def ended(wait: asyncio.Task[Request]) -> Request:
    async with asyncio.timeout(PATIENCE):
        return await wait


async def test_a_closed_request_is_returned_at_once() -> None:
    """There is nothing to wait for."""
    world = World()
    world.cancel()
    assert (await ended(world.wait())).status is Status.CANCELLED
    assert (world.log.looks, len(world.waits)) == (1, 0)


async def test_a_wait_ends_when_the_request_closes() -> None:
    """And returns it as it then is."""
    world = World()
    waits = [world.wait() for _ in range(3)]
    await world.waiting(3)
    assert not any(wait.done() for wait in waits)
    world.cancel()
    world.waits.closed(world.id)
    assert {(await ended(wait)).status for wait in waits} == {Status.CANCELLED}
    assert len(world.waits) == 0


async def test_one_that_closes_between_looking_and_waiting_is_not_missed() -> None:
    """The wait was registered before it looked, so word of the closing reaches it, though it saw it open."""
    world = World()

    async def close_meanwhile() -> None:
        world.log.on_look = None
        world.cancel()
        world.waits.closed(world.id)

    world.log.on_look = close_meanwhile
    assert (await ended(world.wait())).status is Status.CANCELLED
    assert world.log.looks == 2


async def test_when_the_time_is_up_the_request_is_returned_as_it_stands() -> None:
    """Still open, unchanged, and nothing is left of the wait."""
    world = World()
    request = await ended(world.wait(0.01))
    assert (request.status, request.pending_events) == (Status.REQUESTED, world.log.requests[world.id].pending_events)
    assert len(world.waits) == 0


@pytest.mark.parametrize("seconds", [0, -1])
async def test_no_time_at_all_is_a_look(seconds: float) -> None:
    """One look, no waiting."""
    world = World()
    assert (await ended(world.wait(seconds))).status is Status.REQUESTED
    assert world.log.looks == 1


async def test_a_caller_that_goes_away_leaves_the_request_open_and_the_others_waiting() -> None:
    """Its place in the register is freed."""
    world = World()
    leaving, staying = world.wait(), world.wait()
    await world.waiting(2)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert (len(world.waits), staying.done()) == (1, False)
    world.cancel()
    world.waits.closed(world.id)
    assert (await ended(staying)).status is Status.CANCELLED


async def test_a_stopping_server_ends_every_wait_with_the_request_as_it_stands() -> None:
    """Now, and for whoever asks while it stops."""
    world = World()
    waits = [world.wait(), world.wait(id=world.asked("other"))]
    await world.waiting(2)
    world.waits.stop()
    assert [(await ended(wait)).status for wait in (*waits, world.wait())] == [Status.REQUESTED] * 3


async def test_who_may_not_read_may_not_wait() -> None:
    """Refused at once, and not registered."""
    world = World()
    for by, refusal in ((STRANGER, NotAllowed), (OTHER_AGENT, NotFound)):
        with pytest.raises(refusal):
            await ended(asyncio.create_task(world.requests.wait(world.id, by, LONG)))
    with pytest.raises(NotFound):
        await ended(world.wait(id=request_id(AGENT.id, "unknown")))
    assert len(world.waits) == 0


async def test_a_unique_id_that_looks_like_an_id_is_waited_for_under_its_real_one() -> None:
    """The agent's own name for its request happens to be a UUID: the wait is for the request that it names."""
    world = World()
    looks_like_an_id = request_id(AGENT.id, "deploy again")
    named = world.asked(str(looks_like_an_id))
    wait = world.wait(id=looks_like_an_id)
    await world.waiting(2)
    world.cancel(str(looks_like_an_id))
    world.waits.closed(named)
    request = await ended(wait)
    assert (request.id, request.status) == (named, Status.CANCELLED)


async def test_waiting_holds_little() -> None:
    """A thousand waits for one request are a thousand futures, not a thousand requests."""
    world = World()
    waits = [world.wait() for _ in range(1000)]
    await world.waiting(1000)
    assert (len(world.waits), world.log.looks) == (1000, 1000)
    world.cancel()
    world.waits.closed(world.id)
    async with asyncio.timeout(PATIENCE):
        results: list[Any] = await asyncio.gather(*waits)
    assert {request.status for request in results} == {Status.CANCELLED}
