"""OpenAI Agents SDK: people decide on the calls of tools that need approval.

Needs the extra `openai-agents`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any, Unpack

from handraise import flows, tool_calls
from handraise.async_client import AsyncClient
from handraise.client import Client
from handraise.connection import Connection
from handraise.steps import Flow
from handraise.tool_calls import ToolCall
from handraise.types import CallOptions, Request

try:
    from agents import Agent, FunctionTool, Runner, RunResult, RunState, ToolApprovalItem, TResponseInputItem
except ImportError as error:
    raise ImportError(
        "handraise.openai_agents needs the OpenAI Agents SDK: install handraise[openai-agents]"
    ) from error

__all__ = ["decide", "decide_sync", "run"]

_NO_ARGUMENTS = ("id", "call_id", "type", "status")
"""What a call of a built-in tool says besides what it does."""


async def run(
    agent: Agent[Any],
    input: str | list[TResponseInputItem] | RunState[Any],
    *,
    client: AsyncClient | None = None,
    run_id: str | None = None,
    asking: CallOptions | None = None,
    save: Callable[[RunState[Any]], Any] | None = None,
    **runner: Any,
) -> RunResult:
    """Run an agent to its end: whenever tools need approval, people are asked, and the run goes on with what they say.

    `asking` says how they are asked, `runner` is what else `Runner.run` takes. `save`, a function or a coroutine
    function, is given the state of the run each time before people are asked. A run that ended without an answer, or
    with its process, goes on from there: with the state as `input`, and the same `run_id`. See `decide` for what
    people are asked, and what is raised.
    """
    while True:
        if isinstance(input, RunState):
            await decide(input, client=client, run_id=run_id, **(asking or {}))
        result = await Runner.run(agent, input, **runner)
        if not result.interruptions:
            return result
        input = result.to_state()
        if save is not None:
            saved = save(input)
            if inspect.isawaitable(saved):
                await saved


async def decide(
    state: RunState[Any],
    interruptions: Sequence[ToolApprovalItem] | None = None,
    *,
    client: AsyncClient | None = None,
    run_id: str | None = None,
    **options: Unpack[CallOptions],
) -> None:
    """Have people approve or reject what an interrupted run waits for, and note it in its state.

    They are asked about all interruptions at once, or about these, and see what the tool does and its arguments. The
    reason of a rejection is told to the model.

    Each call is asked about once in a run: `run_id`, else that of the surrounding `handraise.run`. Repeating this
    with the same state goes on waiting, and gets the answers that are there. Without a run it asks again.

    Raises `StillOpen`, `Expired`, `Cancelled` and what else `Client.ask` raises, for the first call without an
    answer. Nothing is noted in the state then; the answers to others stay.
    """
    items = state.get_interruptions() if interruptions is None else interruptions
    if client is None:
        async with AsyncClient() as made:
            await made._run(_decisions(made, state, items, run_id, options))
    else:
        await client._run(_decisions(client, state, items, run_id, options))


def decide_sync(
    state: RunState[Any],
    interruptions: Sequence[ToolApprovalItem] | None = None,
    *,
    client: Client | None = None,
    run_id: str | None = None,
    **options: Unpack[CallOptions],
) -> None:
    """As `decide`, and blocks until all is decided."""
    items = state.get_interruptions() if interruptions is None else interruptions
    if client is None:
        with Client() as made:
            made._run(_decisions(made, state, items, run_id, options))
    else:
        client._run(_decisions(client, state, items, run_id, options))


def _decisions(
    client: Connection,
    state: RunState[Any],
    items: Sequence[ToolApprovalItem],
    run_id: str | None,
    options: CallOptions,
) -> Flow[None]:
    wait_seconds = tool_calls.wait_seconds(options)
    calls = [_call(item) for item in items]
    asked: list[Request] = []
    for call in calls:
        # A call runs as the model wrote it: the state takes no other arguments.
        asked.append(
            (yield from tool_calls.ask_approval(client, call, may_change=False, run_id=run_id, options=options))
        )
    answers = yield from flows.answers_to(client, asked, wait_seconds)
    for item, call, answer in zip(items, calls, answers, strict=True):
        decision = call.decided(answer)
        if decision.approved:
            state.approve(item)
        else:
            state.reject(item, rejection_message=decision.refusal)


def _call(item: ToolApprovalItem) -> ToolCall:
    tools = [tool for tool in item.agent.tools if isinstance(tool, FunctionTool) and tool.name == item.name]
    return ToolCall(
        id=item.call_id or "",
        name=item.qualified_name or "tool",
        arguments=_arguments(item),
        description=tools[0].description if tools else None,
        schema=tools[0].params_json_schema if tools else None,
    )


def _arguments(item: ToolApprovalItem) -> Any:
    """As JSON; as they stand where a model wrote something else; for a built-in tool all that its call says."""
    if item.arguments is None:
        raw: Any = item.raw_item
        said = raw if isinstance(raw, dict) else raw.model_dump(mode="json", exclude_none=True)
        return {name: value for name, value in said.items() if name not in _NO_ARGUMENTS}
    try:
        return json.loads(item.arguments)
    except ValueError:
        return item.arguments
