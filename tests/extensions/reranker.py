"""A reranking stage: short texts first; it writes a column of its own, by which the pipeline then orders."""

from dataclasses import dataclass

import numpy as np

from workbench.retrieval.columns import ColumnStage


@dataclass(frozen=True)
class ByLength(ColumnStage):
    slot, output, scale = "rerank", "rerank_score", "1 / characters"
    description = "rerank score = 10 / characters of the text + 0.01 × score"
    observed, best = ("characters",), {"characters": 1.0}

    def observe(self, trace, context):
        return {"characters": np.array([len(one.text) for one in trace.chunks], float)}

    def formula(self, of):
        return 10 / of["characters"] + 0.01 * of["score"]
