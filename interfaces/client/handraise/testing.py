"""A stand-in for the server and the people behind it, for tests of agents: answers are scripted, nothing is started.

    with handraise.testing.answers({"Deploy?": True, "Where to?": "Staging"}) as people:
        assert deploy() == "Staging"
    assert [asked["message"] for asked in people.asked] == ["Deploy?", "Where to?"]

Clients that are made inside the `with`, also by the code under test and by `requires_approval`, ask the stand-in;
one made before does not. Waiting takes no time, and the journal of approved calls is a new one.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import unquote

import httpx

from handraise import connection
from handraise.client import Client
from handraise.types import Json, Request

if TYPE_CHECKING:
    from handraise.async_client import AsyncClient

_URL = "http://people.test"
_PATH = re.compile(r"/api/requests/([^/]+)(?:/(\w+))?")
_AT_LEAST = 3600.0
"""Seconds that pass with each wait for an answer that does not come."""
_FOR_EVER = 1000 * _AT_LEAST
_FROM = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Expires:
    """Nobody answers before the request expires."""


@dataclass(frozen=True, slots=True)
class Cancels:
    """A person withdraws the request."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The request stays open, however long it is waited for."""


Reply: TypeAlias = bool | str | Mapping[str, Any] | Expires | Cancels | Unanswered
"""What a person does: approve or not, write text or choose an option, fill in a form; or none of it."""

Script: TypeAlias = Mapping[str, Reply | Sequence[Reply]] | Callable[[Request], Reply]
"""The reply to each message, or several to be given in turn, the last one for ever; or what finds the reply."""


@contextmanager
def answers(script: Script) -> Iterator[People]:
    """Have clients that are made inside ask these people. A message that is not in the script fails the test."""
    people = People(script)
    before = connection.stand_in
    connection.stand_in = people.stand_in
    try:
        yield people
    finally:
        connection.stand_in = before


