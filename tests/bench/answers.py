"""From a person's answer to the waiting agent's response, HTTP in and HTTP out, against the minimal server."""

from __future__ import annotations

from tests.bench.database import Databases
from tests.bench.report import Figure
from tests.bench.rounds import by_turns, percentile
from tests.bench.servers import minimal_server, our_server
from tests.bench.sizes import Sizes
from tests.bench.waiters import Waiters, waiters

TARGET = 2.0

_WARM_UP = 20


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """p50 while never fewer than `sizes.waiters` wait at either server."""
    warm_up = min(_WARM_UP, sizes.answers)
    count = sizes.waiters + warm_up + sizes.rounds * sizes.answers
    async with (
        our_server(databases, count) as ours,
        minimal_server(databases) as minimal,
        waiters(ours, count) as at_ours,
        waiters(minimal, count) as at_minimal,
    ):
        for each in (at_ours, at_minimal):
            await each.answer(warm_up)

        async def p50(of: Waiters) -> float:
            return percentile(await of.answer(sizes.answers), 50) * 1000

        figure, floor = await by_turns(lambda: p50(at_ours), lambda: p50(at_minimal), sizes.rounds)
    what = f"answer to waiting agent, p50: {sizes.waiters:,} waiters, against a minimal server"
    return [Figure("answers", what, "ms", figure, floor, TARGET, "at most")]
