"""The live stream over a socket: what stands in it, for whom, from where on, and when it ends."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import psycopg
import pytest

from domain.answers import Question
from domain.assignment import fall_back
from domain.callers import SYSTEM, AgentCaller, Role
from domain.directory import directory_id
from domain.request import Request
from tests.support.processes import ServerProcess
from tests.support.service import Service, service
from tests.support.sse import Stream, eventually, opened, served, stream

AGENT = AgentCaller(directory_id("agent", "default"), uuid4())


@pytest.fixture
async def url(handraise: Service) -> AsyncIterator[str]:
    """The service on a socket."""
    async with served(handraise.app) as address:
        yield address


@pytest.fixture
async def other(handraise: Service, database: str) -> AsyncIterator[Service]:
    """A second replica on the same database."""
    async with service(database, handraise.settings.data_dir) as replica:
        yield replica


@pytest.fixture
async def other_url(other: Service) -> AsyncIterator[str]:
    """The second replica on a socket."""
    async with served(other.app) as address:
        yield address


async def key_of(handraise: Service, **whose: Any) -> str:
    """A new key: `user` or `agent`, and what else `create_key` takes."""
    return (await handraise.app.keys.create(by=None, name="a key", **whose)).key


def key_in(client: httpx.AsyncClient) -> str:
    """The key that this client sends."""
    return client.headers["Authorization"].removeprefix("Bearer ")


async def respond(handraise: Service, id: str, text: str = "Certainly.") -> None:
    """The administrator answers."""
    response = await handraise.admin.post(f"/api/requests/{id}/respond", json={"text": text})
    assert response.status_code == 200, response.text


async def written(handraise: Service, count: int) -> int:
    """So many events of requests with long names, written without the HTTP and read by no read model; the head."""
    await handraise.app.projector.stop()
    position = 0
    for first in range(0, count, 250):
        now = datetime.now(UTC)
        request = Request.ask(
            by=AGENT,
            now=now,
            unique_id=f"{uuid4()} {'x' * 150}",
            question=Question("clarification", None, None),
            sealed=False,
            message="m",
            decision=fall_back(None),
            priority=50,
        )
        for attempt in range(1, min(250, count - first)):
            request.trigger_event(
                Request.Notified,
                timestamp=now,
                actor=SYSTEM,
                step="show",
                channel="slack",
                recipient=None,
                reference=None,
                attempt=attempt,
                delivered=True,
                error=None,
                retry_at=None,
            )
        position = await handraise.app.store.save(request)
    return position


# -- the frames


async def test_a_frame_is_exactly_what_the_contract_says(handraise: Service, url: str) -> None:
    """One id line, one event line, one line of data with ten fields, one blank line, for every kind of value."""
    bob = await handraise.person("bob")
    async with opened(url, key_in(handraise.admin)) as admin:
        asked = await handraise.ask(unique_id='deploy "2041" – ü', priority=7)
        moved = await handraise.admin.post(f"/api/requests/{asked['id']}/reassign", json={"to": "bob"})
        answered = await bob.post(f"/api/requests/{asked['id']}/respond", json={"text": "Certainly."})
        expiring = await handraise.ask(unique_id="short", expires_in_seconds=0.05)
        events = await admin.events(5)

    def frame(event: str, position: int, request: dict[str, Any], at: str, actor: str, **state: Any) -> bytes:
        data = {
            "position": position,
            "type": event,
            "request_id": request["id"],
            "unique_id": request["unique_id"],
            "status": state.get("status", "Requested"),
            "assigned_to": state.get("assigned_to"),
            "list": None,
            "priority": request["priority"],
            "at": at,
            "actor": actor,
        }
        return f"id: {position}\nevent: {event}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()

    history = (await handraise.admin.get(f"/api/requests/{asked['id']}/history")).json()["items"]
    expired = (await handraise.admin.get(f"/api/requests/{expiring['id']}")).json()
    response = answered.json()["response"]
    closed = {"status": "Responded", "assigned_to": "bob"}
    assert [event.raw for event in events] == [
        frame("Requested", asked["position"], asked, asked["created_at"], "default"),
        frame("Reassigned", moved.json()["position"], asked, history[1]["at"], "admin", assigned_to="bob"),
        frame("Responded", answered.json()["position"], asked, response["at"], "bob", **closed),
        frame("Requested", expiring["position"], expiring, expiring["created_at"], "default"),
        frame("Expired", expired["position"], expiring, expired["closed_at"], "system", status="Expired"),
    ]


async def test_nothing_keeps_the_stream_from_its_client(handraise: Service, url: str) -> None:
    """Event-stream type, not stored, not buffered by nginx, plain text even for a client that takes gzip; and the
    first bytes follow the headers before anything has happened, the usual heartbeat being 15 s away."""
    for encoding in ("gzip", "identity"):
        async with stream(url, key_in(handraise.admin), headers={"Accept-Encoding": encoding}) as admin:
            assert admin.status == 200
            names = ("content-type", "cache-control", "x-accel-buffering", "content-encoding")
            assert [admin.headers.get(name) for name in names] == [
                "text/event-stream; charset=utf-8",
                "no-store",
                "no",
                None,
            ]
            await admin.comment(seconds=3)
            asked = await handraise.ask()
            assert (await admin.event()).id == asked["position"]


async def test_the_heartbeat_is_a_comment_as_often_as_the_setting_says(database: str, tmp_path: Path) -> None:
    """With a heartbeat of 0.1 s, comments come about that often, and nothing else does."""
    async with (
        service(database, tmp_path / "data", stream_heartbeat_seconds=0.1) as handraise,
        served(handraise.app) as url,
        opened(url, key_in(handraise.admin)) as admin,
    ):
        started = time.monotonic()
        for _ in range(5):
            await admin.comment(seconds=3)
        assert 0.45 < time.monotonic() - started < 5


# -- who sees what

# Requests of agent `asker`, whose owner is olga; `third` is of agent `stranger`. Who sees which events of them.
FIRST = ["first Requested", "first Reassigned", "first Reassigned", "first AnswerRefused", "first Responded"]
SECOND = ["second Requested", "second Cancelled"]
THIRD = ["third Requested", "third Cancelled"]
VISIBLE = {
    "administrator": FIRST + SECOND + THIRD,
    "auditor": FIRST + SECOND + THIRD,
    "run user": FIRST,
    "past assignee": FIRST[1:],
    "assignee": FIRST[2:],
    "agent's owner": FIRST + SECOND,
    "other person": [],
    "other's run user": THIRD,
    "owning agent": FIRST + SECOND,
    "owning agent, key bound to the run user": FIRST,
    "owning agent, key bound to another": [],
    "other agent": THIRD,
}
# The last request that each of them sees; made after all others.
LAST = {
    "administrator": "end stranger",
    "auditor": "end stranger",
    "run user": "end alice",
    "past assignee": "end bob",
    "assignee": "end carol",
    "agent's owner": "end erin",
    "other person": "end dave",
    "other's run user": "end erin",
    "owning agent": "end erin",
    "owning agent, key bound to the run user": "end alice",
    "owning agent, key bound to another": "end dave",
    "other agent": "end stranger",
}
WRITTEN = {
    name: f"marked {name}"
    for name in ("message", "context", "option", "approve", "metadata", "schema", "note", "refused", "answer", "reason")
}


async def _cast(handraise: Service) -> dict[str, str]:
    """All these callers' keys."""
    directory = handraise.app.directory
    await directory.add("user", {"name": "Audit", "role": Role.AUDITOR}, by=None, id="audit")
    for id in ("alice", "bob", "carol", "dave", "erin", "olga"):
        await directory.add("user", {"name": id.title()}, by=None, id=id)
    await directory.add("agent", {"name": "Asker", "owner": "olga"}, by=None, id="asker")
    await directory.add("agent", {"name": "Stranger"}, by=None, id="stranger")
    return {
        "administrator": key_in(handraise.admin),
        "auditor": await key_of(handraise, user="audit"),
        "run user": await key_of(handraise, user="alice"),
        "past assignee": await key_of(handraise, user="bob"),
        "assignee": await key_of(handraise, user="carol"),
        "agent's owner": await key_of(handraise, user="olga"),
        "other person": await key_of(handraise, user="dave"),
        "other's run user": await key_of(handraise, user="erin"),
        "owning agent": await key_of(handraise, agent="asker"),
        "owning agent, key bound to the run user": await key_of(handraise, agent="asker", run_user="alice"),
        "owning agent, key bound to another": await key_of(handraise, agent="asker", run_user="dave"),
        "other agent": await key_of(handraise, agent="stranger"),
    }


