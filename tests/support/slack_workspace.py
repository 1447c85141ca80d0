"""A Handraise that tells in Slack at once, and the people on both sides."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.support.read_models import until
from tests.support.service import Service, service
from tests.support.slack import Envelope, FakeSlack, User, eventually
from tests.support.slack import Message as Posted
from tests.support.slack_blocks import elements, texts

URL = "https://handraise.test"
TO_ALICE = {"type": "SpecificUser", "userID": "alice"}


class Workspace:
    """A service that tells in Slack at once, and the people on both sides."""

    def __init__(self, handraise: Service, slack: FakeSlack) -> None:
        self.handraise = handraise
        self.slack = slack
        self.alice: User
        self.bob: User

    async def ask(self, **body: Any) -> tuple[dict[str, Any], Posted]:
        """A request, and its message in Slack, once that is recorded."""
        asked = await self.handraise.ask(**{"assignment_strategy": TO_ALICE} | body)
        return asked, await self.posted(asked["id"])

    async def posted(self, id: str) -> Posted:
        async def recorded() -> bool:
            request = await self.handraise.app.store.request(UUID(id))
            return request is not None and bool(request.shown.get("slack"))

        await until(recorded)
        return next(
            each for each in self.slack.messages if each.metadata and each.metadata["event_payload"]["request_id"] == id
        )

    async def reply(self, thread: Posted, user: User, text: str, **options: Any) -> Envelope:
        """A reply, once it is acknowledged."""
        return await (await self.slack.reply(thread, user, text, **options)).acknowledged()

    async def click(self, message: Posted, user: User, **which: Any) -> Envelope:
        return await (await self.slack.click(message, user, **which)).acknowledged()

    async def answered(self, id: str) -> dict[str, Any]:
        """What the agent's wait brings."""
        response = await self.handraise.agent.get(f"/api/requests/{id}/wait", params={"timeout_seconds": 20})
        assert response.json()["status"] == "Responded", response.text
        return response.json()["response"]

    async def status(self, id: str) -> str:
        return (await self.handraise.agent.get(f"/api/requests/{id}")).json()["status"]

    async def events(self, id: str) -> list[dict[str, Any]]:
        return (await self.handraise.admin.get(f"/api/requests/{id}/history")).json()["items"]

    async def types(self, id: str) -> list[str]:
        return [event["type"] for event in await self.events(id)]

    async def shows(self, message: Posted, *parts: str) -> None:
        """Returns once the message has been edited to say all of this, and has nothing to press."""
        await eventually(
            lambda: all(part in words(message) for part in parts) and pressable(message) == [], f"it shows {parts}"
        )

    def told(self, user: User) -> list[str]:
        """What was said to this person alone."""
        return [message.text for message in self.slack.ephemeral if message.ephemeral_to == user.id]


def words(message: Posted) -> str:
    """All that its blocks say."""
    return "\n".join(text["text"] for text in texts(message.blocks))


def pressable(message: Posted) -> list[str]:
    return [element["action_id"] for _, element in elements(message.blocks)]


@asynccontextmanager
async def workspace(database: str, data_dir: Path, slack: FakeSlack, **settings: Any) -> AsyncIterator[Workspace]:
    async with service(database, data_dir, slack_api_url=slack.url, public_url=URL, **settings) as handraise:
        yield Workspace(handraise, slack)
