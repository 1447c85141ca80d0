"""Who is who: people of the directory in Slack, and people of Slack in the directory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from application.ports import Directory, UserEntry
from domain.callers import PersonCaller
from interfaces.slack.web_api import NoAnswer, Refused, by_bot

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

_LOOKING_UP = 2.0
"""Seconds at most for asking Slack who somebody is."""

_MOST_REMEMBERED, _REMEMBERED_SECONDS, _UNKNOWN_SECONDS = 1000, 3600.0, 60.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Account:
    """What Slack says of somebody; `ours` is whether they belong to this workspace, and are a person."""

    email: str | None
    ours: bool


class People:
    """Looks people up once, and remembers what was found for an hour."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._ids: _Remembered[str | None] = _Remembered()
        self._accounts: _Remembered[Account | None] = _Remembered()

    async def slack_id(self, client: AsyncWebClient, person: UserEntry) -> str | None:
        """What Slack calls this person. That it cannot be found out is no reason not to tell them."""
        if person.slack_user_id is not None or person.email is None:
            return person.slack_user_id
        of = (client.token or "", person.email.lower())
        if (known := self._ids.get(of)) is not None:
            return known[0]
        try:
            async with asyncio.timeout(_LOOKING_UP):
                answer = await by_bot(client.users_lookupByEmail(email=person.email))
        except Refused as refused:
            if refused.code != "users_not_found":
                return None
            id = None
        except (NoAnswer, TimeoutError):
            return None
        else:
            user = answer.get("user")
            id = user.get("id") if isinstance(user, dict) else None
            if not isinstance(id, str):
                return None
        self._ids.put(of, id, _REMEMBERED_SECONDS)
        return id

    async def caller(self, client: AsyncWebClient, slack_user: str, *, teams: frozenset[str]) -> PersonCaller | None:
        """Who of the directory this is, by the Slack id in their entry, or by their e-mail address; None for nobody.

        Nobody becomes somebody else by writing down another's Slack id: where the e-mail address says that it is
        another person's, it counts for neither. Who comes from outside of `teams` is known by their Slack id only,
        since anybody can be called anything there. Raises `NoAnswer` while it cannot be found out.
        """
        account = await self._account(client, slack_user, teams)
        entered = await self._directory.user_with_slack_id(slack_user)
        by_email = None
        if account is not None and account.ours and account.email:
            by_email = await self._directory.user_with_email(account.email)
        if by_email is not None and by_email != entered:
            entry = await self._directory.user(by_email)
            if entered is not None or entry is None or entry.slack_user_id is not None:
                return None
        found = entered or by_email
        return None if found is None else await self._directory.person(found)

    async def _account(self, client: AsyncWebClient, slack_user: str, teams: frozenset[str]) -> Account | None:
        """None where Slack does not let the app know."""
        of = (client.token or "", slack_user)
        if (known := self._accounts.get(of)) is not None:
            return known[0]
        try:
            async with asyncio.timeout(_LOOKING_UP):
                answer = await by_bot(client.users_info(user=slack_user))
        except Refused as refused:
            if refused.temporary:
                raise NoAnswer(str(refused)) from None
            self._accounts.put(of, None, _UNKNOWN_SECONDS)
            return None
        except TimeoutError:
            raise NoAnswer("Slack did not answer in time") from None
        user = answer.get("user")
        account = _account(user if isinstance(user, dict) else {}, teams)
        self._accounts.put(of, account, _REMEMBERED_SECONDS if account.email else _UNKNOWN_SECONDS)
        return account


def _account(user: dict[str, Any], teams: frozenset[str]) -> Account:
    profile, grid = user.get("profile"), user.get("enterprise_user")
    email = profile.get("email") if isinstance(profile, dict) else None
    of = {user.get("team_id"), grid.get("enterprise_id") if isinstance(grid, dict) else None}
    person = not any(user.get(flag) for flag in ("is_bot", "deleted", "is_stranger", "is_app_user"))
    return Account(email if isinstance(email, str) else None, person and not teams.isdisjoint(of))


class _Remembered(Generic[T]):
    """What was found out, for a time; what was found first is forgotten first."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], tuple[T, float]] = {}

    def get(self, of: tuple[str, str]) -> tuple[T] | None:
        """In a tuple, where it is known."""
        found = self._kept.get(of)
        return None if found is None or found[1] <= _now() else (found[0],)

    def put(self, of: tuple[str, str], value: T, seconds: float) -> None:
        self._kept.pop(of, None)
        while len(self._kept) >= _MOST_REMEMBERED:
            del self._kept[next(iter(self._kept))]
        self._kept[of] = (value, _now() + seconds)


def _now() -> float:
    return asyncio.get_running_loop().time()
