"""Who may do what: every action, by every kind of caller, in every place a request can stand, literally."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from domain.callers import Role
from tests.support.read_models import rows, settled
from tests.support.service import Service

CALLERS = (
    "administrator",
    "auditor",
    "assignee",
    "past assignee",
    "list member",
    "claimant",
    "run user",
    "owner of the agent",
    "other person",
    "the agent",
    "another agent",
    "key of the run user",
    "key of another run user",
    "nobody",
    "revoked key",
)
PEOPLE = CALLERS[:9]
PATHS = {"bulk": "/api/requests/bulk", "explain": "/api/routing/explain"}
BODIES: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "respond": lambda caller, id: {"text": "yes"},
    "claim": lambda caller, id: {},
    "release": lambda caller, id: {},
    "delegate": lambda caller, id: {"to": "successor"},
    "reassign": lambda caller, id: {"to": "successor"},
    "bulk": lambda caller, id: {"action": "cancel", "ids": [id]},
    "cancel": lambda caller, id: {},
    "explain": lambda caller, id: {"message": "May I?"} | ({"agent": "asker"} if caller in PEOPLE else {}),
    "erase": lambda caller, id: {},
}

# The status of each action; the columns are the callers, in their order. The list's member and the claimant are both
# in the list; the claimant is the one who has claimed, where somebody has.

# It was the past assignee's and is the assignee's own.
ASSIGNED = """
          admin auditor asked asked1 member claimer runner owner other agent agent2 key  key2 nobody revoked
respond   200   403     200   403    403    403     403    403   403   403   404    403  404  401    401
claim     409   403     200   403    403    403     403    403   403   403   404    403  404  401    401
release   409   403     409   403    403    403     403    403   403   403   404    403  404  401    401
delegate  200   403     200   403    403    403     403    403   403   403   404    403  404  401    401
reassign  200   403     403   403    403    403     403    403   403   403   404    403  404  401    401
bulk      200   403     403   403    403    403     403    403   403   403   403    403  403  401    401
cancel    200   403     200   403    403    403     403    403   403   200   404    200  404  401    401
explain   200   200     403   403    403    403     403    403   403   200   200    200  200  401    401
erase     409   403     403   403    403    403     403    403   403   403   404    403  404  401    401
"""
# It stands in the inbox of the list, and nobody has claimed it.
SHARED = """
          admin auditor asked asked1 member claimer runner owner other agent agent2 key  key2 nobody revoked
respond   200   403     403   403    200    200     403    403   403   403   404    403  404  401    401
claim     200   403     403   403    200    200     403    403   403   403   404    403  404  401    401
release   409   403     403   403    403    403     403    403   403   403   404    403  404  401    401
delegate  200   403     403   403    403    403     403    403   403   403   404    403  404  401    401
reassign  200   403     403   403    403    403     403    403   403   403   404    403  404  401    401
bulk      200   403     403   403    403    403     403    403   403   403   403    403  403  401    401
cancel    200   403     403   403    403    403     403    403   403   200   404    200  404  401    401
explain   200   200     403   403    403    403     403    403   403   200   200    200  200  401    401
erase     409   403     403   403    403    403     403    403   403   403   404    403  404  401    401
"""
# The claimant has claimed it from there.
CLAIMED = """
          admin auditor asked asked1 member claimer runner owner other agent agent2 key  key2 nobody revoked
respond   200   403     403   403    409    200     403    403   403   403   404    403  404  401    401
claim     409   403     403   403    409    200     403    403   403   403   404    403  404  401    401
release   200   403     403   403    403    200     403    403   403   403   404    403  404  401    401
delegate  200   403     403   403    403    200     403    403   403   403   404    403  404  401    401
reassign  200   403     403   403    403    403     403    403   403   403   404    403  404  401    401
bulk      200   403     403   403    403    403     403    403   403   403   403    403  403  401    401
cancel    200   403     403   403    403    200     403    403   403   200   404    200  404  401    401
explain   200   200     403   403    403    403     403    403   403   200   200    200  200  401    401
erase     409   403     403   403    403    403     403    403   403   403   404    403  404  401    401
"""
# Nobody could be named: the administrators' own inbox.
UNASSIGNED = """
          admin auditor asked asked1 member claimer runner owner other agent agent2 key  key2 nobody revoked
