"""A push service and browsers that subscribe to it: it takes nothing that a real one would not take."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route


@dataclass(frozen=True, slots=True)
class Received:
    """What came for a browser: what the push service saw of it, and what only the browser can read."""

    browser: Browser
    ttl: int
    urgency: str
    topic: str
    notice: dict[str, Any]


class Browser:
    """One that has subscribed: its endpoint, and keys that never leave it."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.auth = os.urandom(16)
        self.key = ec.generate_private_key(ec.SECP256R1())

    @property
    def p256dh(self) -> bytes:
        return point_of(self.key.public_key())

    def to_json(self) -> dict[str, Any]:
        """As `PushSubscription.toJSON()` has it."""
        keys = {"p256dh": encoded(self.p256dh), "auth": encoded(self.auth)}
        return {"endpoint": self.endpoint, "expirationTime": None, "keys": keys}

    def read(self, body: bytes) -> bytes:
        """The plain text of a message in one record (RFC 8188 and 8291). Raises `InvalidTag` or `ValueError`."""
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        if len(body) > 4096 or len(sealed) > size:
            raise ValueError("too long for one record")
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        shared = self.key.exchange(ec.ECDH(), public)
        secret = _derived(shared, self.auth, b"WebPush: info\0" + self.p256dh + sender, 32)
        key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
        padded = AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\0")
        if padded[-1:] != b"\2":
            raise ValueError("not the last record")
        return padded[:-1]


class FakePushService:
    """Takes notices for its browsers. `now` is what it holds tokens against."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.url = ""
        self.received: list[Received] = []
        self.bodies: list[bytes] = []
        """Everything that was sent, as it came over the wire."""

        self.answers: deque[Response] = deque()
        """Given to the next calls instead, one each; what they bring is not looked at."""

        self.calls: list[str] = []
        """The endpoint of every call."""

        self.wrong: list[str] = []
        """What a real push service would not have taken."""

        self.public_key: str | None = None
        """The key that browsers subscribed with; None takes any."""

        self._now = now
        self._browsers: dict[str, Browser] = {}
        self.api = Starlette(routes=[Route("/push/{name}", self._take, methods=["POST", "GET"])])

    def let_go(self) -> None:
        """Nothing here waits."""

    def browser(self) -> Browser:
        """A browser that has just subscribed."""
        name = secrets.token_urlsafe(16)
        browser = self._browsers[name] = Browser(f"{self.url}/push/{name}")
        return browser

    @property
    def notices(self) -> list[dict[str, Any]]:
        """What the browsers would show, in order."""
        return [received.notice for received in self.received]

    async def _take(self, request: Request) -> Response:
        body = await request.body()
        self.calls.append(str(request.url))
        self.bodies.append(body)
        if self.answers:
            return self.answers.popleft()
        try:
            received = self._checked(request, self._browsers[request.path_params["name"]], body)
        except Exception as error:
            self.wrong.append(f"{type(error).__name__}: {error}")
            return PlainTextResponse("no", 400)
        self.received.append(received)
        return PlainTextResponse("", 201)

    def _checked(self, request: Request, browser: Browser, body: bytes) -> Received:
        headers = request.headers
        assert request.method == "POST"
        assert headers["host"] == self.url.partition("://")[2]
        assert headers["content-encoding"] == "aes128gcm"
        self._check_token(headers["authorization"])
        ttl, urgency, topic = int(headers["ttl"]), headers["urgency"], headers["topic"]
        assert 0 <= ttl <= 24 * 3600, ttl
        assert urgency in ("very-low", "low", "normal", "high"), urgency
        assert 0 < len(topic) <= 32, topic
        decoded(topic)
        return Received(browser, ttl, urgency, topic, json.loads(browser.read(body)))

    def _check_token(self, header: str) -> None:
        """RFC 8292."""
        scheme, _, rest = header.partition(" ")
        assert scheme == "vapid", scheme
        parameters = dict(part.strip().split("=", 1) for part in rest.split(","))
        token, public_key = parameters["t"], parameters["k"]
        assert self.public_key in (None, public_key), "another key than the browser subscribed with"
        signed, _, signature = token.rpartition(".")
        head, claims = (json.loads(decoded(part)) for part in signed.split("."))
        assert (head["typ"], head["alg"]) == ("JWT", "ES256"), head
        r, s = (int.from_bytes(half, "big") for half in (decoded(signature)[:32], decoded(signature)[32:]))
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(public_key))
        key.verify(encode_dss_signature(r, s), signed.encode(), ec.ECDSA(SHA256()))
        assert claims["aud"] == self.url, claims
        expires = datetime.fromtimestamp(claims["exp"], UTC)
        assert self._now() < expires <= self._now() + timedelta(hours=24), claims
        assert claims["sub"].startswith(("mailto:", "https://")), claims


def point_of(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def decoded(text: str) -> bytes:
    """What this is in base64url without padding. Raises `ValueError` for anything else."""
    assert not set(text) & set("+/="), text
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)
