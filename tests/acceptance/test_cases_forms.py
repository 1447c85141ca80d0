"""Cases from the field about forms, and the payloads that people really send: stored exactly, refused clearly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.support.postgres import TestServer
from tests.support.service import Service, service

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def handraise(
    postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Service]:
    """One service for all of this module: each case asks its own requests."""
    database = await postgres.create_database(template)
    async with service(database, tmp_path_factory.mktemp("service")) as made:
        yield made
    await postgres.drop_database(database)


MISSING = "This field is required."


def compact(value: Any) -> str:
    """A value as the API writes it, so that `1`, `1.0`, `"1"` and `true` are all different."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def data_text(response: httpx.Response) -> str:
    """The answer's data exactly as the response body spells it."""
    start = response.text.index('"data":', response.text.index('"outcome":')) + len('"data":')
    value, end = json.JSONDecoder().raw_decode(response.text[start:])
    assert value == response.json()["response"]["data"]
    return response.text[start : start + end]


async def accepts(handraise: Service, schema: dict[str, Any], data: Any, outcome: str = "answered") -> None:
    """The answer is accepted, and every reader has it exactly as it was sent."""
    asked = await handraise.ask(response_schema=schema)
    assert compact(asked["response_schema"]) == compact(schema)
    path = f"/api/requests/{asked['id']}"
    answered = await handraise.admin.post(f"{path}/respond", content=compact({"data": data}), headers=JSON)
    assert answered.status_code == 200, answered.text
    read = await handraise.agent.get(path)
    assert answered.text == read.text
    assert data_text(read) == compact(data)
    response = read.json()["response"]
    assert (response["outcome"], response["text"], response["sealed"]) == (outcome, None, False)


async def refuses(handraise: Service, schema: dict[str, Any], data: Any, *paths: str) -> list[dict[str, str]]:
    """The answer is refused with exactly these failing paths, nothing changes, and the errors come back."""
    asked = await handraise.ask(response_schema=schema)
    path = f"/api/requests/{asked['id']}"
    refused = await handraise.admin.post(f"{path}/respond", content=compact({"data": data}), headers=JSON)
    assert refused.status_code == 422, refused.text
    assert refused.headers["content-type"] == "application/problem+json"
    errors = refused.json()["errors"]
    assert sorted({error["path"] for error in errors}) == sorted(paths), errors
    assert all(error["message"] for error in errors)
    assert (await handraise.agent.get(path)).json() == asked
    return errors


JSON = {"Content-Type": "application/json"}

# -- the cases

APPROVED = {"type": "object", "required": ["approved"], "properties": {"approved": {"type": "boolean"}}}
CONSENT = {"type": "object", "required": ["approved"], "properties": {"approved": {"const": True}}}


async def test_c32_a_required_boolean_may_be_false(handraise: Service) -> None:
    """Required means that there is an answer, not that it is yes."""
    await accepts(handraise, APPROVED, {"approved": False}, "rejected")
    await accepts(handraise, APPROVED, {"approved": True}, "approved")
    assert await refuses(handraise, APPROVED, {}, "data/approved") == [{"path": "data/approved", "message": MISSING}]


async def test_c32_a_boolean_that_must_be_true_is_refused_unticked(handraise: Service) -> None:
    """Consent that is not given is refused with a message that says what is needed."""
    await accepts(handraise, CONSENT, {"approved": True}, "approved")
    errors = await refuses(handraise, CONSENT, {"approved": False}, "data/approved")
    assert errors == [{"path": "data/approved", "message": "This must be true."}]


P5 = {
    "type": "object",
    "required": ["color"],
    "properties": {
        "color": {
            "type": ["number", "null"],
            "oneOf": [
                {"const": 0, "title": "Red"},
                {"const": 1, "title": "Green"},
                {"const": 2, "title": "Blue"},
                {"const": None, "title": "None"},
            ],
        }
    },
}


