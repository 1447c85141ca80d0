"""A small OpenID provider that speaks the real protocol, and misbehaves when it is told to.

Discovery, authorization code with PKCE, client authentication, ID tokens signed with RS256, keys as JWKS. Whoever comes
is signed in there already. Give it to `tests.support.sse.served`, and tell it its own address.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT_ID = "handraise-client"
CLIENT_SECRET = "the client's secret: with %, + and é"


@dataclass(frozen=True, slots=True)
class _Grant:
    """What a code stands for."""

    redirect_uri: str
    nonce: str
    challenge: str


class FakeOpenIdProvider:
    """The provider. What stands here as it is from the start is how a provider should be."""

    def __init__(self, redirect_uri: str) -> None:
        self.issuer = ""
        self.redirect_uri = redirect_uri
        self.client_secret: str | None = CLIENT_SECRET
        """What a client has to show; None: it has none, and says its id only."""

        self.email: str | None = "alice@example.com"
        self.claims: dict[str, Any] = {}
        """What ID tokens say other than they should; None leaves a claim out."""

        self.metadata: dict[str, Any] = {}
        """What discovery says other than it should; None leaves a field out."""

        self.refuses: str | None = None
        """The error with which a browser is sent back, as `access_denied`."""

        self.alg = "RS256"
        """How ID tokens are signed: RS256, `none`, or HS256 with the client's secret or with the public key."""

        self.hmac_secret = b""
        self.answers: dict[str, Response] = {}
        """By path, what is answered instead."""

        self.key = new_key()
        self.published = [self.key]
        self.sent: list[str] = []
        """Every secret that went over the wire: codes, states, nonces, verifiers, tokens."""

        self.calls: list[str] = []
        self._grants: dict[str, _Grant] = {}
        self.api = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._discovery),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
            ]
        )

    def let_go(self) -> None:
        """Nothing here waits."""

    def rotate(self) -> None:
        """Sign with a new key from now on; the old one is published no more."""
        self.key = new_key()
        self.published = [self.key]

    async def _discovery(self, request: Request) -> Response:
        return self._answer(
            request,
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize?tenant=1",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            }
            | self.metadata,
        )

    async def _keys(self, request: Request) -> Response:
        return self._answer(request, KeySet(self.published).as_dict(private=False))

    async def _authorize(self, request: Request) -> Response:
        self.calls.append("/authorize")
        asked = request.query_params
        expected = {
            "tenant": "1",
            "response_type": "code",
            "client_id": CLIENT_ID,
            "redirect_uri": self.redirect_uri,
            "code_challenge_method": "S256",
        }
        wrong = [name for name, value in expected.items() if asked.get(name) != value]
        if wrong or not {"openid", "email"} <= set(asked.get("scope", "").split()):
            return PlainTextResponse(f"wrong: {wrong or 'scope'}", 400)
        self.sent += [asked["state"], asked["nonce"]]
        if self.refuses is not None:
            back = {"error": self.refuses, "error_description": "<b>no</b>", "state": asked["state"]}
        else:
            code = secrets.token_urlsafe(16)
            self.sent.append(code)
            self._grants[code] = _Grant(asked["redirect_uri"], asked["nonce"], asked["code_challenge"])
            back = {"code": code, "state": asked["state"], "iss": self.issuer}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(back)}", 302)

    async def _token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        if not self._is_the_client(request, form):
            return JSONResponse({"error": "invalid_client"}, 401)
        grant = self._grants.pop(form.get("code", ""), None)
        verifier = form.get("code_verifier", "")
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        if (
            grant is None
            or form.get("grant_type") != "authorization_code"
            or form.get("redirect_uri") != grant.redirect_uri
            or challenge != grant.challenge
        ):
            return JSONResponse({"error": "invalid_grant"}, 400)
        token, access = self._id_token(grant.nonce), secrets.token_urlsafe(16)
        self.sent += [verifier, token, access]
        return self._answer(request, {"access_token": access, "token_type": "Bearer", "id_token": token})

    def _is_the_client(self, request: Request, form: dict[str, str]) -> bool:
        if self.client_secret is None:
            return form.get("client_id") == CLIENT_ID and "authorization" not in request.headers
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        id, _, secret = base64.b64decode(shown).decode().partition(":")
        # RFC 6749, 2.3.1: both are form-encoded first.
        return (scheme, unquote_plus(id), unquote_plus(secret)) == ("Basic", CLIENT_ID, self.client_secret)

    def _id_token(self, nonce: str) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": "1234",
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            "email": self.email,
            "email_verified": True,
        } | self.claims
        claims = {name: value for name, value in claims.items() if value is not None}
        if self.alg == "RS256":
            return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)
        signed = ".".join(_base64(json.dumps(part).encode()) for part in ({"alg": self.alg}, claims))
        signature = hmac.digest(self.hmac_secret, signed.encode(), "sha256") if self.alg == "HS256" else b""
        return f"{signed}.{_base64(signature)}"

    def _answer(self, request: Request, document: dict[str, Any]) -> Response:
        path = request.url.path
        self.calls.append(path)
        if path in self.answers:
            return self.answers[path]
        return JSONResponse({name: value for name, value in document.items() if value is not None})


def new_key() -> RSAKey:
    """A key with a name of its own."""
    return RSAKey.generate_key(2048, {"kid": secrets.token_hex(4), "use": "sig", "alg": "RS256"})


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
