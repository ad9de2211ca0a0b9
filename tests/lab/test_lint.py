"""The answers that settings make impossible: the reach of a leg, and the cosine that a floor requires."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache

import numpy as np
import pytest

from tests.conftest import PROJECT
from workbench.measure.edits import Edit, edited
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.measure.reach import needed_similarity, reach
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.records import Chunk
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.fusion import OneLeg
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench_plugins.diagnose.unread_scripts import dead_for, probes, unknown_to
from workbench_plugins.engines.presets import ENGINES, engine_pipeline, fuse


@pytest.mark.parametrize("pipeline", [SHIPPED, THREE_FIXES], ids=lambda p: p.name)
def test_one_leg_alone_reaches_its_weight(pipeline: Pipeline) -> None:
    vector, keyword = reach(pipeline, "vector"), reach(pipeline, "keyword")
    assert vector is not None
    assert keyword is not None
    assert (vector.score, vector.passes) == (pytest.approx(0.7), True)
    assert (keyword.score, keyword.passes) == (pytest.approx(0.3), False)
    assert reach(WORKAROUND, "keyword") is None


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_search_reaches_further_than_the_reach(
    kept: CachedIndex, questions: QuestionSet, name: str
) -> None:
    pipeline = SYSTEMS[name]
    bounds = {leg: reach(pipeline, leg) for leg in ("vector", "keyword")}
    for one in evaluate(questions, [pipeline], kept)[0].asked:
        columns = one.trace.columns
        for leg, other in (("vector", "keyword"), ("keyword", "vector")):
            bound = bounds[leg]
            if bound is None:
                continue
            absent = np.isnan(columns.get(f"{other}_rank", np.full(len(one.trace.chunks), np.nan)))
            assert not np.any(columns["score"][absent] > bound.score + 1e-12)


def test_a_scale_that_skips_cosines_below_zero_reaches_what_near_hits_give_it() -> None:
    """The log-odds of txtai count a cosine in deviations of those above 0: 20 / √19 for one of 20 hits."""
    found = reach(engine_pipeline(ENGINES["txtai-log-odds"]), "vector")
    assert found is not None
    scores = {"a": 0.9, **{f"b{number}": 0.1 for number in range(19)}}
    assert found.score >= fuse(ENGINES["txtai-log-odds"].fusion, scores, {})[0].score > 0.9


def test_a_floor_asks_for_a_cosine_or_for_none_or_is_met_by_none() -> None:
    assert needed_similarity(SHIPPED) == pytest.approx(0.35 / 0.7)
    assert needed_similarity(WORKAROUND) == pytest.approx(0.25)
    assert needed_similarity(THREE_FIXES) == -1.0  # the first of the vector leg passes
    assert needed_similarity(SHIPPED.with_stage(MinScore(0.8))) is None
    words = [Edit("vector_leg", None), Edit("vector_score", None), Edit("fusion", OneLeg("keyword"))]
    assert needed_similarity(edited(SHIPPED, words)) is None


def chunks_of(index: OpenIndex) -> Sequence[Chunk]:
    """Every chunk of an index."""
    return index.chunks(np.concatenate([index.rows_of(path) for path in index.paths()]))


LANGUAGES = PROJECT / "notebooks" / "language_memory"


@pytest.fixture(scope="module")
def of_language(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], MemoryIndex]]:
    """The index of the notes in a language, made once."""
    folder = tmp_path_factory.mktemp("languages")
    opened = ExitStack()

    @cache
    def indexed(language: str) -> MemoryIndex:
        path = folder / f"{language}.sqlite"
        index_folder(LANGUAGES / language, options=Options(index_path=path))
        return opened.enter_context(open_index(LANGUAGES / language, index_path=path))

    with opened:
        yield indexed


@pytest.mark.parametrize(
    ("language", "system", "dead", "unknown"),
    [
        ("zh", "bm-head", "Chinese and Japanese", "Chinese and Japanese"),
        ("ar", "openclaw-2026.2.13", "Arabic", "Arabic"),
        ("ar", "bm-head", "", "Arabic"),
        ("de", "openclaw-2026.2.13", "Latin with accents", ""),
        ("de", "recommended", "", ""),
    ],
)
def test_the_script_for_which_a_leg_is_dead_is_named(
    language: str, system: str, dead: str, unknown: str, of_language: Callable[[str], MemoryIndex]
) -> None:
    index = of_language(language)
    chunks = chunks_of(index)
    assert isinstance(index.embedder, LocalEmbedder)
    assert [name for name, _ in dead_for(SYSTEMS[system], index, chunks)] == [dead] * bool(dead)
    assert [name for name, _ in unknown_to(index.embedder, chunks)] == [unknown] * bool(unknown)


def test_a_memory_in_english_has_no_script_to_name(kept: CachedIndex) -> None:
    assert probes(chunks_of(kept)) == {}
