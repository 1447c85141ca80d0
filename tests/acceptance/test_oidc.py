"""Signing in with an OpenID provider: the whole way through a real one, and every way in which one can be wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from interfaces.app import App
from tests.acceptance.test_conventions import problem
from tests.support.openid import CLIENT_ID, CLIENT_SECRET, FakeOpenIdProvider, new_key
from tests.support.processes import ServerProcess
from tests.support.service import Service, service
from tests.support.sse import served

OURS = "http://handraise.test"
CALLBACK = f"{OURS}/api/oidc/callback"
STATE_COOKIE = "handraise_oidc"


@pytest.fixture
async def provider() -> AsyncIterator[FakeOpenIdProvider]:
    """A provider on a socket."""
    made = FakeOpenIdProvider(CALLBACK)
    async with served(cast("App", made)) as url:
        made.issuer = url
        yield made


@pytest.fixture
async def handraise(database: str, tmp_path: Path, provider: FakeOpenIdProvider) -> AsyncIterator[Service]:
    """A service that people sign in to with it; alice is one of them."""
    async with service(database, tmp_path / "data", **settings(provider)) as made:
        await made.person("alice")
        changed = await made.admin.patch("/api/users/alice", json={"email": "Alice@Example.com"})
        assert changed.status_code == 200
        yield made


def settings(provider: FakeOpenIdProvider) -> dict[str, Any]:
    return {
        "public_url": OURS,
        "oidc_issuer": provider.issuer,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": CLIENT_SECRET,
        "oidc_name": "Example Ltd",
    }


@pytest.fixture
async def browser(handraise: Service) -> AsyncIterator[httpx.AsyncClient]:
    async with a_browser(handraise) as made:
        yield made


def a_browser(handraise: Service) -> httpx.AsyncClient:
    """One that follows redirects, from us to the provider's socket and back."""
    return httpx.AsyncClient(
        base_url=OURS,
        transport=httpx.ASGITransport(handraise.app.api, raise_app_exceptions=False),
        mounts={"http://127.0.0.1": httpx.AsyncHTTPTransport()},
        follow_redirects=True,
        trust_env=False,
        timeout=30,
    )


async def sign_in(browser: httpx.AsyncClient) -> httpx.Response:
    """Press the button; the last response, with all before it in `history`."""
    return await browser.get("/api/oidc/start")


async def until_callback(browser: httpx.AsyncClient) -> str:
    """Go to the provider and stop before coming back: the address it sends the browser to."""
    started = await browser.get("/api/oidc/start", follow_redirects=False)
    assert started.status_code == 302, started.text
    there = await browser.get(started.headers["location"], follow_redirects=False)
    assert there.status_code == 302, there.text
    return there.headers["location"]


async def nobody_came_in(handraise: Service, browser: httpx.AsyncClient) -> bool:
    """Whether this browser has no session, and no session was ever opened."""
    problem(await browser.get("/api/session"), 401)
    page = {"type": "Opened", "min_position": await handraise.app.store.head()}
    return (await handraise.admin.get("/api/audit", params=page)).json()["items"] == []


# -- the way it should be


async def test_a_known_person_is_signed_in(
    handraise: Service, browser: httpx.AsyncClient, provider: FakeOpenIdProvider
) -> None:
    """There and back: a session as whoever has the e-mail address here, in any case of letters."""
    assert (await browser.get("/api/sign-in")).json() == {"password": True, "oidc": "Example Ltd"}
    provider.email = "aLICE@example.com"
    ended = await sign_in(browser)
    assert [str(step.url.copy_with(query=None)) for step in (*ended.history, ended)] == [
        f"{OURS}/api/oidc/start",
        f"{provider.issuer}/authorize",
        CALLBACK,
        f"{OURS}/",
    ]
    assert ended.status_code == 200
    session = (await browser.get("/api/session")).json()
    assert session["user"] == "alice"
    made = await browser.patch(
        "/api/me", json={"time_zone": "Europe/Oslo"}, headers={"X-CSRF-Token": session["csrf_token"]}
    )
    assert made.status_code == 200
    page = {"type": "Opened", "min_position": await handraise.app.store.head()}
    [opened] = (await handraise.admin.get("/api/audit", params=page)).json()["items"]
    assert (opened["actor"], opened["facts"]["how"]) == ("alice", "oidc")


