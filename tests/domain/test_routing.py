"""Who is asked and why: the levels in their order, how each falls through, and what holds of every decision."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.assignment import excluded_by, strategy_asked_for, turn_of
from domain.directory import directory_id
from domain.routing import (
    CANDIDATES,
    AgentFacts,
    Facts,
    Level,
    ListOfPeople,
    Person,
    RequestTypeFacts,
    Routed,
    Subject,
    back_to_list,
    resolve,
)
from domain.strategies import LIST_STRATEGIES, MAX_MINUTES, TYPES, parse

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
AWAY = (NOW - DAY, NOW + DAY)
AGENT = directory_id("agent", "deploy-bot")
KIND = directory_id("agent_type", "deployer")


def user(name: str) -> UUID:
    return directory_id("user", name)


def people_list(name: str) -> UUID:
    return directory_id("list", name)


def category(name: str) -> UUID:
    return directory_id("category", name)


ANNA, BERT, CLEO, DANA, EVE = (user(name) for name in ("anna", "bert", "cleo", "dana", "eve"))
ONCALL = people_list("oncall")

RUN_USER = {"type": "RunUser"}
OWNER = {"type": "AgentOwner"}
TURNS = {"type": "List", "listID": "oncall"}
LEAST_BUSY = {**TURNS, "listStrategy": "LeastBusy"}
BY_CHANCE = {**TURNS, "listStrategy": "Random"}
INBOX = {"type": "SharedInbox", "listID": "oncall"}


def names(user_id: str) -> dict[str, Any]:
    return {"type": "SpecificUser", "userID": user_id}


class World:
    """The facts of a small directory, changed by each test as it needs."""

    def __init__(self, **strategies: Any) -> None:
        """Strategies by level: `invocation`, `agent_type`, `child`, `parent`, `root`, `request_type`."""
        self.people = {user(name): Person(name) for name in ("anna", "bert", "cleo", "dana", "eve")}
        self.members: Sequence[UUID] = (ANNA, BERT, CLEO)
        self.agent = AgentFacts(owner=DANA, agent_type=KIND, category=category("child"))
        self.categories = {
            category("child"): Level("child", parse(strategies.get("child")), category("parent")),
            category("parent"): Level("parent", parse(strategies.get("parent")), category("root")),
            category("root"): Level("root", parse(strategies.get("root"))),
        }
        self.agent_types = {KIND: Level("deployer", parse(strategies.get("agent_type")))}
        self.request_type = RequestTypeFacts(parse(strategies.get("request_type")))
        self.invocation = parse(strategies.get("invocation"))
        self.run_user: UUID | None = EVE
        self.last_turn: UUID | None = None
        self.open_requests: dict[UUID, int] = {}
        self.chance = Random(7)
        self.has_list = True

    def facts(self) -> Facts:
        return Facts(
            chance=self.chance,
            agents={AGENT: self.agent},
            agent_types=self.agent_types,
            categories=self.categories,
            request_types={"approval": self.request_type},
            people=self.people,
            lists={ONCALL: ListOfPeople("oncall", tuple(self.members))} if self.has_list else {},
            turns={ONCALL: self.last_turn},
            open_requests=self.open_requests,
        )

    def without(self, name: str, **changes: Any) -> World:
        """Somebody who cannot be asked; by default because they are not active."""
        self.people[user(name)] = Person(name, **(changes or {"may_be_asked": False}))
        return self

    def away(self, name: str, stand_in: UUID | None = None) -> World:
        return self.without(name, away=AWAY, stand_in=stand_in)

    def routed(self, request_type: str = "approval") -> Routed:
        return resolve(Subject(AGENT, request_type, self.run_user, self.invocation), self.facts(), NOW)

    def said(self, level: str) -> str:
        return next(step["said"] for step in self.routed().decision.trace if step["level"] == level)

    def take_turns(self, number: int) -> list[UUID | None]:
        """Decide that often; each decision that takes a turn moves the pointer, as the store does."""
        chosen: list[UUID | None] = []
        for _ in range(number):
            decision = self.routed().decision
            chosen.append(decision.chosen)
            if decision.turn_of == ONCALL:
                self.last_turn = decision.chosen
        return chosen


def levels_of(routed: Routed) -> list[tuple[str, str | None]]:
    return [(step["level"], step.get("of")) for step in routed.decision.trace]


# -- the levels


def test_the_worked_example() -> None:
    """Deep Research says nothing, Research & Analysis above it names one person and a priority, the root RunUser."""
    world = World()
    world.agent = AgentFacts(category=category("deep-research"))
    one_person = parse({"type": "SpecificUser", "userID": "anna", "priority": 30})
    world.categories = {
        category("deep-research"): Level("deep-research", parse(None), category("research-analysis")),
        category("research-analysis"): Level("research-analysis", one_person, category("all")),
        category("all"): Level("all", parse(RUN_USER)),
    }
    routed = world.routed()
    decision = routed.decision
    assert (decision.chosen, routed.priority, routed.lifetime) == (ANNA, 30, None)
    assert (decision.level, decision.list, decision.turn_of, decision.excluded) == ("category", None, None, ())
    assert decision.reason == "The category 'research-analysis' says SpecificUser: anna."
    assert decision.strategy == {"type": "SpecificUser", "userID": "anna", "priority": 30}
    assert decision.candidates == (ANNA,)
    assert decision.trace == (
        {"level": "invocation", "said": "no strategy"},
        {"level": "agent_type", "said": "no strategy"},
        {"level": "category", "of": "deep-research", "said": "no strategy"},
        {"level": "category", "of": "research-analysis", "strategy": decision.strategy, "said": "anna"},
    )


LEVELS = {
    "invocation": ("invocation", None, "The request itself says"),
    "agent_type": ("agent_type", "deployer", "The agent type 'deployer' says"),
    "child": ("category", "child", "The category 'child' says"),
    "parent": ("category", "parent", "The category 'parent' says"),
    "root": ("category", "root", "The category 'root' says"),
    "request_type": ("request_type", "approval", "The request type 'approval' says"),
}


@pytest.mark.parametrize("first", range(len(LEVELS)))
def test_the_nearest_level_that_says_something_wins(first: int) -> None:
    """Invocation, agent type, categories from the nearest up, request type: whatever stands further out loses."""
    said = {name: names("bert") for name in list(LEVELS)[first + 1 :]}
    winner = list(LEVELS)[first]
    routed = World(**said, **{winner: names("anna")}).routed()
    level, of, reason = LEVELS[winner]
    assert (routed.decision.level, routed.decision.chosen) == (level, ANNA)
    assert levels_of(routed) == [(level, of) for level, of, _ in list(LEVELS.values())[: first + 1]]
    assert levels_of(routed)[-1] == (level, of)
    assert routed.decision.reason == f"{reason} SpecificUser: anna."


@pytest.mark.parametrize("broken", LEVELS)
def test_a_level_that_names_nobody_is_passed_over_wherever_it_stands(broken: str) -> None:
    """The next one that does wins; with none left it falls to the run user."""
    names_ = list(LEVELS)
    after = names_[names_.index(broken) + 1 :]
    routed = World(**{broken: names("nobody-here")}, **({after[0]: names("anna")} if after else {})).routed()
    level = LEVELS[after[0]][0] if after else "fallback"
    assert (routed.decision.level, routed.decision.chosen) == (level, ANNA if after else EVE)
    step = routed.decision.trace[names_.index(broken)]
    assert (step["said"], step["warning"]) == ("there is no user 'nobody-here'", True)


def test_where_nothing_says_anything_the_run_user_is_asked_with_a_warning() -> None:
    """The fallback is looked at last, says who it is, and is always warned of."""
    routed = World().routed()
    decision = routed.decision
    assert (decision.level, decision.chosen, decision.candidates, decision.strategy) == ("fallback", EVE, (EVE,), None)
    assert decision.reason == ("No strategy names anybody: the run user is asked (eve).")
    assert levels_of(routed) == [*((level, of) for level, of, _ in LEVELS.values()), ("fallback", None)]
    assert decision.trace[-1] == {"level": "fallback", "said": "eve", "warning": True}
    assert (routed.priority, routed.lifetime) == (None, None)


def test_with_nobody_at_all_it_is_nobody_s_and_administrators_see_it() -> None:
    """A request is never lost: it stands there unassigned."""
    world = World()
    world.run_user = None
    decision = world.routed().decision
    assert (decision.level, decision.chosen, decision.list, decision.candidates) == ("fallback", None, None, ())
    assert decision.reason == ("No strategy names anybody, and the request has no run user: administrators see it.")


def test_an_agent_without_type_and_category_still_has_these_levels() -> None:
    """They are looked at and say nothing; so it goes on to the request type."""
    world = World(request_type=names("anna"))
    world.agent = AgentFacts()
    expected = [("invocation", None), ("agent_type", None), ("category", None), ("request_type", "approval")]
    assert levels_of(world.routed()) == expected


def test_unknown_agents_types_and_categories_say_nothing() -> None:
    """Whatever was removed meanwhile, or was never there: the next level."""
    world = World(request_type=names("anna"))
    world.agent = AgentFacts(owner=UUID(int=1), agent_type=UUID(int=2), category=UUID(int=3))
    expected = [("invocation", None), ("agent_type", None), ("category", None), ("request_type", "approval")]
    assert levels_of(world.routed()) == expected
    stranger = resolve(Subject(UUID(int=4), "unheard-of", EVE), world.facts(), NOW)
    assert levels_of(stranger)[-2:] == [("request_type", "unheard-of"), ("fallback", None)]


def test_a_missing_parent_ends_the_walk() -> None:
    """What is above it cannot be known."""
    world = World(root=names("bert"), request_type=names("anna"))
    del world.categories[category("parent")]
    assert levels_of(world.routed())[2:] == [("category", "child"), ("request_type", "approval")]


@pytest.mark.parametrize("back_to", ["child", "parent", "root"])
def test_a_cycle_of_categories_ends_and_each_is_looked_at_once(back_to: str) -> None:
    """A category that is its own parent, or two that are each other's: on to the request type."""
    world = World(request_type=names("anna"))
    order = ["child", "parent", "root"]
    last = order[-1]
    world.categories[category(last)] = Level(last, parse(None), category(back_to))
    routed = world.routed()
    assert levels_of(routed)[2:] == [*(("category", name) for name in order), ("request_type", "approval")]
    world.categories[category("child")] = Level("child", parse(None), category("child"))
    assert levels_of(world.routed())[2:] == [("category", "child"), ("request_type", "approval")]


