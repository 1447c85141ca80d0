"""What a call answers: the structured result, and words for it that a model cannot mistake."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

View = dict[str, Any]
"""A request as the wire contract shows it."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """To be done once the caller has the result."""

    act: Callable[[], Awaitable[None]]
    """Raises nothing."""

    destroys: bool
    """Whether a call that is repeated gets no answer any more then."""


_NO_DECISION = "This is neither an approval nor a rejection."


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a call."""

    structured: dict[str, Any]
    words: str
    position: int
    """Of the request's newest event."""
    handed_over: HandedOver | None = None
    """Where there is an answer: it is acknowledged, and destroyed if it was sealed."""


def result_of(
    view: View,
    collected: Mapping[str, Any] | None = None,
    handed_over: HandedOver | None = None,
) -> Result:
    """The result for a request as it stands; `collected` is its answer where that was sealed."""
    response = view["response"]
    if response is not None and collected is not None:
        response = {**response, "outcome": collected["outcome"], "text": collected["text"], "data": collected["data"]}
    return Result(_structured(view, response), _words(view, response), view["position"], handed_over)


def _structured(view: View, response: Mapping[str, Any] | None) -> dict[str, Any]:
    cancelled = view["cancelled"]
    if response is not None:
        outcome, by = response["outcome"], response["by"]
    elif cancelled is not None:
        outcome, by = "cancelled", cancelled["by"]
    else:
        outcome, by = ("expired" if view["status"] == "Expired" else "open"), None
    return {
        "outcome": outcome,
        "text": None if response is None else response["text"],
        "data": None if response is None else response["data"],
        "by": by,
        "at": view["closed_at"],
        "request_id": view["id"],
        "unique_id": view["unique_id"],
    }


def _words(view: View, response: Mapping[str, Any] | None) -> str:
    if response is not None:
        return _answer(view, response)
    cancelled, unique_id = view["cancelled"], view["unique_id"]
    if cancelled is not None:
        why = f" The reason given: {cancelled['reason']}" if cancelled["reason"] else ""
        return f"The request was cancelled by {cancelled['by']} before anybody answered. {_NO_DECISION}{why}"
    if view["status"] == "Expired":
        return (
            f"Nobody answered before the request expired. {_NO_DECISION} It cannot be answered any more; "
            "to ask again, use another unique_id."
        )
    return (
        f"Nobody has answered yet. {_NO_DECISION} The request stays open and can still be answered. To go on waiting, "
        "call human_feedback again with the same arguments, or check_human_feedback with wait_seconds and unique_id "
        f"{json.dumps(unique_id, ensure_ascii=False)}."
    )


def _answer(view: View, response: Mapping[str, Any]) -> str:
    by, outcome = response["by"], response["outcome"]
    said = _said(view, response)
    if outcome == "approved":
        return f"{by} approved this." + (f" With the approval came:\n\n{said}" if said else "")
    if outcome == "rejected":
        refused = f"{by} rejected this: it is not approved."
        return refused + (f" With the rejection came:\n\n{said}" if said else "")
    if not said:
        return f"{by} answered. The answer is not kept any more."
    return f"{by} answered:\n\n{said}"


def _said(view: View, response: Mapping[str, Any]) -> str:
    """What was answered beyond yes or no: text as it was given, data as JSON."""
    text, data = response["text"], response["data"]
    if view["response_schema"] is not None and not (view["erased"] and data is None):
        return json.dumps(data, ensure_ascii=False)
    if isinstance(data, dict) and "approved" in data:
        return str(data.get("note") or "")
    if text is not None:
        return text if response["outcome"] != "approved" else ""
    return "" if data is None else json.dumps(data, ensure_ascii=False)
