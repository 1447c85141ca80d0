"""Asking and going on with the answer: from blocking code and asyncio, of a real server and of the stand-in for it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import httpx
import pytest
from handraise import (
    Answer,
    AsyncClient,
    Cancelled,
    Choice,
    Client,
    Confirmation,
    Erased,
    Expired,
    HandraiseError,
    InvalidAnswer,
    Review,
    StillOpen,
    run,
)
from handraise.testing import Cancels, Expires, People, Reply, Unanswered, answers
from pydantic import BaseModel, SecretStr, field_validator

from tests.support.processes import ServerProcess


class Plan(BaseModel):
    """A form, with a rule that its JSON Schema cannot say."""

    name: str
    seats: int = 1
    until: date | None = None

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name == "Gold":
            raise ValueError("Gold is sold out")
        return name


class Login(BaseModel):
    """A form with a password."""

    password: SecretStr


@pytest.fixture
def admin(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url, server.admin_key) as client:
        yield client


Ask = Callable[..., Any]
"""Calls a method of a client by its name."""


@dataclass
class World:
    """People who answer by a script, and a way to ask them; `name` is used nowhere else."""

    script: dict[str, Reply]
    ask: Ask
    name: str = field(default_factory=lambda: str(uuid.uuid4()))


@pytest.fixture(params=["server", "stand-in"])
def people(request: pytest.FixtureRequest) -> Iterator[tuple[dict[str, Reply], str, str]]:
    """A script to fill in; and where and as whom to ask."""
    script: dict[str, Reply] = {}
    if request.param == "stand-in":
        with answers(script):
            yield script, "http://people.test", "hr_test"
        return
    server: ServerProcess = request.getfixturevalue("server")
    with answering(server, script):
        yield script, server.url, server.agent_key


@pytest.fixture(params=["blocking", "asyncio"])
def world(request: pytest.FixtureRequest, people: tuple[dict[str, Reply], str, str]) -> World:
    """The same people, asked in both ways."""
    script, url, key = people

    def blocking(method: str, *args: Any, **options: Any) -> Any:
        with Client(url, key) as client:
            return getattr(client, method)(*args, **options)

    def under_asyncio(method: str, *args: Any, **options: Any) -> Any:
        async def ask() -> Any:
            async with AsyncClient(url, key) as client:
                return await getattr(client, method)(*args, **options)

        return asyncio.run(ask())

    return World(script, blocking if request.param == "blocking" else under_asyncio)


@contextlib.contextmanager
def answering(server: ServerProcess, script: Mapping[str, Reply]) -> Iterator[None]:
    """A person at the server who answers by the script, as it stands when the question comes."""
    done = threading.Event()

    def answer() -> None:
        with Client(server.url, server.admin_key) as admin:
            while not done.wait(0.02):
                for item in admin.inbox():
                    # The inbox may be a moment behind.
                    if item["summary"] in script and admin.get(item["id"])["status"] == "Requested":
                        respond(admin, item, script[item["summary"]])

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def respond(admin: Client, item: Mapping[str, Any], reply: Reply) -> None:
    if isinstance(reply, bool) and item["kind"] == "review":
        reply = "Approve" if reply else "Reject"
    if isinstance(reply, Cancels):
        admin.cancel(item["id"], reply.reason)
    elif isinstance(reply, bool):
        admin.respond(item["id"], data={"approved": reply})
    elif isinstance(reply, str):
        admin.respond(item["id"], text=reply)
    elif isinstance(reply, Mapping):
        admin.respond(item["id"], data=reply)


# -- every call, in both ways, of both


def test_every_call_gives_what_the_person_answered(world: World) -> None:
    """Text, yes or no with a note, a review, a choice, a form as a model or as data."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    world.script |= {
        "Why?": "because",
        "Deploy?": {"approved": True, "note": "go"},
        "Delete?": False,
        "Text good?": True,
        "Text better?": "too long",
        "Where?": "Staging",
        "Plan?": {"name": "Basic", "until": "2030-01-31"},
        "How many?": {"n": 3},
        "Password?": {"password": "hunter2"},
    }
    why = world.ask("ask", "Why?", unique_id=world.name)
    assert (why.outcome, why.text, why.data, why.sealed, why.unique_id) == (
        "answered",
        "because",
        None,
        False,
        world.name,
    )
    deploy = world.ask("confirm", "Deploy?")
    assert isinstance(deploy, Confirmation)
    assert (bool(deploy), deploy.note) == (True, "go")
    assert not world.ask("confirm", "Delete?", yes="Delete", no="Keep")
    good, better = world.ask("review", "Text good?"), world.ask("review", "Text better?")
    assert isinstance(good, Review)
    assert (bool(good), good.feedback, bool(better), better.feedback) == (True, None, False, "too long")
    where = world.ask("choose", "Where?", ["Production", "Staging"])
    assert isinstance(where, Choice)
    assert (where.index, where.text) == (1, "Staging")
    assert world.ask("form", "Plan?", Plan) == Plan(name="Basic", until=date(2030, 1, 31))
    assert world.ask("form", "How many?", schema) == {"n": 3}
    assert world.ask("form", "Password?", Login).password.get_secret_value() == "hunter2"


