"""The Slack that tests run against, held to the real SDK and bolt: it works, and refuses what Slack refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.support.slack import (
    ACKNOWLEDGED_WITHIN,
    APP_TOKEN,
    BOT_TOKEN,
    BOT_USER,
    CHANNEL,
    FakeSlack,
    Message,
    eventually,
    fake_slack,
)


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with fake_slack() as fake:
        yield fake


@pytest.fixture
def client(slack: FakeSlack) -> AsyncWebClient:
    return client_of(slack)


def client_of(slack: FakeSlack, token: str = BOT_TOKEN, **options: Any) -> AsyncWebClient:
    made = AsyncWebClient(token, base_url=slack.url, **{"retry_handlers": []} | options)
    made.proxy = None
    return made


@asynccontextmanager
async def connected(app: AsyncApp, slack: FakeSlack) -> AsyncIterator[None]:
    """The app, with its socket open."""
    handler = AsyncSocketModeHandler(app, APP_TOKEN, ping_interval=0.2)
    await handler.connect_async()
    try:
        await slack.connected()
        yield
    finally:
        await handler.close_async()


async def refusal(call: Awaitable[Any]) -> str:
    """The error that a call is refused with."""
    with pytest.raises(SlackApiError) as refused:
        await call
    response: Any = refused.value.response
    return response.data["error"]


def section(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}, **fields}


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def button(text: str = "Yes", value: str = "yes", action_id: str = "answer") -> dict[str, Any]:
    return {"type": "button", "text": plain(text), "value": value, "action_id": action_id}


def options(count: int, *, text: str = "Option", value: str = "v") -> list[dict[str, Any]]:
    return [{"text": plain(text), "value": f"{value}{number}"} for number in range(count)]


def select(**fields: Any) -> dict[str, Any]:
    return {"type": "static_select", "action_id": "choose", "options": options(3), **fields}


def modal(*blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "modal", "title": plain("Answer"), "submit": plain("Send"), "blocks": list(blocks), **fields}


def question(action_id: str = "text", **element: Any) -> dict[str, Any]:
    asked = {"type": "plain_text_input", "action_id": action_id, **element}
    return {"type": "input", "block_id": f"block of {action_id}", "label": plain("Why?"), "element": asked}


# -- with the real bolt


async def test_bolt_echoes_what_somebody_writes_in_a_thread(slack: FakeSlack, client: AsyncWebClient) -> None:
    """Posted, answered by a person, answered by the app: each once, and acknowledged in time."""
    alice = slack.user("alice", email="alice@e.test")
    app = AsyncApp(client=client)
    heard = []

    @app.event("message")
    async def echo(event: dict[str, Any], say: Any) -> None:
        heard.append((event["user"], event["text"], event["thread_ts"], event["parent_user_id"]))
        await say(text=f"You said: {event['text']}", thread_ts=event["thread_ts"])

    async with connected(app, slack):
        posted = await client.chat_postMessage(channel=CHANNEL, text="May I?")
        sent = await slack.reply(posted["ts"], alice, "yes &amp; no")
        await sent.acknowledged(ACKNOWLEDGED_WITHIN)
        await eventually(lambda: len(slack.messages) == 2, "the echo")
        await asyncio.gather(*(each.acknowledged() for each in slack.envelopes))
    assert heard == [(alice.id, "yes &amp; no", posted["ts"], BOT_USER)]
    assert [(each.text, each.thread_ts) for each in slack.messages] == [
        ("May I?", None),
        ("You said: yes &amp; no", posted["ts"]),
    ]
    assert [each.payload["event"].get("bot_id") is not None for each in slack.envelopes] == [True, False, True]


async def test_bolt_opens_a_modal_from_a_button_and_checks_what_is_submitted(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    """What is wrong is shown in the modal, which stays; what is right closes it. A button says its value."""
    alice = slack.user("alice")
    app = AsyncApp(client=client)
    clicked, submitted = [], []

    @app.action("answer")
    async def open_form(ack: Any, body: dict[str, Any]) -> None:
        await ack()
        clicked.append((body["user"]["id"], body["actions"][0]["value"], body["message"]["metadata"]))
        await client.views_open(
            trigger_id=body["trigger_id"], view=modal(question(), callback_id="form", private_metadata="r-1")
        )

    @app.view("form")
    async def submit(ack: Any, view: dict[str, Any]) -> None:
        value = view["state"]["values"]["block of text"]["text"]["value"]
        if value == "wrong":
            await ack(response_action="errors", errors={"block of text": "not that"})
            return
        await ack()
        submitted.append((view["private_metadata"], value))

    metadata = {"event_type": "request", "event_payload": {"id": "r-1"}}
    async with connected(app, slack):
        blocks = [{"type": "actions", "elements": [button("Answer…", "r-1")]}]
        await client.chat_postMessage(channel=CHANNEL, text="May I?", blocks=blocks, metadata=metadata)
        await (await slack.click(slack.messages[0], alice, value="r-1")).acknowledged(ACKNOWLEDGED_WITHIN)
        await eventually(lambda: len(slack.views) == 1, "the modal")
        (view,) = slack.views
        await slack.submit_view(view, {"block of text": "wrong"})
        assert (view.is_open, view.errors) == (True, {"block of text": "not that"})
        await slack.submit_view(view, {"block of text": "because"})
        assert not view.is_open
    assert clicked == [(alice.id, "r-1", metadata)]
    assert submitted == [("r-1", "because")]


@pytest.mark.parametrize("how", ["refresh_requested", "warning", "cut", "deaf", "failed openings"])
async def test_bolt_connects_anew(slack: FakeSlack, client: AsyncWebClient, how: str) -> None:
    """Told to, or cut off without a word: what is written then arrives over the new socket."""
    alice = slack.user("alice")
    app = AsyncApp(client=client)
    heard = []

    @app.event("message")
    async def hear(event: dict[str, Any]) -> None:
        heard.append(event["text"])

    async with connected(app, slack):
        if how == "cut":
            slack.cut()
        elif how == "deaf":
            slack.deafen()
        elif how == "failed openings":
            slack.fail("apps.connections.open", status=500, times=2)
            slack.cut()
        else:
            await slack.disconnect(how)
        await eventually(lambda: slack.opened >= 2, "a second socket")
        await (await slack.say(alice, "still there?")).acknowledged()
        await eventually(lambda: set(heard) == {"still there?"}, "what was written")


async def test_what_is_sent_again_is_the_same_event(slack: FakeSlack, client: AsyncWebClient) -> None:
    """In the same envelope or a new one; bolt itself drops none of it. Pings are answered."""
    alice = slack.user("alice")
    app = AsyncApp(client=client)
    heard = []

    @app.event("message")
    async def hear(body: dict[str, Any]) -> None:
        heard.append(body["event_id"])

    async with connected(app, slack):
        first = await slack.say(alice, "yes")
        again = await slack.redeliver(first, attempt=0, same_envelope=True)
        later = await slack.redeliver(first)
        await asyncio.gather(*(each.acknowledged() for each in (first, again, later)))
        await eventually(lambda: len(heard) == 3, "all three")
        await slack.ping()
        await eventually(lambda: slack.pongs == 1, "the pong")
    assert (first.id, first.retry_attempt) == (again.id, 0)
    assert (later.id != first.id, later.retry_attempt) == (True, 1)
    assert set(heard) == {first.event_id}


async def test_the_app_hears_of_nothing_where_it_is_no_member(slack: FakeSlack) -> None:
    """Writing there from a test is a mistake of the test."""
    outside = slack.channel("outside", is_member=False)
    with pytest.raises(AssertionError, match="not in the channel"):
        await slack.say(slack.user("alice"), "hello?", channel=outside.id)


# -- the Web API


async def test_tokens_and_scopes_are_looked_at(slack: FakeSlack) -> None:
    """Each call wants its own kind of token, and what that may do."""
    bot, app = client_of(slack), client_of(slack, APP_TOKEN)
    assert (await bot.auth_test()).headers["x-oauth-scopes"] == ",".join(sorted(slack.scopes))
    assert await refusal(client_of(slack, "").auth_test()) == "not_authed"
    assert await refusal(client_of(slack, "xoxb-other").auth_test()) == "invalid_auth"
    assert await refusal(app.chat_postMessage(channel=CHANNEL, text="x")) == "not_allowed_token_type"
    assert await refusal(bot.apps_connections_open(app_token=BOT_TOKEN)) == "not_allowed_token_type"
    assert await refusal(bot.api_call("chat.invented")) == "unknown_method"
    slack.scopes -= {"chat:write"}
    assert await refusal(bot.chat_postMessage(channel=CHANNEL, text="x")) == "missing_scope"
    slack.token_errors[BOT_TOKEN] = "token_revoked"
    assert await refusal(bot.auth_test()) == "token_revoked"


async def test_a_ticket_opens_one_socket(slack: FakeSlack) -> None:
    """As the real one's, which is good for 30 seconds and once."""
    url = (await client_of(slack, APP_TOKEN).apps_connections_open(app_token=APP_TOKEN))["url"]
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url) as socket:
            assert (await socket.receive_json())["type"] == "hello"
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)


