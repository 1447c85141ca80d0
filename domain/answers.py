"""What an answer is.

A person answers through two kinds of channel: structured (`respond {text?, data?}`, the web form) and plain
text (submit, Slack, the command line). Both end in the same `Answer`, so the same decision is the same answer
wherever it was made. Which question takes which answer, in this order:

- a response schema: `data` that satisfies it; the outcome comes from a top-level boolean `approved`;
- options: one of them; `text` is the option exactly as asked, `data` is `{index, option}`;
- an approval: `data {approved, note?}`;
- a review: text; exactly the approve label approves, anything else is the feedback;
- everything else: text, kept exactly as sent.

What is not plainly an answer is refused with `Invalid`, never guessed. Refusals say what is expected and, for
a sealed question, never repeat anything that was sent. Their paths start at "text" or "data".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, NoReturn, Protocol, cast
from unicodedata import normalize
from urllib.parse import unquote

from domain.errors import FieldError, Invalid
from domain.text import is_blank, join_path, json_depth, json_equal, text_errors

MAX_DEPTH = 64
"""How deeply an answer's data may be nested."""
MAX_OPTIONS = 50

Outcome = Literal["approved", "rejected", "answered"]

_YES = frozenset({"yes", "y", "true", "approve"})
_NO = frozenset({"no", "n", "false", "reject"})
_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,99}", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,99})\.[0-9]{1,100}", re.ASCII)
_ORDINAL = re.compile(r"[1-9][0-9]?", re.ASCII)
_OPTION_N = re.compile(r"option(0|[1-9][0-9]?)", re.ASCII)
_REF_HOPS = 32
_NESTED_CHOICES = 12  # branches on the way from a property to one of its values
_LISTING = 600  # characters of a list of choices in a message
_CHOICE = 80  # characters of one choice in a message


class Absent(Enum):
    """A value that was not sent; JSON's `null` is a value that was."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Labels:
    """What the two buttons of an approval or review say."""

    approve: str = "Approve"
    reject: str = "Reject"


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, as far as answers depend on it.

    `secret` is as asked; `is_sealed` says whether the answer is sealed. `response_schema` is an object that
    `SchemaValidator` accepts; `{}` takes any data.
    """

    request_type: str
    response_schema: Mapping[str, Any] | None = None
    options: tuple[str, ...] | None = None
    labels: Labels = Labels()
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """An accepted answer. `None` is absent; the answer `null` to a schema that takes it is also `None`."""

    outcome: Outcome
    text: str | None = None
    data: Any = None


class SchemaValidator(Protocol):
    """Checks data against a JSON Schema."""

    def errors(self, schema: Mapping[str, Any], data: Any, *, mask: bool) -> list[FieldError]:
        """Name every failing field with its path in `data` ("" is the whole); empty when the data is valid.

        With `mask`, neither paths nor messages hold anything that comes from `data`. Never raises.
        """
        ...


def read_answer(
    question: Question,
    *,
    text: str | None = None,
    data: Any = ABSENT,
    validator: SchemaValidator,
) -> Answer:
    """Read an answer from the structured channel. Raises `Invalid` for what is not plainly an answer.

    `data` that is `null` counts as absent, except where it is all that was sent and there is a schema. Text
    and data together are accepted only when both say the same; an approval's note then comes from the data.
    """
    if data is None and (text is not None or question.response_schema is None):
        data = ABSENT
    if data is ABSENT:
        if text is None:
            raise _refusal("", f"There is no answer here. {_expected(question)}")
        return read_text(question, text, validator)
    by_data = _read_data(question, data, validator)
    if text is not None and not _agree(question, read_text(question, text, validator), by_data):
        raise _refusal("text", "Text and data give different answers; send one of them.")
    return by_data


def read_text(question: Question, text: str, validator: SchemaValidator) -> Answer:
    """Read an answer from the text channel. Raises `Invalid` for what is not plainly an answer.

    Free text is kept exactly. Where a choice is typed (an option, yes or no, a number in a form), white space
    around it and the Unicode normal form do not count; an option that matches exactly comes first.
    """
    if errors := text_errors(text, "text"):
        raise Invalid(errors)
    if is_blank(text):
        raise _refusal("text", f"The answer is empty. {_expected(question)}")
    if question.response_schema is not None:
        return _text_for_schema(question, question.response_schema, text, validator)
    if question.options is not None:
        return _chosen(question.options, _option_index(question, question.options, text))
    if question.request_type == "approval":
        approved = _yes_or_no(question.labels, text)
        return Answer("approved" if approved else "rejected", data={"approved": approved})
    if question.request_type == "review":
        if text == question.labels.approve:
            # The label is the button, not feedback: an agent that reads `text` must not act on it.
            return Answer("approved")
        return Answer("rejected", text=text)
    return Answer("answered", text=text)


