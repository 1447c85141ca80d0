"""Load, decide, save: again from the start when somebody else was first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from application.ports import VersionConflict
from domain.errors import Unavailable

ATTEMPTS = 12
"""What is changed has few writers, so that more than a handful of conflicts means trouble."""

T = TypeVar("T")


async def until_saved(attempt: Callable[[], Awaitable[T]], what: str) -> T:
    """What the attempt returns, the first time that nobody else was faster.

    Raises what it raises, or `Unavailable` saying that `what` is being changed by many.
    """
    for _ in range(ATTEMPTS):
        with suppress(VersionConflict):
            return await attempt()
    raise Unavailable(f"{what} is being changed by many at once; nothing was changed, try again")
