"""What time does to a request: given these events, when this step comes, then those; and in any order at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from domain.answers import Answer, Question
from domain.assignment import Decision, into_list
from domain.audience import Audience
from domain.callers import Caller, PersonCaller, Role, Via
from domain.errors import AlreadyClaimed, AlreadyClosed, Conflict, Invalid, NotAllowed, NotEligible, Refusal
from domain.recorded import RecordedEvent
from domain.request import LONGEST_SNOOZE, Request, rebuild
from domain.timetable import MOST_ATTEMPTS, MOST_REMINDERS, Notice, make_plan, retry_after
from tests.domain.test_request import (
    ADMIN,
    AGENT,
    ANNA,
    AUDITOR,
    BERT,
    CARL,
    CLAIMED,
    DEADLINE,
    DORA,
    FOR_ANNA,
    LAPSED,
    NIGHTS,
    ON_CALL,
    ONLY_ASSIGNEE_ANSWERS,
    ONLY_MEMBERS_CLAIM,
    OTHER_AGENT,
    OUTSIDER,
    OWN,
    OWNER,
    START,
    TO_LIST,
    YES,
    Fact,
    ask,
    cancel,
    cancelled,
    claim,
    claimed,
    delegate,
    delegated,
    expire,
    expired,
    fact,
    given,
    moved,
    only_assignee,
    refused,
    release,
    released,
    requested,
    respond,
    responded,
)

SLACK = {"slack": timedelta(minutes=2)}


def at(minutes: float) -> datetime:
    """So many minutes after it was asked."""
    return START + timedelta(minutes=minutes)


def step(after: float, **more: Any) -> dict[str, Any]:
    return {"afterMinutes": after, "to": {"type": "AgentOwner"}, **more}


def asked(*steps: dict[str, Any], expires_at: datetime | None = None, remind: float = 30, **changes: Any) -> Fact:
    """A request with a ladder, told through Slack after two minutes."""
    strategy = {"type": "RunUser", "remindMinutes": remind, "escalation": list(steps)}
    plan = make_plan(START, expires_at, strategy, None, SLACK)
    return requested(plan=plan, expires_at=expires_at, **changes)


def notified(channel: str, name: str, recipient: str | None, when: datetime, **more: Any) -> Fact:
    error = more.get("error")
    values = {"reference": None, "attempt": 1, "delivered": error is None, "error": None, "retry_at": None, **more}
    return fact(Request.Notified, "system", when, step=name, channel=channel, recipient=recipient, **values)


def told(to: PersonCaller | UUID, number: int = 1, when: datetime | None = None) -> Fact:
    """A step of the ladder told a person, or a list."""
    recipient = f"user:{to.id}" if isinstance(to, PersonCaller) else f"list:{to}"
    return notified("web", f"escalate:{number}", recipient, when or at(10 * number))


def escalated(to: Decision, number: int = 1, was: PersonCaller | None = ANNA, when: datetime | None = None) -> Fact:
    made = moved("escalated", "system", to, was=was, at=when or at(10 * number))

    def named(version: int) -> Any:
        event = made(version)
        return type(event)(**{**vars(event), "step": f"escalate:{number}"})

    return named


def snoozed(by: Caller, until: datetime | None, when: datetime) -> Fact:
    return fact(Request.Snoozed, by, when, until=until)


def escalate(decision: Decision, when: datetime, name: str = "escalate:1") -> Callable[[Request], Any]:
    return lambda request: request.escalate(decision, step=name, now=when)


def notify(name: str, when: datetime, recipient: str | None, **more: Any) -> Callable[[Request], Any]:
    values = {"channel": "slack", "planned_for": None, "attempt": 1, **more}
    return lambda request: request.notified(step=name, recipient=recipient, now=when, **values)


def snooze(by: Caller, until: datetime | None, when: datetime) -> Callable[[Request], Any]:
    return lambda request: request.snooze(until, by=by, now=when)


TO_BERT = Decision("escalation", "Nobody reacted.", chosen=BERT.id, candidates=(BERT.id,))
TO_ON_CALL = Decision("escalation", "Nobody reacted.", list=ON_CALL, candidates=(CARL.id, DORA.id))
TO_NOBODY = Decision("escalation", "Nobody reacted, and the agent has no owner.")

MOVES, TELLS = step(10), step(10, notifyOnly=True)
MOVING, TELLING = asked(MOVES, MOVES), asked(TELLS, TELLS)
UNTIL_DEADLINE = asked(step(1), step(1), expires_at=DEADLINE)
USER_ANNA, USER_BERT, LIST_ON_CALL = f"user:{ANNA.id}", f"user:{BERT.id}", f"list:{ON_CALL}"

BERT_AND_ON_CALL = [(BERT, BERT), (CARL, ON_CALL), (DORA, ON_CALL)]
"""Who may claim once this person or list was told."""


# -- the ladder


def test_a_step_that_is_due_moves_the_request_with_its_decision() -> None:
    """To a person, by the system, naming the step; whoever had it has it no more."""
    outcome = given(MOVING).when(escalate(TO_BERT, at(10)))
    outcome.then(escalated(TO_BERT))
    request = outcome.request
    assert (request.assigned_to, request.assigned_list, request.claimed) == (BERT.id, None, False)
    assert request.assignment == TO_BERT.as_fact()
    given(MOVING, escalated(TO_BERT)).when(respond(ANNA, at=at(11))).then_refused(
        NotEligible, ONLY_ASSIGNEE_ANSWERS, refused(ANNA, "not eligible", at(11))
    )
    given(MOVING, escalated(TO_BERT)).when(respond(BERT, at=at(11))).then_returns(YES, responded(BERT, at=at(11)))


def test_a_step_may_move_it_into_the_inbox_that_a_list_shares() -> None:
    """Whose members may then take it."""
    given(MOVING).when(escalate(TO_ON_CALL, at(10))).then(escalated(TO_ON_CALL))
    after = given(MOVING, escalated(TO_ON_CALL))
    after.when(claim(CARL, at=at(12))).then(claimed(CARL, at=at(12)))


def test_a_step_that_is_late_is_recorded_when_it_was_carried_out() -> None:
    """And the ones after it keep their times."""
    outcome = given(MOVING).when(escalate(TO_BERT, at(15)))
    outcome.then(escalated(TO_BERT, when=at(15)))
    assert outcome.request.timetable.due()["escalate"] == at(20)
    given(MOVING, escalated(TO_BERT, when=at(15))).when(escalate(TO_ON_CALL, at(19), "escalate:2")).then()
    given(MOVING, escalated(TO_BERT, when=at(15))).when(escalate(TO_ON_CALL, at(20), "escalate:2")).then(
        escalated(TO_ON_CALL, 2, was=BERT)
    )


@pytest.mark.parametrize(("decision", "recipient"), [(TO_BERT, USER_BERT), (TO_ON_CALL, LIST_ON_CALL)])
def test_a_step_that_only_tells_leaves_the_request_where_it_is(decision: Decision, recipient: str) -> None:
    """More people know of it, and may claim it."""
    outcome = given(TELLING).when(escalate(decision, at(10)))
    outcome.then(notified("web", "escalate:1", recipient, at(10)))
    assert (outcome.request.assigned_to, outcome.request.assigned_list) == (ANNA.id, None)
    assert outcome.request.timetable.rung_step == "escalate:2"


@pytest.mark.parametrize("facts", [(MOVING,), (TELLING,)])
def test_a_step_that_names_nobody_says_why_and_changes_nothing(facts: tuple[Fact, ...]) -> None:
    """The request stays with whoever has it, and the ladder goes on."""
    outcome = given(*facts).when(escalate(TO_NOBODY, at(10)))
    outcome.then(notified("web", "escalate:1", None, at(10), error="Nobody reacted, and the agent has no owner."))
    assert (outcome.request.assigned_to, outcome.request.told, outcome.request.up_for_claim) == (ANNA.id, set(), False)
    assert outcome.request.timetable.rung_step == "escalate:2"


@pytest.mark.parametrize(
    ("when", "name"),
    [
        (at(9.999), "escalate:1"),
        (at(10), "escalate:2"),
        (at(20), "escalate:2"),
        (at(10), "escalate:1:2"),
        (at(10), "escalate:0"),
        (at(10), "notify"),
        (at(10), ""),
    ],
)
@pytest.mark.parametrize("decision", [TO_BERT, TO_NOBODY])
def test_a_step_that_is_not_due_or_not_the_next_does_nothing(when: datetime, name: str, decision: Decision) -> None:
    """Too early, or another one."""
    given(MOVING).when(escalate(decision, when, name)).then()
    given(TELLING).when(escalate(decision, when, name)).then()


def test_a_step_is_carried_out_once() -> None:
    """A repeat, of a replica that came late, finds the next one."""
    given(MOVING, escalated(TO_BERT)).when(escalate(TO_ON_CALL, at(30))).then()
    given(TELLING, told(BERT)).when(escalate(TO_ON_CALL, at(30))).then()
    last = given(MOVING, escalated(TO_BERT), escalated(TO_ON_CALL, 2, was=BERT))
    last.when(escalate(TO_BERT, at(90), "escalate:2")).then()
    last.when(escalate(TO_BERT, at(90), "escalate:3")).then()


def test_a_request_without_a_ladder_goes_nowhere() -> None:
    """Whatever step is named."""
    given(requested()).when(escalate(TO_BERT, at(10_000))).then()


def test_the_last_step_may_repeat() -> None:
    """Each time under a name of its own, also to the same person."""
    ladder = asked(step(10, repeat=True))
    given(ladder).when(escalate(TO_BERT, at(10))).then(escalated(TO_BERT))
    again = given(ladder, escalated(TO_BERT))
    again.when(escalate(TO_BERT, at(20))).then()
    outcome = again.when(escalate(TO_BERT, at(47), "escalate:1:2"))
    assert [event.step for event in outcome.request.pending_events] == ["escalate:1:2"]
    assert outcome.request.timetable.due()["escalate"] == at(50)


@pytest.mark.parametrize("end", [responded(ANNA, at=at(5)), cancelled(AGENT, at=at(5))])
def test_nothing_escalates_after_the_end(end: Fact) -> None:
    """Though the step would be due."""
    given(MOVING, end).when(escalate(TO_BERT, at(10))).then()
    given(TELLING, end).when(escalate(TO_BERT, at(10))).then()


@pytest.mark.parametrize("when", [DEADLINE, at(60)])
def test_what_is_overdue_for_its_end_and_its_ladder_only_ends(when: datetime) -> None:
    """Once, and nothing else happens to it."""
    given(UNTIL_DEADLINE).when(escalate(TO_BERT, when)).then(expired(when))
    given(UNTIL_DEADLINE, expired(when)).when(escalate(TO_BERT, when)).then()
    given(UNTIL_DEADLINE, expired(when)).when(expire(when)).then()


def test_a_claim_or_a_delegation_gives_the_whole_time_of_the_step_again() -> None:
    """Counted from then."""
    given(MOVING, delegated(ANNA, BERT, at=at(9))).when(escalate(TO_ON_CALL, at(18.9))).then()
    given(MOVING, delegated(ANNA, BERT, at=at(9))).when(escalate(TO_ON_CALL, at(19))).then(
        escalated(TO_ON_CALL, was=BERT, when=at(19))
    )
    listed = asked(MOVES, assignment=TO_LIST.as_fact())
    given(listed, claimed(CARL, at=at(9))).when(escalate(TO_BERT, at(18.9))).then()


# -- whom the ladder told


@pytest.mark.parametrize(("who", "whom"), BERT_AND_ON_CALL)
def test_whoever_was_told_may_take_over(who: PersonCaller, whom: PersonCaller | UUID) -> None:
    """From somebody who does not react; whoever had it may then not answer any more."""
    outcome = given(TELLING, told(whom)).when(claim(who, at=at(11)))
    outcome.then(claimed(who, of=None, was=ANNA, at=at(11)))
    assert (outcome.request.assigned_to, outcome.request.claimed) == (who.id, True)
    taken = given(TELLING, told(whom), claimed(who, of=None, was=ANNA, at=at(11)))
    taken.when(claim(who, at=at(12))).then()
    taken.when(respond(ANNA, at=at(12))).then_refused(
        NotEligible, ONLY_ASSIGNEE_ANSWERS, refused(ANNA, "not eligible", at(12))
    )


@pytest.mark.parametrize(("who", "whom"), BERT_AND_ON_CALL)
def test_whoever_was_told_answers_only_after_a_claim(who: PersonCaller, whom: PersonCaller | UUID) -> None:
    """Until then it is for whoever has it, who still may."""
    given(TELLING, told(whom)).when(respond(who, at=at(11))).then_refused(
        NotEligible, ONLY_ASSIGNEE_ANSWERS, refused(who, "not eligible", at(11))
    )
    assert not given(TELLING, told(whom)).request().may_answer(who)
    assert given(TELLING, told(whom)).request().may_answer(ANNA)
    assert given(TELLING, told(whom), claimed(who, of=None, was=ANNA, at=at(11))).request().may_answer(who)


def test_of_two_who_were_told_the_first_has_it_and_the_second_learns_who() -> None:
    """As in a shared inbox."""
    both = (TELLING, told(BERT), told(ON_CALL, 2), claimed(CARL, of=None, was=ANNA, at=at(21)))
    for late in (BERT, DORA, ADMIN):
        refusal = given(*both).when(claim(late, at=at(22))).then_refused(AlreadyClaimed, CLAIMED)
        assert isinstance(refusal, AlreadyClaimed)
        assert refusal.by == CARL.id


def test_one_who_claimed_and_does_not_react_can_be_taken_over_from_when_the_ladder_goes_on() -> None:
    """A claim is no end; the next step of the ladder tells people again."""
    facts = (TELLING, told(BERT), claimed(BERT, of=None, was=ANNA, at=at(11)), told(ON_CALL, 2, at(21)))
    given(*facts).when(claim(CARL, at=at(22))).then(claimed(CARL, of=None, was=BERT, at=at(22)))


def test_a_member_of_the_list_who_was_not_told_learns_who_has_it() -> None:
    """Others were told, who may take over; a member still learns whose it is."""
    listed = asked(TELLS, assignment=TO_LIST.as_fact())
    facts = (listed, claimed(CARL, at=at(1)), told(BERT, when=at(11)))
    refusal = given(*facts).when(claim(DORA, at=at(12))).then_refused(AlreadyClaimed, CLAIMED)
    assert isinstance(refusal, AlreadyClaimed)
    assert refusal.by == CARL.id
    given(*facts).when(claim(BERT, at=at(12))).then(claimed(BERT, was=CARL, at=at(12)))


@pytest.mark.parametrize("who", [OUTSIDER, OWNER, CARL])
def test_whoever_was_not_told_may_not_take_over(who: PersonCaller) -> None:
    """Neither members of other lists nor whoever may only read it."""
    given(TELLING, told(BERT)).when(claim(who, at=at(11))).then_refused(NotAllowed, ONLY_MEMBERS_CLAIM)


@pytest.mark.parametrize("who", [AGENT, OTHER_AGENT, FOR_ANNA, AUDITOR, PersonCaller(BERT.id, Role.AUDITOR)])
def test_agents_and_auditors_never_claim(who: Caller) -> None:
    """Also not an auditor who was told when they were a member."""
    said = "only a person who answers may claim a request"
    given(TELLING, told(BERT)).when(claim(who, at=at(11))).then_refused(NotAllowed, said)


def test_whoever_may_not_answer_may_not_take_over_either() -> None:
    """The run user of a type that nobody answers for themselves, told as a member of a list."""
    own = asked(TELLS, assignment=replace(TO_LIST, excluded=(DORA.id,)).as_fact(), run_user=DORA.id)
    given(own, told(ON_CALL)).when(claim(DORA, at=at(11))).then_refused(NotAllowed, OWN)


def test_nobody_takes_over_before_the_ladder_told_anybody() -> None:
    """Not even an administrator, who can reassign it."""
    said = "the request is in no shared inbox: it is assigned to somebody, who can delegate it"
    given(TELLING).when(claim(ADMIN, at=at(9))).then_refused(Conflict, said)
    given(TELLING).when(claim(BERT, at=at(9))).then_refused(NotAllowed, ONLY_MEMBERS_CLAIM)
    given(TELLING, told(BERT)).when(claim(ADMIN, at=at(11))).then(claimed(ADMIN, of=None, was=ANNA, at=at(11)))


def test_a_move_takes_it_out_of_reach_of_those_who_were_told() -> None:
    """Somebody reacted: whoever has it now has their time; the ladder may tell others again."""
    said = "the request is in no shared inbox: it is assigned to somebody, who can delegate it"
    facts = (TELLING, told(BERT), delegated(ANNA, OWNER, at=at(11)))
    given(*facts).when(claim(BERT, at=at(12))).then_refused(Conflict, said)
    given(*facts, told(ON_CALL, 2, at(21))).when(claim(BERT, at=at(22))).then(
        claimed(BERT, of=None, was=OWNER, at=at(22))
    )


def test_what_was_taken_over_and_released_may_be_claimed_by_those_who_were_told() -> None:
    """It goes into nobody's inbox; whoever was told may take it again."""
    taken = (TELLING, told(ON_CALL), claimed(CARL, of=None, was=ANNA, at=at(11)))
    back = moved("released", CARL, Decision("command", "Released into the shared inbox."), was=CARL, at=at(12))
    given(*taken).when(release(CARL, at=at(12))).then(back)
    given(*taken, back).when(claim(DORA, at=at(13))).then(claimed(DORA, of=None, at=at(13)))


