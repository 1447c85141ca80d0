"""The plan of a request, and what of it is next after anything that can happen to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.notices import quiet_until
from application.ports import UserEntry
from domain.callers import Role
from domain.timetable import MOST_ATTEMPTS, MOST_REMINDERS, Notice, Timetable, make_plan, retry_after

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SLACK = {"slack": timedelta(minutes=2)}
OWNER = {"type": "AgentOwner"}
BOB = {"type": "SpecificUser", "userID": "bob"}
NEW_YORK = ZoneInfo("America/New_York")

BERT, LIST = "user:00000000-0000-0000-0000-00000000000c", "list:00000000-0000-0000-0000-00000000001e"


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def at(number: float) -> datetime:
    """So many minutes after it was asked."""
    return START + minutes(number)


def step(after: float, to: dict[str, Any] = OWNER, **more: Any) -> dict[str, Any]:
    return {"afterMinutes": after, "to": to, **more}


def strategy(*steps: Any, **more: Any) -> dict[str, Any]:
    return {"type": "RunUser", **more, **({"escalation": list(steps)} if steps else {})}


def planned(
    *steps: Any,
    start: datetime = START,
    channels: dict[str, timedelta] = SLACK,
    expires: float | None = None,
    **more: Any,
) -> Timetable:
    """A fresh timetable: of a ladder, with reminders (`remindMinutes`), a deadline (`expires`, minutes)."""
    expires_at = None if expires is None else start + minutes(expires)
    return Timetable(start, make_plan(start, expires_at, strategy(*steps, **more), None, channels), expires_at)


def give(of: Timetable, when: datetime, channel: str = "slack", retry_at: datetime | None = None) -> Notice:
    """The next notice is given at this time, or tried again later; it must be due."""
    due_at, notice = of.notices(channel)[0]
    assert due_at <= when
    of.notified(at=when, channel=channel, step=notice.step, attempt=notice.attempt, to=notice.to, retry_at=retry_at)
    return notice


def climb(of: Timetable, when: datetime, told: list[str] | None = None) -> str:
    """The next step of the ladder is carried out at this time; it must be due."""
    name = of.rung_step
    assert name is not None
    assert of.rung_due(when) is not None
    if told is None:
        of.moved(at=when, version=9, step=name, cause="escalated")
    else:
        of.told(at=when, step=name, recipients=told)
    return name


def move(of: Timetable, when: datetime, cause: str, version: int = 2) -> None:
    of.moved(at=when, version=version, step=None, cause=cause)


def waiting(of: Timetable, channel: str = "slack") -> list[tuple[datetime, str, int, str | None]]:
    return [(time, notice.step, notice.attempt, notice.to) for time, notice in of.notices(channel)]


def brief(plan: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(step["step"], step["at"][11:19]) for step in plan]


# -- the plan


def test_a_request_without_anything_is_shown_and_that_is_all() -> None:
    """No strategy, no channel, no deadline."""
    shown = {"step": "show", "at": "2026-03-01T12:00:00.000Z", "what": "shown in the inbox"}
    assert make_plan(START, None, None, None, {}) == [shown]


def test_a_full_plan_has_every_step_in_the_order_of_its_time() -> None:
    """Notices, reminders, ladder and end, each with what it takes to carry it out."""
    by = strategy(step(2.5, BOB, notifyOnly=True), step(60, repeat=True), remindMinutes=30)
    plan = make_plan(START, at(45), by, None, SLACK)
    assert plan == [
        {"step": "show", "at": "2026-03-01T12:00:00.000Z", "what": "shown in the inbox"},
        {
            "step": "notify:slack",
            "at": "2026-03-01T12:02:00.000Z",
            "what": "told through slack",
            "after_seconds": 120.0,
        },
        {
            "step": "escalate:1",
            "at": "2026-03-01T12:02:30.000Z",
            "what": "more people are told: SpecificUser bob",
            "after_seconds": 150.0,
            "to": BOB,
            "notify_only": True,
            "repeat": False,
        },
        {"step": "remind:1", "at": "2026-03-01T12:30:00.000Z", "what": "reminded", "after_seconds": 1800.0},
        {"step": "expire", "at": "2026-03-01T12:45:00.000Z", "what": "expires unless it was answered"},
        {"step": "remind:2", "at": "2026-03-01T13:00:00.000Z", "what": "reminded", "after_seconds": 1800.0},
        {
            "step": "escalate:2",
            "at": "2026-03-01T13:02:30.000Z",
            "what": "goes to: AgentOwner, again and again",
            "after_seconds": 3600.0,
            "to": OWNER,
            "notify_only": False,
            "repeat": True,
        },
        {"step": "remind:3", "at": "2026-03-01T13:30:00.000Z", "what": "reminded", "after_seconds": 1800.0},
    ]


def test_steps_at_the_same_time_stand_in_the_order_in_which_they_matter() -> None:
    """Shown, told, reminded, escalated, expired."""
    plan = make_plan(START, at(2), strategy(step(2), remindMinutes=2), None, SLACK)
    assert [step["step"] for step in plan if step["at"] == "2026-03-01T12:02:00.000Z"] == [
        "notify:slack",
        "remind:1",
        "escalate:1",
        "expire",
    ]


@pytest.mark.parametrize(
    ("own", "of_type", "seconds"),
    [
        (None, None, {"slack": 120, "email": 5}),
        (strategy(), strategy(), {"slack": 120, "email": 5}),
        (strategy(notifyDelaySeconds=30), strategy(notifyDelaySeconds=60), {"slack": 30, "email": 30}),
        (strategy(notifyDelaySeconds=0), strategy(notifyDelaySeconds=60), {"slack": 0, "email": 0}),
        (strategy(), strategy(notifyDelaySeconds=60), {"slack": 60, "email": 60}),
        (None, strategy(notifyDelaySeconds=0), {"slack": 0, "email": 0}),
        (strategy(notifyDelaySeconds=0.5), None, {"slack": 0.5, "email": 0.5}),
        (strategy(notifyDelaySeconds=-1), strategy(notifyDelaySeconds="x"), {"slack": 120, "email": 5}),
    ],
)
def test_the_delay_of_notices_comes_from_the_strategy_else_the_type_else_the_channel(
    own: dict[str, Any] | None, of_type: dict[str, Any] | None, seconds: dict[str, float]
) -> None:
    """Zero is a delay; what is no delay says nothing."""
    channels = {"slack": minutes(2), "email": timedelta(seconds=5)}
    plan = make_plan(START, None, own, of_type, channels)
    assert {s["step"][7:]: s["after_seconds"] for s in plan if s["step"].startswith("notify:")} == seconds
    due = Timetable(START, plan, None).due()
    assert due == {f"notify:{name}": START + timedelta(seconds=delay) for name, delay in seconds.items()}


def test_without_channels_nobody_is_told_or_reminded() -> None:
    """The request stands in the inbox, and the ladder is climbed all the same."""
    of = planned(step(10), channels={}, remindMinutes=5)
    assert [step["step"] for step in make_plan(START, None, strategy(step(10), remindMinutes=5), None, {})] == [
        "show",
        "escalate:1",
    ]
    assert of.due() == {"escalate": at(10)}
    climb(of, at(10))
    assert (of.due(), of.notices("slack")) == ({}, [])


def test_reminders_and_the_ladder_come_from_the_winning_strategy_only() -> None:
    """The type's own would belong to people whom it would have asked."""
    plan = make_plan(START, None, strategy(), strategy(step(5), remindMinutes=5), SLACK)
    assert [step["step"] for step in plan] == ["show", "notify:slack"]