# -- the winner wins whole


def test_nothing_leaks_from_levels_that_did_not_win() -> None:
    """Neither priority nor lifetime, whether they lost for being further out or for naming nobody."""
    world = World(
        invocation={**names("nobody-here"), "priority": 1, "expirationMinutes": 1},
        agent_type=names("anna"),
        child={**names("bert"), "priority": 2, "expirationMinutes": 2},
    )
    routed = world.routed()
    assert (routed.decision.level, routed.priority, routed.lifetime) == ("agent_type", None, None)


@pytest.mark.parametrize(
    ("strategy", "priority", "lifetime"),
    [
        ({}, 60, timedelta(minutes=90)),
        ({"priority": 30}, 30, timedelta(minutes=90)),
        ({"priority": 1, "expirationMinutes": 0.5}, 1, timedelta(seconds=30)),
        ({"priority": None, "expirationMinutes": None}, 60, timedelta(minutes=90)),
        ({"priority": 0, "expirationMinutes": -1}, 60, timedelta(minutes=90)),
        ({"priority": "high", "expirationMinutes": "soon"}, 60, timedelta(minutes=90)),
        ({"expirationMinutes": MAX_MINUTES}, 60, timedelta(days=3650)),
    ],
)
def test_priority_and_lifetime_are_the_strategy_s_else_the_request_type_s(
    strategy: dict[str, Any], priority: int, lifetime: timedelta
) -> None:
    """What no request can have is as good as not said."""
    world = World(agent_type={**names("anna"), **strategy})
    world.request_type = RequestTypeFacts(priority=60, expiration_minutes=90)
    routed = world.routed()
    assert (routed.priority, routed.lifetime) == (priority, lifetime)


