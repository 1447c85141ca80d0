"""Answered is not enough: the agent says that it used the answer, once, and everybody who may read it sees that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.support.service import Service, service

BY_CARLA = {"type": "SpecificUser", "userID": "carla"}


@pytest.fixture
async def other(handraise: Service, database: str) -> AsyncIterator[Service]:
    """A second replica on the same database."""
    async with service(database, handraise.settings.data_dir) as replica:
        yield replica


async def acknowledge(client: httpx.AsyncClient, asked: dict[str, Any], **options: Any) -> httpx.Response:
    return await client.post(f"/api/requests/{asked['id']}/acknowledge", **options)


async def answer(handraise: Service, **asked: Any) -> dict[str, Any]:
    """A request that the administrator has answered."""
    request = await handraise.ask(**asked)
    done = await handraise.admin.post(f"/api/requests/{request['id']}/respond", json={"text": "yes"})
    assert done.status_code == 200, done.text
    return done.json()


async def test_an_agent_acknowledges_its_answer_once(handraise: Service, other: Service) -> None:
    """Ten times at once, on two replicas, with and without a body: one event; the request shows when, and stays as it
    was in all else. The same later, also after its content was erased, does nothing."""
    answered = await answer(handraise)
    assert answered["response"]["acknowledged_at"] is None
    bodies: list[dict[str, Any]] = [{}, {"json": {}}, {"json": {"receipt": None}}, {"json": {"receipt": "12345678"}}]
    replicas = [handraise, other] * 5
    done = await asyncio.gather(
        *(acknowledge(each.agent, answered, **bodies[n % 4]) for n, each in enumerate(replicas))
    )
    position = answered["position"] + 1
    assert [(each.status_code, each.json()) for each in done] == [(200, {"position": position})] * 10
    request = (await handraise.admin.get(f"/api/requests/{answered['id']}")).json()
    *_, event = (await handraise.admin.get(f"/api/requests/{answered['id']}/history")).json()["items"]
    assert event == {"position": position, "type": "Acknowledged", "at": event["at"], "actor": "default"}
    now = {"acknowledged_at": event["at"]}
    changed = {"response": answered["response"] | now, "position": position, "version": answered["version"] + 1}
    assert request == answered | changed

    unheard = await answer(handraise)
    for each in (request, unheard):
        assert (await handraise.admin.post(f"/api/requests/{each['id']}/erase")).status_code == 200
        assert (await acknowledge(handraise.agent, each)).status_code == 200
    history = (await handraise.admin.get(f"/api/requests/{unheard['id']}/history")).json()["items"]
    assert [each["type"] for each in history] == ["Requested", "Responded", "ContentErased", "Acknowledged"]
    shown = (await handraise.agent.get(f"/api/requests/{unheard['id']}")).json()
    assert (shown["status"], shown["response"]["text"]) == ("Responded", None)
    assert shown["response"]["acknowledged_at"] == history[-1]["at"]


async def test_only_the_agent_that_asked_acknowledges_and_only_an_answer(handraise: Service) -> None:
    """Neither people nor other agents, nor a key bound to somebody else; while it is open, or ended without an answer,
    the refusal says how it stands. Nothing of it leaves a trace."""
    carla = await handraise.person("carla")
    stranger = await handraise.another_agent("stranger")
    bound = await handraise.app.keys.create(by=None, name="bound", agent="default", run_user="carla")
    answered = await answer(handraise, assignment_strategy=BY_CARLA)
    open_, cancelled = await handraise.ask(), await handraise.ask()
    ended = await handraise.admin.post(f"/api/requests/{cancelled['id']}/cancel", json={})
    for client, asked, status in (
        (handraise.admin, answered, 403),
        (carla, answered, 403),
        (stranger, answered, 404),
        (await handraise.client(bound.key), answered, 404),
        (handraise.nobody, answered, 401),
        (handraise.agent, open_, 409),
        (handraise.agent, cancelled, 409),
    ):
        assert (await acknowledge(client, asked)).status_code == status
    assert (await acknowledge(handraise.agent, open_)).json()["title"] == "Not answered"
    refused = (await acknowledge(handraise.agent, cancelled)).json()
    assert refused["request"] == {"status": "Cancelled", "by": "admin", "at": ended.json()["closed_at"]}
    for wrong in ({"receipt": "short"}, {"receipt": 12345678}, {"recipe": "12345678"}):
        assert (await acknowledge(handraise.agent, answered, json=wrong)).status_code == 422
    assert await handraise.app.store.head() == ended.json()["position"]


async def test_people_see_unacknowledged_answers_of_their_own(handraise: Service, database: str) -> None:
    """In the dashboard, as its other figures: administrators of everybody, all others what they answered themselves."""
    carla, dora = await handraise.person("carla"), await handraise.person("dora")
    asked = await handraise.ask(assignment_strategy=BY_CARLA)
    await carla.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})
    answered = await answer(handraise)
    fresh = {"min_position": answered["position"]}

    async def figures(at: Service, *clients: httpx.AsyncClient) -> list[tuple[int, float]]:
        shown = [(await client.get("/api/dashboard", params=fresh)).json() for client in clients]
        return [(each["unacknowledged"], each["acknowledge_grace_seconds"]) for each in shown]

    everybody = (handraise.admin, carla, dora)
    assert await figures(handraise, *everybody) == [(0, 300), (0, 300), (0, 300)]
    async with service(database, handraise.settings.data_dir, acknowledge_grace_seconds=0) as strict:
        keys = [client.headers["Authorization"].removeprefix("Bearer ") for client in everybody]
        strictly = [await strict.client(key) for key in keys]
        assert await figures(strict, *strictly) == [(2, 0), (1, 0), (0, 0)]
        fresh = {"min_position": (await acknowledge(handraise.agent, asked)).json()["position"]}
        assert await figures(strict, *strictly) == [(1, 0), (0, 0), (0, 0)]
