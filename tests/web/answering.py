"""Opening a request's form in a browser, and what was stored of the answer that was sent with it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, Response

from tests.support.web import Web


def opened(web: Web, *, browser: dict[str, Any] | None = None, **body: Any) -> tuple[Page, str]:
    """A request of this content, opened by the administrator; its id too."""
    id = web.ask(**body)["id"]
    return web.sign_in(path=f"/requests/{id}", **browser or {}), id


def field(page: Page, name: str) -> Locator:
    """The text field of exactly this name."""
    return page.get_by_role("textbox", name=name, exact=True)


def send(page: Page, button: str = "Send") -> Response:
    """Press the button that answers; the server's reply."""
    with page.expect_response("**/respond") as replied:
        page.get_by_role("button", name=button, exact=True).click()
    return replied.value


def stored(web: Web, id: str, reply: Response) -> dict[str, Any]:
    """The response that the request has, after an answer that was accepted."""
    assert reply.ok, reply.text()
    read = web.admin.get(f"/api/requests/{id}", params={"min_position": reply.json()["position"]})
    return read.json()["response"]


def exactly(value: Any) -> tuple[str, Any]:
    """A value with its type, all the way down: `True` is not `1`, `4` is not `4.0`."""
    if isinstance(value, dict):
        return "object", {name: exactly(member) for name, member in value.items()}
    if isinstance(value, list):
        return "array", [exactly(item) for item in value]
    return type(value).__name__, value
