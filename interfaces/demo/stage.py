"""Everything that goes on beside the server: who plays what, and how much of it is open at once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping

import structlog

from interfaces.demo.agent import Agent, Pace, Story, again_and_again
from interfaces.demo.errands import AT_ONCE, run_errands
from interfaces.demo.imports import failed_import, one_time_code
from interfaces.demo.operations import certificate, disk, release
from interfaces.demo.people import company
from interfaces.demo.support import missing_address, public_answer, refund

log = structlog.get_logger(__name__)

STORIES: tuple[tuple[str, Story, tuple[float, float]], ...] = (
    ("operations-bot", release, (20, 40)),
    ("operations-bot", disk, (240, 480)),
    ("operations-bot", certificate, (300, 600)),
    ("import-bot", failed_import, (30, 60)),
    ("import-bot", one_time_code, (60, 120)),
    ("support-writer", missing_address, (30, 60)),
    ("support-writer", public_answer, (90, 180)),
    ("support-writer", refund, (40, 80)),
)
"""Which agent goes through what, and how many seconds it rests before the next time. Each has one request open."""


async def perform(url: str, admin_key: str, pace: Pace, print_line: Callable[[str], None]) -> None:
    """Fill the directory and play, until cancelled. At most `len(STORIES) + AT_ONCE` requests are open at once."""
    try:
        async with company(url, admin_key, pace, print_line) as agents:
            await _play(agents)
    except Exception as error:
        # The server goes on: what is there can be looked at and answered.
        log.error("the agents of the demo have stopped", exc_info=error)


async def _play(agents: Mapping[str, Agent]) -> None:
    numbers = itertools.count()
    async with asyncio.TaskGroup() as playing:
        for id, story, rest in STORIES:
            playing.create_task(again_and_again(agents[id], story, rest))
        for _ in range(AT_ONCE):
            playing.create_task(run_errands(agents, numbers))
