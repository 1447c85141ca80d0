"""A call of a function as a form: a person sees the arguments, and may change them."""

from __future__ import annotations

import hashlib
import inspect
import json
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from handraise.answers import Answer
from handraise.errors import HandraiseError
from handraise.models import read, schema_of

_REFERENCES = "#/$defs/{model}"


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the arguments as they were given, and as JSON for the person, without the hidden ones."""

    bound: inspect.BoundArguments
    shown: Mapping[str, Any]


class CallForm:
    """The form for the calls of one function. Its types are looked at on the first call: they may not exist earlier."""

    def __init__(self, function: Callable[..., Any], hide: Collection[str]) -> None:
        """Raises `TypeError` where `hide` names what is no parameter."""
        self.function = function
        self.name = getattr(function, "__qualname__", repr(function)).replace("<locals>.", "")
        self.signature = inspect.signature(function)
        if unknown := sorted(set(hide) - self.signature.parameters.keys()):
            raise TypeError(f"{self.name} has no parameter {unknown[0]!r} to hide")
        first = next(iter(self.signature.parameters), None)
        self.hidden = {*hide, *({first} & {"self", "cls"})}

    @cached_property
    def adapters(self) -> dict[str, TypeAdapter[Any]]:
        """What reads each argument that is shown. Raises `TypeError` for one that cannot stand in a form."""
        found = {}
        for name, parameter in self.signature.parameters.items():
            if name in self.hidden:
                continue
            try:
                found[name] = schema_of(self._type(parameter))
            except TypeError as error:
                raise self._cannot_show(name, str(error)) from None
            if is_sealing(found[name].json_schema()):
                raise self._cannot_show(name, "it is a secret")
        return found

    @cached_property
    def result(self) -> TypeAdapter[Any]:
        """What writes and reads the result, as it is annotated."""
        return TypeAdapter(self._types.get("return", Any))

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
        """The call with these arguments. Raises `TypeError` for those that the function or JSON does not take."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return Call(bound, {name: self._shown(bound, name) for name in self.adapters})

    def identity(self, call: Call, run_id: str) -> str:
        """A `unique_id` that this call has in this run, and no other call has."""
        told = json.dumps([self.function.__module__, self.name, call.shown, run_id], sort_keys=True)
        return f"{self.function.__name__}-{hashlib.sha256(told.encode()).hexdigest()[:32]}"

    def schema(self, call: Call) -> dict[str, Any]:
        """The JSON Schema of the decision: `approved`, and the arguments, filled in as they were given."""
        made, shared = TypeAdapter.json_schemas(
            [(name, "validation", adapter) for name, adapter in self.adapters.items()], ref_template=_REFERENCES
        )
        properties = {name: {**made[name, "validation"], "default": call.shown[name]} for name in self.adapters}
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                "approved": {"type": "boolean", "title": "Approve"},
                "arguments": {
                    "type": "object",
                    "title": "Arguments",
                    "properties": properties,
                    # A value that is taken out of the form must not come back as the one that was there.
                    "required": [name for name in properties if call.shown[name] not in (None, "", [], {})],
                    "additionalProperties": False,
                },
                "reason": {"type": "string", "title": "Reason", "description": "Why not, or a note."},
            },
            "required": ["approved"],
            "additionalProperties": False,
        }
        if not properties:
            del schema["properties"]["arguments"]
        return schema | ({"$defs": shared["$defs"]} if "$defs" in shared else {})

    def approved(self, call: Call, answer: Answer) -> inspect.BoundArguments:
        """The arguments to run with: as they were given, but for those that the person changed.

        Raises `InvalidAnswer` where a changed one is not of its type, and `HandraiseError` where one is not any more
        what the person saw.
        """
        given: Mapping[str, Any] = answer.data.get("arguments") or {}
        changed = {name: value for name, value in given.items() if not same(value, call.shown[name])}
        values = read(self.adapters, changed, answer)
        for name in self.adapters.keys() - values.keys():
            if not same(self._shown(call.bound, name), call.shown[name]):
                raise HandraiseError(
                    f"argument {name!r} of {self.name} changed after it was shown to {answer.by}, who approved another "
                    "one: the call does not run; pass a value that stays as it is"
                )
        return inspect.BoundArguments(self.signature, typing.cast(Any, {**call.bound.arguments, **values}))

    def _shown(self, bound: inspect.BoundArguments, name: str) -> Any:
        """The argument as JSON. Raises `TypeError` where it cannot be."""
        adapter, value = self.adapters[name], bound.arguments[name]
        try:
            shown = adapter.dump_python(value, mode="json", warnings="none")
            _check_finite(adapter.dump_python(value, warnings="none"))
        except (PydanticSerializationError, ValueError, TypeError) as error:
            raise self._cannot_show(name, str(error)) from None
        return shown

    def _type(self, parameter: inspect.Parameter) -> Any:
        type_ = self._types.get(parameter.name, Any)
        if parameter.kind is parameter.VAR_POSITIONAL:
            return list[type_]
        return dict[str, type_] if parameter.kind is parameter.VAR_KEYWORD else type_

    @cached_property
    def _types(self) -> dict[str, Any]:
        try:
            return typing.get_type_hints(self.function, include_extras=True)
        except NameError as error:
            raise TypeError(f"the annotations of {self.name} cannot be read: {error}; import it at run time") from None

    def _cannot_show(self, name: str, why: str) -> TypeError:
        return TypeError(
            f"argument {name!r} of {self.name} cannot be shown to a person: {why}; hide=[{name!r}] does not"
        )


def same(a: Any, b: Any) -> bool:
    """Whether these are the same JSON; in Python, True equals 1."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def _check_finite(value: Any) -> None:
    """Raises `ValueError` for what pydantic would show as null: infinity, and what is no number."""
    json.dumps(value, allow_nan=False, skipkeys=True, default=str)


def is_sealing(schema: Any) -> bool:
    """Whether the schema holds a password: the whole answer would be sealed, and the value be stars."""
    if isinstance(schema, dict):
        if schema.get("writeOnly") is True or schema.get("format") == "password":
            return True
        return any(map(is_sealing, schema.values()))
    return isinstance(schema, list) and any(map(is_sealing, schema))
