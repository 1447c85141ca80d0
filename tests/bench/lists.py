"""An inbox page and a filtered list while there are many requests, against few of them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from uuid import UUID

import psycopg

from domain.callers import PersonCaller, Role
from interfaces.app import READ_MODELS
from interfaces.postgres.migrate import migrate, prepare_read_models
from projections.request_list import Filters, Page, page_of_inbox, page_of_requests
from tests.bench.database import Databases
from tests.bench.report import Figure
from tests.bench.rounds import by_turns, percentile
from tests.bench.sizes import Sizes

TARGET = 1.5
OPEN = 10_000

_ADMIN = PersonCaller(UUID(int=1), Role.ADMINISTRATOR)
_MEMBER = PersonCaller(UUID(int=7), Role.MEMBER)
_AGENT = UUID(int=1003)
_NOW = datetime(2027, 2, 1, tzinfo=UTC)

_FILL = """
    INSERT INTO request_list (request_id, position, unique_id, agent_id, agent, request_type, priority, secret, status,
        outcome, assigned_to, claimed, readers, excluded, created_at, closed_at, summary, search)
    SELECT gen_random_uuid(), n, 'request-' || n, uuid_of(1000 + n %% 20), 'agent-' || n %% 20,
        (ARRAY['approval', 'clarification', 'review'])[1 + n %% 3], 1 + n %% 100, false,
        CASE WHEN n <= %(open)s THEN 'Requested' ELSE 'Responded' END,
        CASE WHEN n <= %(open)s THEN NULL ELSE 'answered' END,
        uuid_of(n %% 50), false, ARRAY[uuid_of(n %% 50)], '{}',
        timestamptz '2027-01-01Z' + n * interval '1 second',
        CASE WHEN n <= %(open)s THEN NULL ELSE timestamptz '2027-01-01Z' + n * interval '2 seconds' END,
        'Deploy build ' || n || ' to production?', to_tsvector('simple', 'deploy build ' || n || ' to production')
    FROM generate_series(1, %(all)s) AS n
"""
_UUID_OF = """
    CREATE FUNCTION uuid_of(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
    AS $$ SELECT lpad(to_hex(n), 32, '0')::uuid $$
"""

Read = Callable[[psycopg.AsyncConnection], Awaitable[Page]]

READS: dict[str, Read] = {
    "inbox page of a member": lambda c: page_of_inbox(c, _MEMBER, "mine", now=_NOW, limit=50),
    "inbox page of an administrator": lambda c: page_of_inbox(c, _ADMIN, "all", now=_NOW, limit=50),
    "open approvals of one agent, by priority": lambda c: page_of_requests(
        c,
        _ADMIN,
        Filters(status=["Requested"], request_type=["approval"], agent=_AGENT),
        sort="priority",
        descending=False,
        limit=50,
    ),
    "newest requests": lambda c: page_of_requests(c, _ADMIN, Filters(), limit=50),
}


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """p95 of each read with `sizes.listed` requests, its floor the same with the open ones alone."""
    open_ = min(OPEN, sizes.listed // 2)
    few = await _filled(await databases.new(), open_, open_)
    many = await _filled(await databases.new(), open_, sizes.listed)
    figures: list[Figure] = []
    try:
        for name, read in READS.items():

            async def p95(connection: psycopg.AsyncConnection, read: Read = read) -> float:
                seconds: list[float] = []
                for _ in range(sizes.answers):
                    started = time.perf_counter()
                    page = await read(connection)
                    seconds.append(time.perf_counter() - started)
                    assert page.items
                return percentile(seconds, 95) * 1000

            await p95(few)
            await p95(many)
            figure, floor = await by_turns(lambda p95=p95: p95(many), lambda p95=p95: p95(few), sizes.rounds)
            what = f"{name}, p95: {sizes.listed:,} requests ({open_:,} open) against {open_:,}"
            figures.append(Figure("lists", what, "ms", figure, floor, TARGET, "at most"))
    finally:
        await few.close()
        await many.close()
    return figures


async def _filled(conninfo: str, open_: int, all_: int) -> psycopg.AsyncConnection:
    await migrate(conninfo)
    connection = await psycopg.AsyncConnection.connect(conninfo, autocommit=True)
    await prepare_read_models(connection, READ_MODELS)
    await connection.execute(_UUID_OF)
    await connection.execute(_FILL, {"open": open_, "all": all_})
    await connection.execute("VACUUM ANALYZE request_list")
    return connection
