"""The bodies and answers of the HTTP API, as OpenAPI shows them. Names are those of the wire contract."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from domain.request import instant
from interfaces.strict_json import decode_json

_RFC3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)


def parse_instant(value: Any) -> Any:
    """An instant with an offset, in UTC. Raises `ValueError` for anything else."""
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        raise ValueError("must be an RFC 3339 instant with an offset, like 2027-01-01T09:00:00Z")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("is not an instant of the calendar") from None


def optional_instant(at: datetime | None) -> str | None:
    """An instant as it is written, null where there is none."""
    return None if at is None else instant(at)


def _schema_object(value: Any) -> Any:
    """Frameworks send an object parameter as JSON text now and then: both are taken."""
    if not isinstance(value, str):
        return value
    try:
        parsed = decode_json(value)
    except json.JSONDecodeError as error:
        raise ValueError(f"is text, but not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError("is JSON text that is nested too deeply") from None
    if not isinstance(parsed, dict):
        raise ValueError("is the JSON text of something other than an object")
    return parsed


def _text_or_object(value: Any) -> Any:
    if not isinstance(value, str | dict):
        raise ValueError("must be text, or an object for a form")
    return value


Instant = Annotated[
    datetime,
    BeforeValidator(parse_instant, json_schema_input_type=str),
    Field(json_schema_extra={"format": "date-time"}),
]
SchemaObject = Annotated[dict[str, Any], BeforeValidator(_schema_object, json_schema_input_type=dict[str, Any] | str)]


class Body(BaseModel):
    """A body is exactly what it names: unknown fields are refused, types are not bent."""

    model_config = ConfigDict(extra="forbid", strict=True)


class LabelsBody(Body):
    """What the two buttons say."""

    approve: str = Field("Approve", max_length=100)
    reject: str = Field("Reject", max_length=100)


class CreateRequest(Body):
    """What an agent asks of a person."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "unique_id": "deploy-2041",
                    "message": "Deploy build 2041 to production?",
                    "request_type": "approval",
                    "expires_in_seconds": 3600,
                },
                {"message": "Which environment?", "options": ["Development", "Staging", "Production"]},
            ]
        }
    )

    message: str = Field(description="What the person reads. Markdown.")
    unique_id: str | None = Field(
        None, description="The agent's own name for this request; the same one again is the same request."
    )
    context: str | None = Field(None, description="What the person needs to know to answer. Markdown.")
    request_type: str | None = Field(None, description="A request type, by id or name.")
    response_schema: SchemaObject | None = Field(
        None, description="JSON Schema (2020-12) of the answer, as an object or as its JSON text."
    )
    ui_schema: SchemaObject | None = Field(None, description="Hints for showing the form.")
    options: list[str] | None = Field(None, description="1–50 texts to choose one from.")
    labels: LabelsBody | None = Field(None, description="The labels of an approval or review.")
    run_id: str | None = Field(None, description="The agent's run that asks.")
    run_step_id: str | None = Field(None, description="The step of that run.")
    run_user: str | None = Field(None, description="The user in whose name the run works.")
    priority: int | None = Field(None, ge=1, le=100, description="1 (most urgent) to 100; 50 if not given.")
    expires_in_seconds: float | None = Field(
        None, gt=0, le=315_360_000, description="How long the request lives. Not how long a call waits."
    )
    expires_at: Instant | None = Field(None, description="The instant at which the request expires.")
    assignment_strategy: Any = Field(
        None, description="Who is to be asked, before anything else says so: a strategy, as an object or its JSON text."
    )
    secret: bool = Field(False, description="Seal the answer: only the agent can collect it, once.")
    metadata: dict[str, Any] | None = Field(None, description="Whatever the agent wants to find again.")


class RespondBody(Body):
    """A person's answer: `text`, `data`, or both where the question takes both."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"data": {"approved": True, "note": "after 6 pm"}}, {"text": "Staging"}]}
    )

    text: str | None = None
    data: Any = None


class SubmitBody(Body):
    """An answer as text, to a request known by its `unique_id`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"unique_id": "login-code", "response": "012345"}]})

    unique_id: str
    response: Annotated[str | dict[str, Any], BeforeValidator(_text_or_object)]
    agent: str | None = Field(None, description="The agent that asked, where several used this unique_id.")


class CancelBody(Body):
    """Why the request is withdrawn."""

    reason: str | None = None


class NoteBody(Body):
    """A note for the history."""

    note: str | None = None


class DelegateBody(NoteBody):
    """Whom to hand the request to."""

    to: str


