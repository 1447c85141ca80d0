"""A real server and a real Chromium: pages as people see them, each watched for faults of ours."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from interfaces.app import running
from interfaces.bootstrap import ensure_credentials
from interfaces.server import BACKLOG, Server
from interfaces.settings import Settings
from tests.support.processes import PATIENCE, ServerProcess, until

T = TypeVar("T")

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
MISSING = "needs Chromium: apt-get install chromium, or put `chromium` on the path"
REQUIRED = "REQUIRE_CHROMIUM" in os.environ
"""Where a missing Chromium is a failure: what is skipped shows nothing."""

_ARGUMENTS = (
    "--no-sandbox",  # as root there is no other way
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium. Skips the test where there is none, unless it is required."""
    if CHROMIUM is None:
        if REQUIRED:
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_ARGUMENTS))
        yield browser
        browser.close()


class Web:
    """A server with its people and agents, and browsers that look at it.

    `admin` and `agent` are HTTP clients with the keys that the server made at its first start.
    """

    def __init__(self, server: ServerProcess, browser: Browser, stack: ExitStack) -> None:
        self.server = server
        self.url = server.url
        self.browser = browser
        self._stack = stack
        self.admin = stack.enter_context(server.admin())
        self.agent = stack.enter_context(server.agent())
        self.faults: list[str] = []
        """What went wrong in any page: errors on the console, uncaught exceptions, violations of the policy."""

    def person(self, id: str, role: str = "member", **fields: Any) -> httpx.Client:
        """A new person's client, with a key of their own."""
        self._made(self.admin.post("/api/users", json={"id": id, "name": id.title(), "role": role} | fields))
        key = self._made(self.admin.post("/api/keys", json={"name": f"{id} key", "user": id}))
        return self._stack.enter_context(self.server.client(key["key"]))

    def ask(self, **body: Any) -> dict[str, Any]:
        """A request of the default agent, for the administrator unless `assignment_strategy` says otherwise."""
        to_admin = {"assignment_strategy": {"type": "SpecificUser", "userID": "admin"}}
        return self._made(self.agent.post("/api/requests", json={"message": "May I?"} | to_admin | body))

    def request(self, id: str) -> dict[str, Any]:
        """A request as it stands, as the administrator sees it."""
        return self._made(self.admin.get(f"/api/requests/{id}"))

    def context(self, user: str | None = "admin", **options: Any) -> BrowserContext:
        """A browser of this person's own, signed in; of nobody's with None. `options` go to Playwright."""
        context = self.browser.new_context(base_url=self.url, **{"locale": "en-GB", "timezone_id": "UTC"} | options)
        self._stack.callback(context.close)
        context.set_default_timeout(15_000)
        context.on("page", self._watch)
        if user is not None:
            link = self._made(self.admin.post(f"/api/users/{user}/link"))
            token = link["url"].partition("#")[2]
            assert context.request.post(f"{self.url}/api/session/link", data={"token": token}).ok
        return context

    def sign_in(self, user: str = "admin", path: str = "/inbox", **options: Any) -> Page:
        """A page in a browser of this person's own, at `path`."""
        page = self.context(user, **options).new_page()
        page.goto(path)
        return page

    def _watch(self, page: Page) -> None:
        page.on("console", lambda message: self._hear(page, message))
        page.on("pageerror", lambda error: self.faults.append(f"{page.url}: uncaught {error}"))

    def _hear(self, page: Page, message: ConsoleMessage) -> None:
        # The browser itself reports every refused or failed call as an error; those are not ours.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.faults.append(f"{page.url}: {message.text}")

    @staticmethod
    def _made(response: httpx.Response) -> dict[str, Any]:
        assert response.is_success, response.text
        return response.json()


class ServerThread(ServerProcess):
    """The same server in a thread of this process: a new process spends most of its time on starting Python.

    It cannot be killed, and prints nothing.
    """

    def __init__(self, data_dir: Path, database_url: str, **settings: Any) -> None:
        super().__init__(data_dir, database_url)
        self._settings = Settings(data_dir=data_dir, database_url=database_url, **{"port": self.port} | settings)
        self._loop = asyncio.new_event_loop()
        self._server: Server | None = None
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._serve()], daemon=True)
        self._ended: BaseException | None = None

    def start(self) -> Self:
        self._thread.start()
        until(self._serves, "the server serves")
        return self

    def stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(PATIENCE)
        self._loop.close()

    def _serves(self) -> bool:
        assert self._thread.is_alive(), self._ended
        return self._server is not None and self._server.started

    async def _serve(self) -> None:
        try:
            async with running(self._settings) as app:
                await ensure_credentials(app.directory, app.keys, self._settings, admin_key=True)
                self._server = Server(app.api, self._settings, app.let_go)
                with socket.create_server((self._settings.host, self.port), backlog=BACKLOG) as listener:
                    await self._server.serve(sockets=[listener])
        except BaseException as error:
            self._ended = error
            raise


@contextmanager
def web_server(
    browser: Browser, data_dir: Path, database: str, *, process: bool = False, **settings: Any
) -> Iterator[Web]:
    """A server on this database. Fails at the end if any page had a fault. `settings` are the server's.

    `process` starts it as one of its own, which can be killed.
    """
    kind = ServerProcess if process else ServerThread
    with kind(data_dir, database, **settings) as server, ExitStack() as stack:
        web = Web(server, browser, stack)
        yield web
        assert not web.faults


@contextmanager
def meanwhile(context: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """What is served here, from a thread of its own: a browser is waited for in this one."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def there(coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(PATIENCE)

    async def enter() -> T:
        return await context.__aenter__()

    async def leave() -> None:
        await context.__aexit__(None, None, None)

    try:
        yield there(enter())
        there(leave())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def settle(page: Page) -> None:
    """Returns once a page shows what it has to show, and nothing moves."""
    page.locator("h1:visible").first.wait_for()
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    # Not with `wait_for_function`: where that has to look twice, the policy of the page forbids it.
    page.evaluate(
        "Promise.allSettled(document.getAnimations().filter((each) => each.playState === 'running')"
        ".map((each) => each.finished))"
    )
