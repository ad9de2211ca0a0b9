"""What FTS5 makes of a question: who asks what, the rows of each word, and the rows of words together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index, Layout
from workbench.lab.bm25 import fts5_idf
from workbench.records import Clause, Query, Stage, Trace
from workbench.retrieval.pipeline import Pipeline, Running
from workbench.retrieval.query import ascii_words, check_question
from workbench.systems.basic_memory.notes import NotesLayout
from workbench.systems.basic_memory.relaxation import Relaxation
from workbench.systems.openclaw.keyword import ManyQueries
from workbench.systems.registry import SYSTEMS

MOST_WORDS = 6
"""So many words are counted in every set, 63 of them. Beyond it: the single words, all but one, all."""

Words = Callable[[str], list[str]]
"""How a question is cut into words, such as `ascii_words`."""

Queries = tuple[Query, ...]
"""Queries that are asked one by one."""

Builder = tuple[str, str]
"""What a stage says of itself, and the name of its pipeline."""


@dataclass(frozen=True)
class Word:
    """A distinct word: the rows that have it, its IDF, and the rows that have all of the other words.

    `floored` is whether the word is in so many rows, half or more, that FTS5 puts 0.000001 for its IDF.
    `without` is None for an only word, without which nothing is asked.
    """

    text: str
    rows: int
    idf: float
    floored: bool
    without: int | None


@dataclass(frozen=True)
class WordSet:
    """Words joined with AND, and how many rows have them all."""

    words: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class WordDrop:
    """Words to leave out of the AND, and how many rows match without them."""

    words: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class Dissection:
    """A question under the microscope, over `size` rows.

    `every` rows have all words, `some` rows at least one: what AND finds, and what OR finds. `sets` are
    from all words down to single ones, and `complete` says whether every set is among them. `drop` is the
    smallest number of words without which any row matches, and among those the one with most rows; when
    rows have all words, the best single word to drop. None when nothing would help.
    """

    question: str
    size: int
    words: tuple[Word, ...]
    every: int
    some: int
    sets: tuple[WordSet, ...]
    complete: bool
    drop: WordDrop | None


def dissect(question: str, index: Index, words: Words = ascii_words) -> Dissection:
    """The question's words over the rows of `index`; a word that comes twice, in any case, counts once.

    The rows of each word are asked for once, and those of sets are the rows in all of them, which is what
    FTS5 answers for the AND. Raises InputError for a question that no search can answer.
    """
    cleaned = check_question(question)
    texts = tuple({word.lower(): word for word in reversed(words(cleaned))}.values())[::-1]
    has = _having(texts, index)
    dissected = tuple(_word(place, text, has, index.size) for place, text in enumerate(texts))
    sets, complete = _sets(texts, has)
    return Dissection(
        question=cleaned,
        size=index.size,
        words=dissected,
        every=_together(has, range(len(texts))) if texts else 0,
        some=has.shape[1],
        sets=sets,
        complete=complete,
        drop=_drop(dissected, has),
    )


def _having(words: Sequence[str], index: Index) -> NDArray[np.bool_]:
    """Which of the rows that have any word has which, shape (words, rows)."""
    found = [index.keyword(Query((Clause(word),)), index.size).rows for word in words]
    rows = np.unique(np.concatenate([np.empty(0, np.int64), *found]))
    return np.array([np.isin(rows, some) for some in found], bool).reshape(len(words), rows.size)


def _together(has: NDArray[np.bool_], places: Iterable[int]) -> int:
    return int(has[list(places)].all(axis=0).sum())


def _word(place: int, text: str, has: NDArray[np.bool_], size: int) -> Word:
    rows = int(has[place].sum())
    others = [other for other in range(len(has)) if other != place]
    without = _together(has, others) if others else None
    return Word(text, rows, fts5_idf(size, rows), 2 * rows >= size, without)


def _sets(words: Sequence[str], has: NDArray[np.bool_]) -> tuple[tuple[WordSet, ...], bool]:
    n = len(words)
    complete = n <= MOST_WORDS
    sizes = range(n, 0, -1) if complete else (n, n - 1, 1)
    places = [some for size in sizes for some in _chosen(n, size)]
    return tuple(WordSet(tuple(words[i] for i in some), _together(has, some)) for some in places), complete


def _chosen(n: int, size: int) -> list[tuple[int, ...]]:
    """The sets of that size; the larger ones in the order of what they leave out."""
    some = list(combinations(range(n), size))
    return some if 2 * size <= n else some[::-1]


def _drop(words: Sequence[Word], has: NDArray[np.bool_]) -> WordDrop | None:
    if len(words) < 2 or not has.shape[1]:
        return None
    lacking = (~has).sum(axis=0)
    if not lacking.min():
        best = max(words, key=lambda word: word.without or 0)
        return WordDrop((best.text,), best.without or 0)
    patterns, rows = np.unique(has[:, lacking == lacking.min()], axis=1, return_counts=True)
    most = int(np.argmax(rows))
    left_out = zip(words, patterns[:, most], strict=True)
    return WordDrop(tuple(word.text for word, kept in left_out if not kept), int(rows[most]))


def sentences(found: Dissection) -> list[str]:
    """The dissection in words: what AND finds, what to drop, what OR finds, and which words weigh nothing."""
    if not found.words:
        return ["The question has no word that is read, so FTS5 is not asked."]
    told = [_all_sentence(found), *_drop_sentences(found)]
    if len(found.words) > 1:
        told.append(f"Any one word is enough for {_of(found.some, found.size)}: that is what OR brings.")
    floored = [word.text for word in found.words if word.floored]
    if floored:
        told.append(
            f"In half of the chunks or more: {_list(floored)}. FTS5 puts an IDF of 0.000001 there, so for "
            "the order they count as nothing; AND demands them all the same."
        )
    if not found.complete:
        told.append(
            f"Of the {2 ** len(found.words) - 1:,} sets of words only the single ones, all but one, and all "
            f"are counted; with {MOST_WORDS} words or fewer, every set is."
        )
    return told


def _all_sentence(found: Dissection) -> str:
    n = len(found.words)
    if n == 1:
        return f"{_list([found.words[0].text])} is in {_of(found.every, found.size)}."
    if found.every:
        return f"All {n} words are together in {_of(found.every, found.size)}."
    return f"No chunk has all {n} words."


def _drop_sentences(found: Dissection) -> Iterator[str]:
    drop = found.drop
    nowhere = [word.text for word in found.words if not word.rows]
    if nowhere and len(found.words) > 1:
        yield f"In no chunk at all: {_list(nowhere)}."
    if drop is None:
        return
    if drop.rows == found.every:
        yield f"Whichever word is dropped, no more than {found.every} match."
    elif len(drop.words) == 1:
        yield f"WordDrop {_list(drop.words)} and {_chunks(drop.rows)} match{'es' * (drop.rows == 1)}."
    else:
        matches = "matches" if drop.rows == 1 else "match"
        yield (
            f"To drop one is not enough: without {_list(drop.words)}, {_chunks(drop.rows)} {matches}, and "
            f"fewer than {len(drop.words)} words dropped is never enough."
        )


def _list(words: Sequence[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)


def _chunks(count: int) -> str:
    return f"{count} chunk{'s' * (count != 1)}"


def _of(count: int, size: int) -> str:
    return f"{count} of {size} chunks"


@dataclass(frozen=True)
class MatchAttempt:
    """One way to ask a question: the MATCH expressions, the rows that they find together, and who asks so.

    Several expressions are asked one by one; none means that the builder reads no word. `of` says how
    many rows there are, and `unit` what a row is: a chunk, or a note. `says` describes each builder that
    comes to these expressions.
    """

    matches: tuple[str, ...]
    rows: int
    of: int
    unit: str
    says: tuple[str, ...]
    systems: tuple[str, ...]


def asked(question: str, index: Index, pipelines: Iterable[Pipeline] | None = None) -> list[MatchAttempt]:
    """How the pipelines (all systems, when none are given) ask this question, each way once.

    Besides what stands in the slot `query`, that is what a keyword leg asks after it, and what a relaxation
    would ask when all of that found nothing. Raises InputError for a question that no search can answer.
    """
    cleaned = check_question(question)
    attempts: dict[tuple[Layout | None, Queries], list[Builder]] = {}
    for pipeline in SYSTEMS.values() if pipelines is None else pipelines:
        for stage, queries in _attempts(pipeline, cleaned, index.laid_out(pipeline.layout)):
            attempts.setdefault((pipeline.layout, queries), []).append((stage.says, pipeline.name))
    ways: dict[tuple[tuple[str, ...], int, int, str], list[Builder]] = {}
    for (layout, queries), builders in attempts.items():
        searched, unit = index.laid_out(layout), "notes" if isinstance(layout, NotesLayout) else "chunks"
        texts = tuple(searched.compiled(query) for query in queries)
        way = (texts, _rows(queries, searched), searched.size, unit)
        ways.setdefault(way, []).extend(builders)
    return [MatchAttempt(*way, *map(_once, zip(*builders, strict=True))) for way, builders in ways.items()]


def _attempts(pipeline: Pipeline, question: str, index: Index) -> Iterator[tuple[Stage, Queries]]:
    trace = Trace(question, pipeline.name, pipeline.stages)
    context = Running(index, question, pipeline.limit)
    for stage in pipeline.stages:
        if stage.slot == "query":
            trace = stage.run(trace, context)
            yield stage, (trace.query,) if trace.query else ()
        elif isinstance(stage, ManyQueries):
            every = [one.query for one in stage.asked(trace, index, stage.depth.of(pipeline.limit))]
            if more := tuple(query for query in every if query != trace.query):
                yield stage, more
        elif isinstance(stage, Relaxation) and (relaxed := stage.query(question)):
            yield stage, (relaxed,)


def _rows(queries: Queries, index: Index) -> int:
    return len({row for query in queries for row in index.keyword(query, index.size).rows.tolist()})


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
