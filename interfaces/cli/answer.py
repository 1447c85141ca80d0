"""What a person does with a request from the terminal: look at it, answer it, withdraw it."""

from __future__ import annotations

import getpass
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interfaces.cli.connection import DataDir, people_client
from interfaces.cli.output import CommandFailed, as_json, command, console, say, visible, write_result, write_table

if TYPE_CHECKING:
    from handraise import Client, Request

Id = Annotated[str, typer.Argument(help="The request's id, or its unique_id.", show_default=False)]


def show(
    id: Id,
    json_: Annotated[bool, typer.Option("--json", help="Print request and history as JSON.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Show a request and all that happened to it."""
    with people_client(data_dir) as client:
        request = client.get(id)
        history = client.history(request["id"])
    if json_:
        write_result(as_json(request | {"history": history}))
        return
    _show_question(request)
    _show_facts(request)
    print()
    upcoming = [step for step in request["plan"] if step["step"] != "show"]
    if upcoming and request["status"] == "Requested":
        write_table(("at", "next"), ((step["at"], step["what"]) for step in upcoming))
        print()
    write_table(
        ("at", "event", "by", "what"),
        ((item["at"], item["type"], item["actor"], _what(item)) for item in history),
    )


def answer(
    id: Id,
    text: Annotated[
        str | None,
        typer.Argument(
            help="The answer as text: yes or no, an option or its number, …; - reads it from standard input.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="The answer as JSON; - reads it from standard input.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Answer a request; without TEXT and --data it shows the question and asks, unseen where it is a secret.

    Arguments can be seen by others on this machine: give a secret at the prompt, or on standard input with `-`.
    """
    if text is not None and data is not None:
        raise typer.BadParameter("give one of the two", param_hint="TEXT / --data")
    given = None if data is None else _parse(_input() if data == "-" else data)
    if text == "-":
        text = _input()
    with people_client(data_dir) as client:
        if data is not None:
            client.respond(id, data=given)
        else:
            request = client.get(id)
            if text is not None:
                _submit(client, request, text)
            else:
                _prompt(client, request)
    write_result(f"answered {visible(id)}")


def cancel(
    id: Id,
    reason: Annotated[str | None, typer.Option(help="Why, for the agent and the history.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Withdraw a request; whoever waits for it is told."""
    with people_client(data_dir) as client:
        client.cancel(id, reason)
    write_result(f"cancelled {visible(id)}")


# -- answering


def _submit(client: Client, request: Request, text: str) -> None:
    """As text that is to be understood, which only `submit` does in full: it takes the name, not the id."""
    client.submit(request["unique_id"], text, agent=request["agent"])


def _prompt(client: Client, request: Request) -> None:
    from handraise import HandraiseError

    if not sys.stdin.isatty():
        raise CommandFailed(f"there is no answer: give it as TEXT or --data, see {command('answer', '--help')}")
    if request["status"] != "Requested":
        raise CommandFailed(f"the request is closed: see {command('show', request['unique_id'])}")
    _show_question(request)
    print()
    ask = getpass.getpass if request["secret"] else input
    while True:
        try:
            text = ask(_how_to_answer(request))
        except (EOFError, KeyboardInterrupt):
            say("\nnot answered; the request stays open")
            raise typer.Exit(130) from None
        try:
            return _submit(client, request, text)
        except HandraiseError as error:
            if error.status != 422:
                raise
            say(str(error))


def _how_to_answer(request: Request) -> str:
    labels = request["labels"] or {}
    approve, reject = labels.get("approve", "Approve"), labels.get("reject", "Reject")
    if request["response_schema"] is not None:
        how = "Your answer, as JSON (or the one value it asks for)"
    elif request["options"] is not None:
        how = "The option or its number"
    elif request["request_type"] == "approval":
        how = f"{approve} or {reject}, yes or no"
    elif request["request_type"] == "review":
        how = f"{approve}, or what to change"
    else:
        how = "Your answer"
    return visible(f"{how}{' (unseen)' if request['secret'] else ''}: ")


def _parse(text: str) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON value")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        # Not what is wrong with it: that may quote a secret.
        raise typer.BadParameter("is not JSON", param_hint="--data") from None


def _input() -> str:
    """Standard input, without the line break that ends its last line."""
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")


# -- showing


def _show_question(request: Request) -> None:
    from rich.text import Text

    out = console()

    def line(text: str, style: str = "") -> None:
        out.print(Text(visible(text), style), soft_wrap=True)

    if request["message"] is None:
        line("The content of this request was erased.", "italic")
    else:
        line(request["message"], "bold")
    if request["context"]:
        line(f"\n{request['context']}")
    for number, option in enumerate(request["options"] or (), 1):
        line(f"  {number}. {option}")
    if request["response_schema"] is not None:
        line("\nThe answer is data of this form:")
        line(json.dumps(request["response_schema"], ensure_ascii=False, indent=2), "dim")


def _show_facts(request: Request) -> None:
    response, cancelled = request["response"], request["cancelled"]
    facts: list[tuple[str, Any]] = [
        ("status", request["status"]),
        ("type", request["request_type"]),
        ("agent", request["agent"]),
        ("unique id", request["unique_id"]),
        ("id", request["id"]),
        ("run", request["run_id"]),
        ("run user", request["run_user"]),
        ("priority", request["priority"]),
        ("assigned to", request["assigned_to"] or request["list"] or "administrators"),
        ("because", request["assignment"]["reason"]),
        ("asked at", request["created_at"]),
        ("expires at", request["expires_at"]),
        ("closed at", request["closed_at"]),
    ]
    if response is not None:
        facts += [("outcome", response["outcome"]), ("by", response["by"]), ("via", response["via"])]
        if response["sealed"]:
            facts.append(("answer", "sealed: only the agent can collect it"))
        elif response["text"] is not None:
            facts.append(("answer", response["text"]))
        elif response["data"] is not None:
            facts.append(("answer", as_json(response["data"])))
    if cancelled is not None:
        facts += [("by", cancelled["by"]), ("reason", cancelled["reason"])]
    print()
    for name, value in facts:
        if value is not None:
            print(f"{name:<12} {visible(str(value))}")


_SHOWN_ELSEWHERE = frozenset({"position", "type", "at", "actor", "message", "unique_id", "assignment", "plan"})


def _what(item: dict[str, Any]) -> str:
    """What else an event says, in a line."""
    said = [
        f"{name} {value if isinstance(value, str) else as_json(value)}"
        for name, value in item.items()
        if name not in _SHOWN_ELSEWHERE and value is not None and value is not False
    ]
    return ", ".join(said)
