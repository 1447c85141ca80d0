"""One event to many live streams, until the last has it, against a minimal sse-starlette broadcaster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from tests.bench.database import Databases
from tests.bench.load import Connection, build
from tests.bench.report import Figure
from tests.bench.rounds import by_turns, percentile
from tests.bench.servers import BODY, free_port, our_server, process
from tests.bench.sizes import Sizes

TARGET = 1.5

_WARM_UP = 5


class Client(asyncio.Protocol):
    """A live stream, read only as far as to see when a frame came."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._tail = b""
        self._frames = 0
        self._awaited: asyncio.Future[float] | None = None
        self._transport: asyncio.Transport | None = None
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        at = time.perf_counter()
        if not self.started.done() and b"200 OK" in data:
            self.started.set_result(None)
        text = self._tail + data
        self._tail = text[-16:]
        if b"event: Requested" in text and self._awaited is not None and not self._awaited.done():
            self._tail = b""
            self._awaited.set_result(at)

    def next_frame(self) -> asyncio.Future[float]:
        """When the next frame is here (`time.perf_counter`)."""
        self._awaited = asyncio.get_running_loop().create_future()
        return self._awaited

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """p95 over all clients and events of the time from sending the event to having its frame."""
    port = free_port()
    async with (
        our_server(databases) as ours,
        process("tests.bench.broadcaster", [str(port)], {}, port, "/openapi.json"),
    ):
        stream = build("GET", "/api/stream", key=ours.agent_key)
        async with (
            _clients(ours.port, stream, sizes.streams) as at_ours,
            _clients(port, build("GET", "/stream"), sizes.streams) as at_minimal,
        ):
            create, publish = ours.create(), build("POST", "/publish", BODY)

            async def p95(clients: list[Client], port: int, event: bytes, events: int) -> float:
                return percentile(await _events(clients, port, event, events), 95) * 1000

            await p95(at_ours, ours.port, create, _WARM_UP)
            await p95(at_minimal, port, publish, _WARM_UP)
            figure, floor = await by_turns(
                lambda: p95(at_ours, ours.port, create, sizes.frames),
                lambda: p95(at_minimal, port, publish, sizes.frames),
                sizes.rounds,
            )
    what = f"event to {sizes.streams:,} live streams, p95, against a minimal sse-starlette broadcaster"
    return [Figure("streams", what, "ms", figure, floor, TARGET, "at most")]


async def _events(clients: list[Client], port: int, event: bytes, count: int) -> list[float]:
    """Seconds from sending each event until each client had its frame."""
    seconds: list[float] = []
    publisher = await Connection.open(port)
    try:
        for _ in range(count):
            frames = [client.next_frame() for client in clients]
            sent = time.perf_counter()
            response = await publisher.send(event)
            assert response.status == 201, response.body
            seconds += [at - sent for at in await asyncio.gather(*frames)]
    finally:
        publisher.close()
    return seconds


@asynccontextmanager
async def _clients(port: int, request: bytes, count: int) -> AsyncIterator[list[Client]]:
    """So many streams, each of which has had its first bytes."""
    clients: list[Client] = []
    loop = asyncio.get_running_loop()
    try:
        while len(clients) < count:
            some = [Client(request) for _ in range(min(100, count - len(clients)))]
            await asyncio.gather(*(loop.create_connection(lambda c=c: c, "127.0.0.1", port) for c in some))
            clients += some
            await asyncio.gather(*(client.started for client in some))
        yield clients
    finally:
        for client in clients:
            client.close()
