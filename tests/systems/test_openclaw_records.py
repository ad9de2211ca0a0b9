"""OpenClaw's releases from 2026.2.12 to 2026.9.6 against our pipelines, and over their own stores."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import world
from tests.conftest import SAMPLE
from tests.replaying import openclaw as replaying
from tests.run_records import Compared, load, replayed
from workbench.contracts import Index
from workbench.memory.index_files import default_index_path
from workbench.memory.sources import Indexing, chunker_of_file
from workbench.memory.store.sqlite.store import Store
from workbench.records import Hits, Query
from workbench.systems.catalogue import indexing
from workbench_plugins.openclaw import keyword as layouts
from workbench_plugins.openclaw.keyword import TextsLaidOut, TextTable, Tokenizer, TrigramIndex
from workbench_plugins.openclaw.live_index import LiveIndex, LiveStore

pytestmark = pytest.mark.usefixtures("embedded_once")

RECORDS = Path(__file__).parent.parent / "records"
SYSTEMS = {
    "2026.2.17": "openclaw-2026.2.15",
    "2026.3.1": "openclaw-2026.2.27",
    "2026.3.7": "openclaw-2026.3.7",
    "2026.3.31-trigram": "openclaw-2026.3.31-trigram",
    "2026.7.1": "openclaw-2026.7.1",
}
"""The recorded build, and our pipeline of the last release before it that changed the scoring."""


def differing(release: str, odd: Path) -> list[str]:
    """The questions whose lists are not the recorded ones; a question that differs twice is there twice.

    Lists that differ only in the rows with the last score count as equal: two chunks have the same text, or
    nearly, and which of them is the tenth result depends on the last digits of their vectors, so on the
    processor.
    """
    system = SYSTEMS[release]
    kept = default_index_path(SAMPLE).parent / f"records-by-mkl-as-{indexing(system).name}"
    compared = list(replayed(load(RECORDS / f"openclaw-{release}.json.gz"), system, {"odd": odd}, "", kept))
    assert len(compared) == 262
    return [one.asked.question for one in compared if one.difference and not one.tied_at_end]


@pytest.mark.parametrize(
    ("release", "equal"),
    [("2026.2.17", 262), ("2026.3.1", 262), ("2026.3.7", 132), ("2026.3.31-trigram", 162), ("2026.7.1", 74)],
)
def test_so_many_lists_are_the_recorded_ones(release: str, equal: int, odd: Path) -> None:
    """Since 2026.3.7 a keyword score depends on bm25, and ours counts equal passages of a line once."""
    assert 262 - len(differing(release, odd)) == equal


@pytest.mark.parametrize("release", ["2026.3.7", "2026.3.31-trigram", "2026.7.1"])
def test_with_a_row_for_every_passage_in_the_full_text_table_the_lists_are_the_recorded_ones(
    release: str, odd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_passage_counts(monkeypatch, indexing(SYSTEMS[release]))
    assert differing(release, odd) == []


def every_passage_counts(monkeypatch: pytest.MonkeyPatch, like: Indexing) -> None:
    """Lets the replay's full-text tables have a row for every passage, as OpenClaw's have."""
    opened = replaying._opened

    @contextmanager
    def with_every_passage(*given: Any) -> Iterator[Index]:
        with opened(*given) as index:
            yield EveryPassage(index, laid_out(index, like, "unicode61"))

    monkeypatch.setattr(replaying, "_opened", with_every_passage)
    monkeypatch.setattr(layouts, "_texts", lambda index, *_: laid_out(index, like, "trigram"))
    monkeypatch.setattr(layouts, "TrigramIndex", EveryPassage)


class EveryPassage(TrigramIndex):
    """An index over such a table; equal passages are one hit, as they are one chunk."""

    def __init__(self, inner: Index, texts: TextsLaidOut, apart: layouts.Apart = lambda _: False) -> None:
        super().__init__(inner, texts, apart)

    def keyword(self, query: Query, limit: int) -> Hits:
        hits = super().keyword(query, limit)
        places = sorted({int(row): place for place, row in reversed(list(enumerate(hits.rows)))}.values())
        return Hits(hits.rows[places], hits.raw[places])


def laid_out(index: Index, like: Indexing, tokenizer: Tokenizer) -> TextsLaidOut:
    """The texts of all passages in a table, in the order of the index, and each one's row in the index."""
    passages: list[tuple[int, str]] = []
    for document in index.documents() or ():
        rows = index.rows_of(document.path)
        keys = [(one.start_line, one.end_line, one.text) for one in index.chunks(rows)]
        known = dict(zip(keys, rows.tolist(), strict=True))
        for one in chunker_of_file(like.chunker, document.path).chunk(document.text):
            if one.text.strip():
                passages.append((known[one.start_line, one.end_line, one.text], one.text))
    passages.sort(key=lambda pair: pair[0])
    table = TextTable([text for _, text in passages], tokenizer, "like")
    return TextsLaidOut(table, np.array([row for row, _ in passages], np.int64))


# The releases whose indexing is ours, end to end, and over the stores that they wrote

RELEASES = ("2026.2.12", "2026.9.6")

STORED_LATER = {"2026.2.12": {"Windows"}, "2026.9.6": set[str]()}
"""Questions whose tenth result is one of two files with the same text: OpenClaw stored same-b.md first."""


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
def test_every_list_over_a_releases_own_store_is_the_recorded_one(release: str, tmp_path: Path) -> None:
    compared = replay(release, odd=store(f"odd-{release}", tmp_path))
    assert len(compared) == 262
    assert unequal(compared) == {}


def test_another_release_is_told_apart(odd: Path) -> None:
    assert len(unequal(replay("2026.9.6", "openclaw-2026.2.13", odd=odd))) > 100


@pytest.mark.parametrize("release", RELEASES)
def test_an_index_made_as_a_release_has_its_chunks(release: str, odd: Path, tmp_path: Path) -> None:
    replay(release, odd=odd)
    with Store.open(kept(release) / "odd" / "index.sqlite") as ours:
        here = {(one.path, one.start_line, one.end_line, one.text) for one in _chunks(ours)}
        files = set(ours.stamps())
    with LiveIndex(LiveStore(store(f"odd-{release}", tmp_path)), world.EMBEDDER) as theirs:
        there = {(one.path, one.start_line, one.end_line, one.text) for one in _chunks(theirs)}
        assert files == set(theirs.stamps())
    assert here == there


def _chunks(opened: Store | LiveIndex) -> list:  # type: ignore[type-arg]
    return [chunk for path in opened.stamps() for chunk in opened.chunks(opened.rows_of(path))]


def test_the_trigram_store_is_searched_as_the_other_one(tmp_path: Path) -> None:
    trigram, plain = (
        replay("2026.9.6", "openclaw-2026.9.6-trigram", odd=store(name, tmp_path))
        for name in ("odd-2026.9.6-trigram", "odd-2026.9.6")
    )
    assert [one.difference for one in trigram] == [one.difference for one in plain]
