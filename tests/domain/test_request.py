"""What a request allows and what it records: given these events, when this command, then those events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from domain.answers import Answer, Labels, Question
from domain.assignment import Decision, by_command, fall_back, into_list
from domain.callers import AgentCaller, Caller, PersonCaller, Role, Via
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
    Refusal,
)
from domain.recorded import RecordedEvent
from domain.request import NO_SUCH_REQUEST, RECEIPT_LIFETIME, Request, Status, rebuild, request_id
from domain.routing import Subject
from domain.strategies import Parsed

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
NOW = START + 10 * SECOND
DEADLINE = START + timedelta(minutes=5)

AGENT = AgentCaller(UUID(int=1), key_id=UUID(int=101))
OTHER_AGENT = AgentCaller(UUID(int=2), key_id=UUID(int=102))
ANNA = PersonCaller(UUID(int=11), Role.MEMBER)
BERT = PersonCaller(UUID(int=12), Role.MEMBER)
ADMIN = PersonCaller(UUID(int=13), Role.ADMINISTRATOR)
AUDITOR = PersonCaller(UUID(int=14), Role.AUDITOR)
ASSIGNED_AUDITOR = PersonCaller(ANNA.id, Role.AUDITOR)
OWNER = PersonCaller(UUID(int=15), Role.MEMBER, owns=frozenset({AGENT.id}))
FOR_ANNA = AgentCaller(AGENT.id, key_id=UUID(int=103), run_user=ANNA.id)
FOR_BERT = AgentCaller(AGENT.id, key_id=UUID(int=104), run_user=BERT.id)

ON_CALL, NIGHTS = UUID(int=30), UUID(int=31)
CARL = PersonCaller(UUID(int=21), Role.MEMBER, lists=frozenset({ON_CALL}))
DORA = PersonCaller(UUID(int=22), Role.MEMBER, lists=frozenset({ON_CALL}))
OUTSIDER = PersonCaller(UUID(int=23), Role.MEMBER, lists=frozenset({NIGHTS}))
LISTED_AUDITOR = PersonCaller(UUID(int=24), Role.AUDITOR, lists=frozenset({ON_CALL}))

ID = request_id(AGENT.id, "deploy")
YES = Answer("answered", text="yes")
NO = Answer("answered", text="no")
RECEIPT, OTHER_RECEIPT = "a" * 64, "b" * 64

Fact = Callable[[int], RecordedEvent]
"""An event that still lacks its version."""


def fact(kind: type[RecordedEvent], by: Caller | str, at: datetime = NOW, **values: Any) -> Fact:
    actor = by if isinstance(by, str) else by.actor

    def made(version: int) -> RecordedEvent:
        return kind(originator_id=ID, originator_version=version, timestamp=at, actor=actor, **values)

    return made


def requested(**changes: Any) -> Fact:
    values: dict[str, Any] = {
        "originator_topic": "handraise.Request",
        "unique_id": "deploy",
        "agent_id": AGENT.id,
        "request_type": "clarification",
        "run_id": None,
        "run_step_id": None,
        "run_user": ANNA.id,
        "secret": False,
        "sealed": False,
        "priority": 50,
        "expires_at": None,
        "assignment": fall_back(ANNA.id).as_fact(),
        "plan": [{"step": "show", "at": "2026-03-01T12:00:00.000Z", "what": "shown in the inbox"}],
        "message": "May I?",
        "context": None,
        "response_schema": None,
        "ui_schema": None,
        "options": None,
        "labels": None,
        "metadata": None,
    }
    return fact(Request.Requested, AGENT, START, **values | changes)


def requested_until_deadline(**changes: Any) -> Fact:
    return requested(expires_at=DEADLINE, **changes)


def responded(by: Caller, answer: Answer = YES, at: datetime = NOW, via: str = "web") -> Fact:
    return fact(
        Request.Responded,
        by,
        at,
        via=via,
        outcome=answer.outcome,
        sealed=False,
        sealed_until=None,
        text=answer.text,
        data=answer.data,
    )


def responded_sealed(by: Caller, at: datetime = NOW, until: datetime = NOW + timedelta(hours=24)) -> Fact:
    return fact(
        Request.Responded,
        by,
        at,
        via="web",
        outcome="answered",
        sealed=True,
        sealed_until=until,
        text=None,
        data=None,
    )


def cancelled(by: Caller, at: datetime = NOW, reason: str | None = None) -> Fact:
    return fact(Request.Cancelled, by, at, reason=reason)


def expired(at: datetime = DEADLINE) -> Fact:
    return fact(Request.Expired, "system", at)


def refused(by: Caller, why: str, at: datetime = NOW) -> Fact:
    return fact(Request.AnswerRefused, by, at, via="web", why=why, stranger=None)


def moved(
    cause: str,
    by: Caller | str,
    decision: Decision,
    *,
    was: PersonCaller | None = None,
    of: UUID | None = None,
    to_list: UUID | None = None,
    at: datetime = NOW,
    note: str | None = None,
) -> Fact:
    """A move of whatever cause. `of` is the list that it was in."""
    return fact(
        Request.Reassigned,
        by,
        at,
        cause=cause,
        from_user=was.id if was else None,
        from_list=of,
        to_user=decision.chosen,
        to_list=to_list or decision.list,
        step=None,
        assignment=decision.as_fact(),
        note=note,
    )


def reassigned(to: PersonCaller, was: PersonCaller | None = ANNA, **more: Any) -> Fact:
    return moved("reassigned", ADMIN, by_command(to.id), was=was, **more)


def put_into_list(list_id: UUID, **more: Any) -> Fact:
    return moved("reassigned", ADMIN, into_list(list_id, "Put into this shared inbox by command."), **more)


def claimed(by: PersonCaller, of: UUID | None = ON_CALL, **more: Any) -> Fact:
    return moved("claimed", by, by_command(by.id, "Claimed from the shared inbox."), of=of, to_list=of, **more)


def released(by: PersonCaller, was: PersonCaller, **more: Any) -> Fact:
    return moved("released", by, into_list(ON_CALL, "Released into the shared inbox."), was=was, of=ON_CALL, **more)


def delegated(by: PersonCaller, to: PersonCaller, was: PersonCaller = ANNA, **more: Any) -> Fact:
    return moved("delegated", by, by_command(to.id), was=was, **more)


def collected(at: datetime = NOW, receipt: str = RECEIPT) -> Fact:
    return fact(Request.Collected, AGENT, at, receipt=receipt)


def acknowledged(at: datetime = NOW) -> Fact:
    return fact(Request.Acknowledged, AGENT, at)


def erased(at: datetime = NOW) -> Fact:
    return fact(Request.ContentErased, ADMIN, at)


@dataclass
class Outcome:
    """What came of a command: what it returned or how it was refused, and what it recorded."""

    before: int
    request: Request
    returned: Any = None
    refusal: Refusal | None = None

    def then(self, *facts: Fact) -> None:
        assert self.refusal is None, self.refusal
        self._recorded(facts)

    def then_returns(self, value: Any, *facts: Fact) -> None:
        self.then(*facts)
        assert self.returned == value

    def then_refused(self, kind: type[Refusal], detail: str, *facts: Fact) -> Refusal:
        """Refused in exactly this way; `facts` are what was found out and is kept all the same."""
        assert (type(self.refusal), str(self.refusal)) == (kind, detail)
        self._recorded(facts)
        assert self.refusal is not None
        return self.refusal

    def _recorded(self, facts: tuple[Fact, ...]) -> None:
        assert self.request.pending_events == [made(self.before + 1 + number) for number, made in enumerate(facts)]


class given:
    def __init__(self, *facts: Fact) -> None:
        self.events = [made(number) for number, made in enumerate(facts, 1)]

    def request(self) -> Request:
        return rebuild(self.events)

    def when(self, command: Callable[[Request], Any]) -> Outcome:
        outcome = Outcome(len(self.events), self.request())
        try:
            outcome.returned = command(outcome.request)
        except Refusal as refusal:
            outcome.refusal = refusal
        return outcome


def says(answer: Answer) -> Callable[[Question], Answer]:
    return lambda question: answer


def mumbles(question: Question) -> Answer:
    raise Invalid([FieldError("text", "not clear")])


def respond(by: Caller, answer: Answer = YES, at: datetime = NOW, **more: Any) -> Callable[[Request], Any]:
    return lambda request: request.respond(says(answer), by=by, via=Via.WEB, now=at, **more)


def cancel(by: Caller, at: datetime = NOW, reason: str | None = None) -> Callable[[Request], Any]:
    return lambda request: request.cancel(by=by, now=at, reason=reason)


def expire(at: datetime) -> Callable[[Request], Any]:
    return lambda request: request.expire(now=at)


def reassign(to: PersonCaller, by: Caller, at: datetime = NOW, note: str | None = None) -> Callable[[Request], Any]:
    return lambda request: request.reassign(to=to.id, by=by, now=at, note=note)


def reassign_to_list(
    list_id: UUID, by: Caller, at: datetime = NOW, note: str | None = None
) -> Callable[[Request], Any]:
    return lambda request: request.reassign(to_list=list_id, by=by, now=at, note=note)


def route_again(
    decision: Decision, by: Caller, at: datetime = NOW, note: str | None = None
) -> Callable[[Request], Any]:
    return lambda request: request.route_again(decision, by=by, now=at, note=note)


def move_on(decision: Decision, at: datetime = NOW) -> Callable[[Request], Any]:
    return lambda request: request.move_on(decision, now=at)


def claim(by: Caller, at: datetime = NOW, note: str | None = None) -> Callable[[Request], Any]:
    return lambda request: request.claim(by=by, now=at, note=note)


def release(by: Caller, at: datetime = NOW, note: str | None = None) -> Callable[[Request], Any]:
    return lambda request: request.release(by=by, now=at, note=note)


def delegate(to: PersonCaller, by: Caller, at: datetime = NOW, note: str | None = None) -> Callable[[Request], Any]:
    return lambda request: request.delegate(to=to.id, by=by, now=at, note=note)


def collect(by: Caller = AGENT, receipt: str = RECEIPT, at: datetime = NOW) -> Callable[[Request], Any]:
    return lambda request: request.collect(receipt, by=by, now=at)


def acknowledge(by: Caller = AGENT, receipt: str | None = RECEIPT, at: datetime = NOW) -> Callable[[Request], Any]:
    return lambda request: request.acknowledge(receipt, by=by, now=at)


def erase(by: Caller, at: datetime = NOW) -> Callable[[Request], Any]:
    return lambda request: request.erase(by=by, now=at)


SEALED = (requested(sealed=True, secret=True), responded_sealed(ANNA))
CLOSED_BY_ANNA = "the request was answered at 2026-03-01T12:00:10.000Z"
LAPSED = "the request expired at 2026-03-01T12:05:00.000Z"
CLAIMED = "somebody else has claimed the request"
ONLY_ASSIGNEE_ANSWERS = "only the person it is assigned to, or an administrator, may answer this request"
ONLY_MEMBERS_ANSWER = "only members of the list it is assigned to, or an administrator, may answer this request"
ONLY_MEMBERS_CLAIM = "only members of the list that it is assigned to, or who were told, may claim a request"
OWN = "the run user may not answer a request of this type: somebody else must"

TO_LIST = Decision("request_type", "Whoever takes it.", list=ON_CALL, candidates=(CARL.id, DORA.id))
IN_INBOX = requested(assignment=TO_LIST.as_fact())
IN_INBOX_UNTIL_DEADLINE = requested(assignment=TO_LIST.as_fact(), expires_at=DEADLINE)
OWN_QUESTION = requested(assignment=replace(TO_LIST, excluded=(ANNA.id,)).as_fact())


def only_assignee(wanted: str) -> str:
    return f"only the person it is assigned to, or an administrator, may {wanted} this request"


# -- asking


def ask(**changes: Any) -> Request:
    values: dict[str, Any] = {
        "by": AGENT,
        "now": START,
        "unique_id": "deploy",
        "question": Question("clarification"),
        "sealed": False,
        "message": "May I?",
        "decision": fall_back(ANNA.id),
        "priority": 50,
        "run_user": ANNA.id,
    }
    return Request.ask(**values | changes)


def test_asking_records_the_question_the_decision_and_the_plan() -> None:
    """All that was asked stands in the one event, under the id that agent and unique_id make."""
    schema = {"type": "object", "properties": {"code": {"type": "string"}}}
    made = ask(
        question=Question("data-input", response_schema=schema, labels=Labels("Go", "Stop"), secret=True),
        sealed=True,
        context="for the release",
        ui_schema={"code": {"ui:widget": "password"}},
        labels={"approve": "Go", "reject": "Stop"},
        priority=7,
        run_id="run-1",
        run_step_id="step-2",
        expires_at=DEADLINE,
        metadata={"k": [1, True, None]},
    )
    plan = [
        {"step": "show", "at": "2026-03-01T12:00:00.000Z", "what": "shown in the inbox"},
        {"step": "expire", "at": "2026-03-01T12:05:00.000Z", "what": "expires unless it was answered"},
    ]
    assert made.pending_events == [
        requested(
            request_type="data-input",
            response_schema=schema,
            secret=True,
            sealed=True,
            context="for the release",
            ui_schema={"code": {"ui:widget": "password"}},
            labels={"approve": "Go", "reject": "Stop"},
            priority=7,
            run_id="run-1",
            run_step_id="step-2",
            expires_at=DEADLINE,
            metadata={"k": [1, True, None]},
            plan=plan,
        )(1)
    ]
    assert (made.id, made.status, made.assigned_to, made.is_open) == (ID, Status.REQUESTED, ANNA.id, True)


@pytest.mark.parametrize("expires_at", [START, START - SECOND])
def test_asking_with_a_deadline_that_has_passed_is_refused(expires_at: datetime) -> None:
    """A deadline lies in the future; the refusal names the field."""
    with pytest.raises(Invalid) as refusal:
        ask(expires_at=expires_at)
    assert [error.path for error in refusal.value.errors] == ["expires_at"]


def test_the_assignment_decides_who_is_asked() -> None:
    """A decision for a list, a person, or nobody is what the request then says."""
    decision = Decision("command", "to the list", list=UUID(int=30))
    nobody = ask(decision=fall_back(None), run_user=None)
    listed = ask(decision=decision)
    assert (nobody.assigned_to, nobody.assigned_list) == (None, None)
    assert (listed.assigned_to, listed.assigned_list) == (None, UUID(int=30))


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"priority": 1, "run_id": "again", "metadata": {"try": 2}, "expires_at": DEADLINE}, True),
        ({"ui_schema": {"a": 1}}, True),
        ({"message": "May I, please?"}, False),
        ({"context": "more"}, False),
        ({"labels": {"approve": "Go"}}, False),
        ({"question": Question("approval")}, False),
        ({"question": Question("clarification", options=("a", "b"))}, False),
        ({"question": Question("clarification", secret=True)}, False),
        ({"question": Question("clarification", response_schema={"const": 1})}, False),
    ],
)
def test_a_repeat_is_the_same_when_the_person_would_see_the_same(changes: dict[str, Any], same: bool) -> None:
    """Message, context, type, schema, options, labels and secret count; everything else of a repeat does not."""
    assert ask().asks_the_same(ask(**changes)) is same


def test_true_and_one_are_different_content() -> None:
    """JSON's true is not 1, though Python's is; the order of names in an object does not count."""
    one = ask(question=Question("data-input", response_schema={"const": 1, "title": "x"}))
    true = ask(question=Question("data-input", response_schema={"const": True, "title": "x"}))
    turned = ask(question=Question("data-input", response_schema={"title": "x", "const": 1}))
    assert not one.asks_the_same(true)
    assert one.asks_the_same(turned)


def test_the_question_is_what_an_answer_is_read_against() -> None:
    """Type, schema, options, labels and secret come back as they were asked."""
    question = Question("approval", options=("a", "b"), labels=Labels("Go", "Stop"), secret=True)
    assert ask(question=question, labels={"approve": "Go", "reject": "Stop"}).question == question


# -- answering


@pytest.mark.parametrize("by", [ANNA, ADMIN])
def test_the_assignee_and_administrators_may_answer(by: PersonCaller) -> None:
    """The first accepted answer closes the request."""
    outcome = given(requested()).when(respond(by))
    outcome.then_returns(YES, responded(by))
    assert (outcome.request.status, outcome.request.answer, outcome.request.is_open) == (Status.RESPONDED, YES, False)


@pytest.mark.parametrize(
    ("by", "detail"),
    [
        (BERT, "only the person it is assigned to, or an administrator, may answer this request"),
        (OWNER, "only the person it is assigned to, or an administrator, may answer this request"),
        (AUDITOR, "an auditor reads everything and changes nothing"),
        (ASSIGNED_AUDITOR, "an auditor reads everything and changes nothing"),
        (AGENT, "an agent can never answer a request; a person must"),
        (FOR_ANNA, "an agent can never answer a request; a person must"),
    ],
)
def test_others_may_not_answer_and_the_attempt_is_kept(by: Caller, detail: str) -> None:
    """A refused attempt is a fact of its own, without what was said."""
    given(requested()).when(respond(by)).then_refused(NotEligible, detail, refused(by, "not eligible"))


def test_a_refused_attempt_is_kept_once_for_each_person_and_reason() -> None:
    """Trying again adds nothing; another reason, or another person, does."""
    detail = "only the person it is assigned to, or an administrator, may answer this request"
    tried = (requested(), refused(BERT, "not eligible"))
    given(*tried).when(respond(BERT)).then_refused(NotEligible, detail)
    given(*tried).when(respond(OWNER)).then_refused(NotEligible, detail, refused(OWNER, "not eligible"))
    closed = (*tried, reassigned(BERT), responded(ADMIN))
    given(*closed).when(respond(BERT, NO)).then_refused(
        AlreadyClosed, f"cannot answer: {CLOSED_BY_ANNA}", refused(BERT, "closed")
    )


def test_a_stranger_who_tries_is_kept_once() -> None:
    """By what the channel calls them: they have no name here."""
    tried = fact(Request.AnswerRefused, "system", via="slack", why="unknown", stranger="slack:U1")

    def stranger(name: str) -> Callable[[Request], Any]:
        return lambda request: request.refuse_stranger(name, Via.SLACK, NOW)

    given(requested()).when(stranger("slack:U1")).then(tried)
    given(requested(), tried).when(stranger("slack:U1")).then()
    other = fact(Request.AnswerRefused, "system", via="slack", why="unknown", stranger="slack:U2")
    given(requested(), tried).when(stranger("slack:U2")).then(other)


def test_what_is_no_answer_is_refused_and_leaves_the_request_open() -> None:
    """An unreadable answer changes nothing."""
    outcome = given(requested()).when(lambda request: request.respond(mumbles, by=ANNA, via=Via.WEB, now=NOW))
    outcome.then_refused(Invalid, "text: not clear")
    assert outcome.request.is_open


def test_the_same_answer_again_by_the_same_person_is_a_success() -> None:
    """A double click, or a lost response, records nothing new."""
    given(requested(), responded(ANNA)).when(respond(ANNA, at=NOW + SECOND)).then_returns(None)


@pytest.mark.parametrize(("by", "answer"), [(ANNA, NO), (ADMIN, YES), (ADMIN, NO)])
def test_any_other_late_answer_is_refused_and_names_the_winner(by: PersonCaller, answer: Answer) -> None:
    """Another answer, or the same by somebody else, comes too late: who closed it, how and when is said."""
    later = NOW + SECOND
    refusal = (
        given(requested(), responded(ANNA))
        .when(respond(by, answer, later))
        .then_refused(AlreadyClosed, f"cannot answer: {CLOSED_BY_ANNA}", refused(by, "closed", later))
    )
    assert isinstance(refusal, AlreadyClosed)
    assert (refusal.status, refusal.by, refusal.at) == ("Responded", ANNA.actor, NOW)


def test_an_unreadable_late_answer_is_too_late_first() -> None:
    """What cannot be read is no repeat: the refusal is that the request is closed."""
    command = lambda request: request.respond(mumbles, by=ANNA, via=Via.WEB, now=NOW)  # noqa: E731
    given(requested(), responded(ANNA)).when(command).then_refused(
        AlreadyClosed, f"cannot answer: {CLOSED_BY_ANNA}", refused(ANNA, "closed")
    )


def test_an_answer_after_a_cancel_names_who_cancelled() -> None:
    """Cancel against answer: one wins, the other learns of it, even when both are one person."""
    for by in (ANNA, ADMIN):
        refusal = (
            given(requested(), cancelled(ANNA))
            .when(respond(by))
            .then_refused(
                AlreadyClosed,
                "cannot answer: the request was cancelled at 2026-03-01T12:00:10.000Z",
                refused(by, "closed"),
            )
        )
        assert isinstance(refusal, AlreadyClosed)
        assert (refusal.status, refusal.by, refusal.at) == ("Cancelled", ANNA.actor, NOW)


@pytest.mark.parametrize("at", [DEADLINE, DEADLINE + SECOND])
def test_an_answer_at_or_after_the_deadline_is_refused_and_the_lapse_recorded(at: datetime) -> None:
    """No sweep is needed: the late answer itself finds the request expired."""
    outcome = given(requested_until_deadline()).when(respond(ANNA, at=at))
    refusal = outcome.then_refused(
        AlreadyClosed,
        f"cannot answer: the request expired at {at:%Y-%m-%dT%H:%M:%S}.000Z",
        expired(at),
        refused(ANNA, "closed", at),
    )
    assert isinstance(refusal, AlreadyClosed)
    assert (refusal.status, refusal.by, refusal.at) == ("Expired", "system", at)
    assert outcome.request.answer is None


def test_an_answer_just_before_the_deadline_is_accepted() -> None:
    """Until the last instant before it."""
    at = DEADLINE - timedelta(microseconds=1)
    given(requested_until_deadline()).when(respond(ANNA, at=at)).then_returns(YES, responded(ANNA, at=at))


def test_a_sealed_answer_goes_to_the_vault_and_only_the_fact_is_recorded() -> None:
    """Text, data and even the outcome stay out of the event; it says until when the answer is kept."""
    answer = Answer("approved", data={"approved": True, "code": "012345"})
    outcome = given(requested(sealed=True, secret=True)).when(
        respond(ANNA, answer, keep_sealed_for=timedelta(minutes=2))
    )
    outcome.then_returns(answer, responded_sealed(ANNA, until=NOW + timedelta(minutes=2)))
    assert outcome.request.answer is None


def test_a_repeat_of_a_sealed_answer_is_known_by_the_one_in_the_vault() -> None:
    """With the earlier answer at hand the same one is a success; without it, or another one, it is too late."""
    given(*SEALED).when(respond(ANNA, YES, earlier=YES)).then_returns(None)
    for earlier in (NO, None):
        given(*SEALED).when(respond(ANNA, YES, earlier=earlier)).then_refused(
            AlreadyClosed, f"cannot answer: {CLOSED_BY_ANNA}", refused(ANNA, "closed")
        )


def test_an_erased_answer_is_no_longer_shown_or_repeated() -> None:
    """Once erased, nothing can be the same answer any more."""
    erased_one = (requested(), responded(ANNA), erased())
    assert given(*erased_one).request().answer is None
    given(*erased_one).when(respond(ANNA)).then_refused(
        AlreadyClosed, f"cannot answer: {CLOSED_BY_ANNA}", refused(ANNA, "closed")
    )


# -- ending without an answer


@pytest.mark.parametrize("by", [AGENT, FOR_ANNA, ANNA, ADMIN])
def test_the_agent_the_assignee_and_administrators_may_cancel(by: Caller) -> None:
    """A cancelled request carries who withdrew it, and why."""
    outcome = given(requested()).when(cancel(by, reason="not needed"))
    outcome.then(cancelled(by, reason="not needed"))
    assert outcome.request.status is Status.CANCELLED


@pytest.mark.parametrize("by", [BERT, OWNER, AUDITOR, ASSIGNED_AUDITOR])
def test_other_people_may_not_cancel(by: PersonCaller) -> None:
    """Nothing is recorded of it."""
    given(requested()).when(cancel(by)).then_refused(
        NotAllowed, "only the agent that asked, the person asked, or an administrator may cancel"
    )


@pytest.mark.parametrize("by", [OTHER_AGENT, FOR_BERT])
def test_to_other_agents_the_request_does_not_exist(by: AgentCaller) -> None:
    """Another agent, or a key for another person's runs, learns nothing, not even on a closed request."""
    for events in ((requested(),), (requested(), responded(ANNA)), SEALED):
        for command in (cancel(by), collect(by), acknowledge(by)):
            given(*events).when(command).then_refused(NotFound, NO_SUCH_REQUEST)


