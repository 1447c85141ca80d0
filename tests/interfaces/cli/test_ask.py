"""`handraise ask`, in a process of its own, against a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.support.processes import ROOT, Command, ServerProcess, cli, cli_here, until


def test_every_ending_has_its_exit_code(server: ServerProcess) -> None:
    """0 answered, 3 rejected, 4 expired, 5 cancelled, 6 still open; the answer alone is on standard output."""
    commands = {
        "text": Command("ask", "Well?", "--unique-id", "end-text", server=server),
        "rejected": Command("ask", "Well?", "--unique-id", "end-no", "--type", "approval", server=server),
        "expired": Command("ask", "Well?", "--unique-id", "end-expired", "--expires", "0.5", server=server),
        "cancelled": Command("ask", "Well?", "--unique-id", "end-cancelled", server=server),
        "open": Command("ask", "Well?", "--unique-id", "end-open", "--timeout", "0.5", server=server),
    }
    with server.admin() as admin:
        for what, call, body in (
            ("text", "end-text/respond", {"text": " 012345 ü\nsecond line"}),
            ("rejected", "end-no/respond", {"data": {"approved": False, "note": "not on Fridays"}}),
            ("cancelled", "end-cancelled/cancel", {"reason": "not needed"}),
        ):
            commands[what].until_said("asked; to answer: handraise answer ")
            assert admin.post(f"/api/requests/{call}", json=body).status_code == 200
    ended = {what: command.finish() for what, command in commands.items()}
    assert {what: (end.code, end.out) for what, end in ended.items()} == {
        "text": (0, " 012345 ü\nsecond line\n"),
        "rejected": (3, "rejected\nnot on Fridays\n"),
        "expired": (4, ""),
        "cancelled": (5, ""),
        "open": (6, ""),
    }
    assert ended["expired"].err.endswith("\nexpired: nobody answered end-expired in time\n")
    assert ended["cancelled"].err == "cancelled by admin: not needed\n"
    assert ended["open"].err.splitlines()[1] == (
        "still open; the request stays open: to go on waiting, ask the same again with --unique-id end-open"
    )


@pytest.mark.parametrize(
    ("arguments", "question", "answer", "code", "out"),
    [
        (("--option", "Dev", "--option", "Prod"), {"options": ["Dev", "Prod"]}, {"text": "prod"}, 0, "Prod\n"),
        (("--type", "approval"), {"request_type": "approval"}, {"text": "y"}, 0, "approved\n"),
        (("--type", "review"), {"request_type": "review"}, {"text": "Approve"}, 0, "approved\n"),
        (("--type", "review"), {"request_type": "review"}, {"text": "shorter"}, 3, "shorter\n"),
        (
            ("--schema", "-"),
            {"response_schema": {"type": "object"}},
            {"data": {"n": 3, "who": "Zoë"}},
            0,
            '{"n":3,"who":"Zoë"}\n',
        ),
        (("--schema", "-"), {"response_schema": {"type": "object"}}, {"data": {"approved": False}}, 3, None),
    ],
)
def test_an_answer_is_printed_as_a_script_reads_it(
    server: ServerProcess,
    arguments: tuple[str, ...],
    question: dict[str, Any],
    answer: dict[str, Any],
    code: int,
    out: str | None,
) -> None:
    """Text as it was given, an option as it was offered, a decision as a word, data as JSON."""
    unique_id = str(uuid4())
    with server.agent() as agent, server.admin() as admin:
        agent.post("/api/requests", json={"message": "Well?", "unique_id": unique_id} | question)
        admin.post(f"/api/requests/{unique_id}/respond", json=answer)
    schema = json.dumps(question.get("response_schema"))
    ended = cli_here("ask", "Well?", "--unique-id", unique_id, *arguments, server=server, input=schema)
    assert (ended.code, ended.out, ended.err) == (code, out or '{"approved":false}\n', "")


def test_one_process_asks_and_another_answers(server: ServerProcess) -> None:
    """The line that `ask` gives answers it; the agent's script goes on with the decision."""
    asking = Command("ask", "Deploy build 2041?", "--type", "approval", server=server)
    line = asking.until_said("asked; to answer: ")
    answered = cli("answer", line.split()[-1], "yes", server=server)
    assert (answered.code, answered.out) == (0, f"answered {line.split()[-1]}\n")
    ended = asking.finish()
    assert (ended.code, ended.out, ended.err) == (0, "approved\n", "")
    with server.admin() as admin:
        response = admin.get(f"/api/requests/{line.split()[-1]}").json()["response"]
    assert (response["by"], response["via"]) == ("admin", "cli")


