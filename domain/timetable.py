"""What is to happen to a request, and when, unless it closes first.

The plan is computed when the request is asked and stands in `Requested`. What of it has been done is derived from
the events alone, each of which names its step: replaying them fires nothing twice. All durations are durations, all
instants UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from domain.escalation import Rung, ladder
from domain.strategies import (
    OF_A_LIST,
    SPECIFIC_USER,
    Strategy,
    delay_of,
    list_named,
    reminder_of,
    user_named,
)

EXPIRE = "expire"
ESCALATE = "escalate"
NOTIFY = "notify"
REMIND = "remind"
ERASE = "erase"
UPDATE = "update"
"""With a channel, as `update:slack`: what it shows of a request is to be as the request stands."""

MOST_REMINDERS = 3
MOST_ATTEMPTS = 8
_FIRST_RETRY = timedelta(seconds=30)
_LONGEST_RETRY = timedelta(hours=1)
_LONGEST_ASKED_FOR = timedelta(days=1)
_CLOCKS_APART = timedelta(seconds=1)

WEB = "web"
"""The channel that everybody has: the request stands in their inbox from that moment on."""


def retry_after(attempt: int, asked_for: timedelta | None = None) -> timedelta | None:
    """How long after this attempt the next one is made, at least as long as was asked for; None: no more."""
    if attempt >= MOST_ATTEMPTS:
        return None
    delay = min(_FIRST_RETRY * 2 ** (attempt - 1), _LONGEST_RETRY)
    return delay if asked_for is None else min(max(delay, asked_for), _LONGEST_ASKED_FOR)


def make_plan(
    now: datetime,
    expires_at: datetime | None,
    strategy: Strategy | None,
    of_type: Strategy | None,
    channels: Mapping[str, timedelta],
    erase_after: timedelta | None = None,
) -> list[dict[str, Any]]:
    """The plan of a request that is asked now.

    `strategy` is the one that won; `of_type` the request type's, for the delay of notices where the winner does not
    say; `channels` are those that are set up, each with the delay it has where neither says. The content is erased
    `erase_after` the request closed: that step has no time yet, and stands last.
    """
    steps: list[tuple[datetime, dict[str, Any]]] = [(now, {"step": "show", "what": "shown in the inbox"})]
    given = delay_of(strategy or {})
    if given is None:
        given = delay_of(of_type or {})
    for name, default in channels.items():
        delay = default if given is None else given
        what = f"told through {name}"
        steps.append((now + delay, {"step": f"{NOTIFY}:{name}", "what": what, "after_seconds": delay.total_seconds()}))
    every = reminder_of(strategy or {})
    if every is not None and channels:
        for number in range(1, MOST_REMINDERS + 1):
            reminder = {"step": f"{REMIND}:{number}", "what": "reminded", "after_seconds": every.total_seconds()}
            steps.append((now + every * number, reminder))
    at = now
    for number, rung in enumerate(ladder(strategy), start=1):
        at += rung.after
        steps.append((at, {"step": f"{ESCALATE}:{number}", "what": _what(rung), **_rung_as_fact(rung)}))
    if expires_at is not None:
        steps.append((expires_at, {"step": EXPIRE, "what": "expires unless it was answered"}))
    steps.sort(key=lambda step: step[0])
    plan = [{"step": step["step"], "at": _instant(at), **step} for at, step in steps]
    if erase_after is not None:
        what = f"content is erased {_days(erase_after)} after closing"
        plan.append({"step": ERASE, "what": what, "after_seconds": erase_after.total_seconds()})
    return plan


_Name: TypeAlias = tuple[str, int, str | None]
"""Step, attempt and recipient of a notice."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice that is to be given: which step it is, when, to whom (None: whoever is responsible then)."""

    step: str
    at: datetime
    attempt: int = 1
    to: str | None = None

    @property
    def name(self) -> _Name:
        """What it is known by, whenever it is given."""
        return self.step, self.attempt, self.to


@dataclass(slots=True)
class _Channel:
    delay: timedelta
    queue: list[Notice] = field(default_factory=list[Notice])
    planned: int = 0
    """How many reminders were ever planned: their names are never used twice."""

    reminded: int = 0
    """How many of them were given, or tried."""

    given_up: dict[_Name, Notice] = field(default_factory=dict[_Name, Notice])
    """Notices that were due, and not wanted any more when the request moved; one may be on its way."""

    owes: bool = False
    """Whether those who share it had not been told yet when somebody claimed it."""


