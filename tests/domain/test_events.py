"""Events as they are stored: their topics and forms never change under what is in a log already."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

import pytest
from eventsourcing.domain import BaseAggregate
from eventsourcing.persistence import StoredEvent
from eventsourcing.utils import TopicError, get_topic, register_topic, resolve_topic

from domain.access_keys import AccessKey
from domain.agent_types import AgentType
from domain.agents import Agent
from domain.assignment import by_command, fall_back
from domain.categories import Category
from domain.directory import DirectoryEntry
from domain.lists import MemberList
from domain.recorded import RecordedEvent, TimestampMissing
from domain.request import Request, rebuild
from domain.request_types import RequestType
from domain.sessions import EmbedToken, Session, SignInLink
from domain.slack import SlackConfiguration
from domain.users import User
from domain.webhooks import Webhook
from interfaces.postgres.sealing import NewerVersion, SealingMapper

AGGREGATES: dict[str, type[BaseAggregate[UUID]]] = {
    "handraise.Request": Request,
    "handraise.User": User,
    "handraise.Agent": Agent,
    "handraise.AccessKey": AccessKey,
    "handraise.MemberList": MemberList,
    "handraise.AgentType": AgentType,
    "handraise.Category": Category,
    "handraise.RequestType": RequestType,
    "handraise.Session": Session,
    "handraise.SignInLink": SignInLink,
    "handraise.EmbedToken": EmbedToken,
    "handraise.SlackConfiguration": SlackConfiguration,
    "handraise.Webhook": Webhook,
}
EVENTS: dict[str, type[RecordedEvent]] = {
    "handraise.Request.Requested": Request.Requested,
    "handraise.Request.Notified": Request.Notified,
    "handraise.Request.Reassigned": Request.Reassigned,
    "handraise.Request.Responded": Request.Responded,
    "handraise.Request.Cancelled": Request.Cancelled,
    "handraise.Request.Expired": Request.Expired,
    "handraise.Request.AnswerRefused": Request.AnswerRefused,
    "handraise.Request.Collected": Request.Collected,
    "handraise.Request.Acknowledged": Request.Acknowledged,
    "handraise.Request.ContentErased": Request.ContentErased,
    "handraise.Request.Snoozed": Request.Snoozed,
    "handraise.User.Added": User.Added,
    "handraise.Agent.Added": Agent.Added,
    "handraise.AccessKey.Created": AccessKey.Created,
    "handraise.AccessKey.Revoked": AccessKey.Revoked,
    "handraise.User.Changed": User.Changed,
    "handraise.User.Removed": User.Removed,
    "handraise.Agent.Changed": Agent.Changed,
    "handraise.Agent.Removed": Agent.Removed,
    "handraise.AccessKey.Changed": AccessKey.Changed,
    "handraise.MemberList.Added": MemberList.Added,
    "handraise.MemberList.Changed": MemberList.Changed,
    "handraise.MemberList.Removed": MemberList.Removed,
    "handraise.AgentType.Added": AgentType.Added,
    "handraise.AgentType.Changed": AgentType.Changed,
    "handraise.AgentType.Removed": AgentType.Removed,
    "handraise.Category.Added": Category.Added,
    "handraise.Category.Changed": Category.Changed,
    "handraise.Category.Removed": Category.Removed,
    "handraise.RequestType.Added": RequestType.Added,
    "handraise.RequestType.Changed": RequestType.Changed,
    "handraise.RequestType.Removed": RequestType.Removed,
    "handraise.User.ContentErased": User.ContentErased,
    "handraise.User.PasswordSet": User.PasswordSet,
    "handraise.AccessKey.Rotated": AccessKey.Rotated,
    "handraise.Session.Opened": Session.Opened,
    "handraise.Session.Closed": Session.Closed,
    "handraise.SignInLink.Made": SignInLink.Made,
    "handraise.SignInLink.Used": SignInLink.Used,
    "handraise.EmbedToken.Made": EmbedToken.Made,
    "handraise.EmbedToken.Used": EmbedToken.Used,
    "handraise.SlackConfiguration.Configured": SlackConfiguration.Configured,
    "handraise.SlackConfiguration.Changed": SlackConfiguration.Changed,
    "handraise.Webhook.Configured": Webhook.Configured,
    "handraise.Webhook.Changed": Webhook.Changed,
    "handraise.Webhook.SecretRotated": Webhook.SecretRotated,
    "handraise.Webhook.Removed": Webhook.Removed,
}
"""Every topic that may stand in a log. A line here is never changed, only added."""

ID = UUID("6f0e7a52-9f5c-5b5e-8f53-0a3f6d1c2b4a")
AGENT = UUID("11111111-1111-5111-8111-111111111111")
ANNA = UUID("22222222-2222-5222-8222-222222222222")
BERT = UUID("33333333-3333-5333-8333-333333333333")
LIST = UUID("44444444-4444-5444-8444-444444444444")
AT = datetime(2026, 3, 1, 12, 0, 10, 123456, tzinfo=UTC)
DATA_KEY = bytes(range(32))

AGENT_HEX = {"_type_": "uuid_hex", "_data_": "11111111111151118111111111111111"}
ANNA_HEX = {"_type_": "uuid_hex", "_data_": "22222222222252228222222222222222"}
BERT_HEX = {"_type_": "uuid_hex", "_data_": "33333333333353338333333333333333"}
LIST_HEX = {"_type_": "uuid_hex", "_data_": "44444444444454448444444444444444"}
AT_TEXT = {"_type_": "datetime_iso", "_data_": "2026-03-01T12:00:10.123456+00:00"}
DEADLINE_TEXT = {"_type_": "datetime_iso", "_data_": "2026-03-01T12:05:10.123456+00:00"}

GOLDEN: dict[str, tuple[int, dict[str, Any], str | None]] = {
    "handraise.Request.Requested": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.Request",
            "actor": "agent:11111111-1111-5111-8111-111111111111",
            "unique_id": "deploy",
            "agent_id": AGENT_HEX,
            "request_type": "data-input",
            "run_id": "run-1",
            "run_step_id": "step-2",
            "run_user": ANNA_HEX,
            "secret": False,
            "sealed": False,
            "priority": 50,
            "expires_at": DEADLINE_TEXT,
            "assignment": {
                "level": "fallback",
                "reason": "No strategy names anybody: the run user is asked.",
                "chosen": "22222222-2222-5222-8222-222222222222",
                "list": None,
                "strategy": None,
                "candidates": ["22222222-2222-5222-8222-222222222222"],
                "trace": [{"level": "fallback", "said": "the run user"}],
            },
            "plan": [{"step": "show", "at": "2026-03-01T12:00:10.123Z", "what": "shown in the inbox"}],
        },
        (
            "11ma6BXsVm3AvRGuPjetrI+O1n3wUXsFAqu/Rts0GXNb6ELKd3LZk3l4m+oM4vbaxvnsIgPaJITtVuDx1z9pwjyK19qEBAFf"
            "NYBaruN0QNp1Zs09ZZ5G5hklpIYpQWz8641UdGOA5QQizjHBCGZEZriyr6Xn4lZVcEJT/lkiBNwZz0HfPkg5mCQRtiPklYOZ"
            "wccZ2+7vrYYLj/CEHRktCkLsiQnv8EEYcXO5Js0lnkoYqqLY5jZJ0zQ39RdE2y8AHy/XgintBjGP1m+Q4E/HMQnqZycszO6A"
            "rgMOJlKvB9SOSg=="
        ),
    ),
    "handraise.Request.Notified": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "system",
            "step": "slack",
            "channel": "slack",
            "recipient": "user:22222222-2222-5222-8222-222222222222",
            "reference": {"channel": "C1", "ts": "1700000000.000100"},
            "attempt": 1,
            "delivered": True,
            "error": None,
        },
        None,
    ),
    "handraise.Request.Reassigned": (
        3,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "cause": "reassigned",
            "from_user": ANNA_HEX,
            "from_list": LIST_HEX,
            "to_user": BERT_HEX,
            "to_list": None,
            "step": None,
            "assignment": {
                "level": "command",
                "reason": "Named in the command.",
                "chosen": "33333333-3333-5333-8333-333333333333",
                "list": None,
                "strategy": None,
                "candidates": ["33333333-3333-5333-8333-333333333333"],
                "trace": [],
            },
        },
        ("91ekHY1CscLd1zmp7V4/rPTX3fkHRuMKyrvP4BGYCSpYDxMfjrh5+VHjc0SX7jaz6oA8"),
    ),
    "handraise.Request.Responded": (
        4,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "via": "web",
            "outcome": "approved",
            "sealed": False,
            "sealed_until": None,
        },
        ("VaYvWWyWtSzAXopRFasomcdKN0g+gED7IwP4Bb6/7hN5YHd+uJArrWWDfouh927EntUn4K4IIaPJLL36PsVgTI96kg=="),
    ),
    "handraise.Request.Cancelled": (
        5,
        {"timestamp": AT_TEXT, "actor": "agent:11111111-1111-5111-8111-111111111111"},
        ("6aPVI0bSqkyOO0L5b4yfDZOzY6DEo/CIRXucQ5K/WL3iR3nhUj1rekR4QQn/hQs9rbwR"),
    ),
    "handraise.Request.Expired": (
        6,
        {"timestamp": AT_TEXT, "actor": "system"},
        None,
    ),
    "handraise.Request.AnswerRefused": (
        7,
        {"timestamp": AT_TEXT, "actor": "user:22222222-2222-5222-8222-222222222222", "via": "slack", "why": "closed"},
        None,
    ),
    "handraise.Request.Collected": (
        8,
        {
            "timestamp": AT_TEXT,
            "actor": "agent:11111111-1111-5111-8111-111111111111",
            "receipt": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        },
        None,
    ),
    "handraise.Request.Acknowledged": (
        9,
        {"timestamp": AT_TEXT, "actor": "agent:11111111-1111-5111-8111-111111111111"},
        None,
    ),
    "handraise.Request.ContentErased": (
        10,
        {"timestamp": AT_TEXT, "actor": "user:33333333-3333-5333-8333-333333333333"},
        None,
    ),
    "handraise.Request.Snoozed": (
        11,
        {"timestamp": AT_TEXT, "actor": "user:33333333-3333-5333-8333-333333333333", "until": DEADLINE_TEXT},
        None,
    ),
    "handraise.User.Added": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.User",
            "actor": "system",
            "readable_id": "anna",
            "role": "member",
        },
        ("CPoi3Vsln3GaSDlgqmPqkrDo4WnhPQnQKXT+1U0PuGkOcsVc1lWdhpxS4TfURZewyzeyEYWe6saXpGG5tFV2Lm/HviKrJQ=="),
    ),
    "handraise.Agent.Added": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.Agent",
            "actor": "system",
            "readable_id": "deploy-bot",
            "name": "Deploy bot",
            "owner": ANNA_HEX,
        },
        None,
    ),
    "handraise.AccessKey.Created": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.AccessKey",
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "readable_id": "deploy-key",
            "name": "Deploy key",
            "sha256": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
            "agent_id": AGENT_HEX,
            "user_id": None,
            "run_user": ANNA_HEX,
            "expires_at": AT_TEXT,
        },
        None,
    ),
    "handraise.AccessKey.Revoked": (
        2,
        {"timestamp": AT_TEXT, "actor": "user:33333333-3333-5333-8333-333333333333"},
        None,
    ),
    "handraise.User.Changed": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "role": "auditor",
            "active": False,
            "time_zone": "Europe/Berlin",
            "quiet_hours": {"from": "22:00", "to": "07:30"},
            "out_of_office": {
                "from": "2026-12-24",
                "to": "2026-12-31",
                "stand_in": "33333333-3333-5333-8333-333333333333",
            },
        },
        (
            "980vacXjl0mCa5VFrxvWzv+E96W6bkk2ZzRkTRwmcwvqVujE3AG+YqhLkl2pkdpGwaNBhCe6lsfdjct3munbhcm6NOrSlAas"
            "GgBj3sE6ETP9VBppAtJhrHMoNEN5h3I3PRGF"
        ),
    ),
    "handraise.User.Removed": (
        3,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
        },
        None,
    ),
    "handraise.Agent.Changed": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "name": "Deploy bot",
            "owner": ANNA_HEX,
            "agent_type": LIST_HEX,
            "category": None,
        },
        None,
    ),
    "handraise.Agent.Removed": (
        3,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
        },
        None,
    ),
    "handraise.AccessKey.Changed": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "name": "Old key",
            "expires_at": DEADLINE_TEXT,
        },
        None,
    ),
    "handraise.MemberList.Added": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.MemberList",
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "readable_id": "oncall",
            "name": "On call",
            "members": [],
        },
        None,
    ),
    "handraise.MemberList.Changed": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "name": "On call",
            "members": [ANNA_HEX, BERT_HEX],
        },
        None,
    ),
    "handraise.MemberList.Removed": (
        3,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
        },
        None,
    ),
    "handraise.AgentType.Added": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.AgentType",
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "readable_id": "helper",
            "name": "Helper",
            "assignment_strategy": {"type": "List", "listID": "oncall", "priority": 7, "colour": "red"},
        },
        None,
    ),
    "handraise.AgentType.Changed": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "name": "Helper",
            "assignment_strategy": None,
        },
        None,
    ),
    "handraise.AgentType.Removed": (
        3,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
        },
        None,
    ),
    "handraise.Category.Added": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.Category",
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "readable_id": "demo",
            "name": "Demo",
            "parent": None,
            "assignment_strategy": None,
        },
        None,
    ),
    "handraise.Category.Changed": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "name": "Demo",
            "parent": LIST_HEX,
            "assignment_strategy": {"type": "List", "listID": "oncall", "priority": 7, "colour": "red"},
        },
        None,
    ),
    "handraise.Category.Removed": (
        3,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
        },
        None,
    ),
    "handraise.RequestType.Added": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.RequestType",
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "readable_id": "payment",
            "name": "Payment",
            "default_assignment_strategy": None,
            "default_priority": None,
            "default_expiration_minutes": None,
            "no_self_answer": False,
            "erase_after_days": None,
        },
        None,
    ),
    "handraise.RequestType.Changed": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "name": "Payment",
            "default_assignment_strategy": {"type": "List", "listID": "oncall", "priority": 7, "colour": "red"},
            "default_priority": 9,
            "default_expiration_minutes": 90.5,
            "no_self_answer": True,
            "erase_after_days": 30.0,
        },
        None,
    ),
    "handraise.RequestType.Removed": (
        3,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
        },
        None,
    ),
    "handraise.User.ContentErased": (
        4,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
        },
        None,
    ),
    "handraise.User.PasswordSet": (
        3,
        {
            "timestamp": AT_TEXT,
            "actor": "user:22222222-2222-5222-8222-222222222222",
        },
        None,
    ),
    "handraise.AccessKey.Rotated": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "sha256": "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",
        },
        None,
    ),
    "handraise.Session.Opened": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.Session",
            "actor": "user:22222222-2222-5222-8222-222222222222",
            "user_id": ANNA_HEX,
            "how": "oidc",
            "sha256": "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd",
            "expires_at": DEADLINE_TEXT,
        },
        None,
    ),
    "handraise.Session.Closed": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:22222222-2222-5222-8222-222222222222",
        },
        None,
    ),
    "handraise.SignInLink.Made": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.SignInLink",
            "actor": "system",
            "user_id": ANNA_HEX,
            "sha256": "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
            "expires_at": DEADLINE_TEXT,
        },
        None,
    ),
    "handraise.SignInLink.Used": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:22222222-2222-5222-8222-222222222222",
        },
        None,
    ),
    "handraise.EmbedToken.Made": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.EmbedToken",
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "user_id": ANNA_HEX,
            "sha256": "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            "expires_at": DEADLINE_TEXT,
            "session_seconds": 900,
        },
        None,
    ),
    "handraise.EmbedToken.Used": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:22222222-2222-5222-8222-222222222222",
        },
        None,
    ),
    "handraise.SlackConfiguration.Configured": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.SlackConfiguration",
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "enabled": False,
            "channel_id": None,
            "notification_delay_seconds": 120.0,
            "tokens": ["bot_token"],
            "tokens_changed": ["bot_token"],
        },
        None,
    ),
    "handraise.SlackConfiguration.Changed": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "enabled": True,
            "channel_id": "C0123456789",
            "notification_delay_seconds": 0.5,
            "tokens": ["bot_token", "app_token"],
            "tokens_changed": ["app_token"],
        },
        None,
    ),
    "handraise.Webhook.Configured": (
        1,
        {
            "timestamp": AT_TEXT,
            "originator_topic": "handraise.Webhook",
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "agent_id": AGENT_HEX,
            "url": "https://hooks.example.com/a",
            "enabled": True,
        },
        None,
    ),
    "handraise.Webhook.Changed": (
        2,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "url": "https://hooks.example.com/b",
            "enabled": False,
        },
        None,
    ),
    "handraise.Webhook.SecretRotated": (
        3,
        {
            "timestamp": AT_TEXT,
            "actor": "user:33333333-3333-5333-8333-333333333333",
            "previous_until": DEADLINE_TEXT,
        },
        None,
    ),
    "handraise.Webhook.Removed": (
        4,
        {"timestamp": AT_TEXT, "actor": "user:33333333-3333-5333-8333-333333333333"},
        None,
    ),
}
"""Version 1 of every event as it was stored: its version in its aggregate, its facts, its content sealed."""

SINCE: dict[str, dict[str, Any]] = {
    "handraise.Request.Notified": {"class_version": 2, "retry_at": None},
    "handraise.Request.AnswerRefused": {"class_version": 2, "stranger": None},
}
"""What the present version of an event stores besides, where there is a newer one than the first."""


def in_common(version: int, actor: str) -> dict[str, Any]:
    return {"originator_id": ID, "originator_version": version, "timestamp": AT, "actor": actor}


MEANT: list[RecordedEvent] = [
    Request.Requested(
        **in_common(1, f"agent:{AGENT}"),
        originator_topic="handraise.Request",
        unique_id="deploy",
        agent_id=AGENT,
        request_type="data-input",
        run_id="run-1",
        run_step_id="step-2",
        run_user=ANNA,
        secret=False,
        sealed=False,
        priority=50,
        expires_at=AT + timedelta(minutes=5),
        assignment=fall_back(ANNA).as_fact(),
        plan=[{"step": "show", "at": "2026-03-01T12:00:10.123Z", "what": "shown in the inbox"}],
        message="May I, Zoë?",
        context="the release",
        response_schema={"type": "object"},
        ui_schema={"ui:order": ["a"]},
        options=["a", "b"],
        labels={"approve": "Go"},
        metadata={"k": [1, True, None, 1.5]},
    ),
    Request.Notified(
        **in_common(2, "system"),
        step="slack",
        channel="slack",
        recipient=f"user:{ANNA}",
        reference={"channel": "C1", "ts": "1700000000.000100"},
        attempt=1,
        delivered=True,
        error=None,
        retry_at=None,
    ),
    Request.Reassigned(
        **in_common(3, f"user:{BERT}"),
        cause="reassigned",
        from_user=ANNA,
        from_list=LIST,
        to_user=BERT,
        to_list=None,
        step=None,
        assignment=by_command(BERT).as_fact(),
        note="Anna is away",
    ),
    Request.Responded(
        **in_common(4, f"user:{BERT}"),
        via="web",
        outcome="approved",
        sealed=False,
        sealed_until=None,
        text="yes",
        data={"approved": True},
    ),
    Request.Cancelled(**in_common(5, f"agent:{AGENT}"), reason="not needed"),
    Request.Expired(**in_common(6, "system")),
    Request.AnswerRefused(**in_common(7, f"user:{ANNA}"), via="slack", why="closed", stranger=None),
    Request.Collected(**in_common(8, f"agent:{AGENT}"), receipt="a" * 64),
    Request.Acknowledged(**in_common(9, f"agent:{AGENT}")),
    Request.ContentErased(**in_common(10, f"user:{BERT}")),
    Request.Snoozed(**in_common(11, f"user:{BERT}"), until=AT + timedelta(minutes=5)),
    User.Added(
        **in_common(1, "system"),
        originator_topic="handraise.User",
        readable_id="anna",
        role="member",
        name="Anna",
        email="anna@example.com",
    ),
    Agent.Added(
        **in_common(1, "system"),
        originator_topic="handraise.Agent",
        readable_id="deploy-bot",
        name="Deploy bot",
        owner=ANNA,
    ),
    AccessKey.Created(
        **in_common(1, f"user:{BERT}"),
        originator_topic="handraise.AccessKey",
        readable_id="deploy-key",
        name="Deploy key",
        sha256="b" * 64,
        agent_id=AGENT,
        user_id=None,
        run_user=ANNA,
        expires_at=AT,
    ),
    AccessKey.Revoked(**in_common(2, f"user:{BERT}")),
    User.Changed(
        **in_common(2, f"user:{BERT}"),
        role="auditor",
        active=False,
        time_zone="Europe/Berlin",
        quiet_hours={"from": "22:00", "to": "07:30"},
        out_of_office={"from": "2026-12-24", "to": "2026-12-31", "stand_in": "33333333-3333-5333-8333-333333333333"},
        name="Zoë",
        email="anna@example.com",
        slack_user_id="U012ABCDEF",
    ),
    User.Removed(
        **in_common(3, f"user:{BERT}"),
    ),
    Agent.Changed(
        **in_common(2, f"user:{BERT}"),
        name="Deploy bot",
        owner=ANNA,
        agent_type=LIST,
        category=None,
    ),
    Agent.Removed(
        **in_common(3, f"user:{BERT}"),
    ),
    AccessKey.Changed(
        **in_common(2, f"user:{BERT}"),
        name="Old key",
        expires_at=AT + timedelta(minutes=5),
    ),
    MemberList.Added(
        **in_common(1, f"user:{BERT}"),
        originator_topic="handraise.MemberList",
        readable_id="oncall",
        name="On call",
        members=[],
    ),
    MemberList.Changed(
        **in_common(2, f"user:{BERT}"),
        name="On call",
        members=[ANNA, BERT],
    ),
    MemberList.Removed(
        **in_common(3, f"user:{BERT}"),
    ),
    AgentType.Added(
        **in_common(1, f"user:{BERT}"),
        originator_topic="handraise.AgentType",
        readable_id="helper",
        name="Helper",
        assignment_strategy={"type": "List", "listID": "oncall", "priority": 7, "colour": "red"},
    ),
    AgentType.Changed(
        **in_common(2, f"user:{BERT}"),
        name="Helper",
        assignment_strategy=None,
    ),
    AgentType.Removed(
        **in_common(3, f"user:{BERT}"),
    ),
    Category.Added(
        **in_common(1, f"user:{BERT}"),
        originator_topic="handraise.Category",
        readable_id="demo",
        name="Demo",
        parent=None,
        assignment_strategy=None,
    ),
    Category.Changed(
        **in_common(2, f"user:{BERT}"),
        name="Demo",
        parent=LIST,
        assignment_strategy={"type": "List", "listID": "oncall", "priority": 7, "colour": "red"},
    ),
    Category.Removed(
        **in_common(3, f"user:{BERT}"),
    ),
    RequestType.Added(
        **in_common(1, f"user:{BERT}"),
        originator_topic="handraise.RequestType",
        readable_id="payment",
        name="Payment",
        default_assignment_strategy=None,
        default_priority=None,
        default_expiration_minutes=None,
        no_self_answer=False,
        erase_after_days=None,
    ),
    RequestType.Changed(
        **in_common(2, f"user:{BERT}"),
        name="Payment",
        default_assignment_strategy={"type": "List", "listID": "oncall", "priority": 7, "colour": "red"},
        default_priority=9,
        default_expiration_minutes=90.5,
        no_self_answer=True,
        erase_after_days=30.0,
    ),
    RequestType.Removed(
        **in_common(3, f"user:{BERT}"),
    ),
    User.ContentErased(
        **in_common(4, f"user:{BERT}"),
    ),
    User.PasswordSet(**in_common(3, f"user:{ANNA}")),
    AccessKey.Rotated(**in_common(2, f"user:{BERT}"), sha256="c" * 64),
    Session.Opened(
        **in_common(1, f"user:{ANNA}"),
        originator_topic="handraise.Session",
        user_id=ANNA,
        how="oidc",
        sha256="d" * 64,
        expires_at=AT + timedelta(minutes=5),
    ),
    Session.Closed(**in_common(2, f"user:{ANNA}")),
    SignInLink.Made(
        **in_common(1, "system"),
        originator_topic="handraise.SignInLink",
        user_id=ANNA,
        sha256="e" * 64,
        expires_at=AT + timedelta(minutes=5),
    ),
    SignInLink.Used(**in_common(2, f"user:{ANNA}")),
    EmbedToken.Made(
        **in_common(1, f"user:{BERT}"),
        originator_topic="handraise.EmbedToken",
        user_id=ANNA,
        sha256="f" * 64,
        expires_at=AT + timedelta(minutes=5),
        session_seconds=900,
    ),
    EmbedToken.Used(**in_common(2, f"user:{ANNA}")),
    SlackConfiguration.Configured(
        **in_common(1, f"user:{BERT}"),
        originator_topic="handraise.SlackConfiguration",
        enabled=False,
        channel_id=None,
        notification_delay_seconds=120.0,
        tokens=["bot_token"],
        tokens_changed=["bot_token"],
    ),
    SlackConfiguration.Changed(
        **in_common(2, f"user:{BERT}"),
        enabled=True,
        channel_id="C0123456789",
        notification_delay_seconds=0.5,
        tokens=["bot_token", "app_token"],
        tokens_changed=["app_token"],
    ),
    Webhook.Configured(
        **in_common(1, f"user:{BERT}"),
        originator_topic="handraise.Webhook",
        agent_id=AGENT,
        url="https://hooks.example.com/a",
        enabled=True,
    ),
    Webhook.Changed(**in_common(2, f"user:{BERT}"), url="https://hooks.example.com/b", enabled=False),
    Webhook.SecretRotated(**in_common(3, f"user:{BERT}"), previous_until=AT + timedelta(minutes=5)),
    Webhook.Removed(**in_common(4, f"user:{BERT}")),
]
"""What the golden forms mean today, in the same order."""

mapper = SealingMapper()


def stored_form(topic: str) -> StoredEvent:
    version, facts, sealed = GOLDEN[topic]
    state = json.dumps(facts, ensure_ascii=False).encode()
    if sealed is not None:
        state += b"\n" + base64.b64decode(sealed)
    return StoredEvent(ID, version, topic, state)


def event_classes(aggregate: type[BaseAggregate[UUID]]) -> Iterator[type[RecordedEvent]]:
    for name, value in vars(aggregate).items():
        if isinstance(value, type) and issubclass(value, RecordedEvent) and name != "Event":
            yield value


# -- topics


def test_every_topic_is_explicit_and_names_its_class_for_ever() -> None:
    """The whole table, so that renaming, moving or dropping an event fails here."""
    found = [event for aggregate in AGGREGATES.values() for event in event_classes(aggregate)]
    assert {event.__dict__["TOPIC"]: event for event in found} == EVENTS
    assert len(found) == len(EVENTS)
    assert {aggregate.__dict__["TOPIC"]: aggregate for aggregate in AGGREGATES.values()} == AGGREGATES
    for topic, cls in (EVENTS | AGGREGATES).items():
        assert (get_topic(cls), resolve_topic(topic)) == (topic, cls)


def test_content_fields_are_fields_of_the_event() -> None:
    """A field that is to be sealed exists under exactly that name."""
    for event in EVENTS.values():
        assert set(event.CONTENT) <= event.__dataclass_fields__.keys()


# -- stored forms


def test_every_event_has_a_stored_form_that_still_loads() -> None:
    """What version 1 wrote reads as what it meant, content and all."""
    assert list(GOLDEN) == list(EVENTS)
    assert [mapper.open(stored_form(topic), DATA_KEY) for topic in GOLDEN] == MEANT


def test_without_the_key_the_facts_still_load() -> None:
    """After an erasure content reads as None, and nothing else is missing."""
    for topic, event in zip(GOLDEN, MEANT, strict=True):
        opened = mapper.open(stored_form(topic), None)
        assert vars(opened) == vars(event) | dict.fromkeys(event.CONTENT)


def test_events_are_stored_today_as_they_were_then() -> None:
    """A changed form is a new version of its class, with an upcast; else this fails."""
    for topic, event in zip(GOLDEN, MEANT, strict=True):
        stored = mapper.seal(event, DATA_KEY)
        facts, _, sealed = stored.state.partition(b"\n")
        assert (stored.topic, stored.originator_version) == (topic, GOLDEN[topic][0])
        assert json.loads(facts) == GOLDEN[topic][1] | SINCE.get(topic, {})
        assert (sealed == b"") is (GOLDEN[topic][2] is None)


def test_the_stored_events_of_a_request_make_a_request() -> None:
    """Old forms replay into an aggregate."""
    request = rebuild(mapper.open(stored_form(topic), DATA_KEY) for topic in GOLDEN if ".Request." in topic)
    assert (type(request), request.version, request.asked) == (Request, 11, MEANT[0])


@pytest.mark.parametrize("kind", [User, Agent, MemberList, AgentType, Category, RequestType])
def test_the_stored_events_of_a_directory_entry_make_one(kind: type[DirectoryEntry]) -> None:
    """Added, changed, removed: what the last change says holds, under the name of the first event."""
    topics = [f"{kind.TOPIC}.{name}" for name in ("Added", "Changed", "Removed")]
    entry = rebuild(mapper.open(stored_form(topic), DATA_KEY) for topic in topics)
    changed = vars(mapper.open(stored_form(topics[1]), DATA_KEY))
    assert (type(entry), entry.version, entry.removed) == (kind, 3, True)
    assert entry.readable_id == GOLDEN[topics[0]][1]["readable_id"]
    assert entry.values == {name: changed[name] for name in kind.FIELDS}


def test_an_unknown_topic_is_refused() -> None:
    """An event that a newer server wrote is not guessed at."""
    with pytest.raises(TopicError):
        mapper.open(StoredEvent(ID, 1, "handraise.Request.Invented", b"{}"), None)


# -- versions


class Counted(RecordedEvent):
    """A test's own event, in its second version: `count` was `number`, `comment` is new, and was never given."""

    TOPIC = "handraise.tests.Counted"
    CONTENT: ClassVar = ("text", "comment")
    class_version = 2

    count: int
    text: str | None
    comment: str | None

    @staticmethod
    def upcast_v1_v2(state: dict[str, Any]) -> None:
        state["count"] = state.pop("number")
        state["comment"] = None


