"""Due times: what is due by the database's clock, leased to one replica, taken over when that one is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest

from application.deadlines import EXPIRE, SHRED
from application.ports import DueStep
from domain.errors import Unavailable
from interfaces.postgres.clock import DATABASE_TIME, DatabaseClock
from interfaces.postgres.due import LEASE_SECONDS, PostgresDueSteps
from interfaces.postgres.inline import MOVE_DUE_STEP, REMOVE_DUE_STEPS, SET_DUE_STEP, Bulk
from interfaces.postgres.pool import new_pool

PAST = datetime(2026, 3, 1, 12, tzinfo=UTC)
FUTURE = datetime(2200, 3, 1, 12, tzinfo=UTC)
AFTER_THE_LEASE: LiteralString = f"clock_timestamp() + interval '{LEASE_SECONDS + 1} seconds'"


@asynccontextmanager
async def due_steps(conninfo: str, sql: LiteralString = DATABASE_TIME) -> AsyncIterator[PostgresDueSteps]:
    """The due steps as one replica sees them, on connections of its own."""
    pool = new_pool(conninfo, 4)
    await pool.open(wait=True, timeout=30)
    yield PostgresDueSteps(pool, DatabaseClock(sql))
    await pool.close()


@pytest.fixture
async def due(database: str) -> AsyncIterator[PostgresDueSteps]:
    async with due_steps(database) as steps:
        yield steps


async def execute(conninfo: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        cursor = await connection.execute(sql.encode(), values or None)
        return await cursor.fetchall() if cursor.description else []


async def plan(conninfo: str, *steps: DueStep) -> None:
    """Set these steps, as the writer does."""
    columns = [[s.request_id for s in steps], [s.step for s in steps], [s.due_at for s in steps]]
    await execute(conninfo, SET_DUE_STEP.sql, *columns)


def step(due_at: datetime = PAST, kind: str = EXPIRE, id: UUID | None = None) -> DueStep:
    return DueStep(id or uuid4(), kind, due_at)


async def table(conninfo: str) -> list[tuple[Any, ...]]:
    return await execute(conninfo, "SELECT request_id, step, due_at, leased_until FROM due_steps ORDER BY due_at")


async def test_what_is_due_is_leased_in_its_order(database: str, due: PostgresDueSteps) -> None:
    """Longest overdue first, as many as asked for; what is not due yet stays."""
    steps = [step(PAST + timedelta(seconds=number)) for number in range(5)]
    await plan(database, step(FUTURE), *reversed(steps))
    now, first = await due.lease(3)
    later, rest = await due.lease(10)
    assert (first, rest) == (steps[:3], steps[3:])
    assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)
    assert later >= now
    leases = [leased_until for *_, leased_until in await table(database)]
    assert leases == [now + timedelta(seconds=LEASE_SECONDS)] * 3 + [later + timedelta(seconds=LEASE_SECONDS)] * 2 + [
        None
    ]


async def test_nothing_due_is_nothing_and_the_time(due: PostgresDueSteps) -> None:
    """The database's time comes with every answer."""
    now, steps = await due.lease(10)
    assert (steps, abs(now - datetime.now(UTC)) < timedelta(minutes=1)) == ([], True)
    now, next_due = await due.next_due()
    assert (next_due, abs(now - datetime.now(UTC)) < timedelta(minutes=1)) == (None, True)


async def test_the_databases_clock_decides(database: str, due: PostgresDueSteps) -> None:
    """In half an hour it is due, and already so for a database whose clock is an hour ahead."""
    planned = step(datetime.now(UTC) + timedelta(minutes=30))
    await plan(database, planned)
    assert (await due.lease(10))[1] == []
    async with due_steps(database, "clock_timestamp() + interval '1 hour'") as ahead:
        now, leased = await ahead.lease(10)
    assert (leased, now >= planned.due_at) == ([planned], True)


