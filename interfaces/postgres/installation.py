"""Whether the master key is the one this database was sealed with, found out before anything is served."""

from __future__ import annotations

import psycopg

from interfaces.postgres.sealing import MasterKey

_NAME = "master key check"


async def check_master_key(connection: psycopg.AsyncConnection, key: MasterKey) -> None:
    """Leave a proof on the first start; compare at later ones. Raises `WrongMasterKey`."""
    await connection.execute(
        "INSERT INTO installation (name, value) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        (_NAME, key.wrap(bytes(32), _NAME.encode())),
    )
    cursor = await connection.execute("SELECT value FROM installation WHERE name = %s", (_NAME,))
    row = await cursor.fetchone()
    assert row is not None
    key.unwrap(row[0], _NAME.encode())