@pytest.mark.parametrize("tiny", [1e-9, 1e-300, 0.00001])
def test_the_shortest_reminder_is_a_millisecond(tiny: float) -> None:
    """Less than a microsecond would be no time at all, and divide by zero when the next is planned."""
    of = planned(remindMinutes=tiny)
    give(of, at(2))
    assert waiting(of) == [(at(2) + timedelta(milliseconds=1), "remind:1", 1, None)]


def test_a_plan_survives_as_json_and_makes_an_equal_timetable() -> None:
    """Durations come back to the microsecond, however long."""
    by = strategy(step(1 / 3), step(5_000_000.1, BOB), step(1, repeat=True), remindMinutes=1 / 7)
    plan = make_plan(START, at(7), by, None, SLACK)
    first, second = Timetable(START, plan, at(7)), Timetable(START, [dict(step) for step in plan], at(7))
    assert first == second
    assert first.rung is not None
    assert first.rung.after == minutes(1 / 3)
    move(second, at(1), "delegated")
    assert first != second
    assert first != "a timetable"


# -- notices


def test_whoever_is_asked_is_told_after_the_delay_and_then_reminded_three_times() -> None:
    """Every so often since it came to them; then no more."""
    of = planned(remindMinutes=30)
    assert waiting(of) == [(at(2), "notify", 1, None)]
    times = []
    for time in (2, 30, 60, 90):
        notice = give(of, at(time))
        times.append(notice.step)
    assert times == ["notify", "remind:1", "remind:2", "remind:3"]
    assert (waiting(of), of.due()) == ([], {})


