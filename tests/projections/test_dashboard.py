"""The dashboard: its figures are those that counting the same requests one by one gives."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from domain.answers import Answer
from domain.callers import Role, Via
from tests.support.read_models import StoppedClock, a_request, callers_of, settled
from tests.support.service import Service, service

START = datetime(2026, 3, 1, 0, 30, tzinfo=UTC)
GRACE = timedelta(seconds=300)
WEEK = timedelta(days=7)
MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(START)


@pytest.fixture
async def handraise(database: str, tmp_path: Path, clock: StoppedClock) -> AsyncIterator[Service]:
    """A service whose time is moved by the test."""
    async with service(database, tmp_path / "data", clock=clock) as made:
        yield made


async def figures(client: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
    response = await client.get("/api/dashboard", params=query)
    assert response.status_code == 200, response.text
    return response.json()


# -- the same, counted one by one


def recount(requests: list[dict[str, Any]], now: datetime, position: int, person: str | None = None) -> dict[str, Any]:
    """The dashboard of these requests, as `GET /api/requests/{id}` shows them; of one person's, or of all."""
    mine = [request for request in requests if person is None or responsible(request) == person]
    still_open = sorted((r for r in mine if r["status"] == "Requested"), key=lambda r: r["created_at"])
    answers = sorted((r for r in mine if r["response"]), key=lambda r: r["closed_at"])
    seconds = sorted((at(r["closed_at"]) - at(r["created_at"])).total_seconds() for r in answers[-1000:])
    oldest = still_open[0] if still_open else None
    return {
        "by_status": dict(Counter(r["status"] for r in mine)),
        "by_type": grouped(mine, lambda r: r["request_type"]),
        "by_agent": grouped(mine, lambda r: r["agent"]),
        "by_person": grouped(mine, responsible),
        "oldest_open": None if oldest is None else {"id": oldest["id"], "created_at": oldest["created_at"]},
        "open_older_than_a_day": sum(at(r["created_at"]) < now - timedelta(days=1) for r in still_open),
        "open_older_than_a_week": sum(at(r["created_at"]) < now - timedelta(days=7) for r in still_open),
        "time_to_answer_seconds": {
            "p50": percentile(seconds, 0.5),
            "p90": percentile(seconds, 0.9),
            "of_latest": len(seconds),
        },
        "answered_per_hour": counted(answers, hour, hour(now - timedelta(hours=24))),
        "answered_per_day": counted(answers, day, day(now - timedelta(days=30))),
        "unacknowledged": sum(
            GRACE < now - at(r["closed_at"]) <= timedelta(days=7) and r["response"]["acknowledged_at"] is None
            for r in answers
        ),
        "acknowledge_grace_seconds": GRACE.total_seconds(),
        "position": position,
    }


def responsible(request: dict[str, Any]) -> str:
    """Who answered it; of any other, who is asked."""
    return request["response"]["by"] if request["response"] else request["assigned_to"] or "nobody"


def grouped(requests: list[dict[str, Any]], by: Callable[[dict[str, Any]], str]) -> dict[str, dict[str, int]]:
    groups: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for request in requests:
        groups[by(request)][request["status"]] += 1
    return {key: dict(counts) for key, counts in groups.items()}


def percentile(ordered: list[float], share: float) -> float | None:
    """Between the two nearest, in proportion."""
    if not ordered:
        return None
    whole, part = divmod((len(ordered) - 1) * share, 1)
    low, high = ordered[int(whole)], ordered[min(int(whole) + 1, len(ordered) - 1)]
    return pytest.approx(low + part * (high - low))


def counted(
    answers: list[dict[str, Any]], unit: Callable[[datetime], datetime], since: datetime
) -> list[dict[str, Any]]:
    counts = Counter(unit(at(request["closed_at"])) for request in answers)
    return [
        {"from": f"{start:%Y-%m-%dT%H:%M:%S.000Z}", "count": count}
        for start, count in sorted(counts.items())
        if start >= since
    ]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def hour(instant: datetime) -> datetime:
    return instant.replace(minute=0, second=0, microsecond=0)


