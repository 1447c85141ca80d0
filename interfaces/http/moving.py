"""Who a request is with, over HTTP: claimed, released, delegated, reassigned, many at once; and who it would be."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from psycopg import AsyncConnection

from application.bulk import Outcome, each_of
from application.ports import Directory
from application.requests import Requests
from domain.callers import Caller, PersonCaller
from domain.errors import FieldError, Invalid, NotAllowed
from domain.request import Request, instant
from interfaces.http.callers import Authenticate, authenticated_route
from interfaces.http.json_bodies import Json
from interfaces.http.lists import narrowed
from interfaces.http.models import (
    BulkBody,
    BulkFilter,
    BulkView,
    DelegateBody,
    ExplainBody,
    ExplainedView,
    NoteBody,
    ReassignBody,
    RequestView,
    SnoozeBody,
    Written,
)
from interfaces.http.problems import status_of
from interfaces.http.reading import Reads
from interfaces.http.representations import Representations
from interfaces.http.requests import By, Id, asked, refusals
from projections.request_list import Page, RequestList, page_of_requests

_AT_MOST = 1000
_EVERYTHING = BulkFilter.model_validate({})


def moving_routes(
    requests: Requests, represent: Representations, authenticate: Authenticate, reads: Reads, directory: Directory
) -> APIRouter:
    """`/api/requests/{id}/claim` and the others that move a request, `/api/requests/bulk`, `/api/routing/explain`."""
    router = APIRouter(prefix="/api", tags=["requests"], route_class=authenticated_route(authenticate))

    @router.post(
        "/requests/bulk",
        response_model=BulkView,
        summary="Reassign or cancel many requests; each is done, or refused, by itself",
        responses=refusals(403, 422),
    )
    async def bulk(body: BulkBody, by: By) -> Json:
        if not (isinstance(by, PersonCaller) and by.administers):
            raise NotAllowed("only an administrator may change many requests at once")
        _check(body)

        async def change(named: str) -> Request:
            id = await requests.find(named, by)
            if body.action == "cancel":
                return await requests.cancel(id, by, body.note)
            return await requests.reassign(id, body.to, by, body.note, body.list)

        ids, more = (body.ids, False) if body.ids is not None else await found(body.filter or _EVERYTHING, by)
        ids = list(dict.fromkeys(ids))
        outcomes = await each_of(ids, change)
        return Json(
            {
                "results": [_result(id, outcome) for id, outcome in zip(ids, outcomes, strict=True)],
                "more": more,
                "position": max((o.request.position for o in outcomes if o.request is not None), default=0),
            }
        )

    async def found(filter: BulkFilter, by: Caller) -> tuple[list[str], bool]:
        given: dict[str, Any] = filter.model_dump()
        filters = await narrowed(directory, **given, status=["Requested"])

        async def query(connection: AsyncConnection) -> Page:
            return await page_of_requests(connection, by, filters, descending=False, limit=_AT_MOST)

        page = await reads.read(RequestList.name, await reads.newest(), query)
        return [str(row["request_id"]) for row in page.items], page.next is not None

    @router.post(
        "/requests/{id}/claim",
        response_model=RequestView,
        summary="Take a request out of a shared inbox",
        responses=refusals(403, 404, 409, 422),
    )
    async def claim(id: Id, by: By, body: NoteBody | None = None) -> Json:
        note = None if body is None else body.note
        return Json(await represent.request(await requests.claim(await requests.find(id, by), by, note)))

    @router.post(
        "/requests/{id}/release",
        response_model=RequestView,
        summary="Put a claimed request back into its shared inbox",
        responses=refusals(403, 404, 409, 422),
    )
    async def release(id: Id, by: By, body: NoteBody | None = None) -> Json:
        note = None if body is None else body.note
        return Json(await represent.request(await requests.release(await requests.find(id, by), by, note)))

    @router.post(
        "/requests/{id}/delegate",
        response_model=RequestView,
        summary="Hand a request that one was asked to another person",
        responses=refusals(403, 404, 409, 422),
    )
    async def delegate(id: Id, body: DelegateBody, by: By) -> Json:
        request = await requests.delegate(await requests.find(id, by), body.to, by, body.note)
        return Json(await represent.request(request))

    @router.post(
        "/requests/{id}/snooze",
        response_model=RequestView,
        summary="Put a request out of one's inbox for a while; deadlines do not move",
        responses=refusals(403, 404, 409, 422),
    )
    async def snooze(id: Id, body: SnoozeBody, by: By) -> Json:
        if (body.until is None) == (body.seconds is None):
            raise Invalid([FieldError("until", "give either until or seconds")])
        found = await requests.find(id, by)
        return Json(await represent.request(await requests.snooze(found, by, until=body.until, seconds=body.seconds)))

    @router.delete(
        "/requests/{id}/snooze",
        response_model=Written,
        summary="Have a snoozed request back",
        responses=refusals(403, 404, 409, 422),
    )
    async def wake(id: Id, by: By) -> Json:
        return Json({"position": (await requests.snooze(await requests.find(id, by), by)).position})

    @router.post(
        "/requests/{id}/reassign",
        response_model=RequestView,
        summary="Hand a request to a person or a list, or have it routed afresh",
        responses=refusals(403, 404, 409, 422),
    )
    async def reassign(id: Id, by: By, body: ReassignBody | None = None) -> Json:
        body = body or ReassignBody()
        request = await requests.reassign(await requests.find(id, by), body.to, by, body.note, body.list)
        return Json(await represent.request(request))

    @router.post(
        "/routing/explain",
        response_model=ExplainedView,
        summary="Who would be asked, and why; creates nothing",
        responses=refusals(403, 413, 422),
    )
    async def explain(body: ExplainBody, by: By) -> Json:
        explained = await requests.explain(asked(body), by, body.agent)
        decision = explained.decision
        assignment = await represent.assignment(decision.as_fact())
        names = await represent.names([decision.chosen, decision.list])
        return Json(
            {
                "assignment": assignment,
                "assigned_to": names.of(decision.chosen),
                "list": names.of(decision.list),
                "priority": explained.priority,
                "expires_at": None if explained.expires_at is None else instant(explained.expires_at),
            }
        )

    return router


def _check(body: BulkBody) -> None:
    errors: list[FieldError] = []
    if (body.ids is None) == (body.filter is None):
        errors.append(FieldError("ids", "give either ids or a filter"))
    if body.action == "cancel":
        errors += [
            FieldError(name, "has no meaning for cancel") for name in ("to", "list") if getattr(body, name) is not None
        ]
    if errors:
        raise Invalid(errors)


def _result(id: str, outcome: Outcome) -> dict[str, object]:
    if outcome.request is not None:
        return {"id": id, "status": 200, "position": outcome.request.position, "detail": None}
    assert outcome.refusal is not None
    return {"id": id, "status": status_of(outcome.refusal), "position": None, "detail": outcome.refusal.detail}
