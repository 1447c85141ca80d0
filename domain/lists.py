"""Lists: people who share a kind of work, in an order that takes turns."""

from __future__ import annotations

from uuid import UUID

from domain.directory import DirectoryEntry, EntryEvent
from domain.recorded import RecordedCreation


class MemberList(DirectoryEntry):
    """People in an order. A strategy picks one of them, or leaves a request in the inbox that they share."""

    TOPIC = "handraise.MemberList"
    KIND = "list"
    FIELDS = ("name", "members")

    class Event(EntryEvent):
        """Base of the events of a list."""

    class Added(Event, RecordedCreation):
        """A list joined the directory."""

        TOPIC = "handraise.MemberList.Added"

        readable_id: str
        name: str
        members: list[UUID]

    class Changed(Event):
        """Something about it changed: all fields, as they are from here on."""

        TOPIC = "handraise.MemberList.Changed"

        name: str
        members: list[UUID]

    class Removed(Event):
        """The list is no more."""

        TOPIC = "handraise.MemberList.Removed"

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.members: list[UUID] = []
