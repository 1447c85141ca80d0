"""Which addresses word may be left at, and that nothing else is ever connected to."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from domain.errors import Invalid
from interfaces.outside.addresses import Addresses, NotPublic, NotReachable, is_public
from interfaces.outside.connections import CheckedTransport
from interfaces.push.subscribing import Subscribing
from tests.support.push_service import Browser, encoded

PUBLIC = "93.184.216.34"
BROWSER = Browser("").to_json()["keys"]


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("0.0.0.0", "224.0.0.1", "224.0.1.5", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.0.2.1"),
        *("::1", "::", "fe80::1", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "ff0e::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "::7f00:1"),
        "fe80::1%eth0",
    ],
)
def test_what_is_not_everybodys_is_not_public(address: str) -> None:
    """Loopback, private, link-local, multicast, reserved, also where IPv6 wraps it."""
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", [PUBLIC, "8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
)
def test_what_the_internet_knows_is_public(address: str) -> None:
    """Also behind a translation from IPv6."""
    assert is_public(ipaddress.ip_address(address))


async def wrong(addresses: Addresses, endpoint: str, **keys: str) -> list[tuple[str, str]]:
    """What is refused of a subscription."""
    given = BROWSER | keys
    try:
        await Subscribing(addresses).check(endpoint, given["p256dh"], given["auth"])
    except Invalid as refusal:
        return [(error.path, error.message) for error in refusal.errors]
    return []


NOT_PUBLIC = "is not to be reached: its host has an address that is not public"


@pytest.mark.parametrize(
    "endpoint",
    [
        *("https://127.0.0.1/x", "https://[::1]/x", "https://10.1.2.3/x", "https://169.254.169.254/latest/meta-data"),
        *("https://[::ffff:127.0.0.1]/x", "https://localhost/x", "https://LOCALHOST:8443/x", "https://2130706433/x"),
        *("https://0x7f.1/x", "https://127.1/x", "https://017700000001/x", "https://0/x"),
    ],
)
async def test_no_way_of_writing_a_private_address_is_taken(endpoint: str) -> None:
    """However the system would understand it."""
    assert await wrong(Addresses(allow_private=False), endpoint) == [("endpoint", NOT_PUBLIC)]


@pytest.mark.parametrize(
    "endpoint",
    [
        *("", "x", "ftp://push.example.com/x", "https:///x", "https://user@push.example.com/x", "//push.example.com/x"),
        *("https://push.example.com/a b", "https://push.example.com/#x", "https://push.example.com\\@evil.example/x"),
        *("https://push.example.com/\n", "https://pü.example.com/", "https://push.example.com:99999/", "https://a:0/"),
        *("https://push%2eexample.com/", "https://[fe80::1%25lo]/", "https://\0/", "https://\ud800/", "http://a/x"),
        *(f"http://{PUBLIC}/x", "javascript:alert(1)", "https://push.example.com?x"),
    ],
)
async def test_what_is_no_address_of_a_push_service_is_refused(endpoint: str) -> None:
    """By name, and without looking anything up."""

    def never(host: str, port: int) -> Sequence[str]:
        raise AssertionError(host)

    ((path, _),) = await wrong(Addresses(allow_private=False, look_up=never), endpoint)
    assert path == "endpoint"


def finding(*addresses: str) -> Callable[[str, int], Sequence[str]]:
    return lambda host, port: addresses


async def test_one_private_address_among_others_is_enough() -> None:
    """Which of them is connected to is not up to us alone."""
    for found in ((PUBLIC, "127.0.0.1"), ("::1", PUBLIC), ("::ffff:10.0.0.1",)):
        addresses = Addresses(allow_private=False, look_up=finding(*found))
        assert await wrong(addresses, "https://push.example.com/x") == [("endpoint", NOT_PUBLIC)]
    assert await wrong(Addresses(allow_private=False, look_up=finding(PUBLIC)), "https://push.example.com/x") == []
    assert await wrong(Addresses(allow_private=False), f"https://{PUBLIC}/x") == []


async def test_a_host_that_is_not_found_is_refused() -> None:
    """And one that takes too long, or has no address at all."""

    def unknown(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    for look_up in (unknown, finding()):
        addresses = Addresses(allow_private=False, look_up=look_up)
        said = await wrong(addresses, "https://push.example.com/x")
        assert said == [("endpoint", "is not to be reached: its host cannot be found")]
    for host in ("a..b", "x" * 70 + ".example"):
        assert len(await wrong(Addresses(allow_private=False), f"https://{host}/x")) == 1


async def test_with_private_ones_allowed_only_this_machine_goes_without_https() -> None:
    """Content is encrypted anyway; who is told what and when is not."""
    addresses = Addresses(allow_private=True)
    for good in ("https://10.1.2.3/x", "https://localhost:8443/x", "http://127.0.0.1:8080/x", "http://localhost/x"):
        assert await wrong(addresses, good) == []
    for bad in ("http://10.1.2.3/x", f"http://{PUBLIC}/x"):
        ((_, said),) = await wrong(addresses, bad)
        assert said == "is not to be reached: without https only this machine itself can be reached"
    ((_, said),) = await wrong(addresses, "https://[::1]/x")
    assert said.startswith("must name its host")


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ({"p256dh": ""}, "keys/p256dh"),
        ({"p256dh": BROWSER["p256dh"][:-1]}, "keys/p256dh"),
        ({"p256dh": encoded(b"\4" + bytes(64))}, "keys/p256dh"),
        ({"p256dh": encoded(b"\4" + b"\xff" * 64)}, "keys/p256dh"),
        ({"p256dh": encoded(b"\2" + bytes(32))}, "keys/p256dh"),
        ({"p256dh": "é" * 87}, "keys/p256dh"),
        ({"auth": ""}, "keys/auth"),
        ({"auth": encoded(bytes(15))}, "keys/auth"),
        ({"auth": encoded(bytes(17))}, "keys/auth"),
        ({"auth": "\ud800"}, "keys/auth"),
        ({"auth": "a" * 21}, "keys/auth"),
    ],
)
async def test_keys_that_nothing_can_be_encrypted_with_are_refused(keys: dict[str, str], path: str) -> None:
    """A point of the curve and 16 bytes; neither is repeated."""
    ((where, said),) = await wrong(Addresses(allow_private=False), f"https://{PUBLIC}/x", **keys)
    assert where == path
    assert not any(value in said for value in keys.values() if value)


async def test_all_that_is_wrong_is_named_at_once() -> None:
    """In the order of the body."""
    found = await wrong(Addresses(allow_private=False), "http://a", p256dh="x", auth="y")
    assert [path for path, _ in found] == ["endpoint", "keys/p256dh", "keys/auth"]


async def test_padding_is_no_fault() -> None:
    """Some write it."""
    padded = {name: value + "=" * (-len(value) % 4) for name, value in BROWSER.items()}
    assert await wrong(Addresses(allow_private=False), f"https://{PUBLIC}/x", **padded) == []


# -- when connecting


@asynccontextmanager
async def listening(tls: ssl.SSLContext | None = None) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server of this machine that answers 201 to anything: its port, and what it was sent."""
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1], heard


