"""Who did it is who the credential says: nothing in a call can name another, and no reading leaves a trace."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from domain.callers import SYSTEM, agent_actor, person_actor
from domain.directory import directory_id
from tests.acceptance.test_matrix import CALLERS, NO_PLACE, PROVIDER, Stage, beginning, operations, staged, table
from tests.support.postgres import TestServer
from tests.support.read_models import rows, settled
from tests.support.service import Service, service

pytestmark = pytest.mark.asyncio(loop_scope="module")

WHO = {
    "administrator": person_actor(directory_id("user", "admin")),
    "assignee": person_actor(directory_id("user", "assignee")),
    "claimant": person_actor(directory_id("user", "claimant")),
    "the agent": agent_actor(directory_id("agent", "asker")),
    "session": person_actor(directory_id("user", "chief")),
}
"""The actors that the log knows these callers as."""

SIGNING_IN = {
    "POST /api/session": "visitor",
    "POST /api/session/link": "visitor",
    "POST /api/session/embed": "visitor",
}
"""Whom a call speaks for that nobody needs to be known for."""

FORGED_HEADERS = {
    "Handraise-Via": "slack",
    "Handraise-Actor": "auditor",
    "Handraise-User": "auditor",
    "X-User": "auditor",
    "X-Actor": "auditor",
    "X-Forwarded-User": "auditor",
    "X-Remote-User": "auditor",
    "Remote-User": "auditor",
    "X-Auth-Request-Email": "auditor@e.test",
    "X-Forwarded-For": "203.0.113.9",
    "Forwarded": "for=203.0.113.9;by=auditor",
    "X-HTTP-Method-Override": "DELETE",
    "From": "auditor@e.test",
}
FORGED_FIELDS = ("decided_by", "actor", "by", "user_id", "via", "approver", "on_behalf_of", "timestamp", "at")
FORGED_QUERY = "decided_by=auditor&actor=auditor&by=auditor&user=auditor&via=slack"


@asynccontextmanager
async def everybody(postgres: TestServer, template: str, folder: Path, **settings: Any) -> AsyncIterator[Stage]:
    """One service, and everybody who may or may not do something."""
    database = await postgres.create_database(template)
    settings |= {"oidc_issuer": PROVIDER, "oidc_client_id": "handraise", "embed_origins": "https://app.example.com"}
    settings["webhook_allow_private"] = True
    async with service(database, folder, **settings) as made:
        yield await staged(made)
    await postgres.drop_database(database)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    settings = {"push_allow_private": True, "push_delay_seconds": 86_400}  # no notice comes while a test looks
    async with everybody(postgres, template, tmp_path_factory.mktemp("all"), **settings) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def still(postgres: TestServer, template: str, tmp_path: Path) -> AsyncIterator[Stage]:
    """In which nothing happens by itself: no browser waits to be told of requests."""
    async with everybody(postgres, template, tmp_path) as made:
        yield made


def changing() -> list[str]:
    """All operations that change something."""
    return [operation for operation in table() if not operation.startswith("GET ")]


def allowed(operation: str) -> list[str]:
    """Who of those with a known actor may do this."""
    cells = table()[operation][1]
    return [who for who in WHO if cells[who] < 400]


async def actors_after(stage: Stage, position: int) -> list[tuple[str, str, str]]:
    """(topic, actor, channel) of all events since."""
    query = "SELECT topic, state FROM handraise_events WHERE notification_id > %s ORDER BY notification_id"
    found = []
    for topic, state in await rows(stage.handraise.app.conninfo, query, position):
        facts = json.loads(bytes(state).partition(b"\n")[0])
        found.append((topic, facts["actor"], facts.get("via", "")))
    return found


@pytest.mark.parametrize("operation", changing())
async def test_c64_no_header_or_query_names_the_actor(stage: Stage, operation: str) -> None:
    """Whatever headers and query say besides, all that is recorded is recorded of the caller, by the caller's way."""
    place, _ = table()[operation]
    for who in allowed(operation):
        call = await stage.call(operation, place, who, headers=FORGED_HEADERS, query=FORGED_QUERY)
        before = await stage.handraise.app.store.head()
        response = await call()
        assert response.status_code in (200, 201), (who, response.text)
        written = await actors_after(stage, before)
        expected = person_actor(directory_id("user", SIGNING_IN[operation])) if operation in SIGNING_IN else WHO[who]
        ended = {WHO[who]} if who == "session" and operation in SIGNING_IN else set()  # its old session, by itself
        if operation == "POST /api/tools/{name}":  # the request that is waited for expires by itself
            ended = {SYSTEM}
        assert {actor for _, actor, _ in written} - ended <= {expected}, (who, written)
        assert {via for _, _, via in written} <= {"", "web" if who == "session" else "api"}, (who, written)
        assert written or operation in WITHOUT_EVENT, who


