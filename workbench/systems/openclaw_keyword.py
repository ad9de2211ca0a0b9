"""How OpenClaw's keyword leg grew after February: more than one query, a lexical boost, exact paths.

Read from the published builds of 2026.7.1 and 2026.9.6: extensions/memory-core/src/memory, manager-search.ts
and the keyword part of manager.ts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from workbench.memory.chunking import utf16_length
from workbench.records import Chunk, Floats, Hits, Leg, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, with_column
from workbench.retrieval.expansion import Cut, for_trigrams, for_words, keywords
from workbench.retrieval.legs import Context, Depth, Index, with_leg
from workbench.retrieval.query import BLANKS, UnicodeWords, quoted, unicode_words
from workbench.retrieval.scoring import relevance

STRICT = UnicodeWords(join="AND")
MOST_TERMS = 6
SHORTEST_TRIGRAM = 3


@dataclass(frozen=True)
class Pool(Depth):
    """The same number of candidates whatever the limit, so that the first result does not depend on it.

    OpenClaw 2026.9.6 asks each leg for four times max(200, limit), at most 200; #134604 is its likely reason.
    """

    def of(self, limit: float) -> int:
        return self.cap

    def __str__(self) -> str:
        return f"at most {self.cap} candidates, whatever the limit"


# The plan of a keyword query


class KeywordPlan(NamedTuple):
    """What is put to FTS5, and what must be looked for as a substring."""

    match: str | None
    substrings: tuple[str, ...] = ()


def plan_for_words(question: str) -> KeywordPlan:
    """The AND of all words, for the tokeniser unicode61."""
    return KeywordPlan(STRICT.match(question))


def plan_for_trigrams(question: str) -> KeywordPlan:
    """The AND of the words of three characters and more; FTS5's trigram tokeniser cannot find shorter ones.

    >>> plan_for_trigrams("AI plan")
    KeywordPlan(match='"plan"', substrings=('AI',))
    """
    words = unicode_words(question)
    long = [word for word in words if len(word) >= SHORTEST_TRIGRAM]
    short = tuple(word for word in words if len(word) < SHORTEST_TRIGRAM)
    return KeywordPlan(" AND ".join(map(quoted, long)) or None, short)


PLANS = {"unicode61": plan_for_words, "trigram": plan_for_trigrams}
CUTS: Mapping[str, Cut] = {"unicode61": for_words, "trigram": for_trigrams}
"""By the name of FTS5's tokeniser, which OpenClaw lets its user choose since about 2026.3.29."""


def fallback_terms(question: str) -> list[str]:
    """At most six keywords of the question that may be asked one by one."""
    whole = question.strip(BLANKS).lower()
    return [word for word in keywords(question) if word != whole][:MOST_TERMS]


# The lexical boost


class Features(NamedTuple):
    """What the boost sees of a text: shares, and counts of words and UTF-16 units."""

    coverage: float
    density: float
    path_words: float
    length: float


def features(words: Sequence[str], path: str, text: str) -> Features:
    """How much of `words`, which are distinct and in lower case, is in the text and in the path."""
    in_text = _lower_words(text)
    present = sum(word in in_text for word in words)
    in_path = sum(word in path.lower() for word in words)
    return Features(present / max(len(words), 1), present / max(len(in_text), 1), in_path, utf16_length(text))


@lru_cache(maxsize=8192)
def _lower_words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in unicode_words(text))


def ranking_words(question: str) -> list[str]:
    """The question's distinct words in lower case."""
    return list(dict.fromkeys(word.lower() for word in unicode_words(question)))


def boosted(base: Any, coverage: Any, density: Any, path_words: Any, length: Any) -> Any:
    """A BM25 score with what the words themselves say added, at most 1; works on columns and terms.

    The length of a text is worth its 0.18 from 29 characters on, so that nearly every chunk has it.
    Source: openclaw 2026.9.6, scoreFallbackKeywordResult.
    """
    text = 0.45 * coverage + 0.2 * density + 0.18 * path_words
    return np.minimum(1.0, base + text + np.minimum(length / 160, 0.18))


def fallback_score(question: str, path: str, text: str, base: float) -> float:
    """`boosted` for one text; a question without a word leaves `base` as it is."""
    words = ranking_words(question)
    return float(boosted(base, *features(words, path, text))) if words else base


COLUMNS = ("query_coverage", "query_density", "path_words", "text_length")


