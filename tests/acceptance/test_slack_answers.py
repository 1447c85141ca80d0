"""Answering in Slack, end to end: from the agent's request to the answer that it waits for."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from pathlib import Path

import psycopg
import pytest

from tests.acceptance.test_ladder import post
from tests.support.slack import BOT, BOT_USER, CHANNEL, Envelope, eventually
from tests.support.slack_blocks import elements
from tests.support.slack_workspace import TO_ALICE, URL, Workspace, pressable, words, workspace

BUDGET = {
    "type": "object",
    "title": "Budget",
    "required": ["amount", "account"],
    "properties": {
        "amount": {"type": "integer", "minimum": 1, "title": "Amount"},
        "account": {"enum": ["travel", "office"], "type": "string"},
        "urgent": {"type": "boolean"},
        "code": {"type": "string", "pattern": "^[0-9]{6}$"},
    },
}


# -- a reply in the thread


async def test_a_reply_is_the_answer(here: Workspace) -> None:
    """The agent that waits has it at once, as it was meant, whoever it is found by (C20)."""
    asked, message = await here.ask()
    waiting = asyncio.create_task(here.answered(asked["id"]))
    await here.reply(message, here.alice, "a &amp; b &lt;prod&gt; <mailto:x@e.test|x@e.test>")
    answer = await waiting
    assert (answer["text"], answer["outcome"], answer["by"], answer["via"]) == (
        "a & b <prod> x@e.test", "answered", "alice", "slack",
    )  # fmt: skip
    await here.shows(message, "*Answered* by Alice")
    assert here.told(here.alice) == []
    assert len(here.slack.calls_of("users.info")) == 1


async def test_digits_stay_digits(here: Workspace) -> None:
    """C38: as free text, and as a form's text."""
    for body in (
        {},
        {"response_schema": {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}}},
    ):
        asked, message = await here.ask(**body)
        await here.reply(message, here.alice, "012345")
        answer = await here.answered(asked["id"])
        assert (answer["data"] or {"code": answer["text"]}) == {"code": "012345"}


@pytest.mark.parametrize(("said", "outcome"), [("Yes", "approved"), ("no", "rejected")])
async def test_an_approval_in_words(here: Workspace, said: str, outcome: str) -> None:
    """As everywhere else."""
    asked, message = await here.ask(request_type="approval")
    await here.reply(message, here.alice, said)
    assert (await here.answered(asked["id"]))["outcome"] == outcome
    await here.shows(message, f"*{outcome.title()}* by Alice")


async def test_also_sent_to_the_channel(here: Workspace) -> None:
    """C18: it is the answer as well, once."""
    asked, message = await here.ask()
    await here.reply(message, here.alice, "yes", subtype="thread_broadcast")
    assert (await here.answered(asked["id"]))["text"] == "yes"
    assert (await here.types(asked["id"])).count("Responded") == 1


async def test_attachments_are_ignored_and_that_is_said(here: Workspace) -> None:
    """The text counts; without any, nothing does."""
    asked, message = await here.ask()
    files = [{"id": "F0FILE", "name": "plan.pdf"}]
    await here.reply(message, here.alice, "", subtype="file_share", files=files)
    assert "there was no text" in here.told(here.alice)[0]
    assert await here.status(asked["id"]) == "Requested"
    await here.reply(message, here.alice, "see the plan", subtype="file_share", files=files)
    assert (await here.answered(asked["id"]))["text"] == "see the plan"
    assert "attachments were ignored" in here.told(here.alice)[1]


async def test_what_is_no_answer_is_said_to_them_alone(here: Workspace) -> None:
    """The request stays open; what they say next may be one."""
    asked, message = await here.ask(request_type="approval")
    await here.reply(message, here.alice, "<!channel> maybe")
    (told,) = here.told(here.alice)
    assert "This is no answer to the request" in told
    assert "<!channel>" not in told
    assert here.slack.ephemeral[0].thread_ts == message.ts
    assert await here.status(asked["id"]) == "Requested"
    await here.reply(message, here.alice, "approve")
    assert (await here.answered(asked["id"]))["outcome"] == "approved"


