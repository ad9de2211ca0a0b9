"""OpenClaw's later keyword searches: stop words, tables of trigrams and paths, several queries, and scores.

Stop words are removed from a question by the rules of 2026.9.6 (query-expansion.ts). The sets of stop words
are our own, with about the stated sizes: function words, vague words for times and things, and words of
request. Source of the tables: openclaw, packages/memory-host-sdk/src/host/memory-schema.ts;
`store.fts.tokenizer` since #56707.

Source of plans, legs and scores: the published builds of 2026.7.1 and 2026.9.6, extensions/memory-core/src/
memory: manager-search.ts and the keyword part of manager.ts, which is manager-keyword-retrieval.ts in
2026.9.6.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Context, Index, Layout
from workbench.memory.data_files import load_data
from workbench.memory.sources import utf16_length
from workbench.memory.store.contract import hits_of
from workbench.memory.store.sqlite.fts5 import match_expression
from workbench.memory.whole_files import whole_documents
from workbench.records import Chunk, Floats, Hits, Leg, Query, Rows, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage, filled, with_column
from workbench.retrieval.index_adapters import IndexAdapter, adapted, memoized
from workbench.retrieval.legs import Depth, FixedDepth, QueryLeg, no_hits, with_leg
from workbench.retrieval.query import BLANKS, UnicodeWords, unicode_words, words_query
from workbench.retrieval.scoring import relevance

WORDS: dict[str, list[str]] = {
    language: " ".join(some).split() for language, some in load_data(__file__, "stop_words.yaml").items()
}
"""Stop words by language, and the particles that follow a Korean noun without a space, the longest first."""
PARTICLES, KOREAN = WORDS["Korean particles"], frozenset(WORDS["Korean particles"] + WORDS["Korean"])
EVERY_LANGUAGE = frozenset(word for some in WORDS.values() for word in some)

HAN = re.compile(r"[\u4e00-\u9fff]")
KANA = re.compile(r"[\u3040-\u30ff]")
HANGUL = re.compile(r"[\uac00-\ud7af\u3131-\u3163]")
SYLLABLE = re.compile(r"[\uac00-\ud7af]")
JAPANESE_RUNS = re.compile(r"[a-z0-9_]+|[\u30a0-\u30ff]+|[\u4e00-\u9fff]+|[\u3040-\u309f]{2,}")
ASCII_LETTERS = re.compile(r"[A-Za-z]+")
ASCII_WORD = re.compile(r"[A-Za-z0-9_]+")
ASCII_DIGITS = re.compile(r"[0-9]+")

Cut = Callable[[str], Iterable[str]]
"""A function that cuts a segment without spaces and punctuation into tokens."""


def keywords(question: str, cut: Cut | None = None, stop: frozenset[str] = EVERY_LANGUAGE) -> list[str]:
    """The question's meaningful words, in lower case, each once, in their order.

    Stop words, ASCII words of one or two letters, and tokens of digits or symbols only are removed.
    `cut` splits segments: `for_words` (the default) or `for_trigrams`.
    Source: openclaw 2026.9.6, packages/memory-host-sdk/src/host/query-expansion.ts, extractKeywords.

    >>> keywords("that thing we discussed about the API"), keywords("what is AI"), keywords("bug #1234 in v2")
    (['discussed', 'api'], [], ['bug', 'v2'])
    """
    cut = cut or for_words
    tokens = (token for segment in _segments(question.strip(BLANKS).lower()) for token in cut(segment))
    return list(dict.fromkeys(token for token in tokens if token not in stop and says_something(token)))


def says_something(token: str) -> bool:
    """Whether a token can be a keyword at all.

    >>> [says_something(token) for token in ("api", "ai", "2026", "v2", "日")]
    [True, False, False, True, True]
    """
    if ASCII_LETTERS.fullmatch(token):
        return len(token) >= 3
    return not ASCII_DIGITS.fullmatch(token) and any(unicodedata.category(c)[0] not in "PS" for c in token)


def for_words(segment: str, split_han: bool = True) -> Iterator[str]:
    """The tokens of a segment for an index of whole words, with single Han characters and pairs of them.

    >>> list(for_words("讨论")), list(for_words("서버에서")), list(for_words("デプロイの戦略"))
    (['讨', '论', '讨论'], ['서버에서', '서버'], ['デプロイ', '戦略', '戦略'])
    """
    if KANA.search(segment):
        for run in JAPANESE_RUNS.findall(segment):
            yield run
            yield from _pairs(run) if split_han and HAN.match(run) else ()
    elif HAN.search(segment):
        characters = HAN.findall(segment)
        yield from [*characters, *_pairs(characters)] if split_han else ["".join(characters)]
    else:
        yield from _korean(segment) if HANGUL.search(segment) else (segment,)


def for_trigrams(segment: str) -> Iterator[str]:
    """The tokens of a segment for an index of trigrams: a block of Han characters is not split.

    >>> list(for_trigrams("讨论的方案"))
    ['讨论的方案']
    """
    return for_words(segment, split_han=False)


def _pairs(characters: Iterable[str]) -> Iterator[str]:
    return (left + right for left, right in pairwise(characters))


def _korean(segment: str) -> Iterator[str]:
    """A word, unless it is a stop word with a particle, and its stem if the stem can stand alone."""
    stem = next((segment[: -len(p)] for p in PARTICLES if segment.endswith(p) and segment != p), None)
    if stem not in KOREAN:
        yield segment
    if stem and (len(stem) >= 2 if SYLLABLE.search(stem) else ASCII_WORD.fullmatch(stem)):
        yield stem


def _segments(text: str) -> list[str]:
    """The text split at white space, as JavaScript defines it, and at punctuation of any script."""
    spaced = "".join(" " if c in BLANKS or unicodedata.category(c)[0] == "P" else c for c in text)
    return [segment for segment in spaced.split(" ") if segment]


TOKENIZERS = {"unicode61": "unicode61", "trigram": "trigram case_sensitive 0"}
Tokenizer = Literal["unicode61", "trigram"]

SUBSTRINGS = {
    # FTS5's words contain no % and no backslash, so the underscore is the only wildcard to escape.
    "like": r"text LIKE '%' || replace(value, '_', '\_') || '%' ESCAPE '\'",
    "composed": "composed_contains(text, value)",
}
Substring = Literal["like", "composed"]
"""How a substring is searched: with LIKE, which ignores ASCII case, or with `composed_contains`."""

SEARCH_SQL = """
    SELECT rowid, {rank} AS raw FROM texts
    WHERE {match} AND NOT EXISTS (SELECT 1 FROM json_each(?2) WHERE NOT {substring})
    ORDER BY raw, rowid LIMIT ?3
