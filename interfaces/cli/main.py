"""`handraise`: the server and all that people and scripts do with it from a terminal."""

from __future__ import annotations

import sys

import typer

from interfaces.cli import answer, ask, demo, directory, erase, maintenance, mcp, read_models, reading, secret, serve
from interfaces.cli.connection import where_key_is_from
from interfaces.cli.output import CommandFailed, command, say

# Server modules, httpx and rich are imported by the commands that need them: `ask` starts in scripts, in loops.
app = typer.Typer(
    help="Agents ask, the right person answers, the agent resumes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(serve.serve)
app.command()(demo.demo)
app.command()(ask.ask)
app.command()(answer.show)
app.command()(answer.answer)
app.command()(answer.cancel)
app.command()(erase.erase)
app.command()(mcp.mcp)
app.command()(reading.inbox)
app.add_typer(directory.user, name="user")
app.add_typer(directory.agent, name="agent")
app.add_typer(directory.key, name="key")
app.add_typer(directory.directory, name="directory")
app.add_typer(secret.secret, name="secret")
app.command()(reading.export)
app.command()(maintenance.doctor)
app.command()(maintenance.verify)
app.command()(read_models.rebuild)
app.command()(read_models.unpark)


def main() -> None:
    """Run the command line; ends the process with 0, 1 for what was refused, 2 for wrong usage, or `ask`'s codes."""
    try:
        app(prog_name="handraise")
    except KeyboardInterrupt:
        sys.exit(130)
    except CommandFailed as error:
        say(f"Error: {error}")
        sys.exit(1)
    except Exception as error:
        said = _refusal(error)
        if said is None:
            raise
        say(f"Error: {said}")
        sys.exit(1)


def _refusal(error: Exception) -> str | None:
    """What the server said no to, or that there is none; None for an error nobody expected."""
    from handraise import HandraiseError, Unreachable

    if isinstance(error, Unreachable):
        return f"cannot reach {error.url}: start it with `{command('serve')}`"
    if not isinstance(error, HandraiseError):
        return None
    lines = [error.detail]
    if error.status == 401:
        lines[0] += f" ({where_key_is_from()})"
    if len(error.errors) > 1:
        lines += [f"  {found['path'] or 'whole'}: {found['message']}" for found in error.errors]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
