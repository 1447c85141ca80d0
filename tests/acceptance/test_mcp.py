"""Agents ask through MCP, with the official client: over HTTP in both generations of the protocol, and over stdio."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from interfaces.mcp import acknowledgements
from interfaces.mcp.definitions import DEFINITIONS
from interfaces.mcp.in_process import receipt
from tests.support.processes import HANDRAISE, ROOT, clean_environment
from tests.support.service import Service, service
from tests.support.sse import eventually, served

LEGACY, MODERN = "legacy", "2026-07-28"
"""The handshake of the older protocol, and the newest, which has none."""

APPROVAL_FORM = {"type": "object", "required": ["approved"], "properties": {"approved": {"type": "boolean"}}}
P7 = {
    "type": "object",
    "required": ["code"],
    "properties": {"code": {"type": "string", "pattern": "^[0-9]{6}$", "title": "6-digit code sent to your e-mail"}},
}
NEITHER = "This is neither an approval nor a rejection."


newest_only = pytest.mark.parametrize("mode", [MODERN])
"""For what does not depend on how it is carried."""


@pytest.fixture(params=[LEGACY, MODERN])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def handraise(database: str, tmp_path: Path) -> AsyncIterator[Service]:
    async with service(database, tmp_path / "data", mcp_progress_seconds=0.05) as made:
        yield made


@pytest.fixture
async def url(handraise: Service) -> AsyncIterator[str]:
    """The service on a real socket."""
    async with served(handraise.app) as address:
        yield address


def key_of(client: httpx.AsyncClient) -> str:
    return client.headers["Authorization"].removeprefix("Bearer ")


@asynccontextmanager
async def connected(url: str, key: str, mode: str = MODERN, **options: Any) -> AsyncIterator[Client]:
    """The official client."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode, **options) as client,
    ):
        yield client


@pytest.fixture
async def agent(handraise: Service, url: str, mode: str) -> AsyncIterator[Client]:
    """Opened and closed by one task, as the client demands; the halves of a fixture are run by two."""
    opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def hold() -> None:
        async with connected(url, key_of(handraise.agent), mode) as client:
            opened.set_result(client)
            await done.wait()

    holding = asyncio.create_task(hold())
    await asyncio.wait((opened, holding), return_when=asyncio.FIRST_COMPLETED)
    if holding.done():
        holding.result()
    yield opened.result()
    done.set()
    await holding


