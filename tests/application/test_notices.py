"""Giving notices: to whom, when not, what becomes of one that fails, and that each is recorded once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest

from application.notices import Message, NobodyToTell, Notices, PermanentFailure, TemporaryFailure
from application.ports import Directory, DueStep, DueSteps, EventStore, UserEntry, VersionConflict
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
USER_ANNA, USER_BERT, LIST_ON_CALL = f"user:{ANNA.id}", f"user:{BERT.id}", f"list:{ON_CALL}"
TO_ANNA = Decision("command", "so", chosen=ANNA.id)
TO_BERT = Decision("escalation", "so", chosen=BERT.id)
TO_LIST = Decision("command", "so", list=ON_CALL)
TO_NOBODY = Decision("fallback", "so")
KIND = "notify:slack"
AT_NOON = {"from": "12:00", "to": "13:30"}


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


class Clock:
    """Time as it is told."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time


class Log:
    """An event store in memory; the next `conflicts` writes lose their race."""

    def __init__(self) -> None:
        self.events: list[RecordedEvent] = []
        self.conflicts = 0

    async def request(self, id: UUID) -> Request | None:
        return rebuild(event for event in self.events if event.originator_id == id)

    async def save(self, request: Request) -> int:
        if self.conflicts:
            self.conflicts -= 1
            raise VersionConflict
        self.events += request.collect_events()
        return len(self.events)


class People:
    """A directory of people."""

    def __init__(self, *people: UserEntry) -> None:
        self.people = {person.id: person for person in people}

    def are(self, *people: UserEntry) -> None:
        self.people |= {person.id: person for person in people}

    async def user(self, id: UUID) -> UserEntry | None:
        return self.people.get(id)


class Due:
    """Due steps that remember what was said of them: until when they were put off, None for done."""

    def __init__(self) -> None:
        self.said: list[tuple[str, datetime | None]] = []
        self.lost = False
        """Whether another one has the lease by now."""

    async def holds(self, step: DueStep) -> bool:
        return not self.lost

    async def done(self, step: DueStep) -> None:
        self.said.append((step.step, None))

    async def postpone(self, step: DueStep, until: datetime) -> None:
        self.said.append((step.step, until))


class World:
    """Notices on fakes, and one request; its notice comes two minutes after it was asked."""

    def __init__(self, decision: Decision = TO_ANNA, *, priority: int = 50, ladder: Any = None, **more: Any) -> None:
        self.clock, self.log, self.people, self.due, self.slack = (
            Clock(),
            Log(),
            People(ANNA, BERT),
            Due(),
            FakeChannel(),
        )
        self.reported: list[tuple[str, Mapping[str, object]]] = []
        self.notices = self.noticing()
        strategy = {"type": "RunUser", "remindMinutes": 30, **({"escalation": ladder} if ladder else {})}
        request = Request.ask(
            by=AGENT,
            now=START,
            unique_id="deploy",
            question=Question("clarification"),
            sealed=False,
            message="May I?",
            decision=replace(decision, strategy=strategy),
            priority=priority,
            channels=self.notices.delays(),
            **more,
        )
        self.id = request.id
        self.log.events += request.collect_events()

    def noticing(self, **more: Any) -> Notices:
        return Notices(
            cast(EventStore, self.log),
            cast(Directory, self.people),
            cast(DueSteps, self.due),
            self.clock,
            [self.slack],
            lambda said, what: self.reported.append((said, what)),
            **more,
        )

    def step(self, kind: str, due_at: datetime) -> DueStep:
        return DueStep(self.id, kind, due_at)

    async def give(self, at: float, kind: str = KIND) -> None:
        """So many minutes after it was asked, the step of this kind comes."""
        self.clock.time = START + minutes(at)
        await self.notices.give(self.step(kind, self.clock.time), self.clock.time)

    def happens(self, what: Callable[[Request], Any]) -> None:
        """Something happens to the request, by another replica."""
        request = rebuild(self.log.events)
        what(request)
        self.log.events += request.collect_events()

    def escalates(self, at: float, decision: Decision) -> None:
        """The ladder's next step is carried out."""

        def climb(request: Request) -> None:
            step = request.timetable.rung_step
            assert step is not None
            request.escalate(decision, step=step, now=START + minutes(at))

        self.happens(climb)

    def while_delivering(self, what: Callable[[Request], Any]) -> None:
        """This happens in the middle of the next deliveries."""

        async def before(message: Message) -> None:
            self.happens(what)

        self.slack.before = before

    @property
    def sent(self) -> list[tuple[str, int, str | None]]:
        return [(said.step, said.attempt, said.to) for said in self.slack.delivered]

    @property
    def recorded(self) -> list[Request.Notified]:
        """The notices of this channel that are in the log."""
        return [e for e in self.log.events if isinstance(e, Request.Notified) and e.channel == "slack"]

    @property
    def outcomes(self) -> list[tuple[str, int, str | None, str | None]]:
        """Of each that was recorded: its step, attempt and recipient, and the error or None."""
        assert all(event.delivered == (event.error is None) for event in self.recorded)
        return [(event.step, event.attempt, event.recipient, event.error) for event in self.recorded]

    @property
    def waiting(self) -> list[tuple[float, str, int]]:
        """What the channel still has to say: after how many minutes, which step, which attempt."""
        timetable = rebuild(self.log.events).timetable
        return [((at - START) / minutes(1), notice.step, notice.attempt) for at, notice in timetable.notices("slack")]


