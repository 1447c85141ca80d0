"""The ladder of a strategy: whom a request goes to when nobody reacts, and after how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from domain.errors import FieldError
from domain.strategies import MAX_MINUTES, Strategy, merge, parse, strategy_errors, strategy_value_errors

LONGEST_LADDER = 20
SHORTEST_REPEAT = 1.0
"""Minutes; a step that repeats faster would only fill the history."""

_OF_THE_REQUEST = ("escalation", "remindMinutes", "notifyDelaySeconds", "expirationMinutes", "priority")
"""What a strategy says of the request as a whole, not of whom to ask."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of a ladder. `to` is the strategy it follows, already merged over the request's own.

    `notify_only` tells those whom it names, who may then claim, and leaves the request where it is. `repeat`, on the
    last step, has it happen again and again, `after` apart.
    """

    after: timedelta
    to: Strategy
    notify_only: bool = False
    repeat: bool = False


def ladder(strategy: Mapping[str, Any] | None) -> tuple[Rung, ...]:
    """The steps that this strategy plans; what is broken in it is left out, as nobody could carry it out."""
    given = None if strategy is None else strategy.get("escalation")
    if not isinstance(given, list):
        return ()
    base = {name: value for name, value in (strategy or {}).items() if name not in _OF_THE_REQUEST}
    rungs: list[Rung] = []
    steps = cast("list[Any]", given)
    for place, step in enumerate(steps[:LONGEST_LADDER]):
        if not isinstance(step, dict):
            continue
        fields = cast("dict[str, Any]", step)
        minutes = _minutes(fields.get("afterMinutes"))
        override = fields.get("to")
        if minutes is None or not isinstance(override, dict):
            continue
        to = parse(merge(base, cast("dict[str, Any]", override))).strategy
        if to is None:
            continue
        repeat = fields.get("repeat") is True and place == len(steps) - 1 and minutes >= SHORTEST_REPEAT
        whom = {name: value for name, value in to.items() if name not in _OF_THE_REQUEST}
        rungs.append(Rung(timedelta(minutes=minutes), whom, fields.get("notifyOnly") is True, repeat))
    return tuple(rungs)


def errors_in_strategy(value: Any, path: str, *, complete: bool) -> list[FieldError]:
    """What is wrong with a strategy, its ladder included.

    `complete` is for one that an administrator sets; what else is wrong with an agent's is said in the decision.
    """
    errors = strategy_errors(value, path) if complete else strategy_value_errors(value, path)
    strategy = parse(value).strategy
    if errors or strategy is None:
        return errors
    return _ladder_errors(strategy, f"{path}/escalation", complete)


def _ladder_errors(strategy: Mapping[str, Any], path: str, complete: bool) -> list[FieldError]:
    given = strategy.get("escalation")
    if given is None:
        return []
    if not isinstance(given, list) or not 1 <= len(cast("list[Any]", given)) <= LONGEST_LADDER:
        return [FieldError(path, f"must be a list of 1–{LONGEST_LADDER} steps")]
    steps = cast("list[Any]", given)
    errors: list[FieldError] = []
    for place, step in enumerate(steps):
        at = f"{path}/{place}"
        if not isinstance(step, dict):
            errors.append(FieldError(at, "must be an object {afterMinutes, to, notifyOnly?, repeat?}"))
            continue
        fields = cast("dict[str, Any]", step)
        minutes = _minutes(fields.get("afterMinutes"))
        if minutes is None:
            errors.append(FieldError(f"{at}/afterMinutes", f"must be more than 0, at most {MAX_MINUTES}"))
        for name in ("notifyOnly", "repeat"):
            if not isinstance(fields.get(name), bool | None):
                errors.append(FieldError(f"{at}/{name}", "must be true or false"))
        if fields.get("repeat") is True:
            if place != len(steps) - 1:
                errors.append(FieldError(f"{at}/repeat", "is for the last step only"))
            elif minutes is not None and minutes < SHORTEST_REPEAT:
                errors.append(FieldError(f"{at}/afterMinutes", f"must be at least {SHORTEST_REPEAT:g} to repeat"))
        to = fields.get("to")
        if not isinstance(to, dict):
            errors.append(FieldError(f"{at}/to", "must be a strategy, an object"))
            continue
        override = cast("dict[str, Any]", to)
        if "escalation" in override:
            errors.append(FieldError(f"{at}/to/escalation", "a step has no ladder of its own"))
            continue
        base = {name: value for name, value in strategy.items() if name not in _OF_THE_REQUEST}
        merged = merge(base, override)
        errors += strategy_errors(merged, f"{at}/to") if complete else strategy_value_errors(merged, f"{at}/to")
    return errors


def strategies_of_ladder(strategy: Mapping[str, Any]) -> list[tuple[int, Strategy]]:
    """(place, what the step itself says) of every step, as written."""
    given = strategy.get("escalation")
    if not isinstance(given, list):
        return []
    return [
        (place, cast("Strategy", to))
        for place, step in enumerate(cast("list[Any]", given))
        if isinstance(step, dict) and isinstance(to := cast("dict[str, Any]", step).get("to"), dict)
    ]


def _minutes(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_MINUTES:
        return None
    return float(value)
