"""Administrators set up people, lists, agents, strategies and keys; everybody sees what became of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.web import Web

pytestmark = pytest.mark.thorough

LADDER = {
    "type": "SpecificUser",
    "userID": "alice",
    "priority": 20,
    "expirationMinutes": 1440,
    "escalation": [
        {"afterMinutes": 120, "to": {"userID": "bob"}},
        {"afterMinutes": 0.5, "to": {"type": "SharedInbox", "listID": "oncall"}, "notifyOnly": True},
    ],
}


def entry(web: Web, kind: str, id: str) -> dict[str, Any]:
    """An entry as the API has it; what is not there is empty."""
    items: list[dict[str, Any]] = web.admin.get(f"/api/{kind}", params={"limit": 200}).json()["items"]
    return next((item for item in items if item["id"] == id), {})


def people(web: Web, *ids: str) -> None:
    for id in ids:
        assert web.admin.post("/api/users", json={"id": id, "name": id.title()}).status_code == 201


def settings(web: Web, part: str) -> Page:
    return web.sign_in(path=f"/settings/{part}")


def choose(form: Page | Locator, label: str, option: str) -> None:
    """Pick from a field that is searched by typing."""
    field = form.get_by_role("combobox", name=label, exact=True)
    field.fill(option)
    field.page.get_by_role("listbox").get_by_role("option", name=option).first.click()


def save(page: Page) -> None:
    """Save the open form, which closes it."""
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved", exact=True).first).to_be_visible()
    expect(page.get_by_role("dialog")).to_be_hidden()


def remove(page: Page, name: str, act: str = "Remove") -> None:
    """Open an entry and have it taken away."""
    page.get_by_role("button", name=name, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=act, exact=True).click()
    page.get_by_role("alertdialog").get_by_role("button", name=act, exact=True).click()


def test_a_person_is_added_changed_and_removed(web: Web) -> None:
    """What the form says is what the API then says; a change sends nothing else along."""
    page = settings(web, "people")
    page.get_by_role("button", name="Add a person").click()
    page.get_by_label("Name", exact=True).fill("Dana Fox")
    page.get_by_label("Id", exact=True).fill("dana")
    page.get_by_label("E-mail").fill("dana@example.test")
    page.get_by_label("Role").select_option("auditor")
    choose(page, "Time zone", "Europe/Berlin")
    quiet = page.get_by_role("group", name="Quiet hours")
    quiet.get_by_label("From").fill("22:00")
    quiet.get_by_label("To").fill("07:00")
    save(page)
    dana = entry(web, "users", "dana")
    assert dana == {
        "id": "dana",
        "name": "Dana Fox",
        "email": "dana@example.test",
        "role": "auditor",
        "active": True,
        "slack_user_id": None,
        "time_zone": "Europe/Berlin",
        "quiet_hours": {"from": "22:00", "to": "07:00"},
        "out_of_office": None,
    }

    page.get_by_role("button", name="Dana Fox").click()
    expect(page.get_by_label("Id", exact=True)).not_to_be_editable()
    page.get_by_label("E-mail").fill("")
    away = page.get_by_role("group", name="Out of office")
    away.get_by_label("From").fill("2026-12-21")
    away.get_by_label("To").fill("2027-01-03")
    choose(away, "Stand-in", "Administrator")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        save(page)
    away_now = {"from": "2026-12-21", "to": "2027-01-03", "stand_in": "admin"}
    assert json.loads(sent.value.post_data or "") == {"email": None, "out_of_office": away_now}
    assert entry(web, "users", "dana") == dana | {"email": None, "out_of_office": away_now}

    remove(page, "Dana Fox")
    expect(page.get_by_role("button", name="Dana Fox")).to_be_hidden()
    assert entry(web, "users", "dana") == {}


def test_refusals_stand_at_their_fields(web: Web) -> None:
    """What the server refuses is said where it was written, and nothing that was written is lost."""
    people(web, "alice")
    web.admin.patch("/api/users/alice", json={"email": "alice@example.test"})
    page = settings(web, "people")
    page.get_by_role("button", name="Add a person").click()
    page.get_by_label("Id", exact=True).fill("Not An Id!")
    page.get_by_label("Name", exact=True).fill("Eve")
    page.get_by_label("E-mail").fill("alice@example.test")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("Id", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(
        "starting and ending with a letter or digit"
    )
    page.get_by_label("Id", exact=True).fill("eve")
    expect(page.get_by_label("Id", exact=True)).not_to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("E-mail")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("'alice' has this email already")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Eve")


def test_what_is_in_use_is_not_removed(web: Web) -> None:
    """The server's reason is shown in words, and the entry stays."""
    web.admin.post("/api/agent-types", json={"id": "operations", "name": "Operations"})
    web.admin.post("/api/agents", json={"id": "deployer", "name": "Deployer", "agent_type": "operations"})
    page = settings(web, "agent-types")
    remove(page, "Operations")
    refusal = page.get_by_role("dialog").get_by_role("alert")
    expect(refusal).to_contain_text("agent type 'operations' is still in use: agent deployer")
    assert entry(web, "agent-types", "operations")["name"] == "Operations"


