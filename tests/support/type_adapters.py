"""What FastAPI works out anew for every application, kept for all that a test session makes."""

from __future__ import annotations

from typing import Any

import fastapi._compat.v2 as fields
from pydantic import TypeAdapter

_kept: dict[tuple[Any, str], TypeAdapter[Any]] = {}


def keep_type_adapters() -> None:
    """Make one validator for all parameters, bodies and responses that are declared alike.

    Hundreds of applications of the same few routes are made in a session, and half of the time that one takes went
    into its two hundred validators, which hold nothing of the application.
    """
    fields.TypeAdapter = _kept_adapter  # pyright: ignore[reportAttributeAccessIssue]


def _kept_adapter(declared: Any, *, config: Any = None) -> TypeAdapter[Any]:
    if config is not None:
        return TypeAdapter(declared, config=config)
    key = declared.__origin__, repr(declared)  # the type, and what is said of it: bounds, names, a default
    if key not in _kept:
        _kept[key] = TypeAdapter(declared)
    return _kept[key]
