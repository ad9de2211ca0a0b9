"""The fusions of other engines by name: for any two lists, and some of them as pipelines.

A pipeline `engine-NAME` has our index and our legs with the fusion of that engine, so only the fusion
differs. Whoever has two lists of ids with scores can run any fusion of the workbench on them, with a trace
and an explanation of every score: legs then bring the given scores, and no texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.records import Chunk, Floats, Hits, Leg, Query, Rows, Stage, Trace, Vector
from workbench.registry import Registry, registrar
from workbench.retrieval.columns import Columns, ColumnStage, Numbers
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import Fusion, RankSum, WeightedRRF
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.legs import Depth, KeywordLeg, LegStage, Union, VectorLeg, with_leg
from workbench.retrieval.pipeline import Pipeline, Source
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.scoring import Cosine, PositiveRank
from workbench.systems.registry import register
from workbench_plugins.engines.fusions import (
    AS_GIVEN,
    CLAMPED,
    SATURATING,
    SHARE,
    ArcTangent,
    CreditedRankSum,
    ElasticsearchMinMax,
    FromInfimum,
    GeometricMean,
    HalvedCosine,
    HarmonicMean,
    LargerPlusShare,
    LargerScore,
    LogOdds,
    MinMax,
    Normalisation,
    OpenSearchMinMax,
    QdrantRankSum,
    ScoreSum,
    ScoreSumTimesLegs,
    SharedWeightedScores,
    ThreeSigma,
    WeightedScores,
    WeightedUnlessAlone,
    its_sign,
    itself,
    no_number,
    one,
    one_half,
    rounded_deviation,
    sample_deviation,
    zero,
)

LEGS = ("vector", "keyword")


@dataclass(frozen=True)
class Engine:
    """A fusion with the name of the engine that ships it, and its source."""

    name: str
    fusion: Fusion
    source: Source


@dataclass(frozen=True)
class LegPart:
    """The rank and score of a candidate in one leg, and the leg's part of the fused score."""

    rank: int
    score: float
    part: float


@dataclass(frozen=True)
class FusedHit:
    """One candidate after fusion; `vector` or `keyword` is None if that leg did not find it.

    `first` and `last` are its possible places, counted from 1; they differ in a tie.
    """

    id: str
    score: float
    first: int
    last: int
    vector: LegPart | None
    keyword: LegPart | None

    @property
    def tied(self) -> bool:
        return self.last > self.first


TIED = 1e-12
"""Relative tolerance for a tie: scores this close differ only by rounding."""


def tied(one: float, other: float) -> bool:
    """Whether two fused scores differ by no more than rounding."""
    return math.isclose(one, other, rel_tol=TIED, abs_tol=TIED)


def fuse(fusion: Fusion, vector: Mapping[str, float], keyword: Mapping[str, float]) -> list[FusedHit]:
    """Fuse two lists of scores by id into one: best first, equal scores by id; larger scores are better.

    Ranks are computed from the scores, equal scores by id, so the order of the input does not matter. Raises
    InputError for a score that is not finite.

    >>> [hit.id for hit in fuse(ENGINES["rrf-60"].fusion, {"a": 0.9, "b": 0.8}, {"b": 7.0})]
    ['b', 'a']
    """
    ids, of = two_legs(vector, keyword)
    if not ids:
        return []
    # Adding 0.0 turns -0.0, which the worst hit of a list may get, into 0.0.
    columns = [np.asarray(column, float) + 0.0 for column in (fusion.formula(of), *fusion.contributions(of))]
    scores, *parts = [column.tolist() for column in columns]
    groups: list[list[int]] = []
    for row in sorted(range(len(ids)), key=lambda row: (-scores[row], ids[row])):
        if groups and tied(scores[groups[-1][0]], scores[row]):
            groups[-1].append(row)
        else:
            groups.append([row])
    hits: list[FusedHit] = []
    for group in groups:
        first, last = len(hits) + 1, len(hits) + len(group)
        for row in group:
            legs = [_leg_part(of, leg, row, part[row]) for leg, part in zip(LEGS, parts, strict=True)]
            hits.append(FusedHit(ids[row], scores[row], first, last, *legs))
    return hits


