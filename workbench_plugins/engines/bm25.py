"""BM25 of one word in a few texts, with the word weight (IDF) of FTS5 or of Lucene."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping


def lucene_idf(notes: int, having: int) -> float:
    """Lucene's weight of a word: ln(1 + (N - n + 0.5) / (n + 0.5)), which is always above 0."""
    return math.log(1 + (notes - having + 0.5) / (having + 0.5))


def bm25(
    idf: Callable[[int, int], float], word: str, texts: Mapping[str, str], k1: float = 1.2, b: float = 0.75
) -> dict[str, float]:
    """The BM25 score of one word for each text that contains it; larger is better.

    `texts` maps names to texts, which are split at white space. k1 and b have FTS5's defaults.
    """
    words = {name: text.split() for name, text in texts.items()}
    average = sum(map(len, words.values())) / len(words)
    having = [name for name, some in words.items() if word in some]
    return {
        name: idf(len(words), len(having))
        * (count := words[name].count(word))
        * (k1 + 1)
        / (count + k1 * (1 - b + b * len(words[name]) / average))
        for name in having
    }
