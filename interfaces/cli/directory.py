"""People, agents and keys, from the terminal; and the whole directory as a YAML file."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from interfaces.cli.connection import DataDir, people_client
from interfaces.cli.output import CommandFailed, as_json, command, say, write_result, write_table

if TYPE_CHECKING:
    import yaml

user = typer.Typer(help="People.", no_args_is_help=True, rich_markup_mode=None)
agent = typer.Typer(help="Agents.", no_args_is_help=True, rich_markup_mode=None)
key = typer.Typer(help="Keys, each for one agent or one person.", no_args_is_help=True, rich_markup_mode=None)
directory = typer.Typer(help="The whole directory, as one YAML file.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(help="The name people see.", show_default=False)]
NewId = Annotated[
    str | None, typer.Option("--id", help="The readable id; never reused.", show_default="made from the name")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print them as JSON.")]


@user.command("add")
def add_user(
    name: Name,
    id: NewId = None,
    email: Annotated[str | None, typer.Option(help="The person's address.", show_default=False)] = None,
    role: Annotated[str, typer.Option(help="administrator, member or auditor.")] = "member",
    data_dir: DataDir = None,
) -> None:
    """Add a person; prints the id."""
    with people_client(data_dir) as client:
        created = client.add_user(name, id=id, email=email, role=role)
    write_result(created["id"])
    say(f"a key for them: {command('key', 'create', '--user', created['id'])}")


@user.command("link")
def link_user(
    id: Annotated[str, typer.Argument(help="The person's id.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Make a link that signs a person in, once, within 24 hours; prints it."""
    with people_client(data_dir) as client:
        made = client.make_link(id)
    write_result(made["url"])
    say(f"it works once, until {made['expires_at']}")


@user.command("list")
def list_users(json_: AsJson = False, data_dir: DataDir = None) -> None:
    """List people."""
    with people_client(data_dir) as client:
        _list(client.users(), ("id", "name", "email", "role", "active"), json_)


