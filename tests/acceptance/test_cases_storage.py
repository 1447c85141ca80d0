"""Cases from the field about text, numbers, sizes and bodies: kept exactly or refused clearly, never a failure."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alice(handraise: Service) -> httpx.AsyncClient:
    """A member."""
    return await handraise.person("alice")


JSON = {"Content-Type": "application/json"}
KIB = 1024


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    """The problem document of this response, whose shape is checked."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["status"] == status
    assert document["type"].startswith("urn:handraise:problem:")
    assert document["title"]
    assert document["detail"]
    return document


def paths(response: httpx.Response) -> set[str]:
    """The failing fields that a 422 names."""
    return {error["path"] for error in problem(response, 422)["errors"]}


async def create(handraise: Service, body: bytes | str, **headers: str) -> httpx.Response:
    """Create with exactly this body."""
    return await handraise.agent.post("/api/requests", content=body, headers=JSON | headers)


async def position(handraise: Service) -> int:
    """How far the log goes: unchanged when nothing was written."""
    return (await handraise.admin.get("/api/users")).json()["position"]


# -- text that cannot be stored

BODIES = {
    "message": '"message": "a{}"',
    "context": '"context": "{}"',
    "run_id": '"run_id": "{}"',
    "run_step_id": '"run_step_id": "{}"',
    "unique_id": '"unique_id": "a{}b"',
    "run_user": '"run_user": "{}"',
    "request_type": '"request_type": "{}"',
    "options/1": '"options": ["a", "b{}"]',
    "labels/reject": '"labels": {{"reject": "{}"}}',
    "metadata/deep/0/text": '"metadata": {{"deep": [{{"text": "{}"}}]}}',
    "response_schema/title": '"response_schema": {{"title": "{}"}}',
    "response_schema/enum/0/x": '"response_schema": {{"enum": [{{"x": "{}"}}]}}',
    "ui_schema/x": '"ui_schema": {{"x": "{}"}}',
}
UNSTORABLE = {"NUL": r"\u0000", "a lone high surrogate": r"\ud83d", "a lone low surrogate": r"\ude00x"}


@pytest.mark.parametrize("escape", UNSTORABLE.values(), ids=UNSTORABLE.keys())
async def test_c42_unstorable_text_is_refused_wherever_it_stands(handraise: Service, escape: str) -> None:
    """NUL and half a surrogate pair are 422 naming the field, in every field of a create; nothing is written."""
    before = await position(handraise)
    for path, field in BODIES.items():
        fields = [field.format(escape)] + ([] if path == "message" else ['"message": "x"'])
        assert path in paths(await create(handraise, f"{{{', '.join(fields)}}}")), field
    assert await position(handraise) == before


@pytest.mark.parametrize(
    "field",
    [
        '"metadata": {"a\\u0000": 1}',
        '"metadata": {"a": [{"\\ud800": 1}]}',
        '"response_schema": {"properties": {"a\\u0000": {}}}',
        '"ui_schema": {"\\udfff": {}}',
        '"a\\u0000": 1',
        '"a\\ud800": 1',
        '"labels": {"a\\ud800": "x"}',
    ],
)
async def test_c42_names_of_fields_are_text_too(handraise: Service, field: str) -> None:
    """A name that cannot be stored, or not even be shown, is refused in words that can be sent."""
    refused = await create(handraise, f'{{"message": "x", {field}}}')
    assert paths(refused)
    assert "\0" not in refused.text


