"""The inbox and the list of all requests, over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

import psycopg
from fastapi import APIRouter, Query

from application.ports import Clock, Directory
from domain.callers import Caller, PersonCaller
from domain.errors import FieldError, Invalid, NotAllowed
from domain.request import instant
from domain.request_types import find_request_type
from interfaces.http.callers import Authenticate, authenticated_route
from interfaces.http.json_bodies import Json
from interfaces.http.models import CountsView, InboxPage, RequestPage
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
from projections.request_list import (
    Counts,
    Filters,
    Page,
    RequestList,
    Scope,
    Sort,
    count_inbox,
    page_of_inbox,
    page_of_requests,
)

StatusName = Literal["Requested", "Responded", "Cancelled", "Expired"]
SortName = Literal["priority", "-priority", "created_at", "-created_at", "agent", "-agent", "expires_at", "-expires_at"]
Priority = Annotated[int | None, Query(ge=1, le=100)]
Ids = Annotated[
    list[UUID] | None,
    Query(min_length=1, max_length=200, description="Only those among these; what does not come back is not there."),
]


def list_routes(
    reads: Reads, directory: Directory, represent: Representations, authenticate: Authenticate, clock: Clock
) -> APIRouter:
    """`GET /api/inbox`, `/api/inbox/counts` and `/api/requests`."""
    router = APIRouter(prefix="/api", tags=["lists"], route_class=authenticated_route(authenticate))

    async def show(page: Page, of: str) -> Json:
        ids = {row[key] for row in page.items for key in ("agent_id", "run_user", "assigned_to", "list_id")}
        names = await represent.names(ids)
        view = {
            "items": [_item(row, names) for row in page.items],
            "next_cursor": encode_cursor(of, page.next),
            "position": page.position,
        }
        return Json(view if page.total is None else view | {"total": page.total})

    @router.get(
        "/inbox",
        response_model=InboxPage,
        summary="Open requests that the caller may answer, most urgent first, then oldest",
        responses=refusals(403, 422),
    )
    async def inbox(
        by: By,
        scope: Scope = "mine",
        ids: Ids = None,
        count: Annotated[bool, Query(description="Say in `total` how many the scope holds.")] = False,
        limit: Limit = 50,
        cursor: Cursor = None,
        min_position: MinPosition = None,
    ) -> Json:
        _check_person(by)
        after = place_in("inbox", cursor)

        async def query(connection: psycopg.AsyncConnection) -> Page:
            return await page_of_inbox(
                connection, by, scope, now=clock.now(), ids=ids, after=after, limit=limit, count=count
            )

        return await show(await _placed(reads.read(RequestList.name, min_position, query), after), "inbox")

    @router.get(
        "/inbox/counts",
        response_model=CountsView,
        summary="How many requests each scope of the inbox holds",
        responses=refusals(403, 422),
    )
    async def counts(by: By, min_position: MinPosition = None) -> Json:
        _check_person(by)

        async def query(connection: psycopg.AsyncConnection) -> Counts:
            return await count_inbox(connection, by, now=clock.now())

        return Json(asdict(await reads.read(RequestList.name, min_position, query)))

    @router.get(
        "/requests",
        response_model=RequestPage,
        summary="All requests that the caller may see, filtered and sorted",
        responses=refusals(422),
    )
    async def requests(
        by: By,
        status: Annotated[list[StatusName] | None, Query()] = None,
        request_type: Annotated[list[str] | None, Query(description="By id or name.")] = None,
        agent: str | None = None,
        assigned_to: Annotated[str | None, Query(description="A user, or `nobody`.")] = None,
        list: str | None = None,
        run_id: QueryText | None = None,
        priority_min: Priority = None,
        priority_max: Priority = None,
        created_from: QueryInstant | None = None,
        created_to: QueryInstant | None = None,
        closed_from: QueryInstant | None = None,
        closed_to: QueryInstant | None = None,
        acknowledged: Annotated[
            bool | None, Query(description="Answered requests whose agent said that it used the answer, or did not.")
        ] = None,
        ids: Ids = None,
        q: Annotated[QueryText | None, Query(description="Words in message, context or unique_id.")] = None,
        sort: SortName = "-created_at",
        limit: Limit = 50,
        cursor: Cursor = None,
        min_position: MinPosition = None,
    ) -> Json:
        filters = await narrowed(
            directory,
            status=status,
            request_type=request_type,
            agent=agent,
            assigned_to=assigned_to,
            list=list,
            run_id=run_id,
            priority_min=priority_min,
            priority_max=priority_max,
            created_from=created_from,
            created_to=created_to,
            closed_from=closed_from,
            closed_to=closed_to,
            acknowledged=acknowledged,
            ids=ids,
            q=q,
        )
        of = f"requests by {sort}"
        after = place_in(of, cursor)
        column: Sort = sort.removeprefix("-")  # pyright: ignore[reportAssignmentType]  SortName is made of Sort

        async def query(connection: psycopg.AsyncConnection) -> Page:
            return await page_of_requests(
                connection,
                by,
                filters,
                sort=column,
                descending=sort.startswith("-"),
                after=after,
                limit=limit,
            )

        return await show(await _placed(reads.read(RequestList.name, min_position, query), after), of)

    return router


def _check_person(by: Caller) -> None:
    if not isinstance(by, PersonCaller):
        raise NotAllowed("an agent has no inbox; people do")


async def _placed(page: Awaitable[Page], after: Sequence[str] | None) -> Page:
    """The page; a cursor that was tampered with is the caller's mistake."""
    try:
        return await page
    except (psycopg.DataError, ValueError) as error:
        if after is None:
            raise
        raise other_list() from error


