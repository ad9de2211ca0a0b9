"""A stage of one's own that goes wrong is named, with its place, and the workbench is not blamed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.measure.reach import reach
from workbench.memory.index import MemoryIndex
from workbench.records import Hits, Leg, Stage, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage
from workbench.retrieval.fusion import RankSum
from workbench.retrieval.legs import LegStage, Union, with_leg
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import OR_JOIN, SHIPPED

JOINED = SHIPPED.with_changes(OR_JOIN)


@dataclass(frozen=True)
class Fresh(ColumnStage, slot="fresh", output="fresh_score", scale="fused"):
    """A stage whose formula each test gives."""

    compute: Callable[[Numbers], Any]
    description = "fresh score = score"

    def formula(self, of: Numbers) -> Any:
        return self.compute(of)


@dataclass(frozen=True)
class Bad(PlainStage, slot="fresh"):
    """A stage that reads and writes, and returns what each test gives."""

    returned: Callable[[Trace], Any]
    description = "fresh score"

    def reads(self) -> tuple[str, ...]:
        return ("score",)

    def writes(self) -> tuple[str, ...]:
        return ("fresh_score",)

    def run(self, trace: Trace, context: Context) -> Any:
        return self.returned(trace)


def ranked_by(stage: Stage) -> Pipeline:
    """OpenClaw with a stage of one's own, whose column ranks."""
    order: Any = JOINED["order"]
    return JOINED.with_new_stage(stage, before="order").with_stage(replace(order, by="fresh_score"))


def in_place(of: Numbers) -> Any:
    scores = of["score"]
    if isinstance(scores, np.ndarray):
        scores *= 0.5
    return scores


def looked_up(of: Numbers) -> Any:
    days: dict[str, float] = {}
    return of["score"] * (days["today"] if isinstance(of["score"], np.ndarray) else 1.0)


WRONG = [
    (Fresh(looked_up), r"Fresh \(test_stages_of_ones_own.py:\d+\), ends with KeyError: 'today'"),
    (Fresh(in_place), "read-only"),
    (
        Fresh(lambda of: None if isinstance(of["score"], np.ndarray) else of["score"]),
        "the formula returns None",
    ),
    (Bad(lambda _: None), "returns None, and a stage returns the trace"),
    (Bad(lambda trace: trace), "says that it writes fresh_score, and does not"),
]


@pytest.mark.parametrize(("stage", "says"), WRONG)
def test_a_stage_that_goes_wrong_is_named_with_its_place(stage: Stage, says: str, toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match=says) as raised:
        search("tea", ranked_by(stage), toy)
    assert "The stage fresh of your own, tests.retrieval.test_stages_of_ones_own." in str(raised.value)
    assert "docs/extending.md" in str(raised.value)


def test_a_formula_that_fails_is_named_when_the_pipeline_is_made() -> None:
    def fails(of: Numbers) -> Any:
        raise ZeroDivisionError("by nothing")

    with pytest.raises(InputError, match="ends with ZeroDivisionError: by nothing"):
        ranked_by(Fresh(fails))


def test_a_formula_that_changes_a_column_changes_no_other_stage(toy: MemoryIndex) -> None:
    before = search("tea", JOINED, toy)
    with pytest.raises(InputError):
        search("tea", ranked_by(Fresh(in_place)), toy)
    assert search("tea", JOINED, toy).paths() == before.paths()


def test_a_pipeline_whose_legs_bring_no_candidates_is_refused() -> None:
    stages = tuple(one for one in JOINED.stages if not isinstance(one, Union))
    with pytest.raises(InputError, match=r"no stage makes what its legs bring candidates"):
        replace(JOINED, stages=stages)


def test_a_scale_that_one_hit_alone_does_not_have_is_not_what_a_leg_can_reach() -> None:
    def stretched(of: Numbers) -> Any:
        low, high = of.least("score"), of.greatest("score")
        return (of["score"] - low) / (high - low)

    with np.errstate(invalid="ignore"):
        found = reach(ranked_by(Fresh(stretched)), "vector")
    assert found is not None
    assert found.score == 1.0


def test_every_system_here_makes_candidates() -> None:
    assert all(any(stage.slot == "candidates" for stage in one.stages) for one in SYSTEMS.values())


@dataclass(frozen=True)
class Given(LegStage):
    """A leg that brings what each test gives."""

    rows: tuple[int, ...] = ()
    raw: tuple[float, ...] = ()
    name: str = "given"
    slot: str = "given_leg"
    description = "given leg"
    number, best_raw, worst_raw = "points", (1.0,), 0.0

    def deepest(self, limit: float) -> int:
        return 9

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_leg(trace, Leg(self.name, "", 9, self.every(trace, context), number=self.number))

    def every(self, trace: Trace, context: Context) -> Hits:
        return Hits(np.array(self.rows, np.int64), np.array(self.raw, float), True)


BROUGHT = [
    ((1, 2), (0.5,), "brings 2 rows and 1 numbers"),
    ((1, 2), (0.5, np.nan), "brings a hit whose number is NaN"),
    ((1, 1), (0.5, 0.4), "brings a chunk twice"),
    ((1, 2), (0.4, 0.5), "brings its hits in another order than the best first"),
]


@pytest.mark.parametrize(("rows", "raw", "says"), BROUGHT)
def test_the_hits_of_a_leg_of_ones_own_are_checked(
    rows: tuple[int, ...], raw: tuple[float, ...], says: str, toy: MemoryIndex
) -> None:
    with pytest.raises(InputError, match=says):
        search("tea", _with_leg(Given(rows=rows, raw=raw)), toy)
    equal = search("tea", _with_leg(Given(rows=(1, 2), raw=(0.5, 0.5))), toy)
    assert equal.legs["given"].hits.rows.size == 2


def _with_leg(leg: LegStage) -> Pipeline:
    fusion = RankSum(more=(("given", 0.1),))
    stages = [fusion if one.slot == "fusion" else one for one in JOINED.stages]
    place = next(number for number, one in enumerate(stages) if isinstance(one, Union))
    return replace(JOINED, stages=(*stages[:place], leg, *stages[place:]))
