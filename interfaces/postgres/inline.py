"""Inline tables: changed in the transaction that appends the events, so that decisions see the truth.

For each kind of event, the rows it means. The writer runs each statement once for all events of a batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import UUID

from application.deadlines import DEPART, SHRED
from application.webhooks import REPORT
from domain.access_keys import AccessKey
from domain.agent_types import AgentType
from domain.agents import Agent
from domain.assignment import turn_of
from domain.callers import Role
from domain.categories import Category
from domain.directory import DirectoryEntry, directory_id
from domain.lists import MemberList
from domain.recorded import RecordedEvent
from domain.request import RECEIPT_LIFETIME, Request
from domain.request_types import RequestType
from domain.sessions import EmbedToken, Session, SignInLink
from domain.slack import SlackConfiguration
from domain.timetable import ERASE, ESCALATE, EXPIRE, NOTIFY, UPDATE, WEB
from domain.users import User, away
from domain.webhooks import Webhook

CHANNEL = "handraise"
"""Of every NOTIFY of ours."""

SLACK = "slack"
"""The channel whose messages people answer where they stand."""

SLACK_CHANGED = "slack"
"""The payload of a NOTIFY that says that servers should look at the settings of Slack."""

WEBHOOKS_CHANGED = "webhooks"
"""The payload of a NOTIFY that says that servers should look whether there are any webhooks."""

SLACK_TOKEN_IDS = {
    "bot_token": UUID("5b0f3f0e-4f3a-5d6b-8c1e-0a9d6f2b7c11"),
    "app_token": UUID("9d1c7e2a-6b58-5f0d-a3c4-7e2b8f5d1a22"),
}
"""The rows of the tokens, to which the encrypted tokens are bound."""


@dataclass(frozen=True, slots=True)
class Bulk:
    """A statement that takes one array a column and so does for many rows at once.

    Of those that are due together, the one that is defined first here runs first.
    """

    sql: str
    order: int = field(default_factory=count().__next__)
    wrapped: int | None = None
    """The column that is wrapped under the master key, when the row is written."""


Change = tuple[Bulk, tuple[Any, ...]]
"""A statement and one row for it."""

ADD_DATA_KEY = Bulk(
    "INSERT INTO data_keys (aggregate_id, wrapped) SELECT * FROM unnest(%b::uuid[], %b::bytea[])", wrapped=1
)
DESTROY_DATA_KEY = Bulk("UPDATE data_keys SET wrapped = NULL WHERE aggregate_id = ANY(%b::uuid[])")
ADD_SEALED_ANSWER = Bulk(
    "INSERT INTO sealed_answers (request_id, wrapped_key, ciphertext)"
    " SELECT * FROM unnest(%b::uuid[], %b::bytea[], %b::bytea[])",
    wrapped=1,
)
REMOVE_SEALED_ANSWER = Bulk("DELETE FROM sealed_answers WHERE request_id = ANY(%b::uuid[])")
ADD_REQUEST_NAME = Bulk(
    "INSERT INTO request_names (unique_id, agent_id, request_id)"
    " SELECT * FROM unnest(%b::text[], %b::uuid[], %b::uuid[])"
)
# But for the report to a webhook: when something closes there is none yet, and one that is closed is reported all the
# same when its content is erased.
REMOVE_DUE_STEPS = Bulk(
    f"DELETE FROM due_steps WHERE request_id = ANY(%b::uuid[]) AND NOT starts_with(step, '{REPORT}:')"  # noqa: S608
)
REMOVE_DUE_STEP = Bulk(
    "DELETE FROM due_steps USING unnest(%b::uuid[], %b::text[]) AS r(request_id, step)"
    " WHERE due_steps.request_id = r.request_id AND due_steps.step = r.step"
)
# Several events of one request may mean the same step: of a row that stands twice, the later one.
SET_DUE_STEP = Bulk(
    "INSERT INTO due_steps (request_id, step, due_at)"
    " SELECT request_id, step, max(due_at) FROM unnest(%b::uuid[], %b::text[], %b::timestamptz[])"
    " AS s(request_id, step, due_at) GROUP BY request_id, step"
    " ON CONFLICT (request_id, step) DO UPDATE SET due_at = excluded.due_at, leased_until = NULL"
)
# One that somebody carries out just now stays leased, unless its time is another one now.
MOVE_DUE_STEP = Bulk(
    "INSERT INTO due_steps (request_id, step, due_at)"
    " SELECT * FROM unnest(%b::uuid[], %b::text[], %b::timestamptz[])"
    " ON CONFLICT (request_id, step) DO UPDATE SET due_at = excluded.due_at, leased_until = NULL"
    " WHERE due_steps.due_at <> excluded.due_at"
)
# Where the agent has a webhook, which is seen here and nowhere before. Left out while no agent has one.
REPORT_CLOSED = Bulk(
    f"INSERT INTO due_steps (request_id, step, due_at) SELECT c.request_id, '{REPORT}:' || c.agent_id, c.at"  # noqa: S608  our own
    " FROM unnest(%b::uuid[], %b::uuid[], %b::timestamptz[]) AS c(request_id, agent_id, at)"
    " JOIN webhooks w ON w.agent_id = c.agent_id AND w.enabled ON CONFLICT (request_id, step) DO NOTHING"
)
COUNT_OPEN = Bulk(
    "INSERT INTO open_counts AS c SELECT holder_id, sum(change) FROM unnest(%b::uuid[], %b::bigint[])"
    " AS changes(holder_id, change) GROUP BY holder_id HAVING sum(change) <> 0"
    " ON CONFLICT (holder_id) DO UPDATE SET count = c.count + excluded.count"
)
TAKE_TURN = Bulk(
    "UPDATE lists SET last_turn = last.user_id FROM (SELECT DISTINCT ON (list_id) list_id, user_id"
    "  FROM unnest(%b::uuid[], %b::uuid[]) WITH ORDINALITY AS turns(list_id, user_id, number)"
    "  ORDER BY list_id, number DESC) AS last WHERE lists.id = last.list_id"
)
CHANGE_DIRECTORY = Bulk("UPDATE directory_version SET version = version + cardinality(%b::boolean[])")
ADD_USER = Bulk(
    "INSERT INTO users (id, readable_id, name, email, role)"
    " SELECT * FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::text[], %b::text[])"
)
CHANGE_USER = Bulk(
    "UPDATE users SET name = c.name, email = c.email, role = c.role, active = c.active,"
    " slack_user_id = c.slack_user_id, time_zone = c.time_zone, quiet_hours = c.quiet_hours::jsonb,"
    " out_of_office = c.out_of_office::jsonb, away_from = c.away_from, away_until = c.away_until,"
    " stand_in = c.stand_in"
    " FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::text[], %b::boolean[], %b::text[], %b::text[], %b::text[],"
    " %b::text[], %b::timestamptz[], %b::timestamptz[], %b::uuid[]) AS c(id, name, email, role, active,"
    " slack_user_id, time_zone, quiet_hours, out_of_office, away_from, away_until, stand_in) WHERE users.id = c.id"
)
ERASE_USER = Bulk("UPDATE users SET name = NULL, email = NULL, slack_user_id = NULL WHERE id = ANY(%b::uuid[])")
REMOVE_USER = Bulk("UPDATE users SET active = false, removed = true WHERE id = ANY(%b::uuid[])")
ADD_AGENT = Bulk(
    "INSERT INTO agents (id, readable_id, name, owner)"
    " SELECT * FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::uuid[])"
)
CHANGE_AGENT = Bulk(
    "UPDATE agents SET name = c.name, owner = c.owner, agent_type = c.agent_type, category = c.category"
    " FROM unnest(%b::uuid[], %b::text[], %b::uuid[], %b::uuid[], %b::uuid[])"
    " AS c(id, name, owner, agent_type, category) WHERE agents.id = c.id"
)
REMOVE_AGENT = Bulk("UPDATE agents SET removed = true WHERE id = ANY(%b::uuid[])")
ADD_LIST = Bulk("INSERT INTO lists (id, readable_id, name) SELECT * FROM unnest(%b::uuid[], %b::text[], %b::text[])")
# The turn goes back to the nearest member before it who stays; with none left before it, the list begins anew.
CHANGE_LIST = Bulk(
    "UPDATE lists SET name = c.name, last_turn = (SELECT before.user_id"
    "  FROM list_members AS before JOIN list_members AS last"
    "  ON last.list_id = before.list_id AND last.place >= before.place AND last.user_id = lists.last_turn"
    "  WHERE before.list_id = lists.id AND before.user_id = ANY(c.members::uuid[])"
    "  ORDER BY before.place DESC LIMIT 1)"
    " FROM unnest(%b::uuid[], %b::text[], %b::text[]) AS c(id, name, members) WHERE lists.id = c.id"
)
REMOVE_LIST = Bulk("UPDATE lists SET removed = true WHERE id = ANY(%b::uuid[])")
CLEAR_MEMBERS = Bulk("DELETE FROM list_members WHERE list_id = ANY(%b::uuid[])")
ADD_MEMBER = Bulk(
    "INSERT INTO list_members (list_id, place, user_id) SELECT * FROM unnest(%b::uuid[], %b::integer[], %b::uuid[])"
)
ADD_AGENT_TYPE = Bulk(
    "INSERT INTO agent_types (id, readable_id, name, assignment_strategy)"
    " SELECT id, readable_id, name, strategy::jsonb FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::text[])"
    " AS a(id, readable_id, name, strategy)"
)
CHANGE_AGENT_TYPE = Bulk(
    "UPDATE agent_types SET name = c.name, assignment_strategy = c.strategy::jsonb"
    " FROM unnest(%b::uuid[], %b::text[], %b::text[]) AS c(id, name, strategy) WHERE agent_types.id = c.id"
)
REMOVE_AGENT_TYPE = Bulk("UPDATE agent_types SET removed = true WHERE id = ANY(%b::uuid[])")
ADD_CATEGORY = Bulk(
    "INSERT INTO categories (id, readable_id, name, parent, assignment_strategy)"
    " SELECT id, readable_id, name, parent, strategy::jsonb"
    " FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::uuid[], %b::text[])"
    " AS a(id, readable_id, name, parent, strategy)"
)
CHANGE_CATEGORY = Bulk(
    "UPDATE categories SET name = c.name, parent = c.parent, assignment_strategy = c.strategy::jsonb"
    " FROM unnest(%b::uuid[], %b::text[], %b::uuid[], %b::text[]) AS c(id, name, parent, strategy)"
    " WHERE categories.id = c.id"
)
REMOVE_CATEGORY = Bulk("UPDATE categories SET removed = true WHERE id = ANY(%b::uuid[])")
ADD_REQUEST_TYPE = Bulk(
    "INSERT INTO request_types (id, readable_id, name, default_assignment_strategy, default_priority,"
    " default_expiration_minutes, no_self_answer, erase_after_days)"
    " SELECT id, readable_id, name, strategy::jsonb, priority, minutes, no_self_answer, days"
    " FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::text[], %b::integer[], %b::float8[], %b::boolean[],"
    " %b::float8[]) AS a(id, readable_id, name, strategy, priority, minutes, no_self_answer, days)"
)
CHANGE_REQUEST_TYPE = Bulk(
    "UPDATE request_types SET name = c.name, default_assignment_strategy = c.strategy::jsonb,"
    " default_priority = c.priority, default_expiration_minutes = c.minutes, no_self_answer = c.no_self_answer,"
    " erase_after_days = c.days"
    " FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::integer[], %b::float8[], %b::boolean[], %b::float8[])"
    " AS c(id, name, strategy, priority, minutes, no_self_answer, days) WHERE request_types.id = c.id"
)
REMOVE_REQUEST_TYPE = Bulk("UPDATE request_types SET removed = true WHERE id = ANY(%b::uuid[])")
ADD_KEY = Bulk(
    "INSERT INTO access_keys (id, readable_id, sha256, name, agent_id, user_id, run_user, created_at, expires_at)"
    " SELECT * FROM unnest(%b::uuid[], %b::text[], %b::bytea[], %b::text[], %b::uuid[], %b::uuid[], %b::uuid[],"
    " %b::timestamptz[], %b::timestamptz[])"
)
CHANGE_KEY = Bulk(
    "UPDATE access_keys SET name = c.name, expires_at = c.expires_at"
    " FROM unnest(%b::uuid[], %b::text[], %b::timestamptz[]) AS c(id, name, expires_at) WHERE access_keys.id = c.id"
)
ROTATE_KEY = Bulk(
    "UPDATE access_keys SET sha256 = c.sha256, last_used_at = NULL"
    " FROM unnest(%b::uuid[], %b::bytea[]) AS c(id, sha256) WHERE access_keys.id = c.id"
)
OPEN_SESSION = Bulk(
    "INSERT INTO sessions (id, sha256, user_id, expires_at, embedded)"
    " SELECT * FROM unnest(%b::uuid[], %b::bytea[], %b::uuid[], %b::timestamptz[], %b::boolean[])"
)
CLOSE_SESSION = Bulk("DELETE FROM sessions WHERE id = ANY(%b::uuid[])")
CLOSE_SESSIONS_OF = Bulk("DELETE FROM sessions WHERE user_id = ANY(%b::uuid[])")
MAKE_LINK = Bulk(
    "INSERT INTO sign_in_links (id, sha256, expires_at)"
    " SELECT * FROM unnest(%b::uuid[], %b::bytea[], %b::timestamptz[])"
)
USE_LINK = Bulk("DELETE FROM sign_in_links WHERE id = ANY(%b::uuid[])")
SET_PASSWORD = Bulk(
    "INSERT INTO passwords (user_id, hash) SELECT * FROM unnest(%b::uuid[], %b::text[])"
    " ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash"
)
FORGET_PASSWORD = Bulk("DELETE FROM passwords WHERE user_id = ANY(%b::uuid[])")
FORGET_SUBSCRIPTIONS = Bulk("DELETE FROM push_subscriptions WHERE user_id = ANY(%b::uuid[])")
REVOKE_KEY = Bulk("UPDATE access_keys SET revoked = true WHERE id = ANY(%b::uuid[])")
SET_SLACK = Bulk(
    "INSERT INTO slack_configuration (id, version, enabled, channel_id, notification_delay_seconds)"
    " SELECT * FROM unnest(%b::uuid[], %b::bigint[], %b::boolean[], %b::text[], %b::float8[])"
    " ON CONFLICT (id) DO UPDATE SET version = excluded.version, enabled = excluded.enabled,"
    " channel_id = excluded.channel_id, notification_delay_seconds = excluded.notification_delay_seconds"
)
SET_SLACK_TOKEN = Bulk(
    "INSERT INTO slack_tokens (id, wrapped) SELECT * FROM unnest(%b::uuid[], %b::bytea[])"
    " ON CONFLICT (id) DO UPDATE SET wrapped = excluded.wrapped",
    wrapped=1,
)
FORGET_SLACK_TOKEN = Bulk("DELETE FROM slack_tokens WHERE id = ANY(%b::uuid[])")
SHOW_IN_SLACK = Bulk(
    "INSERT INTO slack_messages (channel, ts, request_id) SELECT * FROM unnest(%b::text[], %b::text[], %b::uuid[])"
    " ON CONFLICT (channel, ts) DO NOTHING"
)
SET_WEBHOOK = Bulk(
    "INSERT INTO webhooks (agent_id, url, enabled, created_at, changed_at)"
    " SELECT agent_id, url, enabled, at, at FROM unnest(%b::uuid[], %b::text[], %b::boolean[], %b::timestamptz[])"
    " AS w(agent_id, url, enabled, at) ON CONFLICT (agent_id) DO UPDATE"
    " SET url = excluded.url, enabled = excluded.enabled, changed_at = excluded.changed_at"
)
REMOVE_WEBHOOK = Bulk("DELETE FROM webhooks WHERE agent_id = ANY(%b::uuid[])")
FORGET_WEBHOOK_SECRETS = Bulk("DELETE FROM webhook_secrets WHERE agent_id = ANY(%b::uuid[])")
# Of two at most the older one goes at once: it was to be replaced already.
FORGET_REPLACED_SECRET = Bulk("DELETE FROM webhook_secrets WHERE agent_id = ANY(%b::uuid[]) AND expires_at IS NOT NULL")
REPLACE_WEBHOOK_SECRET = Bulk(
    "UPDATE webhook_secrets SET expires_at = r.until FROM unnest(%b::uuid[], %b::timestamptz[]) AS r(agent_id, until)"
    " WHERE webhook_secrets.agent_id = r.agent_id"
)
ADD_WEBHOOK_SECRET = Bulk(
    "INSERT INTO webhook_secrets (id, agent_id, made_at, wrapped)"
    " SELECT * FROM unnest(%b::uuid[], %b::uuid[], %b::timestamptz[], %b::bytea[])",
    wrapped=3,
)
TELL = Bulk(f"SELECT pg_notify('{CHANNEL}', payload) FROM unnest(%b::text[]) AS t(payload)")  # noqa: S608


def changes(events: Sequence[RecordedEvent], aggregate: object) -> Iterator[Change]:
    """The inline rows that these events mean; `aggregate` is what they happened to, as it is after them."""
    for event in events:
        yield from _of(event, aggregate)
    if isinstance(aggregate, DirectoryEntry):
        yield CHANGE_DIRECTORY, (True,)
    elif isinstance(aggregate, Request):
        yield from _times(events, aggregate)


def _of(event: RecordedEvent, aggregate: object) -> Iterator[Change]:
    match event:
        case Request.Event():
            assert isinstance(aggregate, Request)
            yield from _of_request(event, aggregate)
        case User.Event():
            yield from _of_user(event)
        case Agent.Event():
            yield from _of_agent(event)
        case MemberList.Event():
            yield from _of_list(event)
        case AgentType.Event() | Category.Event() | RequestType.Event():
            yield from _of_level(event)
        case AccessKey.Event():
            yield from _of_key(event)
        case Session.Opened():
            sha256 = bytes.fromhex(event.sha256)
            embedded = event.how == "embed"
            yield OPEN_SESSION, (event.originator_id, sha256, event.user_id, event.expires_at, embedded)
        case Session.Closed():
            yield CLOSE_SESSION, (event.originator_id,)
        case SignInLink.Made() | EmbedToken.Made():
            yield MAKE_LINK, (event.originator_id, bytes.fromhex(event.sha256), event.expires_at)
        case SignInLink.Used() | EmbedToken.Used():
            yield USE_LINK, (event.originator_id,)
        case SlackConfiguration.Configured() | SlackConfiguration.Changed():
            facts = (event.enabled, event.channel_id, event.notification_delay_seconds)
            yield SET_SLACK, (event.originator_id, event.originator_version, *facts)
            yield TELL, (SLACK_CHANGED,)
        case Webhook.Event():
            assert isinstance(aggregate, Webhook)
            yield from _of_webhook(event, aggregate.agent_id)
            yield TELL, (WEBHOOKS_CHANGED,)
        case _:
            pass


def _times(events: Sequence[RecordedEvent], request: Request) -> Iterator[Change]:
    """When what comes next is due, where these events changed that."""
    if not request.is_open or not any(isinstance(event, _TIMING) for event in events):
        return
    asked = any(isinstance(event, Request.Requested) for event in events)
    due = request.timetable.due()
    done = {kind for event in events for kind in _carried_out(event, request)}
    for kind in request.timetable.kinds:
        if kind in due and (asked or kind != EXPIRE):
            yield SET_DUE_STEP if kind in done else MOVE_DUE_STEP, (request.id, kind, due[kind])
        elif kind not in due and not asked:
            yield REMOVE_DUE_STEP, (request.id, kind)


def _carried_out(event: RecordedEvent, request: Request) -> Sequence[str]:
    """The kinds of step that this event is of, or makes void: what comes next of them is nobody's yet."""
    match event:
        case Request.Reassigned():
            return request.timetable.kinds
        case Request.Notified() if event.channel == WEB:
            return (ESCALATE,)
        case Request.Notified() if event is request.told_late:  # what is planned may be under way just now
            return ()
        case Request.Notified():
            return (f"{NOTIFY}:{event.channel}",)
        case _:
            return ()


