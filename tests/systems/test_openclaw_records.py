"""OpenClaw's releases between 2026.2.12 and 2026.9.6 against our pipelines, on the folder of oddities."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import SAMPLE
from tests.replaying import openclaw as replaying
from tests.run_records import load, replayed
from workbench.contracts import Index
from workbench.memory.chunking import chunker_of_file
from workbench.memory.index import default_index_path
from workbench.memory.sources import Indexing
from workbench.records import Hits, Query
from workbench.systems.indexing import indexing
from workbench.systems.openclaw import layouts
from workbench.systems.openclaw.fts_table import TextTable, Tokenizer
from workbench.systems.openclaw.layouts import TextsLaidOut, TrigramIndex

RECORDS = Path(__file__).parent.parent / "records"
SYSTEMS = {
    "2026.2.17": "openclaw-2026.2.15",
    "2026.3.1": "openclaw-2026.2.27",
    "2026.3.7": "openclaw-2026.3.7",
    "2026.3.31-trigram": "openclaw-2026.3.31-trigram",
    "2026.7.1": "openclaw-2026.7.1",
}
"""The recorded build, and our pipeline of the last release before it that changed the scoring."""

TIED = {
    "2026.3.7": [],
    "2026.3.31-trigram": ["Windows"],
    "2026.7.1": ["Tea.notes.md", "中文笔记", "お茶の値段", "Windows"],
}
"""Questions whose tenth result is one of two chunks with equal scores; OpenClaw stored the other first."""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded folder of oddities."""
    root = tmp_path_factory.mktemp("odd")
    with gzip.open(RECORDS / "odd.json.gz", "rt", encoding="utf-8") as file:
        for path, text in json.load(file).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text.encode())
    return root


def differing(release: str, odd: Path) -> list[str]:
    """The questions whose lists are not the recorded ones; a question that differs twice is there twice."""
    system = SYSTEMS[release]
    kept = default_index_path(SAMPLE).parent / f"records-by-mkl-as-{indexing(system).name}"
    compared = list(replayed(load(RECORDS / f"openclaw-{release}.json.gz"), system, {"odd": odd}, "", kept))
    assert len(compared) == 262
    return [one.asked.question for one in compared if one.difference]


@pytest.mark.parametrize(
    ("release", "equal"),
    [("2026.2.17", 261), ("2026.3.1", 262), ("2026.3.7", 132), ("2026.3.31-trigram", 162), ("2026.7.1", 72)],
)
def test_so_many_lists_are_the_recorded_ones(release: str, equal: int, odd: Path) -> None:
    """Since 2026.3.7 a keyword score depends on bm25, and ours counts equal passages of a line once."""
    assert 262 - len(differing(release, odd)) == equal


@pytest.mark.parametrize("release", ["2026.3.7", "2026.3.31-trigram", "2026.7.1"])
def test_with_a_row_for_every_passage_in_the_full_text_table_the_lists_are_the_recorded_ones(
    release: str, odd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_passage_counts(monkeypatch, indexing(SYSTEMS[release]))
    assert differing(release, odd) == TIED[release]


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
