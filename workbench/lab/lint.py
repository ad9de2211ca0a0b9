"""What a pipeline's settings make impossible, found without a single search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.retrieval.columns import Columns, ColumnStage, Row
from workbench.retrieval.formula import Term
from workbench.retrieval.legs import Depth
from workbench.retrieval.pipeline import Pipeline

# The best raw number of a BM25 leg depends on the conversion: some reward large ones, one rewards none.
BEST_RAW = {"vector": (0.0,), "keyword": (-1e12, -1e-12)}
WORST_RAW = {"vector": 2.0, "keyword": -1e-12}


@dataclass(frozen=True)
class Reach:
    """The highest score that a candidate of one leg alone can get, whether it passes, and how it is made."""

    leg: str
    score: float
    floor: float
    formula: Term

    @property
    def passes(self) -> bool:
        return self.score >= self.floor


def reach(pipeline: Pipeline, leg: str) -> Reach | None:
    """The reach of a leg, computed by the pipeline's own stages on a perfect candidate.

    Perfect means first in its leg, with the best raw number, and absent from the other leg: alone, or above
    as many of the worst as the leg may bring, since some scales look at the other hits. None when the
    pipeline does not ask that leg, and when its score needs more of a candidate than that, such as its text.
    """
    slots = {stage.slot for stage in pipeline.stages}
    if f"{leg}_leg" not in slots:
        return None
    if not _computable(pipeline, leg):
        return None
    depth = getattr(pipeline[f"{leg}_leg"], "depth", None)
    company = (0, depth.of(pipeline.limit) - 1) if isinstance(depth, Depth) else (0,)
    perfect = [_columns(pipeline, leg, raw, others) for raw in BEST_RAW[leg] for others in company]
    best = max(perfect, key=lambda columns: columns["score"][0])
    made = [stage for stage in pipeline.stages if isinstance(stage, ColumnStage) and stage.output == "score"]
    return Reach(leg, float(best["score"][0]), pipeline.floor, made[-1].formula(Row(best, 0)))


def reaches(pipeline: Pipeline) -> dict[str, Reach | None]:
    """The reach of each leg that the pipeline asks; None where it takes more than numbers to tell."""
    slots = {stage.slot for stage in pipeline.stages}
    return {leg: reach(pipeline, leg) for leg in BEST_RAW if f"{leg}_leg" in slots}


def _computable(pipeline: Pipeline, leg: str) -> bool:
    """Whether every score is made of raw numbers and ranks alone."""
    try:
        _score(pipeline, leg, BEST_RAW[leg][0])
    except KeyError:
        return False
    return True


def _score(pipeline: Pipeline, leg: str, raw: float) -> float:
    return float(_columns(pipeline, leg, raw)["score"][0])


def _columns(pipeline: Pipeline, leg: str, raw: float, others: int = 0) -> dict[str, np.ndarray]:
    """The columns of a candidate of one leg alone, and of `others` of the worst below it."""
    absent = np.full(1 + others, np.nan)
    columns = {f"{name}_{what}": absent for name in BEST_RAW for what in ("raw", "rank", "score")}
    columns |= {
        f"{leg}_raw": np.array([raw, *[WORST_RAW[leg]] * others]),
        f"{leg}_rank": np.arange(1.0, 2 + others),
    }
    for stage in pipeline.stages:  # what a stage reads in texts and notes, at its most favourable
        columns |= {name: np.full(1 + others, best) for name, best in getattr(stage, "best", {}).items()}
    for stage in pipeline.stages:
        if isinstance(stage, ColumnStage) and not _absent(stage, columns):
            columns[stage.output] = np.asarray(stage.formula(Columns(columns)), float)
    return columns


def _absent(stage: ColumnStage, columns: dict[str, np.ndarray]) -> bool:
    return stage.present is not None and bool(np.isnan(columns[stage.present][0]))


def needed_similarity(pipeline: Pipeline) -> float | None:
    """The least cosine that lets a candidate of the vector leg alone, ranked first, pass the floor.

    In openclaw-2026.2.13 this is 0.35 / 0.7 = 0.50. None when no cosine is enough.
    """
    low, high = -1.0, 1.0
    if _score(pipeline, "vector", 1 - high) < pipeline.floor:
        return None
    if _score(pipeline, "vector", 1 - low) >= pipeline.floor:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        enough = _score(pipeline, "vector", 1 - middle) >= pipeline.floor
        low, high = (low, middle) if enough else (middle, high)
    return high
