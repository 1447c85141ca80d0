"""The list of requests and the inbox: every filter and sort, pages that miss and repeat nothing, words found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from domain.callers import Role
from interfaces.http.reading import encode_cursor
from tests.support.read_models import StoppedClock, dump, settled, walk
from tests.support.service import Service, service

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SORTS = ("priority", "-priority", "created_at", "-created_at", "agent", "-agent", "expires_at", "-expires_at")

Item = dict[str, Any]


class Listed:
    """A service with requests of all kinds, in three instants: many are equal in what lists are sorted by."""

    def __init__(self, handraise: Service, clock: StoppedClock) -> None:
        self.handraise = handraise
        self.clock = clock
        self.items: list[Item] = []
        """What the list should show of them, as the requests themselves say."""

    async def fill(self) -> None:
        handraise = self.handraise
        self.alice, self.bob = await handraise.person("alice"), await handraise.person("bob")
        zed = await handraise.another_agent("zed")
        ids: list[str] = []
        for number in range(18):
            self.clock.at = START + timedelta(hours=number // 6)
            body: dict[str, Any] = {
                "unique_id": f"job-{number}",
                "message": f"Question {number}, {'odd' if number % 2 else 'even'}?",
            }
            body |= {"priority": (10, 50, 90)[number % 3]} if number % 4 else {}
            body |= {"request_type": "approval"} if number % 5 == 0 else {}
            body |= {"run_id": f"run-{number % 2}", "run_step_id": f"step-{number}"} if number % 3 else {}
            body |= {"run_user": ("alice", "bob")[number % 2]} if number % 4 == 1 else {}
            body |= {"expires_at": f"2026-03-0{2 + number % 2}T00:00:00Z"} if number % 3 == 1 else {}
            body |= {"secret": True} if number == 7 else {}
            agent = zed if number % 6 == 5 else handraise.agent
            response = await agent.post("/api/requests", json=body)
            assert response.status_code == 201, response.text
            ids.append(response.json()["id"])
        for number, path, answer in (
            (0, "respond", {"text": "yes"}),
            (1, "respond", {"text": "the answer"}),
            (2, "cancel", {"reason": "why not"}),
            (5, "respond", {"text": "no"}),
            (9, "reassign", {"to": "alice"}),
            (13, "reassign", {"to": "bob"}),
            (1, "acknowledge", None),
        ):
            by = handraise.agent if path == "acknowledge" else handraise.admin
            response = await by.post(f"/api/requests/{ids[number]}/{path}", json=answer)
            assert response.status_code == 200, response.text
        self.clock.at = datetime(2026, 3, 2, tzinfo=UTC)  # for those that expire then
        for number in (4, 10, 16):
            assert (await handraise.admin.post(f"/api/requests/{ids[number]}/cancel")).status_code == 409
        await settled(handraise)
        self.items = [_as_item((await handraise.admin.get(f"/api/requests/{id}")).json()) for id in ids]

    async def found(self, **query: Any) -> list[Item]:
        page = await self.handraise.admin.get("/api/requests", params={"limit": 200} | query)
        assert page.status_code == 200, page.text
        return page.json()["items"]

    def expected(self, which: Callable[[Item], object] = lambda item: True, sort: str = "-created_at") -> list[Item]:
        items = sorted(filter(which, self.items), key=_sort_key(sort.removeprefix("-")))
        return items[::-1] if sort.startswith("-") else items


def _as_item(request: Item) -> Item:
    """A request as a list shows it."""
    same = (
        "id", "unique_id", "status", "request_type", "agent", "run_id", "run_step_id", "run_user", "secret",
        "priority", "assigned_to", "list", "claimed", "snoozed_until", "created_at", "expires_at", "closed_at",
        "erased", "position",
    )  # fmt: skip
    response = request["response"]
    own = {"summary": request["message"], "outcome": None if response is None else response["outcome"]}
    own["acknowledged_at"] = None if response is None else response["acknowledged_at"]
    own["kind"] = "approval" if request["request_type"] == "approval" else "text"
    if request["erased"]:
        own["kind"] = None
    return {name: request[name] for name in same} | own


def _sort_key(column: str) -> Callable[[Item], Any]:
    """Ties are in the order of age, then of ids; without a deadline is after every deadline."""
    keys: dict[str, Callable[[Item], Any]] = {
        "priority": lambda item: (item["priority"], item["created_at"], item["id"]),
        "created_at": lambda item: (item["created_at"], item["id"]),
        "agent": lambda item: (item["agent"], item["created_at"], item["id"]),
        "expires_at": lambda item: (item["expires_at"] or "9", item["id"]),
    }
    return keys[column]


@pytest.fixture
async def listed(database: str, tmp_path: Path) -> AsyncIterator[Listed]:
    """A service with a history."""
    clock = StoppedClock(START)
    async with service(database, tmp_path / "data", clock=clock) as handraise:
        made = Listed(handraise, clock)
        await made.fill()
        yield made


async def test_an_item_says_how_it_is_answered(handraise: Service) -> None:
    """A form before all else, then options, then what the type says: as the answer will be read."""
    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}}}
    asked = {
        kind: (await handraise.ask(**body))["id"]
        for kind, body in {
            "form": {"response_schema": schema},
            "form, of an approval": {"response_schema": schema, "request_type": "approval"},
            "form, of a review": {"response_schema": {}, "request_type": "review"},
            "options": {"options": ["a", "b"]},
            "options, of an approval": {"options": ["a", "b"], "request_type": "approval"},
            "approval": {"request_type": "approval"},
            "approval, with labels": {"request_type": "Approval", "labels": {"approve": "Go", "reject": "Stay"}},
            "review": {"request_type": "review"},
            "text": {},
            "text, of an error": {"request_type": "error-resolution"},
        }.items()
    }
    await settled(handraise)
    for path in ("/api/inbox?scope=all", "/api/requests"):
        found = {item["id"]: item["kind"] for item in (await handraise.admin.get(path)).json()["items"]}
        assert found == {id: kind.partition(",")[0] for kind, id in asked.items()}


async def test_an_item_says_until_when_it_is_put_aside(handraise: Service) -> None:
    """As the request itself does; null again once it is back."""
    alice = await handraise.person("alice")
    asked = await handraise.ask(run_user="alice")
    path = f"/api/requests/{asked['id']}/snooze"
    for method, body in (("POST", {"seconds": 600}), ("DELETE", None)):
        position = (await alice.request(method, path, json=body)).json()["position"]
        (item,) = (await alice.get("/api/requests", params={"min_position": position})).json()["items"]
        request = (await alice.get(f"/api/requests/{asked['id']}")).json()
        assert (item["snoozed_until"] is not None) is (method == "POST")
        assert item == _as_item(request)


# -- filters and sorts


async def test_every_sort_in_both_directions(listed: Listed) -> None:
    """Ties are broken the same way each time, those without a deadline come after all others, and all pages agree."""
    for sort in SORTS:
        expected = listed.expected(sort=sort)
        assert await listed.found(sort=sort) == expected, sort
        for limit in (2, 5, 18):
            assert await walk(listed.handraise.admin, "/api/requests", limit, sort=sort) == expected, (sort, limit)
    assert await listed.found() == listed.expected(sort="-created_at")


FILTERS: list[tuple[dict[str, Any], Callable[[Item], object]]] = [
    ({"status": "Requested"}, lambda item: item["status"] == "Requested"),
    ({"status": ["Responded", "Expired"]}, lambda item: item["status"] in ("Responded", "Expired")),
    ({"status": ["Requested", "Responded", "Cancelled", "Expired"]}, lambda item: True),
    ({"request_type": "approval"}, lambda item: item["request_type"] == "approval"),
    ({"request_type": "Approval"}, lambda item: item["request_type"] == "approval"),
    ({"request_type": ["approval", "clarification"]}, lambda item: True),
    ({"request_type": "review"}, lambda item: False),
    ({"agent": "zed"}, lambda item: item["agent"] == "zed"),
    ({"agent": "default"}, lambda item: item["agent"] == "default"),
    ({"assigned_to": "alice"}, lambda item: item["assigned_to"] == "alice"),
    ({"assigned_to": "admin"}, lambda item: False),
    ({"assigned_to": "nobody"}, lambda item: item["assigned_to"] is None),
    ({"run_id": "run-1"}, lambda item: item["run_id"] == "run-1"),
    ({"run_id": "run-"}, lambda item: False),
    ({"priority_min": 50}, lambda item: item["priority"] >= 50),
    ({"priority_max": 50}, lambda item: item["priority"] <= 50),
    ({"priority_min": 11, "priority_max": 89}, lambda item: 11 <= item["priority"] <= 89),
    ({"priority_min": 60, "priority_max": 40}, lambda item: False),
    ({"created_from": "2026-03-01T13:00:00Z"}, lambda item: item["created_at"] >= "2026-03-01T13"),
    ({"created_to": "2026-03-01T13:00:00Z"}, lambda item: item["created_at"] < "2026-03-01T13"),
    ({"created_from": "2026-03-01T14:00:00+01:00", "created_to": "2026-03-01T13:00:00.001Z"},
     lambda item: "T13" in item["created_at"]),
    ({"closed_from": "2026-03-02T00:00:00Z"}, lambda item: (item["closed_at"] or "") >= "2026-03-02"),
    ({"closed_to": "2026-03-02T00:00:00Z"}, lambda item: item["closed_at"] and item["closed_at"] < "2026-03-02"),
    ({"acknowledged": True}, lambda item: item["unique_id"] == "job-1"),
    ({"acknowledged": False}, lambda item: item["unique_id"] in ("job-0", "job-5")),
    ({"acknowledged": False, "status": "Requested"}, lambda item: False),
    ({"q": "odd"}, lambda item: int(item["unique_id"][4:]) % 2),
    ({"status": "Requested", "agent": "default", "priority_max": 50, "q": "even -8", "assigned_to": "nobody"},
     lambda item: item["status"] == "Requested" and item["agent"] == "default" and item["priority"] <= 50
     and int(item["unique_id"][4:]) % 2 == 0 and item["unique_id"] != "job-8" and item["assigned_to"] is None),
]  # fmt: skip


async def test_only_those_that_were_named(listed: Listed) -> None:
    """A live client asks what became of some requests: what is not there any more, or never was, does not come back."""
    ids = [item["id"] for item in listed.items]
    nobodys = ["00000000-0000-0000-0000-000000000000"]
    for wanted in (ids[:1], ids[3:9], ids + nobodys, nobodys, [ids[2].upper()], ids[:1] * 200):
        known = {id.lower() for id in wanted}
        assert await listed.found(ids=wanted) == listed.expected(lambda item, known=known: item["id"] in known)
        open_ = listed.expected(
            lambda item, known=known: item["id"] in known and item["status"] == "Requested", "priority"
        )
        assert await listed.found(ids=wanted, status="Requested", sort="priority") == open_
        for client, which in ((listed.handraise.admin, lambda item: True), (listed.alice, asked_of("alice"))):
            page = await client.get("/api/inbox", params={"scope": "all", "ids": wanted, "count": True, "limit": 200})
            assert page.json()["items"] == list(filter(which, open_))
            everything = await client.get("/api/inbox", params={"scope": "all", "limit": 200})
            assert page.json()["total"] == len(everything.json()["items"])
        assert await walk(listed.handraise.admin, "/api/inbox", 2, scope="all", ids=wanted) == open_
    for nonsense in (["x"], [""], ids[:1] * 201):
        for path in ("/api/requests", "/api/inbox"):
            refused = await listed.handraise.admin.get(path, params={"ids": nonsense})
            assert refused.status_code == 422, (path, nonsense[0])
            assert refused.json()["errors"][0]["path"].startswith("ids")


def asked_of(person: str) -> Callable[[Item], bool]:
    return lambda item: item["assigned_to"] == person


async def test_every_filter(listed: Listed) -> None:
    """Each narrows the list to what it says, alone and with others, whatever the sort, on every page."""
    for query, which in FILTERS:
        assert await listed.found(**query) == listed.expected(which), query
        sort = "priority"
        assert await walk(listed.handraise.admin, "/api/requests", 3, sort=sort, **query) == listed.expected(
            which, sort
        )


# -- pages


async def test_pages_miss_and_repeat_nothing_while_things_change(listed: Listed) -> None:
    """What was there from first to last page is on exactly one of them, though others come and go between pages."""
    come: set[str] = set()
    for sort in SORTS:
        before = listed.expected(lambda item: item["status"] == "Requested", sort)
        leaving = [item for item in before if item["expires_at"] is None][::3]

        async def change(leaving: list[Item] = leaving) -> None:
            come.add((await listed.handraise.ask(priority=50))["id"])
            if leaving:
                gone = listed.items.index(leaving.pop())
                path = f"/api/requests/{listed.items[gone]['id']}/cancel"
                assert (await listed.handraise.admin.post(path)).status_code == 200
                listed.items[gone] = listed.items[gone] | {"status": "Cancelled"}
            await settled(listed.handraise)

        pages = await walk(listed.handraise.admin, "/api/requests", 4, change, sort=sort, status="Requested")
        ids = [item["id"] for item in pages]
        assert len(ids) == len(set(ids))
        stayed = [item["id"] for item in listed.expected(lambda item: item["status"] == "Requested", sort)]
        assert [id for id in ids if id in stayed] == stayed
        assert set(ids) <= {item["id"] for item in before} | come


async def test_a_cursor_of_another_list_is_refused(listed: Listed) -> None:
    """A place in one list means nothing in another, nor in the same one sorted otherwise: 400, not some page."""
    admin = listed.handraise.admin
    lists = [f"/api/requests?sort={sort}" for sort in SORTS]
    lists += ["/api/inbox?scope=all", "/api/audit?", "/api/users?", "/api/agents?", "/api/keys?"]
    cursors = {path: (await admin.get(f"{path}&limit=1")).json()["next_cursor"] for path in lists}
    assert all(cursors.values())
    for path in lists:
        for origin, cursor in cursors.items():
            response = await admin.get(f"{path}&cursor={cursor}")
            assert response.status_code == (200 if path == origin else 400), (path, origin)
            assert path == origin or response.json()["detail"].startswith("the cursor does not belong to this list")


async def test_a_cursor_that_was_tampered_with_is_refused(listed: Listed) -> None:
    """Nonsense is 422; what looks like a place but is none is 400. Neither is ever an error of the server's."""
    for nonsense in ("", "x", "é", "AAAA", "e30", "W10", "WzFd", "WyJcdWQ4MDAiXQ", "W" * 3000):
        for path in ("/api/requests", "/api/inbox", "/api/audit", "/api/users", "/api/agents", "/api/keys"):
            response = await listed.handraise.admin.get(path, params={"cursor": nonsense})
            assert (response.status_code, response.json()["errors"][0]["path"]) == (422, "cursor"), (path, nonsense)
    for of, place in (
        ("requests by -created_at", []),
        ("requests by -created_at", ["2026-03-01"]),
        ("requests by -created_at", ["yesterday morning", "x"]),
        ("requests by -created_at", ["2026-03-01", "2026-03-01", "1"]),
        ("inbox", ["1" * 99, "2026-03-01", "00000000-0000-0000-0000-000000000000"]),
        ("audit", []),
        ("audit", ["-1"]),
        ("audit", ["1" * 19]),
        ("users", []),
        ("users", ["a", "b"]),
    ):
        path = f"/api/{of.split()[0]}"
        response = await listed.handraise.admin.get(path, params={"cursor": encode_cursor(of, place)})
        assert response.status_code == 400, (of, place)


