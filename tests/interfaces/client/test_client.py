"""The client library: against a real server, and against one that fails in every way a server can."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import handraise
import httpx
import pytest
from handraise import Client, HandraiseError, Unreachable

from tests.support.processes import ServerProcess

Reply = httpx.Response | Exception


@pytest.fixture
def agent(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url, server.agent_key) as client:
        yield client


@pytest.fixture
def admin(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url, server.admin_key, via="cli") as client:
        yield client


class Scripted(httpx.BaseTransport):
    """A server that gives these replies in turn, the last one for ever; it notes what it was sent."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, Exception):
            raise reply
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]


def scripted(*replies: Reply, **options: Any) -> tuple[Client, Scripted]:
    transport = Scripted(*replies)
    return Client("http://scripted.test", "hr_key", transport=transport, **options), transport


def open_request(**fields: Any) -> httpx.Response:
    return httpx.Response(200, json={"id": "1", "status": "Requested"} | fields)


# -- against a real server


def test_ask_answer_and_read_back(agent: Client, admin: Client) -> None:
    """Create, respond, wait, history: and the same question again is the same request."""
    asked = agent.create("Deploy?", unique_id="a b#?é", request_type="approval", priority=3, run_id="r1")
    assert (asked["status"], asked["priority"], asked["run_id"]) == ("Requested", 3, "r1")
    assert agent.create("Deploy?", unique_id="a b#?é", request_type="approval")["id"] == asked["id"]
    admin.respond(asked["id"], data={"approved": True, "note": "go"})
    closed = agent.wait("a b#?é")
    assert closed["response"] is not None
    assert (closed["response"]["data"], closed["response"]["via"]) == ({"approved": True, "note": "go"}, "cli")
    assert agent.get(asked["id"]) == closed
    assert [event["type"] for event in agent.history(asked["id"])] == ["Requested", "Responded"]


