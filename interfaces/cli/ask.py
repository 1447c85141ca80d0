"""`handraise ask`: a question in a script, its answer on standard output, its outcome in the exit code."""

from __future__ import annotations

import contextlib
import json
import select
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interfaces.cli.connection import DataDir, agent_client
from interfaces.cli.output import CommandFailed, as_json, command, console, say, write_result

if TYPE_CHECKING:
    from handraise import Client, Collected, Request, Response

REJECTED, EXPIRED, CANCELLED, OPEN, INTERRUPTED = 3, 4, 5, 6, 130


def ask(
    message: Annotated[str, typer.Argument(help="What the person reads; - reads it from standard input.")],
    options: Annotated[
        list[str] | None, typer.Option("--option", help="A text to choose; repeat it for each one.")
    ] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="FILE", help="JSON Schema of the answer; - reads standard input.")
    ] = None,
    type_: Annotated[str | None, typer.Option("--type", help="A request type, such as approval or review.")] = None,
    secret: Annotated[bool, typer.Option("--secret", help="Seal the answer: it can be read once, here.")] = False,
    context: Annotated[str | None, typer.Option(help="What the person needs to know to answer.")] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="How long to wait; the request stays open after it.",
            show_default="until it is closed",
        ),
    ] = None,
    expires: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How long the request lives.", show_default=False)
    ] = None,
    unique_id: Annotated[
        str | None,
        typer.Option(help="Your own name for the request; asking again under it goes on waiting.", show_default=False),
    ] = None,
    priority: Annotated[int | None, typer.Option(help="1 (most urgent) to 100.", show_default="50")] = None,
    run_id: Annotated[str | None, typer.Option(help="The agent's run that asks.")] = None,
    run_user: Annotated[str | None, typer.Option(help="The user in whose name the run works.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the whole request as JSON.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Ask a person and wait for the answer, which is printed on standard output.

    Exit codes: 0 answered or approved, 3 rejected, 4 expired, 5 cancelled, 6 still open, 1 refused, 2 wrong usage,
    130 interrupted (the request stays open).
    """
    if message == "-" and schema == "-":
        raise typer.BadParameter("only one can come from standard input", param_hint="MESSAGE / --schema")
    if message == "-":
        message = sys.stdin.read()
    response_schema = None if schema is None else _read_schema(schema)
    name = unique_id or str(uuid.uuid4())
    asked: Request | None = None
    with agent_client(data_dir) as client:
        try:
            asked = client.create(
                message,
                unique_id=name,
                context=context,
                request_type=type_,
                response_schema=response_schema,
                options=options or None,
                secret=secret,
                priority=priority,
                run_id=run_id,
                run_user=run_user,
                expires_in_seconds=expires,
            )
            # From here on there is a server, even while it restarts.
            client.connect_patience_seconds = client.patience_seconds
            if asked["status"] == "Requested":
                say(f"asked; to answer: {command('answer', unique_id or asked['id'])}")
                if timeout != 0:
                    with _spinner():
                        asked = client.wait(asked["id"], timeout)
            code = _deliver(client, asked, as_json_=json_)
        except KeyboardInterrupt:
            if asked is None:
                say(f"interrupted before the server said that it has the question; --unique-id {name} asks it once")
            elif asked["status"] == "Requested":
                say(f"interrupted; {_go_on(asked)}")
            else:
                say(f"interrupted, but the request is closed: ask the same again with --unique-id {name} to see it")
            raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(code)


def _deliver(client: Client, request: Request, *, as_json_: bool) -> int:
    """Print the answer, if there is one, and say on standard error what else there is; the exit code."""
    response = request["response"]
    if response is None:
        if as_json_:
            write_result(as_json(request))
        return _without_answer(request)
    collected: Collected | None = None
    if response["sealed"]:
        if _nobody_reads():
            raise CommandFailed("standard output is closed, so the sealed answer was not collected; ask again")
        collected = client.collect(request["id"])
        response.update({"outcome": collected["outcome"], "text": collected["text"], "data": collected["data"]})
    try:
        write_result(as_json(request) if as_json_ else _as_text(request, response))
    except CommandFailed as error:
        lost = "; the sealed answer is lost, ask anew under another unique_id" if collected else ""
        raise CommandFailed(f"{error}{lost}") from None
    if collected is not None:
        _acknowledge(client, request, collected)
    elif not request["erased"]:
        client.acknowledge_soon(request["id"])
    return REJECTED if response["outcome"] == "rejected" else 0


def _without_answer(request: Request) -> int:
    if request["status"] == "Expired":
        say(f"expired: nobody answered {request['unique_id']} in time")
        return EXPIRED
    cancelled = request["cancelled"]
    if cancelled is not None:
        because = f": {cancelled['reason']}" if cancelled["reason"] else ""
        say(f"cancelled by {cancelled['by']}{because}")
        return CANCELLED
    say(f"still open; {_go_on(request)}")
    return OPEN


def _as_text(request: Request, response: Response) -> str:
    """The answer as a script reads it: text as it was given, data as JSON, a decision as one word.

    An approval's note follows on the lines after it.
    """
    text, data = response["text"], response["data"]
    if request["erased"]:
        raise CommandFailed("the answer was erased")
    if request["response_schema"] is not None:
        return as_json(data)
    if text is not None:
        return text
    note = data.get("note") if isinstance(data, dict) else None
    return response["outcome"] if note is None else f"{response['outcome']}\n{note}"


def _acknowledge(client: Client, request: Request, collected: Collected) -> None:
    from handraise import HandraiseError

    try:
        client.acknowledge(request["id"], collected["receipt"])
    except HandraiseError as error:
        # The answer is printed: that counts. The server destroys it by itself a little later.
        say(f"the server could not be told that the answer arrived: {error}")


def _go_on(request: Request) -> str:
    again = f"--unique-id {request['unique_id']}"
    return f"the request stays open: to go on waiting, ask the same again with {again}"


def _read_schema(file: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        schema = json.loads(text)
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}", param_hint="--schema") from None
    except ValueError as error:
        raise typer.BadParameter(f"{file} is not JSON: {error}", param_hint="--schema") from None
    if not isinstance(schema, dict):
        raise typer.BadParameter(f"{file} is not a JSON object", param_hint="--schema")
    return schema


def _nobody_reads() -> bool:
    """Whether standard output is a pipe whose reader has gone."""
    if sys.stdout is None:
        return True
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0))


@contextlib.contextmanager
def _spinner() -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status("waiting for an answer …"):
        yield
