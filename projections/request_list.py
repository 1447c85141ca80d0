"""All requests, one row each: behind the inbox and the list that people filter, sort and search.

A row never holds an answer. Of what the agent wrote it holds a summary and the words to search by, until erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from domain.answers import Question
from domain.assignment import excluded_by
from domain.callers import AgentCaller, Caller, PersonCaller
from domain.request import Request
from domain.timetable import WEB
from projections.bulk import for_all
from projections.log import Entry
from projections.read_models import snapshot
from projections.words import searchable, words_of_name

SUMMARY_CHARACTERS = 280
_SEARCHED_CHARACTERS = 100_000
"""Of message and context together; a tsvector has room for no more than a megabyte of different words."""


class RequestList:
    """The read model behind inbox and requests list."""

    name: ClassVar[str] = "request_list"
    version: ClassVar[int] = 7
    tables: ClassVar[tuple[str, ...]] = ("request_list",)
    ddl: ClassVar[str] = """
        CREATE TABLE request_list (
            request_id uuid PRIMARY KEY,
            position bigint NOT NULL,
            unique_id text NOT NULL,
            agent_id uuid NOT NULL,
            agent text NOT NULL,
            request_type text NOT NULL,
            kind text,
            run_id text,
            run_step_id text,
            run_user uuid,
            priority integer NOT NULL,
            secret boolean NOT NULL,
            status text NOT NULL,
            outcome text,
            assigned_to uuid,
            list_id uuid,
            claimed boolean NOT NULL,
            readers uuid[] NOT NULL,
            told uuid[] NOT NULL DEFAULT '{}',
            up_for_claim boolean NOT NULL DEFAULT false,
            snoozed_until timestamptz,
            excluded uuid[] NOT NULL,
            created_at timestamptz NOT NULL,
            expires_at timestamptz,
            closed_at timestamptz,
            acknowledged_at timestamptz,
            summary text,
            search tsvector,
            erased boolean NOT NULL DEFAULT false
        );
        CREATE INDEX ON request_list (priority, created_at, request_id) WHERE status = 'Requested';
        CREATE INDEX ON request_list (assigned_to, priority, created_at, request_id) WHERE status = 'Requested';
        CREATE INDEX ON request_list (list_id, priority, created_at, request_id) WHERE list_id IS NOT NULL;
        CREATE INDEX ON request_list (created_at, request_id);
        CREATE INDEX ON request_list (created_at, request_id) WHERE status = 'Responded' AND acknowledged_at IS NULL;
        CREATE INDEX ON request_list (priority, created_at, request_id);
        CREATE INDEX ON request_list (agent, created_at, request_id);
        CREATE INDEX ON request_list (coalesce(expires_at, 'infinity'), request_id);
        CREATE INDEX ON request_list (run_id) WHERE run_id IS NOT NULL;
        CREATE INDEX ON request_list USING gin (readers);
        CREATE INDEX ON request_list USING gin (told) WHERE told <> '{}';
        CREATE INDEX ON request_list USING gin (search);
    """

    async def apply(self, connection: psycopg.AsyncConnection, entries: Sequence[Entry]) -> None:
        asked: list[tuple[Any, ...]] = []
        moved: dict[UUID, tuple[Any, ...]] = {}
        closed: list[tuple[Any, ...]] = []
        told: dict[UUID, set[UUID]] = {}
        up_for_claim: dict[UUID, bool] = {}
        snoozed: dict[UUID, datetime | None] = {}
        acknowledged: list[tuple[Any, ...]] = []
        erased: list[tuple[Any, ...]] = []
        touched: dict[UUID, int] = {}
        for entry in entries:
            event, id = entry.event, entry.aggregate_id
            if not isinstance(event, Request.Event):
                continue
            touched[id] = entry.position
            match event:
                case Request.Requested():
                    asked.append(_row(entry.position, event))
                case Request.Reassigned():
                    readers = [user for user in (event.from_user, event.to_user) if user is not None]
                    if id in moved:
                        readers += moved[id][-1]
                    claimed = event.cause == "claimed"
                    moved[id] = (id, event.to_user, event.to_list, claimed, readers)
                    up_for_claim[id], snoozed[id] = False, None
                case Request.Notified() if event.channel == WEB and event.recipient is not None:
                    told.setdefault(id, set()).add(UUID(event.recipient.partition(":")[2]))
                    up_for_claim[id] = True
                case Request.Snoozed():
                    snoozed[id] = event.until
                case Request.Responded():
                    closed.append((id, "Responded", event.outcome, event.timestamp))
                case Request.Cancelled():
                    closed.append((id, "Cancelled", None, event.timestamp))
                case Request.Expired():
                    closed.append((id, "Expired", None, event.timestamp))
                case Request.Acknowledged():
                    acknowledged.append((id, event.timestamp))
                case Request.ContentErased():
                    erased.append((id,))
                case _:
                    pass
        await for_all(connection, _INSERT, asked)
        await for_all(connection, _MOVE, [(*row[:4], _array(row[4])) for row in moved.values()])
        await for_all(connection, _TELL, [(id, _array(told.get(id, ())), up) for id, up in up_for_claim.items()])
        await for_all(connection, _SNOOZE, list(snoozed.items()))
        await for_all(connection, _CLOSE, closed)
        await for_all(connection, _ACKNOWLEDGE, acknowledged)
        await for_all(connection, _ERASE, erased)
        await for_all(connection, _TOUCH, list(touched.items()))


def _row(position: int, event: Request.Requested) -> tuple[Any, ...]:
    chosen, list_id = event.assignment["chosen"], event.assignment["list"]
    readers = {str(user) for user in (chosen, event.run_user) if user is not None}
    message = event.message
    searched = None
    if message is not None:
        searched = f"{words_of_name(event.unique_id)} {message} {event.context or ''}"[:_SEARCHED_CHARACTERS]
    return (
        event.originator_id,
        position,
        event.unique_id,
        event.agent_id,
        event.request_type,
        None if message is None else _kind(event),
        event.run_id,
        event.run_step_id,
        event.run_user,
        event.priority,
        event.sealed,
        chosen,
        list_id,
        _array(readers),
        _array(excluded_by(event.assignment)),
        event.timestamp,
        event.expires_at,
        None if message is None else _summary(message),
        None if searched is None else searchable(searched),
    )


def _kind(event: Request.Requested) -> str:
    options = None if event.options is None else tuple(event.options)
    return Question(event.request_type, event.response_schema, options).kind


def _summary(message: str) -> str:
    text = message[:SUMMARY_CHARACTERS]
    return text if len(text) == len(message) else f"{text}…"


def _array(ids: Any) -> str:
    """A uuid[] as text: an array of arrays would have to be rectangular."""
    return "{" + ",".join(sorted({str(id) for id in ids})) + "}"


_INSERT = b"""
    INSERT INTO request_list (request_id, position, unique_id, agent_id, agent, request_type, kind, run_id, run_step_id,
        run_user, priority, secret, status, assigned_to, list_id, claimed, readers, excluded, created_at, expires_at,
        summary, search)
    SELECT r.request_id, r.position, r.unique_id, r.agent_id, coalesce(a.readable_id, r.agent_id::text),
        r.request_type, r.kind, r.run_id, r.run_step_id, r.run_user, r.priority, r.secret, 'Requested', r.assigned_to,
        r.list_id, false, r.readers::uuid[], r.excluded::uuid[], r.created_at, r.expires_at, r.summary,
        to_tsvector('simple', r.searched)
    FROM unnest(%b::uuid[], %b::bigint[], %b::text[], %b::uuid[], %b::text[], %b::text[], %b::text[], %b::text[],
        %b::uuid[], %b::integer[], %b::boolean[], %b::uuid[], %b::uuid[], %b::text[], %b::text[], %b::timestamptz[],
        %b::timestamptz[], %b::text[], %b::text[])
        AS r(request_id, position, unique_id, agent_id, request_type, kind, run_id, run_step_id, run_user, priority,
            secret, assigned_to, list_id, readers, excluded, created_at, expires_at, summary, searched)
    LEFT JOIN public.agents a ON a.id = r.agent_id
