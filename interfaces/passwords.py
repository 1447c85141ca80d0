"""Passwords as argon2id hashes; slow on purpose, so in a thread, and only a few at a time."""

from __future__ import annotations

import asyncio

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_AT_ONCE = 2
"""Each takes 64 MiB while it is being made."""


class Argon2Passwords:
    """Implements `application.sign_in.Passwords`."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        """`hasher` says how dear a hash is; by default as the library's authors advise."""
        self._hasher = hasher or PasswordHasher()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._nobodys: str | None = None

    async def hash(self, password: str) -> str:
        async with self._places:
            return await asyncio.to_thread(self._hasher.hash, password.encode("utf-8", "replace"))

    async def matches(self, hash: str | None, password: str) -> bool:
        if hash is None:
            if self._nobodys is None:
                self._nobodys = await self.hash("a password that nobody has")
            await self._verify(self._nobodys, password)
            return False
        return await self._verify(hash, password)

    async def _verify(self, hash: str, password: str) -> bool:
        def verify() -> bool:
            try:
                return self._hasher.verify(hash, password.encode("utf-8", "replace"))
            except (VerificationError, InvalidHashError):
                return False

        async with self._places:
            return await asyncio.to_thread(verify)
