"""The key by which push services know this installation: made once, kept for all replicas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg

from interfaces.postgres.installation import learn
from interfaces.postgres.pool import Pool, reached
from interfaces.postgres.sealing import MasterKey
from interfaces.postgres.writer import APPEND_LOCK

KEY = UUID("b4a6ad27-3d54-4f4c-9d6f-0f3f6ad1a7c5")
"""The row's id, to which the wrapped key is bound."""


async def kept_vapid_key(pool: Pool, master_key: MasterKey, make: Callable[[], bytes]) -> bytes:
    """The private key, made by `make` where there is none yet. Raises `WrongMasterKey` or `Unavailable`."""
    async with reached(pool) as connection, connection.transaction():
        # With the lock, and knowing what the database says then: nothing may be wrapped under a key that is being
        # rotated out.
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (APPEND_LOCK,))
        await learn(connection, master_key)
        wrapped = await _wrapped(connection)
        if wrapped is None:
            wrapped = master_key.wrap(make(), KEY.bytes)
            await connection.execute("INSERT INTO vapid_keys (id, wrapped) VALUES (%s, %s)", (KEY, wrapped))
    return master_key.unwrap(wrapped, KEY.bytes)


async def _wrapped(connection: psycopg.AsyncConnection) -> bytes | None:
    cursor = await connection.execute("SELECT wrapped FROM vapid_keys WHERE id = %s", (KEY,), binary=True)
    row: Any = await cursor.fetchone()
    return None if row is None else row[0]
