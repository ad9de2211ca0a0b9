"""Records a question that another engine answered: its legs' lists, its fused list, and how it fuses them.

What was recorded and asked stands in an index of lists; the fusion, the floor and the limit are stages of
ours. Where they are not known they are inferred from the fused list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, TypedDict, Unpack

import numpy as np

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.measure.questions import Question, QuestionSet
from workbench.records import DropKind, Floats, Shown, Threshold, Trace
from workbench.retrieval.columns import PlainStage, with_column
from workbench.retrieval.cutoff import Limit, Order, best_first, dropped
from workbench.retrieval.explain import Explanation, explain
from workbench.retrieval.fusion import Fusion, OneLeg, Weighted
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.legs import Union
from workbench.retrieval.pipeline import Pipeline, Source, search
from workbench.tables import Part, hanging
from workbench_plugins.engines.lists import (
    MOST,
    Asked,
    ListIndex,
    Pairs,
    Scores,
    all_present,
    first_scores,
    leg_kinds,
)
from workbench_plugins.engines.presets import ENGINES
from workbench_plugins.recorder.recorded_index import EngineFloor, EngineLimit, RecordedIndex, TopK

CLOSE = 1e-6
"""Scores that differ by less are the same: some engines compute in float32."""


def _answer(context: Context, question: str) -> Scores:
    """The recorded answer to a question; empty for another question and another index."""
    index = innermost(context.index)
    return index.answers.get(question, {}) if isinstance(index, RecordedIndex) else {}


def _of_candidates(trace: Trace, known: Mapping[str, float]) -> Floats:
    return np.array([known.get(one.id, math.nan) for one in trace.chunks], float)


@cache
def _inferred(kind: Any) -> Any:
    words = property(lambda stage: f"inferred {kind.description.fget(stage)}")
    return type(f"Inferred{kind.__name__}", (kind,), {"description": words}, output="inferred_score")


def _copied(fusion: Any, kind: Any) -> Any:
    return kind(**{one.name: getattr(fusion, one.name) for one in fields(fusion)})


def inferred(fusion: Any) -> Any:
    """The fusion with the column `inferred_score`, which its words name.

    A fusion of another system is no repair of it, since floors and orders here read no `score`.
    """
    kind: Any = type(fusion)
    return _copied(fusion, _inferred(kind))


def as_known(fusion: Any) -> Any:
    """The fusion of ours of which `inferred` made this one; any other fusion as it is."""
    kind = type(fusion)
    return _copied(fusion, kind.__base__) if kind.__name__.startswith("Inferred") else fusion


@dataclass(frozen=True)
class RecordedFusion(PlainStage, slot="fusion"):
    """The fused list as it was recorded, where no known fusion gives it; other scores are unknown."""

    legs: tuple[str, ...]
    description: ClassVar[str] = "recorded score = the score in the answer, unknown for what is not in it"

    def reads(self) -> tuple[str, ...]:
        return tuple(f"{leg}_rank" for leg in self.legs)

    def writes(self) -> tuple[str, ...]:
        return ("recorded_score",)

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_column(trace, "recorded_score", _of_candidates(trace, _answer(context, trace.question)))


@dataclass(frozen=True)
class RecordedList(PlainStage, slot="recorded_list"):
    """Drops what the recorded fused list does not have: nothing is known of its place."""

    description: ClassVar[str] = "recorded list: drop what the engine did not return"

    def reads(self) -> tuple[str, ...]:
        return ("recorded_score",)

    def run(self, trace: Trace, context: Context) -> Trace:
        listed = Threshold("place in it", trace.columns["recorded_score"], -math.inf)
        return dropped(trace, self, DropKind.LEFT_OUT, listed)


@dataclass(frozen=True)
class RecordedOrder(Order):
    """Best number in `by` first; equal ones stand as in the recorded answer, then by chunk id."""

    @property
    def description(self) -> str:
        number = self.by.replace("_", " ")
        return f"order = by falling {number}, then as in the recorded answer, then by chunk id"

    def run(self, trace: Trace, context: Context) -> Trace:
        ranks = {id_: rank for rank, id_ in enumerate(_answer(context, trace.question), 1)}
        order = best_first(trace.columns[self.by], _of_candidates(trace, ranks), trace.ids)
        return trace.with_changes(order=order, ranked_by=self.by)


class Known(TypedDict, total=False):
    """What may be known of any engine; see `Recorder`."""

    texts: Mapping[str, str]
    scores_from: float


class KnownSettings(Known, total=False):
    """What may also be known of an engine whose lists are recorded; see `Recorder`."""

    fusion: str | Fusion | None
    limit: int | None
    floor: float | None


@dataclass(frozen=True)
class Recorder:
    """An engine as it can be asked: its legs, and what is known of its fusion, limit and floor.

    `fusion` is the name of an engine of ours (`workbench_plugins.engines.presets.ENGINES`), a `Fusion`, or
    None: then it is inferred from the fused list. `fused` is the engine's own search. `texts` are the texts
    of all documents by id, if they are known. `scores_from` is what a distance is subtracted from.
    Raises InputError for a limit below 1, and for a floor that is no number.
    """

    engine: str
    legs: Mapping[str, Asked]
    fusion: str | Fusion | None = None
    fused: Callable[[str], Pairs] | None = None
    limit: int | None = None
    floor: float | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    scores_from: float = 1.0

    def __post_init__(self) -> None:
        if self.limit is not None and not self.limit >= 1:
            raise InputError(f"The limit is {self.limit}.", "Give a number from 1, or leave it out.")
        if self.floor is not None and math.isnan(self.floor):
            raise InputError("The floor is not a number.", "Give one, such as 0.35, or leave it out.")

    def record(self, question: str) -> Recording:
        """The question with what the legs and the engine return for it now."""
        index = RecordedIndex(self.engine, self.legs, self.texts)
        answer = {} if self.fused is None else first_scores(self.fused(question))
        scored = all_present(answer)
        ranks = {id_: 1 / rank for rank, id_ in enumerate(answer, 1)}
        index.answers = {question: answer if scored else ranks}
        index.limited = self.limit is not None
        fusion = self._fusion(index, question, scored)
        scores = self._scores(fusion, index, question)
        agrees = None if self.fused is None else self._agrees(scores, list(answer))
        if agrees is False:  # what was recorded is true, whatever was said of the fusion
            fusion = RecordedFusion(tuple(self.legs))
        floor, limit = self.floor, self.limit
        if agrees and floor is None and limit is None and 0 < len(answer) < len(scores):
            limit = len(answer)
        elif agrees and floor is None and len(answer) < min(MOST if limit is None else limit, len(scores)):
            floor = min((scores[id_] for id_ in answer), default=math.inf)
        floors: list[Any] = [] if floor is None else [EngineFloor(floor=floor, of=fusion.writes()[0])]
        if isinstance(fusion, RecordedFusion):
            floors, limit = [RecordedList()], self.limit
            index.unfiltered = self._unfiltered(index, question) if scored else None
        pipeline = self._pipeline(fusion, *floors, EngineLimit(count=MOST if limit is None else limit))
        return Recording(self, question, pipeline, index, search(question, pipeline, index), agrees)

    def _agrees(self, scores: Mapping[str, float], answer: Sequence[str]) -> bool:
        """Whether these scores give the recorded list: an empty one if none of them passes a known floor."""
        if answer or self.floor is None:
            return _begins(scores, answer)
        return not any(score >= self.floor for score in scores.values())

    def _pipeline(self, fusion: Any, *cuts: Any) -> Pipeline:
        kinds = [(*leg_kinds(name), leg) for name, leg in self.legs.items()]
        legs = [kind(leg.depth) for kind, _, leg in kinds]
        scores = [kind(0.0 if leg.larger_is_better else self.scores_from) for _, kind, leg in kinds]
        source = Source(self.engine, "as recorded", "legs")
        order = RecordedOrder(by=fusion.writes()[0])
        return Pipeline(self.engine, (*legs, Union(), *scores, fusion, order, *cuts), source)

    def _scores(self, fusion: Any, index: ListIndex, question: str) -> dict[str, float]:
        """The score of every candidate by its id, without a floor or a limit."""
        trace = search(question, self._pipeline(fusion, Limit(MOST)), index)
        return {one.chunk.id: one.score for one in trace.candidates}

    def _fusion(self, index: RecordedIndex, question: str, scored: bool) -> Any:
        """The fusion that is known, or the first of ours that gives the recorded answer.

        Where the scores of the answer are recorded, it must give them, too.
        """
        if isinstance(self.fusion, str):
            return inferred(ENGINES.named(self.fusion).fusion)
        if self.fusion is not None or len(self.legs) == 1:
            return inferred(self.fusion or OneLeg(*self.legs))
        wanted = index.answers[question]
        for fusion in self._possible(scored) if wanted else ():
            scores = self._scores(fusion, index, question)
            if _begins(scores, list(wanted)) and (not scored or _gives(scores, wanted)):
                return fusion
        return RecordedFusion(tuple(self.legs))

    def _possible(self, scored: bool) -> list[Any]:
        """The fusions that are tried where none is named, with other weights if the answer is `scored`."""
        if len(self.legs) == 1:
            return [inferred(OneLeg(*self.legs))]
        if set(self.legs) != {"vector", "keyword"}:
            return []
        known = [engine.fusion for engine in ENGINES.values()]
        others = [other for fusion in known for other in _other_weights(fusion)] if scored else []
        return [inferred(fusion) for fusion in (*known, *others)]

    def _unfiltered(self, index: RecordedIndex, question: str) -> Pipeline | None:
        """The pipeline of the first fusion that gives every recorded score, whatever the answer lacks."""
        wanted = index.answers[question]
        for fusion in self._possible(scored=True) if len({*wanted.values()}) >= FEWEST_SCORES else ():
            if _gives(self._scores(fusion, index, question), wanted):
                return self._pipeline(fusion, Limit(MOST))
        return None


FEWEST_SCORES = 2
"""One score may be that of a fusion by accident."""
WEIGHTS = 20
"""The number of parts of the weights that are tried where an engine's own ones do not give its scores."""


