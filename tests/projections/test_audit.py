"""The audit trail: every event found by every filter, exported whole, verified without the database."""

from __future__ import annotations

import base64
import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import psycopg

from domain.callers import Role
from domain.request import Request
from interfaces.heads import is_signed
from interfaces.postgres.chain import Head, Verdict, verify, verify_export
from interfaces.postgres.export import COLUMNS, AuditExport
from interfaces.postgres.migrate import GENESIS
from projections.audit import AuditFilters
from tests.support.read_models import a_request, callers_of, dump, settled, walk
from tests.support.service import Service

AWKWARD = 'a "quoted"\\\\ line,\r\nnext;\u2028\u2029\u0085 <b>=1+1</b> 価格 🙂\t\x01'


async def history(handraise: Service) -> dict[str, Any]:
    """A bit of everything; the ids of the requests by their names."""
    alice = await handraise.person("alice")
    zed = await handraise.another_agent("zed")
    ids: dict[str, Any] = {}
    for name, client, body in (
        (
            "first",
            handraise.agent,
            {"message": "The first apple?", "run_user": "alice", "metadata": {"fruit": ["pear"]}},
        ),
        ("second", zed, {"message": AWKWARD, "context": "The second apple", "options": ["red", "green"]}),
        ("third", handraise.agent, {"message": "A secret", "secret": True}),
        ("fourth", handraise.agent, {"message": "To be erased", "context": "plum"}),
        ("late", handraise.agent, {"message": "Quick?", "expires_in_seconds": 0.01}),
    ):
        response = await client.post("/api/requests", json={"unique_id": name} | body)
        assert response.status_code == 201, response.text
        ids[name] = response.json()["id"]
    for client, name, command, body in (
        (alice, "first", "respond", {"text": "cherry"}),
        (alice, "second", "respond", {"text": "green"}),
        (handraise.admin, "second", "reassign", {"to": "alice", "note": "grape"}),
        (alice, "second", "respond", {"text": "green"}),
        (handraise.admin, "third", "respond", {"text": "hunter2"}),
        (handraise.agent, "third", "collect", {"receipt": "a receipt of mine"}),
        (handraise.agent, "fourth", "cancel", {"reason": "quince"}),
    ):
        await client.post(f"/api/requests/{ids[name]}/{command}", json=body)
    await handraise.admin.get(f"/api/requests/{ids['late']}/wait", params={"timeout_seconds": 20})
    created = await handraise.admin.post("/api/keys", json={"name": "spare", "agent": "zed"})
    await handraise.admin.delete(f"/api/keys/{created.json()['id']}")
    await settled(handraise)
    return ids


