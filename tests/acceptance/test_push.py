"""Being told in a browser that is not open: from the subscription to the notice that the browser shows."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, TypeGuard
from uuid import UUID

import httpx
import pytest
from starlette.responses import PlainTextResponse, RedirectResponse

from application.subscriptions import MOST_EACH
from domain.callers import Role
from domain.request import Request
from interfaces.postgres.vapid import KEY
from tests.acceptance.test_ladder import carry_out, history
from tests.acceptance.test_ladder import until as carried_out_until
from tests.interfaces.postgres.test_rotation import rotate, text_of, wrapped_under
from tests.support.push_service import Browser, FakePushService, decoded
from tests.support.read_models import StoppedClock, rows, until
from tests.support.service import Service, service
from tests.support.sse import served

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
DELAY = 60
SECRET = "Deploy build 2041 of the payroll?"
TO_ALICE = {"type": "SpecificUser", "userID": "alice"}


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(START)


@pytest.fixture
async def push_service(clock: StoppedClock) -> AsyncIterator[FakePushService]:
    """A push service on a socket of this machine, that has the test's time."""
    fake = FakePushService(clock.now)
    async with served(fake) as fake.url:  # pyright: ignore[reportArgumentType]
        yield fake
    assert fake.wrong == []


@pytest.fixture
async def handraise(database: str, tmp_path: Path, clock: StoppedClock) -> AsyncIterator[Service]:
    """A service whose time the test moves, and which carries out what is due when it is told to."""
    settings = {"push_allow_private": True, "push_delay_seconds": DELAY}
    async with service(database, tmp_path / "data", clock=clock, **settings) as made:
        await made.app.scheduler.stop()
        yield made


async def done(call: Any) -> dict[str, Any]:
    response: httpx.Response = await call
    assert response.status_code in (200, 201), response.text
    return response.json()


async def subscribed(client: httpx.AsyncClient, push_service: FakePushService) -> Browser:
    """A browser of this person, as its page would subscribe it."""
    push_service.public_key = (await done(client.get("/api/push")))["public_key"]
    browser = push_service.browser()
    await done(client.post("/api/push/subscriptions", json=browser.to_json()))
    return browser


async def unsubscribe(client: httpx.AsyncClient, endpoint: str) -> httpx.Response:
    return await client.request("DELETE", "/api/push/subscriptions", json={"endpoint": endpoint})


async def count(client: httpx.AsyncClient) -> int:
    return (await done(client.get("/api/push")))["subscriptions"]


def notices_of(found: list[tuple[str, str, Any]]) -> list[Any]:
    return [said for _, event, said in found if event == "Notified"]


async def notified(handraise: Service, id: str) -> list[dict[str, Any]]:
    """Every `Notified` of a request, as the history has it."""
    items = (await done(handraise.admin.get(f"/api/requests/{id}/history")))["items"]
    return [item for item in items if item["type"] == "Notified"]


def is_notified(event: object) -> TypeGuard[Request.Notified]:
    return isinstance(event, Request.Notified)


def minutes(number: float) -> datetime:
    return START + timedelta(minutes=number)


# -- subscribing


async def test_a_browser_subscribes_and_unsubscribes(handraise: Service, push_service: FakePushService) -> None:
    """Once is enough, twice is the same; it is gone when the person says so."""
    alice = await handraise.person("alice")
    told = await done(alice.get("/api/push"))
    assert told == {"public_key": told["public_key"], "subscriptions": 0}
    assert (len(decoded(told["public_key"])), decoded(told["public_key"])[0]) == (65, 4)
    browser = push_service.browser()
    first = await alice.post("/api/push/subscriptions", json=browser.to_json() | {"expirationTime": 1798761600000.5})
    again = await alice.post("/api/push/subscriptions", json=browser.to_json())
    head = await handraise.app.store.head()
    assert (first.status_code, first.json()) == (201, {"subscriptions": 1, "position": head})
    assert (again.status_code, again.json()) == (200, {"subscriptions": 1, "position": head})
    other = await subscribed(alice, push_service)
    assert await count(alice) == 2
    gone = await unsubscribe(alice, browser.endpoint)
    assert (gone.status_code, gone.json()) == (200, {"subscriptions": 1, "position": head})
    assert (await unsubscribe(alice, browser.endpoint)).status_code == 404
    gone = await alice.delete("/api/push/subscriptions", params={"endpoint": other.endpoint})
    assert (gone.status_code, await count(alice)) == (200, 0)
    assert not handraise.app.notices.delays()


