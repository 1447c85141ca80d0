"""How people sign in: one-time links and tokens, and the sessions that they open. Tokens are kept as SHA-256 only."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Self
from uuid import UUID

from eventsourcing.domain import BaseAggregate

from domain.errors import Gone
from domain.recorded import RecordedCreation, RecordedEvent

How = Literal["link", "password", "oidc", "embed"]


class Session(BaseAggregate[UUID]):
    """A person, signed in at one browser."""

    TOPIC = "handraise.Session"

    class Event(RecordedEvent):
        """Base of the events of a session."""

    class Opened(Event, RecordedCreation):
        """A person signed in."""

        TOPIC = "handraise.Session.Opened"

        user_id: UUID
        how: str
        sha256: str
        expires_at: datetime

        def remember(self, session: Session) -> None:
            session.user_id = self.user_id

    class Closed(Event):
        """The person signed out, here or everywhere, or signed in anew."""

        TOPIC = "handraise.Session.Closed"

        def remember(self, session: Session) -> None:
            session.closed = True

    def __init__(self) -> None:
        self.user_id = UUID(int=0)
        self.closed = False

    @classmethod
    def open(
        cls, id: UUID, *, user_id: UUID, how: How, sha256: str, expires_at: datetime, actor: str, now: datetime
    ) -> Self:
        """A new session."""
        return cls._create(
            cls.Opened,
            id=id,
            timestamp=now,
            actor=actor,
            user_id=user_id,
            how=how,
            sha256=sha256,
            expires_at=expires_at,
        )

    def close(self, *, actor: str, now: datetime) -> None:
        """End it at once; a repeat does nothing."""
        if not self.closed:
            self.trigger_event(self.Closed, timestamp=now, actor=actor)


class SignInLink(BaseAggregate[UUID]):
    """A link that signs one person in, once."""

    TOPIC = "handraise.SignInLink"

    class Event(RecordedEvent):
        """Base of the events of a link."""

    class Made(Event, RecordedCreation):
        """A link was made for somebody, and shown once."""

        TOPIC = "handraise.SignInLink.Made"

        user_id: UUID
        sha256: str
        expires_at: datetime

        def remember(self, link: SignInLink) -> None:
            link.user_id = self.user_id
            link.expires_at = self.expires_at

    class Used(Event):
        """It signed the person in, and never will again."""

        TOPIC = "handraise.SignInLink.Used"

        def remember(self, link: SignInLink) -> None:
            link.used = True

    def __init__(self) -> None:
        self.user_id = UUID(int=0)
        self.expires_at: datetime
        self.used = False

    @classmethod
    def make(cls, id: UUID, *, user_id: UUID, sha256: str, expires_at: datetime, actor: str, now: datetime) -> Self:
        """A new link."""
        return cls._create(
            cls.Made, id=id, timestamp=now, actor=actor, user_id=user_id, sha256=sha256, expires_at=expires_at
        )

    def use(self, *, actor: str, now: datetime) -> None:
        """Use it up. Raises `Gone` where it was used, or its time is over."""
        if self.used or now >= self.expires_at:
            raise Gone("this link has been used, or its time is over: ask an administrator for another")
        self.trigger_event(self.Used, timestamp=now, actor=actor)


class EmbedToken(BaseAggregate[UUID]):
    """A token that opens, once, a short session of one person in a page that stands inside another application's."""

    TOPIC = "handraise.EmbedToken"

    class Event(RecordedEvent):
        """Base of the events of an embedding token."""

    class Made(Event, RecordedCreation):
        """A token was made for somebody, and shown once."""

        TOPIC = "handraise.EmbedToken.Made"

        user_id: UUID
        sha256: str
        expires_at: datetime
        session_seconds: int

        def remember(self, token: EmbedToken) -> None:
            token.user_id = self.user_id
            token.expires_at = self.expires_at
            token.session_seconds = self.session_seconds

    class Used(Event):
        """It opened its session, and never will again."""

        TOPIC = "handraise.EmbedToken.Used"

        def remember(self, token: EmbedToken) -> None:
            token.used = True

    def __init__(self) -> None:
        self.user_id = UUID(int=0)
        self.expires_at: datetime
        self.session_seconds = 0
        self.used = False

    @classmethod
    def make(
        cls,
        id: UUID,
        *,
        user_id: UUID,
        sha256: str,
        expires_at: datetime,
        session_seconds: int,
        actor: str,
        now: datetime,
    ) -> Self:
        """A new token; the session that it opens lasts `session_seconds`."""
        return cls._create(
            cls.Made,
            id=id,
            timestamp=now,
            actor=actor,
            user_id=user_id,
            sha256=sha256,
            expires_at=expires_at,
            session_seconds=session_seconds,
        )

    def use(self, *, actor: str, now: datetime) -> None:
        """Use it up. Raises `Gone` where it was used, or its time is over."""
        if self.used or now >= self.expires_at:
            raise Gone("this token has been used, or its time is over: the page around this one has to get another")
        self.trigger_event(self.Used, timestamp=now, actor=actor)
