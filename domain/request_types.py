"""Request types: the kinds of question. Five come with every server, others may be added."""

from __future__ import annotations

from typing import Any

from domain.directory import DirectoryEntry, EntryEvent
from domain.recorded import RecordedCreation

REQUEST_TYPES = {
    "approval": "Approval",
    "clarification": "Clarification",
    "data-input": "Data Input",
    "review": "Review",
    "error-resolution": "Error Resolution",
}
"""The types that the server itself understands, and that cannot be removed: readable id to name."""


def find_request_type(id_or_name: str) -> str | None:
    """The id of one of the five types, by its id or name in any case; None for any other."""
    wanted = id_or_name.strip().casefold()
    for id_, name in REQUEST_TYPES.items():
        if wanted in (id_, name.casefold()):
            return id_
    return None


class RequestType(DirectoryEntry):
    """A kind of question, with what holds for its requests unless somebody says otherwise."""

    TOPIC = "handraise.RequestType"
    KIND = "request_type"
    FIELDS = (
        "name", "default_assignment_strategy", "default_priority", "default_expiration_minutes", "no_self_answer",
        "erase_after_days",
    )  # fmt: skip

    class Event(EntryEvent):
        """Base of the events of a request type."""

    class Added(Event, RecordedCreation):
        """A request type joined the directory."""

        TOPIC = "handraise.RequestType.Added"

        readable_id: str
        name: str
        default_assignment_strategy: dict[str, Any] | None
        default_priority: int | None
        default_expiration_minutes: float | None
        no_self_answer: bool
        erase_after_days: float | None

    class Changed(Event):
        """Something about it changed: all fields, as they are from here on."""

        TOPIC = "handraise.RequestType.Changed"

        name: str
        default_assignment_strategy: dict[str, Any] | None
        default_priority: int | None
        default_expiration_minutes: float | None
        no_self_answer: bool
        erase_after_days: float | None

    class Removed(Event):
        """The type is no more."""

        TOPIC = "handraise.RequestType.Removed"

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.default_assignment_strategy: dict[str, Any] | None = None
        self.default_priority: int | None = None
        self.default_expiration_minutes: float | None = None
        self.no_self_answer = False
        self.erase_after_days: float | None = None
        """Days after a request closed; None: its content is kept."""