def _leg_part(of: Columns, leg: str, row: int, part: float) -> LegPart | None:
    rank = of[f"{leg}_rank"][row]
    return None if np.isnan(rank) else LegPart(int(rank), float(of[f"{leg}_score"][row]), part)


def two_legs(vector: Mapping[str, float], keyword: Mapping[str, float]) -> tuple[list[str], Columns]:
    """The sorted ids of two lists of scores, and the lists as columns with one row per id."""
    ids = sorted({*vector, *keyword})
    return ids, Columns(_columns("vector", vector, ids) | _columns("keyword", keyword, ids))


def _columns(leg: str, scores: Mapping[str, float], ids: list[str]) -> dict[str, Floats]:
    for name, score in scores.items():
        if not math.isfinite(score):
            raise InputError(f"The {leg} score of {name!r} is {score}.", "Give every hit a finite score.")
    ranked = {name: rank for rank, name in enumerate(sorted(scores, key=lambda n: (-scores[n], n)), 1)}
    return {
        f"{leg}_score": np.array([scores.get(name, math.nan) for name in ids]),
        f"{leg}_rank": np.array([ranked.get(name, math.nan) for name in ids], float),
    }


def normalised(scale: Normalisation, scores: list[float]) -> list[float]:
    """The scores of one leg after normalisation, in their order.

    >>> normalised(MinMax(one), [9.0, 4.0, 4.0]), normalised(MinMax(zero), [9.0])
    ([1.0, 0.0, 0.0], [0.0])
    """
    if not scores:
        return []
    column = np.array(scores, float)
    on_scale = np.broadcast_to(scale.of(Columns({"score": column}), "score"), column.shape)
    return [float(score) + 0.0 for score in on_scale]


QDRANT = "qdrant/qdrant-client", "1.20", "qdrant_client/hybrid/fusion.py"
WEAVIATE = "weaviate/weaviate", "1.24", "usecases/traverser/hybrid/hybrid_fusion.go"
LLAMA = "run-llama/llama_index", "0.14", "core/retrievers/fusion_retriever.py"
LANCEDB = "lancedb/lancedb", "0.40.0", "python/lancedb/rerankers"
RANX = Source("AmenRa/ranx", "0.3.21", "ranx/fusion, norm='min-max'", note="Equal scores become 0.")
OPENSEARCH = Source(
    "opensearch-project/neural-search",
    "main",
    "processor/normalization/MinMaxScoreNormalizationTechnique.java, processor/combination",
    note="Simplified: float64 instead of float32.",
)
AUTORAG = Source(
    "Marker-Inc-Korea/AutoRAG",
    "main",
    "autorag/nodes/hybridretrieval/hybrid_cc.py",
    note="A list of equal scores gives 0 / 0 there, and the resulting NaN is replaced with 0.",
)


def _in(file: tuple[str, str, str], function: str, issue: str = "", note: str = "") -> Source:
    """The source of a function: its file is given as repository, release and path."""
    repository, release, path = file
    return Source(repository, release, f"{path}, {function}", issue, note)


def _weighted(vector: float, keyword: float, scale: Normalisation) -> WeightedScores:
    """The convex combination of both legs on the same scale."""
    return WeightedScores(vector, keyword, scale, scale)