@pytest.mark.parametrize("color", [None, 0, 1, 2])
async def test_c33_a_choice_is_stored_as_its_value(handraise: Service, color: int | None) -> None:
    """P5: choosing None stores null and choosing Red stores the number 0, neither its label nor its text."""
    await accepts(handraise, P5, {"color": color})


@pytest.mark.parametrize("color", ["None", "0", "Red", False, 3, ""])
async def test_c33_a_label_is_not_a_value(handraise: Service, color: Any) -> None:
    """P5: labels, numbers as text and booleans are refused."""
    await refuses(handraise, P5, {"color": color}, "data/color")


async def test_c33_a_missing_choice_is_not_null(handraise: Service) -> None:
    """P5: null is a choice; leaving the field out is not."""
    await refuses(handraise, P5, {}, "data/color")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"enum": [1, 0]}, True),
        ({"enum": [1, 0]}, False),
        ({"const": False}, 0),
        ({"const": 1}, True),
        ({"type": "integer"}, True),
        ({"type": "integer"}, 60.5),
        ({"type": "integer"}, "60"),
        ({"type": "number"}, False),
        ({"type": "boolean"}, 1),
        ({"type": "array", "uniqueItems": True}, [1, 1.0]),
    ],
)
async def test_c36_equality_is_that_of_json(handraise: Service, field: dict[str, Any], value: Any) -> None:
    """`true` is not 1 and `false` is not 0."""
    await refuses(handraise, {"properties": {"field": field}}, {"field": value}, "data/field")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "integer"}, 60.0),
        ({"type": "integer"}, 60),
        ({"enum": [1, 0]}, 1.0),
        ({"type": "integer"}, 10**30),
        ({"type": "array", "uniqueItems": True}, [1, True, 0, False, "1", None]),
    ],
)
async def test_c36_a_whole_number_is_an_integer(handraise: Service, field: dict[str, Any], value: Any) -> None:
    """`60.0` is an integer to JSON Schema, and is kept as it was written."""
    await accepts(handraise, {"properties": {"field": field}}, {"field": value})


P7 = {
    "type": "object",
    "required": ["code"],
    "properties": {"code": {"type": "string", "pattern": "^[0-9]{6}$", "title": "6-digit code sent to your e-mail"}},
}


@pytest.mark.parametrize("code", ["012345", " 7 ", "1e3", "0", "0x1F", "٠١٢٣", "+49 30", "1\r\n2"])
async def test_c38_free_text_stays_text(handraise: Service, code: str) -> None:
    """Text that looks like a number comes back as the very text, by respond and by submit."""
    for send in ("respond", "submit"):
        asked = await handraise.ask(message="Enter the code")
        if send == "respond":
            sent = await handraise.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": code})
        else:
            body = {"unique_id": asked["unique_id"], "response": code}
            sent = await handraise.admin.post("/api/human-feedback/submit", json=body)
        assert sent.status_code == 200, sent.text
        response = (await handraise.agent.get(f"/api/requests/{asked['id']}")).json()["response"]
        assert (response["text"], response["data"], response["outcome"]) == (code, None, "answered")


@pytest.mark.parametrize("response", ["012345", {"code": "012345"}, '{"code": "012345"}'])
async def test_c38_p7_a_code_in_a_form_keeps_its_zero(handraise: Service, response: str | dict[str, str]) -> None:
    """P7 filled by a line of text, by an object, or by an object written as text."""
    asked = await handraise.ask(response_schema=P7)
    body = {"unique_id": asked["unique_id"], "response": response}
    sent = await handraise.admin.post("/api/human-feedback/submit", json=body)
    assert sent.status_code == 200, sent.text
    read = await handraise.agent.get(f"/api/requests/{asked['id']}")
    assert data_text(read) == '{"code":"012345"}'


async def test_c38_p7_refuses_what_is_not_a_code(handraise: Service) -> None:
    """P7: a number, too few digits and letters are refused."""
    await accepts(handraise, P7, {"code": "012345"})
    for code in (12345, 123456, "12345", "01234a", "0123456", "٠١٢٣٤٥"):
        await refuses(handraise, P7, {"code": code}, "data/code")