async def trail(client: httpx.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    response = await client.get("/api/audit", params={"limit": 200} | query)
    assert response.status_code == 200, response.text
    return response.json()["items"]


async def export(client: httpx.AsyncClient, **query: Any) -> str:
    response = await client.get("/api/audit/export", params=query)
    assert response.status_code == 200, response.text
    return response.text


def lines_of(text: str) -> list[dict[str, Any]]:
    assert text.endswith("\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


# -- the trail


async def test_the_trail_is_the_whole_log_newest_first(handraise: Service) -> None:
    """Every event of requests and of the directory is in it, once, and pages miss and repeat nothing."""
    await history(handraise)
    whole = await trail(handraise.admin)
    head = await handraise.app.store.head()
    assert [item["position"] for item in whole] == list(range(head, 0, -1))
    assert {(item["of"], item["type"]) for item in whole} == {
        ("User", "Added"),
        ("Agent", "Added"),
        ("Category", "Added"),
        ("RequestType", "Added"),
        ("AccessKey", "Created"),
        ("AccessKey", "Revoked"),
        *(("Request", type) for type in ("Requested", "Reassigned", "Responded", "Cancelled", "Expired")),
        ("Request", "AnswerRefused"),
        ("Request", "Collected"),
    }
    for limit in (1, 4, 200):
        assert await walk(handraise.admin, "/api/audit", limit) == whole
    assert await walk(handraise.admin, "/api/audit", 4, handraise.ask) == whole  # what is new comes before


async def test_an_event_is_shown_with_facts_and_content(handraise: Service) -> None:
    """Facts stay for good; content is what somebody wrote, until it is erased."""
    ids = await history(handraise)
    alice = (await trail(handraise.admin, type="Added", q="alice"))[0]["aggregate_id"]
    found = {item["type"]: item for item in await trail(handraise.admin, request_id=ids["first"])}
    read = (await handraise.admin.get(f"/api/requests/{ids['first']}")).json()
    answered = found["Responded"]
    assert answered == {
        "position": read["position"],
        "at": read["closed_at"],
        "type": "Responded",
        "of": "Request",
        "actor": "alice",
        "aggregate_id": ids["first"],
        "request_id": ids["first"],
        "agent": "default",
        "facts": {"via": "api", "outcome": "answered", "sealed": False, "sealed_until": None},
        "content": {"text": "cherry"},
    }
    asked = found["Requested"]
    assert asked["content"] == {"message": "The first apple?", "metadata": {"fruit": ["pear"]}}
    assert asked["facts"] == {
        "unique_id": "first",
        "agent_id": asked["facts"]["agent_id"],
        "request_type": "clarification",
        "run_id": None,
        "run_step_id": None,
        "run_user": alice,
        "secret": False,
        "sealed": False,
        "priority": 50,
        "expires_at": None,
        "assignment": {
            "level": "fallback",
            "reason": "No strategy names anybody: the run user is asked (alice).",
            "chosen": alice,
            "list": None,
            "strategy": None,
            "candidates": [alice],
            "trace": [
                {"level": "invocation", "said": "no strategy"},
                {"level": "agent_type", "said": "no strategy"},
                {"level": "category", "said": "no strategy"},
                {"level": "request_type", "of": "clarification", "said": "no strategy"},
                {"level": "fallback", "said": "alice", "warning": True},
            ],
        },
        "plan": [{"step": "show", "at": read["created_at"], "what": "shown in the inbox"}],
    }
    (revoked,) = await trail(handraise.admin, type="Revoked")
    assert (revoked["of"], revoked["actor"], revoked["request_id"], revoked["agent"]) == (
        "AccessKey",
        "admin",
        None,
        None,
    )
    assert (revoked["facts"], revoked["content"]) == ({}, None)
    assert "hunter2" not in str(await trail(handraise.admin))


async def test_every_filter(handraise: Service) -> None:
    """Each narrows the trail to what it says, alone and with others; the export is narrowed the same way."""
    ids = await history(handraise)
    whole = await trail(handraise.admin)
    middle = whole[len(whole) // 2]["at"]
    words = {
        "apple": {"first", "second"},
        "pear": {"first"},
        "cherry": {"first"},
        '"second apple"': {"second"},
        "grape": {"second"},
        "価格": {"second"},
        "quince or cherry": {"first", "fourth"},
        "hunter2": set(),
    }
    names = {id: name for name, id in ids.items()}
    for query, which in (
        ({"actor": "alice"}, lambda item: item["actor"] == "alice"),
        ({"actor": "zed"}, lambda item: item["actor"] == "zed"),
        ({"actor": "system"}, lambda item: item["actor"] == "system"),
        ({"type": "Responded"}, lambda item: item["type"] == "Responded"),
        ({"type": ["Responded", "Added"]}, lambda item: item["type"] in ("Responded", "Added")),
        ({"type": "Unheard"}, lambda item: False),
        ({"request_id": ids["second"]}, lambda item: item["request_id"] == ids["second"]),
        ({"request_id": str(UUID(int=5))}, lambda item: False),
        ({"agent": "zed"}, lambda item: item["agent"] == "zed"),
        ({"from": middle}, lambda item: item["at"] >= middle),
        ({"to": middle}, lambda item: item["at"] < middle),
        ({"from": middle, "to": middle}, lambda item: False),
        *(
            ({"q": q}, lambda item, found=found: names.get(item["request_id"]) in found and item["content"])
            for q, found in words.items()
        ),
        ({"actor": "alice", "type": "Responded", "agent": "zed", "q": "green"},
         lambda item: (item["actor"], item["type"], item["agent"]) == ("alice", "Responded", "zed")),
    ):  # fmt: skip
        found = await trail(handraise.admin, **query)
        expected = [item for item in whole if which(item)]
        if "q" in query:  # of a request's events only those that hold the words
            assert [item for item in expected if item in found] == found, query
            assert {item["request_id"] for item in found} == {item["request_id"] for item in expected}, query
        else:
            assert found == expected, query
        if found:
            exported = lines_of(await export(handraise.admin, **query))
            assert [line["position"] for line in exported] == [item["position"] for item in reversed(found)]
            assert await walk(handraise.admin, "/api/audit", 2, **query) == found
        else:
            assert await export(handraise.admin, **query) == ""


async def test_a_person_and_an_agent_of_one_name_are_both_found(handraise: Service) -> None:
    """Ids are unique within people and within agents only: an actor of that name may be either."""
    default = await handraise.person("default")
    asked = await handraise.ask(run_user="default")
    await default.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})
    await settled(handraise)
    assert [item["type"] for item in await trail(handraise.admin, actor="default")] == ["Responded", "Requested"]


async def test_content_is_gone_after_erasing(handraise: Service, database: str) -> None:
    """From the trail, the search and the export; the facts and the chain stay as they were."""
    ids = await history(handraise)
    before = lines_of(await export(handraise.admin))
    assert (await handraise.admin.post(f"/api/requests/{ids['fourth']}/erase")).status_code == 200
    head = await settled(handraise)
    items = await trail(handraise.admin, request_id=ids["fourth"])
    assert [(item["type"], item["content"]) for item in items] == [
        ("ContentErased", None),
        ("Cancelled", None),
        ("Requested", None),
    ]
    assert items[-1]["facts"] == next(
        line["facts"] for line in before if line["request_id"] == ids["fourth"] and line["type"] == "Requested"
    )
    for word in ("plum", "quince", "erased"):
        assert await trail(handraise.admin, q=word) == []
        assert word not in await export(handraise.admin)
        assert word not in str(await dump(database))
    after = lines_of(await export(handraise.admin))
    assert after[:-1] == [line | ({"content": None} if line["request_id"] == ids["fourth"] else {}) for line in before]
    assert verify_export(after).head.position == head


# -- the export


async def test_an_export_is_the_trail_and_its_proof(handraise: Service) -> None:
    """Every line is JSON, oldest first, and says what the trail says, whatever was written."""
    await history(handraise)
    response = await handraise.admin.get("/api/audit/export")
    assert response.headers["content-type"] == "application/jsonl"
    assert response.headers["content-disposition"] == 'attachment; filename="handraise-audit.jsonl"'
    lines = lines_of(response.text)
    assert [list(line) for line in lines] == [list(COLUMNS)] * len(lines)
    shown = ("position", "at", "type", "of", "actor", "request_id", "agent", "facts", "content")
    assert [{name: line[name] for name in shown} for line in lines] == [
        {name: item[name] for name in shown} for item in reversed(await trail(handraise.admin))
    ]
    assert any(line["content"] and line["content"].get("message") == AWKWARD for line in lines)
    for line in lines:
        facts, _, sealed = base64.b64decode(line["state"]).partition(b"\n")
        assert bool(sealed) == bool(line["content"])
        assert json.loads(facts)["actor"].partition(":")[0] in ("system", "user", "agent")


async def test_csv_holds_the_same(handraise: Service) -> None:
    """The same columns; facts and content as JSON, nothing as an empty field."""
    await history(handraise)
    response = await handraise.admin.get("/api/audit/export?format=csv")
    assert response.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(response.text, newline="")))
    lines = lines_of(await export(handraise.admin))
    assert rows == [
        {
            name: ""
            if value is None
            else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            if name in ("facts", "content")
            else str(value)
            for name, value in line.items()
        }
        for line in lines
    ]
    assert verify_export(rows) == verify_export(lines)
    empty = await export(handraise.admin, format="csv", type="Unheard")
    assert empty == ",".join(COLUMNS) + "\r\n"