_TIMING = (Request.Requested, Request.Reassigned, Request.Notified, Request.Snoozed)


def _of_request(event: Request.Event, request: Request) -> Iterator[Change]:
    id = event.originator_id
    match event:
        case Request.Requested():
            yield ADD_REQUEST_NAME, (event.unique_id, event.agent_id, id)
            yield COUNT_OPEN, (event.agent_id, 1)
            yield COUNT_OPEN, (directory_id(RequestType.KIND, event.request_type), 1)
            yield from _count(_uuid(event.assignment["chosen"]), _uuid(event.assignment["list"]), 1)
            yield from _turn(event.assignment)
        case Request.Reassigned():
            yield from _count(event.from_user, event.from_list, -1)
            yield from _count(event.to_user, event.to_list, 1)
            yield from _turn(event.assignment)
        case Request.Responded() | Request.Cancelled() | Request.Expired():
            yield REMOVE_DUE_STEPS, (id,)
            if isinstance(event, Request.Responded) and event.sealed_until is not None:
                yield SET_DUE_STEP, (id, SHRED, event.sealed_until)
            if request.erase_due is not None:
                yield SET_DUE_STEP, (id, ERASE, request.erase_due)
            yield REPORT_CLOSED, (id, request.asked.agent_id, event.timestamp)
            yield COUNT_OPEN, (request.asked.agent_id, -1)
            yield COUNT_OPEN, (directory_id(RequestType.KIND, request.asked.request_type), -1)
            yield from _count(request.assigned_to, request.assigned_list, -1)
        case Request.Collected():
            yield SET_DUE_STEP, (id, SHRED, event.timestamp + RECEIPT_LIFETIME + timedelta(seconds=1))
        case Request.Acknowledged() if request.asked.sealed:
            yield REMOVE_DUE_STEP, (id, SHRED)
            yield REMOVE_SEALED_ANSWER, (id,)
        case Request.ContentErased():
            yield REMOVE_DUE_STEPS, (id,)
            yield REMOVE_SEALED_ANSWER, (id,)
            yield DESTROY_DATA_KEY, (id,)
        case Request.Notified() if event.channel == SLACK and event.reference is not None:
            yield SHOW_IN_SLACK, (event.reference["channel"], event.reference["ts"], id)
        case _:
            pass
    if SLACK in request.shows_otherwise(event):
        yield SET_DUE_STEP, (id, f"{UPDATE}:{SLACK}", event.timestamp)


