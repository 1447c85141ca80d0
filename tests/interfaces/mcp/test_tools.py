"""The tools over requests that are not there: bounds, progress, receipts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from domain.errors import Conflict, Gone, Invalid, Refusal
from interfaces.mcp.definitions import DEFINITIONS, LONGEST_WAIT, SHORTEST_WAIT, USUAL_WAIT
from interfaces.mcp.results import View
from interfaces.mcp.tools import NoSuchTool, Tools

OPEN: View = {
    "id": "id",
    "unique_id": "q",
    "position": 7,
    "status": "Requested",
    "response_schema": None,
    "response": None,
    "cancelled": None,
    "closed_at": None,
    "erased": False,
}
SEALED: View = OPEN | {
    "status": "Responded",
    "closed_at": "then",
    "response": {"outcome": "answered", "text": None, "data": None, "sealed": True, "by": "alice", "at": "then"},
}


class FakeBackend:
    """Notes what is asked of it."""

    def __init__(self, created: View = OPEN, waited: View = OPEN) -> None:
        self.created, self.waited = created, waited
        self.calls: list[tuple[Any, ...]] = []
        self.waiting = asyncio.Event()
        self.let_go = asyncio.Event()
        self.cancelled = False
        self.refuses: Refusal | None = None

    async def create(self, body: dict[str, Any]) -> View:
        self.calls.append(("create", body))
        return self.created

    async def get(self, id: str) -> View:
        return self.created

    async def wait(self, id: str, seconds: float) -> View:
        self.calls.append(("wait", id, seconds))
        self.waiting.set()
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return self.waited

    async def cancel(self, id: str, reason: str | None) -> View:
        raise Conflict("already closed")

    def receipt(self, id: str) -> str:
        return f"receipt for {id}"

    async def collect(self, id: str, receipt: str) -> Mapping[str, Any]:
        self.calls.append(("collect", id, receipt))
        if self.refuses is not None:
            raise self.refuses
        return {"outcome": "answered", "text": "012345", "data": None}

    async def acknowledge(self, id: str, receipt: str | None) -> None:
        self.calls.append(("acknowledge", id, receipt))
        if self.refuses is not None:
            raise self.refuses


ASK = {"message_for_user": "?", "unique_id": "q"}


@pytest.mark.parametrize(
    ("given", "waited"),
    [
        ({}, USUAL_WAIT),
        ({"timeout_seconds": None}, USUAL_WAIT),
        ({"timeout_seconds": 1}, SHORTEST_WAIT),
        ({"timeout_seconds": -5.5}, SHORTEST_WAIT),
        ({"timeout_seconds": -(10**400)}, SHORTEST_WAIT),
        ({"timeout_seconds": 600}, 600.0),
        ({"timeout_seconds": 1e12}, LONGEST_WAIT),
        ({"timeout_seconds": 10**400}, LONGEST_WAIT),
    ],
)
async def test_how_long_a_call_waits(given: dict[str, Any], waited: float) -> None:
    """Within the bounds, and `open` if nobody has answered by then."""
    backend = FakeBackend()
    backend.let_go.set()
    result = await Tools(backend).call("human_feedback", ASK | given)
    assert backend.calls == [("create", {"message": "?", "unique_id": "q", "secret": False}), ("wait", "id", waited)]
    assert result.structured["outcome"] == "open"


@pytest.mark.parametrize("value", ["600", "", True, [], {}, float("nan")])
async def test_what_is_no_number_is_refused(value: object) -> None:
    """Before anything is asked."""
    backend = FakeBackend()
    with pytest.raises(Invalid, match="timeout_seconds: must be a number, such as 600"):
        await Tools(backend).call("human_feedback", ASK | {"timeout_seconds": value})
    assert backend.calls == []


async def test_all_that_is_wrong_is_said_at_once() -> None:
    """Names that are none are not repeated: they may be anything."""
    with pytest.raises(Invalid) as caught:
        await Tools(FakeBackend()).call("human_feedback", {"unique_id": 1, "secret": 2, "wait": 3, "\ud800 x": 4})
    assert caught.value.detail == (
        "message_for_user: is required: text; unique_id: must be text, not a number; secret: must be true or false, "
        "not a number; wait: there is no such argument; there is no such argument"
    )


async def test_an_answered_request_is_not_waited_for() -> None:
    """And nothing is reported."""
    backend = FakeBackend(created=SEALED | {"response": SEALED["response"] | {"sealed": False, "text": "yes"}})
    result = await Tools(backend).call("human_feedback", ASK, _never)
    assert result.structured["text"] == "yes"
    assert [name for name, *_ in backend.calls] == ["create"]


async def test_progress_rises_until_the_answer() -> None:
    """One wait for the whole call, reported on again and again."""
    backend, told = FakeBackend(), []

    async def report(waited: float, at_most: float) -> None:
        told.append(waited)
        assert at_most == 60.0
        if len(told) == 5:
            backend.let_go.set()

    await Tools(backend, progress_seconds=0.01).call("human_feedback", ASK | {"timeout_seconds": 60}, report)
    assert len(told) == 5
    assert told == sorted(set(told))
    assert [name for name, *_ in backend.calls] == ["create", "wait"]


async def test_a_cancelled_call_ends_its_wait_and_nothing_else() -> None:
    """With progress or without."""
    for report in (None, _nothing):
        backend = FakeBackend()
        call = asyncio.create_task(Tools(backend).call("human_feedback", ASK, report))
        await backend.waiting.wait()
        call.cancel()
        await asyncio.wait((call,))
        await asyncio.sleep(0)
        assert backend.cancelled
        assert [name for name, *_ in backend.calls] == ["create", "wait"]


async def test_a_caller_that_cannot_be_told_ends_the_wait() -> None:
    """What goes wrong with reporting goes wrong with the call."""

    async def report(waited: float, at_most: float) -> None:
        await backend.waiting.wait()
        raise ConnectionError

    backend = FakeBackend()
    with pytest.raises(ConnectionError):
        await Tools(backend, progress_seconds=0.01).call("human_feedback", ASK, _after(backend, report))
    await asyncio.sleep(0)
    assert backend.cancelled


async def test_a_sealed_answer_is_collected_and_acknowledged_once_it_is_handed_over() -> None:
    """With the receipt that is the same each time; a refused acknowledgement harms nobody."""
    backend = FakeBackend(created=SEALED)
    results = [await Tools(backend).call("check_human_feedback", {"unique_id": "q"}) for _ in range(2)]
    assert [result.structured["text"] for result in results] == ["012345", "012345"]
    assert backend.calls == [("collect", "id", "receipt for id")] * 2
    handed_over = results[0].handed_over
    assert handed_over is not None
    assert handed_over.destroys
    backend.refuses = Gone("it is no longer kept")
    await handed_over.act()
    assert backend.calls[-1] == ("acknowledge", "id", "receipt for id")
    with pytest.raises(Gone, match="alice answered, but it is no longer kept"):
        await Tools(backend).call("human_feedback", ASK)


async def test_an_erased_answer_is_not_an_empty_one() -> None:
    """The words say that it is gone."""
    response = SEALED["response"] | {"sealed": False}
    backend = FakeBackend(created=SEALED | {"erased": True, "response": response})
    result = await Tools(backend).call("check_human_feedback", {"unique_id": "q"})
    assert (result.words, result.handed_over) == ("alice answered. The answer is not kept any more.", None)


@pytest.mark.parametrize("tool", ["human_feedback", "check_human_feedback"])
async def test_an_answer_is_acknowledged_once_it_is_handed_over(tool: str) -> None:
    """Without a receipt, since it is not sealed; a refusal harms nobody."""
    backend = FakeBackend(created=SEALED | {"response": SEALED["response"] | {"sealed": False}})
    arguments = ASK if tool == "human_feedback" else {"unique_id": "q"}
    handed_over = (await Tools(backend).call(tool, arguments)).handed_over
    assert "acknowledge" not in [name for name, *_ in backend.calls]
    assert handed_over is not None
    assert not handed_over.destroys
    backend.refuses = Gone("as an older server says")
    await handed_over.act()
    assert backend.calls[-1] == ("acknowledge", "id", None)


async def test_an_unknown_tool() -> None:
    """Those that there are stand in the error."""
    with pytest.raises(NoSuchTool, match=", ".join(DEFINITIONS)):
        await Tools(FakeBackend()).call("ask", {})


async def _nothing(waited: float, at_most: float) -> None:
    pass


async def _never(waited: float, at_most: float) -> None:
    raise AssertionError


def _after(backend: FakeBackend, report: Any) -> Any:
    told = 0

    async def later(waited: float, at_most: float) -> None:
        nonlocal told
        told += 1
        if told > 1:
            await report(waited, at_most)

    return later
