"""JSON as it is meant: exact integers, finite numbers, no name twice. Nothing of what is refused is quoted."""

from __future__ import annotations

import json
import math
from typing import Any


def decode_json(text: str) -> Any:
    """The value of a JSON text. Raises `ValueError`, or `RecursionError` for one nested too deeply."""
    return _DECODER.decode(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _integer(text: str) -> int:
    if len(text) > 1000:
        raise ValueError("a number has more than 1,000 digits")
    return int(text)


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in an object")  # which of the two was meant would be a guess
    return found


_DECODER = json.JSONDecoder(
    parse_float=_finite, parse_int=_integer, parse_constant=_constant, object_pairs_hook=_object
)
