"""Which server, and with which key: the environment's, else what `serve` wrote into the data directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interfaces.cli.output import CommandFailed, command

if TYPE_CHECKING:
    from handraise import Client

    from interfaces.credentials import Credentials

DataDir = Annotated[
    Path | None,
    typer.Option(
        envvar="HANDRAISE_DATA_DIR",
        help="Where the server keeps its files; credentials.json there says how to reach it.",
        show_default="the user's data directory",
    ),
]

_PATIENCE_SECONDS = 15.0


def agent_client(data_dir: Path | None) -> Client:
    """A client with the agent's key, never a person's. Raises `CommandFailed`."""
    url, found = _server(data_dir)
    key = os.environ.get("HANDRAISE_API_KEY") or (found.agent_key if found else None)
    if not key:
        raise CommandFailed(_no_key("an agent's key"))
    return _client(url, key, None)


def people_client(data_dir: Path | None) -> Client:
    """A client with the administrator's key, never an agent's; its answers come `via` cli.

    Raises `CommandFailed`.
    """
    url, found = _server(data_dir)
    key = os.environ.get("HANDRAISE_API_KEY") or (found.admin_key if found else None)
    if not key:
        raise CommandFailed(_no_key("a person's key"))
    return _client(url, key, "cli")


def resolve(data_dir: Path | None) -> Path:
    """The data directory meant."""
    if data_dir is not None:
        return data_dir
    import platformdirs

    return platformdirs.user_data_path("handraise")


def find_credentials(data_dir: Path | None) -> Credentials | None:
    """What `serve` wrote, None if it never did. Raises `CommandFailed`."""
    from interfaces.credentials import UnreadableFile, read_credentials

    try:
        return read_credentials(resolve(data_dir))
    except UnreadableFile as error:
        raise CommandFailed(str(error)) from None


def check_connection_string(database_url: str) -> None:
    """Raises `CommandFailed` for what is no connection string, without showing it: there is a password in it."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        conninfo_to_dict(database_url)
    except psycopg.ProgrammingError:
        raise CommandFailed(
            "the database URL is not a connection string: expected postgresql://user:password@host/database"
        ) from None


def where_key_is_from() -> str:
    """Where the key in use stands, and what to do if it does not work."""
    if os.environ.get("HANDRAISE_API_KEY"):
        return f"HANDRAISE_API_KEY holds it; make another with: {command('key', 'create')}"
    return f"it is in credentials.json; starting the server again renews it: {command('serve')}"


def _server(data_dir: Path | None) -> tuple[str | None, Credentials | None]:
    url, key = os.environ.get("HANDRAISE_URL"), os.environ.get("HANDRAISE_API_KEY")
    if url and key:
        return url, None
    found = find_credentials(data_dir)
    if found is None and not key:
        raise CommandFailed(
            f"no server is known: there is no credentials.json in {resolve(data_dir)}; start one with "
            f"`{command('serve')}`, or set HANDRAISE_URL and HANDRAISE_API_KEY"
        )
    return url or (found.url if found else None), found


def _no_key(kind: str) -> str:
    return f"credentials.json holds no such key: set HANDRAISE_API_KEY to {kind}"


def _client(url: str | None, key: str, via: str | None) -> Client:
    _spare_the_command_of_httpx()
    from handraise import Client

    try:
        return Client(url, key, patience_seconds=_PATIENCE_SECONDS, connect_patience_seconds=0, via=via)
    except ValueError as error:
        raise CommandFailed(str(error)) from None


def _spare_the_command_of_httpx() -> None:
    """httpx loads its own command line program, if it can, and a third of our start-up time goes there."""
    if "httpx" not in sys.modules:
        sys.modules["httpx._main"] = None  # type: ignore[assignment]
        import httpx  # noqa: F401

        del sys.modules["httpx._main"]
