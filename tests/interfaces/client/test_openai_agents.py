"""Tools of the OpenAI Agents SDK that need approval: people decide, and the run goes on, whatever ends in between."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import pytest
from agents import (
    Agent,
    ApplyPatchTool,
    HostedMCPTool,
    Runner,
    RunState,
    ShellTool,
    function_tool,
    set_tracing_disabled,
)
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from handraise import AsyncClient, Cancelled, Client, Expired, StillOpen
from handraise.openai_agents import decide, decide_sync, run
from handraise.testing import Cancels, Expires, Reply, Unanswered, answers
from handraise.types import Request
from openai.types.responses import ResponseApplyPatchToolCall, ResponseFunctionShellToolCall
from openai.types.responses.response_apply_patch_tool_call import OperationDeleteFile
from openai.types.responses.response_function_shell_tool_call import Action
from openai.types.responses.response_output_item import McpApprovalRequest
from openai.types.responses.tool_param import Mcp
from pydantic import Field

from tests.support.processes import ServerProcess, until

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "openai-agents.md"


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Nothing is sent to where runs are traced."""
    set_tracing_disabled(True)
    yield
    set_tracing_disabled(False)


class Files:
    """An agent that wants to delete two files at once, and says what came of it."""

    def __init__(self, *steps: Any) -> None:
        self.deleted: list[str] = []

        @function_tool(needs_approval=True)
        def delete(path: str, code: Annotated[str, Field(json_schema_extra={"format": "password"})] = "") -> str:
            """Deletes a file, for good."""
            self.deleted.append(path)
            return f"deleted {path}"

        asked = [
            function_call("delete", {"path": "012345", "code": "s3cret"}, call_id="call_1"),
            function_call("delete", {"path": "b", "code": ""}, call_id="call_2"),
        ]
        self.model = ScriptedModel(steps or [asked, [assistant_message("done")]])
        self.agent = Agent(name="files", model=self.model, tools=[delete])

    @property
    def told(self) -> list[str]:
        """What the model was told that came of its calls."""
        last: Any = self.model.calls[-1].input
        return [item["output"] for item in last if item.get("type") == "function_call_output"]


def by_path(replies: Mapping[str, Reply]) -> Any:
    def reply(request: Request) -> Reply:
        found = re.search('"path": "(.*)"', request["context"] or "")
        assert found
        return replies[found[1]]

    return reply


async def test_people_approve_and_reject() -> None:
    """Two calls of one turn are two requests that tell what would run, and no secrets; the model hears the reason."""
    files = Files()
    with answers(by_path({"012345": True, "b": {"approved": False, "note": "still needed"}})) as people:
        result = await run(files.agent, "Clean up", run_id="tidy", asking={"context": "Disk full", "priority": 5})
    assert (result.final_output, files.deleted) == ("done", ["012345"])
    assert files.told == ["deleted 012345", "A person refused this call. It did not run. They say: still needed"]
    first, second = people.asked
    assert (first["message"], first["request_type"], first["priority"]) == ("May `delete` run?", "approval", 5)
    assert first["context"] == 'Disk full\n\nDeletes a file, for good.\n\n```\n{\n  "path": "012345"\n}\n```'
    assert (first["run_id"], first["response_schema"], first["unique_id"] == second["unique_id"]) == (
        "tidy",
        None,
        False,
    )


async def test_a_run_goes_on_after_its_process_ended() -> None:
    """From the state that was saved: nothing is asked twice, and the answer that came meanwhile is there."""
    files, saved = Files(), list[str]()
    with answers(by_path({"012345": True, "b": Unanswered()})) as people:
        with pytest.raises(StillOpen) as still:
            await run(files.agent, "Clean up", run_id="tidy", save=lambda s: saved.append(s.to_string()))
        assert files.deleted == []
        people.answer(still.value.unique_id, False)
        other = Files([assistant_message("done")])
        state = await RunState.from_string(other.agent, saved[0])
        assert (await run(other.agent, state, run_id="tidy")).final_output == "done"
    assert (other.deleted, len(people.asked), len(saved)) == (["012345"], 2, 1)
    assert other.told == ["deleted 012345", "A person refused this call. It did not run."]


@pytest.mark.parametrize(("reply", "raised"), [(Expires(), Expired), (Cancels("moot"), Cancelled)])
async def test_without_an_answer_nothing_is_decided(reply: Reply, raised: type[Exception]) -> None:
    """Neither for the call without, nor for the other; under another run people are asked anew."""
    files = Files()
    state = (await Runner.run(files.agent, "Clean up")).to_state()
    with answers(by_path({"012345": True, "b": reply})), pytest.raises(raised):
        await decide(state, run_id="tidy")
    assert len((await Runner.run(files.agent, state)).interruptions) == 2
    with answers({"May `delete` run?": True}):
        await run(files.agent, state, run_id="tidy again")
    assert files.deleted == ["012345", "b"]


def test_blocking_and_only_some_of_the_calls() -> None:
    """What is left is what the run stops for next. Without a run, each question is another one."""
    files = Files()
    state = Runner.run_sync(files.agent, "Clean up").to_state()
    with answers({"May `delete` run?": True}) as people:
        decide_sync(state, state.get_interruptions()[:1])
        result = Runner.run_sync(files.agent, state)
        assert ([item.call_id for item in result.interruptions], files.deleted) == (["call_2"], ["012345"])
        with people.client() as client:
            decide_sync(result.to_state(), client=client)
            decide_sync(result.to_state(), client=client)
    assert len({asked["unique_id"] for asked in people.asked}) == 3


