"""Every event once and in order, whatever happens: many writers, two replicas, a database that goes away."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import psycopg

from interfaces.postgres.embedded import EmbeddedPostgres
from tests.support.processes import ServerProcess
from tests.support.service import service
from tests.support.sse import PATIENCE, Stream, eventually, opened, served

EVENTS = 600
SIZES = (10, 10, 10, 5_000, 9_000, 10, 10, 70_000, 10, 300_000)
"""Of messages and answers, in characters."""


async def positions(database: str, after: int = 0) -> list[int]:
    """Where the log has events of requests."""
    async with await psycopg.AsyncConnection.connect(database) as connection:
        cursor = await connection.execute(
            "SELECT notification_id FROM handraise_events"
            " WHERE topic LIKE 'handraise.Request.%%' AND notification_id > %s ORDER BY 1",
            (after,),
        )
        return [row[0] for row in await cursor.fetchall()]


@asynccontextmanager
async def two_servers(database: str, folder: Path) -> AsyncIterator[list[ServerProcess]]:
    """Two replicas, each a process with a data directory of its own."""
    master_key = base64.urlsafe_b64encode(os.urandom(32)).decode()
    servers = [ServerProcess(folder / name / "data", database, secret_key=master_key) for name in ("one", "two")]
    try:
        await asyncio.gather(*(asyncio.to_thread(server.start) for server in servers))
        yield servers
    finally:
        await asyncio.gather(*(asyncio.to_thread(server.stop) for server in servers))


async def test_many_writers_on_two_replicas(database: str, tmp_path: Path) -> None:
    """While twelve writers on two servers mix small bodies and large ones, each server's stream shows every position
    of the log exactly once and in order; so does a replay from the beginning."""
    async with two_servers(database, tmp_path) as (one, two):

        async def write(server: ServerProcess, writer: int) -> None:
            async with _client(server.url, server.agent_key) as agent, _client(server.url, server.admin_key) as admin:
                for number in range(EVENTS // 24):
                    size = SIZES[(writer + number) % len(SIZES)]
                    body = {"message": "m" * size, "unique_id": f"{writer}-{number}"}
                    asked = (await agent.post("/api/requests", json=body)).raise_for_status().json()
                    answer = {"text": "a" * min(size, 200_000)}
                    (await admin.post(f"/api/requests/{asked['id']}/respond", json=answer)).raise_for_status()

        async with opened(one.url, one.admin_key) as here, opened(two.url, one.admin_key) as there:
            writers = [write((one, two)[writer % 2], writer) for writer in range(12)]
            live = asyncio.gather(here.events(EVENTS, 2 * PATIENCE), there.events(EVENTS, 2 * PATIENCE))
            await asyncio.gather(live, *writers)
            expected = await positions(database)
            assert len(expected) == EVENTS
            async with (
                opened(one.url, one.admin_key, after=0) as one_again,
                opened(two.url, one.admin_key, last_event_id=0) as two_again,
            ):
                again = await asyncio.gather(one_again.events(EVENTS), two_again.events(EVENTS))
    everywhere = [*live.result(), *again]
    for events in everywhere:
        assert [event.id for event in events] == expected
        assert [event.raw for event in events] == [event.raw for event in everywhere[0]]


def _client(url: str, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=2 * PATIENCE, trust_env=False
    )


@asynccontextmanager
async def own_postgres(data_dir: Path) -> AsyncIterator[EmbeddedPostgres]:
    """A Postgres of its own, whose commits are as safe from its own crash as usual."""
    async with EmbeddedPostgres(data_dir, settings={"fsync": "off"}) as postgres:
        yield postgres


async def test_a_lost_listener_and_a_restarted_database(tmp_path: Path) -> None:
    """The connections that listen are cut off, later Postgres is killed: both replicas' streams go on within 15 s of
    either, and in the end have shown every position exactly once, in order."""
    async with (
        own_postgres(tmp_path / "database") as postgres,
        service(postgres.conninfo, tmp_path / "data") as one,
        service(postgres.conninfo, tmp_path / "data") as two,
        served(one.app) as here,
        served(two.app) as there,
    ):
        key = one.admin.headers["Authorization"].removeprefix("Bearer ")
        start = await one.app.store.head()
        stopping = asyncio.Event()

        async def ask(agent: httpx.AsyncClient, unique_id: str, size: int = 10) -> int:
            """A request, asked until the database takes it; its position."""
            while True:
                response = await agent.post("/api/requests", json={"message": "m" * size, "unique_id": unique_id})
                if response.status_code in (200, 201):
                    return response.json()["position"]
                assert response.status_code == 503, response.text
                await asyncio.sleep(0.02)

        async def write(agent: httpx.AsyncClient, name: str) -> None:
            number = 0
            while not stopping.is_set():
                await ask(agent, f"{name}-{number}", SIZES[number % len(SIZES)])
                number += 1
                await asyncio.sleep(0.02)

        async with opened(here, key) as first, opened(there, key) as second:
            seen = {first: [start], second: [start]}

            async def follow(stream: Stream, to: int) -> None:
                while seen[stream][-1] < to:
                    seen[stream].append((await stream.event()).id)

            async def both(to: int, seconds: float = PATIENCE) -> None:
                async with asyncio.timeout(seconds):
                    await asyncio.gather(follow(first, to), follow(second, to))

            async def both_go_on(name: str) -> None:
                """Both show what is asked from now on, of either replica, within 15 s."""
                async with asyncio.timeout(15):
                    to = await asyncio.gather(ask(one.agent, f"{name} one"), ask(two.agent, f"{name} two"))
                    await both(max(to))

            writers = [asyncio.create_task(write(*w)) for w in ((one.agent, "one"), (two.agent, "two"))]
            await both(start + 10)
            assert await _cut_listeners(postgres.conninfo) == 2
            await both_go_on("without listeners")
            await both(seen[first][-1] + 20)

            killed = postgres.pid
            assert killed is not None
            os.kill(killed, signal.SIGKILL)
            await eventually(lambda: postgres.pid != killed, "the loss is noticed")
            await both_go_on("after the restart")
            await both(seen[first][-1] + 20)
            assert postgres.restarts == 1
            stopping.set()
            await asyncio.gather(*writers)

            expected = await positions(postgres.conninfo, after=start)
            await both(expected[-1])
        assert [ids[1:] for ids in seen.values()] == [expected] * 2
        async with opened(here, key, after=start) as again:
            assert [event.id for event in await again.events(len(expected))] == expected


async def _cut_listeners(conninfo: str) -> int:
    """Cut off every connection on which a replica listens; how many there were."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        cursor = await connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'handraise tail'"
        )
        row = await cursor.fetchone()
    assert row is not None
    return row[0]
