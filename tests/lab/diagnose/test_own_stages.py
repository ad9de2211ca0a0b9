"""A stage of one's own that leaves candidates out of its list, or turns their order, is named for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import workbench as wb
from tests import world
from tests.extensions.phrase_leg import PhraseLeg, PhraseScore
from workbench.contracts import Context
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Clause, Fate, Hits, Leg, Query, Stage, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage
from workbench.retrieval.cutoff import Limit, MinScore, Order
from workbench.retrieval.explain import explain
from workbench.retrieval.fusion import RankSum, Weighted, WeightedSum
from workbench.retrieval.legs import (
    FixedDepth,
    KeywordLeg,
    LegStage,
    Union,
    VectorLeg,
    legs_of,
    no_hits,
    with_leg,
)
from workbench.retrieval.own_stages import place_of
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.scoring import Cosine, MinMaxRank
from workbench.systems.catalogue import system
from workbench.terminal import text_of
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.repairs import combined
from workbench_plugins.diagnose.stage_settings import typed_settings

NOTES = {
    "memory/tea/pot.md": "# Pot\nThe tea pot .\n",
    "memory/tea/cup.md": "# Cup\nA cup of tea .\n",
    "memory/bike/hub.md": "# Hub\nThe bike has a hub, and no tea .\n",
}
BASE = system("engine-rrf-60")
LOST = "memory/tea/cup.md"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[MemoryIndex]:
    with world.build(tmp_path, NOTES) as opened:
        yield opened


def first_of_each_folder(trace: Trace) -> Trace:
    """The trace with an order that has the best chunk of each folder alone."""
    folders: dict[str, int] = {}
    for row in trace.order.tolist():
        folders.setdefault(trace.chunks[row].path.rpartition("/")[0], row)
    return trace.with_changes(order=np.array([*folders.values()], np.int64))


@dataclass(frozen=True)
class Diverse(PlainStage, slot="diversity"):
    description: ClassVar[str] = "one of each folder"

    def run(self, trace: Trace, context: Context) -> Trace:
        return first_of_each_folder(trace)


@dataclass(frozen=True)
class DiverseOrder(Order):
    def run(self, trace: Trace, context: Context) -> Trace:
        return first_of_each_folder(super().run(trace, context))


@dataclass(frozen=True)
class DiverseLimit(Limit):
    def run(self, trace: Trace, context: Context) -> Trace:
        return first_of_each_folder(super().run(trace, context))


def with_own(stage: Stage) -> Pipeline:
    if stage.slot == "diversity":
        return BASE.with_new_stage(stage, before="limit")
    return BASE.with_stage(stage)


@dataclass(frozen=True)
class Aged(ColumnStage, slot="age", output="aged_score", scale="score × age"):
    description: ClassVar[str] = "aged score = a hundredth of the score"

    def formula(self, of: Numbers) -> Any:
        return of["score"] / 100


def aged(base: Pipeline) -> Pipeline:
    """A system in which a stage of one's own has the column that the order and the floor read."""
    floor = MinScore(base.floor if base.floor > 0 else 0.01, of="aged_score")
    pipeline = base.with_new_stage(Aged(), before="order").with_stage(Order(by="aged_score"))
    has_floor = any(stage.slot == "floor" for stage in base.stages)
    return pipeline.with_stage(floor) if has_floor else pipeline.with_new_stage(floor, before="limit")


def test_a_stage_whose_column_is_ordered_and_compared_with_the_floor_is_a_cause(index: MemoryIndex) -> None:
    pipeline = replace(aged(system("openclaw-2026.2.13+or")), name="mine")
    found = diagnose("the tea pot", pipeline, index, LOST)
    (cause,) = (one for one in found.causes if one.where == ("age",))
    assert "aged score = a hundredth of the score (test_own_stages.py:" in cause.description
    assert "order = Order(ties=(), by='score'), floor = MinScore(floor=0.35, of='score')" in found.text


