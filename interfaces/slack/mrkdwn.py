"""Text as Slack is to show it: what somebody wrote mentions nobody and links nowhere, whatever stands in it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_USER_ID = re.compile(r"[UW][A-Z0-9]{2,40}", re.ASCII)
_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escape(text: str) -> str:
    """The same, literally. Formatting (`*bold*`, code, lists) stays what it is."""
    return "".join(_ESCAPED.get(each, each) for each in _sound(text))


def one_line(text: str, most: int) -> str:
    """A name, or how something begins: in one line, escaped, of at most so many characters before that."""
    line = " ".join(_sound(text).split())
    return escape(line if len(line) <= most else line[: most - 1].rstrip() + "…")


def pieces(text: str, size: int, most: int) -> tuple[list[str], int]:
    """Escaped pieces of at most `size` characters each, `most` of them; and how many characters are left out.

    A piece ends at the end of a line where there is one in its second half, else between words. None is blank.
    """
    text = _sound(text).rstrip()
    found: list[str] = []
    start = 0
    while start < len(text) and len(found) < most:
        end = _fitting(text, start, size)
        if end < len(text):
            end = _break(text, start, end)
        if (piece := text[start:end].rstrip()).strip():
            found.append(escape(piece))
        start = end
    return found, len(text) - start


def mention(slack_user_id: str | None) -> str | None:
    """Tells this person; None for what is no id of one."""
    if slack_user_id is None or not _USER_ID.fullmatch(slack_user_id):
        return None
    return f"<@{slack_user_id}>"


def instant(at: datetime) -> str:
    """Shown in the reader's own time zone, and in UTC where Slack cannot."""
    otherwise = at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(at.timestamp())}^{{date_short_pretty}}, {{time}}|{otherwise}>"


def _sound(text: str) -> str:
    """With ends of lines as Slack has them, and nothing that it could not take."""
    return _UNFIT.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def _fitting(text: str, start: int, size: int) -> int:
    """Where what fits ends. Slack counts what is escaped; an emoji as two, to be on the safe side."""
    used = 0
    for at in range(start, min(len(text), start + size)):
        used += len(_ESCAPED.get(text[at], text[at])) + (text[at] > "\uffff")
        if used > size:
            return at
    return min(len(text), start + size)


def _break(text: str, start: int, end: int) -> int:
    """Where to cut, at `end` or before."""
    middle = (start + end) // 2
    for between in ("\n", " "):
        if (at := text.rfind(between, middle, end)) >= 0:
            return at + 1
    return end
