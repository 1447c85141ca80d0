"""What an answer is: every kind of question, through both kinds of channel."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.answers import (
    ABSENT,
    Answer,
    Labels,
    Question,
    check_question,
    default_type,
    field_names,
    is_sealed,
    read_answer,
    read_text,
    same_answer,
)
from domain.errors import FieldError, Invalid
from interfaces.schemas import JsonSchemas

SCHEMAS = JsonSchemas()

FREE = Question("clarification")
APPROVAL = Question("approval")
REVIEW = Question("review")
STAGES = Question("clarification", options=("Development", "Staging", "Production"))


def form(*required: str, **properties: Any) -> Question:
    schema = {"type": "object", "required": list(required), "properties": properties}
    return Question("data-input", response_schema=schema)


CODE = form("code", code={"type": "string", "pattern": "^[0-9]{6}$"})
CONSENT = form("approved", approved={"type": "boolean"})


def attempt(question: Question, *, text: str | None = None, data: Any = ABSENT) -> Answer | Invalid:
    try:
        return read_answer(question, text=text, data=data, validator=SCHEMAS)
    except Invalid as refusal:
        return refusal


def refused(question: Question, text: str | None = None, data: Any = ABSENT) -> list[FieldError]:
    refusal = attempt(question, text=text, data=data)
    assert isinstance(refusal, Invalid)
    return refusal.errors


def said(question: Question, text: str) -> Answer:
    return read_text(question, text, SCHEMAS)


def sent(question: Question, data: Any) -> Answer:
    return read_answer(question, data=data, validator=SCHEMAS)


class TestFreeText:
    @pytest.mark.parametrize(
        "text", ["012345", "  two spaces\r\n", "👩‍👩‍👧‍👦 é e\u0301", "\\u0000", '{"a": 1}', "1", "yes"]
    )
    @pytest.mark.parametrize("request_type", ["clarification", "data-input", "error-resolution", "my-own-type"])
    def test_c38_text_is_kept_exactly(self, request_type: str, text: str) -> None:
        """Free text is the answer, character by character, on both channels."""
        question = Question(request_type)
        assert said(question, text) == Answer("answered", text=text)
        assert read_answer(question, text=text, validator=SCHEMAS) == Answer("answered", text=text)

    @pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u00a0", "\u200b"])
    @pytest.mark.parametrize("question", [FREE, APPROVAL, REVIEW, STAGES, CODE])
    def test_blank_text_is_refused(self, question: Question, text: str) -> None:
        """Text in which nothing can be seen answers nothing."""
        assert [e.path for e in refused(question, text)] == ["text"]

    @pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
    @pytest.mark.parametrize("question", [FREE, APPROVAL, REVIEW, STAGES, CODE])
    def test_c42_text_that_cannot_be_stored_is_refused(self, question: Question, text: str) -> None:
        """NUL and half surrogates are refused, not stripped."""
        assert [e.path for e in refused(question, text)] == ["text"]

    @pytest.mark.parametrize("data", [{"a": 1}, "text", 0, False, []])
    @pytest.mark.parametrize("question", [FREE, REVIEW])
    def test_data_is_refused(self, question: Question, data: Any) -> None:
        """Where text is asked for, data is not an answer, with text or without."""
        assert refused(question, data=data)[0].path == "data"
        assert refused(question, "text", data)[0].path == "data"

    @pytest.mark.parametrize("question", [FREE, APPROVAL, REVIEW, STAGES, CODE])
    def test_nothing_is_refused(self, question: Question) -> None:
        """Neither text nor data is no answer."""
        assert refused(question, None, ABSENT)
        assert refused(question, None, None)

    def test_null_data_beside_text_is_absent(self) -> None:
        """Clients that always send both fields are understood."""
        assert read_answer(FREE, text="x", data=None, validator=SCHEMAS) == Answer("answered", text="x")
        assert read_answer(CODE, text="012345", data=None, validator=SCHEMAS).data == {"code": "012345"}


class TestApproval:
    @pytest.mark.parametrize("text", ["yes", "Y", "TRUE", "approve", "Approve", " Yes\n"])
    def test_words_that_approve(self, text: str) -> None:
        """Yes, y, true, approve and the label approve, in any case."""
        assert said(APPROVAL, text) == Answer("approved", data={"approved": True})

    @pytest.mark.parametrize("text", ["no", "N", "False", "REJECT", "reject\r\n"])
    def test_words_that_reject(self, text: str) -> None:
        """No, n, false, reject and the label reject, in any case."""
        assert said(APPROVAL, text) == Answer("rejected", data={"approved": False})

    @pytest.mark.parametrize("text", ["ok", "1", "0", "yes!", "yes please", "approved", "not yes", "👍", "null"])
    def test_anything_else_is_refused(self, text: str) -> None:
        """What is neither is never guessed."""
        errors = refused(APPROVAL, text)
        assert errors == [FieldError("text", "Answer “Approve” or “Reject” (or yes or no).")]

    def test_own_labels(self) -> None:
        """The labels of the request are understood beside the usual words."""
        question = Question("approval", labels=Labels("Ship it", "STRASSE sperren"))
        assert said(question, "ship IT").outcome == "approved"
        assert said(question, "Straße Sperren").outcome == "rejected"
        assert said(question, "yes").outcome == "approved"
        assert said(question, "n").outcome == "rejected"

    def test_labels_that_contradict_the_words_are_not_guessed(self) -> None:
        """Such labels are refused when asked; were they asked all the same, the word decides nothing."""
        question = Question("approval", labels=Labels("No", "yes"))
        assert [e.path for e in check_question(question)] == ["labels/approve", "labels/reject"]
        assert refused(question, "no")
        assert refused(question, "yes")
        assert said(question, "true").outcome == "approved"

    def test_data(self) -> None:
        """`{approved, note?}`; a note that is null or blank is none."""
        assert sent(APPROVAL, {"approved": True}) == Answer("approved", data={"approved": True})
        noted = {"approved": False, "note": " later \n"}
        assert sent(APPROVAL, noted) == Answer("rejected", data=noted)
        assert sent(APPROVAL, {"approved": True, "note": None}).data == {"approved": True}
        assert sent(APPROVAL, {"approved": True, "note": "  "}).data == {"approved": True}

    @pytest.mark.parametrize(
        ("data", "paths"),
        [
            ({"approved": 1}, ["data/approved"]),
            ({"approved": 0}, ["data/approved"]),
            ({"approved": "true"}, ["data/approved"]),
            ({"approved": None}, ["data/approved"]),
            ({}, ["data/approved"]),
            ({"note": "x"}, ["data/approved"]),
            ({"approved": True, "note": 1}, ["data/note"]),
            ({"approved": True, "decided_by": "U2"}, ["data"]),
            ({"approved": "y", "note": [], "x": 1}, ["data/approved", "data/note", "data"]),
            (True, ["data"]),
            ("yes", ["data"]),
            ([{"approved": True}], ["data"]),
        ],
    )
    def test_c36_other_data_is_refused(self, data: Any, paths: list[str]) -> None:
        """1 is not true, and every field at fault is named."""
        assert [e.path for e in refused(APPROVAL, data=data)] == paths

    def test_text_and_data_must_agree(self) -> None:
        """Both together are one decision, or no answer."""
        data = {"approved": True, "note": "fine"}
        assert read_answer(APPROVAL, text="yes", data=data, validator=SCHEMAS) == Answer("approved", data=data)
        assert [e.path for e in refused(APPROVAL, "no", data)] == ["text"]
        assert [e.path for e in refused(APPROVAL, "looks fine", data)] == ["text"]


class TestReview:
    def test_exactly_the_label_approves(self) -> None:
        """The approve label approves, and is not feedback."""
        assert said(REVIEW, "Approve") == Answer("approved")
        assert said(Question("review", labels=Labels("Ship", "Back")), "Ship") == Answer("approved")

    @pytest.mark.parametrize("text", ["approve", "Approve ", "Approve!", "yes", "Reject", " shorter, please\n"])
    def test_any_other_text_is_feedback(self, text: str) -> None:
        """Whatever is not the label rejects, with the text kept exactly."""
        assert said(REVIEW, text) == Answer("rejected", text=text)


class TestOptions:
    @pytest.mark.parametrize("text", ["Production", "production", "PRODUCTION ", "3", " 3\n", "option2", "Option2"])
    def test_understood(self, text: str) -> None:
        """The text, the text in any case, its 1-based number, `option<N>` from 0."""
        expected = Answer("answered", text="Production", data={"index": 2, "option": "Production"})
        assert said(STAGES, text) == expected
        assert read_answer(STAGES, text=text, validator=SCHEMAS) == expected

    @pytest.mark.parametrize(
        "text", ["0", "4", "-1", "03", "3.0", "٣", "３", "option3", "option02", "prod", "true", "Staging, Production"]
    )
    def test_anything_else_is_refused(self, text: str) -> None:
        """An unknown choice is refused with the choices, never taken for the first."""
        assert refused(STAGES, text) == [FieldError("text", "Choose one of: Development, Staging, Production")]

    def test_precedence(self) -> None:
        """The exact text beats any case, which beats the number, which beats `option<N>`."""
        numbers = Question("clarification", options=("3", "2", "1", "option0"))
        assert said(numbers, "2").data == {"index": 1, "option": "2"}
        assert said(numbers, "4").data == {"index": 3, "option": "option0"}
        assert said(numbers, "OPTION0").data == {"index": 3, "option": "option0"}
        assert said(numbers, "option1").data == {"index": 1, "option": "2"}

    def test_case_decides_between_options_that_differ_in_case(self) -> None:
        """An exact text picks; one that fits several in any case is ambiguous."""
        question = Question("clarification", options=("us", "US", "eu"))
        assert said(question, "US").data == {"index": 1, "option": "US"}
        assert said(question, "Eu").data == {"index": 2, "option": "eu"}
        assert refused(question, "Us")

    def test_normal_form_does_not_count(self) -> None:
        """A decomposed é picks the composed one; the answer is the option as asked."""
        question = Question("clarification", options=("Café", "Tee"))
        assert said(question, "cafe\u0301").text == "Café"

    @pytest.mark.parametrize(
        "data", [{"index": 1, "option": "Staging"}, {"index": 1}, {"option": "Staging"}, {"index": 1.0}]
    )
    def test_data(self, data: Any) -> None:
        """Index and option, or one of the two; the answer has both."""
        expected = Answer("answered", text="Staging", data={"index": 1, "option": "Staging"})
        assert sent(STAGES, data) == expected
        assert read_answer(STAGES, text="staging", data=data, validator=SCHEMAS) == expected

    @pytest.mark.parametrize(
        ("data", "path"),
        [
            ({"index": True}, "data/index"),
            ({"index": False, "option": "Development"}, "data/index"),
            ({"index": 3}, "data/index"),
            ({"index": -1}, "data/index"),
            ({"index": "1"}, "data/index"),
            ({"index": None, "option": "Staging"}, "data/index"),
            ({"option": "staging"}, "data/option"),
            ({"option": ["Staging"]}, "data/option"),
            ({"index": 0, "option": "Staging"}, "data"),
            ({"index": 0, "x": 1}, "data"),
            ({}, "data"),
            ("Staging", "data"),
            (1, "data"),
        ],
    )
    def test_c36_other_data_is_refused(self, data: Any, path: str) -> None:
        """Data must name one choice; `true` is not 1."""
        assert [e.path for e in refused(STAGES, data=data)] == [path]

    def test_text_and_data_must_agree(self) -> None:
        """Two choices are no answer."""
        assert [e.path for e in refused(STAGES, "Production", {"index": 0})] == ["text"]

    def test_options_decide_whatever_the_type(self) -> None:
        """An approval with options takes one of the options."""
        question = Question("approval", options=("Now", "Tonight"))
        assert said(question, "tonight").data == {"index": 1, "option": "Tonight"}
        assert refused(question, "yes")

    def test_messages_are_bounded(self) -> None:
        """Fifty long options do not make a long message."""
        question = Question("clarification", options=tuple(f"{n} " + "x" * 2000 for n in range(50)))
        (error,) = refused(question, "nope")
        assert len(error.message) < 800
        assert error.message.endswith(f"… and {50 - error.message.count('…, ') - 1} more")


class TestSchema:
    def test_outcome_comes_from_a_boolean_approved(self) -> None:
        """Only `true` and `false` at the top decide; all else is answered."""
        anything = Question("data-input", response_schema={})
        assert sent(anything, {"approved": True}).outcome == "approved"
        assert sent(anything, {"approved": False}).outcome == "rejected"
        for data in ({"approved": 1}, {"approved": "true"}, {"a": {"approved": True}}, [True], True):
            assert sent(anything, data) == Answer("answered", data=data)

    def test_c32_a_required_boolean_may_be_false(self) -> None:
        """Required means present, not ticked; `const: true` means ticked."""
        assert sent(CONSENT, {"approved": False}) == Answer("rejected", data={"approved": False})
        ticked = form("offline", offline={"type": "boolean", "const": True})
        assert refused(ticked, data={"offline": False}) == [FieldError("data/offline", "This must be true.")]
        assert refused(ticked, data={}) == [FieldError("data/offline", "This field is required.")]

    def test_every_failing_field_is_named(self) -> None:
        """The refusal has one path per field."""
        question = form("a", "b", a={"type": "integer"}, c={"type": "string", "format": "date-time"})
        errors = refused(question, data={"a": "x", "c": "2027-01-01T00:00:00"})
        assert sorted(e.path for e in errors) == ["data/a", "data/b", "data/c"]

    def test_null_is_an_answer_where_the_schema_takes_it(self) -> None:
        """Data that is null counts when nothing else was sent."""
        question = Question("data-input", response_schema={"type": ["string", "null"]})
        assert sent(question, None) == Answer("answered")
        assert refused(CODE, data=None)

    def test_deep_data_is_refused(self) -> None:
        """Data deeper than any form needs is refused before it is validated."""
        deep: Any = 1
        for _ in range(5000):
            deep = [deep]
        assert refused(Question("data-input", response_schema={}), data=deep)[0].path == "data"
        text = '{"a":' * 5000 + "1" + "}" * 5000
        assert refused(Question("data-input", response_schema={}), text)[0].path == "text"
        text = '{"a":' * 500_000
        assert refused(Question("data-input", response_schema={}), text)[0].path == "text"

    @pytest.mark.parametrize("data", [{"a": "\x00"}, {"\ud800": 1}, [float("nan")]])
    def test_c42_data_that_cannot_be_stored_is_refused(self, data: Any) -> None:
        """NUL, half surrogates and NaN are refused in data, and in JSON text where they were escaped."""
        question = Question("data-input", response_schema={})
        assert refused(question, data=data)
        assert refused(question, json.dumps({"x": data}))
        assert said(question, '{"a": "\\\\u0000"}').data == {"a": "\\u0000"}


class TestTextForASchema:
    def test_a_json_object_is_data(self) -> None:
        """Text that is a JSON object is read as data and validated."""
        assert said(CODE, ' {"code": "012345"}\n') == Answer("answered", data={"code": "012345"})
        assert said(CONSENT, '{"approved": false}').outcome == "rejected"
        assert refused(CODE, '{"code": 12345}') == [FieldError("data/code", "This must be text.")]

    @pytest.mark.parametrize(
        "text",
        [
            '{"code": "1"',
            '{"code": "000001", "code": "000002"}',
            "{code: 1}",
            '{"a": NaN}',
            '{"a": 1e999}',
            "{}{}",
            '{"a": -Infinity}',
            '{"a": ' + "9" * 5000 + "}",
            "{hello}",
        ],
    )
    def test_broken_json_is_refused(self, text: str) -> None:
        """What starts like an object and is none is not taken for anything else, even by a text field."""
        for question in (CODE, form("note", note={"type": "string"})):
            (error,) = refused(question, text)
            assert error.path == "text"
            assert error.message.startswith("This starts like a JSON object")

    def test_c38_a_text_field_takes_the_exact_text(self) -> None:
        """`012345` keeps its zero; a text field takes numbers, words and white space as they are."""
        assert said(CODE, "012345") == Answer("answered", data={"code": "012345"})
        note = form("note", note={"type": "string"}, other={"type": "integer"})
        for text in ("12", "true", "null", " x \n", "[1]", '"quoted"'):
            assert said(note, text).data == {"note": text}

    def test_what_does_not_fit_names_the_field(self) -> None:
        """The refusal is that of the field."""
        assert refused(CODE, "12345") == [
            FieldError("data/code", "This must match the pattern ^[0-9]{6}$"),
        ]

    @pytest.mark.parametrize(
        ("schema", "text", "value"),
        [
            ({"type": "integer"}, "12", 12),
            ({"type": "integer"}, " -7\n", -7),
            ({"type": "integer"}, "0", 0),
            ({"type": "number"}, "12", 12),
            ({"type": "number"}, "-0.5", -0.5),
            ({"type": "number"}, "12.50", 12.5),
            ({"type": "boolean"}, "true", True),
            ({"type": "boolean"}, "False", False),
            ({"type": ["integer", "null"]}, "3", 3),
            ({"type": ["string", "null"]}, "abc", "abc"),
            ({"type": ["string", "integer"], "maxLength": 1}, "12", 12),
            ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "abc", "abc"),
            ({"type": "string", "anyOf": [{"minLength": 2}, {"pattern": "^x"}]}, "abc", "abc"),
            ({"enum": ["a", "b", 3, True]}, "3", 3),
            ({"enum": ["a", "b", 3, True]}, "true", True),
            ({"enum": ["a", "b", 3, True]}, "b ", "b"),
            ({"type": "string", "enum": ["3", 3]}, "3", "3"),
            ({"const": "go"}, "go", "go"),
            ({"oneOf": [{"const": "oauth", "title": "OAuth 2"}, {"const": "pw"}]}, "oauth", "oauth"),
            ({"oneOf": [{"const": "oauth", "title": "OAuth 2"}, {"const": "pw"}]}, "OAuth 2", "oauth"),
            ({"$ref": "#/$defs/size"}, "9", 9),
            ({"allOf": [{"$ref": "#/$defs/size"}], "title": "Size"}, "9", 9),
            ({"$ref": "#/$defs/a~1b%25"}, "x", "x"),
        ],
    )
    def test_a_scalar_that_the_text_plainly_is(self, schema: Any, text: str, value: Any) -> None:
        """The only required field is filled with the value that the text writes out."""
        question = form("v", v=schema, w={"type": "string"})
        assert question.response_schema is not None
        full = {
            **question.response_schema,
            "$defs": {"size": {"type": "integer"}, "a/b%": {"type": "string"}},
        }
        answer = said(Question("data-input", response_schema=full), text)
        assert answer.data == {"v": value}
        assert type(answer.data["v"]) is type(value)

    @pytest.mark.parametrize(
        ("schema", "text"),
        [
            ({"type": "integer"}, "012"),
            ({"type": "integer"}, "1e3"),
            ({"type": "integer"}, "12.0"),
            ({"type": "integer"}, "+1"),
            ({"type": "integer"}, "-0"),
            ({"type": "integer"}, "1 000"),
            ({"type": "integer"}, "１"),
            ({"type": "integer"}, "true"),
            ({"type": "number"}, "1e3"),
            ({"type": "number"}, ".5"),
            ({"type": "number"}, "1,5"),
            ({"type": "number"}, "0.12345678901234567890"),
            ({"type": "number"}, "NaN"),
            ({"type": "boolean"}, "yes"),
            ({"type": "boolean"}, "1"),
            ({"type": "null"}, "null"),
            ({"type": ["string", "null"]}, "null"),
            ({"type": ["string", "integer"]}, "12"),
            ({"type": ["string", "object"]}, "x"),
            ({"type": "array"}, "[1]"),
            ({"type": "object"}, "x"),
            ({}, "x"),
            ({"title": "Anything"}, "x"),
            ({"enum": ["3", 3]}, "3"),
            ({"enum": ["a", "b"]}, "A"),
            ({"enum": ["a", {"x": 1}]}, '[{"x": 1}]'),
            ({"enum": [None, "a"]}, "null"),
            ({"oneOf": [{"const": 1, "title": "x"}, {"const": 2, "title": "x"}]}, "x"),
            ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "1"),
        ],
    )
    def test_what_is_not_plain_is_refused(self, schema: Any, text: str) -> None:
        """Ambiguous text and fields that are not scalars are never guessed."""
        assert refused(form("v", v=schema), text)

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "string"},
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"type": "object", "required": [], "properties": {"a": {"type": "string"}}},
            {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {}}},
            {"type": "object", "required": ["a"]},
            {"type": "object", "required": ["a"], "properties": {"a": True}},
            {"oneOf": [{"required": ["a"], "properties": {"a": {"type": "string"}}}]},
            {},
        ],
    )
    def test_forms_that_a_line_cannot_fill(self, schema: Any) -> None:
        """Only a form with exactly one required field is filled by a line of text."""
        assert refused(Question("data-input", response_schema=schema), "x")[0].path == "text"

    def test_the_form_may_be_a_reference(self) -> None:
        """A root that only refers to its definition is followed."""
        schema = {"$ref": "#/$defs/f", "$defs": {"f": CODE.response_schema}}
        question = Question("data-input", response_schema=schema)
        assert said(question, "012345").data == {"code": "012345"}

    def test_c33_a_label_stands_for_its_value(self) -> None:
        """P5 typed: a title or a value stores the value, None stores null."""
        choices = [
            {"const": 0, "title": "Red"},
            {"const": 1, "title": "Green"},
            {"const": 2, "title": "Blue"},
            {"const": None, "title": "None"},
        ]
        question = form("color", color={"type": ["number", "null"], "oneOf": choices})
        assert said(question, "Red").data == {"color": 0}
        assert said(question, "0").data == {"color": 0}
        assert said(question, "None").data == {"color": None}
        assert refused(question, "Purple") == [
            FieldError("text", "Choose one of: Red, Green, Blue, None"),
        ]
        assert refused(question, "null")

    def test_branches_that_refer_to_each_other_end(self) -> None:
        """A property whose definition branches into itself is refused quickly."""
        branch = {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}]}
        schema = {"required": ["v"], "properties": {"v": branch}, "$defs": {"b": branch}}
        assert refused(Question("data-input", response_schema=schema), "x")

    def test_text_and_data_must_agree(self) -> None:
        """Text that fills the form with the same data is accepted beside it."""
        data = {"code": "012345"}
        assert read_answer(CODE, text="012345", data=data, validator=SCHEMAS).data == data
        assert [e.path for e in refused(CODE, "012346", data)] == ["text"]


class TestSealed:
    @pytest.mark.parametrize(
        "schema",
        [
            {"properties": {"p": {"type": "string", "format": "password"}}},
            {"properties": {"p": {"type": "string", "writeOnly": True}}},
            {"items": {"anyOf": [{"type": "null"}, {"properties": {"p": {"writeOnly": True}}}]}},
            {"$defs": {"s": {"format": "password"}}, "properties": {"p": {"$ref": "#/$defs/s"}}},
            {"properties": {"properties": {"writeOnly": True}}},
            {"patternProperties": {"^x": {"prefixItems": [{"format": "password"}]}}},
            {"writeOnly": True},
        ],
    )
    def test_a_password_field_anywhere_seals(self, schema: Any) -> None:
        """A password or write-only field at any depth makes the answer sealed."""
        assert is_sealed(Question("data-input", response_schema=schema))

    @pytest.mark.parametrize(
        "schema",
        [
            None,
            {},
            {"properties": {"writeOnly": True, "format": {"type": "string"}}},
            {"properties": {"p": {"writeOnly": False, "format": "email"}}},
            {"properties": {"p": {"writeOnly": "true", "title": "password"}}},
        ],
    )
    def test_other_schemas_do_not(self, schema: Any) -> None:
        """Names that only look like the keywords seal nothing."""
        assert not is_sealed(Question("data-input", response_schema=schema))

    def test_asked_as_a_secret(self) -> None:
        """`secret` seals whatever the schema says."""
        assert is_sealed(Question("clarification", secret=True))

    def test_deep_schemas_are_searched(self) -> None:
        """The search does not depend on the stack."""
        schema: dict[str, Any] = {"writeOnly": True}
        for _ in range(50_000):
            schema = {"items": schema}
        assert is_sealed(Question("data-input", response_schema=schema))
        while schema:
            schema = schema.pop("items", {})

    def test_names_of_fields(self) -> None:
        """The names that a schema mentions are found at any depth."""
        schema = {"required": ["a"], "properties": {"b": {"items": {"properties": {"c": {}}}}}}
        assert field_names(schema) == {"a", "b", "c"}
        assert field_names(None) == frozenset()

    SECRET = st.text(alphabet="ЖЩЮЯЪ☃♞", min_size=1, max_size=12)
    QUESTIONS = st.sampled_from(
        [
            Question("approval", secret=True),
            Question("clarification", options=("a", "b"), secret=True),
            form("p", p={"type": "string", "format": "password", "minLength": 200}),
            form("p", p={"type": "integer", "writeOnly": True}),
            form("p", p={"enum": ["a", 3], "writeOnly": True}),
            form("p", "q", p={"writeOnly": True, "pattern": "^x"}, q={"additionalProperties": False}),
            Question("data-input", response_schema={"additionalProperties": False}, secret=True),
            Question("data-input", response_schema={"unevaluatedProperties": False}, secret=True),
            Question("data-input", response_schema={"propertyNames": {"maxLength": 0}}, secret=True),
            Question("data-input", response_schema={"additionalProperties": {"type": "null"}}, secret=True),
            Question(
                "data-input",
                response_schema={
                    "oneOf": [
                        {"properties": {"p": {"const": 1}}, "required": ["p"]},
                        {"patternProperties": {"": {"items": {"type": "null"}, "minLength": 99}}},
                    ],
                    "maxProperties": 0,
                },
                secret=True,
            ),
        ]
    )

    @given(QUESTIONS, SECRET, st.sampled_from(["bare", "object", "broken", "nul", "name"]))
    @settings(max_examples=200, deadline=None)
    def test_refusals_never_hold_the_answer(self, question: Question, secret: str, how: str) -> None:
        """No refusal of a sealed answer repeats it or a part of it, whatever was wrong with it."""
        data: Any = {
            "bare": secret,
            "object": {"p": secret, "q": {secret: [secret]}},
            "broken": [secret],
            "nul": {"p": secret + "\x00", secret + "\x00": 1},
            "name": {secret: secret},
        }[how]
        text = secret if how == "bare" else json.dumps(data, ensure_ascii=False)
        if how == "broken":
            text = '{"p": "' + secret
        for channel in ({"text": text}, {"data": data}, {"text": text, "data": data}):
            refusal = attempt(question, **channel)
            if isinstance(refusal, Answer):  # some of these questions take some of these answers
                continue
            shown = [str(refusal), refusal.detail, *(e.path + e.message for e in refusal.errors)]
            assert not any(character in line for line in shown for character in secret)
            assert refusal.__cause__ is None
            assert refusal.__context__ is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["approved", "note", "index", "option", "v", "w", ""]), inner, max_size=3)
    ),
    max_leaves=6,
)
SCALARS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": ["number", "null"]},
        {"type": "boolean"},
        {"enum": ["a", 1, None, True, [1]]},
        {"oneOf": [{"const": 0, "title": "zero"}, {"type": "string"}]},
        {"$ref": "#"},
        {"$ref": "#/properties/v"},
        True,
        {},
    ]
)
QUESTIONS = st.one_of(
    st.sampled_from([FREE, APPROVAL, REVIEW, STAGES, CODE, CONSENT]),
    st.builds(
        lambda v, required: Question("data-input", response_schema={"required": required, "properties": {"v": v}}),
        SCALARS,
        st.sampled_from([[], ["v"], ["v", "w"]]),
    ),
)
TEXTS = (
    st.text(max_size=20)
    | st.sampled_from(["yes", "No", "1", "2", "option1", "0", "-1.5", "true", "zero", "{}", "Approve"])
    | JSON.map(json.dumps)
)


@settings(max_examples=300, deadline=None)
@given(QUESTIONS, TEXTS)
def test_text_is_an_answer_or_invalid(question: Question, text: str) -> None:
    """Any text to any question is an answer of the right kind or `Invalid`, never another error."""
    found = attempt(question, text=text)
    if isinstance(found, Invalid):
        assert found.errors
    else:
        assert found.outcome in ("approved", "rejected", "answered")
        assert same_answer(found, read_text(question, text, SCHEMAS))


@settings(max_examples=300, deadline=None)
@given(QUESTIONS, st.none() | TEXTS, st.just(ABSENT) | JSON)
def test_anything_is_an_answer_or_invalid(question: Question, text: str | None, data: Any) -> None:
    """Any text and data to any question are an answer or `Invalid`; what was accepted is accepted again."""
    found = attempt(question, text=text, data=data)
    if isinstance(found, Invalid):
        assert found.errors
    elif found.data is not None:
        assert same_answer(found, read_answer(question, data=found.data, validator=SCHEMAS))


class TestQuestions:
    @pytest.mark.parametrize(
        "question",
        [
            FREE,
            APPROVAL,
            REVIEW,
            STAGES,
            CODE,
            Question("x", options=("one",)),
            Question("x", options=("us", "US")),
            Question("x", response_schema={}),
            Question("approval", labels=Labels("Yes", "No")),
            Question("review", labels=Labels("no changes", "yes, changes")),
        ],
    )
    def test_good_questions(self, question: Question) -> None:
        """What can be answered can be asked."""
        assert check_question(question) == []

    @pytest.mark.parametrize(
        ("question", "paths"),
        [
            (Question(" "), ["request_type"]),
            (Question("x", options=()), ["options"]),
            (Question("x", options=tuple(map(str, range(51)))), ["options"]),
            (Question("x", options=("a", " ", "a", "a ")), ["options/1", "options/2", "options/3"]),
            (Question("x", options=("é", "e\u0301")), ["options/1"]),
            (Question("x", response_schema={}, options=("a",)), ["options"]),
            (Question("x", response_schema=True), ["response_schema"]),  # type: ignore[arg-type]
            (Question("approval", labels=Labels("", "\u200b")), ["labels/approve", "labels/reject"]),
            (Question("review", labels=Labels("Go", "GO")), ["labels"]),
            (Question("approval", labels=Labels("Stop", "stop ")), ["labels"]),
            (Question("approval", labels=Labels("Reject", "Back")), ["labels/approve"]),
            (Question("approval", labels=Labels("Go", "Y")), ["labels/reject"]),
        ],
    )
    def test_questions_that_could_not_be_answered_clearly(self, question: Question, paths: list[str]) -> None:
        """Empty, doubled and contradictory choices are refused when asked."""
        assert [e.path for e in check_question(question)] == paths

    def test_default_type(self) -> None:
        """A schema asks for data; options and free text clarify."""
        assert default_type({}, None) == "data-input"
        assert default_type(None, ("a",)) == "clarification"
        assert default_type(None, None) == "clarification"

    def test_c36_the_same_answer_is_the_same_json(self) -> None:
        """A repeat equals in outcome, text and data; `true` does not repeat 1."""
        assert same_answer(Answer("answered", data={"a": 1}), Answer("answered", data={"a": 1.0}))
        assert not same_answer(Answer("answered", data={"a": 1}), Answer("answered", data={"a": True}))
        assert not same_answer(Answer("answered", text="a"), Answer("answered", text="A"))
        assert not same_answer(Answer("rejected", text="a"), Answer("answered", text="a"))
        assert same_answer(said(APPROVAL, "YES"), sent(APPROVAL, {"approved": True}))
        assert same_answer(said(STAGES, "2"), sent(STAGES, {"option": "Staging"}))
