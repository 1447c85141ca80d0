"""Floor and figure by turns, so that whatever else the machine does hits both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from statistics import median

Measure = Callable[[], Awaitable[float]]


async def by_turns(figure: Measure, floor: Measure, rounds: int) -> tuple[float, float]:
    """The medians of both over so many rounds each."""
    figures: list[float] = []
    floors: list[float] = []
    for _ in range(rounds):
        figures.append(await figure())
        floors.append(await floor())
    return median(figures), median(floors)


def percentile(values: list[float], percent: float) -> float:
    """The smallest value that `percent` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100).__int__() - 1)]
