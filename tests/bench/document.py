"""Put the figures of a run into docs/performance.md.

`uv run --group plots python -m tests.bench.document FIGURES`, where FIGURES is what `--json` wrote.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "performance.md"
PLOT = DOCS / "images" / "performance.svg"
_TABLE = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- end of figures -->)", re.S)


def margin(figure: dict[str, Any]) -> float:
    """How many times better than its target a figure is; below 1 it is missed."""
    value = figure["ratio"] if figure["of_floor"] else figure["figure"]
    return value / figure["target"] if figure["bound"] == "at least" else figure["target"] / max(value, 1e-9)


def table(figures: list[dict[str, Any]]) -> str:
    """As Markdown."""
    lines = ["| bench | what | figure | floor | ratio | target | |", "|---|---|--:|--:|--:|--:|---|"]
    for each in figures:
        sign = "≥" if each["bound"] == "at least" else "≤"
        target = f"{sign} {each['target']:g}×" if each["of_floor"] else f"{sign} {each['target']:g} {each['unit']}"
        floor = "–" if each["floor"] is None else f"{_number(each['floor'])} {each['unit']}"
        ratio = "–" if each["ratio"] is None else f"{each['ratio']:.2f}×"
        figure = f"{_number(each['figure'])} {each['unit']}"
        held = "holds" if each["holds"] else "**missed**"
        lines.append(f"| {each['bench']} | {each['what']} | {figure} | {floor} | {ratio} | {target} | {held} |")
    return "\n".join(lines) + "\n"


def plot(figures: list[dict[str, Any]], path: Path) -> None:
    """A bar for each figure: how many times better than its target."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "handraise"  # the same figures make the same file
    from matplotlib import pyplot

    shown = figures[::-1]
    margins = [min(max(margin(each), 0.1), 100) for each in shown]
    drawn, axes = pyplot.subplots(figsize=(9, 0.32 * len(shown) + 1.2), layout="constrained")
    colours = ["#4c6ef5" if each["holds"] else "#e8590c" for each in shown]
    axes.barh([f"{each['bench']}: {_short(each['what'])}" for each in shown], margins, color=colours, left=0.0)
    axes.axvline(1, color="#868e96", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(0.3, max(*margins, 3) * 1.3)
    axes.set_xlabel("times better than the target (1: just reached)")
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    drawn.savefig(path, format="svg", metadata={"Date": None})


def _short(what: str) -> str:
    return what if len(what) <= 48 else what[:47] + "…"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def main() -> None:
    """Rewrites table and plot."""
    figures = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["figures"]
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda _: table(figures), page), encoding="utf-8")
    plot(figures, PLOT)


if __name__ == "__main__":
    main()