def is_sealed(question: Question) -> bool:
    """Whether the answer is sealed: asked as a secret, or with a password or write-only field in the schema.

    A field named "format" or "writeOnly" is only a name. Looking also where no schema belongs (`examples`)
    errs on the side of sealing.
    """
    return question.secret or any(
        schema.get("writeOnly") is True or schema.get("format") == "password"
        for schema in _schemas(question.response_schema)
    )


def field_names(schema: Mapping[str, Any] | None) -> frozenset[str]:
    """The names of fields that the schema itself mentions; they may be shown although an answer is sealed."""
    names: set[str] = set()
    for found in _schemas(schema):
        properties = found.get("properties")
        if isinstance(properties, dict):
            names.update(cast("dict[str, Any]", properties))
        required = found.get("required")
        if isinstance(required, list):
            names.update(name for name in cast("list[Any]", required) if isinstance(name, str))
    return frozenset(names)


def check_question(question: Question) -> list[FieldError]:
    """Name what is wrong with a question, apart from its schema's validity (`SchemaValidator` knows that)."""
    errors: list[FieldError] = []
    if is_blank(question.request_type):
        errors.append(FieldError("request_type", "The request type is empty."))
    schema: Any = question.response_schema
    if schema is not None and not isinstance(schema, Mapping):
        errors.append(FieldError("response_schema", "The response schema must be a JSON object."))
    if question.options is not None:
        if schema is not None:
            errors.append(FieldError("options", "Give either options or a response schema, not both."))
        errors.extend(_option_errors(question.options))
    return errors + _label_errors(question)


def default_type(schema: Mapping[str, Any] | None, options: tuple[str, ...] | None) -> str:
    """The request type of a request that names none. Options and free text are both clarifications."""
    return "data-input" if schema is not None and options is None else "clarification"


def same_answer(a: Answer, b: Answer) -> bool:
    """Whether two answers are the same one, so that sending it again is a repeat and not a late answer."""
    return a.outcome == b.outcome and a.text == b.text and json_equal(a.data, b.data)


# Reading data


def _read_data(question: Question, data: Any, validator: SchemaValidator) -> Answer:
    sealed = is_sealed(question)
    if json_depth(data) > MAX_DEPTH:
        raise _refusal("data", f"The data is nested more than {MAX_DEPTH} levels deep.")
    if errors := text_errors(data, "data"):
        if sealed:
            errors = [FieldError("data", "The data holds text or numbers that cannot be stored (NUL, NaN).")]
        raise Invalid(errors)
    if question.response_schema is not None:
        return _checked(question, question.response_schema, data, validator)
    if question.options is not None:
        return _chosen(question.options, _data_option(question.options, data))
    if question.request_type == "approval":
        return _approval(data)
    raise _refusal("data", f"This request takes text, not data. {_expected(question)}")


def _checked(question: Question, schema: Mapping[str, Any], data: Any, validator: SchemaValidator) -> Answer:
    if errors := validator.errors(schema, data, mask=is_sealed(question)):
        raise _invalid_data(errors)
    return _with_outcome(data)


def _with_outcome(data: Any) -> Answer:
    approved: Any = cast("dict[str, Any]", data).get("approved") if isinstance(data, dict) else None
    if approved is True:
        return Answer("approved", data=data)
    if approved is False:
        return Answer("rejected", data=data)
    return Answer("answered", data=data)


def _invalid_data(errors: list[FieldError]) -> Invalid:
    return Invalid([FieldError(f"data/{error.path}" if error.path else "data", error.message) for error in errors])


def _approval(data: Any) -> Answer:
    shape = "Send {approved: true or false, note?: text}."
    if not isinstance(data, dict):
        raise _refusal("data", shape)
    given = cast("dict[str, Any]", data)
    errors: list[FieldError] = []
    approved = given.get("approved")
    note = given.get("note")
    if not isinstance(approved, bool):
        errors.append(FieldError("data/approved", "This must be true or false."))
    if note is not None and not isinstance(note, str):
        errors.append(FieldError("data/note", "The note must be text."))
    if given.keys() - {"approved", "note"}:
        errors.append(FieldError("data", f"There are fields that an approval does not have. {shape}"))
    if errors:
        raise Invalid(errors)
    answer: dict[str, Any] = {"approved": approved}
    if isinstance(note, str) and not is_blank(note):
        answer["note"] = note
    return Answer("approved" if approved else "rejected", data=answer)


