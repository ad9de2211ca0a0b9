"""An index file is data: it cannot make the workbench read other files, or load or download a model."""

from __future__ import annotations

import json
import re
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from tests import world
from tests.conftest import PROJECT
from tests.home import Home
from workbench.errors import InputError
from workbench.memory import choices
from workbench.memory.choices import Choices, choices_for, remember
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.opening import open_index
from workbench.memory.store.contract import Settings
from workbench.memory.store.sqlite.store import Store
from workbench_plugins.agent.note_files import PathRefusedError
from workbench_plugins.agent.tools import AgentTools


@pytest.fixture
def outside(home: Home) -> Path:
    """A note beside the memory."""
    return world.write(home.root.parent / "outside", {"secret.md": "the secret"})


def forge_extra_paths(home: Home, path: Path) -> None:
    """Writes extra paths into the index file, as older versions did."""
    with Store.open(home.file) as store, store.writing():
        store.db.execute("INSERT OR REPLACE INTO meta VALUES ('extra_paths', ?)", (json.dumps([str(path)]),))


def test_extra_paths_in_an_index_file_are_not_followed(home: Home, outside: Path) -> None:
    forge_extra_paths(home, outside)
    assert home.sync().new == []
    tools = AgentTools(home.root, embedder=world.EMBEDDER, index_path=home.file)
    with tools, pytest.raises(PathRefusedError):
        tools.files.read(str(outside / "secret.md"))


def test_extra_paths_that_the_user_gave_are_remembered_here_for_their_memory_alone(
    home: Home, outside: Path, tmp_path: Path
) -> None:
    home.sync(extra=["../outside"])
    assert home.sync().unchanged == 7
    with AgentTools(home.root, embedder=world.EMBEDDER, index_path=home.file) as tools:
        assert tools.files.read("../outside/secret.md").text == "the secret"
    other = world.write(tmp_path / "deep" / "other")
    assert choices.extra_paths_of(home.root.resolve(), home.file) == ("../outside",)
    assert choices.extra_paths_of(other, home.file) == ()


def test_an_index_from_elsewhere_keeps_its_notes_until_its_extra_paths_are_given(
    home: Home, outside: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home.sync(extra=["../outside"])
    before = home.contents()
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "another machine"))
    with pytest.raises(InputError, match=r"has notes beside the memory \(first: \.\./outside/secret\.md\)"):
        home.sync()
    assert home.contents() == before
    assert home.sync(extra=["../outside"]).unchanged == 7
    assert home.sync(extra=[]).deleted == ["../outside/secret.md"]


@pytest.mark.parametrize("model", ["somebody/model", "./model", "/models/model", "\0", "x" * 5_000])
def test_a_model_that_only_an_index_file_names_is_not_loaded(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setattr(LocalEmbedder, "model", property(lambda _: pytest.fail("a model was loaded")))
    file = tmp_path / "forged.sqlite"
    Store.create(file, Settings(model, "local/windowed", 3, "x")).close()
    with pytest.raises(InputError, match="which you have not used with it here"):
        open_index(home.root, index_path=file)


def test_a_model_that_the_user_chose_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "cache"))
    file = tmp_path / "i.sqlite"
    assert choices_for(file) == Choices()
    remember(file, Choices())
    assert not (tmp_path / "cache").exists()
    chosen = Choices("/memory", ("../a",), "my/model")
    remember(file, chosen)
    assert choices_for(file) == chosen
    remember(file, Choices())
    assert choices_for(file) == Choices()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"memory": 1, "extra": 3, "model": ""}', "[" * 9_999])
def test_broken_choices_are_an_error_that_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    remember(tmp_path / "i.sqlite", Choices(model="m"))
    next(tmp_path.glob("choices-*.json")).write_text(text)
    with pytest.raises(InputError, match=r"choices-.*\.json cannot be read"):
        choices_for(tmp_path / "i.sqlite")


@pytest.mark.parametrize("download", [False, True])
def test_a_model_comes_from_a_hub_only_when_the_user_asks(
    monkeypatch: pytest.MonkeyPatch, download: bool
) -> None:
    import sentence_transformers

    asked: dict[str, Any] = {}

    def loaded(name: str, **options: Any) -> object:
        asked.update(options, name=name)
        raise OSError("not on this machine")

    monkeypatch.setattr(sentence_transformers, "SentenceTransformer", loaded)
    with pytest.raises(InputError, match="--download gets it"):
        LocalEmbedder("somebody/model", download=download).embed(["tea"], "query")
    assert asked["name"] == "somebody/model"
    assert asked["local_files_only"] is not download


LINES = (PROJECT / "constraints.txt").read_text().splitlines()
PINS = [line.split("==") for line in LINES if "==" in line]


def plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def test_every_installed_package_is_pinned() -> None:
    pinned = {plain(name) for name, _ in PINS}
    installed = {plain(one.metadata["Name"]) for one in distributions()}
    installer = {"pip", "setuptools", "wheel", "uv", "hybrid-search-workbench"}
    assert installed - pinned - installer == set()


def test_the_pins_can_be_installed_with_the_oldest_python_of_a_supported_system() -> None:
    """Debian 12 has Python 3.11.2; a pin that needs 3.11.5 would break `make lab` there."""
    known = [one for one in distributions() if [one.metadata["Name"], one.version] in PINS]
    needs = {one.metadata["Name"]: one.metadata.get("Requires-Python") or "" for one in known}
    assert len(known) > 100
    assert [name for name, python in needs.items() if "3.11.2" not in SpecifierSet(python)] == []


PIN = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\\n]+)[^\n]*\n"
    r"(?P<hashes>(?: +--hash=sha256:[0-9a-f]{64}.*\n)+)"
)


def test_the_lock_has_the_pinned_versions_with_their_hashes_and_no_address() -> None:
    text = (PROJECT / "requirements.lock").read_text()
    locked = {plain(pin["name"]): pin["version"] for pin in PIN.finditer(text)}
    pinned = {plain(name): version for name, version in PINS if name != "torch"}
    assert {name: locked.get(name) for name in pinned} == pinned
    assert len(locked) == len(re.findall(r"^[A-Za-z0-9]", text, re.MULTILINE))
    assert "://" not in text
