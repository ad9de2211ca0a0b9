"""A file as the index holds it: its chunks, what the model read, and which lines are in no chunk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests import world
from workbench.errors import InputError
from workbench.memory.embedding.local import LocalEmbedder, Truncated
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sources import LineChunker
from workbench.memory.sync import index_folder
from workbench.terminal import text_of
from workbench_plugins.explore.chunk_widget import held_file
from workbench_plugins.explore.file_chunks import held_sentence

LINES = [f"Line {n} is about tea and the hub of the bike." for n in range(1, 31)]


@pytest.fixture(scope="module")
def long_note(tmp_path_factory: pytest.TempPathFactory) -> MemoryIndex:
    """A note of thirty lines in chunks that overlap."""
    folder = tmp_path_factory.mktemp("held")
    world.write(folder / "notes", {"long.md": "\n".join(LINES)})
    file = folder / "i.sqlite"
    index_folder(
        folder / "notes", world.EMBEDDER, options=Options(index_path=file, chunker=LineChunker(100, 25))
    )
    return open_index(folder / "notes", world.EMBEDDER, index_path=file)


def test_chunks_have_the_files_text_and_repeat_the_lines_that_they_share(long_note: MemoryIndex) -> None:
    held = held_file(long_note, "long.md")
    assert len(held.chunks) > 2
    lines: list[str] = []
    for one in held.chunks:
        own = one.chunk.text.split("\n")
        assert own[: one.repeated] == lines[len(lines) - one.repeated :]
        lines += own[one.repeated :]
        assert one.read_to == len(one.chunk.text)
        assert one.windows is None
    assert lines == LINES
    assert held.left_out == ()
    assert [one.repeated > 0 for one in held.chunks] == [False, *[True] * (len(held.chunks) - 1)]


def test_what_is_printed_names_each_chunk_and_its_reading(long_note: MemoryIndex) -> None:
    held = held_file(long_note, "long.md")
    printed = text_of(held.view())
    assert f"long.md is {len(held.chunks)} chunks in the index; the model read all of its text." in printed
    assert all(one.chunk.location in printed for one in held.chunks)
    assert "repeated from the chunk before" in printed


def test_a_file_that_is_not_indexed_is_refused_and_the_nearest_named(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match=r"no indexed file 'memory/te\.md'; the nearest are memory/tea\.md"):
        held_file(toy, "memory/te.md")


def test_a_truncated_chunk_says_where_the_model_stopped(tmp_path: Path) -> None:
    text = " ".join(f"word{n} rooibos" for n in range(120))
    world.write(tmp_path / "notes", {"long.md": text})
    embedder = LocalEmbedder(reading=Truncated())
    index_folder(tmp_path / "notes", embedder, options=Options(index_path=tmp_path / "i.sqlite"))
    with open_index(tmp_path / "notes", embedder, index_path=tmp_path / "i.sqlite") as index:
        held = held_file(index, "long.md")
        first = held.chunks[0]
        assert first.chunk.read_share < 1
        assert first.read_to is not None
        assert 0 < first.read_to < len(first.chunk.text)
        read = embedder.offsets([first.chunk.text[: first.read_to]])[0]
        assert len(read) == embedder.window
        assert f"the model read {first.chunk.read_share:.0%} of it" in text_of(held.view())
    whole = replace(first, chunk=replace(first.chunk, read_share=1.0))
    for chunks, which in (((first,), "it"), ((first, first), "each"), ((first, whole), "1 of them")):
        told = held_sentence(replace(held, chunks=chunks))
        assert told.endswith(f"; the model read only a part of {which}.")