def test_without_reminders_a_notice_is_given_once() -> None:
    """And nothing is planned after it."""
    of = planned()
    give(of, at(2))
    assert waiting(of) == []


def test_a_notice_that_could_not_be_given_yet_is_tried_again() -> None:
    """The same step, with the next attempt, at the time that was said; reminders only after it."""
    of = planned(remindMinutes=30)
    give(of, at(2), retry_at=at(2.5))
    assert waiting(of) == [(at(2.5), "notify", 2, None)]
    give(of, at(3), retry_at=at(45))
    assert waiting(of) == [(at(45), "notify", 3, None)]
    give(of, at(45))
    assert waiting(of) == [(at(60), "remind:1", 1, None)]


def test_a_notice_that_can_never_be_given_is_over() -> None:
    """Reminders go on: the channel may have been mended meanwhile."""
    of = planned(remindMinutes=30)
    of.notified(at=at(2), channel="slack", step="notify", attempt=1, to=BERT, retry_at=None)
    assert waiting(of) == [(at(30), "remind:1", 1, None)]


def test_a_reminder_that_is_tried_several_times_counts_once() -> None:
    """There are still three."""
    of = planned(remindMinutes=30)
    give(of, at(2))
    steps = []
    for time in (30, 60, 90):
        steps.append(give(of, at(time), retry_at=at(time + 1)).step)
        give(of, at(time + 1), retry_at=at(time + 2))
        give(of, at(time + 2))
    assert steps == ["remind:1", "remind:2", "remind:3"]
    assert waiting(of) == []


def test_after_a_long_downtime_there_is_one_reminder_and_not_several() -> None:
    """What was missed is not made up for; the next keeps the rhythm."""
    of = planned(remindMinutes=30)
    give(of, at(2))
    give(of, at(1000))
    assert waiting(of) == [(at(1020), "remind:2", 1, None)]


def test_what_a_channel_never_had_to_say_changes_nothing() -> None:
    """Another channel, another step, somebody else."""
    of = planned(remindMinutes=30)
    for channel, name, to in [("email", "notify", None), ("slack", "remind:1", None), ("slack", "escalate:1", BERT)]:
        of.notified(at=at(2), channel=channel, step=name, attempt=1, to=to, retry_at=None)
    assert of == planned(remindMinutes=30)
    assert of.notice("email", "notify", None) is None
    assert of.notice("slack", "notify", BERT) is None
    assert of.notice("slack", "notify", None) == Notice("notify", at(2))


def test_channels_do_not_wait_for_each_other() -> None:
    """Each has its own notices, retries and reminders."""
    of = planned(channels={"slack": minutes(2), "email": minutes(5)}, remindMinutes=30)
    give(of, at(2), retry_at=at(40))
    give(of, at(5), "email")
    assert of.due() == {"notify:slack": at(40), "notify:email": at(30)}
    assert of.kinds == ["expire", "notify:slack", "notify:email"]


@pytest.mark.parametrize("asked_for", [None, timedelta(0), minutes(10), timedelta(hours=3), -minutes(5)])
def test_retries_come_later_each_time_and_end(asked_for: timedelta | None) -> None:
    """Never sooner than the channel asked for, and after the last attempt not at all."""
    delays = [retry_after(attempt, asked_for) for attempt in range(1, MOST_ATTEMPTS)]
    plain = [timedelta(seconds=30 * 2**power) for power in range(MOST_ATTEMPTS - 1)]
    assert delays == [max(delay, asked_for or timedelta(0)) for delay in plain]
    assert all(delay <= timedelta(hours=1) for delay in plain)
    assert retry_after(MOST_ATTEMPTS, asked_for) is None
    assert retry_after(MOST_ATTEMPTS + 1, asked_for) is None


# -- the ladder


def test_the_steps_of_a_ladder_come_one_after_the_other() -> None:
    """Each its own time after the one before was due, however late that was carried out."""
    of = planned(step(10), step(5), step(1), channels={})
    assert of.due() == {"escalate": at(10)}
    assert of.rung_due(at(10) - timedelta(microseconds=1)) is None
    assert climb(of, at(12)) == "escalate:1"
    assert of.due() == {"escalate": at(15)}
    assert climb(of, at(15)) == "escalate:2"
    assert climb(of, at(16)) == "escalate:3"
    assert (of.due(), of.rung_step, of.rung, of.rung_due(at(10_000))) == ({}, None, None, None)


