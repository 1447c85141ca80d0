"""What people rely on from systems like this one, for one request: waiting, answering, choosing, refusing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.support.postgres import TestServer
from tests.support.service import Service, service

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def handraise(
    postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Service]:
    """One service for all of this module: each case asks its own requests."""
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
async def alice(handraise: Service) -> httpx.AsyncClient:
    """A member."""
    return await handraise.person("alice")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bob(handraise: Service) -> httpx.AsyncClient:
    """Another member."""
    return await handraise.person("bob")


async def submit(client: httpx.AsyncClient, unique_id: str, response: Any) -> httpx.Response:
    return await client.post("/api/human-feedback/submit", json={"unique_id": unique_id, "response": response})


async def respond(client: httpx.AsyncClient, id: str, **answer: Any) -> httpx.Response:
    return await client.post(f"/api/requests/{id}/respond", json=answer)


async def read(client: httpx.AsyncClient, id: str) -> dict[str, Any]:
    response = await client.get(f"/api/requests/{id}")
    assert response.status_code == 200, response.text
    return response.json()


async def history(handraise: Service, id: str) -> list[dict[str, Any]]:
    return (await handraise.admin.get(f"/api/requests/{id}/history")).json()["items"]


def said(request: dict[str, Any]) -> dict[str, Any]:
    """The request without where the log stands: a refused attempt is a fact of its own, and changes nothing else."""
    return {name: value for name, value in request.items() if name not in ("position", "version")}


# -- waiting


async def test_an_answer_given_the_instant_the_request_appears_is_never_lost(
    handraise: Service, other: Service
) -> None:
    """Whoever waits is registered before the request is looked at: create, wait and answer may race."""

    async def answered_at_once(number: int) -> None:
        answered = None
        while answered is None or answered.status_code == 404:
            answered = await submit(other.admin, f"race-{number}", f"answer {number}")

    async def asked_and_waited(number: int) -> dict[str, Any]:
        replica = (handraise, other)[number % 2]
        await replica.ask(unique_id=f"race-{number}")
        return (await replica.agent.get(f"/api/requests/race-{number}/wait?timeout_seconds=20")).json()

    for start in range(0, 40, 10):
        numbers = range(start, start + 10)
        *waited, _ = await asyncio.gather(
            *(asked_and_waited(number) for number in numbers),
            asyncio.gather(*(answered_at_once(number) for number in numbers)),
        )
        assert [request["response"]["text"] for request in waited] == [f"answer {number}" for number in numbers]


async def test_a_wait_for_a_closed_request_returns_at_once(handraise: Service) -> None:
    """An agent that comes late has the answer without waiting, however long it was ready to wait."""
    asked = await handraise.ask()
    answered = await respond(handraise.admin, asked["id"], text="yes")
    waited = await asyncio.wait_for(handraise.agent.get(f"/api/requests/{asked['id']}/wait?timeout_seconds=600"), 5)
    assert waited.json() == answered.json()


async def test_every_waiter_of_every_replica_has_the_same_answer(handraise: Service, other: Service) -> None:
    """Several connections may wait for one request; all of them end with it."""
    asked = await handraise.ask()
    waits = [
        asyncio.create_task(replica.agent.get(f"/api/requests/{name}/wait"))
        for replica in (handraise, other)
        for name in (asked["id"], asked["unique_id"])
    ]
    await asyncio.gather(handraise.waiting(2), other.waiting(2))
    answered = await respond(handraise.admin, asked["id"], text="yes")
    assert [response.json() for response in await asyncio.gather(*waits)] == [answered.json()] * 4
    assert (len(handraise.app.waits), len(other.app.waits)) == (0, 0)


async def test_a_wait_for_one_request_is_not_ended_by_another(handraise: Service) -> None:
    """Only its own request wakes a waiter."""
    mine, another = await handraise.ask(), await handraise.ask()
    waiting = asyncio.create_task(handraise.agent.get(f"/api/requests/{mine['id']}/wait?timeout_seconds=0.3"))
    await handraise.waiting()
    await respond(handraise.admin, another["id"], text="yes")
    assert (await waiting).json() == mine


# -- retries


async def test_several_retries_are_one_question_and_continue_the_work_once(handraise: Service, other: Service) -> None:
    """Whatever number of runs ask and wait under one unique_id, one person answers once and all have it."""

    async def run(replica: Service) -> dict[str, Any]:
        body = {"unique_id": "retry", "message": "Continue?", "request_type": "approval"}
        created = await replica.agent.post("/api/requests", json=body)
        assert created.status_code in (200, 201)
        return (await replica.agent.get(f"/api/requests/{created.json()['id']}/wait")).json()

    runs = [asyncio.create_task(run(replica)) for replica in (handraise, other) for _ in range(5)]
    await asyncio.gather(handraise.waiting(5), other.waiting(5))
    answered = await submit(handraise.admin, "retry", "yes")
    assert answered.status_code == 200
    results = await asyncio.gather(*runs)
    assert all(result == results[0] for result in results)
    assert results[0]["response"]["data"] == {"approved": True}
    assert [event["type"] for event in await history(handraise, results[0]["id"])] == ["Requested", "Responded"]


async def test_the_same_unique_id_of_two_agents_is_two_questions(handraise: Service) -> None:
    """A unique_id is the agent's own: another agent's is another request."""
    another = await handraise.another_agent("another")
    mine = await handraise.ask(unique_id="same", message="Mine?")
    theirs = await another.post("/api/requests", json={"unique_id": "same", "message": "Theirs?"})
    assert theirs.status_code == 201
    assert (await read(another, "same"))["message"] == "Theirs?"
    assert (await read(handraise.agent, "same")) == mine


# -- refused answers


@pytest.mark.parametrize("nothing", ["", " ", "\n\t\r\n ", "\u00a0\u2003", "\u200b\u2060\ufeff"])
@pytest.mark.parametrize(
    "question",
    [
        {},
        {"request_type": "approval"},
        {"request_type": "review"},
        {"request_type": "error-resolution"},
        {"options": ["a", "b"]},
        {"response_schema": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}},
    ],
    ids=str,
)
async def test_an_empty_answer_is_refused(handraise: Service, question: dict[str, Any], nothing: str) -> None:
    """Text in which nothing can be seen answers no kind of question, and leaves it open and unchanged."""
    asked = await handraise.ask(**question)
    for refused in (
        await respond(handraise.admin, asked["id"], text=nothing),
        await submit(handraise.admin, asked["unique_id"], nothing),
    ):
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "text")
    assert await read(handraise.agent, asked["id"]) == asked
    assert len(await history(handraise, asked["id"])) == 1


@pytest.mark.parametrize("body", [{}, {"text": None}, {"data": None}, {"text": None, "data": None}])
async def test_no_answer_is_refused(handraise: Service, body: dict[str, Any]) -> None:
    """A respond with nothing in it says what is expected."""
    asked = await handraise.ask(request_type="approval")
    refused = await respond(handraise.admin, asked["id"], **body)
    assert refused.status_code == 422
    assert "Approve" in refused.json()["detail"]
    assert await read(handraise.agent, asked["id"]) == asked


async def test_an_answer_to_nothing_is_404(handraise: Service) -> None:
    """An unknown id or unique_id, and an unknown agent, are said to be unknown."""
    await handraise.ask(unique_id="known")
    unknown = "00000000-0000-5000-8000-000000000000"
    for refused in (
        await respond(handraise.admin, unknown, text="yes"),
        await respond(handraise.admin, "unknown", text="yes"),
        await submit(handraise.admin, "unknown", "yes"),
        await handraise.admin.post(
            "/api/human-feedback/submit", json={"unique_id": "known", "response": "yes", "agent": "unknown"}
        ),
    ):
        assert refused.status_code == 404
        assert "unknown" in refused.json()["detail"] or unknown in refused.json()["detail"]


async def test_an_answer_after_the_end_is_refused_and_changes_nothing(handraise: Service) -> None:
    """Answered, cancelled or expired: the refusal says so, and what stood there stands."""
    answered, cancelled = await handraise.ask(unique_id="answered"), await handraise.ask(unique_id="cancelled")
    expired = await handraise.ask(unique_id="expired", expires_in_seconds=0.05)
    await respond(handraise.admin, answered["id"], text="first")
    await handraise.agent.post("/api/requests/cancelled/cancel")
    await handraise.agent.get("/api/requests/expired/wait?timeout_seconds=10")
    for asked, status, by in (
        (answered, "Responded", "admin"),
        (cancelled, "Cancelled", "default"),
        (expired, "Expired", "system"),
    ):
        before = await read(handraise.agent, asked["id"])
        for late in (
            await respond(handraise.admin, asked["id"], text="second"),
            await submit(handraise.admin, asked["unique_id"], "second"),
        ):
            assert late.status_code == 409
            assert late.json()["request"] == {"status": status, "by": by, "at": before["closed_at"]}
            assert before["closed_at"] in late.json()["detail"]
            assert (by in late.json()["detail"]) == (by != "system")
        assert said(await read(handraise.agent, asked["id"])) == said(before)
        assert "second" not in str(await history(handraise, asked["id"]))


async def test_an_answer_after_the_agent_took_it_is_refused(handraise: Service) -> None:
    """Once the agent has its answer, another one is late, and the agent reads what it read before."""
    asked = await handraise.ask(unique_id="taken", request_type="approval")
    waiting = asyncio.create_task(handraise.agent.get("/api/requests/taken/wait"))
    await handraise.waiting()
    await submit(handraise.admin, "taken", "yes")
    taken = (await waiting).json()
    assert (await submit(handraise.admin, "taken", "no")).status_code == 409
    assert said(await read(handraise.agent, asked["id"])) == said(taken)


async def test_the_same_answer_again_is_the_same_success(handraise: Service, bob: httpx.AsyncClient) -> None:
    """A double click or a lost response is no conflict for the same person; for another it is."""
    asked = await handraise.ask(options=["Blue", "Red"], run_user="bob")
    first = await respond(bob, asked["id"], text="Blue")
    for again in (
        await respond(bob, asked["id"], text="blue"),
        await respond(bob, asked["id"], text="1"),
        await respond(bob, asked["id"], data={"index": 0}),
    ):
        assert (again.status_code, again.json()) == (200, first.json())
    again = await submit(bob, asked["unique_id"], "option0")
    assert (again.status_code, again.json()) == (200, {"success": True, "position": first.json()["position"]})
    assert (await respond(handraise.admin, asked["id"], text="Blue")).status_code == 409
    assert (await respond(bob, asked["id"], text="Red")).status_code == 409
    assert (await respond(bob, asked["id"], text="Green")).status_code == 409


async def test_an_open_request_shows_no_answer(handraise: Service, bob: httpx.AsyncClient) -> None:
    """Refused attempts leave no trace of what they said, in the request, its history or the refusal."""
    asked = await handraise.ask(request_type="approval", secret=True)
    refusals = [
        await respond(handraise.admin, asked["id"], text="hunter2 maybe"),
        await respond(handraise.admin, asked["id"], data={"approved": "hunter2"}),
        await submit(handraise.admin, asked["unique_id"], "hunter2"),
        await respond(bob, asked["id"], text="hunter2"),
        await respond(handraise.agent, asked["id"], text="hunter2"),
    ]
    assert [refused.status_code for refused in refusals] == [422, 422, 422, 403, 403]
    after = await read(handraise.agent, asked["id"])
    assert said(after) == said(asked)
    everything = str([refused.text for refused in refusals]) + str(after) + str(await history(handraise, asked["id"]))
    assert "hunter2" not in everything


# -- choices, yes and no, reviews

OPTIONS = ["Development", "staging", "Production", "10", "2"]


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("Development", 0),
        ("DEVELOPMENT", 0),
        (" production ", 2),
        ("Staging", 1),
        ("1", 0),
        ("3", 2),
        ("5", 4),
        ("2", 4),
        ("10", 3),
        ("option0", 0),
        ("option4", 4),
        ("Option2", 2),
    ],
)
async def test_a_choice_is_understood(handraise: Service, text: str, index: int) -> None:
    """The exact text first, then in any case, then its number from 1, then option<N> from 0."""
    asked = await handraise.ask(options=OPTIONS)
    assert (await submit(handraise.admin, asked["unique_id"], text)).status_code == 200
    response = (await read(handraise.agent, asked["id"]))["response"]
    assert response == {
        "outcome": "answered",
        "text": OPTIONS[index],
        "data": {"index": index, "option": OPTIONS[index]},
        "sealed": False,
        "by": "admin",
        "via": "api",
        "at": response["at"],
        "acknowledged_at": None,
    }


@pytest.mark.parametrize(
    "text", ["Dev", "prod", "0", "6", "-1", "1.0", "01", "option5", "option", "option-1", "1st", "yes", "Developmentx"]
)
async def test_anything_else_is_no_choice(handraise: Service, text: str) -> None:
    """What names no option is refused with the options named; never silently the first."""
    asked = await handraise.ask(options=OPTIONS)
    refused = await submit(handraise.admin, asked["unique_id"], text)
    assert refused.status_code == 422
    assert all(option in refused.json()["detail"] for option in OPTIONS)
    assert await read(handraise.agent, asked["id"]) == asked


async def test_a_choice_that_two_options_could_mean_is_refused(handraise: Service) -> None:
    """Options that differ in case only must be typed exactly."""
    asked = await handraise.ask(options=["Go", "go", "Stop"])
    assert (await respond(handraise.admin, asked["id"], text="GO")).status_code == 422
    assert (await respond(handraise.admin, asked["id"], text="go")).json()["response"]["data"]["index"] == 1


@pytest.mark.parametrize(
    "options", [[], ["a", "a"], [""], [" "], ["x"] * 51, [f"o{number}" for number in range(51)], "abc", {"a": 1}, [1]]
)
async def test_options_must_be_1_to_50_distinct_texts(handraise: Service, options: Any) -> None:
    """Options that nobody could choose from are refused when they are asked."""
    refused = await handraise.agent.post("/api/requests", json={"message": "x", "options": options})
    assert refused.status_code == 422
    assert all(error["path"].startswith("options") for error in refused.json()["errors"])


async def test_fifty_options_and_one_are_fine(handraise: Service) -> None:
    """Both ends of the range can be asked and chosen from."""
    for options in (["only"], [f"option {number}" for number in range(50)]):
        asked = await handraise.ask(options=options)
        chosen = (await respond(handraise.admin, asked["id"], text=str(len(options)))).json()["response"]
        assert chosen["data"] == {"index": len(options) - 1, "option": options[-1]}


YES = ["yes", "y", "true", "approve", "YES", "Y", " True ", "Approve", "Ship it", "SHIP IT"]
NO = ["no", "n", "false", "reject", "No", "N", "False\n", "REJECT", "Hold", "hold"]


@pytest.mark.parametrize(("text", "approved"), [(text, text in YES) for text in YES + NO])
async def test_yes_and_no_are_understood(handraise: Service, text: str, approved: bool) -> None:
    """The usual words and the request's own labels, in any case."""
    asked = await handraise.ask(request_type="approval", labels={"approve": "Ship it", "reject": "Hold"})
    assert (await submit(handraise.admin, asked["unique_id"], text)).status_code == 200
    response = (await read(handraise.agent, asked["id"]))["response"]
    outcome = "approved" if approved else "rejected"
    assert (response["outcome"], response["data"]) == (outcome, {"approved": approved})


