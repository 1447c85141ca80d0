"""A server that has nothing to do leaves its database alone, as the database's own statement log has it."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest

from application.requests import Ask
from domain.callers import AgentCaller
from interfaces.app import running
from interfaces.bootstrap import ensure_credentials
from interfaces.credentials import read_credentials
from interfaces.settings import Settings
from tests.support.read_models import PATIENCE

SELDOM = 10.0
IDLE_SECONDS = 21.0
"""So long that whatever is done more often than every 10 s is seen twice: the time between the two counts."""

_LINE = re.compile(r"^\|(\d+\.\d+)\|(.*?)\|LOG:  (?:statement|execute [^:]*): (.*)$")


async def log_statements(conninfo: str) -> None:
    """Have every statement of every session logged from now on, with its time and the session's name."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute("ALTER SYSTEM SET log_line_prefix = '|%n|%a|'")
        await connection.execute("ALTER SYSTEM SET log_statement = 'all'")
        await connection.execute("SELECT pg_reload_conf()")


def statements(log: Path) -> dict[tuple[str, str], list[float]]:
    """When each statement ran, by session's name and the statement's first line."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line in log.read_text(errors="replace").splitlines():
        if match := _LINE.match(line):
            found[match[2], match[3]].append(float(match[1]))
    return found


@pytest.mark.timeout(120)
async def test_with_nothing_due_no_statement_runs_more_often_than_once_in_ten_seconds(tmp_path: Path) -> None:
    """On its embedded database, with a request waiting whose ladder and end are for tomorrow."""
    settings = Settings(data_dir=tmp_path / "data")
    log = settings.data_dir / "postgres.log"
    async with running(settings) as app:
        await ensure_credentials(app.directory, app.keys, settings, admin_key=True)
        credentials = read_credentials(settings.data_dir)
        assert credentials is not None
        agent = await app.keys.authenticate(credentials.agent_key or "")
        assert isinstance(agent, AgentCaller)
        ladder = [{"afterMinutes": 24 * 60, "to": {"type": "RunUser"}}]
        strategy = {"type": "SpecificUser", "userID": "admin", "escalation": ladder}
        await app.requests.ask(Ask("May I?", assignment_strategy=strategy, expires_in=timedelta(days=2)), agent)
        await app.projector.reached("audit", await app.store.head(), PATIENCE)
        await asyncio.sleep(1)  # let what the start brought about come to its end
        await log_statements(app.conninfo)
        await asyncio.sleep(IDLE_SECONDS)
        found = statements(log)
    often = {
        what: round(gap, 2)
        for what, times in found.items()
        for earlier, later in pairwise(times)
        if (gap := later - earlier) < SELDOM
    }
    assert often == {}
    assert {name for name, _ in found} & {"handraise"}, "nobody even looked: not the log of this server"
