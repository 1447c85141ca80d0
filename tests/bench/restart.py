"""Starting up while very many requests wait: from the start of the process until it is ready."""

from __future__ import annotations

import time
from statistics import median

from tests.bench.database import Databases
from tests.bench.report import Figure
from tests.bench.servers import prepared_server
from tests.bench.sizes import Sizes

TARGET_SECONDS = 3.0


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """The median of `sizes.rounds` starts on a database with `sizes.waiting` open requests that all have timers."""
    prepared = await prepared_server(databases, sizes.waiting)
    seconds: list[float] = []
    for _ in range(sizes.rounds):
        started = time.perf_counter()
        async with prepared.start():
            seconds.append(time.perf_counter() - started)
    what = f"start-up with {sizes.waiting:,} waiting requests, until /readyz answers 200"
    return [Figure("restart", what, "s", median(seconds), None, TARGET_SECONDS, "at most", of_floor=False)]
