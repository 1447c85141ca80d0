"""The audit page: the full history in plain words, its export, and whether it is what was written."""

from __future__ import annotations

import json
import re

import psycopg
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.web import Web

pytestmark = pytest.mark.thorough

SCRIPT = "[x](javascript:alert(1)) <img src=x onerror=\"document.title='taken'\">"


def events(page: Page) -> Locator:
    return page.get_by_role("list", name="Events").get_by_role("listitem")


def event(page: Page, said: str) -> Locator:
    return events(page).filter(has_text=said)


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()
    page.keyboard.press("Escape")


def test_events_are_told_in_plain_words(web: Web) -> None:
    """Who did what to which request, newest first, with the exact time on hover and a way to the request."""
    web.person("alice")
    asked = web.ask(message="May I?", unique_id="ship-7", request_type="approval")
    answered = web.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"}).json()
    page = web.sign_in(path="/audit")
    said = event(page, "Administrator answered ship-7 via api, approved")
    expect(said).to_be_visible()
    expect(event(page, "Default agent asked ship-7 Approval")).to_be_visible()
    expect(event(page, "Administrator added the person Alice")).to_be_visible()
    assert answered["closed_at"] in (said.get_by_role("time").get_attribute("title") or "")
    texts = events(page).all_inner_texts()
    when = [index for index, text in enumerate(texts) if "ship-7" in text]
    assert "answered" in texts[when[0]]
    said.get_by_role("link", name="ship-7").click()
    page.wait_for_url(f"**/requests/{asked['id']}")


def test_all_that_is_known_of_an_event_unfolds(web: Web) -> None:
    """Its facts stay for good; what was written is shown until it is erased."""
    asked = web.ask(message="A secret of the trade", unique_id="ship-7")
    page = web.sign_in(path=f"/audit?request_id={asked['id']}")
    expect(events(page)).to_have_count(1)
    expect(page.get_by_text("A secret of the trade")).to_have_count(0)
    page.get_by_role("button", name="Details of event").click()
    expect(page.get_by_text("A secret of the trade")).to_be_visible()

    web.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "Yes"})
    web.admin.post(f"/api/requests/{asked['id']}/erase")
    page.get_by_role("button", name="Show 2 new events").click()
    page.get_by_role("button", name="Details of event").last.click()
    expect(event(page, "asked")).to_contain_text("Erased")
    expect(page.get_by_text("A secret of the trade")).to_have_count(0)


def test_from_whom_to_whom_a_request_went(web: Web) -> None:
    """People are named, though the log itself knows only their inner ids."""
    web.person("alice")
    asked = web.ask(unique_id="ship-7")
    web.admin.post(f"/api/requests/{asked['id']}/delegate", json={"to": "alice", "note": "You know ships"})
    page = web.sign_in(path="/audit?type=Reassigned")
    moved = event(page, "Administrator delegated request")
    moved.get_by_role("button", name="Details of event").click()
    expect(moved).to_contain_text("From Administrator to Alice.")
    expect(moved).to_contain_text("You know ships")


def test_filters_live_in_the_address(web: Web) -> None:
    """What one narrows to survives a reload and is undone by the back button; what is not understood is said."""
    web.person("alice")
    asked = web.ask(message="The red door", unique_id="red-door")
    web.ask(message="The blue door", unique_id="blue-door")
    web.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "Yes"})
    page = web.sign_in(path="/audit")
    choose(page, "Event", "Asked")
    expect(events(page)).to_have_count(2)
    page.get_by_role("searchbox", name="Search").fill("blue")
    expect(events(page)).to_have_count(1)
    page.wait_for_url("**/audit?type=Requested&q=blue")
    page.reload()
    expect(events(page)).to_have_count(1)
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("blue")
    page.go_back()
    expect(events(page)).to_have_count(2)
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("button", name="Filters", exact=True).click()
    choose(page, "Actor", "Default agent")
    page.wait_for_url("**/audit?actor=default")
    expect(events(page)).to_have_count(2)
    page.get_by_label("Before").fill("2020-01-01T00:00")
    expect(page.get_by_role("heading", name="No event matches")).to_be_visible()

    page.goto("/audit?request_id=nonsense")
    expect(page.get_by_label("Request id")).to_have_accessible_description(re.compile("valid UUID"))


def test_older_events_are_loaded_on_demand(web: Web) -> None:
    """Down to where the log begins, each once."""
    for number in range(120):
        web.ask(unique_id=f"request-{number}")
    page = web.sign_in(path="/audit?type=Requested")
    expect(events(page)).to_have_count(50)
    page.get_by_role("button", name="Load older events").click()
    expect(events(page)).to_have_count(100)
    page.get_by_role("button", name="Load older events").click()
    expect(events(page)).to_have_count(120)
    expect(page.get_by_text("That is where it begins.")).to_be_visible()
    expect(page.get_by_role("button", name="Load older events")).to_have_count(0)


