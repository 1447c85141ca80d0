"""Who is to be asked: the levels from the request itself up to the fallback, the first that names somebody wins whole.

Pure: the facts are handed in, read while the append lock is held (`interfaces.postgres.routing`), or for a dry run.
A level that has no strategy, a broken one, or one that names nobody who can be asked, falls through to the next and
says so. Nothing here fails, whatever the facts are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar
from uuid import UUID

from domain.assignment import INVOCATION, Decision
from domain.directory import directory_id
from domain.strategies import (
    AGENT_OWNER,
    LEAST_BUSY,
    LIST,
    NO_STRATEGY,
    RANDOM,
    RUN_USER,
    SHARED_INBOX,
    SPECIFIC_USER,
    Parsed,
    Strategy,
    expiration_of,
    list_named,
    list_strategy,
    priority_of,
    user_named,
)

AGENT_TYPE, CATEGORY, REQUEST_TYPE, FALLBACK = "agent_type", "category", "request_type", "fallback"
COMMAND = "command"
ESCALATION = "escalation"

CANDIDATES = 5
"""How many candidates a decision names at most: those whose turn comes next."""

SHORTEST_LIFETIME = timedelta(milliseconds=1)
"""A request lives at least so long, however little of a minute a strategy gives it."""

T = TypeVar("T")


class Chance(Protocol):
    """Picks at random; `random.Random` is one."""

    def choice(self, seq: Sequence[T]) -> T: ...


# -- the facts


@dataclass(frozen=True, slots=True)
class Person:
    """A person as routing sees them. `away` is the time out of office, from the first instant to the one after."""

    readable_id: str
    may_be_asked: bool = True
    """Active, and no auditor."""

    away: tuple[datetime, datetime] | None = None
    stand_in: UUID | None = None

    def is_away(self, now: datetime) -> bool:
        return self.away is not None and self.away[0] <= now < self.away[1]


@dataclass(frozen=True, slots=True)
class ListOfPeople:
    """A list as routing sees it: its members in their order."""

    readable_id: str
    members: tuple[UUID, ...]
    places: Mapping[UUID, int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", {member: place for place, member in enumerate(self.members)})

    def in_turn(self, last: UUID | None) -> Iterator[UUID]:
        """All members, from the one after `last` on."""
        first = 0 if last is None else self.places.get(last, -1) + 1
        yield from self.members[first:]
        yield from self.members[:first]


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """What an agent brings along."""

    owner: UUID | None = None
    agent_type: UUID | None = None
    category: UUID | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """An agent type or a category: what it says, and where to look next."""

    readable_id: str
    strategy: Parsed = NO_STRATEGY
    parent: UUID | None = None


@dataclass(frozen=True, slots=True)
class RequestTypeFacts:
    """What a request type says."""

    strategy: Parsed = NO_STRATEGY
    priority: int | None = None
    expiration_minutes: float | None = None
    no_self_answer: bool = False
    erase_after_days: float | None = None


@dataclass(slots=True)
class Facts:
    """What a decision is taken from, as true as at the moment of the decision."""

    chance: Chance
    agents: dict[UUID, AgentFacts] = field(default_factory=dict[UUID, AgentFacts])
    agent_types: dict[UUID, Level] = field(default_factory=dict[UUID, Level])
    categories: dict[UUID, Level] = field(default_factory=dict[UUID, Level])
    request_types: dict[str, RequestTypeFacts] = field(default_factory=dict[str, RequestTypeFacts])
    people: dict[UUID, Person] = field(default_factory=dict[UUID, Person])
    lists: dict[UUID, ListOfPeople] = field(default_factory=dict[UUID, ListOfPeople])
    turns: dict[UUID, UUID | None] = field(default_factory=dict[UUID, "UUID | None"])
    """By list, whose turn was the last."""

    open_requests: dict[UUID, int] = field(default_factory=dict[UUID, int])
    """By person, how many open requests they have."""

    def may_be_asked(self, person_id: UUID) -> bool:
        """Whether requests can be given to this person, away or not."""
        person = self.people.get(person_id)
        return person is not None and person.may_be_asked


@dataclass(frozen=True, slots=True)
class Subject:
    """What routing needs to know of a request. `strategy` is the one that came with it."""

    agent_id: UUID
    request_type: str
    run_user: UUID | None = None
    strategy: Parsed = NO_STRATEGY
    excluded: frozenset[UUID] | None = None
    """Who may not answer, where that was settled when it was asked; None leaves it to the request type."""


@dataclass(frozen=True, slots=True)
class Routed:
    """A decision, and what the strategy that won, else the request type, says besides; None where neither does."""

    decision: Decision
    priority: int | None
    lifetime: timedelta | None


# -- the decision


def resolve(subject: Subject, facts: Facts, now: datetime) -> Routed:
    """Walk the levels; the first strategy that names somebody who can be asked wins whole."""
    of_type = facts.request_types.get(subject.request_type, RequestTypeFacts())
    excluded = _excluded(subject, facts)
    routing = _Routing(subject, facts, now, frozenset(excluded))
    trace: list[dict[str, Any]] = []
    for level, of, parsed in levels(subject, facts):
        step: dict[str, Any] = {"level": level} | ({} if of is None else {"of": of})
        trace.append(step)
        strategy = parsed.strategy
        if strategy is None:
            step["said"] = parsed.warning or "no strategy"
            if parsed.warning is not None:
                step["warning"] = True
            continue
        step["strategy"] = strategy
        named = routing.follow(strategy)
        step["said"] = named.said
        if not named.somebody:
            step["warning"] = True
            continue
        where = _WHERE[level] + ("" if of is None else f" {of!r}")
        decision = Decision(
            level=level,
            reason=f"{where} says {strategy['type']}: {named.said}.",
            chosen=named.chosen,
            list=named.list,
            strategy=strategy,
            candidates=named.candidates,
            trace=tuple(trace),
            turn_of=named.turn_of,
            excluded=excluded,
        )
        minutes = expiration_of(strategy)
        return Routed(
            decision,
            _first(priority_of(strategy), of_type.priority),
            _minutes(_first(minutes, of_type.expiration_minutes)),
        )
    return Routed(_fall_back(routing, trace, excluded), of_type.priority, _minutes(of_type.expiration_minutes))


def follow(strategy: Strategy, subject: Subject, facts: Facts, now: datetime) -> Decision:
    """Whom this one strategy names, for a step of a ladder; nobody is asked where it names nobody."""
    excluded = _excluded(subject, facts)
    named = _Routing(subject, facts, now, frozenset(excluded)).follow(strategy)
    return Decision(
        level=ESCALATION,
        reason=f"Nobody reacted, and the ladder says {strategy['type']}: {named.said}.",
        chosen=named.chosen,
        list=named.list,
        strategy=strategy,
        candidates=named.candidates,
        trace=({"level": ESCALATION, "strategy": strategy, "said": named.said},),
        turn_of=named.turn_of,
    )


def back_to_list(list_id: UUID, facts: Facts, now: datetime, excluded: frozenset[UUID]) -> Decision | None:
    """Back into the inbox that a list shares, where anybody in it can be asked now."""
    people = facts.lists.get(list_id)
    routing = _Routing(Subject(list_id, ""), facts, now, excluded)
    candidates = () if people is None else routing.some(people.members)
    if people is None or not candidates:
        return None
    reason = f"Whoever had claimed it is not there any more: back to whoever in {people.readable_id!r} takes it."
    return Decision(level=COMMAND, reason=reason, list=list_id, candidates=candidates)


def _excluded(subject: Subject, facts: Facts) -> tuple[UUID, ...]:
    if subject.excluded is not None:
        return tuple(sorted(subject.excluded))
    of_type = facts.request_types.get(subject.request_type, RequestTypeFacts())
    return (subject.run_user,) if of_type.no_self_answer and subject.run_user is not None else ()


def levels(subject: Subject, facts: Facts) -> Iterator[tuple[str, str | None, Parsed]]:
    """(level, of which agent type, category or request type, what it says), bottom up, each category once."""
    yield INVOCATION, None, subject.strategy
    agent = facts.agents.get(subject.agent_id, AgentFacts())
    agent_type = facts.agent_types.get(agent.agent_type) if agent.agent_type is not None else None
    if agent_type is None:
        yield AGENT_TYPE, None, NO_STRATEGY
    else:
        yield AGENT_TYPE, agent_type.readable_id, agent_type.strategy
    seen: set[UUID] = set()
    next_ = agent.category
    while next_ is not None and next_ not in seen and (category := facts.categories.get(next_)) is not None:
        seen.add(next_)
        yield CATEGORY, category.readable_id, category.strategy
        next_ = category.parent
    if not seen:
        yield CATEGORY, None, NO_STRATEGY
    of_type = facts.request_types.get(subject.request_type, RequestTypeFacts())
    yield REQUEST_TYPE, subject.request_type, of_type.strategy


_WHERE = {
    INVOCATION: "The request itself",
    AGENT_TYPE: "The agent type",
    CATEGORY: "The category",
    REQUEST_TYPE: "The request type",
}


def _fall_back(routing: _Routing, trace: list[dict[str, Any]], excluded: tuple[UUID, ...]) -> Decision:
    named = routing.run_user()
    trace.append({"level": FALLBACK, "said": named.said, "warning": True})
    return Decision(
        level=FALLBACK,
        reason=f"No strategy names anybody: the run user is asked ({named.said})."
        if named.somebody
        else f"No strategy names anybody, and {named.said}: administrators see it.",
        chosen=named.chosen,
        candidates=named.candidates,
        trace=tuple(trace),
        excluded=excluded,
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """Whom a strategy names, and in words."""

    said: str
    chosen: UUID | None = None
    list: UUID | None = None
    candidates: tuple[UUID, ...] = ()
    turn_of: UUID | None = None

    @property
    def somebody(self) -> bool:
        return self.chosen is not None or self.list is not None


@dataclass(frozen=True, slots=True)
class _Routing:
    subject: Subject
    facts: Facts
    now: datetime
    excluded: frozenset[UUID]

    def follow(self, strategy: Mapping[str, Any]) -> _Named:
        type_ = strategy["type"]
        if type_ == RUN_USER:
            return self.run_user()
        if type_ == AGENT_OWNER:
            agent = self.facts.agents.get(self.subject.agent_id, AgentFacts())
            return self._person(agent.owner, "the agent has no owner")
        if type_ == SPECIFIC_USER:
            user = user_named(strategy)
            if user is None:
                return _Named("no userID says whom")
            return self._person(directory_id("user", user), "", user)
        if type_ == SHARED_INBOX:
            return self._shared(strategy)
        assert type_ == LIST
        return self._from_list(strategy)

    def run_user(self) -> _Named:
        return self._person(self.subject.run_user, "the request has no run user")

    def _person(self, id: UUID | None, nobody: str, name: str | None = None) -> _Named:
        """The person, or who stands in; a chain of stand-ins is followed to its end."""
        if id is None:
            return _Named(nobody)
        said: list[str] = []
        tried: list[UUID] = []
        while id is not None and id not in tried:
            tried.append(id)
            person = self.facts.people.get(id)
            if person is None:
                said.append(f"there is no user {name!r}" if name and len(tried) == 1 else "there is no such user")
                break
            why_not = self._why_not(id, person)
            if why_not is None:
                said.append(person.readable_id if len(tried) == 1 else f"{person.readable_id} stands in")
                return _Named(", ".join(said), chosen=id, candidates=(id,))
            said.append(why_not)
            id = person.stand_in if person.is_away(self.now) else None
        return _Named(", ".join(said))

    def _why_not(self, id: UUID, person: Person) -> str | None:
        if not person.may_be_asked:
            return f"{person.readable_id} is not active, or audits only"
        if id in self.excluded:
            return f"{person.readable_id} is the run user, who may not answer this type"
        if person.is_away(self.now):
            return f"{person.readable_id} is out of office"
        return None

    def _eligible(self, id: UUID) -> bool:
        person = self.facts.people.get(id)
        return person is not None and self._why_not(id, person) is None

    def _list(self, strategy: Mapping[str, Any]) -> tuple[UUID, ListOfPeople] | str:
        name = list_named(strategy)
        if name is None:
            return "no listID says which list"
        id = directory_id("list", name)
        found = self.facts.lists.get(id)
        if found is None:
            return f"there is no list {name!r}"
        return id, found

    def _shared(self, strategy: Mapping[str, Any]) -> _Named:
        found = self._list(strategy)
        if isinstance(found, str):
            return _Named(found)
        id, people = found
        candidates = self.some(people.members)
        if not candidates:
            return _Named(f"nobody in {people.readable_id!r} can be asked now")
        return _Named(f"whoever in {people.readable_id!r} takes it", list=id, candidates=candidates)

    def _from_list(self, strategy: Mapping[str, Any]) -> _Named:
        found = self._list(strategy)
        if isinstance(found, str):
            return _Named(found)
        id, people = found
        how = list_strategy(strategy)
        if how is None:
            return _Named("its listStrategy is none that there is")
        if how == LEAST_BUSY:
            return self._least_busy(people)
        if how == RANDOM:
            return self._at_random(people)
        return self._next_in_turn(id, people)

    def _next_in_turn(self, id: UUID, people: ListOfPeople) -> _Named:
        candidates = self.some(people.in_turn(self.facts.turns.get(id)))
        if not candidates:
            return _nobody(people)
        said = f"it is the turn of {self._name(candidates[0])} in {people.readable_id!r}"
        return _Named(said, chosen=candidates[0], candidates=candidates, turn_of=id)

    def _least_busy(self, people: ListOfPeople) -> _Named:
        counts = self.facts.open_requests
        eligible = sorted((id for id in people.members if self._eligible(id)), key=lambda id: counts.get(id, 0))
        if not eligible:
            return _nobody(people)
        chosen = eligible[0]
        busy = f"{self._name(chosen)} has the fewest open requests in {people.readable_id!r}, {counts.get(chosen, 0)}"
        return _Named(busy, chosen=chosen, candidates=tuple(eligible[:CANDIDATES]))

    def _at_random(self, people: ListOfPeople) -> _Named:
        eligible = [id for id in people.members if self._eligible(id)]
        if not eligible:
            return _nobody(people)
        chosen = self.facts.chance.choice(eligible)
        said = f"chance took {self._name(chosen)} out of {len(eligible)} in {people.readable_id!r}"
        others = [id for id in eligible[:CANDIDATES] if id != chosen]
        return _Named(said, chosen=chosen, candidates=(chosen, *others)[:CANDIDATES])

    def some(self, ids: Iterator[UUID] | Sequence[UUID]) -> tuple[UUID, ...]:
        """The first of these who can be asked."""
        found: list[UUID] = []
        for id in ids:
            if self._eligible(id):
                found.append(id)
                if len(found) == CANDIDATES:
                    break
        return tuple(found)

    def _name(self, id: UUID) -> str:
        return self.facts.people[id].readable_id


def _nobody(people: ListOfPeople) -> _Named:
    return _Named(f"nobody in {people.readable_id!r} can be asked now")


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)


def _minutes(minutes: float | None) -> timedelta | None:
    return None if minutes is None else max(timedelta(minutes=minutes), SHORTEST_LIFETIME)
