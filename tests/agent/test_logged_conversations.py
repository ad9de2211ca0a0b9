"""The log of a real conversation with `workbench serve`, over stdio and over HTTP, is a recording."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.agent.test_mcp import served
from tests.commands import Run
from tests.conftest import PROJECT
from workbench.errors import InputError
from workbench_plugins.runs.run_files import read_run
from workbench_plugins.runs.traces import read_traces

QUESTIONS = ("urgent notifications", "where is the gluten free bread")


def message(id_: int | None, method: str, **params: Any) -> dict[str, Any]:
    asked = {} if id_ is None else {"id": id_}
    return {"jsonrpc": "2.0", **asked, "method": method, "params": params}


def conversation() -> list[dict[str, Any]]:
    client = {"name": "a test", "version": "1"}
    hello = message(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
    calls = [
        message(number, "tools/call", name="memory_search", arguments={"query": one, "columns": True})
        for number, one in enumerate(QUESTIONS, 1)
    ]
    read = message(3, "tools/call", name="memory_get", arguments={"path": "MEMORY.md"})
    return [hello, message(None, "notifications/initialized"), *calls, read]


def over_stdio() -> str:
    """What passed in both directions, a message a line."""
    command = [sys.executable, "-m", "workbench", "serve", "--system", "engine-rrf-60"]
    log = []
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for one in conversation():
            log.append(json.dumps(one))
            process.stdin.write(f"{log[-1]}\n")
            process.stdin.flush()
            if "id" in one:
                log.append(process.stdout.readline().strip())
        process.stdin.close()
    return "\n".join(log)


def over_http() -> str:
    """The bodies of the requests and of the answers, which may be events."""
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    log = []
    with served("--system", "engine-rrf-60") as address:
        for one in conversation():
            answer = httpx2.post(address, json=one, headers=headers, timeout=300)
            if session := answer.headers.get("mcp-session-id"):
                headers["mcp-session-id"] = session
            log += [json.dumps(one), answer.text]
    return "\n".join(log)


@pytest.mark.parametrize("talk", [over_stdio, over_http])
def test_a_logged_conversation_gives_runs_with_all_numbers(
    sample: object, tmp_path: Path, run: Run, talk: Any
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(talk(), encoding="utf-8")
    found = read_traces(log)
    searches = [one for one in found.retrievals if one.name == "memory_search"]
    assert [one.question for one in searches] == [*QUESTIONS]
    for one in searches:
        asked = ("search", one.question, "-s", "engine-rrf-60", "--json")
        expected = run(*asked).json()["results"]
        assert [id_ for id_, _ in one.results] == [row["path"] for row in expected][: len(one.results)]
        assert all({"score", "vector_rank"} <= numbers.keys() for numbers in one.numbers)
    assert run("runs", "traces", str(log), "--out", str(tmp_path / "runs")).code == 0
    saved = read_run(next((tmp_path / "runs").glob("*memory_search.jsonl")))
    assert len(saved.rows) == len(QUESTIONS)


def test_a_list_with_gaps_is_no_list_of_a_leg(tmp_path: Path) -> None:
    """Of what a leg brought, an answer has the results alone; a gap says that some are missing."""
    results = [
        {"path": name, "score": score, "columns": {"vector_rank": vector, "keyword_rank": keyword}}
        for name, score, vector, keyword in (("a.md", 0.9, 1.0, 1.0), ("b.md", 0.8, 2.0, 4.0))
    ]
    call = message(1, "tools/call", name="memory_search", arguments={"query": "tea"})
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": {"results": results}}}
    file = tmp_path / "log.json"
    file.write_text(json.dumps([{"sent": call}, {"received": json.dumps(answer)}]), encoding="utf-8")
    assert {one.name for one in read_traces(file).retrievals} == {"memory_search", "vector leg"}
    refused = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no"}}
    file.write_text(json.dumps([call, refused]), encoding="utf-8")
    with pytest.raises(InputError, match="none has documents"):
        read_traces(file)