def test_new_events_wait_for_a_click(web: Web) -> None:
    """Nothing moves under the reader; only what matches the filters is counted."""
    web.ask(unique_id="first")
    page = web.sign_in(path="/audit?type=Requested")
    expect(events(page)).to_have_count(1)
    second = web.ask(unique_id="second")
    web.admin.post(f"/api/requests/{second['id']}/respond", json={"text": "Yes"})
    show = page.get_by_role("button", name="Show 1 new event")
    expect(show).to_be_visible()
    expect(events(page)).to_have_count(1)
    show.click()
    expect(events(page)).to_have_count(2)
    expect(events(page).first).to_contain_text("second")
    expect(show).to_have_count(0)


def test_c55_nothing_that_agents_and_people_wrote_is_taken_for_markup(web: Web) -> None:
    """Message, field title, option, answer and ids stand there as the text they are."""
    form = {"type": "object", "properties": {"why": {"type": "string", "title": SCRIPT}}}
    asked = web.ask(message=SCRIPT, response_schema=form, unique_id=SCRIPT)
    web.admin.post(f"/api/requests/{asked['id']}/respond", json={"data": {"why": SCRIPT}})
    web.ask(options=[SCRIPT, "Other"], context=SCRIPT)
    page = web.sign_in(path="/audit?type=Requested&type=Responded")
    expect(events(page)).to_have_count(3)
    for index in range(3):
        page.get_by_role("button", name="Details of event").nth(index).click()
    expect(events(page).nth(2)).to_contain_text(SCRIPT)
    expect(events(page).nth(1)).to_contain_text(json.dumps(SCRIPT))
    expect(events(page).nth(0)).to_contain_text(json.dumps(SCRIPT))
    expect(page.locator("main").locator("img, a[href^='javascript']")).to_have_count(0)
    assert "taken" not in page.title()


@pytest.mark.parametrize(("label", "file"), [("JSON Lines", "handraise-audit.jsonl"), ("CSV", "handraise-audit.csv")])
def test_export_downloads_what_the_filters_find(web: Web, label: str, file: str) -> None:
    """With the filters of the page, as a file."""
    web.ask(unique_id="red-door")
    page = web.sign_in(path="/audit?type=Requested")
    expect(events(page)).to_have_count(1)
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=label).click()
    assert download.value.suggested_filename == file
    lines = download.value.path().read_text().splitlines()
    exported = [line for line in lines if "red-door" in line]
    assert len(exported) == 1
    assert not [line for line in lines if "SignInLink" in line]


def test_the_log_is_verified_up_to_its_newest_event(web: Web) -> None:
    """With the newest link of the chain, to be kept elsewhere; what is written meanwhile is verified too."""
    web.ask()
    page = web.sign_in(path="/audit")
    head = web.admin.get("/api/audit/head").json()
    intact = page.get_by_role("status").filter(has_text="Intact up to event")
    expect(intact).to_have_text(f"Intact up to event {head['position']}, the newest")
    expect(page.get_by_text(f"{head['hash'][:12]}…")).to_be_visible()
    expect(page.get_by_text(f"{head['public_key'][:12]}…")).to_be_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy hash").click()
    assert page.evaluate("navigator.clipboard.readText()") == head["hash"]
    after = web.ask()
    expect(intact).to_have_text(f"Intact up to event {after['position']}, the newest")


def test_a_log_that_was_tampered_with_is_shown_as_that(web: Web) -> None:
    """Where it does not hold, and what to do now."""
    asked = web.ask()
    with psycopg.connect(web.server.database_url or "") as connection:
        connection.execute(
            "UPDATE handraise_events SET state = 'forged' WHERE notification_id = %s", (asked["position"],)
        )
    page = web.sign_in(path="/audit")
    problem = page.get_by_role("alert").filter(has_text="The audit log was changed after it was written")
    expect(problem).to_contain_text(f"position {asked['position']}")
    expect(problem).to_contain_text("handraise verify")
    expect(page.get_by_text("Intact up to")).to_have_count(0)


def test_auditors_read_the_log_and_members_do_not(web: Web) -> None:
    """A member who knows the address reads a clear word instead, and nothing was asked for."""
    web.person("ines", "auditor")
    web.person("alice")
    web.ask(unique_id="red-door")
    page = web.sign_in("ines", path="/audit")
    expect(event(page, "red-door")).to_be_visible()
    expect(page.get_by_role("button", name="Export")).to_be_visible()

    page = web.sign_in("alice", path="/dashboard")
    expect(page.get_by_role("link", name="Audit")).to_have_count(0)
    page.goto("/audit")
    expect(page.get_by_role("heading", name="The audit log is for administrators and auditors")).to_be_visible()
    expect(page.get_by_role("list", name="Events")).to_have_count(0)
