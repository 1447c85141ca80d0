"""The hub and its subscriptions, and the route around them, without database and socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request as HttpRequest
from starlette.types import Message

from application.ports import Directory
from domain.answers import Question
from domain.assignment import fall_back
from domain.audience import Audience
from domain.callers import AgentCaller, Caller, PersonCaller, Role
from domain.errors import Unavailable
from domain.recorded import RecordedEvent
from domain.request import Request
from interfaces.sse.frames import Frame, resync
from interfaces.sse.hub import QUEUED_FRAMES, Hub, Subscription
from interfaces.sse.stream import stream_routes
from tests.support.sse import eventually

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
AGENT = AgentCaller(uuid4(), uuid4())
ADMIN = PersonCaller(uuid4(), Role.ADMINISTRATOR)
ALICE = PersonCaller(uuid4(), Role.MEMBER)


class FakeFacts:
    """A log in memory. `gate`, while it is cleared, holds every answer back; `down` makes it fail."""

    def __init__(self) -> None:
        self.log: list[RecordedEvent] = []
        self.reads: list[tuple[int, int | None]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.down = False

    def ask(self, run_user: UUID | None = None) -> int:
        """One more request; its position."""
        request = Request.ask(
            by=AGENT,
            now=NOW,
            unique_id=f"request {len(self.log) + 1}",
            question=Question("clarification", None, None),
            sealed=False,
            message="m",
            decision=fall_back(run_user),
            priority=50,
            run_user=run_user,
        )
        self.log += cast("Sequence[RecordedEvent]", request.collect_events())
        return len(self.log)

    async def of_requests(
        self, after: int, limit: int, upto: int | None = None
    ) -> tuple[Mapping[UUID, Sequence[tuple[int, RecordedEvent]]], int]:
        self.reads.append((after, upto))
        last = min(len(self.log) if upto is None else upto, after + limit)
        found = {self.log[n].originator_id: [(n + 1, self.log[n])] for n in range(after, last)}
        await self.gate.wait()
        if self.down:
            raise Unavailable("no database")
        return cast("Any", found), last


class FakeDirectory:
    """Nobody has a readable id."""

    async def readable_ids(self, ids: Iterable[UUID]) -> dict[UUID, str]:
        return {}


class Key:
    """A key that can be revoked, speak for another, or not be looked up just now."""

    def __init__(self, caller: Caller | None = ADMIN) -> None:
        self.caller = caller
        self.asked = 0
        self.down = False

    async def __call__(self) -> Caller | None:
        self.asked += 1
        if self.down:
            raise Unavailable("no database")
        return self.caller


@pytest.fixture
def facts() -> FakeFacts:
    return FakeFacts()


@pytest.fixture
async def hub(facts: FakeFacts) -> AsyncIterator[Hub]:
    """A started hub at position 0."""
    made = Hub(facts, cast("Directory", FakeDirectory()))
    await made.start(0)
    yield made
    await made.stop()


def frame(position: int, people: Iterable[UUID] = ()) -> Frame:
    return Frame(position, b"frame %d\n" % position, None, Audience(AGENT.id, None, frozenset(people)))


async def ids(subscription: Subscription, seconds: float = 10) -> list[str]:
    """What waits, once something does: the type and position of each."""
    await subscription.wait(seconds)
    return shown(subscription.take())


def shown(text: bytes) -> list[str]:
    """Type and position of each event in a stream's text; `:` for a comment."""
    found: list[str] = []
    for block in text.decode().split("\n\n")[:-1]:
        if block.startswith(":"):
            found.append(":")
        else:
            id, event, _ = block.split("\n")
            found.append(f"{event.removeprefix('event: ')} {id.removeprefix('id: ')}")
    return found


# -- one subscription


async def test_what_waits_is_taken_together_and_once() -> None:
    """Frames are taken in order, all that wait at a time; then there is nothing, and waiting times out."""
    subscription = Subscription(ADMIN, Key(), 0)
    subscription.push(frame(1))
    subscription.push(frame(2))
    await subscription.wait(1)
    assert (subscription.take(), subscription.take()) == (b"frame 1\nframe 2\n", b"")
    with pytest.raises(TimeoutError):
        await subscription.wait(0.01)
    assert subscription.position == 2


