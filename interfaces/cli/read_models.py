"""`handraise rebuild`: read models made anew from the log. `handraise unpark`: what they could not digest, again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interfaces.cli.connection import DataDir, resolve
from interfaces.cli.database import DatabaseUrl, database
from interfaces.cli.output import CommandFailed, console, say, visible, write_result

if TYPE_CHECKING:
    from interfaces.postgres.log import PostgresLog
    from projections.read_models import ReadModel


def rebuild(
    name: Annotated[
        str | None, typer.Argument(help="A read model; all of them if not given.", show_default=False)
    ] = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Make read models anew from the first event on, while the old ones go on serving; then swap them.

    The server may be running. Refused where the hash chain does not verify: a read model must not be made from a log
    that is not what was written.
    """
    import asyncio

    from interfaces.app import READ_MODELS

    chosen = [model for model in READ_MODELS if name in (None, model.name)]
    if not chosen:
        known = ", ".join(model.name for model in READ_MODELS)
        raise CommandFailed(f"there is no read model {name!r}: there are {known}")
    asyncio.run(_rebuild(chosen, database_url, resolve(data_dir)))


async def _rebuild(models: list[ReadModel], database_url: str | None, data_dir: Path) -> None:
    import psycopg

    from interfaces.postgres.chain import verify
    from interfaces.postgres.pool import indexed
    from projections.log import UnknownEvent
    from projections.rebuild import Rebuilding
    from projections.rebuild import rebuild as rebuild_model

    async with database(database_url, data_dir) as conninfo:
        async with await psycopg.AsyncConnection.connect(conninfo) as connection:
            verdict = await verify(connection)
        if verdict.fault is not None:
            raise CommandFailed(f"nothing was rebuilt, since the log is not what was written: {verdict.fault}")
        log = await _log(conninfo, data_dir)
        async with await psycopg.AsyncConnection.connect(indexed(conninfo), autocommit=True) as connection:
            for model in models:
                started = time.monotonic()
                with _progress(model.name) as progress:
                    try:
                        count = await rebuild_model(connection, log, model, progress, _report)
                    except (Rebuilding, UnknownEvent) as error:
                        raise CommandFailed(str(error)) from None
                seconds = time.monotonic() - started
                write_result(f"{model.name}: {count:,} events in {seconds:.1f} s ({count / seconds:,.0f} events/s)")


def unpark(database_url: DatabaseUrl = None, data_dir: DataDir = None) -> None:
    """Try again what the read models could not digest. Exit code 1 while something is still parked."""
    import asyncio

    asyncio.run(_unpark(database_url, resolve(data_dir)))


async def _unpark(database_url: str | None, data_dir: Path) -> None:
    import psycopg

    from interfaces.app import READ_MODELS
    from projections.poison import retry_parked

    async with (
        database(database_url, data_dir) as conninfo,
        await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection,
    ):
        healed, left = await retry_parked(connection, await _log(conninfo, data_dir), READ_MODELS)
    write_result(f"{healed} well again, {len(left)} still parked")
    for parked in left:
        say(f"{parked.read_model}: {parked.aggregate_id} from position {parked.position}: {visible(parked.error)}")
    if left:
        raise typer.Exit(1)


async def _log(conninfo: str, data_dir: Path) -> PostgresLog:
    """The log, opened with the server's master key. Raises `CommandFailed`."""
    import psycopg

    from interfaces.credentials import SECRET_KEY, UnreadableFile, master_key
    from interfaces.postgres.installation import check_master_key
    from interfaces.postgres.log import PostgresLog
    from interfaces.postgres.sealing import MasterKey, WrongMasterKey
    from interfaces.settings import Settings

    given: dict[str, Any] = {"data_dir": data_dir}
    settings = Settings(**given)
    if settings.secret_key is None and not (data_dir / SECRET_KEY).exists():
        raise CommandFailed(
            f"there is no {SECRET_KEY} in {data_dir}: give the server's --data-dir, or HANDRAISE_SECRET_KEY"
        )
    try:
        key = MasterKey(master_key(settings))
        async with await psycopg.AsyncConnection.connect(conninfo) as connection:
            await check_master_key(connection, key)
    except (UnreadableFile, WrongMasterKey) as error:
        raise CommandFailed(str(error)) from None
    return PostgresLog(key)


class _progress:
    """A bar on standard error, where that is a terminal, with positions done and positions a second."""

    def __init__(self, name: str) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]} events/s"),
            TimeRemainingColumn(),
            console=console(stderr=True),
            transient=True,
        )
        self._started = time.monotonic()
        self._task = self._bar.add_task(name, total=None, speed="–")

    def __enter__(self) -> Callable[[int, int], None]:
        self._bar.start()
        return self._move

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def _move(self, reached: int, goal: int) -> None:
        speed = reached / max(time.monotonic() - self._started, 0.001)
        self._bar.update(self._task, completed=reached, total=goal, speed=f"{speed:,.0f}")


def _report(what: str, details: dict[str, object]) -> None:
    say(f"{what}: {', '.join(f'{name} {value}' for name, value in details.items())}")
