"""Basic Memory: queries, notes, scores and benchmark, against arithmetic and second opinions."""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from tests.adapters import Case, adapter_for
from tests.adapters.openclaw_february import FixedIndex
from workbench.lab.bench_basic_memory import (
    Report,
    bench,
    line,
    main,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
    session_index,
    session_note,
)
from workbench.lab.cached import CachedIndex
from workbench.lab.lint import reach
from workbench.lab.locomo import Locomo, LocomoQuestion, SessionDocument, load
from workbench.memory.chunking_bullets import BulletChunker
from workbench.memory.index import MemoryIndex
from workbench.memory.note_store import EachColumn, Matching, Note, NoteStore, OneMatch
from workbench.memory.sync import index_folder
from workbench.records import Chunk, Document, InputError, Trace
from workbench.retrieval.explain import Fate, explain
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems import basic_memory as bm
from workbench.systems import basic_memory_notes as notes
from workbench.systems.basic_memory_notes import LONGEST_STEMS, NoteIndex, NotesView, note_of, variants
from workbench.systems.basic_memory_query import EDGES, strict_match, strict_tsquery
from workbench.systems.basic_memory_relaxation import (
    AnyPlainWord,
    AnyToken,
    AnyUnicodeToken,
    GatedPlainWord,
    service_may_relax,
)
from workbench.systems.basic_memory_scores import MinSimilarity, PageDepth, similarity_of_l2

PROFILES = (bm.SCORED_RRF, bm.DEAD_FTS, bm.UNGATED, bm.GATED, bm.CJK_REGRESS, bm.HEAD)
QUESTION = "Who drinks rooibos in the afternoon?"

WORDS = st.lists(
    st.sampled_from(["tea", "Cup", "naïve", "don't", "как", "季度", "e2e", "well-fed"]), min_size=1
)
TEXTS = st.one_of(st.text(max_size=40), WORDS.map(" ".join))


# The strict query


def test_before_994_a_question_mark_makes_a_phrase_that_no_note_has(toy: MemoryIndex) -> None:
    trace = search(QUESTION, bm.DEAD_FTS, toy)
    assert trace.match == f'"{QUESTION}"*'
    assert trace.legs["keyword"].hits.rows.size == 0


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=2, max_size=8))
def test_994_finds_the_note_that_has_all_the_words_of_a_question(words: list[str]) -> None:
    store = NoteStore([Note("Title", " ".join(words), "", "")])
    match = strict_match(" ".join(words).capitalize() + "?", EDGES)
    assert store.search(match, 10, EachColumn()).rows.tolist() == [0]


def test_an_apostrophe_still_makes_a_phrase_after_994() -> None:
    assert strict_match("What's in Ada's cup?", EDGES) == "\"What's in Ada's cup\"*"


def test_a_path_to_a_note_gets_no_star() -> None:
    assert strict_match("docs/tea.md") == '"docs/tea.md"'
    assert strict_match("docs/tea") == '"docs/tea"*'


def test_an_operand_of_two_words_demands_both() -> None:
    assert (
        strict_match("(green tea OR rooibos) NOT cup-shaped") == '(green AND tea OR rooibos) NOT "cup-shaped"'
    )


def test_postgres_replaces_its_operators_by_blanks() -> None:
    assert strict_tsquery("tea & (cup):", "?!.,;") == "tea:* & cup:*"


@given(TEXTS)
def test_any_text_has_a_strict_query_that_can_be_asked(text: str) -> None:
    store = NoteStore([Note("Title", "a cup of tea", "", "")])
    if match := strict_match(text.strip(), EDGES):
        assert store.search(match.replace("\ud800", ""), 10, EachColumn()).rows.size <= 1


# The relaxed query


@given(TEXTS)
def test_the_gate_refuses_more_and_changes_nothing_else(text: str) -> None:
    assert GatedPlainWord().words(text) in (None, AnyPlainWord().words(text))


@given(st.lists(st.sampled_from(["tea", "Ada's", "naïve", "как", "रद्द", "o'clock"]), min_size=3))
def test_since_1269_every_word_of_any_script_finds_its_note(words: list[str]) -> None:
    store = NoteStore([Note("Title", word, "", "") for word in words])
    match = AnyUnicodeToken().match(" ".join(words))
    assert match is not None
    assert set(store.search(match, 100, EachColumn()).rows.tolist()) == set(range(len(words)))


