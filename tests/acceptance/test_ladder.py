"""What happens when nobody reacts: notices, reminders, the ladder, the end; with a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString

import httpx
import pytest
from eventsourcing.persistence import MapperDeserialisationError

from application.notices import Message, PermanentFailure, TemporaryFailure
from tests.support.channels import FakeChannel
from tests.support.read_models import PATIENCE, StoppedClock, rows, settled
from tests.support.service import Service, service

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def start() -> datetime:
    return START


@pytest.fixture
def clock(start: datetime) -> StoppedClock:
    return StoppedClock(start)


@pytest.fixture
def slack() -> FakeChannel:
    return FakeChannel()


@pytest.fixture
async def handraise(database: str, tmp_path: Path, clock: StoppedClock, slack: FakeChannel) -> AsyncIterator[Service]:
    async with service(database, tmp_path / "data", clock=clock, channels=[slack]) as made:
        yield made


async def until(handraise: Service, clock: StoppedClock, at: datetime, *others: Service) -> None:
    """Move the clock to this instant, stopping at everything that is due on the way, and have it carried out.

    With several replicas each looks in its turn.
    """
    replicas = (handraise, *others)
    while True:
        wait = None
        for replica in replicas:
            wait = await carry_out(replica)
        if wait == timedelta(0):
            continue
        if wait is None or clock.at + wait > at:
            break
        clock.at += wait
        replicas = (*replicas[1:], replicas[0])
    clock.at = at
    await carry_out(handraise)


async def carry_out(handraise: Service) -> timedelta | None:
    """Have all that is due now carried out, and what goes outside delivered; how long until more is.

    The service's own scheduler is stopped: what it had just leased would seem to be far away.
    """
    await handraise.app.scheduler.stop()
    wait = await handraise.app.scheduler.deadlines.carry_out()
    await handraise.app.scheduler.deadlines.sent()
    return wait


async def history(handraise: Service, id: str) -> list[tuple[str, str, Any]]:
    """(after how long, event, what is to be said of it) of every event of a request."""
    found: list[tuple[str, str, Any]] = []
    items = (await handraise.admin.get(f"/api/requests/{id}/history")).json()["items"]
    begin = datetime.fromisoformat(items[0]["at"])
    for item in items:
        said: Any = None
        if item["type"] == "Notified":
            said = (item["step"], item["channel"], item["to"], item["delivered"])
        elif item["type"] == "Reassigned":
            said = (item["cause"], item["from"], item["to"], item["assignment"]["level"])
        found.append((str(datetime.fromisoformat(item["at"]) - begin), item["type"], said))
    return found


async def post(client: httpx.AsyncClient, id: str, action: str, **body: Any) -> dict[str, Any]:
    """One action on a request, that must succeed: the request as it then is."""
    response = await client.post(f"/api/requests/{id}/{action}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def inbox(handraise: Service, client: httpx.AsyncClient, scope: str) -> list[str]:
    """What somebody sees there, by what the agent called it, once the read model is there."""
    await settled(handraise)
    response = await client.get("/api/inbox", params={"scope": scope})
    assert response.status_code == 200, response.text
    return [item["unique_id"] for item in response.json()["items"]]


LADDER = {
    "type": "SpecificUser",
    "userID": "alice",
    "remindMinutes": 30,
    "escalation": [
        {"afterMinutes": 120, "to": {"userID": "bob"}},
        {"afterMinutes": 60, "to": {"type": "SharedInbox", "listID": "oncall"}, "notifyOnly": True},
        {"afterMinutes": 240, "to": {"type": "List", "listID": "oncall"}, "repeat": True},
    ],
}

OVER_A_DAY = [
    ("0:00:00", "Requested", None),
    ("0:02:00", "Notified", ("notify", "slack", "alice", True)),
    ("0:30:00", "Notified", ("remind:1", "slack", "alice", True)),
    ("1:00:00", "Notified", ("remind:2", "slack", "alice", True)),
    ("1:30:00", "Notified", ("remind:3", "slack", "alice", True)),
    ("2:00:00", "Reassigned", ("escalated", "alice", "bob", "escalation")),
    ("2:00:00", "Notified", ("escalate:1", "slack", "bob", True)),
    ("3:00:00", "Notified", ("escalate:2", "web", "oncall", True)),
    ("3:00:00", "Notified", ("escalate:2:notify", "slack", "oncall", True)),
    ("7:00:00", "Reassigned", ("escalated", "bob", "carol", "escalation")),
    ("7:00:00", "Notified", ("escalate:3", "slack", "carol", True)),
    ("11:00:00", "Reassigned", ("escalated", "carol", "dave", "escalation")),
    ("11:00:00", "Notified", ("escalate:3:2", "slack", "dave", True)),
    ("15:00:00", "Reassigned", ("escalated", "dave", "carol", "escalation")),
    ("15:00:00", "Notified", ("escalate:3:3", "slack", "carol", True)),
    ("19:00:00", "Reassigned", ("escalated", "carol", "dave", "escalation")),
    ("19:00:00", "Notified", ("escalate:3:4", "slack", "dave", True)),
    ("23:00:00", "Reassigned", ("escalated", "dave", "carol", "escalation")),
    ("23:00:00", "Notified", ("escalate:3:5", "slack", "carol", True)),
    ("1 day, 0:00:00", "Expired", None),
]


async def people(handraise: Service) -> dict[str, httpx.AsyncClient]:
    """Alice and Bob, Carol and Dave who are on call, and Erin, who has nothing to do with it: a client of each."""
    found = {id: await handraise.person(id) for id in ("alice", "bob", "carol", "dave", "erin")}
    for client in found.values():
        await client.patch("/api/me", json={"time_zone": "America/New_York"})
    await handraise.app.directory.add("list", {"name": "On call", "members": ["carol", "dave"]}, by=None, id="oncall")
    return found


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(START, id="an ordinary day"),
        pytest.param(datetime(2026, 3, 8, 1, 30, tzinfo=UTC), id="clocks go forward in New York"),
        pytest.param(datetime(2026, 11, 1, 0, 30, tzinfo=UTC), id="clocks go back in New York"),
        pytest.param(datetime(2028, 2, 28, 20, tzinfo=UTC), id="leap day"),
        pytest.param(datetime(2026, 12, 31, 18, tzinfo=UTC), id="year end"),
    ],
)
async def test_the_whole_ladder_over_a_day(handraise: Service, clock: StoppedClock, start: datetime) -> None:
    """Three steps, the last repeated, reminders in between, and the end: event by event, whatever the calendar does."""
    await people(handraise)
    asked = await handraise.ask(assignment_strategy=LADDER, expires_in_seconds=24 * 3600)
    await until(handraise, clock, start + timedelta(days=2))
    assert await history(handraise, asked["id"]) == OVER_A_DAY
    await settled(handraise)


class OffClock(StoppedClock):
    """A clock of a machine that is wrong by so much, on a database that another clock stands for."""

    def __init__(self, of: StoppedClock, off: timedelta) -> None:
        super().__init__(of.at)
        self._of = of
        self._off = off

    @property
    def sql(self) -> LiteralString:
        return self._of.sql

    def now(self) -> datetime:
        return self._of.at + self._off


async def test_replicas_whose_own_clocks_differ_by_a_minute_agree(database: str, tmp_path: Path) -> None:
    """One is half a minute ahead of the database, the other behind: nothing comes early, late, or twice."""
    clock, slack = StoppedClock(START), FakeChannel()
    ahead, behind = (OffClock(clock, timedelta(seconds=off)) for off in (30, -30))
    async with (
        service(database, tmp_path / "data", clock=ahead, channels=[slack]) as one,
        service(database, tmp_path / "data", clock=behind, channels=[slack]) as other,
    ):
        await people(one)
        asked = await one.ask(assignment_strategy=LADDER, expires_in_seconds=24 * 3600)
        await until(one, clock, START + timedelta(days=2), other)
        found = await history(one, asked["id"])
    assert [(event, said) for _, event, said in found] == [(event, said) for _, event, said in OVER_A_DAY]
    by_the_database = {"Requested", "Reassigned", "Expired"}
    assert [row for row in found if row[1] in by_the_database] == [
        row for row in OVER_A_DAY if row[1] in by_the_database
    ]
    assert len(slack.delivered) == len({delivered.key for delivered in slack.delivered}) == 11


TO_BOB_THEN_CAROL = [
    {"afterMinutes": 60, "to": {"type": "SpecificUser", "userID": "bob"}},
    {"afterMinutes": 30, "to": {"type": "SpecificUser", "userID": "carol"}},
]


async def test_a_claim_and_a_release_restart_the_steps_time(handraise: Service, clock: StoppedClock) -> None:
    """Whoever takes it has as long as the step gives; so has the list when it is back. The next step keeps its own."""
    they = await people(handraise)
    strategy = {"type": "SharedInbox", "listID": "oncall", "escalation": TO_BOB_THEN_CAROL}
    id = (await handraise.ask(assignment_strategy=strategy))["id"]
    await until(handraise, clock, START + timedelta(minutes=50))
    await post(they["carol"], id, "claim")
    await until(handraise, clock, START + timedelta(minutes=100))
    await post(they["carol"], id, "release")
    await until(handraise, clock, START + timedelta(days=1))
    assert await history(handraise, id) == [
        ("0:00:00", "Requested", None),
        ("0:02:00", "Notified", ("notify", "slack", "oncall", True)),
        ("0:50:00", "Reassigned", ("claimed", "oncall", "carol", "command")),
        ("1:40:00", "Reassigned", ("released", "carol", "oncall", "command")),
        ("2:40:00", "Reassigned", ("escalated", "oncall", "bob", "escalation")),
        ("2:40:00", "Notified", ("escalate:1", "slack", "bob", True)),
        ("3:10:00", "Reassigned", ("escalated", "bob", "carol", "escalation")),
        ("3:10:00", "Notified", ("escalate:2", "slack", "carol", True)),
    ]


async def test_a_delegation_restarts_the_steps_time(handraise: Service, clock: StoppedClock) -> None:
    """The one it is handed to is told after the usual delay, and has the whole time; steps that are done stay done."""
    they = await people(handraise)
    strategy = {"type": "SpecificUser", "userID": "alice", "escalation": TO_BOB_THEN_CAROL}
    id = (await handraise.ask(assignment_strategy=strategy))["id"]
    await until(handraise, clock, START + timedelta(minutes=75))
    await post(they["bob"], id, "delegate", to="dave")
    await until(handraise, clock, START + timedelta(days=1))
    assert await history(handraise, id) == [
        ("0:00:00", "Requested", None),
        ("0:02:00", "Notified", ("notify", "slack", "alice", True)),
        ("1:00:00", "Reassigned", ("escalated", "alice", "bob", "escalation")),
        ("1:00:00", "Notified", ("escalate:1", "slack", "bob", True)),
        ("1:15:00", "Reassigned", ("delegated", "bob", "dave", "command")),
        ("1:17:00", "Notified", ("notify:5", "slack", "dave", True)),
        ("1:45:00", "Reassigned", ("escalated", "dave", "carol", "escalation")),
        ("1:45:00", "Notified", ("escalate:2", "slack", "carol", True)),
    ]


@pytest.mark.parametrize("end", ["answer", "cancel"])
async def test_an_end_ends_everything(handraise: Service, clock: StoppedClock, slack: FakeChannel, end: str) -> None:
    """Nothing that was planned comes after it, and nothing is left to come."""
    they = await people(handraise)
    id = (await handraise.ask(assignment_strategy=LADDER, expires_in_seconds=24 * 3600))["id"]
    await until(handraise, clock, START + timedelta(minutes=20))
    if end == "answer":
        await post(they["alice"], id, "respond", text="yes")
    else:
        await post(they["alice"], id, "cancel")
    await until(handraise, clock, START + timedelta(days=2))
    assert [event for _, event, _ in await history(handraise, id)] == [
        "Requested",
        "Notified",
        "Responded" if end == "answer" else "Cancelled",
    ]
    assert [delivered.step for delivered in slack.delivered] == ["notify"]
    assert await carry_out(handraise) is None


@pytest.mark.parametrize("with_deadline", [True, False])
async def test_downtime_is_caught_up_in_order(database: str, tmp_path: Path, with_deadline: bool) -> None:
    """Over two steps and the deadline it expires, once, and nothing else; without one both steps come, in order."""
    clock, slack = StoppedClock(START), FakeChannel()
    strategy = {"type": "SpecificUser", "userID": "alice", "escalation": TO_BOB_THEN_CAROL}
    async with service(database, tmp_path / "data", clock=clock, channels=[slack]) as before:
        await people(before)
        lifetime = {"expires_in_seconds": 7200} if with_deadline else {}
        id = (await before.ask(assignment_strategy=strategy, **lifetime))["id"]
    async with (
        service(database, tmp_path / "data", clock=clock, channels=[slack]) as after,
        service(database, tmp_path / "data", clock=clock, channels=[slack]) as other,
    ):
        for replica in (after, other):
            await replica.app.scheduler.stop()
        clock.at = START + timedelta(hours=5)
        await until(after, clock, START + timedelta(hours=6), other)
        found = await history(after, id)
    assert found == [
        ("0:00:00", "Requested", None),
        *(
            [("5:00:00", "Expired", None)]
            if with_deadline
            else [
                ("5:00:00", "Reassigned", ("escalated", "alice", "bob", "escalation")),
                ("5:00:00", "Reassigned", ("escalated", "bob", "carol", "escalation")),
                ("5:00:00", "Notified", ("escalate:2", "slack", "carol", True)),
            ]
        ),
    ]
    assert [(told.to, told.step) for told in slack.delivered] == ([] if with_deadline else [("carol", "escalate:2")])


# -- more people are told


async def test_whom_the_ladder_tells_may_claim(handraise: Service, clock: StoppedClock) -> None:
    """They see it among what is shared, read it and take it; others do none of this, nor they before they are told."""
    they = await people(handraise)
    tell = {"afterMinutes": 60, "to": {"type": "SharedInbox", "listID": "oncall"}, "notifyOnly": True}
    strategy = {"type": "SpecificUser", "userID": "alice", "escalation": [tell]}
    id = (await handraise.ask(assignment_strategy=strategy, unique_id="deploy"))["id"]
    await until(handraise, clock, START + timedelta(minutes=59))
    assert await inbox(handraise, they["carol"], "shared") == []
    assert (await they["carol"].post(f"/api/requests/{id}/claim")).status_code == 403
    await until(handraise, clock, START + timedelta(minutes=60))
    for name, sees in (("carol", True), ("dave", True), ("erin", False), ("alice", False)):
        assert await inbox(handraise, they[name], "shared") == ["deploy"] * sees, name
    assert (await they["alice"].get(f"/api/requests/{id}")).json()["assigned_to"] == "alice"
    assert (await they["erin"].get(f"/api/requests/{id}")).status_code == 403
    assert (await they["erin"].post(f"/api/requests/{id}/claim")).status_code == 403
    assert (await they["dave"].get(f"/api/requests/{id}")).status_code == 200
    claimed = await post(they["dave"], id, "claim")
    assert (claimed["assigned_to"], claimed["claimed"]) == ("dave", True)
    late = await they["carol"].post(f"/api/requests/{id}/claim")
    assert (late.status_code, "dave" in late.text) == (409, True)
    assert await inbox(handraise, they["carol"], "shared") == []
    assert await inbox(handraise, they["dave"], "mine") == ["deploy"]
    assert await inbox(handraise, they["alice"], "all") == []
    assert (await they["alice"].get(f"/api/requests/{id}")).status_code == 200, "past assignees read on"


async def test_one_person_who_is_told(handraise: Service, clock: StoppedClock, slack: FakeChannel) -> None:
    """The person alone, on the web and through the channel; whoever was asked can still answer."""
    they = await people(handraise)
    tell = {"afterMinutes": 0.5, "to": {"userID": "erin"}, "notifyOnly": True}
    strategy = {"type": "SpecificUser", "userID": "alice", "escalation": [tell]}
    id = (await handraise.ask(assignment_strategy=strategy, unique_id="deploy"))["id"]
    await until(handraise, clock, START + timedelta(minutes=10))
    assert await history(handraise, id) == [
        ("0:00:00", "Requested", None),
        ("0:00:30", "Notified", ("escalate:1", "web", "erin", True)),
        ("0:00:30", "Notified", ("escalate:1:notify", "slack", "erin", True)),
        ("0:02:00", "Notified", ("notify", "slack", "alice", True)),
    ]
    assert [(told.to, told.step) for told in slack.delivered] == [("erin", "escalate:1:notify"), ("alice", "notify")]
    assert await inbox(handraise, they["erin"], "shared") == ["deploy"]
    assert await inbox(handraise, they["dave"], "all") == []
    await post(they["alice"], id, "respond", text="yes")
    assert await inbox(handraise, they["erin"], "all") == []


async def test_somebody_who_was_told_and_has_left_is_not_written_to(
    handraise: Service, clock: StoppedClock, slack: FakeChannel
) -> None:
    """Between the step and the channel's notice the person is removed: said once in the history, and over."""
    await people(handraise)
    tell = {"afterMinutes": 10, "to": {"userID": "erin"}, "notifyOnly": True}
    strategy = {"type": "SpecificUser", "userID": "alice", "escalation": [tell]}
    id = (await handraise.ask(assignment_strategy=strategy))["id"]
    slack.failures.extend([TemporaryFailure("busy")] * 2)  # for Alice, then for Erin
    await until(handraise, clock, START + timedelta(minutes=10))
    assert (await handraise.admin.delete("/api/users/erin")).status_code == 200
    await until(handraise, clock, START + timedelta(days=1))
    assert await history(handraise, id) == [
        ("0:00:00", "Requested", None),
        ("0:02:00", "Notified", ("notify", "slack", "alice", False)),
        ("0:02:30", "Notified", ("notify", "slack", "alice", False)),
        ("0:03:30", "Notified", ("notify", "slack", "alice", True)),
        ("0:10:00", "Notified", ("escalate:1", "web", "erin", True)),
        ("0:10:00", "Notified", ("escalate:1:notify", "slack", "erin", True)),
    ]


