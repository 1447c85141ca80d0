"""What the three tools do, whoever calls them and wherever the requests are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from domain.errors import AlreadyExists, Conflict, FieldError, Gone, Invalid, Refusal
from interfaces.mcp.arguments import LONGEST_LIFETIME, Arguments
from interfaces.mcp.definitions import (
    CANCEL,
    CHECK,
    DEFINITIONS,
    HUMAN_FEEDBACK,
    LONGEST_WAIT,
    SHORTEST_WAIT,
    USUAL_WAIT,
)
from interfaces.mcp.results import HandedOver, Result, View, result_of

Report = Callable[[float, float], Awaitable[None]]
"""(seconds waited so far, seconds this call waits at most), told again and again while a call waits."""


class Backend(Protocol):
    """The requests of one agent. All raise `Refusal`s; views are those of the wire contract."""

    async def create(self, body: dict[str, Any]) -> View:
        """Ask, or find what was asked before with the same content."""
        ...

    async def get(self, id: str) -> View:
        """The request, by its id or `unique_id`."""
        ...

    async def wait(self, id: str, seconds: float) -> View:
        """The request as soon as it is closed, or as it stands after so long; earlier where the server stops."""
        ...

    async def cancel(self, id: str, reason: str | None) -> View:
        """Withdraw it."""
        ...

    def receipt(self, id: str) -> str:
        """A receipt for its sealed answer: always the same one for this agent's key, known to nobody else."""
        ...

    async def collect(self, id: str, receipt: str) -> Mapping[str, Any]:
        """The sealed answer: `outcome`, `text`, `data`."""
        ...

    async def acknowledge(self, id: str, receipt: str | None) -> None:
        """The answer has been handed over; one that is sealed, which needs its receipt, is destroyed."""
        ...


class NoSuchTool(Exception):
    """There is no tool of this name."""


class Tools:
    """The tools for one agent."""

    def __init__(
        self, backend: Backend, *, progress_seconds: float = 10.0, shortest_wait_seconds: float = SHORTEST_WAIT
    ) -> None:
        self._backend = backend
        self._progress_seconds = progress_seconds
        self._shortest_wait = shortest_wait_seconds

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report | None = None) -> Result:
        """Call a tool. Whatever ends the call, the request stays as it is, but for `cancel_human_feedback`.

        `report` is told how the wait goes on. Raises `NoSuchTool`, or a `Refusal` whose text is for the model.
        """
        if name not in DEFINITIONS:
            raise NoSuchTool(f"there is no tool {name[:100]!r}; there are {', '.join(DEFINITIONS)}")
        given = Arguments(arguments)
        if name == HUMAN_FEEDBACK.name:
            return await self._ask(given, report)
        if name == CHECK.name:
            return await self._check(given, report)
        assert name == CANCEL.name
        return await self._cancel(given)

    async def _ask(self, given: Arguments, report: Report | None) -> Result:
        body = _body(given)
        seconds = given.number("timeout_seconds")
        given.check()
        seconds = min(max(USUAL_WAIT if seconds is None else seconds, self._shortest_wait), LONGEST_WAIT)
        try:
            view = await self._backend.create(body)
        except Invalid as error:
            raise _in_our_names(error) from None
        except AlreadyExists as error:
            raise AlreadyExists(
                f"{error.detail}. What became of the request that is there, check_human_feedback tells."
            ) from None
        return await self._result(await self._wait(view, seconds, report))

    async def _check(self, given: Arguments, report: Report | None) -> Result:
        unique_id, seconds = given.needed_text("unique_id"), given.number("wait_seconds")
        given.check()
        view = await self._backend.get(unique_id)
        return await self._result(await self._wait(view, min(max(seconds or 0.0, 0.0), LONGEST_WAIT), report))

    async def _cancel(self, given: Arguments) -> Result:
        unique_id, reason = given.needed_text("unique_id"), given.text("reason")
        given.check()
        try:
            view = await self._backend.cancel(unique_id, reason)
        except Conflict as error:
            view = await self._backend.get(unique_id)
            if view["cancelled"] is None:
                raise Conflict(f"{error.detail}. What became of it, check_human_feedback tells.") from None
        return await self._result(view)

    async def _wait(self, view: View, seconds: float, report: Report | None) -> View:
        if view["status"] != "Requested" or seconds <= 0:
            return view
        id = view["id"]
        if report is None:
            return await self._backend.wait(id, seconds)
        began = time.monotonic()
        # One wait for the whole time, not one between every two reports: a wait begins with a look at the database.
        waiting = asyncio.ensure_future(self._backend.wait(id, seconds))
        try:
            while not waiting.done():
                await report(time.monotonic() - began, seconds)
                await asyncio.wait((waiting,), timeout=self._progress_seconds)
            return await waiting
        finally:
            waiting.cancel()

    async def _result(self, view: View) -> Result:
        response, id = view["response"], view["id"]
        if response is None or view["erased"]:
            return result_of(view)
        if not response["sealed"]:
            return result_of(view, handed_over=HandedOver(partial(self._acknowledge, id, None), destroys=False))
        receipt = self._backend.receipt(id)
        try:
            answer = await self._backend.collect(id, receipt)
        except Gone as error:
            raise Gone(
                f"{response['by']} answered, but {error.detail}. A secret answer is handed over once; to get it again, "
                "ask again under another unique_id."
            ) from None
        return result_of(view, answer, HandedOver(partial(self._acknowledge, id, receipt), destroys=True))

    async def _acknowledge(self, id: str, receipt: str | None) -> None:
        try:
            await self._backend.acknowledge(id, receipt)
        except Refusal:  # the answer is handed over: that counts, and the server destroys a sealed one by itself soon
            return


def _body(given: Arguments) -> dict[str, Any]:
    """The body of a create; errors are noted in `given`."""
    priority, lifetime = given.whole_number("priority"), given.number("expires_in_seconds")
    if priority is not None and not 1 <= priority <= 100:
        given.wrong("priority", "must be 1 (most urgent) to 100")
    if lifetime is not None and not 0 < lifetime <= LONGEST_LIFETIME:
        given.wrong("expires_in_seconds", f"must be more than 0 and at most {LONGEST_LIFETIME:.0f}")
    body = {
        "message": given.needed_text("message_for_user"),
        "unique_id": given.needed_text("unique_id"),
        "context": given.text("context"),
        "request_type": given.text("request_type"),
        "response_schema": given.object("response_schema"),
        "options": given.texts("options"),
        "run_id": given.text("run_id"),
        "run_step_id": given.text("run_step_id"),
        "run_user": given.text("run_user"),
        "priority": priority,
        "expires_in_seconds": lifetime,
        "secret": given.flag("secret"),
    }
    return {name: value for name, value in body.items() if value is not None}


def _in_our_names(error: Invalid) -> Invalid:
    """As `message` is called here."""
    errors = [
        FieldError("message_for_user" if found.path == "message" else found.path, found.message)
        for found in error.errors
    ]
    return Invalid(errors, "; ".join(f"{found.path}: {found.message}".removeprefix(": ") for found in errors[:10]))
