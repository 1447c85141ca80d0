"""The `Request` aggregate: an agent asks, one person's first accepted answer closes it, and closed is final.

Commands decide and may refuse; `apply` methods only remember, so that old events always load. A refusal may leave
facts worth keeping among the pending events (a lapse noticed, a refused attempt): whoever runs the command saves
them before passing the refusal on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self
from uuid import UUID, uuid5

from eventsourcing.domain import BaseAggregate

from domain.answers import Answer, Labels, Question, same_answer
from domain.assignment import Decision, by_command, excluded_by, into_list, strategy_asked_for
from domain.audience import Audience
from domain.callers import SYSTEM, AgentCaller, Caller, PersonCaller, Via, actor_id
from domain.errors import (
    AlreadyClaimed,
    AlreadyClosed,
    Conflict,
    FieldError,
    Gone,
    Invalid,
    NotAllowed,
    NotAnswered,
    NotEligible,
    NotFound,
)
from domain.recorded import RecordedCreation, RecordedEvent
from domain.routing import Subject
from domain.strategies import Strategy, parse
from domain.timetable import ERASE, EXPIRE, WEB, Notice, Timetable, make_plan

NO_SUCH_REQUEST = "this agent has no request with that id or unique_id"
"""Said to an agent, whether there is none or it is another's."""

NO_CHANNELS: Mapping[str, timedelta] = {}
LONGEST_SNOOZE = timedelta(days=90)

RECEIPT_LIFETIME = timedelta(seconds=60)
"""How long the first receipt may fetch the same sealed answer again, for a response lost on the way."""


class Status(StrEnum):
    REQUESTED = "Requested"
    RESPONDED = "Responded"
    CANCELLED = "Cancelled"
    EXPIRED = "Expired"


Outcome = Literal["approved", "rejected", "answered"]
Refused = Literal["not eligible", "claimed", "closed", "unknown"]


def request_id(agent_id: UUID, unique_id: str) -> UUID:
    """The aggregate's id: the same agent and `unique_id` always name the same request."""
    return uuid5(agent_id, unique_id)