def structured(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, words(result)
    return result.structured_content


def words(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def asking(client: Client, unique_id: str, **arguments: Any) -> asyncio.Task[CallToolResult]:
    """A call of `human_feedback` that goes on by itself."""
    arguments = {"message_for_user": "May I?", "unique_id": unique_id} | arguments
    return asyncio.create_task(client.call_tool("human_feedback", arguments))


async def answered(handraise: Service, unique_id: str, **answer: Any) -> None:
    response = await handraise.admin.post(f"/api/requests/{unique_id}/respond", json=answer)
    assert response.status_code == 200, response.text


async def shown(handraise: Service, unique_id: str) -> dict[str, Any]:
    response = await handraise.agent.get(f"/api/requests/{unique_id}")
    assert response.status_code == 200, response.text
    return response.json()


async def acknowledged(handraise: Service, unique_id: str) -> None:
    """Returns once the answer is acknowledged, last of all."""
    async with asyncio.timeout(20):
        while (await shown(handraise, unique_id))["response"]["acknowledged_at"] is None:
            await asyncio.sleep(0.02)
    items = (await handraise.agent.get(f"/api/requests/{unique_id}/history")).json()["items"]
    assert items[-1]["type"] == "Acknowledged"


def message(method: str, params: dict[str, Any], mode: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Headers and body of a call without any client."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": "2025-06-18" if mode == LEGACY else mode,
    }
    if mode == MODERN:
        headers |= {"Mcp-Method": method} | ({"Mcp-Name": params["name"]} if "name" in params else {})
        meta = {
            "io.modelcontextprotocol/protocolVersion": mode,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }
        params = params | {"_meta": meta}
    return headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def dropped(url: str, key: str, unique_id: str, mode: str) -> asyncio.StreamWriter:
    """A call whose connection can be cut: by closing what is returned."""
    headers, body = message(
        "tools/call", {"name": "human_feedback", "arguments": {"message_for_user": "?", "unique_id": unique_id}}, mode
    )
    host = url.removeprefix("http://")
    _, writer = await asyncio.open_connection(*host.split(":"))
    content = json.dumps(body).encode()
    headers |= {"Host": host, "Authorization": f"Bearer {key}", "Content-Length": str(len(content))}
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    writer.write("\r\n".join(lines).encode() + content)
    await writer.drain()
    return writer


# -- the tools and their answers


async def test_the_tools_are_listed(agent: Client) -> None:
    """With the schemas of arguments and results that are written down."""
    tools = (await agent.list_tools()).tools
    assert {tool.name: tool.input_schema for tool in tools} == {
        name: tool.arguments for name, tool in DEFINITIONS.items()
    }
    assert all(tool.output_schema is not None and tool.description for tool in tools)


ANSWERS: list[tuple[dict[str, Any], dict[str, Any], str, str | None, Any, str]] = [
    ({}, {"text": " Ship it\n\n漢 "}, "answered", " Ship it\n\n漢 ", None, "admin answered:\n\n Ship it\n\n漢 "),
    (
        {"options": ["Staging", "Production"]},
        {"text": "Production"},
        "answered",
        "Production",
        {"index": 1, "option": "Production"},
        "admin answered:\n\nProduction",
    ),
    (
        {"request_type": "approval"},
        {"data": {"approved": True, "note": "after 6 pm"}},
        "approved",
        None,
        {"approved": True, "note": "after 6 pm"},
        "admin approved this. With the approval came:\n\nafter 6 pm",
    ),
    (
        {"request_type": "approval"},
        {"data": {"approved": False}},
        "rejected",
        None,
        {"approved": False},
        "admin rejected this: it is not approved.",
    ),
    (
        {"request_type": "review"},
        {"text": "Shorter, please"},
        "rejected",
        "Shorter, please",
        None,
        "admin rejected this: it is not approved. With the rejection came:\n\nShorter, please",
    ),
    (
        {"response_schema": APPROVAL_FORM},
        {"data": {"approved": True}},
        "approved",
        None,
        {"approved": True},
        'admin approved this. With the approval came:\n\n{"approved": true}',
    ),
]


async def test_the_answer_comes_back_in_data_and_in_words(handraise: Service, agent: Client) -> None:
    """Whatever kind of answer it is; exactly as it was given."""
    for place, (arguments, answer, outcome, text, data, said) in enumerate(ANSWERS):
        call = asking(agent, f"q{place}", **arguments)
        await handraise.waiting()
        await answered(handraise, f"q{place}", **answer)
        result = await call
        request = await shown(handraise, f"q{place}")
        assert structured(result) == {
            "outcome": outcome,
            "text": text,
            "data": data,
            "by": "admin",
            "at": request["response"]["at"],
            "request_id": request["id"],
            "unique_id": f"q{place}",
        }
        assert words(result) == said
        await acknowledged(handraise, f"q{place}")


async def test_c4_a_cancelled_request_ends_the_call_for_good(handraise: Service, agent: Client) -> None:
    """The call that waits says so at once; nothing later changes it."""
    call = asking(agent, "q")
    await handraise.waiting()
    cancelled = await handraise.admin.post("/api/requests/q/cancel", json={"reason": "not needed"})
    assert cancelled.status_code == 200
    async with asyncio.timeout(10):
        result = await call
    request = await shown(handraise, "q")
    assert structured(result) == {
        "outcome": "cancelled",
        "text": None,
        "data": None,
        "by": "admin",
        "at": request["cancelled"]["at"],
        "request_id": request["id"],
        "unique_id": "q",
    }
    assert (
        words(result)
        == f"The request was cancelled by admin before anybody answered. {NEITHER} The reason given: not needed"
    )
    for action, body in {"respond": {"text": "yes"}, "claim": {}, "reassign": {"to": "admin"}}.items():
        late = await handraise.admin.post(f"/api/requests/q/{action}", json=body)
        assert late.status_code == 409, (action, late.text)
    assert (await shown(handraise, "q"))["status"] == "Cancelled"


@newest_only
async def test_c5_expired_is_neither_denied_nor_pending(handraise: Service, agent: Client) -> None:
    """In data, in words, over REST, and in the history: nobody decided, and the system ended it."""
    async with asyncio.timeout(30):
        result = await asking(agent, "q", response_schema=APPROVAL_FORM, expires_in_seconds=0.3)
    request = await shown(handraise, "q")
    assert structured(result) == {
        "outcome": "expired",
        "text": None,
        "data": None,
        "by": None,
        "at": request["closed_at"],
        "request_id": request["id"],
        "unique_id": "q",
    }
    assert words(result).startswith(f"Nobody answered before the request expired. {NEITHER}")
    assert not {"denied", "pending", "waiting"} & set(words(result).lower().split())
    assert (request["status"], request["response"]) == ("Expired", None)
    history = (await handraise.agent.get("/api/requests/q/history")).json()["items"]
    assert (history[-1]["type"], history[-1]["actor"]) == ("Expired", "system")


async def test_c10_progress_rises_for_those_who_asked_for_it(handraise: Service, url: str, mode: str) -> None:
    """At the interval that is set, until the answer; without a token there is none, and no error."""
    told: list[tuple[float, float | None]] = []
    received: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    async def on_message(found: Any) -> None:
        received.append(found)

    async with connected(url, key_of(handraise.agent), mode, message_handler=on_message) as agent:
        arguments = {"message_for_user": "May I?", "unique_id": "with", "timeout_seconds": 60}
        call = asyncio.create_task(agent.call_tool("human_feedback", arguments, progress_callback=on_progress))
        await eventually(lambda: len(told) >= 4, "progress is reported")
        await answered(handraise, "with", text="yes")
        assert structured(await call)["text"] == "yes"
        assert told == sorted(set(told))
        assert {total for _, total in told} == {60}
        received.clear()
        told.clear()

        call = asking(agent, "without")
        await handraise.waiting()
        await asyncio.sleep(0.3)
        await answered(handraise, "without", text="yes")
        assert structured(await call)["text"] == "yes"
        assert (told, received) == ([], [])


async def test_c11_a_wait_is_brought_within_its_bounds(handraise: Service, url: str) -> None:
    """No request is dead before anybody can see it."""
    seconds: list[float] = [1, 0, -5, 1e12, 10**400]
    async with connected(url, key_of(handraise.agent)) as agent:
        calls = [asking(agent, f"q{place}", timeout_seconds=value) for place, value in enumerate(seconds)]
        await handraise.waiting(len(calls))
        await asyncio.sleep(0.1)
        for place, call in enumerate(calls):
            assert not call.done(), seconds[place]
            assert (await shown(handraise, f"q{place}"))["status"] == "Requested"
            await answered(handraise, f"q{place}", text="yes")
            assert structured(await call)["outcome"] == "answered"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"timeout_seconds": "600"}, "timeout_seconds: must be a number, such as 600, not text"),
    ({"timeout_seconds": True}, "timeout_seconds: must be a number, such as 600, not true or false"),
    ({"timeout": 30}, "timeout: there is no such argument"),
    ({"unique_id": 7}, "unique_id: must be text, not a number"),
    ({"unique_id": "a/b"}, "unique_id: must not contain /"),
    ({"message_for_user": None}, "message_for_user: is required: text"),
    ({"message_for_user": "a\0b"}, "message_for_user: NUL characters cannot be stored"),
    ({"priority": 0}, "priority: must be 1 (most urgent) to 100"),
    ({"priority": 1.5}, "priority: must be a whole number, such as 50"),
    ({"secret": "yes"}, "secret: must be true or false, not text"),
    ({"options": "a, b"}, "options: is text, but not JSON: Expecting value at character 0"),
    ({"expires_in_seconds": 0}, "expires_in_seconds: must be more than 0 and at most 315360000"),
    ({"expires_in_seconds": 1e12}, "expires_in_seconds: must be more than 0 and at most 315360000"),
    ({"response_schema": "{'type': 'object'}"}, "response_schema: is text, but not JSON: Expecting property name"),
    ({"response_schema": "[1]"}, "response_schema: must be an object, or its JSON text, not a list"),
    ({"response_schema": {"type": 7}}, "response_schema"),
    ({"request_type": "guess"}, "request_type: must be one of "),
    ({"run_user": "nobody"}, "run_user: there is no active user 'nobody'"),
]


