"""One call to the server: repeated, where that is safe, until the server has answered."""

from __future__ import annotations

import email.utils
import json
import math
import random
import time
from collections.abc import Mapping
from typing import Any

import httpx

from handraise.connection import Connection
from handraise.errors import HandraiseError, Unreachable
from handraise.steps import Flow, Send, Sleep

_AGAIN = frozenset({429, 502, 503, 504})
_NOT_DONE = frozenset({429, 503})
"""Statuses that promise that nothing was done; after the other ones a proxy may have lost the answer."""
_LONGEST_DELAY = 2.0
_LONGEST_RETRY_AFTER = 60.0


def call(
    client: Connection,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    parameters: Mapping[str, str] | None = None,
    repeatable: bool = True,
    read_seconds: float = 30.0,
    patience: float | None = None,
    waits: bool = False,
) -> Flow[Any]:
    """The answer's JSON, after as many attempts as patience allows and safety permits."""
    connect_patience = client.connect_patience_seconds if patience is None else patience
    patience = client.patience_seconds if patience is None else patience
    step = Send(
        method,
        path,
        httpx.Timeout(read_seconds, connect=min(read_seconds, 10.0)),
        # ASCII, so that text which is not Unicode arrives and is refused by name.
        None if body is None else json.dumps(body, allow_nan=False).encode(),
        parameters,
        waits,
    )
    began, delays = client.now(), Delays()
    while True:
        retry_after = 0.0
        try:
            response: httpx.Response = yield step
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            failure, again, allowed = Unreachable(client.url, why(error)), True, connect_patience
        except httpx.RequestError as error:
            failure, again, allowed = Unreachable(client.url, why(error)), repeatable, patience
        else:
            if response.is_success:
                return _json(client, response)
            failure, allowed = refusal(response), patience
            again = response.status_code in (_AGAIN if repeatable else _NOT_DONE)
            retry_after = _retry_after(response)
        delay = max(delays.next(), retry_after)
        if not again or client.now() - began + delay > allowed:
            raise failure
        yield Sleep(delay)


class Delays:
    """Seconds to wait before each further attempt: longer and longer, and by chance, so that not all come at once."""

    def __init__(self) -> None:
        self._longest = 0.1

    def next(self) -> float:
        """The next one, in seconds."""
        delay = self._longest * random.uniform(0.5, 1.0)  # noqa: S311  no secret
        self._longest = min(self._longest * 2, _LONGEST_DELAY)
        return delay


def refusal(response: httpx.Response) -> HandraiseError:
    """What the server refused, from its answer."""
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


def why(error: httpx.RequestError) -> str:
    """Why there is no answer, in words."""
    if isinstance(error, httpx.TimeoutException):
        return "it did not answer in time"
    return str(error) or type(error).__name__


def _json(client: Connection, response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        raise HandraiseError(
            f"{client.url} is no Handraise server: it answered with something other than JSON",
            status=response.status_code,
        ) from None


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
