"""The hash chain: whatever is changed in the log, its first place is named."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest
from eventsourcing.persistence import StoredEvent
from psycopg.pq import TransactionStatus

from interfaces.postgres.chain import START, Head, Verdict, link, read_head, verify
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.migrate import GENESIS
from interfaces.postgres.writer import Writer
from tests.support.postgres import TestServer

EVENTS = 10
IDS = [UUID(int=1), UUID(int=2), UUID(int=3)]
TOPIC = "handraise.tests.Happened"


def event(number: int, state: bytes | None = None) -> StoredEvent:
    """The events go round three aggregates: number 0 is version 1 of the first."""
    return StoredEvent(IDS[number % 3], number // 3 + 1, TOPIC, b"state %d" % number if state is None else state)


def changed(position: int) -> str:
    """What is said of an event that is not the one that was written."""
    written = event(position - 1)
    return f"event {written.originator_version} of {written.originator_id} ({TOPIC}) is not what was written here"


async def append(conninfo: str, *events: StoredEvent) -> None:
    writer = Writer(conninfo, DatabaseClock(), on_committed=lambda recorded: None)
    await writer.start()
    for made in events:
        await writer.append([made], [])
    await writer.stop()


@pytest.fixture(scope="module")
def ten_events(postgres: TestServer, template: str) -> Iterator[str]:
    """A database with a log of ten events, which every test leaves as it was."""
    conninfo = postgres.run(postgres.create_database(template))
    postgres.run(append(conninfo, *(event(number) for number in range(EVENTS))))
    yield conninfo
    postgres.run(postgres.drop_database(conninfo))


@pytest.fixture
async def log(ten_events: str) -> AsyncIterator[psycopg.AsyncConnection]:
    """A connection to the log of ten events. What is done on it is undone in the end."""
    async with (
        await psycopg.AsyncConnection.connect(ten_events) as connection,
        connection.transaction(force_rollback=True),
    ):
        yield connection


async def test_an_empty_log_is_whole(database: str) -> None:
    """Its head is the anchor of the chain."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        assert await verify(connection) == Verdict(0, Head(0, GENESIS))
        assert await read_head(connection) == Head(0, GENESIS)
        assert await verify(connection, known_head=Head(0, GENESIS)) == Verdict(0, Head(0, GENESIS))


@pytest.mark.parametrize("batch", [1, 3, 10, 2000])
async def test_an_untouched_log_is_whole(log: psycopg.AsyncConnection, batch: int) -> None:
    """Every link holds, however many are read at a time, with or without an earlier head."""
    hash_ = GENESIS
    heads = []
    for number in range(EVENTS):
        made = event(number)
        hash_ = link(hash_, number + 1, IDS[number % 3], made.originator_version, made.topic, made.state)
        heads.append(Head(number + 1, hash_))
    whole = Verdict(EVENTS, heads[-1])
    assert await read_head(log) == heads[-1]
    assert await verify(log, batch=batch) == whole
    for head in (Head(0, GENESIS), heads[0], heads[4], heads[-1]):
        assert await verify(log, known_head=head, batch=batch) == whole


