"""Administrators set Slack up and try it out; a token that is stored is never shown again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Request, expect

from tests.support.processes import free_port
from tests.support.slack import APP_TOKEN as WORKING_APP_TOKEN
from tests.support.slack import BOT_TOKEN as WORKING_BOT_TOKEN
from tests.support.slack import CHANNEL, fake_slack
from tests.support.web import Web, meanwhile

pytestmark = pytest.mark.thorough

CONFIG = "/api/human-feedback/slack/config"
BOT_TOKEN = "xoxb-1000000000-SecretOfTheBot-1234"
APP_TOKEN = "xapp-1-A0APP-SecretOfTheApp-5678"
STORED = {"enabled": True, "channel_id": "C0123456789", "bot_token": BOT_TOKEN, "app_token": APP_TOKEN}


def config(web: Web) -> dict[str, Any]:
    """How Slack is set up, as the API has it."""
    shown = web.admin.get(CONFIG)
    assert shown.status_code == 200, shown.text
    found: dict[str, Any] = shown.json()
    return found


def store(web: Web) -> None:
    assert web.admin.post(CONFIG, json=STORED).status_code == 200


def field(page: Page, label: str) -> Locator:
    return page.get_by_label(label, exact=True)


def token(page: Page, label: str) -> Locator:
    """Where a stored token stands."""
    return page.get_by_role("group", name=label)


def save(page: Page) -> dict[str, Any]:
    """Save the form; returns what was sent."""

    def writes(request: Request) -> bool:
        return request.method == "POST" and request.url.endswith(CONFIG)

    with page.expect_request(writes) as sent:
        page.get_by_role("button", name="Save", exact=True).click()
    body: dict[str, Any] = json.loads(sent.value.post_data or "")
    return body


def saved(page: Page) -> None:
    """Also the form says that there is nothing left to save."""
    expect(page.get_by_text("Saved", exact=True).first).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()


def test_slack_is_set_up_and_no_token_is_shown_again(web: Web) -> None:
    """All that is filled in is stored; afterwards the page has nothing of a token but how it begins and ends."""
    page = web.sign_in(path="/settings/slack")
    page.get_by_role("switch", name="Use Slack").check(force=True)
    field(page, "Channel id").fill("C0123456789")
    for label, value in (("Bot token", BOT_TOKEN), ("App token", APP_TOKEN)):
        expect(field(page, label)).to_have_attribute("type", "password")
        expect(field(page, label)).to_have_attribute("autocomplete", "off")
        field(page, label).fill(f" {value} ")
    field(page, "Delay (seconds)").fill("300")
    expect(page.get_by_text("= 5 min")).to_be_visible()
    assert save(page) == STORED | {"notification_delay_seconds": 300}
    saved(page)
    shown = {"bot_token": "xoxb-...1234", "app_token": "xapp-...5678", "notification_delay_seconds": 300}
    assert config(web) == STORED | shown

    for _ in ("at once", "after a reload"):
        expect(token(page, "Bot token")).to_contain_text("stored: xoxb-...1234")
        expect(token(page, "App token")).to_contain_text("stored: xapp-...5678")
        assert "Secret" not in page.content()
        assert "Secret" not in page.evaluate("[...document.querySelectorAll('input')].map((one) => one.value).join()")
        page.reload()
    expect(page.get_by_role("switch", name="Use Slack")).to_be_checked()
    expect(field(page, "Delay (seconds)")).to_have_value("300")


def test_only_what_changed_is_sent(web: Web) -> None:
    """Stored tokens stay as they are when something else is changed, also after thinking about replacing one."""
    store(web)
    page = web.sign_in(path="/settings/slack")
    page.get_by_role("button", name="Replace: Bot token").click()
    expect(field(page, "Bot token")).to_be_focused()
    field(page, "Bot token").fill("xoxb-another")
    page.get_by_role("button", name="Keep: Bot token").click()
    expect(token(page, "Bot token")).to_contain_text("stored: xoxb-...1234")
    expect(page.get_by_role("button", name="Replace: Bot token")).to_be_focused()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Replace: App token").click()
    field(page, "Delay (seconds)").fill("0")
    assert save(page) == {"notification_delay_seconds": 0}
    saved(page)
    assert config(web) == STORED | {
        "bot_token": "xoxb-...1234",
        "app_token": "xapp-...5678",
        "notification_delay_seconds": 0,
    }


def test_tokens_are_replaced_and_taken_away(web: Web) -> None:
    """One token is another, one is none, once it is saved; until then it can be kept."""
    store(web)
    page = web.sign_in(path="/settings/slack")
    page.get_by_role("switch", name="Use Slack").uncheck(force=True)
    page.get_by_role("button", name="Replace: Bot token").click()
    field(page, "Bot token").fill("xoxb-another-token-of-ours")
    page.get_by_role("button", name="Remove: App token").click()
    expect(page.get_by_role("button", name="Keep: App token")).to_be_focused()
    expect(token(page, "App token")).to_contain_text("Taken away when you save.")
    assert config(web)["app_token"] == "xapp-...5678"
    assert save(page) == {"enabled": False, "bot_token": "xoxb-another-token-of-ours", "app_token": None}
    saved(page)
    expect(token(page, "Bot token")).to_contain_text("stored: xoxb-...ours")
    expect(field(page, "App token")).to_have_value("")
    assert (config(web)["bot_token"], config(web)["app_token"]) == ("xoxb-...ours", None)


def test_refusals_stand_at_their_fields(web: Web) -> None:
    """Each field says what is wrong with it, nothing is stored, and what was written stays."""
    page = web.sign_in(path="/settings/slack")
    page.get_by_role("switch", name="Use Slack").check(force=True)
    field(page, "Channel id").fill("#approvals")
    field(page, "Bot token").fill("xapp-the-wrong-one")
    field(page, "Delay (seconds)").fill("soon")
    save(page)
    for label, cause in {
        "Channel id": "must be the id of a channel",
        "Bot token": "must begin with xoxb-",
        "App token": "must be given before Slack is enabled",
        "Delay (seconds)": "must be a number of seconds",
    }.items():
        expect(field(page, label)).to_have_attribute("aria-invalid", "true")
        expect(field(page, label)).to_have_accessible_description(re.compile(cause))
    expect(page.get_by_role("alert")).to_contain_text("Not saved")
    expect(field(page, "Channel id")).to_have_value("#approvals")
    assert config(web)["enabled"] is False

    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(field(page, "Channel id")).to_have_value("")


def test_what_must_stay_cannot_be_taken_away(web: Web) -> None:
    """A token that Slack needs while it is used: the refusal stands where the token did."""
    store(web)
    page = web.sign_in(path="/settings/slack")
    page.get_by_role("button", name="Remove: Bot token").click()
    save(page)
    expect(token(page, "Bot token")).to_contain_text("must be given before Slack is enabled")
    assert config(web)["bot_token"] == "xoxb-...1234"


def test_trying_it_out_says_why_it_does_not_work(start: Callable[..., Web]) -> None:
    """The cause stands in place, what was filled in is tried and not stored; a change takes the result away."""
    web = start(slack_api_url=f"http://127.0.0.1:{free_port()}/api/")
    page = web.sign_in(path="/settings/slack")
    result = page.get_by_role("status").filter(has_text="It does not work")
    test = page.get_by_role("button", name="Test", exact=True)
    test.click()
    expect(result).to_contain_text("there is no bot token")
    field(page, "Channel id").fill("C0123456789")
    expect(result).to_be_hidden()
    field(page, "Bot token").fill(BOT_TOKEN)
    field(page, "App token").fill(APP_TOKEN)
    test.click()
    expect(result).to_contain_text("Slack cannot be reached", timeout=20_000)
    assert (config(web)["channel_id"], config(web)["bot_token"]) == (None, None)
    field(page, "Channel id").fill("approvals")
    test.click()
    expect(page.get_by_role("alert")).to_contain_text("Not tested")
    expect(field(page, "Channel id")).to_have_attribute("aria-invalid", "true")


def test_trying_it_out_says_that_it_works(start: Callable[..., Web]) -> None:
    """What is stored is tried: the result says who the bot is and where, and nothing was sent along."""
    with meanwhile(fake_slack()) as slack:
        web = start(slack_api_url=slack.url)
        working = {"channel_id": CHANNEL, "bot_token": WORKING_BOT_TOKEN, "app_token": WORKING_APP_TOKEN}
        assert web.admin.post(CONFIG, json=working).status_code == 200
        page = web.sign_in(path="/settings/slack")
        with page.expect_request("**/slack/test") as sent:
            page.get_by_role("button", name="Test", exact=True).click()
        assert json.loads(sent.value.post_data or "") == {}
        result = page.get_by_role("status").filter(has_text="It works: handraise of Fake is in #approvals")
        expect(result).to_be_visible(timeout=20_000)


@pytest.mark.parametrize("role", ["member", "auditor"])
def test_others_have_no_such_page(web: Web, role: str) -> None:
    """Who follows the address sees nothing of it."""
    store(web)
    web.person("alice", role)
    page = web.sign_in("alice", "/settings/slack")
    expect(page.get_by_role("heading", name="Settings are for administrators")).to_be_visible()
    expect(page.get_by_role("link", name="Slack")).to_be_hidden()
    expect(page.get_by_role("switch", name="Use Slack")).to_be_hidden()
    assert "C0123456789" not in page.content()


def test_the_connection_is_shown_as_it_is(start: Callable[..., Web]) -> None:
    """Connected since when; what is wrong while it is not; and nothing while Slack is not used."""
    with meanwhile(fake_slack()) as slack:
        web = start(slack_api_url=slack.url)
        page = web.sign_in(path="/settings/slack")
        expect(page.get_by_text("Connected since")).to_have_count(0)
        whole = STORED | {"channel_id": CHANNEL, "bot_token": WORKING_BOT_TOKEN, "app_token": WORKING_APP_TOKEN}
        assert web.admin.post(CONFIG, json=whole).status_code == 200
        expect(page.get_by_text("Connected since")).to_be_visible(timeout=20_000)
        slack.token_errors[WORKING_APP_TOKEN] = "token_revoked"
        assert web.admin.post(CONFIG, json={"notification_delay_seconds": 5}).status_code == 200
        expect(page.get_by_text("Not connected")).to_contain_text("token_revoked", timeout=20_000)
