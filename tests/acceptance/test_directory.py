"""The directory over HTTP: every collection, what is refused and why, oneself, keys, import and export, seeds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from domain.callers import Role
from tests.acceptance.test_conventions import fields, problem
from tests.support.postgres import TestServer
from tests.support.service import Service, service

pytestmark = pytest.mark.asyncio(loop_scope="module")

STRATEGY = {"type": "SpecificUser", "userID": "alice"}

# Of each collection: what an entry is called, an entry with all its fields, what they are when nothing is said, and
# other values to change to.
COLLECTIONS: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "users": (
        "user",
        {
            "email": "Carla@Example.com",
            "role": "auditor",
            "active": False,
            "slack_user_id": "U0CARLA",
            "time_zone": "Europe/Berlin",
            "quiet_hours": {"from": "22:00", "to": "07:30"},
            "out_of_office": {"from": "2026-12-24", "to": "2027-01-02", "stand_in": "alice"},
        },
        {
            "email": None,
            "role": "member",
            "active": True,
            "slack_user_id": None,
            "time_zone": None,
            "quiet_hours": None,
            "out_of_office": None,
        },
        {
            "email": "carla@example.org",
            "role": "member",
            "active": True,
            "slack_user_id": "U0CARLA2",
            "time_zone": "America/New_York",
            "quiet_hours": {"from": "00:00", "to": "23:59"},
            "out_of_office": {"from": "2028-02-29", "to": "2028-02-29", "stand_in": None},
        },
    ),
    "lists": ("list", {"members": ["bob", "alice"]}, {"members": []}, {"members": ["alice", "bob"]}),
    "agents": (
        "agent",
        {"owner": "alice", "agent_type": "crawler", "category": "demo"},
        {"owner": None, "agent_type": None, "category": None},
        {"owner": "bob", "agent_type": "writer", "category": "assistant"},
    ),
    "agent-types": (
        "agent type",
        {"assignment_strategy": STRATEGY | {"kept": [1]}},
        {"assignment_strategy": None},
        {"assignment_strategy": {"type": "List", "listID": "team", "listStrategy": "LeastBusy", "priority": 1}},
    ),
    "categories": (
        "category",
        {"parent": "demo", "assignment_strategy": STRATEGY},
        {"parent": "all", "assignment_strategy": None},
        {"parent": "assistant", "assignment_strategy": {"type": "RunUser"}},
    ),
    "request-types": (
        "request type",
        {
            "default_assignment_strategy": STRATEGY,
            "default_priority": 100,
            "default_expiration_minutes": 0.5,
            "no_self_answer": True,
            "erase_after_days": 3650.0,
        },
        {
            "default_assignment_strategy": None,
            "default_priority": None,
            "default_expiration_minutes": None,
            "no_self_answer": False,
            "erase_after_days": None,
        },
        {
            "default_assignment_strategy": {"type": "AgentOwner"},
            "default_priority": 1,
            "default_expiration_minutes": 90.0,
            "no_self_answer": False,
            "erase_after_days": 0.5,
        },
    ),
}
EVERY = pytest.mark.parametrize("collection", COLLECTIONS)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def handraise(
    postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Service]:
    """One service for all tests that change only what they add themselves, in a directory with entries to name."""
    database = await postgres.create_database(template)
    async with service(database, tmp_path_factory.mktemp("service")) as made:
        await populated(made.admin)
        yield made
    await postgres.drop_database(database)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def other(handraise: Service) -> AsyncIterator[Service]:
    """A second replica on the same database."""
    async with service(handraise.app.conninfo, handraise.settings.data_dir) as replica:
        yield replica


@pytest.fixture(scope="module")
def admin(handraise: Service) -> httpx.AsyncClient:
    """An administrator."""
    return handraise.admin


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def member(handraise: Service) -> httpx.AsyncClient:
    """A member."""
    return await handraise.person("member")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def auditor(handraise: Service) -> httpx.AsyncClient:
    """An auditor."""
    return await handraise.person("auditor", Role.AUDITOR)


async def populated(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """This client of an administrator, once there are entries to name."""
    document = {
        "users": [{"id": "alice", "name": "Alice"}, {"id": "bob", "name": "Bob", "email": "bob@example.com"}],
        "lists": [{"id": "team", "name": "Team", "members": ["alice", "bob"]}],
        "agent_types": [{"id": "crawler", "name": "Crawler"}, {"id": "writer", "name": "Writer"}],
    }
    assert (await client.put("/api/directory", json=document)).status_code == 200
    return client


async def add(client: httpx.AsyncClient, collection: str, **body: Any) -> str:
    """A new entry's readable id."""
    response = await client.post(f"/api/{collection}", json={"name": "An entry"} | body)
    assert response.status_code == 201, response.text
    assert response.json().keys() == {"id", "position"}
    return response.json()["id"]


async def shown(client: httpx.AsyncClient, collection: str, id: str) -> dict[str, Any] | None:
    """The entry as its collection shows it."""
    items = (await client.get(f"/api/{collection}", params={"limit": 200})).json()["items"]
    return next((item for item in items if item["id"] == id), None)


async def head(client: httpx.AsyncClient) -> int:
    """The newest position of the log."""
    return (await client.get("/api/users", params={"limit": 1})).json()["position"]


async def put(client: httpx.AsyncClient, **document: Any) -> httpx.Response:
    return await client.put("/api/directory", json=document)


async def exported(client: httpx.AsyncClient) -> dict[str, Any]:
    response = await client.get("/api/directory")
    assert response.status_code == 200, response.text
    return response.json()


# -- one by one


@EVERY
async def test_an_entry_is_added_changed_and_removed(admin: httpx.AsyncClient, collection: str) -> None:
    """201 with id and position; PATCH changes the fields given alone, null clears; removed, it is gone for good."""
    _, full, bare, changed = COLLECTIONS[collection]
    id = await add(admin, collection, name="Söme Entry", **full)
    assert id == "some-entry"
    assert await shown(admin, collection, id) == {"id": id, "name": "Söme Entry"} | full
    path, expected = f"/api/{collection}/{id}", {"id": id, "name": "Söme Entry"} | full
    before = await head(admin)
    for field, value in ({"name": "Other"} | changed).items():
        response = await admin.patch(path, json={field: value})
        assert (response.status_code, response.json().keys()) == (200, {"position"}), response.text
        expected = expected | {field: value}
        assert await shown(admin, collection, id) == expected
    assert await head(admin) == before + sum(
        (full | {"name": "Söme Entry"})[each] != expected[each] for each in expected if each != "id"
    )
    clearable = {field: None for field, value in bare.items() if value is None or field == "parent"}
    assert (await admin.patch(path, json=clearable)).status_code == 200
    assert await shown(admin, collection, id) == expected | {field: bare[field] for field in clearable}
    before = await head(admin)
    same = await admin.patch(path, json=clearable)
    assert (same.status_code, same.json()) == (200, {"position": before})
    assert (await admin.patch(path, json={})).json() == {"position": before}
    removed = await admin.delete(path)
    assert (removed.status_code, removed.json()) == (200, {"position": before + 1})
    assert await shown(admin, collection, id) is None
    for again in (await admin.delete(path), await admin.patch(path, json={"name": "x"})):
        assert "there is no" in problem(again, 404)["detail"]