def test_a_floor_above_every_score_names_the_best_of_the_numbers_that_it_compares(index: MemoryIndex) -> None:
    told = diagnose("the tea pot", aged(BASE), index, LOST).headline
    assert "(this file: 0.0003), above every score: the best of 9 other questions is 0.000328" in told


@pytest.mark.parametrize("stage", [Diverse(), DiverseOrder(), DiverseLimit()])
def test_what_it_leaves_out_is_dropped_and_the_stage_is_the_cause(index: MemoryIndex, stage: Stage) -> None:
    pipeline = with_own(stage)
    trace = search("the tea pot", pipeline, index)
    assert LOST in search("the tea pot", BASE, index).paths()
    assert LOST not in trace.paths()
    assert sorted(trace.order.tolist()) == list(range(trace.rows.size))
    assert explain(trace, index, LOST).fate is not Fate.RETURNED
    (lost,) = [one for one in trace.candidates if one.chunk.path == LOST]
    assert lost.dropped_by == stage
    assert "it has no place in its list" in lost.reason
    found = diagnose("the tea pot", pipeline, index, LOST)
    assert found.causes[0].where == (stage.slot,)
    assert "test_own_stages.py:" in found.headline
    assert "this file:" not in found.headline


def test_an_option_of_the_command_line_is_no_repair_of_a_pipeline_that_only_python_makes(
    index: MemoryIndex,
) -> None:
    """The command searches with the system of that name, which is not at fault."""
    found = diagnose("the tea pot", with_own(DiverseOrder()), index, LOST)
    assert "--set" not in found.text
    assert [one["set"] for one in found.as_json()["fixes"]] == [None] * len(found.fixes)
    first = text_of(found.view())
    assert ": the Python below" in " ".join(first.split())
    code, searches, _ = first[first.index("import workbench as wb") :].partition("index = wb.open_index(")
    assert searches  # of the folder's index, whose toy model has no name here
    made: dict[str, Any] = {}
    exec(compile(code, "fix", "exec"), made)
    assert LOST in search("the tea pot", made["pipeline"], index).paths()


@dataclass(frozen=True)
class Newest(ColumnStage):
    """A reranker with the wrong sign."""

    slot = output = "fresh_score"
    present: ClassVar[str] = "score"
    scale: ClassVar[str] = "freshness"
    description: ClassVar[str] = "fresh score = 1 - score"

    def formula(self, of: Numbers) -> Any:
        return of.constant(1) - of["score"]


@dataclass(frozen=True)
class Backwards(PlainStage, slot="shuffle"):
    description: ClassVar[str] = "the order from behind"

    def run(self, trace: Trace, context: Context) -> Trace:
        return trace.with_changes(order=trace.order[::-1])


def reranked() -> Pipeline:
    return BASE.with_new_stage(Newest(), before="order").with_stage(
        replace(BASE["order"], by="fresh_score")  # type: ignore[type-var]
    )


def backwards() -> Pipeline:
    return BASE.with_new_stage(Backwards(), before="limit")


@pytest.mark.parametrize(
    ("pipeline", "slot"),
    [
        (reranked(), "fresh_score"),
        (replace(reranked(), name="mine"), "fresh_score"),
        (reranked().with_stage(Order(by="fresh_score")), "fresh_score"),
        (backwards(), "shuffle"),
    ],
)
def test_a_stage_that_turns_the_order_round_is_the_cause_and_not_the_limit(
    index: MemoryIndex, pipeline: Pipeline, slot: str
) -> None:
    short = pipeline.asking(limit=1)
    assert search("the tea pot", BASE.asking(limit=1), index).paths() == ["memory/tea/pot.md"]
    found = diagnose("the tea pot", short, index, "memory/tea/pot.md")
    assert found.causes[0].where == (slot,)
    assert "upside down, it ranks what has the best score below what has the worst" in found.headline
    assert found.fixes[0].verified
    assert found.fixes[0].pipeline.limit == 1
    assert "only by a longer answer" not in found.text


