"""Graphs that stop for people: what they are resumed with, in the shape that they expect, and never asked twice."""

from __future__ import annotations

import contextlib
import io
import json
import operator
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict, cast

import pytest
from handraise import Cancelled, Client, Expired, HandraiseError, InvalidAnswer, StillOpen
from handraise.langgraph import Graph, aask, arun, ask, run
from handraise.testing import Cancels, Expires, People, Unanswered, answers
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

from tests.support.interrupts import ALL, P1, P1_CHANGED, P2
from tests.support.postgres import TestServer
from tests.support.processes import ServerProcess

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "langgraph.md"


class State(TypedDict, total=False):
    """What the interrupts gave, in turn; some graphs look at `asks`."""

    asks: list[Any]
    got: Annotated[list[Any], operator.add]


class Model(GenericFakeChatModel):
    """Says what it is told to, and takes any tools."""

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self


def stopping(node: Callable[[State], Any]) -> Graph:
    """A graph of one node."""
    graph = StateGraph(State)
    graph.add_node("node", cast(Any, node))
    graph.add_edge(START, "node")
    return graph.compile(checkpointer=InMemorySaver())


def stopping_with(value: Any, **more: Any) -> Graph:
    """A graph that stops once."""
    return stopping(lambda state: {"got": [interrupt(value, **more)]})


def thread(id: str = "thread-1") -> Any:
    return {"configurable": {"thread_id": id}}


def exactly(value: Any) -> str:
    """Tells 4 from 4.0, and True from 1."""
    return json.dumps(value, ensure_ascii=False)


# -- the shapes


@pytest.fixture
def agent(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url, server.agent_key) as client:
        yield client


@pytest.fixture
def admin(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url, server.admin_key) as client:
        yield client


@pytest.mark.parametrize(
    ("value", "answer", "resumed"),
    [
        (P1, {"decision": "accept"}, {"type": "accept", "args": None}),
        (P1, {"decision": "ignore"}, {"type": "ignore", "args": None}),
        (P1, {"decision": "response", "message": "012345"}, {"type": "response", "args": "012345"}),
        (
            P1,
            {"decision": "edit", "arguments": P1_CHANGED},
            {"type": "edit", "args": {"action": "send_email_draft", "args": P1_CHANGED}},
        ),
        (
            P2,
            {"decision": "edit", "arguments": {"a": 4, "b": 3}},
            {"type": "edit", "args": {"action": "add", "args": {"a": 4, "b": 3}}},
        ),
        (P2, {"decision": "edit", "arguments": {"a": 2, "b": 3}}, {"type": "accept", "args": None}),
    ],
    ids=["p1-accept", "p1-ignore", "p1-response", "p1-edit", "p2-edit", "p2-nothing-changed"],
)
def test_p1_p2_the_agent_inbox_shape(
    agent: Client, admin: Client, request: Any, value: Any, answer: Any, resumed: Any
) -> None:
    """The server takes the answer to the form, and the graph gets a list of one response, to the type."""
    graph, config = stopping_with(value), thread(request.node.name)
    with pytest.raises(StillOpen) as open_:
        run(graph, {}, config, client=agent, wait_seconds=0)
    admin.respond(open_.value.request_id, data=answer)
    assert exactly(run(graph, {}, config, client=agent)["got"]) == exactly([[resumed]])
    assert agent.get(open_.value.request_id)["run_id"] == request.node.name


def test_p2_what_makes_no_sense_is_refused(agent: Client, admin: Client) -> None:
    """By the form's schema: an edit without arguments, arguments without an edit, text for a number, and the like."""
    with pytest.raises(StillOpen) as open_:
        run(stopping_with(P2), {}, thread("refused"), client=agent, wait_seconds=0)
    for answer in (
        {"decision": "edit"},
        {"decision": "edit", "arguments": {"a": "4", "b": 3}},
        {"decision": "edit", "arguments": {"b": 3}},
        {"decision": "accept", "arguments": {"a": 4, "b": 3}},
        {"decision": "response", "message": ""},
        {"decision": "reject"},
        {},
    ):
        with pytest.raises(HandraiseError) as refused:
            admin.respond(open_.value.request_id, data=answer)
        assert refused.value.status == 422, answer


