"""QMD's hybrid search: the parts that need no download, and the same pipeline for any expander and reranker.

QMD's own models (a 1.7B model for the expansion, Qwen3-Reranker-0.6B) are not here. `with_models` takes
others behind the same two protocols.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.memory.files import HEADS, FileRules
from workbench.memory.sources import Indexing, LineChunker
from workbench.retrieval.cutoff import Limit, MinScore, Order
from workbench.retrieval.legs import KeywordLeg, Union
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.scoring import Cosine, Relevance
from workbench.systems.history import History
from workbench_plugins.qmd.qmd_fusion import (
    FUSED,
    Blend,
    BonusRankSum,
    ByRank,
    CandidateLimit,
    Constant,
    PositionalRankSum,
    RerankBestPiece,
)
from workbench_plugins.qmd.qmd_legs import (
    TWENTY,
    EveryWordAsPrefix,
    Expander,
    Expansion,
    FilesLayout,
    FileVectorLeg,
    HydeLeg,
    HydeScore,
    KeywordsAlone,
    LexLeg,
    LexScore,
    VecLeg,
    VecScore,
)
from workbench_plugins.rerank import Reranker

TOLD = History(__file__)

INDEXING = Indexing("qmd-2.8.3", LineChunker(), FileRules((*HEADS, "USER.md")))

NO_RERANK = Pipeline(
    "qmd-2.8.3-no-rerank",
    (
        EveryWordAsPrefix(),
        KeywordLeg(TWENTY),
        FileVectorLeg(),
        Expansion(),
        LexLeg(),
        VecLeg(),
        HydeLeg(),
        Union(),
        Relevance(),
        Cosine(),
        LexScore(),
        VecScore(),
        HydeScore(),
        BonusRankSum(),
        ByRank(),
        Order(by="blended", ties=("fusion_place",)),
        CandidateLimit(),
        MinScore(0.0, of="blended"),
        Limit(10),
    ),
    TOLD.release("2.8.3", "no-rerank"),
    layout=FilesLayout(),
    indexing=INDEXING,
)

KEYWORDS = TOLD.change("0.1.0", "keywords", Expansion(KeywordsAlone()))
BY_POSITION = TOLD.change("2.1.0", "by-position", PositionalRankSum())


def with_models(expander: Expander, reranker: Reranker, name: str = "qmd-2.8.3") -> Pipeline:
    """QMD's whole pipeline with this expander and this reranker, whose scores must be from 0 to 1."""
    asked = NO_RERANK.with_stage(Expansion(expander))
    read = asked.with_new_stage(RerankBestPiece(reranker, fused=FUSED), before=Blend.slot)
    return replace(read.with_stage(Blend()), name=name, source=TOLD.release("2.8.3"))


WITH_KEYWORDS = NO_RERANK.with_changes(KEYWORDS)
OLDER = replace(
    WITH_KEYWORDS.with_changes(BY_POSITION), name="qmd-2.1.0-no-rerank+keywords", source=TOLD.release("2.1.0")
)
NO_MODELS = replace(
    with_models(Expansion().expander, Constant(), "qmd-2.8.3-no-models"),
    source=TOLD.release("2.8.3", "no-models"),
)

PIPELINES = (NO_RERANK, WITH_KEYWORDS, OLDER, NO_MODELS)
