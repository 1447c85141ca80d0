"""The running process: the socket, the signals, and an end in good order within the time allowed."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import resource
import signal
import socket
from collections.abc import Callable, Generator

import structlog
import uvicorn
import uvloop
from starlette.types import ASGIApp

from domain.errors import NotFound
from interfaces import logs
from interfaces.app import running
from interfaces.bootstrap import ADMIN, ensure_credentials
from interfaces.http.session import sign_in_url
from interfaces.settings import Settings

log = structlog.get_logger(__name__)

BACKLOG = 4096
"""Connections that may wait to be accepted: thousands of agents come back at once after a restart."""
KEEP_ALIVE_SECONDS = 75
"""Longer than the minute for which load balancers keep idle connections, so that they close them, not we."""
MOST_FILES = 1 << 20

Announce = Callable[[Settings, str | None], None]
"""(settings with the real port, on the first start the link that signs the administrator in): it serves."""


class CannotListen(Exception):
    """The address cannot be listened on."""

    def __init__(self, host: str, port: int, error: OSError) -> None:
        if error.errno == errno.EADDRINUSE:
            why = f"port {port} on {host} is in use: stop what listens there, or choose another port with --port"
        elif error.errno in (errno.EACCES, errno.EPERM):
            why = f"port {port} on {host} is not allowed to this user: choose one above 1023 with --port"
        else:
            why = f"cannot listen on {host} port {port} ({error.strerror or error}): choose another with --host"
        super().__init__(why)


def run(settings: Settings, *, admin_key: bool, announce: Announce) -> bool:
    """`serve` in an event loop of its own; whether it ended in good order. Raises what `serve` raises."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(serve(settings, admin_key=admin_key, announce=announce))
        except asyncio.CancelledError:
            return False
    return True


async def serve(settings: Settings, *, admin_key: bool, announce: Announce = lambda settings, link: None) -> None:
    """Serve until SIGTERM or SIGINT; then stop within `settings.stop_seconds`, waits ending with the present state.

    A second signal, or one before it serves, stops without waiting for anybody: `CancelledError`. Raises
    `CannotListen`, and what `running` raises.
    """
    logs.configure(settings)
    _allow_many_files()
    with _bound(settings) as listener, _Stop(settings.stop_seconds) as stop:
        settings = settings.model_copy(update={"port": listener.getsockname()[1]})
        async with running(settings) as app:
            try:
                listener.listen(BACKLOG)
            except OSError as error:  # somebody else bound it too, and listened first
                raise CannotListen(settings.host, settings.port, error) from None
            first = settings.role != "worker" and await ensure_credentials(
                app.directory, app.keys, settings, admin_key=admin_key
            )
            server = Server(app.api, settings, app.let_go)
            stop.server = server
            link = None
            if first:
                with contextlib.suppress(NotFound):
                    link = sign_in_url(settings.url, (await app.sign_in.make_link(ADMIN, by=None)).token)
            announce(settings, link)
            log.info("serving", url=settings.url, host=settings.host, port=settings.port)
            await server.serve(sockets=[listener])


class Server(uvicorn.Server):
    """Uvicorn's server without its signal handlers, telling `on_stop` when it stops."""

    def __init__(self, api: ASGIApp, settings: Settings, on_stop: Callable[[], None]) -> None:
        self._on_stop = on_stop
        super().__init__(
            uvicorn.Config(
                api,
                http="httptools",
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                # The rest is for the parts behind HTTP, the database last.
                timeout_graceful_shutdown=max(1, int(settings.stop_seconds * 0.6)),
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        # Uvicorn would raise the signal again once HTTP is closed, and kill us before the database is.
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Before it first yields, uvicorn closes its listeners and has every connection end with its response. Only
        # then are the waits woken: nobody can come back to this server to wait again.
        asyncio.get_running_loop().call_soon(self._on_stop)
        await super().shutdown(sockets)


class _Stop:
    """SIGTERM and SIGINT: the first stops the server in good order, the next one or the end of the time at once."""

    def __init__(self, seconds: float) -> None:
        self.server: uvicorn.Server | None = None
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._hurry: asyncio.TimerHandle | None = None

    def __enter__(self) -> _Stop:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._on_signal, number)
        return self

    def __exit__(self, *_: object) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.remove_signal_handler(number)

    def _on_signal(self, number: signal.Signals) -> None:
        if self.server is None or self.server.should_exit:
            log.warning("stopping at once", signal=number.name)
            self._at_once()
            return
        log.info("stop asked for", signal=number.name, seconds=self._seconds)
        self.server.should_exit = True
        self._hurry = self._loop.call_later(self._seconds, self._late)

    def _late(self) -> None:
        log.warning("the time to stop in good order is over", seconds=self._seconds)
        self._at_once()

    def _at_once(self) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
        if self._main is not None:
            self._main.cancel()
        # Each part that is being stopped takes one cancellation to give up.
        self._hurry = self._loop.call_later(0.2, self._at_once)


@contextlib.contextmanager
def _bound(settings: Settings) -> Generator[socket.socket]:
    """A socket bound to the address, not listening yet: whoever connects before it serves is refused at once.

    Raises `CannotListen`.
    """
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise CannotListen(settings.host, settings.port, error) from None
    refused: OSError | None = None
    for family, kind, protocol, _, address in found:
        listener = socket.socket(family, kind, protocol)
        with listener:
            try:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if settings.host == "::":
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                listener.bind(address)
            except OSError as error:
                refused = refused or error
                continue
            listener.setblocking(False)
            yield listener
            return
    assert refused is not None
    raise CannotListen(settings.host, settings.port, refused)


def _allow_many_files() -> None:
    """Every waiting agent is an open connection: raise the soft limit to the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # macOS has a lower limit than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
