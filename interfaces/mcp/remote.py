"""The requests of one agent on a server elsewhere, by the agents' SDK, which is patient while that restarts."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Self, TypeVar, cast

import httpx
from handraise import AsyncClient, HandraiseError, Unreachable

from domain import errors
from interfaces.mcp.in_process import receipt
from interfaces.mcp.results import View

_REFUSALS: dict[int | None, type[errors.Refusal]] = {
    401: errors.NotSignedIn,
    403: errors.NotAllowed,
    404: errors.NotFound,
    409: errors.Conflict,
    410: errors.Gone,
    413: errors.TooLarge,
}

T = TypeVar("T")


class Remote:
    """The backend of the tools for one key. Raises `Unavailable` when there is no server for `patience_seconds`."""

    def __init__(
        self, url: str, key: str, *, patience_seconds: float = 15.0, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._key = key
        self._client = AsyncClient(url, key, patience_seconds=patience_seconds, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def create(self, body: dict[str, Any]) -> View:
        """Ask; it has a `unique_id`, so that repeating it asks once."""
        return await self._view(self._client.create(**body))

    async def get(self, id: str) -> View:
        """The request."""
        return await self._view(self._client.get(id))

    async def wait(self, id: str, seconds: float) -> View:
        """The request once it is closed, or as it stands after `seconds`; restarts are waited out."""

        async def wait() -> Any:
            try:
                return await self._client.wait(id, seconds)
            except Unreachable:  # the time was over while the server restarted: that need not be the end of the call
                return await self._client.get(id)

        return await self._view(wait())

    async def cancel(self, id: str, reason: str | None) -> View:
        """Withdraw the request; a repeat does nothing."""
        return await self._view(self._client.cancel(id, reason))

    def receipt(self, id: str) -> str:
        """A receipt that only who has the key can make."""
        return receipt(self._key, id)

    async def collect(self, id: str, receipt: str) -> Mapping[str, Any]:
        """The sealed answer."""
        return await self._asked(self._client.collect(id, receipt))

    async def acknowledge(self, id: str, receipt: str | None) -> None:
        """Say that the answer was handed over; have a sealed one destroyed."""
        await self._asked(self._client.acknowledge(id, receipt))

    async def _view(self, call: Awaitable[Any]) -> View:
        view = await self._asked(call)
        if not isinstance(view, dict):
            raise errors.Unavailable(f"{self._client.url} is no Handraise server: it answered with something else")
        return cast(View, view)

    async def _asked(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except Unreachable:
            raise errors.Unavailable(
                f"the server at {self._client.url} cannot be reached. Nothing is lost: what was asked stays open. Call "
                "again with the same unique_id."
            ) from None
        except HandraiseError as error:
            raise _refusal(error) from None


def _refusal(error: HandraiseError) -> errors.Refusal:
    """What the server refused, as the tools know it."""
    if error.errors:
        return errors.Invalid([errors.FieldError(each["path"], each["message"]) for each in error.errors], error.detail)
    if error.title == errors.AlreadyExists.title:
        return errors.AlreadyExists(error.detail)
    return _REFUSALS.get(error.status, errors.Unavailable)(error.detail)
