"""Where the server is, who calls it, and for how long it is worth trying; the same for every client."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class StandIn:
    """What takes the place of the network, the clock and the journal, in tests."""

    transport: httpx.MockTransport
    now: Callable[[], float]
    journal: Path


stand_in: StandIn | None = None
"""Used by clients that are made while it is set; `handraise.testing` sets it."""


class Connection:
    """Settings of a client. See `Client`."""

    def __init__(
        self,
        url: str | None,
        key: str | None,
        *,
        patience_seconds: float,
        connect_patience_seconds: float | None,
        via: str | None,
        is_replaced: bool,
    ) -> None:
        """Raises `ValueError` for an address or a key that cannot be one."""
        self.url = address(url or os.environ.get("HANDRAISE_URL") or DEFAULT_URL)
        self.patience_seconds = patience_seconds
        self.connect_patience_seconds = (
            patience_seconds if connect_patience_seconds is None else connect_patience_seconds
        )
        self.now: Callable[[], float] = time.monotonic
        """The clock that waits are measured with, in seconds."""
        self._stand_in = None if is_replaced else stand_in
        if self._stand_in is not None:
            self.now = self._stand_in.now
        self._headers = _headers(key, via)

    @property
    def journal_path(self) -> Path | None:
        """Where the journal of approved calls is, None where it always is."""
        return None if self._stand_in is None else self._stand_in.journal

    def _http_settings(self) -> dict[str, Any]:
        """What an httpx client is made with; a transport comes on top."""
        parsed = httpx.URL(self.url)
        return {
            "base_url": self.url,
            "headers": self._headers,
            # A proxy for the outside world is of no use to reach this very machine.
            "trust_env": not is_loopback(parsed.host),
            "verify": parsed.scheme == "https",
        }


def _headers(key: str | None, via: str | None) -> dict[str, str]:
    headers = {"Accept": "application/json"}
    key = (key or os.environ.get("HANDRAISE_API_KEY") or "").strip()
    if key:
        if not (key.isascii() and key.isprintable()):
            raise ValueError("the API key holds characters that no key has; was it copied whole?")
        headers["Authorization"] = f"Bearer {key}"
    if via is not None:
        headers["Handraise-Via"] = via
    return headers


def address(url: str) -> str:
    """The address of a server, without a slash at its end. Raises `ValueError` for what cannot be one."""
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL as error:
        raise ValueError(f"{url!r} is not the address of a server: {error}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(f"{url!r} is not the address of a server: expected something like {DEFAULT_URL}")
    return str(parsed).rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether this is a name or an address of the machine itself."""
    return host in ("localhost", "::1") or host.startswith("127.")
