"""QMD's hybrid search: the parts that need no download, and the same pipeline for any expander and reranker.

QMD's own models (a 1.7B model for the expansion, Qwen3-Reranker-0.6B) are not here. `with_models` takes
others behind the same two protocols.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.memory.files import HEADS, FileRules
from workbench.memory.sources import Indexing, LineChunker
from workbench.registry import register
from workbench.retrieval.cutoff import Limit, MinScore, Order
from workbench.retrieval.legs import KeywordLeg, Union
from workbench.retrieval.pipeline import Change, Pipeline, Source
from workbench.retrieval.rerank import Reranker
from workbench.retrieval.scoring import Cosine, Relevance
from workbench_plugins.qmd.fusion import (
    Blend,
    BonusRankSum,
    ByPlace,
    CandidateLimit,
    Constant,
    PositionalRankSum,
    RerankBestPiece,
)
from workbench_plugins.qmd.legs import (
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

REPOSITORY = "tobi/qmd"
SIMPLIFIED = (
    "Simplified: chunks and vectors are those of the index, and not pieces of 900 tokens by embeddinggemma; "
    "one collection, without contexts and intents; one variant of each kind; paths are not rewritten; equal "
    "scores are ordered by path, and there as the file system listed the files. A folder is read as "
    "`--as qmd-2.8.3` does it: with USER.md."
)


def _at(release: str, issue: str = "", note: str = SIMPLIFIED) -> Source:
    return Source(REPOSITORY, release, "src/store.ts, src/llm.ts", issue, note)


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
        ByPlace(),
        Order(by="blended"),
        CandidateLimit(),
        MinScore(0.0, of="blended"),
        Limit(10),
    ),
    _at(
        "2.8.3",
        "",
        "Without the reranker, and with the expansion that is left when the model gives no usable line. "
        f"{SIMPLIFIED}",
    ),
    layout=FilesLayout(),
)

KEYWORDS = Change(
    "keywords",
    Expansion(KeywordsAlone()),
    "a question in plain language has words that no note has, and all must be there; a variant without them "
    "finds something",
    Source("this workbench", "0.1.0", "workbench_plugins/qmd/legs.py", "", "In place of QMD's model."),
)
BY_POSITION = Change(
    "by-position",
    PositionalRankSum(),
    "the first two lists count twice, whichever they are",
    _at("2.1.0", "#591", "Fixed in 2.5.0. Only this difference of 2.1.0 is reproduced."),
)


def with_models(expander: Expander, reranker: Reranker, name: str = "qmd-2.8.3") -> Pipeline:
    """QMD's whole pipeline with this expander and this reranker, whose scores must be from 0 to 1."""
    asked = NO_RERANK.with_stage(Expansion(expander))
    reranked = asked.with_new_stage(RerankBestPiece(reranker), before=Blend.slot).with_stage(Blend())
    return replace(reranked, name=name, source=_at("2.8.3"))


WITH_KEYWORDS = NO_RERANK.but(KEYWORDS)
OLDER = replace(
    WITH_KEYWORDS.but(BY_POSITION), name="qmd-2.1.0-no-rerank+keywords", source=_at("2.1.0", "#591")
)
NO_MODELS = replace(
    with_models(Expansion().expander, Constant(), "qmd-2.8.3-no-models"),
    source=_at(
        "2.8.3",
        "PR#819",
        "With both fallbacks: the reranker cannot be loaded, so each candidate gets 0.5. The blend then puts "
        f"places 11 to 19 before places 5 to 10. {SIMPLIFIED}",
    ),
)

PIPELINES = (NO_RERANK, WITH_KEYWORDS, OLDER, NO_MODELS)

register(*PIPELINES, Indexing("qmd-2.8.3", LineChunker(), FileRules((*HEADS, "USER.md"))))
