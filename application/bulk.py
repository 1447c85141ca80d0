"""One command on many requests: each is done, refused, or fails by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from domain.errors import Refusal
from domain.request import Request

AT_ONCE = 32
"""As many as the writer gathers well; more would only wait."""

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one of them: the request as it then is, or why not."""

    request: Request | None
    refusal: Refusal | None


async def each_of(which: Sequence[K], command: Callable[[K], Awaitable[Request]]) -> list[Outcome]:
    """Run the command for each, several at a time; one outcome for each, in their order."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(this: K) -> Outcome:
        async with places:
            try:
                return Outcome(await command(this), None)
            except Refusal as refusal:
                return Outcome(None, refusal)

    return await asyncio.gather(*(one(this) for this in which))


async def all_of(commands: Iterable[Awaitable[None]]) -> None:
    """Run all of these at once; one that fails keeps no other from its end, and is raised then."""
    outcomes = await asyncio.gather(*commands, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
