"""How much each bench does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rounds are taken by turns, floor and figure, and the median round counts; `seconds` is one round of a rate.

    `answers` are timed one by one in one round of a latency.
    """

    rounds: int
    seconds: float
    answers: int
    at_once: int = 64
    """Cycles, or connections, at the same time."""
    waiters: int = 1_000
    """Waits connected while answers are timed against the minimal server."""
    few_waiters: int = 100
    many_waiters: int = 10_000


QUICK = Sizes(rounds=3, seconds=2.0, answers=100)
FULL = Sizes(rounds=7, seconds=5.0, answers=300)
TINY = Sizes(rounds=1, seconds=0.2, answers=2, at_once=4, waiters=5, few_waiters=2, many_waiters=6)
