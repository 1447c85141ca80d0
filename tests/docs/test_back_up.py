"""What docs/how-to/back-up.md tells one to type, typed: nothing is lost, and who waited before is answered after."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from handraise import Client

from interfaces.postgres.embedded_programs import find_programs
from tests.docs.test_reference import DOCS
from tests.support.postgres import TestServer
from tests.support.processes import ServerProcess, clean_environment
from tests.support.read_models import settled
from tests.support.service import service

PAGE = (DOCS / "how-to" / "back-up.md").read_text(encoding="utf-8")
BACK_UP, RESTORE, DUMP, RESTORE_DUMP = re.findall(r"```sh\n(.*?)```", PAGE, re.S)


def typed(block: str, folder: Path, **environment: Any) -> str:
    """What these lines print, typed in `folder`."""
    programs = (Path(sys.executable).parent, find_programs(), os.environ["PATH"])
    done = subprocess.run(
        ["sh", "-eu", "-c", block],
        env=clean_environment()
        | {"PATH": ":".join(str(each) for each in programs)}
        | {name: str(value) for name, value in environment.items()},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_a_dump_brings_everything_back(postgres: TestServer, database: str, tmp_path: Path) -> None:
    """Requests, answers, a sealed one, people and keys; the log verifies, and the one that was open is answered."""
    data_dir = tmp_path / "data"
    async with service(database, data_dir) as before:
        alice = await before.person("alice")
        answered, opened = (
            await before.ask(unique_id="answered"),
            await before.ask(unique_id="open", context="Two left."),
        )
        sealed = await before.ask(unique_id="sealed", secret=True)
        for id, text in ((answered["id"], "yes"), (sealed["id"], "402-881")):
            assert (await before.admin.post(f"/api/requests/{id}/respond", json={"text": text})).status_code == 200
        waiting = asyncio.create_task(before.agent.get("/api/requests/open/wait", params={"timeout_seconds": 60}))
        await before.waiting()
        here = {"HANDRAISE_DATABASE_URL": database, "HANDRAISE_DATA_DIR": data_dir}
        await asyncio.to_thread(typed, DUMP, tmp_path, **here)
        await settled(before)
        shown = await before.admin.get("/api/requests")
        before.app.let_go()
        assert (await waiting).json()["status"] == "Requested"
    await postgres.drop_database(database)
    restored = await postgres.create_database()
    here["HANDRAISE_DATABASE_URL"] = restored
    said = await asyncio.to_thread(typed, RESTORE_DUMP, tmp_path, **here)
    assert "\nok\n" in said
    assert "request_list: " in said
    async with service(restored, data_dir) as after:
        assert after.agent.headers == before.agent.headers, "the keys go on working"
        waiting = asyncio.create_task(after.agent.get("/api/requests/open/wait", params={"timeout_seconds": 60}))
        await after.waiting()
        assert (await after.admin.get("/api/requests")).json() == shown.json()
        by_alice = await after.client(alice.headers["Authorization"].removeprefix("Bearer "))
        assert (await by_alice.get("/api/me")).json()["id"] == "alice"
        respond = f"/api/requests/{opened['id']}/respond"
        assert (await after.admin.post(respond, json={"text": "the larger one"})).status_code == 200
        assert (await waiting).json()["response"]["text"] == "the larger one"
        collected = await after.agent.post(f"/api/requests/{sealed['id']}/collect", json={"receipt": "r" * 22})
        assert collected.json()["text"] == "402-881"
        assert (await after.agent.get("/api/requests/answered")).json()["response"]["text"] == "yes"
    await postgres.drop_database(restored)


@pytest.mark.thorough
def test_the_embedded_database_comes_back(tmp_path: Path) -> None:
    """The machine is lost while an agent waits: on another one with the backup it gets its answer, and so do others."""
    safe = tmp_path / "safe"
    safe.mkdir()
    server = ServerProcess(tmp_path / "data")
    here = {"HANDRAISE_DATA_DIR": server.data_dir, "KEY_SAFE": safe}
    answers: list[str | None] = []

    def ask() -> None:
        with Client(server.url, key, patience_seconds=300) as agent:
            answers.append(agent.ask("Which plan?", unique_id="open").text)

    with server:
        key = server.agent_key
        waiting = threading.Thread(target=ask, daemon=True)
        waiting.start()
        server.until_waiting()
        with server.agent() as agent, server.admin() as admin:
            asked = agent.post("/api/requests", json={"message": "Before?", "unique_id": "before"}).json()
            assert admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"}).status_code == 200
            typed(BACK_UP, tmp_path, **here)
            agent.post("/api/requests", json={"message": "After?", "unique_id": "after"})
        server.kill()
        shutil.rmtree(server.data_dir)
        assert typed(RESTORE, tmp_path, **here).endswith("\nok\n")
        server.start()
        server.until_waiting()
        with server.admin() as admin:
            shown = admin.get("/api/requests").json()["items"]
            assert {item["unique_id"]: item["status"] for item in shown} == {"before": "Responded", "open": "Requested"}
            (opened,) = (item["id"] for item in shown if item["unique_id"] == "open")
            assert admin.post(f"/api/requests/{opened}/respond", json={"text": "the larger one"}).status_code == 200
        waiting.join(60)
    assert answers == ["the larger one"]