async def test_no_more_than_512_frames_wait() -> None:
    """One more than that: all that waits is replaced by `resync` at that position, and new frames wait after it."""
    subscription = Subscription(ADMIN, Key(), 0)
    for position in range(1, QUEUED_FRAMES + 1):
        subscription.push(frame(position))
    assert subscription.take().count(b"\n") == QUEUED_FRAMES == 512
    for position in range(QUEUED_FRAMES + 1, 2 * QUEUED_FRAMES + 2):
        subscription.push(frame(position))
    assert (subscription.position, subscription.restarted) == (1025, True)
    subscription.push(frame(1026))
    assert subscription.take() == resync(1025) + b"frame 1026\n"
    assert not subscription.restarted


async def test_the_longer_a_client_sleeps_the_less_is_the_same() -> None:
    """However much happens, never more than 512 frames wait; the last `resync` is the only one."""
    subscription = Subscription(ADMIN, Key(), 0)
    for position in range(1, 5001):
        subscription.push(frame(position))
    text = subscription.take()
    assert text.startswith(b"id: ")
    assert text.count(b"event: resync") == 1
    assert text.count(b"frame ") <= QUEUED_FRAMES


async def test_a_closed_stream_still_sends_what_waits_but_takes_nothing_more() -> None:
    """At the end of the server what waits goes out; what comes later is for the next connection."""
    subscription = Subscription(ADMIN, Key(), 0)
    subscription.push(frame(1))
    subscription.close()
    subscription.push(frame(2))
    await subscription.wait(1)
    assert subscription.take() == b"frame 1\n"
    await subscription.wait(1)  # at once, every time
    assert (subscription.take(), subscription.closed) == (b"", True)


async def test_a_stream_closed_at_once_sends_nothing_any_more() -> None:
    """Whoever lost the right to see has lost it for what waits too."""
    subscription = Subscription(ADMIN, Key(), 0)
    subscription.push(frame(1))
    subscription.close(at_once=True)
    subscription.push(frame(2))
    await subscription.wait(1)
    assert subscription.take() == b""


# -- the hub


async def test_while_nobody_listens_nothing_is_read(hub: Hub, facts: FakeFacts) -> None:
    """Events pass by; whoever comes then begins with the present, and one read serves everybody."""
    for _ in range(3):
        hub.follow_to(facts.ask())
    assert (hub.position, facts.reads) == (3, [])
    first, second = hub.subscribe(ADMIN, Key()), hub.subscribe(ADMIN, Key())
    hub.follow_to(facts.ask())
    assert [await ids(first), await ids(second)] == [["Requested 4"]] * 2
    assert facts.reads == [(3, None)]
    hub.unsubscribe(first)
    hub.unsubscribe(second)
    hub.follow_to(facts.ask())
    await asyncio.sleep(0)
    assert (len(hub), hub.position, facts.reads) == (0, 5, [(3, None)])


async def test_only_later_positions_are_pushed(hub: Hub, facts: FakeFacts) -> None:
    """A client that is ahead of this replica gets only what it has not seen; one behind gets nothing of the past."""
    hub.follow_to(facts.ask())
    ahead, behind = hub.subscribe(ADMIN, Key(), after=3), hub.subscribe(ADMIN, Key(), after=0)
    assert (ahead.position, behind.position) == (3, 1)
    for _ in range(4):
        facts.ask()
    hub.follow_to(5)
    assert await ids(ahead) == ["Requested 4", "Requested 5"]
    assert await ids(behind) == [f"Requested {position}" for position in (2, 3, 4, 5)]


async def test_frames_go_to_those_who_may_see_them(hub: Hub, facts: FakeFacts) -> None:
    """Each subscription gets the frames of its caller."""
    everybody = {caller: hub.subscribe(caller, Key(caller)) for caller in (ADMIN, ALICE, AGENT)}
    facts.ask()
    hub.follow_to(facts.ask(run_user=ALICE.id))
    assert [await ids(subscription) for subscription in everybody.values()] == [
        ["Requested 1", "Requested 2"],
        ["Requested 2"],
        ["Requested 1", "Requested 2"],
    ]


