"""The pages that people see in a browser: files of ours, each with the narrowest policy it can live with."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable
from importlib.resources import files
from pathlib import PurePosixPath

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from interfaces.web.embedding import frame_ancestors

_SIGN_IN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'nonce-{nonce}'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self';"
    " frame-ancestors {ancestors}; base-uri 'none'"
)
"""Styles of components are put in by script, with the nonce; icons of form fields are data: images."""

_SCRIPT_POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
"""A worker lives by the policy that its script came with, not by that of the page."""

_PAGES = (
    "/",
    "/inbox",
    "/inbox/{scope}",
    "/requests/{id}",
    "/dashboard",
    "/audit",
    "/routing",
    "/settings",
    "/settings/{part}",
    "/settings/webhooks/{agent}",
    "/profile",
)
"""Addresses within the application: the same page, which looks at its address itself."""

_EMBEDDED = ("/embed/inbox", "/embed/requests/{id}")

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_FOR_EVER = "public, max-age=31536000, immutable"
"""For files that carry a hash of their content in their name."""

_NOT_BUILT = (
    "The web interface is not part of this installation: it is built when the package is installed from its sources,"
    " which needs the npm registry to be reachable. The API works; see /docs."
)


def page_routes(embed_origins: Iterable[str] = ()) -> APIRouter:
    """All pages and the files that they load. Pages below /embed may be framed by `embed_origins` only."""
    router = APIRouter()
    sign_in = _here("sign-in.html").decode()
    script = _here("sign-in.js")
    built = _Built()
    ancestors = frame_ancestors(embed_origins)

    async def sign_in_page(request: Request) -> Response:
        return _page(sign_in, _SIGN_IN_POLICY)

    async def code(request: Request) -> Response:
        return Response(script, media_type=_MEDIA_TYPES[".js"], headers={"Cache-Control": "no-cache"})

    async def application(request: Request) -> Response:
        return _application(built, "'none'")

    async def embedded(request: Request) -> Response:
        return _application(built, ancestors)

    served = {"/sign-in": sign_in_page, "/sign-in.js": code}
    served |= dict.fromkeys(_PAGES, application) | dict.fromkeys(_EMBEDDED, embedded)
    served |= {f"/{name}": _sender(built, name) for name in built.names()}
    for path, send in served.items():  # no operations of the API, which would take a millisecond each to make
        router.add_route(path, send, methods=["GET"], include_in_schema=False)
    return router


def _application(built: _Built, ancestors: str) -> Response:
    page = built.read("index.html")
    if page is None:
        return PlainTextResponse(_NOT_BUILT, 501)
    return _page(page.decode(), _POLICY.replace("{ancestors}", ancestors))


def _page(html: str, policy: str) -> Response:
    nonce = secrets.token_urlsafe(16)
    return HTMLResponse(
        html.replace("{{nonce}}", nonce),
        headers={"Content-Security-Policy": policy.format(nonce=nonce), "Cache-Control": "no-store"},
    )


def _sender(built: _Built, name: str) -> Callable[[Request], Awaitable[Response]]:
    """Sends one file, compressed to whoever can take it."""
    kept = _FOR_EVER if name.startswith("assets/") else "no-cache"

    async def send(request: Request) -> Response:
        headers = {"Cache-Control": kept, "Vary": "Accept-Encoding"}
        if name.endswith(".js"):
            headers["Content-Security-Policy"] = _SCRIPT_POLICY
        content = built.read(f"{name}.gz") if "gzip" in request.headers.get("accept-encoding", "") else None
        if content is not None:
            headers["Content-Encoding"] = "gzip"
        else:
            content = built.read(name) or b""
        return Response(content, media_type=_MEDIA_TYPES[PurePosixPath(name).suffix], headers=headers)

    return send


class _Built:
    """What the build made of `ui/`, read once and kept; some files have a compressed twin, `<name>.gz`."""

    def __init__(self) -> None:
        self._root = files("interfaces.web").joinpath("built")
        self._kept: dict[str, bytes | None] = {}

    def names(self) -> list[str]:
        """All files but the page itself and compressed twins."""
        if not self._root.is_dir():
            return []
        found = [each.name for each in self._root.iterdir() if each.is_file()]
        assets = self._root.joinpath("assets")
        if assets.is_dir():
            found += [f"assets/{each.name}" for each in assets.iterdir()]
        return sorted(name for name in found if PurePosixPath(name).suffix in _MEDIA_TYPES)

    def read(self, name: str) -> bytes | None:
        """The content of a file; None where there is none."""
        if name not in self._kept:
            file = self._root.joinpath(name)
            self._kept[name] = file.read_bytes() if file.is_file() else None
        return self._kept[name]


def _here(name: str) -> bytes:
    return files("interfaces.web").joinpath(name).read_bytes()
