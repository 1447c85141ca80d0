"""The modal in which a request is answered: its form in Slack's elements, what was filled in, what is wrong there.

A form of which anything cannot be shown in Slack as it is meant is not shown there at all. What a modal lets through
is no answer yet: that is checked as anywhere else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from application.requests import Reply
from domain.answers import ABSENT, Question, is_sealed
from domain.errors import FieldError
from domain.request import Request
from domain.request_types import REQUEST_TYPES
from domain.text import is_blank, join_path, json_equal
from domain.wording import clipped
from interfaces.slack.mrkdwn import pieces

CALLBACK = "answer"

_ACTION = "value"
_LABEL, _OPTION, _ERROR = 2000, 75, 150
_MESSAGE, _TYPED = 2000, 3000
_OPTIONS, _PROPERTIES = 100, 40

_VIEW = 200_000
"""Characters of the whole view as JSON. Slack takes 250,000."""

_ONE_LINE = 150
"""A text that may be longer gets a field of several lines."""

_DIGITS = 16
"""A bound of more characters is left to the check of the answer: Slack may not read it exactly."""

_BRANCHING = frozenset({
    *("$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "not", "if", "then", "else", "const"),
    *("dependentSchemas", "dependentRequired", "dependencies", "patternProperties", "propertyNames"),
    *("contains", "prefixItems", "contentEncoding", "contentMediaType"),
})  # fmt: skip
"""What makes of a schema more than a list of plain fields, or of a property more than one of these."""

_NUMBER = re.compile(r"-?[0-9]{1,100}(\.[0-9]{1,100})?([eE][+-]?[0-9]{1,3})?", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]{1,100}", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_EMAIL = re.compile(r"[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+", re.ASCII)
_CHANGED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""What might not come back from Slack as it was sent."""


def form(request: Request, *, url: str) -> dict[str, Any] | None:
    """The modal in which this request is answered; None where Slack cannot show its form (the page of the request can).

    A sealed answer is given on the page only. `url` is where Handraise is.
    """
    fields = _fields(request)
    if not fields:
        return None
    shown, rest = pieces((request.asked.message or "").lstrip(), _MESSAGE, 1)
    more = f"… {rest:,} more {'character' if rest == 1 else 'characters'} · " if rest else ""
    link = _mrkdwn(f"{more}<{url}/requests/{request.id}|Open in Handraise>")
    view = {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": str(request.id),
        "title": _plain(REQUEST_TYPES.get(request.asked.request_type, "Answer")),
        "submit": _plain("Send"),
        "close": _plain("Cancel"),
        "blocks": [
            *({"type": "section", "text": _mrkdwn(piece)} for piece in shown),
            {"type": "context", "elements": [link]},
            *(field.as_block for field in fields),
        ],
    }
    return view if len(json.dumps(view)) <= _VIEW else None


def reply_of(request: Request, values: Mapping[str, Any]) -> Reply:
    """What was filled in: `values` is view["state"]["values"] as Slack sends it.

    Whatever makes no sense there counts as not filled in.
    """
    fields = _fields(request)
    given = {field.name: value for field in fields if (value := field.read(values)) is not ABSENT}
    if request.question.kind in ("form", "approval") and fields:
        return Reply(data=given)
    return Reply(text=given.get("text"))


def errors_at(request: Request, errors: Sequence[FieldError]) -> dict[str, str]:
    """What is wrong, by block_id, for `response_action: errors`; what belongs to no shown field stands at the first.

    Empty where nothing is wrong, or the request has no modal.
    """
    fields = _fields(request)
    if not fields:
        return {}
    found: dict[str, list[str]] = {}
    for error in errors:
        at = next((field for field in fields if field.holds(error.path)), None)
        name = error.path.removeprefix("data/")
        message = error.message if at is not None or name in ("", "data", "text") else f"{name}: {error.message}"
        said = found.setdefault((at or fields[0]).block, [])
        if message not in said:
            said.append(message)
    return {block: clipped(" ".join(said), _ERROR) for block, said in found.items()}


# The fields of each kind of question


@dataclass(frozen=True, slots=True)
class _Input:
    """An element, and what its state means: `ABSENT` where nothing is given.

    `empty` is what nothing stands for where there must be a value; `ABSENT`: it has to be filled in.
    """

    element: dict[str, Any]
    read: Callable[[Mapping[str, Any]], Any]
    empty: Any = ABSENT


