"""`handraise mcp`: the tools for an agent that starts its MCP servers as programs."""

from __future__ import annotations

import os

from interfaces.cli.connection import DataDir, agent_client, find_credentials
from interfaces.cli.output import CommandFailed

_PROGRESS = "HANDRAISE_MCP_PROGRESS_SECONDS"


def mcp(data_dir: DataDir = None) -> None:
    """Serve the MCP tools on standard input and output, with the agent's key, until the input ends."""
    with agent_client(data_dir) as client:  # says what is missing as `ask` does
        url = client.url
    key = os.environ.get("HANDRAISE_API_KEY")
    if not key:
        found = find_credentials(data_dir)
        assert found is not None
        key = found.agent_key
        assert key is not None
    import asyncio
    import signal
    from importlib.metadata import version

    from interfaces.mcp.stdio import serve

    # Reading from a terminal cannot be interrupted otherwise, and there is nothing to put in order.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve(url, key.strip(), progress_seconds=_progress_seconds(), version=version("handraise-server")))


def _progress_seconds() -> float:
    """The server's setting: one variable means the same in both."""
    given = os.environ.get(_PROGRESS, "10")
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise CommandFailed(f"{_PROGRESS} must be a number of seconds above 0")
    return seconds
