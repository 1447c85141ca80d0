"""What the use cases need from the world, as the world must offer it. Adapters in `interfaces` implement these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from domain.answers import Answer
from domain.answers import SchemaValidator as SchemaValidator
from domain.callers import Caller, Role
from domain.directory import AccessKey, Agent, User
from domain.errors import FieldError
from domain.recorded import RecordedEvent
from domain.request import Request


class VersionConflict(Exception):
    """Somebody else changed the aggregate first: load it again and decide again."""


class DeadlinePassed(Exception):
    """The database's clock, `now`, says the deadline for this write has passed: decide again with that time."""

    def __init__(self, now: datetime) -> None:
        super().__init__(f"the deadline had passed at {now}")
        self.now = now


class Clock(Protocol):
    """The time that all replicas agree on: the database's."""

    def now(self) -> datetime:
        """The present instant, in UTC."""
        ...


Aggregate = Request | User | Agent | AccessKey


class EventStore(Protocol):
    """The log of all events and what is kept in step with it."""

    async def request(self, id: UUID) -> Request | None:
        """The request as its events make it; None where there are none."""
        ...

    async def history(self, id: UUID) -> list[tuple[int, RecordedEvent]]:
        """The events of one aggregate in order, each with its position in the log."""
        ...

    async def access_key(self, id: UUID) -> AccessKey | None:
        """The key aggregate; None where there is none."""
        ...

    async def save(
        self,
        *aggregates: Aggregate,
        before: datetime | None = None,
        sealed_answer: Answer | None = None,
        committed: Callable[[], None] | None = None,
    ) -> int:
        """Append the pending events of all aggregates, or of none; returns the position of the last.

        `before` is a deadline that the database's clock checks at the moment of writing. `sealed_answer` goes into
        the vault in the same transaction. `committed` is called once all is written, before anybody else learns of
        it. Raises `VersionConflict`, `DeadlinePassed`, or `Unavailable` when nothing was written because the database
        could not be reached or the queue is full.
        """
        ...

    async def sealed_answer(self, id: UUID) -> Answer | None:
        """The sealed answer of a request, while it is kept."""
        ...

    async def head(self) -> int:
        """The position of the newest event, 0 for an empty log."""
        ...


@dataclass(frozen=True, slots=True)
class DueStep:
    """A step of a request's plan whose time has come."""

    request_id: UUID
    step: str
    due_at: datetime


class DueSteps(Protocol):
    """The times at which something must happen, kept in step with the log."""

    async def lease(self, limit: int) -> tuple[datetime, Sequence[DueStep]]:
        """Up to `limit` steps that are due, leased to this replica, and the database's time."""
        ...

    async def next_due(self) -> tuple[datetime, datetime | None]:
        """The database's time, and when the next step that nobody has leased is due."""
        ...

    async def shred(self, ids: Sequence[UUID]) -> None:
        """Destroy the sealed answers of these requests, whose time to be collected is over."""
        ...


@dataclass(frozen=True, slots=True)
class UserEntry:
    """A person as the directory shows them."""

    id: UUID
    readable_id: str
    name: str | None
    email: str | None
    role: Role
    active: bool


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """An agent as the directory shows it."""

    id: UUID
    readable_id: str
    name: str
    owner: UUID | None


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key as the directory shows it: never the key itself."""

    id: UUID
    readable_id: str
    name: str
    agent_id: UUID | None
    user_id: UUID | None
    run_user: UUID | None
    expires_at: datetime | None
    revoked: bool
    created_at: datetime


class Directory(Protocol):
    """The directory's inline tables: exact, changed in the transaction that appends the events."""

    async def authenticate(self, sha256: bytes) -> Caller | None:
        """Who a key speaks for; None for one that is unknown, revoked, expired, or of an inactive person."""
        ...

    async def user_id(self, readable_id: str, *, active: bool = True) -> UUID | None:
        """The person with this readable id; with `active`, only one who is."""
        ...

    async def agent_id(self, readable_id: str) -> UUID | None:
        """The agent with this readable id."""
        ...

    async def readable_ids(self, ids: Iterable[UUID]) -> dict[UUID, str]:
        """The readable ids of people, agents and keys. They never change, so an adapter may remember them."""
        ...

    async def requests_called(self, unique_id: str) -> list[tuple[UUID, UUID]]:
        """(request, agent) for every request with this `unique_id`, of any agent."""
        ...

    async def users(self, after: str, limit: int) -> list[UserEntry]:
        """People in the order of their readable ids, from the first after `after`."""
        ...

    async def agents(self, after: str, limit: int) -> list[AgentEntry]:
        """Agents in the order of their readable ids, from the first after `after`."""
        ...

    async def keys(self, after: str, limit: int) -> list[KeyEntry]:
        """Keys in the order of their readable ids, from the first after `after`."""
        ...


class Schemas(SchemaValidator, Protocol):
    """JSON Schema: what an agent may ask for and whether an answer fits."""

    def check(self, schema: Any) -> list[FieldError]:
        """What is wrong with a schema itself; empty for a usable one."""
        ...
