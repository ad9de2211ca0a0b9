"""Products as people run them: each with the depths, weights, thresholds and limits that it ships.

`shipped.yaml` describes the systems. Their legs are ours: FTS5's BM25 over words of any script, and the exact
cosine of the index's model. The note of each system says what the product has in their place.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.memory.data_files import load_data
from workbench.records import KEPT, DropKind, Floats, Stage, Threshold, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage
from workbench.retrieval.cutoff import Limit, MinScore, Order, dropped
from workbench.retrieval.fusion import AnsweredSum, OneLeg, RankSum, WeightedSum
from workbench.retrieval.legs import Depth, FixedDepth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Change, Pipeline, Source
from workbench.retrieval.query import UnicodeWords
from workbench.retrieval.scoring import Cosine
from workbench.stop_words import STOP_WORDS
from workbench_plugins.engines.fusions import legs_present
from workbench_plugins.engines.presets import ENGINES, PositiveRank
from workbench_plugins.engines.split_words import OkapiScore, SplitWordsLeg

TOLD = load_data(__file__)
"""What each system is: its source, what it was run against, and its stages by slot."""
USUAL = TOLD.pop("usual")
"""What every system says of its legs, and the slots in running order with the stages that it usually has."""
SIGMOIDS = (3, 5.0, 0.7), (6, 7.0, 0.6), (9, 9.0, 0.5), (15, 10.0, 0.5), (np.inf, 12.0, 0.5)
"""Most words, midpoint and steepness of mem0's sigmoid. Source: mem0 2.2.1, utils/scoring.py."""
IN_DICTIONARY = r"AT&T|[Cc](?:\+\+|#)"
"""The words of jieba 0.42.1's dictionary with signs in them. They are cut out of longer words, too."""
KEYWORD = re.compile(
    rf"({IN_DICTIONARY}|(?:(?!{IN_DICTIONARY})[a-zA-Z0-9])+(?:\.\d+)?%?|[+#&._%-]{{2,}})"
    r"|(?=([\u4e00-\u9fd5]{2}))"
)
"""What jieba 0.42.1 takes for a word: ASCII letters and digits, signs such as ##, or two Han signs."""
NO_KEYWORDS = STOP_WORDS | {*"0123456789", "--", "..", "..."}
MOST_KEYWORDS = 10


@dataclass(frozen=True)
class DeepDepth(Depth):
    """At least `least` candidates, and more where the limit on the results asks for them.

    >>> DeepDepth(multiplier=4, least=60).of(20), DeepDepth(multiplier=4, least=60).of(6)
    (80, 60)
    """

    cap: int = 10_000
    least: int = 100

    def of(self, limit: float) -> int:
        return min(self.cap, max(self.least, super().of(limit)))

    def __str__(self) -> str:
        return f"{self.multiplier:g} × limit candidates, at least {self.least}"


