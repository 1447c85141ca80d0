"""What can be stored: JSON values whose text every store keeps exactly.

PostgreSQL refuses NUL in `text` and `jsonb`, and a lone surrogate has no UTF-8 form. Such text is refused
rather than cleaned: cleaning would change what somebody sent. The six characters backslash, `u`, `0000` typed
out are ordinary text and stay as they are. All walks are iterative: depth costs memory, never the stack.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeAlias, cast
from unicodedata import category

from domain.errors import FieldError

MAX_ERRORS = 50
"""How many failing fields one refusal names at most."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_DECIMAL_DIGITS_PER_BIT = 0.30103


def text_errors(value: Any, path: str = "") -> list[FieldError]:
    """Name every place in a JSON value that cannot be stored, at most `MAX_ERRORS`.

    The order is that of the document, an object's names before its values. `path` is where the value stands
    ("message", "data"); below it, members and positions are joined with "/". A refused name is shown with its
    unstorable characters escaped, so that the errors can be sent.
    """
    errors: list[FieldError] = []
    for at, message in _faults(value, path):
        errors.append(FieldError(at, message))
        if len(errors) == MAX_ERRORS:
            break
    return errors


def is_blank(text: str) -> bool:
    """Whether nothing can be seen in `text`: white space, controls and invisible format characters only."""
    return all(character.isspace() or category(character) in ("Cc", "Cf") for character in text)


def join_path(path: str, *steps: str | int) -> str:
    """Extend a path by members or positions, escaped as in a JSON Pointer ("~" is "~0", "/" is "~1")."""
    parts = [path] if path else []
    parts.extend(_shown(str(step)).replace("~", "~0").replace("/", "~1") for step in steps)
    return "/".join(parts)


def json_depth(value: Any) -> int:
    """How deeply lists and objects are nested: 0 for a text or number, 1 for `[]`, 2 for `{"a": []}`."""
    deepest = 0
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        current, depth = stack.pop()
        if isinstance(current, dict | list | tuple):
            deepest = max(deepest, depth + 1)
            stack.extend((child, depth + 1) for child in _children(current))
    return deepest


def json_size(value: Any) -> int:
    """The size of a JSON value in bytes, written compactly in UTF-8."""
    size = 0
    stack: list[Any] = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, dict):
            members = cast("dict[Any, Any]", current)
            size += 2 + max(0, len(members) - 1) + sum(_scalar_size(str(key)) + 1 for key in members)
            stack.extend(members.values())
        elif isinstance(current, list | tuple):
            items = cast("list[Any]", current)
            size += 2 + max(0, len(items) - 1)
            stack.extend(items)
        else:
            size += _scalar_size(current)
    return size


def json_equal(a: Any, b: Any) -> bool:
    """Equality as JSON has it: `true` is not 1, 1 is 1.0, the order of members does not count."""
    stack: list[tuple[Any, Any]] = [(a, b)]
    while stack:
        left, right = stack.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            mine, theirs = cast("dict[str, Any]", left), cast("dict[str, Any]", right)
            if mine.keys() != theirs.keys():
                return False
            stack.extend((mine[key], theirs[key]) for key in mine)
        elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
            ours, others = cast("list[Any]", left), cast("list[Any]", right)
            if len(ours) != len(others):
                return False
            stack.extend(zip(ours, others, strict=True))
        elif isinstance(left, bool) or isinstance(right, bool):
            if left is not right:
                return False
        elif left != right:
            return False
    return True


# Where a value stands: the place of what holds it, and the step from there. Paths are written only for faults, since
# for deep values writing each would be quadratic.
_Place: TypeAlias = "tuple[_Place | None, str | int]"


def _path(place: _Place | None, start: str) -> str:
    steps: list[str | int] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return join_path(start, *reversed(steps))


def _faults(value: Any, start: str) -> Iterator[tuple[str, str]]:
    stack: list[tuple[Any, _Place | None]] = [(value, None)]
    while stack:
        current, place = stack.pop()
        fault: str | None = None
        if isinstance(current, str):
            fault = _text_fault(current)
        elif isinstance(current, dict):
            members = cast("dict[Any, Any]", current)
            below: list[tuple[Any, _Place]] = []
            for key, child in members.items():
                if not isinstance(key, str):
                    fault = "Names of fields must be text."
                    continue
                here: _Place = (place, key)
                if key_fault := _text_fault(key):
                    yield _path(here, start), f"The name of this field: {key_fault}"
                below.append((child, here))
            stack.extend(reversed(below))
        elif isinstance(current, list | tuple):
            items = cast("list[Any]", current)
            stack.extend((items[i], (place, i)) for i in range(len(items) - 1, -1, -1))
        elif isinstance(current, float):
            fault = None if math.isfinite(current) else "NaN and infinite numbers are not JSON."
        elif current is not None and not isinstance(current, int):
            fault = "This is not a JSON value."
        if fault is not None:
            yield _path(place, start), fault


def _text_fault(text: str) -> str | None:
    found = _UNSTORABLE.search(text)
    if found is None:
        return None
    if found.group() == "\x00":
        return "NUL characters cannot be stored."
    return "Half of a surrogate pair is not a character; send valid Unicode."


def _shown(text: str) -> str:
    return _UNSTORABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from cast("dict[Any, Any]", value).values()
    else:
        yield from cast("list[Any]", value)


def _scalar_size(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 10_000:
        # Python refuses to write out very many digits; an estimate is enough here.
        return int(value.bit_length() * _DECIMAL_DIGITS_PER_BIT) + 2
    return len(_ENCODER.encode(value).encode("utf-8", "surrogatepass"))
