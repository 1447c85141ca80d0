"""Who is asked, and why: the levels in their order, what they say besides, and what nothing can break."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from domain.callers import Role
from tests.support.read_models import rows
from tests.support.service import Service

NO_STRATEGY = "no strategy"


async def add(handraise: Service, path: str, **fields: Any) -> str:
    response = await handraise.admin.post(f"/api/{path}", json={"name": fields.get("id", "Some name")} | fields)
    assert response.status_code == 201, response.text
    return response.json()["id"]


async def patch(handraise: Service, path: str, **fields: Any) -> None:
    response = await handraise.admin.patch(f"/api/{path}", json=fields)
    assert response.status_code == 200, response.text


async def people(handraise: Service, *ids: str) -> dict[str, httpx.AsyncClient]:
    return {id: await handraise.person(id) for id in ids}


async def history(client: httpx.AsyncClient, id: str) -> list[dict[str, Any]]:
    return (await client.get(f"/api/requests/{id}/history")).json()["items"]


async def explain(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await client.post("/api/routing/explain", json={"message": "May I?"} | body)


async def inbox(client: httpx.AsyncClient, scope: str, position: int) -> list[str]:
    response = await client.get("/api/inbox", params={"scope": scope, "min_position": position})
    assert response.status_code == 200, response.text
    return [item["id"] for item in response.json()["items"]]


def specific(user: str, **more: Any) -> dict[str, Any]:
    return {"type": "SpecificUser", "userID": user} | more


def lifetime(request: dict[str, Any]) -> timedelta | None:
    if request["expires_at"] is None:
        return None
    return datetime.fromisoformat(request["expires_at"]) - datetime.fromisoformat(request["created_at"])


# -- the levels


async def test_a_category_inherits_from_its_parents_and_the_nearest_wins(handraise: Service) -> None:
    """The worked example: deep research below research and analysis below everything."""
    await people(handraise, "alice", "bob")
    await patch(handraise, "categories/all", assignment_strategy={"type": "RunUser"})
    named = specific("alice", priority=30)
    await patch(handraise, "categories/research-analysis", assignment_strategy=named)
    await add(handraise, "categories", id="deep-research", parent="research-analysis")
    researcher = await handraise.another_agent("researcher")
    await patch(handraise, "agents/researcher", category="deep-research")
    asked = (await researcher.post("/api/requests", json={"message": "Publish?", "run_user": "bob"})).json()
    assignment = {
        "level": "category",
        "strategy": named,
        "candidates": ["alice"],
        "chosen": "alice",
        "reason": "The category 'research-analysis' says SpecificUser: alice.",
        "trace": [
            {"level": "invocation", "said": NO_STRATEGY},
            {"level": "agent_type", "said": NO_STRATEGY},
            {"level": "category", "of": "deep-research", "said": NO_STRATEGY},
            {"level": "category", "of": "research-analysis", "strategy": named, "said": "alice"},
        ],
    }
    assert asked["assignment"] == assignment
    assert (asked["assigned_to"], asked["list"], asked["priority"]) == ("alice", None, 30)
    (requested,) = await history(researcher, asked["id"])
    assert (requested["type"], requested["assignment"]) == ("Requested", assignment)
    # One that stands elsewhere below the root gets what the root says.
    await patch(handraise, "agents/researcher", category="demo")
    elsewhere = (await researcher.post("/api/requests", json={"message": "Publish?", "run_user": "bob"})).json()
    assert (elsewhere["assigned_to"], elsewhere["priority"]) == ("bob", 50)
    assert elsewhere["assignment"]["reason"] == "The category 'all' says RunUser: bob."


async def test_the_five_levels_are_looked_at_in_their_order(handraise: Service) -> None:
    """Invocation, agent type, category up its parents, request type, run user: each is asked once those before go."""
    await people(handraise, "first", "second", "third", "fourth", "fifth", "sixth")
    await add(handraise, "agent-types", id="bot", assignment_strategy=specific("second"))
    await patch(handraise, "categories/all", assignment_strategy=specific("fourth"))
    await patch(handraise, "categories/demo", assignment_strategy=specific("third"))
    await patch(handraise, "request-types/approval", default_assignment_strategy=specific("fifth"))
    await patch(handraise, "agents/default", agent_type="bot", category="demo")
    body: dict[str, Any] = {"request_type": "approval", "run_user": "sixth"}

    async def asked(**more: Any) -> tuple[str, str, list[tuple[str, str | None]]]:
        request = await handraise.ask(**body, **more)
        assignment = request["assignment"]
        looked_at = [(step["level"], step.get("of")) for step in assignment["trace"]]
        return assignment["level"], request["assigned_to"], looked_at

    looked = [("invocation", None), ("agent_type", "bot"), ("category", "demo"), ("category", "all")]
    looked += [("request_type", "approval"), ("fallback", None)]
    assert await asked(assignment_strategy=specific("first")) == ("invocation", "first", looked[:1])
    assert await asked() == ("agent_type", "second", looked[:2])
    await patch(handraise, "agent-types/bot", assignment_strategy=None)
    assert await asked() == ("category", "third", looked[:3])
    await patch(handraise, "categories/demo", assignment_strategy=None)
    assert await asked() == ("category", "fourth", looked[:4])
    await patch(handraise, "categories/all", assignment_strategy=None)
    assert await asked() == ("request_type", "fifth", looked[:5])
    await patch(handraise, "request-types/approval", default_assignment_strategy=None)
    assert await asked() == ("fallback", "sixth", looked)
    last = (await handraise.ask(**body))["assignment"]["trace"][-1]
    assert last == {"level": "fallback", "said": "sixth", "warning": True}


async def test_a_level_that_names_nobody_falls_through_and_says_so(handraise: Service) -> None:
    """No owner, an empty list, somebody who left or is away, unknown ids: each is a step with a warning."""
    await people(handraise, "left", "away", "bob")
    await add(handraise, "lists", id="empty", members=[])
    assert (await handraise.admin.delete("/api/users/left")).status_code == 200
    await patch(handraise, "users/away", out_of_office={"from": "2000-01-01", "to": "2999-12-31"})
    for strategy, said in (
        ({"type": "AgentOwner"}, "the agent has no owner"),
        ({"type": "List", "listID": "empty"}, "nobody in 'empty' can be asked now"),
        ({"type": "SharedInbox", "listID": "empty"}, "nobody in 'empty' can be asked now"),
        ({"type": "List", "listID": "no-list"}, "there is no list 'no-list'"),
        ({"type": "List"}, "no listID says which list"),
        ({"type": "List", "listID": "empty", "listStrategy": "Fastest"}, "its listStrategy is none that there is"),
        (specific("left"), "left is not active, or audits only"),
        (specific("away"), "away is out of office"),
        (specific("nobody-known"), "there is no user 'nobody-known'"),
        ({"type": "SpecificUser"}, "no userID says whom"),
        ({"type": "RunUser"}, "the request has no run user"),
    ):
        assignment = (await handraise.ask(assignment_strategy=strategy))["assignment"]
        step = {"level": "invocation", "strategy": strategy, "said": said, "warning": True}
        assert (assignment["level"], assignment["trace"][0]) == ("fallback", step)
    # The next level is asked, not the fallback.
    await patch(handraise, "request-types/clarification", default_assignment_strategy=specific("bob"))
    request = await handraise.ask(assignment_strategy=specific("left"))
    assert (request["assigned_to"], request["assignment"]["level"]) == ("bob", "request_type")


async def test_the_strategy_that_wins_wins_whole(handraise: Service) -> None:
    """What it does not say is not filled in from another strategy."""
    await people(handraise, "alice", "bob")
    await add(handraise, "agent-types", id="bot", assignment_strategy=specific("bob", priority=7, expirationMinutes=9))
    await patch(handraise, "agents/default", agent_type="bot")
    request = await handraise.ask(assignment_strategy=specific("alice"))
    assert (request["assigned_to"], request["priority"], lifetime(request)) == ("alice", 50, None)
    # Nor is anything kept of a strategy that named nobody.
    request = await handraise.ask(assignment_strategy=specific("who", priority=3, expirationMinutes=4))
    assert (request["assigned_to"], request["priority"], lifetime(request)) == ("bob", 7, timedelta(minutes=9))


async def test_priority_and_lifetime_come_from_the_first_that_gives_them(handraise: Service) -> None:
    """The request itself, the strategy that wins, the request type, then 50 and for ever; each by itself."""
    await people(handraise, "alice")
    await add(handraise, "request-types", id="plain")
    await add(handraise, "request-types", id="typed", default_priority=60, default_expiration_minutes=60)
    strategy = specific("alice", priority=40, expirationMinutes=0.5)
    lives = {"expires_in_seconds": 10}
    for body, priority, expected in (
        ({"request_type": "typed", "assignment_strategy": strategy, "priority": 20} | lives, 20, timedelta(seconds=10)),
        ({"request_type": "typed", "assignment_strategy": strategy, "priority": 20}, 20, timedelta(seconds=30)),
        ({"request_type": "typed", "assignment_strategy": strategy} | lives, 40, timedelta(seconds=10)),
        ({"request_type": "typed", "assignment_strategy": strategy}, 40, timedelta(seconds=30)),
        ({"request_type": "typed", "assignment_strategy": specific("alice")}, 60, timedelta(minutes=60)),
        ({"request_type": "typed"}, 60, timedelta(minutes=60)),
        ({"request_type": "plain", "assignment_strategy": specific("alice")}, 50, None),
        ({"request_type": "plain"}, 50, None),
    ):  # fmt: skip
        request = await handraise.ask(**body)
        assert (request["priority"], lifetime(request)) == (priority, expected), body
    explained = (await explain(handraise.agent, request_type="typed", assignment_strategy=strategy)).json()
    assert explained["priority"] == 40
    assert datetime.fromisoformat(explained["expires_at"]) > datetime.now(UTC)


# -- the dry run


async def test_explain_says_what_the_next_request_gets(handraise: Service) -> None:
    """For every type of strategy the same assignment; nothing is created, and no turn is taken."""
    await people(handraise, "alice", "bob", "carol")
    await patch(handraise, "agents/default", owner="carol")
    await add(handraise, "lists", id="crew", members=["alice", "bob", "carol"])
    await add(handraise, "lists", id="one", members=["bob"])
    for strategy in (
        {"type": "RunUser"},
        {"type": "AgentOwner"},
        specific("bob"),
        {"type": "List", "listID": "crew"},
        {"type": "List", "listID": "crew", "listStrategy": "RoundRobin"},
        {"type": "List", "listID": "crew", "listStrategy": "LeastBusy"},
        {"type": "List", "listID": "one", "listStrategy": "Random"},
        {"type": "SharedInbox", "listID": "crew", "priority": 9, "vendorExtra": {"a": 1}},
        None,
        "not JSON",
    ):
        body = {"assignment_strategy": strategy, "run_user": "alice", "unique_id": f"again-{strategy}".replace("/", "")}
        head = await handraise.app.store.head()
        first = (await explain(handraise.agent, **body)).json()
        second = (await explain(handraise.admin, agent="default", **body)).json()
        assert first == second
        assert await handraise.app.store.head() == head
        request = await handraise.ask(**body)
        shown = ("assignment", "assigned_to", "list", "priority")
        assert {name: first[name] for name in shown} == {name: request[name] for name in shown}
    chosen = [
        request["assigned_to"]
        for request in [await handraise.ask(assignment_strategy={"type": "List", "listID": "crew"}) for _ in range(3)]
    ]
    assert chosen == ["carol", "alice", "bob"]  # alice and bob had theirs above


async def test_who_may_ask_who_would_be_asked(handraise: Service) -> None:
    """An agent for itself, administrators and auditors for any agent, nobody else."""
    member = await handraise.person("member")
    auditor = await handraise.person("auditor", Role.AUDITOR)
    for client, body, status in (
        (handraise.agent, {}, 200),
        (handraise.agent, {"agent": "default"}, 422),
        (handraise.admin, {"agent": "default"}, 200),
        (auditor, {"agent": "default"}, 200),
        (handraise.admin, {}, 422),
        (handraise.admin, {"agent": "unheard-of"}, 422),
        (member, {"agent": "default"}, 403),
        (member, {}, 403),
        (handraise.nobody, {"agent": "default"}, 401),
    ):
        assert (await explain(client, **body)).status_code == status, (body, status)
    # What a create refuses it refuses too.
    for body in ({"message": " "}, {"request_type": "unheard-of"}, {"run_user": "unheard-of"}, {"priority": 0}):
        assert (await explain(handraise.agent, **body)).status_code == 422, body


# -- request types


async def test_a_request_type_of_ones_own_is_asked_for_by_id_or_by_name(handraise: Service) -> None:
    """Its defaults hold; the request says its id."""
    await people(handraise, "alice")
    await add(
        *(handraise, "request-types"),
        id="legal-review",
        name="Legal Sign-off",
        default_assignment_strategy=specific("alice"),
        default_priority=12,
        default_expiration_minutes=30,
    )
    for given in ("legal-review", "Legal Sign-off", "LEGAL sign-off", " legal-review "):
        request = await handraise.ask(request_type=given)
        assert (request["request_type"], request["assigned_to"]) == ("legal-review", "alice")
        assert (request["priority"], lifetime(request)) == (12, timedelta(minutes=30))
    assert request["assignment"]["reason"] == "The request type 'legal-review' says SpecificUser: alice."
    answered = await handraise.admin.post(f"/api/requests/{request['id']}/respond", json={"text": "signed"})
    assert answered.json()["response"]["outcome"] == "answered"
    listed = await handraise.admin.get(
        "/api/requests", params={"request_type": "Legal Sign-off", "min_position": answered.json()["position"]}
    )
    assert len(listed.json()["items"]) == 4
    refused = await handraise.agent.post("/api/requests", json={"message": "m", "request_type": "Legal Signoff"})
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "request_type")


async def test_nobody_answers_their_own_request_of_a_type_that_forbids_it(handraise: Service) -> None:
    """The run user has to be named, is not chosen, and gets hold of it in no way."""
    clients = await people(handraise, "runner", "alice")
    await add(handraise, "lists", id="crew", members=["runner", "alice"])
    await add(handraise, "request-types", id="expense", no_self_answer=True)
    refused = await handraise.agent.post("/api/requests", json={"message": "m", "request_type": "expense"})
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "run_user")
    assert (await explain(handraise.agent, request_type="expense")).status_code == 422
    body = {"request_type": "expense", "run_user": "runner"}
    in_turn = await handraise.ask(**body, assignment_strategy={"type": "List", "listID": "crew"})
    assert (in_turn["assigned_to"], in_turn["assignment"]["candidates"]) == ("alice", ["alice"])
    for strategy in ({"type": "RunUser"}, specific("runner"), None):
        request = await handraise.ask(**body, assignment_strategy=strategy)
        assert (request["assigned_to"], request["list"]) == (None, None)
        said = "runner is the run user, who may not answer this type"
        assert said in [step["said"] for step in request["assignment"]["trace"]]
    shared = await handraise.ask(**body, assignment_strategy={"type": "SharedInbox", "listID": "crew"})
    assert (shared["list"], shared["assignment"]["candidates"]) == ("crew", ["alice"])
    path = f"/api/requests/{shared['id']}"
    assert (await clients["runner"].post(f"{path}/respond", json={"text": "yes"})).status_code == 403
    assert (await clients["runner"].post(f"{path}/claim")).status_code == 403
    for client, command in ((handraise.admin, "reassign"), (clients["alice"], "delegate")):
        assert (await clients["alice"].post(f"{path}/claim")).status_code in (200, 409)
        given = await client.post(f"{path}/{command}", json={"to": "runner"})
        assert (given.status_code, given.json()["errors"][0]["path"]) == (422, "to"), command
    assert (await clients["alice"].post(f"{path}/respond", json={"text": "yes"})).status_code == 200
    # Whether or not the run user administers.
    await patch(handraise, "users/runner", role="administrator")
    assert (
        await clients["runner"].post(f"/api/requests/{in_turn['id']}/respond", json={"text": "y"})
    ).status_code == 403


async def test_an_inbox_shows_nobody_what_they_may_not_answer(handraise: Service) -> None:
    """The run user of a request that forbids answering one's own sees it, but in no inbox."""
    clients = await people(handraise, "runner", "alice")
    await add(handraise, "lists", id="crew", members=["runner", "alice"])
    await add(handraise, "request-types", id="expense", no_self_answer=True)
    request = await handraise.ask(
        request_type="expense", run_user="runner", assignment_strategy={"type": "SharedInbox", "listID": "crew"}
    )
    for scope in ("shared", "all"):
        assert await inbox(clients["alice"], scope, request["position"]) == [request["id"]]
        assert await inbox(clients["runner"], scope, request["position"]) == []
    listed = await clients["runner"].get("/api/requests", params={"min_position": request["position"]})
    assert [item["id"] for item in listed.json()["items"]] == [request["id"]]
    await patch(handraise, "users/runner", role="administrator")
    for scope in ("shared", "all"):
        assert await inbox(clients["runner"], scope, request["position"]) == []


