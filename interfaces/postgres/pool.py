"""Connections for reading, shared by all of a replica."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import PipelineStatus
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from domain.errors import Unavailable

Pool = AsyncConnectionPool[psycopg.AsyncConnection]

T = TypeVar("T")


def new_pool(conninfo: str, size: int) -> Pool:
    """A pool that is not open yet."""
    return AsyncConnectionPool(
        indexed(conninfo),
        min_size=2,
        max_size=size,
        timeout=5,
        kwargs={"autocommit": True, "application_name": "handraise", "prepare_threshold": 2},
        reset=_reset,
        open=False,
    )


async def _reset(connection: psycopg.AsyncConnection) -> None:
    """Drop a connection that comes back in the middle of a pipeline: whoever used it was stopped there."""
    if connection.pgconn.pipeline_status != PipelineStatus.OFF:
        await connection.close()


def indexed(conninfo: str) -> str:
    """For queries that are all meant to go through an index.

    While a table is young or grows fast there are no statistics that fit, and the planner would read all of it,
    or all of what it is joined with, and keep that plan: look-ups would get slower with every request.
    """
    given = conninfo_to_dict(conninfo).get("options") or ""
    ours = "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
    return make_conninfo(conninfo, options=f"{given} {ours}".strip())


def lasting(conninfo: str) -> str:
    """For a connection that stays open: that a network went away silently is noticed within half a minute."""
    return make_conninfo(conninfo, keepalives_idle=10, keepalives_interval=5, keepalives_count=2)


async def reading(
    pool: Pool,
    read: Callable[[psycopg.AsyncConnection], Awaitable[T]],
) -> T:
    """Run a query that changes nothing; once more on a fresh connection when the first turns out to be dead.

    Raises `Unavailable` while the database cannot be reached.
    """
    for last in (False, True):
        try:
            async with pool.connection() as connection:
                return await read(connection)
        except (errors.OperationalError, PoolTimeout) as error:
            if last:
                raise Unavailable("the database cannot be reached just now") from error
            await pool.check()  # after a restart of the database, all of them are dead
    raise AssertionError


@asynccontextmanager
async def reached(pool: Pool) -> AsyncIterator[psycopg.AsyncConnection]:
    """A connection for what must not be tried twice. Raises `Unavailable` as `reading` does."""
    try:
        async with pool.connection() as connection:
            yield connection
    except (errors.OperationalError, PoolTimeout) as error:
        raise Unavailable("the database cannot be reached just now") from error
