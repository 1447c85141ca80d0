"""Webhooks and the log of their calls: on every replica as they are just now, since each look asks the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg

from application.ports import DueStep
from application.webhooks import KEPT_FOR, Attempt, ListedWebhook, WebhookEntry, step_of
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.due import DONE, POSTPONE, STEPS_DUE
from interfaces.postgres.inline import CHANNEL
from interfaces.postgres.installation import opened
from interfaces.postgres.pool import Pool, reached, reading
from interfaces.postgres.sealing import MasterKey

_FORGOTTEN_AT_ONCE = 1000
_ATTEMPT = "agent_id, request_id, message_id, number, at, status, error, duration, next_at, id"


class PostgresWebhooks:
    """Implements `application.webhooks.StoredWebhooks`."""

    def __init__(self, pool: Pool, clock: DatabaseClock, master_key: MasterKey) -> None:
        self._pool = pool
        self._clock = clock
        self._master_key = master_key
        self.any = False
        """Whether any agent has one, as far as this replica has heard."""

    async def look(self, connection: psycopg.AsyncConnection) -> None:
        """See whether there are any: once a connection listens, and whenever a NOTIFY says that they have changed."""
        cursor = await connection.execute("SELECT EXISTS (SELECT FROM webhooks WHERE enabled)")
        row = await cursor.fetchone()
        assert row is not None
        self.any = row[0]

    async def page(self, after: str, limit: int) -> Sequence[ListedWebhook]:
        async def query(connection: psycopg.AsyncConnection) -> Sequence[ListedWebhook]:
            cursor = await connection.execute(
                "SELECT a.readable_id, w.url, w.enabled, l.* FROM webhooks w JOIN agents a ON a.id = w.agent_id"  # noqa: S608
                f" LEFT JOIN LATERAL (SELECT {_ATTEMPT} FROM webhook_attempts WHERE agent_id = w.agent_id"
                f"  AND at >= {self._clock.sql} - %s ORDER BY id DESC LIMIT 1) l ON true"
                " WHERE a.readable_id > %s ORDER BY a.readable_id LIMIT %s",
                (KEPT_FOR, after, limit),
                binary=True,
            )
            rows: Sequence[Any] = await cursor.fetchall()
            return [
                ListedWebhook(agent, url, enabled, None if attempt[0] is None else Attempt(*attempt))
                for agent, url, enabled, *attempt in rows
            ]

        return await reading(self._pool, query)

    async def of_agent(self, agent_id: UUID) -> WebhookEntry | None:
        async def query(connection: psycopg.AsyncConnection) -> WebhookEntry | None:
            cursor = await connection.execute(
                "SELECT w.url, w.enabled, w.created_at, w.changed_at, s.id, s.wrapped, s.expires_at FROM webhooks w"  # noqa: S608
                " LEFT JOIN webhook_secrets s ON s.agent_id = w.agent_id"
                f"  AND (s.expires_at IS NULL OR s.expires_at > {self._clock.sql})"
                " WHERE w.agent_id = %s ORDER BY s.expires_at DESC NULLS FIRST",
                (agent_id,),
                binary=True,
            )
            rows: Sequence[Any] = await cursor.fetchall()
            if not rows:
                return None
            found = [
                await opened(connection, self._master_key, wrapped, id.bytes, f"webhook {id}")
                for *_, id, wrapped, _ in rows
                if id is not None
            ]
            url, enabled, created_at, changed_at, *_ = rows[0]
            until = max((expires_at for *_, expires_at in rows if expires_at is not None), default=None)
            secrets = [secret for secret in found if secret is not None]
            return WebhookEntry(agent_id, url, enabled, created_at, changed_at, secrets, until)

        return await reading(self._pool, query)

    async def attempts(self, request_id: UUID) -> int:
        async def query(connection: psycopg.AsyncConnection) -> int:
            cursor = await connection.execute(
                "SELECT coalesce(max(number), 0) FROM webhook_attempts WHERE request_id = %s", (request_id,)
            )
            row = await cursor.fetchone()
            assert row is not None
            return row[0]

        return await reading(self._pool, query)

    async def record(self, attempt: Attempt, step: DueStep) -> None:
        lease = (step.request_id, step.step, step.leased_until)
        async with reached(self._pool) as connection:
            async with connection.transaction():
                await connection.execute(
                    "INSERT INTO webhook_attempts"
                    " (agent_id, request_id, message_id, number, at, status, error, duration, next_at)"
                    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                    (
                        *(attempt.agent_id, attempt.request_id, attempt.message_id, attempt.number, attempt.at),
                        *(attempt.status, attempt.error, attempt.duration, attempt.next_at),
                    ),
                )
                # Leased still: not where somebody wanted it reported anew meanwhile.
                if attempt.next_at is None:
                    await connection.execute(DONE, lease)
                else:
                    await connection.execute(POSTPONE, (attempt.next_at, *lease))
            await self._forget(connection, attempt)

    async def _forget(self, connection: psycopg.AsyncConnection, attempt: Attempt) -> None:
        """What nobody needs any more by now: old attempts, and the agent's secrets that do not sign any more."""
        await connection.execute(
            "DELETE FROM webhook_attempts WHERE id = ANY(ARRAY("
            " SELECT id FROM webhook_attempts WHERE at < %s ORDER BY at LIMIT %s FOR UPDATE SKIP LOCKED))",
            (attempt.at - KEPT_FOR, _FORGOTTEN_AT_ONCE),
        )
        await connection.execute(
            "DELETE FROM webhook_secrets WHERE agent_id = %s AND expires_at <= %s", (attempt.agent_id, attempt.at)
        )

    async def make_due(self, agent_id: UUID, request_id: UUID) -> None:
        async with reached(self._pool) as connection:
            await connection.execute(
                f"INSERT INTO due_steps (request_id, step, due_at) VALUES (%s, %s, {self._clock.sql})"  # noqa: S608
                " ON CONFLICT (request_id, step) DO UPDATE SET due_at = excluded.due_at, leased_until = NULL",
                (request_id, step_of(agent_id)),
            )
            await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, STEPS_DUE))

    async def log(self, agent_id: UUID, before: int | None, limit: int) -> Sequence[Attempt]:
        async def query(connection: psycopg.AsyncConnection) -> Sequence[Attempt]:
            cursor = await connection.execute(
                f"SELECT {_ATTEMPT}"  # noqa: S608
                " FROM webhook_attempts WHERE agent_id = %(agent)s AND (%(before)s::bigint IS NULL OR id < %(before)s)"
                f" AND at >= {self._clock.sql} - %(kept)s ORDER BY id DESC LIMIT %(limit)s",
                {"agent": agent_id, "before": before, "limit": limit, "kept": KEPT_FOR},
                binary=True,
            )
            return [Attempt(*row) for row in await cursor.fetchall()]

        return await reading(self._pool, query)
