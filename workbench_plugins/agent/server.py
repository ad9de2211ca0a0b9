"""The agent's tools as an MCP server: over stdio, or over streamable HTTP to this machine alone.

HTTP connections are bounded in number, size and time, so they cannot use up the server. Messages on stderr
are few and short, without control characters and without secrets.
"""

from __future__ import annotations

import json
import logging
import re
import socket
import sys
import time
from collections.abc import AsyncIterable, Awaitable, Callable
from importlib.metadata import version
from typing import Any

import anyio
import uvicorn
from anyio import to_thread
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.shared.message import SessionMessage
from mcp_types import (
    PARSE_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workbench.cli.bounded_http import BACKLOG, BoundedConnection
from workbench.cli.numbers import port_number
from workbench.errors import InputError, WorkbenchError
from workbench.masking import masked
from workbench.memory.data_files import load_data
from workbench.safe_text import visible
from workbench_plugins.agent.tool_contracts import failed
from workbench_plugins.agent.tools import AgentTools, side_by_side


class FromThisMachine:
    """An ASGI app that refuses a request whose Host or Origin does not name this machine."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        app = self._app
        if not HERE.fullmatch(headers.get("host", "")):
            app = Response("Invalid Host header", status_code=421)
        elif not all(map(ORIGIN.fullmatch, headers.getlist("origin"))):
            app = Response("Invalid Origin header", status_code=403)
        await app(scope, receive, send)


class StopsForTheGone:
    """An ASGI app that stops working on a request when its client has closed the connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        whole_request = anyio.Event()

        async def receive_and_notice() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                whole_request.set()
            return message

        async def wait_until_gone(scope: anyio.CancelScope) -> None:
            await whole_request.wait()
            while (await receive())["type"] != "http.disconnect":
                pass
            scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(wait_until_gone, group.cancel_scope)
            await self._app(scope, receive_and_notice, send)
            group.cancel_scope.cancel()


MOST_MESSAGES = 20
PERIOD_SECONDS = 60.0
"""The largest number of messages that are printed in that many seconds; the others are counted."""

MOST_CHARACTERS = 2_000


class FewMessages(logging.Filter):
    """Lets MOST_MESSAGES pass in each period. The first of a new period says how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._since = clock()
        self._seen = 0

    def filter(self, record: logging.LogRecord) -> bool:
        left_out = 0
        if self._clock() - self._since >= PERIOD_SECONDS:
            left_out = max(0, self._seen - MOST_MESSAGES)
            self._since, self._seen = self._clock(), 0
        self._seen += 1
        if left_out:
            record.msg = f"({left_out:,} messages were left out) {record.getMessage()}"
            record.args = None
        return self._seen <= MOST_MESSAGES


class ShortMessages(logging.Formatter):
    """Cuts a message after MOST_CHARACTERS, makes control characters visible and masks secrets."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)[: 2 * MOST_CHARACTERS]
        return visible(masked(text))[:MOST_CHARACTERS]


def log_to_stderr() -> logging.Handler:
    """Sends the warnings and errors of all libraries to stderr through these limits; gives the handler."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(FewMessages())
    handler.setFormatter(ShortMessages("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    return handler


PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
HERE = re.compile(r"(?:127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?")
"""The names of this machine that a request may use: a site whose name resolves to this machine is refused."""
ORIGIN = re.compile(f"http://{HERE.pattern}")

MOST_BYTES = 2**20
"""The longest body of a request; 413 is the answer to a longer one."""

SHUTDOWN_SECONDS = 5

NOT_JSON_RPC = JSONRPCError(
    jsonrpc="2.0",
    id=None,
    error=ErrorData(code=PARSE_ERROR, message="Parse error: this line is not a JSON-RPC message."),
)

TOLD = load_data(__file__, "tools.yaml")
INSTRUCTIONS: str = TOLD["instructions"]
DESCRIPTIONS: dict[str, str] = {
    name: text.replace("{untrusted}", TOLD["untrusted"]) for name, text in TOLD["tools"].items()
}

READS_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
ADDS_A_FILE = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)


def memory_server(tools: AgentTools) -> Server[Any]:
    """A server of the tools. An expected failure is a tool error with its remedy."""
    listed = ListToolsResult(
        tools=[
            Tool(
                name=name,
                description=DESCRIPTIONS[name],
                input_schema=kind.model_json_schema(),
                annotations=ADDS_A_FILE if name == "memory_case" else READS_ONLY,
            )
            for name, (kind, _) in tools.offered.items()
        ]
    )

    async def list_tools(_: Any, __: Any) -> ListToolsResult:
        return listed

    # Requests wait here, and not in threads. What takes long, such as a diagnosis, never holds up a search,
    # and a search never holds up the reading of a file.
    longer, searches, readings = (anyio.CapacityLimiter(side_by_side()) for _ in range(3))
    limiters = {"memory_search": searches, "memory_get": readings}

    async def call_tool(_: Any, params: CallToolRequestParams) -> CallToolResult:
        limiter = limiters.get(params.name, longer)
        try:
            answer = await to_thread.run_sync(
                tools.call, params.name, params.arguments or {}, limiter=limiter
            )
        except WorkbenchError as error:
            return CallToolResult(content=[TextContent(text=masked(str(error)))], is_error=True)
        said = TextContent(text=json.dumps(answer, ensure_ascii=False, allow_nan=False))
        return CallToolResult(content=[said], structured_content=answer, is_error=failed(answer))

    return Server(
        "workbench-memory",
        version=version("hybrid-search-workbench"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_stdio(tools: AgentTools) -> None:
    """Answers on stdin and stdout until stdin ends. A line that is not JSON-RPC gets a parse error."""

    async def run() -> None:
        server = memory_server(tools)
        async with stdio_server() as (read, write), anyio.create_task_group() as group:
            passed_on, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
            group.start_soon(_refuse_unreadable, read, passed_on, write.send)
            await server.run(messages, write, server.create_initialization_options())

    anyio.run(run)


async def _refuse_unreadable(
    read: AsyncIterable[SessionMessage | Exception],
    passed_on: MemoryObjectSendStream[SessionMessage | Exception],
    send: Callable[[SessionMessage], Awaitable[None]],
) -> None:
    """Passes messages on; answers what could not be read as a message, which the library drops silently."""
    async with passed_on:
        async for item in read:
            if isinstance(item, Exception) or _lacks_an_id(item.message):
                await send(SessionMessage(NOT_JSON_RPC))
            else:
                await passed_on.send(item)


def _lacks_an_id(message: JSONRPCMessage) -> bool:
    """Whether a request has no id of JSON-RPC, such as an object: the library takes it for a notification."""
    return isinstance(message, JSONRPCNotification) and not message.method.startswith("notifications/")


def serve_http(tools: AgentTools, host: str = "127.0.0.1", port: int = 8765) -> None:
    """Answers at http://HOST:PORT/mcp until it is interrupted; port 0 is any free one, named on stderr.

    Every request is answered by itself, without sessions, so that an idle client costs nothing.
    Raises InputError for a host that is not this machine, and for a port that is not available.
    """
    with listening(host, port) as opened:
        log_to_stderr()
        family = "[{}]:{}" if ":" in host else "{}:{}"
        print(f"http://{family.format(host, opened.getsockname()[1])}{PATH}", file=sys.stderr, flush=True)
        config = uvicorn.Config(
            http_app(tools),
            http=BoundedConnection,
            backlog=BACKLOG,
            access_log=False,
            log_config=None,
            ws="none",
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        uvicorn.Server(config).run(sockets=[opened])


def http_app(tools: AgentTools) -> Starlette:
    """The tools as an ASGI app: POST to PATH; other methods are refused, other sites' pages too."""
    manager = StreamableHTTPSessionManager(
        memory_server(tools),
        json_response=True,
        stateless=True,
        max_request_body_size=MOST_BYTES,
    )
    endpoint = FromThisMachine(StopsForTheGone(StreamableHTTPASGIApp(manager)))
    return Starlette(routes=[Route(PATH, endpoint, methods=["POST"])], lifespan=lambda _: manager.run())


def listening(host: str, port: int) -> socket.socket:
    """A socket that only this machine can reach. Raises InputError for other hosts and for a port in use."""
    if host not in LOOPBACK:
        raise InputError(
            f"The memory is served to this machine alone, not on {host}.",
            f"Use one of {', '.join(LOOPBACK)}.",
        )
    port = port_number(port)
    address = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family)
    except OSError as error:
        raise InputError(
            f"Port {port} of {host} cannot be had: {error}.",
            "Choose another with --port, or 0 for a free one.",
        ) from None
