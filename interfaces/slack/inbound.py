"""What somebody wrote in Slack, as they meant it: Slack sends it with entities and with marks around links."""

from __future__ import annotations

import re

_MARK = re.compile(r"<([^<>]*)>")
_ENTITY = re.compile(r"&(amp|lt|gt);")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">"}


def plain(text: str) -> str:
    """The text without Slack's marks: links as they were typed, names and channels as they are shown."""
    written: list[str] = []
    end = 0
    for mark in _MARK.finditer(text):
        written += _unescaped(text[end : mark.start()]), _shown(mark[1])
        end = mark.end()
    return "".join((*written, _unescaped(text[end:])))


def _shown(mark: str) -> str:
    """What stands for a mark; whatever of it Slack escaped, unescaped."""
    content, _, label = (_unescaped(part) for part in mark.partition("|"))
    match content[:1]:
        case "@" | "#":
            return f"{content[0]}{label.removeprefix(content[0]) or content[1:]}"
        case "!":
            # A date or a group comes with what it looks like; `!here` with nothing, or with its own name.
            return label or f"@{content[1:].partition('^')[0]}"
        case _:
            return _link(content, label)


def _link(url: str, label: str) -> str:
    """A link that Slack made of what was typed is that; one with words of its own goes with its address."""
    typed = url.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in (url, typed) or url in (f"http://{label}", f"https://{label}", f"http://{label}/"):
        return label or typed
    return f"{label} ({typed})"


def _unescaped(text: str) -> str:
    return _ENTITY.sub(lambda entity: _ENTITIES[entity[1]], text)
