"""Turns, loads and claims are exact when many ask at once through several servers, whatever changes meanwhile."""

from __future__ import annotations

import asyncio
import base64
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from application.ports import VersionConflict
from domain.answers import Question
from domain.directory import directory_id
from domain.errors import Unavailable
from domain.lists import MemberList
from domain.request import Request, request_id
from domain.routing import Facts, Subject, resolve
from domain.strategies import parse
from domain.users import User
from interfaces.postgres.log import PostgresLog
from interfaces.postgres.sealing import MasterKey
from interfaces.settings import decode_key
from projections.log import Entry
from tests.interfaces.postgres.test_writer import MASTER_KEY, Cut, Proxy, replica
from tests.support.postgres import TestServer
from tests.support.processes import ServerProcess
from tests.support.read_models import callers_of, log_of, rows, until
from tests.support.service import service

MEMBERS = ("first", "second", "third", "fourth")


@dataclass(frozen=True)
class Replicas:
    """Two servers, each a process of its own, on one database."""

    servers: tuple[ServerProcess, ServerProcess]
    database: str
    secret_key: str

    async def log(self) -> list[Entry]:
        """All events so far, in the order of the log."""
        return await read_log(self.database, PostgresLog(MasterKey(decode_key(self.secret_key))))


@dataclass
class Clients:
    """A client of each server: for the agent, and for the administrator."""

    agents: list[httpx.AsyncClient] = field(default_factory=list)
    admins: list[httpx.AsyncClient] = field(default_factory=list)

    async def add(self, path: str, **fields: Any) -> dict[str, Any]:
        response = await self.admins[0].post(f"/api/{path}", json=fields)
        assert response.status_code == 201, response.text
        return response.json()

    async def crew(self, name: str, count: int = 4) -> list[str]:
        """A list of so many people who have nothing to do; their ids, in order."""
        ids = [f"{name}-{number}" for number in range(1, count + 1)]
        for id in ids:
            await self.add("users", id=id, name=id.title())
        await self.add("lists", id=name, name=name.title(), members=ids)
        return ids