@pytest.mark.parametrize(
    "text", ["ok", "sure", "yes please", "1", "0", "👍", "not sure", "yes or no", "approved", "nein"]
)
async def test_anything_else_is_neither_yes_nor_no(handraise: Service, text: str) -> None:
    """What is not plainly yes or no is refused, and the refusal names the two words."""
    asked = await handraise.ask(request_type="approval", labels={"approve": "Ship", "reject": "Hold"})
    refused = await submit(handraise.admin, asked["unique_id"], text)
    assert refused.status_code == 422
    assert "Ship" in refused.json()["detail"]
    assert "Hold" in refused.json()["detail"]
    assert await read(handraise.agent, asked["id"]) == asked


async def test_an_approval_takes_a_note(handraise: Service) -> None:
    """The structured answer may carry a note, kept as it was written."""
    asked = await handraise.ask(request_type="approval")
    answered = await respond(handraise.admin, asked["id"], data={"approved": True, "note": "after 6 pm\n"})
    response = answered.json()["response"]
    assert (response["outcome"], response["data"]) == ("approved", {"approved": True, "note": "after 6 pm\n"})


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({}, "data/approved"),
        ({"approved": "true"}, "data/approved"),
        ({"approved": 1}, "data/approved"),
        ({"approved": None}, "data/approved"),
        ({"approved": True, "note": 5}, "data/note"),
        ({"approved": True, "reason": "x"}, "data"),
        ([True], "data"),
        (True, "data"),
    ],
)
async def test_an_approval_takes_nothing_else(handraise: Service, data: Any, path: str) -> None:
    """A decision is a boolean and perhaps a note, and nothing that might be read as one."""
    asked = await handraise.ask(request_type="approval")
    refused = await respond(handraise.admin, asked["id"], data=data)
    assert (refused.status_code, [error["path"] for error in refused.json()["errors"]]) == (422, [path])
    assert await read(handraise.agent, asked["id"]) == asked


