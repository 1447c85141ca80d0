"""Being told in the browser: once, of what is one's own, and not any longer than it is true."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.support.web import Web

pytestmark = pytest.mark.thorough

GRANTED = ["notifications"]
TITLE = "Human feedback required"

RECORDING = """
    window.told = [];
    window.Notification = class {
        static permission = "granted";
        static requestPermission = async () => "granted";
        constructor(title, options) {
            this.closed = false;
            window.told.push(Object.assign(this, { title }, options));
        }
        close() { this.closed = true; }
    };
"""
THROWING = """
    window.tried = 0;
    window.Notification = class {
        static permission = "granted";
        static requestPermission = async () => "granted";
        constructor() {
            window.tried += 1;
            throw new TypeError("Illegal constructor. Use ServiceWorkerRegistration.showNotification() instead.");
        }
    };
"""
TOLD = "told.map(({title, body, tag, closed, requireInteraction}) => ({title, body, tag, closed, requireInteraction}))"
SHOWN = """
    async (count) => {
        let shown = [];
        for (let attempt = 0; attempt < 200; attempt += 1) {
            const registration = await navigator.serviceWorker.getRegistration("/");
            shown = (await registration?.getNotifications()) ?? [];
            if (shown.length === count) break;
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
        return shown.map(({ title, body, tag, requireInteraction }) => ({ title, body, tag, requireInteraction }));
    }
"""
CLICK = """
    (tag) => {
        const shown = told.find((each) => each.tag === tag);
        shown.onclick(new Event("click"));
    }
"""


def in_a_row(page: Page, text: str) -> None:
    expect(page.get_by_role("listitem").filter(has_text=text)).to_be_visible()


def recorder(web: Web, user: str = "admin", stub: str = RECORDING) -> BrowserContext:
    context = web.context(user)
    context.add_init_script(stub)
    return context


def opened(context: BrowserContext, path: str = "/inbox") -> Page:
    page = context.new_page()
    page.goto(path)
    connected(page)
    return page


def connected(page: Page) -> None:
    """From now on the page hears of everything as it happens; of what was there before nobody is told."""
    expect(page.locator("[data-connection=connected]")).to_be_attached()


def told(page: Page, count: int) -> list[dict[str, Any]]:
    page.wait_for_function("(count) => window.told.length >= count", arg=count)
    return page.evaluate(TOLD)


def shown(page: Page, count: int) -> list[dict[str, Any]]:
    """What the service worker shows, as soon as it is so many."""
    found = page.evaluate(SHOWN, count)
    assert len(found) == count
    return found


def test_nobody_is_asked_without_a_click(web: Web) -> None:
    """Loading asks nothing of the browser; the offer does when it is taken, and goes for good when it is declined."""
    context = web.context()
    context.add_init_script(
        """
        window.asked = 0;
        window.Notification = class { static permission = "default"; };
        Notification.requestPermission = async () => { window.asked += 1; return Notification.permission = "granted"; };
        """
    )
    page = opened(context)
    offer = page.get_by_role("region", name="Notifications in this browser")
    expect(offer).to_be_visible()
    assert page.evaluate("asked") == 0
    offer.get_by_role("button", name="Not now").click()
    expect(offer).to_be_hidden()
    page.reload()
    in_scopes = page.get_by_role("navigation", name="Which requests")
    expect(in_scopes).to_be_visible()
    expect(offer).to_be_hidden()

    page.evaluate("localStorage.clear()")
    page.reload()
    offer.get_by_role("button", name="Turn on").click()
    expect(offer).to_be_hidden()
    assert page.evaluate("asked") == 1


def test_what_a_notification_says(web: Web) -> None:
    """The title is always the same; the body is the message as plain text, of a secret request not a word of it."""
    page = opened(recorder(web))
    plain = web.ask(message="Deploy **build 7**?", priority=20)
    (first,) = told(page, 1)
    assert first == {
        "title": TITLE,
        "body": "Deploy build 7?",
        "tag": plain["id"],
        "closed": False,
        "requireInteraction": True,
    }
    web.ask(message="The code for the safe?", secret=True)
    second = told(page, 2)[1]
    assert second["body"] == "You are asked to answer a request."
    assert second["requireInteraction"] is False


def test_generic_text_on_wish(web: Web) -> None:
    """Who does not want to have it shown is told only that something is asked."""
    page = opened(recorder(web))
    page.goto("/profile")
    page.get_by_role("switch", name="Do not show what is asked").check()
    page.goto("/inbox")
    connected(page)
    web.ask(message="Whom to dismiss?")
    assert told(page, 1)[0]["body"] == "You are asked to answer a request."


def test_only_of_what_is_ones_own(web: Web) -> None:
    """Told are the assignee and free members of the list; not others, and nobody of what they did themselves."""
    alice = web.person("alice")
    web.person("bob")
    web.admin.post("/api/lists", json={"id": "oncall", "name": "On call", "members": ["alice"]})
    hers, his, mine = (opened(recorder(web, user)) for user in ("alice", "bob", "admin"))
    shared = web.ask(message="Who is free?", assignment_strategy={"type": "SharedInbox", "listID": "oncall"})
    assert [each["tag"] for each in told(hers, 1)] == [shared["id"]]
    assert alice.post(f"/api/requests/{shared['id']}/claim").status_code == 200
    last = web.ask(message="For the administrator?")
    assert [each["tag"] for each in told(mine, 1)] == [last["id"]]
    given = web.admin.post(f"/api/requests/{last['id']}/reassign", json={"to": "alice"})
    assert given.status_code == 200
    assert [each["tag"] for each in told(hers, 2)] == [shared["id"], last["id"]]
    assert his.evaluate("told.length") == 0


def test_c54_a_throwing_constructor_breaks_nothing(web: Web) -> None:
    """Where pages may not show notifications themselves the list is updated all the same; the worker shows it."""
    context = recorder(web, stub=THROWING)
    context.grant_permissions(GRANTED)
    page = opened(context)
    asked = web.ask(message="On a telephone?")
    in_a_row(page, "On a telephone?")
    assert [each["tag"] for each in shown(page, 1)] == [asked["id"]]
    assert page.evaluate("tried") == 1


def test_c54_once_across_tabs(web: Web) -> None:
    """Of three tabs one tells of each request, and every notification carries the request's own tag."""
    context = recorder(web)
    tabs = [opened(context) for _ in range(3)]
    asked = [web.ask(message=f"Number {number}?") for number in (1, 2)]
    for tab in tabs:
        in_a_row(tab, "Number 2?")
    tabs[0].wait_for_timeout(1_500)  # for those that would tell of it a second time
    tags = [each["tag"] for tab in tabs for each in tab.evaluate(TOLD)]
    assert sorted(tags) == sorted(each["id"] for each in asked)


def test_closed_when_answered_elsewhere(web: Web) -> None:
    """A notification goes when its request is answered, or given to somebody else."""
    web.person("alice")
    page = opened(recorder(web))
    answered, moved = web.ask(message="One?"), web.ask(message="Two?")
    told(page, 2)
    web.admin.post(f"/api/requests/{answered['id']}/respond", json={"text": "yes"})
    web.admin.post(f"/api/requests/{moved['id']}/reassign", json={"to": "alice"})
    page.wait_for_function("() => told.every(({ closed }) => closed)")


def test_a_click_opens_the_request(web: Web) -> None:
    """Clicking a notification of a page opens its request in that page, without loading it again."""
    page = opened(recorder(web))
    asked = web.ask(message="Look at me?")
    told(page, 1)
    page.evaluate("window.isStillTheSamePage = true")
    page.evaluate(CLICK, asked["id"])
    expect(page).to_have_url(f"{web.url}/requests/{asked['id']}")
    assert page.evaluate("window.isStillTheSamePage")
    assert told(page, 1)[0]["closed"]


def test_turned_on_by_a_click_the_worker_shows_them(web: Web) -> None:
    """Once turned on, the service worker shows what is asked and closes what is answered."""
    context = web.context()
    context.grant_permissions(GRANTED)
    page = opened(context, "/inbox")
    page.goto("/profile")
    assert page.evaluate("async () => (await navigator.serviceWorker.getRegistrations()).length") == 0
    worker_in_place(page)
    asked = web.ask(message="By the worker?", priority=1)
    assert shown(page, 1) == [
        {"title": TITLE, "body": "By the worker?", "tag": asked["id"], "requireInteraction": True}
    ]
    web.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})
    shown(page, 0)


