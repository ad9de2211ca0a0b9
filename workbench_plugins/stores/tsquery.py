"""A query in the language of PostgreSQL's to_tsquery."""

from __future__ import annotations

from workbench.records import Query

OPERATORS = {"AND": " & ", "OR": " | "}


def quoted(text: str) -> str:
    """A text as a quoted part of a tsquery, in which no character is an operator.

    Several words inside the quotes are a phrase.

    >>> print(quoted("tea & cup"), quoted("don't"))
    'tea & cup' 'don''t'
    """
    return "'" + text.replace("\0", " ").replace("\\", "\\\\").replace("'", "''") + "'"


def tsquery(query: Query) -> str:
    """The text that to_tsquery takes for a query.

    >>> from workbench.records import Clause
    >>> print(tsquery(Query((Clause("tea"), Clause("cup", prefix=True)), "OR")))
    'tea' | 'cup':*
    """
    if query.expression is not None:
        return query.expression
    written = (quoted(one.text) + (":*" if one.prefix else "") for one in query.clauses)
    return OPERATORS[query.operator].join(written)
