"""What somebody wrote, as Slack is to show it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interfaces.slack.mrkdwn import escape, instant, mention, one_line, pieces
from tests.support.slack_blocks import mentions

TEXTS = st.text(st.one_of(st.sampled_from("&<>@!|# \n\r🚀"), st.characters()), max_size=200)


def test_what_is_escaped_is_literal() -> None:
    """Slack's three characters, what it could not take, and ends of lines."""
    assert escape("a & b <prod> &lt; *bold*") == "a &amp; b &lt;prod&gt; &amp;lt; *bold*"
    assert escape("a\0b\ud800c\r\nd\re\tf") == "a\ufffdb\ufffdc\nd\ne\tf"


@given(TEXTS)
def test_nothing_is_live(text: str) -> None:
    """Neither whole, nor in pieces, nor in a name."""
    for said in (escape(text), one_line(text, 20), *pieces(text, 30, 100)[0]):
        assert "<" not in said
        assert ">" not in said
        assert mentions(said) == []
        said.encode()


@given(TEXTS, st.integers(6, 60), st.integers(1, 30))
def test_pieces_are_the_text(text: str, size: int, most: int) -> None:
    """In order, none too long or blank, and what is missing is counted; but for what is white at their ends."""
    found, rest = pieces(text, size, most)
    whole = escape(text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").rstrip()
    shown = "".join(found).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert "".join(shown.split()) == "".join(whole[: len(whole) - rest].split())
    assert len(found) <= most
    assert all(each.strip() and len(each.encode("utf-16-le")) // 2 <= size for each in found)
    assert rest == 0 or len(found) == most


def test_pieces_end_with_lines_or_between_words() -> None:
    """Unless the last line is too short a piece, or one word longer than one."""
    assert pieces("one two\nthree four", 14, 1) == (["one two"], 10)
    assert pieces("a\none two three four", 14, 1) == (["a\none two"], 10)
    assert pieces("x" * 20, 14, 2) == (["x" * 14, "x" * 6], 0)
    assert pieces(" \n ", 14, 2) == ([], 0)


@pytest.mark.parametrize("id", [None, "", "alice", "U1 ", "U123>", "<@U123>", "B0123456", "u0123456"])
def test_only_an_id_is_a_mention(id: str | None) -> None:
    """Whatever stands where one should be."""
    assert mention(id) is None
    assert mention("U0123456") == "<@U0123456>"


def test_a_name_is_one_line() -> None:
    """Short, and marked where it is not whole."""
    assert one_line("  On\n\tcall & <all> ", 80) == "On call &amp; &lt;all&gt;"
    assert one_line("abcdef", 6) == "abcdef"
    assert one_line("abcd efg", 6) == "abcd…"


def test_an_instant_has_its_time_in_utc_besides() -> None:
    """Whatever its own offset."""
    at = datetime(2026, 3, 2, 11, 0, 30, 500, tzinfo=timezone(timedelta(hours=2)))
    assert instant(at) == instant(at.astimezone(UTC))
    assert instant(at) == "<!date^1772442030^{date_short_pretty}, {time}|2026-03-02 09:00 UTC>"