TAMPERING = [
    (
        "UPDATE handraise_events SET state = set_byte(state, 3, get_byte(state, 3) # 1) WHERE notification_id = 4",
        4,
        changed(4),
    ),
    ("UPDATE handraise_events SET state = state || ' ' WHERE notification_id = 10", 10, changed(10)),
    (
        "UPDATE handraise_events SET topic = 'handraise.tests.Other' WHERE notification_id = 6",
        6,
        changed(6).replace("Happened", "Other"),
    ),
    (
        "UPDATE handraise_events SET originator_version = 9 WHERE notification_id = 3",
        3,
        changed(3).replace("event 1", "event 9"),
    ),
    (
        "UPDATE handraise_events SET originator_id = '00000000-0000-0000-0000-000000000009' WHERE notification_id = 1",
        1,
        changed(1).replace("000001", "000009"),
    ),
    ("DELETE FROM handraise_events WHERE notification_id = 5", 5, "the event is missing, its link is there"),
    ("DELETE FROM event_chain WHERE position = 5", 5, "the link is missing, the event is there"),
    (
        "DELETE FROM handraise_events WHERE notification_id = 5; DELETE FROM event_chain WHERE position = 5",
        5,
        "the event and its link are missing",
    ),
    (
        "DELETE FROM handraise_events WHERE notification_id = 1; DELETE FROM event_chain WHERE position = 1",
        1,
        "the event and its link are missing",
    ),
    (
        "DELETE FROM handraise_events WHERE notification_id = 5; DELETE FROM event_chain WHERE position = 10;"
        " UPDATE handraise_events SET notification_id = notification_id - 1 WHERE notification_id > 5",
        5,
        changed(6),
    ),
    (
        "UPDATE handraise_events SET notification_id = -notification_id WHERE notification_id IN (3, 7);"
        " UPDATE handraise_events SET notification_id = 10 + notification_id WHERE notification_id IN (-3, -7)",
        3,
        changed(7),
    ),
    (
        "UPDATE handraise_events e SET state = o.state FROM handraise_events o"
        " WHERE (e.notification_id, o.notification_id) IN ((8, 9), (9, 8))",
        8,
        changed(8),
    ),
    ("UPDATE event_chain SET hash = sha256(hash) WHERE position = 2", 2, changed(2)),
    (
        "INSERT INTO handraise_events VALUES (gen_random_uuid(), 1, 'handraise.tests.Happened', 'more', 11)",
        11,
        "the link is missing, the event is there",
    ),
    (
        "INSERT INTO event_chain VALUES (11, sha256('more'))",
        11,
        "the event is missing, its link is there",
    ),
]


@pytest.mark.parametrize(("tampering", "position", "what"), TAMPERING)
async def test_tampering_is_found_at_its_first_place(
    log: psycopg.AsyncConnection, tampering: str, position: int, what: str
) -> None:
    """Changed, deleted, swapped, renamed, added: the verdict names the place, and how far all was well."""
    good = await (await log.execute("SELECT hash FROM event_chain WHERE position = %s", (position - 1,))).fetchone()
    assert good is not None
    await log.execute(tampering.encode())
    found = Verdict(position - 1, Head(position - 1, good[0]), f"position {position}: {what}", position)
    assert await verify(log, batch=4) == found
    assert await verify(log) == found


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
@pytest.mark.parametrize(("tampering", "position", "what"), TAMPERING)
async def test_tampering_is_found_bit_by_bit(
    log: psycopg.AsyncConnection, tampering: str, position: int, what: str, limit: int
) -> None:
    """Going on from the last place that was whole finds what the walk over all of it finds."""
    await log.execute(tampering.encode())
    whole = await verify(log)
    assert whole.fault is not None
    reached, events, turns = START, 0, 0
    while (verdict := await verify(log, after=reached, limit=limit, batch=2)).fault is None:
        assert verdict.events == limit == verdict.head.position - reached.position
        reached, events, turns = verdict.head, events + verdict.events, turns + 1
    assert turns == (position - 1) // limit
    assert replace(verdict, events=events + verdict.events) == whole
    assert await verify(log, after=verdict.head, limit=limit) == replace(verdict, events=0)


async def test_a_longer_gap_than_is_looked_at_is_found(log: psycopg.AsyncConnection) -> None:
    """Where nothing is left of all the events that one step would look at."""
    gap = "DELETE FROM handraise_events WHERE notification_id BETWEEN 4 AND 8;"
    await log.execute(
        (gap + gap.replace("handraise_events", "event_chain").replace("notification_id", "position")).encode()
    )
    three = await verify(log, limit=3)
    assert (three.events, three.head.position, three.fault) == (3, 3, None)
    for limit in (1, 2, 5, 6, None):
        missing = Verdict(0, three.head, "position 4: the event and its link are missing", 4)
        assert await verify(log, after=three.head, limit=limit) == missing


async def test_what_was_verified_before_is_still_what_it_goes_on_from(log: psycopg.AsyncConnection) -> None:
    """A tail that was verified and is cut off, or written anew, is found by whoever verified it."""
    whole = await verify(log)
    assert await verify(log, after=whole.head) == Verdict(0, whole.head)
    await log.execute(b"UPDATE event_chain SET hash = sha256(hash) WHERE position = 10")
    other = "position 10: the log here is not the one that was verified before"
    assert await verify(log, after=whole.head) == Verdict(0, whole.head, other, 10)
    await log.execute(CUT.encode())
    cut = "position 8: the tail is cut: it was verified up to 10 before"
    assert await verify(log, after=whole.head) == Verdict(0, whole.head, cut, 8)


