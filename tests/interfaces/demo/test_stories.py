"""What the demo's agents do with each answer: played by the SDK against people who follow a script."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from handraise.testing import Cancels, Expires, People, Reply, answers

from interfaces.demo.agent import Agent, Pace, Story, again_and_again
from interfaces.demo.imports import ABORT, RETRY, SKIP, failed_import, one_time_code
from interfaces.demo.operations import RELEASES, certificate, disk, release
from interfaces.demo.support import CUSTOMERS, missing_address, public_answer, refund

ADDRESS = {"street": "Elbweg 4", "postal_code": "20095", "city": "Hamburg", "country": "Germany"}


class Played:
    """A story played to its end: what was asked, by `unique_id`, and what the terminal showed."""

    def __init__(self, people: People, said: list[str]) -> None:
        self.asked = {request["unique_id"]: request for request in people.asked}
        self.said = said


async def play(story: Story, replies: Mapping[str, Reply], number: int = 0) -> Played:
    """Play the story once; nothing takes any time. `replies` are by `unique_id`, and no other may be asked."""
    said: list[str] = []
    with answers(lambda request: replies[request["unique_id"]]) as people:
        async with people.async_client() as client:
            await story(Agent("Bot", client, Pace(sleep=_at_once), {}, said.append), number)
    assert list(replies) == [request["unique_id"] for request in people.asked]
    return Played(people, said)


async def test_an_approved_release_goes_on_as_somebody_chooses() -> None:
    """Approved with a note, which the next question quotes; then live, or rolled back and asked why."""
    yes = {"approved": True, "note": "Mind the\ncoupons."}
    run = "release-checkout-2041"
    live = await play(release, {run: yes, f"{run}-rollout": "Everywhere at once"})
    assert "> Mind the\n> coupons." in (live.asked[f"{run}-rollout"]["context"] or "")
    assert live.said[-1] == "Bot: build 2041 of checkout is live (everywhere at once, says alice)"
    assert {request["run_id"] for request in live.asked.values()} == {run}
    back = await play(release, {run: True, f"{run}-rollout": "Roll it back", f"{run}-why": "The cache."})
    assert back.said[-1] == "Bot: I look into what alice wrote about build 2041 of checkout"


async def test_a_release_that_is_held_back_comes_with_another_plan() -> None:
    """It quotes the reason and proposes something else; refused again, the build is dropped."""
    run = "release-search-318"
    no = {"approved": False, "note": "Not on a Friday."}
    held = await play(release, {run: no, f"{run}-plan-b": False}, 1)
    context = held.asked[f"{run}-plan-b"]["context"] or ""
    assert context.startswith("You wrote:\n\n> Not on a Friday.\n\nNew plan: The new index beside the old one")
    assert held.said[-1] == "Bot: alice dropped build 318 of search; it stays where it is"
    await play(release, {run: False, f"{run}-plan-b": True, f"{run}-rollout": "In steps: 10 %, 50 %, 100 %"}, 1)
    again = await play(release, {"release-search-325": True, "release-search-325-rollout": "Everywhere at once"}, 4)
    assert "build 325" in again.said[-1]


@pytest.mark.parametrize("number", range(len(RELEASES)))
def test_the_diffs_are_as_long_as_they_say(number: int) -> None:
    """Whoever counts the lines of a hunk finds what its header says."""
    lines = RELEASES[number].diff.splitlines()
    header = next(line for line in lines if line.startswith("@@"))
    hunk = lines[lines.index(header) + 1 : -1]
    old, new = (int(part.partition(",")[2]) for part in header.split()[1:3])
    assert old == sum(not line.startswith("+") for line in hunk)
    assert new == sum(not line.startswith("-") for line in hunk)


@pytest.mark.parametrize(
    ("way", "follows", "end"),
    [
        (RETRY, {"-row-1204": {"amount": 12.5}}, "row 1204 is 12.50 €, and all 2,418 rows are in"),
        (SKIP, {"-letter": "Say please.", "-letter-2": True}, "told the northern warehouse"),
        (ABORT, {"-tomorrow": False}, "left to a person, as alice said"),
    ],
)
async def test_each_way_on_from_a_failed_import_leads_somewhere(way: str, follows: dict[str, Any], end: str) -> None:
    """A form, a letter to review and to write anew, or another try."""
    run = "import-orders-north-1"
    played = await play(failed_import, {run: way} | {run + name: reply for name, reply in follows.items()})
    assert played.said[-1] == f"Bot: orders-north.csv: {end}"
    if way == SKIP:
        assert "> Say please." in (played.asked[f"{run}-letter-2"]["context"] or "")


async def test_the_code_is_used_and_never_said() -> None:
    """It is asked for as a secret; afterwards the portal is open."""
    played = await play(one_time_code, {"portal-1-code": {"code": "918273"}, "portal-1-notes": True})
    assert played.asked["portal-1-code"]["secret"]
    assert "918273" not in str(played.said) + str(played.asked)
    assert played.said[-1] == "Bot: delivery notes: 578 pieces booked, as alice said"


async def test_an_address_becomes_a_letter_and_feedback_another_draft() -> None:
    """The letter holds what was filled in; the second draft holds what was wrong with the first."""
    letter, run = ADDRESS | {"deliver_on": "2026-12-24"}, f"order-{CUSTOMERS[0].order}"
    replies: dict[str, Reply] = {f"{run}-address": letter, f"{run}-draft-1": "Thank her.", f"{run}-draft-2": True}
    played = await play(missing_address, replies)
    first, second = (played.asked[f"{run}-draft-{attempt}"] for attempt in (1, 2))
    assert "Elbweg 4, 20095 Hamburg, Germany. It arrives not before 2026-12-24." in (first["message"] or "")
    assert "> Thank her." in (second["context"] or "")
    assert second["message"] != first["message"]
    assert played.said[-1] == f"Bot: {run}: the letter to Mara Lind is out, approved by alice"


async def test_the_other_stories_end_with_what_was_decided() -> None:
    """An answer in words becomes a page; money, disk and certificate follow the decision."""
    page = await play(
        public_answer,
        {"help-page-1": "In March.", "help-page-1-draft-1": "Shorter.", "help-page-1-draft-2": "Still too long."},
    )
    assert "> In March." in (page.asked["help-page-1-draft-1"]["message"] or "")
    assert page.said[-1] == "Bot: help-page-1: the help page is left to a person"
    assert (await play(refund, {"refund-4711": False})).said == [
        "Bot: ticket 4711: a voucher is offered instead, as alice said"
    ]
    assert (await play(disk, {"disk-db-3-0": True})).said == [
        "Bot: disk of db-3: removed the old snapshots: 214 GB are free, as alice said"
    ]
    assert (await play(certificate, {"certificate-api.example.com-0": True})).said == [
        "Bot: certificate of api.example.com: renewed for 90 days, as alice said"
    ]


async def test_an_agent_goes_on_after_what_ends_without_an_answer() -> None:
    """Withdrawn: the next one. Nobody there: longer and longer rests, up to an hour at most."""
    said: list[str] = []
    rests: list[float] = []
    asked = 0

    def reply(_: object) -> Reply:
        nonlocal asked
        asked += 1
        return Cancels("not now") if asked == 1 else Expires()

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) == 14:
            raise asyncio.CancelledError

    async def story(agent: Agent, number: int) -> None:
        await agent.client.ask("Anybody?", unique_id=f"anybody-{number}")

    with answers(reply) as people:
        async with people.async_client() as client:
            agent = Agent("Bot", client, Pace(speed=2, sleep=rest), {}, said.append)
            with pytest.raises(asyncio.CancelledError):
                await again_and_again(agent, story, (60, 60))
    assert rests[:4] == [30, 60, 120, 240]
    assert rests[-1] == 1800
    assert said[0] == "Bot: 'anybody-0' was withdrawn by alice: not now; I leave it there"
    assert said[1] == "Bot: nobody answered anybody-1 in time; I shall ask again"


async def test_an_agent_that_is_refused_stops_and_says_so() -> None:
    """As when somebody revokes its key while they look around."""
    said: list[str] = []

    async def story(agent: Agent, number: int) -> None:
        await agent.client.get("nothing")

    with answers({}) as people:
        async with people.async_client() as client:
            await again_and_again(Agent("Bot", client, Pace(sleep=_at_once), {}, said.append), story, (1, 1))
    assert said == ["Bot: I stop: the stand-in has nothing at GET /api/requests/nothing"]


async def _at_once(seconds: float) -> None:
    """No time passes."""
