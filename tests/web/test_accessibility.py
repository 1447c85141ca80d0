"""Every page by the rules of WCAG 2.2 AA, as axe checks them: in light, in dark, on a phone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.support.processes import ROOT
from tests.support.web import Web, settle
from tests.web.screenshots import LOOKS, fill

AXE = ROOT / "interfaces" / "web" / "ui" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

needs_axe = pytest.mark.skipif(
    not AXE.is_file(), reason="needs the packages of the web interface: npm ci in interfaces/web/ui"
)
pytestmark = needs_axe


def checked(page: Page) -> list[str]:
    """What axe finds once the page shows what it has to show, one line for each element."""
    settle(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return violations(page)


def violations(page: Page) -> list[str]:
    """What axe, which the page has loaded, finds now."""
    found: dict[str, Any] = page.evaluate(
        "async (rules) => await axe.run(document, { runOnly: rules, resultTypes: ['violations'] })", RULES
    )
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary'][:200]}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize(
    "look", ["dark", *(pytest.param(look, marks=pytest.mark.thorough) for look in ("light", "phone"))]
)
def test_no_page_breaks_a_rule(web: Web, look: str) -> None:
    """All pages, with content: lists, an open request with code and a table, forms, charts, settings."""
    shown = fill(web) | {f"settings-{part}": f"/settings/{part}" for part in SETTINGS}
    page = web.context(**LOOKS[look], reduced_motion="reduce").new_page()
    found: dict[str, list[str]] = {}
    for name, path in ({"sign-in": "/sign-in#nothing"} | shown | {"nothing": "/settings/nothing"}).items():
        page.goto(path)
        if bad := checked(page):
            found[name] = bad
    assert found == {}


def test_the_rules_find_something(web: Web) -> None:
    """A page that breaks two of them is told from one that does not."""
    page = web.sign_in()
    assert checked(page) == []
    page.evaluate("document.querySelector('h1').innerHTML = '<img src=\"/icon.svg\"><a href=\"/\"></a>'")
    assert {found.partition(":")[0] for found in violations(page)} == {"image-alt", "link-name"}


SETTINGS = (
    "lists",
    "agents",
    "agent-types",
    "categories",
    "request-types",
    "keys",
    "webhooks",
    "slack",
    "import-export",
)