async def test_what_is_no_reply_of_a_person(here: Workspace) -> None:
    """C19: neither what the bot says itself, nor other bots, edits, removals, or what stands outside of the thread."""
    asked, message = await here.ask()
    slack = here.slack
    other_bot = slack.user("other", is_bot=True)
    ours = {"type": "message", "channel": CHANNEL, "thread_ts": message.ts, "parent_user_id": BOT_USER, "text": "yes"}
    for number, said in enumerate(
        (
            {"bot_id": BOT},
            {"user": BOT_USER},
            {"bot_id": other_bot.bot_id, "subtype": "bot_message"},
            {"user": here.alice.id, "subtype": "message_replied"},
            {"user": here.alice.id, "subtype": "channel_topic"},
            {"user": here.alice.id, "hidden": True},
            {"user": here.alice.id, "text": None},
        )
    ):
        await (await slack.send_event(ours | {"ts": f"170000000{number}.000001"} | said)).acknowledged()
    for envelope in (
        await slack.say(here.alice, "yes"),
        await slack.say(here.alice, "yes", thread="1600000000.000001"),
        await slack.reply(message, other_bot, "yes"),
    ):
        await envelope.acknowledged()
    await (await slack.reply(message, here.bob, "no")).acknowledged()
    mine = next(each for each in slack.all_messages if each.user == here.bob.id)
    await (await slack.edit(mine, "yes")).acknowledged()
    await (await slack.remove(mine)).acknowledged()
    assert await here.status(asked["id"]) == "Requested"


# -- who counts


async def test_who_is_not_asked_does_not_count(here: Workspace) -> None:
    """C28: it is said to them, and recorded; the request stays open."""
    asked, message = await here.ask()
    stranger = here.slack.user("stranger", email="alice@evil.test")
    await here.reply(message, here.bob, "yes")
    await here.reply(message, stranger, "yes")
    assert "only the person it is assigned to" in here.told(here.bob)[0]
    assert "does not know who you are" in here.told(stranger)[0]
    assert await here.status(asked["id"]) == "Requested"
    refused = [event for event in await here.events(asked["id"]) if event["type"] == "AnswerRefused"]
    assert [(event["actor"], event["why"], event.get("stranger")) for event in refused] == [
        ("bob", "not eligible", None),
        ("system", "unknown", f"slack:{stranger.id}"),
    ]
    assert [event["via"] for event in refused] == ["slack", "slack"]


async def test_nobody_becomes_somebody_else(here: Workspace) -> None:
    """Neither by writing another's Slack id into one's own entry, nor from another company's workspace."""
    mallory = await here.handraise.person("mallory")
    taken = await mallory.patch("/api/me", json={"slack_user_id": here.alice.id})
    assert taken.status_code == 200
    asked, message = await here.ask(assignment_strategy={"type": "SpecificUser", "userID": "mallory"})
    await here.reply(message, here.alice, "yes")
    assert await here.status(asked["id"]) == "Requested"
    assert "does not know who you are" in here.told(here.alice)[0]

    outsider = here.slack.user("outsider", email="carol@e.test")
    outsider.team_id = "T0ELSEWHERE"
    await here.handraise.person("carol")
    await here.handraise.admin.patch("/api/users/carol", json={"email": "carol@e.test"})
    asked, message = await here.ask(assignment_strategy={"type": "SpecificUser", "userID": "carol"})
    await here.reply(message, outsider, "yes")
    assert await here.status(asked["id"]) == "Requested"


async def test_who_left_does_not_count(here: Workspace) -> None:
    """A person who is not active any more is nobody, from that moment on."""
    asked, message = await here.ask(assignment_strategy={"type": "SpecificUser", "userID": "bob"})
    await here.handraise.admin.patch("/api/users/bob", json={"active": False})
    await here.reply(message, here.bob, "yes")
    assert await here.status(asked["id"]) == "Requested"


async def test_a_secret_is_never_taken_here(here: Workspace, database: str) -> None:
    """The reply is refused with the request to delete it, whoever writes; it is found nowhere."""
    asked, message = await here.ask(secret=True)
    assert pressable(message) == []
    for user in (here.alice, here.bob):
        await here.reply(message, user, "hunter2-of-the-test")
        (told,) = here.told(user)
        assert "delete your message" in told
        assert f"{URL}/requests/{asked['id']}" in told
    assert await here.types(asked["id"]) == ["Requested", "Notified"]
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT t::text FROM slack_received t").fetchall()
    assert "hunter2" not in str(rows)


# -- buttons, choices, modals


async def test_the_buttons_of_an_approval(here: Workspace) -> None:
    """With the labels that the agent gave; the first press counts, and the same again is no fault (C3)."""
    labels = {"approve": "Ship it", "reject": "Hold"}
    asked, message = await here.ask(request_type="approval", labels=labels)
    assert [element["text"]["text"] for _, element in elements(message.blocks)][:2] == ["Ship it", "Hold"]
    before = message.as_json()
    await asyncio.gather(*(here.click(message, here.alice, action_id="approve") for _ in range(3)))
    assert (await here.answered(asked["id"]))["outcome"] == "approved"
    await here.shows(message, "*Approved* by Alice")
    assert (await here.types(asked["id"])).count("Responded") == 1
    assert here.told(here.alice) == []
    message.blocks = before["blocks"]  # as somebody sees it whose screen is behind
    await here.click(message, here.alice, action_id="reject")
    assert "already closed: it was answered by Alice" in here.told(here.alice)[0]