def test_the_same_unique_id_gets_the_same_answer_and_json_shows_all(server: ServerProcess) -> None:
    """A script that runs again is not a second question; `--json` prints the request with its answer."""
    with server.agent() as agent, server.admin() as admin:
        agent.post("/api/requests", json={"message": "Which?", "unique_id": "again", "options": ["a", "b"]})
        admin.post("/api/requests/again/respond", json={"text": "b"})
    question = ("ask", "Which?", "--option", "a", "--option", "b", "--unique-id", "again", "--json")
    ended = cli_here(*question, server=server)
    assert (ended.code, ended.err) == (0, "")
    shown = json.loads(ended.out)
    assert (shown["unique_id"], shown["response"]["data"]) == ("again", {"index": 1, "option": "b"})
    other = cli_here("ask", "Something else?", "--unique-id", "again", server=server)
    assert (other.code, other.out) == (1, "")
    assert other.err.startswith("Error: feedback request already exists: 'again' was asked with other content")
    assert "Traceback" not in other.err


# -- secrets


def test_a_secret_is_printed_once_and_stands_nowhere_else(server: ServerProcess) -> None:
    """Asked and answered on the command line, collected, printed, then destroyed; the log never had it."""
    secret = "correct-horse-8841"
    asking = Command("ask", "The code?", "--secret", "--unique-id", "code", server=server)
    asking.until_said("asked")
    assert cli("answer", "code", "-", input=f"{secret}\n", server=server).code == 0
    ended = asking.finish()
    assert (ended.code, ended.out, ended.err) == (0, f"{secret}\n", "")
    with server.admin() as admin:
        assert secret not in admin.get("/api/requests/code").text
        types = [item["type"] for item in admin.get("/api/requests/code/history").json()["items"]]
    assert types == ["Requested", "Responded", "Collected", "Acknowledged"]
    assert secret not in server.log + server.output
    again = cli_here("ask", "The code?", "--secret", "--unique-id", "code", server=server)
    assert (again.code, again.out) == (1, "")
    assert "collected and acknowledged" in again.err


def test_a_secret_decision_is_told_by_the_exit_code_too(server: ServerProcess) -> None:
    """A sealed approval shows its outcome only after it was collected."""
    with server.agent() as agent, server.admin() as admin:
        question = {"message": "Sure?", "unique_id": "sealed no", "request_type": "approval", "secret": True}
        agent.post("/api/requests", json=question)
        admin.post("/api/requests/sealed no/respond", json={"text": "no"})
    ended = cli_here("ask", "Sure?", "--type", "approval", "--secret", "--unique-id", "sealed no", server=server)
    assert (ended.code, ended.out) == (3, "rejected\n")