def test_only_what_is_allowed_is_offered() -> None:
    """Where text is all that is wanted, there is no form. What allows nothing is an error, and nobody is asked."""

    def asked(args: dict[str, Any], *allowed: str) -> Any:
        config = {name: name in allowed for name in ALL}
        value = {"action_request": {"action": "Question", "args": args}, "config": config, "description": None}
        with answers(lambda _: Unanswered()) as people, pytest.raises(StillOpen):
            run(stopping_with(value), {}, thread())
        (request,) = people.asked
        return request

    form = asked({"a": 1}, "allow_accept", "allow_edit", "allow_ignore")
    assert (form["message"], form["request_type"]) == ("May `Question` run?", "approval")
    titles = [branch["title"] for branch in form["response_schema"]["oneOf"]]
    assert titles == ["Run as it is", "Run with changed arguments", "Ignore"]
    nothing_to_edit = asked({}, "allow_accept", "allow_edit")
    assert [branch["title"] for branch in nothing_to_edit["response_schema"]["oneOf"]] == ["Run as it is"]
    too_long_to_edit = asked({"a": "x" * 60_000}, "allow_edit", "allow_ignore")
    assert [branch["title"] for branch in too_long_to_edit["response_schema"]["oneOf"]] == ["Ignore"]
    text = asked({"q": "Which one?"}, "allow_respond")
    assert (text["message"], text["response_schema"]) == ("`Question` asks for an answer.", None)
    assert "Which one?" in text["context"]
    with pytest.raises(ValueError, match=r"a person can decide nothing about Question: what it allows is \[\]"):
        asked({})
    with pytest.raises(TypeError, match="the arguments of Question cannot be shown to a person: Out of range"):
        asked({"a": float("nan")}, "allow_accept")


def test_several_calls_in_one_interrupt_are_several_questions() -> None:
    """Each is decided by itself; the answers come in the order of the calls."""
    second = {"action_request": {"action": "drop", "args": {}}, "config": ALL, "description": "For good."}
    script = {"May `add` run?": {"decision": "accept"}, "May `drop` run?": {"decision": "ignore"}}
    with answers(script) as people:
        got = run(stopping_with([P2, second]), {}, thread(), context="Ticket 17")["got"]
    assert got == [[{"type": "accept", "args": None}, {"type": "ignore", "args": None}]]
    assert people.asked[1]["context"] == "Ticket 17\n\nFor good."


def test_a_form_answered_with_something_else() -> None:
    """Scripts of tests are not checked against the form: what decides nothing is told apart."""
    with answers(lambda _: {"decision": "approve"}), pytest.raises(InvalidAnswer, match="decides 'approve'"):
        run(stopping_with(P2), {}, thread())


@pytest.mark.parametrize(
    ("value", "more", "message", "context", "reply", "got"),
    [
        ("How old are you?", {}, "How old are you?", None, "42", "42"),
        ({"question": "Publish?", "page": 7}, {}, "Publish?", '```\n{\n  "page": 7\n}\n```', "no", "no"),
        ([1], {}, "The agent waits for an answer.", '```\n{\n  "value": [\n    1\n  ]\n}\n```', "x", "x"),
        ("", {}, "The agent waits for an answer.", '```\n{\n  "value": ""\n}\n```', "x", "x"),
        ({"message": "Sum?"}, {"response_schema": {"type": "object"}}, "Sum?", None, {"sum": 4}, {"sum": 4}),
    ],
    ids=["text", "mapping", "list", "nothing", "schema"],
)
def test_any_other_interrupt_is_a_question(
    value: Any, more: Any, message: str, context: str | None, reply: Any, got: Any
) -> None:
    """Answered in text, or with the data of the schema that the interrupt came with."""
    with answers({message: reply}) as people:
        assert run(stopping_with(value, **more), {}, thread())["got"] == [got]
    (asked,) = people.asked
    assert (asked["context"], asked["response_schema"]) == (context, more.get("response_schema"))


# -- LangChain's middleware