@pytest.mark.parametrize("operation", changing())
async def test_c64_no_field_names_the_actor(stage: Stage, operation: str) -> None:
    """A body that says who acts, through which channel or when, is refused by name, and nothing is written."""
    place, _ = table()[operation]
    for who in allowed(operation)[:1]:
        for name in FORGED_FIELDS:
            call = await stage.call(operation, place, who, fields={name: "auditor"})
            before = await stage.handraise.app.store.head()
            response = await call()
            if operation in WITHOUT_BODY:
                assert response.status_code in (200, 201), (name, response.text)
                assert {actor for _, actor, _ in await actors_after(stage, before)} <= {WHO[who]}
                break
            assert response.status_code == 422, (name, response.text)
            assert name in {error["path"] for error in response.json()["errors"]}
            assert await actors_after(stage, before) == []


WITHOUT_EVENT = {
    "DELETE /api/push/subscriptions",
    "DELETE /api/sessions",
    "POST /api/agents/{id}/webhook/deliveries/{request_id}/redeliver",
    "POST /api/agents/{id}/webhook/test",
    "POST /api/human-feedback/slack/config",  # the same again
    "POST /api/human-feedback/slack/test",
    "POST /api/push/subscriptions",
    "POST /api/push/test",
    "POST /api/routing/explain",
    "PUT /api/directory",
}
"""What changes nothing in the log, or nothing here."""

WITHOUT_BODY = {
    "DELETE /api/agents/{id}/webhook",
    "DELETE /api/requests/{id}/snooze",
    "DELETE /api/session",
    "DELETE /api/sessions",
    "POST /api/agents/{id}/webhook/deliveries/{request_id}/redeliver",
    "POST /api/agents/{id}/webhook/rotate",
    "POST /api/agents/{id}/webhook/test",
    "POST /api/keys/{id}/rotate",
    "POST /api/push/test",
    "POST /api/requests/{id}/erase",
    "POST /api/users/{id}/erase",
    "POST /api/users/{id}/link",
} | {f"DELETE /api/{kind}/{{id}}" for kind in (
    "users", "lists", "agents", "agent-types", "categories", "request-types", "keys"
)}  # fmt: skip
"""What takes no body: one that is sent is not read."""


@pytest.mark.parametrize(
    "via", ["slack", "web", "mcp", "system", "CLI", "cli, slack", "", "api;cli", "\u00e9", "c" * 4000]
)
async def test_c64_the_command_line_alone_may_name_its_channel(stage: Stage, via: str) -> None:
    """`cli` is the one channel that a key may name; a session is the web whatever it says."""
    for who, header, recorded in (
        ("assignee", via, "api"),
        ("assignee", "cli", "cli"),
        ("session", via, "web"),
        ("session", "cli", "web"),
    ):
        made = await stage.request("assigned")
        client = await stage.caller(who)
        answered = await client.post(
            f"/api/requests/{made['id']}/respond", json={"text": "yes"}, headers={"Handraise-Via": header.encode()}
        )
        assert answered.status_code == 200, answered.text
        assert answered.json()["response"]["via"] == recorded


# -- C28: nobody answers who was not asked


