"""`handraise erase`: a request or a person, once it is meant."""

from __future__ import annotations

import psycopg

from tests.support.processes import ServerProcess, cli_here


def ask(server: ServerProcess, unique_id: str, *, closed: bool) -> str:
    """A request of the default agent; its id."""
    with server.agent() as agent:
        asked = agent.post("/api/requests", json={"message": "May I?", "unique_id": unique_id})
        assert asked.status_code == 201, asked.text
        if closed:
            assert agent.post(f"/api/requests/{unique_id}/cancel").status_code == 200
    return asked.json()["id"]


def shown(server: ServerProcess, id: str) -> tuple[bool, str | None]:
    with server.admin() as admin:
        request = admin.get(f"/api/requests/{id}").json()
    return request["erased"], request["message"]


def test_a_request_is_erased_once_it_is_meant(server: ServerProcess) -> None:
    """Asked first, on standard error; n, or nobody there to answer, leaves all as it is."""
    id = ask(server, "erase-meant", closed=True)
    for said in ("n\n", "\n", ""):
        no = cli_here("erase", "--request", "erase-meant", server=server, input=said)
        assert (no.code, no.out) == (1, "")
        assert "Erase the content of request erase-meant? Nobody can bring it back." in no.err
        assert no.err.endswith("Error: nothing was erased: answer y, or give --yes\n")
    assert shown(server, id) == (False, "May I?")
    yes = cli_here("erase", "--request", "erase-meant", server=server, input="y\n")
    assert (yes.code, yes.out) == (0, "erased the content of request erase-meant\n"), yes
    assert shown(server, id) == (True, None)
    again = cli_here("erase", "--request", id, "--yes", server=server)
    assert (again.code, again.out, again.err) == (0, f"erased the content of request {id}\n", "")


def test_a_person_is_erased_once_removed(server: ServerProcess) -> None:
    """Refused while they are there; then name and address are gone."""
    with server.admin() as admin:
        person = {"name": "Erna Gone", "id": "erna", "email": "erna@example.com"}
        assert admin.post("/api/users", json=person).status_code == 201
        there = cli_here("erase", "--person", "erna", "--yes", server=server)
        assert (there.code, there.out) == (1, "")
        assert there.err == "Error: user 'erna' is still in the directory: remove them first, then erase them\n"
        assert admin.delete("/api/users/erna").status_code == 200
    gone = cli_here("erase", "--person", "erna", "--yes", server=server)
    assert (gone.code, gone.out, gone.err) == (0, "erased the name and addresses of erna\n", "")
    assert server.database_url is not None
    with psycopg.connect(server.database_url) as connection:
        found = connection.execute("SELECT name, email FROM users WHERE readable_id = 'erna'").fetchone()
    assert found == (None, None)


def test_what_cannot_be_erased_is_refused(server: ServerProcess) -> None:
    """Neither or both, what is open, what is not there, and without an administrator's key."""
    for arguments in ((), ("--request", "a", "--person", "b")):
        assert cli_here("erase", *arguments, server=server).code == 2
    ask(server, "erase-open", closed=False)
    still_open = cli_here("erase", "--request", "erase-open", "--yes", server=server)
    assert (still_open.code, still_open.err) == (
        1,
        "Error: the request is still open: cancel it first, then erase its content\n",
    )
    assert cli_here("erase", "--person", "nobody-there", "--yes", server=server).err == (
        "Error: there is no user 'nobody-there'\n"
    )
    as_agent = {"HANDRAISE_API_KEY": server.agent_key}
    for arguments in (("--request", "erase-open"), ("--person", "admin")):
        refused = cli_here("erase", *arguments, "--yes", server=server, env=as_agent)
        assert (refused.code, refused.out) == (1, "")
        assert "only an administrator" in refused.err
