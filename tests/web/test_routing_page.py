"""Who would get this? The routing page, and the words for how it was decided."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.support.web import Web

pytestmark = pytest.mark.thorough


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def prepared(web: Web) -> None:
    """An agent whose type has no strategy and whose category names a list with nobody in it."""
    web.person("alice")
    web.admin.post("/api/lists", json={"id": "empty", "name": "Empty", "members": []})
    web.admin.post("/api/lists", json={"id": "oncall", "name": "On call", "members": ["alice"]})
    web.admin.post("/api/agent-types", json={"id": "bots", "name": "Bots"})
    strategy = {"type": "SharedInbox", "listID": "empty"}
    web.admin.post("/api/categories", json={"id": "ops", "name": "Ops", "assignment_strategy": strategy})
    web.admin.post("/api/agents", json={"id": "pilot", "name": "Pilot", "agent_type": "bots", "category": "ops"})
    default = {"type": "SpecificUser", "userID": "alice", "priority": 7}
    web.admin.patch("/api/request-types/review", json={"default_assignment_strategy": default})


def test_the_levels_are_explained_up_to_the_one_that_decides(web: Web) -> None:
    """Each level says why it named nobody; the last one is marked, and nothing was created."""
    prepared(web)
    page = web.sign_in(path="/routing")
    choose(page, "Agent", "Pilot")
    choose(page, "Request type", "Review")
    page.get_by_role("button", name="Show who").click()
    expect(page.get_by_role("heading", name="Alice would be asked")).to_be_visible()
    levels = page.get_by_role("list", name="How it was decided").get_by_role("listitem")
    expect(levels.nth(0)).to_contain_text("The request itself")
    expect(levels.nth(1)).to_contain_text("Has no strategy")
    expect(levels.nth(2)).to_contain_text("nobody in 'empty' can be asked now")
    expect(levels.last).to_contain_text("Request type review")
    expect(levels.last).to_contain_text("Decided here")
    expect(levels.filter(has_text="Decided here")).to_have_count(1)
    expect(levels.filter(has_text="the next level was asked")).to_have_count(levels.count() - 1)
    expect(page.get_by_role("definition").filter(has_text="7")).to_be_visible()
    assert web.admin.get("/api/requests").json()["items"] == []


def test_a_strategy_of_the_requests_own(web: Web) -> None:
    """Put together from fields, or written as JSON."""
    prepared(web)
    page = web.sign_in(path="/routing")
    choose(page, "Agent", "Pilot")
    choose(page, "Strategy of the request itself", "Whoever in a list takes it")
    choose(page, "List", "On call")
    page.get_by_label("Lives for").fill("90")
    page.get_by_role("button", name="Show who").click()
    expect(page.get_by_role("heading", name="Whoever in On call takes it")).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="1 h")).to_be_visible()

    choose(page, "Strategy of the request itself", "As JSON")
    page.get_by_label("Strategy as JSON").fill('{"type": "SpecificUser", "userID": "alice"}')
    page.get_by_role("button", name="Show who").click()
    expect(page.get_by_role("heading", name="Alice would be asked")).to_be_visible()


def test_nobody_can_be_named(web: Web) -> None:
    """Then administrators see it, and the fallback says so."""
    prepared(web)
    page = web.sign_in(path="/routing")
    choose(page, "Agent", "Pilot")
    page.get_by_role("button", name="Show who").click()
    expect(page.get_by_role("heading", name="administrators would see it")).to_be_visible()
    last = page.get_by_role("list", name="How it was decided").get_by_role("listitem").last
    expect(last).to_contain_text("Fallback")


def test_what_is_refused_is_said_at_its_field(web: Web) -> None:
    """A priority that no request can have."""
    prepared(web)
    page = web.sign_in(path="/routing")
    choose(page, "Agent", "Pilot")
    page.get_by_label("Priority").fill("500")
    page.get_by_role("button", name="Show who").click()
    expect(page.get_by_label("Priority")).to_have_accessible_description(re.compile("less than or equal to 100"))


@pytest.mark.parametrize("role", ["auditor", "member"])
def test_who_may_look(web: Web, role: str) -> None:
    """Auditors may; members read a clear word, and are offered no form."""
    web.person("ines", role)
    page = web.sign_in("ines", path="/routing")
    offered = page.get_by_role("button", name="Show who")
    if role == "auditor":
        choose(page, "Agent", "Default agent")
        offered.click()
        expect(page.get_by_role("list", name="How it was decided")).to_be_visible()
    else:
        expect(page.get_by_role("heading", name="Routing is for administrators and auditors")).to_be_visible()
        expect(offered).to_have_count(0)