"""


def composed_contains(text: str, part: str) -> bool:
    """Whether `part` is in `text`, ignoring case and Unicode composition.

    >>> composed_contains("CAFE\\u0301.md", "café"), composed_contains("cafe.md", "café")
    (True, False)
    """
    composed = (unicodedata.normalize("NFC", one) for one in (part, text))
    return re.search(re.escape(next(composed)), next(composed), re.IGNORECASE) is not None


def _contains(*values: apsw.SQLiteValue) -> bool:
    text, part = values
    return composed_contains(str(text), str(part))


class TextTable:
    """An FTS5 table of `texts`, numbered from row 0, with one of FTS5's tokenizers."""

    def __init__(self, texts: Sequence[str], tokenizer: Tokenizer, substring: Substring) -> None:
        self._substring = SUBSTRINGS[substring]
        self._db = apsw.Connection(":memory:")
        self._db.create_scalar_function("composed_contains", _contains, 2, deterministic=True)
        self._db.execute(
            f"CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = '{TOKENIZERS[tokenizer]}')"
        )
        with self._db:
            self._db.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", list(enumerate(texts)))

    def search(self, query: Query | None, substrings: Sequence[str], limit: int) -> Hits:
        """The rows that match and contain all substrings, by (bm25, row); no rows for an empty query.

        FTS5's bm25 is negative; a row that only substrings found has 0.
        """
        if query is None and not substrings:
            return no_hits()
        match = match_expression(query) if query else None
        sql = SEARCH_SQL.format(
            rank="bm25(texts)" if match else "0.0",
            match="texts MATCH ?1" if match else "?1 IS NULL",
            substring=self._substring,
        )
        return hits_of(self._db.execute(sql, (match, json.dumps(list(substrings)), limit)).fetchall())


STRICT = UnicodeWords(join="AND")
MOST_TERMS = 6
SHORTEST_TRIGRAM = 3
KNOWN = 8_192
"""The size of the caches of texts and paths."""

# The plan of a keyword query


class KeywordPlan(NamedTuple):
    """A query for FTS5, and the words that must be found as substrings."""

    query: Query | None
    substrings: tuple[str, ...] = ()


