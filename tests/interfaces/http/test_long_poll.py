"""A wait ends with its caller, and goes straight from the answer to the agent."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from tests.support.service import Service
from tests.support.sse import eventually, served


async def test_a_wait_does_not_outlive_its_caller(handraise: Service) -> None:
    """An agent that goes away leaves nothing behind on the server, and the request open."""
    asked = await handraise.ask()
    key = handraise.agent.headers["Authorization"]
    async with served(handraise.app) as url:
        address = urlsplit(url)
        writers: list[asyncio.StreamWriter] = []
        for _ in range(5):
            _, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(
                f"GET /api/requests/{asked['id']}/wait?timeout_seconds=600 HTTP/1.1\r\n"
                f"Host: handraise.test\r\nAuthorization: {key}\r\n\r\n".encode()
            )
            writers.append(writer)
        await handraise.waiting(5)
        for writer in writers:
            writer.close()
        await eventually(lambda: len(handraise.app.waits) == 0, "every wait has ended")
    assert (await handraise.agent.get(f"/api/requests/{asked['id']}")).json()["status"] == "Requested"


async def test_every_wait_for_a_request_gets_the_same(handraise: Service) -> None:
    """Several waits for one request all end with the request as it can be read afterwards."""
    asked = await handraise.ask(request_type="approval")
    path = f"/api/requests/{asked['id']}"
    waits = [asyncio.create_task(handraise.agent.get(f"{path}/wait")) for _ in range(3)]
    await handraise.waiting(3)
    await handraise.admin.post(f"{path}/respond", json={"data": {"approved": True, "note": "go"}})
    answers = [(await wait).json() for wait in waits]
    assert answers == [(await handraise.agent.get(path)).json()] * 3
    assert answers[0]["response"]["data"] == {"approved": True, "note": "go"}
