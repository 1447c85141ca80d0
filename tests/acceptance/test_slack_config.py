"""Setting Slack up: kept, masked, on every replica at once; and tried out, with the cause of what is wrong in words."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from domain.callers import Role
from interfaces.slack.trial import SCOPES
from tests.interfaces.postgres.test_rotation import rotate, text_of, wrapped_under
from tests.support.processes import ServerProcess
from tests.support.read_models import log_of, rebuild_all, rows, settled, until
from tests.support.service import Service, service
from tests.support.slack import APP_TOKEN, BOT_TOKEN, CHANNEL, FakeSlack, eventually, fake_slack
from tests.support.slack import SCOPES as FAKE_SCOPES

CONFIG = "/api/human-feedback/slack/config"
TEST = "/api/human-feedback/slack/test"
WHOLE = {
    "enabled": True,
    "channel_id": CHANNEL,
    "bot_token": BOT_TOKEN,
    "app_token": APP_TOKEN,
    "notification_delay_seconds": 60,
}
STORED = WHOLE | {"enabled": False}
"""All that is needed, with nothing going on beside what a test does."""

MASKED = WHOLE | {"bot_token": "xoxb-...ests", "app_token": "xapp-...ests"}
NOTHING = {
    "enabled": False,
    "channel_id": None,
    "bot_token": None,
    "app_token": None,
    "notification_delay_seconds": 120,
}
WORKS = (
    "It works: handraise of Fake is in #approvals, where a message was posted and removed again, "
    "and Socket Mode is open."
)


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with fake_slack() as fake:
        yield fake


@pytest.fixture
async def handraise(database: str, tmp_path: Path, slack: FakeSlack) -> AsyncIterator[Service]:
    async with service(database, tmp_path / "data", slack_api_url=slack.url) as made:
        yield made


async def configured(handraise: Service, **fields: Any) -> dict[str, Any]:
    """The answer to a change that is made."""
    changed = await handraise.admin.post(CONFIG, json=fields)
    assert changed.status_code == 200, changed.text
    return changed.json()


async def config(handraise: Service) -> dict[str, Any]:
    shown = await handraise.admin.get(CONFIG)
    assert shown.status_code == 200, shown.text
    return shown.json()


async def tried(handraise: Service, **fields: Any) -> tuple[bool, str]:
    """Whether it works, and the words."""
    tested = await handraise.admin.post(TEST, json=fields)
    assert tested.status_code == 200, tested.text
    assert tested.json().keys() == {"success", "message"}
    return tested.json()["success"], tested.json()["message"]


def why(refused: httpx.Response) -> dict[str, str]:
    """What is said to be wrong, by field; no token is repeated."""
    assert refused.status_code == 422, refused.text
    for prefix in ("xoxb-", "xapp-"):
        assert prefix not in refused.text.replace(f"begin with {prefix}", "")
    return {error["path"]: error["message"] for error in refused.json()["errors"]}


async def events(handraise: Service) -> list[dict[str, Any]]:
    """What the trail has of the configuration, oldest first."""
    await settled(handraise)
    items = (await handraise.admin.get("/api/audit", params={"limit": 200})).json()["items"]
    return [item for item in reversed(items) if item["of"] == "SlackConfiguration"]


# -- the configuration


async def test_what_is_set_is_shown_masked(handraise: Service) -> None:
    """Nothing at first but the delay of the settings; then what was set, with the tokens' beginnings and ends."""
    assert await config(handraise) == NOTHING
    head = await handraise.app.store.head()
    assert await configured(handraise, **WHOLE) == MASKED | {"position": head + 1}
    assert await config(handraise) == MASKED
    assert await configured(handraise, notification_delay_seconds=0.5) == MASKED | {
        "notification_delay_seconds": 0.5,
        "position": head + 2,
    }


