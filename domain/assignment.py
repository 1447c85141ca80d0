"""Who is asked, and why: the decision that every `Requested` and `Reassigned` carries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Decision:
    """One routing decision, kept whole in the event so that "Why me?" always has its answer.

    `level` is where the decision fell (`fallback`, `command`), `strategy` the strategy object that won (None at the
    fallback), `candidates` the people looked at, `chosen` the person asked (None: nobody could be named and
    administrators see it), `reason` one sentence, `trace` what each level looked at said.
    """

    level: str
    reason: str
    chosen: UUID | None = None
    list: UUID | None = None
    strategy: dict[str, Any] | None = None
    candidates: tuple[UUID, ...] = ()
    trace: tuple[dict[str, Any], ...] = field(default=())

    def as_fact(self) -> dict[str, Any]:
        """The decision as plain JSON values, people and lists as UUID text."""
        return {
            "level": self.level,
            "reason": self.reason,
            "chosen": str(self.chosen) if self.chosen else None,
            "list": str(self.list) if self.list else None,
            "strategy": self.strategy,
            "candidates": [str(candidate) for candidate in self.candidates],
            "trace": [dict(step) for step in self.trace],
        }


def fall_back(run_user: UUID | None) -> Decision:
    """The last level: the person in whose name the run works, else nobody (and administrators see it)."""
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


def by_command(to: UUID) -> Decision:
    """Somebody with the right to do so named the person."""
    return Decision(level="command", reason="Named in the command.", chosen=to, candidates=(to,))
