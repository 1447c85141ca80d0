"""Fixtures for tests with a Slack beside the service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.test_slack_config import WHOLE, configured
from tests.support.slack import FakeSlack, fake_slack
from tests.support.slack_workspace import Workspace, workspace


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with fake_slack() as fake:
        yield fake


@pytest.fixture
async def here(database: str, tmp_path: Path, slack: FakeSlack) -> AsyncIterator[Workspace]:
    async with workspace(database, tmp_path / "data", slack) as made:
        await configured(made.handraise, **WHOLE | {"notification_delay_seconds": 0})
        made.alice, made.bob = slack.user("alice", email="Alice@e.test"), slack.user("bob")
        for id, fields in {"alice": {"email": "alice@e.test"}, "bob": {"slack_user_id": made.bob.id}}.items():
            await made.handraise.person(id)
            changed = await made.handraise.admin.patch(f"/api/users/{id}", json=fields)
            assert changed.status_code == 200, changed.text
        await slack.connected()
        yield made
