"""Being told in Slack: who is asked, what, and by whom; once, after the delay, whatever goes wrong on the way."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from application.notices import Message
from domain.request import Request
from interfaces.slack.channel import SlackChannel
from tests.acceptance.test_ladder import history, post
from tests.acceptance.test_ladder import until as carried_out_until
from tests.acceptance.test_slack_config import WHOLE, configured
from tests.support.read_models import StoppedClock, until
from tests.support.service import Service, service
from tests.support.slack import CHANNEL, FakeSlack, fake_slack
from tests.support.slack import Message as Posted
from tests.support.slack_blocks import elements, texts
from tests.support.slack_workspace import pressable, words

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
URL = "https://handraise.test"
TO_ALICE = {"type": "SpecificUser", "userID": "alice"}


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(START)


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with fake_slack() as fake:
        yield fake


@pytest.fixture
async def handraise(database: str, tmp_path: Path, clock: StoppedClock, slack: FakeSlack) -> AsyncIterator[Service]:
    """A service that tells in Slack after a minute, whose time the test moves."""
    async with service(database, tmp_path / "data", clock=clock, slack_api_url=slack.url, public_url=URL) as made:
        await made.app.scheduler.stop()
        await configured(made, **WHOLE)
        await heard(made)
        yield made


async def heard(*replicas: Service, enabled: bool = True) -> None:
    """Returns once all of them know that Slack is enabled, or is not."""

    async def know() -> bool:
        return all(("slack" in replica.app.notices.delays()) is enabled for replica in replicas)

    await until(know)


async def given(handraise: Service, id: str) -> list[dict[str, Any]]:
    """Every `Notified` of a request, as the history has it."""
    items = (await handraise.admin.get(f"/api/requests/{id}/history")).json()["items"]
    return [item for item in items if item["type"] == "Notified"]


async def references(handraise: Service, id: str) -> list[dict[str, str] | None]:
    """The reference in each of them, which only the log has."""
    events = [event for _, event in await handraise.app.store.history(UUID(id))]
    return [event.reference for event in events if isinstance(event, Request.Notified)]


def minutes(number: float) -> datetime:
    return START + timedelta(minutes=number)


# -- what is posted, and when


async def test_who_has_answered_is_not_told(handraise: Service, slack: FakeSlack, clock: StoppedClock) -> None:
    """Within the delay nothing leaves."""
    alice = await handraise.person("alice")
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    assert [step["at"] for step in asked["plan"] if step["step"] == "notify:slack"] == ["2026-03-02T09:01:00.000Z"]
    await carried_out_until(handraise, clock, minutes(0.9))
    await post(alice, asked["id"], "respond", text="yes")
    await carried_out_until(handraise, clock, minutes(60))
    assert slack.work == []


async def test_the_notice(handraise: Service, slack: FakeSlack, clock: StoppedClock) -> None:
    """One message says who is asked, what, by whom, until when, and where to answer."""
    await handraise.person("alice")
    await handraise.admin.patch("/api/users/alice", json={"slack_user_id": "U0ALICE01"})
    asked = await handraise.ask(
        message="Deploy *build 2041*?\nIt is tested.",
        context="Payroll",
        assignment_strategy=TO_ALICE,
        expires_in_seconds=7200,
    )
    await carried_out_until(handraise, clock, minutes(30))
    (message,) = slack.messages
    assert message.channel == CHANNEL
    assert set(message.mentions) == {"@U0ALICE01"}
    said = words(message)
    for part in (
        "<@U0ALICE01> is asked to answer a request.\nClarification from default",
        "Deploy *build 2041*?\nIt is tested.",
        "*Context*\nPayroll",
        f"Request `{asked['id']}` · expires <!date^1772449200^",
        "|2026-03-02 11:00 UTC>",
    ):
        assert part in said
    assert [element["action_id"] for _, element in elements(message.blocks)] == ["form"]
    assert said.rstrip().endswith(f"<{URL}/requests/{asked['id']}|Open in Handraise>")
    assert "Deploy *build 2041*? It is tested." in message.text
    (call,) = slack.calls_of("chat.postMessage")
    assert call.arguments["unfurl_links"] is call.arguments["unfurl_media"] is False
    assert all(text["verbatim"] is True for text in texts(message.blocks) if text["type"] == "mrkdwn")
    (event,) = await given(handraise, asked["id"])
    assert (event["delivered"], event["to"]) == (True, "alice")
    assert message.metadata is not None
    assert message.metadata["event_type"] == "handraise_request"
    assert message.metadata["event_payload"]["request_id"] == asked["id"]
    assert message.metadata["event_payload"]["key"].startswith(f"{asked['id']}/slack/notify/user:")
    assert [call.method for call in slack.work] == ["chat.postMessage"]
    assert await references(handraise, asked["id"]) == [{"channel": CHANNEL, "ts": message.ts}]


async def test_two_replicas_post_once(database: str, tmp_path: Path, clock: StoppedClock, slack: FakeSlack) -> None:
    """Whichever comes first; and each hears of it when Slack is set up at the other."""
    async with AsyncExitStack() as stack:
        one, other = [
            await stack.enter_async_context(
                service(database, tmp_path / "data", clock=clock, slack_api_url=slack.url, public_url=URL)
            )
            for _ in range(2)
        ]
        for replica in (one, other):
            await replica.app.scheduler.stop()
        await configured(one, **WHOLE)
        await heard(one, other)
        await one.person("alice")
        asked = [await replica.ask(assignment_strategy=TO_ALICE) for replica in (one, other, one, other)]
        await carried_out_until(one, clock, minutes(120), other)
        posted = [message.metadata["event_payload"]["request_id"] for message in slack.messages if message.metadata]
        assert sorted(posted) == sorted(each["id"] for each in asked)


async def test_the_strategy_says_how_long(handraise: Service, slack: FakeSlack, clock: StoppedClock) -> None:
    """Its `notifyDelaySeconds` wins over what is configured."""
    await handraise.person("alice")
    await handraise.ask(assignment_strategy=TO_ALICE | {"notifyDelaySeconds": 300})
    await carried_out_until(handraise, clock, minutes(4.9))
    assert slack.work == []
    await carried_out_until(handraise, clock, minutes(5))
    assert len(slack.messages) == 1


async def test_enabling_and_disabling_hold_at_once(handraise: Service, slack: FakeSlack, clock: StoppedClock) -> None:
    """From the next request on, without a restart; what was planned before is recorded as not delivered."""
    await handraise.person("alice")
    planned = await handraise.ask(assignment_strategy=TO_ALICE)
    await configured(handraise, enabled=False)
    await heard(handraise, enabled=False)
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    assert "slack" not in json.dumps(asked["plan"])
    await carried_out_until(handraise, clock, minutes(10))
    assert slack.work == []
    (event,) = await given(handraise, planned["id"])
    assert (event["delivered"], event["error"]) == (False, "the channel slack is not set up any more")
    assert await given(handraise, asked["id"]) == []
    await configured(handraise, enabled=True, notification_delay_seconds=0)
    await heard(handraise)
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    assert "notify:slack" in json.dumps(asked["plan"])
    await carried_out_until(handraise, clock, clock.at)
    assert len(slack.messages) == 1


# -- who is asked


async def test_only_who_is_known_is_mentioned(handraise: Service, slack: FakeSlack, clock: StoppedClock) -> None:
    """By the Slack id that is stored, or the e-mail address, which is looked up once; else by name, escaped."""
    carol = slack.user("carol", email="Carol@e.test")
    for id, fields in {
        "alice": {"slack_user_id": "U0ALICE01", "email": "alice@e.test"},
        "bob": {"name": "B <!channel> & <@U0ALICE01>"},
        "carol": {"email": "carol@e.test"},
        "dave": {"email": "dave@e.test"},
        "erin": {"slack_user_id": "no id> <!here"},
    }.items():
        await handraise.person(id)
        changed = await handraise.admin.patch(f"/api/users/{id}", json=fields)
        assert changed.status_code == 200, changed.text
    found: dict[str, Posted] = {}
    for id in ("alice", "bob", "carol", "dave", "erin", "carol", "dave"):
        await handraise.ask(assignment_strategy={"type": "SpecificUser", "userID": id})
        await carried_out_until(handraise, clock, clock.at + timedelta(minutes=5))
        found[id] = slack.messages[-1]
    assert {id: set(message.mentions) for id, message in found.items()} == {
        "alice": {"@U0ALICE01"},
        "bob": set(),
        "carol": {f"@{carol.id}"},
        "dave": set(),
        "erin": set(),
    }
    assert "B &lt;!channel&gt; &amp; &lt;@U0ALICE01&gt; is asked" in words(found["bob"])
    assert "Erin is asked" in words(found["erin"])
    looked_up = [call.arguments["email"] for call in slack.calls_of("users.lookupByEmail")]
    assert looked_up == ["carol@e.test", "dave@e.test"]
    assert slack.calls_of("conversations.history") == []


async def test_who_cannot_be_looked_up_is_told_by_name(
    handraise: Service, slack: FakeSlack, clock: StoppedClock
) -> None:
    """Whatever Slack says instead; and it is tried again the next time."""
    alice = slack.user("alice", email="alice@e.test")
    await handraise.person("alice")
    await handraise.admin.patch("/api/users/alice", json={"email": "alice@e.test"})
    failures: list[dict[str, Any]] = [
        {"error": "missing_scope"}, {"status": 429, "retry_after": 60}, {"status": 500},
        {"hang": True}, {"body": b'{"ok": true, "user": []}'}, {"body": b"<html>"},
    ]  # fmt: skip
    for number, failure in enumerate(failures, start=1):
        slack.fail("users.lookupByEmail", **failure)
        await handraise.ask(assignment_strategy=TO_ALICE)
        await carried_out_until(handraise, clock, clock.at + timedelta(minutes=5))
        assert len(slack.messages) == number, failure
        assert "Alice is asked" in words(slack.messages[-1])
    assert alice.id not in str(slack.messages)


async def test_a_list_is_told_by_its_name_and_its_members(
    handraise: Service, slack: FakeSlack, clock: StoppedClock
) -> None:
    """Those whose Slack id is known and who are active, ten at most; a request that nobody is asked mentions nobody."""
    ids = [f"p{number:02}" for number in range(14)]
    for number, id in enumerate(ids):
        await handraise.person(id)
        if number:
            await handraise.admin.patch(f"/api/users/{id}", json={"slack_user_id": f"U0PERSON{number:02}"})
    await handraise.admin.patch("/api/users/p01", json={"active": False})
    await handraise.app.directory.add("list", {"name": "On <call>", "members": ids}, by=None, id="oncall")
    await handraise.ask(assignment_strategy={"type": "SharedInbox", "listID": "oncall"})
    await carried_out_until(handraise, clock, minutes(5))
    (message,) = slack.messages
    assert set(message.mentions) == {f"@U0PERSON{number:02}" for number in range(2, 12)}
    assert "somebody of On &lt;call&gt; to claim it. <@U0PERSON02> " in words(message)
    assert "<@U0PERSON11> and 2 more\n" in words(message)
    await handraise.ask()
    await carried_out_until(handraise, clock, minutes(10))
    assert slack.messages[-1].mentions == []
    assert "nobody is asked" in words(slack.messages[-1])


async def test_reminders_and_people_the_ladder_tells(handraise: Service, slack: FakeSlack, clock: StoppedClock) -> None:
    """Each is a message of its own that says what it is."""
    await handraise.person("alice")
    await handraise.person("bob")
    ladder = [{"afterMinutes": 15, "to": {"userID": "bob"}, "notifyOnly": True}]
    await handraise.ask(assignment_strategy=TO_ALICE | {"remindMinutes": 10, "escalation": ladder})
    await carried_out_until(handraise, clock, minutes(16))
    assert [words(message).partition("\n")[0] for message in slack.messages] == [
        "Alice is asked to answer a request.",
        "Reminder: Alice is asked to answer a request.",
        "Bob may claim a request that still waits.",
    ]


# -- what agents write


HOSTILE = (
    "if a < b && ping <!channel> <!here|x> <!everyone> <@U123> <@U0ALICE01|you> <!subteam^S123>"
    " <https://evil.test|log in> @channel @here #general <#C0FAKECHAN> &lt;!channel&gt;"
    " <!date^1^{date}^https://evil.test|now> \u2028"
)


async def test_nothing_that_an_agent_writes_is_live(handraise: Service, slack: FakeSlack, clock: StoppedClock) -> None:
    """C20: no mention and no link; it shows literally, as message, context, and in the text of a notification."""
    await handraise.person("alice")
    message = HOSTILE
    asked = await handraise.ask(message=message, context=message, assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(5))
    (posted,) = slack.messages
    assert posted.mentions == []
    escaped = message.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").rstrip()
    assert words(posted).count(escaped) == 2
    own = re.findall(r"<[^>]*>", words(posted) + posted.text)
    assert own == [f"<{URL}/requests/{asked['id']}|Open in Handraise>"]
    assert "if a &lt; b &amp;&amp; ping &lt;!channel&gt;" in posted.text


LINE = "Is a < b && c? 🚀 \n"


@pytest.mark.parametrize("size", [1, 1500, 2990, 3000, 3001, 6000, 6001, 20_000, 100_000])
async def test_long_messages_are_cut_and_say_so(
    handraise: Service, slack: FakeSlack, clock: StoppedClock, size: int
) -> None:
    """C21: whatever the length, Slack takes it; how much is missing is said, to the character."""
    await handraise.person("alice")
    for pattern in ("x", "&", "🚀", LINE, "word & ", " \n"):
        message = (pattern * (size // len(pattern) + 1))[: size - 1] + "."
        context = message if size < 20_000 else None
        await handraise.ask(message=message, context=context, assignment_strategy=TO_ALICE)
        await carried_out_until(handraise, clock, clock.at + timedelta(minutes=5))
        posted = slack.messages[-1]
        assert len(posted.blocks) <= 50
        assert len(posted.text) < 4000
        said = [text["text"] for text in texts(posted.blocks) if text["type"] == "mrkdwn"]
        assert sum(len(text.encode("utf-16-le")) // 2 for text in said) <= 9_500
        end = said.index("*Context*") if "*Context*" in said else len(said) - 2
        shown, rest = [], 0
        for text in said[1:end]:
            if note := re.fullmatch(r"… ([\d,]+) more characters?: see the request", text):
                rest = int(note[1].replace(",", ""))
            else:
                shown.append(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        whole = message[: len(message) - rest]
        assert "".join("".join(shown).split()) == "".join(whole.split())
        assert (rest > 0) is (whole != message)
        assert rest < size - 1000 or size <= 1000
        if rest and "\n" in pattern:
            assert whole[-1] == "\n"
    assert len(slack.messages) == 6


async def test_a_confidential_answer_is_given_on_the_page(
    handraise: Service, slack: FakeSlack, clock: StoppedClock
) -> None:
    """What the agent wrote is shown; that the answer does not belong here, too."""
    await handraise.person("alice")
    await handraise.ask(message="The password of the router?", assignment_strategy=TO_ALICE, secret=True)
    await carried_out_until(handraise, clock, minutes(5))
    (posted,) = slack.messages
    assert "The password of the router?" in words(posted)
    assert "on the page of the request only, never here" in words(posted)


# -- what goes wrong


async def test_slack_is_left_alone_for_as_long_as_it_says(
    handraise: Service, slack: FakeSlack, clock: StoppedClock
) -> None:
    """C23: two posts are turned away for 3 s; ten requests are posted, each once, and none within these."""
    await handraise.person("alice")
    asked = [await handraise.ask(assignment_strategy=TO_ALICE) for _ in range(10)]
    slack.fail("chat.postMessage", status=429, retry_after=3, times=2)
    await carried_out_until(handraise, clock, minutes(1))
    await carried_out_until(handraise, clock, minutes(10))
    posted = [message.metadata["event_payload"]["request_id"] for message in slack.messages if message.metadata]
    assert sorted(posted) == sorted(each["id"] for each in asked)
    calls = slack.calls_of("chat.postMessage")
    turned_away = [call for call in calls if call.status == 429]
    assert len(turned_away) == 2
    tried: dict[str, list[float]] = {}
    for call in calls:
        tried.setdefault(call.arguments["metadata"]["event_payload"]["key"], []).append(call.at)
    again = [times for times in tried.values() if len(times) > 1]
    assert len(again) == 2
    assert all(second - first >= 2.9 for first, second in again)
    for each in asked:
        events = await given(handraise, each["id"])
        assert [event["delivered"] for event in events] in ([True], [False, True])


async def test_a_long_pause_is_kept(handraise: Service, slack: FakeSlack, clock: StoppedClock) -> None:
    """Nothing is posted for others meanwhile, either."""
    await handraise.person("alice")
    slack.fail("chat.postMessage", status=429, retry_after=600)
    first = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(1))
    second = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(3))
    assert len(slack.calls_of("chat.postMessage")) == 1
    for asked in (first, second):
        (event,) = await given(handraise, asked["id"])
        assert (event["delivered"], "ratelimited" in event["error"]) == (False, True)


@pytest.mark.parametrize(
    "failure",
    [
        {"status": 500},
        {"status": 503, "body": b"<html>", "content_type": "text/html"},
        {"error": "service_unavailable"},
        {"error": "fatal_error"},
        {"error": "ratelimited"},
        {"body": b'{"ok": true}'},
        {"body": b"null"},
    ],
)
async def test_what_passes_is_tried_again(
    handraise: Service, slack: FakeSlack, clock: StoppedClock, failure: dict[str, Any]
) -> None:
    """After half a minute, and then it is there, once."""
    await handraise.person("alice")
    slack.fail("chat.postMessage", **failure)
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(10))
    first, second = await given(handraise, asked["id"])
    assert (first["delivered"], second["delivered"]) == (False, True)
    assert len(slack.messages) == 1


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("not_in_channel", "the app is not in the channel"),
        ("channel_not_found", "there is no such channel"),
        ("is_archived", "the channel is archived"),
        ("invalid_auth", "Slack does not know the bot token"),
        ("account_inactive", "was removed or switched off"),
        ("token_revoked", "was revoked"),
        ("missing_scope", "Slack refuses"),
        ("restricted_action", "does not let the app post"),
        ("msg_too_long", "longer than Slack takes"),
        ("invalid_blocks", "Slack does not take"),
    ],
)
async def test_what_is_refused_for_good_is_recorded(
    handraise: Service, slack: FakeSlack, clock: StoppedClock, code: str, said: str
) -> None:
    """C27: once, with the cause in words; the request waits in the web as before."""
    alice = await handraise.person("alice")
    slack.fail("chat.postMessage", error=code, times=100)
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(60 * 24))
    (event,) = await given(handraise, asked["id"])
    assert event["delivered"] is False
    assert said in event["error"]
    assert f"({code})" in event["error"]
    assert len(slack.calls_of("chat.postMessage")) == 1
    assert (await post(alice, asked["id"], "respond", text="yes"))["status"] == "Responded"


async def test_an_app_that_was_taken_out_of_the_channel(
    handraise: Service, slack: FakeSlack, clock: StoppedClock
) -> None:
    """C27, as the real one says it."""
    await handraise.person("alice")
    slack.channels[CHANNEL].is_member = False
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(60))
    assert await history(handraise, asked["id"]) == [
        ("0:00:00", "Requested", None),
        ("0:01:00", "Notified", ("notify", "slack", "alice", False)),
    ]


# -- one message, although nobody knows of it


async def test_a_lost_answer_does_not_become_two_messages(
    handraise: Service, slack: FakeSlack, clock: StoppedClock
) -> None:
    """It was posted, and the connection cut: the next attempt finds it, however much was written since."""
    await handraise.person("alice")
    slack.fail("chat.postMessage", drop=True)
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(1))
    (message,) = slack.messages
    eve = slack.user("eve")
    for number in range(450):
        slack.all_messages.append(Posted(CHANNEL, f"{4_000_000_000 + number}.000000", eve.id, "hello"))
    await carried_out_until(handraise, clock, minutes(60))
    assert slack.messages == [message]
    assert await references(handraise, asked["id"]) == [None, {"channel": CHANNEL, "ts": message.ts}]
    assert [event["delivered"] for event in await given(handraise, asked["id"])] == [False, True]
    assert len(slack.calls_of("conversations.history")) == 3


async def test_another_apps_message_is_not_taken_for_ours(
    handraise: Service, slack: FakeSlack, clock: StoppedClock
) -> None:
    """It has the same mark, which everybody in the channel can read: it was posted by somebody else."""
    await handraise.person("alice")
    slack.fail("chat.postMessage", status=500)
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(1))
    (call,) = slack.calls_of("chat.postMessage")
    mark = call.arguments["metadata"]
    slack.all_messages.append(Posted(CHANNEL, "4000000000.000009", "U0EVIL", "…", metadata=mark, bot_id="B0EVIL"))
    await carried_out_until(handraise, clock, minutes(60))
    (message,) = slack.messages
    assert await references(handraise, asked["id"]) == [None, {"channel": CHANNEL, "ts": message.ts}]


@pytest.fixture
def crashing(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The server dies after each post, before it is recorded, until this is undone."""
    deliver = SlackChannel.deliver

    class Crash(BaseException):
        pass

    async def crash(self: SlackChannel, message: Message) -> None:
        await deliver(self, message)
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(SlackChannel, "deliver", crash)
        yield patched


