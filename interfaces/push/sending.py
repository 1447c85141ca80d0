"""Handing a notice to push services, and what their answers mean."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import httpx
import structlog

from application.notices import PermanentFailure, TemporaryFailure
from application.ports import Clock
from application.subscriptions import Subscription, Subscriptions
from domain.errors import Unavailable
from interfaces.outside.addresses import Addresses, NotPublic, NotReachable
from interfaces.outside.answers import retry_after
from interfaces.outside.connections import CheckedTransport
from interfaces.push.messages import Push
from interfaces.push.vapid import VapidKey

_SECONDS = 12.0
"""For one notice to all its browsers, waiting for a turn included; less than a channel has in all."""

_AT_ONCE = 32
_GONE = (404, 410)
_LATER = (408, 425, 429)


log = structlog.get_logger(__name__)


class Unsubscribed(PermanentFailure):
    """The push service does not know the browser any more."""


Failure = TemporaryFailure | PermanentFailure


@dataclass(frozen=True, slots=True)
class Sent:
    """How many browsers a notice was taken for, and why not for the others."""

    taken: int
    failures: Sequence[Failure]


class Sender:
    """Sends, and keeps the subscriptions in step with what push services say."""

    def __init__(self, key: VapidKey, subscriptions: Subscriptions, addresses: Addresses, clock: Clock) -> None:
        self._key = key
        self._subscriptions = subscriptions
        self._addresses = addresses
        self._clock = clock
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._http: httpx.AsyncClient | None = None

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
        self._addresses.close()

    async def send(self, push: Push, to: Sequence[Subscription]) -> Sent:
        """Leave it with the push service of each of these browsers."""
        outcomes = await asyncio.gather(*(self._tried(push, subscription) for subscription in to))
        failures = [outcome for outcome in outcomes if outcome is not None]
        return Sent(len(outcomes) - len(failures), failures)

    async def _tried(self, push: Push, to: Subscription) -> Failure | None:
        try:
            async with asyncio.timeout(_SECONDS), self._places:
                await self._post(push, to)
        except TimeoutError:
            failure: Failure = TemporaryFailure(f"a push service did not answer within {_SECONDS:g} s")
        except (TemporaryFailure, PermanentFailure) as refused:
            failure = refused
        except Exception as fault:  # of ours: it must not keep the other browsers from being told
            log.warning("push failed", error=type(fault).__name__)
            failure = TemporaryFailure(type(fault).__name__)
        else:
            return None
        with suppress(Unavailable):  # the note only: the next answer will be the same
            if isinstance(failure, Unsubscribed):
                await self._subscriptions.drop(to.endpoint)
            else:
                await self._subscriptions.failed(to.endpoint, str(failure))
        return failure

    async def _post(self, push: Push, to: Subscription) -> None:
        """Raises `TemporaryFailure` or `PermanentFailure`; neither says where the browser is."""
        now = self._clock.now()
        url = httpx.URL(to.endpoint)
        audience = f"{url.scheme}://{url.netloc.decode()}"
        headers = {
            **push.headers(),
            **self._key.headers(audience, now),
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
        }
        content = push.encrypted_for(to)
        try:
            # What else it answers is of no use, and may be endless: it is not read.
            async with self._client().stream("POST", url, content=content, headers=headers) as response:
                _judge(response, now)
        except NotReachable:
            raise TemporaryFailure("the host of a push service cannot be found") from None
        except NotPublic:
            raise PermanentFailure("a push service has an address that nothing may be sent to") from None
        except httpx.HTTPError as error:
            raise TemporaryFailure(f"a push service cannot be reached ({type(error).__name__})") from None

    def _client(self) -> httpx.AsyncClient:
        """Made when it is first needed: where nobody subscribes, no certificates need be read."""
        if self._http is None:
            self._http = httpx.AsyncClient(
                transport=CheckedTransport(self._addresses),
                headers={"User-Agent": "handraise", "Accept": "*/*"},
                timeout=httpx.Timeout(_SECONDS, connect=5),
                follow_redirects=False,  # to where nobody has looked
                trust_env=False,  # a proxy would look the name up by itself
            )
        return self._http


def _judge(response: httpx.Response, now: datetime) -> None:
    status = response.status_code
    if response.is_success:
        return
    if status in _GONE:
        raise Unsubscribed("the browser is not subscribed any more")
    if status in _LATER or status >= 500:
        raise TemporaryFailure(f"a push service answered {status}", retry_after(response, now))
    raise PermanentFailure(f"a push service answered {status}")
