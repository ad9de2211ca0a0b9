"""The second try of Basic Memory's keyword leg: if all words together find nothing, one word is enough.

Four commits have four sets of rules for the questions that are relaxed and for the words that are used.
Source: basicmachines-co/basic-memory, repository/search_query.py and its predecessors; #994, #1022, #1269.

How Basic Memory turns a question into a strict query, for SQLite's FTS5 and for Postgres' to_tsquery.

Source: basicmachines-co/basic-memory, the two search repositories' `_prepare_search_term`, before and after
pull request #994. Written from a description of the rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from workbench.contracts import Context, Index
from workbench.memory.store.sqlite.fts5 import match_expression
from workbench.records import Clause, Query, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.legs import with_leg
from workbench.retrieval.query import with_query

OPERATOR = re.compile(r"\b(AND|OR|NOT)\b")
EDGES = "?!.,;:"
"""The characters that #994 removes from both ends of a word in SQLite."""
POSTGRES_EDGES = "?!.,;"
"""The same for Postgres, where a colon has already become a blank."""

PROBLEMATIC = frozenset("\"'()[]{}+!@#$%^&=|\\~`")
"""Characters that turn a query of any number of words into one phrase."""
SPECIAL = frozenset(" .:;,<>?/-")
"""Characters that turn a word into a phrase, and with it the whole query that contains the word."""

NO_LEXEME = "NOSPECIALCHARS:*"
"""The query for Postgres if no word is left: a word that no note contains."""


def is_boolean(query: str) -> bool:
    """Whether a query contains an operator: AND, OR or NOT in capitals between two blanks."""
    return any(f" {operator} " in query for operator in ("AND", "OR", "NOT"))


def stripped_words(text: str, edges: str) -> list[str]:
    """The words of a text without `edges` at their ends; words that become empty are left out.

    >>> stripped_words("Who, me? ?", "?,")
    ['Who', 'me']
    """
    return [bare for word in text.split() if (bare := word.strip(edges))]


def strict_query(query: str, edges: str = "", prefix: bool = True) -> Query | None:
    """The query that requires every word; None if no word is left.

    If there are several words, `edges` are removed from their ends. Before #994 nothing was removed, so a
    final question mark turned the whole question into a phrase. Without `prefix` no star is added.

    >>> for edges in ("", EDGES):
    ...     print(match_expression(strict_query("Who painted it?", edges)))
    "Who painted it?"*
    Who* AND painted* AND it*
    """
    if is_boolean(query):
        return Query(expression=boolean_match(query, edges))
    return _prepared(query, edges, prefix)


def _prepared(text: str, edges: str, prefix: bool) -> Query | None:
    if not text.strip() or _is_wildcard(text):
        return Query(expression=text) if text else None
    if edges and " " in text:
        text = " ".join(stripped_words(text, edges))
    if not text:
        return None
    if " " in text and not PROBLEMATIC & set(text):
        return _several_words(text, prefix)
    if (PROBLEMATIC | SPECIAL) & set(text):
        is_path = "/" in text and text.endswith(".md")
        return Query((Clause(text, phrase=True, prefix=prefix and not is_path),))
    return Query((Clause(text, prefix=prefix, bare=True),))


def _is_wildcard(text: str) -> bool:
    return "*" in text and all(character.isalnum() or character in "*_-" for character in text)


def _several_words(text: str, prefix: bool) -> Query:
    words = text.split()
    if any(SPECIAL & set(word) for word in words):
        return Query((Clause(text, phrase=True, prefix=prefix),))
    return Query(tuple(Clause(word, prefix=prefix, bare=True) for word in words))


def boolean_match(query: str, edges: str) -> str:
    """A query with operators, as FTS5 reads it: its operands are prepared like any term, without a star."""
    parts = (part.strip() for part in OPERATOR.split(query))
    return " ".join(part if OPERATOR.fullmatch(part) else _operand(part, edges) for part in parts if part)


