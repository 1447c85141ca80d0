"""How a request ended, and why something was refused, in the words that people in Slack read."""

from __future__ import annotations

from uuid import UUID

from application.ports import Directory
from domain.callers import SYSTEM, actor_id
from domain.errors import AlreadyClaimed, AlreadyClosed, Invalid, Refusal
from domain.request import Request
from interfaces.slack.mrkdwn import escape, instant, one_line

_NAME, _REASON = 80, 300
_OUTCOMES = {"approved": "Approved", "rejected": "Rejected", "answered": "Answered"}


class Words:
    """All of it is mrkdwn: what people wrote is escaped."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def ending(self, request: Request) -> str:
        """How it ended, who ended it, and when: never what was answered, which not everybody here may read."""
        closing = request.closing
        assert closing is not None
        at = instant(closing.timestamp)
        match closing:
            case Request.Responded():
                return f"*{_OUTCOMES[closing.outcome]}* by {await self.actor(closing.actor)} · {at}"
            case Request.Cancelled():
                reason = "" if not closing.reason else f": {one_line(closing.reason, _REASON)}"
                return f"*Cancelled* by {await self.actor(closing.actor)}{reason} · {at}"
            case Request.Expired():
                return f"*Expired* without an answer · {at}"

    async def refusal(self, refused: Refusal) -> str:
        """Why an answer does not count, for whoever gave it."""
        match refused:
            case AlreadyClosed():
                by = "" if refused.by == SYSTEM else f" by {await self.actor(refused.by)}"
                what = {"Responded": "answered", "Cancelled": "cancelled", "Expired": "expired"}[refused.status]
                return f"This request is already closed: it was {what}{by} · {instant(refused.at)}"
            case AlreadyClaimed():
                return f"{await self._person(refused.by)} has claimed this request: only they answer it now."
            case Invalid():
                said = "; ".join(escape(f"{error.path}: {error.message}" if error.path else error.message)
                                 for error in refused.errors)  # fmt: skip
                return f"This is no answer to the request: {said[:2000]}"
            case _:
                return f"This does not count: {escape(refused.detail)}"

    async def actor(self, actor: str) -> str:
        """What somebody is called."""
        id = actor_id(actor)
        if id is None:
            return "Handraise"
        if actor.startswith("user:"):
            return await self._person(id)
        return one_line((await self._directory.readable_ids([id])).get(id, "an agent"), _NAME)

    async def _person(self, id: UUID) -> str:
        person = await self._directory.user(id)
        if person is None:
            return one_line((await self._directory.readable_ids([id])).get(id, "somebody"), _NAME)
        return one_line(person.name or person.readable_id, _NAME)