def test_a_sign_in_link_works(web: Web) -> None:
    """A link that was made for somebody lets them in."""
    people(web, "alice")
    page = settings(web, "people")
    page.get_by_role("button", name="Alice").click()
    page.get_by_role("button", name="Make sign-in link").click()
    link = page.get_by_label("Sign-in link of Alice").input_value()
    theirs = web.context(None).new_page()
    theirs.goto(link)
    theirs.get_by_role("button", name="Sign in").click()
    theirs.wait_for_url("**/inbox")
    theirs.goto("/profile")
    expect(theirs.get_by_role("definition").get_by_text("alice", exact=True)).to_be_visible()


def test_a_list_is_ordered_by_the_keyboard(web: Web) -> None:
    """Members are added by search and moved without a mouse; the focus stays with whoever is moved."""
    people(web, "alice", "bob", "carol")
    page = settings(web, "lists")
    page.get_by_role("button", name="Add a list").click()
    page.get_by_label("Name", exact=True).fill("On call")
    for name in ("Alice", "Bob", "Carol"):
        choose(page, "Add a member", name)
    down = page.get_by_role("button", name="Move Alice down")
    down.focus()
    page.keyboard.press("Enter")
    expect(down).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Move Alice up")).to_be_focused()
    expect(page.get_by_text("Alice is number 3 of 3 now.")).to_be_visible()
    page.get_by_role("button", name="Take Carol out").click()
    save(page)
    assert entry(web, "lists", "on-call") == {"id": "on-call", "name": "On call", "members": ["bob", "alice"]}

    remove(page, "On call")
    expect(page.get_by_text("There are none yet")).to_be_visible()


def test_an_agent_is_added_and_changed(web: Web) -> None:
    """Owner, type and category are chosen by name, and cleared again."""
    people(web, "alice")
    web.admin.post("/api/agent-types", json={"id": "operations", "name": "Operations"})
    page = settings(web, "agents")
    page.get_by_role("button", name="Add an agent").click()
    page.get_by_label("Name", exact=True).fill("Deployer")
    choose(page, "Owner", "Alice")
    choose(page, "Agent type", "Operations")
    choose(page, "Category", "System")
    save(page)
    made = {"id": "deployer", "name": "Deployer", "owner": "alice", "agent_type": "operations", "category": "system"}
    assert entry(web, "agents", "deployer") == made
    page.get_by_role("button", name="Deployer").click()
    page.get_by_role("button", name="Clear: Owner").click()
    save(page)
    assert entry(web, "agents", "deployer") == made | {"owner": None}
    remove(page, "Deployer")
    expect(page.get_by_role("button", name="Deployer")).to_be_hidden()


def test_a_strategy_with_two_steps_is_made_in_the_form(web: Web) -> None:
    """Whom to ask, how soon, and both steps of the ladder are stored exactly as they were meant."""
    people(web, "alice", "bob")
    web.admin.post("/api/lists", json={"id": "oncall", "name": "On call", "members": ["bob"]})
    page = settings(web, "agent-types")
    page.get_by_role("button", name="Add an agent type").click()
    page.get_by_label("Name", exact=True).fill("Operations")
    page.get_by_label("Ask", exact=True).select_option("SpecificUser")
    choose(page, "Person to ask", "Alice")
    page.get_by_label("Priority").fill("20")
    page.get_by_label("Expires after (minutes)").fill("1440")
    expect(page.get_by_text("= 1 d")).to_be_visible()
    for _ in range(2):
        page.get_by_role("button", name="Add a step").click()
    first, second = (page.get_by_role("group", name=f"Step {number}") for number in (1, 2))
    first.get_by_label("Minutes after the start").fill("120")
    choose(first, "Person to ask", "Bob")
    second.get_by_label("Minutes after the step before").fill("0.5")
    second.get_by_label("Ask", exact=True).select_option("SharedInbox")
    choose(second, "List", "On call")
    second.get_by_label("Only tell them").check()
    save(page)
    assert entry(web, "agent-types", "operations")["assignment_strategy"] == LADDER
    expect(page.get_by_role("cell", name="Alice · 2 steps")).to_be_visible()


