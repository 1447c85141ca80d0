"""Brings the schema up to date, once, however many replicas start together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files

import psycopg
from psycopg.abc import Query

from projections.read_models import ReadModel, ensure_read_models

MIGRATION_LOCK = 0x68616E6472_01
GENESIS = hashlib.sha256(b"handraise event chain").digest()
"""The hash at position 0, before the first event."""


class SchemaTooNew(Exception):
    """The database was migrated by a newer server; an older one must not touch it."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"the database has schema version {found}, this server knows versions up to {known}: "
            "start the newer server, or restore a backup made before the upgrade"
        )


def migrations() -> list[tuple[int, str]]:
    """(version, SQL) of every migration that comes with this server, in order."""
    found = [
        (int(entry.name.split("_", 1)[0]), entry.read_text(encoding="utf-8"))
        for entry in files("interfaces.postgres").joinpath("migrations").iterdir()
        if entry.name.endswith(".sql")
    ]
    return sorted(found)


async def migrate(conninfo: str) -> int:
    """Run what is missing, in one transaction, under an advisory lock; returns the schema's version.

    Raises `SchemaTooNew`.
    """
    known = migrations()
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_versions "
            "(version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        cursor = await connection.execute("SELECT coalesce(max(version), 0) FROM schema_versions")
        row = await cursor.fetchone()
        assert row is not None
        current: int = row[0]
        latest = known[-1][0]
        if current > latest:
            raise SchemaTooNew(current, latest)
        for version, sql in known:
            if version <= current:
                continue
            await connection.execute(_trusted(sql))
            await connection.execute("INSERT INTO schema_versions (version) VALUES (%s)", (version,))
        if current == 0:
            await connection.execute("INSERT INTO event_chain VALUES (0, %s)", (GENESIS,))
        return latest


async def prepare_read_models(connection: psycopg.AsyncConnection, models: Sequence[ReadModel]) -> list[str]:
    """Make the tables of new or changed read models, once, however many replicas start together; their names."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        return await ensure_read_models(connection, models)


def _trusted(sql: str) -> Query:
    """Our own files, not input: psycopg asks for literal strings elsewhere."""
    return sql.encode()