def _data_option(options: tuple[str, ...], data: Any) -> int:
    shape = f"Send {{index: 0 to {len(options) - 1}, option: its text}} or one of the two."
    if not isinstance(data, dict):
        raise _refusal("data", shape)
    given = cast("dict[str, Any]", data)
    if not given or given.keys() - {"index", "option"}:
        raise _refusal("data", shape)
    if "index" in given:
        index = _whole_number(given["index"])
        if index is None or not 0 <= index < len(options):
            raise _refusal("data/index", f"The index must be a whole number from 0 to {len(options) - 1}.")
        if "option" not in given:
            return index
        if given["option"] in options and given["option"] != options[index]:
            raise _refusal("data", "Index and option name different choices.")
    if given["option"] not in options:
        raise _refusal("data/option", _choose_one(options))
    return options.index(given["option"])


def _whole_number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def _agree(question: Question, by_text: Answer, by_data: Answer) -> bool:
    if question.response_schema is None and question.options is None and question.request_type == "approval":
        return by_text.outcome == by_data.outcome
    return same_answer(by_text, by_data)


# Reading choices and yes or no from text


def _chosen(options: tuple[str, ...], index: int) -> Answer:
    return Answer("answered", text=options[index], data={"index": index, "option": options[index]})


def _option_index(question: Question, options: tuple[str, ...], text: str) -> int:
    if text in options:
        return options.index(text)
    typed = text.strip()
    if typed in options:
        return options.index(typed)
    folded = _fold(text)
    alike = [index for index, option in enumerate(options) if _fold(option) == folded]
    if len(alike) == 1:
        return alike[0]
    if not alike:
        if _ORDINAL.fullmatch(typed) and int(typed) <= len(options):
            return int(typed) - 1
        numbered = _OPTION_N.fullmatch(folded)
        if numbered and int(numbered[1]) < len(options):
            return int(numbered[1])
    raise _refusal("text", _expected(question))


def _yes_or_no(labels: Labels, text: str) -> bool:
    folded = _fold(text)
    yes = folded in _YES or folded == _fold(labels.approve)
    no = folded in _NO or folded == _fold(labels.reject)
    if yes == no:  # neither, or labels that contradict the usual words
        raise _refusal("text", f"Answer {_quoted(labels.approve)} or {_quoted(labels.reject)} (or yes or no).")
    return yes


def _fold(text: str) -> str:
    """Text as compared in any case: full case folding, canonical normal form, no white space around it."""
    return normalize("NFC", normalize("NFC", text).casefold()).strip()


# Reading text for a schema


def _text_for_schema(question: Question, schema: Mapping[str, Any], text: str, validator: SchemaValidator) -> Answer:
    if text.lstrip(" \t\r\n").startswith("{"):
        return _checked(question, schema, _json_object(text), validator)
    field = _only_required(schema)
    if field is None:
        raise _refusal("text", "This form cannot be filled by a line of text; send its fields as a JSON object.")
    name, declared = field
    shape = _shape(declared, schema, _NESTED_CHOICES)
    if shape is None:
        raise _refusal("text", f"{_quoted(name)} is not a single plain value; send the fields as a JSON object.")
    candidates = list(_candidates(shape, text))
    if not candidates:
        raise _refusal("text", shape.expected(name))
    mask = is_sealed(question)
    failed: list[FieldError] = []
    fitting: list[Any] = []
    for candidate in candidates:
        if errors := validator.errors(schema, {name: candidate}, mask=mask):
            failed = errors
        else:
            fitting.append(candidate)
    if len(fitting) > 1 or (not fitting and len(candidates) > 1):
        raise _refusal("text", f"It is not clear what is meant for {_quoted(name)}; send it as a JSON object.")
    if not fitting:
        raise _invalid_data(failed)
    return _with_outcome({name: fitting[0]})


def _json_object(text: str) -> Any:
    try:
        data = json.loads(
            text,
            object_pairs_hook=_distinct_members,
            parse_constant=_not_json,
            parse_float=_finite,
        )
    except (ValueError, RecursionError):
        data = None
    if data is None or json_depth(data) > MAX_DEPTH:
        raise _refusal(
            "text",
            "This starts like a JSON object and is not one: check quotes, commas and brackets, that no name "
            f"stands twice, and that it is at most {MAX_DEPTH} levels deep.",
        )
    # An escaped NUL or surrogate becomes one only now. No path: it may hold names that are part of a secret.
    if text_errors(data):
        raise _refusal("text", "The JSON holds NUL characters or half surrogate pairs, which cannot be stored.")
    return data


