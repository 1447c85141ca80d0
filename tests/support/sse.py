"""A client of the live stream on a raw socket, strict about every byte, and the application behind a real socket.

`httpx` reads no endless response of an ASGI application in the same process, hence `served`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from interfaces.app import App

PATIENCE = 30.0
"""Seconds after which something that should have come counts as missing; never a time that a test takes."""

_EVENT = re.compile(rb"id: (0|[1-9][0-9]*)\nevent: ([A-Za-z]+)\ndata: ([^\r\n]*)\n\n")
_COMMENT = re.compile(rb":[^\r\n]*\n\n")


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the stream, its `data` read as JSON."""

    id: int
    type: str
    data: dict[str, Any]
    raw: bytes


class Stream:
    """One open stream. Blocks that are no comment and not exactly `id`, `event`, `data` fail, as do ids that fall."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._raw = bytearray()
        self._buffer = bytearray()
        self._ended = False
        self._last = -1
        self.status = 0
        self.headers: dict[str, str] = {}
        self.received = bytearray()
        """Every byte of the body so far."""

    async def event(self, seconds: float = PATIENCE) -> Event:
        """The next event; comments are passed over. Raises `TimeoutError`."""
        async with asyncio.timeout(seconds):
            while True:
                block = await self._block()
                assert block is not None, "the stream has ended"
                if isinstance(block, Event):
                    return block

    async def events(self, count: int, seconds: float = PATIENCE) -> list[Event]:
        """The next events, so many."""
        async with asyncio.timeout(seconds):
            return [await self.event(seconds) for _ in range(count)]

    async def until(self, is_last: Callable[[Event], bool], seconds: float = PATIENCE) -> list[Event]:
        """The next events, up to the first of which this is true."""
        found: list[Event] = []
        async with asyncio.timeout(seconds):
            while not (found and is_last(found[-1])):
                found.append(await self.event(seconds))
        return found

    async def comment(self, seconds: float = PATIENCE) -> None:
        """Returns when the next block has come, which must be a comment."""
        async with asyncio.timeout(seconds):
            block = await self._block()
        assert block == "comment", block

    async def end(self, seconds: float = PATIENCE) -> list[Event]:
        """The events that still come until the response ends, in good order. Raises `TimeoutError`."""
        found: list[Event] = []
        async with asyncio.timeout(seconds):
            while (block := await self._block()) is not None:
                if isinstance(block, Event):
                    found.append(block)
        return found

    async def close(self) -> None:
        """Go away."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def read_head(self) -> None:
        """Read status and headers; of anything but a stream, the body too."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.status = int(head[0].split()[1])
        for line in filter(None, head[1:]):
            name, _, value = line.partition(":")
            assert name.lower() not in self.headers, f"{name} twice"
            self.headers[name.lower()] = value.strip()
        if self.status == 200:
            assert self.headers["transfer-encoding"] == "chunked"
        else:
            self.received += await self._reader.readexactly(int(self.headers["content-length"]))

    async def _block(self) -> Event | str | None:
        """The next event, or `comment`; None once the response has ended."""
        while (end := self._buffer.find(b"\n\n")) < 0:
            if self._ended:
                assert not self._buffer, f"the stream ended within {bytes(self._buffer)!r}"
                return None
            if not self._unchunk():
                # Nothing is taken from the connection before it is kept: giving up in between loses nothing.
                received = await self._reader.read(1 << 16)
                assert received, "the connection ended within the response"
                self._raw += received
        block = bytes(self._buffer[: end + 2])
        del self._buffer[: end + 2]
        if _COMMENT.fullmatch(block):
            return "comment"
        match = _EVENT.fullmatch(block)
        assert match is not None, f"not an event: {block!r}"
        event = Event(int(match[1]), match[2].decode(), json.loads(match[3]), block)
        # Reading afresh can begin where the client already is.
        assert event.id > self._last or (event.type == "resync" and event.id == self._last), (event, self._last)
        self._last = event.id
        return event

    def _unchunk(self) -> bool:
        """Take one whole chunk of the response out of what was received; whether there was one."""
        line = self._raw.find(b"\r\n")
        if line < 0:
            return False
        first, size = line + 2, int(self._raw[:line], 16)
        if len(self._raw) < first + size + 2:
            return False
        chunk = self._raw[first : first + size]
        assert self._raw[first + size : first + size + 2] == b"\r\n"
        del self._raw[: first + size + 2]
        self._buffer += chunk
        self.received += chunk
        self._ended = size == 0
        return True


@asynccontextmanager
async def stream(
    url: str,
    key: str | None,
    *,
    after: object = None,
    last_event_id: object = None,
    headers: dict[str, str] | None = None,
    receive_buffer: int | None = None,
) -> AsyncIterator[Stream]:
    """A stream of the server at `url` with this key, its headers read. `receive_buffer` bytes make a client slow."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    with socket.socket() as connection:
        connection.setblocking(False)
        if receive_buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        await asyncio.get_running_loop().sock_connect(connection, (parts.hostname, parts.port))
        reader, writer = await asyncio.open_connection(sock=connection, limit=receive_buffer or 1 << 20)
        sent = {"Host": parts.netloc, "Accept": "text/event-stream"} | (headers or {})
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        if last_event_id is not None:
            sent["Last-Event-ID"] = str(last_event_id)
        query = "" if after is None else f"?after={after}"
        lines = [f"GET /api/stream{query} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
        writer.write("\r\n".join(lines).encode())
        opened = Stream(reader, writer)
        try:
            async with asyncio.timeout(PATIENCE):
                await opened.read_head()
            yield opened
        finally:
            await opened.close()


@asynccontextmanager
async def opened(url: str, key: str | None, **options: Any) -> AsyncIterator[Stream]:
    """A stream that is known to be live: its first bytes have come."""
    async with stream(url, key, **options) as made:
        assert made.status == 200, bytes(made.received)
        await made.comment()
        yield made


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield  # the test runner's signals are its own


@asynccontextmanager
async def served(app: App, *, send_buffer: int | None = None) -> AsyncIterator[str]:
    """The application on a socket of this machine; its address. `send_buffer` is how much the kernel takes at once."""
    with socket.socket() as listener:
        if send_buffer is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        listener.bind(("127.0.0.1", 0))
        listener.listen(256)
        listener.setblocking(False)
        config = uvicorn.Config(
            app.api,
            http="httptools",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            app.let_go()
            server.should_exit = True
            await serving


async def eventually(condition: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Returns once `condition` holds. Raises `AssertionError` saying `what` did not happen."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not condition():
        assert loop.time() < deadline, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(0.005)