@dataclass(frozen=True, slots=True)
class _Field:
    """One thing to fill in. `path` is where errors name it."""

    block: str
    path: str
    name: str
    label: str
    input: _Input
    required: bool = True
    hint: str = ""

    @property
    def as_block(self) -> dict[str, Any]:
        block: dict[str, Any] = {
            "type": "input",
            "block_id": self.block,
            "label": _plain(self.label),
            "element": {**self.input.element, "action_id": _ACTION},
            "optional": not self.required or self.input.empty is not ABSENT,
        }
        return {**block, "hint": _plain(self.hint)} if self.hint else block

    def read(self, values: Mapping[str, Any]) -> Any:
        block = values.get(self.block)
        state = block.get(_ACTION) if isinstance(block, Mapping) else None
        value = self.input.read(state) if isinstance(state, Mapping) else ABSENT
        return self.input.empty if value is ABSENT and self.required else value

    def holds(self, path: str) -> bool:
        return path == self.path or path.startswith(f"{self.path}/")


def _fields(request: Request) -> list[_Field]:
    """What there is to fill in; nothing where it is not for Slack."""
    question = request.question
    if request.asked.sealed or is_sealed(question):
        return []
    match question.kind:
        case "form":
            return _of_schema(question.response_schema or {})
        case "options":
            options = question.options or ()
            select = _select([(option, option) for option in options])
            return [] if select is None else [_Field("text", "text", "text", "Answer", select)]
        case "approval":
            return _of_approval(question)
        case "review":
            return [_Field("text", "text", "text", "Feedback", _text_input())]
        case "text":
            return [_Field("text", "text", "text", "Answer", _text_input())]


def _of_approval(question: Question) -> list[_Field]:
    labels = question.labels
    decision = _select([(labels.approve, True), (labels.reject, False)], kind="radio_buttons")
    if decision is None:
        return []
    return [
        _Field("approved", "data/approved", "approved", "Decision", decision),
        _Field("note", "data/note", "note", "Note", _text_input(), required=False),
    ]


def _of_schema(schema: Mapping[str, Any]) -> list[_Field]:
    """Its properties, where each of them and nothing else is to be filled in."""
    properties, required = schema.get("properties"), schema.get("required", [])
    if schema.get("type", "object") != "object" or not schema.keys().isdisjoint(_BRANCHING | {"enum", "oneOf"}):
        return []
    if not isinstance(properties, Mapping) or not 1 <= len(properties) <= _PROPERTIES:
        return []
    if not isinstance(required, list) or any(name not in properties for name in required):
        return []
    fields: list[_Field] = []
    for number, (name, declared) in enumerate(properties.items()):
        found = _input(declared)
        if found is None:
            return []
        label = _line(declared.get("title"), _LABEL) or _line(name, _LABEL) or f"Field {number + 1}"
        hint = _cut(declared.get("description"), _LABEL)
        path = join_path("data", name)
        fields.append(_Field(f"field:{number}", path, name, label, found, name in required, hint))
    return fields


# The inputs of properties


def _input(schema: Any) -> _Input | None:
    """None where no element of Slack's is this property."""
    if not isinstance(schema, Mapping) or not schema.keys().isdisjoint(_BRANCHING | {"properties"}):
        return None
    if schema.get("readOnly") is True:
        return None
    if "enum" in schema or "oneOf" in schema:
        choices = _choices(schema)
        return None if choices is None else _select(choices, schema.get("default", ABSENT))
    kind, nullable = _type(schema)
    found: _Input | None = None
    match kind:
        case "string":
            found = _string(schema)
        case "integer" | "number":
            found = _number_input(schema, whole=kind == "integer")
        case "boolean":
            found = _select([("Yes", True), ("No", False)], schema.get("default", ABSENT))
        case "array":
            found = _several(schema)
    # Schemas made for language models require every property, and have null for what may be missing.
    return replace(found, empty=None) if found is not None and nullable and found.empty is ABSENT else found


def _type(schema: Mapping[str, Any]) -> tuple[str | None, bool]:
    """The one type besides null, and whether there is null; None where there is no such type."""
    declared = schema.get("type")
    if isinstance(declared, list):
        others = [each for each in declared if each != "null"]
        return (others[0], "null" in declared) if len(others) == 1 else (None, False)
    return (declared, False) if isinstance(declared, str) else (None, False)


