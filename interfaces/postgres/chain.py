"""The hash chain beside the log: what it links, and how it is verified.

hash(n) = SHA-256(hash(n-1) ‖ position ‖ id ‖ version ‖ topic ‖ state), lengths first where they vary. It covers
the ciphertext, so that erasing a key leaves it whole, and it is never rebuilt.
"""

from __future__ import annotations

import base64
import hashlib
import re
import struct
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from interfaces.postgres.migrate import GENESIS

_MISSING = "the event and its link are missing"
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


START = Head(0, GENESIS)
"""Before the first event."""

_FIRST = -(2**63)
"""No event of ours has a position below 1; one that was put there must be found."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verification found: `fault` None means that every link holds."""

    events: int
    head: Head
    fault: str | None = None
    position: int | None = None


async def verify(
    connection: psycopg.AsyncConnection,
    *,
    known_head: Head | None = None,
    batch: int = 2000,
    after: Head = START,
    limit: int | None = None,
) -> Verdict:
    """Recompute the chain from the first event on and name the first place where it does not hold.

    Reads one snapshot. With `known_head`, an earlier head kept elsewhere, a tail that was cut off whole is found too.
    `after` goes on from a head that was verified before, `limit` bounds how many events are looked at.
    """
    walk = _Walk(known_head, after)
    async with connection.transaction():
        last, anchor = await _ends(connection, after.position)
        if after.position > last:
            return walk.stop(last + 1, f"the tail is cut: it was verified up to {after.position} before")
        if after != START and anchor != after.hash:
            return walk.stop(after.position, "the log here is not the one that was verified before")
        until = last if limit is None else min(last, after.position + limit)
        first = _FIRST if after == START else walk.expected
        async with aclosing(_rows(connection, first, until, batch)) as rows:
            async for position, event, stored_hash in rows:
                if walk.fault is not None:
                    break
                walk.step(position, event, stored_hash)
    if walk.fault is None and walk.expected <= until:
        return walk.stop(walk.expected, _MISSING)
    return walk.end()


def verify_export(lines: Iterable[Mapping[str, Any]], *, known_head: Head | None = None) -> Verdict:
    """Recompute the chain from an unfiltered export of the audit trail, without any database.

    `lines` are its lines as parsed JSON, or the rows of its CSV. What is proved is `state`, the event as stored:
    its facts are readable in it, its content is sealed. With `known_head`, a cut tail is found too.
    """
    walk = _Walk(known_head)
    for number, line in enumerate(lines, start=1):
        if walk.fault is not None:
            break
        try:
            position = int(line["position"])
            event = (
                UUID(line["originator_id"]),
                int(line["originator_version"]),
                str(line["topic"]),
                base64.b64decode(line["state"], validate=True),
            )
            stored_hash = bytes.fromhex(line["hash"])
        except (KeyError, TypeError, ValueError) as error:
            return walk.stop(walk.expected, f"line {number} is not of an export: {type(error).__name__} ({error})")
        walk.step(position, event, stored_hash)
    return walk.end()


class _Walk:
    """Goes along the chain, event by event, until the first place where it does not hold."""

    def __init__(self, known_head: Head | None, after: Head = START) -> None:
        self._known = known_head
        self._count = 0
        self._head = after
        self.fault: Verdict | None = None
        if known_head is not None and known_head.position == 0 and known_head.hash != GENESIS:
            self.stop(0, "the log does not start where the given head says")

    @property
    def expected(self) -> int:
        """The position that must come next."""
        return self._head.position + 1

    def step(self, position: int, event: _Event | None, stored_hash: bytes | None) -> None:
        if position != self.expected:
            self.stop(self.expected, _MISSING)
        elif event is None:
            self.stop(position, "the event is missing, its link is there")
        elif stored_hash is None:
            self.stop(position, "the link is missing, the event is there")
        elif not _holds(self._head.hash, position, event, stored_hash):
            self.stop(position, f"event {event[1]} of {event[0]} ({event[2]}) is not what was written here")
        else:
            self._count += 1
            self._head = Head(position, stored_hash)
            if self._known is not None and self._known.position == position and self._known.hash != stored_hash:
                self.stop(position, "the log here is not the one that the given head was taken from")

    def stop(self, position: int, what: str) -> Verdict:
        self.fault = Verdict(self._count, self._head, f"position {position}: {what}", position)
        return self.fault

    def end(self) -> Verdict:
        if self.fault is not None:
            return self.fault
        if self._known is not None and self._known.position > self._head.position:
            return self.stop(self.expected, f"the tail is cut: the given head was at {self._known.position}")
        return Verdict(self._count, self._head)


def _holds(previous: bytes, position: int, event: _Event, stored_hash: bytes) -> bool:
    try:
        return link(previous, position, *event) == stored_hash
    except struct.error:  # numbers that no event of ours has
        return False


async def read_head(connection: psycopg.AsyncConnection) -> Head:
    """The newest link."""
    cursor = await connection.execute("SELECT position, hash FROM event_chain ORDER BY position DESC LIMIT 1")
    row = await cursor.fetchone()
    assert row is not None
    return Head(row[0], row[1])


_Event = tuple[UUID, int, str, bytes]


async def _ends(connection: psycopg.AsyncConnection, position: int) -> tuple[int, bytes | None]:
    """The last position that there is of events or links, and the hash at the given one."""
    cursor = await connection.execute(
        "SELECT greatest(0, (SELECT max(notification_id) FROM handraise_events),"
        " (SELECT max(position) FROM event_chain)), (SELECT hash FROM event_chain WHERE position = %s)",
        (position,),
    )
    row = await cursor.fetchone()
    assert row is not None
    return row[0], row[1]


async def _rows(
    connection: psycopg.AsyncConnection, first: int, last: int, batch: int
) -> AsyncGenerator[tuple[int, _Event | None, bytes | None]]:
    async with connection.cursor("verify", binary=True) as cursor:
        cursor.itersize = batch
        await cursor.execute(
            "SELECT coalesce(e.notification_id, c.position), e.originator_id, e.originator_version, e.topic,"
            " e.state, c.hash"
            " FROM (SELECT * FROM handraise_events WHERE notification_id BETWEEN %(first)s AND %(last)s) e"
            " FULL JOIN (SELECT * FROM event_chain WHERE position > 0 AND position BETWEEN %(first)s AND %(last)s) c"
            " ON c.position = e.notification_id ORDER BY 1",
            {"first": first, "last": last},
        )
        async for position, id_, version, topic, state, hash_ in cursor:
            yield position, None if id_ is None else (id_, version, topic, state), hash_
