"""Any commands, by any callers, in any order, at advancing times: what always holds of a request."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from domain.answers import Answer, Question
from domain.assignment import Decision
from domain.callers import AgentCaller, Caller, PersonCaller, Role, Via
from domain.errors import FieldError, Invalid, Refusal
from domain.recorded import RecordedEvent
from domain.request import Request, Status, rebuild

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
AGENT = AgentCaller(UUID(int=1), key_id=UUID(int=101))
LISTS = [UUID(int=30), UUID(int=31)]
PEOPLE = [
    PersonCaller(UUID(int=11), Role.MEMBER),
    PersonCaller(UUID(int=12), Role.MEMBER, owns=frozenset({AGENT.id}), lists=frozenset(LISTS[:1])),
    PersonCaller(UUID(int=13), Role.ADMINISTRATOR),
    PersonCaller(UUID(int=14), Role.AUDITOR, lists=frozenset(LISTS)),
    PersonCaller(UUID(int=15), Role.MEMBER, lists=frozenset(LISTS)),
    PersonCaller(UUID(int=16), Role.ADMINISTRATOR, lists=frozenset(LISTS[1:])),
]
CALLERS: list[Caller] = [
    AGENT,
    AgentCaller(AGENT.id, key_id=UUID(int=102), run_user=PEOPLE[0].id),
    AgentCaller(UUID(int=2), key_id=UUID(int=103)),
    *PEOPLE,
]
ANSWERS = [Answer("answered", text="yes"), Answer("rejected", data={"approved": False}), None]
RECEIPTS = ["a" * 64, "b" * 64]
REFUSED = object()

TERMINAL = (Request.Responded, Request.Cancelled, Request.Expired)
KEPT_OF_A_REFUSAL = (Request.Expired, Request.AnswerRefused)
AFTERWARDS = (Request.AnswerRefused, Request.Collected, Request.Acknowledged, Request.ContentErased)

callers = st.sampled_from(CALLERS)
people = st.sampled_from(PEOPLE)
anywhere = st.one_of(
    st.builds(lambda person: Decision("category", "so", chosen=person.id, candidates=(person.id,)), people),
    st.builds(lambda list_id: Decision("category", "so", list=list_id), st.sampled_from(LISTS)),
    st.just(Decision("fallback", "so")),
)


class Life(RuleBasedStateMachine):
    """One request, and everything that was recorded of it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.events: list[RecordedEvent] = []
        self.vault: Answer | None = None
        self.added: list[RecordedEvent] = []
        """What the last move recorded."""
        self.request: Request

    @initialize(
        sealed=st.booleans(),
        seconds=st.none() | st.integers(1, 300),
        run_user=st.none() | people,
        decision=anywhere,
        no_self_answer=st.booleans(),
    )
    def ask(
        self,
        sealed: bool,
        seconds: int | None,
        run_user: PersonCaller | None,
        decision: Decision,
        no_self_answer: bool,
    ) -> None:
        person = None if run_user is None else run_user.id
        if no_self_answer and person is not None:
            chosen = None if decision.chosen == person else decision.chosen
            decision = replace(decision, chosen=chosen, excluded=(person,))
        self.request = Request.ask(
            by=AGENT,
            now=self.now,
            unique_id="deploy",
            question=Question("clarification", secret=sealed),
            sealed=sealed,
            message="May I?",
            decision=decision,
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

        may_answer = self.eligible(by)
        given = self.when(
            lambda request: request.respond(
                read, by=by, via=Via.API, now=self.now, earlier=self.vault, keep_sealed_for=timedelta(seconds=kept_for)
            )
        )
        if isinstance(given, Answer):
            assert may_answer
            if self.request.asked.sealed:
                self.vault = given

    def eligible(self, by: Caller) -> bool:
        """Who may answer, said in another way than the code does."""
        request = self.request
        if not isinstance(by, PersonCaller) or by.role is Role.AUDITOR or by.id in request.excluded:
            return False
        if by.role is Role.ADMINISTRATOR:
            return True
        return by.id == request.assigned_to if request.assigned_to is not None else request.assigned_list in by.lists

    @rule(by=callers)
    def cancel(self, by: Caller) -> None:
        self.when(lambda request: request.cancel(by=by, now=self.now, reason="why"))

    @rule()
    def expire(self) -> None:
        self.when(lambda request: request.expire(now=self.now))

    @rule(by=callers, to=people)
    def reassign(self, by: Caller, to: PersonCaller) -> None:
        self.when(lambda request: request.reassign(to=to.id, by=by, now=self.now, note="note"))

    @rule(by=callers, to_list=st.sampled_from(LISTS))
    def reassign_to_list(self, by: Caller, to_list: UUID) -> None:
        self.when(lambda request: request.reassign(to_list=to_list, by=by, now=self.now))

    @rule(by=callers, decision=anywhere)
    def route_again(self, by: Caller, decision: Decision) -> None:
        if decision.chosen not in self.request.excluded:  # routing names nobody who may not answer
            self.when(lambda request: request.route_again(decision, by=by, now=self.now))

    @rule(decision=anywhere)
    def move_on(self, decision: Decision) -> None:
        if decision.chosen not in self.request.excluded:
            self.when(lambda request: request.move_on(decision, now=self.now))

    @rule(by=callers)
    def claim(self, by: Caller) -> None:
        had = (self.request.assigned_to, self.request.assigned_list)
        self.moves(lambda request: request.claim(by=by, now=self.now))
        if self.recorded("claimed"):
            assert isinstance(by, PersonCaller)
            assert had[0] is None
            assert (self.request.assigned_to, self.request.assigned_list) == (by.id, had[1])
            assert by.administers or had[1] in by.lists

    @rule(by=callers)
    def release(self, by: Caller) -> None:
        claimed, list_id = self.request.claimed, self.request.assigned_list
        self.moves(lambda request: request.release(by=by, now=self.now))
        if self.recorded("released"):
            assert claimed
            assert (self.request.assigned_to, self.request.assigned_list) == (None, list_id)

    @rule(by=callers, to=people)
    def delegate(self, by: Caller, to: PersonCaller) -> None:
        self.moves(lambda request: request.delegate(to=to.id, by=by, now=self.now))
        if self.recorded("delegated"):
            assert (self.request.assigned_to, self.request.assigned_list) == (to.id, None)

    def moves(self, command: Any) -> None:
        """Run a command that moves the request; the same again at once is as good as done."""
        before = len(self.events)
        if self.when(command) is not REFUSED:
            self.added = self.events[before:]
            again = len(self.events)
            assert self.when(command) is not REFUSED
            assert len(self.events) == again
        else:
            self.added = []

    def recorded(self, cause: str) -> bool:
        return any(isinstance(event, Request.Reassigned) and event.cause == cause for event in self.added)

    @rule(by=callers, receipt=st.sampled_from(RECEIPTS))
    def collect(self, by: Caller, receipt: str) -> None:
        self.when(lambda request: request.collect(receipt, by=by, now=self.now))

    @rule(by=callers, receipt=st.sampled_from([*RECEIPTS, None]))
    def acknowledge(self, by: Caller, receipt: str | None) -> None:
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
            returned = REFUSED
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
    def nobody_answers_who_may_not(self) -> None:
        """And `may_answer` says the same as the commands do."""
        if not self.events:
            return
        for caller in CALLERS:
            assert self.request.may_answer(caller) == self.eligible(caller)
        excluded = {person.actor for person in PEOPLE if person.id in self.request.excluded}
        assert not excluded & {event.actor for event in self.events if isinstance(event, Request.Responded)}
        assert self.request.assigned_to is None or self.request.assigned_to not in self.request.excluded

    @invariant()
    def what_is_claimed_is_somebody_s_and_only_that_is_both_a_person_s_and_a_list_s(self) -> None:
        if not self.events:
            return
        request = self.request
        assert not request.claimed or request.assigned_to is not None
        assert request.claimed or request.assigned_to is None or request.assigned_list is None
        assert not request.claimed or (request.moved is not None and request.moved.cause == "claimed")

    @invariant()
    def moves_join_up_and_whoever_had_it_keeps_reading(self) -> None:
        if not self.events:
            return
        asked = self.request.asked.assignment
        at = (UUID(asked["chosen"]) if asked["chosen"] else None, UUID(asked["list"]) if asked["list"] else None)
        had = {at[0]}
        for event in self.events:
            if isinstance(event, Request.Reassigned):
                assert (event.from_user, event.from_list) == at
                at = (event.to_user, event.to_list)
                had.add(at[0])
        assert (self.request.assigned_to, self.request.assigned_list) == at
        for person in PEOPLE:
            if person.id in had:
                assert self.request.may_read(person)

    @invariant()
    def a_sealed_answer_is_in_no_event_and_one_receipt_collects_it(self) -> None:
        for event in self.events:
            if isinstance(event, Request.Responded) and event.sealed:
                assert (event.outcome, event.text, event.data) == ("answered", None, None)
        assert sum(isinstance(event, Request.Collected) for event in self.events) <= 1

    @invariant()
    def an_agent_acknowledges_its_answer_once_and_a_sealed_one_after_collecting_it(self) -> None:
        acknowledged = [event for event in self.events if isinstance(event, Request.Acknowledged)]
        assert len(acknowledged) <= 1
        for event in acknowledged:
            assert (event.actor, self.request.status) == (AGENT.actor, Status.RESPONDED)
            assert not self.request.asked.sealed or self.request.collected is not None

    @invariant()
    def a_refused_attempt_is_kept_once_for_each_person_and_reason(self) -> None:
        attempts = [(event.actor, event.why) for event in self.events if isinstance(event, Request.AnswerRefused)]
        assert len(attempts) == len(set(attempts))


Life.TestCase.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
TestLife = Life.TestCase