"""
_MOVE = b"""
    UPDATE request_list SET assigned_to = m.assigned_to, list_id = m.list_id, claimed = m.claimed,
        readers = (SELECT coalesce(array_agg(DISTINCT reader), '{}')
            FROM unnest(request_list.readers || m.readers::uuid[]) AS reader)
    FROM unnest(%b::uuid[], %b::uuid[], %b::uuid[], %b::boolean[], %b::text[])
        AS m(request_id, assigned_to, list_id, claimed, readers)
    WHERE request_list.request_id = m.request_id
"""
_TELL = b"""
    UPDATE request_list SET up_for_claim = t.up_for_claim,
        told = (SELECT coalesce(array_agg(DISTINCT each), '{}')
            FROM unnest(request_list.told || t.told::uuid[]) AS each)
    FROM unnest(%b::uuid[], %b::text[], %b::boolean[]) AS t(request_id, told, up_for_claim)
    WHERE request_list.request_id = t.request_id
"""
_SNOOZE = b"""
    UPDATE request_list SET snoozed_until = s.until FROM unnest(%b::uuid[], %b::timestamptz[]) AS s(request_id, until)
    WHERE request_list.request_id = s.request_id
"""
_CLOSE = b"""
    UPDATE request_list SET status = c.status, outcome = c.outcome, closed_at = c.closed_at
    FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::timestamptz[]) AS c(request_id, status, outcome, closed_at)
    WHERE request_list.request_id = c.request_id