@pytest.mark.parametrize("place", ["assigned", "shared", "claimed"])
@pytest.mark.parametrize("person", ["other", "owner", "runner", "auditor"])
async def test_c28_who_was_not_asked_cannot_answer_on_the_web(stage: Stage, place: str, person: str) -> None:
    """Signed in, with the page's token, knowing the id: refused in words, kept in the history once, and still open."""
    made = await stage.request(place)
    browser = await stage.session(person)
    path = f"/api/requests/{made['id']}"
    for call, body in (
        (f"{path}/respond", {"text": "yes"}),
        ("/api/human-feedback/submit", {"unique_id": made["unique_id"], "response": "yes", "agent": "asker"}),
        (f"{path}/respond", {"data": {"approved": True}}),
    ):
        refused = await browser.post(call, json=body)
        assert refused.status_code == 403
        assert refused.json()["title"] == "Not eligible to answer"
        said = "an auditor reads everything" if person == "auditor" else "it is assigned to, or an administrator, may"
        assert said in refused.json()["detail"]
    moved = await browser.post(f"{path}/claim")
    assert moved.status_code == 403
    now = (await stage.handraise.admin.get(path)).json()
    assert (now["status"], now["response"], now["assigned_to"]) == (
        "Requested",
        None,
        {"assigned": "assignee", "shared": None, "claimed": "claimant"}[place],
    )
    history = (await stage.handraise.admin.get(f"{path}/history")).json()["items"]
    assert [(item["type"], item["actor"], item["via"], item["why"]) for item in history if "why" in item] == [
        ("AnswerRefused", person, "web", "not eligible")
    ]


async def test_c28_a_page_of_another_site_cannot_answer(stage: Stage) -> None:
    """The browser of somebody who may answer, led there by another site, is refused; nothing is written at all."""
    made = await stage.request("assigned")
    browser = await stage.session("assignee")
    path = f"/api/requests/{made['id']}/respond"
    token = browser.headers.pop("X-CSRF-Token")
    before = await stage.handraise.app.store.head()
    for headers in (
        {},
        {"X-CSRF-Token": ""},
        {"X-CSRF-Token": token[:-1]},
        {"X-CSRF-Token": token, "Sec-Fetch-Site": "cross-site"},
        {"X-CSRF-Token": token, "Sec-Fetch-Site": "same-site"},
        {"X-CSRF-Token": (await stage.session("assignee")).headers["X-CSRF-Token"]},
    ):
        refused = await browser.post(path, json={"text": "yes"}, headers=headers)
        assert refused.status_code == 403, headers
    plain = await browser.post(
        path, content='{"text": "yes"}', headers={"X-CSRF-Token": token, "Content-Type": "text/plain"}
    )
    assert plain.status_code == 422
    assert {topic for topic, _, _ in await actors_after(stage, before)} <= {
        "handraise.SignInLink.Made", "handraise.SignInLink.Used", "handraise.Session.Opened",
    }  # fmt: skip
    assert (await browser.post(path, json={"text": "yes"}, headers={"X-CSRF-Token": token})).status_code == 200


# -- C40: no schema makes the server fetch anything


