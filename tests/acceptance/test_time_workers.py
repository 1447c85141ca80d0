"""Very many steps due at once, several processes at work on them, and one of those dies in the middle."""

from __future__ import annotations

import asyncio
import subprocess
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from application.requests import Ask
from domain.directory import directory_id
from domain.request import Request
from interfaces.postgres.due import LEASE_SECONDS
from projections.log import Entry
from tests.acceptance.test_routing_concurrency import read_log
from tests.support.processes import PATIENCE
from tests.support.read_models import callers_of, log_of, rows
from tests.support.service import Service, service
from tests.support.worker import NEVER, FileChannel, set_worker_clock, start_worker, worker_clock

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


@asynccontextmanager
async def worker(database: str, folder: Path, calls: Path) -> AsyncIterator[subprocess.Popen[bytes]]:
    """A worker that is ready; it is killed in the end if it has not ended."""
    process = start_worker(database, folder, calls)
    assert process.stdout is not None
    said: list[bytes] = []
    try:
        while (line := await asyncio.to_thread(process.stdout.readline)) != b"ready\n":
            said.append(line)
            assert line, b"".join(said).decode()
        reading = asyncio.create_task(asyncio.to_thread(process.stdout.read))  # so that it never blocks on a full pipe
        yield process
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)
    await reading


def calls_in(file: Path) -> list[tuple[str, str]]:
    """(key, pid) of every call that was made."""
    return [(key, pid) for key, _, pid in (line.partition(" ") for line in file.read_text().splitlines())]


async def ask_many(handraise: Service, count: int) -> set[str]:
    """Requests that all go up their ladder within the second that begins in an hour: their ids."""
    agent, _ = await callers_of(handraise)

    async def ask(number: int) -> str:
        minutes = 60 + number / count / 60
        ladder = [{"afterMinutes": minutes, "to": {"userID": "bob"}}]
        strategy = {"type": "SpecificUser", "userID": "alice", "escalation": ladder}
        request, _ = await handraise.app.requests.ask(Ask("May I?", assignment_strategy=strategy), agent)
        return str(request.id)

    return set(await asyncio.gather(*(ask(number) for number in range(count))))


async def wake(handraise: Service) -> None:
    """Have every worker look at the times: something else is asked."""
    await handraise.ask(assignment_strategy={"type": "SpecificUser", "userID": "admin"})


async def told(database: str) -> int:
    """How many notices were recorded."""
    topic = Request.Notified.TOPIC
    return (await rows(database, "SELECT count(*) FROM handraise_events WHERE topic = %s", topic))[0][0]


@pytest.mark.parametrize("count", [pytest.param(200, id="200"), pytest.param(1000, id="1000", marks=pytest.mark.chaos)])
async def test_each_step_happens_once_though_a_worker_is_killed(database: str, tmp_path: Path, count: int) -> None:
    """Every event exactly once, every call at least once, all calls of one notice under one key."""
    calls = tmp_path / "calls"
    calls.touch()
    await set_worker_clock(database, START)
    async with AsyncExitStack() as stack:
        # Beside the workers, to ask and to look: one that itself carries out nothing.
        handraise = await stack.enter_async_context(
            service(database, tmp_path / "data", clock=worker_clock(), channels=[FileChannel(calls)])
        )
        await handraise.app.scheduler.stop()
        for name in ("alice", "bob"):
            await handraise.person(name)
        ids = await ask_many(handraise, count)
        workers = [await stack.enter_async_context(worker(database, tmp_path / "data", calls)) for _ in range(2)]
        assert calls_in(calls) == []

        now = START + timedelta(hours=2)
        await set_worker_clock(database, now)
        await wake(handraise)

        async with asyncio.timeout(PATIENCE):
            while len(calls_in(calls)) < count // 20:
                await asyncio.sleep(0.005)
        [(busiest, _)] = Counter(pid for _, pid in calls_in(calls)).most_common(1)
        doomed = next(process for process in workers if str(process.pid) == busiest)
        doomed.kill()
        await asyncio.to_thread(doomed.wait)
        assert len(calls_in(calls)) < count, "it was not in the middle"

        # What it had leased is free once the lease is over; whatever it had not begun the other goes on with at once.
        async with asyncio.timeout(PATIENCE):
            while not await told(database) >= count:
                now += timedelta(seconds=LEASE_SECONDS + 1)
                await set_worker_clock(database, now)
                await wake(handraise)
                for _ in range(100):
                    if await told(database) >= count:
                        break
                    await asyncio.sleep(0.02)
        log = await read_log(database, log_of(handraise))
        assert await rows(database, "SELECT step FROM due_steps WHERE due_at < %s", START + NEVER / 2) == []
    check_events(log, ids)
    check_calls(calls_in(calls), ids, {str(process.pid) for process in workers})


def check_events(log: list[Entry], ids: set[str]) -> None:
    """Each request was asked, moved to Bob, and he was told: one event each, in this order, and no other."""
    events: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for entry in log:
        if isinstance(entry.event, Request.Event) and str(entry.aggregate_id) in ids:
            events[str(entry.aggregate_id)].append((type(entry.event).__name__, getattr(entry.event, "step", None)))
    assert events.keys() == ids
    expected = (("Requested", None), ("Reassigned", "escalate:1"), ("Notified", "escalate:1"))
    assert Counter(map(tuple, events.values())) == Counter({expected: len(ids)})
    bob = {
        str(entry.aggregate_id): (entry.event.recipient, entry.event.delivered)
        for entry in log
        if isinstance(entry.event, Request.Notified)
    }
    assert bob == dict.fromkeys(ids, (f"user:{directory_id('user', 'bob')}", True))


def check_calls(calls: list[tuple[str, str]], ids: set[str], pids: set[str]) -> None:
    """Every request's notice was called out, by these processes, always under the same key."""
    keys: dict[str, set[str]] = defaultdict(set)
    for key, _ in calls:
        keys[key.partition("/")[0]].add(key)
    assert keys.keys() == ids
    assert {id: len(of_id) for id, of_id in keys.items()} == dict.fromkeys(ids, 1)
    assert {pid for _, pid in calls} == pids
