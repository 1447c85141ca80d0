"""Webhooks: administrators look after them, and what agents asked is reported there once it is closed.

A report is a due step, written in the transaction that closes the request and carried out by any replica. The call is
made without holding a transaction. A crash between the call and its record repeats the call, with the same id.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol
from uuid import UUID, uuid4

from application.directory import check_administrator, check_reader
from application.ports import Clock, Directory, DueStep, DueSteps, EventStore
from application.retries import until_saved
from domain.callers import Caller
from domain.errors import Conflict, NotFound
from domain.request import Request, instant
from domain.webhooks import Webhook, message_id, next_attempt, webhook_id

REPORT = "webhook"
"""The kind of due step that a report is; with the agent, as `webhook:<uuid>`."""

KEPT_FOR = timedelta(days=30)
"""How long the log has an attempt."""

_AT_ONCE = 64
_AT_ONCE_EACH = 8
"""Calls to one agent's receiver, so that one that hangs does not take the places of all others."""

_BEGUN_WITHIN_SECONDS = 8.0
"""A report that has waited longer for its turn is left to its next lease: a call must end within this one."""


def step_of(agent_id: UUID) -> str:
    """The due step of a report about a request of this agent."""
    return f"{REPORT}:{agent_id}"


Outcome = Literal["delivered", "failed", "given_up"]


@dataclass(frozen=True, slots=True, repr=False)
class WebhookEntry:
    """A webhook as it is, with the secrets that sign now, the newest first."""

    agent_id: UUID
    url: str
    enabled: bool
    created_at: datetime
    changed_at: datetime
    secrets: Sequence[str]
    previous_until: datetime | None

    def __repr__(self) -> str:
        """Without the secrets, and without the address: either may stand in no log."""
        return f"WebhookEntry(agent_id={self.agent_id}, …)"


@dataclass(frozen=True, slots=True)
class Answered:
    """What a receiver answered, or why it did not; `after` is what it asks to be left alone for."""

    status: int | None
    error: str | None
    duration: timedelta
    after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call that was made: the log's entry of it. `next_at` is when the next one comes."""

    agent_id: UUID
    request_id: UUID
    message_id: str
    number: int
    at: datetime
    status: int | None
    error: str | None
    duration: timedelta
    next_at: datetime | None
    id: int = 0

    @property
    def outcome(self) -> Outcome:
        if self.error is None:
            return "delivered"
        return "given_up" if self.next_at is None else "failed"


@dataclass(frozen=True, slots=True)
class ListedWebhook:
    """A webhook in the list of all, by the readable id of its agent; `last` is the newest attempt that is logged."""

    readable_id: str
    url: str
    enabled: bool
    last: Attempt | None


class StoredWebhooks(Protocol):
    """What all replicas know of webhooks, and the log of their calls."""

    async def page(self, after: str, limit: int) -> Sequence[ListedWebhook]:
        """All webhooks in the order of their agents' readable ids, from just after this one. Raises `Unavailable`."""
        ...

    async def of_agent(self, agent_id: UUID) -> WebhookEntry | None:
        """The webhook of this agent, as it is just now. Raises `Unavailable`."""
        ...

    async def attempts(self, request_id: UUID) -> int:
        """How many attempts were made to report this request, as far as the log goes back."""
        ...

    async def record(self, attempt: Attempt, step: DueStep) -> None:
        """Log an attempt, and have the next one made when it says; attempts of `KEPT_FOR` ago are forgotten.

        `step` is what it was made for: one that was made due anew meanwhile stays due.
        """
        ...

    async def make_due(self, agent_id: UUID, request_id: UUID) -> None:
        """Have this request, of this agent, reported now: whoever carries out what is due is told."""
        ...

    async def log(self, agent_id: UUID, before: int | None, limit: int) -> Sequence[Attempt]:
        """Attempts for this agent, the newest first, from just before the one with the id `before`."""
        ...


Send = Callable[[str, Sequence[str], str, bytes], Awaitable[Answered]]
"""Posts a body to a URL, signed with all of the secrets, under an id. Never raises for what the receiver does."""

Check = Callable[[str], Awaitable[None]]
"""Raises `Invalid` for a URL that nothing may be posted to."""

