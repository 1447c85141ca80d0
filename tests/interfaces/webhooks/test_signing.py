"""Signatures are those of Standard Webhooks, byte by byte."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from interfaces.webhooks.signing import new_secret, signed
from tests.support.webhook_receiver import verifies

AT = datetime(2026, 3, 2, 9, 0, 0, 999_999, tzinfo=UTC)
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "webhooks.md"
BODY = '{"type":"request.closed","note":"é, 日本 and \\u0000"}'.encode()


def test_the_signature_of_a_known_message() -> None:
    """As the reference library for Python signs the same message with the same secret."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    at = datetime.fromtimestamp(1614265330, UTC)
    assert signed([secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", at, b'{"test": 2432232314}') == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_every_secret_signs() -> None:
    """One signature each, in their order, separated by a space; the seconds are whole."""
    secrets = [new_secret(), new_secret()]
    headers = signed(secrets, "msg_1", AT, BODY)
    assert headers["webhook-timestamp"] == "1772442000"
    first, second = headers["webhook-signature"].split(" ")
    assert verifies(secrets[0], "msg_1", "1772442000", BODY, [first])
    assert verifies(secrets[1], "msg_1", "1772442000", BODY, [second])
    assert not verifies(secrets[1], "msg_1", "1772442000", BODY, [first])
    for other in (("msg_2", "1772442000", BODY), ("msg_1", "1772442001", BODY), ("msg_1", "1772442000", BODY + b" ")):
        assert not verifies(secrets[0], *other, [first, second])


def test_secrets_are_long_and_never_the_same() -> None:
    """32 bytes at random, in base64 after the prefix."""
    secrets = {new_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) for secret in secrets} == {32}


def test_the_example_of_the_page_takes_what_is_genuine_and_nothing_else() -> None:
    """As it is written there: either of two secrets, a fresh time, the very bytes."""
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    program: dict[str, Any] = {}
    exec(example, program)
    verified = program["verified"]
    new, old, now = new_secret(), new_secret(), datetime.now(UTC)
    headers = signed([new, old], "msg_1", now, BODY)
    assert verified(new, headers, BODY)
    assert verified(old, headers, BODY)
    assert not verified(new_secret(), headers, BODY)
    assert not verified(new, headers, BODY + b" ")
    assert not verified(new, headers | {"webhook-id": "msg_2"}, BODY)
    assert not verified(new, headers | {"webhook-signature": "v1,AAAA v2,x"}, BODY)
    for late in (-301, 301):
        assert not verified(new, signed([new], "msg_1", now + timedelta(seconds=late), BODY), BODY)
