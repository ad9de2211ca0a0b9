"""The answers that settings make impossible: the reach of a leg, and the cosine that a floor requires."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.measure.reach import needed_similarity, reach
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench.systems.registry import SYSTEMS


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


def test_a_floor_asks_for_a_cosine_or_for_none_or_is_met_by_none() -> None:
    assert needed_similarity(SHIPPED) == pytest.approx(0.35 / 0.7)
    assert needed_similarity(WORKAROUND) == pytest.approx(0.25)
    assert needed_similarity(THREE_FIXES) == -1.0  # the first of the vector leg passes
    assert needed_similarity(SHIPPED.with_stage(MinScore(0.8))) is None
