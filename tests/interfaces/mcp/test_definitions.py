"""What is said about the tools: in their schemas, in what reads the arguments, and in the page for people."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs

from interfaces.mcp.definitions import CANCEL, CHECK, DEFINITIONS, HUMAN_FEEDBACK, OUTCOMES, RESULT
from interfaces.mcp.results import result_of
from interfaces.mcp.tools import Tools
from tests.interfaces.mcp.test_tools import OPEN, SEALED, FakeBackend

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "mcp.md").read_text(encoding="utf-8")

WHOLE: dict[str, dict[str, Any]] = {
    HUMAN_FEEDBACK.name: {
        "message_for_user": "?",
        "unique_id": "q",
        "options": ["a"],
        "response_schema": {"type": "object"},
        "request_type": "approval",
        "context": "c",
        "priority": 1,
        "secret": False,
        "run_id": "r",
        "run_step_id": "s",
        "run_user": "u",
        "timeout_seconds": 30,
        "expires_in_seconds": 60.5,
    },
    CHECK.name: {"unique_id": "q", "wait_seconds": 1},
    CANCEL.name: {"unique_id": "q", "reason": "r"},
}


async def test_every_argument_of_the_schemas_is_read() -> None:
    """And the schemas accept what is read."""
    backend = FakeBackend()
    backend.let_go.set()
    for name, arguments in WHOLE.items():
        schema = DEFINITIONS[name].arguments
        assert arguments.keys() == schema["properties"].keys()
        jsonschema_rs.validate(schema, arguments)
        if name != CANCEL.name:
            await Tools(backend).call(name, arguments)
    asked = {name: value for name, value in WHOLE[HUMAN_FEEDBACK.name].items() if name != "timeout_seconds"}
    assert backend.calls[0] == ("create", {"message": asked.pop("message_for_user")} | asked)


def test_results_fit_their_schema() -> None:
    """Whatever became of the request."""
    cancelled = {"by": "alice", "reason": None, "at": "then"}
    for view in (
        OPEN,
        SEALED,
        OPEN | {"status": "Expired", "closed_at": "then"},
        OPEN | {"status": "Cancelled", "closed_at": "then", "cancelled": cancelled},
    ):
        jsonschema_rs.validate(RESULT, result_of(view).structured)


def test_the_page_names_every_tool_argument_and_outcome() -> None:
    """And no other; its example of a result is one."""
    rows = [re.findall(r"`([^`]+)`", first) for first in re.findall(r"^\| (`.*?`) \|", PAGE, re.M)]
    named = {name for row in rows for name in row}
    arguments = set(HUMAN_FEEDBACK.arguments["properties"]) - {"message_for_user", "unique_id"}
    assert named == arguments | set(DEFINITIONS) | set(OUTCOMES) | {"outcome"}
    for definition in DEFINITIONS.values():
        assert all(f"`{name}`" in PAGE for name in definition.arguments["properties"])
    examples = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.S)]
    jsonschema_rs.validate(RESULT, examples[-1])
