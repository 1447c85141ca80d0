"""A secret answer is nowhere but with its agent: not in the database, its files, logs, streams, notices or exports."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import pickle
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql

from application.notices import Message
from interfaces import logs
from interfaces.postgres.embedded import conninfo_of_running
from interfaces.settings import Settings
from tests.support.channels import FakeChannel
from tests.support.processes import ServerProcess, cli_here, until
from tests.support.read_models import StoppedClock, rows
from tests.support.service import Service, service

CODE = "730518264097"
"""What people answer, alone or within something longer."""
PLANTED = "618205937441"
"""What is put into every place by the test, so that it is known that the search would find it there."""

RECEIPT, ANOTHER = "the first collector's", "the second collector's"

FORM = {
    "type": "object",
    "required": ["code"],
    "properties": {"code": {"type": "string", "pattern": "^[0-9]{12}$", "maxLength": 12, "writeOnly": True}},
    "additionalProperties": False,
}
PASSWORD_FORM = {
    "type": "object",
    "required": ["password"],
    "properties": {"password": {"type": "string", "format": "password", "minLength": 8, "maxLength": 20}},
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "text": {"secret": True},
    "options": {"secret": True, "options": ["Send", "Do not send"]},
    "write-only": {"response_schema": FORM},
    "password": {"response_schema": PASSWORD_FORM},
    "approval": {"secret": True, "request_type": "approval"},
    "review": {"secret": True, "request_type": "review"},
}

_ANY: list[dict[str, Any]] = [
    {"text": f"{CODE}\0"},
    {"text": [CODE]},
    {"text": int(CODE)},
    {"data": {"code": f"\ud800{CODE}"}},
    {"text": CODE * 30_000},
    {"text": CODE, "note": CODE},
    {"text": CODE, CODE: CODE},
    {"answer": CODE},
    {"text": {"code": CODE}},
]
_DATA: list[Any] = [
    CODE,
    [CODE],
    {"code": f"{CODE}x"},
    {"code": CODE * 3},
    {"code": int(CODE)},
    {"code": {"value": CODE}},
    {"password": CODE * 3},
    {"password": {CODE: CODE}},
    {"approved": CODE},
    {"approved": "yes", "note": CODE},
    {"approved": True, "note": [CODE]},
    {"approved": True, "comment": CODE},
    {"index": int(CODE)},
    {"option": CODE},
    {"option": "Send", "note": CODE},
    {CODE: CODE},
]
_TEXT = [f"{CODE}x", CODE * 3, f'{{"code": "{CODE}x"}}', f'{{"code": "{CODE}', f'{{"{CODE}": 1, "{CODE}": 2}}']
MALFORMED: dict[str, list[dict[str, Any]]] = {
    "text": [*_ANY, *({"data": data} for data in _DATA)],
    "options": [*_ANY, *({"data": data} for data in _DATA), *({"text": text} for text in (CODE, *_TEXT))],
    "write-only": [*_ANY, *({"data": data} for data in _DATA), *({"text": text} for text in _TEXT)],
    "password": [*_ANY, *({"data": data} for data in _DATA), *({"text": text} for text in _TEXT[1:])],
    "approval": [*_ANY, *({"data": data} for data in _DATA), *({"text": text} for text in (CODE, *_TEXT))],
    "review": [*_ANY, *({"data": data} for data in _DATA)],
}
"""None of these answers the question."""

VALID: dict[str, dict[str, Any]] = {
    "text": {"text": CODE},
    "options": {"text": "2"},
    "write-only": {"data": {"code": CODE}},
    "password": {"data": {"password": f"pw {CODE}"}},
    "approval": {"data": {"approved": True, "note": f"the code is {CODE}"}},
    "review": {"text": f"not like that, {CODE}"},
}


def forms_of(core: str) -> dict[str, bytes]:
    """All that is looked for: the text, its hex, and what its base64 has in common wherever it stands."""
    found = {"text": core.encode(), "hex": core.encode().hex().encode()}  # digits: no letters in it, large or small
    for shift in range(3):
        encoded = base64.b64encode(bytes(shift) + core.encode())
        first, last = (shift * 8 + 5) // 6, (shift + len(core)) * 8 // 6  # digits that hold bits of the core alone
        found[f"base64, {shift}"] = encoded[first:last]
    return found


def finds(places: Mapping[str, Sequence[bytes]], core: str) -> dict[str, set[str]]:
    """The places where it stands, each with the forms in which it does."""
    forms = forms_of(core)
    found = {
        place: {name for name, form in forms.items() if any(form in piece for piece in pieces)}
        for place, pieces in places.items()
    }
    return {place: names for place, names in found.items() if names}


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
def test_the_search_finds_every_form(before: str) -> None:
    """Text, hex and base64 are found behind a beginning of any length, and nothing is found where nothing is."""
    whole = f"{before}{PLANTED} and more".encode()
    for form, encoded in {
        "text": whole,
        "hex": whole.hex().encode(),
        f"base64, {len(before) % 3}": base64.b64encode(whole),
    }.items():
        assert finds({"here": [b"nothing", encoded]}, PLANTED) == {"here": {form}}
        assert finds({"here": [encoded]}, CODE) == {}
    assert finds({"here": [base64.urlsafe_b64encode(whole)]}, PLANTED)


@dataclass
class Scene:
    """A server of its own, what it has said, and what was asked on it."""

    server: ServerProcess
    data_dir: Path
    said: dict[str, list[bytes]] = field(default_factory=dict)
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)

    def heard(self, place: str, piece: bytes | str | httpx.Response) -> None:
        """Keep what came out."""
        if isinstance(piece, httpx.Response):
            piece = repr(piece.headers.raw).encode() + piece.content
        self.said.setdefault(place, []).append(piece.encode() if isinstance(piece, str) else piece)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keep all bytes of the administrator's live stream until the log's present head is in it."""
        received = bytearray()
        ended = threading.Event()

        def read() -> None:
            with (
                self.server.admin() as admin,
                admin.stream("GET", "/api/stream", params={"after": 0}, timeout=60) as response,
            ):
                for piece in response.iter_raw():
                    received.extend(piece)
                    if ended.is_set():
                        return

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        yield
        with self.server.admin() as admin:
            head = admin.get("/api/audit/head").json()["position"]
            until(lambda: f"id: {head}\n".encode() in received, "the stream has all events")
            ended.set()
            admin.post("/api/agents", json={"name": "One more event"})
        with self.server.agent() as agent:
            agent.post("/api/requests", json={"message": "the last one"})
        thread.join(30)
        self.heard("stream", bytes(received))

    def conninfo(self) -> str:
        found = conninfo_of_running(self.data_dir)
        assert found is not None
        return found


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A server with a database of its own, logging all that it ever would."""
    data_dir = tmp_path / "data"
    with ServerProcess(data_dir) as server:
        yield Scene(server, data_dir)


def ask_all(scene: Scene, agent: httpx.Client, channel: str) -> dict[str, dict[str, Any]]:
    """One request of each kind; the names hold what is planted."""
    asked = {}
    for kind, question in QUESTIONS.items():
        name = f"{kind}-{channel}-{PLANTED}"
        body = {"message": "The code, please", "unique_id": name, "run_id": name, **question}
        created = agent.post("/api/requests", json=body)
        assert created.status_code == 201, created.text
        asked[kind] = created.json()
        scene.asked[name] = asked[kind]
    return asked


def try_malformed(scene: Scene, admin: httpx.Client, kind: str, request: dict[str, Any]) -> None:
    """All that is no answer to it, through respond and submit, and as bodies that are no JSON."""
    headers = {"Content-Type": "application/json"}
    paths = {f"/api/requests/{request['id']}/respond": False, "/api/human-feedback/submit": True}
    for path, submit in paths.items():
        for given in MALFORMED[kind]:
            body = given
            if submit:
                rest = dict(given)
                name = "data" if "data" in rest else "text"
                value = rest.pop(name, None)
                if isinstance(value, str if name == "data" else dict):
                    continue  # what it is there, it is not here
                body = {"unique_id": request["unique_id"], "response": value, **rest}
            response = admin.post(path, content=json.dumps(body), headers=headers)
            assert response.status_code in (413, 422), (kind, body, response.text[:500])
            scene.heard("error responses", response)
        for content in (
            f'{{"text": "{CODE}',
            f'{{"text": {CODE}.{CODE}e{CODE}}}',
            f'{{"{CODE}": 1, "{CODE}": 2}}',
            f"{CODE}",
            f'["{CODE}"]',
        ):
            response = admin.post(path, content=content, headers=headers)
            assert response.status_code in (400, 422), response.text
            scene.heard("error responses", response)
        response = admin.post(
            path, content=f"text={CODE}", headers={"Content-Type": "application/x-www-form-urlencoded"}
        )
        assert response.status_code == 422
        scene.heard("error responses", response)


def answer_over_http(scene: Scene, agent: httpx.Client, admin: httpx.Client, outsider: httpx.Client) -> None:
    """Through respond: an outsider's try, malformed ones, the answer, its repeat, a late one."""
    for kind, request in ask_all(scene, agent, "rest").items():
        path = f"/api/requests/{request['id']}"
        for client in (outsider, agent):
            refused = client.post(f"{path}/respond", json=VALID[kind])
            assert refused.status_code == 403
            scene.heard("error responses", refused)
        try_malformed(scene, admin, kind, request)
        for _ in range(2):
            answered = admin.post(f"{path}/respond", json=VALID[kind])
            assert answered.status_code == 200, answered.text
            scene.heard("answers", answered)
        late = admin.post(f"{path}/respond", json={"text": f"late {CODE}"})
        assert late.status_code == 409
        scene.heard("error responses", late)
        for reading in (path, f"{path}/wait?timeout_seconds=0", f"{path}/history"):
            scene.heard("reads", agent.get(reading))
            scene.heard("reads", admin.get(reading))


