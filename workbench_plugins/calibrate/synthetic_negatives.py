"""Questions that a memory does not answer, made from labelled questions that it answers.

Leave-one-out asks the same question of the memory without the file that answers it. An exchanged question has
another name, month, weekday or number of the same memory, one that the answering file does not have. Both are
marked as made: what is promised for them is not promised for questions that a person asks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from workbench.contracts import Index
from workbench.measure.questions import Question
from workbench.records import Hits, Query, Trace, Vector
from workbench.retrieval.index_adapters import IndexAdapter
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.proper_nouns import MONTHS, WEEKDAYS, proper_nouns

WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class MadeLabels:
    """Searches for made questions that the memory does not answer, and how the questions were made."""

    how: str
    traces: Sequence[Trace]


class Without(IndexAdapter):
    """An index without one file: its chunks are never found. Word frequencies stay those of the memory."""

    def __init__(self, inner: Index, path: str) -> None:
        super().__init__(inner)
        self._gone = inner.rows_of(path)

    def keyword(self, query: Query, limit: int) -> Hits:
        return self._left(self.inner.keyword(query, limit + self._gone.size), limit)

    def vector(self, query: Vector, limit: int) -> Hits:
        return self._left(self.inner.vector(query, limit + self._gone.size), limit)

    def _left(self, hits: Hits, limit: int) -> Hits:
        kept = ~np.isin(hits.rows, self._gone)
        return replace(hits, rows=hits.rows[kept][:limit], raw=hits.raw[kept][:limit])


def left_out(questions: Sequence[Question], pipeline: Pipeline, index: Index) -> list[Trace]:
    """Each question, asked of the index without the file that answers it."""
    laid_out, plain = index.laid_out(pipeline.layout), replace(pipeline, layout=None)
    return [
        replace(search(one.question, plain, Without(laid_out, one.target)), layout=pipeline.layout)
        for one in questions
    ]


@dataclass(frozen=True)
class Exchange:
    """What can be exchanged in a memory: the words that may take the place of each kind of word."""

    names: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Exchange:
        """The names and numbers of these texts."""
        words = [word for text in texts for word in WORD.findall(text)]
        return cls(proper_nouns(texts), frozenset(word for word in words if word.isdecimal()))

    def exchanged(self, question: str, right: str) -> str | None:
        """The question with its first name, date or number exchanged for one that `right` does not have.

        None for a question without any. The same question always gives the same one.
        """
        there = {word.lower() for word in WORD.findall(right)} | {
            one.lower() for one in WORD.findall(question)
        }
        for found in WORD.finditer(question):
            old = found[0]
            others = sorted(self._others(old.lower()) - there)
            if others:
                number = int.from_bytes(hashlib.sha256(question.encode()).digest()[:8], "big")
                new = others[number % len(others)]
                new = new.capitalize() if old[0].isupper() else new
                return question[: found.start()] + new + question[found.end() :]
        return None

    def _others(self, word: str) -> frozenset[str]:
        """The words of the same kind: of numbers those with as many digits."""
        if word.isdecimal():
            return frozenset(one for one in self.numbers if len(one) == len(word))
        return next((kind for kind in (MONTHS, WEEKDAYS, self.names) if word in kind), frozenset())


def exchanged(questions: Sequence[Question], pipeline: Pipeline, index: Index) -> list[Trace]:
    """The questions in which something can be exchanged, asked with another name, date or number."""
    rows = {path: index.rows_of(path) for path in index.paths()}
    texts = {path: "\n".join(chunk.text for chunk in index.chunks(some)) for path, some in rows.items()}
    kinds = Exchange.of(list(texts.values()))
    made = [kinds.exchanged(one.question, texts.get(one.target, "")) for one in questions]
    return [search(one, pipeline, index) for one in dict.fromkeys(made) if one is not None]


MAKE = {"leave-one-out": left_out, "exchange": exchanged}
