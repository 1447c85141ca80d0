"""How people come in and go out: links, passwords, sessions, and what a page of another site cannot do."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from application.sign_in import SignIn
from domain.callers import PersonCaller, Role
from domain.errors import NotSignedIn, TooManyAttempts
from interfaces.passwords import Argon2Passwords
from interfaces.postgres.attempts import PostgresSignInAttempts
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.directory import PostgresDirectory
from tests.acceptance.test_conventions import fields, post, problem
from tests.support.read_models import StoppedClock, prepared, rows, settled
from tests.support.service import Service, service
from tests.support.sse import opened, served

PASSWORD = "correct horse battery"
START = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
async def other(handraise: Service, database: str) -> AsyncIterator[Service]:
    """A second replica on the same database."""
    async with service(database, handraise.settings.data_dir) as replica:
        yield replica


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(START)


@pytest.fixture
async def stopped(database: str, tmp_path: Path, clock: StoppedClock) -> AsyncIterator[Service]:
    """A service whose time stands still until a test moves it."""
    async with service(database, tmp_path / "data", clock=clock) as made:
        yield made


async def link_for(handraise: Service, user: str) -> str:
    """The token of a new link."""
    made = await handraise.admin.post(f"/api/users/{user}/link")
    assert made.status_code == 201, made.text
    return made.json()["url"].partition("#")[2]


def adopt(browser: httpx.AsyncClient, response: httpx.Response) -> None:
    """Do what a page does once it has signed in: send the CSRF token from now on."""
    assert response.status_code == 201, response.text
    browser.headers["X-CSRF-Token"] = response.json()["csrf_token"]


async def signed_in(handraise: Service, user: str = "admin", at: Service | None = None) -> httpx.AsyncClient:
    """A browser, signed in by a link."""
    browser = await (at or handraise).client(None)
    adopt(browser, await post(browser, "/api/session/link", token=await link_for(handraise, user)))
    return browser


async def same_browser(handraise: Service, browser: httpx.AsyncClient) -> httpx.AsyncClient:
    """What this browser looks like to another replica."""
    copy = await handraise.client(None)
    copy.cookies = browser.cookies
    copy.headers["X-CSRF-Token"] = browser.headers["X-CSRF-Token"]
    return copy


async def set_password(browser: httpx.AsyncClient, password: str, current: str | None = None) -> httpx.Response:
    return await browser.patch("/api/me", json={"password": password, "current_password": current})


async def with_password(client: httpx.AsyncClient, name: str, password: str) -> httpx.Response:
    return await post(client, "/api/session", name=name, password=password)


async def events(handraise: Service, *types: str) -> list[dict[str, Any]]:
    """The audit trail's events of these types, oldest first."""
    page = await handraise.admin.get("/api/audit", params={"type": list(types), "min_position": await head(handraise)})
    assert page.status_code == 200, page.text
    return page.json()["items"][::-1]


async def head(handraise: Service) -> int:
    return await handraise.app.store.head()


# -- links


async def test_a_link_signs_its_person_in_once(handraise: Service) -> None:
    """Made by an administrator and shown once, it opens a session; a second time it is 401."""
    await handraise.person("alice")
    made = await handraise.admin.post("/api/users/alice/link")
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    url, _, token = made.json()["url"].partition("#")
    assert url == f"{handraise.settings.url}/sign-in"
    assert made.json().keys() == {"url", "expires_at", "position"}

    browser = await handraise.client(None)
    entered = await post(browser, "/api/session/link", token=token)
    assert (entered.status_code, entered.headers["cache-control"]) == (201, "no-store")
    session = entered.json()
    assert session.keys() == {"user", "csrf_token", "expires_at", "position"}
    assert (session["user"], session["position"]) == ("alice", await head(handraise))
    shown = await browser.get("/api/session")
    assert shown.json() == {name: session[name] for name in ("user", "csrf_token", "expires_at")}
    assert shown.headers["cache-control"] == "no-store"
    assert (await browser.get("/api/me")).json()["id"] == "alice"

    again = await post(await handraise.client(None), "/api/session/link", token=token)
    problem(again, 401, "Not signed in")
    assert "set-cookie" not in again.headers
    assert (await browser.get("/api/me")).status_code == 200


async def test_a_link_used_by_many_at_once_signs_in_one(handraise: Service, other: Service) -> None:
    """On two replicas, however close together: one session, and the others are told."""
    for _ in range(5):
        token = await link_for(handraise, "admin")
        browsers = [await replica.client(None) for replica in (handraise, other) for _ in range(3)]
        used = await asyncio.gather(*(post(browser, "/api/session/link", token=token) for browser in browsers))
        assert sorted(response.status_code for response in used) == [201] + [401] * 5
        inside = [(await browser.get("/api/session")).status_code for browser in browsers]
        assert inside == [200 if response.status_code == 201 else 401 for response in used]
    assert len(await events(handraise, "Opened")) == 5


