"""An hour of everyday load: memory and answers' latency stay what they were, and tables of passing things stay small.

`uv run pytest -m soak`, with `-s` to see the figures; `HANDRAISE_SOAK_MINUTES=5` for a shorter one.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from statistics import median

import psutil
import pytest
from handraise import AsyncClient

from tests.bench.rounds import percentile
from tests.chaos.checks import check_nothing_is_held, check_read_models, check_requests, check_slack
from tests.chaos.cluster import Cluster, cluster
from tests.chaos.load import Load
from tests.support.read_models import rows

MINUTES = float(os.environ.get("HANDRAISE_SOAK_MINUTES", "60"))
SAMPLES = 12
AT_ONCE = 16
"""Requests begun together, of all kinds; each lasts a second or two."""

MOST_MORE_MEMORY = 1.15
MOST_MORE_LATENCY = 2.0
"""Of the last quarter against the second: the first one warms up."""

PASSING = ("due_steps", "sealed_answers", "sessions", "sign_in_links", "sign_in_attempts", "parked_aggregates")
"""Tables that hold nothing about what is over and done."""


@dataclass
class Figures:
    """What was measured in one part of the time."""

    latencies: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        p50, p95 = (percentile(self.latencies, percent) * 1000 for percent in (50, 95))
        return f"{max(self.memory) / 2**20:.1f} MiB, p50 {p50:.1f} ms, p95 {p95:.1f} ms, {len(self.latencies)} answers"


@pytest.mark.soak
@pytest.mark.timeout(MINUTES * 60 + 900)
async def test_an_hour_of_everyday_load_leaves_no_trace() -> None:
    """Flat memory, flat latency, nothing left over, and everything was right all the time."""
    async with cluster() as here, AsyncExitStack() as stack:
        agents = {
            number: await stack.enter_async_context(AsyncClient(url=server.url, key=here.keys["agent"]))
            for number, server in enumerate(here.servers)
        }
        began, length = time.monotonic(), MINUTES * 60
        parts = [Figures() for _ in range(SAMPLES)]
        chance, number = random.Random(1), 0
        while (passed := time.monotonic() - began) < length:
            part = parts[int(passed / length * SAMPLES)]
            load = Load(here, f"soak-{number}", chance)
            number += 1
            await asyncio.gather(load.run(agents, AT_ONCE), _time_answers(here, agents[number % 2], part, number))
            await check_requests(here, load.done, chance)
            part.memory.append(sum(psutil.Process(server.pid).memory_info().rss for server in here.servers))
            await check_slack(here, load.done)
            here.slack.forget(5 * 60)
        for minute, part in enumerate(parts):
            print(f"{minute:2}: {part}")
        second, last = _quarters(parts)
        assert median(last.memory) <= MOST_MORE_MEMORY * median(second.memory), f"{second} -> {last}"
        assert median(last.latencies) <= MOST_MORE_LATENCY * median(second.latencies), f"{second} -> {last}"
        await stack.aclose()
        await check_nothing_is_held(here)
        await check_read_models(here)
        kept = Counter(
            {table: (await rows(here.postgres.conninfo, f"SELECT count(*) FROM {table}"))[0][0] for table in PASSING}
        )
        assert kept.total() < 50, kept
        await here.close()


async def _time_answers(here: Cluster, agent: AsyncClient, part: Figures, number: int) -> None:
    """From an answer to the agent that waits for it, beside all the rest."""
    chance = random.Random(number)
    for each in range(5):
        unique_id = f"timed-{number}-{each}"
        asked = asyncio.create_task(agent.confirm(unique_id, unique_id=unique_id))
        while (await here.call("GET", f"/api/requests/{unique_id}", "agent", chance)).status_code == 404:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)  # so that it waits by now
        sent = time.perf_counter()
        body = {"data": {"approved": True}}
        reply = await here.call("POST", f"/api/requests/{unique_id}/respond", "admin", chance, json=body)
        assert reply.status_code == 200, reply.text
        await asked
        part.latencies.append(time.perf_counter() - sent)


def _quarters(parts: list[Figures]) -> tuple[Figures, Figures]:
    """The second and the last."""
    quarter = len(parts) // 4
    found = []
    for some in (parts[quarter : 2 * quarter], parts[-quarter:]):
        found.append(
            Figures([each for part in some for each in part.latencies], [each for part in some for each in part.memory])
        )
    return found[0], found[1]
