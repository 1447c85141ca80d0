"""The tools in the words of the protocol, by the official SDK. Importing this takes long: only who needs it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mcp_types as types
import structlog
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from domain.errors import Refusal
from interfaces.mcp.definitions import DEFINITIONS, RESULT, Definition
from interfaces.mcp.results import HandedOver
from interfaces.mcp.tools import NoSuchTool, Report, Tools

log = structlog.get_logger(__name__)

ForCall = Callable[[Any], tuple[Tools, Callable[[HandedOver], None]]]
"""From what the transport knows of a call: the tools of its agent, and where to leave what is to be done once its
result has been handed over."""

_INSTRUCTIONS = (
    "Ask a person with human_feedback when a decision, an approval, or knowledge is needed that you do not have. "
    "When you ask for permission, only the outcome `approved` gives it."
)


def new_server(for_call: ForCall, *, version: str) -> Server[Any]:
    """The protocol's server, for any transport."""
    tools = types.ListToolsResult(tools=[_tool(definition) for definition in DEFINITIONS.values()])

    async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return tools

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _call(for_call, context, params)

    return Server(
        "handraise",
        title="Handraise",
        version=version,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda name: DEFINITIONS[name].arguments if name in DEFINITIONS else None,
    )


async def _call(for_call: ForCall, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    tools, hand_over = for_call(context.request)
    try:
        result = await tools.call(params.name, params.arguments or {}, _report(context))
    except NoSuchTool as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
    except Refusal as refusal:
        return _error(refusal.detail)
    except Exception as error:
        log.error("tool call failed", tool=params.name, error=type(error).__name__, exc_info=error)
        return _error("the server failed; its log has the cause. Calling again with the same unique_id is safe.")
    if result.handed_over is not None:
        hand_over(result.handed_over)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.words)], structured_content=result.structured
    )


def _report(context: Any) -> Report | None:
    if context.meta is None or context.meta.get("progress_token") is None:
        return None

    async def report(waited: float, at_most: float) -> None:
        await context.session.report_progress(
            round(waited, 3), at_most, "Nobody has answered yet; the request is open."
        )

    return report


def _error(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)], is_error=True)


def _tool(definition: Definition) -> types.Tool:
    return types.Tool(
        name=definition.name,
        title=definition.title,
        description=definition.description,
        input_schema=definition.arguments,
        output_schema=RESULT,
        annotations=types.ToolAnnotations(
            title=definition.title,
            read_only_hint=definition.only_reads,
            destructive_hint=False if not definition.only_reads else None,
            idempotent_hint=True,
            open_world_hint=True,
        ),
    )
