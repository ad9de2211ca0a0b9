"""Which hits of Milvus's BM25 match a query: AND, phrases and prefixes, which its BM25 does not know."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.records import Clause, Query

TOKENS = re.compile(r"\w+")


def needs_filter(clause: Clause) -> bool:
    """Whether a clause asks for more than one word as it is."""
    return clause.prefix or clause.phrase or len(TOKENS.findall(clause.text)) > 1


def matches(query: Query, passage: str) -> bool:
    """Whether a passage has the clauses of a query: all of them, or with OR one of them."""
    words = [word.lower() for word in TOKENS.findall(passage)]
    has = (_has(clause, words) for clause in query.clauses)
    return all(has) if query.operator == "AND" else any(has)


def _has(clause: Clause, words: Sequence[str]) -> bool:
    wanted = [word.lower() for word in TOKENS.findall(clause.text)]
    if not wanted:
        return False
    spans = (words[start : start + len(wanted)] for start in range(len(words) - len(wanted) + 1))
    if clause.prefix:
        return any(span[:-1] == wanted[:-1] and span[-1].startswith(wanted[-1]) for span in spans)
    return any(list(span) == wanted for span in spans)
