"""`handraise inbox`: what waits for an answer. `handraise export`: the audit trail as a file."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from interfaces.cli.connection import DataDir, people_client
from interfaces.cli.output import CommandFailed, as_json, say, write_result, write_table


class Scope(StrEnum):
    MINE = "mine"
    SHARED = "shared"
    ALL = "all"


class ExportFormat(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"


def inbox(
    scope: Annotated[Scope, typer.Option(help="Assigned to you, free to take, or all you may answer.")] = Scope.ALL,
    json: Annotated[bool, typer.Option("--json", help="Print the items as JSON, one on each line.")] = False,
    data_dir: DataDir = None,
) -> None:
    """List open requests, most urgent first, then oldest."""
    with people_client(data_dir) as client:
        items = list(client.inbox(str(scope)))
    if json:
        for item in items:
            write_result(as_json(item))
        return
    if not items:
        say("Nothing waits for an answer.")
        return
    write_table(
        ("unique_id", "priority", "type", "agent", "assigned to", "age", "time left", "summary"),
        (
            (
                item["unique_id"],
                item["priority"],
                item["request_type"],
                item["agent"],
                item["assigned_to"] or "nobody",
                _span(_seconds_since(item["created_at"])),
                "" if item["expires_at"] is None else _span(-_seconds_since(item["expires_at"])),
                _one_line(item["summary"]),
            )
            for item in items
        ),
    )


def export(
    format: Annotated[ExportFormat, typer.Option(help="JSON Lines or CSV.")] = ExportFormat.JSONL,
    actor: Annotated[str | None, typer.Option(help="Only what this person or agent did, or `system`.")] = None,
    type: Annotated[list[str] | None, typer.Option(help="Only events of this type; repeatable.")] = None,
    since: Annotated[str | None, typer.Option(help="From this instant on, like 2027-01-01T00:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this instant.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Write the audit trail to standard output, oldest first, with the hashes of the chain.

    A whole export can be verified without the database: handraise verify --export FILE.
    """
    filters: dict[str, Any] = {"actor": actor, "type": type or None, "from": since, "to": until}
    with people_client(data_dir) as client:
        try:
            for chunk in client.export(str(format), **{k: v for k, v in filters.items() if v is not None}):
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        except OSError as error:
            raise CommandFailed(f"the export could not be written: {error.strerror or error}") from None


def _seconds_since(at: str) -> float:
    from datetime import UTC, datetime

    return (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()


def _span(seconds: float) -> str:
    """A duration as a person says it: the largest unit that fits."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _one_line(text: str | None) -> str:
    if text is None:
        return "(erased)"
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