@pytest.mark.parametrize("escape", UNSTORABLE.values(), ids=UNSTORABLE.keys())
async def test_c42_unstorable_answers_are_refused(handraise: Service, escape: str) -> None:
    """The same holds for answers: as text, as data, as the name of a field, through respond and submit."""
    asked = await handraise.ask()
    form = await handraise.ask(response_schema={"type": "object"})
    for id, path, body in (
        (asked["id"], "respond", f'{{"text": "a{escape}"}}'),
        (form["id"], "respond", f'{{"data": {{"a": ["{escape}"]}}}}'),
        (form["id"], "respond", f'{{"data": {{"a{escape}": 1}}}}'),
        (form["id"], "respond", json.dumps({"text": f'{{"a": "{escape}"}}'})),
        (asked["id"], "cancel", f'{{"reason": "a{escape}"}}'),
        (asked["id"], "reassign", f'{{"to": "admin", "note": "a{escape}"}}'),
        (asked["id"], "reassign", f'{{"to": "a{escape}"}}'),
        ("", "submit", f'{{"unique_id": "{asked["unique_id"]}", "response": "a{escape}"}}'),
        ("", "submit", f'{{"unique_id": "{form["unique_id"]}", "response": {{"a": "{escape}"}}}}'),
    ):
        url = f"/api/requests/{id}/{path}" if id else "/api/human-feedback/submit"
        assert paths(await handraise.admin.post(url, content=body, headers=JSON)), body
    for before in (asked, form):
        assert (await handraise.agent.get(f"/api/requests/{before['id']}")).json() == before


@pytest.mark.parametrize("escape", UNSTORABLE.values(), ids=UNSTORABLE.keys())
async def test_c42_unstorable_names_in_the_directory_and_in_addresses(handraise: Service, escape: str) -> None:
    """Directory entries refuse such text; an address that holds it names nothing."""
    for path, body in (
        ("users", f'{{"name": "a{escape}"}}'),
        ("users", f'{{"name": "a", "email": "a{escape}@e.test"}}'),
        ("users", f'{{"name": "a", "id": "a{escape}"}}'),
        ("agents", f'{{"name": "a", "owner": "a{escape}"}}'),
        ("keys", f'{{"name": "a", "agent": "a{escape}"}}'),
        ("keys", f'{{"name": "a", "agent": "default", "run_user": "a{escape}"}}'),
    ):
        assert paths(await handraise.admin.post(f"/api/{path}", content=body, headers=JSON)), body
    submit = f'{{"unique_id": "a{escape}", "response": "x"}}'
    problem(await handraise.admin.post("/api/human-feedback/submit", content=submit, headers=JSON), 404)
    for client in (handraise.agent, handraise.admin):
        for encoded in ("%00", "a%ED%A0%80", "%FF%FE", "%2E%2E%2Fetc"):
            problem(await client.get(f"/api/requests/{encoded}"), 404)
    problem(await handraise.admin.delete("/api/keys/%00"), 404)


LITERAL = r"C:\u0000\ud800 \\u0000 \x00 %00 &#0; \0"


async def test_c42_the_six_characters_of_an_escape_are_ordinary_text(handraise: Service) -> None:
    """Backslash, u and four zeros typed out come back as they are, in message, metadata, schema and answer."""
    form = {"title": LITERAL, "properties": {LITERAL: {"const": LITERAL}}, "required": [LITERAL]}
    asked = await handraise.ask(message=LITERAL, metadata={LITERAL: [LITERAL]}, response_schema=form)
    path = f"/api/requests/{asked['id']}"
    answered = await handraise.admin.post(f"{path}/respond", json={"data": {LITERAL: LITERAL}})
    assert answered.status_code == 200, answered.text
    read = (await handraise.agent.get(path)).json()
    assert (read["message"], read["metadata"], read["response_schema"]) == (LITERAL, {LITERAL: [LITERAL]}, form)
    assert read["response"]["data"] == {LITERAL: LITERAL}


KEPT = [
    " leading and trailing \n",
    "line\r\nline\rline\u2028line\u2029line\u0085",
    "e\u0301 and é, ﬁ, Å and Å: no normal form is forced",
    "\ufeffBOM, zero\u200bwidth, \u202eright to left\u202c, \x01 \x1f \x7f \x9f controls",
    "\U0010ffff \ufffe \uffff 👩‍👩‍👧‍👦",
    "007 1e5 0x1F NaN null true",
    "<script>alert(1)</script> & ' \" \\ / `${x}` {{x}} %s",
]