def test_the_fallback_has_the_request_type_s_priority_and_lifetime() -> None:
    """Its strategy names nobody, what it says of the request holds all the same."""
    world = World()
    world.request_type = RequestTypeFacts(parse({**names("nobody-here"), "priority": 3}), 60, 90)
    routed = world.routed()
    assert (routed.decision.level, routed.priority, routed.lifetime) == ("fallback", 60, timedelta(minutes=90))


def test_a_lifetime_is_never_nothing() -> None:
    """The shortest there is would end before it begins: a request that lives by it still has a moment."""
    assert World(agent_type={**RUN_USER, "expirationMinutes": 1e-300}).routed().lifetime == timedelta(milliseconds=1)
    world = World()
    world.request_type = RequestTypeFacts(expiration_minutes=1e-12)
    assert world.routed().lifetime == timedelta(milliseconds=1)


# -- falling through, each with its reason


def no_owner(world: World) -> None:
    world.agent = AgentFacts(None, KIND)


def unknown_owner(world: World) -> None:
    world.agent = AgentFacts(UUID(int=9), KIND)


def no_run_user(world: World) -> None:
    world.run_user = None


def unknown_run_user(world: World) -> None:
    world.run_user = UUID(int=9)


def anna_not_active(world: World) -> None:
    world.without("anna")


def anna_away(world: World) -> None:
    world.away("anna")


def empty_list(world: World) -> None:
    world.members = ()


def no_list(world: World) -> None:
    world.has_list = False


def nobody_there(world: World) -> None:
    world.without("anna").away("bert", stand_in=EVE)
    del world.people[CLEO]


def as_it_is(world: World) -> None:
    """Nothing need be changed."""


NOT_NOW = "nobody in 'oncall' can be asked now"


@pytest.mark.parametrize(
    ("strategy", "case", "said"),
    [
        (OWNER, no_owner, "the agent has no owner"),
        (OWNER, unknown_owner, "there is no such user"),
        (RUN_USER, no_run_user, "the request has no run user"),
        (RUN_USER, unknown_run_user, "there is no such user"),
        (names("anna"), anna_not_active, "anna is not active, or audits only"),
        (names("anna"), anna_away, "anna is out of office"),
        (names("zoe"), as_it_is, "there is no user 'zoe'"),
        ({"type": "SpecificUser"}, as_it_is, "no userID says whom"),
        ({"type": "SpecificUser", "userID": 7}, as_it_is, "no userID says whom"),
        ({"type": "SpecificUser", "listID": "oncall"}, as_it_is, "no userID says whom"),
        ({"type": "List"}, as_it_is, "no listID says which list"),
        ({"type": "SharedInbox", "userID": "anna"}, as_it_is, "no listID says which list"),
        ({"type": "List", "listID": "night"}, as_it_is, "there is no list 'night'"),
        (TURNS, no_list, "there is no list 'oncall'"),
        (INBOX, no_list, "there is no list 'oncall'"),
        ({**TURNS, "listStrategy": "Alphabetical"}, as_it_is, "its listStrategy is none that there is"),
        *((strategy, empty_list, NOT_NOW) for strategy in (TURNS, LEAST_BUSY, BY_CHANCE, INBOX)),
        *((strategy, nobody_there, NOT_NOW) for strategy in (TURNS, LEAST_BUSY, BY_CHANCE, INBOX)),
    ],
)
def test_a_strategy_that_names_nobody_falls_through_and_says_why(strategy: Any, case: Any, said: str) -> None:
    """No owner, no list, nobody there: the next level decides, with a warning at the one that could not."""
    world = World(agent_type=strategy, request_type=names("dana"))
    case(world)
    decision = world.routed().decision
    assert (decision.level, decision.chosen) == ("request_type", DANA)
    assert decision.trace[1].get("warning") is True
    assert decision.trace[1]["said"] == said
    assert decision.trace[1]["strategy"] == strategy


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("{", "what stands there is not JSON"),
        ([], "what stands there is not an object"),
        (7, "what stands there is not an object"),
        ({}, "the strategy has no type"),
        ({"type": "Nobody"}, "the strategy has the unknown type 'Nobody'"),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_a_broken_strategy_falls_through_with_a_warning(level: str, broken: Any, said: str) -> None:
    """On any level; it is not kept in the decision, the warning is."""
    decision = World(**{level: broken}).routed().decision
    assert (decision.level, decision.chosen) == ("fallback", EVE)
    step = decision.trace[list(LEVELS).index(level)]
    assert (step["said"], step["warning"], "strategy" in step) == (said, True, False)
    assert [other for other in decision.trace if "warning" in other] == [step, decision.trace[-1]]


