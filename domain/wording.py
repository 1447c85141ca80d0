"""How refusals speak: what is quoted is short, lists of choices end."""

from __future__ import annotations

from collections.abc import Sequence

from domain.errors import FieldError, Invalid

CHOOSE = "Choose one of: "

_LISTING = 600
"""Characters of a list of choices in a message."""

_CHOICE = 80
"""Characters of one choice in a message."""


def refusal(path: str, message: str) -> Invalid:
    """One field that is not acceptable."""
    return Invalid([FieldError(path, message)])


def choose_one(choices: Sequence[str]) -> str:
    """A sentence that lists the choices, as many as there is room for."""
    shown: list[str] = []
    room = _LISTING
    for choice in choices:
        word = clipped(choice)
        room -= len(word) + 2
        if room < 0:
            break
        shown.append(word)
    left = len(choices) - len(shown)
    return f"{CHOOSE}{', '.join(shown)}" + (f" … and {left} more" if left else "")


def quoted(text: str) -> str:
    """The text in quotation marks, its end cut off where it is long."""
    return f"“{clipped(text)}”"


def clipped(text: str, length: int = _CHOICE) -> str:
    """The text, its end cut off where it has more than `length` characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
