"""Reads the results that a report shows: rows of tables, lines with a score, and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from workbench_plugins.reproduce.report_patterns import WORDS, form, pattern

if TYPE_CHECKING:
    from workbench_plugins.reproduce.pasted import Line

MOST = 50
"""Results of a report that are read."""
LONGEST_BLOCK = 50_000


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
    score, name = (pattern(WORDS["scores"][one]) for one in ("score", "name"))
    objects = _of_json(lines, score, name)
    return ([*_of_tables(lines, score, name), *objects] or list(_of_lines(lines)))[:MOST]


def _of_tables(lines: Sequence[Line], score: re.Pattern[str], name: re.Pattern[str]) -> Iterator[Scored]:
    for table in tables(lines):
        columns = [nth for nth, head in enumerate(table.header) if score.fullmatch(head)]
        named = [nth for nth, head in enumerate(table.header) if name.fullmatch(head)]
        for line, row in table.rows:
            values = {table.header[one].lower(): number(row[one]) for one in columns}
            scores = {column: value for column, value in values.items() if value is not None}
            if scores and named:
                yield Scored(row[named[-1]].strip(" *`"), line, scores)


def _of_json(lines: Sequence[Line], score: re.Pattern[str], name: re.Pattern[str]) -> list[Scored]:
    """Objects of JSON with a score and a name, of which one may stand in an object inside."""
    found: list[Scored] = []

    def read(value: Any, line: int) -> None:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        flat = dict(value) if isinstance(value, dict) else {}
        for one in (one for one in inside if flat and isinstance(one, dict)):
            flat = {**one, **flat}
        flat = {key.lower().lstrip("_"): one for key, one in flat.items()}
        told = {key: number(str(one)) for key, one in flat.items() if score.fullmatch(key)}
        scores = {key: one for key, one in told.items() if one is not None}
        names = {key: one for key, one in flat.items() if name.fullmatch(key) and isinstance(one, str)}
        if scores and names:
            best = _best(names)
            shown = next((one.number for one in lines if one.number >= line and best in one.text), line)
            found.append(Scored(best, shown, scores))
        else:
            for one in inside:
                read(one, line)

    for is_code, group in groupby(lines, lambda one: one.code):
        block = list(group)
        if is_code and block[0].text.startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                read(json.loads("\n".join(one.text for one in block)[:LONGEST_BLOCK]), block[0].number)
    return found


def _best(names: dict[str, str]) -> str:
    keys = (*(one for one in ("path", "file", "memory", "content", "text") if one in names), *names)
    return names[keys[0]]


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
