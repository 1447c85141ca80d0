"""What both servers have in common: the same uvicorn, set up the same way."""

from __future__ import annotations

import resource

import uvicorn
from fastapi import FastAPI

HOST = "127.0.0.1"


def raise_open_files() -> int:
    """Allow this process as many open files as it may have; returns how many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


async def serve(api: FastAPI, port: int) -> None:
    """Serve until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        api,
        host=HOST,
        port=port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
        backlog=4096,
        timeout_graceful_shutdown=1,
    )
    await uvicorn.Server(config).serve()
