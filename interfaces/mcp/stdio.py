"""The tools over standard input and output, for an agent that starts this as a program."""

from __future__ import annotations

from typing import Any

from mcp.server.stdio import stdio_server

from interfaces.mcp.acknowledgements import Acknowledgements
from interfaces.mcp.protocol import new_server
from interfaces.mcp.remote import Remote
from interfaces.mcp.tools import Tools


async def serve(url: str, key: str, *, progress_seconds: float, version: str) -> None:
    """Serve until standard input ends."""
    acknowledgements = Acknowledgements()
    async with Remote(url, key) as backend:
        tools = Tools(backend, progress_seconds=progress_seconds)

        def for_call(_: Any) -> tuple[Tools, Any]:
            return tools, acknowledgements.add

        server = new_server(for_call, version=version)
        try:
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())
        finally:
            await acknowledgements.stop()
