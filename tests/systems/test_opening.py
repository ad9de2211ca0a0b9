"""One way to open: Python, the commands and the agent's tools open the same memories, with equal errors."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

import workbench as wb
from tests import openclaw_store, world
from tests.commands import Run
from tests.extensions.memory_index import InMemoryIndex
from tests.home import Home
from tests.installed import Install
from workbench.errors import InputError
from workbench.memory.addresses import Opener, openers
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.opening import folder_of
from workbench_plugins.agent.tools import AgentTools
from workbench_plugins.openclaw.live_index import LiveIndex

TWO = wb.system("openclaw-2026.2.13+or")
DATABASE = "mysql://wren:hunter2@db.example/memory"
REFUSED = "mysql:// is not supported yet by any installed store"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return openclaw_store.OpenClaw(tmp_path / "state" / "main.sqlite").create().file


class ToyMemory(InMemoryIndex, OpenIndex):
    """A memory that a package keeps somewhere else."""

    embedder = world.EMBEDDER
    model = "toy"
    closed = 0

    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        ToyMemory.closed += 1

    def paths(self) -> list[str]:
        return sorted(world.NOTES)

    @property
    def remarks(self) -> list[str]:
        return ["This memory is a toy."]


def open_toy(address: str, *_: object) -> OpenIndex:
    return ToyMemory(world.NOTES, world.AXES)


TOY = Opener(
    "toy", "an address that begins with toy://", lambda address: address.startswith("toy://"), open_toy
)


@pytest.fixture
def toy_opener(nothing_registered: None) -> None:
    wb.register(TOY)


# what is opened


def test_a_folder_is_opened_with_its_index(home: Home) -> None:
    for address in (home.root, str(home.root), f"{home.root}/"):
        with wb.open(address, world.EMBEDDER, index_path=home.file) as index:
            assert isinstance(index, MemoryIndex)
            assert index.model == "toy"
            assert index.paths() == sorted(world.NOTES)
            assert (index.changed(), index.remarks) == ([], [])
            assert wb.search("rooibos tea", TWO, index).results


def test_a_changed_file_is_named_by_the_index_itself(home: Home) -> None:
    with wb.open(home.root, world.EMBEDDER, index_path=home.file) as index:
        (home.root / "memory/tea.md").write_text("Tea is gone.", encoding="utf-8")
        assert index.changed() == ["memory/tea.md"]
        (remark,) = index.remarks
    assert "1 file changed (memory/tea.md)" in remark
    assert f"workbench index {home.root}" in remark


def test_openclaws_file_is_opened_and_not_written(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = store.read_bytes()
    monkeypatch.setenv("HOME", str(store.parent))
    for address in (store, f"~/{store.name}"):
        with wb.open(address, world.EMBEDDER) as index:
            assert isinstance(index, LiveIndex)
            assert index.changed() == []
            assert wb.search("rooibos tea", TWO, index).results
    assert store.read_bytes() == before


# what is refused


def test_what_cannot_be_opened_is_named_with_a_remedy(tmp_path: Path, home: Home, store: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        wb.open(tmp_path / "nowhere")
    with pytest.raises(InputError, match="has no index yet"):
        wb.open(home.root, index_path=tmp_path / "none.sqlite")
    with pytest.raises(InputError, match="re-embed works on an OpenClaw SQLite file"):
        wb.open(home.root, re_embed=True)


COMMANDS = [
    ["search", "rooibos"],
    ["explain", "rooibos", "--target", "memory/tea.md"],
    ["memory-search", "rooibos", "--contract", "2026.2.13"],
    ["memory-get", "MEMORY.md"],
    ["serve"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_the_same_addresses(run: Run, command: list[str]) -> None:
    outcome = run(*command, "--memory", DATABASE)
    assert outcome.code == 2
    assert REFUSED in outcome.err
    assert "hunter2" not in outcome.err + outcome.out


def test_the_doctor_and_the_tools_refuse_them_too(run: Run) -> None:
    doctor = run("doctor", "--memory", DATABASE)
    assert doctor.code == 1
    assert REFUSED in doctor.out.replace("\n", " ")
    with pytest.raises(InputError, match=REFUSED):
        AgentTools(DATABASE)


# what a package adds


@pytest.mark.usefixtures("toy_opener")
def test_a_registered_kind_of_memory_is_opened_everywhere(run: Run, tmp_path: Path) -> None:
    with wb.open("toy://wren") as index:
        assert wb.search("rooibos", TWO, index).results
    searched = run("search", "rooibos tea", "--memory", "toy://wren", "--system", TWO.name, "--json")
    assert [one["path"] for one in searched.json()["results"]]
    assert searched.err == "This memory is a toy.\n"
    explained = run("explain", "rooibos", "-t", "memory/tea.md", "-m", "toy://wren", "-s", TWO.name)
    assert explained.code == 0
    with AgentTools("toy://wren", TWO, workspace=world.write(tmp_path / "notes")) as tools:
        assert tools.memory_search("rooibos tea")["results"]
        assert "rooibos" in tools.memory_get("MEMORY.md")["text"]
    assert "ToyMemory: 6 chunks. This memory is a toy." in run("doctor", "-m", "toy://wren").out
    assert ToyMemory.closed > 0


@pytest.mark.usefixtures("toy_opener")
def test_a_kind_of_memory_is_registered_by_name_and_named_in_errors() -> None:
    assert [one.name for one in openers()] == ["openclaw", "toy"]
    with pytest.raises(InputError, match="There is a kind of memory 'toy' already"):
        wb.register(Opener("toy", "another", TOY.accepts, TOY.open))
    with pytest.raises(InputError) as caught:
        wb.open(DATABASE)
    assert "or an address that begins with toy://" in caught.value.remedy


def test_a_folder_is_opened_without_loading_packages(install: Install, home: Home, tmp_path: Path) -> None:
    mark = tmp_path / "loaded"
    install("a-broken", f"import pathlib; pathlib.Path({str(mark)!r}).touch()")
    wb.open(home.root, world.EMBEDDER, index_path=home.file).close()
    assert not mark.exists()


def test_an_address_names_a_folder_unless_something_else_is_there(store: Path, tmp_path: Path) -> None:
    assert folder_of(tmp_path / "not there yet") == tmp_path / "not there yet"
    assert folder_of(store) is None
