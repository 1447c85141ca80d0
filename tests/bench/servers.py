"""The two servers as processes, behind one face: what is sent to create, to wait and to answer."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import psutil

from application.requests import Ask
from domain.callers import AgentCaller
from interfaces.app import running
from interfaces.bootstrap import ensure_credentials
from interfaces.credentials import Credentials, read_credentials
from interfaces.settings import Settings
from tests.bench.database import Databases
from tests.bench.load import BadResponse, ask, build

BODY = {
    "message": "Deploy build 2041 to production?",
    "request_type": "approval",
    "expires_in_seconds": 3600,
    "metadata": {"build": 2041, "branch": "main"},
}
ANSWER = {"data": {"approved": True}}
LONGEST_WAIT = 600
START_SECONDS = 60.0


class Server(Protocol):
    """A server under load."""

    @property
    def port(self) -> int: ...

    def create(self) -> bytes:
        """A request that makes something new; its response has status 201."""
        ...

    def wait(self, id: str) -> bytes:
        """A request whose response comes once `id` was answered."""
        ...

    def answer(self, id: str) -> bytes:
        """A request that answers `id`; its response has status 200."""
        ...

    async def waiting(self) -> int:
        """How many waits the server knows of."""
        ...

    async def open_ids(self, count: int) -> list[str]:
        """Ids that can be waited for and answered."""
        ...


class MinimalServer:
    """`minimal_server` on a database of its own."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._create = build("POST", "/create", BODY)

    def create(self) -> bytes:
        return self._create

    def wait(self, id: str) -> bytes:
        return build("GET", f"/wait/{id}")

    def answer(self, id: str) -> bytes:
        return build("POST", f"/answer/{id}", ANSWER)

    async def waiting(self) -> int:
        return (await ask(self.port, build("GET", "/waiting"))).json()

    async def open_ids(self, count: int) -> list[str]:
        return [str(uuid4()) for _ in range(count)]


class OurServer:
    """Handraise on a database of its own. `ids` are open requests of the default agent."""

    def __init__(self, port: int, pid: int, conninfo: str, credentials: Credentials, ids: list[str]) -> None:
        self.port = port
        self.conninfo = conninfo
        self.agent_key = credentials.agent_key
        self._process = psutil.Process(pid)
        self.admin_key = credentials.admin_key
        self._ids = ids
        self._create = self.create_of(BODY)

    @property
    def rss(self) -> int:
        """Resident memory of the process, bytes."""
        return self._process.memory_info().rss

    def create(self) -> bytes:
        return self._create

    def create_of(self, body: dict[str, Any]) -> bytes:
        """A request that asks this."""
        return build("POST", "/api/requests", body, self.agent_key)

    def read(self, id: str) -> bytes:
        """A request that reads `id`."""
        return build("GET", f"/api/requests/{id}", key=self.agent_key)

    def wait(self, id: str) -> bytes:
        return build("GET", f"/api/requests/{id}/wait?timeout_seconds={LONGEST_WAIT}", key=self.agent_key)

    def answer(self, id: str) -> bytes:
        return build("POST", f"/api/requests/{id}/respond", ANSWER, self.admin_key)

    async def waiting(self) -> int:
        metrics = (await ask(self.port, build("GET", "/metrics"))).body
        found = re.search(rb"^handraise_waiting (\S+)$", metrics, re.MULTILINE)
        if found is None:
            raise BadResponse("no handraise_waiting in /metrics")
        return int(float(found[1]))

    async def open_ids(self, count: int) -> list[str]:
        if count > len(self._ids):
            raise RuntimeError(f"{count} open requests wanted, {len(self._ids)} are left")
        taken, self._ids = self._ids[:count], self._ids[count:]
        return taken


@asynccontextmanager
async def minimal_server(databases: Databases) -> AsyncIterator[MinimalServer]:
    """Start `minimal_server`."""
    port = free_port()
    async with process("tests.bench.minimal_server", [await databases.new(), str(port)], {}, port, "/waiting"):
        yield MinimalServer(port)


@dataclass(frozen=True, slots=True)
class PreparedServer:
    """A database and a folder on which Handraise can be started, again and again."""

    settings: Settings
    credentials: Credentials
    ids: list[str]
    """Open requests of the default agent."""

    @asynccontextmanager
    async def start(self) -> AsyncIterator[OurServer]:
        """A fresh process, ready; killed on the way out."""
        settings = self.settings
        assert settings.database_url is not None
        environment = {
            "HANDRAISE_DATA_DIR": str(settings.data_dir),
            "HANDRAISE_DATABASE_URL": settings.database_url,
            "HANDRAISE_PORT": str(settings.port),
            "HANDRAISE_LOG_LEVEL": "warning",
        }
        async with process("tests.bench.our_server", [], environment, settings.port, "/readyz") as pid:
            yield OurServer(settings.port, pid, settings.database_url, self.credentials, list(self.ids))


async def prepared_server(databases: Databases, open_requests: int = 0) -> PreparedServer:
    """A database that holds `open_requests`."""
    settings = Settings(data_dir=databases.new_folder(), database_url=await databases.new(), port=free_port())
    credentials, ids = await _fill(settings, open_requests)
    return PreparedServer(settings, credentials, ids)


@asynccontextmanager
async def our_server(databases: Databases, open_requests: int = 0) -> AsyncIterator[OurServer]:
    """Start Handraise on a database that holds `open_requests` already; the process itself is fresh."""
    prepared = await prepared_server(databases, open_requests)
    async with prepared.start() as server:
        yield server


async def _fill(settings: Settings, open_requests: int) -> tuple[Credentials, list[str]]:
    """Keys, and the ids of so many open requests."""
    async with running(settings) as app:
        await ensure_credentials(app.directory, app.keys, settings, admin_key=True)
        credentials = read_credentials(settings.data_dir)
        assert credentials is not None
        assert credentials.agent_key is not None
        agent = await app.keys.authenticate(credentials.agent_key)
        assert isinstance(agent, AgentCaller)
        lifetime = timedelta(seconds=BODY["expires_in_seconds"])
        question = Ask(BODY["message"], request_type="approval", expires_in=lifetime, metadata=BODY["metadata"])
        ids: list[str] = []
        while len(ids) < open_requests:
            some = min(500, open_requests - len(ids))
            asked = await asyncio.gather(*(app.requests.ask(question, agent) for _ in range(some)))
            ids += [str(request.id) for request, _ in asked]
    return credentials, ids


def free_port() -> int:
    """A TCP port that nobody listens on just now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@asynccontextmanager
async def process(
    module: str, arguments: list[str], environment: dict[str, str], port: int, ready: str
) -> AsyncIterator[int]:
    """A Python module as a process that answers 200 at `ready` from now on: its pid. Killed on the way out."""
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            while not await _answers(port, ready):
                if started.returncode is not None:
                    raise RuntimeError(f"{module} ended with {started.returncode} before it was ready")
                await asyncio.sleep(0.05)
        yield started.pid
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


async def _answers(port: int, path: str) -> bool:
    try:
        return (await ask(port, build("GET", path))).status == 200
    except (OSError, BadResponse):
        return False
