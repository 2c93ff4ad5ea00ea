"""The server of the package mcp. It speaks the protocol; what a tool does is done by the API's routes.

There are tools only: no resources and no prompts, and nothing that is kept between two requests. So any
process of a service can answer any of them.
"""

import json
import logging
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)

from discreet import __version__
from discreet.answers.json_text import escaped_json
from discreet.apps.server.access_log import ROUTE
from discreet.apps.server.agents.results import CALLER, AgentAnswer, ToolCall
from discreet.apps.server.agents.tools import INSTRUCTIONS, TOOLS, AgentTool, path_of
from discreet.apps.server.api.fields import read_fields
from discreet.apps.server.calls import Workshop
from discreet.apps.server.problems import HttpProblem, problem_json
from discreet.errors import DiscreetError, for_json
from discreet.web.guarded import AsgiApp, AsgiScope, Receive, Send

_LOG = logging.getLogger(__name__)


def agent_protocol(workshop: Workshop) -> AsgiApp:
    """Answers one request whose caller is known. Its scope has a CALLER."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # its messages quote what others sent
    server = _server(workshop)

    async def answer(scope: AsgiScope, receive: Receive, send: Send) -> None:
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():  # its tasks end with the request
            await manager.handle_request(scope, receive, send)

    return answer


def _server(workshop: Workshop) -> Any:
    tools = {tool.name: tool for tool in TOOLS}

    async def list_tools(context: Any, _: Any) -> ListToolsResult:
        role = _caller(context).account.role
        return ListToolsResult(tools=[_listed(tool) for tool in TOOLS if role in tool.route.roles])

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"There is no such tool. There are: {', '.join(tools)}.")
        context.request.scope[ROUTE] += f" {tool.name}"
        try:
            return _result(await _told(workshop, tool, params.arguments or {}, _caller(context)))
        except DiscreetError as error:
            return _refused(error)
        except Exception as error:
            _LOG.error("a tool failed: %s", type(error).__name__)
            return _refused(
                HttpProblem("The service failed.", remedy="Try again later.", status=500, name="failed")
            )

    server = Server(
        "discreet",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda name: tools[name].input_schema() if name in tools else None,
    )
    server.middleware.clear()  # traces, which leave the process
    return server


async def _told(workshop: Workshop, tool: AgentTool, arguments: object, caller: ToolCall) -> AgentAnswer:
    given = read_fields(arguments, tool.fields)
    body = {field.name: given[field.name] for field in tool.body if field.name in given}

    async def fields() -> object:
        return body

    reply = await workshop.perform(tool.route, caller.account, path_of(tool, given), body=fields)
    return tool.tell(reply.content, caller)


def _caller(context: Any) -> ToolCall:
    found: ToolCall = context.request.scope[CALLER]
    return found


def _listed(tool: AgentTool) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=tool.input_schema(),
        annotations=ToolAnnotations(
            read_only_hint=not tool.spends,
            destructive_hint=tool.spends,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def _result(told: AgentAnswer) -> CallToolResult:
    text = escaped_json(json.dumps(told, ensure_ascii=False, allow_nan=False))
    return CallToolResult(content=[TextContent(text=text)], structured_content=told)


def _refused(error: DiscreetError) -> CallToolResult:
    """An error of the tool and not of the protocol, so that the model reads what to do about it."""
    text = escaped_json(f"{error.problem} {for_json(error.remedy)}")
    return CallToolResult(
        content=[TextContent(text=text)], structured_content=problem_json(error), is_error=True
    )
