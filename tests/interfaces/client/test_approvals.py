"""Functions that run once a person has approved: with what was approved, and never twice."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from handraise import (
    AlreadyRun,
    AsyncClient,
    Client,
    Expired,
    HandraiseError,
    InvalidAnswer,
    Journal,
    MayHaveRun,
    Rejected,
    StillOpen,
    requires_approval,
    run,
)
from handraise.testing import Expires, People, Unanswered, answers
from pydantic import AfterValidator, BaseModel, SecretStr

from tests.support.processes import ServerProcess, clean_environment


def _even(n: int) -> int:
    if n % 2:
        raise ValueError("must be even")
    return n


class Place(BaseModel):
    """Where to."""

    city: str
    floor: int = 0


@dataclass
class Sent:
    """A result that pydantic can keep."""

    to: str


@pytest.fixture
def people() -> Iterator[People]:
    with answers({"Go?": True, "Never?": {"approved": False, "reason": "too dear"}, "Not?": False}) as people:
        yield people


# -- the form


def test_the_person_sees_the_call(people: People) -> None:
    """The name, the beginning of the docstring, and the arguments in a form, filled in; nothing that is hidden."""

    @requires_approval("Go?", hide=["token"], priority=7)
    def deliver(place: Place, items: list[str], token: str, *rest: int, express: bool = False, **notes: str) -> None:
        """Bring it there.

        However far it is.
        """

    deliver(Place(city="Rome"), ["a"], "hr_secret", 1, 2, why="gift")
    (asked,) = people.asked
    assert (asked["request_type"], asked["context"], asked["priority"]) == ("approval", "Bring it there.", 7)
    assert "hr_secret" not in str(asked)
    schema: Any = asked["response_schema"]
    assert (schema["required"], schema["properties"]["approved"]["type"]) == (["approved"], "boolean")
    fields = schema["properties"]["arguments"]["properties"]
    assert {name: field["default"] for name, field in fields.items()} == {
        "place": {"city": "Rome", "floor": 0},
        "items": ["a"],
        "rest": [1, 2],
        "express": False,
        "notes": {"why": "gift"},
    }
    assert fields["place"]["$ref"] == "#/$defs/Place"
    assert set(schema["$defs"]) == {"Place"}
    assert set(schema["properties"]["arguments"]["required"]) == {"place", "items", "rest", "express", "notes"}


def test_the_function_runs_with_what_the_person_made_of_the_arguments() -> None:
    """Changed ones are values of their types; what was not changed is the very object that was given."""
    changed = {"place": {"city": "Oslo", "floor": 2}, "when": None, "rest": [3], "notes": {"a": "b"}, "kept": [1, 2]}
    place, kept, ran = Place(city="Rome"), [1, 2], []

    @requires_approval
    def deliver(place: Place, when: str | None, kept: list[int], *rest: int, **notes: str) -> str:
        ran.append((place, when, kept, rest, notes))
        return "done"

    name = f"{test_the_function_runs_with_what_the_person_made_of_the_arguments.__name__}.deliver"
    with answers({f"May `{name}` run with these arguments?": {"approved": True, "arguments": changed}}):
        assert deliver(place, "now", kept, 1, 2) == "done"
    assert ran == [(Place(city="Oslo", floor=2), None, [1, 2], (3,), {"a": "b"})]
    assert ran[0][2] is kept


async def test_methods_and_coroutine_functions(people: People) -> None:
    """`self` is left alone; a coroutine function stays one."""

    class Shop:
        @requires_approval("Go?")
        async def sell(self, n: int) -> int:
            await asyncio.sleep(0)
            return n + 1

        @requires_approval("Go?")
        def buy(self, n: int) -> int:
            return n - 1

    assert asyncio.iscoroutinefunction(Shop.sell)
    assert (await Shop().sell(1), Shop().buy(1)) == (2, 0)
    assert "self" not in str(people.asked)


def test_a_rejected_call_does_not_run(people: People) -> None:
    """The reason is on the exception, also where none was given."""
    ran: list[int] = []
    never, not_ = requires_approval("Never?")(ran.append), requires_approval("Not?")(ran.append)
    with pytest.raises(Rejected, match="append was refused by alice: too dear") as rejected:
        never(1)
    assert (rejected.value.reason, rejected.value.by) == ("too dear", "alice")
    with pytest.raises(Rejected) as rejected:
        not_(1)
    assert rejected.value.reason is None
    assert ran == []


def test_arguments_that_do_not_fit_do_not_run() -> None:
    """What JSON Schema cannot say is checked before anything is begun."""

    @requires_approval("Go?")
    def double(n: Annotated[int, AfterValidator(_even)]) -> None:
        raise AssertionError("it ran")

    with (
        answers({"Go?": {"approved": True, "arguments": {"n": 3}}}),
        pytest.raises(InvalidAnswer, match="n: Value error, must be even") as invalid,
    ):
        double(2)
    assert [error["path"] for error in invalid.value.errors] == ["n"]


def test_without_an_answer_it_does_not_run() -> None:
    """As for every question; nothing is noted, so that it can run when the answer comes."""
    ran: list[int] = []

    @requires_approval("Go?", wait_seconds=60)
    def note(n: int) -> int:
        ran.append(n)
        return n

    with answers({"Go?": Unanswered()}) as people, run("r"):
        with pytest.raises(StillOpen, match="within 60 s") as open_:
            note(1)
        people.answer(open_.value.unique_id, True)
        assert (note(1), ran) == (1, [1])
    with answers({"Go?": Expires()}), pytest.raises(Expired):
        note(2)


def test_an_argument_that_changes_after_it_was_shown_is_not_run_with() -> None:
    """Nor one that is used up by showing it."""
    ran: list[Any] = []
    items = [1]

    @requires_approval("Go?")
    def use(items: Iterable[int]) -> None:
        ran.append(list(items))

    def approve(_: object) -> bool:
        items.append(2)
        return True

    with answers(approve):
        with pytest.raises(HandraiseError, match=r"argument 'items' of .*use changed after it was shown to alice"):
            use(items)
        with pytest.raises(HandraiseError, match="changed after it was shown"):
            use(iter([1]))
    assert ran == []


def test_two_functions_do_not_share_a_name(people: People) -> None:
    """The result of the one is not that of the other."""

    @requires_approval("Go?", unique_id=lambda: "shared")
    def one() -> int:
        return 1

    @requires_approval("Go?", unique_id=lambda: "shared")
    def two() -> int:
        return 2

    assert one() == 1
    with pytest.raises(HandraiseError, match=r"'shared' is a call of .*one: give .*two another unique_id"):
        two()


class Opaque:
    """Something that is no data."""


def _opaque(x: Opaque) -> None: ...
def _secret(x: SecretStr) -> None: ...
def _any(x: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "argument", "said"),
    [
        (_opaque, Opaque(), "argument 'x' of _opaque cannot be shown to a person: no form can be made for Opaque"),
        (_secret, SecretStr("hunter2"), "argument 'x' of _secret cannot be shown to a person: it is a secret"),
        (_any, Opaque(), "argument 'x' of _any cannot be shown to a person: Unable to serialize"),
        (_any, float("nan"), "argument 'x' of _any cannot be shown to a person: Out of range"),
    ],
)
def test_what_cannot_be_shown_must_be_hidden(people: People, function: Any, argument: Any, said: str) -> None:
    """A person approves what they see: an argument without a form is refused, and nobody is asked."""
    with pytest.raises(TypeError, match=said):
        requires_approval("Go?")(function)(argument)
    assert people.asked == []
    assert requires_approval("Go?", hide=["x"])(function)(argument) is None


def test_a_wrong_use_is_refused_where_it_stands(people: People) -> None:
    """When the function is decorated, not when it is called."""

    def generator() -> Iterator[int]:
        yield 1

    async def coroutine() -> None: ...

    def plain() -> None: ...

    with pytest.raises(TypeError, match="has no parameter 'y' to hide"):
        requires_approval("Go?", hide=["y"])(_any)
    with pytest.raises(TypeError, match="is a generator"):
        requires_approval("Go?")(generator)
    with pytest.raises(TypeError, match="needs an AsyncClient, and got a Client"):
        requires_approval("Go?", client=people.client())(coroutine)
    with pytest.raises(TypeError, match="needs a Client, and got an AsyncClient"):
        requires_approval("Go?", client=people.async_client())(plain)


# -- once


def test_the_same_call_in_the_same_run_runs_once(people: People) -> None:
    """Its result is given again; another run, other arguments, or no run at all make another call."""
    ran: list[int] = []

    @requires_approval("Go?")
    def send(n: int) -> Sent:
        ran.append(n)
        return Sent(str(n))

    with run("one"):
        assert send(1) == send(n=1) == Sent("1")
        assert send(2) == Sent("2")
    with run("two"):
        assert send(1) == Sent("1")
    assert (send(3), send(3)) == (Sent("3"), Sent("3"))
    assert ran == [1, 2, 1, 3, 3]
    assert len(people.asked) == 5


def test_a_name_of_ones_own_makes_the_call_the_same(people: People) -> None:
    """`unique_id` is called with the arguments."""
    ran: list[int] = []

    @requires_approval("Go?", unique_id=lambda n: f"append {n}")
    def append(n: int) -> None:
        ran.append(n)

    append(1)
    append(1)
    assert [asked["unique_id"] for asked in people.asked] == ["append 1"]
    assert ran == [1]


def test_a_call_that_raised_does_not_run_again(people: People) -> None:
    """The exception arrives once; then that it ran, and what it raised."""

    @requires_approval("Go?")
    def fail() -> None:
        raise LookupError("nowhere")

    with run("r"):
        with pytest.raises(LookupError, match="nowhere"):
            fail()
        with pytest.raises(AlreadyRun, match="fail ran before and raised LookupError") as ran:
            fail()
    assert ran.value.raised == "LookupError"


def test_a_result_that_cannot_be_kept(people: People) -> None:
    """It is returned once, and never replaced by something like it."""
    lock = threading.Lock()

    @requires_approval("Go?")
    def make() -> Any:
        return (1, 2), lock

    with run("r"):
        assert make() == ((1, 2), lock)
        with pytest.raises(AlreadyRun, match="its result could not be kept") as ran:
            make()
    assert ran.value.raised is None


async def test_a_cancelled_call_is_one_that_raised(people: People) -> None:
    """It was begun: how far it came is told, and it does not begin again."""
    begun = asyncio.Event()

    @requires_approval("Go?")
    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    with run("r"):
        task = asyncio.create_task(hang())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(AlreadyRun, match="raised CancelledError"):
            await hang()


async def test_twenty_calls_at_once_run_once(people: People) -> None:
    """In threads and in tasks: all get the result of the one that runs."""
    ran: list[str] = []
    together = threading.Barrier(20)

    @requires_approval("Go?", run_id="threads")
    def work() -> int:
        ran.append("thread")
        return len(ran)

    def call(_: int) -> int:
        together.wait()
        return work()

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(call, range(20))) == [1] * 20

    @requires_approval("Go?", run_id="tasks")
    async def work_too() -> int:
        await asyncio.sleep(0.01)
        ran.append("task")
        return len(ran)

    assert await asyncio.gather(*(work_too() for _ in range(20))) == [2] * 20
    assert ran == ["thread", "task"]


# -- the journal


def test_the_journal_is_its_owners(tmp_path: Path) -> None:
    """Results are in it: nobody else may read it. Locks go with the calls they stand for."""
    journal = Journal(tmp_path / "state" / "calls")
    running = journal.begin("id", "f")
    assert running is not None
    assert journal.begin("id", "f") is None
    entry = journal.find("id")
    assert entry is not None
    assert (entry.state, entry.function) == ("running", "f")
    journal.forget("id")
    assert journal.find("id") == entry
    running.returned("1")
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["calls"]
    assert ((tmp_path / "state").stat().st_mode & 0o777, journal.path.stat().st_mode & 0o777) == (0o700, 0o600)
    entry = journal.find("id")
    assert entry is not None
    assert (entry.state, entry.result) == ("returned", "1")
    journal.forget("id")
    assert journal.find("id") is None


def test_where_the_journal_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As given, as the environment says, or in the user's folder for state."""
    monkeypatch.delenv("HANDRAISE_JOURNAL", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert Journal().path == tmp_path / "handraise" / "calls.sqlite3"
    monkeypatch.setenv("HANDRAISE_JOURNAL", str(tmp_path / "mine"))
    assert Journal().path == tmp_path / "mine"
    assert Journal(tmp_path / "given").path == tmp_path / "given"


# -- processes that die, and a real server


@pytest.fixture
def environment(server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What an agent's process is started with; this process has it too."""
    own = {
        "HANDRAISE_URL": server.url,
        "HANDRAISE_API_KEY": server.agent_key,
        "HANDRAISE_JOURNAL": str(tmp_path / "calls.sqlite3"),
    }
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    return clean_environment() | own


PROGRAM = """
import os, sys, threading
from concurrent.futures import ThreadPoolExecutor
from handraise import requires_approval
from handraise.journal import Journal

@requires_approval("Charge?", unique_id=lambda cents: f"charge {cents}")
def charge(cents: int) -> int:
    "As in the program, so that it is the same call."
    with open(sys.argv[1], "a") as file:
        file.write(f"{cents}\\n")
    if sys.argv[2] == "dies running":
        os._exit(9)
    return cents

if sys.argv[2] == "dies approved":
    Journal.begin = lambda *_: os._exit(9)
with ThreadPoolExecutor(10) as pool:
    print(set(pool.map(charge, [int(sys.argv[3])] * (10 if sys.argv[2] == "lives" else 1))))
"""


@requires_approval("Charge?", unique_id=lambda cents: f"charge {cents}")
def charge(cents: int) -> int:
    """As in the program, so that it is the same call."""
    return cents


def agent(environment: dict[str, str], tmp_path: Path, how: str, cents: int) -> subprocess.Popen[str]:
    """A process that makes the call, and dies of it or not."""
    arguments = [sys.executable, "-c", PROGRAM, str(tmp_path / "charged"), how, str(cents)]
    return subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True)


def approve(server: ServerProcess, name: str, **answer: Any) -> None:
    with Client(server.url, server.agent_key) as asker, Client(server.url, server.admin_key) as admin:
        while True:
            try:
                id = asker.get(name)["id"]
            except Exception:
                continue
            break
        admin.respond(id, data={"approved": True, **answer})


def charged(tmp_path: Path) -> list[str]:
    path = tmp_path / "charged"
    return path.read_text().split() if path.exists() else []


def test_two_processes_make_the_call_at_once(
    server: ServerProcess, environment: dict[str, str], tmp_path: Path
) -> None:
    """Of twenty calls one runs, with the arguments that the person made of it; the others have its result."""
    agents = [agent(environment, tmp_path, "lives", 1) for _ in range(2)]
    approve(server, "charge 1", arguments={"cents": 3})
    assert [process.communicate(timeout=60)[0] for process in agents] == ["{3}\n", "{3}\n"]
    assert charged(tmp_path) == ["3"]


def test_a_crash_between_approval_and_run(server: ServerProcess, environment: dict[str, str], tmp_path: Path) -> None:
    """Nothing was begun: the next process runs it on the approval that is there."""
    dying = agent(environment, tmp_path, "dies approved", 5)
    approve(server, "charge 5")
    assert (dying.wait(60), charged(tmp_path)) == (9, [])
    assert agent(environment, tmp_path, "lives", 5).communicate(timeout=60)[0] == "{5}\n"
    assert charged(tmp_path) == ["5"]


def test_a_crash_while_it_runs(server: ServerProcess, environment: dict[str, str], tmp_path: Path) -> None:
    """Whether it ran cannot be known: that is said, and it does not run again until somebody says that it did not."""
    dying = agent(environment, tmp_path, "dies running", 7)
    approve(server, "charge 7")
    assert (dying.wait(60), charged(tmp_path)) == (9, ["7"])
    with pytest.raises(MayHaveRun, match=r"charge was begun at .* it may have run") as may:
        charge(7)
    with pytest.raises(MayHaveRun):
        charge(7)
    Journal().forget(may.value.request_id)
    assert charge(7) == 7
    assert sorted(path.name for path in tmp_path.glob("calls*")) == ["calls.sqlite3"]


async def test_a_rejection_by_a_person(server: ServerProcess, environment: dict[str, str]) -> None:
    """As it is typed in a terminal too: the one field that must be filled in is true or false."""

    @requires_approval("Charge?", unique_id=lambda: "never")
    async def refund() -> None:
        raise AssertionError("it ran")

    async with AsyncClient(server.url, server.admin_key) as admin:
        task = asyncio.create_task(refund())
        await asyncio.to_thread(server.until_waiting)
        await admin.submit("never", "false")
        with pytest.raises(Rejected):
            await task


def test_a_journal_that_cannot_be_written_lets_nothing_run(people: People, tmp_path: Path) -> None:
    """What cannot be noted is not begun."""
    (tmp_path / "calls").write_text("no database, and much longer than the header of one " * 20)
    ran: list[int] = []
    with pytest.raises(sqlite3.DatabaseError):
        requires_approval("Go?", journal=Journal(tmp_path / "calls"))(ran.append)(1)
    assert ran == []
    assert os.listdir(tmp_path) == ["calls"]