async def test_a_step_is_due_at_its_very_instant(database: str) -> None:
    """Not a microsecond before."""
    planned = step(PAST)
    await plan(database, planned)
    for sql, leased in (
        ("timestamptz '2026-03-01 11:59:59.999999Z'", []),
        ("timestamptz '2026-03-01 12:00:00Z'", [planned]),
    ):
        async with due_steps(database, sql) as steps:
            assert (await steps.lease(10))[1] == leased


async def test_a_look_at_the_times_brings_the_databases_time(database: str) -> None:
    """So that what is done then is not recorded before it was due, by a clock that has gone wrong since."""
    clock = DatabaseClock("timestamptz '2026-03-01 12:00:00Z'")
    pool = new_pool(database, 2)
    await pool.open(wait=True, timeout=30)
    now, _ = await PostgresDueSteps(pool, clock).lease(1)
    await pool.close()
    assert (now, clock.now() >= PAST, clock.now() < PAST + timedelta(days=1)) == (PAST, True, True)


@pytest.mark.parametrize(
    ("change", "leased"),
    [
        pytest.param(SET_DUE_STEP, False, id="carried out"),
        pytest.param(MOVE_DUE_STEP, True, id="something else happened"),
    ],
)
async def test_only_what_was_carried_out_is_free_at_the_same_time_again(
    database: str, due: PostgresDueSteps, change: Bulk, leased: bool
) -> None:
    """Another event of the request leaves a step to whoever is at it; either way a new time is anybody's."""
    planned = step()
    await plan(database, planned)
    await due.lease(10)
    await execute(database, change.sql, [planned.request_id], [planned.step], [PAST])
    assert (await due.lease(10))[1] == ([] if leased else [planned])
    later = PAST + timedelta(days=1)
    await execute(database, change.sql, [planned.request_id], [planned.step], [later])
    assert (await due.lease(10))[1] == [step(later, id=planned.request_id)]


async def test_what_is_done_or_put_off(database: str, due: PostgresDueSteps) -> None:
    """Done, it is gone; put off, it comes then. Neither where it was given another time meanwhile."""
    done, put_off, moved = step(), step(), step()
    await plan(database, done, put_off, moved)
    leased = {each.request_id: each for each in (await due.lease(10))[1]}
    await plan(database, step(FUTURE, id=moved.request_id))
    await due.done(leased[done.request_id])
    await due.postpone(leased[put_off.request_id], PAST + timedelta(days=1))
    await due.done(leased[moved.request_id])
    await due.postpone(leased[moved.request_id], PAST)
    assert await table(database) == [
        (put_off.request_id, EXPIRE, PAST + timedelta(days=1), None),
        (moved.request_id, EXPIRE, FUTURE, None),
    ]


async def test_whoever_lost_its_lease_decides_nothing(database: str, due: PostgresDueSteps) -> None:
    """The step was set anew, and another one is at it by now."""
    planned = step()
    await plan(database, planned)
    (lost,) = (await due.lease(10))[1]
    await plan(database, planned)
    (held,) = (await due.lease(10))[1]
    kept = await table(database)
    assert [await due.holds(each) for each in (lost, held)] == [False, True]
    await due.done(lost)
    await due.postpone(lost, FUTURE)
    assert await table(database) == kept
    await due.done(held)
    assert await table(database) == []


async def test_leases_keep_replicas_apart(database: str) -> None:
    """Four replicas leasing at the same time get every step once between them."""
    planned = [step(PAST + timedelta(seconds=number)) for number in range(200)]
    await plan(database, *planned)
    async with AsyncExitStack() as stack:
        replicas = [await stack.enter_async_context(due_steps(database)) for _ in range(4)]
        taken: list[list[DueStep]] = [[] for _ in replicas]

        async def take(number: int) -> None:
            while steps := (await replicas[number].lease(7))[1]:
                taken[number] += steps

        await asyncio.gather(*(take(number) for number in range(4)))
        # A step that another was just leasing may have been passed over by all of them: it is there for the next look.
        taken.append(list((await replicas[0].lease(200))[1]))
    together = [step for steps in taken for step in steps]
    assert sorted(together, key=lambda step: step.due_at) == planned


