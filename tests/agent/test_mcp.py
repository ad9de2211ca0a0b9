"""The tools over MCP, asked by a real client: in this process, over stdio, and over streamable HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from tests import world
from tests.agent.test_agent import QUESTION, add, over
from tests.conftest import PROJECT
from tests.openclaw_store import OpenClaw
from workbench.errors import InputError
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench_plugins.agent.server import listening, memory_server
from workbench_plugins.agent.tool_contracts import FEBRUARY
from workbench_plugins.agent.tools import AgentTools

NAMES = ["memory_search", "memory_get", "memory_explain", "memory_diagnose"]


def asked(server: Any, talk: Callable[[Client], Awaitable[Any]]) -> Any:
    """What a client brings back that talks to a server: one here, a command's, or an address."""

    async def run() -> Any:
        with anyio.fail_after(300):
            async with Client(server) as client:
                return await talk(client)

    return anyio.run(run)


def call(tools: AgentTools, name: str, arguments: dict[str, Any]) -> CallToolResult:
    async def talk(client: Client) -> CallToolResult:
        return await client.call_tool(name, arguments)

    result: CallToolResult = asked(memory_server(tools), talk)
    return result


def text(result: CallToolResult) -> str:
    (only,) = result.content
    return str(only.text)  # type: ignore[union-attr]


def listed(tools: AgentTools) -> list[Any]:
    """The tools as a client lists them."""
    found: list[Any] = asked(memory_server(tools), lambda client: client.list_tools()).tools
    return found


def test_the_tools_are_described_for_an_agent(folder: Path) -> None:
    tools = listed(over(folder))
    assert [one.name for one in tools] == NAMES
    search, get = tools[0].input_schema, tools[1].input_schema
    assert (search["required"], search["additionalProperties"]) == (["query"], False)
    assert list(search["properties"]) == ["query", "maxResults", "minScore", "corpus"]
    assert list(get["properties"]) == ["path", "from", "lines", "corpus"]
    for one in tools:
        assert one.annotations.read_only_hint
        assert all(field["description"] for field in one.input_schema["properties"].values())
    february = [list(one.input_schema["properties"]) for one in listed(over(folder, contract=FEBRUARY))]
    assert february[:2] == [["query", "maxResults", "minScore"], ["path", "from", "lines"]]


def test_an_answer_comes_as_text_and_as_data_and_is_that_of_the_function(folder: Path) -> None:
    with over(folder) as tools:
        result = call(tools, "memory_search", {"query": QUESTION, "maxResults": 2})
        assert not result.is_error
        assert json.loads(text(result)) == result.structured_content == tools.memory_search(QUESTION, 2)
        read = call(tools, "memory_get", {"path": "memory/tea.md", "from": 1, "lines": 1})
        assert read.structured_content == tools.memory_get("memory/tea.md", 1, 1)
        explained = call(tools, "memory_explain", {"query": QUESTION, "path": "memory/plain.md"})
        assert explained.structured_content == tools.memory_explain(QUESTION, "memory/plain.md")


def test_input_that_cannot_be_used_is_a_tool_error_with_its_remedy(folder: Path) -> None:
    for tool, arguments, said in (
        ("memory_search", {"query": "tea", "floor": 1}, "It takes query (required), maxResults"),
        ("memory_get", {"path": "../secret.md"}, "not an allowed Markdown file"),
        ("memory_forget", {}, "memory_explain"),
    ):
        result = call(over(folder), tool, arguments)
        assert (result.is_error, said in text(result)) == (True, True)


def test_a_missing_index_is_said_and_the_server_goes_on(folder: Path) -> None:
    async def talk(client: Client) -> Any:
        before = await client.call_tool("memory_search", {"query": QUESTION})
        index_folder(folder / "memory_of_wren", world.EMBEDDER, options=Options(index_path=missing))
        return before, await client.call_tool("memory_search", {"query": QUESTION})

    missing = folder / "elsewhere" / "index.sqlite"
    before, after = asked(memory_server(over(folder, index_path=missing)), talk)
    assert (before.is_error, before.structured_content["disabled"]) == (True, True)
    assert "workbench index" in before.structured_content["action"]
    assert after.structured_content["results"]


