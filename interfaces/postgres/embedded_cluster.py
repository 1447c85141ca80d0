"""What the embedded Postgres keeps on disk, and the processes an earlier run may have left on it.

In Handraise's data folder: `postgres` (the cluster), `postgres.password`, `postgres.lock` (held while a
server of ours runs), `postgres.socket` (where the socket folder is) and `postgres.log`.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil
import structlog

from interfaces.postgres.embedded_errors import (
    DataFolderInUse,
    DataFolderUnusable,
    NoSocketFolder,
    NotACluster,
    OldServerStays,
    PasswordMissing,
    WrongServerVersion,
)
from interfaces.postgres.embedded_programs import MAJOR_VERSION, PORT, Account

logger = structlog.get_logger(__name__)

# A socket's path must stay below 104 bytes on macOS and 108 on Linux, "/.s.PGSQL.5432.lock" included.
_LONGEST_SOCKET_FOLDER = 80
_SOCKET_PREFIX = "handraise-"
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+-]+")
_LOG_LIMIT = 10 * 1024 * 1024


class DataFolder:
    """Handraise's data folder as the embedded Postgres uses it, held exclusively while open."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir.expanduser().absolute()
        self.cluster = self.path / "postgres"
        self.incomplete = self.path / "postgres.incomplete"
        self.password_file = self.path / "postgres.password"
        self.log_file = self.path / "postgres.log"
        self.socket_record = self.path / "postgres.socket"
        self._lock_file = self.path / "postgres.lock"
        self._lock: int | None = None

    def acquire(self) -> None:
        """Make the folder (0700) if missing and hold it until `release`, or until this process ends.

        Raises DataFolderInUse at once if someone holds it, this process included; DataFolderUnusable.
        """
        try:
            if not self.path.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DataFolderUnusable(self.path, str(error)) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
            os.close(lock)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise DataFolderUnusable(self.path, f"it cannot be locked ({error})") from error
            raise DataFolderInUse(self.path, int(holder) if holder.isdigit() else None) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock

    def release(self) -> None:
        """Let others use the folder."""
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    def has_cluster(self) -> bool:
        """Whether there is a cluster to start. Raises NotACluster, WrongServerVersion."""
        version = self.cluster / "PG_VERSION"
        if not version.exists():
            if self.cluster.exists() and any(self.cluster.iterdir()):
                raise NotACluster(self.cluster)
            return False
        if (found := version.read_text("ascii", "replace").strip()) != MAJOR_VERSION:
            raise WrongServerVersion(self.cluster, found, MAJOR_VERSION)
        return True

    def make_incomplete(self, account: Account) -> None:
        """An empty folder, owned by `account`, in which a new cluster is made."""
        if self.incomplete.exists():
            shutil.rmtree(self.incomplete)
        self.incomplete.mkdir(mode=0o700)
        account.own(self.incomplete)

    def complete(self) -> None:
        """Turn the folder in which a cluster was made into the cluster, in one step."""
        if self.cluster.exists():
            self.cluster.rmdir()
        self.incomplete.rename(self.cluster)
        folder = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def password(self, *, create: bool) -> str:
        """The database password, kept in a 0600 file; made with 256 random bits if `create` and missing.

        Raises PasswordMissing.
        """
        if self.password_file.exists():
            if stat.S_IMODE(self.password_file.stat().st_mode) & 0o077:
                logger.warning("postgres password file was readable by others", file=str(self.password_file))
                self.password_file.chmod(0o600)
            if kept := self.password_file.read_text().strip():
                return kept
        if not create:
            raise PasswordMissing(self.password_file, self.cluster)
        made = secrets.token_urlsafe(32)
        self.password_file.unlink(missing_ok=True)
        write_private(self.password_file, made)
        return made

    def bound_log(self) -> None:
        """Move a server log of 10 MB or more to `postgres.log.1`, replacing that, and start afresh.

        Emptied in place, because a running server goes on writing (at the end) to the file it was given.
        """
        if self.log_size() >= _LOG_LIMIT:
            older = self.log_file.with_name("postgres.log.1")
            older.unlink(missing_ok=True)
            shutil.copyfile(self.log_file, older)
            older.chmod(0o600)
            os.truncate(self.log_file, 0)

    def open_log(self) -> int:
        """A descriptor that appends to the server log (0600)."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self.log_file, flags, 0o600)

    def log_size(self) -> int:
        """Bytes in the server log."""
        return self.log_file.stat().st_size if self.log_file.exists() else 0

    def log_since(self, position: int) -> str:
        """What the server log got since `position`, the last 2,000 bytes at most."""
        if not self.log_file.exists():
            return ""
        with self.log_file.open("rb") as file:
            file.seek(max(position, self.log_size() - 2000))
            return file.read().decode("utf-8", "replace").strip()


def write_private(path: Path, text: str) -> None:
    """Write a new file that only its owner can read, safely on disk. Raises FileExistsError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@dataclass(frozen=True)
