"""The options of `index_folder`: a value that is not allowed is refused before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests import world
from workbench.errors import InputError
from workbench.memory.index_files import default_index_path
from workbench.memory.sources import LineChunker


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ({"index_path": "index.sqlite"}, "index_path is a pathlib.Path, or None"),
        ({"store": Path("x")}, "store is an address, or None"),
        ({"like": "openclaw-2026.9.6"}, r"like is what workbench.indexing\(NAME\) returns, or None"),
        ({"chunker": 400}, r"chunker is an object with a name and chunk\(text\), or None"),
        ({"extra": "notes"}, "extra is a list of paths as text, or None"),
        ({"sources": ["sessions"]}, r"sources is a list of sources such as Sessions\(FOLDER\)"),
        ({"verify": "yes"}, "verify is True or False"),
        ({"skip": 1}, "skip is True or False"),
        ({"vectors_later": None}, "vectors_later is True or False"),
        ({"wait": -1}, "wait is seconds, 0 or more"),
        ({"wait": True}, "wait is seconds, 0 or more"),
    ],
)
def test_the_error_for_an_option_names_the_values_that_are_allowed(
    given: dict[str, Any], allowed: str
) -> None:
    name = next(iter(given))
    with pytest.raises(InputError, match=rf"Options\({name}=") as refused:
        wb.Options(**given)
    assert refused.match(allowed)


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="verfy"):
        wb.Options(verfy=True)  # type: ignore[call-arg]


def test_an_index_is_in_a_file_or_on_a_server(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="both in a file and on a server"):
        wb.Options(index_path=tmp_path / "i.sqlite", store="postgresql://localhost/x")


def test_a_chunker_takes_the_place_of_the_releases_own() -> None:
    like = wb.indexing("openclaw-2026.9.6")
    assert wb.Options(like=like).indexing == like
    cut = wb.Options(like=like, chunker=LineChunker(100, 20)).indexing
    assert (cut.chunker, cut.rules) == (LineChunker(100, 20), like.rules)
    assert wb.Options().leaves_sizes_open
    assert not wb.Options(like=like).leaves_sizes_open


def test_one_function_opens_a_folder_by_its_name_and_in_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    root = world.write(tmp_path / "notes")
    assert wb.open is wb.open_index
    with pytest.raises(InputError, match="has no index yet"):
        wb.open_index(root, world.EMBEDDER)
    wb.index_folder(root, world.EMBEDDER)
    wb.index_folder(root, world.EMBEDDER, options=wb.Options(index_path=tmp_path / "other.sqlite"))
    with wb.open_index(root, world.EMBEDDER) as usual:
        assert usual.name == str(default_index_path(root))
    with wb.open_index(root, world.EMBEDDER, index_path=tmp_path / "other.sqlite") as other:
        assert other.name == str(tmp_path / "other.sqlite")
