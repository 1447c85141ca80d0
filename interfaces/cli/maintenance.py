"""`handraise doctor`: what is wrong with this installation. `handraise verify`: whether the log is what was written."""

from __future__ import annotations

import contextlib
import email.utils
import os
import platform
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interfaces.cli.connection import DataDir, find_credentials, resolve
from interfaces.cli.database import DatabaseUrl, database
from interfaces.cli.output import CommandFailed, command, say, visible, write_result, write_table

if TYPE_CHECKING:
    import httpx

    from interfaces.postgres.chain import Head, Verdict

SKEW_SECONDS = 5
"""Clocks further apart than this make deadlines look wrong. The Date header is up to two seconds old."""


# -- doctor


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `remedy` says what to do, and is there exactly when something is wrong."""

    what: str
    found: str
    remedy: str | None = None


def doctor(data_dir: DataDir = None) -> None:
    """Check this installation: files, server, clock, keys. Exit code 1 where something is wrong."""
    findings = [*_versions(), *_files(resolve(data_dir)), *_server(data_dir)]
    write_table(
        ("", "checked", "found"),
        (("wrong" if finding.remedy else "ok", finding.what, finding.found) for finding in findings),
    )
    wrong = [finding for finding in findings if finding.remedy]
    for finding in wrong:
        say(f"{finding.what}: {finding.remedy}")
    if wrong:
        raise typer.Exit(1)


def _versions() -> Iterator[Finding]:
    yield Finding("handraise", f"{_version('handraise-server')}, client {_version('handraise')}")
    yield Finding("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _files(data_dir: Path) -> Iterator[Finding]:
    if not data_dir.is_dir():
        if os.environ.get("HANDRAISE_URL") and os.environ.get("HANDRAISE_API_KEY"):
            yield Finding("data directory", "none, and none is needed: HANDRAISE_URL and HANDRAISE_API_KEY are set")
        else:
            yield Finding("data directory", f"{data_dir} does not exist", f"start the server: {command('serve')}")
        return
    mode = stat.S_IMODE(data_dir.stat().st_mode)
    others = mode & 0o022
    yield Finding(
        "data directory",
        f"{data_dir}, mode {mode:04o}",
        f"others can replace files in it: chmod 700 {data_dir}" if others else None,
    )
    for name in ("credentials.json", "secret.key", "postgres.password"):
        yield from _private_file(data_dir / name)


def _private_file(path: Path) -> Iterator[Finding]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return
    except OSError as error:
        yield Finding(path.name, f"{error.strerror}", f"run this as the user that runs the server, who owns {path}")
        return
    if mode & 0o077:
        remedy = f"others can read it: chmod 600 {path}, and replace what was in it"
    elif not os.access(path, os.R_OK):
        remedy = f"run this as the user that runs the server, who owns {path}"
    else:
        remedy = None
    yield Finding(path.name, f"mode {mode:04o}", remedy)


def _server(data_dir: Path | None) -> Iterator[Finding]:
    try:
        credentials = find_credentials(data_dir)
    except CommandFailed as error:
        yield Finding("credentials.json", "unreadable", str(error))
        return
    own_key = os.environ.get("HANDRAISE_API_KEY")
    if credentials is None and not own_key:
        yield Finding(
            "credentials.json",
            f"there is none in {resolve(data_dir)}",
            f"start the server, which writes it: {command('serve')}",
        )
        return
    if own_key:
        keys = {"HANDRAISE_API_KEY": own_key}
    elif credentials is not None:
        found = {"agent's key": credentials.agent_key, "administrator's key": credentials.admin_key}
        keys = {name: key for name, key in found.items() if key}
    else:
        keys = {}
    url = os.environ.get("HANDRAISE_URL") or (credentials.url if credentials else "http://127.0.0.1:8000")
    yield from _live_server(url.rstrip("/"), keys)


def _live_server(url: str, keys: dict[str, str]) -> Iterator[Finding]:
    import httpx
    from handraise.client import is_loopback

    try:
        outside = not is_loopback(httpx.URL(url).host)
        with httpx.Client(base_url=url, timeout=10, trust_env=outside) as client:
            alive = client.get("/healthz")
            if alive.status_code != 200:
                yield Finding("server", f"{url} answers {alive.status_code}", "is this a Handraise server?")
                return
            yield Finding("server", f"{url} is alive, version {_served_version(client)}")
            yield _clock(alive)
            readiness = client.get("/readyz").json()
            for name, works in readiness["checks"].items():
                remedy = None if works else "the server's log says why; it goes on trying by itself"
                yield Finding(f"ready: {name}", "yes" if works else "no", remedy)
            parked = readiness["detail"]["parked_aggregates"]
            remedy = f"read models could not digest them; after an upgrade: {command('unpark')}" if parked else None
            yield Finding("parked aggregates", str(parked), remedy)
            for name, key in keys.items():
                yield _key(client, name, key)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        why = str(error) or type(error).__name__
        yield Finding(
            "server", f"cannot reach {url}: {why}", f"start it with `{command('serve')}`, or correct its address"
        )
    except (ValueError, KeyError):
        yield Finding("server", f"{url} answers with something unexpected", "is this a Handraise server?")


def _served_version(client: httpx.Client) -> str:
    return str(client.get("/openapi.json").json()["info"]["version"])


def _clock(response: httpx.Response) -> Finding:
    there = email.utils.parsedate_to_datetime(response.headers["Date"]).timestamp()
    apart = abs(time.time() - there)
    if apart > SKEW_SECONDS:
        return Finding("clock", f"{apart:.0f} s apart from the server's", "set both clocks by NTP")
    return Finding("clock", f"within {SKEW_SECONDS} s of the server's")


def _key(client: httpx.Client, name: str, key: str) -> Finding:
    if not (key.isascii() and key.strip().isprintable()):
        return Finding(name, "holds characters that no key has", "copy it anew, and whole")
    # A read of what is not there: every key that works gets 404, and nothing is written.
    status = client.get(
        "/api/requests/handraise-doctor", headers={"Authorization": f"Bearer {key.strip()}"}
    ).status_code
    if status in (200, 403, 404, 409):
        return Finding(name, "works")
    if status == 401:
        return Finding(name, "unknown, expired or revoked", f"start the server again, or: {command('key', 'create')}")
    return Finding(name, f"the server answers {status}", "see the server's log")


def _version(distribution: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


# -- verify


def verify(
    head: Annotated[
        str | None,
        typer.Option(
            metavar="POSITION:HASH",
            help="A head noted earlier and kept elsewhere: finds a tail that was cut off, too.",
            show_default=False,
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A whole export in JSON Lines, verified without the database; - reads standard input.",
            show_default=False,
        ),
    ] = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Verify the hash chain over all events; prints how many there are, the head, and ok or the first fault.

    The server may be running. Exit code 1 where the log is not what was written.
    """
    import asyncio

    from interfaces import logs
    from interfaces.postgres.chain import Head
    from interfaces.settings import Settings

    try:
        known = None if head is None else Head.parse(head)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--head") from None
    logs.configure(Settings.model_construct(log_level="error", log_format="auto"))
    if export is not None:
        verdict = _verify_export(export, known)
    else:
        verdict = asyncio.run(_verify(database_url, resolve(data_dir), known))
    write_result(f"events {verdict.events}\nhead   {verdict.head}")
    if verdict.fault is not None:
        write_result(f"fault  {visible(verdict.fault)}")
        raise typer.Exit(1)
    write_result("ok")


async def _verify(database_url: str | None, data_dir: Path, known: Head | None) -> Verdict:
    import psycopg

    from interfaces.postgres.chain import verify as verify_chain

    async with (
        database(database_url, data_dir) as conninfo,
        await psycopg.AsyncConnection.connect(conninfo) as connection,
    ):
        return await verify_chain(connection, known_head=known)


def _verify_export(path: Path, known: Head | None) -> Verdict:
    import json
    import sys

    from interfaces.postgres.chain import verify_export

    try:
        with contextlib.nullcontext(sys.stdin) if str(path) == "-" else path.open(encoding="utf-8") as file:
            return verify_export((json.loads(line) for line in file if line.strip()), known_head=known)
    except OSError as error:
        raise CommandFailed(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise CommandFailed(f"{path} is not an export in JSON Lines: {error}") from None