def answer(at: float = 1) -> Callable[[Request], Any]:
    """Anna answers."""
    return lambda request: request.respond(
        lambda question: Answer("answered", text="yes"), by=BY_ANNA, via=Via.WEB, now=START + minutes(at)
    )


def delegate(at: float = 1) -> Callable[[Request], Any]:
    """Anna hands it to Bert."""
    return lambda request: request.delegate(to=BERT.id, by=BY_ANNA, now=START + minutes(at))


def step(after: float = 1, **more: Any) -> dict[str, Any]:
    return {"afterMinutes": after, "to": {"type": "AgentOwner"}, **more}


TELLING = [step(notifyOnly=True)]


# -- to whom


async def test_the_person_asked_is_told_and_it_is_recorded() -> None:
    """With the channel's own reference; the next reminder is planned."""
    world = World()
    await world.give(2)
    assert world.sent == [("notify", 1, "anna")]
    (event,) = world.recorded
    assert (event.timestamp, event.actor, event.channel) == (START + minutes(2), "system", "slack")
    assert (event.step, event.recipient, event.delivered, event.error) == ("notify", USER_ANNA, True, None)
    assert (event.reference, event.retry_at) == ({"channel": "slack", "ts": "1"}, None)
    assert world.waiting == [(30, "remind:1", 1)]
    assert (world.due.said, world.reported) == ([], [])


@pytest.mark.parametrize(
    ("decision", "told", "recipient"),
    [(TO_ANNA, "anna", USER_ANNA), (TO_LIST, f"list {ON_CALL}", LIST_ON_CALL), (TO_NOBODY, None, None)],
)
async def test_a_notice_goes_to_whoever_is_responsible_then(
    decision: Decision, told: str | None, recipient: str | None
) -> None:
    """A person, the members of a list, or neither, for administrators."""
    world = World(decision)
    await world.give(2)
    assert world.sent == [("notify", 1, told)]
    assert world.outcomes == [("notify", 1, recipient, None)]


async def test_somebody_who_claimed_it_is_reminded_instead_of_the_list() -> None:
    """Responsible then is whoever has it."""
    world = World(TO_LIST)
    await world.give(2)
    anna = replace(BY_ANNA, lists=frozenset({ON_CALL}))
    world.happens(lambda request: request.claim(by=anna, now=START + minutes(3)))
    await world.give(33)
    assert world.sent == [("notify", 1, f"list {ON_CALL}"), ("remind:2", 1, "anna")]


