"""A new user's path, and the ways in and out."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.support.processes import Command
from tests.support.web import Web


def test_a_new_users_path(start: Callable[..., Web]) -> None:
    """Start the server, use its link, ask in a terminal, answer in the browser: the terminal prints the answer."""
    web = start(process=True)
    link = next(word for word in web.server.output.split() if "/sign-in#" in word)
    page = web.context(None).new_page()
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/inbox")
    asking = Command("ask", "Which colour shall the door get?", server=web.server)
    # A new installation knows nobody to ask yet: who administers sees what waits for anybody.
    page.get_by_role("link", name="1 request waits for anybody to take it").click()
    page.get_by_role("link", name="Which colour shall the door get?").click()
    page.get_by_role("textbox", name="Answer").fill("Blue, as the windows")
    page.keyboard.press("Control+Enter")
    finished = asking.finish()
    assert (finished.code, finished.out) == (0, "Blue, as the windows\n")


def test_signing_in_leads_to_where_one_was_going(web: Web) -> None:
    """Who opens a request without being signed in sees it after signing in; only a page of ours is led to."""
    asked = web.ask(message="Open the gate?")
    inside = web.context().request  # only a session sets a password, never a key
    token = inside.get("/api/session").json()["csrf_token"]
    password = {"password": "correct horse battery"}
    assert inside.patch("/api/me", data=password, headers={"X-CSRF-Token": token}).ok
    page = web.context(None).new_page()
    page.goto(f"/requests/{asked['id']}")
    page.wait_for_url("**/sign-in?next=*")
    page.get_by_label("Id or e-mail address").fill("admin")
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**/requests/{asked['id']}")
    expect(page.get_by_text("Open the gate?").first).to_be_visible()

    page.goto("/sign-in?next=https://evil.example/")
    page.wait_for_url(f"{web.url}/inbox")
    page.goto("/sign-in?next=//evil.example/")
    page.wait_for_url(f"{web.url}/inbox")


def test_signing_out(web: Web) -> None:
    """After signing out nothing is shown any more, in no tab."""
    page = web.sign_in()
    other = page.context.new_page()
    other.goto("/dashboard")
    page.get_by_role("button", name="Administrator").click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    other.wait_for_url("**/sign-in?next=*")


def test_pages_that_are_not_there(web: Web) -> None:
    """An address that stands for nothing says so, inside the application and outside of it."""
    page = web.sign_in(path="/settings/nothing-of-the-kind")
    expect(page.get_by_role("heading", level=1).or_(page.get_by_text("There is no such page"))).to_be_visible()
    assert web.admin.get("/nothing").status_code == 404


def test_keys_are_shown_and_can_be_switched_off(web: Web) -> None:
    """`?` shows what keys do; switched off, single keys do nothing until they are switched on again."""
    web.ask(message="Move down?")
    page = web.sign_in()
    row = page.get_by_role("link", name="Move down?")
    row.wait_for()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard")
    expect(keys.get_by_text("Next request")).to_be_visible()
    keys.get_by_role("switch").click()
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("?")
    page.keyboard.press("Control+Shift+F1")  # something else, so that the others were handled
    expect(row).not_to_be_focused()
    expect(keys).to_have_count(0)
    page.reload()
    row.wait_for()
    page.get_by_role("button", name="Administrator").click()
    page.get_by_role("menuitem", name="Keyboard help").click()
    keys.get_by_role("switch").click()
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    page.keyboard.press("j")
    expect(row).to_be_focused()
