"""What is erased, by command or when its time is over, can be read nowhere; who did what and when stays."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from domain.directory import directory_id
from domain.request import Request
from domain.users import User
from interfaces.app import READ_MODELS
from interfaces.postgres.chain import verify
from tests.support.channels import FakeChannel
from tests.support.read_models import StoppedClock, dump, log_of, rebuild_all, rows, settled
from tests.support.service import Service, service

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
RECEIPT = {"receipt": "receipt-of-the-agent"}


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(START)


@pytest.fixture
async def handraise(database: str, tmp_path: Path, clock: StoppedClock) -> AsyncIterator[Service]:
    async with service(database, tmp_path / "data", clock=clock, channels=[FakeChannel()]) as made:
        yield made


async def post(client: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    response = await client.post(path, json=body)
    assert response.status_code in (200, 201), response.text
    return response.json()


async def get(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    response = await client.get(path)
    assert response.status_code == 200, response.text
    return response.json()


async def everything(database: str) -> str:
    """Every row of every table, as text."""
    found = ""
    for (table,) in await rows(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        found += json.dumps(await rows(database, f"SELECT t::text FROM {table} AS t"), ensure_ascii=False)
    return found


async def is_whole(database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        assert (await verify(connection)).fault is None


async def due(database: str, id: str) -> dict[str, datetime]:
    """The steps of a request that are still to come."""
    return dict(await rows(database, "SELECT step, due_at FROM due_steps WHERE request_id = %s", UUID(id)))


async def pass_to(handraise: Service, clock: StoppedClock, at: datetime) -> None:
    """Move the clock to this instant, and have all that is due by then carried out."""
    clock.at = at
    while await handraise.app.scheduler.deadlines.carry_out() == timedelta(0):
        pass


# -- people


async def test_an_erased_person_is_a_readable_id_and_nothing_more(
    handraise: Service, database: str, clock: StoppedClock
) -> None:
    """Name and addresses are gone from every table, the audit trail and a rebuild; history and chain hold."""
    marked = {"name": "Zoë Quist", "email": "zoe-quist@example.com", "slack_user_id": "UZOEQUIST"}
    await post(handraise.admin, "/api/users", id="zoe", **marked)
    key = (await post(handraise.admin, "/api/keys", name="z", user="zoe"))["key"]
    zoe = await handraise.client(key)
    ask = await handraise.ask(assignment_strategy={"type": "SpecificUser", "userID": "zoe"})
    await post(zoe, f"/api/requests/{ask['id']}/respond", text="yes")
    await settled(handraise)
    there = await everything(database)
    assert all(text in there for text in marked.values())
    id = directory_id("user", "zoe")

    kept = await handraise.admin.post("/api/users/zoe/erase")
    assert (kept.status_code, kept.json()["detail"]) == (
        409,
        "user 'zoe' is still in the directory: remove them first, then erase them",
    )
    assert (await handraise.admin.delete("/api/users/zoe")).status_code == 200
    before = await handraise.app.store.history(id)
    erased = await post(handraise.admin, "/api/users/zoe/erase")
    assert erased["position"] == await settled(handraise)
    there = await everything(database)
    assert not any(text in there for text in marked.values())
    assert await rows(database, "SELECT wrapped FROM data_keys WHERE aggregate_id = %s", id) == [(None,)]
    assert await rows(database, "SELECT name, email, slack_user_id, readable_id FROM users WHERE id = %s", id) == [
        (None, None, None, "zoe")
    ]
    after = await handraise.app.store.history(id)
    for (position, old), (now_at, now) in zip(before, after, strict=False):
        assert now_at == position
        assert vars(now) == vars(old) | dict.fromkeys(old.CONTENT)
    assert isinstance(after[-1][1], User.ContentErased)
    person = await handraise.app.store.entry(User, id)
    assert person is not None
    assert (person.erased, person.removed, person.name, person.email) == (True, True, None, None)

    again = await post(handraise.admin, "/api/users/zoe/erase")
    assert again["position"] == erased["position"]
    assert (await handraise.app.store.head()) == erased["position"]
    history = (await get(handraise.admin, f"/api/requests/{ask['id']}/history"))["items"]
    assert [item["actor"] for item in history if item["type"] == "Responded"] == ["zoe"]
    trail = (await get(handraise.admin, f"/api/audit?min_position={erased['position']}&q=Quist"))["items"]
    assert trail == []
    items = (await get(handraise.admin, "/api/audit?type=ContentErased"))["items"]
    assert [(item["of"], item["actor"]) for item in items] == [("User", "admin")]
    await is_whole(database)
    shown = await dump(database)
    await rebuild_all(database, log_of(handraise), READ_MODELS)
    assert await dump(database) == shown
    assert await rows(database, "SELECT * FROM parked_aggregates") == []
    # The id is never given to another, and what the person was called is free for others.
    taken = await handraise.admin.post("/api/users", json={"name": "Other", "id": "zoe"})
    assert taken.status_code == 409
    await post(handraise.admin, "/api/users", **marked, id="other")


async def test_who_may_erase_a_person(handraise: Service) -> None:
    """Administrators, and only somebody there was."""
    await handraise.person("anna")
    member = await handraise.person("bert")
    assert (await handraise.admin.delete("/api/users/anna")).status_code == 200
    for client, status in ((handraise.nobody, 401), (handraise.agent, 403), (member, 403)):
        assert (await client.post("/api/users/anna/erase")).status_code == status
    assert (await handraise.admin.post("/api/users/nobody-there/erase")).status_code == 404
    assert (await handraise.admin.post("/api/users/anna/erase")).status_code == 200


# -- retention


async def of_type(handraise: Service, days: float | None, **body: Any) -> dict[str, Any]:
    """A request of a type whose content is erased after so many days."""
    changed = await handraise.admin.patch("/api/request-types/clarification", json={"erase_after_days": days})
    assert changed.status_code == 200, changed.text
    return await handraise.ask(message="Kept for how long?", request_type="clarification", **body)


def steps(request: dict[str, Any]) -> dict[str, str]:
    return {step["step"]: step["at"] for step in request["plan"]}


async def close(handraise: Service, clock: StoppedClock, id: str, how: str) -> None:
    if how == "respond":
        await post(handraise.admin, f"/api/requests/{id}/respond", text="thirty days")
    elif how == "cancel":
        await post(handraise.agent, f"/api/requests/{id}/cancel", reason="thirty days")
    else:
        await pass_to(handraise, clock, clock.at + timedelta(hours=1))


@pytest.mark.parametrize("how", ["respond", "cancel", "expire"])
async def test_content_is_erased_so_many_days_after_closing(
    handraise: Service, database: str, clock: StoppedClock, how: str
) -> None:
    """Not a moment before; by the system, whichever way it closed; and then nothing is due any more."""
    request = await of_type(handraise, 30, expires_in_seconds=3600)
    assert "erase" not in steps(request)
    assert "erase" not in await due(database, request["id"])
    await close(handraise, clock, request["id"], how)
    closed = clock.at
    await pass_to(handraise, clock, closed + timedelta(minutes=1))  # what channels may have told of it is looked for
    path = f"/api/requests/{request['id']}"
    shown = await get(handraise.admin, path)
    assert steps(shown)["erase"] == (closed + 30 * DAY).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert shown["plan"][-1]["what"] == "content is erased 30 days after closing"
    assert await due(database, request["id"]) == {"erase": closed + 30 * DAY}
    await pass_to(handraise, clock, closed + 30 * DAY - timedelta(seconds=1))
    assert (await get(handraise.admin, path))["message"] == "Kept for how long?"
    await pass_to(handraise, clock, closed + 30 * DAY)
    erased = await get(handraise.admin, path)
    assert (erased["erased"], erased["message"], erased["closed_at"]) == (True, None, shown["closed_at"])
    assert "erase" not in steps(erased)
    last = (await get(handraise.admin, f"{path}/history"))["items"][-1]
    assert (last["type"], last["actor"]) == ("ContentErased", "system")
    await pass_to(handraise, clock, closed + 30 * DAY + timedelta(minutes=1))
    assert await due(database, request["id"]) == {}
    await settled(handraise)
    there = await everything(database)
    assert "Kept for how long?" not in there
    assert "thirty days" not in there.replace("30 days", "")
    await is_whole(database)
    head = await handraise.app.store.head()
    await pass_to(handraise, clock, closed + 90 * DAY)
    assert await handraise.app.store.head() == head


async def test_what_the_type_said_when_it_was_asked_holds(
    handraise: Service, database: str, clock: StoppedClock
) -> None:
    """A type that changes later changes nothing for requests that are there; none, half a day, none."""
    never = await of_type(handraise, None)
    soon = await of_type(handraise, 0.5)
    assert (await handraise.admin.patch("/api/request-types/clarification", json={"erase_after_days": 9})).is_success
    for request in (never, soon):
        await close(handraise, clock, request["id"], "respond")
    assert await due(database, never["id"]) == {}
    assert await due(database, soon["id"]) == {"erase": START + DAY / 2}
    await pass_to(handraise, clock, START + 9 * DAY)
    assert (await get(handraise.admin, f"/api/requests/{never['id']}"))["message"] == "Kept for how long?"
    assert (await get(handraise.admin, f"/api/requests/{soon['id']}"))["message"] is None
    requested = (await get(handraise.admin, f"/api/requests/{soon['id']}/history"))["items"][0]
    assert requested["plan"][-1] == {
        "step": "erase",
        "what": "content is erased 0.5 days after closing",
        "after_seconds": 43200.0,
    }


@pytest.mark.parametrize("acknowledged", [True, False])
async def test_a_sealed_answer_changes_nothing_of_it(
    handraise: Service, database: str, clock: StoppedClock, acknowledged: bool
) -> None:
    """Collected, acknowledged or shredded: the question is erased when its own time comes."""
    request = await of_type(handraise, 2, secret=True)
    path = f"/api/requests/{request['id']}"
    await post(handraise.admin, f"{path}/respond", text="1234")
    assert await due(database, request["id"]) == {"erase": START + 2 * DAY, "shred": START + DAY}
    await post(handraise.agent, f"{path}/collect", **RECEIPT)
    assert (await due(database, request["id"])).keys() == {"erase", "shred"}
    if acknowledged:
        await post(handraise.agent, f"{path}/acknowledge", **RECEIPT)
    else:
        await pass_to(handraise, clock, START + timedelta(minutes=2))
    assert await due(database, request["id"]) == {"erase": START + 2 * DAY}
    await pass_to(handraise, clock, START + 2 * DAY)
    assert (await get(handraise.admin, path))["erased"] is True
    assert await due(database, request["id"]) == {}


async def test_a_sealed_answer_that_nobody_collected_goes_with_the_content(
    handraise: Service, database: str, clock: StoppedClock
) -> None:
    """Where the content is erased first, the answer is not kept longer than the question."""
    request = await of_type(handraise, 0.25, secret=True)
    await post(handraise.admin, f"/api/requests/{request['id']}/respond", text="1234")
    await pass_to(handraise, clock, START + DAY / 4)
    assert await rows(database, "SELECT * FROM sealed_answers") == []
    gone = await handraise.agent.post(f"/api/requests/{request['id']}/collect", json=RECEIPT)
    assert gone.status_code == 410
    assert await due(database, request["id"]) == {}


async def test_erased_by_hand_nothing_is_left_to_do(handraise: Service, database: str, clock: StoppedClock) -> None:
    """And a second replica that had the step already does nothing twice."""
    request = await of_type(handraise, 1)
    id = UUID(request["id"])
    await close(handraise, clock, request["id"], "respond")
    assert await handraise.app.requests.erase_as_planned(id, clock.at) is True  # before its time: nothing happens
    assert (await get(handraise.admin, f"/api/requests/{id}"))["erased"] is False
    await post(handraise.admin, f"/api/requests/{id}/erase")
    assert await due(database, request["id"]) == {}
    assert await handraise.app.requests.erase_as_planned(id, START + 2 * DAY) is False
    events = [type(event) for _, event in await handraise.app.store.history(id)]
    assert events.count(Request.ContentErased) == 1
