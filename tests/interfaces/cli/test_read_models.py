"""`handraise rebuild` and `handraise unpark`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.interfaces.cli.test_people import ask
from tests.support.postgres import TestServer
from tests.support.processes import Finished, ServerProcess, cli_here, until


class Own:
    """A server with a database of its own, which a test may damage."""

    def __init__(self, server: ServerProcess, database: str) -> None:
        self.server = server
        self.database = database

    def command(self, *words: str) -> Finished:
        """A maintenance command beside the running server."""
        return cli_here(*words, server=self.server, env={"HANDRAISE_DATABASE_URL": self.database})

    def execute(self, statement: str) -> None:
        """Change the database behind the server's back."""
        with psycopg.connect(self.database, autocommit=True) as connection:
            connection.execute(statement.encode())

    def listed(self) -> set[str]:
        """The unique ids in the list of all requests."""
        with self.server.admin() as admin:
            return {item["unique_id"] for item in admin.get("/api/requests").json()["items"]}


@pytest.fixture
def own(postgres: TestServer, template: str, tmp_path: Path) -> Iterator[Own]:
    """A running server."""
    database = postgres.run(postgres.create_database(template))
    with ServerProcess(tmp_path / "data", database) as server:
        yield Own(server, database)
    postgres.run(postgres.drop_database(database))


def test_read_models_are_made_anew_beside_a_running_server(own: Own) -> None:
    """Lost rows are back, each model says how many events it read and how fast; a parked aggregate is tried again."""
    ask(own.server, "lost")
    until(lambda: own.listed() == {"lost"}, "the request is listed")
    own.execute("DELETE FROM request_list")
    assert own.listed() == set()
    rebuilt = own.command("rebuild")
    assert rebuilt.code == 0, rebuilt
    assert [line.partition(":")[0] for line in rebuilt.out.splitlines()] == ["dashboard", "request_list", "audit"]
    assert all("events/s" in line for line in rebuilt.out.splitlines())
    assert own.listed() == {"lost"}
    own.execute("DELETE FROM request_list")
    assert own.command("rebuild", "request_list").out.startswith("request_list: ")
    assert own.listed() == {"lost"}

    refused = own.command("rebuild", "nothing")
    assert (refused.code, refused.out) == (1, "")
    assert "dashboard, request_list, audit" in refused.err


def test_a_rebuild_is_refused_where_the_log_was_changed(own: Own) -> None:
    """Read models are not made from a log that is not what was written; the old ones go on serving."""
    ask(own.server, "kept")
    until(lambda: own.listed() == {"kept"}, "the request is listed")
    own.execute("UPDATE handraise_events SET topic = 'handraise.Request.Cancelled' WHERE notification_id = 2")
    refused = own.command("rebuild")
    assert (refused.code, refused.out) == (1, "")
    assert "nothing was rebuilt" in refused.err
    assert "position 2" in refused.err
    assert own.listed() == {"kept"}


def test_what_was_parked_is_tried_again(own: Own) -> None:
    """It says what is still parked and why, with exit code 1; once the cause is gone, all is well."""
    ask(own.server, "sick")
    until(lambda: own.listed() == {"sick"}, "the request is listed")
    own.execute("DELETE FROM request_list")
    own.execute(
        "INSERT INTO parked_aggregates (read_model, aggregate_id, position, error)"
        " SELECT 'request_list', originator_id, notification_id, 'test' FROM handraise_events"
        " WHERE topic = 'handraise.Request.Requested'"
    )
    own.execute("ALTER TABLE request_list ADD CONSTRAINT never CHECK (priority < 0)")
    still = own.command("unpark")
    assert (still.code, still.out) == (1, "0 well again, 1 still parked\n")
    assert "CheckViolation" in still.err
    own.execute("ALTER TABLE request_list DROP CONSTRAINT never")
    assert own.command("unpark") == Finished(0, "1 well again, 0 still parked\n", "")
    assert own.listed() == {"sick"}


def test_without_the_master_key_nothing_is_rebuilt(own: Own, tmp_path: Path) -> None:
    """A data directory without the server's key, or with another one, is refused in words."""
    empty = tmp_path / "empty"
    empty.mkdir()
    ended = own.command("rebuild", "--data-dir", str(empty))
    assert ended.code == 1
    assert "secret.key" in ended.err
