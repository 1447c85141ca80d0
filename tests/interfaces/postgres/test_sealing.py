"""What people and agents write is sealed in the log, bound to its event, and gone for good once erased."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
from eventsourcing.persistence import MapperDeserialisationError
from psycopg import sql

from domain.directory import directory_id
from domain.recorded import RecordedEvent
from domain.request import Request
from domain.users import User
from interfaces.credentials import master_key
from interfaces.postgres.chain import verify
from interfaces.postgres.pool import new_pool
from interfaces.postgres.sealing import MasterKey, SealingMapper, WrongMasterKey, new_data_key
from interfaces.postgres.store import PostgresEventStore
from tests.support.service import Service, service

ID = UUID("6f0e7a52-9f5c-5b5e-8f53-0a3f6d1c2b4a")


def mark(name: str) -> str:
    """A text that stands nowhere else, with a letter that not every encoding leaves alone."""
    return f"mark-{name}-1f6e-ß"


FACT = "fact-5c2e"
"""Stands among the facts of a request, where it must be found: else the search itself would prove nothing."""

MARKED_FORM: dict[str, Any] = {
    "message": mark("message"),
    "context": mark("context"),
    "response_schema": {"type": "object", "title": mark("schema"), "properties": {mark("property"): {}}},
    "ui_schema": {"ui:title": mark("ui")},
    "labels": {"approve": mark("approve"), "reject": mark("reject")},
    "metadata": {mark("name"): {"deep": [mark("metadata")]}},
}
MARKED_CHOICE: dict[str, Any] = {"message": mark("choose"), "options": [mark("option"), mark("other option")]}
WRITTEN = [
    mark(name)
    for name in (
        "message", "context", "schema", "property", "ui", "approve", "reject", "name", "metadata", "choose", "option",
        "other option", "data", "text", "reason", "note", "user", "mail",
    )
]  # fmt: skip


def forms(text: str) -> Iterator[bytes]:
    """The text as it might stand in a database, even encoded."""
    escaped = json.dumps(text)[1:-1].encode()
    for plain in {text.encode(), text.encode("latin-1"), escaped}:
        yield plain
        for shift in range(3):  # base64 depends on where in a group of three bytes the text begins
            encoded = base64.b64encode(bytes(shift) + plain)[-(-shift * 4 // 3) :]
            yield encoded[: len(encoded) - 4]
    for plain in (text.encode(), escaped):
        yield plain.hex().encode()


async def rows(conninfo: str, *tables: str) -> list[bytes]:
    """Every row of these tables, or of all tables there are, as text with its bytes beside it."""
    found: list[bytes] = []
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        cursor = await connection.execute(
            "SELECT schemaname, tablename FROM pg_tables"
            " WHERE schemaname !~ '^pg_' AND schemaname <> 'information_schema'"
        )
        for schema, table in await cursor.fetchall():
            if tables and table not in tables:
                continue
            name = sql.Identifier(schema, table)
            cursor = await connection.execute(sql.SQL("SELECT t::text, t.* FROM {} t").format(name))
            for text, *values in await cursor.fetchall():
                found.append(b"\0".join([text.encode(), *(v for v in values if isinstance(v, bytes))]))
    assert found or tables
    return found


async def found_in(conninfo: str, texts: list[str], *tables: str) -> list[str]:
    """Which of the texts stand, in any form, in these tables."""
    there = await rows(conninfo, *tables)
    return [text for text in texts if any(form in row for form in forms(text) for row in there)]


async def all_is_well(conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        assert (await verify(connection)).fault is None


async def post(client: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    response = await client.post(path, json=body)
    assert response.status_code in (200, 201), response.text
    return response.json()


@pytest.fixture
async def written(handraise: Service) -> list[UUID]:
    """Three closed requests whose every content field was written with a marked text."""
    await handraise.app.directory.add(
        "user", {"name": mark("user"), "email": mark("mail"), "slack_user_id": mark("slack")}, by=None, id="marked"
    )
    form = await handraise.ask(unique_id=FACT, **MARKED_FORM)
    await post(handraise.admin, f"/api/requests/{form['id']}/reassign", to="admin", note=mark("note"))
    await post(handraise.admin, f"/api/requests/{form['id']}/respond", data={mark("property"): mark("data")})
    choice = await handraise.ask(**MARKED_CHOICE)
    await post(handraise.agent, f"/api/requests/{choice['id']}/cancel", reason=mark("reason"))
    free = await handraise.ask(message="May I?")
    await post(handraise.admin, f"/api/requests/{free['id']}/respond", text=mark("text"))
    return [UUID(request["id"]) for request in (form, choice, free)]


async def content_of(handraise: Service, id: UUID) -> dict[str, Any]:
    """All content of an aggregate, by the name of its field."""
    content: dict[str, Any] = {}
    for _, event in await handraise.app.store.history(id):
        content |= {name: getattr(event, name) for name in event.CONTENT}
    return content


def test_the_search_finds_every_form() -> None:
    """Plain, escaped, in hex and in base64 at any offset: else finding nothing would mean nothing."""
    text = mark("message")
    for lead in (b"", b"x", b"xy", b"xyz", b'{"a":"'):
        for plain in (text.encode(), json.dumps(text).encode(), text.encode("latin-1")):
            there = lead + plain + b"tail"
            for stored in (there, base64.b64encode(there)):
                assert any(form in stored for form in forms(text)), (lead, stored)
        assert any(form in (lead + text.encode()).hex().encode() for form in forms(text))
    assert not any(form in mark("massage").encode() for form in forms(text))


async def test_no_content_is_readable_in_the_log(handraise: Service, written: list[UUID], database: str) -> None:
    """Not one text that anybody wrote stands in the events, while their facts do."""
    assert await found_in(database, [FACT], "handraise_events") == [FACT]
    assert await found_in(database, WRITTEN, "handraise_events", "event_chain", "data_keys") == []
    # The texts are there for those who have the key.
    form, choice, free = [await content_of(handraise, id) for id in written]
    assert form == {name: MARKED_FORM.get(name) for name in Request.Requested.CONTENT} | {
        "note": mark("note"),
        "text": None,
        "data": {mark("property"): mark("data")},
    }
    assert (choice["options"], choice["reason"]) == (MARKED_CHOICE["options"], mark("reason"))
    assert free["text"] == mark("text")
    user = await content_of(handraise, directory_id("user", "marked"))
    assert user == {"name": mark("user"), "email": mark("mail"), "slack_user_id": mark("slack")}


async def test_every_content_field_was_tried(handraise: Service, written: list[UUID]) -> None:
    """A new content field must be marked above, or this fails."""
    tried: set[tuple[str, str]] = set()
    for id in [*written, directory_id("user", "marked")]:
        for _, event in await handraise.app.store.history(id):
            tried |= {
                (event.TOPIC, name)
                for name in event.CONTENT
                if "mark-" in json.dumps(getattr(event, name), ensure_ascii=False)
            }
    every = {(event.TOPIC, name) for event in _all_events() for name in event.CONTENT}
    assert tried == every


def _all_events() -> Iterator[Any]:
    for aggregate in (Request, User):
        for value in vars(aggregate).values():
            if isinstance(value, type) and issubclass(value, RecordedEvent) and value.CONTENT:
                yield value


async def test_erasing_makes_content_unreadable_and_leaves_the_facts(
    handraise: Service, written: list[UUID], database: str
) -> None:
    """The requests load with None for their content, which no other table keeps; who, when and what stays."""
    before = {id: await handraise.app.store.history(id) for id in written}
    for id in written:
        await post(handraise.admin, f"/api/requests/{id}/erase")
    for id in written:
        request = await handraise.app.store.request(id)
        assert request is not None
        assert (request.erased, request.answer, request.version) == (True, None, len(before[id]) + 1)
        after = await handraise.app.store.history(id)
        for (position, old), (now_at, now) in zip(before[id], after, strict=False):
            assert now_at == position
            assert vars(now) == vars(old) | dict.fromkeys(old.CONTENT)
        assert isinstance(after[-1][1], Request.ContentErased)
    keys = "SELECT count(*), count(wrapped) FROM data_keys WHERE aggregate_id = ANY(%s)"
    async with await psycopg.AsyncConnection.connect(database) as connection:
        assert await (await connection.execute(keys, (written,))).fetchone() == (3, 0)
    await _projected(handraise)
    assert await found_in(database, [FACT], "handraise_events") == [FACT]
    of_requests = [text for text in WRITTEN if text not in (mark("user"), mark("mail"))]
    assert await found_in(database, of_requests) == []
    await all_is_well(database)


async def test_a_secret_answer_is_in_no_table(handraise: Service, database: str) -> None:
    """Neither while it waits for its agent, nor once it was collected, acknowledged, or erased."""
    secrets = [mark("secret"), mark("second secret")]
    first = await handraise.ask(message="The code, please", secret=True, unique_id=FACT)
    form = {
        "type": "object",
        "properties": {"password": {"type": "string", "format": "password"}, "note": {"type": "string"}},
    }
    second = await handraise.ask(message="The password, please", response_schema=form)
    await post(handraise.admin, f"/api/requests/{first['id']}/respond", text=secrets[0])
    await post(handraise.admin, f"/api/requests/{second['id']}/respond", data={"password": secrets[1], "note": "mine"})
    await _projected(handraise)
    assert await found_in(database, [FACT]) == [FACT]
    assert await found_in(database, secrets) == []

    receipt = {"receipt": "receipt-of-the-agent"}
    collected = await post(handraise.agent, f"/api/requests/{first['id']}/collect", **receipt)
    assert collected["text"] == secrets[0]
    assert (await post(handraise.agent, f"/api/requests/{second['id']}/collect", **receipt))["data"]["note"] == "mine"
    assert await found_in(database, secrets) == []
    assert len(await rows(database, "sealed_answers")) == 2

    await post(handraise.agent, f"/api/requests/{first['id']}/acknowledge", **receipt)
    assert len(await rows(database, "sealed_answers")) == 1
    await post(handraise.admin, f"/api/requests/{second['id']}/erase")
    assert await rows(database, "sealed_answers") == []
    await _projected(handraise)
    assert await found_in(database, secrets) == []
    await all_is_well(database)


async def _projected(handraise: Service) -> None:
    """Returns once the read models show everything that was written."""
    response = await handraise.admin.get(f"/api/requests?min_position={await handraise.app.store.head()}")
    assert response.status_code == 200, response.text


async def test_another_master_key_is_refused_before_anything_is_served(
    handraise: Service, database: str, tmp_path: Path
) -> None:
    """A server with the wrong key does not start, says why, and leaves the right one working."""
    before = await handraise.app.store.head()
    with pytest.raises(WrongMasterKey, match=r"set HANDRAISE_SECRET_KEY, or put back the file secret\.key"):
        async with service(database, tmp_path / "elsewhere"):
            pass
    assert await handraise.app.store.head() == before
    async with service(database, tmp_path / "again", secret_key=_text(handraise)):
        pass


def _text(handraise: Service) -> str:
    return base64.urlsafe_b64encode(master_key(handraise.settings)).decode()


async def test_another_master_key_opens_nothing(handraise: Service, written: list[UUID], database: str) -> None:
    """Nor does it show or change anything in a database that it got hold of."""
    pool = new_pool(database, 2)
    await pool.open()
    store = PostgresEventStore(pool, handraise.app.writer, MasterKey(os.urandom(32)))
    for look in (store.request, store.history):
        with pytest.raises(WrongMasterKey):
            await look(written[0])
    await pool.close()


async def test_events_whose_content_was_exchanged_do_not_load(handraise: Service, database: str) -> None:
    """Two notes of one request, under one key, each put into the other's place."""
    id = UUID((await handraise.ask())["id"])
    await handraise.person("anna")
    for to, note in (("anna", "first"), ("admin", "second")):
        await post(handraise.admin, f"/api/requests/{id}/reassign", to=to, note=note)
    assert (await handraise.app.store.request(id)) is not None
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute(
            "UPDATE handraise_events e SET state = o.state FROM handraise_events o"
            " WHERE e.originator_id = %(id)s AND o.originator_id = %(id)s"
            " AND (e.originator_version, o.originator_version) IN ((2, 3), (3, 2))",
            {"id": id},
        )
    with pytest.raises(MapperDeserialisationError, match=f"cannot read event 2 of {id}"):
        await handraise.app.store.request(id)


