"""The channel `slack`: one message for each notice, in the channel that is configured."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from application.notices import Message, PermanentFailure, TemporaryFailure
from application.ports import Clock, Directory, UserEntry
from domain.request import Request
from domain.slack import SlackSettings
from interfaces.slack import blocks, modals
from interfaces.slack.marks import key_of, mark, messages_of
from interfaces.slack.mrkdwn import mention
from interfaces.slack.people import People
from interfaces.slack.web_api import NoAnswer, Refused, by_bot, web_client
from interfaces.slack.words import Words

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

_SECONDS = 9
_LOOKING = 5.0
"""Seconds at most for a call, and for looking whether it was posted already."""

_LATE = timedelta(seconds=10)
"""A notice that is later than this may be the repeat of one that a crash came after: its step is leased for longer."""

_PAGE, _PAGES = 200, 3
_CLOCKS_APART = timedelta(minutes=1)
_LONGEST_PAUSE = 5.0
_NOT_SET_UP = "there is no bot token that can be read: set it again"
_NO_SENSE = "what answered is not Slack, or makes no sense"
_TS = re.compile(r"\d{1,20}\.\d{1,10}", re.ASCII)


class SlackChannel:
    """Implements `application.notices.Channel`. `url` is where people find the pages of requests."""

    name = "slack"

    def __init__(
        self,
        settings: Callable[[], SlackSettings],
        directory: Directory,
        people: People,
        clock: Clock,
        *,
        api_url: str,
        url: str,
    ) -> None:
        self._settings = settings
        self._directory = directory
        self._people = people
        self._words = Words(directory)
        self._clock = clock
        self._api_url = api_url
        self._url = url
        self._paused: tuple[str, float] = ("", 0.0)
        """The token that Slack takes no posts of for now, and until when."""

        self._bots: dict[str, str | None] = {}
        """By token, the id of the bot that it is of."""

    @property
    def delay(self) -> timedelta | None:
        settings = self._settings()
        return timedelta(seconds=settings.notification_delay_seconds) if settings.enabled else None

    async def deliver(self, message: Message) -> dict[str, str] | None:
        """Post it, unless it is there already. The reference says where it stands."""
        channel = self._channel()
        async with self._client() as client:
            if self._may_be_there(message):
                found = await self._find(client, channel, message.request, lambda key: key == message.key)
                if found:
                    return found[message.key]
            lead, agent = await self._lead(client, message), await self._agent(message.request)
            await self._wait_for_pause(client)
            return await self._post(client, channel, message, lead, agent)

    async def update(self, request: Request, reference: Mapping[str, str]) -> None:
        """Who is asked now, or how it ended; what may be pressed goes with the end."""
        async with self._client() as client:
            lead = await self._asked_now(client, request) if request.is_open else await self._words.ending(request)
            text, made = self._shown(request, lead, await self._agent(request))
            await self._wait_for_pause(client)
            await by_bot(client.chat_update(channel=reference["channel"], ts=reference["ts"], text=text, blocks=made))

    async def find(self, request: Request) -> Mapping[str, dict[str, str]]:
        """Looks through what the channel says since the request was asked."""
        channel = self._channel()
        async with self._client() as client:
            found = await self._find(client, channel, request, lambda key: key.startswith(f"{request.id}/{self.name}/"))
        known = request.shown.get(self.name, ())
        return {key: reference for key, reference in found.items() if reference not in known}

    def _channel(self) -> str:
        """The channel that is configured."""
        channel = self._settings().channel_id
        if channel is None:
            raise TemporaryFailure(_NOT_SET_UP)
        return channel

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[AsyncWebClient]:
        """Calls as our bot; what goes wrong with one is told as notices know it."""
        token = self._settings().bot_token
        if token is None:
            raise TemporaryFailure(_NOT_SET_UP)
        try:
            yield await web_client(token, self._api_url, _SECONDS)
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

    def _shown(
        self, request: Request, lead: str, agent: str, *, reminder: bool = False
    ) -> tuple[str, list[dict[str, Any]]]:
        has_form = request.is_open and modals.form(request, url=self._url) is not None
        return blocks.notice(request, lead=lead, agent=agent, url=self._url, has_form=has_form, reminder=reminder)

    async def _post(
        self, client: AsyncWebClient, channel: str, message: Message, lead: str, agent: str
    ) -> dict[str, str]:
        text, made = self._shown(message.request, lead, agent, reminder=message.step.startswith("remind:"))
        call = client.chat_postMessage(
            channel=channel,
            text=text,
            blocks=made,
            metadata=mark(message),
            unfurl_links=False,
            unfurl_media=False,
        )
        posted = await by_bot(call)
        reference = _reference(posted.get("channel", channel), posted.get("ts"))
        if reference is None:  # it may be there: the next attempt looks
            raise NoAnswer(_NO_SENSE)
        return reference

    async def _wait_for_pause(self, client: AsyncWebClient) -> None:
        """Slack asked to be left alone: a little is waited here, more is left to the next attempt."""
        paused, until = self._paused
        left = until - _now()
        if paused != client.token or left <= 0:
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

    async def _find(
        self, client: AsyncWebClient, channel: str, request: Request, is_wanted: Callable[[str], bool]
    ) -> dict[str, dict[str, str]]:
        """Where messages whose keys are wanted stand, by key: those of the first page that has any.

        Raises `NoAnswer`, `TimeoutError`, or `Refused` for what will pass. Who may not look finds nothing, and posts:
        once too often is better than never.
        """
        own = await self._bot(client)
        oldest = _ts(request.asked.timestamp - _CLOCKS_APART)
        cursor = None
        found: dict[str, dict[str, str]] = {}
        async with asyncio.timeout(_LOOKING):
            for _ in range(_PAGES):
                call = client.conversations_history(
                    channel=channel, oldest=oldest, limit=_PAGE, include_all_metadata=True, cursor=cursor
                )
                try:
                    answer = await by_bot(call)
                except Refused as refused:
                    if refused.temporary:
                        raise
                    return found
                for each in messages_of(answer):
                    if each.get("bot_id") != own:  # what others post may look like ours
                        continue
                    key, reference = key_of(each), _reference(channel, each.get("ts"))
                    if key is not None and is_wanted(key) and reference is not None:
                        found[key] = reference
                more = answer.get("response_metadata")
                cursor = more.get("next_cursor") if isinstance(more, dict) else None
                if found or not isinstance(cursor, str) or not cursor:
                    break
        return found

    async def _bot(self, client: AsyncWebClient) -> str | None:
        """The id under which our own messages stand. Raises as `by_bot`."""
        token = client.token or ""
        if token not in self._bots:
            said = await by_bot(client.auth_test())
            self._bots = {token: said.get("bot_id")}
        return self._bots[token]

    # -- who is asked

    async def _lead(self, client: AsyncWebClient, message: Message) -> str:
        if message.person is not None:
            return await self._asked_person(client, message.request, message.person)
        return await self._asked_list(message.request, message.list)

    async def _asked_now(self, client: AsyncWebClient, request: Request) -> str:
        person = None if request.assigned_to is None else await self._directory.user(request.assigned_to)
        if person is not None:
            return await self._asked_person(client, request, person)
        return await self._asked_list(request, request.assigned_list)

    async def _asked_person(self, client: AsyncWebClient, request: Request, person: UserEntry) -> str:
        who = mention(await self._people.slack_id(client, person)) or blocks.name(person.name or person.readable_id)
        return blocks.asked_person(who, responsible=request.assigned_to == person.id)

    async def _asked_list(self, request: Request, list_id: UUID | None) -> str:
        if list_id is None:
            return blocks.ASKED_NOBODY
        entry = await self._directory.list_entry(list_id)
        members = await self._directory.members(list_id)
        able = [member for member in members if member.id not in request.excluded]
        mentions = [told for member in able if (told := mention(member.slack_user_id)) is not None]
        return blocks.asked_list("a list" if entry is None else blocks.name(entry.name), mentions)

    async def _agent(self, request: Request) -> str:
        id = request.asked.agent_id
        return (await self._directory.readable_ids([id])).get(id, "an agent")


def _now() -> float:
    return asyncio.get_running_loop().time()


def _ts(at: datetime) -> str:
    return f"{at.timestamp():.6f}"


def _reference(channel: Any, ts: Any) -> dict[str, str] | None:
    if not isinstance(channel, str) or not isinstance(ts, str) or not _TS.fullmatch(ts):
        return None
    return {"channel": channel, "ts": ts}