# -- what nothing can break


BROKEN: list[tuple[Any, str]] = [
    ({"type": "Everybody"}, "the strategy has the unknown type 'Everybody'"),
    ({"type": ["RunUser"]}, "the strategy has the unknown type that it has"),
    ({}, "the strategy has no type"),
    ({"type": None, "userID": "alice"}, "the strategy has no type"),
    ([], "what stands there is not an object"),
    ([{"type": "RunUser"}], "what stands there is not an object"),
    (7, "what stands there is not an object"),
    (True, "what stands there is not an object"),
    ("SpecificUser", "what stands there is not JSON"),
    ("{'type': 'RunUser'}", "what stands there is not JSON"),
    ("7", "what stands there is not an object"),
    ('{"type": "Everybody"}', "the strategy has the unknown type 'Everybody'"),
]


async def test_a_broken_strategy_never_loses_a_request(handraise: Service) -> None:
    """It falls through to the next level, and the decision says why; where nothing stands there is no warning."""
    await people(handraise, "bob")
    for strategy, said in BROKEN:
        request = await handraise.ask(assignment_strategy=strategy, run_user="bob")
        assert (request["assigned_to"], request["assignment"]["level"]) == ("bob", "fallback")
        assert request["assignment"]["trace"][0] == {"level": "invocation", "said": said, "warning": True}
    for strategy in (None, "", "  \n", "null"):
        assignment = (await handraise.ask(assignment_strategy=strategy))["assignment"]
        assert assignment["trace"][0] == {"level": "invocation", "said": NO_STRATEGY}


