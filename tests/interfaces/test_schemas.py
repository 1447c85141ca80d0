"""JSON Schema as people and agents use it, and as they misuse it."""

from __future__ import annotations

import json
import socket
import time
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import FieldError
from interfaces.schemas import JsonSchemas

SCHEMAS = JsonSchemas()

P3 = json.loads(
    '{"type":"object","required":["auth","features"],"properties":{"auth":{"type":"string","oneOf":[{"const":"oauth",'
    '"title":"OAuth (Recommended)"},{"const":"pw","title":"Password"}]},"features":{"type":"array","minItems":1,'
    '"uniqueItems":true,"items":{"anyOf":[{"const":"api","title":"API endpoints"},{"const":"tests","title":'
    '"Unit tests"}]}},"other":{"type":"string","title":"Other"}}}'
)
P4 = json.loads(
    '{"type":"object","properties":{"pick":{"enum":["a","b",3,true]},"revenue":{"type":"number","minimum":0,'
    '"maximum":1000000},"period":{"type":"object","properties":{"from":{"type":"string","format":"date"},"to":'
    '{"type":"string","format":"date"}}},"rating":{"type":"integer","minimum":0,"maximum":100,"multipleOf":5}}}'
)
P5 = json.loads(
    '{"type":"object","required":["color"],"properties":{"color":{"type":["number","null"],"oneOf":[{"const":0,"title":'
    '"Red"},{"const":1,"title":"Green"},{"const":2,"title":"Blue"},{"const":null,"title":"None"}]}}}'
)
P6 = json.loads(
    '{"oneOf":[{"type":"object","required":["increment"],"properties":{"increment":{"type":"object"}},'
    '"additionalProperties":false},{"type":"object","required":["reset"],"properties":{"reset":{"type":"object",'
    '"required":["count"],"properties":{"count":{"type":"integer","format":"int32"}}}},"additionalProperties":false}]}'
)
P7 = json.loads(
    '{"type":"object","required":["code"],"properties":{"code":{"type":"string","pattern":"^[0-9]{6}$","title":'
    '"6-digit code sent to your e-mail"}}}'
)
P8 = json.loads(
    r'{"type":"object","required":["offline","window"],"properties":{"offline":{"type":"boolean","const":true,"title":'
    r'"I accept 10 min downtime"},"window":{"type":"string","format":"date-time"},"day":{"type":"string","pattern":'
    r'"^\\d{4}-\\d{2}-\\d{2}$"}}}'
)
P9 = json.loads(
    '{"$defs":{"filter":{"type":"object","required":["operator","rules"],"properties":{"operator":{"enum":["and","or"]},'
    '"rules":{"type":"array","items":{"oneOf":[{"type":"object","required":["field","value"],"additionalProperties":false,'
    '"properties":{"field":{"type":"string"},"operator":{"type":"string"},"value":{"type":"string"}}},{"$ref":'
    '"#/$defs/filter"}]}}}}},"type":"object","properties":{"steps":{"type":"array","items":{"type":"object","properties":'
    '{"actions":{"type":"array","items":{"type":"object","properties":{"value":{"$ref":"#/$defs/filter"}}}}}}}}}'
)


def found(schema: Any, data: Any, mask: bool = False) -> dict[str, str]:
    errors = SCHEMAS.errors(schema, data, mask=mask)
    assert len({e.path for e in errors}) == len(errors)
    return {e.path: e.message for e in errors}


def nested_filter(levels: int, last: Any) -> Any:
    rule: Any = last
    for _ in range(levels):
        rule = {"operator": "and", "rules": [rule]}
    return {"steps": [{"actions": [{"value": rule}]}]}