NOTHING_TO_END: list[tuple[Any, dict[str, str]]] = [
    (None, {}),
    ({"endpoint": "https://a"}, {"endpoint": "https://b"}),
    ({}, {}),
    ({"endpoint": 1}, {}),
    ({"endpoint": "x" * 2001}, {}),
]


async def test_what_is_to_end_must_be_said(handraise: Service) -> None:
    """Once, in the body or in the query."""
    for body, query in NOTHING_TO_END:
        refused = await handraise.admin.request("DELETE", "/api/push/subscriptions", json=body, params=query)
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "endpoint"), body


async def test_nonsense_to_end_is_not_found(handraise: Service) -> None:
    """Whatever characters it has; what is no text at all is refused by name."""
    for endpoint in ("", "\0", "\ud800", "é", "https://push.example.com/x", "'; --"):
        body = json.dumps({"endpoint": endpoint}).encode()
        headers = {"Content-Type": "application/json"}
        refused = await handraise.admin.request("DELETE", "/api/push/subscriptions", content=body, headers=headers)
        assert refused.status_code == (422 if endpoint == "\ud800" else 404), endpoint


async def test_nobody_ends_or_takes_what_is_somebody_elses(handraise: Service, push_service: FakePushService) -> None:
    """Not even who knows the endpoint, unless it is the same browser: its keys come along, and it changes hands."""
    alice, bob = await handraise.person("alice"), await handraise.person("bob")
    browser = await subscribed(alice, push_service)
    for thief in (bob, handraise.admin):
        assert (await unsubscribe(thief, browser.endpoint)).status_code == 404
        forged = Browser(browser.endpoint).to_json()
        refused = await thief.post("/api/push/subscriptions", json=forged)
        assert refused.status_code == 409
        assert browser.endpoint not in refused.text
    assert await count(alice) == 1
    taken_over = await bob.post("/api/push/subscriptions", json=browser.to_json())
    assert taken_over.status_code == 201
    assert (await count(alice), await count(bob)) == (0, 1)


async def test_agents_have_no_browsers(handraise: Service, push_service: FakePushService) -> None:
    """They are refused everywhere."""
    body = push_service.browser().to_json()
    for response in (
        await handraise.agent.get("/api/push"),
        await handraise.agent.post("/api/push/subscriptions", json=body),
        await unsubscribe(handraise.agent, body["endpoint"]),
        await handraise.agent.post("/api/push/test"),
    ):
        assert response.status_code == 403


async def test_of_too_many_the_one_not_heard_of_for_longest_goes(
    handraise: Service, push_service: FakePushService, clock: StoppedClock
) -> None:
    """Also when they come at once; one that says it is still there is not the oldest."""
    alice = await handraise.person("alice")
    browsers = []
    for _ in range(MOST_EACH):
        clock.at += timedelta(hours=1)
        browsers.append(await subscribed(alice, push_service))
    clock.at += timedelta(hours=1)
    await done(alice.post("/api/push/subscriptions", json=browsers[0].to_json()))
    await asyncio.gather(*(subscribed(alice, push_service) for _ in range(3)))
    assert await count(alice) == MOST_EACH
    kept = {row[0] for row in await rows(handraise.app.conninfo, "SELECT endpoint FROM push_subscriptions")}
    assert [browser.endpoint in kept for browser in browsers[:5]] == [True, False, False, False, True]


