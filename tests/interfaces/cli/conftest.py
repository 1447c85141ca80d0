"""One server process for all tests that only talk to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.postgres import TestServer
from tests.support.processes import ServerProcess


@pytest.fixture(scope="package")
def server(postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A running server: tests use names of their own and leave it running."""
    database = postgres.run(postgres.create_database(template))
    with ServerProcess(tmp_path_factory.mktemp("server") / "data", database) as started:
        yield started
    postgres.run(postgres.drop_database(database))
