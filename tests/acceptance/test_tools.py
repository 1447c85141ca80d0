"""The tools for any API that has models call functions, over plain HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import jsonschema_rs
import pytest
import pytest_asyncio

from interfaces.mcp.definitions import RESULT
from tests.support.postgres import TestServer
from tests.support.read_models import until
from tests.support.service import Service, service
from tests.support.sse import served

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def handraise(
    postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Service]:
    database = await postgres.create_database(template)
    async with service(database, tmp_path_factory.mktemp("data"), cors_origins="https://page.test") as made:
        yield made


def asked(unique_id: str, **more: Any) -> dict[str, Any]:
    return {"message_for_user": "Which shop?", "unique_id": unique_id, **more}


async def call(client: httpx.AsyncClient, tool: str, **arguments: Any) -> dict[str, Any]:
    response = await client.post(f"/api/tools/{tool}", json=arguments)
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_call_returns_the_answer(handraise: Service) -> None:
    """As MCP's result, with the words and a position; the same call again has it at once, and it is acknowledged."""
    calling = asyncio.create_task(call(handraise.agent, "human_feedback", **asked("shop", options=["Berlin", "Rome"])))
    await handraise.waiting()
    submitted = {"unique_id": "shop", "response": "2"}
    assert (await handraise.admin.post("/api/human-feedback/submit", json=submitted)).status_code == 200
    result = await calling
    assert (result["outcome"], result["text"], result["data"]) == ("answered", "Rome", {"index": 1, "option": "Rome"})
    assert "Rome" in result["words"]
    only_http = ("words", "position")
    jsonschema_rs.validate(RESULT, {name: value for name, value in result.items() if name not in only_http})

    async def acknowledged() -> bool:
        request = (await handraise.agent.get("/api/requests/shop")).json()
        return request["response"]["acknowledged_at"] is not None

    await until(acknowledged)
    again = await call(handraise.agent, "human_feedback", **asked("shop", options=["Berlin", "Rome"]))
    assert again["data"] == result["data"]


async def test_the_other_tools(handraise: Service) -> None:
    """A look, and a withdrawal."""
    await handraise.ask(unique_id="look")
    assert (await call(handraise.agent, "check_human_feedback", unique_id="look"))["outcome"] == "open"
    withdrawn = await call(handraise.agent, "cancel_human_feedback", unique_id="look", reason="not needed")
    assert (withdrawn["outcome"], withdrawn["by"]) == ("cancelled", "default")


async def test_whoever_goes_away_leaves_the_request_open(handraise: Service) -> None:
    """And the same call again goes on waiting."""
    async with served(handraise.app) as url, httpx.AsyncClient(base_url=url) as client:
        client.headers["Authorization"] = handraise.agent.headers["Authorization"]
        client.headers["Host"] = "handraise.test"
        calling = asyncio.create_task(client.post("/api/tools/human_feedback", json=asked("gone")))
        await handraise.waiting()
        calling.cancel()
        await until(lambda: nobody_waits(handraise))
        assert (await handraise.agent.get("/api/requests/gone")).json()["status"] == "Requested"
        calling = asyncio.create_task(client.post("/api/tools/human_feedback", json=asked("gone")))
        await handraise.waiting()
        await handraise.admin.post("/api/human-feedback/submit", json={"unique_id": "gone", "response": "Rome"})
        assert (await calling).json()["text"] == "Rome"


async def nobody_waits(handraise: Service) -> bool:
    return len(handraise.app.waits) == 0


@pytest.mark.parametrize(
    ("tool", "body", "status", "said"),
    [
        ("phone_a_friend", {}, 404, "there are human_feedback, check_human_feedback, cancel_human_feedback"),
        ("human_feedback", [], 422, ""),
        ("human_feedback", {"unique_id": "x", "urgent": True}, 422, "message_for_user"),
        ("human_feedback", asked("x", timeout_seconds="soon"), 422, "timeout_seconds"),
        ("check_human_feedback", {"unique_id": "nothing of the kind"}, 404, ""),
    ],
)
async def test_what_is_refused_says_why(handraise: Service, tool: str, body: Any, status: int, said: str) -> None:
    """As a problem document; nothing is asked."""
    response = await handraise.agent.post(f"/api/tools/{tool}", json=body)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    assert said in response.text


@pytest.mark.parametrize("format", [None, "openai", "openai-responses", "anthropic", "plain"])
async def test_definitions_are_as_each_api_wants_them(handraise: Service, format: str | None) -> None:
    """The same names, descriptions and schemas, in each API's own shape."""
    response = await handraise.agent.get("/api/tools", params={"format": format} if format else {})
    first = response.json()["tools"][0]
    if format in (None, "openai"):
        assert first.pop("type") == "function"
        first = first["function"]
    schema = first["input_schema" if format == "anthropic" else "parameters"]
    assert first["name"] == "human_feedback"
    assert first["description"].startswith("Ask a person")
    assert jsonschema_rs.validator_for(schema).is_valid(asked("x"))
    assert not jsonschema_rs.validator_for(schema).is_valid({"unique_id": "x"})
    assert len(response.json()["tools"]) == 3


async def test_a_page_of_a_permitted_origin_may_use_mcp(handraise: Service) -> None:
    """A browser asks first whether it may send the protocol's headers."""
    asks = {
        "Origin": "https://page.test",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,mcp-method,mcp-name,mcp-protocol-version",
    }
    assert (await handraise.nobody.options("/mcp", headers=asks)).status_code == 200
    assert (await handraise.nobody.options("/mcp", headers=asks | {"Origin": "https://x.test"})).status_code == 400