def _count(person: UUID | None, list_id: UUID | None, change: int) -> Iterator[Change]:
    """An open request comes to whoever has it, or goes; a claimed one still belongs to its list."""
    for holder in (person, list_id):
        if holder is not None:
            yield COUNT_OPEN, (holder, change)


def _turn(assignment: dict[str, Any]) -> Iterator[Change]:
    if (list_id := turn_of(assignment)) is not None:
        yield TAKE_TURN, (list_id, UUID(assignment["chosen"]))


def _of_user(event: User.Event) -> Iterator[Change]:
    id = event.originator_id
    match event:
        case User.Added():
            yield ADD_USER, (id, event.readable_id, event.name, event.email, event.role)
        case User.Changed():
            away_from, away_until = away(event.out_of_office, event.time_zone) or (None, None)
            stand_in = _uuid((event.out_of_office or {}).get("stand_in"))
            yield (
                CHANGE_USER,
                (
                    *(id, event.name, event.email, event.role, event.active, event.slack_user_id, event.time_zone),
                    *(_json(event.quiet_hours), _json(event.out_of_office), away_from, away_until, stand_in),
                ),
            )
            if not event.active or event.role == Role.AUDITOR:
                yield SET_DUE_STEP, (id, DEPART, event.timestamp)
            if not event.active:
                yield CLOSE_SESSIONS_OF, (id,)
        case User.Removed():
            yield REMOVE_USER, (id,)
            yield CLOSE_SESSIONS_OF, (id,)
            yield FORGET_PASSWORD, (id,)
            yield FORGET_SUBSCRIPTIONS, (id,)
            yield SET_DUE_STEP, (id, DEPART, event.timestamp)
        case User.ContentErased():
            yield ERASE_USER, (id,)
            yield DESTROY_DATA_KEY, (id,)
        case _:
            pass


