"""Text that can be stored, and the measures of JSON values."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import FieldError
from domain.text import MAX_ERRORS, is_blank, join_path, json_depth, json_equal, json_size, text_errors

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_c42_nul_and_half_surrogates_are_refused_at_their_place() -> None:
    """Every text and name that cannot be stored is named by its path."""
    value = {"a": ["fine", "n\x00l"], "b\x00": 1, "c": {"d/e": "\ud800"}}
    assert text_errors(value, "data") == [
        FieldError("data/b\\u0000", "The name of this field: NUL characters cannot be stored."),
        FieldError("data/a/1", "NUL characters cannot be stored."),
        FieldError("data/c/d~1e", "Half of a surrogate pair is not a character; send valid Unicode."),
    ]


def test_c42_six_literal_characters_are_ordinary_text() -> None:
    """Backslash-u-0000 typed out is not a NUL and stays as it is."""
    assert text_errors("\\u0000", "message") == []
    assert text_errors(json.loads('"\\\\u0000"'), "message") == []
    assert [e.path for e in text_errors(json.loads('"\\u0000"'), "message")] == ["message"]


@pytest.mark.parametrize("text", ["", "👩‍👩‍👧‍👦 🇺🇳", "مرحبا \u202e", "漢" * 3000, "\t\r\n\x7f\x01", "\U0010ffff"])
def test_other_text_can_be_stored(text: str) -> None:
    """Only NUL and half surrogates are refused; controls, emoji and mixed directions are text."""
    assert text_errors({text or "k": [text]}) == []


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_lacks_are_refused(number: float) -> None:
    """NaN and the infinities are named by their path."""
    assert [e.path for e in text_errors({"a": [1.5, number]}, "data")] == ["data/a/1"]


def test_what_is_not_json_is_refused() -> None:
    """Sets, bytes and names that are not text are no JSON values."""
    assert [e.path for e in text_errors({"a": {1}, "b": b"x", 3: 1}, "m")] == ["m", "m/a", "m/b"]


def test_depth_costs_no_stack() -> None:
    """A value nested 100,000 levels deep is walked, measured and compared."""
    deep, other = nested(100_000), nested(100_000)
    assert text_errors(deep) == []
    assert json_depth(deep) == 100_000
    assert json_size(deep) == 200_003
    assert json_equal(deep, other)
    # Taken apart level by level, since freeing it at once would recurse in C.
    for value in (deep, other):
        while isinstance(value, list):
            value = value.pop()


def test_errors_are_bounded() -> None:
    """A refusal of a huge value stays short and fast."""
    started = time.process_time()
    assert len(text_errors(["\x00"] * 300_000)) == MAX_ERRORS
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("value", "depth"), [("x", 0), (None, 0), ([], 1), ({}, 1), ({"a": []}, 2), ([[], {"a": [1]}], 3)]
)
def test_depth_counts_lists_and_objects(value: Any, depth: int) -> None:
    """A scalar has depth 0, each list or object adds one."""
    assert json_depth(value) == depth


@settings(deadline=None)
@given(JSON)
def test_size_is_that_of_compact_json(value: Any) -> None:
    """The size of any JSON value is the number of bytes that compact JSON in UTF-8 takes."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    assert json_size(value) == len(written)


def test_size_of_a_number_that_python_will_not_write() -> None:
    """A number of 10,000 digits is measured to a few bytes, not refused."""
    assert abs(json_size(10**10_000) - 10_001) < 10


@settings(deadline=None)
@given(JSON)
def test_equal_to_its_copy(value: Any) -> None:
    """A JSON value equals what is read back from its JSON text."""
    assert json_equal(value, json.loads(json.dumps(value)))


def test_c36_equality_is_that_of_json() -> None:
    """`true` is not 1, 1 is 1.0, and members have no order."""
    assert not json_equal(True, 1)
    assert not json_equal([0], [False])
    assert not json_equal(1, "1")
    assert not json_equal(None, False)
    assert not json_equal([1], [1, 2])
    assert not json_equal({"a": 1}, {"a": 1, "b": 1})
    assert json_equal(60, 60.0)
    assert json_equal({"a": 1, "b": [None]}, {"b": [None], "a": 1})


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u00a0\u3000", "\u200b\ufeff", "\u202e", "\x00"])
def test_blank_text_shows_nothing(text: str) -> None:
    """White space, controls and invisible format characters are blank."""
    assert is_blank(text)


@pytest.mark.parametrize("text", ["x", " 0 ", "👍🏽", "\u200bא", "."])
def test_anything_visible_is_not_blank(text: str) -> None:
    """One visible character makes a text."""
    assert not is_blank(text)


def test_paths_escape_separators() -> None:
    """Names that hold "/" or "~" cannot be mistaken for two steps."""
    assert join_path("", "a", 0, "b/c~d") == "a/0/b~1c~0d"
    assert join_path("data") == "data"
