"""The way from a server to its database, which can be cut, held up and mended."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_SOCKET = ".s.PGSQL.5432"


class Line:
    """A socket in `folder` behind which is the database of `conninfo`."""

    def __init__(self, folder: Path, conninfo: str) -> None:
        self._folder = folder
        self._to = f"{conninfo_to_dict(conninfo)['host']}/{_SOCKET}"
        self.conninfo = make_conninfo(conninfo, host=str(folder), port=5432)
        """How to reach the database over this line."""
        self._whole = True
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._carried: dict[asyncio.Task[None], tuple[asyncio.StreamWriter, ...]] = {}

    async def __aenter__(self) -> Self:
        self._folder.mkdir(parents=True)
        self._server = await asyncio.start_unix_server(self._carry, str(self._folder / _SOCKET))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        self.mend()

    @property
    def connections(self) -> int:
        """How many are open now."""
        return len(self._carried)

    def cut(self) -> None:
        """Every connection ends at once, and so does each new one, until it is mended."""
        self._whole = False
        for writers in self._carried.values():
            for writer in writers:
                writer.transport.abort()
        for task in self._carried:
            task.cancel()

    def hold(self) -> None:
        """Nothing comes through until it is mended, and neither end is told."""
        self._flowing.clear()

    def mend(self) -> None:
        """What is held comes through, and new connections are made."""
        self._whole = True
        self._flowing.set()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carried[task] = (writer,)
        try:
            await self._flowing.wait()
            if not self._whole:
                return
            there_reader, there_writer = await asyncio.open_unix_connection(self._to)
            self._carried[task] = (writer, there_writer)
            ways = {
                asyncio.ensure_future(self._pump(reader, there_writer)),
                asyncio.ensure_future(self._pump(there_reader, writer)),
            }
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.wait(ways)
        except (OSError, asyncio.CancelledError):
            pass  # the database is away, or the line was cut: the connection ends
        finally:
            for end in self._carried.pop(task):
                with contextlib.suppress(OSError):
                    end.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
