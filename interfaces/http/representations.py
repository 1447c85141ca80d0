"""Requests and their events as JSON: internal UUIDs become readable ids here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from application.ports import Directory
from domain.callers import SYSTEM, actor_id
from domain.recorded import RecordedEvent
from domain.request import Request, instant
from interfaces.http.models import optional_instant


class Representations:
    """Renders aggregates and events for people and agents."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def request(self, request: Request) -> dict[str, Any]:
        """The wire contract's "A request"."""
        names = await self._names(_people_in(request))
        asked, closing = request.asked, request.closing
        return {
            "id": str(request.id),
            "unique_id": asked.unique_id,
            "status": str(request.status),
            "message": asked.message,
            "context": asked.context,
            "request_type": asked.request_type,
            "agent": names.of(asked.agent_id),
            "run_id": asked.run_id,
            "run_step_id": asked.run_step_id,
            "run_user": names.of(asked.run_user),
            "response_schema": asked.response_schema,
            "ui_schema": asked.ui_schema,
            "options": asked.options,
            "labels": asked.labels,
            "secret": asked.sealed,
            "priority": asked.priority,
            "assigned_to": names.of(request.assigned_to),
            "list": names.of(request.assigned_list),
            "claimed": request.claimed,
            "assignment": _assignment(request.assignment, names),
            "plan": request.plan,
            "snoozed_until": optional_instant(request.timetable.snoozed_until),
            "created_at": instant(request.created_on),
            "expires_at": optional_instant(asked.expires_at),
            "closed_at": optional_instant(closing and closing.timestamp),
            "metadata": asked.metadata,
            "response": _response(closing, request.acknowledged_at, names)
            if isinstance(closing, Request.Responded)
            else None,
            "cancelled": {
                "by": names.actor(closing.actor),
                "reason": closing.reason,
                "at": instant(closing.timestamp),
            }
            if isinstance(closing, Request.Cancelled)
            else None,
            "erased": request.erased,
            "position": request.position,
            "version": request.version,
        }

    async def history(self, events: Iterable[tuple[int, RecordedEvent]]) -> list[dict[str, Any]]:
        """The events of one request, oldest first."""
        events = list(events)
        names = await self._names(id for _, event in events for id in _people_in_event(event))
        return [
            {
                "position": position,
                "type": type(event).__name__,
                "at": instant(event.timestamp),
                "actor": names.actor(event.actor),
            }
            | _details(event, names)
            for position, event in events
        ]

    async def closed(self, status: str, by: str, at: datetime) -> dict[str, Any]:
        """How a request ended, for the loser of a race."""
        names = await self._names([id] if (id := actor_id(by)) else [])
        return {"status": status, "by": names.actor(by), "at": instant(at)}

    async def claimed(self, by: UUID) -> dict[str, Any]:
        """Who has claimed a request, for whoever came too late."""
        names = await self._names([by])
        return {"status": "Requested", "assigned_to": names.of(by), "claimed": True}

    async def assignment(self, fact: dict[str, Any]) -> dict[str, Any]:
        """A decision, people and lists by their readable ids."""
        return _assignment(fact, await self._names(_people_in_assignment(fact)))

    async def names(self, ids: Iterable[UUID | None]) -> Names:
        """Readable ids for these."""
        return await self._names(id for id in ids if id is not None)

    async def _names(self, ids: Iterable[UUID]) -> Names:
        return Names(await self._directory.readable_ids(ids))


class Names:
    """Readable ids of people, lists and agents."""

    def __init__(self, names: dict[UUID, str]) -> None:
        self._names = names

    def of(self, id: UUID | str | None) -> str | None:
        """The readable id; the UUID itself for somebody whom the directory does not know."""
        if id is None:
            return None
        return self._names.get(id if isinstance(id, UUID) else UUID(id), str(id))

    def recipient(self, recipient: str | None) -> str | None:
        """The readable id behind `user:<uuid>` or `list:<uuid>`."""
        return None if recipient is None else self.of(actor_id(recipient))

    def actor(self, actor: str) -> str:
        """The readable id behind an actor; `system` for the service itself."""
        id = actor_id(actor)
        return SYSTEM if id is None else self._names.get(id, str(id))


def _recipients(event: RecordedEvent) -> list[UUID | None]:
    if isinstance(event, Request.Notified) and event.recipient is not None:
        return [actor_id(event.recipient)]
    return []


def _people_in(request: Request) -> list[UUID]:
    asked, closing = request.asked, request.closing
    maybe: list[UUID | None] = [asked.agent_id, asked.run_user, request.assigned_to, request.assigned_list]
    if closing is not None:
        maybe.append(actor_id(closing.actor))
    return [id for id in maybe if id is not None] + _people_in_assignment(request.assignment)


def _people_in_assignment(assignment: dict[str, Any]) -> list[UUID]:
    ids = [*assignment["candidates"], assignment["chosen"], assignment["list"]]
    return [UUID(id) for id in ids if id is not None]


def _people_in_event(event: RecordedEvent) -> list[UUID]:
    maybe: list[UUID | None] = [actor_id(event.actor), *_recipients(event)]
    if isinstance(event, (Request.Requested, Request.Reassigned)):
        maybe += _people_in_assignment(event.assignment)
    if isinstance(event, Request.Reassigned):
        maybe += [event.from_user, event.from_list, event.to_user, event.to_list]
    return [id for id in maybe if id is not None]


def _assignment(assignment: dict[str, Any], names: Names) -> dict[str, Any]:
    return {
        "level": assignment["level"],
        "strategy": assignment["strategy"],
        "candidates": [names.of(id) for id in assignment["candidates"]],
        "chosen": names.of(assignment["chosen"]),
        "reason": assignment["reason"],
        "trace": assignment["trace"],
    }


def _response(closing: Request.Responded, acknowledged_at: datetime | None, names: Names) -> dict[str, Any]:
    return {
        "outcome": closing.outcome,
        "text": closing.text,
        "data": closing.data,
        "sealed": closing.sealed,
        "by": names.actor(closing.actor),
        "via": closing.via,
        "at": instant(closing.timestamp),
        "acknowledged_at": optional_instant(acknowledged_at),
    }


def _details(event: RecordedEvent, names: Names) -> dict[str, Any]:
    match event:
        case Request.Requested():
            return {
                "unique_id": event.unique_id,
                "request_type": event.request_type,
                "priority": event.priority,
                "expires_at": optional_instant(event.expires_at),
                "message": event.message,
                "assignment": _assignment(event.assignment, names),
                "plan": event.plan,
            }
        case Request.Reassigned():
            return {
                "cause": event.cause,
                "from": names.of(event.from_user) or names.of(event.from_list),
                "to": names.of(event.to_user) or names.of(event.to_list),
                "note": event.note,
                "assignment": _assignment(event.assignment, names),
            }
        case Request.Responded():
            return {
                "via": event.via,
                "outcome": event.outcome,
                "sealed": event.sealed,
                "text": event.text,
                "data": event.data,
            }
        case Request.Cancelled():
            return {"reason": event.reason}
        case Request.AnswerRefused():
            return {"via": event.via, "why": event.why, "stranger": event.stranger}
        case Request.Notified():
            return {
                "step": event.step,
                "channel": event.channel,
                "attempt": event.attempt,
                "delivered": event.delivered,
                "error": event.error,
                "to": names.recipient(event.recipient),
                "retry_at": optional_instant(event.retry_at),
            }
        case Request.Snoozed():
            return {"until": optional_instant(event.until)}
        case _:
            return {}
