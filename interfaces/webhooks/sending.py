"""Posting to receivers: to checked addresses only, and what their answers mean."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta

import httpx
import structlog

from application.ports import Clock
from application.webhooks import Answered
from domain.errors import FieldError, Invalid
from interfaces.outside.addresses import Addresses, NotPublic, NotReachable, place_of
from interfaces.outside.answers import retry_after
from interfaces.outside.connections import CheckedTransport
from interfaces.webhooks.signing import signed

SECONDS = 15.0
"""For one call, looking its host up included; shorter than the lease of its step."""

log = structlog.get_logger(__name__)


class Sender:
    """Posts signed bodies. Nothing of an answer is kept but its status."""

    def __init__(self, addresses: Addresses, clock: Clock, *, give_up_after: float = SECONDS) -> None:
        self._addresses = addresses
        self._clock = clock
        self._give_up_after = give_up_after
        self._http: httpx.AsyncClient | None = None

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
        self._addresses.close()

    async def check(self, url: str) -> None:
        """Raises `Invalid` for a URL that nothing may be posted to."""
        if (wrong := await self._wrong_with(url)) is not None:
            raise Invalid([FieldError("url", wrong)])

    async def _wrong_with(self, url: str) -> str | None:
        place = place_of(url)
        if place is None:
            return "must be an address like https://example.com/handraise, without a user, a password or a fragment"
        if not 0 < place.port < 65536:
            return f"has the port {place.port}, which there is not"
        if place.scheme != "https" and not self._addresses.allow_private:
            return "must begin with https://"
        try:
            await self._addresses.of(place.scheme, place.host.strip("[]"), place.port)
        except (NotPublic, NotReachable) as error:
            return f"is not to be reached: {error}"
        return None

    async def send(self, url: str, secrets: Sequence[str], id: str, body: bytes) -> Answered:
        """Post this body, signed with each of the secrets; what became of it is never an exception."""
        started = time.perf_counter()
        status, error, after = None, None, None
        try:
            async with asyncio.timeout(self._give_up_after):
                status, error, after = await self._post(url, secrets, id, body)
        except TimeoutError:
            error = f"no answer within {self._give_up_after:g} s"
        except (NotPublic, NotReachable) as refused:
            error = f"not called: {refused}"
        except httpx.HTTPError as failure:
            error = f"cannot be reached ({type(failure).__name__})"
        except Exception as fault:  # of ours: it must not be tried for ever without a word
            log.warning("webhook failed", error=type(fault).__name__)
            error = type(fault).__name__
        return Answered(status, error, timedelta(seconds=time.perf_counter() - started), after)

    async def _post(
        self, url: str, secrets: Sequence[str], id: str, body: bytes
    ) -> tuple[int | None, str | None, timedelta | None]:
        if not secrets:
            return None, "not called: its secret cannot be opened, rotate it", None
        now = self._clock.now()
        headers = {**signed(secrets, id, now, body), "Content-Type": "application/json"}
        # What else it answers is of no use, and may be endless: it is not read.
        async with self._client().stream("POST", url, content=body, headers=headers) as response:
            status = response.status_code
            if response.is_success:
                return status, None, None
            if response.has_redirect_location:
                return status, f"answered {status}: redirects are not followed", None
            return status, f"answered {status}", retry_after(response, now)

    def _client(self) -> httpx.AsyncClient:
        """Made when it is first needed: where there are no webhooks, no certificates need be read."""
        if self._http is None:
            self._http = httpx.AsyncClient(
                transport=CheckedTransport(self._addresses),
                headers={"User-Agent": "handraise", "Accept": "*/*"},
                timeout=httpx.Timeout(self._give_up_after, connect=5),
                follow_redirects=False,  # to where nobody has looked
                trust_env=False,  # a proxy would look the name up by itself
            )
        return self._http
