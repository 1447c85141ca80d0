"""Signatures as Standard Webhooks has them, so that a receiver can use any library that knows these."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Sequence
from datetime import datetime

from domain.webhooks import SECRET_PREFIX

_SECRET_BYTES = 32


def new_secret() -> str:
    """A secret as receivers are given it."""
    return SECRET_PREFIX + base64.b64encode(os.urandom(_SECRET_BYTES)).decode()


def signed(secrets: Sequence[str], id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers for a body that is sent now, under this id: one signature for each secret."""
    timestamp = str(int(at.timestamp()))
    content = b"%b.%b.%b" % (id.encode(), timestamp.encode(), body)
    return {
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{_signature(secret, content)}" for secret in secrets),
    }


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
