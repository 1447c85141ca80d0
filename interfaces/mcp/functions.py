"""The same tools for models that call functions in whatever way: their definitions, and calls from outside of MCP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from application.requests import Requests
from domain.callers import AgentCaller, Caller
from domain.errors import NotFound
from interfaces.mcp.acknowledgements import Acknowledgements
from interfaces.mcp.definitions import DEFINITIONS, RESULT, Definition
from interfaces.mcp.in_process import InProcess, Render
from interfaces.mcp.tools import NoSuchTool, Tools


def _plain(tool: Definition) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "parameters": tool.arguments,
        "result": RESULT,
    }


def _openai(tool: Definition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.arguments}
    return {"type": "function", "function": function}


def _openai_responses(tool: Definition) -> dict[str, Any]:
    # Not strict: that would make every argument a required one.
    return {"type": "function", **_openai(tool)["function"], "strict": False}


def _anthropic(tool: Definition) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.arguments}


_FORMATS: dict[str, Callable[[Definition], dict[str, Any]]] = {
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "plain": _plain,
}


class Functions:
    """The tools as functions."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._acknowledgements = Acknowledgements()

    def definitions(self, format: str) -> list[dict[str, Any]]:
        """All of them as this API wants them. `KeyError` for one that is not known."""
        return [_FORMATS[format](tool) for tool in DEFINITIONS.values()]

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        caller: AgentCaller,
        key: str,
        again: Callable[[], Awaitable[Caller | None]],
        render: Render,
        gone: asyncio.Future[None],
    ) -> tuple[dict[str, Any], Callable[[], Awaitable[None]]]:
        """The result of a call, and what to do once the caller has it; `gone` is done when the caller is.

        Raises `NotFound` where there is no such tool, and what the calls of MCP raise.
        """
        backend = InProcess(self._requests, render, caller, again, key)
        gone.add_done_callback(lambda _: backend.let_go())
        try:
            result = await Tools(backend).call(name, arguments)
        except NoSuchTool as error:
            raise NotFound(str(error)) from None

        async def handed_over() -> None:
            if result.handed_over is not None:
                self._acknowledgements.add(result.handed_over)

        return {**result.structured, "words": result.words, "position": result.position}, handed_over

    async def stop(self) -> None:
        """End what is left of calls. Raises nothing."""
        await self._acknowledgements.stop()
