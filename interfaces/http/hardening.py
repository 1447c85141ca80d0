"""What every response carries, and what is turned away before anything looks at it."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interfaces.http.callers import session_token
from interfaces.http.problems import problem

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ALWAYS = [
    # The policy of what is data: a browser that takes it for a page may load and run nothing.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=()"),
]
_FRAMED: dict[bytes, bytes | None] = {b"x-frame-options": None, b"cross-origin-resource-policy": b"cross-origin"}
"""Instead, for a page whose own policy says who may frame it: nothing else may forbid what that allows."""

_HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")

_PROBED = ("/healthz", "/readyz")
"""Load balancers ask these by any address; they tell nothing and change nothing."""

_REMEMBERED_CALLERS = 10_000


class SecurityHeaders:
    """Tells browsers how little they may do with our responses; a page brings its own, wider policy."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app = app
        self._pages = [*_ALWAYS, *([_HTTPS_ONLY] if https else [])]
        self._api = [*self._pages, (b"cache-control", b"no-store")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        ours = self._api if scope["path"].startswith("/api/") else self._pages

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message["headers"]
                names = {name.lower() for name, _ in given}
                missing: dict[bytes, bytes | None] = {name: value for name, value in ours if name not in names}
                if _may_be_framed(given):
                    missing |= {name: value for name, value in _FRAMED.items() if name not in names}
                message["headers"] = [*given, *((name, value) for name, value in missing.items() if value is not None)]
            await send(message)

        await self._app(scope, receive, guarded)


def _may_be_framed(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether the response has a policy of its own that lets other pages put it into a frame."""
    for name, value in headers:
        if name.lower() == b"content-security-policy":
            for directive in value.split(b";"):
                words = directive.lower().split()
                if words and words[0] == b"frame-ancestors":
                    return words[1:] not in ([], [b"'none'"])
    return False


class AllowedHosts:
    """Turns away calls under names that are not ours: a page of another site that points its name at us is one."""

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str] | None) -> None:
        """`hosts` None allows every name."""
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._hosts is not None and scope["path"] not in _PROBED:
            host = host_name(Headers(scope=scope).get("host", ""))
            if host not in self._hosts:
                detail = f"this server is not called {host[:100]!r}: see HANDRAISE_ALLOWED_HOSTS"
                await problem(400, "Bad request", detail)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def allowed_hosts(listened_on: str, url: str, given: Iterable[str] | None) -> frozenset[str] | None:
    """The names that this server answers to; None for any.

    Those given; else its own address and this machine, or any where it listens on all addresses of the machine.
    """
    if given is not None:
        names = {host_name(name) for name in given}
        return None if "*" in names else frozenset(names | _LOOPBACK)
    own = urlsplit(url).hostname or ""
    if listened_on in ("0.0.0.0", "::") and own in _LOOPBACK:  # noqa: S104  comparing, not binding
        return None
    return frozenset({own.lower(), listened_on.lower()} | _LOOPBACK)


def host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    try:
        return (urlsplit(f"//{host.strip()}").hostname or "").lower()
    except ValueError:
        return ""


class RateLimit:
    """So many calls a minute for each credential, a burst of as many at once; of this replica alone."""

    def __init__(self, app: ASGIApp, *, per_minute: int) -> None:
        self._app = app
        self._most = float(per_minute)
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            wait = self._take(_caller_of(scope))
            if wait > 0:
                detail = f"this credential may make {self._most:.0f} calls a minute"
                headers = {"Retry-After": str(int(wait) + 1)}
                await problem(429, "Too many requests", detail, headers=headers)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _take(self, caller: bytes | None) -> float:
        """Seconds until this caller may call; 0 when it may now."""
        if caller is None:
            return 0.0
        now = time.monotonic()
        left, at = self._buckets.pop(caller, (self._most, now))
        left = min(self._most, left + (now - at) * self._most / 60)
        wait = 0.0 if left >= 1 else (1 - left) * 60 / self._most
        self._buckets[caller] = (left if wait else left - 1, now)
        if len(self._buckets) > _REMEMBERED_CALLERS:
            self._buckets.popitem(last=False)
        return wait


def _caller_of(scope: Scope) -> bytes | None:
    """The credential itself, however it was written and whatever was sent beside it."""
    request = Request(scope)
    header = request.headers.get("authorization")
    shown = session_token(request) if header is None else header.partition(" ")[2].strip()
    return hashlib.sha256(shown.encode("utf-8", "replace")).digest() if shown else None