"""
_ACKNOWLEDGE = b"""
    UPDATE request_list SET acknowledged_at = a.at FROM unnest(%b::uuid[], %b::timestamptz[]) AS a(request_id, at)
    WHERE request_list.request_id = a.request_id
"""
_ERASE = b"""
    UPDATE request_list SET summary = NULL, kind = NULL, search = NULL, erased = true WHERE request_id = ANY(%b::uuid[])
"""
_TOUCH = b"""
    UPDATE request_list SET position = t.position FROM unnest(%b::uuid[], %b::bigint[]) AS t(request_id, position)
    WHERE request_list.request_id = t.request_id AND request_list.position < t.position
"""


# -- queries

Sort = Literal["priority", "created_at", "agent", "expires_at"]
Scope = Literal["mine", "shared", "all"]

_COLUMNS: dict[Sort, tuple[str, ...]] = {
    "priority": ("priority", "created_at", "request_id"),
    "created_at": ("created_at", "request_id"),
    "agent": ("agent", "created_at", "request_id"),
    "expires_at": ("coalesce(expires_at, 'infinity')", "request_id"),
}
_TYPES = {
    "priority": "integer",
    "created_at": "timestamptz",
    "agent": "text",
    "request_id": "uuid",
    "coalesce(expires_at, 'infinity')": "timestamptz",
}


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list of requests is narrowed to; None leaves it open. People, lists and agents by UUID."""

    status: Sequence[str] | None = None
    request_type: Sequence[str] | None = None
    agent: UUID | None = None
    assigned_to: UUID | None = None
    unassigned: bool = False
    list: UUID | None = None
    run_id: str | None = None
    priority_min: int | None = None
    priority_max: int | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    closed_from: datetime | None = None
    closed_to: datetime | None = None
    acknowledged: bool | None = None
    """Answered requests only: those whose agent said that it used the answer, or those whose agent did not."""
    ids: Sequence[UUID] | None = None
    q: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows, the place after the last of them (None when there are no more), and the position they show."""

    items: list[dict[str, Any]]
    next: tuple[str, ...] | None
    position: int
    total: int | None = None
    """How many there are on all pages, where that was asked."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many requests each scope of an inbox holds, and the position that this shows."""

    mine: int
    shared: int
    all: int
    position: int


@dataclass(slots=True)
class _Query:
    conditions: list[sql.Composable] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def where(self, condition: str, *values: Any) -> None:
        self.conditions.append(sql.SQL(condition))  # pyright: ignore[reportArgumentType]  ours, no input
        self.values.extend(values)

    def among(self, ids: Sequence[UUID]) -> None:
        self.where("request_id = ANY(%b::uuid[])", list(ids))

    def clause(self) -> sql.Composable:
        return sql.SQL("WHERE ") + sql.SQL(" AND ").join(self.conditions) if self.conditions else sql.SQL("")


