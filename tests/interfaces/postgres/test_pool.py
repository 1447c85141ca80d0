"""Look-ups cost the same however much there is."""

from __future__ import annotations

import psycopg
from psycopg.pq import PipelineStatus

from interfaces.postgres.pool import indexed, new_pool
from tests.support.service import Service

LOAD = (
    "SELECT e.state, k.wrapped FROM handraise_events e LEFT JOIN data_keys k ON k.aggregate_id = e.originator_id"
    " WHERE e.originator_id = ANY(%s)"
)


async def test_without_statistics_no_look_up_reads_a_whole_table(handraise: Service, database: str) -> None:
    """A table that has grown since anybody analysed it is still read through its index, joined ones too."""
    asked = await handraise.ask()
    fill = "INSERT INTO data_keys SELECT gen_random_uuid(), '\\x00' FROM generate_series(1, 20000)"
    async with await psycopg.AsyncConnection.connect(indexed(database), autocommit=True) as connection:
        await connection.execute(fill.encode())
        cursor = await connection.execute(f"EXPLAIN {LOAD}".encode(), ([asked["id"]] * 64,))
        plan = "\n".join(row[0] for row in await cursor.fetchall())
    assert "Seq Scan" not in plan, plan
    assert "Hash Join" not in plan


def test_options_of_ones_own_are_kept() -> None:
    """What the given connection string asks for is still asked for."""
    assert "-c search_path=mine -c enable_seqscan=off" in indexed("dbname=x options='-c search_path=mine'")


async def test_a_connection_left_in_a_pipeline_is_not_handed_out_again(database: str) -> None:
    """Whoever used it was stopped in the middle: the next one gets a connection that works."""
    pool = new_pool(database, 2)
    await pool.open(wait=True)
    try:
        async with pool.connection() as connection:
            connection.pgconn.enter_pipeline_mode()
        for _ in range(4):
            async with pool.connection() as connection:
                assert connection.pgconn.pipeline_status == PipelineStatus.OFF
                await connection.execute("SELECT 1; SELECT 2")
    finally:
        await pool.close()
