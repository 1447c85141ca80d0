"""What agents and people do meanwhile, each seeing it through; and what each of them was told was done."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from handraise import AsyncClient, Cancelled, Expired

from tests.chaos.cluster import PATIENCE, Cluster
from tests.support.slack import Message

CODE = "012345"


@dataclass(slots=True)
class Done:
    """One request, and what servers said about it."""

    kind: str
    unique_id: str
    ended: str = ""
    """`Responded`, `Cancelled` or `Expired`: what the agent that asked was told."""

    text: str | None = None
    by: str | None = None
    written: list[dict[str, Any]] = field(default_factory=list)
    """The requests as they stood after writes that were accepted."""


class Load:
    """One round of it."""

    def __init__(self, cluster: Cluster, name: str, chance: random.Random) -> None:
        self._cluster = cluster
        self._name = name
        self._chance = chance
        self.done: list[Done] = []

    async def run(self, agents: dict[int, AsyncClient], count: int) -> None:
        """So many requests of all kinds, begun within a second and a half; returns when each has come to its end."""
        kinds: list[Callable[[Done, AsyncClient], Awaitable[None]]] = [
            self._answered, self._contested, self._cancelled, self._expiring, self._shared, self._secret,
            self._escalated, self._in_slack,
        ]  # fmt: skip

        async def one(number: int) -> None:
            await asyncio.sleep(1.5 * self._chance.random())
            kind = kinds[number % len(kinds)]
            done = Done(kind.__name__, f"{self._name}-{number}")
            try:
                async with asyncio.timeout(2 * PATIENCE):
                    await kind(done, agents[number % len(agents)])
            except Exception as error:
                error.add_note(f"{done}")
                raise
            self.done.append(done)

        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(one(number))

    # -- kinds

    async def _answered(self, done: Done, agent: AsyncClient) -> None:
        """The same answer twice at once, as from an impatient person."""
        async with self._asked(done, agent, assignment_strategy=_to("alice")):
            replies = await asyncio.gather(*(self._respond(done, "alice", done.unique_id) for _ in range(2)))
            assert replies == [200, 200]

    async def _contested(self, done: Done, agent: AsyncClient) -> None:
        """Two people answer at once: one of them is told that the other was first."""
        async with self._asked(done, agent, assignment_strategy=_to("alice")):
            replies = await asyncio.gather(*(self._respond(done, who, f"{who} says") for who in ("alice", "admin")))
            assert sorted(replies) == [200, 409], replies

    async def _cancelled(self, done: Done, agent: AsyncClient) -> None:
        """The agent changes its mind while somebody answers."""
        async with self._asked(done, agent, assignment_strategy=_to("bob")):
            answered, cancelled = await asyncio.gather(
                self._respond(done, "bob", "too late?"), self._write(done, "agent", "cancel", {"reason": "not needed"})
            )
            assert sorted((answered, cancelled)) == [200, 409], (answered, cancelled)

    async def _expiring(self, done: Done, agent: AsyncClient) -> None:
        """Nobody answers, or somebody does about when it expires."""
        seconds = 0.3 + 2 * self._chance.random()
        late = self._chance.random() < 0.5
        async with self._asked(done, agent, assignment_strategy=_to("bob"), expires_in_seconds=seconds):
            if late:
                await asyncio.sleep(max(0.0, seconds - 0.1))
                assert await self._respond(done, "bob", "just in time?") in (200, 409)

    async def _shared(self, done: Done, agent: AsyncClient) -> None:
        """Two people claim it at once; who has it answers."""
        async with self._asked(done, agent, assignment_strategy={"type": "SharedInbox", "listID": "oncall"}):
            replies = await asyncio.gather(*(self._write(done, who, "claim", {}) for who in ("alice", "bob")))
            assert sorted(replies) == [200, 409], replies
            first = ("alice", "bob")[replies.index(200)]
            assert await self._respond(done, first, "mine") == 200

    async def _secret(self, done: Done, agent: AsyncClient) -> None:
        """A code that only the agent gets."""
        asked = asyncio.create_task(
            agent.secret(done.unique_id, unique_id=done.unique_id, wait_seconds=None, assignment_strategy=_to("alice"))
        )
        try:
            await self._until_asked(done, "alice")
            assert await self._respond(done, "alice", CODE) == 200
            assert await asked == CODE
        finally:
            asked.cancel()
        done.ended, done.by = "Responded", "alice"

    async def _escalated(self, done: Done, agent: AsyncClient) -> None:
        """The first person does nothing, the second one is asked."""
        ladder = _to("alice") | {"escalation": [{"afterMinutes": 0.01, "to": _to("bob")}]}
        async with self._asked(done, agent, assignment_strategy=ladder):
            await self._until(done, lambda request: request["assigned_to"] == "bob")
            assert await self._respond(done, "bob", "then I will") == 200

    async def _in_slack(self, done: Done, agent: AsyncClient) -> None:
        """Told in Slack, and answered in its thread; Slack sends a reply until it is acknowledged."""
        async with self._asked(done, agent, assignment_strategy=_to("alice")):
            posted = await self._posted(done)
            sent = await self._cluster.slack.reply(posted, self._cluster.alice, "from Slack")
            for attempt in range(1, 100):
                try:
                    await sent.acknowledged(3)
                    break
                except AssertionError:
                    sent = await self._cluster.slack.redeliver(sent, attempt=attempt)

    # -- steps

    @contextlib.asynccontextmanager
    async def _asked(self, done: Done, agent: AsyncClient, **more: Any):
        """Ask, do what is inside once it is known, then see what the agent was told."""
        asked = asyncio.create_task(self._ask(done, agent, **more))
        try:
            await self._until_asked(done, "agent")
            yield
            await asked
        finally:
            asked.cancel()

    async def _ask(self, done: Done, agent: AsyncClient, **more: Any) -> None:
        try:
            answer = await agent.ask(done.unique_id, unique_id=done.unique_id, wait_seconds=None, **more)
        except Expired:
            done.ended = "Expired"
        except Cancelled as cancelled:
            done.ended, done.by = "Cancelled", cancelled.by
        else:
            done.ended, done.text, done.by = "Responded", answer.text, answer.by

    async def _until_asked(self, done: Done, who: str) -> None:
        await self._until(done, lambda request: True, who)

    async def _until(self, done: Done, holds: Callable[[dict[str, Any]], bool], who: str = "agent") -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                reply = await self._cluster.call("GET", f"/api/requests/{done.unique_id}", who, self._chance)
                if reply.status_code == 200 and holds(reply.json()):
                    return
                assert reply.status_code in (200, 404), reply.text
                await asyncio.sleep(0.1)

    async def _posted(self, done: Done) -> Message:
        async with asyncio.timeout(PATIENCE):
            while not (found := self._cluster.messages_about(done.unique_id)):
                await asyncio.sleep(0.05)
            return found[0]

    async def _respond(self, done: Done, who: str, text: str) -> int:
        return await self._write(done, who, "respond", {"text": text})

    async def _write(self, done: Done, who: str, action: str, body: dict[str, Any]) -> int:
        """The status of the reply; what was accepted is noted."""
        path = f"/api/requests/{done.unique_id}/{action}"
        reply = await self._cluster.call("POST", path, who, self._chance, json=body)
        assert reply.status_code in (200, 409), reply.text
        if reply.status_code == 200:
            done.written.append(reply.json())
        return reply.status_code


def _to(user: str) -> dict[str, Any]:
    return {"type": "SpecificUser", "userID": user}
