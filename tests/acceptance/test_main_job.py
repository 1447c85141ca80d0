"""The mission's examples: an agent asks, a person answers, the agent has the very answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.service import Service

ENVIRONMENTS = ["Development", "Staging", "Production"]
PLAN_FORM = {
    "type": "object",
    "required": ["selectedOption"],
    "properties": {
        "selectedOption": {"enum": ["Basic", "Standard", "Premium"]},
        "budget": {"type": "number"},
        "notes": {"type": "string"},
    },
}


async def submitted(handraise: Service, unique_id: str, response: Any) -> dict[str, Any]:
    """Wait as the agent does, answer through submit as a person does; what the agent's wait returned."""
    waiting = asyncio.create_task(handraise.agent.get(f"/api/requests/{unique_id}/wait"))
    await handraise.waiting()
    answer = await handraise.admin.post(
        "/api/human-feedback/submit", json={"unique_id": unique_id, "response": response}
    )
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"success": True, "position": answer.json()["position"]}
    return (await waiting).json()


async def test_c38_a_code_comes_back_as_the_very_text(handraise: Service) -> None:
    """A 2FA code asked with a unique_id keeps its leading zero."""
    await handraise.ask(unique_id="login-2fa", message="Enter the 6-digit code")
    result = await submitted(handraise, "login-2fa", "012345")
    assert result["status"] == "Responded"
    assert result["response"]["text"] == "012345"
    assert (result["response"]["outcome"], result["response"]["by"]) == ("answered", "admin")


@pytest.mark.parametrize(("said", "outcome"), [("Yes", "approved"), ("n", "rejected"), ("approve", "approved")])
async def test_a_yes_or_no(handraise: Service, said: str, outcome: str) -> None:
    """An approval understands yes and no, in any case."""
    await handraise.ask(unique_id="drop-table", message="Drop the table?", request_type="Approval")
    result = await submitted(handraise, "drop-table", said)
    assert result["response"]["outcome"] == outcome
    assert result["response"]["data"] == {"approved": outcome == "approved"}


@pytest.mark.parametrize(("said", "index"), [("Staging", 1), ("production", 2), ("1", 0), ("option2", 2)])
async def test_a_choice(handraise: Service, said: str, index: int) -> None:
    """A choice is understood by text, number or position, and comes back exactly as it was offered."""
    await handraise.ask(unique_id="where", message="Where to?", options=ENVIRONMENTS)
    result = await submitted(handraise, "where", said)
    assert result["response"]["text"] == ENVIRONMENTS[index]
    assert result["response"]["data"] == {"index": index, "option": ENVIRONMENTS[index]}


async def test_a_structured_form(handraise: Service) -> None:
    """A form comes back as the data that was filled in, its number a number."""
    await handraise.ask(unique_id="plan", message="Choose a plan", response_schema=PLAN_FORM)
    data = {"selectedOption": "Premium", "budget": 1200.5, "notes": "until March"}
    result = await submitted(handraise, "plan", data)
    assert result["response"]["data"] == data
    assert result["response"]["outcome"] == "answered"


async def test_a_form_without_its_required_field_is_refused_and_stays_open(handraise: Service) -> None:
    """The refusal names the field; nothing is lost and the request can still be answered."""
    created = await handraise.ask(unique_id="plan", message="Choose a plan", response_schema=PLAN_FORM)
    refused = await handraise.admin.post(f"/api/requests/{created['id']}/respond", json={"data": {"budget": "a lot"}})
    assert refused.status_code == 422
    assert {error["path"] for error in refused.json()["errors"]} == {"data/selectedOption", "data/budget"}
    accepted = await handraise.admin.post(
        f"/api/requests/{created['id']}/respond", json={"data": {"selectedOption": "Basic"}}
    )
    assert accepted.json()["response"]["data"] == {"selectedOption": "Basic"}
