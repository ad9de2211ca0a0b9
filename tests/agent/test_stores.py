"""The agent's tools over OpenClaw's own SQLite file of a memory, and as commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import world
from tests.commands import Run
from tests.openclaw_store import OpenClaw
from workbench.errors import InputError
from workbench_plugins.agent.tool_contracts import FEBRUARY, SEPTEMBER
from workbench_plugins.agent.tools import AgentTools
from workbench_plugins.openclaw.releases import SEPTEMBER as PIPELINE


@pytest.fixture
def store(tmp_path: Path) -> OpenClaw:
    return OpenClaw(tmp_path / "agent" / "wren.sqlite").create()


def test_a_store_is_searched_and_explained(store: OpenClaw) -> None:
    with AgentTools(store.file, PIPELINE, SEPTEMBER, embedder=world.EMBEDDER) as tools:
        found = tools.memory_search("rooibos tea")
        explained = tools.memory_explain("rooibos tea", path="memory/tea.md")
    assert found["results"][0]["path"] == "memory/tea.md"
    assert found["model"] == "toy"
    assert "stale" not in found
    assert explained["file"]["fate"] == "returned"


def test_what_openclaw_writes_is_found_by_the_next_search(store: OpenClaw) -> None:
    with AgentTools(store.file, PIPELINE, SEPTEMBER, embedder=world.EMBEDDER) as tools:
        assert tools.memory_search("kiln")["results"] == []
        with store.opened() as db:
            store.write(db, "memory/kiln.md", "The kiln.\n")
        assert [one["path"] for one in tools.memory_search("kiln")["results"]] == ["memory/kiln.md"]


@pytest.mark.parametrize(("contract", "field"), [(SEPTEMBER, "--workspace"), (FEBRUARY, "path required")])
def test_without_a_workspace_no_file_is_read(contract: object, field: str, store: OpenClaw) -> None:
    with AgentTools(store.file, contract=contract, embedder=world.EMBEDDER) as tools:  # type: ignore[arg-type]
        answer = tools.memory_get("memory/tea.md")
    assert (answer["text"], field in answer["error"]) == ("", True)
    with pytest.raises(InputError, match="does not exist"):
        AgentTools(store.file, workspace=store.file.parent / "none")


def test_a_store_of_a_model_that_is_not_here_says_so(
    store: OpenClaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with store.opened() as db:
        store.describe(db, json.dumps({"provider": "openai", "model": "text-embedding-3-small"}))
    with AgentTools(store.file) as tools:
        answer = tools.memory_search("tea")
    assert answer["unavailable"]
    assert "--re-embed" in answer["action"]


def test_the_commands_search_a_store_and_read_from_a_workspace(
    run: Run, store: OpenClaw, tmp_path: Path
) -> None:
    own = ("--re-embed", "--index", tmp_path / "own.sqlite")
    found = run("memory-search", "rooibos tea", "--memory", store.file, *own).json()
    assert "memory/tea.md" in [one["path"] for one in found["results"]]
    workspace = world.write(tmp_path / "wren")
    read = run("memory-get", "memory/tea.md", "--memory", store.file, "--workspace", workspace)
    assert read.json()["text"] == world.NOTES["memory/tea.md"].rstrip()


# the commands, as they are typed


def test_the_commands_print_what_the_tools_return(run: Run, sample: object) -> None:
    found = run("memory-search", "where to send urgent notifications", "--max-results", 1)
    (first,) = found.json()["results"]
    assert found.code == 0
    read = run("memory-get", first["path"], "--from", first["startLine"], "--lines", 2)
    assert (read.code, read.json()["from"], read.json()["lines"]) == (0, first["startLine"], 2)


def test_the_commands_follow_the_contract_that_is_asked_for(run: Run, sample: object) -> None:
    february = run("memory-get", "../README.md", "--contract", "2026.2.13")
    assert (february.code, february.json()["error"]) == (1, "path required")
    found = run("memory-search", "zzz", "--system", "openclaw-2026.2.13", "--contract", "2026.2.13")
    assert (found.code, found.json()["results"]) == (1, [])
