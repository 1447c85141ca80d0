"""Measure what the documentation promises: `python -m tests.bench`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog
import uvloop
from rich.console import Console

from tests.bench import (
    answers,
    catch_up,
    creates,
    cycles,
    exports,
    lists,
    many_waiters,
    restart,
    routing,
    sdk,
    streams,
    visible,
)
from tests.bench.database import Databases, databases
from tests.bench.report import Figure, show, write_json
from tests.bench.serving import raise_open_files
from tests.bench.sizes import FULL, QUICK, Sizes

BENCHES: dict[str, Callable[[Databases, Sizes], Awaitable[list[Figure]]]] = {
    "cycles": cycles.run,
    "answers": answers.run,
    "waiters": many_waiters.run,
    "creates": creates.run,
    "catch_up": catch_up.run,
    "visible": visible.run,
    "lists": lists.run,
    "streams": streams.run,
    "exports": exports.run,
    "routing": routing.run,
    "restart": restart.run,
    "sdk": sdk.run,
}


async def measure(names: list[str], sizes: Sizes, console: Console) -> list[Figure]:
    """Run these benches, one after the other, on one Postgres."""
    figures: list[Figure] = []
    async with databases() as server:
        for name in names:
            began = time.monotonic()
            with console.status(f"{name} …"):
                figures += await BENCHES[name](server, sizes)
            console.print(f"{name}: {time.monotonic() - began:.0f} s", style="dim")
    return figures


def main() -> None:
    """Prints one table. Ends with 0 also where a target is missed, with an error only where a bench fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--full", action="store_true", help="more and longer rounds: figures to quote")
    parser.add_argument("--only", choices=BENCHES, action="append", metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file, too")
    chosen = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))  # warnings and worse
    raise_open_files()
    console = Console(width=None if sys.stdout.isatty() else 160)
    figures = uvloop.run(measure(chosen.only or list(BENCHES), FULL if chosen.full else QUICK, console))
    show(figures, console)
    if chosen.json is not None:
        write_json(figures, chosen.json)


if __name__ == "__main__":
    main()