class TestPayloads:
    @pytest.mark.parametrize("schema", [P3, P4, P5, P6, P7, P8, P9, {}])
    def test_are_accepted(self, schema: Any) -> None:
        """The schemas that people really use pass the check at create."""
        assert SCHEMAS.check(schema) == []

    def test_p3(self) -> None:
        """Titled choices and a list of distinct choices."""
        assert found(P3, {"auth": "pw", "features": ["api", "tests"]}) == {}
        assert found(P3, {"auth": "OAuth (Recommended)", "features": ["api", "api"]}) == {
            "auth": "Choose one of: oauth, pw",
            "features": "The items must all differ.",
        }
        assert found(P3, {"features": []}) == {
            "auth": "This field is required.",
            "features": "Give at least 1 item.",
        }
        assert found(P3, {"auth": "pw", "features": ["x"]}) == {"features/0": "Choose one of: api, tests"}

    @pytest.mark.parametrize("pick", ["a", 3, True])
    def test_p4_takes_each_type_of_choice(self, pick: Any) -> None:
        """One list of choices may mix types."""
        period = {"from": "2026-01-01", "to": "2026-02-28"}
        assert found(P4, {"pick": pick, "revenue": 1000000, "period": period, "rating": 95}) == {}

    def test_p4_names_every_field(self) -> None:
        """Each field says what it takes."""
        data = {
            "pick": 1,
            "revenue": -0.01,
            "period": {"from": "2026-02-30", "to": "1.2.2026"},
            "rating": 7,
        }
        assert found(P4, data) == {
            "pick": "Choose one of: a, b, 3, true",
            "revenue": "This must be at least 0.",
            "period/from": "Enter a date such as 2026-07-01.",
            "period/to": "Enter a date such as 2026-07-01.",
            "rating": "This must be a multiple of 5.",
        }

    def test_c33_p5_takes_values_not_labels(self) -> None:
        """Null and 0 are choices; their labels, their text and a missing field are not."""
        for color in (0, 1, 2, None):
            assert found(P5, {"color": color}) == {}
        for color in ("Red", "0", "None", False, 3):
            assert "color" in found(P5, {"color": color})
        assert found(P5, {}) == {"color": "This field is required."}

    def test_p6(self) -> None:
        """A form of two shapes explains the shape that was meant."""
        assert found(P6, {"increment": {}}) == {}
        assert found(P6, {"reset": {"count": 2}}) == {}
        assert found(P6, {"reset": {"count": "2"}}) == {"reset/count": "This must be a whole number."}
        assert found(P6, {"reset": {}}) == {"reset/count": "This field is required."}
        assert found(P6, {}) == {"": "This fits none of the forms that are allowed here."}
        assert set(found(P6, {"increment": {}, "reset": {"count": 1}})) == {""}

    def test_c38_p7_is_text(self) -> None:
        """The code is six digits of text, not a number."""
        assert found(P7, {"code": "012345"}) == {}
        assert found(P7, {"code": 12345}) == {"code": "This must be text."}
        assert found(P7, {"code": "12345"}) == {"code": "This must match the pattern ^[0-9]{6}$"}
        assert "code" in found(P7, {"code": "٠١٢٣٤٥"})

    def test_c32_p8(self) -> None:
        """A consent must be ticked, an instant carries its offset."""
        good = {"offline": True, "window": "2026-07-01T09:00:00-04:00", "day": "2026-07-01"}
        assert found(P8, good) == {}
        assert found(P8, {"offline": False, "window": "2026-07-01T09:00:00", "day": "1 July"}) == {
            "offline": "This must be true.",
            "window": "Enter a date and time with its offset, such as 2026-07-01T09:00:00Z.",
            "day": "This must match the pattern ^\\d{4}-\\d{2}-\\d{2}$",
        }

    def test_p9(self) -> None:
        """Lists in lists with a recursive choice, as deep as data may be."""
        leaf = {"field": "a", "value": "b"}
        for levels in (1, 2, 10, 50):
            assert found(P9, nested_filter(levels, leaf)) == {}
        path = "steps/0/actions/0/value/rules/0"
        bad = nested_filter(1, {"field": "a", "value": 1})
        assert found(P9, bad) == {f"{path}/value": "This must be text."}
        deep = nested_filter(3, {"field": "a", "value": 1})
        assert found(P9, deep) == {f"{path}/rules/0/rules/0/value": "This must be text."}
        assert found(P9, nested_filter(2, {"value": "b"})) != {}


