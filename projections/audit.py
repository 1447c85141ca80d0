"""The full history of everything, one row an event, directory and keys included: searched, filtered, exported.

`facts` stay for good; `content` and the words to search by go when it is erased. Neither is ever an input to anything.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from domain.recorded import RecordedCreation, RecordedEvent
from domain.request import Request, instant
from domain.users import User
from projections.bulk import for_all
from projections.log import Entry
from projections.read_models import snapshot
from projections.words import searchable

_ERASING = (Request.ContentErased, User.ContentErased)
_COMMON = {field.name for field in dataclasses.fields(RecordedCreation)}
_SEARCHED_CHARACTERS = 100_000


class Audit:
    """The read model behind the audit trail."""

    name: ClassVar[str] = "audit"
    version: ClassVar[int] = 2
    tables: ClassVar[tuple[str, ...]] = ("audit", "audit_requests")
    ddl: ClassVar[str] = """
        CREATE TABLE audit (
            position bigint PRIMARY KEY,
            at timestamptz NOT NULL,
            type text NOT NULL,
            kind text NOT NULL,
            actor text NOT NULL,
            aggregate_id uuid NOT NULL,
            agent_id uuid,
            facts json NOT NULL,
            content json,
            search tsvector
        );
        CREATE INDEX ON audit (actor, position);
        CREATE INDEX ON audit (aggregate_id, position);
        CREATE INDEX ON audit (agent_id, position) WHERE agent_id IS NOT NULL;
        CREATE INDEX ON audit (type, position);
        CREATE INDEX ON audit USING brin (at);
        CREATE INDEX ON audit USING gin (search);
        CREATE TABLE audit_requests (
            request_id uuid PRIMARY KEY,
            agent_id uuid NOT NULL
        );
    """

    async def apply(self, connection: psycopg.AsyncConnection, entries: Sequence[Entry]) -> None:
        await for_all(
            connection,
            b"INSERT INTO audit_requests SELECT * FROM unnest(%b::uuid[], %b::uuid[])",
            [
                (entry.aggregate_id, entry.event.agent_id)
                for entry in entries
                if isinstance(entry.event, Request.Requested)
            ],
        )
        await for_all(connection, _INSERT, [_row(entry) for entry in entries])
        erased = [(entry.aggregate_id,) for entry in entries if isinstance(entry.event, _ERASING)]
        await for_all(connection, _ERASE, erased)


def _row(entry: Entry) -> tuple[Any, ...]:
    event = entry.event
    content = {name: value for name in event.CONTENT if (value := getattr(event, name)) is not None}
    return (
        entry.position,
        event.timestamp,
        type(event).__name__,
        type(event).__qualname__.partition(".")[0],
        event.actor,
        event.originator_id,
        _json(_facts(event)),
        _json(content) if content else None,
        searchable(" ".join(_words(content))[:_SEARCHED_CHARACTERS]) if content else None,
    )


def _facts(event: RecordedEvent) -> dict[str, Any]:
    return {name: value for name, value in vars(event).items() if name not in _COMMON and name not in event.CONTENT}


def _plain(value: Any) -> str:
    return instant(value) if isinstance(value, datetime) else str(value)


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode


def _words(value: Any) -> list[str]:
    """All text in a JSON value, found without recursion."""
    words: list[str] = []
    left = [value]
    while left:
        found = left.pop()
        if isinstance(found, str):
            words.append(found)
        elif isinstance(found, dict):
            left.extend(found.values())
        elif isinstance(found, list):
            left.extend(found)
    return words


_INSERT = b"""
    INSERT INTO audit (position, at, type, kind, actor, aggregate_id, agent_id, facts, content, search)
    SELECT e.position, e.at, e.type, e.kind, e.actor, e.aggregate_id, r.agent_id, e.facts::json, e.content::json,
        to_tsvector('simple', e.words)
    FROM unnest(%b::bigint[], %b::timestamptz[], %b::text[], %b::text[], %b::text[], %b::uuid[], %b::text[],
        %b::text[], %b::text[]) AS e(position, at, type, kind, actor, aggregate_id, facts, content, words)
    LEFT JOIN audit_requests r ON r.request_id = e.aggregate_id
"""
_ERASE = b"UPDATE audit SET content = NULL, search = NULL WHERE aggregate_id = ANY(%b::uuid[])"


# -- queries


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """What the trail is narrowed to; None leaves it open. Actors as events hold them, agents and requests by UUID."""

    actor: Sequence[str] | None = None
    type: Sequence[str] | None = None
    request_id: UUID | None = None
    agent: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    q: str | None = None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some events, the position after which the next page goes on (None: no more), and the position they show."""

    items: list[dict[str, Any]]
    next: int | None
    position: int


async def page_of_audit(
    connection: psycopg.AsyncConnection, filters: AuditFilters, *, before: int | None, limit: int
) -> AuditPage:
    """The newest events that pass the filters, from just before the position `before`."""
    where, values = conditions(filters, before=before)
    statement = sql.SQL(
        "SELECT position, at, type, kind, actor, aggregate_id, agent_id, facts, content FROM audit a{where}"
        " ORDER BY position DESC LIMIT {limit}"
    ).format(where=where, limit=sql.Literal(limit + 1))
    async with snapshot(connection, Audit) as position, connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(statement, values)
        rows = await cursor.fetchall()
    more = len(rows) > limit
    return AuditPage(rows[:limit], rows[limit - 1]["position"] if more else None, position)


def conditions(filters: AuditFilters, *, before: int | None = None) -> tuple[sql.Composable, list[Any]]:
    """The WHERE clause (or nothing) that these filters mean over the table `audit a`, and its values."""
    where: list[sql.Composable] = []
    values: list[Any] = []
    for condition, value in (
        (sql.SQL("a.actor = ANY(%s)"), None if filters.actor is None else list(filters.actor)),
        (sql.SQL("a.type = ANY(%s)"), None if filters.type is None else list(filters.type)),
        (sql.SQL("a.aggregate_id = %s"), filters.request_id),
        (sql.SQL("a.agent_id = %s"), filters.agent),
        (sql.SQL("a.at >= %s"), filters.since),
        (sql.SQL("a.at < %s"), filters.until),
        (
            sql.SQL("a.search @@ websearch_to_tsquery('simple', %s)"),
            None if filters.q is None else searchable(filters.q),
        ),
        (sql.SQL("a.position < %s"), before),
    ):
        if value is not None:
            where.append(condition)
            values.append(value)
    return (sql.SQL(" WHERE ") + sql.SQL(" AND ").join(where) if where else sql.SQL("")), values
