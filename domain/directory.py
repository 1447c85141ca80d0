"""The directory: people, agents and the keys that speak for them, as small aggregates of their own.

A readable id (`alice`, `deploy-bot`) decides the aggregate's UUID, so an id that was ever used can never be given
to another: the log itself refuses the second creation.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from typing import Any, ClassVar, Self, cast
from uuid import UUID, uuid5

from eventsourcing.domain import BaseAggregate

from domain.callers import Role
from domain.errors import FieldError, Invalid
from domain.recorded import RecordedCreation, RecordedEvent

_NAMESPACE = UUID("5f0c2b0e-6f5e-5c43-9b43-6f1b9f0f7a11")
RESERVED = frozenset({"nobody", "system"})
"""Ids that stand for something else where people and agents are named."""

_READABLE_ID = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")


def directory_id(kind: str, readable_id: str) -> UUID:
    """The UUID behind a readable id of this kind (`user`, `agent`, `key`)."""
    return uuid5(_NAMESPACE, f"{kind}/{readable_id}")


def check_readable_id(readable_id: str) -> None:
    """Raises `Invalid` for a reserved id, or one with anything but a–z, 0–9, `.`, `_`, `-`, or not 1–64 long."""
    if readable_id in RESERVED:
        raise Invalid([FieldError("id", f"{readable_id!r} is reserved: choose another")])
    if not _READABLE_ID.fullmatch(readable_id):
        allowed = "1–64 of a–z, 0–9, '.', '_' and '-', starting and ending with a letter or digit"
        raise Invalid([FieldError("id", f"must be {allowed}")])


def readable_id_from(name: str) -> str:
    """A readable id made from a name: `José Álvarez` gives `jose-alvarez`; '' where nothing usable is left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-")


class User(BaseAggregate[UUID]):
    """A person: asks to be shown, answers, administers or audits."""

    TOPIC = "handraise.User"

    class Event(RecordedEvent):
        """Base of the events of a person."""

        def apply(self, aggregate: Any) -> None:
            self.remember(cast("User", aggregate))

        def remember(self, user: User) -> None:
            """Change the person's state; never refuses."""

    class Added(Event, RecordedCreation):
        """A person joined the directory."""

        TOPIC = "handraise.User.Added"
        CONTENT: ClassVar = ("name", "email")

        readable_id: str
        role: str
        name: str | None
        email: str | None

        def remember(self, user: User) -> None:
            user.readable_id = self.readable_id
            user.role = Role(self.role)
            user.name = self.name
            user.email = self.email

    def __init__(self) -> None:
        self.readable_id = ""
        self.role = Role.MEMBER
        self.name: str | None = None
        self.email: str | None = None

    @classmethod
    def add(cls, *, readable_id: str, name: str, email: str | None, role: Role, actor: str, now: datetime) -> Self:
        """A new person. Raises `Invalid` for an unusable readable id."""
        check_readable_id(readable_id)
        return cls._create(
            cls.Added,
            id=directory_id("user", readable_id),
            timestamp=now,
            actor=actor,
            readable_id=readable_id,
            role=str(role),
            name=name,
            email=email,
        )


class Agent(BaseAggregate[UUID]):
    """A program that asks. Its owner, a person, may read what it asks."""

    TOPIC = "handraise.Agent"

    class Event(RecordedEvent):
        """Base of the events of an agent."""

        def apply(self, aggregate: Any) -> None:
            self.remember(cast("Agent", aggregate))

        def remember(self, agent: Agent) -> None:
            """Change the agent's state; never refuses."""

    class Added(Event, RecordedCreation):
        """An agent joined the directory."""

        TOPIC = "handraise.Agent.Added"

        readable_id: str
        name: str
        owner: UUID | None

        def remember(self, agent: Agent) -> None:
            agent.readable_id = self.readable_id
            agent.name = self.name
            agent.owner = self.owner

    def __init__(self) -> None:
        self.readable_id = ""
        self.name = ""
        self.owner: UUID | None = None

    @classmethod
    def add(cls, *, readable_id: str, name: str, owner: UUID | None, actor: str, now: datetime) -> Self:
        """A new agent. Raises `Invalid` for an unusable readable id."""
        check_readable_id(readable_id)
        return cls._create(
            cls.Added,
            id=directory_id("agent", readable_id),
            timestamp=now,
            actor=actor,
            readable_id=readable_id,
            name=name,
            owner=owner,
        )


class AccessKey(BaseAggregate[UUID]):
    """A key that speaks for one agent or one person. Only its SHA-256 is ever kept."""

    TOPIC = "handraise.AccessKey"

    class Event(RecordedEvent):
        """Base of the events of a key."""

        def apply(self, aggregate: Any) -> None:
            self.remember(cast("AccessKey", aggregate))

        def remember(self, key: AccessKey) -> None:
            """Change the key's state; never refuses."""

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

    class Revoked(Event):
        """The key stopped working."""

        TOPIC = "handraise.AccessKey.Revoked"

        def remember(self, key: AccessKey) -> None:
            key.revoked = True

    def __init__(self) -> None:
        self.readable_id = ""
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
        check_readable_id(readable_id)
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

    def revoke(self, *, actor: str, now: datetime) -> None:
        """Stop the key at once; a repeat does nothing."""
        if not self.revoked:
            self.trigger_event(self.Revoked, timestamp=now, actor=actor)
