"""The server's answers, as its OpenAPI document describes them. Instants are RFC 3339 texts in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

Outcome = Literal["approved", "rejected", "answered"]
Json = dict[str, Any]
Options = list[str]
Plan = list[Json]


class Response(TypedDict):
    """The accepted answer. A sealed one shows only that it is there: `Client.collect` gets it."""

    outcome: Outcome
    text: str | None
    data: Any
    sealed: bool
    by: str
    via: str
    at: str
    acknowledged_at: str | None


class Cancellation(TypedDict):
    """Who withdrew the request, and why."""

    by: str
    reason: str | None
    at: str


class Request(TypedDict):
    """A request. It is open while `status` is `Requested`; every other status is final."""

    id: str
    unique_id: str
    status: Literal["Requested", "Responded", "Cancelled", "Expired"]
    message: str | None
    context: str | None
    request_type: str
    agent: str
    run_id: str | None
    run_step_id: str | None
    run_user: str | None
    response_schema: Json | None
    ui_schema: Json | None
    options: Options | None
    labels: dict[str, str] | None
    secret: bool
    priority: int
    assigned_to: str | None
    list: str | None
    claimed: bool
    assignment: Json
    plan: Plan
    created_at: str
    expires_at: str | None
    closed_at: str | None
    metadata: Json | None
    response: Response | None
    cancelled: Cancellation | None
    erased: bool
    position: int
    version: int


class Collected(TypedDict):
    """A sealed answer, and the receipt to acknowledge it with."""

    outcome: Outcome
    text: str | None
    data: Any
    receipt: str


class CallOptions(TypedDict, total=False):
    """What any question may carry besides itself.

    `wait_seconds` is how long this call waits for the answer: 600 if not given, None without limit. The request
    itself lives for `expires_in_seconds`, which routing decides if not given.
    """

    wait_seconds: float | None
    expires_in_seconds: float | None
    context: str | None
    priority: int | None
    run_step_id: str | None
    run_user: str | None
    metadata: Mapping[str, Any] | None
    assignment_strategy: Mapping[str, Any] | None


class AskOptions(CallOptions, total=False):
    """As `CallOptions`, and the names of the request and of the run that asks.

    The same question under the same `unique_id` is one request, asked once: repeating it gets its answer.
    """

    unique_id: str | None
    run_id: str | None


class Created(TypedDict):
    """The readable id of a new directory entry, and where in the log it stands."""

    id: str
    position: int


class CreatedKey(Created):
    """A new key: the only time that `key` itself is shown."""

    key: str