def test_a_secret_is_given_once_and_never_shown(world: World) -> None:
    """It is collected and destroyed; asking again under its name gets none."""
    world.script |= {"Code?": "0042", "Code, please?": "0043"}
    assert world.ask("secret", "Code?", unique_id=f"code-{world.name}") == "0042"
    with pytest.raises(HandraiseError, match="collected and acknowledged") as gone:
        world.ask("secret", "Code?", unique_id=f"code-{world.name}")
    assert gone.value.status == 410
    answer = world.ask("ask", "Code, please?", secret=True)
    assert answer.text == "0043"
    assert "0043" not in repr(answer)


def test_without_an_answer_it_says_why(world: World) -> None:
    """Expired, withdrawn by whom and why, still open, or not what the model takes; with the names of the request."""
    world.script |= {"Old?": Expires(), "New?": Cancels("not needed"), "Ever?": Unanswered(), "Gold?": {"name": "Gold"}}
    with pytest.raises(Expired, match=r"nobody answered .* before it expired"):
        world.ask("ask", "Old?", expires_in_seconds=0.5)
    with pytest.raises(Cancelled, match="not needed") as cancelled:
        world.ask("confirm", "New?")
    assert cancelled.value.reason == "not needed"
    with pytest.raises(StillOpen, match=r"within 0\.2 s.*unique_id='ever") as open_:
        world.ask("choose", "Ever?", ["a", "b"], unique_id=f"ever-{world.name}", wait_seconds=0.2)
    assert open_.value.unique_id == f"ever-{world.name}"
    assert world.ask("get", open_.value.request_id)["status"] == "Requested"
    with pytest.raises(InvalidAnswer, match="name: Value error, Gold is sold out") as invalid:
        world.ask("form", "Gold?", Plan)
    assert [error["path"] for error in invalid.value.errors] == ["name"]


def test_the_same_question_under_the_same_name_is_one_question(world: World) -> None:
    """A restarted agent asks again and gets the answer at once; other content under the name is refused."""
    world.script |= {"Which?": "this", "What?": "that"}
    name = f"which-{world.name}"
    first = world.ask("ask", "Which?", unique_id=name)
    assert world.ask("ask", "Which?", unique_id=name, wait_seconds=0) == first
    with pytest.raises(HandraiseError, match="feedback request already exists") as refused:
        world.ask("ask", "What?", unique_id=name)
    assert refused.value.status == 409


