"""The agent's tools as an MCP server: over stdio, or over streamable HTTP to this machine alone."""

from __future__ import annotations

import json
import socket
import sys
from importlib.metadata import version
from typing import Any

import anyio
import uvicorn
from anyio import to_thread
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)

from workbench.agent.arguments import Arguments, Explain
from workbench.agent.contracts import failed
from workbench.agent.tools import AgentTools
from workbench.errors import InputError, WorkbenchError

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
NAMES = ("127.0.0.1:*", "[::1]:*", "localhost:*")
"""What a request may call this machine. A page of another site that has its name point here is refused."""

INSTRUCTIONS = (
    "A person's long-term memory in Markdown. Before you answer about earlier work, decisions, dates, "
    "people, preferences or todos that are not in the conversation, call memory_search, then memory_get "
    "for the lines that you need. When you are unsure after that, say that you looked. When something "
    "should be there and is not, memory_explain says what was found, what was dropped, and why."
)

DESCRIPTIONS = {
    "memory_search": (
        "Search the memory by meaning and by words, for earlier work, decisions, dates, people, "
        "preferences and todos. Returns the best chunks, each with path, startLine, endLine, score, and a "
        "snippet of up to 700 characters. Nothing found is an empty list, not an error: try other words, "
        "or memory_explain. With disabled=true or stale=true tell the user the warning and the action."
    ),
    "memory_get": (
        "Read exact lines of one file of the memory, by a path from memory_search: ask only for the lines "
        "that you need. A long file comes in parts; the text then ends with the line to go on from."
    ),
    "memory_explain": (
        "Run a search and say what happened in it: what each leg was asked and brought, the results with "
        "their numbers, how many candidates each stage dropped, and the nearest of these with the reason. "
        "With `path`, also why that file is in the answer or is not: never indexed, no word matched, "
        "beyond the pool, below the floor, or beyond the limit, with the arithmetic."
    ),
}

READS_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def memory_server(tools: AgentTools) -> Server[Any]:
    """A server of the three tools; input that cannot be used is a tool error with its remedy."""
    listed = ListToolsResult(tools=_listed(tools))

    async def list_tools(_: Any, __: Any) -> ListToolsResult:
        return listed

    async def call_tool(_: Any, params: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await to_thread.run_sync(tools.call, params.name, params.arguments or {})
        except WorkbenchError as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        said = TextContent(text=json.dumps(answer, ensure_ascii=False, allow_nan=False))
        return CallToolResult(content=[said], structured_content=answer, is_error=failed(answer))

    return Server(
        "workbench-memory",
        version=version("hybrid-search-workbench"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _listed(tools: AgentTools) -> list[Tool]:
    kinds: dict[str, type[Arguments]] = {
        "memory_search": tools.contract.searching,
        "memory_get": tools.contract.getting,
        "memory_explain": Explain,
    }
    return [
        Tool(
            name=name,
            description=DESCRIPTIONS[name],
            input_schema=kind.model_json_schema(),
            annotations=READS_ONLY,
        )
        for name, kind in kinds.items()
    ]


def serve_stdio(tools: AgentTools) -> None:
    """Answers on stdin and stdout until stdin ends."""

    async def run() -> None:
        server = memory_server(tools)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


def serve_http(tools: AgentTools, host: str = "127.0.0.1", port: int = 8765) -> None:
    """Answers at http://HOST:PORT/mcp until it is interrupted; port 0 is any free one, named on stderr.

    Raises InputError for a host that is not this machine, and for a port that cannot be had.
    """
    with listening(host, port) as opened:
        family = "[{}]:{}" if ":" in host else "{}:{}"
        print(f"http://{family.format(host, opened.getsockname()[1])}{PATH}", file=sys.stderr, flush=True)
        settings = TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=list(NAMES),
            allowed_origins=[f"http://{name}" for name in NAMES],
        )
        app = memory_server(tools).streamable_http_app(
            streamable_http_path=PATH, transport_security=settings, host=host
        )
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[opened])


def listening(host: str, port: int) -> socket.socket:
    """A socket of this machine alone. Raises InputError for any other host, and where the port is taken."""
    if host not in LOOPBACK:
        raise InputError(
            f"The memory is served to this machine alone, not on {host}.",
            f"Use one of {', '.join(LOOPBACK)}.",
        )
    address = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"Port {port} of {host} cannot be had: {error}.",
            "Choose another with --port, or 0 for a free one.",
        ) from None