UNUSABLE: list[tuple[Any, str]] = [
    ({"type": "RunUser", "priority": 0}, "assignment_strategy/priority"),
    ({"type": "RunUser", "priority": 101}, "assignment_strategy/priority"),
    ({"type": "RunUser", "priority": "5"}, "assignment_strategy/priority"),
    ({"type": "RunUser", "priority": True}, "assignment_strategy/priority"),
    ('{"type": "RunUser", "priority": 0}', "assignment_strategy/priority"),
    ({"type": "RunUser", "expirationMinutes": 0}, "assignment_strategy/expirationMinutes"),
    ({"type": "RunUser", "expirationMinutes": -1}, "assignment_strategy/expirationMinutes"),
    ({"type": "RunUser", "x": "\x00"}, "assignment_strategy/x"),
    ('{"type": "RunUser", "x": "\\u0000"}', "assignment_strategy/x"),
    ('{"type": "RunUser", "x": "\\ud800"}', "assignment_strategy/x"),
    ('{"type": "RunUser", "x": 1e999}', "assignment_strategy/x"),
    ('{"type": "RunUser", "x": NaN}', "assignment_strategy/x"),
    ('{"type": "RunUser", "x": ' + "[" * 300 + "]" * 300 + "}", "assignment_strategy"),
    ({"type": "RunUser", "x": "long" * 5000}, "assignment_strategy"),
]


