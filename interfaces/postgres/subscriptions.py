"""Subscriptions of browsers, kept beside the log: where to reach a browser is no fact about a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString
from uuid import UUID

import psycopg

from application.subscriptions import MOST_EACH, Subscription
from domain.errors import Conflict, NotAllowed
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.pool import Pool, reached, reading
from interfaces.postgres.writer import CHANNEL

SUBSCRIPTIONS_CHANGED = "subscriptions"
"""The payload of a NOTIFY that says that servers should look whether there are any."""

_ACTIVE: LiteralString = (
    "SELECT s.user_id, s.endpoint, s.p256dh, s.auth FROM push_subscriptions s"
    " JOIN users u ON u.id = s.user_id AND u.active"
)


class PostgresSubscriptions:
    """Implements `application.subscriptions.Subscriptions`."""

    def __init__(self, pool: Pool, clock: DatabaseClock) -> None:
        self._pool = pool
        self._clock = clock
        self.any = False
        """Whether there are any at all, as far as this replica has heard."""

        self._changes = 0

    async def look(self, connection: psycopg.AsyncConnection) -> None:
        """See whether there are any: once a connection listens, and whenever a NOTIFY says that they have changed."""
        changes = self._changes
        cursor = await connection.execute(f"SELECT EXISTS ({_ACTIVE})")
        row = await cursor.fetchone()
        assert row is not None
        if self._changes == changes:  # else what was read may be older than what this replica did meanwhile
            self.any = row[0]

    async def count(self, user_id: UUID) -> int:
        async def read(connection: psycopg.AsyncConnection) -> Any:
            cursor = await connection.execute("SELECT count(*) FROM push_subscriptions WHERE user_id = %s", (user_id,))
            return await cursor.fetchone()

        return (await reading(self._pool, read))[0]

    async def add(self, subscription: Subscription) -> bool:
        user_id, endpoint = subscription.user_id, subscription.endpoint
        async with reached(self._pool) as connection, connection.transaction():
            # One at a time for each person: of many at once, too, no more than the most are left.
            cursor = await connection.execute(
                "SELECT id FROM users WHERE id = %s AND active FOR NO KEY UPDATE", (user_id,)
            )
            if await cursor.fetchone() is None:
                raise NotAllowed("you are not active here any more")
            cursor = await connection.execute("SELECT user_id FROM push_subscriptions WHERE endpoint = %s", (endpoint,))
            before = await cursor.fetchone()
            cursor = await connection.execute(
                "INSERT INTO push_subscriptions AS s (endpoint, user_id, p256dh, auth, created_at, confirmed_at)"  # noqa: S608
                f" SELECT %s, %s, %b, %b, now, now FROM (SELECT {self._clock.sql} AS now) AS time"
                " ON CONFLICT (endpoint) DO UPDATE SET user_id = excluded.user_id, p256dh = excluded.p256dh,"
                "  auth = excluded.auth, confirmed_at = excluded.confirmed_at, failed_at = NULL, failure = NULL"
                " WHERE s.user_id = excluded.user_id OR (s.p256dh = excluded.p256dh AND s.auth = excluded.auth)",
                (endpoint, user_id, subscription.p256dh, subscription.auth),
            )
            if cursor.rowcount == 0:
                raise Conflict("this endpoint is somebody else's: have the browser subscribe anew")
            await connection.execute(
                "DELETE FROM push_subscriptions WHERE user_id = %(user)s AND endpoint NOT IN (SELECT endpoint"
                " FROM push_subscriptions WHERE user_id = %(user)s"
                " ORDER BY endpoint = %(this)s DESC, confirmed_at DESC, created_at DESC LIMIT %(most)s)",
                {"user": user_id, "this": endpoint, "most": MOST_EACH},
            )
            await _tell(connection)
        self._changes += 1
        self.any = True
        return before is None or before[0] != user_id

    async def remove(self, user_id: UUID, endpoint: str) -> bool:
        return await self._delete("endpoint = %s AND user_id = %s", endpoint, user_id)

    async def drop(self, endpoint: str) -> None:
        await self._delete("endpoint = %s", endpoint)

    async def _delete(self, which: LiteralString, *values: object) -> bool:
        async with reached(self._pool) as connection:
            async with connection.transaction():
                cursor = await connection.execute(f"DELETE FROM push_subscriptions WHERE {which}", values)  # noqa: S608
                await _tell(connection)
            self._changes += 1
            await self.look(connection)
        return cursor.rowcount > 0

    async def failed(self, endpoint: str, why: str) -> None:
        async with reached(self._pool) as connection:
            await connection.execute(
                f"UPDATE push_subscriptions SET failed_at = {self._clock.sql}, failure = %s WHERE endpoint = %s",  # noqa: S608
                (why, endpoint),
            )

    async def of_person(self, user_id: UUID) -> Sequence[Subscription]:
        return await self._found(f"{_ACTIVE} WHERE s.user_id = %s", user_id)

    async def of_list(self, list_id: UUID) -> Sequence[Subscription]:
        members: LiteralString = "SELECT user_id FROM list_members WHERE list_id = %s"
        return await self._found(f"{_ACTIVE} WHERE s.user_id IN ({members})", list_id)

    async def of_administrators(self) -> Sequence[Subscription]:
        return await self._found(f"{_ACTIVE} WHERE u.role = 'administrator'")

    async def _found(self, query: LiteralString, *values: object) -> Sequence[Subscription]:
        async def read(connection: psycopg.AsyncConnection) -> Sequence[Subscription]:
            cursor = await connection.execute(query, values, binary=True)
            return [Subscription(*row) for row in await cursor.fetchall()]

        return await reading(self._pool, read)


async def _tell(connection: psycopg.AsyncConnection) -> None:
    await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, SUBSCRIPTIONS_CHANGED))
