"""The database itself, for maintenance: the one given, that of a running server, or the embedded one, started."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from interfaces.cli.connection import check_connection_string
from interfaces.cli.output import CommandFailed

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        envvar="HANDRAISE_DATABASE_URL", help="The database.", show_default="the embedded one", show_envvar=True
    ),
]


@asynccontextmanager
async def database(database_url: str | None, data_dir: Path) -> AsyncGenerator[str]:
    """The conninfo of the database meant; the server may be running. Raises `CommandFailed`."""
    import psycopg

    from interfaces.postgres.embedded import EmbeddedPostgres, EmbeddedPostgresError

    try:
        if database_url is not None:
            check_connection_string(database_url)
            yield database_url
            return
        running = await _running(data_dir)
        if running is not None:
            yield running
            return
        if not (data_dir / "postgres" / "PG_VERSION").exists():
            raise CommandFailed(
                f"there is no database in {data_dir}: give --data-dir, or --database-url for one of your own"
            )
        async with EmbeddedPostgres(data_dir) as postgres:
            yield postgres.conninfo
    except EmbeddedPostgresError as error:
        raise CommandFailed(str(error)) from None
    except psycopg.errors.UndefinedTable:
        raise CommandFailed("this database holds no log of Handraise: is it the right one?") from None
    except psycopg.OperationalError as error:
        raise CommandFailed(f"cannot use the database: {str(error).strip()}") from None


async def _running(data_dir: Path) -> str | None:
    """The conninfo of the embedded Postgres of a server that runs now; None if none runs."""
    import psycopg

    from interfaces.postgres.embedded import conninfo_of_running

    conninfo = conninfo_of_running(data_dir)
    if conninfo is None:
        return None
    try:
        async with await psycopg.AsyncConnection.connect(conninfo, connect_timeout=10):
            return conninfo
    except psycopg.OperationalError:  # left by a server that was killed
        return None