@pytest.mark.parametrize(("told", "to", "recipient"), [(TO_BERT, "bert", USER_BERT), (TO_LIST, None, LIST_ON_CALL)])
async def test_those_whom_the_ladder_tells_are_told_beside_the_person_asked(
    told: Decision, to: str | None, recipient: str
) -> None:
    """Each by a notice of their own, the one that is due first before the other."""
    world = World(ladder=TELLING)
    world.escalates(1, told)
    await world.give(1)
    await world.give(2)
    assert world.sent == [("escalate:1:notify", 1, to or f"list {ON_CALL}"), ("notify", 1, "anna")]
    assert world.outcomes == [("escalate:1:notify", 1, recipient, None), ("notify", 1, USER_ANNA, None)]
    assert world.waiting == [(30, "remind:1", 1)]


async def test_whoever_the_ladder_moves_it_to_is_told_at_once() -> None:
    """And whoever had it is told no more."""
    world = World(ladder=[step()])
    world.escalates(1, TO_BERT)
    await world.give(1)
    assert world.outcomes == [("escalate:1", 1, USER_BERT, None)]
    assert world.waiting == [(31, "remind:1", 1)]


@pytest.mark.parametrize("gone", [None, replace(BERT, active=False)])
async def test_somebody_who_is_not_there_any_more_is_told_nothing(gone: UserEntry | None) -> None:
    """It is recorded as failed, for good, and the channel is not called; others are told all the same."""
    world = World(ladder=TELLING)
    world.escalates(1, TO_BERT)
    world.people.people.pop(BERT.id)
    world.people.are(*([] if gone is None else [gone]))
    await world.give(2)
    await world.give(2)
    assert world.sent == [("notify", 1, "anna")]
    assert world.outcomes == [
        ("escalate:1:notify", 1, USER_BERT, "the person is not there any more"),
        ("notify", 1, USER_ANNA, None),
    ]


# -- when not


async def test_nothing_is_sent_before_its_time() -> None:
    """The step is put off until then, as it may have been moved."""
    world = World()
    await world.give(1.999)
    assert (world.sent, world.recorded, world.due.said) == ([], [], [(KIND, START + minutes(2))])


async def test_nothing_is_sent_of_a_request_that_is_answered() -> None:
    """Not even one that was due already."""
    world = World()
    world.happens(answer(2.5))
    await world.give(3)
    assert (world.sent, world.recorded, world.due.said) == ([], [], [(KIND, None)])


async def test_nothing_is_sent_of_a_request_whose_deadline_has_passed() -> None:
    """Though nobody has carried out the deadline yet."""
    world = World(expires_at=START + minutes(2))
    await world.give(2)
    assert (world.sent, world.recorded, world.due.said) == ([], [], [(KIND, None)])


async def test_nothing_is_sent_by_who_has_lost_the_lease() -> None:
    """The request went on since, and what is due by now is leased anew."""
    world = World()
    world.due.lost = True
    await world.give(2)
    assert (world.sent, world.due.said) == ([], [])


async def test_nothing_is_sent_of_a_request_that_there_is_not() -> None:
    """Its step is done with."""
    world = World()
    world.log.events.clear()
    await world.give(3)
    assert (world.sent, world.due.said) == ([], [(KIND, None)])


async def test_a_notice_is_void_once_the_request_went_to_somebody_else() -> None:
    """Whoever has it now has a notice of their own, at its own time."""
    world = World()
    world.happens(delegate(1.5))
    await world.give(2)
    assert (world.sent, world.due.said) == ([], [(KIND, START + minutes(3.5))])
    await world.give(3.5)
    assert world.outcomes == [("notify:2", 1, USER_BERT, None)]


async def test_a_notice_that_was_given_is_not_given_again() -> None:
    """The step comes twice, where a lease ran out."""
    world = World()
    await world.give(2)
    await world.give(2)
    assert (len(world.sent), len(world.recorded)) == (1, 1)
    assert world.due.said == [(KIND, START + minutes(30))]


async def test_a_request_without_notices_for_this_channel_is_done_with() -> None:
    """Channels that were not set up when it was asked have nothing to say."""
    world = World()
    await world.give(2, "notify:email")
    assert (world.sent, world.recorded, world.due.said) == ([], [], [("notify:email", None)])