async def test_c11_wrong_arguments_are_named(handraise: Service, url: str) -> None:
    """As an error of the tool that the model can read; nothing is asked."""
    async with connected(url, key_of(handraise.agent)) as agent:
        for given, said in WRONG:
            result = await asking(agent, **{"unique_id": "q"} | given)
            assert result.is_error, given
            assert words(result).startswith(said), (given, words(result))
    assert (await handraise.agent.get("/api/requests")).json()["items"] == []


async def test_c12_a_dropped_call_loses_nothing(handraise: Service, url: str, mode: str) -> None:
    """The connection breaks, somebody answers, the same call again has the answer at once; it was asked once."""
    writer = await dropped(url, key_of(handraise.agent), "q", mode)
    await handraise.waiting()
    writer.transport.abort()
    await eventually(lambda: len(handraise.app.waits) == 0, "the wait has ended")
    await answered(handraise, "q", text="42")
    async with connected(url, key_of(handraise.agent), mode) as agent, asyncio.timeout(10):
        for _ in range(2):
            assert structured(await asking(agent, "q", message_for_user="?"))["text"] == "42"
    assert len((await handraise.agent.get("/api/requests")).json()["items"]) == 1


@newest_only
async def test_c12_the_same_id_for_another_question_is_refused(handraise: Service, agent: Client) -> None:
    """And the way to the answer of the first is shown."""
    await handraise.ask(unique_id="q", message="Another question")
    result = await asking(agent, "q")
    assert result.is_error
    assert words(result).startswith("feedback request already exists: 'q' was asked with other content")
    assert "check_human_feedback" in words(result)
    assert structured(await agent.call_tool("check_human_feedback", {"unique_id": "q"}))["outcome"] == "open"


