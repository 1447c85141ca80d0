"""Sessions, sign-in links and embedding tokens: opened once, ended once, used once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from domain.errors import Gone
from domain.recorded import RecordedEvent
from domain.request import rebuild
from domain.sessions import EmbedToken, Session, SignInLink

ID = UUID("6f0e7a52-9f5c-5b5e-8f53-0a3f6d1c2b4a")
ANNA = UUID("22222222-2222-5222-8222-222222222222")
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
END = NOW + timedelta(hours=24)
BY = f"user:{ANNA}"


def session() -> Session:
    return Session.open(ID, user_id=ANNA, how="link", sha256="a" * 64, expires_at=END, actor=BY, now=NOW)


def link() -> SignInLink:
    return SignInLink.make(ID, user_id=ANNA, sha256="b" * 64, expires_at=END, actor="system", now=NOW)


def token() -> EmbedToken:
    return EmbedToken.make(
        ID, user_id=ANNA, sha256="c" * 64, expires_at=END, session_seconds=900, actor="system", now=NOW
    )


def facts(*events: object) -> list[tuple[str, int, str, datetime]]:
    """What these events are, the how-manieth, by whom, and when."""
    found = []
    for event in events:
        assert isinstance(event, RecordedEvent)
        found.append((event.TOPIC, event.originator_version, event.actor, event.timestamp))
    return found


def test_a_session_is_opened_for_somebody() -> None:
    """It keeps who, how and until when; of its token the hash alone."""
    [opened] = session().collect_events()
    assert isinstance(opened, Session.Opened)
    assert (opened.user_id, opened.how, opened.sha256, opened.expires_at) == (ANNA, "link", "a" * 64, END)
    assert facts(opened) == [("handraise.Session.Opened", 1, BY, NOW)]


def test_a_session_is_closed_once() -> None:
    """A repeat, also of one that was loaded again, does nothing."""
    made = session()
    made.close(actor=BY, now=NOW)
    made.close(actor=BY, now=END)
    events = made.collect_events()
    assert facts(*events) == [
        ("handraise.Session.Opened", 1, BY, NOW),
        ("handraise.Session.Closed", 2, BY, NOW),
    ]
    again = rebuild(events)
    assert isinstance(again, Session)
    assert (again.user_id, again.closed) == (ANNA, True)
    again.close(actor=BY, now=END)
    assert again.collect_events() == []


def test_a_link_is_used_once() -> None:
    """The second time is refused, also of one that was loaded again."""
    made = link()
    made.use(actor=BY, now=NOW)
    with pytest.raises(Gone):
        made.use(actor=BY, now=NOW)
    events = made.collect_events()
    assert facts(*events) == [
        ("handraise.SignInLink.Made", 1, "system", NOW),
        ("handraise.SignInLink.Used", 2, BY, NOW),
    ]
    again = rebuild(events)
    assert isinstance(again, SignInLink)
    assert (again.user_id, again.expires_at, again.used) == (ANNA, END, True)
    with pytest.raises(Gone):
        again.use(actor=BY, now=NOW)


@pytest.mark.parametrize(("late", "works"), [(-1, True), (0, False), (1, False)])
def test_a_link_ends_at_its_instant(late: int, works: bool) -> None:
    """Just before, it works; at the instant and after it, it does not, and stays unused."""
    made, now = link(), END + timedelta(microseconds=late)
    if works:
        made.use(actor=BY, now=now)
    else:
        with pytest.raises(Gone):
            made.use(actor=BY, now=now)
    assert made.used is works


def test_an_embedding_token_is_used_once() -> None:
    """It keeps for how long its session is to last; the second time is refused, also of one that was loaded again."""
    made = token()
    made.use(actor=BY, now=END - timedelta(microseconds=1))
    with pytest.raises(Gone):
        made.use(actor=BY, now=NOW)
    events = made.collect_events()
    assert facts(*events) == [
        ("handraise.EmbedToken.Made", 1, "system", NOW),
        ("handraise.EmbedToken.Used", 2, BY, END - timedelta(microseconds=1)),
    ]
    again = rebuild(events)
    assert isinstance(again, EmbedToken)
    assert (again.user_id, again.expires_at, again.session_seconds, again.used) == (ANNA, END, 900, True)
    late = token()
    with pytest.raises(Gone):
        late.use(actor=BY, now=END)
    assert not late.used