def test_a_claim_after_the_end_or_the_deadline_is_refused() -> None:
    """As any other command."""
    facts = (asked(step(1, notifyOnly=True), expires_at=DEADLINE), told(BERT, when=at(1)))
    given(*facts).when(claim(BERT, at=DEADLINE)).then_refused(AlreadyClosed, f"cannot claim: {LAPSED}", expired())


@pytest.mark.parametrize(("who", "whom"), BERT_AND_ON_CALL)
def test_whoever_was_told_keeps_reading(who: PersonCaller, whom: PersonCaller | UUID) -> None:
    """Also after it moved on, or closed; nobody else does for that."""
    assert not given(TELLING).request().may_read(who)
    for later in ((), (delegated(ANNA, OWNER, at=at(11)),), (responded(ANNA, at=at(11)),)):
        request = given(TELLING, told(whom), *later).request()
        assert request.may_read(who)
        assert not request.may_read(OUTSIDER)
        assert not request.may_read(OTHER_AGENT)


def test_the_audience_has_the_people_and_the_lists_that_were_told() -> None:
    """Beside those whom it has anyway."""
    audience = given(TELLING, told(BERT), told(NIGHTS, 2)).request().audience
    assert (audience.agent_id, audience.run_user) == (AGENT.id, ANNA.id)
    assert {ANNA.id, BERT.id} <= audience.people
    assert NIGHTS in audience.lists
    assert isinstance(audience, Audience)
    assert audience.includes(OUTSIDER)
    assert not audience.includes(CARL)


