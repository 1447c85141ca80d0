"""The composition root: one function that builds everything from the settings."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import psycopg
import structlog
from fastapi import FastAPI

from application.deadlines import Deadlines
from application.departures import Departures
from application.directory import DirectoryService
from application.keys import Keys
from application.notices import Channel, Notices
from application.requests import Limits, Requests
from application.sign_in import Passwords, SignIn
from application.slack import SlackAdministration
from application.subscriptions import Browsers
from application.waits import Waits
from application.webhooks import Reports, WebhookAdministration
from domain.request import Request, instant
from domain.routing import Chance
from domain.slack import SlackSettings
from interfaces.credentials import master_key
from interfaces.heads import HeadLog, HeadSigner
from interfaces.http.api import Hardening, build_api, build_operations_api
from interfaces.http.hardening import allowed_hosts
from interfaces.http.representations import Representations
from interfaces.http.requests import refusals
from interfaces.mcp.endpoint import McpEndpoint
from interfaces.mcp.functions import Functions
from interfaces.metrics import Metrics
from interfaces.open_requests import OpenRequestsOf
from interfaces.outside.addresses import Addresses
from interfaces.passwords import Argon2Passwords
from interfaces.postgres.attempts import PostgresSignInAttempts
from interfaces.postgres.chain import read_head
from interfaces.postgres.clock import DatabaseClock
from interfaces.postgres.directory import PostgresDirectory
from interfaces.postgres.due import PostgresDueSteps
from interfaces.postgres.embedded import EmbeddedPostgres
from interfaces.postgres.export import AuditExport
from interfaces.postgres.facts import PostgresFacts
from interfaces.postgres.installation import KeyWatch, check_master_key
from interfaces.postgres.last_use import KeyUse
from interfaces.postgres.log import PostgresLog
from interfaces.postgres.migrate import migrate, prepare_read_models
from interfaces.postgres.pool import new_pool, reading
from interfaces.postgres.routing import RoutingFacts
from interfaces.postgres.sealing import MasterKey
from interfaces.postgres.slack import PostgresSlackSettings
from interfaces.postgres.slack_messages import PostgresSlackMessages
from interfaces.postgres.store import PostgresEventStore
from interfaces.postgres.subscriptions import PostgresSubscriptions
from interfaces.postgres.tail import Tail
from interfaces.postgres.vapid import kept_vapid_key
from interfaces.postgres.verification import Verification
from interfaces.postgres.webhooks import PostgresWebhooks
from interfaces.postgres.writer import Recorded, Writer
from interfaces.push.channel import PushChannel
from interfaces.push.sending import Sender
from interfaces.push.subscribing import Subscribing
from interfaces.push.vapid import VapidKey, new_private_key
from interfaces.reads import Reads
from interfaces.scheduler import Scheduler
from interfaces.schemas import JsonSchemas
from interfaces.settings import Settings
from interfaces.slack.answers import Answers
from interfaces.slack.channel import SlackChannel
from interfaces.slack.connection import SlackConnection
from interfaces.slack.people import People
from interfaces.slack.trial import Trial
from interfaces.slack.words import Words
from interfaces.sse.hub import Hub
from interfaces.sse.stream import stream_routes
from interfaces.unacknowledged import Unacknowledged
from interfaces.web.pages import page_routes
from interfaces.webhooks.sending import Sender as WebhookSender
from interfaces.webhooks.signing import new_secret
from projections.audit import Audit
from projections.dashboard import Dashboard
from projections.projector import Projector
from projections.read_models import ReadModel
from projections.request_list import RequestList

log = structlog.get_logger(__name__)

READ_MODELS: tuple[ReadModel, ...] = (Dashboard(), RequestList(), Audit())

_LONG_LIVED = {"/api/requests/{id}/wait", "/api/stream", "/api/tools/{name}", "/mcp"}
"""Routes whose responses take as long as the caller likes: their durations say nothing."""

_CLOSING = {Request.Responded.TOPIC, Request.Cancelled.TOPIC, Request.Expired.TOPIC}


@dataclass(frozen=True, slots=True)
class App:
    """A running server, but for the socket."""

    api: FastAPI
    requests: Requests
    directory: DirectoryService
    keys: Keys
    sign_in: SignIn
    store: PostgresEventStore
    notices: Notices
    waits: Waits
    tail: Tail
    writer: Writer
    scheduler: Scheduler
    projector: Projector
    reads: Reads
    hub: Hub
    slack: PostgresSlackSettings
    conninfo: str

    def let_go(self) -> None:
        """End every wait with the request as it stands, and every live stream: the server stops."""
        self.waits.stop()
        self.hub.close_all()


@asynccontextmanager
async def running(
    settings: Settings,
    clock: DatabaseClock | None = None,
    chance: Chance | None = None,
    channels: Sequence[Channel] = (),
    passwords: Passwords | None = None,
) -> AsyncIterator[App]:
    """Everything built, connected and started; stopped in the opposite order on the way out.

    `chance` picks for lists that are to be picked from at random; `channels` tell people of requests; `passwords`
    hashes.

    Raises the named errors of the embedded Postgres, `SchemaTooNew`, `WrongMasterKey`, `UnreadableFile`, or
    psycopg's `OperationalError`.
    """
    async with AsyncExitStack() as stack:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        postgres: EmbeddedPostgres | None = None
        if settings.database_url is None:
            postgres = await stack.enter_async_context(EmbeddedPostgres(settings.data_dir))
        conninfo = settings.database_url or _conninfo(postgres)
        await migrate(conninfo)
        key = MasterKey(master_key(settings), reread=partial(master_key, settings))
        async with await psycopg.AsyncConnection.connect(conninfo) as connection:
            await check_master_key(connection, key)
            await prepare_read_models(connection, READ_MODELS)

        clock = clock or DatabaseClock()
        pool = new_pool(conninfo, settings.database_pool_size)
        await pool.open(wait=True, timeout=30)
        stack.push_async_callback(pool.close)
        subscriptions = PostgresSubscriptions(pool, clock)
        slack = PostgresSlackSettings(
            pool, key, SlackSettings(notification_delay_seconds=settings.notification_delay_seconds)
        )
        webhooks = PostgresWebhooks(pool, clock, key)
        key_watch = KeyWatch(key)

        async def attend(connection: psycopg.AsyncConnection) -> None:
            await key_watch(connection)
            await subscriptions.look(connection)
            await slack.look(connection)
            await webhooks.look(connection)
            scheduler.wake()

        tail = Tail(conninfo, pool, clock, look_again_seconds=settings.look_again_seconds, attend=attend)
        writer = Writer(
            conninfo,
            clock,
            on_committed=tail.committed,
            queue_size=settings.max_queued_writes,
            routing=RoutingFacts(chance),
            master_key=key,
        )
        store = PostgresEventStore(pool, writer, key)
        directory = PostgresDirectory(pool, clock)
        waits = Waits()
        due = PostgresDueSteps(pool, clock)
        vapid = VapidKey(await kept_vapid_key(pool, key, new_private_key), settings.push_contact_or_default)
        addresses = Addresses(allow_private=settings.push_allow_private)
        sender = Sender(vapid, subscriptions, addresses, clock)
        stack.push_async_callback(sender.close)
        push = PushChannel(
            subscriptions,
            sender,
            clock,
            delay=timedelta(seconds=settings.push_delay_seconds),
            any_subscription=lambda: subscriptions.any,
        )
        browsers = Browsers(subscriptions, Subscribing(addresses).check, push.test)
        people = People(directory)
        in_slack = SlackChannel(
            lambda: slack.current, directory, people, clock, api_url=settings.slack_api_url, url=settings.url
        )
        notices = Notices(store, directory, due, clock, (in_slack, *channels, push), _report)
        requests = Requests(
            store,
            directory,
            JsonSchemas(),
            waits,
            clock,
            limits=_limits(settings),
            keep_sealed_for=timedelta(seconds=settings.sealed_answer_seconds),
            channels=notices.delays,
        )
        directory_service = DirectoryService(store, directory, clock)
        keys = Keys(store, directory, directory_service, clock)
        sign_in = SignIn(
            store,
            directory,
            passwords or Argon2Passwords(),
            PostgresSignInAttempts(pool, clock),
            clock,
            lifetime=timedelta(seconds=settings.session_seconds),
            embedding=bool(settings.embed_origin_list),
        )
        works = settings.role != "web"
        projector = Projector(pool, PostgresLog(key), READ_MODELS, _report, works=works)
        reads = Reads(pool, projector, tail, store)
        departures = Departures(store, requests, OpenRequestsOf(reads))
        metrics = Metrics()
        receivers = WebhookSender(
            Addresses(allow_private=settings.webhook_allow_private, plain_in_private_networks=True), clock
        )
        stack.push_async_callback(receivers.close)
        reports = Reports(
            store,
            webhooks,
            due,
            Representations(directory).request,
            receivers.send,
            clock,
            lambda outcome: metrics.webhook_deliveries.labels(outcome).inc(),
        )
        scheduler = Scheduler(
            Deadlines(due, requests, departures, notices, _report_failure, reports.make),
            shown=lambda: slack.current.enabled or webhooks.any,
        )
        provider = None
        if settings.oidc_issuer is not None:
            from interfaces.oidc import OpenIdProvider  # takes half a second, which few need

            provider = OpenIdProvider.of(settings, key)
        if provider is not None:
            stack.push_async_callback(provider.close)
        hub = Hub(PostgresFacts(pool), directory)
        signer = HeadSigner(key, clock)
        verification = Verification(pool, clock)
        stack.push_async_callback(verification.stop)
        messages = PostgresSlackMessages(pool)
        connection = SlackConnection(
            lambda: slack.current,
            Answers(requests, store, messages, people, Words(directory), url=settings.url),
            clock,
            api_url=settings.slack_api_url,
            count=lambda kind, outcome: metrics.slack_envelopes.labels(kind, outcome).inc(),
            opened=messages.forget_old,
        )
        slack.subscribe(connection.changed)

        async def signed_head() -> dict[str, Any]:
            return signer.sign(await reading(pool, read_head))

        def follow(recorded: Sequence[Recorded]) -> None:
            for event in recorded:
                if event.topic in _CLOSING:
                    waits.closed(event.originator_id)
                elif not event.topic.startswith(Request.TOPIC):
                    hub.directory_changed()
            projector.follow_to(recorded[-1].position)
            hub.follow_to(recorded[-1].position)

        tail.subscribe(follow)
        tail.subscribe(metrics.count)
        tail.subscribe(scheduler.notice)
        tail.subscribe(messages.notice)
        key_use = KeyUse(pool, clock)
        stack.push_async_callback(messages.stop)
        of_workers = (scheduler, HeadLog(signed_head), connection) if works else ()
        for part in (tail, writer, projector, key_use, *of_workers):
            await part.start()
            stack.push_async_callback(part.stop)
        projector.follow_to(tail.position)
        await hub.start(tail.position)
        stack.push_async_callback(hub.stop)
        stack.callback(waits.stop)

        def ready() -> tuple[dict[str, bool], dict[str, Any]]:
            checks = {"writer": writer.connected, "tail": tail.listening, "projector": projector.failure is None}
            if postgres is not None:
                checks = {"postgres": postgres.running} | checks
            if key.lost:
                checks["master key"] = False
            health = connection.health
            return checks, {
                "parked_aggregates": projector.parked,
                "projection_behind": projector.behind,
                "slack": {"state": health.state, "since": instant(health.since), "error": health.error},
            }

        def observe(route: str, status: int, seconds: float) -> None:
            metrics.http_requests.labels(route, status).inc()
            if route not in _LONG_LIVED:
                metrics.http_seconds.labels(route).observe(seconds)

        metrics.watch("handraise_waiting", "Waits for a request to close, now", lambda: len(waits))
        metrics.watch("handraise_queued_writes", "Writes waiting for the database, now", lambda: writer.queued)
        metrics.watch("handraise_log_position", "The newest position seen in the log", lambda: tail.position)
        metrics.watch("handraise_ready", "1 while the server can do its work", lambda: all(ready()[0].values()))
        metrics.watch(
            "handraise_projection_behind", "Positions that the slowest read model is behind", lambda: projector.behind
        )
        metrics.watch("handraise_parked_aggregates", "What read models could not digest", lambda: projector.parked)
        metrics.watch(
            "handraise_slack_connected",
            "1 while Slack is not used, or this server is connected to it",
            lambda: connection.health.state in ("off", "connected"),
        )
        metrics.watch("handraise_streams", "Live streams open, now", lambda: len(hub))
        acknowledge_grace = timedelta(seconds=settings.acknowledge_grace_seconds)
        unacknowledged = Unacknowledged(reads, clock, acknowledge_grace)
        metrics.watch(
            "handraise_unacknowledged_answers",
            "Answers of the last 7 days that their agents have not acknowledged in time",
            lambda: unacknowledged.count,
        )

        async def measured() -> bytes:
            await unacknowledged.look()
            return metrics.render()

        mcp = McpEndpoint(
            requests,
            progress_seconds=settings.mcp_progress_seconds,
            max_body_bytes=settings.max_body_bytes,
            version=server_version(),
        )
        stack.push_async_callback(mcp.stop)
        functions = Functions(requests)
        stack.push_async_callback(functions.stop)
        hosts = allowed_hosts(settings.host, settings.url, settings.allowed_host_names)
        if settings.role == "worker":
            api = build_operations_api(ready, measured, observe, hosts)
        else:
            api = build_api(
                requests=requests,
                directory_service=directory_service,
                keys=keys,
                key_used=key_use.note,
                sign_in=sign_in,
                provider=provider,
                browsers=browsers,
                push_key=vapid.public_key,
                slack=SlackAdministration(
                    store, slack, Trial(settings.slack_api_url), lambda: connection.health, clock
                ),
                webhooks=WebhookAdministration(
                    store, directory, webhooks, receivers.check, receivers.send, new_secret, clock
                ),
                url=settings.url,
                pages=page_routes(settings.embed_origin_list),
                hardening=Hardening(
                    hosts=hosts,
                    calls_per_minute=settings.calls_per_minute,
                    cors_origins=settings.cors_origin_list,
                ),
                acknowledge_grace=acknowledge_grace,
                directory=directory,
                store=store,
                reads=reads,
                clock=clock,
                export=AuditExport(conninfo),
                head=signed_head,
                verify=verification,
                stream=lambda route_class, reauthenticate: stream_routes(
                    hub=hub,
                    clock=clock,
                    head=store.head,
                    route_class=route_class,
                    reauthenticate=reauthenticate,
                    heartbeat_seconds=settings.stream_heartbeat_seconds,
                    refusals=refusals(),
                ),
                mcp=mcp.routes,
                functions=functions,
                ready=ready,
                metrics=measured,
                observe=observe,
                max_body_bytes=settings.max_body_bytes,
                version=server_version(),
            )
        log.info("started", role=settings.role, embedded=postgres is not None, position=tail.position, pid=os.getpid())
        yield App(
            api=api,
            requests=requests,
            directory=directory_service,
            keys=keys,
            sign_in=sign_in,
            store=store,
            notices=notices,
            waits=waits,
            tail=tail,
            writer=writer,
            scheduler=scheduler,
            projector=projector,
            reads=reads,
            hub=hub,
            slack=slack,
            conninfo=conninfo,
        )
        log.info("stopping", waiting=len(waits))


def _report_failure(what: str, error: Exception) -> None:
    log.error(what, exc_info=error)


def _report(what: str, details: Mapping[str, object]) -> None:
    log.warning(what, **details)


def server_version() -> str:
    """The version of the installed distribution."""
    try:
        return version("handraise-server")
    except PackageNotFoundError:
        return "0"


def _conninfo(postgres: EmbeddedPostgres | None) -> str:
    assert postgres is not None
    return postgres.conninfo


def _limits(settings: Settings) -> Limits:
    return Limits(
        message=settings.max_message_bytes,
        context=settings.max_context_bytes,
        schema=settings.max_schema_bytes,
        answer=settings.max_answer_bytes,
        metadata=settings.max_metadata_bytes,
        depth=settings.max_metadata_depth,
    )
