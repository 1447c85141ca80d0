"""How things stand: how many, how old, how fast. Figures only, nothing that anybody wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

import psycopg

from domain.callers import PersonCaller, actor_id
from domain.request import Request
from projections.bulk import for_all
from projections.log import Entry
from projections.read_models import snapshot

NOBODY = UUID(int=0)
"""Stands for "assigned to nobody" where a key cannot be null."""

RECENT_ANSWERS = 1000
"""Time to answer is measured over this many of the latest answers."""

LOOKED_BACK = timedelta(days=7)
"""How far back answers are looked for that no agent acknowledged: agents that never do must not let them pile up."""

MOST_UNACKNOWLEDGED = 10_000
"""More are not counted: whoever sees so many need not know exactly."""


@dataclass(frozen=True, slots=True)
class _Row:
    request_id: UUID
    status: str
    request_type: str
    agent_id: UUID
    person_id: UUID
    created_at: datetime
    closed_at: datetime | None = None
    acknowledged: bool = False

    @property
    def key(self) -> tuple[str, str, UUID, UUID]:
        return self.status, self.request_type, self.agent_id, self.person_id

    @property
    def values(self) -> tuple[Any, ...]:
        return (*(self.request_id, *self.key), self.created_at, self.closed_at, self.acknowledged)


class Dashboard:
    """The read model behind the dashboard. An answered request counts for the person who answered it, any other
    for whom it is assigned to."""

    name: ClassVar[str] = "dashboard"
    version: ClassVar[int] = 2
    tables: ClassVar[tuple[str, ...]] = ("dashboard_requests", "dashboard_counts", "dashboard_answered")
    ddl: ClassVar[str] = """
        CREATE TABLE dashboard_requests (
            request_id uuid PRIMARY KEY,
            status text NOT NULL,
            request_type text NOT NULL,
            agent_id uuid NOT NULL,
            person_id uuid NOT NULL,
            created_at timestamptz NOT NULL,
            closed_at timestamptz,
            acknowledged boolean NOT NULL
        );
        CREATE INDEX ON dashboard_requests (created_at) WHERE status = 'Requested';
        CREATE INDEX ON dashboard_requests (person_id, created_at) WHERE status = 'Requested';
        CREATE INDEX ON dashboard_requests (closed_at) WHERE status = 'Responded';
        CREATE INDEX ON dashboard_requests (person_id, closed_at) WHERE status = 'Responded';
        CREATE INDEX ON dashboard_requests (closed_at) WHERE status = 'Responded' AND NOT acknowledged;
        CREATE INDEX ON dashboard_requests (person_id, closed_at) WHERE status = 'Responded' AND NOT acknowledged;
        CREATE TABLE dashboard_counts (
            status text NOT NULL,
            request_type text NOT NULL,
            agent_id uuid NOT NULL,
            person_id uuid NOT NULL,
            count bigint NOT NULL,
            PRIMARY KEY (status, request_type, agent_id, person_id)
        );
        CREATE TABLE dashboard_answered (
            hour timestamptz NOT NULL,
            person_id uuid NOT NULL,
            count bigint NOT NULL,
            PRIMARY KEY (hour, person_id)
        );
    """

    async def apply(self, connection: psycopg.AsyncConnection, entries: Sequence[Entry]) -> None:
        ids = {entry.aggregate_id for entry in entries if isinstance(entry.event, Request.Event)}
        if not ids:
            return
        rows = await _load(connection, ids)
        before = dict(rows)
        answered: Counter[tuple[datetime, UUID]] = Counter()
        for entry in entries:
            event, id = entry.event, entry.aggregate_id
            if isinstance(event, Request.Requested):
                rows[id] = _asked(event)
            elif isinstance(event, Request.Event):
                rows[id] = _evolve(rows[id], event)
                if isinstance(event, Request.Responded):
                    hour = event.timestamp.replace(minute=0, second=0, microsecond=0)
                    answered[hour, rows[id].person_id] += 1
        changed = [row for id, row in rows.items() if before.get(id) != row]
        counts: Counter[tuple[str, str, UUID, UUID]] = Counter(row.key for row in changed)
        counts.subtract(before[row.request_id].key for row in changed if row.request_id in before)
        await for_all(connection, _UPSERT, [row.values for row in changed])
        await for_all(connection, _COUNT, [(*key, count) for key, count in sorted(counts.items()) if count])
        await for_all(connection, _ANSWERED, [(*key, count) for key, count in sorted(answered.items())])
        await connection.execute("DELETE FROM dashboard_counts WHERE count = 0")


def _asked(event: Request.Requested) -> _Row:
    chosen = event.assignment["chosen"]
    return _Row(
        event.originator_id,
        "Requested",
        event.request_type,
        event.agent_id,
        UUID(chosen) if chosen else NOBODY,
        event.timestamp,
    )


def _evolve(row: _Row, event: Request.Event) -> _Row:
    match event:
        case Request.Reassigned():
            return replace(row, person_id=event.to_user or NOBODY)
        case Request.Responded():
            person = actor_id(event.actor) or row.person_id
            return replace(row, status="Responded", person_id=person, closed_at=event.timestamp)
        case Request.Cancelled():
            return replace(row, status="Cancelled", closed_at=event.timestamp)
        case Request.Expired():
            return replace(row, status="Expired", closed_at=event.timestamp)
        case Request.Acknowledged():
            return replace(row, acknowledged=True)
        case _:
            return row


async def _load(connection: psycopg.AsyncConnection, ids: set[UUID]) -> dict[UUID, _Row]:
    cursor = await connection.execute(
        "SELECT request_id, status, request_type, agent_id, person_id, created_at, closed_at,"
        " acknowledged FROM dashboard_requests WHERE request_id = ANY(%s)",
        (list(ids),),
        binary=True,
    )
    return {row[0]: _Row(*row) for row in await cursor.fetchall()}


_UPSERT = b"""
    INSERT INTO dashboard_requests
    SELECT * FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::uuid[], %b::uuid[], %b::timestamptz[],
        %b::timestamptz[], %b::boolean[])
    ON CONFLICT (request_id) DO UPDATE SET status = excluded.status, person_id = excluded.person_id,
        closed_at = excluded.closed_at, acknowledged = excluded.acknowledged