# -- notices


def test_a_notice_that_was_given_is_recorded_with_the_channel_s_reference() -> None:
    """By the system, naming step, channel and recipient."""
    given(MOVING).when(notify("notify", at(2), USER_ANNA, reference={"ts": "1.2"})).then(
        notified("slack", "notify", USER_ANNA, at(2), reference={"ts": "1.2"})
    )


def test_a_notice_that_failed_is_recorded_with_its_error_and_when_it_is_tried_again() -> None:
    """The next attempt is expected from then on, the first no more."""
    outcome = given(MOVING).when(notify("notify", at(2), USER_ANNA, error="busy", retry_at=at(3)))
    outcome.then(notified("slack", "notify", USER_ANNA, at(2), error="busy", retry_at=at(3)))
    failed = notified("slack", "notify", USER_ANNA, at(2), error="busy", retry_at=at(3))
    given(MOVING, failed).when(notify("notify", at(3), USER_ANNA)).then()
    given(MOVING, failed).when(notify("notify", at(3), USER_ANNA, attempt=2)).then(
        notified("slack", "notify", USER_ANNA, at(3), attempt=2)
    )


def test_a_notice_that_was_on_its_way_when_the_request_moved_is_recorded() -> None:
    """The channel shows it, and must be able to find it again; nothing else follows from it, and it is known once."""
    moved = given(MOVING, delegated(BERT, ANNA, ANNA, at=at(2)))
    late = notified("slack", "notify", USER_ANNA, at(2), reference={"ts": "1.2"})
    outcome = moved.when(notify("notify", at(2), USER_ANNA, reference={"ts": "1.2"}))
    outcome.then(late)
    assert outcome.request.timetable.due() == moved.request().timetable.due()
    moved.when(notify("notify", at(2), USER_ANNA, error="busy", retry_at=at(3))).then()
    given(MOVING, delegated(BERT, ANNA, ANNA, at=at(2)), late).when(notify("notify", at(3), USER_ANNA)).then()


