"""`handraise serve`: everything in one process, or one half of it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interfaces.cli.connection import DataDir, check_connection_string, resolve
from interfaces.cli.output import CommandFailed, command

if TYPE_CHECKING:
    from interfaces.settings import Settings


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[
        int | None,
        typer.Option(help="The port to listen on; 0 takes a free one.", min=0, max=65535, show_default="8000"),
    ] = None,
    data_dir: DataDir = None,
    role: Annotated[
        str | None,
        typer.Option(
            help="What this server does beside others on its database: web answers calls; worker projects, keeps "
            "deadlines and tells Slack, browsers and webhooks.",
            metavar="all|web|worker",
            show_default="all",
        ),
    ] = None,
    no_admin_key: Annotated[
        bool, typer.Option("--no-admin-key", help="Write only the agent's key into credentials.json.")
    ] = False,
) -> None:
    """Serve until SIGTERM or Ctrl-C. Settings come from HANDRAISE_* variables; options come first.

    Waits that are under way then end with the request as it stands, and nothing is lost: agents ask again.
    """
    from pydantic import ValidationError

    from interfaces.server import run
    from interfaces.settings import Settings

    given: dict[str, Any] = {"host": host, "port": port, "data_dir": data_dir, "role": role}
    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise CommandFailed(_wrong_settings(error.errors(include_input=False))) from None
    if settings.database_url is not None:
        check_connection_string(settings.database_url)
    with refusals(settings.data_dir):
        in_good_order = run(settings, admin_key=not no_admin_key, announce=_announce)
    if not in_good_order:
        raise typer.Exit(1)


@contextmanager
def refusals(data_dir: Path) -> Generator[None]:
    """Raise `CommandFailed` for what a server that is run inside cannot do: listen, or use its files or database."""
    import psycopg

    from interfaces.credentials import UnreadableFile
    from interfaces.postgres.embedded import EmbeddedPostgresError
    from interfaces.postgres.migrate import SchemaTooNew
    from interfaces.postgres.sealing import WrongMasterKey
    from interfaces.server import CannotListen

    try:
        yield
    except (CannotListen, EmbeddedPostgresError, SchemaTooNew, UnreadableFile, WrongMasterKey) as error:
        raise CommandFailed(str(error)) from None
    except psycopg.OperationalError as error:
        raise CommandFailed(f"cannot use the database: {str(error).strip()}") from None
    except OSError as error:
        raise CommandFailed(f"cannot use {error.filename or data_dir}: {error.strerror}") from None


def _announce(settings: Settings, link: str | None) -> None:
    if settings.role == "worker":
        print(f"A worker of Handraise is running; {settings.url}/readyz says whether it can work", flush=True)
        return
    print(f"Handraise is running at {settings.url}", flush=True)
    if link is None:
        return
    from interfaces.credentials import CREDENTIALS

    where = [] if _is_default(settings.data_dir) else ["--data-dir", str(settings.data_dir)]
    # Two quotes around the question, as everybody types it.
    try_it = command("ask", "QUESTION", "--type", "approval", *where).replace("QUESTION", '"Deploy build 2041?"')
    print(
        f"\nSign in as its administrator, once, within 24 hours:\n\n  {link}\n"
        f"\nIts keys are in {settings.data_dir / CREDENTIALS}, which only you can read."
        f"\nTry this in another terminal; it says how to answer:\n\n  {try_it}\n\nCtrl-C stops the server.",
        flush=True,
    )


def _is_default(data_dir: Path) -> bool:
    return data_dir == resolve(None)


def _wrong_settings(errors: list[Any]) -> str:
    """Names and reasons, never the values: some are secrets."""
    return "; ".join(
        f"HANDRAISE_{'_'.join(str(part) for part in error['loc']).upper()}: "
        f"{error['msg'].removeprefix('Value error, ')}"
        for error in errors
    )
