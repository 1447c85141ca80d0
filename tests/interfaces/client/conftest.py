"""One server for all tests of the client: each is started once, and may be killed and started again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.postgres import TestServer
from tests.support.processes import ServerProcess


@pytest.fixture(scope="package")
def server(postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A running server, with a database of its own."""
    database = postgres.run(postgres.create_database(template))
    with ServerProcess(tmp_path_factory.mktemp("client") / "data", database) as started:
        yield started
    postgres.run(postgres.drop_database(database))
