"""A new master key while servers work: nothing lost, nothing left under the old one, whatever is killed and when."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from domain.errors import Unavailable
from domain.request import Request
from domain.users import User
from interfaces.app import READ_MODELS
from interfaces.credentials import SECRET_KEY, write_master_key
from interfaces.heads import is_signed
from interfaces.postgres import rotation
from interfaces.postgres.chain import verify
from interfaces.postgres.installation import CHECK, ID, check_master_key
from interfaces.postgres.log import PostgresLog
from interfaces.postgres.rotation import NotTakenOver, Rotation, RotationUnderWay
from interfaces.postgres.sealing import MasterKey, WrongMasterKey
from projections.log import Entry
from tests.support.read_models import rebuild_all, rows, settled, until
from tests.support.service import Service, service

RECEIPT = {"receipt": "receipt-of-the-agent"}


@asynccontextmanager
async def maintenance(database: str) -> AsyncIterator[psycopg.AsyncConnection]:
    """A connection as the command has one."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        yield connection


async def rotate(database: str, given: bytes) -> Rotation:
    """The whole rotation, but for handing the new key over."""
    async with maintenance(database) as connection, rotation.alone(connection):
        found = await rotation.begin(connection, given)
        await rotation.until_known(connection, found, settle_seconds=0)
        await rotation.rewrap(connection, found)
        await rotation.finish(connection, found)
    return found


async def wrapped_under(database: str, key: bytes) -> tuple[int, int]:
    """Of all that is wrapped in this database, how much opens under this key, and how much there is."""
    master = MasterKey(key)
    there: list[tuple[bytes, bytes]] = []
    for table, id, column in rotation.WRAPPED:
        for bound_to, wrapped in await rows(database, f"SELECT {id}, {column} FROM {table} WHERE {column} IS NOT NULL"):
            there.append((bound_to.bytes, wrapped))
    for name, value in await rows(database, "SELECT name, value FROM installation"):
        if name != ID:
            there.append((name.encode(), value))
    opened = 0
    for bound_to, wrapped in there:
        try:
            master.unwrap(wrapped, bound_to)
        except WrongMasterKey:
            continue
        opened += 1
    return opened, len(there)


async def starts_with(database: str, key: bytes) -> bool:
    """Whether a server would start with this key."""
    async with maintenance(database) as connection:
        try:
            await check_master_key(connection, MasterKey(key))
        except WrongMasterKey:
            return False
    return True


async def all_readable(database: str, key: bytes) -> int:
    """How many events there are; each of them is read with this key, with its content."""
    master = MasterKey(key)
    async with maintenance(database) as connection:
        await check_master_key(connection, master)
        entries = await PostgresLog(master).entries(connection, 0, 1_000_000)
        assert (await verify(connection)).fault is None
    for entry in entries:
        assert isinstance(entry, Entry), entry
        if isinstance(entry.event, Request.Requested):
            assert entry.event.message is not None
        if isinstance(entry.event, User.Added):
            assert entry.event.name is not None
    return len(entries)


def text_of(key: bytes) -> str:
    return base64.urlsafe_b64encode(key).decode()


