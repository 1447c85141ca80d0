"""What people answer, as values. Instants are in UTC; `by` is a user's id."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from handraise.types import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Who answered which request, and when."""

    by: str
    at: datetime
    request_id: str
    unique_id: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer(Given):
    """An answer to any question: what the person wrote (`text`) or filled in (`data`), as the question took it.

    `outcome` is `approved`, `rejected` or `answered`. A `sealed` answer is not in the server any more; its text and
    data are not shown by `repr`.
    """

    outcome: Outcome
    text: str | None
    data: Any
    sealed: bool = False

    def __repr__(self) -> str:
        content = "sealed" if self.sealed else f"text={self.text!r}, data={self.data!r}"
        return f"Answer({self.outcome}, {content}, by={self.by!r}, unique_id={self.unique_id!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Given):
    """What became of a review; as a condition, whether it is approved. `feedback` is there where it is not."""

    approved: bool
    feedback: str | None

    def __bool__(self) -> bool:
        return self.approved


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation(Given):
    """Yes or no; as a condition, whether it is yes. `note` is what the person added, if anything."""

    approved: bool
    note: str | None

    def __bool__(self) -> bool:
        return self.approved


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Given):
    """One of the options: its `text`, and its `index`, counted from 0."""

    index: int
    text: str