async def test_who_comes_while_a_batch_is_read_misses_nothing(hub: Hub, facts: FakeFacts) -> None:
    """A subscription made between the read and its frames gets the frames too, but none from before it."""
    facts.gate.clear()
    first = hub.subscribe(ADMIN, Key())
    hub.follow_to(facts.ask())
    await eventually(lambda: len(facts.reads) == 1, "the read began")
    second = hub.subscribe(ADMIN, Key(), after=hub.position)
    hub.unsubscribe(first)
    facts.gate.set()
    assert await ids(second) == ["Requested 1"]

    facts.gate.clear()
    hub.follow_to(facts.ask())
    await eventually(lambda: len(facts.reads) == 2, "the read began")
    hub.unsubscribe(second)
    hub.follow_to(facts.ask())  # nobody listens: passed by
    third = hub.subscribe(ADMIN, Key())
    facts.gate.set()
    hub.follow_to(facts.ask())
    assert await ids(third) == ["Requested 4"]


async def test_a_lost_database_delays_frames_but_loses_none(hub: Hub, facts: FakeFacts) -> None:
    """Reading fails for a while; then everything comes, once."""
    subscription = hub.subscribe(ADMIN, Key())
    facts.down = True
    hub.follow_to(facts.ask())
    await eventually(lambda: len(facts.reads) >= 1, "reading was tried")
    hub.follow_to(facts.ask())
    facts.down = False
    assert await ids(subscription) == ["Requested 1", "Requested 2"]


async def test_who_is_nobody_any_more_gets_nothing_that_waits(hub: Hub, facts: FakeFacts) -> None:
    """After a change of the directory a revoked key's stream ends at once, empty; the others stay as they are."""
    key = Key()
    doomed, other = hub.subscribe(ADMIN, key), hub.subscribe(ADMIN, Key())
    hub.follow_to(facts.ask())
    await other.wait(10)
    key.caller = None
    hub.directory_changed()
    await eventually(lambda: doomed.closed, "the stream is closed")
    assert (doomed.take(), shown(other.take()), other.closed) == (b"", ["Requested 1"], False)


async def test_who_changed_reads_afresh_and_sees_by_the_new_rights(hub: Hub, facts: FakeFacts) -> None:
    """What waits under the old rights is dropped for `resync`; later frames are those of the new rights."""
    key = Key()
    subscription = hub.subscribe(ADMIN, key)
    hub.follow_to(facts.ask())
    await subscription.wait(10)
    key.caller = ALICE
    hub.directory_changed()
    await eventually(lambda: subscription.restarted, "the rights have changed")
    facts.ask()
    hub.follow_to(facts.ask(run_user=ALICE.id))
    await eventually(lambda: hub.position == 3, "the frames are out")
    assert shown(subscription.take()) == ["resync 1", "Requested 3"]


async def test_reading_afresh_never_leads_back(hub: Hub) -> None:
    """A client that is ahead of this replica is not sent back to where the replica is."""
    key = Key()
    subscription = hub.subscribe(ADMIN, key, after=7)
    key.caller = ALICE
    await hub.check(subscription)
    assert await ids(subscription) == ["resync 7"]


async def test_callers_are_asked_for_again_when_asking_failed(hub: Hub) -> None:
    """A database that is away when the directory changes does not save a revoked key's stream."""
    key = Key(None)
    key.down = True
    subscription = hub.subscribe(ADMIN, key)
    hub.directory_changed()
    await eventually(lambda: key.asked > 0, "it was asked for")
    assert not subscription.closed
    key.down = False
    await eventually(lambda: subscription.closed, "the stream is closed")


async def test_a_stopped_hub_ends_all_streams_the_new_ones_too(hub: Hub) -> None:
    """Whoever comes while the server stops is sent away at once."""
    before = hub.subscribe(ADMIN, Key())
    hub.close_all()
    assert before.closed
    assert hub.subscribe(ADMIN, Key()).closed


