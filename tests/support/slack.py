"""A Slack that speaks the real wire over a real port, as strict as the real one, and misbehaves when it is told to.

The Web API (`auth.test`, `conversations.*`, `chat.*`, `views.*`, `users.*`, `reactions.add`, `apps.connections.open`)
and Socket Mode. A test has people write, click and submit, and looks at what the app has sent.

    async with fake_slack() as slack:
        alice = slack.user("alice", email="alice@e.test")
        …
        reply = await slack.reply(slack.messages[-1], alice, "yes")
        await reply.acknowledged()
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from tests.support.slack_blocks import (
    MESSAGE_CHARACTERS,
    Unacceptable,
    characters,
    check,
    elements,
    mentions,
    mentions_in,
    text_object,
)

BOT_TOKEN = "xoxb-1000000000-2000000000-FakeBotTokenOfTheTests"
APP_TOKEN = "xapp-1-A0FAKEAPP1-3000000000-FakeAppTokenOfTheTests"
TEAM, APP, BOT_USER, BOT = "T0FAKETEAM", "A0FAKEAPP1", "U0FAKEBOT1", "B0FAKEBOT1"
CHANNEL = "C0FAKECHAN"
SCOPES = frozenset({
    "chat:write", "channels:history", "groups:history", "channels:read", "groups:read", "users:read",
    "users:read.email", "reactions:write",
})  # fmt: skip
PATIENCE = 30.0
"""Seconds after which something that should have come counts as missing; never a time that a test takes."""

ACKNOWLEDGED_WITHIN = 3.0
"""Seconds that Slack waits for an acknowledgement, and for a trigger to be used."""

_TS = re.compile(r"\d{10}\.\d{6}")


@dataclass(slots=True)
class User:
    """Somebody in the workspace."""

    id: str
    name: str
    email: str | None = None
    is_bot: bool = False
    bot_id: str | None = None
    deleted: bool = False
    team_id: str = TEAM
    """Another than ours for somebody of another company, in a channel that both share."""


@dataclass(slots=True)
class Channel:
    """A channel; `is_member` is whether the app is in it."""

    id: str
    name: str
    is_private: bool = False
    is_member: bool = True
    is_archived: bool = False


@dataclass(slots=True, eq=False)
class Message:
    """A message as it stands: `blocks` is empty where it has none."""

    channel: str
    ts: str
    user: str
    text: str
    blocks: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] | None = None
    thread_ts: str | None = None
    bot_id: str | None = None
    subtype: str | None = None
    ephemeral_to: str | None = None
    """Whom alone it was shown to."""

    edits: int = 0
    deleted: bool = False
    reactions: list[str] = field(default_factory=list)

    @property
    def mentions(self) -> list[str]:
        """Whoever is told by it, in text and blocks: `@U123`, `!channel`."""
        return mentions(self.text) + mentions_in(self.blocks)

    def as_json(self, *, with_metadata: bool = False) -> dict[str, Any]:
        said: dict[str, Any] = {
            "type": "message",
            "user": self.user,
            "ts": self.ts,
            "text": self.text,
            "team": TEAM,
            "blocks": deepcopy(self.blocks),
            "thread_ts": self.thread_ts,
            "bot_id": self.bot_id,
            "subtype": self.subtype,
            "app_id": APP if self.bot_id == BOT else None,
            "metadata": deepcopy(self.metadata) if with_metadata else None,
        }
        return {name: value for name, value in said.items() if value not in (None, [])}


@dataclass(slots=True)
class Call:
    """A call of the Web API: its arguments as they were meant, and what was answered."""

    method: str
    token: str | None
    arguments: dict[str, Any]
    at: float
    """Of the monotonic clock."""

    answer: dict[str, Any] | None = None
    status: int | None = None
    """None where it was not answered."""


@dataclass(slots=True)
class View:
    """A modal that is open for somebody, or was."""

    id: str
    user: str
    content: dict[str, Any]
    hash: str
    is_open: bool = True
    errors: dict[str, str] = field(default_factory=dict)
    """What it shows as wrong, by block."""


@dataclass(slots=True, eq=False)
class Envelope:
    """Something that was sent over Socket Mode, and when it was acknowledged, with which payload."""

    id: str
    type: str
    payload: dict[str, Any]
    sent_at: float
    accepts_response: bool
    retry_attempt: int = 0
    acked_at: float | None = None
    ack: dict[str, Any] | None = None
    acks: int = 0
    socket: web.WebSocketResponse | None = None
    _acked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def event_id(self) -> str | None:
        return self.payload.get("event_id")

    async def acknowledged(self, within: float = PATIENCE) -> Envelope:
        """Returns once it is. Raises `AssertionError` where it is not in time."""
        try:
            async with asyncio.timeout(within):
                await self._acked.wait()
        except TimeoutError:
            raise AssertionError(f"not acknowledged within {within:g} s: {self.type}") from None
        return self

    @property
    def seconds(self) -> float:
        """How long the acknowledgement took."""
        assert self.acked_at is not None, "not acknowledged"
        return self.acked_at - self.sent_at

    def take_ack(self, payload: dict[str, Any] | None) -> None:
        self.acks += 1
        if self.acked_at is None:
            self.acked_at, self.ack = time.monotonic(), payload
            self._acked.set()


@dataclass(slots=True)
class _Fault:
    method: str
    times: int
    status: int
    error: str | None
    retry_after: float | None
    body: bytes | None
    content_type: str
    hang: bool
    drop: bool


@dataclass(slots=True)
class _Trigger:
    user: str
    at: float
    used: bool = False


class Refusal(Exception):
    """A call is refused, as Slack does: with status 200 and an error's name."""

    def __init__(self, error: str, *messages: str, **extra: Any) -> None:
        super().__init__(error)
        self.answer: dict[str, Any] = {"ok": False, "error": error, **extra}
        if messages:
            self.answer["response_metadata"] = {"messages": [f"[ERROR] {message}" for message in messages]}


