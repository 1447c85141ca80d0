"""A request as one message in Slack. However long it is, every limit of Slack's holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from domain.request import Request
from domain.request_types import REQUEST_TYPES
from interfaces.slack.mrkdwn import instant, one_line, pieces

_OF_MESSAGE, _OF_CONTEXT = (3000, 2), (1500, 1)
"""How long a section is, and how many there are, at most.

All texts of a message together may have about 13,000 characters, and nobody says what counts as one: here they have
9,500 at most.
"""

_NAME, _BEGINNING = 80, 150
_MENTIONS = 10

_NOT_HERE = "The answer is confidential: it is given on the page of the request only, never here."


def notice(
    request: Request, *, lead: str, agent: str, url: str, reminder: bool = False
) -> tuple[str, list[dict[str, Any]]]:
    """The text, which stands where blocks cannot be shown, and the blocks. `lead` says who is asked, in mrkdwn."""
    asked = request.asked
    lead = f"Reminder: {lead}" if reminder else lead
    kind = REQUEST_TYPES.get(asked.request_type, asked.request_type)
    of = f"{one_line(kind, _NAME)} from {one_line(agent, _NAME)}"
    blocks = [
        _section(f"{lead}\n{of}"),
        *_written(asked.message, _OF_MESSAGE),
        *_written(asked.context, _OF_CONTEXT, title="Context"),
    ]
    if asked.secret or asked.sealed:
        blocks.append(_small(_NOT_HERE))
    until = "no deadline" if asked.expires_at is None else f"expires {instant(asked.expires_at)}"
    blocks += [_small(f"Request `{request.id}` · {until}"), _link("Open in Handraise", f"{url}/requests/{request.id}")]
    beginning = one_line(asked.message or "", _BEGINNING)
    return f"{lead} {of}" + (f": {beginning}" if beginning else ""), blocks


def asked_person(who: str, *, responsible: bool) -> str:
    """`who` is a mention, or a name as `name` makes it."""
    return f"{who} is asked to answer a request." if responsible else f"{who} may claim a request that still waits."


def asked_list(called: str, mentions: Sequence[str]) -> str:
    """`called` is a name as `name` makes it, `mentions` those of the members who are known."""
    told = " ".join(mentions[:_MENTIONS])
    more = f" and {len(mentions) - _MENTIONS} more" if len(mentions) > _MENTIONS else ""
    return f"A request waits for somebody of {called} to claim it." + (f" {told}{more}" if told else "")


ASKED_NOBODY = "A request waits that nobody is asked to answer."


def name(text: str) -> str:
    """What somebody is called, plain."""
    return one_line(text, _NAME)


def _written(text: str | None, most: tuple[int, int], title: str | None = None) -> list[dict[str, Any]]:
    """What the agent wrote, and how much of it is left out."""
    found, rest = pieces(text or "", *most)
    blocks = [_section(piece) for piece in found]
    if blocks and title is not None:
        blocks.insert(0, _small(f"*{title}*"))
    if rest:
        blocks.append(_small(f"… {rest:,} more {'character' if rest == 1 else 'characters'}: see the request"))
    return blocks


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": _mrkdwn(text)}


def _small(text: str) -> dict[str, Any]:
    return {"type": "context", "elements": [_mrkdwn(text)]}


def _mrkdwn(text: str) -> dict[str, Any]:
    # Verbatim: what looks like a name, as @channel, must not be made a mention of.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _link(text: str, url: str) -> dict[str, Any]:
    # No button: Slack tells the app of each click and warns the person when nobody acknowledges it.
    return _section(f"<{url}|{text}>")
