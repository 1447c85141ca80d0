"""A whole Handraise in the test's own process: the real application over ASGI, on a real Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from argon2 import PasswordHasher

from application.notices import Channel
from domain.callers import Role
from domain.routing import Chance
from interfaces.app import App, running
from interfaces.bootstrap import ensure_credentials
from interfaces.credentials import read_credentials
from interfaces.passwords import Argon2Passwords
from interfaces.postgres.clock import DatabaseClock
from interfaces.settings import Settings

CHEAP = Argon2Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
"""The same hash, made with the least effort."""


class Service:
    """The application and an HTTP client for each kind of caller; `agent` and `admin` are there from the start."""

    def __init__(self, app: App, settings: Settings, stack: AsyncExitStack) -> None:
        self.app = app
        self.settings = settings
        self._stack = stack
        self.agent: httpx.AsyncClient
        self.admin: httpx.AsyncClient
        self.nobody: httpx.AsyncClient

    async def client(self, key: str | None) -> httpx.AsyncClient:
        """A client that sends this key; over ASGI, so a failure inside the server is a 500 here, not an exception."""
        return await self._stack.enter_async_context(
            httpx.AsyncClient(
                transport=httpx.ASGITransport(self.app.api, raise_app_exceptions=False),
                base_url="http://handraise.test",
                headers={"Authorization": f"Bearer {key}"} if key else {},
                timeout=30,
            )
        )

    async def person(self, id: str, role: Role = Role.MEMBER) -> httpx.AsyncClient:
        """A new person's client."""
        await self.app.directory.add("user", {"name": id.title(), "role": role}, by=None, id=id)
        key = await self.app.keys.create(by=None, name=f"{id} key", user=id)
        return await self.client(key.key)

    async def another_agent(self, id: str, **key: Any) -> httpx.AsyncClient:
        """A new agent's client; `key` goes to `Keys.create` (`run_user`, `expires_at`)."""
        await self.app.directory.add("agent", {"name": id.title()}, by=None, id=id)
        created = await self.app.keys.create(by=None, name=f"{id} key", agent=id, **key)
        return await self.client(created.key)

    async def ask(self, **body: Any) -> dict[str, Any]:
        """A request of the default agent, created; as JSON."""
        response = await self.agent.post("/api/requests", json={"message": "May I?"} | body)
        assert response.status_code == 201, response.text
        return response.json()

    async def waiting(self, count: int = 1) -> None:
        """Returns once this many waits are registered."""
        while len(self.app.waits) < count:
            await asyncio.sleep(0.005)


@asynccontextmanager
async def service(
    conninfo: str,
    data_dir: Path,
    *,
    clock: DatabaseClock | None = None,
    chance: Chance | None = None,
    channels: Sequence[Channel] = (),
    **settings: Any,
) -> AsyncIterator[Service]:
    """A running service on this database. Two of them on one database are two replicas. `chance` picks from lists."""
    defaults = {"allowed_hosts": "handraise.test", "slack_api_url": "http://127.0.0.1:9/api/"}  # nobody listens there
    configured = Settings(data_dir=data_dir, database_url=conninfo, **defaults | settings)
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(running(configured, clock, chance, channels, CHEAP))
        await ensure_credentials(app.directory, app.keys, configured, admin_key=True)
        credentials = read_credentials(data_dir)
        assert credentials is not None
        made = Service(app, configured, stack)
        made.agent = await made.client(credentials.agent_key)
        made.admin = await made.client(credentials.admin_key)
        made.nobody = await made.client(None)
        yield made