async def test_a_crash_before_the_record_does_not_become_two_messages(
    handraise: Service, slack: FakeSlack, clock: StoppedClock, crashing: pytest.MonkeyPatch
) -> None:
    """The same notice, at its first attempt again, once its lease is over."""
    await handraise.person("alice")
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(1))
    crashing.undo()
    (message,) = slack.messages
    assert await given(handraise, asked["id"]) == []
    await carried_out_until(handraise, clock, minutes(10))
    assert slack.messages == [message]
    assert await references(handraise, asked["id"]) == [{"channel": CHANNEL, "ts": message.ts}]


async def test_c29_a_message_that_nobody_knows_of_shows_the_end_too(
    handraise: Service, slack: FakeSlack, clock: StoppedClock, crashing: pytest.MonkeyPatch
) -> None:
    """The server died before it had recorded the message, and the request was answered before another went on."""
    alice = await handraise.person("alice")
    asked = await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(1))
    crashing.undo()
    (message,) = slack.messages
    assert pressable(message)
    assert (await alice.post(f"/api/requests/{asked['id']}/respond", json={"text": "yes"})).status_code == 200
    await carried_out_until(handraise, clock, minutes(3))
    assert slack.messages == [message]
    assert pressable(message) == []
    assert "Answered" in words(message)


