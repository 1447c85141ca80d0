"""What a graph stops for, as questions to people, and their answers as what the graph takes.

Three shapes are known; whatever else a graph stops with is a question that is answered in text:

- of LangGraph's Agent Inbox: `{"action_request": {"action", "args"}, "config": {"allow_…"}, "description"}`, alone or
  in a list; the answer is a list of `{"type", "args"}`, one for each;
- of LangChain's `HumanInTheLoopMiddleware`: `{"action_requests", "review_configs"}`, and `{"decisions": […]}`;
- of the same middleware, for one call: `{"type": "tool_approval", "name", "args"}`, and one decision.

Nothing here needs LangGraph.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from handraise.answers import Answer
from handraise.errors import InvalidAnswer
from handraise.tool_calls import LARGEST_FORM, ToolCall, written

_MESSAGES = ("message", "question", "query")
"""Which text of a mapping is its question, in this order."""

_TITLES = {
    "accept": "Run as it is",
    "approve": "Run as it is",
    "edit": "Run with changed arguments",
    "response": "Answer instead",
    "respond": "Answer instead",
    "ignore": "Ignore",
    "reject": "Do not run",
}
"""What a person reads for each decision, in the order in which they are shown."""
_ANSWER: Mapping[str, Any] = {"type": "string", "title": "Answer", "minLength": 1}
_TEXTS: Mapping[str, Mapping[str, Any]] = {
    "response": _ANSWER,
    "respond": _ANSWER,
    "reject": {"type": "string", "title": "Reason"},
}
_LINES = {"ui:widget": "textarea"}


@dataclass(frozen=True, slots=True)
class Question:
    """What one person is asked; answered in text where there is no `schema`. `value` is what the graph takes for it."""

    message: str
    context: str | None
    type: str | None
    schema: Mapping[str, Any] | None
    hints: Mapping[str, Any] | None
    value: Callable[[Answer], Any]


@dataclass(frozen=True, slots=True)
class Stop:
    """All that one interrupt asks. `resume` makes what the graph resumes with of the values, one for each question."""

    questions: list[Question]
    resume: Callable[[list[Any]], Any]


def stop_of(value: Any, response_schema: Mapping[str, Any] | None = None) -> Stop:
    """What an interrupt with this value asks.

    Raises `TypeError` for arguments that are no JSON, and `ValueError` for a call that a person may do nothing with.
    """
    if requests := _inbox_requests(value):
        return Stop([_inbox_question(request) for request in requests], list)
    if isinstance(value, Mapping) and "action_requests" in value and "review_configs" in value:
        configs = {config["action_name"]: config for config in value["review_configs"]}
        questions: list[Question] = []
        for request in value["action_requests"]:
            config = configs.get(request["name"], {})
            questions.append(
                _middleware_question(request, config.get("allowed_decisions", ()), config.get("args_schema"))
            )
        return Stop(questions, lambda decisions: {"decisions": decisions})
    if isinstance(value, Mapping) and value.get("type") == "tool_approval" and response_schema is not None:
        decisions = _decisions_in(response_schema)
        return Stop([_middleware_question(value, decisions, _schema_of_edits(decisions, response_schema))], _only)
    return Stop([_plain_question(value, response_schema)], _only)


def _only(values: list[Any]) -> Any:
    return values[0]


# -- calls that wait for a decision


def _inbox_requests(value: Any) -> list[Mapping[str, Any]]:
    """None, where it is something else."""
    requests: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
    is_each = all(isinstance(each, Mapping) and {"action_request", "config"} <= each.keys() for each in requests)
    return requests if is_each else []


def _inbox_question(request: Mapping[str, Any]) -> Question:
    action, config = request["action_request"], request["config"]
    allowed = {"accept": "allow_accept", "edit": "allow_edit", "response": "allow_respond", "ignore": "allow_ignore"}
    decisions = [decision for decision, key in allowed.items() if config.get(key)]

    def value(decision: str, arguments: Any, text: str | None) -> Any:
        edited = {"action": action["action"], "args": arguments}
        return {"type": decision, "args": edited if decision == "edit" else text}

    call = _call(action["action"], action["args"], request.get("description"))
    return _question(call, decisions, value, unchanged="accept")


def _middleware_question(
    request: Mapping[str, Any], decisions: Collection[str], schema: Mapping[str, Any] | None
) -> Question:
    name, arguments = request["name"], request["args"]

    def value(decision: str, arguments: Any, text: str | None) -> Any:
        if decision == "edit":
            return {"type": "edit", "edited_action": {"name": name, "args": arguments}}
        return {"type": decision} | ({} if text is None else {"message": text})

    # What the middleware adds by itself says once more which call it is.
    description = (request.get("description") or "").removesuffix(f"\n\nTool: {name}\nArgs: {arguments}")
    return _question(_call(name, arguments, description, schema), decisions, value, unchanged="approve")


def _call(name: str, arguments: Any, description: str | None, schema: Mapping[str, Any] | None = None) -> ToolCall:
    try:
        shown = json.loads(json.dumps(arguments, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(f"the arguments of {name} cannot be shown to a person: {error}") from None
    return ToolCall("", name, shown, description, schema)


def _question(
    call: ToolCall, allowed: Collection[str], value: Callable[[str, Any, str | None], Any], *, unchanged: str
) -> Question:
    """The question what to do with a call. An edit that changes nothing is the decision `unchanged`, if it may be."""
    form = call.form()
    can_edit = len(call.fields) > 0 and len(json.dumps(form)) <= LARGEST_FORM
    decisions = [decision for decision in _TITLES if decision in allowed and (can_edit or decision != "edit")]
    if not decisions:
        raise ValueError(f"a person can decide nothing about {call.name}: what it allows is {list(allowed)}")
    may_run = not {"accept", "approve", "edit"}.isdisjoint(decisions)
    message = f"May `{call.name}` run?" if may_run else f"`{call.name}` asks for an answer."
    told = call.told(form=False)
    if decisions in (["response"], ["respond"]):
        return Question(message, told, None, None, None, lambda answer: value(decisions[0], None, answer.text))

    def read(answer: Answer) -> Any:
        data = answer.data if isinstance(answer.data, Mapping) else {}
        decision, arguments = data.get("decision"), None
        if decision not in decisions:
            raise InvalidAnswer(
                f"the answer to {answer.unique_id!r} decides {decision!r}, which is none of {decisions}",
                request_id=answer.request_id,
                unique_id=answer.unique_id,
            )
        if decision == "edit":
            arguments = call.decided(answer).arguments
            if arguments is None and unchanged in decisions:
                decision = unchanged
        return value(decision, arguments or call.arguments, data.get("message") or None)

    schema = {
        "title": "What shall be done?",
        "oneOf": [_branch(decision, form["properties"]["arguments"]) for decision in decisions],
    }
    if "edit" in decisions and "$defs" in form:
        schema["$defs"] = form["$defs"]
    hints = {"arguments": call.hints()["arguments"], "message": _LINES}
    type = "approval" if may_run else None
    return Question(message, told, type, schema, {"oneOf": [hints] * len(decisions)}, read)


def _branch(decision: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What belongs to a decision, with its name: no form can hold what does not."""
    properties: dict[str, Any] = {"decision": {"const": decision}}
    required = ["decision"]
    if decision == "edit":
        properties["arguments"] = arguments
        required.append("arguments")
    if decision in _TEXTS:
        properties["message"] = _TEXTS[decision]
        required += ["message"] if "minLength" in _TEXTS[decision] else []
    return {
        "title": _TITLES[decision],
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _decisions_in(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The schema of each decision that an answer may be."""
    found: dict[str, Mapping[str, Any]] = {}
    for given in schema.get("oneOf", [schema]):
        decision = _resolved(given, schema)
        found[decision["properties"]["type"]["const"]] = decision
    return found


def _schema_of_edits(decisions: Mapping[str, Mapping[str, Any]], schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema of the arguments that an edit may give."""
    if "edit" not in decisions:
        return None
    action = _resolved(decisions["edit"]["properties"]["edited_action"], schema)
    return {**_resolved(action["properties"]["args"], schema), "$defs": schema.get("$defs", {})}


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return {**root["$defs"][name], **schema} if name else schema


# -- everything else


def _plain_question(value: Any, schema: Mapping[str, Any] | None) -> Question:
    message, rest = "The agent waits for an answer.", value
    if isinstance(value, str) and value.strip():
        message, rest = value, None
    elif isinstance(value, Mapping):
        key = next((key for key in _MESSAGES if isinstance(value.get(key), str) and value[key].strip()), None)
        if key is not None:
            message, rest = value[key], {name: each for name, each in value.items() if name != key}
    shown = rest if isinstance(rest, Mapping) or rest is None else {"value": rest}
    context = "\n\n".join(written(shown)) if shown else None
    if schema is None:
        return Question(message, context, None, None, None, lambda answer: answer.text)
    return Question(message, context, None, schema, None, lambda answer: answer.data)
