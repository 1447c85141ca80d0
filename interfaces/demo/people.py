"""Who is there: sample people, their lists, three agents, and a key for each that nobody but this process knows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

from handraise import AsyncClient

from interfaces.demo.agent import Agent, Pace

AGENTS: Mapping[str, str] = {
    "operations-bot": "Operations bot",
    "import-bot": "Import bot",
    "support-writer": "Support writer",
}
WHO_ANSWER = ("alice", "bob", "chika", "diego")
"""The sample people who answer by themselves; Emi is away, and Ines only looks."""


def directory(today: date) -> dict[str, Any]:
    """The whole company, as `PUT /api/directory` takes it. The newcomer is `admin`."""
    return {
        "users": [
            _person("alice", "Alice Moreau", "Europe/Paris", quiet_hours={"from": "22:00", "to": "07:00"}),
            _person("bob", "Bob Lindqvist", "Europe/Stockholm"),
            _person("chika", "Chika Okafor", "Africa/Lagos"),
            _person("diego", "Diego Ramos", "America/Mexico_City"),
            _person(
                "emi",
                "Emi Tanaka",
                "Asia/Tokyo",
                # From yesterday, since it is another day in Tokyo.
                out_of_office={
                    "from": (today - timedelta(days=1)).isoformat(),
                    "to": (today + timedelta(days=13)).isoformat(),
                    "stand_in": "bob",
                },
            ),
            _person("ines", "Ines Duarte", "Europe/Lisbon", role="auditor"),
        ],
        "lists": [
            {"id": "oncall", "name": "On call", "members": ["admin", "alice", "bob"]},
            {"id": "customer-care", "name": "Customer care", "members": ["admin", "chika", "diego", "emi"]},
            {"id": "finance", "name": "Finance", "members": ["chika", "diego"]},
            {"id": "engineers", "name": "Engineers", "members": ["alice", "bob", "emi"]},
        ],
        "agent_types": [
            {"id": "operations", "name": "Operations", "assignment_strategy": {"type": "AgentOwner"}},
        ],
        "categories": [
            {
                "id": "customers",
                "name": "Customers",
                "parent": "all",
                "assignment_strategy": {"type": "List", "listID": "customer-care", "listStrategy": "RoundRobin"},
            },
            {"id": "data", "name": "Data", "parent": "all"},
        ],
        "agents": [
            {"id": "operations-bot", "name": AGENTS["operations-bot"], "owner": "admin", "agent_type": "operations"},
            {"id": "import-bot", "name": AGENTS["import-bot"], "owner": "bob", "category": "data"},
            {"id": "support-writer", "name": AGENTS["support-writer"], "owner": "chika", "category": "customers"},
        ],
    }


@asynccontextmanager
async def company(
    url: str, admin_key: str, pace: Pace, print_line: Callable[[str], None]
) -> AsyncIterator[Mapping[str, Agent]]:
    """The agents, by id, in a directory that has just been filled. Raises `HandraiseError`."""
    async with AsyncExitStack() as stack:
        admin = await stack.enter_async_context(AsyncClient(url, admin_key))
        await admin.import_directory(directory(datetime.now(UTC).date()))

        async def client(**owner: str) -> AsyncClient:
            made = await admin.create_key("demo", **owner)
            return await stack.enter_async_context(AsyncClient(url, made["key"]))

        people = {id: await client(user=id) for id in WHO_ANSWER}
        yield {id: Agent(name, await client(agent=id), pace, people, print_line) for id, name in AGENTS.items()}


def _person(id: str, name: str, time_zone: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "email": f"{id}@example.com", "time_zone": time_zone} | more