@dataclass(frozen=True)
class NearCosine(Cosine):
    """The vector score, absent for a chunk whose cosine is not above a threshold."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"above": (-1, 1)}
    above: float = 0.0

    @property
    def description(self) -> str:  # type: ignore[override]
        return f"vector score = 1 - cosine distance where that is above {self.above:g}, else absent"

    def formula(self, of: Numbers) -> Any:
        cosine = super().formula(of)
        return np.where(cosine > of.constant(self.above), cosine, np.nan)


@dataclass(frozen=True)
class RankOfNear(PositiveRank):
    """The keyword score, absent for a chunk that has no vector score."""

    description: ClassVar[str] = "keyword score = -bm25 where there is a vector score, else absent"

    def formula(self, of: Numbers) -> Any:
        return np.where(np.isnan(of["vector_score"]), np.nan, super().formula(of))


@dataclass(frozen=True)
class ScoredRankSum(RankSum):
    """Reciprocal rank fusion of the legs that give a score; absent where none does."""

    @property
    def description(self) -> str:
        return f"{super().description}; a leg without a score is absent"

    def part(self, of: Numbers, leg: str) -> Any:
        return np.where(np.isnan(of[f"{leg}_score"]), np.nan, super().part(of, leg))

    def together(self, *parts: Any) -> Any:
        return np.where(legs_present(*parts) == 0, np.nan, super().together(*parts))


@dataclass(frozen=True)
class SigmoidByLength(PositiveRank, scale="sigmoid of bm25", observed=("midpoint", "steepness")):
    """BM25 on a sigmoid whose middle rises with the number of words in the question; absent without BM25.

    A hit of exactly 0 counts as no hit, so where all are 0 the cosine stands alone.
    Source: mem0 2.2.1, memory/main.py, _search_vector_store.
    """

    description: ClassVar[str] = (
        "keyword score = 1 / (1 + exp(-steepness × (|bm25| - midpoint))), absent where bm25 is 0; the "
        "midpoint is 5 for a question of up to 3 words, and up to 12 for a longer one"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        words = len(trace.question.split())
        _, middle, steep = next(one for one in SIGMOIDS if words <= one[0])
        return {"midpoint": np.full(trace.rows.size, middle), "steepness": np.full(trace.rows.size, steep)}

    def formula(self, of: Numbers) -> Any:
        bm25 = of["keyword_relevance"]
        sigmoid = 1 / (1 + np.exp(-of["steepness"] * (bm25 - of["midpoint"])))
        return np.where(bm25 > 0, sigmoid, np.nan)


@dataclass(frozen=True)
class CosineOfEach(ColumnStage, slot="vector_score", scale="cosine", observed=("every_distance",)):
    """The cosine of every candidate, also of those that the keyword leg alone brought."""

    description: ClassVar[str] = "vector score = 1 - cosine distance, of each candidate of either leg"

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        every = context.index.vector(context.vector(), context.index.size)
        of_row = dict(zip(every.rows.tolist(), every.raw.tolist(), strict=True))
        return {"every_distance": np.array([of_row.get(row, np.nan) for row in trace.rows.tolist()])}

    def formula(self, of: Numbers) -> Any:
        return 1 - of["every_distance"]


def keywords(text: str) -> Set[str]:
    """The ten words that a text has most often, the first of equals: all that Dify's keyword score compares.

    A keyword has two or more characters and its own capitals, and is no stop word; the signs ## of a
    heading are one. A keyword of several parts, such as 3.50 or AT&T, gives each part, too.
    Source: dify 1.13.3, JiebaKeywordTableHandler, and jieba 0.42.1, TFIDF.

    >>> sorted(keywords("The hub of the hub costs 3.50; Zoë und Юра"))
    ['3.50', '50', 'Zo', 'costs', 'hub', 'und']
    >>> sorted(keywords("50% of C++ at AT&T"))
    ['50%', 'AT', 'AT&T', 'C++', 'T']
    """
    words = ("".join(both) for both in KEYWORD.findall(text))
    counts = Counter(word for word in words if len(word) > 1 and word.lower() not in NO_KEYWORDS)
    found = {word for word, _ in counts.most_common(MOST_KEYWORDS)}
    parts = (re.findall(r"\w+", word) for word in found)
    return found | {part for some in parts if len(some) > 1 for part in some if part not in NO_KEYWORDS}


@dataclass(frozen=True)
class KeywordCosine(ColumnStage, slot="keyword_score", scale="cosine", observed=("shared", "own", "asked")):
    """The cosine of the keywords of question and candidate, each weighted by how few candidates have it.

    A keyword counts once in a text, however often it stands there. With n candidates, of which df have it,
    its weight is ln((1 + n) / (1 + df)) + 1, and 0 where none has it. `shared`, `own` and `asked` are the
    sums of squared weights of both, of the candidate and of the question. All candidates get it, so the
    rank in the keyword leg decides nothing but ties.
    Source: dify 1.13.3, api/core/rag/rerank/weight_rerank.py, WeightRerankRunner.
    """

    description: ClassVar[str] = (
        "keyword score = shared / sqrt(own × asked), the cosine of the ten commonest words of question and "
        "candidate, where a word counts more the fewer candidates have it"
    )
    best: ClassVar[Mapping[str, float]] = {"shared": 1.0, "own": 1.0, "asked": 1.0}

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        held = [keywords(chunk.text) for chunk in trace.chunks]
        counts = Counter(word for words in held for word in words)
        squares = {word: (math.log((1 + len(held)) / (1 + df)) + 1) ** 2 for word, df in counts.items()}
        asked = keywords(trace.question)

        def size(words: Set[str]) -> float:
            return math.fsum(squares.get(word, 0.0) for word in words)

        return {
            "shared": np.array([size(words & asked) for words in held]),
            "own": np.array([size(words) for words in held]),
            "asked": np.full(len(held), size(asked)),
        }

    def formula(self, of: Numbers) -> Any:
        both = of["own"] * of["asked"]
        return np.where(both > 0, of["shared"] / np.sqrt(np.where(both > 0, both, 1.0)), 0.0)


@dataclass(frozen=True)
class OneOfText(PlainStage, slot="fold"):
    """Keeps the first of the chunks that have the same text."""

    description: ClassVar[str] = "fold: keep the first of the chunks with the same text"

    def run(self, trace: Trace, context: Context) -> Trace:
        seen: dict[str, int] = {}
        ranks = np.full(trace.rows.size, np.nan)
        for row in trace.order[trace.dropped[trace.order] == KEPT].tolist():
            text = trace.chunks[row].text
            ranks[row] = seen[text] = seen.get(text, 0) + 1
        threshold = Threshold("place among the chunks with this text", ranks, 1, at_most=True)
        return dropped(trace, self, DropKind.FOLD, threshold)


KINDS: Mapping[str, Any] = {
    one.__name__: one
    for one in (
        *(UnicodeWords, VectorLeg, KeywordLeg, Union, Cosine, PositiveRank, Order, MinScore, Limit),
        *(AnsweredSum, OneLeg, ScoredRankSum, WeightedSum, NearCosine, RankOfNear),
        *(SigmoidByLength, CosineOfEach, KeywordCosine, OneOfText, SplitWordsLeg, OkapiScore),
    )
}


def _stages(slots: Mapping[str, Any]) -> Iterator[Stage]:
    """The stages of a system; null takes the usual one out."""
    for slot, usual in USUAL["slots"].items():
        row = slots.get(slot, {})
        if row is not None and (usual or row):
            yield _stage(row if "kind" in row else {**usual, **row})


def _stage(row: Mapping[str, Any]) -> Stage:
    """A stage: a kind, or the fusion of an engine by its name, with its parameters."""
    values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in row.items()}
    kind, engine, depth = (values.pop(name, None) for name in ("kind", "engine", "depth"))
    if depth is not None:
        values["depth"] = FixedDepth(cap=depth) if isinstance(depth, int) else DeepDepth(**depth)
    fusion: Stage = replace(ENGINES[engine].fusion, **values) if engine else KINDS[kind](**values)
    return fusion


def _systems(name: str, row: Mapping[str, Any]) -> Iterator[Pipeline]:
    """A system, and then the system with each of its public changes."""
    source = Source(row["repository"], row["release"], row["place"], row.get("issue", ""))
    note = " ".join((row["note"], row.get("legs") or USUAL["legs"], row["own"]))
    base = Pipeline(name, tuple(_stages(row["slots"])), replace(source, note=note))
    yield base
    for change, one in row.get("changes", {}).items():
        stage = replace(base[one["slot"]], **one["values"])  # type: ignore[type-var]
        proposed = replace(source, release="proposed", issue=one["issue"])
        yield base.with_changes(Change(change, stage, one["why"], proposed))


PIPELINES = tuple(pipeline for name, row in TOLD.items() for pipeline in _systems(name, row))
