"""One HTTP client that outlives restarts: what may be repeated is repeated until the server has answered."""

from __future__ import annotations

import email.utils
import json
import math
import os
import random
import secrets
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, cast
from urllib.parse import quote

import httpx

from handraise.errors import HandraiseError, Unreachable
from handraise.types import Collected, Created, CreatedKey, Request

DEFAULT_URL = "http://127.0.0.1:8000"

_AGAIN = frozenset({429, 502, 503, 504})
_NOT_DONE = frozenset({429, 503})
"""Statuses that promise that nothing was done; after the other ones a proxy may have lost the answer."""
_LONGEST_DELAY = 2.0
_LONGEST_RETRY_AFTER = 60.0


class Client:
    """The calls of one agent, or one person, to one server.

    `url` and `key` default to the environment's `HANDRAISE_URL` and `HANDRAISE_API_KEY`. While the server restarts
    or is overloaded, calls are tried again for `patience_seconds`; where no connection could be made at all, for
    `connect_patience_seconds` (the same if not given). Only what is safe to repeat is repeated. `via` names the
    channel ("cli"). Use one client in one thread; close it, or use it in a `with`.

    Every call raises `HandraiseError` for a refusal and `Unreachable` when patience is over.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        patience_seconds: float = 30.0,
        connect_patience_seconds: float | None = None,
        via: str | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Opens no connection yet. Raises `ValueError` for an address or a key that cannot be one."""
        self.url = _address(url or os.environ.get("HANDRAISE_URL") or DEFAULT_URL)
        headers = {"Accept": "application/json"}
        key = (key or os.environ.get("HANDRAISE_API_KEY") or "").strip()
        if key:
            if not (key.isascii() and key.isprintable()):
                raise ValueError("the API key holds characters that no key has; was it copied whole?")
            headers["Authorization"] = f"Bearer {key}"
        if via is not None:
            headers["Handraise-Via"] = via
        self.patience_seconds = patience_seconds
        self.connect_patience_seconds = (
            patience_seconds if connect_patience_seconds is None else connect_patience_seconds
        )
        parsed = httpx.URL(self.url)
        self._http = httpx.Client(
            base_url=self.url,
            headers=headers,
            transport=transport,
            # A proxy for the outside world is of no use to reach this very machine.
            trust_env=not is_loopback(parsed.host),
            verify=parsed.scheme == "https",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # -- requests

    def create(
        self,
        message: str,
        *,
        unique_id: str | None = None,
        context: str | None = None,
        request_type: str | None = None,
        response_schema: Mapping[str, Any] | None = None,
        options: Sequence[str] | None = None,
        secret: bool = False,
        priority: int | None = None,
        run_id: str | None = None,
        run_user: str | None = None,
        expires_in_seconds: float | None = None,
    ) -> Request:
        """Ask a person. The same content under the same `unique_id` is the same request, asked once.

        Without a `unique_id` one is made here, so that repeating a lost call cannot ask twice.
        """
        body = {
            "message": message,
            "unique_id": unique_id if unique_id is not None else str(uuid.uuid4()),
            "context": context,
            "request_type": request_type,
            "response_schema": response_schema,
            "options": None if options is None else list(options),
            "secret": secret,
            "priority": priority,
            "run_id": run_id,
            "run_user": run_user,
            "expires_in_seconds": expires_in_seconds,
        }
        given = {name: value for name, value in body.items() if value is not None}
        return cast(Request, self._call("POST", "/api/requests", given))

    def get(self, id: str) -> Request:
        """The request, by its id or its `unique_id`."""
        return cast(Request, self._call("GET", _request(id)))

    def wait(self, id: str, seconds: float | None = None, *, poll_seconds: float = 30.0) -> Request:
        """The request as soon as it is closed, or as it stands after `seconds`; None waits without limit.

        Lost connections and restarts of the server are waited out; `Unreachable` only if the time is over then.
        `poll_seconds` (up to 600) is how long one HTTP request may take: less than what proxies in between allow.
        """
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        early = _Delays()
        while True:
            began = time.monotonic()
            left = max(0.0, deadline - began)
            poll = min(poll_seconds, left)
            request = cast(
                Request,
                self._call(
                    "GET",
                    f"{_request(id)}/wait",
                    parameters={"timeout_seconds": f"{poll:.3f}"},
                    read_seconds=poll + 15.0,
                    patience=left,
                ),
            )
            now = time.monotonic()
            if request["status"] != "Requested" or now >= deadline:
                return request
            if now - began < poll / 2:  # a server that stops ends its waits early
                time.sleep(min(early.next(), max(0.0, deadline - now)))
            else:
                early = _Delays()

    def cancel(self, id: str, reason: str | None = None) -> Request:
        """Withdraw the request."""
        return cast(Request, self._call("POST", f"{_request(id)}/cancel", {"reason": reason}))

    def respond(self, id: str, *, text: str | None = None, data: Any = ...) -> Request:
        """Answer the request, as a person; `...` is no data, None is JSON's null."""
        body: dict[str, Any] = {} if data is ... else {"data": data}
        if text is not None:
            body["text"] = text
        return cast(Request, self._call("POST", f"{_request(id)}/respond", body))

    def submit(self, unique_id: str, response: str | Mapping[str, Any], *, agent: str | None = None) -> int:
        """Answer in text, as a person types it, or with data; the position of the answer in the log.

        `agent` says whose request it is, where several agents used this `unique_id`.
        """
        body = {"unique_id": unique_id, "response": response, "agent": agent}
        return self._call("POST", "/api/human-feedback/submit", body)["position"]

    def erase(self, id: str) -> Request:
        """Make the content of a closed request unreadable for good, as an administrator."""
        return cast(Request, self._call("POST", f"{_request(id)}/erase"))

    def history(self, id: str) -> list[dict[str, Any]]:
        """The events of the request, oldest first."""
        return self._call("GET", f"{_request(id)}/history")["items"]

    def collect(self, id: str, receipt: str | None = None) -> Collected:
        """The sealed answer, for the agent that asked. Once it is safe, `acknowledge` it: it is destroyed then.

        The receipt is made here unless given; within 60 s the same one gets the same answer, another one none.
        """
        receipt = receipt or secrets.token_urlsafe(24)
        answer = self._call("POST", f"{_request(id)}/collect", {"receipt": receipt})
        return {
            "outcome": answer["outcome"],
            "text": answer["text"],
            "data": answer["data"],
            "receipt": receipt,
        }

    def acknowledge(self, id: str, receipt: str) -> None:
        """The collected answer is safe here."""
        self._call("POST", f"{_request(id)}/acknowledge", {"receipt": receipt})

    # -- reading what there is, for people

    def inbox(self, scope: str = "all") -> list[dict[str, Any]]:
        """Open requests that may be answered, most urgent first; `scope` is `mine`, `shared` or `all`."""
        return list(self._all("/api/inbox", {"scope": scope}))

    def export(self, format: str = "jsonl", **filters: Any) -> Iterator[bytes]:
        """The audit trail, oldest first, in pieces as they arrive; `format` is `jsonl` or `csv`.

        `filters` as the HTTP call takes them (`from` and `to` as keys of a mapping). Not repeated when it breaks off.
        """
        parameters = {"format": format, **filters}
        try:
            with self._http.stream("GET", "/api/audit/export", params=parameters, timeout=60.0) as response:
                if not response.is_success:
                    response.read()
                    raise _refusal(response)
                yield from response.iter_bytes()
        except httpx.RequestError as error:
            raise Unreachable(self.url, _why(error)) from None

    # -- the directory, for administrators

    def users(self) -> list[dict[str, Any]]:
        """All people, in the order of their ids."""
        return list(self._all("/api/users"))

    def agents(self) -> list[dict[str, Any]]:
        """All agents, in the order of their ids."""
        return list(self._all("/api/agents"))

    def keys(self) -> list[dict[str, Any]]:
        """All keys, in the order of their ids; never the keys themselves."""
        return list(self._all("/api/keys"))

    def add_user(self, name: str, **fields: Any) -> Created:
        """Add a person: `id`, `email`, `role`."""
        return cast(Created, self._add("/api/users", name, fields))

    def add_agent(self, name: str, **fields: Any) -> Created:
        """Add an agent: `id`, `owner`."""
        return cast(Created, self._add("/api/agents", name, fields))

    def create_key(self, name: str, **fields: Any) -> CreatedKey:
        """Make a key for one `agent` or one `user`: `id`, `run_user`, `expires_at`."""
        return cast(CreatedKey, self._add("/api/keys", name, fields))

    def erase_user(self, id: str) -> None:
        """Make name and addresses of a removed person unreadable for good."""
        self._call("POST", f"/api/users/{quote(id, safe='')}/erase")

    def rotate_key(self, id: str) -> CreatedKey:
        """Replace a key: the new one, shown this once; the old one stops at once."""
        return cast(CreatedKey, self._call("POST", f"/api/keys/{quote(id, safe='')}/rotate", repeatable=False))

    def make_link(self, id: str) -> dict[str, Any]:
        """A link that signs this person in, once: `url` and `expires_at`."""
        return self._call("POST", f"/api/users/{quote(id, safe='')}/link", repeatable=False)

    def revoke_key(self, id: str) -> None:
        """Stop a key at once."""
        self._call("DELETE", f"/api/keys/{quote(id, safe='')}")

    def export_directory(self) -> dict[str, Any]:
        """The whole directory but for keys, as `import_directory` takes it."""
        return self._call("GET", "/api/directory", read_seconds=120.0)

    def import_directory(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Add and change all that the document says, or nothing of it; what it does not name stays as it is.

        How many entries were `added` and `changed`, and the `position` in the log.
        """
        return self._call("PUT", "/api/directory", document, read_seconds=120.0)

    def _add(self, path: str, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        given = {field: value for field, value in fields.items() if value is not None}
        return self._call("POST", path, {"name": name, **given}, repeatable=False)

    def _all(self, path: str, parameters: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        while True:
            place = {} if cursor is None else {"cursor": cursor}
            page = self._call("GET", path, parameters={"limit": "200", **(parameters or {}), **place})
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    # -- one call

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        parameters: Mapping[str, str] | None = None,
        repeatable: bool = True,
        read_seconds: float = 30.0,
        patience: float | None = None,
    ) -> Any:
        """The answer's JSON, after as many attempts as patience allows and safety permits."""
        # ASCII, so that text which is not Unicode arrives and is refused by name.
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {} if content is None else {"Content-Type": "application/json"}
        connect_patience = self.connect_patience_seconds if patience is None else patience
        patience = self.patience_seconds if patience is None else patience
        began, delays = time.monotonic(), _Delays()
        while True:
            retry_after = 0.0
            try:
                response = self._http.request(
                    method,
                    path,
                    content=content,
                    params=parameters,
                    headers=headers,
                    timeout=httpx.Timeout(read_seconds, connect=10.0),
                )
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure, again, allowed = Unreachable(self.url, _why(error)), True, connect_patience
            except httpx.RequestError as error:
                failure, again, allowed = Unreachable(self.url, _why(error)), repeatable, patience
            else:
                if response.is_success:
                    return self._json(response)
                failure, allowed = _refusal(response), patience
                again = response.status_code in (_AGAIN if repeatable else _NOT_DONE)
                retry_after = _retry_after(response)
            delay = max(delays.next(), retry_after)
            if not again or time.monotonic() - began + delay > allowed:
                raise failure
            time.sleep(delay)

    def _json(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError:
            raise HandraiseError(
                f"{self.url} is no Handraise server: it answered with something other than JSON",
                status=response.status_code,
            ) from None


class _Delays:
    """Seconds to wait before each further attempt: longer and longer, and by chance, so that not all come at once."""

    def __init__(self) -> None:
        self._longest = 0.1

    def next(self) -> float:
        delay = self._longest * random.uniform(0.5, 1.0)  # noqa: S311  no secret
        self._longest = min(self._longest * 2, _LONGEST_DELAY)
        return delay


def _refusal(response: httpx.Response) -> HandraiseError:
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if not (isinstance(problem, dict) and isinstance(problem.get("detail"), str)):
        said = f"{response.status_code} {response.reason_phrase}".strip()
        return HandraiseError(
            f"{response.url.copy_with(query=None)} answered {said}", status=response.status_code, title=said
        )
    return HandraiseError(
        problem["detail"],
        status=response.status_code,
        title=str(problem.get("title", "")),
        errors=problem.get("errors") or (),
        request=problem.get("request"),
    )


def _retry_after(response: httpx.Response) -> float:
    """The seconds that the server asks to be left alone for, within reason."""
    said = response.headers.get("Retry-After", "")
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(said).timestamp() - time.time()
        except ValueError:
            return 0.0
    return min(max(seconds, 0.0), _LONGEST_RETRY_AFTER) if math.isfinite(seconds) else 0.0


def _request(id: str) -> str:
    return f"/api/requests/{quote(id, safe='', errors='surrogatepass')}"


def _why(error: httpx.RequestError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "it did not answer in time"
    return str(error) or type(error).__name__


def _address(url: str) -> str:
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL as error:
        raise ValueError(f"{url!r} is not the address of a server: {error}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(f"{url!r} is not the address of a server: expected something like {DEFAULT_URL}")
    return str(parsed).rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether this is a name or an address of the machine itself."""
    return host in ("localhost", "::1") or host.startswith("127.")
