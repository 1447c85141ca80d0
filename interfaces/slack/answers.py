"""What people do in Slack, as commands: a reply in a thread, a button, a choice, a modal.

Each is checked exactly as anywhere else, as what the person may do whom the directory knows them to be; what does not
count is said to them alone. Nothing here is done twice for the same message, however often Slack sends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog

from application.ports import EventStore
from application.requests import Reply, Requests
from application.slack import SlackMessages
from domain.callers import PersonCaller, Via
from domain.errors import Invalid, Refusal, Unavailable
from domain.request import Request
from interfaces.slack import blocks, modals
from interfaces.slack.inbound import plain
from interfaces.slack.marks import request_marked
from interfaces.slack.people import People
from interfaces.slack.web_api import NoAnswer, Refused, by_bot
from interfaces.slack.words import Words

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

_WRITTEN = (None, "thread_broadcast", "file_share")
"""The subtypes of messages that are something a person wrote: as ever, also shown in the channel, with files."""

_HELD_SECONDS = 1.0
"""For how long a reply waits for word of the message that it is to, which another replica may be posting just now;
then Slack is asked which message that is: a crash may have come before there was word of it."""

_UNKNOWN = (
    "Handraise does not know who you are, so this does not count. Ask an administrator to put your e-mail address, or"
    " your Slack id `{user}`, into your entry."
)
_CONFIDENTIAL = (
    "This answer is confidential and does not count here: *please delete your message now*, and answer on"
    " <{url}|the page of the request>."
)
_NO_TEXT = "Attachments are not taken, and there was no text: write the answer as text."
_ONLY_TEXT = "Your text was taken as the answer. The attachments were ignored."
_GONE = "There is no such request any more."
_NOT_YOURS = "This does not count: only whom the request is assigned to may answer it."

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where something comes from: how to reach it, and who we are there. `teams` are it and what it belongs to."""

    client: AsyncWebClient
    bot_user: str | None
    bot_id: str | None
    teams: frozenset[str]


