"""Webhooks of agents, over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from application.ports import EventStore
from application.webhooks import Attempt, ListedWebhook, WebhookAdministration, WebhookEntry
from domain.masking import masked
from domain.request import instant
from domain.webhooks import SECRET_PREFIX
from interfaces.http.callers import Authenticate, authenticated_route
from interfaces.http.directory import Pages
from interfaces.http.json_bodies import Json
from interfaces.http.models import Body, Written, optional_instant
from interfaces.http.reading import Cursor, Limit, MinPosition, Reads, encode_cursor, other_list, place_in
from interfaces.http.requests import By, refusals

LONGEST_URL = 2000

AgentId = Annotated[str, Path(alias="id", max_length=64, description="The agent's readable id.")]

_OF_AGENT = "/agents/{id}/webhook"
_ALL, _LIST = "webhooks", "webhook-deliveries"
_NO_STORE = {"Cache-Control": "no-store"}


class WebhookBody(Body):
    """Where the agent's closed requests are reported to."""

    url: str = Field(max_length=LONGEST_URL, description="https; not in a private network, unless that is allowed.")
    enabled: bool = Field(True, description="Whether anything is reported. What closes meanwhile is not made up for.")


class WebhookView(BaseModel):
    """An agent's webhook. Of its secret only how it begins and ends is shown; null: it cannot be opened, rotate it."""

    url: str
    enabled: bool
    secret: str | None
    previous_secret_until: str | None = Field(description="Until then the secret before signs, too.")
    created_at: str
    changed_at: str


class WebhookWritten(WebhookView):
    """The webhook as it is now. A secret that was made just now is whole, this once."""

    position: int


class DeliveryView(BaseModel):
    """One attempt to report a closed request."""

    request: str
    webhook_id: str = Field(description="What the receiver knows the report by: the same for all attempts.")
    attempt: int
    at: str
    outcome: Literal["delivered", "failed", "given_up"]
    status: int | None = Field(description="What the receiver answered; null: nothing.")
    error: str | None
    duration_ms: int
    next_at: str | None = Field(description="When it is tried again; null: not by itself.")


class DeliveryPage(BaseModel):
    items: list[DeliveryView]
    next_cursor: str | None
    position: int


class ListedWebhookView(BaseModel):
    """An agent's webhook, and how the last report went."""

    agent: str
    url: str
    enabled: bool
    last: DeliveryView | None = Field(description="The newest attempt of the last 30 days.")


class WebhookPage(BaseModel):
    items: list[ListedWebhookView]
    next_cursor: str | None
    position: int


class WebhookTestedView(BaseModel):
    """What came back."""

    delivered: bool
    status: int | None
    error: str | None
    duration_ms: int


