"""Hybrid searches in PostgreSQL: the SQL that people copy, and LangChain's PGVectorStore.

Both make the keyword query with plainto_tsquery, which joins all words with AND. Then a question in a
sentence has a dead keyword leg: the bug of openclaw#16021 in another engine.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.legs import FixedDepth, Union, VectorLeg
from workbench.retrieval.pipeline import Change, Pipeline, Source
from workbench.retrieval.scoring import Cosine
from workbench.systems.engines.fusion import WeightedScores
from workbench.systems.engines.scales import MinMax
from workbench.systems.postgres.fusion import FarthestFirstRankSum, SharedRanks, TextRank, TiedRankSum
from workbench.systems.postgres.text import AnyWord, TextLayout, TextLeg, WholeQuestion

TWENTY = FixedDepth(cap=20)
FOUR = FixedDepth(cap=4)
COPIED = Source(
    "pgvector/pgvector-python",
    "7e7a851d",
    "examples/hybrid_search/rrf.py",
    "",
    "Ties at a limit are arbitrary there; here they are in the order of chunk ids.",
)
LANGCHAIN = Source(
    "langchain-ai/langchain-postgres",
    "01db41af",
    "v2/hybrid_search_config.py, v2/async_vectorstore.py",
    "",
    "The defaults: 4 hits of each leg, 4 results. Ties are in the order of chunk ids.",
)

PGVECTOR_RRF = Pipeline(
    "pgvector-rrf",
    stages=(
        WholeQuestion(),
        TextLeg(TWENTY),
        VectorLeg(TWENTY),
        Union(),
        SharedRanks(),
        TiedRankSum(1.0, 1.0),
        Order(),
        Limit(5),
    ),
    source=COPIED,
    layout=TextLayout(),
)
ANY_WORD = Change(
    "or",
    AnyWord(),
    "one word is enough, instead of all of them",
    Source("workbench", "", "", "", "Never shipped there: the repair of openclaw#16021 for this query."),
)
PGVECTOR_RRF_OR = replace(PGVECTOR_RRF.but(ANY_WORD), layout=TextLayout("to_tsquery"))
LANGCHAIN_SUM = Pipeline(
    "langchain-pgvector",
    stages=(
        WholeQuestion(),
        TextLeg(FOUR),
        VectorLeg(FOUR),
        Union(),
        TextRank(),
        Cosine(),
        WeightedScores(0.5, 0.5, MinMax(), MinMax()),
        Order(),
        Limit(4),
    ),
    source=LANGCHAIN,
    layout=TextLayout(),
)
LANGCHAIN_RRF = Pipeline(
    "langchain-pgvector-rrf",
    stages=(
        WholeQuestion(),
        TextLeg(FOUR),
        VectorLeg(FOUR),
        Union(),
        FarthestFirstRankSum(1.0, 1.0),
        Order(),
        Limit(4),
    ),
    source=replace(
        LANGCHAIN,
        note="reciprocal_rank_fusion sorts both lists by `distance` in descending order, so the farthest "
        f"vector hit is ranked first. {LANGCHAIN.note}",
    ),
    layout=TextLayout(),
)

PIPELINES = (PGVECTOR_RRF, PGVECTOR_RRF_OR, LANGCHAIN_SUM, LANGCHAIN_RRF)
