"""The use cases of push: browsers in which people want to be told although no page of ours is open there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from domain.callers import Caller, PersonCaller
from domain.errors import NotAllowed, NotFound

MOST_EACH = 20
"""How many browsers one person can be told in; beyond that, the one that was not heard of for longest goes."""


@dataclass(frozen=True, slots=True, repr=False)
class Subscription:
    """A person's browser: where word for it is left, and the keys with which only this browser can read it.

    Who knows the endpoint could try to use it: it stands in no log, and in no answer to anybody else.
    """

    user_id: UUID
    endpoint: str
    p256dh: bytes
    auth: bytes

    def __repr__(self) -> str:
        return f"Subscription(user_id={self.user_id}, …)"


@dataclass(frozen=True, slots=True)
class Reached:
    """How many browsers were told, and of each other one why it was not."""

    count: int
    failures: Sequence[str]


class Subscriptions(Protocol):
    """What is kept of subscriptions, for all replicas together. Those of inactive people are never found."""

    async def count(self, user_id: UUID) -> int:
        """How many this person has."""
        ...

    async def add(self, subscription: Subscription) -> bool:
        """Keep it, or keep it for longer; whether it is new to the person, who has at most `MOST_EACH`.

        A browser that changes hands brings its keys along: it is no longer the other person's. Raises `Conflict` for
        an endpoint that somebody else has with other keys.
        """
        ...

    async def remove(self, user_id: UUID, endpoint: str) -> bool:
        """Forget it; whether this person had it."""
        ...

    async def drop(self, endpoint: str) -> None:
        """Forget it: the push service says that it is no more."""
        ...

    async def failed(self, endpoint: str, why: str) -> None:
        """Note that this one could not be told."""
        ...

    async def of_person(self, user_id: UUID) -> Sequence[Subscription]:
        """Those of one person."""
        ...

    async def of_list(self, list_id: UUID) -> Sequence[Subscription]:
        """Those of all members of a list."""
        ...

    async def of_administrators(self) -> Sequence[Subscription]:
        """Those of all administrators."""
        ...


Check = Callable[[str, str, str], Awaitable[tuple[bytes, bytes]]]
"""From the endpoint and the two keys as a browser writes them to the keys themselves. Raises `Invalid`."""

Test = Callable[[Sequence[Subscription]], Awaitable[Reached]]
"""Tells these browsers that they can be told."""


class Browsers:
    """People look after the subscriptions of their own browsers, and of no others."""

    def __init__(self, subscriptions: Subscriptions, check: Check, test: Test) -> None:
        self._subscriptions = subscriptions
        self._check = check
        self._test = test

    async def count(self, by: Caller) -> int:
        """How many browsers the caller is told in."""
        return await self._subscriptions.count(_person(by))

    async def subscribe(self, endpoint: str, p256dh: str, auth: str, by: Caller) -> bool:
        """Tell the caller in this browser from now on; False where that was so already.

        Raises `NotAllowed`, `Invalid`, or `Conflict` for a browser that seems to be somebody else's.
        """
        user_id = _person(by)
        keys = await self._check(endpoint, p256dh, auth)
        return await self._subscriptions.add(Subscription(user_id, endpoint, *keys))

    async def unsubscribe(self, endpoint: str, by: Caller) -> None:
        """Tell the caller in this browser no more. Raises `NotAllowed`, or `NotFound` for one that is not theirs."""
        user_id = _person(by)
        known = endpoint.isascii() and endpoint.isprintable()  # nothing else is ever kept
        if not (known and await self._subscriptions.remove(user_id, endpoint)):
            raise NotFound("you have no such subscription")

    async def test(self, by: Caller) -> Reached:
        """Send a notice that says nothing to all browsers of the caller. Raises `NotAllowed`."""
        return await self._test(await self._subscriptions.of_person(_person(by)))


def _person(by: Caller) -> UUID:
    if not isinstance(by, PersonCaller):
        raise NotAllowed("only people are told in browsers: an agent has none")
    return by.id
