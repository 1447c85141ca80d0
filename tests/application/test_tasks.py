"""Tasks that are ended have ended, also those that miss being told so."""

from __future__ import annotations

import asyncio

from application.tasks import end


async def test_a_task_that_swallows_a_cancellation_ends_all_the_same() -> None:
    """As one does that is cancelled in the moment in which what it waited for is there."""
    told = 0

    async def deaf() -> None:
        nonlocal told
        while told < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                told += 1

    task = asyncio.create_task(deaf())
    await asyncio.sleep(0)
    await end(task)
    assert (task.done(), told) == (True, 2)


async def test_tasks_that_have_ended_or_failed_are_no_matter() -> None:
    """Nor is none at all."""

    async def failing() -> None:
        raise ValueError

    failed = asyncio.create_task(failing())
    waiting = asyncio.create_task(asyncio.Event().wait())
    await asyncio.wait({failed})
    await end(failed, waiting)
    assert waiting.cancelled()
    await end()
