"""Lists of ids with scores in place of a memory: an index of them, the stages that read it, and pipelines.

Whoever has the lists that two legs returned can run any fusion of the workbench on them, with a trace and an
explanation of every score. The lists have no words and no vectors, so nothing else can be searched in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.records import Chunk, Document, Hits, Leg, Query, Rows, Trace, Vector
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.foreign_ids import answered
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.legs import Depth, KeywordLeg, LegRank, LegStage, Union, VectorLeg, with_leg
from workbench.retrieval.pipeline import Pipeline, Source

LEGS = ("vector", "keyword")
Scores = Mapping[str, float]
Pairs = Iterable[tuple[str, float | None]]
Ask = Callable[[str, int], Pairs]
"""What a leg returns for a question and a depth: ids with scores, best first; None for no score."""

ALL = 1_000_000
"""The depth at which a leg is asked for everything."""
MOST = 10_000
"""Results of a fusion that has no limit of its own."""


@dataclass(frozen=True)
class Asked:
    """One leg of an engine: how it is asked, how deep, and what its scores are.

    A depth of None asks for the whole list. `larger_is_better` is the direction of the engine's own scores:
    False for a distance. `again` says that `ask` answers any question at any depth; without it, `ask` gives
    what was recorded.
    """

    ask: Ask = field(repr=False)
    depth: Depth | None = None
    number: str = "recorded score"
    larger_is_better: bool = True
    again: bool = True


class ListIndex(Index):
    """The legs of an engine by name, and the texts of its documents, if they are known.

    `texts` has all documents by id; without it any id may be in the engine.
    """

    def __init__(self, name: str, legs: Mapping[str, Asked], texts: Mapping[str, str]) -> None:
        self.legs, self.texts, self._name = legs, texts, name
        self._rows: dict[str, int] = {}
        self._answers: dict[tuple[str, str, int], Hits] = {}
        self._rows_of(sorted(texts))

    def _rows_of(self, ids: Iterable[str]) -> Rows:
        """The rows of these ids; a new id gets the next row."""
        return np.array([self._rows.setdefault(one, len(self._rows)) for one in ids], np.int64)

    @property
    def size(self) -> int:
        return len(self._rows)

    @property
    def name(self) -> str:
        return self._name

    def listed(self, leg: str, question: str, depth: int) -> Hits:
        """What a leg returns, in its own order; a document that comes twice counts once, at its first place.

        If a hit has no score, all get 1 / rank. Raises InputError for an answer that is no list of pairs.
        """
        key = leg, question, depth
        if key not in self._answers:
            try:
                pairs = answered(self.name, question, self.legs[leg].ask, depth)
                scores = dict(islice(first_scores(pairs).items(), depth))
            except (TypeError, ValueError) as error:
                problem = f"The {leg} leg of {self.name} does not return (id, score) pairs: {error}."
                raise InputError(problem, "Give pairs, best first, and None for a score.") from error
            self._answers[key] = self._hits(self.legs[leg], scores)
        return self._answers[key]

    def _hits(self, leg: Asked, scores: Mapping[str, float]) -> Hits:
        rows = self._rows_of(scores)
        if all_present(scores):
            return Hits(rows, np.array(list(scores.values()), float), leg.larger_is_better, leg.number)
        return Hits(rows, 1 / np.arange(1.0, rows.size + 1), True, "no recorded score, 1 / rank")

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        ids = list(self._rows)
        return [Chunk(ids[row], ids[row], self.name, 1, 1, self.texts.get(ids[row], "")) for row in rows]

    def rows_of(self, path: str) -> Rows:
        return self._rows_of([path] if path in self._rows or not self.texts else [])

    def paths(self) -> list[str]:
        return sorted(self._rows)

    def documents(self) -> Sequence[Document] | None:
        texts = sorted(self.texts.items())
        return [Document(one, self.name, text, "", len(text), 0) for one, text in texts if text] or None

    def embed(self, question: str) -> Vector:
        """A vector of one dimension: the lists are there already, so no stage compares it."""
        return np.ones(1, np.float32)

    def keyword(self, query: Query, limit: int) -> Hits:
        """Always an error: words cannot be looked up in lists."""
        raise self._not_asked("looks up words")

    def vector(self, query: Vector, limit: int) -> Hits:
        """Always an error: a vector cannot be compared with lists."""
        raise self._not_asked("compares vectors")

    def _not_asked(self, does: str) -> InputError:
        return InputError(
            f"The index {self.name} has lists of ids with scores, and this system {does} itself.",
            "Use a fusion of these lists on its own, or the pipeline of the recording.",
        )


def first_scores(pairs: Pairs) -> dict[str, float]:
    """The first score of each id, in the order of the pairs; NaN for None."""
    found: dict[str, float] = {}
    for id_, score in pairs:
        found.setdefault(str(id_), math.nan if score is None else float(score))
    return found


def all_present(scores: Scores) -> bool:
    """Whether no score is NaN."""
    return not any(math.isnan(one) for one in scores.values())


def index_of_lists(vector: Scores, keyword: Scores) -> ListIndex:
    """An index of two lists of scores by id, larger is better; equal scores are ordered by id."""

    def leg(scores: Scores) -> Asked:
        best_first = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        return Asked(lambda *_: best_first, number="given score")

    texts = dict.fromkeys([*vector, *keyword], "")
    return ListIndex("the given lists", {"vector": leg(vector), "keyword": leg(keyword)}, texts)


# How a leg reads its list. The name of each function stands in the words of the leg.

Read = Callable[[ListIndex, str, str, int], Hits]
"""The hits of a leg, by its name, for a question and a depth."""


def as_listed(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
    """The list as it is."""
    return index.listed(leg, question, depth)


def as_bm25(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
    """The list as the answer of a system's keyword leg: bm25 = -score."""
    hits = index.listed(leg, question, depth)
    return Hits(hits.rows, -hits.raw, number="bm25")