def webhook_routes(
    webhooks: WebhookAdministration, store: EventStore, authenticate: Authenticate, reads: Reads
) -> APIRouter:
    """`/api/webhooks` and `/api/agents/{id}/webhook`."""
    router = APIRouter(prefix="/api", tags=["webhooks"], route_class=authenticated_route(authenticate))
    pages = Pages(reads, store)

    @router.get(
        "/webhooks",
        operation_id="list_webhooks",
        response_model=WebhookPage,
        summary="List webhooks, with the last report of each",
        responses=refusals(403, 422),
    )
    async def page(by: By, limit: Limit = 50, cursor: Cursor = None, min_position: MinPosition = None) -> Json:
        after, position = await pages.begin(_ALL, cursor, min_position)
        found = await webhooks.page(by, after, limit + 1)
        return pages.page(_ALL, found, limit, [_listed(each) for each in found], position)

    @router.get(
        _OF_AGENT,
        operation_id="get_webhook",
        response_model=WebhookView,
        summary="Where an agent's closed requests are reported to",
        responses=refusals(403, 404, 422),
    )
    async def get(id: AgentId, by: By, min_position: MinPosition = None) -> Json:
        await reads.check(min_position)
        return Json(_view(await webhooks.webhook(id, by)), headers=_NO_STORE)

    @router.put(
        _OF_AGENT,
        operation_id="set_webhook",
        response_model=WebhookWritten,
        summary="Have an agent's closed requests reported there; the secret of a new webhook is shown this once",
        responses=refusals(403, 404, 422) | {201: {"model": WebhookWritten, "description": "New, with its secret"}},
    )
    async def set_(id: AgentId, body: WebhookBody, by: By) -> Json:
        webhook, secret, position = await webhooks.set(id, body.url, body.enabled, by)
        shown = _view(webhook) | ({} if secret is None else {"secret": secret}) | {"position": position}
        return Json(shown, status_code=200 if secret is None else 201, headers=_NO_STORE)

    @router.delete(
        _OF_AGENT,
        operation_id="remove_webhook",
        response_model=Written,
        summary="Have an agent's closed requests reported no more, and forget its secrets",
        responses=refusals(403, 404, 422),
    )
    async def remove(id: AgentId, by: By) -> Json:
        return Json({"position": await webhooks.remove(id, by)})

    @router.post(
        _OF_AGENT + "/rotate",
        operation_id="rotate_webhook_secret",
        response_model=WebhookWritten,
        summary="Make a new secret, shown this once; for 24 hours the one before signs, too",
        responses=refusals(403, 404, 422),
    )
    async def rotate(id: AgentId, by: By) -> Json:
        webhook, secret, position = await webhooks.rotate(id, by)
        return Json(_view(webhook) | {"secret": secret, "position": position}, headers=_NO_STORE)

    @router.post(
        _OF_AGENT + "/test",
        operation_id="test_webhook",
        response_model=WebhookTestedView,
        summary="Send a signed message that reports nothing, and see what comes back",
        responses=refusals(403, 404, 422),
    )
    async def test(id: AgentId, by: By) -> Json:
        answered = await webhooks.test(id, by)
        return Json(
            {
                "delivered": answered.error is None,
                "status": answered.status,
                "error": answered.error,
                "duration_ms": _milliseconds(answered.duration),
            }
        )

    @router.get(
        _OF_AGENT + "/deliveries",
        operation_id="list_webhook_deliveries",
        response_model=DeliveryPage,
        summary="Attempts to report closed requests, newest first, for 30 days",
        responses=refusals(403, 404, 422),
    )
    async def deliveries(
        id: AgentId, by: By, limit: Limit = 50, cursor: Cursor = None, min_position: MinPosition = None
    ) -> Json:
        await reads.check(min_position)
        before = _before(cursor)
        position = await store.head()
        found = await webhooks.log(id, by, before, limit + 1)
        items = [_delivery(attempt) for attempt in found[:limit]]
        last = [str(found[limit - 1].id)] if len(found) > limit else None
        return Json({"items": items, "next_cursor": encode_cursor(_LIST, last), "position": position})

    @router.post(
        _OF_AGENT + "/deliveries/{request_id}/redeliver",
        operation_id="redeliver_webhook",
        response_model=Written,
        summary="Report a closed request once more, now, under the same id",
        responses=refusals(403, 404, 409, 422),
    )
    async def redeliver(id: AgentId, request_id: UUID, by: By) -> Json:
        return Json({"position": await webhooks.redeliver(id, request_id, by)})

    return router


def _view(webhook: WebhookEntry) -> dict[str, object]:
    return {
        "url": webhook.url,
        "enabled": webhook.enabled,
        "secret": masked(SECRET_PREFIX, webhook.secrets[0]) if webhook.secrets else None,
        "previous_secret_until": optional_instant(webhook.previous_until),
        "created_at": instant(webhook.created_at),
        "changed_at": instant(webhook.changed_at),
    }


def _delivery(attempt: Attempt) -> dict[str, object]:
    return {
        "request": str(attempt.request_id),
        "webhook_id": attempt.message_id,
        "attempt": attempt.number,
        "at": instant(attempt.at),
        "outcome": attempt.outcome,
        "status": attempt.status,
        "error": attempt.error,
        "duration_ms": _milliseconds(attempt.duration),
        "next_at": optional_instant(attempt.next_at),
    }


def _listed(webhook: ListedWebhook) -> dict[str, object]:
    return {
        "agent": webhook.readable_id,
        "url": webhook.url,
        "enabled": webhook.enabled,
        "last": None if webhook.last is None else _delivery(webhook.last),
    }


def _before(cursor: list[str] | None) -> int | None:
    place = place_in(_LIST, cursor)
    if place is None:
        return None
    if len(place) != 1 or not (place[0].isdecimal() and len(place[0]) < 19):
        raise other_list()
    return int(place[0])


def _milliseconds(duration: timedelta) -> int:
    return round(duration.total_seconds() * 1000)
