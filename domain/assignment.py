"""Who is asked, and why: the decision that every `Requested` and `Reassigned` carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

INVOCATION = "invocation"


@dataclass(frozen=True, slots=True)
class Decision:
    """One routing decision, kept whole in the event so that "Why me?" always has its answer.

    `level` is where the decision fell (`invocation`, `agent_type`, `category`, `request_type`, `fallback`, `command`),
    `strategy` the strategy object that won (None at the fallback), `candidates` the first people it could be,
    `chosen` the person asked, `list` the list in whose shared inbox it stands (neither: nobody could be named and
    administrators see it), `reason` one sentence, `trace` what each level looked at said. `turn_of` is the list whose
    turn was taken. `excluded` may not answer this request at all.
    """

    level: str
    reason: str
    chosen: UUID | None = None
    list: UUID | None = None
    strategy: dict[str, Any] | None = None
    candidates: tuple[UUID, ...] = ()
    trace: tuple[dict[str, Any], ...] = field(default=())
    turn_of: UUID | None = None
    excluded: tuple[UUID, ...] = ()

    def as_fact(self) -> dict[str, Any]:
        """The decision as plain JSON values, people and lists as UUID text."""
        fact: dict[str, Any] = {
            "level": self.level,
            "reason": self.reason,
            "chosen": str(self.chosen) if self.chosen else None,
            "list": str(self.list) if self.list else None,
            "strategy": self.strategy,
            "candidates": [str(candidate) for candidate in self.candidates],
            "trace": [dict(step) for step in self.trace],
        }
        if self.turn_of is not None:
            fact["turn_of"] = str(self.turn_of)
        if self.excluded:
            fact["excluded"] = [str(person) for person in self.excluded]
        return fact


def fall_back(run_user: UUID | None) -> Decision:
    """The last level alone: the person in whose name the run works, else nobody (and administrators see it)."""
    if run_user is None:
        reason = "No strategy names anybody and the request has no run user: administrators see it."
        said = "no run user"
    else:
        reason = "No strategy names anybody: the run user is asked."
        said = "the run user"
    return Decision(
        level="fallback",
        reason=reason,
        chosen=run_user,
        candidates=(run_user,) if run_user else (),
        trace=({"level": "fallback", "said": said},),
    )


def by_command(to: UUID, reason: str = "Named in the command.") -> Decision:
    """Somebody with the right to do so named the person."""
    return Decision(level="command", reason=reason, chosen=to, candidates=(to,))


def into_list(list_id: UUID, reason: str) -> Decision:
    """Somebody with the right to do so put it into the inbox that a list shares."""
    return Decision(level="command", reason=reason, list=list_id)


def turn_of(fact: Mapping[str, Any]) -> UUID | None:
    """The list whose turn this decision took."""
    return _uuid(fact.get("turn_of"))


def excluded_by(fact: Mapping[str, Any]) -> frozenset[UUID]:
    """Who may not answer, by this decision."""
    return frozenset(UUID(person) for person in fact.get("excluded", ()))


def strategy_asked_for(fact: Mapping[str, Any]) -> dict[str, Any] | None:
    """The strategy that came with the request itself, whether it won or not."""
    for step in fact["trace"]:
        if step["level"] == INVOCATION:
            return step.get("strategy")
    return None


def _uuid(text: str | None) -> UUID | None:
    return UUID(text) if text else None
