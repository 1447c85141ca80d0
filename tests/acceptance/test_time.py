"""What was answered in time is left alone, a rebuild repeats nothing, no restart loses a timer or fires one early."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from application.notices import Message
from application.requests import Ask
from domain.request import Request
from tests.acceptance.test_ladder import carry_out, history, post
from tests.acceptance.test_ladder import until as until_then
from tests.docs.test_snippets import run_as_written
from tests.support.channels import FakeChannel
from tests.support.processes import ROOT, ServerProcess, cli, until
from tests.support.read_models import StoppedClock, callers_of, log_of, rebuild_all, rows, settled
from tests.support.service import Service, service

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
TO_ALICE = {"type": "SpecificUser", "userID": "alice"}


async def ask_many(handraise: Service, strategies: Sequence[dict[str, Any]], **more: Any) -> list[UUID]:
    """A request of each strategy, all asked at once."""
    agent, _ = await callers_of(handraise)
    ids: list[UUID] = []
    while some := strategies[len(ids) : len(ids) + 500]:
        asks = [Ask("May I?", str(len(ids) + number), assignment_strategy=of, **more) for number, of in enumerate(some)]
        ids += [
            request.id for request, _ in await asyncio.gather(*(handraise.app.requests.ask(a, agent) for a in asks))
        ]
    return ids


async def test_an_answer_before_a_notice_was_due_leaves_none(database: str, tmp_path: Path) -> None:
    """Ninety runs, the answer from 45 ms before to 44 ms after the notice's time, while others are being given."""
    clock, slack = StoppedClock(START), FakeChannel()

    async def takes_a_while(message: Message) -> None:
        await asyncio.sleep(random.random() / 200)

    slack.before = takes_a_while
    offsets = list(range(-45, 45))
    due = [100 + number * 7 % 60 for number in range(len(offsets))]  # ms after the start: many notices side by side
    answer = [at + offset for at, offset in zip(due, offsets, strict=True)]
    acknowledged: dict[int, datetime] = {}
    async with service(database, tmp_path / "data", clock=clock, channels=[slack]) as handraise:
        alice = await handraise.person("alice")
        await carry_out(handraise)
        ids = await ask_many(handraise, [TO_ALICE | {"notifyDelaySeconds": at / 1000} for at in due])

        async def respond(number: int) -> None:
            await post(alice, str(ids[number]), "respond", text="yes")
            acknowledged[number] = clock.at

        for now in range(50, 250):
            clock.at = START + now * MILLISECOND
            await asyncio.gather(
                handraise.app.scheduler.deadlines.carry_out(),
                *(respond(number) for number, at in enumerate(answer) if at == now),
            )
        await carry_out(handraise)
        told = Counter(int(delivered.unique_id) for delivered in slack.delivered)
        for number, offset in enumerate(offsets):
            events = [event for _, event, _ in await history(handraise, str(ids[number]))]
            assert acknowledged[number] == START + answer[number] * MILLISECOND
            assert told[number] in ([0] if offset < 0 else [0, 1] if offset == 0 else [1]), offset
            assert events.count("Notified") == told[number], offset
            assert events.count("Responded") == 1, offset
        clock.at += timedelta(minutes=1)  # until it is looked for what may have been told without a word of it
        await carry_out(handraise)
        assert await rows(database, "SELECT request_id, step FROM due_steps") == []


LADDER = TO_ALICE | {
    "remindMinutes": 30,
    "escalation": [{"afterMinutes": 60, "to": {"userID": "bob"}}, {"afterMinutes": 60, "to": TO_ALICE, "repeat": True}],
}


async def timers(database: str) -> list[tuple[Any, ...]]:
    return await rows(database, "SELECT request_id, step, due_at, leased_until FROM due_steps ORDER BY 1, 2")


async def test_a_rebuild_fires_nothing_again(database: str, tmp_path: Path) -> None:
    """Read models made anew after half of a ladder: no event, no call, no other timer; then it goes on as planned."""
    clock, slack = StoppedClock(START), FakeChannel()
    async with service(database, tmp_path / "data", clock=clock, channels=[slack]) as handraise:
        for name in ("alice", "bob"):
            await handraise.person(name)
        (id,) = await ask_many(handraise, [LADDER], expires_in=timedelta(hours=4))
        for minutes in (2, 30, 60, 75):
            clock.at = START + timedelta(minutes=minutes)
            await carry_out(handraise)
        head, before, told = await settled(handraise), await timers(database), list(slack.delivered)
        found = await history(handraise, str(id))
        assert len(told) == 3

        await rebuild_all(database, log_of(handraise))
        await carry_out(handraise)
        assert (await settled(handraise), await timers(database), slack.delivered) == (head, before, told)
        assert await history(handraise, str(id)) == found
        clock.at = START + timedelta(minutes=120)
        await carry_out(handraise)
        assert [delivered.step for delivered in slack.delivered[3:]] == ["escalate:2"]


