"""A request's modal in Slack: every view is one that Slack takes, what is filled in is the answer that was meant."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from application.requests import Reply
from domain.answers import ABSENT, MAX_OPTIONS, Answer, Labels, Question, is_sealed, read_answer
from domain.assignment import fall_back
from domain.callers import AgentCaller
from domain.errors import FieldError, Invalid
from domain.request import Request
from domain.request_types import REQUEST_TYPES
from interfaces.schemas import JsonSchemas
from interfaces.slack.modals import CALLBACK, errors_at, form, reply_of
from tests.support.slack import _INITIAL, FakeSlack, _filled
from tests.support.slack_blocks import mentions_in, texts

SCHEMAS = JsonSchemas()
SLACK = FakeSlack()
URL = "https://h.test"
AGENT = AgentCaller(UUID(int=1), key_id=UUID(int=2))

TEXTS = st.text(
    st.one_of(st.sampled_from("&<>@!| \n\r🚀\u200b"), st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)
MANY = st.builds(lambda text, times: text * times, TEXTS, st.sampled_from([1, 1, 20, 400]))
ODD = st.sampled_from(["<!channel> & co", "x" * 75, "x" * 76, "&" * 75, "🚀" * 75, "\u200b", "", ":smile:", "&lt;"])
WRITTEN = st.one_of(TEXTS, MANY, ODD)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), WRITTEN)
JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.sampled_from(["0", "1", "1e400"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


def asked(question: Question, message: str = "May I?") -> Request:
    labels = question.labels
    return Request.ask(
        by=AGENT,
        now=datetime(2026, 3, 1, 12, tzinfo=UTC),
        unique_id="deploy",
        question=question,
        sealed=is_sealed(question),
        message=message,
        decision=fall_back(UUID(int=11)),
        priority=50,
        labels={"approve": labels.approve, "reject": labels.reject},
    )


def schema_of(*required: str, **properties: Any) -> Request:
    return asked(question_of({"type": "object", "required": list(required), "properties": properties}))


def question_of(schema: dict[str, Any]) -> Question:
    return Question("data-input", response_schema=schema)


def shown(request: Request) -> dict[str, Any]:
    """The view, which Slack takes."""
    view = form(request, url=URL)
    assert view is not None
    SLACK._checked_view(view)
    assert mentions_in(view["blocks"]) == []
    return view


def inputs(request: Request) -> dict[str, dict[str, Any]]:
    """The blocks to fill in, by id."""
    return {block["block_id"]: block for block in shown(request)["blocks"] if block["type"] == "input"}


def element(declared: dict[str, Any], *required: str) -> dict[str, Any]:
    """The element of the one property `a`."""
    return inputs(schema_of(*required, a=declared))["field:0"]["element"]


def filled(request: Request, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """What Slack says once the blocks, by id, were filled in so; the others stay as they were first."""
    state: dict[str, Any] = {}
    given = given or {}
    blocks = inputs(request)
    assert given.keys() <= blocks.keys()
    for id, block in blocks.items():
        said = _filled(block["element"], given.get(id, _INITIAL))
        empty = all(value in (None, []) for name, value in said.items() if name != "type")
        assert block["optional"] or not empty, f"{id} is required"
        state[id] = {block["element"]["action_id"]: said}
    return state


def reply(request: Request, **given: Any) -> Reply:
    """Of what was filled in; `field_0` is the block `field:0`."""
    return reply_of(request, filled(request, {id.replace("_", ":"): value for id, value in given.items()}))


def data(declared: dict[str, Any], value: Any, *required: str) -> Any:
    """What becomes of the one property `a`; `ABSENT` where it is left out."""
    return reply(schema_of(*required, a=declared), field_0=value).data.get("a", ABSENT)


def answer(request: Request, said: Reply) -> Answer:
    return read_answer(request.question, text=said.text, data=said.data, validator=SCHEMAS)


def refused(request: Request, said: Reply) -> dict[str, str]:
    """What is wrong with it, by block."""
    with pytest.raises(Invalid) as refusal:
        answer(request, said)
    found = errors_at(request, refusal.value.errors)
    assert found
    assert found.keys() <= inputs(request).keys()
    return found


def words(options: list[dict[str, Any]]) -> list[str]:
    return [option["text"]["text"] for option in options]


FREE = asked(Question("clarification"))


class TestTheView:
    def test_whole(self) -> None:
        """What is asked, where all of it stands, and one field."""
        plain = {"type": "plain_text", "emoji": False}
        request = asked(Question("error-resolution"), "Use <prod> & go, @channel?")
        assert shown(request) == {
            "type": "modal",
            "callback_id": CALLBACK,
            "private_metadata": str(request.id),
            "title": {**plain, "text": "Error Resolution"},
            "submit": {**plain, "text": "Send"},
            "close": {**plain, "text": "Cancel"},
            "blocks": [
                {
                    "type": "section",
                    "text": {"type": "mrkdwn", "text": "Use &lt;prod&gt; &amp; go, @channel?", "verbatim": True},
                },
                {
                    "type": "context",
                    "elements": [
                        {
                            "type": "mrkdwn",
                            "text": f"<{URL}/requests/{request.id}|Open in Handraise>",
                            "verbatim": True,
                        }
                    ],
                },
                {
                    "type": "input",
                    "block_id": "text",
                    "label": {**plain, "text": "Answer"},
                    "element": {
                        "type": "plain_text_input",
                        "action_id": "value",
                        "multiline": True,
                        "max_length": 3000,
                    },
                    "optional": False,
                },
            ],
        }

    @pytest.mark.parametrize("type", [*REQUEST_TYPES, "my-own-type", "x" * 100])
    def test_title(self, type: str) -> None:
        """Is what the type is called."""
        assert shown(asked(Question(type)))["title"]["text"] == REQUEST_TYPES.get(type, "Answer")

    def test_long_message(self) -> None:
        """Is shown in part, and it is said how much is missing."""
        section, context = shown(asked(Question("clarification"), "x" * 2001))["blocks"][:2]
        assert section["text"]["text"] == "x" * 2000
        assert context["elements"][0]["text"].startswith("… 1 more character · <")

    @given(WRITTEN)
    @settings(max_examples=50, deadline=None)
    def test_any_message(self, message: str) -> None:
        """Makes a view, also where there is nothing to see in it."""
        shown(asked(Question("clarification"), message))

    @pytest.mark.parametrize(
        "question",
        [
            Question("clarification", secret=True),
            Question("approval", secret=True),
            question_of({"properties": {"a": {"type": "string", "format": "password"}}}),
            question_of({"properties": {"a": {"type": "string", "writeOnly": True}}}),
        ],
    )
    def test_sealed(self, question: Question) -> None:
        """What is confidential is not given in Slack."""
        assert form(asked(question), url=URL) is None


class TestText:
    @pytest.mark.parametrize("type", ["clarification", "data-input", "error-resolution", "my-own-type"])
    @pytest.mark.parametrize("text", ["012345", "  a\n b ", "<!channel> & co", "yes", '{"a": 1}', "🚀"])
    def test_kept_exactly(self, type: str, text: str) -> None:
        """Whatever it looks like."""
        request = asked(Question(type))
        assert reply(request, text=text) == Reply(text=text)
        assert answer(request, reply(request, text=text)) == Answer("answered", text=text)

    def test_review(self) -> None:
        """Takes the feedback, since approving has its button."""
        request = asked(Question("review"))
        assert inputs(request)["text"]["label"]["text"] == "Feedback"
        assert answer(request, reply(request, text="Shorter.")) == Answer("rejected", text="Shorter.")

    def test_blank(self) -> None:
        """Is refused where it was typed."""
        assert refused(FREE, reply(FREE, text=" ")) == {"text": "The answer is empty. Write an answer."}


class TestApproval:
    REQUEST = asked(Question("approval", labels=Labels("Ship <it>", "Hold")))

    def test_decided_with_a_note(self) -> None:
        """By either label."""
        assert words(inputs(self.REQUEST)["approved"]["element"]["options"]) == ["Ship &lt;it&gt;", "Hold"]
        assert answer(self.REQUEST, reply(self.REQUEST, approved="0", note="012")) == Answer(
            "approved", data={"approved": True, "note": "012"}
        )
        assert answer(self.REQUEST, reply(self.REQUEST, approved="1", note="Later.")) == Answer(
            "rejected", data={"approved": False, "note": "Later."}
        )

    def test_without_a_note(self) -> None:
        """There is none, rather than an empty one."""
        assert reply(self.REQUEST, approved="1") == Reply(data={"approved": False})

    def test_undecided(self) -> None:
        """Is refused at the decision."""
        assert refused(self.REQUEST, reply_of(self.REQUEST, {})) == {"approved": "This must be true or false."}

    def test_labels_that_look_the_same(self) -> None:
        """Cannot be shown."""
        labels = Labels("x" * 80, "x" * 79 + "y")
        assert form(asked(Question("approval", labels=labels)), url=URL) is None


class TestOptions:
    def test_the_chosen_one_exactly(self) -> None:
        """However much of it is shown."""
        options = ("Staging", "Production & <all>", "x" * 100, " 1 ")
        request = asked(Question("clarification", options=options))
        assert words(inputs(request)["text"]["element"]["options"]) == [
            "Staging",
            "Production &amp; &lt;all&gt;",
            "x" * 74 + "…",
            "1",
        ]
        for index, option in enumerate(options):
            said = reply(request, text=str(index))
            assert said == Reply(text=option)
            assert answer(request, said) == Answer("answered", text=option, data={"index": index, "option": option})

    def test_as_many_as_there_may_be(self) -> None:
        """Are all there."""
        request = asked(Question("approval", options=tuple(f"Option {n}" for n in range(MAX_OPTIONS))))
        assert len(inputs(request)["text"]["element"]["options"]) == MAX_OPTIONS

    def test_that_look_the_same(self) -> None:
        """Cannot be shown: nobody could tell which is chosen."""
        assert form(asked(Question("clarification", options=("x" * 99, "x" * 100))), url=URL) is None

    @given(st.lists(WRITTEN, min_size=1, max_size=4, unique=True))
    @settings(max_examples=50, deadline=None)
    def test_any_texts(self, options: list[str]) -> None:
        """Can be shown and chosen, or there is no modal."""
        request = asked(Question("clarification", options=tuple(options)))
        if form(request, url=URL) is not None:
            assert reply(request, text=str(len(options) - 1)) == Reply(text=options[-1])


class TestWhatIsShown:
    @pytest.mark.parametrize(
        ("declared", "expected"),
        [
            ({"type": "string"}, {"type": "plain_text_input", "multiline": True, "max_length": 3000}),
            (
                {"type": "string", "maxLength": 150},
                {"type": "plain_text_input", "multiline": False, "max_length": 150},
            ),
            ({"type": "string", "maxLength": 151}, {"type": "plain_text_input", "multiline": True, "max_length": 151}),
            (
                {"type": "string", "minLength": 2.0, "maxLength": 9999},
                {"type": "plain_text_input", "multiline": True, "max_length": 3000, "min_length": 2},
            ),
            (
                {"type": "string", "minLength": 0, "maxLength": 0},
                {"type": "plain_text_input", "multiline": False, "max_length": 3000},
            ),
            (
                {"type": "string", "minLength": 9, "maxLength": 3},
                {"type": "plain_text_input", "multiline": False, "max_length": 3},
            ),
            (
                {"type": "string", "format": "uri"},
                {"type": "plain_text_input", "multiline": False, "max_length": 3000},
            ),
            ({"type": "string", "format": "date"}, {"type": "datepicker"}),
            ({"type": "string", "format": "date-time"}, {"type": "datetimepicker"}),
            ({"type": "string", "format": "email"}, {"type": "email_text_input"}),
            ({"type": "integer"}, {"type": "number_input", "is_decimal_allowed": False}),
            ({"type": "number"}, {"type": "number_input", "is_decimal_allowed": True}),
            (
                {"type": "number", "minimum": -0.50, "maximum": 1e3},
                {"type": "number_input", "is_decimal_allowed": True, "min_value": "-0.5", "max_value": "1000"},
            ),
            (
                {"type": "integer", "minimum": 0.5, "maximum": 9.5},
                {"type": "number_input", "is_decimal_allowed": False, "min_value": "1", "max_value": "9"},
            ),
            ({"type": "integer", "minimum": 9, "maximum": 1}, {"type": "number_input", "is_decimal_allowed": False}),
            (
                {"type": "number", "minimum": -1e300, "maximum": 1e-300},
                {"type": "number_input", "is_decimal_allowed": True},
            ),
        ],
    )
    def test_elements(self, declared: dict[str, Any], expected: dict[str, Any]) -> None:
        """With the limits of the schema, as far as Slack takes them."""
        assert element(declared) == {**expected, "action_id": "value"}

    def test_booleans(self) -> None:
        """Are yes or no."""
        found = element({"type": "boolean"})
        assert (found["type"], words(found["options"])) == ("static_select", ["Yes", "No"])

    def test_enums(self) -> None:
        """Whatever values they hold."""
        found = element({"enum": ["a", "", 1, 2.5, True, None, "x" * 100]})
        assert found["type"] == "static_select"
        assert words(found["options"]) == ["a", "(empty)", "1", "2.5", "true", "null", "x" * 74 + "…"]

    def test_titled_constants(self) -> None:
        """By their titles, or as they are."""
        found = element({"type": "string", "oneOf": [{"const": "eu", "title": "Europe"}, {"const": "us"}]})
        assert (found["type"], words(found["options"])) == ("static_select", ["Europe", "us"])

    @pytest.mark.parametrize(
        ("limits", "expected"), [({}, None), ({"maxItems": 1}, 1), ({"maxItems": 2}, None), ({"maxItems": 0}, None)]
    )
    def test_lists(self, limits: dict[str, Any], expected: int | None) -> None:
        """Of choices, as many as may be chosen."""
        found = element({"type": "array", "items": {"enum": ["a", "b"]}, **limits})
        assert (found["type"], words(found["options"])) == ("multi_static_select", ["a", "b"])
        assert found.get("max_selected_items") == expected

    def test_labels_and_hints(self) -> None:
        """Title or name, and the description; there is always a label."""
        blocks = inputs(
            asked(
                question_of(
                    {
                        "required": ["b"],
                        "properties": {
                            "a": {"type": "string", "title": "A & <b>\nc", "description": "One\n<two> " + "x" * 3000},
                            "b": {"type": "string", "title": " ", "description": ""},
                            "\u200b": {"type": "string"},
                        },
                    }
                )
            )
        )
        assert list(blocks) == ["field:0", "field:1", "field:2"]
        assert [block["label"]["text"] for block in blocks.values()] == ["A &amp; &lt;b&gt; c", "b", "Field 3"]
        assert blocks["field:0"]["hint"]["text"].startswith("One\n&lt;two&gt;")
        assert [("hint" in block, block["optional"]) for block in blocks.values()] == [
            (True, True),
            (False, False),
            (False, True),
        ]

    def test_no_emoji_are_made(self) -> None:
        """Of what stands between colons."""
        view = shown(schema_of(a={"enum": [":a:"], "title": ":b:", "description": ":c:"}))
        assert all(text["emoji"] is False for text in texts(view) if text["type"] == "plain_text")

    def test_forty_properties(self) -> None:
        """And no more."""
        assert len(inputs(schema_of(**{f"a{n}": {"type": "string"} for n in range(40)}))) == 40
        assert form(schema_of(**{f"a{n}": {"type": "string"} for n in range(41)}), url=URL) is None

    def test_a_hundred_choices(self) -> None:
        """And no more."""
        assert len(element({"enum": list(range(100))})["options"]) == 100
        assert form(schema_of(a={"enum": list(range(101))}), url=URL) is None

    def test_a_view_larger_than_slack_takes(self) -> None:
        """Is none."""
        choices = [f"{n} {'x' * 70}" for n in range(100)]
        assert form(schema_of(**{f"a{n}": {"enum": choices} for n in range(40)}), url=URL) is None

    @pytest.mark.parametrize(
        "declared",
        [
            True,
            {},
            {"type": "null"},
            {"type": "object", "properties": {"b": {"type": "string"}}},
            {"type": ["string", "integer"]},
            {"type": ["string", "integer", "null"]},
            {"$ref": "#/$defs/a"},
            {"const": "a"},
            {"type": "string", "anyOf": [{"minLength": 1}]},
            {"type": "string", "allOf": [{"minLength": 1}]},
            {"type": "string", "not": {"const": "a"}},
            {"type": "string", "if": {"minLength": 1}, "then": {"maxLength": 5}},
            {"type": "string", "contentEncoding": "base64"},
            {"type": "string", "format": "data-url"},
            {"type": "string", "readOnly": True},
            {"type": "string", "minLength": 3001},
            {"enum": ["a", ["b"]]},
            {"enum": ["1", 1]},
            {"enum": ["a"], "oneOf": [{"const": "a"}]},
            {"oneOf": [{"const": "a"}, {"type": "string"}]},
            {"oneOf": [{"const": "a", "title": "Same"}, {"const": "b", "title": "Same"}]},
            {"oneOf": [{"const": "a", "minLength": 3}]},
            {"type": "array"},
            {"type": "array", "items": {"type": "string"}},
            {"type": "array", "items": {"$ref": "#/$defs/a"}},
            {"type": "array", "items": {"enum": ["a"]}, "contains": {"const": "a"}},
            {"type": "array", "prefixItems": [{"enum": ["a"]}], "items": {"enum": ["a"]}},
        ],
    )
    def test_properties_that_are_not(self, declared: Any) -> None:
        """One that Slack cannot show, and nothing is."""
        schema = {"$defs": {"a": {"enum": ["a"]}}, "properties": {"b": {"type": "string"}, "a": declared}}
        assert SCHEMAS.check(schema) == []
        assert form(asked(question_of(schema)), url=URL) is None

    @pytest.mark.parametrize(
        "change",
        [
            {"properties": {}},
            {"type": "array"},
            {"type": ["object", "null"]},
            {"required": ["a", "other"]},
            {"$ref": "#/$defs/a"},
            {"allOf": [{"required": ["a"]}]},
            {"anyOf": [{"required": ["a"]}]},
            {"oneOf": [{"required": ["a"]}]},
            {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
            {"not": {"required": ["a"]}},
            {"dependentRequired": {"a": ["b"]}},
            {"dependentSchemas": {"a": {"required": ["b"]}}},
            {"patternProperties": {"^x": {"type": "string"}}},
            {"propertyNames": {"maxLength": 3}},
            {"enum": [{"a": "b"}]},
        ],
    )
    def test_forms_that_are_not(self, change: dict[str, Any]) -> None:
        """More than a list of fields."""
        schema = {"$defs": {"a": {}}, "properties": {"a": {"type": "string"}, "b": {"type": "string"}}} | change
        assert SCHEMAS.check(schema) == []
        request = asked(question_of(schema))
        assert form(request, url=URL) is None
        assert reply_of(request, {}) == Reply()
        assert errors_at(request, [FieldError("data/a", "This is wrong.")]) == {}

    @pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "string"}])
    def test_no_fields(self, schema: dict[str, Any]) -> None:
        """Nothing to show."""
        assert form(asked(question_of(schema)), url=URL) is None


class TestDefaults:
    @pytest.mark.parametrize(
        ("declared", "name", "value"),
        [
            ({"type": "string", "default": "a\n<b>"}, "initial_value", "a\n<b>"),
            ({"type": "string", "format": "date", "default": "2026-02-28"}, "initial_date", "2026-02-28"),
            (
                {"type": "string", "format": "date-time", "default": "2026-03-02T11:00:00+02:00"},
                "initial_date_time",
                1772442000,
            ),
            ({"type": "string", "format": "email", "default": "a.b@c.test"}, "initial_value", "a.b@c.test"),
            ({"type": "integer", "default": 5.0, "minimum": 5}, "initial_value", "5"),
            ({"type": "number", "default": -0.50}, "initial_value", "-0.5"),
            ({"type": "number", "default": -0.0}, "initial_value", "0"),
        ],
    )
    def test_stand_there_first(self, declared: dict[str, Any], name: str, value: Any) -> None:
        """Where the element can have them."""
        assert element(declared)[name] == value

    @pytest.mark.parametrize(
        "declared",
        [
            {"type": "string", "default": ""},
            {"type": "string", "default": 5},
            {"type": "string", "default": "abc", "maxLength": 2},
            {"type": "string", "default": "🚀🚀", "maxLength": 3},
            {"type": "string", "default": "abc", "minLength": 4},
            {"type": "string", "default": "x" * 3001},
            {"type": "string", "default": "a\nb", "maxLength": 100},
            {"type": "string", "default": "a\r\nb"},
            {"type": "string", "format": "date", "default": "2026-02-30"},
            {"type": "string", "format": "date", "default": "20260228"},
            {"type": "string", "format": "date-time", "default": "2026-03-02T11:00:00"},
            {"type": "string", "format": "date-time", "default": "1999-03-02T11:00:00Z"},
            {"type": "string", "format": "date-time", "default": "2026-03-02T11:00:00.5Z"},
            {"type": "string", "format": "date-time", "default": "0001-01-01T00:00:00+23:00"},
            {"type": "string", "format": "date-time", "default": "tomorrow"},
            {"type": "string", "format": "email", "default": "somebody"},
            {"type": "integer", "default": 1.5},
            {"type": "integer", "default": True},
            {"type": "integer", "default": "5"},
            {"type": "integer", "default": 4, "minimum": 5},
            {"type": "number", "default": 6, "maximum": 5},
            {"type": "number", "default": 1e300},
            {"type": "number", "default": 1e-300},
            {"type": "boolean", "default": 1},
            {"enum": ["a"], "default": "b"},
            {"enum": [1], "default": True},
            {"type": "array", "items": {"enum": ["a"]}, "default": []},
            {"type": "array", "items": {"enum": ["a"]}, "default": ["a", "b"]},
            {"type": "array", "items": {"enum": ["a"]}, "default": ["a", "a"]},
            {"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 1, "default": ["a", "b"]},
        ],
    )
    def test_are_left_out(self, declared: dict[str, Any]) -> None:
        """Where Slack would refuse or change them."""
        assert [name for name in element(declared) if name.startswith("initial")] == []

    @pytest.mark.parametrize(
        ("declared", "value"),
        [
            ({"type": "string", "default": "012"}, "012"),
            ({"type": "string", "format": "date", "default": "2026-02-28"}, "2026-02-28"),
            ({"type": "string", "format": "date-time", "default": "2026-03-02T09:00:30Z"}, "2026-03-02T09:00:30Z"),
            ({"type": "integer", "default": 0}, 0),
            ({"type": "number", "default": 0.1}, 0.1),
            ({"type": "boolean", "default": False}, False),
            ({"enum": ["a", None], "default": None}, None),
            ({"oneOf": [{"const": "a", "title": "A"}], "default": "a"}, "a"),
            ({"type": "array", "items": {"enum": [1, 2, 3]}, "default": [3, 1]}, [3, 1]),
        ],
    )
    def test_come_back(self, declared: dict[str, Any], value: Any) -> None:
        """Where nobody changes them."""
        request = schema_of("a", a=declared)
        assert answer(request, reply(request)).data == {"a": value}


class TestReadBack:
    @pytest.mark.parametrize("text", ["012345", " a\nb ", "<&>", "true", "null", "1e400"])
    def test_strings(self, text: str) -> None:
        """Exactly as typed."""
        assert data({"type": "string"}, text) == text

    @pytest.mark.parametrize(
        ("kind", "typed", "value"),
        [
            ("integer", "12", 12),
            ("integer", "-0012", -12),
            ("integer", " 7 ", 7),
            ("integer", "12.0", 12.0),
            ("integer", "9" * 100, int("9" * 100)),
            ("number", "12", 12),
            ("number", "12.50", 12.5),
            ("number", "-1.5e3", -1500.0),
        ],
    )
    def test_numbers(self, kind: str, typed: str, value: float) -> None:
        """The number that was typed."""
        request = schema_of("a", a={"type": kind})
        found = answer(request, reply(request, field_0=typed)).data["a"]
        assert (found, type(found)) == (value, type(value))

    @pytest.mark.parametrize(
        "typed",
        [
            *("NaN", "inf", "1e400", "1e99999999999999999999", "1e-400", "9" * 5000, "0." + "1" * 101, "1_000"),
            *("1,5", "٣", "0x1f", "--1", " ", "0.12345678901234567890123"),
        ],
    )
    @pytest.mark.parametrize("kind", ["integer", "number"])
    def test_no_numbers(self, kind: str, typed: str) -> None:
        """Stay as typed, and are refused there."""
        request = schema_of("a", a={"type": kind})
        said = reply(request, field_0=typed)
        assert said.data == {"a": typed}
        assert refused(request, said)["field:0"].startswith("This must be ")

    def test_a_fraction_is_no_whole_number(self) -> None:
        """It is refused, not rounded."""
        request = schema_of("a", a={"type": "integer"})
        assert refused(request, reply(request, field_0="12.5")) == {"field:0": "This must be a whole number."}

    @pytest.mark.parametrize(
        ("declared", "given", "value"),
        [
            ({"type": "string", "format": "date"}, "2026-03-02", "2026-03-02"),
            ({"type": "string", "format": "date-time"}, 1772442000, "2026-03-02T09:00:00Z"),
            ({"type": "string", "format": "email"}, "a@b.test", "a@b.test"),
            ({"type": "boolean"}, "0", True),
            ({"type": "boolean"}, "1", False),
            ({"enum": ["a", "1", 2, 2.5, False, None]}, "1", "1"),
            ({"enum": ["a", "1", 2, 2.5, False, None]}, "2", 2),
            ({"enum": ["a", "1", 2, 2.5, False, None]}, "4", False),
            ({"enum": ["a", "1", 2, 2.5, False, None]}, "5", None),
            ({"type": "string", "enum": ["x" * 100]}, "0", "x" * 100),
            ({"oneOf": [{"const": "eu", "title": "Europe"}, {"const": "us"}]}, "0", "eu"),
            ({"type": "array", "items": {"enum": ["a", 1, None]}}, ["2", "0"], [None, "a"]),
            ({"type": "array", "items": {"oneOf": [{"const": 7, "title": "Seven"}]}}, ["0"], [7]),
            ({"type": ["string", "null"]}, "null", "null"),
            ({"type": ["null", "integer"]}, "3", 3),
        ],
    )
    def test_values(self, declared: dict[str, Any], given: Any, value: Any) -> None:
        """The very value of the schema, and the real check agrees."""
        request = schema_of("a", a=declared)
        found = answer(request, reply(request, field_0=given)).data
        assert json.dumps(found) == json.dumps({"a": value})

    @pytest.mark.parametrize(
        ("declared", "nothing"),
        [
            ({"type": "string"}, None),
            ({"type": "string"}, ""),
            ({"type": "string", "format": "date"}, None),
            ({"type": "string", "format": "date-time"}, None),
            ({"type": "string", "format": "email"}, ""),
            ({"type": "integer"}, ""),
            ({"type": ["integer", "null"]}, ""),
            ({"type": "boolean"}, None),
            ({"enum": ["a"]}, None),
            ({"type": "array", "items": {"enum": ["a"]}}, []),
        ],
    )
    def test_what_is_left_empty(self, declared: dict[str, Any], nothing: Any) -> None:
        """Is left out."""
        assert data(declared, nothing) is ABSENT

    @pytest.mark.parametrize(
        ("declared", "nothing", "value"),
        [
            ({"type": ["string", "null"]}, "", None),
            ({"type": ["boolean", "null"]}, None, None),
            ({"type": "array", "items": {"enum": ["a"]}}, [], []),
            ({"type": ["array", "null"], "minItems": 1, "items": {"enum": ["a"]}}, [], None),
        ],
    )
    def test_a_required_nothing(self, declared: dict[str, Any], nothing: Any, value: Any) -> None:
        """Is null or an empty list, where one of them may be the answer."""
        request = schema_of("a", a=declared)
        assert inputs(request)["field:0"]["optional"] is True
        assert answer(request, reply(request, field_0=nothing)).data == {"a": value}

    def test_a_required_list_of_some(self) -> None:
        """Has to be filled in."""
        request = schema_of("a", a={"type": "array", "minItems": 1, "items": {"enum": ["a"]}})
        assert inputs(request)["field:0"]["optional"] is False

    def test_the_outcome(self) -> None:
        """Comes from the field `approved`, as anywhere."""
        request = schema_of("approved", approved={"type": "boolean"})
        assert answer(request, reply(request, field_0="1")) == Answer("rejected", data={"approved": False})


KINDS = [
    {"type": "string"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "date-time"},
    {"type": "integer"},
    {"type": "boolean"},
    {"type": "array", "items": {"enum": ["a", 1]}},
]
EVERY_KIND = schema_of(**{f"a{n}": declared for n, declared in enumerate(KINDS)})
REQUESTS = [FREE, TestApproval.REQUEST, asked(Question("clarification", options=("a", "b"))), EVERY_KIND]
IDS = ["text", "approved", "note", *(f"field:{n}" for n in range(len(KINDS)))]
KEYS = ["value", "selected_date", "selected_date_time", "selected_option", "selected_options"]


class TestFromOutside:
    @pytest.mark.parametrize(
        "state",
        [
            None,
            {},
            {"value": None},
            {"value": {"value": 5}},
            {"value": {"value": ["a"], "selected_option": "0", "selected_options": "0", "selected_date": 5}},
            {"value": {"selected_option": {"value": "99"}, "selected_options": [{"value": "99"}, None, 5]}},
            {"value": {"selected_option": {"value": ["0"]}, "selected_options": {"value": "0"}}},
            {"value": {"selected_date_time": True, "selected_date": ""}},
            {"value": {"selected_date_time": 10**30}},
            {"value": {"selected_date_time": -(10**12)}},
            {"value": {"selected_date_time": "1772442000"}},
        ],
    )
    def test_what_makes_no_sense(self, state: Any) -> None:
        """Is not given."""
        found = [reply_of(request, dict.fromkeys(IDS, state)) for request in REQUESTS]
        assert found == [Reply(), Reply(data={}), Reply(), Reply(data={})]

    @given(st.dictionaries(st.sampled_from(KEYS), JUNK), JUNK)
    @settings(deadline=None)
    def test_anything(self, state: dict[str, Any], junk: Any) -> None:
        """Is read, and is an answer or refused."""
        for values in ({id: {"value": state} for id in IDS}, dict.fromkeys(IDS, junk), {"field:0": {"value": junk}}):
            for request in REQUESTS:
                with suppress(Invalid):
                    answer(request, reply_of(request, values))

    @given(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["string", "integer", "number", "boolean", "array", ["string", "null"]]),
                "format": st.sampled_from(["date", "date-time", "email", "uri"]),
                "title": WRITTEN,
                "description": WRITTEN,
                "default": st.one_of(SCALARS, st.lists(SCALARS, max_size=2)),
                "enum": st.lists(SCALARS, min_size=1, max_size=4),
                "items": st.fixed_dictionaries({"enum": st.lists(SCALARS, min_size=1, max_size=4)}),
                "minimum": st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
                "maximum": st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
                "minLength": st.integers(0, 4000),
                "maxLength": st.integers(0, 4000),
                "maxItems": st.integers(0, 5),
            },
        ),
        WRITTEN,
    )
    @settings(deadline=None)
    def test_any_form(self, declared: dict[str, Any], name: str) -> None:
        """Makes a view that Slack takes, with its own limits in order, or none; defaults can be read back."""
        request = asked(question_of({"properties": {name: declared}}))
        if form(request, url=URL) is None:
            return
        found = inputs(request)["field:0"]["element"]
        first = found.get("initial_value")
        if found["type"] == "plain_text_input":
            assert found.get("min_length", 0) <= found["max_length"]
            assert first is None or found.get("min_length", 0) <= len(first) <= found["max_length"]
        if found["type"] == "number_input":
            least, most = float(found.get("min_value", "-inf")), float(found.get("max_value", "inf"))
            assert least <= (least if first is None else float(first)) <= most
            assert all("e" not in str(found.get(name, "")).lower() for name in ("min_value", "max_value"))
        assert reply_of(request, filled(request)).data.keys() <= {name}


class TestErrors:
    FORM = schema_of("a", "b/c", a={"type": "string"}, **{"b/c": {"type": "array", "items": {"enum": ["x", "y"]}}})

    def test_stand_at_their_fields(self) -> None:
        """Those of the items of a list and of missing fields too, whatever the field is called."""
        request = schema_of("a~", "b", **{"a~": {"type": "string", "pattern": "^x"}, "b": {"type": "boolean"}})
        assert refused(request, Reply(data={"a~": "y"})) == {
            "field:0": "This must match the pattern ^x",
            "field:1": "This field is required.",
        }
        found = refused(self.FORM, Reply(data={"a": "z", "b/c": ["x", "z"]}))
        assert found == {"field:1": "Choose one of: x, y"}

    @pytest.mark.parametrize("path", ["", "data", "text"])
    def test_of_the_whole(self, path: str) -> None:
        """Stand at the first field."""
        for request in REQUESTS:
            first = next(iter(inputs(request)))
            assert errors_at(request, [FieldError(path, "This is wrong.")]) == {first: "This is wrong."}

    def test_of_what_is_not_shown(self) -> None:
        """Stand at the first field, with the name."""
        request = asked(question_of({"additionalProperties": False, "properties": {"ab": {"type": "string"}}}))
        assert refused(request, Reply(data={"a": 1})) == {"field:0": "a: There is no such field here."}

    def test_several_at_one_field(self) -> None:
        """Are all said, each once."""
        errors = [FieldError("data/a", "One."), FieldError("", "Two."), FieldError("data/a", "One.")]
        assert errors_at(self.FORM, errors) == {"field:0": "One. Two."}

    def test_are_cut(self) -> None:
        """Where they are too long for Slack."""
        assert errors_at(FREE, [FieldError("text", "x" * 151)]) == {"text": "x" * 149 + "…"}

    def test_nothing_wrong(self) -> None:
        """Is nowhere."""
        assert errors_at(FREE, []) == {}

    @given(st.lists(st.builds(FieldError, st.one_of(TEXTS, st.sampled_from(["data/a/0", "data/b~1c"])), TEXTS)))
    @settings(max_examples=50, deadline=None)
    def test_any(self, errors: list[FieldError]) -> None:
        """Are said somewhere that is there."""
        for request in (FREE, self.FORM):
            found = errors_at(request, errors)
            assert bool(found) == bool(errors)
            assert found.keys() <= {"text", "field:0", "field:1"}
            assert all(len(said) <= 150 for said in found.values())