async def test_what_was_put_aside_is_not_told_of_until_then() -> None:
    """The notice comes at the end of the snooze."""
    world = World()
    world.happens(lambda request: request.snooze(START + minutes(45), by=BY_ANNA, now=START + minutes(1)))
    await world.give(2)
    assert (world.sent, world.due.said) == ([], [(KIND, START + minutes(45))])
    await world.give(45)
    assert world.sent == [("notify", 1, "anna")]


async def test_where_there_is_nobody_to_tell_nothing_is_recorded() -> None:
    """The step is done with, and no failure of anybody's."""
    world = World()
    world.slack.failures.append(NobodyToTell())
    await world.give(2)
    assert (len(world.sent), world.recorded, world.due.said) == (1, [], [(KIND, None)])
    assert (world.waiting, world.reported) == ([(2, "notify", 1)], [])


async def test_others_do_not_wait_for_whom_the_channel_cannot_tell() -> None:
    """Whoever is due as well is told in the same breath, and who comes later at their time."""
    world = World(ladder=TELLING)
    world.escalates(1, TO_BERT)
    world.slack.failures.append(NobodyToTell())
    await world.give(2)
    assert world.sent == [("escalate:1:notify", 1, "bert"), ("notify", 1, "anna")]
    assert world.outcomes == [("notify", 1, USER_ANNA, None)]
    world = World(ladder=TELLING)
    world.escalates(1, TO_BERT)
    world.slack.failures.append(NobodyToTell())
    await world.give(1)
    assert (world.recorded, world.due.said) == ([], [(KIND, START + minutes(2))])


# -- quiet hours


@pytest.mark.parametrize(("priority", "waits"), [(1, False), (20, False), (21, True), (50, True), (100, True)])
async def test_in_quiet_hours_only_what_is_urgent_is_told(priority: int, waits: bool) -> None:
    """Everything else is put off until they end; nothing is recorded of that."""
    world = World(priority=priority)
    world.people.are(replace(ANNA, quiet_hours=AT_NOON))
    await world.give(2)
    assert bool(world.sent) is not waits
    if waits:
        assert (world.recorded, world.due.said) == ([], [(KIND, datetime(2026, 3, 1, 13, 30, tzinfo=UTC))])
        await world.give(90)
        assert world.outcomes == [("notify", 1, USER_ANNA, None)]


async def test_reminders_and_later_attempts_keep_quiet_too() -> None:
    """Hours that begin meanwhile count."""
    world = World()
    world.slack.failures.append(TemporaryFailure("busy"))
    await world.give(2)
    world.people.are(replace(ANNA, quiet_hours={"from": "12:02", "to": "12:20"}))
    await world.give(2.5)
    assert world.due.said == [(KIND, START + minutes(20))]
    await world.give(20)
    world.people.are(replace(ANNA, quiet_hours={"from": "12:25", "to": "12:40"}))
    await world.give(30)
    await world.give(40)
    assert world.sent == [("notify", 1, "anna"), ("notify", 2, "anna"), ("remind:1", 1, "anna")]


async def test_a_shared_inbox_has_no_quiet_hours() -> None:
    """Members' own do not count: somebody in it is awake."""
    world = World(TO_LIST)
    world.people.are(replace(ANNA, quiet_hours=AT_NOON))
    await world.give(2)
    assert len(world.sent) == 1


@pytest.mark.parametrize("told", [TO_BERT, TO_LIST])
async def test_others_who_are_due_do_not_wait_for_somebody_s_quiet_hours(told: Decision) -> None:
    """The ladder tells more people because the person asked does not react, asleep as they are."""
    world = World(ladder=[step(5, notifyOnly=True)])
    world.people.are(replace(ANNA, quiet_hours=AT_NOON))
    await world.give(2)
    world.escalates(5, told)
    await world.give(5)
    assert [name for name, _, _ in world.sent] == ["escalate:1:notify"]
    await world.give(5)
    assert world.due.said == [(KIND, datetime(2026, 3, 1, 13, 30, tzinfo=UTC))] * 2
    await world.give(90)
    assert [name for name, _, _ in world.sent] == ["escalate:1:notify", "notify"]