async def test_without_an_answer_to_where_it_is_nothing_is_posted(
    handraise: Service, slack: FakeSlack, clock: StoppedClock
) -> None:
    """Unless Slack refuses for good to say: then once too often is better than never."""
    await handraise.person("alice")
    slack.fail("chat.postMessage", drop=True)
    slack.fail("conversations.history", status=500)
    await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(60))
    assert len(slack.messages) == 1
    assert len(slack.calls_of("conversations.history")) == 2
    slack.fail("chat.postMessage", status=500)
    slack.fail("conversations.history", error="missing_scope")
    await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(120))
    assert len(slack.messages) == 2


async def test_others_messages_are_not_taken_for_ours(
    handraise: Service, slack: FakeSlack, clock: StoppedClock
) -> None:
    """Messages without metadata, and such of other notices."""
    await handraise.person("alice")
    await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(5))
    strange: list[Any] = [None, {}, {"event_type": "handraise_request"}, {"event_type": "other", "event_payload": {}}]
    strange.append({"event_type": "handraise_request", "event_payload": "text"})
    slack.all_messages += [
        Posted(CHANNEL, f"{4_000_000_000 + number}.000000", "U0X", "hello", metadata=metadata)
        for number, metadata in enumerate(strange)
    ]
    slack.fail("chat.postMessage", status=500)
    await handraise.ask(assignment_strategy=TO_ALICE)
    await carried_out_until(handraise, clock, minutes(15))
    assert len(slack.messages) == 2
