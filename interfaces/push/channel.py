"""The channel `push`: people are told in their browsers, whether or not one of our pages is open there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from application.notices import Message, NobodyToTell, PermanentFailure, TemporaryFailure
from application.ports import Clock
from application.subscriptions import Reached, Subscription, Subscriptions
from domain.request import Request
from interfaces.push.messages import TEST, Push
from interfaces.push.sending import Sender


class PushChannel:
    """Implements `application.notices.Channel`. `any_subscription` says whether anybody can be told at all."""

    name = "push"

    def __init__(
        self,
        subscriptions: Subscriptions,
        sender: Sender,
        clock: Clock,
        *,
        delay: timedelta,
        any_subscription: Callable[[], bool],
    ) -> None:
        self._subscriptions = subscriptions
        self._sender = sender
        self._clock = clock
        self._delay = delay
        self._any_subscription = any_subscription

    @property
    def delay(self) -> timedelta | None:
        return self._delay if self._any_subscription() else None

    async def deliver(self, message: Message) -> dict[str, str] | None:
        """Delivered is what at least one browser's push service has taken. The reference says how many have."""
        subscriptions = await self._recipients(message)
        if not subscriptions:
            raise NobodyToTell
        sent = await self._sender.send(Push.of(message, self._clock.now()), subscriptions)
        if sent.taken:
            return {"browsers": str(sent.taken)}
        later = [failure for failure in sent.failures if isinstance(failure, TemporaryFailure)]
        if later:
            waits = [failure.after for failure in later if failure.after is not None]
            raise TemporaryFailure(_in_words(later), max(waits, default=None))
        raise PermanentFailure(_in_words(sent.failures))

    async def update(self, request: Request, reference: Mapping[str, str]) -> None:
        """Nothing: a browser closes the notice of what has ended by itself, when it hears of it."""

    async def find(self, request: Request) -> Mapping[str, dict[str, str]]:
        """Nothing, for the same reason."""
        return {}

    async def test(self, subscriptions: Sequence[Subscription]) -> Reached:
        """Tell these browsers that they can be told."""
        sent = await self._sender.send(TEST, subscriptions)
        return Reached(sent.taken, [str(failure) for failure in sent.failures])

    async def _recipients(self, message: Message) -> Sequence[Subscription]:
        if message.person is not None:
            return await self._subscriptions.of_person(message.person.id)
        if message.list is not None:
            return await self._subscriptions.of_list(message.list)
        return await self._subscriptions.of_administrators()


def _in_words(failures: Sequence[Exception]) -> str:
    """Each cause once."""
    return "; ".join(dict.fromkeys(str(failure) for failure in failures))