class Answers:
    """Takes what comes in. What raises was not taken: Slack is to send it again."""

    def __init__(
        self, requests: Requests, store: EventStore, messages: SlackMessages, people: People, words: Words, *, url: str
    ) -> None:
        self._requests = requests
        self._store = store
        self._messages = messages
        self._people = people
        self._words = words
        self._url = url

    # -- a reply

    async def message(self, event: Mapping[str, Any], at: Workspace) -> None:
        """Somebody wrote something; a reply to a request of ours is an answer."""
        user, channel, ts, thread = (event.get(name) for name in ("user", "channel", "ts", "thread_ts"))
        if not (isinstance(user, str) and isinstance(channel, str) and isinstance(ts, str) and isinstance(thread, str)):
            return
        if event.get("subtype") not in _WRITTEN or event.get("bot_id") or event.get("hidden"):
            return
        if thread == ts or user == at.bot_user:
            return
        is_ours = at.bot_user is not None and event.get("parent_user_id") == at.bot_user
        request_id = await self._messages.request_at(channel, thread, patience=_HELD_SECONDS if is_ours else 0)
        if request_id is None and is_ours:
            request_id = await request_marked(at.client, channel, thread, at.bot_id)
        if request_id is None:
            return
        text, files = event.get("text"), bool(event.get("files"))
        written = plain(text) if isinstance(text, str) else ""
        told = partial(self._tell, at, channel=channel, user=user, thread=thread)
        await self._messages.once(
            f"{channel}/{ts}", partial(self._reply, request_id, user, written, files=files, at=at, tell=told)
        )

    async def _reply(self, id: UUID, user: str, text: str, *, files: bool, at: Workspace, tell: Any) -> None:
        request = await self._store.request(id)
        if request is None:
            return
        if request.asked.sealed:
            await tell(_CONFIDENTIAL.format(url=self._page(id)))
            return
        if files and not text.strip():
            await tell(_NO_TEXT)
            return
        caller = await self._caller(request, user, at)
        if caller is None:
            await tell(_UNKNOWN.format(user=user))
            return
        try:
            await self._requests.respond(id, Reply(text=text, free=True), caller, Via.SLACK)
        except Unavailable:
            raise
        except Refusal as refused:
            await tell(await self._words.refusal(refused))
            return
        if files:
            await tell(_ONLY_TEXT)

    # -- a button, or a choice

    async def pressed(self, body: Mapping[str, Any], at: Workspace) -> None:
        """Somebody pressed a button, or chose something, of a message of ours."""
        actions, user = body.get("actions"), _id(body.get("user"))
        action = actions[0] if isinstance(actions, list) and actions else None
        if not isinstance(action, dict) or user is None:
            return
        id = blocks.request_of(str(action.get("block_id")))
        if id is None:
            return
        tell = partial(self._tell, at, channel=_id(body.get("channel")), user=user)
        request = await self._store.request(id)
        if request is None:
            await tell(_GONE)
            return
        caller = await self._caller(request, user, at)
        if caller is None:
            await tell(_UNKNOWN.format(user=user))
            return
        try:
            await self._act(request, action, caller, at, str(body.get("trigger_id")))
        except Unavailable:
            raise
        except Refusal as refused:
            await tell(await self._words.refusal(refused))

    async def _act(
        self, request: Request, action: Mapping[str, Any], caller: PersonCaller, at: Workspace, trigger: str
    ) -> None:
        question = request.question
        match str(action.get("action_id")):
            case blocks.CLAIM:
                await self._requests.claim(request.id, caller, None)
            case blocks.FORM:
                await self._open(request, caller, at, trigger)
            case blocks.APPROVE:
                await self._answer(request, question.labels.approve, caller)
            case blocks.REJECT:
                await self._answer(request, question.labels.reject, caller)
            case blocks.SELECT:
                chosen = action.get("selected_option")
                await self._choose(request, chosen.get("value") if isinstance(chosen, dict) else None, caller)
            case pressed if pressed.startswith(blocks.OPTION):
                await self._choose(request, action.get("value"), caller)

    async def _choose(self, request: Request, number: Any, caller: PersonCaller) -> None:
        options = request.question.options or ()
        if isinstance(number, str) and number.isascii() and number.isdigit() and int(number) < len(options):
            await self._answer(request, options[int(number)], caller)

    async def _answer(self, request: Request, text: str, caller: PersonCaller) -> None:
        await self._requests.respond(request.id, Reply(text=text, free=True), caller, Via.SLACK)

    async def _open(self, request: Request, caller: PersonCaller, at: Workspace, trigger: str) -> None:
        """The modal, for whoever may fill it in; others are refused as if they had."""
        view = modals.form(request, url=self._url) if request.is_open and request.may_answer(caller) else None
        if view is None:
            await self._requests.respond(request.id, Reply(text="", free=True), caller, Via.SLACK)
            return
        try:
            await by_bot(at.client.views_open(trigger_id=trigger, view=view))
        except (Refused, NoAnswer) as failure:  # they see that nothing opened, and press again
            log.warning("a modal could not be opened", error=str(failure))

    # -- a modal

    async def submitted(self, body: Mapping[str, Any], at: Workspace) -> dict[str, str]:
        """Somebody sent a modal of ours; what is wrong with it, by block: nothing where it is answered."""
        view, user = body.get("view"), _id(body.get("user"))
        if not isinstance(view, dict) or user is None:
            return {}
        first = next(
            (str(block.get("block_id")) for block in view.get("blocks") or [] if block.get("type") == "input"), ""
        )
        request = await self._request_of(view)
        if request is None:
            return {first: _GONE}
        caller = await self._caller(request, user, at)
        if caller is None:
            return {first: _UNKNOWN.format(user=user).replace("`", "")}
        state = view.get("state")
        values = state.get("values") if isinstance(state, dict) else None
        try:
            reply = modals.reply_of(request, values if isinstance(values, dict) else {})
            await self._requests.respond(request.id, reply, caller, Via.SLACK)
        except Unavailable:
            raise
        except Invalid as refused:
            return modals.errors_at(request, refused.errors) or {first: refused.detail}
        except Refusal as refused:
            return {first: plain(await self._words.refusal(refused)).replace("*", "")}
        return {}

    async def _request_of(self, view: Mapping[str, Any]) -> Request | None:
        try:
            id = UUID(str(view.get("private_metadata")))
        except ValueError:
            return None
        return await self._store.request(id)

    # -- who, and telling them

    async def _caller(self, request: Request, user: str, at: Workspace) -> PersonCaller | None:
        """Who it is; that a stranger tried is recorded. Raises `NoAnswer` while Slack cannot say who it is."""
        caller = await self._people.caller(at.client, user, teams=at.teams)
        if caller is None:
            await self._requests.refuse_stranger(request.id, f"slack:{user}", Via.SLACK)
        return caller

    async def _tell(self, at: Workspace, text: str, *, channel: Any, user: str, thread: str | None = None) -> None:
        """Say it to this person alone. That it cannot be said changes nothing about what was done."""
        if not isinstance(channel, str):
            return
        try:
            await by_bot(at.client.chat_postEphemeral(channel=channel, user=user, text=text, thread_ts=thread))
        except (Refused, NoAnswer) as failure:
            log.warning("somebody could not be told", error=str(failure))

    def _page(self, id: UUID) -> str:
        return f"{self._url}/requests/{id}"


def _id(of: Any) -> str | None:
    id = of.get("id") if isinstance(of, dict) else None
    return id if isinstance(id, str) else None
