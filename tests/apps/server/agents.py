"""Agents, as the client of the package mcp plays them, and requests that no such client would send."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
from mcp.client import Client as ProtocolClient
from mcp.client.streamable_http import streamable_http_client

from tests.apps.server.running_service import COUNT, Client

MODES = ("legacy", "auto")
"""With a handshake, and without, as the protocol has it since 2026-07-28."""
ACCEPT = "application/json, text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply:
    refused: bool
    text: str
    told: dict


class Agent:
    """Calls one tool after the other, each in a connection of its own."""

    def __init__(self, port, token, mode="legacy"):
        self._url = f"http://127.0.0.1:{port}/mcp"
        self._token = token
        self._mode = mode

    @asynccontextmanager
    async def connected(self):
        headers = {"Authorization": f"Bearer {self._token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            ProtocolClient(streamable_http_client(self._url, http_client=http), mode=self._mode) as client,
        ):
            yield client

    def run(self, action):
        """What an action on a connected client gives."""

        async def run():
            async with self.connected() as client:
                return await action(client)

        return asyncio.run(run())

    def tools(self):
        return {tool.name: tool for tool in self.run(lambda client: client.list_tools()).tools}

    def call(self, tool, **arguments):
        found = self.run(lambda client: client.call_tool(tool, arguments))
        (block,) = found.content
        return ToolReply(refused=found.is_error, text=block.text, told=found.structured_content)

    def ask(self, sql=COUNT, *, epsilon=1, **more):
        return self.call("ask", dataset="clinic", sql=sql, epsilon=epsilon, **more)


def tool_call(tool, **arguments):
    """The message that calls a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def posted(port, token, message, **headers):
    """What the service says to one message, by plain HTTP."""
    with Client(port, token) as client:
        return client.post("/mcp", message, Accept=ACCEPT, **headers)


def problem_of(received):
    """Why a message did not reach a tool."""
    error = received.json["error"]
    problem = error["data"]
    assert error["message"] == f"{problem['detail']} {problem['remedy']}"
    assert received.status == problem["status"]
    return problem