async def _play(handraise: Service, keys: dict[str, str]) -> None:
    """All that VISIBLE and LAST speak of."""
    clients = {caller: await handraise.client(key) for caller, key in keys.items()}
    asker, stranger, admin = clients["owning agent"], clients["other agent"], clients["administrator"]

    async def post(client: httpx.AsyncClient, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
        response = await client.post(f"/api/requests{path}", json=body)
        assert response.status_code == status, response.text
        return response.json()

    text: dict[str, Any] = {"message": WRITTEN["message"], "context": WRITTEN["context"]}
    text["metadata"] = {"x": WRITTEN["metadata"]}
    options = [WRITTEN["option"], WRITTEN["answer"]]
    first = f"/{(await post(asker, '', 201, unique_id='first', run_user='alice', options=options, **text))['id']}"
    await post(admin, f"{first}/reassign", to="bob", note=WRITTEN["note"])
    await post(admin, f"{first}/reassign", to="carol", note=WRITTEN["note"])
    await post(clients["other person"], f"{first}/respond", 403, text=WRITTEN["refused"])
    await post(clients["assignee"], f"{first}/respond", text=WRITTEN["answer"])
    schema = {"type": "object", "title": WRITTEN["schema"]}
    second = f"/{(await post(asker, '', 201, unique_id='second', response_schema=schema, **text))['id']}"
    await post(asker, f"{second}/cancel", reason=WRITTEN["reason"])
    labels = {"approve": WRITTEN["approve"]}
    third = await post(
        stranger, "", 201, unique_id="third", run_user="erin", request_type="approval", labels=labels, **text
    )
    await post(admin, f"/{third['id']}/cancel", reason=WRITTEN["reason"])
    for run_user in ("alice", "bob", "carol", "dave", "erin"):
        await post(asker, "", 201, unique_id=f"end {run_user}", run_user=run_user, message="end")
    await post(stranger, "", 201, unique_id="end stranger", message="end")


async def _seen(caller: str, stream: Stream) -> list[str]:
    """What this caller sees of the three requests, up to the last that it can see."""
    events = await stream.until(lambda event: event.data["unique_id"] == LAST[caller])
    for text in WRITTEN.values():
        assert text.encode() not in stream.received
    assert b"marked" not in stream.received
    return [
        f"{event.data['unique_id']} {event.type}" for event in events if not event.data["unique_id"].startswith("end ")
    ]


async def test_everybody_sees_exactly_what_they_may_live_and_replayed(
    handraise: Service, url: str, other: Service, other_url: str
) -> None:
    """A frame goes to whoever could see the request before or after the event, alike on each replica and again later;
    it never holds what anybody wrote."""
    keys = await _cast(handraise)
    before = await handraise.app.store.head()
    async with AsyncExitStack() as stack:

        async def streams(at: str, **resume: Any) -> dict[str, Stream]:
            return {c: await stack.enter_async_context(opened(at, key, **resume)) for c, key in keys.items()}

        async def seen(streams: dict[str, Stream]) -> dict[str, list[str]]:
            return {caller: await _seen(caller, stream) for caller, stream in streams.items()}

        live, elsewhere = await streams(url), await streams(other_url)
        await _play(handraise, keys)
        assert await seen(live) == VISIBLE
        assert await seen(elsewhere) == VISIBLE
        assert await seen(await streams(url, last_event_id=before)) == VISIBLE
        assert await seen(await streams(other_url, after=0)) == VISIBLE
        for caller in keys:
            assert bytes(live[caller].received) == bytes(elsewhere[caller].received)


async def test_nobody_has_no_stream(url: str) -> None:
    """Without a key that works there is a problem document, not a stream."""
    for key in (None, "hr_unknown"):
        async with stream(url, key) as refused:
            assert (refused.status, refused.headers["content-type"]) == (401, "application/problem+json")


# -- going on where it was


async def test_c47_what_happened_meanwhile_comes_once_and_in_order(handraise: Service, url: str) -> None:
    """Away while three requests are made and one is answered: back again, all four events, then what happens next."""
    admin = key_in(handraise.admin)
    for by in ("last_event_id", "after"):
        async with opened(url, admin) as first:
            await handraise.ask(unique_id=f"before {by}")
            last = await first.event()
        await eventually(lambda: len(handraise.app.hub) == 0, "the stream is gone")
        asked = [await handraise.ask(unique_id=f"{by} {number}") for number in range(3)]
        await respond(handraise, asked[1]["id"])
        async with opened(url, admin, **{by: last.id}) as again:
            missed = await again.events(4)
            await respond(handraise, asked[0]["id"])
            missed.append(await again.event())
        assert [event.id for event in missed] == list(range(last.id + 1, last.id + 6))
        assert [(event.type, event.data["unique_id"]) for event in missed] == [
            ("Requested", f"{by} 0"),
            ("Requested", f"{by} 1"),
            ("Requested", f"{by} 2"),
            ("Responded", f"{by} 1"),
            ("Responded", f"{by} 0"),
        ]


async def test_no_gap_and_no_repeat_while_the_replay_goes_over_into_the_present(handraise: Service, url: str) -> None:
    """Clients that come and go while events are written see every one of them exactly once, each in order."""
    admin = key_in(handraise.admin)
    start = await handraise.app.store.head()
    last = start + 120

    async def come_and_go(stay: int) -> list[int]:
        seen = [start]
        while seen[-1] < last:
            async with opened(url, admin, last_event_id=seen[-1]) as visit:
                seen += [event.id for event in await visit.events(min(stay, last - seen[-1]))]
        return seen[1:]

    async def write() -> None:
        for _ in range(40):
            asked = await handraise.ask()
            await handraise.admin.post(f"/api/requests/{asked['id']}/reassign", json={"to": "admin"})
            await respond(handraise, asked["id"])

    *seen, _ = await asyncio.gather(come_and_go(3), come_and_go(17), come_and_go(40), come_and_go(120), write())
    assert seen == [list(range(start + 1, last + 1))] * 4


async def test_the_header_counts_where_both_are_given(handraise: Service, url: str) -> None:
    """A browser that comes back repeats the address with its old `after`, and says in the header where it really is."""
    asked = [await handraise.ask() for _ in range(3)]
    async with opened(url, key_in(handraise.admin), after=0, last_event_id=asked[1]["position"]) as again:
        assert (await again.event()).id == asked[2]["position"]


NO_POSITIONS = ["abc", "999999999", "-1", "", "1.0", "+1", "1 1", "½", "9" * 19, "9" * 5000, "x" * 300]


async def test_c47_an_id_that_is_no_position_of_this_log_means_reading_afresh(handraise: Service, url: str) -> None:
    """`resync` with the head comes first and at once; from there the stream goes on."""
    for id in NO_POSITIONS:
        for resume in ({"last_event_id": id}, {"after": quote(id)}):
            asked = await handraise.ask()
            async with opened(url, key_in(handraise.admin), **resume) as again:
                first = await again.event()
                assert first.raw == f"id: {asked['position']}\nevent: resync\ndata: {{}}\n\n".encode(), resume
                assert (await handraise.ask())["position"] == (await again.event()).id == asked["position"] + 1


async def test_c47_more_than_10_000_positions_behind_means_reading_afresh(handraise: Service, url: str) -> None:
    """Exactly 10,000 positions are replayed; one more is `resync` with the head."""
    admin = key_in(handraise.admin)
    head = await written(handraise, 10_001)
    async with opened(url, admin, last_event_id=head - 10_000) as near:
        assert [event.id for event in await near.events(10_000)] == list(range(head - 9_999, head + 1))
    for id in (head - 10_001, 0):
        async with opened(url, admin, last_event_id=id) as far:
            afresh = await far.event()
            assert (afresh.type, afresh.id, afresh.data) == ("resync", head, {})


async def test_a_client_may_be_ahead_of_this_replica(handraise: Service, other: Service, other_url: str) -> None:
    """Coming from a faster replica, a client sees nothing again and misses nothing when this one has caught up."""
    await other.app.tail.stop()
    asked = [await handraise.ask(unique_id=f"{number}") for number in range(4)]
    assert other.app.hub.position < asked[0]["position"]
    async with opened(other_url, key_in(handraise.admin), last_event_id=asked[1]["position"]) as ahead:
        await other.app.tail.start()
        asked.append(await handraise.ask(unique_id="4"))
        assert [event.id for event in await ahead.events(3)] == [request["position"] for request in asked[2:]]


# -- when it ends, and when it must be read afresh


async def test_a_revoked_key_ends_its_streams_within_a_second_on_every_replica(
    handraise: Service, url: str, other_url: str
) -> None:
    """Both replicas end the streams of the key in good order, and no others."""
    created = await handraise.app.keys.create(by=None, name="alice's", user="admin", id="doomed")
    async with (
        opened(url, created.key) as here,
        opened(other_url, created.key) as there,
        opened(url, key_in(handraise.admin)) as unconcerned,
    ):
        revoked = await handraise.admin.delete("/api/keys/doomed")
        assert revoked.status_code == 200
        ends = await asyncio.gather(here.end(seconds=1), there.end(seconds=1))
        assert ends == [[], []]
        await handraise.ask(unique_id="still seen")
        assert (await unconcerned.event()).data["unique_id"] == "still seen"
    async with stream(url, created.key, last_event_id=0) as refused:
        assert refused.status == 401


async def test_an_expired_key_ends_its_stream_within_a_second(handraise: Service, url: str) -> None:
    """The end comes at the key's own time, though nothing is written then; busy streams end too."""
    until = datetime.now(UTC) + timedelta(seconds=1.5)
    key = await key_of(handraise, user="admin", expires_at=until)

    async def keep_busy() -> None:
        while True:
            await handraise.ask()

    for busy in (False, True):
        if busy:
            until = datetime.now(UTC) + timedelta(seconds=1)
            key = await key_of(handraise, user="admin", expires_at=until)
        async with opened(url, key) as expiring:
            writing = asyncio.create_task(keep_busy()) if busy else None
            events = await expiring.end()
            late = (datetime.now(UTC) - until).total_seconds()
            if writing is not None:
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)
        assert (-0.1 < late < 1, bool(events)) == (True, busy)


