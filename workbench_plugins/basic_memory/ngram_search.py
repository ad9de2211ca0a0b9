"""Basic Memory 0.24.1 on SQLite: n-grams for scripts without spaces, and each word prepared by itself.

A column of the full-text table has the characters and the pairs of characters of Han, kana, Hangul, Thai,
Lao, Tibetan, Burmese and Khmer. The rules were seen in the databases that the release wrote for our own
notes, and in the statements that it sent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from workbench.contracts import Context
from workbench.memory.store.sqlite.fts5 import match_expression
from workbench.records import Clause, Query, Trace
from workbench.retrieval.query import with_query
from workbench_plugins.basic_memory.notes import Note, NotesLayout, WholeRow, rows_beside
from workbench_plugins.basic_memory.query_preparation import (
    EDGES,
    PROBLEMATIC,
    SPECIAL,
    AnyToken,
    AnyUnicodeToken,
    PunctuationMakesAPhrase,
    any_prefix,
    boolean_match,
    is_boolean,
)
from workbench_plugins.basic_memory.rows import Named

SCRIPT = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u19e0-\u19ff\u3005-\u3007\u3021-\u3029"
    "\u3031-\u3035\u303b\u3040-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff\U0001aff0-\U0001afff"
    "\U0001b000-\U0001b16f\U00020000-\U000323af]"
)
"""A character of a script without spaces, or of Hangul."""
BOUNDARY = "bm_script_boundary"
"""The word between two runs, so that no phrase reaches from one into the other."""
WORDS = ("title", "content_stems", "content_snippet")
PIECES = re.compile(r'"[^"]*"|\S+')


def runs(text: str) -> Iterator[list[str]]:
    """The runs of such characters, each with its marks, after NFKC.

    >>> list(runs("東京tower ﾀﾜｰ ที่"))
    [['東', '京'], ['タ', 'ワ', 'ー'], ['ที่']]
    """
    run: list[str] = []
    for character in unicodedata.normalize("NFKC", text):
        if run and unicodedata.category(character).startswith("M"):
            run[-1] += character
        elif SCRIPT.match(character):
            run.append(character)
        elif run:
            yield run
            run = []
    if run:
        yield run


def pairs(run: Sequence[str]) -> list[str]:
    """The pairs of neighbours."""
    return [one + other for one, other in pairwise(run)]


def ngrams(*texts: str) -> str:
    """The characters and the pairs of each run of the texts."""
    found = (run for text in texts for run in runs(text))
    return f" {BOUNDARY} ".join(" ".join([*run, *pairs(run)]) for run in found)


def ngram_match(text: str) -> str:
    """The MATCH for the runs of a text, each a phrase of its pairs; empty without one.

    >>> ngram_match("お茶の価格 2026年")
    '"お茶 茶の の価 価格" AND "年"'
    """
    phrases = (f'"{" ".join(pairs(run) or run)}"' for run in runs(text))
    return " AND ".join(dict.fromkeys(phrases))


def has_own_syntax(question: str) -> bool:
    """Whether a question has quotes or operators, so that n-grams are not asked."""
    return '"' in question or is_boolean(f" {question} ")


def words(question: str) -> list[str]:
    """The words of a question: several lose punctuation at their ends; those without a letter are left out.

    >>> words("tea & (coffee)!"), words("tea?"), words('"two words" more')
    (['tea', '(coffee)'], ['tea?'], ['"two words"', 'more'])
    """
    found = PIECES.findall(question)
    if found == [question]:
        return found
    bare = (one.strip(EDGES) for one in found)
    return [one for one in bare if any(character.isalnum() for character in one)]


def words_beside_scripts(question: str) -> list[str]:
    """The words that have a letter or a digit of another script.

    >>> words_beside_scripts("2026年 の office 東京")
    ['2026年', 'office']
    """
    return [one for one in words(question) if _is_lexical(one)]


def _is_lexical(word: str) -> bool:
    normal = unicodedata.normalize("NFKC", word)
    return any(character.isalnum() and not SCRIPT.match(character) for character in normal)


def clause(word: str) -> Clause:
    """A word of the strict query: quoted if it has punctuation; a prefix unless it is a path or has a star.

    >>> print(match_expression(Query((clause("it's"), clause("tea"), clause("a/b.md"), clause("te*")))))
    "it's"* AND tea* AND "a/b.md" AND te*
    """
    if "*" in word and all(character.isalnum() or character in "*_-" for character in word):
        return Clause(word, bare=True)
    bare = word.removeprefix('"').removesuffix('"') if len(word) > 1 else word
    if (PROBLEMATIC | SPECIAL) & set(word):
        return Clause(bare, phrase=True, prefix=not ("/" in bare and bare.endswith(".md")))
    return Clause(word, prefix=True, bare=True)


def strict(question: str) -> Query | None:
    """The strict query; None if no word is left.

    >>> print(match_expression(strict("which notes mention HX-4?")))
    which* AND notes* AND mention* AND "HX-4"*
    >>> print(match_expression(strict("tea NOT milk")))
    {title content_stems content_snippet} : (tea NOT milk)
    """
    if is_boolean(f" {question} "):
        match = boolean_match(question, EDGES)
        apart = f"{{{' '.join(WORDS)}}} : ({match})"
        return WholeRow(expression=apart) if " NOT " in f" {question} " else Query(expression=match)
    if ngrams := "" if has_own_syntax(question) else ngram_match(question):
        clauses = tuple(map(clause, words_beside_scripts(question)))
        match = match_expression(Query(clauses))
        each = " OR ".join(f"{column}: ({match})" for column in WORDS)
        return WholeRow(expression=_with_ngrams(f"({each})" if clauses else "", ngrams))
    clauses = tuple(map(clause, words(question)))
    return Query(clauses) if clauses else None


def _with_ngrams(match: str, ngrams: str) -> str:
    return " AND ".join(filter(None, [match, f"(script_ngrams: ({ngrams}))"]))


@dataclass(frozen=True)
class EachWordApart(PunctuationMakesAPhrase):
    """The strict query of 0.24.1: a word with punctuation is quoted, and the others stay words."""

    description: ClassVar[str] = (
        "MATCH = every word as a prefix, joined with AND, those with punctuation quoted; "
        "pairs of characters for scripts without spaces"
    )

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_query(trace, context, strict(trace.question))


@dataclass(frozen=True)
class AnyWordBesideScripts(AnyUnicodeToken):
    """`AnyUnicodeToken` for the words beside the scripts without spaces, whose pairs stay required."""

    def cjk_tokens(self, query: str) -> list[str]:
        return AnyToken.cjk_tokens(self, query)

    def query(self, query: str | None) -> Query | None:
        if query is None or has_own_syntax(query):
            return None
        ngrams = ngram_match(query)
        asked = self.words(" ".join(words_beside_scripts(query)) if ngrams else query)
        if not asked or not ngrams:
            return any_prefix(asked) if asked else None
        match = match_expression(any_prefix(asked))
        return WholeRow(expression=_with_ngrams(f"{{{' '.join(WORDS)}}}: ({match})", ngrams))


@dataclass(frozen=True)
class NotesWithNgrams(NotesLayout):
    """`NotesLayout` with the column of n-grams."""

    @property
    def description(self) -> str:
        return f"{super().description}; a column with the pairs of characters of scripts without spaces"

    def row(self, note: Note) -> Note:
        """The row with the n-grams of its title, its content_stems and its body."""
        return note._replace(script_ngrams=ngrams(*note[:3]))

    def beside(self, names: Sequence[Named], bodies: Sequence[str]) -> list[Note]:
        return rows_beside(names, bodies, self.project, "0.24.1")
