"""Fixtures for all tests: one real Postgres a session, a fresh migrated database a test."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from interfaces.postgres.migrate import migrate
from tests.support.postgres import TestServer
from tests.support.service import Service, service


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
