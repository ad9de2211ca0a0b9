"""Records a question that another engine answered: its legs' lists, its fused list, and how it fuses them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from workbench.errors import InputError
from workbench.measure.questions import Question, QuestionSet
from workbench.records import Leg, Shown, Trace
from workbench.registry import part_of
from workbench.retrieval.cutoff import Limit, MinScore, Order
from workbench.retrieval.explain import Explanation, explain
from workbench.retrieval.fusion import Fusion, OneLeg
from workbench.retrieval.legs import Union
from workbench.retrieval.pipeline import Pipeline, Source, search
from workbench.tables import Part, hanging
from workbench_plugins.engines.presets import ENGINES, MOST, fuse
from workbench_plugins.recorder.legs import (
    Asked,
    ForeignIndex,
    Pairs,
    RecordedFusion,
    RecordedPlace,
    TopK,
    inferred,
    leg_kinds,
    scores_or_ranks,
)

CLOSE = 1e-6
"""Scores that differ by less are the same: some engines compute in float32."""


@dataclass(frozen=True)
class SettingFloor(MinScore, slot="engine_floor"):
    """A floor whose value is a recorded setting, or inferred from where the fused list ends."""

    known: str = field(kw_only=True, repr=False)

    @property
    def says(self) -> str:
        return (
            f"engine floor ({self.known}): drop what has an {self.of.replace('_', ' ')} below {self.floor:g}"
        )


@dataclass(frozen=True)
class SettingLimit(Limit):
    """A limit that is a recorded setting, or inferred from where the fused list ends."""

    known: str = field(kw_only=True, repr=False)

    @property
    def says(self) -> str:
        return f"limit ({self.known}): keep the first {self.count:g}"


@dataclass(frozen=True)
class Recorder:
    """An engine as it can be asked: its legs, and what is known of its fusion, limit and floor.

    `fusion` is the name of an engine of ours (`workbench_plugins.engines.presets.ENGINES`), a `Fusion`, or
    None: then it is inferred from the fused list. `fused` is the engine's own search. `texts` are the texts
    of all documents by id, if they are known. `scores_from` is what a distance is subtracted from.
    """

    engine: str
    legs: Mapping[str, Asked]
    fusion: str | Fusion | None = None
    fused: Callable[[str], Pairs] | None = None
    limit: int | None = None
    floor: float | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    scores_from: float = 1.0

    def record(self, question: str) -> Recording:
        """The question with what the legs and the engine return for it now."""
        fused = None if self.fused is None else [(str(one), score) for one, score in self.fused(question)]
        index = ForeignIndex(self.engine, self.legs, self.texts, {question: scores_or_ranks(fused or [])})
        scored = all(score is not None for _, score in fused or ())
        fusion = self._fusion(index, question, scored)
        column = "recorded_score" if isinstance(fusion, RecordedFusion) else "inferred_score"
        cuts: list[Any] = [
            RecordedPlace(),
            Order(("recorded_place",), column),
            SettingLimit(MOST, known="none recorded"),
        ]
        bare = search(question, self._pipeline(fusion, cuts), index)
        cut = [one for one, _ in fused or ()]
        scores = {one.chunk.id: one.score for one in bare.candidates}
        agrees = None if fused is None else _begins(scores, cut)
        if self.floor is not None:
            cuts.insert(2, SettingFloor(self.floor, column, known="recorded"))
        elif agrees and self.limit is not None and len(cut) < min(self.limit, len(bare.chunks)):
            lowest = min((one.score for one in bare.candidates if one.chunk.id in cut), default=math.inf)
            cuts.insert(2, SettingFloor(lowest, column, known="inferred"))
        if self.limit is not None:
            cuts[-1] = SettingLimit(self.limit, known="recorded")
        elif agrees and self.floor is None and 0 < len(cut) < len(bare.chunks):
            cuts[-1] = SettingLimit(len(cut), known="inferred")
        pipeline = self._pipeline(fusion, cuts)
        return Recording(self, question, pipeline, index, search(question, pipeline, index), agrees)

    def _pipeline(self, fusion: Any, cuts: Sequence[Any]) -> Pipeline:
        stages = []
        for name, leg in self.legs.items():
            kind, score = leg_kinds(name)
            stages.append((kind(leg.depth), score(0.0 if leg.larger_is_better else self.scores_from)))
        legs, scores = zip(*stages, strict=True)
        source = Source(self.engine, "as recorded", "legs")
        return Pipeline(self.engine, (*legs, Union(), *scores, fusion, *cuts), source)

    def _fusion(self, index: ForeignIndex, question: str, scored: bool) -> Any:
        given = self.fusion
        if isinstance(given, str):
            return inferred(ENGINES.named(given).fusion)
        if given is not None or len(self.legs) == 1:
            return inferred(given or OneLeg(*self.legs))
        fitting = _fitting(index, question, self.scores_from, scored)
        return inferred(fitting) if fitting else RecordedFusion(tuple(self.legs))


def _fitting(index: ForeignIndex, question: str, most: float, scored: bool) -> Fusion | None:
    """The first fusion of ours that gives the recorded fused list; None if none does.

    It must give the scores, too, where they are recorded.
    """
    wanted = index.fused[question]
    if not wanted or set(index.legs) != {"vector", "keyword"}:
        return None
    lists = {}
    for name, leg in index.legs.items():
        hits = index.listed(name, question, leg.depth.of(len(wanted)))
        given = hits.relevance if hits.larger_is_better else most + hits.relevance
        lists[name] = {one.id: float(x) for one, x in zip(index.chunks(hits.rows), given, strict=True)}
    for one in ENGINES.values():
        scores = {hit.id: hit.score for hit in fuse(one.fusion, lists["vector"], lists["keyword"])}
        pairs = [(scores.get(id_, math.nan), score) for id_, score in wanted]
        close = all(math.isclose(*pair, rel_tol=CLOSE, abs_tol=CLOSE) for pair in pairs)
        if close if scored else _begins(scores, [id_ for id_, _ in wanted]):
            return one.fusion
    return None


def _begins(scores: Mapping[str, float], fused: Sequence[str]) -> bool:
    """Whether a recorded list begins the order of these scores, where equal ones may stand in any order."""
    rest = [score for id_, score in scores.items() if id_ not in fused and not math.isnan(score)]
    falling = [*(scores.get(id_, math.nan) for id_ in fused), max(rest, default=-math.inf)]
    return all(one >= later - CLOSE * max(1.0, abs(one)) for one, later in pairwise(falling))


@dataclass(frozen=True, repr=False)
class Recording(Shown):
    """One question that another engine answered: a pipeline, an index and a trace of ours.

    `trace`, `pipeline` and `index` go wherever ours go. `agrees` says whether the inferred fusion gives the
    recorded fused list; None if none was recorded.
    """

    recorder: Recorder
    question: str
    pipeline: Pipeline
    index: ForeignIndex
    trace: Trace
    agrees: bool | None

    def __repr__(self) -> str:
        return f"<Recording: {self.recorder.engine}, {self.question!r}, {self.says}>"

    @property
    def fused(self) -> Sequence[tuple[str, float]]:
        """The recorded answer; empty without one."""
        found: Sequence[tuple[str, float]] = self.index.fused[self.question]
        return found

    def scores_of(self, leg: Leg) -> list[float]:
        """The scores of a leg's hits, larger better."""
        most = 0.0 if leg.hits.larger_is_better else self.recorder.scores_from
        return [float(one) for one in most + leg.hits.relevance]

    @property
    def says(self) -> str:
        """What was recorded and what was inferred, in a sentence."""
        legs = " and ".join(self.recorder.legs)
        if isinstance(self.pipeline["fusion"], RecordedFusion):
            return f"recorded: {legs} and the fused list, which no known fusion gives"
        gives = "gives" if self.agrees else "does not give"
        checked = "" if self.agrees is None else f", which {gives} the recorded list"
        return f"recorded: {legs}; inferred: the fusion{checked}"

    def view(self) -> list[Part]:
        """What was recorded, and the trace."""
        return [hanging(f"{self.recorder.engine}: {self.says}"), *self.trace.view()]

    def explain(self, target: str) -> RecordedExplanation:
        """Why a document is in the answer or not; each line says whether it was recorded or inferred."""
        return RecordedExplanation(self, explain(self.trace, self.index, target))

    def questions(self, target: str) -> QuestionSet:
        """The recorded question with the document that answers it: what prices can be measured with."""
        return QuestionSet(questions=(Question(question=self.question, target=target, kind="recorded"),))

    def diagnose(self, target: str, questions: QuestionSet | None = None) -> Any:
        """What loses a document. An engine that cannot be asked again is priced by this question alone."""
        again = all(leg.again for leg in self.recorder.legs.values())
        self.index.rows_of(target)
        asked = questions or (None if again and self.recorder.texts else self.questions(target))
        return part_of("name", "diagnose").diagnose(
            self.question, self.pipeline, self.index, target, questions=asked
        )

    def case(self, target: str) -> Any:
        """A case of the two lists and the fusion. Raises InputError for a fusion that no system here has."""
        from workbench_plugins.recorder.cases import case_of

        return case_of(self, target)


