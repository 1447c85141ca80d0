"""What may be called: addresses of the whole internet, and none of this machine or its network.

People name addresses, and the server connects to them: it must not become a way into the network that it stands in.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

_RESOLVED_WITHIN_SECONDS = 5.0
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv4 addresses as networks with IPv6 only write them (RFC 6052)."""

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?(/[!-~]*)?",
    re.ASCII | re.IGNORECASE,
)
_PORTS = {"https": 443, "http": 80}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

LookUp = Callable[[str, int], Sequence[str]]
"""All addresses of a host, for a port. Blocks; raises `OSError`."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a URL leads to. The host of an address of IPv6 stands in brackets."""

    scheme: str
    host: str
    port: int


def place_of(url: str) -> Place | None:
    """Where this URL leads; None for anything but http and https, a user, a fragment, or what is not ASCII."""
    match = _URL.fullmatch(url)
    if match is None or "#" in url or "\\" in url:
        return None
    scheme = match["scheme"].lower()
    return Place(scheme, match["host"], int(match["port"] or _PORTS[scheme]))


class NotReachable(Exception):
    """The host has no address, or none is found in time."""

    def __init__(self) -> None:
        super().__init__("its host cannot be found")


class NotPublic(Exception):
    """The host has an address that nothing may be sent to."""

    def __init__(self, why: str = "its host has an address that is not public") -> None:
        super().__init__(why)


class Addresses:
    """Finds addresses, and refuses those that are not everybody's. With `allow_private`, any will do."""

    def __init__(
        self, *, allow_private: bool, look_up: LookUp | None = None, plain_in_private_networks: bool = False
    ) -> None:
        """Without https only this machine is reached, or with `plain_in_private_networks` what is not public."""
        self.allow_private = allow_private
        self._look_up = look_up or _look_up
        self._plain_in_private_networks = plain_in_private_networks
        # Threads of its own: names that take long to look up keep nothing else waiting.
        self._threads = ThreadPoolExecutor(4, "addresses")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def of(self, scheme: str, host: str, port: int) -> list[str]:
        """All addresses of a host, each of which may be connected to. Raises `NotReachable` or `NotPublic`.

        The caller connects to one of these, and does not look the name up again: it may have another one by then.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_RESOLVED_WITHIN_SECONDS):
                found = await loop.run_in_executor(self._threads, self._look_up, host, port)
        except (OSError, UnicodeError):  # `TimeoutError` and `gaierror` are kinds of the first
            raise NotReachable from None
        addresses = [ipaddress.ip_address(each) for each in dict.fromkeys(found)]
        if not addresses:
            raise NotReachable
        if not self.allow_private and not all(is_public(address) for address in addresses):
            raise NotPublic
        if scheme != "https":
            self._check_plain(addresses)
        return [str(address) for address in addresses]

    def _check_plain(self, addresses: Sequence[Address]) -> None:
        if self._plain_in_private_networks:
            if any(is_public(address) for address in addresses):
                raise NotPublic("without https only a private network can be reached")
        elif not all(address.is_loopback for address in addresses):
            raise NotPublic("without https only this machine itself can be reached")


def is_public(address: Address) -> bool:
    """Whether this is an address that the whole internet knows, of one single host."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _TRANSLATED:
            inner = ipaddress.IPv4Address(address.packed[-4:])
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _look_up(host: str, port: int) -> list[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
