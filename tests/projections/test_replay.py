"""Replay equals live: whatever happened, a read model made anew has the same rows as the one that followed."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interfaces.app import READ_MODELS
from projections.audit import Audit
from projections.log import UnknownEvent
from projections.read_models import snapshot
from projections.rebuild import Rebuilding, rebuild
from projections.request_list import RequestList
from tests.support.postgres import TestServer
from tests.support.read_models import WatchedLog, dump, log_of, rebuild_all, rows, settled, silent, until
from tests.support.service import Service, service

# -- any history

RECEIPT = "a receipt of the agent's own"
SCHEMA = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
QUESTIONS: dict[str, dict[str, Any]] = {
    "text": {},
    "options": {"options": ["Staging", "Production"]},
    "schema": {"response_schema": SCHEMA, "ui_schema": {"city": {"ui:autofocus": True}}},
    "approval": {"request_type": "approval", "labels": {"approve": "Ship it", "reject": "Hold it"}},
    "review": {"request_type": "review", "metadata": {"build": [1, {"of": "many"}]}},
    "secret": {"secret": True},
    "password": {"secret": True, "response_schema": SCHEMA},
    "short": {"expires_in_seconds": 0.02},
    "urgent": {"priority": 1, "run_id": "run-1", "run_step_id": "step-1", "expires_in_seconds": 3600},
}
COMMANDS = (
    "ask", "ask", "ask", "ask again", "respond", "respond", "respond", "answer as a stranger", "submit", "cancel",
    "reassign", "reassign", "collect", "collect", "acknowledge", "erase", "let expire", "add a user", "add an agent",
    "make a key", "revoke a key",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One command of a history. `target` chooses among what is there; `together` runs it beside the one before."""

    command: str
    replica: int
    target: int
    question: str
    text: str
    long: bool
    together: bool


texts = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=30)
steps = st.builds(
    Step,
    command=st.sampled_from(COMMANDS),
    replica=st.integers(0, 1),
    target=st.integers(0, 100),
    question=st.sampled_from(list(QUESTIONS)),
    text=texts,
    long=st.integers(0, 9).map(lambda number: number == 0),
    together=st.booleans(),
)
histories = st.lists(steps, min_size=25, max_size=50)
TOUR = [
    Step(command, replica=number % 2, target=target, question=question, text="ü", long=False, together=False)
    for number, (command, target, question) in enumerate(
        (
            ("add a user", 0, ""),
            ("make a key", 0, ""),
            ("revoke a key", 0, ""),
            ("ask", 0, "secret"),
            ("respond", 0, ""),
            ("collect", 0, ""),
            ("acknowledge", 0, ""),
            ("ask", 0, "short"),
            ("let expire", 1, ""),
            ("ask", 0, "text"),
            ("answer as a stranger", 2, ""),
            ("reassign", 2, ""),
            ("cancel", 2, ""),
            ("erase", 2, ""),
        )
    )
]
"""With these before it, every history has every kind of event."""


@dataclass
class Asked:
    """A request, and the words that were only ever used for it."""

    id: str
    body: dict[str, Any]
    agent: int
    words: list[str] = field(default_factory=list)