class People:
    """A server in memory, whose people follow a script. `asked` holds the requests, in the order they came."""

    def __init__(self, script: Script) -> None:
        """Raises `AssertionError` into the call that asks what is not in the script."""
        self.asked: list[Request] = []
        folder = tempfile.mkdtemp(prefix="handraise-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.stand_in = connection.StandIn(
            httpx.MockTransport(self._one_by_one), lambda: self._elapsed, Path(folder, "calls.sqlite3")
        )
        self._script = script
        self._given: dict[str, int] = {}
        self._bodies: dict[str, Json] = {}
        self._sealed: dict[str, Json] = {}
        self._receipts: dict[str, str] = {}
        self._elapsed = 0.0
        self._lock = threading.Lock()

    def client(self) -> Client:
        """A client of this server."""
        with self._standing_in():
            return Client(_URL, "hr_test")

    def async_client(self) -> AsyncClient:
        """A client of this server, for asyncio."""
        from handraise.async_client import AsyncClient

        with self._standing_in():
            return AsyncClient(_URL, "hr_test")

    def answer(self, id: str, reply: Reply) -> None:
        """Reply to a request that is still open, by its id or `unique_id`."""
        with self._lock:
            request = self._find(id)
            if request is None or request["status"] != "Requested":
                raise AssertionError(f"there is no open request {id!r}")
            self._close(request, reply)

    @contextmanager
    def _standing_in(self) -> Iterator[None]:
        before, connection.stand_in = connection.stand_in, self.stand_in
        try:
            yield
        finally:
            connection.stand_in = before

    # -- the server

    def _one_by_one(self, http: httpx.Request) -> httpx.Response:
        with self._lock:
            return self._handle(http)

    def _handle(self, http: httpx.Request) -> httpx.Response:
        body = json.loads(http.content) if http.content else {}
        path = http.url.raw_path.decode().partition("?")[0]
        path = path[path.index("/api/") :] if "/api/" in path else path
        if (http.method, path) == ("POST", "/api/requests"):
            return self._create(body)
        found = _PATH.fullmatch(path)
        request = self._find(unquote(found[1])) if found else None
        if found is None or request is None:
            return _problem(404, f"the stand-in has nothing at {http.method} {path}")
        action = {
            ("GET", None): self._get,
            ("GET", "wait"): self._wait,
            ("POST", "cancel"): self._cancel,
            ("POST", "collect"): self._collect,
            ("POST", "acknowledge"): self._acknowledge,
        }.get((http.method, found[2]))
        if action is None:
            return _problem(404, f"the stand-in cannot do {http.method} {path}: only what agents call")
        return action(request, body | dict(http.url.params))

    def _create(self, body: Json) -> httpx.Response:
        name = body["unique_id"]
        known = self._bodies.get(name)
        if known is not None:
            if _content(known) != _content(body):
                return _problem(409, f"feedback request already exists: {name!r} was asked with other content")
            return httpx.Response(200, json=self._find(name))
        request = _request(body, self._instant(), len(self.asked) + 1)
        reply = self._reply(request)
        self._bodies[name] = body
        self.asked.append(request)
        self._close(request, reply)
        return httpx.Response(201, json=request)

    def _get(self, request: Request, _: Json) -> httpx.Response:
        return httpx.Response(200, json=request)

    def _wait(self, request: Request, parameters: Json) -> httpx.Response:
        if request["status"] == "Requested":
            self._elapsed += max(float(parameters.get("timeout_seconds", 30)), _AT_LEAST)
            if self._elapsed > _FOR_EVER:
                raise AssertionError(f"{request['message']!r} stays open, and is waited for without limit")
        return httpx.Response(200, json=request)

    def _cancel(self, request: Request, body: Json) -> httpx.Response:
        if request["status"] == "Requested":
            self._withdraw(request, "agent:default", body.get("reason"))
        elif request["status"] != "Cancelled":
            return _problem(409, f"{request['unique_id']!r} is closed already")
        return httpx.Response(200, json=request)

    def _collect(self, request: Request, body: Json) -> httpx.Response:
        answer = self._sealed.get(request["id"])
        if answer is None or self._receipts.setdefault(request["id"], body["receipt"]) != body["receipt"]:
            return _problem(410, f"the answer to {request['unique_id']!r} was collected and acknowledged, or never was")
        return httpx.Response(200, json={**answer, "position": request["position"]})

    def _acknowledge(self, request: Request, body: Json) -> httpx.Response:
        response = request["response"]
        if response is None:
            return _problem(409, f"{request['unique_id']!r} has no answer")
        if response["sealed"]:
            if self._receipts.get(request["id"], "") != body.get("receipt"):
                return _problem(409, "another receipt collected the answer")
            self._sealed.pop(request["id"], None)
        response["acknowledged_at"] = response["acknowledged_at"] or self._instant()
        return httpx.Response(200, json={"position": request["position"]})

    def _find(self, id: str) -> Request | None:
        return next((request for request in self.asked if id in (request["id"], request["unique_id"])), None)

    def _instant(self) -> str:
        return (_FROM + timedelta(seconds=self._elapsed)).isoformat().replace("+00:00", "Z")

    # -- the people

    def _reply(self, request: Request) -> Reply:
        if callable(self._script):
            return self._script(request)
        message = request["message"] or ""
        if message not in self._script:
            known = ", ".join(map(repr, self._script)) or "nothing"
            raise AssertionError(f"{message!r} was asked, and the script answers only: {known}")
        replies = self._script[message]
        if isinstance(replies, str) or not isinstance(replies, Sequence):
            return replies
        given = self._given.get(message, 0)
        self._given[message] = given + 1
        return replies[min(given, len(replies) - 1)]

    def _close(self, request: Request, reply: Reply) -> None:
        if isinstance(reply, Unanswered):
            return
        if isinstance(reply, Cancels):
            self._withdraw(request, "alice", reply.reason)
            return
        request["closed_at"] = self._instant()
        if isinstance(reply, Expires):
            request["status"] = "Expired"
            return
        answer = _answer(request, reply)
        request["status"] = "Responded"
        sealed = request["secret"]
        if sealed:
            self._sealed[request["id"]] = answer
        shown = {"text": None, "data": None} if sealed else {"text": answer["text"], "data": answer["data"]}
        request["response"] = cast(
            Any,
            {
                "outcome": answer["outcome"],
                **shown,
                "sealed": sealed,
                "by": "alice",
                "via": "web",
                "at": request["closed_at"],
                "acknowledged_at": None,
            },
        )

    def _withdraw(self, request: Request, by: str, reason: str | None) -> None:
        request["status"] = "Cancelled"
        request["closed_at"] = self._instant()
        request["cancelled"] = {"by": by, "reason": reason, "at": request["closed_at"]}


