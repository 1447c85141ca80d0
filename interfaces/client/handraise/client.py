"""One HTTP client that outlives restarts: what may be repeated is repeated until the server has answered."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from handraise import flows
from handraise.asides import Asides
from handraise.calls import refusal, why
from handraise.connection import DEFAULT_URL, Connection, is_loopback
from handraise.errors import Unreachable
from handraise.steps import Aside, Flow, Send, Step, run, signature_of

__all__ = ["DEFAULT_URL", "Client", "is_loopback"]

P = ParamSpec("P")
T = TypeVar("T")


def blocking(flow: Callable[Concatenate[Connection, P], Flow[T]]) -> Callable[Concatenate[Client, P], T]:
    """The method that runs this flow and blocks until its result is there."""

    @functools.wraps(flow)
    def method(self: Client, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(flow(self, *args, **kwargs))

    method.__signature__ = signature_of(flow)  # type: ignore[attr-defined]
    return method


class Client(Connection):
    """The calls of one agent, or one person, to one server.

    An agent asks with `ask`, `confirm`, `review`, `choose`, `form` and `secret`, which wait for the answer.

    `url` and `key` default to the environment's `HANDRAISE_URL` and `HANDRAISE_API_KEY`. While the server restarts
    or is overloaded, calls are tried again for `patience_seconds`; where no connection could be made at all, for
    `connect_patience_seconds` (the same if not given). Only what is safe to repeat is repeated. `via` names the
    channel ("cli"). Use one client in one thread; close it, or use it in a `with`.

    Every call raises `HandraiseError` for a refusal and `Unreachable` when patience is over.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        patience_seconds: float = 30.0,
        connect_patience_seconds: float | None = None,
        via: str | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Opens no connection yet. Raises `ValueError` for an address or a key that cannot be one."""
        super().__init__(
            url,
            key,
            patience_seconds=patience_seconds,
            connect_patience_seconds=connect_patience_seconds,
            via=via,
            is_replaced=transport is not None,
        )
        if self._stand_in is not None:
            transport = self._stand_in.transport
        self._http = httpx.Client(transport=transport, **self._http_settings())
        self._asides = Asides(self._run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, once acknowledgements on their way have arrived, or 2 s later."""
        self._asides.finish()
        self._http.close()

    def _run(self, flow: Flow[T]) -> T:
        return run(flow, self._perform)

    def _perform(self, step: Step) -> httpx.Response | None:
        if isinstance(step, Send):
            return self._http.request(**step.as_arguments)
        if not isinstance(step, Aside):
            time.sleep(step.seconds)
        elif self._stand_in is None:
            self._asides.add(step.flow)
        else:  # a test may look at once
            self._run(step.flow)
        return None

    # -- asking and waiting for the answer

    ask = blocking(flows.ask)
    review = blocking(flows.review)
    confirm = blocking(flows.confirm)
    choose = blocking(flows.choose)
    form = blocking(flows.form)
    secret = blocking(flows.secret)

    # -- requests

    create = blocking(flows.create)
    get = blocking(flows.get)
    wait = blocking(flows.wait)
    cancel = blocking(flows.cancel)
    collect = blocking(flows.collect)
    acknowledge = blocking(flows.acknowledge)
    acknowledge_soon = blocking(flows.acknowledge_soon)
    respond = blocking(flows.respond)
    submit = blocking(flows.submit)
    erase = blocking(flows.erase)
    history = blocking(flows.history)
    inbox = blocking(flows.inbox)

    # -- the directory, for administrators

    users = blocking(flows.users)
    agents = blocking(flows.agents)
    keys = blocking(flows.keys)
    add_user = blocking(flows.add_user)
    add_agent = blocking(flows.add_agent)
    create_key = blocking(flows.create_key)
    erase_user = blocking(flows.erase_user)
    rotate_key = blocking(flows.rotate_key)
    make_link = blocking(flows.make_link)
    revoke_key = blocking(flows.revoke_key)
    export_directory = blocking(flows.export_directory)
    import_directory = blocking(flows.import_directory)

    def export(self, format: str = "jsonl", **filters: Any) -> Iterator[bytes]:
        """The audit trail, oldest first, in pieces as they arrive; `format` is `jsonl` or `csv`.

        `filters` as the HTTP call takes them (`from` and `to` as keys of a mapping). Not repeated when it breaks off.
        """
        parameters = {"format": format, **filters}
        try:
            with self._http.stream("GET", "/api/audit/export", params=parameters, timeout=60.0) as response:
                if not response.is_success:
                    response.read()
                    raise refusal(response)
                yield from response.iter_bytes()
        except httpx.RequestError as error:
            raise Unreachable(self.url, why(error)) from None