def test_what_may_have_been_told_without_a_word_of_it_is_looked_for() -> None:
    """A notice that was due when the request moved or closed, or was tried before, and nothing that was not."""
    early, late = delegated(BERT, ANNA, ANNA, at=at(1)), delegated(BERT, ANNA, ANNA, at=at(2))
    told, failed = (notified("slack", "notify", USER_ANNA, at(2), error=error, retry_at=retry_at)
                    for error, retry_at in ((None, None), ("busy", at(5))))  # fmt: skip
    for facts, steps in (
        ((), []),
        ((early,), []),
        ((late,), ["notify"]),
        ((late, told), []),
        ((responded(BERT, at=at(1)),), []),
        ((responded(BERT, at=at(2)),), ["notify"]),
        ((told, responded(BERT, at=at(3))), []),
        ((failed, responded(BERT, at=at(3))), ["notify"]),
    ):
        request = given(MOVING, *facts).request()
        assert [notice.step for notice in request.unsettled("slack")] == steps, facts
        assert request.unsettled("mail") == []


def test_an_attempt_is_recorded_once() -> None:
    """A second replica that gave the same notice adds nothing, whatever came of it."""
    done = given(MOVING, notified("slack", "notify", USER_ANNA, at(2)))
    done.when(notify("notify", at(2), USER_ANNA)).then()
    done.when(notify("notify", at(2), USER_ANNA, error="busy", retry_at=at(3))).then()


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("notify", {"channel": "email"}),
        ("notify", {"channel": "web"}),
        ("notify", {"attempt": 2}),
        ("notify", {"attempt": 0}),
        ("notify", {"planned_for": USER_ANNA}),
        ("notify:7", {}),
        ("remind:1", {}),
        ("escalate:1", {}),
        ("expire", {}),
    ],
)
def test_a_notice_that_nobody_planned_is_not_recorded(name: str, more: dict[str, Any]) -> None:
    """Of another channel, step, attempt or person."""
    given(MOVING).when(notify(name, at(2), USER_ANNA, **more)).then()


