"""The requests of one agent on a server elsewhere, over HTTP; patient while that restarts."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import quote

import httpx

from domain import errors
from interfaces.mcp.in_process import receipt
from interfaces.mcp.results import View

_POLL_SECONDS = 30.0
_LONGEST_DELAY = 2.0
_AGAIN = frozenset({429, 502, 503, 504})

_REFUSALS: dict[int, type[errors.Refusal]] = {
    401: errors.NotSignedIn,
    403: errors.NotAllowed,
    404: errors.NotFound,
    409: errors.Conflict,
    410: errors.Gone,
    413: errors.TooLarge,
}


class Remote:
    """The backend of the tools for one key. Raises `Unavailable` when there is no server for `patience_seconds`."""

    def __init__(
        self, url: str, key: str, *, patience_seconds: float = 15.0, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._url = url
        self._key = key
        self._patience_seconds = patience_seconds
        parsed = httpx.URL(url)
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"Accept": "application/json", "Authorization": f"Bearer {key}"},
            transport=transport,
            # A proxy for the outside world is of no use to reach this very machine.
            trust_env=not (parsed.host in ("localhost", "::1") or parsed.host.startswith("127.")),
            verify=parsed.scheme == "https",
            # Every call that waits is a connection.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def create(self, body: dict[str, Any]) -> View:
        """Ask; it has a `unique_id`, so that repeating it asks once."""
        return await self._call("POST", "/api/requests", body)

    async def get(self, id: str) -> View:
        """The request."""
        return await self._call("GET", _path(id))

    async def wait(self, id: str, seconds: float) -> View:
        """The request once it is closed, or as it stands after `seconds`; restarts are waited out."""
        deadline = time.monotonic() + seconds
        delay = 0.1
        while True:
            began = time.monotonic()
            poll = max(0.0, min(_POLL_SECONDS, deadline - began))
            view = await self._call(
                "GET",
                f"{_path(id)}/wait?timeout_seconds={poll:.3f}",
                patience=max(self._patience_seconds, deadline - began),
                read_seconds=poll + 15.0,
            )
            now = time.monotonic()
            if view["status"] != "Requested" or now >= deadline:
                return view
            if now - began < poll / 2:  # a server that stops ends its waits early
                await asyncio.sleep(min(delay, max(0.0, deadline - now)))
                delay = min(delay * 2, _LONGEST_DELAY)
            else:
                delay = 0.1

    async def cancel(self, id: str, reason: str | None) -> View:
        """Withdraw the request; a repeat does nothing."""
        return await self._call("POST", f"{_path(id)}/cancel", {"reason": reason})

    def receipt(self, id: str) -> str:
        """A receipt that only who has the key can make."""
        return receipt(self._key, id)

    async def collect(self, id: str, receipt: str) -> Mapping[str, Any]:
        """The sealed answer."""
        return await self._call("POST", f"{_path(id)}/collect", {"receipt": receipt})

    async def acknowledge(self, id: str, receipt: str) -> None:
        """Have it destroyed."""
        await self._call("POST", f"{_path(id)}/acknowledge", {"receipt": receipt})

    async def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        patience: float | None = None,
        read_seconds: float = 30.0,
    ) -> dict[str, Any]:
        """The answer's JSON. All calls of this class may be repeated, and are."""
        patience = self._patience_seconds if patience is None else patience
        # ASCII, so that text which is not Unicode arrives and is refused by name.
        content = None if body is None else json.dumps(body).encode()
        headers = {} if content is None else {"Content-Type": "application/json"}
        began, delay = time.monotonic(), 0.1
        while True:
            try:
                response = await self._http.request(
                    method,
                    path,
                    content=content,
                    headers=headers,
                    timeout=httpx.Timeout(read_seconds, connect=10.0, pool=None),
                )
            except httpx.RequestError:
                failure: errors.Refusal = errors.Unavailable(
                    f"the server at {self._url} cannot be reached. Nothing is lost: what was asked stays open. Call "
                    "again with the same unique_id."
                )
                again = True
            else:
                if response.is_success:
                    return _json(self._url, response)
                failure, again = _refusal(response), response.status_code in _AGAIN
            pause = delay * random.uniform(0.5, 1.0)  # noqa: S311  no secret
            if not again or time.monotonic() - began + pause > patience:
                raise failure
            await asyncio.sleep(pause)
            delay = min(delay * 2, _LONGEST_DELAY)


def _path(id: str) -> str:
    return f"/api/requests/{quote(id, safe='', errors='surrogatepass')}"


def _json(url: str, response: httpx.Response) -> dict[str, Any]:
    try:
        found = response.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise errors.Unavailable(f"{url} is no Handraise server: it answered with something other than JSON")
    return found


def _refusal(response: httpx.Response) -> errors.Refusal:
    try:
        problem = response.json()
        detail, title = str(problem["detail"]), str(problem.get("title"))
        found = [errors.FieldError(error["path"], error["message"]) for error in problem.get("errors") or ()]
    except (ValueError, TypeError, LookupError):
        return errors.Unavailable(f"the server answered {response.status_code} {response.reason_phrase}".strip())
    if found:
        return errors.Invalid(found, detail)
    if title == errors.AlreadyExists.title:
        return errors.AlreadyExists(detail)
    return _REFUSALS.get(response.status_code, errors.Unavailable)(detail)