@asynccontextmanager
async def replicas(database: str, folder: Path, key: bytes, count: int = 2) -> AsyncIterator[list[Service]]:
    """Servers on one database that were started with this key."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(service(database, folder / str(number), secret_key=text_of(key)))
            for number in range(count)
        ]


class Agents:
    """Agents and people who ask, answer, and collect sealed answers, at every server, as fast as they can."""

    def __init__(self, servers: Sequence[Service]) -> None:
        self._servers = servers
        self._stop = False
        self.cycles = 0

    async def run(self, number: int) -> None:
        while not self._stop:
            asked, answered = (self._servers[(number + each) % len(self._servers)] for each in (0, 1))
            secret = f"code {number}-{self.cycles}"
            request = await asked.ask(message=f"The code of {secret}?", secret=True)
            path = f"/api/requests/{request['id']}"
            await said(answered.admin.post(f"{path}/respond", json={"text": secret}))
            assert (await said(asked.agent.get(path)))["message"] == f"The code of {secret}?"
            collected = await said(asked.agent.post(f"{path}/collect", json=RECEIPT))
            assert collected["text"] == secret
            self.cycles += 1

    async def until(self, more: int) -> None:
        """Returns once they have done so many more."""
        wanted = self.cycles + more

        async def done() -> bool:
            return self.cycles >= wanted

        await until(done)

    def stop(self) -> None:
        self._stop = True


async def said(call: Any) -> dict[str, Any]:
    response: httpx.Response = await call
    assert response.status_code in (200, 201), response.text
    return response.json()


async def test_nothing_is_lost_while_two_servers_work_at_full_speed(database: str, tmp_path: Path) -> None:
    """Sealed answers are given and collected all the time; then all is under the new key, and readable by everybody."""
    old = os.urandom(32)
    async with replicas(database, tmp_path, old) as servers:
        agents = Agents(servers)
        kept = await servers[0].ask(message="Kept", secret=True)
        await said(servers[1].admin.post(f"/api/requests/{kept['id']}/respond", json={"text": "kept secret"}))
        async with asyncio.TaskGroup() as tasks:
            for number in range(4):
                tasks.create_task(agents.run(number))
            await agents.until(10)
            done = await rotate(database, old)
            await agents.until(10)
            assert (await wrapped_under(database, old))[0] == 0
            again = await rotate(database, done.new)
            await agents.until(10)
            agents.stop()
        for server in servers:
            assert (await server.app.store.request(UUID(kept["id"]))) is not None
            assert (await server.nobody.get("/readyz")).status_code == 200
        opened, there = await wrapped_under(database, again.new)
        assert opened == there > 30
        assert [(await wrapped_under(database, key))[0] for key in (old, done.new)] == [0, 0]
        await settled(*servers)
        assert await rows(database, "SELECT * FROM parked_aggregates") == []
        assert (await said(servers[1].agent.post(f"/api/requests/{kept['id']}/collect", json=RECEIPT)))["text"] == (
            "kept secret"
        )
    assert await all_readable(database, again.new) > 100
    async with service(database, tmp_path / "fresh", secret_key=text_of(again.new)) as fresh:
        assert (await fresh.admin.get(f"/api/requests/{kept['id']}")).json()["message"] == "Kept"
    for key in (old, done.new):
        with pytest.raises(WrongMasterKey, match="last rotated"):
            async with service(database, tmp_path / "refused", secret_key=text_of(key)):
                pass


async def test_every_step_may_be_the_last_before_a_crash(database: str, tmp_path: Path) -> None:
    """After each of them a server starts with either key and reads and writes; run again, the rotation ends."""
    old = os.urandom(32)
    for steps in range(4):
        async with replicas(database, tmp_path / f"{steps}", old, 1) as (server,), maintenance(database) as connection:
            begun = await rotation.begin(connection, old)
            if steps >= 1:
                await rotation.until_known(connection, begun, settle_seconds=0)
            if steps == 2:  # only some of it
                keys = MasterKey(begun.old), MasterKey(begun.new)
                await rotation._pass(connection, rotation.WRAPPED[0], *keys)
            if steps == 3:
                await rotation.rewrap(connection, begun)
            await server.ask(message=f"during {steps}")
        assert await starts_with(database, os.urandom(32)) is False
        for key in (old, begun.new):
            assert await starts_with(database, key)
            async with replicas(database, tmp_path / f"{steps} {key[0]}", key) as servers:
                first, second = [await server.ask(message="unfinished") for server in servers]
                assert (await servers[0].admin.get(f"/api/requests/{second['id']}")).status_code == 200
                assert (await servers[1].admin.get(f"/api/requests/{first['id']}")).status_code == 200
            await all_readable(database, key)
        given = begun.new if steps % 2 else old
        async with maintenance(database) as connection:
            found = await rotation.begin(connection, given)
            assert found == Rotation(old, begun.new, resumed=True)
        await rotate(database, given)
        assert await starts_with(database, begun.new)
        assert not await starts_with(database, old)
        assert (await wrapped_under(database, old))[0] == 0
        assert [name for (name,) in await rows(database, "SELECT name FROM installation ORDER BY name")] == [CHECK, ID]
        old = begun.new
    assert await all_readable(database, old) > 10


async def test_a_server_that_has_yet_to_learn_reads_and_writes_at_once(database: str, tmp_path: Path) -> None:
    """Rows under the new key reach it before word of that key does: it looks, instead of failing."""
    old = os.urandom(32)
    async with replicas(database, tmp_path, old) as (one, other), maintenance(database) as connection:
        ask = await one.ask(message="before")
        begun = await rotation.begin(connection, old)
        await rotation.rewrap(connection, begun)  # without waiting for anybody
        assert (await other.admin.get(f"/api/requests/{ask['id']}")).json()["message"] == "before"
        asked = await other.ask(message="after", secret=True)
        await said(one.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "1234"}))
        assert (await said(other.agent.post(f"/api/requests/{asked['id']}/collect", json=RECEIPT)))["text"] == "1234"
        assert (await wrapped_under(database, old))[0] == 2  # the proof, and the next key
        await settled(one, other)
        assert await rows(database, "SELECT * FROM parked_aggregates") == []


async def test_who_does_not_take_over_the_new_key_is_waited_for(database: str, tmp_path: Path) -> None:
    """A server that is stuck stops the rotation where both keys work; it goes on once that one has gone."""
    old = os.urandom(32)
    async with (
        replicas(database, tmp_path, old, 1),
        maintenance(database) as stuck,
        maintenance(database) as connection,
    ):
        await stuck.execute("SELECT pg_advisory_lock_shared(%s, %s)", (0x68616E65, MasterKey(old).id))
        begun = await rotation.begin(connection, old)
        with pytest.raises(NotTakenOver, match="1 server did not take over the new master key"):
            await rotation.until_known(connection, begun, settle_seconds=0, within_seconds=0.3)
        assert await starts_with(database, old)
        assert await starts_with(database, begun.new)
        waiting = asyncio.create_task(rotation.until_known(connection, begun, settle_seconds=0))
        await stuck.close()
        await waiting


async def test_only_one_rotates_at_a_time(database: str) -> None:
    """The second is refused at once."""
    async with maintenance(database) as one, maintenance(database) as other:
        async with rotation.alone(one):
            with pytest.raises(RotationUnderWay):
                async with rotation.alone(other):
                    pass
        async with rotation.alone(other):
            pass


async def test_a_server_that_missed_it_says_so_and_writes_nothing_under_the_old_key(
    database: str, tmp_path: Path
) -> None:
    """It is not ready, refuses with 503, parks nothing; one with the file finds the new key there."""
    old = os.urandom(32)
    async with replicas(database, tmp_path, old, 1) as (server,):
        ask = await server.ask(message="before")
        head = await settled(server)
        new = await _behind_its_back(database, old)
        refused = await server.agent.post("/api/requests", json={"message": "lost"})
        assert (refused.status_code, refused.json()["detail"].split(":")[0]) == (
            503,
            "the master key was rotated while this server was cut off",
        )
        read = await server.admin.get(f"/api/requests/{ask['id']}")
        assert read.status_code == 503, read.text
        ready = await server.nobody.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]["master key"]) == (503, False)
        with pytest.raises(Unavailable):
            await server.app.store.history(UUID(ask["id"]))
        assert await rows(database, "SELECT * FROM parked_aggregates") == []
        assert await rows(database, "SELECT max(position) FROM event_chain") == [(head,)]
    assert (await wrapped_under(database, old))[0] == 0
    write_master_key(tmp_path, new)
    async with service(database, tmp_path) as server:
        newer = await _behind_its_back(database, new)
        write_master_key(tmp_path, newer)
        assert (await server.ask(message="found in the file"))["status"] == "Requested"
        assert (await server.nobody.get("/readyz")).status_code == 200
    assert (await wrapped_under(database, new))[0] == 0


async def _behind_its_back(database: str, old: bytes) -> bytes:
    """Rotate in one go that nobody can learn of; the new key."""
    new, before = os.urandom(32), MasterKey(old)
    after = MasterKey(new)
    async with maintenance(database) as connection, connection.transaction():
        for table, id, column in rotation.WRAPPED:
            cursor = await connection.execute(f"SELECT {id}, {column} FROM {table}".encode())
            for bound_to, wrapped in await cursor.fetchall():
                again = after.wrap(before.unwrap(wrapped, bound_to.bytes), bound_to.bytes)
                await connection.execute(
                    f"UPDATE {table} SET {column} = %s WHERE {id} = %s".encode(), (again, bound_to)
                )
        for name, value in ((CHECK, after.wrap(bytes(32), CHECK.encode())), (ID, after.id.to_bytes(4, "big"))):
            await connection.execute("UPDATE installation SET value = %s WHERE name = %s", (value, name))
    return new


async def test_what_is_destroyed_meanwhile_stays_destroyed(database: str, tmp_path: Path) -> None:
    """An erasure that falls into the rotation is not undone, and a key that somebody is changing is waited for."""
    old = os.urandom(32)
    async with replicas(database, tmp_path, old, 1) as (server,), maintenance(database) as connection:
        ids = [UUID((await server.ask(message=str(number)))["id"]) for number in range(5)]
        begun = await rotation.begin(connection, old)
        async with await psycopg.AsyncConnection.connect(database) as other:
            await other.execute("UPDATE data_keys SET wrapped = NULL WHERE aggregate_id = %s", (ids[2],))
            rewrapping = asyncio.create_task(rotation.rewrap(connection, begun))

            async def all_but_one() -> bool:
                there = "SELECT wrapped FROM data_keys WHERE aggregate_id = ANY(%s)"
                wrapped = [value for (value,) in await rows(database, there, ids)]
                return sum(_opens(begun.new, id, value) for id in ids for value in wrapped) == 4

            await until(all_but_one)
            assert not rewrapping.done()
            await other.commit()
        await rewrapping
        await rotation.finish(connection, begun)
    assert await rows(database, "SELECT wrapped FROM data_keys WHERE aggregate_id = %s", ids[2]) == [(None,)]
    assert (await wrapped_under(database, old))[0] == 0


def _opens(key: bytes, id: UUID, wrapped: bytes) -> bool:
    try:
        MasterKey(key).unwrap(wrapped, id.bytes)
    except WrongMasterKey:
        return False
    return True


async def test_what_was_damaged_before_is_left_as_it_is(database: str, tmp_path: Path) -> None:
    """It opens under neither key: it is counted, and keeps nothing else from being rotated."""
    old = os.urandom(32)
    async with replicas(database, tmp_path, old, 1) as (server,), maintenance(database) as connection:
        id = UUID((await server.ask(message="damaged"))["id"])
        damaged = os.urandom(60)
        await connection.execute("UPDATE data_keys SET wrapped = %s WHERE aggregate_id = %s", (damaged, id))
        begun = await rotation.begin(connection, old)
        done = await rotation.rewrap(connection, begun)
        assert done.damaged == 1
        assert done.count == 2  # the administrator, and the key that push services know
    assert await rows(database, "SELECT wrapped FROM data_keys WHERE aggregate_id = %s", id) == [(damaged,)]


async def test_a_rebuild_reads_all_of_it_afterwards(database: str, tmp_path: Path) -> None:
    """Read models made anew with the new key are what the projector made of it with both."""
    old = os.urandom(32)
    async with replicas(database, tmp_path, old, 1) as (server,):
        await server.ask(message="before")
        done = await rotate(database, old)
        await server.ask(message="after")
        await settled(server)
        listed = await rows(database, "SELECT summary FROM request_list ORDER BY created_at")
        assert listed == [("before",), ("after",)]
        await rebuild_all(database, PostgresLog(MasterKey(done.new)), READ_MODELS)
        assert await rows(database, "SELECT summary FROM request_list ORDER BY created_at") == listed
        assert await rows(database, "SELECT * FROM parked_aggregates") == []


async def test_heads_are_signed_with_a_key_of_the_new_one_at_once(database: str, tmp_path: Path) -> None:
    """By all servers together, and each signature verifies."""
    old = os.urandom(32)
    async with replicas(database, tmp_path, old) as servers:
        before = [(await server.admin.get("/api/audit/head")).json() for server in servers]
        await rotate(database, old)
        after = [(await server.admin.get("/api/audit/head")).json() for server in servers]
    for head in (*before, *after):
        assert is_signed(head["head"], head["at"], head["signature"], head["public_key"])
    assert len({head["public_key"] for head in before}) == len({head["public_key"] for head in after}) == 1
    assert before[0]["public_key"] != after[0]["public_key"]


def test_the_file_is_written_whole_for_its_owner_only(tmp_path: Path) -> None:
    """Mode 0600, what was there replaced, nothing left beside it."""
    (tmp_path / SECRET_KEY).write_bytes(b"old")
    (tmp_path / SECRET_KEY).chmod(0o644)
    new = os.urandom(32)
    path = write_master_key(tmp_path, new)
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o600, text_of(new) + "\n")
    assert list(tmp_path.iterdir()) == [path]


def test_a_ring_of_keys() -> None:
    """It wraps under the newest, opens what is under any it knows, and has the name of the newest."""
    first, second, third = (os.urandom(32) for _ in range(3))
    ring = MasterKey(first)
    under_first = ring.wrap(bytes(32), b"a")
    ring.renew(second)
    ring.know(third)
    assert ring.id == MasterKey(second).id != MasterKey(first).id
    assert 0 <= ring.id < 2**31
    assert MasterKey(second).unwrap(ring.wrap(bytes(32), b"a"), b"a") == bytes(32)
    for wrapped in (under_first, MasterKey(third).wrap(bytes(32), b"a")):
        assert ring.unwrap(wrapped, b"a") == bytes(32)
    with pytest.raises(WrongMasterKey):
        ring.unwrap(MasterKey(os.urandom(32)).wrap(bytes(32), b"a"), b"a")
    with pytest.raises(WrongMasterKey):
        ring.unwrap(under_first, b"b")
