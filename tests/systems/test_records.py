"""OpenClaw's pipelines give what its releases gave, end to end, and over the stores that these wrote."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import SAMPLE
from tests.run_records import Compared, load, replayed
from workbench.memory.index import default_index_path
from workbench.memory.store.sqlite.store import Store
from workbench.systems.openclaw.live.store import LiveStore

RECORDS = Path(__file__).parent.parent / "records"
RELEASES = ("2026.2.12", "2026.9.6")

STORED_LATER = {"2026.2.12": {"Windows"}, "2026.9.6": set[str]()}
"""Questions whose tenth result is one of two files with the same text: OpenClaw stored same-b.md first."""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded folder of oddities: scripts, annotations, long lines, blank and empty files."""
    root = tmp_path_factory.mktemp("odd")
    with gzip.open(RECORDS / "odd.json.gz", "rt", encoding="utf-8") as file:
        for path, text in json.load(file).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text.encode())
    return root


def store(name: str, folder: Path) -> Path:
    """A store as the release wrote it."""
    file = folder / f"{name}.sqlite"
    file.write_bytes(gzip.decompress((RECORDS / f"{name}.sqlite.gz").read_bytes()))
    return file


def kept(release: str) -> Path:
    """Where the indexes of a release stay, so that texts are embedded once."""
    return default_index_path(SAMPLE).parent / f"records-{release}"


def replay(release: str, system: str = "", **folders: Path) -> list[Compared]:
    """The record of a release, replayed on these folders."""
    record = load(RECORDS / f"openclaw-{release}.json.gz")
    named = {name.replace("_", "-"): folder for name, folder in folders.items()}
    return list(replayed(record, system or f"openclaw-{release}", named, keep=kept(release)))


def unequal(compared: Sequence[Compared]) -> dict[str, str]:
    """What differs, by question."""
    return {one.asked.question: one.difference for one in compared if one.difference}


@pytest.mark.parametrize("release", RELEASES)
def test_every_list_of_the_sample_is_the_recorded_one(release: str) -> None:
    compared = replay(release, sample=SAMPLE, sample_extra=SAMPLE)
    assert len(compared) == 314
    assert unequal(compared) == {}


@pytest.mark.parametrize("release", RELEASES)
def test_every_list_of_the_oddities_is_the_recorded_one(release: str, odd: Path) -> None:
    compared = replay(release, odd=odd)
    assert len(compared) == 262
    assert unequal(compared).keys() == STORED_LATER[release]


@pytest.mark.parametrize("release", RELEASES)
def test_every_list_over_the_released_systems_own_store_is_the_recorded_one(
    release: str, tmp_path: Path
) -> None:
    compared = replay(release, odd=store(f"odd-{release}", tmp_path))
    assert len(compared) == 262
    assert unequal(compared) == {}


def test_another_release_is_told_apart(odd: Path) -> None:
    assert len(unequal(replay("2026.9.6", "openclaw-2026.2.13", odd=odd))) > 100


@pytest.mark.parametrize("release", RELEASES)
def test_an_index_made_as_a_release_has_the_chunks_of_its_store(
    release: str, odd: Path, tmp_path: Path
) -> None:
    replay(release, odd=odd)
    with Store.open(kept(release) / "odd" / "index.sqlite") as ours:
        here = {(one.path, one.start_line, one.end_line, one.text) for one in _chunks(ours)}
        files = set(ours.stamps())
    with LiveStore(store(f"odd-{release}", tmp_path)) as theirs:
        there = {(one.path, one.start_line, one.end_line, one.text) for one in _chunks(theirs)}
        assert files == set(theirs.stamps())
    assert here == there


def _chunks(opened: Store | LiveStore) -> list:  # type: ignore[type-arg]
    return [chunk for path in opened.stamps() for chunk in opened.chunks(opened.rows_of(path))]


def test_the_trigram_store_is_searched_as_the_other_one(tmp_path: Path) -> None:
    trigram, plain = (
        replay("2026.9.6", "openclaw-2026.9.6-trigram", odd=store(name, tmp_path))
        for name in ("odd-2026.9.6-trigram", "odd-2026.9.6")
    )
    assert [one.difference for one in trigram] == [one.difference for one in plain]