Apart = Callable[[str], bool]
"""Whether a word is searched as a substring."""


def planned(words: Sequence[str], apart: Apart) -> KeywordPlan:
    """A plan that joins all words with AND, except those that are searched as substrings."""
    whole = [word for word in words if not apart(word)]
    return KeywordPlan(words_query(whole), tuple(filter(apart, words)))


def too_short(word: str) -> bool:
    """Whether a word is too short for a table of trigrams: 2026.9.6 searches it as a substring."""
    return len(word) < SHORTEST_TRIGRAM


UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u3131-\u3163]")


def too_short_and_unspaced(word: str) -> bool:
    """Whether 2026.3.31 searches a word as a substring: only short words of Chinese, Japanese and Korean.

    Any other short word goes to the trigrams, which cannot find it, so the whole AND fails.

    >>> [too_short_and_unspaced(word) for word in ("怀孕", "AI", "飞书插件")]
    [True, False, False]
    """
    return too_short(word) and UNSPACED.search(word) is not None


def keyword_plan(question: str, tokenizer: Tokenizer) -> KeywordPlan:
    """The plan with which 2026.9.6 searches the chunks.

    >>> plan = keyword_plan("AI plan", "trigram")
    >>> [clause.text for clause in plan.query.clauses], plan.substrings
    (['plan'], ('AI',))
    """
    if tokenizer == "unicode61":
        return KeywordPlan(STRICT.query(question))
    return planned(unicode_words(question), too_short)


def path_plans(question: str, tokenizer: Tokenizer) -> list[KeywordPlan]:
    """The plans with which 2026.9.6 searches the paths.

    They are the plan for the chunks, and non-ASCII words in composed and in decomposed Unicode.

    >>> path_plans("café notes", "unicode61")[1].substrings
    ('café',)
    """
    words = [marked_words(unicodedata.normalize(form, question)) for form in ("NFC", "NFD")]
    if tokenizer == "trigram":
        plans = [planned(some, too_short) for some in words]
    else:
        beyond = [planned(some, lambda word: not word.isascii()) for some in words]
        plans = [keyword_plan(question, tokenizer), *(plan for plan in beyond if plan.substrings)]
    return list(dict.fromkeys(plans))


def marked_words(text: str) -> list[str]:
    """The words of a text; combining marks belong to words."""
    spaced = "".join(c if c == "_" or unicodedata.category(c)[0] in "LMN" else " " for c in text)
    return [word for word in spaced.split(" ") if word]


CUTS: Mapping[str, Cut] = {"unicode61": for_words, "trigram": for_trigrams}
"""How a segment is cut, by the name of FTS5's tokenizer."""


def fallback_terms(question: str, tokenizer: Tokenizer = "unicode61") -> list[str]:
    """At most six keywords of the question, which may be searched one by one."""
    whole = question.strip(BLANKS).lower()
    return [word for word in keywords(question, CUTS[tokenizer]) if word != whole][:MOST_TERMS]


# The lexical boost


def _lower_words(text: str) -> list[str]:
    return [word.lower() for word in unicode_words(unicodedata.normalize("NFC", text))]


def ranking_words(question: str) -> list[str]:
    """The question's distinct words in lower case."""
    return list(dict.fromkeys(_lower_words(question)))


FEATURES = ("query_coverage", "query_density", "path_words", "text_length")
"""What the boost uses: two shares, the number of words in the path, and the text's UTF-16 units."""


def features(words: Sequence[str], chunks: Sequence[Chunk]) -> Floats:
    """The FEATURES of each chunk, one row each; `words` must be distinct and in lower case."""
    seen = np.empty((len(FEATURES), len(chunks)))
    for number, chunk in enumerate(chunks):
        text, path = _distinct(chunk.text), path_identifier(chunk.path)
        found, in_path = (sum(word in those for word in words) for those in (text, path))
        shares = found / max(len(words), 1), found / max(len(text), 1)
        seen[:, number] = *shares, in_path, utf16_length(chunk.text)
    return seen


@lru_cache(maxsize=KNOWN)
def _distinct(text: str) -> frozenset[str]:
    return frozenset(_lower_words(text))


