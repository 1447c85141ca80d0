"""The use cases of a request: ask, read, wait, respond, move to somebody else, cancel, collect, erase, expire."""

from __future__ import annotations

import asyncio
import copy
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID, uuid4

from application.ports import Clock, DeadlinePassed, Directory, EventStore, Schemas, VersionConflict
from application.retries import ATTEMPTS, until_saved
from application.waits import Waits
from domain.answers import (
    ABSENT,
    Answer,
    Labels,
    Question,
    check_question,
    default_type,
    is_sealed,
    read_answer,
    read_text,
)
from domain.assignment import Decision, fall_back
from domain.callers import AgentCaller, Caller, PersonCaller, Via
from domain.errors import (
    AlreadyExists,
    AmbiguousId,
    FieldError,
    Gone,
    Invalid,
    NotAllowed,
    NotFound,
    Refusal,
    TooLarge,
    Unavailable,
)
from domain.escalation import errors_in_strategy
from domain.recorded import RecordedEvent
from domain.request import NO_CHANNELS, NO_SUCH_REQUEST, Request, request_id
from domain.request_types import find_request_type
from domain.routing import Facts, RequestTypeFacts, Routed, Subject, back_to_list, follow, resolve
from domain.strategies import Parsed, Strategy, parse
from domain.text import is_blank, json_depth, json_size, text_errors
from domain.unique_ids import unique_id_errors

T = TypeVar("T")

_UI_SCHEMA_DEPTH = 100
"""As deep as a response schema may be; far deeper, a stored request could not be read again."""

_DEFAULT_PRIORITY = 50
_SHORTEST_LIFETIME = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes of UTF-8; what is larger is refused with `TooLarge`."""

    message: int = 512 * 1024
    context: int = 512 * 1024
    schema: int = 64 * 1024
    answer: int = 256 * 1024
    metadata: int = 64 * 1024
    depth: int = 32
    """Levels of nesting in metadata."""
    lifetime: timedelta = timedelta(days=3650)
    """How far ahead a deadline may lie."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What an agent asks, as it said it."""

    message: str
    unique_id: str | None = None
    context: str | None = None
    request_type: str | None = None
    response_schema: dict[str, Any] | None = None
    ui_schema: dict[str, Any] | None = None
    options: list[str] | None = None
    labels: dict[str, str] | None = None
    run_id: str | None = None
    run_step_id: str | None = None
    run_user: str | None = None
    priority: int | None = None
    expires_in: timedelta | None = None
    expires_at: datetime | None = None
    secret: bool = False
    metadata: dict[str, Any] | None = None
    assignment_strategy: Any = None


