"""What is done once a result has been handed over: a sealed answer is destroyed then."""

from __future__ import annotations

import asyncio

from interfaces.mcp.results import HandedOver

GRACE_SECONDS = 5.0
"""Until then a call that is repeated, since its result went to a client that had given up, gets the answer too."""


class Acknowledgements:
    """Those that are to come. What is stopped before its time is done by the server, a minute after the collection."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def later(self, act: HandedOver) -> None:
        """A result has been handed over: act a little later."""
        task = asyncio.create_task(_later(act))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Drop what is left."""
        for task in self._tasks:
            task.cancel()


async def _later(act: HandedOver) -> None:
    await asyncio.sleep(GRACE_SECONDS)
    await act()
