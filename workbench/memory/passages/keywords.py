"""BM25 over stems, held in memory: scores of any texts, and the most that a question could score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.stop_words import STOP_WORDS
from workbench.memory.store.sqlite.stems import porter_stems
from workbench.records import Floats

K1, B = 1.2, 0.75
"""The usual constants of BM25 (Robertson and Zaragoza, 2009), which FTS5 has too."""
STOP_STEMS = frozenset(stem for word in STOP_WORDS for stem in porter_stems(word))


def content_stems(text: str) -> list[str]:
    """The stems of a question without function words, each once; all stems if there are only those."""
    stems = list(dict.fromkeys(porter_stems(text)))
    return [stem for stem in stems if stem not in STOP_STEMS] or stems


class StemIndex:
    """BM25 over the stems of some texts. Function words count neither as terms nor in a text's length.

    The IDF is ln(1 + (n - df + ½) / (df + ½)), which is never negative (Lucene's), so that a share of the
    question's highest possible score is between 0 and 1.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        postings: dict[str, list[tuple[int, int]]] = {}
        lengths = np.zeros(len(texts))
        for place, text in enumerate(texts):
            counts = Counter(stem for stem in porter_stems(text) if stem not in STOP_STEMS)
            lengths[place] = counts.total()
            for stem, count in counts.items():
                postings.setdefault(stem, []).append((place, count))
        self.size = len(texts)
        self._normal = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0)) if len(texts) else lengths
        self._postings = {stem: np.array(found, np.int32).T for stem, found in postings.items()}

    def idf(self, stem: str) -> float:
        """How rare a stem is; a stem that no text has is the rarest."""
        found = self._postings.get(stem)
        count = 0 if found is None else found.shape[1]
        return float(np.log1p((self.size - count + 0.5) / (count + 0.5)))

    def scores(self, stems: Sequence[str]) -> Floats:
        """BM25 of each text; 0 for a text without any of the stems."""
        total = np.zeros(self.size)
        for stem in stems:
            if (found := self._postings.get(stem)) is not None:
                places, counts = found
                total[places] += self.idf(stem) * counts * (K1 + 1) / (counts + self._normal[places])
        return total

    def having(self, stem: str) -> NDArray[np.bool_]:
        """Which texts have a stem."""
        found, has = self._postings.get(stem), np.zeros(self.size, bool)
        if found is not None:
            has[found[0]] = True
        return has

    def most(self, stems: Sequence[str]) -> float:
        """The score that no text can pass: every stem of the question, as often as one likes."""
        return sum(self.idf(stem) for stem in stems) * (K1 + 1)
