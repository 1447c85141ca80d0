"""Somebody who watches the live stream through it all, and goes on where it broke off."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from typing import Self

import httpx

from tests.chaos.cluster import Cluster


class Watcher:
    """All frames that came, by position."""

    def __init__(self, cluster: Cluster, chance: random.Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self.frames: list[tuple[int, str, str]] = []
        """Position, type, id of the request."""

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def reached(self, position: int, seconds: float) -> None:
        """Returns once it has seen everything up to this event."""
        async with asyncio.timeout(seconds):
            while not self.frames or self.frames[-1][0] < position:
                assert not self._task.done(), self._task.exception()
                await asyncio.sleep(0.05)

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(httpx.TransportError):
                await self._once()
            await asyncio.sleep(0.1)

    async def _once(self) -> None:
        server = self._chance.choice(self._cluster.servers)
        headers = {"Authorization": f"Bearer {self._cluster.keys['admin']}"}
        if self.frames:
            headers["Last-Event-ID"] = str(self.frames[-1][0])
        async with (
            httpx.AsyncClient(base_url=server.url, timeout=httpx.Timeout(20), trust_env=False) as client,
            client.stream("GET", "/api/stream", headers=headers) as response,
        ):
            if response.status_code == 503:
                return
            assert response.status_code == 200, response.status_code
            type = ""
            async for line in response.aiter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    type = value
                    assert type != "resync", "it was told to read afresh, although it was never far behind"
                elif name == "data":
                    data = json.loads(value)
                    assert not self.frames or data["position"] > self.frames[-1][0], "a frame came twice"
                    self.frames.append((data["position"], type, data["request_id"]))
