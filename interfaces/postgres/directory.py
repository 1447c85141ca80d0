"""The directory's inline tables, read: who a key speaks for, what people and agents are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import class_row

from application.ports import (
    AgentEntry,
    AgentTypeEntry,
    CategoryEntry,
    KeyEntry,
    ListEntry,
    RequestTypeEntry,
    UserEntry,
)
from domain.callers import AgentCaller, Caller, PersonCaller, Role
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.coalescing import Coalescer
from interfaces.postgres.pool import Pool, reached, reading


class PostgresDirectory:
    """Implements `application.ports.Directory`. Nothing that can change is remembered here."""

    def __init__(self, pool: Pool, clock: DatabaseClock) -> None:
        self._pool = pool
        self._clock = clock
        self._callers: Coalescer[bytes, Caller] = Coalescer(self._fetch_callers)
        self._sessions: Coalescer[bytes, Caller] = Coalescer(self._fetch_sessions)
        self._names: dict[UUID, str] = {}

    async def authenticate(self, sha256: bytes) -> Caller | None:
        return await self._callers.get(sha256)

    async def _fetch_callers(self, hashes: Sequence[bytes]) -> Mapping[bytes, Caller]:
        async def read(connection: psycopg.AsyncConnection) -> list[Any]:
            cursor = await connection.execute(
                "SELECT k.sha256, k.id, k.agent_id, k.run_user, k.user_id, u.role, k.expires_at,"  # noqa: S608  our own expression
                " array(SELECT a.id FROM agents a WHERE a.owner = k.user_id),"
                " array(SELECT m.list_id FROM list_members m WHERE m.user_id = k.user_id)"
                " FROM access_keys k LEFT JOIN users u ON u.id = k.user_id LEFT JOIN agents g ON g.id = k.agent_id"
                " WHERE k.sha256 = ANY(%b) AND NOT k.revoked AND (u.active OR NOT g.removed)"
                f" AND (k.expires_at IS NULL OR k.expires_at > {self._clock.sql})",
                (list(hashes),),
                binary=True,
                prepare=True,
            )
            return await cursor.fetchall()

        callers: dict[bytes, Caller] = {}
        for sha256, key_id, agent_id, run_user, user_id, role, until, owns, lists in await reading(self._pool, read):
            if agent_id is not None:
                callers[sha256] = AgentCaller(agent_id, key_id, run_user, until)
            else:
                callers[sha256] = PersonCaller(
                    user_id, Role(role), key_id, owns=frozenset(owns), lists=frozenset(lists), until=until
                )
        return callers

    # -- sessions

    async def authenticate_session(self, sha256: bytes) -> Caller | None:
        return await self._sessions.get(sha256)

    async def _fetch_sessions(self, hashes: Sequence[bytes]) -> Mapping[bytes, Caller]:
        async def read(connection: psycopg.AsyncConnection) -> list[Any]:
            cursor = await connection.execute(
                "SELECT s.sha256, s.id, s.user_id, u.role, s.expires_at, s.embedded,"  # noqa: S608  our own expression
                " array(SELECT a.id FROM agents a WHERE a.owner = s.user_id),"
                " array(SELECT m.list_id FROM list_members m WHERE m.user_id = s.user_id)"
                " FROM sessions s JOIN users u ON u.id = s.user_id AND u.active"
                f" WHERE s.sha256 = ANY(%b) AND s.expires_at > {self._clock.sql}",
                (list(hashes),),
                binary=True,
                prepare=True,
            )
            return await cursor.fetchall()

        return {
            sha256: PersonCaller(
                user_id,
                Role(role),
                owns=frozenset(owns),
                lists=frozenset(lists),
                until=until,
                session_id=id,
                embedded=embedded,
            )
            for sha256, id, user_id, role, until, embedded, owns, lists in await reading(self._pool, read)
        }

    async def person(self, user_id: UUID) -> PersonCaller | None:
        async def read(connection: psycopg.AsyncConnection) -> Any:
            cursor = await connection.execute(
                "SELECT u.role, array(SELECT a.id FROM agents a WHERE a.owner = u.id),"
                " array(SELECT m.list_id FROM list_members m WHERE m.user_id = u.id)"
                " FROM users u WHERE u.id = %s AND u.active",
                (user_id,),
            )
            return await cursor.fetchone()

        row = await reading(self._pool, read)
        return (
            None
            if row is None
            else PersonCaller(user_id, Role(row[0]), owns=frozenset(row[1]), lists=frozenset(row[2]))
        )

    async def user_with_slack_id(self, slack_user_id: str) -> UUID | None:
        return await self._one(
            "SELECT id FROM users WHERE slack_user_id = %s AND NOT removed AND active", slack_user_id
        )

    async def may_sign_in(self, user_id: UUID) -> bool:
        return await self._value("SELECT id FROM users WHERE id = %s AND active", user_id) is not None

    async def password_of(self, name: str) -> tuple[UUID, str] | None:
        async def read(connection: psycopg.AsyncConnection) -> Any:
            cursor = await connection.execute(
                "SELECT u.id, p.hash FROM users u JOIN passwords p ON p.user_id = u.id"
                " WHERE u.active AND (u.readable_id = lower(%(name)s)"
                "  OR (NOT u.removed AND lower(u.email) = lower(%(name)s)))"
                " ORDER BY u.readable_id = lower(%(name)s) DESC LIMIT 1",
                {"name": _text(name)},
            )
            return await cursor.fetchone()

        row = await reading(self._pool, read)
        return None if row is None else (row[0], row[1])

    async def password_hash(self, user_id: UUID) -> str | None:
        return await self._value("SELECT hash FROM passwords WHERE user_id = %s", user_id)

    async def user_with_email(self, email: str) -> UUID | None:
        return await self._one("SELECT id FROM users WHERE lower(email) = lower(%s) AND NOT removed AND active", email)

    async def link_id(self, sha256: bytes) -> UUID | None:
        return await self._value("SELECT id FROM sign_in_links WHERE sha256 = %b", sha256)

    async def forget_what_is_over(self) -> None:
        async with reached(self._pool) as connection:
            for table in ("sessions", "sign_in_links"):
                await connection.execute(f"DELETE FROM {table} WHERE expires_at <= {self._clock.sql}")  # noqa: S608

    async def open_sessions(self, user_id: UUID) -> list[UUID]:
        async def read(connection: psycopg.AsyncConnection) -> list[UUID]:
            cursor = await connection.execute(
                f"SELECT id FROM sessions WHERE user_id = %s AND expires_at > {self._clock.sql}",  # noqa: S608
                (user_id,),
            )
            return [row[0] for row in await cursor.fetchall()]

        return await reading(self._pool, read)

    # -- ids

    async def user_id(self, readable_id: str, *, active: bool = True) -> UUID | None:
        if active:
            return await self._one("SELECT id FROM users WHERE readable_id = %s AND active", readable_id)
        return await self._one("SELECT id FROM users WHERE readable_id = %s", readable_id)

    async def agent_id(self, readable_id: str, *, active: bool = True) -> UUID | None:
        if active:
            return await self._one("SELECT id FROM agents WHERE readable_id = %s AND NOT removed", readable_id)
        return await self._one("SELECT id FROM agents WHERE readable_id = %s", readable_id)

    async def list_id(self, readable_id: str) -> UUID | None:
        return await self._one("SELECT id FROM lists WHERE readable_id = %s", readable_id)

    async def request_type_id(self, id_or_name: str) -> str | None:
        return await self._one(
            "SELECT readable_id FROM request_types, (SELECT lower(%s) AS wanted) AS asked"
            " WHERE wanted IN (readable_id, lower(name)) AND NOT removed"
            " ORDER BY readable_id <> wanted, readable_id LIMIT 1",
            id_or_name.strip(),
        )

    async def readable_ids(self, ids: Iterable[UUID]) -> dict[UUID, str]:
        wanted = set(ids)
        if unknown := [id for id in wanted if id not in self._names]:

            async def read(connection: psycopg.AsyncConnection) -> list[Any]:
                cursor = await connection.execute(
                    "SELECT id, readable_id FROM users WHERE id = ANY(%(ids)s)"
                    " UNION ALL SELECT id, readable_id FROM agents WHERE id = ANY(%(ids)s)"
                    " UNION ALL SELECT id, readable_id FROM lists WHERE id = ANY(%(ids)s)"
                    " UNION ALL SELECT id, readable_id FROM agent_types WHERE id = ANY(%(ids)s)"
                    " UNION ALL SELECT id, readable_id FROM categories WHERE id = ANY(%(ids)s)"
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

    # -- what changes are checked against

    async def present(self, ids: Iterable[UUID]) -> set[UUID]:
        async def read(connection: psycopg.AsyncConnection) -> set[UUID]:
            cursor = await connection.execute(
                "SELECT id FROM users WHERE id = ANY(%(ids)s) AND NOT removed"
                " UNION ALL SELECT id FROM lists WHERE id = ANY(%(ids)s) AND NOT removed"
                " UNION ALL SELECT id FROM agents WHERE id = ANY(%(ids)s) AND NOT removed"
                " UNION ALL SELECT id FROM agent_types WHERE id = ANY(%(ids)s) AND NOT removed"
                " UNION ALL SELECT id FROM categories WHERE id = ANY(%(ids)s) AND NOT removed"
                " UNION ALL SELECT id FROM request_types WHERE id = ANY(%(ids)s) AND NOT removed",
                {"ids": list(ids)},
            )
            return {row[0] for row in await cursor.fetchall()}

        return await reading(self._pool, read)

    async def uses_of(self, kind: str, id: UUID, readable_id: str) -> list[str]:
        async def read(connection: psycopg.AsyncConnection) -> list[str]:
            cursor = await connection.execute(_USES[kind], {"id": id, "name": readable_id})
            return [row[0] for row in await cursor.fetchall()]

        return await reading(self._pool, read) if kind in _USES else []

    async def category_parents(self) -> dict[UUID, UUID | None]:
        async def read(connection: psycopg.AsyncConnection) -> dict[UUID, UUID | None]:
            cursor = await connection.execute("SELECT id, parent FROM categories WHERE NOT removed")
            return dict(await cursor.fetchall())

        return await reading(self._pool, read)

    async def administrators(self) -> set[UUID]:
        async def read(connection: psycopg.AsyncConnection) -> set[UUID]:
            cursor = await connection.execute("SELECT id FROM users WHERE role = 'administrator' AND active")
            return {row[0] for row in await cursor.fetchall()}

        return await reading(self._pool, read)

    async def same_contact(self, of: Mapping[UUID, tuple[str | None, str | None]]) -> list[tuple[UUID, UUID, str]]:
        async def read(connection: psycopg.AsyncConnection) -> list[tuple[UUID, UUID, str]]:
            ids, emails, slack_user_ids = zip(*((id, *contact) for id, contact in of.items()), strict=True)
            cursor = await connection.execute(
                "WITH given AS (SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS g(id, email, slack))"
                " SELECT g.id, u.id, 'email' FROM given g JOIN users u ON lower(u.email) = lower(g.email)"
                "  AND u.id <> ALL(%s) AND NOT u.removed"
                " UNION ALL SELECT g.id, u.id, 'slack_user_id' FROM given g JOIN users u ON u.slack_user_id = g.slack"
                "  AND u.id <> ALL(%s) AND NOT u.removed",
                (list(ids), list(emails), list(slack_user_ids), list(ids), list(ids)),
            )
            return await cursor.fetchall()

        return await reading(self._pool, read)

    # -- pages of it

    async def user(self, id: UUID) -> UserEntry | None:
        async def read(connection: psycopg.AsyncConnection) -> UserEntry | None:
            async with connection.cursor(row_factory=class_row(UserEntry)) as cursor:
                query = sql.SQL("SELECT {} FROM users WHERE id = %s AND NOT removed").format(sql.SQL(_USER))
                await cursor.execute(query, (id,))
                return await cursor.fetchone()

        return await reading(self._pool, read)

    async def users(self, after: str, limit: int) -> list[UserEntry]:
        return await self._page(UserEntry, _USER, "users", after, limit)

    async def lists(self, after: str, limit: int) -> list[ListEntry]:
        return await self._page(ListEntry, _LIST, "lists", after, limit)

    async def list_entry(self, id: UUID) -> ListEntry | None:
        async def read(connection: psycopg.AsyncConnection) -> ListEntry | None:
            async with connection.cursor(row_factory=class_row(ListEntry)) as cursor:
                query = sql.SQL("SELECT {} FROM lists WHERE id = %s AND NOT removed").format(sql.SQL(_LIST))
                await cursor.execute(query, (id,))
                return await cursor.fetchone()

        return await reading(self._pool, read)

    async def members(self, list_id: UUID) -> list[UserEntry]:
        async def read(connection: psycopg.AsyncConnection) -> list[UserEntry]:
            async with connection.cursor(row_factory=class_row(UserEntry)) as cursor:
                query = sql.SQL(
                    "SELECT {} FROM users JOIN list_members m ON m.user_id = id"
                    " WHERE m.list_id = %s AND active ORDER BY m.place"
                ).format(sql.SQL(_USER))
                await cursor.execute(query, (list_id,))
                return await cursor.fetchall()

        return await reading(self._pool, read)

    async def agents(self, after: str, limit: int) -> list[AgentEntry]:
        columns = "id, readable_id, name, owner, agent_type, category"
        return await self._page(AgentEntry, columns, "agents", after, limit)

    async def agent_types(self, after: str, limit: int) -> list[AgentTypeEntry]:
        return await self._page(
            AgentTypeEntry, "id, readable_id, name, assignment_strategy", "agent_types", after, limit
        )

    async def categories(self, after: str, limit: int) -> list[CategoryEntry]:
        columns = "id, readable_id, name, parent, assignment_strategy"
        return await self._page(CategoryEntry, columns, "categories", after, limit)

    async def request_types(self, after: str, limit: int) -> list[RequestTypeEntry]:
        columns = (
            "id, readable_id, name, default_assignment_strategy, default_priority, default_expiration_minutes,"
            " no_self_answer, erase_after_days"
        )
        return await self._page(RequestTypeEntry, columns, "request_types", after, limit)

    async def keys(self, after: str, limit: int) -> list[KeyEntry]:
        return await self._page(
            KeyEntry,
            "id, readable_id, name, agent_id, user_id, run_user, expires_at, revoked, created_at, last_used_at",
            "access_keys",
            after,
            limit,
            removed_too=True,
        )

    async def _page(
        self,
        entry: type[Any],
        columns: LiteralString,
        table: LiteralString,
        after: str,
        limit: int,
        *,
        removed_too: bool = False,
    ) -> list[Any]:
        present: LiteralString = "" if removed_too else "NOT removed AND "
        query = f"SELECT {columns} FROM {table} WHERE {present}readable_id > %s ORDER BY readable_id LIMIT %s"  # noqa: S608

        async def read(connection: psycopg.AsyncConnection) -> list[Any]:
            async with connection.cursor(row_factory=class_row(entry)) as cursor:
                await cursor.execute(query, (_text(after), limit))
                return await cursor.fetchall()

        return await reading(self._pool, read)

    async def _one(self, query: Any, name: str) -> Any:
        return await self._value(query, _text(name))

    async def _value(self, query: Any, value: Any) -> Any:
        async def read(connection: psycopg.AsyncConnection) -> Any:
            cursor = await connection.execute(query, (value,))
            return await cursor.fetchone()

        row = await reading(self._pool, read)
        return None if row is None else row[0]


_USER: LiteralString = (
    "id, readable_id, name, email, role, active, slack_user_id, time_zone, quiet_hours, out_of_office"
)
_LIST: LiteralString = (
    "id, readable_id, name, array(SELECT m.user_id FROM list_members m JOIN users u ON u.id = m.user_id"
    " WHERE m.list_id = lists.id AND NOT u.removed ORDER BY m.place) AS members"
)

_NAMED_BY_STRATEGIES: LiteralString = (
    "SELECT 'the strategy of agent type ' || readable_id FROM agent_types"
    " WHERE NOT removed AND jsonb_path_exists(assignment_strategy, {path}, jsonb_build_object('name', %(name)s::text))"
    " UNION ALL SELECT 'the strategy of category ' || readable_id FROM categories"
    " WHERE NOT removed AND jsonb_path_exists(assignment_strategy, {path}, jsonb_build_object('name', %(name)s::text))"
    " UNION ALL SELECT 'the strategy of request type ' || readable_id FROM request_types"
    " WHERE NOT removed"
    " AND jsonb_path_exists(default_assignment_strategy, {path}, jsonb_build_object('name', %(name)s::text))"
)
_OPEN_REQUESTS: LiteralString = (
    "SELECT count || CASE count WHEN 1 THEN ' open request' ELSE ' open requests' END"
    " FROM open_counts WHERE holder_id = %(id)s AND count > 0"
)
_USES: dict[str, LiteralString] = {
    "list": _NAMED_BY_STRATEGIES.replace("{path}", "'$.**.listID ? (@ == $name)'") + " UNION ALL " + _OPEN_REQUESTS,
    "agent_type": "SELECT 'agent ' || readable_id FROM agents WHERE agent_type = %(id)s AND NOT removed",
    "category": "SELECT 'agent ' || readable_id FROM agents WHERE category = %(id)s AND NOT removed"
    " UNION ALL SELECT 'category ' || readable_id FROM categories WHERE parent = %(id)s AND NOT removed",
    "agent": _OPEN_REQUESTS,
    "request_type": _OPEN_REQUESTS,
}
"""By kind, what needs an entry, so that it cannot be removed."""


def _text(given: str) -> str:
    """What Postgres cannot hold as text (NUL, lone surrogates) names nothing; it must not become an error."""
    return given.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
