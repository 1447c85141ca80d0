"""All settings: read once from `HANDRAISE_*` (and the command line), then frozen. docs/reference/settings.md."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


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
    stream_heartbeat_seconds: float = Field(
        15.0, gt=0, description="How often the live stream gives a sign of life when nothing happens."
    )
    stop_seconds: float = Field(10.0, gt=0, description="How long a graceful stop may take.")

    @field_validator("secret_key")
    @classmethod
    def _is_a_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            decode_key(value.get_secret_value())
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
    def url(self) -> str:
        """How to reach this server."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104  comparing, not binding
        return (self.public_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}").rstrip("/")


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
