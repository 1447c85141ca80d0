"""Who sees what: every read call, by every kind of caller, literally."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from typing import Any

import httpx

from domain.callers import Role
from tests.support.read_models import settled
from tests.support.service import Service

CALLERS = (
    "administrator",
    "auditor",
    "assignee",
    "past assignee",
    "run user",
    "owner of the agent",
    "other person",
    "list member",
    "the agent",
    "another agent",
    "key of the run user",
    "key of another run user",
    "nobody",
    "revoked key",
)
READS = {
    "request": "/api/requests/{id}",
    "by name": "/api/requests/the-request",
    "history": "/api/requests/{id}/history",
    "wait": "/api/requests/{id}/wait?timeout_seconds=0",
    "list": "/api/requests",
    "list, by word": "/api/requests?q=permission",
    "inbox, mine": "/api/inbox?scope=mine",
    "inbox, shared": "/api/inbox?scope=shared",
    "inbox, all": "/api/inbox?scope=all",
    "inbox, counts": "/api/inbox/counts",
    "dashboard": "/api/dashboard",
    "audit": "/api/audit",
    "export": "/api/audit/export",
    "export, csv": "/api/audit/export?format=csv",
    "head": "/api/audit/head",
    "verification": "/api/audit/verification",
    "users": "/api/users",
    "agents": "/api/agents",
    "keys": "/api/keys",
    "me": "/api/me",
    "lists": "/api/lists",
    "agent types": "/api/agent-types",
    "categories": "/api/categories",
    "request types": "/api/request-types",
    "directory": "/api/directory",
    "slack": "/api/human-feedback/slack/config",
    "slack, now": "/api/human-feedback/slack/connection",
}
DIRECTORY = ("users", "agents", "keys", "me", "lists", "agent types", "categories", "request types", "directory")
NEVER_SHOW_REQUESTS = frozenset(
    READS[name] for name in ("inbox, counts", "head", "verification", "slack", "slack, now", *DIRECTORY)
)

# "sees": 200, and the request is in the answer; "-": 200, and it is not; "fine": 200, and requests have no place in
# it; else the status that refuses. The columns are the callers, in their order.
OPEN = """
                 admin  audit  asked  asked1 runner owner  other  member agent  agent2 key    key2   nobody revoked
request          sees   sees   sees   sees   sees   sees   403    403    sees   404    sees   404    401    401
by name          sees   sees   sees   sees   sees   sees   403    403    sees   404    sees   404    401    401
history          sees   sees   sees   sees   sees   sees   403    403    sees   404    sees   404    401    401
wait             sees   sees   sees   sees   sees   sees   403    403    sees   404    sees   404    401    401
list             sees   sees   sees   sees   sees   sees   -      -      sees   -      sees   -      401    401
list, by word    sees   sees   sees   sees   sees   sees   -      -      sees   -      sees   -      401    401
inbox, mine      -      -      sees   -      -      -      -      -      403    403    403    403    401    401
inbox, shared    -      -      -      -      -      -      -      -      403    403    403    403    401    401
inbox, all       sees   -      sees   -      -      -      -      -      403    403    403    403    401    401
inbox, counts    fine   fine   fine   fine   fine   fine   fine   fine   403    403    403    403    401    401
dashboard        sees   sees   sees   -      -      -      -      -      403    403    403    403    401    401
audit            sees   sees   403    403    403    403    403    403    403    403    403    403    401    401
export           sees   sees   403    403    403    403    403    403    403    403    403    403    401    401
export, csv      sees   sees   403    403    403    403    403    403    403    403    403    403    401    401
head             fine   fine   403    403    403    403    403    403    403    403    403    403    401    401
verification     fine   fine   403    403    403    403    403    403    403    403    403    403    401    401
users            fine   fine   fine   fine   fine   fine   fine   fine   403    403    403    403    401    401
agents           fine   fine   403    403    403    403    403    403    403    403    403    403    401    401
keys             fine   fine   403    403    403    403    403    403    403    403    403    403    401    401
me               fine   fine   fine   fine   fine   fine   fine   fine   403    403    403    403    401    401
lists            fine   fine   403    403    403    403    403    403    403    403    403    403    401    401
agent types      fine   fine   403    403    403    403    403    403    403    403    403    403    401    401
categories       fine   fine   403    403    403    403    403    403    403    403    403    403    401    401
request types    fine   fine   403    403    403    403    403    403    403    403    403    403    401    401
directory        fine   fine   403    403    403    403    403    403    403    403    403    403    401    401
slack            fine   403    403    403    403    403    403    403    403    403    403    403    401    401
slack, now       fine   403    403    403    403    403    403    403    403    403    403    403    401    401
"""
# Once it is answered, all see what they saw, and no inbox holds it.
ANSWERED = """
                 admin  audit  asked  asked1 runner owner  other  member agent  agent2 key    key2   nobody revoked
