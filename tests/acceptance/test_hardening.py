"""What every response carries, what is turned away before anything looks at it, and keys that are looked after."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from domain.callers import Role
from interfaces.http.hardening import allowed_hosts, host_name
from interfaces.postgres.last_use import KeyUse
from interfaces.settings import Settings
from tests.acceptance.test_conventions import post, problem
from tests.acceptance.test_sign_in import everything, head, link_for, same_browser, signed_in
from tests.support.processes import ServerProcess
from tests.support.read_models import StoppedClock, prepared, settled
from tests.support.service import Service, service
from tests.support.sse import opened, served

ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=()",
}
NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
PAGES = ("/", "/sign-in", "/docs")


@pytest.fixture
async def other(handraise: Service, database: str) -> AsyncIterator[Service]:
    """A second replica on the same database."""
    async with service(database, handraise.settings.data_dir) as replica:
        yield replica


# -- headers


async def responses(handraise: Service) -> dict[str, httpx.Response]:
    """One of every kind there is."""
    nobody, agent, admin = handraise.nobody, handraise.agent, handraise.admin
    too_large = b"x" * (handraise.settings.max_body_bytes + 1)
    return {
        "API": await admin.get("/api/users"),
        "made": await agent.post("/api/requests", json={"message": "May I?"}),
        "export": await admin.get("/api/audit/export"),
        "400": await agent.post("/api/requests", content=b"{", headers={"Content-Type": "application/json"}),
        "401": await nobody.get("/api/users"),
        "403": await agent.post("/api/users", json={"name": "x"}),
        "404 of the API": await admin.get("/api/requests/nothing"),
        "404": await nobody.get("/nothing/at/all"),
        "405": await nobody.request("TRACE", "/api/users"),
        "413": await agent.post("/api/requests", content=too_large),
        "422": await agent.post("/api/requests", json={}),
        "another host": await nobody.get("/openapi.json", headers={"Host": "evil.example"}),
        "first page": await nobody.get("/"),
        "sign-in": await nobody.get("/sign-in"),
        "script": await nobody.get("/sign-in.js"),
        "docs": await nobody.get("/docs"),
        "openapi": await nobody.get("/openapi.json"),
        "health": await nobody.get("/healthz"),
        "ready": await nobody.get("/readyz"),
        "metrics": await nobody.get("/metrics"),
        "signed in": await post(nobody, "/api/session/link", token=await link_for(handraise, "admin")),
        "not signed in": await post(nobody, "/api/session", name="nobody", password="x"),
    }


async def test_every_response_says_how_little_may_be_done_with_it(handraise: Service, database: str) -> None:
    """Answers, pages, refusals, and what no route took: all of them. HSTS only where it is reached by TLS."""
    add_failing_route(handraise.app.api)
    found = await responses(handraise) | {"500": await handraise.nobody.get("/failing")}
    assert found["500"].status_code == 500
    assert found["413"].status_code == 413
    assert found["another host"].status_code == 400
    for name, response in found.items():
        headers = response.headers
        assert {key: headers.get(key) for key in ALWAYS} == ALWAYS, name
        assert ("'none'" in headers["content-security-policy"]) is True, name
        assert "unsafe" not in headers["content-security-policy"], name
        if response.request.url.path not in PAGES:
            assert headers["content-security-policy"] == NOTHING, name
        if response.request.url.path.startswith("/api/"):
            assert headers["cache-control"] == "no-store", name
        assert "strict-transport-security" not in headers, name
        assert not {"server", "x-powered-by"} & headers.keys(), name
        assert len(headers.get_list("content-security-policy")) == 1, name
    tls = {"public_url": "https://handraise.test"}
    async with service(database, handraise.settings.data_dir, **tls) as behind_tls:
        for path in ("/healthz", "/api/users", "/sign-in", "/nothing"):
            sent = await behind_tls.nobody.get(path)
            assert sent.headers["strict-transport-security"] == "max-age=31536000", path


def add_failing_route(api: FastAPI) -> None:
    """A page of ours that is broken."""

    async def fail() -> None:
        raise RuntimeError("broken, with a secret")

    api.add_api_route("/failing", fail, include_in_schema=False)


async def test_a_failure_tells_nothing_of_itself(handraise: Service) -> None:
    """500 is a problem like every other; the cause stands in the log."""
    add_failing_route(handraise.app.api)
    told = problem(await handraise.nobody.get("/failing"), 500, "Internal error")
    assert "secret" not in str(told)


# -- pages


async def test_pages_run_nothing_that_stands_in_them(handraise: Service) -> None:
    """Styles by a nonce that is new each time, scripts from this server only, and no address of another one."""
    for path in ("/sign-in", "/docs"):
        nonces = set()
        for _ in range(2):
            page = await handraise.nobody.get(path)
            assert page.headers["content-type"] == "text/html; charset=utf-8"
            policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
            assert policy["default-src"] == "'none'"
            assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
            nonce = re.fullmatch(r"'nonce-([\w-]{22})'", policy["style-src"])
            assert nonce is not None
            nonces.add(nonce[1])
            assert re.findall(r"<style([^>]*)>", page.text) == [f' nonce="{nonce[1]}"']
            assert "{{" not in page.text
            assert not re.search(
                r"<script(?![^>]*\bsrc=)|<[^>]*\s(?:style|on\w+)=|javascript:|<link|<iframe|<base", page.text
            )
            assert not re.search(r"(?:src|href|action)=\"?(?:[a-z]+:|//)", page.text), path
        assert len(nonces) == 2
    assert policy.keys() == {"default-src", "style-src", "frame-ancestors", "base-uri"}


async def test_the_sign_in_page_works_under_its_policy(handraise: Service) -> None:
    """One script, from here, that builds no markup and no code from text, and whose every part is on the page."""
    page = await handraise.nobody.get("/sign-in")
    assert page.headers["cache-control"] == "no-store"
    policy = page.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "connect-src 'self';" in policy
    assert re.findall(r"<script[^>]*>", page.text) == ['<script src="/sign-in.js">']
    script = await handraise.nobody.get("/sign-in.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(|\.style\b", script.text
    )
    used = set(re.findall(r'(?:part|show)\("([\w-]+)"\)', script.text))
    assert used
    assert used <= set(re.findall(r'\bid="([\w-]+)"', page.text))
    # The token leaves the address bar, and with it the history, once it was used.
    assert "location.replace(" in script.text
    # Opened in a tab that shows the page already, a link is noticed too.
    assert 'addEventListener("hashchange", begin)' in script.text
    paths = set(re.findall(r'"(/api/[\w/-]+)"', script.text + page.text))
    document = (await handraise.nobody.get("/openapi.json")).json()["paths"]
    assert paths - {"/api/oidc/start"} <= document.keys()


async def test_the_application_has_a_policy_of_its_own(handraise: Service) -> None:
    """Every address of the application is the same page: scripts of ours only, styles by nonce, no frame around it."""
    for path in ("/", "/inbox", "/inbox/all", "/requests/7", "/dashboard", "/audit", "/settings/keys", "/profile"):
        page = await handraise.nobody.get(path)
        policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
        nonce = re.findall(r'<meta name="csp-nonce" content="([^"]+)"', page.text)
        assert len(nonce) == 1
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": f"'self' 'nonce-{nonce[0]}'",
            "img-src": "'self' data:",
            "font-src": "'self'",
            "connect-src": "'self'",
            "worker-src": "'self'",
            "manifest-src": "'self'",
            "form-action": "'self'",
            "frame-ancestors": "'none'",
            "base-uri": "'none'",
        }
        assert page.headers["x-frame-options"] == "DENY"
        assert all("src=" in script for script in re.findall(r"<script[^>]*>", page.text))


async def test_the_docs_show_every_call(handraise: Service) -> None:
    """Each operation with its summary, its parameters and its answers, and each schema; no script at all."""
    document = (await handraise.nobody.get("/openapi.json")).json()
    page = await handraise.nobody.get("/docs")
    assert "<script" not in page.text
    assert "script-src" not in page.headers["content-security-policy"]
    shown = re.findall(r'<span class="method">(\w+)</span><code>([^<]+)</code> ([^<]*)</summary>', page.text)
    expected = {
        (method.upper(), path, operation["summary"])
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert {(method, path, unescape(summary)) for method, path, summary in shown} == expected
    assert len(shown) == len(expected)
    ids = re.findall(r'<details id="([^"]+)">', page.text)
    assert sorted(ids) == sorted(document["components"]["schemas"])
    assert set(re.findall(r'href="#([^"]+)"', page.text)) <= set(ids)


# -- allowed hosts

REBOUND = ["evil.example", "handraise.test.evil.example", "127.0.0.1.evil.example", "192.168.0.7", "", "[", "a b", "*"]


async def test_names_that_are_not_ours_are_turned_away(handraise: Service) -> None:
    """A page of another site that points its own name at this server gets nothing: no page, no API, with a key too."""
    before = await head(handraise)
    for host in REBOUND:
        for path in ("/", "/api/users", "/sign-in", "/metrics", "/docs"):
            refused = problem(await handraise.admin.get(path, headers={"Host": host}), 400, "Bad request")
            assert "HANDRAISE_ALLOWED_HOSTS" in refused["detail"]
        problem(await handraise.agent.post("/api/requests", json={"message": "x"}, headers={"Host": host}), 400)
        assert (await handraise.nobody.get("/healthz", headers={"Host": host})).status_code == 200  # a prober's
    assert await head(handraise) == before
    for host in ("handraise.test", "HANDRAISE.test:8443", "localhost:8000", "127.0.0.1", "[::1]:8000", "localhost"):
        assert (await handraise.admin.get("/api/users", headers={"Host": host})).status_code == 200, host


@pytest.mark.parametrize(
    ("listened_on", "url", "given", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000", None, set()),
        ("10.0.0.5", "http://10.0.0.5:8000", None, {"10.0.0.5"}),
        ("127.0.0.1", "https://Ask.Example.com", None, {"ask.example.com"}),
        ("0.0.0.0", "https://ask.example.com", None, {"ask.example.com", "0.0.0.0"}),
        ("0.0.0.0", "http://127.0.0.1:8000", None, None),
        ("::", "http://127.0.0.1:8000", None, None),
        ("127.0.0.1", "http://127.0.0.1:8000", ["Ask.Example.com:443", "second"], {"ask.example.com", "second"}),
        ("0.0.0.0", "http://127.0.0.1:8000", ["ask"], {"ask"}),
        ("127.0.0.1", "http://127.0.0.1:8000", ["ask", "*"], None),
        ("127.0.0.1", "http://127.0.0.1:8000", [], set()),
    ],
)
def test_what_the_server_is_called(
    listened_on: str, url: str, given: list[str] | None, expected: set[str] | None
) -> None:
    """Its own address and this machine; any name only where it listens everywhere and nothing says its name."""
    found = allowed_hosts(listened_on, url, given)
    assert found == (None if expected is None else expected | {"localhost", "127.0.0.1", "::1"})
    assert Settings(allowed_hosts="a, b,,", cors_origins=None).allowed_host_names == ("a", "b")


def test_the_name_in_a_host_header() -> None:
    """Without port and case; what is none is no name."""
    hosts = ["A.example:80", "[::1]:8000", "::1", "a:b:c", "", " a ", "[", "a.example."]
    assert [host_name(host) for host in hosts] == ["a.example", "::1", "", "a", "", "a", "", "a.example."]


async def test_any_name_where_that_is_wanted(database: str, tmp_path: Path) -> None:
    """`*` is for whoever has a proxy that looks after it."""
    async with service(database, tmp_path / "data", allowed_hosts="*") as made:
        for host in ("evil.example", "", "handraise.test"):
            assert (await made.nobody.get("/healthz", headers={"Host": host})).status_code == 200


def test_names_from_the_environment(database: str, tmp_path: Path) -> None:
    """HANDRAISE_ALLOWED_HOSTS, of a real server: these and this machine, no others."""
    own = {"allowed_hosts": "ask.example.com, second.example"}
    with ServerProcess(tmp_path / "data", database, **own) as server, server.client(None) as client:
        for host, status in (("ask.example.com", 200), ("second.example:1", 200), ("evil.example", 400)):
            assert client.get("/docs", headers={"Host": host}).status_code == status
        assert client.get("/docs").status_code == 200


# -- other origins

ORIGIN = "https://app.example.com"
PREFLIGHT = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}


def cors(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name.startswith("access-control-")}


async def test_pages_of_other_origins_are_told_nothing(handraise: Service) -> None:
    """Without the setting there is no CORS at all, not even for this server's own address."""
    for origin in (ORIGIN, "null", "http://handraise.test"):
        asked = await handraise.nobody.options("/api/requests", headers=PREFLIGHT | {"Origin": origin})
        assert (asked.status_code, cors(asked)) == (405, {})
        assert cors(await handraise.admin.get("/api/users", headers={"Origin": origin})) == {}