def test_submit_understands_text_and_cancel_withdraws(agent: Client, admin: Client) -> None:
    """A person's text for a form of one number; a request that is not needed any more."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    agent.create("How many?", unique_id="how many", response_schema=schema)
    assert admin.submit("how many", "12", agent="default") > 0
    found = agent.get("how many")["response"]
    assert found is not None
    assert found["data"] == {"n": 12}
    agent.create("Never mind", unique_id="never mind")
    cancelled = agent.cancel("never mind", "changed my mind")
    assert (cancelled["status"], cancelled["cancelled"]) == (
        "Cancelled",
        {"by": "default", "reason": "changed my mind", "at": cancelled["closed_at"]},
    )


def test_a_sealed_answer_is_collected_with_one_receipt(agent: Client, admin: Client) -> None:
    """The same receipt gets it again, another one does not, and after the acknowledgement nobody does."""
    asked = agent.create("Code?", secret=True)
    admin.respond(asked["id"], text="0042")
    collected = agent.collect(asked["id"])
    assert (collected["outcome"], collected["text"], collected["data"]) == ("answered", "0042", None)
    assert agent.collect(asked["id"], collected["receipt"]) == collected
    with pytest.raises(HandraiseError) as refused:
        agent.collect(asked["id"])
    assert refused.value.status == 410
    agent.acknowledge(asked["id"], collected["receipt"])
    with pytest.raises(HandraiseError, match="collected and acknowledged"):
        agent.collect(asked["id"], collected["receipt"])


def test_a_refusal_carries_the_problem(agent: Client, admin: Client) -> None:
    """Status, title, detail, the fields that failed, and how the request ended."""
    with pytest.raises(HandraiseError) as invalid:
        agent.create(" ", priority=500, unique_id="lone \ud800 surrogate")
    assert (invalid.value.status, invalid.value.title) == (422, "Invalid input")
    assert {error["path"] for error in invalid.value.errors} >= {"priority"}
    asked = agent.create("Taken?")
    admin.respond(asked["id"], text="yes")
    with pytest.raises(HandraiseError, match=r"was answered at .* by admin") as closed:
        admin.respond(asked["id"], text="no")
    assert closed.value.request is not None
    assert (closed.value.status, closed.value.request["by"]) == (409, "admin")
    with pytest.raises(HandraiseError, match="an agent can never answer"):
        agent.respond(asked["id"], text="yes")


def test_the_directory(admin: Client, server: ServerProcess) -> None:
    """People, agents and keys are added and listed, over pages too; a revoked key is refused."""
    assert admin.add_user("Zoë", role="member", email=None)["id"] == "zoe"
    assert admin.add_agent("Robot", owner="zoe")["id"] == "robot"
    made = admin.create_key("robot's", agent="robot")
    assert {"zoe", "admin"} <= {user["id"] for user in admin.users()}
    assert {"default", "robot"} <= {agent["id"] for agent in admin.agents()}
    with Client(server.url, f" {made['key']}\n") as robot:
        assert robot.create("Hello?")["agent"] == "robot"
        admin.revoke_key(made["id"])
        keys = admin.keys()
        assert [key["revoked"] for key in keys if key["id"] == made["id"]] == [True]
        with pytest.raises(HandraiseError) as refused:
            robot.create("Hello?")
    assert refused.value.status == 401


def test_a_wait_ends_when_its_time_is_up(agent: Client) -> None:
    """With the request as it stands."""
    asked = agent.create("Anybody?")
    began = time.monotonic()
    assert agent.wait(asked["id"], 0.4, poll_seconds=0.1)["status"] == "Requested"
    assert 0.4 <= time.monotonic() - began < 10


def test_a_wait_outlives_restarts_of_the_server(server: ServerProcess, agent: Client) -> None:
    """The old server ends the wait with the open request; it goes on with the new one and returns the answer."""
    asked = agent.create("Still there?", unique_id="restart")
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(agent.wait("restart")), daemon=True)
    waiting.start()
    server.until_waiting()
    server.restart()
    server.until_waiting()
    with Client(server.url, server.admin_key) as admin:
        admin.respond(asked["id"], text="yes")
    waiting.join(60)
    assert [request["response"]["text"] for request in found] == ["yes"]


# -- against servers that fail


def test_what_is_safe_to_repeat_is_repeated_until_it_is_answered() -> None:
    """Lost connections and overload: the same body each time, so nothing is asked twice."""
    client, server = scripted(
        httpx.ConnectError("refused"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("closed in the middle"),
        httpx.Response(503, json={"detail": "busy"}),
        httpx.Response(502, text="<html>"),
        open_request(),
    )
    assert client.create("Once?")["id"] == "1"
    assert len(server.requests) == 6
    assert len({body["unique_id"] for body in server.bodies}) == 1


def test_one_receipt_for_all_attempts_to_collect() -> None:
    """A lost response must not lose the answer."""
    answer = httpx.Response(200, json={"outcome": "answered", "text": "x", "data": None, "position": 1})
    client, server = scripted(httpx.ReadError("reset"), answer)
    collected = client.collect("1")
    assert {body["receipt"] for body in server.bodies} == {collected["receipt"]}
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "attempts"),
    [(httpx.ReadError("reset"), 1), (httpx.Response(502, text="lost?"), 1), (httpx.ConnectError("refused"), 2)],
)
def test_what_could_happen_twice_is_repeated_only_if_it_never_happened(reply: Reply, attempts: int) -> None:
    """A second key or person must not come from a lost response."""
    client, server = scripted(reply, httpx.Response(201, json={"id": "k", "key": "hr_x", "position": 1}))
    if attempts == 1:
        with pytest.raises(HandraiseError):
            client.create_key("k", agent="a")
    else:
        client.create_key("k", agent="a")
    assert len(server.requests) == attempts


def test_retry_after_is_honoured() -> None:
    """No attempt before the time that the server asked for, in seconds or as a date."""
    client, _ = scripted(httpx.Response(429, headers={"Retry-After": "1"}), open_request())
    began = time.monotonic()
    client.get("1")
    assert time.monotonic() - began >= 1
    client, server = scripted(httpx.Response(503, headers={"Retry-After": "3600"}), patience_seconds=5)
    began = time.monotonic()
    with pytest.raises(HandraiseError) as refused:
        client.get("1")
    assert (refused.value.status, len(server.requests)) == (503, 1)
    assert time.monotonic() - began < 5


def test_patience_ends() -> None:
    """With the last reason; at once where no patience is wanted for a server that is not there."""
    client, server = scripted(httpx.ConnectError("Connection refused"), connect_patience_seconds=0)
    with pytest.raises(Unreachable, match=r"cannot reach http://scripted.test: Connection refused") as gone:
        client.create("Hello?")
    assert (len(server.requests), gone.value.status) == (1, None)
    client, server = scripted(httpx.ReadTimeout("slow"), patience_seconds=0.5)
    with pytest.raises(Unreachable, match="did not answer in time"):
        client.get("1")
    assert len(server.requests) > 1


def test_a_wait_whose_server_returns_early_does_not_spin() -> None:
    """A server on its way down ends waits at once: the client comes back slower and slower."""
    client, server = scripted(open_request())
    assert client.wait("1", 1.5)["status"] == "Requested"
    assert 2 <= len(server.requests) < 15


def test_a_wait_asks_for_no_more_than_is_left() -> None:
    """Each poll is as long as allowed, the last one as long as is left."""
    client, server = scripted(httpx.ConnectError("refused"), open_request(status="Expired"))
    client.wait("1", 3, poll_seconds=10)
    polls = [float(request.url.params["timeout_seconds"]) for request in server.requests]
    assert polls == [3, 3]
    client, server = scripted(open_request(status="Expired"))
    client.wait("1", None, poll_seconds=10)
    assert server.requests[0].url.params["timeout_seconds"] == "10.000"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (httpx.Response(200, text="<html>hello"), "is no Handraise server"),
        (httpx.Response(404, text="nothing here"), "http://scripted.test/api/requests/1 answered 404 Not Found"),
        (httpx.Response(301, headers={"Location": "http://elsewhere.test"}), "answered 301"),
        (httpx.Response(400, json=["no", "problem"]), "answered 400 Bad Request"),
    ],
)
def test_another_server_is_told_from_ours(reply: httpx.Response, said: str) -> None:
    """Its answer is an error that names the address."""
    client, _ = scripted(reply)
    with pytest.raises(HandraiseError, match=said):
        client.get("1")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Client("localhost:8000"),
        lambda: Client("ftp://host"),
        lambda: Client("http://"),
        lambda: Client("http://host", "hr_\nInjected: header"),
        lambda: Client("http://host", "hr_ü"),
    ],
)
def test_an_address_or_key_that_cannot_be_is_refused_at_once(make: Callable[[], Client]) -> None:
    """Before anything is sent, and without showing the key."""
    with pytest.raises(ValueError, match=r"address of a server|characters that no key has") as refused:
        make()
    assert "hr_" not in str(refused.value)


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """HANDRAISE_URL and HANDRAISE_API_KEY, where no arguments are given."""
    monkeypatch.setenv("HANDRAISE_URL", "https://ask.example.com/base/")
    monkeypatch.setenv("HANDRAISE_API_KEY", "hr_env")
    transport = Scripted(open_request())
    Client(transport=transport).get("x/../y")
    sent = transport.requests[0]
    assert str(sent.url) == "https://ask.example.com/base/api/requests/x%2F..%2Fy"
    assert sent.headers["Authorization"] == "Bearer hr_env"


def test_it_needs_little() -> None:
    """A light distribution: it is installed beside an agent's own dependencies. Adapters need what they adapt to."""
    folder = Path(__file__).parents[3] / "interfaces" / "client" / "handraise"
    imported = {
        line.split()[1].split(".")[0]
        for file in folder.glob("*.py")
        if file.stem not in ("langgraph", "openai_agents", "pydantic_ai")
        for line in map(str.strip, file.read_text().splitlines())
        if re.match(r"import \w+(\.\w+)*$|from [\w.]+ import ", line)
    }
    assert imported - sys.stdlib_module_names == {"handraise", "httpx", "pydantic", "pydantic_core"}


def test_what_only_some_need_is_loaded_by_them() -> None:
    """Commands use the client too: asyncio, pydantic and sqlite3 would make each of them slower."""
    program = "import handraise, sys; print({'asyncio', 'pydantic', 'sqlite3'} & sys.modules.keys())"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout == "set()\n"
    assert all(hasattr(handraise, name) for name in handraise.__all__)