def test_cancelling_and_collecting_by_hand(world: World) -> None:
    """The calls below the questions are there in both ways too."""
    world.script |= {"Withdrawn?": Unanswered(), "Sealed?": "1234"}
    withdrawn = world.ask("create", "Withdrawn?")
    assert world.ask("cancel", withdrawn["id"], "changed my mind")["status"] == "Cancelled"
    assert world.ask("wait", withdrawn["id"])["cancelled"]["reason"] == "changed my mind"
    sealed = world.ask("wait", world.ask("create", "Sealed?", secret=True)["id"])
    collected = world.ask("collect", sealed["id"], "a receipt of mine")
    assert collected == {"outcome": "answered", "text": "1234", "data": None, "receipt": "a receipt of mine"}
    assert world.ask("collect", sealed["id"], "a receipt of mine") == collected
    world.ask("acknowledge", sealed["id"], "a receipt of mine")
    with pytest.raises(HandraiseError) as gone:
        world.ask("collect", sealed["id"], "a receipt of mine")
    assert gone.value.status == 410


# -- a real server that goes away


async def test_an_answer_is_waited_for_through_crashes_of_the_server(server: ServerProcess) -> None:
    """The connection is lost in the middle, the server comes back, and the answer arrives."""
    async with AsyncClient(server.url, server.agent_key) as client:
        asking = asyncio.create_task(client.ask("Still there?", unique_id="crash"))
        await asyncio.to_thread(server.until_waiting)
        await asyncio.to_thread(server.restart, kill=True)
        await asyncio.to_thread(server.until_waiting)
        async with AsyncClient(server.url, server.admin_key) as admin:
            await admin.respond((await client.get("crash"))["id"], text="yes")
        assert (await asking).text == "yes"


async def test_a_wait_that_is_given_up_leaves_the_request_open(server: ServerProcess) -> None:
    """The next agent's process goes on waiting under the same name, and gets the answer."""
    async with AsyncClient(server.url, server.agent_key) as client:
        asking = asyncio.create_task(client.ask("Given up?", unique_id="given up"))
        await asyncio.to_thread(server.until_waiting)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        id = (await client.get("given up"))["id"]
    async with AsyncClient(server.url, server.admin_key) as admin:
        await admin.respond(id, text="no")
    async with AsyncClient(server.url, server.agent_key) as client:
        assert (await client.ask("Given up?", unique_id="given up")).text == "no"


def test_an_erased_answer_is_told_apart(server: ServerProcess, admin: Client) -> None:
    """It is not taken for an empty one."""
    with Client(server.url, server.agent_key) as client:
        asked = client.create("Erase me?", unique_id="erase")
        admin.respond(asked["id"], text="yes")
        admin.erase(asked["id"])
        with pytest.raises((Erased, HandraiseError)):
            client.ask("Erase me?", unique_id="erase")


@pytest.mark.parametrize("waits", [200, pytest.param(2000, marks=pytest.mark.chaos)])
async def test_many_waits_in_one_process_get_their_own_answers(server: ServerProcess, waits: int) -> None:
    """All at the same time, from one client."""
    numbers = range(waits)
    async with AsyncClient(server.url, server.agent_key) as client, AsyncClient(server.url, server.admin_key) as admin:
        asking = [asyncio.create_task(client.ask(f"Number {n}?", unique_id=f"{waits}-{n}")) for n in numbers]
        await asyncio.to_thread(server.until_waiting, waits)
        await asyncio.gather(*(admin.submit(f"{waits}-{n}", f"answer {n}") for n in numbers))
        assert [answer.text for answer in await asyncio.gather(*asking)] == [f"answer {n}" for n in numbers]


# -- without a server


def test_what_was_asked_can_be_looked_at() -> None:
    """The stand-in keeps the requests as the server shows them; the run that goes on is on them."""
    with answers({"Deploy?": [True, False]}) as people:
        client = Client()
        with run("run-1"):
            assert client.confirm("Deploy?", priority=3)
        assert not client.confirm("Deploy?", run_id="run-2")
        assert not client.confirm("Deploy?")
    told = [(asked["message"], asked["priority"], asked["run_id"], asked["status"]) for asked in people.asked]
    assert told == [
        ("Deploy?", 3, "run-1", "Responded"),
        ("Deploy?", 50, "run-2", "Responded"),
        ("Deploy?", 50, None, "Responded"),
    ]


