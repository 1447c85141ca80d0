"""Calls to Slack's Web API, and what became of them in words that a person can act on."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Mapping
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:  # the SDK is imported by those who use Slack, once they do
    from slack_sdk.web.async_client import AsyncWebClient

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_CODE = re.compile(r"[a-z][a-z_]{1,60}", re.ASCII)
_SCOPES = re.compile(r"[a-z.:_, -]{1,200}", re.ASCII)

# What the SDK says at debug level holds what people wrote, and addresses that are good as passwords.
SILENT = logging.getLogger("handraise.slack.sdk")
SILENT.disabled = True

_IN_WORDS = {
    "not_authed": "Slack does not know {token}: copy it again, whole",
    "invalid_auth": "Slack does not know {token}: copy it again, whole",
    "account_inactive": "{token} belongs to an app, or a workspace, that was removed or switched off",
    "token_revoked": "{token} was revoked: install the app again, and copy the new one",
    "token_expired": "{token} has expired: install the app again without token rotation, and copy the new one",
    "not_allowed_token_type": "{token} is of another kind than is needed here",
    "team_access_not_granted": "{token} does not reach this workspace",
    "channel_not_found": "there is no such channel, or it is private and the app is not in it: look at its id, and "
    "invite the app there with /invite @{app}",
    "not_in_channel": "the app is not in the channel: invite it there with /invite @{app}",
    "is_archived": "the channel is archived",
    "restricted_action": "the workspace does not let the app post in this channel",
    "restricted_action_read_only_channel": "the workspace does not let the app post in this channel",
    "msg_too_long": "the message is longer than Slack takes",
    "msg_blocks_too_long": "the message is longer than Slack takes",
    "invalid_blocks": "Slack does not take a message that is made like this",
    "invalid_blocks_format": "Slack does not take a message that is made like this",
}

_PASSING = {
    *("ratelimited", "rate_limited", "internal_error", "service_unavailable", "fatal_error", "request_timeout"),
    "team_added_to_org",
}
"""Refusals that are over after a while."""


class Refused(Exception):
    """Slack refused; `str` says why, in words, with Slack's own name for it.

    `temporary` is whether the same may work later; `after` how long Slack asked to be left alone for.
    """

    def __init__(self, code: str, words: str, *, temporary: bool = False, after: timedelta | None = None) -> None:
        super().__init__(f"{words} ({code})")
        self.code = code
        self.temporary = temporary
        self.after = after


class NoAnswer(Exception):
    """Slack could not be reached, or answered with something that makes no sense; `str` says which.

    What was asked may have been done all the same.
    """


async def web_client(token: str, api_url: str, seconds: int) -> AsyncWebClient:
    """A client that tries everything once: what is tried again is for its user to decide."""
    await asyncio.to_thread(import_module, "slack_sdk.web.async_client")  # takes long the first time
    from slack_sdk.web.async_client import AsyncWebClient

    client = AsyncWebClient(token, base_url=api_url, timeout=seconds, retry_handlers=[], logger=SILENT)
    if urlsplit(api_url).hostname in _THIS_MACHINE:
        client.proxy = None  # whatever the environment says
    return client


async def asked(call: Awaitable[Any], *, token: str, app: str = "the app") -> tuple[dict[str, Any], Mapping[str, str]]:
    """What Slack answered, and the headers. `token` and `app` are what they are called when something is wrong.

    Raises `Refused` or `NoAnswer`.
    """
    import aiohttp
    from slack_sdk.errors import SlackApiError

    try:
        response = await call
        data, headers = response.data, response.headers
    except SlackApiError as error:
        raise _in_words(error.response, token, app) from None
    except TimeoutError:
        raise NoAnswer("Slack did not answer in time") from None
    except (aiohttp.ClientConnectionError, OSError) as error:
        raise NoAnswer(f"Slack cannot be reached ({type(error).__name__})") from None
    except Exception as error:  # whatever else the SDK makes of an answer that is not Slack's
        raise NoAnswer(f"what answered is not Slack, or makes no sense ({type(error).__name__})") from None
    if not isinstance(data, dict):
        raise NoAnswer("what answered is not Slack, or makes no sense")
    return data, headers


async def by_bot(call: Awaitable[Any]) -> dict[str, Any]:
    """What Slack answered to a call with the bot's token. Raises as `asked` does."""
    return (await asked(call, token="the bot token", app="…"))[0]  # noqa: S106  what it is called


def _in_words(response: Any, token: str, app: str) -> Exception:
    """`response` is the SDK's, or aiohttp's where the body could not be read."""
    status = getattr(response, "status_code", None) or getattr(response, "status", None)
    if status == 429:
        after = str(response.headers.get("Retry-After", ""))
        seconds = int(after) if after.isascii() and after.isdigit() and len(after) < 7 else None
        wait = " later" if seconds is None else f" in {seconds} s"
        words = f"Slack takes no more calls just now: try again{wait}"
        asked_for = None if seconds is None else timedelta(seconds=seconds)
        return Refused("ratelimited", words, temporary=True, after=asked_for)
    data = getattr(response, "data", None)
    code = data.get("error") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(code, str) or not _CODE.fullmatch(code):
        return NoAnswer(f"what answered is not Slack, or makes no sense (HTTP {status})")
    needed = data.get("needed")
    if code == "missing_scope" and isinstance(needed, str) and _SCOPES.fullmatch(needed):
        words = f"{token} lacks the scope {needed}: add it to the app, and install the app again"
    else:
        words = _IN_WORDS.get(code, "Slack refuses").format(token=token, app=app)
    return Refused(code, words, temporary=code in _PASSING or (isinstance(status, int) and status >= 500))