async def test_what_goes_over_the_wire(browser: httpx.AsyncClient, provider: FakeOpenIdProvider) -> None:
    """State, nonce and PKCE challenge are new each time; the cookie is for the way back only, and tells nothing."""
    seen: list[dict[str, list[str]]] = []
    for _ in range(2):
        started = await browser.get("/api/oidc/start", follow_redirects=False)
        assert (started.status_code, started.headers["cache-control"]) == (302, "no-store")
        seen.append(parse_qs(urlsplit(started.headers["location"]).query, strict_parsing=True))
    for name in ("state", "nonce", "code_challenge"):
        assert seen[0][name] != seen[1][name]
        assert len(seen[0][name][0]) >= 43
    [header] = started.headers.get_list("set-cookie")
    value, _, attributes = header.partition("; ")
    assert set(attributes.split("; ")) == {"HttpOnly", "Max-Age=600", "Path=/api/oidc", "SameSite=lax"}
    for name in ("state", "nonce"):
        assert seen[1][name][0] not in value


async def test_the_state_cookie_goes_with_the_sign_in(browser: httpx.AsyncClient) -> None:
    """Once signed in, nothing of the way is kept in the browser but the session."""
    await sign_in(browser)
    assert list(browser.cookies) == ["handraise_session"]


async def test_signing_in_again_ends_the_old_session(
    handraise: Service, browser: httpx.AsyncClient, provider: FakeOpenIdProvider
) -> None:
    """As with every other way in: the browser's former session is over."""
    await sign_in(browser)
    old = await handraise.client(None)
    old.headers["Cookie"] = f"handraise_session={browser.cookies['handraise_session']}"
    assert (await old.get("/api/session")).status_code == 200
    await sign_in(browser)
    assert (await browser.get("/api/session")).status_code == 200
    problem(await old.get("/api/session"), 401)


async def test_a_client_without_a_secret(database: str, tmp_path: Path, provider: FakeOpenIdProvider) -> None:
    """PKCE alone protects a public client."""
    provider.client_secret = None
    own = settings(provider) | {"oidc_client_secret": None}
    async with service(database, tmp_path / "data", **own) as made, a_browser(made) as browser:
        await made.admin.patch("/api/users/admin", json={"email": provider.email})
        await sign_in(browser)
        assert (await browser.get("/api/session")).json()["user"] == "admin"


async def test_begun_on_one_replica_and_ended_on_another(
    handraise: Service, database: str, provider: FakeOpenIdProvider
) -> None:
    """Nothing is remembered between the two: the cookie carries it."""
    async with (
        service(database, handraise.settings.data_dir, **settings(provider)) as other,
        a_browser(handraise) as here,
        a_browser(other) as there,
    ):
        address = await until_callback(here)
        there.cookies = here.cookies
        assert (await there.get(address)).status_code == 200
        assert (await there.get("/api/session")).json()["user"] == "alice"


async def test_the_providers_keys_are_read_again_when_they_change(
    browser: httpx.AsyncClient, provider: FakeOpenIdProvider
) -> None:
    """They are remembered, until one that is not known has signed."""
    for _ in range(2):
        await sign_in(browser)
    assert (provider.calls.count("/keys"), provider.calls.count("/.well-known/openid-configuration")) == (1, 1)
    provider.rotate()
    await sign_in(browser)
    assert (await browser.get("/api/session")).json()["user"] == "alice"
    assert provider.calls.count("/keys") == 2


# -- a provider that is wrong

Mischief = Callable[[FakeOpenIdProvider], object]


def claims(**values: Any) -> Mischief:
    return lambda provider: provider.claims.update(values)


def metadata(**values: Any) -> Mischief:
    return lambda provider: provider.metadata.update(values)


def answer(path: str, response: Response) -> Mischief:
    return lambda provider: provider.answers.update({path: response})