class ReassignBody(NoteBody):
    """A person, or a list in whose shared inbox to put it; with neither it is routed afresh."""

    to: str | None = None
    list: str | None = None


Ids = Annotated[list[str], Field(min_length=1, max_length=1000)]


class BulkFilter(Body):
    """Which open requests, in the words of `GET /api/requests`."""

    request_type: Ids | None = None
    agent: str | None = None
    assigned_to: str | None = Field(None, description="A user, or `nobody`.")
    list: str | None = None
    run_id: str | None = Field(None, max_length=500)
    priority_min: int | None = Field(None, ge=1, le=100)
    priority_max: int | None = Field(None, ge=1, le=100)
    created_from: Instant | None = None
    created_to: Instant | None = None
    q: str | None = Field(None, min_length=1, max_length=500)


class BulkBody(ReassignBody):
    """One action on many requests: by their `ids`, or all open ones that a `filter` finds."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"action": "reassign", "filter": {"assigned_to": "alice"}, "to": "bob", "note": "Alice is ill"},
                {"action": "cancel", "ids": ["7f1c9c3e-5f0a-5d7e-9a54-2f3d0f8b6a11"]},
            ]
        }
    )

    action: Literal["reassign", "cancel"]
    ids: Ids | None = None
    filter: BulkFilter | None = None


class SnoozeBody(Body):
    """Until when, or for how long; one of the two."""

    until: Instant | None = None
    seconds: float | None = Field(None, gt=0, le=90 * 86400)


class ExplainBody(CreateRequest):
    """A request as it would be asked."""

    agent: str | None = Field(None, description="Whose request it would be; for administrators and auditors.")


class ReceiptBody(Body):
    """A receipt that the collector made at random; who has it may fetch the answer again for 60 s."""

    receipt: str = Field(min_length=8, max_length=200)


class AcknowledgeBody(Body):
    """For a sealed answer, the receipt that it was collected with; any other answer needs none."""

    receipt: str | None = Field(None, min_length=8, max_length=200)


# -- answers


class Assignment(BaseModel):
    """Who was asked, and why."""

    level: str
    strategy: dict[str, Any] | None
    candidates: list[str]
    chosen: str | None
    reason: str
    trace: list[dict[str, Any]]


class ExplainedView(BaseModel):
    """Who would be asked, and what would hold for the request; nothing was created."""

    assignment: Assignment
    assigned_to: str | None
    list: str | None
    priority: int
    expires_at: str | None


class BulkResult(BaseModel):
    """What became of one request."""

    id: str
    status: int = Field(description="As the single call would have answered.")
    position: int | None
    detail: str | None


class BulkView(BaseModel):
    """One result for each request."""

    results: list[BulkResult]
    more: bool = Field(description="Whether the filter finds more than could be done at once: send it again.")
    position: int


class PlanStep(BaseModel):
    """What happens next, and when."""

    step: str
    at: str
    what: str


Plan = list[PlanStep]


class ResponseView(BaseModel):
    """The accepted answer. A sealed one shows only that it is there."""

    outcome: Literal["approved", "rejected", "answered"]
    text: str | None
    data: Any
    sealed: bool
    by: str
    via: Literal["web", "slack", "api", "mcp", "cli"]
    at: str
    acknowledged_at: str | None = Field(description="When the agent said that it used the answer; null: not so far.")


class CancelledView(BaseModel):
    """Who withdrew the request, and why."""

    by: str
    reason: str | None
    at: str


class RequestView(BaseModel):
    """A request as everybody who may read it sees it."""

    id: str
    unique_id: str
    status: Literal["Requested", "Responded", "Cancelled", "Expired"]
    message: str | None = Field(description="null once the content was erased.")
    context: str | None
    request_type: str
    agent: str
    run_id: str | None
    run_step_id: str | None
    run_user: str | None
    response_schema: dict[str, Any] | None
    ui_schema: dict[str, Any] | None
    options: list[str] | None
    labels: dict[str, str] | None
    secret: bool
    priority: int
    assigned_to: str | None
    list: str | None
    claimed: bool
    assignment: Assignment
    plan: Plan
    snoozed_until: str | None
    created_at: str
    expires_at: str | None
    closed_at: str | None
    metadata: dict[str, Any] | None
    response: ResponseView | None
    cancelled: CancelledView | None
    erased: bool
    position: int
    version: int


class HistoryItem(BaseModel):
    """One event of a request."""

    model_config = ConfigDict(extra="allow")

    position: int
    type: str
    at: str
    actor: str


class HistoryView(BaseModel):
    """All events of a request, oldest first."""

    items: list[HistoryItem]
    position: int


class Written(BaseModel):
    """Where in the log the change stands."""

    position: int


class Submitted(Written):
    """The answer was accepted."""

    success: Literal[True]


class ToolDefinitions(BaseModel):
    """Functions for a model to call."""

    tools: list[dict[str, Any]]


class ToolResult(Written):
    """What a tool answers."""

    outcome: Literal["approved", "rejected", "answered", "expired", "cancelled", "open"] = Field(
        description="Only `approved` permits what was asked for; with `expired`, `cancelled` and `open` nobody decided."
    )
    text: str | None
    data: Any
    by: str | None
    at: str | None
    request_id: str
    unique_id: str
    words: str = Field(description="The same in words that a model does not mistake.")


class CollectedView(Written):
    """A sealed answer, shown to the agent only."""

    outcome: Literal["approved", "rejected", "answered"]
    text: str | None
    data: Any


class Problem(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]] | None = None
    request: dict[str, Any] | None = None


# -- lists, dashboard, audit


class RequestItem(BaseModel):
    """A request in a list: what is needed to pick one, never an answer."""

    id: str
    unique_id: str
    status: Literal["Requested", "Responded", "Cancelled", "Expired"]
    summary: str | None = Field(description="The beginning of the message; null once erased.")
    request_type: str
    kind: Literal["form", "options", "approval", "review", "text"] | None = Field(
        description="How it is answered; null once erased."
    )
    agent: str
    run_id: str | None
    run_step_id: str | None
    run_user: str | None
    secret: bool
    priority: int
    assigned_to: str | None
    list: str | None
    claimed: bool
    snoozed_until: str | None
    created_at: str
    expires_at: str | None
    closed_at: str | None
    outcome: Literal["approved", "rejected", "answered"] | None
    acknowledged_at: str | None
    erased: bool
    position: int


class RequestPage(BaseModel):
    items: list[RequestItem]
    next_cursor: str | None
    position: int


class InboxPage(RequestPage):
    total: int | None = Field(
        None,
        description="How many the scope holds, whatever `ids`, `limit` and `cursor`; there where `count` asks for it.",
    )


class CountsView(BaseModel):
    """How many requests each scope holds."""

    mine: int
    shared: int
    all: int
    position: int


class Oldest(BaseModel):
    """The request that has waited longest."""

    id: str
    created_at: str


class TimeToAnswer(BaseModel):
    """Seconds from asking to answering, over the latest answers."""

    p50: float | None
    p90: float | None
    of_latest: int


class Counted(BaseModel):
    """How many in an hour or a day that starts at `from`."""

    model_config = ConfigDict(populate_by_name=True)

    from_: str = Field(alias="from")
    count: int


class DashboardView(BaseModel):
    """Counts are by status within each type, agent and person."""

    by_status: dict[str, int]
    by_type: dict[str, dict[str, int]]
    by_agent: dict[str, dict[str, int]]
    by_person: dict[str, dict[str, int]]
    oldest_open: Oldest | None
    open_older_than_a_day: int
    open_older_than_a_week: int
    time_to_answer_seconds: TimeToAnswer
    answered_per_hour: list[Counted]
    answered_per_day: list[Counted]
    unacknowledged: int = Field(
        description="Answered in the last 7 days, for longer than the time of grace by now, and not acknowledged by "
        "the agent; counted up to 10,000."
    )
    acknowledge_grace_seconds: float
    position: int


class AuditItem(BaseModel):
    """One event. `facts` stay for good, `content` until it is erased."""

    position: int
    at: str
    type: str
    of: str = Field(description="What it happened to: Request, User, Agent, AccessKey.")
    actor: str
    aggregate_id: str
    request_id: str | None
    agent: str | None
    facts: dict[str, Any]
    content: dict[str, Any] | None


class AuditPageView(BaseModel):
    items: list[AuditItem]
    next_cursor: str | None
    position: int


class HeadView(BaseModel):
    """`head` is `<position>:<hash>`; the Ed25519 signature covers `head`, a space and `at`."""

    position: int
    hash: str
    head: str
    at: str
    signature: str
    public_key: str


class VerificationView(BaseModel):
    """What this replica has verified of the hash chain."""

    verified_to: int = Field(description="Every event up to this position is the one that was written.")
    head_position: int
    intact: bool
    problem: str | None = Field(description="The first place where the chain does not hold, and why.")
    at: str