_CORMACK = Source(
    "Cormack, Clarke, Büttcher",
    "SIGIR 2009",
    "Reciprocal rank fusion outperforms Condorcet",
    note="In Elasticsearch, OpenSearch's score-ranker-processor, Azure, Milvus, LangChain, ranx.",
)
_TXTAI = Source(
    "neuml/txtai",
    "master",
    "embeddings/search/hybrid.py, rrf",
    note="Called RRF, but k is 0: the reciprocal of the rank. It does not query a leg of weight 0.",
)
_MEMSEARCH = Source(
    "zilliztech/memsearch",
    "proposed",
    "RRF × (k + 1) / lists",
    "#496",
    "Haystack's DocumentJoiner computes the same: k = 61 over ranks from 0, over lists / k.",
)
_WEAVIATE_1_20 = Source(
    "weaviate/weaviate", "1.20.0", "usecases/traverser/hybrid, FusionRelativeScore", "#3243"
)
_HAYSTACK = Source("deepset-ai/haystack", "2.x", "components/joiners/document_joiner.py", "#12507")
_BRUCH = Source(
    "Bruch, Gai, Ingber",
    "TOIS 2023",
    "An analysis of fusion functions for hybrid retrieval, arXiv 2210.11934",
    note="AutoRAG's tmm computes the same.",
)
_BASIC_MEMORY = Source(
    "basicmachines-co/basic-memory", "since #577", "max(v, f) + 0.3 × min(v, f), f = s / max s"
)
_ELASTIC = Source("elastic/elasticsearch", "9.x", "x-pack/rank-rrf, linear/MinMaxScoreNormalizer.java")
_OPENCLAW = Source("openclaw/openclaw", "2026.3.7", "src/memory/hybrid.ts", "#33757")
_LANGCHAIN = Source(
    "langchain-ai/langchain",
    "langchain-classic 1.0.8",
    "retrievers/ensemble.py, weighted_reciprocal_rank",
    note="Documents with the same text are one. It returns an order without scores.",
)
_CHROMA = Source(
    "chroma-core/chroma",
    "1.5.9",
    "execution/expression/operator.py, Rrf",
    note="Each Knn has default=1000; without a default, a record that one Knn lacks is left out. The score "
    "there is negative.",
)
_MILVUS = Source(
    "milvus-io/milvus-lite",
    "3.2.2",
    "function/ops/merge_op.py, weighted",
    note="norm_score=True, for a COSINE and a BM25 field.",
)
_FLOAT32 = "It computes in float32."
_ROUNDED = ThreeSigma(its_sign, rounded_deviation)
_A_QUERY = "Divided by num_queries, 4 by default. Two lists are the result of one query."

