"""One request, as the people see it who may answer it, hand it on, or only read it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.web import Web

pytestmark = pytest.mark.thorough

ONCALL = {"type": "SharedInbox", "listID": "oncall"}


def to(person: str) -> dict[str, str]:
    return {"type": "SpecificUser", "userID": person}


def opened(page: Page, request: dict[str, Any]) -> Locator:
    """The panel of a request, on a page that is signed in."""
    page.goto(f"/requests/{request['id']}")
    panel = page.get_by_role("article")
    expect(panel.get_by_role("heading", level=1)).to_be_visible()
    return panel


def with_list(web: Web, *members: str) -> dict[str, httpx.Client]:
    """People who share the list `oncall`."""
    people = {each: web.person(each) for each in members}
    made = web.admin.post("/api/lists", json={"id": "oncall", "name": "On call", "members": list(members)})
    assert made.is_success, made.text
    return people


def choose(panel: Locator, action: str) -> Locator:
    """The dialog of an action of the panel's menu."""
    panel.get_by_role("button", name="Actions").click()
    panel.page.get_by_role("menuitem", name=action).click()
    return panel.page.get_by_role("dialog")


def offered(panel: Locator) -> set[str]:
    """What the panel's menu offers."""
    panel.get_by_role("button", name="Actions").click()
    items = panel.page.get_by_role("menuitem")
    expect(items.last).to_be_visible()
    found = {each.strip().rstrip("…") for each in items.all_inner_texts()}
    panel.page.keyboard.press("Escape")
    expect(items).to_have_count(0)
    return found - {"Copy link"}


def test_all_about_a_request_stands_on_its_panel(web: Web) -> None:
    """Type, agent, status, urgency, time left, who has it, context, metadata, what comes next, and why."""
    strategy = to("admin") | {"escalation": [{"afterMinutes": 30, "to": to("carol")}]}
    web.person("carol")
    asked = web.ask(
        message="Deploy **2041**?",
        context="Fourteen commits",
        request_type="approval",
        priority=5,
        expires_in_seconds=7200,
        run_id="release-2041",
        metadata={"ticket": "OPS-7", "sizes": {"small": 1}},
        assignment_strategy=strategy,
    )
    other = web.ask(message="Tell the customers?", run_id="release-2041")
    page = web.sign_in()
    panel = opened(page, asked)
    heading = panel.get_by_role("heading", level=1)
    expect(heading).to_have_text("Approval from Default agent")
    expect(heading).to_be_focused()
    facts = panel.get_by_role("list").first
    for fact in ("Open", "Urgent", "Priority 5", "With you", "1 h 59 min left"):
        expect(facts.get_by_text(fact)).to_be_visible()
    expect(panel.get_by_text("Fourteen commits")).to_be_visible()
    expect(panel.get_by_text("Goes to Carol, unless it is answered")).to_be_visible()
    expect(panel.get_by_text("Expires unless it is answered")).to_be_visible()
    panel.get_by_text("Metadata", exact=True).click()
    expect(panel.get_by_text("OPS-7")).to_be_visible()
    expect(panel.get_by_text('"small"')).to_be_visible()
    panel.get_by_text("Details", exact=True).click()
    expect(panel.get_by_text(asked["unique_id"], exact=True)).to_be_visible()
    panel.get_by_text("Why me?").click()
    expect(panel.get_by_text("The request itself says SpecificUser: admin.")).to_be_visible()
    expect(panel.get_by_text("Decided by")).to_be_visible()

    panel.get_by_text("Other requests of the same run").click()
    panel.get_by_role("link", name="Tell the customers?").click()
    page.wait_for_url(f"**/requests/{other['id']}")
    expect(panel.get_by_text("Tell the customers?").first).to_be_visible()


def test_a_request_of_no_run_has_no_others(web: Web) -> None:
    """Where the agent named no run, requests that arrive meanwhile are not taken for its own."""
    panel = opened(web.sign_in(), web.ask(message="Alone?"))
    web.ask(message="Something else")
    expect(panel.page.get_by_role("link", name="Something else")).to_be_visible()
    expect(panel.get_by_text("Alone?")).to_be_visible()
    expect(panel.get_by_text("Other requests of the same run")).to_have_count(0)