class World:
    """Two replicas, and people and agents who do as the steps say."""

    def __init__(self, replicas: tuple[Service, Service]) -> None:
        self.replicas = replicas
        self.agents = [[replica.agent for replica in replicas]]
        self.people: list[str] = []
        self.keys: list[str] = []
        self.members: dict[str, httpx.AsyncClient] = {}
        self.requests: list[Asked] = []
        self.counter = 0

    async def run(self, history: list[Step]) -> None:
        batch: list[Step] = []
        for step in [*history, None]:
            if step is not None and step.together:
                batch.append(step)
                continue
            for response in await asyncio.gather(*(self.take(taken) for taken in batch)):
                assert response is None or response.status_code < 500, response.text
            batch = [] if step is None else [step]

    def word(self, of: Asked | None = None) -> str:
        """A word that was never used before."""
        self.counter += 1
        word = f"zq{self.counter}word"
        if of is not None:
            of.words.append(word)
        return word

    async def take(self, step: Step) -> httpx.Response | None:
        admin = self.replicas[step.replica].admin
        known = self.requests
        if step.command in ("collect", "acknowledge"):  # mostly in vain of others
            known = [asked for asked in known if "secret" in asked.body] or known
        asked = known[step.target % len(known)] if known else None
        match step.command:
            case "ask":
                return await self.ask(step)
            case "add a user":
                return await self.add_user(admin, step)
            case "add an agent":
                return await self.add_agent(step)
            case "make a key":
                response = await admin.post("/api/keys", json={"name": f"k {step.text}", "agent": "default"})
                if response.status_code == 201:
                    self.keys.append(response.json()["id"])
                return response
            case "revoke a key":
                return await admin.delete(f"/api/keys/{self.keys[step.target % len(self.keys)]}") if self.keys else None
            case _ if asked is None:
                return None
            case _:
                return await self.change(step, admin, asked)

    async def ask(self, step: Step) -> httpx.Response:
        agent = step.target % len(self.agents)
        asked = Asked("", {}, agent)
        words = [self.word(asked) for _ in range(3)]
        filler = " ".join(f"word{number}ß" for number in range(15_000)) if step.long else ""
        body: dict[str, Any] = {
            "unique_id": f"request {self.counter} «{step.target}»",
            "message": f"{words[0]} {step.text} <b {words[1]}> {filler}",
            "context": f"{step.text} {words[2]} {filler}",
            **QUESTIONS[step.question],
        }
        if self.people and step.target % 3:
            body["run_user"] = self.people[step.target % len(self.people)]
        response = await self.agents[agent][step.replica].post("/api/requests", json=body)
        assert response.status_code == 201, response.text
        asked.id, asked.body = response.json()["id"], body
        self.requests.append(asked)
        return response

    async def change(self, step: Step, admin: httpx.AsyncClient, asked: Asked) -> httpx.Response:
        agent = self.agents[asked.agent][step.replica]
        path = f"/api/requests/{asked.id}"
        text = f"{self.word(asked)} {step.text}"
        match step.command:
            case "ask again":
                return await agent.post("/api/requests", json=asked.body)
            case "respond":
                answer: dict[str, Any] = {"text": text}
                if "response_schema" in asked.body:
                    answer = {"data": {"city": text}}
                elif "options" in asked.body:
                    answer = {"text": "production"}
                elif asked.body.get("request_type") == "approval":
                    answer = {"data": {"approved": bool(step.target % 2), "note": text}}
                return await admin.post(f"{path}/respond", json=answer)
            case "submit":
                body = {"unique_id": asked.body["unique_id"], "response": text}
                return await admin.post("/api/human-feedback/submit", json=body)
            case "answer as a stranger":
                client = self.members[self.people[step.target % len(self.people)]] if self.people else agent
                return await client.post(f"{path}/respond", json={"text": text})
            case "cancel":
                return await (agent if step.target % 2 else admin).post(f"{path}/cancel", json={"reason": text})
            case "reassign":
                to = self.people[step.target % len(self.people)] if self.people else "admin"
                return await admin.post(f"{path}/reassign", json={"to": to, "note": text})
            case "collect" | "acknowledge" as command:
                return await agent.post(f"{path}/{command}", json={"receipt": RECEIPT})
            case "erase":
                return await admin.post(f"{path}/erase")
            case _:
                return await agent.get(f"{path}/wait", params={"timeout_seconds": 0.1})

    async def add_user(self, admin: httpx.AsyncClient, step: Step) -> httpx.Response:
        response = await admin.post("/api/users", json={"name": f"Person {step.text}", "email": "p@example.org"})
        if response.status_code == 201:
            id = response.json()["id"]
            key = await admin.post("/api/keys", json={"name": "of a person", "user": id})
            self.members[id] = await self.replicas[step.replica].client(key.json()["key"])
            self.people.append(id)
        return response

    async def add_agent(self, step: Step) -> httpx.Response:
        admin = self.replicas[step.replica].admin
        owner = {"owner": self.people[step.target % len(self.people)]} if self.people else {}
        response = await admin.post("/api/agents", json={"name": f"Agent {step.target}"} | owner)
        key = await admin.post("/api/keys", json={"name": "of an agent", "agent": response.json()["id"]})
        self.agents.append([await replica.client(key.json()["key"]) for replica in self.replicas])
        return response


