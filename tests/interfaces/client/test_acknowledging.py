"""Answers that were used are acknowledged, on the side: nobody waits for that, and nothing of it can go wrong."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from handraise import AsyncClient, Client, InvalidAnswer, Rejected, requires_approval
from handraise.testing import People
from pydantic import BaseModel, Field

from tests.support.processes import ServerProcess, clean_environment


class Plan(BaseModel):
    """A form that takes fewer than its JSON Schema says."""

    seats: int = Field(json_schema_extra={"maximum": 9}, default=1, lt=5)


@pytest.fixture
def admin(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url, server.admin_key) as client:
        yield client


def answered(admin: Client, agent: Client, name: str) -> None:
    """There is an answer to this question already."""
    admin.respond(agent.create("Why?", unique_id=name)["id"], text="because")


def acknowledged(client: Client, name: str) -> bool:
    response = client.get(name)["response"]
    assert response is not None
    return response["acknowledged_at"] is not None


def test_asking_acknowledges_before_the_client_is_closed(server: ServerProcess, admin: Client) -> None:
    """Whoever creates and waits, and thus does the rest by hand, says so by hand; repeating it adds nothing."""
    with Client(server.url, server.agent_key) as agent:
        answered(admin, agent, "asked")
        answered(admin, agent, "by hand")
        with Client(server.url, server.agent_key) as asking:
            assert asking.ask("Why?", unique_id="asked").text == "because"
        assert acknowledged(agent, "asked")
        agent.wait("by hand")
        assert not acknowledged(agent, "by hand")
        agent.acknowledge("by hand")
        with Client(server.url, server.agent_key) as asking:
            asking.acknowledge_soon("by hand")
        types = [event["type"] for event in agent.history("by hand")]
        assert types == ["Requested", "Responded", "Acknowledged"]


async def test_asking_under_asyncio_acknowledges_before_the_client_is_closed(
    server: ServerProcess, admin: Client
) -> None:
    """All of many."""
    names = [f"async {number}" for number in range(12)]
    with Client(server.url, server.agent_key) as agent:
        for name in names:
            answered(admin, agent, name)
        async with AsyncClient(server.url, server.agent_key) as asking:
            await asyncio.gather(*(asking.ask("Why?", unique_id=name) for name in names))
        assert all(acknowledged(agent, name) for name in names)


def test_a_process_that_ends_acknowledges_first(server: ServerProcess, admin: Client) -> None:
    """Although nobody closed its client."""
    with Client(server.url, server.agent_key) as agent:
        answered(admin, agent, "exit")
        program = "import handraise; print(handraise.Client().ask('Why?', unique_id='exit').text)"
        environment = clean_environment() | {"HANDRAISE_URL": server.url, "HANDRAISE_API_KEY": server.agent_key}
        arguments = [sys.executable, "-c", program]
        assert subprocess.run(arguments, env=environment, capture_output=True, text=True).stdout == "because\n"
        assert acknowledged(agent, "exit")


# -- servers in memory


class Lossy:
    """The stand-in's people, behind a server that answers acknowledgements otherwise."""

    def __init__(self, acknowledge: Callable[[httpx.Request], httpx.Response]) -> None:
        self.people = People({"Why?": "because"})
        self.acknowledge = acknowledge
        self.tried = 0

    def __call__(self, sent: httpx.Request) -> httpx.Response:
        if sent.url.path.endswith("/acknowledge"):
            self.tried += 1
            return self.acknowledge(sent)
        response = self.people.stand_in.transport.handler(sent)
        assert isinstance(response, httpx.Response)
        return response

    def client(self) -> Client:
        return Client("http://people.test", "hr_test", transport=httpx.MockTransport(self))

    def async_client(self) -> AsyncClient:
        return AsyncClient("http://people.test", "hr_test", transport=httpx.MockTransport(self))


def asides() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "asides" in thread.name]


