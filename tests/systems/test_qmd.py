"""QMD: its query, its whole files, its expansion, its fusion with a bonus, and its blend with a reranker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests import world
from tests.adapters.openclaw_releases import traced
from tests.told import Told, failing, saying, server
from tests.world import compiled
from workbench.memory.files import list_files
from workbench.memory.index import MemoryIndex
from workbench.records import Chunk, Hits, Trace
from workbench.retrieval.columns import Columns
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import indexing
from workbench_plugins.engines.museum import small_memory
from workbench_plugins.providers.reranking import Service
from workbench_plugins.qmd.pipelines import NO_MODELS, NO_RERANK, OLDER, WITH_KEYWORDS, with_models
from workbench_plugins.qmd.qmd_fusion import (
    ASKED_IN_ORDER,
    FUSED,
    BonusRankSum,
    best_piece,
    blend,
    top_rank_bonus,
)
from workbench_plugins.qmd.qmd_legs import (
    Expansion,
    Fallback,
    FileIndex,
    FilesLayout,
    ModelExpander,
    Variant,
    lex_query,
    usable,
)

QUESTION = "who drinks rooibos tea?"


def laid(index: MemoryIndex) -> FileIndex:
    files = FilesLayout().of(index)
    assert isinstance(files, FileIndex)
    return files


# The query


QUERIES = yaml.safe_load(Path(__file__).with_name("qmd_queries.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "match"), QUERIES.items())
def test_a_text_is_read_as_a_query(text: str, match: str | None) -> None:
    assert compiled(lex_query(text)) == match


def test_every_word_must_be_in_the_file_as_a_stem(toy: MemoryIndex) -> None:
    """“who” is in no note, so a question in plain language finds nothing by keywords."""
    files = laid(toy)
    assert search(QUESTION, NO_RERANK, toy).legs["keyword"].hits.rows.size == 0
    query = lex_query("bikes")
    assert query is not None
    found = [one.path for one in files.chunks(files.keyword(query, 9).rows)]
    assert set(found) == {"memory/bike.md", "memory/both.md"}
    assert found[0] == "memory/bike.md"  # Its title and path have the word, too.


def test_a_word_after_a_minus_sign_must_be_absent(toy: MemoryIndex) -> None:
    trace = search("bike -tea", NO_RERANK, toy)
    brought = laid(toy).chunks(trace.legs["keyword"].hits.rows)
    assert [one.path for one in brought] == ["memory/bike.md"]


# Whole files


def test_a_result_is_a_file_and_comes_once(sample: MemoryIndex) -> None:
    trace = search("where to send urgent notifications", NO_RERANK, sample)
    paths = [one.chunk.path for one in trace.results]
    assert len(paths) == len(set(paths)) == 10
    assert [one.score for one in trace.results] == pytest.approx([1 / place for place in range(1, 11)])


# Expansion


def test_the_fallback_is_one_sentence_for_the_vectors(toy: MemoryIndex) -> None:
    trace = search(QUESTION, NO_RERANK, toy)
    assert {kind: trace.legs[kind].asked for kind in ("lex", "vec", "hyde")} == {
        "lex": None,
        "vec": None,
        "hyde": f"Information about {QUESTION}",
    }
    assert trace.legs["hyde"].hits.rows.size > 0


def test_content_words_find_what_the_question_does_not(toy: MemoryIndex) -> None:
    trace = search("which rooibos", WITH_KEYWORDS, toy)
    assert trace.legs["keyword"].hits.rows.size == 0
    assert trace.legs["lex"].asked == "rooibos"
    assert len(laid(toy).chunks(trace.legs["lex"].hits.rows)) == 2


def test_a_variant_that_equals_the_question_is_left_out(toy: MemoryIndex) -> None:
    same = Told(lambda question: [Variant("vec", question), Variant("vec", "tea"), Variant("lex", "")])
    legs = search(QUESTION, NO_RERANK.with_stage(Expansion(same)), toy).legs
    assert (legs["vec"].asked, legs["lex"].asked) == ("tea", None)


@pytest.mark.parametrize(
    ("raw", "strong"),
    [([], False), ([-9.0], True), ([-9.0, -8.0], False), ([-9.0, -1.0], True), ([-2.0], False)],
)
def test_a_strong_first_hit_is_good_and_far_ahead(raw: list[float], strong: bool) -> None:
    assert Expansion().is_strong(Hits(np.arange(len(raw)), np.array(raw))) is strong


def test_a_strong_first_hit_spares_the_expansion(toy: MemoryIndex) -> None:
    trace = search("bike", NO_RERANK.with_stage(Expansion(Told(failing), strong=0.0, ahead=-1.0)), toy)
    assert trace.legs["hyde"].asked is None
    assert trace.notes == ("The question is not expanded: its first keyword hit is strong.",)


def test_an_expander_that_fails_leaves_the_question_as_it_is(toy: MemoryIndex) -> None:
    trace = search(QUESTION, NO_RERANK.with_stage(Expansion(Told(failing))), toy)
    assert trace.results
    assert trace.notes == ("The question is not expanded: it is down",)


def test_lines_without_a_kind_or_a_word_of_the_question_are_not_usable() -> None:
    said = "Sure!\nlex: rooibos\nvec: hot drinks of people\nhyde: nothing of it\nfoo: tea"
    assert usable(QUESTION, said) == [Variant("lex", "rooibos"), Variant("vec", "hot drinks of people")]


# Models behind an address


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "lex: rooibos\nhyde: Wren drinks tea.",
            [Variant("lex", "rooibos"), Variant("hyde", "Wren drinks tea.")],
        ),
        ("I cannot do that.", Fallback().variants(QUESTION)),
    ],
)
def test_a_model_behind_an_address_expands_the_question(said: str, expected: list[Variant]) -> None:
    with server(saying(said)) as address:
        assert ModelExpander(Service(address, "m")).variants(QUESTION) == expected


@pytest.mark.parametrize(("status", "said"), [(500, "broken"), (200, {"choices": []}), (200, [])])
def test_a_model_that_fails_is_named_and_the_question_stays(toy: MemoryIndex, status: int, said: Any) -> None:
    with server(lambda _: (status, said)) as address:
        trace = search(QUESTION, NO_RERANK.with_stage(Expansion(ModelExpander(Service(address, "m")))), toy)
    (note,) = trace.notes
    assert note.startswith("The question is not expanded: The model m")
    assert trace.results


# Fusion, bonus, blend


def numbers(trace: Trace, path: str) -> dict[str, float]:
    (one,) = [one for one in trace.candidates if one.chunk.path == path]
    return dict(one.numbers)


def test_the_bonus_is_for_the_best_rank_in_any_list(toy: MemoryIndex) -> None:
    trace = search("bike hub", NO_RERANK, toy)
    first = numbers(trace, "memory/bike.md")
    assert (first["keyword_rank"], first["vector_rank"], first["hyde_rank"]) == (1, 1, 1)
    assert first["score"] == pytest.approx(2 / 61 + 2 / 61 + 1 / 61 + 0.05)
    assert top_rank_bonus(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [0.05, 0.02, 0.02, 0.0]


@pytest.mark.parametrize("record", json.loads((Path(__file__).parent / "qmd_fusions.json").read_text()))
def test_equal_scores_keep_the_order_of_the_walk_through_the_lists(record: dict[str, Any]) -> None:
    """What reciprocalRankFusion of qmd 2.8.3 returned for five lists each, all of them with equal scores."""
    ids = sorted({one for some in record["lists"] for one in some})
    columns = {
        f"{leg}_rank": np.array([some.index(one) + 1 if one in some else np.nan for one in ids], float)
        for leg, some in zip(ASKED_IN_ORDER, record["lists"], strict=True)
    }
    columns["score"] = BonusRankSum().formula(Columns(columns))
    chunks = [Chunk(one, one, "", 1, 1, one) for one in ids]
    order = FUSED.rows(traced(chunks, columns))
    assert [[ids[row], columns["score"][row]] for row in order] == record["fused"]


def test_a_variant_takes_the_weight_of_the_vectors_in_the_older_release(toy: MemoryIndex) -> None:
    question = "which rooibos"
    now, then = (numbers(search(question, one, toy), "MEMORY.md") for one in (WITH_KEYWORDS, OLDER))
    ranks = now["lex_rank"], now["vector_rank"], now["hyde_rank"]
    assert ranks == (then["lex_rank"], then["vector_rank"], then["hyde_rank"])
    lex, vector, hyde = (1 / (60 + rank) for rank in ranks)
    assert now["score"] - then["score"] == pytest.approx(
        -lex
    )  # No keyword list, so lex is one of the first two.
    assert now["score"] == pytest.approx(lex + 2 * vector + hyde + 0.05)


def test_the_blend_protects_the_first_places() -> None:
    assert blend(np.array([1.0, 3.0, 4.0, 10.0, 11.0]), 1.0).tolist() == pytest.approx(
        [1.0, 0.5, 0.55, 0.46, 0.4 / 11 + 0.6]
    )


def test_a_reranker_that_says_nothing_puts_the_eleventh_place_before_the_fifth(sample: MemoryIndex) -> None:
    """The reranker's share grows in steps, so an equal score is worth more from the eleventh place on."""
    places = [
        int(one.numbers["fusion_place"])
        for one in search("where to send urgent notifications", NO_MODELS.asking(limit=20), sample).results
    ]
    assert places[:6] == [1, 2, 3, 4, 11, 12]
    assert places.index(11) < places.index(5)