def boosted(base: Any, coverage: Any, density: Any, path_words: Any, length: Any) -> Any:
    """A BM25 score plus a boost for shared words, at most 1. Works on columns and terms.

    A text of 29 characters or more gets the full 0.18 for its length, so nearly every chunk gets it.
    Source: openclaw 2026.9.6, scoreFallbackKeywordResult.
    """
    text = 0.45 * coverage + 0.2 * density + 0.18 * path_words
    return np.minimum(1.0, base + text + np.minimum(length / 160, 0.18))


# Paths


@lru_cache(maxsize=KNOWN)
def path_identifier(text: str) -> str:
    """A path in the form that is compared: with slashes, in composed Unicode and lower case.

    >>> path_identifier(".\\\\Notes\\\\A.md")
    'notes/a.md'
    """
    slashed = re.sub(r"^\./", "", text.strip(BLANKS).replace("\\", "/"))
    return unicodedata.normalize("NFC", slashed).lower()


def exact_path_tier(question: str, path: str) -> int:
    """3 if the question is the path, 2 for the file name, 1 for the file name without its ending, else 0.

    Case and Unicode composition do not matter. Source: openclaw 2026.9.6, prepareExactPathMatcher.

    >>> [exact_path_tier(q, "memory/notes.old.md") for q in ("memory/notes.old.md", "NOTES.old", "notes")]
    [3, 1, 0]
    """
    asked = path_identifier(question)
    names = _names(path) if asked not in ("", ".") else ()
    return 3 - names.index(asked) if asked in names else 0


@lru_cache(maxsize=KNOWN)
def _names(path: str) -> tuple[str, str, str]:
    """The names of a file that a question can use: path, file name, file name without its ending."""
    whole = path_identifier(path)
    last = whole.rsplit("/", 1)[-1]
    dot = last.rfind(".")
    return whole, last, last[:dot] if dot > 0 else last


def ordered(columns: Sequence[NDArray[Any]], sort_key: Callable[[int], Any]) -> Rows:
    """The rows sorted by these columns, ascending, first column first; equal rows are sorted by their key."""
    order = np.lexsort(tuple(reversed(columns)))
    differ = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    for begin, end in pairwise([0, *(np.flatnonzero(differ) + 1).tolist(), order.size]):
        if end - begin > 1:
            order[begin:end] = sorted(order[begin:end].tolist(), key=sort_key)
    return order


@lru_cache(maxsize=KNOWN)
def path_key(path: str) -> tuple[str, str]:
    """The sort key of a path among equal scores: case-insensitive, then small letters first.

    OpenClaw compares with localeCompare(), which orders punctuation differently. This matters only between
    equal scores.
    """
    return path.casefold(), path.swapcase()


NO_CHUNK = -1
"""The row of a file that has no chunk."""
MOST_PATHS = 200
"""The largest number of exact paths that OpenClaw looks up."""


# Chunks cut into trigrams


class TextsLaidOut(NamedTuple):
    """A table of the chunks' texts, in the order of their ids, and the row of each in the index."""

    table: TextTable
    rows: Rows


def _texts(index: Index, paths: Sequence[str], substring: Substring) -> TextsLaidOut:
    rows = np.concatenate([np.empty(0, np.int64), *(index.rows_of(path) for path in paths)])
    by_id = sorted(zip(index.chunks(rows), rows.tolist(), strict=True), key=lambda pair: pair[0].id)
    table = TextTable([chunk.text for chunk, _ in by_id], "trigram", substring)
    return TextsLaidOut(table, np.array([row for _, row in by_id], np.int64))


class TrigramIndex(IndexAdapter):
    """An index whose keyword search uses trigrams, and substrings for the words that `apart` selects."""

    def __init__(self, inner: Index, texts: TextsLaidOut, apart: Apart) -> None:
        super().__init__(inner)
        self.texts, self.apart = texts, apart

    def keyword(self, query: Query, limit: int) -> Hits:
        """The chunks that match; only an AND of words is split into words and substrings."""
        plan = KeywordPlan(query)
        if query.operator == "AND" and query.expression is None:
            plan = planned([clause.text for clause in query.clauses], self.apart)
        hits = self.texts.table.search(plan.query, plan.substrings, limit)
        return Hits(self.texts.rows[hits.rows], hits.raw)


