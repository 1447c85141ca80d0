"""Agents: the programs that ask."""

from __future__ import annotations

from uuid import UUID

from domain.directory import DirectoryEntry, EntryEvent
from domain.recorded import RecordedCreation


class Agent(DirectoryEntry):
    """A program that asks. Its owner, a person, may read what it asks."""

    TOPIC = "handraise.Agent"
    KIND = "agent"
    FIELDS = ("name", "owner", "agent_type", "category")

    class Event(EntryEvent):
        """Base of the events of an agent."""

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

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.owner: UUID | None = None
        self.agent_type: UUID | None = None
        self.category: UUID | None = None