def _of_agent(event: Agent.Event) -> Iterator[Change]:
    id = event.originator_id
    match event:
        case Agent.Added():
            yield ADD_AGENT, (id, event.readable_id, event.name, event.owner)
        case Agent.Changed():
            yield CHANGE_AGENT, (id, event.name, event.owner, event.agent_type, event.category)
        case Agent.Removed():
            yield REMOVE_AGENT, (id,)
            yield REMOVE_WEBHOOK, (id,)
            yield FORGET_WEBHOOK_SECRETS, (id,)
        case _:
            pass


def _of_list(event: MemberList.Event) -> Iterator[Change]:
    id = event.originator_id
    match event:
        case MemberList.Added():
            yield ADD_LIST, (id, event.readable_id, event.name)
            yield from _members(id, event.members)
        case MemberList.Changed():
            yield CHANGE_LIST, (id, event.name, "{" + ",".join(map(str, event.members)) + "}")
            yield CLEAR_MEMBERS, (id,)
            yield from _members(id, event.members)
        case MemberList.Removed():
            yield REMOVE_LIST, (id,)
            yield CLEAR_MEMBERS, (id,)
        case _:
            pass


def _members(id: UUID, members: list[UUID]) -> Iterator[Change]:
    for place, member in enumerate(members):
        yield ADD_MEMBER, (id, place, member)