def test_a_notice_to_those_whom_the_ladder_told_is_theirs() -> None:
    """Each recipient once."""
    facts = (TELLING, told(ON_CALL))
    done = notified("slack", "escalate:1:notify", LIST_ON_CALL, at(10))
    name = "escalate:1:notify"
    given(*facts).when(notify(name, at(10), LIST_ON_CALL, planned_for=LIST_ON_CALL)).then(done)
    given(*facts).when(notify(name, at(10), USER_BERT, planned_for=USER_BERT)).then()
    given(*facts, done).when(notify(name, at(10), LIST_ON_CALL, planned_for=LIST_ON_CALL)).then()


@pytest.mark.parametrize("end", [responded(ANNA, at=at(2)), cancelled(AGENT, at=at(2))])
def test_what_was_being_sent_when_it_closed_is_recorded_afterwards(end: Fact) -> None:
    """It happened; the request stays closed, and nothing more is planned."""
    outcome = given(MOVING, end).when(notify("notify", at(2), USER_ANNA))
    outcome.then(notified("slack", "notify", USER_ANNA, at(2)))
    assert not outcome.request.is_open


def test_a_notice_records_no_lapse() -> None:
    """The deadline is carried out by its own step."""
    given(UNTIL_DEADLINE).when(notify("notify", at(60), USER_ANNA)).then(notified("slack", "notify", USER_ANNA, at(60)))


# -- putting it aside


@pytest.mark.parametrize("by", [ANNA, ADMIN])
def test_whoever_is_asked_may_put_it_aside(by: PersonCaller) -> None:
    """Until a time, and may change that, or end it; the same again changes nothing."""
    given(MOVING).when(snooze(by, at(60), at(1))).then(snoozed(by, at(60), at(1)))
    aside = given(MOVING, snoozed(by, at(60), at(1)))
    assert aside.request().timetable.snoozed_until == at(60)
    aside.when(snooze(by, at(60), at(2))).then()
    aside.when(snooze(by, at(90), at(2))).then(snoozed(by, at(90), at(2)))
    aside.when(snooze(by, None, at(2))).then(snoozed(by, None, at(2)))
    given(MOVING, snoozed(by, at(60), at(1)), snoozed(by, None, at(2))).when(snooze(by, None, at(3))).then()
    given(MOVING).when(snooze(by, None, at(1))).then()


@pytest.mark.parametrize("by", [BERT, OWNER, AUDITOR, PersonCaller(ANNA.id, Role.AUDITOR), AGENT, FOR_ANNA])
@pytest.mark.parametrize("until", [at(60), None])
def test_nobody_else_may_put_it_aside(by: Caller, until: datetime | None) -> None:
    """Neither agents, nor auditors, nor people whom the ladder told."""
    given(TELLING, told(BERT)).when(snooze(by, until, at(11))).then_refused(NotAllowed, only_assignee("snooze"))


@pytest.mark.parametrize("until", [at(1), at(0.5), START, at(1) + LONGEST_SNOOZE + timedelta(microseconds=1)])
def test_a_snooze_ends_in_the_future_and_not_too_far(until: datetime) -> None:
    """The refusal names the field."""
    refusal = given(MOVING).when(snooze(ANNA, until, at(1))).refusal
    assert isinstance(refusal, Invalid)
    assert [error.path for error in refusal.errors] == ["until"]


@pytest.mark.parametrize("until", [at(1) + timedelta(microseconds=1), at(1) + LONGEST_SNOOZE])
def test_a_snooze_of_any_length_up_to_the_longest_is_taken(until: datetime) -> None:
    """Both ends count."""
    given(MOVING).when(snooze(ANNA, until, at(1))).then(snoozed(ANNA, until, at(1)))


def test_what_stands_in_a_shared_inbox_is_claimed_first() -> None:
    """It is in nobody's own inbox."""
    listed = asked(MOVES, assignment=TO_LIST.as_fact())
    said = "the request is in nobody's own inbox: claim it first"
    given(listed).when(snooze(ADMIN, at(60), at(1))).then_refused(Conflict, said)
    given(listed).when(snooze(CARL, at(60), at(1))).then_refused(NotAllowed, only_assignee("snooze"))
    given(listed, claimed(CARL, at=at(1))).when(snooze(CARL, at(60), at(2))).then(snoozed(CARL, at(60), at(2)))


def test_nothing_is_put_aside_after_the_end() -> None:
    """Answered, or the deadline has passed."""
    said = "the request was answered at 2026-03-01T12:01:00.000Z"
    given(MOVING, responded(ANNA, at=at(1))).when(snooze(ANNA, at(60), at(2))).then_refused(
        AlreadyClosed, f"cannot snooze: {said}"
    )
    given(UNTIL_DEADLINE).when(snooze(ANNA, at(60), DEADLINE)).then_refused(
        AlreadyClosed, f"cannot snooze: {LAPSED}", expired()
    )


