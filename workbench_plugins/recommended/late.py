"""Late interaction as a reranker: the model of the index compares single words of question and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.contracts import Index
from workbench.memory.embedding.local import LocalEmbedder, Windowed
from workbench.registry import register
from workbench.retrieval.index_adapters import kept
from workbench.retrieval.rerank import RerankerOfIndex, UnusableScoresError
from workbench.systems.registry import RerankerKind
from workbench_plugins.recommended.codes import Codes, coded, max_sim
from workbench_plugins.recommended.layout import local_embedder
from workbench_plugins.recommended.tokens import word_vectors


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
        """The reranker for this index. Raises UnusableScoresError without a model on this machine."""
        embedder = local_embedder(index)
        if embedder is None:
            raise UnusableScoresError(
                "The model of this index gives no vectors of single words here.",
                "Index with a model on this machine, or choose another reranker.",
            )
        known: dict[str, Codes] = kept(index, LateOfIndex, dict)
        return LateReranker(embedder, known)


register(RerankerKind("late", "late", lambda _: LateOfIndex()))
