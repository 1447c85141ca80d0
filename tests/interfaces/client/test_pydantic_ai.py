"""Tool calls that Pydantic AI defers: people decide, change arguments and give results, whatever ends in between."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from handraise import AsyncClient, Cancelled, Client, Expired, StillOpen
from handraise import run as in_run
from handraise.pydantic_ai import ask_people, resolve, resolve_sync
from handraise.testing import Cancels, Expires, Reply, Unanswered, answers
from pydantic import BaseModel, Field, SecretStr, TypeAdapter
from pydantic_ai import Agent, ApprovalRequired, CallDeferred, DeferredToolRequests, RunContext
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.support.processes import ServerProcess

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "pydantic-ai.md"


class Place(BaseModel):
    """Where to."""

    city: str
    floor: int = 0


class Rating(BaseModel):
    """A result."""

    stars: int = Field(ge=1, le=5)


class Shop:
    """An agent that makes these calls, and says what came of them."""

    def __init__(self, *calls: tuple[str, Mapping[str, Any]], **agent: Any) -> None:
        self.done: list[Any] = []
        self.told: list[Any] = []
        parts = [ToolCallPart(name, dict(args), f"call_{number}") for number, (name, args) in enumerate(calls)]

        def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            results = [part for part in messages[-1].parts if part.part_kind == "tool-return"]
            self.told = [result.content for result in results]
            return ModelResponse(parts=[TextPart("done")] if results else parts)

        self.agent = Agent(FunctionModel(model), output_type=[str, DeferredToolRequests], **agent)

        @self.agent.tool_plain(requires_approval=True)
        def send(to: Place, amount: float, code: str, note: str | None = None, express: bool = False) -> str:
            """Sends money, for good."""
            self.done.append((to, amount, code, note, express))
            return "sent"

        @self.agent.tool
        def sign(context: RunContext[None], name: str, key: SecretStr | None = None) -> str:
            if not context.tool_call_approved:
                raise ApprovalRequired(metadata={"risk": "high"})
            self.done.append((name, key and key.get_secret_value()))
            return "signed"

        @self.agent.tool_plain
        def question(text: str) -> str:
            raise CallDeferred

        @self.agent.tool_plain
        def rate(text: str) -> Rating:
            raise CallDeferred


SEND = ("send", {"to": {"city": "Rome", "floor": 2}, "amount": 2.0, "code": "012345", "note": "a\nb"})


async def deferred(shop: Shop) -> tuple[DeferredToolRequests, list[ModelMessage]]:
    result = await shop.agent.run("Go")
    assert isinstance(result.output, DeferredToolRequests)
    return result.output, result.all_messages()


async def test_arguments_are_changed_in_a_form() -> None:
    """Of the types that the tool has, filled in; what was not changed stays as it was, what was is checked."""
    shop = Shop(SEND)
    requests, messages = await deferred(shop)
    arguments = {"to": {"city": "Oslo", "floor": 2}, "amount": 2, "code": "000001", "note": "a\nb", "express": False}
    with answers({"May `send` run?": {"approved": True, "arguments": arguments}}) as people:
        results = await resolve(requests, agent=shop.agent, run_id="17", context="Order 17", priority=3)
    await shop.agent.run(message_history=messages, deferred_tool_results=results)
    assert shop.done == [(Place(city="Oslo", floor=2), 2.0, "000001", "a\nb", False)]
    assert shop.told == ["sent"]
    (asked,) = people.asked
    assert (asked["context"], asked["priority"], asked["run_id"]) == ("Order 17\n\nSends money, for good.", 3, "17")
    schema: Any = asked["response_schema"]
    form = schema["properties"]["arguments"]
    assert {name: field.get("default") for name, field in form["properties"].items()} == {**SEND[1], "express": False}
    assert (form["properties"]["amount"]["type"], form["properties"]["to"]["$ref"]) == ("number", "#/$defs/Place")
    assert (set(schema["$defs"]), form["required"]) == ({"Place"}, ["to", "amount", "code", "note"])
    assert asked["ui_schema"] == {
        "arguments": {"note": {"ui:widget": "textarea"}},
        "reason": {"ui:widget": "textarea"},
    }


@pytest.mark.parametrize("typed", [True, False])
async def test_what_nobody_changed_runs_as_it_was(typed: bool) -> None:
    """A number that a browser made another of is the one that was there; a default that it filled in is no change."""
    shop = Shop(("send", {**SEND[1], "amount": 9007199254740993}))
    requests, _ = await deferred(shop)
    shown = {**SEND[1], "amount": 9007199254740992, **({"express": False} if typed else {})}
    with answers({"May `send` run?": {"approved": True, "arguments": shown}}):
        results = await resolve(requests, agent=shop.agent if typed else None, run_id="17")
    (approved,) = results.approvals.values()
    assert dataclasses.asdict(approved) == {"override_args": None, "kind": "tool-approved"}  # type: ignore[arg-type]


async def test_without_the_agent_fields_are_of_the_kinds_of_their_values() -> None:
    """The tool checks what comes of it: here a model is told what a person did wrong."""
    shop = Shop(SEND)
    requests, messages = await deferred(shop)
    with answers({"May `send` run?": {"approved": True, "arguments": {**SEND[1], "amount": -1, "code": 7}}}) as people:
        results = resolve_sync(requests, run_id="17")
    await shop.agent.run(message_history=messages, deferred_tool_results=results)
    assert (shop.done, "valid string" in str(shop.told)) == ([], True)
    schema: Any = people.asked[0]["response_schema"]
    kinds = {name: field["type"] for name, field in schema["properties"]["arguments"]["properties"].items()}
    assert kinds == {"to": "object", "amount": "number", "code": "string", "note": "string"}


async def test_one_turn_asks_everything_at_once() -> None:
    """Approvals, with what the agent says of them; results of what runs elsewhere; secrets stay where they are."""
    shop = Shop(("sign", {"name": "Ann", "key": "s3cret"}), ("sign", {"name": "Bob"}), ("question", {"text": "Why?"}))
    requests, messages = await deferred(shop)
    replies: dict[str, Reply | list[Reply]] = {
        "May `sign` run?": [True, {"approved": False, "reason": "Bob left"}],
        "What is the result of `question`?": "Because.",
    }
    with answers(replies) as people:
        results = await resolve(requests, agent=shop.agent, run_id="17")
    assert "s3cret" not in str(people.asked)
    assert people.asked[0]["context"] == 'From the agent:\n\n```\n{\n  "risk": "high"\n}\n```'
    assert people.asked[2]["context"] == '```\n{\n  "text": "Why?"\n}\n```'
    assert len({asked["unique_id"] for asked in people.asked}) == 3
    await shop.agent.run(message_history=messages, deferred_tool_results=results)
    assert shop.done == [("Ann", "s3cret")]
    assert shop.told == ["signed", "A person refused this call. It did not run. They say: Bob left", "Because."]


async def test_a_result_that_is_no_text_is_a_form() -> None:
    """Of the type that the tool returns, where the agent tells of it."""
    shop = Shop(("rate", {"text": "Soup"}))
    requests, _ = await deferred(shop)
    with answers(lambda asked: {"stars": 4} if asked["response_schema"] else "four") as people:
        assert (await resolve(requests, agent=shop.agent, run_id="17")).calls == {"call_0": {"stars": 4}}
        assert (await resolve(requests, run_id="18")).calls == {"call_0": "four"}
    schema: Any = people.asked[0]["response_schema"]
    assert schema["properties"]["stars"]["maximum"] == 5


async def test_a_run_goes_on_after_its_process_ended() -> None:
    """From its messages and requests, kept as JSON: nothing is asked twice, and the answer that came is there."""
    shop = Shop(SEND, ("sign", {"name": "Ann"}))
    requests, messages = await deferred(shop)
    kept = TypeAdapter(DeferredToolRequests).dump_json(requests), ModelMessagesTypeAdapter.dump_json(messages)
    with answers({"May `send` run?": True, "May `sign` run?": Unanswered()}) as people:
        with pytest.raises(StillOpen) as still:
            await resolve(requests, agent=shop.agent, run_id="17")
        people.answer(still.value.unique_id, True)
        other = Shop()
        read = TypeAdapter(DeferredToolRequests).validate_json(kept[0])
        with in_run("17"):
            results = await resolve(read, agent=other.agent)
    history = ModelMessagesTypeAdapter.validate_json(kept[1])
    await other.agent.run(message_history=history, deferred_tool_results=results)
    assert (len(people.asked), other.told) == (2, ["sent", "signed"])


@pytest.mark.parametrize(("reply", "raised"), [(Expires(), Expired), (Cancels("moot"), Cancelled)])
async def test_without_an_answer_nothing_is_resolved(reply: Reply, raised: type[Exception]) -> None:
    """Under another run people are asked anew."""
    requests, _ = await deferred(Shop(SEND))
    with answers({"May `send` run?": [reply, True]}):
        for _ in range(2):
            with pytest.raises(raised):
                resolve_sync(requests, run_id="17")
        assert resolve_sync(requests, run_id="17 again").approvals


@pytest.mark.parametrize("run", [None, "17"])
async def test_an_agent_that_asks_while_it_runs(run: str | None) -> None:
    """With its capability, a run goes on by itself, and its requests carry its id."""
    shop = Shop(SEND, ("question", {"text": "Why?"}), capabilities=[ask_people(run_id=run, priority=3)])
    with answers({"May `send` run?": False, "What is the result of `question`?": "Because."}) as people:
        result = await shop.agent.run("Go")
    assert (result.output, shop.done) == ("done", [])
    assert shop.told == ["A person refused this call. It did not run.", "Because."]
    assert {asked["run_id"] for asked in people.asked} == {run or result.run_id}
    schema: Any = people.asked[0]["response_schema"]
    assert set(schema["$defs"]) == {"Place"}


async def test_of_a_real_server(server: ServerProcess) -> None:
    """Every type of argument, changed as the server takes it; and asked once."""
    shop = Shop(SEND)
    requests, messages = await deferred(shop)
    async with AsyncClient(server.url, server.agent_key) as client:
        with pytest.raises(StillOpen) as still:
            await resolve(requests, agent=shop.agent, client=client, run_id="17", wait_seconds=0)
        changed = {**SEND[1], "amount": 2.5, "note": None, "express": True}
        with Client(server.url, server.admin_key) as admin:
            admin.respond(still.value.request_id, data={"approved": True, "arguments": changed})
        results = await resolve(requests, agent=shop.agent, client=client, run_id="17")
    await shop.agent.run(message_history=messages, deferred_tool_results=results)
    assert shop.done == [(Place(city="Rome", floor=2), 2.5, "012345", None, True)]


def test_the_page_does_what_it_shows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every program, with a model that wants to pay two suppliers and repeats what it was told of that."""

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if told := [str(part.content) for part in messages[-1].parts if part.part_kind == "tool-return"]:
            return ModelResponse(parts=[TextPart("\n".join(told))])
        bills = ({"supplier": "Acme", "cents": 125000}, {"supplier": "Bolt", "cents": 90000})
        return ModelResponse(parts=[ToolCallPart("pay", bill) for bill in bills])

    less = {"approved": True, "arguments": {"supplier": "Acme", "cents": 120000}}
    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(programs) == PAGE.read_text(encoding="utf-8").count("```python") == 2
    for program, shown in programs:
        names = {"__name__": "program", "model": FunctionModel(model)}
        code = compile(program.replace('"openai:gpt-5"', "model"), "program", "exec", dont_inherit=True)
        replies = {"May `pay` run?": [less, {"approved": False, "reason": "paid already"}]}
        with answers(replies), contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        assert printed.getvalue() == shown, program
