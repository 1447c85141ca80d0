"""Answering in the browser: what is filled in is what is stored, to the type; nothing is made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.support.postgres import TestServer
from tests.support.web import Web, web_server
from tests.web.answering import exactly, field, opened, send, stored


@pytest.fixture(scope="module")
def server(
    browser: Browser, postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Web]:
    """One server for all of these tests: each asks its own question."""
    database = postgres.run(postgres.create_database(template))
    with web_server(browser, tmp_path_factory.mktemp("forms"), database) as web:
        yield web
    postgres.run(postgres.drop_database(database))


@pytest.fixture
def web(server: Web) -> Iterator[Web]:
    yield server
    for context in server.browser.contexts:
        context.close()
    assert not server.faults


def form(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required or [], "properties": properties}


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string"} | more


def branch(title: str, type: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "additionalProperties": False} | form(["type", "args"], type={"const": type}, args=args)


DRAFT = {"to": ["c@e.test"], "cc": [], "subject": "Re: terms ✍️", "content": "Hi,\n\nThursday works."}
ADDRESSES = {"type": "array", "items": text(format="email")}

# What agents make of an interrupt of their framework: one of four actions, with what belongs to it.
P1 = {
    "title": "What shall be done?",
    "oneOf": [
        branch("Accept", "accept", {"type": "null"}),
        branch("Ignore", "ignore", {"type": "null"}),
        branch("Respond", "response", text(title="Reply", minLength=1)),
        branch(
            "Edit",
            "edit",
            form(
                ["action", "args"],
                action={"const": "send_email_draft"},
                args=form(
                    ["to", "cc", "subject", "content"],
                    to=ADDRESSES | {"default": DRAFT["to"]},
                    cc=ADDRESSES | {"default": DRAFT["cc"]},
                    subject=text(default=DRAFT["subject"]),
                    content=text(default=DRAFT["content"]),
                ),
            ),
        ),
    ],
}
P1_HINTS = {
    "oneOf": [{}, {}, {"args": {"ui:widget": "textarea"}}, {"args": {"args": {"content": {"ui:widget": "textarea"}}}}]
}
P2 = form(["a", "b"], a={"type": "integer", "default": 2}, b={"type": "number", "default": 3})
P3 = form(
    ["auth", "features"],
    auth=text(oneOf=[{"const": "oauth", "title": "OAuth (Recommended)"}, {"const": "pw", "title": "Password"}]),
    features={
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "items": {"anyOf": [{"const": "api", "title": "API endpoints"}, {"const": "tests", "title": "Unit tests"}]},
    },
    other=text(title="Other"),
)
P4 = form(
    pick={"enum": ["a", "b", 3, True]},
    revenue={"type": "number", "minimum": 0, "maximum": 1_000_000},
    period={"type": "object", "properties": {"from": text(format="date"), "to": text(format="date")}},
    rating={"type": "integer", "minimum": 0, "maximum": 100, "multipleOf": 5},
)
P5 = form(
    ["color"],
    color={
        "type": ["number", "null"],
        "oneOf": [
            {"const": 0, "title": "Red"},
            {"const": 1, "title": "Green"},
            {"const": 2, "title": "Blue"},
            {"const": None, "title": "None"},
        ],
    },
)
P6 = {
    "oneOf": [
        form(["increment"], increment={"type": "object"}) | {"additionalProperties": False},
        form(["reset"], reset=form(["count"], count={"type": "integer", "format": "int32"}))
        | {"additionalProperties": False},
    ]
}
P7 = form(["code"], code=text(pattern="^[0-9]{6}$", title="6-digit code sent to your e-mail"))
P8 = form(
    ["offline", "window"],
    offline={"type": "boolean", "const": True, "title": "I accept 10 min downtime"},
    window=text(format="date-time"),
    day=text(pattern=r"^\d{4}-\d{2}-\d{2}$"),
)
RULE = form(["field", "value"], field=text(), operator=text(), value=text()) | {"additionalProperties": False}
P9 = {
    "$defs": {
        "filter": form(
            ["operator", "rules"],
            operator={"enum": ["and", "or"]},
            rules={"type": "array", "items": {"oneOf": [RULE, {"$ref": "#/$defs/filter"}]}},
        )
    }
} | form(
    steps={
        "type": "array",
        "items": form(actions={"type": "array", "items": form(value={"$ref": "#/$defs/filter"})}),
    }
)


@pytest.mark.parametrize(
    ("title", "type"), [("Accept", "accept"), ("Ignore", "ignore")], ids=lambda value: str(value).lower()
)
def test_p1_an_action_without_arguments_is_stored_with_null(web: Web, title: str, type: str) -> None:
    """Choosing an action says its name and, where it takes none, that there are no arguments."""
    page, id = opened(web, response_schema=P1)
    page.get_by_role("radio", name=title).check()
    assert exactly(stored(web, id, send(page))["data"]) == exactly({"type": type, "args": None})


def test_p1_a_reply_is_stored_as_text(web: Web) -> None:
    """The arguments of a reply are the text itself, with its line breaks."""
    page, id = opened(web, response_schema=P1, ui_schema=P1_HINTS)
    page.get_by_role("radio", name="Respond").check()
    field(page, "Reply").fill("No.\nAsk Karl.")
    assert stored(web, id, send(page))["data"] == {"type": "response", "args": "No.\nAsk Karl."}


def test_p1_an_edited_draft_keeps_what_was_not_edited(web: Web) -> None:
    """The draft is there to be changed: lists stay lists, and an empty one stays empty."""
    page, id = opened(web, response_schema=P1, ui_schema=P1_HINTS)
    page.get_by_role("radio", name="Edit").check()
    page.get_by_role("radio", name="send_email_draft").check()
    field(page, "Subject").fill("Re: terms, again")
    page.get_by_role("button", name="Add to To").click()
    field(page, "To: Item 2").fill("d@e.test")
    assert stored(web, id, send(page))["data"] == {
        "type": "edit",
        "args": {
            "action": "send_email_draft",
            "args": DRAFT | {"to": ["c@e.test", "d@e.test"], "subject": "Re: terms, again"},
        },
    }


def test_p2_numbers_stay_numbers(web: Web) -> None:
    """A number that was typed over is a number, and so is one that was left as it was."""
    page, id = opened(web, response_schema=P2)
    field(page, "A").fill("4")
    assert exactly(stored(web, id, send(page))["data"]) == exactly({"a": 4, "b": 3})


def test_p3_titled_options_are_stored_by_value(web: Web) -> None:
    """Titles are shown and values kept; at least one box must be ticked; a field left empty is left out."""
    page, id = opened(web, response_schema=P3)
    page.get_by_role("radio", name="OAuth (Recommended)").check()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("group", name="Features")).to_contain_text("Give at least 1 item.")
    page.get_by_role("checkbox", name="Unit tests").check()
    page.get_by_role("checkbox", name="API endpoints").check()
    assert stored(web, id, send(page))["data"] == {"auth": "oauth", "features": ["api", "tests"]}


@pytest.mark.parametrize(("label", "value"), [("a", "a"), ("3", 3), ("true", True)], ids=["text", "number", "boolean"])
def test_p4_a_choice_keeps_its_type(web: Web, label: str, value: Any) -> None:
    """A list of choices may mix types; money and dates are kept as they were typed."""
    page, id = opened(web, response_schema=P4)
    page.get_by_role("radio", name=label, exact=True).check()
    field(page, "Revenue").fill("1234.50")
    field(page, "From").fill("2026-03-01")
    field(page, "Rating").fill("45")
    assert exactly(stored(web, id, send(page))["data"]) == exactly(
        {"pick": value, "revenue": 1234.5, "period": {"from": "2026-03-01"}, "rating": 45}
    )


@pytest.mark.parametrize(("label", "value"), [("Red", 0), ("None", None)])
def test_c33_p5_the_chosen_value_is_stored_and_not_its_label(web: Web, label: str, value: Any) -> None:
    """None is JSON's null and Red the number 0; with nothing chosen nothing is sent."""
    page, id = opened(web, response_schema=P5)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("radiogroup", name="Color")).to_contain_text("This field is required.")
    page.get_by_role("radio", name=label).check()
    assert exactly(stored(web, id, send(page))["data"]) == exactly({"color": value})


