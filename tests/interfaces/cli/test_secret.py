"""`handraise secret rotate`: killed wherever it can be, on every kind of database, with the key in a file or not."""

from __future__ import annotations

import asyncio
import base64
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from interfaces.credentials import SECRET_KEY
from interfaces.postgres.installation import CHECK, KEYS_LOCK, NEXT
from interfaces.postgres.sealing import MasterKey, WrongMasterKey
from interfaces.postgres.writer import APPEND_LOCK
from interfaces.settings import decode_key
from tests.support.processes import Command, Finished, ServerProcess, cli, cli_here, until
from tests.support.service import service


def key_in(folder: Path) -> bytes:
    return decode_key((folder / SECRET_KEY).read_text())


def text_of(key: bytes) -> str:
    return base64.urlsafe_b64encode(key).decode()


async def used(database: str, folder: Path, **settings: Any) -> None:
    """A server starts, finds what it wrote before, and writes more."""
    async with service(database, folder, **settings) as handraise:
        listed = (await handraise.admin.get("/api/requests?limit=200")).json()["items"]
        for item in listed:
            assert (await handraise.admin.get(f"/api/requests/{item['id']}")).json()["message"] == "Deploy?"
        asked = await handraise.ask(message="Deploy?", secret=True)
        answered = await handraise.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "1234"})
        assert answered.status_code == 200, answered.text


def use(database: str, folder: Path, **settings: Any) -> None:
    asyncio.run(used(database, folder, **settings))


def refused(database: str, folder: Path, **settings: Any) -> bool:
    try:
        use(database, folder, **settings)
    except WrongMasterKey:
        return True
    return False


@contextmanager
def held(database: str, statement: str, *values: Any) -> Iterator[psycopg.Connection]:
    """Somebody holds what this statement locks; the connection looks at the rest meanwhile."""
    with psycopg.connect(database) as holder, psycopg.connect(database, autocommit=True) as other:
        holder.execute(statement.encode(), values)
        yield other
        holder.rollback()


def under(connection: psycopg.Connection, key: bytes) -> list[bool]:
    """Of each data key, whether it opens under this master key."""
    opens: list[bool] = []
    for id, wrapped in connection.execute("SELECT aggregate_id, wrapped FROM data_keys").fetchall():
        try:
            MasterKey(key).unwrap(wrapped, id.bytes)
        except WrongMasterKey:
            opens.append(False)
        else:
            opens.append(True)
    return opens


def test_killed_anywhere_it_loses_nothing_and_goes_on(database: str, tmp_path: Path) -> None:
    """SIGKILL before it began, before servers know, among the data keys, with the file written: then run to its end."""
    folder = tmp_path / "data"
    use(database, folder)
    old = key_in(folder)
    environment = {"HANDRAISE_DATABASE_URL": database, "HANDRAISE_DATA_DIR": str(folder)}

    def blocked(connection: psycopg.Connection) -> bool:
        waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        return connection.execute(waiting).fetchone() is not None

    def begun(connection: psycopg.Connection) -> bool:
        return connection.execute("SELECT FROM installation WHERE name = %s", (NEXT,)).fetchone() is not None

    with psycopg.connect(database) as connection:  # what is written later is under the new key from the first
        row = connection.execute("SELECT aggregate_id FROM data_keys LIMIT 1").fetchone()
    assert row is not None
    points = (
        ("SELECT pg_advisory_lock(%s)", (APPEND_LOCK,), blocked, False),
        ("SELECT pg_advisory_lock_shared(%s, %s)", (KEYS_LOCK, MasterKey(old).id), begun, False),
        (
            "SELECT FROM data_keys WHERE aggregate_id = %s FOR UPDATE",
            row,
            lambda connection: under(connection, old).count(True) == 1,
            False,
        ),
        ("SELECT FROM installation WHERE name = %s FOR UPDATE", (CHECK,), blocked, True),
    )
    for statement, values, reached, file_is_new in points:
        with held(database, statement, *values) as connection:
            command = Command("secret", "rotate", env=environment)
            until(lambda: reached(connection), statement)  # noqa: B023  called at once
            command.process.kill()
            command.process.communicate()
        assert (key_in(folder) != old) is file_is_new, statement
        use(database, folder)
    new = key_in(folder)
    use(database, tmp_path / "either", secret_key=text_of(old))
    ended = cli("secret", "rotate", env=environment)
    assert (ended.code, ended.out) == (0, ""), ended
    assert ended.err.startswith("a rotation was begun before: going on with it\n")
    assert key_in(folder) == new
    use(database, folder)
    assert refused(database, tmp_path / "old", secret_key=text_of(old))
    with psycopg.connect(database, autocommit=True) as connection:
        assert set(under(connection, new)) == {True}
        assert not begun(connection)


