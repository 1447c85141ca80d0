"""Agent categories: a tree, in which what a category does not say its parent does."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from domain.directory import DirectoryEntry, EntryEvent
from domain.recorded import RecordedCreation

ROOT = "all"
SEEDED = {
    "assistant": "Assistant",
    "research-analysis": "Research & Analysis",
    "content-creation": "Content Creation",
    "system": "System",
    "platform-management": "Platform Management",
    "demo": "Demo",
}
"""Children of the root that every installation begins with: readable id to name."""


class Category(DirectoryEntry):
    """A branch of the tree of agents. A strategy set on it holds for everything below that has none of its own."""

    TOPIC = "handraise.Category"
    KIND = "category"
    FIELDS = ("name", "parent", "assignment_strategy")

    class Event(EntryEvent):
        """Base of the events of a category."""

    class Added(Event, RecordedCreation):
        """A category joined the directory."""

        TOPIC = "handraise.Category.Added"

        readable_id: str
        name: str
        parent: UUID | None
        assignment_strategy: dict[str, Any] | None

    class Changed(Event):
        """Something about it changed: all fields, as they are from here on."""

        TOPIC = "handraise.Category.Changed"

        name: str
        parent: UUID | None
        assignment_strategy: dict[str, Any] | None

    class Removed(Event):
        """The category is no more."""

        TOPIC = "handraise.Category.Removed"

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.parent: UUID | None = None
        self.assignment_strategy: dict[str, Any] | None = None
