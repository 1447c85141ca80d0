"""Look-ups that come together are one query, and no answer is older than its question."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from interfaces.postgres.coalescing import Coalescer


class Queries:
    """A database that answers when told to: each query waits in `running` with its keys."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.running: list[tuple[list[int], asyncio.Future[Mapping[int, str]]]] = []
        self.most_at_once = 0

    async def fetch(self, keys: Sequence[int]) -> Mapping[int, str]:
        future: asyncio.Future[Mapping[int, str]] = asyncio.get_running_loop().create_future()
        query = (list(keys), future)
        self.asked.append(list(keys))
        self.running.append(query)
        self.most_at_once = max(self.most_at_once, len(self.running))
        try:
            return await future
        finally:
            self.running.remove(query)

    def answer(self, word: str = "value", *, lacking: tuple[int, ...] = ()) -> None:
        """Answer the query that has waited longest."""
        keys, future = next(query for query in self.running if not query[1].done())
        future.set_result({key: f"{word} {key}" for key in keys if key not in lacking})

    def fail(self, error: Exception) -> None:
        next(query for query in self.running if not query[1].done())[1].set_exception(error)


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


def ask(coalescer: Coalescer[int, str], *keys: int) -> list[asyncio.Task[str | None]]:
    return [asyncio.create_task(coalescer.get(key)) for key in keys]


async def test_look_ups_of_the_same_moment_are_one_query() -> None:
    """Ten keys asked together, one of them twice: one query with each key once."""
    queries = Queries()
    found = ask(Coalescer(queries.fetch), *range(10), 3)
    await settle()
    assert queries.asked == [list(range(10))]
    queries.answer()
    assert await asyncio.gather(*found) == [f"value {key}" for key in [*range(10), 3]]


async def test_a_key_that_is_not_there_is_none() -> None:
    """Nothing was found, which is an answer too."""
    queries = Queries()
    found = ask(Coalescer(queries.fetch), 1, 2)
    await settle()
    queries.answer(lacking=(2,))
    assert await asyncio.gather(*found) == ["value 1", None]


async def test_what_is_asked_during_a_query_waits_for_a_later_one() -> None:
    """Also the same key: the query under way may have read it before the write that the caller knows of."""
    queries = Queries()
    coalescer = Coalescer(queries.fetch, queries=1)
    first = ask(coalescer, 1)
    await settle()
    later = ask(coalescer, 1, 2)
    await settle()
    assert queries.asked == [[1]]
    queries.answer("old")
    await settle()
    assert queries.asked == [[1], [1, 2]]
    queries.answer("new")
    assert await asyncio.gather(*first, *later) == ["old 1", "new 1", "new 2"]


async def test_queries_and_keys_are_limited() -> None:
    """No more than so many queries at once, no more than so many keys in one; all are answered in the end."""
    queries = Queries()
    coalescer = Coalescer(queries.fetch, queries=2, keys=4)
    first = ask(coalescer, 0)
    await settle()
    found = first + ask(coalescer, *range(1, 30))
    await settle()
    while queries.running:
        queries.answer()
        await settle()
    assert await asyncio.gather(*found) == [f"value {key}" for key in range(30)]
    assert queries.most_at_once == 2
    assert max(len(keys) for keys in queries.asked) == 4
    assert sorted(key for keys in queries.asked for key in keys) == list(range(30))


async def test_a_failed_query_fails_its_own_look_ups_only() -> None:
    """The next ones are asked as if nothing had happened."""
    queries = Queries()
    coalescer = Coalescer(queries.fetch, queries=1)
    failing = ask(coalescer, 1, 2)
    await settle()
    going_on = ask(coalescer, 1)
    queries.fail(ConnectionError("gone"))
    await settle()
    queries.answer()
    results = await asyncio.gather(*failing, *going_on, return_exceptions=True)
    assert [str(result) for result in results] == ["gone", "gone", "value 1"]
    assert isinstance(results[0], ConnectionError)


async def test_a_caller_that_goes_away_takes_nothing_from_the_others() -> None:
    """Two wait for one key; one is cancelled, the other is answered."""
    queries = Queries()
    coalescer = Coalescer(queries.fetch)
    leaving, staying = ask(coalescer, 1, 1)
    await settle()
    leaving.cancel()
    await settle()
    queries.answer()
    assert await staying == "value 1"
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def test_a_failure_after_everybody_left_is_no_failure_of_anybody() -> None:
    """Nobody is left to be told, and nothing is reported as never retrieved."""
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    queries = Queries()
    coalescer = Coalescer(queries.fetch)
    (leaving,) = ask(coalescer, 1)
    await settle()
    leaving.cancel()
    await settle()
    queries.fail(ConnectionError("gone"))
    await settle()
    (next_one,) = ask(coalescer, 2)
    await settle()
    queries.answer()
    assert await next_one == "value 2"
    assert reported == []


@pytest.mark.parametrize("queries_at_once", [1, 2])
async def test_a_look_up_at_the_moment_the_last_query_ends_is_answered(queries_at_once: int) -> None:
    """Whoever asks just when the running queries find nothing more to do must not wait for the next caller."""
    queries = Queries()
    coalescer = Coalescer(queries.fetch, queries=queries_at_once)
    go: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def ask_when_told() -> str | None:
        await go
        return await coalescer.get(7)

    first = []
    for key in range(queries_at_once):
        first += ask(coalescer, key)
        await settle()
    last = asyncio.create_task(ask_when_told())
    await settle()
    assert queries.asked == [[key] for key in range(queries_at_once)]
    for _ in range(queries_at_once):
        queries.answer()
    go.set_result(None)  # runs right after the steps in which the queries end, before what their end sets in motion
    await settle()
    assert queries.asked[queries_at_once:] == [[7]]
    queries.answer()
    assert await asyncio.gather(*first, last) == [f"value {key}" for key in [*range(queries_at_once), 7]]
