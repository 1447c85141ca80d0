"""The schema: brought up to date once, and never by a server that does not know it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
import pytest

from interfaces.app import running
from interfaces.postgres.migrate import GENESIS, SchemaTooNew, migrate, migrations
from interfaces.settings import Settings
from tests.support.postgres import TestServer
from tests.support.service import Service

LATEST = len(migrations())


@pytest.fixture
async def empty(postgres: TestServer) -> AsyncIterator[str]:
    """A database with nothing in it."""
    conninfo = await postgres.create_database()
    yield conninfo
    await postgres.drop_database(conninfo)


async def query(conninfo: str, sql: str) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        return await (await connection.execute(sql.encode())).fetchall()


async def execute(conninfo: str, sql: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute(sql.encode())


async def schema(conninfo: str) -> list[tuple[Any, ...]]:
    """Every column and every index."""
    columns = await query(
        conninfo,
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
        " WHERE table_schema = 'public' ORDER BY 1, 2",
    )
    return columns + await query(conninfo, "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1")


async def reach(conninfo: str, reached: int) -> None:
    """Bring an empty database to an older version of the schema."""
    await execute(
        conninfo, "CREATE TABLE schema_versions (version integer PRIMARY KEY, applied_at timestamptz DEFAULT now())"
    )
    for version, sql in migrations()[:reached]:
        await execute(conninfo, sql)
        await execute(conninfo, f"INSERT INTO schema_versions (version) VALUES ({version})")


VERSIONS = "SELECT version, applied_at FROM schema_versions ORDER BY 1"
CHAIN = "SELECT position, hash FROM event_chain ORDER BY 1"


async def test_ten_replicas_starting_together_migrate_once(empty: str, database: str) -> None:
    """All of them find the schema as it must be, made once."""
    assert await asyncio.gather(*(migrate(empty) for _ in range(10))) == [LATEST] * 10
    versions = await query(empty, VERSIONS)
    assert [version for version, _ in versions] == list(range(1, LATEST + 1))
    assert len({applied_at for _, applied_at in versions}) == 1
    assert await query(empty, CHAIN) == [(0, GENESIS)]
    assert await schema(empty) == await schema(database)


async def test_migrating_again_does_nothing(empty: str) -> None:
    """Every later start finds it done."""
    await migrate(empty)
    before = (await query(empty, VERSIONS), await schema(empty))
    assert await migrate(empty) == LATEST
    assert (await query(empty, VERSIONS), await schema(empty)) == before


@pytest.mark.parametrize("reached", range(1, LATEST))
async def test_an_older_database_gets_what_it_lacks(empty: str, reached: int) -> None:
    """From every version that ever was: the schema is the same as a new one's, and what was there stays."""
    await reach(empty, reached)
    await execute(empty, "INSERT INTO event_chain VALUES (0, sha256('kept'))")
    before = await query(empty, VERSIONS)
    assert await migrate(empty) == LATEST
    after = await query(empty, VERSIONS)
    assert (after[:reached], [version for version, _ in after]) == (before, list(range(1, LATEST + 1)))
    assert len(await query(empty, CHAIN)) == 1
    assert (await query(empty, CHAIN))[0][1] != GENESIS


async def copy(table: str, source: str, target: str) -> None:
    """All rows of a table that both have."""
    async with (
        await psycopg.AsyncConnection.connect(source) as one,
        await psycopg.AsyncConnection.connect(target) as other,
        one.cursor() as reading,
        other.cursor() as writing,
        reading.copy(f"COPY {table} TO STDOUT".encode()) as out,
        writing.copy(f"COPY {table} FROM STDIN".encode()) as into,
    ):
        async for data in out:
            await into.write(data)


async def test_upgrading_counts_what_is_open(empty: str, handraise: Service) -> None:
    """Before version 3 nobody counted: whoever has a request now does, also one that had moved; closed ones do not."""
    for name in ("alice", "bob"):
        await handraise.person(name)
    agents = [handraise.agent, await handraise.another_agent("other")]

    async def ask(agent: int = 0, to: str = "alice", **more: Any) -> str:
        body = {"message": "May I?", "assignment_strategy": {"type": "SpecificUser", "userID": to}} | more
        response = await agents[agent].post("/api/requests", json=body)
        assert response.status_code == 201, response.text
        return response.json()["id"]

    async def do(id: str, action: str, **body: Any) -> None:
        response = await handraise.admin.post(f"/api/requests/{id}/{action}", json=body)
        assert response.status_code == 200, response.text

    for agent in (0, 0, 1):
        await ask(agent)
    await ask(to="nobody")
    await do(await ask(), "delegate", to="bob", note="a note\nof two lines")
    moved_twice = await ask(1)
    await do(moved_twice, "reassign", to="bob")
    await do(moved_twice, "reassign", to="alice")
    await do(await ask(), "respond", text="yes")
    await do(await ask(), "cancel")
    closed_after_a_move = await ask(1)
    await do(closed_after_a_move, "reassign", to="bob")
    await do(closed_after_a_move, "respond", text="yes")
    expired = await ask(expires_in_seconds=0.05)
    await handraise.agent.get(f"/api/requests/{expired}/wait", params={"timeout_seconds": 30})
    counts = "SELECT holder_id, count FROM open_counts WHERE count <> 0 ORDER BY 1"
    kept = await query(handraise.app.conninfo, counts)
    assert sorted(count for _, count in kept) == [1, 2, 4, 4, 6], "people, agents, request type"

    await reach(empty, 2)
    for table in ("handraise_events", "event_chain", "data_keys", "request_names"):
        await copy(table, handraise.app.conninfo, empty)
    assert await migrate(empty) == LATEST
    assert await query(empty, counts) == kept


async def test_a_newer_schema_is_refused(empty: str, tmp_path: Path) -> None:
    """An older server leaves a newer one's database alone and says what to do, also when it is started on it."""
    await migrate(empty)
    await execute(empty, "INSERT INTO schema_versions (version) VALUES (4711)")
    before = (await query(empty, VERSIONS), await schema(empty))
    message = (
        f"the database has schema version 4711, this server knows versions up to {LATEST}: "
        "start the newer server, or restore a backup made before the upgrade"
    )
    with pytest.raises(SchemaTooNew) as refusal:
        await migrate(empty)
    assert str(refusal.value) == message
    with pytest.raises(SchemaTooNew, match="4711"):
        async with running(Settings(data_dir=tmp_path / "data", database_url=empty)):
            pass
    assert (await query(empty, VERSIONS), await schema(empty)) == before


async def test_a_migration_that_fails_leaves_nothing_behind(empty: str) -> None:
    """All or nothing: a table in the way, and no other table was made."""
    await execute(empty, "CREATE TABLE sealed_answers (other text)")
    with pytest.raises(psycopg.errors.DuplicateTable):
        await migrate(empty)
    assert await query(empty, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == [("sealed_answers",)]
    await execute(empty, "DROP TABLE sealed_answers")
    assert await migrate(empty) == LATEST


def test_migrations_are_numbered_without_gaps() -> None:
    """0001, 0002, …: each number once, in the order in which they run."""
    names = sorted(
        entry.name for entry in files("interfaces.postgres").joinpath("migrations").iterdir() if entry.is_file()
    )
    assert all(re.fullmatch(r"[0-9]{4}_[a-z0-9_]+\.sql", name) for name in names), names
    assert [int(name[:4]) for name in names] == list(range(1, LATEST + 1))
    assert [version for version, _ in migrations()] == list(range(1, LATEST + 1))
