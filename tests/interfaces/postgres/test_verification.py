"""The chain verified call by call: bounded, remembered, shared, and what was tampered with is found on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from interfaces.postgres.pool import Pool, new_pool
from interfaces.postgres.verification import Verification
from tests.interfaces.postgres.test_chain import EVENTS, append, changed, event
from tests.support.read_models import StoppedClock, rows
from tests.support.service import Service

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
AT = "2026-03-01T12:00:00.000Z"
TAMPER = "UPDATE handraise_events SET state = 'forged' WHERE notification_id = {position}"
SWAP = (
    "UPDATE handraise_events SET notification_id = -notification_id WHERE notification_id IN (8, 9);"
    " UPDATE handraise_events SET notification_id = 17 + notification_id WHERE notification_id IN (-8, -9)"
)
REMOVE = "DELETE FROM handraise_events WHERE notification_id = 9; DELETE FROM event_chain WHERE position = 9"


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    """Connections as a server has them, to a log of ten events."""
    await append(database, *(event(number) for number in range(EVENTS)))
    made = new_pool(database, 2)
    await made.open(wait=True)
    yield made
    await made.close()


def verification(pool: Pool, at_once: int = 4) -> Verification:
    return Verification(pool, StoppedClock(NOW), at_once=at_once)


def found(verified_to: int, problem: str | None = None, head: int = EVENTS) -> dict[str, Any]:
    return {
        "verified_to": verified_to,
        "head_position": head,
        "intact": problem is None,
        "problem": problem,
        "at": AT,
    }


async def test_each_call_goes_some_way_on(pool: Pool, database: str) -> None:
    """Until it is at the head; what is written meanwhile is looked at next, and afresh begins again."""
    verify = verification(pool)
    assert [await verify(False) for _ in range(4)] == [found(4), found(8), found(10), found(10)]
    await append(database, event(10))
    assert await verify(False) == found(11, head=11)
    assert [await verify(True), await verify(False)] == [found(4, head=11), found(8, head=11)]


async def test_an_empty_log_is_whole(database: str) -> None:
    """There is nothing to look at."""
    pool = new_pool(database, 2)
    await pool.open(wait=True)
    assert await verification(pool)(False) == found(0, head=0)
    await pool.close()


@pytest.mark.parametrize(
    ("tampering", "problem"),
    [
        (TAMPER.format(position=8), f"position 8: {changed(8)}"),
        (SWAP, f"position 8: {changed(9)}"),
        (REMOVE, "position 9: the event and its link are missing"),
        (
            "DELETE FROM handraise_events WHERE notification_id = 10",
            "position 10: the event is missing, its link is there",
        ),
    ],
)
async def test_what_is_tampered_with_ahead_is_found(pool: Pool, database: str, tampering: str, problem: str) -> None:
    """Edited, swapped, deleted: the first place is named, again and again, and it goes no further."""
    verify = verification(pool)
    assert await verify(False) == found(4)
    await rows(database, tampering)
    until = int(problem.split()[1].rstrip(":")) - 1
    said = [await verify(False) for _ in range(4)]
    whole = [found(8)] if until >= 8 else []
    assert said == (whole + [found(until, problem)] * 4)[:4]
    assert await verify(True) == found(4)


async def test_what_is_tampered_with_behind_is_found_afresh(pool: Pool, database: str) -> None:
    """What was verified once is not looked at again until that is asked."""
    verify = verification(pool)
    assert await verify(False) == found(4)
    await rows(database, TAMPER.format(position=2))
    assert await verify(False) == found(8)
    assert await verify(True) == found(1, f"position 2: {changed(2)}")
    assert await verify(False) == found(1, f"position 2: {changed(2)}")


async def test_a_verified_tail_that_was_cut_off_is_found(pool: Pool, database: str) -> None:
    """By whoever verified it; what is left is whole in itself."""
    verify = verification(pool, at_once=EVENTS)
    assert await verify(False) == found(10)
    for table, column in (("handraise_events", "notification_id"), ("event_chain", "position")):
        await rows(database, f"DELETE FROM {table} WHERE {column} > 6")
    cut = found(10, "position 7: the tail is cut: it was verified up to 10 before", head=6)
    assert [await verify(False), await verify(False)] == [cut, cut]
    assert await verify(True) == found(6, head=6)


async def test_calls_at_the_same_time_share_a_run(pool: Pool) -> None:
    """However many ask, one goes on, and all are told the same; one that goes away stops nobody."""
    verify = verification(pool, at_once=2)
    assert await asyncio.gather(*(verify(False) for _ in range(20))) == [found(2)] * 20
    leaving = asyncio.create_task(verify(False))
    staying = asyncio.create_task(verify(False))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == found(4)
    assert await asyncio.gather(verify(False), verify(True)) == [found(6), found(2)]
    going_on = asyncio.create_task(verify(False))
    await asyncio.sleep(0)
    await verify.stop()
    with pytest.raises(asyncio.CancelledError):
        await going_on


async def test_it_is_asked_over_http(handraise: Service) -> None:
    """Administrators and auditors see how far the chain was found whole, and what is wrong with it."""
    await handraise.ask()
    head = (await handraise.admin.get("/api/audit/head")).json()["position"]
    said = (await handraise.admin.get("/api/audit/verification", params={"min_position": head})).json()
    assert said.pop("at").endswith("Z")
    assert said == {"verified_to": head, "head_position": head, "intact": True, "problem": None}
    await rows(handraise.app.conninfo, TAMPER.format(position=2))
    assert (await handraise.admin.get("/api/audit/verification")).json()["intact"] is True
    afresh = (await handraise.admin.get("/api/audit/verification?afresh=true")).json()
    assert (afresh["intact"], afresh["verified_to"]) == (False, 1)
    assert afresh["problem"].startswith("position 2: event ")
    refused = await handraise.admin.get("/api/audit/verification", params={"min_position": 10**9})
    assert refused.status_code == 400
