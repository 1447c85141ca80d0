"""The connection to Slack: kept through everything that happens to it, and no secret when it is not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.test_slack_config import WHOLE, configured
from tests.support.processes import ServerProcess
from tests.support.slack import eventually, fake_slack
from tests.support.slack_workspace import TO_ALICE, URL, Workspace, workspace


async def health(here: Workspace) -> dict[str, Any]:
    """What an administrator is shown."""
    shown = await here.handraise.admin.get("/api/human-feedback/slack/connection")
    assert shown.status_code == 200, shown.text
    return shown.json()


async def ready(here: Workspace) -> dict[str, Any]:
    answer = await here.handraise.nobody.get("/readyz")
    assert answer.status_code == 200  # the rest works without
    return answer.json()["detail"]["slack"]


async def measured(here: Workspace) -> str:
    text = (await here.handraise.nobody.get("/metrics")).text
    return next(line for line in text.splitlines() if line.startswith("handraise_slack_connected")).split()[1]


@pytest.mark.parametrize("how", ["refresh_requested", "warning", "cut"])
async def test_a_lost_connection_is_made_anew(here: Workspace, how: str) -> None:
    """C26: a reply over the next one counts, and one that was sent over the last is not lost."""
    _, message = await here.ask()
    opened = here.slack.opened
    if how == "cut":
        here.slack.cut()
    else:
        await here.slack.disconnect(how)
    await eventually(lambda: here.slack.opened > opened, "another connection")
    asked, message = await here.ask()
    await here.reply(message, here.alice, "yes")
    assert (await here.answered(asked["id"]))["text"] == "yes"
    await eventually(lambda: len(here.slack.connections) == 1, "the old one is closed")
    assert (await health(here))["state"] == "connected"


async def test_a_connection_that_is_deaf_is_noticed(here: Workspace) -> None:
    """C26: nothing comes and nothing goes, and nobody says so: pings do."""
    opened = here.slack.opened
    here.slack.deafen()
    await eventually(lambda: here.slack.opened > opened, "another connection", 50)
    asked, message = await here.ask()
    await here.reply(message, here.alice, "yes")
    assert (await here.answered(asked["id"]))["text"] == "yes"


async def test_an_outage_is_seen_and_ends_by_itself(here: Workspace) -> None:
    """C26: openings that fail are tried again, later each time; readiness, metrics and settings say what is wrong."""
    assert (await health(here)) | {"since": ""} == {"state": "connected", "since": "", "error": None}
    assert (await ready(here), await measured(here)) == (await health(here), "1.0")
    here.slack.fail("apps.connections.open", status=500, times=3)
    opened = here.slack.opened
    here.slack.cut()

    async def failing() -> bool:
        return (await health(here))["state"] == "failing"

    await eventually(failing, "it fails")
    assert (await health(here))["error"]
    assert (await ready(here))["state"] == "failing"
    assert await measured(here) == "0.0"
    await eventually(lambda: here.slack.opened > opened, "another connection")
    asked, message = await here.ask()
    await here.reply(message, here.alice, "yes")
    assert (await here.answered(asked["id"]))["text"] == "yes"
    assert (await health(here))["state"] == "connected"


async def test_a_token_that_is_no_good_is_said(here: Workspace) -> None:
    """In words that help; and another token works at once, without a restart."""
    here.slack.app_scopes.clear()
    here.slack.cut()

    async def failing() -> bool:
        return "connections:write" in ((await health(here))["error"] or "")

    await eventually(failing, "it fails")
    await configured(here.handraise, enabled=False)

    async def off() -> bool:
        return (await health(here))["state"] == "off"

    await eventually(off, "it is off")
    here.slack.app_scopes.add("connections:write")
    await configured(here.handraise, enabled=True)
    await here.slack.connected()


async def test_disabled_it_is_closed(here: Workspace) -> None:
    """Nothing comes in any more; nothing is left behind."""
    await configured(here.handraise, enabled=False)
    await eventually(lambda: here.slack.connections == [], "it is closed")
    assert (await health(here))["state"] == "off"


async def test_only_administrators_see_it(here: Workspace) -> None:
    """What it says is nobody else's business."""
    for client in (await here.handraise.person("carol"), here.handraise.agent, here.handraise.nobody):
        assert (await client.get("/api/human-feedback/slack/connection")).status_code in (401, 403)