def _operand(text: str, edges: str) -> str:
    """An operand with its parentheses; the text inside is prepared like any term, without a star."""
    pieces = (piece.strip() for piece in re.split(r"([()])", text))
    return "".join(piece if piece in "()" else _plain_term(piece, edges) for piece in pieces)


def _plain_term(text: str, edges: str) -> str:
    query = _prepared(text, edges, prefix=False)
    return match_expression(query) if query else ""


def strict_tsquery(query: str, edges: str = "", nothing: str = NO_LEXEME, prefix: bool = True) -> str:
    """The text for to_tsquery('english', …) that requires every word; `nothing` if no word is left.

    Postgres drops the stopwords and stems. In a6d07843, for one commit, `nothing` was the malformed `:*`.

    >>> strict_tsquery("Who painted it?", POSTGRES_EDGES), strict_tsquery("cats NOT dogs")
    ('Who:* & painted:* & it:*', 'cats & !dogs')
    """
    if is_boolean(query):
        joined = re.sub(r"\bAND\b", "&", re.sub(r"\bOR\b", "|", query))
        return re.sub(r"\bNOT ", "& !", joined)
    if "*" in query:
        return query.replace("*", ":*")
    words = stripped_words(re.sub(r"[&|!():]", " ", query), edges)
    return " & ".join(word + (":*" if prefix else "") for word in words) or nothing


@dataclass(frozen=True)
class PunctuationMakesAPhrase(PlainStage, slot="query"):
    """The strict query before #994: a word with punctuation turns the question into one phrase."""

    edges: ClassVar[str] = ""

    @property
    def description(self) -> str:
        return "MATCH = every word as a prefix, joined with AND; with any punctuation: one phrase"

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_query(trace, context, strict_query(trace.question, self.edges))


@dataclass(frozen=True)
class PunctuationStripped(PunctuationMakesAPhrase):
    """The strict query of #994: punctuation is removed from the ends of words first.

    An apostrophe, and a hyphen inside a word, still turn the question into a phrase.
    """

    edges: ClassVar[str] = EDGES

    @property
    def description(self) -> str:
        return f"MATCH = every word without {EDGES} at its ends, as a prefix, joined with AND"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOPWORDS = _words(
    "a an and are as at be but by did do does for from had has have how i in is it of on or our that the "
    "their they this to was we were what when where which who whom whose why will with you your"
)
"""The stopwords since a2f5edfa."""
FIRST_STOPWORDS = STOPWORDS - {"our"}
"""The stopwords of #994."""

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
    kept = (character if _is_part_of_word(text, offset) else " " for offset, character in enumerate(text))
    return "".join(kept).split()


def _is_part_of_word(text: str, offset: int) -> bool:
    character = text[offset]
    if character in APOSTROPHES:
        around = text[offset - 1 : offset] + text[offset + 1 : offset + 2]
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
class Relaxation(PlainStage, slot="relaxation"):
    """A second try for a keyword leg that found nothing; a subclass chooses the words."""

    description: ClassVar[str]

    def reads(self) -> tuple[str, ...]:
        """The keyword leg, which must have run."""
        return ("keyword_rank",)

    def why_not(self, question: str) -> str:
        """Which questions alone get a second try; empty for one that is refused by its signs or operators."""
        _, _, only = self.description.partition("; ")
        if is_refused(question) or {*"()"} & {*question} or not only:
            return ""
        return f"a second try with any word is only made {only}"

    def words(self, query: str | None) -> list[str] | None:
        """The words of the second try; None if the question is not relaxed."""
        raise NotImplementedError(f"{type(self).__name__} has no words")

    def query(self, query: str | None) -> Query | None:
        """The query of the second try; None if there is no second try."""
        return any_prefix(words) if (words := self.words(query)) else None

    def further_queries(self, trace: Trace, index: Index, limit: float) -> tuple[Query, ...]:
        """The query of the second try, if there is one."""
        relaxed = self.query(trace.question)
        return (relaxed,) if relaxed else ()

    def run(self, trace: Trace, context: Context) -> Trace:
        """Replace an empty keyword leg with the relaxed one, and note both queries."""
        strict = trace.legs["keyword"]
        if strict.hits.rows.size:
            return trace
        tried = f"strict MATCH {strict.asked} found nothing" if strict.asked else "strict MATCH: no word"
        relaxed = self.query(trace.question)
        if relaxed is None:
            kept = with_leg(trace, replace(strict, unrelaxed=self.why_not(trace.question)))
            return _noted(kept, f"{tried}; this question is not relaxed")
        hits = context.index.keyword(relaxed, strict.depth)
        asked = with_query(trace, context, relaxed)
        again = with_leg(asked, replace(strict, asked=asked.match, hits=hits))
        return _noted(again, f"{tried}; relaxed MATCH {asked.match} found {hits.rows.size}")


