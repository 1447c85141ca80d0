"""What the service measures about itself, for Prometheus. docs/reference/metrics.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from domain.request import Request
from interfaces.postgres.writer import Recorded


class Metrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.http_requests = Counter(
            "handraise_http_requests",
            "HTTP requests by route and status",
            ["route", "status"],
            registry=self.registry,
        )
        self.http_seconds = Histogram(
            "handraise_http_seconds",
            "Duration of HTTP requests by route, long polls and streams aside",
            ["route"],
            registry=self.registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
        )
        self.slack_envelopes = Counter(
            "handraise_slack_envelopes",
            "What came in from Slack, by type and by whether it was taken or will be sent again",
            ["type", "outcome"],
            registry=self.registry,
        )
        self.webhook_deliveries = Counter(
            "handraise_webhook_deliveries",
            "Attempts to report closed requests to webhooks, by what became of them",
            ["outcome"],
            registry=self.registry,
        )
        self.events = Counter("handraise_events", "Events seen in the log, by type", ["type"], registry=self.registry)

    def watch(self, name: str, help: str, value: Callable[[], float]) -> None:
        """A gauge that is read when somebody looks."""
        Gauge(name, help, registry=self.registry).set_function(value)

    def count(self, recorded: Sequence[Recorded]) -> None:
        """Subscribe this to the tail."""
        for event in recorded:
            self.events.labels(_TYPES.get(event.topic, "other")).inc()

    def render(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)


_TYPES = {
    event.TOPIC: event.__name__
    for event in (
        Request.Requested,
        Request.Notified,
        Request.Reassigned,
        Request.Responded,
        Request.Cancelled,
        Request.Expired,
        Request.AnswerRefused,
        Request.Collected,
        Request.Acknowledged,
        Request.ContentErased,
    )
}
