"""A line of text that fills a form: when exactly one property is required, and the text plainly is its value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn, cast
from urllib.parse import unquote

from domain.text import json_depth, json_equal, text_errors
from domain.wording import choose_one, quoted, refusal

MAX_DEPTH = 64
"""How deeply an answer's data may be nested."""

NESTED_CHOICES = 12
"""Branches on the way from a property to one of its values."""

_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,99}", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,99})\.[0-9]{1,100}", re.ASCII)
_REF_HOPS = 32


def json_object(text: str) -> Any:
    """The object that a text beginning with `{` must be, strictly. Raises `Invalid`."""
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
        raise refusal(
            "text",
            "This starts like a JSON object and is not one: check quotes, commas and brackets, that no name "
            f"stands twice, and that it is at most {MAX_DEPTH} levels deep.",
        )
    # An escaped NUL or surrogate becomes one only now. No path: it may hold names that are part of a secret.
    if text_errors(data):
        raise refusal("text", "The JSON holds NUL characters or half surrogate pairs, which cannot be stored.")
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


def only_required(schema: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
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
class Choice:
    """One value to choose, and what it is called."""

    value: Any
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """The scalar values that a property takes: any of `types`, or one of `choices`."""

    types: frozenset[str] = frozenset()
    choices: tuple[Choice, ...] = ()

    def expected(self, name: str) -> str:
        if self.choices and not self.types:
            return choose_one(tuple(choice.title or _written(choice.value) for choice in self.choices))
        kinds = {
            "integer": "a whole number such as 12",
            "number": "a number such as 12.5",
            "boolean": "true or false",
            "string": "text",
        }
        return f"{quoted(name)} takes {' or '.join(kinds[kind] for kind in kinds if kind in self.types)}."


def shape_of(schema: Mapping[str, Any], root: Mapping[str, Any], room: int) -> Shape | None:
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
    return Shape(types=types) if types <= _SCALARS and types - {"null"} else None


def _choice_shape(key: str, value: Any, root: Mapping[str, Any], room: int) -> Shape | None:
    if key == "const":
        return Shape(choices=(Choice(value),)) if _is_scalar(value) else None
    if not isinstance(value, list) or not value:
        return None
    members = cast("list[Any]", value)
    if key == "enum":
        return Shape(choices=tuple(Choice(member) for member in members if _is_scalar(member)))
    if room <= 0 or (key == "allOf" and len(members) > 1):
        return None
    types: frozenset[str] = frozenset()
    choices: list[Choice] = []
    for member in members:
        if not isinstance(member, dict):
            return None
        branch = cast("dict[str, Any]", member)
        if branch.get("type") == "null":
            types |= {"null"}
            continue
        shape = shape_of(branch, root, room - len(members))
        if shape is None:
            return None
        title = branch.get("title")
        if "const" in branch and isinstance(title, str):
            shape = Shape(choices=(Choice(branch["const"], title),))
        types |= shape.types
        choices.extend(shape.choices)
    return Shape(types=types, choices=tuple(choices))


def candidates(shape: Shape, text: str) -> Iterator[Any]:
    """The distinct values that the text plainly is, for the types and choices of `shape`."""
    typed = text.strip()
    found: list[Any] = []
    for value in (*_among(shape.choices, text, typed), *_typed_as(shape.types, text, typed)):
        if not any(json_equal(value, other) for other in found):
            found.append(value)
            yield value


def _among(choices: tuple[Choice, ...], text: str, typed: str) -> list[Any]:
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
