"""The directory's inline tables, read: who a key speaks for, what people and agents are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from application.ports import AgentEntry, KeyEntry, UserEntry
from domain.callers import AgentCaller, Caller, PersonCaller, Role
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.coalescing import Coalescer
from interfaces.postgres.pool import Pool, reading


class PostgresDirectory:
    """Implements `application.ports.Directory`. Nothing that can change is remembered here."""

    def __init__(self, pool: Pool, clock: DatabaseClock) -> None:
        self._pool = pool
        self._now: LiteralString = clock.sql
        self._callers: Coalescer[bytes, Caller] = Coalescer(self._fetch_callers)
        self._names: dict[UUID, str] = {}

    async def authenticate(self, sha256: bytes) -> Caller | None:
        return await self._callers.get(sha256)

    async def _fetch_callers(self, hashes: Sequence[bytes]) -> Mapping[bytes, Caller]:
        async def read(connection: psycopg.AsyncConnection) -> list[Any]:
            cursor = await connection.execute(
                "SELECT k.sha256, k.id, k.agent_id, k.run_user, k.user_id, u.role, k.expires_at,"  # noqa: S608  our own expression
                " array(SELECT a.id FROM agents a WHERE a.owner = k.user_id)"
                " FROM access_keys k LEFT JOIN users u ON u.id = k.user_id"
                " WHERE k.sha256 = ANY(%b) AND NOT k.revoked AND (k.user_id IS NULL OR u.active)"
                f" AND (k.expires_at IS NULL OR k.expires_at > {self._now})",
                (list(hashes),),
                binary=True,
                prepare=True,
            )
            return await cursor.fetchall()

        callers: dict[bytes, Caller] = {}
        for sha256, key_id, agent_id, run_user, user_id, role, until, owns in await reading(self._pool, read):
            if agent_id is not None:
                callers[sha256] = AgentCaller(agent_id, key_id, run_user, until)
            else:
                callers[sha256] = PersonCaller(user_id, Role(role), key_id, frozenset(owns), until)
        return callers

    async def user_id(self, readable_id: str, *, active: bool = True) -> UUID | None:
        if active:
            return await self._one("SELECT id FROM users WHERE readable_id = %s AND active", readable_id)
        return await self._one("SELECT id FROM users WHERE readable_id = %s", readable_id)

    async def agent_id(self, readable_id: str) -> UUID | None:
        return await self._one("SELECT id FROM agents WHERE readable_id = %s", readable_id)

    async def readable_ids(self, ids: Iterable[UUID]) -> dict[UUID, str]:
        wanted = set(ids)
        if unknown := [id for id in wanted if id not in self._names]:

            async def read(connection: psycopg.AsyncConnection) -> list[Any]:
                cursor = await connection.execute(
                    "SELECT id, readable_id FROM users WHERE id = ANY(%(ids)s)"
                    " UNION ALL SELECT id, readable_id FROM agents WHERE id = ANY(%(ids)s)"
                    " UNION ALL SELECT id, readable_id FROM access_keys WHERE id = ANY(%(ids)s)",
                    {"ids": unknown},
                )
                return await cursor.fetchall()

            self._names.update(await reading(self._pool, read))
        return {id: self._names[id] for id in wanted if id in self._names}

    async def requests_called(self, unique_id: str) -> list[tuple[UUID, UUID]]:
        async def read(connection: psycopg.AsyncConnection) -> list[Any]:
            cursor = await connection.execute(
                "SELECT request_id, agent_id FROM request_names WHERE unique_id = %s LIMIT 100",
                (_text(unique_id),),
            )
            return await cursor.fetchall()

        return await reading(self._pool, read)

    async def users(self, after: str, limit: int) -> list[UserEntry]:
        return await self._page(
            UserEntry,
            "SELECT id, readable_id, name, email, role, active FROM users"
            " WHERE readable_id > %s ORDER BY readable_id LIMIT %s",
            after,
            limit,
        )

    async def agents(self, after: str, limit: int) -> list[AgentEntry]:
        return await self._page(
            AgentEntry,
            "SELECT id, readable_id, name, owner FROM agents WHERE readable_id > %s ORDER BY readable_id LIMIT %s",
            after,
            limit,
        )

    async def keys(self, after: str, limit: int) -> list[KeyEntry]:
        return await self._page(
            KeyEntry,
            "SELECT id, readable_id, name, agent_id, user_id, run_user, expires_at, revoked, created_at"
            " FROM access_keys WHERE readable_id > %s ORDER BY readable_id LIMIT %s",
            after,
            limit,
        )

    async def _page(self, entry: type[Any], query: Any, after: str, limit: int) -> list[Any]:
        async def read(connection: psycopg.AsyncConnection) -> list[Any]:
            async with connection.cursor(row_factory=class_row(entry)) as cursor:
                await cursor.execute(query, (_text(after), limit))
                return await cursor.fetchall()

        return await reading(self._pool, read)

    async def _one(self, query: Any, readable_id: str) -> UUID | None:
        async def read(connection: psycopg.AsyncConnection) -> Any:
            cursor = await connection.execute(query, (_text(readable_id),))
            return await cursor.fetchone()

        row = await reading(self._pool, read)
        return None if row is None else row[0]


def _text(given: str) -> str:
    """What Postgres cannot hold as text (NUL, lone surrogates) names nothing; it must not become an error."""
    return given.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