# -- words


async def test_words_are_found_wherever_they_stand(handraise: Service) -> None:
    """By unique_id, whole or a word of it, message and context; any case, phrases, exclusions and alternatives."""
    asked = {
        name: await handraise.ask(unique_id=name, message=message, context=context)
        for name, message, context in (
            ("deploy-2041", "Deploy the build to Production?", "Ran *all* tests: green."),
            ("deploy-2042", "Deploy the other build?", None),
            ("mail.o,k#1", "Write to <customer name> at anna@example.org?", "See <https://example.com/a?b=1>."),
            ("größe", "Ist die Größe 42 richtig? 価格 確認", "x < y and z > 1"),
            ("a<b", "Nothing to hide> here", None),
        )
    }
    await settled(handraise)

    async def found(q: str) -> set[str]:
        page = await handraise.admin.get("/api/requests", params={"q": q})
        assert page.status_code == 200, page.text
        return {item["unique_id"] for item in page.json()["items"]}

    for name in asked:
        assert name in await found(name)
    for q, names in {
        "2041": {"deploy-2041"},
        "deploy": {"deploy-2041", "deploy-2042"},
        "DEPLOY build": {"deploy-2041", "deploy-2042"},
        '"the build"': {"deploy-2041"},
        "deploy -other": {"deploy-2041"},
        "green or customer": {"deploy-2041", "mail.o,k#1"},
        "tests": {"deploy-2041"},
        "customer": {"mail.o,k#1"},
        "<customer name>": {"mail.o,k#1"},
        "anna@example.org": {"mail.o,k#1"},
        "example.com": {"mail.o,k#1"},
        "GRÖSSE": set(),
        "GRÖßE": {"größe"},
        "確認": {"größe"},
        "hide": {"a<b"},
        "nowhere": set(),
        "build customer": set(),
    }.items():
        assert await found(q) == names, q


