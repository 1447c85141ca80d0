"""Closed requests reported to their agent's webhook: signed, once, tried again for three days, and logged."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from domain.callers import Role
from domain.webhooks import RETRIED_FOR
from interfaces.outside.addresses import Addresses
from interfaces.webhooks.sending import Sender
from interfaces.webhooks.signing import new_secret
from tests.acceptance.test_ladder import carry_out
from tests.interfaces.postgres.test_rotation import rotate, text_of, wrapped_under
from tests.support.read_models import StoppedClock, rows, settled, until, walk
from tests.support.service import Service, service
from tests.support.webhook_receiver import WebhookReceiver, hanging, receiver

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
WEBHOOK = "/api/agents/default/webhook"
ALLOWED = {"webhook_allow_private": True}
SECRET = "the code is 402-881"


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(START)


@pytest.fixture
async def hook(clock: StoppedClock) -> AsyncIterator[WebhookReceiver]:
    """A receiver on a socket of this machine, that has the test's time."""
    async with receiver(clock.now) as made:
        yield made


@pytest.fixture
async def handraise(database: str, tmp_path: Path, clock: StoppedClock) -> AsyncIterator[Service]:
    """A service whose time the test moves, and which carries out what is due when it is told to."""
    async with service(database, tmp_path / "data", clock=clock, **ALLOWED) as made:
        await made.app.scheduler.stop()
        yield made


async def done(call: Any, status: int = 200) -> dict[str, Any]:
    response: httpx.Response = await call
    assert response.status_code == status, response.text
    return response.json()


async def set_up(handraise: Service, hook: WebhookReceiver, agent: str = "default") -> str:
    """A webhook of this agent at the receiver, which knows its secret."""
    made = await done(handraise.admin.put(f"/api/agents/{agent}/webhook", json={"url": hook.hook}), 201)
    hook.secrets[:] = [made["secret"]]
    return made["secret"]


