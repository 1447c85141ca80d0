"""The benches run, with tiny numbers: what they find does not matter here."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from rich.console import Console

from tests.bench.__main__ import BENCHES, measure
from tests.bench.report import show, write_json
from tests.bench.sizes import TINY


@pytest.mark.thorough
@pytest.mark.timeout(300)
async def test_every_bench_gives_its_figures(tmp_path: Path) -> None:
    """Each bench measures something, and it can be shown and written."""
    console = Console(record=True, width=200)
    figures = await measure(list(BENCHES), TINY, console)
    assert {figure.bench for figure in figures} == set(BENCHES)
    for figure in figures:
        assert math.isfinite(figure.figure)
        assert figure.floor is None or figure.floor > 0
    show(figures, console)
    shown = console.export_text()
    assert all(figure.what in shown for figure in figures)
    write_json(figures, tmp_path / "figures.json")
    written = json.loads((tmp_path / "figures.json").read_text())["figures"]
    assert [row["what"] for row in written] == [figure.what for figure in figures]
    assert all({"figure", "floor", "ratio", "target", "holds"} <= row.keys() for row in written)
