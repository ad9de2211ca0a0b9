"""A pipeline whose stages do not fit together cannot be made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from workbench.errors import InputError
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.cutoff import Order
from workbench.retrieval.fusion import OneLeg
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED


@dataclass(frozen=True)
class AnotherScore(ColumnStage, slot="rerank", output="score"):
    """A stage that writes the score a second time, as a reranker might."""

    description: ClassVar[str] = "score = vector score, again"

    def formula(self, of: Numbers) -> Any:
        return of["vector_score"]


def test_a_column_has_one_writer() -> None:
    with pytest.raises(InputError, match="'fusion' and 'rerank' both write the column 'score'"):
        SHIPPED.with_new_stage(AnotherScore(), before="order")


def test_a_stage_reads_what_an_earlier_stage_writes() -> None:
    without = tuple(stage for stage in SHIPPED.stages if stage.slot != "keyword_score")
    with pytest.raises(InputError, match="'fusion' reads the column 'keyword_score', which no earlier"):
        Pipeline("broken", without, SHIPPED.source)


def test_a_stage_that_comes_too_late_is_refused() -> None:
    september = SYSTEMS["openclaw-2026.9.6"]
    recency = september["recency"]
    late = [stage for stage in september.stages if stage is not recency]
    late.insert(late.index(september["order"]), recency)
    with pytest.raises(InputError, match="writes recency after a stage that uses it"):
        replace(september, stages=tuple(late))


def test_a_leg_that_nothing_depends_on_is_refused() -> None:
    unused = {"keyword_score", "fusion"}
    stages = [stage for stage in SHIPPED.stages if stage.slot not in unused]
    stages.insert(-3, OneLeg("vector"))
    stages[-3] = Order()
    with pytest.raises(InputError, match="the leg 'keyword' is asked, but nothing that ranks or drops"):
        Pipeline("one-leg-too-many", tuple(stages), SHIPPED.source)


@pytest.mark.parametrize("pipeline", SYSTEMS.values(), ids=list(SYSTEMS))
def test_what_a_formula_reads_is_found_by_running_it(pipeline: Pipeline) -> None:
    written: set[str] = set()
    for stage in pipeline.stages:
        assert set(stage.reads()) <= written
        assert not set(stage.writes()) & written
        written |= set(stage.writes())
    assert "score" in written