def test_cancelling_again_is_a_success_for_the_same_caller_only() -> None:
    """A repeat records nothing; somebody else is told who was first."""
    given(requested(), cancelled(ANNA)).when(cancel(ANNA)).then()
    given(requested(), cancelled(ANNA)).when(cancel(AGENT)).then_refused(
        AlreadyClosed, "cannot cancel: the request was cancelled at 2026-03-01T12:00:10.000Z"
    )


def test_an_answered_request_cannot_be_cancelled() -> None:
    """The answer stands."""
    given(requested(), responded(ANNA)).when(cancel(ANNA)).then_refused(
        AlreadyClosed, f"cannot cancel: {CLOSED_BY_ANNA}"
    )


def test_cancelling_after_the_deadline_records_the_lapse() -> None:
    """The deadline was first, whoever may have noticed it."""
    given(requested_until_deadline()).when(cancel(AGENT, DEADLINE)).then_refused(
        AlreadyClosed,
        "cannot cancel: the request expired at 2026-03-01T12:05:00.000Z",
        expired(),
    )
    given(requested_until_deadline()).when(cancel(BERT, DEADLINE)).then_refused(
        NotAllowed, "only the agent that asked, the person asked, or an administrator may cancel", expired()
    )


def test_the_deadline_ends_the_request_with_nothing_in_it() -> None:
    """An expired request has no answer, no outcome, no content."""
    outcome = given(requested_until_deadline()).when(expire(DEADLINE))
    outcome.then(expired())
    assert (outcome.request.status, outcome.request.answer) == (Status.EXPIRED, None)
    assert vars(outcome.request.pending_events[0]) == {
        "originator_id": ID,
        "originator_version": 2,
        "timestamp": DEADLINE,
        "actor": "system",
    }


