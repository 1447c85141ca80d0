"""Attempts to sign in, counted for all replicas together: by whom they were for, and where they came from."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from domain.errors import TooManyAttempts
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.pool import Pool, reached

WINDOW = timedelta(minutes=15)
MOST_FOR_A_NAME = 10
MOST_FROM_AN_ADDRESS = 50


class PostgresSignInAttempts:
    """Implements `application.sign_in.SignInAttempts`. Names and addresses are kept as hashes, for the window only."""

    def __init__(self, pool: Pool, clock: DatabaseClock) -> None:
        self._pool = pool
        self._clock = clock

    async def begin(self, name: str, address: str) -> None:
        # Counted before anything is tried: many at once are as many as one after the other.
        limits = {_hash("name", name): MOST_FOR_A_NAME, _hash("address", address): MOST_FROM_AN_ADDRESS}
        async with reached(self._pool) as connection:
            await connection.execute(
                f"DELETE FROM sign_in_attempts WHERE since <= {self._clock.sql} - %s",  # noqa: S608  our own expression
                (WINDOW,),
            )
            cursor = await connection.execute(
                "INSERT INTO sign_in_attempts AS a (what, count, since)"  # noqa: S608
                f" SELECT what, 1, {self._clock.sql} FROM unnest(%s::bytea[]) AS what"
                " ON CONFLICT (what) DO UPDATE SET count = a.count + 1"
                f" RETURNING what, count, ceil(extract(epoch FROM since + %s - {self._clock.sql}))::integer",
                (sorted(limits), WINDOW),
            )
            rows = await cursor.fetchall()
        waits = [seconds for what, count, seconds in rows if count > limits[what]]
        if waits:
            raise TooManyAttempts("too many attempts to sign in have failed", retry_after_seconds=max(1, *waits))

    async def succeeded(self, name: str, address: str) -> None:
        async with reached(self._pool) as connection:
            await connection.execute("DELETE FROM sign_in_attempts WHERE what = %s", (_hash("name", name),))
            await connection.execute(
                "UPDATE sign_in_attempts SET count = count - 1 WHERE what = %s", (_hash("address", address),)
            )


def _hash(kind: str, value: str) -> bytes:
    return hashlib.sha256(f"{kind}/{value}".encode("utf-8", "replace")).digest()