"""
_COUNT = b"""
    INSERT INTO dashboard_counts AS c
    SELECT * FROM unnest(%b::text[], %b::text[], %b::uuid[], %b::uuid[], %b::bigint[])
    ON CONFLICT (status, request_type, agent_id, person_id) DO UPDATE SET count = c.count + excluded.count
"""
_ANSWERED = b"""
    INSERT INTO dashboard_answered AS a
    SELECT * FROM unnest(%b::timestamptz[], %b::uuid[], %b::bigint[])
    ON CONFLICT (hour, person_id) DO UPDATE SET count = a.count + excluded.count
"""


# -- queries


@dataclass(frozen=True, slots=True)
class Figures:
    """The dashboard, people and agents by UUID. Durations in seconds."""

    by_status: dict[str, int]
    by_type: dict[str, dict[str, int]]
    by_agent: dict[UUID, dict[str, int]]
    by_person: dict[UUID, dict[str, int]]
    oldest_open: tuple[UUID, datetime] | None
    older_than_a_day: int
    older_than_a_week: int
    answers_measured: int
    p50: float | None
    p90: float | None
    per_hour: list[tuple[datetime, int]]
    per_day: list[tuple[datetime, int]]
    unacknowledged: int
    position: int


async def figures(
    connection: psycopg.AsyncConnection, caller: PersonCaller, now: datetime, *, grace: timedelta
) -> Figures:
    """The figures of everything for administrators and auditors, of the caller's own requests for all others.

    `grace` is how long an agent may take to acknowledge an answer. Hours cover the last day, days the last 30; days
    are UTC days.
    """
    person = None if caller.sees_everything else caller.id
    own = {"person": person, "day": now - timedelta(days=1), "week": now - timedelta(days=7)}
    async with snapshot(connection, Dashboard) as position:
        cursor = await connection.execute(
            "SELECT status, request_type, agent_id, person_id, count FROM dashboard_counts"
            " WHERE %(person)s::uuid IS NULL OR person_id = %(person)s",
            own,
        )
        counts = await cursor.fetchall()
        mine = b"" if person is None else b" AND person_id = %(person)s"
        cursor = await connection.execute(
            b"SELECT request_id, created_at FROM dashboard_requests WHERE status = 'Requested'"
            + mine
            + b" ORDER BY created_at LIMIT 1",
            own,
        )
        oldest = await cursor.fetchone()
        cursor = await connection.execute(
            b"SELECT count(*), count(*) FILTER (WHERE created_at < %(week)s) FROM dashboard_requests"
            b" WHERE status = 'Requested' AND created_at < %(day)s" + mine,
            own,
        )
        old = await cursor.fetchone()
        assert old is not None
        cursor = await connection.execute(
            b"SELECT count(*), percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY seconds) FROM ("
            b"SELECT extract(epoch FROM closed_at - created_at)::float8 AS seconds FROM dashboard_requests"
            b" WHERE status = 'Responded'" + mine + b" ORDER BY closed_at DESC LIMIT %(recent)s) AS recent",
            own | {"recent": RECENT_ANSWERS},
        )
        speed = await cursor.fetchone()
        assert speed is not None
        per_hour = await _answered(connection, "hour", now - timedelta(hours=24), person)
        per_day = await _answered(connection, "day", now - timedelta(days=30), person)
        unacknowledged = await count_unacknowledged(connection, now, grace=grace, person=person)
    by_status: Counter[str] = Counter()
    by_type: dict[str, Counter[str]] = {}
    by_agent: dict[UUID, Counter[str]] = {}
    by_person: dict[UUID, Counter[str]] = {}
    for status, request_type, agent_id, person_id, count in counts:
        by_status[status] += count
        by_type.setdefault(request_type, Counter())[status] += count
        by_agent.setdefault(agent_id, Counter())[status] += count
        by_person.setdefault(person_id, Counter())[status] += count
    p50, p90 = speed[1] or (None, None)
    return Figures(
        dict(by_status),
        {key: dict(value) for key, value in by_type.items()},
        {key: dict(value) for key, value in by_agent.items()},
        {key: dict(value) for key, value in by_person.items()},
        oldest,
        old[0],
        old[1],
        speed[0],
        p50,
        p90,
        per_hour,
        per_day,
        unacknowledged,
        position,
    )


async def count_unacknowledged(
    connection: psycopg.AsyncConnection, now: datetime, *, grace: timedelta, person: UUID | None = None
) -> int:
    """How many answers, of this person only if given, their agents have not acknowledged within `grace`.

    Of the last days, and of no more than `MOST_UNACKNOWLEDGED`. Time alone changes it.
    """
    cursor = await connection.execute(
        b"SELECT count(*) FROM (SELECT FROM dashboard_requests WHERE status = 'Responded' AND NOT acknowledged"
        b" AND closed_at >= %(since)s AND closed_at < %(until)s"
        + (b"" if person is None else b" AND person_id = %(person)s")
        + b" LIMIT %(most)s) AS unacknowledged",
        {"since": now - LOOKED_BACK, "until": now - grace, "person": person, "most": MOST_UNACKNOWLEDGED},
    )
    row = await cursor.fetchone()
    assert row is not None
    return row[0]


async def _answered(
    connection: psycopg.AsyncConnection, unit: str, since: datetime, person: UUID | None
) -> list[tuple[datetime, int]]:
    cursor = await connection.execute(
        "SELECT date_trunc(%(unit)s, hour, 'UTC') AS start, sum(count)::bigint FROM dashboard_answered"
        " WHERE hour >= date_trunc(%(unit)s, %(since)s::timestamptz, 'UTC')"
        " AND (%(person)s::uuid IS NULL OR person_id = %(person)s) GROUP BY start ORDER BY start",
        {"unit": unit, "since": since, "person": person},
    )
    return await cursor.fetchall()
