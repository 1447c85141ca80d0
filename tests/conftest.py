"""Fixtures for all tests: one real Postgres a session, a fresh migrated database a test."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from interfaces.postgres.migrate import migrate
from tests.support.postgres import TestServer
from tests.support.service import Service, service
from tests.support.type_adapters import keep_type_adapters

keep_type_adapters()

LONGEST = (
    "acceptance/test_schemathesis", "web/test_forms", "acceptance/test_mcp", "interfaces/cli/test_secret",
    "acceptance/test_crash", "acceptance/test_webhooks", "acceptance/test_actor", "acceptance/test_sign_in",
    "projections/test_replay", "acceptance/test_slack_config", "acceptance/test_slack_notices",
    "acceptance/test_slack_answers", "interfaces/client/test_asking", "acceptance/test_push",
    "acceptance/test_routing_concurrency", "docs/test_snippets", "acceptance/test_permissions",
    "acceptance/test_directory", "bench/test_bench_smoke", "acceptance/test_slack_connection",
    "interfaces/postgres/test_rotation", "acceptance/test_conventions", "acceptance/test_oidc",
    "acceptance/test_ladder", "web/test_accessibility", "web/test_first_steps", "acceptance/test_time",
    "acceptance/test_secrets",
)  # fmt: skip
"""Modules in the order in which they are begun, before all others: whoever begins a long one last works alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest first."""
    places = {f"tests/{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def pytest_collection_finish() -> None:
    """What has been imported by now stays: looking through all of it again and again took a third of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def postgres() -> Iterator[TestServer]:
    """The session's Postgres."""
    with TestServer() as server:
        yield server


@pytest.fixture(scope="session")
def template(postgres: TestServer) -> str:
    """A migrated database to copy from; nobody may connect to it."""
    conninfo = postgres.run(postgres.create_database())
    postgres.run(migrate(conninfo))
    return conninfo


@pytest.fixture
async def database(postgres: TestServer, template: str) -> AsyncIterator[str]:
    """A fresh, migrated, empty database: its conninfo."""
    conninfo = await postgres.create_database(template)
    yield conninfo
    await postgres.drop_database(conninfo)


@pytest.fixture
async def handraise(database: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A whole service in this process."""
    async with service(database, tmp_path / "data") as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def fresh(database: str, tmp_path: Path) -> AsyncIterator[Service]:
    """The same, for a module whose tests run in one event loop, and most of which share a service."""
    async with service(database, tmp_path / "data") as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def fresh_other(fresh: Service, database: str) -> AsyncIterator[Service]:
    """A second replica of it."""
    async with service(database, fresh.settings.data_dir) as replica:
        yield replica
