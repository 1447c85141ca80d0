"""Pictures of all pages for the docs: `uv run python -m tests.web.screenshots [FOLDER]`, docs/images by default.

A server of its own with believable people and requests; each page in light, in dark, and at the width of a phone.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.support.processes import ROOT, ServerProcess
from tests.support.web import Web, chromium, settle

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "device_scale_factor": 2,
        "color_scheme": "light",
        "has_touch": True,
        "is_mobile": True,
    },
}
_DIFF = """```diff
--- a/deploy/production.yaml
+++ b/deploy/production.yaml
@@ -4,5 +4,5 @@
 service: checkout
-replicas: 4
+replicas: 6
-image: checkout:2040
+image: checkout:2041
```"""
_CONTRACT: dict[str, Any] = {
    "type": "object",
    "required": ["customer", "start", "plan"],
    "properties": {
        "customer": {"type": "string", "title": "Customer"},
        "start": {"type": "string", "format": "date", "title": "Start of the contract"},
        "plan": {"type": "string", "title": "Plan", "enum": ["Basic", "Team", "Company"]},
        "discount": {"type": "number", "title": "Discount (%)", "minimum": 0, "maximum": 40},
        "reverse_charge": {"type": "boolean", "title": "Reverse charge applies"},
    },
}
_CODE: dict[str, Any] = {
    "type": "object",
    "required": ["code"],
    "properties": {"code": {"type": "string", "pattern": "^[0-9]{6}$", "title": "6-digit code"}},
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="handraise-pictures-") as temporary, ExitStack() as stack:
        browser = stack.enter_context(chromium())
        server = stack.enter_context(ServerProcess(Path(temporary) / "data"))
        web = Web(server, browser, stack)
        shown = fill(web)
        for look, options in LOOKS.items():
            page = web.context(**options).new_page()
            for name, path in shown.items():
                take(page, path, folder / f"{name}-{look}.png")
        if web.faults:
            sys.exit("\n".join(web.faults))


def take(page: Page, path: str, file: Path) -> None:
    page.goto(path)
    settle(page)
    page.screenshot(path=file)
    print(file)


def fill(web: Web) -> dict[str, str]:
    """People, lists, agents and what they ask; returns the pages to show."""
    for id, name in (("alice", "Alice Moreau"), ("bob", "Bob Lindqvist"), ("chen", "Chen Wei")):
        web.person(id, name=name, email=f"{id}@example.com")
    web.person("ines", role="auditor", name="Ines Duarte")
    add(web, "lists", id="oncall", name="On call", members=["admin", "alice", "bob"])
    add(web, "lists", id="finance", name="Finance", members=["chen", "alice"])
    add(web, "agent-types", id="release", name="Release agents", assignment_strategy={"type": "AgentOwner"})
    agents = {}
    for id, name, owner in (
        ("deployer", "Deployer", "admin"),
        ("importer", "Importer", "bob"),
        ("support", "Support writer", "alice"),
    ):
        add(web, "agents", id=id, name=name, owner=owner)
        key = add(web, "keys", name=f"{id} key", agent=id)["key"]
        agents[id] = web.server.client(key)

    def ask(agent: str, to: str, **body: Any) -> str:
        strategy = {"type": "SharedInbox", "listID": to} if to == "oncall" else {"type": "SpecificUser", "userID": to}
        made = agents[agent].post("/api/requests", json={"assignment_strategy": strategy} | body)
        assert made.is_success, made.text
        return made.json()["id"]

    for number in range(14):
        person = ("admin", "alice", "bob", "chen")[number % 4]
        closed = ask(
            ("deployer", "importer", "support")[number % 3],
            person,
            message=f"Release {2020 + number}: go on?" if number % 2 else f"Ticket {4711 + number}: refund 40 €?",
            request_type="approval",
        )
        if number % 5:
            body = {"data": {"approved": number % 3 != 0, "note": "as agreed"}}
            assert web.admin.post(f"/api/requests/{closed}/respond", json=body).is_success
    open_ = ask(
        "deployer",
        "admin",
        message="Deploy **build 2041** of *checkout* to production?\n\n* 14 commits, no migrations\n* canary: 0 errors",
        context=f"What changes:\n\n{_DIFF}",
        request_type="approval",
        priority=15,
        run_id="release-2041",
        expires_in_seconds=1500,
    )
    ask(
        "deployer",
        "admin",
        message="Which region first?",
        options=["Frankfurt", "Dublin", "Virginia"],
        run_id="release-2041",
    )
    ask(
        "importer",
        "admin",
        message="Line 812 of `orders.csv` says `31/02/2026`. How shall I go on?",
        request_type="error-resolution",
        options=["Skip the line", "Stop the import", "Take 2026-02-28"],
    )
    ask(
        "support",
        "admin",
        message="> Hi Mara, the refund of 120 € is on its way.\n\nMay this go out?",
        request_type="review",
    )
    ask(
        "importer",
        "admin",
        message="The code that the bank has just sent",
        response_schema=_CODE,
        secret=True,
        priority=5,
        expires_in_seconds=280,
    )
    ask(
        "deployer",
        "oncall",
        message="Disk of *db-3* is at 91 %. May I remove old snapshots?",
        request_type="approval",
        priority=20,
        expires_in_seconds=7200,
    )
    form = ask(
        "support",
        "admin",
        message="ACME signs. What goes into the contract?",
        response_schema=_CONTRACT,
        expires_in_seconds=172_800,
    )
    return {
        "inbox": "/inbox",
        "request": f"/requests/{open_}",
        "form": f"/requests/{form}",
        "dashboard": "/dashboard",
        "audit": "/audit",
        "routing": "/routing",
        "settings": "/settings/people",
        "profile": "/profile",
    }


def add(web: Web, collection: str, **entry: Any) -> dict[str, Any]:
    made = web.admin.post(f"/api/{collection}", json=entry)
    assert made.is_success, made.text
    return made.json()


if __name__ == "__main__":
    main()