@agent.command("add")
def add_agent(
    name: Name,
    id: NewId = None,
    owner: Annotated[
        str | None, typer.Option(help="The user who owns it and may read what it asks.", show_default=False)
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Add an agent; prints the id."""
    with people_client(data_dir) as client:
        created = client.add_agent(name, id=id, owner=owner)
    write_result(created["id"])
    say(f"a key for it: {command('key', 'create', '--agent', created['id'])}")


@agent.command("list")
def list_agents(json_: AsJson = False, data_dir: DataDir = None) -> None:
    """List agents."""
    with people_client(data_dir) as client:
        _list(client.agents(), ("id", "name", "owner"), json_)


@key.command("create")
def create_key(
    agent: Annotated[str | None, typer.Option(help="The agent it is for.", show_default=False)] = None,
    user: Annotated[str | None, typer.Option(help="The person it is for.", show_default=False)] = None,
    name: Annotated[str | None, typer.Option(help="What it is used for.", show_default="whom it is for")] = None,
    run_user: Annotated[
        str | None, typer.Option(help="Bind an agent's key to runs of this one person.", show_default=False)
    ] = None,
    expires: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=1, help="How long it works.", show_default="until it is revoked"),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Make a key; it is printed this once, alone on standard output."""
    if (agent is None) == (user is None):
        raise typer.BadParameter("give exactly one of the two", param_hint="--agent / --user")
    expires_at: str | None = None
    if expires is not None:
        try:
            expires_at = (datetime.now(UTC) + timedelta(seconds=expires)).isoformat()
        except OverflowError:
            raise typer.BadParameter("is too far away", param_hint="--expires") from None
    with people_client(data_dir) as client:
        created = client.create_key(
            name or f"{agent or user} key", agent=agent, user=user, run_user=run_user, expires_at=expires_at
        )
    write_result(created["key"])
    say(f"made key {created['id']}; it is not shown again. To revoke it: {command('key', 'revoke', created['id'])}")


@key.command("rotate")
def rotate_key(
    id: Annotated[str, typer.Argument(help="The key's id, not the key.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Replace a key; the new one is printed this once, the old one stops at once."""
    with people_client(data_dir) as client:
        made = client.rotate_key(id)
    write_result(made["key"])


@key.command("revoke")
def revoke_key(
    id: Annotated[str, typer.Argument(help="The key's id, not the key.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Stop a key at once, everywhere."""
    with people_client(data_dir) as client:
        client.revoke_key(id)
    write_result(f"revoked {id}")


@key.command("list")
def list_keys(json_: AsJson = False, data_dir: DataDir = None) -> None:
    """List keys, without the keys themselves."""
    with people_client(data_dir) as client:
        fields = ("id", "name", "agent", "user", "run_user", "expires_at", "revoked", "created_at")
        _list(client.keys(), fields, json_)


def _list(items: list[dict[str, Any]], fields: tuple[str, ...], json_: bool) -> None:
    if json_:
        write_result(as_json(items))
        return
    write_table(
        [field.replace("_", " ") for field in fields], ([_shown(item.get(field)) for field in fields] for item in items)
    )


def _shown(value: Any) -> Any:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


# -- the whole directory as a file

_STRATEGY_FIELDS = ("type", "userID", "listID", "listStrategy", "priority", "expirationMinutes")
_STRATEGIES = ("assignment_strategy", "default_assignment_strategy")
_MAX_VALUES = 2_000_000
"""Values in a file, with what its aliases stand for written out; a small file can stand for any number."""


@directory.command("export")
def export_directory(
    file: Annotated[Path | None, typer.Argument(help="Where to; - or nothing: standard output.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Write people, lists, agents, types and categories as YAML, without keys."""
    with people_client(data_dir) as client:
        text = directory_text(client.export_directory())
    if file is None or str(file) == "-":
        write_result(text.removesuffix("\n"))
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{file} could not be written: {error.strerror or error}") from None
    say(f"wrote {file}")


@directory.command("import")
def import_directory(
    file: Annotated[str, typer.Argument(help="A file as `export` writes it; -: standard input.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Add and change what a YAML file says: all of it or, where anything is wrong, nothing."""
    document = read_directory(_bytes_of(file), "standard input" if file == "-" else file)
    with people_client(data_dir) as client:
        done = client.import_directory(document)
    if not (done["added"] or done["changed"]):
        write_result("nothing to change")
    else:
        write_result(f"added {done['added']}, changed {done['changed']}")


def directory_text(document: Mapping[str, Any]) -> str:
    """The directory as YAML, in the order of its sections; what is null or empty is left out."""
    sections = {name: [_entry(entry) for entry in entries] for name, entries in document.items() if entries}
    return "\n".join(_yaml({name: entries}) for name, entries in sections.items())


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in entry.items():
        if value is None:
            continue
        if name in _STRATEGIES:  # as it is, nulls too: leaving them out would change it
            known = [field for field in _STRATEGY_FIELDS if field in value]
            value = {field: value[field] for field in [*known, *(value.keys() - known)]}
        elif isinstance(value, dict):
            value = _entry(cast("dict[str, Any]", value))
        shown[name] = value
    return shown


def read_directory(content: bytes, name: str) -> dict[str, Any]:
    """What a YAML file says, as JSON has it. Raises `CommandFailed` that names the place of what makes no sense."""
    import yaml

    try:
        document = yaml.load(content.decode("utf-8-sig"), Loader=_loader())  # noqa: S506  it makes JSON values only
    except UnicodeDecodeError as error:
        raise CommandFailed(f"{name} is not UTF-8 at byte {error.start}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f" at line {mark.line + 1}, column {mark.column + 1}"
        raise CommandFailed(f"{name} makes no sense{where}: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise CommandFailed(f"{name} is not YAML: {error}") from None
    except RecursionError:
        raise CommandFailed(f"{name} is nested too deeply") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise CommandFailed(f"{name} is no directory: it must have sections such as users: and lists:")
    _check_size(document, name)
    found = cast("dict[str, Any]", document)
    return {section: entries for section, entries in found.items() if entries is not None}


def _check_size(document: Any, name: str) -> None:
    left, stack = _MAX_VALUES, [document]
    while stack:
        value = stack.pop()
        below = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()
        left -= 1 + len(below)
        if left < 0:
            raise CommandFailed(f"{name} stands for more than {_MAX_VALUES} values")
        stack.extend(below)


def _bytes_of(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise CommandFailed(f"{file} could not be read: {error.strerror or error}") from None


# Plain scalars as JSON has them: only true and false are booleans; 22:00 and 2026-12-24 are text.
_SCALARS = (
    ("null", re.compile(r"^(?:null|~|)$"), ("n", "~", "")),
    ("bool", re.compile(r"^(?:true|false)$"), ("t", "f")),
    ("int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"), tuple("-0123456789")),
    ("float", re.compile(r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"), tuple("-0123456789")),
)
_TAG = "tag:yaml.org,2002:"


def _loader() -> type[yaml.SafeLoader]:
    """Reads YAML as JSON values: nothing else can be made of it, and no name stands twice in a mapping."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {}  # noqa: RUF012  the library's own way

        def construct_json(self, node: yaml.Node) -> Any:
            if isinstance(node, yaml.ScalarNode) and any(
                node.tag == _TAG + name and pattern.fullmatch(node.value) for name, pattern, _ in _SCALARS
            ):
                try:
                    value = None if node.tag == _TAG + "null" else json.loads(node.value)
                except ValueError:
                    value = math.inf
                if value is None or math.isfinite(value):
                    return value
            raise yaml.constructor.ConstructorError(None, None, "this value cannot be read", node.start_mark)

        def construct_object_of(self, node: yaml.MappingNode) -> Any:
            made: dict[str, Any] = {}
            yield made
            for name_node, value_node in node.value:
                name = name_node.value
                if not isinstance(name_node, yaml.ScalarNode) or name in made:
                    said = f"{name[:80]!r} stands here twice" if isinstance(name, str) else "a name must be text"
                    raise yaml.constructor.ConstructorError(None, None, said, name_node.start_mark)
                made[name] = self.construct_object(value_node, deep=True)

    for name, pattern, first in _SCALARS:
        Loader.add_implicit_resolver(_TAG + name, pattern, list(first))
    Loader.yaml_constructors = {_TAG + name: Loader.construct_json for name, _, _ in _SCALARS} | {
        _TAG + "str": yaml.SafeLoader.construct_yaml_str,
        _TAG + "seq": yaml.SafeLoader.construct_yaml_seq,
        _TAG + "map": Loader.construct_object_of,
        None: yaml.SafeLoader.construct_undefined,
    }
    return Loader


def _yaml(value: Any) -> str:
    """YAML in which every reader, of version 1.1 too, takes text for text."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
        odd = any(not (character.isprintable() or character == "\n") for character in text)
        return dumper.represent_scalar(_TAG + "str", text, style='"' if odd else "|" if "\n" in text else None)

    Dumper.add_representer(str, represent_text)
    for name, pattern, first in _SCALARS:
        Dumper.add_implicit_resolver(_TAG + name, pattern, list(first))
    return yaml.dump(value, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=1_000_000)