# -- what the plan says


async def plan(handraise: Service, id: str) -> list[tuple[str, str, str]]:
    """(step, after how long, what) of what a request shows to come."""
    request = (await handraise.admin.get(f"/api/requests/{id}")).json()
    begin = datetime.fromisoformat(request["created_at"])
    return [(step["step"], str(datetime.fromisoformat(step["at"]) - begin), step["what"]) for step in request["plan"]]


async def test_the_plan_says_what_happens_next(handraise: Service, clock: StoppedClock) -> None:
    """When it is asked, after each step, after a claim by somebody who was told; and in the end what it was."""
    they = await people(handraise)
    id = (await handraise.ask(assignment_strategy=LADDER, expires_in_seconds=24 * 3600))["id"]
    shown, end = (
        ("show", "0:00:00", "shown in the inbox"),
        ("expire", "1 day, 0:00:00", "expires unless it was answered"),
    )
    to_bob = ("escalate:1", "2:00:00", "goes to: SpecificUser bob")
    told = ("escalate:2", "3:00:00", "more people are told: SharedInbox oncall")
    again = ("escalate:3", "7:00:00", "goes to: List oncall, again and again")
    assert await plan(handraise, id) == [
        shown,
        ("notify:slack", "0:02:00", "told through slack"),
        to_bob,
        told,
        again,
        end,
    ]
    await until(handraise, clock, START + timedelta(minutes=10))
    reminder = ("notify:slack", "0:30:00", "reminded through slack")
    assert await plan(handraise, id) == [shown, reminder, to_bob, told, again, end]
    await until(handraise, clock, START + timedelta(hours=3, minutes=5))
    assert (await plan(handraise, id))[-2:] == [again, end]
    await post(they["carol"], id, "claim")
    assert (await plan(handraise, id))[-2:] == [("escalate:3", "7:05:00", again[2]), end]
    await until(handraise, clock, START + timedelta(hours=8))
    assert (await plan(handraise, id))[-2:] == [("escalate:3:2", "11:05:00", again[2]), end]
    await post(handraise.admin, id, "respond", text="yes")
    assert [step for step, *_ in await plan(handraise, id)] == [
        "show", "notify:slack", "remind:1", "remind:2", "remind:3", "escalate:1", "escalate:2", "escalate:3", "expire",
    ]  # fmt: skip


