"""Types of Python as forms, and answers as their values; done by pydantic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from handraise.answers import Given
from handraise.errors import InvalidAnswer


def schema_of(type_: Any) -> TypeAdapter[Any]:
    """What makes the form for this type. Raises `TypeError` for a type that none can be made for."""
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(type_)
        adapter.json_schema()
    except PydanticUserError as error:
        reason = error.message.splitlines()[0]
        raise TypeError(f"no form can be made for {getattr(type_, '__name__', type_)}: {reason}") from None
    return adapter


def read(adapters: Mapping[str, TypeAdapter[Any]], data: Mapping[str, Any], answer: Given) -> dict[str, Any]:
    """The values in JSON data, each by its adapter. Raises `InvalidAnswer` naming all that fail, without values."""
    values: dict[str, Any] = {}
    errors: list[dict[str, str]] = []
    for name, value in data.items():
        try:
            values[name] = adapters[name].validate_json(json.dumps(value))
        except ValidationError as failed:
            errors += [
                {"path": "/".join(map(str, (name, *error["loc"]) if name else error["loc"])), "message": error["msg"]}
                for error in failed.errors(include_input=False, include_context=False, include_url=False)
            ]
    if errors:
        named = "; ".join(f"{error['path']}: {error['message']}" for error in errors)
        raise InvalidAnswer(
            f"the answer to {answer.unique_id!r} fits its form but not its types: {named}; "
            "ask anew under another unique_id",
            errors=errors,
            request_id=answer.request_id,
            unique_id=answer.unique_id,
        )
    return values
