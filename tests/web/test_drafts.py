"""What somebody has begun to write is kept until it is sent, and never sent by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.web import Web
from tests.web.answering import field, opened, send, stored

pytestmark = pytest.mark.thorough

TO_ADMIN = {"type": "SpecificUser", "userID": "admin"}
FORM = {
    "type": "object",
    "required": ["reason"],
    "properties": {"reason": {"type": "string"}, "count": {"type": "integer"}, "level": {"enum": ["low", "high"]}},
}


def _kept(page: Page) -> str:
    return page.evaluate("JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + location.href")


def test_c52_live_updates_leave_a_half_typed_answer_alone(start: Callable[..., Web]) -> None:
    """New requests and a lost connection change neither what was typed nor the caret nor the focus."""
    web = start(process=True)
    page, id = opened(web, response_schema=FORM)
    box = field(page, "Reason")
    box.fill("half an answ")
    field(page, "Count").fill("1e")
    box.focus()
    box.evaluate("field => field.setSelectionRange(4, 4)")
    for number in range(3):
        web.ask(message=f"Another one, number {number}")
    expect(page.get_by_text("Another one, number 2").first).to_be_visible()
    web.server.kill()
    expect(page.get_by_text("Offline")).to_be_visible(timeout=60_000)
    web.server.start()
    with web.server.admin() as admin:
        admin.post(f"/api/requests/{id}/reassign", json={"to": "admin", "note": "still yours"})
    with web.server.agent() as agent:
        agent.post("/api/requests", json={"message": "The last one", "assignment_strategy": TO_ADMIN})
    expect(page.get_by_text("The last one").first).to_be_visible(timeout=60_000)
    expect(box).to_be_focused()
    assert box.evaluate("field => field.selectionStart") == 4
    page.keyboard.type("X")
    expect(box).to_have_value("halfX an answ")
    expect(field(page, "Count")).to_have_value("1e")


def test_a_draft_outlives_a_reload(web: Web) -> None:
    """What was filled in is there again, is said to be a draft, and can be sent."""
    page, id = opened(web, response_schema=FORM)
    field(page, "Reason").fill("because")
    page.get_by_role("radio", name="high").check()
    page.reload()
    expect(page.get_by_text("Draft restored")).to_be_visible()
    expect(field(page, "Reason")).to_have_value("because")
    assert web.request(id)["status"] == "Requested"
    assert stored(web, id, send(page))["data"] == {"reason": "because", "level": "high"}
    assert "because" not in _kept(page)


def test_a_draft_is_discarded(web: Web) -> None:
    """A draft that is not wanted is gone for good."""
    page, _ = opened(web)
    field(page, "Answer").fill("not like this")
    page.reload()
    page.get_by_role("button", name="Discard").click()
    expect(field(page, "Answer")).to_have_value("")
    page.reload()
    expect(field(page, "Answer")).to_have_value("")
    assert "not like this" not in _kept(page)


def test_a_draft_belongs_to_one_person(web: Web) -> None:
    """Somebody else in the same browser does not see it."""
    page, id = opened(web)
    field(page, "Answer").fill("mine alone")
    web.person("bea", role="administrator")
    link = web.admin.post("/api/users/bea/link").json()["url"].partition("#")[2]
    assert page.request.post(f"{web.url}/api/session/link", data={"token": link}).ok
    page.goto(f"/requests/{id}")
    expect(page.get_by_role("button", name="Bea")).to_be_visible()
    expect(field(page, "Answer")).to_have_value("")


def test_a_draft_is_there_when_somebody_else_answered(web: Web) -> None:
    """After another's answer a kept draft can still be read, and thrown away."""
    page, id = opened(web)
    field(page, "Answer").fill("too slow")
    web.person("bea", role="administrator").post(f"/api/requests/{id}/respond", json={"text": "done"})
    expect(page.get_by_text("What you wrote was not sent")).to_be_visible()
    expect(field(page, "Answer")).to_have_value("too slow")
    page.get_by_role("button", name="Discard").click()
    expect(field(page, "Answer")).to_have_count(0)
    assert "too slow" not in _kept(page)


def test_secrets_are_never_kept(web: Web) -> None:
    """Neither secret text nor a form with a secret field is written to the browser's store or the address."""
    page, _ = opened(web, secret=True)
    field(page, "Answer").first.fill("hunter2")
    assert "hunter2" not in _kept(page)
    schema = {
        "type": "object",
        "properties": {"user": {"type": "string"}, "key": {"type": "string", "format": "password"}},
    }
    page, _ = opened(web, response_schema=schema)
    field(page, "User").fill("root")
    page.get_by_label("Key").first.fill("hunter2")
    assert "hunter2" not in _kept(page)
    page.reload()
    expect(field(page, "User")).to_have_value("")