def answer_by_submit(scene: Scene, agent: httpx.Client, admin: httpx.Client) -> None:
    """Through submit: malformed ones, then the answer, data as JSON text."""
    for kind, request in ask_all(scene, agent, "submit").items():
        try_malformed(scene, admin, kind, request)
        given = VALID[kind]
        value = given.get("text") or (given["data"] if kind == "approval" else json.dumps(given["data"]))
        body = {"unique_id": request["unique_id"], "response": value}
        answered = admin.post("/api/human-feedback/submit", json=body)
        assert answered.status_code == 200, answered.text
        scene.heard("answers", answered)


def answer_by_command(scene: Scene, agent: httpx.Client) -> None:
    """Through `handraise answer`: as an argument, as data, on standard input; what is no answer before."""
    for kind, request in ask_all(scene, agent, "cli").items():
        id = request["id"]
        tries: list[tuple[tuple[str, ...], str | None]] = [
            (("answer", id, "--data", f'{{"code": "{CODE}x"}}'), None),
            (("answer", id, "--data", f'{{"code": "{CODE}'), None),
            (("answer", id, "--data", "-"), f'{{"approved": "{CODE}"}}'),
        ]
        if kind in ("options", "approval", "write-only"):
            tries += [(("answer", id, f"{CODE}x"), None), (("answer", id, "-"), f"{CODE}x\n")]
        for arguments, given in tries:
            refused = cli_here(*arguments, server=scene.server, input=given)
            assert refused.code in (1, 2), refused
            scene.heard("command line", refused.out + refused.err)
        valid = VALID[kind]
        if "text" in valid:
            done = cli_here("answer", id, "-", server=scene.server, input=f"{valid['text']}\n")
        else:
            done = cli_here("answer", id, "--data", json.dumps(valid["data"]), server=scene.server)
        assert done.code == 0, done
        for arguments in (("show", id), ("show", id, "--json"), ("inbox", "--json")):
            shown = cli_here(*arguments, server=scene.server)
            scene.heard("command line", shown.out + shown.err)


