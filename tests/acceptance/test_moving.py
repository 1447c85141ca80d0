"""Requests change hands: claimed, released, delegated, reassigned, many at once, and away from whoever left."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from domain.callers import Role
from tests.support.processes import ServerProcess
from tests.support.processes import until as until_blocking
from tests.support.read_models import rows, settled, until
from tests.support.service import Service, service

CREW = {"type": "SharedInbox", "listID": "crew"}


@pytest.fixture
async def clients(handraise: Service) -> dict[str, httpx.AsyncClient]:
    """Alice and Bob share the inbox of `crew`; Carol and Dave are in no list."""
    made = {id: await handraise.person(id) for id in ("alice", "bob", "carol", "dave")}
    added = await handraise.admin.post("/api/lists", json={"id": "crew", "name": "Crew", "members": ["alice", "bob"]})
    assert added.status_code == 201
    return made


def specific(user: str) -> dict[str, Any]:
    return {"type": "SpecificUser", "userID": user}


async def post(client: httpx.AsyncClient, request: dict[str, Any], command: str, **body: Any) -> httpx.Response:
    return await client.post(f"/api/requests/{request['id']}/{command}", json=body)


async def moved(client: httpx.AsyncClient, request: dict[str, Any], command: str, **body: Any) -> dict[str, Any]:
    """The request after a command that is carried out."""
    response = await post(client, request, command, **body)
    assert response.status_code == 200, response.text
    return response.json()


async def moves(handraise: Service, request: dict[str, Any]) -> list[tuple[Any, ...]]:
    """(who, cause, from, to, note) of all moves so far."""
    items = (await handraise.admin.get(f"/api/requests/{request['id']}/history")).json()["items"]
    return [
        tuple(item[name] for name in ("actor", "cause", "from", "to", "note"))
        for item in items
        if item["type"] == "Reassigned"
    ]


async def inbox(client: httpx.AsyncClient, scope: str, position: int) -> list[str]:
    response = await client.get("/api/inbox", params={"scope": scope, "min_position": position})
    assert response.status_code == 200, response.text
    return [item["unique_id"] for item in response.json()["items"]]


def place(request: dict[str, Any]) -> tuple[str | None, str | None, bool]:
    return request["assigned_to"], request["list"], request["claimed"]


async def read(handraise: Service, request: dict[str, Any]) -> dict[str, Any]:
    return (await handraise.admin.get(f"/api/requests/{request['id']}")).json()


async def bulk(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await client.post("/api/requests/bulk", json=body)


# -- one by one


async def test_claim_and_release(handraise: Service, clients: dict[str, httpx.AsyncClient]) -> None:
    """Out of the shared inbox and back; each twice is once, and says its note in the history."""
    request = await handraise.ask(assignment_strategy=CREW)
    assert place(request) == (None, "crew", False)
    claimed = await moved(clients["alice"], request, "claim", note="mine, I was there")
    assert place(claimed) == ("alice", "crew", True)
    assert claimed["assignment"]["level"] == "command"
    assert await moved(clients["alice"], request, "claim", note="again") == claimed
    late = await post(clients["bob"], request, "claim")
    assert (late.status_code, late.json()["detail"]) == (409, "somebody else has claimed the request: alice")
    assert late.json()["request"] == {"status": "Requested", "assigned_to": "alice", "claimed": True}
    assert (await post(clients["bob"], request, "respond", text="yes")).json()["request"]["assigned_to"] == "alice"
    assert (await post(clients["bob"], request, "release")).status_code == 403
    released = await moved(clients["alice"], request, "release", note="not for me")
    assert place(released) == (None, "crew", False)
    assert await moved(clients["alice"], request, "release") == released
    assert place(await moved(clients["bob"], request, "claim")) == ("bob", "crew", True)
    assert await moves(handraise, request) == [
        ("alice", "claimed", "crew", "alice", "mine, I was there"),
        ("alice", "released", "alice", "crew", "not for me"),
        ("bob", "claimed", "crew", "bob", None),
    ]


async def test_what_an_administrator_took_that_was_nobodys_can_be_put_back(handraise: Service) -> None:
    """Released, it is in the administrators' shared inbox again."""
    request = await handraise.ask()
    assert place(await moved(handraise.admin, request, "claim")) == ("admin", None, True)
    released = await moved(handraise.admin, request, "release")
    assert place(released) == (None, None, False)
    assert await inbox(handraise.admin, "shared", released["position"]) == [request["unique_id"]]


