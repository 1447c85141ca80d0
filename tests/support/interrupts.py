"""P1 and P2 of the payloads that people really use: what graphs of LangGraph stop with."""

from __future__ import annotations

from typing import Any

ALL = {"allow_ignore": True, "allow_respond": True, "allow_edit": True, "allow_accept": True}
P1: list[dict[str, Any]] = [
    {
        "action_request": {
            "action": "send_email_draft",
            "args": {"to": ["c@e.test"], "cc": [], "subject": "Re: terms ✍️", "content": "Hi,\n\nThursday works."},
        },
        "config": ALL,
        "description": "# Re: terms\n\n[open mail](https://mail.e.test/#inbox/1)\n\n**To**: c@e.test",
    }
]
P2: dict[str, Any] = {"action_request": {"action": "add", "args": {"a": 2, "b": 3}}, "config": ALL}

P1_CHANGED = {"to": ["c@e.test", "d@e.test"], "cc": [], "subject": "Re: terms ✍️", "content": "Hi,\n\nFriday works."}
"""What people make of the draft in these tests."""