def _noted(trace: Trace, note: str) -> Trace:
    return replace(trace, notes=(*trace.notes, note))


@dataclass(frozen=True)
class NoRelaxation(Relaxation):
    """A keyword leg that found nothing stays empty."""

    description: ClassVar[str] = "relaxation: none, a keyword leg that found nothing stays empty"

    def words(self, query: str | None) -> list[str] | None:
        return None

    def run(self, trace: Trace, context: Context) -> Trace:
        return trace


@dataclass(frozen=True)
class AnyPlainWord(Relaxation):
    """The relaxation of a6d07843: words that consist of letters and digits, with case and repetitions.

    Words with an apostrophe or a hyphen are left out. There is no gate: one word is enough.
    """

    description: ClassVar[str] = (
        "relaxation: when nothing matched, once more with any plain word but the stopwords"
    )

    def words(self, query: str | None) -> list[str] | None:
        if query is None or is_refused(query):
            return None
        words = [word for word in stripped_words(query, EDGES) if word.isalnum()]
        return [word for word in words if word.lower() not in FIRST_STOPWORDS] or None


@dataclass(frozen=True)
class GatedPlainWord(AnyPlainWord):
    """The relaxation of 16869867: only for three tokens or more, and only if none is a number."""

    description: ClassVar[str] = (
        "relaxation: when nothing matched, once more with any plain word but the stopwords; "
        "for questions without a number that have three words or more"
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

    description: ClassVar[str] = (
        "relaxation: when nothing matched, once more with any ASCII token but the stopwords; "
        "for questions without a number that have three words or more, or two in Chinese, Japanese or Korean"
    )

    parentheses: bool = True
    """Whether a question with parentheses is relaxed; `search_type=text` does not."""

    def tokens(self, query: str) -> list[str]:
        """The tokens of a question."""
        return ascii_tokens(query)

    def cjk_tokens(self, query: str) -> list[str]:
        """The tokens of a question in Chinese, Japanese or Korean."""
        return [word.lower() for word in stripped_words(query, EDGES) if word.isalnum()]

    def words(self, query: str | None) -> list[str] | None:
        if query is None or is_refused(query) or any(map(is_numeric, self.tokens(query))):
            return None
        if not self.parentheses and set("()") & set(query):
            return None
        if CJK.search(query):
            return self._cjk_words(query)
        tokens = self.tokens(query)
        if len(tokens) < FEWEST_WORDS:
            return None
        return list(dict.fromkeys(_pruned(tokens) or tokens))

    def _cjk_words(self, query: str) -> list[str] | None:
        words = self.cjk_tokens(query)
        if len(query.split()) < FEWEST_CJK_WORDS or any(map(is_numeric, words)):
            return None
        kept = list(dict.fromkeys(_pruned(words)))
        return kept if len(kept) >= FEWEST_CJK_WORDS else None


@dataclass(frozen=True)
class AnyUnicodeToken(AnyToken):
    """The relaxation of 1f56fc76: words of every script, with their marks and inner apostrophes."""

    description: ClassVar[str] = (
        "relaxation: when nothing matched, once more with any word of any script but the stopwords; "
        "for questions without a number that have three words or more, or two in Chinese, Japanese or Korean"
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
