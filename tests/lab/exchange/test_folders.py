"""A test collection comes back from the BEIR folder that it is written to."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench_plugins.runs.collections import (
    BenchQuestion,
    TestCollection,
    Text,
    read_collection,
    write_beir,
)

MADE = TestCollection(
    "made",
    (Text("d1", "a cup\nof tea"), Text("d 2", "naïve “bike”")),
    (BenchQuestion("q1", "tea?", frozenset(["d1"])),),
)


def test_a_collection_comes_back(tmp_path: Path) -> None:
    write_beir(MADE, tmp_path / "made")
    back = read_collection(tmp_path / "made", "beir")
    assert (back.documents, back.questions) == (MADE.documents, MADE.questions)


def test_a_folder_that_holds_something_and_an_unknown_form_are_refused(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("kept")
    with pytest.raises(InputError, match="is not empty"):
        write_beir(MADE, tmp_path)
    with pytest.raises(InputError, match="There is no form"):
        read_collection(tmp_path, "csv")