def deciding(script: dict[str, Any], *calls: dict[str, Any], **more: Any) -> tuple[list[Any], People]:
    """The messages of an agent whose model makes these calls and then ends, after people decided; and the people."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware

    def add(a: int, b: int, digits: int = 0) -> str:
        """Add two numbers."""
        return exactly([a, b, digits])

    def say(text: str) -> str:
        """Say it."""
        return text

    told = [{"name": name, "args": args, "id": str(id)} for id, each in enumerate(calls) for name, args in each.items()]
    model = Model(messages=iter([AIMessage("", tool_calls=cast(Any, told)), AIMessage("done")]))
    middleware = HumanInTheLoopMiddleware({"add": True, "say": {"allowed_decisions": ["respond"]}}, **more)
    agent = create_agent(model, [add, say], middleware=[middleware], checkpointer=InMemorySaver())
    with answers(script) as people:
        ended = run(cast(Graph, agent), {"messages": "go"}, thread())
    assert ended["messages"][-1].content == "done"
    return [message for message in ended["messages"] if message.type == "tool"], people


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize(
    ("reply", "status", "said"),
    [
        ({"decision": "approve"}, "success", "[2, 3, 0]"),
        ({"decision": "edit", "arguments": {"a": 4, "b": 3}}, "success", "[4, 3, 0]"),
        ({"decision": "edit", "arguments": {"a": 2, "b": 3}}, "success", "[2, 3, 0]"),
        ({"decision": "reject", "message": "Too dear."}, "error", "with reason: Too dear."),
        ({"decision": "reject"}, "error", "Do not retry this tool call"),
        ({"decision": "respond", "message": "It is 5."}, "success", "It is 5."),
    ],
    ids=["approve", "edit", "nothing-changed", "reject", "reject-without-reason", "respond"],
)
def test_a_tool_runs_as_it_was_decided(mode: str, reply: Any, status: str, said: str) -> None:
    """With the arguments that a person made of the model's; the model is told what became of its call."""
    (message,), people = deciding({"May `add` run?": reply}, {"add": {"a": 2, "b": 3}}, interrupt_mode=mode)
    assert message.status == status
    assert said in message.content
    assert ("replaced this tool call" in message.content) == ("[4" in said)
    (asked,) = people.asked
    assert (asked["context"] or "").startswith("Tool execution requires approval\n\n```")
    schema: Any = asked["response_schema"]
    fields = schema["oneOf"][1]["properties"]["arguments"]["properties"]
    assert set(fields) == ({"a", "b"} if mode == "batched" else {"a", "b", "digits"})
    assert fields["a"]["type"] == ("number" if mode == "batched" else "integer")


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_calls_that_the_model_makes_at_once(mode: str) -> None:
    """All are asked about at once; one that only wants an answer is answered in text."""
    script = {"May `add` run?": {"decision": "approve"}, "`say` asks for an answer.": "No."}
    messages, people = deciding(script, {"add": {"a": 1, "b": 1}}, {"say": {"text": "May I?"}}, interrupt_mode=mode)
    assert {message.name: message.content for message in messages} == {"add": "[1, 1, 0]", "say": "No."}
    assert len({asked["unique_id"] for asked in people.asked}) == 2


# -- going on


def test_interrupts_in_turn_and_side_by_side() -> None:
    """Those of one step are asked at once, and resumed each with its own answer; those of one node one by one."""

    def ages(state: State) -> State:
        while True:
            answer = interrupt("How old?")
            if answer.isdecimal():
                return {"got": [int(answer)]}

    graph = StateGraph(State)
    graph.add_node("ages", ages)
    graph.add_node("each", lambda state: {"got": [interrupt(cast(Any, state)["asks"])]})
    graph.add_edge(START, "ages")
    graph.add_conditional_edges("ages", lambda state: [Send("each", {"asks": ask}) for ask in ("B?", "C?")], ["each"])
    with answers({"How old?": ["young", "very", "42"], "B?": "b", "C?": "c"}) as people:
        assert run(graph.compile(checkpointer=InMemorySaver()), {}, thread())["got"] == [42, "b", "c"]
    assert [asked["message"] for asked in people.asked] == ["How old?"] * 3 + ["B?", "C?"]


def test_a_thread_goes_on_where_it_stopped() -> None:
    """At its interrupt, whatever the input; after an exception too. A thread that ended begins again."""
    fails = [True, False, False]

    def node(state: State) -> State:
        answer = interrupt("Go?")
        if fails.pop(0):
            raise LookupError("nowhere")
        return {"got": [answer, *state.get("asks", [])]}

    graph = stopping(node)
    with answers({"Go?": Unanswered()}) as people:
        with pytest.raises(StillOpen) as open_:
            run(graph, {"asks": [1]}, thread(), wait_seconds=60)
        people.answer(open_.value.unique_id, "yes")
        with pytest.raises(LookupError):
            run(graph, {"asks": [2]}, thread())
        assert run(graph, {"asks": [3]}, thread())["got"] == ["yes", 1]
        assert len(people.asked) == 1
        with pytest.raises(StillOpen):
            run(graph, {"asks": [4]}, thread())
        assert len(people.asked) == 2


