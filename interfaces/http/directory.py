"""People, agents and keys, over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path

from application.directory import DirectoryService
from application.ports import EventStore
from domain.callers import PersonCaller
from domain.request import instant
from interfaces.http.callers import Authenticate, authenticated_route
from interfaces.http.json_bodies import Json
from interfaces.http.models import (
    AgentPage,
    CreatedEntry,
    CreatedKey,
    KeyPage,
    NewAgent,
    NewKeyBody,
    NewUser,
    UserPage,
    Written,
)
from interfaces.http.reading import Cursor, Limit, MinPosition, Reads, encode_cursor, other_list, place_in
from interfaces.http.representations import Representations
from interfaces.http.requests import By, refusals


def directory_routes(
    directory: DirectoryService,
    store: EventStore,
    represent: Representations,
    authenticate: Authenticate,
    reads: Reads,
) -> APIRouter:
    """`/api/users`, `/api/agents`, `/api/keys`."""
    router = APIRouter(prefix="/api", tags=["directory"], route_class=authenticated_route(authenticate))

    async def begin(kind: str, cursor: list[str] | None, min_position: int | None) -> tuple[str, int]:
        """After which id a page begins, and the position that it shows at least: these lists are never behind."""
        await reads.check(min_position)
        place = place_in(kind, cursor)
        if place is not None and len(place) != 1:
            raise other_list()
        return "" if place is None else place[0], await store.head()

    def page(kind: str, entries: Sequence[Any], limit: int, items: list[dict[str, Any]], position: int) -> Json:
        last = [entries[limit - 1].readable_id] if len(entries) > limit else None
        return Json({"items": items[:limit], "next_cursor": encode_cursor(kind, last), "position": position})

    @router.get("/users", response_model=UserPage, summary="List people", responses=refusals(403, 422))
    async def users(by: By, limit: Limit = 50, cursor: Cursor = None, min_position: MinPosition = None) -> Json:
        after, position = await begin("users", cursor, min_position)
        entries = await directory.users(by=by, after=after, limit=limit + 1)
        whole = isinstance(by, PersonCaller) and by.sees_everything
        items: list[dict[str, Any]] = [
            {"id": user.readable_id, "name": user.name}
            | ({"email": user.email, "role": user.role, "active": user.active} if whole else {})
            for user in entries
        ]
        return page("users", entries, limit, items, position)

    @router.post(
        "/users",
        status_code=201,
        response_model=CreatedEntry,
        summary="Add a person",
        responses=refusals(403, 409, 422),
    )
    async def add_user(body: NewUser, by: By) -> Json:
        id, position = await directory.add_user(by=by, name=body.name, role=body.role, id=body.id, email=body.email)
        return Json({"id": id, "position": position}, status_code=201)

    @router.get("/agents", response_model=AgentPage, summary="List agents", responses=refusals(403, 422))
    async def agents(by: By, limit: Limit = 50, cursor: Cursor = None, min_position: MinPosition = None) -> Json:
        after, position = await begin("agents", cursor, min_position)
        entries = await directory.agents(by=by, after=after, limit=limit + 1)
        names = await represent.names(agent.owner for agent in entries)
        items = [{"id": agent.readable_id, "name": agent.name, "owner": names.of(agent.owner)} for agent in entries]
        return page("agents", entries, limit, items, position)

    @router.post(
        "/agents",
        status_code=201,
        response_model=CreatedEntry,
        summary="Add an agent",
        responses=refusals(403, 409, 422),
    )
    async def add_agent(body: NewAgent, by: By) -> Json:
        id, position = await directory.add_agent(by=by, name=body.name, id=body.id, owner=body.owner)
        return Json({"id": id, "position": position}, status_code=201)

    @router.get("/keys", response_model=KeyPage, summary="List keys", responses=refusals(403, 422))
    async def keys(by: By, limit: Limit = 50, cursor: Cursor = None, min_position: MinPosition = None) -> Json:
        after, position = await begin("keys", cursor, min_position)
        entries = await directory.keys(by=by, after=after, limit=limit + 1)
        names = await represent.names(id for key in entries for id in (key.agent_id, key.user_id, key.run_user))
        items = [
            {
                "id": key.readable_id,
                "name": key.name,
                "agent": names.of(key.agent_id),
                "user": names.of(key.user_id),
                "run_user": names.of(key.run_user),
                "expires_at": None if key.expires_at is None else instant(key.expires_at),
                "revoked": key.revoked,
                "created_at": instant(key.created_at),
            }
            for key in entries
        ]
        return page("keys", entries, limit, items, position)

    @router.post(
        "/keys",
        status_code=201,
        response_model=CreatedKey,
        summary="Make a key; it is shown this once",
        responses=refusals(403, 409, 422),
    )
    async def create_key(body: NewKeyBody, by: By) -> Json:
        created = await directory.create_key(
            by=by,
            name=body.name,
            id=body.id,
            agent=body.agent,
            user=body.user,
            run_user=body.run_user,
            expires_at=body.expires_at,
        )
        return Json(
            {"id": created.readable_id, "key": created.key, "position": created.position},
            status_code=201,
            headers={"Cache-Control": "no-store"},
        )

    @router.delete(
        "/keys/{id}",
        response_model=Written,
        summary="Revoke a key; it stops working at once",
        responses=refusals(403, 404, 422),
    )
    async def revoke_key(id: Annotated[str, Path(max_length=64)], by: By) -> Json:
        position = await directory.revoke_key(id, by=by)
        return Json({"position": position or await store.head()})  # 0: it was revoked before, somewhere up to there

    return router
