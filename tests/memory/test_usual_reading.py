"""How a local model reads long texts if nobody says how: as the index has it, or by the memory's size."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import world
from tests.commands import Run
from workbench.memory.embedding import local
from workbench.memory.embedding.local import (
    LocalEmbedder,
    Truncated,
    UsualReading,
    Windowed,
    packaged_model,
    reading_of,
)
from workbench.memory.options import Options
from workbench.memory.store.sqlite.store import Store
from workbench.memory.sync import index_folder, usual_reading
from workbench_plugins.openclaw.sessions import Sessions
from workbench_plugins.openvino.openvino_engine import OpenVinoEngine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory of eight bytes, of which two more would be too many to read it whole."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(local, "READ_WHOLE", 9)
    return world.write(tmp_path / "m", {"MEMORY.md": "tea, cup"})


def made_as(file: Path) -> str:
    """The reading of the index in a file."""
    with Store.open(file) as store:
        return store.settings.revision.rpartition("/")[2]


def test_a_memory_is_read_whole_up_to_two_million_bytes() -> None:
    assert UsualReading.of(2_000_000) == UsualReading(Windowed(), is_stored=False)
    assert UsualReading.of(2_000_001) == UsualReading(Truncated(), is_stored=False)


def test_a_new_index_is_made_by_the_size_of_the_memory(folder: Path, tmp_path: Path) -> None:
    index_folder(folder, options=Options(index_path=tmp_path / "small.sqlite"))
    (folder / "MEMORY.md").write_text("tea, cup, pot", encoding="utf-8")
    index_folder(folder, options=Options(index_path=tmp_path / "large.sqlite"))
    assert made_as(tmp_path / "small.sqlite") == "windowed"
    assert made_as(tmp_path / "large.sqlite") == "truncated"


def test_extra_files_and_transcripts_count(folder: Path, tmp_path: Path) -> None:
    assert usual_reading(folder).reading == Windowed()
    beside = tmp_path / "beside.md"
    beside.write_text("tea", encoding="utf-8")
    assert usual_reading(folder, Options(extra=[str(beside)])).reading == Truncated()
    (tmp_path / "chats").mkdir()
    (tmp_path / "chats" / "a.jsonl").write_text("{}\n", encoding="utf-8")
    assert usual_reading(folder, Options(sources=[Sessions(tmp_path / "chats")])).reading == Truncated()


def test_an_index_keeps_its_reading_until_a_rebuild(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "i.sqlite"
    index_folder(folder, options=Options(index_path=file))
    (folder / "MEMORY.md").write_text("tea, cup, pot", encoding="utf-8")
    assert usual_reading(folder, Options(index_path=file)) == UsualReading(Windowed(), is_stored=True)
    assert index_folder(folder, options=Options(index_path=file)).changed == ["MEMORY.md"]
    assert made_as(file) == "windowed"
    anew = usual_reading(folder, Options(index_path=file), rebuild=True)
    assert anew == UsualReading(Truncated(), is_stored=False)
    index_folder(folder, rebuild=True, options=Options(index_path=file))
    assert made_as(file) == "truncated"


def test_a_revision_names_its_reading() -> None:
    named = ["53aa51172d14/windowed", "53aa51172d14/openvino-bf16/truncated"]
    others = ["53aa51172d14/skimmed", "0a1b2c3d4e5f", ""]
    assert [reading_of(one) for one in (*named, *others)] == [Windowed(), Truncated(), None, None, None]


def test_a_reading_is_for_local_models(run: Run, folder: Path) -> None:
    refused = run("index", folder, "--model", "ollama", "--reading", "windowed")
    assert refused.code == 2
    assert "leave --reading out" in refused.err


def test_a_model_is_read_otherwise_without_being_loaded_again() -> None:
    first = LocalEmbedder()
    assert first.engine is LocalEmbedder(reading=Truncated()).engine  # all indexes of a process share it
    first.engine = OpenVinoEngine(packaged_model())
    other = first.read_as(Truncated())
    assert other.engine is first.engine
    assert (first.reading, other.reading) == (Windowed(), Truncated())
    assert other.revision == "53aa51172d14/truncated"