async def test_what_no_request_can_have_is_refused(handraise: Service) -> None:
    """A priority or lifetime that there is not, and what cannot be stored, as an object or as its text."""
    for strategy, path in UNUSABLE:
        for call in ("/api/requests", "/api/routing/explain"):
            refused = await handraise.agent.post(call, json={"message": "m", "assignment_strategy": strategy})
            assert refused.status_code == 422, strategy
            assert [error["path"] for error in refused.json()["errors"]] == [path]
    # Nested without end, or numbers without end, as text: never a failure of the server.
    for strategy in ("[" * 100_000, '{"type": ' * 1000, '{"type": "RunUser", "x": ' + "9" * 9000 + "}"):
        response = await handraise.agent.post("/api/requests", json={"message": "m", "assignment_strategy": strategy})
        assert response.status_code in (201, 422), response.text


async def test_what_is_assigned_to_nobody_is_in_the_administrators_shared_inbox(handraise: Service) -> None:
    """With nobody at all it is never invisible: one of the administrators takes it."""
    member = await handraise.person("member")
    request = await handraise.ask()
    assert (request["assigned_to"], request["list"], request["claimed"]) == (None, None, False)
    assert request["assignment"]["reason"].endswith("administrators see it.")
    assert await inbox(handraise.admin, "shared", request["position"]) == [request["id"]]
    assert await inbox(handraise.admin, "mine", request["position"]) == []
    assert await inbox(member, "all", request["position"]) == []
    assert (await member.post(f"/api/requests/{request['id']}/claim")).status_code == 403
    claimed = await handraise.admin.post(f"/api/requests/{request['id']}/claim")
    assert (claimed.status_code, claimed.json()["assigned_to"]) == (200, "admin")
    assert await inbox(handraise.admin, "mine", claimed.json()["position"]) == [request["id"]]
    assert await inbox(handraise.admin, "shared", claimed.json()["position"]) == []


