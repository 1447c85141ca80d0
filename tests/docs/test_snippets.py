"""What README and quickstart tell a newcomer to type does what they say."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import httpx
import pytest
import typer.main

from interfaces.cli.main import app
from tests.docs.test_reference import page
from tests.support.processes import Command, ServerProcess, cli, until

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
QUICKSTART = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
EMBEDDING = (ROOT / "docs" / "how-to" / "embed.md").read_text(encoding="utf-8")
ROUTING = (ROOT / "docs" / "how-to" / "route-requests.md").read_text(encoding="utf-8")


UV = {"UV": "uv"}
"""As under `uv run`, so that what the commands say begins with it."""


def typed(text: str) -> list[tuple[list[str], str | None, list[str]]]:
    """Every `handraise` command of the console blocks: its words, its standard input, the output shown below it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    commands = []
    for line, shown in found:
        if "pip install" in line:
            continue
        piped, _, rest = line.rpartition(" | ")
        words = shlex.split(rest)
        assert words[:3] == ["uv", "run", "handraise"], line
        commands.append((words[3:], shlex.split(piped)[-1] if piped else None, shown))
    return commands


def run_as_typed(text: str, server: ServerProcess) -> None:
    """Run each command: an `ask` waits in the background until its answer, and what is shown must be what is said."""
    waiting: dict[str, tuple[Command, list[str]]] = {}
    answered: set[str] = set()
    for words, given, shown in typed(text):
        unique_id = words[words.index("--unique-id") + 1] if "--unique-id" in words else None
        if words[0] == "ask" and unique_id is not None and unique_id not in answered:
            command = Command(*words, server=server, env=UV)
            assert command.until_said("asked").strip() == shown[0]
            waiting[unique_id] = command, shown[1:]
            continue
        done = cli(*words, server=server, input=given, env=UV)
        assert done.code == 0, (words, done)
        if shown:
            assert sorted((done.out + done.err).splitlines()) == sorted(shown), words
        if words[0] == "answer":
            answered.add(words[1])
            if words[1] in waiting:
                command, printed = waiting.pop(words[1])
                assert command.finish().out.splitlines() == printed
    assert not waiting


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server as a newcomer starts it, with the database that it brings along."""
    with ServerProcess(tmp_path / "data") as process:
        yield process


def test_the_readme_does_what_it_shows(server: ServerProcess) -> None:
    """Question, answer, and output, word for word."""
    run_as_typed(README, server)


def test_the_quickstart_does_what_it_shows(server: ServerProcess) -> None:
    """Every command and the program, with the output that is shown."""
    program = re.findall(r"```python\n(.*?)```", QUICKSTART, re.S)[0]
    agent = subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"HANDRAISE_DATA_DIR": str(server.data_dir)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        with server.admin() as admin:
            until(lambda: admin.get("/api/requests/choose-plan").status_code == 200, "the program has asked")
        run_as_typed(QUICKSTART, server)
        out, _ = agent.communicate(timeout=60)
    finally:
        agent.kill()
    assert out == "Responded {'selectedOption': 'Premium', 'budget': 1200.5}\n"


def run_as_written(text: str, server: ServerProcess, folder: Path) -> None:
    """Save the YAML and Python blocks under the names in their first lines, and run the console blocks with them."""
    for language, block in re.findall(r"```(yaml|python|console)\n(.*?)```", text, re.S):
        if language != "console":
            name = block.splitlines()[0].removeprefix("# ")
            assert re.fullmatch(r"[\w-]+\.(yaml|py)", name), block
            (folder / name).write_text(block, encoding="utf-8")
            continue
        block = re.sub(r"[\w-]+\.yaml", lambda found: str(folder / found[0]), block)
        for part in re.split(r"^(?=\$ uv run python )", block, flags=re.M):
            if not part.startswith("$ uv run python "):
                run_as_typed(f"```console\n{part}```", server)
                continue
            line, shown, *rest = part.split("\n", 2)
            done = subprocess.run(
                [sys.executable, *shlex.split(line.removeprefix("$ uv run python "))],
                env=os.environ | {"HANDRAISE_DATA_DIR": str(server.data_dir)},
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.stdout, done.stderr) == (f"{shown}\n", ""), line
            run_as_typed(f"```console\n{rest[0] if rest else ''}```", server)


def test_the_page_on_routing_does_what_it_shows(server: ServerProcess, tmp_path: Path) -> None:
    """Every file, program and command, with the output that is shown; its holiday is made to be now."""
    today = date.today()
    text = ROUTING.replace("2026-12-21", str(today - timedelta(1))).replace("2027-01-03", str(today + timedelta(13)))
    assert text != ROUTING
    run_as_written(text, server, tmp_path)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the page shows curl, and there is none here")
def test_the_page_on_embedding_makes_a_token(tmp_path: Path) -> None:
    """As it is written, with the address and the key of a server; the answer has what is shown, and opens a session."""
    origins, command = re.findall(r"```sh\n(.*?)```", EMBEDDING, re.S)
    shown = json.loads(re.findall(r"```json\n(.*?)```", EMBEDDING, re.S)[0])
    settings = dict(line.split("=", 1) for line in origins.splitlines())
    with ServerProcess(tmp_path / "data", embed_origins=settings["HANDRAISE_EMBED_ORIGINS"]) as server:
        with server.admin() as admin:
            assert admin.post("/api/users", json={"id": "alice", "name": "Alice"}).status_code == 201
            key = admin.headers["Authorization"].removeprefix("Bearer ")
        environment = {"HANDRAISE_URL": server.url, "HANDRAISE_API_KEY": key, "PATH": os.environ["PATH"]}
        done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        made = json.loads(done.stdout)
        assert made.keys() == shown.keys()
        assert made["url"] == f"{server.url}/embed/inbox#{made['token']}"
        with httpx.Client(base_url=server.url, trust_env=False) as page:
            opened = page.post("/api/session/embed", json={"token": made["token"]})
            assert (opened.status_code, opened.json()["user"]) == (201, "alice")


def test_the_readme_has_exactly_two_commands_to_get_going() -> None:
    """One to run it, one to test it; nothing else is needed first."""
    assert re.findall(r"^\$ (pip install .*)$", README, re.M) == [
        "pip install uv && uv run handraise serve",
        "pip install uv && uv run pytest",
    ]


def test_ci_runs_the_readmes_test_command() -> None:
    """What lands is what a newcomer would see pass."""
    assert "pip install uv && uv run pytest" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_every_command_and_option_is_in_the_reference() -> None:
    """cli.md has a row a command, naming its options."""
    rows = dict(re.findall(r"^\| `handraise ([\w ]+)` \| (.*) \|$", page("cli.md"), re.M))
    commands: dict[str, set[str]] = {}
    pending = [("", typer.main.get_command(app))]
    while pending:
        name, command = pending.pop()
        inner = getattr(command, "commands", None)
        if inner is not None:
            pending += [(f"{name} {sub}".strip(), child) for sub, child in inner.items()]
        else:
            commands[name] = {option for parameter in command.params for option in parameter.opts if option[:2] == "--"}
    assert rows.keys() == commands.keys()
    for name, options in commands.items():
        shown = set(re.findall(r"`(--[\w-]+)`", rows[name]))
        assert shown == options - {"--help"} - (set() if name == "serve" else {"--data-dir"}), name
