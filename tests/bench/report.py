"""What a bench found, as a table for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table

Bound = Literal["at least", "at most"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure and what is expected of it.

    `floor` was measured in the same run, under the same conditions. `target` bounds figure / floor where
    `of_floor`, else the figure itself.
    """

    bench: str
    what: str
    unit: str
    figure: float
    floor: float | None
    target: float
    bound: Bound
    of_floor: bool = True

    @property
    def ratio(self) -> float | None:
        """figure / floor; None without a floor."""
        return self.figure / self.floor if self.floor else None

    @property
    def holds(self) -> bool:
        """Whether the target is met."""
        value = self.ratio if self.of_floor else self.figure
        if value is None:
            return False
        return value >= self.target if self.bound == "at least" else value <= self.target

    @property
    def target_text(self) -> str:
        """The target as people read it."""
        sign = "≥" if self.bound == "at least" else "≤"
        return f"{sign} {self.target:g}×" if self.of_floor else f"{sign} {self.target:g} {self.unit}"


def show(figures: Sequence[Figure], console: Console) -> None:
    """Print one table."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("bench", "what", "unit"):
        table.add_column(heading)
    for heading in ("figure", "floor", "ratio", "target"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("holds")
    for figure in figures:
        table.add_row(
            figure.bench,
            figure.what,
            figure.unit,
            _number(figure.figure),
            "–" if figure.floor is None else _number(figure.floor),
            "–" if figure.ratio is None else f"{figure.ratio:.2f}×",
            figure.target_text,
            "[green]yes[/]" if figure.holds else "[red]no[/]",
        )
    console.print(table)


def write_json(figures: Sequence[Figure], path: Path) -> None:
    """Write the figures for machines: the fields of `Figure`, with `ratio` and `holds`."""
    rows = [asdict(figure) | {"ratio": figure.ratio, "holds": figure.holds} for figure in figures]
    path.write_text(json.dumps({"figures": rows}, indent=2) + "\n", encoding="utf-8")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"
