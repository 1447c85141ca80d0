"""Calls of tools that an agent's framework holds back until a person has decided: shown, asked about, and read back.

Frameworks tell of a call as data, with the JSON Schema of its arguments if at all. `CallForm` is for functions.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard, cast

from handraise import flows
from handraise.answers import Answer
from handraise.call_form import is_sealing, same
from handraise.connection import Connection
from handraise.runs import current_run
from handraise.steps import Flow
from handraise.types import CallOptions, Request

_REFERENCE = re.compile(r"#/\$defs/([^/~%]+)")
LARGEST_FORM = 60_000
"""Characters. Servers take 64 KiB, unless they are set otherwise; what a person is told may be much longer."""
_LINES = {"ui:widget": "textarea"}


@dataclass(frozen=True)
class ToolCall:
    """One call. `id` is the framework's name for it, the same whenever its run is taken up again.

    `arguments` are JSON: an object, or whatever else the tool takes. `schema` is the JSON Schema of such an object;
    an argument that it does not know is a field of the kind of its value. `metadata` is what the agent says besides.
    """

    id: str
    name: str
    arguments: Any
    description: str | None = None
    schema: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None

    def identity(self, run_id: str) -> str:
        """A `unique_id` that this call has in this run, and no other call has."""
        told = json.dumps([self.name, self.id, self.arguments, run_id], sort_keys=True)
        return f"{re.sub(r'[^a-zA-Z0-9_-]', '-', self.name)[:64]}-{hashlib.sha256(told.encode()).hexdigest()[:32]}"

    @cached_property
    def fields(self) -> dict[str, Any]:
        """The schema of each argument that a person may change. Not of secrets: those would seal the whole answer."""
        if not isinstance(self.arguments, Mapping):
            return {}
        others = {name: _schema_of_value(value) for name, value in self.arguments.items() if name not in self._models}
        fields = {name: self._properties[name] for name in self._models} | others
        return {
            name: field
            for name, field in fields.items()
            if not self._is_secret(name) and not is_sealing(self.arguments.get(name))
        }

    def form(self) -> dict[str, Any]:
        """The JSON Schema of the decision: `approved`, and the arguments, filled in as they were given."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                "approved": {"type": "boolean", "title": "Approve"},
                "arguments": {
                    "type": "object",
                    "title": "Arguments",
                    "properties": {
                        name: {**field, "default": self.arguments[name]} if name in self.arguments else field
                        for name, field in self.fields.items()
                    },
                    # A value that is taken out of the form must not come back as the one that was there.
                    "required": [name for name in self.fields if self.arguments.get(name) not in (None, "", [], {})],
                    "additionalProperties": False,
                },
                "reason": {"type": "string", "title": "Reason", "description": "Why not, or a note."},
            },
            "required": ["approved"],
            "additionalProperties": False,
        }
        models = sorted(set().union(*(self._models.get(name, ()) for name in self.fields)))
        return schema | ({"$defs": {model: self._defined[model] for model in models}} if models else {})

    def hints(self) -> dict[str, Any]:
        """The UI schema of that form: text of several lines is shown in several lines."""
        long = [name for name in self.fields if _is_long(self.arguments.get(name))]
        return {"arguments": dict.fromkeys(long, _LINES), "reason": _LINES}

    def told(self, *, form: bool) -> str | None:
        """In Markdown, what a person sees beside the form, or instead of it: all but what it holds, and secrets."""
        parts = [self.description]
        if isinstance(self.arguments, Mapping):
            left_out = [name for name in self.arguments if self._is_secret(name) or (form and name in self.fields)]
            parts += written({name: value for name, value in self.arguments.items() if name not in left_out})
        else:
            parts.append(_block(self.arguments if isinstance(self.arguments, str) else _json(self.arguments)))
        if self.metadata:
            parts += ["From the agent:", *written(self.metadata)]
        return "\n\n".join(part for part in parts if part) or None

    def decided(self, answer: Answer) -> Decision:
        """What the person decided. Arguments that they left as they were are the very values that were given."""
        data: Mapping[str, Any] = answer.data or {}
        given: Mapping[str, Any] = data.get("arguments") or {}
        shown = {name: field["default"] for name, field in self.fields.items() if "default" in field}
        shown |= {name: value for name, value in self.arguments.items() if name in self.fields}
        values = {name: _as_shown(value, shown.get(name)) for name, value in given.items()}
        changed = {name: value for name, value in values.items() if name not in shown or not same(value, shown[name])}
        return Decision(
            approved=answer.outcome == "approved",
            arguments={**self.arguments, **changed} if changed else None,
            reason=data.get("reason") or data.get("note"),
        )

    def _is_secret(self, name: str) -> bool:
        return is_sealing([self._properties.get(name), *(self._defined[model] for model in self._models.get(name, ()))])

    @cached_property
    def _models(self) -> dict[str, set[str]]:
        """The properties that a form can take over, each with the definitions that it refers to."""
        found = {name: _models_in(field, self._defined) for name, field in self._properties.items()}
        return {name: models for name, models in found.items() if models is not None}

    @property
    def _properties(self) -> Mapping[str, Any]:
        return (self.schema or {}).get("properties") or {}

    @property
    def _defined(self) -> Mapping[str, Any]:
        return (self.schema or {}).get("$defs") or {}


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about a call. `arguments` are all of them, None if they stay as they were."""

    approved: bool
    arguments: dict[str, Any] | None
    reason: str | None

    @property
    def refusal(self) -> str:
        """What a model is told that made a call which was rejected."""
        said = "A person refused this call. It did not run."
        return said if self.reason is None else f"{said} They say: {self.reason}"


def ask_approval(
    client: Connection, call: ToolCall, *, may_change: bool, run_id: str | None, options: CallOptions
) -> Flow[Request]:
    """Ask whether a call may run, without waiting; `may_change` says whether with other arguments, too."""
    question: dict[str, Any] = {"request_type": "approval"}
    form = call.form() if may_change and call.fields else None
    if form is not None and len(json.dumps(form)) <= LARGEST_FORM:
        question |= {"response_schema": form, "ui_schema": call.hints()}
    told = call.told(form="response_schema" in question)
    return (yield from ask(client, call, f"May `{call.name}` run?", told, run_id=run_id, options=options, **question))


def ask(
    client: Connection,
    call: ToolCall,
    message: str,
    told: str | None,
    *,
    run_id: str | None,
    options: CallOptions,
    **question: Any,
) -> Flow[Request]:
    """Ask about a call, once in this run. Without a run each time that it is asked about is another one."""
    more: dict[str, Any] = {**options}
    more.pop("wait_seconds", None)
    run_id = run_id if run_id is not None else current_run()
    context = "\n\n".join(part for part in (more.pop("context", None), told) if part)
    return (
        yield from flows.create(
            client,
            message,
            unique_id=call.identity(run_id if run_id is not None else str(uuid.uuid4())),
            context=context or None,
            run_id=run_id,
            **question,
            **more,
        )
    )


def wait_seconds(options: CallOptions) -> float | None:
    """How long to wait for the answers. Raises `ValueError` for what is no time."""
    return flows.seconds(cast("float | None", options.get("wait_seconds", flows.WAIT_SECONDS)))


def _models_in(field: Any, defined: Mapping[str, Any]) -> set[str] | None:
    """The definitions that it refers to, at any depth; None where it refers to anything else, or says nothing."""
    if not isinstance(field, Mapping):
        return None
    models: set[str] = set()
    pending = list(_references(field))
    while pending:
        found = _REFERENCE.fullmatch(pending.pop())
        if found is None or found[1] not in defined:
            return None
        if found[1] not in models:
            models.add(found[1])
            pending += _references(defined[found[1]])
    return models


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from _references(each)


def _schema_of_value(value: Any) -> dict[str, Any]:
    """The JSON Schema of values like this one. Null says nothing about what else might stand there."""
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int | float):
        return {"type": "number"}
    if isinstance(value, str):
        return {"type": "string"}
    if isinstance(value, list):
        first, *others = [_schema_of_value(item) for item in value] or [{}]
        alike = first != {} and all(other == first for other in others)
        return {"type": "array", "items": first} if alike else {"type": "array"}
    if isinstance(value, Mapping):
        members = {name: _schema_of_value(member) for name, member in value.items()}
        return {"type": "object", "properties": members, "required": list(members)} if members else {"type": "object"}
    return {}


def _as_shown(given: Any, shown: Any) -> Any:
    """What came back of a value, with the numbers that nobody changed exactly as they were shown.

    Browsers keep 53 bits of a number, and no difference between 2.0 and 2.
    """
    if isinstance(given, Mapping) and isinstance(shown, Mapping):
        return {name: _as_shown(member, shown.get(name)) for name, member in given.items()}
    if isinstance(given, list) and isinstance(shown, list):
        return [*map(_as_shown, given, shown), *given[len(shown) :]]
    return shown if _is_number(given) and _is_number(shown) and float(given) == float(shown) else given


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def written(values: Mapping[str, Any]) -> list[str]:
    """In Markdown: as JSON, but text of several lines as it is."""
    short = {name: value for name, value in values.items() if not _is_long(value)}
    long = [_block(f"{name}:\n\n{value}") for name, value in values.items() if _is_long(value)]
    return ([_block(_json(short))] if short else []) + long


def _is_long(value: Any) -> bool:
    """Whether it is text that a single line cannot show."""
    return isinstance(value, str) and "\n" in value


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _block(text: str) -> str:
    """Text that is shown as it is, whatever is in it."""
    fence = "`" * max(3, *(len(run) + 1 for run in ["", *re.findall("`+", text)]))
    return f"{fence}\n{text}\n{fence}"
