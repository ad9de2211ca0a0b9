"""Recall@5, recall@10 and MRR of the published benchmarks of AutoMem and Basic Memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.measure.measures import Judged, means


@dataclass(frozen=True)
class Figures:
    """Means over `n` questions; a question without ground truth counts as 0."""

    n: int
    recall_5: float
    recall_10: float
    mrr: float


def figures(judged: Sequence[Judged]) -> Figures:
    """The means over these questions; 0 for none."""
    from ir_measures import RR, R

    return Figures(len(judged), *means(judged, R @ 5, R @ 10, RR))
