"""Every call of an agent and of a person, once, for all clients. See `Client` for what they raise."""

from __future__ import annotations

import contextlib
import math
import secrets
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast, overload
from urllib.parse import quote

from handraise.answers import Answer, Choice, Confirmation, Given, Review
from handraise.calls import Delays, call
from handraise.connection import Connection
from handraise.errors import Cancelled, Erased, Expired, HandraiseError, StillOpen
from handraise.runs import current_run
from handraise.steps import Aside, Flow, Sleep
from handraise.types import AskOptions, Collected, Created, CreatedKey, Request, Response

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

WAIT_SECONDS = 600.0
"""How long the calls that wait for an answer wait, if they are not told."""

_ASIDE_SECONDS = 1.0
"""How long an acknowledgement that nobody waits for may try, and how long it waits for the server."""


# -- asking and waiting for the answer, in one call


def ask(
    client: Connection,
    message: str,
    *,
    request_type: str | None = None,
    response_schema: Mapping[str, Any] | None = None,
    ui_schema: Mapping[str, Any] | None = None,
    options: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    secret: bool = False,
    receipt: str | None = None,
    **more: Unpack[AskOptions],
) -> Flow[Answer]:
    """Ask a person and wait for the answer.

    With neither schema nor options a person answers in text. The same question under the same `unique_id` is one
    request, also after a crash: its answer is returned, at once if it is there. It is acknowledged on the side. A
    sealed answer is collected and acknowledged before it is returned, which destroys it on the server; after a crash
    in between, the same `receipt` gets it for 60 s.

    Raises `StillOpen` after `wait_seconds` (600; None waits without limit), `Expired`, `Cancelled`, `Erased`, and
    what every call raises. Whatever it raises, the request itself is not withdrawn.
    """
    others: Any = {**more}
    wait_seconds = seconds(others.pop("wait_seconds", WAIT_SECONDS))
    request = yield from create(
        client,
        message,
        request_type=request_type,
        response_schema=response_schema,
        ui_schema=ui_schema,
        options=_several(options),
        labels=labels,
        secret=secret,
        **others,
    )
    return (yield from answer_to(client, request, wait_seconds, receipt))


def review(
    client: Connection, message: str, *, yes: str = "Approve", no: str = "Reject", **more: Unpack[AskOptions]
) -> Flow[Review]:
    """Have a person approve something, or say what is wrong with it.

    `yes` and `no` are what the buttons say. Raises as `ask` does.
    """
    labels = {"approve": yes, "reject": no}
    answer = yield from ask(client, message, request_type="review", labels=labels, **more)
    approved = answer.outcome == "approved"
    return Review(approved=approved, feedback=None if approved else answer.text, **_given(answer))


def confirm(
    client: Connection, message: str, *, yes: str = "Approve", no: str = "Reject", **more: Unpack[AskOptions]
) -> Flow[Confirmation]:
    """Have a person say yes or no; the result is true for yes, and has the `note` that came with it.

    `yes` and `no` are what the buttons say. Raises as `ask` does.
    """
    labels = {"approve": yes, "reject": no}
    answer = yield from ask(client, message, request_type="approval", labels=labels, **more)
    note = answer.data.get("note") if isinstance(answer.data, dict) else None
    return Confirmation(approved=answer.outcome == "approved", note=note, **_given(answer))


def choose(client: Connection, message: str, options: Sequence[str], **more: Unpack[AskOptions]) -> Flow[Choice]:
    """Have a person choose one of 1 to 50 different texts. Raises as `ask` does."""
    answer = yield from ask(client, message, options=options, **more)
    return Choice(index=answer.data["index"], text=answer.data["option"], **_given(answer))


