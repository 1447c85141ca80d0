"""Ladders: what of one is planned, what an administrator or an agent may write, and whose fields a step takes over."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import FieldError
from domain.escalation import LONGEST_LADDER, Rung, errors_in_strategy, ladder, strategies_of_ladder
from domain.strategies import MAX_MINUTES, TYPES

OWNER = {"type": "AgentOwner"}
BOB = {"type": "SpecificUser", "userID": "bob"}
LONG_TEXT = "x" * 20_000
NOT_A_LIST = f"must be a list of 1–{LONGEST_LADDER} steps"
NOT_MINUTES = f"must be more than 0, at most {MAX_MINUTES}"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
steps = st.dictionaries(
    st.sampled_from(["afterMinutes", "to", "notifyOnly", "repeat", "colour"]),
    st.sampled_from([1, 0.5, True, 1e-9, OWNER, BOB, {"listStrategy": "Random"}]) | json_values,
)
strategies = st.fixed_dictionaries(
    {"type": st.sampled_from(TYPES)},
    optional={
        "escalation": st.lists(steps | json_values, max_size=LONGEST_LADDER + 2) | json_values,
        "remindMinutes": json_values,
        "notifyDelaySeconds": json_values,
        "userID": json_values,
        "listID": json_values,
    },
)


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def step(after: Any = 10, to: Any = OWNER, **more: Any) -> dict[str, Any]:
    return {"afterMinutes": after, "to": to, **more}


def of(*steps: Any, **more: Any) -> dict[str, Any]:
    return {"type": "RunUser", **more, "escalation": list(steps)}


def errors(value: Any, *, complete: bool) -> list[tuple[str, str]]:
    return [(error.path, error.message) for error in errors_in_strategy(value, "s", complete=complete)]


# -- read leniently


@pytest.mark.parametrize(
    "strategy",
    [
        None,
        {},
        {"type": "RunUser"},
        {"type": "RunUser", "escalation": None},
        {"type": "RunUser", "escalation": []},
        {"type": "RunUser", "escalation": {"afterMinutes": 1, "to": OWNER}},
        {"type": "RunUser", "escalation": "soon"},
        {"type": "RunUser", "escalation": 3},
    ],
)
def test_without_a_list_of_steps_there_is_no_ladder(strategy: dict[str, Any] | None) -> None:
    """Absent, null, empty or of another kind: nobody is asked later."""
    assert ladder(strategy) == ()
    assert strategies_of_ladder(strategy or {}) == []


def test_a_ladder_keeps_its_order_and_what_each_step_says() -> None:
    """Each has its time after the one before, whom it asks, and whether it only tells them."""
    assert ladder(of(step(10), step(2.5, BOB, notifyOnly=True), step(60, repeat=True))) == (
        Rung(minutes(10), OWNER),
        Rung(minutes(2.5), {"type": "SpecificUser", "userID": "bob"}, notify_only=True),
        Rung(minutes(60), OWNER, repeat=True),
    )


@pytest.mark.parametrize(
    "broken",
    [
        None,
        "soon",
        [],
        {},
        {"to": OWNER},
        {"afterMinutes": 5},
        step(None),
        step("5"),
        step(True),
        step(0),
        step(-1),
        step(MAX_MINUTES + 1),
        step(float("nan")),
        step(float("inf")),
        step(10**400),
        step(to=None),
        step(to="bob"),
        step(to=[BOB]),
        step(to={"type": "Nobody"}),
        step(to={"type": 7}),
    ],
)
def test_a_broken_step_is_left_out_and_the_others_stay(broken: Any) -> None:
    """Nobody could carry it out; the ones around it are as they were."""
    assert ladder(of(step(1), broken, step(2, BOB))) == (Rung(minutes(1), OWNER), Rung(minutes(2), BOB))
    assert ladder(of(broken)) == ()


@pytest.mark.parametrize("after", [0.25, 1 / 3, 1, 1.5, MAX_MINUTES])
def test_fractions_of_a_minute_are_kept(after: float) -> None:
    """To the microsecond, as all durations are."""
    assert [rung.after for rung in ladder(of(step(after)))] == [minutes(after)]


def test_a_ladder_ends_after_twenty_steps() -> None:
    """However many are written, and the twentieth of more is not the last, which may repeat."""
    assert len(ladder(of(*[step()] * 50))) == LONGEST_LADDER
    assert not any(rung.repeat for rung in ladder(of(*[step(repeat=True)] * 21)))
    assert [rung.repeat for rung in ladder(of(*[step(repeat=True)] * 20))] == [False] * 19 + [True]


@pytest.mark.parametrize(
    ("given_", "repeats"),
    [
        ([step(repeat=True)], [True]),
        ([step(1, repeat=True)], [True]),
        ([step(0.999, repeat=True)], [False]),
        ([step(repeat=True), step()], [False, False]),
        ([step(repeat=True), step(repeat=True)], [False, True]),
        ([step(repeat=True), "broken"], [False]),
        ([step(repeat=False)], [False]),
        ([step(repeat=1)], [False]),
        ([step(repeat="true")], [False]),
        ([step(repeat=None)], [False]),
    ],
)
def test_only_the_last_step_repeats_and_not_faster_than_each_minute(given_: list[Any], repeats: list[bool]) -> None:
    """Last as it is written: one before a broken last step does not begin to repeat."""
    assert [rung.repeat for rung in ladder(of(*given_))] == repeats


@pytest.mark.parametrize(("value", "only"), [(True, True), (False, False), (1, False), ("true", False), (None, False)])
def test_a_step_only_tells_where_it_plainly_says_so(value: Any, only: bool) -> None:
    """Anything but true moves the request."""
    assert [rung.notify_only for rung in ladder(of(step(notifyOnly=value)))] == [only]


@pytest.mark.parametrize(
    ("base", "to", "merged"),
    [
        (
            {"type": "List", "listID": "oncall"},
            {"listStrategy": "LeastBusy"},
            {"type": "List", "listID": "oncall", "listStrategy": "LeastBusy"},
        ),
        (
            {"type": "SharedInbox", "listID": "oncall", "listStrategy": "Random"},
            {"type": "List"},
            {"type": "List", "listID": "oncall", "listStrategy": "Random"},
        ),
        (
            {"type": "List", "listID": "oncall"},
            {"listID": "nights", "listStrategy": None},
            {"type": "List", "listID": "nights"},
        ),
        ({"type": "List", "listID": "oncall"}, {}, {"type": "List", "listID": "oncall"}),
        ({"type": "SpecificUser", "userID": "anna"}, {"userID": ""}, {"type": "SpecificUser", "userID": ""}),
        (
            {"type": "List", "listID": "oncall", "colour": "red"},
            {**BOB, "shape": 0},
            {"type": "SpecificUser", "listID": "oncall", "colour": "red", "userID": "bob", "shape": 0},
        ),
    ],
)
def test_a_step_is_merged_over_the_request_s_own_strategy(
    base: dict[str, Any], to: dict[str, Any], merged: dict[str, Any]
) -> None:
    """Field by field: what it does not say, or says with null, is as before."""
    assert [rung.to for rung in ladder({**base, "escalation": [step(to=to)]})] == [merged]


def test_what_is_said_of_the_request_as_a_whole_goes_into_no_step() -> None:
    """Neither from the request's strategy nor from the step's: it was settled when it was asked."""
    whole = {"remindMinutes": 5, "notifyDelaySeconds": 0, "expirationMinutes": 9, "priority": 1}
    given_ = of(step(to={**BOB, **whole, "escalation": [step()]}), **whole)
    assert [rung.to for rung in ladder(given_)] == [BOB]


def test_reading_a_ladder_changes_nothing_of_it() -> None:
    """The strategy stands in the decision as it was given."""
    given_ = of(step(to={"listStrategy": "Random"}), remindMinutes=5)
    before = repr(given_)
    ladder(given_)
    assert repr(given_) == before


# -- written strictly


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        {"type": "RunUser"},
        {"type": "RunUser", "escalation": None},
        of(step()),
        of(*[step()] * 20),
        of(step(0.5), step(1, repeat=True), remindMinutes=0.5, notifyDelaySeconds=0),
        of(step(to={"type": "SpecificUser"}), userID="anna"),
        {"type": "List", "listID": "oncall", "escalation": [step(to={"listStrategy": "Random"}, notifyOnly=True)]},
        '{"type": "RunUser", "escalation": [{"afterMinutes": 5, "to": {"type": "AgentOwner"}}]}',
    ],
)
@pytest.mark.parametrize("complete", [True, False])
def test_a_sound_ladder_has_no_errors(value: Any, complete: bool) -> None:
    """Whoever writes it, as an object or as its text."""
    assert errors(value, complete=complete) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"type": "RunUser", "escalation": []}, [("s/escalation", NOT_A_LIST)]),
        ({"type": "RunUser", "escalation": {}}, [("s/escalation", NOT_A_LIST)]),
        ({"type": "RunUser", "escalation": "soon"}, [("s/escalation", NOT_A_LIST)]),
        ({"type": "RunUser", "escalation": 0}, [("s/escalation", NOT_A_LIST)]),
        (of(*[step()] * 21), [("s/escalation", NOT_A_LIST)]),
        (of("soon"), [("s/escalation/0", "must be an object {afterMinutes, to, notifyOnly?, repeat?}")]),
        (of(step(0)), [("s/escalation/0/afterMinutes", NOT_MINUTES)]),
        (of(step(-1)), [("s/escalation/0/afterMinutes", NOT_MINUTES)]),
        (of(step("5")), [("s/escalation/0/afterMinutes", NOT_MINUTES)]),
        (of(step(True)), [("s/escalation/0/afterMinutes", NOT_MINUTES)]),
        (of(step(), {"to": OWNER}), [("s/escalation/1/afterMinutes", NOT_MINUTES)]),
        (of(step(MAX_MINUTES + 0.5)), [("s/escalation/0/afterMinutes", NOT_MINUTES)]),
        (of(step(), {"afterMinutes": 5}), [("s/escalation/1/to", "must be a strategy, an object")]),
        (of(step(to="bob")), [("s/escalation/0/to", "must be a strategy, an object")]),
        (of(step(to=None)), [("s/escalation/0/to", "must be a strategy, an object")]),
        (of(step(notifyOnly=1)), [("s/escalation/0/notifyOnly", "must be true or false")]),
        (of(step(repeat="yes")), [("s/escalation/0/repeat", "must be true or false")]),
        (of(step(repeat=True), step()), [("s/escalation/0/repeat", "is for the last step only")]),
        (of(step(0.5, repeat=True)), [("s/escalation/0/afterMinutes", "must be at least 1 to repeat")]),
        (of(step(0, repeat=True)), [("s/escalation/0/afterMinutes", NOT_MINUTES)]),
        (
            of(step(to={**BOB, "escalation": [step()]})),
            [("s/escalation/0/to/escalation", "a step has no ladder of its own")],
        ),
        (of(step(to={**BOB, "priority": 0})), [("s/escalation/0/to/priority", "must be from 1 (most urgent) to 100")]),
        (of(step(to={**BOB, "remindMinutes": 0})), [("s/escalation/0/to/remindMinutes", NOT_MINUTES)]),
        (of(step(), remindMinutes=0), [("s/remindMinutes", NOT_MINUTES)]),
        (of(step(), remindMinutes=True), [("s/remindMinutes", NOT_MINUTES)]),
        (of(step(), remindMinutes="5"), [("s/remindMinutes", NOT_MINUTES)]),
        (of(step(), notifyDelaySeconds=-1), [("s/notifyDelaySeconds", f"must be from 0 to {MAX_MINUTES * 60}")]),
        (of(step(), notifyDelaySeconds="0"), [("s/notifyDelaySeconds", f"must be from 0 to {MAX_MINUTES * 60}")]),
        (
            of(step(0, 7, notifyOnly=2, repeat=True), step()),
            [
                ("s/escalation/0/afterMinutes", NOT_MINUTES),
                ("s/escalation/0/notifyOnly", "must be true or false"),
                ("s/escalation/0/repeat", "is for the last step only"),
                ("s/escalation/0/to", "must be a strategy, an object"),
            ],
        ),
    ],
)
@pytest.mark.parametrize("complete", [True, False])
def test_what_is_wrong_with_a_ladder_is_named_where_it_is(
    value: Any, expected: list[tuple[str, str]], complete: bool
) -> None:
    """By its exact path, all that is wrong at once, to agents and administrators alike."""
    assert errors(value, complete=complete) == expected


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (of(step(to={"type": "SpecificUser"})), "s/escalation/0/to/userID"),
        (of(step(), step(to={"type": "List"})), "s/escalation/1/to/listID"),
        (of(step(to={"type": "List", "listID": "a", "listStrategy": "Worst"})), "s/escalation/0/to/listStrategy"),
        (of(step(to={"type": "SpecificUser", "userID": 7})), "s/escalation/0/to/userID"),
        (of(step(to={"type": "Nobody"})), "s/escalation/0/to"),
    ],
)
def test_only_an_administrator_s_step_must_name_somebody(value: Any, path: str) -> None:
    """An agent's that names nobody loses no request: its decision says so when the step is due."""
    assert [where for where, _ in errors(value, complete=True)] == [path]
    assert errors(value, complete=False) == []