@dataclass(frozen=True)
class BoostedRelevance(ColumnStage):
    """`boosted` over r / (1 + r): what BM25 makes of a match, and what the words themselves say.

    A hit of a single keyword is measured against what the leg says: see `ManyQueries.measured_by`.
    """

    slot: ClassVar[str] = "keyword_score"
    output: ClassVar[str] = "keyword_score"
    present: ClassVar[str | None] = "keyword_rank"
    says: ClassVar[str] = (
        "keyword score = min(1, |bm25| / (1 + |bm25|) + 0.45 × share of the question's words in the text "
        "+ 0.2 × their share of the text's words + 0.18 × words in the path + min(length / 160, 0.18))"
    )

    def formula(self, of: Numbers) -> Any:
        return boosted(relevance(of["keyword_raw"]), *(of[name] for name in COLUMNS))

    def run(self, trace: Trace, context: Context) -> Trace:
        leg = trace.legs["keyword"]
        measured = leg.measured_by if isinstance(leg, KeywordLegOfMany) else {}
        rows = [
            features(ranking_words(measured.get(int(row), trace.question)), chunk.path, chunk.text)
            for row, chunk in zip(trace.rows, trace.chunks, strict=True)
        ]
        for name, column in zip(COLUMNS, np.array(rows, float).reshape(-1, len(COLUMNS)).T, strict=True):
            trace = with_column(trace, name, column)
        return super().run(trace, context)


# Legs that ask more than once


@dataclass(frozen=True)
class KeywordLegOfMany(Leg):
    """A keyword leg with, for each row, the words against which its lexical boost is measured."""

    measured_by: Mapping[int, str] = field(default_factory=dict)


class Asked(NamedTuple):
    """One MATCH expression, and the words against which its hits are measured."""

    match: str
    measured_by: str


class Found(NamedTuple):
    """A row's best hit over all queries."""

    score: float
    raw: float
    measured_by: str