@dataclass(frozen=True, repr=False)
class RecordedExplanation(Shown):
    """An explanation of a recording, each of whose lines is marked as recorded or inferred."""

    recording: Recording
    explanation: Explanation

    def __str__(self) -> str:
        first, system, *lines = self.explanation.text().split("\n")
        return "\n".join([first, system, f"  {self.recording.says}", *map(self._marked, lines)])

    def view(self) -> list[Part]:
        """The marked lines."""
        return [hanging(line) for line in str(self).split("\n")]

    def _marked(self, line: str) -> str:
        if not line.strip() or any(word in line for word in ("recorded", "inferred", "unknown")):
            return line
        recording, told = self.recording, line.strip()
        scores = tuple(f"{leg} {what}" for leg in recording.recorder.legs for what in ("score = ", "leg: "))
        returned = told.startswith("returned;") or told.endswith(": returned")
        if told.startswith(scores) or (returned and recording.agrees):
            return f"{line} [recorded]"
        missing = recording.agrees and self.explanation.target not in dict(recording.fused)
        return f"{line} [inferred{'; the recorded list does not have it' if missing else ''}]"


def record(
    question: str,
    legs: Mapping[str, Pairs],
    fused: Pairs | None = None,
    *,
    engine: str = "another engine",
    fusion: str | Fusion | None = None,
    depth: Mapping[str, int] | None = None,
    distances: Sequence[str] = (),
    limit: int | None = None,
    floor: float | None = None,
    texts: Mapping[str, str] | None = None,
) -> Recording:
    """A recording of lists that are there already: (id, score) pairs of each leg, best first.

    The score of a pair may be None. Name the legs `vector` and `keyword`. `fused` is the engine's own answer,
    and `fusion` what it fuses with, as for `Recorder`. `depth` says how many hits each leg was asked for, and
    `distances` names the legs whose smaller scores are better. A rank that is not in a list is unknown.
    Raises InputError for no leg, and for what are not such pairs.
    """
    if not legs:
        raise InputError("There is no leg to record.", 'Give legs={"vector": pairs, "keyword": pairs}.')
    lists = {name: list(pairs) for name, pairs in legs.items()}
    deep = depth or {}

    def leg(name: str) -> Asked:
        def ask(asked: str, _: int) -> Pairs:
            if asked != question:
                raise InputError(
                    f"Only {question!r} was recorded of {engine}, not {asked!r}.",
                    "Use recording.diagnose(target), or give questions=recording.questions(target).",
                )
            return lists[name]

        near = name in distances
        return Asked(
            ask,
            TopK(cap=deep.get(name, max(1, len(lists[name])))),
            "distance" if near else "score",
            not near,
            again=False,
        )

    given = None if fused is None else list(fused)
    made = Recorder(
        engine,
        {name: leg(name) for name in lists},
        fusion,
        None if given is None else lambda _: given,
        limit,
        floor,
        texts or {},
    )
    return made.record(question)
