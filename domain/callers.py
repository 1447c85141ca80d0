"""Who is calling: the actor of every event comes from here, never from what the caller wrote in a body."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class Role(StrEnum):
    """What a person may do: see the table in docs/reference/permissions.md."""

    ADMINISTRATOR = "administrator"
    MEMBER = "member"
    AUDITOR = "auditor"


class Via(StrEnum):
    """The channel an answer came through."""

    WEB = "web"
    SLACK = "slack"
    API = "api"
    MCP = "mcp"
    CLI = "cli"


SYSTEM = "system"
"""The actor of what time or the service itself brings about."""


def agent_actor(agent_id: UUID) -> str:
    return f"agent:{agent_id}"


def person_actor(user_id: UUID) -> str:
    return f"user:{user_id}"


def actor_id(actor: str) -> UUID | None:
    """The UUID in an actor, None for the system."""
    _, _, id_ = actor.partition(":")
    return UUID(id_) if id_ else None


@dataclass(frozen=True, slots=True)
class AgentCaller:
    """An agent, known by its key. `run_user` is set when the key speaks for runs of that one person only."""

    id: UUID
    key_id: UUID
    run_user: UUID | None = None
    until: datetime | None = None
    """When the credential stops working by itself."""

    @property
    def actor(self) -> str:
        return agent_actor(self.id)


@dataclass(frozen=True, slots=True)
class PersonCaller:
    """A person, known by a key or a session."""

    id: UUID
    role: Role
    key_id: UUID | None = None
    """The key that was sent; None for a session."""

    session_id: UUID | None = field(default=None, kw_only=True)
    embedded: bool = field(default=False, kw_only=True)
    """Whether it is a session of a page inside another application's, which may do less."""

    owns: frozenset[UUID] = frozenset()
    """The agents that this person owns."""

    lists: frozenset[UUID] = frozenset()
    """The lists that this person is a member of."""

    until: datetime | None = None
    """When the credential stops working by itself."""

    @property
    def actor(self) -> str:
        return person_actor(self.id)

    @property
    def administers(self) -> bool:
        return self.role is Role.ADMINISTRATOR

    @property
    def may_act(self) -> bool:
        return self.role is not Role.AUDITOR

    @property
    def sees_everything(self) -> bool:
        return self.role in (Role.ADMINISTRATOR, Role.AUDITOR)


Caller = AgentCaller | PersonCaller