def unsigned(provider: FakeOpenIdProvider) -> None:
    provider.alg = "none"


def signed_with_the_clients_secret(provider: FakeOpenIdProvider) -> None:
    provider.alg, provider.hmac_secret = "HS256", CLIENT_SECRET.encode()


def signed_with_the_public_key(provider: FakeOpenIdProvider) -> None:
    provider.alg, provider.hmac_secret = "HS256", provider.key.as_pem(private=False)


def signed_by_another(provider: FakeOpenIdProvider) -> None:
    provider.key = new_key()


def without_email(provider: FakeOpenIdProvider) -> None:
    provider.email = None


def unknown_email(provider: FakeOpenIdProvider) -> None:
    provider.email = "mallory@example.com"


DISCOVERY, TOKEN, KEYS = "/.well-known/openid-configuration", "/token", "/keys"
WRONG_TOKENS: dict[str, Mischief] = {
    "wrong nonce": claims(nonce="another"),
    "no nonce": claims(nonce=None),
    "for another client": claims(aud="another"),
    "for another client too": claims(aud=[CLIENT_ID, "another"], azp="another"),
    "for nobody": claims(aud=None),
    "of another issuer": claims(iss="http://127.0.0.1:1"),
    "of no issuer": claims(iss=None),
    "expired": claims(exp=1_700_000_000),
    "without an end": claims(exp=None),
    "an end that is no time": claims(exp="tomorrow"),
    "without a beginning": claims(iat=None),
    "of the future": claims(iat=4_000_000_000, exp=4_000_000_300),
    "without a subject": claims(sub=None),
    "unsigned": unsigned,
    "signed with the client's secret": signed_with_the_clients_secret,
    "signed with the public key": signed_with_the_public_key,
    "signed by another key": signed_by_another,
    "no e-mail": without_email,
    "an e-mail that is no text": claims(email=["alice@example.com"]),
    "an e-mail that is not verified": claims(email_verified=False),
    "not verified, as text": claims(email_verified="false"),
    "an e-mail that nobody has here": unknown_email,
    "an e-mail with a NUL": claims(email="alice@example.com\0"),
    "no ID token": answer(TOKEN, JSONResponse({"access_token": "x", "token_type": "Bearer"})),
    "an ID token that is none": answer(TOKEN, JSONResponse({"id_token": "x.y.z"})),
    "an ID token that is no text": answer(TOKEN, JSONResponse({"id_token": 7})),
    "tokens as a list": answer(TOKEN, JSONResponse([1])),
    "tokens as a page": answer(TOKEN, PlainTextResponse("<html>")),
    "the code refused": answer(TOKEN, JSONResponse({"error": "invalid_grant"}, 400)),
    "tokens elsewhere": answer(TOKEN, RedirectResponse("http://127.0.0.1:1/token", 307)),
    "no tokens just now": answer(TOKEN, PlainTextResponse("down", 503)),
}
WRONG_PROVIDERS: dict[str, tuple[Mischief, int]] = {
    "keys as a page": (answer(KEYS, PlainTextResponse("<html>")), 503),
    "keys that are none": (answer(KEYS, JSONResponse({"keys": [{"kty": "RSA"}]})), 401),
    "keys as a list": (answer(KEYS, JSONResponse([])), 401),
    "keys not there": (answer(KEYS, PlainTextResponse("down", 503)), 503),
    "discovery as a page": (answer(DISCOVERY, PlainTextResponse("<html>")), 503),
    "discovery as a list": (answer(DISCOVERY, JSONResponse([])), 503),
    "discovery not there": (answer(DISCOVERY, PlainTextResponse("no", 404)), 503),
    "discovery of another issuer": (metadata(issuer="http://127.0.0.1:1"), 503),
    "nowhere to go": (metadata(authorization_endpoint=None), 503),
    "nowhere to get tokens": (metadata(token_endpoint=None), 503),
    "nowhere to get keys": (metadata(jwks_uri=None), 503),
}


