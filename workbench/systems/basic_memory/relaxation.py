"""The second try of Basic Memory's keyword leg: if all words together find nothing, one word is enough.

Four commits have four sets of rules for the questions that are relaxed and for the words that are used.
Source: basicmachines-co/basic-memory, repository/search_query.py and its predecessors; #994, #1022, #1269.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from workbench.contracts import Context
from workbench.records import Clause, Query, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.legs import with_leg
from workbench.retrieval.query import with_query
from workbench.systems.basic_memory.query import EDGES, is_boolean, stripped_words, unique


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOPWORDS = _words(
    "a an and are as at be but by did do does for from had has have how i in is it of on or our that the "
    "their they this to was we were what when where which who whom whose why will with you your"
)
"""The stopwords since a2f5edfa."""
FIRST_STOPWORDS = STOPWORDS - {"our"}
"""The stopwords of #994."""
SERVICE_STOPWORDS = STOPWORDS - _words("but did do does had has have i that they were which whom whose will")
"""The stopwords of the search service's own retry."""

FEWEST_WORDS = 3
FEWEST_CJK_WORDS = 2

ASCII_TOKEN = re.compile(r"[A-Za-z0-9]+")
CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]")
"""Kana, Han and Hangul."""
APOSTROPHES = "'\u2019"
JOINERS = "\u200c\u200d"


def ascii_tokens(text: str) -> list[str]:
    """The runs of ASCII letters and digits, in lower case.

    >>> ascii_tokens("Caroline's 2nd café")
    ['caroline', 's', '2nd', 'caf']
    """
    return [token.lower() for token in ASCII_TOKEN.findall(text)]


def unicode_tokens(text: str) -> list[str]:
    """The words of any script in lower case: letters, numbers, and the marks and joiners that belong to them.

    An apostrophe between two letters is part of the word; a zero-width space ends a word.

    >>> unicode_tokens("Don't ask the 90's как")
    ["don't", 'ask', 'the', '90', 's', 'как']
    """
    text = text.lower()
    kept = (character if _is_part_of_word(text, place) else " " for place, character in enumerate(text))
    return "".join(kept).split()


def _is_part_of_word(text: str, place: int) -> bool:
    character = text[place]
    if character in APOSTROPHES:
        around = text[place - 1 : place] + text[place + 1 : place + 2]
        return len(around) == 2 and all(_kind(one) in "LM" for one in around)
    return _kind(character) in "LNM" or character in JOINERS


def _kind(character: str) -> str:
    return unicodedata.category(character)[0]


def is_numeric(word: str) -> bool:
    """Whether a word consists of numbers of any script; Han numerals are letters.

    >>> is_numeric("16"), is_numeric("Ⅻ"), is_numeric("三")
    (True, True, False)
    """
    return all(_kind(character) == "N" for character in word)


def is_refused(query: str) -> bool:
    """Whether the question is blank, or has its own syntax: quotes or operators."""
    return not query.strip() or '"' in query or is_boolean(query)


@dataclass(frozen=True)
class Relaxation(PlainStage):
    """A second try for a keyword leg that found nothing; a subclass chooses the words."""

    slot: ClassVar[str] = "relaxation"
    says: ClassVar[str]

    def reads(self) -> tuple[str, ...]:
        """The keyword leg, which must have run."""
        return ("keyword_rank",)

    def words(self, query: str | None) -> list[str] | None:
        """The words of the second try; None if the question is not relaxed."""
        raise NotImplementedError(f"{type(self).__name__} has no words")

    def query(self, query: str | None) -> Query | None:
        """The query of the second try; None if there is no second try."""
        return any_prefix(words) if (words := self.words(query)) else None

    def tsquery(self, query: str | None) -> str | None:
        """The second try as text for to_tsquery."""
        return any_lexeme(words) if (words := self.words(query)) else None

    def run(self, trace: Trace, context: Context) -> Trace:
        """Replace an empty keyword leg with the relaxed one, and note both queries."""
        strict = trace.legs["keyword"]
        if strict.hits.rows.size:
            return trace
        tried = f"strict MATCH {strict.asked} found nothing" if strict.asked else "strict MATCH: no word"
        relaxed = self.query(trace.question)
        if relaxed is None:
            return _noted(trace, f"{tried}; this question is not relaxed")
        hits = context.index.keyword(relaxed, strict.depth)
        asked = with_query(trace, context, relaxed)
        again = with_leg(asked, replace(strict, asked=asked.match, hits=hits))
        return _noted(again, f"{tried}; relaxed MATCH {asked.match} found {hits.rows.size}")


def _noted(trace: Trace, note: str) -> Trace:
    return replace(trace, notes=(*trace.notes, note))


@dataclass(frozen=True)
class NoRelaxation(Relaxation):
    """A keyword leg that found nothing stays empty."""

    says: ClassVar[str] = "relaxation: none, a keyword leg that found nothing stays empty"

    def words(self, query: str | None) -> list[str] | None:
        return None

    def run(self, trace: Trace, context: Context) -> Trace:
        return trace


