"""Cases from the field about the life of a request: deadlines, races, restarts and repeats, over REST."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.service import Service, service


@pytest.fixture
async def other(handraise: Service, database: str) -> AsyncIterator[Service]:
    """A second replica on the same database."""
    async with service(database, handraise.settings.data_dir) as replica:
        yield replica


async def history(handraise: Service, id: str) -> list[dict[str, Any]]:
    """All events of a request, as an administrator reads them."""
    response = await handraise.admin.get(f"/api/requests/{id}/history")
    assert response.status_code == 200, response.text
    return response.json()["items"]


async def types(handraise: Service, id: str) -> list[str]:
    """The types of all events of a request, in order."""
    return [event["type"] for event in await history(handraise, id)]


async def respond(client: httpx.AsyncClient, id: str, **answer: Any) -> httpx.Response:
    return await client.post(f"/api/requests/{id}/respond", json=answer)


async def now(handraise: Service, id: str) -> dict[str, Any]:
    """The request as its agent reads it."""
    response = await handraise.agent.get(f"/api/requests/{id}")
    assert response.status_code == 200, response.text
    return response.json()


async def test_c01_an_answer_after_the_deadline_is_refused_before_any_sweep(handraise: Service) -> None:
    """The deadline is checked when the answer is written, not when somebody gets round to sweeping."""
    await handraise.app.scheduler.stop()
    asked = await handraise.ask(message="Deploy?", request_type="approval", expires_in_seconds=0.2)
    waited = await handraise.agent.get(f"/api/requests/{asked['id']}/wait?timeout_seconds=0.3")
    assert waited.json()["status"] == "Requested"

    late = await respond(handraise.admin, asked["id"], data={"approved": True})
    assert late.status_code == 409
    assert late.json()["request"] == {"status": "Expired", "by": "system", "at": late.json()["request"]["at"]}
    after = await now(handraise, asked["id"])
    assert (after["status"], after["response"], after["cancelled"]) == ("Expired", None, None)
    events = await history(handraise, asked["id"])
    assert [(event["type"], event["actor"]) for event in events] == [
        ("Requested", "default"),
        ("Expired", "system"),
        ("AnswerRefused", "admin"),
    ]
    assert "approved" not in str(events)


@pytest.mark.parametrize("command", ["cancel", "reassign"])
async def test_c01_nothing_else_beats_the_deadline_either(handraise: Service, command: str) -> None:
    """A cancel or a reassignment after the deadline finds an expired request."""
    await handraise.app.scheduler.stop()
    asked = await handraise.ask(expires_in_seconds=0.1)
    await handraise.agent.get(f"/api/requests/{asked['id']}/wait?timeout_seconds=0.15")
    late = await handraise.admin.post(
        f"/api/requests/{asked['id']}/{command}", json={"to": "admin"} if command == "reassign" else {}
    )
    assert (late.status_code, late.json()["request"]["status"]) == (409, "Expired")
    assert await types(handraise, asked["id"]) == ["Requested", "Expired"]


async def test_c03_the_same_answer_to_two_replicas_at_once_is_one_answer(handraise: Service, other: Service) -> None:
    """A double click that reaches two replicas is one Responded event, and a success for both clicks."""
    asked = await handraise.ask(request_type="approval")
    clicks = await asyncio.gather(
        *(respond(replica.admin, asked["id"], text="yes") for replica in (handraise, other) for _ in range(4))
    )
    assert [click.status_code for click in clicks] == [200] * 8
    assert {str(click.json()["response"]) for click in clicks} == {str(clicks[0].json()["response"])}
    assert await types(handraise, asked["id"]) == ["Requested", "Responded"]


async def test_c03_of_two_opposite_answers_at_once_the_first_stands(handraise: Service, other: Service) -> None:
    """One of two opposite answers wins; the other is told who was first, and changes nothing."""
    bob = await other.person("bob")
    for number in range(5):
        asked = await handraise.ask(request_type="approval", message=f"Round {number}", run_user="bob")
        yes, no = await asyncio.gather(
            respond(handraise.admin, asked["id"], text="yes"), respond(bob, asked["id"], text="no")
        )
        assert sorted((yes.status_code, no.status_code)) == [200, 409]
        winner, loser = (yes, no) if yes.status_code == 200 else (no, yes)
        accepted = winner.json()["response"]
        assert accepted["by"] == ("admin" if winner is yes else "bob")
        assert loser.json()["request"] == {"status": "Responded", "by": accepted["by"], "at": accepted["at"]}
        assert (await now(handraise, asked["id"]))["response"] == accepted
        assert await types(handraise, asked["id"]) == ["Requested", "Responded", "AnswerRefused"]


async def test_c04_a_cancel_wakes_the_waiter_and_is_final(handraise: Service, other: Service) -> None:
    """The waiting agent hears of the cancel at once, on either replica, and nothing reopens the request."""
    asked = await handraise.ask(request_type="approval")
    path = f"/api/requests/{asked['id']}"
    waits = [asyncio.create_task(replica.agent.get(f"{path}/wait")) for replica in (handraise, other)]
    await asyncio.gather(handraise.waiting(), other.waiting())
    started = time.monotonic()
    cancelled = await handraise.admin.post(f"{path}/cancel", json={"reason": "not needed any more"})
    woken = [response.json() for response in await asyncio.gather(*waits)]
    assert time.monotonic() - started < 2
    assert woken == [cancelled.json()] * 2
    assert cancelled.json()["status"] == "Cancelled"
    assert cancelled.json()["cancelled"] == {
        "by": "admin",
        "reason": "not needed any more",
        "at": cancelled.json()["closed_at"],
    }

    for path_, body in (
        (f"{path}/respond", {"text": "yes"}),
        (f"{path}/reassign", {"to": "admin"}),
        ("/api/human-feedback/submit", {"unique_id": asked["unique_id"], "response": "yes"}),
    ):
        late = await handraise.admin.post(path_, json=body)
        assert (late.status_code, late.json()["request"]["status"]) == (409, "Cancelled"), path_
    by_agent = await handraise.agent.post(f"{path}/cancel")
    assert (by_agent.status_code, by_agent.json()["request"]["by"]) == (409, "admin")
    after = await now(handraise, asked["id"])
    assert (after["status"], after["response"], after["cancelled"]) == (
        "Cancelled",
        None,
        cancelled.json()["cancelled"],
    )


async def test_c05_an_expiry_is_neither_a_denial_nor_pending(handraise: Service) -> None:
    """A form with a boolean that nobody answers ends as expired by the system, with no answer in it at all."""
    form = {"type": "object", "required": ["approved"], "properties": {"approved": {"type": "boolean"}}}
    asked = await handraise.ask(response_schema=form, request_type="approval", expires_in_seconds=0.2)
    waited = (await handraise.agent.get(f"/api/requests/{asked['id']}/wait?timeout_seconds=10")).json()
    assert waited == await now(handraise, asked["id"])
    assert (waited["status"], waited["response"], waited["cancelled"]) == ("Expired", None, None)
    assert waited["closed_at"] >= waited["expires_at"]
    last = (await history(handraise, asked["id"]))[-1]
    assert last == {
        "position": waited["position"],
        "type": "Expired",
        "at": waited["closed_at"],
        "actor": "system",
    }


async def test_c07_a_wait_that_ends_denies_nothing(handraise: Service) -> None:
    """Three waits run out, each with the request as it stands; a later answer is accepted and returned."""
    asked = await handraise.ask(message="Deploy?", request_type="approval", expires_in_seconds=300)
    for _ in range(3):
        waited = await handraise.agent.get(f"/api/requests/{asked['id']}/wait?timeout_seconds=0.1")
        assert (waited.status_code, waited.json()) == (200, asked)
    fourth = asyncio.create_task(handraise.agent.get(f"/api/requests/{asked['id']}/wait?timeout_seconds=30"))
    await handraise.waiting()
    answered = await respond(handraise.admin, asked["id"], text="yes")
    assert answered.status_code == 200
    assert (await fourth).json() == answered.json()


async def test_c07_a_wait_whose_caller_goes_away_changes_nothing(handraise: Service) -> None:
    """A dropped wait leaves the request open and no waiter behind."""
    asked = await handraise.ask()
    waiting = asyncio.create_task(handraise.agent.get(f"/api/requests/{asked['id']}/wait"))
    await handraise.waiting()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert len(handraise.app.waits) == 0
    assert await now(handraise, asked["id"]) == asked


async def test_c08_a_restart_keeps_requests_and_deadlines(database: str, tmp_path: Path) -> None:
    """After a restart what came due meanwhile has expired once; the others are open, with their deadlines."""
    async with service(database, tmp_path / "data") as before:
        await before.app.scheduler.stop()
        due = await before.ask(unique_id="due", expires_in_seconds=0.3)
        others = [
            await before.ask(unique_id="later", expires_in_seconds=300),
            await before.ask(unique_id="open", message="No deadline"),
        ]
        await before.agent.get("/api/requests/due/wait?timeout_seconds=0.35")

    async with service(database, tmp_path / "data") as after:
        expired = (await after.agent.get("/api/requests/due/wait?timeout_seconds=10")).json()
        assert (expired["status"], expired["expires_at"]) == ("Expired", due["expires_at"])
        assert await types(after, due["id"]) == ["Requested", "Expired"]
        for asked in others:
            assert await now(after, asked["id"]) == asked
            answered = await after.admin.post(
                "/api/human-feedback/submit", json={"unique_id": asked["unique_id"], "response": "012345"}
            )
            assert answered.status_code == 200
            assert (await now(after, asked["id"]))["response"]["text"] == "012345"


async def test_c08_a_stopping_server_ends_its_waits_with_the_request_as_it_stands(
    database: str, tmp_path: Path
) -> None:
    """An agent that waits while the server stops hears that the request is still open, and can ask elsewhere."""
    async with service(database, tmp_path / "data") as stopping:
        asked = await stopping.ask()
        waiting = asyncio.create_task(stopping.agent.get(f"/api/requests/{asked['id']}/wait"))
        await stopping.waiting()
        stopping.app.waits.stop()
        response = await waiting
    assert (response.status_code, response.json()) == (200, asked)


async def test_c09_parallel_creates_of_one_unique_id_make_one_request(handraise: Service, other: Service) -> None:
    """Twenty retries at once, on two replicas: one is created, the others are given it, and none is sent away."""
    for number in range(20):
        body = {"unique_id": f"release-{number}", "message": "Release?", "options": ["now", "tonight"], "priority": 3}
        replies = await asyncio.gather(
            *(replica.agent.post("/api/requests", json=body) for replica in (handraise, other) for _ in range(10))
        )
        assert sorted(reply.status_code for reply in replies) == [200] * 19 + [201]
        assert {reply.text for reply in replies} == {replies[0].text}
        assert await types(handraise, replies[0].json()["id"]) == ["Requested"]


@pytest.mark.parametrize(
    "change",
    [
        {"message": "Release 8?"},
        {"context": "all green"},
        {"options": ["now", "tonight", "never"]},
        {"options": None},
        {"secret": True},
        {"labels": {"approve": "Ship"}},
        {"options": None, "response_schema": {"const": 1}},
    ],
)
async def test_c09_other_content_under_the_same_unique_id_is_a_conflict(
    handraise: Service, change: dict[str, Any]
) -> None:
    """The second question is not quietly taken for the first."""
    body = {"unique_id": "release-7", "message": "Release 7?", "options": ["now", "tonight"]}
    asked = await handraise.ask(**body)
    other_content = await handraise.agent.post("/api/requests", json=body | change)
    assert other_content.status_code == 409
    assert "feedback request already exists" in other_content.json()["detail"]
    assert await now(handraise, asked["id"]) == asked


async def test_c09_true_and_one_are_not_the_same_content(handraise: Service) -> None:
    """Content is compared as JSON, not as Python compares it."""
    await handraise.ask(unique_id="flag", response_schema={"enum": [True]})
    other_content = await handraise.agent.post(
        "/api/requests", json={"unique_id": "flag", "message": "May I?", "response_schema": {"enum": [1]}}
    )
    assert other_content.status_code == 409


async def test_c09_a_repeat_after_the_answer_brings_the_answer(handraise: Service) -> None:
    """An agent that lost its connection asks again and has what was answered meanwhile."""
    asked = await handraise.ask(unique_id="once", message="Which?")
    answered = await respond(handraise.admin, asked["id"], text="the blue one")
    again = await handraise.agent.post("/api/requests", json={"unique_id": "once", "message": "Which?"})
    assert (again.status_code, again.json()) == (200, answered.json())