inbox, mine      -      -      -      -      -      -      -      -      403    403    403    403    401    401
inbox, all       -      -      -      -      -      -      -      -      403    403    403    403    401    401
"""
# What is assigned to nobody is in the administrators' shared inbox.
UNASSIGNED = """
                 admin  audit  asked  asked1 runner owner  other  member agent  agent2 key    key2   nobody revoked
request          sees   sees   403    403    403    sees   403    403    sees   404    404    404    401    401
list             sees   sees   -      -      -      sees   -      -      sees   -      -      -      401    401
inbox, mine      -      -      -      -      -      -      -      -      403    403    403    403    401    401
inbox, shared    sees   -      -      -      -      -      -      -      403    403    403    403    401    401
inbox, all       sees   -      -      -      -      -      -      -      403    403    403    403    401    401
dashboard        sees   sees   -      -      -      -      -      -      403    403    403    403    401    401
"""
# In the inbox that a list shares, and after its member has taken it out.
SHARED = """
                 admin  audit  asked  asked1 runner owner  other  member agent  agent2 key    key2   nobody revoked
request          sees   sees   403    403    403    sees   403    sees   sees   404    404    404    401    401
by name          sees   sees   403    403    403    sees   403    sees   sees   404    404    404    401    401
history          sees   sees   403    403    403    sees   403    sees   sees   404    404    404    401    401
wait             sees   sees   403    403    403    sees   403    sees   sees   404    404    404    401    401
list             sees   sees   -      -      -      sees   -      sees   sees   -      -      -      401    401
list, by word    sees   sees   -      -      -      sees   -      sees   sees   -      -      -      401    401
inbox, mine      -      -      -      -      -      -      -      -      403    403    403    403    401    401
inbox, shared    sees   -      -      -      -      -      -      sees   403    403    403    403    401    401
inbox, all       sees   -      -      -      -      -      -      sees   403    403    403    403    401    401
dashboard        sees   sees   -      -      -      -      -      -      403    403    403    403    401    401
audit            sees   sees   403    403    403    403    403    403    403    403    403    403    401    401
lists            fine   fine   403    403    403    403    403    403    403    403    403    403    401    401
"""
CLAIMED = """
                 admin  audit  asked  asked1 runner owner  other  member agent  agent2 key    key2   nobody revoked
