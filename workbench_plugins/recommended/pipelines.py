"""The pipeline `recommended`, with one set of weights for all memories, and the reranker `late`.

Every kind of evidence is a share or a cosine, so a question with rare words is decided by its words, and one
without any by its meaning. `python -m benchmarks.published` shows what each stage brings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from workbench.contracts import Index
from workbench.errors import ProviderError
from workbench.memory.embedding.local import LocalEmbedder, Windowed
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.index_adapters import memoized
from workbench.retrieval.legs import Depth
from workbench.retrieval.pipeline import Pipeline, Source
from workbench_plugins.recommended.layout import PassagesLayout, word_embedder
from workbench_plugins.recommended.stages import (
    Answerable,
    BestOfFile,
    Calibration,
    ChunkCosine,
    ContentWords,
    EvidenceSum,
    FileLateInteraction,
    FileMean,
    IdentifierShare,
    KeywordShare,
    LateInteraction,
    LinkShare,
    MeanLeg,
    NamedAndUnion,
    PassageCosine,
    StemLeg,
    Support,
    TitleShare,
    accepting,
)
from workbench_plugins.recommended.words import Codes, coded, max_sim, word_vectors
from workbench_plugins.rerank import RerankerKind, RerankerOfIndex

WORDS, NEAR = Depth(multiplier=60, cap=60), Depth(multiplier=100, cap=100)
"""Chunks that each leg brings, so that late interaction reads a bounded number of them. A chunk's own vector
knows less than the words of its parts, so the vector leg brings more."""
SOURCE = Source(
    "this workbench",
    "0.1.0",
    "workbench_plugins/recommended/pipelines.py",
    note="docs/recommended.md leads one question through these stages.",
)
FILE = Path(__file__).parent / "weights.json"


@dataclass(frozen=True)
class FittedWeights:
    """How much each kind of evidence counts, and what says that anything here answers.

    `score` holds a weight for each part of the score. Those of the parts that every memory has sum to 1;
    those of links and of identifiers come on top, and change nothing where there are none. `answerable` holds
    the weights of a logistic regression, `intercept` included. `wrong_per_hundred` is how many wrong answers
    in a hundred the floor accepts. `model` names the model of the vectors, and `fitted` says how and on what
    the weights were fitted. `benchmarks/fit.py` writes them.
    """

    score: Mapping[str, float]
    answerable: Mapping[str, float]
    wrong_per_hundred: float
    model: str
    fitted: str


WEIGHTS = FittedWeights(**json.loads(FILE.read_text(encoding="utf-8")))


def recommended(weights: FittedWeights) -> Pipeline:
    """The pipeline with these weights."""
    score: Mapping[str, Any] = weights.score
    return Pipeline(
        "recommended",
        ContentWords()
        >> StemLeg(WORDS)
        >> MeanLeg(NEAR)
        >> NamedAndUnion()
        >> ChunkCosine()
        >> FileMean()
        >> KeywordShare()
        >> PassageCosine()
        >> TitleShare()
        >> LinkShare()
        >> IdentifierShare()
        >> LateInteraction()
        >> FileLateInteraction()
        >> EvidenceSum(**score)
        >> Order()
        >> BestOfFile()
        >> Support()
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
    shares: dict[str, Any] = {name: weight / total for name, weight in left.items()}
    changed = replace(fusion, **shares)
    return replace(RECOMMENDED.with_stage(changed), name=f"without {part}")


def _without(slot: str, pipeline: Pipeline) -> Pipeline:
    stages = tuple(stage for stage in pipeline.stages if stage.slot != slot)
    return replace(pipeline, stages=stages, name=f"without {slot}")


@dataclass(frozen=True)
class LateReranker:
    """The mean, over the content words of the question, of the cosine of the best word of a text: MaxSim.

    `known` keeps the words of texts that were read. Source: Khattab and Zaharia, ColBERT, SIGIR 2020, here
    with the words of the embedding model itself.
    """

    embedder: LocalEmbedder
    known: dict[str, Codes]
    name: str = "late interaction"

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """MaxSim of each text, -1 to 1."""
        asked = word_vectors(self.embedder, [question], "query")[0].words
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        self.known.update(zip(new, self._read(new), strict=True))
        start = np.zeros(1, np.int64)
        return [float(max_sim(asked, self.known[text], start)[0]) for text in texts]

    def _read(self, texts: Sequence[str]) -> list[Codes]:
        if not texts:
            return []
        offsets = self.embedder.offsets(texts)
        pieces = [
            Windowed().pieces(text, spans, self.embedder.window)
            for text, spans in zip(texts, offsets, strict=True)
        ]
        read = iter(word_vectors(self.embedder, [one for some in pieces for one in some], "passage"))
        return [coded(np.concatenate([next(read).words for _ in some])) for some in pieces]


@dataclass(frozen=True)
class LateOfIndex(RerankerOfIndex):
    """Late interaction with the model of the index that is searched; what it has read is kept with it."""

    name: str = "late interaction"

    def of(self, index: Index) -> LateReranker:
        """The reranker for this index. Raises ProviderError without a model on this machine."""
        embedder = word_embedder(index)
        if not isinstance(embedder, LocalEmbedder):
            raise ProviderError(
                "The model of this index gives no vectors of single words here.",
                "Index with a model on this machine, or choose another reranker.",
            )
        return LateReranker(embedder, memoized(index, LateOfIndex, dict[str, Codes]))


LATE = RerankerKind("late", "late", lambda _: LateOfIndex())
