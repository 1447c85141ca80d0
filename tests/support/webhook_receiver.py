"""A receiver of webhooks that takes nothing but what Standard Webhooks allows, verified by other code than ours."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.support.sse import served

_TOLERANCE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Received:
    """A message that was verified, or was not looked at since the answer was to be another."""

    id: str
    timestamp: int
    signatures: list[str]
    message: dict[str, Any]
    body: bytes


Answer = Response | Callable[[], Awaitable[Response]]


class WebhookReceiver:
    """Answers 204 to what is signed with all of `secrets`, else 400. `now` is what it holds times against."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.url = ""
        self.secrets: list[str] = []
        self.received: list[Received] = []
        """Every call that was signed as it should be, whatever was answered."""

        self.calls: list[str] = []
        """The address of every call."""

        self.answers: deque[Answer] = deque()
        """Given to the next calls instead, one each."""

        self.wrong: list[str] = []
        """What a receiver would not have taken."""

        self._now = now
        routes = [Route("/{path:path}", self._take, methods=["GET", "POST", "PUT"])]
        self.api = Starlette(routes=routes)

    def let_go(self) -> None:
        """Nothing here waits for long."""

    @property
    def hook(self) -> str:
        """The address to be called at."""
        return f"{self.url}/hook"

    async def _take(self, request: Request) -> Response:
        body = await request.body()
        self.calls.append(str(request.url))
        try:
            self.received.append(self._verified(request, body))
        except Exception as error:
            self.wrong.append(f"{type(error).__name__}: {error}")
            return PlainTextResponse("no", 400)
        if self.answers:
            answer = self.answers.popleft()
            return answer if isinstance(answer, Response) else await answer()
        return Response(status_code=204)

    def _verified(self, request: Request, body: bytes) -> Received:
        headers = request.headers
        assert request.method == "POST", request.method
        assert headers["host"] == self.url.partition("://")[2]
        assert headers["content-type"] == "application/json"
        id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
        assert "." not in id, id
        assert timestamp.isdecimal(), timestamp
        assert abs(int(timestamp) - self._now().timestamp()) <= _TOLERANCE_SECONDS, timestamp
        signatures = headers["webhook-signature"].split(" ")
        assert all(verifies(secret, id, timestamp, body, signatures) for secret in self.secrets), "not signed"
        assert len(signatures) == len(self.secrets), "signed more often than there are secrets"
        message = json.loads(body)
        assert message.keys() == {"type", "timestamp", "data"}, message
        return Received(id, int(timestamp), signatures, message, body)


def verifies(secret: str, id: str, timestamp: str, body: bytes, signatures: list[str]) -> bool:
    """Whether one of these signatures was made with this secret."""
    prefix, _, encoded = secret.partition("_")
    assert prefix == "whsec", "no secret of a webhook"
    key = base64.b64decode(encoded, validate=True)
    assert 24 <= len(key) <= 64, "a secret has 24 to 64 bytes"
    for signature in signatures:
        version, _, value = signature.partition(",")
        assert version == "v1", version
        mac = HMAC(key, SHA256())
        mac.update(f"{id}.{timestamp}.".encode() + body)
        try:
            mac.verify(base64.b64decode(value, validate=True))
        except InvalidSignature:
            continue
        return True
    return False


async def hanging() -> Response:
    """An answer that does not come."""
    await asyncio.sleep(60)
    return Response(status_code=204)


@asynccontextmanager
async def receiver(now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> AsyncIterator[WebhookReceiver]:
    """One on a socket of this machine; all that it was sent must have been as it should be."""
    made = WebhookReceiver(now)
    async with served(made) as made.url:  # pyright: ignore[reportArgumentType]
        yield made
    assert made.wrong == []
