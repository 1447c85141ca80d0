"""`handraise erase`: what somebody wrote, made unreadable for good."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from interfaces.cli.connection import DataDir, people_client
from interfaces.cli.output import CommandFailed, visible, write_result


def erase(
    request: Annotated[
        str | None, typer.Option(metavar="ID", help="A closed request, by id or unique_id.", show_default=False)
    ] = None,
    person: Annotated[str | None, typer.Option(metavar="ID", help="A removed person.", show_default=False)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Make the content of a request, or the name and addresses of a person, unreadable for good.

    Who did what and when stays, and so does the hash chain. Backups made before still hold it until they are deleted.
    """
    if (request is None) == (person is None):
        raise typer.BadParameter("give exactly one of the two", param_hint="--request / --person")
    what = f"the content of request {request}" if person is None else f"the name and addresses of {person}"
    with people_client(data_dir) as client:
        if not yes:
            _confirm(what)
        if person is not None:
            client.erase_user(person)
        else:
            assert request is not None
            client.erase(request)
    write_result(f"erased {what}")


def _confirm(what: str) -> None:
    """Raises `CommandFailed` unless the person says yes."""
    # Not by typer: its question leaves a blank on standard output.
    print(visible(f"Erase {what}? Nobody can bring it back. [y/N] "), end="", file=sys.stderr, flush=True)
    answer = "" if sys.stdin is None else sys.stdin.readline()
    if not answer.endswith("\n"):  # nobody there to ask
        print(file=sys.stderr)
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandFailed("nothing was erased: answer y, or give --yes")
