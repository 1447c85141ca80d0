"""The requests on a server elsewhere: restarts, refusals, and what is no server at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from domain import errors
from interfaces.mcp.remote import Remote

Handle = Callable[[httpx.Request], httpx.Response]


def remote(*answers: httpx.Response | Exception, patience: float = 10.0) -> tuple[Remote, list[httpx.Request]]:
    """A backend whose server gives these answers in turn."""
    left, seen = list(answers), []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    made = Remote("http://127.0.0.1:1", "hr_key", patience_seconds=patience, transport=httpx.MockTransport(handle))
    return made, seen


def problem(status: int, title: str, detail: str, **more: Any) -> httpx.Response:
    return httpx.Response(status, json={"title": title, "status": status, "detail": detail} | more)


async def test_a_restart_is_waited_out() -> None:
    """A refused connection, a server that stops, and one that ends the wait early are all no answer."""
    closed = {"status": "Responded"}
    made, seen = remote(
        httpx.ConnectError("refused"),
        httpx.Response(503),
        httpx.Response(200, json={"status": "Requested"}),
        httpx.ReadError("broken"),
        httpx.Response(200, json=closed),
    )
    async with made as backend:
        assert await backend.wait("id", 60) == closed
    assert {request.url.path for request in seen} == {"/api/requests/id/wait"}
    assert all(float(request.url.params["timeout_seconds"]) <= 30 for request in seen)
    assert {request.headers["Authorization"] for request in seen} == {"Bearer hr_key"}


async def test_a_wait_that_is_over_is_open() -> None:
    """The request as it stands."""
    made, _ = remote(httpx.Response(200, json={"status": "Requested"}))
    async with made as backend:
        assert await backend.wait("id", 0) == {"status": "Requested"}


async def test_no_server_is_said_in_words() -> None:
    """Once patience is over."""
    made, seen = remote(httpx.ConnectError("refused"), httpx.ConnectError("refused"), patience=0)
    async with made as backend:
        with pytest.raises(errors.Unavailable, match=r"http://127.0.0.1:1 cannot be reached\. Nothing is lost"):
            await backend.get("q")
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(404, "Not found", "said"), errors.NotFound),
        (problem(401, "Unauthorized", "said"), errors.NotSignedIn),
        (problem(409, "Already exists", "said"), errors.AlreadyExists),
        (problem(409, "Already closed", "said"), errors.Conflict),
        (problem(410, "Gone", "said"), errors.Gone),
        (problem(418, "Teapot", "said"), errors.Unavailable),
    ],
)
async def test_refusals_keep_their_words(answer: httpx.Response, kind: type[errors.Refusal]) -> None:
    """They are not tried again."""
    made, seen = remote(answer)
    async with made as backend:
        with pytest.raises(kind, match=r"^said$") as caught:
            await backend.get("q")
    assert (type(caught.value), len(seen)) == (kind, 1)


async def test_the_fields_that_fail_are_kept() -> None:
    """For the model to correct them."""
    body = {"message": "\ud800", "unique_id": "q", "secret": False}
    found = [{"path": "message", "message": "is too long"}]
    made, seen = remote(problem(422, "Invalid input", "message: is too long", errors=found))
    async with made as backend:
        with pytest.raises(errors.Invalid) as caught:
            await backend.create(body)
    assert caught.value.errors == [errors.FieldError("message", "is too long")]
    assert json.loads(seen[0].content) == body


@pytest.mark.parametrize(
    "answer", [httpx.Response(200, text="<html>"), httpx.Response(200, json=[]), httpx.Response(500, json=["no"])]
)
async def test_what_is_no_server_of_ours(answer: httpx.Response) -> None:
    """Another program on that port is no reason to crash."""
    made, _ = remote(answer)
    async with made as backend:
        with pytest.raises(errors.Unavailable):
            await backend.get("q")