@asynccontextmanager
async def listener() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server on this machine, and what was ever sent to it."""
    heard: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(b"connected")
        body = b'{"type":"string"}'
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], heard


REMOTE = [
    {"$ref": "http://127.0.0.1:PORT/schema.json"},
    {"$ref": "http://127.0.0.1:PORT/schema.json#/$defs/a"},
    {"$ref": "//127.0.0.1:PORT/schema.json"},
    {"$dynamicRef": "http://127.0.0.1:PORT/schema.json#a"},
    {"$id": "http://127.0.0.1:PORT/root.json", "$ref": "other.json"},
    {"properties": {"a": {"items": {"allOf": [{"$ref": "http://127.0.0.1:PORT/schema.json"}]}}}},
    {"$defs": {"unused": {"$ref": "http://127.0.0.1:PORT/schema.json"}}},
    {"$schema": "http://127.0.0.1:PORT/meta.json", "type": "string"},
    {"$ref": "file:///etc/passwd"},
    {"$ref": "/etc/passwd"},
    {"$ref": "ftp://127.0.0.1:PORT/x"},
    {"$ref": "urn:example:elsewhere"},
]


@pytest.mark.parametrize("schema", REMOTE, ids=compact)
async def test_c40_a_schema_never_makes_the_server_fetch_anything(handraise: Service, schema: dict[str, Any]) -> None:
    """A reference to elsewhere is refused and no connection is made, whether as an object or as JSON text."""
    async with listener() as (port, heard):
        text = compact(schema).replace("PORT", str(port))
        for given in (json.loads(text), text):
            refused = await handraise.agent.post("/api/requests", json={"message": "x", "response_schema": given})
            assert refused.status_code == 422, refused.text
            assert refused.json()["errors"][0]["path"].startswith("response_schema")
            assert "root:" not in refused.text
        reader, writer = await asyncio.open_connection("127.0.0.1", port)  # the listener does hear
        await reader.read()
        writer.close()
        assert heard == [b"connected"]


async def test_c40_references_within_the_schema_work(handraise: Service) -> None:
    """`#/$defs/…`, an anchor, and a `$id` that is only a name need no fetching."""
    schema = {
        "$id": "https://schemas.example/form.json",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"name": {"type": "string", "minLength": 1}, "age": {"$anchor": "age", "type": "integer"}},
        "properties": {"name": {"$ref": "#/$defs/name"}, "age": {"$ref": "#age"}},
    }
    await accepts(handraise, schema, {"name": "Ada", "age": 36})
    await refuses(handraise, schema, {"name": "", "age": "36"}, "data/name", "data/age")


# -- the payloads

P1 = [
    {
        "action_request": {
            "action": "send_email_draft",
            "args": {
                "to": ["c@e.test"],
                "cc": [],
                "subject": "Re: terms ✍️",
                "content": "Hi,\n\nThursday works.",
            },
        },
        "config": {"allow_ignore": True, "allow_respond": True, "allow_edit": True, "allow_accept": True},
        "description": "# Re: terms\n\n[open mail](https://mail.e.test/#inbox/1)\n\n**To**: c@e.test",
    }
]
P2 = {
    "action_request": {"action": "add", "args": {"a": 2, "b": 3}},
    "config": {"allow_edit": True, "allow_accept": True, "allow_respond": True, "allow_ignore": True},
}
INTERRUPT_REPLY = {
    "type": "array",
    "minItems": 1,
    "maxItems": 1,
    "items": {
        "type": "object",
        "required": ["type", "args"],
        "additionalProperties": False,
        "properties": {
            "type": {"enum": ["accept", "ignore", "response", "edit"]},
            "args": {"type": ["null", "string", "object"]},
        },
    },
}
EDITED = {**P1[0]["action_request"], "args": {**P1[0]["action_request"]["args"], "content": "Hi,\n\nFriday?"}}


async def test_p1_a_draft_comes_back_accepted_edited_or_commented(handraise: Service) -> None:
    """P1: the interrupt is kept exactly in metadata; the reply's args may be null, text or an object."""
    asked = await handraise.ask(
        message=P1[0]["description"], metadata={"interrupt": P1}, response_schema=INTERRUPT_REPLY
    )
    read = (await handraise.agent.get(f"/api/requests/{asked['id']}")).json()
    assert compact(read["metadata"]) == compact({"interrupt": P1})
    assert read["message"] == P1[0]["description"]
    for reply in ({"type": "accept", "args": None}, {"type": "response", "args": "Shorter, please\n"}, EDITED_REPLY):
        await accepts(handraise, INTERRUPT_REPLY, [reply])


