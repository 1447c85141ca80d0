"""Connections to an address that was checked, under the name that was asked for."""

from __future__ import annotations

import ssl

import httpx

from interfaces.outside.addresses import Addresses

_PORTS = {"https": 443, "http": 80}
_MOST_CONNECTIONS = 64
_MOST_ADDRESSES = 4


class CheckedTransport(httpx.AsyncBaseTransport):
    """Looks a name up once, checks what it finds, and connects to exactly that.

    The certificate must be for the name all the same. No connection is kept: it would be known by its address only, and
    several names may have the same. Raises `NotReachable`, `NotPublic`, and httpx's errors.
    """

    def __init__(self, addresses: Addresses, trusted: ssl.SSLContext | None = None) -> None:
        """`trusted` says whose certificates are; without it those that the environment or the system trusts."""
        self._addresses = addresses
        limits = httpx.Limits(max_connections=_MOST_CONNECTIONS, max_keepalive_connections=0)
        self._transport = httpx.AsyncHTTPTransport(verify=trusted or True, limits=limits)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        found = await self._addresses.of(url.scheme, url.host, url.port or _PORTS[url.scheme])
        failure: httpx.TransportError | None = None
        for address in found[:_MOST_ADDRESSES]:
            there = httpx.Request(
                request.method,
                url.copy_with(host=address),
                headers=request.headers,  # with the name, in `Host`
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": url.host},
            )
            try:
                return await self._transport.handle_async_request(there)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure

    async def aclose(self) -> None:
        await self._transport.aclose()