@dataclass(frozen=True, slots=True)
class Explained:
    """What would become of a request that is asked now."""

    decision: Decision
    priority: int
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person answers: `text`, `data` or both; or, as `free`, one line of text to be understood."""

    text: str | None = None
    data: Any = ABSENT
    free: bool = False


class Requests:
    """All that can be done with a request. The caller is who the credential says, never who the body says."""

    def __init__(
        self,
        store: EventStore,
        directory: Directory,
        schemas: Schemas,
        waits: Waits,
        clock: Clock,
        *,
        limits: Limits,
        keep_sealed_for: timedelta,
        channels: Callable[[], Mapping[str, timedelta]],
    ) -> None:
        self._store = store
        self._directory = directory
        self._schemas = schemas
        self._waits = waits
        self._clock = clock
        self._limits = limits
        self._keep_sealed_for = keep_sealed_for
        self._channels = channels

    # -- asking

    async def ask(self, ask: Ask, by: Caller) -> tuple[Request, bool]:
        """Create the request, or find the one already asked under this `unique_id`; the flag says which.

        Raises `NotAllowed`, `Invalid`, `TooLarge`, or `AlreadyExists` where the id names other content.
        """
        if not isinstance(by, AgentCaller):
            raise NotAllowed("only an agent's key may create a request; make one with: handraise key create")
        question, sealed = await self._question(ask)
        run_user, unknown = None, None
        try:
            run_user = await self._run_user(ask, by)
        except Invalid as error:  # no reason to refuse what was asked before they left
            unknown = error
        subject = _subject(ask, by.id, question, run_user)
        unique_id = ask.unique_id if ask.unique_id is not None else str(uuid4())
        self._deadline(ask, self._clock.now())

        def made(
            now: datetime,
            decision: Decision,
            priority: int,
            expires_at: datetime | None,
            of_type: Strategy | None = None,
            channels: Mapping[str, timedelta] = NO_CHANNELS,
            erase_after: timedelta | None = None,
        ) -> Request:
            return Request.ask(
                by=by,
                now=now,
                unique_id=unique_id,
                question=question,
                sealed=sealed,
                message=ask.message,
                decision=decision,
                priority=priority,
                context=ask.context,
                ui_schema=ask.ui_schema,
                labels=ask.labels,
                run_id=ask.run_id,
                run_step_id=ask.run_step_id,
                run_user=run_user,
                expires_at=expires_at,
                metadata=ask.metadata,
                of_type=of_type,
                channels=channels,
                erase_after=erase_after,
            )

        def make(facts: Facts, now: datetime) -> Request:
            if unknown is not None:
                raise unknown
            explained = self._explained(ask, subject, facts, now)
            of_type = facts.request_types.get(subject.request_type, RequestTypeFacts())
            return made(
                now,
                explained.decision,
                explained.priority,
                explained.expires_at,
                of_type.strategy.strategy,
                self._channels(),
                None if of_type.erase_after_days is None else timedelta(days=of_type.erase_after_days),
            )

        id = request_id(by.id, unique_id)
        for _ in range(ATTEMPTS):
            try:
                return await self._store.save_routed(id, 0, subject, make, size=_weight(ask)), True
            except (VersionConflict, Invalid) as error:
                # A deadline may have passed: an agent that comes back after it still gets what became of its request.
                existing = await self._store.request(id)
                if existing is not None:
                    repeat = made(self._clock.now(), fall_back(run_user), 50, None)
                    return _the_same(existing, repeat, by), False
                if isinstance(error, Invalid):
                    raise
                # The one that was first is still being written: behind it this one finds out what became of it.
        raise Unavailable("the request could not be created just now; ask again")

    async def explain(self, ask: Ask, by: Caller, agent: str | None = None) -> Explained:
        """Who would be asked, and why, by the same code; nothing is created.

        Raises `NotAllowed`, `Invalid` or `TooLarge` as `ask` does.
        """
        if isinstance(by, AgentCaller):
            if agent is not None:
                raise Invalid([FieldError("agent", "only administrators and auditors may name another agent")])
            agent_id = by.id
        elif not by.sees_everything:
            raise NotAllowed("only agents, administrators and auditors may ask who would be asked")
        else:
            found = None if agent is None else await self._directory.agent_id(agent)
            if found is None:
                said = "is required: whose request it would be" if agent is None else f"there is no agent {agent!r}"
                raise Invalid([FieldError("agent", said)])
            agent_id = found
        question, _ = await self._question(ask)
        run_user = await self._run_user(ask, by)
        subject = _subject(ask, agent_id, question, run_user)
        self._deadline(ask, self._clock.now())
        facts, now = await self._store.facts(subject)
        return self._explained(ask, subject, facts, now)

    def _explained(self, ask: Ask, subject: Subject, facts: Facts, now: datetime) -> Explained:
        of_type = facts.request_types.get(subject.request_type)
        if of_type is not None and of_type.no_self_answer and subject.run_user is None:
            raise Invalid([FieldError("run_user", f"is required: nobody may answer their own {subject.request_type}")])
        routed = resolve(subject, facts, now)
        priority = next(each for each in (ask.priority, routed.priority, _DEFAULT_PRIORITY) if each is not None)
        return Explained(routed.decision, priority, self._expires_at(ask, routed, now))

    def _expires_at(self, ask: Ask, routed: Routed, now: datetime) -> datetime | None:
        deadline = self._deadline(ask, now)
        return now + routed.lifetime if deadline is None and routed.lifetime is not None else deadline

    async def _question(self, ask: Ask) -> tuple[Question, bool]:
        self._check_sizes(ask)
        errors = _text_errors(ask)
        type_id = None
        if ask.request_type is None:
            type_id = default_type(ask.response_schema, None if ask.options is None else tuple(ask.options))
        else:
            type_id = find_request_type(ask.request_type) or await self._directory.request_type_id(ask.request_type)
            if type_id is None:
                known = [entry.readable_id for entry in await self._directory.request_types("", 50)]
                errors.append(FieldError("request_type", f"must be one of {', '.join(known)}"))
        question = Question(
            request_type=type_id or "clarification",  # an unknown type is an error already
            response_schema=ask.response_schema,
            options=None if ask.options is None else tuple(ask.options),
            labels=Labels(**(ask.labels or {})),
            secret=ask.secret,
        )
        errors += check_question(question)
        if ask.response_schema is not None and not errors:
            errors += [
                FieldError(f"response_schema/{error.path}".rstrip("/"), error.message)
                for error in self._schemas.check(ask.response_schema)
            ]
        if errors:
            raise Invalid(errors)
        return question, is_sealed(question)

    def _check_sizes(self, ask: Ask) -> None:
        limits = self._limits
        for name, value, limit in (
            ("message", ask.message, limits.message),
            ("context", ask.context, limits.context),
            ("response_schema", ask.response_schema, limits.schema),
            ("ui_schema", ask.ui_schema, limits.schema),
            ("metadata", ask.metadata, limits.metadata),
        ):
            if value is not None and (size := _size(value)) > limit:
                raise TooLarge(f"{name} has {size} bytes; at most {limit} are allowed")
        for name, value, most in (
            ("ui_schema", ask.ui_schema, _UI_SCHEMA_DEPTH),
            ("metadata", ask.metadata, limits.depth),
        ):
            if value is not None and (depth := json_depth(value)) > most:
                raise Invalid([FieldError(name, f"is nested {depth} levels deep; at most {most} are allowed")])

    async def _run_user(self, ask: Ask, by: Caller) -> UUID | None:
        bound_to = by.run_user if isinstance(by, AgentCaller) else None
        if ask.run_user is None:
            return bound_to
        run_user = await self._directory.user_id(ask.run_user)
        if run_user is None:
            raise Invalid([FieldError("run_user", f"there is no active user {ask.run_user!r}")])
        if bound_to not in (None, run_user):
            raise NotAllowed("this key is bound to another run_user; leave run_user out or use that person's key")
        return run_user

    def _deadline(self, ask: Ask, now: datetime) -> datetime | None:
        if ask.expires_in is not None and ask.expires_at is not None:
            raise Invalid([FieldError("expires_at", "give either expires_at or expires_in_seconds, not both")])
        latest = now + self._limits.lifetime
        if ask.expires_in is not None:
            if ask.expires_in > self._limits.lifetime:
                raise Invalid([FieldError("expires_in_seconds", self._too_far())])
            if ask.expires_in < _SHORTEST_LIFETIME:
                raise Invalid([FieldError("expires_in_seconds", "must be at least 0.001")])
            return now + ask.expires_in
        if ask.expires_at is not None and ask.expires_at > latest:
            raise Invalid([FieldError("expires_at", self._too_far())])
        return ask.expires_at

    def _too_far(self) -> str:
        return f"may lie at most {self._limits.lifetime.days} days ahead"

    # -- reading

    async def find(self, id_or_unique_id: str, by: Caller) -> UUID:
        """The request meant: its UUID; an agent's own `unique_id`; for people one that is unique among agents.

        Raises `NotFound`, or `AmbiguousId` listing the agents.
        """
        id = _canonical_uuid(id_or_unique_id)
        if id is not None and id.version == 5:  # requests have version 5; `_load` tries the other meaning on a miss
            return id
        return await self._named(id_or_unique_id, by)

    async def find_called(self, unique_id: str, by: Caller, agent: str | None = None) -> UUID:
        """The request called `unique_id`, of the named agent where one is named. Raises as `find` does."""
        if agent is None:
            return await self._named(unique_id, by)
        agent_id = await self._directory.agent_id(agent, active=False)
        if agent_id is None:
            raise NotFound(f"there is no agent {agent!r}")
        return request_id(agent_id, unique_id)

    async def _named(self, unique_id: str, by: Caller) -> UUID:
        if isinstance(by, AgentCaller):
            return request_id(by.id, unique_id)
        named = await self._directory.requests_called(unique_id)
        if not named:
            raise NotFound(f"there is no request {unique_id!r}")
        if len(named) > 1:
            names = await self._directory.readable_ids(agent for _, agent in named)
            agents = ", ".join(sorted(names.values()))
            raise AmbiguousId(f"{unique_id!r} was asked by several agents ({agents}): name one as agent, or use the id")
        return named[0][0]

    async def get(self, id: UUID, by: Caller) -> Request:
        """The request. Raises `NotFound` or `NotAllowed`."""
        request = await self._load(id, by)
        request.check_may_read(by)
        return request

    async def history(self, id: UUID, by: Caller) -> tuple[Request, list[tuple[int, RecordedEvent]]]:
        """The request and all its events, each with its position. Raises `NotFound` or `NotAllowed`."""
        request = await self.get(id, by)
        return request, await self._store.history(request.id)

    async def wait(self, id: UUID, by: Caller, seconds: float, gone: asyncio.Future[None] | None = None) -> Request:
        """The request as soon as it is closed, or as it stands when the time is up. Changes nothing.

        `gone` is done when the caller has gone away: the wait ends then. Raises `NotFound` or `NotAllowed`.
        """
        with self._waits.register(id) as closed:
            request = await self.get(id, by)
            if not request.is_open or seconds <= 0:
                return request
            if request.id != id:
                return await self.wait(request.id, by, seconds, gone)
            # Only the id is held while waiting: ten thousand waits must not hold ten thousand messages.
            del request
            ends = (closed,) if gone is None else (closed, gone)
            await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            request = closed.result() if closed.done() else None
        if request is None:
            return await self.get(id, by)
        request.check_may_read(by)
        return request

    async def _load(self, id: UUID, by: Caller) -> Request:
        request = await self._own(id, by)
        if request is None:  # no such id: then the text is a `unique_id` that looks like one
            request = await self._own(await self._named(str(id), by), by)
        if request is None:
            raise NotFound(NO_SUCH_REQUEST if isinstance(by, AgentCaller) else f"there is no request {id}")
        return request

    async def _own(self, id: UUID, by: Caller) -> Request | None:
        """The request; to an agent, another's request is as good as none."""
        request = await self._store.request(id)
        if request is not None and isinstance(by, AgentCaller) and not request.may_read(by):
            return None
        return request

    # -- answering and ending

    async def respond(self, id: UUID, reply: Reply, by: Caller, via: Via) -> Request:
        """Accept the first answer; the same answer again by the same person is a success.

        Raises `NotFound`, `NotEligible`, `AlreadyClosed`, `Invalid` or `TooLarge`.
        """
        size = _size(reply.text or "") + (0 if reply.data is ABSENT else _size(reply.data))
        if size > self._limits.answer:
            raise TooLarge(f"the answer has {size} bytes; at most {self._limits.answer} are allowed")

        def read(question: Question) -> Answer:
            if reply.free:
                return read_text(question, reply.text or "", self._schemas)
            return read_answer(question, text=reply.text, data=reply.data, validator=self._schemas)

        async def decide(request: Request, now: datetime) -> Answer | None:
            earlier = None
            if request.asked.sealed and not request.is_open:
                earlier = await self._store.sealed_answer(request.id)
            return request.respond(
                read, by=by, via=via, now=now, earlier=earlier, keep_sealed_for=self._keep_sealed_for
            )

        def sealed(request: Request, answer: Answer | None) -> Answer | None:
            return answer if request.asked.sealed else None

        return (await self._change(id, by, decide, sealed))[0]

    async def refuse_stranger(self, id: UUID, stranger: str, via: Via) -> None:
        """Record that somebody tried to answer whom the directory does not know, by what their channel calls them."""

        async def attempt() -> None:
            request = await self._store.request(id)
            if request is not None:
                request.refuse_stranger(stranger, via, self._clock.now())
                await self._store.save(request)

        await until_saved(attempt, f"request {id}")

    async def cancel(self, id: UUID, by: Caller, reason: str | None) -> Request:
        """Withdraw the request. Raises `NotFound`, `NotAllowed` or `AlreadyClosed`."""
        _check_text("reason", reason)

        async def decide(request: Request, now: datetime) -> None:
            request.cancel(by=by, now=now, reason=reason)

        return (await self._change(id, by, decide))[0]

    # -- moving

    async def claim(self, id: UUID, by: Caller, note: str | None) -> Request:
        """Take it out of a shared inbox. Raises `NotFound`, `NotAllowed`, `AlreadyClosed` or `AlreadyClaimed`."""
        _check_text("note", note)

        def decide(request: Request, facts: Facts, now: datetime) -> None:
            request.claim(by=by, now=now, note=note)
            if not facts.may_be_asked(by.id):  # since the key was looked at
                raise NotAllowed("you are not active any more, or audit only")

        return await self._move(id, by, decide, by.id)

    async def release(self, id: UUID, by: Caller, note: str | None) -> Request:
        """Put it back into the shared inbox. Raises `NotFound`, `NotAllowed`, `AlreadyClosed` or `Conflict`."""
        _check_text("note", note)

        async def decide(request: Request, now: datetime) -> None:
            request.release(by=by, now=now, note=note)

        return (await self._change(id, by, decide))[0]

    async def delegate(self, id: UUID, to: str, by: Caller, note: str | None) -> Request:
        """The person asked hands it to another. Raises `NotFound`, `NotAllowed`, `AlreadyClosed` or `Invalid`."""
        _check_text("note", note)
        to_id = await self._person(to)

        def decide(request: Request, facts: Facts, now: datetime) -> None:
            _check_may_be_asked(to_id, to, facts)
            request.delegate(to=to_id, by=by, now=now, note=note)

        return await self._move(id, by, decide, to_id)

    async def reassign(
        self, id: UUID, to: str | None, by: Caller, note: str | None, to_list: str | None = None
    ) -> Request:
        """Hand it to a person, into the shared inbox of a list or, with neither, to whom routing names now.

        Raises `NotFound`, `NotAllowed`, `AlreadyClosed` or `Invalid`.
        """
        _check_text("note", note)
        if not (isinstance(by, PersonCaller) and by.administers):  # before it is said which names there are
            await self.get(id, by)
            raise NotAllowed("only an administrator may reassign a request")
        if to is not None and to_list is not None:
            raise Invalid([FieldError("list", "give either to or list, not both")])
        if to is not None:
            to_id = await self._person(to)

            def to_person(request: Request, facts: Facts, now: datetime) -> None:
                _check_may_be_asked(to_id, to, facts)
                request.reassign(to=to_id, by=by, now=now, note=note)

            return await self._move(id, by, to_person, to_id)
        if to_list is not None:
            list_id = await self._directory.list_id(to_list)
            if list_id is None:
                raise Invalid([FieldError("list", f"there is no list {to_list!r}")])

            def into_list(request: Request, facts: Facts, now: datetime) -> None:
                if list_id not in facts.lists:
                    raise Invalid([FieldError("list", f"there is no list {to_list!r}")])
                request.reassign(to_list=list_id, by=by, now=now, note=note)

            return await self._move(id, by, into_list, list_id)

        def afresh(request: Request, facts: Facts, now: datetime) -> None:
            request.route_again(resolve(request.subject, facts, now).decision, by=by, now=now, note=note)

        return await self._move(id, by, afresh)

    async def move_on(self, id: UUID, from_user: UUID) -> None:
        """The person asked is not there any more: it goes where routing says now, unless they are back."""

        def decide(request: Request, facts: Facts, now: datetime) -> None:
            if request.assigned_to == from_user and not facts.may_be_asked(from_user):
                decision = None
                if request.assigned_list is not None:
                    decision = back_to_list(request.assigned_list, facts, now, request.excluded)
                request.move_on(decision or resolve(request.subject, facts, now).decision, now=now)

        request = await self._store.request(id)
        if request is not None and request.is_open:
            await self._move(id, None, decide, from_user)

    async def _person(self, to: str) -> UUID:
        to_id = await self._directory.user_id(to)
        if to_id is None:
            raise Invalid([FieldError("to", f"there is no active user {to!r}")])
        return to_id

    async def _move(
        self,
        id: UUID,
        by: Caller | None,
        decide: Callable[[Request, Facts, datetime], None],
        *also: UUID,
        subject_of: Callable[[Request], Subject] = lambda request: request.subject,
    ) -> Request:
        """Load, decide while nobody else can write, save; again from the start when somebody else was first.

        `subject_of` says what facts are needed for, `also` which people and lists besides.
        """

        async def attempt() -> Request:
            present = await (self._load(id, by) if by is not None else self._store.request(id))
            if present is None:
                raise NotFound(f"there is no request {id}")

            def make(facts: Facts, now: datetime) -> Request:
                moved = copy.deepcopy(present)
                decide(moved, facts, now)
                return moved

            lists = () if present.assigned_list is None else (present.assigned_list,)
            try:
                return await self._store.save_routed(
                    present.id, present.version, subject_of(present), make, also=(*also, *lists)
                )
            except Refusal:
                await self.expire(present.id, self._clock.now())  # a lapse that was found out on the way
                raise

        return await until_saved(attempt, f"request {id}")

    # -- time

    async def expire(self, id: UUID, now: datetime) -> None:
        """Carry out the deadline that has come by the database's time `now`."""
        for _ in range(ATTEMPTS):
            request = await self._store.request(id)
            if request is None:
                return
            request.expire(now=now)
            with suppress(VersionConflict):  # somebody was first; unless that closed it, it is due still
                await self._store.save(request)
                return

    async def erase_as_planned(self, id: UUID, now: datetime) -> bool:
        """Carry out the erasure that has come by the database's time `now`; False where there is none to come."""

        async def attempt() -> bool:
            request = await self._store.request(id)
            if request is None or request.erase_due is None:
                return False
            request.erase_as_planned(now=now)
            await self._store.save(request)
            return True

        return await until_saved(attempt, f"request {id}")

    async def escalate(self, id: UUID) -> bool:
        """Carry out the step of the ladder that is due, decided while nobody else can write.

        False where no step is left to come, or the request is closed.
        """

        def decide(request: Request, facts: Facts, now: datetime) -> None:
            rung, step = request.timetable.rung, request.timetable.rung_step
            if rung is not None and step is not None:
                request.escalate(follow(rung.to, request.subject, facts, now), step=step, now=now)

        request = await self._store.request(id)
        if request is None or not request.is_open or request.timetable.rung is None:
            return False
        await self._move(id, None, decide, subject_of=_next_on_the_ladder)
        return True

    async def snooze(
        self, id: UUID, by: Caller, *, until: datetime | None = None, seconds: float | None = None
    ) -> Request:
        """Put it out of the caller's inbox until then, or for so long; neither brings it back.

        Raises `NotFound`, `NotAllowed`, `AlreadyClosed`, `Conflict` or `Invalid`.
        """

        async def decide(request: Request, now: datetime) -> None:
            end = until if seconds is None else now + timedelta(seconds=seconds)
            request.snooze(end, by=by, now=now)

        return (await self._change(id, by, decide))[0]

    # -- what the agent does with the answer

    async def collect(self, id: UUID, receipt: str, by: Caller) -> tuple[Request, Answer]:
        """The sealed answer, for the agent and its receipt.

        Raises `NotFound`, `NotAllowed`, `NotAnswered`, `Conflict` or `Gone`.
        """
        hashed = _hash_receipt(receipt)

        async def decide(request: Request, now: datetime) -> Answer | None:
            answer = await self._store.sealed_answer(request.id) if not request.is_open else None
            request.collect(hashed, by=by, now=now)
            return answer

        request, answer = await self._change(id, by, decide)
        if answer is None:
            raise Gone("the answer is no longer kept")
        return request, answer

    async def acknowledge(self, id: UUID, receipt: str | None, by: Caller) -> Request:
        """The agent has the answer and used it; a sealed one, which needs its receipt, is shredded.

        Raises `NotFound`, `NotAllowed`, `NotAnswered`, `AlreadyClosed`, `Invalid`, `Conflict` or `Gone`.
        """
        hashed = None if receipt is None else _hash_receipt(receipt)

        async def decide(request: Request, now: datetime) -> None:
            request.acknowledge(hashed, by=by, now=now)

        return (await self._change(id, by, decide))[0]

    async def erase(self, id: UUID, by: Caller) -> Request:
        """Make the content unreadable for good. Raises `NotFound`, `NotAllowed` or `Conflict`."""

        async def decide(request: Request, now: datetime) -> None:
            request.erase(by=by, now=now)

        request, _ = await self._change(id, by, decide)
        return await self._load(request.id, by)  # as it now reads, without its content

    # -- load, decide, save

    async def _change(
        self,
        id: UUID,
        by: Caller,
        decide: Callable[[Request, datetime], Awaitable[T]],
        sealed: Callable[[Request, T], Answer | None] = lambda request, result: None,
    ) -> tuple[Request, T]:
        """Load, decide, save; again from the start when somebody else was first.

        What a refusal found out on its way (a lapse, a refused attempt) is saved before it is passed on, unless very
        many are refused at once.
        """
        latest: datetime | None = None
        refused: Refusal | None = None
        for _ in range(ATTEMPTS):
            request = await self._load(id, by)
            refused = None
            now = self._clock.now() if latest is None else max(latest, self._clock.now())
            try:
                try:
                    result = await decide(request, now)
                except Refusal as refusal:
                    refused = refusal
                    await self._store.save(request)
                    raise
                await self._store.save(
                    request,
                    before=request.asked.expires_at if _must_beat_deadline(request) else None,
                    sealed_answer=sealed(request, result),
                    committed=None if request.is_open else partial(self._waits.closed, request.id, request),
                )
            except VersionConflict:
                continue
            except DeadlinePassed as passed:
                latest = passed.now
                continue
            return request, result
        if refused is not None:
            raise refused
        raise Unavailable(f"request {id} is being changed by many at once; nothing was changed, try again")


