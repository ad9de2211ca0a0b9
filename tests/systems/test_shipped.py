"""Products as people run them: the same lists give the answers of the real packages, in their order."""

from __future__ import annotations

import gzip
import json
import math
from importlib.util import find_spec
from typing import Any

import pytest

from benchmarks.recording.shipped import PRODUCTS, Asked, answers, ours, random_lists
from tests.conftest import PROJECT
from tests.fusion_packages import Pairs
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.engines.museum import small_memory
from workbench_plugins.engines.shipped_fusions import NO_KEYWORDS, PIPELINES, TOLD, USUAL, keywords

RECORD: dict[str, Any] = json.loads(
    gzip.decompress((PROJECT / "tests" / "records" / "shipped.json.gz").read_bytes())
)
LISTS = [*(Asked(*one) for one in RECORD["lists"]), *random_lists()]
ROUNDED = {"llamaindex-relative", "llamaindex-dist-based", "qdrant-dbsf"}
"""Where equal scores may differ in a last bit, and so stand in another order."""
MODULES = {"llama-index-core": "llama_index", "mem0ai": "mem0"}
every_product = pytest.mark.parametrize("name", PRODUCTS)


def assert_same(name: str, theirs: list[Pairs | None]) -> None:
    """The same ids in the same order, ties included, with the same scores; see ROUNDED."""
    compared = [(asked, one) for asked, one in zip(LISTS, theirs, strict=True) if one is not None]
    assert len(compared) >= 150
    within = PRODUCTS[name].within
    for asked, their in compared:
        mine = ours(name, asked)
        for place, ((one, score), (other, expected)) in enumerate(zip(mine, their, strict=True)):
            assert math.isnan(expected) or score == pytest.approx(expected, rel=within, abs=within)
            alike = [place for place, (_, near) in enumerate(mine) if abs(near - score) <= within]
            tied = name in ROUNDED and (len(alike) > 1 or place == len(mine) - 1)
            assert one == other or tied


@every_product
def test_a_system_answers_as_the_record_of_its_package(name: str) -> None:
    recorded = RECORD["systems"][name]
    assert recorded["package"] == TOLD[name.partition("+")[0]]["run_against"]
    assert_same(name, recorded["answers"])


@every_product
def test_a_system_answers_as_its_package_that_is_installed(name: str) -> None:
    product = PRODUCTS[name]
    if find_spec(MODULES.get(product.distribution, product.distribution.replace("-", "_"))) is None:
        pytest.skip(f"{product.distribution} is not installed")
    assert_same(name, answers(product, LISTS))


def test_every_system_that_is_said_to_have_run_is_in_the_record_and_no_slot_is_misspelt() -> None:
    run = {name for name, told in TOLD.items() if "run_against" in told}
    assert {name.partition("+")[0] for name in RECORD["systems"]} == run
    assert {slot for told in TOLD.values() for slot in told["slots"]} <= USUAL["slots"].keys()


def test_without_a_reranker_the_weights_of_open_webui_decide_nothing(
    sample: MemoryIndex, questions: QuestionSet
) -> None:
    shipped = SYSTEMS["open-webui-hybrid"]
    kind = type(shipped["fusion"])
    moved = [shipped.with_stage(kind(*weights)) for weights in ((0.99, 0.01), (0.01, 0.99))]
    runs = evaluate(questions, [shipped, *moved], sample)
    first, *others = [[one.trace.paths() for one in run.asked] for run in runs]
    assert all(one == first for one in others)


def test_a_far_chunk_is_no_hit_of_weaviate_whatever_its_words_are() -> None:
    asked = Asked("q", [("near", 0.9), ("far", 0.1)], [("far", 9.0), ("words", 8.0), ("near", 1.0)])
    assert ours("weaviate-max-distance", asked) == [("near", 1.0)]
    assert {one for one, _ in ours("weaviate-relative", asked)} == {"near", "far", "words"}


def test_a_keyword_hit_of_exactly_zero_is_no_hit_of_mem0() -> None:
    """What _search_vector_store and score_and_rank of mem0 2.2.1 give for the same lists."""
    near = [("a", 0.8), ("b", 0.6)]
    assert ours("mem0-search", Asked("q", near, [("a", 0.0)])) == [("a", 0.8), ("b", 0.6)]
    beside = dict(ours("mem0-search", Asked("q", near, [("b", 5.0), ("a", 0.0)])))
    assert beside == pytest.approx({"a": 0.8 / 2, "b": (0.6 + 0.5) / 2})


def test_every_shipped_system_says_its_source_and_whose_legs_these_are() -> None:
    for pipeline in PIPELINES:
        assert "The legs are ours" in pipeline.source.note
        assert pipeline.source.place


def test_dify_compares_keywords_in_ascii_or_han_and_no_other_script() -> None:
    notes = {"a.md": "tea tea cup", "b.md": "tea pot", "c.md": "чай и чашка"}
    with small_memory(notes, {"any": ("tea", "чай")}) as index:
        tea, chai = (search(asked, SYSTEMS["dify-hybrid"], index) for asked in ("tea?", "чай и чашка"))
    scores = dict(zip((one.path for one in tea.chunks), tea.columns["keyword_score"].tolist(), strict=True))
    in_both, in_one = math.log(3 / 3) + 1, math.log(3 / 2) + 1  # ln((1 + n) / (1 + df)) + 1 of two candidates
    assert scores["a.md"] == pytest.approx(in_both / math.hypot(in_both, in_one))
    assert chai.legs["keyword"].hits.rows.size == 1
    assert not chai.columns["keyword_score"].any()


JIEBA = {
    "50% off, 3.14% up": {"50%", "3.14%", "14"},
    "C++ or c#": {"C++", "c#"},
    "libc++ in VC++11": {"lib", "c++", "C++", "11"},
    "the AT&T bill": {"AT&T", "AT", "T", "bill"},
    "Q&A in R&D": set[str](),
}
"""Keywords that dify's handler 1.13.3 took with jieba 0.42.1."""


@pytest.mark.parametrize("text", JIEBA)
def test_dify_keywords_with_signs(text: str) -> None:
    assert keywords(text) - {"off", "up"} == JIEBA[text]


def test_dify_keywords_are_those_of_jieba_where_it_is_installed(sample: MemoryIndex) -> None:
    tfidf = pytest.importorskip("jieba.analyse").default_tfidf
    tfidf.stop_words = NO_KEYWORDS
    texts = [*JIEBA, *(one.text for one in sample.documents() or ())]
    assert all({*tfidf.extract_tags(text, topK=10)} <= keywords(text) for text in texts)