def worker_in_place(page: Page) -> None:
    """Turn notifications off and on again by clicks."""
    switch = page.get_by_role("switch", name="Tell me in this browser")
    for wanted in (False, True):
        expect(switch).to_be_checked(checked=not wanted)
        switch.click()
    expect(switch).to_be_checked()
    page.evaluate("async () => { await navigator.serviceWorker.ready; }")
    connected(page)


class Pushes:
    """Pushes to the service worker, as the browser's push service would deliver them."""

    def __init__(self, web: Web, page: Page) -> None:
        self._origin = web.url
        self._session = page.context.new_cdp_session(page)
        self._registrations: list[str] = []
        self._session.on("ServiceWorker.workerRegistrationUpdated", self._hear)
        self._session.send("ServiceWorker.enable")
        self._page = page

    def _hear(self, event: dict[str, Any]) -> None:
        self._registrations += [
            each["registrationId"] for each in event["registrations"] if each["scopeURL"].startswith(self._origin)
        ]

    def deliver(self, data: str) -> None:
        while not self._registrations:
            self._page.wait_for_timeout(50)
        self._session.send(
            "ServiceWorker.deliverPushMessage",
            {"origin": self._origin, "registrationId": self._registrations[-1], "data": data},
        )


def test_what_is_pushed_is_shown(web: Web) -> None:
    """The service worker shows what the server sends, and something general for what it cannot understand."""
    context = web.context()
    context.grant_permissions(GRANTED)
    page = opened(context)
    page.goto("/profile")
    worker_in_place(page)
    pushes = Pushes(web, page)
    sent = {
        "title": TITLE,
        "body": "You are asked to answer a request.",
        "request_id": "r1",
        "url": "/requests/r1",
        "tag": "r1",
        "urgent": True,
    }
    pushes.deliver(json.dumps(sent))
    assert shown(page, 1) == [
        {"title": TITLE, "body": "You are asked to answer a request.", "tag": "r1", "requireInteraction": True}
    ]
    for malformed in ("not JSON", "null", '{"title": 7, "url": "https://evil.example/", "tag": []}'):
        pushes.deliver(malformed)
    assert {each["title"] for each in shown(page, 2)} == {TITLE}
    assert {each["body"] for each in shown(page, 2)} == {"You are asked to answer a request."}