@pytest.mark.parametrize("text", KEPT)
async def test_text_is_kept_exactly(handraise: Service, text: str) -> None:
    """Whatever else a text holds, everybody reads it as it was sent."""
    asked = await handraise.ask(message=text, context=text, metadata={text: text})
    path = f"/api/requests/{asked['id']}"
    answered = await handraise.admin.post(f"{path}/respond", json={"text": text})
    assert answered.status_code == 200, answered.text
    read = (await handraise.agent.get(path)).json()
    assert (read["message"], read["context"], read["metadata"]) == (text, text, {text: text})
    assert read["response"]["text"] == text


# -- sizes

LONG = {
    "7,900 ASCII": "x" * 7_900,
    "8,000 ASCII": "x" * 8_000,
    "8,100 ASCII": "x" * 8_100,
    "2,700 CJK": "漢" * 2_700,
    "300 KB": "0123456789" * 30_000,
}


async def test_c44_long_messages_are_created_announced_and_kept(handraise: Service) -> None:
    """No size of message or answer is too long for an announcement: another replica's waits end at once."""
    async with service(handraise.app.conninfo, handraise.settings.data_dir) as other:
        for name, message in LONG.items():
            asked = await handraise.ask(message=message)
            path = f"/api/requests/{asked['id']}"
            waiting = asyncio.create_task(other.agent.get(f"{path}/wait?timeout_seconds=10"))
            await other.waiting()
            answer = message[: 256 * KIB]
            answered = await handraise.admin.post(f"{path}/respond", json={"text": answer})
            assert answered.status_code == 200, name
            read = (await waiting).json()
            assert (read["status"], read["message"], read["response"]["text"]) == ("Responded", message, answer)


