"""What every event of ours has in common: an actor, a given time, and content that is sealed apart from facts."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from eventsourcing.domain import AggregateCreated, AggregateEvent


class TimestampMissing(TypeError):
    """An event was built without a timestamp. Nothing below `interfaces` asks for the time: pass `timestamp=now`."""


class RecordedEvent(AggregateEvent):
    """An event with its actor (`agent:<uuid>`, `user:<uuid>` or `system`).

    `CONTENT` names the fields that hold what people and agents wrote. They are encrypted with the aggregate's own
    data key and read as None once that key has been destroyed; everything else is fact and stays.
    """

    CONTENT: ClassVar[tuple[str, ...]] = ()

    actor: str

    def apply(self, aggregate: Any) -> None:
        self.remember(aggregate)

    def remember(self, aggregate: Any, /) -> None:
        """Change the aggregate's state as this event says; never refuses, so that old events always load."""

    @staticmethod
    def create_timestamp() -> datetime:
        raise TimestampMissing(TimestampMissing.__doc__)


class RecordedCreation(RecordedEvent, AggregateCreated):
    """The first event of an aggregate."""