INWARDS = (
    *("https://127.0.0.1/x", "https://[::1]/x", "https://10.0.0.8/x", "https://169.254.169.254/x"),
    *("https://[::ffff:127.0.0.1]/x", "https://localhost/x", "https://2130706433/x", "http://93.184.216.34/x"),
)


async def test_the_server_is_no_way_into_its_own_network(database: str, tmp_path: Path) -> None:
    """Unless its owner says so, an endpoint is an address of the internet, and https."""
    async with service(database, tmp_path / "data") as handraise:
        for endpoint in INWARDS:
            refused = await handraise.admin.post("/api/push/subscriptions", json=Browser(endpoint).to_json())
            assert refused.status_code == 422, endpoint
            assert [error["path"] for error in refused.json()["errors"]] == ["endpoint"]
            assert endpoint not in refused.text
        public = Browser("https://93.184.216.34/x").to_json()
        assert (await handraise.admin.post("/api/push/subscriptions", json=public)).status_code == 201


async def test_what_was_kept_is_checked_again_before_it_is_connected_to(
    database: str, tmp_path: Path, push_service: FakePushService
) -> None:
    """The address of a name may have changed since, or the setting."""
    async with service(database, tmp_path / "data", push_allow_private=True) as before:
        await subscribed(before.admin, push_service)
        port = push_service.url.rpartition(":")[2]
        secure = Browser(f"https://localhost:{port}/push/x").to_json()
        await done(before.admin.post("/api/push/subscriptions", json=secure))
    async with service(database, tmp_path / "data") as handraise:
        said = await done(handraise.admin.post("/api/push/test"))
    assert said == {"reached": 0, "failures": 2 * ["a push service has an address that nothing may be sent to"]}
    assert push_service.calls == []


async def test_a_redirect_is_not_followed(handraise: Service, push_service: FakePushService) -> None:
    """Wherever it leads: nobody has looked at that place."""
    await subscribed(handraise.admin, push_service)
    for status in (301, 302, 307, 308):
        push_service.answers.append(RedirectResponse(f"{push_service.url}/push/elsewhere", status))
        said = await done(handraise.admin.post("/api/push/test"))
        assert said == {"reached": 0, "failures": [f"a push service answered {status}"]}
    assert len(push_service.calls) == 4
    assert not any("elsewhere" in call for call in push_service.calls)


async def test_trying_it_out_says_what_became_of_it(handraise: Service, push_service: FakePushService) -> None:
    """One's own browsers, and each cause."""
    alice, bob = await handraise.person("alice"), await handraise.person("bob")
    assert await done(alice.post("/api/push/test")) == {"reached": 0, "failures": []}
    await subscribed(bob, push_service)
    browsers = [await subscribed(alice, push_service) for _ in range(2)]
    assert await done(alice.post("/api/push/test")) == {"reached": 2, "failures": []}
    assert {received.browser for received in push_service.received} == set(browsers)
    assert push_service.notices[0] == {
        "title": "Handraise",
        "body": "Notices reach this browser.",
        "request_id": None,
        "url": "/",
        "tag": "test",
        "urgent": False,
    }
    push_service.answers.append(PlainTextResponse("no", 403))
    assert await done(alice.post("/api/push/test")) == {"reached": 1, "failures": ["a push service answered 403"]}
    push_service.answers.append(PlainTextResponse("gone", 410))
    failures = ["the browser is not subscribed any more"]
    assert await done(alice.post("/api/push/test")) == {"reached": 1, "failures": failures}
    assert await count(alice) == 1


# -- being told