async def test_an_answer_is_never_found(handraise: Service) -> None:
    """Lists show and search what was asked, not what was answered, refused or noted."""
    asked = await handraise.ask(message="Which word?")
    await handraise.person("alice")
    await handraise.admin.post(f"/api/requests/{asked['id']}/reassign", json={"to": "alice", "note": "xyzzy"})
    await handraise.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "xyzzy"})
    await settled(handraise)
    assert (await handraise.admin.get("/api/requests?q=xyzzy")).json()["items"] == []
    assert "xyzzy" not in (await handraise.admin.get("/api/requests")).text


async def test_what_was_erased_is_not_found(handraise: Service, database: str) -> None:
    """Neither by message, context nor unique_id; the row stays, with the facts and without a word of the content."""
    asked = await handraise.ask(unique_id="visible-id", message="Hidden message", context="Hidden context")
    await handraise.admin.post(f"/api/requests/{asked['id']}/cancel")
    erased = (await handraise.admin.post(f"/api/requests/{asked['id']}/erase")).json()
    await settled(handraise)
    for q in ("hidden", "message", "context", "visible-id", "visible"):
        assert (await handraise.admin.get("/api/requests", params={"q": q})).json()["items"] == []
    (item,) = (await handraise.admin.get("/api/requests")).json()["items"]
    assert item == _as_item(erased)
    assert (item["erased"], item["summary"], item["unique_id"]) == (True, None, "visible-id")
    assert "hidden" not in str(await dump(database)).lower()


