"""Webhooks: where an agent's closed requests are reported to, and when a report that failed is tried again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Self
from uuid import UUID, uuid5

from eventsourcing.domain import BaseAggregate

from domain.recorded import RecordedCreation, RecordedEvent
from domain.request import Request

RETRIED_FOR = timedelta(days=3)
"""How long after the closing of a request its report is tried again."""

BOTH_SIGN_FOR = timedelta(hours=24)
"""How long after a rotation the secret before still signs, too."""

SECRET_PREFIX = "whsec_"  # noqa: S105
"""How every secret that signs begins."""

_NAMESPACE = UUID("c0f6f8a2-0d0b-5e0e-9f6f-2f6f6b1f7d24")
_WAITS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=10),
    timedelta(hours=12),
)
"""After each attempt; after all later ones as after the last of these."""

_MOST_JITTER = 0.1
_LONGEST_ASKED_FOR = timedelta(days=1)


def webhook_id(agent_id: UUID) -> UUID:
    """The aggregate's id: an agent has one webhook."""
    return uuid5(_NAMESPACE, str(agent_id))


def message_id(request: Request) -> str:
    """What the receiver knows the report of this closed request by: the same for every attempt."""
    assert request.closing is not None
    return f"msg_{request.id.hex}_{request.closing.originator_version}"


def next_attempt(request: Request, attempt: int, now: datetime, asked_for: timedelta | None = None) -> datetime | None:
    """When the report of this request is tried again after its attempt of that number failed; None: no more.

    Not before what the receiver `asked_for`, a day at most. The last attempt comes 3 days after the closing.
    """
    assert request.closing is not None
    last = request.closing.timestamp + RETRIED_FOR
    # Spread, so that what failed together does not come back together; by the id, so that it can be foretold.
    spread = 1 + _MOST_JITTER * (request.id.int % 1000) / 1000
    wait = _WAITS[min(attempt, len(_WAITS)) - 1] * spread
    earliest = now + min(asked_for or timedelta(0), _LONGEST_ASKED_FOR)
    at = max(min(now + wait, last), earliest)
    return at if now < last and at <= last else None


class Webhook(BaseAggregate[UUID]):
    """The facts of an agent's webhook. Its secrets stand beside the log."""

    TOPIC = "handraise.Webhook"

    class Event(RecordedEvent):
        """Base of the events of a webhook."""

    class Configured(Event, RecordedCreation):
        """The agent got a webhook, with a new secret."""

        TOPIC = "handraise.Webhook.Configured"

        agent_id: UUID
        url: str
        enabled: bool

        def remember(self, webhook: Webhook) -> None:
            webhook.agent_id = self.agent_id
            webhook.url = self.url
            webhook.enabled = self.enabled

    class Changed(Event):
        """Something about it is different from here on; all of it, as it is then.

        One that had been removed is there again, with a new secret.
        """

        TOPIC = "handraise.Webhook.Changed"

        url: str
        enabled: bool

        def remember(self, webhook: Webhook) -> None:
            webhook.url = self.url
            webhook.enabled = self.enabled
            webhook.removed = False

    class SecretRotated(Event):
        """There is a new secret; the one before signs until then, too."""

        TOPIC = "handraise.Webhook.SecretRotated"

        previous_until: datetime

    class Removed(Event):
        """The agent has no webhook any more, and its secrets are gone."""

        TOPIC = "handraise.Webhook.Removed"

        def remember(self, webhook: Webhook) -> None:
            webhook.removed = True

    def __init__(self) -> None:
        self.agent_id: UUID
        self.url = ""
        self.enabled = False
        self.removed = False

    @classmethod
    def configure(cls, agent_id: UUID, url: str, enabled: bool, *, actor: str, now: datetime) -> Self:
        """The first webhook of this agent."""
        return cls._create(
            cls.Configured,
            id=webhook_id(agent_id),
            timestamp=now,
            actor=actor,
            agent_id=agent_id,
            url=url,
            enabled=enabled,
        )

    def change(self, url: str, enabled: bool, *, actor: str, now: datetime) -> None:
        """Have it as said, also where it was removed; nothing happens where it is so already."""
        if self.removed or (url, enabled) != (self.url, self.enabled):
            self.trigger_event(self.Changed, timestamp=now, actor=actor, url=url, enabled=enabled)

    def rotate(self, *, actor: str, now: datetime) -> None:
        """Have a new secret."""
        self.trigger_event(self.SecretRotated, timestamp=now, actor=actor, previous_until=now + BOTH_SIGN_FOR)

    def remove(self, *, actor: str, now: datetime) -> None:
        """Have none any more; a repeat does nothing."""
        if not self.removed:
            self.trigger_event(self.Removed, timestamp=now, actor=actor)
