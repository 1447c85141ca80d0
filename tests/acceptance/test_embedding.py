"""Pages inside other applications' pages: a token opens a short session, which counts in frames only, for little."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, Response
from pydantic import ValidationError

from domain.callers import Caller, Role
from interfaces.http.callers import EMBEDDED_OPERATIONS, Credential, authenticated_route
from interfaces.settings import Settings
from interfaces.web.embedding import frame_ancestors
from tests.acceptance.test_conventions import fields, post, problem
from tests.acceptance.test_sign_in import START, adopt, cookie_of, events, everything, head, link_for, signed_in
from tests.support.read_models import StoppedClock, settled
from tests.support.service import Service, service
from tests.support.sse import opened, served, stream

ORIGINS = "https://app.example.com, http://localhost:3000"


@pytest.fixture
async def handraise(database: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service whose pages two applications may embed, with two people."""
    async with service(database, tmp_path / "data", embed_origins=ORIGINS) as made:
        for person in ("alice", "bob"):
            await made.person(person)
        yield made


async def token_for(handraise: Service, user: str = "alice", **more: Any) -> str:
    """A new token, as another application gets it."""
    made = await make(handraise.admin, user=user, **more)
    assert made.status_code == 201, made.text
    return made.json()["token"]


async def make(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await client.post("/api/embed/tokens", json=body)


async def exchange(client: httpx.AsyncClient, token: str) -> httpx.Response:
    return await post(client, "/api/session/embed", token=token)


async def frame(handraise: Service, user: str = "alice", **more: Any) -> httpx.AsyncClient:
    """A page in a frame, that has exchanged its token and says where it is, as ours does."""
    client = await handraise.client(None)
    client.headers["X-Handraise-Embed"] = "1"
    adopt(client, await exchange(client, await token_for(handraise, user, **more)))
    return client


async def who(client: httpx.AsyncClient, **options: Any) -> str | int:
    """Whose session counts, or the status that says none."""
    shown = await client.get("/api/session", **options)
    return shown.json()["user"] if shown.status_code == 200 else shown.status_code


# -- tokens


async def test_a_token_opens_one_session(handraise: Service) -> None:
    """Shown once with the address that a frame loads; exchanged, it is used up."""
    made = await make(handraise.admin, user="alice")
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    token = made.json()["token"]
    assert made.json() == {
        "token": token,
        "url": f"{handraise.settings.url}/embed/inbox#{token}",
        "expires_at": made.json()["expires_at"],
        "position": await head(handraise),
    }
    page = await handraise.client(None)
    entered = await exchange(page, token)
    assert (entered.status_code, entered.headers["cache-control"]) == (201, "no-store")
    session = entered.json()
    assert session.keys() == {"user", "csrf_token", "expires_at", "position"}
    assert (session["user"], session["position"]) == ("alice", await head(handraise))
    shown = await page.get("/api/session", headers={"X-Handraise-Embed": "1"})
    assert shown.json() == {name: session[name] for name in ("user", "csrf_token", "expires_at")}

    again = await exchange(await handraise.client(None), token)
    problem(again, 401, "Not signed in")
    assert "set-cookie" not in again.headers
    for unknown in ("", "x" * 200, "é\n"):
        problem(await exchange(handraise.nobody, unknown), 401, "Not signed in")
    assert fields(await exchange(handraise.nobody, "x" * 201)) == ["token"]


async def test_a_token_used_by_many_at_once_opens_one_session(handraise: Service, database: str) -> None:
    """On two replicas, however close together."""
    async with service(database, handraise.settings.data_dir, embed_origins=ORIGINS) as other:
        token = await token_for(handraise)
        pages = [await replica.client(None) for replica in (handraise, other) for _ in range(3)]
        used = await asyncio.gather(*(exchange(page, token) for page in pages))
        assert sorted(response.status_code for response in used) == [201] + [401] * 5
    assert len(await events(handraise, "Opened")) == 1


async def test_the_address_is_that_of_the_page_asked_for(handraise: Service) -> None:
    """The inbox or one request, by its UUID; nothing else, so that nobody is sent elsewhere."""
    asked = await handraise.ask()
    for path in ("/inbox", f"/requests/{asked['id']}"):
        made = (await make(handraise.admin, user="alice", path=path)).json()
        assert made["url"] == f"{handraise.settings.url}/embed{path}#{made['token']}"
    for wrong in (
        "", "/", "inbox", "/inbox/", "/inbox/../settings", "/settings", "/requests/", "/requests/deploy",
        "//evil.example", f"/requests/{asked['id']}/x", f"/requests/{asked['id']}\n", "/inbox#x", "/inbox?x", None, 1,
    ):  # fmt: skip
        assert fields(await make(handraise.admin, user="alice", path=wrong)) == ["path"], wrong
    for wrong in (59, 3601, 0, -1, "900", 900.5, None, 10**30):
        assert fields(await make(handraise.admin, user="alice", seconds=wrong)) == ["seconds"]
    assert fields(await make(handraise.admin)) == ["user"]


async def test_who_may_make_one(handraise: Service) -> None:
    """Administrators for everybody who is there, people for themselves, by key or in a session; agents never."""
    auditor = await handraise.person("auditor", Role.AUDITOR)
    carol = await handraise.person("carol")
    browser = await signed_in(handraise, "carol")
    chief = await signed_in(handraise, "admin")
    for client, user in (
        (handraise.admin, "bob"),
        (handraise.admin, "admin"),
        (chief, "bob"),
        (carol, "carol"),
        (browser, "carol"),
        (auditor, "auditor"),
    ):
        made = await make(client, user=user)
        assert (await exchange(await handraise.client(None), made.json()["token"])).json()["user"] == user
    before = await head(handraise)
    for client in (carol, browser, auditor):
        for user in ("alice", "admin", "nobody", "", "\0"):
            problem(await make(client, user=user), 403)
    problem(await make(handraise.agent, user="alice"), 403)
    problem(await make(handraise.nobody, user="alice"), 401)
    assert (await handraise.admin.patch("/api/users/bob", json={"active": False})).status_code == 200
    for user in ("bob", "nobody", "", "\0", "default"):
        assert fields(await make(handraise.admin, user=user)) == ["user"], user
    assert await head(handraise) == before + 1


async def test_a_token_of_somebody_who_has_left_does_not_work(handraise: Service) -> None:
    """Set inactive or removed after it was made."""
    for user, leave in (("alice", "PATCH"), ("bob", "DELETE")):
        token = await token_for(handraise, user)
        left = await handraise.admin.request(leave, f"/api/users/{user}", json={"active": False})
        assert left.status_code == 200, left.text
        problem(await exchange(handraise.nobody, token), 401, "Not signed in")


async def test_links_and_tokens_are_two_things(handraise: Service) -> None:
    """Neither works as the other, and trying it uses neither up."""
    token, link = await token_for(handraise), await link_for(handraise, "alice")
    problem(await post(handraise.nobody, "/api/session/link", token=token), 401)
    problem(await exchange(handraise.nobody, link), 401)
    assert (await exchange(await handraise.client(None), token)).status_code == 201
    assert (await post(await handraise.client(None), "/api/session/link", token=link)).status_code == 201


async def test_tokens_and_sessions_end_at_their_instants(database: str, tmp_path: Path) -> None:
    """Five minutes to load the page, then as many seconds as were asked for, by the database's clock."""
    clock = StoppedClock(START)
    async with service(database, tmp_path / "data", clock=clock, embed_origins=ORIGINS) as stopped:
        made = await make(stopped.admin, user="admin", seconds=60)
        assert made.json()["expires_at"] == f"{START + timedelta(minutes=5):%Y-%m-%dT%H:%M:%S}.000Z"
        late = await token_for(stopped, "admin")
        clock.at = opened_at = START + timedelta(minutes=5, seconds=-1)
        entered = await exchange(stopped.nobody, made.json()["token"])
        assert entered.json()["expires_at"] == f"{opened_at + timedelta(seconds=60):%Y-%m-%dT%H:%M:%S}.000Z"
        clock.at = START + timedelta(minutes=5)
        problem(await exchange(stopped.nobody, late), 401, "Not signed in")
        value, _ = cookie_of(entered, "handraise_embed")
        sent = {"Cookie": f"handraise_embed={value}", "X-Handraise-Embed": "1"}
        clock.at = opened_at + timedelta(seconds=59)
        assert await who(stopped.nobody, headers=sent) == "admin"
        clock.at = opened_at + timedelta(seconds=60)
        assert await who(stopped.nobody, headers=sent) == 401


async def test_nothing_is_embedded_unless_it_is_set(database: str, tmp_path: Path) -> None:
    """Without HANDRAISE_EMBED_ORIGINS no token is made, and one that was made before does not work."""
    async with service(database, tmp_path / "data", embed_origins=ORIGINS) as before:
        token = await token_for(before, "admin")
    async with service(database, tmp_path / "data") as handraise:
        refused = problem(await make(handraise.admin, user="admin"), 403)
        assert "HANDRAISE_EMBED_ORIGINS" in refused["detail"]
        problem(await exchange(handraise.nobody, token), 401)


async def test_a_token_is_kept_as_its_hash_and_the_trail_tells_of_it(handraise: Service) -> None:
    """Made by whom and for whom, used, and the session that it opened: never with a token."""
    before = await head(handraise)
    token = await token_for(handraise, seconds=120)
    page = await handraise.client(None)
    entered = await exchange(page, token)
    trail = await events(handraise, "Made", "Used", "Opened")
    told = [(event["type"], event["of"], event["actor"]) for event in trail if event["position"] > before]
    assert told[0] == ("Made", "EmbedToken", "admin")
    assert sorted(told[1:]) == [("Opened", "Session", "alice"), ("Used", "EmbedToken", "alice")]
    assert [event["facts"]["how"] for event in trail if event["type"] == "Opened"] == ["embed"]
    assert [event["facts"]["session_seconds"] for event in trail if event["type"] == "Made"] == [120]
    await settled(handraise)
    for secret in (token, page.cookies["handraise_embed"], entered.json()["csrf_token"]):
        for place, text in (await everything(handraise.app.conninfo)).items():
            assert secret not in text, place


# -- the cookie


async def test_the_cookie_is_one_of_its_own(handraise: Service, database: str) -> None:
    """For frames in other sites where it is reached by TLS, kept apart for each of them; else for this site only."""
    value, attributes = cookie_of(await exchange(handraise.nobody, await token_for(handraise)), "handraise_embed")
    assert len(value) >= 43
    assert attributes.keys() == {"expires", "httponly", "path", "samesite"}
    assert (attributes["path"], attributes["samesite"]) == ("/", "Lax")
    url = "https://handraise.test"
    async with service(database, handraise.settings.data_dir, public_url=url, embed_origins=ORIGINS) as behind_tls:
        made = (await make(behind_tls.admin, user="alice", seconds=600)).json()
        assert made["url"].startswith("https://handraise.test/embed/inbox#")
        entered = await exchange(behind_tls.nobody, made["token"])
        value, attributes = cookie_of(entered, "handraise_embed")
        assert attributes.keys() == {"expires", "httponly", "path", "samesite", "secure", "partitioned"}
        assert (attributes["path"], attributes["samesite"]) == ("/", "None")
        until = datetime.strptime(attributes["expires"], "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
        assert abs(until - datetime.fromisoformat(entered.json()["expires_at"])) < timedelta(seconds=2)
        sent = {"X-Handraise-Embed": "1", "X-CSRF-Token": entered.json()["csrf_token"]}
        sent["Cookie"] = f"handraise_embed={value}"
        left = await behind_tls.nobody.delete("/api/session", headers=sent)
        nothing, dropped = cookie_of(left, "handraise_embed")
        assert (nothing, dropped["max-age"]) == ("", "0")
        assert dropped.keys() == attributes.keys() | {"max-age"}  # or the browser keeps the one that it has


async def test_it_counts_for_embedded_pages_and_only_for_those(handraise: Service) -> None:
    """A browser has both: a request that says where it comes from is the frame's, every other one the person's own."""
    browser = await signed_in(handraise, "admin")
    own_token = browser.headers["X-CSRF-Token"]
    assert (await exchange(browser, await token_for(handraise, "alice"))).status_code == 201
    assert browser.cookies.keys() == {"handraise_session", "handraise_embed"}
    for headers in ({}, {"X-Handraise-Embed": "0"}, {"X-Handraise-Embed": ""}, {"X-Handraise-Embed": "true"}):
        assert await who(browser, headers=headers) == "admin"
    assert await who(browser, params={"embed": "1"}) == "admin"  # that is for the stream alone
    assert await who(browser, headers={"X-Handraise-Embed": "1"}) == "alice"
    # What the page of one knows does not help the other.
    crossed = {"X-Handraise-Embed": "1", "X-CSRF-Token": own_token}
    problem(await browser.delete("/api/session", headers=crossed), 403)
    # A key was put there on purpose.
    key = {"Authorization": handraise.agent.headers["Authorization"], "X-Handraise-Embed": "1"}
    assert (await browser.post("/api/requests", json={"message": "May I?"}, headers=key)).status_code == 201
    del browser.cookies["handraise_embed"]
    assert await who(browser) == "admin"
    assert await who(browser, headers={"X-Handraise-Embed": "1"}) == 401


async def test_neither_session_works_as_the_other(handraise: Service) -> None:
    """Moved into the other's cookie, or shown as a key, a token is none: an embedded page gets no more than it may."""
    page, browser = await frame(handraise, "admin"), await signed_in(handraise, "admin")
    embedded, own = page.cookies["handraise_embed"], browser.cookies["handraise_session"]
    nobody = handraise.nobody
    assert await who(nobody, headers={"Cookie": f"handraise_session={embedded}"}) == 401
    assert await who(nobody, headers={"Cookie": f"handraise_embed={embedded}"}) == 401
    assert await who(nobody, headers={"Cookie": f"handraise_embed={own}", "X-Handraise-Embed": "1"}) == 401
    assert await who(nobody, headers={"Authorization": f"Bearer {embedded}"}) == 401
    assert await who(nobody, headers={"Cookie": f"handraise_embed={embedded}", "X-Handraise-Embed": "1"}) == "admin"


async def test_signing_in_leaves_the_other_session_alone(handraise: Service) -> None:
    """A frame never replaces the person's own session, nor the other way round; each replaces its like."""
    browser = await signed_in(handraise, "admin")
    first, own = await token_for(handraise, "alice"), browser.cookies["handraise_session"]
    for headers in ({}, {"X-Handraise-Embed": "1"}):
        browser.headers.update(headers)
        await exchange(browser, first if not headers else await token_for(handraise, "bob"))
    assert browser.cookies["handraise_session"] == own
    assert await who(browser) == "bob"
    assert len(await events(handraise, "Closed")) == 1  # alice's, whose cookie bob's took the place of
    await post(browser, "/api/session/link", token=await link_for(handraise, "admin"))
    assert await who(browser) == "bob"
    browser.headers["X-Handraise-Embed"] = "0"
    assert await who(browser) == "admin"
    assert browser.cookies["handraise_session"] != own
    assert len(await events(handraise, "Closed")) == 2


# -- what it may do

MAY = {
    "GET /api/session", "DELETE /api/session", "GET /api/me", "GET /api/users", "GET /api/inbox",
    "GET /api/inbox/counts", "GET /api/stream", "GET /api/requests", "GET /api/requests/{id}",
    "GET /api/requests/{id}/wait", "GET /api/requests/{id}/history", "POST /api/requests/{id}/respond",
    "POST /api/requests/{id}/claim", "POST /api/requests/{id}/release", "POST /api/requests/{id}/delegate",
    "POST /api/requests/{id}/snooze", "DELETE /api/requests/{id}/snooze", "POST /api/requests/{id}/cancel",
}  # fmt: skip
PUBLIC = {"GET /api/sign-in", "POST /api/session", "POST /api/session/link", "POST /api/session/embed"}


async def test_everything_else_is_refused(handraise: Service) -> None:
    """An administrator's embedded page gets 403 from every call but these, with a right token and before any body."""
    assert EMBEDDED_OPERATIONS == MAY
    page = await frame(handraise, "admin")
    paths = (await handraise.nobody.get("/openapi.json")).json()["paths"]
    operations = {f"{method.upper()} {path}" for path, item in paths.items() for method in item}
    assert operations >= MAY | PUBLIC
    before = await head(handraise)
    for operation in sorted(operations - MAY - PUBLIC):
        method, path = operation.split()
        if path.startswith("/api/"):
            refused = problem(await page.request(method, path.replace("{id}", "admin"), json={}), 403)
            assert refused["detail"] == "an embedded page may read and answer requests, and nothing else", operation
    assert await head(handraise) == before


async def test_what_a_person_does_with_requests_works(handraise: Service) -> None:
    """Reading, claiming, releasing, snoozing, delegating, answering, withdrawing; it came by the web."""
    await handraise.app.directory.add("list", {"name": "Crew", "members": ["alice"]}, by=None, id="crew")
    page = await frame(handraise)
    shared = await handraise.ask(assignment_strategy={"type": "SharedInbox", "listID": "crew"})
    path = f"/api/requests/{shared['id']}"
    for method, call, body in (
        ("POST", "/claim", None),
        ("POST", "/release", None),
        ("POST", "/claim", {"note": "mine"}),
        ("POST", "/snooze", {"seconds": 60}),
        ("DELETE", "/snooze", None),
        ("POST", "/respond", {"text": "yes"}),
    ):
        done = await page.request(method, f"{path}{call}", json=body)
        assert done.status_code == 200, (call, done.text)
    response = (await page.get(f"{path}/wait")).json()["response"]
    assert (response["by"], response["via"], response["text"]) == ("alice", "web", "yes")
    asked = [await handraise.ask(run_user="alice") for _ in range(3)]
    delegated = await post(page, f"/api/requests/{asked[0]['id']}/delegate", to="bob")
    assert delegated.status_code == 200, delegated.text
    cancelled = await post(page, f"/api/requests/{asked[1]['id']}/cancel", reason="not needed")
    assert cancelled.status_code == 200, cancelled.text
    await settled(handraise)
    assert [item["id"] for item in (await page.get("/api/inbox")).json()["items"]] == [asked[2]["id"]]
    assert (await page.get("/api/inbox/counts")).json()["mine"] == 1
    assert len((await page.get("/api/requests")).json()["items"]) == 4
    assert (await page.get(f"{path}/history")).status_code == 200
    assert (await page.get("/api/me")).json()["id"] == "alice"
    assert "bob" in [user["id"] for user in (await page.get("/api/users")).json()["items"]]


async def test_it_may_no_more_than_its_person(handraise: Service) -> None:
    """Another's request is another's."""
    page = await frame(handraise)
    asked = await handraise.ask(run_user="bob")
    problem(await page.get(f"/api/requests/{asked['id']}"), 403)
    problem(await post(page, f"/api/requests/{asked['id']}/respond", text="yes"), 403)
    auditor = await handraise.person("auditor", Role.AUDITOR)
    assert auditor
    problem(await post(await frame(handraise, "auditor"), f"/api/requests/{asked['id']}/respond", text="yes"), 403)


async def test_a_new_call_is_refused_until_it_is_allowed(handraise: Service) -> None:
    """Whoever adds one needs to do nothing for that."""

    async def authenticate(credential: Credential) -> Caller | None:
        return await handraise.app.sign_in.authenticate(credential.secret, embedded=credential.embedded)

    router = APIRouter(prefix="/api", route_class=authenticated_route(authenticate))

    @router.get("/inbox/new")
    @router.post("/requests/{id}/new")
    async def new() -> dict[str, bool]:
        return {"done": True}

    handraise.app.api.include_router(router)
    page, browser = await frame(handraise), await signed_in(handraise, "alice")
    for method, path in (("GET", "/api/inbox/new"), ("POST", "/api/requests/x/new")):
        assert (await browser.request(method, path)).json() == {"done": True}
        problem(await page.request(method, path), 403)


async def test_what_changes_something_needs_the_sessions_own_token(handraise: Service) -> None:
    """As in every session: without it, with another's, or from a page of another site, nothing is changed."""
    page = await frame(handraise)
    another = (await frame(handraise)).headers["X-CSRF-Token"]
    asked = await handraise.ask(run_user="alice")
    right = page.headers.pop("X-CSRF-Token")
    before = await head(handraise)
    path = f"/api/requests/{asked['id']}/respond"
    for headers in (
        {},
        {"X-CSRF-Token": another},
        {"X-CSRF-Token": right, "Sec-Fetch-Site": "cross-site"},
        {"X-CSRF-Token": right, "Sec-Fetch-Site": "same-site"},
    ):
        problem(await page.post(path, json={"text": "yes"}, headers=headers), 403)
    problem(await exchange_from_elsewhere(handraise), 403)
    assert await head(handraise) == before + 1  # the token that was made
    answered = await page.post(path, json={"text": "yes"}, headers={"X-CSRF-Token": right})
    assert answered.status_code == 200, answered.text


async def exchange_from_elsewhere(handraise: Service) -> httpx.Response:
    """A page of another site tries to sign our page in as somebody of its choice."""
    token = await token_for(handraise, "bob")
    return await handraise.nobody.post(
        "/api/session/embed", json={"token": token}, headers={"Sec-Fetch-Site": "cross-site"}
    )


# -- its end


@pytest.mark.parametrize("ends", ["sign out", "everywhere", "deactivated", "removed", "a new token"])
async def test_it_ends_like_any_session(handraise: Service, ends: str) -> None:
    """Signed out in the frame or everywhere, its person gone, or a new one in its place: calls and stream end."""
    browser, page = await signed_in(handraise, "alice"), await frame(handraise)
    value = page.cookies["handraise_embed"]
    cookie = {"Cookie": f"handraise_embed={value}"}
    after = f"{await head(handraise)}&embed=1"
    async with served(handraise.app) as url, opened(url, None, after=after, headers=cookie) as live:
        asked = await handraise.ask(run_user="alice")
        assert (await live.event()).data["request_id"] == asked["id"]
        if ends == "sign out":
            left = await page.delete("/api/session")
            assert cookie_of(left, "handraise_embed")[1]["max-age"] == "0"
        elif ends == "everywhere":
            assert (await browser.delete("/api/sessions")).status_code == 200
        elif ends == "deactivated":
            assert (await handraise.admin.patch("/api/users/alice", json={"active": False})).status_code == 200
        elif ends == "removed":
            assert (await handraise.admin.delete("/api/users/alice")).status_code == 200
        else:
            assert (await exchange(page, await token_for(handraise))).status_code == 201
        await live.end()
    assert await who(handraise.nobody, headers=cookie | {"X-Handraise-Embed": "1"}) == 401
    assert await who(browser) == ("alice" if ends in ("sign out", "a new token") else 401)


async def test_the_stream_needs_its_parameter(handraise: Service) -> None:
    """The embedded session counts with it, the person's own without it."""
    page = await frame(handraise)
    cookie = {"Cookie": f"handraise_embed={page.cookies['handraise_embed']}"}
    async with served(handraise.app) as url:
        for after, status in (("0&embed=1", 200), ("0", 401), ("0&embed=0", 401), ("0&embed=", 401)):
            async with stream(url, None, after=after, headers=cookie) as live:
                assert live.status == status, after


# -- frames


async def test_only_a_page_that_says_who_may_frame_it_can_be_framed(handraise: Service) -> None:
    """Its own policy decides; nothing else forbids what that allows, and nothing is allowed without it."""
    framed = {
        "frame-ancestors https://app.example.com": True,
        "default-src 'none'; Frame-Ancestors  https://app.example.com http://localhost:3000 ;base-uri 'none'": True,
        "frame-ancestors 'none'": False,
        "frame-ancestors 'NONE'": False,
        "frame-ancestors": False,
        "default-src 'none'": False,
        "default-src frame-ancestors": False,
    }
    policies = list(framed)

    async def show(number: int) -> Response:
        return Response("a page", media_type="text/html", headers={"Content-Security-Policy": policies[number]})

    handraise.app.api.add_api_route("/framed/{number}", show, include_in_schema=False)
    for number, policy in enumerate(policies):
        shown = await handraise.nobody.get(f"/framed/{number}")
        assert shown.headers["content-security-policy"] == policy
        assert shown.headers.get("x-frame-options") == (None if framed[policy] else "DENY"), policy
        resource = "cross-origin" if framed[policy] else "same-origin"
        assert shown.headers["cross-origin-resource-policy"] == resource
        assert shown.headers["x-content-type-options"] == "nosniff"


def test_who_may_frame_is_written_as_a_policy_says_it() -> None:
    """The origins, or nobody."""
    assert frame_ancestors(()) == "'none'"
    assert frame_ancestors(Settings(embed_origins=ORIGINS).embed_origin_list) == (
        "https://app.example.com http://localhost:3000"
    )
    assert frame_ancestors(Settings(embed_origins=" , ").embed_origin_list) == "'none'"


@pytest.mark.parametrize(
    "origin",
    ["https://app.example.com", "https://app.example.com:8443", "https://localhost", "http://localhost",
     "http://localhost:3000", "http://127.0.0.1:3000", "https://10.0.0.7", "https://xn--bcher-kva.example", "https://a"],
)  # fmt: skip
def test_exact_origins_are_taken(origin: str) -> None:
    """Scheme, host, and a port where there is one."""
    assert Settings(embed_origins=origin).embed_origin_list == (origin,)


@pytest.mark.parametrize(
    "origin",
    ["*", "https://*", "https://*.example.com", "app.example.com", "http://app.example.com", "http://127.example.com",
     "http://localhost.example.com", "https://app.example.com/", "https://app.example.com/app", "https://",
     "https://app.example.com:", "https://app.example.com:0", "https://app.example.com:65536", "https://a@b.example",
     "https://app.example.com?x", "https://app.example.com#x", "ftp://app.example.com", "null", "'self'", "https:",
     "https://app.example.com;", "https://app.example.com 'self'", "https://APP.example.com", "https://bücher.example",
     "https://-a.example", "https://a..b", "https://[::1]", "https://a\n"],
)  # fmt: skip
def test_what_is_no_exact_origin_is_refused(origin: str) -> None:
    """No wildcard, path, name or word of a policy, and http for this machine only."""
    if origin == "https://a\n":  # white space around an origin is none of it
        assert Settings(embed_origins=origin).embed_origin_list == ("https://a",)
        return
    with pytest.raises(ValidationError, match="is not an origin to embed in"):
        Settings(embed_origins=f"https://fine.example,{origin}")