_ALL = (
    Engine("rrf-60", RankSum(), _CORMACK),
    Engine("weaviate-ranked", RankSum(0.5, 0.5, k=60, first=0), _in(WEAVIATE, "FusionRanked")),
    Engine("llamaindex-rrf", RankSum(k=60, first=0), _in(LLAMA, "_reciprocal_rerank_fusion", "#21444")),
    Engine("qdrant-k2", QdrantRankSum(), _in(QDRANT, "reciprocal_rank_fusion")),
    Engine("qdrant-k2-weighted", QdrantRankSum(vector=2.0, keyword=1.0), _in(QDRANT, "weights")),
    Engine("qdrant-k60", QdrantRankSum(k=60), _in(QDRANT, "ranking_constant_k")),
    Engine("txtai", RankSum(0.5, 0.5, k=0), _TXTAI),
    Engine("txtai-convex", _weighted(0.5, 0.5, AS_GIVEN), replace(_TXTAI, place="hybrid.py, convex")),
    Engine("txtai-log-odds", LogOdds(), replace(_TXTAI, place="hybrid.py, LogOdds", note="")),
    Engine("normalised-rrf", WeightedRRF(1.0, 1.0), _MEMSEARCH),
    Engine("langchain-rrf", RankSum(0.5, 0.5), _LANGCHAIN),
    Engine("lancedb-rrf", RankSum(), _in(LANCEDB, "RRFReranker", note=_FLOAT32)),
    Engine("lancedb-linear", WeightedUnlessAlone(0.7, 0.3), _in(LANCEDB, "LinearCombinationReranker")),
    Engine("lancedb-mrr", RankSum(0.5, 0.5, k=0), _in(LANCEDB, "MRRReranker", note=_FLOAT32)),
    Engine("chroma-rrf", CreditedRankSum(k=60, first=0, limit=1000), _CHROMA),
    Engine("milvus-weighted", WeightedScores(0.5, 0.5, HalvedCosine(), ArcTangent()), _MILVUS),
    Engine("milvus-weighted-raw", _weighted(0.5, 0.5, AS_GIVEN), replace(_MILVUS, note="norm_score=False")),
    Engine("weaviate-relative", _weighted(0.7, 0.3, MinMax(one)), _in(WEAVIATE, "FusionRelativeScore")),
    Engine("weaviate-relative-before-3243", _weighted(0.7, 0.3, MinMax(zero)), _WEAVIATE_1_20),
    Engine(
        "llamaindex-relative",
        SharedWeightedScores(0.5, 0.5, MinMax(its_sign), MinMax(its_sign)),
        _in(LLAMA, "_relative_score_fusion", note=_A_QUERY),
    ),
    Engine(
        "llamaindex-dist-based",
        SharedWeightedScores(0.5, 0.5, _ROUNDED, _ROUNDED),
        _in(LLAMA, "dist_based"),
    ),
    Engine("llamaindex-simple", LargerScore(AS_GIVEN, AS_GIVEN), _in(LLAMA, "_simple_fusion")),
    Engine(
        "qdrant-dbsf",
        ScoreSum(ThreeSigma(one_half, sample_deviation), ThreeSigma(one_half, sample_deviation)),
        _in(QDRANT, "distribution_based_score_fusion"),
    ),
    Engine("haystack-dbsf", LargerScore(ThreeSigma(zero), ThreeSigma(zero)), _HAYSTACK),
    Engine(
        "haystack-dbsf-12508",
        LargerScore(ThreeSigma(itself), ThreeSigma(itself)),
        replace(_HAYSTACK, release="3.4.0", issue="PR#12508"),
    ),
    Engine("haystack-rrf", WeightedRRF(1.0, 1.0), replace(_HAYSTACK, release="3.4.0", issue="")),
    Engine("haystack-merge", _weighted(0.5, 0.5, AS_GIVEN), replace(_HAYSTACK, release="3.4.0", issue="")),
    Engine(
        "haystack-concatenate",
        LargerScore(AS_GIVEN, AS_GIVEN),
        replace(_HAYSTACK, release="3.4.0", issue=""),
    ),
    Engine("autorag-mm", _weighted(0.5, 0.5, MinMax(no_number)), AUTORAG),
    Engine("autorag-dbsf", _weighted(0.5, 0.5, ThreeSigma(no_number)), AUTORAG),
    Engine("tm2c2", WeightedScores(0.8, 0.2, FromInfimum(-1.0), FromInfimum(0.0)), _BRUCH),
    Engine("combsum", ScoreSum(), RANX),
    Engine("combmnz", ScoreSumTimesLegs(), RANX),
    Engine("combmax", LargerScore(), RANX),
    Engine("basic-memory", LargerPlusShare(AS_GIVEN, SHARE, share=0.3), _BASIC_MEMORY),
    Engine("opensearch-arithmetic", _weighted(0.5, 0.5, OpenSearchMinMax()), OPENSEARCH),
    Engine("opensearch-geometric", GeometricMean(OpenSearchMinMax(), OpenSearchMinMax()), OPENSEARCH),
    Engine("opensearch-harmonic", HarmonicMean(OpenSearchMinMax(), OpenSearchMinMax()), OPENSEARCH),
    Engine("elasticsearch-linear", _weighted(1.0, 1.0, ElasticsearchMinMax()), _ELASTIC),
    Engine("openclaw-now", WeightedScores(0.7, 0.3, AS_GIVEN, SATURATING), _OPENCLAW),
    Engine(
        "openclaw-clamped",
        WeightedScores(0.7, 0.3, AS_GIVEN, CLAMPED),
        replace(_OPENCLAW, release="2026.2.13", issue="#5767, PR#20994"),
    ),
)

ENGINES = Registry[Engine]("engine", _ALL, "List them: list(workbench_plugins.engines.presets.ENGINES)")


@registrar.register(Engine)
def _add(engine: Engine) -> None:
    if not isinstance(engine.fusion, Fusion):
        raise InputError(
            f"The fusion of the engine {engine.name!r} is {engine.fusion!r}.",
            "Give an instance of a class that is derived from workbench.retrieval.fusion.Fusion.",
        )
    ENGINES.add(engine)


