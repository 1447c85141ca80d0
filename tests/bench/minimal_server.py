"""The least that could do the job: one INSERT with a NOTIFY, a LISTEN that wakes a future. No aggregate, no key.

`python -m tests.bench.minimal_server CONNINFO PORT`. What it takes is the floor that Handraise is measured against.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import psycopg
import uvloop
from fastapi import FastAPI
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel

from tests.bench.serving import raise_open_files, serve


class Create(BaseModel):
    """What is asked; the fields that the bench sends."""

    message: str
    request_type: str | None = None
    expires_in_seconds: float | None = None
    metadata: dict[str, Any] | None = None


class Answer(BaseModel):
    """What is answered."""

    data: dict[str, Any]


def build(conninfo: str, connections: int = 8) -> FastAPI:
    """The application. `connections` is the size of its pool."""
    pool = AsyncConnectionPool(conninfo, min_size=connections, max_size=connections, open=False)
    waiting: dict[str, asyncio.Future[Any]] = {}

    async def listen(connection: psycopg.AsyncConnection) -> None:
        async for notify in connection.notifies():
            told = json.loads(notify.payload)
            future = waiting.get(told["id"])
            if future is not None and not future.done():
                future.set_result(told)

    async def insert(table: str, id: str, body: dict[str, Any]) -> None:
        async with pool.connection() as connection:  # one transaction
            await connection.execute(f"INSERT INTO {table} (id, body) VALUES (%s, %s)", (id, Jsonb(body)))
            await connection.execute("SELECT pg_notify('minimal', %s)", (json.dumps({"id": id, **body}),))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection, pool:
            for table in ("requests", "answers"):
                await connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (id uuid PRIMARY KEY, body jsonb)")
            await connection.execute("LISTEN minimal")
            listener = asyncio.create_task(listen(connection))
            yield
            listener.cancel()

    app = FastAPI(lifespan=lifespan)

    @app.post("/create", status_code=201)
    async def create(body: Create) -> dict[str, Any]:
        id = str(uuid4())
        fields = body.model_dump()
        await insert("requests", id, fields)
        return {"id": id, **fields}

    @app.post("/answer/{id}")
    async def answer(id: str, body: Answer) -> dict[str, Any]:
        await insert("answers", id, body.data)
        return {"id": id}

    @app.get("/wait/{id}")
    async def wait(id: str) -> dict[str, Any]:
        future = waiting[id] = asyncio.get_running_loop().create_future()
        try:
            return await future
        finally:
            del waiting[id]

    @app.get("/waiting")
    async def count() -> int:
        return len(waiting)

    return app


if __name__ == "__main__":
    raise_open_files()
    uvloop.run(serve(build(sys.argv[1]), int(sys.argv[2])))
