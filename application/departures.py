"""People leave: what they were asked moves on to somebody else, with a recorded reason."""

from __future__ import annotations

from uuid import UUID

from application.bulk import all_of
from application.ports import EventStore, OpenRequests
from application.requests import Requests


class Departures:
    """Moves the open requests of people who can be asked no more; the step that plans it survives any crash."""

    def __init__(self, store: EventStore, requests: Requests, open_requests: OpenRequests) -> None:
        self._store = store
        self._requests = requests
        self._open_requests = open_requests

    async def move_on(self, user_id: UUID) -> bool:
        """Move all open requests of this person; False where more may be left, to be tried again later."""
        # Nothing is assigned to somebody after they left, so what the log holds by now is all there is; of many only
        # some are shown at a time, and the next ones only once it is seen that those have moved.
        done: set[UUID] = set()
        while True:
            ids, is_fresh = await self._open_requests.assigned_to(user_id, await self._store.head())
            if not (left := [id for id in ids if id not in done]):
                return is_fresh
            await all_of(self._requests.move_on(id, user_id) for id in left)
            done.update(left)