async def test_wrong_tokens_sign_nobody_in(
    handraise: Service, browser: httpx.AsyncClient, provider: FakeOpenIdProvider
) -> None:
    """Each is 401 that says what to do, without a session; what is right still works afterwards."""
    right = {name: getattr(provider, name) for name in ("alg", "key", "email")}
    for wrong, mischief in WRONG_TOKENS.items():
        mischief(provider)
        ended = await sign_in(browser)
        assert ended.status_code == 401, (wrong, ended.text)
        assert provider.issuer not in problem(ended, 401)["detail"]
        assert "handraise_session" not in browser.cookies
        assert await nobody_came_in(handraise, browser), wrong
        for changed in (provider.claims, provider.answers):
            changed.clear()
        for name, value in right.items():
            setattr(provider, name, value)
    assert (await sign_in(browser)).status_code == 200
    assert (await browser.get("/api/session")).json()["user"] == "alice"


@pytest.mark.parametrize("wrong", WRONG_PROVIDERS)
async def test_a_provider_that_is_wrong_signs_nobody_in(
    handraise: Service, browser: httpx.AsyncClient, provider: FakeOpenIdProvider, wrong: str
) -> None:
    """A problem that says what to do, no session and no cookie of one; once it is right, it works."""
    mischief, status = WRONG_PROVIDERS[wrong]
    mischief(provider)
    ended = await sign_in(browser)
    assert provider.issuer not in problem(ended, status)["detail"]
    assert await nobody_came_in(handraise, browser)
    if status == 503:
        assert int(ended.headers["retry-after"]) >= 1
    for changed in (provider.metadata, provider.answers):
        changed.clear()
    assert (await sign_in(browser)).status_code == 200
    assert (await browser.get("/api/session")).json()["user"] == "alice"


async def test_a_provider_that_is_not_there(database: str, tmp_path: Path) -> None:
    """The server starts all the same; the other ways in work, and this one says what is wrong."""
    provider = FakeOpenIdProvider(CALLBACK)
    provider.issuer = "http://127.0.0.1:1"
    async with service(database, tmp_path / "data", **settings(provider)) as made, a_browser(made) as browser:
        told = problem(await sign_in(browser), 503, "Unavailable")
        assert told["detail"] == "the identity provider cannot be reached just now"
        link = (await made.admin.post("/api/users/admin/link")).json()["url"].partition("#")[2]
        assert (await browser.post("/api/session/link", json={"token": link})).status_code == 201


async def test_who_is_refused_there_is_told(
    handraise: Service, browser: httpx.AsyncClient, provider: FakeOpenIdProvider
) -> None:
    """`access_denied` and the like: 401, in our words, not the provider's."""
    provider.refuses = "access_denied"
    told = problem(await sign_in(browser), 401)
    assert told["detail"] == "Example Ltd did not sign you in"
    assert await nobody_came_in(handraise, browser)


async def test_whoever_left_cannot_come_in_this_way_either(
    handraise: Service, browser: httpx.AsyncClient, provider: FakeOpenIdProvider
) -> None:
    """Inactive, or removed with the same address."""
    assert (await handraise.admin.patch("/api/users/alice", json={"active": False})).status_code == 200
    problem(await sign_in(browser), 401)
    assert (await handraise.admin.delete("/api/users/alice")).status_code == 200
    problem(await sign_in(browser), 401)
    assert await nobody_came_in(handraise, browser)


# -- coming back with what is not one's own


async def test_coming_back_in_another_browser_signs_nobody_in(handraise: Service, browser: httpx.AsyncClient) -> None:
    """An address that somebody else began with is worth nothing: without a cookie, with one's own, for either."""
    async with a_browser(handraise) as another:
        address = await until_callback(browser)
        problem(await another.get(address), 401)
        await until_callback(another)
        problem(await another.get(address), 401)
        assert await nobody_came_in(handraise, another)
    # For whom it was meant, it works still: nothing was used up.
    assert (await browser.get(address)).status_code == 200
    assert (await browser.get("/api/session")).json()["user"] == "alice"