request          sees   sees   403    403    403    sees   403    sees   sees   404    404    404    401    401
list             sees   sees   -      -      -      sees   -      sees   sees   -      -      -      401    401
inbox, mine      -      -      -      -      -      -      -      sees   403    403    403    403    401    401
inbox, shared    -      -      -      -      -      -      -      -      403    403    403    403    401    401
inbox, all       sees   -      -      -      -      -      -      sees   403    403    403    403    401    401
dashboard        sees   sees   -      -      -      -      -      sees   403    403    403    403    401    401
"""
IN_FULL = {"email", "role", "active", "slack_user_id", "time_zone", "quiet_hours", "out_of_office"}


def matrix(table: str) -> dict[str, dict[str, str]]:
    """What each kind of caller gets of each call."""
    _, *lines = table.strip("\n").splitlines()
    rows = {name: cells for name, *cells in (re.split(r"\s{2,}", line) for line in lines)}
    return {name: dict(zip(CALLERS, cells, strict=True)) for name, cells in rows.items()}


@dataclass
class Stage:
    """A request, and everybody who may or may not know of it."""

    handraise: Service
    clients: dict[str, httpx.AsyncClient]
    request: dict[str, Any]

    async def check(self, expected: dict[str, dict[str, str]]) -> None:
        await settled(self.handraise)
        assert {
            name: {caller: await self.read(READS[name], caller) for caller in CALLERS} for name in expected
        } == expected

    async def read(self, path: str, caller: str) -> str:
        response = await self.clients[caller].get(path.format(id=self.request["id"]))
        if response.status_code != 200:
            assert response.headers["content-type"] == "application/problem+json"
            assert self.request["message"] not in response.text
            return str(response.status_code)
        if path in NEVER_SHOW_REQUESTS:
            assert self.request["id"] not in response.text
            return "fine"
        seen = self.sees(path, response)
        if not seen:
            assert self.request["id"] not in response.text
            assert self.request["unique_id"] not in response.text
            assert self.request["message"] not in response.text
        return "sees" if seen else "-"

    def sees(self, path: str, response: httpx.Response) -> bool:
        id = self.request["id"]
        if path.startswith("/api/audit/export?format=csv"):
            return id in [row["request_id"] for row in csv.DictReader(response.text.splitlines())]
        if path.startswith("/api/audit/export"):
            return id in [json.loads(line)["request_id"] for line in response.text.splitlines()]
        body = response.json()
        if path.endswith("/history"):
            return body["items"][0]["message"] == self.request["message"]
        if path.startswith("/api/audit"):
            return id in [item["request_id"] for item in body["items"]]
        if path.startswith("/api/dashboard"):
            return self.request["agent"] in body["by_agent"]
        return id in [item["id"] for item in body.get("items", [body])]


async def stage(handraise: Service, *, reassigned: bool = True, shared: bool = False) -> Stage:
    """The request was the run user's, then the past assignee's, and is the assignee's; or it was always nobody's.

    `shared`: it stands in the inbox of a list with one member.
    """
    names = ("runner", "past", "assignee", "owner", "other", "member")
    people = {name: await handraise.person(name) for name in names}
    directory = handraise.app.directory
    await directory.add("list", {"name": "Team", "members": ["member"]}, by=None, id="team")
    await directory.add("agent", {"name": "Asker", "owner": "owner"}, by=None, id="asker")

    async def key(**of: Any) -> httpx.AsyncClient:
        return await handraise.client((await handraise.app.keys.create(by=None, name="a key", **of)).key)

    agent = await key(agent="asker")
    revoked = await handraise.app.keys.create(by=None, name="revoked", user="assignee", id="revoked")
    revoked_client = await handraise.client(revoked.key)
    assert (await revoked_client.get("/api/users")).status_code == 200
    assert (await handraise.admin.delete("/api/keys/revoked")).status_code == 200
    body: dict[str, Any] = {"unique_id": "the-request", "message": "Have I permission?"}
    body |= {"run_user": "runner"} if reassigned else {}
    if shared:
        body |= {"assignment_strategy": {"type": "SharedInbox", "listID": "team"}}
    request = (await agent.post("/api/requests", json=body)).json()
    assert request["list"] == ("team" if shared else None)
    for person in ("past", "assignee") if reassigned else ():
        response = await handraise.admin.post(f"/api/requests/{request['id']}/reassign", json={"to": person})
        assert response.status_code == 200, response.text
    clients = {
        "administrator": handraise.admin,
        "auditor": await handraise.person("auditor", Role.AUDITOR),
        "assignee": people["assignee"],
        "past assignee": people["past"],
        "run user": people["runner"],
        "owner of the agent": people["owner"],
        "other person": people["other"],
        "list member": people["member"],
        "the agent": agent,
        "another agent": await handraise.another_agent("another"),
        "key of the run user": await key(agent="asker", run_user="runner"),
        "key of another run user": await key(agent="asker", run_user="other"),
        "nobody": handraise.nobody,
        "revoked key": revoked_client,
    }
    assert tuple(clients) == CALLERS
    return Stage(handraise, clients, request)


async def test_who_sees_a_request(handraise: Service) -> None:
    """Open, then answered: in every read call, for every kind of caller."""
    staged = await stage(handraise)
    await staged.check(matrix(OPEN))
    answered = await staged.clients["assignee"].post(
        f"/api/requests/{staged.request['id']}/respond", json={"text": "yes"}
    )
    assert answered.status_code == 200
    await staged.check(matrix(OPEN) | matrix(ANSWERED))


async def test_who_sees_what_is_assigned_to_nobody(handraise: Service) -> None:
    """Never invisible: administrators have it in their shared inbox, auditors and the agent's owner can read it."""
    staged = await stage(handraise, reassigned=False)
    await staged.check(matrix(UNASSIGNED))