async def test_a_deactivated_person_has_no_stream_any_more(handraise: Service, url: str, database: str) -> None:
    """A person who is not active is nobody; the next change of the directory ends the stream."""
    alice = await handraise.person("alice")
    async with opened(url, key_in(alice)) as hers:
        await execute(database, "UPDATE users SET active = false WHERE readable_id = 'alice'")
        await handraise.person("bob")
        assert await hers.end(seconds=1) == []


async def execute(database: str, statement: Any) -> None:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute(statement)


async def test_who_gets_an_agent_reads_afresh_and_sees_its_requests(
    handraise: Service, url: str, other_url: str
) -> None:
    """What a person may see has changed: `resync` on every replica, then frames under the new rights."""
    alice = await handraise.person("alice")
    async with opened(url, key_in(alice)) as here, opened(other_url, key_in(alice)) as there:
        _, position = await handraise.app.directory.add("agent", {"name": "Hers", "owner": "alice"}, by=None, id="hers")
        hers = await handraise.client(await key_of(handraise, agent="hers"))
        afresh = await asyncio.gather(here.event(), there.event())
        assert [(event.type, event.data) for event in afresh] == [("resync", {})] * 2
        assert all(event.id <= position + 1 for event in afresh)
        await handraise.ask(unique_id="not hers")
        asked = (await hers.post("/api/requests", json={"message": "?", "unique_id": "hers"})).json()
        for event in await asyncio.gather(here.event(), there.event()):
            assert (event.id, event.data["unique_id"]) == (asked["position"], "hers")