def test_a_level_without_a_strategy_is_no_cause_for_a_warning() -> None:
    """Nothing is wrong with saying nothing."""
    decision = World(request_type=names("anna")).routed().decision
    assert [step["said"] for step in decision.trace[:-1]] == ["no strategy"] * 5
    assert not any("warning" in step for step in decision.trace)


def test_the_fallback_says_why_the_run_user_is_not_asked() -> None:
    """Not active, or away: then it is nobody's."""
    for world, said in (
        (World().without("eve"), "eve is not active, or audits only"),
        (World().away("eve"), "eve is out of office"),
    ):
        decision = world.routed().decision
        assert (decision.level, decision.chosen, decision.list) == ("fallback", None, None)
        assert decision.reason == f"No strategy names anybody, and {said}: administrators see it."


# -- out of office


@pytest.mark.parametrize(
    ("away", "there"),
    [
        ((NOW - DAY, NOW), True),
        ((NOW - DAY, NOW + timedelta(microseconds=1)), False),
        ((NOW, NOW + DAY), False),
        ((NOW + timedelta(microseconds=1), NOW + DAY), True),
    ],
)
def test_somebody_is_away_from_the_first_instant_to_the_one_before_the_end(
    away: tuple[datetime, datetime], there: bool
) -> None:
    """The end itself is back at work."""
    world = World(agent_type=names("anna")).without("anna", away=away)
    assert world.routed().decision.chosen == (ANNA if there else EVE)


@pytest.mark.parametrize("strategy", [names("anna"), OWNER, RUN_USER])
def test_whoever_stands_in_is_asked(strategy: dict[str, Any]) -> None:
    """For a person who is named, the owner and the run user alike; the decision says for whom."""
    world = World(agent_type=strategy).away("anna", stand_in=BERT)
    world.agent = AgentFacts(ANNA, KIND)
    world.run_user = ANNA
    decision = world.routed().decision
    assert (decision.chosen, decision.candidates) == (BERT, (BERT,))
    assert decision.trace[1]["said"] == "anna is out of office, bert stands in"


def test_stand_ins_of_stand_ins_are_followed_to_the_end() -> None:
    """As far as the chain goes."""
    world = World(agent_type=names("anna")).away("anna", BERT).away("bert", CLEO).away("cleo", DANA)
    decision = world.routed().decision
    assert decision.chosen == DANA
    assert world.said("agent_type") == (
        "anna is out of office, bert is out of office, cleo is out of office, dana stands in"
    )


def test_a_long_chain_still_names_whom_it_chose() -> None:
    """However many are away in between."""
    world = World(agent_type=names("anna"))
    chain = ["anna", *(f"p{number}" for number in range(50))]
    for one, next_ in pairwise(chain):
        world.away(one, user(next_))
    world.people[user(chain[-1])] = Person(chain[-1])
    decision = world.routed().decision
    assert decision.chosen == user(chain[-1])
    assert decision.chosen in decision.candidates


@pytest.mark.parametrize("last", ["anna", "bert", "cleo"])
def test_a_cycle_of_stand_ins_ends(last: str) -> None:
    """Each is tried once; then the next level."""
    world = World(agent_type=names("anna")).away("anna", BERT).away("bert", CLEO).away("cleo", user(last))
    assert (world.routed().decision.level, world.routed().decision.chosen) == ("fallback", EVE)
    assert world.said("agent_type") == "anna is out of office, bert is out of office, cleo is out of office"


@pytest.mark.parametrize(
    ("stand_in", "said"),
    [
        (user("zoe"), "anna is out of office, there is no such user"),
        (BERT, "anna is out of office, bert is not active, or audits only"),
        (None, "anna is out of office"),
    ],
)
def test_a_stand_in_who_is_not_there_stands_in_for_nobody(stand_in: UUID | None, said: str) -> None:
    """Unknown, or not active; the person first named is not said to be unknown."""
    world = World(agent_type=names("anna")).away("anna", stand_in).without("bert")
    assert world.routed().decision.chosen == EVE
    assert world.said("agent_type") == said


