"""Real `handraise` processes: a server that can be killed and restarted, and commands as a user types them.

`ServerProcess` and `cli` block; in an async test that has something going on meanwhile, wrap them in
`asyncio.to_thread`. Both see no `HANDRAISE_*` of the surrounding environment.
"""

from __future__ import annotations

import io
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from unittest import mock

import httpx
import structlog

from interfaces.cli.main import main
from interfaces.credentials import read_credentials

ROOT = Path(__file__).parents[2]
# As `python -m interfaces.cli.main`, but with Ctrl-C working even where the test runner was told to ignore it.
_PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from interfaces.cli.main import main; main()"
)
HANDRAISE = (sys.executable, "-c", _PROGRAM)
PATIENCE = 60.0
"""Seconds after which something that should have happened counts as broken; never a time that a test takes."""


_POLLING = httpx.Client(trust_env=False, verify=False)  # made once: each new one would read all certificates


class ServerProcess:
    """`handraise serve` as a process of its own. `with ServerProcess(tmp_path / "data", database) as server: …`

    `data_dir` is made if missing; `database_url` None means the embedded Postgres. `port` None picks a free one and
    keeps it through restarts; 0 lets the server choose at each start. `settings` are `HANDRAISE_*` without the
    prefix, in lower case (`stop_seconds=2`). `arguments` are added to the command line.
    """

    def __init__(
        self,
        data_dir: Path,
        database_url: str | None = None,
        *,
        port: int | None = None,
        arguments: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self.data_dir = data_dir
        self.database_url = database_url
        self.port = free_port() if port is None else port
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self._arguments = arguments
        self._log = data_dir.with_name(f"{data_dir.name}.stderr")
        self._stdout = data_dir.with_name(f"{data_dir.name}.stdout")
        own: dict[str, Any] = {"log_level": "debug", "log_format": "json"} | settings | {"data_dir": data_dir}
        if database_url is not None:
            own["database_url"] = database_url
        self._environment = (
            clean_environment()
            | {f"HANDRAISE_{name.upper()}": str(value) for name, value in own.items()}
            | dict(environment or {})
        )

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- starting and ending

    def start(self) -> Self:
        """Start it and return once `GET /readyz` answers 200. Raises `AssertionError` with its log otherwise."""
        self.launch()
        self.until_ready()
        return self

    def launch(self) -> None:
        """Start it, without waiting."""
        self.data_dir.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log, self._stdout.open("wb") as stdout:
            self.process = subprocess.Popen(
                [*HANDRAISE, "serve", "--port", str(self.port), *self._arguments],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=log,
                start_new_session=True,
            )

    def until_ready(self, seconds: float = PATIENCE) -> None:
        """Returns once it serves and is ready. Raises `AssertionError` with its log."""

        def ready() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, f"the server ended with {self.process.returncode}:\n{self.log}"
            if self.port == 0 and not self._learn_url():
                return False
            try:
                return _POLLING.get(f"{self.url}/readyz", timeout=5).status_code == 200
            except httpx.TransportError:
                return False

        until(ready, "the server is ready", seconds, context=lambda: self.log)

    def terminate(self, number: signal.Signals = signal.SIGTERM, seconds: float = PATIENCE) -> int:
        """Ask it to stop, wait until it has; the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def kill(self) -> None:
        """Kill it as a crash would (SIGKILL), and wait until it is gone."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self) -> None:
        """Stop it if it runs: politely, then not."""
        if self.process is None or self.process.poll() is not None:
            return
        try:
            self.terminate(seconds=20)
        except subprocess.TimeoutExpired:
            self.kill()

    def restart(self, *, kill: bool = False) -> Self:
        """End it (`kill`: as a crash would) and start it on the same port, data directory and database."""
        if kill:
            self.kill()
        else:
            self.stop()
        return self.start()

    # -- looking at it

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def log(self) -> str:
        """All that it wrote to standard error since the first start, at level debug."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def output(self) -> str:
        """All that it printed on standard output since the last start."""
        return self._stdout.read_text(errors="replace") if self._stdout.exists() else ""

    @property
    def agent_key(self) -> str:
        """The key of agent `default`, from credentials.json."""
        return self._key("agent_key")

    @property
    def admin_key(self) -> str:
        """The key of user `admin`, from credentials.json."""
        return self._key("admin_key")

    def agent(self) -> httpx.Client:
        """A client with the agent's key; close it, or use it in a `with`."""
        return self.client(self.agent_key)

    def admin(self) -> httpx.Client:
        """A client with the administrator's key."""
        return self.client(self.admin_key)

    def client(self, key: str | None, *, timeout: float = 60.0) -> httpx.Client:
        """A client of this server with this key; `timeout` is in seconds."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, trust_env=False, timeout=timeout)

    def until_waiting(self, count: int = 1) -> None:
        """Returns once this many waits are registered in the server."""

        def waiting() -> bool:
            metrics = _POLLING.get(f"{self.url}/metrics", timeout=10).text
            found = [line for line in metrics.splitlines() if line.startswith("handraise_waiting ")]
            return bool(found) and float(found[0].split()[1]) >= count

        until(waiting, f"{count} waits are registered", context=lambda: self.log)

    def _key(self, name: str) -> str:
        credentials = read_credentials(self.data_dir)
        assert credentials is not None, "the server has not written credentials.json"
        key = getattr(credentials, name)
        assert key is not None, f"credentials.json holds no {name}"
        return key

    def _learn_url(self) -> bool:
        found = [word for word in self.output.split() if word.startswith("http://")]
        if found:
            self.url = found[0]
        return bool(found)


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str


class Command:
    """A `handraise` command that runs in the background; end it with `finish`, or `interrupt` it."""

    def __init__(
        self,
        *arguments: str,
        server: ServerProcess | None = None,
        input: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        environment = clean_environment()
        if server is not None:
            environment["HANDRAISE_DATA_DIR"] = str(server.data_dir)
        self._input = input
        self.process = subprocess.Popen(
            [*HANDRAISE, *arguments],
            cwd=ROOT,
            env=environment | dict(env or {}),
            stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )

    def finish(self, seconds: float = PATIENCE) -> Finished:
        """Wait until it ends by itself. Kills it and raises `TimeoutExpired` if it does not."""
        try:
            out, err = self.process.communicate(self._input, seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return Finished(self.process.returncode, out, err)

    def interrupt(self) -> Finished:
        """Press Ctrl-C, then wait until it ends."""
        self.process.send_signal(signal.SIGINT)
        return self.finish()

    def until_said(self, text: str) -> str:
        """Returns once it has written `text` on standard error: the line with it."""
        assert self.process.stderr is not None
        while line := self.process.stderr.readline():
            if text in line:
                return line
        raise AssertionError(f"it never said {text!r}")


def cli(
    *arguments: str,
    server: ServerProcess | None = None,
    input: str | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float = PATIENCE,
) -> Finished:
    """Run `handraise …` to its end. `server` lends its data directory; `env` is added to the environment.

    `input` is its standard input; without it there is none. Nothing is a terminal.
    """
    return Command(*arguments, server=server, input=input, env=env).finish(seconds)


def cli_here(
    *arguments: str,
    server: ServerProcess | None = None,
    input: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """As `cli`, but in this process: a tenth of the time, for commands that end by themselves.

    Only in synchronous tests: while it runs, this process has the command's environment and standard streams.
    """
    environment = clean_environment()
    if server is not None:
        environment["HANDRAISE_DATA_DIR"] = str(server.data_dir)
    logging_before = structlog.get_config(), logging.root.handlers[:], logging.root.level
    with (
        tempfile.TemporaryFile() as in_,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        mock.patch.dict(os.environ, environment | dict(env or {}), clear=True),
        mock.patch("sys.argv", ["handraise", *arguments]),
        mock.patch("sys.stdin", io.TextIOWrapper(in_, "utf-8")),
        mock.patch("sys.stdout", io.TextIOWrapper(out, "utf-8", write_through=True)),
        mock.patch("sys.stderr", io.TextIOWrapper(err, "utf-8", write_through=True)),
    ):
        in_.write((input or "").encode())
        in_.seek(0)
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        else:
            code = 0
        finally:
            structlog.configure(**logging_before[0])
            logging.root.handlers[:] = logging_before[1]
            logging.root.setLevel(logging_before[2])
        said = []
        for stream in (out, err):
            stream.seek(0)
            said.append(stream.read().decode())
    return Finished(code, said[0], said[1])


def clean_environment() -> dict[str, str]:
    """This process's environment without settings of Handraise, `uv` or proxies; output as UTF-8, uncoloured."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("HANDRAISE_") and name != "UV" and not name.upper().endswith("_PROXY")
    } | {"PYTHONIOENCODING": "utf-8", "NO_COLOR": "1", "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}


def free_port() -> int:
    """A port nobody listens on, outside the range from which outgoing connections take theirs."""
    while True:
        port = random.randint(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def until(
    condition: Callable[[], bool],
    what: str,
    seconds: float = PATIENCE,
    *,
    context: Callable[[], str] = lambda: "",
) -> None:
    """Returns once `condition` holds. Raises `AssertionError` saying `what` did not happen, with `context`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}\n{context()}")
        time.sleep(0.02)