def limited_early(pipeline: Pipeline) -> Pipeline:
    """The pipeline with its limit right before its order, under a name of one's own."""
    limit = pipeline["limit"]
    stages = [stage for stage in pipeline.stages if stage is not limit]
    stages.insert(stages.index(pipeline["order"]), limit)
    return replace(pipeline, name="mine", stages=tuple(stages))


def test_a_limit_before_the_order_is_the_cause_and_goes_after_it(index: MemoryIndex) -> None:
    pipeline = limited_early(BASE.asking(limit=1))
    assert search("the tea pot", pipeline, index).paths() == [LOST]
    found = diagnose("the tea pot", pipeline, index, "memory/tea/pot.md")
    assert found.headline == (
        "Cause: limit: keep the first 1 (this file: 2), before the order sorts them: "
        "it drops 1 chunk with a higher score than one that it keeps"
    )
    assert found.causes[0].repair == "limit after the order: it then keeps the best"
    assert found.fixes[0].verified
    assert found.fixes[0].pipeline.stages == BASE.asking(limit=1).stages
    assert "Repair: limit after the order: the Python below" in text_of(found.view()).split("\n")
    exec(compile(found.fixes[0].as_python, "fix", "exec"), made := {})
    assert made["pipeline"].stages == BASE.asking(limit=1).stages


def test_a_limit_before_the_order_that_drops_nothing_better_is_not_blamed_for_it(index: MemoryIndex) -> None:
    pipeline = limited_early(BASE.asking(limit=1))
    found = diagnose("a cup of tea", pipeline, index, "memory/tea/pot.md")
    assert "before the order" not in found.text


@dataclass(frozen=True)
class Farness(ColumnStage, slot="vector_score", scale="cosine distance", present="vector_rank"):
    """The wrong sign: the farthest chunk has the best score."""

    description: ClassVar[str] = "vector score = 1 + cosine distance"

    def formula(self, of: Numbers) -> Any:
        return of.constant(1) + of["vector_raw"]


def test_a_floor_that_does_not_drop_the_file_is_not_named_alone_for_a_turned_score(
    index: MemoryIndex,
) -> None:
    """With the score mended, the floor drops the file, and so no repair is enough alone."""
    plain = replace(system("openclaw-2026.2.13+or"), name="mine")
    question, lost = "hub", "memory/bike/hub.md"
    best = search(question, plain.asking(min_score=0), index).candidates[0]
    floored = plain.asking(min_score=best.score + 0.02, limit=1)
    assert best.chunk.path == lost
    assert search(question, floored, index).paths() == []
    broken = floored.with_stage(Farness())
    found = diagnose(question, broken, index, lost)
    assert found.explanation.fate is Fate.BEYOND_LIMIT
    assert "vector_score" in found.causes[0].where
    assert "upside down" in found.headline
    assert found.fixes[0].verified
    assert isinstance(found.fixes[0].pipeline["vector_score"], Cosine)


@dataclass(frozen=True)
class Upwards(Weighted):
    """Reciprocal rank fusion with the wrong sign."""

    description: ClassVar[str] = "score = sum of 1 / (61 - rank)"

    def part(self, of: Numbers, leg: str) -> Any:
        """The part of one leg."""
        return self.weight(of, leg) / (61 - of[f"{leg}_rank"])


@dataclass(frozen=True)
class Renamed(Order):
    description: ClassVar[str] = "an order under another name"


@pytest.mark.parametrize(
    ("stage", "line"),
    [
        (Upwards(), "        return self.weight(of, leg) / (61 - of"),
        (Newest(), "        return of.constant(1) - of"),
        (Backwards(), "        return trace.with_changes(order=trace.order[::-1])"),
        (Renamed(), "@dataclass(frozen=True)"),
    ],
)
def test_its_place_is_the_line_that_computes_or_else_its_class(stage: Stage, line: str) -> None:
    name, number = place_of(stage).split(":")
    assert name == Path(__file__).name
    assert Path(__file__).read_text(encoding="utf-8").splitlines()[int(number) - 1].startswith(line)