@pytest.mark.parametrize("question", ["New Feature", "SPEC 16", "root note 1"])
@pytest.mark.parametrize("rules", [GatedPlainWord(), AnyToken(), AnyUnicodeToken()])
def test_short_questions_and_numbers_are_not_relaxed_since_the_gate(question: str, rules: AnyToken) -> None:
    assert rules.words(question) is None
    assert AnyPlainWord().words(question) == question.split()


def test_a_parenthesis_keeps_the_service_from_relaxing_but_not_the_hybrid_leg() -> None:
    assert not service_may_relax("foo (bar) baz qux", "fts")
    assert GatedPlainWord().words("foo (bar) baz qux") == ["foo", "baz", "qux"]


def test_a_zero_width_space_ends_a_word_and_a_joiner_does_not() -> None:
    assert AnyUnicodeToken().words("tea\u200bcup rooi\u200dbos") == ["tea", "cup", "rooi\u200dbos"]


def test_stopwords_alone_are_kept_since_1022() -> None:
    assert AnyPlainWord().words("what is the") is None
    assert AnyToken().words("what is the") == ["what", "is", "the"]


def test_the_trace_shows_the_strict_and_the_relaxed_query(toy: MemoryIndex) -> None:
    trace = search(QUESTION, bm.GATED, toy)
    strict = "Who* AND drinks* AND rooibos* AND in* AND the* AND afternoon*"
    relaxed = "drinks* OR rooibos* OR afternoon*"
    assert trace.match == trace.legs["keyword"].asked == relaxed
    assert trace.notes == (f"strict MATCH {strict} found nothing; relaxed MATCH {relaxed} found 2",)


def test_a_strict_query_that_finds_something_is_not_relaxed(toy: MemoryIndex) -> None:
    trace = search("cup of tea", bm.GATED, toy)
    assert (trace.match, trace.notes) == ("cup* AND of* AND tea*", ())


def test_the_trace_says_that_a_question_was_not_relaxed(toy: MemoryIndex) -> None:
    trace = search("tea bagpipes", bm.GATED, toy)
    assert trace.notes == ("strict MATCH tea* AND bagpipes* found nothing; this question is not relaxed",)
    assert trace.legs["keyword"].hits.rows.size == 0


def test_a_question_without_a_word_to_ask_says_so(toy: MemoryIndex) -> None:
    trace = search("? !", bm.HEAD, toy)
    assert trace.match is None
    assert trace.notes[0] == "strict MATCH: no word; this question is not relaxed"


def test_an_operator_at_the_end_finds_nothing_and_breaks_nothing(toy: MemoryIndex) -> None:
    trace = search("tea NOT", bm.DEAD_FTS, toy)
    assert trace.match == "tea* AND NOT*"
    assert trace.legs["keyword"].hits.rows.size == 0


# The full-text table


TITLES = ["Session one", "Summer trip", "Other notes", "Misc", "More"]
BODIES = ["her identity and identity work", "a sunny day", "hello", "filler words only", "yet another filler"]
TABLE = NoteStore([Note(title, body, "", "") for title, body in zip(TITLES, BODIES, strict=True)])


def bm25(columns: Sequence[Sequence[str]], word: str) -> list[float]:
    """FTS5's bm25() of one word that is looked for in `columns`, over the rows of TITLES and BODIES."""
    lengths = [len(f"{title} {body}".split()) for title, body in zip(TITLES, BODIES, strict=True)]
    mean = sum(lengths) / len(lengths)
    counts = [" ".join(row).lower().split().count(word) for row in zip(*columns, strict=True)]
    having = sum(count > 0 for count in counts)
    idf = max(math.log((len(counts) - having + 0.5) / (having + 0.5)), 1e-6)
    return [
        -idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / mean))
        for count, length in zip(counts, lengths, strict=True)
    ]


@pytest.mark.parametrize("word", ["identity", "filler", "trip", "one"])
@pytest.mark.parametrize("matching", [EachColumn(), OneMatch()], ids=["each column", "one match"])
def test_bm25_of_a_word_is_that_of_ten_lines_of_python(word: str, matching: Matching) -> None:
    found = TABLE.search(word, 10, matching)
    expected = bm25([TITLES, BODIES], word)
    assert found.rows.size == sum(number < 0 for number in expected)
    assert found.raw == pytest.approx([expected[row] for row in found.rows], rel=1e-9)