Represent = Callable[[Request], Awaitable[Mapping[str, Any]]]
"""A request as other programs read it; of a sealed answer only that it is there."""


class WebhookAdministration:
    """Administrators set webhooks, rotate their secrets, and see what became of reports; auditors see it, too.

    A secret is given out once, when it is made.
    """

    def __init__(
        self,
        store: EventStore,
        directory: Directory,
        stored: StoredWebhooks,
        check: Check,
        send: Send,
        new_secret: Callable[[], str],
        clock: Clock,
    ) -> None:
        self._store = store
        self._directory = directory
        self._stored = stored
        self._check = check
        self._send = send
        self._new_secret = new_secret
        self._clock = clock

    async def page(self, by: Caller, after: str, limit: int) -> Sequence[ListedWebhook]:
        """All webhooks by the readable ids of their agents, from just after this one. Raises `NotAllowed`."""
        check_reader(by)
        return await self._stored.page(after, limit)

    async def webhook(self, agent: str, by: Caller) -> WebhookEntry:
        """The agent's webhook. Raises `NotAllowed` or `NotFound`."""
        check_reader(by)
        return await self._webhook(agent, await self._agent(agent))

    async def set(self, agent: str, url: str, enabled: bool, by: Caller) -> tuple[WebhookEntry, str | None, int]:
        """Have the agent's webhook as said; returns it, its secret where that is new, and the position.

        Raises `NotAllowed`, `NotFound` for the agent, or `Invalid` for the URL.
        """
        actor = check_administrator(by)
        agent_id = await self._agent(agent)
        await self._check(url)

        async def attempt() -> tuple[str | None, int]:
            webhook = await self._store.webhook(webhook_id(agent_id))
            secret = self._new_secret() if webhook is None or webhook.removed else None
            now = self._clock.now()
            if webhook is None:
                webhook = Webhook.configure(agent_id, url, enabled, actor=actor, now=now)
            else:
                webhook.change(url, enabled, actor=actor, now=now)
            return secret, await self._save(agent, webhook, secret)

        secret, position = await until_saved(attempt, f"the webhook of agent {agent!r}")
        return await self._webhook(agent, agent_id), secret, position

    async def rotate(self, agent: str, by: Caller) -> tuple[WebhookEntry, str, int]:
        """Give it a new secret; the one before signs for another 24 h. Returns it, the new secret and the position.

        Raises `NotAllowed` or `NotFound`.
        """
        actor = check_administrator(by)
        agent_id = await self._agent(agent)

        async def attempt() -> tuple[str, int]:
            webhook = await self._present(agent, agent_id)
            secret = self._new_secret()
            webhook.rotate(actor=actor, now=self._clock.now())
            return secret, await self._save(agent, webhook, secret)

        secret, position = await until_saved(attempt, f"the webhook of agent {agent!r}")
        return await self._webhook(agent, agent_id), secret, position

    async def remove(self, agent: str, by: Caller) -> int:
        """Have the agent have none, and its secrets forgotten; returns the position.

        Raises `NotAllowed` or `NotFound`.
        """
        actor = check_administrator(by)
        agent_id = await self._agent(agent)

        async def attempt() -> int:
            webhook = await self._present(agent, agent_id)
            webhook.remove(actor=actor, now=self._clock.now())
            return await self._store.save(webhook)

        return await until_saved(attempt, f"the webhook of agent {agent!r}")

    async def test(self, agent: str, by: Caller) -> Answered:
        """Post a signed message that reports nothing. Raises `NotAllowed` or `NotFound`."""
        check_administrator(by)
        webhook = await self._webhook(agent, await self._agent(agent))
        body = _body("webhook.test", self._clock.now(), {"agent": agent})
        return await self._send(webhook.url, webhook.secrets, f"msg_test_{uuid4().hex}", body)

    async def log(self, agent: str, by: Caller, before: int | None, limit: int) -> Sequence[Attempt]:
        """Attempts, the newest first, from just before the one with the id `before`.

        They are there also when the webhook is not any more. Raises `NotAllowed` or `NotFound`.
        """
        check_reader(by)
        return await self._stored.log(await self._agent(agent), before, limit)

    async def redeliver(self, agent: str, request_id: UUID, by: Caller) -> int:
        """Have a closed request reported once more, now, under the same id; returns the position.

        Raises `NotAllowed`, `NotFound`, or `Conflict` where the request is open or the webhook switched off.
        """
        check_administrator(by)
        agent_id = await self._agent(agent)
        webhook = await self._webhook(agent, agent_id)
        request = await self._store.request(request_id)
        if request is None or request.asked.agent_id != agent_id:
            raise NotFound(f"agent {agent!r} has no request {request_id}")
        if request.is_open:
            raise Conflict(f"request {request_id} is still open: it is reported by itself once it is closed")
        if not webhook.enabled:
            raise Conflict(f"the webhook of agent {agent!r} is switched off: enable it first")
        await self._stored.make_due(agent_id, request_id)
        return await self._store.head()

    async def _agent(self, agent: str) -> UUID:
        agent_id = await self._directory.agent_id(agent)
        if agent_id is None:
            raise NotFound(f"there is no agent {agent!r}")
        return agent_id

    async def _webhook(self, agent: str, agent_id: UUID) -> WebhookEntry:
        webhook = await self._stored.of_agent(agent_id)
        if webhook is None:
            raise _none(agent)
        return webhook

    async def _present(self, agent: str, agent_id: UUID) -> Webhook:
        webhook = await self._store.webhook(webhook_id(agent_id))
        if webhook is None or webhook.removed:
            raise _none(agent)
        return webhook

    async def _save(self, agent: str, webhook: Webhook, secret: str | None) -> int:
        async def check() -> None:
            if not await self._directory.present([webhook.agent_id]):
                raise NotFound(f"there is no agent {agent!r}")

        return await self._store.save(webhook, webhook_secret=secret, check=check) or await self._store.head()