async def check_replay(conninfo: str, data_dir: Path, history: list[Step]) -> set[str]:
    """Run the history, compare live with replayed; the types of the events that there were."""
    async with service(conninfo, data_dir) as one, service(conninfo, data_dir) as two:
        world = World((one, two))
        await world.run(TOUR + history)
        for asked in world.requests:  # no deadline is left open, so that nothing more happens
            if asked.body.get("expires_in_seconds", 9) < 1:
                await one.admin.get(f"/api/requests/{asked.id}/wait", params={"timeout_seconds": 20})
        head = await settled(one, two)
        live = await dump(conninfo)
        assert await rebuild_all(conninfo, log_of(one), batch=7) == head
        assert await dump(conninfo) == live
        assert await rows(conninfo, "SELECT * FROM parked_aggregates") == []
        assert dict(await rows(conninfo, "SELECT name, position FROM read_models")) == {
            model.name: head for model in READ_MODELS
        }
        assert len(live["audit"]) == head
        assert len(live["request_list"]) == len(live["dashboard_requests"]) == len(world.requests)
        everything = "\n".join(row for table in live.values() for row in table)
        for asked in world.requests:
            read = (await one.admin.get(f"/api/requests/{asked.id}")).json()
            found = [word for word in asked.words if word in everything]
            assert (found == []) if read["erased"] else (asked.words[0] in found)
        return {row[0] for row in await rows(conninfo, "SELECT DISTINCT type FROM audit")}


def test_any_history_replays_to_the_same_rows(postgres: TestServer, template: str) -> None:
    """Two replicas follow any commands, many at once; made anew, every table of every read model is the same.

    Of what was erased, nothing is in any row, the words to search by included.
    """
    seen: set[str] = set()

    @settings(max_examples=4, deadline=None, derandomize=True, database=None)
    @given(history=histories)
    def check(history: list[Step]) -> None:
        conninfo = postgres.run(postgres.create_database(template))
        try:
            with tempfile.TemporaryDirectory() as folder:
                seen.update(asyncio.run(check_replay(conninfo, Path(folder) / "data", history)))
        finally:
            postgres.run(postgres.drop_database(conninfo))

    check()
    assert seen == {
        "Requested", "Reassigned", "Responded", "Cancelled", "Expired", "AnswerRefused", "Collected", "Acknowledged",
        "ContentErased", "Added", "Created", "Revoked",
    }  # fmt: skip


# -- rebuilding while others work


async def some_history(handraise: Service, count: int = 12) -> None:
    """Requests, some of them closed, some erased."""
    for number in range(count):
        asked = await handraise.ask(message=f"Question {number}?", unique_id=f"q-{number}")
        if number % 3 == 0:
            await handraise.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})
        if number % 6 == 0:
            await handraise.admin.post(f"/api/requests/{asked['id']}/erase")


async def test_the_old_tables_serve_while_new_ones_are_filled(handraise: Service, database: str) -> None:
    """Commands and reads go on meanwhile: no read fails, goes back or sees less; nothing is missing afterwards."""
    await some_history(handraise)
    await settled(handraise)
    done = asyncio.Event()
    reads = 0

    async def write() -> None:
        number = 0
        while not done.is_set():
            await handraise.ask(unique_id=f"meanwhile-{number}")
            await handraise.admin.post(
                "/api/human-feedback/submit", json={"unique_id": f"meanwhile-{number}", "response": "yes"}
            )
            number += 1

    async def read(path: str, size: Any) -> None:
        nonlocal reads
        most, latest = 1, 0
        while not done.is_set():
            response = await handraise.admin.get(path)
            assert response.status_code == 200, response.text
            page = response.json()
            assert size(page) >= most
            assert page["position"] >= latest
            most, latest, reads = size(page), page["position"], reads + 1

    async def make_anew() -> None:
        try:
            for _ in range(2):
                await rebuild_all(database, log_of(handraise), batch=50)
        finally:
            done.set()

    await asyncio.gather(
        make_anew(),
        write(),
        read("/api/requests?limit=200&status=Responded", lambda page: len(page["items"])),
        read("/api/inbox?scope=all&limit=200", lambda page: min(8, len(page["items"]))),  # never answered
        read("/api/audit?limit=200", lambda page: len(page["items"])),
        read("/api/dashboard", lambda page: page["by_status"]["Responded"]),
    )
    assert reads > 8
    await settled(handraise)
    live = await dump(database)
    await rebuild_all(database, log_of(handraise))
    assert await dump(database) == live