@newest_only
async def test_c15_objects_and_lists_are_taken_as_json_text_too(handraise: Service, agent: Client) -> None:
    """Both ways make the same request."""
    for given in (P7, json.dumps(P7)):
        call = asking(agent, "form", response_schema=given)
        await handraise.waiting()
        assert (await shown(handraise, "form"))["response_schema"] == P7
        if given == P7:
            call.cancel()
            await asyncio.wait((call,))
    await answered(handraise, "form", data={"code": "012345"})
    assert structured(await call)["data"] == {"code": "012345"}
    call = asking(agent, "choice", options='["a", "b"]')
    await eventually(lambda: len(handraise.app.waits) >= 1, "it waits")
    await answered(handraise, "choice", text="b")
    assert structured(await call)["data"] == {"index": 1, "option": "b"}


@newest_only
async def test_c38_a_code_stays_text(handraise: Service, agent: Client) -> None:
    """Leading zeros and all: as free text, and in a form."""
    calls = asking(agent, "free"), asking(agent, "form", response_schema=P7)
    await handraise.waiting(2)
    await answered(handraise, "free", text="012345")
    await answered(handraise, "form", text="012345")
    free, form = await asyncio.gather(*calls)
    assert structured(free)["text"] == "012345"
    assert structured(form)["data"] == {"code": "012345"}
    assert words(free) == "admin answered:\n\n012345"


@newest_only
async def test_c42_text_that_looks_like_nul_is_kept(handraise: Service, agent: Client) -> None:
    """Six literal characters are six characters; the character itself is refused."""
    literal = "\\" + "u0000"
    call = asking(agent, "q", message_for_user=f"What is {literal}?")
    await handraise.waiting()
    assert (await shown(handraise, "q"))["message"] == f"What is {literal}?"
    await answered(handraise, "q", text=literal)
    assert structured(await call)["text"] == literal
    assert (await asking(agent, "n", message_for_user="a\0b")).is_error


