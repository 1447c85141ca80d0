"""The socket over which Slack says what people do: kept open, opened again when it is lost, and looked after.

Slack's own kit hands each envelope to what it is for (`slack_bolt`); the socket itself is kept here, since an envelope
must be acknowledged over the socket that it came over, and only once its effect is committed: ADR 0023.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import structlog

from application.ports import Clock
from application.slack import Connection, ConnectionState
from application.tasks import end
from domain.slack import SlackSettings
from interfaces.slack.answers import Answers, Workspace
from interfaces.slack.dispatch import Dispatch
from interfaces.slack.web_api import NoAnswer, Refused, asked, by_bot, web_client

if TYPE_CHECKING:
    from aiohttp import ClientWebSocketResponse

_SECONDS = 10
"""For opening, each step of it."""

_HEARTBEAT = 10.0
"""Seconds between pings; a socket that answers none for half as long is lost."""

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
"""Seconds before it is tried again: doubled each time, a part of it left to chance, so that replicas do not crowd."""

_DRAINED_SECONDS = 20.0
"""For how long a socket that Slack asked to be replaced may still bring something."""

_ENDED_SECONDS = 2.0

log = structlog.get_logger(__name__)


class SlackConnection:
    """One socket of this server's, while Slack is enabled. `settings` says how it is set up just now."""

    def __init__(
        self,
        settings: Callable[[], SlackSettings],
        answers: Answers,
        clock: Clock,
        *,
        api_url: str,
        count: Callable[[str, str], None],
        opened: Callable[[], Awaitable[None]],
    ) -> None:
        """`count` is told of each envelope: its type, and what became of it. `opened` is awaited with each socket."""
        self._settings = settings
        self._answers = answers
        self._clock = clock
        self._api_url = api_url
        self._count = count
        self._opened = opened
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._sockets: set[_Socket] = set()
        self._failures = 0
        self.health = Connection("off", clock.now())

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="slack")

    async def stop(self) -> None:
        """Close it; what is being handled may end."""
        if self._task is not None:
            await end(self._task)
        await asyncio.gather(*(socket.close() for socket in list(self._sockets)))

    def changed(self, settings: SlackSettings) -> None:
        """It is set up otherwise: what that means is found out in its own time."""
        self._changed.set()

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            settings = self._settings()
            if not settings.enabled:
                self._is("off")
                await self._changed.wait()
                continue
            if self.health.state == "off":
                self._is("connecting")
            try:
                socket = await self._open(settings)
            except (Refused, NoAnswer) as failure:
                await self._wait(str(failure), failure.after if isinstance(failure, Refused) else None)
                continue
            self._failures = 0
            self._is("connected")
            why = await self._until_over(socket)
            if why is None:
                self._is("connecting")
                await socket.close()
            elif why == _REFRESH:  # there is a next one before this one ends
                socket.drain(_DRAINED_SECONDS)
            else:
                await socket.close()
                await self._wait(why, None)

    async def _until_over(self, socket: _Socket) -> str | None:
        """What ended it; None where it is set up otherwise now."""
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait((changed, socket.over), return_when=asyncio.FIRST_COMPLETED)
            return socket.over.result() if socket.over.done() else None
        finally:
            await end(changed)

    async def _open(self, settings: SlackSettings) -> _Socket:
        """A socket that Slack has greeted. Raises `Refused` or `NoAnswer`."""
        import aiohttp

        bot, app = settings.bot_token, settings.app_token
        if bot is None or app is None:
            raise NoAnswer("there is no token that can be read: set both again")
        client = await web_client(bot, self._api_url, _SECONDS)
        try:
            async with asyncio.timeout(_SECONDS):
                who = await by_bot(client.auth_test())
                call = client.apps_connections_open(app_token=app)
                address, _ = await asked(call, token="the app token")  # noqa: S106  what it is called
        except TimeoutError:
            raise NoAnswer("Slack did not answer in time") from None
        teams = frozenset(id for name in ("team_id", "enterprise_id") if isinstance(id := who.get(name), str))
        workspace = Workspace(client, who.get("user_id"), who.get("bot_id"), teams)
        session = aiohttp.ClientSession(trust_env=client.proxy is not None)
        try:
            async with asyncio.timeout(_SECONDS):
                connection = await session.ws_connect(
                    str(address.get("url")), heartbeat=_HEARTBEAT, max_msg_size=0, proxy=client.proxy or None
                )
                greeting = await connection.receive_json()
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError, TypeError) as error:
            await session.close()
            raise NoAnswer(f"Socket Mode cannot be reached ({type(error).__name__})") from None
        except BaseException:
            await session.close()
            raise
        if not isinstance(greeting, dict) or greeting.get("type") != "hello":
            await session.close()
            raise NoAnswer("Socket Mode: what answered is not Slack, or makes no sense")
        socket = _Socket(session, connection, Dispatch(self._answers, workspace), self._count, self._sockets.discard)
        self._sockets.add(socket)
        with suppress(Exception):  # what is kept too long harms nobody
            await self._opened()
        return socket

    async def _wait(self, why: str, after: Any) -> None:
        """Before it is tried again; less where it is set up otherwise meanwhile."""
        self._failures += 1
        most = min(_FIRST_WAIT * 2 ** (self._failures - 1), _LONGEST_WAIT)
        seconds = most * random.uniform(0.5, 1)  # noqa: S311  no secret
        if after is not None:
            seconds = max(seconds, after.total_seconds())
        log.warning("slack cannot be reached", error=why, attempt=self._failures, seconds=round(seconds, 1))
        self._is("failing", why)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    def _is(self, state: ConnectionState, error: str | None = None) -> None:
        if state == "connected" and self.health.state != "connected":
            log.info("slack connected")
        since = self.health.since if state == self.health.state else self._clock.now()
        self.health = Connection(state, since, error)