async def test_a_link_is_over_after_a_day(stopped: Service, clock: StoppedClock) -> None:
    """A second before it works, at the instant itself it does not."""
    made = await stopped.admin.post("/api/users/admin/link")
    assert made.json()["expires_at"] == (START + timedelta(hours=24)).isoformat().replace("+00:00", ".000Z")
    early, late = await link_for(stopped, "admin"), await link_for(stopped, "admin")
    clock.at = START + timedelta(hours=24, seconds=-1)
    assert (await post(stopped.nobody, "/api/session/link", token=early)).status_code == 201
    clock.at = START + timedelta(hours=24)
    browser = await stopped.client(None)
    problem(await post(browser, "/api/session/link", token=late), 401, "Not signed in")


async def test_links_of_people_who_are_not_there(handraise: Service) -> None:
    """Of somebody inactive, removed or unknown there is no link, and one that was made before does not work."""
    for user, leave in (("alice", "PATCH"), ("bob", "DELETE")):
        await handraise.person(user)
        token = await link_for(handraise, user)
        left = await handraise.admin.request(leave, f"/api/users/{user}", json={"active": False})
        assert left.status_code == 200, left.text
        problem(await post(handraise.nobody, "/api/session/link", token=token), 401, "Not signed in")
        problem(await handraise.admin.post(f"/api/users/{user}/link"), 404, "Not found")
    problem(await handraise.admin.post("/api/users/carol/link"), 404, "Not found")
    for token in ("", "unknown", "x" * 200, "é\n"):
        problem(await post(handraise.nobody, "/api/session/link", token=token), 401, "Not signed in")
    assert fields(await post(handraise.nobody, "/api/session/link", token="x" * 201)) == ["token"]
    assert fields(await post(handraise.nobody, "/api/session/link", token=None)) == ["token"]


async def test_only_administrators_make_links(handraise: Service) -> None:
    """Members, auditors and agents cannot, not even for themselves."""
    alice = await handraise.person("alice")
    auditor = await handraise.person("auditor", Role.AUDITOR)
    before = await head(handraise)
    for client, user in ((alice, "alice"), (alice, "admin"), (auditor, "auditor"), (handraise.agent, "admin")):
        problem(await client.post(f"/api/users/{user}/link"), 403)
    assert await head(handraise) == before


async def test_looking_at_a_link_uses_nothing_up(handraise: Service) -> None:
    """C57: a mail scanner that gets and heads whatever it finds changes nothing; the button does."""
    token = await link_for(handraise, "admin")
    before = await head(handraise)
    for method in ("GET", "HEAD", "OPTIONS"):
        for path in ("/sign-in", f"/sign-in?{token}", f"/sign-in?token={token}", f"/{token}", "/sign-in.js", "/"):
            looked = await handraise.nobody.request(method, path, follow_redirects=True)
            assert looked.status_code < 500
            assert "set-cookie" not in looked.headers
        for path in (
            "/api/session/link",
            f"/api/session/link?token={token}",
            f"/api/session/link/{token}",
            "/api/session",
            "/api/sessions",
            "/api/sign-in",
            "/api/users/admin/link",
            "/api/oidc/start",
            "/api/oidc/callback",
        ):
            looked = await handraise.nobody.request(method, path, headers={"Content-Type": "application/json"})
            assert looked.status_code < 500
            assert "set-cookie" not in looked.headers
    assert await head(handraise) == before
    assert (await post(handraise.nobody, "/api/session/link", token=token)).status_code == 201


async def test_the_ways_in_are_told_to_everybody(handraise: Service) -> None:
    """Without an identity provider: by password, and the calls of a provider are not there."""
    assert (await handraise.nobody.get("/api/sign-in")).json() == {"password": True, "oidc": None}
    problem(await handraise.nobody.get("/api/oidc/start"), 404)
    problem(await handraise.nobody.get("/api/oidc/callback?code=1&state=2"), 404)


# -- passwords


async def test_a_password_is_set_and_signs_in_by_id_or_address(handraise: Service) -> None:
    """In any case of letters, with blanks around the name; the password itself is taken exactly."""
    await handraise.person("alice")
    changed = await handraise.admin.patch("/api/users/alice", json={"email": "Älice.Maße@Example.com"})
    assert changed.status_code == 200, changed.text
    assert (await set_password(await signed_in(handraise, "alice"), PASSWORD)).status_code == 200
    names = ("alice", " ALICE ", "älice.maße@example.com", "ÄLICE.MAßE@EXAMPLE.COM", "Älice.Maße@Example.com")
    for name in names:
        entered = await with_password(await handraise.client(None), name, PASSWORD)
        assert (entered.status_code, entered.json().get("user")) == (201, "alice"), (name, entered.text)
    for wrong in (PASSWORD.upper(), f" {PASSWORD}", f"{PASSWORD} ", PASSWORD[:-1], "", "\0", "x" * 2000):
        problem(await with_password(handraise.nobody, "alice", wrong), 401, "Not signed in")
    assert fields(await with_password(handraise.nobody, "alice", "x" * 2001)) == ["password"]
    assert {event["actor"] for event in await events(handraise, "PasswordSet")} == {"alice"}


