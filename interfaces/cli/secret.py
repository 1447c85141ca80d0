"""`handraise secret rotate`: a new master key, while servers go on working."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interfaces.cli.connection import DataDir, resolve
from interfaces.cli.database import DatabaseUrl, database
from interfaces.cli.output import CommandFailed, say, write_result

if TYPE_CHECKING:
    from interfaces.settings import Settings

secret = typer.Typer(
    help="The master key, under which all other keys are kept.", no_args_is_help=True, rich_markup_mode=None
)


@secret.callback()
def _group() -> None:
    """The master key, under which all other keys are kept."""


@secret.command("rotate")
def rotate(
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare",
            help="All but the last step: both keys go on working until this is run again without it.",
        ),
    ] = False,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Replace the master key and wrap everything under the new one. Servers may be running, and go on working.

    The new key goes into the file secret.key or, where HANDRAISE_SECRET_KEY is set, to standard output, once. Whatever
    stops this, nothing is lost: run it again, with either key, and it goes on where it was.
    """
    import asyncio

    from interfaces.postgres.rotation import NotTakenOver, RotationUnderWay
    from interfaces.postgres.sealing import WrongMasterKey

    folder = resolve(data_dir)
    try:
        asyncio.run(_rotate(database_url, folder, prepare=prepare))
    except (NotTakenOver, RotationUnderWay, WrongMasterKey) as error:
        raise CommandFailed(str(error)) from None


async def _rotate(database_url: str | None, data_dir: Path, *, prepare: bool) -> None:
    import psycopg

    from interfaces import logs
    from interfaces.postgres import rotation

    settings, given = _present_key(data_dir)
    logs.configure(settings.model_copy(update={"log_level": "error"}))
    async with (
        database(database_url, data_dir) as conninfo,
        await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection,
        rotation.alone(connection),
    ):
        found = await rotation.begin(connection, given)
        if found.resumed:
            say("a rotation was begun before: going on with it")
        await rotation.until_known(connection, found)
        done = await rotation.rewrap(connection, found)
        if done.damaged:
            say(f"{done.damaged} data keys open under neither key: they were damaged before, and are left as they are")
        _hand_over(settings, given, found.new)  # before the old key stops working, whatever happens in between
        if prepare:
            say("both keys work until this command is run again without --prepare")
            return
        await rotation.finish(connection, found)
    say(f"rotated ({done.count:,} keys); the old master key is of use for older backups only")


def _present_key(data_dir: Path) -> tuple[Settings, bytes]:
    """The settings, and the master key of the next start. Raises `CommandFailed`."""
    from pydantic import ValidationError

    from interfaces.credentials import SECRET_KEY, UnreadableFile, master_key
    from interfaces.settings import Settings

    given: dict[str, Any] = {"data_dir": data_dir}
    try:
        settings = Settings(**given)
    except ValidationError:
        raise CommandFailed("a HANDRAISE_* variable makes no sense: `handraise serve` says which") from None
    if settings.secret_key is None and not (data_dir / SECRET_KEY).exists():
        raise CommandFailed(
            f"there is no {SECRET_KEY} in {data_dir}: give the server's --data-dir, or HANDRAISE_SECRET_KEY"
        )
    try:
        return settings, master_key(settings)
    except UnreadableFile as error:
        raise CommandFailed(str(error)) from None


def _hand_over(settings: Settings, given: bytes, new: bytes) -> None:
    """Put the new key where the next start finds it. Raises `CommandFailed`: both keys work still."""
    import base64

    from interfaces.credentials import write_master_key

    if settings.secret_key is None:
        try:
            path = write_master_key(settings.data_dir, new)
        except OSError as error:
            raise CommandFailed(
                f"the new key could not be written to {settings.data_dir}: {error.strerror or error}; both keys work, "
                "run this again"
            ) from None
        say(f"the new master key is in {path}; a server that has a file of its own needs a copy before its next start")
    elif given != new:
        write_result(base64.urlsafe_b64encode(new).decode())
        say("this is the new master key, shown this once: set HANDRAISE_SECRET_KEY to it before the next start")
    else:
        say("HANDRAISE_SECRET_KEY is the new master key already")
