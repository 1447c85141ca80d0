"""Creating requests over HTTP, against the minimal server's single INSERT with NOTIFY."""

from __future__ import annotations

from tests.bench.database import Databases
from tests.bench.load import rate
from tests.bench.report import Figure
from tests.bench.rounds import by_turns
from tests.bench.servers import Server, minimal_server, our_server
from tests.bench.sizes import Sizes

TARGET = 0.6


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """Creates a second on `sizes.at_once` keep-alive connections, the same JSON body to both."""
    async with our_server(databases) as ours, minimal_server(databases) as minimal:

        async def creates(server: Server, seconds: float = sizes.seconds) -> float:
            return await rate(server.port, server.create, connections=sizes.at_once, seconds=seconds, status=201)

        for server in (ours, minimal):
            await creates(server, sizes.seconds / 4)
        figure, floor = await by_turns(lambda: creates(ours), lambda: creates(minimal), sizes.rounds)
    what = f"creates over HTTP: {sizes.at_once} connections, against a minimal server's INSERT and NOTIFY"
    return [Figure("creates", what, "creates/s", figure, floor, TARGET, "at least")]
