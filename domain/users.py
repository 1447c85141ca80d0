"""People: they are asked, answer, administer or audit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from domain.callers import Role
from domain.directory import DirectoryEntry, EntryEvent
from domain.errors import Conflict
from domain.recorded import RecordedCreation


class User(DirectoryEntry):
    """A person. One who is removed or not active is never asked, and their keys do not work."""

    TOPIC = "handraise.User"
    KIND = "user"
    FIELDS = ("role", "active", "time_zone", "quiet_hours", "out_of_office", "name", "email", "slack_user_id")

    class Event(EntryEvent):
        """Base of the events of a person."""

    class Added(Event, RecordedCreation):
        """A person joined the directory."""

        TOPIC = "handraise.User.Added"
        CONTENT: ClassVar = ("name", "email")

        readable_id: str
        role: str
        name: str | None
        email: str | None

    class Changed(Event):
        """Something about it changed: all fields, as they are from here on."""

        TOPIC = "handraise.User.Changed"
        CONTENT: ClassVar = (
            "name",
            "email",
            "slack_user_id",
        )

        role: str
        active: bool
        time_zone: str | None
        quiet_hours: dict[str, str] | None
        out_of_office: dict[str, str | None] | None
        name: str | None
        email: str | None
        slack_user_id: str | None

    class Removed(Event):
        """The person left. Their open requests move on."""

        TOPIC = "handraise.User.Removed"

        def remember(self, entry: User) -> None:
            super().remember(entry)
            entry.active = False

    class ContentErased(Event):
        """The data key was destroyed: name and addresses can no longer be read, the facts stay."""

        TOPIC = "handraise.User.ContentErased"

        def remember(self, entry: User) -> None:
            entry.erased = True
            entry.name = entry.email = entry.slack_user_id = None

    class PasswordSet(Event):
        """The person set a password. Its hash stands beside the log."""

        TOPIC = "handraise.User.PasswordSet"

    def __init__(self) -> None:
        super().__init__()
        self.role: str = Role.MEMBER
        self.active = True
        self.time_zone: str | None = None
        self.quiet_hours: dict[str, str] | None = None
        self.out_of_office: dict[str, str | None] | None = None
        self.name: str | None = None
        self.email: str | None = None
        self.slack_user_id: str | None = None
        self.erased = False

    def erase(self, *, actor: str, now: datetime) -> None:
        """Have name and addresses made unreadable for good; a repeat does nothing.

        Raises `Conflict` while the person is in the directory.
        """
        if not self.removed:
            raise Conflict(f"user {self.readable_id!r} is still in the directory: remove them first, then erase them")
        if not self.erased:
            self.trigger_event(self.ContentErased, timestamp=now, actor=actor)

    def set_password(self, *, actor: str, now: datetime) -> None:
        """Record that the person has another password."""
        self.trigger_event(self.PasswordSet, timestamp=now, actor=actor)

    @property
    def may_be_asked(self) -> bool:
        """Whether requests can be given to this person, away or not."""
        return self.active and self.role != Role.AUDITOR


def away(out_of_office: Mapping[str, Any] | None, time_zone: str | None) -> tuple[datetime, datetime] | None:
    """The instants from which, and up to which, somebody is out of office: both days whole, in their time zone."""
    if out_of_office is None:
        return None
    zone = ZoneInfo(time_zone) if time_zone else UTC
    first, last = (date.fromisoformat(out_of_office[name]) for name in ("from", "to"))
    return (
        datetime.combine(first, time.min, zone).astimezone(UTC),
        datetime.combine(last + timedelta(days=1), time.min, zone).astimezone(UTC),
    )
