"""The inbox: what waits for whom, live, by keyboard, however much it is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.web import Web

pytestmark = pytest.mark.thorough

TO_ONCALL = {"type": "SharedInbox", "listID": "oncall"}


def rows(page: Page) -> Locator:
    return page.get_by_role("listitem").get_by_role("link")


def row(page: Page, text: str) -> Locator:
    return rows(page).filter(has_text=text)


def with_oncall(web: Web, *members: str) -> None:
    response = web.admin.post("/api/lists", json={"id": "oncall", "name": "On call", "members": list(members)})
    assert response.status_code == 201, response.text


def answer(web: Web, asked: dict[str, Any], text: str = "yes") -> None:
    response = web.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": text})
    assert response.status_code == 200, response.text


def ask_many(web: Web, count: int, **body: Any) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: web.ask(message=f"Question {number:05}", **body), range(count)))


def test_an_empty_inbox_says_what_will_happen(web: Web) -> None:
    """Who has nothing to answer learns what would appear here, and how to try it; each scope says its own."""
    page = web.sign_in()
    expect(page.get_by_role("heading", name="Nothing waits for you.")).to_be_visible()
    expect(page.get_by_text('handraise ask "Deploy?"')).to_be_visible()
    page.get_by_role("navigation", name="Which requests").get_by_role("link", name="Shared").click()
    expect(page).to_have_url(f"{web.url}/inbox/shared")
    expect(page.get_by_role("heading", name="Nothing waits to be taken.")).to_be_visible()


def test_an_empty_inbox_leads_to_what_anybody_may_take(web: Web) -> None:
    """Who has nothing of their own is shown the way to what waits for somebody to take it, as soon as it is there."""
    page = web.sign_in()
    expect(page.get_by_role("heading", name="Nothing waits for you.")).to_be_visible()
    web.ask(message="Anybody?", assignment_strategy=None)
    page.get_by_role("link", name="1 request waits for anybody to take it").click()
    expect(row(page, "Anybody?")).to_contain_text("Nobody yet")


def test_what_a_row_tells(web: Web) -> None:
    """A row says what is asked as plain text, how urgent it is, of what type, by whom, and how long is left."""
    web.ask(
        message="# Deploy **build 7**?\n\n- see [the log](https://log.example/)",
        request_type="approval",
        priority=5,
        secret=True,
        expires_in_seconds=300,
    )
    page = web.sign_in()
    found = rows(page)
    expect(found).to_have_count(1)
    for text in ("Deploy build 7? · see the log", "Urgent", "Secret", "Approval", "Default agent", "Not opened yet"):
        expect(found).to_contain_text(text)
    expect(found).to_contain_text(" left")
    expect(found).not_to_contain_text("https://log.example")


def test_time_that_is_up_is_said(web: Web) -> None:
    """Time left counts down before one's eyes."""
    web.ask(message="Quick?", expires_in_seconds=90)
    page = web.sign_in()
    expect(rows(page)).to_contain_text("1 min")
    before = rows(page).inner_text()
    expect(rows(page)).not_to_have_text(before, use_inner_text=True)


def test_the_inbox_is_live(web: Web) -> None:
    """What is asked appears where it belongs, what is answered leaves; title, menu and icon count along."""
    first = web.ask(message="First?")
    page = web.sign_in()
    expect(page).to_have_title("(1) Inbox · Handraise")
    web.ask(message="Second?")
    web.ask(message="Before all others?", priority=1)
    expect(rows(page)).to_have_count(3)
    expect(rows(page).nth(0)).to_contain_text("Before all others?")
    expect(rows(page).nth(1)).to_contain_text("First?")
    expect(page).to_have_title("(3) Inbox · Handraise")
    expect(page.get_by_role("link", name="Inbox 3 requests wait for you")).to_be_visible()
    icon = page.locator("link[rel=icon]")
    counted = icon.get_attribute("href") or ""
    assert counted.startswith("data:image/svg+xml,")
    answer(web, first)
    expect(row(page, "First?")).to_have_count(0)
    expect(page).to_have_title("(2) Inbox · Handraise")
    assert icon.get_attribute("href") != counted


def test_the_icon_is_plain_when_nothing_waits(web: Web) -> None:
    """With the last request answered, title and icon are as they were at first."""
    asked = web.ask()
    page = web.sign_in()
    expect(page).to_have_title("(1) Inbox · Handraise")
    answer(web, asked)
    expect(page).to_have_title("Inbox · Handraise")
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", "/icon.svg")


