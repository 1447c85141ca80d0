"""The log is the eventsourcing library's own: a synchronous application of it reads what the server wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest
from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.persistence import Mapper
from psycopg.conninfo import conninfo_to_dict

from domain.callers import Role
from domain.directory import directory_id
from domain.request import Request, Status
from domain.users import User
from interfaces.credentials import master_key
from interfaces.postgres.sealing import MasterKey, SealingMapper
from tests.support.service import Service


class LibraryApplication(Application[UUID]):
    """Nothing but the library, with a mapper that opens sealed content."""

    name = "handraise"

    def __init__(self, conninfo: str, key: MasterKey) -> None:
        self._conninfo = conninfo
        self._master_key = key
        parts = conninfo_to_dict(conninfo)
        super().__init__(
            {
                "PERSISTENCE_MODULE": "eventsourcing.postgres",
                "POSTGRES_DBNAME": str(parts["dbname"]),
                "POSTGRES_HOST": str(parts["host"]),
                "POSTGRES_PORT": str(parts["port"]),
                "POSTGRES_USER": str(parts["user"]),
                "POSTGRES_PASSWORD": str(parts["password"]),
                "CREATE_TABLE": "no",
            }
        )

    def construct_mapper(self) -> Mapper[UUID]:
        return SealingMapper(key_of=self._data_key)

    def _data_key(self, id: UUID) -> bytes | None:
        with psycopg.connect(self._conninfo) as connection:
            row = connection.execute("SELECT wrapped FROM data_keys WHERE aggregate_id = %s", (id,)).fetchone()
        return None if row is None or row[0] is None else self._master_key.unwrap(row[0], id.bytes)


@contextmanager
def library(handraise: Service) -> Iterator[LibraryApplication]:
    application = LibraryApplication(handraise.app.conninfo, MasterKey(master_key(handraise.settings)))
    try:
        yield application
    finally:
        application.close()


async def test_the_library_reads_aggregates_and_notifications(handraise: Service) -> None:
    """The same aggregates at the same versions, the same notifications at the same positions."""
    answered = UUID((await handraise.ask(unique_id="first", message="Deploy?", context="the release"))["id"])
    reason = UUID((await handraise.ask(unique_id="second", message="Really?"))["id"])
    await handraise.admin.post(f"/api/requests/{answered}/reassign", json={"to": "admin", "note": "yours"})
    await handraise.admin.post(f"/api/requests/{answered}/respond", json={"text": "yes"})
    await handraise.agent.post(f"/api/requests/{reason}/cancel", json={"reason": "not needed"})
    store, head = handraise.app.store, await handraise.app.store.head()
    requests = {id: await store.request(id) for id in (answered, reason)}
    ours: dict[int, Any] = {}
    for id in [*requests, *(directory_id(*named) for named in (("user", "admin"), ("agent", "default")))]:
        ours |= dict(await store.history(id))

    def read() -> None:
        with library(handraise) as application:
            for id, request in requests.items():
                read: Request = application.repository.get(id)
                assert request is not None
                assert vars(read) | {"position": request.position} == vars(request)
                assert read.version == request.version
            first: Request = application.repository.get(answered)
            assert (first.asked.message, first.asked.context, first.status) == (
                "Deploy?",
                "the release",
                Status.RESPONDED,
            )
            asked_only: Request = application.repository.get(answered, version=1)
            assert (asked_only.status, asked_only.version) == (Status.REQUESTED, 1)
            user: User = application.repository.get(directory_id("user", "admin"))
            assert (user.readable_id, user.role) == ("admin", Role.ADMINISTRATOR)
            with pytest.raises(AggregateNotFoundError):
                application.repository.get(UUID(int=1))

            assert application.recorder.max_notification_id() == head
            notifications = [
                notification
                for start in range(1, head + 1, 10)
                for notification in application.notification_log.select(start=start, limit=10)
            ]
            assert [notification.id for notification in notifications] == list(range(1, head + 1))
            opened = {n.id: application.mapper.to_domain_event(n) for n in notifications}
            assert {position: opened[position] for position in ours} == ours
            assert [n.id for n in application.notification_log.select(start=head - 1, limit=10)] == [head - 1, head]

    await asyncio.to_thread(read)


async def test_the_library_reads_an_erased_request(handraise: Service) -> None:
    """Its facts, and None for its content."""
    id = UUID((await handraise.ask(message="Deploy?"))["id"])
    await handraise.agent.post(f"/api/requests/{id}/cancel", json={"reason": "not needed"})
    assert (await handraise.admin.post(f"/api/requests/{id}/erase")).status_code == 200

    def read() -> None:
        with library(handraise) as application:
            request: Request = application.repository.get(id)
            assert isinstance(request.closing, Request.Cancelled)
            assert (request.version, request.status, request.erased) == (3, Status.CANCELLED, True)
            assert (request.asked.message, request.closing.reason) == (None, None)

    await asyncio.to_thread(read)
