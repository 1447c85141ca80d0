"""What people write into the directory, read strictly: readable ids become UUIDs, every failing field is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Any, cast
from uuid import UUID
from zoneinfo import available_timezones

from domain.agent_types import AgentType
from domain.agents import Agent
from domain.callers import Role
from domain.categories import ROOT, Category
from domain.directory import DirectoryEntry, directory_id
from domain.errors import FieldError
from domain.escalation import errors_in_strategy, strategies_of_ladder
from domain.lists import MemberList
from domain.request_types import RequestType
from domain.strategies import MAX_MINUTES, list_named, parse, user_named
from domain.text import is_blank, text_errors
from domain.users import User
from domain.wording import clipped

KINDS: dict[str, type[DirectoryEntry]] = {
    kind.KIND: kind for kind in (User, MemberList, Agent, AgentType, Category, RequestType)
}
"""The kinds of entry, in the order in which one may name those before it."""

MAX_DAYS = 3650
"""The longest that content can be kept and then erased by itself."""

_MAX_MEMBERS = 10_000
_TIME = r"HH:MM, from 00:00 to 23:59"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reference:
    """An entry that is named somewhere, and must be there."""

    path: str
    kind: str
    readable_id: str

    @property
    def id(self) -> UUID:
        return directory_id(self.kind, self.readable_id)

    def missing(self) -> FieldError:
        return FieldError(self.path, f"there is no {self.kind.replace('_', ' ')} {self.readable_id!r}")


@dataclass(slots=True)
class Read:
    """What the fields mean: values for the aggregate, whom they name, and what is wrong with them."""

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    references: list[Reference] = field(default_factory=list[Reference])
    errors: list[FieldError] = field(default_factory=list[FieldError])

    def refuse(self, path: str, message: str) -> None:
        self.errors.append(FieldError(path, message))

    def refer(self, path: str, kind: str, readable_id: Any) -> UUID | None:
        """The UUID of what is named, None for nothing."""
        if readable_id is None:
            return None
        if not isinstance(readable_id, str) or text_errors(readable_id) or len(readable_id) > 64:
            self.refuse(path, f"must be the id of one {kind.replace('_', ' ')}, as text")
            return None
        reference = Reference(path, kind, readable_id)
        self.references.append(reference)
        return reference.id


def defaults_of(kind: str) -> dict[str, Any]:
    """All fields of an entry that says nothing about itself."""
    given = KINDS[kind].defaults()
    return given | {"parent": directory_id("category", ROOT)} if kind == "category" else given


def read_fields(kind: str, fields: Mapping[str, Any], at: str = "") -> Read:
    """What these fields of an entry mean. `at` is where the entry stands, for the paths of errors."""
    read = Read()
    for name, value in fields.items():
        if name not in KINDS[kind].FIELDS:
            read.refuse(f"{at}{clipped(name)}", f"is no field of this; there are {', '.join(KINDS[kind].FIELDS)}")
            continue
        reader = _READERS[name]
        read.values[name] = reader(read, f"{at}{name}", value)
    return read


# -- one reader for each field


def _text(longest: int, *, needed: bool) -> Callable[[Read, str, Any], str | None]:
    def reader(read: Read, path: str, value: Any) -> str | None:
        if value is None and not needed:
            return None
        if not isinstance(value, str):
            read.refuse(path, "must be text")
            return None
        errors = text_errors(value, path)
        if errors:
            read.errors += errors
        elif is_blank(value) or len(value) > longest:
            read.refuse(path, f"must have 1–{longest} characters, not only blanks")
        return value

    return reader


def _role(read: Read, path: str, value: Any) -> str:
    if value not in list(Role):
        read.refuse(path, f"must be one of {', '.join(Role)}")
    return str(value)


def _boolean(read: Read, path: str, value: Any) -> Any:
    if not isinstance(value, bool):
        read.refuse(path, "must be true or false")
    return value


def _time_zone(read: Read, path: str, value: Any) -> Any:
    if value is not None and not (isinstance(value, str) and value in _time_zones()):
        read.refuse(path, "must be the name of a time zone, such as Europe/Berlin")
    return value


@cache
def _time_zones() -> frozenset[str]:
    """All there are; finding them out reads a folder with hundreds of files."""
    return frozenset(available_timezones())


def _quiet_hours(read: Read, path: str, value: Any) -> Any:
    found = _object(read, path, value, needed=("from", "to"))
    if found is None:
        return None
    for name in ("from", "to"):
        if name in found and not _is_time(found[name]):
            read.refuse(f"{path}/{name}", f"must be a time of day: {_TIME}")
    if "from" in found and found["from"] == found.get("to"):
        read.refuse(path, "must begin and end at different times")
    return found


def _out_of_office(read: Read, path: str, value: Any) -> Any:
    found = _object(read, path, value, needed=("from", "to"), optional=("stand_in",))
    if found is None:
        return None
    days = {name: _day(found[name]) for name in ("from", "to") if name in found}
    for name, day in days.items():
        if day is None:
            read.refuse(f"{path}/{name}", "must be a day, like 2026-12-24")
    first, last = days.get("from"), days.get("to")
    if first is not None and last is not None and last < first:
        read.refuse(f"{path}/to", f"must not be before {found['from']}")
    stand_in = read.refer(f"{path}/stand_in", "user", found.get("stand_in"))
    return {
        "from": found.get("from"),
        "to": found.get("to"),
        "stand_in": None if stand_in is None else str(stand_in),
    }


def _reference(kind: str) -> Callable[[Read, str, Any], UUID | None]:
    return lambda read, path, value: read.refer(path, kind, value)


def _parent(read: Read, path: str, value: Any) -> UUID | None:
    """A category without a parent stands right below the root."""
    return read.refer(path, "category", ROOT if value is None else value)


def _members(read: Read, path: str, value: Any) -> list[UUID]:
    if not isinstance(value, list) or len(cast("list[Any]", value)) > _MAX_MEMBERS:
        read.refuse(path, f"must be a list of at most {_MAX_MEMBERS} user ids")
        return []
    members: dict[UUID, None] = {}
    for place, name in enumerate(cast("list[Any]", value)):
        member = read.refer(f"{path}/{place}", "user", "" if name is None else name)
        if member in members:
            read.refuse(f"{path}/{place}", f"{name!r} is in the list already")
        elif member is not None:
            members[member] = None
    return list(members)


def _strategy(read: Read, path: str, value: Any) -> Any:
    errors = errors_in_strategy(value, path, complete=True)
    read.errors += errors
    if errors:
        return None
    strategy = parse(value).strategy
    if strategy is not None:
        read.refer(f"{path}/userID", "user", user_named(strategy))
        read.refer(f"{path}/listID", "list", list_named(strategy))
        for place, to in strategies_of_ladder(strategy):
            read.refer(f"{path}/escalation/{place}/to/userID", "user", user_named(to))
            read.refer(f"{path}/escalation/{place}/to/listID", "list", list_named(to))
    return strategy


def _priority(read: Read, path: str, value: Any) -> Any:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100):
        read.refuse(path, "must be from 1 (most urgent) to 100")
    return value


def _number(most: int) -> Callable[[Read, str, Any], float | None]:
    def reader(read: Read, path: str, value: Any) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
            read.refuse(path, f"must be more than 0, at most {most}")
            return None
        return float(value)

    return reader


_READERS: dict[str, Callable[[Read, str, Any], Any]] = {
    "name": _text(200, needed=True),
    "email": _text(320, needed=False),
    "slack_user_id": _text(64, needed=False),
    "role": _role,
    "active": _boolean,
    "time_zone": _time_zone,
    "quiet_hours": _quiet_hours,
    "out_of_office": _out_of_office,
    "members": _members,
    "owner": _reference("user"),
    "agent_type": _reference("agent_type"),
    "category": _reference("category"),
    "parent": _parent,
    "assignment_strategy": _strategy,
    "default_assignment_strategy": _strategy,
    "default_priority": _priority,
    "default_expiration_minutes": _number(MAX_MINUTES),
    "no_self_answer": _boolean,
    "erase_after_days": _number(MAX_DAYS),
}


def _object(
    read: Read, path: str, value: Any, *, needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        read.refuse(path, "must be an object")
        return None
    found = cast("dict[str, Any]", value)
    for name in needed:
        if name not in found:
            read.refuse(f"{path}/{name}", "is required")
    for name in found.keys() - set(needed) - set(optional):
        read.refuse(f"{path}/{clipped(name)}", "is no field of this")
    return found


def _is_time(value: Any) -> bool:
    if not isinstance(value, str) or len(value) != 5 or value[2] != ":":
        return False
    hours, minutes = value[:2], value[3:]
    digits = hours + minutes
    return digits.isascii() and digits.isdigit() and hours < "24" and minutes < "60"


def _day(value: Any) -> date | None:
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        return None
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    return day if 2000 <= day.year < 9999 else None
