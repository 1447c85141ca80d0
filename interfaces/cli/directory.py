"""People, agents and keys, from the terminal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from interfaces.cli.connection import DataDir, people_client
from interfaces.cli.output import as_json, command, say, write_result, write_table

user = typer.Typer(help="People.", no_args_is_help=True, rich_markup_mode=None)
agent = typer.Typer(help="Agents.", no_args_is_help=True, rich_markup_mode=None)
key = typer.Typer(help="Keys, each for one agent or one person.", no_args_is_help=True, rich_markup_mode=None)

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
