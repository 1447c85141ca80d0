"""Which run of the agent asks, for everything that is asked while it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[str | None] = ContextVar("handraise_run", default=None)


@contextmanager
def run(id: str) -> Iterator[None]:
    """Everything that is asked inside carries this `run_id`, unless it is given another.

    For `requires_approval` the run is also part of what makes a call the same one: give a run that is taken up again
    after a crash the id that it had before. Holds for the current thread or task, and for the tasks made in it.
    """
    token = _current.set(id)
    try:
        yield
    finally:
        _current.reset(token)


def current_run() -> str | None:
    """The id of the run that is going on here, if it was named."""
    return _current.get()
