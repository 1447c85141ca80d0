"""The use cases of setting Slack up: administrators read, change and try out how this server reaches it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

from application.directory import check_administrator
from application.ports import Clock, EventStore
from application.retries import until_saved
from domain.callers import Caller
from domain.slack import SlackConfiguration, SlackSettings, changed_tokens


@dataclass(frozen=True, slots=True)
class Tested:
    """Whether these settings work, and in words why not."""

    success: bool
    message: str


ConnectionState = Literal["off", "connecting", "connected", "failing"]


@dataclass(frozen=True, slots=True)
class Connection:
    """How this server's connection to Slack is, since when, and in words what is wrong."""

    state: ConnectionState
    since: datetime
    error: str | None = None


class StoredSlackSettings(Protocol):
    """The settings that all replicas go by."""

    async def read(self) -> SlackSettings:
        """As they are just now, tokens included; as they are where nobody has set any. Raises `Unavailable`."""
        ...


class SlackMessages(Protocol):
    """What is where in Slack, and what has come in from there: the same for all replicas."""

    async def request_at(self, channel: str, ts: str, *, patience: float = 0) -> UUID | None:
        """The request that this message shows, if it is known within so many seconds. Raises `Unavailable`."""
        ...

    async def once(self, key: str, handle: Callable[[], Awaitable[None]]) -> None:
        """Have `handle` done for this key, once for good; returns when it is, here or on another replica.

        Raises what `handle` raises, and then the next try handles it; `Unavailable` while another one takes long.
        """
        ...


Test = Callable[[SlackSettings], Awaitable[Tested]]
"""Tries settings out, leaves nothing behind, and never fails: what is wrong is said."""


class SlackAdministration:
    """Administrators look after the settings. No token leaves here unmasked."""

    def __init__(
        self,
        store: EventStore,
        stored: StoredSlackSettings,
        test: Test,
        connection: Callable[[], Connection],
        clock: Clock,
    ) -> None:
        self._store = store
        self._stored = stored
        self._test = test
        self._connection = connection
        self._clock = clock

    async def settings(self, by: Caller) -> SlackSettings:
        """The settings, masked. Raises `NotAllowed`."""
        check_administrator(by)
        return (await self._stored.read()).masked

    async def change(self, given: Mapping[str, Any], by: Caller) -> tuple[SlackSettings, int]:
        """Change the fields given; returns the settings, masked, and the position. Raises `NotAllowed` or `Invalid`."""
        actor = check_administrator(by)

        async def attempt() -> tuple[SlackSettings, int]:
            # The facts first: settings that are newer than they are then meet a conflict, and not each other.
            configuration = await self._store.slack_configuration()
            before = await self._stored.read()
            after = before.changed(given, complete=True)
            now = self._clock.now()
            if configuration is not None:
                configuration.change(before, after, actor=actor, now=now)
            elif given:
                configuration = SlackConfiguration.configure(before, after, actor=actor, now=now)
            position = 0
            if configuration is not None:
                position = await self._store.save(configuration, slack_tokens=changed_tokens(before, after))
            return after.masked, position or await self._store.head()

        return await until_saved(attempt, "the configuration of Slack")

    def connection(self, by: Caller) -> Connection:
        """How the connection of the server that is asked is. Raises `NotAllowed`."""
        check_administrator(by)
        return self._connection()

    async def test(self, given: Mapping[str, Any], by: Caller) -> Tested:
        """Try out what is stored, with the fields given instead. Raises `NotAllowed` or `Invalid`."""
        check_administrator(by)
        return await self._test((await self._stored.read()).changed(given, complete=False))