@newest_only
async def test_open_after_a_short_look_and_how_to_go_on(handraise: Service, agent: Client) -> None:
    """`check_human_feedback` answers at once, or waits; it changes nothing."""
    request = await handraise.ask(unique_id="q")
    result = await agent.call_tool("check_human_feedback", {"unique_id": "q", "wait_seconds": 0.05})
    assert structured(result) == {
        "outcome": "open",
        "text": None,
        "data": None,
        "by": None,
        "at": None,
        "request_id": request["id"],
        "unique_id": "q",
    }
    assert words(result) == (
        f"Nobody has answered yet. {NEITHER} The request stays open and can still be answered. To go on waiting, call "
        'human_feedback again with the same arguments, or check_human_feedback with wait_seconds and unique_id "q".'
    )
    call = asyncio.create_task(agent.call_tool("check_human_feedback", {"unique_id": "q", "wait_seconds": 1e9}))
    await handraise.waiting()
    await answered(handraise, "q", text="yes")
    assert structured(await call)["text"] == "yes"
    missing = await agent.call_tool("check_human_feedback", {"unique_id": "none"})
    assert missing.is_error


@newest_only
async def test_an_agent_withdraws_its_request(handraise: Service, agent: Client) -> None:
    """Twice is as good as once; what is answered is not withdrawn."""
    await handraise.ask(unique_id="q")
    for _ in range(2):
        result = await agent.call_tool("cancel_human_feedback", {"unique_id": "q", "reason": "solved"})
        assert (structured(result)["outcome"], structured(result)["by"]) == ("cancelled", "default")
    await handraise.ask(unique_id="a")
    await answered(handraise, "a", text="yes")
    late = await agent.call_tool("cancel_human_feedback", {"unique_id": "a"})
    assert late.is_error
    assert "check_human_feedback" in words(late)
    assert structured(await agent.call_tool("check_human_feedback", {"unique_id": "a"}))["outcome"] == "answered"


async def test_requests_of_other_agents_are_not_there(handraise: Service, url: str) -> None:
    """Neither to look at nor to withdraw."""
    request = await handraise.ask(unique_id="q")
    other = await handraise.another_agent("other")
    async with connected(url, key_of(other)) as agent:
        for name in ("check_human_feedback", "cancel_human_feedback"):
            for id in ("q", request["id"]):
                assert (await agent.call_tool(name, {"unique_id": id})).is_error
    assert (await shown(handraise, "q"))["status"] == "Requested"


# -- secrets