@pytest.mark.parametrize(
    ("field", "limit", "make"),
    [
        ("message", 512 * KIB, lambda size: "é" * (size // 2) + "x" * (size % 2)),
        ("context", 512 * KIB, lambda size: "x" * size),
        ("response_schema", 64 * KIB, lambda size: {"title": "x" * (size - 12)}),
        ("ui_schema", 64 * KIB, lambda size: {"title": "x" * (size - 12)}),
        ("metadata", 64 * KIB, lambda size: {"title": "x" * (size - 12)}),
    ],
)
async def test_a_field_may_be_as_large_as_its_limit_and_no_larger(
    handraise: Service, field: str, limit: int, make: Any
) -> None:
    """Sizes are bytes of UTF-8; the last byte allowed is accepted and read back, one more is 413."""
    at_limit = make(limit)
    asked = await handraise.ask(**{"message": "x", field: at_limit})
    assert (await handraise.agent.get(f"/api/requests/{asked['id']}")).json()[field] == at_limit
    too_large = problem(await handraise.agent.post("/api/requests", json={"message": "x", field: make(limit + 1)}), 413)
    assert too_large["detail"] == f"{field} has {limit + 1} bytes; at most {limit} are allowed"


async def test_an_answer_may_be_as_large_as_its_limit_and_no_larger(handraise: Service) -> None:
    """256 KiB of text or data are accepted; one byte more is 413 and leaves the request open."""
    limit = 256 * KIB
    for question, at_limit, too_large in (
        ({}, {"text": "x" * limit}, {"text": "x" * (limit + 1)}),
        ({"response_schema": {}}, {"data": ["x" * (limit - 4)]}, {"data": ["x" * (limit - 3)]}),
    ):
        asked = await handraise.ask(**question)
        path = f"/api/requests/{asked['id']}"
        problem(await handraise.admin.post(f"{path}/respond", json=too_large), 413)
        assert (await handraise.agent.get(path)).json() == asked
        accepted = await handraise.admin.post(f"{path}/respond", json=at_limit)
        assert accepted.status_code == 200, accepted.text[:300]
        ((name, value),) = at_limit.items()
        assert (await handraise.agent.get(path)).json()["response"][name] == value


async def test_limits_are_settings(postgres: TestServer, template: str, tmp_path: Path) -> None:
    """Every limit can be set, and what is refused names the limit that is in force."""
    limits = {
        "max_message_bytes": 10,
        "max_context_bytes": 11,
        "max_schema_bytes": 12,
        "max_metadata_bytes": 13,
        "max_metadata_depth": 2,
        "max_answer_bytes": 14,
        "max_body_bytes": 2000,
    }
    async with service(await postgres.create_database(template), tmp_path / "data", **limits) as small:
        for body in (
            {"message": "x" * 11},
            {"message": "x", "context": "x" * 12},
            {"message": "x", "response_schema": {"title": "x"}},
            {"message": "x", "metadata": {"a": "123456789"}},
            {"message": "x" * 3000},
        ):
            problem(await small.agent.post("/api/requests", json=body), 413)
        assert paths(await small.agent.post("/api/requests", json={"message": "x", "metadata": {"a": [[]]}})) == {
            "metadata"
        }
        asked = await small.ask(message="x")
        problem(await small.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": "x" * 15}), 413)


async def test_an_oversize_body_is_413_whether_or_not_it_says_so(handraise: Service) -> None:
    """A body over 2 MiB is refused by its announced length, and while it streams in without one."""
    body = json.dumps({"message": "x" * (2 * KIB * KIB)}).encode()
    announced = await create(handraise, body)
    assert problem(announced, 413)["detail"] == "the body has more than 2097152 bytes"

    async def chunks() -> Any:
        for start in range(0, len(body), 64 * KIB):
            yield body[start : start + 64 * KIB]

    streamed = await handraise.agent.post("/api/requests", content=chunks(), headers=JSON)
    problem(streamed, 413)
    problem(await create(handraise, b"{}", **{"Content-Length": "9" * 400}), 413)
    problem(await handraise.admin.post("/api/requests/x/respond", content=body, headers=JSON), 413)


# -- depth and numbers


@pytest.mark.parametrize("depth", [40, 99, 150, 500, 900, 925, 940, 948, 960, 1100, 5_000, 100_000])
async def test_deep_json_is_refused_or_can_be_read_again(handraise: Service, depth: int) -> None:
    """However deep a value is nested, it is a clear refusal or a request that every reader can read."""
    for nested in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        for field in ("metadata", "ui_schema", "response_schema", "options", "message", "unknown"):
            created = await create(handraise, f'{{"message":"x","{field}":{{"a":{nested}}}}}')
            assert created.status_code in (201, 400, 422), (field, created.text[:300])
            if created.status_code == 201:
                read = await handraise.agent.get(f"/api/requests/{created.json()['id']}")
                assert read.text == created.text
        as_text = await create(handraise, json.dumps({"message": "x", "response_schema": f'{{"a":{nested}}}'}))
        assert as_text.status_code in (201, 422), as_text.text[:300]


@pytest.mark.parametrize("depth", [64, 65, 500, 900, 940, 2_000, 100_000])
async def test_deep_answers_are_refused_and_the_request_stays_open(handraise: Service, depth: int) -> None:
    """An answer may be nested 64 levels deep; deeper is a clear refusal, as data and as text."""
    asked = await handraise.ask(response_schema={})
    path = f"/api/requests/{asked['id']}"
    nested = '{"a":' * depth + "1" + "}" * depth
    if depth > 64:
        for body in (f'{{"data":{nested}}}', f'{{"data":{"[" * depth}{"]" * depth}}}', json.dumps({"text": nested})):
            refused = await handraise.admin.post(f"{path}/respond", content=body, headers=JSON)
            assert refused.status_code in (400, 413, 422), refused.text[:300]
            problem(refused, refused.status_code)
        assert (await handraise.agent.get(path)).json() == asked
    else:
        accepted = await handraise.admin.post(f"{path}/respond", content=f'{{"data":{nested}}}', headers=JSON)
        assert accepted.status_code == 200
        assert f'"data":{nested}' in (await handraise.agent.get(path)).text


async def test_metadata_may_be_nested_32_levels_deep(handraise: Service) -> None:
    """The thirty-third level is refused, by name."""
    deep: Any = 1
    for _ in range(32):
        deep = {"a": deep}
    assert (await handraise.ask(metadata=deep))["metadata"] == deep
    refused = await handraise.agent.post("/api/requests", json={"message": "x", "metadata": {"a": deep}})
    assert paths(refused) == {"metadata"}


NUMBERS = [
    "1000000000000000000000000000000",
    "-" + "9" * 400,
    "0.1",
    "1e-300",
    "-0.0",
    "1.0",
    "1e+300",
    "9007199254740993",
]


@pytest.mark.parametrize("number", NUMBERS)
async def test_numbers_are_kept_exactly(handraise: Service, number: str) -> None:
    """10^30, a number past 2^53, minus zero and 1.0 come back as they were written, in metadata and in data."""
    created = await create(handraise, f'{{"message":"x","response_schema":{{}},"metadata":{{"n":{number}}}}}')
    assert created.status_code == 201, created.text
    path = f"/api/requests/{created.json()['id']}"
    answered = await handraise.admin.post(f"{path}/respond", content=f'{{"data":[{number}]}}', headers=JSON)
    assert answered.status_code == 200, answered.text
    read = (await handraise.agent.get(path)).text
    assert f'"metadata":{{"n":{number}}}' in read
    assert f'"data":[{number}]' in read


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e999999999", "1" * 1001, "1" * 100_000])
async def test_numbers_that_are_not_json_or_not_numbers_are_refused(handraise: Service, number: str) -> None:
    """NaN, infinities, numbers beyond every float and endless digits are 400, anywhere in a body."""
    for field in ("metadata", "priority", "expires_in_seconds", "unknown"):
        problem(await create(handraise, f'{{"message":"x","{field}":{{"n":{number}}}}}'), 400)
    asked = await handraise.ask(response_schema={})
    path = f"/api/requests/{asked['id']}"
    problem(await handraise.admin.post(f"{path}/respond", content=f'{{"data":{number}}}', headers=JSON), 400)
    in_text = await create(handraise, json.dumps({"message": "x", "response_schema": f'{{"const":{number}}}'}))
    assert all(found.startswith("response_schema") for found in paths(in_text))
    assert (await handraise.agent.get(path)).json() == asked


@pytest.mark.parametrize("field", ["priority", "expires_in_seconds"])
@pytest.mark.parametrize("value", ["1" + "0" * 900, "-1", "true", '"50"', "[]", "1e300"])
async def test_numbers_out_of_range_are_refused_by_name(handraise: Service, field: str, value: str) -> None:
    """Bounds and types hold for every size of number."""
    assert paths(await create(handraise, f'{{"message":"x","{field}":{value}}}')) == {field}


# -- instants


@pytest.mark.parametrize(
    "instant",
    [
        "2027-01-01",
        "2027-01-01T00:00:00",
        "2027-01-01T00:00Z",
        "2027-W01-1T00:00:00Z",
        "20270101T000000Z",
        "soon",
        "",
        "2020-01-01T00:00:00Z",
        "2027-02-29T00:00:00Z",
        "2027-01-01T24:00:00Z",
        "2027-01-01T00:00:60Z",
        "2027-01-01T00:00:00+99:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2999-01-01T00:00:00Z",
        "２０２７-01-01T00:00:00Z",
        1830000000,
        True,
        {},
    ],
)
async def test_c63_a_deadline_without_offset_or_sense_is_refused(handraise: Service, instant: Any) -> None:
    """No deadline is guessed, moved or dropped: it is a future instant with an offset, or 422."""
    refused = await handraise.agent.post("/api/requests", json={"message": "x", "expires_at": instant})
    assert paths(refused) == {"expires_at"}
    key = await handraise.admin.post("/api/keys", json={"name": "k", "agent": "default", "expires_at": instant})
    assert instant == "2999-01-01T00:00:00Z" or paths(key) == {"expires_at"}


@pytest.mark.parametrize("seconds", [0, -1, -60, 0.0, 1e-300, "60", None, 315_360_001])
async def test_c63_zero_and_negative_lifetimes_are_refused(handraise: Service, seconds: Any) -> None:
    """A lifetime that is over before it begins is 422, never an endless request; null is none given."""
    response = await handraise.agent.post("/api/requests", json={"message": "x", "expires_in_seconds": seconds})
    if seconds is None:
        assert (response.status_code, response.json()["expires_at"]) == (201, None)
    else:
        assert paths(response) == {"expires_in_seconds"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2030-01-01T02:00:00+02:00", "2030-01-01T00:00:00.000Z"),
        ("2030-01-01t00:00:00.5z", "2030-01-01T00:00:00.500Z"),
        ("2029-12-31 19:00:00-05:00", "2030-01-01T00:00:00.000Z"),
        ("2030-01-01T00:00:00.123456789Z", "2030-01-01T00:00:00.123Z"),
    ],
)
async def test_c63_a_deadline_with_offset_is_shown_in_utc(handraise: Service, given: str, shown: str) -> None:
    """The same instant, whatever the offset it was given in."""
    asked = await handraise.ask(expires_at=given)
    assert asked["expires_at"] == shown
    assert asked["plan"][-1] == {"step": "expire", "at": shown, "what": "expires unless it was answered"}


async def test_c63_one_deadline_only(handraise: Service) -> None:
    """Two ways of saying it at once are refused: they could differ."""
    both = {"message": "x", "expires_at": "2030-01-01T00:00:00Z", "expires_in_seconds": 60}
    assert paths(await handraise.agent.post("/api/requests", json=both)) == {"expires_at"}


# -- who

FORGED = {
    "X-Forwarded-User": "admin",
    "X-Remote-User": "admin",
    "Remote-User": "admin",
    "X-User": "admin",
    "X-Actor": "admin",
    "Handraise-Actor": "admin",
    "Handraise-User": "admin",
    "Handraise-Via": "slack",
    "X-Auth-Request-Email": "admin@e.test",
    "X-HTTP-Method-Override": "DELETE",
    "Cookie": "session=admin; user=admin",
    "Forwarded": "for=127.0.0.1;by=admin",
}


async def test_c64_the_approver_is_who_the_key_says(handraise: Service, alice: httpx.AsyncClient) -> None:
    """Headers that name somebody else, or another channel, change nothing: result and history name the caller."""
    asked = await handraise.ask(request_type="approval", run_user="alice")
    path = f"/api/requests/{asked['id']}"
    answered = await alice.post(f"{path}/respond", json={"text": "yes"}, headers=FORGED)
    assert answered.status_code == 200, answered.text
    response = (await handraise.agent.get(path)).json()["response"]
    assert (response["by"], response["via"]) == ("alice", "api")
    last = (await handraise.admin.get(f"{path}/history")).json()["items"][-1]
    assert (last["type"], last["actor"], last["via"]) == ("Responded", "alice", "api")


@pytest.mark.parametrize(
    "field", ["decided_by", "by", "actor", "user", "answered_by", "via", "at", "outcome", "status"]
)
async def test_c64_a_body_that_names_the_approver_is_refused(
    handraise: Service, alice: httpx.AsyncClient, field: str
) -> None:
    """A body cannot say who answered: such a field is 422 by name, and nothing is recorded for anybody."""
    asked = await handraise.ask(request_type="approval", run_user="alice")
    path = f"/api/requests/{asked['id']}"
    assert paths(await alice.post(f"{path}/respond", json={"text": "yes", field: "admin"})) == {field}
    body = {"unique_id": asked["unique_id"], "response": "yes", field: "admin"}
    assert paths(await alice.post("/api/human-feedback/submit", json=body)) == {field}
    assert paths(await handraise.agent.post(f"{path}/cancel", json={"reason": "x", field: "admin"})) == {field}
    assert paths(await handraise.agent.post("/api/requests", json={"message": "x", field: "admin"})) == {field}
    assert (await handraise.agent.get(path)).json() == asked


async def test_c64_the_command_line_names_itself(handraise: Service) -> None:
    """The one channel a caller may name is the command line."""
    asked = await handraise.ask()
    answered = await handraise.admin.post(
        f"/api/requests/{asked['id']}/respond", json={"text": "yes"}, headers={"Handraise-Via": "cli"}
    )
    assert (answered.json()["response"]["via"], answered.json()["response"]["by"]) == ("cli", "admin")


# -- bodies that are not what they should be

MALFORMED = {
    "half an object": b'{"message": "x"',
    "two values": b'{"message": "x"} {}',
    "single quotes": b"{'message': 'x'}",
    "a comment": b'{"message": "x"} // no',
    "a trailing comma": b'{"message": "x",}',
    "a raw line break": b'{"message": "a\nb"}',
    "blanks": b"  \n",
    "invalid UTF-8": b'{"message": "\xff\xfe"}',
    "a surrogate in UTF-8": b'{"message": "\xed\xa0\x80"}',
    "UTF-16": '{"message": "x"}'.encode("utf-16"),
    "gzip": gzip.compress(b'{"message": "x"}'),
    "open brackets": b"[" * 100_000,
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
async def test_a_malformed_body_is_400(handraise: Service, body: bytes) -> None:
    """What is not JSON is 400 wherever a body is read, and the refusal quotes none of it."""
    before = await position(handraise)
    for client, path in (
        (handraise.agent, "/api/requests"),
        (handraise.admin, "/api/requests/x/respond"),
        (handraise.admin, "/api/human-feedback/submit"),
        (handraise.agent, "/api/requests/x/cancel"),
        (handraise.admin, "/api/users"),
    ):
        problem(await client.post(path, content=body, headers=JSON), 400)
    assert await position(handraise) == before


async def test_a_compressed_body_is_refused_in_words(handraise: Service) -> None:
    """The refusal says what to leave out."""
    refused = await create(handraise, gzip.compress(b'{"message": "x"}'), **{"Content-Encoding": "gzip"})
    assert "Content-Encoding" in problem(refused, 400)["detail"]


@pytest.mark.parametrize("body", [b"[]", b"null", b"true", b"1", b'"{}"', b'[{"message": "x"}]'])
async def test_a_body_that_is_not_an_object_is_422(handraise: Service, body: bytes) -> None:
    """JSON of another kind is understood and refused."""
    for client, path in (
        (handraise.agent, "/api/requests"),
        (handraise.admin, "/api/requests/x/respond"),
        (handraise.admin, "/api/human-feedback/submit"),
        (handraise.admin, "/api/keys"),
    ):
        refused = problem(await client.post(path, content=body, headers=JSON), 422)
        assert "JSON object" in refused["detail"]


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "",
    ],
)
async def test_a_body_that_is_not_called_json_is_422(handraise: Service, content_type: str | None) -> None:
    """A page of another site can send these without asking: none of them is read. The refusal names the header."""
    headers = {} if content_type is None else {"Content-Type": content_type}
    for body in (b'{"message": "x"}', b""):
        refused = await handraise.agent.post("/api/requests", content=body, headers=headers)
        assert "Content-Type: application/json" in problem(refused, 422)["detail"]


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "Application/JSON", "application/vnd.agent+json"]
)
async def test_json_by_its_other_names_is_read(handraise: Service, content_type: str) -> None:
    """Parameters and case do not matter; the text is UTF-8 in any case."""
    created = await create(handraise, '{"message": "é"}', **{"Content-Type": content_type})
    assert (created.status_code, created.json()["message"]) == (201, "é")


