"""What must be true when everything has come to rest."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from typing import Any

import psutil
import psycopg

from interfaces.app import READ_MODELS
from interfaces.postgres import chain
from interfaces.postgres.log import PostgresLog
from interfaces.postgres.sealing import MasterKey
from interfaces.settings import decode_key
from tests.chaos.cluster import PATIENCE, Cluster
from tests.chaos.load import CODE, Done
from tests.chaos.stream import Watcher
from tests.support.read_models import dump, rebuild_all, rows
from tests.support.slack_workspace import pressable

TERMINAL = {"Responded", "Cancelled", "Expired"}

MOST_CONNECTIONS = 14
"""Of one server to the database: the pool, the writer, the tail, and one for each further job."""

MOST_FILES = 90
"""That one server holds open at rest."""


async def check_requests(cluster: Cluster, done: list[Done], chance: random.Random) -> int:
    """Each request ended once, as everybody was told; returns the newest position."""
    newest = 0
    for each in done:
        path = f"/api/requests/{each.unique_id}"
        request = (await cluster.call("GET", path, "agent", chance)).json()
        events = (await cluster.call("GET", f"{path}/history", "admin", chance)).json()["items"]
        told = f"{each}\n{request}\n{events}"
        types = Counter(event["type"] for event in events)
        assert types["Requested"] == 1, told
        assert sum(types[type] for type in TERMINAL) == 1, told
        assert request["status"] == each.ended, told
        for accepted in each.written:
            if accepted["status"] in TERMINAL:
                assert _answer(accepted) == _answer(request), told
                assert accepted["cancelled"] == request["cancelled"], told
            assert any(event["position"] <= accepted["position"] for event in events), told
        if each.ended == "Responded":
            assert request["response"]["by"] == each.by, told
            assert request["response"]["text"] == each.text, told
        if each.kind == "_escalated":
            moved = [event for event in events if event["type"] == "Reassigned" and event["cause"] == "escalated"]
            assert len(moved) == 1, told
        assert CODE not in json.dumps([request, events]), told
        newest = max(newest, *(event["position"] for event in events))
    return newest


def _answer(request: dict[str, Any]) -> dict[str, Any] | None:
    """The answer, apart from whether the agent has acknowledged it meanwhile."""
    response = request["response"]
    return response and {name: value for name, value in response.items() if name != "acknowledged_at"}


async def check_slack(cluster: Cluster, done: list[Done]) -> None:
    """Each person who was asked was told at most once, and no message of a closed request can be answered."""
    for each in done:
        about = cluster.messages_about(each.unique_id)
        assert len(about) <= (2 if each.kind == "_escalated" else 1), [message.text for message in about]
        try:
            async with asyncio.timeout(PATIENCE):
                while any(pressable(message) for message in about):
                    await asyncio.sleep(0.1)
        except TimeoutError:
            id = (await cluster.call("GET", f"/api/requests/{each.unique_id}", "agent", random.Random())).json()["id"]
            told = await cluster.call("GET", f"/api/requests/{id}/history", "admin", random.Random())
            known = "SELECT ts FROM slack_messages WHERE request_id = %s"
            due = "SELECT *, clock_timestamp() FROM due_steps WHERE request_id = %s"
            updates = [
                (call.arguments["ts"], call.at, call.status, call.arguments.get("text"))
                for call in cluster.slack.calls_of("chat.update")
                if call.arguments["ts"] in {message.ts for message in about}
            ]
            lines = [f"a message still looks open: {each.unique_id}, {id}"]
            lines += [f"{message.ts} {message.text} {message.metadata}" for message in about]
            lines += [f"{await rows(cluster.postgres.conninfo, query, id)}" for query in (known, due)]
            lines += [str(event) for event in told.json()["items"]] + [str(update) for update in updates]
            raise AssertionError("\n".join(lines)) from None


async def check_stream(watcher: Watcher, conninfo: str, position: int) -> None:
    """Who watched has seen each event of a request, once, in order."""
    await watcher.reached(position, PATIENCE)
    seen = [frame[0] for frame in watcher.frames]
    assert len(set(seen)) == len(seen)
    first = seen[0]
    ended = await rows(
        conninfo,
        "SELECT notification_id FROM handraise_events WHERE notification_id BETWEEN %s AND %s"
        " AND topic ~ 'request\\.(Requested|Responded|Cancelled|Expired)'",
        first,
        position,
    )
    missing = {position for (position,) in ended} - set(seen)
    assert not missing, f"never came: {sorted(missing)}"


async def check_read_models(cluster: Cluster) -> None:
    """Every read model is what a rebuild makes of the log, and nothing is parked."""
    conninfo = cluster.postgres.conninfo
    log = PostgresLog(MasterKey(decode_key(cluster.secret_key)))
    live = await dump(conninfo)
    await rebuild_all(conninfo, log, READ_MODELS)
    anew = await dump(conninfo)
    for table, kept in live.items():
        assert anew[table] == kept, table


async def check_chain(cluster: Cluster, after: chain.Head) -> chain.Head:
    """Nothing was lost, moved or changed since `after`; the new head."""
    async with await psycopg.AsyncConnection.connect(cluster.postgres.conninfo, autocommit=True) as connection:
        verdict = await chain.verify(connection, after=after)
    assert verdict.fault is None, verdict
    return verdict.head


async def check_nothing_is_held(cluster: Cluster) -> None:
    """No wait, write, connection or file is left over."""

    async def at_rest() -> bool:
        for number, line in enumerate(cluster.lines):
            held = [await cluster.metric(number, name) for name in ("handraise_waiting", "handraise_queued_writes")]
            if any(held) or line.connections > MOST_CONNECTIONS:
                return False
            if await asyncio.to_thread(psutil.Process(cluster.servers[number].pid).num_fds) > MOST_FILES:
                return False
        return True

    try:
        async with asyncio.timeout(PATIENCE):
            while not await at_rest():
                await asyncio.sleep(0.2)
    except TimeoutError:
        raise AssertionError(
            f"still held: {[line.connections for line in cluster.lines]} connections, "
            f"{[psutil.Process(server.pid).num_fds() for server in cluster.servers]} files, "
            f"{[await cluster.metric(number, 'handraise_waiting') for number in (0, 1)]} waits"
        ) from None
