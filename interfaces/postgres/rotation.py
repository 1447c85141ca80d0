"""Rotating the master key while servers run, in steps that may each be the last before a crash, and be done again.

1. `begin` makes the new key known to whoever has the old one. From that commit on every server writes under the new
   key: its writer looks at the key's id while it holds the append lock.
2. `until_known` waits until no server is left that knows only the old key.
3. `rewrap` goes over all that is wrapped. Whatever is written meanwhile is under the new key already.
4. Only now the caller puts the new key where the next start finds it.
5. `finish` makes the old key worthless here.

Up to the last step a server starts with either key; from the first on, either is enough to go on with.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg import sql

from interfaces.postgres.installation import (
    CHECK,
    ID,
    KEYS_CHANGED,
    KEYS_LOCK,
    NEXT,
    PREVIOUS,
    check_master_key,
    id_bytes,
)
from interfaces.postgres.sealing import MasterKey, WrongMasterKey
from interfaces.postgres.writer import APPEND_LOCK, CHANNEL

ROTATION_LOCK = 0x68616E6472_03

WRAPPED = (
    ("data_keys", "aggregate_id", "wrapped"),
    ("sealed_answers", "request_id", "wrapped_key"),
    ("vapid_keys", "id", "wrapped"),
    ("slack_tokens", "id", "wrapped"),
    ("webhook_secrets", "id", "wrapped"),
)
"""(table, column that a wrapped key, token or secret is bound to, column with it)."""

KNOWN_WITHIN_SECONDS = 30.0
ENDED_WITHIN_SECONDS = 5.0
SETTLE_SECONDS = 3.0
"""Longer than a server takes to listen again after its connection broke: one that is just doing so is not missed."""

_ROWS = 1000
_LOOK_AGAIN_SECONDS = 0.05


class RotationUnderWay(Exception):
    """Somebody else rotates the master key of this database just now."""

    def __init__(self) -> None:
        super().__init__("the master key is being rotated already: wait for that to end")


class NotTakenOver(Exception):
    """A server did not take over the new key in time."""

    def __init__(self, servers: int) -> None:
        count = "1 server" if servers == 1 else f"{servers} servers"
        super().__init__(
            f"{count} did not take over the new master key within {KNOWN_WITHIN_SECONDS:g} s; nothing is lost, and "
            "both keys work: see what is wrong with the server, or stop it, then run this again"
        )


@dataclass(frozen=True, slots=True)
class Rotation:
    """From which key to which; `resumed` where it was begun before."""

    old: bytes
    new: bytes
    resumed: bool


@dataclass(frozen=True, slots=True)
class Rewrapped:
    """How many keys were wrapped anew, and how many open under neither key: somebody damaged them before."""

    count: int
    damaged: int


@asynccontextmanager
async def alone(connection: psycopg.AsyncConnection) -> AsyncGenerator[None]:
    """Nobody else rotates this database's key meanwhile. Raises `RotationUnderWay`."""
    # The database may still hold it for one that was killed a moment ago.
    give_up_at = time.monotonic() + ENDED_WITHIN_SECONDS
    while True:
        cursor = await connection.execute("SELECT pg_try_advisory_lock(%s)", (ROTATION_LOCK,))
        if await cursor.fetchone() == (True,):
            break
        if time.monotonic() >= give_up_at:
            raise RotationUnderWay
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    try:
        yield
    finally:
        with suppress(psycopg.Error):
            await connection.execute("SELECT pg_advisory_unlock(%s)", (ROTATION_LOCK,))


async def begin(connection: psycopg.AsyncConnection, given: bytes) -> Rotation:
    """Begin a rotation, or find the one that is unfinished. `given` is the old key, or the new one of that.

    Raises `WrongMasterKey`.
    """
    key = MasterKey(given)
    async with connection.transaction():
        # With the lock, so that every later write sees that there is a new key.
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (APPEND_LOCK,))
        await check_master_key(connection, key)
        cursor = await connection.execute("SELECT name, value FROM installation", binary=True)
        found: dict[str, bytes] = dict(await cursor.fetchall())
        if NEXT in found:
            alone = MasterKey(given)
            try:
                return Rotation(given, alone.unwrap(found[NEXT], NEXT.encode()), resumed=True)
            except WrongMasterKey:
                return Rotation(alone.unwrap(found[PREVIOUS], PREVIOUS.encode()), given, resumed=True)
        new = os.urandom(32)
        renewed = MasterKey(new)
        for name, value in (
            (NEXT, key.wrap(new, NEXT.encode())),
            (PREVIOUS, renewed.wrap(given, PREVIOUS.encode())),
            (ID, id_bytes(renewed.id)),
        ):
            await connection.execute(
                "INSERT INTO installation (name, value) VALUES (%s, %s)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, value),
            )
        await _tell(connection)
    return Rotation(given, new, resumed=False)