@pytest.mark.parametrize(
    ("events", "at"),
    [
        ((requested_until_deadline(),), DEADLINE - timedelta(microseconds=1)),
        ((requested(),), DEADLINE),
        ((requested_until_deadline(), responded(ANNA)), DEADLINE),
        ((requested_until_deadline(), cancelled(ANNA)), DEADLINE),
        ((requested_until_deadline(), expired()), DEADLINE + SECOND),
    ],
)
def test_nothing_expires_early_without_a_deadline_or_twice(events: tuple[Fact, ...], at: datetime) -> None:
    """Before its time, without one, or once closed, nothing happens."""
    given(*events).when(expire(at)).then()


# -- moving


def test_an_administrator_reassigns() -> None:
    """The new person may answer, the old one keeps reading."""
    outcome = given(requested()).when(reassign(BERT, ADMIN, note="Anna is away"))
    outcome.then(reassigned(BERT, note="Anna is away"))
    request = outcome.request
    assert (request.assigned_to, request.past_assignees) == (BERT.id, {ANNA.id})
    assert (request.may_answer(BERT), request.may_answer(ANNA), request.may_read(ANNA)) == (True, False, True)


def test_a_list_s_request_becomes_a_person_s() -> None:
    """Reassigning to a person clears the list and the claim."""
    before = given(IN_INBOX, claimed(ANNA))
    assert (before.request().claimed, before.request().assigned_list) == (True, ON_CALL)
    outcome = before.when(reassign(BERT, ADMIN))
    outcome.then(reassigned(BERT, of=ON_CALL))
    assert (outcome.request.claimed, outcome.request.assigned_list) == (False, None)