def answer_through_failures(scene: Scene, agent: httpx.Client, admin: httpx.Client) -> None:
    """While the database drops its connections: what fails is logged, and tried again until it is accepted."""
    path = f"/api/requests/{ask_all(scene, agent, 'failing')['text']['id']}"
    statuses: list[int] = []

    def accepted() -> bool:
        if len(statuses) < 5:
            with psycopg.connect(scene.conninfo(), autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                )
        response = admin.post(f"{path}/respond", json=VALID["text"])
        statuses.append(response.status_code)
        scene.heard("answers" if response.status_code == 200 else "error responses", response)
        return response.status_code == 200

    until(accepted, "the answer is accepted")
    assert set(statuses) <= {200, 503}
    until(lambda: admin.get("/readyz").status_code == 200, "the server is ready again")


def collect_some(scene: Scene, agent: httpx.Client) -> None:
    """One answer is left where it is, one collected, one acknowledged besides; each is what was given."""
    for channel in ("rest", "submit", "cli"):
        for kind in ("text", "write-only"):
            path = f"/api/requests/{scene.asked[f'{kind}-{channel}-{PLANTED}']['id']}"
            collected = agent.post(f"{path}/collect", json={"receipt": RECEIPT})
            assert collected.status_code == 200, collected.text
            assert CODE in collected.text
            if kind == "text":
                assert agent.post(f"{path}/acknowledge", json={"receipt": RECEIPT}).status_code == 200
                scene.heard("error responses", agent.post(f"{path}/collect", json={"receipt": ANOTHER}))


