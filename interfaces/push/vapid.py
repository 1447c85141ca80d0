"""How push services know who is sending (VAPID, RFC 8292): a key of this installation, and tokens signed with it."""

from __future__ import annotations

import base64
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02

_LIFETIME = timedelta(hours=12)
"""Of a token; push services take none that lasts longer than a day."""


def new_private_key() -> bytes:
    """A private key on the curve P-256, as 32 bytes."""
    return ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value.to_bytes(32, "big")


class VapidKey:
    """The installation's key; `contact` is where a push service's people turn to: an address, mailto: or https:."""

    def __init__(self, private_key: bytes, contact: str) -> None:
        key = ec.derive_private_key(int.from_bytes(private_key, "big"), ec.SECP256R1())
        # It takes fewer contacts for good than RFC 8292 does; the settings have looked at ours.
        self._vapid = Vapid02(key, conf={"no-strict": True})
        self._contact = contact
        point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.public_key = base64url(point)
        """What a browser subscribes with, in base64url (`applicationServerKey`)."""

    def headers(self, audience: str, now: datetime) -> dict[str, str]:
        """The header that lets a push service check who is sending. `audience` is its origin."""
        claims = {"aud": audience, "exp": int((now + _LIFETIME).timestamp()), "sub": self._contact}
        return self._vapid.sign(claims)


def base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