def test_a_system_that_a_program_registers_is_no_system_of_a_command(
    index: MemoryIndex, nothing_registered: None
) -> None:
    own = replace(BASE, name="upwards").with_stage(Upwards()).asking(limit=1)
    wb.register(own)
    (lost,) = search("the tea pot", BASE.asking(limit=1), index).paths()
    found = diagnose("the tea pot", wb.system("upwards"), index, lost)
    assert found.causes[0].where == ("fusion",)
    assert "--set" not in found.text
    made: dict[str, Pipeline] = {}
    exec(compile(found.fixes[0].as_python, "fix", "exec"), made)
    assert search("the tea pot", made["pipeline"], index).paths() == [lost]
    assert "wb.system" not in found.fixes[0].as_python


def test_a_stage_of_a_system_that_a_program_registers_is_no_setting(nothing_registered: None) -> None:
    own = replace(BASE, name="upwards").with_stage(Upwards())
    wb.register(own)
    assert typed_settings(BASE, own) == ()


def test_the_value_that_most_systems_have_precedes_one_that_only_wins_more(tmp_path: Path) -> None:
    """The order by the words alone finds one file more, and leaves the vectors out."""
    notes = {
        "memory/tea.md": "The tea .\n",
        "memory/shop.md": "The shop has tea and a bike, and more tea in a cup for the hub .\n",
        "memory/osei.md": "Osei has tea for the bike .\n",
        "memory/lamp.md": "The lamp .\n",
    }
    legs = JoinedWords("OR") >> KeywordLeg() >> VectorLeg() >> Union() >> MinMaxRank() >> Cosine()
    order = Order(by="vector_score") >> MinScore(0.01, of="score") >> Limit(1)
    mine = Pipeline("mine", legs >> WeightedSum(0.5, 0.5) >> order, BASE.source)
    labelled = QuestionSet(questions=(Question(question="tea lamp", target="memory/lamp.md"),))
    with world.build(tmp_path, notes) as opened:
        by_words, by_score = (mine.with_stage(Order(by=one)) for one in ("keyword_score", "score"))
        assert search("tea lamp", by_words, opened).paths() == ["memory/lamp.md"]
        assert search("tea lamp", by_score, opened).paths() != ["memory/lamp.md"]
        for one in (by_words, by_score):
            assert search("tea Osei", one, opened).paths() == ["memory/osei.md"]
        found = diagnose("tea Osei", mine, opened, "memory/osei.md", questions=labelled)
    assert found.causes[0].where == ("order",)
    assert "Repair: order.by = score" in found.text


@dataclass(frozen=True)
class FirstWordLeg(LegStage):
    """A keyword leg that asks only the first word of a question."""

    name: ClassVar[str] = "keyword"
    slot: ClassVar[str] = "keyword_leg"
    number: ClassVar[str] = "bm25"
    best_raw: ClassVar[tuple[float, ...]] = (-1e12, -1e-12)
    description: ClassVar[str] = "keyword leg: the first word"

    def deepest(self, limit: float) -> int:
        return 10

    def every(self, trace: Trace, context: Context) -> Hits | None:
        first = Query((Clause(trace.question.split()[0]),))
        return context.index.keyword(first, context.index.size)

    def run(self, trace: Trace, context: Context) -> Trace:
        hits = self.every(trace, context)
        assert hits is not None
        return with_leg(trace, Leg(self.name, trace.question, 10, hits, number=self.number))


