"""`handraise serve`: how it starts, what it refuses, and how it ends."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import stat
import threading
import time
from pathlib import Path

import httpx
import psycopg
import pytest

from interfaces.credentials import read_credentials
from interfaces.postgres.writer import APPEND_LOCK
from tests.support.processes import PATIENCE, ServerProcess, cli_here, until


def test_the_first_start_says_what_to_do_and_later_ones_where_it_is(database: str, tmp_path: Path) -> None:
    """On a port that it chose: the printed address and credentials.json both name the real one."""
    with ServerProcess(tmp_path / "data", database, port=0) as server:
        credentials = server.data_dir / "credentials.json"
        link = re.search(r"^  (http\S+/sign-in#\S+)$", server.output, re.M)
        assert link is not None
        assert server.output == (
            f"Handraise is running at {server.url}\n"
            "\n"
            "Sign in as its administrator, once, within 24 hours:\n"
            "\n"
            f"  {link[1]}\n"
            "\n"
            f"Its keys are in {credentials}, which only you can read.\n"
            "Try this in another terminal; it says how to answer:\n"
            "\n"
            f'  handraise ask "Deploy build 2041?" --type approval --data-dir {server.data_dir}\n'
            "\n"
            "Ctrl-C stops the server.\n"
        )
        assert not server.url.endswith(":0")
        assert link[1].startswith(f"{server.url}/sign-in#")
        assert link[1].partition("#")[2] not in server.log
        assert stat.S_IMODE(credentials.stat().st_mode) == 0o600
        first = read_credentials(server.data_dir)
        assert first is not None
        assert first.url == server.url
        assert server.terminate(signal.SIGINT) == 0
        server.start()
        assert server.output == f"Handraise is running at {server.url}\n"
        later = read_credentials(server.data_dir)
        assert later is not None
        assert (later.url, later.agent_key, later.admin_key) == (server.url, first.agent_key, first.admin_key)
        assert "hr_" not in server.log + server.output


async def test_stopping_ends_every_wait_with_the_present_state(database: str, tmp_path: Path) -> None:
    """SIGTERM: each long poll gets 200 and the open request at once, and the process ends well within 10 s."""
    server = ServerProcess(tmp_path / "data", database, arguments=("--no-admin-key",))
    await asyncio.to_thread(server.start)
    try:
        credentials = read_credentials(server.data_dir)
        assert credentials is not None
        assert credentials.admin_key is None
        async with httpx.AsyncClient(
            base_url=server.url,
            headers={"Authorization": f"Bearer {server.agent_key}"},
            limits=httpx.Limits(max_connections=None),
            timeout=90,
            trust_env=False,
        ) as agent:
            asked = (await agent.post("/api/requests", json={"message": "Well?"})).json()
            path = f"/api/requests/{asked['id']}/wait?timeout_seconds=60"
            waits = [asyncio.create_task(agent.get(path)) for _ in range(100)]
            await asyncio.to_thread(server.until_waiting, 100)
            began = time.monotonic()
            code = await asyncio.to_thread(server.terminate)
            seconds = time.monotonic() - began
            ended = await asyncio.gather(*waits)
            assert {(answer.status_code, answer.json()["status"]) for answer in ended} == {(200, "Requested")}
            assert {answer.headers["connection"] for answer in ended} == {"close"}
            assert (code, seconds < 10) == (0, True), f"{seconds} s"
            with pytest.raises(httpx.ConnectError):
                await agent.get("/healthz")
    finally:
        server.stop()


def test_nothing_holds_up_a_stop_for_longer_than_allowed(database: str, tmp_path: Path) -> None:
    """A write that is stuck in the database is given up when `stop_seconds` are over; whoever asked is told so."""
    with (
        ServerProcess(tmp_path / "data", database, stop_seconds=2) as server,
        psycopg.connect(database) as connection,
    ):
        connection.execute("LOCK TABLE handraise_events IN ACCESS EXCLUSIVE MODE")
        replies: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: replies.append(_ask(server)), daemon=True)
        asking.start()
        until(lambda: _stuck_write(database), "the write is stuck")
        began = time.monotonic()
        assert server.terminate() == 1
        assert time.monotonic() - began < 10
        assert "the time to stop in good order is over" in server.log
        connection.rollback()
        asking.join(PATIENCE)
        (reply,) = replies
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
        assert "make the same call again" in reply.json()["detail"]


def test_a_port_in_use_is_refused_before_anything_is_done(server: ServerProcess, tmp_path: Path) -> None:
    """No database is touched, nothing written: a sentence says what to do."""
    began = time.monotonic()
    ended = cli_here(
        "serve",
        "--port",
        str(server.port),
        "--data-dir",
        str(tmp_path / "second"),
        env={"HANDRAISE_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nothing"},
    )
    assert time.monotonic() - began < 30
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        f"Error: port {server.port} on 127.0.0.1 is in use: stop what listens there, "
        "or choose another port with --port\n"
    )
    assert not (tmp_path / "second").exists()
    assert httpx.get(f"{server.url}/readyz", trust_env=False).status_code == 200


def test_settings_that_cannot_be_are_named_and_never_shown(tmp_path: Path) -> None:
    """One line, exit code 1, and neither a password nor a key in it."""
    (tmp_path / "file").touch()
    here = {"HANDRAISE_DATA_DIR": str(tmp_path / "data"), "HANDRAISE_PORT": "0"}
    ended = {
        "setting": cli_here("serve", env=here | {"HANDRAISE_PORT": "many", "HANDRAISE_SECRET_KEY": "s3cret"}),
        "url": cli_here("serve", env=here | {"HANDRAISE_DATABASE_URL": "postgres//user:s3cret@host/db"}),
        "database": cli_here("serve", env=here | {"HANDRAISE_DATABASE_URL": "postgresql://u:s3cret@127.0.0.1:9/db"}),
        "folder": cli_here("serve", env=here | {"HANDRAISE_DATA_DIR": str(tmp_path / "file")}),
        "host": cli_here("serve", "--host", "203.0.113.7", env=here),
    }
    assert all((end.code, end.out) == (1, "") for end in ended.values()), ended
    assert all("Traceback" not in end.err and "s3cret" not in end.err for end in ended.values()), ended
    assert ended["setting"].err.startswith("Error: HANDRAISE_PORT: Input should be a valid integer")
    assert "HANDRAISE_SECRET_KEY: a master key is 32 bytes in urlsafe base64" in ended["setting"].err
    assert ended["url"].err.startswith("Error: the database URL is not a connection string")
    assert ended["database"].err.startswith("Error: cannot use the database: ")
    assert ended["folder"].err.startswith(f"Error: cannot use {tmp_path / 'file'}: ")
    assert ended["host"].err.startswith("Error: cannot listen on 203.0.113.7 port 0 (")
    assert not (tmp_path / "data" / "credentials.json").exists()


def test_ctrl_c_while_it_starts_ends_it(tmp_path: Path) -> None:
    """Before it serves there is nobody to wait for."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE)
        database = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/never"
        server = ServerProcess(tmp_path / "data", database)
        server.launch()
        try:
            connected, _ = silent.accept()
            with connected:
                assert server.terminate(signal.SIGINT) == 1
            assert "Traceback" not in server.log
        finally:
            server.stop()


def test_the_line_to_try_begins_as_the_server_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Started by `uv run`, it says `uv run`."""
    from interfaces.cli.output import command

    monkeypatch.delenv("UV", raising=False)
    assert command("ask", "two words") == "handraise ask 'two words'"
    monkeypatch.setenv("UV", "/usr/bin/uv")
    assert command("serve") == "uv run handraise serve"


def _ask(server: ServerProcess) -> httpx.Response:
    with server.agent() as agent:
        return agent.post("/api/requests", json={"message": "Stuck?"})


def _stuck_write(database: str) -> bool:
    """Whether something waits that holds the append lock: a read in the background may wait too, and is given up."""
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "SELECT FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE datname = current_database()"
            " AND wait_event_type = 'Lock' AND locktype = 'advisory' AND granted"
            " AND (classid::bigint << 32) + objid::bigint = %s",
            (APPEND_LOCK,),
        ).fetchone()
    return found is not None