def _other_weights(fusion: Any) -> list[Any]:
    """The fusion with other weights that sum to 1; none for a fusion without weights."""
    if not isinstance(fusion, Weighted):
        return []
    return [replace(fusion, vector=part / WEIGHTS, keyword=1 - part / WEIGHTS) for part in range(WEIGHTS + 1)]


def _gives(scores: Scores, wanted: Scores) -> bool:
    """Whether these scores contain the wanted ones."""
    pairs = ((scores.get(id_, math.nan), score) for id_, score in wanted.items())
    return all(math.isclose(*pair, rel_tol=CLOSE, abs_tol=CLOSE) for pair in pairs)


def _begins(scores: Scores, fused: Sequence[str]) -> bool:
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
    index: RecordedIndex
    trace: Trace
    agrees: bool | None

    def __repr__(self) -> str:
        return f"<Recording: {self.recorder.engine}, {self.question!r}, {self.description}>"

    @property
    def fused(self) -> Sequence[tuple[str, float]]:
        """The recorded answer; empty without one."""
        return list(self.index.answers[self.question].items())

    @property
    def description(self) -> str:
        """What was recorded and what was inferred, in a sentence."""
        legs, ends = " and ".join(self.recorder.legs), ""
        if self.pipeline.floor > -math.inf and self.recorder.floor is None:
            ends = "; inferred from where it ends: the floor"
        elif self.pipeline.limit < MOST and self.recorder.limit is None:
            ends = "; inferred from where it ends: the limit"
        if isinstance(self.pipeline["fusion"], RecordedFusion):
            which = (
                "no known fusion gives" if self.recorder.fusion is None else "the named fusion does not give"
            )
            if self.index.unfiltered is not None:
                which = "lacks documents of the fusion that gives its scores"
            return f"recorded: {legs} and the fused list, which {which}{ends}"
        checked = "" if self.agrees is None else ", which gives the recorded list"
        return f"recorded: {legs}; inferred: the fusion{checked}{ends}"

    def view(self) -> list[Part]:
        """What was recorded, and the trace."""
        return [hanging(f"{self.recorder.engine}: {self.description}"), *self.trace.view()]

    def explain(self, target: str) -> RecordedExplanation:
        """Why a document is in the answer or not; each line says whether it was recorded or inferred."""
        return RecordedExplanation(self, explain(self.trace, self.index, target))

    def questions(self, target: str) -> QuestionSet:
        """The recorded question with the document that answers it: what prices can be measured with."""
        return QuestionSet(questions=(Question(question=self.question, target=target, kind="recorded"),))

    def diagnose(self, target: str, questions: QuestionSet | None = None) -> Any:
        """What loses a document. An engine that cannot be asked again is priced by this question alone."""
        from workbench_plugins.diagnose.diagnosis import diagnose

        again = all(leg.again for leg in self.recorder.legs.values())
        self.index.rows_of(target)
        asked = questions or (None if again and self.recorder.texts else self.questions(target))
        return diagnose(self.question, self.pipeline, self.index, target, questions=asked)

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
        return "\n".join([first, system, f"  {self.recording.description}", *map(self._marked, lines)])

    def view(self) -> list[Part]:
        """The marked lines."""
        return [hanging(line) for line in str(self).split("\n")]

    def _marked(self, line: str) -> str:
        recording, stripped = self.recording, line.strip()
        if not stripped or "recorded" in stripped or stripped.startswith("inferred"):
            return line
        returned = stripped.startswith("returned;") or stripped.endswith(": returned")
        of_legs = tuple(f"{leg} score = " for leg in recording.recorder.legs)
        if stripped.startswith(of_legs) or (returned and recording.agrees):
            return f"{line} [recorded]"
        absent = recording.agrees and self.explanation.target not in dict(recording.fused)
        return f"{line} [inferred{'; the recorded list does not have it' if absent else ''}]"