def test_p6_a_branch_is_chosen_by_hand(web: Web) -> None:
    """Nothing is chosen at first; the branch with nothing to fill in is stored as such."""
    page, id = opened(web, response_schema=P6)
    for radio in page.get_by_role("radio").all():
        expect(radio).not_to_be_checked()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Choose one of these.")).to_be_visible()
    page.get_by_role("radio", name="Reset").check()
    field(page, "Count").fill("7")
    page.get_by_role("radio", name="Increment").check()
    assert stored(web, id, send(page))["data"] == {"increment": {}}


def test_p6_the_other_branch_takes_a_whole_number(web: Web) -> None:
    """A field of the chosen branch is kept as the type that it has."""
    page, id = opened(web, response_schema=P6)
    page.get_by_role("radio", name="Reset").check()
    field(page, "Count").fill("0")
    assert exactly(stored(web, id, send(page))["data"]) == exactly({"reset": {"count": 0}})


def test_c38_p7_a_code_keeps_its_zeros(web: Web) -> None:
    """Digits are text; Enter sends a form that has one field only."""
    page, id = opened(web, response_schema=P7)
    page.get_by_label("6-digit code").fill("012345")
    with page.expect_response("**/respond") as replied:
        page.keyboard.press("Enter")
    assert stored(web, id, replied.value)["data"] == {"code": "012345"}