def test_nobody_stands_in_for_somebody_who_is_at_work_or_back() -> None:
    """A stand-in counts only while the person is away."""
    world = World(agent_type=names("anna")).without("anna", away=(NOW - DAY, NOW), stand_in=BERT)
    assert world.routed().decision.chosen == ANNA
    world.without("anna", may_be_asked=False, away=None, stand_in=BERT)
    assert world.routed().decision.chosen == EVE


@pytest.mark.parametrize("strategy", [TURNS, LEAST_BUSY, BY_CHANCE, INBOX])
def test_in_a_list_nobody_stands_in(strategy: dict[str, Any]) -> None:
    """There are others: the one who is away is passed over."""
    world = World(agent_type=strategy).away("anna", stand_in=DANA)
    world.members = (ANNA, BERT)
    decision = world.routed().decision
    assert decision.candidates == (BERT,)
    assert DANA not in (decision.chosen, *decision.candidates)


# -- nobody answers their own question


def own_question(**strategies: Any) -> World:
    world = World(**strategies)
    world.request_type = RequestTypeFacts(world.request_type.strategy, no_self_answer=True)
    world.run_user = ANNA
    return world


@pytest.mark.parametrize(
    ("strategy", "chosen"), [(RUN_USER, None), (names("anna"), None), (TURNS, BERT), (LEAST_BUSY, BERT)]
)
def test_the_run_user_is_not_asked_where_they_may_not_answer(strategy: dict[str, Any], chosen: UUID | None) -> None:
    """Neither named nor from a list, nor at the fallback: then administrators see it."""
    decision = own_question(agent_type=strategy).routed().decision
    assert (decision.chosen, decision.level) == (chosen, "fallback" if chosen is None else "agent_type")
    assert decision.excluded == (ANNA,)
    assert excluded_by(decision.as_fact()) == {ANNA}


def test_why_the_run_user_is_not_asked_is_said() -> None:
    """In the trace, at each level that would have."""
    world = own_question(agent_type=RUN_USER)
    assert world.said("agent_type") == "anna is the run user, who may not answer this type"
    assert world.said("fallback") == "anna is the run user, who may not answer this type"


def test_the_run_user_is_no_candidate_of_a_list() -> None:
    """By chance or in the shared inbox they are left out."""
    inbox = own_question(agent_type=INBOX).routed().decision
    assert (inbox.list, inbox.candidates) == (ONCALL, (BERT, CLEO))
    world = own_question(agent_type=BY_CHANCE)
    assert {world.routed().decision.chosen for _ in range(50)} == {BERT, CLEO}


def test_the_run_user_stands_in_for_nobody_where_they_may_not_answer() -> None:
    """Standing in would be answering; and whoever stands in for the run user, who is away, may."""
    world = own_question(agent_type=names("bert")).away("bert", stand_in=ANNA)
    assert world.routed().decision.chosen is None
    world = own_question(agent_type=RUN_USER).away("anna", stand_in=BERT)
    assert world.routed().decision.chosen == BERT


def test_nobody_is_excluded_where_the_type_does_not_say_so_or_there_is_no_run_user() -> None:
    """Then nothing of it stands in the decision."""
    assert World().routed().decision.excluded == ()
    assert "excluded" not in World().routed().decision.as_fact()
    world = own_question(agent_type=TURNS)
    world.run_user = None
    assert (world.routed().decision.excluded, world.routed().decision.chosen) == ((), ANNA)


@pytest.mark.parametrize("no_self_answer", [True, False])
def test_who_may_not_answer_is_settled_when_it_is_asked(no_self_answer: bool) -> None:
    """Routed again, the request's own rule holds, whatever the type says by then."""
    world = own_question(agent_type=TURNS)
    world.request_type = RequestTypeFacts(no_self_answer=no_self_answer)
    asked_with = Subject(AGENT, "approval", ANNA, excluded=frozenset({ANNA}))
    again = resolve(asked_with, world.facts(), NOW).decision
    assert (again.chosen, again.excluded) == (BERT, (ANNA,))
    asked_without = Subject(AGENT, "approval", ANNA, excluded=frozenset())
    again = resolve(asked_without, world.facts(), NOW).decision
    assert (again.chosen, again.excluded) == (ANNA, ())


# -- taking turns


def test_turns_go_round_in_the_order_of_the_list() -> None:
    """From the first member on, and after the last the first again."""
    assert World(agent_type=TURNS).take_turns(7) == [ANNA, BERT, CLEO, ANNA, BERT, CLEO, ANNA]
    named = World(agent_type={**TURNS, "listStrategy": "RoundRobin"})
    named.members = (CLEO, ANNA, BERT)
    assert named.take_turns(4) == [CLEO, ANNA, BERT, CLEO]


