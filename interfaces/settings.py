"""All settings: read once from `HANDRAISE_*` (and the command line), then frozen. docs/reference/settings.md."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)(:(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)


class Settings(BaseSettings):
    """Every setting of the server, with its default. Sizes are bytes, durations seconds."""

    model_config = SettingsConfigDict(env_prefix="HANDRAISE_", frozen=True, extra="ignore")

    data_dir: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("handraise"),
        description="Where the embedded database, credentials.json and secret.key live.",
    )
    database_url: str | None = Field(
        None,
        description="A Postgres 15+ to use instead of the embedded one; a direct connection, not a pooler.",
    )
    host: str = Field("127.0.0.1", description="The address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="The port to listen on; 0 takes a free one.")
    public_url: str | None = Field(
        None, description="How people and agents reach this server, if not by host and port."
    )
    secret_key: SecretStr | None = Field(
        None,
        description="The master key: 32 bytes in urlsafe base64. Without it, the file secret.key is used.",
    )
    role: Literal["all", "web", "worker"] = Field(
        "all",
        description="What this server does: all, or one half of it beside others on the same database: web answers "
        "calls, worker does what time and events bring about.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="What is logged.")
    log_format: Literal["auto", "console", "json"] = Field(
        "auto", description="How it is logged: for a person at a terminal, or as JSON lines. auto looks."
    )

    max_body_bytes: int = Field(2 * 1024 * 1024, ge=1024, description="The largest body of an HTTP request.")
    max_message_bytes: int = Field(512 * 1024, ge=1, description="The largest message.")
    max_context_bytes: int = Field(512 * 1024, ge=1, description="The largest context.")
    max_schema_bytes: int = Field(64 * 1024, ge=1, description="The largest response schema or UI schema.")
    max_answer_bytes: int = Field(256 * 1024, ge=1, description="The largest answer.")
    max_metadata_bytes: int = Field(64 * 1024, ge=1, description="The largest metadata.")
    max_metadata_depth: int = Field(32, ge=1, le=100, description="The deepest nesting in metadata, in levels.")

    max_queued_writes: int = Field(10_000, ge=1, description="Writes that may wait for the database before 503.")
    database_pool_size: int = Field(8, ge=2, description="Connections for reading, at most.")
    sealed_answer_seconds: int = Field(
        24 * 3600, ge=60, description="How long an agent may take to collect a sealed answer."
    )
    acknowledge_grace_seconds: float = Field(
        300.0,
        ge=0,
        le=24 * 3600,
        allow_inf_nan=False,
        description="How long an agent may take to acknowledge an answer before the dashboard and the metrics count it "
        "as unacknowledged.",
    )
    look_again_seconds: float = Field(
        12.0,
        gt=0,
        description="How long silence from the database is trusted before the log is read unasked.",
    )
    allowed_hosts: str | None = Field(
        None,
        description="Names that this server answers to, separated by commas; `*` for any. Without it: its own address "
        "and this machine, or any name where it listens on all addresses and no PUBLIC_URL is set.",
    )
    cors_origins: str | None = Field(
        None, description="Origins whose pages may call the API with a key, separated by commas."
    )
    embed_origins: str | None = Field(
        None,
        description="Origins whose pages may hold pages of this server in a frame, separated by commas, like "
        "https://app.example.com; http only for this machine. Without it: none.",
    )
    calls_per_minute: int | None = Field(
        None, ge=1, description="Calls that each key or session may make a minute, on each replica."
    )
    session_seconds: int = Field(7 * 24 * 3600, ge=60, description="How long a person stays signed in.")
    oidc_issuer: str | None = Field(
        None, description="The issuer of an OpenID provider that people sign in with; its address."
    )
    oidc_client_id: str | None = Field(None, description="What the provider calls this server.")
    oidc_client_secret: SecretStr | None = Field(None, description="The secret that goes with it.")
    oidc_name: str = Field("your organisation", description="What the provider is called on the sign-in page.")
    push_delay_seconds: float = Field(
        0.0,
        ge=0,
        le=7 * 24 * 3600,
        allow_inf_nan=False,
        description="How long a request may be unanswered before browsers are told, where no strategy says.",
    )
    push_contact: str | None = Field(
        None,
        description="Where the people of a push service turn to, as mailto:… or https:…. Without it: PUBLIC_URL, "
        "where that is https, or handraise@ its host.",
    )
    push_allow_private: bool = Field(
        False,
        description="Whether browsers may name push services in private networks, and on this machine without https: "
        "for tests, and for a push server of one's own.",
    )
    webhook_allow_private: bool = Field(
        False,
        description="Whether webhooks may lead into private networks and to this machine, there also without https.",
    )
    notification_delay_seconds: float = Field(
        120.0,
        ge=0,
        le=7 * 24 * 3600,
        allow_inf_nan=False,
        description="How long a request may be unanswered before Slack is told, where no strategy says, until somebody "
        "stores another delay.",
    )
    slack_api_url: str = Field(
        "https://slack.com/api/", description="The base of Slack's Web API; the tokens are sent there."
    )
    stream_heartbeat_seconds: float = Field(
        15.0, gt=0, description="How often the live stream gives a sign of life when nothing happens."
    )
    mcp_progress_seconds: float = Field(
        10.0,
        gt=0,
        allow_inf_nan=False,
        description="How often an MCP call that waits tells its caller so, if the caller wants to know.",
    )
    stop_seconds: float = Field(10.0, gt=0, description="How long a graceful stop may take.")

    @field_validator("role")
    @classmethod
    def _halves_share_a_database(cls, value: str, others: ValidationInfo) -> str:
        if value != "all" and others.data.get("database_url") is None:
            raise ValueError(
                f"{value} is one half of a server, and no other can use its embedded database: set "
                "HANDRAISE_DATABASE_URL, the same for all of them, or leave the role away"
            )
        return value

    @field_validator("secret_key")
    @classmethod
    def _is_a_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            decode_key(value.get_secret_value())
        return value

    @field_validator("push_contact")
    @classmethod
    def _is_a_contact(cls, value: str | None) -> str | None:
        if value is not None and not (
            value.isascii() and re.fullmatch(r"mailto:[^\s@]+@[^\s@]+|https://[^\s/]+\S*", value)
        ):
            raise ValueError("a contact is mailto:somebody@example.com or https://example.com/contact")
        return value

    @field_validator("slack_api_url")
    @classmethod
    def _is_a_base(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("the base of an API is like https://slack.com/api/")
        return value.rstrip("/") + "/"

    @property
    def push_contact_or_default(self) -> str:
        """What push services are told to turn to."""
        if self.push_contact is not None:
            return self.push_contact
        if self.url.startswith("https://"):
            return self.url
        host = urlsplit(self.url).hostname or ""
        named = host.isascii() and host[-1:].isalpha() and ":" not in host
        return f"mailto:handraise@{host if named else 'localhost'}"

    @field_validator("embed_origins")
    @classmethod
    def _are_origins(cls, value: str | None) -> str | None:
        for origin in _listed(value or ""):
            if not is_origin(origin):
                raise ValueError(
                    f"{origin!r} is not an origin to embed in: write it like https://app.example.com, without a path;"
                    " http is for localhost only"
                )
        return value

    @property
    def allowed_host_names(self) -> tuple[str, ...] | None:
        """The names in `allowed_hosts`; None where it is not set."""
        return None if self.allowed_hosts is None else _listed(self.allowed_hosts)

    @property
    def cors_origin_list(self) -> tuple[str, ...]:
        """The origins in `cors_origins`."""
        return _listed(self.cors_origins or "")

    @property
    def embed_origin_list(self) -> tuple[str, ...]:
        """The origins in `embed_origins`."""
        return _listed(self.embed_origins or "")

    @property
    def url(self) -> str:
        """How to reach this server."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104  comparing, not binding
        return (self.public_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}").rstrip("/")


def is_origin(text: str) -> bool:
    """Whether this is an exact origin as a policy can name it: https, or http on this machine; a port if it has one."""
    found = _ORIGIN.fullmatch(text)
    if found is None or (found["port"] is not None and not 0 < int(found["port"]) < 65536):
        return False
    return found["scheme"] == "https" or found["host"] in ("localhost", "127.0.0.1")


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def decode_key(text: str) -> bytes:
    """The 32 bytes behind a master key in urlsafe base64. Raises `ValueError` that does not show the key."""
    try:
        key = base64.urlsafe_b64decode(text.strip() + "=" * (-len(text.strip()) % 4))
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != 32:
        raise ValueError("a master key is 32 bytes in urlsafe base64 (44 characters)")
    return key