def test_a_row_of_the_titles_scan_is_scored_on_its_title_alone() -> None:
    """The best note of the table comes last: s* is in its title, and that is all that counts."""
    each, one = (TABLE.search("s* OR identity", 10, how) for how in (EachColumn(), OneMatch()))
    assert one.rows[0] == 0
    assert each.raw[each.rows == 0] > one.raw[one.rows == 0] / 2
    (alone,) = TABLE.search("{title} : (s*)", 10, EachColumn()).raw[:1]
    assert alone < 0


def test_a_slash_parts_two_words_although_the_tokenizer_is_told_otherwise() -> None:
    store = NoteStore([Note("Tea", "see docs/tea", "", "")])
    assert store.search("docs", 10, EachColumn()).rows.size == 1


@pytest.mark.parametrize("broken", ["tea AND", "*", "(tea", "nowhere : tea"])
def test_an_expression_that_fts5_cannot_parse_finds_nothing(broken: str) -> None:
    assert TABLE.search(broken, 10, EachColumn()).rows.size == 0


def test_equal_numbers_are_in_the_order_of_the_notes() -> None:
    store = NoteStore([Note("Tea", "cup", "", "")] * 5)
    assert store.search("cup", 3, EachColumn()).rows.tolist() == [0, 1, 2]


# A memory as notes


def document(text: str, path: str = "memory/Tea Time.md") -> Document:
    return Document(path, "memory", text, "", len(text), 0)


def test_a_note_takes_its_title_permalink_and_tags_from_its_head() -> None:
    note = note_of(
        document("---\ntitle: On tea\npermalink: x/on-tea\ntags: [cups]\n---\n\nBody.\n"), "main", 0
    )
    assert (note.title, note.permalink, note.content_snippet) == ("On tea", "x/on-tea", "")
    assert note.content_stems.splitlines()[-1] == "cups"
    assert "title:" not in note.content_stems


def test_a_note_without_a_head_is_named_after_its_file() -> None:
    note = note_of(document("# Tea\nA cup."), "main", 5)
    assert (note.title, note.permalink, note.content_snippet) == ("Tea Time", "main/memory/tea-time", "# Tea")


