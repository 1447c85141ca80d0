"""What a server needs apart from its application: uvicorn set up as Handraise sets it up, and open files."""

from __future__ import annotations

import resource

import uvicorn
from fastapi import FastAPI

from interfaces.server import BACKLOG, KEEP_ALIVE_SECONDS


def raise_open_files() -> int:
    """Allow this process as many open files as it may have; returns how many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


async def serve(api: FastAPI, port: int) -> None:
    """Serve on this machine only."""
    config = uvicorn.Config(
        api,
        port=port,
        http="httptools",
        ws="none",
        interface="asgi3",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    await uvicorn.Server(config).serve()
