"""Rounds of mixed load in which servers, database and network fail at random, by a seed; then everything must be right.

`uv run pytest -m chaos tests/chaos`; one seed again: `HANDRAISE_CHAOS_SEED=17 uv run pytest -m chaos tests/chaos`.
"""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import AsyncExitStack

import pytest
from handraise import AsyncClient

from interfaces.postgres import chain
from tests.chaos.checks import (
    check_chain,
    check_nothing_is_held,
    check_read_models,
    check_requests,
    check_slack,
    check_stream,
)
from tests.chaos.cluster import PATIENCE, Cluster, cluster
from tests.chaos.load import Load
from tests.chaos.stream import Watcher

FIRST_SEED = int(os.environ.get("HANDRAISE_CHAOS_SEED", "1"))
AT_ONCE = 16
REBUILD_EVERY = 20


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("rounds", [2, pytest.param(200, marks=pytest.mark.chaos)])
async def test_nothing_is_lost_whatever_fails(rounds: int) -> None:
    """What was acknowledged is there; each request ends once; read models equal a rebuild; nothing is left over."""
    async with cluster() as here, AsyncExitStack() as stack:
        agents = {
            number: await stack.enter_async_context(
                AsyncClient(url=server.url, key=here.keys["agent"], patience_seconds=PATIENCE,
                            connect_patience_seconds=PATIENCE)
            )
            for number, server in enumerate(here.servers)
        }  # fmt: skip
        watcher = await stack.enter_async_context(Watcher(here, random.Random(FIRST_SEED)))
        head = chain.START
        for seed in range(FIRST_SEED, FIRST_SEED + rounds):
            last = seed == FIRST_SEED + rounds - 1
            try:
                head = await one_round(here, agents, watcher, seed, head, whole=last or seed % REBUILD_EVERY == 0)
            except BaseException as error:
                error.add_note(f"seed {seed}")
                raise
        await stack.aclose()
        await check_nothing_is_held(here)
        await here.close()


async def one_round(
    here: Cluster, agents: dict[int, AsyncClient], watcher: Watcher, seed: int, head: chain.Head, *, whole: bool
) -> chain.Head:
    """One or two faults during the load of one seed, then all checks; `whole` has the read models made anew, too."""
    chance = random.Random(seed)
    load = Load(here, f"round-{seed}", chance)

    async def fail() -> None:
        for fault in chance.sample(here.faults, chance.choice((1, 1, 2))):
            await asyncio.sleep(1.5 * chance.random())
            await fault(chance)

    async with asyncio.TaskGroup() as group:
        group.create_task(load.run(agents, AT_ONCE))
        group.create_task(fail())
    await here.ready()
    newest = await check_requests(here, load.done, chance)
    await check_slack(here, load.done)
    await check_stream(watcher, here.postgres.conninfo, newest)
    head = await check_chain(here, head)
    if whole:
        await check_nothing_is_held(here)
        await check_read_models(here)
    return head