# -- failures of a channel


async def notices(handraise: Service, id: str) -> list[tuple[str, str, int, bool, str | None]]:
    """(after how long, step, attempt, delivered, error) of every notice of a request."""
    items = (await handraise.admin.get(f"/api/requests/{id}/history")).json()["items"]
    begin = datetime.fromisoformat(items[0]["at"])
    return [
        (
            str(datetime.fromisoformat(item["at"]) - begin),
            item["step"],
            item["attempt"],
            item["delivered"],
            item["error"],
        )
        for item in items
        if item["type"] == "Notified"
    ]


async def test_what_fails_for_now_is_tried_again_ever_later(
    handraise: Service, clock: StoppedClock, slack: FakeChannel
) -> None:
    """After 30 s, twice as long, or as long as the channel asks for; each attempt recorded, all with one key."""
    await people(handraise)
    slack.failures.extend(
        [
            TemporaryFailure("busy"),
            TemporaryFailure("still busy"),
            TemporaryFailure("rate limited", timedelta(minutes=5)),
            OSError("no route to host: secret"),
        ]
    )
    id = (await handraise.ask(assignment_strategy={"type": "SpecificUser", "userID": "alice"}))["id"]
    assert (await plan(handraise, id))[-1] == ("notify:slack", "0:02:00", "told through slack")
    await until(handraise, clock, START + timedelta(minutes=2))
    assert (await plan(handraise, id))[-1] == ("notify:slack", "0:02:30", "told through slack, attempt 2")
    await until(handraise, clock, START + timedelta(days=1))
    assert await notices(handraise, id) == [
        ("0:02:00", "notify", 1, False, "busy"),
        ("0:02:30", "notify", 2, False, "still busy"),
        ("0:03:30", "notify", 3, False, "rate limited"),
        ("0:08:30", "notify", 4, False, "OSError"),
        ("0:12:30", "notify", 5, True, None),
    ]
    assert len(slack.delivered) == 5
    assert len({delivered.key for delivered in slack.delivered}) == 1


