"""The least that could do the job of the live stream: sse-starlette, one queue a client, no log, no visibility.

`python -m tests.bench.broadcaster PORT`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvloop
from fastapi import FastAPI
from sse_starlette import EventSourceResponse, ServerSentEvent

from tests.bench.serving import raise_open_files, serve


def build() -> FastAPI:
    """The application."""
    app = FastAPI()
    clients: set[asyncio.Queue[str]] = set()

    @app.get("/stream")
    async def stream() -> EventSourceResponse:
        queue: asyncio.Queue[str] = asyncio.Queue()
        clients.add(queue)

        async def events() -> AsyncIterator[ServerSentEvent]:
            try:
                while True:
                    yield ServerSentEvent(await queue.get(), event="Requested", id="1")
            finally:
                clients.discard(queue)

        return EventSourceResponse(events())

    @app.post("/publish", status_code=201)
    async def publish(body: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(body)
        for queue in clients:
            queue.put_nowait(text)
        return {"clients": len(clients)}

    return app


if __name__ == "__main__":
    raise_open_files()
    uvloop.run(serve(build(), int(sys.argv[1])))