async def test_a_long_message_is_summed_up(handraise: Service) -> None:
    """The list shows its first 280 characters and finds words of its first 100,000, however long it is."""
    for length in (280, 281):
        asked = await handraise.ask(message="ü" * length)
        page = await handraise.admin.get("/api/requests", params={"min_position": asked["position"]})
        assert page.json()["items"][0]["summary"] == "ü" * 280 + ("…" if length > 280 else "")
    words = [f"w{number}" for number in range(60_000)]
    long = await handraise.ask(unique_id="long", message=" ".join(words), context="after all")
    await handraise.ask(unique_id="one-word", message="x" * 300_000)
    await settled(handraise)

    async def found(q: str) -> list[str]:
        return [item["id"] for item in (await handraise.admin.get("/api/requests", params={"q": q})).json()["items"]]

    assert await found("w0 w9999") == await found("long") == [long["id"]]
    assert await found("w59999") == []


NONSENSE = (
    '"', "'", "-", "--", "or", "OR or", "-or", '"unclosed', '""', '-""', "a & b | !c", "a:*", ":*", "<->", "a <2> b",
    "\\", "\\'", "(((", ")", "'; DROP TABLE request_list; --", "%", "_", "*", "$$", "%s", "{}", "\t\n", " ", "\u00a0",
    "🙂", "a\u0301", "\u202e", "\ufeff", "é" * 500, "<", "<<a>>", "http://[", "a@b@c", "1e400", "-1.5", "/a/b/c",
    "&amp;", "\udcff",
)  # fmt: skip