async def test_a_code_is_handed_over_once_and_destroyed(
    handraise: Service, agent: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Collected and acknowledged without the model doing anything; a later call says why there is nothing left."""
    monkeypatch.setattr(acknowledgements, "GRACE_SECONDS", 0.1)
    call = asking(agent, "otp", secret=True)
    await handraise.waiting()
    await answered(handraise, "otp", text="012345")
    result = await call
    assert (structured(result)["text"], structured(result)["outcome"]) == ("012345", "answered")

    await acknowledged(handraise, "otp")
    again = await asking(agent, "otp", secret=True)
    assert again.is_error
    assert "acknowledged" in words(again)
    assert "another unique_id" in words(again)
    assert "012345" not in words(again)


@newest_only
async def test_a_code_that_did_not_arrive_comes_again(handraise: Service, agent: Client) -> None:
    """Whatever was collected for this key is handed over again for as long as it is kept."""
    request = await handraise.ask(unique_id="otp", secret=True)
    await answered(handraise, "otp", text="012345")
    lost = {"receipt": receipt(key_of(handraise.agent), request["id"])}
    assert (await handraise.agent.post("/api/requests/otp/collect", json=lost)).status_code == 200
    result = await agent.call_tool("check_human_feedback", {"unique_id": "otp"})
    assert structured(result)["text"] == "012345"


async def test_a_code_reaches_a_call_beside_one_that_was_given_up(handraise: Service, url: str, mode: str) -> None:
    """Both get it: whoever does not read any more has not used it up."""
    async with (
        connected(url, key_of(handraise.agent), mode) as agent,
        connected(url, key_of(handraise.agent), mode) as again,
    ):
        calls = [asking(client, "otp", secret=True) for client in (agent, again)]
        await handraise.waiting(2)
        await answered(handraise, "otp", text="012345")
        results = await asyncio.gather(*calls)
        assert [structured(result)["text"] for result in results] == ["012345", "012345"]
        assert structured(await asking(again, "otp", secret=True))["text"] == "012345"


@newest_only
async def test_a_secret_form_comes_as_data(handraise: Service, agent: Client) -> None:
    """The outcome too is that of the sealed answer."""
    call = asking(agent, "otp", secret=True, request_type="approval")
    await handraise.waiting()
    await answered(handraise, "otp", data={"approved": False, "note": "hush"})
    result = structured(await call)
    assert (result["outcome"], result["data"]) == ("rejected", {"approved": False, "note": "hush"})


# -- many calls, replicas, stops


async def test_fifty_calls_each_get_their_own_answer(handraise: Service, agent: Client) -> None:
    """At the same time, over one client."""
    calls = [asking(agent, f"q{number}") for number in range(50)]
    await handraise.waiting(50)
    await asyncio.gather(*(answered(handraise, f"q{number}", text=f"answer {number}") for number in range(50)))
    results = await asyncio.gather(*calls)
    assert [structured(result)["text"] for result in results] == [f"answer {number}" for number in range(50)]


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.chaos)])
async def test_ended_calls_leave_nothing_behind_and_cancel_nothing(
    handraise: Service, url: str, mode: str, count: int
) -> None:
    """Neither a task, nor a wait, nor a connection; each request is still open."""
    first = await dropped(url, key_of(handraise.agent), "first", mode)
    await handraise.waiting()
    first.transport.abort()
    await eventually(lambda: len(handraise.app.waits) == 0, "the first has gone")
    await asyncio.sleep(0.2)
    before = len(asyncio.all_tasks())
    writers = [await dropped(url, key_of(handraise.agent), f"q{number}", mode) for number in range(count)]
    await handraise.waiting(count)
    for writer in writers:
        writer.transport.abort()
    await eventually(lambda: len(handraise.app.waits) == 0, "all waits have ended")
    await eventually(lambda: len(asyncio.all_tasks()) <= before + 5, "their tasks have ended")
    request_ids = [f"q{number}" for number in range(count)]
    assert {(await shown(handraise, id))["status"] for id in request_ids} == {"Requested"}


async def test_a_call_that_its_client_ends_is_over(handraise: Service, url: str, mode: str) -> None:
    """However the protocol says it; the request, and the calls of others, go on."""
    async with connected(url, key_of(handraise.agent), mode) as agent:
        calls = [asking(agent, f"q{number}") for number in range(3)]
        await handraise.waiting(3)
        calls[1].cancel()
        await eventually(lambda: len(handraise.app.waits) == 2, "its wait has ended")
        for number in (0, 2):
            await answered(handraise, f"q{number}", text="yes")
            assert structured(await calls[number])["text"] == "yes"
        assert (await shown(handraise, "q1"))["status"] == "Requested"


async def test_a_call_that_may_be_another_clients_is_not_ended(handraise: Service, url: str) -> None:
    """Two clients with one key number their calls alike."""
    key = key_of(handraise.agent)
    async with connected(url, key, LEGACY) as agent, connected(url, key, LEGACY) as other:
        calls = asking(agent, "q0"), asking(other, "q1")
        await handraise.waiting(2)
        calls[0].cancel()
        await asyncio.sleep(0.3)
        assert len(handraise.app.waits) == 2
        await answered(handraise, "q1", text="yes")
        assert structured(await calls[1])["text"] == "yes"


async def test_any_replica_takes_any_call(database: str, tmp_path: Path, mode: str) -> None:
    """Asked through one, answered through the other, repeated there."""
    async with (
        service(database, tmp_path / "data") as one,
        service(database, tmp_path / "data") as other,
        served(one.app) as here,
        served(other.app) as there,
        connected(here, key_of(one.agent), mode) as agent,
        connected(there, key_of(one.agent), mode) as elsewhere,
    ):
        call = asking(agent, "q")
        await one.waiting()
        again = asking(elsewhere, "q")
        await other.waiting()
        await answered(other, "q", text="yes")
        for result in await asyncio.gather(call, again):
            assert structured(result)["text"] == "yes"
        assert structured(await asking(elsewhere, "q"))["text"] == "yes"


async def test_a_server_that_stops_lets_its_calls_go(handraise: Service, url: str, mode: str) -> None:
    """With `open`, at once: the caller goes on at another replica or after the restart."""
    async with connected(url, key_of(handraise.agent), mode) as agent:
        call = asking(agent, "q")
        await handraise.waiting()
        handraise.app.let_go()
        async with asyncio.timeout(10):
            assert structured(await call)["outcome"] == "open"
    assert (await shown(handraise, "q"))["status"] == "Requested"


# -- who may call


async def post(url: str, key: str | None, mode: str = MODERN, **headers: str) -> httpx.Response:
    sent, body = message("tools/list", {}, mode)
    authorization = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.post(f"{url}/mcp", json=body, headers=sent | authorization | headers)


async def test_only_agents_keys_may_call(handraise: Service, url: str, mode: str) -> None:
    """No or a wrong key: 401 as everywhere; a person's: 403, whatever their role."""
    assert (await post(url, key_of(handraise.agent), mode)).status_code == 200
    for key in (None, "hr_wrong"):
        refused = await post(url, key, mode)
        assert refused.status_code == 401
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.headers["www-authenticate"].startswith("Bearer")
    member = await handraise.person("alice")
    for person in (handraise.admin, member):
        refused = await post(url, key_of(person), mode)
        assert (refused.status_code, refused.json()["status"]) == (403, 403)


async def test_a_key_revoked_during_the_wait_gets_no_answer(handraise: Service, url: str, mode: str) -> None:
    """Though the call began while it was good."""
    other = await handraise.another_agent("other")
    async with connected(url, key_of(other), mode) as agent:
        call = asking(agent, "q")
        await handraise.waiting()
        keys = (await handraise.admin.get("/api/keys")).json()["items"]
        (id,) = [found["id"] for found in keys if found.get("agent") == "other"]
        assert (await handraise.admin.delete(f"/api/keys/{id}")).status_code == 200
        response = await handraise.admin.post("/api/requests/q/respond", json={"text": "yes"})
        assert response.status_code == 200
        result = await call
    assert result.is_error
    assert "revoked" in words(result)


async def test_hosts_bodies_and_methods_are_limited_as_elsewhere(handraise: Service, url: str) -> None:
    """By the same checks, with problem documents."""
    key = key_of(handraise.agent)
    assert (await post(url, key, Host="elsewhere.test")).status_code == 400
    assert (await post(url, key, Origin="https://elsewhere.test")).status_code == 200  # a key is no cookie
    async with httpx.AsyncClient(trust_env=False, headers={"Authorization": f"Bearer {key}"}) as http:
        large = await http.post(f"{url}/mcp", content=b" " * (2 * 1024 * 1024 + 1))
        assert (large.status_code, large.headers["content-type"]) == (413, "application/problem+json")
        for method in ("GET", "DELETE", "PUT"):
            refused = await http.request(method, f"{url}/mcp")
            assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


async def test_nonsense_is_never_a_failure_of_the_server(handraise: Service, url: str, mode: str) -> None:
    """Bodies and headers that make no sense are the caller's fault."""
    headers, good = message("tools/call", {"name": "human_feedback", "arguments": {}}, mode)
    bodies = [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b"{" * 100_000,
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}',
        *(
            json.dumps(good | {"params": params}).encode()
            for params in (
                [],
                {"name": 1},
                {"name": "human_feedback", "arguments": []},
                {"name": "\ud800", "arguments": {}},
                good["params"] | {"name": "none"},
                good["params"] | {"arguments": {"\ud800": float("nan"), "timeout_seconds": float("nan")}},
                good["params"] | {"arguments": {"unique_id": "q", "message_for_user": "\ud800"}},
                good["params"] | {"_meta": []},
                good["params"] | {"_meta": good["params"].get("_meta", {}) | {"progressToken": [1]}},
            )
        ),
        json.dumps(good).encode().replace(b'"arguments": {}', b'"arguments": {"priority": ' + b"9" * 5000 + b"}"),
    ]
    async with httpx.AsyncClient(
        trust_env=False, headers=headers | {"Authorization": f"Bearer {key_of(handraise.agent)}"}, timeout=30
    ) as http:
        for body in bodies:
            assert (await http.post(f"{url}/mcp", content=body)).status_code < 500, body[:200]
        for wrong in ({"Accept": "text/html"}, {"Content-Type": "text/plain"}, {"MCP-Protocol-Version": "7"}):
            assert (await http.post(f"{url}/mcp", json=good, headers=wrong)).status_code < 500, wrong
    assert (await handraise.agent.get("/api/requests")).json()["items"] == []