async def closed(handraise: Service, text: str = "yes", **body: Any) -> dict[str, Any]:
    """A request of the default agent, answered just now."""
    asked = await handraise.ask(**body)
    return await done(handraise.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": text}))


async def carried_out_until(handraise: Service, clock: StoppedClock, at: datetime, *others: Service) -> None:
    """Move the clock to this instant, stopping at everything that is due on the way, retries included.

    With several replicas each looks in its turn.
    """
    replicas = (handraise, *others)
    while True:
        for replica in replicas:
            await carry_out(replica)
        # Only now is it known when what has just failed is tried again.
        wait = await carry_out(replicas[0])
        if wait is None or clock.at + wait > at:
            break
        clock.at += wait
        replicas = (*replicas[1:], replicas[0])
    clock.at = at
    await carry_out(handraise)


async def deliveries(handraise: Service) -> list[dict[str, Any]]:
    """The log, the oldest first."""
    return (await walk(handraise.admin, f"{WEBHOOK}/deliveries", 200))[::-1]


async def redeliver(handraise: Service, id: str) -> httpx.Response:
    return await handraise.admin.post(f"{WEBHOOK}/deliveries/{id}/redeliver")


async def outcomes(handraise: Service) -> list[tuple[int, str, str | None]]:
    return [(each["attempt"], each["outcome"], each["error"]) for each in await deliveries(handraise)]


async def reports_due(database: str) -> int:
    return (await rows(database, "SELECT count(*) FROM due_steps WHERE step LIKE 'webhook:%'"))[0][0]


# -- setting one up


async def test_a_webhook_is_set_shown_changed_and_removed(handraise: Service, clock: StoppedClock) -> None:
    """The secret is whole once, when it is made; the same again changes nothing; after a removal it is another."""
    assert (await handraise.admin.get(WEBHOOK)).status_code == 404
    url = "http://127.0.0.1:9/hook?of=agents"
    made = await handraise.admin.put(WEBHOOK, json={"url": url})
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    secret = made.json()["secret"]
    head = await handraise.app.store.head()
    shown = {
        "url": url,
        "enabled": True,
        "secret": f"whsec_...{secret[-4:]}",
        "previous_secret_until": None,
        "created_at": "2026-03-02T09:00:00.000Z",
        "changed_at": "2026-03-02T09:00:00.000Z",
    }
    assert made.json() == shown | {"secret": secret, "position": head}
    assert await done(handraise.admin.get(WEBHOOK)) == shown
    clock.at += timedelta(minutes=1)
    assert await done(handraise.admin.put(WEBHOOK, json={"url": url})) == shown | {"position": head}
    off = shown | {"enabled": False, "changed_at": "2026-03-02T09:01:00.000Z"}
    changed = await done(handraise.admin.put(WEBHOOK, json={"url": url, "enabled": False}))
    assert changed == off | {"position": head + 1}
    assert await done(handraise.admin.delete(WEBHOOK)) == {"position": head + 2}
    assert await rows(handraise.app.conninfo, "SELECT id FROM webhook_secrets") == []
    for call in (
        handraise.admin.get(WEBHOOK),
        handraise.admin.delete(WEBHOOK),
        handraise.admin.post(f"{WEBHOOK}/rotate"),
        handraise.admin.post(f"{WEBHOOK}/test"),
    ):
        assert (await call).status_code == 404
    again = await done(handraise.admin.put(WEBHOOK, json={"url": url}), 201)
    assert again["secret"] != secret
    assert again["created_at"] == "2026-03-02T09:01:00.000Z"


async def test_only_administrators_change_it_and_auditors_see_it(handraise: Service) -> None:
    """Nobody else learns even whether there is one."""
    await done(handraise.admin.put(WEBHOOK, json={"url": "http://127.0.0.1:9/"}), 201)
    auditor, member = await handraise.person("auditor", Role.AUDITOR), await handraise.person("member")
    for path in ("/api/webhooks", WEBHOOK, f"{WEBHOOK}/deliveries"):
        assert (await auditor.get(path)).status_code == 200
        for client in (member, handraise.agent):
            assert (await client.get(path)).status_code == 403
    for client in (auditor, member, handraise.agent):
        for call in (
            client.put(WEBHOOK, json={"url": "http://127.0.0.1:9/"}),
            client.delete(WEBHOOK),
            client.post(f"{WEBHOOK}/rotate"),
            client.post(f"{WEBHOOK}/test"),
            client.post(f"{WEBHOOK}/deliveries/{uuid4()}/redeliver"),
        ):
            assert (await call).status_code == 403


async def test_an_agent_that_is_not_there_has_none(handraise: Service) -> None:
    """Nor does one that was removed, whatever it had."""
    assert (await handraise.admin.put("/api/agents/nobody/webhook", json={"url": "x"})).status_code == 404
    await handraise.app.directory.add("agent", {"name": "Gone"}, by=None, id="gone")
    await done(handraise.admin.put("/api/agents/gone/webhook", json={"url": "http://127.0.0.1:9/"}), 201)
    await done(handraise.admin.delete("/api/agents/gone"))
    for path in ("webhook", "webhook/deliveries"):
        assert (await handraise.admin.get(f"/api/agents/gone/{path}")).status_code == 404
    for table in ("webhooks", "webhook_secrets"):
        assert await rows(handraise.app.conninfo, f"SELECT * FROM {table}") == []


@pytest.mark.parametrize(
    "url",
    [
        *("https://127.0.0.1/x", "https://[::1]/x", "https://10.0.0.8/x", "https://169.254.169.254/latest"),
        *("https://localhost/x", "http://93.184.216.34/x", "http://127.0.0.1/x", "https://user:pass@93.184.216.34/x"),
        *("ftp://93.184.216.34/x", "https://93.184.216.34:99999/x", "https://93.184.216.34/#x", "", "x", "https://é/"),
    ],
)
async def test_the_server_is_no_way_into_its_own_network(database: str, tmp_path: Path, url: str) -> None:
    """Unless its owner says so, a webhook is an address of the internet, and https."""
    async with service(database, tmp_path / "data") as handraise:
        refused = await handraise.admin.put(WEBHOOK, json={"url": url})
        assert refused.status_code == 422
        assert [error["path"] for error in refused.json()["errors"]] == ["url"]
        assert (await handraise.admin.put(WEBHOOK, json={"url": "https://93.184.216.34/x"})).status_code == 201


async def test_private_networks_where_they_are_allowed(database: str, tmp_path: Path) -> None:
    """Then also without https, which is for them only."""
    async with service(database, tmp_path / "data", **ALLOWED) as handraise:
        for url in ("http://10.0.0.8:8080/x", "http://[::1]/x", "https://192.168.1.1/x"):
            assert (await handraise.admin.put(WEBHOOK, json={"url": url})).is_success, url
        refused = await handraise.admin.put(WEBHOOK, json={"url": "http://93.184.216.34/x"})
        assert refused.json()["errors"][0]["message"].endswith("without https only a private network can be reached")


async def test_the_trail_says_who_did_what_and_no_secret(handraise: Service, hook: WebhookReceiver) -> None:
    """The address is a fact; a secret stands nowhere in plain text, in no event and no table."""
    secret = await set_up(handraise, hook)
    rotated = await done(handraise.admin.post(f"{WEBHOOK}/rotate"))
    await done(handraise.admin.delete(WEBHOOK))
    await settled(handraise)
    items = (await done(handraise.admin.get("/api/audit", params={"limit": 200})))["items"]
    found = [(item["type"], item["actor"], item["facts"]) for item in reversed(items) if item["of"] == "Webhook"]
    assert [(type_, actor) for type_, actor, _ in found] == [
        ("Configured", "admin"),
        ("SecretRotated", "admin"),
        ("Removed", "admin"),
    ]
    assert found[0][2]["url"] == hook.hook
    await set_up(handraise, hook)
    dumped = []
    for (table,) in await rows(handraise.app.conninfo, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        dumped += [row for (row,) in await rows(handraise.app.conninfo, f"SELECT t::text FROM {table} t")]
    kept = "\n".join(dumped)
    assert hook.hook in kept
    for each in (secret, rotated["secret"], hook.secrets[0]):
        bare = each.removeprefix("whsec_")
        assert bare not in kept
        assert bare.encode().hex() not in kept


# -- reporting


@pytest.mark.parametrize("how", ["respond", "cancel", "expire"])
async def test_a_closed_request_is_reported_once(
    handraise: Service, hook: WebhookReceiver, clock: StoppedClock, how: str
) -> None:
    """However it closed: signed, as the API shows it, and never again."""
    await set_up(handraise, hook)
    asked = await handraise.ask(message="Déploy?", unique_id="deploy", metadata={"run": 7}, expires_in_seconds=600)
    await carried_out_until(handraise, clock, START + timedelta(minutes=5))
    assert hook.calls == []
    if how == "respond":
        await done(handraise.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"}))
    elif how == "cancel":
        await done(handraise.agent.post(f"/api/requests/{asked['id']}/cancel", json={"reason": "not needed"}))
    await carried_out_until(handraise, clock, START + timedelta(days=4))
    (received,) = hook.received
    shown = await done(handraise.agent.get(f"/api/requests/{asked['id']}"))
    assert shown["status"] in ("Responded", "Cancelled", "Expired")
    assert received.message == {"type": "request.closed", "timestamp": shown["closed_at"], "data": shown}
    assert received.id == f"msg_{UUID(asked['id']).hex}_{shown['version']}"
    assert hook.calls == [hook.hook]
    assert await outcomes(handraise) == [(1, "delivered", None)]
    assert await reports_due(handraise.app.conninfo) == 0
    assert await carry_out(handraise) is None


async def test_at_once_by_itself(database: str, tmp_path: Path) -> None:
    """With nobody who moves the clock; the log and the metrics know."""
    async with receiver() as hook, service(database, tmp_path / "data", **ALLOWED) as handraise:
        await set_up(handraise, hook)
        request = await closed(handraise)

        async def logged() -> bool:
            return bool(await deliveries(handraise))

        await until(logged)
        (entry,) = await deliveries(handraise)
        assert entry["duration_ms"] >= 0
        assert entry | {"at": "", "duration_ms": 0} == {
            "request": request["id"],
            "webhook_id": hook.received[0].id,
            "attempt": 1,
            "at": "",
            "outcome": "delivered",
            "status": 204,
            "error": None,
            "duration_ms": 0,
            "next_at": None,
        }
        metrics = (await handraise.nobody.get("/metrics")).text
        assert 'handraise_webhook_deliveries_total{outcome="delivered"} 1.0' in metrics


async def test_what_failed_is_tried_again_by_itself(database: str, tmp_path: Path) -> None:
    """After five seconds, with nobody who moves the clock: the scheduler does not sleep past it."""
    async with receiver() as hook, service(database, tmp_path / "data", **ALLOWED) as handraise:
        await set_up(handraise, hook)
        hook.answers.append(Response(status_code=500))
        await closed(handraise)

        async def twice() -> bool:
            return len(hook.received) == 2

        await until(twice)
        first, second = hook.received
        assert 4 <= second.timestamp - first.timestamp <= 9


async def test_agents_without_a_webhook_leave_nothing_to_do(handraise: Service, hook: WebhookReceiver) -> None:
    """Nor do those whose webhook is switched off; what closed meanwhile is not made up for."""
    await handraise.another_agent("other")
    await set_up(handraise, hook, "other")
    await closed(handraise)
    await set_up(handraise, hook)
    await done(handraise.admin.put(WEBHOOK, json={"url": hook.hook, "enabled": False}))
    request = await closed(handraise)
    assert await reports_due(handraise.app.conninfo) == 0
    assert (await redeliver(handraise, request["id"])).status_code == 409
    await done(handraise.admin.put(WEBHOOK, json={"url": hook.hook}))
    await carry_out(handraise)
    assert hook.calls == []
    await closed(handraise)
    await carry_out(handraise)
    assert len(hook.received) == 1


@pytest.mark.parametrize("how", ["off", "removed"])
async def test_what_is_due_when_it_goes_is_dropped(
    handraise: Service, hook: WebhookReceiver, clock: StoppedClock, how: str
) -> None:
    """Nothing is sent any more, and nothing is left to do."""
    await set_up(handraise, hook)
    await closed(handraise)
    if how == "off":
        await done(handraise.admin.put(WEBHOOK, json={"url": hook.hook, "enabled": False}))
    else:
        await done(handraise.admin.delete(WEBHOOK))
    await carried_out_until(handraise, clock, START + timedelta(days=4))
    assert hook.calls == []
    assert await reports_due(handraise.app.conninfo) == 0
    assert await deliveries(handraise) == []


async def test_a_sealed_answer_is_nowhere(handraise: Service, hook: WebhookReceiver) -> None:
    """The report says that it is there, so that the agent comes to collect it."""
    await set_up(handraise, hook)
    await closed(handraise, SECRET, secret=True)
    await carry_out(handraise)
    (received,) = hook.received
    response = received.message["data"]["response"]
    assert (response["sealed"], response["text"], response["data"]) == (True, None, None)
    assert SECRET.encode() not in received.body
    (entry,) = await deliveries(handraise)
    assert SECRET not in json.dumps(entry)


async def test_of_an_erased_request_the_fact_is_reported(handraise: Service, hook: WebhookReceiver) -> None:
    """That it closed and how is no content: it is sent all the same, without a word of what was written."""
    await set_up(handraise, hook)
    request = await closed(handraise, "words of the answer", message="words of the agent")
    await done(handraise.admin.post(f"/api/requests/{request['id']}/erase"))
    await carry_out(handraise)
    (received,) = hook.received
    assert received.id == f"msg_{UUID(request['id']).hex}_{request['version']}"
    data = received.message["data"]
    assert (data["erased"], data["status"], data["message"], data["response"]["text"]) == (
        *(True, "Responded", None, None),
    )
    assert b"words of" not in received.body


# -- trying again


async def test_it_is_tried_again_for_three_days_and_then_given_up(
    handraise: Service, hook: WebhookReceiver, clock: StoppedClock
) -> None:
    """At growing distances, always under the same id; each attempt has its own time and signature."""
    await set_up(handraise, hook)
    request = await closed(handraise)
    hook.answers.extend(Response(status_code=500 + number) for number in range(50))
    await carried_out_until(handraise, clock, START + timedelta(days=10))
    log = await deliveries(handraise)
    times = [datetime.fromisoformat(entry["at"]) for entry in log]
    waits = [later - earlier for earlier, later in pairwise(times)]
    hours = [5 / 3600, 5 / 60, 0.5, 2, 5, 10, 10, 12, 12, 12]
    for wait, planned in zip(waits, hours[: len(waits) - 1], strict=False):
        assert timedelta(hours=planned) <= wait <= timedelta(hours=planned * 1.1), (wait, planned)
    assert times[-1] - times[0] == RETRIED_FOR
    assert [entry["attempt"] for entry in log] == list(range(1, len(log) + 1))
    assert {entry["outcome"] for entry in log[:-1]} == {"failed"}
    last = log[-1]
    assert (last["outcome"], last["next_at"], last["request"]) == ("given_up", None, request["id"])
    assert [entry["error"] for entry in log[:2]] == ["answered 500", "answered 501"]
    assert [entry["next_at"] for entry in log[:-1]] == [entry["at"] for entry in log[1:]]
    assert len({received.id for received in hook.received}) == 1
    assert len({received.timestamp for received in hook.received}) == len(log) == len(hook.received)
    assert await carry_out(handraise) is None


async def test_it_ends_with_the_first_success(handraise: Service, hook: WebhookReceiver, clock: StoppedClock) -> None:
    """Whatever came before."""
    await set_up(handraise, hook)
    await closed(handraise)
    hook.answers.extend([Response(status_code=404), PlainTextResponse(SECRET, 400)])
    await carried_out_until(handraise, clock, START + timedelta(days=10))
    assert await outcomes(handraise) == [
        (1, "failed", "answered 404"),
        (2, "failed", "answered 400"),
        (3, "delivered", None),
    ]
    kept = await rows(handraise.app.conninfo, "SELECT t::text FROM webhook_attempts t")
    assert SECRET not in str(kept)


async def test_who_is_gone_is_not_called_again(handraise: Service, hook: WebhookReceiver, clock: StoppedClock) -> None:
    """410 ends this report; the next one is made all the same."""
    await set_up(handraise, hook)
    await closed(handraise)
    hook.answers.append(Response(status_code=410))
    await carried_out_until(handraise, clock, START + timedelta(days=1))
    assert await outcomes(handraise) == [(1, "given_up", "answered 410")]
    await closed(handraise)
    await carry_out(handraise)
    assert [received.message["type"] for received in hook.received] == 2 * ["request.closed"]


async def test_a_receiver_that_asks_for_time_gets_it(
    handraise: Service, hook: WebhookReceiver, clock: StoppedClock
) -> None:
    """In seconds or as a date; at least what is planned; nonsense and more than a day do not count."""
    await set_up(handraise, hook)
    await closed(handraise)
    at = START + timedelta(minutes=10)
    asked_for = ["600", "1", "whenever", format_datetime(at + timedelta(hours=30), usegmt=True), "9" * 400]
    hook.answers.extend(Response(status_code=503, headers={"Retry-After": said}) for said in asked_for)
    await carried_out_until(handraise, clock, START + timedelta(days=10))
    times = [datetime.fromisoformat(entry["at"]) for entry in await deliveries(handraise)]
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert waits[0] == timedelta(minutes=10)
    assert timedelta(minutes=5) <= waits[1] <= timedelta(minutes=5.5)
    assert timedelta(minutes=30) <= waits[2] <= timedelta(minutes=33)
    assert waits[3:] == [timedelta(days=1), timedelta(days=1)]
    assert (await outcomes(handraise))[-1] == (6, "delivered", None)


async def test_a_redirect_is_not_followed(handraise: Service, hook: WebhookReceiver, clock: StoppedClock) -> None:
    """Wherever it leads: nobody has looked at that place."""
    await set_up(handraise, hook)
    await closed(handraise)
    hook.answers.extend(RedirectResponse(f"{hook.url}/elsewhere", status) for status in (301, 302, 307, 308))
    await carried_out_until(handraise, clock, START + timedelta(hours=3))
    assert set(hook.calls) == {hook.hook}
    assert len(hook.calls) == 5
    assert (await outcomes(handraise))[0] == (1, "failed", "answered 301: redirects are not followed")


async def test_one_that_is_not_there_or_hangs_is_tried_again(
    handraise: Service, hook: WebhookReceiver, clock: StoppedClock
) -> None:
    """In words without the address. It is given up on after a while, so that the lease holds."""
    await done(handraise.admin.put(WEBHOOK, json={"url": "https://127.0.0.1:9/private-path"}), 201)
    await closed(handraise)
    await carry_out(handraise)
    (entry,) = await deliveries(handraise)
    assert (entry["outcome"], entry["status"], entry["error"]) == ("failed", None, "cannot be reached (ConnectError)")
    hook.secrets.append(new_secret())
    hook.answers.append(hanging)
    sender = Sender(Addresses(allow_private=True), clock, give_up_after=0.2)
    answered = await sender.send(hook.hook, hook.secrets, "msg_1", b'{"type":"a","timestamp":"b","data":{}}')
    await sender.close()
    assert (answered.status, answered.error) == (None, "no answer within 0.2 s")
    assert timedelta(seconds=0.2) <= answered.duration < timedelta(seconds=5)


async def test_what_was_set_is_checked_again_before_it_is_called(
    database: str, tmp_path: Path, hook: WebhookReceiver, clock: StoppedClock
) -> None:
    """The address of a name may have changed since, or the setting: nothing is sent, and the log says why."""
    async with service(database, tmp_path / "data", clock=clock, **ALLOWED) as before:
        await before.app.scheduler.stop()
        await set_up(before, hook)
        await closed(before)
    async with service(database, tmp_path / "data", clock=clock) as handraise:
        # Its own scheduler may have begun with it when it was stopped: then the lease has to end.
        await carried_out_until(handraise, clock, START + timedelta(minutes=1))
        entry = (await deliveries(handraise))[0]
        assert entry["outcome"] == "failed"
        assert entry["error"] == "not called: its host has an address that is not public"
        tested = await done(handraise.admin.post(f"{WEBHOOK}/test"))
        assert (tested["delivered"], tested["error"]) == (False, entry["error"])
    assert hook.calls == []


async def test_a_name_that_leads_elsewhere_by_now_is_not_called() -> None:
    """It was public when the webhook was set; it is looked up once for each call, and called where that led."""
    turns = [["93.184.216.34"], ["127.0.0.1"]]
    sender = Sender(Addresses(allow_private=False, look_up=lambda host, port: turns.pop(0)), StoppedClock(START))
    await sender.check("https://hooks.example.com/x")
    answered = await sender.send("https://hooks.example.com/x", [new_secret()], "msg_1", b"{}")
    await sender.close()
    assert (turns, answered.status) == ([], None)
    assert answered.error == "not called: its host has an address that is not public"


# -- crashes and replicas


async def test_killed_between_call_and_record_the_repeat_has_the_same_id(
    handraise: Service, hook: WebhookReceiver, clock: StoppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver has it already, and can know that; nothing is lost."""
    await set_up(handraise, hook)
    await closed(handraise)

    async def killed(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patched:
        patched.setattr("interfaces.postgres.webhooks.PostgresWebhooks.record", killed)
        await carry_out(handraise)
    assert (len(hook.received), await deliveries(handraise)) == (1, [])
    await carried_out_until(handraise, clock, START + timedelta(minutes=5))
    first, second = hook.received
    assert (first.id, first.message) == (second.id, second.message)
    assert await outcomes(handraise) == [(1, "delivered", None)]


async def test_two_replicas_report_once_and_hear_of_each_others_webhooks(
    database: str, tmp_path: Path, clock: StoppedClock, hook: WebhookReceiver
) -> None:
    """Whichever it was set at, and whichever closes."""
    async with AsyncExitStack() as stack:
        one, other = [
            await stack.enter_async_context(service(database, tmp_path / "data", clock=clock, **ALLOWED))
            for _ in range(2)
        ]
        for replica in (one, other):
            await replica.app.scheduler.stop()
        await set_up(one, hook)
        requests = [await closed(replica, unique_id=f"{number}") for number, replica in enumerate((one, other) * 10)]
        await asyncio.gather(carry_out(one), carry_out(other))
        await carried_out_until(one, clock, START + timedelta(days=4), other)
        assert sorted(received.message["data"]["id"] for received in hook.received) == sorted(
            request["id"] for request in requests
        )


async def test_a_replica_wakes_although_the_webhook_was_set_at_another(database: str, tmp_path: Path) -> None:
    """It hears of the first webhook by a NOTIFY, and is not left to its next look, which is a minute away."""
    async with receiver() as hook, AsyncExitStack() as stack:
        one, other = [
            await stack.enter_async_context(service(database, tmp_path / "data", **ALLOWED)) for _ in range(2)
        ]
        await one.app.scheduler.stop()
        await set_up(one, hook)
        await asyncio.sleep(0.5)
        await closed(other)

        async def reported() -> bool:
            return bool(hook.received)

        await until(reported)


# -- secrets


async def test_for_a_day_after_a_rotation_both_secrets_sign(
    handraise: Service, hook: WebhookReceiver, clock: StoppedClock
) -> None:
    """So that the receiver can take its time; of two rotations in a day only the newer two count."""
    first = await set_up(handraise, hook)
    rotated = await handraise.admin.post(f"{WEBHOOK}/rotate")
    second = rotated.json()["secret"]
    assert (rotated.status_code, rotated.headers["cache-control"]) == (200, "no-store")
    assert rotated.json()["previous_secret_until"] == "2026-03-03T09:00:00.000Z"
    assert second not in (first, None)
    hook.secrets[:] = [second, first]
    await closed(handraise)
    await carry_out(handraise)
    clock.at = START + timedelta(hours=24)
    hook.secrets[:] = [second]
    await closed(handraise)
    await carry_out(handraise)
    assert (await done(handraise.admin.get(WEBHOOK)))["previous_secret_until"] is None
    assert len(await rows(handraise.app.conninfo, "SELECT id FROM webhook_secrets")) == 1
    third = (await done(handraise.admin.post(f"{WEBHOOK}/rotate")))["secret"]
    fourth = (await done(handraise.admin.post(f"{WEBHOOK}/rotate")))["secret"]
    hook.secrets[:] = [fourth, third]
    await closed(handraise)
    await carry_out(handraise)
    assert [len(received.signatures) for received in hook.received] == [2, 1, 2]


async def test_a_rotation_of_the_master_key_keeps_the_secret(
    database: str, tmp_path: Path, clock: StoppedClock, hook: WebhookReceiver
) -> None:
    """It is wrapped anew: while servers run, and after a start with the new key."""
    old = os.urandom(32)
    async with service(database, tmp_path / "data", clock=clock, secret_key=text_of(old), **ALLOWED) as handraise:
        secret = await set_up(handraise, hook)
        rotation = await rotate(database, old)
        assert (await done(handraise.admin.post(f"{WEBHOOK}/test")))["delivered"]
    assert (await wrapped_under(database, old))[0] == 0
    restarted = service(database, tmp_path / "data", clock=clock, secret_key=text_of(rotation.new), **ALLOWED)
    async with restarted as handraise:
        assert (await done(handraise.admin.get(WEBHOOK)))["secret"].endswith(secret[-4:])
        assert (await done(handraise.admin.post(f"{WEBHOOK}/test")))["delivered"]


async def test_a_damaged_secret_can_be_rotated(handraise: Service, hook: WebhookReceiver, clock: StoppedClock) -> None:
    """Nothing is sent unsigned; the log says what to do, and afterwards the report arrives."""
    await set_up(handraise, hook)
    await closed(handraise)
    await rows(handraise.app.conninfo, "UPDATE webhook_secrets SET wrapped = decode(repeat('00', 60), 'hex')")
    await carry_out(handraise)
    assert await outcomes(handraise) == [(1, "failed", "not called: its secret cannot be opened, rotate it")]
    assert (await done(handraise.admin.get(WEBHOOK)))["secret"] is None
    hook.secrets[:] = [(await done(handraise.admin.post(f"{WEBHOOK}/rotate")))["secret"]]
    await carried_out_until(handraise, clock, START + timedelta(minutes=10))
    assert len(hook.received) == 1


# -- by hand, and the log


async def test_trying_it_out_says_what_came_back(handraise: Service, hook: WebhookReceiver) -> None:
    """A signed message that reports nothing, also while it is switched off; it is in no log."""
    await set_up(handraise, hook)
    await done(handraise.admin.put(WEBHOOK, json={"url": hook.hook, "enabled": False}))
    tested = await done(handraise.admin.post(f"{WEBHOOK}/test"))
    assert tested | {"duration_ms": 0} == {"delivered": True, "status": 204, "error": None, "duration_ms": 0}
    hook.answers.append(PlainTextResponse("what only the receiver knows", 401))
    refused = await handraise.admin.post(f"{WEBHOOK}/test")
    assert (refused.json()["delivered"], refused.json()["status"], refused.json()["error"]) == (
        *(False, 401, "answered 401"),
    )
    assert "only the receiver" not in refused.text
    message = {"type": "webhook.test", "timestamp": "2026-03-02T09:00:00.000Z", "data": {"agent": "default"}}
    assert [received.message for received in hook.received] == [message, message]
    assert len({received.id for received in hook.received}) == 2
    assert await deliveries(handraise) == []


async def test_a_report_is_made_again_by_hand(handraise: Service, hook: WebhookReceiver, clock: StoppedClock) -> None:
    """Delivered or given up, long ago or never; under the same id. When it fails long after, that was that."""
    unreported = await closed(handraise)
    await set_up(handraise, hook)
    request = await closed(handraise)
    hook.answers.append(Response(status_code=410))
    await carry_out(handraise)
    clock.at += timedelta(days=10)
    head = await handraise.app.store.head()
    for again in (request, request, unreported):
        response = await redeliver(handraise, again["id"])
        assert (response.status_code, response.json()) == (200, {"position": head})
        await carry_out(handraise)
    hook.answers.append(Response(status_code=500))
    await redeliver(handraise, unreported["id"])
    await carried_out_until(handraise, clock, clock.at + timedelta(days=5))
    assert await outcomes(handraise) == [
        (1, "given_up", "answered 410"),
        (2, "delivered", None),
        (3, "delivered", None),
        (1, "delivered", None),
        (2, "given_up", "answered 500"),
    ]
    assert len({received.id for received in hook.received}) == 2


async def test_what_cannot_be_reported_by_hand(handraise: Service, hook: WebhookReceiver) -> None:
    """What is open, what is another agent's, what there is not, and what is no id at all."""
    await set_up(handraise, hook)
    asked = await handraise.ask()
    assert (await redeliver(handraise, asked["id"])).status_code == 409
    assert (await redeliver(handraise, str(uuid4()))).status_code == 404
    assert (await redeliver(handraise, "deploy")).status_code == 422
    other = await handraise.another_agent("other")
    others = await done(other.post("/api/requests", json={"message": "x"}), 201)
    await done(handraise.admin.post(f"/api/requests/{others['id']}/respond", json={"text": "y"}))
    assert (await redeliver(handraise, others["id"])).status_code == 404
    await carry_out(handraise)
    assert hook.calls == []


async def test_the_log_comes_in_pages_newest_first(handraise: Service, hook: WebhookReceiver) -> None:
    """Each attempt once; another list's cursor is refused."""
    await set_up(handraise, hook)
    for _ in range(7):
        await closed(handraise)
    await carry_out(handraise)
    whole = await walk(handraise.admin, f"{WEBHOOK}/deliveries", 200)
    assert len({entry["request"] for entry in whole}) == 7
    assert await walk(handraise.admin, f"{WEBHOOK}/deliveries", 3) == whole
    assert [entry["at"] for entry in whole] == sorted((entry["at"] for entry in whole), reverse=True)
    other = (await done(handraise.admin.get("/api/users", params={"limit": 1})))["next_cursor"]
    if other is not None:
        refused = await handraise.admin.get(f"{WEBHOOK}/deliveries", params={"cursor": other})
        assert refused.status_code == 400


async def test_all_webhooks_are_listed_with_their_last_attempt(handraise: Service, hook: WebhookReceiver) -> None:
    """By their agents, in pages; not that of an agent that was removed."""
    await set_up(handraise, hook)
    for agent in ("another", "gone"):
        await handraise.app.directory.add("agent", {"name": agent}, by=None, id=agent)
        body = {"url": f"http://127.0.0.1:9/{agent}", "enabled": False}
        await done(handraise.admin.put(f"/api/agents/{agent}/webhook", json=body), 201)
    await done(handraise.admin.delete("/api/agents/gone"))
    hook.answers.append(Response(status_code=500))
    for _ in range(2):
        await closed(handraise)
        await carry_out(handraise)
    last = (await deliveries(handraise))[-1]
    assert last["outcome"] == "delivered"
    assert await walk(handraise.admin, "/api/webhooks", 1) == [
        {"agent": "another", "url": "http://127.0.0.1:9/another", "enabled": False, "last": None},
        {"agent": "default", "url": hook.hook, "enabled": True, "last": last},
    ]


async def test_the_log_forgets_after_a_month(handraise: Service, hook: WebhookReceiver, clock: StoppedClock) -> None:
    """What is older is not shown, and goes for good with the next attempt."""
    await set_up(handraise, hook)
    await closed(handraise)
    await carry_out(handraise)
    clock.at += timedelta(days=30)
    assert len(await deliveries(handraise)) == 1
    clock.at += timedelta(seconds=1)
    assert await deliveries(handraise) == []
    assert len(await rows(handraise.app.conninfo, "SELECT id FROM webhook_attempts")) == 1
    await closed(handraise)
    await carry_out(handraise)
    assert len(await deliveries(handraise)) == 1
    assert len(await rows(handraise.app.conninfo, "SELECT id FROM webhook_attempts")) == 1
