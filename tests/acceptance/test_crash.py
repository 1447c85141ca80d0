"""Kill -9 in the middle of everything: what was acknowledged is there, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx
import psycopg
import pytest

from interfaces.postgres import chain
from interfaces.postgres.embedded import conninfo_of_running
from tests.support.processes import ServerProcess, until

AT_ONCE = 16
PATIENCE = 90.0
"""Seconds after which a call that should succeed again counts as broken."""

CLOSED = {"Responded", "Cancelled", "Expired"}


@dataclass
class Acknowledged:
    """What the server said was done, for one request."""

    created: dict[str, Any]
    answer: dict[str, Any] | None = None
    cancel: dict[str, Any] | None = None
    waited: dict[str, Any] | None = None


@dataclass
class Load:
    """Agents that ask and wait, a person who answers; each sends the same again until there is a reply."""

    agent: httpx.AsyncClient
    admin: httpx.AsyncClient
    acknowledged: dict[int, Acknowledged] = field(default_factory=dict)
    writes: int = 0
    lost: int = 0
    _written_one: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def run(self, total: int) -> None:
        """Ask this many questions, some at once."""
        numbers = iter(range(total))

        async def worker() -> None:
            for number in numbers:
                await self._one(number)

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))

    async def _one(self, number: int) -> None:
        body = {"unique_id": f"q-{number}", "message": f"Question {number}: {'x' * (number % 7 * 300)}"}
        created = await self._written(self.agent, "/api/requests", body)
        assert created.status_code in (200, 201), created.text
        self.acknowledged[number] = done = Acknowledged(created.json())
        path = f"/api/requests/{done.created['id']}"
        waiting = asyncio.create_task(self._waited(path)) if number % 3 == 0 else None
        calls = [self._written(self.admin, f"{path}/respond", {"text": f"Answer {number}"})]
        if number % 5 == 0:  # the agent changes its mind at the same time
            calls.append(self._written(self.agent, f"{path}/cancel", {"reason": f"Reason {number}"}))
        answered, *cancelled = await asyncio.gather(*calls)
        assert sorted(reply.status_code for reply in (answered, *cancelled)) in ([200], [200, 409]), answered.text
        if answered.status_code == 200:
            done.answer = answered.json()
        else:
            done.cancel = cancelled[0].json()
        if waiting is not None:
            done.waited = await waiting

    async def _written(self, client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> httpx.Response:
        reply = await self._reply(lambda: client.post(path, json=body))
        async with self._written_one:
            self.writes += 1
            self._written_one.notify_all()
        return reply

    async def until(self, writes: int) -> None:
        """Returns once this many writes were acknowledged."""
        async with self._written_one:
            await self._written_one.wait_for(lambda: self.writes >= writes)

    async def _waited(self, path: str) -> dict[str, Any]:
        """Wait as an agent does: ask again whenever a wait ends without an end of the request."""
        while True:
            reply = await self._reply(lambda: self.agent.get(f"{path}/wait?timeout_seconds=20"))
            assert reply.status_code == 200, reply.text
            if reply.json()["status"] in CLOSED:
                return reply.json()

    async def _reply(self, call: Any) -> httpx.Response:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                reply = await call()
            except httpx.TransportError:
                reply = None
            if reply is not None and reply.status_code != 503:
                return reply
            self.lost += 1
            assert time.monotonic() < deadline, "the server did not come back"
            await asyncio.sleep(0.25)


def postmaster(data_dir: Path) -> int | None:
    """The process id of the embedded Postgres, None while there is none."""
    with contextlib.suppress(FileNotFoundError, IndexError, ValueError):
        (record,) = data_dir.glob("postgres/**/postmaster.pid")
        return int(record.read_text().splitlines()[0])
    return None


def crash(server: ServerProcess, victim: Literal["server", "postgres"]) -> None:
    """Kill the victim; the server is started again as a supervisor would, Postgres is the server's own to restart."""
    if victim == "server":
        server.restart(kill=True)
        return
    killed = postmaster(server.data_dir)
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    until(lambda: postmaster(server.data_dir) not in (None, killed), "Postgres is started again")
    server.until_ready()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("victim", ["server", "postgres"])
@pytest.mark.parametrize(
    ("total", "crashes"), [pytest.param(300, 1, id="300"), pytest.param(1000, 6, id="1000", marks=pytest.mark.chaos)]
)
async def test_c08_what_was_acknowledged_survives_kill_9(
    tmp_path: Path, victim: Literal["server", "postgres"], total: int, crashes: int
) -> None:
    """Killed in the middle of a stream of creates and answers, no acknowledged write is lost, moved or doubled.

    Each request ends exactly once, waiting agents that come back have their answers, and the chain holds.
    """
    with ServerProcess(tmp_path / "data") as server:
        limits = httpx.Limits(max_connections=None)
        agent, admin = (
            httpx.AsyncClient(
                base_url=server.url,
                headers={"Authorization": f"Bearer {key}"},
                timeout=30,
                limits=limits,
                trust_env=False,
            )
            for key in (server.agent_key, server.admin_key)
        )
        async with agent, admin:
            load = Load(agent, admin)
            running = asyncio.create_task(load.run(total))
            for number in range(1, crashes + 1):
                await load.until(number * 2 * total // (crashes + 1))
                await asyncio.to_thread(crash, server, victim)
            await running
            assert victim == "postgres" or load.lost > 0, "nothing was under way when it was killed"
            await check(load, server, total)


async def check(load: Load, server: ServerProcess, total: int) -> None:
    """Everything that was acknowledged is there, at the position that was said; nothing is there twice."""
    assert len(load.acknowledged) == total
    for number, done in load.acknowledged.items():
        path = f"/api/requests/{done.created['id']}"
        read = (await load.agent.get(path)).json()
        events = (await load.admin.get(f"{path}/history")).json()["items"]
        at = {event["type"]: event["position"] for event in events}
        terminal = [event for event in events if event["type"] in CLOSED]
        assert [event["type"] for event in events if event["type"] != "AnswerRefused"] == [
            "Requested",
            "Responded" if done.answer else "Cancelled",
        ], events
        assert len(terminal) == 1
        if done.created["status"] == "Requested":
            assert at["Requested"] == done.created["position"]
        if done.answer is not None:
            assert read["response"] == done.answer["response"]
            assert read["response"]["text"] == f"Answer {number}"
        if done.cancel is not None:
            assert read["cancelled"] == done.cancel["cancelled"]
        if done.waited is not None:
            ended = ("status", "response", "cancelled", "closed_at")
            assert {name: done.waited[name] for name in ended} == {name: read[name] for name in ended}

    conninfo = conninfo_of_running(server.data_dir)
    assert conninfo is not None
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        (fsync,) = await (await connection.execute("SHOW fsync")).fetchone() or ("",)
        assert fsync == "on"
        verdict = await chain.verify(connection)
        counted = await (
            await connection.execute("SELECT count(*), max(notification_id) FROM handraise_events")
        ).fetchone()
    assert verdict.fault is None
    assert counted == (verdict.events, verdict.head.position)
