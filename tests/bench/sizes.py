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
    caught_up: int = 10_000
    """Events that the read models catch up with."""
    listed: int = 1_000_000
    exported: int = 300_000
    streams: int = 1_000
    frames: int = 20
    """Events timed in one round of the live streams."""

    people: int = 10_000
    lists: int = 1_000
    members: int = 1_000
    """Of the one list whose members take turns."""

    waiting: int = 10_000
    """Open requests that a server starts with."""


QUICK = Sizes(rounds=3, seconds=2.0, answers=100, listed=100_000, exported=100_000)
FULL = Sizes(rounds=7, seconds=5.0, answers=300)
TINY = Sizes(
    rounds=1,
    seconds=0.2,
    answers=2,
    at_once=4,
    waiters=5,
    few_waiters=2,
    many_waiters=6,
    caught_up=60,
    listed=200,
    exported=300,
    streams=3,
    frames=2,
    people=40,
    lists=5,
    members=10,
    waiting=20,
)