async def test_no_search_fails(handraise: Service) -> None:
    """Whatever is typed is a search: with a result or none, in the list, the audit trail and its export."""
    await handraise.ask(message="a b c or 'quoted' \"text\"")
    for q in NONSENSE:
        quoted = quote(q, errors="surrogateescape")
        for path in ("/api/requests", "/api/audit", "/api/audit/export"):
            assert (await handraise.admin.get(f"{path}?q={quoted}")).status_code == 200, (path, q)


# -- inbox


async def test_inbox_scopes_and_order(listed: Listed) -> None:
    """Open requests that the caller may answer, most urgent first, then oldest, on every page."""
    auditor = await listed.handraise.person("auditor", Role.AUDITOR)
    for client, scope, which in (
        (listed.handraise.admin, "all", lambda item: True),
        (listed.handraise.admin, "shared", lambda item: item["assigned_to"] is None),
        (listed.handraise.admin, "mine", lambda item: False),
        (listed.alice, "mine", lambda item: item["assigned_to"] == "alice"),
        (listed.alice, "all", lambda item: item["assigned_to"] == "alice"),
        (listed.alice, "shared", lambda item: False),
        (listed.bob, "mine", lambda item: item["assigned_to"] == "bob"),
        *((auditor, scope, lambda item: False) for scope in ("mine", "shared", "all")),
    ):
        expected = listed.expected(lambda item, which=which: item["status"] == "Requested" and which(item), "priority")
        assert await walk(client, "/api/inbox", 200, scope=scope) == expected
        assert await walk(client, "/api/inbox", 2, scope=scope) == expected
    assert (await listed.alice.get("/api/inbox")).json()["items"] == await walk(
        listed.alice, "/api/inbox", 9, scope="mine"
    )