async def test_only_what_stands_in_a_shared_inbox_is_claimed_or_released(
    handraise: Service, clients: dict[str, httpx.AsyncClient]
) -> None:
    """What is somebody's own is delegated instead."""
    request = await handraise.ask(assignment_strategy=specific("alice"))
    assert (await post(clients["alice"], request, "claim")).status_code == 200  # it is hers
    assert (await post(clients["bob"], request, "claim")).status_code == 403
    assert (await post(handraise.admin, request, "claim")).status_code == 409
    assert (await post(clients["alice"], request, "release")).status_code == 409
    assert await moves(handraise, request) == []


async def test_delegate(handraise: Service, clients: dict[str, httpx.AsyncClient]) -> None:
    """Whoever is asked hands it to somebody who can answer; it leaves its list, and keeps its past readers."""
    request = await handraise.ask(assignment_strategy=CREW)
    await moved(clients["alice"], request, "claim")
    given = await moved(clients["alice"], request, "delegate", to="carol", note="you know this")
    assert place(given) == ("carol", None, False)
    assert await moved(clients["alice"], request, "delegate", to="carol") == given
    assert (await post(clients["alice"], request, "delegate", to="dave")).status_code == 403
    assert (await clients["alice"].get(f"/api/requests/{request['id']}")).status_code == 200
    assert (await clients["bob"].get(f"/api/requests/{request['id']}")).status_code == 403
    auditor = await handraise.person("auditor", Role.AUDITOR)
    assert (await handraise.admin.delete("/api/users/dave")).status_code == 200
    for to in ("carol", "dave", "auditor", "unheard-of", ""):
        refused = await post(clients["carol"], request, "delegate", to=to)
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "to"), to
    assert (await post(auditor, request, "delegate", to="alice")).status_code == 403
    await moved(clients["carol"], request, "respond", text="yes")
    late = await post(clients["carol"], request, "delegate", to="alice")
    assert (late.status_code, late.json()["request"]["by"]) == (409, "carol")
    assert await moves(handraise, request) == [
        ("alice", "claimed", "crew", "alice", None),
        ("alice", "delegated", "alice", "carol", "you know this"),
    ]


async def test_reassign(handraise: Service, clients: dict[str, httpx.AsyncClient]) -> None:
    """To a person, into a list, or afresh by the rules as they are now; where it is already, nothing happens."""
    request = await handraise.ask(assignment_strategy=CREW)
    person = await moved(handraise.admin, request, "reassign", to="carol", note="urgent")
    assert place(person) == ("carol", None, False)
    assert person["assignment"]["chosen"] == "carol"
    assert await moved(handraise.admin, request, "reassign", to="carol") == person
    into = await moved(handraise.admin, request, "reassign", list="crew", note="whoever")
    assert place(into) == (None, "crew", False)
    assert await moved(handraise.admin, request, "reassign", list="crew") == into
    await moved(clients["bob"], request, "claim")
    assert place(await moved(handraise.admin, request, "reassign", list="crew")) == (None, "crew", False)
    # Afresh: the strategy that came with it, over the list as it is now.
    await moved(handraise.admin, request, "reassign", to="dave")
    afresh = await moved(handraise.admin, request, "reassign", note="by the rules")
    assert (place(afresh), afresh["assignment"]["level"]) == ((None, "crew", False), "invocation")
    for body in ({"to": "carol", "list": "crew"}, {"list": "unheard-of"}, {"to": "unheard-of"}, {"to": "crew"}):
        assert (await post(handraise.admin, request, "reassign", **body)).status_code == 422, body
    for client in (*clients.values(), handraise.agent):
        assert (await post(client, request, "reassign", to="alice")).status_code == 403
    await moved(handraise.agent, request, "cancel")
    for body in ({"to": "carol"}, {"list": "crew"}, {}):
        assert (await post(handraise.admin, request, "reassign", **body)).status_code == 409, body
    assert await moves(handraise, request) == [
        ("admin", "reassigned", "crew", "carol", "urgent"),
        ("admin", "reassigned", "carol", "crew", "whoever"),
        ("bob", "claimed", "crew", "bob", None),
        ("admin", "reassigned", "bob", "crew", None),
        ("admin", "reassigned", "crew", "dave", None),
        ("admin", "reassigned", "dave", "crew", "by the rules"),
    ]


