"""The dashboard: figures and charts, all requests with filters in the address, many changed at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.web import Web

pytestmark = pytest.mark.thorough

SHARED = {"type": "SharedInbox", "listID": "oncall"}


def rows(page: Page) -> Locator:
    """The rows of the table of requests, without its head."""
    return page.get_by_role("table", name="Requests").get_by_role("row").filter(has=page.get_by_role("link"))


def row(page: Page, message: str) -> Locator:
    return rows(page).filter(has_text=message)


def figure(page: Page, label: str) -> Locator:
    return page.get_by_role("term").filter(has_text=re.compile(f"^{label}$")).locator("xpath=following-sibling::dd")


def choose(page: Page, label: str, option: str) -> None:
    """Choose an option of a field of choices."""
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def with_people(web: Web) -> None:
    web.person("alice")
    web.person("bob")
    web.admin.post("/api/lists", json={"id": "oncall", "name": "On call", "members": ["alice", "bob"]})


# -- figures and charts


def test_figures_and_charts_say_how_things_stand(web: Web) -> None:
    """How many are open, which is the oldest, how fast answers come; each chart says the same as a table."""
    with_people(web)
    oldest = web.ask(message="The oldest", request_type="clarification")
    web.ask(message="Alice's", request_type="approval", assignment_strategy={"type": "SpecificUser", "userID": "alice"})
    answered = web.ask(message="Answered", request_type="clarification")
    web.admin.post(f"/api/requests/{answered['id']}/respond", json={"text": "Yes"})
    page = web.sign_in(path="/dashboard")
    expect(figure(page, "Open now")).to_have_text("2")
    expect(figure(page, "Older than a day")).to_have_text("0")
    expect(figure(page, "Half answered within")).not_to_have_text("no answers yet")
    by_type = page.get_by_role("table", name="Open by type")
    expect(by_type.get_by_role("row", name="Approval 1")).to_be_attached()
    expect(by_type.get_by_role("row", name="Clarification 1")).to_be_attached()
    expect(page.get_by_role("table", name="Open by person").get_by_role("row", name="Alice 1")).to_be_attached()
    expect(page.get_by_text("counted in UTC days")).to_be_visible()
    today = page.get_by_role("table", name="Answered per day").get_by_role("row").last
    expect(today.get_by_role("cell")).to_have_text("1")
    figure(page, "Oldest open").get_by_role("link").click()
    page.wait_for_url(f"**/requests/{oldest['id']}")


def test_figures_move_with_what_happens(web: Web) -> None:
    """Nobody has to read the page again."""
    page = web.sign_in(path="/dashboard")
    expect(figure(page, "Open now")).to_have_text("0")
    first = web.ask()
    expect(figure(page, "Open now")).to_have_text("1")
    web.admin.post(f"/api/requests/{first['id']}/respond", json={"text": "Yes"})
    expect(figure(page, "Open now")).to_have_text("0")


def test_answers_that_no_agent_acknowledged_are_counted_and_found(start: Callable[..., Web]) -> None:
    """The figure leads to them; beside the answer it is said whether, and it moves when the agent says so."""
    web = start(acknowledge_grace_seconds=0)
    unheard, heard = web.ask(message="Unheard"), web.ask(message="Heard")
    for asked in (unheard, heard):
        assert web.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "Yes"}).is_success
    assert web.agent.post(f"/api/requests/{heard['id']}/acknowledge").is_success
    page = web.sign_in(path="/dashboard")
    expect(rows(page)).to_have_count(2)
    figure(page, "Not acknowledged").get_by_role("link", name="1").click()
    expect(rows(page)).to_have_count(1)
    row(page, "Unheard").get_by_role("link").click()
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(answer).to_contain_text("Not acknowledged by the agent yet")
    assert web.agent.post(f"/api/requests/{unheard['id']}/acknowledge").is_success
    expect(answer).to_contain_text("Acknowledged by the agent")
    expect(page.get_by_text("Default agent has acknowledged the answer")).to_be_visible()
    page.goto("/dashboard")
    expect(figure(page, "Not acknowledged")).to_have_text("0")
    page.get_by_role("button", name="Filters", exact=True).click()
    choose(page, "Answer", "Acknowledged by the agent")
    expect(rows(page)).to_have_count(2)


def test_charts_stay_folded_and_are_not_even_loaded(web: Web) -> None:
    """Who folds them finds them folded, and their part of the program is not fetched."""
    web.ask(request_type="approval")
    page = web.sign_in(path="/dashboard")
    chart = page.get_by_role("figure").filter(has_text="Open by type")
    expect(chart).to_be_visible()
    page.get_by_role("button", name="Charts").click()
    expect(chart).not_to_be_visible()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.reload()
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_role("button", name="Charts")).to_have_attribute("aria-expanded", "false")
    assert not [url for url in loaded if "/Charts" in url]


# -- filters, sorting, paging


def test_filters_live_in_the_address(web: Web) -> None:
    """What one narrows to survives a reload, can be given to another, and is undone by the back button."""
    with_people(web)
    web.ask(message="The red door", run_id="run-7", priority=10)
    web.ask(message="The blue door", priority=80)
    web.ask(message="A window", priority=10)
    page = web.sign_in(path="/dashboard")
    expect(rows(page)).to_have_count(3)
    page.get_by_role("searchbox", name="Search").fill("door")
    expect(rows(page)).to_have_count(2)
    page.get_by_role("button", name="Filters", exact=True).click()
    page.get_by_label("Priority to").fill("20")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Run id").fill("run-7")
    page.wait_for_url("**/dashboard?*run_id=run-7*")

    page.reload()
    expect(rows(page)).to_have_count(1)
    expect(row(page, "The red door")).to_be_visible()
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("door")
    expect(page.get_by_label("Priority to")).to_have_value("20")
    address = page.url.removeprefix(web.url)
    shared = web.sign_in(path=address)
    expect(rows(shared)).to_have_count(1)

    page.go_back()
    page.go_back()
    expect(rows(page)).to_have_count(2)
    expect(page.get_by_label("Priority to")).to_have_value("")
    page.get_by_role("button", name="Clear filters").click()
    expect(rows(page)).to_have_count(3)
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("")


def test_each_choice_narrows(web: Web) -> None:
    """By status, type, person, nobody, list, agent and time."""
    with_people(web)
    web.ask(message="Alice's", assignment_strategy={"type": "SpecificUser", "userID": "alice"}, request_type="review")
    web.ask(message="Anybody's", assignment_strategy=SHARED)
    answered = web.ask(message="Answered", request_type="clarification")
    web.admin.post(f"/api/requests/{answered['id']}/respond", json={"text": "Yes"})
    page = web.sign_in(path="/dashboard")

    def only(message: str) -> None:
        expect(rows(page)).to_have_count(1)
        expect(row(page, message)).to_be_visible()

    page.get_by_role("button", name="Filters", exact=True).click()
    for label, option, message in (
        ("Status", "Answered", "Answered"),
        ("Type", "Review", "Alice's"),
        ("Assigned to", "Alice", "Alice's"),
        ("List", "On call", "Anybody's"),
    ):
        choose(page, label, option)
        page.keyboard.press("Escape")
        only(message)
        page.get_by_role("button", name="Clear filters").click()
        expect(rows(page)).to_have_count(3)
    choose(page, "Assigned to", "Nobody")
    only("Anybody's")
    choose(page, "Agent", "Default agent")
    page.wait_for_url("**agent=default**")
    only("Anybody's")
    page.get_by_label("Created from").fill("2999-01-01T00:00")
    expect(page.get_by_role("heading", name="No request matches")).to_be_visible()


def test_a_time_is_meant_in_the_viewers_zone(web: Web) -> None:
    """What is picked as local time goes into the address as an instant, and comes back as what was picked."""
    page = web.sign_in(path="/dashboard", timezone_id="America/New_York")
    page.get_by_role("button", name="Filters", exact=True).click()
    page.get_by_label("Created from").fill("2026-07-01T09:00")
    page.wait_for_url("**created_from=2026-07-01T13%3A00%3A00Z**")
    page.reload()
    expect(page.get_by_label("Created from")).to_have_value("2026-07-01T09:00")


@pytest.mark.parametrize(
    ("query", "field", "said"),
    [
        ("agent=nobody-of-the-kind", "Agent", "there is no agent"),
        ("assigned_to=stranger", "Assigned to", "there is no user"),
        ("priority_min=0", "Priority from", "greater than or equal to 1"),
    ],
)
def test_what_is_not_understood_is_said_at_the_filter(web: Web, query: str, field: str, said: str) -> None:
    """An address with an unknown id shows where it is wrong, and is mended there."""
    web.ask()
    page = web.sign_in(path=f"/dashboard?{query}")
    expect(page.get_by_label(field, exact=True).first).to_have_accessible_description(re.compile(said))
    page.get_by_role("button", name="Clear filters").click()
    expect(rows(page)).to_have_count(1)


def test_sorting_by_column(web: Web) -> None:
    """A click on a head sorts, another one reverses; the order is in the address."""
    for priority in (50, 10, 90):
        web.ask(message=f"Priority {priority}", priority=priority)
    page = web.sign_in(path="/dashboard")
    head = page.get_by_role("columnheader", name="Priority")
    head.get_by_role("button").click()
    expect(rows(page).first).to_contain_text("Priority 10")
    expect(head).to_have_attribute("aria-sort", "ascending")
    head.get_by_role("button").click()
    expect(rows(page).first).to_contain_text("Priority 90")
    page.wait_for_url("**sort=-priority**")
    page.reload()
    expect(rows(page).first).to_contain_text("Priority 90")


def test_paging_through_120_requests(web: Web) -> None:
    """Every request is on exactly one page; a reload stays there, and the way back is known still."""
    for number in range(120):
        web.ask(message=f"Request {number:03}")
    page = web.sign_in(path="/dashboard")
    seen: list[str] = []

    def look(count: int, number: int) -> None:
        expect(page.get_by_text(f"Page {number}", exact=True)).to_be_visible()
        expect(rows(page)).to_have_count(count)
        seen.extend(rows(page).get_by_role("link").all_inner_texts())

    look(50, 1)
    page.get_by_role("button", name="Next").click()
    expect(row(page, "Request 069")).to_be_visible()
    look(50, 2)
    page.get_by_role("button", name="Next").click()
    expect(row(page, "Request 019")).to_be_visible()
    look(20, 3)
    assert sorted(seen) == [f"Request {number:03}" for number in range(120)]
    expect(page.get_by_role("button", name="Next")).to_be_disabled()

    page.reload()
    expect(row(page, "Request 019")).to_be_visible()
    page.get_by_role("button", name="Previous").click()
    expect(row(page, "Request 069")).to_be_visible()
    page.get_by_role("button", name="Previous").click()
    expect(row(page, "Request 119")).to_be_visible()
    page.go_back()
    expect(row(page, "Request 069")).to_be_visible()

    stranger = web.sign_in(path=page.url.removeprefix(web.url))
    expect(row(stranger, "Request 069")).to_be_visible()
    stranger.get_by_role("button", name="First page").click()
    expect(row(stranger, "Request 119")).to_be_visible()
    choose(stranger, "Rows per page", "200")
    expect(rows(stranger)).to_have_count(120)


# -- live


def test_rows_change_where_they_stand(web: Web) -> None:
    """An answer shows in its row; what is new waits for a click."""
    asked = web.ask(message="May the ship sail?", request_type="approval")
    page = web.sign_in(path="/dashboard?q=ship")
    expect(row(page, "May the ship sail?")).to_contain_text("Open")
    web.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})
    expect(row(page, "May the ship sail?")).to_contain_text("Approved")
    web.ask(message="Another ship")
    web.ask(message="A train")
    page.get_by_role("button", name="Show 1 new request").click()
    expect(rows(page)).to_have_count(2)
    expect(page.get_by_role("button", name="new request")).to_have_count(0)


def test_a_request_opens_beside_the_list_that_stays_narrowed(web: Web) -> None:
    """The filters are there still while it is open, and in the address again when it closes."""
    asked = web.ask(message="The red door")
    web.ask(message="A window")
    page = web.sign_in(path="/dashboard?q=door")
    row(page, "The red door").get_by_role("link").press("Enter")
    page.wait_for_url(f"**/requests/{asked['id']}")
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("door")
    page.get_by_role("button", name="Close", exact=True).click()
    page.wait_for_url("**/dashboard?q=door")


# -- many at once


def test_reassigning_many_with_one_refused(web: Web) -> None:
    """Each is done or refused by itself; what was refused is named with its reason."""
    with_people(web)
    asked = {name: web.ask(message=name) for name in ("One", "Two", "Three", "Four")}
    page = web.sign_in(path="/dashboard?sort=created_at")
    row(page, "One").get_by_role("checkbox").click()
    row(page, "Three").get_by_role("checkbox").click(modifiers=["Shift"])
    expect(page.get_by_text("3 selected")).to_be_visible()
    web.admin.post(f"/api/requests/{asked['Two']['id']}/respond", json={"text": "Yes"})
    expect(row(page, "Two")).to_contain_text("Answered")
    page.get_by_role("button", name="Reassign…").click()
    dialog = page.get_by_role("dialog", name="Reassign 3 requests")
    choose(page, "Person", "Bob")
    dialog.get_by_label("Note").fill("Alice is ill")
    dialog.get_by_role("button", name="Reassign", exact=True).click()
    expect(dialog.get_by_text("2 done")).to_be_visible()
    expect(dialog.get_by_text("1 refused")).to_be_visible()
    expect(dialog.get_by_role("list", name="Refused").get_by_role("listitem")).to_contain_text("Two: ")
    dialog.get_by_role("button", name="Close").last.click()
    expect(row(page, "One")).to_contain_text("Bob")
    expect(row(page, "Four")).not_to_contain_text("Bob")
    expect(page.get_by_role("toolbar", name="Actions on the selection")).to_have_count(0)
    assert web.request(asked["Three"]["id"])["assigned_to"] == "bob"
    history = web.admin.get(f"/api/requests/{asked['Three']['id']}/history").json()["items"]
    assert history[-1]["note"] == "Alice is ill"


def test_reassigning_to_a_list(web: Web) -> None:
    """Many go into the inbox that a list shares."""
    with_people(web)
    asked = web.ask(message="One")
    page = web.sign_in(path="/dashboard")
    page.get_by_role("checkbox", name="Select all open requests on this page").click()
    page.get_by_role("button", name="Reassign…").click()
    page.get_by_text("A list", exact=True).click()
    choose(page, "List", "On call")
    page.get_by_role("dialog").get_by_role("button", name="Reassign", exact=True).click()
    expect(page.get_by_text("1 done")).to_be_visible()
    assert web.request(asked["id"])["list"] == "oncall"


def test_cancelling_all_that_match(web: Web) -> None:
    """All open requests that the filters find, more than the page shows, and no others."""
    for number in range(30):
        web.ask(message=f"Old question {number}")
    kept = web.ask(message="Another matter")
    page = web.sign_in(path="/dashboard?q=question&size=25")
    page.get_by_role("checkbox", name="Select all open requests on this page").click()
    expect(page.get_by_text("25 selected")).to_be_visible()
    page.get_by_role("button", name="Select all open requests that match").click()
    expect(page.get_by_text("All 30 open requests that match are selected")).to_be_visible()
    page.get_by_role("button", name="Cancel requests…").click()
    dialog = page.get_by_role("dialog", name="Cancel 30 requests")
    dialog.get_by_label("Reason").fill("The run was stopped")
    dialog.get_by_role("button", name="Cancel requests", exact=True).click()
    expect(dialog.get_by_text("30 done")).to_be_visible()
    page.keyboard.press("Escape")
    expect(rows(page).filter(has_text="Cancelled")).to_have_count(25)
    assert web.request(kept["id"])["status"] == "Requested"
    cancelled = web.admin.get("/api/requests", params={"status": "Cancelled"}).json()["items"]
    assert len(cancelled) == 30
    assert web.request(cancelled[0]["id"])["cancelled"]["reason"] == "The run was stopped"


# -- who sees what


@pytest.mark.parametrize("role", ["auditor", "member"])
def test_only_administrators_change_many_at_once(web: Web, role: str) -> None:
    """Nobody else has anything to select."""
    web.person("ines", role)
    web.ask(run_user="ines")
    page = web.sign_in("ines", path="/dashboard")
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_role("checkbox")).to_have_count(0)


def test_members_see_their_own(web: Web) -> None:
    """What one has no part in is neither listed nor counted."""
    with_people(web)
    web.ask(message="Alice's", assignment_strategy={"type": "SpecificUser", "userID": "alice"})
    web.ask(message="Bob's", assignment_strategy={"type": "SpecificUser", "userID": "bob"})
    page = web.sign_in("alice", path="/dashboard")
    expect(rows(page)).to_have_count(1)
    expect(row(page, "Alice's")).to_be_visible()
    expect(figure(page, "Open now")).to_have_text("1")


def test_an_empty_dashboard(web: Web) -> None:
    """Where there is nothing yet, that is said."""
    page = web.sign_in(path="/dashboard")
    expect(page.get_by_role("heading", name="No requests yet")).to_be_visible()
    expect(page.get_by_text("Nothing is open.").first).to_be_visible()


def test_on_a_phone_nothing_has_to_be_scrolled_sideways(web: Web) -> None:
    """Rows are cards there, sorted by a field of their own."""
    for priority in (50, 10):
        web.ask(
            message=f"Priority {priority}, and a message that is too long for one line of a phone", priority=priority
        )
    page = web.sign_in(path="/dashboard", viewport={"width": 390, "height": 844}, has_touch=True)
    expect(rows(page)).to_have_count(2)
    choose(page, "Sort by", "Most urgent first")
    expect(rows(page).first).to_contain_text("Priority 10")
    scroll = (
        "() => Math.max(...[...document.querySelectorAll('main, main *')].map(e => e.getBoundingClientRect().right))"
    )
    assert page.evaluate(scroll) <= 391


def test_the_exact_instant_is_there(web: Web) -> None:
    """Ages are rough; the instant itself is said on hover."""
    asked = web.ask()
    page = web.sign_in(path="/dashboard")
    created = rows(page).get_by_role("time").first
    assert asked["created_at"] in (created.get_attribute("title") or "")
    assert datetime.fromisoformat(created.get_attribute("datetime") or "") == datetime.fromisoformat(
        asked["created_at"]
    )