async def test_a_notice_that_comes_before_quiet_hours_end_is_not_put_off_with_the_others() -> None:
    """A second attempt to tell Bert is due while Anna's notice waits."""
    world = World(ladder=TELLING)
    world.people.are(replace(ANNA, quiet_hours=AT_NOON))
    world.escalates(1, TO_BERT)
    world.slack.failures.append(TemporaryFailure("busy", minutes(10)))
    await world.give(1)
    await world.give(2)
    assert world.due.said == [(KIND, START + minutes(11))]
    await world.give(11)
    assert world.sent == [("escalate:1:notify", 1, "bert"), ("escalate:1:notify", 2, "bert")]


# -- failures


@pytest.mark.parametrize(
    ("after", "again"),
    [(None, 2.5), (timedelta(seconds=3), 2.5), (timedelta(minutes=7), 9), (timedelta(0), 2.5)],
)
async def test_what_failed_for_now_is_tried_again_later(after: timedelta | None, again: float) -> None:
    """After the back-off, or what the channel asks for where that is longer."""
    world = World()
    world.slack.failures.append(TemporaryFailure("busy", after))
    await world.give(2)
    assert world.outcomes == [("notify", 1, USER_ANNA, "busy")]
    assert (world.recorded[0].retry_at, world.recorded[0].reference) == (START + minutes(again), None)
    assert world.waiting == [(again, "notify", 2)]
    await world.give(again)
    assert world.outcomes[1:] == [("notify", 2, USER_ANNA, None)]
    assert world.reported == []


async def test_attempts_come_later_each_time_and_end_after_eight() -> None:
    """Always the same notice under the same key; what follows is the next reminder."""
    world = World()
    world.slack.failures += [TemporaryFailure("busy") for _ in range(MOST_ATTEMPTS)]
    delays = []
    while world.waiting[0][1] == "notify":
        due = world.waiting[0][0]
        await world.give(due)
        delays.append(round((world.waiting[0][0] - due) * 60))
    assert delays[:-1] == [30, 60, 120, 240, 480, 960, 1920]
    assert [attempt for _, attempt, _ in world.sent] == list(range(1, MOST_ATTEMPTS + 1))
    assert len({said.key for said in world.slack.delivered}) == 1
    assert (world.recorded[-1].attempt, world.recorded[-1].retry_at) == (MOST_ATTEMPTS, None)
    assert world.waiting == [(90, "remind:1", 1)]


async def test_what_can_never_be_delivered_is_tried_once() -> None:
    """The error is kept, and nothing is tried again."""
    world = World()
    world.slack.failures.append(PermanentFailure("channel_not_found"))
    await world.give(2)
    assert world.outcomes == [("notify", 1, USER_ANNA, "channel_not_found")]
    assert (world.recorded[0].retry_at, world.waiting) == (None, [(30, "remind:1", 1)])


async def test_a_channel_that_does_not_answer_has_failed_for_now() -> None:
    """The call is given up."""
    world = World()
    world.notices = world.noticing(give_up_after=0.01)

    async def hang(message: Message) -> None:
        await asyncio.sleep(60)

    world.slack.before = hang
    await world.give(2)
    assert world.outcomes == [("notify", 1, USER_ANNA, "no answer within 0.01 s")]
    assert world.waiting == [(2.5, "notify", 2)]
    assert world.reported == []


async def test_a_channel_with_a_fault_is_reported_and_tried_again() -> None:
    """Its words stay out of the history and the report: nobody knows what they hold."""
    world = World()
    world.slack.failures.append(ValueError("xoxb-secret"))
    await world.give(2)
    assert world.outcomes == [("notify", 1, USER_ANNA, "ValueError")]
    assert world.waiting == [(2.5, "notify", 2)]
    assert world.reported == [("notice failed", {"channel": "slack", "error": "ValueError"})]