async def test_who_is_out_of_office_is_skipped_for_whoever_stands_in(handraise: Service) -> None:
    """In a list skipped, by name replaced; a chain of stand-ins is followed to its end, in a ring to nobody."""
    clients = await people(handraise, "alice", "bob", "carol")
    await add(handraise, "lists", id="crew", members=["alice", "bob", "carol"])
    always = {"from": "2000-01-01", "to": "2999-12-31"}
    away = await clients["alice"].patch("/api/me", json={"out_of_office": always | {"stand_in": "bob"}})
    assert away.status_code == 200
    request = await handraise.ask(assignment_strategy=specific("alice"))
    assert (request["assigned_to"], request["assignment"]["candidates"]) == ("bob", ["bob"])
    assert request["assignment"]["trace"][0]["said"] == "alice is out of office, bob stands in"
    in_turn = [(await handraise.ask(assignment_strategy={"type": "List", "listID": "crew"})) for _ in range(3)]
    assert [each["assigned_to"] for each in in_turn] == ["bob", "carol", "bob"]
    await patch(handraise, "users/bob", out_of_office=always | {"stand_in": "carol"})
    assert (await handraise.ask(assignment_strategy=specific("alice")))["assigned_to"] == "carol"
    await patch(handraise, "users/carol", out_of_office=always | {"stand_in": "alice"})
    nobody = await handraise.ask(assignment_strategy=specific("alice"))
    assert (nobody["assigned_to"], nobody["assignment"]["level"]) == (None, "fallback")
    # One who is back is asked again; an absence that is over or to come counts for nothing.
    await patch(handraise, "users/alice", out_of_office={"from": "2000-01-01", "to": "2000-01-02", "stand_in": "bob"})
    assert (await handraise.ask(assignment_strategy=specific("alice")))["assigned_to"] == "alice"