async def test_a_person_is_told_once_and_nothing_is_given_away(
    handraise: Service, push_service: FakePushService, clock: StoppedClock
) -> None:
    """After the delay, one generic notice to each browser; what the agent wrote is nowhere in it."""
    alice = await handraise.person("alice")
    browsers = [await subscribed(alice, push_service) for _ in range(2)]
    asked = await handraise.ask(message=SECRET, unique_id="payroll-2041", context="wages", assignment_strategy=TO_ALICE)
    assert [step["at"] for step in asked["plan"] if step["step"] == "notify:push"] == ["2026-03-02T09:01:00.000Z"]
    await carried_out_until(handraise, clock, minutes(0.9))
    assert push_service.calls == []
    await carried_out_until(handraise, clock, minutes(10))
    assert {received.browser for received in push_service.received} == set(browsers)
    expected = {
        "title": "Human feedback required",
        "body": "You are asked to answer a request.",
        "request_id": asked["id"],
        "url": f"/requests/{asked['id']}",
        "tag": asked["id"],
        "urgent": False,
    }
    assert push_service.notices == [expected, expected]
    assert {(each.ttl, each.urgency) for each in push_service.received} == {(24 * 3600, "normal")}
    assert len({each.topic for each in push_service.received}) == 1
    assert not any(word in json.dumps(push_service.notices) for word in (*SECRET.split(), "payroll-2041", "wages"))
    assert notices_of(await history(handraise, asked["id"])) == [("notify", "push", "alice", True)]
    (event,) = [event for _, event in await handraise.app.store.history(UUID(asked["id"])) if is_notified(event)]
    assert event.reference == {"browsers": "2"}


async def test_at_once_by_itself(database: str, tmp_path: Path) -> None:
    """With the settings as they are, and nobody who moves the clock."""
    push_service = FakePushService()
    async with (
        served(push_service) as push_service.url,  # pyright: ignore[reportArgumentType]
        service(database, tmp_path / "data", push_allow_private=True) as handraise,
    ):
        alice = await handraise.person("alice")
        await subscribed(alice, push_service)
        asked = await handraise.ask(assignment_strategy=TO_ALICE, priority=20, expires_in_seconds=600)

        async def recorded() -> bool:
            return bool(await notified(handraise, asked["id"]))

        await until(recorded)
        (received,) = push_service.received
        assert (received.notice["request_id"], received.notice["urgent"]) == (asked["id"], True)
        assert received.urgency == "high"
        assert 590 < received.ttl <= 600
    assert push_service.wrong == []


