"""The use cases of the directory: people, agents, and the keys that speak for them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from application.ports import AgentEntry, Clock, Directory, EventStore, KeyEntry, UserEntry, VersionConflict
from domain.callers import SYSTEM, Caller, PersonCaller, Role
from domain.directory import RESERVED, AccessKey, Agent, User, directory_id, readable_id_from
from domain.errors import AlreadyExists, FieldError, Invalid, NotAllowed, NotFound, Unavailable
from domain.text import text_errors

KEY_PREFIX = "hr_"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made: the only time that `key` itself can be seen."""

    readable_id: str
    key: str
    position: int


class DirectoryService:
    """Changes to the directory, by administrators; and who a key speaks for."""

    def __init__(self, store: EventStore, directory: Directory, clock: Clock) -> None:
        self._store = store
        self._directory = directory
        self._clock = clock

    async def authenticate(self, key: str) -> Caller | None:
        """Who this key speaks for, None for one that does not work."""
        return await self._directory.authenticate(hashlib.sha256(key.encode("utf-8", "replace")).digest())

    async def add_user(
        self, *, by: Caller | None, name: str, role: Role, id: str | None = None, email: str | None = None
    ) -> tuple[str, int]:
        """Add a person; returns the readable id and the position. `by` None is the system itself.

        Raises `NotAllowed`, `Invalid`, or `AlreadyExists` for an id that is or was another's.
        """
        actor = _administrator(by)
        _check_texts(name=name, email=email)

        def add(readable_id: str) -> User:
            return User.add(
                readable_id=readable_id, name=name, email=email, role=role, actor=actor, now=self._clock.now()
            )

        return await self._add("user", id, name, add)

    async def add_agent(
        self, *, by: Caller | None, name: str, id: str | None = None, owner: str | None = None
    ) -> tuple[str, int]:
        """Add an agent; returns the readable id and the position. Raises as `add_user` does."""
        actor = _administrator(by)
        _check_texts(name=name)
        owner_id = None if owner is None else await self._user("owner", owner)

        def add(readable_id: str) -> Agent:
            return Agent.add(readable_id=readable_id, name=name, owner=owner_id, actor=actor, now=self._clock.now())

        return await self._add("agent", id, name, add)

    async def create_key(
        self,
        *,
        by: Caller | None,
        name: str,
        id: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        run_user: str | None = None,
        expires_at: datetime | None = None,
    ) -> NewKey:
        """Make a key for one agent or one person. Raises `NotAllowed`, `Invalid` or `AlreadyExists`."""
        actor = _administrator(by)
        _check_texts(name=name)
        agent_id = None if agent is None else await self._agent("agent", agent)
        user_id = None if user is None else await self._user("user", user)
        run_user_id = None if run_user is None else await self._user("run_user", run_user)
        key = KEY_PREFIX + secrets.token_urlsafe(32)

        def create(readable_id: str) -> AccessKey:
            return AccessKey.create(
                readable_id=readable_id,
                name=name,
                sha256=hashlib.sha256(key.encode()).hexdigest(),
                agent_id=agent_id,
                user_id=user_id,
                run_user=run_user_id,
                expires_at=expires_at,
                actor=actor,
                now=self._clock.now(),
            )

        readable_id, position = await self._add("key", id, name, create)
        return NewKey(readable_id, key, position)

    async def revoke_key(self, readable_id: str, *, by: Caller) -> int:
        """Stop a key at once, on every replica; returns the position. Raises `NotAllowed` or `NotFound`."""
        actor = _administrator(by)
        while True:
            key = await self._store.access_key(directory_id("key", readable_id))
            if key is None:
                raise NotFound(f"there is no key {readable_id!r}")
            key.revoke(actor=actor, now=self._clock.now())
            try:
                return await self._store.save(key)
            except VersionConflict:
                continue

    # -- reading

    async def users(self, *, by: Caller, after: str, limit: int) -> list[UserEntry]:
        """People, in the order of their ids. Raises `NotAllowed` to agents."""
        if not isinstance(by, PersonCaller):
            raise NotAllowed("only people may list users")
        return await self._directory.users(after, limit)

    async def agents(self, *, by: Caller, after: str, limit: int) -> list[AgentEntry]:
        """Agents, in the order of their ids. Raises `NotAllowed` to all but administrators and auditors."""
        _reader(by)
        return await self._directory.agents(after, limit)

    async def keys(self, *, by: Caller, after: str, limit: int) -> list[KeyEntry]:
        """Keys, in the order of their ids. Raises `NotAllowed` to all but administrators and auditors."""
        _reader(by)
        return await self._directory.keys(after, limit)

    # -- parts

    async def _add(
        self, kind: str, given: str | None, name: str, make: Callable[[str], User | Agent | AccessKey]
    ) -> tuple[str, int]:
        """Save what `make` makes, under the given id or the first free one made from the name."""
        if given is not None:
            try:
                return given, await self._store.save(make(given))
            except VersionConflict:
                raise AlreadyExists(f"{kind} id {given!r} is in use or was; ids are never given again") from None
        stem = readable_id_from(name) or kind
        for number in range(1, 1000):
            readable_id = stem if number == 1 else f"{stem}-{number}"
            if readable_id in RESERVED:
                continue
            try:
                return readable_id, await self._store.save(make(readable_id))
            except VersionConflict:
                continue
        raise Unavailable(f"no free id could be made from {name!r}: give one as id")

    async def _user(self, field: str, readable_id: str) -> UUID:
        return await _known(field, "active user", readable_id, self._directory.user_id)

    async def _agent(self, field: str, readable_id: str) -> UUID:
        return await _known(field, "agent", readable_id, self._directory.agent_id)


async def _known(field: str, kind: str, readable_id: str, find: Callable[[str], Awaitable[UUID | None]]) -> UUID:
    id = await find(readable_id)
    if id is None:
        raise Invalid([FieldError(field, f"there is no {kind} {readable_id!r}")])
    return id


def _administrator(by: Caller | None) -> str:
    if by is None:
        return SYSTEM
    if not (isinstance(by, PersonCaller) and by.administers):
        raise NotAllowed("only an administrator may change the directory")
    return by.actor


def _reader(by: Caller) -> None:
    if not (isinstance(by, PersonCaller) and by.sees_everything):
        raise NotAllowed("only administrators and auditors may read this")


def _check_texts(**texts: str | None) -> None:
    errors: list[FieldError] = []
    for field, text in texts.items():
        if text is None:
            continue
        errors += text_errors(text, field)
        if not text.strip() or len(text) > 200:
            errors.append(FieldError(field, "must have 1–200 characters, not only blanks"))
    if errors:
        raise Invalid(errors)
