"""Ending what runs in the background."""

from __future__ import annotations

import asyncio
from typing import Any

_AGAIN_SECONDS = 0.5


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel these tasks, and return once all have ended.

    Once is not enough: `asyncio.wait_for` of Python 3.11, by which connections are waited for, swallows a cancellation
    that comes in the moment of its result, and the task would go on for good.
    """
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_AGAIN_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)  # how they ended is nobody's business any more