ELEVEN = (
    "rrf-60", "weaviate-ranked", "qdrant-k2", "txtai", "weaviate-relative", "qdrant-dbsf", "haystack-dbsf",
    "openclaw-now", "openclaw-clamped", "basic-memory", "tm2c2",
)  # fmt: skip
"""The eleven engines whose results differ most for the same two lists."""


def engine_pipeline(engine: Engine) -> Pipeline:
    """A pipeline of our index and our legs with the fusion of that engine: the system `engine-NAME`."""
    depth = Depth(multiplier=4, cap=200)
    note = f"{engine.source.note} " if engine.source.note else ""
    return Pipeline(
        f"engine-{engine.name}",
        stages=(
            JoinedWords(join="OR"),
            KeywordLeg(depth),
            VectorLeg(depth),
            Union(),
            PositiveRank(),
            Cosine(),
            engine.fusion,
            Order(ties=("vector_rank", "keyword_rank")),
            Limit(6),
        ),
        source=replace(
            engine.source,
            note=f"{note}Only the fusion is the engine's. The legs (24 candidates each) are ours. No floor.",
        ),
    )


PIPELINES = tuple(
    engine_pipeline(ENGINES[name])
    for name in (
        "rrf-60", "qdrant-k2", "weaviate-relative", "qdrant-dbsf", "haystack-dbsf", "tm2c2", "combmnz",
        "opensearch-harmonic",
    )
)  # fmt: skip

register(*PIPELINES)


Scores = Mapping[str, float]


class ListIndex(Index):
    """The lists of two legs in place of a memory: scores by id; larger is better."""

    def __init__(self, vector: Scores, keyword: Scores) -> None:
        self.ids = sorted({*vector, *keyword})
        self._rows = {one: row for row, one in enumerate(self.ids)}
        self._lists = {"vector": vector, "keyword": keyword}

    @property
    def size(self) -> int:
        return len(self.ids)

    @property
    def name(self) -> str:
        return "the given lists"

    def listed(self, leg: str) -> Hits:
        """The whole list of a leg, best first, equal scores by id."""
        scores = self._lists[leg]
        best = sorted(scores, key=lambda one: (-scores[one], one))
        rows = np.array([self._rows[one] for one in best], np.int64)
        return Hits(rows, np.array([scores[one] for one in best], float), True, "given score")

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        return [Chunk(self.ids[row], self.ids[row], "memory", 1, 1, "") for row in rows.tolist()]

    def rows_of(self, path: str) -> Rows:
        return np.array([self._rows[path]] if path in self._rows else [], np.int64)

    def paths(self) -> list[str]:
        return self.ids

    def embed(self, question: str) -> Vector:
        """A vector of one dimension: the lists are there already, so no stage compares it."""
        return np.ones(1, np.float32)

    def keyword(self, query: Query, limit: int) -> Hits:
        """Always an error: words cannot be looked up in lists."""
        raise _not_asked("its keyword leg asks for words")

    def vector(self, query: Vector, limit: int) -> Hits:
        """Always an error: a vector cannot be compared with lists."""
        raise _not_asked("its vector leg compares vectors")


def _not_asked(problem: str) -> InputError:
    return InputError(
        f"The given lists have scores, and no texts: {problem}.", "Use a system with a fusion, on its own."
    )


@dataclass(frozen=True)
class GivenList(LegStage, number="given score"):
    """Base of a leg that brings the whole list that is given for it."""

    @property
    def says(self) -> str:
        return f"{self.name} list: the given scores; ranks by score, equal scores by id"

    def _list(self, context: Context) -> Hits:
        index = innermost(context.index)
        if not isinstance(index, ListIndex):
            raise InputError(
                f"The index {index.name} is a memory, and this system fuses given lists.",
                "Choose a system that searches: workbench systems",
            )
        return index.listed(self.name)

    def deepest(self, limit: float) -> int:
        return np.iinfo(np.int64).max

    def run(self, trace: Trace, context: Context) -> Trace:
        every = self._list(context)
        depth = min(self.deepest(context.limit), every.rows.size)
        hits = replace(every, rows=every.rows[:depth], raw=every.raw[:depth])
        return with_leg(trace, Leg(self.name, "the given list", depth, hits, number=self.number))

    def every(self, trace: Trace, context: Context) -> Hits:
        return self._list(context)