async def test_after_eight_failures_it_is_given_up(handraise: Service, clock: StoppedClock, slack: FakeChannel) -> None:
    """The last says that nothing comes after it; the request itself goes on."""
    await people(handraise)
    slack.failures.extend([TemporaryFailure("busy")] * 20)
    id = (await handraise.ask(assignment_strategy={"type": "SpecificUser", "userID": "alice"}))["id"]
    await until(handraise, clock, START + timedelta(days=7))
    assert [attempt for _, _, attempt, _, _ in await notices(handraise, id)] == list(range(1, 9))
    items = (await handraise.admin.get(f"/api/requests/{id}/history")).json()["items"]
    assert items[-1]["retry_at"] is None
    assert await plan(handraise, id) == [("show", "0:00:00", "shown in the inbox")]


async def test_what_fails_for_good_is_not_tried_again(
    handraise: Service, clock: StoppedClock, slack: FakeChannel
) -> None:
    """It is recorded; a later reminder is another matter."""
    await people(handraise)
    slack.failures.append(PermanentFailure("no such channel"))
    strategy = {"type": "SpecificUser", "userID": "alice", "remindMinutes": 30}
    id = (await handraise.ask(assignment_strategy=strategy))["id"]
    await until(handraise, clock, START + timedelta(minutes=40))
    assert await notices(handraise, id) == [
        ("0:02:00", "notify", 1, False, "no such channel"),
        ("0:30:00", "remind:1", 1, True, None),
    ]