respond   200   403     403   403    403    403     403    403   403   403   404    404  404  401    401
claim     200   403     403   403    403    403     403    403   403   403   404    404  404  401    401
release   409   403     403   403    403    403     403    403   403   403   404    404  404  401    401
delegate  200   403     403   403    403    403     403    403   403   403   404    404  404  401    401
reassign  200   403     403   403    403    403     403    403   403   403   404    404  404  401    401
bulk      200   403     403   403    403    403     403    403   403   403   403    403  403  401    401
cancel    200   403     403   403    403    403     403    403   403   200   404    404  404  401    401
explain   200   200     403   403    403    403     403    403   403   200   200    200  200  401    401
erase     409   403     403   403    403    403     403    403   403   403   404    404  404  401    401
"""
# The claimant has answered it, with another answer than the one that is tried here.
ANSWERED = """
          admin auditor asked asked1 member claimer runner owner other agent agent2 key  key2 nobody revoked
respond   409   403     403   403    409    409     403    403   403   403   404    403  404  401    401
claim     409   403     403   403    409    409     403    403   403   403   404    403  404  401    401
release   409   403     403   403    403    409     403    403   403   403   404    403  404  401    401
delegate  409   403     403   403    403    409     403    403   403   403   404    403  404  401    401
reassign  409   403     403   403    403    403     403    403   403   403   404    403  404  401    401
bulk      200   403     403   403    403    403     403    403   403   403   403    403  403  401    401
cancel    409   403     403   403    403    409     403    403   403   409   404    409  404  401    401
explain   200   200     403   403    403    403     403    403   403   200   200    200  200  401    401
erase     200   403     403   403    403    403     403    403   403   403   404    403  404  401    401
"""
# As SHARED, but of a type that the run user may not answer, and the run user is in the list.
NO_SELF_ANSWER = """
          admin auditor asked asked1 member claimer runner owner other agent agent2 key  key2 nobody revoked
