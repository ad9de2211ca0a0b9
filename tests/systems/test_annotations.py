"""Annotations are read, and taken out of the text, as OpenClaw 2026.9.6 does it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests import world
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.systems.catalogue import indexing
from workbench_plugins.openclaw.release_indexing import (
    INVALID_PROJECT,
    Annotations,
    annotations_of,
    annotations_of_lines,
    without_annotations,
)

TABLES = yaml.safe_load(Path(__file__).with_name("annotations.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "left"), TABLES["left"].items())
def test_annotations_are_taken_out_of_the_text(text: str, left: str) -> None:
    assert without_annotations(text) == left


@pytest.mark.parametrize(
    ("path", "lines", "importance"),
    [*TABLES["importance"], ("MEMORY.md", [f"<!-- importance: {'9' * 5000} -->"], None)],
)
def test_importance_is_the_largest_of_a_root_file(
    path: str, lines: list[str], importance: int | None
) -> None:
    assert annotations_of_lines(path, lines).importance == importance


@pytest.mark.parametrize(("path", "text", "projects"), TABLES["projects"])
def test_projects_are_read_in_every_file_but_the_users(path: str, text: str, projects: str | None) -> None:
    expected = INVALID_PROJECT if projects == "invalid" else projects
    assert annotations_of_lines(path, text.split("\n")).projects == expected


def test_triggers_are_kept_once_each() -> None:
    said = annotations_of_lines("MEMORY.md", ["a <!-- trigger: guests, visit; guests -->"])
    assert said == Annotations(triggers="guests; visit")


@given(st.text(st.sampled_from("a-<>!:; \t\nimportancetriggerproject8"), max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    assert len(without_annotations(text)) <= len(text)
    annotations_of_lines("MEMORY.md", text.split("\n"))


NOTES = {
    "MEMORY.md": "# Tea\n- one cup\n  or two <!-- importance: 9 -->\n- the hub\n",
    "USER.md": "# User\n- Likes tea. <!-- importance: 2 --> <!-- project: shop -->\n",
    "memory/bike.md": "The hub. <!-- project: shop -->\n\nThe brake.\n",
}


def built(folder: Path) -> MemoryIndex:
    """The notes indexed as 2026.9.6 does it."""
    root, file = world.write(folder / "wren", NOTES), folder / "i.sqlite"
    index_folder(root, world.EMBEDDER, options=Options(index_path=file, like=indexing("openclaw-2026.9.6")))
    return open_index(root, world.EMBEDDER, index_path=file)


def test_all_chunks_of_an_entry_have_its_annotations(tmp_path: Path) -> None:
    with built(tmp_path) as index:
        said = annotations_of(index)
        found = {
            one.location: (one.text, said(one).importance, said(one).projects)
            for path in NOTES
            for one in index.chunks(index.rows_of(path))
        }
    assert found == {
        "MEMORY.md:1-1": ("# Tea", None, None),
        "MEMORY.md:2-3": ("- one cup\n  or two", 9, None),
        "MEMORY.md:4-5": ("- the hub\n", None, None),
        "USER.md:1-1": ("# User", None, None),
        "USER.md:2-3": ("- Likes tea.\n", 2, None),
        "memory/bike.md:1-4": ("The hub.\n\nThe brake.\n", None, "shop"),
    }