async def test_a_ring_of_categories_is_refused_when_it_is_made(handraise: Service) -> None:
    """A above B above A, and one above itself, by create, by update, and in a document; a request still returns."""
    await add(handraise, "categories", id="upper", parent="all")
    await add(handraise, "categories", id="lower", parent="upper")
    await patch(handraise, "agents/default", category="lower")
    for method, path, body in (
        ("POST", "categories", {"id": "own", "name": "Own", "parent": "own"}),
        ("PATCH", "categories/upper", {"parent": "lower"}),
        ("PATCH", "categories/upper", {"parent": "upper"}),
        ("PATCH", "categories/all", {"parent": "lower"}),
        (
            "PUT",
            "directory",
            {"categories": [{"id": "a", "name": "A", "parent": "b"}, {"id": "b", "name": "B", "parent": "a"}]},
        ),
    ):
        refused = await handraise.admin.request(method, f"/api/{path}", json=body)
        assert refused.status_code == 422, (path, body, refused.text)
        assert refused.json()["errors"][0]["path"].endswith("parent")
        assert (await handraise.ask())["status"] == "Requested"
    shown = (await handraise.admin.get("/api/categories")).json()["items"]
    parents = {item["id"]: item["parent"] for item in shown}
    assert (parents["upper"], parents["lower"], parents["all"]) == ("all", "upper", None)
    assert not parents.keys() & {"own", "a", "b"}


