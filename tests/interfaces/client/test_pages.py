"""The pages on asking from Python: the programs do what they show, and every name is there."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from pathlib import Path

import handraise
import pytest
from handraise import AsyncClient, Client
from handraise.errors import HandraiseError
from handraise.testing import Unanswered, answers

from tests.support.processes import ServerProcess, until

ROOT = Path(__file__).parents[3]
HOW_TO = (ROOT / "docs" / "how-to" / "agents.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "sdk.md").read_text(encoding="utf-8")
README = (ROOT / "interfaces" / "client" / "README.md").read_text(encoding="utf-8")

PEOPLE = {
    "Why is order 17 late?": "The parcel was lost.",
    "Refund order 17?": True,
    "Which shop sends the new one?": "Rome",
    "Dear customer, it is on its way.": "Say sorry first.",
    "Which voucher does the customer get?": {"code": "SORRY", "percent": 20},
    "Enter the 6-digit code that the bank sent": "012345",
    "Delete the old backups?": Unanswered(),
    "Publish page 1?": True,
    "Publish page 2?": False,
    "Pay the supplier?": {"approved": True, "arguments": {"supplier": "Acme", "cents": 120000}},
    "Deploy build 2041 to production?": True,
    "Which region?": "Europe",
}


def run(program: str) -> str:
    """What it prints."""
    printed = io.StringIO()
    names: dict[str, object] = {"__name__": "program"}
    with answers(PEOPLE), contextlib.redirect_stdout(printed):
        exec(compile(program, "program", "exec", dont_inherit=True), names)
    for name, test in names.items():
        if name.startswith("test_") and callable(test):
            test()
    return printed.getvalue()


def test_the_page_does_what_it_shows() -> None:
    """Every program, with the output that is shown below it."""
    programs = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", HOW_TO, re.S)
    assert len(programs) == HOW_TO.count("```python") == 8
    for program, shown in programs:
        assert run(program) == shown, program


def test_the_readme_does_what_it_says() -> None:
    """Its one program."""
    (program,) = re.findall(r"```python\n(.*?)```", README, re.S)
    assert run(program) == "deploying to Europe\n"


def test_every_call_and_every_exception_is_in_the_reference() -> None:
    """A row a call, and a row an exception."""
    calls = {name for client in (Client, AsyncClient) for name in vars(client) if not name.startswith("_")}
    shown = set(re.findall(r"`(\w+)\(", REFERENCE)) | {"close", "aclose"}
    assert calls <= shown
    exceptions = {name for name in handraise.__all__ if _is_exception(name)}
    assert exceptions == set(re.findall(r"^\| `([A-Z]\w+)` \|", REFERENCE, re.M))


def _is_exception(name: str) -> bool:
    value = getattr(handraise, name)
    return isinstance(value, type) and issubclass(value, HandraiseError)


def test_any_function_calling_api_can_ask(server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's program, against a server, with a person who approves."""
    page = (ROOT / "docs" / "how-to" / "function-calling.md").read_text(encoding="utf-8")
    ((program, shown),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.S)
    monkeypatch.setenv("HANDRAISE_URL", server.url)
    monkeypatch.setenv("HANDRAISE_API_KEY", server.agent_key)

    def approve() -> None:
        with server.admin() as admin:
            said = {"unique_id": "refund-17", "response": "approve"}
            until(lambda: admin.post("/api/human-feedback/submit", json=said).status_code == 200, "it is asked")

    printed = io.StringIO()
    approving = threading.Thread(target=approve)
    approving.start()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "program", "exec", dont_inherit=True), {})
    approving.join()
    assert printed.getvalue() == shown
