"""An answer in the part of a chunk that the model has not read: it is named, and its repair works."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.conftest import SAMPLE
from workbench.memory.embedding.local import LocalEmbedder, Reading, Truncated, Windowed
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import system
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.diagnosis import diagnose

VECTORS = system("openclaw-2026.2.13-vector-only")
QUESTION = "In doubt the answer is to draft and wait."
TARGET = "MEMORY.md"


def indexed(folder: Path, reading: Reading) -> MemoryIndex:
    """The notes of a folder, in an index that was made with this reading."""
    place, embedder = folder.parent / f"{reading.name}.sqlite", LocalEmbedder(reading=reading)
    index_folder(folder, embedder, options=Options(index_path=place))
    return open_index(folder, embedder, index_path=place)


def chunk_causes(index: MemoryIndex, question: str) -> list[Cause]:
    found = diagnose(question, VECTORS, CachedIndex(index), TARGET).causes
    return [one for one in found if one.where == ("chunk",)]


def test_the_repair_is_to_read_the_chunk_whole_and_finds_the_file(tmp_path: Path) -> None:
    """Of these notes only MEMORY.md has the answer, at the end of a chunk."""
    folder = tmp_path / "memory"
    shutil.copytree(SAMPLE / "memory" / "protocols", folder / "protocols")
    shutil.copy(SAMPLE / TARGET, folder)
    with indexed(folder, Truncated()) as cut:
        (cause,) = chunk_causes(cut, QUESTION)
        assert cause.description == "the answer is in a part that the model has not read"
        assert cause.repair.startswith(f"workbench index {folder} --index ")
        assert cause.repair.endswith(" --reading windowed --rebuild")
        assert cause.verified
        with_answer = [one for one in cut.chunks(cut.rows_of(TARGET)) if "draft and wait" in one.text]
        assert cause.evidence in [
            f"{one.location}: the model read {one.read_share:.0%} of it; "
            "with all of it, the file would be found"
            for one in with_answer
        ]
        assert TARGET not in search(QUESTION, VECTORS, cut).paths()
    with indexed(folder, Windowed()) as whole:
        assert TARGET in search(QUESTION, VECTORS, whole).paths()
        assert chunk_causes(whole, "never quit early") == []


def test_one_line_of_a_long_unread_rest_comes_before_the_stages(tmp_path: Path) -> None:
    """Neither the whole chunk nor all that is unread of it is near to the question, but one line of it is."""
    folder, line = tmp_path / "memory", "The honey press is lent to Ingrid."
    shutil.copytree(SAMPLE / "memory" / "protocols", folder / "protocols")
    log = "\n".join(f"- The crew counted frames, lids and ropes on day {day}." for day in range(27))
    (folder / TARGET).write_text(f"# Log\n\n{log}\n{line}\n", encoding="utf-8")
    with indexed(folder, Truncated()) as cut:
        (chunk,) = cut.chunks(cut.rows_of(TARGET))
        assert line in chunk.text[int(len(chunk.text) * chunk.read_share) :]
        found = diagnose("where is the press", VECTORS, CachedIndex(cut), TARGET)
    first, second = found.causes[:2]
    assert (first.where, first.verified) == (("chunk",), True)
    assert first.description == "the answer is in a part that the model has not read"
    assert first.evidence == (
        f"{chunk.location}: the model read {chunk.read_share:.0%} of it; with “{line}” alone, the file would "
        "be found"
    )
    assert second.where == ("floor",)