def read_all(scene: Scene, admin: httpx.Client) -> None:
    """Whatever can be read of it."""
    head = admin.get("/api/audit/head").json()["position"]
    for format in ("jsonl", "csv"):
        scene.heard(
            f"export, {format}", admin.get("/api/audit/export", params={"format": format, "min_position": head})
        )
    for place, path in {
        "audit": "/api/audit?limit=200",
        "lists": "/api/requests?limit=200",
        "dashboard": "/api/dashboard",
        "metrics": "/metrics",
        "readiness": "/readyz",
    }.items():
        scene.heard(place, admin.get(path))
    assert "Responded" in admin.get("/api/audit?limit=200").text


def read_database(conninfo: str) -> list[bytes]:
    """Every row of every table, what a `bytea` holds as it is besides."""
    pieces: list[bytes] = []
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("ANALYZE")  # its statistics keep samples of what is stored
        tables = connection.execute(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname <> 'information_schema'"
        ).fetchall()
        for schema, table in tables:
            name = sql.Identifier(schema, table)
            found = connection.execute(sql.SQL("SELECT t::text FROM {} AS t").format(name)).fetchall()
            pieces.append("\n".join(row[0] or "" for row in found).encode())
            columns = connection.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND atttypid = 'bytea'::regtype"
                " AND attnum > 0 AND NOT attisdropped",
                (name.as_string(connection),),
            ).fetchall()
            for (column,) in columns:
                query = sql.SQL("SELECT {} FROM {}").format(sql.Identifier(column), name)
                pieces += [row[0] for row in connection.execute(query, binary=True) if row[0] is not None]
        connection.execute("CHECKPOINT")
    assert len(tables) > 60
    return pieces


def read_files(folder: Path) -> list[bytes]:
    """Every file below, the write-ahead log among them."""
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def plant(scene: Scene) -> None:
    """Put the marker where nothing of ours would put it: in all forms into a table, and into the log."""
    with psycopg.connect(scene.conninfo(), autocommit=True) as connection:
        connection.execute("CREATE TABLE planted (words text, bytes bytea)")
        for shift in range(3):
            whole = b"x" * shift + PLANTED.encode() + b"y"
            for words in (whole.decode(), whole.hex(), base64.b64encode(whole).decode()):
                connection.execute("INSERT INTO planted VALUES (%s, %s)", (words, words.encode()))
    with scene.data_dir.with_name(f"{scene.data_dir.name}.stderr").open("a") as log:
        log.write(f'{{"event": "planted", "answer": "{PLANTED}"}}\n')