class SocketFolder:
    """A private folder (0700) with a short, unpredictable path for the server's socket."""

    path: Path
    account: Account

    @classmethod
    def make(cls, record: Path, account: Account) -> "SocketFolder":
        """Remove the folder that an earlier run noted in `record`, make a new one and note it.

        Call only while holding the data folder. Raises NoSocketFolder.
        """
        if record.exists():
            cls(Path(record.read_text().strip()), account).remove()
        tried = _short_folders(account)
        for base in tried:
            if not _is_safe(base, account):
                continue
            try:
                path = Path(tempfile.mkdtemp(prefix=_SOCKET_PREFIX, dir=base))
            except OSError:
                continue
            record.unlink(missing_ok=True)
            write_private(record, str(path))
            account.own(path)
            return cls(path, account)
        raise NoSocketFolder(tried)

    @property
    def socket(self) -> Path:
        """Where the server's socket is while it runs."""
        return self.path / f".s.PGSQL.{PORT}"

    def refresh(self) -> None:
        """Remove what a dead server left, and make the folder again if a cleaner of old files removed it.

        Raises FileExistsError if something of somebody else has taken its place.
        """
        if not self._is_ours():
            self.path.mkdir(mode=0o700)
            self.account.own(self.path)
        self.socket.unlink(missing_ok=True)
        self.socket.with_name(f"{self.socket.name}.lock").unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the folder, unless what is there now is not ours."""
        if self._is_ours():
            shutil.rmtree(self.path, ignore_errors=True)

    def _is_ours(self) -> bool:
        """Whether the path is a folder, no link, with our name and owner, closed to others."""
        try:
            info = self.path.lstat()
        except OSError:
            return False
        owned = info.st_uid in (self.account.uid, os.geteuid()) and not info.st_mode & 0o077
        return stat.S_ISDIR(info.st_mode) and owned and self.path.name.startswith(_SOCKET_PREFIX)


def _short_folders(account: Account) -> list[Path]:
    """Folders that may hold a socket folder, best first.

    A user's runtime folder comes last: systems remove it when the user logs out, the server may go on.
    """
    bases = [Path("/run")] if account.switched else []
    bases += [Path(tempfile.gettempdir()).absolute(), Path("/tmp"), Path("/var/tmp")]  # noqa: S108 - checked
    if not account.switched and (runtime := os.environ.get("XDG_RUNTIME_DIR")):
        bases.append(Path(runtime))
    return list(dict.fromkeys(bases))


def _is_safe(base: Path, account: Account) -> bool:
    """Whether `base` is short and plain, the server may pass it, and others cannot replace folders in it."""
    room = len(os.fsencode(base)) + len(f"/{_SOCKET_PREFIX}12345678")
    if room > _LONGEST_SOCKET_FOLDER or not _PLAIN_PATH.fullmatch(str(base)):
        return False
    for folder in (base.resolve(), *base.resolve().parents):
        try:
            info = folder.stat()
        except OSError:
            return False
        if info.st_uid not in (0, account.uid, os.geteuid()):
            return False
        if info.st_mode & 0o022 and not info.st_mode & stat.S_ISVTX:
            return False
        if account.switched and not info.st_mode & 0o001:
            return False
    return True


def recorded_postmaster(cluster: Path) -> tuple[int, bool] | None:
    """What `postmaster.pid` says: a process id and whether it accepts connections. None without."""
    try:
        lines = (cluster / "postmaster.pid").read_text("utf-8", "replace").splitlines()
        return int(lines[0]), len(lines) > 7 and lines[7].startswith("ready")
    except (FileNotFoundError, IndexError, ValueError):
        return None


def server_processes(cluster: Path, account: Account) -> list[psutil.Process]:
    """Postgres processes that work in this very folder, whatever `postmaster.pid` claims.

    A process that got a dead server's number counts only if it is a Postgres in the same folder.
    """
    if not cluster.exists():
        return []
    place = cluster.stat()
    found, closed = [], []
    for process in psutil.process_iter():
        try:
            if process.name() not in ("postgres", "initdb"):
                continue
            # The link itself, not its text: the same text means another folder inside a container.
            folder = f"/proc/{process.pid}/cwd" if sys.platform == "linux" else process.cwd()
            if os.path.samestat(os.stat(folder), place):
                found.append(process)
        except (PermissionError, psutil.AccessDenied):
            closed.append(process)
        except (psutil.Error, OSError):
            continue
    if closed and account.switched:
        found += _working_in(place, closed, account)
    return [process for process in found if _alive(process)]


# Root in a container usually may not look into processes of others, but their own account may.
_LOOK = """
import os, sys
uid, gid, device, inode = map(int, sys.argv[1:5])
os.setgroups([])
os.setgid(gid)
os.setuid(uid)
for pid in sys.argv[5:]:
    try:
        info = os.stat(f"/proc/{pid}/cwd")
    except OSError:
        continue
    if (info.st_dev, info.st_ino) == (device, inode):
        print(pid)
