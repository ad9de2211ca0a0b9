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
from workbench.measure.reruns import Reruns
from workbench.memory.index import MemoryIndex
from workbench.records import Hits, Leg, Rows, Stage, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage
from workbench.retrieval.cutoff import Order
from workbench.retrieval.fusion import OneLeg, RankSum
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.legs import LegStage, Union, with_leg
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.settings import with_settings, with_values
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
        floor: Any = JOINED["floor"]
        found = reach(ranked_by(Fresh(stretched)).with_stage(replace(floor, of="fresh_score")), "vector")
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


@dataclass(frozen=True)
class Twice(Order):
    """An order in which a candidate comes twice."""

    def rows(self, trace: Trace) -> Rows:
        found = super().rows(trace)
        return np.concatenate([found[:1], found[:-1]]) if found.size > 1 else found


def test_an_order_with_a_candidate_twice_is_refused(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match="has a candidate twice in its order"):
        search("tea", JOINED.with_stage(Twice()), toy)


@dataclass(frozen=True)
class FromSecond(PlainStage, slot="limit"):
    """A limit that is none of the workbench."""

    description = "limit: the results from 2 on"

    def run(self, trace: Trace, context: Context) -> Trace:
        return trace


def test_a_limit_of_another_kind_is_refused_since_the_legs_follow_it() -> None:
    with pytest.raises(InputError, match=r"slot limit is no Limit(.|\n)*Derive it from Limit"):
        JOINED.with_stage(FromSecond())


def test_an_infinite_limit_is_refused() -> None:
    with pytest.raises(InputError, match="limit is inf, which no search can return"):
        JOINED.asking(limit=float("inf"))


def test_a_reach_is_compared_in_the_column_that_the_floor_reads() -> None:
    larger = ranked_by(Fresh(lambda of: 10 * of["score"]))
    found = reach(larger, "keyword")
    assert found is not None
    assert found.score == pytest.approx(0.3)
    assert not found.passes
    floor: Any = larger["floor"]
    of_fresh = reach(larger.with_stage(replace(floor, of="fresh_score")), "keyword")
    assert of_fresh is not None
    assert of_fresh.passes


def test_a_reach_by_the_raw_number_of_a_leg_has_no_formula() -> None:
    order: Any = JOINED["order"]
    floor: Any = JOINED["floor"]
    raw = JOINED.with_stage(replace(order, by="keyword_relevance")).with_stage(
        replace(floor, of="keyword_relevance")
    )
    assert reach(raw, "keyword") is None


def test_a_rerun_has_the_notes_and_scales_of_a_search(toy: MemoryIndex) -> None:
    base = with_settings(JOINED, ["fusion.vector=0.6", "fusion.keyword=0.6"])
    runs = Reruns("tea", base, CachedIndex(toy))
    assert runs.base.notes
    for other in (JOINED, base.with_stage(OneLeg()), base.with_stage(replace(base["fusion"], keyword=0.5))):
        made, searched = runs.trace(other), search("tea", other, toy)
        assert (made.notes, made.scales, made.names) == (searched.notes, searched.scales, searched.names)


def test_the_weight_of_a_third_leg_is_set_by_value() -> None:
    changed = with_values(_with_leg(Given()), {"fusion.given": 0.7})
    assert changed["fusion"] == RankSum(more=(("given", 0.7),))