def test_a_turn_is_recorded_with_who_could_be_next() -> None:
    """The list whose turn it was, and the candidates from there on."""
    world = World(agent_type=TURNS)
    world.last_turn = ANNA
    decision = world.routed().decision
    assert (decision.chosen, decision.list, decision.turn_of) == (BERT, None, ONCALL)
    assert decision.candidates == (BERT, CLEO, ANNA)
    assert decision.trace[-1]["said"] == "it is the turn of bert in 'oncall'"
    assert turn_of(decision.as_fact()) == ONCALL


def test_deciding_takes_no_turn_by_itself() -> None:
    """A dry run changes nothing: the pointer is moved by what is recorded."""
    world = World(agent_type=TURNS)
    assert [world.routed().decision.chosen for _ in range(3)] == [ANNA] * 3


def test_the_turn_of_somebody_who_is_away_is_spent() -> None:
    """Back again, they wait until it comes round."""
    world = World(agent_type=TURNS).away("bert")
    assert world.take_turns(2) == [ANNA, CLEO]
    world.people[BERT] = Person("bert")
    assert world.take_turns(3) == [ANNA, BERT, CLEO]


def test_the_last_turn_may_be_of_somebody_who_cannot_be_asked_any_more() -> None:
    """Their place counts as long as they stand in the list."""
    world = World(agent_type=TURNS).without("bert")
    world.last_turn = BERT
    assert world.take_turns(3) == [CLEO, ANNA, CLEO]


def test_the_last_turn_of_somebody_who_is_not_in_the_list_begins_it_anew() -> None:
    """The store moves the pointer when somebody leaves the list; a pointer to nowhere is no trouble."""
    world = World(agent_type=TURNS)
    world.last_turn = DANA
    assert world.take_turns(2) == [ANNA, BERT]


def test_a_new_member_is_asked_where_they_stand() -> None:
    """The pointer is a person, not a number."""
    world = World(agent_type=TURNS)
    world.take_turns(2)
    world.members = (DANA, ANNA, BERT, EVE, CLEO)
    assert world.take_turns(3) == [EVE, CLEO, DANA]


def test_only_taking_turns_takes_a_turn() -> None:
    """Another way of picking, the shared inbox, or another level leave the pointer where it is."""
    for strategy in (LEAST_BUSY, BY_CHANCE, INBOX, names("anna"), OWNER, None):
        assert World(agent_type=strategy).routed().decision.turn_of is None
    world = World(agent_type=TURNS, request_type=names("dana"))
    world.members = ()
    assert world.routed().decision.turn_of is None


# -- least busy, by chance, the shared inbox


def test_whoever_has_the_fewest_open_requests_is_asked() -> None:
    """Who has none is not counted anywhere; the candidates come in the order of their load."""
    world = World(agent_type=LEAST_BUSY)
    world.open_requests = {ANNA: 3, CLEO: 1, BERT: 2, DANA: 0}
    decision = world.routed().decision
    assert (decision.chosen, decision.candidates) == (CLEO, (CLEO, BERT, ANNA))
    assert decision.trace[-1]["said"] == "cleo has the fewest open requests in 'oncall', 1"
    del world.open_requests[BERT]
    assert world.routed().decision.chosen == BERT


def test_of_those_as_busy_the_first_in_the_list_is_asked() -> None:
    """Ties go by the order of the list, wherever the last turn was."""
    world = World(agent_type=LEAST_BUSY)
    world.members = (CLEO, BERT, ANNA)
    world.open_requests = {ANNA: 1, BERT: 1, CLEO: 2}
    world.last_turn = BERT
    assert world.routed().decision.candidates == (BERT, ANNA, CLEO)


def test_the_least_busy_who_cannot_be_asked_is_passed_over() -> None:
    """However little they have to do."""
    world = World(agent_type=LEAST_BUSY).away("anna").without("bert")
    world.open_requests = {CLEO: 100}
    assert (world.routed().decision.chosen, world.routed().decision.candidates) == (CLEO, (CLEO,))


def test_chance_asks_all_about_as_often() -> None:
    """Each of three about a thousand times in three thousand; the same seed gives the same choices."""
    world = World(agent_type=BY_CHANCE).without("bert")
    world.members = (ANNA, BERT, CLEO, DANA)
    world.chance = Random(1234)
    chosen = [world.routed().decision.chosen for _ in range(3000)]
    counts = Counter(chosen)
    assert counts.keys() == {ANNA, CLEO, DANA}
    assert all(900 < count < 1100 for count in counts.values())
    world.chance = Random(1234)
    assert [world.routed().decision.chosen for _ in range(100)] == chosen[:100]


def test_chance_names_whom_it_took_first() -> None:
    """The others who could have been taken follow, each once."""
    decision = World(agent_type=BY_CHANCE).routed().decision
    assert decision.chosen == decision.candidates[0]
    assert sorted(decision.candidates) == sorted((ANNA, BERT, CLEO))
    assert decision.trace[-1]["said"].startswith("chance took ")
    assert decision.trace[-1]["said"].endswith(" out of 3 in 'oncall'")


def test_a_shared_inbox_is_the_list_s_until_somebody_takes_it() -> None:
    """Nobody is chosen; all who can be asked now are candidates, in the order of the list."""
    world = World(agent_type=INBOX).away("anna")
    world.last_turn = BERT
    decision = world.routed().decision
    assert (decision.chosen, decision.list, decision.candidates) == (None, ONCALL, (BERT, CLEO))
    assert decision.reason == "The agent type 'deployer' says SharedInbox: whoever in 'oncall' takes it."