@newest_only
async def test_an_unknown_tool_is_an_error_of_the_protocol(agent: Client) -> None:
    """It names those that there are."""
    with pytest.raises(MCPError, match="human_feedback, check_human_feedback"):
        await agent.call_tool("ask_human", {})


# -- over standard input and output


@asynccontextmanager
async def program(url: str, key: str, mode: str = MODERN) -> AsyncIterator[Client]:
    """`handraise mcp`, started by the official client."""
    parameters = StdioServerParameters(
        command=HANDRAISE[0],
        args=[*HANDRAISE[1:], "mcp"],
        cwd=ROOT,
        env=clean_environment()
        | {"HANDRAISE_URL": url, "HANDRAISE_API_KEY": key, "HANDRAISE_MCP_PROGRESS_SECONDS": "0.05"},
    )
    async with Client(stdio_client(parameters, errlog=sys.stderr), mode=mode) as client:
        yield client


async def test_the_program_does_the_same_over_stdio(handraise: Service, url: str, mode: str) -> None:
    """Answers, progress, secrets, refusals, cancelling, and ending a call."""
    told: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with program(url, key_of(handraise.agent), mode) as agent:
        assert {tool.name for tool in (await agent.list_tools()).tools} == set(DEFINITIONS)
        arguments = {"message_for_user": "Code?", "unique_id": "form", "response_schema": json.dumps(P7)}
        call = asyncio.create_task(agent.call_tool("human_feedback", arguments, progress_callback=on_progress))
        await eventually(lambda: len(told) >= 3, "progress is reported")
        await answered(handraise, "form", text="012345")
        assert structured(await call)["data"] == {"code": "012345"}
        assert told == sorted(set(told))

        ended = asking(agent, "ended")
        secret = asking(agent, "otp", secret=True)
        await handraise.waiting(2)
        ended.cancel()
        await answered(handraise, "otp", text="738291")
        assert structured(await secret)["text"] == "738291"
        assert (await shown(handraise, "ended"))["status"] == "Requested"
        assert structured(await agent.call_tool("cancel_human_feedback", {"unique_id": "ended"}))["by"] == "default"

        assert (await asking(agent, "q", timeout_seconds="600")).is_error
        assert (await asking(agent, "form")).is_error
        expired = await asking(agent, "late", expires_in_seconds=0.2)
        assert structured(expired)["outcome"] == "expired"

        await acknowledged(handraise, "form")
        if mode == MODERN:  # after a while: once is enough
            await acknowledged(handraise, "otp")


async def test_the_program_says_what_is_wrong_with_its_key(handraise: Service, url: str) -> None:
    """In a result that the model can read; the program goes on."""
    async with program(url, "hr_wrong") as agent:
        for _ in range(2):
            result = await asking(agent, "q")
            assert result.is_error
            assert words(result) == "this key is unknown, expired or revoked"
