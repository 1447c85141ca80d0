"""`serve --role`: one server answers calls, another one beside it does what time and events bring about."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from interfaces.app import running
from interfaces.settings import Settings
from tests.acceptance.test_slack_config import WHOLE, configured
from tests.acceptance.test_webhooks import WEBHOOK, redeliver, set_up
from tests.support.processes import ServerProcess, cli_here
from tests.support.read_models import until
from tests.support.service import service
from tests.support.slack import eventually, fake_slack
from tests.support.webhook_receiver import receiver


async def test_a_web_server_and_a_worker_do_together_what_one_does(database: str, tmp_path: Path) -> None:
    """Without a worker people are asked and agents get their answers; all else is made up for once there is one."""
    async with AsyncExitStack() as stack:
        hook, slack = await stack.enter_async_context(receiver()), await stack.enter_async_context(fake_slack())
        shared: dict[str, Any] = {"webhook_allow_private": True, "slack_api_url": slack.url}
        web = await stack.enter_async_context(service(database, tmp_path / "web", role="web", **shared))
        await set_up(web, hook)
        await configured(web, **WHOLE | {"notification_delay_seconds": 0})

        async def waited(id: str) -> dict[str, Any]:
            return (await web.agent.get(f"/api/requests/{id}/wait", params={"timeout_seconds": 60})).json()

        async def listed(position: int) -> set[str]:
            answer = await web.admin.get("/api/requests", params={"min_position": position})
            return {item["id"] for item in answer.json()["items"]}

        asked, late = await web.ask(), await web.ask(expires_in_seconds=0.05)
        waiting, expiring = asyncio.create_task(waited(asked["id"])), asyncio.create_task(waited(late["id"]))
        await web.waiting(2)
        said = (await web.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})).json()
        assert (await waiting)["response"]["text"] == "yes"
        # Whatever a worker would have done by now, this server has not.
        assert await listed(said["position"]) == set()
        assert (expiring.done(), hook.received, slack.connections) == (False, [], [])

        # The same master key, as servers on several machines have it from HANDRAISE_SECRET_KEY.
        folder = tmp_path / "worker"
        folder.mkdir(mode=0o700)
        (folder / "secret.key").write_bytes((tmp_path / "web" / "secret.key").read_bytes())
        settings = Settings(data_dir=folder, database_url=database, role="worker", **shared)
        worker = await stack.enter_async_context(running(settings))
        assert (await expiring)["status"] == "Expired"
        await slack.connected()
        message = await web.ask(message="Shown in Slack?")
        assert message["id"] in await listed(message["position"])
        await eventually(lambda: any("Shown in Slack?" in str(posted.blocks) for posted in slack.messages), "told")
        await eventually(lambda: len(hook.received) == 2, "both closed requests are reported")

        async def logged() -> bool:
            return len((await web.admin.get(f"{WEBHOOK}/deliveries")).json()["items"]) == 2

        await until(logged)
        assert (await redeliver(web, asked["id"])).status_code == 200
        await eventually(lambda: len(hook.received) == 3, "a report is repeated at once, and not at the next look")
        assert [report.message["data"]["id"] for report in hook.received].count(asked["id"]) == 2

        probe = httpx.AsyncClient(transport=httpx.ASGITransport(worker.api), base_url="http://127.0.0.1")
        async with probe:
            assert (await probe.get("/readyz")).json()["status"] == "ready"
            assert "handraise_slack_connected 1.0" in (await probe.get("/metrics")).text
            refused = await probe.get("/api/requests")
        assert (refused.status_code, refused.headers["content-type"]) == (404, "application/problem+json")
        assert "this server is a worker" in refused.json()["detail"]
        assert (await web.nobody.get("/readyz")).json()["status"] == "ready"


def test_a_role_without_a_shared_database_is_refused(tmp_path: Path) -> None:
    """Nobody else can use the embedded one; and a role that there is not is named."""
    here = {"HANDRAISE_DATA_DIR": str(tmp_path / "data"), "HANDRAISE_PORT": "0"}
    refused = cli_here("serve", "--role", "worker", env=here)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("Error: HANDRAISE_ROLE: worker is one half of a server, and no other can use its ")
    unknown = cli_here("serve", "--role", "both", env=here)
    assert (unknown.code, "HANDRAISE_ROLE: Input should be 'all', 'web' or 'worker'" in unknown.err) == (1, True)
    assert not (tmp_path / "data").exists()


@pytest.mark.thorough
def test_as_processes(database: str, tmp_path: Path) -> None:
    """As they are started: the worker writes no keys, says what it is, and either can be restarted alone."""
    shared = {"secret_key": "c2VjcmV0IGtleSBmb3IgdGhlIHRlc3RzIG9mIHJvbGU="}
    with (
        ServerProcess(tmp_path / "web", database, arguments=("--role", "web"), **shared) as web,
        ServerProcess(tmp_path / "worker", database, role="worker", **shared) as worker,
    ):
        assert worker.output == f"A worker of Handraise is running; {worker.url}/readyz says whether it can work\n"
        assert not (worker.data_dir / "credentials.json").exists()
        with web.agent() as agent, web.admin() as admin:
            asked = agent.post("/api/requests", json={"message": "Well?"}).json()
            assert worker.terminate() == 0
            late = agent.post("/api/requests", json={"message": "Too late?", "expires_in_seconds": 0.05}).json()
            assert admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"}).status_code == 200
            worker.start()
            ended = agent.get(f"/api/requests/{late['id']}/wait", params={"timeout_seconds": 60}).json()
            assert ended["status"] == "Expired"
            shown = admin.get("/api/requests", params={"min_position": ended["position"]}).json()["items"]
            assert {item["status"] for item in shown} == {"Responded", "Expired"}
        assert (web.terminate(), worker.terminate()) == (0, 0)