@pytest.mark.parametrize("label", ["Approve", "Looks good"])
async def test_a_review_is_approved_by_exactly_its_label(handraise: Service, label: str) -> None:
    """The approve label alone approves, and brings no feedback."""
    labels = {} if label == "Approve" else {"labels": {"approve": label}}
    asked = await handraise.ask(request_type="review", **labels)
    assert (await submit(handraise.admin, asked["unique_id"], label)).status_code == 200
    response = (await read(handraise.agent, asked["id"]))["response"]
    assert (response["outcome"], response["text"], response["data"]) == ("approved", None, None)


@pytest.mark.parametrize(
    "text",
    ["approve", "Approve.", " Approve", "Approve the second paragraph", "yes", "Reject", "Shorter, please.\n\n- A"],
)
async def test_any_other_text_of_a_review_is_feedback(handraise: Service, text: str) -> None:
    """Everything else asks for changes, with the text exactly as it was written."""
    asked = await handraise.ask(request_type="review")
    assert (await submit(handraise.admin, asked["unique_id"], text)).status_code == 200
    response = (await read(handraise.agent, asked["id"]))["response"]
    assert (response["outcome"], response["text"], response["data"]) == ("rejected", text, None)


# -- kinds of request


@pytest.mark.parametrize(
    ("question", "type_id"),
    [
        ({}, "clarification"),
        ({"options": ["a"]}, "clarification"),
        ({"response_schema": {}}, "data-input"),
        ({"request_type": "Approval"}, "approval"),
        ({"request_type": "Error Resolution"}, "error-resolution"),
        ({"request_type": "data-input"}, "data-input"),
        ({"request_type": "REVIEW"}, "review"),
        ({"request_type": "approval", "response_schema": {}}, "approval"),
    ],
)
async def test_a_request_type_is_known_by_id_or_name(
    handraise: Service, question: dict[str, Any], type_id: str
) -> None:
    """Types are taken by id or name, made from the question if absent, and returned as id."""
    assert (await handraise.ask(**question))["request_type"] == type_id


