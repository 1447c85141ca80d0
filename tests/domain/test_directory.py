"""What stands in the directory: added under an id for good, changed field by field, removed once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.access_keys import AccessKey
from domain.agent_types import AgentType
from domain.agents import Agent
from domain.callers import Role
from domain.categories import ROOT, SEEDED, Category
from domain.directory import (
    RESERVED,
    DirectoryEntry,
    check_readable_id,
    directory_id,
    is_reserved,
    readable_id_from,
)
from domain.errors import Invalid
from domain.lists import MemberList
from domain.recorded import RecordedEvent
from domain.request import rebuild
from domain.request_types import REQUEST_TYPES, RequestType, find_request_type
from domain.users import User, away

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
ADMIN = "user:33333333-3333-5333-8333-333333333333"
ANNA, BERT = directory_id("user", "anna"), directory_id("user", "bert")
STRATEGY = {"type": "SpecificUser", "userID": "anna", "colour": "red"}

KINDS: dict[type[DirectoryEntry], dict[str, Any]] = {
    User: {
        "role": Role.AUDITOR.value,
        "active": False,
        "time_zone": "Europe/Berlin",
        "quiet_hours": {"from": "22:00", "to": "07:00"},
        "out_of_office": {"from": "2026-12-24", "to": "2026-12-31", "stand_in": str(BERT)},
        "name": "Zoë",
        "email": "zoe@example.com",
        "slack_user_id": "U012ABCDEF",
    },
    MemberList: {"name": "On call", "members": [ANNA, BERT]},
    Agent: {
        "name": "Deploy bot",
        "owner": ANNA,
        "agent_type": directory_id("agent_type", "deployer"),
        "category": directory_id("category", "demo"),
    },
    AgentType: {"name": "Deployer", "assignment_strategy": STRATEGY},
    Category: {"name": "Demo", "parent": directory_id("category", ROOT), "assignment_strategy": STRATEGY},
    RequestType: {
        "name": "Payment",
        "default_assignment_strategy": STRATEGY,
        "default_priority": 9,
        "default_expiration_minutes": 90.5,
        "no_self_answer": True,
        "erase_after_days": 30.0,
    },
}
"""Every kind, with a value other than the default for each of its fields."""

kinds = pytest.mark.parametrize("kind", KINDS)


def added(kind: type[DirectoryEntry], **values: Any) -> DirectoryEntry:
    """An entry as it is after it was saved."""
    entry = kind.add("first", actor=ADMIN, now=NOW, **kind.defaults() | values)
    entry.collect_events()
    return entry


def taken(entry: DirectoryEntry) -> list[RecordedEvent]:
    """Its events, taken to be saved."""
    return cast("list[RecordedEvent]", entry.collect_events())


def what(events: Iterable[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Names of events, and what they say beside what all have in common."""
    common = {"originator_id", "originator_version", "originator_topic", "timestamp", "actor"}
    return [
        (type(event).__name__, {name: value for name, value in vars(event).items() if name not in common})
        for event in events
    ]


# -- all kinds


@kinds
def test_the_fields_of_a_kind_are_those_of_its_events_and_of_its_entries(kind: type[DirectoryEntry]) -> None:
    """`Changed` carries all of them; a new one has a default."""
    common = {"originator_id", "originator_version", "timestamp", "actor"}
    changed = {field.name for field in fields(kind.Changed)}
    assert set(kind.FIELDS) == changed - common == kind.defaults().keys() == KINDS[kind].keys()
    assert all(KINDS[kind][name] != default for name, default in kind.defaults().items())
    assert set(kind.Changed.CONTENT) <= changed