def test_two_people_see_what_the_other_takes(web: Web) -> None:
    """A shared request leaves everybody's shared inbox when one claims it, and is in that one's own."""
    for person in ("alice", "bob"):
        web.person(person)
    with_oncall(web, "alice", "bob")
    web.ask(message="Who takes this?", assignment_strategy=TO_ONCALL)
    alice, bob = web.sign_in("alice", "/inbox/shared"), web.sign_in("bob", "/inbox/shared")
    expect(row(bob, "Who takes this?")).to_contain_text("List oncall")
    row(alice, "Who takes this?").focus()
    alice.keyboard.press("c")
    expect(alice.get_by_text("It is yours now.")).to_be_visible()
    for page in (alice, bob):
        expect(page.get_by_role("heading", name="Nothing waits to be taken.")).to_be_visible()
    scopes = alice.get_by_role("navigation", name="Which requests")
    expect(scopes.get_by_role("link", name="Mine")).to_have_text("Mine1")
    scopes.get_by_role("link", name="Mine").click()
    expect(row(alice, "Who takes this?")).to_be_visible()


def test_what_is_moved_to_another_leaves(web: Web) -> None:
    """A request that is reassigned goes from one inbox to the other while both look."""
    web.person("alice")
    asked = web.ask(message="Yours rather?")
    mine, hers = web.sign_in(), web.sign_in("alice")
    expect(row(mine, "Yours rather?")).to_be_visible()
    assert web.admin.post(f"/api/requests/{asked['id']}/reassign", json={"to": "alice"}).status_code == 200
    expect(row(hers, "Yours rather?")).to_be_visible()
    expect(row(mine, "Yours rather?")).to_have_count(0)