async def test_a_channel_that_was_taken_down_is_not_called() -> None:
    """Its notices fail, for good."""
    world = World()
    world.slack.delay = None
    await world.give(2)
    assert (world.sent, world.notices.delays()) == ([], {})
    assert world.outcomes == [("notify", 1, USER_ANNA, "the channel slack is not set up any more")]
    assert world.waiting == [(30, "remind:1", 1)]


async def test_a_call_that_is_cancelled_records_nothing() -> None:
    """A replica stops in the middle: another gives the notice again, with the same key."""
    world = World()
    world.slack.failures.append(asyncio.CancelledError())  # type: ignore[arg-type]
    with pytest.raises(asyncio.CancelledError):
        await world.give(2)
    assert world.recorded == []
    await world.give(2)
    assert len({said.key for said in world.slack.delivered}) == 1
    assert world.outcomes == [("notify", 1, USER_ANNA, None)]


async def test_every_notice_has_a_key_of_its_own() -> None:
    """Reminders and those whom the ladder tells are no repeats of the first."""
    world = World(ladder=TELLING)
    world.escalates(1, TO_BERT)
    for at in (1, 2, 30, 60, 90):
        await world.give(at)
    keys = [said.key for said in world.slack.delivered]
    assert (len(keys), len(set(keys))) == (5, 5)
    assert keys[:2] == [f"{world.id}/slack/escalate:1:notify/{USER_BERT}", f"{world.id}/slack/notify/{USER_ANNA}"]


# -- recording


async def test_a_notice_is_recorded_though_the_request_was_answered_meanwhile() -> None:
    """It was delivered, and the channel's reference is needed to take it back."""
    world = World()
    world.while_delivering(answer(2))
    await world.give(2)
    assert [type(event).__name__ for event in world.log.events] == ["Requested", "Responded", "Notified"]
    assert world.recorded[0].reference == {"channel": "slack", "ts": "1"}


async def test_a_lost_race_to_record_is_run_again() -> None:
    """The call is not repeated for that."""
    world = World()
    world.log.conflicts = 3
    await world.give(2)
    assert (len(world.sent), len(world.recorded)) == (1, 1)


async def test_two_replicas_that_gave_the_same_notice_record_it_once() -> None:
    """A lease ran out during a slow call: the key was the same, and the second record adds nothing."""
    world = World()

    async def other(message: Message) -> None:
        world.slack.before = None
        await world.noticing().give(world.step(KIND, world.clock.time), world.clock.time)

    world.slack.before = other
    await world.give(2)
    assert (len(world.sent), len({said.key for said in world.slack.delivered})) == (2, 1)
    assert world.outcomes == [("notify", 1, USER_ANNA, None)]
    assert world.waiting == [(30, "remind:1", 1)]


async def test_the_time_of_an_attempt_is_when_it_ended() -> None:
    """The next is counted from there."""
    world = World()
    world.slack.failures.append(TemporaryFailure("busy"))

    async def slow(message: Message) -> None:
        world.clock.time += timedelta(seconds=15)

    world.slack.before = slow
    await world.give(2)
    assert (world.recorded[0].timestamp, world.waiting) == (START + minutes(2.25), [(2.75, "notify", 2)])


async def test_channels_that_are_set_up_are_named_with_their_delays() -> None:
    """Of the others no notice is planned."""
    world = World()
    assert world.notices.delays() == {"slack": timedelta(seconds=120)}
    world.slack.delay = timedelta(0)
    assert world.notices.delays() == {"slack": timedelta(0)}
    world.slack.delay = None
    assert world.notices.delays() == {}


# -- what a channel shows


UPDATE = "update:slack"


async def shown(world: World, *, at: float = 3) -> None:
    """The notice was given, and Anna has answered since."""
    await world.give(2)
    world.happens(answer(at))


async def test_whatever_the_channel_ever_told_of_it_shows_how_it_stands() -> None:
    """Each message, once, and then nothing is left to do."""
    world = World()
    await world.give(2)
    await world.give(32)
    world.happens(answer(33))
    assert await world.notices.update(world.step(UPDATE, START), START + minutes(33))
    assert world.slack.updated == [("deploy", "Responded", "1"), ("deploy", "Responded", "2")]
    assert world.due.said[-1] == (UPDATE, None)


