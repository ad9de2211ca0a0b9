"""QMD: its query, its whole files, its expansion, its fusion with a bonus, and its blend with a reranker."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import world
from tests.world import compiled
from workbench.errors import ProviderError
from workbench.memory.index import MemoryIndex
from workbench.records import Chunk, Hits, Trace
from workbench.retrieval.pipeline import Pipeline, search
from workbench_plugins.providers.reranking import Service
from workbench_plugins.qmd.fusion import best_piece, blend, top_rank_bonus
from workbench_plugins.qmd.legs import (
    Expansion,
    Fallback,
    FileIndex,
    FilesLayout,
    ModelExpander,
    Variant,
    lex_query,
    usable,
)
from workbench_plugins.qmd.pipelines import NO_MODELS, NO_RERANK, OLDER, WITH_KEYWORDS, with_models

QUESTION = "who drinks rooibos tea?"


def laid(index: MemoryIndex) -> FileIndex:
    files = FilesLayout().of(index)
    assert isinstance(files, FileIndex)
    return files


@dataclass(frozen=True)
class Gives:
    """An expander and a reranker that answer as they are told."""

    give: Callable[[Any], Any]
    name: str = "test"

    def variants(self, question: str) -> Any:
        return self.give(question)

    def scores(self, question: str, texts: Sequence[str]) -> Any:
        return self.give(texts)


def failing(_: Any) -> Any:
    raise ProviderError("it is down", "wait")


# The query


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("Tea cups", '"tea"* AND "cups"*'),
        ('"tea time" cups', '"tea time" AND "cups"*'),
        ("multi-agent DEC-0054", '"multi agent" AND "dec 0054"'),
        ("release 2026.4.10", '"release"* AND "2026"* AND "4"* AND "10"*'),
        ('"version 1.0.21"', '"version 1 0 21"'),
        ("performance -sports", '"performance"* NOT "sports"*'),
        ('performance -"team sports" -multi-agent', '"performance"* NOT "team sports" NOT "multi agent"'),
        ("release -2026.4", '"release"* NOT ("2026"* AND "4"*)'),
        ("API設計", '"api 設 計"'),
        ("Wren's snake_case", '"wren\'s"* AND "snake_case"*'),
        ("-sports", None),
        ('??? - ""', None),
        ('"open quote', '"open quote"'),
    ],
)
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


def test_a_file_is_as_near_as_its_nearest_chunk(sample: MemoryIndex) -> None:
    files, query = laid(sample), sample.embed("where to send urgent notifications")
    found = files.vector(query, files.size)
    rows, vectors = sample.store.matrix()
    every = zip(sample.chunks(rows), 1 - vectors.astype(float) @ query.astype(float), strict=True)
    nearest: dict[str, float] = {}
    for chunk, distance in every:
        nearest[chunk.path] = min(distance, nearest.get(chunk.path, 2.0))
    assert [one.path for one in files.chunks(found.rows)] == sorted(nearest, key=lambda path: nearest[path])
    assert np.array_equal(files.vector(query, 5).rows, found.rows[:5])


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
    same = Gives(lambda question: [Variant("vec", question), Variant("vec", "tea"), Variant("lex", "")])
    legs = search(QUESTION, NO_RERANK.with_stage(Expansion(same)), toy).legs
    assert (legs["vec"].asked, legs["lex"].asked) == ("tea", None)


@pytest.mark.parametrize(
    ("raw", "strong"),
    [([], False), ([-9.0], True), ([-9.0, -8.0], False), ([-9.0, -1.0], True), ([-2.0], False)],
)
def test_a_strong_first_hit_is_good_and_far_ahead(raw: list[float], strong: bool) -> None:
    assert Expansion().is_strong(Hits(np.arange(len(raw)), np.array(raw))) is strong


def test_a_strong_first_hit_spares_the_expansion(toy: MemoryIndex) -> None:
    trace = search("bike", NO_RERANK.with_stage(Expansion(Gives(failing), strong=0.0, ahead=-1.0)), toy)
    assert trace.legs["hyde"].asked is None
    assert trace.notes == ("The question is not expanded: its first keyword hit is strong.",)


def test_an_expander_that_fails_leaves_the_question_as_it_is(toy: MemoryIndex) -> None:
    trace = search(QUESTION, NO_RERANK.with_stage(Expansion(Gives(failing))), toy)
    assert trace.results
    assert trace.notes == ("The question is not expanded: it is down",)


def test_lines_without_a_kind_or_a_word_of_the_question_are_not_usable() -> None:
    said = "Sure!\nlex: rooibos\nvec: hot drinks of people\nhyde: nothing of it\nfoo: tea"
    assert usable(QUESTION, said) == [Variant("lex", "rooibos"), Variant("vec", "hot drinks of people")]


# Models behind an address


@contextmanager
def server(answer: Callable[[dict[str, Any]], tuple[int, Any]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, said = answer({"path": self.path, **body})
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}/v1"
    finally:
        running.shutdown()
        running.server_close()


def saying(text: str) -> Callable[[dict[str, Any]], tuple[int, Any]]:
    return lambda _: (200, {"choices": [{"message": {"content": text}}]})


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
def test_a_model_that_fails_is_named_and_the_question_is_searched_as_it_is(
    toy: MemoryIndex, status: int, said: Any
) -> None:
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
    search(question, with_models(Fallback(), Gives(note)), sample)
    texts = {chunk.text for chunk in sample.chunks(sample.store.matrix()[0])}
    assert 0 < len(read) <= 40
    assert set(read) <= texts
    one, other = (Chunk(name, "a.md", "", 1, 1, name) for name in ("tea and cups", "more tea"))
    assert best_piece(["tea", "cups"], [other, one]) is one
    assert best_piece(["tea"], [other, one]) is other


def test_the_fused_order_is_kept_when_the_reranker_fails(sample: MemoryIndex) -> None:
    question = "where to send urgent notifications"
    trace = search(question, with_models(Fallback(), Gives(failing)), sample)
    assert trace.paths() == search(question, NO_RERANK, sample).paths()
    assert any("the fused order is kept" in note for note in trace.notes)


def test_at_most_forty_files_are_candidates(tmp_path: Path) -> None:
    notes = {f"memory/{place:02}.md": f"# Note {place}\n{'tea ' * (place + 1)}cup\n" for place in range(60)}
    lists = [Variant("lex", "cup"), Variant("vec", "bike"), Variant("hyde", "server")]
    pipeline: Pipeline = NO_RERANK.with_stage(Expansion(Gives(lambda _: lists))).asking(limit=100)
    with world.build(tmp_path, notes) as index:
        trace = search("tea note 5", pipeline, index)
    assert len(trace.results) == min(40, len(trace.chunks))