async def test_another_role_reads_afresh_and_sees_by_it(handraise: Service, url: str, database: str) -> None:
    """An administrator who becomes a member sees no more of what is not theirs, and the other way round."""
    alice = await handraise.person("alice", Role.ADMINISTRATOR)
    async with opened(url, key_in(alice)) as hers:
        for role, number in (("member", 1), ("auditor", 2)):
            asked = await handraise.ask(unique_id=f"before {role}")
            await eventually(lambda: handraise.app.hub.position >= asked["position"], "the event went to its audience")  # noqa: B023
            if role == "member":
                assert (await hers.event()).data["unique_id"] == "before member"
            await execute(database, f"UPDATE users SET role = '{role}' WHERE readable_id = 'alice'")
            await handraise.person(f"somebody-{number}")
            assert (await hers.event()).type == "resync"
        await handraise.ask(unique_id="as auditor")
        assert (await hers.event()).data["unique_id"] == "as auditor"


async def test_a_client_that_does_not_read_reads_afresh_later_and_hinders_nobody(handraise: Service) -> None:
    """While it does not read, others see everything at once; of 2,000 events little is kept for it, then `resync`."""
    async with (
        served(handraise.app, send_buffer=4096) as url,
        opened(url, key_in(handraise.admin), receive_buffer=2048) as slow,
        opened(url, key_in(handraise.admin)) as quick,
    ):
        start = await handraise.app.store.head()
        head = await written(handraise, 2000)
        assert [event.id for event in await quick.events(2000)] == list(range(start + 1, head + 1))
        assert (await handraise.ask(unique_id="last"))["position"] == (await quick.event()).id == head + 1

        late = await slow.until(lambda event: event.data.get("unique_id") == "last")
        types = [event.type for event in late]
        assert types.count("resync") == 1
        before, after = late[: types.index("resync")], late[types.index("resync") :]
        assert [event.id for event in before] == list(range(start + 1, start + 1 + len(before)))
        assert [event.id for event in after] == list(range(after[0].id, head + 2))
        assert len(late) < 1500


