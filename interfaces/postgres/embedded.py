"""An embedded PostgreSQL: made, started, watched, restarted and stopped by this process.

The server listens on a socket in a private folder only, never on TCP, and asks for a password there.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import psycopg
import structlog
from psycopg import sql
from psycopg.conninfo import make_conninfo

from interfaces.postgres.embedded_cluster import (
    DataFolder,
    SocketFolder,
    end_old_servers,
    recorded_postmaster,
    write_private,
)
from interfaces.postgres.embedded_errors import (
    ClusterNotMade,
    DataFolderUnusable,
    EmbeddedPostgresError,
    NotStarted,
    PasswordRefused,
    ServerDidNotStart,
)
from interfaces.postgres.embedded_programs import (
    DEFAULT_SETTINGS,
    PORT,
    SHARED_FOLDER,
    USER,
    Account,
    check_settings,
    choose_account,
    initdb_command,
    reachable_programs,
    require_name,
    run_as,
    server_command,
)

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "conninfo_of_running"]

logger = structlog.get_logger(__name__)

DATABASE = "handraise"

_POLL = 0.01
_WATCH_EVERY = 2.0
_STEADY_AFTER = 30.0
_DELAYS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
_PATIENCE_WITH_SHARED_MEMORY = 10.0


class EmbeddedPostgres:
    """A PostgreSQL server in `data_dir/postgres` that lives as long as this object is started.

    `settings` are server settings over `DEFAULT_SETTINGS`. `service_user` names the account that runs the
    server when we are root (default: the cluster's owner, else `postgres`, else `nobody`). `shared_folder`
    is where programs are copied if that account cannot read them where they are installed. `start_timeout`
    and `stop_timeout` are seconds for a start, crash recovery included, and for a clean stop before an
    immediate one.

    Use from one event loop; on Linux the server also ends when that loop's thread ends without `stop`.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        settings: Mapping[str, str] | None = None,
        service_user: str | None = None,
        shared_folder: Path = SHARED_FOLDER,
        start_timeout: float = 300.0,
        stop_timeout: float = 8.0,
    ) -> None:
        check_settings(settings or {})
        self._folder = DataFolder(data_dir)
        self._settings = {**DEFAULT_SETTINGS, **(settings or {})}
        self._service_user = service_user
        self._shared_folder = shared_folder
        self._start_timeout = start_timeout
        self._stop_timeout = stop_timeout
        self._changing = asyncio.Lock()
        self._account: Account | None = None
        self._programs = Path()
        self._socket: SocketFolder | None = None
        self._password = ""
        self._process: asyncio.subprocess.Process | None = None
        self._supervision: asyncio.Task[None] | None = None
        self._running = False
        self._restarts = 0

    def __repr__(self) -> str:
        return (
            f"EmbeddedPostgres(data_dir={str(self._folder.path)!r}, running={self._running}, restarts={self._restarts})"
        )

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def conninfo(self) -> str:
        """A connection string with the password in it; the same through restarts. Raises NotStarted."""
        return self._conninfo(DATABASE)

    @property
    def running(self) -> bool:
        """Whether the server accepts connections; False while it is being restarted."""
        return self._running and self._process is not None and self._process.returncode is None

    @property
    def restarts(self) -> int:
        """How often the server was started again after it died, since `start`."""
        return self._restarts

    @property
    def pid(self) -> int | None:
        """The server's process id while it is running."""
        return self._process.pid if self._process is not None and self.running else None

    async def start(self) -> None:
        """Make the cluster if there is none, start the server, wait until it accepts connections.

        Holds the data folder until `stop`. Ends a server that a killed process of ours left on it.
        Raises a subclass of EmbeddedPostgresError.
        """
        async with self._changing:
            # Refuses a second start of this very object too: it holds the folder already.
            self._folder.acquire()
            try:
                began = time.monotonic()
                await self._prepare()
                self._restarts = 0
                await self._launch_patiently()
                self._supervision = asyncio.create_task(self._supervise(), name="embedded postgres")
                took = round(time.monotonic() - began, 3)
                logger.info("postgres started", pid=self.pid, data_dir=str(self._folder.path), seconds=took)
            except OSError as error:
                self._let_go()
                raise DataFolderUnusable(self._folder.path, str(error)) from error
            except BaseException:
                self._let_go()
                raise

    async def stop(self) -> None:
        """Stop the server, cleanly within `stop_timeout` seconds, else at once. Harmless if not started."""
        async with self._changing:
            supervision, self._supervision = self._supervision, None
            if supervision is None:
                return
            try:
                supervision.cancel()
                await asyncio.wait({supervision})
                self._running = False
                await self._end_server(signal.SIGINT)
            finally:
                self._let_go()
            logger.info("postgres stopped", data_dir=str(self._folder.path))

    def _let_go(self) -> None:
        self._running = False
        # Only when we were cancelled: an immediate shutdown is safe, a server left behind is not.
        if self._process is not None and self._process.returncode is None:
            self._signal(self._process, signal.SIGQUIT)
        self._process = None
        if self._socket is not None:
            self._socket.remove()
            self._folder.socket_record.unlink(missing_ok=True)
            self._socket = None
        self._folder.release()

    def _conninfo(self, database: str) -> str:
        if self._socket is None:
            raise NotStarted(self._folder.path)
        return _conninfo(self._socket.path, database, self._password)

    # Preparing

    async def _prepare(self) -> None:
        folder = self._folder
        account = self._account = choose_account(folder.cluster, self._service_user)
        exists = folder.has_cluster()
        self._programs = await asyncio.to_thread(reachable_programs, account, self._shared_folder)
        self._password = folder.password(create=not exists)
        self._socket = SocketFolder.make(folder.socket_record, account)
        folder.bound_log()
        if not exists:
            await self._make_cluster(account, self._socket)

    async def _make_cluster(self, account: Account, socket: SocketFolder) -> None:
        """Run initdb in a folder aside, so that the cluster's folder is complete whenever it exists."""
        require_name(account)
        began = time.monotonic()
        folder = self._folder
        await end_old_servers(folder.incomplete, account)
        await asyncio.to_thread(folder.make_incomplete, account)
        password = socket.path / "password"
        write_private(password, self._password)
        account.own(password)
        command = initdb_command(self._programs, folder.incomplete, account, password, self._settings)
        end = self._folder.log_size()
        process = await self._run(command, folder.incomplete, signal.SIGKILL)
        try:
            code = await process.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            raise
        finally:
            password.unlink(missing_ok=True)
        if code != 0:
            raise ClusterNotMade(code, folder.log_file, self._folder.log_since(end))
        folder.complete()
        logger.info("postgres cluster made", seconds=round(time.monotonic() - began, 3))

    async def _run(
        self, command: list[str], folder: Path, signal_when_orphaned: signal.Signals
    ) -> asyncio.subprocess.Process:
        if self._account is None:
            raise NotStarted(self._folder.path)
        with os.fdopen(self._folder.open_log(), "ab") as output:
            return await run_as(
                self._account,
                command,
                folder=folder,
                output=output,
                signal_when_orphaned=signal_when_orphaned,
            )

    # Starting and ending the server

    async def _launch_patiently(self) -> None:
        """Launch, and again while the kernel still counts the memory of a dead server as in use."""
        deadline = time.monotonic() + _PATIENCE_WITH_SHARED_MEMORY
        while True:
            try:
                return await self._launch()
            except ServerDidNotStart as error:
                if "pre-existing shared memory block" not in error.said or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.1)

    async def _launch(self) -> None:
        """Start the server once and wait until it accepts connections; whatever fails, none is left."""
        if self._account is None or self._socket is None:
            raise NotStarted(self._folder.path)
        await end_old_servers(self._folder.cluster, self._account)
        self._socket.refresh()
        command = server_command(self._programs, self._folder.cluster, self._account, self._socket.path, self._settings)
        end = self._folder.log_size()
        self._process = await self._run(command, self._folder.cluster, signal.SIGINT)
        try:
            await self._until_ready(self._process, end)
        except BaseException:
            await self._end_server(signal.SIGQUIT)
            raise
        self._running = True

    async def _until_ready(self, process: asyncio.subprocess.Process, log_end: int) -> None:
        deadline = time.monotonic() + self._start_timeout
        while True:
            if process.returncode is not None:
                outcome = f"ended with {process.returncode}"
                raise ServerDidNotStart(outcome, self._folder.log_file, self._folder.log_since(log_end))
            if recorded_postmaster(self._folder.cluster) == (process.pid, True):
                break
            if time.monotonic() > deadline:
                outcome = f"was not ready after {self._start_timeout:g} s"
                raise ServerDidNotStart(outcome, self._folder.log_file, self._folder.log_since(log_end))
            await asyncio.sleep(_POLL)
        try:
            await self._ensure_database()
        except psycopg.Error as error:
            if "password authentication failed" in str(error):
                raise PasswordRefused(self._folder.password_file) from None
            outcome = f"refused a first connection ({type(error).__name__})"
            raise ServerDidNotStart(outcome, self._folder.log_file, self._folder.log_since(log_end)) from error

    async def _ensure_database(self) -> None:
        conninfo = self._conninfo("postgres")
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True, connect_timeout=10) as connection:
            found = await connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
            if await found.fetchone() is None:
                statement = sql.SQL("CREATE DATABASE {} OWNER {}")
                await connection.execute(statement.format(sql.Identifier(DATABASE), sql.Identifier(USER)))

    async def _end_server(self, first: signal.Signals) -> None:
        """End our server: with `first` (SIGINT is a fast shutdown), SIGQUIT (immediate), then SIGKILL."""
        process = self._process
        if process is None:
            return
        for number, seconds in ((first, self._stop_timeout), (signal.SIGQUIT, 5.0)):
            self._signal(process, number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await process.wait()
                    return
            logger.warning("postgres does not stop", pid=process.pid, signal=number.name)
        self._signal(process, signal.SIGKILL)
        await process.wait()

    @staticmethod
    def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)

    # Watching

    async def _supervise(self) -> None:
        """Start the server again whenever it ends, for as long as we are started."""
        failures = 0
        while True:
            since = time.monotonic()
            reason = await self._until_lost()
            self._running = False
            failures = failures + 1 if time.monotonic() - since < _STEADY_AFTER else 0
            logger.error("postgres lost, starting it again", reason=reason, restarts=self._restarts)
            while True:
                await asyncio.sleep(_DELAYS[min(failures, len(_DELAYS) - 1)])
                try:
                    await self._launch()
                    break
                except Exception as error:
                    # Whatever it is, a full disk say, may pass; giving up would outlast it.
                    failures += 1
                    logger.error("postgres did not start again", error=str(error), failures=failures)
            self._restarts += 1
            logger.info("postgres started again", pid=self.pid, restarts=self._restarts)

    async def _until_lost(self) -> str:
        """Wait until the server has ended or cannot be reached any more; returns why, for the log."""
        process, socket = self._process, self._socket
        if process is None or socket is None:
            raise NotStarted(self._folder.path)
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_WATCH_EVERY):
                    code = await process.wait()
                    return f"ended with {code}"
            try:
                await asyncio.to_thread(self._folder.bound_log)
            except OSError as error:
                logger.warning("postgres log could not be shortened", error=str(error))
            if not socket.socket.exists():
                self._running = False
                await self._end_server(signal.SIGINT)
                return f"its socket {socket.socket} was removed"


def conninfo_of_running(data_dir: Path) -> str | None:
    """How another process reaches the server that runs on `data_dir`; None if none does.

    After a crash it may name a server that has gone: connecting fails then.
    """
    folder = DataFolder(data_dir)
    try:
        socket_folder = Path(folder.socket_record.read_text().strip())
        password = folder.password_file.read_text().strip()
    except FileNotFoundError:
        return None
    if not (socket_folder / f".s.PGSQL.{PORT}").exists():
        return None
    return _conninfo(socket_folder, DATABASE, password)


def _conninfo(socket_folder: Path, database: str, password: str) -> str:
    return make_conninfo(host=str(socket_folder), port=PORT, user=USER, dbname=database, password=password)
