"""The dashboard, over HTTP."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from fastapi import APIRouter

from application.ports import Clock
from domain.callers import PersonCaller
from domain.errors import NotAllowed
from domain.request import instant
from interfaces.http.callers import Authenticate, authenticated_route
from interfaces.http.json_bodies import Json
from interfaces.http.models import DashboardView
from interfaces.http.reading import MinPosition, Reads
from interfaces.http.representations import Names, Representations
from interfaces.http.requests import By, refusals
from projections.dashboard import NOBODY, Dashboard, Figures, figures


def dashboard_routes(
    reads: Reads, represent: Representations, authenticate: Authenticate, clock: Clock, acknowledge_grace: timedelta
) -> APIRouter:
    """`GET /api/dashboard`."""
    router = APIRouter(prefix="/api", tags=["dashboard"], route_class=authenticated_route(authenticate))

    @router.get(
        "/dashboard",
        response_model=DashboardView,
        summary="How many, how old, how fast",
        description="Of everything for administrators and auditors, of the caller's own requests for members. Days "
        "and hours are UTC.",
        responses=refusals(403, 422),
    )
    async def dashboard(by: By, min_position: MinPosition = None) -> Json:
        if not isinstance(by, PersonCaller):
            raise NotAllowed("the dashboard is for people")

        async def query(connection: psycopg.AsyncConnection) -> Figures:
            return await figures(connection, by, clock.now(), grace=acknowledge_grace)

        found = await reads.read(Dashboard.name, min_position, query)
        names = await represent.names([*found.by_agent, *found.by_person])
        return Json(_shown(found, names) | {"acknowledge_grace_seconds": acknowledge_grace.total_seconds()})

    return router


def _shown(found: Figures, names: Names) -> dict[str, Any]:
    oldest = found.oldest_open
    return {
        "by_status": found.by_status,
        "by_type": found.by_type,
        "by_agent": {names.of(agent): counts for agent, counts in found.by_agent.items()},
        "by_person": {_person(person, names): counts for person, counts in found.by_person.items()},
        "oldest_open": None if oldest is None else {"id": str(oldest[0]), "created_at": instant(oldest[1])},
        "open_older_than_a_day": found.older_than_a_day,
        "open_older_than_a_week": found.older_than_a_week,
        "time_to_answer_seconds": {"p50": found.p50, "p90": found.p90, "of_latest": found.answers_measured},
        "answered_per_hour": _counted(found.per_hour),
        "answered_per_day": _counted(found.per_day),
        "unacknowledged": found.unacknowledged,
        "position": found.position,
    }


def _person(person: UUID, names: Names) -> str:
    return "nobody" if person == NOBODY else names.of(person) or str(person)


def _counted(counts: list[tuple[datetime, int]]) -> list[dict[str, Any]]:
    return [{"from": instant(start), "count": count} for start, count in counts]