async def test_who_has_answered_is_not_told(
    handraise: Service, push_service: FakePushService, clock: StoppedClock
) -> None:
    """Within the delay nothing leaves."""
    alice = await handraise.person("alice")
    await subscribed(alice, push_service)
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(0.5))
    await done(alice.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"}))
    await carried_out_until(handraise, clock, minutes(60))
    assert push_service.calls == []


async def test_whoever_has_no_browser_is_not_told_and_that_is_no_failure(
    handraise: Service, push_service: FakePushService, clock: StoppedClock
) -> None:
    """Nothing is recorded and nothing left to do; others are told all the same."""
    alice = await handraise.person("alice")
    await handraise.person("bob")
    await subscribed(alice, push_service)
    ladder = [{"afterMinutes": 5, "to": {"userID": "alice"}, "notifyOnly": True}]
    strategy = {"type": "SpecificUser", "userID": "bob", "remindMinutes": 1}
    asked = await handraise.ask(assignment_strategy=strategy)
    await carried_out_until(handraise, clock, minutes(60))
    assert [event for _, event, _ in await history(handraise, asked["id"])] == ["Requested"]
    assert await carry_out(handraise) is None
    assert push_service.calls == []
    both = await handraise.ask(assignment_strategy=strategy | {"escalation": ladder})
    await carried_out_until(handraise, clock, minutes(120))
    found = notices_of(await history(handraise, both["id"]))
    assert found == [("escalate:1", "web", "alice", True), ("escalate:1:notify", "push", "alice", True)]


async def test_without_any_subscription_there_is_no_channel(handraise: Service, push_service: FakePushService) -> None:
    """Plans do not speak of it, until somebody subscribes."""
    alice = await handraise.person("alice")
    assert "notify:push" not in str((await handraise.ask())["plan"])
    browser = await subscribed(alice, push_service)
    assert "notify:push" in str((await handraise.ask())["plan"])
    await unsubscribe(alice, browser.endpoint)
    assert "notify:push" not in str((await handraise.ask())["plan"])


async def test_a_list_is_told_in_the_browsers_of_its_members(
    handraise: Service, push_service: FakePushService, clock: StoppedClock
) -> None:
    """Nobody else, and none who is not active; a request that nobody is asked is told to administrators."""
    people = {id: await handraise.person(id) for id in ("alice", "bob", "carol", "dave")}
    browsers = {id: await subscribed(client, push_service) for id, client in people.items()}
    browsers["admin"] = await subscribed(handraise.admin, push_service)
    members = ["alice", "bob", "carol"]
    await handraise.app.directory.add("list", {"name": "On call", "members": members}, by=None, id="oncall")
    await done(handraise.admin.patch("/api/users/bob", json={"active": False}))
    shared = await handraise.ask(assignment_strategy={"type": "SharedInbox", "listID": "oncall"})
    await carried_out_until(handraise, clock, minutes(10))
    assert {received.browser for received in push_service.received} == {browsers["alice"], browsers["carol"]}
    assert push_service.notices[0]["body"] == "A request waits for somebody to take it."
    assert notices_of(await history(handraise, shared["id"])) == [("notify", "push", "oncall", True)]
    push_service.received.clear()
    nobodys = await handraise.ask()
    assert nobodys["assigned_to"] is None
    await carried_out_until(handraise, clock, minutes(20))
    assert [received.browser for received in push_service.received] == [browsers["admin"]]


async def test_whoever_is_gone_is_never_told(
    handraise: Service, push_service: FakePushService, clock: StoppedClock
) -> None:
    """An inactive person's browsers wait for them; a removed person's are forgotten."""
    people = [await handraise.person(id) for id in ("alice", "bob")]
    for client in people:
        await subscribed(client, push_service)
    await handraise.app.directory.add("list", {"name": "Both", "members": ["alice", "bob"]}, by=None, id="both")
    await done(handraise.admin.patch("/api/users/alice", json={"active": False}))
    await done(handraise.admin.delete("/api/users/bob"))
    await handraise.ask(assignment_strategy={"type": "SharedInbox", "listID": "both"})
    await carried_out_until(handraise, clock, minutes(10))
    assert push_service.calls == []
    owners = "SELECT u.readable_id FROM push_subscriptions s JOIN users u ON u.id = s.user_id"
    assert await rows(handraise.app.conninfo, owners) == [("alice",)]


# -- what push services say


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_is_no_more_is_forgotten(
    handraise: Service, push_service: FakePushService, clock: StoppedClock, status: int
) -> None:
    """The others go on; with the last one the channel is gone."""
    alice = await handraise.person("alice")
    for _ in range(2):
        await subscribed(alice, push_service)
    push_service.answers.append(PlainTextResponse("", status))
    first = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(10))
    assert (len(push_service.received), await count(alice)) == (1, 1)
    assert notices_of(await history(handraise, first["id"])) == [("notify", "push", "alice", True)]
    push_service.answers.append(PlainTextResponse("", status))
    second = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(20))
    (failed,) = await notified(handraise, second["id"])
    assert (failed["delivered"], failed["error"]) == (False, "the browser is not subscribed any more")
    assert await count(alice) == 0
    assert "notify:push" not in str((await handraise.ask(assignment_strategy=TO_ALICE))["plan"])


