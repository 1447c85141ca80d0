"""The import bot: files that do not fit, and a portal that wants a code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interfaces.demo.agent import FOR_YOU, Agent, quoted

_DAY = 86_400.0
_CODE: dict[str, Any] = {
    "type": "object",
    "required": ["code"],
    "properties": {"code": {"type": "string", "pattern": "^[0-9]{6}$", "title": "6-digit code"}},
}
_AMOUNT: dict[str, Any] = {
    "type": "object",
    "required": ["amount"],
    "properties": {
        "amount": {"type": "number", "title": "Amount (€)", "minimum": 0, "maximum": 10_000},
        "remember": {"type": "boolean", "title": "Read it like this from now on", "default": False},
    },
}


@dataclass(frozen=True, slots=True)
class File:
    """A file that is to be imported, with three rows whose dates there never were."""

    name: str
    rows: str
    sender: str
    bad: tuple[tuple[str, str], ...]


FILES = (
    File(
        "orders-north.csv", "2,418", "the northern warehouse", (("811", "31/02"), ("812", "31/02"), ("1204", "31/04"))
    ),
    File("returns-week.csv", "306", "the returns desk", (("17", "31/06"), ("18", "31/06"), ("240", "30/02"))),
    File("prices-spring.csv", "5,120", "purchasing", (("98", "31/09"), ("99", "31/09"), ("4410", "31/11"))),
)

RETRY, SKIP, ABORT = "Retry with the last day of the month", "Skip these rows", "Abort the import"


async def failed_import(agent: Agent, number: int) -> None:
    """An import that stopped; each of the three ways on has a next step."""
    file = FILES[number % len(FILES)]
    run = f"import-{file.name.removesuffix('.csv')}-{number + 1}"
    more: dict[str, Any] = {
        "run_id": run,
        "run_user": "admin",
        "expires_in_seconds": _DAY,
        "wait_seconds": None,
    }
    rows = "\n".join(f"| {row} | `{date}` | there is no such day |" for row, date in file.bad)
    way = await agent.client.ask(
        f"The import of `{file.name}` stopped: 3 of {file.rows} rows have a date that does not exist. "
        "How shall I go on?",
        request_type="error-resolution",
        options=[RETRY, SKIP, ABORT],
        context=f"""| row | date | problem |
|---:|---|---|
{rows}

```text
File "importer/rows.py", line 88, in read_row
    day = date(year, month, day)
ValueError: day is out of range for month
```

The other rows are read and wait in a transaction.""",
        unique_id=run,
        priority=30,
        **more,
    )
    agent.say(f"{way.by} on {file.name}: {(way.text or '').lower()}")
    await agent.work()
    if way.text == RETRY:
        await _read_the_last_row(agent, file, run, more)
    elif way.text == SKIP:
        await _tell_the_sender(agent, file, run, more)
    else:
        again = await agent.client.confirm(
            f"`{file.name}` is rolled back: nothing was changed. Shall I try again with tomorrow's file?",
            unique_id=f"{run}-tomorrow",
            **more,
        )
        agent.say(f"{file.name}: {'tomorrow again' if again else 'left to a person'}, as {again.by} said")


async def _read_the_last_row(agent: Agent, file: File, run: str, more: dict[str, Any]) -> None:
    row = file.bad[-1][0]
    answer = await agent.client.form(
        f"Two of the three rows of `{file.name}` are in. Row {row} has another fault: which amount is `12,5O`?",
        _AMOUNT,
        context=f"""The last character is the letter O.

```csv
{row};desk lamp, green;1;12,5O;EUR
```""",
        unique_id=f"{run}-row-{row}",
        **more,
    )
    agent.say(f"{file.name}: row {row} is {answer['amount']:.2f} €, and all {file.rows} rows are in")


async def _tell_the_sender(agent: Agent, file: File, run: str, more: dict[str, Any]) -> None:
    rows = ", ".join(row for row, _ in file.bad)
    told = await agent.client.review(
        f"""May I write this to {file.sender}?

> Hello, your file {file.name} is in, but for three rows: {rows}. Their dates do not exist. \
Could you send these again?""",
        yes="Send",
        unique_id=f"{run}-letter",
        **more,
    )
    if told:
        agent.say(f"{file.name}: told {file.sender} about rows {rows}")
        return
    await agent.work()
    told = await agent.client.review(
        f"""Better like this, for {file.sender}?

> Hello, three rows of {file.name} could not be read: {rows}. The date in each of them is not in the calendar. \
Please correct them and send only these. Thank you!""",
        yes="Send",
        context=f"You wrote about the first draft:\n\n{quoted(told.feedback or '')}",
        unique_id=f"{run}-letter-2",
        **more,
    )
    agent.say(f"{file.name}: {f'told {file.sender}' if told else 'the letter is left to a person'}")


async def one_time_code(agent: Agent, number: int) -> None:
    """A code that only a person has, sealed; then what it opened."""
    run = f"portal-{number + 1}"
    answer = await agent.client.ask(
        "The suppliers' portal has just sent a 6-digit code to your phone. Which one is it?",
        response_schema=_CODE,
        secret=True,
        context="I need it to fetch this week's delivery notes. Nobody sees it but me, and the server destroys it "
        "as soon as I have it.\n\n*This is a demo: any six digits will do.*",
        unique_id=f"{run}-code",
        run_id=run,
        priority=10,
        expires_in_seconds=300.0,
        wait_seconds=None,
        assignment_strategy=FOR_YOU,
    )
    agent.say(f"signed in to the portal with the code of {answer.by}, which the server has forgotten by now")
    await agent.work()
    book = await agent.client.confirm(
        "The portal has 3 new delivery notes. Book them into stock?",
        yes="Book them",
        no="Leave them",
        context="""| note | articles | ordered | delivered |
|---|---|---:|---:|
| DN-5512 | desk lamp, blue | 40 | 40 |
| DN-5513 | desk lamp, green | 40 | 38 |
| DN-5514 | bulb, 8 W | 500 | 500 |

Two green lamps are missing; they are booked as a reminder to the supplier.""",
        unique_id=f"{run}-notes",
        run_id=run,
        expires_in_seconds=_DAY,
        wait_seconds=None,
        assignment_strategy=FOR_YOU,
    )
    agent.say(f"delivery notes: {'578 pieces booked' if book else 'left in the portal'}, as {book.by} said")