@kinds
def test_an_entry_is_added_with_all_its_fields(kind: type[DirectoryEntry]) -> None:
    """What the first event has no room for follows in a second, in the same breath."""
    entry = kind.add("first", actor=ADMIN, now=NOW, **KINDS[kind])
    assert (entry.values, entry.readable_id, entry.removed) == (KINDS[kind], "first", False)
    assert entry.id == directory_id(kind.KIND, "first")
    of_creation = {field.name for field in fields(kind.Added)} & KINDS[kind].keys()
    first = ("Added", {"readable_id": "first"} | {name: KINDS[kind][name] for name in of_creation})
    more = [] if of_creation == KINDS[kind].keys() else [("Changed", KINDS[kind])]
    events = taken(entry)
    assert what(events) == [first, *more]
    assert {(event.timestamp, event.actor) for event in events} == {(NOW, ADMIN)}
    again = rebuild(events)
    assert (again, again.values) == (entry, entry.values)


@kinds
def test_an_entry_that_says_nothing_has_the_defaults(kind: type[DirectoryEntry]) -> None:
    """Fields may be left out, all of them; then the first event says it all."""
    entry = kind.add("first", actor=ADMIN, now=NOW)
    assert entry.values == kind.defaults()
    assert [name for name, _ in what(entry.pending_events)] == ["Added"]
    name = kind.FIELDS[-1]
    entry = kind.add("first", actor=ADMIN, now=NOW, **{name: KINDS[kind][name]})
    assert entry.values == kind.defaults() | {name: KINDS[kind][name]}


@kinds
def test_a_change_carries_all_fields_as_they_are_then(kind: type[DirectoryEntry]) -> None:
    """So the newest event alone says what holds."""
    for name in kind.FIELDS:
        entry = added(kind)
        entry.change(actor=ADMIN, now=LATER, **{name: KINDS[kind][name]})
        expected = kind.defaults() | {name: KINDS[kind][name]}
        assert what(entry.pending_events) == [("Changed", expected)]
        assert entry.values == expected
        assert (entry.pending_events[0].timestamp, entry.pending_events[0].originator_version) == (LATER, 2)


@kinds
def test_what_holds_already_is_no_change(kind: type[DirectoryEntry]) -> None:
    """Nothing given, one field, or all: no event where nothing differs."""
    entry = added(kind, **KINDS[kind])
    entry.change(actor=ADMIN, now=LATER)
    entry.change(actor=ADMIN, now=LATER, **KINDS[kind])
    for name, value in KINDS[kind].items():
        entry.change(actor=ADMIN, now=LATER, **{name: value})
    assert list(entry.pending_events) == []
    for name, default in kind.defaults().items():
        entry.change(actor=ADMIN, now=LATER, **{name: default})
    assert len(entry.pending_events) == len(kind.FIELDS)
    assert entry.values == kind.defaults()


def test_true_and_one_differ_in_a_strategy() -> None:
    """JSON's true is not 1, though Python's is; 1 and 1.0 are the same."""
    entry = added(AgentType, assignment_strategy={"type": "RunUser", "strict": 1})
    entry.change(actor=ADMIN, now=LATER, assignment_strategy={"type": "RunUser", "strict": 1.0})
    assert list(entry.pending_events) == []
    entry.change(actor=ADMIN, now=LATER, assignment_strategy={"type": "RunUser", "strict": True})
    assert len(entry.pending_events) == 1
    assert entry.values["assignment_strategy"]["strict"] is True


@kinds
def test_a_field_that_there_is_not_cannot_be_changed(kind: type[DirectoryEntry]) -> None:
    """Nor can the readable id, nor whether it was removed: nothing is left half done."""
    for name in ("colour", "readable_id", "removed"):
        entry = added(kind)
        with pytest.raises(TypeError):
            entry.change(actor=ADMIN, now=LATER, **{name: "x"})
        assert (entry.values, list(entry.pending_events)) == (kind.defaults(), [])


@kinds
def test_an_entry_is_removed_once(kind: type[DirectoryEntry]) -> None:
    """A repeat does nothing; name and fields stay, for the history."""
    entry = added(kind, **KINDS[kind])
    entry.remove(actor=ADMIN, now=LATER)
    entry.remove(actor=ADMIN, now=LATER)
    assert what(entry.pending_events) == [("Removed", {})]
    assert (entry.removed, entry.readable_id, entry.values["name"]) == (True, "first", KINDS[kind]["name"])


