"""How Slack is set up: what is a fact of it, what is a secret, and what may be set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from eventsourcing.domain import BaseAggregate

from domain.errors import FieldError, Invalid
from domain.masking import is_masked, masked
from domain.recorded import RecordedCreation, RecordedEvent

CONFIGURATION_ID = UUID("0c2c9a1e-7c0f-5d38-9a53-6b1f8a4f7d21")
"""There is one configuration."""

TOKENS = {"bot_token": "xoxb-", "app_token": "xapp-"}
"""The secrets, each with how it begins."""

LONGEST_DELAY_SECONDS = 7 * 24 * 3600

_CHANNEL = re.compile(r"[CGD][A-Z0-9]{6,40}", re.ASCII)
_REST_OF_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,500}", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class SlackSettings:
    """All that is set, tokens included."""

    enabled: bool = False
    channel_id: str | None = None
    bot_token: str | None = None
    app_token: str | None = None
    notification_delay_seconds: float = 120.0
    """How long a request may be unanswered before Slack is told, where nothing else says."""

    def __repr__(self) -> str:
        """Without the tokens: it may stand in a log."""
        return f"SlackSettings(enabled={self.enabled}, channel_id={self.channel_id!r}, …)"

    @property
    def tokens(self) -> dict[str, str | None]:
        """Each token by its name."""
        return {"bot_token": self.bot_token, "app_token": self.app_token}

    @property
    def masked(self) -> SlackSettings:
        """The same, with nothing of a token but how it begins and ends."""
        shown = {name: token and masked(TOKENS[name], token) for name, token in self.tokens.items()}
        return replace(self, **shown)

    def changed(self, given: Mapping[str, Any], *, complete: bool) -> SlackSettings:
        """These settings with the fields given. A masked token stays as it is; null, or nothing, takes it away.

        `complete` is whether enabled settings must have all that Slack needs. Raises `Invalid` naming every field that
        fails; what it says has nothing of a token.
        """
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        errors: list[FieldError] = []
        for name, value in given.items():
            try:
                values[name] = self._read(name, value)
            except ValueError as error:
                errors.append(FieldError(name, str(error)))
        if complete and values["enabled"] is True:
            failed = {error.path for error in errors}
            errors += [
                FieldError(name, "must be given before Slack is enabled")
                for name in ("channel_id", *TOKENS)
                if values[name] is None and name not in failed
            ]
        if errors:
            raise Invalid(errors)
        return SlackSettings(**values)

    def _read(self, name: str, value: Any) -> Any:
        """The value of a field as it is kept. Raises `ValueError`."""
        if name == "enabled":
            if not isinstance(value, bool):
                raise ValueError("must be true or false")
            return value
        if name == "notification_delay_seconds":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_DELAY_SECONDS:
                raise ValueError(f"must be a number of seconds from 0 to {LONGEST_DELAY_SECONDS}")
            return float(value)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise ValueError("must be text")
        if name == "channel_id":
            if not _CHANNEL.fullmatch(value):
                raise ValueError("must be the id of a channel, like C0123456789: not its name")
            return value
        return self._read_token(name, value)

    def _read_token(self, name: str, value: str) -> str:
        prefix, stored = TOKENS[name], self.tokens[name]
        if is_masked(prefix, value):
            if stored is None:
                raise ValueError("is masked, and none is stored: give it whole")
            return stored
        if not value.startswith(prefix) or not _REST_OF_TOKEN.fullmatch(value, len(prefix)):
            raise ValueError(f"must begin with {prefix}, and go on with letters, digits and hyphens only")
        return value


class SlackConfiguration(BaseAggregate[UUID]):
    """The facts of how Slack is set up. The tokens themselves stand beside the log."""

    TOPIC = "handraise.SlackConfiguration"

    class Event(RecordedEvent):
        """Base of the events of the configuration."""

    class Configured(Event, RecordedCreation):
        """Slack was set up for the first time."""

        TOPIC = "handraise.SlackConfiguration.Configured"

        enabled: bool
        channel_id: str | None
        notification_delay_seconds: float
        tokens: list[str]
        tokens_changed: list[str]

    class Changed(Event):
        """Something about it is different from here on; all of it, as it is then."""

        TOPIC = "handraise.SlackConfiguration.Changed"

        enabled: bool
        channel_id: str | None
        notification_delay_seconds: float
        tokens: list[str]
        tokens_changed: list[str]

    @classmethod
    def configure(cls, before: SlackSettings, after: SlackSettings, *, actor: str, now: datetime) -> Self:
        """The first settings that are stored; `before` is what held without any."""
        return cls._create(cls.Configured, id=CONFIGURATION_ID, timestamp=now, actor=actor, **_facts(before, after))

    def change(self, before: SlackSettings, after: SlackSettings, *, actor: str, now: datetime) -> None:
        """Other settings; nothing happens where they are the same."""
        if before != after:
            self.trigger_event(self.Changed, timestamp=now, actor=actor, **_facts(before, after))


def changed_tokens(before: SlackSettings, after: SlackSettings) -> dict[str, str | None]:
    """The tokens that are others than before, None for one that is no more."""
    return {name: token for name, token in after.tokens.items() if token != before.tokens[name]}


def _facts(before: SlackSettings, after: SlackSettings) -> dict[str, Any]:
    return {
        "enabled": after.enabled,
        "channel_id": after.channel_id,
        "notification_delay_seconds": after.notification_delay_seconds,
        "tokens": [name for name, token in after.tokens.items() if token is not None],
        "tokens_changed": list(changed_tokens(before, after)),
    }