async def test_routed_afresh_it_takes_a_turn(handraise: Service, clients: dict[str, httpx.AsyncClient]) -> None:
    """A list that takes turns counts it as any other; the rules that hold now are followed."""
    in_turn = {"type": "List", "listID": "crew"}
    first = await handraise.ask(assignment_strategy=in_turn)
    assert first["assigned_to"] == "alice"
    again = await moved(handraise.admin, first, "reassign")
    assert (again["assigned_to"], again["assignment"]["candidates"]) == ("bob", ["bob", "alice"])
    assert (await handraise.ask(assignment_strategy=in_turn))["assigned_to"] == "alice"
    plain = await handraise.ask()
    changed = await handraise.admin.patch(
        "/api/request-types/clarification", json={"default_assignment_strategy": specific("dave")}
    )
    assert changed.status_code == 200
    assert (await moved(handraise.admin, plain, "reassign"))["assigned_to"] == "dave"


async def test_a_note_is_text_that_can_be_kept(handraise: Service, clients: dict[str, httpx.AsyncClient]) -> None:
    """Kept exactly; with a NUL or far too long it is refused and nothing moves."""
    request = await handraise.ask(assignment_strategy=CREW)
    for command, client, body in (
        ("claim", clients["alice"], {}),
        ("delegate", clients["alice"], {"to": "carol"}),
        ("reassign", handraise.admin, {"to": "carol"}),
        ("release", clients["alice"], {}),
    ):
        for note in ("nul \x00", "x" * 10_001):
            refused = await post(client, request, command, **body, note=note)
            assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "note"), command
    note = "  007 \r\n\t👩‍👩‍👧‍👦 ‮DENIED "
    await moved(clients["alice"], request, "claim", note=note)
    assert [move[-1] for move in await moves(handraise, request)] == [note]


async def test_inboxes_hold_what_one_may_answer(handraise: Service, clients: dict[str, httpx.AsyncClient]) -> None:
    """Mine, shared by my lists, and both; what somebody has claimed is in nobody else's."""
    for number, strategy in enumerate((CREW, CREW, specific("alice"), specific("carol")), 1):
        await handraise.ask(unique_id=f"r{number}", assignment_strategy=strategy)
    request = await handraise.ask(unique_id="r5")

    async def inboxes(position: int) -> dict[str, list[list[str]]]:
        return {
            name: [await inbox(client, scope, position) for scope in ("mine", "shared", "all")]
            for name, client in (clients | {"admin": handraise.admin}).items()
        }

    assert await inboxes(request["position"]) == {
        "alice": [["r3"], ["r1", "r2"], ["r1", "r2", "r3"]],
        "bob": [[], ["r1", "r2"], ["r1", "r2"]],
        "carol": [["r4"], [], ["r4"]],
        "dave": [[], [], []],
        "admin": [[], ["r1", "r2", "r5"], ["r1", "r2", "r3", "r4", "r5"]],
    }
    ids = {
        item["unique_id"]: item
        for item in (await handraise.admin.get("/api/requests", params={"status": "Requested"})).json()["items"]
    }
    await moved(clients["bob"], ids["r1"], "claim")
    answered = await moved(clients["alice"], ids["r2"], "respond", text="yes")
    assert await inboxes(answered["position"]) == {
        "alice": [["r3"], [], ["r3"]],
        "bob": [["r1"], [], ["r1"]],
        "carol": [["r4"], [], ["r4"]],
        "dave": [[], [], []],
        "admin": [[], ["r5"], ["r1", "r3", "r4", "r5"]],
    }
    # Who joins a list shares its inbox from then on, who leaves it no longer.
    released = await moved(clients["bob"], ids["r1"], "release")
    assert (await handraise.admin.patch("/api/lists/crew", json={"members": ["dave"]})).status_code == 200
    assert await inbox(clients["dave"], "shared", released["position"]) == ["r1"]
    assert await inbox(clients["bob"], "shared", released["position"]) == []
    assert (await post(clients["bob"], ids["r1"], "claim")).status_code == 403
    assert place(await moved(clients["dave"], ids["r1"], "claim")) == ("dave", "crew", True)


# -- many at once


