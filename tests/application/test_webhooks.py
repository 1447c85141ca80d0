"""Reports take turns: a receiver that hangs holds up its own agent's only, and none waits beyond its lease."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from application import webhooks
from application.ports import Clock, DueStep, DueSteps, EventStore
from application.webhooks import Answered, Attempt, Reports, StoredWebhooks, WebhookEntry, step_of
from domain.answers import Question
from domain.assignment import fall_back
from domain.callers import AgentCaller
from domain.request import Request

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


class World:
    """Closed requests of agents whose receivers answer when they are let."""

    def __init__(self) -> None:
        self.requests: dict[UUID, Request] = {}
        self.recorded: list[Attempt] = []
        self.loaded = 0
        self.under_way: dict[str, int] = {}
        self.hanging: set[str] = set()
        self.let_go = asyncio.Event()
        self.reports = Reports(
            cast(EventStore, self),
            cast(StoredWebhooks, self),
            cast(DueSteps, self),
            self._shown,
            self._send,
            cast(Clock, self),
            lambda outcome: None,
        )

    def due(self, agent: UUID) -> DueStep:
        """The report of a fresh closed request."""
        by = AgentCaller(agent, None)
        request = Request.ask(
            by=by,
            now=NOW,
            unique_id=str(uuid4()),
            question=Question("clarification"),
            sealed=False,
            message="May I?",
            decision=fall_back(None),
            priority=50,
        )
        request.cancel(by=by, now=NOW)
        self.requests[request.id] = request
        return DueStep(request.id, step_of(agent), NOW)

    def now(self) -> datetime:
        return NOW

    async def request(self, id: UUID) -> Request:
        self.loaded += 1
        return self.requests[id]

    async def of_agent(self, agent_id: UUID) -> WebhookEntry:
        return WebhookEntry(agent_id, str(agent_id), True, NOW, NOW, ["whsec_"], None)

    async def attempts(self, request_id: UUID) -> int:
        return 0

    async def record(self, attempt: Attempt, step: DueStep) -> None:
        self.recorded.append(attempt)

    async def _shown(self, request: Request) -> Mapping[str, Any]:
        return {}

    async def _send(self, url: str, secrets: Sequence[str], id: str, body: bytes) -> Answered:
        self.under_way[url] = self.under_way.get(url, 0) + 1
        if url in self.hanging:
            await self.let_go.wait()
        return Answered(204, None, timedelta(0))


async def test_a_receiver_that_hangs_keeps_no_other_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has so many places and no more; what waits for one is not even read, and is left to its next lease."""
    monkeypatch.setattr(webhooks, "_BEGUN_WITHIN_SECONDS", 0.05)
    world, hanging, other = World(), uuid4(), uuid4()
    world.hanging.add(str(hanging))
    stuck = [asyncio.create_task(world.reports.make(world.due(hanging), NOW)) for _ in range(30)]
    await asyncio.sleep(0)
    assert all(await asyncio.gather(*(world.reports.make(world.due(other), NOW) for _ in range(30))))
    assert len(world.recorded) == 30
    await asyncio.wait(stuck, timeout=0.5)
    assert (world.under_way[str(hanging)], world.loaded) == (8, 38)
    assert sum(task.done() for task in stuck) == 22
    world.let_go.set()
    assert all(await asyncio.gather(*stuck))
    assert len(world.recorded) == 38


async def test_a_call_may_take_longer_than_its_turn_was_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the waiting is bounded here; the call is by whoever makes it."""
    monkeypatch.setattr(webhooks, "_BEGUN_WITHIN_SECONDS", 0.05)
    world, agent = World(), uuid4()
    world.hanging.add(str(agent))
    making = asyncio.create_task(world.reports.make(world.due(agent), NOW))
    await asyncio.sleep(0.2)
    assert not making.done()
    world.let_go.set()
    assert await making
    assert [attempt.outcome for attempt in world.recorded] == ["delivered"]
