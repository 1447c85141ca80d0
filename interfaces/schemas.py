"""JSON Schema with `jsonschema-rs`: checks of schemas when a request is made, of data when it is answered.

Schemas come from agents and data from people, so both are bounded before the library sees them:

- No reference leaves the schema. Nothing is fetched or read, whatever a `$ref` says.
- Work is estimated first. Branches that refer to each other can make a short schema cost 2^n evaluations, and
  the library keeps the interpreter lock while it works; what would take far more than a second is refused.
- Patterns run on a linear engine; look-around and back-references, which need backtracking, run with a limit.

Formats are asserted (a `date-time` needs an offset), unknown formats are ignored. Without `$schema` the
dialect is draft 2020-12. Messages say what the schema asks for and never repeat a value.
"""

from __future__ import annotations

import json
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple, NoReturn, TypeVar
from urllib.parse import unquote, urljoin

import jsonschema_rs

from domain.answers import field_names
from domain.errors import FieldError
from domain.text import MAX_ERRORS, join_path, json_depth, text_errors
from domain.wording import CHOOSE, choose_one, clipped

MAX_SCHEMA_DEPTH = 100
"""Levels of JSON nesting in a schema."""
MAX_DATA_DEPTH = 128
"""Levels of JSON nesting in data."""
MAX_REFERENCES_IN_A_ROW = 64
"""How many subschemas may apply to one and the same value one inside the other."""

_T = TypeVar("_T")

_DIALECTS: dict[str, type[jsonschema_rs.Validator]] = {
    "https://json-schema.org/draft/2020-12/schema": jsonschema_rs.Draft202012Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    "http://json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "http://json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "http://json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
}
_DRAFT_4 = "http://json-schema.org/draft-04/schema"
_DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_BASE = "http://schema.invalid/"  # stands in for the missing `$id`, so that relative references resolve

# One unit of work is one evaluation of a subschema, about 20 ns.
_MAX_WORK = 50_000_000
_MAX_EXPLAINED = 30_000  # naming what failed costs a thousand times as much as seeing it
_MAX_COPIES = 50_000_000  # bytes, since each failure holds a copy of the value that failed
_MAX_APPLIED = 100_000  # evaluations that one value may take
_MAX_CLOSURES = 200_000  # entries in the tables that the estimate needs
_BACKTRACK_LIMIT = 2_000
_SMALL_PROGRAM = 1 << 16  # bytes of a compiled pattern
_LARGE_PROGRAM = 4 << 20
_PATTERN_WORK_SMALL = 50  # units per character, measured on the worst patterns of each kind
_PATTERN_WORK_BACKTRACKING = 200
_PATTERN_WORK_LARGE = 6_000
_MAX_PATTERNS = 100
_MAX_LARGE_PATTERNS = 10

_FORMATS = {
    "date-time": "Enter a date and time with its offset, such as 2026-07-01T09:00:00Z.",
    "date": "Enter a date such as 2026-07-01.",
    "time": "Enter a time with its offset, such as 09:00:00Z.",
    "duration": "Enter an ISO 8601 duration such as PT15M.",
    "email": "Enter an e-mail address.",
    "idn-email": "Enter an e-mail address.",
    "uri": "Enter a full address such as https://example.org/page.",
    "iri": "Enter a full address such as https://example.org/page.",
    "uuid": "Enter a UUID.",
}
_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}