def test_c38_free_text_keeps_its_zeros(web: Web) -> None:
    """Free text is stored exactly as it was typed."""
    page, id = opened(web)
    field(page, "Answer").fill("012345")
    assert stored(web, id, send(page))["text"] == "012345"


def test_p8_consent_must_be_ticked(web: Web) -> None:
    """A box that must be true is refused unticked, at the box; the time carries its offset."""
    page, id = opened(web, response_schema=P8, browser={"timezone_id": "Asia/Kolkata"})
    field(page, "Window").fill("2026-07-01T09:00")
    page.get_by_role("button", name="Send", exact=True).click()
    box = page.get_by_role("checkbox", name="I accept 10 min downtime")
    expect(page.get_by_text("This must be ticked.")).to_be_visible()
    expect(box).to_be_focused()
    box.check()
    assert exactly(stored(web, id, send(page))["data"]) == exactly(
        {"offline": True, "window": "2026-07-01T09:00:00+05:30"}
    )


def test_p9_lists_in_lists_and_a_form_within_itself(web: Web) -> None:
    """Rules may hold filters, which hold rules: each is chosen and filled in where it stands."""
    page, id = opened(web, response_schema=P9)
    page.get_by_role("button", name="Add to Steps").click()
    page.get_by_role("button", name="Add to Actions").click()
    page.get_by_role("radio", name="or", exact=True).check()
    page.get_by_role("button", name="Add to Rules").click()
    page.get_by_role("radio", name="Field, Value").check()
    field(page, "Field").fill("age")
    field(page, "Value").fill("007")
    page.get_by_role("button", name="Add to Rules").click()
    page.get_by_role("radio", name="Operator, Rules").last.check()
    page.get_by_role("radio", name="and", exact=True).last.check()
    rules = [{"field": "age", "value": "007"}, {"operator": "and", "rules": []}]
    assert stored(web, id, send(page))["data"] == {
        "steps": [{"actions": [{"value": {"operator": "or", "rules": rules}}]}]
    }


def test_p10_a_long_message_is_answered(web: Web) -> None:
    """A message of mixed directions and many kinds of blocks is shown whole, with its form below."""
    message = "# Release\n\n| a | b |\n|---|---|\n| x\\|y | R&D |\n\n```diff\n" + "+ line\n" * 120 + "```\n\n"
    message += "اكتب `git push --force` هنا\n\nכתוב כאן\n\n👩‍👩‍👧‍👦 🇺🇳 👍🏽\n\nresult: \u202eDENIED\n\n"
    message += "````\n```\nx\n```\n````\n\n"
    message += "last words"
    page, id = opened(web, message=message, request_type="review")
    expect(page.get_by_text("last words")).to_be_visible()
    field(page, "Feedback").fill("Don’t force.")
    response = stored(web, id, send(page, "Ask for changes"))
    assert (response["outcome"], response["text"]) == ("rejected", "Don’t force.")


def test_c32_a_box_left_unticked_says_no(web: Web) -> None:
    """A yes or no that must be answered is answered by an empty box too."""
    page, id = opened(web, response_schema=form(["approved"], approved={"type": "boolean"}))
    response = stored(web, id, send(page))
    assert (response["outcome"], response["data"]) == ("rejected", {"approved": False})


