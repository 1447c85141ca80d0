"""One's own profile: when one is there, and how one signs in."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.support.web import Web

pytestmark = pytest.mark.thorough

PASSWORD = "correct horse battery"


def saved(page: Page) -> None:
    expect(page.get_by_text("Saved", exact=True).first).to_be_visible()


def test_people_say_when_they_are_there(web: Web) -> None:
    """A member sets time zone, quiet hours and absence; only what changed is sent, and it is there after a reload."""
    alice = web.person("alice", slack_user_id="U1")
    web.person("bob")
    page = web.sign_in("alice", "/profile")
    zone = page.get_by_role("combobox", name="Time zone")
    zone.fill("Europe/Ber")
    page.get_by_role("option", name="Europe/Berlin").click()
    quiet = page.get_by_role("group", name="Quiet hours")
    quiet.get_by_label("From").fill("22:00")
    quiet.get_by_label("To").fill("07:00")
    away = page.get_by_role("group", name="Out of office")
    away.get_by_label("From").fill("2026-12-21")
    away.get_by_label("To").fill("2027-01-03")
    away.get_by_role("combobox", name="Stand-in").click()
    page.get_by_role("option", name="Bob").click()
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        page.get_by_role("button", name="Save", exact=True).click()
    saved(page)
    assert "slack_user_id" not in json.loads(sent.value.post_data or "")
    me = alice.get("/api/me").json()
    assert (me["time_zone"], me["quiet_hours"]) == ("Europe/Berlin", {"from": "22:00", "to": "07:00"})
    assert me["out_of_office"] == {"from": "2026-12-21", "to": "2027-01-03", "stand_in": "bob"}
    assert me["slack_user_id"] == "U1"

    page.reload()
    expect(zone).to_have_value("Europe/Berlin")
    away.get_by_label("From").fill("")
    away.get_by_label("To").fill("")
    page.get_by_role("button", name="Save", exact=True).click()
    saved(page)
    assert alice.get("/api/me").json()["out_of_office"] is None


def test_refusals_stand_at_their_fields(web: Web) -> None:
    """Half of a span is refused where the other half is missing, and what was written stays."""
    web.person("alice")
    page = web.sign_in("alice", "/profile")
    quiet = page.get_by_role("group", name="Quiet hours")
    quiet.get_by_label("From").fill("22:00")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(quiet.get_by_label("To")).to_have_attribute("aria-invalid", "true")
    expect(quiet.get_by_label("From")).to_have_value("22:00")


def test_what_is_not_saved_is_not_lost_by_a_click(web: Web) -> None:
    """Leaving with changes asks first; who says no is where they were, with all they wrote."""
    web.person("alice")
    page = web.sign_in("alice", "/profile")
    page.get_by_label("Slack user id").fill("U012")
    questions: list[str] = []
    page.once("dialog", lambda dialog: (questions.append(dialog.message), dialog.dismiss()))
    page.get_by_role("link", name="Inbox").click()
    expect(page.get_by_label("Slack user id")).to_have_value("U012")
    assert questions
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("link", name="Inbox").click()
    page.wait_for_url("**/inbox")


def test_a_password_is_set_and_signs_in(web: Web) -> None:
    """Who sets a password signs in with it; to change it the present one is needed."""
    web.person("alice")
    page = web.sign_in("alice", "/profile")
    fresh = page.get_by_label("New password", exact=True)
    current = page.get_by_label("Current password", exact=True)
    expect(fresh).to_have_attribute("autocomplete", "new-password")
    expect(current).to_have_attribute("autocomplete", "current-password")
    fresh.fill("short")
    page.get_by_role("button", name="Set password").click()
    expect(fresh).to_have_attribute("aria-invalid", "true")
    fresh.fill(PASSWORD)
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_text("The password is set")).to_be_visible()
    expect(fresh).to_have_value("")

    other = web.context(None).new_page()
    other.goto("/sign-in")
    other.get_by_label("Id or e-mail address").fill("alice")
    other.get_by_label("Password").fill(PASSWORD)
    other.get_by_role("button", name="Sign in").click()
    other.wait_for_url("**/inbox")

    fresh.fill("another good one")
    current.fill("not the password")
    page.get_by_role("button", name="Set password").click()
    expect(current).to_have_attribute("aria-invalid", "true")
    current.fill(PASSWORD)
    page.get_by_role("button", name="Set password").click()
    expect(fresh).to_have_value("")
    other.wait_for_url("**/sign-in?next=*")


def test_too_many_attempts_say_how_long_to_wait(web: Web) -> None:
    """After too many wrong passwords the page says when to try again."""
    web.person("alice")
    page = web.sign_in("alice", "/profile")
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_label("New password", exact=True)).to_have_value("")
    page.get_by_label("New password", exact=True).fill("another good one")
    for number in range(11):
        page.get_by_label("Current password", exact=True).fill(f"wrong {number}")
        with page.expect_response(lambda response: response.request.method == "PATCH"):
            page.get_by_role("button", name="Set password").click()
    expect(page.get_by_role("alert", name="Not saved")).to_contain_text("Try again in")


def test_signing_out_everywhere(web: Web) -> None:
    """After a question every session ends, in every browser."""
    web.person("alice")
    page = web.sign_in("alice", "/profile")
    other = web.sign_in("alice", "/inbox")
    page.get_by_role("button", name="Sign out everywhere").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Sign out everywhere").click()
    page.wait_for_url("**/sign-in")
    other.wait_for_url("**/sign-in?next=*")


def test_the_profile_says_who_one_is(web: Web) -> None:
    """Name, id, address and role are shown; how one is told and how it looks can be set."""
    web.person("ines", "auditor", email="ines@example.test")
    page = web.sign_in("ines", "/profile")
    for fact in ("Ines", "ines@example.test", "Auditor"):
        expect(page.get_by_role("definition").filter(has_text=fact).first).to_be_visible()
    expect(page.get_by_role("heading", name="Notifications")).to_be_visible()
    page.get_by_role("radiogroup", name="Appearance").get_by_text("Dark").click()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