async def test_who_sees_what_a_list_shares(handraise: Service) -> None:
    """The list's members, whoever takes it; once one of them has it, it is theirs and nobody else's to take."""
    staged = await stage(handraise, reassigned=False, shared=True)
    await staged.check(matrix(SHARED))
    claimed = await staged.clients["list member"].post(f"/api/requests/{staged.request['id']}/claim")
    assert claimed.status_code == 200, claimed.text
    await staged.check(matrix(CLAIMED))


async def test_who_leaves_a_list_sees_no_more_of_it(handraise: Service) -> None:
    """At once; who joins it sees what it shares, and other lists' members never do."""
    staged = await stage(handraise, reassigned=False, shared=True)
    await handraise.app.directory.add("list", {"name": "Others", "members": ["past"]}, by=None, id="others")
    path = f"/api/requests/{staged.request['id']}"
    for members, sees in ((["member", "other"], (200, 200, 403)), (["other"], (403, 200, 403)), ([], (403, 403, 403))):
        changed = await handraise.admin.patch("/api/lists/team", json={"members": members})
        assert changed.status_code == 200
        found = [
            (await staged.clients[caller].get(path)).status_code
            for caller in ("list member", "other person", "past assignee")
        ]
        assert found == list(sees)


async def test_a_person_sees_from_the_moment_of_being_asked(handraise: Service) -> None:
    """Being asked makes a request readable at once, and for good."""
    staged = await stage(handraise)
    path = f"/api/requests/{staged.request['id']}"
    assert (await staged.clients["other person"].get(path)).status_code == 403
    moved = await handraise.admin.post(f"{path}/reassign", json={"to": "other"})
    await handraise.admin.post(f"{path}/reassign", json={"to": "assignee"})
    assert (await staged.clients["other person"].get(path)).status_code == 200
    listed = await staged.clients["other person"].get(
        "/api/requests", params={"min_position": moved.json()["position"]}
    )
    assert [item["id"] for item in listed.json()["items"]] == [staged.request["id"]]


async def test_users_are_shown_in_full_to_administrators_and_auditors_only(handraise: Service) -> None:
    """Everybody signed in may see who there is: id and name."""
    staged = await stage(handraise)
    for caller, whole in (("administrator", True), ("auditor", True), ("assignee", False), ("other person", False)):
        users = (await staged.clients[caller].get("/api/users")).json()["items"]
        assert "runner" in [user["id"] for user in users]
        assert {frozenset(user) for user in users} == {frozenset({"id", "name"} | (IN_FULL if whole else set()))}


async def test_every_read_call_is_in_the_matrix(handraise: Service) -> None:
    """Every GET operation of the served OpenAPI below /api; the rest has tests of its own."""
    paths = (await handraise.nobody.get("/openapi.json")).json()["paths"]
    served = {path for path, methods in paths.items() if path.startswith("/api") and "get" in methods}
    covered = {READS[name].partition("?")[0].replace("the-request", "{id}") for name in matrix(OPEN)}
    elsewhere = {"/api/stream", "/api/sign-in", "/api/session", "/api/push", "/api/webhooks", "/api/tools"}
    elsewhere |= {path for path in served if path.startswith("/api/agents/{id}/webhook")}
    assert served - elsewhere == covered