def test_an_untouched_optional_form_says_nothing(web: Web) -> None:
    """What need not be answered and was not is not part of the answer; only stated defaults are."""
    schema = form(
        agree={"type": "boolean"},
        level={"enum": ["low", "high"]},
        tags={"type": "array", "items": text()},
        who=form(name=text()),
        maybe={"anyOf": [text(), {"type": "null"}]},
        stated=text(default="as agreed"),
    )
    page, id = opened(web, response_schema=schema)
    assert stored(web, id, send(page))["data"] == {"stated": "as agreed"}


def test_a_cleared_optional_field_is_left_out(web: Web) -> None:
    """Clearing a field takes it out of the answer, also one that had a default."""
    page, id = opened(web, response_schema=form(one=text(default="x"), two=text()))
    field(page, "One").fill("")
    field(page, "Two").fill("typed")
    field(page, "Two").fill("")
    assert stored(web, id, send(page))["data"] == {}


def test_c36_yes_and_one_are_different_choices(web: Web) -> None:
    """A choice between true and 1 stores the one that was chosen."""
    page, id = opened(web, response_schema=form(["flag"], flag={"enum": [1, True]}))
    page.get_by_role("radio", name="true").check()
    assert exactly(stored(web, id, send(page))["data"]) == exactly({"flag": True})


def test_c35_a_time_is_an_instant_in_the_viewers_zone(web: Web) -> None:
    """The clock of the viewer is meant, its zone is named, and the stored instant is shown again as it was picked."""
    schema = form(["at"], at=text(format="date-time"))
    new_york = {"timezone_id": "America/New_York"}
    page, id = opened(web, response_schema=schema, browser=new_york)
    expect(page.get_by_text("America/New_York")).to_be_visible()
    field(page, "At").fill("2026-07-01T09:00")
    page.reload()
    expect(field(page, "At")).to_have_value("2026-07-01T09:00")
    assert stored(web, id, send(page))["data"] == {"at": "2026-07-01T09:00:00-04:00"}

    again = form(["at"], at=text(format="date-time", default="2026-07-01T13:00:00Z"))
    page, _ = opened(web, response_schema=again, browser=new_york)
    expect(field(page, "At")).to_have_value("2026-07-01T09:00")


def test_c35_clocks_that_change(web: Web) -> None:
    """A time that comes twice can be told apart; one that does not come is refused at its field."""
    page, id = opened(
        web, response_schema=form(["at"], at=text(format="date-time")), browser={"timezone_id": "America/New_York"}
    )
    field(page, "At").fill("2026-03-08T02:30")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("There is no such time that day")).to_be_visible()
    field(page, "At").fill("2026-11-01T01:30")
    page.get_by_text("The later").click()
    assert stored(web, id, send(page))["data"] == {"at": "2026-11-01T01:30:00-05:00"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("9007199254740993", "more digits than can be kept exactly"),
        ("1,5", "with a point for decimals"),
        ("12 apples", "with a point for decimals"),
    ],
    ids=["too precise", "comma", "words"],
)
def test_a_number_that_cannot_be_kept_is_not_changed(web: Web, typed: str, said: str) -> None:
    """Nothing is rounded, dropped or guessed: it is said at the field, and what was typed stays."""
    page, id = opened(web, response_schema=form(["n"], n={"type": "number"}))
    box = field(page, "N")
    box.fill(typed)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text(said)).to_be_visible()
    expect(box).to_have_value(typed)
    box.fill("1.50")
    assert exactly(stored(web, id, send(page))["data"]) == exactly({"n": 1.5})


@pytest.mark.thorough
def test_what_only_the_server_knows_is_said_at_the_field(web: Web) -> None:
    """A format that the browser does not judge comes back from the server to its field, which gets the focus."""
    schema = form(["contact"], contact=form(["id", "mail"], id=text(format="uuid"), mail=text(format="email")))
    page, _ = opened(web, response_schema=schema)
    field(page, "Id").fill("42")
    field(page, "Mail").fill("a@e.test")
    assert send(page).status == 422
    box = field(page, "Id")
    expect(box).to_be_focused()
    expect(box).to_have_accessible_description("Enter a UUID.")
    box.fill("7c9e6679-7425-40de-944b-e07fc1f90ae7")
    expect(page.get_by_text("Enter a UUID.")).to_have_count(0)
    assert send(page).ok


