"""The four layers and their one direction, checked; and nothing outside them."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from importlinter import cli

ROOT = Path(__file__).parent.parent
LAYERS = {"domain", "application", "projections", "interfaces"}
ADAPTERS = {"http", "mcp", "postgres", "push", "slack", "sse", "web", "webhooks"}
"""Folders of `interfaces` that speak to one part of the world and know nothing of each other."""
SHARED = {"outside"}
"""Folders that adapters use, and that know none of them."""
COMPOSING = {"cli", "client", "demo"}
"""Folders that put adapters together, or stand alone."""


def test_the_contracts_hold(monkeypatch) -> None:
    """Every import follows the one direction: interfaces, then application or projections, then domain."""
    monkeypatch.chdir(ROOT)
    assert cli.lint_imports(no_cache=True) == cli.EXIT_STATUS_SUCCESS


def test_every_package_is_placed() -> None:
    """A new top-level package, or a new adapter, must be given its place before it can land."""
    packages = {folder.parent.name for folder in ROOT.glob("*/__init__.py")} - {"tests"}
    assert packages == LAYERS
    folders = {entry.name for entry in (ROOT / "interfaces").iterdir() if entry.is_dir() and entry.name[0] not in "._"}
    assert folders == ADAPTERS | SHARED | COMPOSING


def test_the_domain_imports_the_standard_library_and_the_librarys_domain_only() -> None:
    """`domain` stands on the standard library, itself, and `eventsourcing.domain`."""
    foreign = set()
    for path in (ROOT / "domain").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                foreign.add(node.module or "")
            elif isinstance(node, ast.Import):
                foreign.update(alias.name for alias in node.names)
    outside = {name for name in foreign if name.split(".")[0] not in {*sys.stdlib_module_names, "domain"}}
    assert outside == {"eventsourcing.domain"}


def test_nothing_below_interfaces_asks_for_the_time_or_the_environment() -> None:
    """`now` is passed in, and settings are: no clock, no environment, no randomness of the system below the edge."""
    forbidden = ("datetime.now(", "utcnow(", "time.time(", "os.environ", "getenv(", "time.monotonic(")
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for layer in ("domain", "application", "projections")
        for path in (ROOT / layer).rglob("*.py")
        for word in forbidden
        if word in path.read_text(encoding="utf-8")
    ]
    assert found == []