async def test_a_ring_of_categories_that_is_there_does_no_harm(handraise: Service) -> None:
    """However it came about, each category in it is asked once, and then the next level is."""
    await people(handraise, "alice", "bob")
    await add(handraise, "categories", id="upper", parent="all")
    await add(handraise, "categories", id="lower", parent="upper")
    await patch(handraise, "agents/default", category="lower")
    await force(handraise, "UPDATE categories SET parent = (SELECT id FROM categories WHERE readable_id = 'lower')"
                " WHERE readable_id = 'upper'")  # fmt: skip
    body = {"run_user": "bob"}
    explained = (await explain(handraise.agent, **body)).json()
    request = await handraise.ask(**body)
    assert request["assignment"] == explained["assignment"]
    assert request["assigned_to"] == "bob"
    of = [step.get("of") for step in request["assignment"]["trace"] if step["level"] == "category"]
    assert of == ["lower", "upper"]
    await force(handraise, "UPDATE categories SET parent = id WHERE readable_id = 'lower'")
    await patch(handraise, "request-types/clarification", default_assignment_strategy=specific("alice"))
    assert (await handraise.ask(**body))["assigned_to"] == "alice"
    # It can be mended as any other.
    await patch(handraise, "categories/lower", parent="all")
    await patch(handraise, "categories/all", assignment_strategy=specific("bob"))
    assert (await handraise.ask())["assignment"]["level"] == "category"


async def force(handraise: Service, statement: str) -> None:
    """Change the directory behind its back."""
    await rows(handraise.app.conninfo, statement)
    await rows(handraise.app.conninfo, "UPDATE directory_version SET version = version + 1")


# -- in whose name


async def test_who_acts_is_who_the_key_says(handraise: Service) -> None:
    """A name in the body is refused, one in a header is not looked at: result, history and audit name the caller."""
    clients = await people(handraise, "alice", "bob")
    request = await handraise.ask(assignment_strategy=specific("alice"))
    path = f"/api/requests/{request['id']}"
    for field in ("decided_by", "by", "actor", "user", "user_id", "responder"):
        for command, body in (("respond", {"text": "yes"}), ("claim", {}), ("delegate", {"to": "bob"})):
            forged = await clients["alice"].post(f"{path}/{command}", json=body | {field: "bob"})
            assert (forged.status_code, forged.json()["errors"][0]["path"]) == (422, field)
    assert [event["type"] for event in await history(handraise.agent, request["id"])] == ["Requested"]
    names = ("Decided-By", "X-Decided-By", "X-User", "X-User-Id", "X-Forwarded-User", "X-Remote-User", "Remote-User")
    headers = dict.fromkeys((*names, "X-Actor", "From"), "bob") | {"Cookie": "user=bob; session=bob"}
    answered = await clients["alice"].post(
        f"{path}/respond", json={"text": "yes"}, headers=headers, params={"decided_by": "bob", "by": "bob"}
    )
    assert (answered.status_code, answered.json()["response"]["by"]) == (200, "alice")
    responded = (await history(handraise.agent, request["id"]))[-1]
    assert (responded["type"], responded["actor"]) == ("Responded", "alice")
    audit = await handraise.admin.get(
        "/api/audit", params={"request_id": request["id"], "min_position": answered.json()["position"]}
    )
    actors = [(item["type"], item["actor"]) for item in audit.json()["items"]]
    assert sorted(actors) == [("Requested", "default"), ("Responded", "alice")]
    forged = await handraise.agent.post("/api/requests", json={"message": "m", "agent": "another"})
    assert (forged.status_code, forged.json()["errors"][0]["path"]) == (422, "agent")
