"""Giving notices: to whom, when not, what becomes of one that fails, and that each is recorded once."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest

from application import notices as module
from application.notices import Message, Notices, PermanentFailure, TemporaryFailure
from application.ports import Directory, DueSteps, EventStore, UserEntry, VersionConflict
from domain.answers import Answer, Question
from domain.assignment import Decision
from domain.callers import AgentCaller, PersonCaller, Role, Via
from domain.recorded import RecordedEvent
from domain.request import Request, rebuild
from domain.timetable import MOST_ATTEMPTS
from tests.support.channels import FakeChannel

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
AGENT = AgentCaller(UUID(int=1), key_id=UUID(int=101))
ANNA = UserEntry(UUID(int=11), "anna", "Anna", None, Role.MEMBER, True)
BERT = UserEntry(UUID(int=12), "bert", "Bert", None, Role.MEMBER, True)
ON_CALL = UUID(int=30)
BY_ANNA = PersonCaller(ANNA.id, Role.MEMBER)
TO_ANNA = Decision("command", "so", chosen=ANNA.id)
TO_LIST = Decision("command", "so", list=ON_CALL)
TO_NOBODY = Decision("fallback", "so")
KIND = "notify:slack"
AT_NOON = {"from": "12:00", "to": "13:30"}


class Log:
    """An event store in memory; the next `conflicts` writes lose their race."""

    def __init__(self) -> None:
        self.events: list[RecordedEvent] = []
        self.conflicts = 0

    async def request(self, id: UUID) -> Request | None:
        events = [event for event in self.events if event.originator_id == id]
        return rebuild(events)

    async def save(self, request: Request) -> int:
        if self.conflicts:
            self.conflicts -= 1
            raise VersionConflict
        self.events += request.collect_events()
        return len(self.events)


class People:
    """A directory of people, by id."""

    def __init__(self, *people: UserEntry) -> None:
        self.people = {person.id: person for person in people}

    async def user(self, id: UUID) -> UserEntry | None:
        return self.people.get(id)


class Due:
    """Due steps that remember what was said of them."""

    def __init__(self) -> None:
        self.said: list[tuple[str, datetime | None]] = []

    async def done(self, id: UUID, step: str) -> None:
        self.said.append((step, None))

    async def postpone(self, id: UUID, step: str, until: datetime) -> None:
        self.said.append((step, until))


class World:
    """Notices on fakes, and a request whose notices come two minutes after it was asked, or came to somebody."""

    def __init__(self, decision: Decision = TO_ANNA, *, priority: int = 50, **more: Any) -> None:
        self.now = START
        self.log, self.people, self.due, self.slack = Log(), People(ANNA, BERT), Due(), FakeChannel()
        self.reported: list[tuple[str, Mapping[str, object]]] = []
        self.notices = Notices(
            cast(EventStore, self.log),
            cast(Directory, self.people),
            cast(DueSteps, self.due),
            self,
            [self.slack],
            lambda said, what: self.reported.append((said, what)),
        )
        self.request = Request.ask(
            by=AGENT,
            now=START,
            unique_id="deploy",
            question=Question("clarification"),
            sealed=False,
            message="May I?",
            decision=decision,
            priority=priority,
            channels=self.notices.delays(),
            **more,
        )
        self.log.events += self.request.collect_events()

    def clock(self) -> datetime:
        return self.now

    async def give(self, at: timedelta, kind: str = KIND) -> None:
        self.now = START + at
        await self.notices.give(self.request.id, kind, self.now)

    def happens(self, what: Any) -> None:
        """Somebody does something to the request."""
        request = rebuild(self.log.events)
        what(request)
        self.log.events += request.collect_events()

    def escalates(self, at: timedelta, to: str | None = None) -> None:
        """The ladder tells a person or a list, or moves it to Bert."""
        request = rebuild(self.log.events)
        chosen = BERT.id if to is None or to.startswith("user:") else None
        decision = Decision("escalation", "so", chosen=chosen, list=None if chosen else ON_CALL)
        request.escalate(decision, step=request.timetable.rung_step, now=START + at)
        self.log.events += request.collect_events()

    @property
    def sent(self) -> list[tuple[str, int, str | None]]:
        return [(said.step, said.attempt, said.to) for said in self.slack.delivered]

    @property
    def recorded(self) -> list[Request.Notified]:
        """What is in the log of this channel's notices."""
        return [e for e in self.log.events if isinstance(e, Request.Notified) and e.channel == "slack"]

    @property
    def outcomes(self) -> list[tuple[str, int, str | None, bool, str | None]]:
        return [(e.step, e.attempt, e.recipient, e.delivered, e.error) for e in self.recorded]


class _Clock:
    def __init__(self, world: World) -> None:
        self.world = world

    def now(self) -> datetime:
        return self.world.now


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def telling(to: str) -> dict[str, Any]:
    return {"decision": replace(TO_ANNA, strategy={"type": "RunUser", "escalation": [step(notifyOnly=True)]})}


def step(**more: Any) -> dict[str, Any]:
    return {"afterMinutes": 1, "to": {"type": "AgentOwner"}, **more}
