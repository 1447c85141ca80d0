"""Any commands, by any callers, in any order, at advancing times: what always holds of a request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from domain.answers import Answer, Question
from domain.assignment import fall_back
from domain.callers import AgentCaller, Caller, PersonCaller, Role, Via
from domain.errors import FieldError, Invalid, Refusal
from domain.recorded import RecordedEvent
from domain.request import Request, Status, rebuild

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
AGENT = AgentCaller(UUID(int=1), key_id=UUID(int=101))
PEOPLE = [
    PersonCaller(UUID(int=11), Role.MEMBER),
    PersonCaller(UUID(int=12), Role.MEMBER, owns=frozenset({AGENT.id})),
    PersonCaller(UUID(int=13), Role.ADMINISTRATOR),
    PersonCaller(UUID(int=14), Role.AUDITOR),
]
CALLERS: list[Caller] = [
    AGENT,
    AgentCaller(AGENT.id, key_id=UUID(int=102), run_user=PEOPLE[0].id),
    AgentCaller(UUID(int=2), key_id=UUID(int=103)),
    *PEOPLE,
]
ANSWERS = [Answer("answered", text="yes"), Answer("rejected", data={"approved": False}), None]
RECEIPTS = ["a" * 64, "b" * 64]

TERMINAL = (Request.Responded, Request.Cancelled, Request.Expired)
KEPT_OF_A_REFUSAL = (Request.Expired, Request.AnswerRefused)
AFTERWARDS = (Request.AnswerRefused, Request.Collected, Request.Acknowledged, Request.ContentErased)

callers = st.sampled_from(CALLERS)


class Life(RuleBasedStateMachine):
    """One request, and everything that was recorded of it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.events: list[RecordedEvent] = []
        self.vault: Answer | None = None
        self.request: Request

    @initialize(
        sealed=st.booleans(),
        seconds=st.none() | st.integers(1, 300),
        asked=st.none() | st.sampled_from(PEOPLE),
    )
    def ask(self, sealed: bool, seconds: int | None, asked: PersonCaller | None) -> None:
        person = None if asked is None else asked.id
        self.request = Request.ask(
            by=AGENT,
            now=self.now,
            unique_id="deploy",
            question=Question("clarification", secret=sealed),
            sealed=sealed,
            message="May I?",
            decision=fall_back(person),
            priority=50,
            run_user=person,
            expires_at=None if seconds is None else self.now + timedelta(seconds=seconds),
        )
        self.record()

    @rule(seconds=st.sampled_from([0.001, 1, 59, 60, 300, 90_000]))
    def time_passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(by=callers, answer=st.sampled_from(ANSWERS), kept_for=st.integers(1, 600))
    def respond(self, by: Caller, answer: Answer | None, kept_for: int) -> None:
        def read(question: Question) -> Answer:
            if answer is None:
                raise Invalid([FieldError("text", "not clear")])
            return answer

        given = self.when(
            lambda request: request.respond(
                read, by=by, via=Via.API, now=self.now, earlier=self.vault, keep_sealed_for=timedelta(seconds=kept_for)
            )
        )
        if given is not None and self.request.asked.sealed:
            self.vault = given

    @rule(by=callers)
    def cancel(self, by: Caller) -> None:
        self.when(lambda request: request.cancel(by=by, now=self.now, reason="why"))

    @rule()
    def expire(self) -> None:
        self.when(lambda request: request.expire(now=self.now))

    @rule(by=callers, to=st.sampled_from(PEOPLE))
    def reassign(self, by: Caller, to: PersonCaller) -> None:
        self.when(lambda request: request.reassign(to=to.id, by=by, now=self.now, note="note"))

    @rule(by=callers, receipt=st.sampled_from(RECEIPTS))
    def collect(self, by: Caller, receipt: str) -> None:
        self.when(lambda request: request.collect(receipt, by=by, now=self.now))

    @rule(by=callers, receipt=st.sampled_from(RECEIPTS))
    def acknowledge(self, by: Caller, receipt: str) -> None:
        self.when(lambda request: request.acknowledge(receipt, by=by, now=self.now))

    @precondition(lambda self: not self.request.is_open)
    @rule(by=callers)
    def erase(self, by: Caller) -> None:
        self.when(lambda request: request.erase(by=by, now=self.now))

    def when(self, command: Any) -> Any:
        """Run a command; what a refusal may do to the request is checked here."""
        closed = not self.request.is_open
        try:
            returned = command(self.request)
        except Refusal:
            returned = None
            assert all(isinstance(event, KEPT_OF_A_REFUSAL) for event in self.request.pending_events)
        if closed:
            assert all(isinstance(event, AFTERWARDS) for event in self.request.pending_events)
        self.record()
        return returned

    def record(self) -> None:
        self.events += self.request.collect_events()

    # -- what always holds

    @invariant()
    def replaying_the_events_gives_the_live_state(self) -> None:
        """In particular a refused command has changed nothing beyond the facts it recorded."""
        if self.events:
            assert rebuild(self.events) == self.request

    @invariant()
    def there_is_at_most_one_terminal_event_and_it_is_final(self) -> None:
        terminal = [event for event in self.events if isinstance(event, TERMINAL)]
        if not self.events:
            return
        assert len(terminal) <= 1
        assert self.request.status == (Status(type(terminal[0]).__name__) if terminal else Status.REQUESTED)
        assert self.request.closing == (terminal[0] if terminal else None)
        if terminal:
            after = self.events[terminal[0].originator_version :]
            assert all(isinstance(event, AFTERWARDS) for event in after)

    @invariant()
    def versions_count_up_and_times_never_go_back(self) -> None:
        assert [event.originator_version for event in self.events] == list(range(1, len(self.events) + 1))
        times = [event.timestamp for event in self.events]
        assert times == sorted(times)
        assert all(START <= at <= self.now and at.tzinfo is not None for at in times)

    @invariant()
    def no_answer_comes_after_the_deadline_and_none_expires_before_it(self) -> None:
        if not self.events:
            return
        deadline = self.request.asked.expires_at
        for event in self.events:
            if isinstance(event, Request.Expired):
                assert deadline is not None
                assert event.timestamp >= deadline
                assert (event.actor, self.request.answer) == ("system", None)
                assert vars(event).keys() == {"originator_id", "originator_version", "timestamp", "actor"}
            elif deadline is not None and isinstance(event, (Request.Responded, Request.Cancelled, Request.Reassigned)):
                assert event.timestamp < deadline

    @invariant()
    def only_people_who_may_act_have_answered(self) -> None:
        may_act = {person.actor for person in PEOPLE if person.may_act}
        assert {event.actor for event in self.events if isinstance(event, Request.Responded)} <= may_act

    @invariant()
    def a_sealed_answer_is_in_no_event_and_one_receipt_collects_it(self) -> None:
        for event in self.events:
            if isinstance(event, Request.Responded) and event.sealed:
                assert (event.outcome, event.text, event.data) == ("answered", None, None)
        assert sum(isinstance(event, Request.Collected) for event in self.events) <= 1

    @invariant()
    def a_refused_attempt_is_kept_once_for_each_person_and_reason(self) -> None:
        attempts = [(event.actor, event.why) for event in self.events if isinstance(event, Request.AnswerRefused)]
        assert len(attempts) == len(set(attempts))


Life.TestCase.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
TestLife = Life.TestCase