async def test_two_channels_each_tell_once(database: str, tmp_path: Path, clock: StoppedClock) -> None:
    """Due together, the second still at it when the first is recorded, and everybody looks again: no call twice."""
    slack, mail = FakeChannel(), FakeChannel("mail")
    async with (
        service(database, tmp_path / "data", clock=clock, channels=[slack, mail]) as one,
        service(database, tmp_path / "data", clock=clock, channels=[slack, mail]) as other,
    ):
        for replica in (one, other):
            await replica.app.scheduler.stop()
        await people(one)

        async def once_slack_is_done(_: object) -> None:
            mail.before = None
            while not await notices(one, id):
                await asyncio.sleep(0.005)
            for replica in (one, other):
                await replica.app.scheduler.deadlines.carry_out()
            await other.app.scheduler.deadlines.sent()

        mail.before = once_slack_is_done
        id = (await one.ask(assignment_strategy=LADDER))["id"]
        clock.at += timedelta(minutes=2)
        await carry_out(one)
        assert [(len(channel.delivered), channel.delivered[0].to) for channel in (slack, mail)] == [(1, "alice")] * 2
        assert len(await notices(one, id)) == 2


async def test_a_notice_that_comes_to_its_end_late_does_not_repeat_the_next(database: str, tmp_path: Path) -> None:
    """Alice was being told when the ladder went on to Bob, who is being told when the word of hers comes."""
    clock, slack = StoppedClock(START), FakeChannel(delay=timedelta(0))
    told = {"alice": asyncio.Event(), "bob": asyncio.Event()}
    begun: list[str] = []

    async def takes_its_time(message: Message) -> None:
        assert message.person is not None
        begun.append(message.person.readable_id)
        await told[message.person.readable_id].wait()

    slack.before = takes_its_time
    async with (
        service(database, tmp_path / "data", clock=clock, channels=[slack]) as one,
        service(database, tmp_path / "data", clock=clock, channels=[slack]) as other,
    ):
        await people(one)
        for replica in (one, other):
            await replica.app.scheduler.stop()
        ladder = [{"afterMinutes": 0.05, "to": {"type": "SpecificUser", "userID": "bob"}}]
        asked = await one.ask(assignment_strategy={"type": "SpecificUser", "userID": "alice", "escalation": ladder})
        for who in ("alice", "bob"):
            await one.app.scheduler.deadlines.carry_out()
            await settle(lambda who=who: begun[-1:] == [who])
            clock.at += timedelta(seconds=3)
        told["alice"].set()
        await settle(lambda: len(slack.delivered) == 1)
        while len(await notices(one, asked["id"])) < 1:
            await asyncio.sleep(0.005)
        await other.app.scheduler.deadlines.carry_out()
        told["bob"].set()
        for replica in (one, other):
            await replica.app.scheduler.deadlines.sent()
        assert [delivered.to for delivered in slack.delivered] == ["alice", "bob"]


