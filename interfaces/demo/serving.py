"""The demo's server: cut off from every other installation, with its agents in the same event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from interfaces.credentials import read_credentials
from interfaces.demo.agent import Pace
from interfaces.demo.stage import perform
from interfaces.server import Announce, CannotListen, run
from interfaces.settings import Settings


class DemoSettings(Settings):
    """Settings that heed no `HANDRAISE_*`: they may name a real database, a real address, a real Slack."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def serve_demo(
    data_dir: Path, port: int | None, pace: Pace, announce: Announce, print_line: Callable[[str], None]
) -> bool:
    """Serve on this machine only until SIGTERM or Ctrl-C; whether it ended in good order.

    `port` None is 8000, or a free one where that is taken. Raises what `interfaces.server.run` raises.
    """
    playing: set[asyncio.Task[None]] = set()

    def begin(settings: Settings, link: str | None) -> None:
        announce(settings, link)
        credentials = read_credentials(settings.data_dir)
        assert credentials is not None
        assert credentials.admin_key is not None
        # Cancelled when the server has stopped and its event loop is closed.
        playing.add(asyncio.create_task(perform(settings.url, credentials.admin_key, pace, print_line)))

    def serve(port: int) -> bool:
        own: dict[str, Any] = {"data_dir": data_dir, "port": port, "log_level": "warning", "stop_seconds": 5.0}
        return run(DemoSettings(**own), admin_key=True, announce=begin)

    if port is not None:
        return serve(port)
    try:
        return serve(8000)
    except CannotListen:
        return serve(0)
