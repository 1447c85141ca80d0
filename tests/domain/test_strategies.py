"""Strategies: what is read as one, what an administrator may write, and how one overrides another."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import FieldError
from domain.strategies import (
    LEAST_BUSY,
    LIST,
    LIST_STRATEGIES,
    MAX_MINUTES,
    RANDOM,
    ROUND_ROBIN,
    TYPES,
    Parsed,
    expiration_of,
    list_named,
    list_strategy,
    merge,
    parse,
    priority_of,
    strategy_errors,
    strategy_value_errors,
    user_named,
)

NO_OBJECT = "what stands there is not an object"
NO_JSON = "what stands there is not JSON"
NO_TYPE = "the strategy has no type"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
strategy_like = st.dictionaries(
    st.sampled_from(
        ["type", "userID", "listID", "listStrategy", "priority", "expirationMinutes", "escalation", "colour"]
    ),
    st.sampled_from([*TYPES, *LIST_STRATEGIES]) | json_values,
)


def paths(errors: list[FieldError]) -> list[str]:
    return [error.path for error in errors]


def nested(depth: int) -> Any:
    value: Any = "here"
    for _ in range(depth):
        value = [value]
    return value


# -- parsing


@pytest.mark.parametrize("nothing", [None, "", " ", "\t\r\n\u00a0\u2003", "null", " null "])
def test_nothing_is_no_strategy(nothing: str | None) -> None:
    """Null, absent, empty and blank text say nothing, and there is nothing to warn of."""
    assert parse(nothing) == Parsed(None, None)


@pytest.mark.parametrize(
    ("value", "warning"),
    [
        ("{", NO_JSON),
        ('{"type": "RunUser"', NO_JSON),
        ("{'type': 'RunUser'}", NO_JSON),
        ('{"type": "RunUser"} {}', NO_JSON),
        ("RunUser", NO_JSON),
        ("[" * 100_000, NO_JSON),
        ("1" * 10_000, NO_JSON),
        ('"RunUser"', NO_OBJECT),
        ("[]", NO_OBJECT),
        ([], NO_OBJECT),
        ([{"type": "RunUser"}], NO_OBJECT),
        (0, NO_OBJECT),
        (7, NO_OBJECT),
        (1.5, NO_OBJECT),
        (False, NO_OBJECT),
        (True, NO_OBJECT),
        ({}, NO_TYPE),
        ("{}", NO_TYPE),
        ({"type": None}, NO_TYPE),
        ({"userID": "anna"}, NO_TYPE),
        ({"Type": "RunUser"}, NO_TYPE),
    ],
)
def test_what_is_no_strategy_is_none_with_a_warning(value: Any, warning: str) -> None:
    """Broken JSON, a list, a number, an object without a type: none of them fails, each is warned of."""
    assert parse(value) == Parsed(None, warning)


@pytest.mark.parametrize("type_", ["Nobody", "runuser", "RUNUSER", "RunUser ", "", "User", "Ünknown"])
def test_an_unknown_type_is_none_with_a_warning_that_names_it(type_: str) -> None:
    """Types are exactly those that there are; the warning says what stands there instead."""
    assert parse({"type": type_}) == Parsed(None, f"the strategy has the unknown type {type_!r}")


@pytest.mark.parametrize("type_", [0, 1, True, False, [], ["RunUser"], {}, {"a": "RunUser"}, 1.5, "x" * 61, "a\x00b"])
def test_a_type_that_is_no_short_text_is_not_repeated_in_the_warning(type_: Any) -> None:
    """What cannot be stored, or is very long, stays out of the words about it."""
    assert parse({"type": type_}) == Parsed(None, "the strategy has the unknown type that it has")


@pytest.mark.parametrize("type_", TYPES)
def test_the_type_alone_makes_a_strategy(type_: str) -> None:
    """Whether it names anybody is for the decision to find out."""
    assert parse({"type": type_}) == Parsed({"type": type_})
    assert parse(json.dumps({"type": type_})) == Parsed({"type": type_})


def test_unknown_fields_survive() -> None:
    """What this version does not know, another program or a later version may."""
    extra = {"type": "List", "listID": "oncall", "colour": "red", "deep": {"a": [1, None, {"b": True}]}, "notify": 0}
    assert parse(extra) == Parsed(extra)
    assert parse(f"\n {json.dumps(extra)} \n") == Parsed(extra)


def test_values_that_are_not_understood_survive_too() -> None:
    """A wrong value is not repaired and does not make it no strategy: each field is looked at when it is followed."""
    odd = {"type": "List", "listID": 7, "listStrategy": "Alphabetical", "priority": 0, "expirationMinutes": "soon"}
    assert parse(odd) == Parsed(odd)
    assert (list_named(odd), list_strategy(odd), priority_of(odd), expiration_of(odd)) == (None, None, None, None)


def test_a_deeply_nested_strategy_is_read_without_trouble() -> None:
    """Depth is refused where it is written, not where it is followed."""
    assert parse({"type": "RunUser", "deep": nested(100_000)}).warning is None


@pytest.mark.parametrize(
    "text",
    [
        r'{"type": "RunUser", "note": "\u0000"}',
        r'{"type": "RunUser", "note": "\ud800"}',
        r'{"type": "RunUser", "\u0000": 1}',
        '{"type": "RunUser", "priority": NaN}',
        '{"type": "RunUser", "priority": -Infinity}',
        '{"type": "RunUser", "priority": 1e999}',
    ],
)
def test_text_that_means_what_cannot_be_stored_is_no_strategy(text: str) -> None:
    """An escape in the text is not seen before the text is read; it must not come into an event by this way."""
    parsed = parse(text)
    assert parsed.strategy is None
    assert parsed.warning is not None


@given(json_values | strategy_like | strategy_like.map(json.dumps) | st.text())
def test_whatever_is_parsed_is_a_strategy_or_none(value: Any) -> None:
    """Never a failure; never both a strategy and a warning; a strategy always has a type that there is."""
    strategy, warning = (parsed := parse(value)).strategy, parsed.warning
    assert strategy is None or (warning is None and strategy["type"] in TYPES)


@given(strategy_like)
def test_what_was_parsed_parses_to_itself(value: dict[str, Any]) -> None:
    """Reading is done once: a second time changes nothing."""
    strategy = parse(value).strategy
    assert parse(strategy) == Parsed(strategy)


# -- merging


@pytest.mark.parametrize(
    ("base", "override", "merged"),
    [
        (None, None, None),
        ({"type": "RunUser"}, None, {"type": "RunUser"}),
        (None, {"type": "RunUser"}, {"type": "RunUser"}),
        ({"type": "RunUser"}, {}, {"type": "RunUser"}),
        ({"type": "RunUser", "priority": 5}, {"type": "AgentOwner"}, {"type": "AgentOwner", "priority": 5}),
        ({"type": "RunUser", "priority": 5}, {"priority": 9}, {"type": "RunUser", "priority": 9}),
        ({"type": "RunUser", "priority": 5}, {"priority": None}, {"type": "RunUser", "priority": 5}),
        ({"type": "RunUser", "priority": 5}, {"priority": 0}, {"type": "RunUser", "priority": 0}),
        ({"a": True, "b": "x", "c": [1]}, {"a": False, "b": "", "c": []}, {"a": False, "b": "", "c": []}),
        (
            {"type": "List", "listID": "oncall"},
            {"listStrategy": "LeastBusy"},
            {"type": "List", "listID": "oncall", "listStrategy": "LeastBusy"},
        ),
        (
            {"type": "List", "escalation": [1, 2], "colour": "red"},
            {"type": "SpecificUser", "userID": "anna", "escalation": [3]},
            {"type": "SpecificUser", "userID": "anna", "escalation": [3], "colour": "red"},
        ),
    ],
)
def test_an_override_wins_field_by_field(
    base: dict[str, Any] | None, override: dict[str, Any] | None, merged: dict[str, Any] | None
) -> None:
    """Absent and null fall back to the base; 0, false and empty are values; objects and lists are not mixed."""
    assert merge(base, override) == merged


def test_merging_changes_neither_of_the_two() -> None:
    """The result is another object."""
    base, override = {"type": "List", "listID": "a"}, {"listID": "b"}
    merged = merge(base, override)
    assert merged is not base
    assert (base, override) == ({"type": "List", "listID": "a"}, {"listID": "b"})


@given(strategy_like, strategy_like)
def test_merging_gives_each_field_from_the_override_else_from_the_base(
    base: dict[str, Any], override: dict[str, Any]
) -> None:
    """For any two, and merging once more changes nothing."""
    merged = merge(base, override)
    assert merged is not None
    for name in base.keys() | override.keys():
        given_ = override.get(name)
        assert merged.get(name) is (base.get(name) if given_ is None else given_)
    assert merged.keys() <= base.keys() | override.keys()
    assert json.dumps(merge(merged, override)) == json.dumps(merged)


# -- what an administrator may write


@pytest.mark.parametrize(
    "strategy",
    [
        None,
        "",
        {"type": "RunUser"},
        {"type": "AgentOwner", "priority": 1},
        {"type": "SpecificUser", "userID": "anna", "priority": 100},
        {"type": "SpecificUser", "userID": "anna", "listID": None, "listStrategy": None, "priority": None},
        {"type": "List", "listID": "oncall"},
        {"type": "List", "listID": "oncall", "userID": "", "listStrategy": "Random"},
        {"type": "SharedInbox", "listID": "oncall", "expirationMinutes": 0.5},
        {"type": "RunUser", "expirationMinutes": MAX_MINUTES, "colour": {"any": ["thing"]}},
        '{"type": "List", "listID": "oncall", "listStrategy": "LeastBusy"}',
    ],
)
def test_a_good_strategy_has_nothing_wrong_with_it(strategy: Any) -> None:
    """Also none at all, and fields that are not known here."""
    assert strategy_errors(strategy, "assignment_strategy") == []


@pytest.mark.parametrize(
    ("strategy", "at"),
    [
        ("{", [""]),
        ("RunUser", [""]),
        ([], [""]),
        (7, [""]),
        (True, [""]),
        ({}, [""]),
        ({"type": "Nobody"}, [""]),
        ({"type": "SpecificUser"}, ["/userID"]),
        ({"type": "SpecificUser", "userID": None}, ["/userID"]),
        ({"type": "SpecificUser", "userID": ""}, ["/userID"]),
        ({"type": "SpecificUser", "userID": 7}, ["/userID"]),
        ({"type": "SpecificUser", "listID": "oncall"}, ["/userID"]),
        ({"type": "List"}, ["/listID"]),
        ({"type": "List", "listID": ""}, ["/listID"]),
        ({"type": "List", "listID": ["oncall"]}, ["/listID"]),
        ({"type": "SharedInbox"}, ["/listID"]),
        ({"type": "SharedInbox", "userID": 1}, ["/userID", "/listID"]),
        ({"type": "RunUser", "userID": {}, "listID": False}, ["/userID", "/listID"]),
        ({"type": "List", "listID": "oncall", "listStrategy": "roundrobin"}, ["/listStrategy"]),
        ({"type": "List", "listID": "oncall", "listStrategy": ""}, ["/listStrategy"]),
        ({"type": "List", "listID": "oncall", "listStrategy": ["Random"]}, ["/listStrategy"]),
        ({"type": "RunUser", "priority": 0}, ["/priority"]),
        ({"type": "RunUser", "priority": 101, "expirationMinutes": 0}, ["/priority", "/expirationMinutes"]),
        ({"type": "RunUser", "note": "a\x00b"}, ["/note"]),
        ({"type": "RunUser", "note": [1, "\ud800"]}, ["/note/1"]),
        ({"type": "RunUser", "deep": nested(16)}, [""]),
        ({"type": "RunUser", "long": "x" * 16 * 1024}, [""]),
        (json.dumps({"type": "RunUser", "deep": nested(16)}), [""]),
        (json.dumps({"type": "RunUser", "deep": nested(500)}), [""]),
        (r'{"type": "RunUser", "note": "\u0000"}', ["/note"]),
        ('{"type": "RunUser", "priority": NaN}', ["/priority"]),
        ('{"type": "RunUser", "priority": 0}', ["/priority"]),
    ],
)
def test_what_an_administrator_writes_wrong_is_named(strategy: Any, at: list[str]) -> None:
    """Each failing field, under the path that it stands at."""
    assert paths(strategy_errors(strategy, "assignment_strategy")) == [f"assignment_strategy{path}" for path in at]


def test_what_is_no_strategy_is_told_what_there_is() -> None:
    """The refusal says what is wrong and which types there are."""
    assert strategy_errors({"type": "Nobody"}, "strategy") == [
        FieldError(
            "strategy",
            "the strategy has the unknown type 'Nobody'; type must be one of "
            "RunUser, AgentOwner, SpecificUser, List, SharedInbox",
        )
    ]


# -- what no strategy may hold, whoever writes it


@pytest.mark.parametrize(
    "strategy",
    [
        None,
        " ",
        "{",
        [],
        7,
        {},
        {"type": "Nobody", "priority": 0},
        {"type": "SpecificUser"},
        {"type": "List", "listStrategy": "none"},
        {"type": "RunUser", "deep": nested(15)},
        json.dumps({"type": "RunUser", "deep": nested(15)}),
    ],
)
def test_an_agent_s_broken_strategy_is_not_refused(strategy: Any) -> None:
    """It falls through, and the decision says so: a request is not lost over its strategy."""
    assert strategy_value_errors(strategy, "assignment_strategy") == []


@pytest.mark.parametrize(
    ("strategy", "at"),
    [
        ({"type": "RunUser", "priority": 0}, ["/priority"]),
        ({"type": "RunUser", "priority": 101}, ["/priority"]),
        ({"type": "RunUser", "priority": True}, ["/priority"]),
        ({"type": "RunUser", "priority": "high"}, ["/priority"]),
        ({"type": "RunUser", "priority": 5.5}, ["/priority"]),
        ({"type": "RunUser", "expirationMinutes": 0}, ["/expirationMinutes"]),
        ({"type": "RunUser", "expirationMinutes": -1}, ["/expirationMinutes"]),
        ({"type": "RunUser", "expirationMinutes": False}, ["/expirationMinutes"]),
        ({"type": "RunUser", "expirationMinutes": MAX_MINUTES + 1}, ["/expirationMinutes"]),
        ("a\x00b", [""]),
        ({"type": "RunUser", "priority": float("nan")}, ["/priority"]),
        ({"\ud800": 1}, ["/\\ud800"]),
        (nested(17), [""]),
        (nested(100_000), [""]),
        ("x" * 16 * 1024, [""]),
        (json.dumps({"type": "RunUser", "deep": nested(800)}), [""]),
        (r'{"type": "RunUser", "note": "\u0000"}', ["/note"]),
        (r'["\ud800"]', ["/0"]),
        ('{"type": "RunUser", "priority": 1e999}', ["/priority"]),
    ],
)
def test_what_no_request_can_have_or_no_store_can_keep_is_refused(strategy: Any, at: list[str]) -> None:
    """A priority or a lifetime out of bounds, unstorable text, too long or too deep, also where it comes as text."""
    assert paths(strategy_value_errors(strategy, "assignment_strategy")) == [f"assignment_strategy{at}" for at in at]


@given(strategy_like)
def test_a_good_strategy_names_what_its_type_needs(value: dict[str, Any]) -> None:
    """What an administrator may write is followed as it stands: nothing in it is ignored for being malformed."""
    if strategy_errors(value, "s"):
        return
    strategy = parse(value).strategy
    assert strategy is not None
    type_ = strategy["type"]
    assert type_ != "SpecificUser" or user_named(strategy)
    assert type_ not in ("List", "SharedInbox") or list_named(strategy)
    assert list_strategy(strategy) in LIST_STRATEGIES
    assert (strategy.get("priority") is None) is (priority_of(strategy) is None)
    assert (strategy.get("expirationMinutes") is None) is (expiration_of(strategy) is None)


# -- single fields


@pytest.mark.parametrize(
    ("priority", "read"),
    [
        (1, 1),
        (50, 50),
        (100, 100),
        (0, None),
        (-1, None),
        (101, None),
        (10**400, None),
        (None, None),
        (True, None),
        (False, None),
        ("5", None),
        (5.5, None),
        ([5], None),
        (float("nan"), None),
    ],
)
def test_a_priority_is_a_whole_number_from_1_to_100(priority: Any, read: int | None) -> None:
    """True is not 1, and text is no number."""
    assert priority_of({"type": "RunUser", "priority": priority}) == read


@pytest.mark.parametrize(
    ("minutes", "read"),
    [
        (1, 1.0),
        (0.5, 0.5),
        (MAX_MINUTES, float(MAX_MINUTES)),
        (0, None),
        (0.0, None),
        (-1, None),
        (MAX_MINUTES + 0.1, None),
        (10**400, None),
        (float("inf"), None),
        (float("nan"), None),
        (None, None),
        (True, None),
        ("60", None),
        ([60], None),
    ],
)
def test_a_lifetime_is_more_than_nothing_and_at_most_ten_years(minutes: Any, read: float | None) -> None:
    """In minutes, parts of one too."""
    assert expiration_of({"type": "RunUser", "expirationMinutes": minutes}) == read


def test_fields_not_given_say_nothing() -> None:
    """But a list takes turns where nothing is said."""
    strategy = {"type": LIST}
    assert (priority_of(strategy), expiration_of(strategy)) == (None, None)
    assert (user_named(strategy), list_named(strategy)) == (None, None)
    assert list_strategy(strategy) == ROUND_ROBIN


@pytest.mark.parametrize(
    ("how", "read"),
    [
        (None, ROUND_ROBIN),
        (ROUND_ROBIN, ROUND_ROBIN),
        (LEAST_BUSY, LEAST_BUSY),
        (RANDOM, RANDOM),
        ("random", None),
        ("", None),
        (0, None),
        ([], None),
        ({}, None),
    ],
)
def test_a_list_strategy_that_there_is_not_is_none(how: Any, read: str | None) -> None:
    """It is not taken for the default: the level falls through."""
    assert list_strategy({"type": LIST, "listStrategy": how}) == read


@pytest.mark.parametrize("value", [None, "", 0, 7, True, [], ["anna"], {}])
def test_an_id_is_text(value: Any) -> None:
    """Nothing else names a person or a list."""
    assert (user_named({"userID": value}), list_named({"listID": value})) == (None, None)
