"""What the SDK adds between a person's answer and the agent that goes on, to a bare wait over HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count

from handraise import AsyncClient, Client

from tests.bench.database import Databases
from tests.bench.load import Connection
from tests.bench.report import Figure
from tests.bench.rounds import percentile
from tests.bench.servers import BODY, OurServer, our_server
from tests.bench.sizes import Sizes

TARGET_MS = 3.0

Ask = Callable[[str], Awaitable[object]]
"""Asks under this `unique_id`, and returns when the answer is there."""


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """p50 with one agent that waits, by turns without the SDK and with either client."""
    async with our_server(databases) as server:
        url = f"http://127.0.0.1:{server.port}"
        bare, answering = await Connection.open(server.port), await Connection.open(server.port)
        with Client(url=url, key=server.agent_key) as blocking:
            async with AsyncClient(url=url, key=server.agent_key) as client:

                async def without(unique_id: str) -> None:
                    body = {**BODY, "unique_id": unique_id}
                    created = await bare.send(server.create_of(body))
                    await bare.send(server.wait(created.json()["id"]))

                ways: dict[str, Ask] = {
                    "": without,
                    "Client": lambda unique_id: asyncio.to_thread(_confirm, blocking, unique_id),
                    "AsyncClient": lambda unique_id: client.confirm(BODY["message"], unique_id=unique_id),
                }
                seconds: dict[str, list[float]] = {way: [] for way in ways}
                numbers = count()
                for _ in range(sizes.rounds * sizes.answers):
                    for way, ask in ways.items():
                        seconds[way].append(await _answered(server, answering, ask, f"sdk-{next(numbers)}"))
        for connection in (bare, answering):
            connection.close()
    floor, *found = (percentile(seconds[way], 50) * 1000 for way in ways)
    return [
        Figure("sdk", f"{way}.confirm after the answer: added to a bare wait, p50", "ms", figure - floor, None,
               TARGET_MS, "at most", of_floor=False)
        for way, figure in zip(("Client", "AsyncClient"), found, strict=True)
    ]  # fmt: skip


def _confirm(client: Client, unique_id: str) -> None:
    client.confirm(BODY["message"], unique_id=unique_id)


async def _answered(server: OurServer, answering: Connection, ask: Ask, unique_id: str) -> float:
    """Seconds from sending the answer until the agent has it."""

    async def asked() -> float:
        await ask(unique_id)
        return time.perf_counter()

    waiting = asyncio.ensure_future(asked())
    while await server.waiting() == 0:
        if waiting.done():
            await waiting
            raise RuntimeError("it did not wait for an answer")
    sent = time.perf_counter()
    answer = answering.send(server.answer(unique_id))
    at = await waiting
    response = await answer
    if response.status != 200:
        raise RuntimeError(f"the answer was refused with {response.status}: {response.body!r}")
    return at - sent
