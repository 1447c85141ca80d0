"""What the commands say: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# Controls other than line breaks and tabs, and the characters that turn the direction of text around.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class CommandFailed(Exception):
    """The command cannot do it; `str(error)` is the line that says why and what to do."""


def visible(text: str) -> str:
    """`text` for a person's terminal: what could move the cursor or hide something is shown as an escape."""
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def say(text: str) -> None:
    """One line (or more) for the person at the terminal, on standard error."""
    print(visible(text), file=sys.stderr, flush=True)


def write_result(text: str) -> None:
    """The result and a line break on standard output, as UTF-8, flushed. Raises `CommandFailed`.

    A pipe or a file gets exactly `text`; a terminal gets it made visible.
    """
    if sys.stdout is None:
        raise CommandFailed("the result could not be written: standard output is closed")
    shown = visible(text) if sys.stdout.isatty() else text
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(shown.encode("utf-8") + b"\n")
        sys.stdout.buffer.flush()
    except OSError as error:
        # Otherwise the interpreter would try to flush the rest on its way out, and complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise CommandFailed(f"the result could not be written to standard output: {error.strerror or error}") from None


def as_json(value: Any) -> str:
    """Compact JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def console(*, stderr: bool = False) -> Console:
    """A terminal that shows texts as they are: no markup, no emoji codes."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def write_table(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """A table on standard output, its columns aligned; None is shown as nothing. No cell is ever cut short."""
    from rich.cells import cell_len

    lines = [
        list(columns),
        *(["" if cell is None else visible(str(cell)).replace("\n", " ") for cell in row] for row in rows),
    ]
    widths = [max(cell_len(line[column]) for line in lines) for column in range(len(columns))]
    for line in lines:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


def command(*words: str) -> str:
    """A `handraise` command line to copy, begun as this one was."""
    return shlex.join([*(["uv", "run"] if os.environ.get("UV") else []), "handraise", *words])