def test_a_secret_answer_is_nowhere(scene: Scene) -> None:
    """Asked and answered over HTTP, by submit and by command, and refused in every way: the code is not found."""
    server = scene.server
    with server.agent() as agent, server.admin() as admin:
        assert admin.post("/api/users", json={"name": "Outsider"}).status_code == 201
        outsider = admin.post("/api/keys", json={"name": "outsider", "user": "outsider"}).json()["key"]
        with scene.listening(), server.client(outsider) as other:
            answer_over_http(scene, agent, admin, other)
            answer_by_submit(scene, agent, admin)
            answer_by_command(scene, agent)
            answer_through_failures(scene, agent, admin)
            collect_some(scene, agent)
        read_all(scene, admin)
        plant(scene)
        missing = admin.get(f"/api/requests/no-{PLANTED}")
        assert missing.status_code == 404
        scene.heard("error responses", missing)
    scene.said["database"] = read_database(scene.conninfo())
    scene.said["files"] = read_files(scene.data_dir)
    scene.said["log"] = [server.log.encode(), server.output.encode()]

    everywhere = {
        "answers", "audit", "command line", "dashboard", "database", "error responses", "export, csv",
        "export, jsonl", "files", "lists", "log", "metrics", "readiness", "reads", "stream",
    }  # fmt: skip
    assert scene.said.keys() == everywhere
    # The search sees what is there: what was planted, and where nothing can be planted what is said there.
    planted = finds(scene.said, PLANTED)
    assert planted.keys() == everywhere - {"metrics", "dashboard", "readiness"}
    assert planted["database"] == planted["files"] == set(forms_of(PLANTED))
    assert b"handraise_http" in scene.said["metrics"][0]
    assert b"by_status" in scene.said["dashboard"][0]
    assert b"ready" in scene.said["readiness"][0]
    assert len(scene.said["error responses"]) > 300
    assert sum(piece.count(b"event: Responded") for piece in scene.said["stream"]) == 3 * len(QUESTIONS) + 1
    assert "database connection lost" in server.log

    assert finds(scene.said, CODE) == {}


async def test_a_notice_holds_no_secret(database: str, tmp_path: Path) -> None:
    """What a channel is given to deliver, after tries that failed and after the answer, is free of it."""
    channel = FakeChannel(delay=timedelta(0))
    given: list[bytes] = []

    async def keep(message: Message) -> None:
        given.append(pickle.dumps(message))

    channel.before = keep
    async with service(database, tmp_path / "data", channels=[channel]) as handraise:
        for kind, question in QUESTIONS.items():
            strategy = {"type": "SpecificUser", "userID": "admin", "notifyDelaySeconds": 0.3, "remindMinutes": 0.01}
            asked = await handraise.ask(unique_id=f"{kind}-{PLANTED}", assignment_strategy=strategy, **question)
            path = f"/api/requests/{asked['id']}"
            for body in MALFORMED[kind]:
                refused = await handraise.admin.post(
                    f"{path}/respond", content=json.dumps(body), headers={"Content-Type": "application/json"}
                )
                assert refused.status_code in (413, 422)
            async with asyncio.timeout(30):
                while not any(f"{kind}-{PLANTED}".encode() in notice for notice in given):
                    await asyncio.sleep(0.02)
            assert (await handraise.admin.post(f"{path}/respond", json=VALID[kind])).status_code == 200
        await asyncio.sleep(0.7)  # a reminder would come now
        written = await rows(database, "SELECT topic, state FROM handraise_events")
    notices = [state for topic, state in written if topic == "handraise.Request.Notified"]
    assert len(notices) >= len(QUESTIONS)
    assert finds({"notices": given, "record": notices}, CODE) == {}
    assert finds({"notices": given}, PLANTED) == {"notices": {"text"}}


# -- collecting


async def sealed(handraise: Service) -> str:
    """The path of a request whose answer is sealed."""
    asked = await handraise.ask(secret=True)
    path = f"/api/requests/{asked['id']}"
    assert (await handraise.admin.post(f"{path}/respond", json={"text": CODE})).status_code == 200
    return path


async def collect(client: httpx.AsyncClient, path: str, receipt: str = RECEIPT) -> httpx.Response:
    return await client.post(f"{path}/collect", json={"receipt": receipt})


async def test_the_same_receipt_gets_the_same_answer(handraise: Service) -> None:
    """After a lost response it is there again; with another receipt it is gone, and for all once acknowledged."""
    path = await sealed(handraise)
    first, again = [await collect(handraise.agent, path) for _ in range(2)]
    assert (first.status_code, first.json()["text"]) == (200, CODE)
    assert again.json() == first.json()
    other = await collect(handraise.agent, path, ANOTHER)
    assert (other.status_code, CODE in other.text) == (410, False)
    for receipt, status in ((ANOTHER, 410), (RECEIPT, 200), (RECEIPT, 200)):
        done = await handraise.agent.post(f"{path}/acknowledge", json={"receipt": receipt})
        assert done.status_code == status
    assert (await collect(handraise.agent, path)).status_code == 410