def _the_same(existing: Request, repeat: Request, by: AgentCaller) -> Request:
    """The request that is there already. Raises `AlreadyExists` where the repeat is not the same."""
    if not existing.may_read(by) or not existing.asks_the_same(repeat):
        raise AlreadyExists(
            f"feedback request already exists: {repeat.asked.unique_id!r} was asked with other content; "
            "use another unique_id, or send the same content to get the same request"
        )
    return existing


def _subject(ask: Ask, agent_id: UUID, question: Question, run_user: UUID | None) -> Subject:
    return Subject(agent_id, question.request_type, run_user, parse(ask.assignment_strategy))


def _next_on_the_ladder(request: Request) -> Subject:
    """As if the request had come with the strategy of its next step."""
    rung = request.timetable.rung
    return request.subject if rung is None else replace(request.subject, strategy=Parsed(rung.to))


def _weight(ask: Ask) -> int:
    """About how many bytes this is, for the size of what is written at once."""
    return 2048 + sum(len(text) for text in (ask.message, ask.context or ""))


def _check_may_be_asked(id: UUID, name: str, facts: Facts) -> None:
    if not facts.may_be_asked(id):
        raise Invalid([FieldError("to", f"{name!r} is not active, or audits only: name somebody who can answer")])


def _must_beat_deadline(request: Request) -> bool:
    """Whether what is about to be written is allowed only before the request's deadline."""
    return any(
        isinstance(event, (Request.Responded, Request.Cancelled, Request.Reassigned, Request.Snoozed))
        for event in request.pending_events
    )


