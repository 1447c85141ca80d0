"""`handraise doctor` and `handraise verify`."""

from __future__ import annotations

import email.utils
import time
from pathlib import Path

import httpx
import psycopg

from interfaces.cli.maintenance import Finding, _clock
from interfaces.credentials import Credentials, write_credentials
from tests.support.processes import Command, ServerProcess, cli
from tests.support.service import Service

# -- doctor


def test_doctor_finds_nothing_wrong(server: ServerProcess) -> None:
    """Every check is listed, each `ok`."""
    ended = cli("doctor", server=server)
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
        Command("doctor", "--data-dir", str(down)),
        Command("doctor", "--data-dir", str(stale)),
        Command("doctor", "--data-dir", str(tmp_path / "none")),
    ]
    is_down, is_stale, is_none = (command.finish() for command in commands)
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


async def test_verify_finds_one_changed_byte_and_a_tail_cut_off(handraise: Service, database: str) -> None:
    """It prints events, head and ok; or the position of the first fault, and exit code 1."""
    for _ in range(3):
        await handraise.ask()
    environment = {"HANDRAISE_DATABASE_URL": database}
    whole = cli("verify", env=environment)
    events, head = (line.split()[1] for line in whole.out.splitlines()[:2])
    assert (whole.code, whole.err, whole.out) == (0, "", f"events {events}\nhead   {head}\nok\n")
    last = int(events)
    assert head.split(":")[0] == events

    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        change = (
            "UPDATE handraise_events SET state = set_byte(state, 9, get_byte(state, 9) # 1) WHERE notification_id = %s"
        )
        await connection.execute(change, (last - 1,))
        changed = cli("verify", "--database-url", database)
        assert changed.code == 1
        assert changed.out.startswith(f"events {last - 2}\n")
        assert f"fault  position {last - 1}: event 1 of " in changed.out
        await connection.execute(change, (last - 1,))

        for table, column in (("handraise_events", "notification_id"), ("event_chain", "position")):
            await connection.execute(f"DELETE FROM {table} WHERE {column} = {last}")
    commands = [
        Command("verify", env=environment),
        Command("verify", "--head", head, env=environment),
        Command("verify", "--head", "head", env=environment),
        Command("verify", "--database-url", "postgres//u:s3cret@h/db"),
    ]
    cut, known, malformed, no_url = (command.finish() for command in commands)
    assert (cut.code, cut.out.splitlines()[-1]) == (0, "ok")
    assert (known.code, known.out.splitlines()[-1]) == (
        1,
        f"fault  position {last}: the tail is cut: the given head was at {last}",
    )
    assert (malformed.code, no_url.code) == (2, 1)
    assert "s3cret" not in no_url.err


def test_verify_reads_the_embedded_database_of_a_running_and_of_a_killed_server(tmp_path: Path) -> None:
    """Through the running server's own Postgres; after a crash through one of its own, which it stops again."""
    with ServerProcess(tmp_path / "data") as server:
        while_it_runs = cli("verify", server=server)
        server.kill()
        after_a_crash = cli("verify", server=server)
        assert (while_it_runs.code, while_it_runs.err) == (0, "")
        assert while_it_runs.out.endswith("\nok\n")
        assert (after_a_crash.code, after_a_crash.out) == (0, while_it_runs.out)
        server.start()
    nothing = cli("verify", "--data-dir", str(tmp_path / "elsewhere"))
    assert (nothing.code, nothing.out) == (1, "")
    assert nothing.err.startswith(f"Error: there is no database in {tmp_path / 'elsewhere'}: ")
    assert not (tmp_path / "elsewhere").exists()
