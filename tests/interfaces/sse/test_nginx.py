"""The live stream through a real nginx that knows nothing of it: `proxy_pass`, and its defaults."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import free_port, until
from tests.support.service import Service, service
from tests.support.sse import eventually, opened, served, stream

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="needs nginx: apt-get install nginx-light, or brew install nginx")

CONFIGURATION = """
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass {upstream};
            {settings}
        }}
    }}
}}
"""


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def nginx(folder: Path, upstream: str, settings: str = "") -> Iterator[str]:
    """An nginx in front of `upstream`: its address."""
    port = free_port()
    configuration = CONFIGURATION.format(folder=folder, port=port, upstream=upstream, settings=settings)
    with run_nginx(folder, configuration, port) as url:
        yield url


@contextmanager
def run_nginx(folder: Path, configuration: str, port: int) -> Iterator[str]:
    """An nginx so configured that it listens on this port and keeps its files in `folder`: its address."""
    assert NGINX is not None
    folder.mkdir()
    file = folder / "nginx.conf"
    file.write_text(configuration, encoding="utf-8")
    said = folder / "stderr"
    with said.open("wb") as output:
        process = subprocess.Popen(
            [NGINX, "-p", str(folder), "-c", str(file), "-g", "daemon off; master_process off;"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        until(lambda: process.poll() is not None or _listens(port), "nginx listens", context=said.read_text)
        assert process.poll() is None, f"nginx ended with {process.returncode}:\n{said.read_text()}"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


@asynccontextmanager
async def behind_nginx(
    database: str, folder: Path, settings: str = "", **server_settings: Any
) -> AsyncIterator[tuple[Service, str, str]]:
    """A service behind nginx: itself, nginx's address and an administrator's key."""
    async with service(database, folder / "data", **server_settings) as handraise, served(handraise.app) as upstream:
        key = handraise.admin.headers["Authorization"].removeprefix("Bearer ")
        with nginx(folder / "nginx", upstream, settings) as url:
            yield handraise, url, key


async def test_c48_nothing_is_held_back(database: str, tmp_path: Path) -> None:
    """Headers and first bytes at once, each event within a second or so, for clients that take gzip too."""
    async with behind_nginx(database, tmp_path) as (handraise, url, key):
        for encoding in ("gzip", "identity"):
            async with stream(url, key, headers={"Accept-Encoding": encoding}) as admin:
                assert (admin.status, admin.headers["cache-control"]) == (200, "no-store")
                assert "content-encoding" not in admin.headers
                await admin.comment(seconds=3)  # the next one is 15 s away
                for _ in range(3):
                    asked = await handraise.ask()
                    assert (await admin.event(seconds=3)).id == asked["position"]


async def test_c48_silence_does_not_end_it(database: str, tmp_path: Path) -> None:
    """Heartbeats four times as often as nginx insists on bytes keep a quiet stream alive, well past that time."""
    async with (
        behind_nginx(database, tmp_path, "proxy_read_timeout 2s;", stream_heartbeat_seconds=0.5) as (
            handraise,
            url,
            key,
        ),
        opened(url, key) as admin,
    ):
        started = time.monotonic()
        while time.monotonic() - started < 5:
            await admin.comment(seconds=2)
        asked = await handraise.ask()
        assert (await admin.event(seconds=3)).id == asked["position"]


async def test_c48_without_heartbeats_this_nginx_would_end_it(database: str, tmp_path: Path) -> None:
    """What the heartbeats prevent: with none in time, the proxy gives the stream up."""
    async with (
        behind_nginx(database, tmp_path, "proxy_read_timeout 1s;") as (_, url, key),
        opened(url, key) as admin,
    ):
        with pytest.raises(AssertionError, match="ended"):
            await admin.event(seconds=10)


async def test_c47_behind_nginx_a_client_goes_on_where_it_was(database: str, tmp_path: Path) -> None:
    """`Last-Event-ID` passes through, and the missed events come once, in order."""
    async with behind_nginx(database, tmp_path) as (handraise, url, key):
        asked = [await handraise.ask() for _ in range(3)]
        async with opened(url, key, last_event_id=asked[0]["position"]) as again:
            assert [event.id for event in await again.events(2, seconds=3)] == [r["position"] for r in asked[1:]]
        await eventually(lambda: len(handraise.app.hub) == 0, "nginx passes on that the client has gone")