async def test_channels_and_membership(slack: FakeSlack, client: AsyncWebClient) -> None:
    """Unknown and hidden ones do not exist; in others the app has to be."""
    outside = slack.channel("outside", is_member=False)
    hidden = slack.channel("hidden", is_member=False, is_private=True)
    old = slack.channel("old", is_archived=True)
    assert (await client.conversations_info(channel=outside.id))["channel"]["is_member"] is False
    for channel, error in (
        (outside.id, "not_in_channel"),
        (hidden.id, "channel_not_found"),
        ("C0NOTHING", "channel_not_found"),
        (old.id, "is_archived"),
    ):
        assert await refusal(client.chat_postMessage(channel=channel, text="x")) == error
    assert await refusal(client.conversations_history(channel=outside.id)) == "not_in_channel"
    assert await refusal(client.conversations_info(channel=hidden.id)) == "channel_not_found"
    assert await refusal(client.chat_postMessage(channel=CHANNEL, text="x", thread_ts="1700000000.000100")) == (
        "thread_not_found"
    )


async def test_history_and_replies(slack: FakeSlack, client: AsyncWebClient) -> None:
    """Newest first and without threads; a thread oldest first; metadata only to whoever asks for it."""
    metadata = {"event_type": "request", "event_payload": {"id": "r-1"}}
    first = await client.chat_postMessage(channel=CHANNEL, text="first", metadata=metadata)
    second = await client.chat_postMessage(channel=CHANNEL, text="second")
    for text, broadcast in (("in the thread", False), ("shown to all", True)):
        await client.chat_postMessage(channel=CHANNEL, text=text, thread_ts=first["ts"], reply_broadcast=broadcast)
    await client.chat_delete(channel=CHANNEL, ts=second["ts"])
    all_of_it = await client.conversations_history(channel=CHANNEL, include_all_metadata=True, limit=10)
    assert [each["text"] for each in all_of_it["messages"]] == ["shown to all", "first"]
    assert all_of_it["messages"][1]["metadata"] == metadata
    bare = await client.conversations_history(channel=CHANNEL, oldest=first["ts"], inclusive=True)
    assert "metadata" not in bare["messages"][1]
    thread = await client.conversations_replies(channel=CHANNEL, ts=first["ts"])
    assert [each["text"] for each in thread["messages"]] == ["first", "in the thread", "shown to all"]
    page = await client.conversations_replies(channel=CHANNEL, ts=first["ts"], limit=2)
    assert (len(page["messages"]), page["has_more"]) == (2, True)
    stamps = [each.ts for each in slack.all_messages]
    assert sorted(set(stamps)) == stamps