def day(instant: datetime) -> datetime:
    return hour(instant).replace(hour=0)


# -- tests


async def test_an_empty_dashboard(handraise: Service) -> None:
    """Nothing yet: zeros, nobody and no percentiles."""
    head = await settled(handraise)
    assert await figures(handraise.admin) == recount([], START, head)


async def test_figures_are_those_of_a_recount(handraise: Service, clock: StoppedClock) -> None:
    """Over forty days of asking, answering, moving, cancelling and expiring: for everybody, as each may see it."""
    chance = random.Random(2041)
    people = {id: await handraise.person(id) for id in ("alice", "bob", "carol")}
    auditor = await handraise.person("auditor", Role.AUDITOR)
    agents = [handraise.agent, await handraise.another_agent("zed")]
    ids: list[str] = []
    unacknowledged: list[int] = []
    for number in range(60):
        clock.at += timedelta(seconds=chance.choice((0, 30, 1800, 3600, 30_000, 150_000, 300_000)))
        body: dict[str, Any] = {"message": "?", "request_type": chance.choice(("approval", "clarification", "review"))}
        if chance.random() < 0.7:
            body["run_user"] = chance.choice(list(people))
        if chance.random() < 0.3:
            body["expires_in_seconds"] = 7200
        response = await chance.choice(agents).post("/api/requests", json=body)
        assert response.status_code == 201, response.text
        ids.append(response.json()["id"])
        for id in chance.sample(ids, min(len(ids), 2)):
            path = f"/api/requests/{id}"
            action = chance.random()
            if action < 0.4:
                await handraise.admin.post(f"{path}/respond", json={"text": "yes"})
            elif action < 0.6:
                await people[chance.choice(list(people))].post(f"{path}/respond", json={"text": "no"})
            elif action < 0.75:
                await handraise.admin.post(f"{path}/reassign", json={"to": chance.choice(list(people))})
            elif action < 0.8:
                await handraise.admin.post(f"{path}/cancel")
            if action < 0.1:
                await handraise.admin.post(f"{path}/erase")
            elif action < 0.5:
                for agent in agents:  # of whom one is a stranger to it
                    await agent.post(f"{path}/acknowledge")
        if number % 15 == 14:
            head = -1
            while head != await handraise.app.store.head():  # requests expire by themselves meanwhile
                head = await settled(handraise)
                requests = [(await handraise.admin.get(f"/api/requests/{id}")).json() for id in ids]
                shown = {id: await figures(client) for id, client in people.items()}
                shown_to_all = [await figures(client) for client in (handraise.admin, auditor)]
            everything = recount(requests, clock.at, head)
            unacknowledged.append(everything["unacknowledged"])
            assert shown_to_all == [everything, everything]
            for person in people:
                assert shown[person] == recount(requests, clock.at, head, person)
    assert set(everything["by_status"]) == {"Requested", "Responded", "Cancelled", "Expired"}
    assert clock.at - START > timedelta(days=31)  # longer than what is shown by the day
    assert 0 < everything["open_older_than_a_week"] < everything["open_older_than_a_day"]
    assert any(unacknowledged)


async def test_a_day_and_a_week_are_exact(handraise: Service, clock: StoppedClock) -> None:
    """Older than a day is more than 24 hours, to the millisecond."""
    asked = await handraise.ask()
    await settled(handraise)
    for passed, expected in (
        (timedelta(days=1), (0, 0)),
        (timedelta(days=1, milliseconds=1), (1, 0)),
        (timedelta(days=7), (1, 0)),
        (timedelta(days=7, milliseconds=1), (1, 1)),
    ):
        clock.at = START + passed
        found = await figures(handraise.admin)
        assert (found["open_older_than_a_day"], found["open_older_than_a_week"]) == expected
        assert found["oldest_open"] == {"id": asked["id"], "created_at": asked["created_at"]}