def test_the_answer_does_not_wait_for_its_acknowledgement() -> None:
    """It is returned while the server still thinks about that; closing the client waits for it, and no thread stays."""
    returned = threading.Event()

    def slow(sent: httpx.Request) -> httpx.Response:
        assert returned.wait(60)
        return httpx.Response(200, json={"position": 3})

    server = Lossy(slow)
    with server.client() as client:
        assert client.ask("Why?").text == "because"
        returned.set()
    assert (server.tried, asides()) == (1, [])


async def test_the_answer_does_not_wait_for_its_acknowledgement_under_asyncio() -> None:
    """The same; and no task stays, also where the server never answers."""
    returned = asyncio.Event()

    async def slow(sent: httpx.Request) -> httpx.Response:
        if sent.url.path.endswith("/acknowledge"):
            await returned.wait()
        return server(sent)

    server = Lossy(lambda sent: httpx.Response(200, json={"position": 3}))
    async with AsyncClient("http://people.test", "hr_test", transport=httpx.MockTransport(slow)) as client:
        assert (await client.ask("Why?")).text == "because"
        returned.set()
    assert server.tried == 1
    assert {task.get_name() for task in asyncio.all_tasks()}.isdisjoint({"handraise aside"})


def refused(status: int) -> Callable[[httpx.Request], httpx.Response]:
    return lambda sent: httpx.Response(status, json={"detail": "refused"})


def lost(sent: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("gone", request=sent)


def broken(sent: httpx.Request) -> httpx.Response:
    raise RuntimeError("whatever")


@pytest.mark.parametrize("acknowledge", [refused(404), refused(409), refused(422), lost, broken])
async def test_an_older_or_a_lost_server_breaks_nothing(acknowledge: Callable[[httpx.Request], httpx.Response]) -> None:
    """Whatever it says to acknowledgements, answers come, one after the other."""
    server = Lossy(acknowledge)
    with server.client() as client:
        assert [client.ask("Why?").text for _ in range(2)] == ["because"] * 2
    async with server.async_client() as client:
        assert [(await client.ask("Why?")).text for _ in range(2)] == ["because"] * 2
    assert server.tried >= 3
    assert asides() == []


# -- what counts as used


def of(people: People, number: int = 0) -> str | None:
    """When the answer to a request was acknowledged."""
    response = people.asked[number]["response"]
    assert response is not None
    return response["acknowledged_at"]


def test_an_answer_that_could_not_be_used_is_not_acknowledged() -> None:
    """A form is acknowledged once it is one; every other answer as soon as it is there."""
    people = People({"Plan?": [{"seats": 7}, {"seats": 2}], "Sure?": False, "Which?": "b", "Good?": "too long"})
    client = people.client()
    with pytest.raises(InvalidAnswer):
        client.form("Plan?", Plan)
    client.form("Plan?", Plan)
    client.form("Plan?", {"type": "object"})
    client.confirm("Sure?")
    client.choose("Which?", ["a", "b"])
    client.review("Good?")
    assert [of(people, number) is not None for number in range(6)] == [False, True, True, True, True, True]


async def test_an_approval_is_acknowledged_once_the_function_has_run() -> None:
    """However it ended; a refusal at once."""
    people = People({"Go?": True, "Never?": False})
    seen: list[str | None] = []

    def note(result: Any) -> Any:
        seen.append(of(people, len(seen)))
        if isinstance(result, Exception):
            raise result
        return result

    async def note_later(result: int) -> int:
        return note(result)

    run = requires_approval("Go?", client=people.client(), hide=["result"])(note)
    assert run(1) == 1
    with pytest.raises(ValueError, match="in vain"):
        run(ValueError("in vain"))
    assert await requires_approval("Go?", client=people.async_client())(note_later)(2) == 2
    assert seen == [None, None, None]
    with pytest.raises(Rejected):
        requires_approval("Never?", client=people.client(), hide=["result"])(note)(3)
    assert [of(people, number) is not None for number in range(4)] == [True] * 4