def test_steps_that_were_missed_are_all_due_at_once_and_in_order() -> None:
    """After a downtime each is still carried out, and recorded, by its own name."""
    of = planned(step(10), step(5), step(60), step(60), channels={})
    assert [climb(of, at(100)) for _ in range(3)] == ["escalate:1", "escalate:2", "escalate:3"]
    assert of.rung_due(at(100)) is None
    assert of.due() == {"escalate": at(135)}


def test_the_last_step_may_repeat_each_time_under_a_name_of_its_own() -> None:
    """In its own rhythm, also where each is carried out a little late."""
    of = planned(step(10), step(60, repeat=True), channels={})
    names = [climb(of, at(time)) for time in (10, 70, 131, 190.5, 250)]
    assert names == ["escalate:1", "escalate:2", "escalate:2:2", "escalate:2:3", "escalate:2:4"]
    assert of.due() == {"escalate": at(310)}


@pytest.mark.parametrize(
    ("late", "next_"), [(70, 130), (129.999, 130), (130, 190), (130.001, 190), (1000, 1030), (1030, 1090)]
)
def test_a_repeated_step_that_was_missed_often_comes_once(late: float, next_: float) -> None:
    """And next in the future, in the same rhythm."""
    of = planned(step(10), step(60, repeat=True), channels={})
    climb(of, at(10))
    climb(of, at(late))
    assert of.due() == {"escalate": at(next_)}
    assert of.rung_due(at(late)) is None


def test_a_step_of_another_name_moves_no_ladder() -> None:
    """Told twice, or out of turn, counts once."""
    of = planned(step(10), step(5))
    climb(of, at(10), told=[BERT])
    before = waiting(of)
    of.told(at=at(11), step="escalate:1", recipients=[LIST])
    of.told(at=at(11), step="escalate:3", recipients=[LIST])
    assert (of.rung_step, of.due()["escalate"], waiting(of)) == ("escalate:2", at(15), before)


def test_whoever_it_moves_up_to_is_told_at_once() -> None:
    """Without the delay; what others were still to be told is void."""
    of = planned(step(1), remindMinutes=30)
    climb(of, at(1))
    assert waiting(of) == [(at(1), "escalate:1", 1, None)]
    give(of, at(1))
    assert waiting(of) == [(at(31), "remind:1", 1, None)]


def test_those_whom_the_ladder_tells_are_told_beside_whoever_is_asked() -> None:
    """At once, each under their own name; the reminders of whoever is asked go on."""
    of = planned(step(10), step(10), remindMinutes=30)
    give(of, at(2))
    climb(of, at(10), told=[BERT])
    assert waiting(of) == [(at(10), "escalate:1:notify", 1, BERT), (at(30), "remind:1", 1, None)]
    climb(of, at(20), told=[LIST])
    give(of, at(20), retry_at=at(25))
    give(of, at(20))
    assert waiting(of) == [(at(25), "escalate:1:notify", 2, BERT), (at(30), "remind:1", 1, None)]


def test_a_step_that_names_nobody_is_over_all_the_same() -> None:
    """The ladder goes on to the next."""
    of = planned(step(10), step(5))
    climb(of, at(10), told=[])
    assert (of.rung_step, waiting(of)) == ("escalate:2", [(at(2), "notify", 1, None)])


# -- moves


@pytest.mark.parametrize("cause", ["delegated", "reassigned", "departed"])
def test_whoever_it_goes_to_is_told_after_the_delay(cause: str) -> None:
    """Counted from the move, under a name of its own; whoever had it is told no more."""
    of = planned(remindMinutes=30)
    move(of, at(1), cause)
    assert waiting(of) == [(at(3), "notify:2", 1, None)]
    move(of, at(4), cause, version=3)
    assert waiting(of) == [(at(6), "notify:3", 1, None)]
    give(of, at(6))
    assert waiting(of) == [(at(34), "remind:1", 1, None)]


def test_whoever_claims_it_knows_already_and_is_only_reminded() -> None:
    """Counted from the claim."""
    of = planned(remindMinutes=30)
    give(of, at(2))
    move(of, at(5), "claimed")
    assert waiting(of) == [(at(35), "remind:2", 1, None)]
    without = planned()
    move(without, at(1), "claimed")
    assert waiting(without) == []


def test_who_shares_an_inbox_is_not_told_twice() -> None:
    """They were told before somebody claimed it; when it comes back they are reminded only."""
    of = planned(remindMinutes=30)
    give(of, at(2))
    move(of, at(5), "claimed")
    move(of, at(10), "released", version=3)
    assert waiting(of) == [(at(40), "remind:3", 1, None)]


