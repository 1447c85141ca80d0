"""Connections for reading, shared by all of a replica."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from domain.errors import Unavailable

Pool = AsyncConnectionPool[psycopg.AsyncConnection]

T = TypeVar("T")


def new_pool(conninfo: str, size: int) -> Pool:
    """A pool that is not open yet."""
    return AsyncConnectionPool(
        conninfo,
        min_size=2,
        max_size=size,
        timeout=5,
        kwargs={"autocommit": True, "application_name": "handraise", "prepare_threshold": 2},
        open=False,
    )


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
