"""The mark by which a message that was posted is known again: which notice it is, and of which request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from application.notices import Message
from interfaces.slack.web_api import Refused, by_bot

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

EVENT_TYPE = "handraise_request"
"""Of the metadata that hold it."""


def mark(message: Message) -> dict[str, Any]:
    """The metadata of the message for this notice."""
    return {
        "event_type": EVENT_TYPE,
        "event_payload": {"key": message.key, "request_id": str(message.request.id)},
    }


def key_of(message: dict[str, Any]) -> str | None:
    """The key of the notice that a message is, where it is one."""
    return _marked(message, "key")


def messages_of(answer: Any) -> list[dict[str, Any]]:
    """What a call that reads messages found."""
    found = answer.get("messages")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


async def request_marked(client: AsyncWebClient, channel: str, ts: str, bot_id: str | None) -> UUID | None:
    """The request that this message of ours shows, as Slack knows it; None where it shows none, or we may not look.

    Others' messages count for nothing, whatever they say. Raises as `by_bot`, but for what is refused for good.
    """
    call = client.conversations_history(
        channel=channel, oldest=ts, latest=ts, inclusive=True, limit=1, include_all_metadata=True
    )
    try:
        found = messages_of(await by_bot(call))
    except Refused as refused:
        if refused.temporary:
            raise
        return None
    for message in found:
        if message.get("ts") == ts and bot_id is not None and message.get("bot_id") == bot_id:
            try:
                return UUID(_marked(message, "request_id") or "")
            except ValueError:
                return None
    return None


def _marked(message: dict[str, Any], name: str) -> str | None:
    metadata = message.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("event_type") != EVENT_TYPE:
        return None
    payload = metadata.get("event_payload")
    value = payload.get(name) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else None