@pytest.mark.parametrize("attempts", [0, 1])
def test_who_shares_an_inbox_is_told_when_it_comes_back_before_they_were(attempts: int) -> None:
    """Somebody took it before the delay was over, or while the channel failed, and put it back: nobody knows of it."""
    of = planned()
    for _ in range(attempts):
        give(of, at(2), retry_at=at(60))
    move(of, at(5), "claimed", version=3)
    assert waiting(of) == []
    move(of, at(6), "claimed", version=4)  # by somebody whom the ladder told
    move(of, at(10), "released", version=5)
    assert waiting(of) == [(at(12), "notify:5", 1, None)]
    give(of, at(12))
    move(of, at(13), "claimed", version=7)
    move(of, at(14), "released", version=8)
    assert waiting(of) == []


def test_reminders_that_never_came_do_not_count() -> None:
    """However often it is claimed and released: whoever has it is reminded three times, each by a new name."""
    of = planned(remindMinutes=30)
    give(of, at(2))
    for time in range(3, 23, 2):
        move(of, at(time), "claimed")
        move(of, at(time + 1), "released")
    steps = [give(of, at(time)).step for time in (52, 82, 112)]
    assert (len(set(steps)), waiting(of)) == (MOST_REMINDERS, [])
    assert all(name.startswith("remind:") for name in steps)


@pytest.mark.parametrize("cause", ["claimed", "released", "delegated", "reassigned", "departed"])
def test_a_move_restarts_the_step_of_the_ladder_that_is_next(cause: str) -> None:
    """Whoever has it now gets the whole time of this step; it stays the same step."""
    of = planned(step(10), step(20), step(60, repeat=True), channels={})
    move(of, at(9), cause)
    assert (of.rung_step, of.due()) == ("escalate:1", {"escalate": at(19)})
    climb(of, at(19))
    move(of, at(30), cause)
    assert (of.rung_step, of.due()) == ("escalate:2", {"escalate": at(50)})
    climb(of, at(50))
    climb(of, at(110))
    move(of, at(111), cause)
    assert (of.rung_step, of.due()) == ("escalate:3:2", {"escalate": at(171)})


def test_a_move_after_the_last_step_begins_no_ladder_anew() -> None:
    """It was climbed once."""
    of = planned(step(10), channels={})
    climb(of, at(10))
    move(of, at(20), "delegated")
    assert of.due() == {}


def test_a_deadline_never_moves() -> None:
    """Whatever happens, it is the one that was planned."""
    of = planned(step(10), step(5), expires=60, remindMinutes=7)
    give(of, at(2), retry_at=at(50))
    move(of, at(5), "claimed")
    of.snoozed(at(500))
    climb(of, at(15), told=[BERT])
    climb(of, at(20))
    assert of.due()["expire"] == at(60)


# -- putting it aside


def test_a_snooze_makes_notices_wait_but_neither_ladder_nor_deadline() -> None:
    """What would have come meanwhile comes at its end, once."""
    of = planned(step(60), expires=90, remindMinutes=30)
    give(of, at(2))
    of.snoozed(at(100))
    assert of.snoozed_until == at(100)
    assert of.due() == {"escalate": at(60), "expire": at(90), "notify:slack": at(100)}
    give(of, at(100))
    assert waiting(of) == [(at(120), "remind:2", 1, None)]


def test_a_snooze_that_is_over_before_a_notice_delays_nothing() -> None:
    """And one that was ended leaves the times as they were."""
    of = planned(remindMinutes=30)
    give(of, at(2))
    of.snoozed(at(20))
    assert waiting(of) == [(at(30), "remind:1", 1, None)]
    of.snoozed(at(200))
    of.snoozed(None)
    assert (of.snoozed_until, waiting(of)) == (None, [(at(30), "remind:1", 1, None)])


def test_those_whom_the_ladder_tells_have_put_nothing_aside() -> None:
    """They are told at once."""
    of = planned(step(10))
    of.snoozed(at(100))
    climb(of, at(10), told=[BERT])
    assert waiting(of) == [(at(10), "escalate:1:notify", 1, BERT), (at(100), "notify", 1, None)]
    assert of.due()["notify:slack"] == at(10)


@pytest.mark.parametrize("cause", ["claimed", "released", "delegated", "reassigned", "departed", "escalated"])
def test_a_snooze_ends_with_the_move_to_somebody_else(cause: str) -> None:
    """They have not put it aside."""
    of = planned(step(10))
    of.snoozed(at(100))
    of.moved(at=at(10), version=3, step="escalate:1" if cause == "escalated" else None, cause=cause)
    assert of.snoozed_until is None


# -- what is shown