@overload
def form(client: Connection, message: str, schema: type[T], **more: Unpack[AskOptions]) -> Flow[T]: ...
@overload
def form(client: Connection, message: str, schema: Mapping[str, Any], **more: Unpack[AskOptions]) -> Flow[Any]: ...
def form(
    client: Connection, message: str, schema: type[Any] | Mapping[str, Any], **more: Unpack[AskOptions]
) -> Flow[Any]:
    """Have a person fill in a form, and return what it holds.

    `schema` is a pydantic model, a dataclass or a `TypedDict`, and the result one of them; or a JSON Schema
    (2020-12), and the result its data. Raises as `ask` does, and `InvalidAnswer` where the model asks for more than
    its JSON Schema says.
    """
    if isinstance(schema, Mapping):
        return (yield from ask(client, message, response_schema=schema, **more)).data
    from handraise.models import read, schema_of

    adapter: TypeAdapter[Any] = schema_of(schema)
    others: Any = {**more}
    wait_seconds = seconds(others.pop("wait_seconds", WAIT_SECONDS))
    request = yield from create(client, message, response_schema=adapter.json_schema(), **others)
    answer = yield from answer_to(client, request, wait_seconds, acknowledge=False)
    form = read({"": adapter}, {"": answer.data}, answer)[""]
    yield from _used(client, answer)
    return form


def secret(client: Connection, message: str, *, receipt: str | None = None, **more: Unpack[AskOptions]) -> Flow[str]:
    """Have a person enter a secret, such as a one-time code.

    It is sealed: nobody can read it but this call, once; the server has destroyed it when it is returned. After a
    crash in between, the same `receipt`, of at least 8 random characters, gets it for 60 s. Raises as `ask` does.
    """
    answer = yield from ask(client, message, secret=True, receipt=receipt, **more)
    return answer.text or ""


def answer_to(
    client: Connection,
    request: Request,
    wait_seconds: float | None,
    receipt: str | None = None,
    *,
    acknowledge: bool = True,
) -> Flow[Answer]:
    """The answer to a request that was created, as soon as there is one. Raises as `ask` does.

    Who uses the answer only later does not `acknowledge` it here, but with `acknowledge_soon` then.
    """
    if request["status"] == "Requested" and wait_seconds != 0:
        request = yield from wait(client, request["id"], wait_seconds)
    answer = yield from _answer_of(client, request, wait_seconds, receipt)
    if acknowledge:
        yield from _used(client, answer)
    return answer


def answers_to(
    client: Connection, requests: Sequence[Request], wait_seconds: float | None, *, acknowledge: bool = True
) -> Flow[list[Answer]]:
    """The answers to requests that were created, as soon as all are there. Raises as `ask` does, for the first without.

    `wait_seconds` is for all of them together. `acknowledge` as in `answer_to`.
    """
    deadline = math.inf if wait_seconds is None else client.now() + wait_seconds
    answers: list[Answer] = []
    for request in requests:
        if request["status"] == "Requested" and wait_seconds != 0:
            left = None if wait_seconds is None else max(0.0, deadline - client.now())
            request = yield from wait(client, request["id"], left)
        answers.append((yield from _answer_of(client, request, wait_seconds, None)))
    if acknowledge:
        for answer in answers:
            yield from _used(client, answer)
    return answers


def _answer_of(client: Connection, request: Request, waited: float | None, receipt: str | None) -> Flow[Answer]:
    """The answer of a request as it stands, collected if it is sealed. Raises what tells why there is none."""
    response = _response(request, waited)
    if not response["sealed"]:
        return _answer(request, response)
    collected = yield from collect(client, request["id"], receipt)
    with contextlib.suppress(HandraiseError):
        # The answer is here: that counts. The server destroys it by itself a little later.
        yield from acknowledge(client, request["id"], collected["receipt"])
    return _answer(request, {**response, **_content(collected)})


