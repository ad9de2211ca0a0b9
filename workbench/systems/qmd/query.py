"""How QMD reads a keyword query: every word must be there, as a prefix; quotes and minus signs count.

Source: tobi/qmd 2.8.3, src/store.ts, buildFTS5Query. This is our own code, written from its behaviour.
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

UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+")
"""Runs of Han, Hiragana, Katakana and Hangul, which FTS5's unicode61 does not cut into words."""
PIECES = re.compile(r'-?"[^"]*"?|[^\s"]+')
NOT_A_WORD = re.compile(r"[^\w']")
HYPHENATED = re.compile(r"[^\W_](?:[^\W_]|['-])*-[^\W_](?:[^\W_]|['-])*")


def spaced(text: str) -> str:
    """The text with a blank between the characters of scripts that have no blanks.

    >>> spaced("API設計")
    'API 設 計 '
    """
    return UNSPACED.sub(lambda run: f" {' '.join(run[0])} ", text)


def lex_query(text: str) -> Query | None:
    """The keyword query of a text; None without a word to look for.

    >>> print(match_expression(lex_query('multi-agent "tea time" cups -sugar')))
    "multi agent" AND "tea time" AND "cups"* NOT "sugar"*
    >>> print(match_expression(lex_query("Version 2026.4?")))
    "version"* AND "20264"*
    """
    wanted: list[Clause] = []
    unwanted: list[str] = []
    for piece in PIECES.findall(text):
        negated = piece.startswith("-")
        clauses = _clauses(piece[1:] if negated else piece)
        if not negated:
            wanted += clauses
        elif clauses:
            unwanted.append(_together(clauses))
    if not wanted:
        return None
    query = Query(tuple(wanted), "AND")
    if not unwanted:
        return query
    return Query(expression=" NOT ".join([match_expression(query), *unwanted]))


def _together(clauses: Sequence[Clause]) -> str:
    text = match_expression(Query(tuple(clauses), "AND"))
    return f"({text})" if len(clauses) > 1 else text


def _clauses(piece: str) -> list[Clause]:
    """The clauses of one piece of the text: a phrase in quotes, or what stands between blanks."""
    if piece.startswith('"'):
        return _phrase(piece.strip('"'))
    if HYPHENATED.fullmatch(piece):
        return _phrase(piece.replace("-", " "))
    if _is_dotted(piece):
        return [Clause(_word(part), prefix=True) for part in piece.split(".")]
    if UNSPACED.search(piece):
        return _phrase(piece)
    word = _word(piece)
    return [Clause(word, prefix=True)] if word else []


def _phrase(text: str) -> list[Clause]:
    parts = [
        part for word in spaced(text).split() for part in (word.split(".") if _is_dotted(word) else [word])
    ]
    phrase = " ".join(filter(None, map(_word, parts)))
    return [Clause(phrase, phrase=True)] if phrase else []


def _is_dotted(word: str) -> bool:
    parts = word.split(".")
    return len(parts) > 1 and all(re.fullmatch(r"\w+", part) for part in parts)


def _word(text: str) -> str:
    return NOT_A_WORD.sub("", text).lower()


@dataclass(frozen=True)
class EveryWordAsPrefix(PlainStage):
    """The query of `lex_query`, from the whole question."""

    slot: ClassVar[str] = "query"
    says: ClassVar[str] = (
        "MATCH = every word of the question as a prefix, joined with AND; words with a hyphen and words in "
        "quotes are phrases, and a word after a minus sign must be absent"
    )

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_query(trace, context, lex_query(trace.question))
