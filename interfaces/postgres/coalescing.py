"""Many look-ups of single keys at the same moment become one query."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Coalescer(Generic[K, V]):
    """Collects keys while queries are under way and asks for all of them in the next one.

    A look-up is only ever answered by a query that began after it, so it sees every write acknowledged before.
    """

    def __init__(
        self,
        fetch: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]],
        *,
        queries: int = 2,
        keys: int = 64,
    ) -> None:
        """`queries` run at the same time at most, with at most `keys` keys each."""
        self._fetch = fetch
        self._queries = queries
        self._keys = keys
        self._pending: dict[K, asyncio.Future[V | None]] = {}
        self._running = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def get(self, key: K) -> V | None:
        """The value of this key, None where there is none. Raises what the query raised."""
        future = self._pending.get(key)
        if future is None:
            future = self._pending[key] = asyncio.get_running_loop().create_future()
            if self._running < self._queries:
                self._running += 1
                task = asyncio.create_task(self._drain())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(future)

    async def _drain(self) -> None:
        try:
            await self._drain_pending()
        finally:
            # In the very step that found nothing pending: a callback would run after a look-up had counted on us.
            self._running -= 1

    async def _drain_pending(self) -> None:
        while self._pending:
            batch = {key: self._pending.pop(key) for key in list(self._pending)[: self._keys]}
            try:
                found = await self._fetch(list(batch))
            except BaseException as error:
                for future in batch.values():
                    if not future.done():
                        future.set_exception(error)
                        future.exception()  # a caller that went away must not leave a warning behind
                if not isinstance(error, Exception):
                    raise
            else:
                for key, future in batch.items():
                    if not future.done():
                        future.set_result(found.get(key))
