"""Notices: word of a request through a channel, given once, after its delay, to whoever is responsible then.

The outside call is made without holding a transaction; the request itself is asked just before whether it is still
open and the notice still wanted. A crash between the call and its record repeats the call, with the same key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Protocol
from uuid import UUID
from zoneinfo import ZoneInfo

from application.ports import Clock, Directory, DueStep, DueSteps, EventStore, UserEntry, VersionConflict
from application.retries import ATTEMPTS
from domain.callers import actor_id, person_actor
from domain.request import Request
from domain.timetable import NOTIFY, UPDATE, Notice, retry_after

URGENT = 20
"""Notices of requests up to this priority do not wait for quiet hours to end."""

DELIVERY_SECONDS = 20.0
"""After which a call counts as failed; shorter than the lease of its step."""

_SHORTEST_WAIT, _LONGEST_WAIT = timedelta(seconds=2), timedelta(minutes=5)
"""Before an update that failed is tried again: as long as it has been due for, within these bounds."""

_UPDATED_WITHIN = timedelta(days=1)
_SETTLED_AFTER = timedelta(seconds=DELIVERY_SECONDS + 5)
"""Whoever was giving a notice when the request went on has recorded it by then, or never will."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a channel is to deliver: of which request, to whom, and under which key a repeat is known.

    `person` is the user told, None for a shared inbox's notice, which is for all of `list`.
    """

    request: Request
    step: str
    attempt: int
    person: UserEntry | None
    list: UUID | None
    key: str


class TemporaryFailure(Exception):
    """It could not be delivered now, but may be later; `after` is what the channel asks to be left alone for."""

    def __init__(self, error: str, after: timedelta | None = None) -> None:
        super().__init__(error)
        self.after = after


class PermanentFailure(Exception):
    """It cannot be delivered, however often it is tried."""


class NobodyToTell(Exception):
    """Nobody whom it is for can be told through this channel: nothing was tried, and nothing is recorded."""


class Channel(Protocol):
    """A way to tell people. `deliver` is called at least once for each notice, always with the same key."""

    @property
    def name(self) -> str:
        """What the channel is called in plans and histories."""
        ...

    @property
    def delay(self) -> timedelta | None:
        """How long notices wait where nothing else says; None while the channel is not set up."""
        ...

    async def deliver(self, message: Message) -> dict[str, str] | None:
        """Tell them; returns the channel's own reference.

        Raises `NobodyToTell`, `TemporaryFailure` or `PermanentFailure`.
        """
        ...

    async def update(self, request: Request, reference: Mapping[str, str]) -> None:
        """Make what `deliver` left behind, where `reference` says, show how the request stands now.

        Raises `TemporaryFailure` or `PermanentFailure`.
        """
        ...

    async def find(self, request: Request) -> Mapping[str, dict[str, str]]:
        """What `deliver` left behind that `request.shown` does not know of: keys, each with its reference.

        Raises as `update` does.
        """
        ...


class Notices:
    """Gives the notices that are due."""

    def __init__(
        self,
        store: EventStore,
        directory: Directory,
        due: DueSteps,
        clock: Clock,
        channels: Iterable[Channel],
        report: Callable[[str, Mapping[str, object]], None],
        *,
        give_up_after: float = DELIVERY_SECONDS,
    ) -> None:
        self._store = store
        self._directory = directory
        self._due = due
        self._clock = clock
        self._channels = {channel.name: channel for channel in channels}
        self._report = report
        self._give_up_after = give_up_after
        self._giving: set[tuple[str, int]] = set()
        """What is being given just now: key and attempt. Its step may be leased again when other times change."""

    def delays(self) -> dict[str, timedelta]:
        """The channels that are set up now, each with its delay."""
        return {name: delay for name, channel in self._channels.items() if (delay := channel.delay) is not None}

    async def give(self, step: DueStep, now: datetime) -> None:
        """Give the notice of a channel (`notify:<channel>`) that is due, if it still is, and record it.

        Where the request went on since the step was leased, what is due by now is another one's to give.
        """
        request_id, name = step.request_id, step.step.removeprefix(f"{NOTIFY}:")
        request = await self._store.request(request_id)
        notices = [] if request is None or _is_over(request, now) else request.timetable.notices(name)
        if notices and not await self._due.holds(step):
            return
        later = [at for at, _ in notices if at > now]
        for at, notice in notices:
            if request is None or at > now:
                break
            to = notice.to or _responsible(request)
            person = await self._person(to)
            end = None if person is None or request.asked.priority <= URGENT else quiet_until(person, now)
            if end is not None:  # others who are due do not wait for this one
                later.append(end)
                continue
            if to is not None and to.startswith("user:") and (person is None or not person.active):
                outcome = _Outcome(error="the person is not there any more")
            else:
                list_id = actor_id(to) if to is not None and person is None else None
                key = _key(request.id, name, notice.step, to)
                if (giving := (key, notice.attempt)) in self._giving:
                    return
                self._giving.add(giving)
                try:
                    message = Message(request, notice.step, notice.attempt, person, list_id, key)
                    outcome = await self._deliver(name, message)
                    if outcome is None:  # nor do others wait for this one
                        continue
                    await self._record(request_id, name, notice, to, outcome)
                finally:
                    self._giving.discard(giving)
                return
            await self._record(request_id, name, notice, to, outcome)
            return
        if later:
            await self._due.postpone(step, min(later))
        else:
            await self._due.done(step)

    async def update(self, step: DueStep, now: datetime) -> bool:
        """Have a channel (`update:<channel>`) show how the request stands: all that it ever told of it.

        False where that failed, and is to be tried again.
        """
        request_id, channel = step.request_id, self._channels.get(step.step.removeprefix(f"{UPDATE}:"))
        version = 0
        while channel is not None and channel.delay is not None:
            request = await self._store.request(request_id)
            if request is None or request.version == version:
                break
            version = request.version  # were it to change meanwhile, older news might come last
            wait = timedelta(0)
            for reference in request.shown.get(channel.name, ()):
                wait = max(wait, await self._show(channel, request, reference))
            if lost := request.unsettled(channel.name):
                wait = max(wait, await self._find(channel, request, lost, now))
            if wait:
                since = now - request.modified_on
                if since < _UPDATED_WITHIN:
                    await self._due.postpone(step, now + max(wait, min(since, _LONGEST_WAIT)))
                    return False
                self._report("update given up", {"channel": channel.name, "request_id": str(request_id)})
        await self._due.done(step)
        return True

    async def _show(self, channel: Channel, request: Request, reference: Mapping[str, str]) -> timedelta:
        """How long to wait before it is tried again; nothing where it is shown, or never will be."""
        return await self._tried(channel, request, lambda: channel.update(request, reference))

    async def _find(self, channel: Channel, request: Request, lost: list[Notice], now: datetime) -> timedelta:
        """Record what was given after all; how long to wait before it is looked for, or looked for again."""
        settled = request.modified_on + _SETTLED_AFTER
        if now < settled:
            return settled - now

        async def find() -> None:
            for key, reference in (await channel.find(request)).items():
                step, to = _named(key)
                for notice in lost:
                    if notice.step == step and notice.to in (None, to):
                        await self._record(request.id, channel.name, notice, to, _Outcome(reference=reference))
                        break

        return await self._tried(channel, request, find)

    async def _tried(self, channel: Channel, request: Request, call: Callable[[], Awaitable[None]]) -> timedelta:
        error: Exception
        try:
            async with asyncio.timeout(self._give_up_after):
                await call()
        except TemporaryFailure as failure:
            return max(failure.after or timedelta(0), _SHORTEST_WAIT)
        except TimeoutError:
            return _SHORTEST_WAIT
        except PermanentFailure as failure:
            error = failure
        except Exception as failure:  # a fault of the channel's own must not stop the others, nor be tried for ever
            error = failure
        else:
            return timedelta(0)
        facts = {"channel": channel.name, "request_id": str(request.id)}
        known = isinstance(error, PermanentFailure)
        self._report("update failed", facts | {"error": str(error) if known else type(error).__name__})
        return timedelta(0)

    async def _person(self, to: str | None) -> UserEntry | None:
        id = actor_id(to) if to is not None and to.startswith("user:") else None
        return None if id is None else await self._directory.user(id)

    async def _deliver(self, name: str, message: Message) -> _Outcome | None:
        """What became of it; None where there was nobody to tell."""
        channel = self._channels.get(name)
        if channel is None or channel.delay is None:
            return _Outcome(error=f"the channel {name} is not set up any more")
        try:
            async with asyncio.timeout(self._give_up_after):
                return _Outcome(reference=await channel.deliver(message))
        except NobodyToTell:
            return None
        except TemporaryFailure as failure:
            return _Outcome(error=str(failure), again=retry_after(message.attempt, failure.after))
        except PermanentFailure as failure:
            return _Outcome(error=str(failure))
        except TimeoutError:
            said = f"no answer within {self._give_up_after:g} s"
            return _Outcome(error=said, again=retry_after(message.attempt))
        except Exception as failure:  # a fault of the channel's own must not stop the others, nor be tried for ever
            self._report("notice failed", {"channel": name, "error": type(failure).__name__})
            return _Outcome(error=type(failure).__name__, again=retry_after(message.attempt))

    async def _record(self, id: UUID, channel: str, notice: Notice, to: str | None, outcome: _Outcome) -> None:
        for _ in range(ATTEMPTS):
            request = await self._store.request(id)
            if request is None:
                return
            now = max(self._clock.now(), notice.at)  # the lease went by the database's clock itself, a little ahead
            request.notified(
                channel=channel,
                step=notice.step,
                planned_for=notice.to,
                recipient=to,
                attempt=notice.attempt,
                now=now,
                reference=outcome.reference,
                error=outcome.error,
                retry_at=None if outcome.again is None else now + outcome.again,
            )
            try:
                await self._store.save(request)
            except VersionConflict:
                continue
            return


@dataclass(frozen=True, slots=True)
class _Outcome:
    reference: dict[str, str] | None = None
    error: str | None = None
    again: timedelta | None = None


def _key(request_id: UUID, channel: str, step: str, to: str | None) -> str:
    return f"{request_id}/{channel}/{step}/{to or ''}"


def _named(key: str) -> tuple[str, str | None]:
    """The step and whom it told, of a notice with this key."""
    _, _, step, to = key.split("/", 3)
    return step, to or None


def quiet_until(person: UserEntry, now: datetime) -> datetime | None:
    """When the quiet hours that this person is in now end; None outside of them."""
    hours = person.quiet_hours
    if hours is None:
        return None
    zone = ZoneInfo(person.time_zone) if person.time_zone else UTC
    begin, end = (time.fromisoformat(hours[name]) for name in ("from", "to"))
    today = now.astimezone(zone).date()
    for day in (today - timedelta(days=1), today):
        begins = datetime.combine(day, begin, zone)
        ends = datetime.combine(day if begin < end else day + timedelta(days=1), end, zone)
        # Compared as instants: on the days when clocks change, wall clock times of one zone mislead.
        if begins.astimezone(UTC) <= now < ends.astimezone(UTC):
            return ends.astimezone(UTC)
    return None


def _is_over(request: Request, now: datetime) -> bool:
    """Whether it is closed, or would be had its deadline been carried out already."""
    deadline = request.asked.expires_at
    return not request.is_open or (deadline is not None and deadline <= now)


def _responsible(request: Request) -> str | None:
    """Who is told: a person, else a list, or neither, for administrators to see."""
    if request.assigned_to is not None:
        return person_actor(request.assigned_to)
    return None if request.assigned_list is None else f"list:{request.assigned_list}"
