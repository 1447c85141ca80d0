"""The five kinds of question that every server knows."""

from __future__ import annotations

REQUEST_TYPES = {
    "approval": "Approval",
    "clarification": "Clarification",
    "data-input": "Data Input",
    "review": "Review",
    "error-resolution": "Error Resolution",
}
"""Readable id to name."""


def find_request_type(id_or_name: str) -> str | None:
    """The id of the type meant by an id or a name, in any case; None for an unknown one."""
    wanted = id_or_name.strip().casefold()
    for id_, name in REQUEST_TYPES.items():
        if wanted in (id_, name.casefold()):
            return id_
    return None