async def test_an_update_without_blocks_takes_them_away(slack: FakeSlack, client: AsyncWebClient) -> None:
    """And blocks without text leave the text; metadata stays. Nobody changes what somebody else wrote."""
    metadata = {"event_type": "request", "event_payload": {"id": "r-1"}}
    made = await client.chat_postMessage(channel=CHANNEL, text="old", blocks=[section("old")], metadata=metadata)
    (message,) = slack.messages
    await client.api_call("chat.update", json={"channel": CHANNEL, "ts": made["ts"], "blocks": [section("new")]})
    assert (message.text, message.blocks[0]["text"]["text"]) == ("old", "new")
    await client.chat_update(channel=CHANNEL, ts=made["ts"], text="new")
    assert (message.text, message.blocks, message.metadata, message.edits) == ("new", [], metadata, 2)
    foreign = Message(CHANNEL, "1700000000.000100", "U1", "theirs")
    slack.all_messages.append(foreign)
    assert await refusal(client.chat_update(channel=CHANNEL, ts=foreign.ts, text="x")) == "cant_update_message"
    assert await refusal(client.chat_delete(channel=CHANNEL, ts=foreign.ts)) == "cant_delete_message"
    assert await refusal(client.chat_update(channel=CHANNEL, ts="1700000000.000200", text="x")) == "message_not_found"
    assert await refusal(client.api_call("chat.delete", json={"channel": CHANNEL, "ts": 1700000000.0002})) == (
        "invalid_arguments"
    )