async def settle(condition: Callable[[], bool]) -> None:
    """Returns once it holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


async def test_one_request_that_cannot_be_read_keeps_no_other_from_its_steps(
    handraise: Service, clock: StoppedClock, database: str
) -> None:
    """Due in the same moment, again and again: the others move and are told at their time."""
    await people(handraise)
    strategy = {"type": "SpecificUser", "userID": "alice", "escalation": TO_BOB_THEN_CAROL}
    damaged, fine = [
        (await handraise.ask(assignment_strategy=strategy, expires_in_seconds=s))["id"] for s in (60, 7200)
    ]
    await rows(database, "UPDATE handraise_events SET state = 'damaged' WHERE originator_id = %s", damaged)
    for minutes in (2, 60):
        clock.at = START + timedelta(minutes=minutes)
        with pytest.raises(MapperDeserialisationError):
            await carry_out(handraise)
        await handraise.app.scheduler.deadlines.sent()
    assert await history(handraise, fine) == [
        ("0:00:00", "Requested", None),
        ("0:02:00", "Notified", ("notify", "slack", "alice", True)),
        ("1:00:00", "Reassigned", ("escalated", "alice", "bob", "escalation")),
        ("1:00:00", "Notified", ("escalate:1", "slack", "bob", True)),
    ]


# -- quiet hours and snoozing


async def test_quiet_hours_hold_up_what_is_not_urgent(
    handraise: Service, clock: StoppedClock, slack: FakeChannel
) -> None:
    """By the person's own time zone: priority 21 waits for their end, 20 does not; ladder and deadline do not move."""
    they = await people(handraise)
    hours = {"quiet_hours": {"from": "03:00", "to": "08:00"}}  # in New York it is 4 o'clock
    for name in ("alice", "bob"):
        assert (await they[name].patch("/api/me", json=hours)).status_code == 200
    strategy = {
        "type": "SpecificUser",
        "userID": "alice",
        "escalation": [{"afterMinutes": 60, "to": {"userID": "bob"}}],
    }
    urgent, usual = [
        (await handraise.ask(assignment_strategy=strategy, priority=priority, expires_in_seconds=5 * 3600))["id"]
        for priority in (20, 21)
    ]
    await until(handraise, clock, START + timedelta(days=1))
    moved = ("1:00:00", "Reassigned", ("escalated", "alice", "bob", "escalation"))
    assert await history(handraise, urgent) == [
        ("0:00:00", "Requested", None),
        ("0:02:00", "Notified", ("notify", "slack", "alice", True)),
        moved,
        ("1:00:00", "Notified", ("escalate:1", "slack", "bob", True)),
        ("5:00:00", "Expired", None),
    ]
    assert await history(handraise, usual) == [
        ("0:00:00", "Requested", None),
        moved,
        ("4:00:00", "Notified", ("escalate:1", "slack", "bob", True)),
        ("5:00:00", "Expired", None),
    ]


