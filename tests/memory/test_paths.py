"""Which paths are memory, and in which folders they lie. OpenClaw's own answers are among the vectors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import world
from workbench.errors import InputError
from workbench.memory.files import folders, list_files
from workbench.memory.sources import MemoryFolder


@pytest.fixture
def wren(tmp_path: Path) -> Path:
    """A workspace, with folders and files beside it."""
    world.write(
        tmp_path,
        {
            "wren/MEMORY.md": "# Memory",
            "wren/memory/deep/tea.md": "tea",
            "wren/notes/hub.md": "hub",
            "wren/skills/readme.md": "no memory",
            "beside/a/disk.md": "disk",
            "beside/.git/x.md": "hidden",
            "one.md": "one",
            "one.txt": "one",
        },
    )
    return tmp_path / "wren"


OWN = ["MEMORY.md", "memory/deep/tea.md"]


@pytest.mark.parametrize(
    ("extra", "more"),
    [
        (["notes"], ["notes/hub.md"]),
        (["../beside"], ["../beside/a/disk.md"]),
        (["../one.md", "../beside/../one.md"], ["../one.md"]),
        (["notes/hub.md", "notes", "memory"], ["notes/hub.md"]),
        (["missing", "missing.md"], []),
        (["../link/notes", "notes"], ["notes/hub.md"]),
        (["{above}/one.md"], ["../one.md"]),
    ],
)
def test_extra_paths_add_their_notes_once(wren: Path, extra: list[str], more: list[str]) -> None:
    (wren.parent / "link").symlink_to(wren)
    assert list_files(wren, [path.format(above=wren.parent) for path in extra]) == sorted([*OWN, *more])


def test_extra_paths_alone_are_a_memory(wren: Path) -> None:
    (wren.parent / "empty").mkdir()
    assert list_files(wren.parent / "empty", ["../one.md"]) == ["../one.md"]


def test_an_extra_path_of_another_kind_is_refused(wren: Path) -> None:
    with pytest.raises(InputError, match=r"one\.txt is no folder and no \.md file"):
        list_files(wren, ["../one.txt"])


@pytest.mark.parametrize("target", ["beside", "one.md", "nowhere"])
def test_an_extra_path_that_is_a_link_is_refused_when_it_is_read(wren: Path, target: str) -> None:
    (wren / "link").symlink_to(wren.parent / target)
    assert list_files(wren, ["link"]) == sorted([*OWN, "link"])
    with pytest.raises(InputError, match="link is a symbolic link"):
        MemoryFolder(wren, ["link"]).read("link")


@pytest.mark.parametrize("name", ["MEMORY.md", "memory/tea.md"])
def test_a_dangling_link_with_a_notes_name_is_not_passed_over(tmp_path: Path, name: str) -> None:
    world.write(tmp_path, {"memory/a.md": "a"})
    (tmp_path / name).symlink_to(tmp_path / "nowhere")
    assert name in list_files(tmp_path)


def test_a_folder_that_cannot_be_read_is_no_empty_one(wren: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.scandir

    def broken(folder: str) -> object:
        if str(folder).endswith("deep"):
            raise OSError(5, "Input/output error", str(folder))
        return real(folder)

    monkeypatch.setattr(os, "scandir", broken)
    with pytest.raises(InputError, match="deep cannot be read: Input/output error"):
        list_files(wren)


def test_the_folders_of_a_workspace_are_its_own_and_those_below_memory(wren: Path) -> None:
    assert folders(wren) == {wren, wren / "memory", wren / "memory" / "deep"}


def test_the_folders_of_extra_paths_are_theirs_and_the_one_above(wren: Path) -> None:
    beside = wren.parent / "beside"
    found = folders(wren, ["../beside", "../missing"])
    assert found - folders(wren) == {wren.parent, beside, beside / "a"}


def test_the_folders_of_any_other_memory_are_all_that_are_neither_hidden_nor_links(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "in").mkdir()
    world.write(tmp_path, {"a/b/c.md": "", ".git/d.md": ""})
    (tmp_path / "a" / "link").symlink_to(outside)
    assert folders(tmp_path) == {tmp_path, tmp_path / "a", tmp_path / "a" / "b"}
    (tmp_path / "memory").symlink_to(outside)
    assert folders(tmp_path) == {tmp_path}
    assert folders(tmp_path / "gone") == set()
