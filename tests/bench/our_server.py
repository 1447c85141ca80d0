"""Handraise as a process of its own: `python -m tests.bench.our_server`, set up by `HANDRAISE_*`."""

from __future__ import annotations

import uvloop

from interfaces.server import serve
from interfaces.settings import Settings

if __name__ == "__main__":
    uvloop.run(serve(Settings(), admin_key=True))
