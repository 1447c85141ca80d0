"""The server's answers, as its OpenAPI document describes them. Instants are RFC 3339 texts in UTC."""

from __future__ import annotations

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


class Cancelled(TypedDict):
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
    cancelled: Cancelled | None
    erased: bool
    position: int
    version: int


class Collected(TypedDict):
    """A sealed answer, and the receipt to acknowledge it with."""

    outcome: Outcome
    text: str | None
    data: Any
    receipt: str


class Created(TypedDict):
    """The readable id of a new directory entry, and where in the log it stands."""

    id: str
    position: int


class CreatedKey(Created):
    """A new key: the only time that `key` itself is shown."""

    key: str
