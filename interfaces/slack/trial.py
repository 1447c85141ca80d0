"""Trying settings out: both tokens, the scopes, the channel, and a message that is posted and removed again.

Nothing outlives the call: no timer, no task, no connection, no message.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from application.slack import Tested
from domain.slack import SlackSettings
from interfaces.slack.web_api import NoAnswer, Refused, asked, web_client

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

SCOPES = ("chat:write", "channels:history", "groups:history", "users:read", "users:read.email")
"""What the bot's token must be allowed to do; that the channel can be looked at, Slack says itself."""

_SECONDS = 10
_FOR_REMOVING, _FOR_SAYING_SO = 2.0, 0.2
"""How long before the end the step before it has to be over."""

_TEXT = "Handraise tries out whether it can post here. This message goes at once."
_EVENT_TYPE = "handraise_test"
_LONGEST_NAME = 80

_BOT_TOKEN, _APP_TOKEN = "the bot token", "the app token"


class Trial:
    """Implements `application.slack.Test`."""

    def __init__(self, api_url: str) -> None:
        self._api_url = api_url

    async def __call__(self, settings: SlackSettings) -> Tested:
        problems: list[str] = []
        bot = None
        deadline = asyncio.get_running_loop().time() + _SECONDS
        try:
            async with asyncio.timeout_at(deadline):
                bot = await self._try_bot(settings, problems, deadline)
                await self._try_app(settings, problems)
        except TimeoutError:
            problems.append(f"Slack did not answer within {_SECONDS} s")
        except NoAnswer as failure:
            problems.append(str(failure))
        if problems:
            return Tested(False, f"It does not work: {'; '.join(problems)}.")
        return Tested(True, f"It works: {bot}, where a message was posted and removed again, and Socket Mode is open.")

    async def _try_bot(self, settings: SlackSettings, problems: list[str], deadline: float) -> str | None:
        """Who the bot is, and where. Raises `NoAnswer` or `TimeoutError`, as the other steps do."""
        if settings.bot_token is None:
            problems.append("there is no bot token")
            return None
        client = await web_client(settings.bot_token, self._api_url, _SECONDS)
        try:
            who, headers = await asked(client.auth_test(), token=_BOT_TOKEN)
        except Refused as refused:
            problems.append(str(refused))
            return None
        app = _name(who.get("user"), "the app")
        granted = headers.get("x-oauth-scopes")
        missing = [] if granted is None else [each for each in SCOPES if each not in _listed(granted)]
        if missing:
            problems.append(
                f"the bot token lacks the scopes {', '.join(missing)} (missing_scope): add them to the app, and install"
                " the app again"
            )
        if settings.channel_id is None:
            problems.append("there is no channel")
            return None
        try:
            channel = await _channel(client, settings.channel_id, app)
            await _post_and_remove(client, settings.channel_id, app, deadline)
        except Refused as refused:
            problems.append(str(refused))
            return None
        return f"{app} of {_name(who.get('team'), 'the workspace')} is in {channel}"

    async def _try_app(self, settings: SlackSettings, problems: list[str]) -> None:
        if settings.app_token is None:
            problems.append("there is no app token")
            return
        client = await web_client(settings.app_token, self._api_url, _SECONDS)
        try:
            opened, _ = await asked(client.apps_connections_open(app_token=settings.app_token), token=_APP_TOKEN)
        except Refused as refused:
            problems.append(f"Socket Mode: {refused}")
            return
        if not str(opened.get("url")).startswith(("wss://", "ws://")):
            raise NoAnswer("Socket Mode: what answered is not Slack, or makes no sense")


async def _channel(client: AsyncWebClient, id: str, app: str) -> str:
    """What the channel is called. Raises `Refused` where the app cannot work there."""
    answer, _ = await asked(client.conversations_info(channel=id), token=_BOT_TOKEN, app=app)
    channel = answer.get("channel")
    if not isinstance(channel, dict):
        raise NoAnswer("what answered is not Slack, or makes no sense")
    if channel.get("is_archived") is True:
        raise Refused("is_archived", "the channel is archived")
    if channel.get("is_member") is False:
        # It might post there, but no reply would ever arrive.
        raise Refused("not_in_channel", f"the app is not in the channel: invite it there with /invite @{app}")
    return f"#{_name(channel.get('name'), id)}"


async def _post_and_remove(client: AsyncWebClient, channel: str, app: str, deadline: float) -> None:
    mark = secrets.token_hex(8)
    metadata = {"event_type": _EVENT_TYPE, "event_payload": {"mark": mark}}
    try:
        async with asyncio.timeout_at(deadline - _FOR_REMOVING):
            call = client.chat_postMessage(channel=channel, text=_TEXT, metadata=metadata)
            posted, _ = await asked(call, token=_BOT_TOKEN, app=app)
    except (NoAnswer, TimeoutError):
        with suppress(NoAnswer, Refused):  # the answer is lost; the message may be there
            await _remove_marked(client, channel, mark)
        raise
    ts = posted.get("ts")
    if not isinstance(ts, str):
        raise NoAnswer("what answered is not Slack, or makes no sense")
    left = "a message was posted, and could not be removed again"
    try:
        async with asyncio.timeout_at(deadline - _FOR_SAYING_SO):
            await asked(client.chat_delete(channel=channel, ts=ts), token=_BOT_TOKEN, app=app)
    except Refused as refused:
        raise Refused(refused.code, f"{left}: {refused}") from None
    except (NoAnswer, TimeoutError):
        raise NoAnswer(f"{left}: Slack did not answer") from None


async def _remove_marked(client: AsyncWebClient, channel: str, mark: str) -> None:
    call = client.conversations_history(channel=channel, limit=20, include_all_metadata=True)
    answer, _ = await asked(call, token=_BOT_TOKEN)
    messages: Any = answer.get("messages")
    for message in messages if isinstance(messages, list) else []:
        metadata = message.get("metadata") if isinstance(message, dict) else None
        if isinstance(metadata, dict) and metadata.get("event_payload") == {"mark": mark}:
            await asked(client.chat_delete(channel=channel, ts=str(message.get("ts"))), token=_BOT_TOKEN)


def _listed(scopes: str) -> set[str]:
    return {scope.strip() for scope in scopes.split(",")}


def _name(value: Any, otherwise: str) -> str:
    """What Slack calls something, where that is a name."""
    usable = isinstance(value, str) and value.isprintable() and 0 < len(value) <= _LONGEST_NAME
    return value if usable else otherwise