async def test_a_response_that_is_dropped_loses_nothing(handraise: Service) -> None:
    """The collector goes away in the middle of its call; the next one with its receipt gets the answer."""
    path = await sealed(handraise)
    calling = asyncio.create_task(collect(handraise.agent, path))
    await asyncio.sleep(0.003)
    calling.cancel()
    await asyncio.wait([calling])
    again = await collect(handraise.agent, path)
    assert (again.status_code, again.json()["text"]) == (200, CODE)


async def test_of_two_collectors_one_wins(handraise: Service) -> None:
    """At once, through two replicas: one gets the answer and the other is told that it is gone, each time."""
    async with service(handraise.app.conninfo, handraise.settings.data_dir) as other:
        for _ in range(10):
            path = await sealed(handraise)
            both = await asyncio.gather(collect(handraise.agent, path, RECEIPT), collect(other.agent, path, ANOTHER))
            assert sorted(response.status_code for response in both) == [200, 410]
            assert [response.json()["text"] for response in both if response.status_code == 200] == [CODE]
            winner = RECEIPT if both[0].status_code == 200 else ANOTHER
            for replica in (handraise, other):
                assert (await collect(replica.agent, path, winner)).status_code == 200
            history = (await handraise.admin.get(f"{path}/history")).json()["items"]
            assert [item["type"] for item in history].count("Collected") == 1


@pytest.mark.parametrize(
    ("later", "status"), [(timedelta(hours=23, minutes=59), 200), (timedelta(hours=24), 410), (timedelta(days=9), 410)]
)
async def test_an_agent_that_crashed_can_collect_until_the_answer_expires(
    database: str, tmp_path: Path, later: timedelta, status: int
) -> None:
    """Within 24 h of the answer, through a replica that was started since; afterwards it is gone."""
    began = datetime(2026, 11, 2, 9, tzinfo=UTC)
    clock = StoppedClock(began)
    async with service(database, tmp_path / "data", clock=clock) as before:
        path = await sealed(before)
    clock.at = began + later
    async with service(database, tmp_path / "data", clock=clock) as after:
        response = await collect(after.agent, path)
        assert (response.status_code, CODE in response.text) == (status, status == 200)
        history = (await after.admin.get(f"{path}/history")).json()["items"]
        collected = [(item["actor"], item["at"]) for item in history if item["type"] == "Collected"]
        at = clock.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        assert collected == ([("default", at)] if status == 200 else [])


async def test_history_and_audit_say_who_collected_and_when(handraise: Service) -> None:
    """Both name the agent and the instant, and neither the receipt nor the answer."""
    path = await sealed(handraise)
    before = datetime.now(UTC)
    answer = await collect(handraise.agent, path)
    await handraise.agent.post(f"{path}/acknowledge", json={"receipt": RECEIPT})
    items = (await handraise.admin.get(f"{path}/history")).json()["items"]
    assert [(item["type"], item["actor"]) for item in items[-2:]] == [
        ("Collected", "default"),
        ("Acknowledged", "default"),
    ]
    taken = datetime.fromisoformat(items[-2]["at"])
    assert before - timedelta(seconds=5) < taken < datetime.now(UTC) + timedelta(seconds=5)
    position = items[-1]["position"]
    trail = (await handraise.admin.get("/api/audit", params={"type": "Collected", "min_position": position})).json()
    assert [(item["actor"], item["position"]) for item in trail["items"]] == [("default", answer.json()["position"])]
    assert RECEIPT not in json.dumps([items, trail])


# -- what a failure shows


@pytest.mark.parametrize(
    "format",
    [
        "json",
        "console",
    ],
)
def test_a_logged_failure_shows_no_values(
    format: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The traceback of a failure has names of functions and lines, and nothing of what they were working on."""
    import logging

    import structlog

    error_stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", error_stream)
    before = structlog.get_config(), logging.root.handlers[:], logging.root.level
    try:
        logs.configure(Settings(log_format=format, log_level="debug"))

        def fail(answer: str) -> None:
            raise RuntimeError(f"something with {len(answer)} characters")

        try:
            fail(CODE)
        except RuntimeError as error:
            structlog.get_logger("test").error("request failed", exc_info=error)
    finally:
        structlog.configure(**before[0])
        logging.root.handlers[:] = before[1]
        logging.root.setLevel(before[2])
    said = error_stream.getvalue()
    assert "something with 12 characters" in said
    assert finds({"log": [said.encode()]}, CODE) == {}