_REFRESH = "Slack asked for a new connection"
_IN_WORDS = {
    "link_disabled": "Socket Mode is switched off for the app: switch it on (link_disabled)",
    "too_many_websockets": "the app has more connections open than Slack allows (too_many_websockets)",
}


class _Socket:
    """An open socket: takes envelopes, has them handled side by side, acknowledges each once that is done."""

    def __init__(
        self,
        session: Any,
        connection: ClientWebSocketResponse,
        dispatch: Dispatch,
        count: Callable[[str, str], None],
        forget: Callable[[_Socket], None],
    ) -> None:
        self._session = session
        self._connection = connection
        self._dispatch = dispatch
        self._count = count
        self._forget = forget
        self._handling: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done once it is of no more use, with the reason."""

        self._reading = asyncio.create_task(self._read(), name="slack socket")

    def drain(self, seconds: float) -> None:
        """Close it by itself: once Slack has, or after so long."""

        async def later() -> None:
            await asyncio.wait((self._reading,), timeout=seconds)
            await self._close()

        self._closing = self._closing or asyncio.create_task(later(), name="slack socket closing")

    async def close(self) -> None:
        """Take nothing more; what is being handled has a moment to end."""
        if self._closing is not None:
            await end(self._closing)
        await self._close()

    async def _close(self) -> None:
        await end(self._reading)
        if self._handling:
            await asyncio.wait(self._handling, timeout=_ENDED_SECONDS)
        await end(*self._handling)
        await self._connection.close()
        await self._session.close()
        self._forget(self)

    async def _read(self) -> None:
        from aiohttp import WSMsgType

        why = "the connection to Slack was lost"
        try:
            async for message in self._connection:
                if message.type is not WSMsgType.TEXT:
                    continue
                try:
                    envelope = json.loads(message.data)
                except ValueError:
                    continue
                if not isinstance(envelope, dict):
                    continue
                if envelope.get("type") == "disconnect":
                    self._replace(str(envelope.get("reason")))
                elif isinstance(envelope.get("envelope_id"), str):
                    task = asyncio.create_task(self._handle(envelope), name="slack envelope")
                    self._handling.add(task)
                    task.add_done_callback(self._handling.discard)
        finally:
            if not self.over.done():
                self.over.set_result(why)

    def _replace(self, reason: str) -> None:
        if not self.over.done():
            self.over.set_result(_IN_WORDS.get(reason, _REFRESH))

    async def _handle(self, envelope: dict[str, Any]) -> None:
        kind = str(envelope.get("type"))
        try:
            taken, answer = await self._dispatch(envelope)
        except Exception as error:
            log.warning("an envelope was not taken", type=kind, error=type(error).__name__)
            taken, answer = False, None
        self._count(kind if kind in ("events_api", "interactive") else "other", "taken" if taken else "failed")
        if not taken:  # it is sent again
            return
        said: dict[str, Any] = {"envelope_id": envelope["envelope_id"]}
        if answer is not None:
            said["payload"] = answer
        with suppress(ConnectionError):  # it is sent again over another
            await self._connection.send_str(json.dumps(said))