@pytest.mark.parametrize(
    ("schema", "data", "valid"),
    [
        ({"enum": [1, 0]}, True, False),
        ({"enum": [True]}, 1, False),
        ({"const": False}, 0, False),
        ({"const": 0}, False, False),
        ({"const": 1}, 1.0, True),
        ({"type": "integer"}, True, False),
        ({"type": "integer"}, 60.0, True),
        ({"type": "integer"}, 60.5, False),
        ({"type": "number"}, False, False),
        ({"uniqueItems": True}, [1, True, 0, False], True),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"type": "integer"}, 10**400, True),
        ({"maximum": 5}, 2**70, False),
        ({"const": 2**70}, 2**70 + 1, False),
        ({"type": "number"}, 1e308, True),
        ({"multipleOf": 0.01}, 19.99, True),
        ({"type": "number"}, float("nan"), False),
        ({}, float("inf"), False),
        ({"type": "string"}, "\ud800", False),
    ],
)
def test_c36_equality_is_that_of_json(schema: Any, data: Any, valid: bool) -> None:
    """Booleans are no numbers, 60.0 is whole; numbers beyond 64 bits and broken values are judged, not crashes."""
    errors = SCHEMAS.errors(schema, data, mask=False)
    assert (errors == []) is valid


def test_a_number_that_python_will_not_write_is_no_crash() -> None:
    """Five thousand digits are judged or refused, like any other data."""
    assert len(SCHEMAS.errors({"type": "string"}, 10**5000, mask=False)) == 1
    assert len(SCHEMAS.errors({"maximum": 1}, [10**5000], mask=False)) <= 1
    assert SCHEMAS.check({"maximum": 10**5000}) != []


@pytest.mark.parametrize(
    ("fmt", "good", "bad"),
    [
        ("date-time", "2027-01-01T00:00:00Z", "2027-01-01T00:00:00"),
        ("date-time", "2027-01-01T00:00:00.5+05:30", "2027-01-01"),
        ("date-time", "2024-02-29T23:59:59-04:00", "soon"),
        ("date", "2027-01-01", "2027-02-29"),
        ("time", "10:00:00Z", "10:00:00"),
        ("email", "a@e.test", "a@"),
        ("uri", "https://e.test/x?y", "e.test"),
        ("uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810"),
        ("ipv4", "10.0.0.1", "10.0.0"),
    ],
)
def test_c35_c63_formats_are_asserted(fmt: str, good: str, bad: str) -> None:
    """A date-time needs its offset, and other formats are checked as well."""
    schema = {"type": "object", "properties": {"v": {"type": "string", "format": fmt}}}
    assert found(schema, {"v": good}) == {}
    assert set(found(schema, {"v": bad})) == {"v"}


def test_unknown_formats_and_keywords_are_ignored() -> None:
    """`int32`, `password` and vendor extensions do not stand in the way."""
    schema = {"format": "int32", "x-order": 1, "properties": {"p": {"format": "password"}}}
    assert SCHEMAS.check(schema) == []
    assert found(schema, {"p": "x"}) == {}


