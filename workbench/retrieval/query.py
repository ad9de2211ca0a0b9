"""A question becomes words, and words become a query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.memory.files import is_utf8
from workbench.records import Clause, Query, Trace
from workbench.retrieval.columns import PlainStage
from workbench.stop_words import content_words

ASCII_WORDS = re.compile(r"[A-Za-z0-9_]+")
UNICODE_WORDS = re.compile(r"\w+")
LONGEST_QUESTION = 1_000
"""Words."""
MOST_CHARACTERS = 10_000
BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""The characters that JavaScript's trim() removes. Python's strip() removes a different set."""


def ascii_words(text: str) -> list[str]:
    """The runs of ASCII letters, digits and underscores. Case and repetitions stay.

    Source: openclaw 2026.2.13, src/memory/hybrid.ts, buildFtsQuery.

    >>> ascii_words("naïve café, FOO_bar-1")
    ['na', 've', 'caf', 'FOO_bar', '1']
    """
    return ASCII_WORDS.findall(text)


def unicode_words(text: str) -> list[str]:
    """The runs of letters and numbers of any script, and underscores; a combining mark parts two runs.

    Python's `\\w` is exactly the `[\\p{L}\\p{N}_]` of the source.
    Source: openclaw 2026.2.15, src/memory/hybrid.ts, buildFtsQuery (openclaw#17672).

    >>> unicode_words("naïve café, API設計 2026年")
    ['naïve', 'café', 'API設計', '2026年']
    """
    return UNICODE_WORDS.findall(text)


def words_query(words: Sequence[str], operator: Literal["AND", "OR"] = "AND") -> Query | None:
    """The query for these words, joined with AND or OR; None without a word."""
    return Query(tuple(map(Clause, words)), operator) if words else None


def with_query(trace: Trace, context: Context, query: Query | None) -> Trace:
    """`trace` with its query, and the text into which the index compiles it."""
    match = None if query is None else context.index.compiled(query)
    return replace(trace, query=query, match=match)


@dataclass(frozen=True)
class JoinedWords(PlainStage, slot="query"):
    """The query: every ASCII word, joined with `join` (AND or OR); none without a word.

    With AND one missing word empties the keyword leg (openclaw#15226, and bug 1 of #16021).
    The report's own OR builder leaves words unquoted, so a question with the word OR in capitals is a syntax
    error. Quoting every word avoids that error and otherwise matches the same rows.
    """

    join: Literal["AND", "OR"]

    def __post_init__(self) -> None:
        if self.join not in ("AND", "OR"):
            raise InputError(f"join {self.join!r} is not an FTS5 operator.", "Use AND or OR.")

    @property
    def description(self) -> str:
        return f"MATCH = every ASCII word of the question, quoted, joined with {self.join}"

    def words(self, question: str) -> list[str]:
        """The words that the question is read as."""
        return ascii_words(question)

    def query(self, question: str) -> Query | None:
        """The query for a question; None when it has no word."""
        return words_query(self.words(question), self.join)

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_query(trace, context, self.query(trace.text))


@dataclass(frozen=True)
class UnicodeWords(JoinedWords):
    """The query of `JoinedWords`, from words of any script: `unicode_words`."""

    @property
    def description(self) -> str:
        return f"MATCH = every word of the question, in any script, quoted, joined with {self.join}"

    def words(self, question: str) -> list[str]:
        return unicode_words(question)


@dataclass(frozen=True)
class PrunedWords(JoinedWords):
    """The query of `JoinedWords` without stop words: no file has to contain them, or is found by them."""

    @property
    def description(self) -> str:
        return f"MATCH = every ASCII word of the question but stop words, quoted, joined with {self.join}"

    def words(self, question: str) -> list[str]:
        return content_words(super().words(question))


@dataclass(frozen=True)
class PrunedUnicodeWords(UnicodeWords):
    """The query of `UnicodeWords` without stop words."""

    @property
    def description(self) -> str:
        return f"MATCH = every word of the question but stop words, in any script, joined with {self.join}"

    def words(self, question: str) -> list[str]:
        return content_words(super().words(question))


def check_question(question: str) -> str:
    """The question without surrounding blanks.

    Raises InputError for a blank question, for one without a letter or digit, and as `check_length` does.
    Pipelines themselves accept any text, as the systems that they reproduce do.
    """
    cleaned = question.strip()
    if not cleaned:
        raise InputError("The question is empty.", "Ask something, such as: where did we …")
    check_length(cleaned)
    if not any(character.isalnum() for character in cleaned):
        raise InputError(
            f"The question {cleaned[:40]!r} has no letter and no digit.", "Ask with at least one word."
        )
    return cleaned


def check_length(question: str) -> None:
    """Raises InputError for a question of more than 10,000 characters or 1,000 words, or not UTF-8."""
    words = max(len(question.split()), len(unicode_words(question)))
    for count, most, what in (
        (words, LONGEST_QUESTION, "words"),
        (len(question), MOST_CHARACTERS, "characters"),
    ):
        if count > most:
            raise InputError(
                f"The question has {count:,} {what}; a search takes at most {most:,}.",
                "Ask with the sentence that matters, or index the text as a document.",
            )
    if not is_utf8(question):
        raise InputError(f"The question {question[:40]!r} is not UTF-8.", "Type it in a UTF-8 terminal.")