async def test_somebody_elses_quiet_hours_hold_up_nobody(handraise: Service, clock: StoppedClock) -> None:
    """Alice's notice waits; whom the ladder tells is told at its time."""
    they = await people(handraise)
    assert (
        await they["alice"].patch("/api/me", json={"quiet_hours": {"from": "03:00", "to": "08:00"}})
    ).status_code == 200
    tell = {"afterMinutes": 60, "to": {"userID": "bob"}, "notifyOnly": True}
    id = (await handraise.ask(assignment_strategy={"type": "SpecificUser", "userID": "alice", "escalation": [tell]}))[
        "id"
    ]
    await until(handraise, clock, START + timedelta(days=1))
    assert await history(handraise, id) == [
        ("0:00:00", "Requested", None),
        ("1:00:00", "Notified", ("escalate:1", "web", "bob", True)),
        ("1:00:00", "Notified", ("escalate:1:notify", "slack", "bob", True)),
        ("4:00:00", "Notified", ("notify", "slack", "alice", True)),
    ]


async def test_snoozing_puts_it_out_of_ones_own_inbox(
    handraise: Service, clock: StoppedClock, slack: FakeChannel
) -> None:
    """Until then, and it is back by itself; reminders wait, the ladder and the deadline do not."""
    they = await people(handraise)
    strategy = LADDER | {"escalation": [{"afterMinutes": 300, "to": {"userID": "bob"}}]}
    asked = await handraise.ask(assignment_strategy=strategy, unique_id="deploy", expires_in_seconds=6 * 3600)
    id = asked["id"]
    await until(handraise, clock, START + timedelta(minutes=10))
    later = START + timedelta(minutes=100)
    snoozed = await post(they["alice"], id, "snooze", until=later.isoformat())
    assert datetime.fromisoformat(snoozed["snoozed_until"]) == later
    assert [step[:2] for step in await plan(handraise, id)] == [
        ("show", "0:00:00"),
        ("notify:slack", "1:40:00"),
        ("escalate:1", "5:00:00"),
        ("expire", "6:00:00"),
    ]
    for scope in ("mine", "all"):
        assert await inbox(handraise, they["alice"], scope) == []
    assert await inbox(handraise, handraise.admin, "all") == ["deploy"], "administrators still see it"
    assert (await they["alice"].get(f"/api/requests/{id}")).status_code == 200
    clock.at = later - timedelta(milliseconds=1)
    assert await inbox(handraise, they["alice"], "mine") == []
    clock.at = later
    for scope in ("mine", "all"):
        assert await inbox(handraise, they["alice"], scope) == ["deploy"]
    await until(handraise, clock, START + timedelta(days=1))
    assert await history(handraise, id) == [
        ("0:00:00", "Requested", None),
        ("0:02:00", "Notified", ("notify", "slack", "alice", True)),
        ("0:10:00", "Snoozed", None),
        ("1:40:00", "Notified", ("remind:1", "slack", "alice", True)),
        ("2:00:00", "Notified", ("remind:2", "slack", "alice", True)),
        ("2:30:00", "Notified", ("remind:3", "slack", "alice", True)),
        ("5:00:00", "Reassigned", ("escalated", "alice", "bob", "escalation")),
        ("5:00:00", "Notified", ("escalate:1", "slack", "bob", True)),
        ("6:00:00", "Expired", None),
    ]


