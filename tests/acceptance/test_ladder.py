"""What happens when nobody reacts: notices, reminders, the ladder, the end; with a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.channels import FakeChannel
from tests.support.read_models import StoppedClock, settled
from tests.support.service import Service, service

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(START)


@pytest.fixture
def slack() -> FakeChannel:
    return FakeChannel()


@pytest.fixture
async def handraise(database: str, tmp_path: Path, clock: StoppedClock, slack: FakeChannel) -> AsyncIterator[Service]:
    async with service(database, tmp_path / "data", clock=clock, channels=[slack]) as made:
        await made.app.scheduler.stop()  # what is due is carried out by the tests alone
        yield made


async def until(handraise: Service, clock: StoppedClock, at: datetime) -> None:
    """Move the clock to this instant, stopping at everything that is due on the way, and have it carried out."""
    deadlines = handraise.app.scheduler.deadlines
    while True:
        wait = await deadlines.carry_out()
        await deadlines.sent()
        if wait == timedelta(0):
            continue
        if wait is None or clock.at + wait > at:
            break
        clock.at += wait
    clock.at = at
    await deadlines.carry_out()
    await deadlines.sent()


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


async def people(handraise: Service) -> None:
    for id in ("alice", "bob", "carol", "dave"):
        await handraise.person(id)
    await handraise.app.directory.add("list", {"name": "On call", "members": ["carol", "dave"]}, by=None, id="oncall")


async def test_the_whole_ladder_over_a_day(handraise: Service, clock: StoppedClock, slack: FakeChannel) -> None:
    """Three steps, the last repeated, reminders in between, and the end: event by event."""
    await people(handraise)
    asked = await handraise.ask(assignment_strategy=LADDER, expires_in_seconds=24 * 3600)
    await until(handraise, clock, START + timedelta(days=2))
    assert await history(handraise, asked["id"]) == [
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
    await settled(handraise)