async def test_origins_that_are_named_may_call_with_a_key(database: str, tmp_path: Path) -> None:
    """With a key, from those pages, whatever comes back; never with the cookie of whoever looks at the page."""
    async with service(database, tmp_path / "data", cors_origins=f"{ORIGIN}, https://second.example") as made:
        wanted = PREFLIGHT | {"Access-Control-Request-Headers": "authorization,content-type"}
        asked = await made.nobody.options("/api/requests", headers=wanted)
        assert asked.status_code == 200
        assert cors(asked)["access-control-allow-origin"] == ORIGIN
        assert "access-control-allow-credentials" not in cors(asked)
        forged = await made.nobody.options(
            "/api/requests", headers=PREFLIGHT | {"Access-Control-Request-Headers": "x-csrf-token"}
        )
        assert forged.status_code == 400
        page = {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"}
        done = await made.agent.post("/api/requests", json={"message": "May I?"}, headers=page)
        assert (done.status_code, cors(done)) == (201, {"access-control-allow-origin": ORIGIN})
        refused = await made.nobody.get("/api/users", headers=page)
        assert (refused.status_code, cors(refused)) == (401, {"access-control-allow-origin": ORIGIN})
        for origin in ("https://evil.example", "null", f"{ORIGIN}.evil.example", ORIGIN.upper()):
            other = await made.nobody.options("/api/requests", headers=PREFLIGHT | {"Origin": origin})
            assert other.status_code == 400, origin
            assert "access-control-allow-origin" not in cors(other)
            answered = await made.admin.get("/api/users", headers={"Origin": origin})
            assert "access-control-allow-origin" not in cors(answered)
        browser = await signed_in(made)
        before = await head(made)
        problem(await browser.post("/api/users", json={"name": "x"}, headers=page), 403)
        problem(await post(made.nobody, "/api/session/link", token="x"), 401)
        token = await link_for(made, "admin")
        problem(await made.nobody.post("/api/session/link", json={"token": token}, headers=page), 403)
        assert await head(made) == before + 1


# -- limits


async def test_calls_are_counted_for_each_credential(database: str, tmp_path: Path) -> None:
    """So many at once, then 429 that says when; others, and those without a credential, go on."""
    async with service(database, tmp_path / "data", calls_per_minute=3) as made:
        browser = await signed_in(made)  # has used up one of the administrator's
        for _ in range(2):
            assert (await made.admin.get("/api/users")).status_code == 200
        refused = await made.admin.get("/api/users")
        told = problem(refused, 429, "Too many requests")
        assert told["detail"] == "this credential may make 3 calls a minute"
        assert 1 <= int(refused.headers["retry-after"]) <= 21
        assert {key: refused.headers.get(key) for key in ALWAYS} == ALWAYS
        for _ in range(3):
            assert (await made.agent.get("/api/requests")).status_code == 200
            assert (await browser.get("/api/session")).status_code == 200
        problem(await made.agent.post("/api/requests", json={"message": "x"}), 429)
        problem(await browser.get("/api/session"), 429)
        for _ in range(10):
            assert (await made.nobody.get("/readyz")).status_code == 200


async def test_a_credential_is_the_same_however_it_is_written(database: str, tmp_path: Path) -> None:
    """Other letters, blanks or cookies beside it make no new one."""
    async with service(database, tmp_path / "data", calls_per_minute=3) as made:
        key = made.agent.headers["Authorization"].removeprefix("Bearer ")
        for shown in (f"Bearer {key}", f"bearer {key}", f"BEARER   {key}"):
            assert (await made.nobody.get("/api/requests", headers={"Authorization": shown})).status_code == 200
        for shown in (f"Bearer {key}", f"bEARER {key} ", f"bearer  {key}"):
            problem(await made.nobody.get("/api/requests", headers={"Authorization": shown}), 429)
        token = (await signed_in(made)).cookies["handraise_session"]
        for number in range(4):
            cookies = {"Cookie": f"other={number}; handraise_session={token}"}
            answered = await made.nobody.get("/api/session", headers=cookies)
            assert answered.status_code == (200 if number < 3 else 429)


async def test_without_a_limit_nothing_is_counted(handraise: Service) -> None:
    """As many as one likes."""
    statuses = {(await handraise.agent.get("/api/requests?limit=1")).status_code for _ in range(100)}
    assert statuses == {200}


async def test_bodies_are_limited_before_anything_reads_them(handraise: Service) -> None:
    """Said beforehand or found on the way, with or without a credential: 413, and nothing happened."""
    before = await head(handraise)
    most = handraise.settings.max_body_bytes

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(most // 65536 + 1):
            yield b" " * 65536

    for client, path in (
        (handraise.agent, "/api/requests"),
        (handraise.admin, "/api/users"),
        (handraise.nobody, "/api/session"),
        (handraise.nobody, "/api/session/link"),
    ):
        problem(await client.post(path, content=b" " * (most + 1)), 413, "Too large")
        problem(await client.post(path, content=pieces()), 413, "Too large")
    assert await head(handraise) == before


# -- keys


async def key_entry(handraise: Service, id: str) -> dict[str, Any]:
    items = (await handraise.admin.get("/api/keys", params={"limit": 200})).json()["items"]
    return next(item for item in items if item["id"] == id)


async def test_a_keys_last_use_is_shown_to_the_minute(database: str, tmp_path: Path) -> None:
    """Nothing until it is used; afterwards the newest, whichever replica wrote it first."""
    at = datetime(2027, 5, 6, 7, 8, 59, 999000, tzinfo=UTC)
    clock = StoppedClock(at)
    async with service(database, tmp_path / "data", clock=clock) as made:
        created = (await post(made.admin, "/api/keys", name="Bot", agent="default")).json()
        assert (await key_entry(made, "bot"))["last_used_at"] is None
        key = await made.app.keys.authenticate(created["key"])
        assert key is not None
        assert key.key_id is not None
        before = await head(made)
        async with prepared(database) as pool:
            first, second = KeyUse(pool, clock), KeyUse(pool, clock)
            second.note(key.key_id)
            clock.at = at + timedelta(minutes=5)
            first.note(key.key_id)
            await first.write()
            assert (await key_entry(made, "bot"))["last_used_at"] == "2027-05-06T07:13:00.000Z"
            await second.write()
            await second.write()
            assert (await key_entry(made, "bot"))["last_used_at"] == "2027-05-06T07:13:00.000Z"
        assert await head(made) == before


async def test_a_keys_use_is_written_down_when_the_server_stops(database: str, tmp_path: Path) -> None:
    """Every call with it counts, also one that was refused for another reason; sessions are no keys."""
    async with service(database, tmp_path / "data") as made:
        created = (await post(made.admin, "/api/keys", name="Bot", agent="default")).json()
        idle = (await post(made.admin, "/api/keys", name="Idle", agent="default")).json()
        client = await made.client(created["key"])
        problem(await client.get("/api/users"), 403)
        problem(await (await made.client(f"{idle['key']}x")).get("/api/users"), 401)
        assert (await key_entry(made, "bot"))["last_used_at"] is None
    async with service(database, tmp_path / "data") as made:
        used = datetime.fromisoformat((await key_entry(made, "bot"))["last_used_at"])
        assert (used.second, used.microsecond) == (0, 0)
        assert abs(datetime.now(UTC) - used) < timedelta(minutes=10)
        assert (await key_entry(made, "idle"))["last_used_at"] is None


async def test_writing_down_a_keys_use_holds_up_nobody(handraise: Service) -> None:
    """While it waits for a row that somebody has locked, calls with that very key are answered."""
    key = await handraise.app.keys.authenticate(handraise.agent.headers["Authorization"].removeprefix("Bearer "))
    assert key is not None
    assert key.key_id is not None
    async with (
        prepared(handraise.app.conninfo) as pool,
        await psycopg.AsyncConnection.connect(handraise.app.conninfo) as blocker,
    ):
        await blocker.execute("SELECT 1 FROM access_keys FOR UPDATE")
        use = KeyUse(pool, StoppedClock(datetime.now(UTC)))
        use.note(key.key_id)
        writing = asyncio.create_task(use.write())
        await handraise.ask()
        assert (await handraise.agent.get("/api/requests")).status_code == 200
        assert not writing.done()
        await blocker.rollback()
        await writing


async def test_a_rotated_key_stops_at_once_on_every_replica(handraise: Service, other: Service) -> None:
    """The new one is shown once and is the same key but for itself; live streams of the old one end."""
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    made = (await post(handraise.admin, "/api/keys", name="Bot", agent="default", expires_at=until)).json()
    entry = await key_entry(handraise, "bot")
    old = [await replica.client(made["key"]) for replica in (handraise, other)]
    asked = await post(old[1], "/api/requests", message="May I?")
    assert asked.status_code == 201
    async with served(other.app) as url, opened(url, made["key"]) as live:
        rotated = await handraise.admin.post("/api/keys/bot/rotate")
        assert (rotated.status_code, rotated.headers["cache-control"]) == (200, "no-store")
        fresh = rotated.json()
        assert fresh == {"id": "bot", "key": fresh["key"], "position": await head(handraise)}
        assert fresh["key"].startswith("hr_")
        assert fresh["key"] != made["key"]
        for client in old:
            problem(await client.get("/api/requests"), 401)
        await live.end()
    for replica in (handraise, other):
        client = await replica.client(fresh["key"])
        assert (await client.get(f"/api/requests/{asked.json()['id']}")).status_code == 200
    assert await key_entry(other, "bot") == entry
    trail = await handraise.admin.get(
        "/api/audit", params={"type": ["Created", "Rotated"], "min_position": fresh["position"]}
    )
    [newest, *_] = trail.json()["items"]
    assert (newest["type"], newest["actor"], newest["of"]) == ("Rotated", "admin", "AccessKey")
    for key in (made["key"], fresh["key"]):
        for place, text in (await everything(handraise.app.conninfo)).items():
            assert key not in text, place


async def test_who_may_rotate_a_key_and_which(handraise: Service) -> None:
    """Administrators; not one that was revoked, nor one that is not there."""
    alice = await handraise.person("alice")
    auditor = await handraise.person("auditor", Role.AUDITOR)
    await post(handraise.admin, "/api/keys", name="Bot", agent="default")
    for client in (alice, auditor, handraise.agent):
        problem(await client.post("/api/keys/bot/rotate"), 403)
    problem(await handraise.admin.post("/api/keys/nothing/rotate"), 404)
    assert (await handraise.admin.delete("/api/keys/bot")).status_code == 200
    before = await head(handraise)
    problem(await handraise.admin.post("/api/keys/bot/rotate"), 409, "Conflict")
    assert await head(handraise) == before


async def test_a_key_rotated_by_many_at_once_is_one_key(handraise: Service, other: Service) -> None:
    """Whichever came last works; the others, though shown, do not."""
    await post(handraise.admin, "/api/keys", name="Bot", agent="default")
    rotated = await asyncio.gather(
        *(replica.admin.post("/api/keys/bot/rotate") for replica in (handraise, other) for _ in range(3))
    )
    done = [response.json() for response in rotated if response.status_code == 200]
    assert done
    working = [
        fresh["position"]
        for fresh in done
        if (await (await handraise.client(fresh["key"])).get("/api/requests")).status_code == 200
    ]
    assert working == [max(fresh["position"] for fresh in done)]


# -- reading changes nothing


async def test_no_get_changes_anything(handraise: Service) -> None:
    """Every GET of the OpenAPI, by every kind of caller, with every id there is: no table is any different."""
    auditor = await handraise.person("auditor", Role.AUDITOR)
    browser = await signed_in(handraise)
    for path, body in (("/api/lists", {"id": "oncall", "name": "On call"}), ("/api/agent-types", {"name": "Helper"})):
        assert (await handraise.admin.post(path, json=body)).status_code == 201
    asked = await handraise.ask(unique_id="asked", secret=True, run_user="auditor")
    await link_for(handraise, "admin")
    callers = [handraise.nobody, handraise.agent, handraise.admin, auditor, browser]
    document = (await handraise.nobody.get("/openapi.json")).json()["paths"]
    paths = [path for path, operations in document.items() if "get" in operations and path != "/api/stream"]
    assert len(paths) > 20
    await settled(handraise)
    before, at = await everything(handraise.app.conninfo), await head(handraise)
    for path in (*paths, "/", "/sign-in", "/docs", "/openapi.json"):
        for id in (asked["id"], "asked", "admin", "nothing") if "{id}" in path else (None,):
            for client in callers:
                query = {"timeout_seconds": "0"} if path.endswith("/wait") else {}
                got = await client.get(path.format(id=id), params=query)
                assert got.status_code < 500, (path, got.text)
                assert "set-cookie" not in got.headers, path
    async with served(handraise.app) as url:
        for client in callers[1:4]:
            async with opened(url, client.headers["Authorization"].removeprefix("Bearer "), after=0):
                pass
    assert await head(handraise) == at
    after = await everything(handraise.app.conninfo)
    assert [table for table in before if after[table] != before[table]] == []


async def test_a_browser_on_another_replica_is_the_same_browser(handraise: Service, other: Service) -> None:
    """The CSRF token is made of the session's alone: no replica remembers it."""
    browser = await signed_in(handraise)
    made = await post(await same_browser(other, browser), "/api/users", name="Somebody")
    assert made.status_code == 201