@dataclass(frozen=True)
class TrigramLayout:
    """Chunks in a full-text index of trigrams, as in 2026.3.31: any three characters can be found.

    Short words of Chinese, Japanese and Korean are searched with LIKE. A hit that only LIKE found gets a bm25
    of 0, which is the best possible value.
    """

    substring: ClassVar[Substring] = "like"
    description: ClassVar[str] = (
        "a full-text index of trigrams; words of one or two characters are searched with LIKE in Chinese, "
        "Japanese and Korean, and are not found in other scripts"
    )

    def apart(self, word: str) -> bool:
        """Whether a word is searched as a substring."""
        return too_short_and_unspaced(word)

    def of(self, index: Index) -> Index:
        """The index with its chunks in trigrams, built once for each generation.

        Raises InputError for an index that does not keep whole documents.
        """

        def arranged() -> TextsLaidOut:
            return _texts(index, _paths_of(index, self), self.substring)

        return TrigramIndex(index, memoized(index, self, arranged), self.apart)


def _paths_of(index: Index, layout: Layout) -> list[str]:
    return [one.path for one in whole_documents(index, layout)]


@dataclass(frozen=True)
class ShortWordsLayout(TrigramLayout):
    """`TrigramLayout` as in 2026.9.6: short words of any script are searched as substrings.

    Composed and decomposed Unicode count as equal.
    """

    substring: ClassVar[Substring] = "composed"
    description: ClassVar[str] = (
        "a full-text index of trigrams; words of one or two characters are searched as substrings"
    )

    def apart(self, word: str) -> bool:
        return too_short(word)


# Paths


def _path_table(index: Index, files: Sequence[str], tokenizer: Tokenizer) -> Paths:
    paths = sorted(files)
    return Paths(paths, np.array([_first_chunk(index, path) for path in paths], np.int64), tokenizer)


def _first_chunk(index: Index, path: str) -> int:
    rows = index.rows_of(path)
    first = min(zip(index.chunks(rows), rows.tolist(), strict=True), key=_line_order, default=None)
    return first[1] if first else NO_CHUNK


def _line_order(pair: tuple[Chunk, int]) -> tuple[int, int, str]:
    chunk, _ = pair
    return chunk.start_line, chunk.end_line, chunk.id


def exact_path_tiers(question: str, index: Index, chunks: Sequence[Chunk]) -> Floats:
    """`exact_path_tier` of each chunk's path."""
    paths = adapted(index, PathIndex)
    if paths and not paths.exact_paths(question).size:
        return np.zeros(len(chunks))
    return np.array([exact_path_tier(question, chunk.path) for chunk in chunks], float)


class Paths:
    """The paths of files in a full-text table; `first` holds the row of each file's first chunk, or NO_CHUNK.

    A file without chunks is never found, but its path counts in the bm25 of the others.
    """

    def __init__(self, paths: Sequence[str], first: Rows, tokenizer: Tokenizer) -> None:
        self._paths = paths
        self._first = first
        self._tokenizer = tokenizer
        self._table = TextTable(paths, tokenizer, "composed")
        # The table and the paths never change, and different questions share terms.
        self.matching = lru_cache(maxsize=KNOWN)(self._matching)
        self.exactly = lru_cache(maxsize=KNOWN)(self._exactly)

    def _matching(self, question: str) -> Hits:
        best: dict[int, tuple[float, float]] = {}
        for plan in path_plans(question, self._tokenizer):
            hits = self._table.search(plan.query, plan.substrings, len(self._paths))
            scores = relevance(hits.raw).tolist()
            for number, score, raw in zip(hits.rows.tolist(), scores, hits.raw.tolist(), strict=True):
                if self._first[number] != NO_CHUNK:
                    best[number] = max(best.get(number, (0.0, 0.0)), (score, raw))
        order = sorted(best, key=lambda number: (-best[number][0], path_key(self._paths[number])))
        return Hits(self._first[order], np.array([best[number][1] for number in order], float))

    def _exactly(self, question: str) -> Rows:
        found = [number for number, row in enumerate(self._first.tolist()) if row != NO_CHUNK]
        tiers = [(-exact_path_tier(question, self._paths[number]), number) for number in found]
        exact = sorted((tier, number) for tier, number in tiers if tier)[:MOST_PATHS]
        return self._first[[number for _, number in exact]]


class PathIndex(IndexAdapter):
    """An index that also searches the paths of files, and knows its tokenizer."""

    def __init__(self, inner: Index, paths: Paths, tokenizer: Tokenizer) -> None:
        super().__init__(inner)
        self.path_table, self.tokenizer = paths, tokenizer

    def path_hits(self, question: str, limit: int) -> Hits:
        """The files whose path has all words of the question, each as its first chunk, best first.

        `raw` is bm25 over the paths. A file that only substrings found gets 0, the best possible value.
        """
        return self.path_table.matching(question).at(slice(limit))

    def exact_paths(self, question: str) -> Rows:
        """The first chunks of the files whose path, name or stem is the question, at most 200."""
        return self.path_table.exactly(question)