async def until_known(
    connection: psycopg.AsyncConnection,
    rotation: Rotation,
    *,
    settle_seconds: float = SETTLE_SECONDS,
    within_seconds: float = KNOWN_WITHIN_SECONDS,
) -> None:
    """Return once every server that runs knows the new key. Raises `NotTakenOver`."""
    began = time.monotonic()
    while True:
        await _tell(connection)  # again and again: it may have got lost with a connection
        cursor = await connection.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND objsubid = 2"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            (KEYS_LOCK, MasterKey(rotation.old).id),
        )
        row = await cursor.fetchone()
        assert row is not None
        waited = time.monotonic() - began
        if row[0] == 0 and waited >= settle_seconds:
            return
        if waited > within_seconds:
            raise NotTakenOver(row[0])
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


async def rewrap(connection: psycopg.AsyncConnection, rotation: Rotation) -> Rewrapped:
    """Wrap everything under the new key that is under the old one; returns once nothing is left of that.

    `connection` is in autocommit mode.
    """
    old, new = MasterKey(rotation.old), MasterKey(rotation.new)
    count = damaged = 0
    for table in WRAPPED:
        while True:
            found, done, damaged_here = await _pass(connection, table, old, new)
            count += done
            if found == 0:
                damaged += damaged_here
                break
            if done < found:  # somebody is changing them just now
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    return Rewrapped(count, damaged)


async def _pass(
    connection: psycopg.AsyncConnection, table: tuple[str, str, str], old: MasterKey, new: MasterKey
) -> tuple[int, int, int]:
    """Go over a table once: how many keys were found under the old key, how many of them are no more, how many damaged.

    What is locked is left to the next pass: who waits for nobody is never part of a deadlock. What was changed since it
    was read stays as it is, above all what was destroyed.
    """
    name, id_column, column = (sql.Identifier(part) for part in table)
    read = sql.SQL("SELECT {id}, {column} FROM {table} WHERE {id} > %s AND {column} IS NOT NULL ORDER BY {id} LIMIT %s")
    write = sql.SQL(
        "WITH fresh AS (SELECT * FROM unnest(%b::uuid[], %b::bytea[], %b::bytea[]) AS n(id, old, new)),"
        " free AS (SELECT {id} FROM {table} WHERE {id} IN (SELECT id FROM fresh) FOR UPDATE SKIP LOCKED)"
        " UPDATE {table} AS t SET {column} = fresh.new FROM fresh JOIN free ON free.{id} = fresh.id"
        " WHERE t.{id} = fresh.id AND t.{column} = fresh.old"
    )
    read, write = (each.format(id=id_column, column=column, table=name) for each in (read, write))
    found = done = damaged = 0
    after = UUID(int=0)
    while True:
        cursor = await connection.execute(read, (after, _ROWS), binary=True)
        rows: list[tuple[UUID, bytes]] = await cursor.fetchall()
        changed: list[tuple[UUID, bytes, bytes]] = []
        for id, wrapped in rows:
            with suppress(WrongMasterKey):
                new.unwrap(wrapped, id.bytes)
                continue
            try:
                changed.append((id, wrapped, new.wrap(old.unwrap(wrapped, id.bytes), id.bytes)))
            except WrongMasterKey:
                damaged += 1
        if changed:
            found += len(changed)
            done += (await connection.execute(write, [list(each) for each in zip(*changed, strict=True)])).rowcount
        if len(rows) < _ROWS:
            return found, done, damaged
        after = rows[-1][0]


async def finish(connection: psycopg.AsyncConnection, rotation: Rotation) -> None:
    """From here on only the new key is right."""
    async with connection.transaction():
        proof = MasterKey(rotation.new).wrap(bytes(32), CHECK.encode())
        await connection.execute("UPDATE installation SET value = %s WHERE name = %s", (proof, CHECK))
        await connection.execute("DELETE FROM installation WHERE name = ANY(%s)", ([NEXT, PREVIOUS],))
        await _tell(connection)


async def _tell(connection: psycopg.AsyncConnection) -> None:
    await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, KEYS_CHANGED))
