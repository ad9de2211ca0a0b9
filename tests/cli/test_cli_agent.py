"""The commands of an agent, as they are typed."""

from __future__ import annotations

import pytest

from tests.commands import Run


@pytest.fixture
def sample_tools(sample: object) -> None:
    """The sample memory is indexed where the commands look for it."""


def test_the_commands_print_what_the_tools_return(run: Run, sample_tools: None) -> None:
    found = run("memory-search", "where to send urgent notifications", "--max-results", 1)
    (first,) = found.json()["results"]
    assert found.code == 0
    read = run("memory-get", first["path"], "--from", first["startLine"], "--lines", 2)
    assert (read.code, read.json()["from"], read.json()["lines"]) == (0, first["startLine"], 2)


def test_the_commands_follow_the_contract_that_is_asked_for(run: Run, sample_tools: None) -> None:
    february = run("memory-get", "../README.md", "--contract", "2026.2.13")
    assert (february.code, february.json()["error"]) == (1, "path required")
    found = run("memory-search", "zzz", "--system", "openclaw-2026.2.13", "--contract", "2026.2.13")
    assert (found.code, found.json()["results"]) == (1, [])


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["memory-search", " "], "empty"),
        (["memory-search", "tea", "--max-results", "0"], "maxResults"),
        (["memory-search", "tea", "--contract", "2027.1"], "2026.9.6"),
        (["memory-search", "tea", "--citations", "maybe"], "auto"),
        (["memory-search", "tea", "--system", "nosuch"], "nosuch"),
        (["memory-get", "a.md", "--memory", "nowhere"], "nowhere"),
        (["memory-get", "a.md", "--lines", "0"], "lines"),
        (["serve", "--http", "--host", "0.0.0.0"], "127.0.0.1"),
        (["serve", "--http", "--host", "192.168.1.2"], "this machine alone"),
        (["serve", "--http", "--port", "99999"], "99999"),
    ],
)
def test_a_command_that_cannot_be_run_exits_with_2(
    command: list[str], named: str, run: Run, sample_tools: None
) -> None:
    outcome = run(*command)
    assert outcome.code == 2
    assert named in outcome.err