@pytest.mark.thorough
def test_an_error_without_a_field_is_still_said(web: Web) -> None:
    """What the server says of something that the form does not show stands below its fields."""
    schema = form(a=text()) | {"minProperties": 1}
    page, _ = opened(web, response_schema=schema)
    assert send(page).status == 422
    expect(page.get_by_text("Give at least 1 field.")).to_be_visible()


@pytest.mark.thorough
def test_a_schema_without_a_form_is_answered_as_json(web: Web) -> None:
    """What cannot be shown field by field is written as JSON and judged by the server."""
    schema = {"$anchor": "top", "type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#top"}]}}
    page, id = opened(web, response_schema=schema)
    answer = field(page, "Answer (JSON)")
    answer.fill("[1, [2")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("This is not valid JSON.")).to_be_visible()
    answer.fill("[1, [2]]")
    assert stored(web, id, send(page))["data"] == [1, [2]]


@pytest.mark.thorough
def test_an_object_without_fields_is_written_as_json(web: Web) -> None:
    """A part of the form that has no fields of its own takes any JSON object."""
    page, id = opened(web, response_schema=form(["extra"], extra={"type": "object"}))
    extra = field(page, "Extra (JSON)")
    extra.fill('{"a": [1')
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("This is not valid JSON.")).to_be_visible()
    extra.fill('{"a": [1, null]}')
    assert stored(web, id, send(page))["data"] == {"extra": {"a": [1, None]}}


@pytest.mark.thorough
def test_hints_for_the_form_are_followed(web: Web) -> None:
    """`ui_schema` orders fields and makes an input long; it cannot hide a field."""
    schema = form(a=text(), b=text(), c=text(default="sent unseen?"))
    hints = {"ui:order": ["b", "a", "ghost"], "b": {"ui:widget": "textarea"}, "c": {"ui:widget": "hidden"}}
    page, _ = opened(web, response_schema=schema, ui_schema=hints)
    expect(field(page, "C")).to_have_value("sent unseen?")
    boxes = page.locator("form").get_by_role("textbox")
    assert [box.evaluate("box => box.tagName") for box in boxes.all()] == ["TEXTAREA", "INPUT", "INPUT"]


@pytest.mark.thorough
def test_conditions_of_a_schema_are_followed(web: Web) -> None:
    """A field that a condition brings in appears with it."""
    schema = form(["kind"], kind={"enum": ["card", "cash"]}) | {
        "if": {"required": ["kind"], "properties": {"kind": {"const": "card"}}},
        "then": form(["number"], number=text()),
    }
    page, id = opened(web, response_schema=schema)
    expect(field(page, "Number")).to_have_count(0)
    page.get_by_role("radio", name="card").check()
    field(page, "Number").fill("0042")
    assert stored(web, id, send(page))["data"] == {"kind": "card", "number": "0042"}


def test_items_of_a_list_are_added_moved_and_removed(web: Web) -> None:
    """Each button of a list says what it does to which item."""
    page, id = opened(web, response_schema=form(names={"type": "array", "items": text()}))
    for number, name in enumerate(["one", "two", "three"], start=1):
        page.get_by_role("button", name="Add to Names").click()
        field(page, f"Names: Item {number}").fill(name)
    page.get_by_role("button", name="Move Names: Item 3 up").click()
    page.get_by_role("button", name="Remove Names: Item 1").click()
    assert stored(web, id, send(page))["data"] == {"names": ["three", "two"]}


def test_c55_titles_and_options_are_text(web: Web) -> None:
    """Markup in a title, a description, a choice or an option is shown as it was written."""
    attack = "<img src=x onerror=alert(1)>[x](javascript:alert(1))"
    page, _ = opened(
        web,
        response_schema=form(a=text(title=attack, description=attack), b={"oneOf": [{"const": 1, "title": attack}]}),
    )
    expect(page.get_by_label(attack).first).to_be_visible()
    expect(page.locator("form img, form a")).to_have_count(0)
    page, id = opened(web, options=[attack, "no"])
    expect(page.locator("[role=group] img, [role=group] a")).to_have_count(0)
    assert stored(web, id, send(page, attack))["text"] == attack