def _distinct_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name stands twice")
    return members


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("out of range")
    return number


def _only_required(schema: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The one required property of a form and its schema, or `None` where there is not exactly one."""
    for layer in _layers(schema, schema):
        required = layer.get("required")
        if not isinstance(required, list):
            continue
        names = cast("list[str]", required)
        properties = layer.get("properties")
        if len(names) != 1 or not isinstance(properties, dict):
            return None
        name = names[0]
        declared: Any = cast("dict[str, Any]", properties).get(name)
        return (name, cast("dict[str, Any]", declared)) if isinstance(declared, dict) else None
    return None


@dataclass(frozen=True, slots=True)
class _Choice:
    value: Any
    title: str | None = None


@dataclass(frozen=True, slots=True)
class _Shape:
    """The scalar values that a property takes: any of `types`, or one of `choices`."""

    types: frozenset[str] = frozenset()
    choices: tuple[_Choice, ...] = ()

    def expected(self, name: str) -> str:
        if self.choices and not self.types:
            return _choose_one(tuple(choice.title or _written(choice.value) for choice in self.choices))
        kinds = {
            "integer": "a whole number such as 12",
            "number": "a number such as 12.5",
            "boolean": "true or false",
            "string": "text",
        }
        return f"{_quoted(name)} takes {' or '.join(kinds[kind] for kind in kinds if kind in self.types)}."


def _shape(schema: Mapping[str, Any], root: Mapping[str, Any], room: int) -> _Shape | None:
    """The scalars that `schema` plainly declares; `None` when it takes anything else or leaves it open."""
    types: frozenset[str] = frozenset()
    for layer in _layers(schema, root):
        for key in ("enum", "const", "oneOf", "anyOf", "allOf"):
            shape = _choice_shape(key, layer[key], root, room) if key in layer else None
            if shape is not None and (shape.choices or shape.types - {"null"}):
                return shape
        if "type" in layer:
            declared = layer["type"]
            named = cast("list[Any]", declared) if isinstance(declared, list) else [declared]
            types = frozenset(str(name) for name in named)
    return _Shape(types=types) if types <= _SCALARS and types - {"null"} else None


def _choice_shape(key: str, value: Any, root: Mapping[str, Any], room: int) -> _Shape | None:
    if key == "const":
        return _Shape(choices=(_Choice(value),)) if _is_scalar(value) else None
    if not isinstance(value, list) or not value:
        return None
    members = cast("list[Any]", value)
    if key == "enum":
        return _Shape(choices=tuple(_Choice(member) for member in members if _is_scalar(member)))
    if room <= 0 or (key == "allOf" and len(members) > 1):
        return None
    types: frozenset[str] = frozenset()
    choices: list[_Choice] = []
    for member in members:
        if not isinstance(member, dict):
            return None
        branch = cast("dict[str, Any]", member)
        if branch.get("type") == "null":
            types |= {"null"}
            continue
        shape = _shape(branch, root, room - len(members))
        if shape is None:
            return None
        title = branch.get("title")
        if "const" in branch and isinstance(title, str):
            shape = _Shape(choices=(_Choice(branch["const"], title),))
        types |= shape.types
        choices.extend(shape.choices)
    return _Shape(types=types, choices=tuple(choices))


def _candidates(shape: _Shape, text: str) -> Iterator[Any]:
    """The distinct values that the text plainly is, for the types and choices of `shape`."""
    typed = text.strip()
    found: list[Any] = []
    for value in (*_among(shape.choices, text, typed), *_typed_as(shape.types, text, typed)):
        if not any(json_equal(value, other) for other in found):
            found.append(value)
            yield value


def _among(choices: tuple[_Choice, ...], text: str, typed: str) -> list[Any]:
    # `null` is chosen by its title only: the text "null" may be meant as text.
    for attempt in (text, typed):
        by_value = [c.value for c in choices if c.value is not None and _written(c.value) == attempt]
        if by_value:
            return by_value
    return [choice.value for choice in choices if choice.title == typed]


def _typed_as(types: frozenset[str], text: str, typed: str) -> Iterator[Any]:
    # "null" for text that may be null is either; then the person has to use the form.
    if "string" in types and not ("null" in types and typed.casefold() in ("null", "none")):
        yield text
    if types & {"integer", "number"} and _INTEGER.fullmatch(typed):
        yield int(typed)
    if "number" in types and _NUMBER.fullmatch(typed):
        number = float(typed)
        if Decimal(repr(number)) == Decimal(typed):  # else digits would be lost
            yield number
    if "boolean" in types and typed.casefold() in ("true", "false"):
        yield typed.casefold() == "true"


def _written(value: Any) -> str:
    """A scalar as a person types it."""
    return value if isinstance(value, str) else json.dumps(value)


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _layers(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema and what its local `$ref` points to, in turn."""
    current: Any = schema
    for _ in range(_REF_HOPS):
        if not isinstance(current, Mapping):
            return
        layer = cast("Mapping[str, Any]", current)
        yield layer
        reference = layer.get("$ref")
        if not isinstance(reference, str):
            return
        current = _resolved(reference, root)


def _resolved(reference: str, root: Mapping[str, Any]) -> Any:
    if reference != "#" and not reference.startswith("#/"):
        return None
    current: Any = root
    for step in reference.split("/")[1:]:
        if not isinstance(current, Mapping):
            return None
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        current = cast("Mapping[str, Any]", current).get(name)
    return current


# Walking schemas, and words

_MAPS_OF_SCHEMAS = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)


