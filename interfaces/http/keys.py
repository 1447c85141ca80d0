"""Keys, over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from application.keys import Keys
from application.ports import EventStore
from domain.request import instant
from interfaces.http.callers import Authenticate, authenticated_route
from interfaces.http.directory import EntryId, Pages
from interfaces.http.directory_models import CreatedKey, KeyPage, NewKeyBody, PatchKey
from interfaces.http.json_bodies import Json
from interfaces.http.models import Written, optional_instant
from interfaces.http.reading import Cursor, Limit, MinPosition, Reads
from interfaces.http.representations import Representations
from interfaces.http.requests import By, refusals


def key_routes(
    keys: Keys, store: EventStore, represent: Representations, authenticate: Authenticate, reads: Reads
) -> APIRouter:
    """`/api/keys`."""
    router = APIRouter(prefix="/api", tags=["directory"], route_class=authenticated_route(authenticate))
    pages = Pages(reads, store)

    @router.get("/keys", response_model=KeyPage, summary="List keys", responses=refusals(403, 422))
    async def page(by: By, limit: Limit = 50, cursor: Cursor = None, min_position: MinPosition = None) -> Json:
        after, position = await pages.begin("keys", cursor, min_position)
        entries = await keys.page(by=by, after=after, limit=limit + 1)
        names = await represent.names(id for key in entries for id in (key.agent_id, key.user_id, key.run_user))
        items = [
            {
                "id": key.readable_id,
                "name": key.name,
                "agent": names.of(key.agent_id),
                "user": names.of(key.user_id),
                "run_user": names.of(key.run_user),
                "expires_at": optional_instant(key.expires_at),
                "revoked": key.revoked,
                "created_at": instant(key.created_at),
                "last_used_at": optional_instant(key.last_used_at),
            }
            for key in entries
        ]
        return pages.page("keys", entries, limit, items, position)

    @router.post(
        "/keys",
        status_code=201,
        response_model=CreatedKey,
        summary="Make a key; it is shown this once",
        responses=refusals(403, 409, 422),
    )
    async def create(body: NewKeyBody, by: By) -> Json:
        created = await keys.create(by=by, **body.model_dump())
        return Json(
            {"id": created.readable_id, "key": created.key, "position": created.position},
            status_code=201,
            headers={"Cache-Control": "no-store"},
        )

    @router.patch(
        "/keys/{id}",
        response_model=Written,
        summary="Change a key's name or the end of its time; what is not given stays",
        responses=refusals(403, 404, 422),
    )
    async def change(id: EntryId, body: PatchKey, by: By) -> Json:
        return Json({"position": await keys.change(id, body.model_dump(exclude_unset=True), by=by)})

    @router.post(
        "/keys/{id}/rotate",
        response_model=CreatedKey,
        summary="Replace a key; the new one is shown this once, the old one stops at once",
        responses=refusals(403, 404, 409, 422),
    )
    async def rotate(id: EntryId, by: By) -> Json:
        made = await keys.rotate(id, by=by)
        return Json(
            {"id": made.readable_id, "key": made.key, "position": made.position}, headers={"Cache-Control": "no-store"}
        )

    @router.delete(
        "/keys/{id}",
        response_model=Written,
        summary="Revoke a key; it stops working at once",
        responses=refusals(403, 404, 422),
    )
    async def revoke(id: EntryId, by: By) -> Json:
        return Json({"position": await keys.revoke(id, by=by)})

    return router