async def test_a_lease_that_ran_out_is_taken_over(database: str, due: PostgresDueSteps) -> None:
    """The replica that had it is gone; until then nobody else gets it."""
    planned = step()
    await plan(database, planned)
    assert (await due.lease(10))[1] == [planned]
    async with due_steps(database) as other:
        assert (await other.lease(10))[1] == []
    async with due_steps(database, AFTER_THE_LEASE) as later:
        assert (await later.lease(10))[1] == [planned]
        assert (await later.lease(10))[1] == []


async def test_a_step_set_anew_is_free_again(database: str, due: PostgresDueSteps) -> None:
    """A new time for a step that somebody has leased ends the lease."""
    planned = step(kind=SHRED)
    await plan(database, planned)
    await due.lease(10)
    again = step(PAST + timedelta(days=1), SHRED, planned.request_id)
    await plan(database, again)
    assert (await due.lease(10))[1] == [again]


async def test_the_next_due_time(database: str, due: PostgresDueSteps) -> None:
    """The earliest of what nobody has leased and of when a lease runs out."""
    await plan(database, step(FUTURE), step(FUTURE + timedelta(days=1)))
    assert (await due.next_due())[1] == FUTURE
    await plan(database, step(PAST), step(PAST + timedelta(days=1)))
    assert (await due.next_due())[1] == PAST
    leased_at, _ = await due.lease(1)
    assert (await due.next_due())[1] == PAST + timedelta(days=1)
    await due.lease(1)
    assert (await due.next_due())[1] == leased_at + timedelta(seconds=LEASE_SECONDS)
    await execute(database, REMOVE_DUE_STEPS.sql, [row[0] for row in (await table(database))[:2]])
    assert (await due.next_due())[1] == FUTURE


async def vault(conninfo: str, *ids: UUID) -> None:
    """Put a sealed answer of each request into the vault."""
    for id in ids:
        await execute(conninfo, "INSERT INTO sealed_answers VALUES (%s, 'key', 'text')", id)


async def kept(conninfo: str) -> set[UUID]:
    return {id for (id,) in await execute(conninfo, "SELECT request_id FROM sealed_answers")}


async def test_shredding_destroys_the_answers_whose_time_is_over(database: str, due: PostgresDueSteps) -> None:
    """Answer and step are gone; other requests' answers, and other steps of the same request, stay."""
    over, other = step(kind=SHRED), step(FUTURE, SHRED)
    remind = step(FUTURE, "remind", over.request_id)
    await plan(database, over, other, remind)
    await vault(database, over.request_id, other.request_id)
    _, leased = await due.lease(10)
    await due.shred([step.request_id for step in leased])
    assert await kept(database) == {other.request_id}
    assert sorted(row[:3] for row in await table(database)) == sorted(
        (s.request_id, s.step, s.due_at) for s in (other, remind)
    )
    await due.shred([over.request_id])
    await due.shred([])
    assert await kept(database) == {other.request_id}


async def test_an_answer_collected_at_the_last_moment_is_not_shredded(database: str, due: PostgresDueSteps) -> None:
    """Collecting set a new time while the step was leased: the agent may still fetch it again until then."""
    planned = step(kind=SHRED)
    await plan(database, planned)
    await vault(database, planned.request_id)
    _, leased = await due.lease(10)
    await plan(database, step(FUTURE, SHRED, planned.request_id))
    await due.shred([step.request_id for step in leased])
    assert await kept(database) == {planned.request_id}
    assert await table(database) == [(planned.request_id, SHRED, FUTURE, None)]


async def test_a_database_that_is_away_is_unavailable(database: str) -> None:
    """For the scheduler to try again, not an error of its own."""
    pool = new_pool(database, 2)
    await pool.open(wait=True, timeout=30)
    await pool.close()
    due = PostgresDueSteps(pool, DatabaseClock())
    for look in (due.lease(1), due.next_due(), due.shred([])):
        with pytest.raises(Unavailable):
            await look