EDITED_REPLY = {"type": "edit", "args": EDITED}


async def test_p1_refuses_another_shape(handraise: Service) -> None:
    """P1: the list, its one item, its type and its args are all checked."""
    await refuses(handraise, INTERRUPT_REPLY, {"type": "accept", "args": None}, "data")
    await refuses(handraise, INTERRUPT_REPLY, [], "data")
    await refuses(handraise, INTERRUPT_REPLY, [{"type": "accept", "args": None}] * 2, "data")
    await refuses(handraise, INTERRUPT_REPLY, [{"type": "approve", "args": 3}], "data/0/args", "data/0/type")
    await refuses(handraise, INTERRUPT_REPLY, [{"type": "accept"}], "data/0/args")


ARGUMENTS = {
    "type": "object",
    "required": ["a", "b"],
    "additionalProperties": False,
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
}


async def test_p2_an_edited_number_stays_a_number(handraise: Service) -> None:
    """P2: `a` changed to 4 is the number 4; a number written as text is refused."""
    asked = await handraise.ask(metadata=P2, response_schema=ARGUMENTS)
    assert compact(asked["metadata"]) == compact(P2)
    for a in (4, 4.0, -0.5, 1e21, 10**30, 0.1):
        await accepts(handraise, ARGUMENTS, {"a": a, "b": 3})
    for a in ("4", True, None, [4]):
        await refuses(handraise, ARGUMENTS, {"a": a, "b": 3}, "data/a")
    await refuses(handraise, ARGUMENTS, {"a": 4, "b": 3, "c": 1}, "data/c")


P3 = {
    "type": "object",
    "required": ["auth", "features"],
    "properties": {
        "auth": {
            "type": "string",
            "oneOf": [{"const": "oauth", "title": "OAuth (Recommended)"}, {"const": "pw", "title": "Password"}],
        },
        "features": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"anyOf": [{"const": "api", "title": "API endpoints"}, {"const": "tests", "title": "Unit tests"}]},
        },
        "other": {"type": "string", "title": "Other"},
    },
}


async def test_p3_titled_choices_and_a_multi_select(handraise: Service) -> None:
    """P3: values are stored, never titles; the choice lists what may be chosen when it is refused."""
    await accepts(handraise, P3, {"auth": "oauth", "features": ["tests", "api"], "other": ""})
    await accepts(handraise, P3, {"features": ["api"], "auth": "pw"})
    errors = await refuses(
        handraise, P3, {"auth": "OAuth (Recommended)", "features": ["api", "docs"]}, "data/auth", "data/features/1"
    )
    assert all("oauth" in error["message"] for error in errors if error["path"] == "data/auth")
    await refuses(handraise, P3, {"auth": "oauth", "features": []}, "data/features")
    await refuses(handraise, P3, {"auth": "oauth", "features": ["api", "api"]}, "data/features")
    await refuses(handraise, P3, {}, "data/auth", "data/features")


P4 = {
    "type": "object",
    "properties": {
        "pick": {"enum": ["a", "b", 3, True]},
        "revenue": {"type": "number", "minimum": 0, "maximum": 1000000},
        "period": {
            "type": "object",
            "properties": {
                "from": {"type": "string", "format": "date"},
                "to": {"type": "string", "format": "date"},
            },
        },
        "rating": {"type": "integer", "minimum": 0, "maximum": 100, "multipleOf": 5},
    },
}


