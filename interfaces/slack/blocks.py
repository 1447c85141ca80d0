"""A request as one message in Slack, with what it is answered by. However long it is, every limit of Slack's holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

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

APPROVE, REJECT, FORM, CLAIM, SELECT, OPTION = "approve", "reject", "form", "claim", "select", "option:"
"""The action ids of what people press; that of an option's button has the option's number, which is also its value."""

_BLOCK = "request:"
_LABEL = 75
_BUTTONS = 5

_NOT_HERE = "The answer is confidential: it is given on the page of the request only, never here."
_TOO_MUCH = "Its form does not fit in here: fill it in on the page of the request."


def notice(
    request: Request, *, lead: str, agent: str, url: str, has_form: bool, reminder: bool = False
) -> tuple[str, list[dict[str, Any]]]:
    """The text, which stands where blocks cannot be shown, and the blocks.

    `lead` says who is asked, or how it ended, in mrkdwn; `has_form` is whether a modal can be shown for it.
    """
    asked = request.asked
    lead = f"Reminder: {lead}" if reminder else lead
    kind = REQUEST_TYPES.get(asked.request_type, asked.request_type)
    of = f"{one_line(kind, _NAME)} from {one_line(agent, _NAME)}"
    blocks = [
        _section(f"{lead}\n{of}"),
        *_written(asked.message, _OF_MESSAGE),
        *_written(asked.context, _OF_CONTEXT, title="Context"),
    ]
    if request.is_open:
        blocks += _answering(request, has_form)
    until = "no deadline" if asked.expires_at is None else f"expires {instant(asked.expires_at)}"
    if not request.is_open:
        until = f"asked {instant(asked.timestamp)}"
    blocks += [_small(f"Request `{request.id}` · {until}"), _link("Open in Handraise", f"{url}/requests/{request.id}")]
    beginning = one_line(asked.message or "", _BEGINNING)
    return f"{lead} {of}" + (f": {beginning}" if beginning else ""), blocks


def request_of(block_id: str) -> UUID | None:
    """The request that something belongs to which was pressed."""
    try:
        return UUID(block_id.removeprefix(_BLOCK)) if block_id.startswith(_BLOCK) else None
    except ValueError:
        return None


def _answering(request: Request, has_form: bool) -> list[dict[str, Any]]:
    """What people press. A confidential answer is given elsewhere, and so is one that no modal can take."""
    question = request.question
    if request.asked.sealed:
        return [_small(_NOT_HERE), *_pressed(request, _claim(request))]
    buttons: list[dict[str, Any]] = []
    blocks: list[dict[str, Any]] = []
    match question.kind:
        case "options":
            options = list(enumerate(question.options or ()))
            if any(len(option) > _LABEL for _, option in options):
                listed = "\n".join(f"{number + 1}. {option}" for number, option in options)
                blocks += _written(listed, _OF_CONTEXT)
            if len(options) <= _BUTTONS:
                buttons += [_button(f"{OPTION}{number}", option, value=str(number)) for number, option in options]
            else:
                buttons.append(_select(options))
        case "approval":
            buttons.append(_button(APPROVE, question.labels.approve, style="primary"))
            buttons.append(_button(REJECT, question.labels.reject, style="danger"))
            buttons += [_button(FORM, "Decide with a note…")] if has_form else []
        case "review":
            buttons.append(_button(APPROVE, question.labels.approve, style="primary"))
            buttons.append(_button(FORM, "Give feedback…"))
        case "text":
            buttons.append(_button(FORM, "Answer…"))
        case "form" if has_form:
            buttons.append(_button(FORM, "Answer…"))
        case "form":
            blocks.append(_small(_TOO_MUCH))
    return [*blocks, *_pressed(request, buttons + _claim(request))]


def _claim(request: Request) -> list[dict[str, Any]]:
    shared = request.assigned_to is None and request.assigned_list is not None
    return [_button(CLAIM, "Claim")] if shared or request.up_for_claim else []


def _pressed(request: Request, elements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "actions", "block_id": f"{_BLOCK}{request.id}", "elements": elements}] if elements else []


def _button(action: str, label: str, **more: str) -> dict[str, Any]:
    return {"type": "button", "action_id": action, "text": _plain(label), **more}


def _select(options: Sequence[tuple[int, str]]) -> dict[str, Any]:
    listed = [{"text": _plain(option), "value": str(number)} for number, option in options]
    return {"type": "static_select", "action_id": SELECT, "placeholder": _plain("Choose…"), "options": listed}


def _plain(text: str) -> dict[str, Any]:
    # Escaped it may be longer than it looks: what is cut is all of it to be read above.
    size = _LABEL
    while len(shown := one_line(text, size)) > _LABEL:
        size -= 1
    return {"type": "plain_text", "text": shown or "…", "emoji": False}


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