class CountedOnce(RecordedEvent):
    """The same event as it was in its first version."""

    TOPIC = "handraise.tests.CountedOnce"
    CONTENT: ClassVar = ("text",)

    number: int
    text: str | None


register_topic(Counted.TOPIC, Counted)


def stored_by(event: RecordedEvent, topic: str, key: bytes | None = None) -> StoredEvent:
    stored = mapper.seal(event, key)
    return StoredEvent(stored.originator_id, stored.originator_version, topic, stored.state)


def counted(**changes: Any) -> Counted:
    values = in_common(3, "system") | {"count": 7, "text": None, "comment": None}
    return Counted(**values | changes)


def test_an_older_version_is_brought_up_to_date_when_it_is_read() -> None:
    """The upcast of the class makes version 2 of what version 1 stored."""
    old = CountedOnce(**in_common(3, "system"), number=7, text=None)
    assert mapper.open(stored_by(old, Counted.TOPIC), None) == counted()


def test_upcasting_works_on_content_too() -> None:
    """Sealed content is opened first, so an upcast may move it."""
    old = {"timestamp": AT_TEXT, "actor": "system", "number": 7}
    sealed = mapper.seal(counted(text="words"), DATA_KEY).state.partition(b"\n")[2]
    stored = StoredEvent(ID, 3, Counted.TOPIC, json.dumps(old).encode() + b"\n" + sealed)
    assert mapper.open(stored, DATA_KEY) == counted(text="words")