@pytest.mark.parametrize("strategy", [TURNS, LEAST_BUSY, BY_CHANCE, INBOX])
def test_a_decision_names_so_many_candidates_at_most(strategy: dict[str, Any]) -> None:
    """A list of a thousand does not make an event of a thousand; whom it chose is always among them."""
    world = World(agent_type=strategy)
    crowd = [f"p{number}" for number in range(1000)]
    world.people |= {user(name): Person(name) for name in crowd}
    world.members = [user(name) for name in crowd]
    world.last_turn = user("p990")
    world.open_requests = {user(name): 1 for name in crowd[:500]}
    decisions = [world.routed().decision for _ in range(20)]
    for decision in decisions:
        assert len(decision.candidates) == len(set(decision.candidates)) == CANDIDATES
        assert decision.chosen is None or decision.chosen in decision.candidates
    if strategy == TURNS:
        assert decisions[0].candidates == tuple(user(f"p{number}") for number in range(991, 991 + CANDIDATES))
    if strategy == LEAST_BUSY:
        assert decisions[0].candidates == tuple(user(f"p{number}") for number in range(500, 500 + CANDIDATES))


# -- back to the list


def test_what_somebody_had_claimed_goes_back_to_those_who_are_there() -> None:
    """Without whoever has left, or may not answer."""
    decision = back_to_list(ONCALL, World().without("anna").facts(), NOW, frozenset({CLEO}))
    assert decision is not None
    assert (decision.level, decision.chosen, decision.list, decision.candidates) == ("command", None, ONCALL, (BERT,))
    assert decision.reason == ("Whoever had claimed it is not there any more: back to whoever in 'oncall' takes it.")
    assert json.loads(json.dumps(decision.as_fact())) == decision.as_fact()


def test_it_does_not_go_back_where_nobody_is() -> None:
    """Then routing decides afresh."""
    everybody = World().without("anna").away("bert")
    assert back_to_list(ONCALL, everybody.facts(), NOW, frozenset({CLEO})) is None
    assert back_to_list(people_list("night"), World().facts(), NOW, frozenset()) is None


# -- the strategy that came with the request


@pytest.mark.parametrize("agent_s", [names("anna"), {**TURNS, "colour": "red"}, names("nobody-here")])
def test_the_request_s_own_strategy_is_found_again_in_the_decision(agent_s: dict[str, Any]) -> None:
    """Whether it won or not; so that the request can be routed again by it."""
    assert strategy_asked_for(World(invocation=agent_s).routed().decision.as_fact()) == agent_s


@pytest.mark.parametrize("agent_s", [None, "{", {"type": "Nobody"}])
def test_a_strategy_that_is_none_is_not_found_again(agent_s: Any) -> None:
    """There is nothing to route by."""
    assert strategy_asked_for(World(invocation=agent_s).routed().decision.as_fact()) is None


# -- anything at all

PEOPLE = [f"u{number}" for number in range(6)]
LISTS = ["l0", "l1"]
CATEGORIES = [f"c{number}" for number in range(4)]
STRANGERS = [UUID(int=number) for number in (1, 2)]

any_person = st.sampled_from([*(user(name) for name in PEOPLE), *STRANGERS])
any_strategy = st.one_of(
    st.none(),
    st.sampled_from(["", "{", [], 7, {}, {"type": "Nobody"}, '{"type": "RunUser"}', '{"type": "RunUser", "x": NaN}']),
    st.fixed_dictionaries(
        {"type": st.sampled_from(TYPES)},
        optional={
            "userID": st.sampled_from([*PEOPLE, "zoe", "", 7, None]),
            "listID": st.sampled_from([*LISTS, "l9", "", [], None]),
            "listStrategy": st.sampled_from([*LIST_STRATEGIES, "Alphabetical", None, 0]),
            "priority": st.sampled_from([1, 100, 0, 101, None, "5", True]),
            "expirationMinutes": st.sampled_from([1, 0.5, 1e-300, MAX_MINUTES, 0, -1, None, "soon", False]),
            "extra": st.sampled_from([{"a": [1, None, "é"]}, False, 10**30]),
        },
    ),
)
any_absence = st.one_of(
    st.none(), st.sampled_from([AWAY, (NOW, NOW + DAY), (NOW - DAY, NOW), (NOW + DAY, NOW + 2 * DAY)])
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Subject, Facts]:
    """Any tree (cycles, missing parents), any strategies, any membership, any absences; half of the people missing."""
    known = draw(st.lists(st.sampled_from(PEOPLE), unique=True))
    people = {
        user(name): Person(name, draw(st.booleans()), draw(any_absence), draw(st.none() | any_person)) for name in known
    }
    any_category = st.sampled_from([*(category(name) for name in CATEGORIES), STRANGERS[0]])
    categories = {
        category(name): Level(name, parse(draw(any_strategy)), draw(st.none() | any_category))
        for name in draw(st.lists(st.sampled_from(CATEGORIES), unique=True))
    }
    lists = {
        people_list(name): ListOfPeople(name, tuple(draw(st.lists(any_person, unique=True))))
        for name in draw(st.lists(st.sampled_from(LISTS), unique=True))
    }
    minutes = draw(st.sampled_from([None, 1e-12, 60.0]))
    of_type = RequestTypeFacts(
        parse(draw(any_strategy)), draw(st.none() | st.integers(1, 100)), minutes, draw(st.booleans())
    )
    facts = Facts(
        chance=Random(draw(st.integers(0, 9))),
        agents=draw(
            st.sampled_from([{}])
            | st.builds(
                lambda *values: {AGENT: AgentFacts(*values)},
                st.none() | any_person,
                st.sampled_from([None, KIND, STRANGERS[0]]),
                st.none() | any_category,
            )
        ),
        agent_types={KIND: Level("deployer", parse(draw(any_strategy)))},
        categories=categories,
        request_types=draw(st.sampled_from([{}, {"approval": of_type}])),
        people=people,
        lists=lists,
        turns={id: draw(st.none() | any_person) for id in lists},
        open_requests=draw(st.dictionaries(any_person, st.integers(0, 3))),
    )
    excluded = draw(st.none() | st.frozensets(any_person, max_size=1))
    return Subject(AGENT, "approval", draw(st.none() | any_person), parse(draw(any_strategy)), excluded), facts