def test_reassigning_to_the_same_person_does_nothing() -> None:
    """There is nothing to tell."""
    given(requested()).when(reassign(ANNA, ADMIN)).then()


@pytest.mark.parametrize("by", [ANNA, BERT, OWNER, AUDITOR, AGENT, OTHER_AGENT])
def test_only_administrators_reassign(by: Caller) -> None:
    """Not even the person asked."""
    given(requested()).when(reassign(BERT, by)).then_refused(NotAllowed, "only an administrator may reassign a request")


def test_a_closed_request_is_not_moved() -> None:
    """Closed by an answer, or by the deadline that this very command finds passed."""
    given(requested(), responded(ANNA)).when(reassign(BERT, ADMIN)).then_refused(
        AlreadyClosed, f"cannot reassign: {CLOSED_BY_ANNA}"
    )
    given(requested_until_deadline()).when(reassign(BERT, ADMIN, DEADLINE)).then_refused(
        AlreadyClosed,
        "cannot reassign: the request expired at 2026-03-01T12:05:00.000Z",
        expired(),
    )


# -- a shared inbox


@pytest.mark.parametrize("by", [CARL, DORA, ADMIN])
def test_members_answer_what_nobody_has_claimed(by: PersonCaller) -> None:
    """Without claiming it first; the assignment stays what it was."""
    outcome = given(IN_INBOX).when(respond(by))
    outcome.then_returns(YES, responded(by))
    assert (outcome.request.assigned_to, outcome.request.assigned_list) == (None, ON_CALL)


@pytest.mark.parametrize(
    ("by", "detail"),
    [
        (ANNA, ONLY_MEMBERS_ANSWER),
        (BERT, ONLY_MEMBERS_ANSWER),
        (OWNER, ONLY_MEMBERS_ANSWER),
        (OUTSIDER, ONLY_MEMBERS_ANSWER),
        (LISTED_AUDITOR, "an auditor reads everything and changes nothing"),
        (AGENT, "an agent can never answer a request; a person must"),
    ],
)
def test_others_may_not_answer_out_of_a_shared_inbox(by: Caller, detail: str) -> None:
    """Not the run user, not the owner, not members of another list."""
    given(IN_INBOX).when(respond(by)).then_refused(NotEligible, detail, refused(by, "not eligible"))