@kinds
def test_what_one_entry_holds_is_not_another_s(kind: type[DirectoryEntry]) -> None:
    """Defaults are made anew for each."""
    for name, value in kind.defaults().items():
        if isinstance(value, list):
            assert kind.defaults()[name] is not value
    one, two = kind.add("one", actor=ADMIN, now=NOW, **kind.defaults()), kind.add("two", actor=ADMIN, now=NOW)
    one.change(actor=ADMIN, now=LATER, **KINDS[kind])
    assert two.values == kind.defaults()


@kinds
def test_versions_count_up_over_any_changes(kind: type[DirectoryEntry]) -> None:
    """The events make the entry, in their order."""
    entry = kind.add("first", actor=ADMIN, now=NOW, **kind.defaults())
    for values in (KINDS[kind], kind.defaults(), KINDS[kind]):
        entry.change(actor=ADMIN, now=LATER, **values)
    entry.remove(actor=ADMIN, now=LATER)
    events = taken(entry)
    assert [event.originator_version for event in events] == [1, 2, 3, 4, 5]
    assert rebuild(events) == entry


# -- people


@pytest.mark.parametrize(
    ("values", "asked"),
    [
        ({}, True),
        ({"role": Role.ADMINISTRATOR.value}, True),
        ({"role": Role.AUDITOR.value}, False),
        ({"active": False}, False),
        ({"out_of_office": {"from": "2026-01-01", "to": "2026-12-31", "stand_in": None}}, True),
    ],
)
def test_who_may_be_asked(values: dict[str, Any], asked: bool) -> None:
    """Active people who do not only audit; being away is another matter."""
    user = added(User, **values)
    assert isinstance(user, User)
    assert user.may_be_asked is asked


def test_a_removed_person_is_not_asked() -> None:
    """Nor active any more."""
    user = added(User)
    assert isinstance(user, User)
    user.remove(actor=ADMIN, now=LATER)
    assert (user.active, user.may_be_asked) == (False, False)


def hours(span: tuple[datetime, datetime] | None) -> float:
    assert span is not None
    return (span[1] - span[0]) / timedelta(hours=1)


def days(first: str, last: str, **more: Any) -> dict[str, Any]:
    return {"from": first, "to": last, "stand_in": None} | more


def test_whoever_is_not_out_of_office_is_not_away() -> None:
    """With or without a time zone."""
    assert away(None, None) is None
    assert away(None, "Europe/Berlin") is None