@dataclass(frozen=True)
class AnyPlainWord(Relaxation):
    """The relaxation of a6d07843: words that consist of letters and digits, with case and repetitions.

    Words with an apostrophe or a hyphen are left out. There is no gate: one word is enough.
    """

    says: ClassVar[str] = "relaxation: when nothing matched, once more with any plain word but the stopwords"

    def words(self, query: str | None) -> list[str] | None:
        if query is None or is_refused(query):
            return None
        words = [word for word in stripped_words(query, EDGES) if word.isalnum()]
        return [word for word in words if word.lower() not in FIRST_STOPWORDS] or None


@dataclass(frozen=True)
class GatedPlainWord(AnyPlainWord):
    """The relaxation of 16869867: only for three tokens or more, and only if none is a number."""

    says: ClassVar[str] = (
        "relaxation: when nothing matched, once more with any plain word but the stopwords; "
        "for three words or more, none of them a number"
    )

    def words(self, query: str | None) -> list[str] | None:
        tokens = ascii_tokens(query or "")
        if len(tokens) < FEWEST_WORDS or any(map(is_numeric, tokens)):
            return None
        return super().words(query)


@dataclass(frozen=True)
class AnyToken(Relaxation):
    """The relaxation of a2f5edfa: ASCII tokens, or two words and more in Chinese, Japanese or Korean.

    "Caroline's" becomes caroline and s, and the prefix s* matches every title that has a word with s.
    """

    says: ClassVar[str] = (
        "relaxation: when nothing matched, once more with any ASCII token but the stopwords; "
        "for three words or more, two in Chinese, Japanese or Korean, none of them a number"
    )

    def tokens(self, query: str) -> list[str]:
        """The tokens of a question."""
        return ascii_tokens(query)

    def cjk_tokens(self, query: str) -> list[str]:
        """The tokens of a question in Chinese, Japanese or Korean."""
        return [word.lower() for word in stripped_words(query, EDGES) if word.isalnum()]

    def words(self, query: str | None) -> list[str] | None:
        if query is None or is_refused(query) or any(map(is_numeric, self.tokens(query))):
            return None
        if CJK.search(query):
            return self._cjk_words(query)
        tokens = self.tokens(query)
        if len(tokens) < FEWEST_WORDS:
            return None
        return unique(_pruned(tokens)) or unique(tokens)

    def _cjk_words(self, query: str) -> list[str] | None:
        words = self.cjk_tokens(query)
        if len(query.split()) < FEWEST_CJK_WORDS or any(map(is_numeric, words)):
            return None
        kept = unique(_pruned(words))
        return kept if len(kept) >= FEWEST_CJK_WORDS else None


@dataclass(frozen=True)
class AnyUnicodeToken(AnyToken):
    """The relaxation of 1f56fc76: words of every script, with their marks and inner apostrophes."""

    says: ClassVar[str] = (
        "relaxation: when nothing matched, once more with any word of any script but the stopwords; "
        "for three words or more, two in Chinese, Japanese or Korean, none of them a number"
    )

    def tokens(self, query: str) -> list[str]:
        return unicode_tokens(query)

    def cjk_tokens(self, query: str) -> list[str]:
        return unicode_tokens(query)


def _pruned(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in STOPWORDS]


def any_prefix(words: Sequence[str]) -> Query:
    """The query for any of these words as a prefix; a word with an apostrophe is quoted.

    >>> [(clause.text, clause.bare) for clause in any_prefix(["don't", "touch"]).clauses]
    [("don't", False), ('touch', True)]
    """
    clauses = (Clause(word, prefix=True, bare=not _has_apostrophe(word)) for word in words)
    return Query(tuple(clauses), "OR")


def any_lexeme(words: Sequence[str]) -> str:
    """The text for to_tsquery for any of these words as a prefix; a word with an apostrophe is quoted.

    >>> print(any_lexeme(["don't", "touch"]))
    'don''t':* | touch:*
    """
    return " | ".join(f"{_as_lexeme(word) if _has_apostrophe(word) else word}:*" for word in words)


def _as_lexeme(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


def _has_apostrophe(word: str) -> bool:
    return any(mark in word for mark in APOSTROPHES)


# The search service's own retry, in text mode, until a2f5edfa


def service_may_relax(query: str, mode: str) -> bool:
    """Whether the service tries again: only in text mode, and only for a question without parentheses."""
    tokens = ascii_tokens(query)
    return (
        mode == "fts"
        and not is_refused(query)
        and not set("()") & set(query)
        and len(tokens) >= FEWEST_WORDS
        and not any(map(is_numeric, tokens))
    )


def service_relaxed_query(query: str) -> str:
    """Any of the words, without stars; stopwords are used only if there is no other word.

    >>> service_relaxed_query("Who are our partners, our friends?"), service_relaxed_query("what is the")
    ('partners OR friends', 'what OR is OR the')
    """
    tokens = ascii_tokens(query)
    return " OR ".join(unique([word for word in tokens if word not in SERVICE_STOPWORDS] or tokens))