def test_membership_is_nothing_where_the_request_is_in_no_list() -> None:
    """Assigned to a person, or to nobody at all, it is no member's."""
    for assigned in (requested(), requested(assignment=fall_back(None).as_fact())):
        given(assigned).when(respond(CARL)).then_refused(
            NotEligible, ONLY_ASSIGNEE_ANSWERS, refused(CARL, "not eligible")
        )
        given(assigned).when(claim(CARL)).then_refused(NotAllowed, ONLY_MEMBERS_CLAIM)


@pytest.mark.parametrize("by", [CARL, ADMIN])
def test_claiming_takes_it_out_of_the_inbox(by: PersonCaller) -> None:
    """It is that person's then, and still of the list."""
    outcome = given(IN_INBOX).when(claim(by, note="mine"))
    outcome.then(claimed(by, note="mine"))
    request = outcome.request
    assert (request.assigned_to, request.assigned_list, request.claimed) == (by.id, ON_CALL, True)
    assert request.past_assignees == set()
    assert (request.may_answer(by), request.may_answer(DORA), request.may_read(DORA)) == (True, False, True)


def test_claiming_again_is_a_success_for_whoever_has_it() -> None:
    """A repeat records nothing, also by somebody who has left the list, or whom it was given to."""
    given(IN_INBOX, claimed(CARL)).when(claim(CARL, NOW + SECOND)).then()
    given(IN_INBOX, claimed(CARL)).when(claim(replace(CARL, lists=frozenset()))).then()
    given(requested()).when(claim(ANNA)).then()


@pytest.mark.parametrize("by", [DORA, ADMIN])
def test_a_second_claim_is_refused_and_names_the_first(by: PersonCaller) -> None:
    """Two at once: one wins."""
    refusal = given(IN_INBOX, claimed(CARL)).when(claim(by)).then_refused(AlreadyClaimed, CLAIMED)
    assert isinstance(refusal, AlreadyClaimed)
    assert refusal.by == CARL.id


def test_after_a_claim_the_other_members_may_not_answer() -> None:
    """The refusal names the claimant; the attempt is kept, once."""
    events = (IN_INBOX, claimed(CARL))
    refusal = given(*events).when(respond(DORA)).then_refused(AlreadyClaimed, CLAIMED, refused(DORA, "claimed"))
    assert isinstance(refusal, AlreadyClaimed)
    assert refusal.by == CARL.id
    given(*events, refused(DORA, "claimed")).when(respond(DORA)).then_refused(AlreadyClaimed, CLAIMED)
    given(*events).when(respond(CARL)).then_returns(YES, responded(CARL))
    given(*events).when(respond(ADMIN)).then_returns(YES, responded(ADMIN))
    given(*events).when(respond(OUTSIDER)).then_refused(
        NotEligible, ONLY_ASSIGNEE_ANSWERS, refused(OUTSIDER, "not eligible")
    )


def test_a_member_who_lost_the_claim_and_comes_late_is_told_who_closed_it() -> None:
    """Once it is answered there is nothing to claim: the answer is too late, like any other."""
    refusal = (
        given(IN_INBOX, claimed(CARL), responded(CARL))
        .when(respond(DORA))
        .then_refused(AlreadyClosed, f"cannot answer: {CLOSED_BY_ANNA}", refused(DORA, "closed"))
    )
    assert isinstance(refusal, AlreadyClosed)
    assert refusal.by == CARL.actor
    deadline = given(IN_INBOX_UNTIL_DEADLINE, claimed(CARL)).when(respond(DORA, at=DEADLINE))
    deadline.then_refused(AlreadyClosed, f"cannot answer: {LAPSED}", expired(), refused(DORA, "closed", DEADLINE))


def test_a_late_answer_out_of_an_inbox_is_refused_and_names_the_winner() -> None:
    """The first answer of any member counts; the same one again by that person is a success."""
    answered = given(IN_INBOX, responded(CARL))
    answered.when(respond(CARL)).then_returns(None)
    answered.when(respond(DORA)).then_refused(
        AlreadyClosed, f"cannot answer: {CLOSED_BY_ANNA}", refused(DORA, "closed")
    )


@pytest.mark.parametrize("by", [ANNA, BERT, OWNER, OUTSIDER])
def test_only_members_claim(by: PersonCaller) -> None:
    """Nothing is recorded of it."""
    given(IN_INBOX).when(claim(by)).then_refused(NotAllowed, ONLY_MEMBERS_CLAIM)
    given(IN_INBOX, claimed(CARL)).when(claim(by)).then_refused(NotAllowed, ONLY_MEMBERS_CLAIM)


@pytest.mark.parametrize("by", [AGENT, OTHER_AGENT, FOR_ANNA, AUDITOR, LISTED_AUDITOR])
def test_agents_and_auditors_never_claim(by: Caller) -> None:
    """Whatever lists they stand in."""
    given(IN_INBOX).when(claim(by)).then_refused(NotAllowed, "only a person who answers may claim a request")


def test_an_administrator_takes_what_is_nobody_s_but_not_what_is_somebody_s() -> None:
    """Claiming is for what nobody has; the rest is delegated or reassigned."""
    outcome = given(requested(assignment=fall_back(None).as_fact())).when(claim(ADMIN))
    outcome.then(claimed(ADMIN, of=None))
    assert (outcome.request.assigned_to, outcome.request.claimed) == (ADMIN.id, True)
    given(requested()).when(claim(ADMIN)).then_refused(
        Conflict, "the request is in no shared inbox: it is assigned to somebody, who can delegate it"
    )


# -- releasing


@pytest.mark.parametrize("by", [CARL, ADMIN])
def test_the_claimant_releases(by: PersonCaller) -> None:
    """It stands in the inbox again, for all members."""
    outcome = given(IN_INBOX, claimed(CARL)).when(release(by, note="not today"))
    outcome.then(released(by, CARL, note="not today"))
    request = outcome.request
    assert (request.assigned_to, request.assigned_list, request.claimed) == (None, ON_CALL, False)
    assert request.past_assignees == {CARL.id}
    assert (request.may_answer(CARL), request.may_answer(DORA)) == (True, True)


def test_releasing_again_is_a_success_until_somebody_else_has_it() -> None:
    """A repeat records nothing; it never takes it away from whoever claimed it next."""
    events = (IN_INBOX, claimed(CARL), released(CARL, CARL))
    given(*events).when(release(CARL, NOW + SECOND)).then()
    given(*events, claimed(DORA)).when(release(CARL)).then_refused(NotAllowed, only_assignee("release"))
    given(*events).when(release(DORA)).then_refused(NotAllowed, only_assignee("release"))


def test_what_was_released_can_be_claimed_again() -> None:
    """By the same person or another."""
    for by in (CARL, DORA):
        given(IN_INBOX, claimed(CARL), released(CARL, CARL)).when(claim(by)).then(claimed(by))


def test_what_came_from_no_list_is_not_released() -> None:
    """There is nowhere to go back to; nor from the inbox into the inbox."""
    detail = "the request is in no shared inbox it could go back to: delegate it to somebody instead"
    given(requested()).when(release(ANNA)).then_refused(Conflict, detail)
    given(IN_INBOX, claimed(CARL), delegated(CARL, BERT, was=CARL, of=ON_CALL)).when(release(BERT)).then_refused(
        Conflict, detail
    )
    given(IN_INBOX).when(release(ADMIN)).then_refused(Conflict, detail)


@pytest.mark.parametrize("by", [DORA, BERT, OWNER, AUDITOR, replace(CARL, role=Role.AUDITOR), AGENT, OTHER_AGENT])
def test_only_whoever_has_it_releases_or_delegates(by: Caller) -> None:
    """Not other members, not auditors, not agents."""
    events = (IN_INBOX, claimed(CARL))
    given(*events).when(release(by)).then_refused(NotAllowed, only_assignee("release"))
    given(*events).when(delegate(BERT, by)).then_refused(NotAllowed, only_assignee("delegate"))


