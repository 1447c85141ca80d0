"""The directory: people, lists, agents, their types and categories, request types and keys, as small aggregates.

A readable id (`alice`, `deploy-bot`) decides the aggregate's UUID, so an id that was ever used can never be given
to another: the log itself refuses the second creation. A removed entry stays known by name, for the history.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from typing import Any, ClassVar, TypeVar
from uuid import UUID, uuid5

from eventsourcing.domain import BaseAggregate

from domain.errors import FieldError, Invalid
from domain.recorded import RecordedCreation, RecordedEvent
from domain.text import json_equal

_NAMESPACE = UUID("5f0c2b0e-6f5e-5c43-9b43-6f1b9f0f7a11")
RESERVED = frozenset({"nobody", "system"})
"""Ids that stand for something else where people and agents are named."""

_READABLE_ID = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_COMMON = {field.name for field in fields(RecordedCreation)}

E = TypeVar("E", bound="DirectoryEntry")


@lru_cache(maxsize=65_536)
def directory_id(kind: str, readable_id: str) -> UUID:
    """The UUID behind a readable id of this kind (`user`, `list`, `agent`, …)."""
    return uuid5(_NAMESPACE, f"{kind}/{readable_id}")


def is_reserved(kind: str, readable_id: str) -> bool:
    """Whether this id, of a person or an agent, would be taken for something else."""
    return kind in ("user", "agent") and readable_id in RESERVED


def check_readable_id(kind: str, readable_id: str) -> None:
    """Raises `Invalid` for a reserved id, or one with anything but a–z, 0–9, `.`, `_`, `-`, or not 1–64 long."""
    if is_reserved(kind, readable_id):
        raise Invalid([FieldError("id", f"{readable_id!r} is reserved: choose another")])
    if not _READABLE_ID.fullmatch(readable_id):
        allowed = "1–64 of a–z, 0–9, '.', '_' and '-', starting and ending with a letter or digit"
        raise Invalid([FieldError("id", f"must be {allowed}")])


def readable_id_from(name: str) -> str:
    """A readable id made from a name: `José Álvarez` gives `jose-alvarez`; '' where nothing usable is left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-")


class EntryEvent(RecordedEvent):
    """Base of the events of an entry."""

    def remember(self, entry: Any) -> None:
        entry.take(self)


class DirectoryEntry(BaseAggregate[UUID]):
    """Base of what stands in the directory: added under a readable id, changed field by field, removed for good.

    `KIND` is part of the id. `FIELDS` may be changed: a `Changed` event carries all of them as they are then, so that
    the newest one alone says what holds.
    """

    KIND: ClassVar[str]
    FIELDS: ClassVar[tuple[str, ...]]
    Added: ClassVar[type[RecordedCreation]]
    Changed: ClassVar[type[RecordedEvent]]
    Removed: ClassVar[type[RecordedEvent]]

    def __init__(self) -> None:
        self.readable_id = ""
        self.removed = False

    @classmethod
    def add(cls: type[E], readable_id: str, *, actor: str, now: datetime, **values: Any) -> E:
        """A new entry; fields not given have their defaults. Raises `Invalid` for an unusable readable id."""
        check_readable_id(cls.KIND, readable_id)
        values = cls.defaults() | values
        of_creation = {field.name for field in fields(cls.Added)} - _COMMON - {"readable_id"}
        entry = cls._create(
            cls.Added,
            id=directory_id(cls.KIND, readable_id),
            timestamp=now,
            actor=actor,
            readable_id=readable_id,
            **{name: values[name] for name in of_creation},
        )
        entry.change(actor=actor, now=now, **values)
        return entry

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """All that may be changed, as it is where nobody has said anything."""
        blank = cls.__new__(cls)
        cls.__init__(blank)
        return blank.values

    @property
    def values(self) -> dict[str, Any]:
        """All that may be changed, as it is."""
        return {name: getattr(self, name) for name in self.FIELDS}

    def change(self, *, actor: str, now: datetime, **values: Any) -> None:
        """Change the fields given; nothing happens where they say what holds already."""
        if not json_equal(self.values | values, self.values):
            self.trigger_event(self.Changed, timestamp=now, actor=actor, **(self.values | values))

    def remove(self, *, actor: str, now: datetime) -> None:
        """Take it out of the directory for good; a repeat does nothing."""
        if not self.removed:
            self.trigger_event(self.Removed, timestamp=now, actor=actor)

    def take(self, event: RecordedEvent) -> None:
        """Remember all that an event of this entry says."""
        for name, value in vars(event).items():
            if name not in _COMMON:
                setattr(self, name, value)
        if isinstance(event, self.Removed):
            self.removed = True