@asynccontextmanager
async def listener() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that nobody should talk to: its port and what it heard."""
    heard: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(b"connected")
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], heard


ELSEWHERE = {
    "http": "http://127.0.0.1:PORT/schema.json",
    "https": "https://127.0.0.1:PORT/schema.json",
    "no scheme": "//127.0.0.1:PORT/schema.json",
    "file": "file://FILE",
    "file, with host": "file://localhostFILE",
    "ftp": "ftp://127.0.0.1:PORT/schema.json",
    "a path": "FILE",
}
REFERENCES: dict[str, Any] = {
    "$ref": {"$ref": "TO"},
    "$dynamicRef": {"$dynamicRef": "TO#x"},
    "$recursiveRef": {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "TO"},
    "$schema": {"$schema": "TO"},
    "$id": {"$id": "TO", "$ref": "other.json"},
    "in a property": {"properties": {"a": {"items": {"$ref": "TO#/definitions/a"}}}},
    "in a definition": {"$defs": {"a": {"$ref": "TO"}}, "$ref": "#/$defs/a"},
    "in if": {"if": {"$ref": "TO"}, "then": {}},
    "draft 4": {"$schema": "http://json-schema.org/draft-04/schema#", "id": "TO", "allOf": [{"$ref": "more.json"}]},
    "draft 7": {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "TO"},
}


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("elsewhere", ELSEWHERE)
async def test_c40_no_schema_is_fetched(stage: Stage, tmp_path: Path, elsewhere: str, reference: str) -> None:
    """In every call that takes a schema, as object and as text: 422 by name, no connection, nothing of a file told."""
    file = tmp_path / "schema.json"
    file.write_text('{"title": "from the file", "const": "from the file"}')
    async with listener() as (port, heard):
        to = ELSEWHERE[elsewhere].replace("PORT", str(port)).replace("FILE", str(file))
        text = json.dumps(REFERENCES[reference]).replace("TO", to)
        for path, client in (("/api/requests", "the agent"), ("/api/routing/explain", "the agent")):
            for given in (json.loads(text), text):
                body = {"message": "x", "response_schema": given}
                refused = await stage.clients[client].post(path, json=body)
                assert refused.status_code == 422, refused.text
                assert refused.json()["errors"][0]["path"].startswith("response_schema")
                assert "from the file" not in refused.text
        assert heard == []


async def test_c40_every_place_that_takes_a_schema_is_tried(stage: Stage) -> None:
    """A new field for a schema fails here until it is among those that are tried above."""
    document = (await stage.handraise.nobody.get("/openapi.json")).json()
    bodies = {
        name for name, schema in document["components"]["schemas"].items()
        if "response_schema" in schema.get("properties", {}) and not name.endswith("View")
    }  # fmt: skip
    assert bodies == {"CreateRequest", "ExplainBody"}
    places = {
        path
        for path, item in document["paths"].items()
        for operation in item.values()
        if any(f"/{body}" in json.dumps(operation.get("requestBody", {})) for body in bodies)
    }
    assert places == {"/api/requests", "/api/routing/explain"}
    # A hint for showing the form is kept and shown as it is: nothing is looked up in it.
    async with listener() as (port, heard):
        hint = {"$ref": f"http://127.0.0.1:{port}/x", "ui:options": {"$ref": "file:///etc/passwd"}}
        made = await stage.clients["the agent"].post("/api/requests", json={"message": "x", "ui_schema": hint})
        assert made.json()["ui_schema"] == hint
        assert heard == []


# -- C57: reading changes nothing

PRINTED = ("/", "/docs", "/openapi.json", "/sign-in", "/sign-in.js", "/favicon.ico", "/robots.txt")
"""Pages, and what a link that we print may lead to, besides the served document."""


async def test_c57_no_get_or_head_changes_anything(still: Stage) -> None:
    """Every address, with every kind of credential and with none, leaves log and inline tables as they were."""
    asked = await still.request("assigned")
    sealed = await still.request("sealed")
    link = (await still.handraise.admin.post("/api/users/visitor/link")).json()["url"]
    clients = {who: await still.caller(who) for who in CALLERS}
    await settled(still.handraise)
    before = await state(still.handraise)
    paths = {path.split()[1] for path in await operations(still.handraise)}
    addresses = {*PRINTED, link.partition("#")[0].removeprefix("http://127.0.0.1:8000"), "/sign-in?token=x"}
    for path in paths - {"/api/stream", "/api/oidc/start"}:
        for id in (asked["id"], sealed["id"], "admin", "default", "crew"):
            addresses.add(path.replace("{id}", id) + ("?timeout_seconds=0" if path.endswith("/wait") else ""))
    for who, client in clients.items():
        for address in sorted(addresses):
            for method in ("GET", "HEAD"):
                response = await client.request(method, address)
                assert response.status_code < 500, (who, method, address)
        await beginning(still.handraise, client, "/api/stream")
    assert (await clients["session"].get("/api/session")).status_code == 200
    head, after = await state(still.handraise)
    assert {name for name in after if after[name] != before[1][name]} == set()
    assert head == before[0]
    # The link that a mail scanner has opened still signs its person in: only the page's button uses it.
    token = re.fullmatch(r".*/sign-in#(.+)", link)
    assert token is not None
    used = await still.handraise.nobody.post("/api/session/link", json={"token": token[1]})
    still.handraise.nobody.cookies.clear()
    assert used.status_code == 201


async def state(handraise: Service) -> tuple[int, dict[str, list[str]]]:
    """The head of the log, and all rows but for when a key was last used, which is noted to the minute."""
    found: dict[str, list[str]] = {}
    tables = await rows(
        handraise.app.conninfo, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
    )
    for (name,) in tables:
        query = f"SELECT (to_jsonb(t) - 'last_used_at')::text FROM {name} t ORDER BY 1"
        found[name] = [row for (row,) in await rows(handraise.app.conninfo, query)]
    return await handraise.app.store.head(), found


async def test_places_are_those_of_requests() -> None:
    """What is about no request says so, in the matrix that these tests take their calls from."""
    for operation, (place, _) in table().items():
        about = "/requests/{id}" in operation or operation.endswith(("/bulk", "/submit"))
        assert (place != NO_PLACE) is about, operation