# -- delegating


@pytest.mark.parametrize("by", [ANNA, ADMIN])
def test_the_person_asked_delegates(by: PersonCaller) -> None:
    """The new one may answer, the old one keeps reading."""
    outcome = given(requested()).when(delegate(BERT, by, note="you know this"))
    outcome.then(delegated(by, BERT, note="you know this"))
    request = outcome.request
    assert (request.assigned_to, request.assigned_list, request.past_assignees) == (BERT.id, None, {ANNA.id})
    assert (request.may_answer(BERT), request.may_answer(ANNA), request.may_read(ANNA)) == (True, False, True)


def test_delegating_clears_the_list() -> None:
    """Its members have no part in it any more, but for those who had it; also where one delegates to oneself."""
    for to in (BERT, CARL):
        outcome = given(IN_INBOX, claimed(CARL)).when(delegate(to, CARL))
        outcome.then(delegated(CARL, to, was=CARL, of=ON_CALL))
        request = outcome.request
        assert (request.assigned_to, request.assigned_list, request.claimed) == (to.id, None, False)
        assert (request.may_read(CARL), request.may_read(DORA), request.may_answer(DORA)) == (True, False, False)


def test_delegating_again_is_a_success() -> None:
    """A repeat records nothing, though it is somebody else's now; delegating it on to another is not the same."""
    events = (requested(), delegated(ANNA, BERT))
    given(*events).when(delegate(BERT, ANNA, NOW + SECOND)).then()
    given(*events).when(delegate(DORA, ANNA)).then_refused(NotAllowed, only_assignee("delegate"))
    given(*events).when(delegate(DORA, BERT)).then(delegated(BERT, DORA, was=BERT))
    given(*events, delegated(BERT, DORA, was=BERT)).when(delegate(BERT, ANNA)).then_refused(
        NotAllowed, only_assignee("delegate")
    )


def test_delegating_to_whoever_has_it_is_refused() -> None:
    """The field is named."""
    given(requested()).when(delegate(ANNA, ANNA)).then_refused(Invalid, "to: has it already")
    given(requested(), delegated(ANNA, BERT)).when(delegate(BERT, BERT)).then_refused(Invalid, "to: has it already")


# -- reassigning to a list, and routing again


def test_an_administrator_puts_it_into_a_shared_inbox() -> None:
    """The members may answer then; whoever had it keeps reading."""
    outcome = given(requested()).when(reassign_to_list(ON_CALL, ADMIN, note="for all of you"))
    outcome.then(put_into_list(ON_CALL, was=ANNA, note="for all of you"))
    request = outcome.request
    assert (request.assigned_to, request.assigned_list, request.past_assignees) == (None, ON_CALL, {ANNA.id})
    assert (request.may_answer(CARL), request.may_answer(ANNA), request.may_read(ANNA)) == (True, False, True)


def test_reassigning_to_a_list_ends_a_claim_and_leaves_another_list() -> None:
    """Also into the very list that it was claimed from."""
    events = (IN_INBOX, claimed(CARL))
    given(*events).when(reassign_to_list(ON_CALL, ADMIN)).then(put_into_list(ON_CALL, was=CARL, of=ON_CALL))
    outcome = given(*events).when(reassign_to_list(NIGHTS, ADMIN))
    outcome.then(put_into_list(NIGHTS, was=CARL, of=ON_CALL))
    request = outcome.request
    assert (request.claimed, request.assigned_list) == (False, NIGHTS)
    assert (request.may_answer(OUTSIDER), request.may_answer(DORA), request.may_read(DORA)) == (True, False, False)


def test_reassigning_to_where_it_is_does_nothing() -> None:
    """A list or a person; a claimant who is to have it for good gets it."""
    given(IN_INBOX).when(reassign_to_list(ON_CALL, ADMIN)).then()
    given(requested(), reassigned(BERT)).when(reassign(BERT, ADMIN)).then()
    given(IN_INBOX, claimed(CARL)).when(reassign(CARL, ADMIN)).then(reassigned(CARL, was=CARL, of=ON_CALL))


def test_an_administrator_has_it_routed_again() -> None:
    """To a person or a list, with the decision; where it stands already, nothing happens."""
    to_bert = Decision("category", "The category says so.", chosen=BERT.id, candidates=(BERT.id,))
    to_list = Decision("category", "The category says so.", list=ON_CALL, candidates=(CARL.id, DORA.id))
    to_nobody = Decision("fallback", "Nobody.")
    for decision in (to_bert, to_list, to_nobody):
        outcome = given(requested()).when(route_again(decision, ADMIN, note="again"))
        outcome.then(moved("reassigned", ADMIN, decision, was=ANNA, note="again"))
        assert (outcome.request.assigned_to, outcome.request.assigned_list) == (decision.chosen, decision.list)
        assert outcome.request.assignment == decision.as_fact()
    given(requested(), reassigned(BERT)).when(route_again(to_bert, ADMIN)).then()
    given(IN_INBOX).when(route_again(to_list, ADMIN)).then()
    given(IN_INBOX, claimed(CARL)).when(route_again(to_list, ADMIN)).then(
        moved("reassigned", ADMIN, to_list, was=CARL, of=ON_CALL)
    )


@pytest.mark.parametrize("by", [ANNA, BERT, OWNER, AUDITOR, AGENT, OTHER_AGENT])
def test_only_administrators_reassign_to_lists_and_route_again(by: Caller) -> None:
    """Not even the person asked."""
    detail = "only an administrator may reassign a request"
    given(requested()).when(reassign_to_list(ON_CALL, by)).then_refused(NotAllowed, detail)
    given(requested()).when(route_again(fall_back(BERT.id), by)).then_refused(NotAllowed, detail)


# -- moving on


def test_what_a_departed_person_had_moves_on() -> None:
    """By the system, with the decision; they keep reading should they ever be back."""
    to_list = Decision("command", "back", list=ON_CALL, candidates=(DORA.id,))
    for decision in (fall_back(BERT.id), fall_back(None), to_list):
        outcome = given(requested()).when(move_on(decision))
        outcome.then(moved("departed", "system", decision, was=ANNA))
        request = outcome.request
        assert (request.assigned_to, request.assigned_list) == (decision.chosen, decision.list)
        assert (request.may_answer(ANNA), request.may_read(ANNA)) == (False, True)
    outcome = given(IN_INBOX, claimed(CARL)).when(move_on(to_list))
    outcome.then(moved("departed", "system", to_list, was=CARL, of=ON_CALL))
    assert (outcome.request.claimed, outcome.request.may_answer(DORA)) == (False, True)


def test_a_closed_request_does_not_move_on() -> None:
    """Nothing happens; a lapse found out on the way is recorded."""
    given(requested(), responded(ANNA)).when(move_on(fall_back(BERT.id))).then()
    given(requested(), cancelled(ANNA)).when(move_on(fall_back(BERT.id))).then()
    given(requested_until_deadline()).when(move_on(fall_back(BERT.id), DEADLINE)).then(expired())


# -- any move


MOVES: dict[str, tuple[Callable[[datetime], Callable[[Request], Any]], str]] = {
    "claim by the claimant": (lambda at: claim(CARL, at), "claim"),
    "claim by another": (lambda at: claim(DORA, at), "claim"),
    "release": (lambda at: release(CARL, at), "release"),
    "delegate": (lambda at: delegate(BERT, CARL, at), "delegate"),
    "delegate to a member": (lambda at: delegate(DORA, ADMIN, at), "delegate"),
    "reassign to a person": (lambda at: reassign(BERT, ADMIN, at), "reassign"),
    "reassign to a list": (lambda at: reassign_to_list(NIGHTS, ADMIN, at), "reassign"),
    "route again": (lambda at: route_again(fall_back(BERT.id), ADMIN, at), "reassign"),
}


