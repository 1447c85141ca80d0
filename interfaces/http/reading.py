"""Reading with freshness: `min_position`, cursors, and the parameters that all lists share."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Protocol, TypeVar

import psycopg
from fastapi import Query
from pydantic import BeforeValidator, Field

from domain.errors import Malformed
from interfaces.http.models import parse_instant

T = TypeVar("T")


class Reads(Protocol):
    """The read models, as fresh as the caller wants them."""

    async def read(
        self,
        model: str | None,
        min_position: int | None,
        query: Callable[[psycopg.AsyncConnection], Awaitable[T]],
    ) -> T:
        """Run a query over one read model (None: over what is never behind).

        Waits up to 2 s for the model to reach `min_position`, then shows what is there. Raises `Malformed` for a
        position beyond the log's head, `Unavailable` while the database cannot be reached.
        """
        ...

    async def newest(self) -> int:
        """The position of the newest event of the log."""
        ...

    async def check(self, min_position: int | None) -> None:
        """Raises `Malformed` for a position beyond the log's head."""
        ...


def encode_cursor(of: str, place: Sequence[str] | None) -> str | None:
    """A place in a list, and which list in which order it is a place of, as opaque text."""
    if place is None:
        return None
    return base64.urlsafe_b64encode(json.dumps([of, *place], ensure_ascii=False).encode()).decode().rstrip("=")


def decode_cursor(cursor: Any) -> list[str] | None:
    """What a cursor was made of. Raises `ValueError`."""
    if cursor is None:
        return None
    try:
        parts = json.loads(base64.urlsafe_b64decode(str(cursor)[:2000].encode("ascii") + b"=="))
    except (binascii.Error, ValueError, RecursionError):
        parts = None
    if not isinstance(parts, list) or not parts or not all(_is_text(part) for part in parts):
        raise ValueError("is not a cursor of this list: use next_cursor as it was given, or leave it out")
    return parts


def _is_text(part: Any) -> bool:
    return isinstance(part, str) and part.isascii() and part.isprintable()


def place_in(of: str, cursor: list[str] | None) -> list[str] | None:
    """The place that a cursor of this list stands for. Raises `Malformed` for another list's."""
    if cursor is None:
        return None
    if cursor[0] != of:
        raise other_list()
    return cursor[1:]


def other_list() -> Malformed:
    return Malformed("the cursor does not belong to this list and sort: start without it")


Limit = Annotated[int, Query(ge=1, le=200, description="How many items at most.")]
Cursor = Annotated[
    list[str] | None,
    BeforeValidator(decode_cursor, json_schema_input_type=str),
    Query(description="`next_cursor` of the page before."),
]
MinPosition = Annotated[
    int | None,
    Query(ge=0, le=2**63 - 1, description="Wait up to 2 s until what is shown is at least this fresh."),
]
QueryInstant = Annotated[
    datetime,
    BeforeValidator(parse_instant, json_schema_input_type=str),
    Field(json_schema_extra={"format": "date-time"}),
]
QueryText = Annotated[str, Query(min_length=1, max_length=500, pattern="^[^\\x00]*$")]
