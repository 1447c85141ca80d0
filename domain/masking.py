"""What is shown of a secret that is stored: how it begins, which is no secret, and how it ends."""

from __future__ import annotations

_MASK = "..."
_SHOWN = 4
_SHORTEST_SHOWN = 12
"""A secret that is shorter than this would be given away by what is shown of it."""


def masked(prefix: str, secret: str) -> str:
    """A secret of the kind that begins like this, as it is shown; of a short one nothing is."""
    return _MASK if len(secret) < _SHORTEST_SHOWN else f"{prefix}{_MASK}{secret[-_SHOWN:]}"


def is_masked(prefix: str, value: str) -> bool:
    """Whether it is as `masked` shows a secret of this kind; of which one does not matter."""
    start = prefix + _MASK
    return value in (_MASK, start) or (value.startswith(start) and len(value) == len(start) + _SHOWN)
