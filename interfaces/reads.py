"""The read models put together with the log: reads that are as fresh as the caller wants them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import psycopg

from application.ports import EventStore
from domain.errors import Malformed
from interfaces.postgres.pool import Pool, reading
from interfaces.postgres.tail import Tail
from projections.projector import Projector

FRESHNESS_SECONDS = 2.0
"""How long a read waits for its `min_position` before it shows what is there."""

T = TypeVar("T")


class Reads:
    """Implements `interfaces.http.reading.Reads`."""

    def __init__(self, pool: Pool, projector: Projector, tail: Tail, store: EventStore) -> None:
        self._pool = pool
        self._projector = projector
        self._tail = tail
        self._store = store

    async def check(self, min_position: int | None) -> None:
        if min_position is None or min_position <= self._tail.position:
            return
        head = await self._store.head()  # another replica may be ahead of what this one has seen
        if min_position > head:
            raise Malformed(f"min_position {min_position} is beyond the newest position, {head}")

    async def newest(self) -> int:
        return await self._store.head()

    async def read(
        self,
        model: str | None,
        min_position: int | None,
        query: Callable[[psycopg.AsyncConnection], Awaitable[T]],
    ) -> T:
        await self.check(min_position)
        if model is not None and min_position is not None and self._projector.positions[model] < min_position:
            self._projector.follow_to(min_position)  # word of it may be on its way here still
            await self._projector.reached(model, min_position, FRESHNESS_SECONDS)
        return await reading(self._pool, query)