def record(
    question: str,
    legs: Mapping[str, Pairs],
    fused: Pairs | None = None,
    *,
    engine: str = "another engine",
    depth: Mapping[str, int] | None = None,
    distances: Sequence[str] = (),
    **known: Unpack[KnownSettings],
) -> Recording:
    """A recording of lists that are there already: (id, score) pairs of each leg, best first.

    The score of a pair may be None. Name the legs `vector` and `keyword`. `fused` is the engine's own answer.
    `depth` says how many hits each leg was asked for, and `distances` names the legs whose smaller scores are
    better. A rank that is not in a list is unknown. `known` is as for `Recorder`: `fusion`, which it fuses
    with, `limit`, `floor`, `texts` and `scores_from`.
    Raises InputError for no leg, for what are not such pairs, for a leg in `depth` or `distances` that is not
    among the legs, for a depth or a limit below 1, and for a floor that is no number.
    """
    if not legs:
        raise InputError("There is no leg to record.", 'Give legs={"vector": pairs, "keyword": pairs}.')
    _check_legs("distances", distances, legs)
    _check_legs("depth", depth or (), legs)
    for name, hits in (depth or {}).items():
        if not hits >= 1:
            raise InputError(f"The depth of the leg {name!r} is {hits}.", "Give a number from 1.")

    def leg(name: str, pairs: list[tuple[str, float | None]]) -> Asked:
        def ask(asked: str, _: int) -> Pairs:
            if asked != question:
                raise InputError(
                    f"Only {question!r} was recorded of {engine}, not {asked!r}.",
                    "Use recording.diagnose(target), or give questions=recording.questions(target).",
                )
            return pairs

        most = TopK(cap=(depth or {}).get(name, max(1, len(pairs))))
        if name in distances:
            return Asked(ask, most, "recorded distance", larger_is_better=False, again=False)
        return Asked(ask, most, again=False)

    asked = {name: leg(name, list(pairs)) for name, pairs in legs.items()}
    answer = None if fused is None else list(fused)
    search_again = None if answer is None else lambda _: answer
    return Recorder(engine, asked, fused=search_again, **known).record(question)


def _check_legs(given: str, names: Iterable[str], legs: Iterable[str]) -> None:
    known = list(legs)
    for name in names:
        if name not in known:
            raise InputError(
                f"{given} names the leg {name!r}, which was not recorded.",
                f"The recorded legs are {', '.join(known)}.",
            )