def test_the_key_of_the_environment_is_printed_once(database: str, tmp_path: Path) -> None:
    """Alone on standard output, before the old one stops working; no file is written."""
    old, folder = text_of(os.urandom(32)), tmp_path / "data"
    use(database, folder, secret_key=old)
    environment = {"HANDRAISE_DATABASE_URL": database, "HANDRAISE_DATA_DIR": str(folder)}
    prepared = cli_here("secret", "rotate", "--prepare", env=environment | {"HANDRAISE_SECRET_KEY": old})
    new = prepared.out.removesuffix("\n")
    assert (prepared.code, len(decode_key(new))) == (0, 32)
    assert "both keys work until this command is run again" in prepared.err
    for key in (old, new):
        use(database, folder, secret_key=key)
    ended = cli_here("secret", "rotate", env=environment | {"HANDRAISE_SECRET_KEY": new})
    assert (ended.code, ended.out) == (0, ""), ended
    assert refused(database, folder, secret_key=old)
    use(database, folder, secret_key=new)
    at_once = cli_here("secret", "rotate", env=environment | {"HANDRAISE_SECRET_KEY": new})
    assert at_once.code == 0, at_once
    assert "set HANDRAISE_SECRET_KEY to it before the next start" in at_once.err
    assert refused(database, folder, secret_key=new)
    use(database, folder, secret_key=at_once.out.strip())
    assert not (folder / SECRET_KEY).exists()


def test_the_embedded_database_of_a_running_and_of_a_stopped_server(tmp_path: Path) -> None:
    """The running server goes on and starts again with the file; so does one that was stopped meanwhile."""

    def ask(server: ServerProcess) -> str:
        with server.agent() as agent:
            created = agent.post("/api/requests", json={"message": "Deploy?"})
            assert created.status_code == 201, created.text
            return created.json()["id"]

    def rotate() -> Finished:
        ended = cli("secret", "rotate", server=server)
        assert (ended.code, ended.out) == (0, ""), ended
        assert str(tmp_path / "data" / SECRET_KEY) in ended.err
        return ended

    with ServerProcess(tmp_path / "data") as server:
        path = server.data_dir / SECRET_KEY
        ids, keys = [ask(server)], [key_in(server.data_dir)]
        owner = path.stat().st_uid
        rotate()
        ids.append(ask(server))
        keys.append(key_in(server.data_dir))
        server.restart()
        server.stop()
        rotate()
        keys.append(key_in(server.data_dir))
        assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_uid) == (0o600, owner)
        server.start()
        ids.append(ask(server))
        with server.admin() as admin:
            assert {admin.get(f"/api/requests/{id}").json()["message"] for id in ids} == {"Deploy?"}
        server.stop()
        assert len(set(keys)) == 3
        path.write_text(text_of(keys[0]))
        start = cli("serve", "--port", "0", server=server)
        assert (start.code, start.err.splitlines()[-1].split(":")[1]) == (
            1,
            " the master key is not the one this database was sealed with",
        )


def test_what_cannot_be_rotated_is_refused(database: str, tmp_path: Path) -> None:
    """No key, a wrong key, a folder that cannot be written: each in a line, and all is as it was or both keys work."""
    folder = tmp_path / "data"
    use(database, folder)
    url = {"HANDRAISE_DATABASE_URL": database}
    none = cli_here("secret", "rotate", "--data-dir", str(tmp_path), env=url)
    assert (none.code, none.out) == (1, "")
    assert none.err.startswith(f"Error: there is no secret.key in {tmp_path}: ")
    wrong = cli_here("secret", "rotate", env=url | {"HANDRAISE_SECRET_KEY": text_of(os.urandom(32))})
    assert (wrong.code, wrong.out) == (1, "")
    assert wrong.err.startswith("Error: the master key is not the one this database was sealed with")
    with psycopg.connect(database, autocommit=True) as connection:
        assert connection.execute("SELECT FROM installation WHERE name = %s", (NEXT,)).fetchone() is None
    use(database, folder)
