"""The requests of agents and the answers of people, over HTTP."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query

from application.requests import Ask, Reply, Requests
from domain.answers import ABSENT
from domain.callers import Caller, Via
from interfaces.http.callers import Authenticate, authenticated_route, caller, via
from interfaces.http.json_bodies import Json
from interfaces.http.long_poll import LongPoll
from interfaces.http.models import (
    AcknowledgeBody,
    CancelBody,
    CollectedView,
    CreateRequest,
    HistoryView,
    ReceiptBody,
    RequestView,
    RespondBody,
    SubmitBody,
    Submitted,
    Written,
)
from interfaces.http.reading import MinPosition, Reads
from interfaces.http.representations import Representations

MAX_WAIT_SECONDS = 600

By = Annotated[Caller, Depends(caller)]
Channel = Annotated[Via, Depends(via)]
Id = Annotated[
    str,
    Path(alias="id", max_length=200, description="The request's UUID, or the unique_id its agent gave it."),
]


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problem documents that an operation may answer with, for OpenAPI."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content} for status in (400, 401, *statuses, 503)
    }


def request_routes(
    requests: Requests, represent: Representations, authenticate: Authenticate, reads: Reads
) -> APIRouter:
    """Everything below `/api/requests`, and `/api/human-feedback/submit`."""
    router = APIRouter(prefix="/api", tags=["requests"], route_class=authenticated_route(authenticate))

    @router.post(
        "/requests",
        status_code=201,
        response_model=RequestView,
        summary="Ask a person",
        responses=refusals(403, 409, 413, 422)
        | {200: {"model": RequestView, "description": "Asked before with the same content: the same request"}},
    )
    async def create(body: CreateRequest, by: By) -> Json:
        request, created = await requests.ask(asked(body), by)
        return Json(await represent.request(request), status_code=201 if created else 200)

    @router.get(
        "/requests/{id}",
        response_model=RequestView,
        summary="Read a request",
        responses=refusals(403, 404, 409, 422),
    )
    async def get(id: Id, by: By, min_position: MinPosition = None) -> Json:
        await reads.check(min_position)  # what is read here is never behind
        return Json(await represent.request(await requests.get(await requests.find(id, by), by)))

    @router.get(
        "/requests/{id}/wait",
        response_model=RequestView,
        summary="Wait for a request to close",
        description="Answers as soon as the request is closed, or with the request as it stands when the time is up. "
        "Changes nothing: a wait that ends, or a caller that goes away, leaves the request open.",
        responses=refusals(403, 404, 409, 422),
    )
    async def wait(
        id: Id,
        by: By,
        timeout_seconds: Annotated[float, Query(ge=0, le=MAX_WAIT_SECONDS, allow_inf_nan=False)] = 30,
        min_position: MinPosition = None,
    ) -> LongPoll:
        await reads.check(min_position)
        found = await requests.find(id, by)

        async def wait_for(gone: asyncio.Future[None]) -> Json:
            return Json(await represent.request(await requests.wait(found, by, timeout_seconds, gone)))

        return LongPoll(wait_for)

    @router.get(
        "/requests/{id}/history",
        response_model=HistoryView,
        summary="All that happened to a request",
        responses=refusals(403, 404, 409, 422),
    )
    async def history(id: Id, by: By, min_position: MinPosition = None) -> Json:
        await reads.check(min_position)
        request, events = await requests.history(await requests.find(id, by), by)
        return Json({"items": await represent.history(events), "position": request.position})

    @router.post(
        "/requests/{id}/respond",
        response_model=RequestView,
        summary="Answer a request",
        responses=refusals(403, 404, 409, 413, 422),
    )
    async def respond(id: Id, body: RespondBody, by: By, channel: Channel) -> Json:
        data = body.data if "data" in body.model_fields_set else ABSENT
        reply = Reply(text=body.text, data=data)
        request = await requests.respond(await requests.find(id, by), reply, by, channel)
        return Json(await represent.request(request))

    @router.post(
        "/human-feedback/submit",
        response_model=Submitted,
        summary="Answer a request by its unique_id, in text",
        responses=refusals(403, 404, 409, 413, 422),
    )
    async def submit(body: SubmitBody, by: By, channel: Channel) -> Json:
        id = await requests.find_called(body.unique_id, by, body.agent)
        response = body.response
        reply = Reply(text=response, free=True) if isinstance(response, str) else Reply(data=response)
        request = await requests.respond(id, reply, by, channel)
        return Json({"success": True, "position": request.position})

    @router.post(
        "/requests/{id}/cancel",
        response_model=RequestView,
        summary="Withdraw a request",
        responses=refusals(403, 404, 409, 422),
    )
    async def cancel(id: Id, by: By, body: CancelBody | None = None) -> Json:
        reason = None if body is None else body.reason
        return Json(await represent.request(await requests.cancel(await requests.find(id, by), by, reason)))

    @router.post(
        "/requests/{id}/collect",
        response_model=CollectedView,
        summary="Collect a sealed answer",
        responses=refusals(403, 404, 409, 410, 422),
    )
    async def collect(id: Id, body: ReceiptBody, by: By) -> Json:
        request, answer = await requests.collect(await requests.find(id, by), body.receipt, by)
        return Json(
            {
                "outcome": answer.outcome,
                "text": answer.text,
                "data": answer.data,
                "position": request.position,
            },
            headers={"Cache-Control": "no-store"},
        )

    @router.post(
        "/requests/{id}/acknowledge",
        response_model=Written,
        summary="Say that the answer was used; a sealed one is shredded",
        description="By the agent that asked, once its request is answered. A sealed answer needs the `receipt` that "
        "it was collected with, any other needs no body. The same again does nothing more.",
        responses=refusals(403, 404, 409, 410, 422),
    )
    async def acknowledge(id: Id, by: By, body: AcknowledgeBody | None = None) -> Json:
        receipt = None if body is None else body.receipt
        request = await requests.acknowledge(await requests.find(id, by), receipt, by)
        return Json({"position": request.position})

    @router.post(
        "/requests/{id}/erase",
        response_model=RequestView,
        summary="Make the content of a closed request unreadable for good",
        responses=refusals(403, 404, 409, 422),
    )
    async def erase(id: Id, by: By) -> Json:
        return Json(await represent.request(await requests.erase(await requests.find(id, by), by)))

    return router


def asked(body: CreateRequest) -> Ask:
    """What an agent asks, from the body that says it."""
    return Ask(
        message=body.message,
        unique_id=body.unique_id,
        context=body.context,
        request_type=body.request_type,
        response_schema=body.response_schema,
        ui_schema=body.ui_schema,
        options=body.options,
        labels=None if body.labels is None else body.labels.model_dump(),
        run_id=body.run_id,
        run_step_id=body.run_step_id,
        run_user=body.run_user,
        priority=body.priority,
        expires_in=None if body.expires_in_seconds is None else timedelta(seconds=body.expires_in_seconds),
        expires_at=body.expires_at,
        secret=body.secret,
        metadata=body.metadata,
        assignment_strategy=body.assignment_strategy,
    )
