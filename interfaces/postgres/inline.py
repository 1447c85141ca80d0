"""Inline tables: changed in the transaction that appends the events, so that decisions see the truth.

For each kind of event, the rows it means. The writer runs each statement once for all events of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from application.deadlines import EXPIRE, SHRED
from domain.directory import AccessKey, Agent, User
from domain.recorded import RecordedEvent
from domain.request import RECEIPT_LIFETIME, Request


@dataclass(frozen=True, slots=True)
class Bulk:
    """A statement that takes one array a column and so does for many rows at once."""

    sql: str


Change = tuple[Bulk, tuple[Any, ...]]
"""A statement and one row for it."""

ADD_DATA_KEY = Bulk("INSERT INTO data_keys (aggregate_id, wrapped) SELECT * FROM unnest(%b::uuid[], %b::bytea[])")
DESTROY_DATA_KEY = Bulk("UPDATE data_keys SET wrapped = NULL WHERE aggregate_id = ANY(%b::uuid[])")
ADD_SEALED_ANSWER = Bulk(
    "INSERT INTO sealed_answers (request_id, wrapped_key, ciphertext)"
    " SELECT * FROM unnest(%b::uuid[], %b::bytea[], %b::bytea[])"
)
REMOVE_SEALED_ANSWER = Bulk("DELETE FROM sealed_answers WHERE request_id = ANY(%b::uuid[])")
ADD_REQUEST_NAME = Bulk(
    "INSERT INTO request_names (unique_id, agent_id, request_id)"
    " SELECT * FROM unnest(%b::text[], %b::uuid[], %b::uuid[])"
)
SET_DUE_STEP = Bulk(
    "INSERT INTO due_steps (request_id, step, due_at)"
    " SELECT * FROM unnest(%b::uuid[], %b::text[], %b::timestamptz[])"
    " ON CONFLICT (request_id, step) DO UPDATE SET due_at = excluded.due_at, leased_until = NULL"
)
REMOVE_DUE_STEPS = Bulk("DELETE FROM due_steps WHERE request_id = ANY(%b::uuid[])")
ADD_USER = Bulk(
    "INSERT INTO users (id, readable_id, name, email, role)"
    " SELECT * FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::text[], %b::text[])"
)
ADD_AGENT = Bulk(
    "INSERT INTO agents (id, readable_id, name, owner)"
    " SELECT * FROM unnest(%b::uuid[], %b::text[], %b::text[], %b::uuid[])"
)
ADD_KEY = Bulk(
    "INSERT INTO access_keys (id, readable_id, sha256, name, agent_id, user_id, run_user, created_at, expires_at)"
    " SELECT * FROM unnest(%b::uuid[], %b::text[], %b::bytea[], %b::text[], %b::uuid[], %b::uuid[], %b::uuid[],"
    " %b::timestamptz[], %b::timestamptz[])"
)
REVOKE_KEY = Bulk("UPDATE access_keys SET revoked = true WHERE id = ANY(%b::uuid[])")


def changes(event: RecordedEvent) -> Iterator[Change]:
    """The inline rows that this event means."""
    id = event.originator_id
    match event:
        case Request.Requested():
            yield ADD_REQUEST_NAME, (event.unique_id, event.agent_id, id)
            if event.expires_at is not None:
                yield SET_DUE_STEP, (id, EXPIRE, event.expires_at)
        case Request.Responded():
            yield REMOVE_DUE_STEPS, (id,)
            if event.sealed_until is not None:
                yield SET_DUE_STEP, (id, SHRED, event.sealed_until)
        case Request.Cancelled() | Request.Expired():
            yield REMOVE_DUE_STEPS, (id,)
        case Request.Collected():
            yield SET_DUE_STEP, (id, SHRED, event.timestamp + RECEIPT_LIFETIME + timedelta(seconds=1))
        case Request.Acknowledged():
            yield REMOVE_DUE_STEPS, (id,)
            yield REMOVE_SEALED_ANSWER, (id,)
        case Request.ContentErased():
            yield REMOVE_DUE_STEPS, (id,)
            yield REMOVE_SEALED_ANSWER, (id,)
            yield DESTROY_DATA_KEY, (id,)
        case User.Added():
            yield ADD_USER, (id, event.readable_id, event.name, event.email, event.role)
        case Agent.Added():
            yield ADD_AGENT, (id, event.readable_id, event.name, event.owner)
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
        case AccessKey.Revoked():
            yield REVOKE_KEY, (id,)
        case _:
            pass