CUT = "DELETE FROM handraise_events WHERE notification_id > 7; DELETE FROM event_chain WHERE position > 7"


async def test_a_cut_tail_is_found_with_a_known_head_only(log: psycopg.AsyncConnection) -> None:
    """What is left is whole in itself; only who knows how far the log went can tell."""
    head, earlier = await read_head(log), None
    await log.execute(CUT.encode())
    assert (await verify(log)).fault is None
    verdict = await verify(log, known_head=head)
    assert verdict == Verdict(7, await read_head(log), "position 8: the tail is cut: the given head was at 10", 8)
    earlier = await read_head(log)
    assert await verify(log, known_head=earlier) == Verdict(7, earlier)


async def test_a_tail_cut_and_written_anew_is_found_with_a_known_head(database: str) -> None:
    """The new events hang together, and still are not the ones the head was taken from."""
    await append(database, *(event(number) for number in range(EVENTS)))
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        head = await read_head(connection)
        await connection.execute(CUT.encode())
        await append(database, *(event(number, b"another history") for number in range(7, 12)))
        assert (await verify(connection)).fault is None
        verdict = await verify(connection, known_head=head)
        assert (verdict.position, verdict.fault) == (
            10,
            "position 10: the log here is not the one that the given head was taken from",
        )
        assert connection.info.transaction_status is TransactionStatus.IDLE


async def test_a_head_of_another_log_is_told_apart_from_the_start(log: psycopg.AsyncConnection) -> None:
    """Even one at position 0."""
    verdict = await verify(log, known_head=Head(0, bytes(32)))
    assert (verdict.position, verdict.fault) == (
        0,
        "position 0: the log does not start where the given head says",
    )


def test_every_part_of_an_event_counts() -> None:
    """Also where one part ends and the next begins."""
    made = (GENESIS, 1, IDS[0], 1, "topic", b"state")
    others = [
        (bytes(32), 1, IDS[0], 1, "topic", b"state"),
        (GENESIS, 2, IDS[0], 1, "topic", b"state"),
        (GENESIS, 1, IDS[1], 1, "topic", b"state"),
        (GENESIS, 1, IDS[0], 2, "topic", b"state"),
        (GENESIS, 1, IDS[0], 1, "topics", b"tate"),
        (GENESIS, 1, IDS[0], 1, "topi", b"cstate"),
        (GENESIS, 1, IDS[0], 1, "topic", b"statf"),
    ]
    assert len({link(*made), *(link(*other) for other in others)}) == 1 + len(others)


def test_a_head_is_kept_as_text() -> None:
    """It reads back as it was written, also with white space around it."""
    head = Head(1234, bytes(range(32)))
    assert str(head) == f"1234:{bytes(range(32)).hex()}"
    assert Head.parse(f"  {head}\n") == head
    assert Head.parse(str(head).upper()) == head
    assert replace(head, position=0) == Head.parse(f"0:{head.hash.hex()}")


@pytest.mark.parametrize(
    "nonsense",
    [
        "",
        ":",
        "12",
        "12:",
        ":" + "0" * 64,
        "-1:" + "0" * 64,
        "1.5:" + "0" * 64,
        "x:" + "0" * 64,
        "²:" + "0" * 64,
        "١:" + "0" * 64,
        "1:" + "0" * 63,
        "1:" + "0" * 65,
        "1:" + "g" * 64,
        "1:" + "00 " * 21 + "0",
        "1:" + "00 " * 20 + "0000",
        "1 :" + "0" * 64,
        "1:2:" + "0" * 62,
        "9" * 5000 + ":" + "0" * 64,
    ],
)
def test_nonsense_is_no_head(nonsense: str) -> None:
    """Refused as what it is, not taken for a log that was tampered with."""
    with pytest.raises(ValueError, match="is not a head"):
        Head.parse(nonsense)
