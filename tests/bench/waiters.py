"""Agents that wait for an answer, each on a connection of its own, and the time until they have it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.bench.load import BadResponse, Connection, Response, open_many
from tests.bench.servers import Server

REGISTER_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Waiters:
    """Waits that the server knows of, and a connection to answer them on."""

    server: Server
    answering: Connection
    waits: dict[str, asyncio.Future[Response]]

    async def answer(self, count: int) -> list[float]:
        """Answer so many, one at a time: seconds from sending each answer to the waiting agent's response."""
        seconds: list[float] = []
        for _ in range(count):
            id, wait = self.waits.popitem()
            sent = time.perf_counter()
            answered = self.answering.send(self.server.answer(id))
            response = await wait
            for status in (response.status, (await answered).status):
                if status != 200:
                    raise BadResponse(f"status {status} where 200 was expected")
            seconds.append(response.at - sent)
        return seconds


@asynccontextmanager
async def waiters(server: Server, count: int) -> AsyncIterator[Waiters]:
    """Connect `count` waits; returns when the server has registered every one of them."""
    ids = await server.open_ids(count)
    connections: list[Connection] = []
    try:
        waits: dict[str, asyncio.Future[Response]] = {}
        async with asyncio.timeout(REGISTER_SECONDS):
            while len(waits) < count:
                some = await open_many(server.port, min(200, count - len(waits)))
                connections += some
                for connection in some:
                    id = ids[len(waits)]
                    waits[id] = connection.send(server.wait(id))
                await _registered(server, waits)
            answering = await Connection.open(server.port)
            connections.append(answering)
        yield Waiters(server, answering, waits)
    finally:
        for connection in connections:
            connection.close()


async def _registered(server: Server, waits: dict[str, asyncio.Future[Response]]) -> None:
    while await server.waiting() < len(waits):
        for wait in waits.values():
            if wait.done():
                raise BadResponse(f"a wait ended early: {wait.result()}")
        await asyncio.sleep(0.01)
