"""What all agents of the demo have in common: a client, a name to speak under, and a pace."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from handraise import AsyncClient, Expired, HandraiseError, Request, WithoutAnswer

FOR_YOU: Mapping[str, str] = {"type": "SpecificUser", "userID": "admin"}
"""The strategy of questions that the newcomer is to answer."""

_LONGEST_REST = 3600.0


class Pace:
    """How fast the demo plays: all its times are divided by `speed`. Its chance is the same at every start."""

    def __init__(self, speed: float = 1.0, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._speed = speed
        self._sleep = sleep
        self.chance = random.Random(2041)  # noqa: S311  no secret

    def seconds(self, seconds: float) -> float:
        """How many seconds this takes at this pace."""
        return seconds / self._speed

    async def pause(self, shortest: float, longest: float) -> None:
        """Let so many seconds pass, at this pace."""
        await self._sleep(self.seconds(self.chance.uniform(shortest, longest)))


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent at work. `say` tells the terminal what it does; `people` are the sample people, by id."""

    name: str
    client: AsyncClient
    pace: Pace
    people: Mapping[str, AsyncClient]
    print_line: Callable[[str], None]

    def say(self, what: str) -> None:
        """Tell whoever looks at the terminal."""
        self.print_line(f"{self.name}: {what}")

    async def work(self) -> None:
        """Do what was decided: it takes a few seconds."""
        await self.pace.pause(2, 4)

    async def ask_colleagues(
        self,
        message: str,
        replies: tuple[Mapping[str, Any], ...],
        patience: tuple[float, float],
        *,
        taker: str | None = None,
        **more: Any,
    ) -> Request:
        """Ask, and return the request once it is closed.

        If the sample person whom routing chose, or `taker` where it chose a whole list, still can after the seconds
        of `patience`, they give one of the `replies`. What routing gave to the newcomer is left to the newcomer.
        """
        request = await self.client.create(message, **more)
        person = self.people.get(request["assigned_to"] or taker or "")
        if person is not None and replies:
            before = await self.client.wait(request["id"], self.pace.seconds(self.pace.chance.uniform(*patience)))
            if before["status"] == "Requested":
                await _reply(person, request["id"], self.pace.chance.choice(replies))
        closed = await self.client.wait(request["id"])
        if closed["response"] is not None:
            await self.client.acknowledge(request["id"])
        return closed


Story = Callable[[Agent, int], Awaitable[None]]
"""One thing that an agent goes through, the first time (0), the second (1) and so on; one open request at a time."""


async def again_and_again(agent: Agent, story: Story, rest: tuple[float, float]) -> None:
    """Play the story for ever, with so many seconds of rest in between; ends if the server refuses the agent.

    Where nobody answers in time the rests grow, so that a demo nobody looks at becomes quiet.
    """
    number = unanswered = 0
    while True:
        try:
            await story(agent, number)
            unanswered = 0
        except Expired as expired:
            unanswered += 1
            agent.say(f"nobody answered {expired.unique_id} in time; I shall ask again")
        except WithoutAnswer as without:
            agent.say(f"{without}; I leave it there")
        except HandraiseError as refused:
            agent.say(f"I stop: {refused}")
            return
        shortest, longest = (min(seconds * 2 ** min(unanswered, 10), _LONGEST_REST) for seconds in rest)
        await agent.pace.pause(shortest, longest)
        number += 1


def quoted(text: str) -> str:
    """Somebody's words as a quotation in Markdown."""
    return "\n".join(f"> {line}" for line in text.splitlines())


async def _reply(person: AsyncClient, id: str, reply: Mapping[str, Any]) -> None:
    try:
        await person.respond(id, **reply)
    except HandraiseError as refused:
        # Refused is fine: the newcomer was faster, moved it elsewhere, or removed this person.
        if refused.status is None:
            raise