async def test_calls_of_built_in_tools() -> None:
    """Where they have no arguments, all that the call says is shown; it is the same call once it was saved and read."""
    shell = ResponseFunctionShellToolCall(
        id="s", call_id="s", action=Action(commands=["echo ```\n"]), status="completed", type="shell_call"
    )
    operation = OperationDeleteFile(path="a.txt", type="delete_file")
    patch = ResponseApplyPatchToolCall(
        id="p", call_id="p", operation=operation, status="completed", type="apply_patch_call"
    )
    hosted = McpApprovalRequest(
        id="h", name="drop", arguments='{"table": "t"}', server_label="db", type="mcp_approval_request"
    )
    server = Mcp(type="mcp", server_label="db", server_url="http://db.test", require_approval="always")
    tools = [
        ShellTool(lambda _: "ran", needs_approval=True),
        ApplyPatchTool(cast(Any, None), needs_approval=True),
        HostedMCPTool(server),
    ]
    model = ScriptedModel([[shell, patch, hosted], [assistant_message("done")]])
    agent = Agent(name="files", model=model, tools=[*tools])
    state = (await Runner.run(agent, "Clean up")).to_state()
    read = await RunState.from_string(agent, state.to_string())
    with answers(lambda _: {"approved": False, "note": "no"}) as people:
        await decide(state, run_id="tidy")
        await run(agent, read, run_id="tidy")
    names = ["May `shell` run?", "May `apply_patch` run?", "May `drop` run?"]
    assert [asked["message"] for asked in people.asked] == names
    shown = [asked["context"] or "" for asked in people.asked]
    assert re.search(r'^````\n.*"echo ```\\n".*\n````$', shown[0], re.S)
    assert '"path": "a.txt"' in shown[1]
    assert shown[2] == '```\n{\n  "table": "t"\n}\n```'
    assert str(model.calls[-1].input).count("A person refused this call. It did not run. They say: no") == 3


async def test_a_tool_of_an_agent_that_is_a_tool() -> None:
    """The run of the outer one is interrupted, and goes on."""
    files = Files()
    outer = ScriptedModel([[function_call("tidy", {"input": "Go"}, call_id="t")], [assistant_message("tidied")]])
    agent = Agent(name="boss", model=outer, tools=[files.agent.as_tool("tidy", "Tidies up.")])
    with answers({"May `delete` run?": True}) as people:
        assert (await run(agent, "Go", run_id="tidy")).final_output == "tidied"
    assert (files.deleted, len(people.asked)) == (["012345", "b"], 2)


def asked(admin: Client) -> list[str]:
    return [item["id"] for item in admin.inbox() if item["summary"] == "May `delete` run?"]


async def test_of_a_real_server(server: ServerProcess) -> None:
    """The same state, decided twice, is asked about once; the note of a rejection is its reason."""
    files = Files()
    state = (await Runner.run(files.agent, "Clean up")).to_state()
    async with AsyncClient(server.url, server.agent_key) as client:
        with pytest.raises(StillOpen):
            await decide(state, client=client, run_id="tidy", wait_seconds=0)
        with Client(server.url, server.admin_key) as admin:
            until(lambda: len(asked(admin)) == 2, "both calls are in the inbox")
            for id in asked(admin):
                admin.respond(id, data={"approved": False, "note": "not today"})
        await run(files.agent, state, client=client, run_id="tidy")
    assert files.told == ["A person refused this call. It did not run. They say: not today"] * 2


def test_the_page_does_what_it_shows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every program, with a model that wants to delete two files and repeats what it was told of that."""
    calls = [function_call("delete", {"path": path}, call_id=path) for path in ("old.log", "todo.txt")]

    def repeat(call: ModelCall) -> Any:
        said: Any = call.input
        return [assistant_message("\n".join(item["output"] for item in said if "output" in item))]

    rejected = {"approved": False, "note": "still in use", "reason": "still in use"}
    changed = {"approved": True, "arguments": {"path": "older.log"}}

    def reply(request: Request) -> Any:
        """By what is to be deleted: the calls run side by side, and either may ask first."""
        if "todo.txt" in json.dumps(request):
            return rejected
        return True if request["message"] == "May `delete` run?" else changed

    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(programs) == PAGE.read_text(encoding="utf-8").count("```python") == 3
    for program, shown in programs:
        names = {"__name__": "program", "model": ScriptedModel([calls, ModelStep(responder=repeat)])}
        source = program.replace('name="Caretaker"', 'name="Caretaker", model=model')
        code = compile(source, "program", "exec", dont_inherit=True)
        with answers(reply), contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        assert printed.getvalue() == shown, program


def test_without_the_package() -> None:
    """It says what to install; the SDK itself needs none of these."""
    program = """
import sys, handraise, handraise.testing
assert not {"agents", "pydantic_ai"} & sys.modules.keys()
for package, adapter in [("agents", "openai_agents"), ("pydantic_ai", "pydantic_ai")]:
    sys.modules[package] = None
    try:
        __import__(f"handraise.{adapter}")
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "handraise.openai_agents needs the OpenAI Agents SDK: install handraise[openai-agents]",
        "handraise.pydantic_ai needs Pydantic AI: install handraise[pydantic-ai]",
    ]