class JsonSchemas:
    """Checks schemas and data; implements `domain.answers.SchemaValidator`. Safe to share between threads.

    The `cache_size` schemas used last stay compiled.
    """

    def __init__(self, *, cache_size: int = 128) -> None:
        self._cache_size = cache_size
        self._cache: OrderedDict[str, _Compiled] = OrderedDict()
        self._lock = Lock()

    def check(self, schema: Any) -> list[FieldError]:
        """Say what keeps a schema from being used, with the path in the schema; empty when it can be used."""
        try:
            self._compiled(schema)
        except _Unusable as unusable:
            return [FieldError(unusable.path, str(unusable))]
        return []

    def errors(self, schema: Mapping[str, Any], data: Any, *, mask: bool) -> list[FieldError]:
        """Name every failing field by its path in `data`, at most 50; empty when the data is valid.

        A missing field is named at its own path. With `mask`, paths hold only names that the schema mentions:
        below the first other name a path ends. Never raises; data that cannot be checked is not valid.
        """
        try:
            compiled = self._compiled(schema)
        except _Unusable as unusable:
            return [FieldError("", f"The form of this request cannot be used. {unusable}")]
        if json_depth(data) > MAX_DATA_DEPTH:
            return [FieldError("", f"The data is nested more than {MAX_DATA_DEPTH} levels deep.")]
        if text_errors(data):
            return [FieldError("", "The data holds text or numbers that are not valid JSON.")]
        work = compiled.graph.work(data)
        if work.total > _MAX_WORK:
            return [FieldError("", "This data is too large for a form as complex as this one.")]
        if _guarded(lambda: compiled.validator.is_valid(data)) is True:
            return []
        found: list[FieldError] = []
        if work.evaluations <= _MAX_EXPLAINED and work.copies <= _MAX_COPIES:
            failures = _guarded(lambda: list(islice(compiled.validator.iter_errors(data), 2 * MAX_ERRORS)))
            if isinstance(failures, list):
                names = compiled.names if mask else None
                found = _one_per_path(error for failure in failures for error in _explain(failure, names))
        return found or [FieldError("", "The data does not satisfy the form.")]

    def _compiled(self, schema: Any) -> _Compiled:
        if not isinstance(schema, dict):
            raise _Unusable("", "The response schema must be a JSON object.")
        if json_depth(schema) > MAX_SCHEMA_DEPTH:
            raise _Unusable("", f"The schema is nested more than {MAX_SCHEMA_DEPTH} levels deep.")
        if faults := text_errors(schema):
            raise _Unusable(faults[0].path, faults[0].message)
        try:
            key = json.dumps(schema, sort_keys=True, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise _Unusable("", f"The schema is not JSON: {error}") from None
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        compiled = _compile(json.loads(key))  # its own copy: the caller may change the schema later
        with self._lock:
            self._cache[key] = compiled
            while len(self._cache) > self._cache_size:
                self._cache.popitem(last=False)
        return compiled


class _Unusable(Exception):
    """The schema cannot be used; `path` says where it is at fault."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True)
class _Compiled:
    validator: jsonschema_rs.Validator
    graph: _Graph
    names: frozenset[str]


def _compile(schema: dict[str, Any]) -> _Compiled:
    dialect = schema.get("$schema", _DEFAULT_DIALECT)
    validator_class = _DIALECTS.get(dialect.removesuffix("#")) if isinstance(dialect, str) else None
    if validator_class is None:
        raise _Unusable("$schema", f"Unknown JSON Schema dialect; use {_DEFAULT_DIALECT} or leave $schema away.")
    graph = _Graph(schema, "id" if dialect.removesuffix("#") == _DRAFT_4 else "$id")
    built = _guarded(
        lambda: validator_class(
            schema,
            validate_formats=True,
            ignore_unknown_formats=True,
            retriever=_refuse_retrieval,
            pattern_options=jsonschema_rs.FancyRegexOptions(
                backtrack_limit=_BACKTRACK_LIMIT, size_limit=_LARGE_PROGRAM
            ),
        )
    )
    if isinstance(built, jsonschema_rs.ValidationError):
        raise _Unusable(
            join_path("", *built.instance_path), f"This is not valid JSON Schema: {clipped(built.message, 200)}"
        )
    if isinstance(built, BaseException):
        raise _Unusable("", f"This is not valid JSON Schema: {clipped(str(built), 200)}")
    return _Compiled(built, graph, field_names(schema))


def _refuse_retrieval(uri: str) -> NoReturn:
    raise LookupError("references must stay within the schema")


def _guarded(call: Callable[[], _T]) -> _T | BaseException:
    """Call the library; what it raises is returned. Its panics are not `Exception`s."""
    try:
        return call()
    except Exception as error:
        return error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return error


# How much work a schema is


_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("not", "if", "then", "else")
_IN_PLACE_MAPS = ("dependentSchemas", "dependencies")
_EVERY_CHILD = (
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
    "contains",
)
_DEFINITIONS = ("$defs", "definitions")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(slots=True)
class _Node:
    """One subschema: which others apply to the same value, to values within it, and to names of members."""

    path: str
    in_place: list[int] = field(default_factory=list)
    members: dict[str, list[int]] = field(default_factory=dict)
    every_child: list[int] = field(default_factory=list)
    names: list[int] = field(default_factory=list)
    member_patterns: int = 0  # units per character of every member's name
    pattern: int = 0  # units per character of a text
    keywords: int = 0  # comparisons of an `enum` and checks of `required`, beyond the one evaluation

    def children(self) -> Iterator[int]:
        yield from self.every_child
        yield from self.names
        for found in self.members.values():
            yield from found


class _Work(NamedTuple):
    """`total` is in units of about 20 ns; `copies` in bytes, were everything that can fail to fail."""

    evaluations: int
    total: int
    copies: int


_Starts = frozenset[tuple[int, int]]  # subschemas and how often each is applied to a value


class _State:
    """What `starts`, applied to one value, comes to. Shared by all values to which the same is applied."""

    __slots__ = ("_applied", "_below", "evaluations", "names", "per_character", "per_name_character")

    def __init__(self, starts: _Starts, nodes: dict[int, _Node], closures: dict[int, Counter[int]]) -> None:
        applied: Counter[int] = Counter()
        for start, times in starts:
            for node, inner in closures[start].items():
                applied[node] += times * inner
        self._applied = [(nodes[node], times) for node, times in applied.items()]
        members = {name for node, _ in self._applied for name in node.members}
        self._below: dict[str | None, _Starts | None] = dict.fromkeys([None, *members])
        self.evaluations = sum((1 + node.keywords) * times for node, times in self._applied)
        self.per_character = sum(node.pattern * times for node, times in self._applied)
        self.per_name_character = sum(node.member_patterns * times for node, times in self._applied)
        self.names = self._starts(lambda node: node.names)

    def below(self, name: str | None) -> _Starts:
        """What is applied to the member `name`, or to an item of a list."""
        known = name if name in self._below else None
        found = self._below[known]
        if found is None:
            found = self._below[known] = self._starts(
                lambda node: [*node.every_child, *(node.members.get(known, ()) if known is not None else ())]
            )
        return found

    def _starts(self, select: Callable[[_Node], list[int]]) -> _Starts:
        selected: Counter[int] = Counter()
        for node, times in self._applied:
            for child in select(node):
                selected[child] += times
        return frozenset(selected.items())


class _Graph:
    """The subschemas of a schema and how they apply, to estimate work before it is done.

    Raises `_Unusable` for references that leave the schema or lead nowhere, patterns that cannot be used, and
    subschemas that apply to one value too often.
    """

    def __init__(self, schema: dict[str, Any], id_keyword: str) -> None:
        self._id = id_keyword
        self._resources: dict[str, Any] = {_BASE: schema}
        self._anchors: dict[tuple[str, str], Any] = {}
        self._dynamic: dict[str, list[Any]] = {}
        self._bases: dict[int, str] = {}
        self._nodes: dict[int, _Node] = {}
        self._pattern_work: dict[str, int] = {}
        self._closures: dict[int, Counter[int]] = {}
        self._root = schema
        self._index(schema, _BASE)
        self._connect()
        self._close()
        del self._resources, self._anchors, self._dynamic

    def work(self, data: Any) -> _Work:
        """An upper bound of the work that validating `data` takes."""
        states: dict[_Starts, _State] = {}

        def state(starts: _Starts) -> _State:
            if starts not in states:
                states[starts] = _State(starts, self._nodes, self._closures)
            return states[starts]

        evaluations = patterns = copies = 0
        stack: list[tuple[Any, _State, int]] = [(data, state(frozenset({(id(self._root), 1)})), 0)]
        while stack and evaluations + patterns <= _MAX_WORK:
            value, here, holders = stack.pop()
            holders += here.evaluations  # failures here and above; each holds a copy of this value
            evaluations += here.evaluations
            if isinstance(value, str):
                patterns += len(value) * here.per_character
                copies += len(value) * holders
            copies += 16 * holders
            if isinstance(value, dict):
                for name, child in value.items():
                    patterns += len(name) * here.per_name_character
                    if here.names:
                        stack.append((name, state(here.names), 0))
                    stack.append((child, state(here.below(name)), holders))
                    copies += len(name) * holders
            elif isinstance(value, list):
                below = state(here.below(None))
                stack.extend((child, below, holders) for child in value)
        return _Work(evaluations, evaluations + patterns, copies)

    def _index(self, schema: Any, base: str) -> None:
        """Note the base address of every subschema, and what identifiers and anchors name."""
        stack: list[tuple[Any, str]] = [(schema, base)]
        while stack:
            current, address = stack.pop()
            if not isinstance(current, dict) or id(current) in self._bases:
                continue
            identifier = current.get(self._id)
            if isinstance(identifier, str):
                if identifier.startswith("#"):
                    self._anchors[address, identifier[1:]] = current
                else:
                    address = _address(address, identifier)[0]
                    self._resources.setdefault(address, current)
            self._bases[id(current)] = address
            for keyword in ("$anchor", "$dynamicAnchor"):
                anchor = current.get(keyword)
                if isinstance(anchor, str):
                    self._anchors[address, anchor] = current
                    if keyword == "$dynamicAnchor":
                        self._dynamic.setdefault(anchor, []).append(current)
            stack.extend((child, address) for _, _, _, child in _subschemas(current))

    def _connect(self) -> None:
        stack: list[tuple[Any, str]] = [(self._root, "")]
        while stack:
            current, path = stack.pop()
            if id(current) in self._nodes:
                continue
            node = self._nodes[id(current)] = _Node(path)
            for keyword, name, here, child in _subschemas(current):
                stack.append((child, join_path(path, *here)))
                if keyword in _DEFINITIONS:
                    continue
                if keyword in _IN_PLACE_LISTS or keyword in _IN_PLACE or keyword in _IN_PLACE_MAPS:
                    node.in_place.append(id(child))
                elif keyword == "propertyNames":
                    node.names.append(id(child))
                elif keyword == "properties":
                    node.members.setdefault(name, []).append(id(child))
                else:
                    node.every_child.append(id(child))
            for keyword in _REFERENCES:
                reference = current.get(keyword)
                if isinstance(reference, str):
                    for target in self._targets(current, keyword, reference, join_path(path, keyword)):
                        node.in_place.append(id(target))
                        stack.append((target, path))
            self._measure(current, node)

    def _targets(self, schema: dict[str, Any], keyword: str, reference: str, path: str) -> list[Any]:
        base = self._bases[id(schema)]
        url, fragment = _address(base, reference)
        resource = self._resources.get(url)
        if resource is None:
            raise _Unusable(path, "References must stay within the schema (#/$defs/…); nothing is fetched.")
        target: Any = resource
        if fragment.startswith("/"):
            for step in fragment[1:].split("/"):
                target = _step(target, step.replace("~1", "/").replace("~0", "~"))
        elif fragment:
            target = self._anchors.get((url, fragment))
        if isinstance(target, bool):
            return []
        if not isinstance(target, dict):
            raise _Unusable(path, "This reference leads to nothing in the schema.")
        self._index(target, url)
        if keyword == "$recursiveRef":
            return [target, self._root]
        if keyword == "$dynamicRef":
            return [target, *(found for found in self._dynamic.get(fragment, ()) if found is not target)]
        return [target]

    def _measure(self, schema: dict[str, Any], node: _Node) -> None:
        pattern = schema.get("pattern")
        if isinstance(pattern, str):
            node.pattern = self._pattern(pattern, join_path(node.path, "pattern"))
        patterns = schema.get("patternProperties")
        if isinstance(patterns, dict):
            node.member_patterns = sum(
                self._pattern(name, join_path(node.path, "patternProperties", name)) for name in patterns
            )
        for keyword in ("enum", "required"):
            listed = schema.get(keyword)
            if isinstance(listed, list):
                node.keywords += len(listed)

    def _pattern(self, pattern: str, path: str) -> int:
        if pattern not in self._pattern_work:
            if len(self._pattern_work) >= _MAX_PATTERNS:
                raise _Unusable(path, f"The schema has more than {_MAX_PATTERNS} different patterns.")
            work = _pattern_work(pattern)
            if work is None:
                raise _Unusable(path, "This pattern is not a regular expression that can be used.")
            self._pattern_work[pattern] = work
            if list(self._pattern_work.values()).count(_PATTERN_WORK_LARGE) > _MAX_LARGE_PATTERNS:
                raise _Unusable(path, f"The schema has more than {_MAX_LARGE_PATTERNS} very large patterns.")
        return self._pattern_work[pattern]

    def _close(self) -> None:
        """For every subschema that applies to a whole value: all that then apply, and how often."""
        heights = self._heights()
        if max(heights.values()) > MAX_REFERENCES_IN_A_ROW:
            raise _Unusable("", f"More than {MAX_REFERENCES_IN_A_ROW} subschemas apply one inside the other.")
        starts = {id(self._root)}
        for node in self._nodes.values():
            starts.update(node.children())
        entries = 0
        for start in starts:
            closure: Counter[int] = Counter()
            # In order of falling height, each is complete before it is passed on.
            waiting: dict[int, Counter[int]] = {heights[start]: Counter({start: 1})}
            for height in range(heights[start], -1, -1):
                for node, times in waiting.pop(height, Counter()).items():
                    closure[node] += times
                    for inner in self._nodes[node].in_place:
                        waiting.setdefault(heights[inner], Counter())[inner] += times
                if closure.total() > _MAX_APPLIED or entries + len(closure) > _MAX_CLOSURES:
                    raise _Unusable(self._nodes[start].path, "This schema branches too much to be checked.")
            self._closures[start] = closure
            entries += len(closure)

    def _heights(self) -> dict[int, int]:
        """How many subschemas apply one inside the other, below each. Refuses circles."""
        heights: dict[int, int] = {}
        for first in self._nodes:
            if first in heights:
                continue
            # The stack is the way from `first`; each step remembers what it has still to visit.
            way = {first: iter(self._nodes[first].in_place)}
            while way:
                current, remaining = next(reversed(way.items()))
                inner = next((node for node in remaining if node not in heights), None)
                if inner is None:
                    below = (heights[node] for node in self._nodes[current].in_place)
                    heights[current] = 1 + max(below, default=-1)
                    del way[current]
                elif inner in way:
                    raise _Unusable(self._nodes[inner].path, "This schema refers to itself without end.")
                else:
                    way[inner] = iter(self._nodes[inner].in_place)
        return heights


def _subschemas(schema: dict[str, Any]) -> Iterator[tuple[str, str, tuple[str | int, ...], dict[str, Any]]]:
    """The direct subschemas that are objects: keyword, member name, path below the schema, subschema."""
    for keyword, value in schema.items():
        if keyword in ("properties", "patternProperties", *_DEFINITIONS, *_IN_PLACE_MAPS):
            if isinstance(value, dict):
                for name, child in value.items():
                    if isinstance(child, dict):
                        yield keyword, name, (keyword, name), child
        elif keyword in (*_IN_PLACE_LISTS, "prefixItems", "items") and isinstance(value, list):
            for index, child in enumerate(value):
                if isinstance(child, dict):
                    yield keyword, "", (keyword, index), child
        elif keyword in (*_IN_PLACE, *_EVERY_CHILD, "items", "propertyNames") and isinstance(value, dict):
            yield keyword, "", (keyword,), value


def _address(base: str, reference: str) -> tuple[str, str]:
    """The absolute address and the fragment that a reference means."""
    try:
        address, _, fragment = urljoin(base, reference).partition("#")
    except ValueError:  # such as "http://[", the address of nothing
        return "", ""
    return address, unquote(fragment)


def _step(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,5}", step) and int(step) < len(value):
        return value[int(step)]
    return None


def _pattern_work(pattern: str) -> int | None:
    """What a pattern costs per character of a text; `None` when it cannot be used."""
    linear = jsonschema_rs.RegexOptions
    if _compiles(pattern, linear(size_limit=_SMALL_PROGRAM)):
        return _PATTERN_WORK_SMALL
    if _compiles(pattern, jsonschema_rs.FancyRegexOptions(size_limit=_SMALL_PROGRAM)):
        return _PATTERN_WORK_BACKTRACKING
    if _compiles(pattern, linear(size_limit=_LARGE_PROGRAM)):
        return _PATTERN_WORK_LARGE
    return None


def _compiles(pattern: str, options: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions) -> bool:
    built = _guarded(lambda: jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options))
    return not isinstance(built, BaseException)


# What failed, for people


def _one_per_path(errors: Iterable[FieldError]) -> list[FieldError]:
    """The first error of each path, or the one that lists its choices."""
    found: dict[str, FieldError] = {}
    for error in errors:
        if error.path not in found or error.message.startswith(CHOOSE):
            found[error.path] = error
        if len(found) == MAX_ERRORS:
            break
    return list(found.values())


def _explain(failure: Any, names: frozenset[str] | None) -> Iterator[FieldError]:
    """What one failure of the library says to the person who answers. `names`: see `_shown_path`."""
    kind = failure.kind
    path = list(failure.instance_path)
    keyword = type(kind).__name__
    if keyword == "Required":
        yield FieldError(_shown_path([*path, kind.property], names), "This field is required.")
    elif keyword in ("AdditionalProperties", "UnevaluatedProperties") and names is None:
        for name in kind.unexpected[:MAX_ERRORS]:
            yield FieldError(join_path("", *path, name), "There is no such field here.")
    elif keyword in ("AnyOf", "OneOfNotValid"):
        yield from _explain_branches(kind.context, path, names)
    else:
        yield FieldError(_shown_path(path, names), _message(keyword, kind, failure.schema_path))


def _explain_branches(context: Any, path: list[Any], names: frozenset[str] | None) -> Iterator[FieldError]:
    """Choices are listed; else the one branch that was plainly meant is explained, if there is one."""
    expected: list[Any] = []
    for branch in context:
        for failure in branch:
            kind = type(failure.kind).__name__
            if kind == "Constant" and list(failure.instance_path) == path:
                expected.append(failure.kind.expected_value)
            elif kind == "Enum" and list(failure.instance_path) == path:
                expected.extend(failure.kind.options)
    if len(expected) >= len(context):
        yield FieldError(_shown_path(path, names), choose_one([_written(value) for value in expected]))
        return
    misfits = [sum(_is_misfit(failure, path) for failure in branch) for branch in context]
    if misfits.count(min(misfits)) == 1:
        for failure in context[misfits.index(min(misfits))]:
            yield from _explain(failure, names)
        return
    yield FieldError(_shown_path(path, names), "This fits none of the forms that are allowed here.")


def _is_misfit(failure: Any, path: list[Any]) -> bool:
    """Whether a failure suggests that another branch was meant, rather than a slip in this one."""
    keyword = type(failure.kind).__name__
    if keyword in ("Constant", "Enum", "AdditionalProperties", "UnevaluatedProperties", "FalseSchema"):
        return True
    return keyword in ("Type", "Required") and list(failure.instance_path) == path


def _shown_path(path: list[Any], names: frozenset[str] | None) -> str:
    """A path, up to the first name that is not among `names`; `None` shows all."""
    shown: list[Any] = []
    for step in path:
        if names is not None and isinstance(step, str) and step not in names:
            break
        shown.append(step)
    return join_path("", *shown)


def _message(keyword: str, kind: Any, schema_path: list[Any]) -> str:
    if keyword == "FalseSchema" and schema_path and schema_path[-1] == "additionalProperties":
        keyword = "AdditionalProperties"
    simple = {
        "AdditionalProperties": "There are fields here that the form does not have.",
        "UnevaluatedProperties": "There are fields here that the form does not have.",
        "AdditionalItems": "The list is too long.",
        "UnevaluatedItems": "The list holds items that the form does not have.",
        "FalseSchema": "Nothing is allowed here.",
        "Contains": "The list lacks an item that it must have.",
        "UniqueItems": "The items must all differ.",
        "Not": "This value is not allowed.",
        "OneOfMultipleValid": "This fits more than one form where it must fit exactly one.",
        "PropertyNames": "The name of a field here is not allowed.",
        "BacktrackLimitExceeded": "This text is too long for the pattern that it must match.",
        "RegexEngineFailure": "This text is too long for the pattern that it must match.",
    }
    if keyword in simple:
        return simple[keyword]
    match keyword:
        case "Type":
            return f"This must be {' or '.join(_TYPES.get(str(name), str(name)) for name in kind.types)}."
        case "Enum":
            return choose_one([_written(value) for value in kind.options])
        case "Constant":
            return f"This must be {clipped(_written(kind.expected_value))}."
        case "Format":
            return _FORMATS.get(kind.format, f"This is not valid as {clipped(kind.format)}.")
        case "Pattern":
            return f"This must match the pattern {clipped(kind.pattern, 200)}"
        case "Minimum":
            return f"This must be at least {kind.limit}."
        case "Maximum":
            return f"This must be at most {kind.limit}."
        case "ExclusiveMinimum":
            return f"This must be more than {kind.limit}."
        case "ExclusiveMaximum":
            return f"This must be less than {kind.limit}."
        case "MultipleOf":
            return f"This must be a multiple of {kind.multiple_of}."
        case "MinLength":
            return f"This must be at least {_count(kind.limit, 'character')} long."
        case "MaxLength":
            return f"This must be at most {_count(kind.limit, 'character')} long."
        case "MinItems":
            return f"Give at least {_count(kind.limit, 'item')}."
        case "MaxItems":
            return f"Give at most {_count(kind.limit, 'item')}."
        case "MinProperties":
            return f"Give at least {_count(kind.limit, 'field')}."
        case "MaxProperties":
            return f"Give at most {_count(kind.limit, 'field')}."
        case _:
            return "This does not satisfy the form."


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _written(value: Any) -> str:
    """A choice as a person types it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