def _of_level(event: AgentType.Event | Category.Event | RequestType.Event) -> Iterator[Change]:
    id = event.originator_id
    match event:
        case AgentType.Added():
            yield ADD_AGENT_TYPE, (id, event.readable_id, event.name, _json(event.assignment_strategy))
        case AgentType.Changed():
            yield CHANGE_AGENT_TYPE, (id, event.name, _json(event.assignment_strategy))
        case AgentType.Removed():
            yield REMOVE_AGENT_TYPE, (id,)
        case Category.Added():
            yield ADD_CATEGORY, (id, event.readable_id, event.name, event.parent, _json(event.assignment_strategy))
        case Category.Changed():
            yield CHANGE_CATEGORY, (id, event.name, event.parent, _json(event.assignment_strategy))
        case Category.Removed():
            yield REMOVE_CATEGORY, (id,)
        case RequestType.Added():
            yield ADD_REQUEST_TYPE, (id, event.readable_id, *_type_values(event))
        case RequestType.Changed():
            yield CHANGE_REQUEST_TYPE, (id, *_type_values(event))
        case RequestType.Removed():
            yield REMOVE_REQUEST_TYPE, (id,)
        case _:
            pass


def _type_values(event: RequestType.Added | RequestType.Changed) -> tuple[Any, ...]:
    return (
        event.name,
        _json(event.default_assignment_strategy),
        event.default_priority,
        event.default_expiration_minutes,
        event.no_self_answer,
        event.erase_after_days,
    )