async def page_of_requests(
    connection: psycopg.AsyncConnection,
    caller: Caller,
    filters: Filters,
    *,
    sort: Sort = "created_at",
    descending: bool = True,
    after: Sequence[str] | None = None,
    limit: int,
) -> Page:
    """The requests that the caller may see, narrowed and sorted.

    `after` is a `Page.next` of the same sort. Raises `ValueError` or psycopg's `DataError` for one that is not.
    """
    query = _Query()
    _visible_to(query, caller)
    _narrow(query, filters)
    return await _page(connection, query, sort, descending, after, limit)


async def page_of_inbox(
    connection: psycopg.AsyncConnection,
    caller: Caller,
    scope: Scope,
    *,
    now: datetime,
    ids: Sequence[UUID] | None = None,
    after: Sequence[str] | None = None,
    limit: int,
    count: bool = False,
) -> Page:
    """Open requests that the caller may answer or claim, most urgent first, then oldest; of `ids` only, if given.

    `mine` is what is assigned to the caller and not put aside; `shared` what nobody has taken of the caller's lists,
    for administrators of all lists and of none, and what the ladder has told the caller of; `all` is both, for
    administrators everything that is open. With `count`, the page says how many the scope holds, whatever `ids`.
    """
    query = _inbox(caller, scope, now)
    if ids is not None:
        query.among(ids)
    counted = _inbox(caller, scope, now) if count else None
    return await _page(connection, query, "priority", False, after, limit, counted)


async def count_inbox(connection: psycopg.AsyncConnection, caller: Caller, *, now: datetime) -> Counts:
    """How many requests `page_of_inbox` would show in each scope."""
    mine, shared, all = (_inbox(caller, scope, now) for scope in ("mine", "shared", "all"))
    # Whatever is in one of the other two is in `all`.
    statement = sql.SQL(
        "SELECT count(*) FILTER ({mine}), count(*) FILTER ({shared}), count(*) FROM request_list {all}"
    ).format(mine=mine.clause(), shared=shared.clause(), all=all.clause())
    async with snapshot(connection, RequestList) as position:
        cursor = await connection.execute(statement, [*mine.values, *shared.values, *all.values])
        row = await cursor.fetchone()
        assert row is not None
        return Counts(row[0], row[1], row[2], position)


def _inbox(caller: Caller, scope: Scope, now: datetime) -> _Query:
    query = _Query()
    query.where("status = 'Requested'")
    if not isinstance(caller, PersonCaller) or not caller.may_act:
        query.where("false")
        return query
    query.where("NOT excluded @> ARRAY[%s::uuid]", caller.id)
    mine = "(assigned_to = %s AND (snoozed_until IS NULL OR snoozed_until <= %s))"
    shared = "assigned_to IS NULL" if caller.administers else "assigned_to IS NULL AND list_id = ANY(%b::uuid[])"
    shared = f"({shared} OR up_for_claim AND assigned_to IS DISTINCT FROM %s AND told && %b::uuid[])"
    of_mine = (caller.id, now)
    lists = list(caller.lists)
    of_shared = (*(() if caller.administers else (lists,)), caller.id, [caller.id, *lists])
    if scope == "mine":
        query.where(mine, *of_mine)
    elif scope == "shared":
        query.where(shared, *of_shared)
    elif caller.administers:
        query.where("(assigned_to IS DISTINCT FROM %s OR snoozed_until IS NULL OR snoozed_until <= %s)", *of_mine)
    else:
        query.where(f"({mine} OR {shared})", *of_mine, *of_shared)
    return query


async def open_requests_of(connection: psycopg.AsyncConnection, user_id: UUID, limit: int) -> tuple[list[UUID], int]:
    """Up to `limit` open requests that are assigned to this person, and the position that this shows."""
    async with snapshot(connection, RequestList) as position:
        cursor = await connection.execute(
            "SELECT request_id FROM request_list WHERE status = 'Requested' AND assigned_to = %s"
            " ORDER BY priority, created_at LIMIT %s",
            (user_id, limit),
        )
        return [row[0] for row in await cursor.fetchall()], position


