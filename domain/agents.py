"""Agents: the programs that ask."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from domain.directory import DirectoryEntry
from domain.recorded import RecordedCreation, RecordedEvent


class Agent(DirectoryEntry):
    """A program that asks. Its owner, a person, may read what it asks."""

    TOPIC = "handraise.Agent"
    KIND = "agent"
    FIELDS = ("name", "owner", "agent_type", "category")

    class Event(RecordedEvent):
        """Base of the events of an agent."""

        def apply(self, aggregate: Any) -> None:
            self.remember(cast("Agent", aggregate))

        def remember(self, entry: Agent) -> None:
            """Change the entry's state; never refuses."""
            entry.take(self)

    class Added(Event, RecordedCreation):
        """An agent joined the directory."""

        TOPIC = "handraise.Agent.Added"

        readable_id: str
        name: str
        owner: UUID | None

    class Changed(Event):
        """Something about it changed: all fields, as they are from here on."""

        TOPIC = "handraise.Agent.Changed"

        name: str
        owner: UUID | None
        agent_type: UUID | None
        category: UUID | None

    class Removed(Event):
        """The agent left. Its keys do not work any more."""

        TOPIC = "handraise.Agent.Removed"

        def remember(self, entry: Agent) -> None:
            entry.removed = True

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.owner: UUID | None = None
        self.agent_type: UUID | None = None
        self.category: UUID | None = None
