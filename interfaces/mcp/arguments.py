"""The arguments of a call, read strictly: what is wrong is named, nothing is guessed, nothing crashes.

An argument that is null counts as absent. Objects and lists are also taken as their JSON text, as some clients send
them; numbers are not taken as text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from domain.errors import FieldError, Invalid
from interfaces.strict_json import decode_json

T = TypeVar("T")

LONGEST_LIFETIME = 315_360_000.0
"""Seconds; ten years."""


class Arguments:
    """The arguments of one call. Ask for each by name, then call `check`, which raises `Invalid` with all errors."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._left = {name: value for name, value in given.items() if value is not None}
        self._errors: list[FieldError] = []

    def text(self, name: str) -> str | None:
        return self._take(name, _text)

    def needed_text(self, name: str) -> str:
        """The text, "" where it is missing, which is an error."""
        if name not in self._left:
            self._errors.append(FieldError(name, "is required: text"))
        return self.text(name) or ""

    def flag(self, name: str) -> bool:
        return self._take(name, _flag) or False

    def number(self, name: str) -> float | None:
        return self._take(name, _number)

    def whole_number(self, name: str) -> int | None:
        return self._take(name, _whole_number)

    def texts(self, name: str) -> list[str] | None:
        return self._take(name, _texts)

    def object(self, name: str) -> dict[str, Any] | None:
        return self._take(name, _object)

    def wrong(self, name: str, message: str) -> None:
        """Note another error."""
        self._errors.append(FieldError(name, message))

    def check(self) -> None:
        """Raises `Invalid` if anything was wrong, or is left over."""
        for name in self._left:
            shown = name if name.isascii() and name.isidentifier() and len(name) <= 50 else ""
            self._errors.append(FieldError(shown, "there is no such argument"))
        if self._errors:
            more = "; ".join(f"{error.path}: {error.message}".removeprefix(": ") for error in self._errors[:10])
            raise Invalid(self._errors, more)

    def _take(self, name: str, read: Callable[[Any], T]) -> T | None:
        if name not in self._left:
            return None
        try:
            return read(self._left.pop(name))
        except ValueError as error:
            self.wrong(name, str(error))
            return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text, not {_kind(value)}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {_kind(value)}")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"must be a number, such as 600, not {_kind(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isnan(number):
        raise ValueError("must be a number, such as 600")
    return number


def _whole_number(value: Any) -> int:
    number = _number(value)
    if not number.is_integer():
        raise ValueError("must be a whole number, such as 50")
    return int(number)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        value = _parsed(value)
    if not isinstance(value, list):
        raise ValueError(f"must be a list of texts, not {_kind(value)}")
    return [_text(item) for item in value]


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        value = _parsed(value)
    if not isinstance(value, dict):
        raise ValueError(f"must be an object, or its JSON text, not {_kind(value)}")
    return value


def _parsed(text: str) -> Any:
    try:
        return decode_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"is text, but not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError("is JSON text that is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"is text, but not acceptable JSON: {error}") from None


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