async def test_changing_a_password_needs_the_present_one(handraise: Service) -> None:
    """Without it, or with another, nothing changes; with it the old one stops."""
    browser = await signed_in(handraise)
    assert (await set_password(browser, PASSWORD)).status_code == 200
    before = await head(handraise)
    for current in (None, "", "something else"):
        assert fields(await set_password(browser, "another password", current)) == ["current_password"]
    problem(await set_password(handraise.admin, "another password", PASSWORD), 403)  # a key may not outlive itself
    assert await head(handraise) == before
    changed = await set_password(browser, "another password", PASSWORD)
    assert (changed.status_code, changed.json()) == (200, {"position": await head(handraise)})
    problem(await with_password(handraise.nobody, "admin", PASSWORD), 401)
    assert (await with_password(handraise.nobody, "admin", "another password")).status_code == 201


async def test_a_new_password_ends_the_other_sessions(handraise: Service, other: Service) -> None:
    """Whoever else was in with the old one is out; the browser that set it stays."""
    mine, elsewhere = await signed_in(handraise), await signed_in(handraise, at=other)
    alices = await handraise.person("alice")
    theirs = await signed_in(handraise, "alice")
    assert (await set_password(mine, PASSWORD)).status_code == 200
    problem(await elsewhere.get("/api/session"), 401)
    for browser in (mine, theirs):
        assert (await browser.get("/api/session")).status_code == 200
    assert (await alices.get("/api/me")).status_code == 200
    assert (await handraise.admin.get("/api/me")).status_code == 200


async def test_passwords_that_are_refused(handraise: Service) -> None:
    """Too short, too long, blank, or no text: 422 that does not repeat it. An agent has none."""
    browser = await signed_in(handraise)
    before = await head(handraise)
    for refused in ("ninechars", "", " " * 20, "x" * 1001, "nul in it \0 here"):
        response = await set_password(browser, refused)
        assert fields(response) == ["password"], refused
        assert not refused.strip() or refused not in response.text
    problem(await set_password(handraise.agent, PASSWORD), 403)
    assert await head(handraise) == before
    for taken in ("ten chars!", "x" * 1000):
        current = None if taken == "ten chars!" else "ten chars!"
        assert (await set_password(browser, taken, current)).status_code == 200
    assert (await with_password(handraise.nobody, "admin", "x" * 1000)).status_code == 201


async def test_a_password_is_kept_as_a_slow_hash_and_nowhere_else(
    handraise: Service, capfd: pytest.CaptureFixture[str]
) -> None:
    """argon2id, in its own table; neither it nor the password stands in events, audit, export or the log."""
    browser = await signed_in(handraise)
    await set_password(browser, PASSWORD)
    await set_password(browser, f"{PASSWORD} 2", PASSWORD)
    problem(await with_password(handraise.nobody, "admin", PASSWORD), 401)
    assert (await with_password(handraise.nobody, "admin", f"{PASSWORD} 2")).status_code == 201
    await settled(handraise)
    [(hash,)] = await rows(handraise.app.conninfo, "SELECT hash FROM passwords")
    assert hash.startswith("$argon2id$v=19$")
    export = await handraise.admin.get("/api/audit/export")
    trail = await handraise.admin.get("/api/audit", params={"limit": 200})
    said = "".join(capfd.readouterr())
    for place, text in (await everything(handraise.app.conninfo) | {"log": said}).items():
        assert PASSWORD not in text, place
        assert ("argon2" in text) is (place == "passwords"), place
    for response in (export, trail):
        assert response.status_code == 200
        assert "PasswordSet" in response.text
        assert "argon2" not in response.text
        assert PASSWORD not in response.text