def test_going_through_by_keyboard(web: Web) -> None:
    """j and k move the focus, Enter opens, then j opens the next one; a and r open what was not seen yet."""
    asked = [web.ask(message=f"Number {number}?", request_type="approval") for number in (1, 2, 3)]
    page = web.sign_in()
    expect(rows(page)).to_have_count(3)
    for key, focused in (("j", 0), ("j", 1), ("j", 2), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(rows(page).nth(focused)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{web.url}/requests/{asked[1]['id']}")
    expect(row(page, "Number 2?")).to_have_attribute("aria-current", "true")
    page.keyboard.press("j")
    expect(page).to_have_url(f"{web.url}/requests/{asked[2]['id']}")
    expect(row(page, "Number 3?")).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("heading", name="Approval from Default agent")).to_be_focused()
    page.go_back()
    expect(page).to_have_url(f"{web.url}/inbox")
    expect(row(page, "Number 3?")).to_be_focused()
    page.keyboard.press("a")
    expect(page).to_have_url(f"{web.url}/requests/{asked[2]['id']}")
    assert web.request(asked[2]["id"])["status"] == "Requested"


def test_the_selection_goes_to_the_next_row(web: Web) -> None:
    """When the focused request is answered elsewhere, the one that takes its place has the focus."""
    asked = [web.ask(message=f"Number {number}?") for number in (1, 2, 3)]
    page = web.sign_in()
    expect(rows(page)).to_have_count(3)
    row(page, "Number 2?").focus()
    answer(web, asked[1])
    expect(row(page, "Number 2?")).to_have_count(0)
    expect(row(page, "Number 3?")).to_be_focused()
    answer(web, asked[2])
    expect(row(page, "Number 1?")).to_be_focused()


def test_unread_until_opened(web: Web) -> None:
    """What was never opened is marked; once opened it is not, also after loading the page again."""
    web.ask(message="Looked at?")
    web.ask(message="Never touched?")
    page = web.sign_in()
    expect(row(page, "Looked at?")).to_contain_text("Not opened yet")
    row(page, "Looked at?").click()
    expect(row(page, "Looked at?")).not_to_contain_text("Not opened yet")
    page.goto("/inbox")
    expect(row(page, "Never touched?")).to_contain_text("Not opened yet")
    expect(row(page, "Looked at?")).not_to_contain_text("Not opened yet")


def test_a_failing_list_can_be_tried_again(web: Web) -> None:
    """A list that could not be read says so, and is there after trying again."""
    web.ask(message="Still there?")
    context = web.context()
    context.route("**/api/inbox?*", lambda route: route.fulfill(status=403, json={"detail": "Not today."}))
    page = context.new_page()
    page.goto("/inbox")
    expect(page.get_by_role("alert")).to_contain_text("Not today.")
    context.unroute("**/api/inbox?*")
    page.get_by_role("button", name="Try again").click()
    expect(row(page, "Still there?")).to_be_visible()


def test_on_a_phone(web: Web) -> None:
    """On a narrow screen rows are high enough for a thumb, nothing scrolls sideways, and a request covers the list."""
    web.ask(message="A question that is long enough to need a second line on a phone, and then some more of it?")
    page = web.sign_in(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    found = rows(page)
    expect(found).to_have_count(1)
    box = found.bounding_box()
    assert box is not None
    assert box["height"] >= 56
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    found.tap()
    expect(page).to_have_url(f"{web.url}/requests/**".replace("**", page.url.rpartition("/")[2]))
    expect(rows(page)).to_have_count(0)


def test_a_long_inbox_is_read_in_parts(web: Web) -> None:
    """Of many requests only those in view are there; the end is reached by scrolling, and it stays live meanwhile."""
    ask_many(web, 300, priority=40)
    page = web.sign_in(viewport={"width": 1280, "height": 800})
    expect(rows(page).first).to_be_visible()
    assert rows(page).count() < 60
    reach_the_end(page, 300)
    assert rows(page).count() < 60
    seen = rows(page).last
    text, place = seen.inner_text(), seen.bounding_box()
    web.ask(message="Drop everything?", priority=1)
    expect(page.get_by_role("button", name="1 new request above")).to_be_visible()
    assert place is not None
    still = row(page, text.split("\n")[0].removeprefix("Not opened yet.").strip()).last
    assert still.bounding_box() == place
    page.get_by_role("button", name="1 new request above").click()
    expect(rows(page).first).to_contain_text("Drop everything?")


def reach_the_end(page: Page, count: int) -> None:
    last = page.locator(f"li[aria-posinset='{count}']")
    rows(page).first.focus()
    for _ in range(200):
        if last.count() > 0 and last.is_visible():
            break
        page.mouse.move(700, 500)
        page.mouse.wheel(0, 4_000)
        page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(last).to_be_visible()


@pytest.mark.chaos
@pytest.mark.timeout(900)
def test_ten_thousand_open_requests(web: Web) -> None:
    """An inbox of 10,000 open requests scrolls to its end, and what comes in stands on top at once."""
    ask_many(web, 10_000, priority=40)
    page = web.sign_in(viewport={"width": 1280, "height": 800})
    expect(page).to_have_title("(10000) Inbox · Handraise")
    expect(rows(page).first).to_be_visible()
    web.ask(message="Drop everything?", priority=1)
    expect(rows(page).first).to_contain_text("Drop everything?")
    reach_the_end(page, 10_001)
    assert rows(page).count() < 60
    web.ask(message="Yet more urgent?", priority=1)
    expect(page.get_by_role("button", name="1 new request above")).to_be_visible()


def test_c47_what_happened_while_offline_is_there_afterwards(web: Web) -> None:
    """Offline, three are asked and one is answered; online again, the list is right, and nothing was reloaded."""
    gone = web.ask(message="Answered meanwhile?")
    context = web.context()
    page = context.new_page()
    page.goto("/inbox")
    expect(row(page, "Answered meanwhile?")).to_be_visible()
    page.evaluate("window.isStillTheSamePage = true")
    context.set_offline(True)
    for number in (1, 2, 3):
        web.ask(message=f"Offline {number}?")
    answer(web, gone)
    context.set_offline(False)
    for number in (1, 2, 3):
        expect(row(page, f"Offline {number}?")).to_have_count(1)
    expect(row(page, "Answered meanwhile?")).to_have_count(0)
    assert page.evaluate("window.isStillTheSamePage")


def test_c49_seven_tabs(web: Web) -> None:
    """Seven tabs of one browser over plain HTTP: the seventh loads, is live, and a request is answered in it."""
    asked = web.ask(message="In which tab?", request_type="approval")
    context = web.context()
    tabs = [context.new_page() for _ in range(7)]
    for tab in tabs:
        tab.goto("/inbox")
        expect(row(tab, "In which tab?")).to_be_visible(timeout=5_000)
    row(tabs[6], "In which tab?").click()
    tabs[6].get_by_role("button", name="Approve").click()
    for tab in tabs[:6]:
        expect(row(tab, "In which tab?")).to_have_count(0)
    assert web.request(asked["id"])["status"] == "Responded"
