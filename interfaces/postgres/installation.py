"""Whether the master key is the one this database was sealed with, and which one that is, while it is being rotated.

`check` proves the master key: something known, wrapped under it. `id` says under which key everything that is written
is wrapped. Only while a rotation is unfinished there are `next`, the new key wrapped under the old one, and `previous`,
the old one wrapped under the new: whoever has either of them has both.
"""

from __future__ import annotations

import contextlib
from typing import LiteralString

import psycopg
import structlog

from interfaces.postgres.sealing import MasterKey, MissedRotation, WrongMasterKey

CHECK = "master key check"
ID = "master key id"
NEXT = "next master key"
PREVIOUS = "previous master key"

KEY_ID: LiteralString = "(SELECT value FROM installation WHERE name = 'master key id')"
"""The id of the key to wrap under, as SQL; NULL in a database that no server has started on."""

KEYS_LOCK = 0x68616E65
"""With a key's id, an advisory lock that every server holds for the key it knows to be the newest."""

KEYS_CHANGED = "keys"
"""The payload of a NOTIFY that says that servers should look at the keys."""

log = structlog.get_logger(__name__)


async def check_master_key(connection: psycopg.AsyncConnection, key: MasterKey) -> None:
    """Leave a proof on the first start; compare at later ones. Raises `WrongMasterKey`.

    While a rotation is unfinished either key is right, and is made to know the other one.
    """
    await connection.execute(
        "INSERT INTO installation (name, value) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        (CHECK, key.wrap(bytes(32), CHECK.encode())),
    )
    found = await _found(connection)
    _take_over(found, key)
    try:
        key.unwrap(found[CHECK], CHECK.encode())
    except WrongMasterKey:
        if key.reread is None:
            raise
        key.renew(key.reread())  # a rotation may have ended since this start read its key
        key.unwrap(found[CHECK], CHECK.encode())
    # Not before the key has proved to be right; databases made by older servers do not have it either.
    await connection.execute(
        "INSERT INTO installation (name, value) VALUES (%s, %s) ON CONFLICT DO NOTHING", (ID, id_bytes(key.id))
    )


async def learn(connection: psycopg.AsyncConnection, key: MasterKey) -> None:
    """Have `key` know what the database says just now.

    Raises `MissedRotation` where the key was rotated while this server was cut off, and so could not learn the new one.
    """
    found = await _found(connection)
    _take_over(found, key)
    wanted = found.get(ID, id_bytes(key.id))
    if wanted != id_bytes(key.id) and key.reread is not None:
        with contextlib.suppress(Exception):  # whatever is wrong with the file: it is the last resort
            again = MasterKey(key.reread())
            if wanted == id_bytes(again.id):
                again.unwrap(found[CHECK], CHECK.encode())
                key.renew(key.reread())
    lost = wanted != id_bytes(key.id)
    if lost and not key.lost:
        log.error(str(MissedRotation()))
    elif key.lost and not lost:
        log.info("knows the master key again")
    key.lost = lost
    if lost:
        raise MissedRotation


async def opened(
    connection: psycopg.AsyncConnection, key: MasterKey, wrapped: bytes | None, bound_to: bytes, what: str
) -> str | None:
    """A secret that is kept wrapped, as text; None where there is none, or it cannot be opened: `what` is logged then.

    Raises `MissedRotation`.
    """
    if wrapped is None:
        return None
    try:
        return key.unwrap(wrapped, bound_to).decode()
    except WrongMasterKey:  # unless it is being rotated, and this server has yet to learn the new one
        await learn(connection, key)
    try:
        return key.unwrap(wrapped, bound_to).decode()
    except WrongMasterKey:
        log.error("a secret cannot be opened: set it again", what=what)
        return None


class KeyWatch:
    """Has a server know every new key, and says in the database that it does.

    It holds an advisory lock for the newest key it knows, on a connection that stays open: whoever rotates the key
    waits until nobody holds the one of the old key.
    """

    def __init__(self, key: MasterKey) -> None:
        self._key = key
        self._held: tuple[psycopg.AsyncConnection, int] | None = None

    async def __call__(self, connection: psycopg.AsyncConnection) -> None:
        """`connection` is in autocommit mode."""
        while True:
            # First the lock, then a look at the keys: so nobody can go on as if we knew what we have yet to learn.
            id = self._key.id
            held = self._held[1] if self._held is not None and self._held[0] is connection else None
            if held != id:
                await connection.execute("SELECT pg_advisory_lock_shared(%s, %s)", (KEYS_LOCK, id))
                self._held = connection, id
            if held not in (None, id):
                await connection.execute("SELECT pg_advisory_unlock_shared(%s, %s)", (KEYS_LOCK, held))
            with contextlib.suppress(MissedRotation):  # it is logged, and the server is not ready
                await learn(connection, self._key)
            if self._key.id == id:
                return


def id_bytes(id: int) -> bytes:
    return id.to_bytes(4, "big")


async def _found(connection: psycopg.AsyncConnection) -> dict[str, bytes]:
    cursor = await connection.execute("SELECT name, value FROM installation", binary=True)
    return dict(await cursor.fetchall())


def _take_over(found: dict[str, bytes], key: MasterKey) -> None:
    """Know both keys of an unfinished rotation, the new one first. Nothing happens where neither is known."""
    if NEXT not in found or PREVIOUS not in found:
        return
    with contextlib.suppress(WrongMasterKey):
        key.renew(key.unwrap(found[NEXT], NEXT.encode()))
        return
    with contextlib.suppress(WrongMasterKey):
        key.know(key.unwrap(found[PREVIOUS], PREVIOUS.encode()))
