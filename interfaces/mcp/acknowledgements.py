"""What is done once a result has been handed over: its answer is acknowledged, and a sealed one destroyed then."""

from __future__ import annotations

import asyncio

from application.tasks import end
from interfaces.mcp.results import HandedOver

GRACE_SECONDS = 5.0
"""Until then a call that is repeated, since its result went to a client that had given up, gets a sealed answer too."""

_LAST_SECONDS = 2.0
"""How long what is on its way may take when everything stops."""


class Acknowledgements:
    """Those that are on their way or to come."""

    def __init__(self) -> None:
        self._at_once: set[asyncio.Task[None]] = set()
        self._later: set[asyncio.Task[None]] = set()

    def add(self, handed_over: HandedOver) -> None:
        """A result has been handed over: act at once, or a little later where that destroys the answer."""
        tasks = self._later if handed_over.destroys else self._at_once
        task = asyncio.create_task(_act(handed_over))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def stop(self) -> None:
        """Wait a moment for what is on its way. Sealed answers are destroyed by the server, a minute after they were
        collected."""
        if self._at_once:
            await asyncio.wait(self._at_once, timeout=_LAST_SECONDS)
        await end(*self._at_once, *self._later)


async def _act(handed_over: HandedOver) -> None:
    if handed_over.destroys:
        await asyncio.sleep(GRACE_SECONDS)
    await handed_over.act()