async def test_many_by_their_ids(handraise: Service, clients: dict[str, httpx.AsyncClient]) -> None:
    """One result for each: done, closed already, unknown; by id or unique_id, each named once."""
    requests = [await handraise.ask(unique_id=f"r{number}", assignment_strategy=CREW) for number in range(4)]
    await moved(clients["alice"], requests[1], "respond", text="yes")
    unknown = "7f1c9c3e-5f0a-5d7e-9a54-2f3d0f8b6a11"
    ids = [requests[0]["id"], requests[1]["id"], "r2", unknown, "unheard-of", requests[0]["id"]]
    answer = (await bulk(handraise.admin, action="reassign", ids=ids, to="carol", note="all hers")).json()
    assert [(result["id"], result["status"]) for result in answer["results"]] == [
        (requests[0]["id"], 200),
        (requests[1]["id"], 409),
        ("r2", 200),
        (unknown, 404),
        ("unheard-of", 404),
    ]
    assert all((result["position"] is None) == (result["status"] != 200) for result in answer["results"])
    assert all((result["detail"] is None) == (result["status"] == 200) for result in answer["results"])
    assert answer["position"] == max(result["position"] or 0 for result in answer["results"])
    assert await inbox(clients["carol"], "mine", answer["position"]) == ["r0", "r2"]
    for number in (0, 2):
        assert await moves(handraise, requests[number]) == [("admin", "reassigned", "crew", "carol", "all hers")]
    assert await moves(handraise, requests[3]) == []
    cancelled = (await bulk(handraise.admin, action="cancel", ids=["r0", "r1", "r3"], note="no longer")).json()
    assert [result["status"] for result in cancelled["results"]] == [200, 409, 200]
    for number in (0, 3):
        assert (await read(handraise, requests[number]))["cancelled"]["reason"] == "no longer"
    again = (await bulk(handraise.admin, action="cancel", ids=["r0"])).json()
    assert [result["status"] for result in again["results"]] == [200]


async def test_many_by_a_filter(handraise: Service, clients: dict[str, httpx.AsyncClient]) -> None:
    """All open ones that it finds, as fresh as the log; into a list, afresh, or cancelled."""
    for number in range(5):
        await handraise.ask(
            unique_id=f"r{number}",
            assignment_strategy=specific("alice" if number < 3 else "bob"),
            priority=10 * (number + 1),
            run_id=f"run-{number % 2}",
        )
    assert (await handraise.admin.post("/api/requests/r0/cancel")).status_code == 200  # it is no longer meant

    async def done(**body: Any) -> list[int]:
        response = await bulk(handraise.admin, **body)
        assert response.status_code == 200, response.text
        assert response.json()["more"] is False
        await settled(handraise)
        return [result["status"] for result in response.json()["results"]]

    assert await done(action="reassign", filter={"assigned_to": "alice"}, list="crew") == [200, 200]
    head = await handraise.app.store.head()
    assert await inbox(clients["bob"], "all", head) == ["r1", "r2", "r3", "r4"]
    assert await done(action="reassign", filter={"list": "crew", "priority_max": 25}, to="dave") == [200]
    assert await inbox(clients["dave"], "mine", await handraise.app.store.head()) == ["r1"]
    assert await done(action="reassign", filter={"assigned_to": "dave"}) == [200]  # back to whom it names
    assert await inbox(clients["alice"], "mine", await handraise.app.store.head()) == ["r1"]
    assert await done(action="reassign", filter={"assigned_to": "nobody", "run_id": "run-0"}, to="carol") == [200]
    assert await done(action="reassign", filter={"assigned_to": "dave"}, to="carol") == []
    assert await done(action="cancel", filter={}, note="over") == [200] * 4
    assert await done(action="cancel", filter={}) == []
    unknown = await bulk(handraise.admin, action="cancel", filter={"assigned_to": "unheard-of"})
    assert (unknown.status_code, unknown.json()["errors"][0]["path"]) == (422, "assigned_to")


