"""The pipeline `recommended`: one set of weights for notes, transcripts and documentation.

Every kind of evidence is a share or a cosine, so a question with rare words is decided by its words, and one
without any by its meaning. `workbench bench` shows what each stage brings.
"""

from __future__ import annotations

from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.legs import Depth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.passages.index import PassagesLayout
from workbench.retrieval.passages.silence import Answerable, Calibration, SilenceFloor
from workbench.retrieval.passages.stages import (
    BestOfFile,
    ContentWords,
    FileShare,
    KeywordShare,
    LateInteraction,
    TitleShare,
    WindowCosine,
)
from workbench.retrieval.pipeline import Pipeline, Source
from workbench.systems.recommended.weights import Weights, read_weights

DEPTH = Depth(multiplier=100, cap=100)
"""Chunks that each leg brings, so that late interaction reads a bounded number of them."""
WRONG_PER_HUNDRED = 80.0
SOURCE = Source("this workbench", "0.1.0", "workbench/systems/recommended/pipelines.py")


def recommended(weights: Weights) -> Pipeline:
    """The pipeline with these weights."""
    score = dict(weights.score)
    return Pipeline(
        "recommended",
        (
            ContentWords(),
            KeywordLeg(depth=DEPTH),
            VectorLeg(depth=DEPTH),
            Union(),
            KeywordShare(),
            WindowCosine(),
            FileShare(),
            TitleShare(),
            LateInteraction(),
            WeightedSum(
                vector=score.pop("vector"), keyword=score.pop("keyword"), more=tuple(sorted(score.items()))
            ),
            Order(),
            BestOfFile(),
            Answerable(Calibration(tuple(weights.answerable.items()), weights.model)),
            SilenceFloor(1 - WRONG_PER_HUNDRED / 100),
            Limit(6),
        ),
        SOURCE,
        layout=PassagesLayout(),
    )


RECOMMENDED = recommended(read_weights())
PIPELINES = (RECOMMENDED,)
