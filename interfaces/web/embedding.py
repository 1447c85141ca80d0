"""Which other web applications may show pages of ours inside theirs."""

from __future__ import annotations

from collections.abc import Iterable


def frame_ancestors(origins: Iterable[str]) -> str:
    """The value of the policy's `frame-ancestors`: these origins, or none at all."""
    return " ".join(origins) or "'none'"