def as_cosine_distance(index: ListIndex, leg: str, question: str, depth: int) -> Hits:
    """The list as the answer of a system's vector leg: distance = 1 - score."""
    hits = index.listed(leg, question, depth)
    return Hits(hits.rows, 1 - hits.raw, number="cosine distance")


@dataclass(frozen=True)
class ListLeg(LegStage, slot="keyword_leg", name="keyword", number="score"):
    """Brings what the leg of this name returned; a depth of None brings the whole list."""

    depth: Depth | None
    read: Read = field(default=as_listed, repr=False)

    @property
    def description(self) -> str:
        return f"{self.name} leg: {self.read.__name__.replace('_', ' ')}, {self.depth or 'the whole list'}"

    def deepest(self, limit: float) -> int:
        return ALL if self.depth is None else self.depth.of(limit)

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.deepest(context.limit)
        hits = self.read(listed_in(context), self.name, trace.question, depth)
        most = hits.rows.size if self.depth is None else depth
        return with_leg(trace, Leg(self.name, hits.number, most, hits, number=hits.number))

    def every(self, trace: Trace, context: Context) -> Hits:
        brought = trace.legs[self.name].hits
        every = self.read(listed_in(context), self.name, trace.question, ALL)
        beyond = ~np.isin(every.rows, brought.rows)
        rows = np.concatenate([brought.rows, every.rows[beyond]])
        return replace(brought, rows=rows, raw=np.concatenate([brought.raw, every.raw[beyond]]))

    def leg_ranks(self, trace: Trace, context: Context, rows: Rows) -> list[LegRank]:
        known = listed_in(context).legs[self.name].again
        beyond = "" if known else "; its rank is unknown, since the rest was not recorded"
        return [replace(one, beyond=beyond) for one in super().leg_ranks(trace, context, rows)]


def listed_in(context: Context) -> ListIndex:
    """The lists that are searched. Raises InputError for another index."""
    index = innermost(context.index)
    if not isinstance(index, ListIndex):
        raise InputError(
            f"The index {index.name} is a memory, and this system fuses given lists.",
            "Choose a system that searches (workbench systems), or search the index of the lists.",
        )
    return index


@dataclass(frozen=True)
class ListScore(ColumnStage, scale="listed"):
    """The score that a leg gave; a distance counts as `most` minus the distance."""

    leg: ClassVar[str]
    most: float = field(repr=False)

    @property
    def description(self) -> str:
        return f"{self.leg} score = as listed" + (f", {self.most:g} - distance" if self.most else "")

    def formula(self, of: Numbers) -> Any:
        listed = of[f"{self.leg}_raw"]
        return of.constant(self.most) - listed if self.most else listed


@cache
def leg_kinds(name: str) -> tuple[type[ListLeg], type[ListScore]]:
    """The stages of a leg of that name: what brings its list, and what gives its score."""
    leg = type(f"{name.title()}List", (ListLeg,), {}, slot=f"{name}_leg", name=name)
    card = {"slot": f"{name}_given", "output": f"{name}_score", "present": f"{name}_rank", "leg": name}
    return leg, type(f"{name.title()}ListScore", (ListScore,), {}, **card)


def fusion_of_lists(name: str, fusion: Fusion) -> Pipeline:
    """A pipeline that fuses given lists, orders them by score and id, and leaves out nothing."""
    legs, scores = zip(*((leg(None), score(0.0)) for leg, score in map(leg_kinds, LEGS)), strict=True)
    source = Source("the given lists", "", fusion.slot)
    return Pipeline(name, (*legs, Union(), *scores, fusion, Order(), Limit(MOST)), source)


ANSWERS: Mapping[type[LegStage], Read] = {KeywordLeg: as_bm25, VectorLeg: as_cosine_distance}
"""The legs that lists can answer for."""


def on_lists(pipeline: Pipeline) -> Pipeline:
    """The system with lists that are there already as the answers of its two legs; every stage runs.

    Raises InputError for a system that has no fusion of two lists, or that reads more than two lists: other
    legs, another layout, or the texts of chunks.
    """
    if isinstance(pipeline.stages[0], ListLeg):
        return pipeline
    if not any(isinstance(stage, Fusion) for stage in pipeline.stages):
        raise InputError(
            f"The system {pipeline.name} has no fusion of two lists.",
            "Choose one that has, such as engine-rrf-60: workbench systems",
        )
    legs: list[Any] = [stage for stage in pipeline.stages if isinstance(stage, LegStage)]
    if pipeline.layout is not None or {type(leg) for leg in legs} != set(ANSWERS):
        raise InputError(
            f"The system {pipeline.name} reads more than the two lists of a keyword leg and a vector leg.",
            "Make a case of a memory for it, or choose a system such as engine-rrf-60.",
        )
    for leg in legs:
        kind, _ = leg_kinds(leg.name)
        pipeline = pipeline.with_stage(kind(leg.depth, ANSWERS[type(leg)]))
    return pipeline