def _canonical_uuid(text: str) -> UUID | None:
    try:
        id = UUID(text)
    except ValueError:
        return None
    return id if str(id) == text else None


def _hash_receipt(receipt: str) -> str:
    if not 8 <= len(receipt) <= 200:
        raise Invalid([FieldError("receipt", "must have 8–200 characters, made at random by the collector")])
    return hashlib.sha256(receipt.encode("utf-8", "surrogatepass")).hexdigest()


def _size(value: Any) -> int:
    return json_size(value) if not isinstance(value, str) else len(value.encode("utf-8", "surrogatepass"))


def _text_errors(ask: Ask) -> list[FieldError]:
    errors: list[FieldError] = []
    if ask.unique_id is not None:
        errors += unique_id_errors(ask.unique_id)
    if is_blank(ask.message):
        errors.append(FieldError("message", "must not be empty: it is what the person reads"))
    if ask.priority is not None and not 1 <= ask.priority <= 100:
        errors.append(FieldError("priority", "must be from 1 (most urgent) to 100"))
    for name in ("run_id", "run_step_id"):
        value = getattr(ask, name)
        if value is not None and not 1 <= len(value) <= 200:
            errors.append(FieldError(name, "must have 1–200 characters"))
    for name in (
        "message", "context", "response_schema", "ui_schema", "options", "labels", "run_id", "run_step_id", "metadata",
    ):  # fmt: skip
        errors += text_errors(getattr(ask, name), name)
    return errors + errors_in_strategy(ask.assignment_strategy, "assignment_strategy", complete=False)


def _check_text(name: str, text: str | None) -> None:
    if text is None:
        return
    errors = text_errors(text, name)
    if len(text) > 10_000:
        errors.append(FieldError(name, "must have at most 10,000 characters"))
    if errors:
        raise Invalid(errors)
