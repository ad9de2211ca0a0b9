"""How OpenClaw's keyword search uses the words of a question: plans, the lexical boost, exact paths.

Source: the published builds of 2026.7.1 and 2026.9.6: extensions/memory-core/src/memory/manager-search.ts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.memory.chunking import utf16_length
from workbench.records import Chunk, Floats, Query, Rows
from workbench.retrieval.feature_cache import FeatureCache
from workbench.retrieval.query import BLANKS, UnicodeWords, unicode_words, words_query
from workbench.systems.openclaw.expansion import Cut, for_trigrams, for_words, keywords
from workbench.systems.openclaw.fts_table import Tokenizer

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


def features(words: Sequence[str], rows: Rows, chunks: Sequence[Chunk], cache: FeatureCache) -> Floats:
    """The FEATURES of each chunk, one row each; `words` must be distinct and in lower case."""
    names = [(fact, word) for fact in (_in_text, _in_path) for word in words]
    numbers = cache.columns([*names, (_words, ""), (_units, "")], rows, chunks, _feature)
    in_text, in_path = numbers[: len(words)].sum(axis=0), numbers[len(words) : -2].sum(axis=0)
    sizes, lengths = numbers[-2:]
    return np.array([in_text / max(len(words), 1), in_text / np.maximum(sizes, 1), in_path, lengths])


def _feature(name: tuple[Callable[[Chunk, str], float], str], chunk: Chunk) -> float:
    fact, word = name
    return fact(chunk, word)


def _in_text(chunk: Chunk, word: str) -> float:
    return word in _distinct(chunk.text)


def _in_path(chunk: Chunk, word: str) -> float:
    return word in path_identifier(chunk.path)


def _words(chunk: Chunk, _: str) -> float:
    return len(_distinct(chunk.text))


def _units(chunk: Chunk, _: str) -> float:
    return utf16_length(chunk.text)


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
    place = last.rfind(".")
    return whole, last, last[:place] if place > 0 else last


def ordered(columns: Sequence[NDArray[Any]], place: Callable[[int], Any]) -> Rows:
    """The rows sorted by these columns, ascending, first column first; equal rows are sorted by `place`."""
    order = np.lexsort(tuple(reversed(columns)))
    differ = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    for begin, end in pairwise([0, *(np.flatnonzero(differ) + 1).tolist(), order.size]):
        if end - begin > 1:
            order[begin:end] = sorted(order[begin:end].tolist(), key=place)
    return order


@lru_cache(maxsize=KNOWN)
def path_key(path: str) -> tuple[str, str]:
    """The sort key of a path among equal scores: case-insensitive, then small letters first.

    OpenClaw compares with localeCompare(), which orders punctuation differently. This matters only between
    equal scores.
    """
    return path.casefold(), path.swapcase()