@pytest.fixture(scope="module")
def replicas(postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """Two servers for all of this module: each test has people and a list of its own."""
    database = postgres.run(postgres.create_database(template))
    folder = tmp_path_factory.mktemp("replicas")
    key = base64.urlsafe_b64encode(os.urandom(32)).decode()
    one, two = (ServerProcess(folder / name / "data", database, secret_key=key) for name in ("one", "two"))
    with one, two:
        yield Replicas((one, two), database, key)
    postgres.run(postgres.drop_database(database))


@pytest.fixture
async def clients(replicas: Replicas) -> AsyncIterator[Clients]:
    """Clients of both servers."""
    made = Clients()
    async with AsyncExitStack() as stack:
        for server in replicas.servers:
            for kind, key in ((made.agents, server.agent_key), (made.admins, server.admin_key)):
                kind.append(await stack.enter_async_context(client_of(server, key)))
        yield made


def client_of(server: ServerProcess, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=60, trust_env=False
    )


async def read_log(database: str, log: PostgresLog) -> list[Entry]:
    entries: list[Entry] = []
    async with await psycopg.AsyncConnection.connect(database) as connection:
        while found := await log.entries(connection, entries[-1].position if entries else 0, 1000):
            for entry in found:
                assert isinstance(entry, Entry), entry
                entries.append(entry)
    return entries


def from_list(name: str, how: str = "RoundRobin", **more: Any) -> dict[str, Any]:
    return {"type": "List", "listID": name, "listStrategy": how} | more


async def create(client: httpx.AsyncClient, unique_id: str, strategy: Any) -> httpx.Response:
    body = {"message": "May I?", "unique_id": unique_id, "assignment_strategy": strategy}
    return await client.post("/api/requests", json=body)


async def create_all(clients: Clients, prefix: str, count: int, strategy: Any) -> list[dict[str, Any]]:
    """So many requests at once, every other one through the other server."""
    responses = await asyncio.gather(
        *(create(clients.agents[number % 2], f"{prefix}-{number}", strategy) for number in range(count))
    )
    assert {response.status_code for response in responses} == {201}
    return [response.json() for response in responses]


def decisions(log: list[Entry], prefix: str) -> list[tuple[str, dict[str, Any]]]:
    """(unique_id, assignment) of what was asked under names like these, in the order of the log."""
    return [
        (entry.event.unique_id, entry.event.assignment)
        for entry in log
        if isinstance(entry.event, Request.Requested) and entry.event.unique_id.startswith(f"{prefix}-")
    ]


def shares(log: list[Entry], prefix: str, members: list[str]) -> list[int]:
    """How many each of the members got."""
    counts = Counter(assignment["chosen"] for _, assignment in decisions(log, prefix))
    return [counts[str(directory_id("user", member))] for member in members]


def check_turns(log: list[Entry], name: str) -> int:
    """Each turn, in the order of the log, is that of the next one in the list as it then was; how many there were.

    Raises `AssertionError` at the first that is not. Everybody in the list must be there to be asked.
    """
    id = directory_id("list", name)
    members: list[UUID] = []
    last: UUID | None = None
    count = 0
    for entry in log:
        event = entry.event
        if entry.aggregate_id == id:
            assert isinstance(event, (MemberList.Added, MemberList.Changed))
            if last is not None:  # the place of one who is taken out counts: whoever stood before it had their turn
                before = [member for member in members[: members.index(last) + 1] if member in event.members]
                last = before[-1] if before else None
            members = event.members
        elif isinstance(event, Request.Requested) and event.assignment.get("turn_of") == str(id):
            turn = members[0 if last is None else (members.index(last) + 1) % len(members)]
            assert event.assignment["chosen"] == str(turn), f"turn {count + 1}, position {entry.position}"
            assert event.assignment["candidates"][0] == str(turn)
            last = turn
            count += 1
    return count


@asynccontextmanager
async def going_on(act: Callable[[int], Awaitable[None]], at_once: int = 8) -> AsyncIterator[Counter[str]]:
    """Have `act` called with 0, 1, 2, … again and again, so many at a time, until the block is left."""
    done: Counter[str] = Counter()
    ended = asyncio.Event()

    async def work() -> None:
        while not ended.is_set():
            done["begun"] += 1
            await act(done["begun"] - 1)
            done["done"] += 1

    async with asyncio.TaskGroup() as tasks:
        for _ in range(at_once):
            tasks.create_task(work())
        try:
            yield done
        finally:
            ended.set()


async def progress(done: Counter[str], count: int) -> None:
    """Returns once so many more are done."""
    wanted = done["done"] + count

    async def reached() -> bool:
        return done["done"] >= wanted

    await until(reached)


# -- shares


@pytest.mark.parametrize("how", ["RoundRobin", "LeastBusy"])
async def test_forty_at_once_over_four_are_ten_each(replicas: Replicas, clients: Clients, how: str) -> None:
    """Over two servers, from people who have nothing to do; one recorded decision for each request."""
    name = f"forty-{how.lower()}"
    members = await clients.crew(name)
    asked = await create_all(clients, name, 40, from_list(name, how))
    log = await replicas.log()
    assert shares(log, name, members) == [10] * 4
    assert sorted(unique_id for unique_id, _ in decisions(log, name)) == sorted(each["unique_id"] for each in asked)
    recorded = {unique_id: assignment["chosen"] for unique_id, assignment in decisions(log, name)}
    for each in asked:
        assert recorded[each["unique_id"]] == str(directory_id("user", each["assigned_to"]))
        assert (each["assignment"]["level"], each["version"]) == ("invocation", 1)
    if how == "RoundRobin":
        assert check_turns(log, name) == 40


async def test_least_busy_counts_what_is_open_everywhere(replicas: Replicas, clients: Clients) -> None:
    """What somebody has from elsewhere counts, what they have answered does not: in the end all have the same."""
    members = await clients.crew("busy")
    to_first = {"type": "SpecificUser", "userID": members[0]}
    given = await create_all(clients, "busy-before", 8, to_first)
    closed = await asyncio.gather(
        *(
            clients.agents[number % 2].post(f"/api/requests/{each['id']}/cancel")
            for number, each in enumerate(given[:3])
        )
    )
    assert {response.status_code for response in closed} == {200}
    await create_all(clients, "busy-then", 35, from_list("busy", "LeastBusy"))  # 5 there, 40 in all
    assert shares(await replicas.log(), "busy-then", members) == [5, 10, 10, 10]


async def test_a_repeat_takes_no_turn(replicas: Replicas, clients: Clients) -> None:
    """The same request three times at once to each of two servers is one request and one turn."""
    members = await clients.crew("repeats")
    strategy = from_list("repeats")
    responses = await asyncio.gather(
        *(
            create(clients.agents[which % 2], f"repeats-{number}", strategy)
            for number in range(20)
            for which in range(6)
        )
    )
    by_request: dict[str, list[httpx.Response]] = {}
    for response in responses:
        assert response.status_code in (200, 201), response.text
        by_request.setdefault(response.json()["unique_id"], []).append(response)
    for same in by_request.values():
        assert sorted(response.status_code for response in same) == [200] * 5 + [201]
        assert len({(each.json()["id"], each.json()["assigned_to"]) for each in same}) == 1
    log = await replicas.log()
    assert check_turns(log, "repeats") == 20
    assert shares(log, "repeats", members) == [5] * 4
    refused = await asyncio.gather(
        *(
            clients.agents[which % 2].post(
                "/api/requests",
                json={"message": "Other", "unique_id": f"repeats-{number}", "assignment_strategy": strategy},
            )
            for number in range(20)
            for which in range(2)
        )
    )
    assert {response.status_code for response in refused} == {409}
    assert check_turns(await replicas.log(), "repeats") == 20


async def test_a_dry_run_in_between_takes_no_turn(replicas: Replicas, clients: Clients) -> None:
    """However many ask who would be asked."""
    members = await clients.crew("explained")
    body = {"message": "m", "assignment_strategy": from_list("explained")}

    async def explain(number: int) -> None:
        response = await clients.agents[number % 2].post("/api/routing/explain", json=body)
        assert response.status_code == 200, response.text
        assert response.json()["assigned_to"] in members

    async with going_on(explain, 4) as done:
        await progress(done, 4)
        await create_all(clients, "explained", 40, from_list("explained"))
        await progress(done, 4)
    log = await replicas.log()
    assert check_turns(log, "explained") == 40
    assert shares(log, "explained", members) == [10] * 4


async def test_a_killed_server_takes_no_turn_with_it(replicas: Replicas, clients: Clients) -> None:
    """`kill -9` in the middle, and what was not answered asked again: every turn in the log is the next one."""
    members = await clients.crew("killed")
    strategy = from_list("killed")
    killed = replicas.servers[1]
    answered: dict[str, dict[str, Any]] = {}
    unanswered: set[str] = set()

    async def ask(number: int) -> None:
        unique_id = f"killed-{number}"
        try:
            response = await create(clients.agents[number % 2], unique_id, strategy)
        except httpx.TransportError:
            unanswered.add(unique_id)
            return
        assert response.status_code == 201, response.text
        answered[unique_id] = response.json()

    try:
        async with going_on(ask, 16) as done:
            await progress(done, 100)
            await asyncio.to_thread(killed.kill)
            await progress(done, 100)
        assert unanswered
        for unique_id in sorted(unanswered):
            response = await create(clients.agents[0], unique_id, strategy)
            assert response.status_code in (200, 201), response.text
            answered[unique_id] = response.json()
    finally:
        if not killed.running:
            await asyncio.to_thread(killed.start)
    log = await replicas.log()
    found = decisions(log, "killed")
    assert sorted(unique_id for unique_id, _ in found) == sorted(answered)
    assert check_turns(log, "killed") == len(answered)
    count = shares(log, "killed", members)
    assert max(count) - min(count) <= 1
    for unique_id, assignment in found:
        assert assignment["chosen"] == str(directory_id("user", answered[unique_id]["assigned_to"]))


@pytest.mark.parametrize("cut", Cut)
async def test_a_turn_whose_commit_is_in_doubt_is_neither_lost_nor_taken_twice(
    database: str, tmp_path: Path, cut: Cut
) -> None:
    """The line to the database is cut around the commit of a batch that holds new requests and repeats of old ones."""
    secret_key = base64.urlsafe_b64encode(bytes(32)).decode()
    async with service(database, tmp_path / "data", secret_key=secret_key) as handraise:
        for id in MEMBERS:
            await handraise.person(id)
        added = await handraise.admin.post("/api/lists", json={"id": "cut", "name": "Cut", "members": MEMBERS})
        assert added.status_code == 201
        agent, _ = await callers_of(handraise)
    subject = Subject(agent.id, "clarification", None, parse(from_list("cut")))
    proxy = Proxy(database)
    async with proxy.running() as through, replica(through) as one:

        async def ask(unique_id: str) -> Request:
            def make(facts: Facts, now: datetime) -> Request:
                return Request.ask(
                    by=agent,
                    now=now,
                    unique_id=unique_id,
                    question=Question("clarification"),
                    sealed=False,
                    message="May I?",
                    decision=resolve(subject, facts, now).decision,
                    priority=50,
                )

            return await one.store.save_routed(request_id(agent.id, unique_id), 0, subject, make)

        async def connected() -> bool:
            return one.writer.connected

        expected: list[str] = []
        for round_ in range(8):
            await until(connected)
            proxy.armed = cut
            fresh = [f"cut-{round_}-{number}" for number in range(4)]
            names = [*expected[:2], *fresh, *expected[2:4]]
            results = await asyncio.gather(*(ask(name) for name in names), return_exceptions=True)
            assert proxy.cuts == round_ + 1
            await until(connected)
            written = {name for name, _ in decisions(await read_log(database, PostgresLog(MASTER_KEY)), "cut")}
            for name, result in zip(names, results, strict=True):
                if name in fresh:
                    assert isinstance(result, Request if name in written else Unavailable), (name, result)
                else:
                    assert isinstance(result, (VersionConflict, Unavailable)), (name, result)
            await asyncio.gather(*(ask(name) for name in fresh if name not in written))
            expected += fresh
        log = await read_log(database, PostgresLog(MASTER_KEY))
    assert sorted(name for name, _ in decisions(log, "cut")) == sorted(expected)
    assert check_turns(log, "cut") == 32


async def test_members_come_and_go_and_nobodys_turn_is_lost(replicas: Replicas, clients: Clients) -> None:
    """While requests come in through both servers: every turn is the next one in the list as it stood then."""
    members = await clients.crew("changing", 6)
    strategy = from_list("changing")

    async def ask(number: int) -> None:
        response = await create(clients.agents[number % 2], f"changing-{number}", strategy)
        assert response.status_code == 201, response.text

    chance = random.Random(11)
    async with going_on(ask) as done:
        for number in range(25):
            await progress(done, 5)
            staying = chance.sample(members, chance.randint(1, 6))
            if number % 2:
                staying.sort()
            changed = await clients.admins[number % 2].patch("/api/lists/changing", json={"members": staying})
            assert changed.status_code == 200, changed.text
        await progress(done, 5)
    log = await replicas.log()
    assert check_turns(log, "changing") == done["done"] >= 130
    changes = [entry for entry in log if isinstance(entry.event, MemberList.Changed)]
    assert len([entry for entry in changes if entry.aggregate_id == directory_id("list", "changing")]) >= 20


async def test_chance_is_fair(database: str, tmp_path: Path) -> None:
    """Four hundred over four people: about a hundred each, one draw for each request."""
    async with service(database, tmp_path / "data", chance=random.Random(7)) as handraise:
        for id in MEMBERS:
            await handraise.person(id)
        added = await handraise.admin.post("/api/lists", json={"id": "lot", "name": "Lot", "members": MEMBERS})
        assert added.status_code == 201
        strategy = from_list("lot", "Random")
        await asyncio.gather(*(handraise.ask(unique_id=f"lot-{n}", assignment_strategy=strategy) for n in range(400)))
        found = decisions(await read_log(database, log_of(handraise)), "lot")
    drawn = random.Random(7)
    ids = [str(directory_id("user", member)) for member in MEMBERS]
    assert [assignment["chosen"] for _, assignment in found] == [drawn.choice(ids) for _ in range(400)]
    counts = Counter(assignment["chosen"] for _, assignment in found)
    assert all(70 <= counts[id] <= 130 for id in ids)


# -- claims


async def test_of_two_who_claim_at_once_one_wins(replicas: Replicas, clients: Clients) -> None:
    """Through two servers, twenty times: one has it, the other is told who."""
    members = await clients.crew("claiming", 2)
    await clients.add("request-types", id="claiming", name="Claiming")
    people: list[httpx.AsyncClient] = []
    async with AsyncExitStack() as stack:
        for member, server in zip(members, replicas.servers, strict=True):
            key = (await clients.add("keys", name="k", user=member))["key"]
            people.append(await stack.enter_async_context(client_of(server, key)))
        for number in range(20):
            shared = {"type": "SharedInbox", "listID": "claiming"}
            request = (await create(clients.agents[number % 2], f"claiming-{number}", shared)).json()
            path = f"/api/requests/{request['id']}/claim"
            both = await asyncio.gather(*(person.post(path) for person in people))
            winner, loser = sorted(both, key=lambda response: response.status_code)
            assert (winner.status_code, loser.status_code) == (200, 409)
            name = members[both.index(winner)]
            assert (winner.json()["assigned_to"], winner.json()["claimed"]) == (name, True)
            assert loser.json()["detail"] == f"somebody else has claimed the request: {name}"
            assert loser.json()["request"] == {"status": "Requested", "assigned_to": name, "claimed": True}
            history = (await clients.admins[0].get(f"/api/requests/{request['id']}/history")).json()["items"]
            assert [event["type"] for event in history] == ["Requested", "Reassigned"]


async def test_of_many_who_answer_or_claim_at_once_one_wins(replicas: Replicas, clients: Clients) -> None:
    """Forty through two servers: all but one are told who was first, none that the server is too busy."""
    members = await clients.crew("rushing", 40)
    shared = {"type": "SharedInbox", "listID": "rushing"}
    async with AsyncExitStack() as stack:
        people: list[httpx.AsyncClient] = []
        for number, member in enumerate(members):
            key = (await clients.add("keys", name="k", user=member))["key"]
            people.append(await stack.enter_async_context(client_of(replicas.servers[number % 2], key)))
        for action, body in (("claim", {}), ("respond", {"text": "yes"})):
            request = (await create(clients.agents[0], f"rushing-{action}", shared)).json()
            path = f"/api/requests/{request['id']}/{action}"
            responses = await asyncio.gather(*(person.post(path, json=body) for person in people))
            statuses = [response.status_code for response in responses]
            assert sorted(statuses) == [200] + [409] * 39
            winner = members[statuses.index(200)]
            for response in responses:
                if response.status_code == 409:
                    told = response.json()["request"]
                    assert (told["assigned_to"] if action == "claim" else told["by"]) == winner


# -- who left, and what was revoked


async def test_whoever_left_is_chosen_by_no_server_any_more(replicas: Replicas, clients: Clients) -> None:
    """From the very place in the log on, in every way of being chosen; what they had moves on."""
    members = await clients.crew("leaving")
    strategies = [
        from_list("leaving"),
        from_list("leaving", "LeastBusy"),
        from_list("leaving", "Random"),
        {"type": "SpecificUser", "userID": members[0]},
    ]

    async def ask(number: int) -> None:
        response = await create(clients.agents[number % 2], f"leaving-{number}", strategies[number // 2 % 4])
        assert response.status_code == 201, response.text

    async with going_on(ask, 16) as done:
        await progress(done, 60)
        left = await clients.admins[0].patch(f"/api/users/{members[0]}", json={"active": False})
        assert left.status_code == 200, left.text
        await progress(done, 60)
    leaver = directory_id("user", members[0])

    async def moved() -> bool:
        return not await rows(replicas.database, "SELECT FROM due_steps WHERE request_id = %s", leaver)

    await until(moved)
    log = await replicas.log()
    (gone,) = (
        entry.position
        for entry in log
        if entry.aggregate_id == leaver and isinstance(entry.event, User.Changed) and not entry.event.active
    )
    assert gone == left.json()["position"]
    chosen = {True: 0, False: 0}
    has: dict[UUID, str | None] = {}
    for entry in log:
        event = entry.event
        if not isinstance(event, (Request.Requested, Request.Reassigned)):
            continue
        assignment = event.assignment
        has[entry.aggregate_id] = assignment["chosen"]
        if assignment["chosen"] == str(leaver):
            chosen[entry.position > gone] += 1
        if entry.position > gone:
            assert str(leaver) not in assignment["candidates"]
    assert chosen[False] > 10
    assert chosen[True] == 0
    assert str(leaver) not in has.values()
    moves = [entry.event for entry in log if isinstance(entry.event, Request.Reassigned)]
    assert {event.cause for event in moves if event.from_user == leaver} == {"departed"}


async def test_nothing_comes_to_whoever_left(replicas: Replicas, clients: Clients) -> None:
    """While they claim, and others hand them things, through both servers: all of it before they left, or refused."""
    members = await clients.crew("handing", 2)
    shared = {"type": "SharedInbox", "listID": "handing"}
    key = (await clients.add("keys", name="k", user=members[0]))["key"]
    async with AsyncExitStack() as stack:
        own = [await stack.enter_async_context(client_of(server, key)) for server in replicas.servers]

        async def give(number: int) -> None:
            request = (await create(clients.agents[number % 2], f"handing-{number}", shared)).json()
            path = f"/api/requests/{request['id']}"
            client, command, body = (
                (own[number % 2], "claim", {}),
                (clients.admins[number % 2], "reassign", {"to": members[0]}),
                (clients.admins[number % 2], "delegate", {"to": members[0]}),
            )[number // 2 % 3]
            response = await client.post(f"{path}/{command}", json=body)
            assert response.status_code in ((200, 401, 403) if command == "claim" else (200, 422)), response.text

        async with going_on(give, 16) as done:
            await progress(done, 60)
            left = await clients.admins[0].delete(f"/api/users/{members[0]}")
            assert left.status_code == 200, left.text
            await progress(done, 60)
    leaver = directory_id("user", members[0])

    async def moved() -> bool:
        return not await rows(replicas.database, "SELECT FROM due_steps WHERE request_id = %s", leaver)

    await until(moved)
    has: dict[UUID, UUID | None] = {}
    before = 0
    for entry in await replicas.log():
        if isinstance(entry.event, Request.Reassigned):
            has[entry.aggregate_id] = entry.event.to_user
            before += entry.event.to_user == leaver
            assert entry.position < left.json()["position"] or entry.event.to_user != leaver
    assert before > 10
    assert leaver not in has.values()


async def test_a_revoked_key_stops_at_once_on_every_server(replicas: Replicas, clients: Clients) -> None:
    """While it is in use there: what begins after the answer to the revocation is refused."""
    user = (await clients.crew("revoked", 1))[0]
    for number in range(10):
        made = await clients.add("keys", id=f"revoked-{number}", name="k", user=user)
        async with client_of(replicas.servers[1], made["key"]) as other:
            assert (await other.get("/api/me")).status_code == 200

            async def use(_: int, other: httpx.AsyncClient = other) -> None:
                assert (await other.get("/api/me")).status_code in (200, 401)

            async with going_on(use, 4) as done:
                await progress(done, 4)
                revoked = await clients.admins[0].delete(f"/api/keys/revoked-{number}")
                assert revoked.status_code == 200, revoked.text
                after = await asyncio.gather(*(other.get("/api/me") for _ in range(4)))
                assert {response.status_code for response in after} == {401}


async def test_whoever_is_made_inactive_is_out_at_once_on_every_server(replicas: Replicas, clients: Clients) -> None:
    """Their keys stop with them, and work again when they are back."""
    user = (await clients.crew("inactive", 1))[0]
    key = (await clients.add("keys", name="k", user=user))["key"]
    async with client_of(replicas.servers[1], key) as other:
        for _ in range(5):
            for active, status in ((False, 401), (True, 200)):
                changed = await clients.admins[0].patch(f"/api/users/{user}", json={"active": active})
                assert changed.status_code == 200
                assert (await other.get("/api/me")).status_code == status