def _response(request: Request, waited: float | None) -> Response:
    """The accepted answer. Raises what tells why there is none."""
    name = request["unique_id"]
    ids: Any = {"request_id": request["id"], "unique_id": name}
    if request["status"] == "Requested":
        raise StillOpen(
            f"nobody answered within {waited or 0:g} s; the request stays open: ask the same again with "
            f"unique_id={name!r} to go on waiting, or withdraw it with cancel({name!r})",
            **ids,
        )
    if request["status"] == "Expired":
        raise Expired(f"nobody answered {name!r} before it expired; ask anew under another unique_id", **ids)
    if request["cancelled"] is not None:
        by, reason = request["cancelled"]["by"], request["cancelled"]["reason"]
        because = "" if reason is None else f": {reason}"
        raise Cancelled(f"{name!r} was withdrawn by {by}{because}", by=by, reason=reason, **ids)
    response = request["response"]
    if response is None or request["erased"]:
        raise Erased(f"the answer to {name!r} was erased; ask anew under another unique_id", **ids)
    return response


def _answer(request: Request, response: Mapping[str, Any]) -> Answer:
    return Answer(
        by=response["by"],
        at=datetime.fromisoformat(response["at"]),
        request_id=request["id"],
        unique_id=request["unique_id"],
        outcome=response["outcome"],
        text=response["text"],
        data=response["data"],
        sealed=response["sealed"],
    )


def _content(collected: Collected) -> Any:
    return {"outcome": collected["outcome"], "text": collected["text"], "data": collected["data"]}


def _given(answer: Given) -> Any:
    return {"by": answer.by, "at": answer.at, "request_id": answer.request_id, "unique_id": answer.unique_id}


def seconds(value: float | None) -> float | None:
    """A time to wait. Raises `ValueError` for what is none."""
    if value is not None and not value >= 0:
        raise ValueError(f"wait_seconds is {value!r}: expected seconds from 0 on, or None to wait without limit")
    return value


def _several(options: Sequence[str] | None) -> Sequence[str] | None:
    if isinstance(options, str):
        raise TypeError(f"options is the text {options!r}: expected a list of texts")
    return options


# -- requests, one HTTP call each