async def test_what_is_not_acknowledged_counts_after_its_time_of_grace_for_a_week(
    handraise: Service, clock: StoppedClock
) -> None:
    """Without anything happening, on the dashboard as in the metrics; the list finds the same requests."""
    asked = await handraise.ask()
    await handraise.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})
    position = (await handraise.ask())["position"]

    async def unacknowledged() -> int:
        count = (await figures(handraise.admin, min_position=position))["unacknowledged"]
        within = {
            "acknowledged": False,
            "closed_from": (clock.at - timedelta(days=7)).isoformat(),
            "closed_to": (clock.at - GRACE).isoformat(),
            "min_position": position,
        }
        items = (await handraise.admin.get("/api/requests", params=within)).json()["items"]
        assert [item["id"] for item in items] == [asked["id"]] * count
        return count

    for passed, expected in ((GRACE, 0), (GRACE + MILLISECOND, 1), (WEEK, 1), (WEEK + MILLISECOND, 0)):
        clock.at = START + passed
        assert await unacknowledged() == expected
    clock.at = START + timedelta(days=1)
    assert "handraise_unacknowledged_answers 1.0" in (await handraise.nobody.get("/metrics")).text
    done = await handraise.agent.post(f"/api/requests/{asked['id']}/acknowledge")
    position = done.json()["position"]
    assert await unacknowledged() == 0


async def test_answered_per_hour_and_day_are_of_utc(handraise: Service, clock: StoppedClock) -> None:
    """Each answer counts in the hour and the day it was given; what is too long ago is no longer shown."""
    for minutes in (0, 29, 30, 31, 24 * 60):
        clock.at = START + timedelta(minutes=minutes)
        asked = await handraise.ask()
        assert (
            await handraise.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})
        ).status_code == 200
    await settled(handraise)
    assert (await figures(handraise.admin))["answered_per_hour"] == [
        {"from": "2026-03-01T00:00:00.000Z", "count": 2},
        {"from": "2026-03-01T01:00:00.000Z", "count": 2},
        {"from": "2026-03-02T00:00:00.000Z", "count": 1},
    ]
    clock.at = START + timedelta(days=1, minutes=30)
    assert (await figures(handraise.admin))["answered_per_hour"] == [
        {"from": "2026-03-01T01:00:00.000Z", "count": 2},
        {"from": "2026-03-02T00:00:00.000Z", "count": 1},
    ]
    assert (await figures(handraise.admin))["answered_per_day"] == [
        {"from": "2026-03-01T00:00:00.000Z", "count": 4},
        {"from": "2026-03-02T00:00:00.000Z", "count": 1},
    ]
    clock.at = START + timedelta(days=31)
    assert (await figures(handraise.admin))["answered_per_day"] == [{"from": "2026-03-02T00:00:00.000Z", "count": 1}]
    assert (await figures(handraise.admin))["answered_per_hour"] == []


async def test_time_to_answer_is_of_the_latest_thousand(handraise: Service, clock: StoppedClock) -> None:
    """What was slow long ago does not weigh on today's figures."""
    agent, admin = await callers_of(handraise)
    for batch, (count, seconds) in enumerate(((50, 9000), (1000, 10))):
        asked_at, closed_at = START + timedelta(days=batch), START + timedelta(days=batch, seconds=seconds)
        requests = [a_request(agent, asked_at, f"r-{batch}-{number}") for number in range(count)]
        for request in requests:
            request.respond(lambda question: Answer("answered", "yes"), by=admin, via=Via.API, now=closed_at)
        await handraise.app.store.save(*requests)
        await settled(handraise)
        found = (await figures(handraise.admin))["time_to_answer_seconds"]
        assert found == {"p50": seconds, "p90": seconds, "of_latest": count}


async def test_an_agent_has_no_dashboard(handraise: Service) -> None:
    """It is for people."""
    refused = await handraise.agent.get("/api/dashboard")
    assert (refused.status_code, refused.json()["detail"]) == (403, "the dashboard is for people")