@dataclass(frozen=True)
class PathsLayout:
    """A full-text index of the files' paths beside the one of the chunks, as in 2026.9.6.

    With the tokenizer trigram, both tables hold trigrams.
    """

    tokenizer: Tokenizer = "unicode61"

    @property
    def description(self) -> str:
        chunks = (
            ShortWordsLayout.description
            if self.tokenizer == "trigram"
            else "the full-text index of the chunks"
        )
        return f"{chunks}, and another one of the files' paths"

    def of(self, index: Index) -> Index:
        """The index with a table of its paths, built once for each generation.

        Raises InputError for an index that does not keep whole documents.
        """
        paths = memoized(index, self, lambda: _path_table(index, _paths_of(index, self), self.tokenizer))
        chunks = ShortWordsLayout().of(index) if self.tokenizer == "trigram" else index
        return PathIndex(chunks, paths, self.tokenizer)


@dataclass(frozen=True)
class Pool(FixedDepth):
    """The same number of candidates for every limit, so the first result does not depend on the limit.

    OpenClaw 2026.9.6 asks each leg for four times max(200, limit), at most 200. The likely reason is #134604.
    """

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
        return _together([leg.hits, found.at(rest)])


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
    def description(self) -> str:
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
            for number, row in enumerate(hits.rows.tolist()):
                now = Best(-float(hits.raw[number]), float(scores[number]), seen[:, number])
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
    def description(self) -> str:
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
    rows, inverse = np.unique(np.concatenate([texts.rows, paths.rows, exact]), return_inverse=True)
    of_texts, of_paths, _ = np.split(inverse, np.cumsum([texts.rows.size, paths.rows.size]))
    chunks = index.chunks(rows)
    return Found(
        rows,
        chunks,
        exact_path_tiers(question, index, chunks),
        _best(texts.raw, matched(texts.raw), of_texts, rows.size),
        _best(paths.raw, relevance(paths.raw), of_paths, rows.size),
    )


def _best(raw: Floats, score: Floats, inverse: Rows, size: int) -> Floats:
    """For each place, the raw number of its hit with the best score."""
    best, order = np.full(size, np.nan), np.argsort(score, kind="stable")
    best[inverse[order]] = raw[order]  # of several hits the last one stays
    return best


def matched(raw: Any) -> Any:
    """`relevance`, but 0 without a MATCH in the text (openclaw#120603). Works on columns and terms."""
    return np.where(raw < 0, relevance(raw), 0.0)


def _in_order(found: Found, seen: Floats) -> Rows:
    in_text, exact = ~np.isnan(found.text_raw), found.tiers > 0
    text, path = matched(found.text_raw), np.where(np.isnan(found.path_raw), 0.0, relevance(found.path_raw))
    score = np.where(in_text, boosted(text, *seen), np.where(exact, 1.0, path))
    columns = (-found.tiers, exact & ~in_text, -score, -text, np.where(exact, 0.0, -path))

    def sort_key(row: int) -> tuple[tuple[str, str], int, str]:
        chunk = found.chunks[row]
        return path_key(chunk.path), chunk.start_line, chunk.id

    return ordered(columns, sort_key)


@dataclass(frozen=True)
class BoostedRelevance(
    ColumnStage, slot="keyword_score", scale="boosted bm25", present="keyword_rank", observed=FEATURES
):
    """`boosted` over r / (1 + r): the score from BM25, plus a boost for shared words.

    The words are those of the question, or those that the leg scored its hits against.
    """

    description: ClassVar[str] = (
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

    description: ClassVar[str] = f"{BoostedRelevance.description}; 0 without a MATCH in the text"

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

    description: ClassVar[str] = (
        "path score = |bm25| / (1 + |bm25|) over the files' paths, for a file's first chunk"
    )

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

    description: ClassVar[str] = (
        "path tier = 3 if the question is the path, 2 for its name, 1 without .md, else 0"
    )

    def writes(self) -> tuple[str, ...]:
        return ("path_tier",)

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_column(trace, "path_tier", exact_path_tiers(trace.question, context.index, trace.chunks))
