"""The fusions of other engines by name: for any two lists, and some of them as pipelines.

A pipeline here has our index and our legs with the fusion of that engine, so only the fusion differs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workbench.errors import InputError
from workbench.extensions import Registry, registrar
from workbench.records import Floats
from workbench.retrieval.columns import Columns
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import Fusion, WeightedRRF
from workbench.retrieval.legs import Depth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline, Source
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.scoring import Cosine, PositiveRank, sample_deviation
from workbench.systems.engines.fusion import (
    GeometricMean,
    HarmonicMean,
    LargerPlusShare,
    LargerScore,
    QdrantRankSum,
    RankSum,
    ScoreSum,
    ScoreSumTimesLegs,
    SharedWeightedScores,
    WeightedScores,
)
from workbench.systems.engines.scales import (
    AS_GIVEN,
    CLAMPED,
    SATURATING,
    SHARE,
    ElasticsearchMinMax,
    FromInfimum,
    MinMax,
    Normalisation,
    OpenSearchMinMax,
    ThreeSigma,
    its_sign,
    itself,
    no_number,
    one,
    one_half,
    zero,
)


@dataclass(frozen=True)
class Engine:
    """A fusion with the name of the engine that ships it, and its source."""

    name: str
    fusion: Fusion
    source: Source


@dataclass(frozen=True)
class FusedHit:
    """One candidate after fusion: its score, and each leg's part of it (NaN if the leg did not find it)."""

    id: str
    score: float
    vector: float
    keyword: float


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
    hits = [FusedHit(*row) for row in zip(ids, *(column.tolist() for column in columns), strict=True)]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


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


_RANX = Source("AmenRa/ranx", "0.3.21", "ranx/fusion, norm='min-max'", note="Equal scores become 0.")
_LLAMA = "run-llama/llama_index"
_LLAMA_PLACE = "core/retrievers/fusion_retriever.py"
_OPENSEARCH = Source(
    "opensearch-project/neural-search",
    "main",
    "processor/normalization/MinMaxScoreNormalizationTechnique.java, processor/combination",
    note="Simplified: float64 instead of float32.",
)
_AUTORAG = Source(
    "Marker-Inc-Korea/AutoRAG",
    "main",
    "autorag/nodes/hybridretrieval/hybrid_cc.py",
    note="A list of equal scores gives 0 / 0 there, and the resulting NaN is replaced with 0.",
)
_OPENCLAW = "openclaw/openclaw"

