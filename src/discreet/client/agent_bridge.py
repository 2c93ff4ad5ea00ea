"""The tools of a service for agents that start programs: lines of JSON-RPC in, lines of JSON-RPC out.

Every line goes to /mcp of the service as it is, with the token, which the agent need not know. What the
service says comes back. Nothing is understood here but what HTTP needs to know of a message.
"""

import json
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from discreet.client.requests import Requests
from discreet.errors import DiscreetError

_PLACE = "/mcp"
_AT_ONCE = 8
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600
_VERSION_OF_MESSAGE = "io.modelcontextprotocol/protocolVersion"


class AgentBridge:
    """One agent's connection to a service."""

    def __init__(self, requests: Requests, write: Callable[[str], None]) -> None:
        self._requests = requests
        self._write = write
        self._writing = threading.Lock()
        self._version = ""
        """What client and service agreed on, if they shook hands."""

    def run(self, lines: Iterable[bytes]) -> None:
        """Returns when there are no more lines, and all of them are answered."""
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            for line in lines:
                if line.strip():
                    threads.submit(self._answer, line.strip())

    def _answer(self, line: bytes) -> None:
        told = self._told(line)
        if told is not None:
            with self._writing:
                self._write(json.dumps(told) + "\n")

    def _told(self, line: bytes) -> dict[str, Any] | None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, _PARSE_ERROR, "This line is not JSON.")
        if not isinstance(message, dict):
            return _error(None, _INVALID_REQUEST, "A line is one JSON object.")
        number = message.get("id")
        try:
            told = self._requests.forward(_PLACE, line, self._headers(message))
        except DiscreetError as error:
            told = _error(number, _INVALID_REQUEST, f"{error.problem} {error.remedy}")
        if told is None or number is None:  # nobody waits for an answer to a notification
            return None
        if message.get("method") == "initialize":
            self._version = _text(told.get("result"), "protocolVersion")
        return {**told, "id": number}

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        """What the protocol wants to have in the head of a request, too."""
        found = {"Accept": "application/json, text/event-stream"}
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        version = _text(meta, _VERSION_OF_MESSAGE)
        if version:
            found |= {"MCP-Protocol-Version": version, "Mcp-Method": _text(message, "method")}
            if _text(params, "name"):
                found["Mcp-Name"] = _text(params, "name")
        elif self._version:
            found["MCP-Protocol-Version"] = self._version
        return found


def _text(facts: object, name: str) -> str:
    """Empty unless it can be part of a head."""
    found = facts.get(name) if isinstance(facts, dict) else None
    return found if isinstance(found, str) and found.isascii() and found.isprintable() else ""


def _error(number: object, code: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