@pytest.mark.parametrize(
    "move",
    [
        delegated(ANNA, BERT, at=at(12)),
        escalated(TO_BERT, when=at(12)),
        moved("reassigned", ADMIN, into_list(ON_CALL, "so"), was=ANNA, at=at(12)),
        moved("departed", "system", Decision("fallback", "so", chosen=BERT.id), was=ANNA, at=at(12)),
        claimed(BERT, of=None, was=ANNA, at=at(12)),
    ],
)
def test_a_move_ends_the_snooze(move: Fact) -> None:
    """Whoever has it now sees it."""
    request = given(MOVING, snoozed(ANNA, at(60), at(11)), move).request()
    assert request.timetable.snoozed_until is None


def test_a_snooze_stops_neither_an_answer_nor_the_ladder_nor_the_end() -> None:
    """Reminders wait, deadlines do not."""
    aside = given(UNTIL_DEADLINE, snoozed(ANNA, at(60), at(0.5)))
    assert aside.when(respond(ANNA, at=at(0.7))).refusal is None
    aside.when(escalate(TO_BERT, at(1))).then(escalated(TO_BERT, when=at(1)))
    aside.when(expire(DEADLINE)).then(expired())
    aside.when(cancel(AGENT, at=at(0.7))).then(cancelled(AGENT, at=at(0.7)))
    assert aside.request().timetable.due() == {"escalate": at(1), "expire": DEADLINE, "notify:slack": at(60)}


# -- the plan


def shown(request: Request) -> list[tuple[str, str]]:
    return [(step["step"], step["at"][11:16]) for step in request.plan]


def test_the_plan_shows_what_comes_next_and_when() -> None:
    """While it is open as things are by now, with what was shown at first; nothing of how it is carried out."""
    open_ = given(asked(MOVES, MOVES, expires_at=at(60)))
    assert shown(open_.request()) == [
        ("show", "12:00"),
        ("notify:slack", "12:02"),
        ("escalate:1", "12:10"),
        ("escalate:2", "12:20"),
        ("expire", "13:00"),
    ]
    assert all(step.keys() == {"step", "at", "what"} for step in open_.request().plan)
    later = given(asked(MOVES, MOVES, expires_at=at(60)), delegated(ANNA, BERT, at=at(5)))
    assert shown(later.request()) == [
        ("show", "12:00"),
        ("notify:slack", "12:07"),
        ("escalate:1", "12:15"),
        ("escalate:2", "12:25"),
        ("expire", "13:00"),
    ]


def test_the_plan_of_a_closed_request_is_the_one_that_it_had_when_it_was_asked() -> None:
    """What would have happened."""
    closed = given(asked(MOVES, expires_at=at(60)), delegated(ANNA, BERT, at=at(5)), responded(BERT, at=at(6)))
    assert shown(closed.request()) == [
        ("show", "12:00"),
        ("notify:slack", "12:02"),
        ("escalate:1", "12:10"),
        ("remind:1", "12:30"),
        ("remind:2", "13:00"),
        ("expire", "13:00"),
        ("remind:3", "13:30"),
    ]
    assert all(step.keys() == {"step", "at", "what"} for step in closed.request().plan)


def test_asking_plans_from_the_decision_the_type_and_the_channels() -> None:
    """All of it stands in the one event."""
    strategy = {"type": "RunUser", "escalation": [MOVES]}
    decision = Decision("invocation", "so", chosen=ANNA.id, strategy=strategy)
    of_type = {"type": "RunUser", "notifyDelaySeconds": 7}
    made = ask(decision=decision, of_type=of_type, channels=SLACK, expires_at=DEADLINE)
    assert made.asked.plan == make_plan(START, DEADLINE, strategy, of_type, SLACK)
    assert made.timetable.due() == {
        "notify:slack": START + timedelta(seconds=7),
        "escalate": at(10),
        "expire": DEADLINE,
    }
    assert ask().timetable.due() == {}


def test_replaying_fires_nothing_and_gives_the_same_times() -> None:
    """What was done is in the events."""
    facts = (MOVING, notified("slack", "notify", USER_ANNA, at(2)), escalated(TO_BERT), delegated(BERT, OWNER, BERT))
    first, second = given(*facts).request(), given(*facts).request()
    assert first.timetable == second.timetable
    assert first.pending_events == []
    assert rebuild(given(*facts).events) == first


# -- commands that others issue meanwhile


def test_a_release_and_a_delegation_after_an_escalation_are_those_of_the_new_person() -> None:
    """Whoever had it has no say any more."""
    facts = (MOVING, escalated(TO_BERT))
    given(*facts).when(delegate(OWNER, ANNA, at=at(11))).then_refused(NotAllowed, only_assignee("delegate"))
    given(*facts).when(delegate(OWNER, BERT, at=at(11))).then(delegated(BERT, OWNER, BERT, at=at(11)))
    listed = (asked(MOVES, assignment=TO_LIST.as_fact()), claimed(CARL, at=at(1)))
    given(*listed).when(release(CARL, at=at(2))).then(released(CARL, CARL, at=at(2)))


# -- anything, in any order

PEOPLE = [ANNA, BERT, CARL, DORA, ADMIN, OUTSIDER, AUDITOR]
CALLERS: list[Caller] = [*PEOPLE, AGENT]
TERMINAL = (Request.Responded, Request.Cancelled, Request.Expired)
MOVED = (Request.Reassigned, Request.Snoozed)

