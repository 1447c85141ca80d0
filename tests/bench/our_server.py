"""Handraise as a process of its own: `python -m tests.bench.our_server`, set up by `HANDRAISE_*`."""

from __future__ import annotations

import uvloop

from interfaces import logs
from interfaces.app import running
from interfaces.bootstrap import ensure_credentials
from interfaces.settings import Settings
from tests.bench.serving import raise_open_files, serve


async def main() -> None:
    settings = Settings()
    logs.configure(settings)
    async with running(settings) as app:
        await ensure_credentials(app.directory, settings, admin_key=True)
        await serve(app.api, settings.port)


if __name__ == "__main__":
    raise_open_files()
    uvloop.run(main())