async def test_a_masked_token_stays(handraise: Service) -> None:
    """The page sends back what it was shown; what was not sent stays as well; the same again is no change."""
    await configured(handraise, **WHOLE)
    head = await handraise.app.store.head()
    for same in (MASKED, {}, {"enabled": True}, WHOLE, MASKED | {"bot_token": "xoxb-...0000"}, {"app_token": "..."}):
        assert (await configured(handraise, **same))["position"] == head
    stored = await handraise.app.slack.read()
    assert (stored.bot_token, stored.app_token) == (BOT_TOKEN, APP_TOKEN)


async def test_of_a_short_token_nothing_is_shown(handraise: Service) -> None:
    """Its last characters would be most of it."""
    for token in ("xoxb-1", "xoxb-123456"):
        assert (await configured(handraise, bot_token=token))["bot_token"] == "..."
        assert (await config(handraise))["bot_token"] == "..."
        assert (await configured(handraise, bot_token="...", channel_id=CHANNEL))["channel_id"] == CHANNEL
        assert (await handraise.app.slack.read()).bot_token == token
    assert (await configured(handraise, bot_token="xoxb-1234567"))["bot_token"] == "xoxb-...4567"


async def test_null_takes_away(handraise: Service) -> None:
    """A token or the channel, once Slack is not enabled any more."""
    await configured(handraise, **WHOLE)
    fields = {"enabled": False, "bot_token": None, "channel_id": None, "app_token": ""}
    assert await configured(handraise, **fields) | {"position": 0} == NOTHING | {
        "notification_delay_seconds": 60,
        "position": 0,
    }
    assert await rows(handraise.app.conninfo, "SELECT * FROM slack_tokens") == []


FAILING: list[tuple[dict[str, Any], set[str]]] = [
    ({"enabled": True}, {"channel_id", "bot_token", "app_token"}),
    ({"enabled": True, "bot_token": BOT_TOKEN}, {"channel_id", "app_token"}),
    ({"enabled": "yes", "bot_token": 1, "notification_delay_seconds": "1"}, {"enabled", "bot_token", "delay"}),
    ({"bot_token": APP_TOKEN, "app_token": BOT_TOKEN}, {"bot_token", "app_token"}),
    ({"bot_token": "xoxb-"}, {"bot_token"}),
    ({"bot_token": f" {BOT_TOKEN}"}, {"bot_token"}),
    ({"bot_token": f"{BOT_TOKEN}\n"}, {"bot_token"}),
    ({"bot_token": "xoxb-é1234567890"}, {"bot_token"}),
    ({"bot_token": "xoxb-" + "x" * 501}, {"bot_token"}),
    ({"bot_token": "xoxb-...1234"}, {"bot_token"}),
    ({"app_token": "..."}, {"app_token"}),
    ({"channel_id": "#approvals"}, {"channel_id"}),
    ({"channel_id": "c0123456789"}, {"channel_id"}),
    ({"channel_id": "U0123456789"}, {"channel_id"}),
    ({"channel_id": "C01234"}, {"channel_id"}),
    ({"notification_delay_seconds": -1}, {"delay"}),
    ({"notification_delay_seconds": 604801}, {"delay"}),
    ({"notification_delay_seconds": None}, {"delay"}),
    ({"notification_delay_seconds": True}, {"delay"}),
    ({"enabled": None}, {"enabled"}),
    ({"colour": "red"}, {"colour"}),
]


async def test_every_failing_field_is_named(handraise: Service) -> None:
    """All at once, without a word of a token; nothing is stored."""
    for fields, failing in FAILING:
        refused = await handraise.admin.post(CONFIG, json=fields)
        found = {path.replace("notification_delay_seconds", "delay") for path in why(refused)}
        assert found == failing, fields
        if fields.get("enabled") is not True:  # what is not complete yet may be tried out
            assert (await handraise.admin.post(TEST, json=fields)).status_code == 422
    assert await config(handraise) == NOTHING
    assert await events(handraise) == []


async def test_the_edges_are_taken(handraise: Service) -> None:
    """No delay at all, a week, and every kind of channel."""
    for fields in (
        {"notification_delay_seconds": 0},
        {"notification_delay_seconds": 604800},
        {"channel_id": "G012345"},
        {"channel_id": "D0123456789"},
    ):
        assert (await configured(handraise, **fields)).items() >= fields.items()


