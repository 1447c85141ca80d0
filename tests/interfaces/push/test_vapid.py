"""Who the server says it is: a key that is its own, and a contact that somebody reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from interfaces.push.vapid import VapidKey, new_private_key
from interfaces.settings import Settings
from tests.support.push_service import FakePushService, decoded

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def test_a_push_service_accepts_the_token_until_it_is_over() -> None:
    """For its own origin and this key only."""
    now = NOW
    service = FakePushService(lambda: now)
    service.url = "https://push.example.com:8443"
    key, other = (VapidKey(new_private_key(), "mailto:somebody@example.com") for _ in range(2))
    service.public_key = key.public_key
    header = key.headers(service.url, NOW)["Authorization"]
    service._check_token(header)
    for wrong in (key.headers("https://push.example.com", NOW), other.headers(service.url, NOW)):
        with pytest.raises(AssertionError):
            service._check_token(wrong["Authorization"])
    now = NOW + timedelta(hours=12)
    with pytest.raises(AssertionError):
        service._check_token(header)


def test_the_public_key_is_what_a_browser_wants() -> None:
    """A point in base64url without padding, the same for the same private key, also one that begins with zeros."""
    private = bytes(2) + new_private_key()[2:]
    keys = {VapidKey(private, "mailto:somebody@example.com").public_key for _ in range(2)}
    assert [len(decoded(key)) for key in keys] == [65]
    assert len({new_private_key() for _ in range(5)}) == 5


@pytest.mark.parametrize(
    ("given", "contact"),
    [
        ({"public_url": "https://handraise.example.com/"}, "https://handraise.example.com"),
        ({"public_url": "http://handraise.example.com:8000"}, "mailto:handraise@handraise.example.com"),
        ({}, "mailto:handraise@localhost"),
        ({"host": "::1"}, "mailto:handraise@localhost"),
        ({"host": "10.0.0.1"}, "mailto:handraise@localhost"),
        ({"push_contact": "mailto:admin@example.com"}, "mailto:admin@example.com"),
        ({"push_contact": "https://example.com/who"}, "https://example.com/who"),
    ],
)
def test_without_a_contact_it_is_the_server_itself(tmp_path: Path, given: dict[str, str], contact: str) -> None:
    """By https, else by a name that might be one for mail."""
    assert Settings(data_dir=tmp_path, **given).push_contact_or_default == contact  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "contact", ["admin@example.com", "mailto:", "mailto:a b@c", "http://example.com", "https://", ""]
)
def test_what_nobody_can_be_reached_by_is_no_contact(tmp_path: Path, contact: str) -> None:
    """A start with it is refused, rather than every notice later."""
    with pytest.raises(ValidationError, match="a contact is mailto:"):
        Settings(data_dir=tmp_path, push_contact=contact)
