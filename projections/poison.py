"""What a read model cannot digest: the aggregate is parked, its later events wait in order, all others go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg import errors

from projections.log import Entry, Log, Unreadable
from projections.read_models import ReadModel

Report = Callable[[str, dict[str, object]], None]
"""How a projection says what happened: (what, details without content)."""


@dataclass(frozen=True, slots=True)
class Parked:
    """An aggregate that a read model could not follow, from this position on."""

    read_model: str
    aggregate_id: UUID
    position: int
    error: str


async def digest_together(
    connection: psycopg.AsyncConnection,
    models: Sequence[ReadModel],
    entries: Sequence[Entry | Unreadable],
    meanwhile: Callable[[], Awaitable[None]],
) -> bool:
    """Apply these events to models for which nothing is parked, in the caller's transaction, without waiting.

    `meanwhile` is run while the database works. False where there is poison: nothing is changed then, and `digest`
    finds out which.
    """
    readable = [entry for entry in entries if isinstance(entry, Entry)]
    if len(readable) < len(entries):
        return False
    try:
        async with connection.transaction(), connection.pipeline():
            for model in models:
                await model.apply(connection, readable)
            await meanwhile()
    except Exception as error:
        if _is_trouble(error):
            raise
        return False
    return True


async def digest(
    connection: psycopg.AsyncConnection,
    model: ReadModel,
    entries: Sequence[Entry | Unreadable],
    report: Report,
    *,
    parked_as: str | None = None,
) -> None:
    """Apply these events, in the caller's transaction; park what cannot be applied under the name `parked_as`."""
    name = parked_as or model.name
    if not entries:
        return
    parked = await _parked_among(connection, name, {entry.aggregate_id for entry in entries})
    waiting = [entry for entry in entries if entry.aggregate_id not in parked]
    readable = [entry for entry in waiting if isinstance(entry, Entry)]
    if len(readable) == len(waiting) and await _try(connection, model, readable) is None:
        return
    # One by one: slow, but only until the poison is found.
    for entry in waiting:
        if entry.aggregate_id in parked:
            continue
        error = entry.error if isinstance(entry, Unreadable) else await _try(connection, model, [entry])
        if error is not None:
            parked.add(entry.aggregate_id)
            await _park(connection, Parked(name, entry.aggregate_id, entry.position, error), report)


async def all_parked(connection: psycopg.AsyncConnection) -> list[Parked]:
    """Every parked aggregate, the longest parked first."""
    cursor = await connection.execute(
        "SELECT read_model, aggregate_id, position, error FROM public.parked_aggregates ORDER BY position LIMIT 10000"
    )
    return [Parked(*row) for row in await cursor.fetchall()]


async def retry_parked(
    connection: psycopg.AsyncConnection, log: Log, models: Sequence[ReadModel]
) -> tuple[int, list[Parked]]:
    """Try every parked aggregate again, from where it was parked; how many are well now, and those that are not."""
    by_name = {model.name: model for model in models}
    healed, left = 0, []
    for parked in await all_parked(connection):
        model = by_name.get(parked.read_model)
        if model is None:
            continue
        async with connection.transaction():
            cursor = await connection.execute(
                "SELECT position FROM read_models WHERE name = %s FOR UPDATE", (parked.read_model,)
            )
            row = await cursor.fetchone()
            assert row is not None
            error = await _retry(connection, log, model, parked, row[0])
            if error is not None:
                left.append(Parked(parked.read_model, parked.aggregate_id, parked.position, error))
                continue
            healed += 1
            await connection.execute(
                "DELETE FROM parked_aggregates WHERE read_model = %s AND aggregate_id = %s",
                (parked.read_model, parked.aggregate_id),
            )
    return healed, left


async def _retry(
    connection: psycopg.AsyncConnection, log: Log, model: ReadModel, parked: Parked, upto: int
) -> str | None:
    entries = await log.entries_of(connection, parked.aggregate_id, parked.position, upto)
    for entry in entries:
        if isinstance(entry, Unreadable):
            return entry.error
    return await _try(connection, model, [entry for entry in entries if isinstance(entry, Entry)], singly=True)


async def _try(
    connection: psycopg.AsyncConnection, model: ReadModel, entries: Sequence[Entry], *, singly: bool = False
) -> str | None:
    """Why the model cannot digest these, None when it has. A lost database is not the event's fault: it raises."""
    try:
        async with connection.transaction():
            if singly:
                for entry in entries:
                    await model.apply(connection, [entry])
            else:
                await model.apply(connection, entries)
    except Exception as error:
        if _is_trouble(error):
            raise
        return f"{type(error).__name__}: {str(error)[:300]}"
    return None


def _is_trouble(error: Exception) -> bool:
    """The database's trouble, no event's fault; but what is too much of something for it always will be."""
    trouble = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return trouble and not isinstance(error, errors.ProgramLimitExceeded)


async def _parked_among(connection: psycopg.AsyncConnection, name: str, ids: set[UUID]) -> set[UUID]:
    cursor = await connection.execute(
        "SELECT aggregate_id FROM public.parked_aggregates WHERE read_model = %s AND aggregate_id = ANY(%s)",
        (name, list(ids)),
    )
    return {row[0] for row in await cursor.fetchall()}


async def _park(connection: psycopg.AsyncConnection, parked: Parked, report: Report) -> None:
    await connection.execute(
        "INSERT INTO public.parked_aggregates (read_model, aggregate_id, position, error) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        (parked.read_model, parked.aggregate_id, parked.position, parked.error),
    )
    report(
        "aggregate parked",
        {
            "read_model": parked.read_model,
            "aggregate_id": str(parked.aggregate_id),
            "position": parked.position,
            "error": parked.error.partition(":")[0],
        },
    )
