"""The support writer: addresses that are missing, money to give back, and what to tell customers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interfaces.demo.agent import FOR_YOU, Agent, quoted

_DAY = 86_400.0
_ADDRESS: dict[str, Any] = {
    "type": "object",
    "required": ["street", "postal_code", "city", "country"],
    "properties": {
        "street": {"type": "string", "title": "Street and number", "minLength": 3},
        "postal_code": {"type": "string", "title": "Postal code", "pattern": "^[0-9A-Z -]{3,10}$"},
        "city": {"type": "string", "title": "City", "minLength": 2},
        "country": {"type": "string", "title": "Country", "enum": ["Austria", "France", "Germany", "Sweden"]},
        "deliver_on": {"type": "string", "format": "date", "title": "Not before"},
        "neighbour": {"type": "boolean", "title": "May be left with a neighbour", "default": True},
    },
}


@dataclass(frozen=True, slots=True)
class Customer:
    """A customer who waits for a parcel."""

    name: str
    order: int
    article: str
    street: str
    city: str


CUSTOMERS = (
    Customer("Mara Lind", 48213, "blue desk lamp", "Lindenstr.", "80331 Hamburg"),
    Customer("Jonas Weber", 48260, "reading chair", "(empty)", "1010"),
    Customer("Sofia Berg", 48307, "wall clock", "Box 12", "Stockholm"),
)


async def missing_address(agent: Agent, number: int) -> None:
    """A form with customer data; then the letter that is written with it."""
    customer = CUSTOMERS[number % len(CUSTOMERS)]
    run = f"order-{customer.order + number // len(CUSTOMERS) * 211}"
    address = await agent.client.form(
        f"Order {run.removeprefix('order-')} of **{customer.name}** cannot leave: the address is incomplete. "
        "What is the right one?",
        _ADDRESS,
        context=f"""| | in the order |
|---|---|
| article | {customer.article} |
| street | {customer.street} |
| city | {customer.city} |

The carrier refuses it: *street without a number, or postal code and city do not fit.*""",
        unique_id=f"{run}-address",
        run_id=run,
        expires_in_seconds=2 * _DAY,
        wait_seconds=None,
        assignment_strategy=FOR_YOU,
    )
    agent.say(f"{run}: the carrier takes the new address in {address['city']}; I write to {customer.name}")
    await agent.work()
    place = f"{address['street']}, {address['postal_code']} {address['city']}, {address['country']}"
    day = address.get("deliver_on")
    when = f"not before {day}" if day else "within three days"
    first = f"""Dear {customer.name},

your {customer.article} is packed and goes to {place}. It arrives {when}.

Kind regards, the shop"""
    second = f"""Dear {customer.name},

thank you for your patience. Your {customer.article} leaves us today. It goes to:

{place}

It arrives {when}. If that does not suit you, just reply to this letter.

Kind regards, the shop"""
    await _have_reviewed(agent, run, f"the letter to {customer.name}", first, second)


async def public_answer(agent: Agent, number: int) -> None:
    """A question in words; then the page that is made of the answer."""
    article = ("blue desk lamp", "folding bookshelf", "oak table")[number % 3]
    run = f"help-page-{number + 1}"
    answer = await agent.client.ask(
        f"17 customers have asked since yesterday when the {article} is back. What may I tell them?",
        context=f"What I know: purchasing ordered 200 pieces of the {article}, and the supplier has not named a date.",
        unique_id=run,
        run_id=run,
        priority=60,
        expires_in_seconds=2 * _DAY,
        wait_seconds=None,
        assignment_strategy=FOR_YOU,
    )
    agent.say(f"{answer.by} told me about the {article}; I draft the help page")
    await agent.work()
    first = f"When is the {article} back?\n\n{answer.text}"
    second = f"The {article}\n\n{answer.text}\n\nLeave your e-mail address here, and we write as soon as we know more."
    await _have_reviewed(agent, run, "the help page", first, second)


async def _have_reviewed(agent: Agent, run: str, what: str, first: str, second: str) -> None:
    """At most two drafts, the second one with what was wrong with the first."""
    context = None
    for attempt, draft in enumerate((first, second), 1):
        review = await agent.client.review(
            f"May {what} go out like this?\n\n{quoted(draft)}",
            yes="Send it",
            context=context,
            unique_id=f"{run}-draft-{attempt}",
            run_id=run,
            priority=45,
            expires_in_seconds=2 * _DAY,
            wait_seconds=None,
            assignment_strategy=FOR_YOU,
        )
        if review:
            agent.say(f"{run}: {what} is out, approved by {review.by}")
            return
        agent.say(f"{run}: {review.by} wants {what} changed")
        context = f"You wrote about the draft before:\n\n{quoted(review.feedback or '')}"
        await agent.work()
    agent.say(f"{run}: {what} is left to a person")


async def refund(agent: Agent, number: int) -> None:
    """Money to give back, to whoever's turn it is in customer care: the newcomer's, or a sample person's."""
    cents = (12_900, 4_950, 23_000, 8_900)[number % 4]
    ticket = 4711 + 3 * number
    closed = await agent.ask_colleagues(
        f"Refund **{cents / 100:.2f} €** for ticket {ticket}?",
        (
            {"data": {"approved": True}},
            {"data": {"approved": True, "note": "Their third order this year, be generous."}},
            {"data": {"approved": False, "note": "Outside the 30 days. Offer a voucher."}},
        ),
        (15, 60),
        request_type="approval",
        labels={"approve": "Refund", "reject": "Refuse"},
        context=f"""| ticket | {ticket} |
|---|---|
| paid | {cents / 100:.2f} € by card |
| delivered | 26 days ago |
| says | "It does not fit, and the box is damaged." |
| policy | full refund within 30 days |""",
        unique_id=f"refund-{ticket}",
        run_id=f"ticket-{ticket}",
        expires_in_seconds=_DAY,
    )
    response = closed["response"]
    if response is not None:
        done = "refunded" if response["outcome"] == "approved" else "a voucher is offered instead"
        agent.say(f"ticket {ticket}: {done}, as {response['by']} said")