def test_unknown_fields_of_a_strategy_survive(web: Web) -> None:
    """What the form does not know, at any level, is as it was after an edit in the form and one as JSON."""
    people(web, "alice", "bob")
    web.admin.post("/api/lists", json={"id": "oncall", "name": "On call", "members": ["bob"]})
    steps = [LADDER["escalation"][0] | {"why": "holidays"}, LADDER["escalation"][1]]
    strategy = LADDER | {"escalation": steps, "team": {"cost_centre": "007"}}
    web.admin.post("/api/agent-types", json={"id": "ops", "name": "Ops", "assignment_strategy": strategy})
    page = settings(web, "agent-types")
    page.get_by_role("button", name="Ops", exact=True).click()
    page.get_by_label("Priority").fill("5")
    page.get_by_role("group", name="Step 1").get_by_label("Minutes after").fill("90")
    save(page)
    edited = strategy | {"priority": 5, "escalation": [steps[0] | {"afterMinutes": 90}, steps[1]]}
    assert entry(web, "agent-types", "ops")["assignment_strategy"] == edited

    page.get_by_role("button", name="Ops", exact=True).click()
    page.get_by_text("JSON", exact=True).click()
    field = page.get_by_label("Strategy as JSON")
    assert json.loads(field.input_value()) == edited
    field.fill("{")
    expect(page.get_by_text("This is no JSON object.")).to_be_visible()
    field.fill(json.dumps(edited | {"remindMinutes": 30}))
    page.get_by_text("Form", exact=True).click()
    expect(page.get_by_label("Remind every (minutes)")).to_have_value("30")
    save(page)
    assert entry(web, "agent-types", "ops")["assignment_strategy"] == edited | {"remindMinutes": 30}

    page.get_by_role("button", name="Ops", exact=True).click()
    page.get_by_label("Ask", exact=True).first.select_option("")
    save(page)
    assert entry(web, "agent-types", "ops")["assignment_strategy"] is None


def test_a_refused_strategy_says_which_field(web: Web) -> None:
    """Faults within a step of the ladder stand at the fields of that step."""
    page = settings(web, "agent-types")
    page.get_by_role("button", name="Add an agent type").click()
    page.get_by_label("Name", exact=True).fill("Operations")
    page.get_by_label("Ask", exact=True).select_option("RunUser")
    page.get_by_role("button", name="Add a step").click()
    step = page.get_by_role("group", name="Step 1")
    step.get_by_label("Minutes after the start").fill("0")
    step.get_by_label("Ask", exact=True).select_option("SpecificUser")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(step.get_by_label("Minutes after the start")).to_have_attribute("aria-invalid", "true")
    expect(step.get_by_text("is required for SpecificUser")).to_be_visible()


def test_categories_are_a_tree_that_inherits(web: Web) -> None:
    """Children stand below their parents, and say whose strategy holds for them."""
    people(web, "alice")
    strategy = {"type": "SpecificUser", "userID": "alice"}
    web.admin.patch("/api/categories/system", json={"assignment_strategy": strategy})
    page = settings(web, "categories")
    page.get_by_role("button", name="Add a category below System").click()
    page.get_by_label("Name", exact=True).fill("Databases")
    expect(page.get_by_role("combobox", name="Parent")).to_have_value("System (system)")
    expect(page.get_by_label("Ask", exact=True).locator("option:checked")).to_have_text("Inherits from System")
    save(page)
    assert entry(web, "categories", "databases")["parent"] == "system"
    tree = page.get_by_role("list", name="Categories")
    system = tree.get_by_role("listitem").filter(has=page.get_by_role("button", name="System", exact=True)).last
    expect(system.get_by_role("listitem")).to_contain_text("Inherits from System")

    page.get_by_role("button", name="Databases", exact=True).click()
    choose(page, "Parent", "Demo")
    save(page)
    demo = tree.get_by_role("listitem").filter(has=page.get_by_role("button", name="Demo", exact=True)).last
    expect(demo.get_by_role("listitem")).to_contain_text("No strategy, here or above")
    assert entry(web, "categories", "databases")["parent"] == "demo"
    remove(page, "Databases")
    expect(page.get_by_role("button", name="Databases", exact=True)).to_be_hidden()


def test_a_request_type_is_changed(web: Web) -> None:
    """Its defaults are stored as numbers, and cleared by emptying the field."""
    page = settings(web, "request-types")
    page.get_by_role("button", name="Approval").click()
    page.get_by_label("Default priority").fill("10")
    page.get_by_label("Expires after (minutes)").fill("90.5")
    page.get_by_label("Erase content after (days)").fill("30")
    page.get_by_label("No self answer").check()
    save(page)
    approval = entry(web, "request-types", "approval")
    assert (approval["default_priority"], approval["default_expiration_minutes"]) == (10, 90.5)
    assert (approval["erase_after_days"], approval["no_self_answer"]) == (30, True)
    page.get_by_role("button", name="Approval").click()
    page.get_by_label("Erase content after (days)").fill("")
    page.get_by_label("Default priority").fill("many")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("Default priority")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Default priority")).to_have_value("many")
    page.get_by_label("Default priority").fill("")
    save(page)
    assert entry(web, "request-types", "approval") == approval | {"erase_after_days": None, "default_priority": None}


