"""Which requests are open, as the read model behind the lists has them."""

from __future__ import annotations

from uuid import UUID

import psycopg

from interfaces.reads import Reads
from projections.request_list import RequestList, open_requests_of

_AT_ONCE = 500


class OpenRequestsOf:
    """Implements `application.ports.OpenRequests`."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    async def assigned_to(self, user_id: UUID, min_position: int) -> tuple[list[UUID], bool]:
        async def query(connection: psycopg.AsyncConnection) -> tuple[list[UUID], int]:
            return await open_requests_of(connection, user_id, _AT_ONCE)

        ids, position = await self._reads.read(RequestList.name, min_position, query)
        return ids, position >= min_position