async def test_the_trail_says_who_changed_what(handraise: Service) -> None:
    """All that is no secret, and of the tokens only which there are, and which of them changed."""
    await handraise.person("chief", Role.ADMINISTRATOR)
    await configured(handraise, bot_token=BOT_TOKEN)
    await configured(handraise, **WHOLE)
    await configured(handraise, **WHOLE | {"bot_token": BOT_TOKEN[:-1] + "X"})
    await configured(handraise, enabled=False, app_token=None)
    found = [(each["type"], each["actor"], each["facts"]) for each in await events(handraise)]
    both = ["bot_token", "app_token"]
    on = {"enabled": True, "channel_id": CHANNEL, "notification_delay_seconds": 60.0}
    off = {"enabled": False, "channel_id": None, "notification_delay_seconds": 120.0}
    assert found == [
        ("Configured", "admin", off | {"tokens": ["bot_token"], "tokens_changed": ["bot_token"]}),
        ("Changed", "admin", on | {"tokens": both, "tokens_changed": ["app_token"]}),
        ("Changed", "admin", on | {"tokens": both, "tokens_changed": ["bot_token"]}),
        ("Changed", "admin", on | {"enabled": False, "tokens": ["bot_token"], "tokens_changed": ["app_token"]}),
    ]


async def test_only_administrators(handraise: Service) -> None:
    """Not even auditors read it."""
    await configured(handraise, **WHOLE)
    for client in (
        await handraise.person("alice"),
        await handraise.person("auditor", Role.AUDITOR),
        handraise.agent,
    ):
        for response in (
            await client.get(CONFIG),
            await client.post(CONFIG, json={"enabled": False}),
            await client.post(TEST, json={}),
        ):
            assert response.status_code == 403
            assert "xoxb" not in response.text
    assert (await handraise.nobody.get(CONFIG)).status_code == 401
    assert await config(handraise) == MASKED


async def test_a_change_is_known_on_every_replica_at_once(
    handraise: Service, database: str, tmp_path: Path, slack: FakeSlack
) -> None:
    """Read there it is the new one; and whoever goes by it there is told, without asking and without a restart."""
    async with service(database, tmp_path / "data", slack_api_url=slack.url) as other:
        told = []
        other.app.slack.subscribe(told.append)
        await configured(handraise, **WHOLE)
        assert await config(other) == MASKED
        await eventually(lambda: handraise.app.slack.current.enabled and other.app.slack.current.enabled, "the change")
        began = time.monotonic()
        await configured(other, enabled=False)
        await eventually(lambda: not handraise.app.slack.current.enabled, "the next change")
        assert time.monotonic() - began < 5
        assert [each.enabled for each in told] == [True, False]
        assert told[0].bot_token == BOT_TOKEN
    async with service(database, tmp_path / "data", notification_delay_seconds=7) as later:
        assert later.app.slack.current == told[1]
        assert (await config(later))["notification_delay_seconds"] == 60


async def test_the_setting_is_the_delay_until_somebody_stores_one(database: str, tmp_path: Path) -> None:
    """It goes into the first configuration that is stored, and counts no more."""
    async with service(database, tmp_path / "data", notification_delay_seconds=7) as first:
        assert (await config(first))["notification_delay_seconds"] == 7
        await configured(first)
        assert await events(first) == []
        await configured(first, channel_id=CHANNEL)
    async with service(database, tmp_path / "data", notification_delay_seconds=8) as second:
        assert (await config(second))["notification_delay_seconds"] == 7


async def test_changes_at_once_are_made_one_after_the_other(handraise: Service, database: str, tmp_path: Path) -> None:
    """On two replicas, each of another field: none is lost."""
    async with service(database, tmp_path / "data") as other:
        changes = [{"channel_id": CHANNEL}, {"bot_token": BOT_TOKEN}, {"app_token": APP_TOKEN}]
        changes.append({"notification_delay_seconds": 60})
        await asyncio.gather(
            *(configured((handraise, other)[number % 2], **fields) for number, fields in enumerate(changes))
        )
        assert await config(other) == MASKED | {"enabled": False}
    assert len(await events(handraise)) == 4


