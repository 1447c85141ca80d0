"""The protocol without its input and output: flows say what to send and how long to sleep, drivers do it.

A flow is a generator. What is sent to it is the response to what it yielded; where sending failed, the httpx error is
raised inside it. So every call is written once, and runs blocking as well as under asyncio.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import httpx

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Send:
    """One HTTP request. `waits` says that the server may hold it for long, so that others must not queue behind."""

    method: str
    path: str
    timeout: httpx.Timeout
    content: bytes | None = None
    parameters: Mapping[str, str] | None = None
    waits: bool = False

    @property
    def as_arguments(self) -> dict[str, Any]:
        """As `httpx.Client.request` takes it."""
        return {
            "method": self.method,
            "url": self.path,
            "content": self.content,
            "params": self.parameters,
            "headers": {} if self.content is None else {"Content-Type": "application/json"},
            "timeout": self.timeout,
        }


@dataclass(frozen=True, slots=True)
class Sleep:
    """Time to let pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Aside:
    """Something to do on the side: the flow that says so goes on at once, whatever comes of it."""

    flow: Flow[None]


Step: TypeAlias = Send | Sleep | Aside
Flow: TypeAlias = Generator[Step, Any, T]


def run(flow: Generator[S, Any, T], perform: Callable[[S], Any]) -> T:
    """Run the flow to its result."""
    try:
        step = next(flow)
        while True:
            try:
                reply = perform(step)
            except Exception as error:
                step = flow.throw(error)
            else:
                step = flow.send(reply)
    except StopIteration as end:
        return end.value
    finally:
        flow.close()


async def run_async(flow: Generator[S, Any, T], perform: Callable[[S], Awaitable[Any]]) -> T:
    """Run the flow to its result, without blocking the event loop."""
    try:
        step = next(flow)
        while True:
            try:
                reply = await perform(step)
            except Exception as error:
                step = flow.throw(error)
            else:
                step = flow.send(reply)
    except StopIteration as end:
        return end.value
    finally:
        flow.close()


def signature_of(flow: Callable[..., Flow[Any]]) -> inspect.Signature:
    """The flow's signature as its callers see it: with the result that it ends in."""
    signature = inspect.signature(flow)
    returned = str(signature.return_annotation).removeprefix("Flow[").removesuffix("]")
    first, *others = signature.parameters.values()
    return signature.replace(
        parameters=[first.replace(name="self", annotation=inspect.Parameter.empty), *others],
        return_annotation=returned,
    )
