"""From a commit's acknowledgement to the row that people see, at a steady 200 writes a second."""

from __future__ import annotations

import asyncio
import time

from application.requests import Ask
from domain.callers import AgentCaller
from interfaces.app import running
from interfaces.bootstrap import ensure_credentials
from interfaces.credentials import read_credentials
from interfaces.settings import Settings
from projections.request_list import RequestList
from tests.bench.database import Databases
from tests.bench.report import Figure
from tests.bench.rounds import percentile
from tests.bench.sizes import Sizes

TARGET_MILLISECONDS = 20.0
WRITES_PER_SECOND = 200


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """p95 over all rounds, without the first second."""
    settings = Settings(data_dir=databases.new_folder(), database_url=await databases.new(), log_level="warning")
    seconds = sizes.rounds * sizes.seconds + 1
    async with running(settings) as app:
        await ensure_credentials(app.directory, app.keys, settings, admin_key=True)
        credentials = read_credentials(settings.data_dir)
        assert credentials is not None
        assert credentials.agent_key is not None
        agent = await app.keys.authenticate(credentials.agent_key)
        assert isinstance(agent, AgentCaller)

        async def write() -> float:
            request, _ = await app.requests.ask(Ask("Deploy build 2041 to production?"), agent)
            committed = time.perf_counter()
            assert await app.projector.reached(RequestList.name, request.position, 10)
            return time.perf_counter() - committed

        began = time.perf_counter()
        writes: list[asyncio.Task[float]] = []
        for number in range(int(seconds * WRITES_PER_SECOND)):
            await asyncio.sleep(max(0.0, began + number / WRITES_PER_SECOND - time.perf_counter()))
            writes.append(asyncio.create_task(write()))
        latencies = await asyncio.gather(*writes)
    figure = percentile(latencies[WRITES_PER_SECOND // 2 :], 95) * 1000
    what = f"commit to visible row, p95: {WRITES_PER_SECOND} writes/s"
    return [Figure("visible", what, "ms", figure, None, TARGET_MILLISECONDS, "at most", of_floor=False)]