def test_errors_of_the_strategy_itself_come_first() -> None:
    """The ladder of what is no strategy is not looked at."""
    broken = of("soon", priority=0)
    assert errors(broken, complete=True) == [("s/priority", "must be from 1 (most urgent) to 100")]
    assert [path for path, _ in errors({"escalation": "soon"}, complete=True)] == ["s"]
    assert errors({"escalation": "soon"}, complete=False) == []
    assert [path for path, _ in errors(of(step(to={**BOB, "note": LONG_TEXT})), complete=False)] == ["s"]


def test_the_steps_own_words_are_found_with_their_places() -> None:
    """For whoever looks up the people and lists that they name."""
    assert strategies_of_ladder(of(step(), "broken", step(to=BOB), step(to=None))) == [(0, OWNER), (2, BOB)]


# -- anything at all


@given(strategy=strategies)
def test_reading_and_checking_never_fail(strategy: dict[str, Any]) -> None:
    """Each planned step has a time, a known type and no ladder; at most the last repeats."""
    rungs = ladder(strategy)
    assert len(rungs) <= LONGEST_LADDER
    for place, rung in enumerate(rungs):
        assert timedelta(0) <= rung.after <= minutes(MAX_MINUTES)
        assert rung.to["type"] in TYPES
        assert "escalation" not in rung.to
        assert not rung.repeat or (place == len(rungs) - 1 and rung.after >= minutes(1))
    for complete in (True, False):
        found = errors_in_strategy(strategy, "s", complete=complete)
        assert all(isinstance(error, FieldError) and error.path.startswith("s") for error in found)


@given(strategy=strategies)
def test_of_a_ladder_without_errors_every_step_is_planned(strategy: dict[str, Any]) -> None:
    """What an administrator was allowed to write is carried out as written."""
    if not errors_in_strategy(strategy, "s", complete=True):
        assert len(ladder(strategy)) == len(strategies_of_ladder(strategy)) == len(strategy.get("escalation") or [])