# -- no token anywhere


async def test_no_token_is_in_the_database_in_plain_text(handraise: Service) -> None:
    """In no table at all, events and their copies included, in no export, no metric, and no answer."""
    await configured(handraise, **WHOLE)
    await handraise.admin.post(TEST, json={})
    await settled(handraise)
    tables = await rows(handraise.app.conninfo, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    said = [str(await rows(handraise.app.conninfo, f"SELECT t::text FROM {name} AS t")) for (name,) in tables]
    assert len(said) > 20
    for (state,) in await rows(handraise.app.conninfo, "SELECT state FROM handraise_events"):
        said.append(bytes(state).decode("latin-1"))
    for (wrapped,) in await rows(handraise.app.conninfo, "SELECT wrapped FROM slack_tokens"):
        said.append(bytes(wrapped).decode("latin-1"))
    for path in ("/api/audit", "/api/audit/export", "/api/audit/export?format=csv", "/metrics", CONFIG, "/readyz"):
        said.append((await handraise.admin.get(path)).text)
    for token in (BOT_TOKEN, APP_TOKEN):
        assert [text for text in said if token in text or token.encode().hex() in text] == []


async def test_no_token_is_logged(database: str, tmp_path: Path, slack: FakeSlack) -> None:
    """Not at debug level either, whatever is set, refused or tried out, and when a call fails or an answer is lost."""
    server = ServerProcess(tmp_path / "data", database, log_level="debug", slack_api_url=slack.url)
    await asyncio.to_thread(server.start)
    try:
        key = server.admin().headers["Authorization"]
        async with httpx.AsyncClient(base_url=server.url, headers={"Authorization": key}, timeout=30) as admin:
            assert (await admin.post(CONFIG, json=WHOLE)).status_code == 200
            assert (await admin.post(CONFIG, json=WHOLE | {"channel_id": "#x"})).status_code == 422
            assert (await admin.post(CONFIG, json=WHOLE | {"bot_token": APP_TOKEN})).status_code == 422
            assert (await admin.post(TEST, json={})).json() == {"success": True, "message": WORKS}
            for method in ("auth.test", "chat.postMessage", "apps.connections.open"):
                slack.fail(method, body=b"<html>", content_type="text/html", status=502)
                assert (await admin.post(TEST, json={})).json()["success"] is False
                slack.fail(method, drop=True)
                assert (await admin.post(TEST, json=WHOLE)).json()["success"] is False
            assert (await admin.get(CONFIG)).json() == MASKED
    finally:
        await asyncio.to_thread(server.stop)
    assert len(server.log) > 100
    for secret in (BOT_TOKEN, APP_TOKEN, "FakeBotToken", "FakeAppToken", "ticket="):
        assert secret not in server.log


async def test_the_tokens_are_rotated_with_the_master_key(database: str, tmp_path: Path) -> None:
    """While a server runs: it goes on knowing them; afterwards nothing opens under the old key."""
    old = os.urandom(32)
    async with service(database, tmp_path / "data", secret_key=text_of(old)) as handraise:
        await configured(handraise, **WHOLE)
        new = (await rotate(database, old)).new
        assert await wrapped_under(database, old) == (0, (await wrapped_under(database, new))[1])
        assert (await handraise.app.slack.read()).bot_token == BOT_TOKEN
        await configured(handraise, app_token=APP_TOKEN + "2")
    async with service(database, tmp_path / "data", secret_key=text_of(new)) as later:
        assert (later.app.slack.current.bot_token, later.app.slack.current.app_token) == (BOT_TOKEN, APP_TOKEN + "2")


async def test_a_damaged_token_can_be_set_again(handraise: Service) -> None:
    """It counts as none; the rest of the configuration is as it was."""
    await configured(handraise, **WHOLE)
    damaged = "UPDATE slack_tokens SET wrapped = %s WHERE id = (SELECT min(id::text)::uuid FROM slack_tokens)"
    await rows(handraise.app.conninfo, damaged, os.urandom(60))
    shown = await config(handraise)
    assert (shown["bot_token"], shown["app_token"]) == (None, MASKED["app_token"])
    assert why(await handraise.admin.post(CONFIG, json={"notification_delay_seconds": 1})).keys() == {"bot_token"}
    await configured(handraise, bot_token=BOT_TOKEN)
    assert await config(handraise) == MASKED


async def test_a_rebuilt_trail_is_the_same(handraise: Service) -> None:
    """What the read model says of it comes from the events alone."""
    await configured(handraise, **WHOLE)
    before = await events(handraise)
    await rebuild_all(handraise.app.conninfo, log_of(handraise))
    assert await events(handraise) == before


# -- trying it out


async def test_it_works(handraise: Service, slack: FakeSlack) -> None:
    """Said with the names that Slack has; the message is gone again, and no socket was opened."""
    await configured(handraise, **STORED)
    assert await tried(handraise) == (True, WORKS)
    assert [call.method for call in slack.calls] == [
        "auth.test",
        "conversations.info",
        "chat.postMessage",
        "chat.delete",
        "apps.connections.open",
    ]
    assert slack.messages == []
    assert slack.opened == 0
    assert slack.all_messages[0].mentions == []


async def test_what_is_posted_is_tried_instead_of_what_is_stored(handraise: Service, slack: FakeSlack) -> None:
    """A masked token is the stored one; nothing is stored by trying."""
    await configured(handraise, **WHOLE | {"channel_id": "C0NOTTHERE"})
    head = await handraise.app.store.head()
    assert (await tried(handraise))[0] is False
    assert await tried(handraise, **MASKED) == (True, WORKS)
    assert (await tried(handraise, bot_token="xoxb-somebody-elses"))[0] is False
    assert slack.calls[-2].token == "xoxb-somebody-elses"
    assert (await handraise.app.store.head(), (await config(handraise))["channel_id"]) == (head, "C0NOTTHERE")
    assert (await handraise.admin.post(TEST)).status_code == 200


async def test_without_anything_it_says_what_is_missing(handraise: Service, slack: FakeSlack) -> None:
    """And asks nobody."""
    assert await tried(handraise) == (False, "It does not work: there is no bot token; there is no app token.")
    assert slack.calls == []
    assert await tried(handraise, bot_token=BOT_TOKEN) == (
        False,
        "It does not work: there is no channel; there is no app token.",
    )


async def test_a_token_that_does_not_work_is_named(handraise: Service, slack: FakeSlack) -> None:
    """Which of the two it is, and Slack's name for what is wrong."""
    for token, called in ((BOT_TOKEN, "the bot token"), (APP_TOKEN, "Socket Mode: the app token")):
        for error in ("invalid_auth", "account_inactive", "token_revoked", "token_expired"):
            slack.token_errors = {token: error}
            works, message = await tried(handraise, **WHOLE)
            assert not works
            assert f"({error})" in message
            assert called in message or error == "invalid_auth"
    slack.token_errors = {BOT_TOKEN: "some_new_error"}
    assert await tried(handraise, **WHOLE) == (False, "It does not work: Slack refuses (some_new_error).")
    assert slack.messages == []


async def test_tokens_that_are_swapped_or_of_others(handraise: Service, slack: FakeSlack) -> None:
    """Slack does not know them; both are said at once."""
    works, message = await tried(handraise, **WHOLE | {"bot_token": "xoxb-x", "app_token": "xapp-x"})
    assert (works, message) == (
        False,
        "It does not work: Slack does not know the bot token: copy it again, whole (invalid_auth); Socket Mode: Slack "
        "does not know the app token: copy it again, whole (invalid_auth).",
    )


async def test_missing_scopes_are_listed(handraise: Service, slack: FakeSlack) -> None:
    """Those of the bot's token, what is needed to look at the channel, and that of the app's."""
    slack.scopes -= {"groups:history", "users:read.email"}
    works, message = await tried(handraise, **WHOLE)
    assert not works
    assert "lacks the scopes groups:history, users:read.email (missing_scope)" in message
    slack.scopes = {"chat:write"}
    slack.app_scopes = set()
    works, message = await tried(handraise, **WHOLE)
    assert not works
    assert "channels:history, groups:history, users:read, users:read.email" in message
    assert "the bot token lacks the scope channels:read" in message
    assert "Socket Mode: the app token lacks the scope connections:write" in message


async def test_c27_a_channel_that_the_app_is_not_in_is_named(handraise: Service, slack: FakeSlack) -> None:
    """It could post there, but no reply would arrive: said before anything is posted, with what to do."""
    slack.channels[CHANNEL].is_member = False
    works, message = await tried(handraise, **WHOLE)
    assert not works
    assert "the app is not in the channel: invite it there with /invite @handraise (not_in_channel)" in message
    assert slack.calls_of("chat.postMessage") == []


async def test_c27_not_in_channel_when_posting_is_named(handraise: Service, slack: FakeSlack) -> None:
    """Although Slack has said that the app is a member."""
    slack.fail("chat.postMessage", error="not_in_channel")
    works, message = await tried(handraise, **WHOLE)
    assert not works
    assert "invite it there with /invite @handraise (not_in_channel)" in message


async def test_a_channel_that_is_not_there_or_archived(handraise: Service, slack: FakeSlack) -> None:
    """A private one that the app is not in looks like none."""
    hidden = slack.channel("hidden", is_private=True, is_member=False)
    old = slack.channel("old", is_archived=True)
    for channel, error in (
        (hidden.id, "channel_not_found"),
        ("C0NOTHING", "channel_not_found"),
        (old.id, "is_archived"),
    ):
        works, message = await tried(handraise, **WHOLE | {"channel_id": channel})
        assert not works
        assert f"({error})" in message
    assert slack.all_messages == []


async def test_a_private_channel_works(handraise: Service, slack: FakeSlack) -> None:
    """Once the app was invited."""
    private = slack.channel("board", is_private=True)
    assert (await tried(handraise, **WHOLE | {"channel_id": private.id}))[0] is True


async def test_too_many_calls_are_said_with_the_wait(handraise: Service, slack: FakeSlack) -> None:
    """And not made again."""
    for method in ("auth.test", "conversations.info", "chat.postMessage", "apps.connections.open"):
        before = len(slack.calls_of(method))
        slack.fail(method, status=429, retry_after=7)
        works, message = await tried(handraise, **WHOLE)
        assert not works
        assert "Slack takes no more calls just now: try again in 7 s (ratelimited)" in message
        assert len(slack.calls_of(method)) == before + 1
    assert slack.messages == []


async def test_a_message_that_cannot_be_removed_is_said(handraise: Service, slack: FakeSlack) -> None:
    """Somebody has to remove it by hand."""
    slack.fail("chat.delete", error="cant_delete_message")
    works, message = await tried(handraise, **WHOLE)
    assert not works
    assert "a message was posted, and could not be removed again" in message


async def test_the_message_goes_although_the_answer_was_lost(handraise: Service, slack: FakeSlack) -> None:
    """It was posted, once, and the connection cut: it is found by its mark and removed."""
    slack.fail("chat.postMessage", drop=True)
    works, message = await tried(handraise, **WHOLE)
    assert (works, "Slack cannot be reached" in message) == (False, True)
    assert len(slack.calls_of("chat.postMessage")) == len(slack.all_messages) == 1
    assert slack.messages == []


async def test_where_nobody_listens_it_is_said(database: str, tmp_path: Path) -> None:
    """Soon, and with a 200."""
    async with service(database, tmp_path / "data") as handraise:
        works, message = await tried(handraise, **WHOLE)
    assert not works
    assert message.startswith("It does not work: Slack cannot be reached")


GARBAGE = [
    (b"<html>It works!</html>", "text/html", 200),
    (b"<html>Bad gateway</html>", "text/html", 502),
    (b"fine", "text/plain", 200),
    (b"", "application/json", 200),
    (b"{", "application/json", 200),
    (b"[]", "application/json", 200),
    (b"[1]", "application/json", 200),
    (b"null", "application/json", 200),
    (b'"ok"', "application/json", 200),
    (b'{"ok": true}', "application/json", 200),
    (b'{"ok": true, "url": 1, "channel": 2, "ts": 3, "user": []}', "application/json", 200),
    (b'{"ok": false}', "application/json", 200),
    (b'{"ok": false, "error": {"a": 1}}', "application/json", 200),
    (b'{"ok": false, "error": "' + b"x" * 5000 + b'"}', "application/json", 500),
    (b"\xff\xfe\x00", "application/octet-stream", 200),
    (b"\x1f\x8b\x00", "application/gzip", 200),
]
"""Bodies, each with its type and status."""


@pytest.mark.parametrize("method", ["auth.test", "conversations.info", "chat.postMessage", "apps.connections.open"])
async def test_garbage_is_said_to_be_garbage(handraise: Service, slack: FakeSlack, method: str) -> None:
    """Never a failure of ours, and never a success, but where only names are missing."""
    for body, content_type, status in GARBAGE:
        slack.fail(method, body=body, content_type=content_type, status=status)
        works, message = await tried(handraise, **WHOLE)
        if method == "auth.test" and body.startswith(b'{"ok": true'):
            assert works, body
        else:
            assert not works, body
            assert "what answered is not Slack, or makes no sense" in message, body
        assert len(message) < 600
    assert slack.messages == []


@pytest.mark.parametrize("method", ["auth.test", "chat.postMessage", "chat.delete"])
async def test_it_gives_up_after_ten_seconds(handraise: Service, slack: FakeSlack, method: str) -> None:
    """Whatever hangs."""
    slack.fail(method, hang=True)
    began = time.monotonic()
    works, message = await tried(handraise, **WHOLE)
    assert time.monotonic() - began < 13
    assert (works, "Slack did not answer" in message) == (False, True)
    assert ("could not be removed again" in message) is (method == "chat.delete") is bool(slack.messages)


async def test_nothing_is_left_behind(handraise: Service, slack: FakeSlack) -> None:
    """No task, no due step, no event, no message, no connection; whether it worked or not."""
    await configured(handraise, **STORED)
    await settled(handraise)
    head = await handraise.app.store.head()
    tasks = asyncio.all_tasks()
    for method in (None, "auth.test", "chat.postMessage"):
        if method is not None:
            slack.fail(method, drop=True)
        await tried(handraise)
    await until_quiet(tasks)
    assert await rows(handraise.app.conninfo, "SELECT * FROM due_steps") == []
    assert await handraise.app.store.head() == head
    assert slack.messages == []
    assert slack.opened == 0


async def until_quiet(tasks: set[asyncio.Task[Any]]) -> None:
    """Returns once no other task than these is there, but for those with which the fake serves."""

    async def quiet() -> bool:
        return not [task for task in asyncio.all_tasks() - tasks if "RequestHandler" not in str(task.get_coro())]

    await until(quiet)


def test_the_manifest_asks_for_what_is_tried() -> None:
    """The page's manifest is YAML, and has every scope that is looked at, and those that Slack itself looks at."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "slack.md").read_text(encoding="utf-8")
    manifest = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.S)[0])
    scopes = manifest["oauth_config"]["scopes"]["bot"]
    assert set(scopes) == {*SCOPES, "channels:read", "groups:read"}
    assert set(scopes) <= FAKE_SCOPES
    assert manifest["settings"]["event_subscriptions"]["bot_events"] == ["message.channels", "message.groups"]
    assert manifest["settings"]["socket_mode_enabled"] is True
    assert manifest["settings"]["interactivity"]["is_enabled"] is True


async def test_many_tries_at_once(handraise: Service, slack: FakeSlack) -> None:
    """Each removes its own message."""
    assert await asyncio.gather(*(tried(handraise, **WHOLE) for _ in range(5))) == [(True, WORKS)] * 5
    assert len(slack.all_messages) == 5
    assert slack.messages == []