@pytest.mark.parametrize("pick", ["a", 3, True])
async def test_p4_a_choice_of_mixed_types_keeps_its_type(handraise: Service, pick: Any) -> None:
    """P4: `"a"`, `3` and `true` exactly, beside money and a date range."""
    data = {
        "pick": pick,
        "revenue": 1200.5,
        "period": {"from": "2026-02-28", "to": "2026-03-01"},
        "rating": 15,
    }
    await accepts(handraise, P4, data)


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"pick": "3"}, "data/pick"),
        ({"pick": "true"}, "data/pick"),
        ({"pick": 1}, "data/pick"),
        ({"revenue": -0.01}, "data/revenue"),
        ({"revenue": 1000000.01}, "data/revenue"),
        ({"period": {"from": "2026-02-30"}}, "data/period/from"),
        ({"period": {"to": "01.03.2026"}}, "data/period/to"),
        ({"rating": 14}, "data/rating"),
        ({"rating": 105}, "data/rating"),
    ],
)
async def test_p4_refuses_what_does_not_fit(handraise: Service, data: dict[str, Any], path: str) -> None:
    """P4: another type, a sum out of range, a day that is not in the calendar, a rating between the steps."""
    await refuses(handraise, P4, data, path)


P6 = {
    "oneOf": [
        {
            "type": "object",
            "required": ["increment"],
            "properties": {"increment": {"type": "object"}},
            "additionalProperties": False,
        },
        {
            "type": "object",
            "required": ["reset"],
            "properties": {
                "reset": {
                    "type": "object",
                    "required": ["count"],
                    "properties": {"count": {"type": "integer", "format": "int32"}},
                }
            },
            "additionalProperties": False,
        },
    ]
}


async def test_p6_a_choice_of_forms_at_the_root(handraise: Service) -> None:
    """P6: either form, the empty object included; neither both nor none."""
    await accepts(handraise, P6, {"increment": {}})
    await accepts(handraise, P6, {"reset": {"count": 5}})
    await refuses(handraise, P6, {"reset": {"count": "5"}}, "data/reset/count")
    await refuses(handraise, P6, {"reset": {}}, "data/reset/count")
    for neither in ({}, {"increment": {}, "reset": {"count": 5}}, [], "increment"):
        await refuses(handraise, P6, neither, "data")


P8 = {
    "type": "object",
    "required": ["offline", "window"],
    "properties": {
        "offline": {"type": "boolean", "const": True, "title": "I accept 10 min downtime"},
        "window": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"},
    },
}


async def test_p8_consent_and_an_instant_with_an_offset(handraise: Service) -> None:
    """P8: an unticked consent and an instant without offset are refused; the instant is kept as written."""
    await accepts(handraise, P8, {"offline": True, "window": "2026-07-01T09:00:00-04:00", "day": "2026-07-01"})
    await accepts(handraise, P8, {"offline": True, "window": "2026-07-01T13:00:00.5Z"})
    await refuses(handraise, P8, {"offline": False, "window": "2026-07-01T09:00"}, "data/offline", "data/window")
    await refuses(handraise, P8, {"offline": True, "window": "2026-07-01T09:00:00"}, "data/window")
    await refuses(handraise, P8, {"offline": True, "window": "2026-13-01T09:00:00Z"}, "data/window")
    await refuses(handraise, P8, {"window": "2026-07-01T09:00:00Z", "day": "1.7.2026"}, "data/day", "data/offline")


P9 = {
    "$defs": {
        "filter": {
            "type": "object",
            "required": ["operator", "rules"],
            "properties": {
                "operator": {"enum": ["and", "or"]},
                "rules": {
                    "type": "array",
                    "items": {
                        "oneOf": [
                            {
                                "type": "object",
                                "required": ["field", "value"],
                                "additionalProperties": False,
                                "properties": {
                                    "field": {"type": "string"},
                                    "operator": {"type": "string"},
                                    "value": {"type": "string"},
                                },
                            },
                            {"$ref": "#/$defs/filter"},
                        ]
                    },
                },
            },
        }
    },
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "actions": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"value": {"$ref": "#/$defs/filter"}}},
                    }
                },
            },
        }
    },
}


