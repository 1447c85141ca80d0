"""Which approved calls were begun and how they ended, in a file: so that none runs twice, whatever crashes.

A row is written before a call runs, and changed after it. While the call runs, its process holds a lock on a file
beside the journal, which the operating system takes from a process that dies: a row that says `running` without that
lock tells of a call that nobody knows the end of.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_PATIENCE_SECONDS = 30.0
_TABLE = """
CREATE TABLE IF NOT EXISTS calls (
    request_id TEXT PRIMARY KEY,
    function TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'returned', 'raised')),
    begun_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    result TEXT,
    error TEXT
)
"""

State = Literal["running", "lost", "returned", "raised"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one call. `lost`: begun by a process that is gone. `result` is JSON, `error` a type's name."""

    state: State
    function: str
    begun_at: str
    result: str | None
    error: str | None


class Journal:
    """The calls that `requires_approval` ran, by the ids of their requests.

    `path` defaults to `HANDRAISE_JOURNAL`, else to a file in the user's folder for state. Whoever may make the same
    call must use the same journal, on a file system with working locks. It holds results as they are: only its owner
    can read it.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Makes no file yet."""
        self.path = Path(path or os.environ.get("HANDRAISE_JOURNAL") or _default())

    def find(self, request_id: str) -> Entry | None:
        """What is known of this call, None if it was never begun."""
        entry = self._read(request_id)
        if entry is None or entry.state != "running" or _is_locked(self._lock(request_id)):
            return entry
        again = self._read(request_id)  # it may have ended in between
        if again is None or again.state != "running":
            return again
        return Entry("lost", again.function, again.begun_at, None, None)

    def begin(self, request_id: str, function: str) -> Running | None:
        """Note that the call runs from now on; None if it was begun before, or is being begun elsewhere."""
        lock = _Lock(self._lock(request_id), self._folder())
        if not lock.taken:
            return None
        with self._open() as calls:
            begun = calls.execute(
                "INSERT INTO calls (request_id, function, state) VALUES (?, ?, 'running') ON CONFLICT DO NOTHING",
                (request_id, function),
            ).rowcount
        if not begun:
            lock.leave()
            return None
        return Running(self, request_id, lock)

    def forget(self, request_id: str) -> None:
        """Let a call that may have run, run: on the approval that it has, when it is made again.

        For a person who has found out that it did nothing. Changes nothing for a call that is running.
        """
        entry = self.find(request_id)
        if entry is not None and entry.state != "running":
            with self._open() as calls:
                calls.execute("DELETE FROM calls WHERE request_id = ?", (request_id,))
            self._lock(request_id).unlink(missing_ok=True)

    def end(self, request_id: str, state: Literal["returned", "raised"], result: str | None, error: str | None) -> None:
        """Note how the call ended."""
        with self._open() as calls:
            calls.execute(
                "UPDATE calls SET state = ?, result = ?, error = ? WHERE request_id = ?",
                (state, result, error, request_id),
            )

    def _read(self, request_id: str) -> Entry | None:
        if not self.path.exists():
            return None
        with self._open() as calls:
            row = calls.execute(
                "SELECT state, function, begun_at, result, error FROM calls WHERE request_id = ?", (request_id,)
            ).fetchone()
        return None if row is None else Entry(*row)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self._folder()
        if not self.path.exists():
            self.path.touch(mode=0o600)
        connection = sqlite3.connect(self.path, timeout=_PATIENCE_SECONDS, isolation_level=None)
        try:
            # What was begun must be on disk before it runs.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(_TABLE)
            yield connection
        finally:
            connection.close()

    def _folder(self) -> Path:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.path.parent

    def _lock(self, request_id: str) -> Path:
        return self.path.with_name(f"{self.path.name}-{request_id}.running")


class Running:
    """A call that runs in this process: say how it ended."""

    def __init__(self, journal: Journal, request_id: str, lock: _Lock) -> None:
        self._journal = journal
        self._request_id = request_id
        self._lock = lock

    def returned(self, result: str | None) -> None:
        """It returned; `result` is JSON, None where it cannot be kept."""
        self._end("returned", result, None)

    def raised(self, error: BaseException) -> None:
        """It raised. Only the type is kept: the words may hold anything."""
        self._end("raised", None, type(error).__name__)

    def _end(self, state: Literal["returned", "raised"], result: str | None, error: str | None) -> None:
        try:
            self._journal.end(self._request_id, state, result, error)
        finally:
            self._lock.release()


class _Lock:
    """A lock of this process on a file, through SQLite, which knows how on every system."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = folder / path.name
        self._connection = sqlite3.connect(self._path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
            self.taken = True
        except sqlite3.OperationalError as error:
            self._connection.close()
            # Whoever had it may have released and removed it in this moment: nobody gets it then.
            if not _is_busy(error) and error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_IOERR:
                raise
            self.taken = False

    def leave(self) -> None:
        """Unused: the file may be of somebody else by now, and stays."""
        self._connection.close()

    def release(self) -> None:
        """Once what it stood for is noted: whoever finds the lock free reads the row again."""
        with suppress(PermissionError):  # Windows does not remove what is open: there the empty file stays
            self._path.unlink(missing_ok=True)
        self._connection.close()


def _is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=0, isolation_level=None)
    except sqlite3.OperationalError:
        return False
    try:
        connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        return _is_busy(error)
    finally:
        connection.close()
    return False


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode == sqlite3.SQLITE_BUSY


def _default() -> Path:
    if sys.platform == "darwin":
        state = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        state = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "handraise" / "calls.sqlite3"
