"""How Slack is set up, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field, WithJsonSchema

from application.slack import SlackAdministration
from domain.request import instant
from domain.slack import LONGEST_DELAY_SECONDS, SlackSettings
from interfaces.http.callers import Authenticate, authenticated_route
from interfaces.http.json_bodies import Json
from interfaces.http.models import Body
from interfaces.http.reading import MinPosition, Reads
from interfaces.http.requests import By, refusals

_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}]}
_DELAY = {"type": "number", "minimum": 0, "maximum": LONGEST_DELAY_SECONDS}


class SlackBody(Body):
    """The fields to change; what is not given stays, and so does a token that is given masked. Null takes away."""

    # All that is wrong with them is said at once, by the use case, and without quoting a token.
    enabled: Annotated[Any, WithJsonSchema({"type": "boolean"})] = Field(
        False, description="Whether Slack is used; it then needs both tokens and a channel."
    )
    channel_id: Annotated[Any, WithJsonSchema(_TEXT)] = Field(None, description="The channel's id, like C0123456789.")
    bot_token: Annotated[Any, WithJsonSchema(_TEXT)] = Field(None, description="Begins with xoxb-.")
    app_token: Annotated[Any, WithJsonSchema(_TEXT)] = Field(None, description="Begins with xapp-.")
    notification_delay_seconds: Annotated[Any, WithJsonSchema(_DELAY)] = Field(
        120, description="How long a request may be unanswered before Slack is told, where no strategy says."
    )


class SlackView(BaseModel):
    """How Slack is set up. Of a token only how it begins and ends is shown, of a short one nothing."""

    enabled: bool
    channel_id: str | None
    bot_token: str | None
    app_token: str | None
    notification_delay_seconds: float


class SlackWritten(SlackView):
    """How Slack is set up now."""

    position: int


class SlackTestedView(BaseModel):
    """Whether it works, and in words why not."""

    success: bool
    message: str


class SlackConnectionView(BaseModel):
    """How the connection of the server that answers is, since when, and in words what is wrong."""

    state: Literal["off", "connecting", "connected", "failing"]
    since: str
    error: str | None


def slack_routes(slack: SlackAdministration, authenticate: Authenticate, reads: Reads) -> APIRouter:
    """`/api/human-feedback/slack`."""
    router = APIRouter(
        prefix="/api/human-feedback/slack", tags=["slack"], route_class=authenticated_route(authenticate)
    )

    @router.get(
        "/config", response_model=SlackView, summary="How Slack is set up, tokens masked", responses=refusals(403, 422)
    )
    async def config(by: By, min_position: MinPosition = None) -> Json:
        await reads.check(min_position)
        return Json(_view(await slack.settings(by)), headers={"Cache-Control": "no-store"})

    @router.get(
        "/connection",
        response_model=SlackConnectionView,
        summary="How this server's connection to Slack is",
        responses=refusals(403),
    )
    async def connection(by: By) -> Json:
        found = slack.connection(by)
        view = {"state": found.state, "since": instant(found.since), "error": found.error}
        return Json(view, headers={"Cache-Control": "no-store"})

    @router.post(
        "/config",
        response_model=SlackWritten,
        summary="Set Slack up; what is not given, or given masked, stays",
        responses=refusals(403, 422),
    )
    async def change(body: SlackBody, by: By) -> Json:
        settings, position = await slack.change(body.model_dump(exclude_unset=True), by)
        return Json(_view(settings) | {"position": position}, headers={"Cache-Control": "no-store"})

    @router.post(
        "/test",
        response_model=SlackTestedView,
        summary="Try out how Slack is set up, or would be with the fields given; stores nothing",
        responses=refusals(403, 422),
    )
    async def test(by: By, body: SlackBody | None = None) -> Json:
        tested = await slack.test({} if body is None else body.model_dump(exclude_unset=True), by)
        return Json({"success": tested.success, "message": tested.message})

    return router


def _view(settings: SlackSettings) -> dict[str, Any]:
    """Of settings that are masked already."""
    delay = settings.notification_delay_seconds
    return {
        "enabled": settings.enabled,
        "channel_id": settings.channel_id,
        "bot_token": settings.bot_token,
        "app_token": settings.app_token,
        "notification_delay_seconds": int(delay) if delay.is_integer() else delay,
    }
