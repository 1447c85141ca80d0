"""Follows the log: one LISTEN connection a replica, one SELECT a batch, every event once and in order.

A NOTIFY is only a hint. Events that this replica's own writer has just committed are handed over directly when
they are the next ones; everything else is read. After a lost connection it listens again first, then reads.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

import psycopg
import structlog
from psycopg import errors, sql
from psycopg_pool import PoolTimeout

from application.tasks import end
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.due import STEPS_DUE
from interfaces.postgres.inline import SLACK_CHANGED, WEBHOOKS_CHANGED
from interfaces.postgres.installation import KEYS_CHANGED
from interfaces.postgres.pool import Pool, lasting
from interfaces.postgres.subscriptions import SUBSCRIPTIONS_CHANGED
from interfaces.postgres.writer import CHANNEL, Recorded

_BATCH = 1000
_OWN_COMMIT_SECONDS = 0.0005
_BESIDE_THE_LOG = (KEYS_CHANGED, SUBSCRIPTIONS_CHANGED, SLACK_CHANGED, WEBHOOKS_CHANGED, STEPS_DUE)

log = structlog.get_logger(__name__)

Subscriber = Callable[[Sequence[Recorded]], None]


class Tail:
    """Hands every event after the starting position to the subscribers, in order, as soon as it is there."""

    def __init__(
        self,
        conninfo: str,
        pool: Pool,
        clock: DatabaseClock,
        *,
        look_again_seconds: float = 12.0,
        attend: Callable[[psycopg.AsyncConnection], Awaitable[None]] | None = None,
    ) -> None:
        """`look_again_seconds` is how long it trusts silence before it reads without having been told to.

        `attend` is called on every new listening connection, and when a NOTIFY says that something has changed that
        stands beside the log: keys, subscriptions, the settings of Slack, webhooks, or what is due.
        """
        self._attend = attend
        self._conninfo = conninfo
        self._pool = pool
        self._clock = clock
        self._look_again = look_again_seconds
        self._subscribers: list[Subscriber] = []
        self._told = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.position = 0
        self.listening = False

    def subscribe(self, subscriber: Subscriber) -> None:
        """`subscriber` is called with each batch; it must be quick and not raise."""
        self._subscribers.append(subscriber)

    async def start(self) -> None:
        """Begin at the present head. Raises psycopg's `OperationalError`."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(
                f"SELECT max(position), {self._clock.sql} FROM event_chain"  # noqa: S608  our own expression
            )
            row = await cursor.fetchone()
        assert row is not None
        self.position = row[0]
        self._clock.set(row[1])
        started = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._listen(started), name="tail listener"),
            asyncio.create_task(self._follow(), name="tail reader"),
        ]
        await started.wait()

    async def stop(self) -> None:
        await end(*self._tasks)

    def committed(self, recorded: Sequence[Recorded]) -> None:
        """This replica's writer has committed these: no need to read them back when they are the next ones."""
        if recorded[0].position == self.position + 1 and _gapless(recorded):
            self._publish(recorded)
        else:
            self._told.set()

    def _publish(self, recorded: Sequence[Recorded]) -> None:
        self.position = recorded[-1].position
        for subscriber in self._subscribers:
            subscriber(recorded)

    async def _listen(self, started: asyncio.Event) -> None:
        delay = 0.05
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    lasting(self._conninfo),
                    autocommit=True,
                    application_name="handraise tail",
                ) as connection:
                    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
                    while True:
                        if self._attend is not None:
                            await self._attend(connection)
                        self.listening, delay = True, 0.05
                        self._told.set()  # whatever came while nobody listened
                        started.set()
                        async with contextlib.aclosing(connection.notifies()) as notifies:
                            async for notify in notifies:
                                if notify.payload in _BESIDE_THE_LOG:
                                    break
                                if not notify.payload.isdecimal() or int(notify.payload) > self.position:
                                    self._told.set()
            except errors.Error as error:
                log.warning("tail connection lost", error=type(error).__name__)
            finally:
                self.listening = False
            await asyncio.sleep(delay)
            delay = min(delay * 2, 2.0)

    async def _after_the_writer(self, position: int) -> None:
        """Word of this replica's own commit often comes before the commit's answer: then nothing need be read."""
        await asyncio.sleep(_OWN_COMMIT_SECONDS)
        if position > self.position:
            self._told.set()

    async def _follow(self) -> None:
        while True:
            self._told.clear()
            try:
                while await self._read():
                    pass
            except (errors.Error, PoolTimeout) as error:
                log.warning("tail could not read", error=type(error).__name__)
                await asyncio.sleep(0.2)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._look_again):
                    await self._told.wait()

    async def _read(self) -> bool:
        """Read the next batch; whether there may be more."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT notification_id, originator_id, originator_version, topic FROM handraise_events"
                " WHERE notification_id > %s ORDER BY notification_id LIMIT %s",
                (self.position, _BATCH),
                binary=True,
            )
            rows = await cursor.fetchall()
        # The writer may have handed over some of these while the query ran.
        recorded = [Recorded(*row) for row in rows if row[0] > self.position]
        if recorded:
            self._publish(recorded)
        return len(rows) == _BATCH


def _gapless(recorded: Sequence[Recorded]) -> bool:
    return recorded[-1].position - recorded[0].position == len(recorded) - 1
