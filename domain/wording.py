"""How refusals speak: what is quoted is short, lists of choices end."""

from __future__ import annotations

from domain.errors import FieldError, Invalid

_LISTING = 600
"""Characters of a list of choices in a message."""

_CHOICE = 80
"""Characters of one choice in a message."""


def refusal(path: str, message: str) -> Invalid:
    """One field that is not acceptable."""
    return Invalid([FieldError(path, message)])


def choose_one(choices: tuple[str, ...]) -> str:
    """A sentence that lists the choices, as many as there is room for."""
    shown: list[str] = []
    room = _LISTING
    for choice in choices:
        word = _clipped(choice)
        room -= len(word) + 2
        if room < 0:
            break
        shown.append(word)
    left = len(choices) - len(shown)
    return f"Choose one of: {', '.join(shown)}" + (f" … and {left} more" if left else "")


def quoted(text: str) -> str:
    """The text in quotation marks, its end cut off where it is long."""
    return f"“{_clipped(text)}”"


def _clipped(text: str) -> str:
    return text if len(text) <= _CHOICE else f"{text[: _CHOICE - 1]}…"
