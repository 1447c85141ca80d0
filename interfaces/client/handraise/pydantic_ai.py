"""Pydantic AI: people decide on the tool calls that it defers, and give the results of those that run elsewhere.

Needs the extra `pydantic-ai`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from handraise import flows, tool_calls
from handraise.async_client import AsyncClient
from handraise.client import Client
from handraise.connection import Connection
from handraise.runs import current_run
from handraise.steps import Flow
from handraise.tool_calls import ToolCall
from handraise.types import CallOptions, Request

try:
    from pydantic_ai import RunContext
    from pydantic_ai.agent import AbstractAgent
    from pydantic_ai.capabilities import HandleDeferredToolCalls
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDefinition, ToolDenied
    from pydantic_ai.toolsets import AbstractToolset, ExternalToolset, FunctionToolset
except ImportError as error:
    raise ImportError("handraise.pydantic_ai needs Pydantic AI: install handraise[pydantic-ai]") from error

__all__ = ["ask_people", "resolve", "resolve_sync"]


def ask_people(
    *, client: AsyncClient | None = None, run_id: str | None = None, **options: Unpack[CallOptions]
) -> HandleDeferredToolCalls[Any]:
    """A capability of an agent: while it runs, people are asked about the tool calls that it defers, and it goes on.

    See `resolve` for what they are asked. `run_id` defaults to that of the surrounding `handraise.run`, else to
    Pydantic AI's own. A client is made for each turn if none is given. What `resolve` raises ends the agent's run.
    """

    async def resolved(context: RunContext[Any], requests: DeferredToolRequests) -> DeferredToolResults:
        run = run_id if run_id is not None else current_run() or context.run_id
        return await _resolve(requests, context.tools, client, run, options)

    return HandleDeferredToolCalls(resolved)


async def resolve(
    requests: DeferredToolRequests,
    *,
    agent: AbstractAgent[Any, Any] | None = None,
    client: AsyncClient | None = None,
    run_id: str | None = None,
    **options: Unpack[CallOptions],
) -> DeferredToolResults:
    """Have people decide on deferred tool calls; the results are what the next run of the agent takes.

    They are asked about all calls at once, and the results are there when all are answered. For a call that needs
    approval they see what the tool does and its arguments, may change these, and approve, or say to the model why
    not. For one that is deferred otherwise they give its result. `agent` tells of its tools: what they do, and the
    types of their arguments and results; without it those are taken from the values.

    Each call is asked about once in a run: `run_id`, else that of the surrounding `handraise.run`. Repeating this
    with the same requests goes on waiting, and gets the answers that are there. Without a run it asks again.

    Raises `StillOpen`, `Expired`, `Cancelled` and what else `Client.ask` raises, for the first call without an
    answer. The answers to others stay.
    """
    return await _resolve(requests, _definitions(agent), client, run_id, options)


def resolve_sync(
    requests: DeferredToolRequests,
    *,
    agent: AbstractAgent[Any, Any] | None = None,
    client: Client | None = None,
    run_id: str | None = None,
    **options: Unpack[CallOptions],
) -> DeferredToolResults:
    """As `resolve`, and blocks until the results are there."""
    if client is None:
        with Client() as made:
            return made._run(_results(made, requests, _definitions(agent), run_id, options))
    return client._run(_results(client, requests, _definitions(agent), run_id, options))


async def _resolve(
    requests: DeferredToolRequests,
    definitions: Mapping[str, ToolDefinition],
    client: AsyncClient | None,
    run_id: str | None,
    options: CallOptions,
) -> DeferredToolResults:
    if client is None:
        async with AsyncClient() as made:
            return await made._run(_results(made, requests, definitions, run_id, options))
    return await client._run(_results(client, requests, definitions, run_id, options))


def _results(
    client: Connection,
    requests: DeferredToolRequests,
    definitions: Mapping[str, ToolDefinition],
    run_id: str | None,
    options: CallOptions,
) -> Flow[DeferredToolResults]:
    wait_seconds = tool_calls.wait_seconds(options)
    asked: list[Request] = []
    approvals = [_call(part, definitions, requests) for part in requests.approvals]
    for call in approvals:
        asked.append(
            (yield from tool_calls.ask_approval(client, call, may_change=True, run_id=run_id, options=options))
        )
    elsewhere = [_call(part, definitions, requests) for part in requests.calls]
    for call in elsewhere:
        returns = definitions[call.name].return_schema if call.name in definitions else None
        asked.append((yield from _ask_result(client, call, returns, run_id, options)))
    answers = yield from flows.answers_to(client, asked, wait_seconds)
    results = DeferredToolResults()
    for call, answer in zip(approvals, answers, strict=False):
        decision = call.decided(answer)
        approved = ToolApproved(override_args=decision.arguments)
        results.approvals[call.id] = approved if decision.approved else ToolDenied(decision.refusal)
    for call, answer in zip(elsewhere, answers[len(approvals) :], strict=True):
        results.calls[call.id] = answer.data if answer.text is None else answer.text
    return results


def _ask_result(
    client: Connection, call: ToolCall, returns: Mapping[str, Any] | None, run_id: str | None, options: CallOptions
) -> Flow[Request]:
    """Ask for the result of a call: in a form where the tool says what it returns, else in text."""
    said = {key: value for key, value in (returns or {}).items() if key not in ("title", "description")}
    question = {} if said in ({}, {"type": "string"}) else {"response_schema": returns}
    message, told = f"What is the result of `{call.name}`?", call.told(form=False)
    return (yield from tool_calls.ask(client, call, message, told, run_id=run_id, options=options, **question))


def _call(part: ToolCallPart, definitions: Mapping[str, ToolDefinition], requests: DeferredToolRequests) -> ToolCall:
    definition = definitions.get(part.tool_name)
    return ToolCall(
        id=part.tool_call_id,
        name=part.tool_name,
        arguments=part.args_as_dict(),
        description=definition.description if definition else None,
        schema=definition.parameters_json_schema if definition else None,
        metadata=requests.metadata.get(part.tool_call_id),
    )


def _definitions(agent: AbstractAgent[Any, Any] | None) -> dict[str, ToolDefinition]:
    """The tools that the agent has whatever it runs with, by their names."""
    found: dict[str, ToolDefinition] = {}

    def look(toolset: AbstractToolset[Any]) -> None:
        if isinstance(toolset, FunctionToolset):
            found.update((name, tool.tool_def) for name, tool in toolset.tools.items())
        elif isinstance(toolset, ExternalToolset):
            found.update((definition.name, definition) for definition in toolset.tool_defs)

    for toolset in () if agent is None else agent.toolsets:
        toolset.apply(look)
    return found
