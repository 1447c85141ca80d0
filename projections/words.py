"""Text as Postgres' parser for searching should read it."""

from __future__ import annotations

import re

_NO_TAGS = str.maketrans("<>", "  ")
_BETWEEN_WORDS = re.compile(r"[\W_]+")


def searchable(text: str) -> str:
    """The text with nothing that the parser would take for a tag, and leave out with all the words in it."""
    return text.translate(_NO_TAGS)


def words_of_name(name: str) -> str:
    """A name as it is and its words alone: `deploy-2041` is found as such, and by `2041`, which is no `-2041`."""
    return f"{name} {_BETWEEN_WORDS.sub(' ', name)}"
