"""Functions that run only once a person has approved the call."""

from __future__ import annotations

import functools
import inspect
import json
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, Unpack, cast, overload

from handraise import flows
from handraise.answers import Answer
from handraise.async_client import AsyncClient
from handraise.call_form import Call, CallForm
from handraise.client import Client
from handraise.connection import Connection
from handraise.errors import AlreadyRun, HandraiseError, MayHaveRun, Rejected
from handraise.journal import Entry, Journal, Running
from handraise.runs import current_run
from handraise.steps import Flow, Sleep
from handraise.types import CallOptions

P = ParamSpec("P")
R = TypeVar("R")

_LOOK_AGAIN_SECONDS = 0.2


@overload
def requires_approval(message: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def requires_approval(
    message: str | None = None,
    *,
    client: Client | AsyncClient | None = None,
    run_id: str | None = None,
    unique_id: Callable[..., str] | None = None,
    hide: Collection[str] = (),
    journal: Journal | None = None,
    **more: Unpack[CallOptions],
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def requires_approval(
    message: str | Callable[..., Any] | None = None,
    *,
    client: Client | AsyncClient | None = None,
    run_id: str | None = None,
    unique_id: Callable[..., str] | None = None,
    hide: Collection[str] = (),
    journal: Journal | None = None,
    **more: Unpack[CallOptions],
) -> Any:
    """Have a person approve each call of a function before it runs.

    The person sees the function's name, the beginning of its docstring, and the arguments in a form made from its
    annotations; they may change the arguments, which are checked against the annotations, and the function runs with
    those. `hide` names parameters that are not shown, such as connections and secrets; `self` and `cls` never are.
    `message` is the question, made from the name if not given.

    **Never twice.** A call has a `unique_id`, and runs at most once under it, whatever crashes in between:

    * Made from the function's name, its arguments and the run: `run_id`, else that of the surrounding
      `handraise.run`. In one run, the same call is the same call. Without a run each call is another one, and asks
      again after a crash.
    * Or `unique_id`, called with the arguments of each call.

    The approval is acknowledged once the function has run, a refusal at once.

    A call that is made again waits for the one that is going on, and returns its result. Results that are JSON, or
    whose annotation pydantic can write and read, are kept in the `journal`; see `Journal` for where that is. Everybody
    who may make the same call must use the same journal.

    Raises `Rejected` with the reason; `AlreadyRun` where the call ran to its end before and there is no result to
    return: it raised, or the result could not be kept; `MayHaveRun` where its process was killed while it ran: that
    is not guessed, and it does not run again. Further `InvalidAnswer`, what `Client.ask` raises, and what the function
    does. `TypeError` for arguments that cannot be shown.

    Coroutine functions need an `AsyncClient`, others a `Client`; one is made for each call if none is given.
    """
    if callable(message):
        return requires_approval()(message)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        asked = _Asked(CallForm(function, hide), message, run_id, unique_id, journal, more)
        if inspect.iscoroutinefunction(function):
            return _asynchronous(asked, client)
        return _blocking(asked, client)

    return decorate


def _blocking(asked: _Asked, client: Client | AsyncClient | None) -> Callable[..., Any]:
    function = asked.form.function
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{asked.form.name} is a generator: it would run while nobody knows whether it has")
    if isinstance(client, AsyncClient):
        raise TypeError(f"{asked.form.name} is no coroutine function: it needs a Client, and got an AsyncClient")

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if client is None:
            with Client() as made:
                return permitted_by(made, args, kwargs)
        return permitted_by(client, args, kwargs)

    def permitted_by(client: Client, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        permitted = client._run(asked.permitted(client, args, kwargs))
        if isinstance(permitted, _Kept):
            return permitted.result
        try:
            result = function(*permitted.arguments.args, **permitted.arguments.kwargs)
        except BaseException as error:
            permitted.running.raised(error)
            client.acknowledge_soon(permitted.request_id)
            raise
        permitted.running.returned(asked.kept(result))
        client.acknowledge_soon(permitted.request_id)
        return result

    return call


def _asynchronous(asked: _Asked, client: Client | AsyncClient | None) -> Callable[..., Any]:
    function = asked.form.function
    if isinstance(client, Client):
        raise TypeError(f"{asked.form.name} is a coroutine function: it needs an AsyncClient, and got a Client")

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        if client is None:
            # Closed only after the call: nothing may come between beginning it and running it.
            async with AsyncClient() as made:
                return await permitted_by(made, args, kwargs)
        return await permitted_by(client, args, kwargs)

    async def permitted_by(client: AsyncClient, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        permitted = await client._run(asked.permitted(client, args, kwargs))
        if isinstance(permitted, _Kept):
            return permitted.result
        try:
            result = await function(*permitted.arguments.args, **permitted.arguments.kwargs)
        except BaseException as error:
            permitted.running.raised(error)
            await client.acknowledge_soon(permitted.request_id)
            raise
        permitted.running.returned(asked.kept(result))
        await client.acknowledge_soon(permitted.request_id)
        return result

    return call


@dataclass(frozen=True, slots=True)
class _Permitted:
    """The call may run, here and now, with these arguments."""

    request_id: str
    running: Running
    arguments: inspect.BoundArguments


@dataclass(frozen=True, slots=True)
class _Kept:
    """The call ran before; this is what it returned."""

    result: Any


@dataclass(frozen=True, slots=True)
class _Asked:
    """How one function's calls are asked for."""

    form: CallForm
    message: str | None
    run_id: str | None
    unique_id: Callable[..., str] | None
    journal: Journal | None
    more: CallOptions

    def permitted(self, client: Connection, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Flow[_Permitted | _Kept]:
        """The permission to run the call, or the result that it had."""
        call = self.form.call(args, kwargs)
        more = dict(self.more)
        wait_seconds = flows.seconds(cast("float | None", more.pop("wait_seconds", flows.WAIT_SECONDS)))
        more.setdefault("context", (inspect.getdoc(self.form.function) or "").partition("\n\n")[0] or None)
        run_id = self.run_id if self.run_id is not None else current_run()
        request = yield from flows.create(
            client,
            self.message or f"May `{self.form.name}` run with these arguments?",
            unique_id=self._unique_id(call, run_id),
            request_type="approval",
            response_schema=self.form.schema(call),
            run_id=run_id,
            **cast(Any, more),
        )
        journal = self.journal or Journal(client.journal_path)
        while True:
            entry = journal.find(request["id"])
            if entry is None:
                answer = yield from flows.answer_to(client, request, wait_seconds, acknowledge=False)
                if answer.outcome != "approved":
                    yield from flows.acknowledge_soon(client, request["id"])
                    raise self._rejected(answer)
                arguments = self.form.approved(call, answer)
                if running := journal.begin(request["id"], self.form.name):
                    return _Permitted(request["id"], running, arguments)
            elif entry.function != self.form.name:
                raise HandraiseError(
                    f"{request['unique_id']!r} is a call of {entry.function}: give {self.form.name} another unique_id"
                )
            elif entry.state != "running":
                if entry.state != "lost":  # whoever ran it may not have come to say so
                    yield from flows.acknowledge_soon(client, request["id"])
                return self._ended(entry, {"request_id": request["id"], "unique_id": request["unique_id"]})
            yield Sleep(_LOOK_AGAIN_SECONDS)

    def kept(self, result: Any) -> str | None:
        """The result as JSON that reads back as the same, None if there is none."""
        try:
            text = json.dumps(self.form.result.dump_python(result, mode="json", warnings="error"), allow_nan=False)
            return text if self.form.result.validate_json(text) == result else None
        except Exception:
            return None

    def _unique_id(self, call: Call, run_id: str | None) -> str:
        if self.unique_id is not None:
            return self.unique_id(*call.bound.args, **call.bound.kwargs)
        return self.form.identity(call, run_id if run_id is not None else str(uuid.uuid4()))

    def _rejected(self, answer: Answer) -> Rejected:
        reason = answer.data.get("reason")
        return Rejected(
            f"{self.form.name} was refused by {answer.by}{f': {reason}' if reason else ''}",
            by=answer.by,
            reason=reason,
            request_id=answer.request_id,
            unique_id=answer.unique_id,
        )

    def _ended(self, entry: Entry, ids: Any) -> _Kept:
        """What the call that ran before returned. Raises what tells why that is not known."""
        name, again = entry.function, "to run it again, ask under another unique_id"
        if entry.state == "lost":
            raise MayHaveRun(
                f"{name} was begun at {entry.begun_at} by a process that ended before it did: it may have run. "
                f"Find out what it did; if nothing, Journal.forget({ids['request_id']!r}) lets it run, else {again}",
                **ids,
            )
        if entry.state == "raised":
            raise AlreadyRun(f"{name} ran before and raised {entry.error}; {again}", raised=entry.error, **ids)
        if entry.result is None:
            raise AlreadyRun(f"{name} ran before and its result could not be kept; {again}", raised=None, **ids)
        return _Kept(self.form.result.validate_json(entry.result))