async def test_an_empty_body_says_what_is_missing(handraise: Service) -> None:
    """No body at all is a refusal that says what to send."""
    assert "send a body in JSON" in problem(await create(handraise, b""), 422)["detail"]
    assert "send a body in JSON" in problem(await handraise.agent.post("/api/requests"), 422)["detail"]


async def test_content_type_given_twice_never_fails(handraise: Service) -> None:
    """Two content types are read by the first or refused, in either order."""
    pair = [("Content-Type", "application/json"), ("Content-Type", "text/plain")]
    for headers in (pair, pair[::-1], [*pair, *pair]):
        response = await handraise.agent.post("/api/requests", content=b'{"message": "x"}', headers=headers)
        assert response.status_code in (201, 422)


async def test_a_body_on_a_call_that_takes_none_is_ignored(handraise: Service) -> None:
    """GET with a body is a GET; a cancel needs none."""
    asked = await handraise.ask()
    path = f"/api/requests/{asked['id']}"
    read = await handraise.agent.request("GET", path, content=b"[" * 1000, headers=JSON)
    assert (read.status_code, read.json()) == (200, asked)
    assert (await handraise.agent.post(f"{path}/cancel")).json()["status"] == "Cancelled"


# -- methods and addresses


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "BREW", "PROPFIND"])
async def test_another_method_is_405_and_changes_nothing(handraise: Service, method: str) -> None:
    """An address that exists answers an unknown method with 405 and what is allowed."""
    asked = await handraise.ask()
    path = f"/api/requests/{asked['id']}"
    for address in (path, f"{path}/respond", "/api/requests", "/metrics", f"{path}/cancel"):
        response = await handraise.admin.request(method, address)
        assert response.status_code == 405, (method, address)
        assert response.headers["allow"]
        assert response.headers["content-type"] == "application/problem+json"
    assert (await handraise.agent.get(path)).json() == asked


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
async def test_a_load_balancer_may_probe_with_head(handraise: Service, address: str) -> None:
    """HEAD answers as GET does, without a body."""
    response = await handraise.nobody.head(address)
    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize(
    "address",
    [
        "/api",
        "/api/",
        "/nope",
        "/api/nope",
        "/api/requests/",
        "/api/requests//wait",
        "/nope/%00",
        "/api/requests/a/b/c",
    ],
)
async def test_an_unknown_address_is_404(handraise: Service, address: str) -> None:
    """No address is a failure, and none redirects."""
    for method in ("GET", "POST", "DELETE"):
        problem(await handraise.admin.request(method, address), 404)