@dataclass(frozen=True)
class ManyQueries:
    """Base of a keyword leg that asks the whole question first, and perhaps its keywords one by one.

    A chunk keeps its best hit. The leg is ordered by boosted score, then BM25, path, line and chunk id.
    """

    slot: ClassVar[str] = "keyword_leg"
    name: ClassVar[str] = "keyword"
    depth: Depth

    def asked(self, trace: Trace, index: Index, depth: int) -> list[Asked]:
        """All that this question is asked as, the whole question first."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it asks")

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.depth.of(context.limit)
        asked = self.asked(trace, context.index, depth)
        best = self._best(asked, context.index, depth)
        hits = _in_order(best, context.index, depth)
        measured = {int(row): best[int(row)].measured_by for row in hits.rows}
        said = "; ".join(dict.fromkeys(one.match for one in asked)) or None
        return with_leg(trace, KeywordLegOfMany(self.name, said, depth, hits, measured))

    def every(self, trace: Trace, index: Index) -> Hits | None:
        """All chunks that any of the queries finds: first those that the leg brought, then the rest."""
        leg = trace.legs[self.name]
        asked = self.asked(trace, index, leg.depth)
        if not asked:
            return None
        all_hits = _in_order(self._best(asked, index, index.size), index, index.size)
        rest = ~np.isin(all_hits.rows, leg.hits.rows)
        return Hits(
            np.concatenate([leg.hits.rows, all_hits.rows[rest]]),
            np.concatenate([leg.hits.raw, all_hits.raw[rest]]),
        )

    def _best(self, asked: Sequence[Asked], index: Index, depth: int) -> dict[int, Found]:
        best: dict[int, Found] = {}
        for one in asked:
            hits = index.keyword(one.match, depth)
            words = ranking_words(one.measured_by)
            scores = _scores(hits, index.chunks(hits.rows), words)
            for row, score, raw in zip(hits.rows.tolist(), scores.tolist(), hits.raw.tolist(), strict=True):
                if row not in best or (score, -raw) > (best[row].score, -best[row].raw):
                    best[row] = Found(score, raw, one.measured_by)
        return best


@dataclass(frozen=True)
class FallbackWhenEmpty(ManyQueries):
    """The whole question; when no chunk has all of its words, at most six keywords of it, one by one.

    Each keyword's hits are measured against that keyword alone, which they have, so they score 0.63 or more.
    Source: openclaw 2026.7.1, searchKeywordWithFallback.
    """

    @property
    def says(self) -> str:
        return (
            f"keyword leg: FTS5; when the question brings nothing, up to {MOST_TERMS} of its keywords one by "
            f"one; {self.depth}"
        )

    def asked(self, trace: Trace, index: Index, depth: int) -> list[Asked]:
        if trace.match and index.keyword(trace.match, 1).rows.size:
            return [Asked(trace.match, trace.question)]
        terms = fallback_terms(trace.question)
        return [Asked(match, word) for word in terms if (match := STRICT.match(word))] or _whole(trace)


@dataclass(frozen=True)
class SupplementWhenThin(ManyQueries):
    """The whole question; unless that fills the leg, at most six keywords as well, one by one.

    A small memory never fills the leg, so in practice this is an OR of keywords behind an AND. When the
    question is nothing but its keywords and has matched, nothing more is asked.
    Source: openclaw 2026.9.6, searchKeywordWithFallback (openclaw#121196).
    """

    @property
    def says(self) -> str:
        return (
            f"keyword leg: FTS5; unless the question fills it, up to {MOST_TERMS} of its keywords too, "
            f"one by one; {self.depth}"
        )

    def asked(self, trace: Trace, index: Index, depth: int) -> list[Asked]:
        whole = _whole(trace)
        hits = [chunk for one in whole for chunk in index.chunks(index.keyword(one.match, depth).rows)]
        full = sum(exact_path_tier(trace.question, chunk.path) == 0 for chunk in hits) >= depth
        terms = fallback_terms(trace.question)
        plain = [word.lower() for word in unicode_words(trace.question)] == unicode_words(" ".join(terms))
        if full or (plain and hits):
            return whole
        return [*whole, *(Asked(match, trace.question) for word in terms if (match := STRICT.match(word)))]


def _whole(trace: Trace) -> list[Asked]:
    return [Asked(trace.match, trace.question)] if trace.match else []


def _scores(hits: Hits, chunks: Sequence[Chunk], words: Sequence[str]) -> Floats:
    seen = np.array([features(words, one.path, one.text) for one in chunks], float).reshape(-1, len(COLUMNS))
    return np.asarray(boosted(relevance(hits.raw), *seen.T), float)


def _in_order(best: Mapping[int, Found], index: Index, depth: int) -> Hits:
    rows = np.array(list(best), np.int64)
    chunks = dict(zip(best, index.chunks(rows), strict=True))

    def key(row: int) -> tuple[float, float, tuple[str, str], int, str]:
        one = chunks[row]
        return -best[row].score, best[row].raw, path_key(one.path), one.start_line, one.id

    first = sorted(best, key=key)[:depth]
    return Hits(np.array(first, np.int64), np.array([best[row].raw for row in first], float))


def path_key(path: str) -> tuple[str, str]:
    """What equal scores are ordered by: the path without regard to case, small letters first among equals.

    OpenClaw compares with localeCompare(), which orders punctuation differently; between equal scores only.
    """
    return path.casefold(), path.swapcase()


# Exact paths


def exact_path_tier(question: str, path: str) -> int:
    """3 when the question is the path, 2 for its last part, 1 for that without its ending, else 0.

    Case and Unicode composition do not matter. Source: openclaw 2026.9.6, resolveExactPathSpecificity.

    >>> [exact_path_tier(q, "memory/notes.old.md") for q in ("memory/notes.old.md", "NOTES.old", "notes")]
    [3, 1, 0]
    """
    asked, whole = _identifier(question), _identifier(path)
    if asked in ("", "."):
        return 0
    if asked == whole:
        return 3
    last = whole.rsplit("/", 1)[-1]
    if "/" in asked or asked not in (last, _stem(last)):
        return 0
    return 2 if asked == last else 1


def _identifier(text: str) -> str:
    slashed = re.sub(r"^\./", "", text.strip(BLANKS).replace("\\", "/"))
    return unicodedata.normalize("NFC", slashed).lower()


def _stem(name: str) -> str:
    place = name.rfind(".")
    return name[:place] if place > 0 else name


@dataclass(frozen=True)
class PathTier:
    """Marks the candidates whose path, file name or stem is the question: `exact_path_tier`, 0 to 3."""

    slot: ClassVar[str] = "path_tier"
    says: ClassVar[str] = "path tier = 3 when the question is a path, 2 a file's name, 1 without .md, else 0"

    def run(self, trace: Trace, context: Context) -> Trace:
        tiers = [exact_path_tier(trace.question, chunk.path) for chunk in trace.chunks]
        return replace(trace, columns={**trace.columns, "path_tier": np.array(tiers, float)})