@pytest.mark.parametrize(("reply", "raised"), [(Expires(), Expired), (Cancels("stop"), Cancelled)])
def test_what_ended_without_an_answer_is_asked_anew_on_demand(reply: Any, raised: type[Exception]) -> None:
    """Until then the thread stays at its interrupt. What is open or answered is not asked anew."""
    graph = stopping_with("Go?")
    with answers({"Go?": [reply, reply, Unanswered()]}) as people:
        for _ in range(2):
            with pytest.raises(raised):
                run(graph, {}, thread())
        assert len(people.asked) == 1
        with pytest.raises(StillOpen):
            run(graph, {}, thread(), again=True)
        with pytest.raises(StillOpen) as open_:
            run(graph, {}, thread(), again=True)
        people.answer(open_.value.unique_id, "yes")
        assert run(graph, {}, thread(), again=True)["got"] == ["yes"]
    assert len(people.asked) == 3


async def test_from_asyncio_and_by_oneself() -> None:
    """`arun` is `run`; `ask` and `aask` give the command for who invokes the graph."""
    graph = stopping_with("Go?")
    with answers({"Go?": "yes"}) as people:
        assert (await arun(graph, {}, thread("a")))["got"] == ["yes"]
        async with people.async_client() as client:
            assert (await arun(graph, {}, thread("b"), client=client))["got"] == ["yes"]
        for id in ("c", "d"):
            await graph.ainvoke({}, thread(id))
        state = await graph.aget_state(thread("c"))
        assert (await graph.ainvoke(await aask(state.interrupts, thread("c")), thread("c")))["got"] == ["yes"]
        with people.client() as client:
            command = ask(graph.get_state(thread("d")).interrupts, thread("d"), client=client)
        assert graph.invoke(command, thread("d"))["got"] == ["yes"]
    assert [asked["run_id"] for asked in people.asked] == ["a", "b", "c", "d"]


def test_what_else_the_graph_is_invoked_with() -> None:
    """`invoke` goes to the graph, each time."""
    with answers({"Go?": "yes"}):
        chunks = run(stopping_with("Go?"), {}, thread(), invoke={"stream_mode": "updates"})
    assert chunks == [{"node": {"got": ["yes"]}}]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "config names no thread"),
        ({"configurable": {"thread_id": "a", "checkpoint_id": "b"}}, "config names a checkpoint"),
    ],
)
def test_a_config_that_is_no_thread(config: Any, said: str) -> None:
    """It is refused before anything is done."""
    with answers({}), pytest.raises(ValueError, match=said):
        run(stopping_with("Go?"), {}, config)


def test_langgraph_is_needed_only_here() -> None:
    """The package does without; where it is missing, the extra is named."""
    program = (
        "import sys, handraise; from handraise import AsyncClient, requires_approval; "
        "assert not {'langgraph', 'langchain_core'} & sys.modules.keys(); "
        "sys.modules['langgraph'] = sys.modules['langchain_core'] = None; import handraise.langgraph"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "ImportError: handraise.langgraph needs LangGraph: install handraise[langgraph]" in done.stderr


def test_the_page_does_what_it_shows(postgres: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program, with the output that is shown below it; a model that needs no network stands in for the page's."""
    text = PAGE.read_text(encoding="utf-8")
    database = postgres.run(postgres.create_database())
    monkeypatch.setenv("DATABASE_URL", database)
    calls = [{"supplier": "Acme", "cents": 125000}, {"supplier": "Bolt", "cents": 90000}]
    told: Any = [{"name": "pay", "args": args, "id": args["supplier"]} for args in calls]
    people = {
        "May `refund` run?": {"decision": "edit", "arguments": {"order": 17, "cents": 120000}},
        "May `pay` run?": [
            {"decision": "edit", "arguments": {"supplier": "Acme", "cents": 120000}},
            {"decision": "reject", "message": "paid already"},
        ],
        "Who is there?": "Ada",
    }
    programs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.S)
    assert len(programs) == text.count("```python") == 3
    for program, shown in programs:
        names = {"__name__": "program", "model": Model(messages=iter([AIMessage("", tool_calls=told), AIMessage("")]))}
        code = compile(program.replace('"openai:gpt-5"', "model"), "program", "exec", dont_inherit=True)
        with answers(people), contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        assert printed.getvalue() == shown, program
    postgres.run(postgres.drop_database(database))