# -- the mapper and the master key


def cancelled(reason: str | None, version: int = 2) -> Request.Cancelled:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    return Request.Cancelled(originator_id=ID, originator_version=version, timestamp=at, actor="system", reason=reason)


def test_sealing_and_opening() -> None:
    """What was sealed comes back under its key, reads as None without any, and is never the same bytes twice."""
    mapper, key = SealingMapper(), new_data_key()
    for reason in ("not needed", "", "a\nb", "ß\u2028\U0001f44d", "x" * 100_000, None):
        stored = mapper.seal(cancelled(reason), key)
        assert mapper.open(stored, key) == cancelled(reason)
        assert mapper.open(stored, None) == cancelled(None)
        assert (mapper.seal(cancelled(reason), key) == stored) is (reason is None)


def test_content_is_bound_to_its_event() -> None:
    """Moved to another aggregate, version or kind of event, changed, or under another key, it does not open."""
    mapper, key = SealingMapper(), new_data_key()
    stored = mapper.seal(cancelled("not needed"), key)
    last = stored.state[-1] ^ 1
    for moved, with_key in (
        (replace(stored, originator_version=3), key),
        (replace(stored, originator_id=uuid4()), key),
        (replace(stored, topic=Request.Reassigned.TOPIC), key),
        (replace(stored, state=stored.state[:-1] + bytes([last])), key),
        (replace(stored, state=stored.state[:-1]), key),
        (replace(stored, state=stored.state.partition(b"\n")[0] + b"\n"), key),
        (stored, new_data_key()),
    ):
        with pytest.raises(MapperDeserialisationError):
            mapper.open(moved, with_key)


