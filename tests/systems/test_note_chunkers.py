"""Basic Memory's chunks: one for each bullet, and sections that share one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from workbench.errors import InputError
from workbench.memory.files import list_files
from workbench.memory.sources import chunker_of_file
from workbench_plugins.basic_memory.note_chunkers import (
    EVERY_NOTE,
    BulletChunker,
    NoteChunker,
    SectionChunker,
)


def texts(text: str, chunker: BulletChunker | None = None) -> list[str]:
    return [passage.text for passage in (chunker or BulletChunker()).chunk(text)]


def test_each_top_level_bullet_is_a_chunk_with_its_own_lines() -> None:
    found = BulletChunker().chunk("# Tea\n\nIntro.\n\n- one\n  more\n- two\n\n## Cups\nRed.\n")
    assert [(one.text, one.start_line, one.end_line) for one in found] == [
        ("# Tea\n\nIntro.", 1, 3),
        ("- one\n  more", 5, 6),
        ("- two", 7, 7),
        ("## Cups\nRed.", 9, 10),
    ]


def test_sections_share_a_chunk_up_to_the_limit_and_not_beyond() -> None:
    exactly = f"# A\n{'x' * 445}\n# B\n{'y' * (900 - 449 - 2 - 4)}"
    assert [len(text) for text in texts(exactly)] == [900]
    assert [len(text) for text in texts(exactly + "y")] == [449, 450]


def test_a_long_paragraph_is_cut_into_windows_that_overlap() -> None:
    text = "".join(chr(97 + place % 26) for place in range(2_000))
    assert texts(text) == [text[:900], text[780:1_680], text[1_560:]]


@given(st.text(alphabet="ab -#\n", max_size=400), st.integers(5, 60))
@settings(deadline=None)
def test_no_chunk_of_short_bullets_is_too_long_and_no_letter_is_lost(text: str, longest: int) -> None:
    found = BulletChunker(longest, overlap=0).chunk(text)
    assert all(len(one.text) <= longest for one in found)
    assert "".join("".join(one.text.split()) for one in found) == "".join(text.split())
    lines = text.split("\n")
    for one in found:
        assert one.text.split("\n")[0] in lines[one.start_line - 1]
        assert one.text.split("\n")[-1] in lines[one.end_line - 1]


@pytest.mark.parametrize(("longest", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_a_chunker_that_cannot_advance_is_refused(longest: int, overlap: int) -> None:
    with pytest.raises(InputError, match="cannot advance"):
        BulletChunker(longest, overlap)


NOTE = "---\r\ntitle: Green tea\r\ntags: [cup]\r\n---\r\n\r\nSteep it.\r\n\r\n- two minutes\r\n- no milk\r\n"


def test_the_model_reads_title_and_permalink_and_no_front_matter_and_lines_are_those_of_the_file() -> None:
    found = chunker_of_file(NoteChunker(BulletChunker()), "drinks/Tea.md").chunk(NOTE)
    assert [(one.text, one.start_line, one.end_line) for one in found] == [
        ("Green tea\n\nmain/drinks/tea\n\nSteep it.", 1, 6),
        ("- two minutes", 8, 8),
        ("- no milk", 9, 9),
    ]
    (whole,) = chunker_of_file(NoteChunker(SectionChunker()), "drinks/Tea.md").chunk(NOTE)
    assert (whole.text.count("\n- "), whole.start_line, whole.end_line) == (2, 1, 9)


def test_every_markdown_file_of_the_folder_is_a_note(tmp_path: Path) -> None:
    world.write(tmp_path, {"MEMORY.md": "a", "memory/b.md": "b", "drinks/tea.md": "c", ".trash/d.md": "d"})
    assert list_files(tmp_path, (), EVERY_NOTE) == ["MEMORY.md", "drinks/tea.md", "memory/b.md"]