def _string(schema: Mapping[str, Any]) -> _Input | None:
    default = schema.get("default")
    match schema.get("format"):
        case "date":
            return _Input({"type": "datepicker", **_given("initial_date", _day(default))}, _read_date)
        case "date-time":
            return _Input({"type": "datetimepicker", **_given("initial_date_time", _seconds(default))}, _read_instant)
        case "email":
            fits = isinstance(default, str) and _EMAIL.fullmatch(default)
            return _Input({"type": "email_text_input", **_given("initial_value", default if fits else None)}, _typed)
        case "data-url":  # a file
            return None
        case other:
            least, most = _whole(schema.get("minLength")) or 0, _whole(schema.get("maxLength"))
            if least > _TYPED:
                return None
            return _text_input(default, least, most, lines=other is None and (most is None or most > _ONE_LINE))


def _text_input(default: Any = None, least: int = 0, most: int | None = None, *, lines: bool = True) -> _Input:
    most = _TYPED if not most or most > _TYPED else most
    element: dict[str, Any] = {"type": "plain_text_input", "multiline": lines, "max_length": most}
    if 0 < least <= most:
        element["min_length"] = least
    if (
        isinstance(default, str)
        and len(default) >= max(least, 1)
        and _width(default) <= most
        and not _CHANGED.search(default)
        and (lines or "\n" not in default)
    ):
        element["initial_value"] = default
    return _Input(element, _typed)


def _number_input(schema: Mapping[str, Any], *, whole: bool) -> _Input:
    least, most = _bound(schema.get("minimum"), whole, math.ceil), _bound(schema.get("maximum"), whole, math.floor)
    if least is not None and most is not None and least > most:
        least = most = None
    default = _bound(schema.get("default"), False)
    if default is not None and (
        (whole and default % 1 != 0) or (least is not None and default < least) or (most is not None and default > most)
    ):
        default = None
    bounds = {"min_value": least, "max_value": most, "initial_value": default}
    written = {name: _written(value) for name, value in bounds.items() if value is not None}
    known = {name: text for name, text in written.items() if len(text) <= _DIGITS}
    return _Input({"type": "number_input", "is_decimal_allowed": not whole, **known}, _read_number)


def _several(schema: Mapping[str, Any]) -> _Input | None:
    items = schema.get("items")
    if not isinstance(items, Mapping) or not items.keys().isdisjoint(_BRANCHING | {"properties"}):
        return None
    choices = _choices(items)
    options = None if choices is None else _options([text for text, _ in choices])
    if choices is None or options is None:
        return None
    values = [value for _, value in choices]
    element: dict[str, Any] = {"type": "multi_static_select", "options": options}
    most = _whole(schema.get("maxItems")) or len(options)
    if most < len(options):
        element["max_selected_items"] = most
    default = schema.get("default")
    if isinstance(default, list):
        at = [_index(values, value) for value in default]
        if None not in at and 0 < len(set(at)) == len(at) <= most:
            element["initial_options"] = [options[each] for each in at if each is not None]
    return _Input(element, _read_several(values), ABSENT if _whole(schema.get("minItems")) else [])


def _select(choices: Sequence[tuple[str, Any]], default: Any = ABSENT, *, kind: str = "static_select") -> _Input | None:
    options = _options([text for text, _ in choices])
    if options is None:
        return None
    values = [value for _, value in choices]
    element: dict[str, Any] = {"type": kind, "options": options}
    if default is not ABSENT and (at := _index(values, default)) is not None:
        element["initial_option"] = options[at]
    return _Input(element, _read_one(values))


def _choices(schema: Mapping[str, Any]) -> list[tuple[str, Any]] | None:
    """What the values of an `enum`, or a `oneOf` of constants, are called, and they themselves."""
    enum, branches = schema.get("enum"), schema.get("oneOf")
    if isinstance(enum, list) and branches is None:
        return [(_called(value), value) for value in enum] if all(map(_is_scalar, enum)) else None
    if not isinstance(branches, list) or enum is not None:
        return None
    choices: list[tuple[str, Any]] = []
    for branch in branches:
        if not isinstance(branch, Mapping) or branch.keys() - {"const", "title", "description", "type", "$comment"}:
            return None
        if "const" not in branch or not _is_scalar(branch["const"]):
            return None
        title = branch.get("title")
        choices.append((title if isinstance(title, str) else _called(branch["const"]), branch["const"]))
    return choices


