"""Two servers on one Postgres, each over a line of its own, with a Slack beside them; and what can befall them."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import random
import secrets
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import psutil

from interfaces.postgres.embedded import EmbeddedPostgres
from tests.chaos.line import Line
from tests.support.processes import ServerProcess
from tests.support.slack import APP_TOKEN, BOT_TOKEN, CHANNEL, FakeSlack, Message, User, fake_slack

PATIENCE = 120.0
"""Seconds after which something that should have come right again counts as broken."""

_NO_DISK = {"fsync": "off", "full_page_writes": "off"}
"""A process that is killed loses nothing that it wrote; only a machine does."""


class Cluster:
    """The servers, and everything below and beside them."""

    def __init__(self, postgres: EmbeddedPostgres, lines: list[Line], slack: FakeSlack, folder: Path) -> None:
        self.postgres = postgres
        self.lines = lines
        self.slack = slack
        self.alice: User
        self.keys: dict[str, str] = {}
        self.secret_key = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
        self.servers = [
            ServerProcess(
                folder / f"server-{number}" / "data",
                line.conninfo,
                secret_key=self.secret_key,
                slack_api_url=slack.url,
                log_level="info",
                stop_seconds=3,
            )
            for number, line in enumerate(lines)
        ]
        self._away: set[ServerProcess] = set()
        """Servers that are down on purpose, for a while."""

        self._http = [
            httpx.AsyncClient(
                base_url=server.url,
                timeout=20,
                trust_env=False,
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=10),
            )
            for server in self.servers
        ]

    async def call(self, method: str, path: str, who: str, chance: random.Random, **more: object) -> httpx.Response:
        """The reply of either server, after as many attempts as it takes. Raises `AssertionError` where none comes."""
        said = "nothing was tried"
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    try:
                        reply = await chance.choice(self._http).request(
                            method, path, headers={"Authorization": f"Bearer {self.keys[who]}"}, **more
                        )
                        assert reply.status_code != 500, f"{method} {path} by {who}: 500"
                        if reply.status_code != 503:
                            return reply
                        said = reply.text
                    except httpx.TransportError as error:
                        said = repr(error)
                    await asyncio.sleep(0.1 + chance.random() / 5)
        except TimeoutError:
            raise AssertionError(f"{method} {path} never had a reply; the last one: {said}") from None

    async def ready(self) -> None:
        """Returns once both servers are, and both hear Slack."""
        async with asyncio.timeout(PATIENCE):
            for server in self.servers:
                while not await self._is_ready(server):
                    await asyncio.sleep(0.1)
        await self.slack.connected(len(self.servers))

    async def _is_ready(self, server: ServerProcess) -> bool:
        try:
            return (await self._http[self.servers.index(server)].get("/readyz")).status_code == 200
        except httpx.TransportError:
            return False

    def messages_about(self, unique_id: str) -> list[Message]:
        """What stands in Slack of this request, whose message is its name."""
        return [message for message in self.slack.messages if unique_id in message.text.split()]

    async def metric(self, number: int, name: str) -> float:
        """A gauge of one server."""
        text = (await self._http[number].get("/metrics")).text
        (line,) = [line for line in text.splitlines() if line.startswith(f"{name} ")]
        return float(line.split()[1])

    async def close(self) -> None:
        """Stop the servers; each must end by itself, with exit code 0."""
        self._away.update(self.servers)
        codes = await asyncio.gather(*(asyncio.to_thread(server.terminate) for server in self.servers))
        assert codes == [0] * len(codes), [server.log[-3000:] for server in self.servers]

    async def supervise(self) -> None:
        """Start every server again that has ended, as a supervisor does: one ends by itself where it starts while its
        database is away."""
        while True:
            for server in self.servers:
                if not server.running and server not in self._away:
                    server.launch()
            await asyncio.sleep(0.5)

    # -- what can befall it

    async def kill_server(self, chance: random.Random) -> None:
        """SIGKILL, and started again after a while."""
        server = chance.choice(self.servers)
        self._away.add(server)
        server.kill()
        await asyncio.sleep(chance.random())
        server.launch()
        self._away.discard(server)

    async def stop_server(self, chance: random.Random) -> None:
        """SIGTERM, as a rolling upgrade does, and started again."""
        server = chance.choice(self.servers)
        # 1 where the time to stop in good order was over, since the database was away; -15 where it had hardly begun.
        self._away.add(server)
        assert await asyncio.to_thread(server.terminate) in (0, 1, -signal.SIGTERM), server.log[-3000:]
        server.launch()
        self._away.discard(server)

    async def freeze_server(self, chance: random.Random) -> None:
        """SIGSTOP for a while, so that it acts on what it knew before."""
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended, and is being started
            process = psutil.Process(chance.choice(self.servers).pid)
            process.suspend()
            await asyncio.sleep(0.5 + 2.5 * chance.random())
            process.resume()

    async def kill_postgres(self, chance: random.Random) -> None:
        """SIGKILL of the database."""
        await self._end_postgres(signal.SIGKILL)

    async def restart_postgres(self, chance: random.Random) -> None:
        """A fast shutdown, as an administrator restarts it."""
        await self._end_postgres(signal.SIGINT)

    async def cut_line(self, chance: random.Random) -> None:
        """One server loses every connection to the database, and gets no new one for a while."""
        line = chance.choice(self.lines)
        line.cut()
        await asyncio.sleep(0.2 + 2 * chance.random())
        line.mend()

    async def hold_line(self, chance: random.Random) -> None:
        """Nothing goes to and fro between one server and the database for a while."""
        line = chance.choice(self.lines)
        line.hold()
        await asyncio.sleep(0.5 + 3 * chance.random())
        if chance.random() < 0.5:
            line.cut()
        line.mend()

    async def cut_slack(self, chance: random.Random) -> None:
        """All sockets of Slack end without a word."""
        self.slack.cut()

    @property
    def faults(self) -> list[Callable[[random.Random], Awaitable[None]]]:
        """All of them."""
        return [
            self.kill_server, self.kill_server, self.stop_server, self.freeze_server, self.kill_postgres,
            self.restart_postgres, self.cut_line, self.hold_line, self.cut_slack,
        ]  # fmt: skip

    async def _end_postgres(self, number: signal.Signals) -> None:
        pid, restarts = self.postgres.pid, self.postgres.restarts
        if pid is None:
            return  # it is being started
        os.kill(pid, number)
        async with asyncio.timeout(PATIENCE):
            while self.postgres.restarts == restarts:
                await asyncio.sleep(0.05)


@asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    """Both servers running, with Alice, Bob, their list `oncall`, and Slack set up to tell at once."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="handraise-chaos-")))
        postgres = await stack.enter_async_context(EmbeddedPostgres(folder / "postgres", settings=_NO_DISK))
        slack = await stack.enter_async_context(fake_slack())
        lines = [
            await stack.enter_async_context(Line(folder / f"line-{number}", postgres.conninfo)) for number in range(2)
        ]
        made = Cluster(postgres, lines, slack, folder)
        for server in made.servers:
            stack.callback(server.stop)
            await asyncio.to_thread(server.start)
        await _people(made)
        await made.ready()
        supervisor = asyncio.create_task(made.supervise())
        stack.callback(supervisor.cancel)
        try:
            yield made
        except BaseException as error:
            for server in made.servers:
                error.add_note("\n".join([f"{server.url} said:", *_complaints(server)[-40:]]))
            raise


def _complaints(server: ServerProcess) -> list[str]:
    """What it logged that is more than news."""
    return [line[:4000] for line in server.log.splitlines() if '"level":"info"' not in line.replace(" ", "")]


async def _people(made: Cluster) -> None:
    chance = random.Random()
    made.keys |= {"admin": made.servers[0].admin_key, "agent": made.servers[0].agent_key}

    async def add(path: str, **body: object) -> httpx.Response:
        reply = await made.call("POST", path, "admin", chance, json=body)
        assert reply.status_code in (200, 201), reply.text
        return reply

    for name in ("alice", "bob"):
        await add("/api/users", id=name, name=name.title(), email=f"{name}@e.test")
        made.keys[name] = (await add("/api/keys", name=name, user=name)).json()["key"]
    await add("/api/lists", id="oncall", name="On call", members=["alice", "bob"])
    made.alice = made.slack.user("alice", email="alice@e.test")
    await add(
        "/api/human-feedback/slack/config",
        enabled=True,
        channel_id=CHANNEL,
        bot_token=BOT_TOKEN,
        app_token=APP_TOKEN,
        notification_delay_seconds=0,
    )