@pytest.mark.parametrize(
    ("blocks", "error"),
    [
        ([section("x" * 3000)], None),
        ([section("x" * 3001)], "invalid_blocks"),
        ([section("")], "invalid_blocks"),
        ([section("x")] * 50, None),
        ([section("x")] * 51, "invalid_blocks"),
        ([section("x" * 2600)] * 5, None),
        ([section("x" * 2601)] * 5, "msg_blocks_too_long"),
        ([section("x", block_id="b" * 255)], None),
        ([section("x", block_id="b" * 256)], "invalid_blocks"),
        ([section("x", block_id="b"), section("y", block_id="b")], "invalid_blocks"),
        ([section("x", colour="red")], "invalid_blocks"),
        ([{"type": "header", "text": plain("x" * 150)}], None),
        ([{"type": "header", "text": plain("x" * 151)}], "invalid_blocks"),
        ([{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}], "invalid_blocks"),
        ([{"type": "invented"}], "invalid_blocks"),
        ([{"type": "divider"}, {"type": "context", "elements": [plain("x")] * 10}], None),
        ([{"type": "context", "elements": [plain("x")] * 11}], "invalid_blocks"),
        ([section("x", accessory=button("x" * 75, "v" * 2000))], None),
        ([section("x", accessory=button("x" * 76))], "invalid_blocks"),
        ([section("x", accessory=button(value="v" * 2001))], "invalid_blocks"),
        ([section("x", accessory=button() | {"style": "default"})], "invalid_blocks"),
        ([section("x", accessory=select(options=options(100, text="o" * 75, value="v" * 147)))], None),
        ([section("x", accessory=select(options=options(101)))], "invalid_blocks"),
        ([section("x", accessory=select(options=[]))], "invalid_blocks"),
        ([section("x", accessory=select(options=options(1, text="o" * 76)))], "invalid_blocks"),
        ([section("x", accessory=select(options=options(1, value="v" * 150)))], "invalid_blocks"),
        ([section("x", accessory=select(placeholder=plain("p" * 151)))], "invalid_blocks"),
        ([section("x", accessory=select(initial_option=options(1, text="other")[0]))], "invalid_blocks"),
        ([{"type": "actions", "elements": [button(action_id=f"a{number}") for number in range(25)]}], None),
        ([{"type": "actions", "elements": [button(action_id=f"a{number}") for number in range(26)]}], "invalid_blocks"),
        ([{"type": "actions", "elements": [button(), button()]}], "invalid_blocks"),
        ([{"type": "actions", "elements": [question()["element"]]}], "invalid_blocks"),
        ([question()], None),
        ([question(placeholder=plain("p" * 151))], "invalid_blocks"),
        ([question() | {"label": plain("l" * 2001)}], "invalid_blocks"),
        ({"not": "a list"}, "invalid_blocks"),
    ],
)
async def test_what_is_taken_as_blocks(client: AsyncWebClient, blocks: Any, error: str | None) -> None:
    """The last that is right and the first that is wrong, in a new message and in an update, as JSON and as a form."""
    made = await client.chat_postMessage(channel=CHANNEL, text="x")
    body: dict[str, Any] = {"channel": CHANNEL, "ts": made["ts"], "text": "x", "blocks": blocks}
    form = {**body, "blocks": json.dumps(blocks)}
    for call in (
        client.api_call("chat.postMessage", json=body),
        client.api_call("chat.postMessage", data=form),
        client.api_call("chat.update", json=body),
    ):
        if error is None:
            await call
        else:
            assert await refusal(call) == error


