"""A channel for notices that remembers what it was asked to deliver, and fails when it is told to."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from application.notices import Message
from domain.request import Request


@dataclass(frozen=True, slots=True)
class Delivered:
    """One delivery: the notice's step and attempt, whom it was for by readable id, and its key."""

    unique_id: str
    step: str
    attempt: int
    to: str | None
    key: str


class FakeChannel:
    """Implements `application.notices.Channel`."""

    def __init__(self, name: str = "slack", delay: timedelta | None = timedelta(seconds=120)) -> None:
        self.name = name
        self.delay = delay
        self.delivered: list[Delivered] = []
        self.failures: deque[Exception] = deque()
        """Raised by the next deliveries, one each."""

        self.updated: list[tuple[str, str, str]] = []
        """(request's unique_id, its status, which delivery) of each update."""

        self.update_failures: deque[Exception] = deque()

        self.lost: dict[str, dict[str, str]] = {}
        """By key, where something stands that was delivered, and that its sender never knew."""

        self.before: Callable[[Message], Awaitable[None]] | None = None
        """Awaited at the beginning of each delivery."""

    async def deliver(self, message: Message) -> dict[str, str] | None:
        if self.before is not None:
            await self.before(message)
        to = message.person.readable_id if message.person is not None else None
        if message.list is not None:
            to = f"list {message.list}"
        said = Delivered(message.request.asked.unique_id, message.step, message.attempt, to, message.key)
        self.delivered.append(said)
        if self.failures:
            raise self.failures.popleft()
        return {"channel": self.name, "ts": str(len(self.delivered))}

    async def update(self, request: Request, reference: Mapping[str, str]) -> None:
        self.updated.append((request.asked.unique_id, str(request.status), reference["ts"]))
        if self.update_failures:
            raise self.update_failures.popleft()

    async def find(self, request: Request) -> Mapping[str, dict[str, str]]:
        return {key: reference for key, reference in self.lost.items() if key.startswith(f"{request.id}/")}