def test_a_key_is_shown_once_and_works(web: Web) -> None:
    """A new key speaks for its agent; replaced or revoked it does not, and it is never shown again."""
    page = settings(web, "keys")
    page.get_by_role("button", name="Make a key").click()
    page.get_by_label("Name", exact=True).fill("Release bot")
    choose(page, "Agent", "default")
    page.get_by_role("button", name="Save", exact=True).click()
    shown = page.get_by_role("dialog", name="The new key")
    key = shown.get_by_label("Key", exact=True).input_value()
    expect(shown).to_contain_text("handraise ask")
    with web.server.client(key) as client:
        assert client.post("/api/requests", json={"message": "Release?"}).status_code == 201
    shown.get_by_role("button", name="I have stored it").click()
    expect(page.get_by_text(key)).to_be_hidden()

    page.get_by_role("button", name="Release bot").click()
    page.get_by_role("button", name="Replace the key").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Replace the key").click()
    fresh = page.get_by_label("Key", exact=True).input_value()
    with web.server.client(key) as old, web.server.client(fresh) as new:
        assert old.post("/api/requests", json={"message": "Release?"}).status_code == 401
        assert new.post("/api/requests", json={"message": "Release?"}).status_code == 201
        page.keyboard.press("Escape")
        remove(page, "Release bot", "Revoke")
        expect(page.get_by_role("row", name="Release bot").get_by_text("Revoked")).to_be_visible()
        assert new.get("/api/requests").status_code == 401


def test_the_directory_is_taken_along_and_back(web: Web, tmp_path: Path) -> None:
    """The file has what the API says; one that is taken in says what it changed, or where it is wrong."""
    people(web, "alice")
    page = settings(web, "import-export")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as JSON").click()
    document = json.loads(Path(download.value.path()).read_text())
    assert document == web.admin.get("/api/directory").json()

    file = tmp_path / "change.json"
    file.write_text(json.dumps({"users": [{"id": "alice", "name": "Alice Moreau"}, {"id": "bob", "name": "Bob"}]}))
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Import change.json").click()
    expect(page.get_by_text("Added 1, changed 1")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="Person bob added")).to_be_visible()
    assert entry(web, "users", "alice")["name"] == "Alice Moreau"

    file.write_text(json.dumps({"users": [{"id": "carol", "name": "Carol", "role": "queen"}]}))
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Import change.json").click()
    expect(page.get_by_role("alert")).to_contain_text("users/0/role: must be one of")
    assert entry(web, "users", "carol") == {}


def test_unsaved_changes_are_not_lost_by_accident(web: Web) -> None:
    """Closing a form with changes asks first, and keeps them on request."""
    people(web, "alice")
    page = settings(web, "people")
    page.get_by_role("button", name="Alice").click()
    page.get_by_label("Name", exact=True).fill("Alice Moreau")
    page.keyboard.press("Escape")
    page.get_by_role("alertdialog").get_by_role("button", name="Keep editing").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Alice Moreau")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Discard").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert entry(web, "users", "alice")["name"] == "Alice"
    expect(page.get_by_role("button", name="Alice")).to_be_focused()


def test_people_are_found_by_searching(web: Web) -> None:
    """More than a page of people are all there to be searched, by name, id or address."""
    rows = [{"id": f"p{number}", "name": f"Person {number}"} for number in range(230)]
    rows.append({"id": "zoe", "name": "Zoe Last", "email": "last@example.test"})
    assert web.admin.put("/api/directory", json={"users": rows}).is_success
    page = settings(web, "people")
    expect(page.get_by_role("button", name="Person 0", exact=True)).to_be_visible()
    page.get_by_role("searchbox", name="Search: People").fill("last@")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("button", name="Zoe Last").click()
    expect(page.get_by_label("E-mail")).to_have_value("last@example.test")


@pytest.mark.parametrize("role", ["member", "auditor"])
def test_settings_are_for_administrators(web: Web, role: str) -> None:
    """Others have no way to them, and who follows an address is told why."""
    web.person("alice", role)
    page = web.sign_in("alice", "/settings/people")
    expect(page.get_by_role("heading", name="Settings are for administrators")).to_be_visible()
    expect(page.get_by_role("link", name="Settings")).to_be_hidden()
    expect(page.get_by_role("button", name="Add a person")).to_be_hidden()
