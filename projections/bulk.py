"""Rows as columns: one array a column, so that a statement changes many rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg


async def for_all(connection: psycopg.AsyncConnection, statement: bytes, rows: Sequence[tuple[Any, ...]]) -> None:
    """Run a statement that unnests one array parameter a column; nothing for no rows."""
    if rows:
        await connection.execute(statement, [list(column) for column in zip(*rows, strict=True)])