@pytest.mark.parametrize("zone", [None, ""])
def test_without_a_time_zone_days_are_those_of_utc(zone: str | None) -> None:
    """Both days whole: up to the first instant of the day after."""
    assert away(days("2026-03-01", "2026-03-01"), zone) == (
        datetime(2026, 3, 1, tzinfo=UTC),
        datetime(2026, 3, 2, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("first", "last", "zone", "begins", "ends", "long"),
    [
        # The clock goes forward in New York on 8 March 2026 (23 hours), and back on 1 November (25 hours).
        ("2026-03-07", "2026-03-07", "America/New_York", (2026, 3, 7, 5), (2026, 3, 8, 5), 24),
        ("2026-03-08", "2026-03-08", "America/New_York", (2026, 3, 8, 5), (2026, 3, 9, 4), 23),
        ("2026-03-09", "2026-03-09", "America/New_York", (2026, 3, 9, 4), (2026, 3, 10, 4), 24),
        ("2026-10-31", "2026-10-31", "America/New_York", (2026, 10, 31, 4), (2026, 11, 1, 4), 24),
        ("2026-11-01", "2026-11-01", "America/New_York", (2026, 11, 1, 4), (2026, 11, 2, 5), 25),
        ("2026-03-01", "2026-11-30", "America/New_York", (2026, 3, 1, 5), (2026, 12, 1, 5), 275 * 24),
        ("2026-12-31", "2027-01-01", "Europe/Berlin", (2026, 12, 30, 23), (2027, 1, 1, 23), 48),
        ("2026-06-01", "2026-06-01", "Asia/Kolkata", (2026, 5, 31, 18, 30), (2026, 6, 1, 18, 30), 24),
        ("2026-06-01", "2026-06-01", "Pacific/Kiritimati", (2026, 5, 31, 10), (2026, 6, 1, 10), 24),
        # Where the clock jumps at midnight itself, the day begins at one: Cairo, 24 April 2026.
        ("2026-04-24", "2026-04-24", "Africa/Cairo", (2026, 4, 23, 22), (2026, 4, 24, 21), 23),
        ("2028-02-29", "2028-02-29", "UTC", (2028, 2, 29), (2028, 3, 1), 24),
    ],
)
def test_days_away_are_whole_days_of_the_person_s_time_zone(
    first: str, last: str, zone: str, begins: tuple[int, int, int], ends: tuple[int, int, int], long: int
) -> None:
    """From midnight to midnight on their clock, whatever it does meanwhile; said in UTC."""
    span = away(days(first, last, stand_in=str(BERT)), zone)
    assert span == (datetime(*begins, tzinfo=UTC), datetime(*ends, tzinfo=UTC))
    assert hours(span) == long


@given(
    st.dates(datetime(2000, 1, 1).date(), datetime(2100, 1, 1).date()),
    st.integers(0, 400),
    st.timezone_keys(allow_prefix=False),
)
def test_time_away_begins_before_it_ends_and_adjoins_the_next_day(first: Any, more: int, zone: str) -> None:
    """In any time zone: nobody is both, or neither, on the border of two absences."""
    last, next_ = first + timedelta(days=more), first + timedelta(days=more + 1)
    one = away(days(first.isoformat(), last.isoformat()), zone)
    two = away(days(next_.isoformat(), next_.isoformat()), zone)
    assert one is not None
    assert two is not None
    assert one[0] < one[1] == two[0]


# -- readable ids


@pytest.mark.parametrize("id", ["a", "7", "alice", "deploy-bot", "a.b_c-d", "0-0", "x" * 64, "nobody2", "all"])
def test_readable_ids_that_are_fine(id: str) -> None:
    """Short, plain, and the same in every address and file name."""
    for kind in ("user", "agent", "list", "category", "key"):
        check_readable_id(kind, id)


@pytest.mark.parametrize(
    "id",
    ["", " ", "Alice", "é", "a b", "-a", "a-", ".a", "a.", "_", "a/b", "a:b", "a\n", "\na", "x" * 65, "a\x00", "١"],
)
def test_readable_ids_that_are_refused(id: str) -> None:
    """The refusal names the field and says what is allowed."""
    for kind in KINDS:
        with pytest.raises(Invalid) as refusal:
            kind.add(id, actor=ADMIN, now=NOW, **KINDS[kind])
        assert [error.path for error in refusal.value.errors] == ["id"]
        assert "a–z" in refusal.value.errors[0].message


@pytest.mark.parametrize("id", sorted(RESERVED))
def test_some_ids_are_reserved_for_people_and_agents_only(id: str) -> None:
    """`nobody` and `system` stand for something else where people and agents are named; a list may be called so."""
    for kind in KINDS:
        if kind.KIND in ("user", "agent"):
            assert is_reserved(kind.KIND, id)
            with pytest.raises(Invalid, match=f"{id!r} is reserved"):
                kind.add(id, actor=ADMIN, now=NOW)
        else:
            assert not is_reserved(kind.KIND, id)
            assert kind.add(id, actor=ADMIN, now=NOW).readable_id == id


def test_an_id_is_another_of_each_kind_and_always_the_same() -> None:
    """A list `oncall` and a user `oncall` are two; the UUID is fixed for ever, since events hold it."""
    assert len({directory_id(kind.KIND, "oncall") for kind in KINDS}) == len(KINDS)
    assert directory_id("user", "anna") == UUID("71704758-da24-5eba-b0a3-96e75ab18ccf")


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("Alice", "alice"),
        ("José Álvarez", "jose-alvarez"),
        ("  On call / nights  ", "on-call-nights"),
        ("C3-PO", "c3-po"),
        ("ﬁne", "fine"),
        ("日本語", ""),
        ("---", ""),
        ("", ""),
        ("x" * 100, "x" * 60),
        (f"{'x' * 59} y", "x" * 59),
    ],
)
def test_an_id_made_from_a_name(name: str, id: str) -> None:
    """Accents fall away; what is nothing then is left to the caller."""
    assert readable_id_from(name) == id


