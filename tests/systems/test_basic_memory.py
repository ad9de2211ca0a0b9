"""Basic Memory: its table, its notes, its scores and its profiles."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests import world
from tests.hand import answering
from tests.memory.test_store import bm25
from tests.world import written
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.records import Document, Fate, Trace
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import Pipeline, search
from workbench_plugins.basic_memory import pipelines as bm
from workbench_plugins.basic_memory.notes import (
    LONGEST_STEMS,
    EachColumn,
    Matching,
    Note,
    NoteIndex,
    NotesLayout,
    NoteStore,
    OneMatch,
    note_of,
)
from workbench_plugins.basic_memory.pipelines import MinSimilarity

PROFILES = (bm.SCORED_RRF, bm.DEAD_FTS, bm.UNGATED, bm.GATED, bm.CJK_REGRESS, bm.HEAD)
QUESTION = "Who drinks rooibos in the afternoon?"

# The full-text table


TITLES = ["Session one", "Summer trip", "Other notes", "Misc", "More"]
BODIES = ["her identity and identity work", "a sunny day", "hello", "filler words only", "yet another filler"]
TABLE = NoteStore([Note(title, body, "", "") for title, body in zip(TITLES, BODIES, strict=True)])


@pytest.mark.parametrize("word", ["identity", "filler", "trip", "one"])
@pytest.mark.parametrize("matching", [EachColumn(), OneMatch()], ids=["each column", "one match"])
def test_bm25_of_a_word_is_that_of_ten_lines_of_python(word: str, matching: Matching) -> None:
    found = TABLE.search(written(word), 10, matching)
    expected = bm25([word], [f"{title} {body}".lower() for title, body in zip(TITLES, BODIES, strict=True)])
    assert found.rows.size == sum(number < 0 for number in expected)
    assert found.raw == pytest.approx([expected[row] for row in found.rows], rel=1e-9)


def test_a_row_of_the_titles_scan_is_scored_on_its_title_alone() -> None:
    """The best note of the table comes last: s* is in its title, and that is all that counts."""
    each, one = (TABLE.search(written("s* OR identity"), 10, how) for how in (EachColumn(), OneMatch()))
    assert one.rows[0] == 0
    assert each.raw[each.rows == 0] > one.raw[one.rows == 0] / 2
    (alone,) = TABLE.search(written("{title} : (s*)"), 10, EachColumn()).raw[:1]
    assert alone < 0


def test_a_slash_parts_two_words_although_the_tokenizer_is_told_otherwise() -> None:
    store = NoteStore([Note("Tea", "see docs/tea", "", "")])
    assert store.search(written("docs"), 10, EachColumn()).rows.size == 1


@pytest.mark.parametrize("broken", ["tea AND", "*", "(tea", "nowhere : tea"])
def test_an_expression_that_fts5_cannot_parse_finds_nothing(broken: str) -> None:
    assert TABLE.search(written(broken), 10, EachColumn()).rows.size == 0


def test_equal_numbers_are_in_the_order_of_the_notes() -> None:
    store = NoteStore([Note("Tea", "cup", "", "")] * 5)
    assert store.search(written("cup"), 3, EachColumn()).rows.tolist() == [0, 1, 2]


# A memory as notes


def document(text: str, path: str = "memory/Tea Time.md") -> Document:
    return Document(path, "memory", text, "", len(text), 0)


def test_a_note_takes_its_title_permalink_and_tags_from_its_head() -> None:
    note = note_of(document("---\ntitle: On tea\npermalink: x/on-tea\ntags: [cups]\n---\n\nBody.\n"), "main")
    assert (note.title, note.permalink, note.content_snippet) == ("On tea", "x/on-tea", "Body.")
    assert note.content_stems.splitlines()[-1] == "cups"
    assert "title:" not in note.content_stems


def test_a_note_without_a_head_is_named_after_its_file() -> None:
    note = note_of(document("# Tea\nA cup."), "main")
    assert (note.title, note.permalink, note.content_snippet) == (
        "Tea Time",
        "main/memory/tea-time",
        "# Tea\nA cup.",
    )


def test_what_is_beyond_6000_characters_is_found_since_the_snippet_is_searched(tmp_path: Path) -> None:
    early, late = "x" * 100, "zebra"
    with world.build(tmp_path, {"MEMORY.md": f"{early}\n" + "tea " * (LONGEST_STEMS // 4) + late}) as index:
        assert search("tea", bm.CJK_REGRESS, index).legs["keyword"].hits.rows.size == 1
        assert search(late, bm.CJK_REGRESS, index).legs["keyword"].hits.rows.size == 0
        assert search(late, bm.HEAD, index).legs["keyword"].hits.rows.size == 1


def test_the_body_counts_twice_in_bm25_also_where_the_snippet_is_not_searched() -> None:
    """Every other row has one word. A body of two words makes a row of two, and of four with the snippet."""
    once, twice = (
        NoteStore([Note("", "cup of", snippet, ""), *[Note("", "pot", "", "")] * 3]).search(
            written("cup"), 1, EachColumn()
        )
        for snippet in ("", "cup of")
    )
    idf = math.log(3.5 / 1.5)
    for found, length, mean in ((once, 2, 5 / 4), (twice, 4, 7 / 4)):
        assert found.raw == pytest.approx([-idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length / mean))])


def laid(index: MemoryIndex) -> NoteIndex:
    notes = NotesLayout().of(index)
    assert isinstance(notes, NoteIndex)
    return notes


def test_a_note_is_as_near_as_its_nearest_chunk(sample: MemoryIndex) -> None:
    query = sample.embed("where to send urgent notifications")
    found = laid(sample).vector(query, 1_000)
    rows, vectors = sample.store.matrix()
    every = zip(sample.chunks(rows), 1 - vectors.astype(float) @ query.astype(float), strict=True)
    nearest: dict[str, float] = {}
    for chunk, distance in every:
        nearest[chunk.path] = min(distance, nearest.get(chunk.path, 2.0))
    paths = [chunk.path for chunk in laid(sample).chunks(found.rows)]
    assert paths == sorted(nearest, key=lambda path: nearest[path])
    assert found.raw == pytest.approx([nearest[path] for path in paths], abs=1e-6)


def test_a_layout_is_forgotten_with_its_index(tmp_path: Path) -> None:
    index = world.build(tmp_path)
    layout = weakref.ref(laid(index).notes)
    assert layout() is not None
    index.close()
    del index
    gc.collect()
    assert layout() is None


def test_an_index_without_documents_cannot_be_laid_out_as_notes() -> None:
    with pytest.raises(InputError, match=r"The index FixedIndex keeps no whole documents.*whole notes"):
        NotesLayout().of(answering())


def test_a_note_that_no_leg_brought_is_explained(toy: MemoryIndex) -> None:
    trace = search("rooibos", bm.HEAD, toy)
    assert explain(trace, toy, "memory/tea.md").fate is Fate.RETURNED
    assert explain(trace, toy, "memory/server.md").fate is Fate.BELOW_LEG_FLOOR


# Scores


def asked(pipeline: Pipeline, keyword: Mapping[str, float], vector: Mapping[str, float]) -> Trace:
    """The trace over legs that give these bm25 numbers and cosine similarities."""
    return search("X", pipeline, answering(keyword, {name: 1 - near for name, near in vector.items()}))


def scores(trace: Trace) -> dict[str, float]:
    return {one.chunk.id: one.score for one in trace.results}


def test_one_weak_keyword_hit_outranks_a_strong_vector_hit() -> None:
    assert scores(asked(bm.HEAD, {"a": -1e-6}, {"b": 0.86})) == pytest.approx({"a": 1.0, "b": 0.86})


def test_a_vector_hit_below_the_minimum_is_dropped_and_keeps_its_number() -> None:
    trace = asked(bm.HEAD, {}, {"a": 0.55, "b": 0.54})
    (dropped,) = [one for one in trace.candidates if one.dropped_by]
    assert dropped.dropped_by == MinSimilarity(0.55)
    assert (dropped.chunk.id, dropped.numbers["similarity"]) == ("b", pytest.approx(0.54))


@pytest.mark.parametrize("pipeline", [bm.HEAD, bm.SCORED_RRF], ids=["max + min", "RRF"])
def test_a_keyword_hit_below_the_minimum_stays_as_if_found_by_keyword_alone(pipeline: Pipeline) -> None:
    both, alone = asked(pipeline, {"a": -1.0}, {"a": 0.5}), asked(pipeline, {"a": -1.0}, {})
    assert scores(both) == scores(alone)
    assert np.isnan(both.columns["vector_score"]).all()


# The profiles


@pytest.mark.parametrize(
    ("before", "after", "slots"),
    [
        (bm.SCORED_RRF, bm.DEAD_FTS, {"fusion"}),
        (bm.DEAD_FTS, bm.UNGATED, {"query", "relaxation"}),
        (bm.UNGATED, bm.GATED, {"relaxation"}),
        (bm.GATED, bm.CJK_REGRESS, {"relaxation"}),
        (bm.CJK_REGRESS, bm.HEAD, {"layout", "relaxation"}),
        (bm.CJK_REGRESS, bm.ONE_MATCH, {"layout"}),
        (bm.HEAD, bm.HEAD.with_changes(bm.MIN_SIMILARITY_0), {"min_similarity"}),
    ],
    ids=lambda one: one.name if isinstance(one, Pipeline) else "",
)
def test_a_profile_differs_from_the_one_before_it_in_what_its_changes_say(
    before: Pipeline, after: Pipeline, slots: set[str]
) -> None:
    assert {one.slot for one in before.diff(after)} == slots


@pytest.mark.parametrize("pipeline", PROFILES, ids=[one.name for one in PROFILES])
def test_a_profile_keeps_what_is_as_similar_as_shipped_and_says_for_which_model(pipeline: Pipeline) -> None:
    assert pipeline["min_similarity"] == MinSimilarity(0.55)
    assert "bge-small" in str(pipeline)


def test_an_explanation_says_why_a_keyword_hit_has_no_vector_score(tmp_path: Path) -> None:
    notes = {"memory/tea.md": "# Tea\n\nRooibos.\n", "memory/disk.md": "# Disk\n\nThe server is full.\n"}
    with world.build(tmp_path, notes) as index:
        for least, expected in ((1.0, True), (0.0, False)):
            pipeline = bm.HEAD.with_stage(MinSimilarity(least))
            trace = search("rooibos of the server", pipeline, index)
            assert trace.legs["keyword"].hits.rows.size == 2
            told = explain(trace, index, "memory/tea.md").text()
            assert ("vector score absent: similarity " in told) == expected


def test_a_possessive_in_a_question_buries_the_best_note_between_1022_and_1269(tmp_path: Path) -> None:
    """Every title has a word with s: with s* the title's scan finds every note, and scores it near 0."""
    places = {
        "a": "Ada likes identity politics, identity papers and identity theory.",
        "b": "Nothing.",
        "c": "Tea.",
    }
    written = {f"memory/s0{name} notes.md": f"{text}\n" for name, text in places.items()}
    with world.build(tmp_path, written) as index:
        found = {
            pipeline.name: search("What is Ada's identity?", pipeline, index).legs["keyword"].hits
            for pipeline in (bm.CJK_REGRESS, bm.HEAD, bm.ONE_MATCH)
        }
    assert found["bm-cjk-regress"].rows.size == 3
    assert np.ptp(found["bm-cjk-regress"].raw) < 1e-5
    assert found["bm-head"].rows.size == 1
    assert found["bm-cjk-regress-one-match"].raw[0] < -0.1
