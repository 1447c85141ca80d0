"""What somebody should look at is shown where operators look."""

from __future__ import annotations

import asyncio

import psycopg

from tests.support.processes import PATIENCE
from tests.support.service import Service


async def test_parked_aggregates_show_in_readiness_and_metrics(handraise: Service, database: str) -> None:
    """An event that no read model can digest stops nothing, and does not stay unseen."""
    asked = await handraise.ask()
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute(
            "UPDATE handraise_events SET state = '\\x7b'::bytea WHERE originator_id = %s", (asked["id"],)
        )
        await connection.execute("UPDATE read_models SET position = 0")
        for table in ("request_list", "dashboard_requests", "dashboard_counts", "audit", "audit_requests"):
            await connection.execute(f"TRUNCATE {table}".encode())
    later = await handraise.ask()
    listed = await handraise.admin.get(f"/api/requests?min_position={later['position']}")
    assert [item["id"] for item in listed.json()["items"]] == [later["id"]]
    async with asyncio.timeout(PATIENCE):
        while (ready := await handraise.nobody.get("/readyz")).json()["detail"]["parked_aggregates"] != 3:
            await asyncio.sleep(0.01)
    assert ready.status_code == 200
    assert "\nhandraise_parked_aggregates 3.0\n" in (await handraise.nobody.get("/metrics")).text
