"""The tools as a model sees them: names, descriptions, and the schemas of arguments and results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SHORTEST_WAIT, LONGEST_WAIT, USUAL_WAIT = 30.0, 86_400.0, 300.0
"""Seconds that a call of `human_feedback` waits: what is shorter or longer is brought within these."""

OUTCOMES = ("approved", "rejected", "answered", "expired", "cancelled", "open")


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool."""

    name: str
    title: str
    description: str
    arguments: dict[str, Any]
    """JSON Schema of its arguments."""
    only_reads: bool


_UNIQUE_ID = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "Your own name for this request, such as deploy-2041. The same unique_id is the same request: "
    "after a lost connection or a result `open`, use it again. Use a new one for a new question.",
}

_ASK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message_for_user": {
            "type": "string",
            "description": "The question, as the person reads it. Markdown. They see nothing else of your work.",
        },
        "unique_id": _UNIQUE_ID,
        "options": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 50,
            "description": "Different texts, one of which the person chooses. Not together with response_schema.",
        },
        "response_schema": {
            "anyOf": [{"type": "object"}, {"type": "string"}],
            "description": "JSON Schema (2020-12) of the answer, as an object or as its JSON text; the person gets a "
            "form made from it. Not together with options.",
        },
        "request_type": {
            "type": "string",
            "description": "What kind of answer is wanted: `approval` (yes or no), `review` (approved, or feedback), "
            "`clarification`, `data-input`, `error-resolution`, or a type of this organisation. Usually not needed "
            "beside options or response_schema; without any of them the answer is text.",
        },
        "context": {"type": "string", "description": "What the person needs to know to answer. Markdown."},
        "priority": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "description": "1 is the most urgent; 50 if absent.",
        },
        "secret": {
            "type": "boolean",
            "description": "Seal the answer, for passwords and one-time codes: nobody else can read it, it is returned "
            "once and then destroyed.",
        },
        "run_id": {"type": "string", "description": "The run in which you ask."},
        "run_step_id": {"type": "string", "description": "The step of that run."},
        "run_user": {"type": "string", "description": "The id of the user for whom you work."},
        "timeout_seconds": {
            "type": "number",
            "default": USUAL_WAIT,
            "description": f"How long this call waits for the answer, {SHORTEST_WAIT:.0f} to {LONGEST_WAIT:.0f} "
            "seconds; what is less or more is brought within these. When it is over, the request stays open and the "
            "outcome is `open`.",
        },
        "expires_in_seconds": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "How long the request itself lives; nobody can answer afterwards. Not how long this call "
            "waits. Usually leave it out.",
        },
    },
    "required": ["message_for_user", "unique_id"],
    "additionalProperties": False,
}

_CHECK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "unique_id": _UNIQUE_ID | {"description": "The unique_id that the request was asked with."},
        "wait_seconds": {
            "type": "number",
            "default": 0,
            "description": f"How long to wait if there is no answer yet, 0 to {LONGEST_WAIT:.0f} seconds.",
        },
    },
    "required": ["unique_id"],
    "additionalProperties": False,
}

_CANCEL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "unique_id": _UNIQUE_ID | {"description": "The unique_id that the request was asked with."},
        "reason": {"type": "string", "description": "Why, for the people who were asked."},
    },
    "required": ["unique_id"],
    "additionalProperties": False,
}

RESULT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "outcome": {
            "type": "string",
            "enum": list(OUTCOMES),
            "description": "approved or rejected: a person decided. answered: a person answered. expired: nobody "
            "answered in time, which is neither an approval nor a rejection. cancelled: the request was withdrawn, "
            "nobody answered. open: nobody has answered yet, and somebody still may.",
        },
        "text": {"type": ["string", "null"], "description": "The answer in text, exactly as given."},
        "data": {"description": "The answer as data: for a form, an approval, or a choice."},
        "by": {"type": ["string", "null"], "description": "Who answered or cancelled."},
        "at": {"type": ["string", "null"], "description": "When the request was closed: RFC 3339, UTC."},
        "request_id": {"type": "string"},
        "unique_id": {"type": "string"},
    },
    "required": ["outcome", "text", "data", "by", "at", "request_id", "unique_id"],
    "additionalProperties": False,
}
"""JSON Schema of every tool's structured result."""

HUMAN_FEEDBACK = Definition(
    "human_feedback",
    "Ask a person",
    "Ask a person and wait for the answer: an approval, a choice, a form, or free text. The right person is found and "
    "told. When you ask for permission, only the outcome `approved` gives it: `rejected` is a refusal, and `expired`, "
    "`cancelled` and `open` mean that nobody decided. If the call ends without an answer or the connection is lost, "
    "nothing is lost: call again with the same arguments and go on waiting.",
    _ASK,
    only_reads=False,
)
CHECK = Definition(
    "check_human_feedback",
    "Look for the answer",
    "What has become of a request that was asked before with human_feedback; waits for its answer if wait_seconds is "
    "given. Changes nothing.",
    _CHECK,
    only_reads=True,
)
CANCEL = Definition(
    "cancel_human_feedback",
    "Withdraw a request",
    "Withdraw a request that is not needed any more: nobody can answer it afterwards, and it cannot be asked again "
    "under the same unique_id. What is answered already stays answered.",
    _CANCEL,
    only_reads=False,
)

DEFINITIONS = {tool.name: tool for tool in (HUMAN_FEEDBACK, CHECK, CANCEL)}
