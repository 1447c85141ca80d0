"""Subscriptions of browsers, over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from application.subscriptions import Browsers
from domain.errors import FieldError, Invalid
from interfaces.http.callers import Authenticate, authenticated_route
from interfaces.http.json_bodies import Json
from interfaces.http.models import Body
from interfaces.http.requests import By, refusals

LONGEST_ENDPOINT = 2000


class SubscriptionKeys(Body):
    """The keys that what is sent to the browser is encrypted with, in base64url."""

    p256dh: str = Field(max_length=100, description="A point of P-256, uncompressed: 65 bytes.")
    auth: str = Field(max_length=100, description="16 bytes.")


class SubscriptionBody(Body):
    """A subscription, exactly as the browser's `PushSubscription.toJSON()` has it."""

    endpoint: str = Field(max_length=LONGEST_ENDPOINT, description="Where its push service takes word for it.")
    keys: SubscriptionKeys
    expiration_time: float | None = Field(
        None,
        alias="expirationTime",
        allow_inf_nan=False,
        description="Not used: the push service says when a subscription is over.",
    )


class EndpointBody(Body):
    """Which subscription is meant."""

    endpoint: str = Field(max_length=LONGEST_ENDPOINT)


class PushView(BaseModel):
    """What a browser subscribes with (`applicationServerKey`), and in how many browsers the caller is told."""

    public_key: str
    subscriptions: int


class SubscribedView(BaseModel):
    """In how many browsers the caller is told now."""

    subscriptions: int
    position: int


class TestedView(BaseModel):
    """How many of the caller's browsers were reached, and of each other one why it was not."""

    reached: int
    failures: list[str]


def push_routes(
    browsers: Browsers, public_key: str, head: Callable[[], Awaitable[int]], authenticate: Authenticate
) -> APIRouter:
    """`/api/push`. Subscriptions are no events; `head` is the position that their writes answer with."""
    router = APIRouter(prefix="/api", tags=["push"], route_class=authenticated_route(authenticate))

    async def written(by: By, status: int = 200) -> Json:
        return Json({"subscriptions": await browsers.count(by), "position": await head()}, status_code=status)

    @router.get(
        "/push",
        response_model=PushView,
        summary="What a browser subscribes with, and how many of one's own have",
        responses=refusals(403),
    )
    async def status(by: By) -> Json:
        return Json({"public_key": public_key, "subscriptions": await browsers.count(by)})

    @router.post(
        "/push/subscriptions",
        status_code=201,
        response_model=SubscribedView,
        summary="Be told in this browser",
        responses=refusals(403, 409, 422)
        | {200: {"model": SubscribedView, "description": "Subscribed before: nothing new"}},
    )
    async def subscribe(body: SubscriptionBody, by: By) -> Json:
        created = await browsers.subscribe(body.endpoint, body.keys.p256dh, body.keys.auth, by)
        return await written(by, 201 if created else 200)

    @router.delete(
        "/push/subscriptions",
        response_model=SubscribedView,
        summary="Be told in this browser no more; the endpoint stands in the body, or in the query",
        responses=refusals(403, 404, 422),
    )
    async def unsubscribe(
        by: By,
        body: EndpointBody | None = None,
        endpoint: Annotated[
            str | None,
            Query(max_length=LONGEST_ENDPOINT, description="Better in the body: proxies write queries down."),
        ] = None,
    ) -> Json:
        named = {each for each in (endpoint, None if body is None else body.endpoint) if each is not None}
        if len(named) != 1:
            raise Invalid([FieldError("endpoint", "must be given, once")])
        await browsers.unsubscribe(named.pop(), by)
        return await written(by)

    @router.post(
        "/push/test",
        response_model=TestedView,
        summary="Send a notice to one's own browsers, to see whether it arrives",
        responses=refusals(403),
    )
    async def test(by: By) -> Json:
        reached = await browsers.test(by)
        return Json({"reached": reached.count, "failures": list(reached.failures)})

    return router
