"""A graph whose process is killed while it waits goes on with what a person made of its arguments in the browser."""

from __future__ import annotations

import json
import subprocess
import sys

from playwright.sync_api import Page, expect

from tests.support.interrupts import P1, P1_CHANGED, P2
from tests.support.postgres import TestServer
from tests.support.processes import PATIENCE, clean_environment, until
from tests.support.web import Web
from tests.web.answering import exactly, field, send

AGENT = """
import json, operator, sys
from typing import Annotated, Any, TypedDict

from handraise.langgraph import run
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

State = TypedDict("State", {"got": Annotated[list[Any], operator.add]})
database, *payloads = sys.argv[1:]
values = map(json.loads, payloads)
graph = StateGraph(State).add_sequence(
    [(f"stop-{n}", lambda state, value=value: {"got": [interrupt(value)]}) for n, value in enumerate(values)]
)
graph.add_edge(START, "stop-0")
with PostgresSaver.from_conn_string(database) as saver:
    saver.setup()
    thread = {"configurable": {"thread_id": "thread-1"}}
    to_admin = {"type": "SpecificUser", "userID": "admin"}
    ended = run(graph.compile(checkpointer=saver), {}, thread, assignment_strategy=to_admin, wait_seconds=None)
print(json.dumps(ended["got"]))
"""


def test_p1_p2_a_graph_goes_on_after_its_process_was_killed(web: Web, postgres: TestServer) -> None:
    """P2 is asked; the process is killed; P2 is answered; P1 is asked and answered. Each is asked once.

    What was typed over is of its type, and what was left as it was is as it was.
    """
    database = postgres.run(postgres.create_database())
    environment = clean_environment() | {"HANDRAISE_URL": web.url, "HANDRAISE_API_KEY": web.server.agent_key}

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", AGENT, database, json.dumps(P2), json.dumps(P1)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    agent = start()
    try:
        page = edited(web, agent, "May `add` run?")
        agent.kill()
        agent.wait(PATIENCE)
        field(page, "A").fill("4")
        assert send(page).ok

        agent = start()
        page = edited(web, agent, "May `send_email_draft` run?")
        field(page, "Content").fill("Hi,\n\nFriday works.")
        page.get_by_role("button", name="Add to To").click()
        field(page, "To: Item 2").fill("d@e.test")
        assert send(page).ok
        out, _ = agent.communicate(timeout=PATIENCE)
    finally:
        agent.kill()
        agent.wait(PATIENCE)
        postgres.run(postgres.drop_database(database))
    assert exactly(json.loads(out)) == exactly(
        [
            [{"type": "edit", "args": {"action": "add", "args": {"a": 4, "b": 3}}}],
            [{"type": "edit", "args": {"action": "send_email_draft", "args": P1_CHANGED}}],
        ]
    )
    assert len(web.admin.get("/api/requests").json()["items"]) == 2


def edited(web: Web, agent: subprocess.Popen[str], message: str) -> Page:
    """The form of the request with this message, once it is there: nothing is decided before a person does."""

    def asked() -> list[str]:
        assert agent.poll() is None
        ids = [item["id"] for item in web.admin.get("/api/inbox").json()["items"]]
        return [id for id in ids if web.request(id)["message"] == message]

    until(lambda: asked() != [], f"{message!r} is asked")
    page = web.sign_in(path=f"/requests/{asked()[0]}")
    choices = page.get_by_role("radiogroup", name="What shall be done?").get_by_role("radio")
    expect(choices).to_have_count(4)
    for choice in choices.all():
        expect(choice).not_to_be_checked()
    page.get_by_role("radio", name="Run with changed arguments").check()
    return page
