"""BM25 over stems, held in memory: scores of any texts, and the most that a question could score.

The stems of a text, cut as FTS5's own porter tokenizer cuts it.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise

import apsw
import numpy as np
from numpy.typing import NDArray

from workbench.memory.store.postings import K1, B
from workbench.records import Floats
from workbench.retrieval.query import STOP_WORDS

_CONNECTIONS = threading.local()
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def porter_stems(text: str) -> list[str]:
    """The stems of a text's words, in order: lower case, without accents, by the Porter algorithm.

    A run of Chinese, Japanese or Korean characters, which has no blanks, becomes its pairs of characters.

    >>> porter_stems("The backups were running, café 日本語")
    ['the', 'backup', 'were', 'run', 'cafe', '日本', '本語']
    """
    return _tokens(text, "porter")


def _tokens(text: str, *kind: str) -> list[str]:
    spaced = UNSPACED.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text)
    found = _tokenizer(*kind, "unicode61")(
        spaced.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False,
        include_colocated=False,
    )  # fmt: skip
    return [str(one) for one in found]


def _pairs(run: str) -> list[str]:
    return [a + b for a, b in pairwise(run)] or [run]


def _tokenizer(*names: str) -> apsw.FTS5Tokenizer:
    """The tokenizer of this thread; a connection belongs to one thread."""
    held: dict[tuple[str, ...], apsw.FTS5Tokenizer] = vars(_CONNECTIONS).setdefault("tokenizers", {})
    if names not in held:
        options = [*names[1:], "remove_diacritics", "2"]
        held[names] = apsw.Connection(":memory:").fts5_tokenizer(names[0], options)
    return held[names]


def content_stems(text: str) -> list[str]:
    """The stems of a text without its function words, in order.

    The function words go before stemming: "cans" and "willing" have the stems of "can" and "will".

    >>> content_stems("Who is willing to open the cans?")
    ['will', 'open', 'can']
    """
    return [_stem(word) for word in _tokens(text) if word not in STOP_WORDS]


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    (stem,) = _tokens(word, "porter")
    return stem


def question_stems(text: str) -> list[str]:
    """The stems of a question without function words, each once; all stems if there are only those."""
    return list(dict.fromkeys(content_stems(text) or porter_stems(text)))


class StemIndex:
    """BM25 over the stems of some texts. Function words count neither as terms nor in a text's length.

    The IDF is ln(1 + (n - df + ½) / (df + ½)), which is never negative (Lucene's), so that a share of the
    question's highest possible score is between 0 and 1.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counted = [Counter(content_stems(text)) for text in texts]
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
