"""The channel `slack`: one message for each notice, in the channel that is configured."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from application.notices import Message, PermanentFailure, TemporaryFailure
from application.ports import Clock, Directory, UserEntry
from domain.slack import SlackSettings
from interfaces.slack import blocks
from interfaces.slack.mrkdwn import mention
from interfaces.slack.web_api import NoAnswer, Refused, asked, web_client

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

EVENT_TYPE = "handraise_request"
"""Of the metadata by which a message that was posted is known again."""

_SECONDS = 9
_LOOKING, _LOOKING_UP = 5.0, 3.0
"""Seconds at most for a call, for looking whether it was posted already, and for finding a person."""

_LATE = timedelta(seconds=10)
"""A notice that is later than this may be the repeat of one that a crash came after: its step is leased for longer."""

_PAGE, _PAGES = 200, 3
_CLOCKS_APART = timedelta(minutes=1)
_LONGEST_PAUSE = 5.0
_MOST_REMEMBERED, _REMEMBERED_SECONDS = 1000, 3600.0
_NO_SENSE = "what answered is not Slack, or makes no sense"
_TS = re.compile(r"\d{1,20}\.\d{1,10}", re.ASCII)


class SlackChannel:
    """Implements `application.notices.Channel`. `url` is where people find the pages of requests."""

    name = "slack"

    def __init__(
        self,
        settings: Callable[[], SlackSettings],
        directory: Directory,
        clock: Clock,
        *,
        api_url: str,
        url: str,
    ) -> None:
        self._settings = settings
        self._directory = directory
        self._clock = clock
        self._api_url = api_url
        self._url = url
        self._paused: tuple[str, float] = ("", 0.0)
        """The token that Slack takes no posts of for now, and until when."""

        self._looked_up: dict[tuple[str, str], tuple[str | None, float]] = {}
        """By token and e-mail address, the person's Slack id, None where there is none, and until when that holds."""

    @property
    def delay(self) -> timedelta | None:
        settings = self._settings()
        return timedelta(seconds=settings.notification_delay_seconds) if settings.enabled else None

    async def deliver(self, message: Message) -> dict[str, str] | None:
        """Post it, unless it is there already. The reference says where it stands."""
        settings = self._settings()
        token, channel = settings.bot_token, settings.channel_id
        if token is None or channel is None:
            raise TemporaryFailure("there is no bot token that can be read: set it again")
        try:
            client = await web_client(token, self._api_url, _SECONDS)
            if self._may_be_there(message) and (found := await self._find(client, channel, message)) is not None:
                return found
            lead, agent = await self._lead(client, token, message), await self._agent(message)
            await self._wait_for_pause(token)
            return await self._post(client, channel, message, lead, agent)
        except NoAnswer as failure:
            raise TemporaryFailure(str(failure)) from None
        except TimeoutError:
            raise TemporaryFailure("Slack did not answer in time") from None
        except Refused as refused:
            if not refused.temporary:
                raise PermanentFailure(str(refused)) from None
            if refused.after is not None:
                self._paused = (token, _now() + refused.after.total_seconds())
            raise TemporaryFailure(str(refused), refused.after) from None

    async def _post(
        self, client: AsyncWebClient, channel: str, message: Message, lead: str, agent: str
    ) -> dict[str, str]:
        reminder = message.step.startswith("remind:")
        text, made = blocks.notice(message.request, lead=lead, agent=agent, url=self._url, reminder=reminder)
        payload = {"key": message.key, "request_id": str(message.request.id)}
        call = client.chat_postMessage(
            channel=channel,
            text=text,
            blocks=made,
            metadata={"event_type": EVENT_TYPE, "event_payload": payload},
            unfurl_links=False,
            unfurl_media=False,
        )
        posted, _ = await _asked(call)
        reference = _reference(posted.get("channel", channel), posted.get("ts"))
        if reference is None:  # it may be there: the next attempt looks
            raise NoAnswer(_NO_SENSE)
        return reference

    async def _wait_for_pause(self, token: str) -> None:
        """Slack asked to be left alone: a little is waited here, more is left to the next attempt."""
        paused, until = self._paused
        left = until - _now()
        if paused != token or left <= 0:
            return
        if left > _LONGEST_PAUSE:
            raise TemporaryFailure("Slack takes no more calls just now (ratelimited)", timedelta(seconds=left))
        await asyncio.sleep(left)

    # -- what was posted already

    def _may_be_there(self, message: Message) -> bool:
        """Whether it may have been posted before. To look every time would cost a call that is rarer than posts."""
        if message.attempt > 1:
            return True
        due = [at for at, notice in message.request.timetable.notices(self.name) if notice.step == message.step]
        return not due or self._clock.now() - min(due) > _LATE

    async def _find(self, client: AsyncWebClient, channel: str, message: Message) -> dict[str, str] | None:
        """Where the message with this key stands, if it does.

        Raises `NoAnswer`, `TimeoutError`, or `Refused` for what will pass. Who may not look posts: once too often is
        better than never.
        """
        oldest = _ts(message.request.asked.timestamp - _CLOCKS_APART)
        cursor = None
        async with asyncio.timeout(_LOOKING):
            for _ in range(_PAGES):
                call = client.conversations_history(
                    channel=channel, oldest=oldest, limit=_PAGE, include_all_metadata=True, cursor=cursor
                )
                try:
                    answer, _ = await _asked(call)
                except Refused as refused:
                    if refused.temporary:
                        raise
                    return None
                for each in _items(answer.get("messages")):
                    if _key(each) == message.key and (found := _reference(channel, each.get("ts"))) is not None:
                        return found
                more = answer.get("response_metadata")
                cursor = more.get("next_cursor") if isinstance(more, dict) else None
                if not isinstance(cursor, str) or not cursor:
                    return None
        return None

    # -- who is asked

    async def _lead(self, client: AsyncWebClient, token: str, message: Message) -> str:
        person = message.person
        if person is not None:
            who = mention(await self._slack_id(client, token, person)) or blocks.name(person.name or person.readable_id)
            return blocks.asked_person(who, responsible=message.request.assigned_to == person.id)
        if message.list is None:
            return blocks.ASKED_NOBODY
        entry = await self._directory.list_entry(message.list)
        members = await self._directory.members(message.list)
        able = [member for member in members if member.id not in message.request.excluded]
        mentions = [told for member in able if (told := mention(member.slack_user_id)) is not None]
        return blocks.asked_list("a list" if entry is None else blocks.name(entry.name), mentions)

    async def _agent(self, message: Message) -> str:
        id = message.request.asked.agent_id
        return (await self._directory.readable_ids([id])).get(id, "an agent")

    async def _slack_id(self, client: AsyncWebClient, token: str, person: UserEntry) -> str | None:
        """What Slack calls this person. That it cannot be found out is no reason not to tell them."""
        if person.slack_user_id is not None or person.email is None:
            return person.slack_user_id
        of = (token, person.email.lower())
        remembered, until = self._looked_up.get(of, (None, 0.0))
        if until > _now():
            return remembered
        try:
            async with asyncio.timeout(_LOOKING_UP):
                answer, _ = await _asked(client.users_lookupByEmail(email=person.email))
        except Refused as refused:
            if refused.code != "users_not_found":
                return None
            id = None
        except (NoAnswer, TimeoutError):
            return None
        else:
            user = answer.get("user")
            id = user.get("id") if isinstance(user, dict) else None
            if not isinstance(id, str):
                return None
        self._looked_up.pop(of, None)
        while len(self._looked_up) >= _MOST_REMEMBERED:
            del self._looked_up[next(iter(self._looked_up))]
        self._looked_up[of] = (id, _now() + _REMEMBERED_SECONDS)
        return id


async def _asked(call: Any) -> tuple[dict[str, Any], Any]:
    return await asked(call, token="the bot token", app="…")  # noqa: S106  what it is called


def _now() -> float:
    return asyncio.get_running_loop().time()


def _ts(at: datetime) -> str:
    return f"{at.timestamp():.6f}"


def _items(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _key(message: dict[str, Any]) -> str | None:
    """The key of the notice that a message is, where it is one."""
    metadata = message.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("event_type") != EVENT_TYPE:
        return None
    payload = metadata.get("event_payload")
    return payload.get("key") if isinstance(payload, dict) else None


def _reference(channel: Any, ts: Any) -> dict[str, str] | None:
    if not isinstance(channel, str) or not isinstance(ts, str) or not _TS.fullmatch(ts):
        return None
    return {"channel": channel, "ts": ts}