@pytest.mark.parametrize(
    "query",
    ["timeout_seconds=abc", "timeout_seconds=nan", "timeout_seconds=inf", "timeout_seconds=-1", "timeout_seconds=601",
     "timeout_seconds=", "timeout_seconds=1e999", "timeout_seconds=%00"],
)  # fmt: skip
async def test_a_wait_that_is_not_0_to_600_seconds_is_422(handraise: Service, query: str) -> None:
    """A bound that makes no sense is refused by name, never an instant or an endless wait."""
    asked = await handraise.ask()
    assert paths(await handraise.agent.get(f"/api/requests/{asked['id']}/wait?{query}")) == {"timeout_seconds"}


async def test_unknown_query_parameters_are_ignored(handraise: Service) -> None:
    """Proxies and clients add their own."""
    asked = await handraise.ask()
    read = await handraise.agent.get(f"/api/requests/{asked['id']}?utm_source=x&_=1&timeout_seconds=abc")
    assert (read.status_code, read.json()) == (200, asked)


async def test_a_name_that_stands_twice_is_refused(handraise: Service) -> None:
    """Which of two values was meant would be a guess, and one of them may be an approval."""
    asked = await handraise.ask(request_type="approval")
    twice = b'{"data": {"approved": false, "approved": true}}'
    path = f"/api/requests/{asked['id']}/respond"
    refused = await handraise.admin.post(path, content=twice, headers=JSON)
    assert refused.status_code == 400
    assert "stands twice" in refused.json()["detail"]
    assert (await handraise.agent.get(f"/api/requests/{asked['id']}")).json()["status"] == "Requested"
