"""The facts that routing decides from, read while the append lock is held.

What the directory says is remembered until `directory_version` changes, so that a decision over a list of a thousand
people costs no more than one over two. Whose turn it is and who is how busy is read every time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from uuid import UUID

import psycopg

from domain.callers import Role
from domain.directory import directory_id
from domain.routing import (
    AgentFacts,
    Chance,
    Facts,
    Level,
    ListOfPeople,
    Person,
    RequestTypeFacts,
    Subject,
    levels,
)
from domain.strategies import LEAST_BUSY, LIST, SPECIFIC_USER, Strategy, list_named, list_strategy, parse, user_named
from interfaces.postgres.inline import COUNT_OPEN, TAKE_TURN, Change

_REMEMBERED = 200_000
"""People, lists and agents at most; beyond that all is forgotten and read again."""


class RoutingFacts:
    """The facts for one decision after another, of one connection."""

    def __init__(self, chance: Chance | None = None) -> None:
        self._chance: Chance = chance or Random()  # noqa: S311  nothing secret hangs on it
        self._version: int | None = None
        self._facts = Facts(self._chance)
        self._read: set[tuple[str, UUID]] = set()
        """Lists, and people, that were looked for; also those that are not there."""

    async def load(
        self,
        connection: psycopg.AsyncConnection,
        subjects: Sequence[Subject],
        also: Iterable[UUID],
        version: int,
    ) -> Facts:
        """All that decisions on these subjects can ask for, and the people and lists of `also`.

        `version` is the directory's, read with the lock held.
        """
        facts = self._facts
        if version != self._version or len(facts.people) + len(facts.lists) + len(facts.agents) > _REMEMBERED:
            facts = self._facts = Facts(self._chance)
            self._read.clear()
            self._version = None  # until all is read: the database may go away in between
            await self._read_levels(connection, facts)
            self._version = version
        await self._read_agents(connection, facts, {subject.agent_id for subject in subjects})
        strategies = [
            parsed.strategy
            for subject in subjects
            for _, _, parsed in levels(subject, facts)
            if parsed.strategy is not None
        ]
        lists = {directory_id("list", name) for strategy in strategies if (name := list_named(strategy))}
        also = set(also)
        await self._read_lists(connection, facts, lists | also)
        wanted = {directory_id("user", name) for strategy in strategies if (name := _user_of(strategy))} | also
        for subject in subjects:
            agent = facts.agents.get(subject.agent_id)
            wanted.update(id for id in (subject.run_user, agent.owner if agent else None) if id is not None)
        await self._read_people(connection, facts, wanted)
        await self._read_state(connection, facts, [strategy for strategy in strategies if strategy["type"] == LIST])
        return facts

    def note(self, changes: Iterable[Change]) -> None:
        """What is about to be written in front of the next decision of the same batch."""
        facts = self._facts
        for bulk, row in changes:
            if bulk is COUNT_OPEN:
                facts.open_requests[row[0]] = facts.open_requests.get(row[0], 0) + row[1]
            elif bulk is TAKE_TURN:
                facts.turns[row[0]] = row[1]

    async def _read_levels(self, connection: psycopg.AsyncConnection, facts: Facts) -> None:
        cursor = await connection.execute(
            "SELECT id, readable_id, assignment_strategy FROM agent_types WHERE NOT removed", binary=True
        )
        for id, readable_id, strategy in await cursor.fetchall():
            facts.agent_types[id] = Level(readable_id, parse(strategy))
        cursor = await connection.execute(
            "SELECT id, readable_id, assignment_strategy, parent FROM categories WHERE NOT removed", binary=True
        )
        for id, readable_id, strategy, parent in await cursor.fetchall():
            facts.categories[id] = Level(readable_id, parse(strategy), parent)
        cursor = await connection.execute(
            "SELECT readable_id, default_assignment_strategy, default_priority, default_expiration_minutes,"
            " no_self_answer, erase_after_days FROM request_types WHERE NOT removed",
            binary=True,
        )
        for readable_id, strategy, *values in await cursor.fetchall():
            facts.request_types[readable_id] = RequestTypeFacts(parse(strategy), *values)

    async def _read_agents(self, connection: psycopg.AsyncConnection, facts: Facts, ids: set[UUID]) -> None:
        missing = ids - facts.agents.keys()
        if not missing:
            return
        cursor = await connection.execute(
            "SELECT id, owner, agent_type, category FROM agents WHERE id = ANY(%b)", (list(missing),), binary=True
        )
        found = {id: AgentFacts(*values) for id, *values in await cursor.fetchall()}
        facts.agents.update(dict.fromkeys(missing, AgentFacts()) | found)

    async def _read_lists(self, connection: psycopg.AsyncConnection, facts: Facts, ids: set[UUID]) -> None:
        missing = {id for id in ids if ("list", id) not in self._read}
        if not missing:
            return
        cursor = await connection.execute(
            "SELECT l.id, l.readable_id, ARRAY(SELECT m.user_id FROM list_members m WHERE m.list_id = l.id"
            " ORDER BY m.place) FROM lists l WHERE l.id = ANY(%b) AND NOT l.removed",
            (list(missing),),
            binary=True,
        )
        for id, readable_id, members in await cursor.fetchall():
            facts.lists[id] = ListOfPeople(readable_id, tuple(members))
            await self._read_people(connection, facts, set(members))
        self._read.update(("list", id) for id in missing)

    async def _read_people(self, connection: psycopg.AsyncConnection, facts: Facts, ids: set[UUID]) -> None:
        missing = {id for id in ids if ("user", id) not in self._read}
        if not missing:
            return
        cursor = await connection.execute(
            "WITH RECURSIVE wanted AS (SELECT unnest(%b::uuid[]) AS id"
            " UNION SELECT u.stand_in FROM users u JOIN wanted ON u.id = wanted.id WHERE u.stand_in IS NOT NULL)"
            " SELECT u.id, u.readable_id, u.active AND u.role <> %s, u.away_from, u.away_until, u.stand_in"
            " FROM wanted JOIN users u ON u.id = wanted.id",
            (list(missing), Role.AUDITOR.value),
            binary=True,
        )
        for id, readable_id, may_be_asked, away_from, away_until, stand_in in await cursor.fetchall():
            away = None if away_from is None else (away_from, away_until)
            facts.people[id] = Person(readable_id, may_be_asked, away, stand_in)
        self._read.update(("user", id) for id in missing)

    async def _read_state(
        self, connection: psycopg.AsyncConnection, facts: Facts, strategies: Sequence[Strategy]
    ) -> None:
        """Whose turn it was in the lists that these strategies name, and how busy those are of whom it matters."""
        facts.turns.clear()
        facts.open_requests.clear()
        lists = {directory_id("list", name) for strategy in strategies if (name := list_named(strategy))}
        if not lists:
            return
        by_load = {
            directory_id("list", name)
            for strategy in strategies
            if list_strategy(strategy) == LEAST_BUSY and (name := list_named(strategy))
        }
        cursor = await connection.execute(
            "SELECT id, last_turn, 0 FROM lists WHERE id = ANY(%b) UNION ALL"
            " SELECT c.holder_id, NULL, c.count FROM open_counts c WHERE c.holder_id = ANY(%b)",
            (list(lists), list({id for list_id in by_load for id in _members(facts, list_id)})),
            binary=True,
        )
        for id, last, count in await cursor.fetchall():
            if id in lists:
                facts.turns[id] = last
            else:
                facts.open_requests[id] = count


def _user_of(strategy: Strategy) -> str | None:
    return user_named(strategy) if strategy["type"] == SPECIFIC_USER else None


def _members(facts: Facts, list_id: UUID) -> tuple[UUID, ...]:
    found = facts.lists.get(list_id)
    return () if found is None else found.members