def _options(texts: Sequence[str]) -> list[dict[str, Any]] | None:
    """None where Slack takes no such number of them, or two would look the same."""
    shown = [_line(text, _OPTION) or "(empty)" for text in texts]
    if not 1 <= len(shown) <= _OPTIONS or len(set(shown)) < len(shown):
        return None
    return [{"text": _plain(text), "value": str(index)} for index, text in enumerate(shown)]


# What was filled in


def _typed(state: Mapping[str, Any]) -> Any:
    value = state.get("value")
    return value if isinstance(value, str) and value else ABSENT


def _read_number(state: Mapping[str, Any]) -> Any:
    """The number; the text where it is none, or where digits would be lost: the check then says what is wrong."""
    typed = _typed(state)
    text = typed.strip() if isinstance(typed, str) else ""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        number = float(text)
        if math.isfinite(number) and Decimal(repr(number)) == Decimal(text):
            return number
    return typed


def _read_date(state: Mapping[str, Any]) -> Any:
    value = state.get("selected_date")
    return value if isinstance(value, str) and value else ABSENT


def _read_instant(state: Mapping[str, Any]) -> Any:
    value = state.get("selected_date_time")
    if not isinstance(value, int) or isinstance(value, bool):
        return ABSENT
    try:
        return datetime.fromtimestamp(value, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return ABSENT


def _read_one(values: Sequence[Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda state: _picked(state.get("selected_option"), values)


def _read_several(values: Sequence[Any]) -> Callable[[Mapping[str, Any]], Any]:
    def read(state: Mapping[str, Any]) -> Any:
        options = state.get("selected_options")
        if not isinstance(options, list):
            return ABSENT
        picked = [value for option in options if (value := _picked(option, values)) is not ABSENT]
        return picked or ABSENT

    return read


def _picked(option: Any, values: Sequence[Any]) -> Any:
    at = option.get("value") if isinstance(option, Mapping) else None
    return {str(index): value for index, value in enumerate(values)}.get(at, ABSENT) if isinstance(at, str) else ABSENT


# Values of schemas


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _called(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _index(values: Sequence[Any], wanted: Any) -> int | None:
    return next((index for index, value in enumerate(values) if json_equal(value, wanted)), None)


def _whole(value: Any) -> int | None:
    """A length or count; JSON Schema may write it as 2.0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value)


def _bound(value: Any, whole: bool, rounded: Callable[[int | float], int] = int) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return rounded(value) if whole else value


def _written(value: int | float) -> str:
    """With neither exponent nor digits that say nothing."""
    text = format(Decimal(repr(value or 0)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _day(value: Any) -> str | None:
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return None
    try:
        date.fromisoformat(value)
    except ValueError:
        return None
    return value


def _seconds(value: Any) -> int | None:
    """As Slack takes an instant: ten digits, hence none before 2001."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        seconds = at.timestamp() if at is not None and at.tzinfo is not None else 0
    except (ValueError, OverflowError):
        return None
    return int(seconds) if 10**9 <= seconds < 10**10 and seconds == int(seconds) else None


def _given(name: str, value: Any) -> dict[str, Any]:
    return {} if value is None else {name: value}


def _width(text: str) -> int:
    """How long Slack finds it at most: an emoji may count as two."""
    return sum(1 + (each > "\uffff") for each in text)


# Texts


def _line(text: Any, most: int) -> str:
    """In one line, escaped, of at most so many characters as Slack counts; "" where there is nothing to see."""
    return _cut(" ".join(text.split()) if isinstance(text, str) else "", most)


def _cut(text: Any, most: int) -> str:
    if not isinstance(text, str) or is_blank(text):
        return ""
    text = text.strip()
    found, rest = pieces(text, most, 1)
    return f"{pieces(text, most - 1, 1)[0][0]}…" if rest else found[0]


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _mrkdwn(text: str) -> dict[str, Any]:
    # Verbatim: what looks like a name, as @channel, must not be made a mention of.
    return {"type": "mrkdwn", "text": text, "verbatim": True}