def test_what_comes_next_is_shown_in_order() -> None:
    """One notice for each channel, the rest of the ladder, the end."""
    of = planned(step(10, BOB), step(5), step(60, repeat=True), expires=300, remindMinutes=30)
    assert of.upcoming() == [
        {"step": "notify:slack", "at": "2026-03-01T12:02:00.000Z", "what": "told through slack"},
        {"step": "escalate:1", "at": "2026-03-01T12:10:00.000Z", "what": "goes to: SpecificUser bob"},
        {"step": "escalate:2", "at": "2026-03-01T12:15:00.000Z", "what": "goes to: AgentOwner"},
        {"step": "escalate:3", "at": "2026-03-01T13:15:00.000Z", "what": "goes to: AgentOwner, again and again"},
        {"step": "expire", "at": "2026-03-01T17:00:00.000Z", "what": "expires unless it was answered"},
    ]
    give(of, at(2), retry_at=at(3))
    assert of.upcoming()[0]["what"] == "told through slack, attempt 2"
    give(of, at(3))
    assert ("notify:slack", "12:30:00", "reminded through slack") in [
        (step["step"], step["at"][11:19], step["what"]) for step in of.upcoming()
    ]
    climb(of, at(10))
    climb(of, at(15))
    climb(of, at(75))
    assert brief(of.upcoming()) == [("notify:slack", "13:15:00"), ("escalate:3:2", "14:15:00"), ("expire", "17:00:00")]


def test_before_anything_happened_what_is_shown_is_the_plan() -> None:
    """Except that only the first reminder is shown, once it is planned."""
    by = strategy(step(10), step(5), step(60, repeat=True))
    plan = make_plan(START, at(300), by, None, SLACK)
    shown = [{name: step[name] for name in ("step", "at", "what")} for step in plan if step["step"] != "show"]
    assert Timetable(START, plan, at(300)).upcoming() == shown


# -- the calendar


@pytest.mark.parametrize(
    ("start", "after", "expected"),
    [
        (datetime(2028, 2, 28, 12, tzinfo=UTC), 24 * 60, "2028-02-29T12:00:00.000Z"),
        (datetime(2028, 2, 29, 12, tzinfo=UTC), 24 * 60, "2028-03-01T12:00:00.000Z"),
        (datetime(2028, 2, 29, 12, tzinfo=UTC), 366 * 24 * 60, "2029-03-01T12:00:00.000Z"),
        (datetime(2027, 2, 28, 12, tzinfo=UTC), 24 * 60, "2027-03-01T12:00:00.000Z"),
        (datetime(2026, 12, 31, 23, 59, 30, tzinfo=UTC), 1, "2027-01-01T00:00:30.000Z"),
        (datetime(2026, 3, 8, 1, 30, tzinfo=NEW_YORK).astimezone(UTC), 60, "2026-03-08T07:30:00.000Z"),
        (datetime(2026, 3, 7, 12, tzinfo=NEW_YORK).astimezone(UTC), 24 * 60, "2026-03-08T17:00:00.000Z"),
        (datetime(2026, 11, 1, 1, 30, tzinfo=NEW_YORK).astimezone(UTC), 60, "2026-11-01T06:30:00.000Z"),
        (datetime(2026, 10, 31, 12, tzinfo=NEW_YORK).astimezone(UTC), 24 * 60, "2026-11-01T16:00:00.000Z"),
    ],
)
def test_durations_are_durations_on_every_day(start: datetime, after: float, expected: str) -> None:
    """Leap days, the end of a year, both days on which New York changes its clocks: none of them moves a step."""
    by = strategy(step(after), notifyDelaySeconds=after * 60, remindMinutes=after)
    plan = make_plan(start, start + minutes(after), by, None, SLACK)
    found = {step["step"]: step["at"] for step in plan}
    names = ["escalate:1", "notify:slack", "remind:1", "expire"]
    assert [found[name] for name in names] == [expected] * 4
    due = Timetable(start, plan, start + minutes(after)).due()
    assert {(moment - start, moment.utcoffset()) for moment in due.values()} == {(minutes(after), timedelta(0))}


@pytest.mark.parametrize("change", [datetime(2026, 3, 8, 7, tzinfo=UTC), datetime(2026, 11, 1, 6, tzinfo=UTC)])
def test_rhythms_go_on_evenly_where_clocks_change(change: datetime) -> None:
    """A repeated step and reminders keep their distance to the second."""
    start = change - minutes(150)
    of = planned(step(60, repeat=True), start=start, channels={})
    times = []
    for _ in range(6):
        times.append(of.due()["escalate"])
        climb(of, times[-1])
    assert {later - earlier for earlier, later in pairwise(times)} == {minutes(60)}
    reminded = planned(start=start, remindMinutes=60)
    give(reminded, start + minutes(2))
    times = []
    for _ in range(3):
        times.append(reminded.notices("slack")[0][0])
        give(reminded, times[-1])
    assert times == [start + minutes(60 * number) for number in (1, 2, 3)]


