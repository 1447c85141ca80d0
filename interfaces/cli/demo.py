"""`handraise demo`: a server with people and agents at work, to look at and to throw away."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interfaces.cli.output import visible
from interfaces.cli.serve import refusals

if TYPE_CHECKING:
    from interfaces.settings import Settings


def demo(
    port: Annotated[
        int | None,
        typer.Option(
            help="The port to listen on; 0 takes a free one.",
            min=0,
            max=65535,
            show_default="8000, or a free one where that is taken",
        ),
    ] = None,
    pace: Annotated[
        float, typer.Option(help="How fast agents and sample people act: 2 is twice as fast.", min=0.1, max=100)
    ] = 1.0,
) -> None:
    """Look at Handraise at work: three scripted agents ask you and sample people, until Ctrl-C.

    Its database is its own and thrown away at the end. It listens on this machine only, and no HANDRAISE_* setting
    holds for it.
    """
    from interfaces.demo.agent import Pace
    from interfaces.demo.serving import serve_demo

    with tempfile.TemporaryDirectory(prefix="handraise-demo-") as folder:
        data_dir = Path(folder)
        with refusals(data_dir):
            in_good_order = serve_demo(data_dir, port, Pace(pace), _announce, _print_line)
    if not in_good_order:
        raise typer.Exit(1)


def _announce(settings: Settings, link: str | None) -> None:
    print(
        f"""This is a demo of Handraise, at {settings.url}, for this machine only.

Sign in as its administrator, once:

  {link}

Inbox: three agents wait for you. Answer one: within seconds it goes on, says so here, and asks the next thing.
Dashboard and Audit: what they and the sample people do, as it happens, and why each was asked.
In another terminal: the commands find it with --data-dir {settings.data_dir}

Ctrl-C ends the demo and throws everything away.
""",
        flush=True,
    )


def _print_line(line: str) -> None:
    print(visible(line), flush=True)
