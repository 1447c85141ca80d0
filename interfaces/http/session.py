"""Signing in and out, over HTTP: by a one-time link, by password, by an identity provider."""

from __future__ import annotations

from typing import Any, Protocol

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from application.sign_in import NewSession, SignIn
from domain.callers import Caller, PersonCaller
from domain.errors import NotAllowed, NotSignedIn
from domain.request import instant
from interfaces.http.callers import (
    EMBED_COOKIE,
    SESSION_COOKIE,
    Authenticate,
    Credential,
    authenticated_route,
    csrf_token,
    public_route,
    session_token,
)
from interfaces.http.cookies import drop_cookie, is_secure, set_embed_cookie, set_session_cookie
from interfaces.http.directory import EntryId
from interfaces.http.json_bodies import Json
from interfaces.http.models import Body, Written
from interfaces.http.problems import problem
from interfaces.http.requests import By, refusals

_STATE_COOKIE = "handraise_oidc"
_STATE_SECONDS = 600
_NOBODY: dict[str, Any] = {"security": []}
"""For OpenAPI: no credential is needed."""


class IdentityProvider(Protocol):
    """An OpenID provider: see `interfaces.oidc`."""

    name: str

    async def begin(self, redirect_uri: str) -> tuple[str, str]:
        """Where to send the browser, and what it must bring back, as opaque text."""
        ...

    async def finish(self, redirect_uri: str, state: str, query: dict[str, str]) -> str:
        """The verified e-mail address of whoever came back. Raises `NotSignedIn`."""
        ...


class SignInBody(Body):
    """An id or e-mail address, and the password."""

    name: str = Field(max_length=400)
    password: str = Field(max_length=2000)


class LinkBody(Body):
    """The token of a one-time link."""

    token: str = Field(max_length=200)


class SessionView(BaseModel):
    """Who is signed in, and the token that unsafe calls must send in the header X-CSRF-Token."""

    user: str
    csrf_token: str
    expires_at: str


class OpenedView(SessionView):
    """A session that has just begun."""

    position: int


class LinkView(BaseModel):
    """A one-time link, shown this once. The token stands in the fragment: no server on the way sees it."""

    url: str
    expires_at: str
    position: int


class EmbedBody(Body):
    """The token that the page around this one got."""

    token: str = Field(max_length=200)


