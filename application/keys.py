"""The use cases of keys: made, changed and revoked by administrators; and who a key speaks for."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from application.directory import DirectoryService, check_administrator, check_reader
from application.ports import Clock, Directory, EventStore, KeyEntry
from application.retries import until_saved
from domain.access_keys import AccessKey
from domain.callers import Caller
from domain.directory import directory_id
from domain.errors import FieldError, Invalid, NotFound
from domain.text import is_blank, text_errors

KEY_PREFIX = "hr_"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made: the only time that `key` itself can be seen."""

    readable_id: str
    key: str
    position: int


class Keys:
    """Keys, each for one agent or one person."""

    def __init__(self, store: EventStore, directory: Directory, service: DirectoryService, clock: Clock) -> None:
        self._store = store
        self._directory = directory
        self._service = service
        self._clock = clock

    async def authenticate(self, key: str) -> Caller | None:
        """Who this key speaks for, None for one that does not work."""
        return await self._directory.authenticate(hashlib.sha256(key.encode("utf-8", "replace")).digest())

    async def create(
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
        actor = check_administrator(by)
        _check_name(name)
        named = {"agent": agent, "user": user, "run_user": run_user}
        key = KEY_PREFIX + secrets.token_urlsafe(32)
        ids = await self._ids(named)

        async def check() -> None:
            await self._ids(named)

        async def save(readable_id: str) -> int:
            made = AccessKey.create(
                readable_id=readable_id,
                name=name,
                sha256=hashlib.sha256(key.encode()).hexdigest(),
                agent_id=ids["agent"],
                user_id=ids["user"],
                run_user=ids["run_user"],
                expires_at=expires_at,
                actor=actor,
                now=self._clock.now(),
            )
            return await self._store.save(made, check=check)

        readable_id, position = await self._service.add_named("key", id, name, save)
        return NewKey(readable_id, key, position)

    async def may_be_made_for(self, *, user: str | None = None, agent: str | None = None) -> bool:
        """Whether this person or agent is there, and active."""
        try:
            await self._ids({"user": user, "agent": agent})
        except Invalid:
            return False
        return True

    async def change(self, readable_id: str, fields: Mapping[str, Any], *, by: Caller) -> int:
        """Change `name` or `expires_at`; returns the position. Raises `NotAllowed`, `NotFound` or `Invalid`."""
        actor = check_administrator(by)
        if "name" in fields:
            _check_name(fields["name"])

        async def attempt() -> int:
            key = await self._key(readable_id)
            name, expires_at = (fields.get(each, getattr(key, each)) for each in ("name", "expires_at"))
            key.change(name=name, expires_at=expires_at, actor=actor, now=self._clock.now())
            return await self._store.save(key) or await self._store.head()

        return await until_saved(attempt, f"key {readable_id!r}")

    async def rotate(self, readable_id: str, *, by: Caller) -> NewKey:
        """Replace the key itself; the old one stops at once. Raises `NotAllowed`, `NotFound` or `Conflict`."""
        actor = check_administrator(by)

        async def attempt() -> NewKey:
            key = await self._key(readable_id)
            fresh = KEY_PREFIX + secrets.token_urlsafe(32)
            key.rotate(hashlib.sha256(fresh.encode()).hexdigest(), actor=actor, now=self._clock.now())
            return NewKey(readable_id, fresh, await self._store.save(key))

        return await until_saved(attempt, f"key {readable_id!r}")

    async def revoke(self, readable_id: str, *, by: Caller) -> int:
        """Stop a key at once, on every replica; returns the position. Raises `NotAllowed` or `NotFound`."""
        actor = check_administrator(by)

        async def attempt() -> int:
            key = await self._key(readable_id)
            key.revoke(actor=actor, now=self._clock.now())
            return await self._store.save(key) or await self._store.head()

        return await until_saved(attempt, f"key {readable_id!r}")

    async def page(self, *, by: Caller, after: str, limit: int) -> list[KeyEntry]:
        """Keys, in the order of their ids. Raises `NotAllowed` to all but administrators and auditors."""
        check_reader(by)
        return await self._directory.keys(after, limit)

    async def _key(self, readable_id: str) -> AccessKey:
        key = await self._store.access_key(directory_id("key", readable_id))
        if key is None:
            raise NotFound(f"there is no key {readable_id!r}")
        return key

    async def _ids(self, named: Mapping[str, str | None]) -> dict[str, UUID | None]:
        """The UUIDs of those named. Raises `Invalid` for one that is not there, or not active."""
        ids: dict[str, UUID | None] = {}
        errors: list[FieldError] = []
        for field, name in named.items():
            if name is None:
                ids[field] = None
                continue
            kind, find = (
                ("agent", self._directory.agent_id) if field == "agent" else ("active user", self._directory.user_id)
            )
            ids[field] = await find(name)
            if ids[field] is None:
                errors.append(FieldError(field, f"there is no {kind} {name!r}"))
        if errors:
            raise Invalid(errors)
        return ids


def _check_name(name: str) -> None:
    errors = text_errors(name, "name")
    if not errors and (is_blank(name) or len(name) > 200):
        errors.append(FieldError("name", "must have 1–200 characters, not only blanks"))
    if errors:
        raise Invalid(errors)