async def test_options_as_buttons_and_as_a_choice(here: Workspace) -> None:
    """Up to five are buttons, more are a select; a long one is to be read whole."""
    asked, message = await here.ask(options=["red", "green", "b" * 90])
    assert "b" * 90 in words(message)
    await here.click(message, here.alice, action_id="option:2")
    assert (await here.answered(asked["id"]))["data"] == {"index": 2, "option": "b" * 90}
    asked, message = await here.ask(options=[f"option {number}" for number in range(50)])
    assert pressable(message) == ["select"]
    await here.click(message, here.alice, value="41")
    assert (await here.answered(asked["id"]))["data"] == {"index": 41, "option": "option 41"}


async def test_a_form_is_filled_in_in_a_modal(here: Workspace) -> None:
    """What is wrong is shown at its field; then it is the answer, each value of its own type."""
    asked, message = await here.ask(response_schema=BUDGET)
    await here.click(message, here.alice, action_id="form")
    (view,) = here.slack.views
    await here.slack.submit_view(view, {"field:0": "0", "field:1": "1", "field:3": "12345"})
    assert view.is_open
    assert view.errors.keys() == {"field:0", "field:3"}
    await here.slack.submit_view(view, {"field:0": "250", "field:1": "1", "field:3": "012345"})
    assert not view.is_open
    answer = await here.answered(asked["id"])
    assert (answer["data"], answer["by"], answer["via"]) == (
        {"amount": 250, "account": "office", "code": "012345"}, "alice", "slack",
    )  # fmt: skip


async def test_free_text_feedback_and_a_note(here: Workspace) -> None:
    """Each in a modal of its own."""
    for body, given, expected in (
        ({}, {"text": "line 1\nline 2"}, ("answered", "line 1\nline 2", None)),
        ({"request_type": "review"}, {"text": "shorter, please"}, ("rejected", "shorter, please", None)),
        (
            {"request_type": "approval"},
            {"approved": "1", "note": "too late"},
            ("rejected", None, {"approved": False, "note": "too late"}),
        ),
    ):
        asked, message = await here.ask(**body)
        await here.click(message, here.alice, action_id="form")
        await here.slack.submit_view(here.slack.views[-1], given)
        answer = await here.answered(asked["id"])
        assert (answer["outcome"], answer["text"], answer["data"]) == expected


async def test_a_form_that_does_not_fit_links_to_the_page(here: Workspace) -> None:
    """There is nothing to press; a JSON object as a reply still counts."""
    schema = {"type": "object", "properties": {"lines": {"type": "array", "items": {"type": "object"}}}}
    asked, message = await here.ask(response_schema=schema)
    assert pressable(message) == []
    assert "fill it in on the page" in words(message)
    await here.reply(message, here.alice, '{"lines": [{"sum": 5}]}')
    assert (await here.answered(asked["id"]))["data"] == {"lines": [{"sum": 5}]}


async def test_a_modal_that_is_too_late_says_so(here: Workspace) -> None:
    """Answered elsewhere while somebody typed: it is said in the modal, and who may not answer gets none."""
    asked, message = await here.ask()
    await here.click(message, here.alice, action_id="form")
    await here.click(message, here.bob, action_id="form")
    assert len(here.slack.views) == 1
    assert "only the person it is assigned to" in here.told(here.bob)[0]
    await post(here.handraise.admin, asked["id"], "respond", text="done")
    view = here.slack.views[0]
    await here.slack.submit_view(view, {"text": "mine"})
    assert view.is_open
    assert "already closed: it was answered by" in next(iter(view.errors.values()))


async def test_claimed_from_the_channel(here: Workspace) -> None:
    """A shared inbox: whoever claims it is asked, the others are told so; the message follows."""
    await here.handraise.admin.post("/api/lists", json={"id": "ops", "name": "Operations", "members": ["alice", "bob"]})
    shared = {"type": "SharedInbox", "listID": "ops"}
    asked, message = await here.ask(assignment_strategy=shared, request_type="approval")
    assert "claim" in pressable(message)
    await here.click(message, here.bob, action_id="claim")
    await eventually(lambda: "is asked to answer" in words(message), "it shows who is asked")
    assert f"<@{here.bob.id}>" in words(message)
    assert "claim" not in pressable(message)
    await here.reply(message, here.alice, "yes")
    assert "has claimed this request" in here.told(here.alice)[0]
    await here.click(message, here.bob, action_id="approve")
    assert (await here.answered(asked["id"]))["by"] == "bob"


