"""What goes on every day between agents and sample people: a quick first half minute, then one now and then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from handraise import HandraiseError

from interfaces.demo.agent import Agent

AT_ONCE = 4
"""How many errands may be open at the same time."""
BEGINNING = 30
"""As many are done one right after the other, so that there is something to look at."""

_FINANCE = {"type": "List", "listID": "finance", "listStrategy": "LeastBusy"}
_ENGINEERS = {"type": "List", "listID": "engineers", "listStrategy": "RoundRobin"}
_YES: Mapping[str, Any] = {"data": {"approved": True}}


@dataclass(frozen=True, slots=True)
class Errand:
    """A question to sample people, `{n}` in it being a number that differs; `withdrawn` is why it may be taken back."""

    unique_id: str
    agent: str
    to: Mapping[str, Any]
    message: str
    replies: tuple[Mapping[str, Any], ...]
    withdrawn: str
    more: Mapping[str, Any] = field(default_factory=dict)


ERRANDS = (
    Errand(
        "late-delivery-{n}",
        "support-writer",
        _FINANCE,
        "Ticket {n}: give 40 € back for the late delivery?",
        (_YES, _YES, {"data": {"approved": False, "note": "The second time this month. Offer a voucher."}}),
        "The parcel has arrived after all.",
        {"request_type": "approval"},
    ),
    Errand(
        "memory-{n}",
        "operations-bot",
        _ENGINEERS,
        "*mail-worker-2* has used 94 % of its memory for 10 minutes (alert {n}). Restart it?",
        (_YES, {"data": {"approved": True, "note": "After the newsletter is out."}}),
        "The memory went down by itself.",
        {"request_type": "approval", "priority": 30},
    ),
    Errand(
        "stock-row-{n}",
        "import-bot",
        {"type": "SpecificUser", "userID": "bob"},
        "Row {n} of `stock.csv` has no article number. How shall I go on?",
        ({"text": "Skip the row"}, {"text": "Take the one from last week"}),
        "A corrected file has come in.",
        {
            "request_type": "error-resolution",
            "options": ["Skip the row", "Take the one from last week", "Stop the import"],
        },
    ),
    Errand(
        "spare-part-{n}",
        "support-writer",
        {"type": "SpecificUser", "userID": "diego"},
        "> Dear customer, your spare part has left our warehouse today.\n\nTicket {n}: may this go out?",
        ({"text": "Approve"}, {"text": "Approve"}, {"text": "Say when it arrives."}),
        "The customer has called in the meantime.",
        {"request_type": "review"},
    ),
    Errand(
        "key-change-{n}",
        "operations-bot",
        {"type": "SpecificUser", "userID": "emi"},
        "Rotate the read-only key of the reporting database (change {n})?",
        (_YES, {"data": {"approved": False, "note": "Not while the monthly report runs."}}),
        "Somebody has done it by hand.",
        {"request_type": "approval"},
    ),
    Errand(
        "discount-{n}",
        "support-writer",
        _FINANCE,
        "Ticket {n}: which discount may I offer?",
        ({"data": {"percent": 10}}, {"data": {"percent": 5, "note": "10 if they insist"}}),
        "The customer has bought already.",
        {
            "response_schema": {
                "type": "object",
                "required": ["percent"],
                "properties": {
                    "percent": {"type": "integer", "title": "Discount (%)", "minimum": 0, "maximum": 30},
                    "note": {"type": "string", "title": "Note"},
                },
            },
        },
    ),
    Errand(
        "reason-{n}",
        "import-bot",
        {"type": "SpecificUser", "userID": "alice"},
        "What does `R{n}` in the column *reason* of `returns.csv` mean?",
        ({"text": "Wrong size"}, {"text": "Changed their mind"}, {"text": "Damaged on the way"}),
        "Found it in the handbook.",
    ),
    Errand(
        "log-volume-{n}",
        "operations-bot",
        _ENGINEERS,
        "The volume of the logs has doubled since noon (alert {n}). What shall I do?",
        ({"text": "Keep 1 in 10"}, {"text": "Keep everything"}),
        "The noisy service was fixed.",
        {"options": ["Keep 1 in 10", "Keep everything", "Call somebody"], "priority": 35},
    ),
)


async def run_errands(agents: Mapping[str, Agent], numbers: Iterator[int]) -> None:
    """One errand after the other, for ever; several of these share `numbers`."""
    for number in numbers:
        errand = ERRANDS[number % len(ERRANDS)]
        agent = agents[errand.agent]
        begins = number < BEGINNING
        try:
            await _run(agent, errand, number, (0.3, 6) if begins else (20, 150))
        except HandraiseError as refused:
            agent.say(f"I was refused: {refused}")
        await agent.pace.pause(*((0, 1) if begins else (30, 120)))


async def _run(agent: Agent, errand: Errand, number: int, patience: tuple[float, float]) -> None:
    n = 310 + 7 * number
    message = errand.message.format(n=n)
    more = {"unique_id": errand.unique_id.format(n=n), "assignment_strategy": errand.to, **errand.more}
    match number % 10:
        case 4:
            request = await agent.client.create(message, **more)
            await agent.pace.pause(*patience)
            closed = await agent.client.wait(request["id"], 0)
            if closed["status"] == "Requested":
                await agent.client.cancel(request["id"], errand.withdrawn)
        case 7:
            seconds = max(1.0, agent.pace.seconds(patience[1] / 2))
            await agent.ask_colleagues(message, (), patience, expires_in_seconds=seconds, **more)
        case _:
            await agent.ask_colleagues(message, errand.replies, patience, **more)