async def narrowed(
    directory: Directory,
    *,
    request_type: Sequence[str] | None,
    agent: str | None,
    assigned_to: str | None,
    list: str | None,
    **plain: Any,
) -> Filters:
    """The filters meant, people, lists and agents found by their readable ids. Raises `Invalid` for unknown ones."""
    assignee = None if assigned_to == "nobody" else assigned_to
    return Filters(
        request_type=None if request_type is None else [await _type(directory, name) for name in request_type],
        agent=await _known("agent", "agent", agent, partial(directory.agent_id, active=False)),
        assigned_to=await _known("assigned_to", "user", assignee, partial(directory.user_id, active=False)),
        unassigned=assigned_to == "nobody",
        list=await _known("list", "list", list, directory.list_id),
        **plain,
    )


async def _known(
    field: str, kind: str, readable_id: str | None, find: Callable[[str], Awaitable[UUID | None]]
) -> UUID | None:
    if readable_id is None:
        return None
    id = await find(readable_id)
    if id is None:
        raise Invalid([FieldError(field, f"there is no {kind} {readable_id!r}")])
    return id


async def _type(directory: Directory, name: str) -> str:
    id = find_request_type(name) or await directory.request_type_id(name)
    if id is None:
        raise Invalid([FieldError("request_type", f"there is no request type {name!r}")])
    return id


def _item(row: dict[str, Any], names: Names) -> dict[str, Any]:
    return {
        "id": str(row["request_id"]),
        "unique_id": row["unique_id"],
        "status": row["status"],
        "summary": row["summary"],
        "request_type": row["request_type"],
        "kind": row["kind"],
        "agent": names.of(row["agent_id"]),
        "run_id": row["run_id"],
        "run_step_id": row["run_step_id"],
        "run_user": names.of(row["run_user"]),
        "secret": row["secret"],
        "priority": row["priority"],
        "assigned_to": names.of(row["assigned_to"]),
        "list": names.of(row["list_id"]),
        "claimed": row["claimed"],
        "snoozed_until": None if row["snoozed_until"] is None else instant(row["snoozed_until"]),
        "created_at": instant(row["created_at"]),
        "expires_at": None if row["expires_at"] is None else instant(row["expires_at"]),
        "closed_at": None if row["closed_at"] is None else instant(row["closed_at"]),
        "outcome": row["outcome"],
        "acknowledged_at": None if row["acknowledged_at"] is None else instant(row["acknowledged_at"]),
        "erased": row["erased"],
        "position": row["position"],
    }