def test_the_present_version_is_written_and_read_as_it_is() -> None:
    """The version stands among the facts, and is no part of the event."""
    event = counted(text="words", comment="more")
    stored = mapper.seal(event, DATA_KEY)
    assert json.loads(stored.state.partition(b"\n")[0])["class_version"] == 2
    assert mapper.open(stored, DATA_KEY) == event


def test_a_newer_version_than_known_is_refused_by_name() -> None:
    """A server that is too old says so, instead of reading half of it."""
    facts = {"timestamp": AT_TEXT, "actor": "system", "count": 7, "class_version": 3}
    stored = StoredEvent(ID, 3, Counted.TOPIC, json.dumps(facts).encode())
    with pytest.raises(NewerVersion) as refusal:
        mapper.open(stored, None)
    assert str(refusal.value) == (
        f"event 3 of {ID} (handraise.tests.Counted) has version 3, this server knows 2: "
        "a newer one wrote it, upgrade this one"
    )


# -- time


def test_an_event_without_a_timestamp_is_not_built() -> None:
    """Neither by its class, nor by an aggregate: nothing here asks for the time."""
    with pytest.raises(TypeError, match="timestamp"):
        Request.Expired(originator_id=ID, originator_version=2, actor="system")  # type: ignore[call-arg]
    request = rebuild([MEANT[0]])
    with pytest.raises(TimestampMissing):
        request.trigger_event(Request.Expired, actor="system")
    assert (request.version, request.pending_events) == (1, [])


def test_the_actor_of_an_event_is_a_fact() -> None:
    """Who did it is never content, so it outlives an erasure."""
    for event in EVENTS.values():
        assert not {"actor", "timestamp", "originator_id", "originator_version"} & set(event.CONTENT)
