"""Administrators set webhooks up, see what was sent to them, and have it sent again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from starlette.responses import Response

from tests.support.processes import until
from tests.support.web import Web, meanwhile
from tests.support.webhook_receiver import WebhookReceiver, receiver
from tests.web.screenshots import LOOKS
from tests.web.test_accessibility import checked, needs_axe
from tests.web.test_settings import choose

WEBHOOK = "/api/agents/default/webhook"


@pytest.fixture
def hook() -> Iterator[WebhookReceiver]:
    with meanwhile(receiver()) as made:
        yield made


@pytest.fixture
def web(start: Callable[..., Web]) -> Web:
    """A server that may call this machine."""
    return start(webhook_allow_private=True)


def set_up(web: Web, url: str, *, enabled: bool = True) -> str:
    """A webhook of the default agent; returns its secret."""
    made = web.admin.put(WEBHOOK, json={"url": url, "enabled": enabled})
    assert made.status_code == 201, made.text
    return made.json()["secret"]


def stored(web: Web) -> dict[str, Any]:
    return web.admin.get(WEBHOOK).json()


def close(web: Web) -> str:
    """A request of the default agent that is answered just now; returns its id."""
    id: str = web.ask()["id"]
    assert web.admin.post(f"/api/requests/{id}/respond", json={"text": "yes"}).is_success
    return id


def button(page: Page | Locator, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def attempts(page: Page) -> Locator:
    """The rows of the log."""
    return page.get_by_role("table", name="Deliveries").locator("tbody tr")


def test_a_webhook_is_added_reports_and_sends_again(web: Web, hook: WebhookReceiver) -> None:
    """The secret is shown once; what is sent appears by itself, and once more when asked for, where the focus stays."""
    page = web.sign_in(path="/settings/webhooks")
    button(page, "Add a webhook").click()
    choose(page, "Agent", "default")
    page.get_by_label("URL").fill(hook.hook)
    button(page, "Save").click()
    secret = page.get_by_role("textbox", name="The new secret").input_value()
    hook.secrets[:] = [secret]
    button(page, "I have stored it").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="default"))
    expect(row).to_contain_text("Nothing yet")
    assert secret not in page.content()
    assert stored(web)["url"] == hook.hook

    row.get_by_role("link").click()
    expect(page.get_by_text("Nothing was sent in the last 30 days")).to_be_visible()
    request = close(web)
    expect(attempts(page)).to_have_count(1)
    expect(attempts(page).first).to_contain_text("Delivered")
    expect(attempts(page).first.get_by_role("link")).to_have_attribute("href", f"/requests/{request}")
    button(page, f"Send again: {request[:8]}").focus()
    page.keyboard.press("Enter")
    expect(attempts(page)).to_have_count(2)
    expect(attempts(page).first.get_by_role("cell", name="2", exact=True)).to_be_visible()
    expect(button(page, f"Send again: {request[:8]}")).to_be_focused()
    assert [received.message["data"]["id"] for received in hook.received] == [request] * 2
    assert hook.received[0].id == hook.received[1].id


@pytest.mark.thorough
def test_refusals_stand_at_their_fields(start: Callable[..., Web]) -> None:
    """What may not be called is said at the URL, which stays; what was not saved is not lost by closing the drawer."""
    web = start()
    page = web.sign_in(path="/settings/webhooks")
    button(page, "Add a webhook").click()
    url = page.get_by_label("URL")
    url.fill("https://10.0.0.7/hook")
    button(page, "Save").click()
    expect(page.get_by_role("combobox", name="Agent")).to_have_accessible_description(re.compile("Choose an agent"))
    choose(page, "Agent", "default")
    button(page, "Save").click()
    expect(url).to_have_attribute("aria-invalid", "true")
    expect(url).to_have_accessible_description(re.compile("is not to be reached: its host has an address that is not"))
    expect(url).to_have_value("https://10.0.0.7/hook")
    page.keyboard.press("Escape")
    button(page, "Keep editing").click()
    url.fill("http://example.com/")
    expect(url).not_to_have_attribute("aria-invalid", "true")
    button(page, "Save").click()
    expect(url).to_have_accessible_description(re.compile("must begin with https://"))
    page.keyboard.press("Escape")
    button(page, "Discard").click()
    expect(page.get_by_text("There are none yet")).to_be_visible()


@pytest.mark.thorough
def test_it_is_changed_and_switched_off(web: Web) -> None:
    """Only what was changed here is: what somebody else has set meanwhile stays."""
    set_up(web, "http://127.0.0.1:9/old")
    page = web.sign_in(path="/settings/webhooks/default")
    page.get_by_role("switch", name="Report closed requests").uncheck(force=True)
    expect(button(page, "Test")).to_be_disabled()
    assert web.admin.put(WEBHOOK, json={"url": "http://127.0.0.1:9/new"}).is_success
    button(page, "Save").click()
    expect(page.get_by_text("Saved", exact=True).first).to_be_visible()
    assert (stored(web)["url"], stored(web)["enabled"]) == ("http://127.0.0.1:9/new", False)
    expect(page.get_by_label("URL")).to_have_value("http://127.0.0.1:9/new")
    page.get_by_label("URL").fill("ftp://127.0.0.1/")
    button(page, "Save").click()
    expect(page.get_by_label("URL")).to_have_accessible_description(re.compile("must be an address like"))
    button(page, "Discard").click()
    page.get_by_role("link", name="All webhooks").click()
    expect(page.get_by_role("row").filter(has_text="http://127.0.0.1:9/new")).to_contain_text("Off")


@pytest.mark.thorough
def test_the_secret_is_rotated_and_tried_out(web: Web, hook: WebhookReceiver) -> None:
    """The new secret is whole once; for a day both sign, as the test shows."""
    old = set_up(web, hook.hook)
    page = web.sign_in(path="/settings/webhooks/default")
    expect(page.get_by_role("group", name="Secret", exact=True)).to_contain_text(f"whsec_...{old[-4:]}")
    button(page, "Make a new secret").click()
    expect(button(page, "Keep")).to_be_focused()
    page.get_by_role("alertdialog").get_by_role("button", name="Make a new secret").click()
    new = page.get_by_role("textbox", name="The new secret").input_value()
    button(page, "I have stored it").click()
    expect(button(page, "Make a new secret")).to_be_focused()
    expect(page.get_by_role("group", name="Secret", exact=True)).to_contain_text(f"whsec_...{new[-4:]}")
    expect(page.get_by_role("group", name="Secret", exact=True)).to_contain_text("The one before signs, too, until")
    assert new not in page.content()
    hook.secrets[:] = [new, old]
    button(page, "Test").click()
    expect(page.get_by_text("It works: answered 204")).to_be_visible()
    hook.answers.append(Response(status_code=503))
    button(page, "Test").click()
    expect(page.get_by_text("It does not work: answered 503")).to_be_visible()


@pytest.mark.thorough
def test_a_failure_says_why_and_when_it_is_tried_again(web: Web, hook: WebhookReceiver) -> None:
    """In the log and in the list; while it cannot be read again the page says so, and how old it is."""
    hook.secrets[:] = [set_up(web, hook.hook)]
    hook.answers.append(Response(status_code=500, headers={"Retry-After": "3600"}))
    close(web)
    page = web.sign_in(path="/settings/webhooks")
    expect(page.get_by_role("row").filter(has_text=hook.hook)).to_contain_text("answered 500")
    page.get_by_role("link", name="default").click()
    expect(attempts(page).first).to_contain_text(re.compile("Failed.*answered 500.*next attempt in (1 h|59 min)"))
    page.context.set_offline(True)
    expect(page.get_by_text("What came since is not known")).to_be_visible()
    expect(attempts(page)).to_have_count(1)
    page.context.set_offline(False)
    expect(page.get_by_text("What came since is not known")).to_be_hidden()


@pytest.mark.thorough
def test_it_is_removed_after_asking(web: Web) -> None:
    """Its page then says that there is none, as it does for whoever still follows the address."""
    set_up(web, "http://127.0.0.1:9/")
    page = web.sign_in(path="/settings/webhooks/default")
    button(page, "Remove").click()
    button(page, "Keep").click()
    expect(button(page, "Remove")).to_be_focused()
    button(page, "Remove").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("There are none yet")).to_be_visible()
    assert web.admin.get(WEBHOOK).status_code == 404
    page.go_back()
    expect(page.get_by_role("heading", name="has no webhook")).to_be_visible()


@needs_axe
@pytest.mark.thorough
def test_its_pages_break_no_rule(web: Web, hook: WebhookReceiver) -> None:
    """With content, in every look: the list, the drawer, a webhook with its log, and a new secret."""
    hook.secrets[:] = [set_up(web, hook.hook)]
    hook.answers += [Response(status_code=410), Response(status_code=500, headers={"Retry-After": "3600"})]
    for calls in range(3):
        close(web)
        until(lambda calls=calls: len(hook.received) > calls, "it was called")
    for look in LOOKS.values():
        page = web.context(**look, reduced_motion="reduce").new_page()
        page.goto("/settings/webhooks")
        expect(page.get_by_role("row").filter(has_text="Delivered")).to_be_visible()
        assert checked(page) == []
        button(page, "Add a webhook").click()
        button(page, "Save").click()
        assert checked(page) == []
        page.goto("/settings/webhooks/default")
        expect(attempts(page)).to_have_count(3)
        button(page, "Make a new secret").click()
        assert checked(page) == []
        page.get_by_role("alertdialog").get_by_role("button", name="Make a new secret").click()
        expect(page.get_by_role("textbox", name="The new secret")).to_be_visible()
        assert checked(page) == []
