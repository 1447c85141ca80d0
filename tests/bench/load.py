"""Load over HTTP/1.1 from bare sockets: requests are built beforehand, responses are read by Content-Length.

An HTTP client library costs more per request than the servers measured here, and would hide them.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple, cast


class Response(NamedTuple):
    """A response, and when the last byte of it was here (`time.perf_counter`, seconds)."""

    status: int
    body: bytes
    at: float

    def json(self) -> Any:
        return json.loads(self.body)


class BadResponse(Exception):
    """The server closed the connection early, or sent what this reader does not understand."""


class Connection(asyncio.Protocol):
    """One keep-alive connection that carries one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._response: asyncio.Future[Response] | None = None

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect to this machine. Raises `OSError`."""
        _, protocol = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return protocol

    def send(self, request: bytes) -> asyncio.Future[Response]:
        """Write the request now; the future is its response. Raises `BadResponse` through the future."""
        if self._response is not None and not self._response.done():
            raise RuntimeError("this connection still waits for a response")
        self._response = asyncio.get_running_loop().create_future()
        if self._transport is None:
            self._response.set_exception(BadResponse("the connection is closed"))
        else:
            self._transport.write(request)
        return self._response

    def close(self) -> None:
        """Close it; a response still under way never comes."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one but for the name

    def data_received(self, data: bytes) -> None:
        at = time.perf_counter()
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator:
            return
        try:
            status, length = _read_head(head)
        except BadResponse as error:
            self._fail(error)
            return
        if len(body) < length:
            return
        self._received = b""
        if self._response is not None and not self._response.done():
            self._response.set_result(Response(status, body, at))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(BadResponse("the server closed the connection before its response was whole"))

    def _fail(self, error: BadResponse) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(error)
            self._response.exception()  # nobody may be there to read it when a bench ends early


def _read_head(head: bytes) -> tuple[int, int]:
    """Status and length of the body."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(head[9:12]), int(value)
    raise BadResponse(f"no Content-Length in {head[:200]!r}")


def build(method: str, path: str, body: Any = None, key: str | None = None) -> bytes:
    """A request's bytes. `key` is sent as bearer token, `body` as JSON."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    if key is not None:
        lines.append(f"Authorization: Bearer {key}")
    content = b""
    if body is not None:
        content = json.dumps(body, separators=(",", ":")).encode()
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join([*lines, "", ""]).encode() + content


async def open_many(port: int, count: int, at_once: int = 200) -> list[Connection]:
    """`count` connections, opened `at_once` at a time."""
    connections: list[Connection] = []
    while len(connections) < count:
        some = min(at_once, count - len(connections))
        connections += await asyncio.gather(*(Connection.open(port) for _ in range(some)))
    return connections


async def ask(port: int, request: bytes) -> Response:
    """One request on a connection of its own. Raises `OSError` or `BadResponse`."""
    connection = await Connection.open(port)
    try:
        return await connection.send(request)
    finally:
        connection.close()


async def rate(port: int, request: Callable[[], bytes], *, connections: int, seconds: float, status: int) -> float:
    """Requests a second that `connections` get answered, each sending its next one upon the last one's response.

    Raises `BadResponse` for any status but `status`.
    """
    opened = await open_many(port, connections)
    started = time.perf_counter()
    until = started + seconds

    async def keep_asking(connection: Connection) -> int:
        answered = 0
        while time.perf_counter() < until:
            response = await connection.send(request())
            if response.status != status:
                raise BadResponse(f"status {response.status}: {response.body[:300]!r}")
            answered += 1
        return answered

    try:
        counts = await asyncio.gather(*(keep_asking(connection) for connection in opened))
        return sum(counts) / (time.perf_counter() - started)
    finally:
        for connection in opened:
            connection.close()
