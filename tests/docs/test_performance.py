"""The page on performance explains every bench there is, and its figures fit what the benches measure now."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.bench import document
from tests.bench.__main__ import BENCHES

PAGE = document.PAGE.read_text(encoding="utf-8")


def test_every_bench_is_explained_and_has_figures() -> None:
    """One sentence each, and at least one row."""
    assert set(re.findall(r"^\* \*\*(\w+)\*\*: ", PAGE.split("## What stands in the way")[0], re.M)) == set(BENCHES)
    assert set(re.findall(r"^\| (\w+) \|", PAGE, re.M)) - {"bench"} == set(BENCHES)


def test_a_missed_target_is_said_in_words() -> None:
    """Whatever the table shows as missed has its reason below."""
    missed = set(re.findall(r"^\| (\w+) \|.*\*\*missed\*\* \|$", PAGE, re.M))
    assert missed <= set(re.findall(r"^\* \*\*(\w+)\*\* ", PAGE.split("## What stands in the way")[1], re.M))


def test_figures_become_table_and_plot(tmp_path: Path) -> None:
    """From what `--json` writes."""
    figure = {"bench": "answers", "what": "so long", "unit": "ms", "figure": 5.5, "floor": 2.0, "ratio": 2.75,
              "target": 2.0, "bound": "at most", "of_floor": True, "holds": False}  # fmt: skip
    other = figure | {"what": "so many", "unit": "s", "figure": 1200.0, "floor": None, "ratio": None, "target": 1000.0,
                      "bound": "at least", "of_floor": False, "holds": True}  # fmt: skip
    assert document.table(json.loads(json.dumps([figure, other]))).splitlines()[2:] == [
        "| answers | so long | 5.50 ms | 2 ms | 2.75× | ≤ 2× | **missed** |",
        "| answers | so many | 1,200 s | – | – | ≥ 1000 s | holds |",
    ]
    assert [round(document.margin(each), 2) for each in (figure, other)] == [0.73, 1.2]
    pytest.importorskip("matplotlib")
    document.plot([figure, other], tmp_path / "plot.svg")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