def test_a_click_on_what_was_pushed_opens_the_request(web: Web) -> None:
    """Clicking a notification of the worker shows its request in a page that is open already."""
    asked = web.ask(message="From afar?")
    context = web.context()
    context.grant_permissions(GRANTED)
    page = opened(context)
    page.goto("/profile")
    worker_in_place(page)
    page.evaluate("window.isStillTheSamePage = true")
    worker = context.service_workers[0] if context.service_workers else context.wait_for_event("serviceworker")
    worker.evaluate(
        """
        async (url) => {
            await self.registration.showNotification("Human feedback required", { tag: "clicked", data: { url } });
            const [notification] = await self.registration.getNotifications({ tag: "clicked" });
            self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
        }
        """,
        f"/requests/{asked['id']}",
    )
    expect(page).to_have_url(f"{web.url}/requests/{asked['id']}")
    assert page.evaluate("window.isStillTheSamePage")
    shown(page, 0)


def test_push_that_is_not_to_be_had_is_said(web: Web) -> None:
    """Where the browser or the server refuses push, the switch stays off and the page says why."""
    context = web.context()
    context.grant_permissions(GRANTED)
    context.add_init_script(
        """
        const keys = { p256dh: "AAAA", auth: "AAAA" };
        const made = { endpoint: "https://push.example/1", toJSON: () => ({ endpoint: made.endpoint, keys }) };
        made.unsubscribe = async () => true;
        PushManager.prototype.subscribe = async () => made;
        PushManager.prototype.getSubscription = async () => null;
        """
    )
    page = opened(context)
    page.goto("/profile")
    switch = page.get_by_role("switch", name="Tell me with no page open")
    switch.click()
    expect(page.get_by_role("alert").filter(has_text="Push was not turned on")).to_be_visible()
    expect(switch).not_to_be_checked()
