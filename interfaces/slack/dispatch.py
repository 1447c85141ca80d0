"""Slack's kit, told what is for whom: an envelope is taken once what it asks for is done."""

from __future__ import annotations

import asyncio
import json
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import structlog

from interfaces.slack import modals
from interfaces.slack.answers import Answers, Workspace
from interfaces.slack.web_api import SILENT

if TYPE_CHECKING:
    from slack_bolt.app.async_app import AsyncApp

_ANY = re.compile("")

log = structlog.get_logger(__name__)


class Dispatch:
    """Takes the envelopes of one workspace."""

    def __init__(self, answers: Answers, workspace: Workspace) -> None:
        self._answers = answers
        self._workspace = workspace
        self._app: AsyncApp | None = None

    async def __call__(self, envelope: dict[str, Any]) -> tuple[bool, dict[str, Any] | None]:
        """Whether it was taken, and what its acknowledgement says."""
        if self._app is None:
            await asyncio.to_thread(import_module, "slack_bolt.app.async_app")  # takes long the first time
            self._app = self._app or self._made()
        from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app
        from slack_sdk.socket_mode.request import SocketModeRequest

        request = SocketModeRequest.from_dict(envelope)
        if request is None:
            return True, None  # whatever it is, it is nothing for us
        response = await run_async_bolt_app(self._app, request)
        if response.status == 404:  # nobody listens to such
            return True, None
        body = response.body
        if isinstance(body, str) and body:
            body = json.loads(body)
        return response.status == 200, body or None

    def _made(self) -> AsyncApp:
        from slack_bolt.app.async_app import AsyncApp
        from slack_bolt.authorization import AuthorizeResult
        from slack_bolt.response import BoltResponse

        answers, at = self._answers, self._workspace

        async def authorize() -> AuthorizeResult:
            return AuthorizeResult(
                enterprise_id=None,
                team_id=None,
                bot_user_id=at.bot_user,
                bot_id=at.bot_id,
                bot_token=at.client.token,
            )

        # An envelope is acknowledged when its listener has returned, not before.
        app = AsyncApp(
            name="handraise", client=at.client, authorize=authorize, process_before_response=True, logger=SILENT
        )

        @app.event("message")
        async def message(event: dict[str, Any]) -> None:
            await answers.message(event, at)

        @app.action(_ANY)
        async def pressed(ack: Any, body: dict[str, Any]) -> None:
            await answers.pressed(body, at)
            await ack()

        @app.view(modals.CALLBACK)
        async def submitted(ack: Any, body: dict[str, Any]) -> None:
            errors = await answers.submitted(body, at)
            await (ack(response_action="errors", errors=errors) if errors else ack())

        @app.error
        async def failed(error: Exception) -> BoltResponse:
            log.warning("something from slack was not taken", error=type(error).__name__)
            return BoltResponse(status=500)

        return app