@given(st.text())
def test_an_id_made_from_any_name_can_be_used(name: str) -> None:
    """Unless nothing usable was in it; a number can still be put behind it."""
    made = readable_id_from(name)
    if made:
        check_readable_id("list", made)
        check_readable_id("list", f"{made}-999")


def test_what_every_installation_begins_with_can_be_added() -> None:
    """The root, its children, and the five request types."""
    for id, name in {ROOT: "All", **SEEDED}.items():
        assert Category.add(id, actor="system", now=NOW, name=name).values["name"] == name
    for id, name in REQUEST_TYPES.items():
        assert RequestType.add(id, actor="system", now=NOW, name=name).readable_id == id
        assert find_request_type(f" {name.upper()} ") == find_request_type(id) == id
    assert find_request_type("payment") is None


# -- keys


def key(**changes: Any) -> AccessKey:
    values: dict[str, Any] = {
        "readable_id": "deploy-key",
        "name": "Deploy key",
        "sha256": "b" * 64,
        "agent_id": directory_id("agent", "deploy-bot"),
        "user_id": None,
        "run_user": None,
        "expires_at": None,
        "actor": ADMIN,
        "now": NOW,
    }
    made = AccessKey.create(**values | changes)
    made.collect_events()
    return made


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({"readable_id": "Deploy key"}, ["id"]),
        ({"agent_id": None}, ["agent"]),
        ({"user_id": ANNA}, ["agent"]),
        ({"agent_id": None, "user_id": ANNA, "run_user": BERT}, ["run_user"]),
        ({"expires_at": NOW}, ["expires_at"]),
        ({"agent_id": None, "run_user": BERT, "expires_at": NOW}, ["agent", "run_user", "expires_at"]),
    ],
)
def test_a_key_belongs_to_exactly_one_and_ends_in_the_future(changes: dict[str, Any], at: list[str]) -> None:
    """Every failing field is named."""
    with pytest.raises(Invalid) as refusal:
        key(**changes)
    assert [error.path for error in refusal.value.errors] == at


def test_a_key_gets_another_name_or_another_end() -> None:
    """The change carries both as they are then; what holds already is none."""
    one = key()
    one.change(name="Deploy key", expires_at=None, actor=ADMIN, now=LATER)
    assert list(one.pending_events) == []
    one.change(name="Old key", expires_at=LATER, actor=ADMIN, now=NOW)
    assert what(one.pending_events) == [("Changed", {"name": "Old key", "expires_at": LATER})]
    assert (one.name, one.expires_at) == ("Old key", LATER)


def test_a_key_does_not_end_in_the_past() -> None:
    """But one that has ended may still be named, and its end be taken away."""
    ended = key(expires_at=LATER)
    with pytest.raises(Invalid, match="must be in the future"):
        ended.change(name="x", expires_at=NOW + timedelta(minutes=1), actor=ADMIN, now=LATER)
    assert list(ended.pending_events) == []
    ended.change(name="x", expires_at=LATER, actor=ADMIN, now=LATER)
    ended.change(name="x", expires_at=None, actor=ADMIN, now=LATER)
    assert [values for _, values in what(ended.pending_events)] == [
        {"name": "x", "expires_at": LATER},
        {"name": "x", "expires_at": None},
    ]


def test_a_key_is_revoked_once() -> None:
    """A repeat does nothing."""
    one = key()
    one.revoke(actor=ADMIN, now=LATER)
    one.revoke(actor=ADMIN, now=LATER)
    assert what(one.pending_events) == [("Revoked", {})]
    assert one.revoked