def test_a_leg_of_one_s_own_that_misses_the_file_is_tried_with_the_plain_leg(index: MemoryIndex) -> None:
    good = replace(system("openclaw-2026.2.13+or"), name="mine")
    question, lost = "whose hub", "memory/bike/hub.md"
    score = {one.chunk.path: one.score for one in search(question, good, index).candidates}[lost]
    asked = good.asking(min_score=score)
    assert search(question, asked, index).paths() == [lost]
    found = diagnose(question, asked.with_stage(FirstWordLeg()), index, lost)
    assert found.causes[0].where == ("keyword_leg",)
    assert "test_own_stages.py:" in found.headline
    assert found.causes[0].verified
    assert not isinstance(found.fixes[0].pipeline["keyword_leg"], FirstWordLeg)


@dataclass(frozen=True)
class LongWordsLeg(FirstWordLeg):
    """A keyword leg of its own that asks the words of some length, of which it brings `most`."""

    least: int = 4
    most: int = 10
    description: ClassVar[str] = "keyword leg: the words of some length"

    def deepest(self, limit: float) -> int:
        return self.most

    def every(self, trace: Trace, context: Context) -> Hits:
        words = tuple(Clause(one) for one in trace.question.split() if len(one) >= self.least)
        return context.index.keyword(Query(words, "OR"), context.index.size) if words else no_hits()

    def run(self, trace: Trace, context: Context) -> Trace:
        every = self.every(trace, context)
        hits = Hits(every.rows[: self.most], every.raw[: self.most])
        return with_leg(trace, Leg(self.name, trace.question, self.most, hits, number=self.number))


def long_words(leg: LongWordsLeg) -> Pipeline:
    """A pipeline without a query, so that the plain leg in its place brings nothing."""
    legs = leg >> VectorLeg(FixedDepth(cap=1)) >> Union()
    return Pipeline("mine", legs >> RankSum(vector=1, keyword=2) >> Order() >> Limit(1), BASE.source)


def test_a_value_of_an_own_leg_with_which_it_does_not_list_the_file_is_named_first(
    index: MemoryIndex,
) -> None:
    lost = "memory/tea/pot.md"
    found = diagnose("my pot", long_words(LongWordsLeg()), index, lost)
    told = r"Cause: keyword leg: the words of some length \(test_own_stages.py:\d+\), with least = 4: (.*)"
    assert re.fullmatch(told, found.headline)[1] == "it does not list this file"  # type: ignore[index]
    assert found.causes[0].verified
    assert found.fixes[0].verified
    assert (found.fixes[0].setting, found.fixes[0].value) == ("keyword_leg.least", 3)
    assert "Repair: keyword_leg.least = 3: the Python below" in text_of(found.view()).split("\n")


def test_a_value_of_an_own_leg_that_lists_the_file_too_late_is_not_named_so(index: MemoryIndex) -> None:
    found = diagnose("tea", long_words(LongWordsLeg(least=1, most=1)), index, "memory/bike/hub.md")
    assert "does not list" not in found.text


def test_a_third_leg_of_one_s_own_that_lifts_other_files_is_left_out(index: MemoryIndex) -> None:
    """With half of the weight, "The tea" as a phrase brings another file than the one that has the word."""
    asked = JoinedWords("OR") >> KeywordLeg() >> VectorLeg() >> PhraseLeg() >> Union() >> MinMaxRank()
    scored = asked >> Cosine() >> PhraseScore() >> WeightedSum(0.2, 0.3, more=(("phrase", 0.5),))
    pipeline = Pipeline("mine", scored >> Order() >> MinScore(0.0) >> Limit(1), BASE.source)
    question, lost = "The tea in a cup", "memory/tea/cup.md"
    assert search(question, pipeline, index).paths() == ["memory/tea/pot.md"]
    found = diagnose(question, pipeline, index, lost)
    assert found.causes[0].where == ("phrase_leg",), found.headline
    assert found.repaired
    fixed = combined(pipeline, found.causes[0].repairs)
    assert [one.name for one in legs_of(fixed.stages)] == ["keyword", "vector"]
    assert fixed["fusion"] == WeightedSum(0.2, 0.3)
    assert search(question, fixed, index).paths() == [lost]
