"""The composition root: one function that builds everything from the settings."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version

import psycopg
import structlog
from fastapi import FastAPI

from application.deadlines import Deadlines
from application.directory import DirectoryService
from application.requests import Limits, Requests
from application.waits import Waits
from domain.request import Request
from interfaces.credentials import master_key
from interfaces.http.api import build_api
from interfaces.metrics import Metrics
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.directory import PostgresDirectory
from interfaces.postgres.due import PostgresDueSteps
from interfaces.postgres.embedded import EmbeddedPostgres
from interfaces.postgres.installation import check_master_key
from interfaces.postgres.migrate import migrate
from interfaces.postgres.pool import new_pool
from interfaces.postgres.sealing import MasterKey
from interfaces.postgres.store import PostgresEventStore
from interfaces.postgres.tail import Tail
from interfaces.postgres.writer import Recorded, Writer
from interfaces.scheduler import Scheduler
from interfaces.schemas import JsonSchemas
from interfaces.settings import Settings

log = structlog.get_logger(__name__)

_CLOSING = {Request.Responded.TOPIC, Request.Cancelled.TOPIC, Request.Expired.TOPIC}


@dataclass(frozen=True, slots=True)
class App:
    """A running server, but for the socket."""

    api: FastAPI
    requests: Requests
    directory: DirectoryService
    store: PostgresEventStore
    waits: Waits
    tail: Tail
    writer: Writer
    scheduler: Scheduler
    conninfo: str


@asynccontextmanager
async def running(settings: Settings, clock: DatabaseClock | None = None) -> AsyncIterator[App]:
    """Everything built, connected and started; stopped in the opposite order on the way out.

    Raises the named errors of the embedded Postgres, `SchemaTooNew`, `WrongMasterKey`, `UnreadableFile`, or
    psycopg's `OperationalError`.
    """
    async with AsyncExitStack() as stack:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        postgres: EmbeddedPostgres | None = None
        if settings.database_url is None:
            postgres = await stack.enter_async_context(EmbeddedPostgres(settings.data_dir))
        conninfo = settings.database_url or _conninfo(postgres)
        await migrate(conninfo)
        key = MasterKey(master_key(settings))
        async with await psycopg.AsyncConnection.connect(conninfo) as connection:
            await check_master_key(connection, key)

        clock = clock or DatabaseClock()
        pool = new_pool(conninfo, settings.database_pool_size)
        await pool.open(wait=True, timeout=30)
        stack.push_async_callback(pool.close)
        tail = Tail(conninfo, pool, clock, look_again_seconds=settings.look_again_seconds)
        writer = Writer(conninfo, clock, on_committed=tail.committed, queue_size=settings.max_queued_writes)
        store = PostgresEventStore(pool, writer, key)
        directory = PostgresDirectory(pool, clock)
        waits = Waits()
        requests = Requests(
            store,
            directory,
            JsonSchemas(),
            waits,
            clock,
            limits=_limits(settings),
            keep_sealed_for=timedelta(seconds=settings.sealed_answer_seconds),
        )
        directory_service = DirectoryService(store, directory, clock)
        scheduler = Scheduler(Deadlines(PostgresDueSteps(pool, clock), requests))
        metrics = Metrics()

        def wake(recorded: Sequence[Recorded]) -> None:
            for event in recorded:
                if event.topic in _CLOSING:
                    waits.closed(event.originator_id)

        tail.subscribe(wake)
        tail.subscribe(metrics.count)
        tail.subscribe(scheduler.notice)
        for part in (tail, writer, scheduler):
            await part.start()
            stack.push_async_callback(part.stop)
        stack.callback(waits.stop)

        def ready() -> dict[str, bool]:
            checks = {"writer": writer.connected, "tail": tail.listening}
            return checks if postgres is None else {"postgres": postgres.running} | checks

        def observe(route: str, status: int, seconds: float) -> None:
            metrics.http_requests.labels(route, status).inc()
            if not route.endswith("/wait"):
                metrics.http_seconds.labels(route).observe(seconds)

        metrics.watch("handraise_waiting", "Waits for a request to close, now", lambda: len(waits))
        metrics.watch(
            "handraise_queued_writes", "Writes waiting for the database, now", lambda: writer.queued
        )
        metrics.watch("handraise_log_position", "The newest position seen in the log", lambda: tail.position)
        metrics.watch("handraise_ready", "1 while the server can do its work", lambda: all(ready().values()))
        api = build_api(
            requests=requests,
            directory_service=directory_service,
            directory=directory,
            store=store,
            ready=ready,
            metrics=metrics.render,
            observe=observe,
            max_body_bytes=settings.max_body_bytes,
            version=server_version(),
        )
        log.info("started", embedded=postgres is not None, position=tail.position, pid=os.getpid())
        yield App(api, requests, directory_service, store, waits, tail, writer, scheduler, conninfo)
        log.info("stopping", waiting=len(waits))


def server_version() -> str:
    """The version of the installed distribution."""
    try:
        return version("handraise-server")
    except PackageNotFoundError:
        return "0"


def _conninfo(postgres: EmbeddedPostgres | None) -> str:
    assert postgres is not None
    return postgres.conninfo


def _limits(settings: Settings) -> Limits:
    return Limits(
        message=settings.max_message_bytes,
        context=settings.max_context_bytes,
        schema=settings.max_schema_bytes,
        answer=settings.max_answer_bytes,
        metadata=settings.max_metadata_bytes,
        depth=settings.max_metadata_depth,
    )