async def test_a_client_that_goes_away_is_forgotten(handraise: Service) -> None:
    """Its subscription ends with the connection, whether it was waiting or had long not read what it was sent."""
    async with served(handraise.app, send_buffer=4096) as url:
        async with opened(url, key_in(handraise.admin)), opened(url, key_in(handraise.agent)):
            assert len(handraise.app.hub) == 2
        await eventually(lambda: len(handraise.app.hub) == 0, "both are forgotten")

        await written(handraise, 1000)
        async with opened(url, key_in(handraise.admin), receive_buffer=2048, after=0):
            assert len(handraise.app.hub) == 1
            await written(handraise, 1000)
        await eventually(lambda: len(handraise.app.hub) == 0, "the slow one is forgotten")


async def test_a_stream_ends_when_the_server_stops(database: str, tmp_path: Path) -> None:
    """SIGTERM: within a second every stream has ended in good order, and the server goes as politely."""
    with ServerProcess(tmp_path / "data", database) as server:
        async with (
            opened(server.url, server.admin_key) as admin,
            opened(server.url, server.agent_key, after=0) as agent,
        ):
            with server.agent() as client:
                client.post("/api/requests", json={"message": "?"}).raise_for_status()
            await asyncio.gather(admin.event(), agent.event())
            ending = asyncio.create_task(asyncio.to_thread(server.terminate))
            await asyncio.gather(admin.end(seconds=1), agent.end(seconds=1))
            assert await ending == 0


# -- sizes

SIZES = {
    "7,900": "m" * 7900,
    "8,000": "m" * 8000,
    "8,100": "m" * 8100,
    "2,700 × 漢": "漢" * 2700,
    "300 KB": "m" * 300_000,
}


async def test_c44_messages_of_every_size_are_announced(handraise: Service, url: str, other_url: str) -> None:
    """A NOTIFY that carried the event would break at 8,000 bytes: each is created, announced everywhere, kept whole."""
    admin = key_in(handraise.admin)
    async with opened(url, admin) as here, opened(other_url, admin) as there:
        for size, message in SIZES.items():
            asked = await handraise.ask(unique_id=size, message=message)
            for event in await asyncio.gather(here.event(), there.event()):
                assert (event.id, event.type, event.data["unique_id"]) == (asked["position"], "Requested", size)
            assert (await handraise.agent.get(f"/api/requests/{asked['id']}")).json()["message"] == message
    async with opened(url, admin, after=0) as again:
        assert [event.data["unique_id"] for event in await again.events(len(SIZES))] == list(SIZES)
