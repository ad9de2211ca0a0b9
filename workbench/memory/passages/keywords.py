"""BM25 over stems, held in memory: scores of any texts, and the most that a question could score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

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


def _content_counts(text: str) -> dict[str, int]:
    """How often a text has each of its stems, without function words."""
    return {stem: n for stem, n in Counter(porter_stems(text)).items() if stem not in STOP_STEMS}


class StemIndex:
    """BM25 over the stems of some texts. Function words count neither as terms nor in a text's length.

    The IDF is ln(1 + (n - df + ½) / (df + ½)), which is never negative (Lucene's), so that a share of the
    question's highest possible score is between 0 and 1.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counted = [_content_counts(text) for text in texts]
        lengths = np.array([sum(counts.values()) for counts in counted], float)
        self.size = len(texts)
        self._normal = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0)) if len(texts) else lengths
        # All postings are in one table, ordered by stem and then by text.
        self._numbers = {
            stem: number for number, stem in enumerate(dict.fromkeys(chain.from_iterable(counted)))
        }
        stems = np.fromiter(map(self._numbers.__getitem__, chain.from_iterable(counted)), np.int32)
        order = np.argsort(stems, kind="stable")
        self._ends = np.cumsum([0, *np.bincount(stems, minlength=len(self._numbers))])
        held = np.array([len(counts) for counts in counted], np.int64)
        self._places = np.repeat(np.arange(len(texts), dtype=np.int32), held)[order]
        every_count = chain.from_iterable(counts.values() for counts in counted)
        self._counts = np.fromiter(every_count, np.int32)[order]

    def _postings(self, stem: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The texts that have a stem, in order, and how often each has it."""
        number = self._numbers.get(stem)
        held = slice(0) if number is None else slice(self._ends[number], self._ends[number + 1])
        return self._places[held], self._counts[held]

    def idf(self, stem: str) -> float:
        """How rare a stem is; a stem that no text has is the rarest."""
        count = self._postings(stem)[0].size
        return float(np.log1p((self.size - count + 0.5) / (count + 0.5)))

    def scores(self, stems: Sequence[str]) -> Floats:
        """BM25 of each text; 0 for a text without any of the stems."""
        total = np.zeros(self.size)
        for stem in stems:
            places, counts = self._postings(stem)
            total[places] += self.idf(stem) * counts * (K1 + 1) / (counts + self._normal[places])
        return total

    def having(self, stem: str) -> NDArray[np.bool_]:
        """Which texts have a stem."""
        has = np.zeros(self.size, bool)
        has[self._postings(stem)[0]] = True
        return has

    def most(self, stems: Sequence[str]) -> float:
        """The score that no text can pass: every stem of the question, as often as one likes."""
        return sum(self.idf(stem) for stem in stems) * (K1 + 1)