@pytest.mark.parametrize(("status", "waits"), [(503, 0.5), (500, 0.5), (429, 15)])
async def test_what_fails_for_now_is_tried_again(
    handraise: Service, push_service: FakePushService, clock: StoppedClock, status: int, waits: float
) -> None:
    """After half a minute, or when the push service asks for; the repeat replaces the first, where both arrive."""
    await subscribed(await handraise.person("alice"), push_service)
    headers = {"Retry-After": "900"} if status == 429 else {}
    push_service.answers.append(PlainTextResponse("later", status, headers))
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(1))
    await carried_out_until(handraise, clock, minutes(1 + waits) - timedelta(seconds=1))
    assert (len(push_service.calls), push_service.received) == (1, [])
    await carried_out_until(handraise, clock, minutes(1 + waits))
    assert len(push_service.received) == 1
    first, second = await notified(handraise, asked["id"])
    assert (first["delivered"], first["error"]) == (False, f"a push service answered {status}")
    assert (second["delivered"], second["attempt"]) == (True, 2)


async def test_a_date_to_come_back_at_is_kept(
    handraise: Service, push_service: FakePushService, clock: StoppedClock
) -> None:
    """As HTTP writes them; nonsense is no date."""
    await subscribed(await handraise.person("alice"), push_service)
    for said in (format_datetime(minutes(31), usegmt=True), "whenever", "9" * 400, "-1", "Thu, 99 Foo 2026 25:00:00"):
        push_service.answers.append(PlainTextResponse("", 503, {"Retry-After": said}))
    await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(30.9))
    assert len(push_service.calls) == 1
    await carried_out_until(handraise, clock, minutes(31))
    assert len(push_service.calls) == 2
    await carried_out_until(handraise, clock, minutes(60 * 24 * 3))
    assert len(push_service.received) == 1


async def test_a_push_service_that_is_not_there_is_tried_again(
    handraise: Service, push_service: FakePushService, clock: StoppedClock
) -> None:
    """The cause is in the history, and the place is not."""
    alice = await handraise.person("alice")
    await done(alice.post("/api/push/subscriptions", json=Browser("https://127.0.0.1:9/secret").to_json()))
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(1.5))
    failures = await notified(handraise, asked["id"])
    assert [failure["error"] for failure in failures] == 2 * ["a push service cannot be reached (ConnectError)"]
    (kept,) = await rows(handraise.app.conninfo, "SELECT failure, failed_at FROM push_subscriptions")
    assert kept == ("a push service cannot be reached (ConnectError)", clock.at)


async def test_what_is_refused_for_good_is_not_tried_again(
    handraise: Service, push_service: FakePushService, clock: StoppedClock
) -> None:
    """It is recorded, and the subscription stays: the cause may be ours."""
    alice = await handraise.person("alice")
    await subscribed(alice, push_service)
    for day, status in enumerate((400, 401, 403, 413), 1):
        push_service.answers.append(PlainTextResponse("", status))
        asked = await handraise.ask(assignment_strategy=TO_ALICE)
        await carried_out_until(handraise, clock, minutes(60 * 24 * day))
        (failed,) = await notified(handraise, asked["id"])
        assert (failed["delivered"], failed["error"]) == (False, f"a push service answered {status}")
        assert (len(push_service.calls), await count(alice)) == (day, 1)


async def test_a_repeat_has_the_topic_of_the_first(
    handraise: Service, push_service: FakePushService, clock: StoppedClock
) -> None:
    """Whoever was away sees each request once, however often there was a reminder."""
    await subscribed(await handraise.person("alice"), push_service)
    one = await handraise.ask(assignment_strategy=TO_ALICE | {"remindMinutes": 10})
    await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(25))
    topics: dict[str, list[str]] = {}
    for received in push_service.received:
        topics.setdefault(received.notice["request_id"], []).append(received.topic)
    assert sorted((len(each), len(set(each))) for each in topics.values()) == [(1, 1), (3, 1)]
    assert len(topics[one["id"]]) == 3
    assert len({topic for each in topics.values() for topic in each}) == 2


# -- more than one server, and the master key