def create(
    client: Connection,
    message: str,
    *,
    unique_id: str | None = None,
    context: str | None = None,
    request_type: str | None = None,
    response_schema: Mapping[str, Any] | None = None,
    ui_schema: Mapping[str, Any] | None = None,
    options: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    secret: bool = False,
    priority: int | None = None,
    run_id: str | None = None,
    run_step_id: str | None = None,
    run_user: str | None = None,
    expires_in_seconds: float | None = None,
    assignment_strategy: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Flow[Request]:
    """Ask a person, without waiting. The same content under the same `unique_id` is the same request, asked once.

    Without a `unique_id` one is made here, so that repeating a lost call cannot ask twice. `run_id` is that of the
    surrounding `run`, if it is not given.
    """
    body = {
        "message": message,
        "unique_id": unique_id if unique_id is not None else str(uuid.uuid4()),
        "context": context,
        "request_type": request_type,
        "response_schema": response_schema,
        "ui_schema": ui_schema,
        "options": None if options is None else list(options),
        "labels": labels,
        "secret": secret,
        "priority": priority,
        "run_id": run_id if run_id is not None else current_run(),
        "run_step_id": run_step_id,
        "run_user": run_user,
        "expires_in_seconds": expires_in_seconds,
        "assignment_strategy": assignment_strategy,
        "metadata": metadata,
    }
    given = {name: value for name, value in body.items() if value is not None}
    return cast(Request, (yield from call(client, "POST", "/api/requests", given)))


def get(client: Connection, id: str) -> Flow[Request]:
    """The request, by its id or its `unique_id`."""
    return cast(Request, (yield from call(client, "GET", _request(id))))


def wait(client: Connection, id: str, seconds: float | None = None, *, poll_seconds: float = 30.0) -> Flow[Request]:
    """The request as soon as it is closed, or as it stands after `seconds`; None waits without limit.

    Lost connections and restarts of the server are waited out; `Unreachable` only if the time is over then.
    `poll_seconds` (up to 600) is how long one HTTP request may take: less than what proxies in between allow.
    """
    deadline = math.inf if seconds is None else client.now() + seconds
    early = Delays()
    while True:
        began = client.now()
        left = max(0.0, deadline - began)
        poll = min(poll_seconds, left)
        answer = yield from call(
            client,
            "GET",
            f"{_request(id)}/wait",
            parameters={"timeout_seconds": f"{poll:.3f}"},
            read_seconds=poll + 15.0,
            patience=left,
            waits=True,
        )
        request = cast(Request, answer)
        now = client.now()
        if request["status"] != "Requested" or now >= deadline:
            return request
        if now - began < poll / 2:  # a server that stops ends its waits early
            yield Sleep(min(early.next(), max(0.0, deadline - now)))
        else:
            early = Delays()


def cancel(client: Connection, id: str, reason: str | None = None) -> Flow[Request]:
    """Withdraw the request."""
    return cast(Request, (yield from call(client, "POST", f"{_request(id)}/cancel", {"reason": reason})))


def collect(client: Connection, id: str, receipt: str | None = None) -> Flow[Collected]:
    """The sealed answer, for the agent that asked. Once it is safe, `acknowledge` it: it is destroyed then.

    The receipt is made here unless given; within 60 s the same one gets the same answer, another one none.
    """
    receipt = receipt or secrets.token_urlsafe(24)
    answer = yield from call(client, "POST", f"{_request(id)}/collect", {"receipt": receipt})
    return {"outcome": answer["outcome"], "text": answer["text"], "data": answer["data"], "receipt": receipt}


def acknowledge(client: Connection, id: str, receipt: str | None = None) -> Flow[None]:
    """Say that the answer was used; a sealed one, which needs the receipt that it was collected with, is destroyed."""
    body = {} if receipt is None else {"receipt": receipt}
    yield from call(client, "POST", f"{_request(id)}/acknowledge", body)


def acknowledge_soon(client: Connection, id: str) -> Flow[None]:
    """Say on the side that an answer was used that is not sealed: this waits for nothing and raises nothing.

    It is tried for a second or two. Closing the client waits so long for what is on its way.
    """
    yield Aside(_acknowledge_if_possible(client, id))


def _acknowledge_if_possible(client: Connection, id: str) -> Flow[None]:
    path = f"{_request(id)}/acknowledge"
    with contextlib.suppress(HandraiseError):  # an older server knows it only of sealed answers
        yield from call(client, "POST", path, {}, read_seconds=_ASIDE_SECONDS, patience=_ASIDE_SECONDS)


def _used(client: Connection, answer: Answer) -> Flow[None]:
    if not answer.sealed:  # else it was acknowledged when it was collected
        yield from acknowledge_soon(client, answer.request_id)


def respond(client: Connection, id: str, *, text: str | None = None, data: Any = ...) -> Flow[Request]:
    """Answer the request, as a person; `...` is no data, None is JSON's null."""
    body: dict[str, Any] = {} if data is ... else {"data": data}
    if text is not None:
        body["text"] = text
    return cast(Request, (yield from call(client, "POST", f"{_request(id)}/respond", body)))


def submit(
    client: Connection, unique_id: str, response: str | Mapping[str, Any], *, agent: str | None = None
) -> Flow[int]:
    """Answer in text, as a person types it, or with data; the position of the answer in the log.

    `agent` says whose request it is, where several agents used this `unique_id`.
    """
    body = {"unique_id": unique_id, "response": response, "agent": agent}
    return (yield from call(client, "POST", "/api/human-feedback/submit", body))["position"]


def erase(client: Connection, id: str) -> Flow[Request]:
    """Make the content of a closed request unreadable for good, as an administrator."""
    return cast(Request, (yield from call(client, "POST", f"{_request(id)}/erase")))


def history(client: Connection, id: str) -> Flow[list[dict[str, Any]]]:
    """The events of the request, oldest first."""
    return (yield from call(client, "GET", f"{_request(id)}/history"))["items"]


def inbox(client: Connection, scope: str = "all") -> Flow[list[dict[str, Any]]]:
    """Open requests that may be answered, most urgent first; `scope` is `mine`, `shared` or `all`."""
    return (yield from _all(client, "/api/inbox", {"scope": scope}))


# -- the directory, for administrators


def users(client: Connection) -> Flow[list[dict[str, Any]]]:
    """All people, in the order of their ids."""
    return (yield from _all(client, "/api/users"))


def agents(client: Connection) -> Flow[list[dict[str, Any]]]:
    """All agents, in the order of their ids."""
    return (yield from _all(client, "/api/agents"))


def keys(client: Connection) -> Flow[list[dict[str, Any]]]:
    """All keys, in the order of their ids; never the keys themselves."""
    return (yield from _all(client, "/api/keys"))


def add_user(client: Connection, name: str, **fields: Any) -> Flow[Created]:
    """Add a person: `id`, `email`, `role`."""
    return cast(Created, (yield from _add(client, "/api/users", name, fields)))


def add_agent(client: Connection, name: str, **fields: Any) -> Flow[Created]:
    """Add an agent: `id`, `owner`."""
    return cast(Created, (yield from _add(client, "/api/agents", name, fields)))


def create_key(client: Connection, name: str, **fields: Any) -> Flow[CreatedKey]:
    """Make a key for one `agent` or one `user`: `id`, `run_user`, `expires_at`."""
    return cast(CreatedKey, (yield from _add(client, "/api/keys", name, fields)))


def erase_user(client: Connection, id: str) -> Flow[None]:
    """Make name and addresses of a removed person unreadable for good."""
    yield from call(client, "POST", f"/api/users/{quote(id, safe='')}/erase")


def rotate_key(client: Connection, id: str) -> Flow[CreatedKey]:
    """Replace a key: the new one, shown this once; the old one stops at once."""
    path = f"/api/keys/{quote(id, safe='')}/rotate"
    return cast(CreatedKey, (yield from call(client, "POST", path, repeatable=False)))


def make_link(client: Connection, id: str) -> Flow[dict[str, Any]]:
    """A link that signs this person in, once: `url` and `expires_at`."""
    return (yield from call(client, "POST", f"/api/users/{quote(id, safe='')}/link", repeatable=False))


def revoke_key(client: Connection, id: str) -> Flow[None]:
    """Stop a key at once."""
    yield from call(client, "DELETE", f"/api/keys/{quote(id, safe='')}")


def export_directory(client: Connection) -> Flow[dict[str, Any]]:
    """The whole directory but for keys, as `import_directory` takes it."""
    return (yield from call(client, "GET", "/api/directory", read_seconds=120.0))


def import_directory(client: Connection, document: Mapping[str, Any]) -> Flow[dict[str, Any]]:
    """Add and change all that the document says, or nothing of it; what it does not name stays as it is.

    How many entries were `added` and `changed`, and the `position` in the log.
    """
    return (yield from call(client, "PUT", "/api/directory", document, read_seconds=120.0))


def _add(client: Connection, path: str, name: str, fields: Mapping[str, Any]) -> Flow[dict[str, Any]]:
    given = {field: value for field, value in fields.items() if value is not None}
    return (yield from call(client, "POST", path, {"name": name, **given}, repeatable=False))


def _all(client: Connection, path: str, parameters: Mapping[str, str] | None = None) -> Flow[list[dict[str, Any]]]:
    """All items of all pages."""
    found: list[dict[str, Any]] = []
    place: dict[str, str] = {}
    while True:
        page = yield from call(client, "GET", path, parameters={"limit": "200", **(parameters or {}), **place})
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        place = {"cursor": page["next_cursor"]}


def _request(id: str) -> str:
    return f"/api/requests/{quote(id, safe='', errors='surrogatepass')}"