@pytest.mark.parametrize("move", MOVES)
def test_closed_is_closed_to_every_move(move: str) -> None:
    """Answered, cancelled, or lapsed already: nothing moves, and the refusal says what became of it."""
    command, wanted = MOVES[move]
    events = (IN_INBOX_UNTIL_DEADLINE, claimed(CARL))
    for closing, ended in (
        (responded(CARL), CLOSED_BY_ANNA),
        (cancelled(CARL), "the request was cancelled at 2026-03-01T12:00:10.000Z"),
        (expired(), LAPSED),
    ):
        given(*events, closing).when(command(NOW)).then_refused(AlreadyClosed, f"cannot {wanted}: {ended}")


@pytest.mark.parametrize("move", MOVES)
def test_a_lapsed_request_is_closed_by_the_move_that_comes_too_late(move: str) -> None:
    """The deadline was first, whoever may have noticed it."""
    command, wanted = MOVES[move]
    given(IN_INBOX_UNTIL_DEADLINE, claimed(CARL)).when(command(DEADLINE)).then_refused(
        AlreadyClosed, f"cannot {wanted}: {LAPSED}", expired()
    )


def test_a_repeat_after_the_end_is_too_late() -> None:
    """What was released or delegated and then closed is not moved any more, whoever asks."""
    given(IN_INBOX, claimed(CARL), released(CARL, CARL), responded(DORA)).when(release(CARL)).then_refused(
        NotAllowed, only_assignee("release")
    )
    given(requested(), delegated(ANNA, BERT), responded(BERT)).when(delegate(BERT, ANNA)).then_refused(
        NotAllowed, only_assignee("delegate")
    )


# -- nobody answers their own question


def test_the_run_user_may_not_answer_where_the_type_forbids_it() -> None:
    """Not as a member, not as an administrator, not by claiming it; reading is another matter."""
    for role in (Role.MEMBER, Role.ADMINISTRATOR):
        run_user = PersonCaller(ANNA.id, role, lists=frozenset({ON_CALL}))
        events = given(OWN_QUESTION)
        events.when(respond(run_user)).then_refused(NotEligible, OWN, refused(run_user, "not eligible"))
        events.when(claim(run_user)).then_refused(NotAllowed, OWN)
        assert (events.request().may_answer(run_user), events.request().may_read(run_user)) == (False, True)
        given(OWN_QUESTION, claimed(CARL)).when(respond(run_user)).then_refused(
            NotEligible, OWN, refused(run_user, "not eligible")
        )
    given(OWN_QUESTION).when(respond(CARL)).then_returns(YES, responded(CARL))


def test_it_cannot_be_given_to_whoever_may_not_answer_it() -> None:
    """Neither by whoever has it nor by an administrator; the field is named."""
    detail = "to: is the run user, who may not answer a request of this type"
    events = given(OWN_QUESTION, claimed(CARL))
    events.when(delegate(ANNA, CARL)).then_refused(Invalid, detail)
    events.when(delegate(ANNA, ADMIN)).then_refused(Invalid, detail)
    events.when(reassign(ANNA, ADMIN)).then_refused(Invalid, detail)


def test_who_may_not_answer_is_the_same_after_every_move() -> None:
    """A later decision, which says nothing of it, does not let the run user in; routing again keeps to it."""
    for more in (claimed(CARL), put_into_list(NIGHTS, of=ON_CALL), moved("departed", "system", fall_back(None))):
        request = given(OWN_QUESTION, more).request()
        assert request.excluded == request.subject.excluded == {ANNA.id}
        assert not request.may_answer(replace(ANNA, role=Role.ADMINISTRATOR))
    assert given(requested()).request().subject.excluded == frozenset()


def test_routing_again_starts_from_what_was_asked() -> None:
    """The agent, the type, the run user, and the strategy that came with it; not from what was decided since."""
    strategy = {"type": "SpecificUser", "userID": "zoe", "colour": "red"}
    trace = ({"level": "invocation", "strategy": strategy, "said": "there is no user 'zoe'"},)
    asked = requested(assignment=Decision("fallback", "so", chosen=ANNA.id, trace=trace).as_fact())
    for events in ((asked,), (asked, reassigned(BERT))):
        subject = given(*events).request().subject
        assert subject == Subject(AGENT.id, "clarification", ANNA.id, Parsed(strategy), frozenset())


# -- who knows of it


def test_members_know_of_what_stands_in_their_inbox() -> None:
    """As long as it does, claimed or not; then whoever had it keeps reading, the others do not."""
    unclaimed, by_carl = given(IN_INBOX).request(), given(IN_INBOX, claimed(CARL)).request()
    gone = given(IN_INBOX, claimed(CARL), reassigned(BERT, was=CARL, of=ON_CALL)).request()
    for reader, reads in (
        (CARL, (True, True, True)),
        (DORA, (True, True, False)),
        (OUTSIDER, (False, False, False)),
        (LISTED_AUDITOR, (True, True, True)),
        (ANNA, (True, True, True)),
        (BERT, (False, False, True)),
        (OWNER, (True, True, True)),
        (ADMIN, (True, True, True)),
        (AGENT, (True, True, True)),
        (OTHER_AGENT, (False, False, False)),
    ):
        assert tuple(request.may_read(reader) for request in (unclaimed, by_carl, gone)) == reads


def test_everybody_who_ever_had_it_keeps_reading() -> None:
    """However often it moved, and after it is closed."""
    events = (
        IN_INBOX,
        claimed(CARL),
        released(CARL, CARL),
        claimed(DORA),
        delegated(DORA, BERT, was=DORA, of=ON_CALL),
        put_into_list(NIGHTS, was=BERT),
        responded(OUTSIDER),
    )
    request = given(*events).request()
    assert request.past_assignees == {CARL.id, DORA.id, BERT.id}
    assert request.audience.people == {ANNA.id, BERT.id, CARL.id, DORA.id}
    for reader in (CARL, DORA, BERT):
        request.check_may_read(reader)
        assert not request.may_answer(replace(reader, lists=frozenset()))
    request.check_may_read(OUTSIDER)
    with pytest.raises(NotAllowed, match="you have no part in request"):
        request.check_may_read(replace(OUTSIDER, lists=frozenset()))


@pytest.mark.parametrize("by", [CARL, DORA, ADMIN, AGENT])
def test_what_stands_in_an_inbox_is_cancelled_by_whoever_has_it(by: Caller) -> None:
    """By the agent and administrators always, by a member only after claiming it."""
    outcome = given(IN_INBOX, claimed(CARL)).when(cancel(by))
    if by is DORA:
        outcome.then_refused(NotAllowed, "only the agent that asked, the person asked, or an administrator may cancel")
    else:
        outcome.then(cancelled(by))
    given(IN_INBOX).when(cancel(CARL)).then_refused(
        NotAllowed, "only the agent that asked, the person asked, or an administrator may cancel"
    )


# -- sealed answers


def test_the_agent_collects_a_sealed_answer() -> None:
    """Its receipt is kept, so that a lost response can be asked for again."""
    given(*SEALED).when(collect()).then(collected())


def test_the_same_receipt_may_come_again_for_a_while() -> None:
    """Within the receipt's lifetime, with the same receipt, nothing new is recorded."""
    given(*SEALED, collected()).when(collect(at=NOW + RECEIPT_LIFETIME - SECOND)).then()
    given(*SEALED, collected()).when(collect(at=NOW + RECEIPT_LIFETIME)).then_refused(
        Gone, "the answer was collected more than 60 s ago; it is no longer kept"
    )


