"""Fixtures for tests in a browser: one Chromium for a module, a server of its own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.support.postgres import TestServer
from tests.support.web import Web, chromium, web_server

expect.set_options(timeout=10_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ended with the module: while Playwright runs, no other test of this process can have an event loop."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def start(browser: Browser, postgres: TestServer, template: str, tmp_path: Path) -> Iterator[Callable[..., Web]]:
    """Starts a server with the settings given, on a fresh database."""
    databases: list[str] = []
    with ExitStack() as stack:

        def begin(**settings: Any) -> Web:
            databases.append(postgres.run(postgres.create_database(template)))
            data_dir = tmp_path / f"data-{len(databases)}"
            return stack.enter_context(web_server(browser, data_dir, databases[-1], **settings))

        yield begin
    for database in databases:
        postgres.run(postgres.drop_database(database))


@pytest.fixture
def web(start: Callable[..., Web]) -> Web:
    """A server with the settings that it has by itself."""
    return start()