@pytest.mark.thorough
def test_an_option_is_a_button(web: Web) -> None:
    """A few options are buttons that answer with exactly their text."""
    page, id = opened(web, options=["Développement  ", "Production"])
    with page.expect_response("**/respond") as replied:
        page.get_by_role("button", name="Développement").click()
    response = stored(web, id, replied.value)
    assert (response["text"], response["data"]) == ("Développement  ", {"index": 0, "option": "Développement  "})


@pytest.mark.thorough
def test_many_options_are_searched(web: Web) -> None:
    """Of many options the wanted one is found, chosen and sent."""
    page, id = opened(web, options=[f"Region {number}" for number in range(30)])
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Choose one of these.")).to_be_visible()
    page.get_by_label("Search the options").fill("27")
    page.get_by_role("radio", name="Region 27").check()
    assert stored(web, id, send(page))["text"] == "Region 27"


@pytest.mark.thorough
def test_an_approval_with_a_note(web: Web) -> None:
    """The labels of the request stand on the buttons; a note goes with either."""
    page, id = opened(web, request_type="approval", labels={"approve": "Ship it", "reject": "Hold"})
    field(page, "Note").fill("Not on a Friday")
    response = stored(web, id, send(page, "Hold"))
    assert (response["outcome"], response["data"]) == ("rejected", {"approved": False, "note": "Not on a Friday"})


@pytest.mark.thorough
@pytest.mark.parametrize(("key", "outcome"), [("a", "approved"), ("r", "rejected")])
def test_keys_approve_and_reject(web: Web, key: str, outcome: str) -> None:
    """`a` and `r` press the buttons, but are letters while one is typing."""
    page, id = opened(web, request_type="approval")
    field(page, "Note").press_sequentially("ar")
    expect(page.get_by_role("button", name="Approve")).to_be_enabled()
    assert web.request(id)["status"] == "Requested"
    field(page, "Note").blur()
    with page.expect_response("**/respond") as replied:
        page.keyboard.press(key)
    assert stored(web, id, replied.value)["outcome"] == outcome


@pytest.mark.thorough
def test_a_review_is_approved_by_its_button_only(web: Web) -> None:
    """Feedback that is just the label is questioned; the button approves."""
    page, id = opened(web, request_type="review")
    field(page, "Feedback").fill("Approve")
    page.get_by_role("button", name="Ask for changes").click()
    expect(page.get_by_text("alone would approve")).to_be_visible()
    assert stored(web, id, send(page, "Approve"))["outcome"] == "approved"


@pytest.mark.thorough
@pytest.mark.parametrize("key", ["Control+Enter", "Meta+Enter"])
def test_keys_send_text(web: Web, key: str) -> None:
    """Ctrl or Cmd with Enter sends; Enter alone is a line break; nothing blank is sent."""
    page, id = opened(web)
    box = field(page, "Answer")
    box.fill("  \n ")
    box.press(key)
    expect(page.get_by_text("Write an answer first.")).to_be_visible()
    box.fill("")
    box.press_sequentially("a")
    box.press("Enter")
    box.press_sequentially("b")
    with page.expect_response("**/respond") as replied:
        box.press(key)
    assert stored(web, id, replied.value)["text"] == "a\nb"


@pytest.mark.thorough
def test_enter_does_not_send_a_form_of_several_fields(web: Web) -> None:
    """In a form of several fields Enter is no answer; Ctrl+Enter is."""
    page, id = opened(web, response_schema=form(a=text(), b=text()))
    box = field(page, "A")
    box.fill("x")
    box.press("Enter")
    field(page, "B").fill("y")
    with page.expect_response("**/respond") as replied:
        page.keyboard.press("Control+Enter")
    assert stored(web, id, replied.value)["data"] == {"a": "x", "b": "y"}


@pytest.mark.thorough
def test_two_quick_clicks_send_once(web: Web) -> None:
    """The second click of a double click sends nothing."""
    page, _ = opened(web, request_type="approval")
    calls: list[str] = []
    page.on("request", lambda call: calls.append(call.url) if call.url.endswith("/respond") else None)
    with page.expect_response("**/respond"):
        page.get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_text("Approved", exact=False).first).to_be_visible()
    assert len(calls) == 1


def test_an_answer_that_did_not_arrive_is_sent_again(web: Web) -> None:
    """Without a connection the answer stays, and is offered to be sent again."""
    page, id = opened(web)
    box = field(page, "Answer")
    box.fill("42")
    page.context.set_offline(True)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("sending it again does no harm")).to_be_visible()
    page.context.set_offline(False)
    assert stored(web, id, send(page, "Send again"))["text"] == "42"