class TestReferences:
    @pytest.mark.parametrize(
        "make",
        [
            lambda url: {"$ref": url},
            lambda url: {"properties": {"a": {"$ref": f"{url}#/x"}}},
            lambda url: {"$id": url, "$ref": "other.json"},
            lambda url: {"$id": url, "items": {"$ref": "/deep/other.json#/a"}},
            lambda url: {"$dynamicRef": f"{url}#meta"},
            lambda url: {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": url},
            lambda url: {"$schema": url},
            lambda url: {"properties": {"a": {"$id": url, "$schema": url, "$ref": "b"}}},
            lambda url: {"$defs": {"unused": {"$ref": url}}},
            lambda url: {"allOf": [{"$id": "x", "$ref": url}]},
            lambda url: {"$schema": "http://json-schema.org/draft-04/schema#", "id": url, "$ref": "z"},
            lambda url: {"properties": {"a": {"$ref": "#/x-vendor/b"}}, "x-vendor": {"b": {"$ref": url}}},
        ],
    )
    def test_c40_nothing_is_fetched_or_read(self, make: Any) -> None:
        """A reference that leaves the schema is refused; no connection is made and no file is read."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(0.05)
            url = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
            assert SCHEMAS.check(make(url)) != []
            assert SCHEMAS.errors(make(url), {"a": 1}, mask=False) != []
            with pytest.raises(TimeoutError):
                server.accept()
        for address in ("file:///etc/passwd", "//127.0.0.1/x", "ftp://127.0.0.1/x", "http://[", "urn:x:y"):
            errors = SCHEMAS.check(make(address))
            assert errors != []
            assert "root:" not in errors[0].message

    @pytest.mark.parametrize(
        "schema",
        [
            {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
            {"allOf": [{"$ref": "#/definitions/a~1b%25"}], "definitions": {"a/b%": {"type": "string"}}},
            {"$ref": "#name", "$defs": {"a": {"$anchor": "name", "type": "string"}}},
            {"$id": "http://e.test/root", "$ref": "root#/$defs/a", "$defs": {"a": {"type": "string"}}},
            {"$ref": "item", "$defs": {"a": {"$id": "item", "type": "string"}}},
            {"$dynamicRef": "#d", "$defs": {"a": {"$dynamicAnchor": "d", "type": "string"}}},
            {"$ref": "#/x-shared/0", "x-shared": [{"type": "string"}]},
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "$ref": "#/definitions/a",
                "definitions": {"a": {"type": "string"}},
            },
        ],
    )
    def test_c40_references_within_the_schema_work(self, schema: Any) -> None:
        """Pointers, anchors and addresses of the schema's own parts resolve."""
        assert SCHEMAS.check(schema) == []
        assert found(schema, "text") == {}
        assert found(schema, 1) == {"": "This must be text."}

    def test_a_reference_to_nothing_is_named(self) -> None:
        """The refusal says where the reference stands."""
        schema = {"properties": {"a": {"$ref": "#/$defs/missing"}}}
        assert SCHEMAS.check(schema) == [
            FieldError("properties/a/$ref", "This reference leads to nothing in the schema.")
        ]


class TestCheck:
    @pytest.mark.parametrize(
        ("schema", "path"),
        [
            (None, ""),
            (True, ""),
            ([], ""),
            ("{}", ""),
            ({"type": "strin"}, "type"),
            ({"properties": {"a": {"type": 3}}}, "properties/a/type"),
            ({"required": "a"}, "required"),
            ({"properties": []}, "properties"),
            ({"minLength": -1}, "minLength"),
            ({"multipleOf": 0}, "multipleOf"),
            ({"properties": {"a": {"pattern": "("}}}, "properties/a/pattern"),
            ({"patternProperties": {"[": {}}}, "patternProperties/["),
            ({"propertyNames": {"pattern": "*"}}, "propertyNames/pattern"),
            ({"$schema": "https://example.org/my-dialect"}, "$schema"),
            ({"$schema": 7}, "$schema"),
            ({"title": "a\x00"}, "title"),
            ({"const": float("nan")}, "const"),
            ({"const": {1, 2}}, "const"),
            ({"enum": "a"}, "enum"),
            ({"$ref": 5}, "$ref"),
        ],
    )
    def test_schemas_that_cannot_be_used(self, schema: Any, path: str) -> None:
        """The refusal names the place in the schema; data is then never valid, and nothing is raised."""
        assert [e.path for e in SCHEMAS.check(schema)] == [path]
        (error,) = SCHEMAS.errors(schema, {}, mask=True)
        assert error.message.startswith("The form of this request cannot be used.")

    @pytest.mark.parametrize(
        "pattern",
        [r"^\d{3}-\w+\s?$", "^(?=.*[A-Z])(?!.*x).{8,}$", r"^\p{L}{1,64}$", r"^(a)\1$", "^[^@]+@[^@]+$", r"\/\-"],
    )
    def test_patterns_of_javascript_are_understood(self, pattern: str) -> None:
        """Classes, look-around, back-references and property escapes can be used."""
        assert SCHEMAS.check({"pattern": pattern}) == []

    def test_depth(self) -> None:
        """A schema may be 100 levels deep; far deeper ones are refused without a crash."""

        def deep(levels: int) -> Any:
            schema: Any = {}
            for _ in range(levels - 1):
                schema = {"items": schema}
            return schema

        assert SCHEMAS.check(deep(100)) == []
        assert SCHEMAS.check(deep(101)) != []
        assert SCHEMAS.check(deep(20_000)) != []

    def test_every_dialect(self) -> None:
        """Drafts 4 to 2020-12 are known, with and without a fragment."""
        for dialect in ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"):
            assert SCHEMAS.check({"$schema": dialect, "type": "object"}) == []


class TestMessages:
    def test_paths_are_escaped(self) -> None:
        """A name with a slash is one step."""
        schema = {"additionalProperties": {"items": {"required": ["x/y"]}}}
        assert set(found(schema, {"a/b": [{}]})) == {"a~1b/0/x~1y"}

    def test_unknown_fields_are_named_one_by_one(self) -> None:
        """Each field that the form lacks has its path."""
        schema = {"properties": {"a": {}}, "additionalProperties": False}
        assert found(schema, {"a": 1, "b": 1, "c": 1}) == {
            "b": "There is no such field here.",
            "c": "There is no such field here.",
        }

    def test_at_most_fifty(self) -> None:
        """A refusal stays readable."""
        assert len(SCHEMAS.errors({"items": {"type": "string"}}, list(range(9000)), mask=False)) == 50
        wide = {"required": [f"k{n}" for n in range(3000)]}
        assert len(SCHEMAS.errors(wide, {}, mask=False)) == 50
        assert (
            len(
                SCHEMAS.errors(
                    {"maxProperties": 0, "additionalProperties": False, "properties": {"a": 1 > 0}},
                    {str(n): n for n in range(3000)},
                    mask=False,
                )
            )
            == 50
        )

    def test_long_lists_of_choices_are_cut(self) -> None:
        """A thousand choices do not make a page of text."""
        (message,) = found({"enum": [f"choice {n}" for n in range(1000)]}, "x").values()
        assert len(message) < 700
        assert "more" in message

    def test_nullable_fields_explain_the_value(self) -> None:
        """A short text in a field that may be null is too short, not "none of the forms"."""
        schema = {"anyOf": [{"type": "string", "minLength": 5}, {"type": "null"}]}
        assert found(schema, "abc") == {"": "This must be at least 5 characters long."}

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "integer"},
            {"enum": ["a"]},
            {"const": 1},
            {"minLength": 99},
            {"pattern": "^x$"},
            {"pattern": "^(?=x)y$"},
            {"format": "email"},
            {"not": {}},
            {"additionalProperties": False},
            {"properties": {"a": {}}, "additionalProperties": False},
            {"unevaluatedProperties": False},
            {"properties": {"a": {}}, "unevaluatedProperties": False},
            {"additionalProperties": {"type": "integer"}},
            {"patternProperties": {"": {"items": False}}, "propertyNames": {"maxLength": 1}},
            {"propertyNames": {"const": "x"}},
            {"propertyNames": {"oneOf": [{"const": "x"}, {"type": "integer"}]}},
            {"oneOf": [{"additionalProperties": {"type": "null"}}, {"type": "null"}]},
            {"anyOf": [{"required": ["zz"]}, {"patternProperties": {"": False}}]},
            {"additionalProperties": {"required": ["zz"]}},
            {"contains": {"const": 1}},
            {"minProperties": 9, "minItems": 9, "items": {"type": "null"}},
            {"dependentRequired": {"a": ["b"]}},
        ],
    )
    def test_masked_errors_hold_nothing_of_the_data(self, schema: Any) -> None:
        """Neither the messages nor the paths of masked errors repeat values or names from the data."""
        for data in ("ЖЩЯ", {"ЖЩЯ": "ЖЩЯ"}, {"ЖЩЯ": {"ЖЩЯ": ["ЖЩЯ"]}, "a": "ЖЩЯ"}, ["ЖЩЯ"], [{"ЖЩЯ": "ЖЩЯ"}]):
            shown = str(SCHEMAS.errors(schema, data, mask=True))
            assert not set("ЖЩЯ") & set(shown)
            assert not set("ЖЩЯ") & {c for e in SCHEMAS.errors(schema, data, mask=False) for c in e.message}

    def test_masked_errors_still_name_the_fields_of_the_form(self) -> None:
        """Names that the schema itself gives are no secret."""
        schema = {"required": ["pin"], "properties": {"card": {"properties": {"no": {"type": "string"}}}}}
        data = {"card": {"no": 4}}
        assert set(found(schema, data, mask=True)) == {"pin", "card/no"}