async def test_what_is_pressed_makes_sense_or_nothing_happens(here: Workspace) -> None:
    """Whatever comes as an action is acknowledged, and changes nothing."""
    asked, message = await here.ask(options=["red", "green"])
    (block,) = [block for block in message.blocks if block["type"] == "actions"]
    for action in (
        {"action_id": "option:9", "value": "9"},
        {"action_id": "option:0", "value": "-1"},
        {"action_id": "select", "selected_option": None},
        {"action_id": "select", "selected_option": {"value": "٣"}},
        {"action_id": "else", "value": "0"},
        {},
    ):
        said = {"type": "block_actions", "user": {"id": here.alice.id}, "channel": {"id": CHANNEL}, "trigger_id": "x"}
        for block_id in (block["block_id"], "request:no-uuid", "request:00000000-0000-5000-8000-000000000000", ""):
            actions = [{"type": "button", "action_id": "", "block_id": block_id} | action]
            payload = said | {"actions": actions, "team": {"id": "T0FAKETEAM"}, "api_app_id": "A0FAKEAPP1"}
            await (await here.slack.send("interactive", payload)).acknowledged()
    assert await here.status(asked["id"]) == "Requested"


# -- the same everywhere


async def test_what_ends_elsewhere_ends_here(here: Workspace) -> None:
    """C4, C29: answered in the web, expired, cancelled: the message says so, its buttons go, later replies are told."""
    answered, in_web = await here.ask(request_type="approval")
    cancelled, withdrawn = await here.ask(request_type="approval")
    expiring, expired = await here.ask(request_type="approval", expires_in_seconds=3)
    await post(here.handraise.admin, answered["id"], "respond", data={"approved": True})
    await post(here.handraise.agent, cancelled["id"], "cancel", reason="not <!here> needed")
    await here.shows(in_web, "*Approved* by ")
    await here.shows(withdrawn, "*Cancelled* by default: not &lt;!here&gt; needed")
    await here.shows(expired, "*Expired* without an answer")
    for message, how in ((in_web, "answered by"), (withdrawn, "cancelled by default"), (expired, "expired")):
        await here.reply(message, here.alice, "no")
        assert f"already closed: it was {how}" in here.told(here.alice)[-1]
    assert await here.status(cancelled["id"]) == "Cancelled"
    assert await here.status(expiring["id"]) == "Expired"


async def test_moved_elsewhere_shows_who_is_asked_now(here: Workspace) -> None:
    """A reassignment edits the message, which can still be answered, by them."""
    asked, message = await here.ask(request_type="approval")
    await post(here.handraise.admin, asked["id"], "reassign", to="bob")
    await eventually(lambda: f"<@{here.bob.id}> is asked" in words(message), "who is asked now")
    assert "approve" in pressable(message)
    await here.click(message, here.alice, action_id="approve")
    assert "only the person" in here.told(here.alice)[0]
    await here.click(message, here.bob, action_id="approve")
    assert (await here.answered(asked["id"]))["by"] == "bob"


async def test_erased_content_goes_from_slack(here: Workspace) -> None:
    """What was erased is not to be read in the channel either."""
    asked, message = await here.ask(message="the patient's name is Ola", context="ward 7")
    await post(here.handraise.admin, asked["id"], "respond", text="ok")
    erased = await here.handraise.admin.post(f"/api/requests/{asked['id']}/erase")
    assert erased.status_code == 200, erased.text
    await eventually(lambda: "Ola" not in words(message) + message.text, "the content is gone")
    assert "ward 7" not in words(message)


async def test_an_edit_that_fails_is_tried_again(here: Workspace) -> None:
    """Slack has its moments; the message is edited when they are over."""
    asked, message = await here.ask()
    here.slack.fail("chat.update", status=500, times=1)
    await here.reply(message, here.alice, "yes")
    await here.shows(message, "*Answered* by Alice")
    assert len(here.slack.calls_of("chat.update")) == 2
    assert await here.types(asked["id"]) == ["Requested", "Notified", "Responded"]


async def test_links_change_nothing(here: Workspace) -> None:
    """C57: whoever opens every link of a message, with and without a session, changes nothing."""
    asked, message = await here.ask()
    link = f"/requests/{asked['id']}"
    assert f"{URL}{link}|" in words(message)
    before = await here.events(asked["id"])
    for client in (here.handraise.nobody, here.handraise.admin):
        for method in ("GET", "HEAD"):
            await client.request(method, link)
    assert await here.events(asked["id"]) == before