@EVERY
async def test_an_entry_that_says_nothing_has_defaults(admin: httpx.AsyncClient, collection: str) -> None:
    """Only a name is needed."""
    id = await add(admin, collection, name="Bare")
    assert await shown(admin, collection, id) == {"id": "bare", "name": "Bare"} | COLLECTIONS[collection][2]


@EVERY
async def test_ids_are_given_or_made_and_never_given_again(admin: httpx.AsyncClient, collection: str) -> None:
    """A taken id is 409, also after its entry was removed; ids made from names go around those that were used."""
    what = COLLECTIONS[collection][0]
    assert await add(admin, collection, id="x.y_z-1", name="A") == "x.y_z-1"
    made = [await add(admin, collection, name="Same Name") for _ in range(3)]
    assert made == ["same-name", "same-name-2", "same-name-3"]
    assert await add(admin, collection, name="日本") == what.replace(" ", "_")
    assert (await admin.delete(f"/api/{collection}/same-name-2")).status_code == 200
    for taken in ("x.y_z-1", "same-name-2"):
        refused = problem(
            await admin.post(f"/api/{collection}", json={"id": taken, "name": "B"}), 409, "Already exists"
        )
        assert refused["detail"] == f"{what} id {taken!r} is in use or was; ids are never given again"
    assert await add(admin, collection, name="Same Name") == "same-name-4"
    for wrong in ("", "A", "a b", "-a", "a-", "a/b", "ä", "a" * 65, "a\0", "\ud800", 5, ["a"]):
        body = json.dumps({"id": wrong, "name": "B"}).encode()
        response = await admin.post(f"/api/{collection}", content=body, headers={"Content-Type": "application/json"})
        assert fields(response) in (["id"], [""]), (wrong, response.text)


@pytest.mark.parametrize("collection", ["users", "agents"])
async def test_ids_that_mean_something_else_are_reserved(admin: httpx.AsyncClient, collection: str) -> None:
    """Neither people nor agents are called `nobody` or `system`, alone or in a document."""
    for id in ("nobody", "system"):
        assert fields(await admin.post(f"/api/{collection}", json={"id": id, "name": "X"})) == ["id"]
        assert fields(await put(admin, **{collection: [{"id": id, "name": "X"}]})) == [f"{collection}/0/id"]
        assert await add(admin, collection, name=id.title()) == f"{id}-2"


@EVERY
async def test_a_collection_comes_in_pages(admin: httpx.AsyncClient, collection: str) -> None:
    """In the order of the ids, whatever is added meanwhile, nothing twice; a cursor belongs to one collection."""
    for number in range(5):
        await add(admin, collection, id=f"p{number}", name="P")
    seen: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = (await admin.get(f"/api/{collection}", params={"limit": 2} | cursor)).json()
        assert page.keys() == {"items", "next_cursor", "position"}
        assert len(page["items"]) == 2 or page["next_cursor"] is None
        seen += [item["id"] for item in page["items"]]
        if not cursor:
            await add(admin, collection, id="0-first", name="P")
            await add(admin, collection, id="p2-and-a-half", name="P")
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    everything = (await admin.get(f"/api/{collection}", params={"limit": 200})).json()
    assert seen == [item["id"] for item in everything["items"] if item["id"] != "0-first"]
    assert seen == sorted(seen)
    elsewhere = "lists" if collection != "lists" else "users"
    problem(await admin.get(f"/api/{elsewhere}", params=cursor), 400)
    for limit in (0, 201, "x"):
        assert fields(await admin.get(f"/api/{collection}", params={"limit": limit})) == ["limit"]
    problem(await admin.get(f"/api/{collection}", params={"min_position": everything["position"] + 1}), 400)


@EVERY
async def test_what_is_written_on_one_replica_is_read_on_another(
    admin: httpx.AsyncClient, other: Service, collection: str
) -> None:
    """At once: the directory is never behind."""
    id = await add(admin, collection, **COLLECTIONS[collection][1])
    assert await shown(other.admin, collection, id) == await shown(admin, collection, id) is not None
    assert (await admin.delete(f"/api/{collection}/{id}")).status_code == 200
    assert await shown(other.admin, collection, id) is None


# -- who may


@EVERY
async def test_members_auditors_and_agents_change_nothing(
    handraise: Service,
    admin: httpx.AsyncClient,
    member: httpx.AsyncClient,
    auditor: httpx.AsyncClient,
    collection: str,
) -> None:
    """403, whether the entry is there or not, and nothing happens."""
    id = await add(admin, collection)
    before, position = await exported(admin), await head(admin)
    for caller in (member, auditor, handraise.agent):
        for target in (id, "nothing"):
            problem(await caller.patch(f"/api/{collection}/{target}", json={"name": "X"}), 403)
            problem(await caller.delete(f"/api/{collection}/{target}"), 403)
        problem(await caller.post(f"/api/{collection}", json={"name": "X"}), 403)
        section = collection.replace("-", "_")
        problem(await put(caller, **{section: [{"id": "x", "name": "X"}]}), 403)
    assert (await exported(admin), await head(admin)) == (before, position)


async def test_auditors_read_the_directory(
    handraise: Service, admin: httpx.AsyncClient, member: httpx.AsyncClient, auditor: httpx.AsyncClient
) -> None:
    """All of it, as administrators do; members and agents do not."""
    assert await exported(auditor) == await exported(admin)
    for caller in (member, handraise.agent):
        problem(await caller.get("/api/directory"), 403)


# -- what is refused