async def test_a_snooze_ends_when_it_is_taken_back_or_the_request_moves(
    handraise: Service, clock: StoppedClock
) -> None:
    """DELETE brings it back at once, and again changes nothing; whom it goes to has it in their inbox."""
    they = await people(handraise)
    strategy = {"type": "SpecificUser", "userID": "alice"}
    id = (await handraise.ask(assignment_strategy=strategy, unique_id="deploy"))["id"]
    await post(they["alice"], id, "snooze", seconds=3600)
    assert await inbox(handraise, they["alice"], "mine") == []
    position = (await they["alice"].delete(f"/api/requests/{id}/snooze")).json()["position"]
    assert await inbox(handraise, they["alice"], "mine") == ["deploy"]
    again = await they["alice"].delete(f"/api/requests/{id}/snooze")
    assert (again.status_code, again.json()["position"]) == (200, position)
    await post(they["alice"], id, "snooze", seconds=3600)
    await post(they["alice"], id, "delegate", to="bob")
    assert await inbox(handraise, they["bob"], "mine") == ["deploy"]
    assert (await they["bob"].get(f"/api/requests/{id}")).json()["snoozed_until"] is None


async def test_an_administrator_who_snoozes_their_own(handraise: Service, clock: StoppedClock) -> None:
    """It leaves all of their own inbox; what others snoozed stays in it."""
    await people(handraise)
    ids = [
        (await handraise.ask(assignment_strategy={"type": "SpecificUser", "userID": name}, unique_id=f"of-{name}"))[
            "id"
        ]
        for name in ("admin", "alice")
    ]
    for id in ids:
        await post(handraise.admin, id, "snooze", seconds=60)
    assert await inbox(handraise, handraise.admin, "mine") == []
    assert await inbox(handraise, handraise.admin, "all") == ["of-alice"]
    clock.at += timedelta(seconds=60)
    assert sorted(await inbox(handraise, handraise.admin, "all")) == ["of-admin", "of-alice"]


NO_SNOOZES: list[tuple[dict[str, Any], str]] = [
    ({}, "until"),
    ({"until": "2026-03-02T10:00:00Z", "seconds": 60}, "until"),
    ({"until": "2026-03-02T09:00:00Z"}, "until"),
    ({"until": "2026-03-02T10:00:00"}, "until"),
    ({"until": "2026-05-31T09:00:00.001Z"}, "until"),
    ({"until": "9999-12-31T23:59:59-23:59"}, "until"),
    ({"seconds": 0}, "seconds"),
    ({"seconds": -1}, "seconds"),
    ({"seconds": 90 * 86400 + 1}, "seconds"),
    ({"seconds": 1e300}, "seconds"),
    ({"seconds": "soon"}, "seconds"),
]


async def test_a_snooze_that_makes_no_sense_is_refused(handraise: Service) -> None:
    """Until when or how long, in the future, at most 90 days: 422 names the field, and nothing changes."""
    they = await people(handraise)
    id = (await handraise.ask(assignment_strategy={"type": "SpecificUser", "userID": "alice"}))["id"]
    for body, path in NO_SNOOZES:
        response = await they["alice"].post(f"/api/requests/{id}/snooze", json=body)
        assert (response.status_code, [error["path"] for error in response.json()["errors"]]) == (422, [path]), body
        assert [event for _, event, _ in await history(handraise, id)] == ["Requested"], body


async def test_the_longest_snooze(handraise: Service, clock: StoppedClock) -> None:
    """90 days, either way."""
    they = await people(handraise)
    for body in ({"seconds": 90 * 86400}, {"until": "2026-05-31T09:00:00Z"}):
        id = (await handraise.ask(assignment_strategy={"type": "SpecificUser", "userID": "alice"}))["id"]
        snoozed = await post(they["alice"], id, "snooze", **body)
        assert datetime.fromisoformat(snoozed["snoozed_until"]) == START + timedelta(days=90)


async def test_only_what_is_ones_own_can_be_snoozed(handraise: Service, clock: StoppedClock) -> None:
    """Not others', not what nobody has claimed, not what is closed."""
    they = await people(handraise)
    shared = (await handraise.ask(assignment_strategy={"type": "SharedInbox", "listID": "oncall"}))["id"]
    own = (await handraise.ask(assignment_strategy={"type": "SpecificUser", "userID": "alice"}))["id"]
    for client, id, status in (
        (they["bob"], own, 403),
        (they["carol"], shared, 403),
        (handraise.admin, shared, 409),
        (handraise.agent, own, 403),
    ):
        assert (await client.post(f"/api/requests/{id}/snooze", json={"seconds": 60})).status_code == status
    await post(they["alice"], own, "respond", text="yes")
    assert (await they["alice"].post(f"/api/requests/{own}/snooze", json={"seconds": 60})).status_code == 409
