"""Who is waiting for which request to close. Register first, then look at the state, then wait."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from uuid import UUID

from domain.request import Request

Waiting = asyncio.Future[Request | None]
"""Done once the request may have closed; with the closed request, where this replica has it at hand."""


class Waits:
    """The waiting agents of this replica; the log's tail says what has closed."""

    def __init__(self) -> None:
        self._waiting: dict[UUID, set[Waiting]] = {}
        self._stopping = False

    def __len__(self) -> int:
        return sum(len(futures) for futures in self._waiting.values())

    @contextmanager
    def register(self, id: UUID) -> Generator[Waiting]:
        """A future that is done once the request may have closed, or this server stops."""
        future: Waiting = asyncio.get_running_loop().create_future()
        if self._stopping:
            future.set_result(None)
        self._waiting.setdefault(id, set()).add(future)
        try:
            yield future
        finally:
            waiting = self._waiting[id]
            waiting.discard(future)
            if not waiting:
                del self._waiting[id]

    def closed(self, id: UUID, request: Request | None = None) -> None:
        """Wake everybody who waits for this request; with `request`, as it was closed, they need not read it again."""
        for future in self._waiting.get(id, ()):
            if not future.done():
                future.set_result(request)

    def stop(self) -> None:
        """Wake everybody: the server stops, each wait ends with the request as it stands."""
        self._stopping = True
        for id in self._waiting:
            self.closed(id)