async def test_a_replay_ends_when_the_rest_is_not_for_its_client(hub: Hub, facts: FakeFacts) -> None:
    """1,200 events are replayed in three reads; a stream that is closed or restarted meanwhile gets no more of them."""
    for _ in range(1200):
        facts.ask()

    async def replayed(meanwhile: Callable[[Subscription], object]) -> int:
        subscription, count = hub.subscribe(ADMIN, Key()), 0
        async for text in hub.replay(subscription, 0, 1200):
            count += len(shown(text))
            if count == 500:
                meanwhile(subscription)
        return count

    assert await replayed(lambda _: None) == 1200
    assert await replayed(lambda subscription: subscription.close(at_once=True)) == 500
    assert await replayed(lambda subscription: subscription.restart(1200)) == 500


# -- the route


class FakeClock:
    """A time that only the test moves."""

    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> datetime:
        return self.at


class Connection:
    """The client's end of one call: what was sent, whether it takes more, and whether it is still there."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.ended = False
        self.stuck = False
        self.taking = asyncio.Event()
        self.taking.set()
        self.gone = asyncio.Event()

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self.sent.append(message["body"])
            self.ended = not message["more_body"]
            self.stuck = not self.taking.is_set()
            await self.taking.wait()

    @property
    def shown(self) -> list[str]:
        return shown(b"".join(self.sent))


class Route:
    """`GET /api/stream` of this hub with one key. `while_beginning` happens between authentication and stream."""

    def __init__(self, hub: Hub, facts: FakeFacts) -> None:
        self.key = Key()
        self.clock = FakeClock()
        self.while_beginning: Callable[[], Awaitable[object]] | None = None
        key = self.key

        class Authenticated(APIRoute):
            def get_route_handler(self) -> Callable[[HttpRequest], Any]:
                handle = super().get_route_handler()

                async def handler(request: HttpRequest) -> Any:
                    request.state.caller = key.caller
                    return await handle(request)

                return handler

        async def head() -> int:
            newest = len(facts.log)
            if self.while_beginning is not None:
                await self.while_beginning()
            return newest

        self._app = FastAPI()
        self._app.include_router(
            stream_routes(
                hub=hub,
                clock=self.clock,
                head=head,
                route_class=Authenticated,
                reauthenticate=lambda _: key,
                heartbeat_seconds=0.05,
                refusals={},
            )
        )

    @asynccontextmanager
    async def opened(self, query: str = "") -> AsyncIterator[Connection]:
        connection = Connection()
        scope = {
            "type": "http",
            "asgi": {"spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "path": "/api/stream",
            "query_string": query.encode(),
            "headers": [],
        }
        call = asyncio.create_task(self._app(scope, connection.receive, connection.send))
        try:
            yield connection
        finally:
            connection.gone.set()
            await asyncio.wait_for(call, 10)


@pytest.fixture
def route(hub: Hub, facts: FakeFacts) -> Route:
    return Route(hub, facts)


async def test_a_key_revoked_while_the_stream_begins_has_none(route: Route, hub: Hub) -> None:
    """Authenticated, then revoked, then subscribed: the change went by before anybody could notice, and is noticed."""

    async def revoke() -> None:
        route.key.caller = None
        hub.directory_changed()
        await asyncio.sleep(0.01)

    route.while_beginning = revoke
    async with route.opened("after=0") as connection:
        await eventually(lambda: connection.ended, "the stream ends")
    assert (connection.shown, len(hub)) == ([":"], 0)


async def test_rights_changed_while_the_stream_begins_count(route: Route, hub: Hub, facts: FakeFacts) -> None:
    """The replay is not that of the rights before: the client reads afresh, and goes on with the new ones."""

    async def demote() -> None:
        route.key.caller = ALICE

    facts.ask()
    hub.follow_to(1)
    route.while_beginning = demote
    async with route.opened("after=0") as connection:
        await eventually(lambda: "resync 1" in connection.shown, "it reads afresh")
        facts.ask()
        hub.follow_to(facts.ask(run_user=ALICE.id))
        await eventually(lambda: "Requested 3" in connection.shown, "it goes on")
    assert [block for block in connection.shown if block != ":"] == ["resync 1", "Requested 3"]


async def test_what_happens_while_the_stream_begins_comes_once(route: Route, hub: Hub, facts: FakeFacts) -> None:
    """Events between the look at the head, the replay and the subscription: none is missed, none repeated."""

    async def happen() -> None:
        hub.follow_to(facts.ask())

    for _ in range(2):
        hub.follow_to(facts.ask())
    route.while_beginning = happen
    async with route.opened("after=1") as connection:
        await happen()
        await eventually(lambda: "Requested 4" in connection.shown, "the last has come")
    assert [block for block in connection.shown if block != ":"] == ["Requested 2", "Requested 3", "Requested 4"]


@asynccontextmanager
async def stuck(route: Route, facts: FakeFacts, query: str) -> AsyncIterator[Connection]:
    """A connection that takes the first bytes, but not all of what comes next: of the replay, where there is one."""
    facts.gate.clear()
    reads = len(facts.reads)
    async with route.opened(query) as connection:
        await eventually(lambda: ":" in connection.shown, "it begins")
        if query:
            await eventually(lambda: len(facts.reads) > reads, "the replay begins")
        connection.taking.clear()
        facts.gate.set()
        await eventually(lambda: connection.stuck, "it is sent something")
        yield connection


async def test_a_client_that_leaves_while_it_is_sent_something_is_forgotten(
    route: Route, hub: Hub, facts: FakeFacts
) -> None:
    """Stuck in the middle of being sent something, live or replayed, then gone: nothing of it is left."""
    hub.follow_to(facts.ask())
    for query, last in (("after=0", "Requested 1"), ("", ":")):
        async with stuck(route, facts, query) as connection:
            assert (connection.shown[-1], len(hub)) == (last, 1)
        assert len(hub) == 0


async def test_nothing_is_replayed_to_a_key_that_has_expired_meanwhile(
    route: Route, hub: Hub, facts: FakeFacts
) -> None:
    """A client reads its replay so slowly that its key expires: the rest of it stays here."""
    route.key.caller = PersonCaller(ADMIN.id, Role.ADMINISTRATOR, until=NOW + timedelta(seconds=9))
    for _ in range(1200):
        facts.ask()
    hub.follow_to(1200)
    async with stuck(route, facts, "after=0") as connection:
        route.clock.at += timedelta(seconds=10)
        connection.taking.set()
        await eventually(lambda: connection.ended, "the stream ends")
    assert (connection.shown[-1], len(hub)) == ("Requested 500", 0)


async def test_a_key_revoked_meanwhile_is_replayed_nothing_more(route: Route, hub: Hub, facts: FakeFacts) -> None:
    """A client reads its replay so slowly that its key is revoked: the rest of it, and all that waits, stays here."""
    for _ in range(1200):
        facts.ask()
    hub.follow_to(1200)
    async with stuck(route, facts, "after=0") as connection:
        hub.follow_to(facts.ask())
        await eventually(lambda: hub.position == 1201, "a live event waits")
        route.key.caller = None
        hub.directory_changed()
        await eventually(lambda: route.key.asked == 2, "the change is noticed")
        hub.follow_to(facts.ask())
        await eventually(lambda: hub.position == 1202, "one more event comes")
        connection.taking.set()
        await eventually(lambda: connection.ended, "the stream ends")
    assert (connection.shown[-1], len(hub)) == ("Requested 500", 0)


async def test_a_key_expires_though_events_never_stop(route: Route, hub: Hub, facts: FakeFacts) -> None:
    """The end of the key is the end of the stream, whatever waits to be sent."""
    route.key.caller = PersonCaller(ADMIN.id, Role.ADMINISTRATOR, until=NOW + timedelta(seconds=9))
    async with route.opened() as connection:
        await eventually(lambda: ":" in connection.shown, "it begins")
        hub.follow_to(facts.ask())
        await eventually(lambda: "Requested 1" in connection.shown, "it is live")
        route.clock.at += timedelta(seconds=10)
        hub.follow_to(facts.ask())
        await eventually(lambda: connection.ended, "the stream ends")
    assert "Requested 2" not in connection.shown


async def test_a_database_lost_during_a_replay_ends_the_stream_in_good_order(
    route: Route, hub: Hub, facts: FakeFacts
) -> None:
    """The client comes back and goes on where it was; the server has nothing to complain of."""
    hub.follow_to(facts.ask())
    facts.down = True
    async with route.opened("after=0") as connection:
        await eventually(lambda: connection.ended, "the stream ends")
    assert (connection.shown, len(hub)) == ([":"], 0)
