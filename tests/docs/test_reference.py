"""The reference pages name everything there is, and nothing else."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from domain.access_keys import AccessKey
from domain.agent_types import AgentType
from domain.agents import Agent
from domain.categories import Category
from domain.lists import MemberList
from domain.recorded import RecordedCreation, RecordedEvent
from domain.request import Request
from domain.request_types import RequestType
from domain.sessions import EmbedToken, Session, SignInLink
from domain.slack import SlackConfiguration
from domain.users import User
from domain.webhooks import Webhook
from interfaces.metrics import Metrics
from interfaces.settings import Settings
from tests.support.service import Service

DOCS = Path(__file__).parent.parent.parent / "docs"
COMMON = {field.name for field in dataclasses.fields(RecordedCreation)}


def page(name: str) -> str:
    return (DOCS / "reference" / name).read_text(encoding="utf-8")


def test_every_event_and_each_of_its_fields_is_in_the_reference() -> None:
    """events.md has one section an event, with its topic, and a row for each field, sealed where it is."""
    sections = dict(re.findall(r"^### `\w+` · `([\w.]+)`\n(.*?)(?=^##|\Z)", page("events.md"), re.M | re.S))
    events: dict[str, type[RecordedEvent]] = {
        event.TOPIC: event
        for aggregate in (
            *(Request, User, MemberList, Agent, AgentType, Category, RequestType, AccessKey),
            *(Session, SignInLink, EmbedToken, SlackConfiguration, Webhook),
        )
        for event in vars(aggregate).values()
        if isinstance(event, type) and issubclass(event, RecordedEvent) and "TOPIC" in vars(event)
    }
    assert sections.keys() == events.keys()
    for topic, event in events.items():
        sealed: dict[str, bool] = {}
        for names, meaning in re.findall(r"^\| (`.*?`) \| (.*?) \|$", sections[topic], re.M):
            sealed |= dict.fromkeys(re.findall(r"`(\w+)`", names), "**sealed**" in meaning)
        expected = {field.name: field.name in event.CONTENT for field in dataclasses.fields(event)}
        assert sealed == {name: value for name, value in expected.items() if name not in COMMON}, topic


def test_every_setting_is_in_the_reference() -> None:
    """settings.md has a row a setting, with its default."""
    rows = dict(re.findall(r"^\| `HANDRAISE_(\w+)` \| (.*?) \|", page("settings.md"), re.M))
    assert {name.lower() for name in rows} == set(Settings.model_fields)


async def test_every_metric_is_in_the_reference(handraise: Service) -> None:
    """metrics.md has a row a metric that /metrics serves."""
    await handraise.ask()
    served = (await handraise.nobody.get("/metrics")).text
    names = set(re.findall(r"^# TYPE (\w+) ", served, re.M))
    rows = set(re.findall(r"^\| `(handraise_\w+)` \|", page("metrics.md"), re.M))
    assert rows == {name for name in names if not name.endswith("_created")}


async def test_every_call_is_in_the_reference(handraise: Service) -> None:
    """http.md has a row an operation of the served OpenAPI."""
    paths = (await handraise.nobody.get("/openapi.json")).json()["paths"]
    served = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    rows = set(re.findall(r"^\| `((?:GET|POST|PATCH|PUT|DELETE) /\S*)` \|", page("http.md"), re.M))
    assert rows == served


def test_metrics_are_not_shared_between_servers() -> None:
    """Two servers in one process measure themselves apart."""
    assert Metrics().registry is not Metrics().registry