def _schemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in a schema that may be a schema, without recursion."""
    stack: list[tuple[Any, bool]] = [(schema, False)]
    while stack:
        current, is_map = stack.pop()
        if isinstance(current, Mapping):
            found = cast("Mapping[str, Any]", current)
            if not is_map:
                yield found
            stack.extend((child, not is_map and key in _MAPS_OF_SCHEMAS) for key, child in found.items())
        elif isinstance(current, list | tuple):
            stack.extend((child, False) for child in cast("list[Any]", current))


def _option_errors(options: tuple[str, ...]) -> list[FieldError]:
    if not 1 <= len(options) <= MAX_OPTIONS:
        return [FieldError("options", f"Give 1 to {MAX_OPTIONS} options, not {len(options)}.")]
    errors: list[FieldError] = []
    seen: dict[str, int] = {}
    for index, option in enumerate(options):
        here = join_path("options", index)
        if is_blank(option):
            errors.append(FieldError(here, "An option must have text that can be seen."))
            continue
        first = seen.setdefault(normalize("NFC", option).strip(), index)
        if first != index:
            errors.append(FieldError(here, f"This is the same text as option {first + 1}."))
    return errors


def _label_errors(question: Question) -> list[FieldError]:
    labels = question.labels
    errors = [
        FieldError(f"labels/{name}", "A label must have text that can be seen.")
        for name, label in (("approve", labels.approve), ("reject", labels.reject))
        if is_blank(label)
    ]
    if errors:
        return errors
    approve, reject = _fold(labels.approve), _fold(labels.reject)
    if approve == reject:
        errors.append(FieldError("labels", "The two labels must differ in more than case."))
    if question.request_type == "approval":
        if approve in _NO:
            errors.append(FieldError("labels/approve", f"{_quoted(labels.approve)} also means rejecting."))
        if reject in _YES:
            errors.append(FieldError("labels/reject", f"{_quoted(labels.reject)} also means approving."))
    return errors


def _expected(question: Question) -> str:
    """What this question takes, in a sentence for the person who answers."""
    labels = question.labels
    if question.response_schema is not None:
        return "Fill in the form."
    if question.options is not None:
        return _choose_one(question.options)
    if question.request_type == "approval":
        return f"Answer {_quoted(labels.approve)} or {_quoted(labels.reject)}."
    if question.request_type == "review":
        return f"Answer {_quoted(labels.approve)} to approve; any other text is sent back as feedback."
    return "Write an answer."


def _choose_one(choices: tuple[str, ...]) -> str:
    shown: list[str] = []
    room = _LISTING
    for choice in choices:
        word = _clipped(choice)
        room -= len(word) + 2
        if room < 0:
            break
        shown.append(word)
    left = len(choices) - len(shown)
    return f"Choose one of: {', '.join(shown)}" + (f" … and {left} more" if left else "")


def _quoted(text: str) -> str:
    return f"“{_clipped(text)}”"


def _clipped(text: str) -> str:
    return text if len(text) <= _CHOICE else f"{text[: _CHOICE - 1]}…"


def _refusal(path: str, message: str) -> Invalid:
    return Invalid([FieldError(path, message)])