async def test_an_export_verifies_up_to_the_signed_head(handraise: Service) -> None:
    """Without the database: the chain recomputed from the lines ends in the head that the server signed."""
    await history(handraise)
    head = (await handraise.admin.get("/api/audit/head")).json()
    await handraise.ask()
    text = await export(handraise.admin, min_position=head["position"])
    lines = lines_of(text)
    known = Head.parse(head["head"])
    assert (head["position"], head["hash"]) == (known.position, known.hash.hex())
    assert verify_export(lines[: known.position]) == Verdict(known.position, known)
    whole = verify_export(lines, known_head=known)
    assert (whole.fault, whole.events) == (None, len(lines))
    assert verify_export([]) == Verdict(0, Head(0, GENESIS))

    proof = {name: head[name] for name in ("head", "at", "signature", "public_key")}
    assert is_signed(**proof)
    for name, wrong in (
        ("head", str(Head(known.position + 1, known.hash))),
        ("at", head["at"].replace("Z", "+00:00")),
        ("signature", "00" * 64),
        ("signature", head["signature"][:-2]),
        ("signature", "no hex"),
        ("public_key", "11" * 32),
        ("public_key", ""),
    ):
        assert not is_signed(**proof | {name: wrong}), name
    again = (await handraise.admin.get("/api/audit/head")).json()
    assert (again["public_key"], again["position"]) == (head["public_key"], known.position + 1)