@pytest.mark.parametrize("unknown", ["aproval", "", " ", "Request"])
async def test_an_unknown_request_type_is_refused(handraise: Service, unknown: str) -> None:
    """The refusal lists the types, once."""
    refused = await handraise.agent.post("/api/requests", json={"message": "x", "request_type": unknown})
    assert refused.status_code == 422
    assert refused.json()["errors"] == [
        {
            "path": "request_type",
            "message": "must be one of approval, clarification, data-input, error-resolution, review",
        }
    ]


async def test_an_outcome_comes_from_a_boolean_called_approved(handraise: Service) -> None:
    """A form's outcome is approved or rejected by a top-level boolean, and answered by anything else."""
    for data, outcome in (
        ({"approved": True}, "approved"),
        ({"approved": False}, "rejected"),
        ({"approved": "true"}, "answered"),
        ({"approved": 1}, "answered"),
        ({"inner": {"approved": False}}, "answered"),
        ([], "answered"),
        (None, "answered"),
    ):
        asked = await handraise.ask(response_schema={})
        answered = await respond(handraise.admin, asked["id"], data=data)
        assert (answered.status_code, answered.json()["response"]["outcome"]) == (200, outcome), data


# -- in whose name


async def test_who_answers_does_not_change_in_whose_name_the_run_works(
    handraise: Service, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    """The run user stays who started the run, whoever is asked and whoever answers."""
    asked = await handraise.ask(run_user="alice", run_id="run-1", run_step_id="step-2")
    assert (asked["run_user"], asked["assigned_to"]) == ("alice", "alice")
    moved = await handraise.admin.post(f"/api/requests/{asked['id']}/reassign", json={"to": "bob", "note": "holiday"})
    assert (moved.json()["run_user"], moved.json()["assigned_to"]) == ("alice", "bob")
    answered = (await respond(bob, asked["id"], text="yes")).json()
    assert (answered["run_user"], answered["response"]["by"]) == ("alice", "bob")
    assert (answered["run_id"], answered["run_step_id"], answered["agent"]) == ("run-1", "step-2", "default")


async def test_only_the_person_asked_may_answer(
    handraise: Service, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    """Others are told so and recorded once, however often they try; the request stays open for the right person."""
    asked = await handraise.ask(run_user="alice")
    for _ in range(3):
        refused = await respond(bob, asked["id"], text="me")
        assert (refused.status_code, refused.json()["title"]) == (403, "Not eligible to answer")
    events = await history(handraise, asked["id"])
    assert [(event["type"], event["actor"]) for event in events] == [("Requested", "default"), ("AnswerRefused", "bob")]
    assert said(await read(handraise.agent, asked["id"])) == said(asked)
    assert (await respond(alice, asked["id"], text="me")).status_code == 200


async def test_an_agent_can_never_answer(handraise: Service) -> None:
    """Not even the agent that asked, on any channel."""
    asked = await handraise.ask(request_type="approval")
    for refused in (
        await respond(handraise.agent, asked["id"], text="yes"),
        await submit(handraise.agent, asked["unique_id"], "yes"),
    ):
        assert (refused.status_code, refused.json()["detail"]) == (
            403,
            "an agent can never answer a request; a person must",
        )
    assert said(await read(handraise.agent, asked["id"])) == said(asked)


async def test_reassigning_moves_the_right_to_answer(
    handraise: Service, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    """The new person answers, the former one reads on, and the history says who moved it and why."""
    asked = await handraise.ask(run_user="alice")
    path = f"/api/requests/{asked['id']}"
    moved = await handraise.admin.post(f"{path}/reassign", json={"to": "bob", "note": "on holiday"})
    assert (moved.status_code, moved.json()["assigned_to"], moved.json()["list"]) == (200, "bob", None)
    assert (await respond(alice, asked["id"], text="mine")).status_code == 403
    assert (await respond(bob, asked["id"], text="done")).status_code == 200
    assert (await read(alice, asked["id"]))["response"]["text"] == "done"
    event = (await history(handraise, asked["id"]))[1]
    assert {name: event[name] for name in ("type", "actor", "cause", "from", "to", "note")} == {
        "type": "Reassigned",
        "actor": "admin",
        "cause": "reassigned",
        "from": "alice",
        "to": "bob",
        "note": "on holiday",
    }


async def test_reassigning_to_the_same_person_changes_nothing(handraise: Service, alice: httpx.AsyncClient) -> None:
    """A repeat is a success without an event; an unknown person is refused by name."""
    asked = await handraise.ask(run_user="alice")
    path = f"/api/requests/{asked['id']}/reassign"
    assert (await handraise.admin.post(path, json={"to": "alice"})).json() == asked
    unknown = await handraise.admin.post(path, json={"to": "nobody"})
    assert (unknown.status_code, unknown.json()["errors"][0]["path"]) == (422, "to")


async def test_a_repeated_cancel_is_the_same_cancel(handraise: Service) -> None:
    """The agent that lost the response to its cancel may send it again; the first reason stands."""
    asked = await handraise.ask()
    first = await handraise.agent.post(f"/api/requests/{asked['id']}/cancel", json={"reason": "done"})
    again = await handraise.agent.post(f"/api/requests/{asked['id']}/cancel", json={"reason": "other"})
    assert (again.status_code, again.json()) == (200, first.json())
    assert first.json()["cancelled"] == {"by": "default", "reason": "done", "at": first.json()["closed_at"]}
