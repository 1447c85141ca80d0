"""The hash chain beside the log: what it links, and how it is verified.

hash(n) = SHA-256(hash(n-1) ‖ position ‖ id ‖ version ‖ topic ‖ state), lengths first where they vary. It covers
the ciphertext, so that erasing a key leaves it whole, and it is never rebuilt.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

import psycopg

from interfaces.postgres.migrate import GENESIS

_FIXED = struct.Struct(">q16sqI")
_HEAD = re.compile(r"([0-9]{1,18}):([0-9a-fA-F]{64})")


def link(previous: bytes, position: int, originator_id: UUID, version: int, topic: str, state: bytes) -> bytes:
    """The hash of the event at `position`, after `previous`."""
    name = topic.encode()
    digest = hashlib.sha256(previous)
    digest.update(_FIXED.pack(position, originator_id.bytes, version, len(name)))
    digest.update(name)
    digest.update(state)
    return digest.digest()


@dataclass(frozen=True, slots=True)
class Head:
    """How far the log went at a moment, and its hash there: keep one elsewhere, and a cut tail can be found."""

    position: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.position}:{self.hash.hex()}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """Raises `ValueError` for anything but `<position>:<64 hex digits>`."""
        found = _HEAD.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"{text!r} is not a head: expected <position>:<64 hex digits>")
        return cls(int(found[1]), bytes.fromhex(found[2]))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verification found: `fault` None means that every link holds."""

    events: int
    head: Head
    fault: str | None = None
    position: int | None = None


async def verify(
    connection: psycopg.AsyncConnection, *, known_head: Head | None = None, batch: int = 2000
) -> Verdict:
    """Recompute the chain from the first event on and name the first place where it does not hold.

    Reads one snapshot. With `known_head`, an earlier head kept elsewhere, a tail that was cut off whole is found too.
    """
    previous, expected, count = GENESIS, 1, 0
    head = Head(0, GENESIS)

    def fault(position: int, what: str) -> Verdict:
        return Verdict(count, head, f"position {position}: {what}", position)

    if known_head is not None and known_head.position == 0 and known_head.hash != GENESIS:
        return fault(0, "the log does not start where the given head says")
    async for position, event, stored_hash in _rows(connection, batch):
        if position != expected:
            return fault(expected, "the event and its link are missing")
        if event is None:
            return fault(position, "the event is missing, its link is there")
        if stored_hash is None:
            return fault(position, "the link is missing, the event is there")
        if link(previous, position, *event) != stored_hash:
            return fault(position, f"event {event[1]} of {event[0]} ({event[2]}) is not what was written here")
        previous, expected, count = stored_hash, position + 1, count + 1
        head = Head(position, stored_hash)
        if known_head is not None and known_head.position == position and known_head.hash != stored_hash:
            return fault(position, "the log here is not the one that the given head was taken from")
    if known_head is not None and known_head.position > head.position:
        return fault(head.position + 1, f"the tail is cut: the given head was at {known_head.position}")
    return Verdict(count, head)


async def read_head(connection: psycopg.AsyncConnection) -> Head:
    """The newest link."""
    cursor = await connection.execute("SELECT position, hash FROM event_chain ORDER BY position DESC LIMIT 1")
    row = await cursor.fetchone()
    assert row is not None
    return Head(row[0], row[1])


_Event = tuple[UUID, int, str, bytes]


async def _rows(
    connection: psycopg.AsyncConnection, batch: int
) -> AsyncIterator[tuple[int, _Event | None, bytes | None]]:
    async with connection.transaction(), connection.cursor("verify", binary=True) as cursor:
        cursor.itersize = batch
        await cursor.execute(
            "SELECT coalesce(e.notification_id, c.position), e.originator_id, e.originator_version, e.topic,"
            " e.state, c.hash"
            " FROM handraise_events e FULL JOIN (SELECT * FROM event_chain WHERE position > 0) c"
            " ON c.position = e.notification_id ORDER BY 1"
        )
        async for position, id_, version, topic, state, hash_ in cursor:
            yield position, None if id_ is None else (id_, version, topic, state), hash_
