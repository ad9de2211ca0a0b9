"""How Basic Memory turns a question into a strict query, for SQLite's FTS5 and for Postgres' to_tsquery.

Source: basicmachines-co/basic-memory, the two search repositories' `_prepare_search_term`, before and after
pull request #994. Written from a description of the rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from workbench.records import Trace
from workbench.retrieval.query import quoted

OPERATOR = re.compile(r"\b(AND|OR|NOT)\b")
EDGES = "?!.,;:"
"""What #994 takes off both ends of a word in SQLite."""
POSTGRES_EDGES = "?!.,;"
"""The same in Postgres, where a colon has become a blank before."""

PROBLEMATIC = frozenset("\"'()[]{}+!@#$%^&=|\\~`")
"""Characters for which a query of any number of words becomes one phrase."""
SPECIAL = frozenset(" .:;,<>?/-")
"""Characters for which a word becomes a phrase, and with it the whole query that holds the word."""

NO_LEXEME = "NOSPECIALCHARS:*"
"""What Postgres is asked when nothing is left to ask: a word that no note has."""


def is_boolean(query: str) -> bool:
    """Whether a query has an operator of its own: AND, OR or NOT in capitals between two blanks."""
    return any(f" {operator} " in query for operator in ("AND", "OR", "NOT"))


def stripped_words(text: str, edges: str) -> list[str]:
    """The words of a text without `edges` at their ends; a word of nothing else is left out.

    >>> stripped_words("Who, me? ?", "?,")
    ['Who', 'me']
    """
    return [bare for word in text.split() if (bare := word.strip(edges))]


def strict_match(query: str, edges: str = "", prefix: bool = True) -> str:
    """The MATCH expression that demands every word; "" when nothing is left to ask.

    `edges` are taken off the ends of words where there are several; before #994 none were, so that one
    final question mark made a phrase of the whole question. Without `prefix` no star is added.

    >>> print(strict_match("Who painted it?"), "|", strict_match("Who painted it?", EDGES))
    "Who painted it?"* | Who* AND painted* AND it*
    """
    if is_boolean(query):
        return _boolean_match(query, edges)
    return _term(query, edges, prefix)


def _term(text: str, edges: str, prefix: bool) -> str:
    if not text.strip() or _is_wildcard(text):
        return text
    if edges and " " in text:
        text = " ".join(stripped_words(text, edges))
    if not text:
        return ""
    if " " in text and not PROBLEMATIC & set(text):
        return _several_words(text, prefix)
    if (PROBLEMATIC | SPECIAL) & set(text):
        is_path = "/" in text and text.endswith(".md")
        return quoted(text) + _star(prefix and not is_path)
    return text + _star(prefix)


def _is_wildcard(text: str) -> bool:
    return "*" in text and all(character.isalnum() or character in "*_-" for character in text)


def _several_words(text: str, prefix: bool) -> str:
    words = text.split()
    if any(SPECIAL & set(word) for word in words):
        return quoted(text) + _star(prefix)
    return " AND ".join(word + _star(prefix) for word in words)


def _star(wanted: bool) -> str:
    return "*" if wanted else ""


def _boolean_match(query: str, edges: str) -> str:
    parts = (part.strip() for part in OPERATOR.split(query))
    return " ".join(part if OPERATOR.fullmatch(part) else _operand(part, edges) for part in parts if part)


def _operand(text: str, edges: str) -> str:
    """An operand keeps its parentheses; what is in them is prepared like any term, without a star."""
    pieces = (piece.strip() for piece in re.split(r"([()])", text))
    return "".join(piece if piece in "()" else _term(piece, edges, prefix=False) for piece in pieces)


def strict_tsquery(query: str, edges: str = "", nothing: str = NO_LEXEME, prefix: bool = True) -> str:
    """The text for to_tsquery('english', …) that demands every word, and `nothing` when no word is left.

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
class PunctuationMakesAPhrase:
    """The strict MATCH expression before #994: a word with punctuation makes the question one phrase."""

    slot: ClassVar[str] = "query"
    edges: ClassVar[str] = ""

    @property
    def says(self) -> str:
        return "MATCH = every word as a prefix, joined with AND; with any punctuation: one phrase"

    def run(self, trace: Trace, context: Any) -> Trace:
        return replace(trace, match=strict_match(trace.question, self.edges) or None)


@dataclass(frozen=True)
class PunctuationStripped(PunctuationMakesAPhrase):
    """The strict MATCH expression of #994: what ends a sentence is taken off the words' ends first.

    An apostrophe, and a hyphen within a word, still make a phrase.
    """

    edges: ClassVar[str] = EDGES

    @property
    def says(self) -> str:
        return f"MATCH = every word without {EDGES} at its ends, as a prefix, joined with AND"


def unique(words: Sequence[str]) -> list[str]:
    """The words, each once, in the order in which they first come."""
    return list(dict.fromkeys(words))