async def test_how_long_a_text_may_be(client: AsyncWebClient) -> None:
    """A new message takes far more than a change of it; nothing is too little."""
    made = await client.chat_postMessage(channel=CHANNEL, text="x" * 40_000)
    await client.chat_update(channel=CHANNEL, ts=made["ts"], text="x" * 4000)
    for call in (
        client.chat_postMessage(channel=CHANNEL, text="x" * 40_001),
        client.chat_update(channel=CHANNEL, ts=made["ts"], text="x" * 4001),
        client.chat_postEphemeral(channel=CHANNEL, user=BOT_USER, text="x" * 40_001),
    ):
        assert await refusal(call) == "msg_too_long"
    assert await refusal(client.api_call("chat.postMessage", json={"channel": CHANNEL, "text": ""})) == "no_text"


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": plain("t" * 25)},
        {"submit": plain("s" * 25)},
        {"close": plain("c" * 25)},
        {"private_metadata": "m" * 3001},
        {"blocks": [section("x")] * 101},
        {"blocks": []},
        {"blocks": [section("x" * 3001)]},
        {"type": "home"},
        {"colour": "red"},
    ],
)
async def test_what_is_taken_as_a_modal(slack: FakeSlack, client: AsyncWebClient, wrong: dict[str, Any]) -> None:
    """A view that is not right leaves the trigger as it was: the right one still opens."""
    trigger = await trigger_of(slack, client)
    view = modal(question(), title=plain("t" * 24), private_metadata="m" * 3000)
    assert await refusal(client.views_open(trigger_id=trigger, view=view | wrong)) == "invalid_arguments"
    opened = await client.views_open(trigger_id=trigger, view=view)
    assert await refusal(client.views_update(view_id=opened["view"]["id"], view=view | wrong)) == "invalid_arguments"
    await client.views_update(view_id=opened["view"]["id"], hash=opened["view"]["hash"], view=view)
    assert await refusal(client.views_update(view_id=opened["view"]["id"], hash="old", view=view)) == "hash_conflict"
    assert await refusal(client.views_open(trigger_id=trigger, view=view)) == "exchanged_trigger_id"


async def test_a_trigger_is_soon_over(slack: FakeSlack, client: AsyncWebClient) -> None:
    """After three seconds it opens nothing."""
    trigger = await trigger_of(slack, client)
    slack._triggers[trigger].at -= ACKNOWLEDGED_WITHIN
    assert await refusal(client.views_open(trigger_id=trigger, view=modal(question()))) == "expired_trigger_id"
    assert await refusal(client.views_open(trigger_id="1.2", view=modal(question()))) == "invalid_trigger_id"


async def trigger_of(slack: FakeSlack, client: AsyncWebClient) -> str:
    """A trigger from a click, over a socket that nobody reads."""
    url = (await client_of(slack, APP_TOKEN).apps_connections_open(app_token=APP_TOKEN))["url"]
    await client.chat_postMessage(channel=CHANNEL, text="x", blocks=[section("x", accessory=button())])
    async with aiohttp.ClientSession() as session, session.ws_connect(url):
        clicked = await slack.click(slack.messages[-1], slack.user("alice"), action_id="answer")
    return clicked.payload["trigger_id"]


async def test_whoever_would_be_told_is_noted(slack: FakeSlack, client: AsyncWebClient) -> None:
    """Escaped text mentions nobody; what is not escaped does, in text and blocks."""
    await client.chat_postMessage(channel=CHANNEL, text="if a &lt; b &amp;&amp; ping &lt;!channel&gt; &lt;@U123&gt;")
    await client.chat_postMessage(
        channel=CHANNEL, text="<@U0ALICE>", blocks=[section("<!channel> <!subteam^S1|team>"), section("<https://a|b>")]
    )
    await client.chat_postMessage(channel=CHANNEL, text="x", blocks=[{"type": "header", "text": plain("<!here>")}])
    assert [each.mentions for each in slack.messages] == [[], ["@U0ALICE", "!channel", "!subteam^S1"], []]