async def test_what_is_no_command_for_many(handraise: Service, clients: dict[str, httpx.AsyncClient]) -> None:
    """Only administrators; either ids or a filter; a cancel goes to nobody. Nothing is changed then."""
    request = await handraise.ask(unique_id="r1", assignment_strategy=CREW)
    body: dict[str, Any] = {"action": "cancel", "ids": ["r1"]}
    auditor = await handraise.person("auditor", Role.AUDITOR)
    for client in (*clients.values(), auditor, handraise.agent):
        assert (await bulk(client, **body)).status_code == 403
    assert (await bulk(handraise.nobody, **body)).status_code == 401
    for wrong, path in (
        ({"action": "cancel"}, "ids"),
        ({"action": "cancel", "ids": ["r1"], "filter": {}}, "ids"),
        ({"action": "cancel", "ids": ["r1"], "to": "alice"}, "to"),
        ({"action": "cancel", "ids": ["r1"], "list": "crew"}, "list"),
        ({"action": "cancel", "ids": []}, "ids"),
        ({"action": "respond", "ids": ["r1"]}, "action"),
        ({"ids": ["r1"]}, "action"),
        ({"action": "cancel", "filter": {"status": "Requested"}}, "filter/status"),
        ({"action": "cancel", "filter": {"priority_min": 0}}, "filter/priority_min"),
    ):
        refused = await bulk(handraise.admin, **wrong)
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, path), wrong
    for to in ({"to": "unheard-of"}, {"to": "alice", "list": "crew"}, {"list": "unheard-of"}):
        results = (await bulk(handraise.admin, action="reassign", ids=["r1"], **to)).json()["results"]
        assert [result["status"] for result in results] == [422]
    assert await read(handraise, request) == request


async def test_very_many_at_once_while_others_work(handraise: Service, clients: dict[str, httpx.AsyncClient]) -> None:
    """Hundreds move while members answer and claim some of them: each ends in one way, and its result says which."""
    asked = await asyncio.gather(*(handraise.ask(assignment_strategy=CREW) for _ in range(200)))
    commands = [post(clients["alice"], request, "respond", text="yes") for request in asked[::4]]
    commands += [post(clients["bob"], request, "claim") for request in asked[1::4]]
    answer, *_ = await asyncio.gather(bulk(handraise.admin, action="reassign", filter={}, to="dave"), *commands)
    assert answer.status_code == 200, answer.text
    results = {result["id"]: result["status"] for result in answer.json()["results"]}
    await settled(handraise)
    for request in asked:
        now = await read(handraise, request)
        if now["status"] == "Responded":
            assert results.get(request["id"], 409) == 409
        else:
            assert results[request["id"]] == 200
            assert [move[1] for move in await moves(handraise, request)] in (["reassigned"], ["claimed", "reassigned"])
            assert now["assigned_to"] == "dave"


# -- away from whoever left


async def leave(handraise: Service, how: str, id: str) -> None:
    """Removed, not active any more, or an auditor from now on."""
    if how == "removed":
        response = await handraise.admin.delete(f"/api/users/{id}")
    else:
        change = {"active": False} if how == "deactivated" else {"role": "auditor"}
        response = await handraise.admin.patch(f"/api/users/{id}", json=change)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("how", ["removed", "deactivated", "auditor"])
async def test_the_open_requests_of_who_leaves_move_on(
    handraise: Service, clients: dict[str, httpx.AsyncClient], how: str
) -> None:
    """Where routing says now, or back to their list; with cause and decision. What is closed stays as it was."""
    by_name = await handraise.ask(run_user="carol", assignment_strategy=specific("alice"))
    given = await handraise.ask(assignment_strategy=CREW)
    await moved(handraise.admin, given, "reassign", to="alice")
    claimed = await handraise.ask(assignment_strategy=CREW)
    await moved(clients["alice"], claimed, "claim")
    in_turn = await handraise.ask(assignment_strategy={"type": "List", "listID": "crew"})
    nobody_else = await handraise.ask(assignment_strategy=specific("alice"))
    shared = await handraise.ask(assignment_strategy=CREW)
    answered = await handraise.ask(assignment_strategy=specific("alice"))
    await moved(clients["alice"], answered, "respond", text="yes")
    assert in_turn["assigned_to"] == "alice"
    await leave(handraise, how, "alice")
    expected = {
        by_name["id"]: ("carol", None, False),
        given["id"]: (None, "crew", False),
        claimed["id"]: (None, "crew", False),
        in_turn["id"]: ("bob", None, False),
        nobody_else["id"]: (None, None, False),
        shared["id"]: (None, "crew", False),
        answered["id"]: ("alice", None, False),
    }

    async def all_moved() -> bool:
        return {id: place(await read(handraise, {"id": id})) for id in expected} == expected

    await until(all_moved)
    assert await moves(handraise, by_name) == [("system", "departed", "alice", "carol", None)]
    assert (await moves(handraise, given))[1:] == [("system", "departed", "alice", "crew", None)]
    assert (await moves(handraise, claimed))[1:] == [("system", "departed", "alice", "crew", None)]
    assert await moves(handraise, nobody_else) == [("system", "departed", "alice", None, None)]
    assert await moves(handraise, shared) == await moves(handraise, answered) == []
    decision = (await read(handraise, by_name))["assignment"]
    assert (decision["level"], decision["chosen"]) == ("fallback", "carol")
    assert decision["trace"][0]["said"] == "alice is not active, or audits only"
    back = (await read(handraise, claimed))["assignment"]
    assert (back["level"], back["candidates"]) == ("command", ["bob"])
    assert await inbox(handraise.admin, "shared", await handraise.app.store.head()) == [
        request["unique_id"] for request in (given, claimed, nobody_else, shared)
    ]
    # What is claimed no longer by Alice can be claimed by Bob, and nothing is left to do.
    assert place(await moved(clients["bob"], claimed, "claim")) == ("bob", "crew", True)

    async def done() -> bool:
        return await rows(handraise.app.conninfo, "SELECT step FROM due_steps WHERE step = 'depart'") == []

    await until(done)


