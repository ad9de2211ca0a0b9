"""The book and the workbench compute the same lists and scores: two independent programs, two SQLites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from tests.conftest import SAMPLE
from tests.stored_embedder import StoredEmbedder
from workbench import book
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Fate
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.openclaw import EIGHT

REPAIRS = {
    "query": ("join", "OR"),
    "keyword_score": ("keyword_score", book.min_max),
    "fusion": ("fuse", book.rank_fusion),
}
"""The book's argument for each change of the eight pipelines, by the slot that the change fills."""
FATES = {"returned": Fate.RETURNED, "below": Fate.BELOW_FLOOR, "beyond": Fate.BEYOND_LIMIT}


def check_same(
    index: book.Index, question: str, pipeline: Pipeline, theirs: MemoryIndex | CachedIndex
) -> None:
    """The book's list for a question is the package's: chunks, fates, ranks and scores, in the same order."""
    repaired = dict(REPAIRS[change.stage.slot] for change in pipeline.changes)
    found = book.cut(book.search(index, question, **repaired))  # type: ignore[arg-type]
    expected = search(question, pipeline, theirs).candidates
    assert [one.chunk.id for one in found] == [one.chunk.id for one in expected]
    assert [FATES[one.fate.split()[0]] for one in found] == [one.fate for one in expected]
    for mine, other in zip(found, expected, strict=True):
        numbers = {**mine.columns, "score": mine.score, "vector_raw": mine.distance, "keyword_raw": mine.bm25}
        for name, value in numbers.items():
            assert value == pytest.approx(other.numbers[name], abs=1e-9, nan_ok=True), (question, name)


@pytest.fixture(scope="module")
def read(sample: MemoryIndex) -> book.Index:
    """The sample memory in the book's index, with the vectors of the workbench.

    Both programs read the same vector of each question. A text that is embedded again, in a batch with
    other texts, gets a vector that may differ by 1e-8; which of the two does depends on the processor.
    """
    notes = {path: (SAMPLE / path).read_bytes().decode() for path in sample.paths()}
    model = StoredEmbedder(sample)
    built = book.build(notes, lambda texts: model.embed(texts, "passage").vectors, model.name)
    return replace(built, embed=lambda texts: model.embed(texts, "query").vectors)


def test_all_questions_have_the_same_lists_and_scores_in_the_eight_pipelines(
    read: book.Index, sample: MemoryIndex, questions: QuestionSet
) -> None:
    asked = [one.question for one in (*questions.questions, *questions.controls)]
    assert (len(asked), len(EIGHT)) == (77, 8)
    kept = CachedIndex(sample)
    for pipeline in EIGHT:
        for question in asked:
            check_same(read, question, pipeline, kept)


WORDS = ("tea", "cup", "bike", "hub", "disk", "backup", "naïve", "日本語", "чай", "OR", "x_1", "-", "🚲", '"')
lines = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
long_lines = st.tuples(st.sampled_from(WORDS), st.integers(1, 1700)).map(lambda one: one[0] * one[1])
texts = st.lists(st.one_of(lines, lines, long_lines), max_size=12).map("\n".join)
memories = st.dictionaries(st.sampled_from(["a.md", "b.md", "c.md", "d/e.md"]), texts, min_size=1)


@settings(max_examples=25)
@given(notes=memories, question=lines, pipeline=st.sampled_from(EIGHT))
@pytest.mark.parametrize("copies", [1, 2])
def test_generated_memories_have_the_same_lists_and_scores(
    tmp_path_factory: pytest.TempPathFactory,
    notes: Mapping[str, str],
    question: str,
    pipeline: Pipeline,
    copies: int,
) -> None:
    """With copies of each note, whole chunks tie in every number."""
    every = {f"{copy}{path}": text for path, text in notes.items() for copy in ("", "copy-")[:copies]}
    toy = world.EMBEDDER
    mine = book.build(every, lambda some: toy.embed(some, "passage").vectors, toy.name)
    with world.build(tmp_path_factory.mktemp("memory"), every) as theirs:
        check_same(mine, question, pipeline, theirs)


def test_an_explanation_leads_from_the_legs_to_the_fate() -> None:
    toy = world.EMBEDDER
    index = book.build(world.NOTES, lambda some: toy.embed(some, "passage").vectors, toy.name)
    (first, *_) = book.cut(book.search(index, "rear hub", join="OR"))
    assert book.explain(first).split("\n") == [
        "memory/bike.md:1-3",
        f"  vector leg: rank 1, score = 1 - {first.distance:.4f} = {first.columns['vector_score']:.4f}",
        f"  keyword leg: rank 1, bm25 {first.bm25:.4f}, score 1.0000",
        f"  fused score {first.score:.4f}: returned",
    ]


def test_a_score_just_below_the_floor_is_told_from_it() -> None:
    chunk = book.Chunk("1", "tea.md", 1, 1, "tea")
    scores = [0.2, 0.34996, 0.349996, 0.3499999999]
    told = [
        one.fate
        for score in scores
        for one in book.cut([book.Candidate(chunk, "", 0.0, 0.0, {}, score)], floor=0.35)
    ]
    assert told == [
        "below the floor: 0.2000 < 0.35",
        "below the floor: 0.34996 < 0.35",
        "below the floor: 0.349996 < 0.35",
        "below the floor: 0.3499999999 < 0.35",
    ]