async def test_a_line_that_was_tampered_with_is_named(handraise: Service, database: str) -> None:
    """Whatever is changed, taken out, doubled, swapped or cut off: the first position that does not hold is named."""
    await history(handraise)
    lines = lines_of(await export(handraise.admin))
    end = verify_export(lines).head
    ninth = lines[8]
    other = base64.b64encode(base64.b64decode(ninth["state"])[:-1] + b"?").decode()
    for field, wrong in (
        ("position", 8),
        ("position", "nine"),
        ("position", -(2**70)),
        ("originator_id", str(UUID(int=9))),
        ("originator_id", "nobody"),
        ("originator_version", 7),
        ("originator_version", 2**40),
        ("originator_version", None),
        ("topic", "handraise.Request.Responded!"),
        ("state", other),
        ("state", "no base64!"),
        ("hash", "00" * 32),
        ("hash", None),
    ):
        verdict = verify_export([*lines[:8], ninth | {field: wrong}, *lines[9:]])
        assert (verdict.position, verdict.events, verdict.head.hash.hex()) == (9, 8, lines[7]["hash"]), (field, wrong)
        assert verdict.fault is not None
    del ninth["hash"]
    assert verify_export(lines).position == 9
    lines = lines_of(await export(handraise.admin))
    for tampered, position in (
        (lines[1:], 1),
        ([*lines[:5], *lines[6:]], 6),
        ([*lines[:5], lines[4], *lines[5:]], 6),
        ([*lines[:5], lines[6], lines[5], *lines[7:]], 6),
        ([lines[0] | {"hash": lines[1]["hash"]}, *lines[1:]], 1),
    ):
        assert verify_export(tampered).position == position
    cut = verify_export(lines[:-3], known_head=end)
    assert (cut.position, cut.fault) == (
        end.position - 2,
        f"position {end.position - 2}: the tail is cut: the given head was at {end.position}",
    )
    assert verify_export(lines, known_head=Head(4, end.hash)).position == 4
    assert verify_export(lines, known_head=Head(0, end.hash)).position == 0

    async with await psycopg.AsyncConnection.connect(database) as connection:
        assert await verify(connection, known_head=end) == verify_export(lines, known_head=end)


async def test_an_export_may_be_as_fresh_as_one_wants(handraise: Service) -> None:
    """With the position of a write, the export holds it."""
    for _ in range(5):
        asked = await handraise.ask()
        lines = lines_of(await export(handraise.admin, min_position=asked["position"], request_id=asked["id"]))
        assert [line["position"] for line in lines] == [asked["position"]]


# -- size


async def test_twenty_thousand_events_come_in_small_pieces(handraise: Service, database: str) -> None:
    """However long the trail, only a piece of bounded size is in memory at a time; all together they verify."""
    agent, admin = await callers_of(handraise)
    now = datetime.now(UTC) - timedelta(hours=1)
    for batch in range(10):
        requests = [a_request(agent, now, f"r-{batch}-{number}", f"Question {number}? " * 50) for number in range(100)]
        for request in requests:
            for step in range(18):
                request.trigger_event(
                    Request.Notified,
                    timestamp=now,
                    actor="system",
                    step=f"step {step}",
                    channel="slack",
                    recipient=None,
                    reference={"channel": "C0", "ts": "1234.5678"},
                    attempt=1,
                    delivered=True,
                    error=None,
                    retry_at=None,
                )
            request.cancel(by=admin, now=now + timedelta(seconds=1), reason="a reason")
        await handraise.app.store.save(*requests)
    head = await settled(handraise)
    assert head > 20_000
    for format in ("jsonl", "csv"):
        largest, count, whole = 0, 0, bytearray()
        async for chunk in AuditExport(database)(AuditFilters(), format):
            largest, count = max(largest, len(chunk)), count + 1
            whole += chunk
        assert largest < 4 * 1024 * 1024
        assert count >= 10
        text = io.StringIO(whole.decode(), newline="")
        lines = csv.DictReader(text) if format == "csv" else map(json.loads, text)
        assert verify_export(lines).events == head


async def test_large_events_come_one_by_one(handraise: Service, database: str) -> None:
    """What is in memory is bounded in bytes, not only in events."""
    for number in range(24):
        await handraise.ask(message=f"{number} " + "x" * 500_000)
    head = await settled(handraise)
    sizes = [len(chunk) async for chunk in AuditExport(database)(AuditFilters(), "jsonl")]
    assert len(sizes) > 10
    assert max(sizes) < 4 * 1024 * 1024
    assert sum(sizes) > 24 * 1_000_000
    assert head == 24 + len(await trail(handraise.admin, type=["Added", "Created"]))


async def test_the_trail_is_for_administrators_and_auditors(handraise: Service) -> None:
    """Nobody else reads what everybody did."""
    auditor, member = await handraise.person("auditor", Role.AUDITOR), await handraise.person("member")
    for path in ("/api/audit", "/api/audit/export", "/api/audit/head"):
        assert [
            (await client.get(path)).status_code for client in (handraise.admin, auditor, member, handraise.agent)
        ] == [200, 200, 403, 403]