async def test_who_comes_back_in_time_keeps_what_is_theirs(
    handraise: Service, clients: dict[str, httpx.AsyncClient]
) -> None:
    """Active again before it was done: nothing moves. What has moved before does not come back."""
    request = await handraise.ask(assignment_strategy=specific("alice"))
    await handraise.app.scheduler.stop()
    await leave(handraise, "deactivated", "alice")
    assert (await handraise.admin.patch("/api/users/alice", json={"active": True})).status_code == 200
    await handraise.app.scheduler.start()

    async def done() -> bool:
        return await rows(handraise.app.conninfo, "SELECT step FROM due_steps WHERE step = 'depart'") == []

    await until(done)
    assert await read(handraise, request) == request
    await leave(handraise, "deactivated", "alice")

    async def has_moved() -> bool:
        return (await read(handraise, request))["assigned_to"] is None

    await until(has_moved)
    assert (await handraise.admin.patch("/api/users/alice", json={"active": True})).status_code == 200
    assert (await read(handraise, request))["assigned_to"] is None
    assert place(await moved(handraise.admin, request, "reassign")) == ("alice", None, False)


async def test_whoever_is_away_keeps_what_they_have(handraise: Service, clients: dict[str, httpx.AsyncClient]) -> None:
    """Out of office, or another name or list: nobody has left."""
    request = await handraise.ask(assignment_strategy=specific("alice"))
    away = {"out_of_office": {"from": "2000-01-01", "to": "2999-12-31", "stand_in": "bob"}, "name": "Alice B."}
    assert (await handraise.admin.patch("/api/users/alice", json=away)).status_code == 200
    assert (await handraise.admin.patch("/api/lists/crew", json={"members": ["bob"]})).status_code == 200
    assert await rows(handraise.app.conninfo, "SELECT step FROM due_steps WHERE step = 'depart'") == []
    assert await read(handraise, request) == request


async def test_an_agent_finds_its_request_again_though_its_run_user_has_left(
    handraise: Service, clients: dict[str, httpx.AsyncClient]
) -> None:
    """The same content again is the same request; a new one in the name of who left is refused."""
    body = {"unique_id": "again", "message": "May I?", "run_user": "carol"}
    request = await handraise.ask(**body)
    await moved(clients["carol"], request, "respond", text="yes")
    await leave(handraise, "removed", "carol")
    again = await handraise.agent.post("/api/requests", json=body)
    assert (again.status_code, again.json()["response"]["text"]) == (200, "yes")
    other = await handraise.agent.post("/api/requests", json=body | {"message": "Other"})
    assert other.status_code == 409
    new = await handraise.agent.post("/api/requests", json=body | {"unique_id": "new"})
    assert (new.status_code, new.json()["errors"][0]["path"]) == (422, "run_user")


