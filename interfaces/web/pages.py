"""The pages that people see in a browser: files of ours, each with the narrowest policy it can live with."""

from __future__ import annotations

import secrets
from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import HTMLResponse, RedirectResponse, Response

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'nonce-{nonce}'; connect-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'"
)


def page_routes() -> APIRouter:
    """`/` and `/sign-in`."""
    router = APIRouter(include_in_schema=False)
    sign_in = _file("sign-in.html")
    script = _file("sign-in.js")

    @router.get("/")
    async def root() -> Response:
        return RedirectResponse("/sign-in", 302)

    @router.get("/sign-in")
    async def page() -> Response:
        nonce = secrets.token_urlsafe(16)
        return HTMLResponse(
            sign_in.replace("{{nonce}}", nonce),
            headers={"Content-Security-Policy": _POLICY.format(nonce=nonce), "Cache-Control": "no-store"},
        )

    @router.get("/sign-in.js")
    async def code() -> Response:
        return Response(script, media_type="text/javascript; charset=utf-8", headers={"Cache-Control": "no-cache"})

    return router


def _file(name: str) -> str:
    return files("interfaces.web").joinpath(name).read_text(encoding="utf-8")
