"""What is sent: read as a browser reads it, with the example of RFC 8291 to hold the reading against."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric import ec

from application.notices import Message
from application.subscriptions import Subscription
from domain.answers import Question
from domain.assignment import Decision
from domain.callers import AgentCaller, Role
from domain.request import Request
from interfaces.push.messages import Push
from tests.application.test_notices import ANNA, ON_CALL
from tests.support.push_service import Browser, decoded

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
EXAMPLE = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_y"
    "l95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def test_browsers_of_these_tests_read_the_example_of_the_standard() -> None:
    """RFC 8291, section 5."""
    browser = Browser("")
    browser.auth = decoded("BTBZMqHH6r4Tts7J_aSIgg")
    secret = int.from_bytes(decoded("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"), "big")
    browser.key = ec.derive_private_key(secret, ec.SECP256R1())
    assert browser.read(decoded(EXAMPLE)) == b"When I grow up, I want to be a watermelon"


def asked(message: str = "May I?", **more: object) -> Request:
    given = {"priority": 50, "unique_id": "deploy"} | more
    return Request.ask(
        by=AgentCaller(UUID(int=1), key_id=UUID(int=101)),
        now=NOW,
        question=Question("clarification"),
        sealed=False,
        message=message,
        decision=Decision("command", "so", chosen=ANNA.id),
        **given,  # pyright: ignore[reportArgumentType]
    )


def push(request: Request, *, person: bool = True, list: UUID | None = None) -> Push:
    message = Message(request, "notify", 1, ANNA if person else None, list, "key")
    return Push.of(message, NOW)


def test_it_is_readable_for_its_browser_alone_and_never_twice_the_same() -> None:
    """Each message has keys of its own."""
    request, browser = asked("The secret plan"), Browser("")
    to = Subscription(ANNA.id, "", browser.p256dh, browser.auth)
    bodies = [push(request).encrypted_for(to) for _ in range(3)]
    assert len(set(bodies)) == 3
    assert [json.loads(browser.read(body)) for body in bodies] == 3 * [
        {
            "title": "Human feedback required",
            "body": "You are asked to answer a request.",
            "request_id": str(request.id),
            "url": f"/requests/{request.id}",
            "tag": str(request.id),
            "urgent": False,
        }
    ]
    assert "endpoint" not in repr(dataclasses.replace(to, endpoint="https://endpoint"))


def test_whom_it_is_for_is_said_and_nothing_else() -> None:
    """One sentence for a person, a list, and nobody."""
    request = asked()
    assert push(request).body == "You are asked to answer a request."
    assert push(request, person=False, list=ON_CALL).body == "A request waits for somebody to take it."
    assert push(request, person=False).body == "A request waits that nobody is asked to answer."
    assert ANNA.role is Role.MEMBER


def test_it_is_kept_until_the_request_expires_and_a_day_at_most() -> None:
    """Whole seconds, none where that time is over."""
    for expires, ttl in ((None, "86400"), (timedelta(seconds=90.2), "91"), (timedelta(days=3), "86400")):
        request = asked(expires_at=None if expires is None else NOW + expires)
        assert push(request).headers()["TTL"] == ttl
    late = Message(asked(expires_at=NOW + timedelta(seconds=1)), "notify", 1, ANNA, None, "key")
    assert Push.of(late, NOW + timedelta(seconds=2)).headers()["TTL"] == "0"


def test_what_is_urgent_may_wake_somebody() -> None:
    """As it may in quiet hours."""
    said = [
        (push(asked(priority=each)).urgent, push(asked(priority=each)).headers()["Urgency"]) for each in (1, 20, 21)
    ]
    assert said == [(True, "high"), (True, "high"), (False, "normal")]


def test_a_repeat_replaces_what_the_push_service_still_has() -> None:
    """By a topic that does not say which request it is."""
    one, other = asked(unique_id="one"), asked(unique_id="other")
    topics = [push(request).headers()["Topic"] for request in (one, one, other)]
    assert topics[0] == topics[1] != topics[2]
    assert {len(topic) for topic in topics} == {32}
    assert one.id.hex not in topics[0]