class TestBounds:
    """What would take long is refused in time, whoever sent it."""

    @pytest.fixture(autouse=True)
    def _quick(self) -> Any:
        started = time.process_time()
        yield
        assert time.process_time() - started < 4

    @pytest.mark.parametrize(
        "pattern",
        [
            "^(a+)+$",
            "^(a|aa)+$",
            "^(?=a)(a+)+$",
            "^(a*)*\\1b$",
            "(?=.*b)(?=.*c)",
            "(.*)(.*)(.*)(.*)x",
            "^(([a-z])+.)+[A-Z]$",
        ],
    )
    def test_patterns_do_not_backtrack_without_end(self, pattern: str) -> None:
        """The classic traps on 50 kB of text are judged quickly."""
        assert SCHEMAS.errors({"pattern": pattern}, "a" * 50_000 + "!", mask=False) != []

    def test_a_linear_pattern_takes_long_text(self) -> None:
        """A plain pattern that looks like a trap still accepts what it should."""
        assert found({"pattern": "^(a+)+$"}, "a" * 50_000) == {}

    def test_large_patterns_meet_short_text_only(self) -> None:
        """Counted repetitions that multiply are tried on short text, and refused as invalid on long."""
        schema = {"pattern": "(.{0,60}){0,9}2"}
        assert found(schema, "x2") == {}
        assert found(schema, "x" * 200_000) != {}

    def test_patterns_without_number_or_size(self) -> None:
        """Hundreds of patterns, and patterns that compile to megabytes, are refused at create."""
        many = {"allOf": [{"pattern": f"^x{n}$"} for n in range(1000)]}
        assert SCHEMAS.check(many) != []
        large = {"allOf": [{"pattern": f"^\\p{{L}}{{1,{n}}}$"} for n in range(50, 90)]}
        assert SCHEMAS.check(large) != []
        assert SCHEMAS.check({"pattern": "(\\p{L}{100}){100}"}) != []

    @pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
    def test_branches_that_double(self, keyword: str) -> None:
        """Forty lines of definitions that each branch twice into the next are refused at create."""
        defs: dict[str, Any] = {
            f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/a{n + 1}"}]} for n in range(40)
        }
        schema = {"$ref": "#/$defs/a0", "$defs": {**defs, "a40": {"type": "string"}}}
        assert SCHEMAS.check(schema) != []
        assert SCHEMAS.errors(schema, 1, mask=False) != []

    def test_branches_that_double_with_depth(self) -> None:
        """A tree that branches twice per level is fine for shallow data, and refused for deep."""
        schema = {
            "type": "object",
            "properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"type": "null"}]}},
        }
        assert SCHEMAS.check(schema) == []

        def tree(levels: int, leaf: Any) -> Any:
            for _ in range(levels):
                leaf = {"a": leaf}
            return leaf

        assert found(schema, tree(6, None)) == {}
        assert found(schema, tree(6, 1)) != {}
        assert found(schema, tree(60, None)) == {"": "This data is too large for a form as complex as this one."}
        assert found(schema, tree(12, 1)) != {}

    @pytest.mark.parametrize(
        "schema",
        [
            {"$ref": "#"},
            {"allOf": [{"$ref": "#"}]},
            {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}},
        ],
    )
    def test_circles_are_refused(self, schema: Any) -> None:
        """A schema that refers to itself without going into the data never ends."""
        assert SCHEMAS.check(schema)[0].message == "This schema refers to itself without end."

    def test_long_chains(self) -> None:
        """Thousands of references in a row are refused, a chain along the data is fine."""

        def chain(step: Any) -> Any:
            defs = {f"a{n}": step({"$ref": f"#/$defs/a{n + 1}"}) for n in range(1500)}
            return {"$ref": "#/$defs/a0", "$defs": {**defs, "a1500": {"type": "string"}}}

        assert SCHEMAS.check(chain(lambda to: to)) != []
        assert SCHEMAS.check(chain(lambda to: {"anyOf": [to, {"type": "null"}]})) != []
        assert SCHEMAS.check(chain(lambda to: {"properties": {"x": to}})) == []

    def test_wide_branches_on_long_lists(self) -> None:
        """A thousand branches for each of a hundred thousand items are refused, ten are judged."""
        data = list(range(100_000))
        wide = {"items": {"anyOf": [{"minLength": n, "type": "string"} for n in range(1000)]}}
        assert found(wide, data) == {"": "This data is too large for a form as complex as this one."}
        ten = {"items": {"anyOf": [{"type": "string"}, *({"minimum": n} for n in range(10))]}}
        assert found(ten, data) == {}
        assert found(ten, [*data, -1]) == {"": "The data does not satisfy the form."}

    def test_many_failures_on_large_data(self) -> None:
        """Thousands of failures on a large object do not copy it thousands of times; few are still named."""
        many = {"required": [f"k{n}" for n in range(3000)]}
        assert found(many, {"z": "x" * 200_000}) == {"": "The data does not satisfy the form."}
        few = {"required": [f"k{n}" for n in range(100)]}
        assert len(found(few, {"z": "x" * 200_000})) == 50

    def test_deep_data(self) -> None:
        """A recursive schema meets data deeper than the stack without a crash, in any thread."""
        schema = {"properties": {"a": {"$ref": "#"}}, "required": ["b"], "type": "object"}
        deep: Any = {}
        for _ in range(100_000):
            deep = {"a": deep}
        results: list[list[FieldError]] = []
        thread = Thread(target=lambda: results.append(SCHEMAS.errors(schema, deep, mask=False)))
        thread.start()
        thread.join()
        assert [e.path for e in results[0]] == [""]
        for _ in range(99_900):
            deep = deep["a"]
        assert len(SCHEMAS.errors(schema, deep, mask=False)) == 50
        while deep:
            deep = deep.pop("a", {})