async def test_what_changes_in_the_middle_is_shown_in_the_end() -> None:
    """Two servers may be at it at once: whichever was slower looks again, so that no older news comes last."""
    world = World()
    await world.give(2)
    world.happens(delegate(3))
    deliver = world.slack.update

    async def slow(request: Request, reference: Mapping[str, str]) -> None:
        if request.is_open:
            world.happens(lambda it: it.cancel(by=AGENT, now=START + minutes(4)))
        await deliver(request, reference)

    world.slack.update = slow  # type: ignore[method-assign]
    assert await world.notices.update(world.step(UPDATE, START), START + minutes(4))
    assert [status for _, status, _ in world.slack.updated] == ["Requested", "Cancelled"]


@pytest.mark.parametrize(
    ("failure", "after", "wait"),
    [
        (TemporaryFailure("busy"), 0.0, 2.0),
        (TemporaryFailure("busy", timedelta(seconds=7)), 0.0, 7.0),
        (TemporaryFailure("busy"), 60.0, 60.0),
        (TemporaryFailure("busy"), 3600.0, 300.0),
    ],
)
async def test_what_fails_for_now_is_tried_again(failure: Exception, after: float, wait: float) -> None:
    """As late as it is due for, within bounds, and not before the channel asked for."""
    world = World()
    await shown(world)
    world.slack.update_failures.append(failure)
    now = START + minutes(3) + timedelta(seconds=after)
    assert not await world.notices.update(world.step(UPDATE, START), now)
    assert world.due.said[-1] == (UPDATE, now + timedelta(seconds=wait))


async def test_what_fails_for_good_or_for_a_day_is_given_up() -> None:
    """It is reported, and nothing is left to do."""
    for failure, later in ((PermanentFailure("no such message"), 0.0), (TemporaryFailure("busy"), 24 * 60)):
        world = World()
        await shown(world)
        world.slack.update_failures.append(failure)
        assert await world.notices.update(world.step(UPDATE, START), START + minutes(3 + later))
        assert world.due.said[-1] == (UPDATE, None)
        assert world.reported


async def test_a_channel_that_is_not_set_up_shows_nothing() -> None:
    """Nor one that there is not."""
    world = World()
    await shown(world)
    world.slack.delay = None
    for kind in (UPDATE, "update:pigeon"):
        assert await world.notices.update(world.step(kind, START), START + minutes(3))
        assert world.due.said[-1] == (kind, None)
    assert world.slack.updated == []


@pytest.mark.parametrize("goes_on", [answer(3), delegate(3)])
async def test_what_was_given_without_a_word_of_it_is_found_and_shown(goes_on: Callable[[Request], Any]) -> None:
    """A crash came between the call and its record, and the request went on: once nobody can be at it any more."""
    world = World()
    key, reference = f"{world.id}/slack/notify/{USER_ANNA}", {"channel": "slack", "ts": "9"}
    world.slack.lost[key] = reference
    world.happens(goes_on)
    now = START + minutes(3)
    assert not await world.notices.update(world.step(UPDATE, START), now)
    assert (world.recorded, world.due.said[-1]) == ([], (UPDATE, now + timedelta(seconds=25)))
    assert await world.notices.update(world.step(UPDATE, START), now + timedelta(seconds=25))
    assert world.outcomes == [("notify", 1, USER_ANNA, None)]
    assert [ts for _, _, ts in world.slack.updated] == ["9"]
    assert (world.recorded[0].reference, world.due.said[-1]) == (reference, (UPDATE, None))


async def test_nothing_is_looked_for_where_nothing_was_due() -> None:
    """Nor where all that was due is known."""
    for at, given in ((1, False), (3, True)):
        world = World()
        if given:
            await world.give(2)
        world.slack.lost[f"{world.id}/slack/notify/{USER_ANNA}"] = {"channel": "slack", "ts": "9"}
        world.happens(answer(at))
        assert await world.notices.update(world.step(UPDATE, START), START + minutes(at))
        assert len(world.recorded) == given