callers, people = st.sampled_from(CALLERS), st.sampled_from(PEOPLE)
somebody = st.sampled_from([TO_BERT, TO_ON_CALL, TO_NOBODY, Decision("escalation", "so", chosen=ANNA.id)])
ladders = st.lists(
    st.builds(
        lambda after, only: step(after, notifyOnly=only), st.sampled_from([0.001, 0.5, 1, 10, 60]), st.booleans()
    ),
    max_size=4,
)


class Clockwork(RuleBasedStateMachine):
    """One request with a plan, whatever people do, and whatever replicas try to carry out, at whatever time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.events: list[RecordedEvent] = []
        self.steps: list[tuple[str, ...]] = []
        """Every step that was carried out: of the ladder, or an attempt at a notice."""

        self.request: Request

    @initialize(
        ladder=ladders,
        repeat=st.booleans(),
        remind=st.none() | st.sampled_from([1e-9, 1, 7, 30]),
        delays=st.dictionaries(st.sampled_from(["slack", "email"]), st.sampled_from([0, 1, 120, 3600]), max_size=2),
        seconds=st.none() | st.sampled_from([1, 60, 600, 7200]),
        decision=st.sampled_from([TO_LIST, TO_NOBODY, Decision("command", "so", chosen=ANNA.id)]),
    )
    def ask(
        self,
        ladder: list[dict[str, Any]],
        repeat: bool,
        remind: float | None,
        delays: dict[str, int],
        seconds: int | None,
        decision: Decision,
    ) -> None:
        ladder = [{**each, "repeat": repeat and number == len(ladder)} for number, each in enumerate(ladder, 1)]
        self.request = Request.ask(
            by=AGENT,
            now=self.now,
            unique_id="deploy",
            question=Question("clarification"),
            sealed=False,
            message="May I?",
            decision=replace(decision, strategy={"type": "RunUser", "escalation": ladder, "remindMinutes": remind}),
            priority=50,
            run_user=ANNA.id,
            expires_at=None if seconds is None else self.now + timedelta(seconds=seconds),
            channels={name: timedelta(seconds=delay) for name, delay in delays.items()},
        )
        self.record()

    # -- time and people

    @rule(seconds=st.sampled_from([0.001, 1, 30, 60, 119, 120, 600, 3600, 100_000]))
    def time_passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(early=st.sampled_from([0, 0.000001, 0.001]))
    def time_passes_until_something_is_due(self, early: float) -> None:
        due = [moment for moment in self.request.timetable.due().values() if moment > self.now]
        if due:
            self.now = max(self.now, min(due) - timedelta(seconds=early))

    @rule(by=callers)
    def claim(self, by: Caller) -> None:
        had, could_take_over = self.request.assigned_to, self.request.up_for_claim
        added = self.when(lambda request: request.claim(by=by, now=self.now))
        if any(isinstance(event, Request.Reassigned) for event in added):
            assert had is None or could_take_over
            assert isinstance(by, PersonCaller)
            assert self.request.assigned_to == by.id

    @rule(by=callers)
    def release(self, by: Caller) -> None:
        self.when(lambda request: request.release(by=by, now=self.now))

    @rule(by=callers, to=people)
    def delegate(self, by: Caller, to: PersonCaller) -> None:
        self.when(lambda request: request.delegate(to=to.id, by=by, now=self.now))

    @rule(by=callers, to=people)
    def reassign(self, by: Caller, to: PersonCaller) -> None:
        self.when(lambda request: request.reassign(to=to.id, by=by, now=self.now))

    @rule(decision=somebody)
    def move_on(self, decision: Decision) -> None:
        self.when(lambda request: request.move_on(decision, now=self.now))

    @rule(by=callers, minutes=st.none() | st.sampled_from([-1, 0, 1, 45, 100, 200_000]))
    def snooze(self, by: Caller, minutes: float | None) -> None:
        until = None if minutes is None else self.now + timedelta(minutes=minutes)
        due = self.request.timetable.due()
        added = self.when(lambda request: request.snooze(until, by=by, now=self.now))
        if any(isinstance(event, Request.Snoozed) for event in added):
            after = self.request.timetable.due()
            assert after.keys() == due.keys()
            assert all(after[kind] == due[kind] for kind in ("expire", "escalate") if kind in due)

    @rule(by=callers)
    def answer(self, by: Caller) -> None:
        yes = Answer("answered", text="yes")
        self.when(lambda request: request.respond(lambda question: yes, by=by, via=Via.API, now=self.now))

    @rule(by=callers)
    def cancel(self, by: Caller) -> None:
        self.when(lambda request: request.cancel(by=by, now=self.now))

    # -- replicas

    @rule()
    def expire(self) -> None:
        self.when(lambda request: request.expire(now=self.now))

    @rule(decision=somebody, other=st.none() | st.sampled_from(["escalate:1", "escalate:2", "escalate:1:2", "notify"]))
    def escalate(self, decision: Decision, other: str | None) -> None:
        """By the right name or another, due or not: it happens exactly where it is the next, and due."""
        request = self.request
        due, name, rung = request.timetable.due(), request.timetable.rung_step, request.timetable.rung
        tried = other or name or "escalate:9"
        lapsed = request.is_open and "expire" in due and due["expire"] <= self.now
        happens = request.is_open and not lapsed and tried == name and due["escalate"] <= self.now
        had = (request.assigned_to, request.assigned_list)
        added = self.when(lambda request: request.escalate(decision, step=tried, now=self.now))
        if lapsed:
            assert [type(event) for event in added] == [Request.Expired]
        elif not happens:
            assert added == []
        else:
            (event,) = added
            assert rung is not None
            assert isinstance(event, (Request.Reassigned, Request.Notified))
            assert (event.step, event.actor) == (name, "system")
            moves = not rung.notify_only and decision is not TO_NOBODY
            assert isinstance(event, Request.Reassigned) == moves
            if not moves:
                assert (self.request.assigned_to, self.request.assigned_list) == had
            self.steps.append((tried,))
            assert self.request.timetable.rung_step != tried

    @rule(fails=st.sampled_from(["", "temporarily", "for good"]), data=st.data())
    def notify(self, fails: str, data: st.DataObject) -> None:
        """A replica gives a notice that is due, as `Notices` does; the same record again adds nothing."""
        channels = [kind[7:] for kind in self.request.timetable.kinds if kind.startswith("notify:")]
        ready = [
            (channel, notice)
            for channel in channels
            for time, notice in self.request.timetable.notices(channel)
            if time <= self.now
        ]
        if not ready:
            return
        channel, notice = data.draw(st.sampled_from(ready))
        was_open = self.request.is_open
        again = retry_after(notice.attempt) if fails == "temporarily" else None
        recipient = notice.to or (None if self.request.assigned_to is None else f"user:{self.request.assigned_to}")

        def record(request: Request) -> None:
            request.notified(
                channel=channel,
                step=notice.step,
                planned_for=notice.to,
                recipient=recipient,
                attempt=notice.attempt,
                now=self.now,
                error=fails or None,
                retry_at=None if again is None else self.now + again,
            )

        (event,) = self.when(record)
        assert isinstance(event, Request.Notified)
        assert (event.channel, event.attempt, event.delivered) == (channel, notice.attempt, not fails)
        assert notice.attempt <= MOST_ATTEMPTS
        if was_open:
            assert [each for time, each in self.request.timetable.notices(channel) if each == notice] == []
        self.steps.append((channel, notice.step, str(notice.to), str(notice.attempt)))
        assert self.when(record) == []

    @precondition(lambda self: self.request.timetable.notices("slack"))
    @rule(attempt=st.sampled_from([0, 1, 2, 9]), name=st.sampled_from(["notify", "remind:1", "escalate:1:notify", ""]))
    def notify_of_another(self, attempt: int, name: str) -> None:
        """What is not planned is not recorded."""
        if any((each.step, each.attempt) == (name, attempt) for _, each in self.request.timetable.notices("slack")):
            return
        if self.request.timetable.was_given_up("slack", Notice(name, self.now, attempt)):
            return
        assert (
            self.when(
                lambda request: request.notified(
                    channel="slack", step=name, planned_for=None, recipient=None, attempt=attempt, now=self.now
                )
            )
            == []
        )

    def when(self, command: Callable[[Request], Any]) -> list[RecordedEvent]:
        """Run a command; returns what it recorded. A refusal keeps nothing but a lapse, or the refused attempt."""
        try:
            command(self.request)
        except Refusal:
            kept = (Request.Expired, Request.AnswerRefused)
            assert all(isinstance(event, kept) for event in self.request.pending_events)
        return self.record()

    def record(self) -> list[RecordedEvent]:
        added = list(self.request.collect_events())
        self.events += added
        return added

    # -- what always holds

    @invariant()
    def replaying_the_events_gives_the_same_plan(self) -> None:
        if self.events:
            again = rebuild(self.events)
            assert again == self.request
            assert again.timetable == self.request.timetable
            assert again.plan == self.request.plan

    @invariant()
    def no_step_is_carried_out_twice(self) -> None:
        assert len(self.steps) == len(set(self.steps))
        for channel in ("slack", "email"):
            reminders = {name for of, name, *_ in (each for each in self.steps if len(each) > 1) if of == channel}
            assert sum(name.startswith("remind:") for name in reminders) <= MOST_REMINDERS

    @invariant()
    def nothing_moves_after_the_one_end(self) -> None:
        ends = [event for event in self.events if isinstance(event, TERMINAL)]
        assert len(ends) <= 1
        for end in ends:
            assert not any(isinstance(event, MOVED) for event in self.events[end.originator_version :])
            later = [e for e in self.events[end.originator_version :] if isinstance(e, Request.Notified)]
            assert all(event.channel != "web" for event in later)

    @invariant()
    def what_is_due_is_still_to_come(self) -> None:
        if not self.events or not self.request.is_open:
            return
        timetable = self.request.timetable
        due = timetable.due()
        assert due.keys() <= set(timetable.kinds)
        assert due.get("expire") == self.request.asked.expires_at
        if "escalate" in due:
            assert (timetable.rung_step,) not in self.steps
        for kind in due.keys() - {"expire", "escalate"}:
            for time, notice in timetable.notices(kind[7:]):
                assert due[kind] <= time
                assert (kind[7:], notice.step, str(notice.to), str(notice.attempt)) not in self.steps
        planned = [step["step"] for step in self.request.plan if step["step"] != "show"]
        assert len(planned) == len(set(planned))
        deadline = self.request.asked.expires_at
        shown = {kind for kind, time in due.items() if kind == "expire" or deadline is None or time < deadline}
        assert {name if name.startswith("notify:") else name.partition(":")[0] for name in planned} == shown

    @invariant()
    def whoever_was_told_may_read_it(self) -> None:
        if self.events:
            for person in PEOPLE:
                if person.id in self.request.told or not person.lists.isdisjoint(self.request.told):
                    assert self.request.may_read(person)


Clockwork.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestClockwork = Clockwork.TestCase