def test_compiled_schemas_are_kept_within_bounds() -> None:
    """Equal schemas are compiled once, whatever their order of keys, and the oldest are forgotten."""
    schemas = JsonSchemas(cache_size=2)
    first = {"type": "object", "title": "1"}
    compiled = schemas._compiled(first)
    assert schemas._compiled({"title": "1", "type": "object"}) is compiled
    schemas.check({"title": "2"})
    assert schemas._compiled(first) is compiled
    schemas.check({"title": "3"})
    schemas.check({"title": "4"})
    assert len(schemas._cache) == 2
    assert schemas._compiled(first) is not compiled


def test_equal_numbers_of_different_type_are_different_schemas() -> None:
    """`const: 1` is not taken for `const: true` from the cache."""
    schemas = JsonSchemas()
    assert schemas.errors({"const": 1}, 1, mask=False) == []
    assert schemas.errors({"const": True}, 1, mask=False) != []


def test_a_schema_changed_by_its_owner_is_another_schema() -> None:
    """What was compiled does not follow later changes of the object."""
    schema: dict[str, Any] = {"properties": {"a": {"type": "string"}}}
    assert found(schema, {"a": 1}) != {}
    schema["properties"]["a"]["type"] = "integer"
    assert found(schema, {"a": 1}) == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
KEYWORDS = st.sampled_from(
    [
        *("type", "properties", "items", "anyOf", "$ref", "$id", "$defs", "enum", "required", "pattern", "if", "a"),
        *("propertyNames", "prefixItems", "not", "$dynamicRef", "dependencies", "patternProperties", "$anchor"),
    ]
)
SCHEMA = st.recursive(
    st.booleans() | st.sampled_from(["#", "#/$defs/a", "a", "string", "object", "^a", "%", ""]) | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(SCHEMA, JSON, st.booleans())
def test_nothing_is_raised(schema: Any, data: Any, mask: bool) -> None:
    """Any schema and any data give errors or none."""
    unusable = SCHEMAS.check(schema)
    errors = SCHEMAS.errors(schema, data, mask=mask)
    assert errors or not unusable
