"""What a browser says of its subscription, checked before it is kept."""

from __future__ import annotations

import base64
import re

from cryptography.hazmat.primitives.asymmetric import ec

from domain.errors import FieldError, Invalid
from interfaces.outside.addresses import Addresses, NotPublic, NotReachable, place_of

_BASE64URL = re.compile(r"[A-Za-z0-9_-]*={0,2}", re.ASCII)

_UNCOMPRESSED = 4
_POINT_BYTES, _AUTH_BYTES = 65, 16


class Subscribing:
    """Checks subscriptions."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses

    async def check(self, endpoint: str, p256dh: str, auth: str) -> tuple[bytes, bytes]:
        """The two keys, where these and the endpoint are good. Raises `Invalid` naming all that is not."""
        errors: list[FieldError] = []
        point, secret = _decoded(p256dh), _decoded(auth)
        if not _is_point(point):
            errors.append(FieldError("keys/p256dh", "must be a point of P-256, uncompressed, in base64url"))
        if len(secret) != _AUTH_BYTES:
            errors.append(FieldError("keys/auth", f"must be {_AUTH_BYTES} bytes in base64url"))
        if (wrong := await self._wrong_with(endpoint)) is not None:
            errors.insert(0, FieldError("endpoint", wrong))
        if errors:
            raise Invalid(errors)
        return point, secret

    async def _wrong_with(self, endpoint: str) -> str | None:
        place = place_of(endpoint)
        if place is None:
            return "must be the address of a push service, beginning with https://"
        if not 0 < place.port < 65536:
            return "has a port that there is not"
        if place.scheme != "https" and not self._addresses.allow_private:
            return "must begin with https://"
        try:
            await self._addresses.of(place.scheme, place.host.strip("[]"), place.port)
        except (NotPublic, NotReachable) as error:
            return f"is not to be reached: {error}"
        if place.host.startswith("["):
            return "must name its host: an address of IPv6 cannot stand in the token that a push service is shown"
        return None


def _decoded(text: str) -> bytes:
    """The bytes that this is in base64url, none where it is something else."""
    bare = text.rstrip("=")
    if not _BASE64URL.fullmatch(text) or len(bare) % 4 == 1:
        return b""
    return base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))


def _is_point(point: bytes) -> bool:
    if len(point) != _POINT_BYTES or point[0] != _UNCOMPRESSED:
        return False
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        return False
    return True
