"""Agent types: agents of one kind are routed alike."""

from __future__ import annotations

from typing import Any

from domain.directory import DirectoryEntry, EntryEvent
from domain.recorded import RecordedCreation


class AgentType(DirectoryEntry):
    """A kind of agent, with the strategy that its agents' requests follow first."""

    TOPIC = "handraise.AgentType"
    KIND = "agent_type"
    FIELDS = ("name", "assignment_strategy")

    class Event(EntryEvent):
        """Base of the events of an agent type."""

    class Added(Event, RecordedCreation):
        """An agent type joined the directory."""

        TOPIC = "handraise.AgentType.Added"

        readable_id: str
        name: str
        assignment_strategy: dict[str, Any] | None

    class Changed(Event):
        """Something about it changed: all fields, as they are from here on."""

        TOPIC = "handraise.AgentType.Changed"

        name: str
        assignment_strategy: dict[str, Any] | None

    class Removed(Event):
        """The type is no more."""

        TOPIC = "handraise.AgentType.Removed"

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.assignment_strategy: dict[str, Any] | None = None
