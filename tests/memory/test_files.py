"""Which files are a memory, and how each is read."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from tests import world
from workbench.errors import InputError, StorageError
from workbench.memory import files
from workbench.memory.files import list_files, memory_root, replaced
from workbench.memory.index_files import default_index_path
from workbench.memory.sources import MemoryFolder


@pytest.mark.parametrize(
    ("there", "listed"),
    [
        (["MEMORY.md", "memory/a.md", "notes.md"], ["MEMORY.md", "memory/a.md"]),
        (["memory.md", "notes.md"], ["memory.md"]),
        (["MEMORY.md", "memory.md"], ["MEMORY.md", "memory.md"]),
        (["memory/b.md", "memory/a/z.md", "memory/a.txt", "memory/c.MD"], ["memory/a/z.md", "memory/b.md"]),
        (["b.md", "a/c.md", ".git/d.md", "readme.txt"], ["a/c.md", "b.md"]),
        (["MEMORY.md", "memory/.trash/a.md"], ["MEMORY.md"]),
    ],
)
def test_a_memory_is_the_files_openclaw_reads(tmp_path: Path, there: list[str], listed: list[str]) -> None:
    world.write(tmp_path, dict.fromkeys(there, "tea"))
    assert list_files(tmp_path) == listed


def test_a_file_has_at_most_ten_million_bytes(tmp_path: Path) -> None:
    (tmp_path / "largest.md").write_bytes(b"a" * 10_000_000)
    (tmp_path / "larger.md").write_bytes(b"a" * 10_000_001)
    assert len(MemoryFolder(tmp_path).read("largest.md").text) == 10_000_000
    with pytest.raises(InputError, match=r"larger\.md has 10 MB; a memory file has at most 10 MB"):
        MemoryFolder(tmp_path).read("larger.md")


def test_a_document_is_read_as_it_is(tmp_path: Path) -> None:
    data = "\ufeff# Té\r\nrooibos\u2028☕\n".encode()
    (tmp_path / "a.md").write_bytes(data)
    document = MemoryFolder(tmp_path).read("a.md")
    assert document.text.encode() == data
    assert (document.hash, document.size) == (hashlib.sha256(data).hexdigest(), len(data))


@pytest.mark.parametrize(("age_ms", "waited_ms"), [(0, 20), (5, 15), (20, 0), (3_600_000, 0), (-5, 0)])
def test_a_file_is_given_time_before_it_is_read_so_that_a_later_change_has_another_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age_ms: int, waited_ms: int
) -> None:
    world.write(tmp_path, {"a.md": "tea"})
    written, waited = (tmp_path / "a.md").stat().st_mtime_ns, [0.0]
    monkeypatch.setattr(files.time, "time_ns", lambda: written + age_ms * 1_000_000)
    monkeypatch.setattr(files.time, "sleep", waited.append)
    MemoryFolder(tmp_path).read("a.md")
    assert sum(waited) * 1000 == pytest.approx(waited_ms)


def test_links_to_files_and_folders_elsewhere_are_not_followed(tmp_path: Path) -> None:
    world.write(tmp_path, {"elsewhere/secret.md": "tea", "one/MEMORY.md": "tea", "two/memory/a.md": "tea"})
    for link, to in (("one/memory", "elsewhere"), ("two/memory/c", "elsewhere"), ("two/memory/b.md", "x")):
        (tmp_path / link).symlink_to(tmp_path / to)
    assert "memory/secret.md" not in list_files(tmp_path / "one")
    assert list_files(tmp_path / "two") == ["memory/a.md", "memory/b.md"]
    with pytest.raises(InputError, match=r"memory/b\.md is a symbolic link"):
        MemoryFolder(tmp_path / "two").read("memory/b.md")


def test_the_index_is_kept_outside_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = world.write(tmp_path / "wren")
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    assert default_index_path(root).parent == tmp_path / "home"
    assert default_index_path(memory_root(root / "memory" / "..")) == default_index_path(root)
    monkeypatch.delenv("WORKBENCH_HOME")
    assert not default_index_path(root).is_relative_to(root)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text("old")
    with pytest.raises(StorageError, match="No space left"), replaced(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(InputError, match=r"exists already(.|\n)*--force"), replaced(file, overwrite=False):
        raise AssertionError("the block does not begin")
    for no_file in (tmp_path, Path("/dev/null")):
        with pytest.raises(InputError, match="exists already"), replaced(no_file):
            raise AssertionError("the block does not begin")
    assert (file.read_text(), len(list(tmp_path.iterdir()))) == ("old", 1)
    with replaced(file) as out:
        out.write("new")
        assert file.read_text() == "old"
    assert (file.read_text(), len(list(tmp_path.iterdir()))) == ("new", 1)


def test_an_empty_name_of_a_memory_does_not_mean_the_current_folder() -> None:
    with pytest.raises(InputError, match="The name of the memory is empty"):
        memory_root("")
    assert memory_root(".") == Path.cwd().resolve()