def test_a_late_answer_is_told_who_was_first(web: Web) -> None:
    """Whoever is too late reads who closed it; what they wrote stays and can be copied."""
    page, id = opened(web)
    box = field(page, "Answer")
    box.fill("my long thoughts")
    web.person("bea", role="administrator").post(f"/api/requests/{id}/respond", json={"text": "done"})
    expect(page.get_by_text("What you wrote was not sent")).to_be_visible()
    expect(box).to_have_value("my long thoughts")
    expect(box).not_to_be_editable()


def _meanwhile(page: Page, act: Callable[[], Any]) -> None:
    """Something happens after the answer was sent from the page and before it arrives."""

    def late(route: Route) -> None:
        act()
        route.continue_()

    page.route("**/respond", late)


@pytest.mark.thorough
def test_a_lost_race_names_who_was_first(web: Web) -> None:
    """An answer that comes just too late is told whose was first, and is not lost."""
    page, id = opened(web)
    first = web.person("cleo", role="administrator")
    _meanwhile(page, lambda: first.post(f"/api/requests/{id}/respond", json={"text": "done"}))
    field(page, "Answer").fill("too late")
    assert send(page).status == 409
    expect(page.get_by_text("What you wrote was not sent")).to_be_visible()
    expect(page.get_by_text("by Cleo").first).to_be_visible()
    expect(field(page, "Answer")).to_have_value("too late")


@pytest.mark.thorough
def test_a_claim_meanwhile_names_the_claimant(web: Web) -> None:
    """Of a shared request that somebody has just claimed one learns who has it; the draft stays."""
    dora = web.person("dora")
    web.person("emil")
    web.admin.post("/api/lists", json={"id": "desk", "name": "Desk", "members": ["dora", "emil"]})
    id = web.ask(assignment_strategy={"type": "SharedInbox", "listID": "desk"})["id"]
    page = web.sign_in("emil", f"/requests/{id}")
    _meanwhile(page, lambda: dora.post(f"/api/requests/{id}/claim"))
    field(page, "Answer").fill("mine")
    assert send(page).status == 409
    expect(page.get_by_text("Dora has claimed this request meanwhile")).to_be_visible()
    expect(field(page, "Answer")).to_have_value("mine")


@pytest.mark.thorough
def test_too_large_an_answer_says_the_limit(web: Web) -> None:
    """An answer over the limit is refused with the limit, and stays."""
    page, _ = opened(web)
    box = field(page, "Answer")
    box.fill("x" * 300_000)
    assert send(page).status in (413, 422)
    expect(page.get_by_text("262144").or_(page.get_by_text("262,144")).or_(page.get_by_text("256 KiB"))).to_be_visible()


@pytest.mark.thorough
def test_who_may_not_answer_reads_why(web: Web) -> None:
    """The form is shown without a button to those who may look only, with the reason."""
    web.person("ines", role="auditor")
    id = web.ask(response_schema=P3)["id"]
    page = web.sign_in("ines", f"/requests/{id}")
    expect(page.get_by_text("Auditors read everything and answer nothing.").first).to_be_visible()
    expect(page.get_by_text("OAuth (Recommended)")).to_be_visible()
    expect(page.get_by_role("button", name="Send", exact=True)).to_have_count(0)


def _masked(page: Page, label: str) -> None:
    box = page.get_by_label(label).first
    expect(box).to_have_attribute("type", "password")
    page.get_by_role("button", name="Show or hide what is typed").click()
    expect(box).to_have_attribute("type", "text")


def test_secrets_are_masked(web: Web) -> None:
    """Secret text and write-only fields are masked, can be shown, and are offered to no password manager."""
    page, id = opened(web, secret=True, response_schema=P7)
    box = page.get_by_label("6-digit code").first
    expect(box).to_have_attribute("autocomplete", "one-time-code")
    box.fill("012345")
    _masked(page, "6-digit code")
    response = stored(web, id, send(page))
    assert response["sealed"] is True

    page, _ = opened(web, response_schema=form(token=text(writeOnly=True), name=text()))
    expect(page.get_by_label("Token").first).to_have_attribute("autocomplete", "off")
    _masked(page, "Token")
    expect(field(page, "Name")).to_be_visible()
