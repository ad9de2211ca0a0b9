"""The pipeline `recommended`: one set of weights for notes, transcripts and documentation.

Every kind of evidence is a share or a cosine, so a question with rare words is decided by its words, and one
without any by its meaning. `workbench bench` shows what each stage brings.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.legs import Depth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.passages.index import PassagesLayout
from workbench.retrieval.passages.silence import Answerable, Calibration, accepting
from workbench.retrieval.passages.stages import (
    BestOfFile,
    ContentWords,
    KeywordShare,
    LateInteraction,
    StretchCosine,
    TitleShare,
)
from workbench.retrieval.pipeline import Pipeline, Source
from workbench.systems.recommended.weights import FittedWeights, read_weights

DEPTH = Depth(multiplier=60, cap=60)
"""Chunks that each leg brings, so that late interaction reads a bounded number of them."""
SOURCE = Source("this workbench", "0.1.0", "workbench/systems/recommended/pipelines.py")


def recommended(weights: FittedWeights) -> Pipeline:
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
            StretchCosine(),
            TitleShare(),
            LateInteraction(),
            WeightedSum(
                vector=score.pop("vector"), keyword=score.pop("keyword"), more=tuple(sorted(score.items()))
            ),
            Order(),
            BestOfFile(),
            Answerable(Calibration(tuple(weights.answerable.items()), weights.model)),
            accepting(weights.wrong_per_hundred),
            Limit(6),
        ),
        SOURCE,
        layout=PassagesLayout(),
    )


RECOMMENDED = recommended(read_weights())


def without_each() -> list[Pipeline]:
    """The pipeline without each of its parts in turn: what a part is worth is what its absence costs.

    A part of the score is left out with its weight; the weights of the others stay in proportion.
    """
    fusion = RECOMMENDED["fusion"]
    assert isinstance(fusion, WeightedSum)
    parts = [_without_part(fusion, part) for part in fusion.weights]
    bare = [_without(slot, RECOMMENDED) for slot in ("fold", "floor")]
    return [*parts, *bare]


def _without_part(fusion: WeightedSum, part: str) -> Pipeline:
    left = {name: weight * (name != part) for name, weight in fusion.weights.items()}
    total = sum(left.values())
    shares = {name: weight / total for name, weight in left.items()}
    vector, keyword = shares.pop("vector"), shares.pop("keyword")
    changed = WeightedSum(vector=vector, keyword=keyword, more=tuple(shares.items()))
    return replace(RECOMMENDED.with_stage(changed), name=f"without {part}")


def _without(slot: str, pipeline: Pipeline) -> Pipeline:
    stages = tuple(stage for stage in pipeline.stages if stage.slot != slot)
    return replace(pipeline, stages=stages, name=f"without {slot}")


PIPELINES = (RECOMMENDED,)
