"""The use cases of signing in and out: by a one-time link, a password, an identity provider, or an embedded page."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID, uuid4

from application.directory import check_administrator
from application.ports import Clock, Directory, EventStore
from application.retries import until_saved
from domain.callers import Caller, PersonCaller, person_actor
from domain.directory import directory_id
from domain.errors import FieldError, Gone, Invalid, NotAllowed, NotFound, NotSignedIn
from domain.sessions import EmbedToken, How, Session, SignInLink
from domain.text import is_blank, text_errors
from domain.users import User

LINK_LIFETIME = timedelta(hours=24)
EMBED_TOKEN_LIFETIME = timedelta(minutes=5)
"""How long a page may take from having its token to being loaded."""

SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 1000

_REFUSED = "the name or the password is wrong"
"""Whichever it was: who asks shall not learn who is known here."""

_NOT_EMBEDDED = "pages of this server stand in no others: see HANDRAISE_EMBED_ORIGINS"
_NAMES: dict[How, str] = {"link": "link", "embed": "token"}
_OneTime = SignInLink | EmbedToken


class Passwords(Protocol):
    """Hashes that are slow to make, so that a stolen one is slow to guess."""

    async def hash(self, password: str) -> str:
        """A new hash."""
        ...

    async def matches(self, hash: str | None, password: str) -> bool:
        """Whether this is the password; takes as long where there is no hash, which nothing matches."""
        ...


class SignInAttempts(Protocol):
    """Counts attempts, of all replicas together."""

    async def begin(self, name: str, address: str) -> None:
        """One more is tried. Raises `TooManyAttempts`."""
        ...

    async def succeeded(self, name: str, address: str) -> None:
        """What failed for this name before is forgotten."""
        ...


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session just opened: the only time that its token can be seen."""

    token: str
    user: str
    expires_at: datetime
    position: int


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link or embedding token just made: the only time that its token can be seen."""

    token: str
    expires_at: datetime
    position: int


class SignIn:
    """Who may come in, and for how long."""

    def __init__(
        self,
        store: EventStore,
        directory: Directory,
        passwords: Passwords,
        attempts: SignInAttempts,
        clock: Clock,
        *,
        lifetime: timedelta,
        embedding: bool = False,
    ) -> None:
        """Sessions last for `lifetime`; `embedding` is whether pages inside other applications' are wanted here."""
        self._store = store
        self._directory = directory
        self._passwords = passwords
        self._attempts = attempts
        self._clock = clock
        self._lifetime = lifetime
        self._embedding = embedding

    async def authenticate(self, token: str, *, embedded: bool = False) -> Caller | None:
        """Whose session this token is; None for one that is over, or of the other sort than it is shown as."""
        caller = await self._directory.authenticate_session(_sha256(token))
        return caller if isinstance(caller, PersonCaller) and caller.embedded is embedded else None

    # -- coming in

    async def with_password(
        self, name: str, password: str, *, address: str, instead_of: Caller | None = None
    ) -> NewSession:
        """Sign in by id or e-mail address and password.

        Raises `NotSignedIn`, the same for an unknown person as for a wrong password, or `TooManyAttempts`.
        """
        name = name.strip()[:400]
        counted = name.casefold()  # at least as wide as what the directory takes for the same name
        await self._attempts.begin(counted, address)
        found = await self._directory.password_of(name)
        right = await self._passwords.matches(None if found is None else found[1], password[: LONGEST_PASSWORD + 1])
        if found is None or not right:
            raise NotSignedIn(_REFUSED)
        await self._attempts.succeeded(counted, address)
        return await self._open(found[0], "password", instead_of)

    async def with_link(self, token: str, *, instead_of: Caller | None = None) -> NewSession:
        """Sign in by a one-time link. Raises `NotSignedIn` for one that is unknown, used, or over."""
        return await self._exchange(token, self._store.sign_in_link, "link", instead_of)

    async def with_embed_token(self, token: str, *, instead_of: Caller | None = None) -> NewSession:
        """Sign in for a while, in an embedded page. Raises `NotSignedIn` for a token that is unknown, used, or over."""
        if not self._embedding:
            raise NotSignedIn(_NOT_EMBEDDED)
        return await self._exchange(token, self._store.embed_token, "embed", instead_of)

    async def _exchange(
        self, token: str, load: Callable[[UUID], Awaitable[_OneTime | None]], how: How, instead_of: Caller | None
    ) -> NewSession:
        """A session for a token that works once; what is `load`ed tells a link from an embedding token."""
        id = await self._directory.link_id(_sha256(token))

        async def attempt() -> NewSession:
            found = None if id is None else await load(id)
            if found is None or not await self._directory.may_sign_in(found.user_id):
                raise NotSignedIn(f"this {_NAMES[how]} is not known, or its person cannot sign in: ask for another")
            try:
                found.use(actor=person_actor(found.user_id), now=self._clock.now())
            except Gone as error:
                raise NotSignedIn(error.detail) from None
            return await self._open(found.user_id, how, instead_of, found)

        return await until_saved(attempt, f"the {_NAMES[how]}")

    async def as_identified(self, email: str, *, instead_of: Caller | None = None) -> NewSession:
        """Sign in whom the identity provider says it is, by a verified e-mail address. Raises `NotSignedIn`."""
        found = await self._directory.user_with_email(email.strip())
        if found is None:
            raise NotSignedIn("nobody here has the e-mail address that you are signed in with: ask to be added")
        return await self._open(found, "oidc", instead_of)

    async def _open(
        self, user_id: UUID, how: How, instead_of: Caller | None, used: _OneTime | None = None
    ) -> NewSession:
        """A new session in place of the one, if any, that the browser had: nobody can have planted its token."""
        token, now = secrets.token_urlsafe(32), self._clock.now()
        lifetime = timedelta(seconds=used.session_seconds) if isinstance(used, EmbedToken) else self._lifetime
        session = Session.open(
            uuid4(),
            user_id=user_id,
            how=how,
            sha256=_sha256(token).hex(),
            expires_at=now + lifetime,
            actor=person_actor(user_id),
            now=now,
        )
        position = await self._store.save(session, *([] if used is None else [used]))
        if isinstance(instead_of, PersonCaller):
            await self.sign_out(instead_of)
        await self._directory.forget_what_is_over()
        names = await self._directory.readable_ids([user_id])
        return NewSession(token, names[user_id], now + lifetime, position)

    # -- going out

    async def sign_out(self, by: Caller) -> int:
        """End the caller's session; returns the position."""
        if not isinstance(by, PersonCaller) or by.session_id is None:
            raise NotAllowed("there is no session to end: this call was made with a key")
        return await self._close([by.session_id], by)

    async def sign_out_everywhere(self, by: Caller) -> int:
        """End all sessions of the caller; returns the position."""
        if not isinstance(by, PersonCaller):
            raise NotAllowed("an agent has no sessions")
        return await self._close(await self._directory.open_sessions(by.id), by)

    async def _close(self, ids: list[UUID], by: Caller) -> int:

        async def attempt() -> int:
            sessions = [session for id in ids if (session := await self._store.session(id)) is not None]
            for session in sessions:
                session.close(actor=by.actor, now=self._clock.now())
            return await self._store.save(*sessions) or await self._store.head()

        return await until_saved(attempt, "the session")

    # -- means of coming in

    async def make_link(self, readable_id: str, *, by: Caller | None) -> NewLink:
        """A one-time link for a person, by an administrator (None: the system). Raises `NotAllowed` or `NotFound`."""
        actor = check_administrator(by)
        user_id = directory_id(User.KIND, readable_id)
        if not await self._directory.may_sign_in(user_id):
            raise NotFound(f"there is no active user {readable_id!r}")
        token, now = secrets.token_urlsafe(32), self._clock.now()
        link = SignInLink.make(
            uuid4(),
            user_id=user_id,
            sha256=_sha256(token).hex(),
            expires_at=now + LINK_LIFETIME,
            actor=actor,
            now=now,
        )
        return NewLink(token, now + LINK_LIFETIME, await self._store.save(link))

    async def make_embed_token(self, readable_id: str, *, seconds: int, by: Caller) -> NewLink:
        """A token that opens a session of `seconds` in an embedded page; by an administrator, or for oneself.

        Raises `NotAllowed`, or `Invalid` for somebody who is not there.
        """
        if not isinstance(by, PersonCaller):
            raise NotAllowed("an agent may not act for people")
        if not self._embedding:
            raise NotAllowed(_NOT_EMBEDDED)
        user_id = directory_id(User.KIND, readable_id)
        if not by.administers and user_id != by.id:
            raise NotAllowed("this is for administrators, and for everybody themselves")
        if not await self._directory.may_sign_in(user_id):
            raise Invalid([FieldError("user", f"there is no active user {readable_id!r}")])
        token, now = secrets.token_urlsafe(32), self._clock.now()
        made = EmbedToken.make(
            uuid4(),
            user_id=user_id,
            sha256=_sha256(token).hex(),
            expires_at=now + EMBED_TOKEN_LIFETIME,
            session_seconds=seconds,
            actor=by.actor,
            now=now,
        )
        return NewLink(token, now + EMBED_TOKEN_LIFETIME, await self._store.save(made))

    async def set_password(self, new: str, *, by: Caller, current: str | None) -> int:
        """Set the caller's own password; their other sessions end. Returns the position.

        Who has one already must give it. Raises `NotAllowed`, `Invalid` or `TooManyAttempts`.
        """
        if not isinstance(by, PersonCaller):
            raise NotAllowed("an agent has no password")
        if by.session_id is None:  # a key must not be able to outlive itself
            raise NotAllowed("a key cannot set a password: sign in first")
        errors = text_errors(new, "password")
        if not errors and (not SHORTEST_PASSWORD <= len(new) <= LONGEST_PASSWORD or is_blank(new)):
            said = f"must have {SHORTEST_PASSWORD}–{LONGEST_PASSWORD} characters, not only blanks"
            errors.append(FieldError("password", said))
        if errors:
            raise Invalid(errors)
        known = await self._directory.password_hash(by.id)
        if known is not None:
            name = str(by.id)
            await self._attempts.begin(name, name)
            if current is None or not await self._passwords.matches(known, current):
                raise Invalid([FieldError("current_password", "is not the present password")])
            await self._attempts.succeeded(name, name)
        hashed = await self._passwords.hash(new)

        async def attempt() -> int:
            user = await self._store.entry(User, by.id)
            if user is None or user.removed:
                raise NotFound("you are not in the directory any more")
            user.set_password(actor=by.actor, now=self._clock.now())
            return await self._store.save(user, password_hash=hashed)

        position = await until_saved(attempt, "the password")
        others = [id for id in await self._directory.open_sessions(by.id) if id != by.session_id]
        return max(position, await self._close(others, by)) if others else position


def _sha256(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
