"""What people do from the terminal: show, answer, cancel; users, agents and keys."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import time
from typing import Any

from tests.support.processes import HANDRAISE, PATIENCE, ROOT, ServerProcess, clean_environment, cli_here


def ask(server: ServerProcess, unique_id: str, **body: Any) -> None:
    """A request of the default agent."""
    with server.agent() as agent:
        asked = agent.post("/api/requests", json={"message": "May I?", "unique_id": unique_id} | body)
        assert asked.status_code == 201, asked.text


def response_to(server: ServerProcess, unique_id: str) -> dict[str, Any]:
    with server.admin() as admin:
        return admin.get(f"/api/requests/{unique_id}").json()["response"]


class Terminal:
    """A command at a terminal of its own, as a person sees it."""

    def __init__(self, *arguments: str, server: ServerProcess) -> None:
        self._terminal, theirs = pty.openpty()
        self.shown = ""
        self.process = subprocess.Popen(
            [*HANDRAISE, *arguments],
            cwd=ROOT,
            env=clean_environment() | {"HANDRAISE_DATA_DIR": str(server.data_dir), "TERM": "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def type(self, text: str, *, when: str, times: int = 1) -> None:
        """Type a line once `when` was shown so many times."""
        deadline = time.monotonic() + PATIENCE
        while self.shown.count(when) < times:
            assert time.monotonic() < deadline, f"{when!r} was not shown:\n{self.shown}"
            self._read(0.1)
        os.write(self._terminal, f"{text}\n".encode())

    def finish(self) -> int:
        """Wait until it ends; the exit code."""
        deadline = time.monotonic() + PATIENCE
        while self._read(0.1):
            assert time.monotonic() < deadline, self.shown
        os.close(self._terminal)
        return self.process.wait(PATIENCE)

    def _read(self, seconds: float) -> bool:
        """Take in what there is to read within `seconds`; False at the end."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return True
        try:
            found = os.read(self._terminal, 65536)
        except OSError:  # how Linux says that nobody has the terminal open any more
            return False
        self.shown += found.decode(errors="replace")
        return bool(found)


# -- show, answer, cancel


def test_show_tells_the_question_the_facts_and_the_history(server: ServerProcess) -> None:
    """For people as text, in which nothing can move the cursor; for programs as JSON."""
    ask(server, "shown", message="Red \x1b[31mor\u202e blue? [bold]", options=["red", "blue"])
    with server.admin() as admin:
        admin.post("/api/requests/shown/respond", json={"text": "blue"})
    as_text = cli_here("show", "shown", server=server)
    as_json = cli_here("show", "shown", "--json", server=server)
    text, shown = as_text, json.loads(as_json.out)
    lines = text.out.splitlines()
    assert lines[:4] == [r"Red \x1b[31mor\u202e blue? [bold]", "  1. red", "  2. blue", ""]
    assert "status       Responded" in lines
    assert "answer       blue" in lines
    assert [line.split()[1:3] for line in lines[-2:]] == [["Requested", "default"], ["Responded", "admin"]]
    assert shown["response"]["text"] == "blue"
    assert [item["type"] for item in shown["history"]] == ["Requested", "Responded"]


def test_answers_are_understood_as_typed_or_taken_as_data(server: ServerProcess) -> None:
    """Text as a person types it, JSON with --data, either of them through a pipe."""
    form = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    ask(server, "by number", options=["dev", "prod"])
    ask(server, "by data", response_schema=form)
    ask(server, "by pipe", response_schema=form)
    ask(server, "one value", response_schema=form)
    ask(server, "two lines")
    commands = [
        cli_here("answer", "by number", "2", server=server),
        cli_here("answer", "by data", "--data", '{"n": 7}', server=server),
        cli_here("answer", "by pipe", "--data", "-", server=server, input='{"n": 8}'),
        cli_here("answer", "one value", "9", server=server),
        cli_here("answer", "two lines", "-", server=server, input="one\ntwo\n\n"),
    ]
    assert [ended.code for ended in commands] == [0] * 5
    assert response_to(server, "by number")["text"] == "prod"
    assert [response_to(server, name)["data"] for name in ("by data", "by pipe", "one value")] == [
        {"n": 7},
        {"n": 8},
        {"n": 9},
    ]
    found = response_to(server, "two lines")
    assert (found["text"], found["via"]) == ("one\ntwo\n", "cli")