def test_content_is_never_stored_without_a_key() -> None:
    """Better no event than an open one."""
    with pytest.raises(ValueError, match="no data key"):
        SealingMapper().seal(cancelled("not needed"), None)
    assert SealingMapper().open(SealingMapper().seal(cancelled(None), None), None) == cancelled(None)


def test_wrapped_keys_are_bound_to_their_aggregate() -> None:
    """Put beside another aggregate, a data key does not open; nor under another master key."""
    master, key = MasterKey(os.urandom(32)), new_data_key()
    wrapped = master.wrap(key, ID.bytes)
    assert master.unwrap(wrapped, ID.bytes) == key
    assert key not in wrapped
    assert master.wrap(key, ID.bytes) != wrapped
    for unwrap in (
        lambda: master.unwrap(wrapped, uuid4().bytes),
        lambda: MasterKey(os.urandom(32)).unwrap(wrapped, ID.bytes),
        lambda: master.unwrap(wrapped[:-1], ID.bytes),
    ):
        with pytest.raises(WrongMasterKey):
            unwrap()


def test_a_master_key_shows_nothing_of_itself() -> None:
    """Neither printed, nor in what is derived from it for other purposes."""
    plain = os.urandom(32)
    master = MasterKey(plain)
    assert (repr(master), str(master)) == ("MasterKey(…)", "MasterKey(…)")
    derived = {master.derive("heads"), master.derive("tokens"), MasterKey(os.urandom(32)).derive("heads"), plain}
    assert len(derived) == 4
    assert master.derive("heads") == MasterKey(plain).derive("heads")
    for length in (0, 31, 33):
        with pytest.raises(ValueError, match=f"32 bytes, not {length}"):
            MasterKey(bytes(length))