async def test_an_inbox_is_counted(listed: Listed) -> None:
    """Each scope holds as many as its pages show, by one call for all three and with each page that asks for it."""
    await listed.handraise.app.directory.add("list", {"name": "Crew", "members": ["alice"]}, by=None, id="crew")
    strategy = {"type": "SharedInbox", "listID": "crew"}
    last = [await listed.handraise.ask(assignment_strategy=strategy) for _ in range(3)][-1]
    mine = (await listed.alice.get("/api/inbox")).json()["items"][0]
    await listed.alice.post(f"/api/requests/{mine['id']}/snooze", json={"seconds": 60})
    await settled(listed.handraise)
    auditor = await listed.handraise.person("auditor", Role.AUDITOR)
    for client in (listed.handraise.admin, listed.alice, listed.bob, auditor):
        head = await settled(listed.handraise)
        shown = {scope: len(await walk(client, "/api/inbox", 200, scope=scope)) for scope in ("mine", "shared", "all")}
        counted = await client.get("/api/inbox/counts", params={"min_position": last["position"]})
        assert counted.json() == shown | {"position": head}
        for scope, number in shown.items():
            first = await client.get("/api/inbox", params={"scope": scope, "limit": 1, "count": "true"})
            assert (first.json()["total"], len(first.json()["items"])) == (number, min(number, 1))
            if cursor := first.json()["next_cursor"]:
                second = await client.get("/api/inbox", params={"scope": scope, "cursor": cursor, "count": 1})
                assert second.json()["total"] == number
    assert shown == {"mine": 0, "shared": 0, "all": 0}
    assert "total" not in (await listed.alice.get("/api/inbox")).json()
    assert (await listed.alice.get("/api/inbox/counts")).json()["shared"] == 3
    beyond = await listed.alice.get("/api/inbox/counts", params={"min_position": 10**9})
    assert beyond.status_code == 400


async def test_a_request_moves_from_inbox_to_inbox(handraise: Service) -> None:
    """Reassigning moves it, answering takes it out; the list still shows it to everybody who had a part in it."""
    alice, bob = await handraise.person("alice"), await handraise.person("bob")
    asked = await handraise.ask(run_user="alice")

    async def seen(client: httpx.AsyncClient, path: str, position: int) -> list[str]:
        page = await client.get(path, params={"min_position": position})
        return [item["id"] for item in page.json()["items"]]

    async def inboxes(position: int) -> list[bool]:
        return [bool(await seen(client, "/api/inbox", position)) for client in (alice, bob)]

    assert await inboxes(asked["position"]) == [True, False]
    moved = (await handraise.admin.post(f"/api/requests/{asked['id']}/reassign", json={"to": "bob"})).json()
    assert await inboxes(moved["position"]) == [False, True]
    done = (await bob.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})).json()
    assert await inboxes(done["position"]) == [False, False]
    for client in (alice, bob, handraise.admin, handraise.agent):
        assert await seen(client, "/api/requests", done["position"]) == [asked["id"]]