def test_what_is_beyond_6000_characters_of_a_note_is_not_found(tmp_path: Path) -> None:
    early, late = "x" * 100, "zebra"
    with world.build(tmp_path, {"MEMORY.md": f"{early}\n" + "tea " * (LONGEST_STEMS // 4) + late}) as index:
        assert search("tea", bm.HEAD, index).legs["keyword"].hits.rows.size == 1
        assert search(late, bm.HEAD, index).legs["keyword"].hits.rows.size == 0


def test_variants_repeat_nothing() -> None:
    assert variants("tea") == ["tea"]


def laid(index: MemoryIndex) -> NoteIndex:
    view = NotesView().of(index)
    assert isinstance(view, NoteIndex)
    return view


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


def test_a_changed_memory_is_laid_out_again(tmp_path: Path) -> None:
    with world.build(tmp_path) as index:
        assert search("kite", bm.HEAD, index).legs["keyword"].hits.rows.size == 0
        root = world.write(tmp_path / "memory_of_wren", {"memory/kite.md": "# Kite\nA kite.\n"})
        index_folder(root, world.EMBEDDER, index_path=tmp_path / "index.sqlite")
        assert search("kite", bm.HEAD, index).legs["keyword"].hits.rows.size == 1


def test_an_unchanged_memory_is_laid_out_once(toy: MemoryIndex) -> None:
    assert laid(toy).layout is laid(toy).layout


def test_a_layout_is_forgotten_with_its_index(tmp_path: Path) -> None:
    before = len(notes._LAYOUTS)
    index = world.build(tmp_path)
    laid(index)
    assert len(notes._LAYOUTS) == before + 1
    index.close()
    del index
    gc.collect()
    assert len(notes._LAYOUTS) == before


def test_an_index_without_documents_is_searched_as_it_is() -> None:
    index = FixedIndex([], [])
    assert NotesView().of(index) is index


def test_a_note_that_no_leg_brought_is_explained(toy: MemoryIndex) -> None:
    trace = search("rooibos", bm.HEAD, toy)
    assert explain(trace, toy, "memory/tea.md").fate is Fate.RETURNED
    assert explain(trace, toy, "memory/server.md").fate is Fate.BELOW_FLOOR


# Scores


def chunk(name: str) -> Chunk:
    return Chunk(name, f"{name}.md", "memory", 1, 1, "")


def asked(pipeline: Pipeline, keyword: Mapping[str, float], vector: Mapping[str, float]) -> Trace:
    """The trace over legs that give these bm25 numbers and cosine similarities."""
    return search(
        "X",
        pipeline,
        FixedIndex(
            [(chunk(name), raw) for name, raw in keyword.items()],
            [(chunk(name), 1 - similarity) for name, similarity in vector.items()],
        ),
    )


def scores(trace: Trace) -> dict[str, float]:
    return {one.chunk.id: one.score for one in trace.results}


def test_one_weak_keyword_hit_outranks_a_strong_vector_hit() -> None:
    assert scores(asked(bm.HEAD, {"a": -1e-6}, {"b": 0.86})) == pytest.approx({"a": 1.0, "b": 0.86})


def test_the_larger_score_counts_and_three_tenths_of_the_other() -> None:
    got = scores(asked(bm.HEAD, {"a": -4.0, "b": -1.0}, {"b": 0.9, "a": 0.8}))
    assert got == pytest.approx({"a": 1.0 + 0.3 * 0.8, "b": 0.9 + 0.3 * 0.25})


def test_rank_fusion_weighs_each_rank_by_its_score() -> None:
    got = scores(asked(bm.SCORED_RRF, {"a": -4.0, "b": -0.2}, {"b": 0.8, "a": 0.6}))
    assert got == pytest.approx({"a": 1 / 61 + 0.75 / 62, "b": 1 / 61 + 0.1 / 62})


def test_a_vector_hit_below_the_minimum_is_dropped_and_keeps_its_number() -> None:
    trace = asked(bm.HEAD, {}, {"a": 0.55, "b": 0.54})
    (dropped,) = [one for one in trace.candidates if one.dropped_by]
    assert dropped.dropped_by == MinSimilarity(0.55)
    assert (dropped.chunk.id, dropped.numbers["similarity"]) == ("b", pytest.approx(0.54))


@pytest.mark.parametrize("pipeline", [bm.HEAD, bm.SCORED_RRF], ids=["max + min", "RRF"])
def test_a_keyword_hit_below_the_minimum_stays_as_if_the_vector_leg_had_not_found_it(
    pipeline: Pipeline,
) -> None:
    both, alone = asked(pipeline, {"a": -1.0}, {"a": 0.5}), asked(pipeline, {"a": -1.0}, {})
    assert scores(both) == scores(alone)
    assert np.isnan(both.columns["vector_score"]).all()


def test_the_similarity_of_an_l2_distance_is_the_cosine_and_never_below_0() -> None:
    rng = np.random.default_rng(1)
    one, other = (vector / np.linalg.norm(vector) for vector in rng.normal(size=(2, 8)))
    assert similarity_of_l2(np.linalg.norm(one - other)) == pytest.approx(max(0.0, float(one @ other)))
    assert similarity_of_l2(2.0) == 0


@pytest.mark.parametrize(("limit", "depth"), [(10, 110), (20, 210), (0, 100), (0.5, 100), (10_000, 4_096)])
def test_a_leg_is_asked_for_ten_candidates_a_result_and_one_more(limit: float, depth: int) -> None:
    assert PageDepth().of(limit) == depth


def test_the_best_keyword_hit_alone_scores_1_however_weak_its_bm25() -> None:
    found = reach(bm.HEAD, "keyword")
    assert found is not None
    assert found.score == 1.0


# The profiles


@pytest.mark.parametrize("question", [QUESTION, "Does Ada's bike need a hub", "a cup of tea"])
def test_without_a_keyword_leg_both_fusions_give_the_same_order(toy: MemoryIndex, question: str) -> None:
    one, other = (search(f"{question} ?", pipeline, toy) for pipeline in (bm.DEAD_FTS, bm.SCORED_RRF))
    assert one.legs["keyword"].hits.rows.size == 0
    assert one.results
    assert one.paths() == other.paths()


@pytest.mark.parametrize(
    ("before", "after", "slots"),
    [
        (bm.SCORED_RRF, bm.DEAD_FTS, {"fusion"}),
        (bm.DEAD_FTS, bm.UNGATED, {"query", "relaxation"}),
        (bm.UNGATED, bm.GATED, {"relaxation"}),
        (bm.GATED, bm.CJK_REGRESS, {"relaxation"}),
        (bm.CJK_REGRESS, bm.HEAD, {"relaxation"}),
        (bm.HEAD, bm.HEAD.but(bm.MIN_SIMILARITY_0), {"min_similarity"}),
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


# Chunks


def texts(text: str, chunker: BulletChunker | None = None) -> list[str]:
    return [passage.text for passage in (chunker or BulletChunker()).chunk(text)]


def test_each_top_level_bullet_is_a_chunk_with_its_own_lines() -> None:
    found = BulletChunker().chunk("# Tea\n\nIntro.\n\n- one\n  more\n- two\n\n## Cups\nRed.\n")
    assert [(one.text, one.start_line, one.end_line) for one in found] == [
        ("# Tea\n\nIntro.", 1, 3),
        ("- one\n  more", 5, 6),
        ("- two", 7, 7),
        ("## Cups\nRed.", 9, 10),
    ]


def test_sections_share_a_chunk_up_to_the_limit_and_not_beyond() -> None:
    exactly = f"# A\n{'x' * 445}\n# B\n{'y' * (900 - 449 - 2 - 4)}"
    assert [len(text) for text in texts(exactly)] == [900]
    assert [len(text) for text in texts(exactly + "y")] == [449, 450]


def test_a_long_paragraph_is_cut_into_windows_that_overlap() -> None:
    text = "".join(chr(97 + place % 26) for place in range(2_000))
    assert texts(text) == [text[:900], text[780:1_680], text[1_560:]]


def test_what_is_left_of_a_long_section_shares_a_chunk_with_the_next() -> None:
    assert texts(f"# A\n\n{'x' * 898}\n\nlast\n# B\nnext") == ["# A", "x" * 898, "last\n\n# B\nnext"]


@given(st.text(alphabet="ab -#\n", max_size=400), st.integers(5, 60))
@settings(deadline=None)
def test_no_chunk_of_short_bullets_is_too_long_and_no_letter_is_lost(text: str, longest: int) -> None:
    found = BulletChunker(longest, overlap=0).chunk(text)
    assert all(len(one.text) <= longest for one in found)
    assert "".join("".join(one.text.split()) for one in found) == "".join(text.split())
    lines = text.split("\n")
    for one in found:
        assert one.text.split("\n")[0] in lines[one.start_line - 1]
        assert one.text.split("\n")[-1] in lines[one.end_line - 1]


@pytest.mark.parametrize(("longest", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_a_chunker_that_cannot_advance_is_refused(longest: int, overlap: int) -> None:
    with pytest.raises(InputError, match="cannot advance"):
        BulletChunker(longest, overlap)


# Unknown commits


@pytest.mark.parametrize(
    "case",
    [
        Case("fts_prep_sqlite", "deadbeef", {"query": "tea"}, None),
        Case("fts_prep_sqlite", "55d675e2", {"query": "tea"}, None),
        Case("min_similarity", "", {"similarities": [], "config_default": 0.5, "per_query": None}, None),
        Case("service_relaxed_query", "1f56fc76", {"query": "tea"}, None),
    ],
    ids=["unknown", "out of the line", "none", "after its time"],
)
def test_a_commit_that_the_workbench_does_not_have_is_an_error(case: Case) -> None:
    adapter = adapter_for(case)
    assert adapter is not None
    with pytest.raises(LookupError):
        adapter(case)


# The benchmark


def test_the_measures_count_by_hand() -> None:
    hits = ["x", "a", "y", "b"]
    assert recall_at_k(hits, {"a", "b", "c"}, 3) == 1 / 3
    assert precision_at_k(hits, {"a", "b"}, 5) == 2 / 4
    assert reciprocal_rank(hits, {"b", "y"}) == 1 / 3
    assert (recall_at_k(hits, (), 5), precision_at_k([], {"a"}, 5), reciprocal_rank([], {"a"})) == (0, 0, 0)


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
    assert (report.overall.recall_5, report.overall.mrr, report.overall.n) == ((1 + 1 / 2 + 0) / 3, 2 / 3, 3)
    assert {number: one.n for number, one in report.by_category.items()} == {1: 2, 5: 1}
    assert report.headline.recall_10 == (1 + 1 / 2) / 2


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
    note = note_of(session_note(SESSIONS.documents[0]), "bm-bench-run", 0)
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
        bench(SESSIONS, replace(bm.HEAD, view=None), 0.5, small)


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
    ("a2f5edfa", 0.55): (0.669, 0.729, 0.611),
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
