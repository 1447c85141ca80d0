"""What the use cases need from the world, as the world must offer it. Adapters in `interfaces` implement these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

from domain.access_keys import AccessKey
from domain.answers import Answer
from domain.answers import SchemaValidator as SchemaValidator
from domain.callers import Caller, PersonCaller, Role
from domain.directory import DirectoryEntry
from domain.errors import FieldError
from domain.recorded import RecordedEvent
from domain.request import Request
from domain.routing import Facts, Subject
from domain.sessions import EmbedToken, Session, SignInLink
from domain.slack import SlackConfiguration
from domain.webhooks import Webhook


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


Aggregate = Request | DirectoryEntry | AccessKey | Session | SignInLink | EmbedToken | SlackConfiguration | Webhook

E = TypeVar("E", bound=DirectoryEntry)

Make = Callable[[Facts, datetime], Request]
"""Takes a decision from the facts at the database's time, and makes the aggregate with the events that it means.

It may be called again when the writing failed, so it always starts from the same; it may refuse.
"""


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

    async def session(self, id: UUID) -> Session | None:
        """The session; None where there is none."""
        ...

    async def sign_in_link(self, id: UUID) -> SignInLink | None:
        """The link; None where there is none."""
        ...

    async def embed_token(self, id: UUID) -> EmbedToken | None:
        """The embedding token; None where there is none."""
        ...

    async def slack_configuration(self) -> SlackConfiguration | None:
        """The configuration of Slack; None where nobody has set anything."""
        ...

    async def webhook(self, id: UUID) -> Webhook | None:
        """The webhook, one that was removed too; None where there never was one."""
        ...

    async def entry(self, kind: type[E], id: UUID) -> E | None:
        """An entry of the directory, removed ones too; None where there never was one."""
        ...

    async def save(
        self,
        *aggregates: Aggregate,
        before: datetime | None = None,
        sealed_answer: Answer | None = None,
        committed: Callable[[], None] | None = None,
        check: Callable[[], Awaitable[None]] | None = None,
        password_hash: str | None = None,
        slack_tokens: Mapping[str, str | None] | None = None,
        webhook_secret: str | None = None,
    ) -> int:
        """Append the pending events of all aggregates, or of none; returns the position of the last.

        `before` is a deadline that the database's clock checks at the moment of writing. `sealed_answer` goes into
        the vault in the same transaction. `committed` is called once all is written, before anybody else learns of
        it. `check` looks at the directory while nobody else can write, and may refuse. `password_hash` becomes that
        of the person saved, beside the log; `slack_tokens` those that Slack is reached with from then on, None for one
        that is no more; `webhook_secret` what the webhook saved signs with. Raises `VersionConflict`, `DeadlinePassed`,
        what `check` raises, or `Unavailable` when nothing was written because the database could not be reached or the
        queue is full.
        """
        ...

    async def save_routed(
        self, id: UUID, version: int, subject: Subject, make: Make, *, also: Sequence[UUID] = (), size: int = 0
    ) -> Request:
        """Decide while nobody else can write, and append what that means; returns the request as it then is.

        `version` is how many events the request has (0: none, it is to be created). `also` are people and lists that
        are looked up besides those that the subject leads to. `size` is about how many bytes this is. Raises what
        `make` refuses, and as `save`.
        """
        ...

    async def facts(self, subject: Subject) -> tuple[Facts, datetime]:
        """What a decision on this subject would be taken from just now, for a dry run, and the database's time."""
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
    leased_until: datetime | None = field(default=None, compare=False)
    """Until when it is this replica's to carry out; which lease it is."""


class DueSteps(Protocol):
    """The times at which something must happen, kept in step with the log."""

    async def lease(self, limit: int) -> tuple[datetime, Sequence[DueStep]]:
        """Up to `limit` steps that are due, leased to this replica, and the database's time."""
        ...

    async def next_due(self) -> tuple[datetime, datetime | None]:
        """The database's time, and when the next step that nobody has leased is due."""
        ...

    async def holds(self, step: DueStep) -> bool:
        """Whether this lease of the step still stands: it was given no other time, and to nobody else, meanwhile."""
        ...

    async def done(self, step: DueStep) -> None:
        """This step was carried out; nothing happens where it was given another time, or to another, meanwhile."""
        ...

    async def postpone(self, step: DueStep, until: datetime) -> None:
        """This step is to be carried out then; nothing happens where it was given another time, or to another."""
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
    slack_user_id: str | None = None
    time_zone: str | None = None
    quiet_hours: Mapping[str, Any] | None = None
    out_of_office: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ListEntry:
    """A list of people as the directory shows it; removed people are left out."""

    id: UUID
    readable_id: str
    name: str
    members: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """An agent as the directory shows it."""

    id: UUID
    readable_id: str
    name: str
    owner: UUID | None
    agent_type: UUID | None = None
    category: UUID | None = None


@dataclass(frozen=True, slots=True)
class AgentTypeEntry:
    """An agent type as the directory shows it."""

    id: UUID
    readable_id: str
    name: str
    assignment_strategy: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class CategoryEntry:
    """A category as the directory shows it."""

    id: UUID
    readable_id: str
    name: str
    parent: UUID | None
    assignment_strategy: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class RequestTypeEntry:
    """A request type as the directory shows it."""

    id: UUID
    readable_id: str
    name: str
    default_assignment_strategy: Mapping[str, Any] | None
    default_priority: int | None
    default_expiration_minutes: float | None
    no_self_answer: bool
    erase_after_days: float | None


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
    last_used_at: datetime | None = None


