"""Create, load, respond: our event store against the eventsourcing library's own Postgres recorder."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from uuid import UUID, uuid4

from eventsourcing.application import Application
from psycopg.conninfo import conninfo_to_dict

from domain.answers import Answer, Question, read_answer
from domain.assignment import fall_back
from domain.callers import AgentCaller, PersonCaller, Role, Via
from domain.request import Request
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.migrate import migrate
from interfaces.postgres.pool import new_pool
from interfaces.postgres.sealing import MasterKey, new_data_key
from interfaces.postgres.store import PostgresEventStore
from interfaces.postgres.writer import Writer
from interfaces.schemas import JsonSchemas
from interfaces.settings import Settings
from tests.bench.database import Databases
from tests.bench.report import Figure
from tests.bench.rounds import by_turns
from tests.bench.sizes import Sizes

TARGET = 6.0

_AGENT = AgentCaller(uuid4(), uuid4())
_PERSON = PersonCaller(uuid4(), Role.ADMINISTRATOR)
_QUESTION = Question("approval")
_SCHEMAS = JsonSchemas()


def new_request() -> Request:
    """A small approval."""
    return Request.ask(
        by=_AGENT,
        now=datetime.now(UTC),
        unique_id=str(uuid4()),
        question=_QUESTION,
        sealed=False,
        message="Deploy build 2041 to production?",
        decision=fall_back(None),
        priority=50,
        metadata={"build": 2041, "branch": "main"},
    )


def respond(request: Request) -> None:
    """Approve it."""
    request.respond(_read, by=_PERSON, via=Via.API, now=datetime.now(UTC))


def _read(question: Question) -> Answer:
    return read_answer(question, data={"approved": True}, validator=_SCHEMAS)


@asynccontextmanager
async def our_store(conninfo: str, master_key: MasterKey | None = None) -> AsyncIterator[PostgresEventStore]:
    """The event store of the service, with the service's default settings."""
    await migrate(conninfo)
    async with AsyncExitStack() as stack:
        pool = new_pool(conninfo, Settings().database_pool_size)
        await pool.open(wait=True)
        stack.push_async_callback(pool.close)
        writer = Writer(conninfo, DatabaseClock(), on_committed=lambda recorded: None)
        await writer.start()
        stack.push_async_callback(writer.stop)
        yield PostgresEventStore(pool, writer, master_key or MasterKey(new_data_key()))


async def our_cycles(store: PostgresEventStore, at_once: int, seconds: float) -> float:
    """Cycles a second."""
    started = time.perf_counter()
    until = started + seconds

    async def work() -> int:
        done = 0
        while time.perf_counter() < until:
            request = new_request()
            await store.save(request)
            loaded = await store.request(request.id)
            assert loaded is not None
            respond(loaded)
            await store.save(loaded)
            done += 1
        return done

    counts = await asyncio.gather(*(work() for _ in range(at_once)))
    return sum(counts) / (time.perf_counter() - started)


class LibraryApplication(Application[UUID]):
    """The library's synchronous application, as its documentation has it: JSON transcoder, one events table."""


def library(conninfo: str, connections: int) -> LibraryApplication:
    """The library's application on this database. Close it."""
    return LibraryApplication(env=library_environment(conninfo, connections))


def library_environment(conninfo: str, connections: int) -> dict[str, str]:
    """How the library is told of a database."""
    parts = conninfo_to_dict(conninfo)
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": str(parts["dbname"]),
        "POSTGRES_HOST": str(parts["host"]),
        "POSTGRES_PORT": str(parts.get("port", 5432)),
        "POSTGRES_USER": str(parts["user"]),
        "POSTGRES_PASSWORD": str(parts["password"]),
        "POSTGRES_POOL_SIZE": str(connections),
        "POSTGRES_MAX_OVERFLOW": "0",
        "POSTGRES_MAX_WAITING": "0",
    }


def library_cycles(application: LibraryApplication, threads: int, seconds: float) -> float:
    """Cycles a second of so many threads."""
    started = time.perf_counter()
    until = started + seconds

    def work() -> int:
        done = 0
        while time.perf_counter() < until:
            request = new_request()
            application.save(request)
            loaded: Request = application.repository.get(request.id)
            respond(loaded)
            application.save(loaded)
            done += 1
        return done

    with ThreadPoolExecutor(threads) as executor:
        counts = [future.result() for future in [executor.submit(work) for _ in range(threads)]]
    return sum(counts) / (time.perf_counter() - started)


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """Both on the same server, each in a database of its own."""
    application = library(await databases.new(), sizes.at_once)
    try:
        async with our_store(await databases.new()) as store:

            async def ours(seconds: float = sizes.seconds) -> float:
                return await our_cycles(store, sizes.at_once, seconds)

            async def theirs(seconds: float = sizes.seconds) -> float:
                return await asyncio.to_thread(library_cycles, application, sizes.at_once, seconds)

            await ours(sizes.seconds / 4)
            await theirs(sizes.seconds / 4)
            figure, floor = await by_turns(ours, theirs, sizes.rounds)
    finally:
        application.close()
    what = f"create, load, respond: {sizes.at_once} at once, our store against the library's recorder"
    return [Figure("cycles", what, "cycles/s", figure, floor, TARGET, "at least")]
