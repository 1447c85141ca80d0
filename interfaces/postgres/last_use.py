"""When each key was last used, to the minute: kept in memory and written down now and then, never on a call's way."""

from __future__ import annotations

import asyncio
from datetime import datetime
from uuid import UUID

import structlog

from application.tasks import end
from domain.errors import Unavailable
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.pool import Pool, reached

_SECONDS = 60.0

log = structlog.get_logger(__name__)


class KeyUse:
    """Notes the use of keys. While none is used, nothing is written."""

    def __init__(self, pool: Pool, clock: DatabaseClock) -> None:
        self._pool = pool
        self._clock = clock
        self._used: dict[UUID, datetime] = {}
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def note(self, key_id: UUID) -> None:
        """This key has just been used."""
        self._used[key_id] = self._clock.now()
        self._woken.set()

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="key use")

    async def stop(self) -> None:
        """Write down what is known, then end."""
        if self._task is not None:
            await end(self._task)
        await self.write()

    async def write(self) -> None:
        """Write down what is known."""
        used, self._used = self._used, {}
        self._woken.clear()
        if not used:
            return
        try:
            async with reached(self._pool) as connection:
                await connection.execute(
                    "UPDATE access_keys SET last_used_at = date_trunc('minute', u.at)"
                    " FROM unnest(%s::uuid[], %s::timestamptz[]) AS u(id, at) WHERE access_keys.id = u.id"
                    " AND (last_used_at IS NULL OR last_used_at < date_trunc('minute', u.at))",
                    (list(used), list(used.values())),
                )
        except Unavailable as error:
            log.warning("use of keys not written down", error=str(error))

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            await asyncio.sleep(_SECONDS)
            await self.write()