def filter_of(*rules: Any, operator: str = "and") -> dict[str, Any]:
    return {"operator": operator, "rules": list(rules)}


def steps(*values: Any) -> dict[str, Any]:
    """Data for P9 with these filters as the actions of one step."""
    return {"steps": [{"actions": [{"value": value} for value in values]}]}


RULE = {"field": "city", "operator": "=", "value": "København"}


async def test_p9_arrays_in_arrays_and_a_recursive_choice(handraise: Service) -> None:
    """P9: a filter within a filter within a filter is checked and kept to the last level."""
    await accepts(handraise, P9, steps(filter_of(), filter_of(RULE, filter_of(filter_of(RULE, operator="or")))))
    await accepts(handraise, P9, {})
    await refuses(handraise, P9, steps(filter_of(RULE, operator="xor")), "data/steps/0/actions/0/value/operator")
    await refuses(handraise, P9, steps(filter_of(), {"rules": []}), "data/steps/0/actions/1/value/operator")
    await refuses(
        handraise,
        P9,
        steps(filter_of(RULE, filter_of({"field": "city", "value": 5}))),
        "data/steps/0/actions/0/value/rules/1/rules/0/value",
    )
    await refuses(handraise, P9, {"steps": {"actions": []}}, "data/steps")


def p10(size: int) -> str:
    """P10: a long message of mixed direction, about `size` bytes."""
    family = "👩‍👩‍👧‍👦 🇺🇳 👍🏽"
    parts = [
        "# Review needed | & <b>before</b> noon\n",
        "| host | rule | note |\n|---|---|---|\n| a&b | x \\| y | `c|d` & more |\n",
        "```diff\n" + "\n".join(f"{'+-'[line % 2]} line {line}: value = {line * 7}" for line in range(120)) + "\n```\n",
        "```python\n"
        + "\n".join(f"from package_{number} import name_{number}" for number in range(10))
        + "\nimport shutil\n\n\nshutil.rmtree('/srv/data')\n```\n",
        "يرجى مراجعة الأمر `git push --force` قبل التنفيذ، ثم الرد هنا.\n",
        "נא לבדוק את הפקודה `git push --force` לפני הביצוע.\n",
        f"{family} raw, {json.dumps(family)} escaped\n",
        "\u202eDENIED\u202c\n",
        "````\n```\nnested\n```\n````\n",
        "trailing spaces   \r\n\ttab, and the six characters \\u0000\n\n",
    ]
    message = "\n".join(parts)
    while len(message.encode()) < size:
        message += f"\n{parts[len(message) % len(parts)]}"
    return message


@pytest.mark.parametrize("size", [6_000, 60_000])
async def test_p10_a_long_message_of_mixed_direction_is_kept_exactly(handraise: Service, size: int) -> None:
    """P10: message, context, answer and history bring back every character, sent raw or as JSON escapes."""
    message = p10(size)
    assert size <= len(message.encode()) < size * 1.6
    for ensure_ascii in (False, True):
        body = {"message": message, "context": message[::2], "unique_id": f"long-{size}-{ensure_ascii}"}
        created = await handraise.agent.post(
            "/api/requests", content=json.dumps(body, ensure_ascii=ensure_ascii), headers=JSON
        )
        assert created.status_code == 201, created.text
        path = f"/api/requests/{created.json()['id']}"
        answered = await handraise.admin.post(f"{path}/respond", json={"text": message})
        assert answered.status_code == 200, answered.text
        read = (await handraise.agent.get(path)).json()
        assert (read["message"], read["context"], read["response"]["text"]) == (message, message[::2], message)
        events = (await handraise.admin.get(f"{path}/history")).json()["items"]
        assert [events[0]["message"], events[1]["text"]] == [message, message]
