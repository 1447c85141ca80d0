"""What an agent may call its request: it appears in addresses, logs and on screens."""

from __future__ import annotations

import unicodedata

from domain.errors import FieldError


def unique_id_errors(unique_id: str) -> list[FieldError]:
    """What is wrong with a `unique_id`: 1–200 characters, none of `/`, `\\`, control or separator characters."""
    if not 1 <= len(unique_id) <= 200:
        return [FieldError("unique_id", f"must have 1–200 characters, not {len(unique_id)}")]
    if unique_id in (".", ".."):
        return [FieldError("unique_id", "must not be '.' or '..'")]
    for character in unique_id:
        if character in "/\\" or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
            return [FieldError("unique_id", f"must not contain {_name(character)}")]
    if not unique_id.strip():
        return [FieldError("unique_id", "must not be blank")]
    return []


def _name(character: str) -> str:
    return character if character in "/\\" else f"the character U+{ord(character):04X}"
