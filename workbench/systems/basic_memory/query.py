"""How Basic Memory turns a question into a strict query, for SQLite's FTS5 and for Postgres' to_tsquery.

Source: basicmachines-co/basic-memory, the two search repositories' `_prepare_search_term`, before and after
pull request #994. Written from a description of the rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from workbench.contracts import Context
from workbench.memory.store.sqlite.match import match_expression
from workbench.records import Clause, Query, Trace
from workbench.retrieval.columns import PlainStage
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
        return Query(expression=_boolean_match(query, edges))
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


def _boolean_match(query: str, edges: str) -> str:
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
class PunctuationMakesAPhrase(PlainStage):
    """The strict query before #994: a word with punctuation turns the question into one phrase."""

    slot: ClassVar[str] = "query"
    edges: ClassVar[str] = ""

    @property
    def says(self) -> str:
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
    def says(self) -> str:
        return f"MATCH = every word without {EDGES} at its ends, as a prefix, joined with AND"


def unique(words: Sequence[str]) -> list[str]:
    """The words without duplicates, in the order of their first occurrence."""
    return list(dict.fromkeys(words))