def _of_key(event: AccessKey.Event) -> Iterator[Change]:
    id = event.originator_id
    match event:
        case AccessKey.Created():
            yield (
                ADD_KEY,
                (
                    id,
                    event.readable_id,
                    bytes.fromhex(event.sha256),
                    event.name,
                    event.agent_id,
                    event.user_id,
                    event.run_user,
                    event.timestamp,
                    event.expires_at,
                ),
            )
        case AccessKey.Changed():
            yield CHANGE_KEY, (id, event.name, event.expires_at)
        case AccessKey.Rotated():
            yield ROTATE_KEY, (id, bytes.fromhex(event.sha256))
        case AccessKey.Revoked():
            yield REVOKE_KEY, (id,)
        case _:
            pass


def _of_webhook(event: Webhook.Event, agent_id: UUID) -> Iterator[Change]:
    match event:
        case Webhook.Configured() | Webhook.Changed():
            yield SET_WEBHOOK, (agent_id, event.url, event.enabled, event.timestamp)
        case Webhook.SecretRotated():
            yield FORGET_REPLACED_SECRET, (agent_id,)
            yield REPLACE_WEBHOOK_SECRET, (agent_id, event.previous_until)
        case Webhook.Removed():
            yield REMOVE_WEBHOOK, (agent_id,)
            yield FORGET_WEBHOOK_SECRETS, (agent_id,)
        case _:
            pass


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _uuid(text: str | None) -> UUID | None:
    return UUID(text) if text else None
