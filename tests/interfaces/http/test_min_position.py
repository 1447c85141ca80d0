"""Read your writes: every write says where it stands, every read can be told how fresh it must be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.support.service import Service, service

UNKNOWN = "00000000-0000-5000-8000-000000000000"


@pytest.fixture
async def other(handraise: Service, database: str) -> AsyncIterator[Service]:
    """A second replica on the same database."""
    async with service(database, handraise.settings.data_dir) as replica:
        yield replica


NOT_READ = (
    *("/api/stream", "/api/sign-in", "/api/session", "/api/push", "/api/human-feedback/slack/connection"),
    "/api/tools",
)
"""The live stream resumes by a position of its own; sessions, browsers, connections, tools do not stand in the log."""


async def reads(handraise: Service) -> dict[str, dict[str, Any]]:
    """Every GET operation below /api of the served OpenAPI, by its path."""
    paths = (await handraise.nobody.get("/openapi.json")).json()["paths"]
    return {path: methods["get"] for path, methods in paths.items() if path.startswith("/api") and "get" in methods}


async def test_every_write_says_where_it_stands(handraise: Service) -> None:
    """Each answers with the position of what it wrote, always the newest of the log; a repeat with the same one."""
    head = await handraise.app.store.head()
    asked: dict[str, Any] = {}

    async def wrote(
        client: httpx.AsyncClient, method: str, path: str, body: Any = None, events: int = 1
    ) -> dict[str, Any]:
        nonlocal head
        response = await client.request(method, path, json=body)
        assert response.status_code in (200, 201), response.text
        assert response.json()["position"] == head + events, path
        head = await handraise.app.store.head()
        assert response.json()["position"] == head
        return response.json()

    agent, admin = handraise.agent, handraise.admin
    await wrote(admin, "POST", "/api/users", {"name": "Alice", "id": "alice"})
    await wrote(admin, "POST", "/api/agents", {"name": "Zed"})
    key = await wrote(admin, "POST", "/api/keys", {"name": "spare", "agent": "zed"})
    await wrote(admin, "DELETE", f"/api/keys/{key['id']}")
    await wrote(admin, "DELETE", f"/api/keys/{key['id']}", events=0)
    for name, body in {"a": {}, "b": {"secret": True}, "c": {}}.items():
        asked[name] = await wrote(agent, "POST", "/api/requests", {"message": "May I?", "unique_id": name} | body)
    path = {name: f"/api/requests/{request['id']}" for name, request in asked.items()}
    await wrote(admin, "POST", f"{path['a']}/reassign", {"to": "alice", "note": "yours"})
    await wrote(admin, "POST", f"{path['a']}/respond", {"text": "yes"})
    await wrote(admin, "POST", f"{path['a']}/respond", {"text": "yes"}, events=0)
    await wrote(agent, "POST", f"{path['a']}/acknowledge")
    await wrote(agent, "POST", f"{path['a']}/acknowledge", {}, events=0)
    await wrote(admin, "POST", f"{path['b']}/respond", {"text": "hunter2"})
    await wrote(agent, "POST", f"{path['b']}/collect", {"receipt": "a receipt"})
    await wrote(agent, "POST", f"{path['b']}/collect", {"receipt": "a receipt"}, events=0)
    await wrote(agent, "POST", f"{path['b']}/acknowledge", {"receipt": "a receipt"})
    await wrote(agent, "POST", f"{path['c']}/cancel", {"reason": "changed my mind"})
    await wrote(admin, "POST", f"{path['c']}/erase")
    asked["d"] = await wrote(agent, "POST", "/api/requests", {"message": "May I?", "unique_id": "d"})
    await wrote(admin, "POST", "/api/human-feedback/submit", {"unique_id": "d", "response": "yes"})
    again = await agent.post("/api/requests", json={"message": "May I?", "unique_id": "d"})
    assert (again.status_code, again.json()["position"]) == (200, head)


async def test_every_read_takes_a_position(handraise: Service) -> None:
    """Of every GET operation but the live stream, which resumes by a position of its own."""
    for path, operation in (await reads(handraise)).items():
        parameters = {parameter["name"]: parameter["schema"] for parameter in operation.get("parameters", [])}
        assert ("min_position" in parameters) == (path not in NOT_READ), path
        if "limit" in parameters:
            assert {"cursor", "min_position"} <= parameters.keys(), path


async def test_a_position_beyond_the_head_is_refused(handraise: Service) -> None:
    """It can never be reached by waiting: 400 at once, and 422 for what is no position. The newest one is fine."""
    asked = await handraise.ask()
    for path in await reads(handraise):
        if path in NOT_READ:
            continue
        url = path.replace("{id}", asked["id"])

        async def get(min_position: Any, url: str = url) -> httpx.Response:
            return await handraise.admin.get(url, params={"min_position": min_position, "timeout_seconds": 0})

        found = 404 if path.startswith("/api/agents/{id}") else 200  # there is no such agent, which is looked at later
        for position in (0, 1, asked["position"]):
            assert (await get(position)).status_code == found, url
        for beyond in (asked["position"] + 1, 10**15, 2**63 - 1):
            refused = await get(beyond)
            assert (refused.status_code, refused.json()["detail"]) == (
                400,
                f"min_position {beyond} is beyond the newest position, {asked['position']}",
            ), url
        for nonsense in (-1, 2**63, "x", "1.5", ""):
            refused = await get(nonsense)
            assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "min_position"), url


async def test_what_was_written_here_is_read_there(handraise: Service, other: Service) -> None:
    """Write on one replica, read on the other with the position of the write: it is there, each time at once."""
    await handraise.person("alice")
    for number in range(8):
        here, there = (handraise, other) if number % 2 else (other, handraise)
        asked = await here.ask(unique_id=f"r-{number}", run_user="alice")
        fresh: dict[str, Any] = {"min_position": asked["position"], "limit": 200}
        listed = (await there.admin.get("/api/requests", params=fresh)).json()
        assert (listed["items"][0]["id"], listed["position"] >= asked["position"]) == (asked["id"], True)
        inbox = (await there.admin.get("/api/inbox", params=fresh | {"scope": "all"})).json()
        assert asked["id"] in [item["id"] for item in inbox["items"]]
        audit = (await there.admin.get("/api/audit", params=fresh)).json()
        assert (audit["items"][0]["position"], audit["position"]) == (asked["position"], asked["position"])
        dashboard = (await there.admin.get("/api/dashboard", params=fresh)).json()
        answered_so_far = {"admin": {"Responded": number}} if number else {}
        assert dashboard["by_person"] == {"alice": {"Requested": 1}} | answered_so_far
        export = await there.admin.get("/api/audit/export", params={"min_position": asked["position"]})
        assert export.text.count("\n") == asked["position"]
        assert (await there.agent.get(f"/api/requests/{asked['id']}", params=fresh)).json() == asked
        done = await here.admin.post(f"/api/requests/{asked['id']}/reassign", json={"to": "admin"})
        await here.admin.post(f"/api/requests/{asked['id']}/reassign", json={"to": "alice"})
        answered = await here.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})
        assert (done.status_code, answered.status_code) == (200, 200)
        await here.admin.get("/api/dashboard", params={"min_position": answered.json()["position"]})


async def test_a_directory_entry_made_here_is_listed_there(handraise: Service, other: Service) -> None:
    """The directory is never behind; its lists say how fresh they are, and no fresher."""
    for number in range(3):
        for collection, body in (("users", {}), ("agents", {}), ("keys", {"agent": "default"})):
            id = f"entry-{number}"
            made = await handraise.admin.post(f"/api/{collection}", json={"name": "Entry", "id": id} | body)
            page = await other.admin.get(
                f"/api/{collection}", params={"min_position": made.json()["position"], "limit": 200}
            )
            assert page.json()["position"] == made.json()["position"]
            assert id in [entry["id"] for entry in page.json()["items"]]


async def test_a_read_without_a_position_does_not_wait(handraise: Service) -> None:
    """It shows what is there, and says up to where; one that cannot be reached in time says so the same way."""
    await handraise.app.projector.stop()
    shown = (await handraise.admin.get("/api/requests")).json()["position"]
    asked = await handraise.ask()
    behind = (await handraise.admin.get("/api/requests", params={"min_position": asked["position"]})).json()
    assert (behind["items"], behind["position"]) == ([], shown)
    assert (await handraise.admin.get("/api/requests")).json() == behind
    while await handraise.app.projector.project_once():
        pass
    fresh = (await handraise.admin.get("/api/requests", params={"min_position": asked["position"]})).json()
    assert (fresh["items"][0]["id"], fresh["position"]) == (asked["id"], asked["position"])