def test_the_unique_id_is_an_address_too(web: Web) -> None:
    """A request opens by the id that its agent gave it; one that is not there says so."""
    web.ask(message="By name?", unique_id="deploy-7")
    page = web.sign_in(path="/requests/deploy-7")
    expect(page.get_by_role("article").get_by_text("By name?")).to_be_visible()
    page.goto("/requests/deploy-8")
    expect(page.get_by_role("alert")).to_contain_text("There is no such request")


def test_who_has_no_part_in_a_request_is_told_so(web: Web) -> None:
    """Another person's request shows nothing but that it is not theirs."""
    web.person("bob")
    page = web.sign_in("bob", path=f"/requests/{web.ask(message='For the administrator')['id']}")
    expect(page.get_by_role("alert")).to_contain_text("This request is not for you")
    expect(page.get_by_text("For the administrator")).to_have_count(0)


def test_opening_and_closing_by_keyboard(web: Web) -> None:
    """Escape closes the request, but not while it only closes a menu or a dialog; focus goes back to the list."""
    asked = web.ask(message="Close me?")
    page = web.sign_in()
    row = page.get_by_role("link", name="Close me?")
    row.click()
    panel = page.get_by_role("article")
    expect(panel.get_by_role("heading", level=1)).to_be_focused()
    panel.get_by_role("button", name="Actions").click()
    expect(page.get_by_role("menuitem").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menuitem")).to_have_count(0)
    expect(panel).to_be_visible()
    choose(panel, "Delegate…")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(panel.get_by_role("button", name="Actions")).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    assert page.evaluate("location.pathname").startswith("/inbox")
    expect(row).to_be_focused()
    assert web.request(asked["id"])["status"] == "Requested"


def test_what_is_offered_is_what_one_may_do(web: Web) -> None:
    """The assignee, a member of a list, an administrator and an auditor are offered what each of them may do."""
    with_list(web, "alice", "bob")
    web.person("ines", role="auditor")
    personal = web.ask(message="Alice's", assignment_strategy=to("alice"))
    shared = web.ask(message="Anybody's", assignment_strategy=ONCALL)

    alice = web.sign_in("alice")
    assert offered(opened(alice, personal)) == {"Delegate", "Snooze", "Cancel request"}
    panel = opened(alice, shared)
    expect(panel.get_by_role("button", name="Claim")).to_be_visible()
    expect(panel.get_by_role("textbox", name="Answer")).to_be_editable()
    assert offered(panel) == {"Claim with a note"}

    admin = web.sign_in()
    assert offered(opened(admin, personal)) == {"Snooze", "Reassign", "Cancel request"}
    assert offered(opened(admin, shared)) == {"Claim with a note", "Reassign", "Cancel request"}

    auditor = web.sign_in("ines")
    panel = opened(auditor, personal)
    expect(panel.get_by_text("Auditors read everything and answer nothing.")).to_be_visible()
    expect(panel.get_by_role("button", name="Send")).to_have_count(0)
    assert offered(panel) == set()

    assert web.admin.post(f"/api/requests/{shared['id']}/claim").is_success
    panel = opened(alice, shared)
    expect(panel.get_by_text("Administrator has it. They can release or delegate it.")).to_be_visible()
    assert offered(panel) == set()


def test_whom_the_ladder_told_may_claim(web: Web) -> None:
    """Somebody who was told of another's request may claim it, and answers it then."""
    web.person("alice")
    web.person("bob")
    ladder = [{"afterMinutes": 0.001, "to": to("bob"), "notifyOnly": True}]
    asked = web.ask(message="Anybody there?", assignment_strategy=to("alice") | {"escalation": ladder})
    page = web.sign_in("bob", path="/inbox/shared")
    page.get_by_role("link", name="Anybody there?").click(timeout=30_000)
    panel = page.get_by_role("article")
    expect(panel.get_by_text("You were told of it: claim it to answer.")).to_be_visible()
    expect(panel.get_by_text("Nobody reacted: Bob was told as well, and may claim it")).to_be_visible()
    page.keyboard.press("c")
    expect(panel.get_by_text("With you")).to_be_visible()
    expect(panel.get_by_role("textbox", name="Answer")).to_be_editable()
    assert web.request(asked["id"])["assigned_to"] == "bob"


def test_claiming_and_releasing(web: Web) -> None:
    """A request leaves the shared inbox with a click and goes back into it with a note, which its history keeps."""
    with_list(web, "alice", "bob")
    asked = web.ask(message="Mine?", assignment_strategy=ONCALL)
    page = web.sign_in("alice")
    panel = opened(page, asked)
    panel.get_by_role("button", name="Claim").dblclick()
    expect(panel.get_by_text("With you, from")).to_be_visible()
    expect(panel.get_by_text("Alice claimed it")).to_have_count(1)
    dialog = choose(panel, "Release…")
    dialog.get_by_label("Note").fill("Off for lunch")
    dialog.get_by_role("button", name="Release").click()
    expect(dialog).to_have_count(0)
    expect(panel.get_by_text("Alice released it into the shared inbox")).to_be_visible()
    expect(panel.get_by_text("Off for lunch")).to_be_visible()
    assert web.request(asked["id"])["assigned_to"] is None


def test_delegating_to_a_person_found_by_name(web: Web) -> None:
    """Whoever has a request hands it to somebody found by a part of their name, with a note."""
    web.person("bob")
    web.person("roberta", name="Roberta Lind")
    asked = web.ask(message="Yours?")
    panel = opened(web.sign_in(), asked)
    dialog = choose(panel, "Delegate…")
    expect(dialog.get_by_role("button", name="Delegate")).to_be_disabled()
    dialog.get_by_role("combobox", name="Person").fill("lind")
    panel.page.get_by_role("option", name="Roberta Lind").click()
    dialog.get_by_label("Note").fill("You know **this** one")
    dialog.get_by_role("button", name="Delegate").click()
    expect(dialog).to_have_count(0)
    expect(panel.get_by_text("Administrator delegated it to Roberta Lind")).to_be_visible()
    expect(panel.get_by_text("You know **this** one")).to_be_visible()
    assert web.request(asked["id"])["assigned_to"] == "roberta"


def test_reassigning(web: Web) -> None:
    """An administrator gives a request to a person, to a list, or has it routed again; a refusal is said in place."""
    with_list(web, "alice", "bob")
    web.person("ines", role="auditor")
    asked = web.ask(message="Whose?")
    panel = opened(web.sign_in(), asked)

    dialog = choose(panel, "Reassign…")
    dialog.get_by_role("combobox", name="Person").fill("ines")
    panel.page.get_by_role("option", name="Ines").click()
    dialog.get_by_role("button", name="Reassign").click()
    expect(dialog.get_by_role("alert")).to_contain_text("ines")
    dialog.get_by_role("combobox", name="Person").fill("alice")
    panel.page.get_by_role("option", name="Alice").click()
    dialog.get_by_role("button", name="Reassign").click()
    expect(panel.get_by_text("With Alice")).to_be_visible()

    dialog = choose(panel, "Reassign…")
    dialog.get_by_text("A list").click()
    dialog.get_by_role("combobox", name="List").fill("call")
    panel.page.get_by_role("option", name="On call").click()
    dialog.get_by_role("button", name="Reassign").click()
    expect(panel.get_by_text("Shared with On call")).to_be_visible()

    dialog = choose(panel, "Reassign…")
    dialog.get_by_text("As routing says now").click()
    dialog.get_by_role("button", name="Reassign").click()
    expect(panel.get_by_text("With you")).to_be_visible()
    assert web.request(asked["id"])["assigned_to"] == "admin"


def test_snoozing_until_a_time_of_ones_own(web: Web) -> None:
    """Tomorrow at nine is nine where the person is; a snooze is shown and can be ended; the past is refused."""
    asked = web.ask(message="Later?")
    panel = opened(web.sign_in(timezone_id="America/New_York"), asked)
    dialog = choose(panel, "Snooze…")
    dialog.get_by_label("Another time").check()
    dialog.get_by_label("Date and time").fill("2020-01-01T09:00")
    dialog.get_by_role("button", name="Snooze").click()
    expect(dialog.get_by_text("Choose a time in the future.")).to_be_visible()
    dialog.get_by_label("Tomorrow, 9:00").check()
    dialog.get_by_role("button", name="Snooze").click()
    expect(panel.get_by_text("Snoozed until")).to_be_visible()
    until = datetime.fromisoformat(web.request(asked["id"])["snoozed_until"])
    assert (until.hour, until.minute) in ((13, 0), (14, 0))
    assert timedelta(0) < until - datetime.now(UTC) < timedelta(hours=48)
    panel.get_by_role("button", name="End snooze").click()
    expect(panel.get_by_text("Snoozed until")).to_have_count(0)
    expect(panel.get_by_text("Administrator ended the snooze")).to_be_visible()
    assert web.request(asked["id"])["snoozed_until"] is None


def test_cancelling_asks_first(web: Web) -> None:
    """A request is cancelled after a question, with a reason that everybody sees; nothing more can be done then."""
    asked = web.ask(message="Still needed?")
    panel = opened(web.sign_in(), asked)
    dialog = choose(panel, "Cancel request…")
    dialog.get_by_role("button", name="Keep it").click()
    assert web.request(asked["id"])["status"] == "Requested"
    dialog = choose(panel, "Cancel request…")
    dialog.get_by_label("Reason").fill("The customer called")
    dialog.get_by_role("button", name="Cancel the request").click()
    expect(panel.get_by_role("status").first).to_contain_text("Cancelled by you")
    expect(panel.get_by_role("status").first).to_contain_text("The customer called")
    assert offered(panel) == set()
    cancelled = web.request(asked["id"])["cancelled"]
    assert (cancelled["by"], cancelled["reason"]) == ("admin", "The customer called")


def test_two_people_on_one_request_see_each_others_acts(web: Web) -> None:
    """One claims and answers: the other sees who did what at once, cannot send any more, and keeps what was typed."""
    with_list(web, "alice", "bob")
    asked = web.ask(message="Who first?", assignment_strategy=ONCALL)
    alice, bob = opened(web.sign_in("alice"), asked), opened(web.sign_in("bob"), asked)
    draft = bob.get_by_role("textbox", name="Answer")
    draft.fill("Half a thou")
    draft.evaluate("field => field.setSelectionRange(4, 4)")

    alice.get_by_role("button", name="Claim").click()
    expect(bob.get_by_role("status").first).to_contain_text("Claimed by Alice", timeout=5_000)
    expect(bob.get_by_text("Alice has it. They can release or delegate it.")).to_be_visible()
    expect(draft).to_have_value("Half a thou")

    alice.get_by_role("textbox", name="Answer").fill("I did")
    alice.page.keyboard.press("Control+Enter")
    expect(bob.get_by_role("status").first).to_contain_text("Answered by Alice", timeout=5_000)
    expect(draft).to_have_value("Half a thou")
    expect(draft).not_to_be_editable()
    expect(bob.get_by_role("region", name="Answer", exact=True)).to_contain_text("I did")
    expect(alice.get_by_role("region", name="Answer", exact=True)).to_contain_text("I did")
    expect(alice.get_by_text("Bob claimed it")).to_have_count(0)


def test_a_late_answer_is_told_who_was_faster(web: Web) -> None:
    """An answer that crosses another is refused, and says whose stands; the attempt is in the history of both."""
    people = with_list(web, "alice", "bob")
    asked = web.ask(message="Once only?", request_type="approval", assignment_strategy=ONCALL)
    alice, bob = opened(web.sign_in("alice"), asked), opened(web.sign_in("bob"), asked)
    expect(bob.get_by_role("button", name="Approve")).to_be_enabled()
    bob.page.route("**/api/requests/*/respond", lambda route: _after(people["alice"], asked, route))
    bob.get_by_role("button", name="Reject").click()
    expect(bob.get_by_role("status").first).to_contain_text("Answered by Alice")
    expect(bob.get_by_role("status").first).to_contain_text("Approved")
    expect(alice.get_by_text("Bob tried to answer after it was closed")).to_be_visible()
    assert web.request(asked["id"])["response"]["by"] == "alice"


def _after(first: httpx.Client, asked: dict[str, Any], route: Any) -> None:
    assert first.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"}).is_success
    route.continue_()


def test_expiring_while_one_looks(web: Web) -> None:
    """The time left runs out in front of one's eyes: that is said, and nothing can be sent any more."""
    asked = web.ask(message="Quick?", expires_in_seconds=6)
    panel = opened(web.sign_in(), asked)
    answer = panel.get_by_role("textbox", name="Answer")
    answer.fill("Too sl")
    expect(panel.get_by_role("status").first).to_contain_text("Expired: nobody answered in time", timeout=20_000)
    expect(answer).to_have_value("Too sl")
    expect(answer).not_to_be_editable()


def test_c52_what_is_typed_outlives_what_others_do(web: Web) -> None:
    """Text, caret and focus stay while requests arrive, and while the request itself changes hands and snoozes."""
    asked = web.ask(message="Think about it")
    page = web.sign_in()
    panel = opened(page, asked)
    answer = panel.get_by_role("textbox", name="Answer")
    answer.fill("I would sa")
    answer.evaluate("field => field.setSelectionRange(2, 2)")
    for number in range(3):
        web.ask(message=f"Another {number}")
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert web.admin.post(f"/api/requests/{asked['id']}/snooze", json={"until": until}).is_success
    expect(panel.get_by_text("Snoozed until")).to_be_visible()
    expect(answer).to_be_focused()
    expect(answer).to_have_value("I would sa")
    assert answer.evaluate("field => field.selectionStart") == 2


def test_an_answer_is_shown_in_the_words_of_its_form(web: Web) -> None:
    """Data stands under the titles of its form, times in the viewer's zone, what is nested as JSON."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Customer"},
            "start": {"type": "string", "format": "date-time", "title": "Start"},
            "color": {"title": "Colour", "oneOf": [{"const": 0, "title": "Red"}, {"const": 1, "title": "Green"}]},
            "legal": {"type": "boolean", "title": "Checked by legal"},
            "code": {"type": "string"},
            "rows": {"type": "array", "items": {"type": "object"}},
        },
    }
    asked = web.ask(message="Fill it in", response_schema=schema)
    data = {
        "name": "ACME",
        "start": "2026-07-01T09:00:00+02:00",
        "color": 0,
        "legal": False,
        "code": "012345",
        "rows": [{"a": 1}],
    }
    assert web.admin.post(f"/api/requests/{asked['id']}/respond", json={"data": data}).is_success
    panel = opened(web.sign_in(timezone_id="America/New_York"), asked)
    answer = panel.get_by_role("region", name="Answer", exact=True)
    pairs = dict(zip(answer.get_by_role("term").all_inner_texts(), answer.locator("dd").all_inner_texts(), strict=True))
    assert pairs["Customer"] == "ACME"
    assert "03:00" in pairs["Start"]
    assert (pairs["Colour"], pairs["Checked by legal"], pairs["code"]) == ("Red", "No", "012345")
    assert '"a": 1' in pairs["rows"]
    expect(answer).to_contain_text("Administrator, via the API")


def test_a_sealed_answer_is_never_shown(web: Web) -> None:
    """Of a secret answer only who gave it, when, and whether the agent has it is told."""
    asked = web.ask(message="The code?", secret=True)
    assert web.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "hunter2-secret"}).is_success
    page = web.sign_in()
    panel = opened(page, asked)
    answer = panel.get_by_role("region", name="Answer", exact=True)
    expect(answer).to_contain_text("The agent has not collected it yet.")
    expect(answer).to_contain_text("Administrator, via the API")
    collected = web.agent.post(f"/api/requests/{asked['id']}/collect", json={"receipt": "receipt-1234"})
    assert collected.is_success, collected.text
    expect(answer).to_contain_text("The agent has collected it.")
    expect(panel.get_by_text("Default agent collected the sealed answer")).to_be_visible()
    assert "hunter2-secret" not in page.content()


def test_erased_content_says_so(web: Web) -> None:
    """Once the content was erased, what happened is still told, and that nothing else can be."""
    asked = web.ask(message="Forget this")
    web.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "An answer to forget"})
    assert web.admin.post(f"/api/requests/{asked['id']}/erase").is_success
    panel = opened(web.sign_in(), asked)
    expect(panel.get_by_text("The content of this request was erased.")).to_be_visible()
    expect(panel.get_by_text("Administrator answered it")).to_be_visible()
    expect(panel.get_by_text("An answer to forget")).to_have_count(0)


def test_copying_the_link(web: Web) -> None:
    """The link that is copied leads to this request, whatever address it was opened by."""
    asked = web.ask(message="Share me", unique_id="share-me")
    page = web.sign_in(path="/requests/share-me", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("The link was copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"{web.url}/requests/{asked['id']}"


def test_a_long_request_has_a_way_to_its_answer(web: Web) -> None:
    """Below a long message, on a phone as well, the form is one press away, and nothing is wider than the screen."""
    asked = web.ask(message="\n\n".join(f"Paragraph {number}" for number in range(100)) + "\n\n    " + "wide " * 80)
    page = web.sign_in(viewport={"width": 390, "height": 700})
    panel = opened(page, asked)
    send = panel.get_by_role("button", name="Send")
    expect(send).not_to_be_in_viewport()
    panel.get_by_role("button", name="To the answer").click()
    expect(send).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert panel.evaluate("panel => panel.parentElement.scrollWidth <= panel.parentElement.clientWidth")
