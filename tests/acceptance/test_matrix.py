"""Every operation of the served OpenAPI, called as it should be by every kind of caller: who is let in, literally."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import httpx
import pytest
import pytest_asyncio

from domain.callers import Role
from tests.support.postgres import TestServer
from tests.support.push_service import Browser
from tests.support.read_models import rows
from tests.support.service import Service, service

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALLERS = (
    "administrator",
    "auditor",
    "assignee",
    "list member",
    "claimant",
    "run user",
    "owner of the agent",
    "other person",
    "the agent",
    "another agent",
    "key of the run user",
    "key of another run user",
    "nobody",
    "expired key",
    "revoked key",
    "key of a deactivated user",
    "key of a removed agent",
    "session",
    "session without token",
)
AGENTS = CALLERS[8:12]
UNKNOWN = CALLERS[12:17]
"""Their credential is none."""

# The place is where the request stands that the call is about: asked of the assignee, put into the list's inbox,
# claimed there by the claimant, snoozed or answered by the assignee; sealed and answered; and collected besides.
# The sessions are administrators'.
TABLE = """
                                      place     admin audit asked membr claim runnr owner other agent agnt2 key   key2  nobdy expir revok deact remov sessn nocsrf
POST /api/requests/bulk               assigned  200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
POST /api/requests/{id}/claim         shared    200   403   403   200   200   403   403   403   403   404   403   404   401   401   401   401   401   200   403
POST /api/requests/{id}/release       claimed   200   403   403   403   200   403   403   403   403   404   403   404   401   401   401   401   401   200   403
POST /api/requests/{id}/delegate      assigned  200   403   200   403   403   403   403   403   403   404   403   404   401   401   401   401   401   200   403
POST /api/requests/{id}/snooze        assigned  200   403   200   403   403   403   403   403   403   404   403   404   401   401   401   401   401   200   403
DELETE /api/requests/{id}/snooze      snoozed   200   403   200   403   403   403   403   403   403   404   403   404   401   401   401   401   401   200   403
POST /api/requests/{id}/reassign      assigned  200   403   403   403   403   403   403   403   403   404   403   404   401   401   401   401   401   200   403
POST /api/routing/explain             -         200   200   403   403   403   403   403   403   200   200   200   200   401   401   401   401   401   200   403
GET /api/tools                        -         403   403   403   403   403   403   403   403   200   200   200   200   401   401   401   401   401   403   403
POST /api/tools/{name}                -         403   403   403   403   403   403   403   403   200   200   200   200   401   401   401   401   401   403   403
POST /api/requests                    -         403   403   403   403   403   403   403   403   201   201   201   201   401   401   401   401   401   403   403
GET /api/requests                     -         200   200   200   200   200   200   200   200   200   200   200   200   401   401   401   401   401   200   200
GET /api/requests/{id}                assigned  200   200   200   403   403   200   200   403   200   404   200   404   401   401   401   401   401   200   200
GET /api/requests/{id}/wait           assigned  200   200   200   403   403   200   200   403   200   404   200   404   401   401   401   401   401   200   200
GET /api/requests/{id}/history        assigned  200   200   200   403   403   200   200   403   200   404   200   404   401   401   401   401   401   200   200
POST /api/requests/{id}/respond       assigned  200   403   200   403   403   403   403   403   403   404   403   404   401   401   401   401   401   200   403
POST /api/human-feedback/submit       assigned  200   403   200   403   403   403   403   403   403   404   403   404   401   401   401   401   401   200   403
POST /api/requests/{id}/cancel        assigned  200   403   200   403   403   403   403   403   200   404   200   404   401   401   401   401   401   200   403
POST /api/requests/{id}/collect       sealed    403   403   403   403   403   403   403   403   200   404   200   404   401   401   401   401   401   403   403
POST /api/requests/{id}/acknowledge   collected 403   403   403   403   403   403   403   403   200   404   200   404   401   401   401   401   401   403   403
POST /api/requests/{id}/erase         answered  200   403   403   403   403   403   403   403   403   404   403   404   401   401   401   401   401   200   403
GET /api/users                        -         200   200   200   200   200   200   200   200   403   403   403   403   401   401   401   401   401   200   200
POST /api/users                       -         201   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   201   403
PATCH /api/users/{id}                 -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
DELETE /api/users/{id}                -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
GET /api/lists                        -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
POST /api/lists                       -         201   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   201   403
PATCH /api/lists/{id}                 -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
DELETE /api/lists/{id}                -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
GET /api/agents                       -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
POST /api/agents                      -         201   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   201   403
PATCH /api/agents/{id}                -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
DELETE /api/agents/{id}               -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
GET /api/webhooks                     -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
GET /api/agents/{id}/webhook          -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
PUT /api/agents/{id}/webhook          -         201   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   201   403
DELETE /api/agents/{id}/webhook       -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
POST /api/agents/{id}/webhook/rotate  -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
POST /api/agents/{id}/webhook/test    -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
GET /api/agents/{id}/webhook/deliveries -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
POST /api/agents/{id}/webhook/deliveries/{request_id}/redeliver -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
GET /api/agent-types                  -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
POST /api/agent-types                 -         201   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   201   403
PATCH /api/agent-types/{id}           -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
DELETE /api/agent-types/{id}          -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
GET /api/categories                   -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
POST /api/categories                  -         201   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   201   403
PATCH /api/categories/{id}            -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
DELETE /api/categories/{id}           -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
GET /api/request-types                -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
POST /api/request-types               -         201   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   201   403
PATCH /api/request-types/{id}         -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
DELETE /api/request-types/{id}        -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
POST /api/users/{id}/erase            -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
GET /api/me                           -         200   200   200   200   200   200   200   200   403   403   403   403   401   401   401   401   401   200   200
PATCH /api/me                         -         200   200   200   200   200   200   200   200   403   403   403   403   401   401   401   401   401   200   403
GET /api/directory                    -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
PUT /api/directory                    -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
GET /api/keys                         -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
POST /api/keys                        -         201   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   201   403
PATCH /api/keys/{id}                  -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
DELETE /api/keys/{id}                 -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
POST /api/keys/{id}/rotate            -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
GET /api/inbox                        -         200   200   200   200   200   200   200   200   403   403   403   403   401   401   401   401   401   200   200
GET /api/inbox/counts                 -         200   200   200   200   200   200   200   200   403   403   403   403   401   401   401   401   401   200   200
GET /api/dashboard                    -         200   200   200   200   200   200   200   200   403   403   403   403   401   401   401   401   401   200   200
GET /api/audit                        -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
GET /api/audit/export                 -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
GET /api/audit/head                   -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
GET /api/audit/verification           -         200   200   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
GET /api/stream                       -         200   200   200   200   200   200   200   200   200   200   200   200   401   401   401   401   401   200   200
GET /api/sign-in                      -         200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200
GET /api/session                      -         403   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
POST /api/session                     -         201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201
DELETE /api/session                   -         403   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
POST /api/session/link                -         201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201
POST /api/session/embed               -         201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201   201
POST /api/embed/tokens                -         201   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   201   403
GET /api/oidc/start                   -         503   503   503   503   503   503   503   503   503   503   503   503   503   503   503   503   503   503   503
GET /api/oidc/callback                -         401   401   401   401   401   401   401   401   401   401   401   401   401   401   401   401   401   401   401
GET /api/push                         -         200   200   200   200   200   200   200   200   403   403   403   403   401   401   401   401   401   200   200
POST /api/push/subscriptions          -         201   201   201   201   201   201   201   201   403   403   403   403   401   401   401   401   401   201   403
DELETE /api/push/subscriptions        -         200   200   200   200   200   200   200   200   403   403   403   403   401   401   401   401   401   200   403
POST /api/push/test                   -         200   200   200   200   200   200   200   200   403   403   403   403   401   401   401   401   401   200   403
GET /api/human-feedback/slack/config  -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
GET /api/human-feedback/slack/connection -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   200
POST /api/human-feedback/slack/config -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
POST /api/human-feedback/slack/test   -         200   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   200   403
DELETE /api/sessions                  -         200   200   200   200   200   200   200   200   403   403   403   403   401   401   401   401   401   200   403
POST /api/users/{id}/link             -         201   403   403   403   403   403   403   403   403   403   403   403   401   401   401   401   401   201   403
GET /healthz                          -         200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200
GET /readyz                           -         200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200
GET /metrics                          -         200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200   200
"""  # noqa: E501

NO_PLACE = "-"


def table(text: str = TABLE) -> dict[str, tuple[str, dict[str, int]]]:
    """Of each operation the place and the status for each caller."""
    _, *lines = text.strip("\n").splitlines()
    found: dict[str, tuple[str, dict[str, int]]] = {}
    for line in lines:
        method, path, place, *cells = line.split()
        found[f"{method} {path}"] = (place, dict(zip(CALLERS, map(int, cells), strict=True)))
    assert len(found) == len(lines), "a row stands twice"
    return found


PASSWORD = "correct horse battery"
PROVIDER = "http://127.0.0.1:9"
"""Nobody listens there: a sign-in by provider can be begun by everybody, and gets no further; nor does a push."""
HOOK = f"{PROVIDER}/hook"
"""Nor is a webhook ever answered."""
RECEIPT = "a receipt of the collector"
DIRECTORY = {
    "users": ("user", {}),
    "lists": ("list", {"members": []}),
    "agents": ("agent", {}),
    "agent-types": ("agent_type", {}),
    "categories": ("category", {}),
    "request-types": ("request_type", {}),
}
BODIES: dict[str, dict[str, Any]] = {
    "POST /api/requests": {"message": "May I?"},
    "POST /api/requests/{id}/claim": {"note": "mine"},
    "POST /api/requests/{id}/release": {"note": "not mine"},
    "POST /api/requests/{id}/delegate": {"to": "successor"},
    "POST /api/requests/{id}/reassign": {"to": "successor"},
    "POST /api/requests/{id}/snooze": {"seconds": 60},
    "POST /api/requests/{id}/respond": {"text": "yes"},
    "POST /api/requests/{id}/cancel": {"reason": "not needed"},
    "POST /api/requests/{id}/collect": {"receipt": RECEIPT},
    "POST /api/requests/{id}/acknowledge": {"receipt": RECEIPT},
    "PATCH /api/keys/{id}": {"name": "Renamed"},
    "PUT /api/agents/{id}/webhook": {"url": HOOK},
    "POST /api/tools/{name}": {"message_for_user": "May I?", "expires_in_seconds": 0.05},
    "PATCH /api/me": {"time_zone": "Europe/Berlin"},
    "PUT /api/directory": {"users": [{"id": "admin", "name": "Administrator"}]},
    "POST /api/human-feedback/slack/config": {"notification_delay_seconds": 60},
    "POST /api/human-feedback/slack/test": {"channel_id": "C0123456789"},
}
"""Bodies that are the same for every call; the others name what was made for this one call."""


@dataclass
class Stage:
    """Everybody who may or may not do something, and things to do it to."""

    handraise: Service
    clients: dict[str, httpx.AsyncClient]
    _numbers: count[int] = field(default_factory=lambda: count(1))

    async def caller(self, name: str) -> httpx.AsyncClient:
        """The client of this kind of caller; a session is a new one each time, since some calls end it."""
        if not name.startswith("session"):
            return self.clients[name]
        return await self.session("chief" if name == "session" else "deputy", token=name == "session")

    async def session(self, user: str, *, token: bool = True) -> httpx.AsyncClient:
        """Somebody's browser, signed in just now; its page sends the token, unless it is not ours."""
        link = await self.handraise.app.sign_in.make_link(user, by=None)
        browser = await self.handraise.client(None)
        opened = await browser.post("/api/session/link", json={"token": link.token})
        assert opened.status_code == 201, opened.text
        if token:
            browser.headers["X-CSRF-Token"] = opened.json()["csrf_token"]
        return browser

    async def request(self, place: str) -> dict[str, Any]:
        """A fresh request that stands there."""
        strategy = {"type": "SpecificUser", "userID": "assignee"}
        if place in ("shared", "claimed"):
            strategy = {"type": "SharedInbox", "listID": "crew"}
        sealed = place in ("sealed", "collected")
        body = {"message": "May I?", "run_user": "runner", "assignment_strategy": strategy, "secret": sealed}
        made = await done(self.clients["the agent"].post("/api/requests", json=body))
        path = f"/api/requests/{made['id']}"
        if place == "claimed":
            await done(self.clients["claimant"].post(f"{path}/claim"))
        if place == "answered" or sealed:
            await done(self.clients["assignee"].post(f"{path}/respond", json={"text": "no"}))
        if place == "collected":
            await done(self.clients["the agent"].post(f"{path}/collect", json={"receipt": RECEIPT}))
        if place == "snoozed":
            await done(self.clients["assignee"].post(f"{path}/snooze", json={"seconds": 60}))
        return made

    async def closed_request_of(self, agent: str) -> str:
        """The id of a fresh request of this agent that is closed."""
        key = await self.handraise.app.keys.create(by=None, name="A key", agent=agent)
        asker = await self.handraise.client(key.key)
        made = await done(asker.post("/api/requests", json={"message": "May I?"}))
        await done(asker.post(f"/api/requests/{made['id']}/cancel", json={}))
        return made["id"]

    async def entry(self, collection: str) -> str:
        """The id of a fresh entry of the directory."""
        number = next(self._numbers)
        kind, fields = DIRECTORY[collection]
        id = f"{kind.replace('_', '-')}-{number}"
        await self.handraise.app.directory.add(kind, {"name": id, **fields}, by=None, id=id)
        return id

    async def call(
        self,
        operation: str,
        place: str,
        who: str,
        *,
        headers: dict[str, str] | None = None,
        query: str = "",
        fields: dict[str, Any] | None = None,
    ) -> Callable[[], Awaitable[httpx.Response]]:
        """What to await for the call: all that it needs is there, and nothing of it is done yet.

        `headers`, `query` and `fields` of the body come on top of what is needed.
        """
        method, path = operation.split()
        client = await self.caller(who)
        id, request_id, body = "", "", BODIES.get(operation)
        part = path.split("/")[2] if path.startswith("/api/") else ""
        if place != NO_PLACE:
            made = await self.request(place)
            id = made["id"]
            if path == "/api/requests/bulk":
                body = {"action": "cancel", "ids": [id]}
            if path == "/api/human-feedback/submit":
                body = {"unique_id": made["unique_id"], "response": "yes", "agent": "asker"}
        elif path == "/api/routing/explain":
            body = {"message": "May I?"} | ({} if who in AGENTS else {"agent": "asker"})
        elif path in ("/api/session", "/api/session/link") and method == "POST":
            body = {"name": "visitor", "password": PASSWORD}
            if path.endswith("/link"):
                body = {"token": (await self.handraise.app.sign_in.make_link("visitor", by=None)).token}
        elif path == "/api/session/embed":
            made = await self.clients["administrator"].post("/api/embed/tokens", json={"user": "visitor"})
            body = {"token": made.json()["token"]}
        elif path == "/api/embed/tokens":
            body = {"user": "visitor"}
        elif path == "/api/push/subscriptions":
            body = Browser(f"{PROVIDER}/{next(self._numbers)}").to_json()
            if method == "DELETE":
                await client.post(path, json=body)
                body = {"endpoint": body["endpoint"]}
        elif part == "keys" and "{id}" in path:
            id = f"key-{next(self._numbers)}"
            await self.handraise.app.keys.create(by=None, name="A key", user="visitor", id=id)
        elif "{id}/webhook" in path:
            id = await self.entry(part)
            if method != "PUT":
                await done(self.handraise.admin.put(f"/api/agents/{id}/webhook", json={"url": HOOK}))
            if "{request_id}" in path:
                request_id = await self.closed_request_of(id)
        elif part == "tools":
            id = "human_feedback"
            body = {**(body or {}), "unique_id": f"tool-{next(self._numbers)}"}
        elif part in DIRECTORY and "{id}" in path:
            id = await self.entry(part)
            if path.endswith("/erase"):
                await self.handraise.app.directory.remove("user", id, by=None)
            body = {"name": "Renamed"} if method == "PATCH" else None
        elif part in (*DIRECTORY, "keys") and method == "POST":
            body = {"name": f"New {next(self._numbers)}"} | ({"user": "visitor"} if part == "keys" else {})
        assert "{" not in path or id, f"nothing is made for {operation}: say what it needs"
        query = "timeout_seconds=0" if path.endswith("/wait") else query
        url = path.replace("{id}", id).replace("{name}", id).replace("{request_id}", request_id)
        url += f"?{query}" if query else ""
        if fields is not None:
            body = {**(body or {}), **fields}
        if path == "/api/stream":
            return lambda: beginning(self.handraise, client, url)

        async def send() -> httpx.Response:
            response = await client.request(method, url, json=body, headers=headers)
            if not who.startswith("session"):
                client.cookies.clear()  # who signs in here goes on with the key, or as nobody
            return response

        return send

    async def events_after(self, position: int) -> list[str]:
        """The topics of what the log has got since."""
        query = "SELECT topic FROM handraise_events WHERE notification_id > %s ORDER BY notification_id"
        return [topic for (topic,) in await rows(self.handraise.app.conninfo, query, position)]