_ALL = (
    Engine(
        "rrf-60",
        RankSum(),
        Source(
            "Cormack, Clarke, Büttcher",
            "SIGIR 2009",
            "Reciprocal rank fusion outperforms Condorcet",
            note="In Elasticsearch, OpenSearch's score-ranker-processor, Azure, Milvus, LangChain, ranx.",
        ),
    ),
    Engine(
        "weaviate-ranked",
        RankSum(0.5, 0.5, k=60, first=0),
        Source("weaviate/weaviate", "1.24", "usecases/traverser/hybrid/hybrid_fusion.go, FusionRanked"),
    ),
    Engine(
        "llamaindex-rrf",
        RankSum(k=60, first=0),
        Source(_LLAMA, "0.14", f"{_LLAMA_PLACE}, _reciprocal_rerank_fusion", "#21444"),
    ),
    Engine(
        "qdrant-k2",
        QdrantRankSum(),
        Source("qdrant/qdrant-client", "1.20", "qdrant_client/hybrid/fusion.py, reciprocal_rank_fusion"),
    ),
    Engine(
        "qdrant-k2-weighted",
        QdrantRankSum(vector=2.0, keyword=1.0),
        Source("qdrant/qdrant-client", "1.20", "qdrant_client/hybrid/fusion.py, weights"),
    ),
    Engine(
        "qdrant-k60",
        QdrantRankSum(k=60),
        Source("qdrant/qdrant-client", "1.20", "qdrant_client/hybrid/fusion.py, ranking_constant_k"),
    ),
    Engine(
        "txtai",
        RankSum(0.5, 0.5, k=0),
        Source(
            "neuml/txtai",
            "master",
            "embeddings/search/hybrid.py, rrf",
            note="Called RRF, but k is 0: the reciprocal of the rank. It does not query a leg of weight 0.",
        ),
    ),
    Engine(
        "normalised-rrf",
        WeightedRRF(1.0, 1.0),
        Source(
            "zilliztech/memsearch",
            "proposed",
            "RRF × (k + 1) / lists",
            "#496",
            "Haystack's DocumentJoiner computes the same: k = 61 over ranks from 0, over lists / k.",
        ),
    ),
    Engine(
        "weaviate-relative",
        WeightedScores(0.7, 0.3, MinMax(one), MinMax(one)),
        Source(
            "weaviate/weaviate", "1.24", "usecases/traverser/hybrid/hybrid_fusion.go, FusionRelativeScore"
        ),
    ),
    Engine(
        "weaviate-relative-before-3243",
        WeightedScores(0.7, 0.3, MinMax(zero), MinMax(zero)),
        Source("weaviate/weaviate", "1.20.0", "usecases/traverser/hybrid, FusionRelativeScore", "#3243"),
    ),
    Engine(
        "llamaindex-relative",
        SharedWeightedScores(0.5, 0.5, MinMax(its_sign), MinMax(its_sign)),
        Source(
            _LLAMA,
            "0.14",
            f"{_LLAMA_PLACE}, _relative_score_fusion",
            note="Divided by num_queries, 4 by default. Two lists are the result of one query.",
        ),
    ),
    Engine(
        "llamaindex-dist-based",
        SharedWeightedScores(0.5, 0.5, ThreeSigma(its_sign), ThreeSigma(its_sign)),
        Source(_LLAMA, "0.14", f"{_LLAMA_PLACE}, dist_based"),
    ),
    Engine(
        "qdrant-dbsf",
        ScoreSum(ThreeSigma(one_half, sample_deviation), ThreeSigma(one_half, sample_deviation)),
        Source(
            "qdrant/qdrant-client", "1.20", "qdrant_client/hybrid/fusion.py, distribution_based_score_fusion"
        ),
    ),
    Engine(
        "haystack-dbsf",
        LargerScore(ThreeSigma(zero), ThreeSigma(zero)),
        Source("deepset-ai/haystack", "2.x", "components/joiners/document_joiner.py", "#12507"),
    ),
    Engine(
        "haystack-dbsf-12508",
        LargerScore(ThreeSigma(itself), ThreeSigma(itself)),
        Source("deepset-ai/haystack", "PR#12508", "components/joiners/document_joiner.py", "#12507"),
    ),
    Engine("autorag-mm", WeightedScores(0.5, 0.5, MinMax(no_number), MinMax(no_number)), _AUTORAG),
    Engine("autorag-dbsf", WeightedScores(0.5, 0.5, ThreeSigma(no_number), ThreeSigma(no_number)), _AUTORAG),
    Engine(
        "tm2c2",
        WeightedScores(0.8, 0.2, FromInfimum(-1.0), FromInfimum(0.0)),
        Source(
            "Bruch, Gai, Ingber",
            "TOIS 2023",
            "An analysis of fusion functions for hybrid retrieval, arXiv 2210.11934",
            note="AutoRAG's tmm computes the same.",
        ),
    ),
    Engine("combsum", ScoreSum(), _RANX),
    Engine("combmnz", ScoreSumTimesLegs(), _RANX),
    Engine("combmax", LargerScore(), _RANX),
    Engine(
        "basic-memory",
        LargerPlusShare(AS_GIVEN, SHARE, share=0.3),
        Source("basicmachines-co/basic-memory", "since #577", "max(v, f) + 0.3 × min(v, f), f = s / max s"),
    ),
    Engine(
        "opensearch-arithmetic", WeightedScores(0.5, 0.5, OpenSearchMinMax(), OpenSearchMinMax()), _OPENSEARCH
    ),
    Engine("opensearch-geometric", GeometricMean(OpenSearchMinMax(), OpenSearchMinMax()), _OPENSEARCH),
    Engine("opensearch-harmonic", HarmonicMean(OpenSearchMinMax(), OpenSearchMinMax()), _OPENSEARCH),
    Engine(
        "elasticsearch-linear",
        WeightedScores(1.0, 1.0, ElasticsearchMinMax(), ElasticsearchMinMax()),
        Source("elastic/elasticsearch", "9.x", "x-pack/rank-rrf, linear/MinMaxScoreNormalizer.java"),
    ),
    Engine(
        "openclaw-now",
        WeightedScores(0.7, 0.3, AS_GIVEN, SATURATING),
        Source(_OPENCLAW, "2026.3.7", "src/memory/hybrid.ts", "#33757"),
    ),
    Engine(
        "openclaw-clamped",
        WeightedScores(0.7, 0.3, AS_GIVEN, CLAMPED),
        Source(_OPENCLAW, "2026.2.13", "src/memory/hybrid.ts", "#5767, PR#20994"),
    ),
)

ENGINES = Registry[Engine]("engine", _ALL, "List them: list(workbench.systems.engines.presets.ENGINES)")


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
    depth, source = Depth(multiplier=4, cap=200), engine.source
    note = f"{source.note} " if source.note else ""
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
        source=Source(
            source.repository,
            source.release,
            source.place,
            source.issue,
            f"{note}Only the fusion is the engine's. The legs (24 candidates each) are ours. No floor.",
        ),
    )


PIPELINES = tuple(
    engine_pipeline(ENGINES[name])
    for name in (
        "rrf-60", "qdrant-k2", "weaviate-relative", "qdrant-dbsf", "haystack-dbsf", "tm2c2", "combmnz",
        "opensearch-harmonic",
    )
)  # fmt: skip