async def test_coming_back_twice_signs_in_once(
    handraise: Service, browser: httpx.AsyncClient, provider: FakeOpenIdProvider
) -> None:
    """The cookie is gone after the first time; with a copy of it, the provider refuses its code."""
    address = await until_callback(browser)
    kept = browser.cookies[STATE_COOKIE]
    assert (await browser.get(address)).status_code == 200
    problem(await browser.get(address), 401)
    async with a_browser(handraise) as thief:
        thief.headers["Cookie"] = f"{STATE_COOKIE}={kept}"
        problem(await thief.get(address), 401)
        assert "handraise_session" not in thief.cookies
    assert (await browser.get("/api/session")).status_code == 200


async def test_tampered_with_on_the_way(handraise: Service, browser: httpx.AsyncClient) -> None:
    """A changed state, code or cookie is 401, never a failure of the server's."""
    address = await until_callback(browser)
    given = parse_qs(urlsplit(address).query)
    code, state, kept = given["code"][0], given["state"][0], browser.cookies[STATE_COOKIE]
    for query in (
        {"code": code},
        {"code": code, "state": ""},
        {"code": code, "state": f"{state}x"},
        {"code": code, "state": "é\0"},
        {"state": state},
        {"code": "another", "state": state},
        {},
    ):
        problem(await browser.get("/api/oidc/callback", params=query), 401)
    async with a_browser(handraise) as another:
        other = "B" if kept[40] == "A" else "A"
        for cookie in (kept[:-4], f"A{kept[1:]}", f"{kept[:40]}{other}{kept[41:]}", "", "x", "é", "=" * 5000):
            another.headers["Cookie"] = f"{STATE_COOKIE}={cookie}".encode().decode("latin-1")
            problem(await another.get(address), 401)
    assert await nobody_came_in(handraise, browser)


async def test_nobody_is_sent_anywhere_else(handraise: Service, browser: httpx.AsyncClient) -> None:
    """Whatever an address asks for, one comes back to this server's first page, and goes to no other provider."""
    elsewhere = "https://evil.example/"
    names = ("next", "redirect", "redirect_uri", "return_to", "url", "continue", "iss")
    started = await browser.get(
        "/api/oidc/start",
        params=dict.fromkeys(names, elsewhere),
        headers={"Referer": elsewhere},
        follow_redirects=False,
    )
    assert "evil" not in started.headers["location"]
    there = await browser.get(started.headers["location"], follow_redirects=False)
    come_back = await browser.get(
        f"{there.headers['location']}&next={elsewhere}&url={elsewhere}", follow_redirects=False
    )
    assert (come_back.status_code, come_back.headers["location"]) == (302, "/")


async def test_nothing_secret_is_logged(database: str, tmp_path: Path) -> None:
    """Not at level debug either: no code, state, nonce, verifier, token, client secret, or address."""
    provider = FakeOpenIdProvider("")
    async with served(cast("App", provider)) as url:
        provider.issuer = url
        own = {name: value for name, value in settings(provider).items() if name != "public_url"}
        server = ServerProcess(tmp_path / "data", database, **own)
        provider.redirect_uri = f"{server.url}/api/oidc/callback"
        await asyncio.to_thread(server.start)
        try:
            admin = {"Authorization": f"Bearer {server.admin_key}"}
            async with httpx.AsyncClient(base_url=server.url, follow_redirects=True, trust_env=False) as browser:
                changed = await browser.patch("/api/users/admin", json={"email": provider.email}, headers=admin)
                assert changed.status_code == 200
                assert (await sign_in(browser)).status_code == 200
                assert (await browser.get("/api/session")).json()["user"] == "admin"
                kept = [browser.cookies["handraise_session"]]
                provider.claims["nonce"] = "another"
                assert (await sign_in(browser)).status_code == 401
                provider.refuses = "access_denied"
                assert (await sign_in(browser)).status_code == 401
        finally:
            await asyncio.to_thread(server.stop)
    assert len(provider.sent) == 2 * 6 + 2
    for secret in (*provider.sent, *kept, CLIENT_SECRET, str(provider.email)):
        assert secret not in server.log
    assert "sign-in failed" in server.log
    assert "access_denied" in server.log
