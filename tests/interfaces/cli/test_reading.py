"""`handraise inbox` and `handraise export`, and what an export proves."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from tests.interfaces.cli.test_people import ask
from tests.support.processes import ServerProcess, cli_here


def test_the_inbox_lists_what_waits_most_urgent_first(server: ServerProcess) -> None:
    """A row a request, as a table for people and as JSON for programs; what is closed is not in it."""
    ask(server, "inbox-later", priority=60, message="Second\nline")
    ask(server, "inbox-first", priority=2, expires_in_seconds=7200)
    ask(server, "inbox-closed", priority=1)
    with server.admin() as admin:
        closed = admin.post("/api/requests/inbox-closed/respond", json={"text": "done"}).json()
        admin.get(f"/api/inbox?min_position={closed['position']}")
    shown = cli_here("inbox", server=server)
    rows = [line.split() for line in shown.out.splitlines() if line.startswith("inbox-")]
    assert [row[0] for row in rows] == ["inbox-first", "inbox-later"], shown
    assert "Second line" in shown.out
    items = [json.loads(line) for line in cli_here("inbox", "--json", server=server).out.splitlines()]
    assert [item["unique_id"] for item in items if item["unique_id"].startswith("inbox-")] == [
        "inbox-first",
        "inbox-later",
    ]


def test_an_empty_inbox_says_so(server: ServerProcess) -> None:
    """Nothing is assigned to the administrator: no table, one line, and success."""
    ended = cli_here("inbox", "--scope", "mine", server=server)
    assert (ended.code, ended.out, ended.err) == (0, "", "Nothing waits for an answer.\n")


def test_an_export_can_be_verified_without_the_database(server: ServerProcess, tmp_path: Path) -> None:
    """As it was written it is whole, up to the head; a changed line, or a missing one, is found and named."""
    ask(server, "export-me", message="Look at this")
    with server.admin() as admin:
        signed = admin.get("/api/audit/head").json()
        admin.get(f"/api/audit?min_position={signed['position']}")
    exported = cli_here("export", server=server)
    assert exported.code == 0, exported
    lines = exported.out.splitlines()
    whole = tmp_path / "whole.jsonl"
    whole.write_text(exported.out)
    verified = cli_here("verify", "--export", str(whole), "--head", signed["head"])
    assert verified.out.splitlines() == [f"events {len(lines)}", f"head   {signed['head']}", "ok"], verified

    changed = json.loads(lines[2])
    changed["originator_version"] += 1
    for name, broken in (
        ("changed", [*lines[:2], json.dumps(changed), *lines[3:]]),
        ("missing", [*lines[:2], *lines[3:]]),
    ):
        file = tmp_path / f"{name}.jsonl"
        file.write_text("\n".join(broken) + "\n")
        found = cli_here("verify", "--export", str(file))
        assert found.code == 1
        assert "position 3" in found.out, found
    cut = tmp_path / "cut.jsonl"
    cut.write_text("\n".join(lines[:-1]) + "\n")
    assert cli_here("verify", "--export", str(cut)).code == 0
    assert "the tail is cut" in cli_here("verify", "--export", str(cut), "--head", signed["head"]).out


def test_an_export_is_narrowed_and_comes_as_csv(server: ServerProcess) -> None:
    """The filters are those of the API."""
    exported = cli_here("export", "--format", "csv", "--type", "Created", "--actor", "system", server=server)
    rows = list(csv.DictReader(io.StringIO(exported.out)))
    assert rows
    assert {(row["type"], row["of"], row["actor"]) for row in rows} == {("Created", "AccessKey", "system")}


def test_an_export_of_an_unknown_actor_is_refused(server: ServerProcess) -> None:
    """The refusal comes instead of a file, with exit code 1."""
    ended = cli_here("export", "--actor", "nobody-we-know", server=server)
    assert (ended.code, ended.out) == (1, "")
    assert "nobody-we-know" in ended.err


def test_what_is_no_export_is_said_to_be_none(tmp_path: Path) -> None:
    """Neither a missing file nor other text ends in a traceback."""
    other = tmp_path / "other.txt"
    other.write_text("not an export\n")
    for file in (other, tmp_path / "missing"):
        ended = cli_here("verify", "--export", str(file))
        assert ended.code == 1
        assert str(file) in ended.err
        assert "Traceback" not in ended.err