async def everything(conninfo: str) -> dict[str, str]:
    """Each table's rows as text, bytes readable where they are."""
    tables = await rows(conninfo, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
    found: dict[str, str] = {}
    for (table,) in tables:
        found[table] = "\n".join(
            " ".join(
                value.decode("latin-1") if isinstance(value, (bytes, memoryview)) else str(value)
                for value in (bytes(each) if isinstance(each, memoryview) else each for each in row)
            )
            for row in await rows(conninfo, f'SELECT * FROM "{table}"')
        )
    return found


class CountedPasswords:
    """Implements `application.sign_in.Passwords`: notes what it was asked, and is quick."""

    def __init__(self) -> None:
        self.tried: list[tuple[str | None, str]] = []

    async def hash(self, password: str) -> str:
        return f"hash of {password}"

    async def matches(self, hash: str | None, password: str) -> bool:
        self.tried.append((hash, password))
        await asyncio.sleep(0)
        return hash == f"hash of {password}"


async def test_an_unknown_person_takes_the_same_path_as_a_wrong_password(handraise: Service) -> None:
    """The hasher is asked once, the words are the same, whoever it is: unknown, without a password, inactive."""
    passwords = CountedPasswords()
    async with prepared(handraise.app.conninfo) as pool:
        clock = DatabaseClock()
        sign_in = SignIn(
            handraise.app.store,
            PostgresDirectory(pool, clock),
            passwords,
            PostgresSignInAttempts(pool, clock),
            clock,
            lifetime=timedelta(hours=1),
        )
        await handraise.person("alice")
        await handraise.person("inactive")
        admin = await admin_caller(handraise)
        for user in ("admin", "inactive"):
            link = await sign_in.make_link(user, by=None)
            caller = await sign_in.authenticate((await sign_in.with_link(link.token)).token)
            assert caller is not None
            await sign_in.set_password(PASSWORD, by=caller, current=None)
        await handraise.app.directory.change("user", "inactive", {"active": False}, by=admin)
        said = set()
        for number, name in enumerate(("admin", "alice", "inactive", "unknown", "no\0body", "")):
            with pytest.raises(NotSignedIn) as refusal:
                await sign_in.with_password(name, "wrong password", address=str(number))
            said.add((refusal.value.title, refusal.value.detail))
        assert len(said) == 1
        assert passwords.tried == [
            (f"hash of {PASSWORD}", "wrong password"),
            *[(None, "wrong password")] * 5,
        ]


async def admin_caller(handraise: Service) -> PersonCaller:
    caller = await handraise.app.keys.authenticate(handraise.admin.headers["Authorization"].removeprefix("Bearer "))
    assert isinstance(caller, PersonCaller)
    return caller


async def test_the_hasher_works_as_much_for_nobody() -> None:
    """Where there is no hash, one is verified all the same, and nothing matches."""
    passwords = Argon2Passwords()
    hash = await passwords.hash(PASSWORD)
    assert hash != await passwords.hash(PASSWORD)
    assert await passwords.matches(hash, PASSWORD)
    assert not await passwords.matches(hash, "another password")
    assert not await passwords.matches(None, "a password that nobody has")
    assert not await passwords.matches("$argon2id$nonsense", PASSWORD)


# -- limited attempts


async def test_the_eleventh_attempt_for_a_name_is_refused_even_when_it_is_right(
    handraise: Service, other: Service
) -> None:
    """429 with Retry-After on both replicas, however the name is written; other names go on."""
    await set_password(await signed_in(handraise), PASSWORD)
    for number in range(10):
        replica = (handraise, other)[number % 2]
        name = ("admin", "ADMIN", " Admin ")[number % 3]
        problem(await with_password(replica.nobody, name, "wrong password"), 401)
    for replica in (handraise, other):
        refused = await with_password(replica.nobody, "admin", PASSWORD)
        problem(refused, 429, "Too many attempts")
        assert 0 < int(refused.headers["retry-after"]) <= 15 * 60
        assert "set-cookie" not in refused.headers
        problem(await with_password(replica.nobody, "somebody", "wrong password"), 401)
    # By a link one comes in all the same.
    assert (await (await signed_in(handraise)).get("/api/me")).json()["id"] == "admin"


async def test_many_attempts_at_once_are_no_more_than_ten(handraise: Service) -> None:
    """Forty through two replicas at the same moment: ten passwords are looked at, thirty are not."""
    passwords = CountedPasswords()
    clock = DatabaseClock()
    async with prepared(handraise.app.conninfo, size=8) as first, prepared(handraise.app.conninfo, size=8) as second:
        replicas = [
            SignIn(
                handraise.app.store,
                PostgresDirectory(pool, clock),
                passwords,
                PostgresSignInAttempts(pool, clock),
                clock,
                lifetime=timedelta(hours=1),
            )
            for pool in (first, second)
        ]
        ended = await asyncio.gather(
            *(
                replicas[number % 2].with_password("admin", f"guess {number}", address="10.0.0.1")
                for number in range(40)
            ),
            return_exceptions=True,
        )
    kinds = [type(error) for error in ended]
    assert (kinds.count(NotSignedIn), kinds.count(TooManyAttempts)) == (10, 30), kinds
    assert len(passwords.tried) == 10


async def test_attempts_from_one_address_are_limited_over_all_names(handraise: Service) -> None:
    """The 51st from an address is refused, whoever it is for; from another address it is not."""
    for number in range(50):
        problem(await with_password(handraise.nobody, f"guess-{number}", "wrong password"), 401)
    problem(await with_password(handraise.nobody, "another", "wrong password"), 429)
    elsewhere = httpx.AsyncClient(
        transport=httpx.ASGITransport(handraise.app.api, client=("10.9.8.7", 1)), base_url="http://handraise.test"
    )
    async with elsewhere:
        problem(await with_password(elsewhere, "another", "wrong password"), 401)


async def test_attempts_are_forgotten_when_their_time_is_over(stopped: Service, clock: StoppedClock) -> None:
    """Fifteen minutes after the first; refused attempts do not make it longer."""
    await set_password(await signed_in(stopped), PASSWORD)
    for _ in range(10):
        problem(await with_password(stopped.nobody, "admin", "wrong password"), 401)
    clock.at += timedelta(minutes=14)
    refused = await with_password(stopped.nobody, "admin", PASSWORD)
    problem(refused, 429)
    assert refused.headers["retry-after"] == "60"
    clock.at += timedelta(minutes=1)
    assert (await with_password(stopped.nobody, "admin", PASSWORD)).status_code == 201
    assert await rows(stopped.app.conninfo, "SELECT count FROM sign_in_attempts ORDER BY count") == [(0,)]


async def test_success_forgets_what_failed_for_the_name_only(handraise: Service) -> None:
    """Nine wrong ones, the right one, and nine more wrong ones are allowed; what others tried still counts."""
    await set_password(await signed_in(handraise), PASSWORD)
    for _ in range(2):
        for _ in range(9):
            problem(await with_password(handraise.nobody, "admin", "wrong password"), 401)
        assert (await with_password(await handraise.client(None), "admin", PASSWORD)).status_code == 201
    for number in range(32):
        problem(await with_password(handraise.nobody, f"guess-{number}", "wrong password"), 401)
    problem(await with_password(handraise.nobody, "another", "wrong password"), 429)


async def test_guessing_the_present_password_is_limited_too(handraise: Service) -> None:
    """Whoever sits at an open session cannot try them all."""
    browser = await signed_in(handraise)
    await set_password(browser, PASSWORD)
    for _ in range(10):
        assert fields(await set_password(browser, "another password", "a guess")) == ["current_password"]
    problem(await set_password(browser, "another password", PASSWORD), 429)


# -- sessions


def cookie_of(response: httpx.Response, name: str = "handraise_session") -> tuple[str, dict[str, str]]:
    """The value and the attributes of the one cookie that this response sets."""
    [header] = response.headers.get_list("set-cookie")
    pair, *attributes = [part.strip() for part in header.split(";")]
    given, _, value = pair.partition("=")
    assert given == name
    return value, {key.lower(): value for key, _, value in (part.partition("=") for part in attributes)}


async def test_the_cookie_is_for_this_site_and_no_script(handraise: Service, database: str) -> None:
    """HttpOnly, SameSite=Lax, Path=/, ending with the session; Secure where people reach the server by TLS."""
    entered = await post(handraise.nobody, "/api/session/link", token=await link_for(handraise, "admin"))
    value, attributes = cookie_of(entered)
    assert len(value) >= 43
    assert attributes.keys() == {"expires", "httponly", "path", "samesite"}
    assert (attributes["path"], attributes["samesite"]) == ("/", "lax")
    until = datetime.strptime(attributes["expires"], "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    assert abs(until - datetime.fromisoformat(entered.json()["expires_at"])) < timedelta(seconds=2)

    own = {"public_url": "https://handraise.test", "session_seconds": 3600}
    async with service(database, handraise.settings.data_dir, **own) as behind_tls:
        made = (await behind_tls.admin.post("/api/users/admin/link")).json()
        assert made["url"].startswith("https://handraise.test/sign-in#")
        token = made["url"].partition("#")[2]
        entered = await post(behind_tls.nobody, "/api/session/link", token=token)
        assert "secure" in cookie_of(entered)[1]
        left = datetime.fromisoformat(entered.json()["expires_at"]) - datetime.now(UTC)
        assert timedelta(minutes=59) < left < timedelta(minutes=61)


async def test_a_session_is_one_on_every_replica(handraise: Service, other: Service) -> None:
    """Opened here, it works there at once; ended there, it is over here."""
    browser = await signed_in(handraise)
    there = await same_browser(other, browser)
    assert (await there.get("/api/session")).json() == (await browser.get("/api/session")).json()
    made = await post(there, "/api/users", name="Somebody")
    assert made.status_code == 201, made.text
    assert (await there.delete("/api/session")).status_code == 200
    problem(await browser.get("/api/session"), 401)


async def test_signing_in_anew_ends_the_browsers_old_session(handraise: Service) -> None:
    """Its token is worth nothing from then on, whoever had it; sessions of other browsers go on."""
    await handraise.person("alice")
    elsewhere = await signed_in(handraise)
    browser = await signed_in(handraise)
    old = await same_browser(handraise, browser)
    old.cookies = httpx.Cookies(browser.cookies)
    adopt(browser, await post(browser, "/api/session/link", token=await link_for(handraise, "alice")))
    assert browser.cookies["handraise_session"] != old.cookies["handraise_session"]
    assert (await browser.get("/api/session")).json()["user"] == "alice"
    problem(await old.get("/api/session"), 401)
    assert (await elsewhere.get("/api/session")).status_code == 200
    await set_password(browser, PASSWORD)
    older = httpx.Cookies(browser.cookies)
    adopt(browser, await with_password(browser, "alice", PASSWORD))
    old.cookies = older
    problem(await old.get("/api/session"), 401)


async def test_a_planted_cookie_is_not_kept(handraise: Service) -> None:
    """A token that somebody else chose never becomes a session."""
    browser = await handraise.client(None)
    browser.cookies.set("handraise_session", "planted", domain="handraise.test")
    entered = await post(browser, "/api/session/link", token=await link_for(handraise, "admin"))
    assert cookie_of(entered)[0] != "planted"
    planted = await handraise.client(None)
    problem(await planted.get("/api/session", headers={"Cookie": "handraise_session=planted"}), 401)


async def test_signing_out_ends_this_session(handraise: Service) -> None:
    """At once, with its cookie; others of the same person go on. With a key there is none to end."""
    browser, elsewhere = await signed_in(handraise), await signed_in(handraise)
    old = await same_browser(handraise, browser)
    old.cookies = httpx.Cookies(browser.cookies)
    left = await browser.delete("/api/session")
    assert (left.status_code, left.json()) == (200, {"position": await head(handraise)})
    assert cookie_of(left)[1]["max-age"] == "0"
    assert not browser.cookies
    problem(await old.get("/api/session"), 401)
    problem(await old.delete("/api/session"), 401)
    assert (await elsewhere.get("/api/session")).status_code == 200
    for client in (handraise.admin, handraise.agent):
        problem(await client.delete("/api/session"), 403)
        problem(await client.get("/api/session"), 403)


async def test_signing_out_everywhere_ends_all_sessions_of_the_person(handraise: Service, other: Service) -> None:
    """On every replica, and nobody else's; keys go on. It can be done with a key too."""
    await handraise.person("alice")
    theirs = await signed_in(handraise, "alice")
    mine = [await signed_in(handraise), await signed_in(handraise, at=other), await signed_in(handraise)]
    ended = await mine[0].delete("/api/sessions")
    assert (ended.status_code, ended.json()) == (200, {"position": await head(handraise)})
    assert cookie_of(ended)[1]["max-age"] == "0"
    for browser in mine[1:]:
        problem(await browser.get("/api/session"), 401)
    assert (await theirs.get("/api/session")).status_code == 200
    again = await signed_in(handraise)
    assert (await handraise.admin.delete("/api/sessions")).status_code == 200
    problem(await again.get("/api/session"), 401)
    nothing_left = await handraise.admin.delete("/api/sessions")
    assert (nothing_left.status_code, nothing_left.json()) == (200, {"position": await head(handraise)})
    problem(await handraise.agent.delete("/api/sessions"), 403)


async def test_a_session_ends_at_its_instant(stopped: Service, clock: StoppedClock, database: str) -> None:
    """Seven days unless set; by the database's clock, to the second."""
    browser = await signed_in(stopped)
    assert (
        (await browser.get("/api/session"))
        .json()["expires_at"]
        .startswith(f"{START + timedelta(days=7):%Y-%m-%dT%H:%M:%S}")
    )
    clock.at = START + timedelta(days=7, seconds=-1)
    late = await stopped.client(None)  # one that knows no time, and goes on sending the cookie
    late.headers["Cookie"] = f"handraise_session={browser.cookies['handraise_session']}"
    assert (await late.get("/api/session")).status_code == 200
    clock.at = START + timedelta(days=7)
    ended = problem(await late.get("/api/session"), 401)
    assert "sign in again" in ended["detail"]


async def test_who_is_set_inactive_or_removed_is_out_at_once(handraise: Service, other: Service) -> None:
    """On every replica, with no session to come back to."""
    for user, leave in (("alice", "PATCH"), ("bob", "DELETE")):
        await handraise.person(user)
        browsers = [await signed_in(handraise, user, at=replica) for replica in (handraise, other)]
        assert (await set_password(browsers[0], PASSWORD)).status_code == 200
        browsers[1] = await signed_in(handraise, user, at=other)
        left = await handraise.admin.request(leave, f"/api/users/{user}", json={"active": False})
        assert left.status_code == 200, left.text
        for browser in browsers:
            problem(await browser.get("/api/session"), 401)
            problem(await browser.get("/api/inbox"), 401)
        problem(await with_password(handraise.nobody, user, PASSWORD), 401)
    assert await rows(handraise.app.conninfo, "SELECT count(*) FROM passwords") == [(1,)]
    assert await rows(handraise.app.conninfo, "SELECT count(*) FROM sessions") == [(0,)]


async def test_who_comes_back_signs_in_anew(handraise: Service) -> None:
    """A session that ended because its person was set inactive stays over; their password works again."""
    await handraise.person("alice")
    browser = await signed_in(handraise, "alice")
    assert (await set_password(browser, PASSWORD)).status_code == 200
    for active in (False, True):
        assert (await handraise.admin.patch("/api/users/alice", json={"active": active})).status_code == 200
        problem(await browser.get("/api/session"), 401)
    assert (await with_password(await handraise.client(None), "alice", PASSWORD)).status_code == 201


async def test_a_changed_role_holds_in_the_same_session(handraise: Service, other: Service) -> None:
    """Made administrator, one may at once; made member or auditor, one may not any more."""
    await handraise.person("alice")
    browser = await signed_in(handraise, "alice")
    there = await same_browser(other, browser)
    for role, status in (("administrator", 201), ("auditor", 403), ("administrator", 201), ("member", 403)):
        changed = await handraise.admin.patch("/api/users/alice", json={"role": role})
        assert changed.status_code == 200
        for number, client in enumerate((browser, there)):
            made = await post(client, "/api/lists", name=f"{role} {number} {changed.json()['position']}")
            assert made.status_code == status, (role, made.text)


# -- pages of other sites


UNSAFE: list[tuple[str, str, dict[str, Any] | None]] = [
    ("POST", "/api/users", {"name": "Mallory"}),
    ("PATCH", "/api/users/admin", {"name": "Mallory"}),
    ("DELETE", "/api/users/alice", None),
    ("PUT", "/api/directory", {"users": [{"id": "mallory", "name": "Mallory"}]}),
    ("PATCH", "/api/me", {"time_zone": "Europe/Paris"}),
    ("PATCH", "/api/me", {"password": PASSWORD}),
    ("POST", "/api/keys", {"name": "k", "user": "admin"}),
    ("POST", "/api/users/admin/link", None),
    ("DELETE", "/api/session", None),
    ("DELETE", "/api/sessions", None),
]


async def test_what_changes_something_needs_the_sessions_own_token(handraise: Service) -> None:
    """Without X-CSRF-Token, or with another session's, an empty or a wrong one: 403, and nothing is changed."""
    await handraise.person("alice")
    browser, another = await signed_in(handraise), await signed_in(handraise)
    right, wrong = browser.headers["X-CSRF-Token"], another.headers["X-CSRF-Token"]
    del browser.headers["X-CSRF-Token"]
    asked = await handraise.ask()
    before = await head(handraise)
    unsafe = [*UNSAFE, ("POST", f"/api/requests/{asked['id']}/respond", {"text": "yes"})]
    for method, path, body in unsafe:
        for token in (None, "", wrong, right[:-1], f"{right}x", "é"):
            headers = {} if token is None else {"X-CSRF-Token": token.encode()}
            refused = problem(await browser.request(method, path, json=body, headers=headers), 403)
            assert "x-csrf-token" in refused["detail"].lower()
    assert await head(handraise) == before
    for path in ("/api/session", "/api/inbox", "/api/users", f"/api/requests/{asked['id']}"):
        assert (await browser.get(path)).status_code == 200
    for method, path, body in unsafe[:5]:
        done = await browser.request(method, path, json=body, headers={"X-CSRF-Token": right})
        assert done.status_code in (200, 201), done.text
    assert await head(handraise) > before


async def test_a_page_of_another_site_changes_nothing(handraise: Service) -> None:
    """What the browser says came from elsewhere is 403: with the right token, and for signing in, too."""
    await handraise.person("alice")
    browser = await signed_in(handraise)
    token = await link_for(handraise, "alice")
    before = await head(handraise)
    signing_in = [("/api/session", {"name": "admin", "password": PASSWORD}), ("/api/session/link", {"token": token})]
    for site in ("cross-site", "same-site", "anything"):
        elsewhere = {"Sec-Fetch-Site": site}
        for method, path, body in UNSAFE:
            problem(await browser.request(method, path, json=body, headers=elsewhere), 403)
        for path, body in signing_in:
            for client in (browser, handraise.nobody):
                problem(await client.post(path, json=body, headers=elsewhere), 403)
        assert await head(handraise) == before, site
    for own in ("same-origin", "none"):
        made = await browser.post("/api/users", json={"name": own}, headers={"Sec-Fetch-Site": own})
        assert made.status_code == 201


async def test_a_form_of_another_site_signs_nobody_in(handraise: Service) -> None:
    """What a form can send without asking (text, fields, files) is not taken for JSON, with an old browser too."""
    token = await link_for(handraise, "admin")
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None):
        headers = {} if kind is None else {"Content-Type": kind}
        content = f'{{"token": "{token}"}}'.encode()
        sent = await handraise.nobody.post("/api/session/link", content=content, headers=headers)
        problem(sent, 422)
        assert "set-cookie" not in sent.headers
    assert (await post(handraise.nobody, "/api/session/link", token=token)).status_code == 201


# -- keys and sessions are two things


async def test_a_key_in_the_header_counts_before_the_cookie(handraise: Service) -> None:
    """It was put there on purpose: no CSRF token is needed, and a bad key is 401 whoever the cookie is of."""
    browser = await signed_in(handraise)
    del browser.headers["X-CSRF-Token"]
    key = handraise.agent.headers["Authorization"]
    asked = await browser.post("/api/requests", json={"message": "May I?"}, headers={"Authorization": key})
    assert (asked.status_code, asked.json().get("agent")) == (201, "default"), asked.text
    problem(await browser.get("/api/session", headers={"Authorization": "Bearer hr_unknown"}), 401)
    problem(await browser.get("/api/session", headers={"Authorization": "nonsense"}), 401)


async def test_a_session_is_no_key_and_a_key_no_session(handraise: Service) -> None:
    """The token of one, shown as the other, is 401; so is a link's token, or what stands in the log."""
    browser = await signed_in(handraise)
    token = browser.cookies["handraise_session"]
    problem(await handraise.nobody.get("/api/me", headers={"Authorization": f"Bearer {token}"}), 401)
    key = handraise.admin.headers["Authorization"].removeprefix("Bearer ")
    link = await link_for(handraise, "admin")
    [session] = await events(handraise, "Opened")
    for other in (key, link, session["facts"]["sha256"], "", "hr_", "é"):
        cookie = {"Cookie": f"handraise_session={other}".encode()}
        problem(await handraise.nobody.get("/api/me", headers=cookie), 401)


async def test_an_answer_given_in_a_session_came_by_the_web(handraise: Service) -> None:
    """Whatever the caller says of its channel: a session is a browser."""
    await handraise.person("alice")
    browser = await signed_in(handraise, "alice")
    asked = await handraise.ask(run_user="alice")
    answered = await browser.post(
        f"/api/requests/{asked['id']}/respond", json={"text": "yes"}, headers={"Handraise-Via": "cli"}
    )
    assert answered.status_code == 200, answered.text
    assert (answered.json()["response"]["by"], answered.json()["response"]["via"]) == ("alice", "web")


# -- the live stream in a session


async def test_a_stream_of_a_session_ends_with_it(handraise: Service, other: Service) -> None:
    """Opened with the cookie; whatever ends the session, on another replica, ends the stream."""

    async def signs_out(there: httpx.AsyncClient, user: str) -> httpx.Response:
        return await there.delete("/api/session")

    async def signs_out_everywhere(there: httpx.AsyncClient, user: str) -> httpx.Response:
        return await there.delete("/api/sessions")

    async def is_deactivated(there: httpx.AsyncClient, user: str) -> httpx.Response:
        return await other.admin.patch(f"/api/users/{user}", json={"active": False})

    async def signs_in_anew(there: httpx.AsyncClient, user: str) -> httpx.Response:
        return await post(there, "/api/session/link", token=await link_for(handraise, user))

    async def sets_a_password(there: httpx.AsyncClient, user: str) -> httpx.Response:
        return await set_password(await signed_in(handraise, user), PASSWORD)

    async with served(handraise.app) as url:
        for ends in (signs_out, signs_out_everywhere, is_deactivated, signs_in_anew, sets_a_password):
            user = ends.__name__
            await handraise.person(user)
            browser = await signed_in(handraise, user)
            there = await same_browser(other, browser)
            cookie = {"Cookie": f"handraise_session={browser.cookies['handraise_session']}"}
            async with opened(url, None, headers=cookie) as live:
                asked = await handraise.ask(run_user=user)
                seen = await live.until(lambda event, id=asked["id"]: event.data.get("request_id") == id)
                assert seen[-1].type == "Requested"
                assert (await ends(there, user)).status_code in (200, 201)
                await live.end()


async def test_a_stream_ends_with_the_time_of_its_session(stopped: Service, clock: StoppedClock) -> None:
    """The next time it would say anything, it says nothing and ends."""
    browser = await signed_in(stopped)
    cookie = {"Cookie": f"handraise_session={browser.cookies['handraise_session']}"}
    async with served(stopped.app) as url, opened(url, None, headers=cookie) as live:
        clock.at = START + timedelta(days=7)
        await stopped.ask()
        assert await live.end() == []


# -- the trail


async def test_the_trail_says_who_came_in_and_went(handraise: Service) -> None:
    """Links made and used, sessions opened and closed, passwords set: by whom and how, never with a token."""
    await handraise.person("alice")
    before = await head(handraise)
    token = await link_for(handraise, "alice")
    browser = await handraise.client(None)
    entered = await post(browser, "/api/session/link", token=token)
    adopt(browser, entered)
    tokens = [token, browser.cookies["handraise_session"], entered.json()["csrf_token"]]
    await set_password(browser, PASSWORD)
    adopt(browser, await with_password(browser, "alice", PASSWORD))
    tokens += [browser.cookies["handraise_session"]]
    await browser.delete("/api/session")
    trail = await handraise.admin.get("/api/audit", params={"limit": 200, "min_position": await head(handraise)})
    told = [(event["type"], event["actor"]) for event in trail.json()["items"][::-1] if event["position"] > before]
    assert told[0] == ("Made", "admin")
    assert set(told[1:3]) == {("Opened", "alice"), ("Used", "alice")}
    assert told[3:] == [
        ("PasswordSet", "alice"),
        ("Opened", "alice"),
        ("Closed", "alice"),
        ("Closed", "alice"),
    ]
    hows = re.findall(r'"how":\s*"(\w+)"', trail.text)
    assert sorted(hows) == ["link", "password"]
    export = await handraise.admin.get("/api/audit/export")
    for secret in tokens:
        assert secret not in trail.text
        assert secret not in export.text
        for place, text in (await everything(handraise.app.conninfo)).items():
            assert secret not in text, place


async def test_sessions_and_links_leave_the_tables_when_they_are_over(handraise: Service) -> None:
    """What was used or closed is kept in the log alone."""
    browser = await signed_in(handraise)
    assert await rows(handraise.app.conninfo, "SELECT count(*) FROM sessions") == [(1,)]
    await browser.delete("/api/session")
    for table in ("sessions", "sign_in_links"):
        assert await rows(handraise.app.conninfo, f"SELECT count(*) FROM {table}") == [(0,)]
