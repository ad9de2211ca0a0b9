"""The pipeline `recommended`: one set of weights for notes, transcripts and documentation.

Every kind of evidence is a share or a cosine, so a question with rare words is decided by its words, and one
without any by its meaning. `python -m benchmarks.published` shows what each stage brings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.registry import register
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.legs import Depth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline, Source
from workbench_plugins.recommended.layout import PassagesLayout
from workbench_plugins.recommended.silence import Answerable, Calibration, accepting
from workbench_plugins.recommended.stages import (
    BestOfFile,
    ContentWords,
    KeywordShare,
    LateInteraction,
    PassageCosine,
    TitleShare,
)

DEPTH = Depth(multiplier=60, cap=60)
"""Chunks that each leg brings, so that late interaction reads a bounded number of them."""
SOURCE = Source("this workbench", "0.1.0", "workbench_plugins/recommended/pipelines.py")
FILE = Path(__file__).parent / "weights.json"


@dataclass(frozen=True)
class FittedWeights:
    """How much each kind of evidence counts, and what says that anything here answers.

    `score` holds a weight for each of vector, keyword, title and late; they sum to 1. `answerable` holds the
    weights of a logistic regression, `intercept` included. `wrong_per_hundred` is how many wrong answers in a
    hundred the floor accepts. `model` names the model of the vectors, and `fitted` says how and on what the
    weights were fitted. `benchmarks/fit.py` writes them.
    """

    score: Mapping[str, float]
    answerable: Mapping[str, float]
    wrong_per_hundred: float
    model: str
    fitted: str


WEIGHTS = FittedWeights(**json.loads(FILE.read_text(encoding="utf-8")))


def recommended(weights: FittedWeights) -> Pipeline:
    """The pipeline with these weights."""
    score = dict(weights.score)
    return Pipeline(
        "recommended",
        ContentWords()
        >> KeywordLeg(DEPTH)
        >> VectorLeg(DEPTH)
        >> Union()
        >> KeywordShare()
        >> PassageCosine()
        >> TitleShare()
        >> LateInteraction()
        >> WeightedSum(score.pop("vector"), score.pop("keyword"), more=tuple(sorted(score.items())))
        >> Order()
        >> BestOfFile()
        >> Answerable(Calibration(tuple(weights.answerable.items()), weights.model))
        >> accepting(weights.wrong_per_hundred)
        >> Limit(6),
        SOURCE,
        layout=PassagesLayout(),
    )


RECOMMENDED = recommended(WEIGHTS)


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

register(*PIPELINES)