class Request(BaseAggregate[UUID]):
    """One question of one agent, from `Requested` to its one final status, and what still follows that."""

    TOPIC = "handraise.Request"

    class Event(RecordedEvent):
        """Base of the events of a request."""

    class Requested(Event, RecordedCreation):
        """An agent asks."""

        TOPIC = "handraise.Request.Requested"
        CONTENT: ClassVar = (
            "message", "context", "response_schema", "ui_schema", "options", "labels", "metadata",
        )  # fmt: skip

        unique_id: str
        agent_id: UUID
        request_type: str
        run_id: str | None
        run_step_id: str | None
        run_user: UUID | None
        secret: bool
        sealed: bool
        priority: int
        expires_at: datetime | None
        assignment: dict[str, Any]
        plan: list[dict[str, Any]]
        message: str | None
        context: str | None
        response_schema: dict[str, Any] | None
        ui_schema: dict[str, Any] | None
        options: list[str] | None
        labels: dict[str, str] | None
        metadata: dict[str, Any] | None

        def remember(self, request: Request) -> None:
            request.asked = self
            request.timetable = Timetable(self.timestamp, self.plan, self.expires_at)
            request.assignment = self.assignment
            request.assigned_to = _uuid(self.assignment["chosen"])
            request.assigned_list = _uuid(self.assignment["list"])

    class Notified(Event):
        """A channel delivered word of the request to somebody, or failed to; `reference` is the channel's own.

        `retry_at` is when it tries again. A step of the ladder that only tells people has the channel `web`.
        """

        TOPIC = "handraise.Request.Notified"
        class_version = 2

        step: str
        channel: str
        recipient: str | None
        reference: dict[str, str] | None
        attempt: int
        delivered: bool
        error: str | None
        retry_at: datetime | None

        @staticmethod
        def upcast_v1_v2(state: dict[str, Any]) -> None:
            state["retry_at"] = None

        def remember(self, request: Request) -> None:
            if self.channel == WEB:
                request.tell(self)
            else:
                shown = request.shown.setdefault(self.channel, [])
                if self.reference is not None and self.reference not in shown:
                    shown.append(self.reference)
                wanted = request.timetable.notified(
                    at=self.timestamp,
                    channel=self.channel,
                    step=self.step,
                    attempt=self.attempt,
                    to=self.recipient,
                    retry_at=self.retry_at,
                )
                request.told_late = None if wanted else self

    class Reassigned(Event):
        """The responsible person or list changed, and why."""

        TOPIC = "handraise.Request.Reassigned"
        CONTENT: ClassVar = ("note",)

        cause: Literal["claimed", "released", "delegated", "escalated", "reassigned", "departed"]
        from_user: UUID | None
        from_list: UUID | None
        to_user: UUID | None
        to_list: UUID | None
        step: str | None
        assignment: dict[str, Any]
        note: str | None

        def remember(self, request: Request) -> None:
            if request.assigned_to is not None:
                request.past_assignees.add(request.assigned_to)
            request.assigned_to = self.to_user
            request.assigned_list = self.to_list
            request.claimed = self.cause == "claimed"
            request.assignment = self.assignment
            request.moved = self
            request.up_for_claim = False
            request.timetable.moved(
                at=self.timestamp, version=self.originator_version, step=self.step, cause=self.cause
            )

    class Snoozed(Event):
        """Whoever is asked put the request out of their inbox until then; None: it is back."""

        TOPIC = "handraise.Request.Snoozed"

        until: datetime | None

        def remember(self, request: Request) -> None:
            request.timetable.snoozed(self.until)

    class Responded(Event):
        """The first accepted answer. A sealed one stands in a vault beside the log; only the fact is here."""

        TOPIC = "handraise.Request.Responded"
        CONTENT: ClassVar = ("text", "data")

        via: str
        outcome: Outcome
        sealed: bool
        sealed_until: datetime | None
        text: str | None
        data: Any

        def remember(self, request: Request) -> None:
            request.status = Status.RESPONDED
            request.closing = self

    class Cancelled(Event):
        """The agent, a person or the system withdrew the request."""

        TOPIC = "handraise.Request.Cancelled"
        CONTENT: ClassVar = ("reason",)

        reason: str | None

        def remember(self, request: Request) -> None:
            request.status = Status.CANCELLED
            request.closing = self

    class Expired(Event):
        """The deadline passed. It carries nothing: a lapse of time is never an answer."""

        TOPIC = "handraise.Request.Expired"

        def remember(self, request: Request) -> None:
            request.status = Status.EXPIRED
            request.closing = self

    class AnswerRefused(Event):
        """Somebody tried to answer who may not, or too late. Kept once for each person and reason.

        `stranger` is what a channel calls somebody whom the directory does not know.
        """

        TOPIC = "handraise.Request.AnswerRefused"
        class_version = 2

        via: str
        why: Refused
        stranger: str | None

        @staticmethod
        def upcast_v1_v2(state: dict[str, Any]) -> None:
            state["stranger"] = None

        def remember(self, request: Request) -> None:
            request.refused.add((self.stranger or self.actor, self.why))

    class Collected(Event):
        """The agent took the sealed answer, with a receipt of its own making (its SHA-256, in hex)."""

        TOPIC = "handraise.Request.Collected"

        receipt: str

        def remember(self, request: Request) -> None:
            request.collected = self

    class Acknowledged(Event):
        """The agent has the answer and used it; a sealed one is shredded."""

        TOPIC = "handraise.Request.Acknowledged"

        def remember(self, request: Request) -> None:
            request.acknowledged_at = self.timestamp

    class ContentErased(Event):
        """The data key was destroyed: content can no longer be read, the facts stay."""

        TOPIC = "handraise.Request.ContentErased"

        def remember(self, request: Request) -> None:
            request.erased = True

    def __init__(self) -> None:
        self.position = 0
        """Where the last event stands in the log; set by the store, 0 while nothing is saved."""
        self.asked: Request.Requested
        self.status = Status.REQUESTED
        self.assignment: dict[str, Any] = {}
        self.assigned_to: UUID | None = None
        self.assigned_list: UUID | None = None
        self.past_assignees: set[UUID] = set()
        self.claimed = False
        self.moved: Request.Reassigned | None = None
        """The last move."""
        self.timetable: Timetable
        self.told: set[UUID] = set()
        """People and lists whom the ladder has told of it."""
        self.up_for_claim = False
        """Whether those may claim it: it has not moved since."""
        self.closing: Request.Responded | Request.Cancelled | Request.Expired | None = None
        self.refused: set[tuple[str, str]] = set()
        """(actor, or what a channel calls a stranger; why)"""
        self.shown: dict[str, list[dict[str, str]]] = {}
        """By channel, where it shows this request, in the channel's own words."""
        self.told_late: Request.Notified | None = None
        """The last notice, where it had been given up when it was recorded: what is planned goes on beside it."""
        self.collected: Request.Collected | None = None
        self.acknowledged_at: datetime | None = None
        self.erased = False

    # -- asking

    @classmethod
    def ask(
        cls,
        *,
        by: AgentCaller,
        now: datetime,
        unique_id: str,
        question: Question,
        sealed: bool,
        message: str,
        decision: Decision,
        priority: int,
        context: str | None = None,
        ui_schema: dict[str, Any] | None = None,
        labels: dict[str, str] | None = None,
        run_id: str | None = None,
        run_step_id: str | None = None,
        run_user: UUID | None = None,
        expires_at: datetime | None = None,
        metadata: dict[str, Any] | None = None,
        of_type: Strategy | None = None,
        channels: Mapping[str, timedelta] = NO_CHANNELS,
        erase_after: timedelta | None = None,
    ) -> Self:
        """A new request. `of_type` is the request type's strategy, `channels` those that are set up, for its plan.

        Its content is erased `erase_after` it closed.

        Raises `Invalid` for a deadline that has passed already.
        """
        if expires_at is not None and expires_at <= now:
            raise Invalid([FieldError("expires_at", f"must be in the future; {instant(expires_at)} has passed")])
        schema = question.response_schema
        return cls._create(
            cls.Requested,
            id=request_id(by.id, unique_id),
            timestamp=now,
            actor=by.actor,
            unique_id=unique_id,
            agent_id=by.id,
            request_type=question.request_type,
            run_id=run_id,
            run_step_id=run_step_id,
            run_user=run_user,
            secret=question.secret,
            sealed=sealed,
            priority=priority,
            expires_at=expires_at,
            assignment=decision.as_fact(),
            plan=make_plan(now, expires_at, decision.strategy, of_type, channels, erase_after),
            message=message,
            context=context,
            response_schema=None if schema is None else dict(schema),
            ui_schema=ui_schema,
            options=None if question.options is None else list(question.options),
            labels=labels,
            metadata=metadata,
        )

    def asks_the_same(self, other: Request) -> bool:
        """Whether a repeat under the same `unique_id` is the same request: equal in what the person would see."""
        return _asked_content(self.asked) == _asked_content(other.asked)

    @property
    def question(self) -> Question:
        """What an answer is read against."""
        asked = self.asked
        return Question(
            request_type=asked.request_type,
            response_schema=asked.response_schema,
            options=None if asked.options is None else tuple(asked.options),
            labels=Labels(**(asked.labels or {})),
            secret=asked.secret,
        )

    # -- who may do what

    @property
    def is_open(self) -> bool:
        return self.status is Status.REQUESTED

    @property
    def audience(self) -> Audience:
        """Who may know of the request as it stands."""
        asked = self.asked
        people = {id for id in (self.assigned_to, asked.run_user) if id is not None} | self.past_assignees | self.told
        lists = self.told if self.assigned_list is None else self.told | {self.assigned_list}
        return Audience(asked.agent_id, asked.run_user, frozenset(people), frozenset(lists))

    @property
    def plan(self) -> list[dict[str, Any]]:
        """What happens next, and when; of a closed request what was planned when it was asked.

        When the content is erased is known only once the request is closed.
        """
        shown = [
            {name: step[name] for name in ("step", "at", "what")} for step in self.asked.plan if step["step"] != ERASE
        ]
        if self.is_open:
            deadline = self.asked.expires_at
            return [step for step in shown if step["step"] == "show"] + [
                step
                for step in self.timetable.upcoming()
                if deadline is None or step["step"] == EXPIRE or step["at"] < instant(deadline)
            ]
        if (due := self.erase_due) is not None:
            shown += [{"step": ERASE, "at": instant(due), "what": erasing["what"]} for erasing in self._erasing]
        return shown

    @property
    def _erasing(self) -> list[dict[str, Any]]:
        return [step for step in self.asked.plan if step["step"] == ERASE]

    @property
    def subject(self) -> Subject:
        """What routing needs to know, to decide again."""
        asked = self.asked
        strategy = parse(strategy_asked_for(asked.assignment))
        return Subject(asked.agent_id, asked.request_type, asked.run_user, strategy, self.excluded)

    @property
    def excluded(self) -> frozenset[UUID]:
        """Who may not answer this request, whatever else they may."""
        return excluded_by(self.asked.assignment)

    def may_read(self, caller: Caller) -> bool:
        return self.audience.includes(caller)

    def check_may_read(self, caller: Caller) -> None:
        """Raises `NotFound` to other agents, `NotAllowed` to people who have no part in the request."""
        if not self.may_read(caller):
            raise self._unseen(caller)

    def may_answer(self, caller: Caller) -> bool:
        """Whether an answer of this caller counts; members of a list answer what nobody has claimed."""
        if isinstance(caller, AgentCaller) or not caller.may_act or caller.id in self.excluded:
            return False
        return caller.administers or caller.id == self.assigned_to or self._may_take(caller)

    def _may_take(self, caller: PersonCaller) -> bool:
        """Whether it stands in an inbox that this person shares, and nobody has taken it."""
        return self.assigned_to is None and self.assigned_list in caller.lists

    def _is_own(self, caller: AgentCaller) -> bool:
        """A key bound to a run user sees only the requests made in that person's name."""
        return caller.id == self.asked.agent_id and caller.run_user in (None, self.asked.run_user)

    def _unseen(self, caller: Caller) -> NotFound | NotAllowed:
        if isinstance(caller, AgentCaller):
            return NotFound(NO_SUCH_REQUEST)
        return NotAllowed(f"you have no part in request {self.id}; an administrator can reassign it to you")

    # -- answering

    def respond(
        self,
        read: Callable[[Question], Answer],
        *,
        by: Caller,
        via: Via,
        now: datetime,
        earlier: Answer | None = None,
        keep_sealed_for: timedelta = timedelta(hours=24),
    ) -> Answer | None:
        """Accept the first answer, as `read` finds it for this question.

        Returns the answer, or None when the same person already gave the same one (a double click, a lost
        response): nothing new then. `earlier` is the answer given before, where it is sealed and still there.
        A sealed answer is returned for the vault and kept out of the event.

        Raises `NotEligible`, `AlreadyClaimed`, `AlreadyClosed`, or `Invalid` from `read`.
        """
        self._lapse(now)
        if not self.may_answer(by):
            if not self._lost_claim(by):
                self._refuse_answer(by, via, now, "not eligible")
                raise NotEligible(self._who_may_answer(by))
            if self.is_open:
                self._refuse_answer(by, via, now, "claimed")
                raise self._claimed_by_another()
        if not self.is_open:
            if self._is_repeat(read, by, earlier):
                return None
            self._refuse_answer(by, via, now, "closed")
            raise self._closed("answer")
        answer = read(self.question)
        sealed = self.asked.sealed
        self.trigger_event(
            self.Responded,
            timestamp=now,
            actor=by.actor,
            via=str(via),
            outcome="answered" if sealed else answer.outcome,
            sealed=sealed,
            sealed_until=now + keep_sealed_for if sealed else None,
            text=None if sealed else answer.text,
            data=None if sealed else answer.data,
        )
        return answer

    @property
    def answer(self) -> Answer | None:
        """The accepted answer, where it is not sealed and not erased."""
        closing = self.closing
        if not isinstance(closing, self.Responded) or closing.sealed or self.erased:
            return None
        return Answer(outcome=closing.outcome, text=closing.text, data=closing.data)

    def _is_repeat(self, read: Callable[[Question], Answer], by: Caller, earlier: Answer | None) -> bool:
        given = self.answer or earlier
        if given is None or self.closing is None or self.closing.actor != by.actor:
            return False
        try:
            return same_answer(read(self.question), given)
        except Invalid:
            return False

    def _refuse_answer(
        self, by: Caller, via: Via, now: datetime, why: Literal["not eligible", "claimed", "closed"]
    ) -> None:
        if (by.actor, why) not in self.refused:
            self.trigger_event(self.AnswerRefused, timestamp=now, actor=by.actor, via=str(via), why=why, stranger=None)

    def refuse_stranger(self, stranger: str, via: Via, now: datetime) -> None:
        """Somebody tried to answer whom the directory does not know: `stranger` is what the channel calls them."""
        why: Refused = "unknown"
        if (stranger, why) not in self.refused:
            self.trigger_event(
                self.AnswerRefused, timestamp=now, actor=SYSTEM, via=str(via), why=why, stranger=stranger
            )

    def _who_may_answer(self, by: Caller) -> str:
        if isinstance(by, AgentCaller):
            return "an agent can never answer a request; a person must"
        if not by.may_act:
            return "an auditor reads everything and changes nothing"
        if by.id in self.excluded:
            return "the run user may not answer a request of this type: somebody else must"
        asked = "members of the list" if self.assigned_to is None and self.assigned_list is not None else "the person"
        return f"only {asked} it is assigned to, or an administrator, may answer this request"

    # -- ending without an answer

    def cancel(self, *, by: Caller, now: datetime, reason: str | None = None) -> None:
        """Withdraw the request. Raises `NotFound`, `NotAllowed` or `AlreadyClosed`; a repeat does nothing."""
        self._lapse(now)
        if isinstance(by, AgentCaller):
            if not self._is_own(by):
                raise self._unseen(by)
        elif not (by.may_act and (by.administers or by.id == self.assigned_to)):
            raise NotAllowed("only the agent that asked, the person asked, or an administrator may cancel")
        if self.status is Status.CANCELLED and self.closing is not None and self.closing.actor == by.actor:
            return
        self._check_open("cancel")
        self.trigger_event(self.Cancelled, timestamp=now, actor=by.actor, reason=reason)

    def expire(self, *, now: datetime) -> None:
        """Carry out the deadline. Nothing happens to a closed request, or before its time."""
        self._lapse(now)

    def _lapse(self, now: datetime) -> None:
        deadline = self.asked.expires_at
        if self.is_open and deadline is not None and now >= deadline:
            self.trigger_event(self.Expired, timestamp=now, actor=SYSTEM)

    # -- moving

    def claim(self, *, by: Caller, now: datetime, note: str | None = None) -> None:
        """Take it out of the inbox that a list shares; a repeat by the same person does nothing.

        Raises `NotAllowed`, `AlreadyClosed`, `AlreadyClaimed` naming the winner, or `Conflict` where it stands in no
        shared inbox.
        """
        self._lapse(now)
        if not isinstance(by, PersonCaller) or not by.may_act:
            raise NotAllowed("only a person who answers may claim a request")
        if not (by.administers or self.assigned_list in by.lists or by.id == self.assigned_to or self._was_told(by)):
            raise NotAllowed("only members of the list that it is assigned to, or who were told, may claim a request")
        if by.id in self.excluded:
            raise NotAllowed(self._who_may_answer(by))
        self._check_open("claim")
        if self.assigned_to == by.id:
            return
        may_take_over = self.up_for_claim and (by.administers or self._was_told(by))
        if self.claimed and not may_take_over:
            raise self._claimed_by_another()
        if self.assigned_to is not None and not may_take_over:
            raise Conflict("the request is in no shared inbox: it is assigned to somebody, who can delegate it")
        decision = by_command(by.id, "Claimed from the shared inbox.")
        self._move("claimed", decision, by=by.actor, now=now, to_list=self.assigned_list, note=note)

    def _was_told(self, by: PersonCaller) -> bool:
        return by.id in self.told or not by.lists.isdisjoint(self.told)

    def tell(self, event: Request.Notified) -> None:
        """Remember whom a step of the ladder told; such an event names one recipient, or nobody."""
        if event.recipient is not None:
            self.told.add(UUID(event.recipient.partition(":")[2]))
            self.up_for_claim = True
        told = [] if event.recipient is None else [event.recipient]
        self.timetable.told(at=event.timestamp, step=event.step, recipients=told)

    def release(self, *, by: Caller, now: datetime, note: str | None = None) -> None:
        """Put it back into the inbox that its list shares; a repeat by the same person does nothing.

        Raises `NotAllowed`, `AlreadyClosed`, or `Conflict` where it came from no list.
        """
        self._lapse(now)
        if self._has_released(by):
            return
        self._check_is_assignee(by, "release")
        self._check_open("release")
        if self.assigned_to is None or (self.assigned_list is None and not self.claimed):
            raise Conflict("the request is in no shared inbox it could go back to: delegate it to somebody instead")
        decision = Decision("command", "Released into the shared inbox.", list=self.assigned_list)
        self._move("released", decision, by=by.actor, now=now, to_list=self.assigned_list, note=note)

    def delegate(self, *, to: UUID, by: Caller, now: datetime, note: str | None = None) -> None:
        """The person asked hands it to another. Raises `NotAllowed`, `AlreadyClosed` or `Invalid`."""
        self._lapse(now)
        if self._was_delegated(by, to):
            return
        self._check_is_assignee(by, "delegate")
        self._check_open("delegate")
        self._check_may_be_given(to)
        if to == self.assigned_to and self.assigned_list is None:
            raise Invalid([FieldError("to", "has it already")])
        self._move("delegated", by_command(to), by=by.actor, now=now, note=note)

    def reassign(
        self, *, by: Caller, now: datetime, to: UUID | None = None, to_list: UUID | None = None, note: str | None = None
    ) -> None:
        """An administrator hands it to a person, or into the inbox that a list shares; nothing happens where it is.

        Raises `NotAllowed`, `AlreadyClosed`, or `Invalid` for somebody who may not answer it.
        """
        self._check_may_reassign(by, now)
        if to_list is not None:
            if (self.assigned_to, self.assigned_list) != (None, to_list):
                decision = into_list(to_list, "Put into this shared inbox by command.")
                self._move("reassigned", decision, by=by.actor, now=now, to_list=to_list, note=note)
            return
        assert to is not None
        self._check_may_be_given(to)
        if (self.assigned_to, self.assigned_list) != (to, None):
            self._move("reassigned", by_command(to), by=by.actor, now=now, note=note)

    def route_again(self, decision: Decision, *, by: Caller, now: datetime, note: str | None = None) -> None:
        """An administrator has it routed afresh. Raises `NotAllowed` or `AlreadyClosed`."""
        self._check_may_reassign(by, now)
        if (self.assigned_to, self.assigned_list) != (decision.chosen, decision.list):
            self._move("reassigned", decision, by=by.actor, now=now, to_list=decision.list, note=note)

    def move_on(self, decision: Decision, *, now: datetime) -> None:
        """The person asked is no longer there: it goes where routing says now. Nothing happens to a closed request."""
        self._lapse(now)
        if self.is_open:
            self._move("departed", decision, by=SYSTEM, now=now, to_list=decision.list)

    def _move(
        self,
        cause: Literal["claimed", "released", "delegated", "escalated", "reassigned", "departed"],
        decision: Decision,
        *,
        by: str,
        now: datetime,
        to_list: UUID | None = None,
        note: str | None = None,
        step: str | None = None,
    ) -> None:
        self.trigger_event(
            self.Reassigned,
            timestamp=now,
            actor=by,
            cause=cause,
            from_user=self.assigned_to,
            from_list=self.assigned_list,
            to_user=decision.chosen,
            to_list=to_list,
            step=step,
            assignment=decision.as_fact(),
            note=note,
        )

    def _check_is_assignee(self, by: Caller, wanted: str) -> None:
        if isinstance(by, PersonCaller) and by.may_act and (by.administers or by.id == self.assigned_to):
            return
        raise NotAllowed(f"only the person it is assigned to, or an administrator, may {wanted} this request")

    def _check_may_reassign(self, by: Caller, now: datetime) -> None:
        self._lapse(now)
        if not (isinstance(by, PersonCaller) and by.administers):
            raise NotAllowed("only an administrator may reassign a request")
        self._check_open("reassign")

    def _check_may_be_given(self, to: UUID) -> None:
        if to in self.excluded:
            raise Invalid([FieldError("to", "is the run user, who may not answer a request of this type")])

    def _lost_claim(self, by: Caller) -> bool:
        """Whether this person could have answered, had not somebody else claimed the request."""
        return (
            isinstance(by, PersonCaller)
            and by.may_act
            and self.claimed
            and self.assigned_list in by.lists
            and by.id not in self.excluded
        )

    def _claimed_by_another(self) -> AlreadyClaimed:
        assert self.assigned_to is not None
        return AlreadyClaimed("somebody else has claimed the request", by=self.assigned_to)

    def _has_released(self, by: Caller) -> bool:
        """Whether the last move was this person's release: a repeat, where the first answer was lost."""
        return self._last_move_is("released", by)

    def _was_delegated(self, by: Caller, to: UUID) -> bool:
        return self._last_move_is("delegated", by) and self.assigned_to == to

    def _last_move_is(self, cause: str, by: Caller) -> bool:
        return self.is_open and self.moved is not None and (self.moved.cause, self.moved.actor) == (cause, by.actor)

    # -- time

    def escalate(self, decision: Decision, *, step: str, now: datetime) -> None:
        """Carry out a step of the ladder that is due: the request goes to, or more people are told, as decided.

        Nothing happens where the request is closed, or the step is not the next one, or not due.
        """
        self._lapse(now)
        rung = self.timetable.rung_due(now)
        if not self.is_open or rung is None or self.timetable.rung_step != step:
            return
        if decision.chosen is None and decision.list is None:
            self._told(step, None, decision.reason, now)
        elif rung.notify_only:
            told = f"user:{decision.chosen}" if decision.chosen is not None else f"list:{decision.list}"
            self._told(step, told, None, now)
        else:
            self._move("escalated", decision, by=SYSTEM, now=now, to_list=decision.list, step=step)

    def _told(self, step: str, recipient: str | None, error: str | None, now: datetime) -> None:
        self.trigger_event(
            self.Notified,
            timestamp=now,
            actor=SYSTEM,
            step=step,
            channel=WEB,
            recipient=recipient,
            reference=None,
            attempt=1,
            delivered=recipient is not None,
            error=error,
            retry_at=None,
        )

    def notified(
        self,
        *,
        channel: str,
        step: str,
        planned_for: str | None,
        recipient: str | None,
        attempt: int,
        now: datetime,
        reference: dict[str, str] | None = None,
        error: str | None = None,
        retry_at: datetime | None = None,
    ) -> None:
        """A channel gave a notice, or failed with `error`; nothing happens where that is known already.

        `recipient` was told; `planned_for` says whom the notice was for, None: whoever was responsible. One that was
        given although it was no longer wanted, since the request moved meanwhile, is recorded all the same: the
        channel shows it, and must be able to find it again.
        """
        notice = self.timetable.notice(channel, step, planned_for)
        wanted = notice is not None and notice.attempt == attempt
        late = error is None and self.timetable.was_given_up(channel, Notice(step, now, attempt, planned_for))
        if not wanted and not late:
            return
        self.trigger_event(
            self.Notified,
            timestamp=now,
            actor=SYSTEM,
            step=step,
            channel=channel,
            recipient=recipient,
            reference=reference,
            attempt=attempt,
            delivered=error is None,
            error=error,
            retry_at=retry_at,
        )

    def shows_otherwise(self, event: Event) -> list[str]:
        """The channels whose messages do not show any more, or never did, how this event, the newest, left things."""
        match event:
            case self.Reassigned() | self.Responded() | self.Cancelled() | self.Expired() | self.ContentErased():
                return [each for each in self.timetable.channels if self.shown.get(each) or self.unsettled(each)]
            case self.Notified() if event.reference is not None:  # it was posted, and meanwhile things went on
                to = None if event.recipient is None else actor_id(event.recipient)
                asked = {self.assigned_to, self.assigned_list, *self.told}
                return [] if self.is_open and (to is None or to in asked) else [event.channel]
            case _:
                return []

    def unsettled(self, channel: str) -> list[Notice]:
        """Notices that this channel may have given although nothing says so."""
        return self.timetable.unsettled(channel, None if self.closing is None else self.closing.timestamp)

    def snooze(self, until: datetime | None, *, by: Caller, now: datetime) -> None:
        """Put it out of the inbox of whoever is asked until then; None brings it back.

        Reminders wait, deadlines do not. Raises `NotAllowed`, `AlreadyClosed` or `Invalid`.
        """
        self._lapse(now)
        self._check_is_assignee(by, "snooze")
        self._check_open("snooze")
        if self.assigned_to is None:
            raise Conflict("the request is in nobody's own inbox: claim it first")
        if until is not None and not now < until <= now + LONGEST_SNOOZE:
            raise Invalid([FieldError("until", f"must be in the future, at most {LONGEST_SNOOZE.days} days ahead")])
        if until != self.timetable.snoozed_until:
            self.trigger_event(self.Snoozed, timestamp=now, actor=by.actor, until=until)

    # -- what the agent does with the answer

    def collect(self, receipt: str, *, by: Caller, now: datetime) -> None:
        """Bind the sealed answer to the agent's receipt (SHA-256, hex); the same receipt may come again.

        Raises `NotFound` or `NotAllowed` to anybody but the owning agent, `NotAnswered` while open, `Conflict`
        where there is no sealed answer, `Gone` for another receipt or too late.
        """
        closing = self._answered(by, "collect")
        if not closing.sealed:
            raise Conflict("the answer is not sealed: read it from the request itself")
        if self.erased:
            raise Gone("the content of this request was erased")
        if self.acknowledged_at is not None:
            raise Gone("the answer was collected and acknowledged; it is no longer kept")
        if self.collected is not None:
            if self.collected.receipt != receipt:
                at = instant(self.collected.timestamp)
                raise Gone(f"the answer was collected at {at} with another receipt")
            if now >= self.collected.timestamp + RECEIPT_LIFETIME:
                raise Gone("the answer was collected more than 60 s ago; it is no longer kept")
            return
        if closing.sealed_until is not None and now >= closing.sealed_until:
            raise Gone(f"nobody collected the answer by {instant(closing.sealed_until)}; it is no longer kept")
        self.trigger_event(self.Collected, timestamp=now, actor=by.actor, receipt=receipt)

    def acknowledge(self, receipt: str | None, *, by: Caller, now: datetime) -> None:
        """The agent has the answer and used it, also where its content was erased since. A repeat does nothing.

        Raises as `collect` does, but for the answer that is not sealed, which needs no receipt. A sealed one needs
        that which it was collected with: `Invalid` without.
        """
        closing = self._answered(by, "acknowledge")
        if closing.sealed:
            if receipt is None:
                raise Invalid([FieldError("receipt", "is required: the one that the sealed answer was collected with")])
            if self.collected is None:
                raise Conflict("nothing was collected yet: collect the answer with this receipt first")
            if self.collected.receipt != receipt:
                raise Gone("the answer was collected with another receipt")
        if self.acknowledged_at is None:
            self.trigger_event(self.Acknowledged, timestamp=now, actor=by.actor)

    def _answered(self, by: Caller, wanted: Literal["collect", "acknowledge"]) -> Responded:
        if not isinstance(by, AgentCaller):
            raise NotAllowed(f"only the agent that asked may {wanted} the answer")
        if not self._is_own(by):
            raise self._unseen(by)
        if self.closing is None:
            raise NotAnswered(f"the request is not answered yet: wait for it, then {wanted}")
        if not isinstance(self.closing, self.Responded):
            raise self._closed(wanted)
        return self.closing

    @property
    def erase_due(self) -> datetime | None:
        """When the content is erased as was planned when it was asked; None: it is open, never, or erased already."""
        after = self.timetable.erase_after
        return None if self.closing is None or after is None or self.erased else self.closing.timestamp + after

    def erase_as_planned(self, *, now: datetime) -> None:
        """Carry out the erasure that its plan has. Nothing happens where it is open, or before its time."""
        due = self.erase_due
        if due is not None and due <= now:
            self.trigger_event(self.ContentErased, timestamp=now, actor=SYSTEM)

    def erase(self, *, by: Caller, now: datetime) -> None:
        """Have the content made unreadable. Raises `NotAllowed`, or `Conflict` while the request is open."""
        if not (isinstance(by, PersonCaller) and by.administers):
            raise NotAllowed("only an administrator may erase content")
        if self.is_open:
            raise Conflict("the request is still open: cancel it first, then erase its content")
        if not self.erased:
            self.trigger_event(self.ContentErased, timestamp=now, actor=by.actor)

    # -- refusals

    def _check_open(self, wanted: str) -> None:
        if not self.is_open:
            raise self._closed(wanted)

    def _closed(self, wanted: str) -> AlreadyClosed:
        assert self.closing is not None
        at = self.closing.timestamp
        ended = {
            Status.RESPONDED: "was answered",
            Status.CANCELLED: "was cancelled",
            Status.EXPIRED: "expired",
        }[self.status]
        return AlreadyClosed(
            f"cannot {wanted}: the request {ended} at {instant(at)}",
            status=str(self.status),
            by=self.closing.actor,
            at=at,
        )


def rebuild(events: Iterable[RecordedEvent]) -> Any:
    """The aggregate that these events, in order, make; None for no events."""
    aggregate: Any = None
    for event in events:
        aggregate = event.mutate(aggregate)
    return aggregate


def instant(at: datetime) -> str:
    """RFC 3339 in UTC with `Z`, to the millisecond."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _uuid(text: str | None) -> UUID | None:
    return UUID(text) if text else None


def _asked_content(asked: Request.Requested) -> str:
    """Equal text for equal JSON: unlike Python's `==` it keeps `true` and `1` apart."""
    return json.dumps(
        [
            asked.message,
            asked.context,
            asked.request_type,
            asked.response_schema,
            asked.options,
            asked.labels,
            asked.secret,
        ],
        sort_keys=True,
        ensure_ascii=False,
    )