async def post(addresses: Addresses, url: str, trusted: ssl.SSLContext | None = None) -> int:
    async with httpx.AsyncClient(transport=CheckedTransport(addresses, trusted), trust_env=False) as client:
        return (await client.post(url, content=b"x")).status_code


async def test_a_name_that_has_another_address_by_now_is_not_connected_to() -> None:
    """It was public when the browser subscribed."""
    turns = [[PUBLIC], ["127.0.0.1"]]
    addresses = Addresses(allow_private=False, look_up=lambda host, port: turns.pop(0))
    async with listening() as (port, heard):
        url = f"https://push.example.com:{port}/x"
        assert await wrong(addresses, url) == []
        with pytest.raises(NotPublic):
            await post(addresses, url)
    assert (turns, heard) == ([], [])


async def test_what_was_checked_is_what_is_connected_to() -> None:
    """The name is looked up once, and is still what the server is asked for."""
    asked: list[tuple[str, int]] = []

    def look_up(host: str, port: int) -> Sequence[str]:
        asked.append((host, port))
        return ["127.0.0.1"]

    async with listening() as (port, heard):
        assert await post(Addresses(allow_private=True, look_up=look_up), f"http://push.test:{port}/x?y=1") == 201
    assert asked == [("push.test", port)]
    assert heard[0].startswith(b"POST /x?y=1 HTTP/1.1\r\n")
    assert f"\r\nhost: push.test:{port}\r\n".encode() in heard[0].lower()


def certified(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server of this name shows, and what trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(certificate.public_bytes(Encoding.PEM) + private)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cafile=path)


async def test_the_certificate_must_be_for_the_name(tmp_path: Path) -> None:
    """Although the connection goes to an address."""
    server, trusted = certified("push.test", tmp_path)
    addresses = Addresses(allow_private=True, look_up=finding("127.0.0.1"))
    async with listening(server) as (port, heard):
        assert await post(addresses, f"https://push.test:{port}/x", trusted) == 201
        for url in (f"https://other.test:{port}/x", f"https://127.0.0.1:{port}/x"):
            with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
                await post(addresses, url, trusted)
        with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
            await post(addresses, f"https://push.test:{port}/x")
    assert len(heard) == 1


async def test_an_address_that_does_not_answer_leaves_the_others() -> None:
    """As a name has several, one of which may be out of reach."""
    look_up = finding("127.0.0.2", "::1", "127.0.0.1")
    async with listening() as (port, heard):
        assert await post(Addresses(allow_private=True, look_up=look_up), f"http://push.test:{port}/x") == 201
        assert len(heard) == 1
    with pytest.raises(httpx.ConnectError):
        await post(Addresses(allow_private=True, look_up=look_up), f"http://push.test:{port}/x")


async def test_looking_up_does_not_hold_up_the_server() -> None:
    """It blocks in a thread of its own."""

    def slow(host: str, port: int) -> Sequence[str]:
        time.sleep(0.2)
        return []

    looking = asyncio.create_task(Addresses(allow_private=False, look_up=slow).of("https", "push.test", 443))
    turns = 0
    while not looking.done():
        await asyncio.sleep(0.005)
        turns += 1
    with pytest.raises(NotReachable):
        await looking
    assert turns > 5
