"""Keys: what programs and scripts sign in with."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from eventsourcing.domain import BaseAggregate

from domain.directory import check_readable_id, directory_id
from domain.errors import Conflict, FieldError, Invalid
from domain.recorded import RecordedCreation, RecordedEvent


class AccessKey(BaseAggregate[UUID]):
    """A key that speaks for one agent or one person. Only its SHA-256 is ever kept."""

    TOPIC = "handraise.AccessKey"

    class Event(RecordedEvent):
        """Base of the events of a key."""

    class Created(Event, RecordedCreation):
        """A key was made and shown once."""

        TOPIC = "handraise.AccessKey.Created"

        readable_id: str
        name: str
        sha256: str
        agent_id: UUID | None
        user_id: UUID | None
        run_user: UUID | None
        expires_at: datetime | None

        def remember(self, key: AccessKey) -> None:
            key.readable_id = self.readable_id
            key.name = self.name
            key.expires_at = self.expires_at

    class Changed(Event):
        """Its name or the end of its time, as they are from here on."""

        TOPIC = "handraise.AccessKey.Changed"

        name: str
        expires_at: datetime | None

        def remember(self, key: AccessKey) -> None:
            key.name = self.name
            key.expires_at = self.expires_at

    class Rotated(Event):
        """The key was replaced by a new one, shown once; the old one stopped working."""

        TOPIC = "handraise.AccessKey.Rotated"

        sha256: str

    class Revoked(Event):
        """The key stopped working."""

        TOPIC = "handraise.AccessKey.Revoked"

        def remember(self, key: AccessKey) -> None:
            key.revoked = True

    def __init__(self) -> None:
        self.readable_id = ""
        self.name = ""
        self.expires_at: datetime | None = None
        self.revoked = False

    @classmethod
    def create(
        cls,
        *,
        readable_id: str,
        name: str,
        sha256: str,
        agent_id: UUID | None,
        user_id: UUID | None,
        run_user: UUID | None,
        expires_at: datetime | None,
        actor: str,
        now: datetime,
    ) -> Self:
        """A new key for exactly one agent or one person. Raises `Invalid`."""
        check_readable_id("key", readable_id)
        errors: list[FieldError] = []
        if (agent_id is None) == (user_id is None):
            errors.append(FieldError("agent", "a key belongs to exactly one: give either agent or user"))
        if run_user is not None and agent_id is None:
            errors.append(FieldError("run_user", "only an agent's key can be bound to a run user"))
        if expires_at is not None and expires_at <= now:
            errors.append(FieldError("expires_at", "must be in the future"))
        if errors:
            raise Invalid(errors)
        return cls._create(
            cls.Created,
            id=directory_id("key", readable_id),
            timestamp=now,
            actor=actor,
            readable_id=readable_id,
            name=name,
            sha256=sha256,
            agent_id=agent_id,
            user_id=user_id,
            run_user=run_user,
            expires_at=expires_at,
        )

    def change(self, *, name: str, expires_at: datetime | None, actor: str, now: datetime) -> None:
        """Give it another name or another end. Raises `Invalid` for an end that has passed already."""
        if (name, expires_at) == (self.name, self.expires_at):
            return
        if expires_at is not None and expires_at != self.expires_at and expires_at <= now:
            raise Invalid([FieldError("expires_at", "must be in the future")])
        self.trigger_event(self.Changed, timestamp=now, actor=actor, name=name, expires_at=expires_at)

    def rotate(self, sha256: str, *, actor: str, now: datetime) -> None:
        """Replace the key itself. Raises `Conflict` for one that was revoked."""
        if self.revoked:
            raise Conflict(f"key {self.readable_id!r} is revoked: make a new one")
        self.trigger_event(self.Rotated, timestamp=now, actor=actor, sha256=sha256)

    def revoke(self, *, actor: str, now: datetime) -> None:
        """Stop the key at once; a repeat does nothing."""
        if not self.revoked:
            self.trigger_event(self.Revoked, timestamp=now, actor=actor)
