"""The wire contract's conventions, for every call there is: callers, ids, positions, pages, problems, secrets."""

from __future__ import annotations

import asyncio
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, quote
from uuid import UUID, uuid4

import httpx
import pytest
import pytest_asyncio

from domain.callers import Role
from interfaces.postgres.clock import DatabaseClock
from tests.support.postgres import TestServer
from tests.support.service import Service, service

pytestmark = pytest.mark.asyncio(loop_scope="module")

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
RECEIPT = "receipt-made-at-random-1"
NOBODY = "00000000-0000-4000-8000-000000000000"

CALLS = [
    ("POST", "/api/requests"),
    ("GET", "/api/requests/{id}"),
    ("GET", "/api/requests/{id}/wait"),
    ("GET", "/api/requests/{id}/history"),
    ("POST", "/api/requests/{id}/respond"),
    ("POST", "/api/requests/{id}/cancel"),
    ("POST", "/api/requests/{id}/reassign"),
    ("POST", "/api/requests/{id}/collect"),
    ("POST", "/api/requests/{id}/acknowledge"),
    ("POST", "/api/requests/{id}/erase"),
    ("POST", "/api/human-feedback/submit"),
    ("GET", "/api/users"),
    ("POST", "/api/users"),
    ("GET", "/api/agents"),
    ("POST", "/api/agents"),
    ("GET", "/api/keys"),
    ("POST", "/api/keys"),
    ("DELETE", "/api/keys/{id}"),
    ("GET", "/api/requests"),
    ("GET", "/api/inbox"),
    ("GET", "/api/dashboard"),
    ("GET", "/api/audit"),
    ("GET", "/api/audit/export"),
    ("GET", "/api/audit/head"),
    ("GET", "/api/stream"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def handraise(
    postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Service]:
    """One service for all tests that look at nothing but what they make themselves."""
    database = await postgres.create_database(template)
    async with service(database, tmp_path_factory.mktemp("service")) as made:
        yield made
    await postgres.drop_database(database)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def other(handraise: Service) -> AsyncIterator[Service]:
    """A second replica on the same database."""
    async with service(handraise.app.conninfo, handraise.settings.data_dir) as replica:
        yield replica


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def auditor(handraise: Service) -> httpx.AsyncClient:
    """An auditor."""
    return await handraise.person("auditor", Role.AUDITOR)


def problem(response: httpx.Response, status: int, title: str | None = None) -> dict[str, Any]:
    """The problem document of this response, whose shape is checked."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["type"] == f"urn:handraise:problem:{document['title'].lower().replace(' ', '-')}"
    assert document["status"] == status
    assert isinstance(document["detail"], str)
    assert document["detail"]
    assert ("errors" in document) == (status == 422)
    for error in document.get("errors", []):
        assert error.keys() == {"path", "message"}
        assert error["message"]
    assert set(document) <= {"type", "title", "status", "detail", "errors", "request"}
    if title is not None:
        assert document["title"] == title
    return document


def fields(response: httpx.Response) -> list[str]:
    """The failing fields of a 422."""
    return [error["path"] for error in problem(response, 422)["errors"]]


async def post(client: httpx.AsyncClient, path: str, **body: Any) -> httpx.Response:
    return await client.post(path, json=body)


# -- who is calling


NO_KEYS = [None, "", "Bearer", "Bearer ", "Bearer hr_unknown", "Basic YWRtaW46YWRtaW4=", "hr_unknown", "Bearer é"]


async def test_without_a_key_every_call_is_401(handraise: Service) -> None:
    """Every call needs a key, says how to send one, and says nothing of what is there; the body is not looked at."""
    asked = await handraise.ask()
    for method, path in CALLS:
        for authorization in NO_KEYS:
            headers = {} if authorization is None else {"Authorization": authorization.encode()}
            content = b"{" if method == "POST" else None
            address = path.format(id=asked["id"])
            response = await handraise.nobody.request(method, address, headers=headers, content=content)
            assert problem(response, 401, "Unauthorized")["detail"]
            assert response.headers["www-authenticate"].startswith("Bearer")


async def test_what_needs_no_key(handraise: Service) -> None:
    """Life, readiness and metrics are for machines; they tell nothing of what is asked."""
    await handraise.ask(message="Very private")
    assert (await handraise.nobody.get("/healthz")).json() == {"status": "alive"}
    assert (await handraise.nobody.get("/readyz")).json()["status"] == "ready"
    metrics = await handraise.nobody.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    assert "handraise_waiting" in metrics.text
    assert "private" not in metrics.text
    document = (await handraise.nobody.get("/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    documented = {(method.upper(), path) for path, operations in document["paths"].items() for method in operations}
    assert set(CALLS) <= documented


async def test_a_key_is_shown_once_and_works_until_it_is_revoked_on_every_replica(
    handraise: Service, other: Service
) -> None:
    """A revoked key is 401 at once on both replicas, in the middle of anything; other keys go on."""
    created = await post(handraise.admin, "/api/keys", name="Deploy bot", agent="default")
    assert created.status_code == 201
    assert created.headers["cache-control"] == "no-store"
    key = created.json()
    assert key == {"id": "deploy-bot", "key": key["key"], "position": key["position"]}
    assert key["key"].startswith("hr_")
    assert key["key"] not in (await handraise.admin.get("/api/keys")).text

    asked = await handraise.ask()
    clients = [await replica.client(key["key"]) for replica in (handraise, other)]
    for client in clients:
        assert (await client.get(f"/api/requests/{asked['id']}")).json() == asked
    revoked = await other.admin.delete("/api/keys/deploy-bot")
    assert (revoked.status_code, revoked.json()) == (200, {"position": revoked.json()["position"]})
    assert revoked.json()["position"] > key["position"]
    for client in clients:
        problem(await client.get(f"/api/requests/{asked['id']}"), 401)
        problem(await client.post(f"/api/requests/{asked['id']}/cancel"), 401)
    assert (await handraise.agent.get(f"/api/requests/{asked['id']}")).json() == asked
    again = await handraise.admin.delete("/api/keys/deploy-bot")
    assert again.status_code == 200
    shown = {entry["id"]: entry["revoked"] for entry in (await handraise.admin.get("/api/keys")).json()["items"]}
    assert shown["deploy-bot"] is True
    problem(await handraise.admin.delete("/api/keys/unknown"), 404, "Not found")


async def test_a_key_ends_at_its_instant_on_every_replica(handraise: Service, other: Service) -> None:
    """A key is 401 on both replicas once its instant has come; until then it works on both."""
    now = datetime.now(UTC)
    keys = []
    for name, expires_at in (("lasting", now + timedelta(hours=1)), ("ending", now + timedelta(seconds=5))):
        body = {"name": name, "user": "admin", "expires_at": expires_at.isoformat()}
        created = await post(handraise.admin, "/api/keys", **body)
        assert created.status_code == 201, created.text
        keys.append(created.json()["key"])
    asked = await handraise.ask()
    await handraise.agent.get(f"/api/requests/{asked['id']}/wait?timeout_seconds=5.1")
    for replica in (handraise, other):
        lasting, ending = [await replica.client(key) for key in keys]
        assert (await lasting.get("/api/users")).status_code == 200
        problem(await ending.get("/api/users"), 401)


async def test_the_databases_clock_ends_a_key(fresh: Service, database: str) -> None:
    """What counts is the database's time, not the server's own."""
    until = datetime.now(UTC) + timedelta(hours=1)
    created = await post(fresh.admin, "/api/keys", name="k", user="admin", expires_at=until.isoformat())
    later = DatabaseClock("(clock_timestamp() + interval '61 minutes')")
    async with service(database, fresh.settings.data_dir, clock=later) as then:
        problem(await (await then.client(created.json()["key"])).get("/api/users"), 401)
    assert (await (await fresh.client(created.json()["key"])).get("/api/users")).status_code == 200


KEYS_REFUSED = [
    ({"name": "k"}, "agent"),
    ({"name": "k", "agent": "default", "user": "admin"}, "agent"),
    ({"name": "k", "agent": "unknown"}, "agent"),
    ({"name": "k", "user": "unknown"}, "user"),
    ({"name": "k", "user": "admin", "run_user": "admin"}, "run_user"),
    ({"name": "k", "agent": "default", "run_user": "unknown"}, "run_user"),
    ({"name": "k", "agent": "default", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
    ({"name": " ", "agent": "default"}, "name"),
    ({"name": "k", "agent": "default", "id": "Not readable"}, "id"),
    ({"agent": "default"}, "name"),
    ({"name": "k", "agent": "default", "key": "hr_mine"}, "key"),
]


async def test_a_key_belongs_to_exactly_one(handraise: Service) -> None:
    """A key for nobody, for two, or for somebody unknown is refused by name."""
    for body, path in KEYS_REFUSED:
        assert fields(await post(handraise.admin, "/api/keys", **body)) == [path], body


async def test_the_command_that_only_one_kind_of_caller_has(handraise: Service) -> None:
    """Agents ask and collect, people answer; each is told what to do instead."""
    asked = await handraise.ask(secret=True)
    path = f"/api/requests/{asked['id']}"
    assert "agent's key" in problem(await post(handraise.admin, "/api/requests", message="x"), 403)["detail"]
    for refused in (
        await post(handraise.admin, f"{path}/collect", receipt=RECEIPT),
        await post(handraise.admin, f"{path}/acknowledge", receipt=RECEIPT),
        await post(handraise.agent, f"{path}/respond", text="x"),
        await post(handraise.agent, f"{path}/reassign", to="admin"),
        await handraise.agent.post(f"{path}/erase"),
        await handraise.agent.get("/api/users"),
        await handraise.agent.get("/api/agents"),
        await handraise.agent.get("/api/keys"),
        await post(handraise.agent, "/api/users", name="x"),
        await post(handraise.agent, "/api/agents", name="x"),
        await post(handraise.agent, "/api/keys", name="x", agent="default"),
        await handraise.agent.delete("/api/keys/x"),
    ):
        problem(refused, 403)


# -- whose request


async def test_another_agents_request_is_404_whatever_is_tried(handraise: Service) -> None:
    """To another agent there is no such request: no call tells whether it exists, and none leaves a trace."""
    asked = await handraise.ask(unique_id="mine", secret=True)
    stranger = await handraise.another_agent("stranger")
    tries = {
        "": None,
        "/wait?timeout_seconds=0": None,
        "/history": None,
        "/respond": {"text": "x"},
        "/cancel": {},
        "/reassign": {"to": "admin"},
        "/collect": {"receipt": RECEIPT},
        "/acknowledge": {"receipt": RECEIPT},
        "/erase": {},
    }
    for name in (asked["id"], "mine"):
        for path, body in tries.items():
            url = f"/api/requests/{name}{path}"
            there = await (stranger.get(url) if body is None else stranger.post(url, json=body))
            nowhere = await (
                stranger.get(f"/api/requests/{uuid4()}{path}")
                if body is None
                else stranger.post(f"/api/requests/{uuid4()}{path}", json=body)
            )
            assert problem(there, 404) == problem(nowhere, 404), (name, path)
    for agent in (None, "default", "unknown"):
        body = {"unique_id": "mine", "response": "x", "agent": agent}
        problem(await stranger.post("/api/human-feedback/submit", json=body), 404)
    assert (await handraise.agent.get("/api/requests/mine")).json() == asked


async def test_a_key_bound_to_a_run_user_speaks_for_that_persons_runs_only(handraise: Service) -> None:
    """It asks in that person's name without saying so, and other runs of the same agent are not there for it."""
    await handraise.person("alice")
    await handraise.person("bob")
    bound = await handraise.another_agent("worker", run_user="alice")
    free_key = await handraise.app.keys.create(by=None, name="free", agent="worker")
    free = await handraise.client(free_key.key)

    implied = await post(bound, "/api/requests", message="x", unique_id="implied")
    said = await post(bound, "/api/requests", message="x", unique_id="said", run_user="alice")
    assert [(made.status_code, made.json()["run_user"]) for made in (implied, said)] == [(201, "alice")] * 2
    foreign = await post(bound, "/api/requests", message="x", run_user="bob")
    assert "bound to another run_user" in problem(foreign, 403)["detail"]

    for run_user in ("bob", None):
        name = f"of-{run_user}"
        theirs = await post(free, "/api/requests", message="x", unique_id=name, run_user=run_user)
        assert theirs.status_code == 201
        for id in (name, theirs.json()["id"]):
            problem(await bound.get(f"/api/requests/{id}"), 404)
            problem(await bound.get(f"/api/requests/{id}/wait?timeout_seconds=0"), 404)
            problem(await bound.post(f"/api/requests/{id}/cancel"), 404)
        taken = await post(bound, "/api/requests", message="x", unique_id=name)
        assert "already exists" in problem(taken, 409)["detail"]
    assert (await free.get("/api/requests/implied")).json() == implied.json()
    assert (await bound.post("/api/requests/implied/cancel")).status_code == 200


async def test_who_may_read(handraise: Service, auditor: httpx.AsyncClient) -> None:
    """The assignee, past assignees, the run user, the agent's owner, administrators and auditors; nobody else."""
    people = {name: await handraise.person(name) for name in ("asked", "former", "owner", "stranger")}
    added = await post(handraise.admin, "/api/agents", name="Owned", owner="owner")
    key = await post(handraise.admin, "/api/keys", name="owned", agent=added.json()["id"])
    agent = await handraise.client(key.json()["key"])
    request = (await post(agent, "/api/requests", message="x", run_user="former")).json()
    path = f"/api/requests/{request['id']}"
    moved = (await post(handraise.admin, f"{path}/reassign", to="asked")).json()
    for reader in (agent, handraise.admin, auditor, people["asked"], people["former"], people["owner"]):
        for suffix in ("", "/wait?timeout_seconds=0"):
            assert (await reader.get(f"{path}{suffix}")).json() == moved
        assert len((await reader.get(f"{path}/history")).json()["items"]) == 2
    for suffix in ("", "/wait?timeout_seconds=0", "/history"):
        refused = problem(await people["stranger"].get(f"{path}{suffix}"), 403, "Not allowed")
        assert "administrator can reassign it to you" in refused["detail"]
    problem(await people["owner"].post(f"{path}/cancel"), 403)
    problem(await people["former"].post(f"{path}/cancel"), 403)
    assert (await people["asked"].post(f"{path}/cancel")).json()["cancelled"]["by"] == "asked"


async def test_auditors_read_everything_and_change_nothing(handraise: Service, auditor: httpx.AsyncClient) -> None:
    """Even where an auditor is the run user: every write is 403, and nothing of it is done."""
    asked = await handraise.ask(run_user="auditor", unique_id="audited")
    closed = await handraise.ask()
    await handraise.agent.post(f"/api/requests/{closed['id']}/cancel")
    path = f"/api/requests/{asked['id']}"
    for refused in (
        await post(auditor, "/api/requests", message="x"),
        await post(auditor, f"{path}/respond", text="x"),
        await post(auditor, "/api/human-feedback/submit", unique_id="audited", response="x"),
        await auditor.post(f"{path}/cancel"),
        await post(auditor, f"{path}/reassign", to="admin"),
        await post(auditor, f"{path}/collect", receipt=RECEIPT),
        await auditor.post(f"/api/requests/{closed['id']}/erase"),
        await post(auditor, "/api/users", name="x"),
        await post(auditor, "/api/agents", name="x"),
        await post(auditor, "/api/keys", name="x", agent="default"),
        await auditor.delete("/api/keys/auditor-key"),
    ):
        problem(refused, 403)
    after = (await auditor.get(path)).json()
    assert {**after, "position": 0, "version": 0} == {**asked, "position": 0, "version": 0}
    for collection in ("users", "agents", "keys"):
        mine = (await auditor.get(f"/api/{collection}")).json()
        assert mine["items"] == (await handraise.admin.get(f"/api/{collection}")).json()["items"]


async def test_members_see_names_only(fresh: Service) -> None:
    """Everybody signed in may find people by id and name; addresses, roles and keys are for administrators."""
    await post(fresh.admin, "/api/users", name="Alice Ü", email="alice@e.test", id="alice")
    member = await fresh.person("member")
    assert (await member.get("/api/users")).json()["items"] == [
        {"id": "admin", "name": "Administrator"},
        {"id": "alice", "name": "Alice Ü"},
        {"id": "member", "name": "Member"},
    ]
    alice = (await fresh.admin.get("/api/users")).json()["items"][1]
    assert alice == {
        "id": "alice",
        "name": "Alice Ü",
        "email": "alice@e.test",
        "role": "member",
        "active": True,
        "slack_user_id": None,
        "time_zone": None,
        "quiet_hours": None,
        "out_of_office": None,
    }
    for collection in ("lists", "agents", "agent-types", "categories", "request-types", "keys", "directory"):
        problem(await member.get(f"/api/{collection}"), 403)
    problem(await post(member, "/api/users", name="x"), 403)
    problem(await post(member, "/api/agents", name="x"), 403)
    problem(await post(member, "/api/keys", name="x", agent="default"), 403)


# -- ids


async def test_a_request_is_found_by_its_uuid_and_by_its_own_unique_id(handraise: Service) -> None:
    """The UUID first; an agent's own unique_id; for people a unique_id that only one agent used."""
    asked = await handraise.ask(unique_id="Größe 1 %2F&?#;", message="Größe?")
    assert UUID(asked["id"]).version == 5
    for client in (handraise.agent, handraise.admin):
        for name in (asked["id"], "Größe 1 %252F&%3F%23;"):
            for suffix in ("", "/wait?timeout_seconds=0"):
                found = await client.get(f"/api/requests/{name}{suffix}")
                assert (found.status_code, found.json()) == (200, asked), name
    problem(await handraise.agent.get(f"/api/requests/{asked['id'].upper()}"), 404)


async def test_a_unique_id_of_several_agents_is_409_for_people(handraise: Service) -> None:
    """The refusal lists the agents; the agent named, or the id, settles it. Agents are not troubled by it."""
    agents = {"default": handraise.agent, "beta": await handraise.another_agent("beta")}
    made = {
        name: (await post(agent, "/api/requests", message=f"From {name}", unique_id="shared")).json()
        for name, agent in agents.items()
    }
    for refused in (
        await handraise.admin.get("/api/requests/shared"),
        await handraise.admin.get("/api/requests/shared/wait"),
        await handraise.admin.get("/api/requests/shared/history"),
        await post(handraise.admin, "/api/requests/shared/respond", text="x"),
        await handraise.admin.post("/api/requests/shared/cancel"),
        await post(handraise.admin, "/api/human-feedback/submit", unique_id="shared", response="x"),
    ):
        assert "beta, default" in problem(refused, 409, "Ambiguous id")["detail"]
    for name, agent in agents.items():
        assert (await agent.get("/api/requests/shared")).json() == made[name]
        answered = await post(
            handraise.admin, "/api/human-feedback/submit", unique_id="shared", response=f"to {name}", agent=name
        )
        assert answered.json() == {"success": True, "position": answered.json()["position"]}
        assert (await agent.get("/api/requests/shared")).json()["response"]["text"] == f"to {name}"


UUIDS = [
    "7f8d5b0e-3c1a-4f6e-9a2b-1c2d3e4f5a6b",  # version 4
    "7f8d5b0e-3c1a-5f6e-9a2b-1c2d3e4f5a6b",  # version 5
    "7F8D5B0E-3C1A-5F6E-9A2B-1C2D3E4F5A6B",
    "7f8d5b0e3c1a5f6e9a2b1c2d3e4f5a6b",
    "00000000-0000-0000-0000-000000000000",
]


async def test_a_unique_id_may_look_like_a_uuid(handraise: Service) -> None:
    """Agents like to make UUIDs: such a unique_id works in every call."""
    for unique_id in UUIDS:
        asked = await handraise.ask(unique_id=unique_id)
        path = f"/api/requests/{unique_id}"
        for client in (handraise.agent, handraise.admin):
            assert (await client.get(path)).json() == asked
            assert (await client.get(f"{path}/wait?timeout_seconds=0.05")).json() == asked
            assert len((await client.get(f"{path}/history")).json()["items"]) == 1
        waiting = asyncio.create_task(handraise.agent.get(f"{path}/wait"))
        await handraise.waiting()
        answered = await post(handraise.admin, f"{path}/respond", text="yes")
        assert answered.status_code == 200, answered.text
        assert (await asyncio.wait_for(waiting, 10)).json() == answered.json()


async def test_a_unique_id_that_is_another_agents_request_id_is_ones_own(handraise: Service) -> None:
    """One agent's unique_id never reaches another agent's request, even if it is that request's UUID."""
    theirs = await handraise.ask(message="Theirs")
    stranger = await handraise.another_agent("outsider")
    mine = (await post(stranger, "/api/requests", message="Mine", unique_id=theirs["id"])).json()
    path = f"/api/requests/{theirs['id']}"
    assert (await stranger.get(path)).json() == mine
    assert (await handraise.agent.get(path)).json() == theirs
    assert (await stranger.post(f"{path}/cancel")).json()["status"] == "Cancelled"
    assert (await handraise.agent.get(path)).json() == theirs
    assert (await handraise.admin.get(path)).json() == theirs


async def test_what_a_unique_id_may_be(handraise: Service) -> None:
    """Up to 200 characters of any script."""
    for unique_id in ("x" * 200, "a b", "ünï", "漢字", "👍", "-", "a.b:c;d,e@f", "...", "%41", "a\u200bb"):
        asked = await handraise.ask(unique_id=unique_id)
        assert asked["unique_id"] == unique_id
        found = await handraise.agent.get(f"/api/requests/{quote(unique_id)}")
        assert (found.status_code, found.json()) == (200, asked)


async def test_what_a_unique_id_may_not_be(handraise: Service) -> None:
    """It appears in addresses, logs and on screens."""
    for unique_id in ("", " ", "x" * 201, "a/b", "a\\b", ".", "..", "a\nb", "a\tb", "\x7f", "a\u2028b"):
        assert fields(await post(handraise.agent, "/api/requests", message="x", unique_id=unique_id)) == ["unique_id"]


async def test_a_request_without_unique_id_gets_one(handraise: Service) -> None:
    """Two such requests are two requests."""
    first, second = await handraise.ask(), await handraise.ask()
    assert first["unique_id"] != second["unique_id"]
    assert (await handraise.agent.get(f"/api/requests/{first['unique_id']}")).json() == first


# -- the shape of things


async def test_a_request_has_exactly_the_fields_of_the_contract(handraise: Service) -> None:
    """All fields are there from the start, null where nothing is known; names are snake_case, people are ids."""
    await handraise.person("ruth")
    asked = await handraise.ask(
        unique_id="whole",
        message="m",
        context="c",
        request_type="approval",
        labels={"approve": "Go"},
        run_id="r",
        run_step_id="s",
        run_user="ruth",
        priority=7,
        expires_at="2030-01-02T03:04:05Z",
        ui_schema={"a": 1},
        metadata={"b": [1, {"c": None}]},
    )
    assert asked == {
        "id": asked["id"],
        "unique_id": "whole",
        "status": "Requested",
        "message": "m",
        "context": "c",
        "request_type": "approval",
        "agent": "default",
        "run_id": "r",
        "run_step_id": "s",
        "run_user": "ruth",
        "response_schema": None,
        "ui_schema": {"a": 1},
        "options": None,
        "labels": {"approve": "Go", "reject": "Reject"},
        "secret": False,
        "priority": 7,
        "assigned_to": "ruth",
        "list": None,
        "claimed": False,
        "assignment": asked["assignment"],
        "plan": [
            {"step": "show", "at": asked["created_at"], "what": "shown in the inbox"},
            {"step": "expire", "at": "2030-01-02T03:04:05.000Z", "what": "expires unless it was answered"},
        ],
        "created_at": asked["created_at"],
        "expires_at": "2030-01-02T03:04:05.000Z",
        "closed_at": None,
        "snoozed_until": None,
        "metadata": {"b": [1, {"c": None}]},
        "response": None,
        "cancelled": None,
        "erased": False,
        "position": asked["position"],
        "version": 1,
    }
    assert asked["assignment"].keys() == {"level", "strategy", "candidates", "chosen", "reason", "trace"}
    assert (asked["assignment"]["chosen"], asked["assignment"]["candidates"]) == ("ruth", ["ruth"])


async def test_every_write_answers_with_its_position_and_every_instant_is_utc(fresh: Service) -> None:
    """Positions rise with every write, are the ones that history shows, and a repeat answers with the first one."""
    await fresh.person("alice")
    positions: list[int] = []

    async def written(client: httpx.AsyncClient, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
        response = await post(client, path, **body)
        assert response.status_code == status, response.text
        positions.append(response.json()["position"])
        return response.json()

    await written(fresh.admin, "/api/users", 201, name="Bob")
    await written(fresh.admin, "/api/agents", 201, name="Bot", owner="bob")
    await written(fresh.admin, "/api/keys", 201, name="Bot key", agent="bot", expires_at="2030-01-01T00:00:00Z")
    asked = await written(fresh.agent, "/api/requests", 201, message="x", unique_id="q", expires_in_seconds=60)
    path = f"/api/requests/{asked['id']}"
    await written(fresh.admin, f"{path}/reassign", to="alice")
    await written(fresh.admin, "/api/human-feedback/submit", unique_id="q", response="yes")
    await written(fresh.admin, f"{path}/erase")
    cancelled = await written(fresh.agent, "/api/requests", 201, message="x", unique_id="c")
    await written(fresh.agent, "/api/requests/c/cancel")
    assert positions == sorted(set(positions))

    history = (await fresh.admin.get(f"{path}/history")).json()
    assert [event["position"] for event in history["items"]] == positions[3:7]
    assert history["position"] == positions[6]
    repeat = await post(fresh.agent, "/api/requests", message="x", unique_id="c")
    assert (repeat.status_code, repeat.json()["position"]) == (200, positions[-1])
    revoked = await fresh.admin.delete("/api/keys/bot-key")
    assert revoked.json() == {"position": positions[-1] + 1}
    assert (await fresh.admin.get("/api/users")).json()["position"] == positions[-1] + 1

    instants = [
        value
        for source in (
            (await fresh.agent.get(path)).json(),
            (await fresh.agent.get(f"/api/requests/{cancelled['id']}")).json(),
            history,
            (await fresh.admin.get("/api/keys")).json(),
        )
        for value in found_instants(source)
    ]
    assert len(instants) > 10
    assert all(INSTANT.fullmatch(value) for value in instants), instants


def found_instants(value: Any) -> list[str]:
    """Every text below a field whose name says that it is an instant."""
    if isinstance(value, list):
        return [found for item in value for found in found_instants(item)]
    if not isinstance(value, dict):
        return []
    found = [at for name, at in value.items() if (name == "at" or name.endswith("_at")) and at is not None]
    return found + [at for inner in value.values() for at in found_instants(inner)]


async def test_every_failing_field_is_named_at_once(handraise: Service) -> None:
    """A refusal names all that is wrong, not only the first; the detail says the first and how many more."""
    refused = await post(
        handraise.agent,
        "/api/requests",
        message=5,
        priority=101,
        expires_in_seconds=0,
        options=["a", 1],
        labels={"approve": 1, "maybe": "x"},
        surprise=True,
    )
    assert sorted(fields(refused)) == [
        "expires_in_seconds",
        "labels/approve",
        "labels/maybe",
        "message",
        "options/1",
        "priority",
        "surprise",
    ]
    assert refused.json()["detail"] == "message: Input should be a valid string (and 6 more)"
    refused = await post(
        handraise.agent, "/api/requests", message=" ", unique_id="a/b", request_type="x", run_id="", options=["a", "a"]
    )
    assert {"message", "unique_id", "request_type", "run_id"} < set(fields(refused))


async def test_a_submit_of_another_type_names_the_field(handraise: Service) -> None:
    """A response is text or an object; anything else is refused by that name."""
    await handraise.ask(unique_id="q")
    for response in (5, True, None, ["a"]):
        refused = await post(handraise.admin, "/api/human-feedback/submit", unique_id="q", response=response)
        assert fields(refused) == ["response"]
    assert fields(await post(handraise.admin, "/api/human-feedback/submit")) == ["unique_id", "response"]


# -- the directory


async def test_entries_get_a_readable_id(handraise: Service) -> None:
    """Given, or made from the name; unique per kind and never reused."""
    made = [
        (await post(handraise.admin, "/api/users", name=name)).json()["id"]
        for name in ("José Álvarez", "José Álvarez", "漢字", "漢字", "Admin")
    ]
    assert made == ["jose-alvarez", "jose-alvarez-2", "user", "user-2", "admin-2"]
    assert (await post(handraise.admin, "/api/agents", name="José Álvarez")).json()["id"] == "jose-alvarez"
    taken = await post(handraise.admin, "/api/users", name="Other", id="jose-alvarez")
    assert "jose-alvarez" in problem(taken, 409, "Already exists")["detail"]
    key = await post(handraise.admin, "/api/keys", name="k", id="k", agent="default")
    await handraise.admin.delete("/api/keys/k")
    assert key.status_code == 201
    problem(await post(handraise.admin, "/api/keys", name="k", id="k", agent="default"), 409)


PEOPLE_REFUSED = [
    ({}, "name"),
    ({"name": ""}, "name"),
    ({"name": " "}, "name"),
    ({"name": "x" * 201}, "name"),
    ({"name": 5}, "name"),
    ({"name": "x", "role": "root"}, "role"),
    ({"name": "x", "id": ""}, "id"),
    ({"name": "x", "id": "Alice"}, "id"),
    ({"name": "x", "id": "a/b"}, "id"),
    ({"name": "x", "id": "x" * 65}, "id"),
    ({"name": "x", "email": ""}, "email"),
    ({"name": "x", "password": "x"}, "password"),
]


async def test_a_person_needs_a_name_and_fitting_fields(handraise: Service) -> None:
    """What does not fit is refused by name."""
    for body, path in PEOPLE_REFUSED:
        assert fields(await post(handraise.admin, "/api/users", **body)) == [path], body


async def test_parallel_additions_of_one_name_are_all_there(handraise: Service, other: Service) -> None:
    """Ten people of one name on two replicas at once get ten ids."""
    added = await asyncio.gather(
        *(post(replica.admin, "/api/users", name="Kim") for replica in (handraise, other) for _ in range(5))
    )
    ids = {response.json()["id"] for response in added}
    assert ids == {"kim"} | {f"kim-{number}" for number in range(2, 11)}


async def test_the_directory_comes_in_pages(handraise: Service) -> None:
    """Entries stand in the order of their ids."""
    for collection in ("users", "agents", "keys"):
        for number in range(7):
            body = {"name": f"Entry {number:02}"} | ({"agent": "default"} if collection == "keys" else {})
            assert (await post(handraise.admin, f"/api/{collection}", **body)).status_code == 201
        whole = await paged(handraise.admin, f"/api/{collection}")
        ids = [entry["id"] for entry in whole]
        assert ids == sorted(ids)
        assert len(ids) >= 8


# -- lists

LISTS = ["/api/users", "/api/agents", "/api/keys", "/api/requests", "/api/inbox", "/api/audit"]


async def paged(client: httpx.AsyncClient, path: str, **params: Any) -> list[dict[str, Any]]:
    """All items of a list; pages of every size lead through them once and in the same order."""
    whole = (await client.get(path, params={**params, "limit": 200})).json()
    assert whole.keys() == {"items", "next_cursor", "position"}, whole
    assert whole["next_cursor"] is None
    count = len(whole["items"])
    for limit in {1, 2, 3, max(1, count - 1), max(1, count), count + 1}:
        found: list[Any] = []
        cursor: str | None = None
        pages = 0
        while cursor is not None or pages == 0:
            query = {**params, "limit": limit} | ({"cursor": cursor} if cursor else {})
            page = (await client.get(path, params=query)).json()
            assert len(page["items"]) <= limit
            found += page["items"]
            cursor, pages = page["next_cursor"], pages + 1
        assert found == whole["items"], (path, params, limit)
        assert pages == max(1, -(-count // limit))
    return whole["items"]


NASTY = [
    "",
    "a",
    "\ud800",
    "a\0",
    "9" * 30,
    "-1",
    "infinity",
    "2030-01-01",
    NOBODY,
    "' OR 1=1; --",
    "%s",
    "٣",
    1,
    None,
    [],
]


def forged(cursor: str) -> list[str]:
    """Cursors like this one, but for one part that was never given; and some that are like none."""
    parts = json.loads(urlsafe_b64decode(cursor + "=="))
    changed = [[*parts[:at], nasty, *parts[at + 1 :]] for at in range(len(parts)) for nasty in NASTY]
    lists = [*changed, parts[:-1], [*parts, "a"], parts * 2]
    like_none = ["é", "_w", "x" * 3000, "AA", "", "====", "[]", "W10", "e30", "bnVsbA", "W1tdXQ"]
    return like_none + [urlsafe_b64encode(json.dumps(parts).encode()).decode() for parts in lists]


async def test_a_page_that_makes_no_sense_is_refused(handraise: Service) -> None:
    """Sizes outside 1–200 are 422 by name; a cursor that was never given is refused, and cannot do harm."""
    for name in ("first", "second"):
        await post(handraise.admin, "/api/users", name=name)
        await post(handraise.admin, "/api/agents", name=name)
        last = await handraise.ask(unique_id=name)
    for path in LISTS:
        for limit in ("0", "-1", "201", "x", "1.5", "", "9" * 400):
            assert fields(await handraise.admin.get(path, params={"limit": limit})) == ["limit"], path
        query = {"min_position": last["position"], "limit": 1} | ({"scope": "all"} if "inbox" in path else {})
        given = (await handraise.admin.get(path, params=query)).json()["next_cursor"]
        for cursor in forged(given):
            response = await handraise.admin.get(path, params={"cursor": cursor})
            assert response.status_code in (200, 400, 422), (path, cursor, response.text)
            if response.status_code != 200:
                problem(response, response.status_code)
        for another in LISTS:
            response = await handraise.admin.get(another, params={"cursor": given})
            assert response.status_code == (200 if another == path else 400), (path, another)


async def test_lists_are_as_fresh_as_one_asks(fresh: Service, fresh_other: Service) -> None:
    """With the position of a write, every list of every replica shows that write, and says how fresh it is."""
    for number in range(5):
        asked = await fresh.ask(message=f"Number {number}")
        for replica in (fresh, fresh_other):
            for path in ("/api/requests", "/api/inbox?scope=all"):
                page = await replica.admin.get(path, params={"min_position": asked["position"]} | scope_of(path))
                assert page.json()["position"] >= asked["position"]
                assert asked["id"] in [item["id"] for item in page.json()["items"]]
            trail = await replica.admin.get("/api/audit", params={"min_position": asked["position"]})
            assert trail.json()["items"][0]["request_id"] == asked["id"]
            board = await replica.admin.get("/api/dashboard", params={"min_position": asked["position"]})
            assert board.json()["by_status"]["Requested"] == number + 1


def scope_of(path: str) -> dict[str, str]:
    """The query that stands in a path, as parameters: httpx replaces one by the other."""
    return dict(parse_qsl(path.partition("?")[2]))


async def test_a_position_beyond_the_log_is_400(fresh: Service) -> None:
    """Nobody can have been given such a position; what is no position at all is 422 by name."""
    asked = await fresh.ask()
    path = f"/api/requests/{asked['id']}"
    head = asked["position"]
    one = [path, f"{path}/history", f"{path}/wait?timeout_seconds=0"]
    for path in [*LISTS, "/api/dashboard", "/api/audit/export", *one]:
        at_head = await fresh.admin.get(path, params={"min_position": head} | scope_of(path))
        assert at_head.status_code == 200, path
        for beyond in (head + 1, 2**63 - 1):
            refused = await fresh.admin.get(path, params={"min_position": beyond} | scope_of(path))
            assert str(head) in problem(refused, 400)["detail"], path
        for nonsense in ("-1", "x", "1.5", str(2**63), "9" * 400):
            assert fields(await fresh.admin.get(path, params={"min_position": nonsense})) == ["min_position"]


async def test_requests_are_listed_filtered_and_sorted(fresh: Service) -> None:
    """Every filter narrows, every sort orders, forwards and backwards, in pages of every size; no item is an answer."""
    await fresh.person("alice")
    another = await fresh.another_agent("another")
    made = []
    for number in range(6):
        made.append(
            await fresh.ask(
                message=f"Question {number} about {'apples' if number % 2 else 'pears'}",
                priority=10 * (number % 3) + 1,
                run_id=f"run-{number % 2}",
                request_type="approval" if number % 2 else None,
                run_user="alice" if number < 2 else None,
                expires_at=f"2030-01-0{6 - number}T00:00:00Z" if number != 3 else None,
            )
        )
    theirs = (await post(another, "/api/requests", message="Theirs")).json()
    await post(fresh.admin, f"/api/requests/{made[5]['id']}/respond", text="yes")
    last = (await fresh.agent.post(f"/api/requests/{made[4]['id']}/cancel")).json()

    async def listed(**query: Any) -> list[int]:
        items = await paged(fresh.admin, "/api/requests", min_position=last["position"], **query)
        assert all("message" not in item and "response" not in item for item in items)
        return [[*(request["id"] for request in made), theirs["id"]].index(item["id"]) for item in items]

    assert await listed() == [6, 5, 4, 3, 2, 1, 0]
    assert await listed(sort="created_at") == [0, 1, 2, 3, 4, 5, 6]
    assert await listed(sort="priority") == [0, 3, 1, 4, 2, 5, 6]
    assert await listed(sort="-priority") == [6, 5, 2, 4, 1, 3, 0]
    assert await listed(sort="agent") == [6, 0, 1, 2, 3, 4, 5]
    assert await listed(sort="-agent") == [5, 4, 3, 2, 1, 0, 6]
    assert (await listed(sort="expires_at"))[:5] == [5, 4, 2, 1, 0]
    assert await listed(status="Responded") == [5]
    assert await listed(status=["Responded", "Cancelled"]) == [5, 4]
    assert await listed(request_type="Approval") == [5, 3, 1]
    assert await listed(agent="another") == [6]
    assert await listed(assigned_to="alice") == [1, 0]
    assert await listed(assigned_to="nobody", agent="default") == [5, 4, 3, 2]
    assert await listed(run_id="run-1") == [5, 3, 1]
    assert await listed(priority_min=11, priority_max=21) == [5, 4, 2, 1]
    assert await listed(created_from=made[2]["created_at"], created_to=made[4]["created_at"]) in ([3, 2], [3])
    assert await listed(q="apples") == [5, 3, 1]
    assert await listed(q="question -apples") == [4, 2, 0]
    assert await listed(q=made[2]["unique_id"]) == [2]
    assert await listed(q="'); DROP TABLE users; --") == []
    assert await listed(run_id="run-1", status="Requested", sort="priority") == [3, 1]


BAD_FILTERS = {
    "status": ["Open", "requested", ""],
    "request_type": ["unknown", ""],
    "agent": ["unknown", "", "\0"],
    "assigned_to": ["unknown", "\0"],
    "list": ["unknown"],
    "run_id": ["", "a\0"],
    "priority_min": ["0", "x", "101"],
    "priority_max": ["0", "101", "1.5"],
    "created_from": ["2027-01-01", "2027-01-01T00:00:00", "yesterday", "0"],
    "created_to": ["2027-01-01T00:00:00", "\0"],
    "q": ["", "a\0", "x" * 501],
    "sort": ["age", "--priority", "message"],
}


async def test_a_filter_that_makes_no_sense_is_refused_by_name(handraise: Service) -> None:
    """An unknown person, a naive instant or a sort that there is not: 422, never an empty or a whole list."""
    for field, values in BAD_FILTERS.items():
        for value in values:
            refused = fields(await handraise.admin.get("/api/requests", params={field: value}))
            assert [path.partition("/")[0] for path in refused] == [field], (field, value)
    assert fields(await handraise.admin.get("/api/inbox", params={"scope": "theirs"})) == ["scope"]
    for field, value in {
        "actor": "unknown",
        "agent": "unknown",
        "from": "2027-01-01",
        "to": "x",
        "request_id": "1",
    }.items():
        assert fields(await handraise.admin.get("/api/audit", params={field: value})) == [field]
        assert fields(await handraise.admin.get("/api/audit/export", params={field: value})) == [field]
    assert fields(await handraise.admin.get("/api/audit/export", params={"format": "xml"})) == ["format"]


async def test_lists_show_what_one_may_see(fresh: Service) -> None:
    """Agents see their own requests, members those they have a part in, auditors all; inboxes what one may answer."""
    alice, bob = await fresh.person("alice"), await fresh.person("bob")
    auditor = await fresh.person("auditor", Role.AUDITOR)
    another = await fresh.another_agent("another")
    await fresh.ask(unique_id="for-alice", run_user="alice", priority=9)
    await fresh.ask(unique_id="for-nobody")
    moved = await fresh.ask(unique_id="moved", run_user="alice", priority=3)
    theirs = (await post(another, "/api/requests", message="x", unique_id="theirs")).json()
    answered = await fresh.ask(unique_id="answered", run_user="bob")
    await post(bob, f"/api/requests/{answered['id']}/respond", text="yes")
    last = (await post(fresh.admin, f"/api/requests/{moved['id']}/reassign", to="bob")).json()
    assert theirs["position"] < last["position"]

    async def names(client: httpx.AsyncClient, path: str, **query: Any) -> list[str]:
        response = await client.get(path, params={"min_position": last["position"], **query})
        return [item["unique_id"] for item in response.json()["items"]]

    everything = ["answered", "theirs", "moved", "for-nobody", "for-alice"]
    assert await names(fresh.admin, "/api/requests") == everything
    assert await names(auditor, "/api/requests") == everything
    assert await names(fresh.agent, "/api/requests") == ["answered", "moved", "for-nobody", "for-alice"]
    assert await names(another, "/api/requests") == ["theirs"]
    assert await names(alice, "/api/requests") == ["moved", "for-alice"]
    assert await names(bob, "/api/requests") == ["answered", "moved"]

    assert await names(alice, "/api/inbox") == ["for-alice"]
    assert await names(bob, "/api/inbox", scope="all") == ["moved"]
    assert await names(fresh.admin, "/api/inbox", scope="mine") == []
    assert await names(fresh.admin, "/api/inbox", scope="shared") == ["for-nobody", "theirs"]
    assert await names(fresh.admin, "/api/inbox", scope="all") == ["moved", "for-alice", "for-nobody", "theirs"]
    assert await names(auditor, "/api/inbox", scope="all") == []
    for path in ("/api/inbox", "/api/dashboard", "/api/audit", "/api/audit/export", "/api/audit/head"):
        problem(await fresh.agent.get(path), 403)
    for path in ("/api/audit", "/api/audit/export", "/api/audit/head"):
        problem(await alice.get(path), 403)
        assert (await auditor.get(path)).status_code == 200


# -- secrets


async def sealed(handraise: Service, **body: Any) -> str:
    """A secret request that was answered `hunter2`; its path."""
    asked = await handraise.ask(message="Password?", secret=True, **body)
    path = f"/api/requests/{asked['id']}"
    answered = await post(handraise.admin, f"{path}/respond", text="hunter2")
    assert answered.status_code == 200, answered.text
    assert answered.json()["response"] == {
        "outcome": "answered",
        "text": None,
        "data": None,
        "sealed": True,
        "by": "admin",
        "via": "api",
        "at": answered.json()["closed_at"],
        "acknowledged_at": None,
    }
    return path


async def test_a_secret_is_collected_by_its_agent_with_a_receipt(handraise: Service, other: Service) -> None:
    """The same receipt gets the same answer, on every replica, until it is acknowledged; another one is 410."""
    path = await sealed(handraise)
    first = await post(handraise.agent, f"{path}/collect", receipt=RECEIPT)
    assert first.headers["cache-control"] == "no-store"
    position = first.json()["position"]
    assert first.json() == {"outcome": "answered", "text": "hunter2", "data": None, "position": position}
    for replica in (handraise, other):
        again = await post(replica.agent, f"{path}/collect", receipt=RECEIPT)
        assert (again.status_code, again.json()) == (200, first.json())
        problem(await post(replica.agent, f"{path}/collect", receipt="another-receipt"), 410, "Gone")
        problem(await post(replica.agent, f"{path}/acknowledge", receipt="another-receipt"), 410, "Gone")
    acknowledged = await post(other.agent, f"{path}/acknowledge", receipt=RECEIPT)
    assert (acknowledged.status_code, acknowledged.json()) == (200, {"position": position + 1})
    again = await post(handraise.agent, f"{path}/acknowledge", receipt=RECEIPT)
    assert (again.status_code, again.json()) == (200, {"position": position + 1})
    for receipt in (RECEIPT, "another-receipt"):
        problem(await post(handraise.agent, f"{path}/collect", receipt=receipt), 410, "Gone")


async def test_of_two_collectors_at_once_one_has_the_secret(handraise: Service, other: Service) -> None:
    """Ten collectors with receipts of their own, on two replicas: one answer, nine refusals."""
    path = await sealed(handraise)
    collected = await asyncio.gather(
        *(
            post(replica.agent, f"{path}/collect", receipt=f"receipt-{number}-{replica is other}")
            for replica in (handraise, other)
            for number in range(5)
        )
    )
    assert sorted(response.status_code for response in collected) == [200] + [410] * 9
    assert sum("hunter2" in response.text for response in collected) == 1


async def test_a_secret_is_nowhere_but_in_what_is_collected(handraise: Service) -> None:
    """Neither the request nor its history, a repeat, a refusal or a person's collect shows it."""
    path = await sealed(handraise, unique_id="pw")
    everything = [
        await handraise.agent.get(path),
        await handraise.admin.get(path),
        await handraise.agent.get(f"{path}/wait"),
        await handraise.admin.get(f"{path}/history"),
        await handraise.agent.get(f"{path}/history"),
        await post(handraise.agent, "/api/requests", message="Password?", secret=True, unique_id="pw"),
        await post(handraise.admin, f"{path}/respond", text="hunter2"),
        await post(handraise.admin, f"{path}/respond", text="hunter3"),
        await post(handraise.admin, f"{path}/respond", text=""),
        await post(handraise.admin, f"{path}/collect", receipt=RECEIPT),
    ]
    assert [response.status_code for response in everything] == [200] * 7 + [409, 409, 403]
    assert not any("hunter" in response.text for response in everything)


@pytest.mark.parametrize("field", [{"format": "password"}, {"writeOnly": True}])
async def test_a_form_with_a_password_is_sealed_too(handraise: Service, field: dict[str, Any]) -> None:
    """A password or write-only field seals the whole answer, and refusals repeat nothing of it."""
    form = {
        "type": "object",
        "required": ["pw"],
        "properties": {"pw": {"type": "string", "minLength": 8, **field}, "approved": {"type": "boolean"}},
    }
    asked = await handraise.ask(response_schema=form)
    path = f"/api/requests/{asked['id']}"
    wrong = {"pw": "hunter2", "hunter3": 1, "approved": "hunter4"}
    refused = await post(handraise.admin, f"{path}/respond", data=wrong)
    assert sorted(fields(refused)) == ["data/approved", "data/pw"]
    assert "hunter" not in refused.text
    data = {"pw": "hunter2-hunter2", "approved": False}
    answered = await post(handraise.admin, f"{path}/respond", data=data)
    assert answered.status_code == 200
    assert answered.json()["response"]["sealed"] is True
    assert "hunter" not in answered.text
    collected = (await post(handraise.agent, f"{path}/collect", receipt=RECEIPT)).json()
    assert (collected["outcome"], collected["data"]) == ("rejected", data)


async def test_what_cannot_be_collected(handraise: Service) -> None:
    """Before the answer, without an answer, without a seal: 409 that says why. People: 403."""
    unanswered = await handraise.ask(secret=True)
    cancelled = await handraise.ask(secret=True)
    await handraise.agent.post(f"/api/requests/{cancelled['id']}/cancel")
    expired = await handraise.ask(secret=True, expires_in_seconds=0.05)
    await handraise.agent.get(f"/api/requests/{expired['id']}/wait?timeout_seconds=10")
    plain = await handraise.ask()
    await post(handraise.admin, f"/api/requests/{plain['id']}/respond", text="yes")
    for asked, title in (
        (unanswered, "Not answered"),
        (cancelled, "Already closed"),
        (expired, "Already closed"),
        (plain, "Conflict"),
    ):
        for call in ("collect",) if asked is plain else ("collect", "acknowledge"):
            path = f"/api/requests/{asked['id']}/{call}"
            refused = problem(await post(handraise.agent, path, receipt=RECEIPT), 409, title)
            if title == "Already closed":
                assert refused["request"]["status"] in ("Cancelled", "Expired")
            problem(await post(handraise.admin, path, receipt=RECEIPT), 403)
            for receipt in ("short", "x" * 201, 12345678, *((None,) if call == "collect" else ())):
                assert fields(await post(handraise.agent, path, receipt=receipt)) == ["receipt"]
    path = await sealed(handraise)
    problem(await post(handraise.agent, f"{path}/acknowledge", receipt=RECEIPT), 409, "Conflict")
    assert fields(await post(handraise.agent, f"{path}/acknowledge")) == ["receipt"]


async def test_a_secret_is_kept_for_60_seconds_after_the_first_collect(fresh: Service, database: str) -> None:
    """A minute later even the same receipt is too late, and the answer itself is shredded."""
    path = await sealed(fresh)
    assert (await post(fresh.agent, f"{path}/collect", receipt=RECEIPT)).status_code == 200
    later = DatabaseClock("(clock_timestamp() + interval '62 seconds')")
    async with service(database, fresh.settings.data_dir, clock=later) as then:
        await then.ask()  # brings the later time to this replica
        problem(await post(then.agent, f"{path}/collect", receipt=RECEIPT), 410, "Gone")


async def test_a_secret_that_nobody_collects_is_kept_for_a_day(fresh: Service, database: str) -> None:
    """A day later it is gone, and says since when."""
    path = await sealed(fresh)
    later = DatabaseClock("(clock_timestamp() + interval '25 hours')")
    async with service(database, fresh.settings.data_dir, clock=later) as then:
        await then.ask()
        refused = problem(await post(then.agent, f"{path}/collect", receipt=RECEIPT), 410, "Gone")
        assert "nobody collected" in refused["detail"]


# -- erasing


async def test_erased_content_is_gone_for_everybody_and_the_facts_stay(handraise: Service, other: Service) -> None:
    """Message, answer and reasons read as null on every replica; who, when and what became of it can still be read."""
    asked = await handraise.ask(
        unique_id="e", message="erase me", context="erase me", metadata={"erase me": 1}, options=["erase me", "x"]
    )
    path = f"/api/requests/{asked['id']}"
    answered = (await post(handraise.admin, f"{path}/respond", text="erase me")).json()
    erased = await handraise.admin.post(f"{path}/erase")
    expected = {
        **answered,
        **dict.fromkeys(("message", "context", "metadata", "options")),
        "response": {**answered["response"], "text": None, "data": None},
        "erased": True,
        "position": answered["position"] + 1,
        "version": 3,
    }
    assert (erased.status_code, erased.json()) == (200, expected)
    for client in (handraise.agent, handraise.admin, other.agent, other.admin):
        assert (await client.get(path)).json() == expected
        assert "erase me" not in (await client.get(f"{path}/history")).text
    assert (await other.admin.post(f"{path}/erase")).json() == expected
    late = await post(handraise.admin, f"{path}/respond", text="erase me")
    assert problem(late, 409)["request"]["by"] == "admin"
    again = await post(handraise.agent, "/api/requests", unique_id="e", message="erase me")
    assert "already exists" in problem(again, 409)["detail"]


async def test_erasing_an_uncollected_secret_destroys_it(handraise: Service) -> None:
    """Nobody collects it any more: 410."""
    path = await sealed(handraise)
    assert (await handraise.admin.post(f"{path}/erase")).status_code == 200
    problem(await post(handraise.agent, f"{path}/collect", receipt=RECEIPT), 410, "Gone")
    history = (await handraise.admin.get(f"{path}/history")).json()["items"]
    assert [event["type"] for event in history] == ["Requested", "Responded", "ContentErased"]


async def test_an_open_request_is_not_erased(handraise: Service) -> None:
    """It is said to cancel it first; members may not erase at all."""
    member = await handraise.person("member")
    asked = await handraise.ask(run_user="member")
    path = f"/api/requests/{asked['id']}"
    assert "cancel it first" in problem(await handraise.admin.post(f"{path}/erase"), 409)["detail"]
    problem(await member.post(f"{path}/erase"), 403)
    assert (await handraise.agent.get(path)).json() == asked
    problem(await handraise.admin.post(f"/api/requests/{NOBODY}/erase"), 404)


# -- a database that is not there


async def test_a_lost_database_is_503_with_retry_after(fresh: Service) -> None:
    """While nothing can be written, writes are refused as unavailable and nothing is half done."""
    asked = await fresh.ask()
    await fresh.app.writer.stop()
    refused = await post(fresh.agent, "/api/requests", message="x")
    problem(refused, 503, "Unavailable")
    assert int(refused.headers["retry-after"]) >= 1
    assert (await fresh.agent.get(f"/api/requests/{asked['id']}")).json() == asked
    ready = await fresh.nobody.get("/readyz")
    assert (ready.status_code, ready.json()["checks"]["writer"], ready.json()["checks"]["tail"]) == (503, False, True)


@pytest.mark.parametrize("id", ["nobody", "system"])
async def test_ids_that_stand_for_something_else_are_reserved(handraise: Service, id: str) -> None:
    """Nobody can be called `nobody` or `system`; somebody of that name gets the next free id."""
    refused = await handraise.admin.post("/api/users", json={"id": id, "name": "Somebody"})
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "id")
    made = await handraise.admin.post("/api/users", json={"name": id})
    assert made.json()["id"] == f"{id}-2"
