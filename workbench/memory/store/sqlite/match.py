"""A query, compiled to an FTS5 MATCH expression."""

from __future__ import annotations

from workbench.records import Clause, Query


def quoted(token: str) -> str:
    """A token as an FTS5 string, in which no character is an operator.

    >>> print(quoted('OR'), quoted('5" pipe'))
    "OR" "5"" pipe"
    """
    return '"' + token.replace('"', '""') + '"'


def match_expression(query: Query) -> str:
    """The MATCH expression of a query.

    >>> print(match_expression(Query((Clause("tea"), Clause("cup", prefix=True, bare=True)))))
    "tea" AND cup*
    """
    if query.expression is not None:
        return query.expression
    return f" {query.operator} ".join(map(_written, query.clauses))


def _written(clause: Clause) -> str:
    text = clause.text if clause.bare else quoted(clause.text)
    return f"{text}*" if clause.prefix else text
