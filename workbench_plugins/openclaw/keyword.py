"""OpenClaw's later keyword legs: more than one query, a lexical boost, the paths of files.

Source: the published builds of 2026.7.1 and 2026.9.6: extensions/memory-core/src/memory, manager-search.ts
and the keyword part of manager.ts, which is manager-keyword-retrieval.ts in 2026.9.6.

How OpenClaw scores the hits of its later keyword legs: lexical boost, path scores, exact paths.

Source: the published builds of 2026.7.1 and 2026.9.6: extensions/memory-core/src/memory, manager-search.ts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Context, Index
from workbench.records import Chunk, Floats, Hits, Leg, Query, Rows, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage, filled, with_column
from workbench.retrieval.index_adapters import adapted
from workbench.retrieval.legs import Depth, QueryLeg, no_hits, with_leg
from workbench.retrieval.query import unicode_words
from workbench.retrieval.scoring import relevance
from workbench_plugins.openclaw.words import (
    FEATURES,
    MOST_TERMS,
    STRICT,
    PathIndex,
    boosted,
    exact_path_tiers,
    fallback_terms,
    features,
    ordered,
    path_key,
    ranking_words,
)


@dataclass(frozen=True)
class Pool(Depth):
    """The same number of candidates for every limit, so the first result does not depend on the limit.

    OpenClaw 2026.9.6 asks each leg for four times max(200, limit), at most 200. The likely reason is #134604.
    """

    def of(self, limit: float) -> int:
        return self.cap

    def __str__(self) -> str:
        return f"at most {self.cap} candidates, for any limit"


# Legs with more than one query


class TextQuery(NamedTuple):
    """One query, and the text that it was built from."""

    text: str
    query: Query


@dataclass(frozen=True)
class LegOfMany(Leg):
    """A keyword leg with all of its queries, and the `features` of its hits."""

    queries: tuple[TextQuery, ...] = ()
    features: Floats = field(default_factory=lambda: np.empty((len(FEATURES), 0)))


@dataclass(frozen=True)
class ManyQueries(QueryLeg):
    """Base of a keyword leg that searches the whole question first, and then perhaps single keywords."""

    depth: Depth

    def deepest(self, limit: float) -> int:
        return self.depth.of(limit)

    def asked(self, trace: Trace, index: Index, depth: int) -> list[TextQuery]:
        """All queries for this question, the whole question first."""
        raise NotImplementedError(f"{type(self).__name__} does not say which queries it runs")

    def leg(self, trace: Trace, index: Index, queries: Sequence[TextQuery], depth: int) -> LegOfMany:
        """The leg with the hits of these queries, each query with at most `depth` hits."""
        raise NotImplementedError(f"{type(self).__name__} does not say which hits it brings")

    def further_queries(self, trace: Trace, index: Index, limit: float) -> tuple[Query, ...]:
        """The queries that follow that of the whole question."""
        every = (one.query for one in self.asked(trace, index, self.depth.of(limit)))
        return tuple(query for query in every if query != trace.query)

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.deepest(context.limit)
        queries = self.asked(trace, context.index, depth)
        return with_leg(trace, self.leg(trace, context.index, queries, depth))

    def every(self, trace: Trace, context: Context) -> Hits | None:
        """All chunks that any of the queries finds: first the hits of the leg, then the rest."""
        leg, index = trace.legs[self.name], context.index
        if not (isinstance(leg, LegOfMany) and leg.queries):
            return None
        found = self.leg(trace, index, leg.queries, index.size).hits
        rest = ~np.isin(found.rows, leg.hits.rows)
        return _together([leg.hits, Hits(found.rows[rest], found.raw[rest])])


def _compiled(queries: Sequence[TextQuery], index: Index) -> str | None:
    return "; ".join(dict.fromkeys(index.compiled(one.query) for one in queries)) or None


def _whole(trace: Trace) -> list[TextQuery]:
    return [TextQuery(trace.question, trace.query)] if trace.query else []


def _single(terms: Sequence[str]) -> list[TextQuery]:
    return [TextQuery(term, query) for term in terms if (query := STRICT.query(term))]


def _together(hits: Sequence[Hits]) -> Hits:
    """All hits, one after another."""
    every = [no_hits(), *hits]
    return Hits(np.concatenate([one.rows for one in every]), np.concatenate([one.raw for one in every]))


# 2026.7.1


class Best(NamedTuple):
    """The best hit of each row over all queries, by bm25 and then by boosted score."""

    relevance: float
    score: float
    features: Floats


@dataclass(frozen=True)
class FallbackWhenEmpty(ManyQueries):
    """Searches the whole question; if no chunk has all of its words, at most six keywords, one by one.

    Each keyword brings as many hits as the whole question could. A chunk keeps its hit with the best BM25.
    The hits of keywords are ordered by the boosted score against their keyword; equal ones keep the order in
    which they were found. The hits of the whole question stay in the order of BM25.
    Source: openclaw 2026.7.1, searchKeywordWithFallback.
    """

    @property
    def says(self) -> str:
        return (
            f"keyword leg: FTS5; if the question finds nothing, up to {MOST_TERMS} of its keywords one by "
            f"one; {self.depth}"
        )

    def asked(self, trace: Trace, index: Index, depth: int) -> list[TextQuery]:
        whole = _whole(trace)
        if trace.query and index.keyword(trace.query, 1).rows.size:
            return whole
        return _single(fallback_terms(trace.question)) or whole

    def leg(self, trace: Trace, index: Index, queries: Sequence[TextQuery], depth: int) -> LegOfMany:
        best: dict[int, Best] = {}
        full = False
        for one in queries:
            hits = index.keyword(one.query, depth)
            full = full or hits.rows.size >= depth
            seen = features(ranking_words(one.text), index.chunks(hits.rows))
            scores = np.asarray(boosted(relevance(hits.raw), *seen), float)
            for place, row in enumerate(hits.rows.tolist()):
                now = Best(-float(hits.raw[place]), float(scores[place]), seen[:, place])
                if row not in best or now[:2] > best[row][:2]:
                    best[row] = now
        whole = list(queries) == _whole(trace)
        rows = list(best) if whole else sorted(best, key=lambda row: -best[row].score)
        return LegOfMany(
            self.name,
            _compiled(queries, index),
            # A keyword whose hits fill its share hides others, so the leg is no deeper than its hits.
            len(rows) if full else depth * max(1, len(queries)),
            Hits(np.array(rows, np.int64), np.array([-best[row].relevance for row in rows])),
            queries=tuple(queries),
            features=np.array([best[row].features for row in rows], float).reshape(-1, len(FEATURES)).T,
        )


# 2026.9.6


@dataclass(frozen=True)
class LegWithPaths(LegOfMany):
    """A keyword leg whose hits match the text, the file's path, or both.

    For each hit, `path_raw` is bm25 over the paths (NaN if the path does not match), and `in_text` says
    whether the text matches. The raw number of a hit without a MATCH in the text is 0.
    """

    path_raw: Floats = field(default_factory=lambda: np.empty(0))
    in_text: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))


class Found(NamedTuple):
    """The hits of all queries, in columns; NaN for not found. `tiers` are the tiers of the paths."""

    rows: Rows
    chunks: Sequence[Chunk]
    tiers: Floats
    text_raw: Floats
    path_raw: Floats


@dataclass(frozen=True)
class SupplementWhenThin(ManyQueries):
    """Searches the whole question; unless its hits fill the leg, also at most six keywords, one by one.

    A small memory never fills the leg, so in practice this is an AND, followed by an OR of keywords. If the
    question consists of keywords only and has hits, no further query runs. Each query searches the texts of
    chunks and the paths of files; a file found by its path is represented by its first chunk. All hits are
    scored against the question. Exact paths come first; then score, BM25, path and line decide.
    Source: openclaw 2026.9.6, searchKeywordWithFallback (openclaw#121196).
    """

    @property
    def says(self) -> str:
        return (
            f"keyword leg: FTS5 over texts and paths; unless the question fills it, also up to {MOST_TERMS} "
            f"keywords, one by one; {self.depth}, and exact paths"
        )

    def asked(self, trace: Trace, index: Index, depth: int) -> list[TextQuery]:
        whole, paths = _whole(trace), adapted(index, PathIndex)
        hits = _hits(trace.question, index, whole, depth)
        terms = fallback_terms(trace.question, paths.tokenizer if paths else "unicode61")
        plain = [word.lower() for word in unicode_words(trace.question)] == unicode_words(" ".join(terms))
        full = (
            hits.size >= depth and np.count_nonzero(_found(trace.question, index, hits).tiers == 0) >= depth
        )
        return whole if full or (plain and hits.size) else whole + _single(terms)

    def leg(self, trace: Trace, index: Index, queries: Sequence[TextQuery], depth: int) -> LegWithPaths:
        found = _found(trace.question, index, _hits(trace.question, index, queries, depth))
        seen = features(ranking_words(trace.question), found.chunks)
        order, in_text = _in_order(found, seen), ~np.isnan(found.text_raw)
        exact = found.tiers[order] > 0
        first = np.concatenate([order[exact], order[~exact][:depth]])
        return LegWithPaths(
            self.name,
            _compiled(queries, index),
            depth + int(exact.sum()),
            Hits(found.rows[first], np.where(in_text, found.text_raw, 0.0)[first]),
            queries=tuple(queries),
            features=seen[:, first],
            path_raw=found.path_raw[first],
            in_text=in_text[first],
        )


class AllHits(NamedTuple):
    """The hits of all queries: in the texts, by the paths, and the first chunks of exact paths."""

    texts: Hits
    paths: Hits
    exact: Rows

    @property
    def size(self) -> int:
        """The number of hits; a chunk may have several."""
        return self.texts.rows.size + self.paths.rows.size + self.exact.size


def _hits(question: str, index: Index, queries: Sequence[TextQuery], depth: int) -> AllHits:
    texts = _together([index.keyword(one.query, depth) for one in queries])
    by_path = adapted(index, PathIndex)
    if by_path is None:
        return AllHits(texts, no_hits(), no_hits().rows)
    paths = _together([by_path.path_hits(one.text, depth) for one in queries])
    return AllHits(texts, paths, by_path.exact_paths(question))


def _found(question: str, index: Index, hits: AllHits) -> Found:
    texts, paths, exact = hits
    rows, places = np.unique(np.concatenate([texts.rows, paths.rows, exact]), return_inverse=True)
    of_texts, of_paths, _ = np.split(places, np.cumsum([texts.rows.size, paths.rows.size]))
    chunks = index.chunks(rows)
    return Found(
        rows,
        chunks,
        exact_path_tiers(question, index, chunks),
        _best(texts.raw, matched(texts.raw), of_texts, rows.size),
        _best(paths.raw, relevance(paths.raw), of_paths, rows.size),
    )


def _best(raw: Floats, score: Floats, places: Rows, size: int) -> Floats:
    """For each place, the raw number of its hit with the best score."""
    best, order = np.full(size, np.nan), np.argsort(score, kind="stable")
    best[places[order]] = raw[order]  # of several hits the last one stays
    return best


def matched(raw: Any) -> Any:
    """`relevance`, but 0 without a MATCH in the text (openclaw#120603). Works on columns and terms."""
    return np.where(raw < 0, relevance(raw), 0.0)


def _in_order(found: Found, seen: Floats) -> Rows:
    in_text, exact = ~np.isnan(found.text_raw), found.tiers > 0
    text, path = matched(found.text_raw), np.where(np.isnan(found.path_raw), 0.0, relevance(found.path_raw))
    score = np.where(in_text, boosted(text, *seen), np.where(exact, 1.0, path))
    columns = (-found.tiers, exact & ~in_text, -score, -text, np.where(exact, 0.0, -path))

    def place(row: int) -> tuple[tuple[str, str], int, str]:
        chunk = found.chunks[row]
        return path_key(chunk.path), chunk.start_line, chunk.id

    return ordered(columns, place)


@dataclass(frozen=True)
class BoostedRelevance(
    ColumnStage, slot="keyword_score", scale="boosted bm25", present="keyword_rank", observed=FEATURES
):
    """`boosted` over r / (1 + r): the score from BM25, plus a boost for shared words.

    The words are those of the question, or those that the leg scored its hits against.
    """

    says: ClassVar[str] = (
        "keyword score = min(1, |bm25| / (1 + |bm25|) + 0.45 × share of the question's words in the text "
        "+ 0.2 × their share of the text's words + 0.18 × words in the path + min(length / 160, 0.18))"
    )

    def formula(self, of: Numbers) -> Any:
        return boosted(relevance(of["keyword_raw"]), *(of[name] for name in FEATURES))

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        leg = trace.legs["keyword"]
        if isinstance(leg, LegOfMany):
            seen = leg.features
        else:
            seen = features(ranking_words(trace.question), context.index.chunks(leg.hits.rows))
        return dict(zip(FEATURES, spread(seen, trace), strict=True))


def spread(values: Floats, trace: Trace) -> Floats:
    """Numbers of the keyword leg's hits, shape (…, hits), as columns of the candidates; NaN for the rest."""
    rank = trace.columns["keyword_rank"]
    brought = np.flatnonzero(~np.isnan(rank))
    columns = np.full((*values.shape[:-1], rank.size), np.nan)
    columns[..., brought] = values[..., rank[brought].astype(int) - 1]
    return columns


@dataclass(frozen=True)
class MatchedRelevance(BoostedRelevance, observed=(*FEATURES, "lexical_rank")):
    """`BoostedRelevance` for hits of MATCH in the text; 0 for hits of substrings or of the path only.

    Hits that score 0 keep their place in the leg, and `lexical_rank` orders them among the candidates.
    Source: openclaw 2026.9.6, searchKeyword and mergeHybridResults (openclaw#115001, #120603).
    """

    says: ClassVar[str] = f"{BoostedRelevance.says}; 0 without a MATCH in the text"

    def formula(self, of: Numbers) -> Any:
        return np.where(of["keyword_raw"] < 0, super().formula(of), 0.0)

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        leg, rank = trace.legs["keyword"], np.zeros(len(trace.chunks))
        if isinstance(leg, LegWithPaths):
            by_substring = leg.in_text & (leg.hits.raw == 0)
            rank = filled(spread(np.where(by_substring, boosted(0.0, *leg.features), 0.0), trace), 0.0)
        return {**super().observe(trace, context), "lexical_rank": rank}


@dataclass(frozen=True)
class PathScore(
    ColumnStage, slot="path_score", scale="r / (1 + r)", present="path_raw", observed=("path_raw",)
):
    """The score of a file that was found by its path: `relevance` of BM25 over the paths.

    A path that only substrings found has the raw number 0, and therefore the score 1.
    """

    says: ClassVar[str] = "path score = |bm25| / (1 + |bm25|) over the files' paths, for a file's first chunk"

    def formula(self, of: Numbers) -> Any:
        return relevance(of["path_raw"])

    def reads(self) -> tuple[str, ...]:
        """The keyword leg's rank: that leg brings the paths, too."""
        return (*super().reads(), "keyword_rank")

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        leg, raw = trace.legs["keyword"], np.full(len(trace.chunks), np.nan)
        if isinstance(leg, LegWithPaths):
            raw = spread(leg.path_raw, trace)
        return {"path_raw": raw}


@dataclass(frozen=True)
class PathTier(PlainStage, slot="path_tier"):
    """Marks candidates whose path, file name or stem equals the question: `exact_path_tier`, 0 to 3."""

    says: ClassVar[str] = "path tier = 3 if the question is the path, 2 for its name, 1 without .md, else 0"

    def writes(self) -> tuple[str, ...]:
        return ("path_tier",)

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_column(trace, "path_tier", exact_path_tiers(trace.question, context.index, trace.chunks))