async def done(calling: Awaitable[httpx.Response]) -> dict[str, Any]:
    """The answer to a call that must succeed."""
    response = await calling
    assert response.status_code in (200, 201), response.text
    return response.json()


async def beginning(handraise: Service, client: httpx.AsyncClient, url: str) -> httpx.Response:
    """The status of a response that may never end: the caller goes away as soon as it is known."""
    request = client.build_request("GET", url)
    began = asyncio.get_running_loop().create_future()

    async def receive() -> dict[str, Any]:
        await asyncio.shield(began)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start" and not began.done():
            began.set_result(message["status"])

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": request.url.path,
        "raw_path": request.url.raw_path,
        "query_string": request.url.query,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": ("127.0.0.1", 1),
        "server": ("handraise.test", 80),
    }
    await handraise.app.api(scope, receive, send)
    return httpx.Response(began.result(), request=request)


async def staged(handraise: Service) -> Stage:
    """People, agents, keys and browsers of every kind."""
    people = {
        name: await handraise.person(name)
        for name in ("assignee", "member", "claimant", "runner", "owner", "other", "successor", "visitor", "gone")
    }
    app = handraise.app
    for chief in ("chief", "deputy"):
        await app.directory.add("user", {"name": chief, "role": Role.ADMINISTRATOR}, by=None, id=chief)
    await app.directory.add("agent", {"name": "Asker", "owner": "owner"}, by=None, id="asker")
    await app.directory.add("list", {"name": "Crew", "members": ["member", "claimant"]}, by=None, id="crew")

    async def key(**of: Any) -> httpx.AsyncClient:
        return await handraise.client((await app.keys.create(by=None, name="a key", **of)).key)

    expired = await key(user="assignee", expires_at=datetime.now(UTC) + timedelta(seconds=0.4))
    revoked = await key(user="assignee", id="revoked")
    await done(handraise.admin.delete("/api/keys/revoked"))
    await done(handraise.admin.patch("/api/users/gone", json={"active": False}))
    removed = await handraise.another_agent("removed")
    await done(handraise.admin.delete("/api/agents/removed"))
    link = await app.sign_in.make_link("visitor", by=None)
    visitor = await app.sign_in.authenticate((await app.sign_in.with_link(link.token)).token)
    assert visitor is not None
    await app.sign_in.set_password(PASSWORD, by=visitor, current=None)
    while (await expired.get("/api/me")).status_code == 200:
        await asyncio.sleep(0.05)
    clients = {
        "administrator": handraise.admin,
        "auditor": await handraise.person("auditor", Role.AUDITOR),
        "assignee": people["assignee"],
        "list member": people["member"],
        "claimant": people["claimant"],
        "run user": people["runner"],
        "owner of the agent": people["owner"],
        "other person": people["other"],
        "the agent": await key(agent="asker"),
        "another agent": await handraise.another_agent("another"),
        "key of the run user": await key(agent="asker", run_user="runner"),
        "key of another run user": await key(agent="asker", run_user="other"),
        "nobody": handraise.nobody,
        "expired key": expired,
        "revoked key": revoked,
        "key of a deactivated user": people["gone"],
        "key of a removed agent": removed,
    }
    assert (*clients, "session", "session without token") == CALLERS
    return Stage(handraise, clients)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One service for the whole matrix, with a way to sign in by provider, and pages that may be embedded."""
    database = await postgres.create_database(template)
    settings: dict[str, Any] = {"oidc_issuer": PROVIDER, "oidc_client_id": "handraise", "push_allow_private": True}
    settings |= {"embed_origins": "https://app.example.com", "webhook_allow_private": True}
    async with service(database, tmp_path_factory.mktemp("service"), **settings) as made:
        yield await staged(made)
    await postgres.drop_database(database)


async def operations(handraise: Service) -> list[str]:
    """Method and path of all that the served document has."""
    paths = (await handraise.nobody.get("/openapi.json")).json()["paths"]
    return [f"{method.upper()} {path}" for path, item in paths.items() for method in item if method != "parameters"]


async def test_every_operation_has_a_row(stage: Stage) -> None:
    """A new endpoint fails here until the table says who may call it."""
    assert sorted(await operations(stage.handraise)) == sorted(table())


@pytest.mark.parametrize("operation", table())
async def test_who_is_let_in(stage: Stage, operation: str) -> None:
    """A valid call by everybody, each on fresh state; a refusal leaves nothing but the note that somebody tried."""
    place, expected = table()[operation]
    calls = dict(
        zip(CALLERS, await asyncio.gather(*(stage.call(operation, place, who) for who in CALLERS)), strict=True)
    )
    found: dict[str, int] = {}
    # Who is to be refused comes first, so that whatever the log gets meanwhile was caused by a refusal.
    for status in (False, True):
        turn = [who for who in CALLERS if (expected[who] < 400) is status]
        before = await stage.handraise.app.store.head()
        if operation == "POST /api/session":  # so many attempts for one person at once would be too many
            responses = [await calls[who]() for who in turn]
        else:
            responses = await asyncio.gather(*(calls[who]() for who in turn))
        found |= {who: response.status_code for who, response in zip(turn, responses, strict=True)}
        if not status or operation.startswith("GET "):
            assert set(await stage.events_after(before)) <= {"handraise.Request.AnswerRefused"}
        for response in responses:
            if response.status_code >= 400 and "/api/stream" not in operation:
                assert response.headers["content-type"] == "application/problem+json"
    assert {who: found[who] for who in CALLERS} == expected


async def test_whoever_is_not_known_is_let_in_nowhere(stage: Stage) -> None:
    """Without a credential that works there is only: signing in, being alive, and saying how."""
    public = {
        "GET /api/sign-in", "POST /api/session", "POST /api/session/link", "POST /api/session/embed",
        "GET /api/oidc/start", "GET /api/oidc/callback", "GET /healthz", "GET /readyz", "GET /metrics",
    }  # fmt: skip
    for operation, (_, cells) in table().items():
        if operation not in public:
            assert {cells[who] for who in UNKNOWN} == {401}, operation
            safe = operation.startswith("GET ")
            assert safe or cells["session without token"] == 403, operation


async def test_no_agent_answers(stage: Stage) -> None:
    """By no name and on no way: every row of an answer refuses every agent."""
    for operation in ("POST /api/requests/{id}/respond", "POST /api/human-feedback/submit"):
        cells = table()[operation][1]
        assert {cells[who] for who in AGENTS} == {403, 404}
