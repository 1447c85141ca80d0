"""Exporting the audit trail: rows a second, and memory that does not grow with the trail."""

from __future__ import annotations

import time

import psutil
import psycopg

from interfaces.app import READ_MODELS
from interfaces.postgres.export import AuditExport
from interfaces.postgres.migrate import migrate, prepare_read_models
from projections.audit import AuditFilters
from tests.bench.database import Databases
from tests.bench.report import Figure
from tests.bench.sizes import Sizes

TARGET_ROWS = 50_000.0
TARGET_MEGABYTES = 32.0

_FILL = """
    WITH events AS (
        INSERT INTO handraise_events
        SELECT gen_random_uuid(), 1, 'handraise.Request.Cancelled', decode(repeat('7f', 300), 'hex'), n
        FROM generate_series(1, %(rows)s) AS n RETURNING originator_id, notification_id
    ), links AS (
        INSERT INTO event_chain SELECT n, sha256(int8send(n)) FROM generate_series(1, %(rows)s) AS n
    )
    INSERT INTO audit (position, at, type, kind, actor, aggregate_id, agent_id, facts, content)
    SELECT notification_id, timestamptz '2027-01-01Z' + notification_id * interval '1 second', 'Cancelled', 'Request',
        'user:00000000-0000-0000-0000-000000000001', originator_id, NULL,
        '{"via":"api","outcome":"answered","sealed":false,"sealed_until":null}', '{"reason":"Superseded by build 2042"}'
    FROM events
"""


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """One export of `sizes.exported` rows as JSON Lines, read as fast as it comes."""
    conninfo = await databases.new()
    await migrate(conninfo)
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await prepare_read_models(connection, READ_MODELS)
        await connection.execute(_FILL, {"rows": sizes.exported})
        await connection.execute("VACUUM ANALYZE")
    export, process = AuditExport(conninfo), psutil.Process()
    async for _ in export(AuditFilters(), "jsonl"):
        break  # what the first rows cost once is not growth
    before = peak = process.memory_info().rss
    rows, started = 0, time.perf_counter()
    async for chunk in export(AuditFilters(), "jsonl"):
        rows += chunk.count(b"\n")
        peak = max(peak, process.memory_info().rss)
    seconds = time.perf_counter() - started
    assert rows == sizes.exported
    what = f"audit export: {rows:,} rows as JSON Lines"
    return [
        Figure("exports", what, "rows/s", rows / seconds, None, TARGET_ROWS, "at least", of_floor=False),
        Figure(
            "exports",
            f"{what}: growth of memory",
            "MB",
            (peak - before) / 1e6,
            None,
            TARGET_MEGABYTES,
            "at most",
            of_floor=False,
        ),
    ]
