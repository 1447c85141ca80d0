"""What a webhook remembers, and when a report is tried again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from domain.answers import Question
from domain.assignment import fall_back
from domain.callers import AgentCaller
from domain.directory import directory_id
from domain.request import Request, request_id
from domain.webhooks import RETRIED_FOR, Webhook, message_id, next_attempt, webhook_id

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
AGENT = directory_id("agent", "deploy-bot")
ADMIN = "user:22222222-2222-5222-8222-222222222222"
DAY = timedelta(days=1)


def cancelled(unique_id: str = "deploy") -> Request:
    """A request that was closed at START."""
    agent = AgentCaller(AGENT, None)
    request = Request.ask(
        by=agent,
        now=START - DAY,
        unique_id=unique_id,
        question=Question("clarification"),
        sealed=False,
        message="May I?",
        decision=fall_back(None),
        priority=50,
    )
    request.cancel(by=agent, now=START)
    return request


def facts(webhook: Webhook) -> list[str]:
    return [type(event).__name__ for event in webhook.pending_events]


def configured() -> Webhook:
    return Webhook.configure(AGENT, "https://a.example/x", True, actor=ADMIN, now=START)


def test_only_changes_are_facts() -> None:
    """The same again is none; nor is removing what was removed."""
    webhook = configured()
    webhook.change("https://a.example/x", True, actor=ADMIN, now=START)
    webhook.change("https://a.example/y", True, actor=ADMIN, now=START)
    webhook.change("https://a.example/y", False, actor=ADMIN, now=START)
    webhook.rotate(actor=ADMIN, now=START)
    webhook.remove(actor=ADMIN, now=START)
    webhook.remove(actor=ADMIN, now=START)
    assert facts(webhook) == ["Configured", "Changed", "Changed", "SecretRotated", "Removed"]
    assert (webhook.agent_id, webhook.url, webhook.enabled, webhook.removed) == (
        *(AGENT, "https://a.example/y", False, True),
    )


def test_one_that_was_removed_comes_back_though_it_says_the_same() -> None:
    """It is a change: it brings another secret."""
    webhook = configured()
    webhook.remove(actor=ADMIN, now=START)
    webhook.change("https://a.example/x", True, actor=ADMIN, now=START)
    assert facts(webhook) == ["Configured", "Removed", "Changed"]
    assert not webhook.removed


def test_no_request_has_the_id_of_a_webhook() -> None:
    """Whatever an agent calls it."""
    id = webhook_id(AGENT)
    assert id not in {request_id(AGENT, name) for name in ("webhook", str(AGENT), str(id), AGENT.hex)}
    assert id != webhook_id(UUID(int=1))


def test_a_report_is_known_by_its_request_and_closing_event() -> None:
    """Later events do not change it."""
    request = cancelled()
    id = message_id(request)
    assert id == f"msg_{request.id.hex}_2"
    request.erase_as_planned(now=START + DAY)
    assert message_id(request) == id


def test_the_last_attempt_comes_three_days_after_the_closing() -> None:
    """However late the one before was; after it there is none."""
    request = cancelled()
    last = START + RETRIED_FOR
    for before in (timedelta(seconds=1), timedelta(hours=11)):
        assert next_attempt(request, 11, last - before) == last
    for now in (last, last + DAY):
        assert next_attempt(request, 1, now) is None


def test_attempts_are_spread_and_can_be_foretold() -> None:
    """By the request's id, by a tenth at most."""
    times = [next_attempt(cancelled(f"{number}"), 2, START) for number in range(50)]
    again = [next_attempt(cancelled(f"{number}"), 2, START) for number in range(50)]
    assert times == again
    waits = {at - START for at in times if at is not None}
    assert len(waits) > 40
    assert timedelta(minutes=5) <= min(waits) < max(waits) <= timedelta(minutes=5.5)


def test_what_the_receiver_asks_for_counts_where_it_is_longer() -> None:
    """A day at most; and where that is too late, there is no other attempt."""
    request = cancelled()
    plain = next_attempt(request, 3, START)
    assert plain is not None
    assert next_attempt(request, 3, START, timedelta(seconds=1)) == plain
    assert next_attempt(request, 3, START, timedelta(hours=7)) == START + timedelta(hours=7)
    assert next_attempt(request, 3, START, timedelta(days=900)) == START + DAY
    assert next_attempt(request, 3, START + RETRIED_FOR - timedelta(hours=1), timedelta(hours=2)) is None
