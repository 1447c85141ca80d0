"""The audit trail, over HTTP: searched, exported, and its newest link signed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import UUID

import psycopg
from fastapi import APIRouter, Depends, Query
from starlette.responses import StreamingResponse

from application.ports import Directory
from domain.callers import SYSTEM, Caller, PersonCaller, actor_id, agent_actor, person_actor
from domain.errors import FieldError, Invalid, NotAllowed
from domain.request import instant
from interfaces.http.callers import Authenticate, authenticated_route
from interfaces.http.json_bodies import Json
from interfaces.http.models import AuditPageView, HeadView, VerificationView
from interfaces.http.reading import (
    Cursor,
    Limit,
    MinPosition,
    QueryInstant,
    QueryText,
    Reads,
    encode_cursor,
    other_list,
    place_in,
)
from interfaces.http.representations import Names, Representations
from interfaces.http.requests import By, refusals
from projections.audit import Audit, AuditFilters, AuditPage, page_of_audit

Format = Literal["jsonl", "csv"]

Export = Callable[[AuditFilters, Format], AsyncIterator[bytes]]
"""The filtered trail as a stream, oldest first, with the chain's hashes."""

SignedHead = Callable[[], Awaitable[dict[str, Any]]]
"""The newest link of the chain, signed."""

Verify = Callable[[bool], Awaitable[dict[str, Any]]]
"""Looks at the next events of the chain, or begins again with the first: how far it holds."""

MEDIA_TYPES: dict[Format, str] = {"jsonl": "application/jsonl", "csv": "text/csv; charset=utf-8; header=present"}


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The filters as they came, people and agents by their readable ids."""

    actor: Annotated[str | None, Query(description="A user's or agent's id, or `system`.")] = None
    type: Annotated[list[QueryText] | None, Query(description="Event types, such as `Responded`.")] = None
    request_id: UUID | None = None
    agent: Annotated[str | None, Query(description="The agent that asked.")] = None
    since: Annotated[QueryInstant | None, Query(alias="from")] = None
    until: Annotated[QueryInstant | None, Query(alias="to")] = None
    q: Annotated[QueryText | None, Query(description="Words in what was written.")] = None


Narrowed = Annotated[Narrowing, Depends()]


def audit_routes(
    *,
    reads: Reads,
    directory: Directory,
    represent: Representations,
    authenticate: Authenticate,
    export: Export,
    head: SignedHead,
    verify: Verify,
) -> APIRouter:
    """`GET /api/audit`, `/api/audit/export`, `/api/audit/head`, `/api/audit/verification`."""
    router = APIRouter(prefix="/api/audit", tags=["audit"], route_class=authenticated_route(authenticate))

    @router.get("", response_model=AuditPageView, summary="All events, newest first", responses=refusals(403, 422))
    async def audit(
        by: By, narrowed: Narrowed, limit: Limit = 50, cursor: Cursor = None, min_position: MinPosition = None
    ) -> Json:
        _check_auditor(by)
        filters = await _filters(directory, narrowed)
        before = _place(cursor)

        async def query(connection: psycopg.AsyncConnection) -> AuditPage:
            return await page_of_audit(connection, filters, before=before, limit=limit)

        page = await reads.read(Audit.name, min_position, query)
        ids = [id for row in page.items for id in (actor_id(row["actor"]), row["agent_id"])]
        names = await represent.names(ids)
        return Json(
            {
                "items": [_event(row, names) for row in page.items],
                "next_cursor": encode_cursor("audit", None if page.next is None else [str(page.next)]),
                "position": page.position,
            }
        )

    @router.get(
        "/export",
        summary="The trail as a stream, oldest first, verifiable offline",
        response_class=StreamingResponse,
        responses=refusals(403, 422)
        | {200: {"content": {"application/jsonl": {}, "text/csv": {}}, "description": "The stream"}},
    )
    async def audit_export(
        by: By,
        narrowed: Narrowed,
        format: Format = "jsonl",
        min_position: MinPosition = None,
    ) -> StreamingResponse:
        _check_auditor(by)
        filters = await _filters(directory, narrowed)
        await reads.read(Audit.name, min_position, _nothing)
        return StreamingResponse(
            export(filters, format),
            media_type=MEDIA_TYPES[format],
            headers={
                "Content-Disposition": f'attachment; filename="handraise-audit.{format}"',
                "Cache-Control": "no-store",
            },
        )

    @router.get(
        "/head",
        response_model=HeadView,
        summary="The newest link of the hash chain, signed: kept elsewhere, it finds a tail that was cut off",
        responses=refusals(403, 422),
    )
    async def audit_head(by: By, min_position: MinPosition = None) -> Json:
        _check_auditor(by)
        await reads.check(min_position)
        return Json(await head())

    @router.get(
        "/verification",
        response_model=VerificationView,
        summary="How far the hash chain was verified: each call goes some way on, so ask until it is at the head",
        responses=refusals(403, 422),
    )
    async def audit_verification(
        by: By,
        afresh: Annotated[bool, Query(description="Begin again with the first event.")] = False,
        min_position: MinPosition = None,
    ) -> Json:
        _check_auditor(by)
        await reads.check(min_position)
        return Json(await verify(afresh))

    return router


def _check_auditor(by: Caller) -> None:
    if not (isinstance(by, PersonCaller) and by.sees_everything):
        raise NotAllowed("the audit trail is for administrators and auditors")


async def _filters(directory: Directory, narrowed: Narrowing) -> AuditFilters:
    return AuditFilters(
        actor=None if narrowed.actor is None else await _actors(directory, narrowed.actor),
        type=narrowed.type,
        request_id=narrowed.request_id,
        agent=None if narrowed.agent is None else await _agent(directory, narrowed.agent),
        since=narrowed.since,
        until=narrowed.until,
        q=narrowed.q,
    )


async def _actors(directory: Directory, readable_id: str) -> list[str]:
    """Everybody of that name: a person and an agent may share one."""
    actors = [SYSTEM] if readable_id == SYSTEM else []
    user = await directory.user_id(readable_id, active=False)
    if user is not None:
        actors.append(person_actor(user))
    agent = await directory.agent_id(readable_id)
    if agent is not None:
        actors.append(agent_actor(agent))
    if not actors:
        raise Invalid([FieldError("actor", f"there is no user or agent {readable_id!r}")])
    return actors


async def _agent(directory: Directory, readable_id: str) -> UUID:
    agent = await directory.agent_id(readable_id)
    if agent is None:
        raise Invalid([FieldError("agent", f"there is no agent {readable_id!r}")])
    return agent


def _place(cursor: list[str] | None) -> int | None:
    place = place_in("audit", cursor)
    if place is None:
        return None
    if len(place) != 1 or not (place[0].isascii() and place[0].isdigit() and len(place[0]) < 19):
        raise other_list()
    return int(place[0])


async def _nothing(connection: psycopg.AsyncConnection) -> None:
    """Only the freshness of the read model is wanted."""


def _event(row: dict[str, Any], names: Names) -> dict[str, Any]:
    return {
        "position": row["position"],
        "at": instant(row["at"]),
        "type": row["type"],
        "of": row["kind"],
        "actor": names.actor(row["actor"]),
        "aggregate_id": str(row["aggregate_id"]),
        "request_id": str(row["aggregate_id"]) if row["kind"] == "Request" else None,
        "agent": names.of(row["agent_id"]),
        "facts": row["facts"],
        "content": row["content"],
    }
