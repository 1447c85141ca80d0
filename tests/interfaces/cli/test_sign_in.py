"""Coming in from the terminal: links for people, keys replaced, and what the first start prints."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from tests.support.processes import ServerProcess, cli_here


def used(server: ServerProcess, url: str) -> httpx.Response:
    """What comes of the link when its button is pressed."""
    base, _, token = url.strip().partition("#")
    assert base == f"{server.url}/sign-in"
    with server.client(None) as browser:
        entered = browser.post("/api/session/link", json={"token": token})
        if entered.status_code == 201:
            assert browser.get("/api/session").json()["user"] == entered.json()["user"]
        return entered


def test_a_link_for_somebody_is_printed_alone(server: ServerProcess) -> None:
    """On standard output nothing but the link, which signs them in once; how long it works is said beside it."""
    assert cli_here("user", "add", "Lena", "--id", "lena", server=server).code == 0
    made = cli_here("user", "link", "lena", server=server)
    assert (made.code, len(made.out.splitlines())) == (0, 1)
    assert re.fullmatch(r"it works once, until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\n", made.err)
    entered = used(server, made.out)
    assert (entered.status_code, entered.json()["user"]) == (201, "lena")
    assert used(server, made.out).status_code == 401
    assert made.out.strip().partition("#")[2] not in server.log


def test_a_link_for_nobody_is_refused(server: ServerProcess) -> None:
    """With a sentence and exit code 1; without an id it is wrong usage."""
    refused = cli_here("user", "link", "nobody-here", server=server)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == "Error: there is no active user 'nobody-here'\n"
    assert cli_here("user", "link", server=server).code == 2


def test_a_rotated_key_is_printed_alone(server: ServerProcess) -> None:
    """The new key on standard output; the old one is over, and what was revoked stays so."""
    old = cli_here("key", "create", "--agent", "default", "--name", "To rotate", server=server).out.strip()
    rotated = cli_here("key", "rotate", "to-rotate", server=server)
    assert rotated.code == 0
    assert re.fullmatch(r"hr_[\w-]{43}\n", rotated.out)
    for key, status in ((old, 401), (rotated.out.strip(), 200)):
        with server.client(key) as client:
            assert client.get("/api/requests").status_code == status
        assert key not in server.log
    assert rotated.out.strip() not in rotated.err
    assert cli_here("key", "revoke", "to-rotate", server=server).code == 0
    refused = cli_here("key", "rotate", "to-rotate", server=server)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == "Error: key 'to-rotate' is revoked: make a new one\n"
    assert cli_here("key", "rotate", "nothing", server=server).code == 1


def test_the_first_starts_link_signs_in_as_administrator(database: str, tmp_path: Path) -> None:
    """As printed, once; a later start prints none. Without an admin key in the file there is a link too."""
    with ServerProcess(tmp_path / "data", database, arguments=("--no-admin-key",)) as server:
        link = re.search(r"^  (http\S+/sign-in#\S+)$", server.output, re.M)
        assert link is not None
        entered = used(server, link[1])
        assert (entered.status_code, entered.json()["user"]) == (201, "admin")
        assert used(server, link[1]).status_code == 401
        server.restart()
        assert "sign-in" not in server.output


def test_whoever_was_removed_does_not_keep_the_server_from_starting(database: str, tmp_path: Path) -> None:
    """Without its first administrator and agent, it starts, on a new data directory too, and brings neither back."""
    key_file = {"secret_key": "A" * 43 + "="}
    with ServerProcess(tmp_path / "first", database, **key_file) as server:
        with server.admin() as admin:
            boss = admin.post("/api/users", json={"name": "Boss", "role": "administrator"})
            assert boss.status_code == 201
            key = admin.post("/api/keys", json={"name": "Boss", "user": "boss"}).json()["key"]
        with server.client(key) as boss_client:
            for path in ("/api/users/admin", "/api/agents/default"):
                gone = boss_client.delete(path)
                assert gone.status_code == 200, gone.text
        for _ in range(2):
            server.restart()
            assert "sign-in" not in server.output
        with server.client(key) as boss_client:
            users = boss_client.get("/api/users").json()["items"]
            assert [user["id"] for user in users] == ["boss"]
    with ServerProcess(tmp_path / "second", database, **key_file) as server, server.client(key) as boss_client:
        assert boss_client.get("/api/me").json()["id"] == "boss"
        assert "sign-in" not in server.output
        assert server.restart().running