class EmbedTokenBody(Body):
    """Whose page to embed, which one, and for how long."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user": "alice", "path": "/inbox", "seconds": 900}]})

    user: str = Field(max_length=400)
    path: str = Field(
        "/inbox",
        pattern=r"^/(inbox|requests/[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$",
        description="`/inbox`, or `/requests/` and the UUID of one.",
    )
    seconds: int = Field(900, ge=60, le=3600, description="How long the session lasts, once the page is loaded.")


class EmbedTokenView(BaseModel):
    """What a frame is to load, shown this once: it works once, until `expires_at`."""

    token: str
    url: str
    expires_at: str
    position: int


class WaysView(BaseModel):
    """How one can sign in here."""

    password: bool
    oidc: str | None = Field(description="The name of the identity provider, where there is one.")


def session_routes(
    sign_in: SignIn, authenticate: Authenticate, provider: IdentityProvider | None, url: str, names: Any
) -> APIRouter:
    """`/api/session`, `/api/sessions`, `/api/users/{id}/link`, `/api/embed/tokens`, `/api/oidc/…`.

    `url` is how people reach this server.
    """
    router = APIRouter()
    public = APIRouter(prefix="/api", tags=["session"], route_class=public_route())
    private = APIRouter(prefix="/api", tags=["session"], route_class=authenticated_route(authenticate))
    callback = f"{url}/api/oidc/callback"

    async def present(request: Request, *, embedded: bool = False) -> Caller | None:
        """Whose session the new one takes the place of: that in the same cookie, whatever the request says."""
        token = request.cookies.get(EMBED_COOKIE if embedded else SESSION_COOKIE)
        return None if token is None else await authenticate(Credential(token, of_session=True, embedded=embedded))

    def opened(request: Request, session: NewSession, *, embedded: bool = False) -> Response:
        response = Json(
            {
                "user": session.user,
                "csrf_token": csrf_token(session.token),
                "expires_at": instant(session.expires_at),
                "position": session.position,
            },
            status_code=201,
            headers={"Cache-Control": "no-store"},
        )
        set_cookie = set_embed_cookie if embedded else set_session_cookie
        set_cookie(response, request, session, url)
        return response

    @public.get(
        "/sign-in",
        openapi_extra=_NOBODY,
        response_model=WaysView,
        summary="How one can sign in here",
        responses=refusals(),
    )
    async def ways() -> Json:
        return Json({"password": True, "oidc": None if provider is None else provider.name})

    @public.post(
        "/session",
        openapi_extra=_NOBODY,
        status_code=201,
        response_model=OpenedView,
        summary="Sign in by password",
        responses=refusals(403, 422, 429),
    )
    async def by_password(body: SignInBody, request: Request) -> Response:
        address = request.client.host if request.client else "unknown"
        session = await sign_in.with_password(
            body.name, body.password, address=address, instead_of=await present(request)
        )
        return opened(request, session)

    @public.post(
        "/session/link",
        openapi_extra=_NOBODY,
        status_code=201,
        response_model=OpenedView,
        summary="Sign in by a one-time link",
        responses=refusals(403, 422),
    )
    async def by_link(body: LinkBody, request: Request) -> Response:
        return opened(request, await sign_in.with_link(body.token, instead_of=await present(request)))

    @public.post(
        "/session/embed",
        openapi_extra=_NOBODY,
        status_code=201,
        response_model=OpenedView,
        summary="Sign an embedded page in by its token",
        responses=refusals(403, 422),
    )
    async def by_embed_token(body: EmbedBody, request: Request) -> Response:
        instead_of = await present(request, embedded=True)
        return opened(request, await sign_in.with_embed_token(body.token, instead_of=instead_of), embedded=True)

    @private.get("/session", response_model=SessionView, summary="Who is signed in", responses=refusals(403))
    async def who(by: By, request: Request) -> Json:
        token = session_token(request)
        if not isinstance(by, PersonCaller) or by.session_id is None or token is None or by.until is None:
            raise NotAllowed("this call was made with a key: there is no session")
        user = (await names([by.id])).of(by.id)
        view = {"user": user, "csrf_token": csrf_token(token), "expires_at": instant(by.until)}
        return Json(view, headers={"Cache-Control": "no-store"})

    @private.delete("/session", response_model=Written, summary="Sign out", responses=refusals(403))
    async def out(by: By, request: Request) -> Response:
        response = Json({"position": await sign_in.sign_out(by)})
        drop_cookie(response, request, url, embedded=isinstance(by, PersonCaller) and by.embedded)
        return response

    @private.delete("/sessions", response_model=Written, summary="Sign out everywhere", responses=refusals(403))
    async def out_everywhere(by: By, request: Request) -> Response:
        response = Json({"position": await sign_in.sign_out_everywhere(by)})
        drop_cookie(response, request, url, embedded=False)
        return response

    @private.post(
        "/users/{id}/link",
        status_code=201,
        response_model=LinkView,
        summary="Make a one-time sign-in link for somebody; it is shown this once",
        responses=refusals(403, 404, 422),
    )
    async def make_link(id: EntryId, by: By) -> Json:
        link = await sign_in.make_link(id, by=by)
        view = {"url": sign_in_url(url, link.token), "expires_at": instant(link.expires_at), "position": link.position}
        return Json(view, status_code=201, headers={"Cache-Control": "no-store"})

    @private.post(
        "/embed/tokens",
        status_code=201,
        response_model=EmbedTokenView,
        summary="Make a token that signs a page in which another application embeds; it is shown this once",
        responses=refusals(403, 422),
    )
    async def make_embed_token(body: EmbedTokenBody, by: By) -> Json:
        made = await sign_in.make_embed_token(body.user, seconds=body.seconds, by=by)
        view = {
            "token": made.token,
            "url": f"{url}/embed{body.path}#{made.token}",
            "expires_at": instant(made.expires_at),
            "position": made.position,
        }
        return Json(view, status_code=201, headers={"Cache-Control": "no-store"})

    if provider is not None:

        @public.get(
            "/oidc/start",
            openapi_extra=_NOBODY,
            response_class=RedirectResponse,
            status_code=302,
            summary="Go to the identity provider to sign in",
            responses=refusals(),
        )
        async def start(request: Request) -> Response:
            location, state = await provider.begin(callback)
            response = RedirectResponse(location, 302, {"Cache-Control": "no-store"})
            response.set_cookie(
                _STATE_COOKIE,
                state,
                max_age=_STATE_SECONDS,
                path="/api/oidc",
                httponly=True,
                samesite="lax",
                secure=is_secure(request, url),
            )
            return response

        # The one GET that changes something: a browser is sent here by the provider, with what only ours can match.
        @public.get(
            "/oidc/callback",
            openapi_extra=_NOBODY,
            response_class=RedirectResponse,
            status_code=302,
            summary="Come back from the identity provider, signed in",
            responses=refusals(403),
        )
        async def come_back(request: Request) -> Response:
            state = request.cookies.get(_STATE_COOKIE)
            if state is None:
                return problem(401, NotSignedIn.title, "this sign-in was not begun in this browser, or too long ago")
            email = await provider.finish(callback, state, dict(request.query_params))
            session = await sign_in.as_identified(email, instead_of=await present(request))
            response = RedirectResponse("/", 302, {"Cache-Control": "no-store"})
            response.delete_cookie(_STATE_COOKIE, path="/api/oidc")
            set_session_cookie(response, request, session, url)
            return response

    router.routes.extend(public.routes + private.routes)
    return router


def sign_in_url(url: str, token: str) -> str:
    """The address that signs its person in."""
    return f"{url}/sign-in#{token}"