def test_an_answer_that_is_refused_leaves_the_request_open(server: ServerProcess) -> None:
    """Nothing to answer with, nonsense, a late answer: each said in a line."""
    ask(server, "refused", request_type="approval")
    ask(server, "taken", request_type="approval")
    with server.admin() as admin:
        admin.post("/api/requests/taken/respond", json={"text": "no"})
    ended = {
        "nothing": cli_here("answer", "refused", server=server),
        "nonsense": cli_here("answer", "refused", "perhaps", server=server),
        "no json": cli_here("answer", "refused", "--data", "{secret", server=server),
        "both": cli_here("answer", "refused", "yes", "--data", "true", server=server),
        "late": cli_here("answer", "taken", "yes", server=server),
        "unknown": cli_here("answer", "nobody-asked-this", "yes", server=server),
    }
    codes = {what: end.code for what, end in ended.items()}
    assert codes == {"nothing": 1, "nonsense": 1, "no json": 2, "both": 2, "late": 1, "unknown": 1}
    assert all("Traceback" not in end.err and end.out == "" for end in ended.values())
    assert "give it as TEXT or --data" in ended["nothing"].err
    assert "“Approve” or “Reject”" in ended["nonsense"].err
    assert "secret" not in ended["no json"].err
    assert "was answered at" in ended["late"].err
    assert ended["late"].err.endswith("by admin\n")
    assert ended["unknown"].err == "Error: there is no request 'nobody-asked-this'\n"
    assert response_to(server, "refused") is None


def test_at_a_terminal_it_shows_the_question_and_asks(server: ServerProcess) -> None:
    """What is not understood is asked again; a secret is typed unseen."""
    ask(server, "prompted", message="Where to?", options=["dev", "prod"])
    ask(server, "whispered", message="The code?", secret=True)
    choosing = Terminal("answer", "prompted", server=server)
    whispering = Terminal("answer", "whispered", server=server)
    choosing.type("mars", when="The option or its number: ")
    choosing.type("PROD", when="The option or its number: ", times=2)
    whispering.type("s3cret", when="Your answer (unseen): ")
    assert (choosing.finish(), whispering.finish()) == (0, 0)
    assert "Where to?" in choosing.shown
    assert "Choose one of: dev, prod" in choosing.shown
    assert response_to(server, "prompted")["text"] == "prod"
    assert "s3cret" not in whispering.shown
    with server.agent() as agent:
        collected = agent.post("/api/requests/whispered/collect", json={"receipt": "a receipt"}).json()
    assert collected["text"] == "s3cret"


def test_cancel_withdraws_and_says_why(server: ServerProcess) -> None:
    """The agent reads who cancelled and the reason."""
    ask(server, "withdrawn")
    ended = cli_here("cancel", "withdrawn", "--reason", "asked twice", server=server)
    assert (ended.code, ended.out, ended.err) == (0, "cancelled withdrawn\n", "")
    with server.agent() as agent:
        found = agent.get("/api/requests/withdrawn").json()
    assert (found["status"], found["cancelled"]["by"], found["cancelled"]["reason"]) == (
        "Cancelled",
        "admin",
        "asked twice",
    )


# -- the directory


def test_people_agents_and_keys(server: ServerProcess) -> None:
    """Added by name, listed, and a key that works from a pipe until it is revoked."""
    adding = [
        cli_here("user", "add", "Alice Grey", "--email", "alice@example.com", "--role", "auditor", server=server),
        cli_here("agent", "add", "Ops bot", "--id", "ops", "--owner", "admin", server=server),
    ]
    assert [ended.out for ended in adding] == ["alice-grey\n", "ops\n"]
    making = (
        cli_here("key", "create", "--agent", "ops", "--name", "ops in CI", "--expires", "3600", server=server),
        cli_here("key", "create", "--user", "alice-grey", server=server),
        cli_here("key", "create", server=server),
    )
    for_agent, for_user, for_nobody = making
    assert (for_agent.code, for_user.code, for_nobody.code) == (0, 0, 2)
    key = for_agent.out.removesuffix("\n")
    assert key.startswith("hr_")
    assert key not in for_agent.err
    with server.client(key) as ops:
        assert ops.post("/api/requests", json={"message": "From CI?"}).json()["agent"] == "ops"
        listing = [cli_here(kind, "list", server=server) for kind in ("user", "agent", "key")]
        users, agents, keys = (ended.out for ended in listing)
        revoked = cli_here("key", "revoke", "ops-in-ci", server=server)
        assert (revoked.code, revoked.out) == (0, "revoked ops-in-ci\n")
        assert ops.get("/api/requests/any").status_code == 401
    assert "alice-grey  Alice Grey     alice@example.com  auditor        yes" in users.splitlines()
    assert "ops      Ops bot        admin" in agents.splitlines()
    assert "ops-in-ci" in keys
    assert key not in keys
    assert not any(secret in server.log for secret in (key, for_user.out.strip(), server.admin_key, server.agent_key))


def test_listings_for_programs_and_refusals_for_people(server: ServerProcess) -> None:
    """--json prints what the API said; what the server refuses is said in a line."""
    commands = [
        cli_here("user", "list", "--json", server=server),
        cli_here("user", "add", "Second admin", "--id", "admin", server=server),
        cli_here("user", "add", "Somebody", "--role", "king", server=server),
        cli_here("key", "revoke", "no-such-key", server=server),
    ]
    listed, taken, role, unknown = commands
    assert {"id": "admin", "name": "Administrator"}.items() <= json.loads(listed.out)[0].items()
    assert (taken.code, taken.err) == (1, "Error: user id 'admin' is in use or was; ids are never given again\n")
    assert role.code == 1
    assert role.err.startswith("Error: role: ")
    assert (unknown.code, unknown.err) == (1, "Error: there is no key 'no-such-key'\n")
