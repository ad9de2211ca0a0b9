"""The hybrid search of a tutorial: min-max on both legs, weights 0.7 and 0.3, and no floor.

In each leg the worst fetched candidate scores 0, however good it is, so a score depends on how many
candidates were fetched. The best candidate of a nonsense question scores as much as that of a good question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.legs import Depth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline, Source
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.scoring import MinMaxRank, min_max

# The tutorial has no cap. This one is larger than any limit that can be set.
DEPTH = Depth(multiplier=3, cap=1_000_000)


@dataclass(frozen=True)
class MinMaxDistance(ColumnStage, slot="vector_score", present="vector_rank"):
    """Min-max over the vector leg's own hits: nearest 1, farthest 0, and 1 for a single hit or equal hits."""

    description: ClassVar[str] = (
        "vector score = (farthest - distance) / (farthest - nearest) over the leg's hits"
    )

    def formula(self, of: Numbers) -> Any:
        raw = of["vector_raw"]
        return min_max(raw, best=of.least("vector_raw"), worst=of.greatest("vector_raw"))


DAY_13 = Pipeline(
    "tutorial-day13",
    JoinedWords(join="OR")
    >> KeywordLeg(DEPTH)
    >> VectorLeg(DEPTH)
    >> Union()
    >> MinMaxRank()
    >> MinMaxDistance()
    >> WeightedSum(vector=0.7, keyword=0.3, absent=0.0)
    >> Order(ties=("vector_rank", "keyword_rank"))
    >> Limit(5),
    Source(
        "Day 13: Hybrid Search (BM25 + Vector + Merge)",
        "a tutorial",
        "packages/memory/src/search.ts, hybridSearch and normalizeScores",
        note="Simplified: the tutorial explains its keyword query on another day; ours joins words with OR. "
        "Min-max of cosine similarities equals min-max of our distances.",
    ),
)

PIPELINES = (DAY_13,)