def _answer(request: Request, reply: bool | str | Mapping[str, Any]) -> Json:
    """The answer as the server would understand it. Raises `AssertionError` for a reply that the question has not."""
    options, schema, type_ = request["options"], request["response_schema"], request["request_type"]
    if schema is not None:
        data = {"approved": reply} if isinstance(reply, bool) else reply
        if isinstance(data, Mapping):
            outcome = {True: "approved", False: "rejected"}.get(cast(Any, data.get("approved")), "answered")
            return {"outcome": outcome, "text": None, "data": dict(data)}
    elif options is not None:
        if reply in options:
            data = {"index": options.index(cast(str, reply)), "option": reply}
            return {"outcome": "answered", "text": reply, "data": data}
    elif type_ == "approval":
        data = {"approved": reply} if isinstance(reply, bool) else reply
        if isinstance(data, Mapping) and isinstance(data.get("approved"), bool):
            outcome = "approved" if data["approved"] else "rejected"
            return {"outcome": outcome, "text": None, "data": dict(data)}
    elif type_ == "review" and isinstance(reply, bool | str):
        labels = request["labels"] or {}
        if reply is True or reply == labels.get("approve", "Approve"):
            return {"outcome": "approved", "text": None, "data": None}
        text = reply if isinstance(reply, str) else labels.get("reject", "Reject")
        return {"outcome": "rejected", "text": text, "data": None}
    elif isinstance(reply, str):
        return {"outcome": "answered", "text": reply, "data": None}
    raise AssertionError(f"{reply!r} cannot answer {request['message']!r}, {_expected(request)}")


def _expected(request: Request) -> str:
    if request["response_schema"] is not None:
        return "a form: script a mapping"
    if request["options"] is not None:
        return f"which takes one of {request['options']}"
    if request["request_type"] == "approval":
        return "an approval: script True, False or {'approved': True, 'note': 'go'}"
    return "which takes text"


def _request(body: Json, at: str, number: int) -> Request:
    kind = "data-input" if body.get("response_schema") is not None else "clarification"
    fields = (
        *("context", "run_id", "run_step_id", "run_user", "response_schema", "ui_schema", "options", "labels"),
        *("metadata", "expires_at", "list", "closed_at", "response", "cancelled"),
    )
    request = {name: body.get(name) for name in fields} | {
        "id": str(uuid.uuid4()),
        "unique_id": body["unique_id"],
        "status": "Requested",
        "message": body["message"],
        "request_type": body.get("request_type") or kind,
        "agent": "default",
        "secret": body.get("secret", False) or _is_sealed(body.get("response_schema")),
        "priority": body.get("priority", 50),
        "assigned_to": "alice",
        "claimed": False,
        "assignment": {},
        "plan": [],
        "created_at": at,
        "erased": False,
        "position": number,
        "version": 1,
    }
    return cast(Request, request)


def _is_sealed(schema: Any) -> bool:
    if isinstance(schema, dict):
        if schema.get("writeOnly") is True or schema.get("format") == "password":
            return True
        return any(map(_is_sealed, schema.values()))
    return isinstance(schema, list) and any(map(_is_sealed, schema))


def _content(body: Json) -> Json:
    names = ("message", "context", "request_type", "response_schema", "options", "labels", "secret")
    return {name: body.get(name) for name in names}


def _problem(status: int, detail: str) -> httpx.Response:
    return httpx.Response(status, json={"title": "Refused", "status": status, "detail": detail})
