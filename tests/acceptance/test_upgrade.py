"""An upgrade: today's servers on the database of an earlier one. Nothing is lost, and the work goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from interfaces.credentials import Credentials, write_credentials
from interfaces.postgres.chain import Head, verify
from interfaces.postgres.migrate import migrations
from tests.interfaces.postgres.test_migrate import execute, query, reach
from tests.support.postgres import TestServer
from tests.support.read_models import settled
from tests.support.service import service

SCHEMA = 7
MASTER_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
KEYS = Credentials(
    url="http://127.0.0.1:8000",
    admin_key="hr_XwrK8JMyrBDErrh36y-Q5Lk2-iW0kyaGqa_Sc9ML98Q",
    agent_key="hr_8p91_SiXZQjyJ00VjQX6gtaB5jOz57_NsbFa7PiuVcQ",
)


@pytest.fixture
async def old(postgres: TestServer) -> AsyncIterator[str]:
    """A database as a server of that schema left it, with a read model that it had and that is another now."""
    conninfo = await postgres.create_database()
    await reach(conninfo, SCHEMA)
    await execute(conninfo, "DELETE FROM directory_version")  # the dump has its row
    await execute(conninfo, Path(__file__).with_name("schema_0007.sql").read_text(encoding="utf-8"))
    await execute(conninfo, "CREATE TABLE request_list (request_id uuid PRIMARY KEY, summary text)")
    await execute(conninfo, "INSERT INTO read_models (name, version, position) VALUES ('request_list', 1, 9)")
    yield conninfo
    await postgres.drop_database(conninfo)


async def request(caller: httpx.AsyncClient, unique_id: str) -> dict[str, Any]:
    response = await caller.get(f"/api/requests/{unique_id}")
    assert response.status_code == 200, response.text
    return response.json()


async def test_two_replicas_take_over_the_database_of_an_earlier_release(old: str, tmp_path: Path) -> None:
    """Started at once they migrate it once; read models are made anew; what was open is answered, what is due done."""
    before = Head.parse(await _head(old))
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir(mode=0o700)
        write_credentials(folder, KEYS)
    async with AsyncExitStack() as stack:
        one, two = await asyncio.gather(
            *(
                stack.enter_async_context(service(old, tmp_path / name, secret_key=MASTER_KEY))
                for name in ("one", "two")
            )
        )
        versions = await query(old, "SELECT version, count(*) FROM schema_versions GROUP BY 1 ORDER BY 1")
        assert versions == [(version, 1) for version, _ in migrations()]
        assert one.admin.headers["Authorization"] == f"Bearer {KEYS.admin_key}", "the keys go on working"

        waiting = asyncio.create_task(one.agent.get("/api/requests/open/wait", params={"timeout_seconds": 30}))
        await one.waiting()
        shown = await request(two.admin, "open")
        assert (shown["message"], shown["context"]) == ("Which plan?", "Two are left.")
        assert shown["assigned_to"] == "bob"
        await _do(two.admin, shown["id"], "respond", text="the larger one")
        assert (await waiting).json()["response"]["text"] == "the larger one"

        assert (await request(one.agent, "answered"))["response"]["outcome"] == "approved"
        sealed = await request(one.agent, "sealed")
        assert (await _do(one.agent, sealed["id"], "collect", receipt="r" * 22))["text"] == "402-881"
        overdue = (await two.agent.get("/api/requests/overdue/wait", params={"timeout_seconds": 30})).json()
        assert overdue["status"] == "Expired", "what came due while no server ran"

        again = await one.agent.post("/api/requests", json={"unique_id": "answered", "message": "Another question?"})
        assert again.status_code == 409, "names that were taken are"
        await one.ask(unique_id="new", message="After the upgrade?")
        await settled(one, two)
        items = (await two.admin.get("/api/requests")).json()["items"]
        assert {item["unique_id"]: item["status"] for item in items} == {
            "answered": "Responded",
            "open": "Responded",
            "sealed": "Responded",
            "cancelled": "Cancelled",
            "overdue": "Expired",
            "new": "Requested",
        }
        history = (await one.admin.get(f"/api/requests/{shown['id']}/history")).json()["items"]
        assert [event["type"] for event in history] == ["Requested", "Reassigned", "Responded"]
        assert history[1]["note"] == "yours"
    async with await psycopg.AsyncConnection.connect(old) as connection:
        verdict = await verify(connection, known_head=before)
    assert (verdict.fault, verdict.events > before.position) == (None, True)


async def _head(conninfo: str) -> str:
    position, hash_ = (await query(conninfo, "SELECT * FROM event_chain ORDER BY position DESC LIMIT 1"))[0]
    return f"{position}:{hash_.hex()}"


async def _do(caller: httpx.AsyncClient, id: str, action: str, **body: Any) -> dict[str, Any]:
    response = await caller.post(f"/api/requests/{id}/{action}", json=body)
    assert response.status_code == 200, response.text
    return response.json()
