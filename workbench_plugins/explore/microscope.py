"""How FTS5 reads a question: the MATCH expressions of each system, and the rows of each word and word set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, compress
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index, Layout
from workbench.memory.store.postings import fts5_idf
from workbench.records import Clause, Query, Stage, Trace
from workbench.retrieval.pipeline import Pipeline, Running, run
from workbench.retrieval.query import ascii_words, check_question
from workbench.safe_text import counted
from workbench.systems.catalogue import SYSTEMS

MOST_WORDS = 6
"""Up to this many words, every word set is counted (63). Above it: single words, all but one, and all."""

Words = Callable[[str], list[str]]
"""A function that splits a question into words, such as `ascii_words`."""

Queries = tuple[Query, ...]
"""Queries that a leg runs one after another."""

Builder = tuple[str, str]
"""The description of a stage, and the name of its pipeline."""


@dataclass(frozen=True)
class Word:
    """A distinct word: the rows that contain it, its IDF, and the rows that contain all other words.

    `floored` is true for a word in half of the rows or more, for which FTS5 uses an IDF of 0.000001.
    `without` is None if the question has no other word.
    """

    text: str
    rows: int
    idf: float
    floored: bool
    without: int | None


@dataclass(frozen=True)
class WordSet:
    """Words joined with AND, and the number of rows that match; for words to leave out, without them."""

    words: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class Dissection:
    """The words of a question and the rows that match them, over `size` rows.

    `every` rows contain all words (the hits of AND), `some` rows contain at least one (the hits of OR).
    `patterns` are the sets of words that rows contain, and how many rows contain exactly that set.
    `sets` go from all words down to single words; `complete` says whether every set is included. `drop` is
    the smallest set of words to leave out so that a row matches; of several such sets, the one with the most
    rows. If rows contain all words, it is the best single word to leave out. It is None if nothing helps.
    """

    question: str
    size: int
    words: tuple[Word, ...]
    every: int
    some: int
    sets: tuple[WordSet, ...]
    patterns: tuple[tuple[tuple[str, ...], int], ...]
    complete: bool
    drop: WordSet | None


def dissect(question: str, index: Index, words: Words = ascii_words) -> Dissection:
    """Count the rows of `index` for each word of the question and for sets of words.

    Upper and lower case are the same, and a repeated word counts once. The index is queried once per word;
    the rows of a set are the intersection, which equals FTS5's answer to AND. Raises InputError for a
    question that no search can answer.
    """
    cleaned = check_question(question)
    texts = tuple({word.lower(): word for word in reversed(words(cleaned))}.values())[::-1]
    has = _having(texts, index)
    dissected = tuple(_word(number, text, has, index.size) for number, text in enumerate(texts))
    sets, complete = _sets(texts, has)
    return Dissection(
        question=cleaned,
        size=index.size,
        words=dissected,
        every=_together(has, range(len(texts))) if texts else 0,
        some=has.shape[1],
        sets=sets,
        patterns=tuple(_patterns(texts, has)),
        complete=complete,
        drop=_drop(dissected, has),
    )


def _having(words: Sequence[str], index: Index) -> NDArray[np.bool_]:
    """Which word is in which row, over the rows with at least one word: shape (words, rows)."""
    found = [index.keyword(Query((Clause(word),)), index.size).rows for word in words]
    rows = np.unique(np.concatenate([np.empty(0, np.int64), *found]))
    return np.array([np.isin(rows, some) for some in found], bool).reshape(len(words), rows.size)


def _together(has: NDArray[np.bool_], numbers: Iterable[int]) -> int:
    return int(has[list(numbers)].all(axis=0).sum())


def _word(number: int, text: str, has: NDArray[np.bool_], size: int) -> Word:
    rows = int(has[number].sum())
    others = [other for other in range(len(has)) if other != number]
    without = _together(has, others) if others else None
    return Word(text, rows, fts5_idf(size, rows), 2 * rows >= size, without)


def _sets(words: Sequence[str], has: NDArray[np.bool_]) -> tuple[tuple[WordSet, ...], bool]:
    n = len(words)
    complete = n <= MOST_WORDS
    sizes = range(n, 0, -1) if complete else (n, n - 1, 1)
    sets = [some for size in sizes for some in _chosen(n, size)]
    return tuple(WordSet(tuple(words[i] for i in some), _together(has, some)) for some in sets), complete


def _chosen(n: int, size: int) -> list[tuple[int, ...]]:
    """The sets of that size; large sets are in the order of the words that they leave out."""
    some = list(combinations(range(n), size))
    return some if 2 * size <= n else some[::-1]


def _drop(words: Sequence[Word], has: NDArray[np.bool_]) -> WordSet | None:
    if len(words) < 2 or not has.shape[1]:
        return None
    lacking = (~has).sum(axis=0)
    if not lacking.min():
        best = max(words, key=lambda word: word.without or 0)
        return WordSet((best.text,), best.without or 0)
    nearest = _patterns([one.text for one in words], has[:, lacking == lacking.min()])
    kept, rows = max(nearest, key=itemgetter(1))
    return WordSet(tuple(word.text for word in words if word.text not in kept), rows)


def _patterns(words: Sequence[str], has: NDArray[np.bool_]) -> Iterator[tuple[tuple[str, ...], int]]:
    """The different sets of words in rows, and the number of rows with each."""
    for pattern, rows in sorted(Counter(map(tuple, has.T.tolist())).items()):
        yield tuple(compress(words, pattern)), rows


def sentences(found: Dissection) -> list[str]:
    """The dissection in sentences: hits of AND, words to drop, hits of OR, and words without weight."""
    if not found.words:
        return ["The question contains no word, so FTS5 is not queried."]
    sentences = [_all_sentence(found), *_drop_sentences(found)]
    if len(found.words) > 1:
        sentences.append(f"At least one word is in {_of(found.some, found.size)}: these are the hits of OR.")
    floored = [word.text for word in found.words if word.floored]
    if floored:
        sentences.append(
            f"In half of the chunks or more: {_list(floored)}. FTS5 uses an IDF of 0.000001 for such words. "
            "They have no effect on the order, but AND still requires them."
        )
    if not found.complete:
        sentences.append(
            f"Of the {2 ** len(found.words) - 1:,} word sets only single words, all but one, and all are "
            f"counted; with {MOST_WORDS} words or fewer, every set is counted."
        )
    return sentences


def _all_sentence(found: Dissection) -> str:
    n = len(found.words)
    if n == 1:
        return f"{_list([found.words[0].text])} is in {_of(found.every, found.size)}."
    if found.every:
        return f"All {n} words are in {_of(found.every, found.size)}."
    return f"No chunk has all {n} words."


def _drop_sentences(found: Dissection) -> Iterator[str]:
    drop = found.drop
    nowhere = [word.text for word in found.words if not word.rows]
    if nowhere and len(found.words) > 1:
        yield f"In no chunk: {_list(nowhere)}."
    if drop is None:
        return
    matching = f"{counted(drop.rows, 'chunk')} match{'es' * (drop.rows == 1)}"
    if drop.rows == found.every:
        yield f"Dropping any word does not raise the number of matches above {found.every}."
    elif len(drop.words) == 1:
        yield f"Without {_list(drop.words)}, {matching}."
    else:
        yield (
            f"Dropping one word is not enough. Without {_list(drop.words)}, {matching}; "
            f"dropping fewer than {len(drop.words)} words is never enough."
        )


def _list(words: Sequence[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)


def _of(count: int, size: int) -> str:
    return f"{count} of {size} chunks"


@dataclass(frozen=True)
class MatchAttempt:
    """One way to query a question: its MATCH expressions, the rows that they find together, and the systems.

    Several expressions run one after another; an empty tuple means that the builder reads no word. `of` is
    the number of rows in the index, and `unit` is what a row is: a chunk or a note. `description` describes
    each query builder that creates these expressions.
    """

    matches: tuple[str, ...]
    rows: int
    of: int
    unit: str
    description: tuple[str, ...]
    systems: tuple[str, ...]


def asked(question: str, index: Index, pipelines: Iterable[Pipeline] | None = None) -> list[MatchAttempt]:
    """The ways in which the pipelines query this question, each once; by default those of all systems.

    Left out by default are systems that first arrange the index in passages: a model reads all texts for it.
    They include the stage in the slot `query`, and the `further_queries` of other stages: later queries of a
    keyword leg, and the query of a relaxation, which runs only if the others find nothing. Raises InputError
    for a question that no search can answer.
    """
    cleaned = check_question(question)
    everything = [one for one in SYSTEMS.values() if _unit(one) != "passages"]
    ways: dict[tuple[tuple[str, ...], int, int, str], list[Builder]] = {}
    counted: dict[tuple[Layout | None, Queries], int] = {}
    for pipeline in everything if pipelines is None else pipelines:
        searched = index.laid_out(pipeline.layout)
        for stage, queries in _attempts(pipeline, cleaned, searched):
            key = pipeline.layout, queries
            if key not in counted:
                counted[key] = _rows(queries, searched)
            texts = tuple(searched.compiled(query) for query in queries)
            way = (texts, counted[key], searched.size, _unit(pipeline))
            ways.setdefault(way, []).append((stage.description, pipeline.name))
    return [MatchAttempt(*way, *map(_once, zip(*builders, strict=True))) for way, builders in ways.items()]


def _unit(pipeline: Pipeline) -> str:
    """What a row of the index is, in the words of the pipeline's layout."""
    return getattr(pipeline.layout, "unit", "chunks")


def _attempts(pipeline: Pipeline, question: str, index: Index) -> Iterator[tuple[Stage, Queries]]:
    trace = Trace(question, pipeline.name, pipeline.stages)
    context = Running(index, question, pipeline.limit)
    for number, stage in enumerate(pipeline.stages):
        if stage.slot == "query":
            trace = run(trace, context, number, number + 1)
            yield stage, (trace.query,) if trace.query else ()
        elif (further := getattr(stage, "further_queries", None)) and (
            more := further(trace, index, pipeline.limit)
        ):
            yield stage, more


def _rows(queries: Queries, index: Index) -> int:
    return len({row for query in queries for row in index.keyword(query, index.size).rows.tolist()})


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