def _visible_to(query: _Query, caller: Caller) -> None:
    if isinstance(caller, AgentCaller):
        query.where("agent_id = %s", caller.id)
        if caller.run_user is not None:
            query.where("run_user = %s", caller.run_user)
    elif not caller.sees_everything:
        lists = list(caller.lists)
        query.where(
            "(readers @> ARRAY[%s::uuid] OR agent_id = ANY(%b::uuid[]) OR list_id = ANY(%b::uuid[])"
            " OR (told <> '{}' AND told && %b::uuid[]))",
            *(caller.id, list(caller.owns), lists, [caller.id, *lists]),
        )


def _narrow(query: _Query, filters: Filters) -> None:
    if filters.status is not None:
        query.where("status = ANY(%s)", list(filters.status))
        if list(filters.status) == ["Requested"]:
            query.where("status = 'Requested'")  # as a literal, so that the partial indexes serve
    if filters.acknowledged is not None:
        # In the words of the partial index.
        query.where(f"status = 'Responded' AND acknowledged_at IS {'NOT ' if filters.acknowledged else ''}NULL")
    if filters.request_type is not None:
        query.where("request_type = ANY(%s)", list(filters.request_type))
    if filters.unassigned:
        query.where("assigned_to IS NULL")
    if filters.ids is not None:
        query.among(filters.ids)
    for condition, value in (
        ("agent_id = %s", filters.agent),
        ("assigned_to = %s", filters.assigned_to),
        ("list_id = %s", filters.list),
        ("run_id = %s", filters.run_id),
        ("priority >= %s", filters.priority_min),
        ("priority <= %s", filters.priority_max),
        ("created_at >= %s", filters.created_from),
        ("created_at < %s", filters.created_to),
        ("closed_at >= %s", filters.closed_from),
        ("closed_at < %s", filters.closed_to),
        ("search @@ websearch_to_tsquery('simple', %s)", None if filters.q is None else searchable(filters.q)),
    ):
        if value is not None:
            query.where(condition, value)


async def _page(
    connection: psycopg.AsyncConnection,
    query: _Query,
    sort: Sort,
    descending: bool,
    after: Sequence[str] | None,
    limit: int,
    counted: _Query | None = None,
) -> Page:
    columns = _COLUMNS[sort]
    if after is not None:
        if len(after) != len(columns):
            raise ValueError(f"a place in this sort has {len(columns)} parts, not {len(after)}")
        marks = ", ".join(f"%s::{_TYPES[column]}" for column in columns)
        query.where(f"({', '.join(columns)}) {'<' if descending else '>'} ({marks})", *after)
    direction = "DESC" if descending else "ASC"
    order = sql.SQL(", ".join(f"{column} {direction}" for column in columns))  # pyright: ignore[reportArgumentType]
    keys = sql.SQL(", ".join(f"({column})::text" for column in columns))  # pyright: ignore[reportArgumentType]
    statement = sql.SQL(
        "SELECT request_id, position, unique_id, agent_id, request_type, kind, run_id, run_step_id, run_user, priority,"
        " secret, status, outcome, assigned_to, list_id, claimed, snoozed_until, created_at, expires_at, closed_at,"
        " acknowledged_at, summary, erased, ARRAY[{keys}] AS key"
        " FROM request_list {where} ORDER BY {order} LIMIT {limit}"
    ).format(
        keys=keys,
        where=query.clause(),
        order=order,
        limit=sql.Literal(limit + 1),
    )
    async with (
        snapshot(connection, RequestList) as position,
        connection.cursor(row_factory=dict_row) as cursor,
    ):
        await cursor.execute(statement, query.values)
        rows = await cursor.fetchall()
        total = None
        if counted is not None:
            count = sql.SQL("SELECT count(*) AS total FROM request_list {where}").format(where=counted.clause())
            found = await (await cursor.execute(count, counted.values)).fetchone()
            assert found is not None
            total = found["total"]
    keys_of_rows = [tuple(row.pop("key")) for row in rows]
    return Page(rows[:limit], keys_of_rows[limit - 1] if len(rows) > limit else None, position, total)