async def test_who_may_not_answer_their_own_is_passed_over_when_it_moves_on(
    handraise: Service, clients: dict[str, httpx.AsyncClient]
) -> None:
    """What was settled when it was asked holds: in its list, by the rules, and after the type was changed."""
    type_ = {"id": "expense", "name": "Expense", "no_self_answer": True}
    assert (await handraise.admin.post("/api/request-types", json=type_)).status_code == 201
    body = {"request_type": "expense", "run_user": "bob"}
    by_rules = await handraise.ask(**body, assignment_strategy={"type": "RunUser"})
    in_turn = await handraise.ask(**body, assignment_strategy={"type": "List", "listID": "crew"})
    shared = await handraise.ask(**body, assignment_strategy=CREW)
    await moved(clients["alice"], shared, "claim")
    assert (by_rules["assigned_to"], in_turn["assigned_to"]) == (None, "alice")
    changed = await handraise.admin.patch("/api/request-types/expense", json={"no_self_answer": False})
    assert changed.status_code == 200
    assert (await moved(handraise.admin, by_rules, "reassign"))["assigned_to"] is None
    await leave(handraise, "deactivated", "alice")

    async def nobodys() -> bool:
        return [place(await read(handraise, each)) for each in (in_turn, shared)] == [(None, None, False)] * 2

    await until(nobodys)
    for each in (by_rules, in_turn, shared):
        assert (await post(clients["bob"], each, "respond", text="yes")).status_code == 403
    assert (await handraise.ask(**body, assignment_strategy=CREW))["assignment"]["candidates"] == ["bob"]


async def test_more_than_are_looked_at_at_once_all_move(
    handraise: Service, clients: dict[str, httpx.AsyncClient]
) -> None:
    """Whoever leaves with more than five hundred open requests leaves none behind."""
    for _ in range(6):
        await asyncio.gather(*(handraise.ask(assignment_strategy=specific("alice")) for _ in range(200)))
    await leave(handraise, "removed", "alice")

    async def done() -> bool:
        return await rows(handraise.app.conninfo, "SELECT step FROM due_steps WHERE step = 'depart'") == []

    await until(done)
    await settled(handraise)
    left = await rows(
        handraise.app.conninfo,
        "SELECT assigned_to IS NULL, count(*) FROM request_list WHERE status = 'Requested' GROUP BY 1",
    )
    assert left == [(True, 1200)]


async def test_another_replica_does_what_one_that_stopped_has_left(
    database: str, tmp_path: Path, handraise: Service, clients: dict[str, httpx.AsyncClient]
) -> None:
    """The step that plans it is in the database with the fact: whichever scheduler comes first carries it out."""
    requests = [await handraise.ask(assignment_strategy=CREW) for _ in range(5)]
    for request in requests:
        await moved(clients["alice"], request, "claim")
    await handraise.app.scheduler.stop()
    await leave(handraise, "removed", "alice")
    assert [place(await read(handraise, request)) for request in requests] == [("alice", "crew", True)] * 5
    async with service(database, handraise.settings.data_dir) as other:

        async def all_moved() -> bool:
            return [place(await read(other, request)) for request in requests] == [(None, "crew", False)] * 5

        await until(all_moved)
        for request in requests:
            assert [move[:4] for move in await moves(other, request)] == [
                ("alice", "claimed", "crew", "alice"),
                ("system", "departed", "alice", "crew"),
            ]


def test_a_server_killed_at_once_does_it_after_its_restart(tmp_path: Path, database_url: str) -> None:
    """`kill -9` right after the removal is acknowledged: started again, every request moves on, exactly once."""
    with ServerProcess(tmp_path / "data", database_url) as server:
        with server.admin() as admin, server.agent() as agent:
            for id in ("alice", "bob"):
                assert admin.post("/api/users", json={"id": id, "name": id.title()}).status_code == 201
            strategy = specific("alice")
            type_ = {"default_assignment_strategy": specific("bob")}
            assert admin.patch("/api/request-types/clarification", json=type_).status_code == 200
            ids = [
                agent.post("/api/requests", json={"message": "m", "assignment_strategy": strategy}).json()["id"]
                for _ in range(40)
            ]
            assert admin.delete("/api/users/alice").status_code == 200
        server.restart(kill=True)
        with server.admin() as admin:

            def all_moved() -> bool:
                return {admin.get(f"/api/requests/{id}").json()["assigned_to"] for id in ids} == {"bob"}

            until_blocking(all_moved, "all requests moved on", context=lambda: server.log[-5000:])
            for id in ids:
                events = admin.get(f"/api/requests/{id}/history").json()["items"]
                assert [(event["type"], event.get("cause")) for event in events] == [
                    ("Requested", None),
                    ("Reassigned", "departed"),
                ]


@pytest.fixture
def database_url(postgres: Any, template: str) -> Any:
    """A fresh database for a server of its own."""
    conninfo = postgres.run(postgres.create_database(template))
    yield conninfo
    postgres.run(postgres.drop_database(conninfo))