async def test_people_are_looked_up(slack: FakeSlack, client: AsyncWebClient) -> None:
    """By id, and by e-mail address in any case; the address only with its scope."""
    alice = slack.user("alice", email="Alice@e.test")
    assert (await client.users_info(user=alice.id))["user"]["profile"]["email"] == "Alice@e.test"
    assert (await client.users_lookupByEmail(email="alice@E.test"))["user"]["id"] == alice.id
    assert await refusal(client.users_lookupByEmail(email="bob@e.test")) == "users_not_found"
    assert await refusal(client.users_info(user="U0NOBODY")) == "user_not_found"
    slack.scopes -= {"users:read.email"}
    assert "email" not in (await client.users_info(user=alice.id))["user"]["profile"]
    assert await refusal(client.users_lookupByEmail(email="alice@e.test")) == "missing_scope"


async def test_what_is_said_privately_is_no_message_of_the_channel(slack: FakeSlack, client: AsyncWebClient) -> None:
    """It is shown to one person, and never in the history; a reaction is given once."""
    alice = slack.user("alice")
    made = await client.chat_postMessage(channel=CHANNEL, text="May I?")
    await client.chat_postEphemeral(channel=CHANNEL, user=alice.id, text="only you", thread_ts=made["ts"])
    assert [(each.ephemeral_to, each.text) for each in slack.ephemeral] == [(alice.id, "only you")]
    assert [each["text"] for each in (await client.conversations_history(channel=CHANNEL))["messages"]] == ["May I?"]
    assert await refusal(client.chat_postEphemeral(channel=CHANNEL, user="U0X", text="x")) == "user_not_in_channel"
    reaction = {"channel": CHANNEL, "timestamp": made["ts"], "name": "eyes"}
    await client.reactions_add(**reaction)
    assert await refusal(client.reactions_add(**reaction)) == "already_reacted"


# -- faults


async def test_calls_go_wrong_as_they_are_told_to(slack: FakeSlack, client: AsyncWebClient) -> None:
    """So many times, with what was said; each call is kept, with what came of it."""
    slack.fail("chat.postMessage", status=429, retry_after=3, times=2)
    for _ in range(2):
        with pytest.raises(SlackApiError) as refused:
            await client.chat_postMessage(channel=CHANNEL, text="x")
        response: Any = refused.value.response
        assert (response.status_code, response.headers["Retry-After"]) == (429, "3")
    await client.chat_postMessage(channel=CHANNEL, text="x")
    slack.fail("*", body=b"<html>", content_type="text/html", status=502)
    with pytest.raises(SlackApiError):
        await client.auth_test()
    calls = [(call.method, call.status) for call in slack.calls]
    assert calls == [
        ("chat.postMessage", 429),
        ("chat.postMessage", 429),
        ("chat.postMessage", 200),
        ("auth.test", 502),
    ]
    assert (slack.calls[0].arguments, slack.calls[0].token) == ({"channel": CHANNEL, "text": "x"}, BOT_TOKEN)
    assert len(slack.messages) == 1


async def test_an_answer_is_lost_after_the_message_was_posted(slack: FakeSlack, client: AsyncWebClient) -> None:
    """The SDK as it comes posts again; one without handlers does not."""
    slack.fail("chat.postMessage", drop=True)
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.chat_postMessage(channel=CHANNEL, text="once")
    slack.fail("chat.postMessage", drop=True)
    await client_of(slack, retry_handlers=None).chat_postMessage(channel=CHANNEL, text="twice")
    assert [each.text for each in slack.messages] == ["once", "twice", "twice"]


async def test_a_call_hangs_until_it_is_let_go(slack: FakeSlack, client: AsyncWebClient) -> None:
    """Nothing was done then."""
    slack.fail("chat.postMessage", hang=True)
    calling = asyncio.create_task(client.chat_postMessage(channel=CHANNEL, text="x"))
    await eventually(lambda: len(slack.calls) == 1, "the call")
    assert not calling.done()
    slack.release()
    with pytest.raises(aiohttp.ClientConnectionError):
        await calling
    assert slack.messages == []
