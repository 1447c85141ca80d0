"""What answers from outside ask for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx


def retry_after(response: httpx.Response, now: datetime) -> timedelta | None:
    """What `Retry-After` says, in seconds or as a date; None where it says nothing that makes sense."""
    said = response.headers.get("retry-after", "").strip()
    if said.isascii() and said.isdecimal():
        return timedelta(seconds=int(said[:9]))
    try:
        at = parsedate_to_datetime(said)
    except ValueError:
        return None
    return max(at.replace(tzinfo=at.tzinfo or UTC) - now, timedelta(0))
