"""Signed heads of the hash chain: what was true at a moment, kept outside the database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from application.ports import Clock
from application.tasks import end
from domain.request import instant
from interfaces.postgres.chain import Head
from interfaces.postgres.sealing import MasterKey

LOG_SECONDS = 3600.0

log = structlog.get_logger(__name__)


class HeadSigner:
    """Signs heads with a key made from the master key; anybody can check with the public key."""

    def __init__(self, master_key: MasterKey, clock: Clock) -> None:
        self._master_key = master_key
        self._clock = clock

    @property
    def _key(self) -> Ed25519PrivateKey:
        """Made anew each time: it changes when the master key is rotated, on all replicas together."""
        return Ed25519PrivateKey.from_private_bytes(self._master_key.derive("head signature"))

    @property
    def public_key(self) -> str:
        """Raw, in hex."""
        return self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    def sign(self, head: Head) -> dict[str, Any]:
        """The head with the time and a signature over both."""
        at = instant(self._clock.now())
        return {
            "position": head.position,
            "hash": head.hash.hex(),
            "head": str(head),
            "at": at,
            "signature": self._key.sign(f"{head} {at}".encode()).hex(),
            "public_key": self.public_key,
        }


def is_signed(head: str, at: str, signature: str, public_key: str) -> bool:
    """Whether this head was signed at that time by the holder of that key (both in hex)."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), f"{head} {at}".encode())
    except (InvalidSignature, ValueError):
        return False
    return True


class HeadLog:
    """Puts a signed head into the log at the start and every hour."""

    def __init__(self, read: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        self._read = read
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="head log")

    async def stop(self) -> None:
        if self._task is not None:
            await end(self._task)

    async def _run(self) -> None:
        while True:
            try:
                signed = await self._read()
                log.info("chain head", head=signed["head"], at=signed["at"], signature=signed["signature"])
            except Exception as error:
                log.warning("chain head not read", error=type(error).__name__)
            await asyncio.sleep(LOG_SECONDS)
