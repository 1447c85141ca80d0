"""Pages inside another web application's: the documented snippet, answered in the frame, told to the page around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests.support.processes import ROOT, free_port
from tests.support.web import Web

SNIPPET = re.findall(r"```html\n(.*?)```", (ROOT / "docs" / "how-to" / "embed.md").read_text(encoding="utf-8"), re.S)[0]
RECORDING = "<script>const told = []; addEventListener('message', (event) => told.push(event.data));</script>"


@contextmanager
def application(port: int) -> Iterator[dict[str, str]]:
    """Another web application at http://127.0.0.1:port: what it shows, by path."""
    pages: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield pages
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def pages(port: int) -> Iterator[dict[str, str]]:
    with application(port) as shown:
        yield shown


@pytest.fixture
def web(start: Callable[..., Web], port: int) -> Web:
    """A server that this application may embed."""
    return start(embed_origins=f"http://127.0.0.1:{port}")


def embed(web: Web, pages: dict[str, str], port: int, **token: Any) -> tuple[Page, FrameLocator]:
    """The application's page with the frame, in a browser where nobody is signed in."""
    made = web.admin.post("/api/embed/tokens", json=token)
    assert made.status_code == 201, made.text
    pages["/work"] = f"<!doctype html><title>Work</title>{RECORDING}{SNIPPET.replace('URL', made.json()['url'])}"
    page = web.context(None).new_page()
    page.goto(f"http://127.0.0.1:{port}/work")
    return page, page.frame_locator("#handraise")


def told(page: Page, type: str) -> list[dict[str, Any]]:
    return [each for each in page.evaluate("told") if each.get("source") == "handraise" and each["type"] == type]


def test_a_request_is_answered_inside_another_application(web: Web, pages: dict[str, str], port: int) -> None:
    """The frame gets the height that the request needs, the page around it hears who answered what."""
    web.person("alice")
    asked = web.ask(
        message="\n\n".join(["Ship it?"] * 40), request_type="approval",
        assignment_strategy={"type": "SpecificUser", "userID": "alice"},
    )  # fmt: skip
    page, frame = embed(web, pages, port, user="alice", path=f"/requests/{asked['id']}")
    frame.get_by_role("button", name="Approve").click()
    expect(frame.get_by_text("Approved").first).to_be_visible()
    page.wait_for_function("told.some((each) => each.type === 'answered')")
    assert told(page, "answered") == [
        {"source": "handraise", "type": "answered", "request_id": asked["id"], "by": "alice"}
    ]
    height = int(page.locator("#handraise").get_attribute("height") or 0)
    assert height == told(page, "size")[-1]["height"] > 1000
    response = web.request(asked["id"])["response"]
    assert (response["outcome"], response["by"], response["via"]) == ("approved", "alice", "web")


def test_the_inbox_is_live_inside_another_application(web: Web, pages: dict[str, str], port: int) -> None:
    """A request that comes later appears, opens beside the list, and is answered; other pages are not there."""
    web.person("alice")
    to_alice = {"type": "SpecificUser", "userID": "alice"}
    _, frame = embed(web, pages, port, user="alice")
    expect(frame.get_by_role("heading", name="Inbox")).to_be_visible()
    expect(frame.locator("[data-connection=connected]")).to_have_count(1)
    asked = web.ask(message="Which door?", assignment_strategy=to_alice)
    frame.get_by_role("link", name="Which door?").click()
    frame.get_by_role("textbox", name="Answer").fill("The blue one")
    frame.get_by_role("button", name="Send").click()
    expect(frame.get_by_role("link", name="Which door?")).to_have_count(0)
    assert web.request(asked["id"])["response"]["text"] == "The blue one"
    expect(frame.get_by_role("link", name="Dashboard")).to_have_count(0)


def test_a_session_that_ends_says_so(web: Web, pages: dict[str, str], port: int) -> None:
    """Once the person is set inactive the frame shows nothing any more, and the page around it is told."""
    web.person("alice")
    page, frame = embed(web, pages, port, user="alice")
    expect(frame.get_by_role("heading", name="Inbox")).to_be_visible()
    assert web.admin.patch("/api/users/alice", json={"active": False}).is_success
    expect(frame.get_by_text("You are not signed in here any more")).to_be_visible()
    page.wait_for_function("told.some((each) => each.type === 'signed-out')")
    page.reload()  # with the token that was used already
    expect(frame.get_by_text("You are not signed in here any more")).to_be_visible()


def test_other_origins_show_nothing(web: Web, pages: dict[str, str], port: int) -> None:
    """A page of an origin that is not named gets no frame, and no page but those for it is in any."""
    refused: list[str] = []
    for other, path in ((free_port(), "/embed/inbox"), (port, "/inbox"), (port, "/sign-in")):
        with application(other) if other != port else _same(pages) as shown:
            shown["/"] = f'<!doctype html><iframe src="{web.url}{path}"></iframe>'
            page = web.context(None).new_page()
            page.goto(f"http://127.0.0.1:{other}/")
            page.wait_for_load_state("networkidle")
            assert [frame.url for frame in page.frames[1:]] in ([], ["chrome-error://chromewebdata/"]), path
            refused += [fault for fault in web.faults if "frame-ancestors" in fault]
            web.faults.clear()
    assert len(refused) == 3


@contextmanager
def _same(pages: dict[str, str]) -> Iterator[dict[str, str]]:
    yield pages
