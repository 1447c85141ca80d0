"""Which request a message in Slack shows, and what of all that comes in from there has been handled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal
from uuid import UUID

import psycopg

from application.tasks import end
from domain.errors import Unavailable
from domain.request import Request
from interfaces.postgres.pool import Pool, reached, reading
from interfaces.postgres.tail import Recorded

CLAIM_SECONDS = 10
"""After which another replica handles what one has begun and never ended."""

KEPT_DAYS = 7
"""For how long what comes again is known again: Slack gives up after hours."""

_PATIENCE = 2.5
"""Seconds for another replica to end what it has begun; Slack waits for three."""

_LOOK_AGAIN = 0.25
"""Seconds: not every end shows in the log."""


class PostgresSlackMessages:
    """Implements `application.slack.SlackMessages`. Subscribe `notice` to the tail: it wakes those who wait."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._news = asyncio.Event()
        self._handling: dict[str, asyncio.Task[None]] = {}

    def notice(self, recorded: Sequence[Recorded]) -> None:
        """Something was committed, here or elsewhere."""
        if any(event.topic.startswith(Request.TOPIC) for event in recorded):
            self._news.set()
            self._news = asyncio.Event()

    async def request_at(self, channel: str, ts: str, *, patience: float = 0) -> UUID | None:
        async def read(connection: psycopg.AsyncConnection) -> UUID | None:
            cursor = await connection.execute(
                "SELECT request_id FROM slack_messages WHERE channel = %s AND ts = %s", (channel, ts)
            )
            row = await cursor.fetchone()
            return None if row is None else row[0]

        deadline = _now() + patience
        while True:
            news = self._news
            found = await reading(self._pool, read)
            if found is not None or not await _heard(news, deadline):
                return found

    async def once(self, key: str, handle: Callable[[], Awaitable[None]]) -> None:
        if (handling := self._handling.get(key)) is not None:
            await asyncio.shield(handling)
            return
        handling = asyncio.create_task(self._once(key, handle), name="from slack")
        self._handling[key] = handling
        handling.add_done_callback(lambda _: self._handling.pop(key, None))
        await asyncio.shield(handling)

    async def stop(self) -> None:
        """Give up what is being handled; Slack sends it again."""
        await end(*self._handling.values())

    async def forget_old(self) -> None:
        """What came long ago does not come again."""
        async with reached(self._pool) as connection:
            await connection.execute(
                "DELETE FROM slack_received WHERE received_at < clock_timestamp() - make_interval(days => %s)",
                (KEPT_DAYS,),
            )

    async def _once(self, key: str, handle: Callable[[], Awaitable[None]]) -> None:
        deadline = _now() + _PATIENCE
        while True:
            news = self._news
            match await self._begin(key):
                case "handled":
                    return
                case "ours":
                    break
                case "theirs":
                    if not await _heard(news, deadline):
                        raise Unavailable("another server is at it, and takes long")
        try:
            await handle()
        except BaseException:
            await asyncio.shield(self._end(key, handled=False))
            raise
        await self._end(key, handled=True)

    async def _begin(self, key: str) -> Literal["ours", "theirs", "handled"]:
        async with reached(self._pool) as connection:
            cursor = await connection.execute(
                "INSERT INTO slack_received AS r (key, received_at, claimed_until)"
                " VALUES (%(key)s, clock_timestamp(), clock_timestamp() + make_interval(secs => %(seconds)s))"
                " ON CONFLICT (key) DO UPDATE SET claimed_until = excluded.claimed_until"
                "  WHERE NOT r.handled AND r.claimed_until <= clock_timestamp() RETURNING true",
                {"key": key, "seconds": CLAIM_SECONDS},
            )
            if await cursor.fetchone() is not None:
                return "ours"
            cursor = await connection.execute("SELECT handled FROM slack_received WHERE key = %s", (key,))
            row = await cursor.fetchone()
        return "handled" if row is not None and row[0] else "theirs"

    async def _end(self, key: str, *, handled: bool) -> None:
        async with reached(self._pool) as connection:
            await connection.execute(
                "UPDATE slack_received SET handled = %s, claimed_until = clock_timestamp() WHERE key = %s",
                (handled, key),
            )


async def _heard(news: asyncio.Event, deadline: float) -> bool:
    """Wait for news, or a little; False where the time is up."""
    left = deadline - _now()
    if left <= 0:
        return False
    try:
        async with asyncio.timeout(min(left, _LOOK_AGAIN)):
            await news.wait()
    except TimeoutError:
        pass
    return True


def _now() -> float:
    return asyncio.get_running_loop().time()