Handler = Callable[[dict[str, Any]], dict[str, Any]]


class FakeSlack:
    """The workspace. What stands here as it is from the start is how it should be."""

    def __init__(self) -> None:
        self.url = ""
        """The base of the Web API, with a slash at the end."""

        self.bot_token, self.app_token = BOT_TOKEN, APP_TOKEN
        self.token_errors: dict[str, str] = {}
        """By token, the error that every call with it gets, as `token_revoked`."""

        self.scopes: set[str] = set(SCOPES)
        self.app_scopes: set[str] = {"connections:write"}
        self.channels: dict[str, Channel] = {CHANNEL: Channel(CHANNEL, "approvals")}
        self.users: dict[str, User] = {BOT_USER: User(BOT_USER, "handraise", is_bot=True, bot_id=BOT)}
        self.all_messages: list[Message] = []
        """Everything that anybody has written, removed and ephemeral messages included."""

        self.calls: list[Call] = []
        self.views: list[View] = []
        self.responses: list[dict[str, Any]] = []
        """What was sent to a `response_url`."""

        self.envelopes: list[Envelope] = []
        self.connections: list[web.WebSocketResponse] = []
        """The open sockets, oldest first."""

        self.opened = 0
        """How many sockets have ever been opened."""

        self.tells_own = True
        """Whether the app hears of what it writes, changes and removes itself, as it does from the real one."""

        self.pongs = 0
        self.wrong: list[str] = []
        """What came over a socket that has no meaning there."""

        self._faults: deque[_Fault] = deque()
        self._tickets: set[str] = set()
        self._triggers: dict[str, _Trigger] = {}
        self._numbers = itertools.count(1)
        self._last_ts = 0
        self._turn = 0
        self._connected = asyncio.Event()
        self._closing = False
        self._tasks: list[asyncio.Task[Envelope]] = []
        self._transports: dict[web.WebSocketResponse, asyncio.Transport] = {}
        self._released = asyncio.Event()
        self._methods: dict[str, tuple[str, tuple[str, ...], Handler]] = {
            "auth.test": ("any", (), self._auth_test),
            "apps.connections.open": ("app", ("connections:write",), self._connections_open),
            "conversations.info": ("bot", ("channels:read", "groups:read"), self._conversations_info),
            "conversations.history": ("bot", ("channels:history", "groups:history"), self._history),
            "conversations.replies": ("bot", ("channels:history", "groups:history"), self._replies),
            "chat.postMessage": ("bot", ("chat:write",), self._post),
            "chat.postEphemeral": ("bot", ("chat:write",), self._post_ephemeral),
            "chat.update": ("bot", ("chat:write",), self._update),
            "chat.delete": ("bot", ("chat:write",), self._delete),
            "views.open": ("bot", (), self._views_open),
            "views.update": ("bot", (), self._views_update),
            "users.info": ("bot", ("users:read",), self._users_info),
            "users.lookupByEmail": ("bot", ("users:read.email",), self._users_lookup),
            "reactions.add": ("bot", ("reactions:write",), self._reactions_add),
        }
        self.app = web.Application(client_max_size=4 * 1024 * 1024)
        self.app.router.add_route("*", "/api/{method}", self._serve)
        self.app.router.add_post("/respond/{id}", self._respond)
        self.app.router.add_get("/link/", self._socket)

    # -- what tests set up

    def user(self, name: str, *, email: str | None = None, is_bot: bool = False) -> User:
        """Somebody new."""
        number = next(self._numbers)
        user = User(f"U0USER{number:04}", name, email, is_bot, f"B0USER{number:04}" if is_bot else None)
        self.users[user.id] = user
        return user

    def channel(self, name: str, **fields: Any) -> Channel:
        """A new channel; `fields` are those of `Channel`."""
        channel = Channel(f"C0CHAN{next(self._numbers):04}", name, **fields)
        self.channels[channel.id] = channel
        return channel

    def fail(
        self,
        method: str,
        *,
        status: int = 200,
        error: str | None = None,
        retry_after: float | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        hang: bool = False,
        drop: bool = False,
        times: int = 1,
    ) -> None:
        """The next `times` calls of this method (`*`: of any) go wrong.

        They are answered with `status`, `error` and `retry_after`, or with exactly this `body`. With `hang` they are
        not answered until `release`; with `drop` they are carried out, and then the connection is cut.
        """
        if status == 429 and error is None:
            error = "ratelimited"
        self._faults.append(_Fault(method, times, status, error, retry_after, body, content_type, hang, drop))

    def release(self) -> None:
        """Let go of calls that hang: their connections are cut."""
        self._released.set()
        self._released = asyncio.Event()

    # -- what tests look at

    @property
    def messages(self) -> list[Message]:
        """The app's own messages that everybody sees and that are still there, in order."""
        return [each for each in self.all_messages if each.bot_id == BOT and not each.deleted and not each.ephemeral_to]

    @property
    def ephemeral(self) -> list[Message]:
        """What the app has told people privately."""
        return [each for each in self.all_messages if each.ephemeral_to]

    def message(self, ts: str) -> Message:
        return next(each for each in self.all_messages if each.ts == ts)

    @property
    def work(self) -> list[Call]:
        """The calls, those by which a connection is opened aside."""
        return [call for call in self.calls if call.method not in ("auth.test", "apps.connections.open")]

    def calls_of(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    @property
    def acked(self) -> list[Envelope]:
        return [envelope for envelope in self.envelopes if envelope.acked_at is not None]

    async def connected(self, count: int = 1) -> None:
        """Returns once so many sockets are open."""
        async with asyncio.timeout(2 * PATIENCE):
            while len(self.connections) < count:
                self._connected.clear()
                await self._connected.wait()

    # -- what people do

    async def say(
        self,
        user: User,
        text: str,
        *,
        channel: str = CHANNEL,
        thread: Message | str | None = None,
        subtype: str | None = None,
        **extra: Any,
    ) -> Envelope:
        """Somebody writes; `text` is as it is on the wire, escaped. `extra` goes into the event, as `files`.

        Raises `AssertionError` where the app is not in the channel, since it would never hear of it.
        """
        assert self.channels[channel].is_member, "the app is not in the channel: Slack does not tell it"
        thread_ts = thread.ts if isinstance(thread, Message) else thread
        message = Message(
            channel, self._new_ts(), user.id, text, thread_ts=thread_ts, bot_id=user.bot_id, subtype=subtype
        )
        self.all_messages.append(message)
        return await self.send_event(self._event_of(message) | extra)

    async def reply(self, thread: Message | str, user: User, text: str, **options: Any) -> Envelope:
        """Somebody answers in a thread; `options` are those of `say`."""
        if isinstance(thread, Message):
            options = {"channel": thread.channel} | options
        return await self.say(user, text, thread=thread, **options)

    async def edit(self, message: Message, text: str) -> Envelope:
        """Somebody edits what they wrote."""
        before = message.as_json()
        message.text, message.edits = text, message.edits + 1
        edited = {"user": message.user, "ts": self._new_ts()}
        return await self.send_event(
            {
                "type": "message",
                "subtype": "message_changed",
                "channel": message.channel,
                "ts": edited["ts"],
                "event_ts": edited["ts"],
                "channel_type": self._channel_type(message.channel),
                "message": message.as_json() | {"edited": edited},
                "previous_message": before,
            }
        )

    async def remove(self, message: Message) -> Envelope:
        """Somebody removes what they wrote."""
        message.deleted = True
        ts = self._new_ts()
        return await self.send_event(
            {
                "type": "message",
                "subtype": "message_deleted",
                "channel": message.channel,
                "ts": ts,
                "event_ts": ts,
                "deleted_ts": message.ts,
                "channel_type": self._channel_type(message.channel),
                "previous_message": message.as_json(),
            }
        )

    async def click(
        self, message: Message, user: User, *, action_id: str | None = None, value: str | None = None
    ) -> Envelope:
        """Somebody uses the one element of a message that has this id or value: a button, or an option of a select.

        Raises `AssertionError` where there is not exactly one.
        """
        found = [
            (block_id, element, option)
            for block_id, element in elements(message.blocks)
            for option in (_options_of(element) or [None])
            if action_id in (None, element["action_id"])
            and value in (None, element.get("value") if option is None else option["value"])
        ]
        assert len(found) == 1, f"{len(found)} elements with {action_id=}, {value=}"
        block_id, element, option = found[0]
        action = {"type": element["type"], "action_id": element["action_id"], "block_id": block_id}
        action["action_ts"] = self._new_ts()
        if option is not None:
            action["selected_option"] = option
        else:
            action |= {name: element[name] for name in ("text", "value", "style") if name in element}
        return await self._interact(
            user,
            {
                "type": "block_actions",
                "container": {
                    "type": "message",
                    "message_ts": message.ts,
                    "channel_id": message.channel,
                    "is_ephemeral": message.ephemeral_to is not None,
                },
                "channel": {"id": message.channel, "name": self.channels[message.channel].name},
                "message": message.as_json(with_metadata=True),
                "state": {"values": {}},
                "response_url": f"{self.url.removesuffix('api/')}respond/{secrets.token_hex(8)}",
                "actions": [action],
            },
        )

    async def submit_view(self, view: View, values: dict[str, Any]) -> Envelope:
        """Submit an open modal and return once it is acknowledged; then it is closed, changed, or shows errors.

        `values` are by `block_id`: text, the value of an option, a list of such, a date. What is not given is as it
        was first. Raises `AssertionError` for a required field without a value, which Slack does not submit.
        """
        assert view.is_open, "it is not open any more"
        state: dict[str, Any] = {}
        given = dict(values)
        for block in view.content["blocks"]:
            if block["type"] != "input":
                continue
            element = block["element"]
            filled = _filled(element, given.pop(block["block_id"], _INITIAL))
            empty = all(value in (None, []) for name, value in filled.items() if name != "type")
            assert block.get("optional") or not empty, f"{block['block_id']} is required"
            state.setdefault(block["block_id"], {})[element["action_id"]] = filled
        assert not given, f"the modal has no {', '.join(given)}"
        said = self._view_json(view) | {"state": {"values": state}}
        envelope = await self._interact(
            self.users[view.user], {"type": "view_submission", "view": said, "response_urls": []}
        )
        await envelope.acknowledged(ACKNOWLEDGED_WITHIN)
        payload = envelope.ack or {}
        match payload.get("response_action"):
            case None | "clear":
                view.is_open = False
            case "errors":
                blocks = {block["block_id"] for block in view.content["blocks"] if block["type"] == "input"}
                assert payload["errors"], "errors without any"
                assert payload["errors"].keys() <= blocks, "errors of blocks that are no inputs"
                view.errors = dict(payload["errors"])
            case "update":
                view.content = self._checked_view(payload["view"])
            case other:
                raise AssertionError(f"the fake knows no response_action {other!r}")
        return envelope

    async def send_event(self, event: dict[str, Any], *, event_id: str | None = None) -> Envelope:
        """An event as Slack tells the app of it."""
        return await self.send(
            "events_api",
            {
                "token": "unused",
                "team_id": TEAM,
                "api_app_id": APP,
                "event": event,
                "type": "event_callback",
                "event_id": event_id or f"Ev{secrets.token_hex(5).upper()}",
                "event_time": int(time.time()),
                "authorizations": [
                    {
                        "enterprise_id": None,
                        "team_id": TEAM,
                        "user_id": BOT_USER,
                        "is_bot": True,
                        "is_enterprise_install": False,
                    }
                ],
                "is_ext_shared_channel": False,
                "event_context": "4-fake",
            },
        )

    async def redeliver(self, envelope: Envelope, *, attempt: int = 1, same_envelope: bool = False) -> Envelope:
        """Send the same again: the same event id, in a new envelope unless told otherwise."""
        id = envelope.id if same_envelope else None
        return await self.send(envelope.type, envelope.payload, attempt=attempt, id=id)

    async def send(self, type: str, payload: dict[str, Any], *, attempt: int = 0, id: str | None = None) -> Envelope:
        """Send an envelope to one of the open sockets, in turn; waits for one while there is none.

        What was not acknowledged when its socket ends is sent again over another, as the next attempt.
        """
        accepts = type in ("interactive", "slash_commands")
        envelope = Envelope(id or secrets.token_hex(16), type, deepcopy(payload), time.monotonic(), accepts, attempt)
        return await self._send(envelope)

    async def _send(self, envelope: Envelope) -> Envelope:
        type, accepts, attempt = envelope.type, envelope.accepts_response, envelope.retry_attempt
        said: dict[str, Any] = {
            "envelope_id": envelope.id,
            "type": type,
            "payload": envelope.payload,
            "accepts_response_payload": accepts,
        }
        if type == "events_api":
            said |= {"retry_attempt": attempt, "retry_reason": "timeout" if attempt else ""}
        while True:
            await self.connected()
            self._turn += 1
            socket = self.connections[self._turn % len(self.connections)]
            envelope.sent_at, envelope.socket = time.monotonic(), socket
            if envelope not in self.envelopes:
                self.envelopes.append(envelope)
            try:
                await socket.send_str(json.dumps(said))
            except ConnectionError:
                self._forget(socket)
            else:
                return envelope

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Tell every socket to connect anew (`warning`, `refresh_requested`, `link_disabled`), and close as Slack does:
        after a warning it stays open."""
        said = {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-fake"}}
        for socket in list(self.connections):
            with contextlib.suppress(ConnectionError):
                await socket.send_str(json.dumps(said))
            if reason != "warning":
                self._forget(socket)
                await socket.close(code=WSCloseCode.GOING_AWAY)

    def cut(self) -> None:
        """Every socket is cut off, without a word."""
        for socket in list(self.connections):
            self._forget(socket)
            self._transports[socket].abort()

    def deafen(self) -> None:
        """Nothing comes or goes on the open sockets any more, and nobody is told: they look open to the app."""
        for socket in list(self.connections):
            self._forget(socket)
            self._transports[socket].pause_reading()

    async def ping(self, content: bytes = b"Ping from applink-fake") -> None:
        """Ping every socket; `pongs` counts what comes back."""
        for socket in list(self.connections):
            await socket.ping(content)

    def forget(self, seconds: float) -> None:
        """Forget what was said longer ago than this: it remembers everything else."""
        self.all_messages = [message for message in self.all_messages if float(message.ts) > time.time() - seconds]
        since = time.monotonic() - seconds
        self.calls = [call for call in self.calls if call.at > since]
        self.envelopes = [envelope for envelope in self.envelopes if envelope.sent_at > since]

    async def close(self) -> None:
        self._closing = True
        self.release()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for socket, transport in self._transports.items():
            if socket in self.connections:
                await socket.close(code=WSCloseCode.GOING_AWAY)
            transport.abort()

    # -- the Web API

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments = await _arguments(request)
        in_body = arguments.pop("token", None)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else in_body
        call = Call(method, token, arguments, time.monotonic())
        self.calls.append(call)
        fault = self._fault(method)
        if fault is not None and fault.hang:
            await self._released.wait()
            _transport(request).abort()
            return web.Response()
        if fault is not None and not fault.drop:
            return self._failed(call, fault)
        headers: dict[str, str] = {}
        try:
            granted = self._authorized(method, token)
            headers["X-OAuth-Scopes"] = ",".join(sorted(granted))
            call.answer = {"ok": True} | self._methods[method][2](arguments | {"token": token})
        except Refusal as refusal:
            call.answer = refusal.answer
        if call.answer["ok"] and method in ("chat.postMessage", "chat.update", "chat.delete"):
            await self._tell_own(method, call.answer["ts"])
        if fault is not None:
            _transport(request).abort()
            return web.Response()
        call.status = 200
        return web.json_response(call.answer, headers=headers)

    async def _tell_own(self, method: str, ts: str) -> None:
        """The event of the app's own doing, which often comes before the answer to the call."""
        if not (self.tells_own and self.connections):
            return
        message = self.message(ts)
        if method == "chat.postMessage":
            await self.send_event(self._event_of(message))
            return
        now = self._new_ts()
        subtype = "message_changed" if method == "chat.update" else "message_deleted"
        event = {"type": "message", "subtype": subtype, "channel": message.channel, "ts": now, "event_ts": now}
        event |= {"channel_type": self._channel_type(message.channel), "hidden": True}
        if method == "chat.update":
            event |= {"message": message.as_json(), "previous_message": message.as_json()}
        else:
            event |= {"deleted_ts": ts, "previous_message": message.as_json()}
        await self.send_event(event)

    def _fault(self, method: str) -> _Fault | None:
        for fault in self._faults:
            if fault.method in ("*", method):
                fault.times -= 1
                if fault.times == 0:
                    self._faults.remove(fault)
                return fault
        return None

    @staticmethod
    def _failed(call: Call, fault: _Fault) -> web.Response:
        call.status = fault.status
        headers = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after:g}"}
        if fault.body is not None:
            return web.Response(body=fault.body, status=fault.status, content_type=fault.content_type, headers=headers)
        call.answer = {"ok": False, "error": fault.error or "internal_error"}
        return web.json_response(call.answer, status=fault.status, headers=headers)

    def _authorized(self, method: str, token: str | None) -> set[str]:
        """The scopes of the token. Raises `Refusal` where this call is not for it."""
        if method not in self._methods:
            raise Refusal("unknown_method", req_method=method)
        if not token:
            raise Refusal("not_authed")
        if token in self.token_errors:
            raise Refusal(self.token_errors[token])
        if token not in (self.bot_token, self.app_token):
            raise Refusal("invalid_auth")
        kind, needed, _ = self._methods[method]
        of = "bot" if token == self.bot_token else "app"
        if kind not in ("any", of):
            raise Refusal("not_allowed_token_type")
        granted = self.scopes if of == "bot" else self.app_scopes
        if needed and not granted & set(needed):
            raise Refusal("missing_scope", needed=needed[0], provided=",".join(sorted(granted)))
        return granted

    def _auth_test(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if arguments["token"] == self.app_token:
            return {"app_name": "Handraise", "app_id": APP}
        return {
            "url": "https://fake.slack.example/",
            "team": "Fake",
            "user": self.users[BOT_USER].name,
            "team_id": TEAM,
            "user_id": BOT_USER,
            "bot_id": BOT,
            "is_enterprise_install": False,
        }

    def _connections_open(self, arguments: dict[str, Any]) -> dict[str, Any]:
        ticket = secrets.token_urlsafe(16)
        self._tickets.add(ticket)
        base = self.url.replace("http://", "ws://").removesuffix("api/")
        return {"url": f"{base}link/?ticket={ticket}&app_id={APP}"}

    def _channel_of(self, arguments: dict[str, Any], scopes: str | None = None) -> Channel:
        """The channel that is meant. To an app that is not in it, a private one does not exist."""
        id = arguments.get("channel")
        if not isinstance(id, str) or not id:
            raise Refusal("invalid_arguments", "missing required field: channel")
        channel = self.channels.get(id)
        if channel is None or (channel.is_private and not channel.is_member):
            raise Refusal("channel_not_found")
        needed = f"{'groups' if channel.is_private else 'channels'}:{scopes}"
        if scopes is not None and needed not in self.scopes:
            raise Refusal("missing_scope", needed=needed, provided=",".join(sorted(self.scopes)))
        return channel

    def _conversations_info(self, arguments: dict[str, Any]) -> dict[str, Any]:
        channel = self._channel_of(arguments, "read")
        return {
            "channel": {
                "id": channel.id,
                "name": channel.name,
                "is_channel": not channel.is_private,
                "is_group": channel.is_private,
                "is_im": False,
                "is_private": channel.is_private,
                "is_member": channel.is_member,
                "is_archived": channel.is_archived,
            }
        }

    def _history(self, arguments: dict[str, Any]) -> dict[str, Any]:
        channel = self._channel_of(arguments, "history")
        found = [
            each
            for each in self.all_messages
            if each.channel == channel.id and (each.thread_ts in (None, each.ts) or each.subtype == "thread_broadcast")
        ]
        return self._page(channel, sorted(found, key=lambda each: each.ts, reverse=True), arguments)

    def _replies(self, arguments: dict[str, Any]) -> dict[str, Any]:
        channel, ts = self._channel_of(arguments, "history"), _ts(arguments, "ts")
        found = [each for each in self.all_messages if each.channel == channel.id and ts in (each.ts, each.thread_ts)]
        if not found:
            raise Refusal("thread_not_found")
        return self._page(channel, sorted(found, key=lambda each: each.ts), arguments)

    def _page(self, channel: Channel, messages: list[Message], arguments: dict[str, Any]) -> dict[str, Any]:
        if not channel.is_member:
            raise Refusal("not_in_channel")
        limit = int(arguments.get("limit", 100))
        if not 1 <= limit <= 999:
            raise Refusal("invalid_limit")
        oldest, latest = str(arguments.get("oldest", "0")), str(arguments.get("latest", "9999999999.999999"))
        inclusive = _truth(arguments.get("inclusive", False))
        found = [
            each
            for each in messages
            if not each.deleted
            and not each.ephemeral_to
            and (oldest < each.ts < latest or (inclusive and each.ts in (oldest, latest)))
        ]
        start = int(arguments.get("cursor") or 0)
        page, more = found[start : start + limit], len(found) > start + limit
        metadata = _truth(arguments.get("include_all_metadata", False))
        return {
            "messages": [each.as_json(with_metadata=metadata) for each in page],
            "has_more": more,
            "response_metadata": {"next_cursor": str(start + limit) if more else ""},
        }

    def _post(self, arguments: dict[str, Any]) -> dict[str, Any]:
        channel = self._writable(arguments)
        text, blocks = self._written(arguments, most=40_000, error="msg_too_long")
        thread_ts = None
        if arguments.get("thread_ts") is not None:
            thread_ts = self._thread(channel, arguments)
        broadcast = thread_ts is not None and _truth(arguments.get("reply_broadcast", False))
        message = Message(
            *(channel.id, self._new_ts(), BOT_USER, text, blocks, _metadata(arguments), thread_ts, BOT),
            subtype="thread_broadcast" if broadcast else None,
        )
        self.all_messages.append(message)
        return {"channel": channel.id, "ts": message.ts, "message": message.as_json(with_metadata=True)}

    def _post_ephemeral(self, arguments: dict[str, Any]) -> dict[str, Any]:
        channel = self._writable(arguments)
        user = self.users.get(str(arguments.get("user")))
        if user is None or user.deleted:
            raise Refusal("user_not_in_channel")
        text, blocks = self._written(arguments, most=40_000, error="msg_too_long")
        thread_ts = None if arguments.get("thread_ts") is None else self._thread(channel, arguments)
        message = Message(
            *(channel.id, self._new_ts(), BOT_USER, text, blocks, None, thread_ts, BOT), ephemeral_to=user.id
        )
        self.all_messages.append(message)
        return {"message_ts": message.ts}

    def _update(self, arguments: dict[str, Any]) -> dict[str, Any]:
        message = self._own(arguments, "cant_update_message")
        if arguments.get("text") is None and arguments.get("blocks") is None:
            raise Refusal("no_text")
        text, blocks = self._written(arguments, most=4000, error="msg_too_long")
        # Text without blocks takes the blocks away; blocks without text leave it.
        message.blocks = blocks
        message.text = text if arguments.get("text") is not None else message.text
        if arguments.get("metadata") is not None:
            message.metadata = _metadata(arguments)
        message.edits += 1
        return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": message.as_json()}

    def _delete(self, arguments: dict[str, Any]) -> dict[str, Any]:
        message = self._own(arguments, "cant_delete_message")
        message.deleted = True
        return {"channel": message.channel, "ts": message.ts}

    def _own(self, arguments: dict[str, Any], otherwise: str) -> Message:
        channel, ts = self._channel_of(arguments), _ts(arguments, "ts")
        for message in self.all_messages:
            if (message.channel, message.ts) == (channel.id, ts) and not message.deleted and not message.ephemeral_to:
                if message.bot_id != BOT:
                    raise Refusal(otherwise)
                return message
        raise Refusal("message_not_found")

    def _writable(self, arguments: dict[str, Any]) -> Channel:
        channel = self._channel_of(arguments)
        if channel.is_archived:
            raise Refusal("is_archived")
        if not channel.is_member:
            raise Refusal("not_in_channel")
        return channel

    def _thread(self, channel: Channel, arguments: dict[str, Any]) -> str:
        ts = _ts(arguments, "thread_ts")
        if not any(each.channel == channel.id and each.ts == ts and not each.deleted for each in self.all_messages):
            raise Refusal("thread_not_found")
        return ts

    def _written(self, arguments: dict[str, Any], *, most: int, error: str) -> tuple[str, list[dict[str, Any]]]:
        text, blocks = arguments.get("text"), arguments.get("blocks")
        if text is not None and not isinstance(text, str):
            raise Refusal("invalid_arguments", "must be a string [json-pointer:/text]")
        if not text and not blocks:
            raise Refusal("no_text")
        if text is not None and len(text) > most:
            raise Refusal(error)
        if blocks is None:
            return text or "", []
        try:
            check(blocks)
        except Unacceptable as refused:
            raise Refusal("invalid_blocks", str(refused)) from None
        if characters(blocks) > MESSAGE_CHARACTERS:
            raise Refusal("msg_blocks_too_long")
        return text or "", self._named(blocks)

    def _named(self, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Blocks as they are kept: each with an id."""
        return [{"block_id": f"b{next(self._numbers)}", **deepcopy(block)} for block in blocks]

    # -- modals

    def _views_open(self, arguments: dict[str, Any]) -> dict[str, Any]:
        trigger = self._triggers.get(str(arguments.get("trigger_id")))
        if trigger is None:
            raise Refusal("invalid_trigger_id")
        if trigger.used:
            raise Refusal("exchanged_trigger_id")
        if time.monotonic() - trigger.at > ACKNOWLEDGED_WITHIN:
            raise Refusal("expired_trigger_id")
        content = self._checked_view(arguments.get("view"))
        trigger.used = True
        view = View(f"V0VIEW{next(self._numbers):04}", trigger.user, content, secrets.token_hex(4))
        self.views.append(view)
        return {"view": self._view_json(view)}

    def _views_update(self, arguments: dict[str, Any]) -> dict[str, Any]:
        for view in self.views:
            if view.id == arguments.get("view_id") and view.is_open:
                if arguments.get("hash") not in (None, view.hash):
                    raise Refusal("hash_conflict")
                view.content = self._checked_view(arguments.get("view"))
                view.hash, view.errors = secrets.token_hex(4), {}
                return {"view": self._view_json(view)}
        raise Refusal("not_found")

    def _checked_view(self, view: Any) -> dict[str, Any]:
        """A view as it is kept. Raises `Refusal`."""
        known = {"type", "title", "blocks", "submit", "close", "private_metadata", "callback_id", "clear_on_close"}
        known |= {"notify_on_close", "external_id", "submit_disabled"}
        try:
            if not isinstance(view, dict) or view.get("type") != "modal":
                raise Unacceptable("must be a modal [json-pointer:/view/type]")
            if unknown := view.keys() - known:
                raise Unacceptable(f"invalid additional property: {sorted(unknown)[0]} [json-pointer:/view]")
            text_object(view.get("title"), 24, "/view/title")
            for name in ("submit", "close"):
                if name in view:
                    text_object(view[name], 24, f"/view/{name}")
            for name, most in (("private_metadata", 3000), ("callback_id", 255), ("external_id", 255)):
                if name in view and not (isinstance(view[name], str) and len(view[name]) <= most):
                    raise Unacceptable(f"must be less than {most + 1} characters [json-pointer:/view/{name}]")
            if not view.get("blocks"):
                raise Unacceptable("missing required field: blocks [json-pointer:/view]")
            check(view["blocks"], modal=True)
            if "submit" not in view and any(block["type"] == "input" for block in view["blocks"]):
                raise Unacceptable("submit is required where there are inputs [json-pointer:/view]")
        except Unacceptable as refused:
            raise Refusal("invalid_arguments", str(refused)) from None
        if len(json.dumps(view)) > 250_000:
            raise Refusal("view_too_large")
        return {**deepcopy(view), "blocks": self._named(view["blocks"])}

    @staticmethod
    def _view_json(view: View) -> dict[str, Any]:
        empty = {"private_metadata": "", "callback_id": "", "state": {"values": {}}}
        own = {"id": view.id, "hash": view.hash, "team_id": TEAM, "app_id": APP, "bot_id": BOT, "root_view_id": view.id}
        return empty | deepcopy(view.content) | own

    # -- people

    def _users_info(self, arguments: dict[str, Any]) -> dict[str, Any]:
        user = self.users.get(str(arguments.get("user")))
        if user is None:
            raise Refusal("user_not_found")
        return {"user": self._user_json(user)}

    def _users_lookup(self, arguments: dict[str, Any]) -> dict[str, Any]:
        email = str(arguments.get("email", "")).lower()
        for user in self.users.values():
            if user.email is not None and user.email.lower() == email and not user.deleted:
                return {"user": self._user_json(user)}
        raise Refusal("users_not_found")

    def _user_json(self, user: User) -> dict[str, Any]:
        profile: dict[str, Any] = {"real_name": user.name, "display_name": user.name}
        if user.email is not None and "users:read.email" in self.scopes:
            profile["email"] = user.email
        return {
            "id": user.id,
            "team_id": user.team_id,
            "name": user.name,
            "real_name": user.name,
            "deleted": user.deleted,
            "is_bot": user.is_bot,
            "profile": profile,
        }

    def _reactions_add(self, arguments: dict[str, Any]) -> dict[str, Any]:
        channel, ts, name = self._channel_of(arguments), _ts(arguments, "timestamp"), str(arguments.get("name"))
        if not re.fullmatch(r"[a-z0-9_+'-]{1,100}", name):
            raise Refusal("invalid_name")
        for message in self.all_messages:
            if (message.channel, message.ts) == (channel.id, ts) and not message.deleted:
                if name in message.reactions:
                    raise Refusal("already_reacted")
                message.reactions.append(name)
                return {}
        raise Refusal("message_not_found")

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        self.responses.append(await request.json())
        return web.json_response({"ok": True})

    # -- Socket Mode

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=401)
        self._tickets.remove(ticket)
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        self.opened += 1
        hello = {
            "type": "hello",
            "num_connections": len(self.connections) + 1,
            "connection_info": {"app_id": APP},
            "debug_info": {"host": "applink-fake", "build_number": 1, "approximate_connection_time": 18060},
        }
        await socket.send_str(json.dumps(hello))
        self._transports[socket] = _transport(request)
        self.connections.append(socket)
        self._connected.set()
        try:
            async for message in socket:
                if message.type is WSMsgType.PING:
                    await socket.pong(message.data)
                elif message.type is WSMsgType.PONG:
                    self.pongs += 1
                elif message.type is WSMsgType.TEXT:
                    self._heard(message.data)
        finally:
            self._forget(socket)
            for envelope in self.envelopes:
                if envelope.socket is socket and envelope.acked_at is None and not self._closing:
                    envelope.retry_attempt += 1
                    self._tasks.append(asyncio.create_task(self._send(envelope)))
        return socket

    def _heard(self, text: str) -> None:
        """An acknowledgement; Slack closes nothing where it makes no sense, but here it is noted."""
        try:
            said = json.loads(text)
            found = [each for each in self.envelopes if each.id == said["envelope_id"]]
            unacked = [each for each in found if each.acked_at is None]
            envelope = (unacked or found)[0]
            payload = said.get("payload")
            if payload and not envelope.accepts_response:
                raise ValueError("a payload where none is taken")
        except (ValueError, KeyError, IndexError, TypeError) as error:
            self.wrong.append(f"{type(error).__name__}: {error}: {text[:200]}")
            return
        envelope.take_ack(payload)

    def _forget(self, socket: web.WebSocketResponse) -> None:
        if socket in self.connections:
            self.connections.remove(socket)

    async def _interact(self, user: User, said: dict[str, Any]) -> Envelope:
        trigger = f"{next(self._numbers)}.{secrets.token_hex(8)}"
        self._triggers[trigger] = _Trigger(user.id, time.monotonic())
        common = {
            "team": {"id": TEAM, "domain": "fake"},
            "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": TEAM},
            "api_app_id": APP,
            "token": "unused",
            "trigger_id": trigger,
            "enterprise": None,
            "is_enterprise_install": False,
        }
        return await self.send("interactive", common | said)

    def _event_of(self, message: Message) -> dict[str, Any]:
        said = message.as_json() | {
            "channel": message.channel,
            "event_ts": message.ts,
            "channel_type": self._channel_type(message.channel),
        }
        if message.bot_id is None:
            said["client_msg_id"] = secrets.token_hex(16)
        if message.thread_ts is not None:
            parents = [each for each in self.all_messages if each.ts == message.thread_ts]
            if parents:
                said["parent_user_id"] = parents[0].user
        return said

    def _channel_type(self, channel: str) -> str:
        return "group" if self.channels[channel].is_private else "channel"

    def _new_ts(self) -> str:
        self._last_ts = max(self._last_ts + 1, int(time.time() * 1_000_000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06}"


@asynccontextmanager
async def fake_slack() -> AsyncIterator[FakeSlack]:
    """A Slack on a port of this machine. Fails at the end if what came over a socket made no sense."""
    slack = FakeSlack()
    runner = web.AppRunner(slack.app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    slack.url = f"http://{host}:{port}/api/"
    try:
        yield slack
    finally:
        await slack.close()
        await runner.cleanup()
    assert slack.wrong == []


_INITIAL = object()
_JSON_ARGUMENTS = ("blocks", "attachments", "metadata", "view")


async def _arguments(request: web.Request) -> dict[str, Any]:
    """From the query, a form or JSON, as one: what stands in a form as JSON text is read."""
    found: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        try:
            body = json.loads(await request.read())
        except ValueError:
            body = {}
        if isinstance(body, dict):
            found |= body
    elif request.method == "POST":
        found |= dict(await request.post())
    for name in _JSON_ARGUMENTS:
        if isinstance(found.get(name), str):
            try:
                found[name] = json.loads(found[name])
            except ValueError:
                found[name] = {"not": "JSON"}
    return {name: value for name, value in found.items() if value is not None}


def _transport(request: web.Request) -> asyncio.Transport:
    assert isinstance(request.transport, asyncio.Transport)
    return request.transport


def _ts(arguments: dict[str, Any], name: str) -> str:
    """A ts is text; as a number it has lost its last digits."""
    ts = arguments.get(name)
    if not isinstance(ts, str) or not _TS.fullmatch(ts):
        raise Refusal("invalid_arguments", f"must be a ts, as text [json-pointer:/{name}]")
    return ts


def _metadata(arguments: dict[str, Any]) -> dict[str, Any] | None:
    metadata = arguments.get("metadata")
    if metadata is None:
        return None
    if (
        not isinstance(metadata, dict)
        or not re.fullmatch(r"[A-Za-z0-9_.-]{1,255}", str(metadata.get("event_type")))
        or not isinstance(metadata.get("event_payload"), dict)
        or metadata.keys() - {"event_type", "event_payload"}
    ):
        raise Refusal("invalid_metadata_format")
    if len(json.dumps(metadata["event_payload"])) > 8000:
        raise Refusal("metadata_too_large")
    return deepcopy(metadata)


def _truth(value: Any) -> bool:
    return value in (True, "1", "true", 1)


def _options_of(element: dict[str, Any]) -> list[dict[str, Any]]:
    groups = element.get("option_groups", [{"options": element.get("options", [])}])
    return [option for group in groups for option in group["options"]]


def _filled(element: dict[str, Any], given: Any) -> dict[str, Any]:
    """What Slack says of an element of a modal once somebody has filled it in, or left it as it was."""
    kind, options = element["type"], {option["value"]: option for option in _options_of(element)}
    said: dict[str, Any] = {"type": kind}
    match kind:
        case "multi_static_select" | "checkboxes":
            initial = [option["value"] for option in element.get("initial_options", [])]
            said["selected_options"] = [options[value] for value in (initial if given is _INITIAL else given)]
        case "static_select" | "radio_buttons":
            initial = element.get("initial_option", {}).get("value")
            value = initial if given is _INITIAL else given
            said["selected_option"] = None if value is None else options[value]
        case "datepicker":
            said["selected_date"] = element.get("initial_date") if given is _INITIAL else given
        case "timepicker":
            said["selected_time"] = element.get("initial_time") if given is _INITIAL else given
        case "datetimepicker":
            said["selected_date_time"] = element.get("initial_date_time") if given is _INITIAL else given
        case "users_select":
            said["selected_user"] = element.get("initial_user") if given is _INITIAL else given
        case _:
            said["value"] = element.get("initial_value") if given is _INITIAL else given
            if said["value"] == "":
                said["value"] = None
    return said


async def eventually(condition: Callable[[], bool | Awaitable[bool]], what: str, seconds: float = PATIENCE) -> None:
    """Returns once `condition` holds. Raises `AssertionError` saying `what` did not happen."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found if isinstance(found, bool) else await found:
            return
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(0.01)
