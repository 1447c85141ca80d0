"""The inline tables say nothing but what the log says: made anew from it, event by event, they are the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from domain.recorded import RecordedEvent
from interfaces.postgres.inline import changes
from tests.acceptance.test_ladder import carry_out
from tests.acceptance.test_routing_concurrency import read_log
from tests.support.channels import FakeChannel
from tests.support.postgres import TestServer
from tests.support.read_models import StoppedClock, log_of, rows, settled
from tests.support.service import Service, service

START = datetime(2026, 3, 2, 9, tzinfo=UTC)

TABLES = {
    "users": "SELECT * FROM users",
    "lists": "SELECT * FROM lists",
    "list_members": "SELECT * FROM list_members",
    "agents": "SELECT * FROM agents",
    "agent_types": "SELECT * FROM agent_types",
    "categories": "SELECT * FROM categories",
    "request_types": "SELECT * FROM request_types",
    "access_keys": "SELECT * FROM access_keys",
    "request_names": "SELECT * FROM request_names",
    "slack_configuration": "SELECT * FROM slack_configuration",
    "open_counts": "SELECT * FROM open_counts WHERE count <> 0",
    "slack_messages": "SELECT * FROM slack_messages",
    "webhooks": "SELECT * FROM webhooks",
    # That somebody left, a message is edited, or a webhook called, is worked off without an event of its own.
    "due_steps": "SELECT request_id, step, due_at FROM due_steps"
    " WHERE step NOT IN ('depart', 'update:slack') AND NOT starts_with(step, 'webhook:')",
}


async def tables(database: str) -> dict[str, list[str]]:
    """All rows of all inline tables, but for leases."""
    return {
        name: [row for (row,) in await rows(database, f"SELECT to_jsonb(t)::text FROM ({query}) AS t ORDER BY 1")]
        for name, query in TABLES.items()
    }


async def replay(handraise: Service, database: str, into: str) -> int:
    """Make the inline tables of another, empty database from the whole log; how many events that took."""
    aggregates: dict[UUID, Any] = {}
    log = await read_log(database, log_of(handraise))
    async with await psycopg.AsyncConnection.connect(into) as connection, connection.pipeline():
        for entry in log:
            event = entry.event
            assert isinstance(event, RecordedEvent)
            aggregate = aggregates[event.originator_id] = event.mutate(aggregates.get(event.originator_id))
            for bulk, row in sorted(changes([event], aggregate), key=lambda change: change[0].order):
                await connection.execute(bulk.sql.encode(), [[value] for value in row])
    return len(log)


class History:
    """All that can happen, at random, in an order that a seed decides."""

    def __init__(self, handraise: Service, clock: StoppedClock, chance: random.Random) -> None:
        self._handraise = handraise
        self._clock = clock
        self._chance = chance
        self._people: dict[str, httpx.AsyncClient] = {}
        self._agents: list[httpx.AsyncClient] = [handraise.agent]
        self._requests: list[tuple[str, httpx.AsyncClient]] = []
        self.done: Counter[str] = Counter()

    async def begin(self) -> None:
        """A small directory."""
        admin = self._handraise.admin
        for number in range(6):
            self._people[f"person-{number}"] = await self._handraise.person(f"person-{number}")
        for number in range(3):
            await self._ok(
                admin.post("/api/lists", json={"id": f"list-{number}", "name": "L", "members": self._some()})
            )
        await self._ok(admin.post("/api/categories", json={"id": "below", "name": "Below", "parent": "all"}))
        await self._ok(admin.post("/api/agent-types", json={"id": "kind", "name": "Kind"}))
        for number in range(2):
            agent = await self._handraise.another_agent(f"agent-{number}")
            fields = {"owner": self._one(), "category": "below", "agent_type": self._chance.choice(["kind", None])}
            await self._ok(admin.patch(f"/api/agents/agent-{number}", json=fields))
            self._agents.append(agent)

    async def go_on(self, steps: int) -> None:
        """So many things happen. What is refused is refused, but nothing fails."""
        acts: list[Callable[[], Awaitable[httpx.Response | None]]] = [
            *[self._ask] * 6,
            *[self._move] * 8,
            *[self._close] * 3,
            *[self._let_time_pass] * 3,
            self._change_person,
            self._change_list,
            self._change_level,
            self._change_agent,
            self._change_slack,
            self._change_webhook,
            self._remove,
        ]
        for _ in range(steps):
            act = self._chance.choice(acts)
            response = await act()
            if response is not None:
                assert response.status_code < 500, response.text
            self.done[act.__name__] += response is None or response.is_success
        assert all(self.done[act.__name__] for act in acts), self.done
        await carry_out(self._handraise)
        await settled(self._handraise)

    # -- what can happen

    async def _ask(self) -> httpx.Response:
        choice, strategy = self._chance.choice, None
        if self._chance.random() < 0.9:
            strategy = self._strategy() | {"remindMinutes": choice([None, 20])}
            if self._chance.random() < 0.5:
                strategy["escalation"] = [
                    {"afterMinutes": choice([15, 40]), "to": self._strategy(), "notifyOnly": choice([True, False])}
                    for _ in range(choice([1, 3]))
                ]
        body = {
            "message": "May I?",
            "assignment_strategy": strategy,
            "request_type": choice(["clarification", "approval", "review"]),
            "run_user": choice([None, self._one()]),
            "expires_in_seconds": choice([None, 1800, 7200]),
            "secret": self._chance.random() < 0.2,
        }
        agent = choice(self._agents)
        response = await agent.post("/api/requests", json={k: v for k, v in body.items() if v is not None})
        if response.is_success:
            self._requests.append((response.json()["id"], agent))
        return response

    async def _move(self) -> httpx.Response | None:
        return await self._on_a_request(
            self._chance.choice(["claim", "claim", "release", "delegate", "reassign", "snooze", "wake"])
        )

    async def _close(self) -> httpx.Response | None:
        return await self._on_a_request(self._chance.choice(["respond", "cancel"]))

    async def _on_a_request(self, action: str) -> httpx.Response | None:
        if not self._requests:
            return None
        id, agent = self._chance.choice(self._requests[-25:])
        request = (await agent.get(f"/api/requests/{id}")).json()
        assignee = self._people.get(request["assigned_to"] or "", self._handraise.admin)
        by = self._chance.choice([assignee, assignee, *self._people.values(), self._handraise.admin])
        match action:
            case "delegate":
                body: dict[str, Any] = {"to": self._one()}
            case "reassign":
                by = self._handraise.admin
                body = self._chance.choice([{"to": self._one()}, {"list": f"list-{self._chance.randrange(3)}"}, {}])
            case "snooze":
                body = {"seconds": self._chance.choice([60, 1200])}
            case "wake":
                return await by.delete(f"/api/requests/{id}/snooze")
            case "respond":
                body = {"text": "yes"}
            case _:
                body = {}
        response = await by.post(f"/api/requests/{id}/{action}", json=body)
        if action == "respond" and response.is_success and request["secret"] and self._chance.random() < 0.5:
            for step in ("collect", "acknowledge"):
                await self._ok(agent.post(f"/api/requests/{id}/{step}", json={"receipt": "my receipt"}))
        return response

    async def _let_time_pass(self) -> None:
        """Stopping at nothing on the way, so that sometimes more is due at once."""
        self._clock.at += timedelta(minutes=self._chance.choice([1, 5, 17]), milliseconds=self._chance.randrange(1000))
        await carry_out(self._handraise)

    async def _change_person(self) -> httpx.Response:
        change = self._chance.choice(
            [
                {"active": False},
                {"active": True},
                {"role": "auditor"},
                {"role": "member"},
                {"name": "Other", "email": f"{self._chance.random()}@example.org", "time_zone": "Europe/Berlin"},
                {"out_of_office": {"from": "2026-03-01", "to": "2026-03-09", "stand_in": self._one()}},
                {"out_of_office": None},
            ]
        )
        return await self._handraise.admin.patch(f"/api/users/{self._one()}", json=change)

    async def _change_list(self) -> httpx.Response:
        path = f"/api/lists/list-{self._chance.randrange(3)}"
        return await self._handraise.admin.patch(path, json={"members": self._some()})

    async def _change_level(self) -> httpx.Response:
        path, field = self._chance.choice(
            [
                ("agent-types/kind", "assignment_strategy"),
                ("categories/below", "assignment_strategy"),
                ("categories/all", "assignment_strategy"),
                ("request-types/review", "default_assignment_strategy"),
            ]
        )
        strategy = self._chance.choice([None, self._strategy()])
        return await self._handraise.admin.patch(f"/api/{path}", json={field: strategy})

    async def _change_agent(self) -> httpx.Response:
        fields = {"owner": self._chance.choice([None, self._one()]), "agent_type": self._chance.choice([None, "kind"])}
        return await self._handraise.admin.patch(f"/api/agents/agent-{self._chance.randrange(2)}", json=fields)

    async def _remove(self) -> httpx.Response:
        """Now and then for good: a person, or something made for it."""
        admin = self._handraise.admin
        if self._chance.random() < 0.3 and len(self._people) > 3:
            id = self._one()
            response = await admin.delete(f"/api/users/{id}")
            if response.is_success:
                del self._people[id]
            return response
        kind = self._chance.choice(["lists", "categories", "agent-types", "request-types", "agents"])
        id = f"gone-{self._clock.at.timestamp():.0f}-{self._chance.randrange(10**9)}"
        await self._ok(admin.post(f"/api/{kind}", json={"id": id, "name": id}))
        return await admin.delete(f"/api/{kind}/{id}")

    async def _change_slack(self) -> httpx.Response:
        fields: dict[str, Any] = {"notification_delay_seconds": self._chance.randrange(1000)}
        fields |= self._chance.choice([{}, {"channel_id": "C0123456789"}, {"bot_token": "xoxb-1"}, {"bot_token": None}])
        return await self._handraise.admin.post("/api/human-feedback/slack/config", json=fields)

    async def _change_webhook(self) -> httpx.Response:
        """Nobody listens there. Removed more often than set it would hardly ever be there."""
        path = f"/api/agents/agent-{self._chance.randrange(2)}/webhook"
        match self._chance.choice(["set", "set", "set", "rotate", "remove"]):
            case "set":
                enabled = self._chance.random() < 0.8
                url = f"https://127.0.0.1:9/{self._chance.randrange(3)}"
                return await self._handraise.admin.put(path, json={"url": url, "enabled": enabled})
            case "rotate":
                return await self._handraise.admin.post(f"{path}/rotate")
            case _:
                return await self._handraise.admin.delete(path)

    # -- by chance

    def _one(self) -> str:
        return self._chance.choice(sorted(self._people))

    def _some(self) -> list[str]:
        return self._chance.sample(sorted(self._people), self._chance.randrange(1, len(self._people)))

    def _strategy(self) -> dict[str, Any]:
        list_id, choice = f"list-{self._chance.randrange(3)}", self._chance.choice
        return choice(
            [
                {"type": "RunUser"},
                {"type": "AgentOwner"},
                {"type": "SpecificUser", "userID": self._one()},
                {"type": "SharedInbox", "listID": list_id},
                {"type": "List", "listID": list_id, "listStrategy": choice(["RoundRobin", "LeastBusy", "Random"])},
                {"type": "List", "listID": list_id, "listStrategy": "RoundRobin", "priority": 10},
            ]
        )

    async def _ok(self, request: Awaitable[httpx.Response]) -> None:
        response = await request
        assert response.is_success, response.text


@pytest.mark.parametrize("seed", range(4))
async def test_the_inline_tables_equal_a_rebuild(
    database: str, postgres: TestServer, template: str, tmp_path: Path, seed: int
) -> None:
    """After a long random history, over HTTP, of everything that changes them."""
    clock, chance = StoppedClock(START), random.Random(seed)
    anew = await postgres.create_database(template)
    try:
        async with service(
            *(database, tmp_path / "data"),
            clock=clock,
            chance=chance,
            channels=[FakeChannel(), FakeChannel("mail")],
            webhook_allow_private=True,
        ) as handraise:
            await handraise.app.scheduler.stop()
            history = History(handraise, clock, chance)
            await history.begin()
            await history.go_on(150)
            kept = await tables(database)
            assert await replay(handraise, database, anew) > 150
        assert all(kept[name] for name in TABLES), {name: len(kept[name]) for name in TABLES}
        made = await tables(anew)
        for name in TABLES:
            assert made[name] == kept[name], name
    finally:
        await postgres.drop_database(anew)
