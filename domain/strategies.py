"""Assignment strategies: what a level of routing says about who is to be asked.

A strategy is a JSON object with the names that other programs use: `{type, userID, listID, listStrategy, priority,
expirationMinutes}`. Read leniently where it is followed, so that a broken one never loses a request; strictly where
an administrator or an agent writes one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from domain.errors import FieldError
from domain.text import json_depth, json_size, text_errors

RUN_USER = "RunUser"
AGENT_OWNER = "AgentOwner"
SPECIFIC_USER = "SpecificUser"
LIST = "List"
SHARED_INBOX = "SharedInbox"
OF_A_LIST = (LIST, SHARED_INBOX)
TYPES = (RUN_USER, AGENT_OWNER, SPECIFIC_USER, LIST, SHARED_INBOX)

ROUND_ROBIN = "RoundRobin"
LEAST_BUSY = "LeastBusy"
RANDOM = "Random"
LIST_STRATEGIES = (ROUND_ROBIN, LEAST_BUSY, RANDOM)
"""The first is what a list does where its strategy does not say."""

MOST_URGENT, LEAST_URGENT = 1, 100
MAX_MINUTES = 3650 * 24 * 60
"""Ten years, as far ahead as any deadline may lie."""

_SHORTEST_REMINDER = timedelta(milliseconds=1)

_MAX_BYTES = 16 * 1024
_MAX_DEPTH = 16

Strategy = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was understood: a strategy, or None with a `warning` where something stands there that is none."""

    strategy: Strategy | None
    warning: str | None = None


NO_STRATEGY = Parsed(None)


def parse(value: Any) -> Parsed:
    """Read a strategy, an object or its JSON text; never fails. Fields it does not know are kept."""
    if isinstance(value, str):
        try:
            value = _meant_by(value)
        except (ValueError, RecursionError):
            return Parsed(None, "what stands there is not JSON")
        if text_errors(value):
            return Parsed(None, "what stands there cannot be stored")
    if value is None:
        return NO_STRATEGY
    if not isinstance(value, dict):
        return Parsed(None, "what stands there is not an object")
    strategy = cast("Strategy", value)
    type_ = strategy.get("type")
    if type_ is None:
        return Parsed(None, "the strategy has no type")
    if type_ not in TYPES:
        return Parsed(None, f"the strategy has the unknown type {_shown(type_)}")
    return Parsed(strategy)


def merge(base: Mapping[str, Any] | None, override: Mapping[str, Any] | None) -> Strategy | None:
    """`base` with the fields that `override` gives; one that is absent or null falls back, 0 is a value."""
    if base is None and override is None:
        return None
    return {**(base or {}), **{name: value for name, value in (override or {}).items() if value is not None}}


def strategy_errors(value: Any, path: str) -> list[FieldError]:
    """What is wrong with a strategy that an administrator sets; nothing is wrong with none."""
    errors = strategy_value_errors(value, path)
    if errors:
        return errors
    parsed = parse(value)
    if parsed.warning is not None:
        return [FieldError(path, f"{parsed.warning}; type must be one of {', '.join(TYPES)}")]
    strategy = parsed.strategy
    if strategy is None:
        return []
    needed = {SPECIFIC_USER: "userID", LIST: "listID", SHARED_INBOX: "listID"}.get(strategy["type"])
    for name in ("userID", "listID"):
        given = strategy.get(name)
        if name == needed and given in (None, ""):
            errors.append(FieldError(f"{path}/{name}", f"is required for {strategy['type']}"))
        elif given is not None and not isinstance(given, str):
            errors.append(FieldError(f"{path}/{name}", "must be a readable id, as text"))
    how = strategy.get("listStrategy")
    if how is not None and how not in LIST_STRATEGIES:
        errors.append(FieldError(f"{path}/listStrategy", f"must be one of {', '.join(LIST_STRATEGIES)}"))
    return errors


def strategy_value_errors(value: Any, path: str) -> list[FieldError]:
    """What no strategy may hold, whoever writes it; all else that is wrong with one is said in the decision."""
    errors = text_errors(value, path)
    if not errors and isinstance(value, str):
        try:
            value = _meant_by(value)
        except (ValueError, RecursionError):
            pass  # it is none, and as short text harmless
        else:
            errors = text_errors(value, path)
    if errors:
        return errors
    if json_depth(value) > _MAX_DEPTH or json_size(value) > _MAX_BYTES:
        return [FieldError(path, f"may have at most {_MAX_BYTES} bytes and {_MAX_DEPTH} levels")]
    strategy = parse(value).strategy or {}
    if strategy.get("priority") is not None and priority_of(strategy) is None:
        errors.append(FieldError(f"{path}/priority", "must be from 1 (most urgent) to 100"))
    if strategy.get("expirationMinutes") is not None and expiration_of(strategy) is None:
        errors.append(FieldError(f"{path}/expirationMinutes", f"must be more than 0, at most {MAX_MINUTES}"))
    if strategy.get("remindMinutes") is not None and reminder_of(strategy) is None:
        errors.append(FieldError(f"{path}/remindMinutes", f"must be more than 0, at most {MAX_MINUTES}"))
    if strategy.get("notifyDelaySeconds") is not None and delay_of(strategy) is None:
        errors.append(FieldError(f"{path}/notifyDelaySeconds", f"must be from 0 to {MAX_MINUTES * 60}"))
    return errors


def priority_of(strategy: Mapping[str, Any]) -> int | None:
    """The priority that this strategy gives; None where it gives none, or one that no request can have."""
    priority = strategy.get("priority")
    if isinstance(priority, bool) or not isinstance(priority, int) or not MOST_URGENT <= priority <= LEAST_URGENT:
        return None
    return priority


def expiration_of(strategy: Mapping[str, Any]) -> float | None:
    """The minutes that a request lives by this strategy; None where it does not say, or nothing usable."""
    minutes = strategy.get("expirationMinutes")
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes <= MAX_MINUTES:
        return None
    return float(minutes)


def reminder_of(strategy: Mapping[str, Any]) -> timedelta | None:
    """How long apart whoever is asked is reminded; None for never."""
    minutes = strategy.get("remindMinutes")
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes <= MAX_MINUTES:
        return None
    return max(timedelta(minutes=minutes), _SHORTEST_REMINDER)


def delay_of(strategy: Mapping[str, Any]) -> timedelta | None:
    """How long a notice waits for an answer in the web first; None where the strategy does not say."""
    seconds = strategy.get("notifyDelaySeconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= MAX_MINUTES * 60:
        return None
    return timedelta(seconds=seconds)


def user_named(strategy: Mapping[str, Any]) -> str | None:
    """The readable id of the person that this strategy names."""
    return _readable_id(strategy.get("userID"))


def list_named(strategy: Mapping[str, Any]) -> str | None:
    """The readable id of the list that this strategy names."""
    return _readable_id(strategy.get("listID"))


def list_strategy(strategy: Mapping[str, Any]) -> str | None:
    """How somebody is picked from the list; None where the strategy names a way that there is not."""
    how = strategy.get("listStrategy")
    if how is None:
        return ROUND_ROBIN
    return how if how in LIST_STRATEGIES else None


def _meant_by(text: str) -> Any:
    """The JSON value of a strategy's text, None where it is blank. Raises `ValueError` or `RecursionError`."""
    return json.loads(text) if text.strip() else None


def _readable_id(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) and len(value) <= 60 and not text_errors(value) else "that it has"