def test_another_receipt_gets_nothing() -> None:
    """One collector only: whoever took the answer is the one that has it."""
    given(*SEALED, collected()).when(collect(receipt=OTHER_RECEIPT)).then_refused(
        Gone, "the answer was collected at 2026-03-01T12:00:10.000Z with another receipt"
    )


def test_a_sealed_answer_is_kept_for_a_time() -> None:
    """Nobody came for it in time: it is gone."""
    late = NOW + timedelta(hours=24)
    given(*SEALED).when(collect(at=late - timedelta(microseconds=1))).then(collected(late - timedelta(microseconds=1)))
    given(*SEALED).when(collect(at=late)).then_refused(
        Gone, "nobody collected the answer by 2026-03-02T12:00:10.000Z; it is no longer kept"
    )


def test_an_acknowledged_answer_is_gone() -> None:
    """The agent has it safe, so it was shredded; acknowledging again is a success."""
    done = (*SEALED, collected(), acknowledged())
    given(*SEALED, collected()).when(acknowledge()).then(acknowledged())
    given(*done).when(acknowledge()).then()
    given(*done).when(collect()).then_refused(Gone, "the answer was collected and acknowledged; it is no longer kept")


def test_an_erased_answer_cannot_be_collected() -> None:
    """Erasing destroyed it; nobody is recorded as having taken it."""
    given(*SEALED, erased()).when(collect()).then_refused(Gone, "the content of this request was erased")
    given(*SEALED, collected(), erased()).when(collect()).then_refused(Gone, "the content of this request was erased")


def test_acknowledging_needs_the_receipt_it_was_collected_with() -> None:
    """Nothing collected, or another receipt, is refused."""
    given(*SEALED).when(acknowledge()).then_refused(
        Conflict, "nothing was collected yet: collect the answer with this receipt first"
    )
    given(*SEALED, collected()).when(acknowledge(receipt=OTHER_RECEIPT)).then_refused(
        Gone, "the answer was collected with another receipt"
    )
    given(*SEALED, collected()).when(acknowledge(receipt=None)).then_refused(
        Invalid, "receipt: is required: the one that the sealed answer was collected with"
    )


@pytest.mark.parametrize("receipt", [None, RECEIPT])
def test_an_answer_that_is_not_sealed_is_acknowledged_without_a_receipt(receipt: str | None) -> None:
    """Once, also when its content was erased meanwhile; nothing else changes."""
    answered = (requested(), responded(ANNA))
    outcome = given(*answered).when(acknowledge(receipt=receipt))
    outcome.then(acknowledged())
    assert (outcome.request.status, outcome.request.acknowledged_at) == ("Responded", NOW)
    given(*answered, acknowledged()).when(acknowledge(receipt=receipt, at=NOW + SECOND)).then()
    given(*answered, erased()).when(acknowledge(receipt=receipt)).then(acknowledged())


def test_only_a_sealed_answer_is_collected() -> None:
    """Others stand in the request."""
    given(requested(), responded(ANNA)).when(collect()).then_refused(
        Conflict, "the answer is not sealed: read it from the request itself"
    )


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("command", [collect, acknowledge])
def test_there_must_be_an_answer(command: Callable[[Caller], Callable[[Request], Any]], sealed: bool) -> None:
    """Open, cancelled or expired: each refusal says what is the case."""
    wanted = command.__name__
    given(requested(sealed=sealed)).when(command(AGENT)).then_refused(
        NotAnswered, f"the request is not answered yet: wait for it, then {wanted}"
    )
    given(requested(sealed=sealed), cancelled(ANNA)).when(command(AGENT)).then_refused(
        AlreadyClosed, f"cannot {wanted}: the request was cancelled at 2026-03-01T12:00:10.000Z"
    )
    given(requested(sealed=sealed, expires_at=DEADLINE), expired()).when(command(AGENT)).then_refused(
        AlreadyClosed, f"cannot {wanted}: the request expired at 2026-03-01T12:05:00.000Z"
    )


@pytest.mark.parametrize("by", [ANNA, ADMIN, AUDITOR, OWNER])
@pytest.mark.parametrize("command", [collect, acknowledge])
def test_people_never_collect_or_acknowledge(
    command: Callable[[Caller], Callable[[Request], Any]], by: PersonCaller
) -> None:
    """A sealed answer is the agent's alone, not even an administrator's; and what an agent did only it can say."""
    for answered in (SEALED, (requested(), responded(ANNA))):
        given(*answered).when(command(by)).then_refused(
            NotAllowed, f"only the agent that asked may {command.__name__} the answer"
        )


# -- erasing


@pytest.mark.parametrize("events", [(requested(), responded(ANNA)), (requested(), cancelled(ANNA)), SEALED])
def test_an_administrator_erases_a_closed_request(events: tuple[Fact, ...]) -> None:
    """Once; a repeat does nothing."""
    given(*events).when(erase(ADMIN)).then(erased())
    given(*events, erased()).when(erase(ADMIN)).then()


def test_an_open_request_is_not_erased() -> None:
    """Cancel it first."""
    given(requested()).when(erase(ADMIN)).then_refused(
        Conflict, "the request is still open: cancel it first, then erase its content"
    )


@pytest.mark.parametrize("by", [ANNA, AUDITOR, OWNER, AGENT])
def test_only_administrators_erase(by: Caller) -> None:
    """Neither the person asked nor the agent."""
    given(requested(), responded(ANNA)).when(erase(by)).then_refused(
        NotAllowed, "only an administrator may erase content"
    )


# -- reading


@pytest.mark.parametrize(
    ("caller", "reads", "answers", "refusal"),
    [
        (AGENT, True, False, None),
        (FOR_ANNA, True, False, None),
        (FOR_BERT, False, False, NotFound),
        (OTHER_AGENT, False, False, NotFound),
        (ANNA, True, True, None),
        (ASSIGNED_AUDITOR, True, False, None),
        (BERT, False, False, NotAllowed),
        (OWNER, True, False, None),
        (ADMIN, True, True, None),
        (AUDITOR, True, False, None),
    ],
)
def test_who_reads_and_who_answers(caller: Caller, reads: bool, answers: bool, refusal: type[Refusal] | None) -> None:
    """The table of permissions; a closed request keeps it."""
    for events in ((requested(),), (requested(), responded(ANNA))):
        request = given(*events).request()
        assert (request.may_read(caller), request.may_answer(caller)) == (reads, answers)
        if refusal is None:
            request.check_may_read(caller)
        else:
            with pytest.raises(refusal) as raised:
                request.check_may_read(caller)
            assert type(raised.value) is refusal


def test_the_run_user_reads_what_was_given_to_another() -> None:
    """The person in whose name it was asked sees it, and may not answer it."""
    request = given(requested(run_user=BERT.id)).request()
    assert (request.may_read(BERT), request.may_answer(BERT)) == (True, False)


def test_a_request_without_a_run_user_is_not_for_bound_keys() -> None:
    """A key bound to a person sees only what was asked in that person's name."""
    request = given(requested(run_user=None)).request()
    assert (request.may_read(AGENT), request.may_read(FOR_ANNA)) == (True, False)


# -- replaying


def test_replaying_never_refuses() -> None:
    """Whatever is in the log loads, even what no command would allow today."""
    request = given(
        requested(),
        responded(BERT),
        cancelled(OTHER_AGENT),
        expired(),
        erased(),
        fact(
            Request.Notified,
            "system",
            step="slack",
            channel="slack",
            recipient=None,
            reference={"ts": "1"},
            attempt=1,
            delivered=True,
            error=None,
            retry_at=None,
        ),
    ).request()
    assert (request.version, request.status) == (6, Status.EXPIRED)


def test_no_events_make_no_request() -> None:
    """What was never asked is not there."""
    assert rebuild([]) is None
