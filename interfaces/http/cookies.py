"""The cookies that hold sessions: a person's own, and one for pages inside another application's."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

from fastapi import Request
from starlette.responses import Response

from application.sign_in import NewSession
from interfaces.http.callers import EMBED_COOKIE, SESSION_COOKIE


def set_session_cookie(response: Response, request: Request, session: NewSession, url: str) -> None:
    """For this site only, and no script."""
    response.set_cookie(
        SESSION_COOKIE,
        session.token,
        expires=session.expires_at,
        path="/",
        httponly=True,
        samesite="lax",
        secure=is_secure(request, url),
    )


def set_embed_cookie(response: Response, request: Request, session: NewSession, url: str) -> None:
    """For frames in pages of one other site: a browser keeps one for each site that the frame stands in."""
    response.headers.append("set-cookie", _embed_cookie(session.token, session.expires_at, is_secure(request, url)))


def drop_cookie(response: Response, request: Request, url: str, *, embedded: bool) -> None:
    """The session is over."""
    if embedded:
        over = f"{_embed_cookie('', datetime(1970, 1, 1, tzinfo=UTC), is_secure(request, url))}; Max-Age=0"
        response.headers.append("set-cookie", over)
    else:
        response.delete_cookie(SESSION_COOKIE, path="/")


def is_secure(request: Request, url: str) -> bool:
    """Behind TLS, or behind a proxy that ends it: then the cookie is never sent without."""
    return request.url.scheme == "https" or url.startswith("https:")


def _embed_cookie(token: str, expires: datetime, secure: bool) -> str:
    """Without TLS there is no cookie for other sites' frames: then for those of this site, as on one machine."""
    site = "SameSite=None; Secure; Partitioned" if secure else "SameSite=Lax"
    ends = format_datetime(expires.astimezone(UTC), usegmt=True)
    return f"{EMBED_COOKIE}={token}; Expires={ends}; Path=/; HttpOnly; {site}"
