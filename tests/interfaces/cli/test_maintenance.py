"""`handraise doctor` and `handraise verify`."""

from __future__ import annotations

import asyncio
import email.utils
import time
from pathlib import Path

import httpx
import psycopg

from interfaces.cli.maintenance import Finding, _clock
from interfaces.credentials import Credentials, write_credentials
from interfaces.postgres.embedded import conninfo_of_running
from tests.support.postgres import TestServer
from tests.support.processes import ServerProcess, cli, cli_here
from tests.support.service import service

# -- doctor


def test_doctor_finds_nothing_wrong(server: ServerProcess) -> None:
    """Every check is listed, each `ok`."""
    ended = cli_here("doctor", server=server)
    lines = [line.split(maxsplit=1) for line in ended.out.splitlines()[1:]]
    assert (ended.code, ended.err, {line[0] for line in lines}) == (0, "", {"ok"}), ended
    checked = "\n".join(line[1] for line in lines)
    for what in ("data directory", "credentials.json", "secret.key", "server", "clock", "ready: writer", "agent's key"):
        assert what in checked
    assert server.agent_key not in ended.out


def test_doctor_says_what_is_wrong_and_what_to_do(server: ServerProcess, tmp_path: Path) -> None:
    """Exit code 1, each wrong thing with its remedy."""
    down, stale = tmp_path / "down", tmp_path / "stale"
    for folder in (down, stale):
        folder.mkdir()
    write_credentials(down, Credentials("http://127.0.0.1:9", "hr_a", "hr_b")).chmod(0o644)
    down.chmod(0o777)
    write_credentials(stale, Credentials(server.url, None, "hr_revoked"))
    commands = [
        cli_here("doctor", "--data-dir", str(down)),
        cli_here("doctor", "--data-dir", str(stale)),
        cli_here("doctor", "--data-dir", str(tmp_path / "none")),
    ]
    is_down, is_stale, is_none = commands
    assert (is_down.code, is_stale.code, is_none.code) == (1, 1, 1)
    assert is_down.err.splitlines() == [
        f"data directory: others can replace files in it: chmod 700 {down}",
        f"credentials.json: others can read it: chmod 600 {down / 'credentials.json'}, and replace what was in it",
        "server: start it with `handraise serve`, or correct its address",
    ]
    assert is_stale.err == "agent's key: start the server again, or: handraise key create\n"
    assert is_none.err.splitlines() == [
        "data directory: start the server: handraise serve",
        "credentials.json: start the server, which writes it: handraise serve",
    ]
    assert "hr_" not in is_down.out + is_stale.out


def test_doctor_notices_clocks_that_differ() -> None:
    """By the response's Date, to the second."""

    def clock(apart: float) -> Finding:
        return _clock(httpx.Response(200, headers={"Date": email.utils.formatdate(time.time() - apart)}))

    assert clock(1).remedy is None
    assert (clock(120).remedy, clock(-3600).remedy) == ("set both clocks by NTP",) * 2


# -- verify


def test_verify_finds_one_changed_byte_and_a_tail_cut_off(database: str, tmp_path: Path) -> None:
    """It prints events, head and ok; or the position of the first fault, and exit code 1."""
    asyncio.run(_ask_thrice(database, tmp_path / "data"))
    environment = {"HANDRAISE_DATABASE_URL": database}
    whole = cli("verify", env=environment)
    events, head = (line.split()[1] for line in whole.out.splitlines()[:2])
    assert (whole.code, whole.err, whole.out) == (0, "", f"events {events}\nhead   {head}\nok\n")
    assert cli_here("verify", "--head", head, env=environment) == whole
    last = int(events)
    assert head.split(":")[0] == events

    with psycopg.connect(database, autocommit=True) as connection:
        change = (
            "UPDATE handraise_events SET state = set_byte(state, 9, get_byte(state, 9) # 1) WHERE notification_id = %s"
        )
        connection.execute(change, (last - 1,))
        changed = cli_here("verify", "--database-url", database)
        assert changed.code == 1
        assert changed.out.startswith(f"events {last - 2}\n")
        assert f"fault  position {last - 1}: event 1 of " in changed.out
        connection.execute(change, (last - 1,))

        connection.execute("DELETE FROM handraise_events WHERE notification_id = %s", (last,))
        connection.execute("DELETE FROM event_chain WHERE position = %s", (last,))
    cut = cli_here("verify", env=environment)
    known = cli_here("verify", "--head", head, env=environment)
    assert (cut.code, cut.out.splitlines()[-1]) == (0, "ok")
    assert (known.code, known.out.splitlines()[-1]) == (
        1,
        f"fault  position {last}: the tail is cut: the given head was at {last}",
    )


async def _ask_thrice(database: str, data_dir: Path) -> None:
    async with service(database, data_dir) as handraise:
        for _ in range(3):
            await handraise.ask()


def test_verify_refuses_what_it_cannot_use(tmp_path: Path, postgres: TestServer) -> None:
    """No log there, no database there, no head, no connection string: each in a line, without a password."""
    empty = postgres.run(postgres.create_database())
    no_head = cli_here("verify", "--head", "head")
    no_url = cli_here("verify", "--database-url", "postgres//u:s3cret@h/db")
    no_log = cli_here("verify", "--database-url", empty)
    nothing = cli_here("verify", "--data-dir", str(tmp_path / "elsewhere"))
    assert [ended.code for ended in (no_head, no_url, no_log, nothing)] == [2, 1, 1, 1]
    assert "is not a head" in no_head.err
    assert no_url.err.startswith("Error: the database URL is not a connection string")
    assert "s3cret" not in no_url.err
    assert no_log.err == "Error: this database holds no log of Handraise: is it the right one?\n"
    assert nothing.err.startswith(f"Error: there is no database in {tmp_path / 'elsewhere'}: ")
    assert not (tmp_path / "elsewhere").exists()
    postgres.run(postgres.drop_database(empty))


def test_verify_reads_the_embedded_database_of_a_running_and_of_a_killed_server(tmp_path: Path) -> None:
    """Through the running server's own Postgres; after a crash through one of its own, which it stops again."""
    with ServerProcess(tmp_path / "data") as server:
        while_it_runs = cli_here("verify", server=server)
        server.kill()
        after_a_crash = cli_here("verify", server=server)
        assert (while_it_runs.code, while_it_runs.err) == (0, "")
        assert while_it_runs.out.endswith("\nok\n")
        assert (after_a_crash.code, after_a_crash.out) == (0, while_it_runs.out)
        assert conninfo_of_running(server.data_dir) is None