class Directory(Protocol):
    """The directory's inline tables: exact, changed in the transaction that appends the events."""

    async def authenticate(self, sha256: bytes) -> Caller | None:
        """Who a key speaks for; None for one that is unknown, revoked, expired, or of an inactive person."""
        ...

    async def authenticate_session(self, sha256: bytes) -> Caller | None:
        """Whose session a token is; None for one that is unknown, closed, over, or of an inactive person."""
        ...

    async def person(self, user_id: UUID) -> PersonCaller | None:
        """This person as a caller, known by what a channel says of them; None for one who is not active."""
        ...

    async def user_with_slack_id(self, slack_user_id: str) -> UUID | None:
        """The active person whose entry has this Slack id."""
        ...

    async def may_sign_in(self, user_id: UUID) -> bool:
        """Whether this person is there and active."""
        ...

    async def password_of(self, name: str) -> tuple[UUID, str] | None:
        """(person, hash of their password) of the active person with this id or e-mail address, in any case."""
        ...

    async def password_hash(self, user_id: UUID) -> str | None:
        """The hash of this person's password."""
        ...

    async def user_with_email(self, email: str) -> UUID | None:
        """The active person with this e-mail address, in any case."""
        ...

    async def link_id(self, sha256: bytes) -> UUID | None:
        """The sign-in link or embedding token with this token."""
        ...

    async def forget_what_is_over(self) -> None:
        """Drop sessions and links whose time is over: they work no more, and need not be kept."""
        ...

    async def open_sessions(self, user_id: UUID) -> list[UUID]:
        """The sessions of this person."""
        ...

    async def user_id(self, readable_id: str, *, active: bool = True) -> UUID | None:
        """The person with this readable id; with `active`, only one who is."""
        ...

    async def agent_id(self, readable_id: str, *, active: bool = True) -> UUID | None:
        """The agent with this readable id; with `active`, only one that was not removed."""
        ...

    async def readable_ids(self, ids: Iterable[UUID]) -> dict[UUID, str]:
        """The readable ids of people, agents and keys. They never change, so an adapter may remember them."""
        ...

    async def requests_called(self, unique_id: str) -> list[tuple[UUID, UUID]]:
        """(request, agent) for every request with this `unique_id`, of any agent."""
        ...

    async def request_type_id(self, id_or_name: str) -> str | None:
        """The readable id of the request type with this id or, in any case, this name."""
        ...

    async def list_id(self, readable_id: str) -> UUID | None:
        """The list with this readable id, removed ones too."""
        ...

    async def present(self, ids: Iterable[UUID]) -> set[UUID]:
        """Those of these entries, of any kind, that are in the directory and not removed."""
        ...

    async def uses_of(self, kind: str, id: UUID, readable_id: str) -> list[str]:
        """What needs this entry, each in words."""
        ...

    async def category_parents(self) -> dict[UUID, UUID | None]:
        """The parent of every category."""
        ...

    async def administrators(self) -> set[UUID]:
        """All active administrators."""
        ...

    async def same_contact(self, of: Mapping[UUID, tuple[str | None, str | None]]) -> list[tuple[UUID, UUID, str]]:
        """(one of these people, another person, `email` or `slack_user_id`) where the two have the same."""
        ...

    async def user(self, id: UUID) -> UserEntry | None:
        """One person."""
        ...

    async def users(self, after: str, limit: int) -> list[UserEntry]:
        """People in the order of their readable ids, from the first after `after`."""
        ...

    async def lists(self, after: str, limit: int) -> list[ListEntry]:
        """Lists in the order of their readable ids, from the first after `after`."""
        ...

    async def list_entry(self, id: UUID) -> ListEntry | None:
        """One list."""
        ...

    async def members(self, list_id: UUID) -> list[UserEntry]:
        """The active people of this list, in its order."""
        ...

    async def agents(self, after: str, limit: int) -> list[AgentEntry]:
        """Agents in the order of their readable ids, from the first after `after`."""
        ...

    async def agent_types(self, after: str, limit: int) -> list[AgentTypeEntry]:
        """Agent types in the order of their readable ids, from the first after `after`."""
        ...

    async def categories(self, after: str, limit: int) -> list[CategoryEntry]:
        """Categories in the order of their readable ids, from the first after `after`."""
        ...

    async def request_types(self, after: str, limit: int) -> list[RequestTypeEntry]:
        """Request types in the order of their readable ids, from the first after `after`."""
        ...

    async def keys(self, after: str, limit: int) -> list[KeyEntry]:
        """Keys in the order of their readable ids, from the first after `after`."""
        ...


class OpenRequests(Protocol):
    """Which requests are open, from a read model."""

    async def assigned_to(self, user_id: UUID, min_position: int) -> tuple[list[UUID], bool]:
        """Some of the open requests of this person, and whether what was read is as fresh as `min_position`."""
        ...


class Schemas(SchemaValidator, Protocol):
    """JSON Schema: what an agent may ask for and whether an answer fits."""

    def check(self, schema: Any) -> list[FieldError]:
        """What is wrong with a schema itself; empty for a usable one."""
        ...