class Timetable:
    """The plan as far as it has been carried out."""

    def __init__(self, asked_at: datetime, plan: list[dict[str, Any]], expires_at: datetime | None) -> None:
        self._expires_at = expires_at
        self._since = asked_at
        self._snoozed_until: datetime | None = None
        self._rungs = [_rung_from_fact(step) for step in plan if _kind(step["step"]) == ESCALATE]
        self._rung = 0
        self._repeats = 0
        self._rung_due = asked_at + self._rungs[0].after if self._rungs else None
        reminders = [step for step in plan if _kind(step["step"]) == REMIND]
        self._remind_every = timedelta(seconds=reminders[0]["after_seconds"]) if reminders else None
        erasing = [step for step in plan if step["step"] == ERASE]
        self.erase_after = timedelta(seconds=erasing[0]["after_seconds"]) if erasing else None
        """How long after the request closed its content is erased."""

        self._channels: dict[str, _Channel] = {}
        for step in plan:
            if _kind(step["step"]) == NOTIFY:
                delay = timedelta(seconds=step["after_seconds"])
                self._channels[_rest(step["step"])] = _Channel(delay, [Notice(NOTIFY, asked_at + delay)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timetable) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    # -- what happened

    def moved(self, *, at: datetime, version: int, step: str | None, cause: str) -> None:
        """The request went to somebody else, or back to its list: by a step, or by somebody's command."""
        self._since = at
        self._snoozed_until = None
        if step is not None and step == self.rung_step:
            self._advance(at)
        elif self._rung_due is not None:
            self._rung_due = at + self._rungs[self._rung].after
        for channel in self._channels.values():
            untold = channel.owes or any(notice.to is None and _kind(notice.step) != REMIND for notice in channel.queue)
            channel.given_up |= {notice.name: notice for notice in channel.queue if _may_be_given(notice, at)}
            channel.queue.clear()
            channel.owes = cause == "claimed" and untold
            if cause == "escalated":
                channel.queue.append(Notice(step or ESCALATE, at))
            elif cause == "claimed" or (cause == "released" and not untold):  # they know
                self._plan_reminder(channel, at)
            else:
                channel.queue.append(Notice(f"{NOTIFY}:{version}", at + channel.delay))

    def told(self, *, at: datetime, step: str, recipients: list[str]) -> None:
        """A step of the ladder told more people; the channels tell them, too."""
        if step != self.rung_step:
            return
        self._advance(at)
        for channel in self._channels.values():
            channel.queue += [Notice(f"{step}:{NOTIFY}", at, to=recipient) for recipient in recipients]

    def notified(
        self, *, at: datetime, channel: str, step: str, attempt: int, to: str | None, retry_at: datetime | None
    ) -> bool:
        """A channel gave a notice, or failed to; `retry_at` is when it tries again. Whether it was wanted still."""
        of = self._channels.get(channel)
        given = None if of is None else _find(of.queue, step, to) or _find(of.queue, step, None)
        if of is None:
            return False
        if given is None:
            for whom in (to, None):
                of.given_up.pop((step, attempt, whom), None)
            return False
        of.queue.remove(given)
        of.reminded += attempt == 1 and _kind(step) == REMIND
        if retry_at is not None:
            of.queue.append(Notice(step, retry_at, attempt + 1, given.to))
        elif not of.queue:
            self._plan_reminder(of, at)
        return True

    def snoozed(self, until: datetime | None) -> None:
        """Whoever is asked put it aside until then; None: no more."""
        self._snoozed_until = until

    def _advance(self, at: datetime) -> None:
        assert self._rung_due is not None
        rung = self._rungs[self._rung]
        if self._rung + 1 < len(self._rungs):
            self._rung += 1
            self._rung_due += self._rungs[self._rung].after
        elif rung.repeat:  # what was missed of it is not made up for
            self._repeats += 1
            self._rung_due += rung.after * max(1, (at - self._rung_due) // rung.after + 1)
        else:
            self._rung_due = None

    def _plan_reminder(self, channel: _Channel, at: datetime) -> None:
        if self._remind_every is None or channel.reminded == MOST_REMINDERS:
            return
        channel.planned += 1
        next_ = self._since + self._remind_every * ((at - self._since) // self._remind_every + 1)
        channel.queue.append(Notice(f"{REMIND}:{channel.planned}", next_))

    # -- what is next

    @property
    def snoozed_until(self) -> datetime | None:
        return self._snoozed_until

    @property
    def rung_step(self) -> str | None:
        """The name of the next step of the ladder."""
        if self._rung_due is None:
            return None
        return f"{ESCALATE}:{self._rung + 1}" + (f":{self._repeats + 1}" if self._repeats else "")

    def rung_due(self, now: datetime) -> Rung | None:
        """The step of the ladder whose time has come."""
        return self._rungs[self._rung] if self._rung_due is not None and self._rung_due <= now else None

    @property
    def rung(self) -> Rung | None:
        """The next step of the ladder, due or not."""
        return self._rungs[self._rung] if self._rung_due is not None else None

    def notices(self, channel: str) -> list[tuple[datetime, Notice]]:
        """All that this channel still has to say as things are, each with its time, in order."""
        of = self._channels.get(channel)
        notices = [] if of is None else [(self._time_of(notice), notice) for notice in of.queue]
        return sorted(notices, key=lambda timed: timed[0])

    def notice(self, channel: str, step: str, to: str | None) -> Notice | None:
        """This notice, while it is still to be given."""
        of = self._channels.get(channel)
        return None if of is None else _find(of.queue, step, to)

    def was_given_up(self, channel: str, notice: Notice) -> bool:
        """Whether this notice was planned, and then not wanted any more."""
        of = self._channels.get(channel)
        return of is not None and notice.name in of.given_up

    def unsettled(self, channel: str, closed_at: datetime | None) -> list[Notice]:
        """Notices that this channel may have given although nothing says so: a crash came between, or will.

        Of an open request those that are not wanted any more; the others are given, or found to have been.
        """
        of = self._channels.get(channel)
        if of is None:
            return []
        left = [] if closed_at is None else [notice for notice in of.queue if _may_be_given(notice, closed_at)]
        return [*of.given_up.values(), *left]

    @property
    def channels(self) -> list[str]:
        """Those that tell of this request."""
        return list(self._channels)

    def due(self) -> dict[str, datetime]:
        """When each kind of step comes next: `expire`, `escalate`, and `notify:<channel>` for each channel."""
        times = {} if self._expires_at is None else {EXPIRE: self._expires_at}
        if self._rung_due is not None:
            times[ESCALATE] = self._rung_due
        for name in self._channels:
            notice = self._next_notice(name)
            if notice is not None:
                times[f"{NOTIFY}:{name}"] = self._time_of(notice)
        return times

    @property
    def kinds(self) -> list[str]:
        """All kinds of step that this request ever has while it is open."""
        return [EXPIRE, *([ESCALATE] if self._rungs else []), *(f"{NOTIFY}:{name}" for name in self._channels)]

    def upcoming(self) -> list[dict[str, Any]]:
        """What happens next, and when, in order."""
        steps: list[tuple[datetime, str, str]] = []
        for name in self._channels:
            notice = self._next_notice(name)
            if notice is not None:
                what = "reminded" if _kind(notice.step) == REMIND else "told"
                again = f", attempt {notice.attempt}" if notice.attempt > 1 else ""
                steps.append((self._time_of(notice), f"{NOTIFY}:{name}", f"{what} through {name}{again}"))
        if self._rung_due is not None and self.rung_step is not None:
            at = self._rung_due
            steps.append((at, self.rung_step, _what(self._rungs[self._rung])))
            for number in range(self._rung + 1, len(self._rungs)):
                at += self._rungs[number].after
                steps.append((at, f"{ESCALATE}:{number + 1}", _what(self._rungs[number])))
        if self._expires_at is not None:
            steps.append((self._expires_at, EXPIRE, "expires unless it was answered"))
        steps.sort(key=lambda step: step[0])
        return [{"step": step, "at": _instant(at), "what": what} for at, step, what in steps]

    def _next_notice(self, channel: str) -> Notice | None:
        of = self._channels.get(channel)
        return min(of.queue, key=self._time_of, default=None) if of is not None else None

    def _time_of(self, notice: Notice) -> datetime:
        """A notice to somebody who has put the request aside waits; what the ladder says does not."""
        if self._snoozed_until is None or _kind(notice.step) == ESCALATE:
            return notice.at
        return max(notice.at, self._snoozed_until)


def _find(queue: list[Notice], step: str, to: str | None) -> Notice | None:
    return next((notice for notice in queue if (notice.step, notice.to) == (step, to)), None)


def _may_be_given(notice: Notice, at: datetime) -> bool:
    """Whether somebody may have begun to give it by then: it was due, by a clock that may be a little ahead of ours."""
    return notice.attempt > 1 or notice.at <= at + _CLOCKS_APART


def _kind(step: str) -> str:
    return step.partition(":")[0]


def _rest(step: str) -> str:
    return step.partition(":")[2]


def _what(rung: Rung) -> str:
    type_ = rung.to["type"]
    name = user_named(rung.to) if type_ == SPECIFIC_USER else list_named(rung.to) if type_ in OF_A_LIST else None
    whom = type_ if name is None else f"{type_} {name}"
    again = ", again and again" if rung.repeat else ""
    return (f"more people are told: {whom}" if rung.notify_only else f"goes to: {whom}") + again


def _rung_as_fact(rung: Rung) -> dict[str, Any]:
    return {
        "after_seconds": rung.after.total_seconds(),
        "to": rung.to,
        "notify_only": rung.notify_only,
        "repeat": rung.repeat,
    }


def _rung_from_fact(step: Mapping[str, Any]) -> Rung:
    return Rung(timedelta(seconds=step["after_seconds"]), step["to"], step["notify_only"], step["repeat"])


def _days(span: timedelta) -> str:
    days = span / timedelta(days=1)
    return "1 day" if days == 1 else f"{days:g} days"


def _instant(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
