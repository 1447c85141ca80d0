"""What is sent to a browser: never a word of what the agent wrote."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from datetime import datetime, timedelta

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec

from application.notices import URGENT, Message
from application.subscriptions import Subscription
from interfaces.push.vapid import base64url

TITLE = "Human feedback required"
LONGEST = timedelta(hours=24)
"""How long a push service keeps what it cannot deliver yet."""

_TOPIC_BYTES = 24  # 32 characters, the most that a topic may have


@dataclass(frozen=True, slots=True)
class Push:
    """A notice for a browser, before it is encrypted."""

    body: str
    url: str
    tag: str
    title: str = TITLE
    request_id: str | None = None
    urgent: bool = False
    lifetime: timedelta = LONGEST

    @classmethod
    def of(cls, message: Message, now: datetime) -> Push:
        """Word of a request. It is of no use any more once the request has expired."""
        id, asked = str(message.request.id), message.request.asked
        if message.person is not None:
            body = "You are asked to answer a request."
        elif message.list is not None:
            body = "A request waits for somebody to take it."
        else:
            body = "A request waits that nobody is asked to answer."
        lifetime = LONGEST if asked.expires_at is None else min(LONGEST, asked.expires_at - now)
        return cls(body, f"/requests/{id}", id, request_id=id, urgent=asked.priority <= URGENT, lifetime=lifetime)

    def headers(self) -> dict[str, str]:
        """How long it is worth keeping, whether it may wake somebody, and which earlier one it replaces."""
        # Of the tag only its hash: a push service need not know which request this is.
        topic = hashlib.sha256(f"handraise topic {self.tag}".encode()).digest()[:_TOPIC_BYTES]
        return {
            "TTL": str(max(0, math.ceil(self.lifetime.total_seconds()))),
            "Urgency": "high" if self.urgent else "normal",
            "Topic": base64url(topic),
        }

    def encrypted_for(self, subscription: Subscription) -> bytes:
        """Readable for this one browser only (RFC 8291, `aes128gcm`)."""
        said = {
            "title": self.title,
            "body": self.body,
            "request_id": self.request_id,
            "url": self.url,
            "tag": self.tag,
            "urgent": self.urgent,
        }
        return http_ece.encrypt(
            json.dumps(said, separators=(",", ":")).encode(),
            private_key=ec.generate_private_key(ec.SECP256R1()),  # for this one message
            dh=subscription.p256dh,
            auth_secret=subscription.auth,
            version="aes128gcm",
        )


TEST = Push(
    title="Handraise",
    body="Notices reach this browser.",
    url="/",
    tag="test",
    lifetime=timedelta(minutes=5),
)
"""What is sent to try it out."""
