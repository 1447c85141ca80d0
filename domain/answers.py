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

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, Protocol, cast
from unicodedata import normalize

from domain.errors import FieldError, Invalid
from domain.form_text import MAX_DEPTH, NESTED_CHOICES, candidates, json_object, only_required, shape_of
from domain.text import is_blank, join_path, json_depth, json_equal, text_errors
from domain.wording import choose_one, quoted, refusal

MAX_OPTIONS = 50

Outcome = Literal["approved", "rejected", "answered"]
Kind = Literal["form", "options", "approval", "review", "text"]

_YES = frozenset({"yes", "y", "true", "approve"})
_NO = frozenset({"no", "n", "false", "reject"})
_ORDINAL = re.compile(r"[1-9][0-9]?", re.ASCII)
_OPTION_N = re.compile(r"option(0|[1-9][0-9]?)", re.ASCII)


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

    @property
    def kind(self) -> Kind:
        """Which of the five ways of answering it takes, in the order above."""
        if self.response_schema is not None:
            return "form"
        if self.options is not None:
            return "options"
        if self.request_type == "approval":
            return "approval"
        return "review" if self.request_type == "review" else "text"


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
            raise refusal("", f"There is no answer here. {_expected(question)}")
        return read_text(question, text, validator)
    by_data = _read_data(question, data, validator)
    if text is not None and not _agree(question, read_text(question, text, validator), by_data):
        raise refusal("text", "Text and data give different answers; send one of them.")
    return by_data


def read_text(question: Question, text: str, validator: SchemaValidator) -> Answer:
    """Read an answer from the text channel. Raises `Invalid` for what is not plainly an answer.

    Free text is kept exactly. Where a choice is typed (an option, yes or no, a number in a form), white space
    around it and the Unicode normal form do not count; an option that matches exactly comes first.
    """
    if errors := text_errors(text, "text"):
        raise Invalid(errors)
    if is_blank(text):
        raise refusal("text", f"The answer is empty. {_expected(question)}")
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
        raise refusal("data", f"The data is nested more than {MAX_DEPTH} levels deep.")
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
    raise refusal("data", f"This request takes text, not data. {_expected(question)}")


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
        raise refusal("data", shape)
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
        raise refusal("data", shape)
    given = cast("dict[str, Any]", data)
    if not given or given.keys() - {"index", "option"}:
        raise refusal("data", shape)
    if "index" in given:
        index = _whole_number(given["index"])
        if index is None or not 0 <= index < len(options):
            raise refusal("data/index", f"The index must be a whole number from 0 to {len(options) - 1}.")
        if "option" not in given:
            return index
        if given["option"] in options and given["option"] != options[index]:
            raise refusal("data", "Index and option name different choices.")
    if given["option"] not in options:
        raise refusal("data/option", choose_one(options))
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
    raise refusal("text", _expected(question))


def _yes_or_no(labels: Labels, text: str) -> bool:
    folded = _fold(text)
    yes = folded in _YES or folded == _fold(labels.approve)
    no = folded in _NO or folded == _fold(labels.reject)
    if yes == no:  # neither, or labels that contradict the usual words
        raise refusal("text", f"Answer {quoted(labels.approve)} or {quoted(labels.reject)} (or yes or no).")
    return yes


def _fold(text: str) -> str:
    """Text as compared in any case: full case folding, canonical normal form, no white space around it."""
    return normalize("NFC", normalize("NFC", text).casefold()).strip()


# Reading text for a schema


def _text_for_schema(question: Question, schema: Mapping[str, Any], text: str, validator: SchemaValidator) -> Answer:
    if text.lstrip(" \t\r\n").startswith("{"):
        return _checked(question, schema, json_object(text), validator)
    field = only_required(schema)
    if field is None:
        raise refusal("text", "This form cannot be filled by a line of text; send its fields as a JSON object.")
    name, declared = field
    shape = shape_of(declared, schema, NESTED_CHOICES)
    if shape is None:
        raise refusal("text", f"{quoted(name)} is not a single plain value; send the fields as a JSON object.")
    found = list(candidates(shape, text))
    if not found:
        raise refusal("text", shape.expected(name))
    mask = is_sealed(question)
    failed: list[FieldError] = []
    fitting: list[Any] = []
    for candidate in found:
        if errors := validator.errors(schema, {name: candidate}, mask=mask):
            failed = errors
        else:
            fitting.append(candidate)
    if len(fitting) > 1 or (not fitting and len(found) > 1):
        raise refusal("text", f"It is not clear what is meant for {quoted(name)}; send it as a JSON object.")
    if not fitting:
        raise _invalid_data(failed)
    return _with_outcome({name: fitting[0]})


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
            errors.append(FieldError("labels/approve", f"{quoted(labels.approve)} also means rejecting."))
        if reject in _YES:
            errors.append(FieldError("labels/reject", f"{quoted(labels.reject)} also means approving."))
    return errors


def _expected(question: Question) -> str:
    """What this question takes, in a sentence for the person who answers."""
    labels = question.labels
    if question.response_schema is not None:
        return "Fill in the form."
    if question.options is not None:
        return choose_one(question.options)
    if question.request_type == "approval":
        return f"Answer {quoted(labels.approve)} or {quoted(labels.reject)}."
    if question.request_type == "review":
        return f"Answer {quoted(labels.approve)} to approve; any other text is sent back as feedback."
    return "Write an answer."