"""


def _working_in(place: os.stat_result, processes: list[psutil.Process], account: Account) -> list[psutil.Process]:
    who = (account.uid, account.gid, place.st_dev, place.st_ino, *(process.pid for process in processes))
    command = [sys.executable, "-I", "-S", "-c", _LOOK, *map(str, who)]
    said = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True).stdout  # noqa: S603
    pids = {int(line) for line in said.split()}
    return [process for process in processes if process.pid in pids]


async def end_old_servers(cluster: Path, account: Account) -> None:
    """End servers that an earlier run left on this cluster, then drop their stale `postmaster.pid`.

    Call only while holding the data folder. A whole server gets 30 s for a fast shutdown, children without
    one are told to quit at once; then both are killed. Raises OldServerStays.
    """
    for seconds, forced in ((30.0, None), (5.0, signal.SIGQUIT), (5.0, signal.SIGKILL)):
        left = await asyncio.to_thread(server_processes, cluster, account)
        if not left:
            break
        logger.warning("postgres processes of an earlier run are left", pids=[process.pid for process in left])
        _tell(left, recorded_postmaster(cluster), forced)
        deadline = asyncio.get_running_loop().time() + seconds
        while left and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
            left = [process for process in left if _alive(process)]
    if left := await asyncio.to_thread(server_processes, cluster, account):
        raise OldServerStays(cluster, [process.pid for process in left])
    # Safe only now that nothing runs here: Postgres would take a recycled number for a running server.
    (cluster / "postmaster.pid").unlink(missing_ok=True)


def _tell(
    processes: list[psutil.Process],
    recorded: tuple[int, bool] | None,
    forced: signal.Signals | None,
) -> None:
    pids = {process.pid for process in processes}
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.ppid() in pids and forced is not signal.SIGKILL:
                continue  # its parent will see to it
            whole = recorded is not None and process.pid == recorded[0]
            process.send_signal(forced or (signal.SIGINT if whole else signal.SIGQUIT))


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