# -- anything at all

ladders = st.lists(st.builds(step, st.sampled_from([0.5, 1, 5, 60]), st.just(OWNER)), max_size=4)
happenings = st.lists(
    st.tuples(
        st.sampled_from(["claimed", "released", "delegated", "departed", "climb", "tell", "give", "fail", "snooze"]),
        st.sampled_from([0, 0.1, 1, 7, 59, 60, 400]),
    ),
    max_size=25,
)


@given(
    ladder=ladders,
    repeat=st.booleans(),
    every=st.none() | st.sampled_from([1e-9, 1, 30]),
    channels=st.sampled_from([{}, SLACK, {**SLACK, "email": minutes(0)}]),
    expires=st.none() | st.sampled_from([1, 90]),
    happened=happenings,
)
def test_what_is_due_what_is_shown_and_what_is_kept_always_agree(
    ladder: list[dict[str, Any]],
    repeat: bool,
    every: float | None,
    channels: dict[str, timedelta],
    expires: float | None,
    happened: list[tuple[str, float]],
) -> None:
    """After anything that can happen, in any order, at any distance."""
    if ladder and ladder[-1]["afterMinutes"] >= 1:
        ladder = [*ladder[:-1], {**ladder[-1], "repeat": repeat}]
    more = {} if every is None else {"remindMinutes": every}
    of = planned(*ladder, channels=channels, expires=expires, **more)
    now, done = START, list[str]()
    for version, (what, after) in enumerate(happened, 2):
        now += minutes(after)
        if what in ("climb", "tell"):
            if of.rung_due(now) is None:
                continue
            name = of.rung_step
            done.append(climb(of, now, None if what == "climb" else [BERT]))
            assert of.rung_step != name
        elif what in ("give", "fail"):
            for channel in channels:
                if of.notices(channel) and of.notices(channel)[0][0] <= now:
                    retry = now + minutes(1) if what == "fail" else None
                    given_ = give(of, now, channel, retry)
                    done += [f"{channel}/{given_.step}/{given_.to}"] if retry is None else []
        elif what == "snooze":
            of.snoozed(now + minutes(30))
        else:
            move(of, now, what, version)
        due, shown = of.due(), of.upcoming()
        assert set(due) <= set(of.kinds)
        assert ("expire" in due) == (expires is not None)
        assert due.get("escalate") == (None if of.rung is None else due["escalate"])
        assert (of.rung_due(now) is not None) == ("escalate" in due and due["escalate"] <= now)
        first = dict[str, str]()
        for step_ in shown:
            kind = "escalate" if step_["step"].startswith("escalate") else step_["step"]
            first.setdefault(kind, step_["at"])
        assert first == {
            kind: moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") for kind, moment in due.items()
        }
        for channel in channels:
            reminders = [name for _, name, _, _ in waiting(of, channel) if name.startswith("remind:")]
            assert len(reminders) <= 1
    assert len(done) == len(set(done))
    for channel in channels:
        assert sum(name.startswith(f"{channel}/remind:") for name in done) <= MOST_REMINDERS


# -- quiet hours


def person(begins: str | None, ends: str = "", zone: str | None = None) -> UserEntry:
    hours = None if begins is None else {"from": begins, "to": ends}
    return UserEntry(UUID(int=11), "anna", None, None, Role.MEMBER, True, time_zone=zone, quiet_hours=hours)


