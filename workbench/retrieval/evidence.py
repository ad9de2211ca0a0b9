"""A floor on what the legs found, instead of on the fused score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.records import DropKind, Threshold, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.cutoff import dropped
from workbench.retrieval.scoring import cosine_similarity, relevance


@dataclass(frozen=True)
class EvidenceFloor(PlainStage):
    """Drops every candidate that no leg vouches for. The fused score only orders the candidates.

    The vector leg vouches with a cosine of at least `cosine`, the keyword leg with at least `relevance`
    on the scale r / (1 + r) of FTS5's bm25(). A leg that did not bring the candidate does not vouch for it.
    """

    slot: ClassVar[str] = "floor"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"cosine": (-1, 1), "relevance": (0, 1)}
    cosine: float = 0.25
    relevance: float = 0.9

    @property
    def says(self) -> str:
        return (
            f"floor: drop what has neither a cosine of {self.cosine:g} nor a keyword relevance "
            f"r / (1 + r) of {self.relevance:g}"
        )

    def reads(self) -> tuple[str, ...]:
        return "vector_raw", "keyword_raw"

    def run(self, trace: Trace, context: Context) -> Trace:
        near, raw = cosine_similarity(trace.columns["vector_raw"]), trace.columns["keyword_raw"]
        said = np.where(np.isnan(raw), np.nan, relevance(raw))
        thresholds = (
            Threshold("cosine", near, self.cosine),
            Threshold("keyword relevance r / (1 + r)", said, self.relevance),
        )
        vouched = (near >= self.cosine) | (said >= self.relevance)
        return dropped(trace, self, ~vouched, DropKind.FLOOR, *thresholds)