respond   200   403     403   403    200    200     403    403   403   403   404    403  404  401    401
claim     200   403     403   403    200    200     403    403   403   403   404    403  404  401    401
"""
PLACES = {
    "assigned": ASSIGNED,
    "shared": SHARED,
    "claimed": CLAIMED,
    "unassigned": UNASSIGNED,
    "answered": ANSWERED,
    "no self answer": NO_SELF_ANSWER,
}


def matrix(table: str) -> dict[str, dict[str, int]]:
    """What each kind of caller gets of each action."""
    _, *lines = table.strip("\n").splitlines()
    cells = {name: values for name, *values in (re.split(r"\s+", line) for line in lines)}
    return {name: dict(zip(CALLERS, map(int, values), strict=True)) for name, values in cells.items()}


@dataclass
class Stage:
    """Everybody who may or may not do something, and requests where they are wanted."""

    handraise: Service
    clients: dict[str, httpx.AsyncClient]

    async def request(self, place: str) -> str:
        """A fresh request that stands there; its id."""
        body: dict[str, Any] = {"message": "May I?", "metadata": {"place": place}}
        if place != "unassigned":
            body["run_user"] = "runner"
        if place == "no self answer":
            body["request_type"] = "not-ones-own"
        created = await self.clients["the agent"].post("/api/requests", json=body)
        assert created.status_code == 201, created.text
        id = created.json()["id"]
        if place == "unassigned":
            return id
        await self.do("administrator", id, "reassign", {"to": "past"})
        if place == "assigned":
            await self.do("administrator", id, "reassign", {"to": "assignee"})
            return id
        await self.do("administrator", id, "reassign", {"list": "crew"})
        if place in ("claimed", "answered"):
            await self.do("claimant", id, "claim", {})
        if place == "answered":
            await self.do("claimant", id, "respond", {"text": "no"})
        return id

    async def do(self, caller: str, id: str, action: str, body: dict[str, Any]) -> None:
        response = await self.clients[caller].post(f"/api/requests/{id}/{action}", json=body)
        assert response.status_code == 200, response.text

    async def act(self, caller: str, id: str, action: str) -> int:
        path = PATHS.get(action, f"/api/requests/{id}/{action}")
        response = await self.clients[caller].post(path, json=BODIES[action](caller, id))
        if response.status_code >= 400:
            assert response.headers["content-type"] == "application/problem+json"
        return response.status_code

    async def events(self) -> dict[str, list[tuple[str, bytes]]]:
        """(topic, state) of all events of each request, in order."""
        found = await rows(
            self.handraise.app.conninfo,
            "SELECT originator_id::text, topic, state FROM handraise_events ORDER BY notification_id",
        )
        events: dict[str, list[tuple[str, bytes]]] = {}
        for id, topic, state in found:
            events.setdefault(id, []).append((topic, state))
        return events

    async def rows(self) -> dict[str, str]:
        """All that the list of requests says of each, but for the position."""
        await settled(self.handraise)
        found = await rows(
            self.handraise.app.conninfo,
            "SELECT request_id::text, (to_jsonb(r) - 'position')::text FROM request_list r",
        )
        return dict(found)


@pytest.fixture
async def stage(handraise: Service) -> Stage:
    """People, agents and keys of every kind."""
    people = {
        name: await handraise.person(name)
        for name in ("assignee", "past", "member", "claimant", "runner", "owner", "other", "successor")
    }
    directory = handraise.app.directory
    await directory.add("agent", {"name": "Asker", "owner": "owner"}, by=None, id="asker")
    await directory.add("list", {"name": "Crew", "members": ["member", "claimant"]}, by=None, id="crew")
    await directory.add("request_type", {"name": "Not one's own", "no_self_answer": True}, by=None, id="not-ones-own")

    async def key(**of: Any) -> httpx.AsyncClient:
        return await handraise.client((await handraise.app.keys.create(by=None, name="a key", **of)).key)

    revoked = await key(user="assignee", id="revoked")
    assert (await revoked.get("/api/me")).status_code == 200
    assert (await handraise.admin.delete("/api/keys/revoked")).status_code == 200
    clients = {
        "administrator": handraise.admin,
        "auditor": await handraise.person("auditor", Role.AUDITOR),
        "assignee": people["assignee"],
        "past assignee": people["past"],
        "list member": people["member"],
        "claimant": people["claimant"],
        "run user": people["runner"],
        "owner of the agent": people["owner"],
        "other person": people["other"],
        "the agent": await key(agent="asker"),
        "another agent": await handraise.another_agent("another"),
        "key of the run user": await key(agent="asker", run_user="runner"),
        "key of another run user": await key(agent="asker", run_user="other"),
        "nobody": handraise.nobody,
        "revoked key": revoked,
    }
    assert tuple(clients) == CALLERS
    return Stage(handraise, clients)


@pytest.mark.parametrize("place", PLACES)
async def test_who_may_do_what(stage: Stage, place: str) -> None:
    """Each on a request of its own; what is refused changes nothing but the note that somebody tried to answer."""
    expected = matrix(PLACES[place])
    if place == "no self answer":
        members = {"members": ["member", "claimant", "runner"]}
        assert (await stage.handraise.admin.patch("/api/lists/crew", json=members)).status_code == 200
    cases = [(action, caller) for action in expected for caller in CALLERS]
    staged = dict(zip(cases, await asyncio.gather(*(stage.request(place) for _ in cases)), strict=True))
    rows_before, events_before = await stage.rows(), await stage.events()
    statuses = await asyncio.gather(*(stage.act(caller, staged[action, caller], action) for action, caller in cases))
    found = dict(zip(cases, statuses, strict=True))
    assert found == {(action, caller): expected[action][caller] for action, caller in cases}
    rows_after, events_after = await stage.rows(), await stage.events()
    assert rows_after.keys() == rows_before.keys()
    for (action, caller), id in staged.items():
        before, after = events_before[id], events_after[id]
        assert after[: len(before)] == before
        news = [topic for topic, _ in after[len(before) :]]
        changed = rows_after[id] != rows_before[id]
        if found[action, caller] >= 400:
            known = action == "respond" and found[action, caller] in (403, 409)
            assert news == (["handraise.Request.AnswerRefused"] if known else []), (action, caller)
        if action == "explain" or found[action, caller] >= 400:
            assert not changed, (action, caller)
        elif action not in ("claim", "bulk"):
            assert changed, (action, caller)  # what is allowed has an effect


async def test_every_action_is_in_the_matrix(stage: Stage) -> None:
    """Every POST of the served OpenAPI that concerns a request; collecting has tests of its own."""
    paths = (await stage.handraise.nobody.get("/openapi.json")).json()["paths"]
    served = {
        path
        for path, methods in paths.items()
        if path.startswith(("/api/requests/", "/api/routing/")) and methods.keys() - {"get", "parameters"}
    }
    covered = {PATHS.get(action, f"/api/requests/{{id}}/{action}") for action in BODIES}
    assert served - {f"/api/requests/{{id}}/{other}" for other in ("collect", "acknowledge", "snooze")} == covered
    assert all(matrix(table).keys() == BODIES.keys() for place, table in PLACES.items() if place != "no self answer")
