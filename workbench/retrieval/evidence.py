"""A floor on what the legs found, instead of on what the fusion made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from workbench.records import Trace
from workbench.retrieval.cutoff import marked
from workbench.retrieval.fusion import filled
from workbench.retrieval.legs import Context
from workbench.retrieval.scoring import cosine_similarity, relevance


@dataclass(frozen=True)
class EvidenceFloor:
    """Drops every candidate that no leg vouches for; the fused score orders, and decides nothing else.

    The vector leg vouches with a cosine of at least `cosine`, the keyword leg with at least `relevance`
    on the scale r / (1 + r) of FTS5's bm25(). An absent leg does not vouch, and does not object.
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

    def run(self, trace: Trace, context: Context) -> Trace:
        near = filled(cosine_similarity(trace.columns["vector_raw"]), -1.0) >= self.cosine
        said = filled(relevance(trace.columns["keyword_raw"]), 0.0) >= self.relevance
        return marked(trace, self, ~(near | said))
