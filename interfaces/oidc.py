"""Signing in with an OpenID provider: authorization code with PKCE, the ID token verified against its keys."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
import time
from typing import Any
from urllib.parse import quote_plus

import httpx
import structlog
from authlib.common.errors import AuthlibBaseError
from authlib.common.urls import add_params_to_uri
from authlib.oidc.core import CodeIDToken
from cryptography.fernet import Fernet, InvalidToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from domain.errors import NotSignedIn, Unavailable
from interfaces.postgres.sealing import MasterKey
from interfaces.settings import Settings

_SCOPE = "openid email"
_STATE_SECONDS = 600
_KEYS_SECONDS = 3600
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures by a key of the provider's. Never `none`, nor one that our own secret could make."""

_NEEDED = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")

log = structlog.get_logger(__name__)


class OpenIdProvider:
    """One provider, found by its issuer. What a sign-in needs to come back with is in an encrypted cookie."""

    def __init__(self, issuer: str, client_id: str, client_secret: str | None, name: str, cookie_key: bytes) -> None:
        self.name = name
        self._issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._cookies = Fernet(base64.urlsafe_b64encode(cookie_key))
        self._http = httpx.AsyncClient(timeout=10)
        self._metadata: dict[str, Any] | None = None
        self._keys: KeySet | None = None
        self._keys_read_at = 0.0
        self._reading = asyncio.Lock()

    @classmethod
    def of(cls, settings: Settings, key: MasterKey) -> OpenIdProvider | None:
        """The provider that the settings name; None where they name none."""
        if settings.oidc_issuer is None or settings.oidc_client_id is None:
            return None
        secret = settings.oidc_client_secret
        return cls(
            settings.oidc_issuer,
            settings.oidc_client_id,
            None if secret is None else secret.get_secret_value(),
            settings.oidc_name,
            key.derive("oidc sign-in"),
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def begin(self, redirect_uri: str) -> tuple[str, str]:
        metadata = await self._discover()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        location = add_params_to_uri(
            metadata["authorization_endpoint"],
            list(
                {
                    "response_type": "code",
                    "client_id": self._client_id,
                    "redirect_uri": redirect_uri,
                    "scope": _SCOPE,
                    "state": state,
                    "nonce": nonce,
                    "code_challenge": challenge,
                    "code_challenge_method": "S256",
                }.items()
            ),
        )
        kept = json.dumps({"state": state, "nonce": nonce, "verifier": verifier})
        return location, self._cookies.encrypt(kept.encode()).decode()

    async def finish(self, redirect_uri: str, state: str, query: dict[str, str]) -> str:
        try:
            kept = json.loads(self._cookies.decrypt(state.encode("utf-8", "replace"), ttl=_STATE_SECONDS))
        except InvalidToken:
            raise NotSignedIn("this sign-in was not begun in this browser, or too long ago: begin again") from None
        if not secrets.compare_digest(query.get("state", "").encode("utf-8", "replace"), kept["state"].encode()):
            raise NotSignedIn("this sign-in is not the one that this browser began: begin again")
        if "code" not in query:
            log.warning("sign-in refused by the provider", error=query.get("error", "")[:100])
            raise NotSignedIn(f"{self.name} did not sign you in")
        metadata = await self._discover()
        try:
            token = await self._token(metadata["token_endpoint"], redirect_uri, query["code"], kept["verifier"])
            claims = await self._claims(str(token.get("id_token", "")), kept["nonce"])
        except (JoseError, AuthlibBaseError, ValueError, TypeError, KeyError, httpx.HTTPError) as error:
            log.warning("sign-in failed", error=type(error).__name__)
            raise NotSignedIn(f"what {self.name} answered could not be verified: begin again") from None
        email = claims.get("email")
        # Some say it as text, and some not at all: then whoever set the provider up here vouches for its addresses.
        if not isinstance(email, str) or claims.get("email_verified", True) not in (True, "true"):
            raise NotSignedIn(f"{self.name} does not say which e-mail address is yours, or it is not verified")
        return email

    async def _claims(self, id_token: str, nonce: str) -> dict[str, Any]:
        """The claims of a token that the provider made for us, just now. Raises `JoseError` or `ValueError`."""
        try:
            decoded = jwt.decode(id_token, await self._key_set(), algorithms=_ALGORITHMS)
        except (JoseError, ValueError, TypeError):  # the provider may have new keys
            decoded = jwt.decode(id_token, await self._key_set(afresh=True), algorithms=_ALGORITHMS)
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
            options={
                "iss": {"essential": True, "value": (await self._discover())["issuer"]},
                "aud": {"essential": True, "value": self._client_id},
                "nonce": {"essential": True, "value": nonce},
                "exp": {"essential": True},
            },
            params={"nonce": nonce, "client_id": self._client_id},
        )
        claims.validate(leeway=60)
        return dict(decoded.claims)

    async def _token(self, endpoint: str, redirect_uri: str, code: str, verifier: str) -> dict[str, Any]:
        """What the code is worth. Raises httpx's errors."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        auth = None
        if self._client_secret is None:
            form["client_id"] = self._client_id
        else:
            auth = httpx.BasicAuth(quote_plus(self._client_id), quote_plus(self._client_secret))  # RFC 6749, 2.3.1
        response = await self._http.post(endpoint, data=form, auth=auth or httpx.USE_CLIENT_DEFAULT)
        response.raise_for_status()
        answer = response.json()
        if not isinstance(answer, dict):
            raise ValueError("no tokens")
        return answer

    async def _discover(self) -> dict[str, Any]:
        async with self._reading:
            found = self._metadata
            if found is None:
                found = await self._get(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
                if not (isinstance(found, dict) and all(isinstance(found.get(name), str) for name in _NEEDED)):
                    log.error("the provider does not describe itself", issuer=self._issuer)
                    raise Unavailable("the identity provider does not say how to sign in with it")
                if found["issuer"].rstrip("/") != self._issuer.rstrip("/"):
                    log.error("the provider calls itself something else", issuer=self._issuer)
                    raise Unavailable("the identity provider is not the one that was set up")
                self._metadata = found
            return found

    async def _key_set(self, *, afresh: bool = False) -> KeySet:
        uri = (await self._discover())["jwks_uri"]
        async with self._reading:
            if self._keys is None or afresh or time.monotonic() - self._keys_read_at > _KEYS_SECONDS:
                self._keys = KeySet.import_key_set(await self._get(uri))
                self._keys_read_at = time.monotonic()
            return self._keys

    async def _get(self, url: str) -> Any:
        try:
            response = await self._http.get(url)
            response.raise_for_status()
            return response.json()
        except (httpx.HTTPError, ValueError) as error:
            log.warning("the identity provider cannot be reached", error=type(error).__name__)
            raise Unavailable("the identity provider cannot be reached just now", retry_after_seconds=5) from None