def test_calls_at_once_are_all_answered_while_the_index_changes(folder: Path) -> None:
    async def talk(client: Client) -> list[CallToolResult]:
        results: list[CallToolResult] = []

        async def ask(number: int) -> None:
            results.append(await client.call_tool(NAMES[number % 3], arguments[number % 3]))

        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(ask, number)
                if number % 20 == 0:
                    path, note = f"memory/day{number}.md", "rooibos tea today\n"
                    await anyio.to_thread.run_sync(add, folder, path, note)
        return results

    arguments = [{"query": QUESTION}, {"path": "memory/tea.md"}, {"query": QUESTION, "path": "memory/tea.md"}]
    with over(folder) as tools:
        results = asked(memory_server(tools), talk)
        newest = tools.memory_search("rooibos today", max_results=20)["results"]
    assert len(results) == 60
    assert not [text(one) for one in results if one.is_error]
    assert "memory/day40.md" in {one["path"] for one in newest}


# the two transports, served by the command


async def use(client: Client) -> list[Any]:
    """One call of each tool, then one that is an error."""
    found = await client.call_tool("memory_search", {"query": "where do urgent notifications go"})
    first = found.structured_content["results"][0]
    place = {"path": first["path"], "from": first["startLine"], "lines": 1}
    read = await client.call_tool("memory_get", place)
    why = await client.call_tool("memory_explain", {"query": "urgent notifications", "path": first["path"]})
    wrong = await client.call_tool("memory_get", {"path": "../pyproject.toml"})
    return [one.is_error for one in (found, read, why, wrong)] + [read.structured_content["lines"]]


USED = [False, False, False, True, 1]


def serving(*options: str) -> StdioServerParameters:
    """A `workbench serve` over stdio in a process of its own."""
    args = ["-m", "workbench", "serve", *options]
    return StdioServerParameters(command=sys.executable, args=args, cwd=PROJECT, env=dict(os.environ))


def test_the_server_talks_over_stdio(sample: object) -> None:
    assert asked(serving(), use) == USED


def test_openclaws_own_file_is_served_with_the_files_of_its_workspace(tmp_path: Path) -> None:
    file, workspace = OpenClaw(tmp_path / "wren.sqlite").create().file, world.write(tmp_path / "wren")
    own = ["--re-embed", "--index", str(tmp_path / "index.sqlite"), "--workspace", str(workspace)]

    async def talk(client: Client) -> list[CallToolResult]:
        found = await client.call_tool("memory_search", {"query": "rooibos tea"})
        return [found, await client.call_tool("memory_get", {"path": "memory/tea.md"})]

    found, read = asked(serving("--memory", str(file), *own), talk)
    assert found.structured_content["results"][0]["path"] == "memory/tea.md"
    assert "rooibos" in read.structured_content["text"]


@contextmanager
def served(*options: str) -> Iterator[str]:
    """The address of a `workbench serve --http` in a process of its own."""
    command = [sys.executable, "-m", "workbench", "serve", "--http", "--port", "0", *options]
    with subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().strip()
        finally:
            process.terminate()


HERE = ["localhost", "localhost:80", "127.0.0.1:9000", "[::1]:9000"]
ELSEWHERE = [
    *("evil.example", "localhost:80.evil.example", "127.0.0.1:1@evil.example", "localhost:1/evil"),
    *("localhost:", "localhost.evil.example:80", "::1", "127.0.0.2:80"),
]
HEADERS = [
    *(("Host", one, 200) for one in HERE),
    *(("Origin", f"http://{one}", 200) for one in HERE),
    *(("Host", one, 421) for one in ELSEWHERE),
    *(("Origin", f"http://{one}", 403) for one in ELSEWHERE),
    *(("Origin", one, 403) for one in ("null", "localhost:80", "https://localhost:80")),
]


def test_the_server_talks_over_http_to_this_machine_alone(sample: object) -> None:
    with served() as address:
        assert address.startswith("http://127.0.0.1:")
        assert asked(address, use) == USED
        hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for name, value, status in HEADERS:
            answer = httpx2.post(address, json=hello, headers={"Accept": "application/json", name: value})
            assert (name, value, answer.status_code) == (name, value, status)


def test_no_other_host_is_served() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org", "", "127.0.0.1.example.org"):
        with pytest.raises(InputError, match="this machine alone"):
            listening(host, 0)


def test_a_port_that_is_taken_is_named() -> None:
    for host in ("127.0.0.1", "localhost"):
        with listening(host, 0) as first:
            address, port = first.getsockname()
            with pytest.raises(InputError, match="cannot be had") as error:
                listening(host, port)
        assert (address, "--port" in error.value.remedy) == ("127.0.0.1", True)