def test_an_answer_that_comes_later() -> None:
    """A test takes up what was still open; nothing waits in real time."""
    people = People({"Later?": Unanswered()})
    client = people.client()
    with pytest.raises(StillOpen, match="within 600 s"):
        client.ask("Later?", unique_id="later")
    people.answer("later", "now")
    assert client.ask("Later?", unique_id="later").text == "now"


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda client: client.ask("Unknown?"), r"'Unknown\?' was asked, and the script answers only: 'A\?', 'B\?'"),
        (lambda client: client.confirm("A?"), r"'text' cannot answer 'A\?', an approval: script True, False"),
        (lambda client: client.choose("A?", ["x", "y"]), r"which takes one of \['x', 'y'\]"),
        (lambda client: client.form("A?", Plan), "a form: script a mapping"),
        (lambda client: client.ask("B?", wait_seconds=None), "is waited for without limit"),
    ],
)
def test_a_script_that_does_not_fit_fails_the_test(ask: Callable[[Client], Any], said: str) -> None:
    """With what was asked and what is scripted, instead of an answer that no person could give."""
    with answers({"A?": "text", "B?": Unanswered()}), pytest.raises(AssertionError, match=said):
        ask(Client())


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (
            lambda client: client.ask("A?", wait_seconds=-1),
            ValueError,
            "wait_seconds is -1: expected seconds from 0 on",
        ),
        (lambda client: client.ask("A?", wait_seconds=float("nan")), ValueError, "wait_seconds is nan"),
        (lambda client: client.choose("A?", "abc"), TypeError, "options is the text 'abc': expected a list of texts"),
        (lambda client: client.form("A?", threading.Lock), TypeError, "no form can be made for"),
        (lambda client: client.ask("A?", wait_second=1), TypeError, "unexpected keyword argument 'wait_second'"),
    ],
)
def test_a_wrong_call_is_refused_before_anybody_is_asked(
    ask: Callable[[Client], Any], error: type[Exception], said: str
) -> None:
    """With the value that was wrong."""
    with answers({"A?": "text"}) as people:
        with pytest.raises(error, match=said):
            ask(Client())
        assert people.asked == []


async def test_an_answer_that_never_arrives_is_not_lost() -> None:
    """A response to `create` that is lost is asked for again under the same name; the receipt stays the same too."""
    people = People({"Code?": "0042"})
    lose = {"POST"}

    def lossy(sent: httpx.Request) -> httpx.Response:
        answer = people.stand_in.transport.handler(sent)
        if sent.method in lose:
            lose.discard(sent.method)
            raise httpx.ReadError("reset", request=sent)
        assert isinstance(answer, httpx.Response)
        return answer

    async with AsyncClient("http://people.test", "hr_test", transport=httpx.MockTransport(lossy)) as client:
        asked = await client.create("Code?", secret=True)
        assert len(people.asked) == 1
        lose.add("POST")
        assert (await client.collect(asked["id"]))["text"] == "0042"


def test_the_methods_tell_what_they_do() -> None:
    """Both clients have every call, documented, with the signature that its users see."""
    names = {name for name in vars(Client) if not name.startswith("_")} - {"close", "export"}
    assert names == {name for name in vars(AsyncClient) if not name.startswith("_")} - {"aclose"}
    for name in names:
        method = getattr(AsyncClient, name)
        assert method.__doc__
        assert "Flow" not in str(method.__signature__), name
        assert next(iter(method.__signature__.parameters)) == "self"


def test_answers_read_well() -> None:
    """For logs: what was answered, by whom, to which request."""
    with answers({"Deploy?": True}):
        answer = Client().ask("Deploy?", request_type="approval", unique_id="deploy")
    assert isinstance(answer, Answer)
    assert repr(answer) == "Answer(approved, text=None, data={'approved': True}, by='alice', unique_id='deploy')"
