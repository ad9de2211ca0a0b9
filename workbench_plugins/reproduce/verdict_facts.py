"""Reads the results that a report shows: rows of tables and lines with a score."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from workbench_plugins.reproduce.report_patterns import WORDS, form, pattern

if TYPE_CHECKING:
    from workbench_plugins.reproduce.pasted import Line

MOST = 50
"""Results of a report that are read."""


@dataclass(frozen=True)
class Scored:
    """A result that a report shows: its name or text, its scores by their columns, and its line."""

    name: str
    line: int
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """The scores in words."""
        return ", ".join(f"{column} {value:g}" for column, value in self.scores.items())

    def of(self, column: re.Pattern[str]) -> float | None:
        """The score of the first column that this expression finds; None if there is none."""
        return next((value for name, value in self.scores.items() if column.search(name)), None)


@dataclass(frozen=True)
class Table:
    """A table: the names of its columns, and its rows with their lines."""

    header: list[str]
    rows: list[tuple[int, list[str]]]


def tables(lines: Sequence[Line]) -> list[Table]:
    """The tables of a report whose first row names the columns."""
    found = []
    for is_row, group in groupby(lines, lambda one: one.text.startswith(("|", "+-"))):
        rows = [
            (one.number, form("cells").split(one.text.strip("| ")))
            for one in group
            if not form("rule").fullmatch(one.text)
        ]
        if is_row and len(rows) > 1 and len(rows[0][1]) > 1:
            header = [cell.strip(" *`_") for cell in rows[0][1]]
            found.append(Table(header, [row for row in rows[1:] if len(row[1]) == len(header)]))
    return found


def number(cell: str) -> float | None:
    """The number in a cell; a percentage is a share. None if the cell is no number."""
    told = form("number").fullmatch(cell.strip(" *`_[]()✅❌"))
    return None if told is None else float(told[1]) / (100 if told[2] else 1)


def results_of(lines: Sequence[Line]) -> list[Scored]:
    """The results with scores, in the order of the report."""
    return (list(_of_tables(lines)) or list(_of_lines(lines)))[:MOST]


def _of_tables(lines: Sequence[Line]) -> Iterator[Scored]:
    score, name = (pattern(WORDS["scores"][one]) for one in ("score", "name"))
    for table in tables(lines):
        columns = [nth for nth, head in enumerate(table.header) if score.fullmatch(head)]
        named = [nth for nth, head in enumerate(table.header) if name.fullmatch(head)]
        for line, row in table.rows:
            values = {table.header[one].lower(): number(row[one]) for one in columns}
            scores = {column: value for column, value in values.items() if value is not None}
            if scores and named:
                yield Scored(row[named[-1]].strip(" *`"), line, scores)


def _of_lines(lines: Sequence[Line]) -> Iterator[Scored]:
    """Lines of code, or items of a list, with a score before or after a name."""
    shown = (one for one in lines if one.code or form("listed").fullmatch(one.text))
    for one in (each for each in shown if not form("no_result").search(each.text)):
        text = one.text.strip("*_ ")
        if found := form("score_before").fullmatch(text):
            cells = [cell for cell in re.split(r"\s{2,}", found[2]) if not cell.startswith(("<", "#"))]
            yield Scored(max(cells, key=len, default=found[2]), one.number, {"score": float(found[1])})
        elif (found := form("score_after").fullmatch(text)) and found[1].strip("*_` ").lower() not in (
            "score",
            "rank",
        ):
            yield Scored(found[1].strip("*_` "), one.number, {"score": float(found[2])})
