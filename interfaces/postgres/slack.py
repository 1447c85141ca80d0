"""The settings of Slack, on every replica as soon as they change: a NOTIFY comes with the change itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import structlog

from domain.slack import CONFIGURATION_ID, SlackSettings
from interfaces.postgres.inline import SLACK_TOKEN_IDS
from interfaces.postgres.installation import opened
from interfaces.postgres.pool import Pool, reading
from interfaces.postgres.sealing import MasterKey, MissedRotation

log = structlog.get_logger(__name__)

_Row = tuple[int, bool, str | None, float, bytes | None, bytes | None]


class PostgresSlackSettings:
    """Implements `application.slack.StoredSlackSettings`. `default` holds until somebody has set something."""

    def __init__(self, pool: Pool, master_key: MasterKey, default: SlackSettings) -> None:
        self._pool = pool
        self._master_key = master_key
        self._default = default
        self._version = 0
        self._subscribers: list[Callable[[SlackSettings], None]] = []
        self.current = default
        """The settings, as far as this replica has heard."""

    def subscribe(self, subscriber: Callable[[SlackSettings], None]) -> None:
        """`subscriber` is called with the settings whenever they have changed; it must be quick and not raise."""
        self._subscribers.append(subscriber)

    async def look(self, connection: psycopg.AsyncConnection) -> None:
        """See what they are: once a connection listens, and whenever a NOTIFY says that they have changed."""
        try:
            await self._seen(connection, await _row(connection))
        except MissedRotation:  # it is logged, and this server is not ready
            return

    async def read(self) -> SlackSettings:
        async def query(connection: psycopg.AsyncConnection) -> SlackSettings:
            return await self._seen(connection, await _row(connection))

        return await reading(self._pool, query)

    async def _seen(self, connection: psycopg.AsyncConnection, row: _Row | None) -> SlackSettings:
        if row is None:
            return self._default
        version, enabled, channel_id, delay, *wrapped = row
        tokens = {
            name: await opened(connection, self._master_key, each, SLACK_TOKEN_IDS[name].bytes, f"slack {name}")
            for name, each in zip(SLACK_TOKEN_IDS, wrapped, strict=True)
        }
        settings = SlackSettings(enabled, channel_id, **tokens, notification_delay_seconds=delay)
        if version > self._version:  # what was read for somebody else may be older by now
            self._version = version
            self.current = settings
            for subscriber in self._subscribers:
                subscriber(settings)
        return settings


async def _row(connection: psycopg.AsyncConnection) -> _Row | None:
    """Facts and tokens of one moment."""
    cursor = await connection.execute(
        "SELECT c.version, c.enabled, c.channel_id, c.notification_delay_seconds, b.wrapped, a.wrapped"
        " FROM slack_configuration c LEFT JOIN slack_tokens b ON b.id = %s LEFT JOIN slack_tokens a ON a.id = %s"
        " WHERE c.id = %s",
        (*SLACK_TOKEN_IDS.values(), CONFIGURATION_ID),
        binary=True,
    )
    row: Any = await cursor.fetchone()
    return row