def utc(month: int, day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("hours", "zone", "now", "end"),
    [
        # none
        ((None, ""), None, utc(3, 1, 3), None),
        ((None, ""), "Europe/Berlin", utc(3, 1, 3), None),
        # within a day, UTC where no zone is known
        (("12:00", "13:00"), None, utc(3, 1, 11, 59), None),
        (("12:00", "13:00"), None, utc(3, 1, 12), utc(3, 1, 13)),
        (("12:00", "13:00"), None, utc(3, 1, 12, 59), utc(3, 1, 13)),
        (("12:00", "13:00"), None, utc(3, 1, 13), None),
        (("00:00", "23:59"), None, utc(3, 1, 0), utc(3, 1, 23, 59)),
        (("00:00", "23:59"), None, utc(3, 1, 23, 59), None),
        # over midnight
        (("22:00", "07:00"), None, utc(3, 1, 21, 59), None),
        (("22:00", "07:00"), None, utc(3, 1, 22), utc(3, 2, 7)),
        (("22:00", "07:00"), None, utc(3, 2, 0), utc(3, 2, 7)),
        (("22:00", "07:00"), None, utc(3, 2, 6, 59), utc(3, 2, 7)),
        (("22:00", "07:00"), None, utc(3, 2, 7), None),
        (("22:00", "07:00"), None, utc(12, 31, 23), datetime(2027, 1, 1, 7, tzinfo=UTC)),
        (("23:59", "00:00"), None, utc(3, 1, 23, 59), utc(3, 2, 0)),
        (("00:00", "07:00"), None, utc(3, 1, 23, 59), None),
        # in the person's own zone, on whichever day that is there
        (("22:00", "07:00"), "Europe/Berlin", utc(3, 1, 21), utc(3, 2, 6)),
        (("22:00", "07:00"), "Europe/Berlin", utc(3, 1, 20, 59), None),
        (("22:00", "07:00"), "Asia/Kolkata", utc(3, 1, 16, 30), utc(3, 2, 1, 30)),
        (("22:00", "07:00"), "Asia/Kolkata", utc(3, 2, 1, 29), utc(3, 2, 1, 30)),
        (("08:00", "10:00"), "Pacific/Kiritimati", utc(3, 1, 18), utc(3, 1, 20)),
        (("08:00", "10:00"), "Pacific/Pago_Pago", utc(3, 1, 20), utc(3, 1, 21)),
        (("22:00", "07:00"), "Pacific/Pago_Pago", utc(3, 1, 10), utc(3, 1, 18)),
        # New York, 8 March: 02:00 becomes 03:00; the night is an hour shorter
        (("22:00", "07:00"), "America/New_York", utc(3, 8, 3), utc(3, 8, 11)),
        (("22:00", "07:00"), "America/New_York", utc(3, 8, 10, 59), utc(3, 8, 11)),
        (("22:00", "07:00"), "America/New_York", utc(3, 8, 11), None),
        (("22:00", "02:30"), "America/New_York", utc(3, 8, 7, 29), utc(3, 8, 7, 30)),
        (("22:00", "02:30"), "America/New_York", utc(3, 8, 7, 30), None),
        (("02:30", "07:00"), "America/New_York", utc(3, 8, 7, 29), None),
        (("02:30", "07:00"), "America/New_York", utc(3, 8, 7, 30), utc(3, 8, 11)),
        # and 1 November: 02:00 becomes 01:00; the night is an hour longer
        (("22:00", "07:00"), "America/New_York", utc(11, 1, 2), utc(11, 1, 12)),
        (("22:00", "07:00"), "America/New_York", utc(11, 1, 11, 59), utc(11, 1, 12)),
        (("22:00", "07:00"), "America/New_York", utc(11, 1, 12), None),
        (("22:00", "01:30"), "America/New_York", utc(11, 1, 5, 29), utc(11, 1, 5, 30)),
        (("22:00", "01:30"), "America/New_York", utc(11, 1, 6), None),
        (("01:30", "03:00"), "America/New_York", utc(11, 1, 5, 30), utc(11, 1, 8)),
        (("01:30", "03:00"), "America/New_York", utc(11, 1, 6, 45), utc(11, 1, 8)),
    ],
)
def test_quiet_hours_are_those_of_the_person_s_own_clock(
    hours: tuple[str | None, str], zone: str | None, now: datetime, end: datetime | None
) -> None:
    """They end when that clock says so, on the night of a change of clocks too."""
    assert quiet_until(person(*hours, zone), now) == end


times_of_day = st.builds(lambda hour, minute: f"{hour:02}:{minute:02}", st.integers(0, 23), st.integers(0, 59))


@given(
    begins=times_of_day,
    ends=times_of_day,
    zone=st.sampled_from([None, "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "UTC"]),
    now=st.datetimes(datetime(2026, 1, 1), datetime(2028, 12, 31), timezones=st.just(UTC)),
)
def test_quiet_hours_end_within_a_day_and_a_bit(begins: str, ends: str, zone: str | None, now: datetime) -> None:
    """In the future, in UTC; at their end they are over, so nothing is put off for ever."""
    anna = person(begins, ends, zone)
    end = quiet_until(anna, now)
    if end is None or begins == ends:
        return
    assert now < end <= now + timedelta(hours=25)
    assert end.utcoffset() == timedelta(0)
    assert quiet_until(anna, end) is None
