"""When content may be erased, and when it is erased by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from domain.answers import Question
from domain.assignment import fall_back
from domain.callers import AgentCaller
from domain.errors import Conflict
from domain.request import Request
from domain.timetable import Timetable, make_plan
from domain.users import User

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
AGENT = AgentCaller(UUID(int=1), None)


def asked(erase_after: timedelta | None, **more: Any) -> Request:
    return Request.ask(
        by=AGENT,
        now=START,
        unique_id="kept",
        question=Question("clarification"),
        sealed=False,
        message="May I?",
        decision=fall_back(None),
        priority=50,
        erase_after=erase_after,
        **more,
    )


@pytest.mark.parametrize(
    ("days", "said"), [(1, "1 day"), (30, "30 days"), (0.5, "0.5 days"), (3650, "3650 days"), (1 / 3, "0.333333 days")]
)
def test_the_plan_says_after_how_long_and_not_when(days: float, said: str) -> None:
    """The step stands last, without a time; nothing else of the plan knows it."""
    after = timedelta(days=days)
    plan = make_plan(START, START + 9 * DAY, {"type": "RunUser", "remindMinutes": 5}, None, {"slack": DAY}, after)
    assert plan[:-1] == make_plan(START, START + 9 * DAY, {"type": "RunUser", "remindMinutes": 5}, None, {"slack": DAY})
    what = f"content is erased {said} after closing"
    assert plan[-1] == {"step": "erase", "what": what, "after_seconds": after.total_seconds()}
    timetable, without = (Timetable(START, steps, START + 9 * DAY) for steps in (plan, plan[:-1]))
    assert (timetable.erase_after, without.erase_after) == (after, None)
    assert (timetable.kinds, timetable.due(), timetable.upcoming()) == (
        without.kinds,
        without.due(),
        without.upcoming(),
    )


def test_it_is_due_from_closing_on() -> None:
    """Open it is not due, whatever the time; erased it is not any more; nor ever where nothing was said."""
    request = asked(30 * DAY)
    request.erase_as_planned(now=START + 999 * DAY)
    assert (request.erase_due, request.erased) == (None, False)
    assert all(step["step"] != "erase" for step in request.plan)
    request.cancel(by=AGENT, now=START + DAY)
    assert request.erase_due == START + 31 * DAY
    assert request.plan[-1] == {
        "step": "erase",
        "at": "2026-04-01T12:00:00.000Z",
        "what": "content is erased 30 days after closing",
    }
    request.erase_as_planned(now=START + 31 * DAY - timedelta(microseconds=1))
    assert not request.erased
    request.erase_as_planned(now=START + 31 * DAY)
    assert (request.erased, request.erase_due) == (True, None)
    version = request.version
    request.erase_as_planned(now=START + 99 * DAY)
    assert request.version == version
    assert request.pending_events[-1].actor == "system"

    kept = asked(None)
    kept.cancel(by=AGENT, now=START + DAY)
    kept.erase_as_planned(now=START + 999 * DAY)
    assert (kept.erase_due, kept.erased) == (None, False)


def test_a_person_is_erased_after_they_were_removed_and_once() -> None:
    """Refused while they are in the directory; what they were called is gone, who they were in the log is not."""
    person = User.add("anna", actor="system", now=START, name="Anna", email="anna@example.com", role="member")
    with pytest.raises(Conflict, match="remove them first"):
        person.erase(actor="system", now=START)
    person.remove(actor="system", now=START)
    for _ in range(2):
        person.erase(actor="system", now=START)
    assert [type(event).__name__ for event in person.pending_events] == ["Added", "Removed", "ContentErased"]
    assert (person.erased, person.name, person.email, person.slack_user_id) == (True, None, None, None)
    assert person.readable_id == "anna"
