"""What a blocking client does on the side: in a thread that is there only while there is something to do."""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable

from handraise.steps import Flow

FRESH_SECONDS = 2.0
"""What has not begun so soon is left out, and nobody waits any longer for what has: the server is in trouble."""


class Asides:
    """Flows that nobody waits for, one after the other. The process ends after them, a little later at most."""

    def __init__(self, run: Callable[[Flow[None]], None]) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._waiting: collections.deque[tuple[float, Flow[None]]] = collections.deque()
        self._thread: threading.Thread | None = None

    def add(self, flow: Flow[None]) -> None:
        """Run it soon. Raises nothing."""
        with self._lock:
            self._waiting.append((time.monotonic() + FRESH_SECONDS, flow))
            if self._thread is not None:
                return
            # No daemon: the interpreter waits for it when it ends.
            self._thread = thread = threading.Thread(target=self._work, name="handraise asides")
        try:
            thread.start()
        except RuntimeError:  # the interpreter is ending, or may have no more threads
            self._thread = None
            self._waiting.clear()

    def finish(self) -> None:
        """Wait a moment for what is left."""
        thread = self._thread
        if thread is not None:
            thread.join(FRESH_SECONDS)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                begins_by, flow = self._waiting.popleft()
            if time.monotonic() > begins_by:
                continue
            try:
                self._run(flow)
            except Exception:  # noqa: S112  nobody waits, so there is nobody to tell
                continue
