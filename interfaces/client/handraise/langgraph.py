"""LangGraph: what graphs stop for is asked of people, and the graphs go on with the answers.

Needs the extra `langgraph`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias, Unpack

from handraise import flows, steps
from handraise.async_client import AsyncClient
from handraise.client import Client
from handraise.connection import Connection
from handraise.interrupts import Question, stop_of
from handraise.steps import Flow, Step
from handraise.types import CallOptions, Request

try:
    from langchain_core.runnables import RunnableConfig
    from langgraph.pregel.protocol import PregelProtocol
    from langgraph.types import Command, Interrupt
except ImportError as error:
    raise ImportError("handraise.langgraph needs LangGraph: install handraise[langgraph]") from error

__all__ = ["aask", "arun", "ask", "run"]

Graph: TypeAlias = PregelProtocol[Any, Any, Any, Any]


def run(
    graph: Graph,
    input: Any,
    config: RunnableConfig,
    *,
    client: Client | None = None,
    again: bool = False,
    invoke: Mapping[str, Any] | None = None,
    **more: Unpack[CallOptions],
) -> Any:
    """Invoke a graph until it ends, and ask people whatever it stops for. What the graph ends in.

    The graph needs a checkpointer, and `config` a thread. A thread that stopped before its end, at an interrupt, by an
    exception or because its process was killed, goes on from there, and `input` is not looked at. What was asked then
    is not asked twice: its answer is waited for, or is there.

    All that one step of the graph stops for is asked at once, and waited for together for `wait_seconds`. Each call
    that a person decides about is a request of its own. `invoke` holds further arguments of `graph.invoke`, such as
    `context`.

    Raises what `Client.ask` raises: then the thread is as it was, and can be run again. What expired or was withdrawn
    before is asked anew only with `again`. Further `InvalidAnswer`, and what the graph raises; `ValueError` for a
    `config` without a thread and a call that nothing may be decided about; `TypeError` for arguments that are no JSON.
    """
    with Client() if client is None else nullcontext(client) as connection:
        flow = _run(connection, graph, input, config, again, invoke or {}, more)
        return steps.run(flow, lambda step: step.block() if isinstance(step, _Call) else connection._perform(step))


async def arun(
    graph: Graph,
    input: Any,
    config: RunnableConfig,
    *,
    client: AsyncClient | None = None,
    again: bool = False,
    invoke: Mapping[str, Any] | None = None,
    **more: Unpack[CallOptions],
) -> Any:
    """As `run`, without blocking the event loop."""
    async with AsyncClient() if client is None else nullcontext(client) as connection:
        flow = _run(connection, graph, input, config, again, invoke or {}, more)

        async def perform(step: Step | _Call) -> Any:
            return await (step.wait() if isinstance(step, _Call) else connection._perform(step))

        return await steps.run_async(flow, perform)


def ask(
    interrupts: Sequence[Interrupt],
    config: RunnableConfig,
    *,
    client: Client | None = None,
    again: bool = False,
    **more: Unpack[CallOptions],
) -> Command[Any]:
    """Ask people about the interrupts that a thread has stopped at. The command to go on with.

    As `run` does, for programs that invoke or stream their graphs themselves: `interrupts` are those of
    `graph.get_state(config)`.
    """
    with Client() if client is None else nullcontext(client) as connection:
        return connection._run(_ask(connection, interrupts, _thread(config), again, more))


async def aask(
    interrupts: Sequence[Interrupt],
    config: RunnableConfig,
    *,
    client: AsyncClient | None = None,
    again: bool = False,
    **more: Unpack[CallOptions],
) -> Command[Any]:
    """As `ask`, without blocking the event loop."""
    async with AsyncClient() if client is None else nullcontext(client) as connection:
        return await connection._run(_ask(connection, interrupts, _thread(config), again, more))


@dataclass(frozen=True, slots=True)
class _Call:
    """A step that a graph takes, and no client: a call of its methods, or of those for asyncio."""

    graph: Graph
    method: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]

    def block(self) -> Any:
        return getattr(self.graph, self.method)(*self.arguments, **self.keywords)

    def wait(self) -> Any:
        return getattr(self.graph, f"a{self.method}")(*self.arguments, **self.keywords)


def _run(
    client: Connection,
    graph: Graph,
    input: Any,
    config: RunnableConfig,
    again: bool,
    keywords: Mapping[str, Any],
    more: CallOptions,
) -> Generator[Step | _Call, Any, Any]:
    """What the graph ends in; the steps are those of a client, and calls of the graph."""
    thread, state = _thread(config), (yield _Call(graph, "get_state", (config,), {}))
    command = None if state.next else input
    while True:
        if state.interrupts:
            command = yield from _ask(client, state.interrupts, thread, again, more)
        result = yield _Call(graph, "invoke", (command, config), keywords)
        state = yield _Call(graph, "get_state", (config,), {})
        if not state.interrupts:
            return result


def _ask(
    client: Connection, interrupts: Sequence[Interrupt], thread: str, again: bool, more: CallOptions
) -> Flow[Command[Any]]:
    """The command that resumes each interrupt with what people answered."""
    options: dict[str, Any] = {**more}
    wait_seconds = flows.seconds(options.pop("wait_seconds", flows.WAIT_SECONDS))
    stops = [(interrupt.id, stop_of(interrupt.value, _json_schema(interrupt))) for interrupt in interrupts]
    requests: list[Request] = []
    for id, stop in stops:
        for number, question in enumerate(stop.questions):
            unique_id = _unique_id(thread, id, number)
            requests.append((yield from _create(client, question, unique_id, thread, again, options)))
    answers = iter((yield from flows.answers_to(client, requests, wait_seconds)))
    return Command(
        resume={id: stop.resume([question.value(next(answers)) for question in stop.questions]) for id, stop in stops}
    )


def _create(
    client: Connection, question: Question, unique_id: str, thread: str, again: bool, options: Mapping[str, Any]
) -> Flow[Request]:
    """The request that asks this, which may be there already; with `again` never one that ended without an answer."""
    context = "\n\n".join(part for part in (options.get("context"), question.context) if part) or None
    attempt = 1
    while True:
        request = yield from flows.create(
            client,
            question.message,
            unique_id=unique_id if attempt == 1 else f"{unique_id}-{attempt}",
            request_type=question.type,
            response_schema=question.schema,
            ui_schema=question.hints,
            run_id=thread,
            **{**options, "context": context},
        )
        if not again or (request["status"] in ("Requested", "Responded") and not request["erased"]):
            return request
        attempt += 1


def _unique_id(thread: str, interrupt: str, number: int) -> str:
    told = json.dumps([thread, interrupt, number])
    return f"langgraph-{hashlib.sha256(told.encode()).hexdigest()[:32]}"


def _json_schema(interrupt: Interrupt) -> Mapping[str, Any] | None:
    schema: Any = interrupt.response_schema
    return schema if isinstance(schema, Mapping) else None


def _thread(config: RunnableConfig) -> str:
    """Raises `ValueError` where there is none, or one that does not go on from its latest state."""
    configurable = config.get("configurable", {})
    if configurable.get("thread_id") is None:
        raise ValueError('config names no thread: give it as {"configurable": {"thread_id": "..."}}')
    if configurable.get("checkpoint_id") is not None:
        raise ValueError(
            "config names a checkpoint, and a thread goes on from its latest one: invoke the graph with it once, "
            "and run the thread then"
        )
    return str(configurable["thread_id"])
