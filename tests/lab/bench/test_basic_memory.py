"""Basic Memory's benchmark: sessions as notes, and what was measured on LoCoMo."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import world
from workbench.errors import InputError
from workbench.lab.bench.basic_memory import (
    Report,
    bench,
    line,
    main,
    precision_at_k,
    session_index,
    session_note,
)
from workbench.lab.bench.locomo import Locomo, LocomoQuestion, SessionDocument, load
from workbench.lab.cached_index import CachedIndex
from workbench.memory.index import MemoryIndex
from workbench.systems.basic_memory import pipelines as bm
from workbench.systems.basic_memory.notes import note_of


def test_precision_is_over_the_hits_that_there_are() -> None:
    assert precision_at_k(["x", "a", "y", "b"], {"a", "b"}, 5) == 2 / 4
    assert precision_at_k([], {"a"}, 5) == 0


def session(number: int, *turns: str) -> SessionDocument:
    id_ = f"locomo-c00-s0{number}"
    body = "\n".join(["# Chat session", "", *(f"- **Wren:** {turn}" for turn in turns)])
    return SessionDocument(id_, f"{id_} (8 May)", body, 0, number)


def question(text: str, category: int, *truth: int) -> LocomoQuestion:
    documents = frozenset(f"locomo-c00-s0{number}" for number in truth)
    return LocomoQuestion(text, category, 0, frozenset(), documents, "")


SESSIONS = Locomo(
    (session(1, "a cup of tea", "more tea"), session(2, "the bike hub squeals"), session(3, "a server disk")),
    (),
    (
        question("who drank tea today ?", 1, 1),
        question("which bike hub squeals ?", 1, 2, 3),
        question("nothing known ?", 5),
    ),
    0,
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    with session_index(SESSIONS, world.EMBEDDER, tmp_path_factory.mktemp("bench") / "x.sqlite") as index:
        yield index


def test_the_benchmark_means_every_question_and_tells_categories_apart(small: MemoryIndex) -> None:
    report = bench(SESSIONS, bm.UNGATED, 0.5, small)
    assert report.overall.recall_5 == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert (report.overall.mrr, report.overall.n) == (pytest.approx(2 / 3), 3)
    assert {number: one.n for number, one in report.by_category.items()} == {1: 2, 5: 1}
    assert report.headline.recall_10 == pytest.approx((1 + 1 / 2) / 2)


def test_the_benchmark_counts_empty_keyword_legs(small: MemoryIndex) -> None:
    assert bench(SESSIONS, bm.DEAD_FTS, 0.5, small).empty_keyword_legs == 3
    assert bench(SESSIONS, bm.UNGATED, 0.5, small).empty_keyword_legs == 1
    assert line("before", bench(SESSIONS, bm.DEAD_FTS, 0.5, small)).startswith("before")


def test_the_benchmarks_vector_text_is_title_permalink_and_body(small: MemoryIndex) -> None:
    rows = small.rows_of("locomo-c00-s01.md")
    assert [one.text for one in small.chunks(rows)] == [
        "locomo-c00-s01 (8 May)\n\nbm-bench-run/locomo-c00-s01\n\n# Chat session",
        "- **Wren:** a cup of tea",
        "- **Wren:** more tea",
    ]


def test_the_benchmarks_full_text_row_has_title_and_permalink_of_the_session() -> None:
    note = note_of(session_note(SESSIONS.documents[0]), "bm-bench-run")
    assert (note.title, note.permalink) == ("locomo-c00-s01 (8 May)", "bm-bench-run/locomo-c00-s01")


class Counting:
    """The toy embedder, and how many texts it was given."""

    def __init__(self) -> None:
        self.texts = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(world.EMBEDDER, name)

    def embed(self, some: Sequence[str], role: Any) -> Any:
        self.texts += len(some)
        return world.EMBEDDER.embed(some, role)


def test_vectors_are_kept_between_runs(tmp_path: Path) -> None:
    counting, fewer = Counting(), replace(SESSIONS, documents=SESSIONS.documents[:2])
    for data in (SESSIONS, fewer, SESSIONS):
        with session_index(data, counting, tmp_path / "x.sqlite") as index:
            assert len(index.documents()) == len(data.documents)
            chunks = index.size
    assert counting.texts == chunks + len(SESSIONS.questions)


def test_a_pipeline_that_searches_chunks_cannot_be_benchmarked(small: MemoryIndex) -> None:
    with pytest.raises(InputError, match="does not search notes"):
        bench(SESSIONS, replace(bm.HEAD, layout=None), 0.5, small)


def test_data_that_cannot_be_read_exit_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.json")]) == 2
    assert "none.json cannot be read" in capsys.readouterr().err


FOLDER = os.environ.get("WORKBENCH_LOCOMO")
needs_locomo = pytest.mark.skipif(FOLDER is None, reason="WORKBENCH_LOCOMO names no folder with locomo5.json")

VARIANTS = {
    "vector only": bm.VECTOR_ONLY,
    "232f4690": bm.DEAD_FTS,
    "232f4690, RRF": bm.SCORED_RRF,
    "a6d07843 punctuation": bm.DEAD_FTS.but(bm.PUNCTUATION),
    "a6d07843": bm.UNGATED,
    "16869867": bm.GATED,
    "16869867, RRF": bm.GATED.but(bm.RANKS_AGAIN),
    "a2f5edfa": bm.CJK_REGRESS,
    "1f56fc76": bm.HEAD,
}
MEASURED = {
    ("vector only", 0.0): (0.698, 0.817, 0.576),
    ("vector only", 0.3): (0.697, 0.816, 0.575),
    ("vector only", 0.55): (0.466, 0.481, 0.430),
    ("232f4690", 0.0): (0.698, 0.817, 0.576),
    ("232f4690", 0.3): (0.697, 0.816, 0.575),
    ("232f4690", 0.55): (0.466, 0.481, 0.430),
    ("232f4690, RRF", 0.55): (0.466, 0.481, 0.430),
    ("a6d07843 punctuation", 0.0): (0.711, 0.824, 0.609),
    ("a6d07843 punctuation", 0.3): (0.710, 0.823, 0.609),
    ("a6d07843 punctuation", 0.55): (0.507, 0.521, 0.481),
    ("a6d07843", 0.0): (0.811, 0.891, 0.725),
    ("a6d07843", 0.3): (0.818, 0.895, 0.729),
    ("a6d07843", 0.55): (0.787, 0.842, 0.712),
    ("16869867", 0.0): (0.793, 0.861, 0.710),
    ("16869867", 0.3): (0.795, 0.864, 0.714),
    ("16869867", 0.55): (0.746, 0.791, 0.687),
    ("16869867, RRF", 0.0): (0.809, 0.877, 0.735),
    ("a2f5edfa", 0.0): (0.685, 0.787, 0.623),
    ("a2f5edfa", 0.3): (0.699, 0.795, 0.629),
    ("a2f5edfa", 0.55): (0.669, 0.731, 0.611),
    ("1f56fc76", 0.0): (0.798, 0.867, 0.722),
    ("1f56fc76", 0.3): (0.800, 0.869, 0.725),
    ("1f56fc76", 0.55): (0.753, 0.798, 0.700),
}
"""Recall@5, recall@10, MRR by variant and min similarity: five conversations of LoCoMo, all-MiniLM-L6-v2."""


@pytest.fixture(scope="module")
def locomo() -> Locomo:
    folder = Path(str(FOLDER))
    return load(folder / "locomo5.json", folder / "corrections5.json")


@pytest.fixture(scope="module")
def sessions(locomo: Locomo) -> Iterator[CachedIndex]:
    with session_index(locomo) as index:
        yield CachedIndex(index)


@needs_locomo
def test_locomo_is_cut_into_as_many_chunks_as_was_counted(locomo: Locomo, sessions: CachedIndex) -> None:
    assert (len(locomo.documents), len(locomo.questions), sessions._index.size) == (136, 1_020, 3_096)


@needs_locomo
@pytest.mark.parametrize(("variant", "least"), MEASURED, ids=lambda one: str(one))
def test_a_variant_does_on_locomo_what_was_measured(
    locomo: Locomo, sessions: CachedIndex, variant: str, least: float
) -> None:
    report: Report = bench(locomo, VARIANTS[variant], least, sessions)
    got = report.overall
    assert (got.recall_5, got.recall_10, got.mrr) == pytest.approx(MEASURED[variant, least], abs=0.005)


@needs_locomo
def test_no_question_of_locomo_found_anything_by_keyword_before_994(
    locomo: Locomo, sessions: CachedIndex
) -> None:
    assert bench(locomo, bm.DEAD_FTS, 0.0, sessions).empty_keyword_legs == len(locomo.questions)