async def test_two_answers_at_once_over_two_servers(here: Workspace, database: str, tmp_path: Path) -> None:
    """C3: the same answer is one; of opposite ones the first stands, and the other is told."""
    async with workspace(database, tmp_path / "data", here.slack):
        await here.slack.connected(2)
        asked, message = await here.ask(request_type="approval")
        both = [await here.slack.reply(message, here.alice, "yes") for _ in range(2)]
        for envelope in both:
            await envelope.acknowledged()
        assert here.told(here.alice) == []
        assert (await here.types(asked["id"])).count("Responded") == 1
        asked, message = await here.ask(request_type="approval")
        both = [await here.slack.reply(message, here.alice, said) for said in ("yes", "no")]
        for envelope in both:
            await envelope.acknowledged()
        assert (await here.types(asked["id"])).count("Responded") == 1
        (told,) = here.told(here.alice)
        assert "already closed: it was answered by Alice" in told


async def test_killed_and_started_again(database: str, tmp_path: Path) -> None:
    """C8: a reply to the message of before, and a press of its button, still count; what came meanwhile is not lost."""
    async with fake_slack() as slack:
        alice = slack.user("alice", email="alice@e.test")
        server = ServerProcess(
            tmp_path / "data", database, slack_api_url=slack.url, notification_delay_seconds=0, public_url=URL
        )
        await asyncio.to_thread(server.start)
        try:
            async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=30) as client:
                admin = {"Authorization": f"Bearer {server.admin_key}"}
                agent = {"Authorization": f"Bearer {server.agent_key}"}
                settings = WHOLE | {"notification_delay_seconds": 0}
                for method, path, body in (
                    ("POST", "/api/human-feedback/slack/config", settings),
                    ("POST", "/api/users", {"id": "alice", "name": "Alice", "email": "alice@e.test"}),
                ):
                    made = await client.request(method, path, json=body, headers=admin)
                    assert made.status_code in (200, 201), made.text
                await slack.connected()
                asked = []
                for number in range(3):
                    body = {"message": f"Question {number}?", "request_type": "approval"}
                    made = await client.post(
                        "/api/requests", json=body | {"assignment_strategy": TO_ALICE}, headers=agent
                    )
                    assert made.status_code == 201, made.text
                    asked.append(made.json()["id"])
                await eventually(lambda: len(slack.messages) == 3, "the notices")
                by_request = {
                    message.metadata["event_payload"]["request_id"]: message
                    for message in slack.messages
                    if message.metadata
                }

                async def recorded() -> bool:
                    kinds = []
                    for id in asked:
                        items = (await client.get(f"/api/requests/{id}/history", headers=admin)).json()["items"]
                        kinds.append([item["type"] for item in items])
                    return all("Notified" in kind for kind in kinds)

                await eventually(recorded, "the notices are recorded")
                await asyncio.to_thread(server.kill)
                meanwhile = asyncio.create_task(slack.reply(by_request[asked[0]], alice, "yes"))
                await asyncio.to_thread(server.start)
                await (await meanwhile).acknowledged()
                await (await slack.reply(by_request[asked[1]], alice, "no")).acknowledged()
                await (await slack.click(by_request[asked[2]], alice, action_id="approve")).acknowledged()
                outcomes = []
                for id in asked:
                    outcomes.append((await client.get(f"/api/requests/{id}", headers=agent)).json()["response"])
                assert [(each["outcome"], each["by"], each["via"]) for each in outcomes] == [
                    ("approved", "alice", "slack"), ("rejected", "alice", "slack"), ("approved", "alice", "slack"),
                ]  # fmt: skip
                assert len(slack.messages) == 3
        finally:
            await asyncio.to_thread(server.stop)


async def test_slack_takes_no_more_calls_for_now(here: Workspace) -> None:
    """C23: edits wait as long as Slack asks for, and are then made; the web is as ever."""
    asked, message = await here.ask()
    here.slack.fail("chat.update", status=429, retry_after=3)
    await here.reply(message, here.alice, "yes")
    await here.shows(message, "*Answered* by Alice")
    first, second = here.slack.calls_of("chat.update")
    assert second.at - first.at >= 3
    assert await here.status(asked["id"]) == "Responded"
