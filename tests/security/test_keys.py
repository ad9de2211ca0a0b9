"""The user's key and texts go only to an address that the user has named, and to nowhere by a redirect."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import world
from tests.commands import Run
from tests.fault_server import KEY, Fault, Server, serving
from workbench.errors import ProviderError
from workbench.masking import masked
from workbench.memory.embedding.named import embedder_named
from workbench.registry import ExtensionWarning
from workbench_plugins.providers.embedder import PROVIDERS
from workbench_plugins.stores.postgres import parse


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line of a user who has a key for every provider, and has named no address."""
    for provider in PROVIDERS.values():
        monkeypatch.setenv(provider.url_variable, "")
        for name in provider.key_variables:
            monkeypatch.setenv(name, KEY)
    return run


def configuration(folder: Path, provider: str, address: str, form: str = "september") -> Path:
    settings = {"provider": provider, "model": "m", "remote": {"baseUrl": address}}
    data: dict[str, Any] = {"memory": {"search": settings}}
    if form == "february":
        agents = {"defaults": {"memorySearch": settings}}
        data = {"agents": agents, "meta": {"lastTouchedVersion": "2026.2.13"}}
    file = folder / "somebody.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


@pytest.mark.parametrize("form", ["february", "september"])
@pytest.mark.parametrize("provider", ["openai", "gemini", "voyage", "ollama", "auto"])
def test_an_address_that_only_a_file_names_gets_nothing(
    run: Run, server: Server, tmp_path: Path, provider: str, form: str
) -> None:
    if provider == "auto" and form == "september":
        provider = "openai"  # what auto means there
    root = world.write(tmp_path / "memory_of_wren")
    file = configuration(tmp_path, provider, server.url, form)
    outcome = run("--config", file, "index", root, "--index", tmp_path / "i.sqlite")
    assert server.requests == []
    assert (outcome.code, outcome.out) == (2, "")
    assert f"at {server.url}, an address that you have not named" in outcome.err
    assert f"--base-url {server.url}" in outcome.err
    assert KEY not in outcome.err
    assert not (tmp_path / "i.sqlite").exists()


def test_an_address_of_a_file_is_no_command_in_the_one_to_paste(run: Run, tmp_path: Path) -> None:
    file = configuration(tmp_path, "ollama", "http://gpu:9/$(id)", "february")
    told = run("--config", file, "index", world.write(tmp_path / "notes"), "--index", tmp_path / "i.sqlite")
    quoted = "'http://gpu:9/$(id)'"
    assert f"--base-url {quoted} … or export OLLAMA_HOST={quoted}" in told.err


@pytest.mark.parametrize("command", ["search", "explain", "evaluate", "show", "config", "systems", "doctor"])
def test_no_other_command_sends_anything_there(
    run: Run, server: Server, tmp_path: Path, command: str
) -> None:
    root = world.write(tmp_path / "memory_of_wren")
    file = configuration(tmp_path, "openai", server.url)
    more = {"search": ["tea"], "explain": ["tea", "-t", "MEMORY.md"], "config": [file]}.get(command, [])
    place = ["-m", root, "--index", tmp_path / "i.sqlite"] if command in ("search", "explain") else []
    run("--config", file, command, *more, *place)
    assert server.requests == []


@pytest.mark.parametrize("how", ["flag", "environment", "environment before the file"])
def test_an_address_that_the_user_names_too_is_asked(
    run: Run, server: Server, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = world.write(tmp_path / "memory_of_wren")
    address = "http://127.0.0.1:1" if how == "environment before the file" else server.url
    monkeypatch.setenv("OPENAI_BASE_URL", server.url if how != "flag" else "")
    flag = ["--base-url", server.url] if how == "flag" else []
    file = configuration(tmp_path, "openai", address)
    outcome = run("--config", file, *flag, "index", root, "--index", tmp_path / "i.sqlite")
    assert (outcome.code, "not named" in outcome.err) == (0, False)
    assert {one.headers["authorization"] for one in server.requests} == {f"Bearer {KEY}"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("provider", ["openai", "gemini", "voyage", "ollama"])
def test_a_redirect_is_not_followed(
    run: Run, server: Server, provider: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PROVIDERS[provider].url_variable, server.url)
    with serving() as elsewhere:
        server.always = Fault(status=status, headers=(("Location", f"{elsewhere.url}/v1?key=sk-1"),))
        embedder = embedder_named(f"{provider}/m")
        with pytest.raises(ProviderError, match="redirects to") as raised:
            embedder.embed(["tea"], "query")
        assert elsewhere.requests == []
    assert len(server.requests) == 1
    assert elsewhere.url in raised.value.problem
    assert "sk-1" not in raised.value.problem
    assert PROVIDERS[provider].url_variable in raised.value.remedy


@pytest.mark.parametrize(
    "message",
    [
        f"Incorrect API key provided: {KEY}",
        f"Authorization: Bearer {KEY} is wrong",
        f"{{'x-api-key': '{KEY}', 'token': 'abcdefgh'}}",
        f"see http://me:{KEY}@host/v1?key={KEY}",
        "got sk-proj-0123456789abcdef and AIzaSy0123456789012345678901234567890",
        f"\x1b]0;{KEY}\x07\x9b2J",
    ],
)
def test_a_providers_message_shows_no_key_and_no_control_character(
    run: Run, server: Server, tmp_path: Path, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.always = Fault(status=401, message=message)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    root = world.write(tmp_path / "memory_of_wren")
    outcome = run("index", root, "--index", tmp_path / "i.sqlite", "--model", "openai/m")
    assert outcome.code == 4
    shown = outcome.out + outcome.err
    secrets = (KEY, "abcdefgh", "0123456789abcdef", "AIzaSy0123456789012345678901234567890")
    assert [one for one in secrets if one in shown] == []
    assert not set(shown) & {"\x1b", "\x07", "\x9b"}


@pytest.mark.parametrize(
    "text",
    [
        "memory/x[red].md", "search: basic usage", "chunking.tokens is 0", "the keyword leg: no match",
        "export OPENAI_API_KEY=…", "memory/task-2026-01-12-notes.md", "tokens: 512 at most", "author: Ana",
    ],
)  # fmt: skip
def test_ordinary_text_is_not_masked(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "words",
    [
        "index ADDRESS", "watch ADDRESS", "lab -m ADDRESS", "explore ADDRESS", "search tea --index ADDRESS",
        "search tea -m ADDRESS", "index sample_memory --index ADDRESS", "index sample_memory --store ADDRESS",
        "doctor -m ADDRESS", "compare recommended tutorial-day13 --question tea -m ADDRESS",
    ],
)  # fmt: skip
@pytest.mark.parametrize("password", ["hunter2", "hun/t@er2"])
def test_no_command_prints_the_password_of_an_address(
    run: Run, words: str, password: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_memory").mkdir()
    address = f"postgresql://me:{password}@127.0.0.1:9/notes"
    ended = run(*words.replace("ADDRESS", address).split())
    assert ended.code != 0
    assert "er2" not in ended.out + ended.err
    assert [one.name for one in tmp_path.iterdir()] == ["sample_memory"]


def test_a_password_in_an_address_is_warned_of() -> None:
    with pytest.warns(ExtensionWarning, match="PGPASSWORD"):
        parse("postgresql://me:hunter2@127.0.0.1/notes")
    with warnings.catch_warnings(action="error"):
        parse("postgresql://me@127.0.0.1/notes?service=mine")