# -- at least once becomes once


async def test_sent_again_and_again(here: Workspace, database: str, tmp_path: Path) -> None:
    """C16: the same event in the same and in new envelopes, at two servers: one answer, each acknowledged in time."""
    async with workspace(database, tmp_path / "data", here.slack):
        await here.slack.connected(2)
        asked, message = await here.ask()
        first = await here.slack.reply(message, here.alice, "yes")
        again = [
            await here.slack.redeliver(first, attempt=attempt, same_envelope=same)
            for attempt, same in ((1, False), (0, True), (1, True))
        ]
        for envelope in (first, *again):
            await envelope.acknowledged()
            assert envelope.seconds < 3
        assert (await here.types(asked["id"])).count("Responded") == 1
        assert (await here.types(asked["id"])).count("AnswerRefused") == 0
        assert here.told(here.alice) == []


async def test_a_refused_reply_that_comes_again_is_dropped(here: Workspace) -> None:
    """It is not told "already closed", however long after, though the request was answered since."""
    asked, message = await here.ask(request_type="approval")
    maybe = await here.reply(message, here.alice, "maybe")
    await here.reply(message, here.alice, "yes")
    assert (await here.answered(asked["id"]))["outcome"] == "approved"
    await (await here.slack.redeliver(maybe)).acknowledged()
    assert len(here.told(here.alice)) == 1
    assert "AnswerRefused" not in await here.types(asked["id"])


async def test_a_reply_before_its_message_is_known(here: Workspace) -> None:
    """Slack may tell of a reply before the message that it is to has been recorded: it waits for that."""
    asked, message = await here.ask()
    with psycopg.connect(here.handraise.app.conninfo, autocommit=True) as connection:
        row = connection.execute("DELETE FROM slack_messages RETURNING channel, ts, request_id").fetchone()
        assert row is not None
        envelope = await here.slack.reply(message, here.alice, "yes")
        await asyncio.sleep(0.3)
        assert await here.status(asked["id"]) == "Requested"
        connection.execute("INSERT INTO slack_messages VALUES (%s, %s, %s)", row)
    await envelope.acknowledged()
    assert (await here.answered(asked["id"]))["text"] == "yes"
    assert envelope.seconds < 3


async def test_a_reply_to_a_message_that_was_never_recorded(here: Workspace) -> None:
    """The server died after it had posted the message: Slack knows whose message it is. Nobody else's counts."""
    asked, message = await here.ask()
    with psycopg.connect(here.handraise.app.conninfo, autocommit=True) as connection:
        connection.execute("DELETE FROM slack_messages")
    forged = deepcopy(message)
    forged.ts, forged.bot_id = f"{float(message.ts) + 1:.6f}", "B0EVIL"
    here.slack.all_messages.append(forged)
    await here.reply(forged, here.alice, "no", parent_user_id=message.user)
    assert await here.status(asked["id"]) == "Requested"
    await here.reply(message, here.alice, "yes")
    assert (await here.answered(asked["id"]))["text"] == "yes"


async def test_nothing_is_acknowledged_that_was_not_done(here: Workspace) -> None:
    """While the database is away a reply is left to be sent again, and then counts."""
    asked, message = await here.ask()
    with psycopg.connect(here.handraise.app.conninfo) as connection:
        connection.execute("LOCK TABLE slack_received IN ACCESS EXCLUSIVE MODE")
        envelope = await here.slack.reply(message, here.alice, "yes")
        await asyncio.sleep(0.3)
        assert envelope.acked_at is None
        connection.rollback()
    await envelope.acknowledged()
    assert (await here.answered(asked["id"]))["text"] == "yes"


# -- load


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.chaos)])
async def test_many_replies_each_twice(here: Workspace, count: int) -> None:
    """20 a second, every envelope delivered twice: an answer each, and each acknowledged before Slack gives up."""
    asked = await asyncio.gather(*(here.handraise.ask(assignment_strategy=TO_ALICE) for _ in range(count)))
    messages = [await here.posted(each["id"]) for each in asked]
    sent: list[Envelope] = []
    for message in messages:
        first = await here.slack.reply(message, here.alice, "yes")
        sent += [first, await here.slack.redeliver(first)]
        await asyncio.sleep(0.05)
    for envelope in sent:
        await envelope.acknowledged()
    for each in asked:
        assert (await here.answered(each["id"]))["text"] == "yes"
        assert (await here.types(each["id"])).count("Responded") == 1
    print("slowest acknowledgement", max(envelope.seconds for envelope in sent))
    assert max(envelope.seconds for envelope in sent) < 3