def test_the_reranker_reads_the_piece_with_the_most_words_of_the_question(sample: MemoryIndex) -> None:
    read: list[str] = []

    def note(texts: Sequence[str]) -> list[float]:
        read.extend(texts)
        return [0.5] * len(texts)

    question = "where to send urgent notifications"
    search(question, with_models(Fallback(), Told(note)), sample)
    texts = {chunk.text for chunk in sample.chunks(sample.store.matrix()[0])}
    assert 0 < len(read) <= 40
    assert set(read) <= texts
    one, other = (Chunk(name, "a.md", "", 1, 1, name) for name in ("tea and cups", "more tea"))
    assert best_piece(["tea", "cups"], [other, one]) is one
    assert best_piece(["tea"], [other, one]) is other


def test_the_fused_order_is_kept_when_the_reranker_fails(sample: MemoryIndex) -> None:
    question = "where to send urgent notifications"
    trace = search(question, with_models(Fallback(), Told(failing)), sample)
    assert trace.paths() == search(question, NO_RERANK, sample).paths()
    assert any("the fused order is kept" in note for note in trace.notes)


def test_at_most_forty_files_are_candidates(tmp_path: Path) -> None:
    notes = {f"memory/{place:02}.md": f"# Note {place}\n{'tea ' * (place + 1)}cup\n" for place in range(60)}
    lists = [Variant("lex", "cup"), Variant("vec", "bike"), Variant("hyde", "server")]
    pipeline: Pipeline = NO_RERANK.with_stage(Expansion(Told(lambda _: lists))).asking(limit=100)
    with world.build(tmp_path, notes) as index:
        trace = search("tea note 5", pipeline, index)
    assert len(trace.results) == min(40, len(trace.chunks))


# What the release indexes


def test_empty_and_blank_files_are_not_indexed() -> None:
    with small_memory({"a.md": "tea", "b.md": "\ufeff \n", "c.md": ""}, {"tea": ("tea",)}) as index:
        found = FilesLayout().of(index)
        assert (found.size, found.rows_of("b.md").size) == (1, 0)
        assert [one.path for one in found.chunks(found.vector(index.embed("tea"), 9).rows)] == ["a.md"]
        assert [one.chunk.path for one in search("tea", NO_RERANK, index).results] == ["a.md"]


def test_a_folder_that_is_indexed_as_qmd_does_has_user_md(odd: Path) -> None:
    assert "USER.md" in list_files(odd, rules=indexing("qmd-2.8.3").rules)
    assert "USER.md" not in list_files(odd)