def test_the_rebuild_command_fires_nothing_again(tmp_path: Path) -> None:
    """Beside a running server with its own database: what has happened stays as it is, and nothing comes of it."""
    with ServerProcess(tmp_path / "data") as server, server.agent() as agent, server.admin() as admin:

        def ask(unique_id: str, **more: Any) -> None:
            body = {"message": "May I?", "unique_id": unique_id}
            assert agent.post("/api/requests", json=body | more).status_code == 201

        assert admin.post("/api/users", json={"id": "bob", "name": "Bob"}).status_code == 201
        ladder = [{"afterMinutes": 0.0005, "to": {"userID": "bob"}}, {"afterMinutes": 60, "to": {"userID": "admin"}}]
        ask("deploy", assignment_strategy={"type": "SpecificUser", "userID": "admin", "escalation": ladder})
        ask("gone", expires_in_seconds=0.05)
        assert agent.get("/api/requests/gone/wait", params={"timeout_seconds": 60}).json()["status"] == "Expired"

        def events() -> dict[str, list[Any]]:
            return {id: agent.get(f"/api/requests/{id}/history").json()["items"] for id in ("deploy", "gone")}

        until(lambda: len(events()["deploy"]) == 2, "it went to Bob")
        before, plan = events(), agent.get("/api/requests/deploy").json()["plan"]
        assert [event["type"] for event in before["deploy"]] == ["Requested", "Reassigned"]
        done = cli("rebuild", server=server)
        assert done.code == 0, done
        # Something else that time brings about, later than anything that the rebuild could have set off.
        ask("last", expires_in_seconds=0.05)
        assert agent.get("/api/requests/last/wait", params={"timeout_seconds": 60}).json()["status"] == "Expired"
        assert (events(), agent.get("/api/requests/deploy").json()["plan"]) == (before, plan)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "count", [pytest.param(500, id="500"), pytest.param(10_000, id="10000", marks=pytest.mark.chaos)]
)
async def test_a_restart_loses_no_timer_and_fires_none_early(database: str, tmp_path: Path, count: int) -> None:
    """Every timer is there with its time after it; nothing comes a moment before that, all of it once at that time."""
    clock, slack = StoppedClock(START), FakeChannel()
    strategies = [TO_ALICE | {"escalation": [{"afterMinutes": 60, "to": {"userID": "bob"}}]}] * count
    async with service(database, tmp_path / "data", clock=clock, channels=[slack]) as handraise:
        for name in ("alice", "bob"):
            await handraise.person(name)
        ids = await ask_many(handraise, strategies, expires_in=timedelta(hours=2))
        before = await timers(database)
        head = await handraise.app.store.head()
    assert [(step, at - START, leased) for _, step, at, leased in before] == [
        ("escalate", timedelta(hours=1), None),
        ("expire", timedelta(hours=2), None),
        ("notify:slack", timedelta(minutes=2), None),
    ] * count

    async def events(topic: str) -> Counter[UUID]:
        found = await rows(database, "SELECT originator_id FROM handraise_events WHERE topic = %s", topic)
        return Counter(id for (id,) in found)

    for late, topic, deliveries in (
        (timedelta(minutes=2), Request.Notified.TOPIC, 1),
        (timedelta(hours=1), Request.Reassigned.TOPIC, 2),
        (timedelta(hours=2), Request.Expired.TOPIC, 2),
    ):
        clock.at = START + late - MILLISECOND
        async with service(database, tmp_path / "data", clock=clock, channels=[slack]) as handraise:
            await carry_out(handraise)
            assert (await timers(database), await handraise.app.store.head()) == (before, head)
            await until_then(handraise, clock, START + late + timedelta(minutes=10))  # with so many, some take a while
            assert await events(topic) == dict.fromkeys(ids, 1)
            before, head = await timers(database), await handraise.app.store.head()
            assert len(slack.delivered) == len({delivered.key for delivered in slack.delivered}) == deliveries * count
    assert before == []


def test_the_page_on_escalation_does_what_it_shows(tmp_path: Path) -> None:
    """Every file, program and command of docs/how-to/escalate.md, with the output that is shown."""
    page = (ROOT / "docs" / "how-to" / "escalate.md").read_text(encoding="utf-8")
    with ServerProcess(tmp_path / "data") as server:
        run_as_written(page, server, tmp_path)