class Reports:
    """Makes the reports that are due."""

    def __init__(
        self,
        store: EventStore,
        stored: StoredWebhooks,
        due: DueSteps,
        represent: Represent,
        send: Send,
        clock: Clock,
        count: Callable[[Outcome], None],
    ) -> None:
        self._store = store
        self._stored = stored
        self._due = due
        self._represent = represent
        self._send = send
        self._clock = clock
        self._count = count
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._places_of: dict[UUID, asyncio.Semaphore] = {}

    async def make(self, step: DueStep, now: datetime) -> bool:
        """Report a closed request, whose report is due at `now`, and record how that went.

        False where it is to be tried again at another time. Raises `Unavailable`.
        """
        agent_id = UUID(step.step.removeprefix(f"{REPORT}:"))
        of_agent = self._places_of.setdefault(agent_id, asyncio.Semaphore(_AT_ONCE_EACH))
        waiting = asyncio.timeout(_BEGUN_WITHIN_SECONDS)
        try:
            async with waiting, of_agent, self._places:
                waiting.reschedule(None)  # it has its turn
                return await self._report(step, agent_id, now)
        except TimeoutError:
            if not waiting.expired():
                raise
            return True

    async def _report(self, step: DueStep, agent_id: UUID, now: datetime) -> bool:
        webhook = await self._stored.of_agent(agent_id)
        request = await self._store.request(step.request_id)
        if webhook is None or not webhook.enabled or request is None or request.is_open:
            await self._due.done(step)
            return True
        assert request.closing is not None
        number = await self._stored.attempts(request.id) + 1
        body = _body("request.closed", request.closing.timestamp, await self._represent(request))
        answered = await self._send(webhook.url, webhook.secrets, message_id(request), body)
        at = max(self._clock.now(), now)  # the lease went by the database's clock itself, a little ahead
        again = answered.error is not None and answered.status != _GONE
        attempt = Attempt(
            agent_id=agent_id,
            request_id=request.id,
            message_id=message_id(request),
            number=number,
            at=at,
            status=answered.status,
            error=answered.error,
            duration=answered.duration,
            next_at=next_attempt(request, number, at, answered.after) if again else None,
        )
        await self._stored.record(attempt, step)
        self._count(attempt.outcome)
        return attempt.next_at is None


_GONE = 410
"""The receiver wants to hear no more of this."""


def _body(type_: str, at: datetime, data: Mapping[str, Any]) -> bytes:
    message = {"type": type_, "timestamp": instant(at), "data": data}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def _none(agent: str) -> NotFound:
    return NotFound(f"agent {agent!r} has no webhook: set one with PUT")
