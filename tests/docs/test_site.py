"""The documentation as a site: every link and anchor leads somewhere, and every page is in the navigation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """Warnings are errors; decisions are reached from their list."""
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "site" / "index.html").exists()
    unlisted = [line for line in built.stderr.splitlines() if line.startswith("  - ") and "decisions/0" not in line]
    assert unlisted == []
