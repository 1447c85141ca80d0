"""What people write in Slack is stored as they meant it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interfaces.slack.inbound import plain
from interfaces.slack.mrkdwn import escape


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("a &amp; b &lt;prod&gt; <mailto:x@e.test|x@e.test>", "a & b <prod> x@e.test"),
        ("&amp;lt; is not &lt;", "&lt; is not <"),
        ("<https://e.test/a?b=1&amp;c=2>", "https://e.test/a?b=1&c=2"),
        ("see <http://e.test|e.test>", "see e.test"),
        ("see <https://evil.test/|your bank>", "see your bank (https://evil.test/)"),
        ("<tel:+4712345678|+4712345678>", "+4712345678"),
        ("<@U0ABC|alice> and <@U0ABC>", "@alice and @U0ABC"),
        ("<#C0ABC|general>, <#C0ABC>", "#general, #C0ABC"),
        ("<!here> <!channel|channel> <!subteam^S0ABC|@oncall>", "@here channel @oncall"),
        ("<!date^1700000000^{date}|Nov 14>", "Nov 14"),
        ("012345", "012345"),
        ("", ""),
    ],
)
def test_as_it_was_meant(sent: str, meant: str) -> None:
    """Entities, links, mentions: C20."""
    assert plain(sent) == meant


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_what_is_escaped_comes_back(text: str) -> None:
    """Whatever somebody types, with nothing that Slack makes a link of, is stored as typed."""
    assert plain(escape(text)) == text