BAD: list[tuple[str, dict[str, Any], list[str]]] = [
    ("users", {"name": None}, ["name"]),
    ("users", {"name": ""}, ["name"]),
    ("users", {"name": " \u200b"}, ["name"]),
    ("users", {"name": "x" * 201}, ["name"]),
    ("users", {"name": "a\0b"}, ["name"]),
    ("users", {"name": "\ud800"}, [""]),
    ("users", {"name": 5}, ["name"]),
    ("users", {"email": ""}, ["email"]),
    ("users", {"email": "x" * 321}, ["email"]),
    ("users", {"email": ["a@b"]}, ["email"]),
    ("users", {"role": "king"}, ["role"]),
    ("users", {"role": None}, ["role"]),
    ("users", {"active": "yes"}, ["active"]),
    ("users", {"active": None}, ["active"]),
    ("users", {"slack_user_id": " "}, ["slack_user_id"]),
    ("users", {"time_zone": "Mars/Olympus"}, ["time_zone"]),
    ("users", {"time_zone": "europe/berlin"}, ["time_zone"]),
    ("users", {"time_zone": ""}, ["time_zone"]),
    ("users", {"time_zone": "../../etc/passwd"}, ["time_zone"]),
    ("users", {"quiet_hours": {"from": "22:00"}}, ["quiet_hours/to"]),
    ("users", {"quiet_hours": {}}, ["quiet_hours/from", "quiet_hours/to"]),
    ("users", {"quiet_hours": {"from": "22:00", "to": "24:00"}}, ["quiet_hours/to"]),
    ("users", {"quiet_hours": {"from": "22:60", "to": "7:00"}}, ["quiet_hours/from", "quiet_hours/to"]),
    ("users", {"quiet_hours": {"from": "22:00:00", "to": "٠٧:٠٠"}}, ["quiet_hours/from", "quiet_hours/to"]),
    ("users", {"quiet_hours": {"from": "07:00", "to": "07:00"}}, ["quiet_hours"]),
    ("users", {"quiet_hours": {"from": 1320, "to": "07:00"}}, ["quiet_hours/from"]),
    ("users", {"quiet_hours": {"from": "22:00", "to": "07:00", "x": 1}}, ["quiet_hours/x"]),
    ("users", {"quiet_hours": {"from_": "22:00", "to": "07:00"}}, ["quiet_hours/from", "quiet_hours/from_"]),
    ("users", {"quiet_hours": "22:00"}, ["quiet_hours"]),
    ("users", {"out_of_office": {"from": "2026-12-24", "to": "2026-12-23"}}, ["out_of_office/to"]),
    ("users", {"out_of_office": {"from": "2026-02-29", "to": "2026-03-01"}}, ["out_of_office/from"]),
    ("users", {"out_of_office": {"from": "20261224", "to": "2026-W52-5"}}, ["out_of_office/from", "out_of_office/to"]),
    (
        "users",
        {"out_of_office": {"from": "1999-12-31", "to": "9999-12-31"}},
        ["out_of_office/from", "out_of_office/to"],
    ),
    ("users", {"out_of_office": {"to": "2026-12-24"}}, ["out_of_office/from"]),
    (
        "users",
        {"out_of_office": {"from": "2026-12-24", "to": "2026-12-24", "stand_in": "carol"}},
        ["out_of_office/stand_in"],
    ),
    ("users", {"out_of_office": {"from": "2026-12-24", "to": "2026-12-24", "x": 1}}, ["out_of_office/x"]),
    ("users", {"members": []}, ["members"]),
    ("lists", {"members": ["alice", "carol", "bob", "dave"]}, ["members/1", "members/3"]),
    ("lists", {"members": ["alice", "bob", "alice"]}, ["members/2"]),
    ("lists", {"members": ["alice", ""]}, ["members/1"]),
    ("lists", {"members": ["a\0"]}, ["members/0"]),
    ("lists", {"members": ["alice", None]}, ["members/1"]),
    ("lists", {"members": "alice"}, ["members"]),
    ("lists", {"members": None}, ["members"]),
    ("agents", {"owner": "carol"}, ["owner"]),
    ("agents", {"owner": "x" * 65}, ["owner"]),
    ("agents", {"owner": 5}, ["owner"]),
    ("agents", {"agent_type": "alice"}, ["agent_type"]),
    ("agents", {"category": "nowhere", "owner": "carol"}, ["category", "owner"]),
    ("categories", {"parent": "nowhere"}, ["parent"]),
    ("categories", {"parent": "a\0"}, ["parent"]),
    ("request-types", {"default_priority": 0}, ["default_priority"]),
    ("request-types", {"default_priority": 101}, ["default_priority"]),
    ("request-types", {"default_priority": 1.5}, ["default_priority"]),
    ("request-types", {"default_priority": True}, ["default_priority"]),
    ("request-types", {"default_expiration_minutes": 0}, ["default_expiration_minutes"]),
    ("request-types", {"default_expiration_minutes": -1}, ["default_expiration_minutes"]),
    ("request-types", {"default_expiration_minutes": 3650 * 1440 + 1}, ["default_expiration_minutes"]),
    ("request-types", {"default_expiration_minutes": 10**400}, ["default_expiration_minutes"]),
    ("request-types", {"default_expiration_minutes": "60"}, ["default_expiration_minutes"]),
    ("request-types", {"no_self_answer": None}, ["no_self_answer"]),
    ("request-types", {"erase_after_days": 0}, ["erase_after_days"]),
    ("request-types", {"erase_after_days": 3651}, ["erase_after_days"]),
    ("request-types", {"erase_after_days": True}, ["erase_after_days"]),
    ("request-types", {"erase_after_days": "30"}, ["erase_after_days"]),
]
BAD_STRATEGIES: list[tuple[Any, list[str]]] = [
    ({}, [""]),
    ([], [""]),
    (5, [""]),
    ("RunUser", [""]),
    ('{"type": "RunUser"', [""]),
    ("[" * 5000, [""]),
    ({"type": None}, [""]),
    ({"type": ["RunUser"]}, [""]),
    ({"type": "runuser"}, [""]),
    ({"type": "SpecificUser"}, ["userID"]),
    ({"type": "SpecificUser", "userID": None}, ["userID"]),
    ({"type": "SpecificUser", "userID": "carol"}, ["userID"]),
    ({"type": "SpecificUser", "userID": 5}, ["userID"]),
    ({"type": "SpecificUser", "userID": ""}, ["userID"]),
    ({"type": "List"}, ["listID"]),
    ({"type": "List", "listID": "nowhere"}, ["listID"]),
    ({"type": "SharedInbox", "listID": "alice"}, ["listID"]),
    ({"type": "List", "listID": "team", "listStrategy": "FIFO"}, ["listStrategy"]),
    ({"type": "List", "listID": "team", "listStrategy": {}}, ["listStrategy"]),
    ({"type": "RunUser", "priority": 0}, ["priority"]),
    ({"type": "RunUser", "priority": "1"}, ["priority"]),
    ({"type": "RunUser", "priority": True}, ["priority"]),
    ({"type": "RunUser", "expirationMinutes": 0}, ["expirationMinutes"]),
    ({"type": "RunUser", "expirationMinutes": 3650 * 1440 + 1}, ["expirationMinutes"]),
    ({"type": "RunUser", "userID": 5, "listID": []}, ["userID", "listID"]),
    ({"type": "RunUser", "x": "a\0"}, ["x"]),
    ({"type": "RunUser", "x" * 17_000: 1}, [""]),
    ({"type": "RunUser", "x": [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}, [""]),
    ('{"type": "RunUser", "x": "a\\u0000"}', ["x"]),
    ('{"type": "RunUser", "x": "\\ud800"}', ["x"]),
    ('{"type": "RunUser", "x": NaN}', ["x"]),
    ('{"type": "RunUser", "x": ' + "[" * 400 + "]" * 400 + "}", [""]),
]


def sent(**body: Any) -> dict[str, Any]:
    """A body as ASCII, so that what is no Unicode arrives as it is."""
    return {"content": json.dumps(body).encode(), "headers": {"Content-Type": "application/json"}}


async def test_every_failing_field_is_named(admin: httpx.AsyncClient) -> None:
    """In a new entry, in a change, and with its place in a document; nothing is written, whatever it is."""
    for collection in COLLECTIONS:
        await add(admin, collection, id="there", name="There")
    position = await head(admin)
    for collection, body, expected in BAD:
        whole = await admin.post(f"/api/{collection}", **sent(**({"name": "X"} | body)))
        part = await admin.patch(f"/api/{collection}/there", **sent(**body))
        section = collection.replace("-", "_")
        rows = [{"id": "fine", "name": "Fine"}, {"id": "there"} | body, {"id": "new", "name": "X"} | body]
        document = await admin.put("/api/directory", **sent(**{section: rows}))
        if expected == [""]:  # half of a surrogate pair is refused before anything is read
            expected = list(body)
        for response in (whole, part):
            assert sorted(fields(response)) in (sorted(expected), [""]), (collection, body, response.text)
        in_document = sorted(f"{section}/{row}/{path}" for row in (1, 2) for path in expected)
        assert sorted(fields(document)) in (in_document, [""]), (collection, body, document.text)
    assert await head(admin) == position


async def test_every_fault_of_a_strategy_is_named(admin: httpx.AsyncClient) -> None:
    """On agent types, categories and request types alike, as an object or as its JSON text."""
    position = await head(admin)
    for strategy, below in BAD_STRATEGIES:
        for collection, field in (
            ("agent-types", "assignment_strategy"),
            ("categories", "assignment_strategy"),
            ("request-types", "default_assignment_strategy"),
        ):
            expected = [f"{field}/{path}".rstrip("/") for path in below]
            forms = [strategy] if isinstance(strategy, str) else [strategy, json.dumps(strategy)]
            for form in forms:
                response = await admin.post(f"/api/{collection}", **sent(name="X", **{field: form}))
                assert fields(response) == expected, (form, response.text)
            section = collection.replace("-", "_")
            response = await put(admin, **{section: [{"id": "x", "name": "X", field: strategy}]})
            assert fields(response) == [f"{section}/0/{path}" for path in expected], (strategy, response.text)
    assert await head(admin) == position


async def test_a_strategy_may_be_given_as_json_text(admin: httpx.AsyncClient) -> None:
    """It is kept as the object that it stands for; blank text is none."""
    strategy = {"type": "List", "listID": "team", "priority": 7, "expirationMinutes": 0.5, "own": {"b": None, "a": [1]}}
    id = await add(admin, "agent-types", assignment_strategy=json.dumps(strategy))
    entry = await shown(admin, "agent-types", id)
    assert entry is not None
    assert entry["assignment_strategy"] == strategy
    assert (await admin.patch(f"/api/agent-types/{id}", json={"assignment_strategy": "  "})).status_code == 200
    entry = await shown(admin, "agent-types", id)
    assert entry is not None
    assert entry["assignment_strategy"] is None


@EVERY
async def test_unknown_fields_and_bodies_of_another_kind_are_refused(admin: httpx.AsyncClient, collection: str) -> None:
    """A misspelt field is named; what is no object, or too large, is refused as a whole."""
    id = await add(admin, collection)
    path = f"/api/{collection}"
    assert fields(await admin.post(path, json={"name": "X", "colour": 1})) == ["colour"]
    assert fields(await admin.patch(f"{path}/{id}", json={"colour": 1})) == ["colour"]
    assert fields(await admin.patch(f"{path}/{id}", json={"id": "other"})) == ["id"]
    assert fields(await admin.post(path, json={})) == ["name"]
    for method, where in (("POST", path), ("PATCH", f"{path}/{id}"), ("PUT", "/api/directory")):
        for body in (b"[]", b"null", b'"x"'):
            response = await admin.request(method, where, content=body, headers={"Content-Type": "application/json"})
            assert len(fields(response)) == 1
        broken = await admin.request(method, where, content=b"{", headers={"Content-Type": "application/json"})
        problem(broken, 400)
        twice = b'{"name": "a", "name": "b"}'
        problem(await admin.request(method, where, content=twice, headers={"Content-Type": "application/json"}), 400)
        large = json.dumps({"name": "x" * (2 << 20)}).encode()
        problem(await admin.request(method, where, content=large, headers={"Content-Type": "application/json"}), 413)
    for strange in ("%00", "%ff", "a%2Fb", "x" * 65):
        assert (await admin.patch(f"{path}/{strange}", json={"name": "X"})).status_code in (404, 422)
        assert (await admin.delete(f"{path}/{strange}")).status_code in (404, 405, 422)


async def test_two_people_never_have_the_same_contact(fresh: Service) -> None:
    """An address, in any case, or a Slack id of somebody else is 409, until they have another or are gone."""
    admin = await populated(fresh.admin)
    await add(admin, "users", id="carla", email="Carla@Example.com", slack_user_id="U1")
    for field, value in (("email", "carla@example.COM"), ("slack_user_id", "U1")):
        refusals = [
            await admin.post("/api/users", json={"name": "X", field: value}),
            await admin.patch("/api/users/alice", json={field: value}),
        ]
        for response in refusals:
            assert (
                problem(response, 409, "Already exists")["detail"] == f"{field}: user 'carla' has this {field} already"
            )
        within = await put(admin, users=[{"id": "alice"}, {"id": "bob", field: value}])
        assert problem(within, 409)["detail"].startswith(f"users/1/{field}: user 'carla'")
        among = await put(admin, users=[{"id": "alice", field: "new"}, {"id": "bob", field: "new"}])
        assert problem(among, 409)["detail"] == f"users/1/{field}: user 'alice' of the document has the same"
        assert (await admin.patch("/api/users/carla", json={field: value})).status_code == 200
    moved = await put(
        admin,
        users=[{"id": "carla", "email": None, "slack_user_id": None}, {"id": "bob", "email": "carla@example.com"}],
    )
    assert moved.status_code == 200, moved.text
    swapped = await put(admin, users=[{"id": "alice", "email": "carla@example.com"}, {"id": "bob", "email": "U1"}])
    assert swapped.status_code == 200, swapped.text
    assert (await admin.delete("/api/users/alice")).status_code == 200
    assert (await admin.patch("/api/users/carla", json={"email": "carla@example.com"})).status_code == 200


async def test_of_two_people_who_take_one_address_at_once_one_has_it(admin: httpx.AsyncClient, other: Service) -> None:
    """Ten at once, on two replicas: one is added, the others are told who has it."""
    responses = await asyncio.gather(
        *(
            client.post("/api/users", json={"id": f"p{number}-{which}", "name": "P", "email": "one@example.com"})
            for number in range(5)
            for which, client in enumerate((admin, other.admin))
        )
    )
    assert sorted(response.status_code for response in responses) == [201] + [409] * 9


async def test_a_category_is_never_above_itself(admin: httpx.AsyncClient, other: Service) -> None:
    """Not as its own parent, nor around a corner, nor the root, nor by two changes at once."""
    for id, parent in (("a", "all"), ("b", "a"), ("c", "b")):
        await add(admin, "categories", id=id, parent=parent)
    for id, parent in (("a", "a"), ("a", "b"), ("a", "c"), ("all", "c"), ("all", "all")):
        response = await admin.patch(f"/api/categories/{id}", json={"parent": parent})
        assert fields(response) == ["parent"], (id, parent)
        assert repr(id) in problem(response, 422)["detail"]
    rows = [{"id": "new", "name": "N", "parent": "c"}, {"id": "a", "parent": "new"}, {"id": "demo"}]
    assert fields(await put(admin, categories=rows)) == ["categories/0/parent", "categories/1/parent"]
    await add(admin, "categories", id="x")
    await add(admin, "categories", id="y")
    both = await asyncio.gather(
        admin.patch("/api/categories/x", json={"parent": "y"}),
        other.admin.patch("/api/categories/y", json={"parent": "x"}),
    )
    assert sorted(response.status_code for response in both) == [200, 422]
    assert (await admin.patch("/api/categories/all", json={"parent": None, "name": "Everything"})).status_code == 200
    root = await shown(admin, "categories", "all")
    assert root == {"id": "all", "name": "Everything", "parent": None, "assignment_strategy": None}


async def test_what_is_in_use_is_not_removed(fresh: Service) -> None:
    """409 that says what uses it; free again, it can go."""
    admin = await populated(fresh.admin)

    async def refused(path: str, *uses: str) -> None:
        detail = problem(await admin.delete(f"/api/{path}"), 409, "Conflict")["detail"]
        assert detail.endswith(f"is still in use: {', '.join(uses)}"), detail

    ladder = {"type": "RunUser", "escalation": [{"afterMinutes": 5, "to": {"type": "List", "listID": "team"}}]}
    named = {"type": "SharedInbox", "listID": "team"}
    await add(admin, "agent-types", id="t", assignment_strategy=named)
    await add(admin, "categories", id="c", assignment_strategy=named)
    await add(admin, "categories", id="below", parent="c")
    await add(admin, "request-types", id="r", default_assignment_strategy=ladder)
    await add(admin, "agents", id="bot", agent_type="t", category="c")
    key = (await admin.post("/api/keys", json={"name": "k", "agent": "bot"})).json()["key"]
    bot = await fresh.client(key)
    asked = (await bot.post("/api/requests", json={"message": "x"})).json()
    assert asked["list"] == "team"
    strategies = ("the strategy of agent type t", "the strategy of category c", "the strategy of request type r")
    await refused("lists/team", *strategies, "1 open request")
    await refused("agents/bot", "1 open request")
    await refused("agent-types/t", "agent bot")
    await refused("categories/c", "agent bot", "category below")
    for path, field in (
        ("agent-types/t", "assignment_strategy"),
        ("categories/c", "assignment_strategy"),
        ("request-types/r", "default_assignment_strategy"),
    ):
        assert (await admin.patch(f"/api/{path}", json={field: None})).status_code == 200
    await refused("lists/team", "1 open request")
    claimed = await admin.post(f"/api/requests/{asked['id']}/reassign", json={"to": "alice"})
    assert claimed.status_code == 200
    assert (await admin.delete("/api/lists/team")).status_code == 200
    await refused("agents/bot", "1 open request")
    assert (await admin.post(f"/api/requests/{asked['id']}/cancel", json={})).status_code == 200
    for path in ("agents/bot", "agent-types/t", "categories/below", "categories/c", "request-types/r"):
        assert (await admin.delete(f"/api/{path}")).status_code == 200, path
    problem(await bot.get("/api/requests"), 401)


async def test_what_is_removed_while_it_is_named_is_either_gone_or_named(
    admin: httpx.AsyncClient, other: Service
) -> None:
    """On two replicas at once: one of the two succeeds, never both; a person goes anyway, and is then in no list."""
    await add(admin, "lists", id="crew", members=["alice"])
    await add(admin, "agent-types", id="walker")
    for number in range(5):
        await add(admin, "lists", id=f"l{number}")
        removed, named = await asyncio.gather(
            admin.delete(f"/api/lists/l{number}"),
            other.admin.patch(
                "/api/agent-types/walker",
                json={"assignment_strategy": {"type": "SharedInbox", "listID": f"l{number}"}},
            ),
        )
        assert (removed.status_code, named.status_code) in ((200, 422), (409, 200))
        await add(admin, "users", id=f"u{number}")
        removed, joined = await asyncio.gather(
            admin.delete(f"/api/users/u{number}"),
            other.admin.patch("/api/lists/crew", json={"members": ["alice", f"u{number}"]}),
        )
        assert (removed.status_code, joined.status_code) in ((200, 422), (200, 200))
        crew = await shown(admin, "lists", "crew")
        assert crew is not None
        assert f"u{number}" not in crew["members"]


async def test_what_comes_with_the_server_stays(admin: httpx.AsyncClient) -> None:
    """The five request types and the root of the categories can be renamed, not removed."""
    types = ("approval", "clarification", "data-input", "review", "error-resolution")
    for path in [f"request-types/{id}" for id in types] + ["categories/all"]:
        problem(await admin.delete(f"/api/{path}"), 409, "Conflict")
        assert (await admin.patch(f"/api/{path}", json={"name": "Renamed"})).status_code == 200


# -- somebody has to administer


async def test_the_last_active_administrator_stays(fresh: Service) -> None:
    """Neither removed, deactivated nor demoted, in a document neither; with another one there it can be."""
    admin = await populated(fresh.admin)
    for response in (
        await admin.delete("/api/users/admin"),
        await admin.patch("/api/users/admin", json={"active": False}),
        await admin.patch("/api/users/admin", json={"role": "member"}),
        await admin.patch("/api/users/admin", json={"role": "auditor"}),
        await put(admin, users=[{"id": "admin", "role": "member"}, {"id": "alice", "name": "Changed"}]),
    ):
        assert "nobody would be left to administer" in problem(response, 409, "Conflict")["detail"]
    assert (await shown(admin, "users", "alice") or {})["name"] == "Alice"
    await add(admin, "users", id="idle", role="administrator", active=False)
    problem(await admin.delete("/api/users/admin"), 409)
    second = await fresh.person("second", Role.ADMINISTRATOR)
    handed_over = await put(admin, users=[{"id": "admin", "role": "member"}, {"id": "alice", "role": "administrator"}])
    assert handed_over.status_code == 200, handed_over.text
    problem(await admin.patch("/api/users/admin", json={"role": "administrator"}), 403)
    assert (await second.delete("/api/users/admin")).status_code == 200
    problem(await admin.get("/api/me"), 401)


async def test_two_administrators_cannot_both_go_at_once(fresh: Service, fresh_other: Service) -> None:
    """Each replica lets go of one of the only two, at the same moment: exactly one succeeds, every time."""
    for round, how in enumerate(["remove", "deactivate", "demote", "document"] * 5):
        pair = [f"one-{round}", f"two-{round}"]
        clients = [await fresh.person(id, Role.ADMINISTRATOR) for id in pair]
        others = [
            user["id"]
            for user in (await clients[0].get("/api/users", params={"limit": 200})).json()["items"]
            if user["role"] == "administrator" and user["active"] and user["id"] not in pair
        ]
        for id in others:
            assert (await clients[0].patch(f"/api/users/{id}", json={"role": "member"})).status_code == 200
        elsewhere = await fresh_other.client(clients[1].headers["Authorization"].removeprefix("Bearer "))

        async def let_go(client: httpx.AsyncClient, id: str, how: str = how) -> int:
            if how == "remove":
                return (await client.delete(f"/api/users/{id}")).status_code
            if how == "document":
                return (await put(client, users=[{"id": id, "active": False}])).status_code
            change: dict[str, Any] = {"active": False} if how == "deactivate" else {"role": "auditor"}
            return (await client.patch(f"/api/users/{id}", json=change)).status_code

        codes = await asyncio.gather(let_go(clients[0], pair[0]), let_go(elsewhere, pair[1]))
        assert codes.count(200) == 1, (how, codes)
        assert set(codes) <= {200, 401, 403, 409}, (how, codes)


# -- oneself and one's keys


async def test_everybody_sees_and_changes_their_own(fresh: Service) -> None:
    """Own time zone, quiet hours, absence and Slack id, whatever one's role; nothing else, and nobody else's."""
    admin = await populated(fresh.admin)
    for id, role in (("mia", Role.MEMBER), ("ada", Role.AUDITOR), ("ann", Role.ADMINISTRATOR)):
        me = await fresh.person(id, role)
        found = await me.get("/api/me")
        assert found.status_code == 200
        bare = COLLECTIONS["users"][2]
        assert found.json() == {"id": id, "name": id.title(), "position": await head(me)} | bare | {"role": role}
        own = {
            "time_zone": "Asia/Tokyo",
            "quiet_hours": {"from": "23:00", "to": "06:00"},
            "out_of_office": {"from": "2026-12-24", "to": "2026-12-24", "stand_in": "alice"},
            "slack_user_id": f"U{id}",
        }
        changed = await me.patch("/api/me", json=own)
        assert (changed.status_code, changed.json().keys()) == (200, {"position"}), changed.text
        found = await me.get("/api/me", params={"min_position": changed.json()["position"]})
        assert own.items() <= found.json().items()
        assert found.json()["role"] == role
        for field, value in (
            ("role", "administrator"),
            ("active", False),
            ("name", "X"),
            ("email", "x@example.com"),
            ("id", "alice"),
        ):
            assert fields(await me.patch("/api/me", json={field: value})) == [field]
        assert fields(await me.patch("/api/me", json={"time_zone": "X"})) == ["time_zone"]
        assert fields(await me.patch("/api/me", json={"out_of_office": own["out_of_office"] | {"stand_in": "x"}})) == [
            "out_of_office/stand_in"
        ]
        assert (await me.patch("/api/me", json=dict.fromkeys(own))).status_code == 200
        assert (await me.get("/api/me")).json().items() >= dict.fromkeys(own).items()
    await admin.patch("/api/users/alice", json={"slack_user_id": "UALICE"})
    problem(await (await fresh.person("tom")).patch("/api/me", json={"slack_user_id": "UALICE"}), 409)
    for response in (await fresh.agent.get("/api/me"), await fresh.agent.patch("/api/me", json={})):
        assert "only people" in problem(response, 403)["detail"]


async def test_a_key_gets_another_name_and_another_end(
    handraise: Service, other: Service, member: httpx.AsyncClient
) -> None:
    """On every replica at once; null takes the end away, and what is not given stays."""
    soon = datetime.now(UTC) + timedelta(hours=1)
    created = (await handraise.admin.post("/api/keys", json={"name": "CI", "agent": "default", "id": "ci"})).json()
    caller = await other.client(created["key"])

    async def key() -> dict[str, Any]:
        return next(key for key in (await other.admin.get("/api/keys?limit=200")).json()["items"] if key["id"] == "ci")

    as_made = await key()
    for change, expected in (
        ({"name": "CI 2"}, {"name": "CI 2"}),
        ({"expires_at": soon.isoformat()}, {"expires_at": soon.isoformat(timespec="milliseconds")[:-6] + "Z"}),
        ({"name": "CI 3"}, {"name": "CI 3"}),
        ({"expires_at": None}, {"expires_at": None}),
        ({}, {}),
    ):
        response = await handraise.admin.patch("/api/keys/ci", json=change)
        assert (response.status_code, response.json().keys()) == (200, {"position"}), response.text
        as_made |= expected
        assert await key() == as_made
        assert (await caller.get("/api/requests")).status_code == 200
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    for change in ({"expires_at": past}, {"expires_at": "2027-01-01"}, {"expires_at": 5}):
        assert fields(await handraise.admin.patch("/api/keys/ci", json=change)) == ["expires_at"]
    for change in ({"name": ""}, {"name": None}, {"name": "x" * 201}, {"name": "\0"}):
        assert fields(await handraise.admin.patch("/api/keys/ci", json=change)) == ["name"]
    for field in ("agent", "user", "run_user", "key", "id"):
        assert fields(await handraise.admin.patch("/api/keys/ci", json={field: "admin"})) == [field]
    problem(await handraise.admin.patch("/api/keys/unknown", json={"name": "X"}), 404)
    for client in (member, caller):
        problem(await client.patch("/api/keys/ci", json={"name": "X"}), 403)
    assert await key() == as_made
    nearly = (datetime.now(UTC) + timedelta(seconds=0.5)).isoformat()
    assert (await handraise.admin.patch("/api/keys/ci", json={"expires_at": nearly})).status_code == 200
    await asyncio.sleep(0.6)
    problem(await caller.get("/api/requests"), 401)


async def test_a_key_is_for_somebody_who_is_there(admin: httpx.AsyncClient) -> None:
    """An unknown, removed or inactive owner of a key is named."""
    await add(admin, "agents", id="gone")
    await admin.delete("/api/agents/gone")
    await add(admin, "users", id="idle", active=False)
    for body, path in (
        ({"agent": "gone"}, "agent"),
        ({"agent": "nothing"}, "agent"),
        ({"user": "idle"}, "user"),
        ({"user": "\0"}, "user"),
        ({"agent": "default", "run_user": "idle"}, "run_user"),
        ({}, "agent"),
        ({"agent": "default", "user": "alice"}, "agent"),
        ({"user": "alice", "run_user": "alice"}, "run_user"),
    ):
        assert fields(await admin.post("/api/keys", json={"name": "K"} | body)) == [path], body


# -- the whole as a document

DOCUMENT: dict[str, Any] = {
    "request_types": [
        {"id": "deploy", "name": "Deploy", "default_assignment_strategy": {"type": "List", "listID": "ops"}}
    ],
    "categories": [
        {"id": "leaf", "name": "Leaf", "parent": "branch"},
        {"id": "branch", "name": "Branch", "parent": "demo"},
    ],
    "agent_types": [{"id": "robot", "name": "Robot", "assignment_strategy": {"type": "SpecificUser", "userID": "zoe"}}],
    "agents": [{"id": "r2", "name": "R2", "agent_type": "robot", "category": "leaf", "owner": "yan"}],
    "lists": [{"id": "ops", "name": "Ops", "members": ["zoe", "yan"]}],
    "users": [
        {"id": "yan", "name": "Yan", "out_of_office": {"from": "2026-12-24", "to": "2026-12-31", "stand_in": "zoe"}},
        {"id": "zoe", "name": "Zoë", "email": "zoe@example.com", "quiet_hours": {"from": "22:00", "to": "07:00"}},
    ],
}


async def test_a_document_names_its_own_entries_in_any_order(fresh: Service) -> None:
    """Sections and entries in any order; the same again changes nothing; one field changes one entry."""
    admin = await populated(fresh.admin)
    before = await head(admin)
    done = await put(admin, **DOCUMENT)
    assert done.status_code == 200, done.text
    assert done.json().keys() == {"added", "changed", "position"}
    assert (done.json()["added"], done.json()["changed"]) == (8, 0)
    assert done.json()["position"] == await head(admin) > before
    again = await put(admin, **DOCUMENT)
    assert again.json() == {"added": 0, "changed": 0, "position": done.json()["position"]}
    one = await put(admin, users=[{"id": "zoe", "email": None}, {"id": "yan"}])
    assert one.json() == {"added": 0, "changed": 1, "position": done.json()["position"] + 1}
    zoe = await shown(admin, "users", "zoe")
    assert zoe is not None
    assert (zoe["email"], zoe["quiet_hours"]) == (None, {"from": "22:00", "to": "07:00"})
    assert (await put(admin)).json() == {"added": 0, "changed": 0, "position": one.json()["position"]}


async def test_what_is_exported_is_imported_without_a_change(fresh: Service) -> None:
    """With all fields set, and also where people are named who were removed since."""
    admin = await populated(fresh.admin)
    for collection, (_, full, _, _) in COLLECTIONS.items():
        await add(admin, collection, id=f"full-{collection}", **full)
    assert (await put(admin, **DOCUMENT)).status_code == 200
    document = await exported(admin)
    assert list(document) == ["users", "lists", "agents", "agent_types", "categories", "request_types"]
    position = await head(admin)
    assert (await put(admin, **document)).json() == {"added": 0, "changed": 0, "position": position}
    assert (await admin.delete("/api/users/zoe")).status_code == 200
    assert (await admin.delete("/api/users/yan")).status_code == 200
    document, position = await exported(admin), await head(admin)
    assert next(entry for entry in document["lists"] if entry["id"] == "ops")["members"] == []
    assert (await put(admin, **document)).json() == {"added": 0, "changed": 0, "position": position}
    renamed = {section: [entry | {"name": "New"} for entry in entries] for section, entries in document.items()}
    assert (await put(admin, **renamed)).json()["changed"] == sum(len(entries) for entries in document.values())
    refused = await put(admin, agents=[{"id": "full-agents", "owner": "zoe"}])
    assert fields(refused) == ["agents/0/owner"]


async def test_a_document_makes_the_same_directory_elsewhere(
    fresh: Service, postgres: TestServer, template: str, tmp_path: Path
) -> None:
    """What one server exported, another takes over whole."""
    await populated(fresh.admin)
    assert (await put(fresh.admin, **DOCUMENT)).status_code == 200
    document = await exported(fresh.admin)
    conninfo = await postgres.create_database(template)
    async with service(conninfo, tmp_path / "elsewhere") as elsewhere:
        assert (await put(elsewhere.admin, **document)).status_code == 200
        assert await exported(elsewhere.admin) == document
    await postgres.drop_database(conninfo)


async def test_a_document_with_one_bad_row_writes_nothing(admin: httpx.AsyncClient) -> None:
    """Whatever is wrong, wherever: everything wrong is named with its place, and nothing happened."""
    await add(admin, "users", id="gone")
    await admin.delete("/api/users/gone")
    before, position = await exported(admin), await head(admin)
    fine = [{"id": "fine", "name": "Fine"}]
    for document, expected in (
        ({"lists": [{"id": "l", "name": "L", "members": ["fine", "carol"]}]}, ["lists/0/members/1"]),
        ({"users": [*fine, {"id": "gone", "name": "Gone"}]}, ["users/1/id"]),
        ({"users": [*fine, {"id": "new"}]}, ["users/1/name"]),
        ({"users": [*fine, {"id": "fine", "name": "Twice"}]}, ["users/1/id"]),
        ({"users": [*fine, {"name": "No id"}]}, ["users/1/id"]),
        ({"users": [*fine, {"id": 5, "name": "X"}]}, ["users/1/id"]),
        ({"users": [*fine, {"id": "A", "name": "X"}]}, ["users/1/id"]),
        ({"users": [*fine, {"id": "x", "name": "X", "colour": 1}]}, ["users/1/colour"]),
        ({"users": [*fine, {"id": "x", "name": "X", "time_zone": {}}]}, ["users/1/time_zone"]),
        (
            {"users": [*fine, {"id": "x", "name": "X", "time_zone": ["UTC"], "role": []}]},
            ["users/1/time_zone", "users/1/role"],
        ),
        ({"users": [*fine, "x"]}, ["users/1"]),
        ({"users": fine, "lists": {}}, ["lists"]),
        ({"users": fine, "keys": []}, ["keys"]),
        ({"users": fine, "lists": [{"id": "l", "name": "L", "members": ["gone"]}]}, ["lists/0/members/0"]),
        (
            {"agents": [{"id": "a", "name": "A", "agent_type": "t"}], "agent_types": [{"id": "t", "name": ""}]},
            ["agent_types/0/name"],
        ),
        (
            {"users": [{"id": "x", "name": 5}], "lists": [{"id": "l", "name": "L", "members": "x"}]},
            ["users/0/name", "lists/0/members"],
        ),
    ):
        response = await put(admin, **({"users": fine} | document))
        assert fields(response) == expected, response.text
    too_many = await put(admin, users=[{"id": "x", "name": 5, f"a{number}": 1} for number in range(1)] * 500)
    assert 1 <= len(fields(too_many)) <= 50
    assert "more)" in problem(too_many, 422)["detail"]
    assert (await exported(admin), await head(admin)) == (before, position)


async def test_two_thousand_people_in_one_document(fresh: Service) -> None:
    """Added at once with the list they are all in, and the same again changes nothing."""
    admin = await populated(fresh.admin)
    people = [
        {"id": f"person-{number:04}", "name": f"Person {number}", "email": f"p{number}@example.com", "time_zone": "UTC"}
        for number in range(2000)
    ]
    document = {
        "users": people,
        "lists": [{"id": "all", "name": "All", "members": [person["id"] for person in people]}],
    }
    done = await put(admin, **document)
    assert done.status_code == 200, done.text
    assert done.json()["added"] == 2001
    assert (await put(admin, **document)).json()["changed"] == 0
    assert len((await exported(admin))["users"]) == 2003
    await add(admin, "agent-types", id="t", assignment_strategy={"type": "List", "listID": "all"})


async def test_documents_at_once_are_each_whole(fresh: Service, fresh_other: Service) -> None:
    """Twenty documents that change the same entries, on two replicas: each is all there or was refused."""
    admin = await populated(fresh.admin)

    async def one(number: int) -> int:
        client = (admin, fresh_other.admin)[number % 2]
        rows = [{"id": id, "name": f"N{number}"} for id in ("alice", "bob")]
        return (await put(client, users=rows, lists=[{"id": "team", "name": f"N{number}"}])).status_code

    codes = await asyncio.gather(*(one(number) for number in range(20)))
    assert set(codes) <= {200, 503}
    assert codes.count(200) >= 1
    document = await exported(admin)
    names = {
        entry["name"] for entry in document["users"] + document["lists"] if entry["id"] in ("alice", "bob", "team")
    }
    assert len(names) == 1


# -- what is there from the start


async def test_every_installation_begins_with_types_and_categories(fresh: Service) -> None:
    """The root `all` with six children, and five request types."""
    document = await exported(fresh.admin)
    assert {entry["id"]: (entry["name"], entry["parent"]) for entry in document["categories"]} == {
        "all": ("All", None),
        "assistant": ("Assistant", "all"),
        "research-analysis": ("Research & Analysis", "all"),
        "content-creation": ("Content Creation", "all"),
        "system": ("System", "all"),
        "platform-management": ("Platform Management", "all"),
        "demo": ("Demo", "all"),
    }
    assert {entry["id"]: entry["name"] for entry in document["request_types"]} == {
        "approval": "Approval",
        "clarification": "Clarification",
        "data-input": "Data Input",
        "review": "Review",
        "error-resolution": "Error Resolution",
    }
    assert all(entry["assignment_strategy"] is None for entry in document["categories"])


async def test_a_second_start_brings_nothing_back(fresh: Service, database: str) -> None:
    """A seeded category that was removed or renamed stays so."""
    assert (await fresh.admin.delete("/api/categories/demo")).status_code == 200
    assert (await fresh.admin.patch("/api/categories/assistant", json={"name": "Helper"})).status_code == 200
    before = await exported(fresh.admin)
    async with service(database, fresh.settings.data_dir) as again:
        assert await exported(again.admin) == before


async def test_a_request_type_of_ones_own_is_asked_by_id_or_name(handraise: Service, admin: httpx.AsyncClient) -> None:
    """An id goes before the same text as another's name; once removed it is unknown."""
    await add(admin, "request-types", id="zz", name="Legal Check")
    await add(admin, "request-types", id="aa", name="zz")
    for said in ("zz", "ZZ", " legal check "):
        assert (await handraise.ask(request_type=said))["request_type"] == "zz"
    asked = await handraise.ask(request_type="aa")
    assert asked["request_type"] == "aa"
    problem(await admin.delete("/api/request-types/aa"), 409)  # somebody is being asked just now
    assert (await handraise.admin.post(f"/api/requests/{asked['id']}/cancel")).status_code == 200
    assert (await admin.delete("/api/request-types/aa")).status_code == 200
    refused = await handraise.agent.post("/api/requests", json={"message": "x", "request_type": "aa"})
    assert fields(refused) == ["request_type"]
