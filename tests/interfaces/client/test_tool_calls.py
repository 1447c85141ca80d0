"""Forms for calls of tools: whatever their schemas and arguments are, a person can decide."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from handraise import Answer
from handraise.steps import Flow
from handraise.testing import answers
from handraise.tool_calls import Decision, ToolCall, ask_approval
from handraise.types import Request


def decided(call: ToolCall, arguments: dict[str, Any]) -> Decision:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    data = {"approved": True, "arguments": arguments}
    return call.decided(
        Answer(by="alice", at=at, request_id="", unique_id="", outcome="approved", text=None, data=data)
    )


def asked(call: ToolCall) -> Request:
    with answers({f"May `{call.name}` run?": True}) as people, people.client() as client:
        flow: Flow[Request] = ask_approval(client, call, may_change=True, run_id="1", options={})
        return client._run(flow)


def test_a_schema_that_cannot_be_taken_over() -> None:
    """A field is then one for values like the one that is there."""
    schema = {
        "properties": {
            "outside": {"$ref": "https://example.com/schema"},
            "whole": {"$ref": "#"},
            "unknown": {"$ref": "#/$defs/Gone"},
            "anything": True,
            "known": {"items": {"$ref": "#/$defs/Tree"}},
        },
        "$defs": {"Tree": {"properties": {"below": {"$ref": "#/$defs/Tree"}}}, "Unused": {}},
    }
    arguments = {"outside": 1, "whole": {"a": [1.5, 2], "b": {}}, "unknown": [], "anything": None, "more": ["a", 1]}
    form = ToolCall("1", "grow", arguments, schema=schema).form()
    assert form["properties"]["arguments"]["properties"] == {
        "known": {"items": {"$ref": "#/$defs/Tree"}},
        "outside": {"type": "number", "default": 1},
        "whole": {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "number"}}, "b": {"type": "object"}},
            "required": ["a", "b"],
            "default": arguments["whole"],
        },
        "unknown": {"type": "array", "default": []},
        "anything": {"default": None},
        "more": {"type": "array", "default": ["a", 1]},
    }
    assert form["$defs"] == {"Tree": schema["$defs"]["Tree"]}


def test_secrets_are_neither_shown_nor_lost() -> None:
    """Also those inside of others. What only looks like one is shown, not to be changed: it would seal the answer."""
    login = {"properties": {"password": {"type": "string", "writeOnly": True}}}
    schema = {"properties": {"login": {"$ref": "#/$defs/Login"}, "host": {}}, "$defs": {"Login": login}}
    arguments = {"login": {"password": "s3cret"}, "host": "a", "field": {"format": "password"}}
    call = ToolCall("1", "connect", arguments, schema=schema)
    request = asked(call)
    assert "s3cret" not in str(request)
    assert '"format": "password"' in str(request["context"])
    assert not request["secret"]
    assert decided(call, {"host": "b"}).arguments == {**arguments, "host": "b"}


@pytest.mark.parametrize("arguments", [{}, {"text": 60_000 * "a"}, "rm -rf", ["a"]])
def test_without_a_form(arguments: Any) -> None:
    """Where there is nothing to change, or more than a form may hold: it is shown, and approved as it is."""
    request = asked(ToolCall("1", "x.y/z", arguments))
    assert request["response_schema"] is None
    assert max(arguments, key=len, default="") in (request["context"] or "")


def test_what_is_shown_cannot_pretend_to_be_something_else() -> None:
    """Text of several lines is shown in lines, in a block that it cannot end."""
    told = ToolCall("1", "write", {"path": "a", "text": "one\n```\ntwo"}, "Writes.").told(form=False)
    assert told == 'Writes.\n\n```\n{\n  "path": "a"\n}\n```\n\n````\ntext:\n\none\n```\ntwo\n````'


def test_what_a_person_made_of_it() -> None:
    """Only what is another value; numbers that a browser made of others are not."""
    given = {"id": 12345678901234567891, "rate": 2.0, "flag": True, "rows": [1, {"n": 2.0}], "none": None, "left": ""}
    call = ToolCall("1", "add", given)
    back = {"id": 12345678901234567000, "rate": 2, "flag": True, "rows": [1, {"n": 2}], "none": None}
    assert decided(call, back).arguments is None
    changed = decided(call, {**back, "flag": 1, "rows": [1, {"n": 2}, 3]}).arguments
    assert changed == {**given, "flag": 1, "rows": [1, {"n": 2.0}, 3]}
    assert changed is not None
    assert changed["flag"] is not True
    assert isinstance(changed["rows"][1]["n"], float)


def test_a_call_is_known_by_its_run_its_id_and_what_it_does() -> None:
    """Its name is one that the server takes, and nothing else has it."""
    calls = [ToolCall("1", "a/b", {"n": 1}), ToolCall("2", "a/b", {"n": 1}), ToolCall("1", "a/b", {"n": True})]
    names = [call.identity(run) for call in calls for run in ("1", "2")]
    assert len(set(names)) == 6
    assert all(name.startswith("a-b-") and "/" not in name for name in names)
    assert ToolCall("1", "a/b", {"n": 1}, "changed").identity("1") == names[0]