async def test_a_read_under_way_sees_one_set_of_tables(handraise: Service, database: str) -> None:
    """The swap waits for whoever reads; it does not keep those waiting who want to read meanwhile."""
    await some_history(handraise, 3)
    head = await settled(handraise)
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as reader:
        async with snapshot(reader, Audit) as position:
            making = asyncio.create_task(rebuild_all(database, log_of(handraise), [Audit()]))
            await until(lambda: waits_for_a_lock(database))
            async with asyncio.timeout(10):
                page = (await handraise.admin.get("/api/audit")).json()
            assert len(page["items"]) == head
            assert not making.done()
            cursor = await reader.execute("SELECT count(*) FROM audit")
            assert (position, await cursor.fetchone()) == (head, (head,))
        assert await making == head


async def waits_for_a_lock(conninfo: str) -> bool:
    return (await rows(conninfo, "SELECT count(*) FROM pg_locks WHERE NOT granted"))[0][0] > 0


async def test_two_at_once_are_refused(handraise: Service, database: str) -> None:
    """Only one can make a read model anew; the other is told so at once, and the first is not disturbed."""
    await some_history(handraise, 3)
    head = await settled(handraise)
    live = await dump(database)
    for model in READ_MODELS:
        log = WatchedLog(log_of(handraise))
        began, go_on = asyncio.Event(), asyncio.Event()

        async def pause(number: int, began: asyncio.Event = began, go_on: asyncio.Event = go_on) -> None:
            began.set()
            await go_on.wait()

        log.before = pause
        first = asyncio.create_task(rebuild_all(database, log, [model]))
        await asyncio.wait_for(began.wait(), 10)
        with pytest.raises(Rebuilding, match=model.name):
            await rebuild_all(database, log_of(handraise), [model])
        others = [other for other in READ_MODELS if other is not model]
        assert await rebuild_all(database, log_of(handraise), others) == head
        go_on.set()
        assert await first == head
        assert await dump(database) == live
        assert await rebuild_all(database, log_of(handraise), [model]) == head


@pytest.mark.parametrize(
    "trouble", [RuntimeError("out of luck"), UnknownEvent("a newer one"), asyncio.CancelledError()]
)
async def test_one_that_fails_half_way_leaves_what_was_there(
    handraise: Service, database: str, trouble: BaseException
) -> None:
    """The tables that serve are as they were, nothing of the attempt is left, and the next one works."""
    await some_history(handraise, 4)
    head = await settled(handraise)
    live = await dump(database)

    async def fail(number: int) -> None:
        if number == 3:
            raise trouble

    for model in READ_MODELS:
        log = WatchedLog(log_of(handraise))
        log.before = fail
        with pytest.raises(type(trouble)):
            await rebuild_all(database, log, [model], batch=2)
    assert await dump(database) == live
    assert await rows(database, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'rebuild%'") == []
    assert (await handraise.admin.get("/api/requests")).status_code == 200
    assert await rebuild_all(database, log_of(handraise), batch=2) == head
    assert await dump(database) == live


async def test_one_whose_connection_is_lost_is_made_again(handraise: Service, database: str) -> None:
    """What a killed rebuild leaves behind is no hindrance to the next."""
    await some_history(handraise, 4)
    head = await settled(handraise)
    live = await dump(database)
    log = WatchedLog(log_of(handraise))
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:

        async def kill(number: int) -> None:
            if number == 3:
                await rows(database, "SELECT pg_terminate_backend(%s)", connection.info.backend_pid)

        log.before = kill
        with pytest.raises(psycopg.OperationalError):
            await rebuild(connection, log, RequestList(), silent, silent, batch=2)
    assert await dump(database) == live
    assert await rebuild_all(database, log_of(handraise)) == head
    assert await dump(database) == live


async def test_progress_is_told(handraise: Service, database: str) -> None:
    """Position reached and position to reach, after every batch."""
    await some_history(handraise, 3)
    head = await settled(handraise)
    told: list[tuple[int, int]] = []
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await rebuild(
            connection, log_of(handraise), RequestList(), lambda *progress: told.append(progress), silent, batch=3
        )
    assert told == [(min(reached, head), head) for reached in range(3, head + 3, 3)]