async def test_two_replicas_tell_once_and_know_of_each_others_subscriptions(
    database: str, tmp_path: Path, clock: StoppedClock, push_service: FakePushService
) -> None:
    """They have one key; whichever the browser subscribed at, both plan for it, and one of them tells."""
    settings = {"push_allow_private": True, "push_delay_seconds": DELAY}
    async with AsyncExitStack() as stack:
        one, other = [
            await stack.enter_async_context(service(database, tmp_path / "data", clock=clock, **settings))
            for _ in range(2)
        ]
        for replica in (one, other):
            await replica.app.scheduler.stop()
        alice = await one.person("alice")
        keys = [(await done(replica.admin.get("/api/push")))["public_key"] for replica in (one, other)]
        assert keys[0] == keys[1]
        browser = await subscribed(alice, push_service)
        assert one.app.notices.delays().keys() == {"push"}

        async def heard() -> bool:
            return other.app.notices.delays().keys() == {"push"}

        await until(heard)
        for replica in (one, other):
            await replica.ask(assignment_strategy=TO_ALICE, message=f"at {replica is one}")
        await carried_out_until(one, clock, minutes(30), other)
        assert len(push_service.received) == len({each.topic for each in push_service.received}) == 2
        await unsubscribe(alice, browser.endpoint)

        async def heard_again() -> bool:
            return not other.app.notices.delays()

        await until(heard_again)


async def test_replicas_that_start_together_make_one_key(database: str, tmp_path: Path) -> None:
    """Whoever is first makes it."""
    async with AsyncExitStack() as stack:
        key = text_of(os.urandom(32))
        replicas = await asyncio.gather(
            *(
                stack.enter_async_context(service(database, tmp_path / str(number), secret_key=key))
                for number in range(2)
            )
        )
        keys = {(await done(replica.admin.get("/api/push")))["public_key"] for replica in replicas}
    assert len(keys) == 1
    assert await rows(database, "SELECT id FROM vapid_keys") == [(KEY,)]


async def test_rotating_the_master_key_keeps_browsers_subscribed(
    database: str, tmp_path: Path, clock: StoppedClock, push_service: FakePushService
) -> None:
    """The key that they subscribed with is wrapped anew, and stays the same: while servers run, and after a start."""
    settings = {"push_allow_private": True, "push_delay_seconds": DELAY}
    old = os.urandom(32)
    async with service(database, tmp_path / "data", clock=clock, secret_key=text_of(old), **settings) as handraise:
        alice = await handraise.person("alice")
        await subscribed(alice, push_service)
        rotation = await rotate(database, old)
        assert await done(alice.post("/api/push/test")) == {"reached": 1, "failures": []}
    assert (await wrapped_under(database, old))[0] == 0
    restarted = service(database, tmp_path / "data", clock=clock, secret_key=text_of(rotation.new), **settings)
    async with restarted as handraise:
        told = await done(handraise.admin.get("/api/push"))
        assert told["public_key"] == push_service.public_key
        await handraise.app.scheduler.stop()
        await handraise.ask(assignment_strategy=TO_ALICE)
        await carried_out_until(handraise, clock, minutes(10))
    assert len(push_service.received) == 2
    assert push_service.notices[1]["title"] == "Human feedback required"


async def test_the_private_key_stands_nowhere_in_plain_text(handraise: Service) -> None:
    """Of the database alone nobody can send."""
    ((wrapped,),) = await rows(handraise.app.conninfo, "SELECT wrapped FROM vapid_keys")
    assert len(wrapped) == 12 + 32 + 16


async def test_who_looks_after_their_own_may_be_an_auditor(handraise: Service, push_service: FakePushService) -> None:
    """It changes nothing of anybody else's."""
    auditor = await handraise.person("auditor", Role.AUDITOR)
    browser = await subscribed(auditor, push_service)
    assert (await done(auditor.post("/api/push/test")))["reached"] == 1
    assert (await unsubscribe(auditor, browser.endpoint)).status_code == 200
