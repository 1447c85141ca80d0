"""What ten thousand waiting agents cost: latency, memory, database connections."""

from __future__ import annotations

import asyncio

import psycopg

from tests.bench.database import Databases
from tests.bench.load import ask, open_many
from tests.bench.report import Figure
from tests.bench.rounds import by_turns, percentile
from tests.bench.servers import OurServer, our_server
from tests.bench.serving import raise_open_files
from tests.bench.sizes import Sizes
from tests.bench.waiters import Waiters, waiters

LATENCY_TARGET = 2.0
MEMORY_TARGET_KB = 30.0

_WARM_UP = 20
_READERS = 200
_SPARE_FILES = 500


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """Two servers at the same time, one with few waiters and one with many, answered by turns.

    Raises `RuntimeError` where too few files may be open.
    """
    warm_up = min(_WARM_UP, sizes.answers)
    answered = warm_up + sizes.rounds * sizes.answers
    few, many = sizes.few_waiters + answered, sizes.many_waiters + answered
    if (allowed := raise_open_files()) < few + many + _SPARE_FILES:
        raise RuntimeError(f"{few + many + _SPARE_FILES} open files are needed, {allowed} are allowed: ulimit -n")
    async with (
        our_server(databases, few + _READERS) as quiet,
        our_server(databases, many + _READERS) as crowded,
        waiters(quiet, few) as at_quiet,
    ):
        await _warm(crowded)
        connections_before, rss_before = await _connections(crowded), crowded.rss
        async with waiters(crowded, many) as at_crowded:
            per_waiter = (crowded.rss - rss_before) / many / 1000
            connections = await _connections(crowded)
            for each in (at_quiet, at_crowded):
                await each.answer(warm_up)

            async def p95(of: Waiters) -> float:
                return percentile(await of.answer(sizes.answers), 95) * 1000

            figure, floor = await by_turns(lambda: p95(at_crowded), lambda: p95(at_quiet), sizes.rounds)
    crowd = f"{sizes.many_waiters:,} waiters"
    return [
        Figure(
            *("waiters", f"answer to waiting agent, p95: {crowd} against {sizes.few_waiters:,}", "ms"),
            *(figure, floor, LATENCY_TARGET, "at most"),
        ),
        Figure(
            *("waiters", f"resident memory for each waiter: {crowd}", "kB"),
            *(per_waiter, None, MEMORY_TARGET_KB, "at most", False),
        ),
        Figure(
            *("waiters", f"database connections: with {crowd} against none", "connections"),
            *(connections, connections_before, 1.0, "at most"),
        ),
    ]


async def _warm(server: OurServer) -> None:
    """Reads as many as come together when waits begin, so that memory and pool have the size of a server in use."""
    ids = await server.open_ids(_READERS)
    connections = await open_many(server.port, len(ids))
    for _ in range(3):
        await asyncio.gather(
            *(connection.send(server.read(id)) for connection, id in zip(connections, ids, strict=True))
        )
    for connection in connections:
        connection.close()
    await ask(server.port, server.read(ids[0]))


async def _connections(server: OurServer) -> int:
    """Connections that the server has to its database."""
    async with await psycopg.AsyncConnection.connect(server.conninfo) as connection:
        cursor = await connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name LIKE 'handraise%'"
        )
        row = await cursor.fetchone()
    assert row is not None
    return row[0]