def looked_at(subject: Subject, facts: Facts) -> list[tuple[str, str | None]]:
    """Every level there is for this request, in the order in which they are to be asked."""
    agent = facts.agents.get(subject.agent_id, AgentFacts())
    kind = facts.agent_types.get(agent.agent_type) if agent.agent_type else None
    found: list[tuple[str, str | None]] = [("invocation", None), ("agent_type", kind.readable_id if kind else None)]
    walked: list[tuple[str, str | None]] = []
    at = agent.category
    while at is not None and at in facts.categories and ("category", facts.categories[at].readable_id) not in walked:
        walked.append(("category", facts.categories[at].readable_id))
        at = facts.categories[at].parent
    return [*found, *(walked or [("category", None)]), ("request_type", "approval"), ("fallback", None)]


@settings(max_examples=400, deadline=None)
@given(worlds())
def test_whatever_the_facts_are_a_decision_is_sound(world: tuple[Subject, Facts]) -> None:
    """It comes to an end; whom it asks can be asked and may answer; every level up to the last says something."""
    subject, facts = world
    routed = resolve(subject, facts, NOW)
    decision = routed.decision
    of_type = facts.request_types.get("approval", RequestTypeFacts())

    excluded = subject.excluded
    if excluded is None:
        excluded = frozenset({subject.run_user} if of_type.no_self_answer and subject.run_user else set())
    assert frozenset(decision.excluded) == excluded

    def can_be_asked(id: UUID) -> bool:
        person = facts.people.get(id)
        return person is not None and person.may_be_asked and not person.is_away(NOW) and id not in excluded

    assert all(can_be_asked(id) for id in decision.candidates)
    assert len(decision.candidates) == len(set(decision.candidates)) <= CANDIDATES
    assert decision.chosen is None or decision.chosen in decision.candidates
    if decision.list is not None:
        assert decision.chosen is None
        assert any(can_be_asked(id) for id in facts.lists[decision.list].members)
        assert set(decision.candidates) <= set(facts.lists[decision.list].members)
    if decision.turn_of is not None:
        assert decision.chosen in facts.lists[decision.turn_of].members

    expected = looked_at(subject, facts)
    assert levels_of(routed) == expected[: len(decision.trace)]
    assert decision.trace[-1]["level"] == decision.level
    assert all(isinstance(step["said"], str) and step["said"] for step in decision.trace)
    assert all(set(step) <= {"level", "of", "strategy", "said", "warning"} for step in decision.trace)
    undecided = decision.chosen is None and decision.list is None
    assert not undecided or decision.level == "fallback"
    assert decision.reason.endswith(".")

    assert (decision.strategy is None) == (decision.level == "fallback")
    assert routed.priority is None or 1 <= routed.priority <= 100
    assert routed.lifetime is None or timedelta(0) < routed.lifetime <= timedelta(days=3650)

    fact = decision.as_fact()
    assert json.loads(json.dumps(fact, allow_nan=False)) == fact
    assert (excluded_by(fact), turn_of(fact)) == (excluded, decision.turn_of)
    assert strategy_asked_for(fact) == subject.strategy.strategy


@settings(max_examples=100, deadline=None)
@given(worlds(), st.sampled_from([people_list(name) for name in (*LISTS, "l9")]))
def test_going_back_to_a_list_names_somebody_or_nothing(world: tuple[Subject, Facts], list_id: UUID) -> None:
    """Whatever the facts are, a list is named only where somebody in it can be asked now."""
    subject, facts = world
    excluded = subject.excluded or frozenset()
    decision = back_to_list(list_id, facts, NOW, excluded)
    members = facts.lists[list_id].members if list_id in facts.lists else ()
    there = [
        id for id in members if facts.may_be_asked(id) and not facts.people[id].is_away(NOW) and id not in excluded
    ]
    if decision is None:
        assert not there
    else:
        assert (decision.list, decision.chosen, decision.candidates) == (list_id, None, tuple(there))
