"""The directory as a YAML file: written to be read and edited, taken back whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from interfaces.cli.directory import directory_text, read_directory
from interfaces.cli.output import CommandFailed
from tests.support.processes import Finished, ServerProcess, cli_here

DOCUMENT = """\
users:
  - id: no
    name: Nörbert 😀
    email: no@example.com
    time_zone: Europe/Oslo
    quiet_hours: {from: 22:00, to: 07:00}
    out_of_office:
      from: 2026-12-24
      to: 2026-12-31
      stand_in: on
  - id: "on"
    name: |-
      Two
      lines
lists:
  - id: oncall
    name: On call
    members: [no, on]
agents:
agent_types:
  - {id: yes, name: 007, assignment_strategy: {type: List, listID: oncall, priority: 0x10}}
categories: []
"""


def import_(server: ServerProcess, text: str) -> Finished:
    return cli_here("directory", "import", "-", server=server, input=text)


def entry(server: ServerProcess, collection: str, id: str) -> dict[str, Any] | None:
    with server.admin() as admin:
        items = admin.get(f"/api/{collection}", params={"limit": 200}).json()["items"]
    return next((item for item in items if item["id"] == id), None)


def test_a_file_is_imported_as_it_is_written(server: ServerProcess) -> None:
    """Ids, times, days and zeros are text, quoted or not; a strategy with a number that is none is refused by name."""
    refused = import_(server, DOCUMENT)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == ("Error: agent_types/0/assignment_strategy/priority: must be from 1 (most urgent) to 100\n")
    assert entry(server, "users", "no") is None
    done = import_(server, DOCUMENT.replace("0x10", "10"))
    assert (done.code, done.out, done.err) == (0, "added 4, changed 0\n", "")
    assert entry(server, "users", "no") == {
        "id": "no",
        "name": "Nörbert 😀",
        "email": "no@example.com",
        "role": "member",
        "active": True,
        "slack_user_id": None,
        "time_zone": "Europe/Oslo",
        "quiet_hours": {"from": "22:00", "to": "07:00"},
        "out_of_office": {"from": "2026-12-24", "to": "2026-12-31", "stand_in": "on"},
    }
    assert (entry(server, "users", "on") or {})["name"] == "Two\nlines"
    assert (entry(server, "lists", "oncall") or {})["members"] == ["no", "on"]
    assert entry(server, "agent-types", "yes") == {
        "id": "yes",
        "name": "007",
        "assignment_strategy": {"type": "List", "listID": "oncall", "priority": 10},
    }
    again = import_(server, DOCUMENT.replace("0x10", "10"))
    assert (again.code, again.out) == (0, "nothing to change\n")
    cleared = import_(server, "users: [{id: no, quiet_hours: null, active: false}, {id: third, name: Third}]")
    assert cleared.out == "added 1, changed 1\n"
    assert (entry(server, "users", "no") or {})["quiet_hours"] is None


def test_what_is_exported_imports_without_a_change(server: ServerProcess, tmp_path: Path) -> None:
    """To standard output and to a file the same, without keys, null fields and empty sections."""
    assert import_(server, "users: [{id: exported, name: Ex}]\n").code == 0
    shown, file = cli_here("directory", "export", server=server), tmp_path / "directory.yaml"
    written = cli_here("directory", "export", str(file), server=server)
    assert (shown.code, shown.err) == (0, "")
    assert (written.code, written.out, written.err) == (0, "", f"wrote {file}\n")
    assert file.read_text(encoding="utf-8") == shown.out
    lines = shown.out.splitlines()
    at = lines.index("  - id: exported")
    assert lines[at : at + 4] == ["  - id: exported", "    name: Ex", "    role: member", "    active: true"]
    assert "null" not in shown.out
    assert not any(name in shown.out for name in ("keys:", server.admin_key, server.agent_key))
    assert next(iter(yaml.safe_load(shown.out))) == "users"
    for back in (cli_here("directory", "import", str(file), server=server), import_(server, shown.out)):
        assert (back.code, back.out) == (0, "nothing to change\n")


def test_what_is_wrong_is_named_and_nothing_written(server: ServerProcess, tmp_path: Path) -> None:
    """Every place, as the document has it; a file that makes no sense, by line and column."""
    two = import_(server, "users: [{id: fresh, name: Fresh}, {id: x, name: 5, time_zone: X}]")
    assert two.code == 1
    assert two.err.splitlines()[1:] == [
        "  users/1/name: must be text",
        "  users/1/time_zone: must be the name of a time zone, such as Europe/Berlin",
    ]
    assert entry(server, "users", "fresh") is None
    for text, said in (
        ("users:\n  - id: [1", "standard input makes no sense at line 2, column"),
        ("users: []\nusers: []\n", "standard input makes no sense at line 2, column 1: 'users' stands here twice"),
        ("users:\n\t- id: a\n", "standard input makes no sense at line 2"),
        ("- id: a", "standard input is no directory"),
        ("users: !!python/name:os.system x", "could not determine a constructor"),
        ("users: &a [*a]", "standard input"),
        ("people: []", "people: "),
        ("users: {}", "users: "),
    ):
        refused = import_(server, text)
        assert (refused.code, refused.out) == (1, ""), text
        assert said in refused.err, refused.err
        assert "Traceback" not in refused.err
    missing = cli_here("directory", "import", str(tmp_path / "none.yaml"), server=server)
    assert (missing.code, missing.out) == (1, "")
    assert missing.err == f"Error: {tmp_path / 'none.yaml'} could not be read: No such file or directory\n"
    nowhere = cli_here("directory", "export", str(tmp_path / "no" / "x.yaml"), server=server)
    assert (nowhere.code, nowhere.err.startswith("Error: ")) == (1, True)
    assert import_(server, "").out == "nothing to change\n"


@pytest.mark.parametrize(
    "text",
    ["no", "on", "Y", "22:00", "08:00", "2026-12-24", "1e3", "007", "0x1f", "1_000", ".5", "", "~", "null", "True",
     "true", "-1", "1.50", "a: b", "# c", "- x", "*a", "&a", "!a", "%", "@", "<<", "=", "'", '"', "😀 漢 é", " x ",
     "x\ny", "x\ny\n", "\n\nx\n\n", " x\ny", "x \n y", "x\r\ny", "a\tb\nc", "\t", "\x85", "\u2028", "\x07", "\ufeff",
     "x" * 500 + " " + "y" * 500],
)  # fmt: skip
def test_every_text_comes_back_as_it_was(text: str) -> None:
    """For us, and for readers of YAML 1.1."""
    document = {"users": [{"id": text, "name": "x"}], "lists": [{"id": "l", "members": [text, text]}]}
    written = directory_text(document)
    assert read_directory(written.encode(), "it") == document
    assert yaml.safe_load(written) == document


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("12", 12),
        ("-0.5", -0.5),
        ("1e3", 1000.0),
        ("True", "True"),
        ("yes", "yes"),
        ("off", "off"),
        ("012", "012"),
        ("0o14", "0o14"),
        ("+1", "+1"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("22:00", "22:00"),
        ("1:30:00", "1:30:00"),
        ("2026-12-24", "2026-12-24"),
        ("2026-12-24T10:00:00Z", "2026-12-24T10:00:00Z"),
        ("!!str 5", "5"),
    ],
)
def test_plain_scalars_mean_what_json_means(written: str, expected: Any) -> None:
    """No dates, no sexagesimal numbers, no booleans but true and false."""
    found = read_directory(f"x: [{{y: {written}}}]".encode(), "it")
    assert found == {"x": [{"y": expected}]}
    assert type(found["x"][0]["y"]) is type(expected)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff",
        b"a: \0",
        b"a: 1e999",
        b"a: " + b"9" * 5000,
        b"a: !!int x",
        b"a: !!timestamp 2026-01-01",
        b"[" * 10_000,
        b"? [1]\n: 2",
        b"a: &a {x: *a}",
        b"a: *a",
        b"---\na: 1\n---\nb: 1",
        b"a: &a [1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
        b"d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n"
        b"g: &g [*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g]",
    ],
)
def test_what_is_no_document_is_refused_in_a_line(content: bytes) -> None:
    """Whatever it is: not text, not YAML, not JSON's values, or far more than it seems."""
    with pytest.raises(CommandFailed) as refused:
        read_directory(content, "it.yaml")
    assert str(refused.value).startswith("it.yaml ")
    assert len(str(refused.value)) < 300
