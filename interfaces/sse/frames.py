"""Frames of the live stream: what happened to which request, never what anybody wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from application.ports import Directory
from domain.audience import Audience
from domain.callers import SYSTEM, Caller, actor_id
from domain.recorded import RecordedEvent
from domain.request import Request, instant


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event, and who may have it: everybody who could see the request before or after it."""

    position: int
    text: bytes
    before: Audience | None
    after: Audience

    def is_for(self, caller: Caller) -> bool:
        return self.after.includes(caller) or (self.before is not None and self.before.includes(caller))


async def frames_of(
    requests: Mapping[UUID, Sequence[tuple[int, RecordedEvent]]], after: int, directory: Directory
) -> list[Frame]:
    """The frames of the events after a position, in order; `requests` holds each request's events from its first."""
    found: list[tuple[int, Request.Event, dict[str, Any], Audience | None, Audience]] = []
    for events in requests.values():
        request: Request | None = None
        for position, event in events:
            before = None if request is None else request.audience
            request = event.mutate(request)
            assert request is not None
            if position > after:
                assert isinstance(event, Request.Event)
                found.append((position, event, _state(request), before, request.audience))
    found.sort(key=lambda item: item[0])
    names = await directory.readable_ids(
        id for _, event, state, _, _ in found for id in _people(event, state) if id is not None
    )
    return [
        Frame(position, _text(position, event, state, names), before, later)
        for position, event, state, before, later in found
    ]


def resync(head: int) -> bytes:
    """Tells the client to read afresh, and from where to go on."""
    return f"id: {head}\nevent: resync\ndata: {{}}\n\n".encode()


def _state(request: Request) -> dict[str, Any]:
    return {
        "request_id": str(request.id),
        "unique_id": request.asked.unique_id,
        "status": str(request.status),
        "assigned_to": request.assigned_to,
        "list": request.assigned_list,
        "priority": request.asked.priority,
    }


def _people(event: Request.Event, state: dict[str, Any]) -> list[UUID | None]:
    return [actor_id(event.actor), state["assigned_to"], state["list"]]


def _text(position: int, event: Request.Event, state: dict[str, Any], names: Mapping[UUID, str]) -> bytes:
    def name(id: UUID | None) -> str | None:
        return None if id is None else names.get(id, str(id))

    kind = type(event).__name__
    data = {
        "position": position,
        "type": kind,
        **state,
        "assigned_to": name(state["assigned_to"]),
        "list": name(state["list"]),
        "at": instant(event.timestamp),
        "actor": name(actor_id(event.actor)) or SYSTEM,
    }
    # JSON escapes line ends inside texts, so a frame's data is always one line.
    line = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return f"id: {position}\nevent: {kind}\ndata: {line}\n\n".encode()
