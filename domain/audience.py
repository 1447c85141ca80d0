"""Who may know of a request: the one rule behind reading it, its history, and its frames of the live stream."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from domain.callers import AgentCaller, Caller


@dataclass(frozen=True, slots=True)
class Audience:
    """The agent that asked, the person in whose name, everybody who was ever asked to answer, and lists."""

    agent_id: UUID
    run_user: UUID | None
    people: frozenset[UUID]
    lists: frozenset[UUID] = frozenset()

    def includes(self, caller: Caller) -> bool:
        """A key bound to a run user sees only the requests made in that person's name."""
        if isinstance(caller, AgentCaller):
            return caller.id == self.agent_id and caller.run_user in (None, self.run_user)
        return (
            caller.sees_everything
            or caller.id in self.people
            or not self.lists.isdisjoint(caller.lists)
            or self.agent_id in caller.owns
        )
