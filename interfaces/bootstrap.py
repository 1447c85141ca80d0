"""The first start: an administrator, an agent, and a key for each, so that two commands are enough to begin."""

from __future__ import annotations

import contextlib
import socket

from application.directory import DirectoryService
from application.keys import Keys
from domain.callers import AgentCaller, PersonCaller, Role
from domain.errors import AlreadyExists
from interfaces.credentials import Credentials, read_credentials, write_credentials
from interfaces.settings import Settings

ADMIN = "admin"
AGENT = "default"


async def ensure_credentials(directory: DirectoryService, keys: Keys, settings: Settings, *, admin_key: bool) -> bool:
    """Have the seeded directory, user `admin`, agent `default` and a `credentials.json` that works.

    Returns whether it was written now. Keys that no longer work (another database, revoked) are replaced: whoever can
    start the server on its database may have them. Who was removed from the directory is not brought back.
    """
    await directory.seed()
    with contextlib.suppress(AlreadyExists):
        await directory.add("user", {"name": "Administrator", "role": Role.ADMINISTRATOR}, by=None, id=ADMIN)
    with contextlib.suppress(AlreadyExists):
        await directory.add("agent", {"name": "Default agent"}, by=None, id=AGENT)
    found = read_credentials(settings.data_dir)
    needs_admin = admin_key and await keys.may_be_made_for(user=ADMIN)
    needs_agent = await keys.may_be_made_for(agent=AGENT)
    if (
        found is not None
        and (not needs_admin or await _speaks_for(keys, found.admin_key, PersonCaller))
        and (not needs_agent or await _speaks_for(keys, found.agent_key, AgentCaller))
    ):
        if found.url != settings.url:
            write_credentials(settings.data_dir, Credentials(settings.url, found.admin_key, found.agent_key))
        return False
    host = socket.gethostname()
    admin = agent = None
    if needs_admin:
        admin = (await keys.create(by=None, name=f"credentials.json admin {host}", user=ADMIN)).key
    if needs_agent:
        agent = (await keys.create(by=None, name=f"credentials.json agent {host}", agent=AGENT)).key
    write_credentials(settings.data_dir, Credentials(settings.url, admin, agent))
    return True


async def _speaks_for(keys: Keys, key: str | None, kind: type[PersonCaller] | type[AgentCaller]) -> bool:
    return key is not None and isinstance(await keys.authenticate(key), kind)