def test_a_secret_that_nobody_reads_is_not_collected(server: ServerProcess) -> None:
    """With the reader of the pipe gone the answer stays, and asking again gets it."""
    reading, writing = os.pipe()
    asking = subprocess.Popen(
        [sys.executable, "-m", "interfaces.cli.main", "ask", "Pin?", "--secret", "--unique-id", "piped"],
        cwd=ROOT,
        env=os.environ | {"HANDRAISE_DATA_DIR": str(server.data_dir)},
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    os.close(reading)
    assert asking.stderr is not None
    assert "asked" in asking.stderr.readline()
    with server.admin() as admin:
        admin.post("/api/requests/piped/respond", json={"text": "7714"})
    _, said = asking.communicate(timeout=60)
    assert asking.returncode == 1
    assert said == "Error: standard output is closed, so the sealed answer was not collected; ask again\n"
    again = cli_here("ask", "Pin?", "--secret", "--unique-id", "piped", server=server)
    assert (again.code, again.out) == (0, "7714\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_secret_that_could_not_be_written_is_not_acknowledged(server: ServerProcess) -> None:
    """A full disk is an error, said plainly, never an acknowledged answer."""
    with server.agent() as agent, server.admin() as admin:
        agent.post("/api/requests", json={"message": "Pin?", "unique_id": "full", "secret": True})
        admin.post("/api/requests/full/respond", json={"text": "7714"})
        with open("/dev/full", "w") as full:
            ended = subprocess.run(
                [sys.executable, "-m", "interfaces.cli.main", "ask", "Pin?", "--secret", "--unique-id", "full"],
                cwd=ROOT,
                env=os.environ | {"HANDRAISE_DATA_DIR": str(server.data_dir)},
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
            )
        assert ended.returncode == 1
        assert "could not be written to standard output: No space left on device" in ended.stderr
        assert "7714" not in ended.stderr
        assert "Traceback" not in ended.stderr
        types = [item["type"] for item in admin.get("/api/requests/full/history").json()["items"]]
    assert types == ["Requested", "Responded", "Collected"]


# -- waiting


def test_ctrl_c_leaves_the_request_open_and_says_how_to_go_on(server: ServerProcess) -> None:
    """The wait ends, the question stays: the same command with the same unique_id goes on."""
    asking = Command("ask", "Still there?", "--unique-id", "ctrl-c", server=server)
    asking.until_said("asked")
    with server.admin() as admin:
        ended = asking.interrupt()
        assert (ended.code, ended.out) == (130, "")
        assert ended.err == (
            "interrupted; the request stays open: to go on waiting, ask the same again with --unique-id ctrl-c\n"
        )
        assert admin.get("/api/requests/ctrl-c").json()["status"] == "Requested"
        admin.post("/api/requests/ctrl-c/respond", json={"text": "yes"})
    went_on = cli_here("ask", "Still there?", "--unique-id", "ctrl-c", server=server)
    assert (went_on.code, went_on.out) == (0, "yes\n")


def test_a_wait_outlives_the_server(database: str, tmp_path: Path) -> None:
    """A server killed and started again in the middle of a wait: the same wait gets the answer."""
    with ServerProcess(tmp_path / "data", database) as server:
        asking = Command("ask", "Long wait?", "--unique-id", "long", server=server)
        asking.until_said("asked")
        server.until_waiting()
        server.restart(kill=True)
        server.until_waiting()
        assert asking.process.poll() is None
        with server.admin() as admin:
            admin.post("/api/requests/long/respond", json={"text": "at last"})
        ended = asking.finish()
        assert (ended.code, ended.out, ended.err) == (0, "at last\n", "")


# -- refusals


def test_what_is_missing_or_wrong_is_said_in_a_line(server: ServerProcess, tmp_path: Path) -> None:
    """No traceback, no key on the screen, and what to do next; 1 for a refusal, 2 for wrong usage."""
    away = {"HANDRAISE_URL": "http://127.0.0.1:9", "HANDRAISE_API_KEY": "hr_unknown"}
    not_json = tmp_path / "schema.json"
    not_json.write_text("{")
    ended = {
        "no server": cli_here("ask", "Hello?", env=away),
        "not known": cli_here("ask", "Hello?", env={"HANDRAISE_DATA_DIR": str(tmp_path)}),
        "wrong key": cli_here("ask", "Hello?", server=server, env={"HANDRAISE_API_KEY": "hr_unknown"}),
        "no key at all": cli_here("ask", "Hello?", server=server, env={"HANDRAISE_API_KEY": "hr_\nü"}),
        "wrong address": cli_here("ask", "Hello?", env=away | {"HANDRAISE_URL": "localhost:8000"}),
        "refused": cli_here("ask", " ", server=server),
        "both": cli_here("ask", "-", "--schema", "-", server=server),
        "schema": cli_here("ask", "Hello?", "--schema", str(not_json), server=server),
        "no file": cli_here("ask", "Hello?", "--schema", str(tmp_path / "none"), server=server),
        "unknown option": cli_here("ask", "Hello?", "--no-such-option", server=server),
    }
    assert {what: end.code for what, end in ended.items()} == {
        "no server": 1,
        "not known": 1,
        "wrong key": 1,
        "no key at all": 1,
        "wrong address": 1,
        "refused": 1,
        "both": 2,
        "schema": 2,
        "no file": 2,
        "unknown option": 2,
    }
    assert all(end.out == "" and "Traceback" not in end.err and "hr_" not in end.err for end in ended.values())
    assert ended["no server"].err == "Error: cannot reach http://127.0.0.1:9: start it with `handraise serve`\n"
    assert ended["not known"].err == (
        f"Error: no server is known: there is no credentials.json in {tmp_path}; start one with "
        "`handraise serve`, or set HANDRAISE_URL and HANDRAISE_API_KEY\n"
    )
    assert ended["wrong key"].err == (
        "Error: this key is unknown, expired or revoked "
        "(HANDRAISE_API_KEY holds it; make another with: handraise key create)\n"
    )
    assert ended["refused"].err == "Error: message: must not be empty: it is what the person reads\n"


def test_ask_uses_only_the_agents_key(server: ServerProcess, tmp_path: Path) -> None:
    """Each kind of command takes its own key from credentials.json and no other, whatever else is there."""
    written = json.loads((server.data_dir / "credentials.json").read_text())
    ended = {}
    for missing in ("agent_key", "admin_key"):
        folder = tmp_path / missing
        folder.mkdir()
        (folder / "credentials.json").write_text(json.dumps(written | {missing: None}))
        env = {"HANDRAISE_DATA_DIR": str(folder)}
        ended[missing, "ask"] = cli_here("ask", "May I?", "--timeout", "0", env=env)
        ended[missing, "people"] = cli_here("user", "list", env=env)
    assert {key: end.code for key, end in ended.items()} == {
        ("agent_key", "ask"): 1,
        ("agent_key", "people"): 0,
        ("admin_key", "ask"): 6,
        ("admin_key", "people"): 1,
    }
    assert "holds no such key" in ended["agent_key", "ask"].err
    assert "holds no such key" in ended["admin_key", "people"].err


def test_the_command_line_loads_no_server() -> None:
    """`ask` starts in scripts and loops: what only other commands need is imported by them."""
    heavy = ("fastapi", "psycopg", "pydantic", "httpx", "rich", "structlog", "uvicorn", "eventsourcing")
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import interfaces.cli.main, sys; print([m for m in {heavy!r} if m in sys.modules])",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout == "[]\n"


def test_a_request_asked_from_standard_input(server: ServerProcess) -> None:
    """A long question comes through a pipe."""
    ended = cli_here("ask", "-", "--timeout", "0", "--unique-id", "piped in", input="Line 1\nLine 2\n", server=server)
    assert ended.code == 6
    with server.agent() as agent:
        until(lambda: agent.get("/api/requests/piped in").json()["message"] == "Line 1\nLine 2\n", "it was asked")
