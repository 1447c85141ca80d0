"""How many answers their agents have not acknowledged in time, for the metrics."""

from __future__ import annotations

import asyncio
import math
import time
from datetime import timedelta

import psycopg

from application.ports import Clock
from domain.errors import Unavailable
from interfaces.reads import Reads
from projections.dashboard import Dashboard, count_unacknowledged

_FRESH_SECONDS = 10.0
"""Whoever looks again so soon sees the same: nobody needs a credential to look."""

_PATIENCE_SECONDS = 1.0
"""While the database cannot be reached, the other metrics are what matters."""


class Unacknowledged:
    """The count, as the dashboard shows it to administrators."""

    def __init__(self, reads: Reads, clock: Clock, grace: timedelta) -> None:
        self._reads = reads
        self._clock = clock
        self._grace = grace
        self._counted_at = -math.inf
        self.count: float = math.nan
        """As last counted; not a number where the database could not say."""

    async def look(self) -> None:
        """Count, unless that was done a moment ago. Raises nothing."""
        if time.monotonic() - self._counted_at < _FRESH_SECONDS:
            return
        self._counted_at = time.monotonic()

        async def query(connection: psycopg.AsyncConnection) -> int:
            return await count_unacknowledged(connection, self._clock.now(), grace=self._grace)

        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                self.count = await self._reads.read(Dashboard.name, None, query)
        except (Unavailable, psycopg.Error, TimeoutError):
            self.count = math.nan