@dataclass(frozen=True)
class VectorList(GivenList, slot="vector_leg", name="vector"):
    """The given list of the vector leg."""


@dataclass(frozen=True)
class KeywordList(GivenList, slot="keyword_leg", name="keyword"):
    """The given list of the keyword leg."""


@dataclass(frozen=True)
class GivenVectorScore(ColumnStage, slot="vector_score", scale="as given"):
    """The given score of the vector list, as it is."""

    leg: ClassVar[str] = "vector"

    @property
    def says(self) -> str:
        return f"{self.leg} score = the given score"

    def formula(self, of: Numbers) -> Any:
        return of[f"{self.leg}_raw"]


@dataclass(frozen=True)
class GivenKeywordScore(GivenVectorScore, slot="keyword_score"):
    """The given score of the keyword list, as it is."""

    leg: ClassVar[str] = "keyword"


GIVEN: tuple[Stage, ...] = (VectorList(), KeywordList(), Union(), GivenVectorScore(), GivenKeywordScore())
MOST = 10_000
"""Results of a fusion that has no limit of its own."""


def fusion_of_lists(name: str, fusion: Fusion) -> Pipeline:
    """A pipeline that fuses given lists, orders them by score and id, and leaves out nothing."""
    source = Source("the given lists", "", fusion.slot)
    return Pipeline(name, (*GIVEN, fusion, Order(), Limit(MOST)), source)


@dataclass(frozen=True)
class KeywordAnswer(KeywordList, number="bm25"):
    """The given list as the answer of a system's keyword leg: bm25 = -score, cut at the leg's depth."""

    depth: Depth

    @property
    def says(self) -> str:
        return f"{self.name} list: the given scores as {self.number}, {self.depth}"

    def deepest(self, limit: float) -> int:
        return self.depth.of(limit)

    def raw(self, scores: Floats) -> Floats:
        """The numbers with which such a leg states these scores."""
        return -scores

    def _list(self, context: Context) -> Hits:
        given = super()._list(context)
        return Hits(given.rows, self.raw(given.raw), number=self.number)


@dataclass(frozen=True)
class VectorAnswer(KeywordAnswer, slot="vector_leg", name="vector", number="cosine distance"):
    """The given list as the answer of a system's vector leg: distance = 1 - score, cut at its depth."""

    def raw(self, scores: Floats) -> Floats:
        return 1 - scores


ANSWERED = {KeywordLeg: KeywordAnswer, VectorLeg: VectorAnswer}


def on_lists(pipeline: Pipeline) -> Pipeline:
    """The system with lists that are there already as the answers of its two legs; every stage runs.

    Raises InputError for a system that has no fusion of two lists, or that reads more than two lists: other
    legs, another layout, or the texts of chunks.
    """
    if isinstance(pipeline.stages[0], GivenList):
        return pipeline
    if not any(isinstance(stage, Fusion) for stage in pipeline.stages):
        raise InputError(
            f"The system {pipeline.name} has no fusion of two lists.",
            "Choose one that has, such as engine-rrf-60: workbench systems",
        )
    legs = [stage for stage in pipeline.stages if isinstance(stage, LegStage)]
    if pipeline.layout is not None or {type(leg) for leg in legs} != set(ANSWERED):
        raise InputError(
            f"The system {pipeline.name} reads more than the two lists of a keyword leg and a vector leg.",
            "Make a case of a memory for it, or choose a system such as engine-rrf-60.",
        )
    stages = tuple(
        ANSWERED[type(stage)](stage.depth) if isinstance(stage, KeywordLeg | VectorLeg) else stage
        for stage in pipeline.stages
    )
    return replace(pipeline, stages=stages)
